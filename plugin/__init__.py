"""The components for programs in other languages: Pulumi starts `__main__.py` and reads its schema."""
