"""Spreads Pods over nodes, if there are several. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def over_nodes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """`topologySpreadConstraints` of Pods with these labels."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": dict(labels)},
        }
    ]
