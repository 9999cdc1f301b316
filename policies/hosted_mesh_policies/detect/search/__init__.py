"""Finding fingerprints: a resource as one text, and an index that finds parts of secrets in it."""
