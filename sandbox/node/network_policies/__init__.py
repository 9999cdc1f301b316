"""NetworkPolicies of the Pods on this node, enforced by the kernel: a Kubernetes network plug-in's half of the work.

Entry: `enforcer.Enforcer`. It follows NetworkPolicies, Pods and Namespaces. `selection` computes their meaning for each
Pod here. `rules` writes that as one nftables table in the node's network, replaced as a whole.

All standard fields of `networking.k8s.io/v1` are supported. As in the standard, traffic between a Pod and its own node
always passes. So does a Pod's traffic to itself, and connections from before a policy continue.
"""
