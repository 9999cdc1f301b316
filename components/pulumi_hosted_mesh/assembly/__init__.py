"""The composition: all resources of a mesh from its document, and the checks before them."""
