"""The sandbox's first process: it starts in namespaces of its own, runs all others and restarts them."""
