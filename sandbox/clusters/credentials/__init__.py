"""Keys, certificates and kubeconfigs of a cluster, and the rights of its own services."""
