"""NetworkPolicies of the Pods on this node, enforced by the kernel: a Kubernetes network plug-in's half of the work.

Entry: `enforcer.Enforcer`. It follows NetworkPolicies, Pods and Namespaces, `selection` says what they mean for each
Pod here, `rules` writes that as one nftables table in the node's network, which is replaced as a whole.

All standard fields of `networking.k8s.io/v1` are there. As the standard has it, traffic between a Pod and its own node
is always let through, so is what a Pod sends to itself, and connections that stand when a policy comes go on.
"""
