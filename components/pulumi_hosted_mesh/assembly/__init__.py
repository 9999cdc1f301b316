"""The composition: all of one mesh from its document, and the checks that come before it."""
