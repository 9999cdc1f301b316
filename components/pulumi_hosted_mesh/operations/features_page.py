"""Generates docs/components/features.md from the table of features."""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_hosted_mesh.spec.features import FEATURES, Feature, Features, Rule

HEAD = """\
# Features

After this page you can enable optional capabilities of istiod and judge the rights that they cost. All are off by
default. The control plane's operator enables one in `features` of a revision; the data plane's user must grant it in
`access.features` of every membership. The table is generated from
[`spec/features.py`](../../components/pulumi_hosted_mesh/spec/features.py) by `python -m
pulumi_hosted_mesh.operations.features_page`.

"""
FOOT = """\
istiod's informer lists Secrets of the whole cluster (`pilot/pkg/credentials/kube`), and RBAC rejects such a list for
an account with Roles in some namespaces. So `gatewayCertificates` cannot be limited to chosen namespaces. Without it
gateways mount their certificates as files. It also enables the identity check of xDS, which compares the namespace
and account of a proxy with its certificate. Without the check a workload may request the configuration of another
workload *of its own mesh*; keys are never served, other meshes have another authority and istiod, and `istioctl
proxy-status` gets no answer from istiod's own port. The [debug proxy](istioctl.md) answers it without this feature.

Ambient mode is not available: istiod lets no ServiceAccount request another's certificate
(`CA_TRUSTED_NODE_ACCOUNTS`), so a ztunnel gets none, and no document can change that. istiod does not compare trust
domains there: the creator of such an account on the data plane would get certificates in the name of other meshes.

HTTPS listeners of the Gateway API name Secrets too: enable `gatewayCertificates` beside `gatewayApi`. The policy
pack's [istiod-rights-are-least](../policies/istiod.md#istiod-rights-are-least) rejects the rights of these two. To
grant them, set that policy and `istiod-rights-are-least-before-write` to `advisory` for that stack.
"""


def page() -> str:
    """The page's text."""
    rows = [_row(one) for one in FEATURES]
    head = ["| feature | effect | rights on the data plane | cost |", "|---|---|---|---|"]
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
