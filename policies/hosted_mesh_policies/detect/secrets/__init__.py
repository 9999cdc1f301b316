"""Selects the secret parts of a resource, of a tree and of a text."""
