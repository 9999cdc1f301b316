"""Whether proxies have what istiod sent them last: by their own numbers, and by their logs where they refused some.

istiod's own account of this answers to its machine or to identities that it verifies. A proxy's numbers are read
through the API server, from the port that every sidecar and gateway has for Prometheus.
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

# Not in the way of the mesh's own mutual TLS: injection leaves it out of what is redirected to Envoy.
PORT: Final = 15090
# Of Envoy's own names; Istio ends that of a cluster with a semicolon (alt_stat_name).
FILTER: Final = (
    r"^(cluster_manager\.cds|listener_manager\.lds)\.update_(rejected|time)$|^cluster\.xds-grpc;?\.upstream_rq_active$"
)
UPDATES: Final = re.compile(
    r"^envoy_(?:cluster_manager_c|listener_manager_l)ds_update_(rejected|time)(?:\{\})? (\d+)$", re.MULTILINE
)
# Envoy asks the agent beside it, which passes each request of Envoy's on to istiod, and ends it where it cannot.
STREAMS: Final = re.compile(r'^envoy_cluster_upstream_rq_active\{cluster_name="xds-grpc"\} (\d+)$', re.MULTILINE)
# What Envoy logs, in lines or as JSON, of one kind of what it is sent; the log's time stands before it.
REFUSAL: Final = re.compile(
    r'^(\S+) .*gRPC config for type\.googleapis\.com/[\w.]+\.(\w+) rejected: (.*?)(?:\tthread=|",|$)', re.MULTILINE
)
FRACTION: Final = re.compile(r"\.\d+")
KINDS: Final[Mapping[str, str]] = {"cds": "Cluster", "lds": "Listener"}
AT_ONCE: Final = 16
LOG_SECONDS, LOG_BYTES = 10.0, 2**24
LONGEST: Final = 160
DIGITS: Final = 14  # of a time in milliseconds: it is then before the year 5138, and Python takes no year after 9999


@dataclass(frozen=True)
class Configured:
    """What a proxy says. answered: whether it said anything. connected: to istiod.

    refused: what it refused and has not taken since, like `Cluster: no such file`.
    """

    proxy: Proxy
    answered: bool = True
    connected: bool = True
    refused: str | None = None


@dataclass(frozen=True)
class Updates:
    """Of one kind. rejected: how often, since the proxy runs. accepted: when the last time, in seconds since 1970."""

    rejected: int
    accepted: float


def configured(api: ApiServer, proxies: Iterable[Proxy]) -> list[Configured]:
    """Asks those that are ready. Raises: RefusedError."""
    ready = [one for one in proxies if one.ready]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: _asked(api, one), ready))


def _asked(api: ApiServer, proxy: Proxy) -> Configured:
    pod = f"/api/v1/namespaces/{quote(proxy.namespace)}/pods/{quote(proxy.pod)}"
    try:
        numbers = api.text(f"{pod}:{PORT}/proxy/stats/prometheus?{urlencode({'filter': FILTER})}") or ""
    except RefusedError:
        raise
    except UnreachableError:
        return Configured(proxy, answered=False)
    found, stream = updates(numbers), STREAMS.search(numbers)
    if stream is None or found.keys() != KINDS.keys():
        return Configured(proxy, answered=False)
    refused = None
    if suspects := {KINDS[kind]: one.accepted for kind, one in found.items() if one.rejected}:
        since = datetime.fromtimestamp(min(suspects.values()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = {"container": PROXY, "timestamps": "true", "sinceTime": since, "limitBytes": str(LOG_BYTES)}
        refused = refusal(api.text(f"{pod}/log?{urlencode(wanted)}", LOG_SECONDS) or "", suspects)
    return Configured(proxy, connected=stream[1] != "0", refused=refused)


def updates(numbers: str) -> dict[str, Updates]:
    """By `cds` and `lds`, what a proxy's numbers say of clusters and listeners; nothing of one that cannot be read."""
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
    """The newest that was refused after the last of its kind that was taken, by a log with times. None if none was.

    accepted: by kind, `Cluster`, when its last update was taken. How often some was refused is counted for good, so
    that number does not say whether it was put right.
    """
    newest = None
    for at, kind, reason in REFUSAL.findall(log):
        if kind in accepted and _seconds(at) > accepted[kind]:
            newest = f"{kind}: {reason if len(reason) <= LONGEST else f'{reason[:LONGEST]}...'}"
    return newest


def _seconds(stamp: str) -> float:
    """Of a log's time, to the microsecond; it has up to nine digits of a second."""
    try:
        return datetime.fromisoformat(FRACTION.sub(lambda found: found[0][:7].ljust(7, "0"), stamp)).timestamp()
    except ValueError:
        return 0.0


def configuration(
    found: Collection[Configured], *, istiod_is_there: bool = True, kept_out_of: Collection[tuple[str, str]] = ()
) -> Iterator[Verdict]:
    """Each proxy is connected to istiod, and took what it was sent.

    istiod_is_there: False where it is known to be away, so that nobody can be connected to it. kept_out_of: namespaces
    and apps of Pods that NetworkPolicies are known to close, to the API server too.
    """
    silent, apart, refused = (defaultdict[str, list[Configured]](list) for _ in range(3))
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
        seen = f"{len(those)} gave the API server no numbers that can be read at port {PORT}: {_named(those)}"
        fix = "Let the API server reach that port of Pods, through NetworkPolicies too, or leave --ask-proxies out"
        yield Verdict(f"numbers of proxies in namespace {namespace}", "no-answer", seen, fix)
    for revision, those in sorted(apart.items()):
        seen = f"{len(those)} have none, and keep what they had: {_named(those)}"
        first = those[0].proxy
        fix = f"See `kubectl logs {first.pod} -c {PROXY} -n {first.namespace}`, whether istiod runs, and whether its "
        fix += "host resolves and port 15012 answers there. `--control-plane-kubeconfig` looks at istiod too"
        yield Verdict(f"connection of proxies of revision {revision} to istiod", "not-connected", seen, fix)
    for namespace, those in sorted(refused.items()):
        seen = (
            f"{len(those)} refused what istiod sent last, and keep what they had: {_named(those)}: {those[0].refused}"
        )
        fix = "Correct or delete what istiod made that of, an EnvoyFilter for the most part: `kubectl get envoyfilters "
        fix += "--all-namespaces --sort-by=.metadata.creationTimestamp`"
        yield Verdict(f"configuration of proxies in namespace {namespace}", "update-rejected", seen, fix)
    if not silent and not apart and not refused:
        yield Verdict("configuration of proxies", None, f"{len(found)} took what they were sent last")


def _named(those: Collection[Configured]) -> str:
    return few(sorted(f"{one.proxy.namespace}/{one.proxy.pod}" for one in those))
