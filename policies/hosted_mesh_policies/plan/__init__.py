"""The plan that rules read: resources, trees of values, clusters, and what a preview showed."""
