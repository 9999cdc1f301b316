"""Programs that give a control-plane secret to a user's cluster: by way in, source, wrapping, disguise and timing."""

from __future__ import annotations

import functools
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pulumi

from tests.corpus import literals
from tests.corpus.case import FLOW, NO_CHART, NO_CLOUD, NO_REGISTRY, SHAPE, UNPROVEN, VALUE, Case
from tests.corpus.ways import WAYS
from tests.corpus.world import (
    Box,
    Object,
    World,
    key,
    password,
    random_bytes,
    reference,
    request,
    self_signed,
    signed,
)
from tests.corpus.wrappings import DISGUISES, ONCE, WRAPPINGS, wrap

Source = Callable[[World], Any]


def _key(world: World) -> Any:
    """A private key that the provider's istiod serves with."""
    found = key("istiod")
    world.secret("cp", "istiod-tls", {"key.pem": found.output("privateKeyPem")})
    return found.output("privateKeyPem")


def _password(world: World) -> Any:
    found = password("admin")
    world.secret("cp", "admin", {"password": found.output("result")})
    return found.output("result")


def _bytes(world: World) -> Any:
    found = random_bytes("session")
    world.secret("cp", "session", {"key": found.output("base64")})
    return found.output("hex")


def _kept_secret(world: World) -> Any:
    """What the provider's cluster itself answers: the data of one of its Secrets."""
    found = world.object("cp", "v1:Secret", "minted", {"type": "Opaque"})
    return found.output("data").apply(lambda data: (data or {}).get("token", "none-yet-but-secret"))


def _literal(world: World) -> Any:
    """A token from the configuration, known at the first preview."""
    text = pulumi.Output.secret(literals.opaque("token"))
    world.secret("cp", "dns", {"token": text})
    return text


SOURCES: dict[str, Source] = {
    "key": _key,
    "password": _password,
    "bytes": _bytes,
    "Secret of the provider's cluster": _kept_secret,
    "configuration": _literal,
}


def direct() -> Iterator[Case]:
    """Each source by each way."""
    for source_name, source in SOURCES.items():
        for way_name, way in WAYS.items():
            yield Case(
                f"{source_name} in {way_name}",
                "direct",
                lambda world, source=source, way=way: way(world, source(world)),
                frozenset({FLOW, VALUE}),
            )


def wrapped() -> Iterator[Case]:
    """A known secret, a known key, and a secret that is not known yet, under each wrapping; disguises by flow alone."""
    for number, name in enumerate((*WRAPPINGS, *ONCE)):
        way = list(WAYS.values())[(0, 1, 4, 6, 9)[number % 5]]

        def known(world: World, name: str = name, way: Any = way) -> None:
            text = literals.opaque("admin")
            world.secret("cp", "admin", {"password": pulumi.Output.secret(text)})
            way(world, wrap(name, text))

        def key_known(world: World, name: str = name, way: Any = way) -> None:
            world.secret("cp", "istiod", {"key": pulumi.Output.secret(literals.private_key("istiod"))})
            way(world, wrap(name, literals.private_key("istiod")))

        yield Case(f"token under {name}", "wrapped value", known, frozenset({VALUE}))
        yield Case(f"key under {name}", "wrapped value", key_known, frozenset({VALUE}))
    for name in DISGUISES:

        def unknown(world: World, name: str = name) -> None:
            WAYS["ConfigMap"](world, _password(world).apply(lambda text: wrap(name, text)))

        yield Case(f"password {name}", "disguised", unknown, frozenset({FLOW}))


def cut() -> Iterator[Case]:
    """A known secret in pieces."""

    def pieces(size: int) -> tuple[str, list[str]]:
        text = literals.opaque("cut")
        return text, [text[i : i + size] for i in range(0, len(text), size)]

    def keys(world: World, size: int) -> None:
        text, parts = pieces(size)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "app", {f"part{i}": part for i, part in enumerate(parts)})

    def many_keys(world: World) -> None:
        text, parts = pieces(2)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "app", {f"part{i}": part for i, part in enumerate(parts)})

    def items(world: World) -> None:
        text, parts = pieces(5)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.object("dp", "example.com/v1:Widget", "app", {"spec": {"list": parts}})

    def variables(world: World) -> None:
        text, parts = pieces(6)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        env = [{"name": f"P{i}", "value": part} for i, part in enumerate(parts)]
        world.object(
            "dp",
            "apps/v1:Deployment",
            "app",
            {
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "a", "image": "a:1", "env": env}]},
                    },
                }
            },
        )

    def numbers(world: World) -> None:
        text, _ = pieces(1)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.object("dp", "example.com/v1:Widget", "app", {"spec": {"bytes": list(text.encode())}})

    def encoded_apart(world: World) -> None:
        text, parts = pieces(6)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "app", {f"part{i}": wrap("base64", part) for i, part in enumerate(parts)})

    def two_objects(world: World) -> None:
        text = literals.opaque("cut", 48)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "one", {"x": text[:24]})
        world.config_map("dp", "two", {"x": text[24:]})

    def part_only(world: World) -> None:
        text = literals.opaque("cut", 48)
        world.secret("cp", "cut", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "one", {"x": "ref-" + text[10:34]})

    for size in (3, 7, 12):
        yield Case(f"pieces of {size} in keys", "cut", lambda world, size=size: keys(world, size), frozenset({VALUE}))
    for name, program in {
        "pieces of 2 in twelve and more keys": many_keys,
        "list items": items,
        "environment variables": variables,
        "list of byte values": numbers,
        "pieces encoded one by one": encoded_apart,
        "halves in two objects": two_objects,
        "half of it": part_only,
    }.items():
        yield Case(name, "cut", program, frozenset({VALUE}))


def odd_places() -> Iterator[Case]:
    def in_key(world: World) -> None:
        text = literals.opaque("key")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        world.config_map("dp", "app", {text: "y"})

    def binary_data(world: World) -> None:
        text = literals.opaque("binary")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        world.object("dp", "v1:ConfigMap", "app", {"binaryData": {"x": wrap("base64", "\x00\x01" + text)}})

    def resource_name(world: World) -> None:
        text = literals.opaque("name").lower()
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        world.object("dp", "v1:ConfigMap", f"app-{text}", {"metadata": {"name": "app"}, "data": {"x": "y"}})

    def nested(world: World) -> None:
        text = literals.opaque("deep")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        tree: Any = text
        for _ in range(30):
            tree = {"a": tree}
        world.object("dp", "example.com/v1:Widget", "app", {"spec": tree})

    def large(world: World) -> None:
        text = literals.opaque("large")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        filler = literals.filler(500_000)
        world.config_map("dp", "app", {"x": filler + wrap("base64", text) + filler})

    def data_of_secret(world: World) -> None:
        text = literals.opaque("data")
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        world.object("dp", "v1:Secret", "app", {"data": {"x": wrap("base64", text)}, "type": "Opaque"})

    for name, program in {
        "in a key": in_key,
        "in binaryData": binary_data,
        "in the resource's name": resource_name,
        "30 deep": nested,
        "in a megabyte": large,
        "in a Secret's data": data_of_secret,
    }.items():
        yield Case(name, "odd place", program, frozenset({VALUE}))


def indirect() -> Iterator[Case]:
    """The long way round, seen at the first preview by flow."""

    def component(world: World) -> None:
        box = Box("outer")
        inner = Box("inner", opts=pulumi.ResourceOptions(parent=box))
        found = password("admin", parent=inner)
        world.secret("cp", "admin", {"password": found.output("result")})
        world.config_map("dp", "app", {"x": found.output("result").apply(str.upper)})

    def library_component(world: World) -> None:
        trust = Box("demo", "hosted-mesh:index:MeshTrust")
        found = key("demo-key", parent=trust)
        world.config_map("dp", "app", {"x": found.output("privateKeyPem")})

    def federation_key(world: World) -> None:
        """A shared root's key in what a peer imports. Only the federation above it says whose the key is."""
        federation = Box("shops", "hosted-mesh:index:MeshFederation")
        found = key("shared-root", parent=federation)
        spec = {"hosts": ["reviews.example.com"], "tls": found.output("privateKeyPem")}
        world.object("dp", "networking.istio.io/v1:ServiceEntry", "reviews", {"spec": spec}, parent=federation)

    def dns_credential(world: World) -> None:
        """What the bridge writes to the DNS with. Only the bridge above it says whose it is."""
        bridge = Box("names", "hosted-mesh:index:ExternalDNSBridge")
        made = password("dns", parent=bridge).output("result")
        world.config_map("dp", "resolver", {"settings": made.apply(lambda text: f"sign-with {text}")})

    def dns_account(world: World) -> None:
        """What the bridge reads an edge with, out of its Secret on the control plane, in another user's cluster."""
        bridge = Box("names", "hosted-mesh:index:ExternalDNSBridge")
        held = world.object("cp", "v1:Secret", "dns-edge-north-publisher", {"type": "Opaque"}, parent=bridge)
        config = held.output("data").apply(lambda data: (data or {}).get("kubeconfig", "bm90LXlldA=="))
        world.object("dp", "v1:ConfigMap", "dns", {"data": {"config": config}})

    def collector_key(world: World) -> None:
        """With it anybody poses as the collector. Only the component above it shows its owner."""
        box = Box("demo", "hosted-mesh:index:MeshObservability")
        found = key("collector-key", parent=box).output("privateKeyPem")
        tls = {"common_tls_context": {"tls_certificates": [{"private_key": {"inline_string": found}}]}}
        patches = {"configPatches": [{"patch": {"operation": "MERGE", "value": {"transport_socket": tls}}}]}
        world.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "statistics", {"spec": patches}, parent=box)

    def debug_proxy_key(world: World) -> None:
        """With it anybody poses as the debug proxy, and gets users' tokens. `istioctl --cert-dir` reads such files."""
        box = Box("demo", "hosted-mesh:index:MeshObservability")
        private = key("debug-proxy-key", parent=box)
        authority = key("intermediate")
        signer = self_signed("intermediate", authority, authority=True)
        certificate = signed("debug-proxy", request("debug-proxy", private), authority, signer)
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        world.secret("cp", "debug-proxy-server", pair)
        files = {"key.pem": private.output("privateKeyPem"), "cert-chain.pem": certificate.output("certPem")}
        world.secret("dp", "istioctl", files)

    def root_key(world: World) -> None:
        root, mine = key("root"), key("intermediate")
        root_cert = self_signed("root", root, authority=True)
        cert = signed("intermediate", request("intermediate", mine), root, root_cert, authority=True)
        world.secret(
            "cp", "cacerts", {"ca-key.pem": mine.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")}
        )
        world.secret("dp", "app", {"x": root.output("privateKeyPem")})

    def by_certificate(world: World, disguise: Callable[[str], str] = str) -> None:
        private = key("serving")
        cert = self_signed("istiod", private)
        app = world.config_map("dp", "app", {"x": cert.output("privateKeyPem").apply(disguise)})
        # Only this shows whose the key is. Without the order the engine may write either first.
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
        world.secret("cp", "tls", pair, depends_on=[app])

    def by_certificate_disguised(world: World) -> None:
        by_certificate(world, lambda text: wrap("exclusive-or", text))

    def by_secret(world: World) -> None:
        kept = world.secret("cp", "admin", {"password": password("admin").output("result")})
        world.config_map("dp", "app", {"x": kept.output("stringData").apply(lambda d: d["password"])})

    def custom_provider(world: World) -> None:
        text = _password(world)
        via = Object("pulumi-python:dynamic:Resource", "via", {"__provider": literals.DYNAMIC, "x": text}, None, ["y"])
        world.config_map("dp", "app", {"x": via.output("y")})

    def whole_document(world: World) -> None:
        text = _password(world)
        world.config_map("dp", "app", {"x": pulumi.Output.json_dumps({"a": [{"b": text}], "c": 1})})

    def two_sources(world: World) -> None:
        mine, theirs = password("admin"), password("users")
        world.secret("cp", "admin", {"password": mine.output("result")})
        world.secret("dp", "app", {"theirs": theirs.output("result"), "mine": mine.output("result")})

    def beside_public(world: World) -> None:
        private = key("istiod")
        world.secret("cp", "istiod", {"key": private.output("privateKeyPem")})
        world.config_map("dp", "app", {"pub": private.output("publicKeyPem"), "key": private.output("privateKeyPem")})

    def lost_mark(world: World) -> None:
        world.config_map("dp", "app", {"x": pulumi.Output.unsecret(_password(world))})

    def registered_first(world: World) -> None:
        found = password("admin")
        first = world.config_map("dp", "app", {"x": found.output("result")})
        world.secret(
            "cp",
            "admin",
            {"password": found.output("result")},
        )
        _ = first

    def read(world: World) -> None:
        opts = world.options("cp", id="kube-system/extension-apiserver")
        found = Object("kubernetes:core/v1:Secret", "read", {}, opts, ["data"], ["data"])
        world.config_map("dp", "app", {"x": found.output("data").apply(str)})

    for name, program in {
        "through components": component,
        "key of the library's trust": library_component,
        "the root's key": root_key,
        "a federation's key": federation_key,
        "the metrics collector's key": collector_key,
        "the debug proxy's key": debug_proxy_key,
        "the DNS bridge's credential": dns_credential,
        "the DNS bridge's account on an edge": dns_account,
        "a Secret's own data": by_secret,
        "a whole JSON document": whole_document,
        "beside a user's own": two_sources,
        "beside its public half": beside_public,
        "mark removed": lost_mark,
        "user's object registered first": registered_first,
    }.items():
        yield Case(name, "indirect", program, frozenset({FLOW}))
    why = "needs the plug-in of dynamic providers"
    yield Case("a provider that drops marks", "indirect", custom_provider, frozenset({FLOW}), only_simulated=why)
    yield Case("a certificate's copy of its key", "indirect", by_certificate, frozenset({SHAPE}), "update")
    disguised = "a certificate's copy of its key, disguised"
    yield Case(disguised, "indirect", by_certificate_disguised, frozenset({UNPROVEN}), "update")


def nearest() -> Iterator[Case]:
    """Beside what is harmless: the same program, one word of it changed."""

    def private_half(world: World) -> None:
        text = pulumi.Output.unsecret(_key(world)).apply(lambda found: wrap("exclusive-or", found))
        world.config_map("dp", "hosts", {"ssh_known_hosts": text})

    def deploy_key(world: World) -> None:
        kind = "github:index/repositoryDeployKey:RepositoryDeployKey"
        text = pulumi.Output.unsecret(_key(world)).apply(lambda found: wrap("exclusive-or", found))
        world.make(kind, "reader", {"repository": "shop", "key": text})

    def digest_of_private_half(world: World) -> None:
        world.config_map("dp", "pins", {"pins.json": _key(world).apply(literals.pin_of)})

    def bare_digest(world: World, name: str) -> None:
        world.config_map("dp", "pins", {name: _key(world).apply(lambda pem: hashlib.sha256(pem.encode()).hexdigest())})

    def no_digest(world: World) -> None:
        text = pulumi.Output.unsecret(_key(world)).apply(lambda pem: wrap("exclusive-or", pem))
        world.config_map("dp", "pins", {"pins": text.apply(lambda found: found.encode().hex()[:62])})

    def digest_at_a_service(world: World) -> None:
        pin = _key(world).apply(literals.pin_of)
        world.make("firebase:index/appCheck:AppCheck", "shop", {"hosts": {"istiod.example.com": {"tlsPins": [pin]}}})

    def beside_a_half(world: World) -> None:
        private = key("signer")
        world.secret("cp", "signer", {"key": private.output("privateKeyPem")})
        entry = {"publicKeys": private.output("publicKeyPem"), "annotation": private.output("privateKeyPem")}
        world.object("dp", "example.com/v1:Widget", "signed", {"spec": {"attestors": [entry]}})

    def clients_secret(world: World) -> None:
        kind, outputs = "aws:cognito/userPoolClient:UserPoolClient", ("clientId", "clientSecret")
        backend, page = (world.make(kind, one, {"name": one}, outputs, outputs[1:]) for one in ("backend", "page"))
        world.secret("cp", "backend", {"secret": backend.output("clientSecret")})
        spec = {"audiences": [page.output("clientId"), backend.output("clientSecret").apply(lambda found: found[::-1])]}
        world.object("dp", "example.com/v1:Login", "people", {"spec": spec})

    def key_that_is_given(world: World) -> None:
        made = world.make("aws:iam/accessKey:AccessKey", "telemetry", {"user": "tempo"}, ["id", "secret"], ["secret"])
        world.config_map("dp", "tempo", {"bucket": "telemetry", "kms_key_id": made.output("secret")})

    def key_in_a_chart(world: World) -> None:
        """Of two pairs in a chart's values one is the data plane's; the other key comes from nowhere in the stack."""
        mine = key("shop")
        own = {"cert": self_signed("shop", mine).output("certPem"), "key": mine.output("privateKeyPem")}
        foreign = {"cert": literals.certificate("hub"), "key": pulumi.Output.secret(literals.private_key("hub"))}
        inputs = {"chart": "shop", "version": "1.0.0", "values": {"own": own, "hub": foreign}}
        world.make("kubernetes:helm.sh/v3:Release", "shop", inputs, side="dp")

    def trusted_authority(world: World) -> None:
        """The control plane believes whom this authority names."""
        root = key("internal")
        cert = self_signed("internal", root, authority=True)
        pair = {"tls.crt": cert.output("certPem"), "tls.key": root.output("privateKeyPem")}
        world.secret("dp", "internal", pair, kind="kubernetes.io/tls")
        world.config_map("cp", "trusted", {"ca.crt": cert.output("certPem")})

    def intermediate_authority(world: World) -> None:
        """The control plane's authority vouches for it."""
        root, mine = key("root"), key("internal")
        root_cert = self_signed("root", root, authority=True)
        world.secret("cp", "root", {"tls.key": root.output("privateKeyPem"), "tls.crt": root_cert.output("certPem")})
        cert = signed("internal", request("internal", mine), root, root_cert, authority=True)
        pair = {"tls.crt": cert.output("certPem"), "tls.key": mine.output("privateKeyPem")}
        world.secret("dp", "internal", pair, kind="kubernetes.io/tls")

    def login_in_an_image(world: World) -> None:
        robot = _password(world)
        build = {"context": ".", "args": {"REGISTRY_PASSWORD": robot}}
        inputs = {"imageName": "agent", "build": build, "registry": {"password": robot}}
        world.make("docker:index/image:Image", "agent", inputs)

    def tunnels_key(world: World) -> None:
        """The server's pair, as a client certificate of the agent."""
        private = key("tunnel")
        certificate = self_signed("tunnel", private)
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        world.secret("cp", "tunnel-tls", pair)
        world.secret("dp", "tunnel-agent", pair)

    def all_of_a_login(world: World) -> None:
        made = world.make("gcp:container/cluster:Cluster", "hub", {"name": "hub"}, ["masterAuth"], ["masterAuth"])
        keys = made.output("masterAuth").apply(lambda found: (found or {}).get("clientKey"))
        world.secret("cp", "hub", {"key": keys})
        world.config_map("dp", "hub", {"ca": keys})

    disguised = "a private key, disguised, where a public half is expected"
    yield Case(disguised, "nearest", private_half, frozenset({UNPROVEN}), "update")
    disguised = "a private key, disguised, as a deploy key"
    yield Case(disguised, "nearest", deploy_key, frozenset({UNPROVEN}), "update", only_simulated=NO_CLOUD)
    digest = "a digest of a private key among pins"
    yield Case(digest, "nearest", digest_of_private_half, frozenset({UNPROVEN}), "update")
    for name in ("pins", "thumbprints"):
        digest = f"a bare digest of a private key under {name}"
        program = functools.partial(bare_digest, name=name)
        yield Case(digest, "nearest", program, frozenset({UNPROVEN}), "update")
    half = "a part of a private key, disguised, no digest by its length, under pins"
    yield Case(half, "nearest", no_digest, frozenset({UNPROVEN}), "update")
    digest = "a digest of a private key among pins at a service"
    yield Case(digest, "nearest", digest_at_a_service, frozenset({UNPROVEN}), "update", only_simulated=NO_CLOUD)
    yield Case("a private key beside its expected public half", "nearest", beside_a_half, frozenset({FLOW}))
    yield Case(
        "a client's secret among ids",
        "nearest",
        clients_secret,
        frozenset({UNPROVEN}),
        "update",
        only_simulated=NO_CLOUD,
    )
    whole = "the key in a login that is marked as a whole"
    yield Case(whole, "nearest", all_of_a_login, frozenset({UNPROVEN}), "update", only_simulated=NO_CLOUD)
    trusted = "an authority's key, whose certificate the control plane trusts"
    yield Case(trusted, "nearest", trusted_authority, frozenset({SHAPE}), "update")
    vouched = "an authority's key, for which the control plane's vouches"
    yield Case(vouched, "nearest", intermediate_authority, frozenset({SHAPE}), "update")
    chart = "a key of nobody's in a chart, beside the user's pair"
    yield Case(chart, "nearest", key_in_a_chart, frozenset({SHAPE}), only_simulated=NO_CHART)
    yield Case("a tunnel's key as its agent's", "nearest", tunnels_key, frozenset({FLOW}))
    yield Case("a login in an image", "nearest", login_in_an_image, frozenset({FLOW}), only_simulated=NO_REGISTRY)
    yield Case(
        "an access key for a key's name", "nearest", key_that_is_given, frozenset({FLOW}), only_simulated=NO_CLOUD
    )


def shapes() -> Iterator[Case]:
    """Credentials that nothing in the program ties to the control plane."""
    for name, text in literals.credentials().items():
        for way_name in ("ConfigMap", "Secret"):
            if way_name == "Secret" and name in literals.FINE_IN_A_SECRET:
                continue
            yield Case(
                f"{name} in {way_name}",
                "shape",
                lambda world, text=text, way_name=way_name: WAYS[way_name](world, text),
                frozenset({SHAPE}),
            )
    hard = {
        name: text for name, text in literals.credentials().items() if name in {"kubeconfig", "service-account token"}
    }
    for name, text in hard.items():
        for wrapping in ("base64", "JSON in YAML in base64", "base64 of gzip of base64"):
            yield Case(
                f"{name} under {wrapping}",
                "shape",
                lambda world, text=text, wrapping=wrapping: WAYS["annotation"](world, wrap(wrapping, text)),
                frozenset({SHAPE}),
            )

    def authority(world: World) -> None:
        pair = literals.authority("nobodys-ca")
        world.secret("dp", "own-ca", {"tls.crt": pair[0], "tls.key": pair[1]}, kind="kubernetes.io/tls")

    def istio_secret(world: World) -> None:
        world.secret(
            "dp", "cacerts", {"ca-key.pem": literals.private_key("ca"), "ca-cert.pem": literals.authority()[0]}
        )

    def cert_managers_secret(world: World) -> None:
        """A copy of the Secret that cert-manager made on the control plane: nothing in the program has its key."""
        certificate, private = literals.authority()
        annotations = {
            "cert-manager.io/certificate-name": "cacerts",
            "cert-manager.io/issuer-kind": "ClusterIssuer",
            "cert-manager.io/issuer-name": "company",
        }
        data = {"ca.crt": certificate, "tls.crt": certificate, "tls.key": private}
        world.secret("dp", "cacerts", data, kind="kubernetes.io/tls", annotations=annotations)

    def cert_managers_key(world: World) -> None:
        world.config_map("dp", "istio-ca", {"values.yaml": json.dumps({"intermediate": literals.authority()[1]})})

    def dns_variable(world: World) -> None:
        env = [{"name": "CF_API_TOKEN", "value": secrets.token_urlsafe(30)}]
        pod = {"containers": [{"name": "dns", "image": "external-dns:1", "env": env}]}
        world.object("dp", "v1:Pod", "dns", {"spec": pod})

    def der(world: World) -> None:
        body = json.dumps({"blob": literals.private_key_der("x")})
        world.config_map("dp", "app", {"x": body})

    yield Case("an authority's pair", "shape", authority, frozenset({SHAPE}))
    yield Case("istiod's cacerts", "shape", istio_secret, frozenset({SHAPE}))
    yield Case("cert-manager's cacerts", "shape", cert_managers_secret, frozenset({SHAPE}))
    yield Case("the key of cert-manager's cacerts", "shape", cert_managers_key, frozenset({SHAPE}))

    def tsig_variable(world: World) -> None:
        env = [{"name": "EXTERNAL_DNS_RFC2136_TSIG_SECRET", "value": secrets.token_urlsafe(30)}]
        world.object("dp", "v1:Pod", "tsig", {"spec": {"containers": [{"name": "a", "image": "a:1", "env": env}]}})

    yield Case("a DNS token by its variable", "shape", dns_variable, frozenset({SHAPE}))
    yield Case("a TSIG key by its variable", "shape", tsig_variable, frozenset({SHAPE}))
    yield Case("DER in JSON", "shape", der, frozenset({SHAPE}))


def timed() -> Iterator[Case]:
    """Known only when it is about to be written, or only later."""

    def unmarked_key(world: World) -> None:
        world.config_map("dp", "app", {"x": pulumi.Output.unsecret(_key(world))})

    def only_when_updating(world: World) -> None:
        text = literals.opaque("late")
        known = world.secret("cp", "x", {"x": pulumi.Output.secret(text)})
        shown = "nothing" if pulumi.runtime.is_dry_run() else text
        world.config_map("dp", "app", {"x": shown}, depends_on=[known])

    def before_it_is_known(world: World) -> None:
        text = literals.opaque("late")
        shown = "nothing" if pulumi.runtime.is_dry_run() else text
        written = world.config_map("dp", "app", {"x": shown})
        world.secret("cp", "x", {"x": pulumi.Output.secret(text)}, depends_on=[written])

    def users_object(world: World) -> None:
        world.config_map("dp", "app", {"x": "clean"})
        _password(world)

    def then_leaks(world: World) -> None:
        world.config_map("dp", "app", {"x": _password(world).apply(lambda text: wrap("gzip", text))})

    def users_secret(world: World) -> None:
        world.secret("dp", "app", {"x": "clean-and-the-users"})
        _key(world)

    def then_replaces(world: World) -> None:
        world.secret("dp", "app", {"x": pulumi.Output.unsecret(_key(world))})

    yield Case("key without its mark", "timing", unmarked_key, frozenset({FLOW}))
    yield Case("program differs in the update", "timing", only_when_updating, frozenset({VALUE}), "update")
    yield Case("program differs before it is known", "timing", before_it_is_known, frozenset({UNPROVEN}), "update")
    yield Case("second update", "timing", then_leaks, frozenset({FLOW, VALUE}), before=users_object)
    yield Case("replacement", "timing", then_replaces, frozenset({VALUE, SHAPE}), before=users_secret)


def references() -> Iterator[Case]:
    """Secrets of another stack, known at the first preview."""
    for way_name in ("ConfigMap", "environment", "custom resource"):

        def from_stack(world: World, way_name: str = way_name) -> None:
            other = reference("organization/hosted-mesh-corpus/producer")
            WAYS[way_name](world, other.get_output("token"))

        def wrapped_from_stack(world: World, way_name: str = way_name) -> None:
            other = reference("organization/hosted-mesh-corpus/producer")
            # Another than above: programs that share a preview must not know each other's secrets.
            token = other.get_output("kept")
            world.secret("cp", "copy", {"token": token})
            WAYS[way_name](world, pulumi.Output.unsecret(token).apply(lambda t: wrap("gzip", t)))

        yield Case(f"another stack's secret in {way_name}", "stack reference", from_stack, frozenset({FLOW, VALUE}))
        yield Case(
            f"another stack's secret, unmarked, in {way_name}",
            "stack reference",
            wrapped_from_stack,
            frozenset({VALUE}),
        )


def observability() -> Iterator[Case]:
    """Credentials of Kiali and Prometheus, which are the control plane's."""

    def signing_key(world: World) -> None:
        seed = key("kiali-signing-key").output("privateKeyPem")
        digest = seed.apply(lambda pem: hashlib.sha256(pem.encode()).hexdigest()[:32])
        world.secret("cp", "kiali-signing-key", {"value.txt": digest})
        world.config_map(
            "dp", "kiali", {"config.yaml": pulumi.Output.concat("login_token: {signing_key: ", digest, "}")}
        )

    def prometheus_password(world: World) -> None:
        text = literals.opaque("prometheus")
        world.secret("cp", "prometheus-password", {"value.txt": pulumi.Output.secret(text)})
        auth = {"type": "basic", "username": "kiali", "password": text}
        config = {"external_services": {"prometheus": {"url": "https://prometheus.example.com", "auth": auth}}}
        world.config_map("dp", "kiali", {"config.yaml": json.dumps(config)})

    def remote_write(world: World) -> None:
        token = password("remote-write").output("result")
        world.secret("cp", "remote-write", {"token": token})
        config = token.apply(lambda text: json.dumps({"remote_write": [{"authorization": {"credentials": text}}]}))
        world.config_map("dp", "prometheus", {"prometheus.yaml": config})

    def home_token(world: World) -> None:
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        made = world.object("cp", "v1:Secret", "kiali-token", body).output("data")
        world.secret(
            "dp", "kiali-remote", {"kiali": made.apply(lambda data: (data or {}).get("token", "bm90LXlldA=="))}
        )

    for name, program in {
        "Kiali's signing key in its configuration": signing_key,
        "Prometheus' password in Kiali's configuration": prometheus_password,
        "Prometheus' token of remote write": remote_write,
        "Kiali's token of the control plane": home_token,
    }.items():
        yield Case(name, "observability", program, frozenset({FLOW, VALUE}))


def all_leaks() -> list[Case]:
    return [
        *direct(),
        *wrapped(),
        *cut(),
        *odd_places(),
        *indirect(),
        *shapes(),
        *nearest(),
        *timed(),
        *references(),
        *observability(),
    ]
