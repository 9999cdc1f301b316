"""Moves a share of a data plane's namespaces to another revision, and stops if its proxies are not well."""
