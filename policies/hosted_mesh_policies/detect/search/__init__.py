"""Finds fingerprints: a resource as one text, and an index of parts of secrets."""
