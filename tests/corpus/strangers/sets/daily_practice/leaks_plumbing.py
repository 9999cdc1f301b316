"""Leaks through Pulumi's own plumbing, from things of the provider's that are no Secrets, and whole credentials of clusters."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.recover import Recover, after, as_written, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.world import Box, Object

from .leaks_files import kept

HOLDERS, PLUMBING, CLUSTERS, ANSWERS, BOTH = (
    "no Secret at the provider's",
    "plumbing",
    "credentials of clusters",
    "answers",
    "one configuration for both",
)
Held = Callable[[Scene, Any], Any]


def _pod(**container: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a:1", **container}]}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": template}}


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _release(scene: Scene, side: str, values: Any, name: str = "grafana") -> Any:
    inputs = {"chart": name, "version": "8.0.0", "values": values}
    return scene.made("kubernetes:helm.sh/v3:Release", f"{side}-{name}", inputs, scene.options(side))


# What has the password at the provider's, where no Secret of the program's does. The user's Secret has it too.
WAYS: list[tuple[str, str, Held]] = [
    ("chart-values", "values of a chart", lambda s, v: _release(s, "cp", {"adminUser": "admin", "adminPassword": v})),
    ("environment", "a Deployment's environment", lambda s, v: s.object("cp", "apps/v1:Deployment", "a", _pod(env=[{"name": "DB_PASSWORD", "value": v}]))),
    ("arguments", "arguments of a StatefulSet", lambda s, v: s.object("cp", "apps/v1:StatefulSet", "a", _pod(args=["--requirepass", v]))),
    ("custom-resource", "the spec of a custom resource", lambda s, v: s.object("cp", "keycloak.example.org/v1:Client", "c", {"spec": {"client": {"clientId": "istiod", "secret": v}}})),
    ("manifest-group", "a manifest that is text", lambda s, v: s.made("kubernetes:yaml/v2:ConfigGroup", "cp-group", {"yaml": pulumi.Output.concat("kind: Secret\nmetadata: {name: db}\nstringData:\n  password: ", v, "\n")}, s.options("cp"))),
    ("list-of-secrets", "a list of Secrets", lambda s, v: s.made("kubernetes:core/v1:SecretList", "cp-secrets", {"apiVersion": "v1", "kind": "SecretList", "items": [{"metadata": {"name": "db"}, "stringData": {"password": v}}]}, s.options("cp"))),
    ("patch", "a patch of a Secret", lambda s, v: s.made("kubernetes:core/v1:SecretPatch", "cp-patch", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": v}}, s.options("cp"))),
    ("database", "the provider's database", lambda s, v: s.made("aws:rds/instance:Instance", "mesh-db", {"username": "mesh", "password": v}, owner="cp")),
    ("user-of-a-database", "a role in the provider's database", lambda s, v: s.made("postgresql:index/role:Role", "mesh-role", {"name": "mesh", "login": True, "password": v}, owner="cp")),
    ("secrets-manager", "the provider's secrets manager", lambda s, v: s.made("aws:secretsmanager/secretVersion:SecretVersion", "mesh-secret", {"secretId": "mesh", "secretString": v}, owner="cp")),
    ("config-map", "a ConfigMap's file", lambda s, v: s.config_map("cp", "db", {"db.conf": pulumi.Output.concat("user=mesh\npassword=", v, "\n")})),
    ("init-container", "a Job's shell command", lambda s, v: s.object("cp", "batch/v1:Job", "migrate", _pod(command=["sh", "-c", pulumi.Output.concat("PGPASSWORD=", v, " psql -h db -f init.sql")]))),
]  # fmt: skip


def _holder(name: str, what: str, held: Held) -> None:
    why = f"A password of the provider's is in {what} there, and in the user's Secret."

    @leak(
        HOLDERS,
        f"configured-in-{name}",
        why,
        BOTH,
        config=lambda cp, dp: {"mesh:grafana": cp.opaque("grafana", 20, LETTERS)},
        at="preview",
    )
    def _(scene: Scene) -> None:
        held(scene, scene.config("mesh:grafana"))
        scene.secret("dp", "shop", {"password": scene.config("mesh:grafana")})

    @leak(HOLDERS, f"pasted-in-{name}", f"{why} Both were typed in.", HOLDERS)
    def _(scene: Scene) -> None:
        value = scene.cp.opaque("typed", 20, LETTERS)
        held(scene, value)
        scene.secret("dp", "shop", {"password": value})

    @leak(HOLDERS, f"made-in-{name}", f"{why} It is generated.", HOLDERS)
    def _(scene: Scene) -> None:
        value = scene.password("cp", "db").output("result")
        held(scene, value)
        scene.secret("dp", "shop", {"password": value})


for _given in WAYS:
    _holder(*_given)


def _der(text: bytes) -> bytes:
    return base64.b64decode(b"".join(text.splitlines()[1:-1]))


def _made(scene: Scene, name: str = "admin") -> Any:
    value = scene.password("cp", name).output("result")
    scene.secret("cp", name, {"password": value})
    return value


@leak(
    PLUMBING,
    "awaited-value",
    "The program awaits the output; what it makes of the text has no dependency.",
    PLUMBING,
    before="the same",
    recover=each(lambda t: t[::-1]),
)
def _(scene: Scene) -> None:
    value = _made(scene)

    async def write() -> None:
        text = await value.future()
        scene.config_map("dp", "late", {"auth": (text or "not yet")[::-1]})

    pulumi.Output.from_input(asyncio.ensure_future(write())).apply(lambda _: None)


@leak(PLUMBING, "text-asset", "An object in the user's bucket is a text asset with the provider's password.", "assets")
def _(scene: Scene) -> None:
    source = _made(scene).apply(lambda text: pulumi.StringAsset(f"password={text}\n"))
    scene.made("aws:s3/bucketObjectv2:BucketObjectv2", "file", {"bucket": "shop", "key": "a", "source": source})


@leak(
    PLUMBING,
    "archive-of-text-assets",
    "The user's function is an archive with a file that has the provider's token.",
    "assets",
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("archive", 32, LETTERS)
    kept(scene, "istiod", {"token": token})
    code = pulumi.AssetArchive(
        {
            "index.js": pulumi.StringAsset("exports.h = 1"),
            "config.json": pulumi.StringAsset(json.dumps({"token": token})),
        }
    )
    scene.made("aws:lambda/function:Function", "sync", {"role": "r", "code": code})


@leak(PLUMBING, "remote-asset", "An asset is fetched from an address that has the provider's login.", "assets")
def _(scene: Scene) -> None:
    password = scene.cp.opaque("asset", 24, LETTERS)
    kept(scene, "artifacts", {"username": "robot", "password": password})
    source = pulumi.RemoteAsset(f"https://robot:{password}@artifacts.example.com/filter.wasm")
    scene.made(
        "gcp:storage/bucketObject:BucketObject", "filter", {"bucket": "shop-public", "name": "f", "source": source}
    )


@leak(
    PLUMBING,
    "transformation-of-a-component",
    "A component's transformation adds a header with the provider's token to all that is in it.",
    "transforms",
)
def _(scene: Scene) -> None:
    token = _made(scene)

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        return pulumi.ResourceTransformationResult({**args.props, "data": {"x-istiod": token}}, args.opts)

    box = Box("users", opts=pulumi.ResourceOptions(transformations=[add]))
    scene.object("dp", "v1:ConfigMap", "headers", {"data": {"x": "y"}}, parent=box)


@leak(
    PLUMBING,
    "provider-by-inheritance",
    "A component hands its provider on; its child goes to the user's cluster without naming it.",
    "components",
)
def _(scene: Scene) -> None:
    value = _made(scene)
    box = Box("users", opts=pulumi.ResourceOptions(providers={"kubernetes": scene.provider("dp")}))
    Object(
        "kubernetes:core/v1:ConfigMap",
        "inherited",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"v": value}},
        pulumi.ResourceOptions(parent=box),
    )


@leak(
    PLUMBING,
    "rendered-to-a-folder",
    "A provider that is said to reach the control plane writes files, for a repository that the user's Flux reads.",
    "renderYamlToDirectory",
)
def _(scene: Scene) -> None:
    kubeconfig = pulumi.Output.secret(scene.kubeconfigs["cp"])
    opts = scene.package("kubernetes", "render", kubeconfig=kubeconfig, renderYamlToDirectory="clusters/shop")
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"v": _made(scene)}}
    scene.made("kubernetes:core/v1:ConfigMap", "rendered", inputs, opts)


@leak(
    PLUMBING,
    "prefix-of-a-random-name",
    "A random pet's prefix is the provider's password; the name goes to the user.",
    "random",
)
def _(scene: Scene) -> None:
    value = _made(scene)
    prefix = scene.cp.opaque("admin", 24)
    pet = scene.made("random:index/randomPet:RandomPet", "pet", {"prefix": value}, None, {"id": f"{prefix}-happy-cat"})
    scene.config_map("dp", "name", {"name": pet.output("prefix")})


@leak(
    PLUMBING,
    "subject-of-a-certificate",
    "A certificate's subject is the provider's password; certificates are public.",
    "certificates",
    recover=each(_der),
)
def _(scene: Scene) -> None:
    value, key = _made(scene), scene.key("cp", "leaf")
    name = scene.cp.opaque("admin", 24)
    inputs = {
        "privateKeyPem": key.output("privateKeyPem"),
        "subject": {"commonName": value},
        "validityPeriodHours": 24,
        "earlyRenewalHours": 1,
        "allowedUses": [],
    }
    answers = {"certPem": scene.cp.certificate(name)}
    made = scene.made("tls:index/selfSignedCert:SelfSignedCert", "leaf-cert", inputs, None, answers, ["privateKeyPem"])
    scene.config_map("dp", "trust", {"ca.pem": made.output("certPem")})


@leak(
    PLUMBING,
    "random-string-as-a-password",
    "A RandomString, which no one marks, is the password of a Secret of the provider's.",
    "pulumi-random",
)
def _(scene: Scene) -> None:
    text = scene.cp.opaque("string", 24, LETTERS)
    made = scene.made("random:index/randomString:RandomString", "db", {"length": 24}, None, {"result": text})
    scene.secret("cp", "db", {"password": made.output("result")})
    scene.config_map("dp", "shop", {"upstream": pulumi.Output.concat("mesh ", made.output("result"))})


@leak(
    PLUMBING,
    "random-uuid-as-a-token",
    "A RandomUuid is the token of a Secret of the provider's, and goes to the user.",
    "pulumi-random",
)
def _(scene: Scene) -> None:
    digits = scene.cp.opaque("uuid", 32, "0123456789abcdef")
    text = "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
    scene.cp.given.append(text)
    made = scene.made("random:index/randomUuid:RandomUuid", "api", {}, None, {"result": text})
    scene.secret("cp", "api", {"api-token": made.output("result")})
    scene.config_map("dp", "shop", {"upstream": made.output("result")})


@leak(
    PLUMBING,
    "dynamic-resource-of-the-provider",
    "A dynamic resource reads the provider's store; its output goes on.",
    "dynamic providers",
)
def _(scene: Scene) -> None:
    answers = {"secret": scene.cp.opaque("dynamic", 32, LETTERS)}
    made = scene.made(
        "pulumi-python:dynamic:Resource",
        "store",
        {"path": "istiod/admin", "__provider": "x"},
        None,
        answers,
        ["secret"],
        owner="cp",
    )
    scene.secret("dp", "shop", {"value": made.output("secret")})


UNMARKED = (
    ("a-client", "keycloak:openid/client:Client", "clientSecret"),
    ("a-dynamic-resource", "pulumi-python:dynamic:Resource", "out"),
)


def _unmarked(name: str, kind: str, output: str) -> None:
    @leak(
        PLUMBING,
        f"unmarked-output-of-{name}",
        "What a service's resource answers, marked by nobody, is in the user's Secret.",
        "packages that mark no secret",
        at="update",
    )
    def _(scene: Scene) -> None:
        answers = {output: scene.cp.opaque("unmarked", 32, LETTERS)}
        made = scene.made(kind, "client", {"clientId": "mesh"}, None, answers, owner="cp")
        scene.secret("dp", "shop", {"value": made.output(output)})


for _service in UNMARKED:
    _unmarked(*_service)


@leak(
    PLUMBING,
    "name-that-pulumi-makes",
    "A resource's logical name has the token; Pulumi makes the object's name of it.",
    "autonaming",
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("named", 24)
    kept(scene, "istiod", {"token": token})
    scene.made(
        "kubernetes:core/v1:ConfigMap",
        f"sync-{token}",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        scene.options("dp"),
    )


@leak(
    PLUMBING,
    "json-of-all-outputs",
    "All outputs of a component are dumped into one JSON file for the user.",
    "Output.json_dumps",
    recover=each(strings_of_json),
)
def _(scene: Scene) -> None:
    value = _made(scene)
    everything = pulumi.Output.all(host="istiod.example.com", nested=[{"deep": value}])
    scene.secret("dp", "platform", {"outputs.json": pulumi.Output.json_dumps(everything, indent=2)})


@leak(
    PLUMBING,
    "formatted-and-filtered",
    "A template is filled, cut into lines, filtered and joined again.",
    "apply chains",
)
def _(scene: Scene) -> None:
    text = pulumi.Output.format("host={0}\nauth={1}\nport={2}", "istiod", _made(scene), 15012)
    lines = text.apply(str.splitlines).apply(lambda found: [line for line in found if "host" not in line])
    scene.config_map("dp", "platform", {"settings": lines.apply("\n".join)})


@leak(
    PLUMBING,
    "remote-component",
    "A component of another package writes to the user's cluster; it is given the provider's password.",
    "remote components",
)
def _(scene: Scene) -> None:
    value = _made(scene)
    box = pulumi.ComponentResource(
        "shop:index:Gateway",
        "gateway",
        {"upstream": value},
        pulumi.ResourceOptions(providers={"kubernetes": scene.provider("dp")}),
        True,
    )
    scene.object("dp", "v1:ConfigMap", "gateway", {"data": {"upstream": value}}, parent=box)


@leak(
    PLUMBING,
    "second-object-takes-from-the-first",
    "The user's ConfigMap has the value since the last update; a second one is made of it.",
    "second update",
    before="the same",
)
def _(scene: Scene) -> None:
    first = scene.config_map("dp", "first", {"v": _made(scene)})
    scene.config_map("dp", "second", {"copy": first.output("data").apply(lambda d: d["v"][::-1] + d["v"])})


# Answers of data sources, which no policy is shown -----------------------------------------------------------------


def _answer(
    name: str,
    why: str,
    token: str,
    answer: Callable[[Scene], dict[str, Any]],
    taken: Callable[[Any], Any],
    entry: str,
    *,
    secret: bool,
    recover: Recover = as_written,
) -> None:
    @leak(ANSWERS, name, why, token, recover=recover)
    def _(scene: Scene) -> None:
        found = scene.invoke(token, answer(scene), secret=secret)
        scene.held()
        scene.secret("dp", "shop", {entry: found.apply(taken)})


_answer(
    "storage-keys-listed",
    "The keys of the provider's storage account are listed, and one goes to the user's Secret.",
    "azure-native:storage:listStorageAccountKeys",
    lambda s: {"keys": [{"keyName": "key1", "value": base64.b64encode(s.cp.opaque("az", 64).encode()).decode()}]},
    lambda a: a["keys"][0]["value"],
    "accountKey",
    secret=False,
    recover=each(base64.b64decode),
)
_answer(
    "clusters-credentials-listed",
    "The admin kubeconfig of the provider's cluster is listed, and goes to the user.",
    "azure-native:containerservice:listManagedClusterAdminCredentials",
    lambda s: {"kubeconfigs": [{"name": "admin", "value": base64.b64encode(s.kubeconfigs["cp"].encode()).decode()}]},
    lambda a: base64.b64decode(a["kubeconfigs"][0]["value"]).decode(),
    "config",
    secret=False,
)
_answer(
    "state-of-terraform",
    "An output of the provider's Terraform state is the token of its DNS.",
    "terraform:state:getS3Reference",
    lambda s: {"outputs": {"dns_token": s.cp.opaque("tf", 40, LETTERS), "zone": "example.com"}},
    lambda a: a["outputs"]["dns_token"],
    "value",
    secret=True,
)
_answer(
    "registry-login-of-a-cloud",
    "The login of the provider's registry, for twelve hours.",
    "aws:ecr/getAuthorizationToken:getAuthorizationToken",
    lambda s: {"userName": "AWS", "password": s.cp.opaque("ecr", 200, LETTERS)},
    lambda a: json.dumps({"auths": {"1.dkr.ecr.example.com": {"username": "AWS", "password": a["password"]}}}),
    ".dockerconfigjson",
    secret=True,
    recover=each(strings_of_json),
)
_answer(
    "token-for-a-cluster",
    "A token of the deployer's for the provider's cluster.",
    "aws:eks/getClusterAuth:getClusterAuth",
    lambda s: {"name": "cp", "token": "k8s-aws-v1." + s.cp.opaque("eks", 300, LETTERS)},
    lambda a: a["token"],
    "token",
    secret=True,
    recover=each(lambda t: t.partition(b"v1.")[2]),
)
_answer(
    "output-of-a-command-run",
    "A command's answer is the provider's Vault token.",
    "command:local:run",
    lambda s: {"stdout": "hvs.CAES" + s.cp.opaque("run", 90, LETTERS)},
    lambda a: a["stdout"],
    "upstream",
    secret=False,
    recover=each(lambda t: t.partition(b"CAES")[2]),
)
_answer(
    "page-of-the-vault",
    "An HTTP answer of the provider's Vault, unmarked.",
    "http:index/getHttp:getHttp",
    lambda s: {"responseBody": json.dumps({"data": {"password": s.cp.opaque("http", 24, LETTERS)}})},
    lambda a: json.loads(a["responseBody"])["data"]["password"],
    "upstream",
    secret=False,
)


# Whole credentials of the provider's cluster, which stand nowhere else in the program -------------------------------


def _kubeconfig(scene: Scene, user: dict[str, Any], server: str = SERVERS["cp"]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": _b64(scene.cp.certificate("kubernetes", authority=True))}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }  # fmt: skip


Document = Callable[[Scene], str]
CREDENTIALS: list[tuple[str, str, str, str, Document, Recover]] = [
    ("exec-with-environment", "a kubeconfig that logs in by a command with a cloud's key in its environment", "Opaque", "kubeconfig", lambda s: yaml.safe_dump(_kubeconfig(s, {"exec": {"command": "aws", "args": ["eks", "get-token"], "env": [{"name": "AWS_ACCESS_KEY_ID", "value": "AKIAEXAMPLEEXAMPLE00"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": s.cp.opaque("aws", 40, LETTERS)}]}})), each(strings_of_yaml)),
    ("auth-provider", "a kubeconfig with a refresh token and a client's secret", "Opaque", "config", lambda s: yaml.safe_dump(_kubeconfig(s, {"auth-provider": {"name": "oidc", "config": {"client-id": "kubernetes", "client-secret": s.cp.opaque("client", 32, LETTERS), "refresh-token": s.cp.opaque("refresh", 60, LETTERS), "idp-issuer-url": "https://id.example.com"}}})), each(strings_of_yaml)),
    ("client-key", "a kubeconfig of JSON with a client certificate and its key", "Opaque", "value", lambda s: json.dumps(_kubeconfig(s, {"client-certificate-data": _b64(s.cp.certificate("admin")), "client-key-data": _b64(s.cp.key("admin"))})), each(lambda t: base64.b64decode(json.loads(t)["users"][0]["user"]["client-key-data"]))),
    ("password-of-old", "a kubeconfig with user name and password", "Opaque", "value", lambda s: yaml.safe_dump(_kubeconfig(s, {"username": "admin", "password": s.cp.opaque("basic", 24, LETTERS)})), each(strings_of_yaml)),
    ("bootstrap-hub", "the hub's kubeconfig by which a cluster joins a fleet", "Opaque", "kubeconfig", lambda s: yaml.safe_dump(_kubeconfig(s, {"token": s.cp.jwt("bootstrap")}, "https://hub.example.com:6443")), each(strings_of_yaml)),
    ("argocd-cluster", "Argo CD's entry for the provider's cluster, with a client key", "Opaque", "config", lambda s: json.dumps({"tlsClientConfig": {"caData": _b64(s.cp.certificate("kubernetes")), "certData": _b64(s.cp.certificate("argo")), "keyData": _b64(s.cp.key("argo"))}}), each(lambda t: base64.b64decode(json.loads(t)["tlsClientConfig"]["keyData"]))),
    ("argocd-exec", "Argo CD's entry for the provider's cluster, with a cloud's key in a command's environment", "Opaque", "config", lambda s: json.dumps({"execProviderConfig": {"command": "argocd-k8s-auth", "args": ["aws"], "env": {"AWS_SECRET_ACCESS_KEY": s.cp.opaque("argo", 40, LETTERS)}}}), each(strings_of_json)),
    ("cilium-clustermesh", "Cilium's entry for the provider's cluster, with the client key of its etcd", "Opaque", "platform", lambda s: yaml.safe_dump({"endpoints": ["https://platform.mesh.example.com:2379"], "trusted-ca-file": "/var/lib/ca.crt", "key": s.cp.key("etcd-client")}), each(strings_of_yaml)),
    ("consul-federation", "what Consul's secondary needs of the primary: the authority's key, a replication token and the gossip key", "Opaque", "serverConfigJSON", lambda s: json.dumps({"primary_datacenter": "platform", "primary_gateways": ["192.0.2.1:443"], "encrypt": _b64(s.cp.opaque("gossip", 32)), "acl": {"tokens": {"replication": s.cp.opaque("replication", 36)}}}), each(strings_of_json)),
    ("submariner-broker", "the broker's token and pre-shared key of Submariner", "Opaque", "broker-info.subm", lambda s: _b64(json.dumps({"BrokerURL": "https://cp.example.com:6443", "ClientToken": {"data": {"token": _b64(s.cp.jwt("broker"))}}, "IPSecPSK": {"data": {"psk": _b64(s.cp.opaque("psk", 48))}}})), each(base64.b64decode, lambda t: base64.b64decode(json.loads(t)["IPSecPSK"]["data"]["psk"]))),
    ("rancher-agent", "the address and token by which Rancher's agent logs in at the provider's server", "Opaque", "credentials.json", lambda s: json.dumps({"url": "https://rancher.example.com", "token": "token-abcde:" + s.cp.opaque("cattle", 54), "namespace": "cattle-system"}), each(after(b"token-abcde:"))),
    ("azure-json", "the file by which a cluster works in the provider's account", "Opaque", "azure.json", lambda s: json.dumps({"tenantId": "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", "aadClientId": "1b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", "aadClientSecret": s.cp.opaque("aad", 40, LETTERS)}), each(strings_of_json)),
    ("vsphere-conf", "the file by which a cluster works in the provider's vCenter", "Opaque", "vsphere.conf", lambda s: f'[Global]\nuser = "k8s@vsphere.local"\npassword = "{s.cp.opaque("vc", 20, LETTERS)}"\n[VirtualCenter "vc.example.com"]\ndatacenters = "dc1"\n', each(after(b'password = "'))),
    ("cloud-conf", "OpenStack's file with an application's credential", "Opaque", "cloud.conf", lambda s: f"[Global]\nauth-url=https://keystone.example.com/v3\napplication-credential-id={s.cp.public('app')}\napplication-credential-secret={s.cp.opaque('os', 86, LETTERS)}\n", as_written),
    ("service-account-json", "a key file of the provider's service account in Google's cloud", "Opaque", "key.json", lambda s: json.dumps({"type": "service_account", "project_id": "platform", "private_key_id": s.cp.public("gcp", 20), "private_key": s.cp.rsa("gcp"), "client_email": "dns@platform.iam.gserviceaccount.com"}), each(strings_of_json)),
    ("etcd-peer", "a peer's pair of the provider's etcd, where the certificate is for a server", "kubernetes.io/tls", "tls.key", lambda s: s.cp.key("etcd-peer"), as_written),
    ("teleport-join", "the file by which an agent joins the provider's Teleport", "Opaque", "teleport.yaml", lambda s: f"teleport:\n  proxy_server: teleport.example.com:443\n  join_params:\n    method: token\n    token_name: {s.cp.opaque('teleport', 32, '0123456789abcdef')}\n", each(strings_of_yaml)),
    ("nats-creds", "the credentials of an account in the provider's NATS", "Opaque", "user.creds", lambda s: f"-----BEGIN NATS USER JWT-----\n{s.cp.jwt('nats')}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\nSU{s.cp.opaque('nkey', 56, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}\n------END USER NKEY SEED------\n", each(lambda t: t.partition(b"\nSU")[2])),
]  # fmt: skip


def _credential(
    name: str, what: str, kind: str, entry: str, document: Document, recover: Recover, *, secret: bool
) -> None:
    place = "Secret" if secret else "ConfigMap"

    @leak(CLUSTERS, f"{name}-in-a-{place.lower()}", f"The user's {place} has {what}.", CLUSTERS, recover=recover)
    def _(scene: Scene) -> None:
        scene.held()
        if secret:
            scene.secret("dp", "joined", {entry: document(scene)}, kind=kind)
        else:
            scene.config_map("dp", "joined", {entry: document(scene)})


for _at, _row in enumerate(CREDENTIALS):
    _credential(
        *_row,
        secret=_row[0]
        in {
            "exec-with-environment",
            "auth-provider",
            "client-key",
            "password-of-old",
            "bootstrap-hub",
            "argocd-exec",
            "azure-json",
            "service-account-json",
        },
    )
