"""Names: records of edges are read with least-rights accounts and published from the control plane."""
