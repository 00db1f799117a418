"""Prove a node and a cluster before the first training step; on nodes that this library did not create, too.

Standard library only, and Python 3.8 (`older_python` adds what later ones have besides): this is what runs on the node.
"""
