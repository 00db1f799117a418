"""Prove a node and a cluster before the first training step; on nodes that this library did not create, too.

Standard library only, and Python 3.10 (`zipapp` adds what Python 3.11 has besides): this is what runs on the node.
"""
