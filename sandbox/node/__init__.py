"""A Kubernetes node without containers: Pods run as processes in namespaces of their own.

Entry: ``python -m sandbox.node CONFIG.json`` (see ``config.NodeConfig``). What is less real: docs/sandbox.md.
"""
