"""Envoy's flat names of metrics: `istiocustom.<metric>.<tag>.<value>.<tag>.<value>...`.

Istio's bootstrap has no `emit_tags_as_labels`, so tags are part of the name. Values may contain dots.
"""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "istiocustom."
REPORTER: Final = "reporter"
# Tags of the EnvoyFilter of the library, and those of Istio's stats filter (source/extensions/filters/http/
# istio_stats in istio/proxy). Both start with the reporter.
TAGS: Final = frozenset(
    {
        *(REPORTER, "destination", "upstream_cluster", "server_name", "response_code", "response_flags"),
        *("grpc_response_status", "request_protocol", "connection_security_policy"),
        *("destination_service", "destination_service_name", "destination_service_namespace"),
        *(
            f"{side}_{name}"
            for side in ("source", "destination")
            for name in (
                *("workload", "workload_namespace", "principal", "app", "version", "cluster"),
                *("canonical_service", "canonical_revision"),
            )
        ),
    }
)
_STEP = re.compile(rf"\.({'|'.join(sorted(TAGS, key=len, reverse=True))})\.")
LONGEST: Final = 4096


def parsed(name: str) -> tuple[str, dict[str, str]] | None:
    """Metric and tags; None for a metric that is not one of Istio's, or that repeats a tag.

    A value that contains the name of a tag between dots makes the name ambiguous. It then repeats that tag, or takes
    the place of a tag that the sender left out: it can only change the sender's own series.
    """
    if not name.startswith(PREFIX) or len(name) > LONGEST:
        return None
    metric, dot, rest = name[len(PREFIX) :].partition(".")
    first, *parts = _STEP.split(f"{dot}{rest}.")
    tags = dict(zip(parts[::2], parts[1::2], strict=True))
    if first or 2 * len(tags) != len(parts) or next(iter(tags), "") != REPORTER:
        return None
    tags[parts[-2]] = parts[-1].removesuffix(".")
    return metric, tags
