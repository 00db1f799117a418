"""Finds or makes the real Pulumi engine and runs it, against simulated clouds or real ones."""
