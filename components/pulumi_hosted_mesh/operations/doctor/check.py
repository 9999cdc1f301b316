"""From observed facts to verdicts: the federation's objects here, the others in separate modules. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pulumi_hosted_mesh.federation.imports import left_out, withdrawn
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.operations.doctor.authority import SOON, authority, issuance, roots
from pulumi_hosted_mesh.operations.doctor.clocks import clocks
from pulumi_hosted_mesh.operations.doctor.configuration import configuration
from pulumi_hosted_mesh.operations.doctor.control_plane import data_plane_access, has_other_members, istiods
from pulumi_hosted_mesh.operations.doctor.exported import exported
from pulumi_hosted_mesh.operations.doctor.gateways import crossing, gateways
from pulumi_hosted_mesh.operations.doctor.installed import installed
from pulumi_hosted_mesh.operations.doctor.left_behind import left_behind
from pulumi_hosted_mesh.operations.doctor.namespaces import misspelt, namespaces
from pulumi_hosted_mesh.operations.doctor.observation import KINDS, Manifest, MeshObservation
from pulumi_hosted_mesh.operations.doctor.proxies import leaving as left
from pulumi_hosted_mesh.operations.doctor.proxies import not_given, proxies
from pulumi_hosted_mesh.operations.doctor.selected import selected
from pulumi_hosted_mesh.operations.doctor.views import views
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.operations.webhooks.check import NOT_PRESENT
from pulumi_hosted_mesh.operations.webhooks.check import verdicts as webhook_verdicts
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.vocabulary import PEERS_ANNOTATION

RUN = "Run `pulumi up --refresh` of the stack federation of {mesh}"
PULUMI_MANAGER = "pulumi"
"""Prefix of the field manager of Pulumi's provider, `pulumi-kubernetes-<random>`."""
STALE = (
    "Run `pulumi up` of the stacks federation with today's document and offers, first {order}: it deletes the object"
)
NOT_LOOKED_AT = Verdict(
    "istiod",
    "not-looked-at",
    "neither istiod nor its webhooks were called, so this report is the same while it is down",
    "Add --endpoint to have the API server call the webhooks, or a credential of the control plane",
    notice=True,
)
ACCOUNTS = frozenset({"token-refused", "missing-rights"})
"""Causes of the check of istiod's access that have their origin in its account or rights."""
NO_ANSWER = frozenset({"unreachable", "time-out"})
Key = tuple[str, str, str]


def verdicts(
    federation: Federation | None,
    mesh: str,
    offers: Iterable[Offer],
    observed: MeshObservation,
    endpoint: EndpointDocument | None = None,
    soon: timedelta = SOON,
    without: Collection[str] = frozenset(),
    leaving: str | None = None,
) -> list[Verdict]:
    """All checks of one mesh. federation: None for a mesh without one. offers: as in its stack. endpoint: of the tested
    webhooks.

    soon: reports certificates that end within this time. without: CRDs that are left out on purpose. leaving: a
    revision that no Pod may have any more. Raises: InvalidInputError as `manifests.objects`.
    """
    peer = federation.peer(mesh) if federation else None
    given = list(offers)
    found: list[Verdict] = []
    closed: set[tuple[str, str]] = set()
    if federation and peer:
        own_gateway, *others = gateways(federation, peer, observed)
        found = [*_objects(mesh, objects(federation, mesh, given), observed.objects), own_gateway, *others]
        found += [Verdict(one.field, "left-out", one.rule, one.fix, True) for one in left_out(federation, mesh, given)]
        found += [
            Verdict(one.field, "withdrawn", one.rule, one.fix, True) for one in withdrawn(federation, mesh, given)
        ]
        found += exported(federation, mesh, given, observed)
        if own_gateway.cause == "network-policy":
            closed.add((peer.gateway_namespace, peer.gateway.name))
    on_webhooks = []
    if endpoint and observed.webhooks is not None:
        on_webhooks = webhook_verdicts(endpoint, observed.webhooks, without)
    known = frozenset({mesh, endpoint.mesh} if endpoint else {mesh})
    awaited = endpoint.revision if endpoint and on_webhooks and on_webhooks[0].cause == NOT_PRESENT else None
    found += [
        *roots(federation, mesh, observed, soon),
        *clocks(observed.clocks),
        *proxies(observed.proxies, observed.revisions, peer, awaited, known),
    ]
    if leaving:
        found += left(observed.proxies, leaving)
    if observed.wishes is not None:
        found += namespaces(observed.wishes, observed.answered, awaited)
        staying = [one for one in observed.proxies if one.revision not in (leaving, awaited)]
        found += not_given(staying, observed.revisions, observed.tags, observed.wishes)
    found += misspelt(observed.misspelt)
    istiod_is_there = True
    if (centre := observed.control_plane) is not None:
        own = list(istiods(mesh, centre))
        istiod_is_there = all(one.ok for one in own)
        found += [
            *authority(mesh, observed, soon),
            *issuance(mesh, observed),
            *own,
            *data_plane_access(mesh, centre.access, observed.now, centre.tenant),
        ]
    if endpoint is not None and observed.installed is not None:
        faulty = observed.control_plane is not None and observed.control_plane.access.cause in ACCOUNTS
        found += installed(endpoint, observed.installed, account_is_faulty=faulty)
    if observed.configured is not None:
        found += configuration(observed.configured, istiod_is_there=istiod_is_there, kept_out_of=closed)
    found += [*selected(mesh, peer, observed), *left_behind(mesh, observed)]
    has_others = has_other_members(observed.control_plane)
    if peer and has_others is not False:
        found += crossing(peer, observed)
    if endpoint is not None and on_webhooks:
        found += _webhooks(on_webhooks, istiod_is_there=istiod_is_there)
        # While webhooks fail, restarting a Pod does not change its network view.
        if all(one.ok for one in on_webhooks):
            found += views(observed.proxies, endpoint, has_other_members=has_others)
    return found


def not_looked_at(observed: MeshObservation) -> list[Verdict]:
    """A notice if neither istiod nor its webhooks were looked at."""
    return [NOT_LOOKED_AT] if observed.control_plane is None and observed.webhooks is None else []


def _webhooks(found: Sequence[Verdict], *, istiod_is_there: bool) -> Iterator[Verdict]:
    """Leaves out consequences: of a wrong installation, and of an absent istiod.

    found: the verdicts of check-webhooks; the first is on the installation.
    """
    installed, *called = found
    yield installed
    reported: set[str | None] = set() if istiod_is_there else {*NO_ANSWER}
    for one in called:
        if one.ok:
            yield one
        elif installed.ok and one.cause not in reported:
            yield one
            reported |= NO_ANSWER if one.cause in NO_ANSWER else {one.cause}


def _objects(mesh: str, wanted: Sequence[Manifest], there: Sequence[Manifest]) -> Iterator[Verdict]:
    """Compares the cluster's objects with the federation's label to those that the document requires."""
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
            fix = _removal(mesh, found[key])
            yield Verdict(check, f"stale-{_word(kind)}", "no part of the document needs it", fix)
        elif (difference := _difference(expected[key], found[key])) is not None:
            wrong = True
            cause, seen = difference
            yield Verdict(check, cause, seen, RUN.format(mesh=mesh))
    if not wrong:
        yield Verdict(f"objects of {mesh}", None, f"{len(expected)}, all as in the document")


def _removal(mesh: str, there: Manifest) -> str:
    """The fix for an object without a reason. Pulumi deletes its own: `kubectl delete` would leave it in the state."""
    managers = {str(one.get("manager")) for one in there["metadata"].get("managedFields") or []}
    if managers and not any(one.startswith(PULUMI_MANAGER) for one in managers):
        kind, namespace, name = _key(there)
        plural = f"{KINDS[kind][1]}.{KINDS[kind][0].split('/')[0]}"
        return f"Pulumi did not create it: `kubectl delete {plural} {name} -n {namespace}`"
    # Only objects of imports have the annotation.
    peers = (there["metadata"].get("annotations") or {}).get(PEERS_ANNOTATION, "")
    order = f"of {mesh}, then of {' and '.join(peers.split(','))}" if peers else f"of its importers, then of {mesh}"
    return f"{STALE.format(order=order)}. If an export or import should need it, give the newest offers"


def _difference(expected: Manifest, found: Manifest) -> tuple[str, str] | None:
    """Cause and finding; None if both specs are the same."""
    if expected["spec"] == found.get("spec"):
        return None
    if expected["kind"] == "ServiceEntry":
        should, has = _addresses(expected), _addresses(found)
        if should != has:
            return "wrong-address", f"it leads to {', '.join(has) or 'nowhere'}; the gateway is {', '.join(should)}"
        missing = sorted({*_at(expected, "hosts")} - {*(_at(found, "hosts") or ())})
        more = sorted({*(_at(found, "hosts") or ())} - {*_at(expected, "hosts")})
        if missing or more:
            seen = " and ".join(
                f"{word} {few(hosts)}"
                for word, hosts in (("it lacks", missing), ("has without a reason", more))
                if hosts
            )
            return "changed-service-entry", f"{seen}, in spec.hosts"
    part = next(
        key for key in {**expected["spec"], **(found.get("spec") or {})} if expected["spec"].get(key) != _at(found, key)
    )
    return f"changed-{_word(expected['kind'])}", f"its spec.{part} differs from the document"


def _key(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"])


def _word(kind: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind).removeprefix("-")


def _addresses(entry: Manifest) -> list[str]:
    return sorted(str(one.get("address")) for one in _at(entry, "endpoints") or [])


def _at(manifest: Mapping[str, Any], key: str) -> Any:
    return (manifest.get("spec") or {}).get(key)
