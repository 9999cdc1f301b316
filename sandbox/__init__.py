"""The embedded default: real Kubernetes clusters on one machine, without containers and without a cloud."""
