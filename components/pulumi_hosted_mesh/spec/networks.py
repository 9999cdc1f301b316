"""Whether anything leads from one network of a mesh's members to another, and what proxies are told by that."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class CrossNetwork(StrEnum):
    """What leads from one network of the members to another."""

    NONE = "none"
    GATEWAYS = "gateways"


NETWORK_VIEW: Final = "ISTIO_META_REQUESTED_NETWORK_VIEW"
"""Variable of a proxy: of these networks' workloads it is told, and of what has no network, as ServiceEntries
(pilot/pkg/model/proxy_view.go). Without it, or empty, of all."""
