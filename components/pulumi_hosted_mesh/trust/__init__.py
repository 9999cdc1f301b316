"""Certificate authorities: the root, and one intermediate per mesh."""
