"""The text of docs/components/features.md, from the table of features, so that the page cannot say anything else."""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_hosted_mesh.spec.features import FEATURES, Feature, Features, Rule

HEAD = """\
# Features

What istiod may do beside the least, generated from one table
([`spec/features.py`](../../components/pulumi_hosted_mesh/spec/features.py)) by
`python -m pulumi_hosted_mesh.operations.features_page`. All are off
unless a revision's `features` has them on, and a revision may have on no more than every membership grants in
`access.features`: the control plane's operator asks, the data plane's user grants.

"""
FOOT = """\
Certificates of gateways cannot be limited to Secrets of chosen namespaces: istiod's informer lists Secrets of the whole
cluster (`pilot/pkg/credentials/kube`), and RBAC refuses such a list to an account with Roles in some namespaces only.
Without the feature gateways mount their certificates as files. The identity check of xDS, which this feature switches
on, compares the namespace and account that a proxy claims with its certificate. With it off a workload may ask for the
configuration of another workload *of its own mesh*; keys are never served, other meshes have another authority and
another istiod, and `istioctl proxy-status` gets no answer.

Ambient mode is not among them: istiod lets no ServiceAccount ask for another's certificate
(`CA_TRUSTED_NODE_ACCOUNTS`), so a ztunnel gets none, and a document cannot set that. istiod compares no trust domain
there: whoever may make an account of that name on the data plane would get certificates in the name of other meshes.

HTTPS listeners of the Gateway API name Secrets too: beside `gatewayApi` they need `gatewayCertificates`. The policy
pack's [istiod-rights-are-least](../policies/istiod.md#istiod-rights-are-least) refuses the rights of these two. To
grant them, make that policy and `istiod-rights-are-least-before-write` `advisory` for that stack.
"""


def page() -> str:
    """The page's text."""
    rows = [_row(one) for one in FEATURES]
    head = ["| feature | what it does | rights on the data plane | what it costs |", "|---|---|---|---|"]
    return "\n".join([HEAD + head[0], head[1], *rows, "", FOOT])


def _row(feature: Feature) -> str:
    field = Features.model_fields[feature.name]
    does = (field.description or "").replace("\n", " ")
    rights = [*feature.cluster_rules, *feature.namespace_rules]
    return f"| `{field.alias}` | {does} | {'; '.join(_rights(rights)) or 'none'} | {feature.cost} |"


def _rights(rules: Iterable[Rule]) -> list[str]:
    return [f"{', '.join(rule.verbs)} {', '.join(rule.resources)}" for rule in rules]


if __name__ == "__main__":
    print(page(), end="")
