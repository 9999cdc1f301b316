"""The two clusters as the program reaches them: wrappers by role, kubeconfigs, credentials, plain HTTPS."""
