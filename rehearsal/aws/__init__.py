"""A simulated AWS: EC2, Auto Scaling, IAM, Direct Connect and the look-ups a GPU fabric needs.

It states EC2's published rules on its own and imports nothing of the library it rehearses. Each file holds one
subject: the resource types, what the cloud fills in, and what it refuses, with the source of every rule.
"""
