"""DNS: reads records of edges with least-rights accounts and publishes them from the control plane."""
