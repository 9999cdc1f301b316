"""The real Pulumi engine on the sandbox's clusters: its CLI, its event log, and the stack of `make up`."""
