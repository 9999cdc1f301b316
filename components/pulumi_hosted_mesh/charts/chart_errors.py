"""One message, without a stack trace, for a chart that Pulumi's Kubernetes plug-in cannot fetch or render."""

from __future__ import annotations

from typing import Any, Final

import grpc
import pulumi
from pulumi.runtime import settings

CHART: Final = "kubernetes:helm.sh/v4:Chart"
REPORTED: Final = "resource monitor shut down"
"""The engine's answer after it has printed the cause (`RegisterResource`, pkg/resource/deploy/source_eval.go)."""
FIX: Final = (
    "If it cannot be fetched: correct charts.version or charts.repository, log in by `helm registry login` for oci://, "
    "or set charts.path to a directory with Istio's charts"
)


def report_plainly() -> None:
    """Turns the failure of a chart's registration into a RunError, for the running program. Call it before the first.

    Pulumi's Python SDK makes an exception of it that its language host prints with a stack trace.
    """
    monitor: Any = settings.get_monitor()
    if monitor is None or getattr(monitor.RegisterResource, "is_plain", False):
        return
    monitor.RegisterResource = _Plain(monitor.RegisterResource)


class _Plain:
    is_plain = True

    def __init__(self, register: Any) -> None:
        self.register = register

    def __call__(self, request: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return self.register(request, *arguments, **options)
        except grpc.RpcError as error:
            call: Any = error
            if request.type != CHART or call.code() == grpc.StatusCode.UNAVAILABLE:
                raise
            raise pulumi.RunError(_message(request.name, str(call.details() or ""))) from None


def _message(name: str, details: str) -> str:
    lines = details.split("\n")
    why = "another message of this run has the cause" if REPORTED in details else " ".join(lines)
    return f"the chart {name} cannot be made: {why}. {FIX}."
