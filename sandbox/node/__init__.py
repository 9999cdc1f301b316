"""A Kubernetes node without containers: Kubernetes' own kubelet, and Pods as processes in namespaces of their own.

Entry: ``python -m sandbox.node CONFIG.json`` (see ``config.NodeConfig``), which isolates the node, sees to its Pods'
networks and runs kubelet. The container runtime is part of the same program (sandbox/toolchain/go/kubelet); it asks
`network.daemon` for networks and images, and starts containers by `runtime.launcher`. What is less real:
docs/sandbox.md.
"""
