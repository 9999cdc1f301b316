"""Ways to break what doctor looks at beside a federation's objects; each puts back what it changed."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from tests.live.federation.breaking.federation import Breaking, kubectl, patched, stored
from tests.live.federation.meshes.federated import CALLED, NAMESPACE, STRANGER, Meshes, cacerts, programs
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.waiting import eventually


@contextmanager
def altered(
    meshes: Meshes, mesh: str | None, kind: str, name: str, namespace: str, change: Callable[[Any], object]
) -> Iterator[None]:
    """An object replaced by what `change` makes of it. mesh: whose data plane; None: the control plane's cluster."""
    before = stored(meshes, mesh, kind, name, namespace)
    other = copy.deepcopy(before)
    change(other)
    kubectl(meshes, mesh, "replace", "--filename=-", given=other)
    try:
        yield
    finally:
        kubectl(meshes, mesh, "replace", "--filename=-", given=before)


@contextmanager
def created(meshes: Meshes, mesh: str, manifest: Mapping[str, Any]) -> Iterator[None]:
    kubectl(meshes, mesh, "create", "--filename=-", given=manifest)
    try:
        yield
    finally:
        kubectl(meshes, mesh, "delete", "--filename=-", "--wait=false", given=manifest)


def _with_files(files: Mapping[str, str]) -> Callable[[Any], object]:
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    return lambda secret: secret["data"].update(encoded)


def another_key(meshes: Meshes) -> AbstractContextManager[None]:
    """East's authority with the key of another one."""
    key = cacerts(meshes.root, "east")["ca-key.pem"]
    return altered(meshes, None, "secret", "cacerts", "mesh-east", _with_files({"ca-key.pem": key}))


def authority_until(ends: datetime) -> Breaking:
    """East's authority is another one under the same root, with its own end."""

    def breaking(meshes: Meshes) -> AbstractContextManager[None]:
        change = _with_files(cacerts(meshes.root, "east", ends))
        return altered(meshes, None, "secret", "cacerts", "mesh-east", change)

    return breaking


def another_root(meshes: Meshes) -> AbstractContextManager[None]:
    """East's authority under a root of somebody else. istiod goes on: it reads the Secret when it starts."""
    change = _with_files(cacerts(Authority("another root", ends=NOW + 3650 * DAY), "east"))
    return altered(meshes, None, "secret", "cacerts", "mesh-east", change)


def incomplete_cacerts(meshes: Meshes) -> AbstractContextManager[None]:
    """East's authority without its chain."""
    change: Callable[[Any], object] = lambda secret: secret["data"].pop("cert-chain.pem")  # noqa: E731
    return altered(meshes, None, "secret", "cacerts", "mesh-east", change)


def unreadable_kubeconfig(meshes: Meshes) -> AbstractContextManager[None]:
    change = _with_files({"config": "clusters: 5"})
    return altered(meshes, None, "secret", "istio-kubeconfig", "mesh-east", change)


def another_authority(meshes: Meshes) -> AbstractContextManager[None]:
    """istiod's kubeconfig with the authority of another API server."""

    def change(secret: Any) -> None:
        content = json.loads(base64.b64decode(secret["data"]["config"]))
        authority = base64.b64encode(pem(Authority("other").certificate)).decode()
        content["clusters"][0]["cluster"]["certificate-authority-data"] = authority
        _with_files({"config": json.dumps(content)})(secret)

    return altered(meshes, None, "secret", "istio-kubeconfig", "mesh-east", change)


def namespace_of_a_revision_that_is_gone(meshes: Meshes) -> AbstractContextManager[None]:
    metadata = {"name": "left-alone", "labels": {"istio.io/rev": "gone"}}
    return created(meshes, "east", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


@contextmanager
def exported_service_is_gone(meshes: Meshes) -> Iterator[None]:
    """The Service that west exports."""
    before = stored(meshes, "west", "service", CALLED, NAMESPACE)
    kubectl(meshes, "west", "delete", "service", CALLED, f"-n={NAMESPACE}")
    try:
        yield
    finally:
        kubectl(meshes, "west", "create", "--filename=-", given=before)


def exported_service_has_another_port(meshes: Meshes) -> AbstractContextManager[None]:
    def change(service: Any) -> None:
        service["spec"]["ports"][0]["port"] += 1

    return altered(meshes, "west", "service", CALLED, NAMESPACE, change)


def another_token(meshes: Meshes) -> AbstractContextManager[None]:
    """istiod's kubeconfig with a token that nobody gave out. istiod goes on: it reads it when it starts."""

    def change(secret: Any) -> None:
        content = json.loads(base64.b64decode(secret["data"]["config"]))
        content["users"][0]["user"]["token"] = "nobody.gave.this"
        _with_files({"config": json.dumps(content)})(secret)

    return altered(meshes, None, "secret", "istio-kubeconfig", "mesh-east", change)


@contextmanager
def fewer_rights(meshes: Meshes) -> Iterator[None]:
    """East's istiod may no longer ask who a token is of."""
    listed = json.loads(
        kubectl(meshes, "east", "get", "clusterroles", "--selector=hosted-mesh.io/mesh=east", "-o=json")
    )
    held = [one for one in listed["items"] if any("tokenreviews" in rule.get("resources", ()) for rule in one["rules"])]
    (name,) = [one["metadata"]["name"] for one in held]

    def change(role: Any) -> None:
        role["rules"] = [rule for rule in role["rules"] if "tokenreviews" not in rule.get("resources", ())]

    with altered(meshes, "east", "clusterrole", name, "mesh-east", change):
        yield


@contextmanager
def another_bundle(meshes: Meshes) -> Iterator[None]:
    """East's injection webhooks with a root of somebody else."""
    kind = "mutatingwebhookconfiguration"
    name = (
        kubectl(meshes, "east", "get", kind, "--selector=hosted-mesh.io/mesh=east", "-o=name").strip().partition("/")[2]
    )
    bundle = base64.b64encode(pem(Authority("other").certificate)).decode()

    def change(configuration: Any) -> None:
        for hook in configuration["webhooks"]:
            hook["clientConfig"]["caBundle"] = bundle

    with altered(meshes, "east", kind, name, "mesh-east", change):
        yield


@contextmanager
def no_istiod(meshes: Meshes) -> Iterator[None]:
    """East's istiod scaled to nothing."""

    def ready() -> str:
        return kubectl(
            meshes, None, "get", "deployment", "istiod", "-n=mesh-east", "-o=jsonpath={.status.readyReplicas}"
        )

    def scale(count: int) -> None:
        kubectl(meshes, None, "scale", "deployment", "istiod", "-n=mesh-east", f"--replicas={count}")

    def slices() -> str:
        path = "-o=jsonpath={.items[*].endpoints[*].conditions.ready}"
        return kubectl(meshes, None, "get", "endpointslices", "-n=mesh-east", path)

    scale(0)
    try:
        eventually(lambda: not ready() and "true" not in slices(), "istiod is away")
        yield
    finally:
        scale(1)
        eventually(lambda: ready() == "1", "istiod is there again")


def west_lets_nobody_in(meshes: Meshes) -> AbstractContextManager[None]:
    """The load balancer of west's gateway takes connections from one address alone, which is nobody's."""
    change, back = ({"spec": {"loadBalancerSourceRanges": one}} for one in (["192.0.2.1/32"], None))
    return patched("service", "eastwest", change, back, "west")(meshes)


def policy_before_the_gateway(meshes: Meshes) -> AbstractContextManager[None]:
    """A NetworkPolicy that lets nobody in to west's gateway."""
    spec = {"podSelector": {"matchLabels": {"app": "eastwest"}}, "policyTypes": ["Ingress"]}
    metadata = {"name": "closed", "namespace": "mesh-west"}
    manifest = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
    return created(meshes, "west", manifest)


@contextmanager
def proxy_that_does_not_find_istiod(meshes: Meshes) -> Iterator[None]:
    """A program of east's whose proxy is told of an istiod at a name that nobody has."""
    *_, deployment = programs(("lost",))
    told = {"proxy.istio.io/config": json.dumps({"discoveryAddress": "istiod.nowhere.sandbox.test:15012"})}
    template = deployment["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {**template["spec"], "serviceAccountName": "default"}}
    metadata = {"name": "lost", "namespace": NAMESPACE, "labels": {"app": "lost"}, "annotations": told}
    with created(meshes, "east", {**pod, "metadata": metadata}):
        yield


def proxy_of_a_revision_that_is_gone(meshes: Meshes) -> AbstractContextManager[None]:
    """A Pod that another revision injected; it need not even get a node."""
    metadata = {
        "name": "old",
        "namespace": "default",
        "labels": {"service.istio.io/canonical-name": "old"},
        "annotations": {"istio.io/rev": "gone"},
    }
    spec = {"containers": [{"name": "app", "image": "registry.test/old:1"}], "nodeSelector": {"nowhere": "at-all"}}
    return created(meshes, "east", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def filter_that_a_proxy_refuses(meshes: Meshes) -> AbstractContextManager[None]:
    """An EnvoyFilter that istiod takes and Envoy does not: one program's proxy is to read a file that is not there."""
    file = {"filename": "/nowhere.pem"}
    tls = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": {"tls_certificates": [{"certificate_chain": file, "private_key": file}]},
    }
    cluster = {
        "name": "refused",
        "type": "STATIC",
        "connect_timeout": "1s",
        "transport_socket": {"name": "tls", "typed_config": tls},
    }
    patch = {"applyTo": "CLUSTER", "match": {"context": "ANY"}, "patch": {"operation": "ADD", "value": cluster}}
    spec = {"workloadSelector": {"labels": {"app": STRANGER}}, "configPatches": [patch]}
    metadata = {"name": "refused", "namespace": NAMESPACE}
    api = "networking.istio.io/v1alpha3"
    return created(meshes, "east", {"apiVersion": api, "kind": "EnvoyFilter", "metadata": metadata, "spec": spec})
