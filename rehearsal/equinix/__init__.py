"""A simulated Equinix Fabric: cloud routers, connections to AWS and Azure, routing protocols.

It works in the customer's simulated clouds as the real one does in the real ones: a connection to AWS makes a hosted
connection there, one with a service key provisions the ExpressRoute circuit (``rehearsal/partner.py``).

Equinix publishes few of its refusals. A sentence without a mark is one that somebody saw; the others say that the
wording is the simulation's. The frame around them is the simulation's too.
"""
