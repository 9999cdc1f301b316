"""Whose a resource is, by its type: what the guard judges by.

The policies judge by a copy of the two sets of components, in `hosted_mesh_policies/vocabulary.py`: the pack runs where
the library is not installed. A test compares the two.
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
        # Its objects go to the data plane and are public; a secret among them would be the control plane's.
        vocabulary.TYPE_MESH_FEDERATION,
        vocabulary.TYPE_EXTERNAL_DNS_BRIDGE,
    }
)
"""Components of the control plane's: a secret of a resource below one of them is the control plane's."""
DATA_PLANE_TYPES: Final = frozenset(
    {
        vocabulary.TYPE_DATA_PLANE_ACCESS,
        vocabulary.TYPE_DATA_PLANE_CRDS,
        vocabulary.TYPE_DNS_EDGE,
        vocabulary.TYPE_REMOTE_DATA_PLANE,
    }
)
"""Components of the data plane's: what is below one of them goes to the data plane's cluster."""
CERTIFICATE_TYPES: Final = frozenset(
    {"tls:index/selfSignedCert:SelfSignedCert", "tls:index/locallySignedCert:LocallySignedCert"}
)
"""Resources whose product is public by nature."""
STACK_REFERENCE_TYPE: Final = "pulumi:pulumi:StackReference"
"""Another stack's outputs: a secret among them counts as the control plane's."""
SECRET_TYPE: Final = "kubernetes:core/v1:Secret"  # noqa: S105 (a type)
"""The one Kubernetes type whose contents Pulumi marks secret as a whole, certificates among them."""


def types_of(urn: str) -> list[str]:
    """The types that a URN repeats: the parents' first, the resource's own last; empty if it is no URN."""
    parts = urn.split("::")
    return parts[2].split("$") if len(parts) > 3 else []


def is_control_planes(urn: str) -> bool:
    """True for a resource whose secrets are the control plane's by its type, or by that of a component above it."""
    return types_of(urn)[-1:] == [STACK_REFERENCE_TYPE] or is_made_by_control_plane(urn)


def is_made_by_control_plane(urn: str) -> bool:
    """True for a component of the control plane's, and for all that is below one."""
    return not CONTROL_PLANE_TYPES.isdisjoint(types_of(urn))


def is_certificate(urn: str) -> bool:
    """True for a certificate, public by nature."""
    return not CERTIFICATE_TYPES.isdisjoint(types_of(urn)[-1:])
