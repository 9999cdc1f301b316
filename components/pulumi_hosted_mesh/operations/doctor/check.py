"""From observed facts to verdicts: the federation's objects here, the rest in modules of their own. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pulumi_hosted_mesh.federation.imports import left_out
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.authority import SOON, authority, roots
from pulumi_hosted_mesh.operations.doctor.clocks import clocks
from pulumi_hosted_mesh.operations.doctor.configuration import configuration
from pulumi_hosted_mesh.operations.doctor.control_plane import data_plane_access, has_other_members, istiods
from pulumi_hosted_mesh.operations.doctor.gateways import crossing, gateways
from pulumi_hosted_mesh.operations.doctor.left_behind import left_behind
from pulumi_hosted_mesh.operations.doctor.namespaces import namespaces
from pulumi_hosted_mesh.operations.doctor.observation import KINDS, Manifest, Observed
from pulumi_hosted_mesh.operations.doctor.proxies import proxies
from pulumi_hosted_mesh.operations.doctor.selected import selected
from pulumi_hosted_mesh.operations.doctor.views import views
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.operations.webhooks.check import NOT_PRESENT
from pulumi_hosted_mesh.operations.webhooks.check import verdicts as webhook_verdicts
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer

RUN = "Run `pulumi up --refresh` of the stack federation of {mesh}"
NO_ANSWER = frozenset({"unreachable", "time-out"})
Key = tuple[str, str, str]


def verdicts(
    federation: Federation | None,
    mesh: str,
    offers: Iterable[Offer],
    observed: Observed,
    endpoint: EndpointDocument | None = None,
    soon: timedelta = SOON,
    without: Collection[str] = frozenset(),
) -> list[Verdict]:
    """All checks of one mesh. federation: None for a mesh alone. offers: as its stack has them. endpoint: where the
    webhooks were asked.

    soon: how long before its end a certificate is named. without: CRDs that are not there on purpose. Raises:
    InvalidInputError as `manifests.objects`.
    """
    peer = federation.peer(mesh) if federation else None
    given = list(offers)
    found: list[Verdict] = []
    closed: set[tuple[str, str]] = set()
    if federation and peer:
        own_gateway, *others = gateways(federation, peer, observed)
        found = [*_objects(mesh, objects(federation, mesh, given), observed.objects), own_gateway, *others]
        found += [Verdict(one.field, "left-out", one.rule, one.fix, True) for one in left_out(federation, mesh, given)]
        if own_gateway.cause == "network-policy":
            closed.add((peer.gateway_namespace, peer.gateway.name))
    told = []
    if endpoint and observed.webhooks is not None:
        told = webhook_verdicts(endpoint, observed.webhooks, without)
    awaited = endpoint.revision if endpoint and told and told[0].cause == NOT_PRESENT else None
    found += [
        *roots(federation, mesh, observed, soon),
        *clocks(observed.clocks),
        *proxies(observed.proxies, observed.revisions, peer, awaited),
    ]
    if observed.wishes is not None:
        found += namespaces(observed.wishes, observed.answered, awaited)
    istiod_is_there = True
    if (centre := observed.control_plane) is not None:
        own = list(istiods(mesh, centre))
        istiod_is_there = all(one.ok for one in own)
        found += [*authority(mesh, observed, soon), *own, *data_plane_access(mesh, centre.access, observed.now)]
    if observed.configured is not None:
        found += configuration(observed.configured, istiod_is_there=istiod_is_there, kept_out_of=closed)
    found += [*selected(mesh, peer, observed), *left_behind(mesh, observed)]
    has_others = has_other_members(observed.control_plane)
    if peer and has_others is not False:
        found += crossing(peer, observed)
    if endpoint is not None and told:
        found += _webhooks(told, istiod_is_there=istiod_is_there)
        # What webhooks do not give, or not now, a Pod does not get by being restarted either.
        if all(one.ok for one in told):
            found += views(observed.proxies, endpoint, has_other_members=has_others)
    return found


def _webhooks(found: Sequence[Verdict], *, istiod_is_there: bool) -> Iterator[Verdict]:
    """Without what follows: what is installed wrongly is asked wrongly, and an istiod that is away answers nothing.

    found: as check-webhooks has them, the first on what is installed.
    """
    installed, *asked = found
    yield installed
    said: set[str | None] = set() if istiod_is_there else {*NO_ANSWER}
    for one in asked:
        if one.ok:
            yield one
        elif installed.ok and one.cause not in said:
            yield one
            said |= NO_ANSWER if one.cause in NO_ANSWER else {one.cause}


def _objects(mesh: str, wanted: Sequence[Manifest], there: Sequence[Manifest]) -> Iterator[Verdict]:
    """What the document asks for is there, as it asks for it, and nothing else with the federation's label."""
    expected, found = {_key(one): one for one in wanted}, {_key(one): one for one in there}
    wrong = False
    for key in sorted({*expected, *found}):
        kind, namespace, name = key
        check = f"{kind} {name} in namespace {namespace}"
        if key not in found:
            wrong = True
            yield Verdict(check, f"missing-{_word(kind)}", "it is not there", RUN.format(mesh=mesh))
        elif key not in expected:
            wrong = True
            fix = f"`kubectl delete {KINDS[kind][1]}.{KINDS[kind][0].split('/')[0]} {name} -n {namespace}`, for no "
            fix += "export or import asks for it; if one should, give the stack today's offers"
            yield Verdict(check, f"stale-{_word(kind)}", "nothing in the document asks for it", fix)
        elif (said := _difference(expected[key], found[key])) is not None:
            wrong = True
            cause, seen = said
            yield Verdict(check, cause, seen, RUN.format(mesh=mesh))
    if not wrong:
        yield Verdict(f"objects of {mesh}", None, f"{len(expected)}, all as the document says")


def _difference(expected: Manifest, found: Manifest) -> tuple[str, str] | None:
    """Cause and what was seen; None where both specs are the same."""
    if expected["spec"] == found.get("spec"):
        return None
    if expected["kind"] == "ServiceEntry":
        should, has = _addresses(expected), _addresses(found)
        if should != has:
            return "wrong-address", f"it leads to {', '.join(has) or 'nowhere'}; the gateway is {', '.join(should)}"
    part = next(
        key for key in {**expected["spec"], **(found.get("spec") or {})} if expected["spec"].get(key) != _at(found, key)
    )
    return f"changed-{_word(expected['kind'])}", f"its spec.{part} is not what the document says"


def _key(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"])


def _word(kind: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind).removeprefix("-")


def _addresses(entry: Manifest) -> list[str]:
    return sorted(str(one.get("address")) for one in _at(entry, "endpoints") or [])


def _at(manifest: Mapping[str, Any], key: str) -> Any:
    return (manifest.get("spec") or {}).get(key)
