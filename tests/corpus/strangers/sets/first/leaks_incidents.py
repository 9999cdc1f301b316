"""Leaks that happened to others, moved to this boundary. `source` is the incident's public id."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

INCIDENTS = "published incidents"
join = pulumi.Output.concat


def _made(scene: Scene, name: str = "admin") -> Any:
    value = scene.password("cp", name).output("result")
    scene.secret("cp", name, {"password": value})
    return value


def _deployment(scene: Scene, **container: Any) -> None:
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "a", "image": "a:1", **container}]},
    }
    scene.object(
        "dp", "apps/v1:Deployment", "a", {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}}
    )


def _nested(text: bytes) -> bytes:
    return strings_of_json(json.loads(text)["applied"].encode())


@leak(
    INCIDENTS,
    "tsig-secret-among-arguments",
    "external-dns at the user's has the provider's TSIG key as an argument.",
    "kubernetes-sigs/external-dns#3213",
)
def _(scene: Scene) -> None:
    _deployment(scene, args=["--provider=rfc2136", join("--rfc2136-tsig-secret=", _made(scene, "tsig"))])


@leak(
    INCIDENTS,
    "tsig-secret-in-a-log",
    "A start's log line with the whole configuration is kept for the user.",
    "kubernetes-sigs/external-dns#941",
)
def _(scene: Scene) -> None:
    line = join(
        'level=info msg="config: {RFC2136TSIGKeyName:k RFC2136TSIGSecret:', scene.held("tsig"), ' Interval:1m0s}"'
    )
    scene.config_map("dp", "support", {"start.log": line})


@leak(
    INCIDENTS,
    "kerberos-password-among-arguments",
    "The password of the provider's DNS is an argument.",
    "kubernetes-sigs/external-dns#2702",
)
def _(scene: Scene) -> None:
    _deployment(scene, args=["--rfc2136-gss-tsig", join("--rfc2136-kerberos-password=", _made(scene, "kerberos"))])


@leak(
    INCIDENTS,
    "registry-key-of-txt-records",
    "The AES key of the provider's TXT records is in the user's values.",
    "kubernetes-sigs/external-dns#3790",
)
def _(scene: Scene) -> None:
    key = scene.cp.opaque("txt", 32)
    scene.held("txt", "aes", key)
    inputs = {"chart": "external-dns", "version": "1.19.0", "values": {"extraArgs": [f"--txt-encrypt-aes-key={key}"]}}
    scene.made("kubernetes:helm.sh/v3:Release", "external-dns", inputs, scene.options("dp"))


@leak(
    INCIDENTS,
    "dns-token-in-the-manifest",
    "The provider's DNS token stands in the user's Deployment.",
    "kubernetes-sigs/external-dns#2446",
)
def _(scene: Scene) -> None:
    token = scene.made(
        "cloudflare:index/apiToken:ApiToken",
        "dns",
        {"name": "x"},
        None,
        {"value": scene.cp.opaque("cf", 40)},
        ["value"],
        owner="cp",
    )
    _deployment(scene, env=[{"name": "CF_API_TOKEN", "value": token.output("value")}])


@leak(
    INCIDENTS,
    "cluster-secret-in-last-applied",
    "An annotation keeps what was applied, the cluster's credential with it.",
    "CVE-2023-40029",
    recover=each(_nested),
)
def _(scene: Scene) -> None:
    config = json.dumps({"stringData": {"config": scene.cp.opaque("argocd", 40)}})
    scene.held("argocd", "config", scene.cp.opaque("argocd", 40))
    notes = {"kubectl.kubernetes.io/last-applied-configuration": pulumi.Output.secret(json.dumps({"applied": config}))}
    scene.config_map("dp", "cluster", {"name": "platform"}, annotations=notes)


@leak(
    INCIDENTS,
    "repository-login-in-a-project",
    "A project that the user reads lists the provider's repository with its login.",
    "CVE-2025-55190",
    recover=each(after(b"https://git:", lambda t: t.partition(b"@")[0])),
)
def _(scene: Scene) -> None:
    url = join("https://git:", scene.held("git"), "@git.platform.example.com/mesh.git")
    spec = {"sourceRepos": [url], "destinations": [{"namespace": "shop", "server": "https://kubernetes.default.svc"}]}
    scene.object("dp", "argoproj.io/v1alpha1:AppProject", "shop", {"spec": spec})


@leak(
    INCIDENTS,
    "secret-values-in-an-error",
    "The text of a failed apply, with the Secret's value, is a condition's message.",
    "CVE-2025-23216",
)
def _(scene: Scene) -> None:
    message = join('error when patching: invalid value: "', _made(scene), '": must be base64')
    scene.object("dp", "argoproj.io/v1alpha1:Application", "mesh", {"status": {"conditions": [{"message": message}]}})


@leak(
    INCIDENTS,
    "secret-manifest-in-a-template",
    "A workflow's template at the user's has a whole Secret of the provider's.",
    "CVE-2026-28229",
    recover=each(strings_of_yaml),
)
def _(scene: Scene) -> None:
    token = scene.held("workflow")
    manifest = token.apply(lambda text: yaml.safe_dump({"kind": "Secret", "stringData": {"token": text}}))
    spec = {"templates": [{"name": "login", "resource": {"action": "apply", "manifest": manifest}}]}
    scene.object("dp", "argoproj.io/v1alpha1:WorkflowTemplate", "login", {"spec": spec})


@leak(
    INCIDENTS,
    "service-account-token-in-a-cluster-object",
    "The provider's token for a cluster is a field of its Cluster object.",
    "CVE-2021-36782",
)
def _(scene: Scene) -> None:
    kind = {"type": "kubernetes.io/service-account-token"}
    minted = scene.answered("cp", "v1:Secret", "cattle", kind, data={"token": scene.cp.jwt("cattle")})
    token = minted.output("data").apply(lambda data: (data or {}).get("token"))
    scene.object("dp", "management.cattle.io/v3:Cluster", "c", {"status": {"serviceAccountToken": token}})


@leak(
    INCIDENTS,
    "answers-of-a-cluster-template",
    "The answers to a template's questions, a cloud's key among them.",
    "CVE-2021-36783",
)
def _(scene: Scene) -> None:
    answers = {"answers": {"values": {"rancherKubernetesEngineConfig.cloudProvider.secretKey": _made(scene, "cloud")}}}
    scene.object("dp", "management.cattle.io/v3:Cluster", "c", {"spec": answers})


@leak(
    INCIDENTS,
    "encryption-key-in-an-applied-spec",
    "The key that encrypts the provider's etcd is in a spec that the user reads.",
    "CVE-2024-22032",
    recover=each(base64.b64decode),
)
def _(scene: Scene) -> None:
    key = base64.b64encode(scene.cp.opaque("etcd", 32).encode()).decode()
    scene.held("etcd-encryption", "key", key)
    provider = {"aescbc": {"keys": [{"name": "k", "secret": pulumi.Output.secret(key)}]}}
    scene.object(
        "dp",
        "management.cattle.io/v3:Cluster",
        "c",
        {"spec": {"appliedSpec": {"resources": [{"providers": [provider]}]}}},
    )


@leak(
    INCIDENTS,
    "cloud-key-in-an-application",
    "A cloud's access key is among an application's properties.",
    "kubevela/kubevela#6488",
)
def _(scene: Scene) -> None:
    answers = {"secret": scene.cp.opaque("aws", 40), "accessKeyId": "AKIAEXAMPLEEXAMPLE00"}
    key = scene.made("aws:iam/accessKey:AccessKey", "vela", {"user": "vela"}, None, answers, ["secret"], owner="cp")
    properties = {"AWS_SECRET_ACCESS_KEY": key.output("secret"), "name": "aws"}
    scene.object(
        "dp", "core.oam.dev/v1beta1:Application", "aws", {"spec": {"components": [{"properties": properties}]}}
    )


@leak(
    INCIDENTS,
    "bootstrap-data-with-the-authoritys-key",
    "A machine's user data has the control plane's CA key.",
    "kubernetes-sigs/cluster-api#1739",
    recover=each(base64.b64decode, strings_of_yaml),
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "kubernetes-ca").output("privateKeyPem")
    scene.secret("cp", "kubernetes-ca", {"tls.key": key})
    files = key.apply(
        lambda pem: base64.b64encode(yaml.safe_dump({"write_files": [{"content": pem}]}).encode()).decode()
    )
    scene.made("aws:ec2/instance:Instance", "node", {"ami": "a", "userDataBase64": files})


@leak(
    INCIDENTS,
    "values-of-a-release-in-outputs",
    "A release's values, a secret among them, are an output of the users' stack.",
    "pulumi/pulumi-kubernetes#2003",
    stack="data-plane",
)
def _(scene: Scene) -> None:
    values = {"env": [{"name": "EXAMPLE", "value": scene.held()}]}
    scene.object("dp", "v1:Namespace", "shop", {})
    pulumi.export("values", values)


@leak(
    INCIDENTS,
    "chart-that-puts-it-in-a-config-map",
    "A chart renders the admin's password into definitions.json of a ConfigMap.",
    "pulumi/pulumi-kubernetes#698",
    recover=each(lambda t: json.loads(t)["users"][0]["password"].encode()),
)
def _(scene: Scene) -> None:
    text = _made(scene).apply(lambda value: json.dumps({"users": [{"name": "admin", "password": value}]}))
    scene.config_map("dp", "rabbitmq", {"definitions.json": text})


@leak(
    INCIDENTS,
    "configuration-of-a-run-in-a-log",
    "The configuration of a stack's run, secrets in plain, is in a log for the user.",
    "pulumi/pulumi-kubernetes-operator#988",
    config=lambda cp, dp: {"mesh:dnsToken": cp.opaque("dns", 40)},
    recover=each(strings_of_json),
)
def _(scene: Scene) -> None:
    text = scene.config("mesh:dnsToken").apply(
        lambda value: json.dumps({"config": {"dnsToken": {"Value": value, "Secret": True}}})
    )
    scene.config_map("dp", "last-run", {"summary.json": text})


@leak(
    INCIDENTS,
    "key-in-a-controllers-message",
    "A failed certificate update's whole PEM is in an annotation.",
    "haproxytech/kubernetes-ingress#787",
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "edge").output("privateKeyPem")
    scene.secret("cp", "edge", {"tls.key": key})
    notes = {"haproxy.org/last-error": join("set ssl cert <<\n", scene.cp.certificate("edge"), key, "\nNO_START_LINE")}
    scene.object("dp", "networking.k8s.io/v1:Ingress", "shop", {"metadata": {"annotations": notes}, "spec": {}})


@leak(
    INCIDENTS,
    "admin-key-in-a-controllers-configuration",
    "The default admin key of the provider's gateway is in a config.yaml.",
    "apache/apisix-helm-chart#396",
    recover=each(strings_of_yaml),
)
def _(scene: Scene) -> None:
    text = scene.held("apisix").apply(lambda value: yaml.safe_dump({"apisix": {"default_cluster_admin_key": value}}))
    scene.config_map("dp", "ingress-controller", {"config.yaml": text})


@leak(
    INCIDENTS,
    "remote-secret-the-wrong-way",
    "create-remote-secret was run for the provider's cluster, and applied at the user's.",
    "istio/istio#16392",
    recover=each(lambda t: yaml.safe_load(t)["users"][0]["user"]["token"].encode()),
)
def _(scene: Scene) -> None:
    labels = {"istio/multiCluster": "true"}
    data = {"platform": pulumi.Output.secret(scene.kubeconfigs["cp"])}
    scene.object("cp", "v1:Namespace", "istio-system", {})
    scene.secret("dp", "istio-remote-secret-platform", data, labels=labels)


@leak(
    INCIDENTS,
    "cacerts-at-the-remote",
    "istiod is to read its authority from the user's cluster, so the key is put there.",
    "istio/istio#27859",
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "mesh-ca").output("privateKeyPem")
    scene.secret("cp", "backup", {"ca-key.pem": key})
    data = {"ca-key.pem": key, "ca-cert.pem": scene.cp.certificate("mesh-ca", authority=True)}
    scene.secret("dp", "cacerts", data, namespace="istio-system")


@leak(
    INCIDENTS,
    "connection-details-patched-in",
    "A composition patches a connection secret's password into the user's claim.",
    "crossplane/crossplane#2772",
)
def _(scene: Scene) -> None:
    connection = scene.answered(
        "cp",
        "v1:Secret",
        "conn",
        {"type": "connection.crossplane.io/v1alpha1"},
        data={"password": scene.cp.opaque("conn")},
    )
    password = connection.output("data").apply(lambda data: (data or {}).get("password"))
    scene.object("dp", "database.example.org/v1:Claim", "db", {"spec": {"parameters": {"rootPassword": password}}})


@leak(
    INCIDENTS,
    "store-credentials-in-a-reconcile-error",
    "A store's error shows the access key; it is the user's ExternalSecret's status.",
    "external-secrets/external-secrets#2401",
    recover=each(after(b"SecretAccessKey: ")),
)
def _(scene: Scene) -> None:
    message = join("IncompleteSignature: {UserName: eso, SecretAccessKey: ", scene.held("eso"), " }")
    scene.object(
        "dp", "external-secrets.io/v1:ExternalSecret", "db", {"status": {"conditions": [{"message": message}]}}
    )
