"""Harmless, from the field: the user's own beside the provider's of the same form, facts of clouds, programs' plumbing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import minted
from tests.corpus.strangers.material import LETTERS, LOWER, Material
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, b64, drawn, kubeconfig, noise, uid
from tests.corpus.world import Box

from .objects import ended
from .world import BUCKET, CLIENT, ISSUER, platform, receivers_of, settings_of

OWN, FACTS, PLUMBING, UPDATES, MANY = (
    "the user's own, in the field",
    "facts of clouds, in the field",
    "plumbing without a secret",
    "later updates without a leak",
    "several tenants and clusters",
)

# The user's own, of the same form as the provider's -------------------------------------------------------------------

TWINS: list[tuple[str, str, dict[str, Callable[[Material], str]]]] = [
    ("settings", "a file of variables like the provider's", {".env": settings_of}),
    ("receivers", "alert receivers like the provider's", {"alertmanager.yaml": receivers_of}),
    ("object-store", "the key of a bucket of its own, in a file like the provider's", {"objstore.yml": lambda m: yaml.safe_dump({"type": "S3", "config": {"bucket": "shop-metrics", "endpoint": "s3.eu-west-1.amazonaws.com", "region": "eu-west-1", "access_key": "minio", "secret_key": m.opaque("minio", 40, LETTERS)}})}),
    ("htpasswd", "users of its own gateway", {".htpasswd": lambda m: "tenant:$apr1$" + m.opaque("salt", 8, LETTERS) + "$" + m.opaque("ht", 22)}),
    ("redis", "a cache's password and the same settings", {"redis-password": lambda m: m.opaque("redis", 32, LETTERS), "redis.conf": lambda m: "maxmemory 256mb\nappendonly yes\n"}),
    ("keycloak-database", "the login of its own database", {"host": lambda m: "db.shop.svc", "port": lambda m: "5432", "database": lambda m: "keycloak", "username": lambda m: "keycloak", "password": lambda m: m.opaque("keycloak", 32, LETTERS)}),
    ("registry-login", "a login at the provider's registry, of the user's own robot", {".dockerconfigjson": lambda m: json.dumps({"auths": {"registry.platform.example.com": {"username": "robot$shop", "password": m.opaque("registry", 32, LETTERS), "auth": b64("robot$shop:" + m.opaque("registry", 32, LETTERS))}}})}),
    ("oidc-client", "a client's secret of the same issuer", {"oidc.clientID": lambda m: uid("shop client"), "oidc.clientSecret": lambda m: m.opaque("oidc", 32, LETTERS), "issuer": lambda m: ISSUER}),
    ("leaf-key", "a leaf certificate of its own and its key", {"tls.crt": lambda m: m.certificate("gateway"), "tls.key": lambda m: m.key("gateway"), "ca.crt": lambda m: m.certificate("root", authority=True)}),
    ("grafana", "a password of Grafana's administrator", {"admin-user": lambda m: "admin", "admin-password": lambda m: m.opaque("grafana", 40, LETTERS), "ldap-toml": lambda m: ""}),
]  # fmt: skip


def _twin(name: str, what: str, data: dict[str, Callable[[Material], str]], how: str) -> None:
    more: dict[str, Any] = {"before": "the same"} if how == "second" else {}
    if how == "configured":
        more["config"] = lambda cp, dp: {f"shop:{key}": text(dp) for key, text in data.items()}

    @clean(OWN, f"field-own-{name}-{how}", f"The user's Secret has {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        if how == "configured":
            given = {key: scene.config(f"shop:{key}") for key in data}
        else:
            given = {key: pulumi.Output.secret(text(scene.dp)) for key, text in data.items()}
        scene.secret("dp", "shop", given)


for _at, _twin_row in enumerate(TWINS):
    _twin(*_twin_row, ("typed", "second", "configured")[_at % 3])
for _at, _twin_row in enumerate(TWINS[:6]):
    _twin(*_twin_row, ("second", "configured", "typed")[_at % 3])


@clean(OWN, "field-own-release", "A chart of the user's takes a generated password in three places, and a URL of it.")
def _(scene: Scene) -> None:
    platform(scene)
    value = scene.password("dp", "shop-db").output("result")
    values = {
        "postgresql": {"auth": {"username": "shop", "password": value, "postgresPassword": value}},
        "env": {"DATABASE_URL": pulumi.Output.format("postgres://shop:{0}@shop-postgresql:5432/shop", value)},
        "podAnnotations": {"checksum/secret": value.apply(lambda text: hashlib.sha256(text.encode()).hexdigest())},
    }
    release(scene, "dp", "shop", values)


@clean(
    OWN,
    "field-own-reader-token",
    "A token that the user's cluster mints is in the provider's registry of clusters, as Argo CD wants it.",
)
def _(scene: Scene) -> None:
    platform(scene)
    token = minted(scene, "dp", "argocd-manager")
    config = pulumi.Output.json_dumps(
        {"bearerToken": token, "tlsClientConfig": {"insecure": False, "caData": b64("ca")}}
    )
    data = {"name": "shop", "server": SERVERS["dp"], "config": config}
    scene.secret("cp", "cluster-shop", data, labels={"argocd.argoproj.io/secret-type": "cluster"})
    scene.object("dp", "v1:ServiceAccount", "argocd-manager", {})


@clean(
    OWN,
    "field-own-kubeconfig-for-a-job",
    "A job in the user's cluster has a kubeconfig of that cluster, with a token that it minted.",
)
def _(scene: Scene) -> None:
    platform(scene)
    text = minted(scene, "dp", "deployer").apply(lambda token: kubeconfig(SERVERS["dp"], {"token": token}, "ca"))
    scene.secret("dp", "deployer-kubeconfig", {"config": text})


@clean(
    OWN,
    "field-own-leaf-by-our-authority",
    "The user's key is made for the user's gateway; the provider's authority signs its request.",
    rightly="the certificate is signed by the provider's key",
)
def _(scene: Scene) -> None:
    platform(scene)
    root, key = scene.key("cp", "root"), scene.key("dp", "edge")
    scene.secret("cp", "root", {"ca.key": root.output("privateKeyPem")})
    asked = scene.made("tls:index/certRequest:CertRequest", "edge-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": "edge"}}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    authority = scene.cp.certificate("root", authority=True)
    inputs = {"certRequestPem": asked.output("certRequestPem"), "caPrivateKeyPem": root.output("privateKeyPem"), "caCertPem": authority, "validityPeriodHours": 2160, "allowedUses": ["server_auth"]}  # fmt: skip
    signed = scene.made("tls:index/locallySignedCert:LocallySignedCert", "edge-cert", inputs, None, {"certPem": scene.cp.certificate("edge", "root")}, ["caPrivateKeyPem"])  # fmt: skip
    data = {"tls.crt": signed.output("certPem"), "tls.key": key.output("privateKeyPem"), "ca.crt": authority}
    scene.secret("dp", "edge-tls", data, kind="kubernetes.io/tls")


@clean(OWN, "field-own-configuration-object", "One secret object of the configuration is the user's; its members go to a Secret and a chart.", config=lambda cp, dp: {"shop:db": json.dumps({"host": "db.shop", "user": "shop", "password": dp.opaque("db", 24, LETTERS)})})  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    found = scene.config("shop:db").apply(json.loads)
    scene.secret("dp", "db", {key: found.apply(lambda db, key=key: db[key]) for key in ("host", "user", "password")})
    release(scene, "dp", "shop", {"db": {"existingSecret": "db", "host": "db.shop"}})


# Facts of clouds that hold the provider's secrets ---------------------------------------------------------------------

CLOUD_FACTS: list[tuple[str, str, str, Callable[[Any], dict[str, Any]], dict[str, Any]]] = [
    ("database", "the address of a database", "aws:rds/instance:Instance", lambda v: {"engine": "postgres", "username": "app", "password": v}, {"endpoint": "db.c4k2x9q.eu-west-1.rds.amazonaws.com:5432", "arn": "arn:aws:rds:eu-west-1:407408718192:db:platform"}),
    ("cluster", "the address, the authority and the issuer of the provider's cluster", "aws:eks/cluster:Cluster", lambda v: {"roleArn": "r", "vpcConfig": {"subnetIds": ["subnet-0a1b2c3d"]}}, {"endpoint": f"https://{drawn('eks', 32, 'ABCDEF0123456789')}.gr7.eu-west-1.eks.amazonaws.com", "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.eu-west-1.amazonaws.com/id/{drawn('eks', 32, 'ABCDEF0123456789')}"}]}]}),
    ("role", "the ARN of a role", "aws:iam/role:Role", lambda v: {"assumeRolePolicy": "{}"}, {"arn": "arn:aws:iam::407408718192:role/shop-metrics-4f7k2m9", "uniqueId": "AROA" + drawn("role", 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}),
    ("store-entry", "the name of a store's entry", "aws:secretsmanager/secret:Secret", lambda v: {"name": "platform/shop"}, {"arn": f"arn:aws:secretsmanager:eu-west-1:407408718192:secret:platform/shop-{drawn('sm', 6)}"}),
    ("access-keys-date", "the day on which an access key was made", "aws:iam/accessKey:AccessKey", lambda v: {"user": "shop"}, {"createDate": "2026-01-01T00:00:00Z"}),
    ("service-account", "the address of a service account", "gcp:serviceaccount/account:Account", lambda v: {"accountId": "shop"}, {"email": "shop@platform-prod-x7k2m9.iam.gserviceaccount.com", "uniqueId": "104857612345678901234"}),
    ("identity", "the ids of an identity", "azure-native:managedidentity:UserAssignedIdentity", lambda v: {"resourceName": "shop"}, {"clientId": uid("mi"), "principalId": uid("mi2"), "tenantId": uid("mi3")}),
    ("realms-client", "the id of a client whose secret stays", "keycloak:openid/client:Client", lambda v: {"clientId": "shop", "clientSecret": v, "accessType": "CONFIDENTIAL"}, {"resourceServerId": uid("kc"), "serviceAccountUserId": uid("kc2")}),
    ("zone", "name servers and the id of a zone", "aws:route53/zone:Zone", lambda v: {"name": "shop.example.com"}, {"zoneId": "Z" + drawn("z", 20, "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"), "nameServers": ["ns-1.awsdns-01.org", "ns-2.awsdns-02.co.uk"]}),
    ("certificates-records", "records that prove a domain", "aws:acm/certificate:Certificate", lambda v: {"domainName": "shop.example.com"}, {"domainValidationOptions": [{"resourceRecordName": f"_{drawn('acm', 32, HEX)}.shop.example.com.", "resourceRecordType": "CNAME", "resourceRecordValue": f"_{drawn('acm2', 32, HEX)}.{drawn('acm3', 10, LOWER)}.acm-validations.aws."}]}),
    ("search-domain", "the address of a search service with a password", "aws:opensearch/domain:Domain", lambda v: {"domainName": "logs", "advancedSecurityOptions": {"masterUserOptions": {"masterUserPassword": v}}}, {"endpoint": "search-logs-x7k2m9q4w8p3t6v1.eu-west-1.es.amazonaws.com"}),
    ("managed-database", "the host and the port of a database, beside its password", "digitalocean:index/databaseCluster:DatabaseCluster", lambda v: {"engine": "pg", "region": "ams3"}, {"host": "shop-do-user-4711-0.b.db.ondigitalocean.com", "port": 25060}),
]  # fmt: skip


def _fact(
    name: str, what: str, kind: str, inputs: Callable[[Any], dict[str, Any]], answers: dict[str, Any], how: str
) -> None:
    more: dict[str, Any] = {"before": "the same"} if how == "second" else {}

    @clean(FACTS, f"field-fact-{name}-{how}", f"The user gets {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        value = scene.password("cp", "held").output("result")
        scene.secret("cp", "held", {"password": value})
        secret = (
            {"secret": scene.cp.opaque(name, 40, LETTERS)}
            if name == "access-keys-date"
            else {"password": scene.cp.opaque(name, 24, LETTERS)}
            if name == "managed-database"
            else {}
        )
        made = scene.made(kind, "held-by", inputs(value), None, {**answers, **secret}, list(secret), owner="cp")
        facts = {key: made.output(key) for key in answers}
        if how == "release":
            release(scene, "dp", "shop", {"platform": facts})
        else:
            scene.config_map(
                "dp",
                "facts",
                {
                    key: pulumi.Output.from_input(fact).apply(lambda f: f if isinstance(f, str) else json.dumps(f))
                    for key, fact in facts.items()
                },
            )


for _at, _fact_row in enumerate(CLOUD_FACTS):
    _fact(*_fact_row, "second" if _at % 2 else "release")

# Plumbing -------------------------------------------------------------------------------------------------------------


@clean(
    PLUMBING,
    "field-component-with-both",
    "A component keeps a password in the provider's cluster and gives the user a host, through its outputs.",
)
def _(scene: Scene) -> None:
    platform(scene)
    box = Box("mesh")
    value = scene.password("cp", "mesh").output("result")
    scene.object("cp", "v1:Secret", "mesh", {"stringData": {"password": value}}, parent=box)
    service = scene.answered(
        "cp",
        "v1:Service",
        "istiod",
        {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"]}},
        status={"loadBalancer": {"ingress": [{"hostname": "a4f7k2m9-1234.elb.eu-west-1.amazonaws.com"}]}},
    )
    host = service.output("status").apply(
        lambda status: (status or {}).get("loadBalancer", {}).get("ingress", [{}])[0].get("hostname", "pending")
    )
    box.register_outputs({"host": host, "password": value})
    release(
        scene, "dp", "istiod-remote", {"global": {"remotePilotAddress": host}, "pilot": {"env": {"ISTIOD_HOST": host}}}
    )


@clean(PLUMBING, "field-stack-reference-facts", "Of another stack's outputs the user gets those that nobody marked.")
def _(scene: Scene) -> None:
    platform(scene)
    outputs = {
        "vpc": "vpc-0a1b2c3d4e5f67890",
        "subnets": ["subnet-0a1b2c3d4e5f67890", "subnet-1a1b2c3d4e5f67890"],
        "oidc": {"issuer": ISSUER, "client": CLIENT},
        "token": scene.cp.opaque("net", 32, LETTERS),
    }
    other = scene.reference("network", "organization/network/prod", outputs, ["token"])
    scene.secret("cp", "network", {"token": other.get_output("token")})
    facts = {
        "vpc": other.get_output("vpc"),
        "issuer": other.require_output("oidc")["issuer"],
        "subnets": other.get_output("subnets").apply(json.dumps),
    }
    scene.config_map("dp", "network", facts)


@clean(
    PLUMBING,
    "field-random-names",
    "Random ids, pets and strings are in names of both sides and in an id of the user's.",
)
def _(scene: Scene) -> None:
    platform(scene)
    tag = scene.made(
        "random:index/randomId:RandomId",
        "tag",
        {"byteLength": 4},
        None,
        {"hex": drawn("tag", 8, HEX), "dec": "3735928559"},
    )
    pet = scene.made("random:index/randomPet:RandomPet", "pet", {"length": 2}, None, {"id": "brave-otter"})
    known = scene.made("random:index/randomUuid:RandomUuid", "cluster", {}, None, {"result": uid("random cluster")})
    scene.secret(
        "cp",
        "tenants",
        {
            "shop": pulumi.Output.format(
                '{{"id": "{0}", "bucket": "shop-{1}"}}', known.output("result"), tag.output("hex")
            ),
            "token": scene.cp.opaque("tenants", 32),
        },
    )
    release(
        scene,
        "dp",
        "agent",
        {
            "cluster": {"id": known.output("result"), "name": pulumi.Output.concat("shop-", tag.output("hex"))},
            "nickname": pet.output("id"),
            "bucket": pulumi.Output.format("shop-{0}", tag.output("hex")),
        },
    )


@clean(
    PLUMBING,
    "field-public-half",
    "The user gets the public half of a key that signs the provider's tokens, as PEM and as a key set.",
    rightly="a public key",
    before="the same",
)
def _(scene: Scene) -> None:
    platform(scene)
    key = scene.key("cp", "signer")
    scene.secret("cp", "signer", {"key.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "signer", {"key.pub": key.output("publicKeyPem")})
    scene.object(
        "dp",
        "security.istio.io/v1:RequestAuthentication",
        "shop",
        {
            "spec": {
                "jwtRules": [{"issuer": ISSUER, "jwks": json.dumps({"keys": [scene.cp.jwk("signer", private=False)]})}]
            }
        },
    )


@clean(
    PLUMBING,
    "field-root-of-trust",
    "The root of the provider's authority is in four places of the user's.",
    rightly="certificates",
)
def _(scene: Scene) -> None:
    platform(scene)
    pem = scene.cp.certificate("istio-ca", authority=True)
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": pem})
    release(
        scene,
        "dp",
        "istiod-remote",
        {
            "pilot": {"jwksResolverExtraRootCA": pem},
            "meshConfig": {"caCertificates": [{"pem": pem, "certSigners": ["clusterissuers.cert-manager.io/mesh"]}]},
        },
    )
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://istiod.example.com/inject", "caBundle": b64(pem)},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 5,
    }
    scene.object(
        "dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [webhook]}
    )
    deployment(
        scene,
        "dp",
        "shop",
        {"env": [{"name": "CA_PEM_B64", "value": b64(pem)}]},
        {"checksum/ca": hashlib.sha256(b"ca").hexdigest()},
    )


@clean(
    PLUMBING,
    "field-transformed-labels",
    "A transformation adds labels and an annotation to all of a component, Secrets of the provider's too.",
)
def _(scene: Scene) -> None:
    platform(scene)

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        given: dict[str, Any] = dict(args.props)
        metadata = {**given.get("metadata", {}), "labels": {"team": "mesh", "commit": noise("label", 5).hex()}}
        return pulumi.ResourceTransformationResult({**args.props, "metadata": metadata}, args.opts)

    box = Box("all", opts=pulumi.ResourceOptions(transformations=[add]))
    scene.object(
        "cp",
        "v1:Secret",
        "inner",
        {"stringData": {"password": scene.password("cp", "inner").output("result")}},
        parent=box,
    )
    scene.object("dp", "v1:ConfigMap", "inner", {"data": {"host": "istiod.example.com"}}, parent=box)


@clean(
    PLUMBING, "field-length-and-policy", "The user gets the length that a password of the provider's was asked to have."
)
def _(scene: Scene) -> None:
    platform(scene)
    made = scene.made(
        "random:index/randomPassword:RandomPassword",
        "asked",
        {"length": 24, "special": False},
        None,
        {"result": scene.cp.opaque("asked", 24, LETTERS)},
        ["result"],
    )
    scene.secret("cp", "asked", {"password": made.output("result")})
    scene.config_map("dp", "policy", {"passwordLength": made.output("length").apply(lambda length: str(int(length)))})


@clean(
    PLUMBING,
    "field-branch-on-existence",
    "Whether the provider has a token decides a flag of the user's, which is the same for any token.",
)
def _(scene: Scene) -> None:
    platform(scene)
    value = scene.password("cp", "flag").output("result")
    scene.secret("cp", "flag", {"password": value})
    notes = {"hosted-mesh.io/declassify": "data.hub: says only that there is a password"}
    scene.config_map(
        "dp", "flags", {"hub": value.apply(lambda text: "enabled" if text else "disabled")}, annotations=notes
    )


@clean(
    PLUMBING,
    "field-objects-of-a-group",
    "A group of manifests is text; it has the user's objects, with names of Secrets.",
)
def _(scene: Scene) -> None:
    platform(scene)
    text = "---\n".join(yaml.safe_dump(one) for one in ({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent"}, "imagePullSecrets": [{"name": ended("regcred")}]}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent"}, "data": {"token-file": "/var/run/secrets/tokens/hub", "audience": "hub.platform.example.com"}}))  # fmt: skip
    scene.made("kubernetes:yaml/v2:ConfigGroup", "group", {"yaml": text}, scene.options("dp"))


# Later updates --------------------------------------------------------------------------------------------------------


def _before(scene: Scene) -> None:
    platform(scene)
    scene.secret("cp", "hub", {"password": scene.password("cp", "hub").output("result")})
    scene.config_map("dp", "agent", {"host": "hub.example.com"})


@clean(
    UPDATES,
    "field-rotated-with-an-alias",
    "The provider's Secret is renamed with an alias and its password is longer; the user's ConfigMap is as it was.",
    before=_before,
)
def _(scene: Scene) -> None:
    platform(scene)
    value = scene.password("cp", "hub", 40).output("result")
    scene.object(
        "cp", "v1:Secret", "hub-two", {"stringData": {"password": value}}, aliases=[pulumi.Alias(name="cp-hub")]
    )
    scene.config_map("dp", "agent", {"host": "hub.example.com"})


@clean(
    UPDATES,
    "field-own-object-adopted",
    "An object of the user's is imported, with a password that the user's cluster has of its own.",
    before=_before,
)
def _(scene: Scene) -> None:
    _before(scene)
    scene.object(
        "dp",
        "v1:Secret",
        "adopted",
        {"stringData": {"password": scene.password("dp", "own").output("result")}},
        import_="shop/adopted",
    )


@clean(UPDATES, "field-new-settings", "The second update changes settings and adds a generated name.", before=_before)
def _(scene: Scene) -> None:
    _before(scene)
    tag = scene.made("random:index/randomId:RandomId", "late", {"byteLength": 4}, None, {"hex": drawn("late", 8, HEX)})
    scene.config_map(
        "dp", "agent-two", {"host": "hub.example.com", "bucket": BUCKET, "id": tag.output("hex"), "replicas": "3"}
    )
    deployment(
        scene,
        "dp",
        "agent",
        {"env": [{"name": "HUB", "value": "hub.example.com"}]},
        {"kubectl.kubernetes.io/restartedAt": "2026-01-02T00:00:00Z"},
        delete_before_replace=True,
    )


@clean(
    UPDATES,
    "field-own-password-replaced",
    "The user's own password is made anew, longer, and goes to a Secret and a chart.",
    before=_before,
)
def _(scene: Scene) -> None:
    _before(scene)
    value = scene.password("dp", "own", 40).output("result")
    scene.secret("dp", "own", {"password": value})
    release(scene, "dp", "shop", {"auth": {"password": value}})


# Several --------------------------------------------------------------------------------------------------------------

BOTH = {"controlPlaneServers": ["https://cp.example.com:6443"], "dataPlaneServers": ["https://dp.example.com:6443", "https://blue.example.com:6443"]}  # fmt: skip


@clean(
    MANY,
    "field-two-tenants",
    "Two users' clusters have the same charts, each with a generated password and a kubeconfig of its own.",
    pack=BOTH,
)
def _(scene: Scene) -> None:
    platform(scene)
    scene.join("blue", "https://blue.example.com:6443")
    for side, mesh in (("dp", "red"), ("blue", "blue")):
        labels = {"hosted-mesh.io/mesh": mesh}
        scene.object(side, "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": labels}})
        value = scene.password("dp", f"{mesh}-db").output("result")
        scene.secret(
            side,
            "db",
            {
                "password": value,
                "username": "app",
                "url": pulumi.Output.format("postgres://app:{0}@db:5432/app", value),
            },
            labels=labels,
        )
        release(
            scene,
            side,
            "shop",
            {"auth": {"existingSecret": "db"}, "global": {"hub": "registry.platform.example.com", "network": mesh}},
        )


@clean(
    MANY,
    "field-two-tenants-at-the-provider",
    "Each tenant has a Secret of its own at the provider's, and the same public settings in its cluster.",
    pack=BOTH,
)
def _(scene: Scene) -> None:
    platform(scene)
    scene.join("blue", "https://blue.example.com:6443")
    for side, mesh in (("dp", "red"), ("blue", "blue")):
        labels = {"hosted-mesh.io/mesh": mesh}
        scene.object(side, "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": labels}})
        scene.secret(
            "cp",
            f"tenant-{mesh}",
            {
                "token": scene.cp.opaque(mesh, 32, LETTERS),
                "plan": "gold",
                "region": "eu-west-1",
                "quota.json": '{"pods": 400, "cpu": "80"}',
            },
            labels=labels,
            namespace=f"mesh-{mesh}",
        )
        scene.config_map(
            side,
            "settings",
            {"plan": "gold", "region": "eu-west-1", "quota.json": '{"pods": 400, "cpu": "80"}'},
            labels=labels,
        )


@clean(
    MANY,
    "field-users-cloud",
    "The user's nodes start with the user's own join token, in an account that is known as the user's.",
    pack={"dataPlaneProviders": ["shop-hcloud"]},
)
def _(scene: Scene) -> None:
    platform(scene)
    opts = scene.package("hcloud", "shop-hcloud", token=pulumi.Output.secret(scene.dp.opaque("hcloud", 64, LETTERS)))
    token = scene.password("dp", "k3s").output("result")
    script = pulumi.Output.format(
        "#cloud-config\nruncmd:\n- curl -sfL https://get.k3s.io | K3S_URL=https://dp.example.com:6443 K3S_TOKEN={0} sh -\n",
        token,
    )
    scene.made("hcloud:index/server:Server", "shop-node", {"serverType": "cx22", "userData": script}, opts)


@clean(
    MANY,
    "field-providers-cloud",
    "The provider's nodes start with the provider's join token, in an account that is known as the provider's.",
    pack={"controlPlaneProviders": ["platform-hcloud"]},
)
def _(scene: Scene) -> None:
    platform(scene)
    opts = scene.package(
        "hcloud", "platform-hcloud", owner="cp", token=pulumi.Output.secret(scene.cp.opaque("hcloud", 64, LETTERS))
    )
    token = scene.password("cp", "k3s").output("result")
    scene.secret("cp", "k3s", {"token": token})
    made = scene.made(
        "hcloud:index/server:Server",
        "cp-node",
        {"serverType": "cx22", "userData": pulumi.Output.format("K3S_TOKEN={0}", token)},
        opts,
        {"ipv4Address": "192.0.2.44"},
        owner="cp",
    )
    scene.config_map("dp", "hub", {"address": made.output("ipv4Address")})
