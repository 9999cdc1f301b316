"""Programs that break one of the other mandatory rules: providers, istiod's CA, webhooks, rights, exposure, tenants,
outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pulumi

from tests.corpus import literals, objects
from tests.corpus.case import (
    EXPOSURE,
    OPERATORS,
    OUTPUTS,
    PROVIDERS,
    RIGHTS,
    TENANTS,
    TRUST,
    USER_IMAGES,
    WEBHOOKS,
    Case,
)
from tests.corpus.world import SCOPE, Box, Object, World, key, password


def _case(rule: str, family: str, name: str, program: Callable[[World], Any], **more: Any) -> Case:
    return Case(name, family, program, frozenset({rule}), **more)


def providers() -> Iterator[Case]:
    def default(world: World) -> None:
        Object("kubernetes:core/v1:ConfigMap", "x", {"metadata": {"name": "x"}, "data": {"a": "b"}})
        _ = world

    def swapped(world: World) -> None:
        opts = pulumi.ResourceOptions(provider=world.named_provider("data-plane-cluster", world.kubeconfigs["cp"]))
        Object("kubernetes:core/v1:ConfigMap", "x", {"metadata": {"name": "x", "namespace": "default"}}, opts)

    def claims_control_plane(world: World) -> None:
        world.named_provider("control-plane-cluster", world.kubeconfigs["dp"])

    def component_on_wrong_side(world: World) -> None:
        box = Box("demo", "hosted-mesh:index:ExternalControlPlane")
        world.object("dp", "v1:ConfigMap", "x", {"data": {"a": "b"}}, parent=box)

    def remote_on_wrong_side(world: World) -> None:
        box = Box("demo", "hosted-mesh:index:RemoteDataPlane")
        world.object("cp", "v1:ConfigMap", "x", {"data": {"a": "b"}}, parent=box)

    yield _case(PROVIDERS, "provider", "default provider", default)
    yield _case(PROVIDERS, "provider", "data plane's name, control plane's address", swapped)
    yield _case(PROVIDERS, "provider", "control plane's name, data plane's address", claims_control_plane)
    yield _case(PROVIDERS, "provider", "ExternalControlPlane on the user's side", component_on_wrong_side)
    yield _case(PROVIDERS, "provider", "RemoteDataPlane on the provider's side", remote_on_wrong_side)


def trust() -> Iterator[Case]:
    def bare(world: World) -> None:
        objects.istiod(world)

    def other_namespace(world: World) -> None:
        objects.cacerts(world, namespace="kube-public")
        objects.istiod(world)

    def on_data_plane(world: World) -> None:
        objects.cacerts(world, side="cp", keys=("ca-cert.pem", "root-cert.pem"))
        objects.istiod(world)

    def remote(world: World) -> None:
        objects.cacerts(world)
        objects.istiod(world, env={"USE_REMOTE_CERTS": "true"})

    def unmounted(world: World) -> None:
        objects.cacerts(world)
        objects.istiod(world, mount_cacerts=False)

    for name, program in {
        "no cacerts": bare,
        "cacerts in another namespace": other_namespace,
        "cacerts without its key": on_data_plane,
        "certificates read from the data plane": remote,
        "cacerts not mounted": unmounted,
    }.items():
        yield _case(TRUST, "istiod's CA", name, program)


REFUSED_BY_SERVERS = frozenset({"plain http", "credential in its URL"})


def webhooks() -> Iterator[Case]:
    faults: dict[str, dict[str, Any]] = {
        "by Service": {
            "clientConfig": {"service": {"name": "istiod", "namespace": "istio-system"}, "caBundle": "Q0E="}
        },
        "plain http": {"clientConfig": {"url": "http://istiod.example.com/inject", "caBundle": "Q0E="}},
        "by address": {"clientConfig": {"url": "https://10.0.0.1:15017/inject", "caBundle": "Q0E="}},
        "no CA bundle": {"clientConfig": {"url": "https://istiod.example.com/inject"}},
        "no time-out": {"timeoutSeconds": None},
        "long time-out": {"timeoutSeconds": 30},
        "no failure policy": {"failurePolicy": None},
        "credential in its URL": {
            "clientConfig": {"url": "https://a:longpassword@istiod.example.com/i", "caBundle": "Q0E="}
        },
    }
    for name, change in faults.items():
        for kind in ("Mutating", "Validating")[: 2 if name in {"by Service", "no CA bundle"} else 1]:
            yield _case(
                WEBHOOKS,
                "webhook",
                f"{kind} webhook {name}",
                lambda world, change=change, kind=kind: objects.webhook(world, kind, **change),
                only_simulated="API servers refuse it" if name in REFUSED_BY_SERVERS else "",
            )

    def unknown(world: World) -> None:
        url = pulumi.Output.concat("https://", password("x").output("result").apply(lambda _: "istiod.example.com"))
        objects.webhook(world, "Mutating", clientConfig={"url": pulumi.Output.unsecret(url), "caBundle": "Q0E="})

    yield _case(WEBHOOKS, "webhook", "URL not known at preview", unknown)


def rights() -> Iterator[Case]:
    faults: dict[str, dict[str, list[str]]] = {
        "reads Secrets": {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        "any verb": {"apiGroups": [""], "resources": ["services"], "verbs": ["*"]},
        "any resource": {"apiGroups": ["networking.istio.io"], "resources": ["*"], "verbs": ["get"]},
        "binds": {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["bind"]},
        "impersonates": {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        "makes tokens": {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
        "runs commands": {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]},
        "through nodes": {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"]},
        "creates Pods": {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
    }
    for name, rule in faults.items():
        yield _case(RIGHTS, "rights", name, lambda world, rule=rule: objects.role(world, [rule]))

    def admin(world: World) -> None:
        objects.binding(world, "cluster-admin")

    def by_binding_only(world: World) -> None:
        rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}
        objects.role(world, [rule], name="reader", labels={})
        objects.binding(world, "reader")

    yield _case(RIGHTS, "rights", "cluster-admin", admin)
    yield _case(RIGHTS, "rights", "a role that only its binding makes istiod's", by_binding_only)


def exposure() -> Iterator[Case]:
    def plaintext(world: World) -> None:
        objects.load_balancer(world, ports=[15010])

    def open_to_all(world: World) -> None:
        objects.load_balancer(world, ranges=["0.0.0.0/0"])

    def no_ranges(world: World) -> None:
        objects.load_balancer(world, ranges=[])

    def debug_node_port(world: World) -> None:
        objects.load_balancer(world, ports=[15014], kind="NodePort")

    def any_host(world: World) -> None:
        objects.gateway(world, hosts=["*"])

    def weak(world: World) -> None:
        objects.gateway(world, tls={"mode": "MUTUAL", "minProtocolVersion": "TLSV1_0"})

    def plain(world: World) -> None:
        objects.gateway(world, protocol="HTTP")

    def any_listener(world: World) -> None:
        spec = {"gatewayClassName": "istio", "listeners": [{"name": "x", "port": 15012, "protocol": "TLS"}]}
        world.object("cp", "gateway.networking.k8s.io/v1:Gateway", "x", {"spec": spec})

    def plaintext_istiod(world: World) -> None:
        objects.cacerts(world)
        objects.istiod(world, args=["discovery"])

    def meshs_key_at_the_gateway(world: World) -> None:
        """The gateway ends istiod's TLS with a certificate for the key of the mesh's authority."""
        private = key("authority")
        objects.cacerts(world, private=private.output("privateKeyPem"))
        copied = {"tls.key": private.output("privateKeyPem"), "tls.crt": literals.authority()[0]}
        world.secret("cp", "front", copied, namespace="default")
        references = [{"kind": "Secret", "name": f"{SCOPE.prefix}front"}]
        listener = {"name": "x", "port": 443, "protocol": "TLS", "hostname": "istiod.example.com"}
        listener["tls"] = {"mode": "Terminate", "certificateRefs": references}
        spec = {"gatewayClassName": "istio", "listeners": [listener]}
        world.object(
            "cp", "gateway.networking.k8s.io/v1:Gateway", "x", {"spec": spec, "metadata": {"namespace": "default"}}
        )

    def meshs_key_in_a_proxy(world: World) -> None:
        """A proxy of one's own in front of istiod mounts the authority."""
        objects.cacerts(world)
        container = {"name": "envoy", "image": "docker.io/envoyproxy/envoy:v1.40.0"}
        volumes = [{"name": "key", "secret": {"secretName": "cacerts"}}]
        template = {"metadata": {"labels": {"app": "front"}}, "spec": {"containers": [container], "volumes": volumes}}
        spec = {"selector": {"matchLabels": {"app": "front"}}, "template": template}
        wait = {"annotations": {"pulumi.com/skipAwait": "true"}}
        world.object("cp", "apps/v1:Deployment", "front", {"spec": spec, "metadata": wait})

    for name, program in {
        "plaintext xDS on a load balancer": plaintext,
        "gateway that ends TLS with a mesh's key": meshs_key_at_the_gateway,
        "proxy with a mesh's key": meshs_key_in_a_proxy,
        "open to all": open_to_all,
        "no source ranges": no_ranges,
        "debug pages on a NodePort": debug_node_port,
        "gateway for any host": any_host,
        "gateway with old TLS": weak,
        "gateway without TLS": plain,
        "listener for any host": any_listener,
        "istiod with plaintext xDS on": plaintext_istiod,
    }.items():
        yield _case(EXPOSURE, "exposure", name, program)


def tenants() -> Iterator[Case]:
    def namespace(world: World) -> None:
        objects.two_meshes(world)
        world.config_map("cp", "x", {"upstream": "istiod.mesh-b.svc:15012"}, namespace="mesh-a")

    def host(world: World) -> None:
        objects.two_meshes(world)
        world.config_map("cp", "x", {"upstream": "b.example.com:15012"}, namespace="mesh-a")

    def credential(world: World) -> None:
        objects.two_meshes(world)
        text = pulumi.Output.secret(literals.kubeconfig("https://b.example.net", literals.opaque("b", 40)))
        world.secret("cp", "istio-kubeconfig", {"config": text}, namespace="mesh-b")
        world.object("cp", "v1:Secret", "other", {"stringData": {"x": text}, "metadata": {"namespace": "mesh-a"}})

    def shared_key(world: World) -> None:
        objects.two_meshes(world)
        private = key("shared")
        for mesh in ("a", "b"):
            data = {"ca-key.pem": private.output("privateKeyPem")}
            world.object(
                "cp", "v1:Secret", f"cacerts-{mesh}", {"stringData": data, "metadata": {"namespace": f"mesh-{mesh}"}}
            )

    for name, program in {
        "another's namespace": namespace,
        "another's host": host,
        "another's kubeconfig": credential,
        "one key for two": shared_key,
    }.items():
        yield _case(TENANTS, "tenant", name, program)


def outputs() -> Iterator[Case]:
    def plain(world: World) -> None:
        text = literals.opaque("plain")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        pulumi.export("x", text)

    def plain_key(world: World) -> None:
        pulumi.export("x", literals.private_key("out"))
        _ = world

    def on_users_side(world: World) -> None:
        text = pulumi.Output.secret(literals.opaque("users"))
        world.secret("cp", "x", {"x": text})
        pulumi.export("x", text)

    def foreign_kubeconfig(world: World) -> None:
        world.config_map("dp", "x", {"a": "b"})
        pulumi.export("x", pulumi.Output.secret(literals.kubeconfig("https://10.9.8.7:6443")))

    def plain_kubeconfig(world: World) -> None:
        world.named_provider("third", world.kubeconfigs["cp"], secret=False)

    for name, program in {
        "a secret in a plain output": plain,
        "a key in a plain output": plain_key,
        "a provider's kubeconfig that is not marked": plain_kubeconfig,
        "another cluster's kubeconfig in the user's outputs": foreign_kubeconfig,
    }.items():
        yield _case(OUTPUTS, "output", name, program)
    yield _case(OUTPUTS, "output", "the provider's secret in the user's outputs", on_users_side, stack="data-plane")


def operators() -> Iterator[Case]:
    def split(world: World) -> None:
        objects.operator(world, "cp")
        world.object("dp", "example.com/v1:Widget", "w", {"spec": {}})

    def subscribed(world: World) -> None:
        world.config_map("cp", "catalog", {"catalog.yaml": objects.bundle()})
        objects.subscription(world, "cp")
        world.object("dp", "example.com/v1:Widget", "w", {"spec": {}})

    def users_catalog(world: World) -> None:
        image = "registry.example.com/users/catalog:1"
        objects.catalog_source(world, "dp", {"sourceType": "grpc", "image": image})
        pod = {"containers": [{"name": "registry", "image": image}]}
        labels = {"app": "catalog"}
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        world.object("cp", "apps/v1:Deployment", "catalog", {"spec": spec})

    yield _case(OPERATORS, "operator", "operand on the other side", split)
    yield _case(OPERATORS, "operator", "operand on the other side of its bundle's Subscription", subscribed)
    yield _case(USER_IMAGES, "operator", "a user's catalog on the control plane", users_catalog)


def all_faults() -> list[Case]:
    return [
        *providers(),
        *trust(),
        *webhooks(),
        *rights(),
        *exposure(),
        *tenants(),
        *outputs(),
        *operators(),
    ]
