"""The node's HTTPS endpoint: `kubectl logs` and `kubectl exec`."""
