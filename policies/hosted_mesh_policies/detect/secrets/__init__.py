"""Which parts of a resource, of a tree and of a text are secret."""
