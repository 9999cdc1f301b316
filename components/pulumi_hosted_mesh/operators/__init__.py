"""Operators of a hosted cluster: OLM on the control plane, catalogs, placement and the upgrade gate."""
