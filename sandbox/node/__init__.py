"""A Kubernetes node without containers: Pods run as processes in namespaces of their own.

Entry: ``python -m sandbox.node CONFIG.json`` (see ``config.NodeConfig``).

Less real than a node with containers, for every Pod: requests and limits are facts for the scheduler and for
environments, nothing enforces them; each container has host name and IPC of its own instead of the Pod's; /sys is not
there; no attach, no port-forward and no terminal of `kubectl exec`; termination messages are not read; of Services only
the API server's has environment variables (enableServiceLinks), names are for the others.

A container that asks for an unknown image, privileges, a hostPath, a persistent volume, a part of a volume or envFrom
does not start, and its Pod says why. A grpc probe fails and says why. A Pod that asks for what unsupported.py lists
(shareProcessNamespace, postStart hooks, host ports, profiles of seccomp and SELinux, ephemeral containers and the like)
runs without it, and an event says so.
"""
