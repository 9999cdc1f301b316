"""Verdicts on the Services that a mesh exports: those that went, other ports, and offers older than labels. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.federation.exports import is_declared, needs_reading, offer
from pulumi_hosted_mesh.operations.discovery.mesh_identity import name_of, namespace_of
from pulumi_hosted_mesh.operations.doctor.observation import Manifest, MeshObservation
from pulumi_hosted_mesh.operations.verdict import Verdict, few
from pulumi_hosted_mesh.spec.federation import Federation, Offer, OfferedService

ORDER = "`pulumi up` of the stacks federation: first {importers}, then {mesh}"
"""An importer that runs last calls a service that its gateway no longer has."""
AGAIN = "Write the offer again, `hosted-mesh exports FILE --mesh {mesh} > {mesh}.yaml`, and run "


def exported(
    federation: Federation, mesh: str, offers: Sequence[Offer], observed: MeshObservation
) -> Iterator[Verdict]:
    """Compares the offer of this mesh with its cluster's Services."""
    own = next((one for one in offers if one.mesh == mesh and one.federation == federation.name), None)
    if own is None or observed.exported is None or not federation.peer(mesh).exports:
        return
    by_name = {(namespace_of(one), name_of(one)): one for one in observed.exported}
    wrong = list[Verdict]()
    for one in own.services:
        if found := _service(federation, mesh, one, by_name.get((one.namespace, one.service))):
            wrong.append(found)
    gone = {one.check for one in wrong}
    if needs_reading(federation, mesh):
        wrong += _labels(federation, mesh, own, observed.exported, gone)
    yield from wrong
    if not wrong:
        yield Verdict(f"exported Services of {mesh}", None, f"{len(own.services)}, each with its port")


def _check(one: OfferedService) -> str:
    return f"exported Service {one.service} in namespace {one.namespace}"


def _service(federation: Federation, mesh: str, one: OfferedService, there: Manifest | None) -> Verdict | None:
    check = _check(one)
    importers = _importers([one])
    if is_declared(federation, mesh, one):
        fix = f"Create it, or remove it from the exports in the document and run {ORDER}"
    else:
        fix = f"{AGAIN}{ORDER}"
    fix = fix.format(mesh=mesh, importers=importers)
    if there is None:
        seen = f"it is not there, so callers of {one.host} get 503"
        return Verdict(check, "missing-service", seen, fix)
    ports = [int(port["port"]) for port in (there.get("spec") or {}).get("ports") or []]
    if one.port not in ports:
        there_are = few([str(port) for port in ports]) or "none"
        seen = f"it has no port {one.port}, only {there_are}, so callers of {one.host} get 503"
        return Verdict(check, "missing-port", seen, fix.replace("Create it,", "Add the port to it,"))
    return None


def _labels(
    federation: Federation, mesh: str, own: Offer, services: Sequence[Manifest], gone: set[str]
) -> Iterator[Verdict]:
    """Compares the offer with one made from today's labels."""
    today = {one.host: one for one in offer(federation, mesh, services).services}
    before = {one.host: one for one in own.services}
    check = f"offer of {mesh}"
    # A Service that is not there has its own verdict.
    withdrawn = [one for host, one in sorted(before.items()) if host not in today and _check(one) not in gone]
    if withdrawn:
        seen = f"its labels no longer export {few([one.host for one in withdrawn])}, which peers still call"
        order = ORDER.format(mesh=mesh, importers=_importers(withdrawn))
        yield Verdict(check, "outdated-offer", seen, f"{AGAIN.format(mesh=mesh)}{order}")
    if added := sorted(today.keys() - before.keys()):
        seen = f"its labels also export {few(added)}, which peers do not import yet"
        order = "`pulumi up` of the stacks federation: first {mesh}, then its importers"
        yield Verdict(check, "outdated-offer", seen, f"{AGAIN}{order}".format(mesh=mesh), notice=True)


def _importers(services: Sequence[OfferedService]) -> str:
    return " and ".join(sorted({one.mesh for service in services for one in service.to}))
