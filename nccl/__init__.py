"""What a GPU node must have so that NCCL finds its fast network: pure Python, importable alone."""
