"""The plan that rules read: resources and what they say, what is istiod's, values, clusters, what a preview showed."""
