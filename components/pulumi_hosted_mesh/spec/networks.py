"""Whether anything leads from one network of a mesh's members to another, and what proxies are told by that."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pulumi_hosted_mesh.vocabulary import EAST_WEST_PORT, GATEWAY_PORT_LABEL


class CrossNetwork(StrEnum):
    """What leads from one network of the members to another."""

    NONE = "none"
    GATEWAYS = "gateways"


NETWORK_VIEW: Final = "ISTIO_META_REQUESTED_NETWORK_VIEW"
"""Variable of a proxy: of these networks' workloads it is told, and of what has no network, as ServiceEntries
(pilot/pkg/model/proxy_view.go). Without it, or empty, of all."""


def gateway_port(labels: Mapping[str, Any]) -> str:
    """The port of a gateway's Service, by its labels, to which istiod sends other networks' proxies."""
    return str(labels.get(GATEWAY_PORT_LABEL) or EAST_WEST_PORT)
