"""A Kubernetes node without containers: Kubernetes' own kubelet, and Pods as processes in namespaces of their own.

Entry: ``python -m sandbox.node CONFIG.json`` (see ``config.NodeConfig``), which isolates the node, handles its Pods'
networks and runs kubelet. The container runtime is part of the same program (sandbox/toolchain/go/kubelet). It requests
networks and images from `network.daemon`, and starts containers by `runtime.launcher`. Differences to real nodes:
docs/sandbox.md.
"""
