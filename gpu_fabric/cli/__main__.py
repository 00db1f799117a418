"""`python -m gpu_fabric.cli`."""

from gpu_fabric.cli import main

if __name__ == "__main__":
    main()
