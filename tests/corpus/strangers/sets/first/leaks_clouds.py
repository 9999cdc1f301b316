"""Leaks of what the provider's cloud account, stores and custom resources give out, unknown until the update."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi

from tests.corpus.strangers.recover import after, each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

CLOUD, STATUS = "cloud account's secrets", "custom resources' status"
ROWS: list[tuple[str, str, str, str]] = [
    ("access-key", "An access key of the provider's cloud account", "aws:iam/accessKey:AccessKey", "secret"),
    ("smtp-password", "The mail password of the provider's account", "aws:iam/accessKey:AccessKey", "sesSmtpPasswordV4"),
    ("database-password", "The password of the provider's database", "aws:rds/cluster:Cluster", "masterPassword"),
    ("secret-version", "A secret of the provider's secrets manager", "aws:secretsmanager/secretVersion:SecretVersion", "secretString"),
    ("parameter", "A parameter of the provider's account", "aws:ssm/parameter:Parameter", "value"),
    ("dns-token", "The token by which the provider writes DNS", "cloudflare:index/apiToken:ApiToken", "value"),
    ("tunnel-secret", "The secret of the provider's tunnel", "cloudflare:index/zeroTrustTunnelCloudflared:ZeroTrustTunnelCloudflared", "tunnelSecret"),
    ("service-account-key", "The key of a service account of the provider's", "gcp:serviceaccount/key:Key", "privateKey"),
    ("storage-key", "The key of the provider's storage account", "azure-native:storage:StorageAccountKeys", "primaryKey"),
    ("application-password", "The password of the provider's application", "azuread:index/applicationPassword:ApplicationPassword", "value"),
    ("vault-secret-id", "The secret id by which the provider logs in at its Vault", "vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId", "secretId"),
    ("onepassword-item", "An item of the provider's password store", "onepassword:index/item:Item", "password"),
    ("github-token", "A deploy key of the provider's repository", "github:index/appInstallationToken:AppInstallationToken", "token"),
    ("registry-password", "The login of the provider's registry", "azure-native:containerregistry:Token", "password"),
    ("database-role", "The password of a role in the provider's database", "postgresql:index/role:Role", "password"),
    ("kafka-key", "The key of the provider's message bus", "confluentcloud:index/apiKey:ApiKey", "secret"),
]  # fmt: skip


def _row(name: str, what: str, kind: str, output: str, at: int) -> None:
    sink = ("ConfigMap", "Secret", "Secret and a host name", "environment")[at % 4]

    @leak(CLOUD, f"{name}-to-user", f"{what} is given to the user ({sink}).", "secrets of the provider's cloud account")
    def _(scene: Scene) -> None:
        answers = {output: scene.cp.opaque(name), "arn": "arn:aws:x:1"}
        made = scene.made(kind, "account", {"name": "platform"}, None, answers, [output], owner="cp")
        value = made.output(output)
        if sink == "ConfigMap":
            scene.config_map("dp", "app", {"value": value})
        elif sink == "environment":
            pod = {"spec": {"containers": [{"name": "a", "image": "a:1", "env": [{"name": "X", "value": value}]}]}}
            scene.object("dp", "v1:Pod", "app", pod)
        else:
            scene.secret("dp", "app", {"value": value, **({"host": "db.example.com"} if at % 4 == 2 else {})})


for _at, _given in enumerate(ROWS):
    _row(*_given, at=_at)


@leak(
    CLOUD,
    "database-url-put-together",
    "A URL for the user's application has the password of the provider's database.",
    "database passwords",
    recover=each(after(b"admin:", lambda text: text.partition(b"@")[0])),
)
def _(scene: Scene) -> None:
    password = scene.password("cp", "database").output("result")
    scene.made("aws:rds/instance:Instance", "instance", {"password": password, "username": "admin"}, owner="cp")
    url = pulumi.Output.concat("postgres://admin:", password, "@db.platform.example.com/mesh")
    scene.secret("dp", "app", {"DATABASE_URL": url})


@leak(
    CLOUD,
    "looked-up-in-a-store",
    "A data source reads the provider's secrets manager; its answer goes into the user's ConfigMap.",
    "stores",
)
def _(scene: Scene) -> None:
    token = "aws:secretsmanager/getSecretVersion:getSecretVersion"
    found = scene.invoke(token, {"secretString": scene.cp.opaque("stored", 40)})
    scene.config_map("dp", "app", {"upstream": found["secretString"]})


@leak(
    CLOUD,
    "cloud-credentials-of-the-deployer",
    "The deployer's own cloud key, from the configuration of the cloud's provider, is in the user's Secret.",
    "cloud account",
    config=lambda cp, dp: {"aws:secretKey": cp.opaque("aws", 40)},
)
def _(scene: Scene) -> None:
    scene.secret("dp", "backup", {"key": scene.config("aws:secretKey")})


@leak(
    CLOUD,
    "arguments-of-the-clouds-provider",
    "A DNS provider of the provider's account takes a token, and the user's external-dns takes the same one.",
    "DNS tokens",
)
def _(scene: Scene) -> None:
    token = pulumi.Output.secret(scene.cp.opaque("cloudflare", 40))
    opts = scene.package("cloudflare", "zones", owner="cp", apiToken=token)
    scene.made(
        "cloudflare:index/dnsRecord:DnsRecord",
        "istiod",
        {"zoneId": "z", "name": "istiod", "content": "192.0.2.1"},
        opts,
    )
    scene.secret("dp", "external-dns", {"credential": token})


STATUSES: list[tuple[str, str, str, str]] = [
    ("crossplane-connection", "database.example.org/v1:PostgreSQLInstance", "connectionPassword", "crossplane/crossplane#2772"),
    ("rancher-cluster-token", "management.cattle.io/v3:Cluster", "serviceAccountToken", "CVE-2021-36782"),
    ("cluster-api-bootstrap", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfig", "bootstrapData", "kubernetes-sigs/cluster-api#1739"),
    ("operator-admin-password", "grafana.integreatly.org/v1beta1:Grafana", "adminPassword", "custom resources' status"),
    ("knative-internal-token", "serving.knative.dev/v1:Service", "internalToken", "custom resources' status"),
]  # fmt: skip


def _status(name: str, kind: str, field: str, source: str) -> None:
    short = kind.rpartition(":")[2]
    why = f"The status of a {short} in the provider's cluster has a credential in plain; it is copied to the user."

    @leak(STATUS, f"status-{name}", why, source)
    def _(scene: Scene) -> None:
        status = {"ready": True, "atProvider": {field: scene.cp.opaque(name)}}
        made = scene.answered("cp", kind, name, {"spec": {"size": 1}}, status=status)
        value = made.output("status").apply(lambda found: found["atProvider"][field])
        scene.config_map("dp", "app", {"value": value})


for _entry in STATUSES:
    _status(*_entry)


@leak(
    STATUS,
    "status-in-a-users-secret",
    "The status's credential is put into a Secret of the user's, beside a password of the user's own.",
    "custom resources' status",
)
def _(scene: Scene) -> None:
    status = {"dsn": f"postgres://a:{scene.cp.opaque('dsn')}@db/x"}
    made = scene.answered("cp", "acid.zalan.do/v1:postgresql", "db", {"spec": {}}, status=status)
    own = scene.password("dp", "shop").output("result")
    scene.secret("dp", "app", {"own": own, "dsn": made.output("status").apply(lambda found: found["dsn"])})


@leak(
    STATUS,
    "whole-status-as-json",
    "The whole status of a custom resource of the provider's is kept at the user's, for information.",
    "custom resources' status",
    recover=each(lambda text: base64.b64decode(json.loads(text)["kubeconfig"])),
)
def _(scene: Scene) -> None:
    config = base64.b64encode(scene.cp.kubeconfig("inner", "https://inner.example.com").encode()).decode()
    status: dict[str, Any] = {"phase": "Provisioned", "kubeconfig": config}
    made = scene.answered("cp", "controlplane.cluster.x-k8s.io/v1beta1:KThreesControlPlane", "k", {}, status=status)
    scene.config_map("dp", "info", {"status.json": made.output("status").apply(json.dumps)})
