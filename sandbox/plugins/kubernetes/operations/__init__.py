"""What the engine asks of a resource: planned, created, updated, deleted, read; and the cluster where that happens."""
