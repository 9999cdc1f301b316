"""Kiali on the control plane, and its account on the data plane. Its credentials are the control plane's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pulumi
import pulumi_tls as tls
from pulumi_kubernetes import apps, core, meta, networking, rbac

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest
from pulumi_hosted_mesh.data_plane.account import RBAC_GROUP, Account, Grant, policy_rule
from pulumi_hosted_mesh.observability import kiali_objects as objects
from pulumi_hosted_mesh.observability.parts import Parts
from pulumi_hosted_mesh.observability.validated_inputs import SOURCE
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.vocabulary import HTTPS_PORT, SKIP_AWAIT_ANNOTATION, labels, namespace_of

API_SERVER_PORTS: Final = frozenset({HTTPS_PORT, 6443})
"""Usual ports of the own API server behind its Service."""


def kubeconfigs(
    name: str,
    document: Observability,
    given: Mapping[str, pulumi.Input[str]],
    data_plane: DataPlaneCluster | None,
    *,
    parent: pulumi.Resource,
) -> dict[str, pulumi.Output[str]]:
    """Kubeconfigs by Istio's name of the cluster, secrets. given: the component's argument.

    Without a given one, the component makes an account on the mesh's own data plane.
    """
    found = {one: _reduced(one, text) for one, text in given.items()}
    if document.cluster_name in document.kiali_data_planes and document.cluster_name not in found:
        assert data_plane is not None, "checked by validated_inputs.kiali"
        found[document.cluster_name] = _account(name, document, data_plane, parent)
    return found


def make(parts: Parts, cluster: ControlPlaneCluster, kubeconfigs: Mapping[str, pulumi.Output[str]]) -> None:
    """Kiali's objects on the control plane. kubeconfigs: of its data planes, secrets."""
    _KialiObjects(parts, cluster).make(kubeconfigs)


class _KialiObjects:
    """Kiali's objects on the control plane, in the namespace of `parts`."""

    def __init__(self, parts: Parts, cluster: ControlPlaneCluster) -> None:
        self._parts, self._cluster, self._document = parts, cluster, parts.document

    def make(self, kubeconfigs: Mapping[str, pulumi.Output[str]]) -> None:
        parts, document = self._parts, self._document
        users = objects.has_token_login(document)
        account = core.v1.ServiceAccount(
            f"{parts.prefix}-kiali",
            metadata=parts.metadata(objects.KIALI),
            automount_service_account_token=False,
            opts=parts.options(),
        )
        before: list[pulumi.Resource] = [account]
        if not users:
            before.append(self._rights(account))
        before += [
            self._secret("signing-key", objects.SIGNING_KEY, {objects.SIGNING_KEY_FILE: self._signing_key()}),
            self._secret("data-planes", objects.DATA_PLANES, kubeconfigs),
            parts.config_map(objects.KIALI, objects.files(document)),
        ]
        ports = _ports(kubeconfigs, None if users else self._cluster.server)
        for named in objects.network_policies(document, ()):
            networking.v1.NetworkPolicy(
                f"{parts.prefix}-{named}-policy",
                metadata=parts.metadata(named),
                spec=_policy(document, ports, named),
                opts=parts.options(),
            )
        core.v1.Service(
            f"{parts.prefix}-kiali",
            metadata=parts.metadata(objects.KIALI, {SKIP_AWAIT_ANNOTATION: "true"}),
            spec=objects.service(),
            opts=parts.options(),
        )
        apps.v1.Deployment(
            f"{parts.prefix}-kiali",
            metadata=parts.metadata(objects.KIALI, parts.waits),
            spec=objects.deployment(document),
            opts=parts.options(*before),
        )

    def _rights(self, account: pulumi.Resource) -> rbac.v1.ClusterRoleBinding:
        """Reads this cluster, and nothing in it that is secret by kind."""
        document, parts = self._document, self._parts
        name = f"{document.own_namespace}-{objects.KIALI}"
        metadata = meta.v1.ObjectMetaArgs(name=name, labels=labels(document.mesh, self._cluster.role))
        role = rbac.v1.ClusterRole(
            f"{parts.prefix}-kiali",
            metadata=metadata,
            rules=[policy_rule(rule) for rule in objects.rules()],
            opts=parts.options(),
        )
        subject = rbac.v1.SubjectArgs(kind="ServiceAccount", name=objects.KIALI, namespace=document.own_namespace)
        return rbac.v1.ClusterRoleBinding(
            f"{parts.prefix}-kiali",
            metadata=metadata,
            role_ref=rbac.v1.RoleRefArgs(api_group=RBAC_GROUP, kind="ClusterRole", name=name),
            subjects=[subject],
            opts=parts.options(role, account),
        )

    def _secret(self, suffix: str, name: str, files: Mapping[str, pulumi.Input[str]]) -> core.v1.Secret:
        return core.v1.Secret(
            f"{self._parts.prefix}-kiali-{suffix}",
            metadata=self._parts.metadata(name),
            string_data=dict(files),
            opts=self._parts.options(),
        )

    def _signing_key(self) -> pulumi.Output[str]:
        """Signs sessions: 32 characters of a digest, which Kiali takes as the bytes of a key."""
        seed = tls.PrivateKey(
            f"{self._parts.prefix}-kiali-signing-key",
            algorithm="ED25519",
            opts=pulumi.ResourceOptions(parent=self._parts.parent),
        )
        key: pulumi.Output[str] = pulumi.Output.secret(
            seed.private_key_pem.apply(lambda pem: hashlib.sha256(pem.encode()).hexdigest()[:32])
        )
        return key


def _account(
    name: str, document: Observability, cluster: DataPlaneCluster, parent: pulumi.Resource
) -> pulumi.Output[str]:
    """An account on the data plane that reads it, in the mesh's namespace there."""
    account = Account(
        called=SOURCE,
        prefix=f"{name}-kiali-reader",
        name=objects.KIALI,
        namespace=namespace_of(document.mesh),
        labels=labels(document.mesh, cluster.role),
        grants=[Grant("reads", f"hosted-mesh-kiali-{document.mesh}", objects.rules(), everywhere=True)],
        holder="Kiali",
        authority="kiali.certificateAuthority",
    )
    made = account.make(cluster, None, parent=parent)
    token = account.token(cluster, made, parent=parent)
    return account.kubeconfig(
        document.cluster_name,
        token,
        document.kiali.api_server or cluster.server,
        document.kiali.certificate_authority or cluster.certificate_authority,
    )


def _reduced(cluster: str, text: pulumi.Input[str]) -> pulumi.Output[str]:
    """The kubeconfig with a server, an authority and a token only: Kiali would run an `exec` in it."""
    request = KubeconfigRequest(identity=cluster, field=f"kiali_kubeconfigs.{cluster}", source=SOURCE)
    return account_kubeconfig(
        text, request, "Give that of a ServiceAccount with a token (docs/components/observability)"
    )


def _policy(document: Observability, ports: pulumi.Output[list[int]], named: str) -> pulumi.Output[Any]:
    """The NetworkPolicy of this name."""
    return ports.apply(lambda found: objects.network_policies(document, found)[named])


def _ports(kubeconfigs: Mapping[str, pulumi.Output[str]], own: pulumi.Input[str] | None) -> pulumi.Output[list[int]]:
    """Ports of the API servers. own: address of the control plane's, if Kiali reads it."""
    found: pulumi.Output[list[int]] = pulumi.Output.unsecret(
        pulumi.Output.all(own, *kubeconfigs.values()).apply(lambda read: _ports_of(read[0], read[1:]))
    )
    return found


def _ports_of(own: str | None, texts: Sequence[str]) -> list[int]:
    servers = [json.loads(text)["clusters"][0]["cluster"]["server"] for text in texts]
    known = {canonical.server_host_and_port(server)[1] for server in servers}
    if own is not None:
        known |= {canonical.server_host_and_port(own)[1], *API_SERVER_PORTS}
    return sorted(known)
