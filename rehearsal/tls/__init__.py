"""A stand-in for pulumi-tls: private keys only. There is no cloud behind it: a key is made here, and it is real.

The private parts are answered to the engine as secrets and are nowhere else: not in the simulated clouds' database.
"""
