"""How a program's process tells the language host what became of it."""

FAILURE_WAS_SHOWN = 32
"""The exit status that says: the user has seen why. The number is that of Pulumi's own host."""
