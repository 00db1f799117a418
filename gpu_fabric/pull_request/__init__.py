"""What a change does to a fabric, as one comment on its pull request: `python -m gpu_fabric.pull_request`."""
