"""Collects the metrics that proxies push, and serves them to Prometheus. Runs on the control plane."""
