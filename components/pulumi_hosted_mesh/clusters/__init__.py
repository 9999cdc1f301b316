"""The two clusters: wrappers by role, kubeconfigs, credentials, plain HTTPS."""
