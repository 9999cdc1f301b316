"""Connections between the networks of a mesh's members, and their effect on the configuration of proxies."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pulumi_hosted_mesh.vocabulary import EAST_WEST_PORT, GATEWAY_PORT_LABEL


class CrossNetwork(StrEnum):
    """The connection between the members' networks."""

    NONE = "none"
    GATEWAYS = "gateways"


NETWORK_VIEW: Final = "ISTIO_META_REQUESTED_NETWORK_VIEW"
"""Variable of a proxy: istiod sends it the workloads of these networks, and those without a network, as ServiceEntries
(pilot/pkg/model/proxy_view.go). Without a value istiod sends all."""


def gateway_port(labels: Mapping[str, Any]) -> str:
    """The port of an east-west gateway's Service for other networks' proxies, by the Service's labels."""
    return str(labels.get(GATEWAY_PORT_LABEL) or EAST_WEST_PORT)
