"""The embedded default: two real Kubernetes clusters on one machine, without containers and without a cloud."""
