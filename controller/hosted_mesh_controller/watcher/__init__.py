"""Orders by custom resources in users' clusters: their definition, their reconciliation, and the watch on them."""
