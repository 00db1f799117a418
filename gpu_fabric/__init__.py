"""GPU training fabrics as code: AWS EFA, Azure InfiniBand, the link between them, and the NCCL settings."""

__version__ = "0.1.0"
