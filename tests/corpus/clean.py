"""Programs that look suspicious and are right. Every one must pass: a false alarm is a failure too."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pulumi

from tests.corpus import literals, objects
from tests.corpus.case import NO_CHART, NO_CLOUD, NO_REGISTRY, Case
from tests.corpus.ways import WAYS
from tests.corpus.world import (
    Box,
    Object,
    World,
    key,
    password,
    random_id,
    reference,
    request,
    self_signed,
    signed,
)

DECLASSIFY = "hosted-mesh.io/declassify"
DATA_PLANE_OWNED = "hosted-mesh.io/data-plane-owned"
CLIENT = "aws:cognito/userPoolClient:UserPoolClient"
CLIENTS = ("clientId", "clientSecret")


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _with_secrets(world: World) -> tuple[Object, Object]:
    """The provider's own secrets, where they belong."""
    private = key("istiod")
    certificate = self_signed("istiod", private)
    world.secret("cp", "tls", {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")})
    return private, certificate


def public_halves() -> Iterator[tuple[str, Callable[[World], Any]]]:
    for way in ("ConfigMap", "Secret", "annotation", "environment", "custom resource", "file in ConfigMap"):
        yield f"certificate in {way}", lambda w, way=way: WAYS[way](w, _with_secrets(w)[1].output("certPem"))

    def encoded(world: World) -> None:
        pem = _with_secrets(world)[1].output("certPem")
        world.config_map("dp", "ca", {"x": pem.apply(lambda text: base64.b64encode(text.encode()).decode())})

    def bundle(world: World) -> None:
        pem = _with_secrets(world)[1].output("certPem").apply(lambda t: base64.b64encode(t.encode()).decode())
        objects.webhook(world, clientConfig={"url": "https://istiod.example.com:15017/inject", "caBundle": pem})

    def root_of_chain(world: World) -> None:
        root, mine = key("root"), key("mine")
        root_cert = self_signed("root", root, authority=True)
        cert = signed("mine", request("mine", mine), root, root_cert, authority=True)
        world.secret(
            "cp", "cacerts", {"ca-key.pem": mine.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")}
        )
        world.config_map("dp", "roots", {"root.pem": root_cert.output("certPem"), "chain.pem": cert.output("certPem")})

    def beside_own(world: World) -> None:
        certificate = _with_secrets(world)[1]
        own = password("users")
        world.secret("dp", "app", {"ca.crt": certificate.output("certPem"), "password": own.output("result")})

    def rsa_known(world: World) -> None:
        world.secret("cp", "x", {"key": pulumi.Output.secret(literals.private_key("k"))})
        world.config_map("dp", "x", {"cert": literals.certificate("k"), "pub": literals.public_key("k")})

    def declared_public(world: World) -> None:
        reason = {DECLASSIFY: "data.authorized_keys: the public half, for the bastion"}
        public = _with_secrets(world)[0].output("publicKeyOpenssh")
        world.config_map("dp", "x", {"authorized_keys": public}, annotations=reason)

    yield "certificate in base64", encoded
    yield "CA bundle", bundle
    yield "roots and chain of the provider's CA", root_of_chain
    yield "certificate beside the user's password", beside_own
    yield "known key's certificate and public key", rsa_known
    yield "public key, said so, before it is known", declared_public


def known_public_halves() -> Iterator[Case]:
    """Public keys of keys that an earlier update made. (Before a key is known, nothing tells its halves apart.)"""
    for way in ("ConfigMap", "Secret", "environment"):
        for output in ("publicKeyPem", "publicKeyOpenssh"):
            yield Case(
                f"{output} in {way}",
                "known public half",
                lambda w, way=way, output=output: WAYS[way](w, _with_secrets(w)[0].output(output)),
                before=_with_secrets,
            )
    yield Case("digests with no word before them", "known public half", bare_pins, before=_with_secrets)


def bare_pins(world: World) -> None:
    """Digests with no word before them, as openssl and AWS write them."""
    private, _ = _with_secrets(world)
    digest = private.output("publicKeyPem").apply(lambda pem: hashlib.sha256(pem.encode()).digest())
    sha1 = private.output("publicKeyPem").apply(lambda pem: hashlib.sha1(pem.encode()).hexdigest())
    found = {
        "pins": digest.apply(bytes.hex),
        "tlsPins": digest.apply(lambda found: base64.b64encode(found).decode()),
        "certThumbprint": sha1.apply(str.upper),
    }
    world.config_map("dp", "pins", found)
    world.object("dp", "example.com/v1:Widget", "trusted", {"spec": {"thumbprintList": [sha1]}})


def expected_public_halves() -> Iterator[tuple[str, Callable[[World], Any]]]:
    """Public halves that are not known yet, in places whose names say that nothing else belongs there."""

    def known_hosts(world: World) -> None:
        private, _ = _with_secrets(world)
        line = world.concat("git.example.com ", private.output("publicKeyOpenssh"), "\n")
        world.config_map("dp", "hosts", {"ssh_known_hosts": line})

    def verifier(world: World) -> None:
        private, _ = _with_secrets(world)
        keys = [{"keys": {"publicKeys": private.output("publicKeyPem")}}]
        world.object("dp", "example.com/v1:Widget", "signed", {"spec": {"attestors": [{"entries": keys}]}})

    def pins(world: World) -> None:
        private, _ = _with_secrets(world)
        pin = private.output("publicKeyPem").apply(literals.pin_of)
        world.config_map("dp", "pins", {"pins.json": world.concat('{"istiod.example.com": ["', pin, '"]}')})

    yield "digests of a public key with no word before them", bare_pins
    yield "a host's key in known_hosts", known_hosts
    yield "a digest of a public key among pins", pins
    yield "the key that checks signatures", verifier


def facts_of_clouds() -> Iterator[tuple[str, Callable[[World], Any]]]:
    """What clouds tell of what they keep."""

    def key_kept_inside(world: World) -> None:
        made = world.make("aws:kms/key:Key", "telemetry", {"enableKeyRotation": True}, ["arn", "keyId"])
        world.config_map("dp", "tempo", {"bucket": "telemetry", "kms_key_id": made.output("arn")})

    def keys_to_log_in_with(world: World) -> None:
        """The control plane logs in by the private half."""
        private, _ = _with_secrets(world)
        kind, public = "github:index/repositoryDeployKey:RepositoryDeployKey", private.output("publicKeyOpenssh")
        world.make(kind, "reader", {"repository": "shop", "key": public})
        world.make("aws:ec2/keyPair:KeyPair", "nodes", {"publicKey": public})

    def pins(world: World) -> None:
        private, _ = _with_secrets(world)
        pin = private.output("publicKeyPem").apply(literals.pin_of)
        world.make("firebase:index/appCheck:AppCheck", "shop", {"hosts": {"istiod.example.com": {"tlsPins": [pin]}}})

    def ids_of_clients(world: World) -> None:
        """Of two clients of a pool, one of which has a secret."""
        backend, page = (world.make(CLIENT, one, {"name": one}, CLIENTS, CLIENTS[1:]) for one in ("backend", "page"))
        world.secret("cp", "backend", {"secret": backend.output("clientSecret")})
        spec = {"audiences": [page.output("clientId"), backend.output("clientId")]}
        world.object("dp", "example.com/v1:Login", "people", {"spec": spec})

    def authority_of_a_cluster(world: World) -> None:
        """The package marks all of `masterAuth`, and one member of it is public."""
        made = world.make("gcp:container/cluster:Cluster", "hub", {"name": "hub"}, ["masterAuth"], ["masterAuth"])

        def member(name: str) -> Any:
            return made.output("masterAuth").apply(lambda found: found[name] if isinstance(found, dict) else "")

        world.secret("cp", "hub", {"key": member("clientKey")})
        world.config_map("dp", "hub", {"ca": member("clusterCaCertificate")})

    yield "the certificate in a login that is marked as a whole", authority_of_a_cluster
    yield "the public half of a key that logs in at a forge, and at a cloud's machines", keys_to_log_in_with
    yield "a digest of a public key among pins at a service", pins
    yield "the name of a key that its cloud keeps", key_kept_inside
    yield "the ids of clients with secrets", ids_of_clients


def deployers_own() -> Iterator[tuple[str, Callable[[World], Any]]]:
    """Logins that the deployer uses and gives to nobody."""

    def image(world: World, kind: str, login: Callable[[Any], Any]) -> None:
        robot = password("robot").output("result")
        world.secret("cp", "robot", {"password": robot})
        built = world.make(kind, "agent", {"imageName": "agent", **login(robot)}, ["repoDigest"])
        world.config_map("dp", "agent", {"image": built.output("repoDigest")})

    yield (
        "an image is pushed with the provider's login",
        lambda w: image(w, "docker:index/image:Image", lambda robot: {"registry": {"password": robot}}),
    )
    yield (
        "an image is pushed to several registries",
        lambda w: image(w, "docker-build:index:Image", lambda robot: {"registries": [{"password": robot}]}),
    )


def charts() -> Iterator[Case]:
    def own_pair(world: World) -> None:
        _with_secrets(world)
        private = key("shop")
        pair = {"cert": self_signed("shop", private).output("certPem"), "key": private.output("privateKeyPem")}
        _release(world, {"client": {"tls": pair}})

    yield Case("TLS pair in a chart's values", "user's own", own_pair, only_simulated=NO_CHART)


def _release(world: World, values: Any) -> Object:
    inputs = {"chart": "shop", "version": "1.0.0", "namespace": "default", "values": values}
    return world.make("kubernetes:helm.sh/v3:Release", "shop", inputs, side="dp")


def users_own() -> Iterator[tuple[str, Callable[[World], Any]]]:
    def own_password(world: World) -> None:
        _with_secrets(world)
        world.secret("dp", "db", {"password": password("db").output("result")})

    def own_tls(world: World) -> None:
        _with_secrets(world)
        private = key("shop")
        cert = self_signed("shop", private)
        data = {"tls.key": private.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
        world.secret("dp", "shop-tls", data, kind="kubernetes.io/tls")

    def own_tls_by_providers_ca(world: World) -> None:
        root = key("root")
        root_cert = self_signed("root", root, authority=True)
        world.secret("cp", "ca", {"ca.key": root.output("privateKeyPem")})
        private = key("client")
        cert = signed("client", request("client", private), root, root_cert)
        data = {"tls.key": private.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
        world.secret("dp", "client-tls", data, kind="kubernetes.io/tls")

    def known_tls(world: World) -> None:
        data = {"tls.key": literals.private_key("web"), "tls.crt": literals.certificate("web")}
        world.secret("dp", "web-tls", data, kind="kubernetes.io/tls")

    def own_kubeconfig(world: World) -> None:
        world.secret("dp", "self", {"config": world.kubeconfigs["dp"]})

    def in_cluster(world: World) -> None:
        text = literals.kubeconfig("https://kubernetes.default.svc:443")
        world.secret("dp", "self", {"config": text})

    def registry(world: World) -> None:
        text = literals.credentials()["registry login"]
        world.secret("dp", "pull", {".dockerconfigjson": text}, kind="kubernetes.io/dockerconfigjson")

    def basic(world: World) -> None:
        world.secret(
            "dp", "basic", {"username": "admin", "password": "users-own-choice"}, kind="kubernetes.io/basic-auth"
        )

    def deploy_key(world: World) -> None:
        world.secret("dp", "git", {"ssh-privatekey": literals.private_key("git")}, kind="kubernetes.io/ssh-auth")

    def declared_cloud(world: World) -> None:
        text = literals.credentials()["AWS key"]
        reason = {DATA_PLANE_OWNED: "the user's backup bucket, given by the user"}
        world.secret("dp", "backup", {"credentials": text}, annotations=reason)

    def token_secret(world: World) -> None:
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        world.object("dp", "v1:Secret", "sa-token", body)

    def access(world: World) -> None:
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        made = world.object("dp", "v1:Secret", "reader-token", body)
        token = made.output("data").apply(lambda data: (data or {}).get("token", "bm90LXlldA=="))
        world.secret("cp", "istio-kubeconfig", {"config": token.apply(lambda t: f"token: {t}")})

    def dns_edge(world: World) -> None:
        """The bridge's account on an edge: its token is made there, and goes to the bridge."""
        edge, bridge = Box("north", "hosted-mesh:index:DnsEdge"), Box("names", "hosted-mesh:index:ExternalDNSBridge")
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        made = world.object("dp", "v1:Secret", "dns-publisher-token-1", body, parent=edge)
        token = made.output("data").apply(lambda data: (data or {}).get("token", "bm90LXlldA=="))
        text = token.apply(lambda found: f"token: {found}")
        world.object("cp", "v1:Secret", "dns-edge-north", {"stringData": {"kubeconfig": text}}, parent=bridge)

    def own_token_in_own_secret(world: World) -> None:
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        made = world.object("dp", "v1:Secret", "t", {"type": "kubernetes.io/service-account-token", "metadata": meta})
        world.secret("dp", "copy", {"token": made.output("data").apply(lambda data: (data or {}).get("token", ""))})

    def data_plane_component(world: World) -> None:
        box = Box("demo", "hosted-mesh:index:DataPlaneAccess")
        found = password("users", parent=box)
        world.secret("dp", "x", {"x": found.output("result")})
        world.secret("cp", "y", {"x": found.output("result")})

    def federation(world: World) -> None:
        """The part of a peer: addresses, identities and certificates of roots, all public."""
        box = Box("shops", "hosted-mesh:index:MeshFederation")
        root = self_signed("shared-root", key("shared-root"), authority=True)
        tls = {"mode": "ISTIO_MUTUAL", "subjectAltNames": ["spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"]}
        entry = {"hosts": ["reviews.example.com"], "endpoints": [{"address": "eastwest.west.example.com"}]}
        rule = {"host": "reviews.example.com", "trafficPolicy": {"tls": tls}}
        for kind, spec in {"ServiceEntry": entry, "DestinationRule": rule}.items():
            world.object("dp", f"networking.istio.io/v1:{kind}", "reviews", {"spec": spec}, parent=box)
        world.object("dp", "v1:ConfigMap", "root", {"data": {"root-cert.pem": root.output("certPem")}}, parent=box)
        bundle = {"name": "west.mesh.local", "trust_bundle": {"inline_string": root.output("certPem")}}
        validator = {"name": "envoy.tls.cert_validator.spiffe", "typed_config": {"trust_domains": [bundle]}}
        patches = {"spec": {"configPatches": [{"patch": {"value": {"custom_validator_config": validator}}}]}}
        world.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "reviews", patches, parent=box)

    def observability(world: World) -> None:
        """A collector's key stays on the control plane; proxies get its name, and formats with identities in them."""
        box = Box("demo", "hosted-mesh:index:MeshObservability")
        authority, private = key("intermediate"), key("collector", parent=box)
        signer = self_signed("intermediate", authority, authority=True)
        certificate = signed("collector", request("collector", private), authority, signer)
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        world.secret("cp", "metrics-collector-server", pair)
        tags = {
            "source_principal": "%UPSTREAM_LOCAL_URI_SAN%",
            "destination": "%METADATA(UPSTREAM_HOST:istio:workload)%",
        }
        stat = {"name": "istio_requests_total", "tags": [{"name": n, "value_format": v} for n, v in tags.items()]}
        log = {"name": "statistics", "typed_config": {"counters": [{"stat": stat, "value_fixed": 1}]}}
        patches = {"configPatches": [{"patch": {"operation": "MERGE", "value": {"access_log": [log]}}}]}
        tls = {"mode": "ISTIO_MUTUAL", "subjectAltNames": ["collector.demo.example.com"]}
        rule = {"host": "collector.demo.example.com", "trafficPolicy": {"tls": tls}}
        world.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "statistics", {"spec": patches}, parent=box)
        world.object("dp", "networking.istio.io/v1:DestinationRule", "collector", {"spec": rule}, parent=box)
        world.object("dp", "v1:ConfigMap", "ca", {"data": {"ca.pem": signer.output("certPem")}}, parent=box)

    def tunnel(world: World) -> None:
        """A tunnel's server keeps its key; the agent gets the authority's certificate, and its own cluster's token."""
        server, agent = (
            Box("n", "hosted-mesh:index:OperatorsControlPlane"),
            Box("n", "hosted-mesh:index:OperatorsDataPlane"),
        )
        authority, private = key("tunnel-authority", parent=server), key("tunnel", parent=server)
        signer = self_signed("tunnel-authority", authority, authority=True)
        certificate = signed("tunnel", request("tunnel", private), authority, signer)
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        world.secret("cp", "tunnel-tls", pair)
        data = {"data": {"ca.crt": signer.output("certPem")}}
        world.object("dp", "v1:ConfigMap", "tunnel-agent", data, parent=agent)
        token = {"path": "token", "audience": "hosted-mesh-tunnel", "expirationSeconds": 3600}
        sources = [{"serviceAccountToken": token}, {"configMap": {"name": "tunnel-agent"}}]
        container = {
            "name": "agent",
            "image": "registry.example.com/proxy-agent:1",
            "args": ["--ca-cert=/agent/ca.crt"],
        }
        pod = {"containers": [container], "volumes": [{"name": "agent", "projected": {"sources": sources}}]}
        template = {"metadata": {"labels": {"app": "agent"}}, "spec": pod}
        spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
        metadata = {"annotations": {"pulumi.com/skipAwait": "true"}}
        world.object("dp", "apps/v1:Deployment", "tunnel-agent", {"spec": spec, "metadata": metadata}, parent=agent)

    def debug_proxy(world: World) -> None:
        """Its key stays on the control plane. The user gets its name, and the authority."""
        box = Box("demo", "hosted-mesh:index:MeshObservability")
        authority, private = key("intermediate"), key("debug-proxy", parent=box)
        signer = self_signed("intermediate", authority, authority=True)
        certificate = signed("debug-proxy", request("debug-proxy", private), authority, signer)
        pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        world.secret("cp", "debug-proxy-server", pair)
        ports = [{"name": "http-debug", "port": 15014, "targetPort": 15014}]
        istiods = {"clusterIP": "None", "selector": {"app": "istiod"}, "ports": ports}
        world.object("cp", "v1:Service", "istiod-debug", {"spec": istiods}, parent=box)
        given = {"ca.pem": signer.output("certPem"), "address": "debug.demo.example.com:15019"}
        world.object("dp", "v1:ConfigMap", "istioctl", {"data": given}, parent=box)

    def database_url(world: World) -> None:
        text = password("db").output("result")
        world.secret("dp", "db", {"url": pulumi.Output.concat("postgres://app:", text, "@db.example.com/app")})

    def own_authority(world: World) -> None:
        _with_secrets(world)
        root, leaf = key("internal"), key("web")
        root_cert = self_signed("internal", root, authority=True)
        pair = {"tls.crt": root_cert.output("certPem"), "tls.key": root.output("privateKeyPem")}
        world.secret("dp", "internal", pair, kind="kubernetes.io/tls")
        cert = signed("web", request("web", leaf), root, root_cert)
        pair = {"tls.crt": cert.output("certPem"), "tls.key": leaf.output("privateKeyPem")}
        world.secret("dp", "web", pair, kind="kubernetes.io/tls")

    def login_of_both(world: World) -> None:
        """An agent in the data plane logs in by it to a collector in the control plane."""
        _with_secrets(world)
        login = password("collector").output("result")
        reason = {DATA_PLANE_OWNED: "the user's agent logs in by it to the collector"}
        world.secret("cp", "collector", {"password": login}, annotations=reason)
        world.secret("dp", "agent", {"password": login})

    yield "an authority of its own", own_authority
    yield "a login that both sides have, said so", login_of_both
    yield "password", own_password
    yield "TLS pair", own_tls
    yield "TLS pair signed by the provider's CA", own_tls_by_providers_ca
    yield "known TLS pair", known_tls
    yield "kubeconfig of its own cluster", own_kubeconfig
    yield "in-cluster kubeconfig", in_cluster
    yield "registry login", registry
    yield "basic auth", basic
    yield "deploy key", deploy_key
    yield "declared cloud credential", declared_cloud
    yield "service-account token Secret", token_secret
    yield "DataPlaneAccess: its token goes to the provider", access
    yield "DnsEdge: its token goes to the bridge", dns_edge
    yield "its own cluster's token in its own Secret", own_token_in_own_secret
    yield "a data-plane component's secret", data_plane_component
    yield "database URL", database_url
    yield "a federation's public facts", federation
    yield "a collector's public facts", observability
    yield "a tunnel's authority and its agent's own token", tunnel
    yield "a debug proxy's public facts", debug_proxy


def look_alikes() -> Iterator[tuple[str, Callable[[World], Any]]]:
    texts: dict[str, Callable[[], str]] = {
        "sha256": lambda: hashlib.sha256(b"x").hexdigest(),
        "UUID": lambda: str(uuid.uuid4()),
        "image digest": lambda: "registry.example.com/app@sha256:" + hashlib.sha256(b"y").hexdigest(),
        "long base64 of nothing": lambda: base64.b64encode(bytes(range(256))).decode(),
        "documentation of PEM": lambda: (
            "Paste your key between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----"
        ),
        "password placeholder": lambda: "postgres://app:${DB_PASSWORD}@db.example.com/app",
        "the word token": lambda: "the token is read from /var/run/secrets/tokens/istio-token",
        "flag with a file": lambda: "--token-file=/var/run/secrets/token --password-file=/etc/pw",
        "JWKS": lambda: json.dumps({"keys": [{"kty": "RSA", "kid": "a", "n": "AQAB" * 40, "e": "AQAB"}]}),
        "kubeconfig without credential": lambda: literals.kubeconfig("https://10.1.2.3").replace(
            "token:", "tokenFile:"
        ),
        "subject of a certificate": lambda: "spiffe://cluster.local/ns/default/sa/default",
        "lorem ipsum": lambda: literals.filler(20_000),
        "half a header": lambda: "eyJhbGciOiJSUzI1NiJ9 is how a JWT begins",
    }
    for name, text in texts.items():
        for way in ("ConfigMap", "annotation") if name in {"sha256", "UUID"} else ("ConfigMap",):
            yield f"{name} in {way}", lambda w, way=way, text=text: (_with_secrets(w), WAYS[way](w, text()))

    def same_words(world: World) -> None:
        data = {"username": "istio-admin", "host": "istiod.example.com", "port": "15012", "region": "eu-central-1"}
        world.secret("cp", "settings", data)
        world.config_map("dp", "settings", data)

    def binary(world: World) -> None:
        _with_secrets(world)
        body = {"binaryData": {"x": base64.b64encode(hashlib.sha512(b"z").digest() * 64).decode()}}
        world.object("dp", "v1:ConfigMap", "bin", body)

    def large(world: World) -> None:
        _with_secrets(world)
        world.config_map("dp", "large", {"x": literals.filler(900_000)})

    def nested(world: World) -> None:
        tree: Any = "x"
        for _ in range(30):
            tree = {"a": tree}
        world.object("dp", "example.com/v1:Widget", "deep", {"spec": tree})

    def id_as_name(world: World) -> None:
        _with_secrets(world)
        suffix = random_id("suffix").output("hex")
        world.object(
            "dp", "v1:ConfigMap", "x", {"metadata": {"name": pulumi.Output.concat("app-", suffix)}, "data": {}}
        )

    def shared_id(world: World) -> None:
        found = random_id("mesh").output("hex")
        world.secret("cp", "x", {"mesh-id": found})
        world.config_map("dp", "x", {"mesh-id": found})

    def status_of_provider(world: World) -> None:
        service = objects.load_balancer(world)
        world.config_map("dp", "x", {"address": service.output("status").apply(lambda s: json.dumps(s or {}))})

    def secret_name(world: World) -> None:
        found = world.secret("cp", "admin", {"password": password("admin").output("result")})
        world.config_map("dp", "x", {"see": found.output("metadata").apply(lambda m: m["name"])})

    def empty(world: World) -> None:
        _ = world

    yield "the same public words on both sides", same_words
    yield "binary data", binary
    yield "a large ConfigMap", large
    yield "30 deep", nested
    yield "random id as a name", id_as_name
    yield "random id on both sides", shared_id
    yield "an address of the provider's load balancer", status_of_provider
    yield "the name of a Secret", secret_name
    yield "empty plan", empty


def declassified() -> Iterator[tuple[str, Callable[[World], Any]]]:
    def digest(world: World) -> None:
        found = password("admin")
        world.secret("cp", "admin", {"password": found.output("result")})
        text = found.output("result").apply(lambda t: hashlib.sha256(t.encode()).hexdigest())
        world.config_map(
            "dp", "x", {"digest": text}, annotations={DECLASSIFY: "data.digest: sha256, to restart on change"}
        )

    def from_stack(world: World) -> None:
        other = reference("organization/hosted-mesh-corpus/producer")
        world.config_map("dp", "x", {"host": other.get_output("host")})

    yield "a hash, with its reason", digest
    yield "another stack's public output", from_stack


def right_objects() -> Iterator[tuple[str, Callable[[World], Any]]]:
    def mesh(world: World) -> None:
        objects.cacerts(world)
        objects.istiod(world)
        objects.load_balancer(world)
        objects.gateway(world)
        objects.webhook(world)
        objects.webhook(world, "Validating")

    def rights(world: World) -> None:
        rules = [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        ]
        objects.role(world, rules)
        objects.binding(world, "istiod-reader")

    def users_broad_role(world: World) -> None:
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        objects.role(world, [rule], name="team-lead", labels={})

    def users_webhook(world: World) -> None:
        hook = {
            "name": "x.cert-manager.io",
            "clientConfig": {"service": {"name": "cert-manager", "namespace": "cert-manager"}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        kind = "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
        world.object("dp", kind, "cert-manager", {"webhooks": [hook]})

    def users_gateway(world: World) -> None:
        spec = {"servers": [{"port": {"number": 80, "name": "http", "protocol": "HTTP"}, "hosts": ["*"]}]}
        world.object("dp", "networking.istio.io/v1:Gateway", "shop", {"spec": spec})

    def users_load_balancer(world: World) -> None:
        spec = {"type": "LoadBalancer", "ports": [{"port": 443}], "selector": {"app": "shop"}}
        world.object(
            "dp", "v1:Service", "shop", {"spec": spec, "metadata": {"annotations": {"pulumi.com/skipAwait": "true"}}}
        )

    def open_with_reason(world: World) -> None:
        objects.load_balancer(
            world, ranges=[], annotations={"hosted-mesh.io/open-to-all": "users have no fixed addresses"}
        )

    def gateway_with_its_own_key(world: World) -> None:
        """It ends TLS for a page of the provider's, with a key of its own, and passes istiod's through."""
        objects.cacerts(world)
        private = key("page")
        own = {"tls.key": private.output("privateKeyPem"), "tls.crt": literals.authority()[0]}
        world.secret("cp", "page", own, namespace="default")
        page = {"name": "page", "port": 443, "protocol": "HTTPS", "hostname": "page.example.com"}
        page["tls"] = {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": "page"}]}
        istiod = {"name": "istiod", "port": 443, "protocol": "TLS", "hostname": "istiod.example.com"}
        istiod["tls"] = {"mode": "Passthrough"}
        spec = {"gatewayClassName": "istio", "listeners": [page, istiod]}
        world.object(
            "cp", "gateway.networking.k8s.io/v1:Gateway", "x", {"spec": spec, "metadata": {"namespace": "default"}}
        )

    def two_meshes(world: World) -> None:
        objects.two_meshes(world)
        world.config_map("cp", "x", {"upstream": "istiod.mesh-a.svc:15012, a.example.com"}, namespace="mesh-a")

    def single_cluster_istiod(world: World) -> None:
        container = {"name": "discovery", "image": "registry.example.com/pilot:1.31.0", "args": ["discovery"]}
        spec = {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}},
        }
        world.object(
            "cp",
            "apps/v1:Deployment",
            "istiod",
            {"spec": spec, "metadata": {"annotations": {"pulumi.com/skipAwait": "true"}}},
        )

    def outputs(world: World) -> None:
        private, certificate = _with_secrets(world)
        pulumi.export("root", certificate.output("certPem"))
        pulumi.export("key", private.output("privateKeyPem"))
        pulumi.export("host", "istiod.example.com")

    def users_outputs(world: World) -> None:
        world.config_map("dp", "x", {"a": "b"})
        pulumi.export("kubeconfig", pulumi.Output.secret(world.kubeconfigs["dp"]))

    def operator(world: World) -> None:
        objects.operator(world, "dp")
        world.object("dp", "example.com/v1:Widget", "w", {"spec": {}})

    def catalog(world: World) -> None:
        world.config_map("cp", "catalog", {"catalog.yaml": objects.bundle()})
        objects.subscription(world, "dp")
        objects.catalog_source(world, "dp", {"sourceType": "grpc", "address": "catalog.example.com:50051"})
        world.object("dp", "example.com/v1:Widget", "w", {"spec": {}})

    def kiali(world: World) -> None:
        """Its kubeconfig of the user's cluster, and its signing key, are on the control plane alone."""
        box = Box("demo", "hosted-mesh:index:MeshObservability")
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        made = world.object("dp", "v1:Secret", "kiali-token-1", body, parent=box).output("data")
        text = made.apply(lambda data: (data or {}).get("token", "bm90LXlldA==")).apply(lambda token: f"token: {token}")
        world.object("cp", "v1:Secret", "kiali-data-planes", {"stringData": {"demo": text}}, parent=box)
        digest = key("kiali-signing-key").output("privateKeyPem").apply(_digest_of)
        world.object("cp", "v1:Secret", "kiali-signing-key", {"stringData": {"value.txt": digest}}, parent=box)
        world.config_map("cp", "kiali", {"config.yaml": "auth: {strategy: token}"})
        world.config_map("dp", "kiali", {"url": "https://kiali.example.com/kiali"})

    yield "a whole mesh", mesh
    yield "Kiali's credentials on the control plane", kiali
    yield "least rights", rights
    yield "the user's own broad role", users_broad_role
    yield "the user's own webhook", users_webhook
    yield "the user's own gateway", users_gateway
    yield "the user's own load balancer", users_load_balancer
    yield "open to all with a reason", open_with_reason
    yield "gateway with its own key", gateway_with_its_own_key
    yield "two tenants apart", two_meshes
    yield "an istiod that is not external", single_cluster_istiod
    yield "outputs with marks", outputs
    yield "the user's kubeconfig in the user's outputs", users_outputs
    yield "operator with its operand", operator
    yield "a catalog of the control plane, with its operator and operand on the data plane", catalog


def all_clean() -> list[Case]:
    families = {
        "public half": public_halves,
        "expected public half": expected_public_halves,
        "user's own": users_own,
        "look-alike": look_alikes,
        "declassified": declassified,
        "right object": right_objects,
    }
    simple = [Case(name, family, program) for family, programs in families.items() for name, program in programs()]
    clouds = [Case(name, "cloud's fact", made, only_simulated=NO_CLOUD) for name, made in facts_of_clouds()]
    builds = [Case(name, "deployer's own", made, only_simulated=NO_REGISTRY) for name, made in deployers_own()]
    return [*simple, *known_public_halves(), *charts(), *clouds, *builds]
