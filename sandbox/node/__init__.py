"""A Kubernetes node without containers: Pods run as processes in namespaces of their own.

Entry: ``python -m sandbox.node CONFIG.json`` (see ``config.NodeConfig``).

Less real than a node with containers: requests and limits are facts for the scheduler and for environments, nothing
enforces them; no seccomp or AppArmor profile is applied; each container has host name and IPC of its own instead of
the Pod's; /sys is not there; no persistent volumes and no hostPath, no privileged containers, no ephemeral containers,
no attach and no port-forward; termination messages are not read.
"""
