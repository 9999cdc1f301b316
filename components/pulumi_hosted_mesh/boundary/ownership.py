"""The owner of a resource by its type, for the guard.

The policies use a copy of the two sets of components, in `hosted_mesh_plan/vocabulary.py`, because the pack runs
without the library. A test compares the two.
"""

from __future__ import annotations

from typing import Final

from pulumi_hosted_mesh import vocabulary

CONTROL_PLANE_TYPES: Final = frozenset(
    {
        vocabulary.TYPE_MESH_ROOT,
        vocabulary.TYPE_MESH_TRUST,
        vocabulary.TYPE_EXTERNAL_CONTROL_PLANE,
        vocabulary.TYPE_ISTIOD,
        vocabulary.TYPE_REVISION_GUARD,
        # Its objects go to the data plane and are public. A secret in them would be the control plane's.
        vocabulary.TYPE_MESH_FEDERATION,
        vocabulary.TYPE_EXTERNAL_DNS_BRIDGE,
        vocabulary.TYPE_MESH_OBSERVABILITY,
        vocabulary.TYPE_SHARED_GATEWAY,
        vocabulary.TYPE_OPERATORS_CONTROL_PLANE,
    }
)
"""Components of the control plane: secrets of their children are the control plane's."""
DATA_PLANE_TYPES: Final = frozenset(
    {
        vocabulary.TYPE_APPLICATION_DEPLOYMENT,
        vocabulary.TYPE_DATA_PLANE_ACCESS,
        vocabulary.TYPE_DATA_PLANE_CRDS,
        vocabulary.TYPE_DNS_EDGE,
        vocabulary.TYPE_OPERATORS_DATA_PLANE,
        vocabulary.TYPE_REMOTE_DATA_PLANE,
        vocabulary.TYPE_TRAFFIC_INTENTS,
    }
)
"""Components of the data plane: their children go to the data plane's cluster."""
CERTIFICATE_TYPES: Final = frozenset(
    {"tls:index/selfSignedCert:SelfSignedCert", "tls:index/locallySignedCert:LocallySignedCert"}
)
"""Resources with a public result."""
STACK_REFERENCE_TYPE: Final = "pulumi:pulumi:StackReference"
"""Another stack's outputs: a secret in them counts as the control plane's."""
SECRET_TYPE: Final = "kubernetes:core/v1:Secret"  # noqa: S105 (a type)
"""The only Kubernetes type with contents that Pulumi marks secret as a whole, including certificates."""


def types_of(urn: str) -> list[str]:
    """The types in a URN, from the outermost parent's to the resource's own; empty if it is no URN."""
    parts = urn.split("::")
    return parts[2].split("$") if len(parts) > 3 else []


def is_control_planes(urn: str) -> bool:
    """True if a resource's secrets are the control plane's, by its type or the type of a parent."""
    return types_of(urn)[-1:] == [STACK_REFERENCE_TYPE] or is_made_by_control_plane(urn)


def is_made_by_control_plane(urn: str) -> bool:
    """True for a component of the control plane and its children."""
    return not CONTROL_PLANE_TYPES.isdisjoint(types_of(urn))


def is_certificate(urn: str) -> bool:
    """True for a certificate, which is public."""
    return not CERTIFICATE_TYPES.isdisjoint(types_of(urn)[-1:])
