"""One Pod on this node: its life, its network, its names, and what the API server is told of it."""
