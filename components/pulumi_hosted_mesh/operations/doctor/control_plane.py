"""Verdicts on a mesh's istiod: its Pods, NetworkPolicies in its way, and its access to the data plane. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.operations.discovery.mesh_identity import labels_of, name_of
from pulumi_hosted_mesh.operations.doctor.access import AccessObservation
from pulumi_hosted_mesh.operations.doctor.network_policies import keeping_in, keeping_out
from pulumi_hosted_mesh.operations.doctor.observation import ControlPlaneObservation, Manifest
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.spec.fields import is_address
from pulumi_hosted_mesh.vocabulary import (
    REMOTE_CLUSTERS_SECRET,
    WEBHOOK_PORT,
    XDS_PORT,
    control_plane_namespace_of,
)

LEFT = 10
AGAIN = "Run `pulumi up --refresh` of the stack {stack} of {mesh}"


def istiods(mesh: str, found: ControlPlaneObservation) -> Iterator[Verdict]:
    """Checks that istiod's Deployments have ready Pods, and that no NetworkPolicy separates them from data planes.

    If only some Pods are ready, istiod still answers, so this is a notice. During a rollout it is normal.
    """
    namespace = control_plane_namespace_of(mesh, found.tenant)
    if not found.istiods:
        fix = AGAIN.format(stack="control-plane", mesh=mesh)
        fix += "" if found.tenant else ". If the mesh has a tenant, add --tenant"
        yield Verdict(f"istiod of {mesh}", "no-istiod", f"namespace {namespace} has no Deployment of it", fix)
    for one in found.istiods:
        check = f"istiod {name_of(one)} in namespace {namespace} of the control plane"
        ready = int((one.get("status") or {}).get("readyReplicas") or 0)
        see = f"See `kubectl describe pods,replicasets -l app=istiod -n {namespace}`, and `kubectl logs` of its Pods"
        if blocked := _blocked(one, found):
            names, why = blocked
            fix = f"`kubectl describe networkpolicy {' '.join(names)} -n {namespace}`, and allow that"
            yield Verdict(check, "network-policy", f"{', '.join(names)} {why}", fix)
        elif not ready and (one.get("spec") or {}).get("replicas") == 0:
            fix = AGAIN.format(stack="control-plane", mesh=mesh) + ", which restores its Pods"
            yield Verdict(check, "not-ready", "it is scaled to zero Pods", fix)
        elif not ready:
            yield Verdict(check, "not-ready", "none of its Pods is ready", see)
        elif waiting := int((one.get("status") or {}).get("unavailableReplicas") or 0):
            yield Verdict(check, "some-not-ready", f"{ready} ready, {waiting} not", see, notice=True)
        else:
            yield Verdict(check, None, f"{ready} ready")


def _blocked(istiod: Manifest, found: ControlPlaneObservation) -> tuple[list[str], str] | None:
    """Names of the policies, and their effect."""
    labels = labels_of((istiod.get("spec") or {}).get("template") or {})
    for port in (XDS_PORT, WEBHOOK_PORT):
        if names := keeping_out(found.policies, labels, port):
            return names, f"admit no caller from another network at port {port}"
    if found.access.server is None:
        return None
    host, port = canonical.server_host_and_port(found.access.server)
    if names := keeping_in(found.policies, labels, port, host if is_address(host) else None):
        return names, f"do not let it out to the data plane's API server, {host}:{port}"
    return None


def has_other_members(found: ControlPlaneObservation | None) -> bool | None:
    """Whether istiod has kubeconfigs of more than one data plane; None if none of its Deployments was found."""
    if found is None or not found.istiods:
        return None
    pods = [((one.get("spec") or {}).get("template") or {}).get("spec") or {} for one in found.istiods]
    volumes = [volume for pod in pods for volume in pod.get("volumes") or []]
    return any((one.get("secret") or {}).get("secretName") == REMOTE_CLUSTERS_SECRET for one in volumes)


FIXES = {
    "missing-kubeconfig": AGAIN.format(stack="control-plane", mesh="{mesh}"),
    "unreadable-kubeconfig": AGAIN.format(stack="control-plane", mesh="{mesh}"),
    # `--refresh` detects and recreates a deleted account. Until then new tokens are rejected.
    "token-refused": "Its token has expired, or it or its account was deleted: `pulumi up --refresh` of the stacks "
    "access and control-plane of {mesh}, in this order, or a new `hosted-mesh token` if tokens are bounded. If that "
    "changes nothing, `hosted-mesh rotate`; if the cluster was recreated, see docs/recovery.md",
    "another-authority": "The authority in its kubeconfig is not the API server's: `pulumi up` of the stacks access "
    "and control-plane of {mesh}, in this order; with `--refresh --run-program` if the cluster was recreated, see "
    "docs/recovery.md. Or set access.certificateAuthority",
    "missing-rights": AGAIN.format(stack="access", mesh="{mesh}") + ", on the data plane's side",
    "unreachable": "It does not answer this machine, and perhaps not istiod either: see `kubectl logs -l app=istiod -n "
    "{namespace}`. Check access.apiServer of the data plane's document, and firewalls on the way",
}


def data_plane_access(
    mesh: str, found: AccessObservation, now: datetime, tenant: str | None = None
) -> Iterator[Verdict]:
    """Checks istiod's credential for the data plane's API server: present, accepted, and with all rights.

    A token that expires is reported when a tenth of its lifetime is left. It is not renewed automatically, and istiod
    stays ready without it.
    """
    check = f"access of istiod of {mesh} to its data plane, by Secret {found.secret}"
    if found.cause is None and found.valid:
        since, ends = found.valid
        when = f"its token ends at {ends:%Y-%m-%d %H:%M} UTC"
        is_due = ends - now < (ends - since) / LEFT
        fix = "Set a new `hosted-mesh token`, and run `pulumi up` of the stack control-plane" if is_due else ""
        yield Verdict(check, "token-ends-soon" if is_due else None, when if is_due else f"{found.seen}; {when}", fix)
        return
    namespace = control_plane_namespace_of(mesh, tenant)
    fix = FIXES[found.cause].format(mesh=mesh, namespace=namespace) if found.cause else ""
    yield Verdict(check, found.cause, found.seen, fix)
