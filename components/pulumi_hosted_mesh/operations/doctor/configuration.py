"""Whether proxies have istiod's latest configuration: from their statistics, and from their logs after rejections.

istiod's debug endpoints only answer its own machine, or verified identities. So the API server reads each proxy's
statistics, from the Prometheus port of every sidecar and gateway.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlencode

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnreachableError
from pulumi_hosted_mesh.operations.doctor.proxies import PROXY, Proxy
from pulumi_hosted_mesh.operations.verdict import Verdict, few

# Injection excludes this port from redirection to Envoy, so the mesh's mutual TLS does not apply.
PORT: Final = 15090
# Envoy's own names. Istio's name of a cluster ends with a semicolon (alt_stat_name).
FILTER: Final = (
    r"^(cluster_manager\.cds|listener_manager\.lds)\.update_(rejected|time)$|^cluster\.xds-grpc;?\.upstream_rq_active$"
)
UPDATES: Final = re.compile(
    r"^envoy_(?:cluster_manager_c|listener_manager_l)ds_update_(rejected|time)(?:\{\})? (\d+)$", re.MULTILINE
)
# Envoy connects to the agent beside it. The agent forwards each stream to istiod, and closes it if it cannot.
STREAMS: Final = re.compile(r'^envoy_cluster_upstream_rq_active\{cluster_name="xds-grpc"\} (\d+)$', re.MULTILINE)
# Envoy's log entry for a rejected kind of configuration, as text or JSON, after the time.
REFUSAL: Final = re.compile(
    r'^(\S+) .*gRPC config for type\.googleapis\.com/[\w.]+\.(\w+) rejected: (.*?)(?:\tthread=|",|$)', re.MULTILINE
)
FRACTION: Final = re.compile(r"\.\d+")
KINDS: Final[Mapping[str, str]] = {"cds": "Cluster", "lds": "Listener"}
AT_ONCE: Final = 16
LOG_SECONDS, LOG_BYTES = 10.0, 2**24
LONGEST: Final = 160
DIGITS: Final = 14  # of a time in milliseconds: at most the year 5138. Python's limit is 9999


@dataclass(frozen=True)
class ProxyConfiguration:
    """A proxy's statistics. answered: whether the API server could read them. connected: to istiod.

    refused: the rejected update that no accepted one has followed, like `Cluster: no such file`.
    """

    proxy: Proxy
    answered: bool = True
    connected: bool = True
    refused: str | None = None


@dataclass(frozen=True)
class Updates:
    """Updates of one kind. rejected: number since the proxy's start. accepted: time of the last, seconds since 1970."""

    rejected: int
    accepted: float


def configured(api: ApiServer, proxies: Iterable[Proxy]) -> list[ProxyConfiguration]:
    """Reads the statistics of ready proxies. Raises: RefusedError."""
    ready = [one for one in proxies if one.ready]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: _configuration(api, one), ready))


def _configuration(api: ApiServer, proxy: Proxy) -> ProxyConfiguration:
    pod = f"/api/v1/namespaces/{quote(proxy.namespace)}/pods/{quote(proxy.pod)}"
    try:
        numbers = api.text(f"{pod}:{PORT}/proxy/stats/prometheus?{urlencode({'filter': FILTER})}") or ""
    except RefusedError:
        raise
    except UnreachableError:
        return ProxyConfiguration(proxy, answered=False)
    found, stream = updates(numbers), STREAMS.search(numbers)
    if stream is None or found.keys() != KINDS.keys():
        return ProxyConfiguration(proxy, answered=False)
    refused = None
    if suspects := {KINDS[kind]: one.accepted for kind, one in found.items() if one.rejected}:
        since = datetime.fromtimestamp(min(suspects.values()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = {"container": PROXY, "timestamps": "true", "sinceTime": since, "limitBytes": str(LOG_BYTES)}
        refused = refusal(api.text(f"{pod}/log?{urlencode(wanted)}", LOG_SECONDS) or "", suspects)
    return ProxyConfiguration(proxy, connected=stream[1] != "0", refused=refused)


def updates(numbers: str) -> dict[str, Updates]:
    """Updates of clusters (`cds`) and listeners (`lds`) in a proxy's statistics; without those that cannot be read."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    strange = set()
    for match in UPDATES.finditer(numbers):
        kind = "cds" if "_cds_" in match[0] else "lds"
        if len(match[2]) > DIGITS:
            strange.add(kind)
        else:
            found[kind][match[1]] = int(match[2])
    read = {kind: one for kind, one in found.items() if kind not in strange}
    return {kind: Updates(one.get("rejected", 0), one.get("time", 0) / 1000) for kind, one in read.items()}


def refusal(log: str, accepted: Mapping[str, float]) -> str | None:
    """The newest rejection in a log that no accepted update of its kind has followed; None without one.

    accepted: time of the last accepted update by kind, `Cluster`. Envoy's counter of rejections never decreases, so it
    does not show a correction.
    """
    newest = None
    for at, kind, reason in REFUSAL.findall(log):
        if kind in accepted and _seconds(at) > accepted[kind]:
            newest = f"{kind}: {reason if len(reason) <= LONGEST else f'{reason[:LONGEST]}...'}"
    return newest


def _seconds(stamp: str) -> float:
    """A log's time, to the microsecond. The log has up to nine digits of a second."""
    try:
        return datetime.fromisoformat(FRACTION.sub(lambda found: found[0][:7].ljust(7, "0"), stamp)).timestamp()
    except ValueError:
        return 0.0


def configuration(
    found: Collection[ProxyConfiguration],
    *,
    istiod_is_there: bool = True,
    kept_out_of: Collection[tuple[str, str]] = (),
) -> Iterator[Verdict]:
    """Checks that each proxy is connected to istiod and accepted its configuration.

    istiod_is_there: False if another check found no istiod, so that no proxy can be connected. kept_out_of: namespaces
    and apps of Pods that NetworkPolicies close, also to the API server.
    """
    silent, apart, refused = (defaultdict[str, list[ProxyConfiguration]](list) for _ in range(3))
    for one in found:
        if not one.answered and (one.proxy.namespace, one.proxy.app) in kept_out_of:
            continue
        if not one.answered:
            silent[one.proxy.namespace].append(one)
        elif not one.connected and istiod_is_there:
            apart[one.proxy.revision].append(one)
        if one.refused:
            refused[one.proxy.namespace].append(one)
    for namespace, those in sorted(silent.items()):
        seen = f"the API server cannot read statistics of {len(those)} at port {PORT}: {_named(those)}"
        fix = "Let the API server reach that port of Pods, also through NetworkPolicies, or omit --ask-proxies"
        yield Verdict(f"statistics of proxies in namespace {namespace}", "no-answer", seen, fix)
    for revision, those in sorted(apart.items()):
        seen = f"{len(those)} have none, and keep their old configuration: {_named(those)}"
        first = those[0].proxy
        fix = f"See `kubectl logs {first.pod} -c {PROXY} -n {first.namespace}`, whether istiod runs, and whether its "
        fix += "host resolves and port 15012 answers there. `--control-plane-kubeconfig` checks istiod too"
        yield Verdict(f"connection of proxies of revision {revision} to istiod", "not-connected", seen, fix)
    for namespace, those in sorted(refused.items()):
        seen = (
            f"{len(those)} rejected istiod's last update, and keep their old configuration: {_named(those)}: "
            f"{those[0].refused}"
        )
        fix = "Correct or delete the object that caused the update, most often an EnvoyFilter: `kubectl get "
        fix += "envoyfilters --all-namespaces --sort-by=.metadata.creationTimestamp`"
        yield Verdict(f"configuration of proxies in namespace {namespace}", "update-rejected", seen, fix)
    if not silent and not apart and not refused:
        yield Verdict("configuration of proxies", None, f"{len(found)} accepted their last update")


def _named(those: Collection[ProxyConfiguration]) -> str:
    return few(sorted(f"{one.proxy.namespace}/{one.proxy.pod}" for one in those))
