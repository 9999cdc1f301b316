"""The real Pulumi engine on the sandbox's clusters: its CLI, what it tells of a run, and the stack of `make up`."""
