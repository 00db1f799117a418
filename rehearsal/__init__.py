"""Simulated clouds that answer the real Pulumi engine, and a stand-in for Pulumi's Python language host.

``core`` serves a cloud's resource types over the engine's protocol, ``aws`` and the other folders are the clouds.
``language_python`` runs the programs. ``python -m gpu_fabric.rehearsal`` writes the plugins and shows what is there.
Nothing here reaches an account, and nothing here imports the rest of the package. This module stays empty, so that
a provider process starts fast.
"""
