"""The neutral model of a Pulumi plan: resources, values, clusters, owners, and the facts of a preview.

`hosted-mesh-policies` and `hosted-mesh-analysis` share it.
"""
