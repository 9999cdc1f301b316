"""The sandbox's first process: started in namespaces of its own, it runs all others and keeps them running."""
