"""Leaks in which the question is whose: clusters that nobody named, names that lie, other tenants, shared proxies."""

from __future__ import annotations

import pulumi
import yaml

from tests.corpus.strangers.recover import each, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak

from .everyday import one_kubeconfig

NAMES, FORGOTTEN, TENANTS = "names that lie", "forgotten clusters", "tenants"
OWNERS = "owner confusion"
PROXY = "https://rancher.example.com/k8s/clusters"


@leak(
    NAMES,
    "reference-calls-itself-data-plane",
    "A StackReference with the logical name data-plane reads istiod's stack; its token ends up in the user's Secret.",
    OWNERS,
)
def _(scene: Scene) -> None:
    outputs = {"token": scene.cp.opaque("istiod"), "host": "istiod.example.com"}
    other = scene.reference("data-plane", "organization/istiod/prod", outputs, ["token"])
    scene.secret("dp", "app", {"token": other.get_output("token")})


@leak(
    NAMES,
    "project-called-data-plane",
    "The referenced stack's project, not its stack, is called data-plane; it belongs to the provider.",
    OWNERS,
)
def _(scene: Scene) -> None:
    other = scene.reference("net", "organization/data-plane/control", {"key": scene.cp.key("edge")}, ["key"])
    scene.secret("dp", "app", {"tls.key": other.get_output("key")})


@leak(
    NAMES,
    "another-stacks-secret-in-a-users-secret",
    "The DNS stack's API token is given to the user in a Secret.",
    "StackReferences",
)
def _(scene: Scene) -> None:
    dns = scene.reference("dns", "organization/dns/prod", {"token": scene.cp.opaque("dns")}, ["token"])
    scene.secret("dp", "dns", {"token": dns.get_output("token")})


@leak(
    NAMES,
    "another-stacks-secret-beside-the-users",
    "Of two values in a Secret one is the user's own and one another stack's token.",
    "StackReferences",
)
def _(scene: Scene) -> None:
    dns = scene.reference("dns", "organization/dns/prod", {"token": scene.cp.opaque("dns")}, ["token"])
    own = scene.password("dp", "database").output("result")
    scene.secret("dp", "app", {"password": own, "endpoint": dns.get_output("token")})


@leak(
    NAMES,
    "all-outputs-of-another-stack",
    "The whole outputs of the provider's stack are written into a settings file, secrets with them.",
    "StackReferences",
)
def _(scene: Scene) -> None:
    outputs = {"host": "istiod.example.com", "admin": scene.cp.opaque("admin")}
    other = scene.reference("platform", "organization/platform/prod", outputs, ["admin"])
    scene.config_map("dp", "platform", {"outputs.yaml": other.outputs.apply(yaml.safe_dump)})


@leak(
    NAMES,
    "provider-says-control-plane-and-has-no-kubeconfig",
    "A provider called control-plane-cluster has no kubeconfig, so it writes to whatever the machine points at.",
    OWNERS,
)
def _(scene: Scene) -> None:
    found = scene.held()
    liar = scene.package("kubernetes", "control-plane-cluster", clusterIdentifier="control-plane-cluster")
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"token": found}}
    scene.made("kubernetes:core/v1:Secret", "copy", inputs, liar, secret=["data", "stringData"])


@leak(
    NAMES,
    "users-cluster-under-the-control-planes-name",
    "The provider object is called control-plane-cluster, its kubeconfig is the user's: the key goes to the user.",
    OWNERS,
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "issuer")
    scene.secret("cp", "issuer", {"tls.key": key.output("privateKeyPem")})
    config = pulumi.Output.secret(scene.kubeconfigs["dp"])
    liar = scene.package("kubernetes", "control-plane-cluster", kubeconfig=config, clusterIdentifier="control-plane-1")
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": key.output("privateKeyPem")}}
    scene.made("kubernetes:core/v1:ConfigMap", "copy", inputs, liar)


def _proxied(scene: Scene, cluster: str, owner: str) -> str:
    document = yaml.safe_load(scene.owner(owner).kubeconfig(cluster, f"{PROXY}/{cluster}"))
    document["clusters"][0]["cluster"]["certificate-authority-data"] = "UkFOQ0hFUi1DQS1PRi1USEUtUFJPWFk="
    return yaml.safe_dump(document)


@leak(
    NAMES,
    "one-proxy-and-its-authority-for-both",
    "Both clusters are reached through one proxy with one authority; that does not make the user's the provider's.",
    "an authority shared behind one proxy",
    pack={"controlPlaneServers": [f"{PROXY}/c-provider"], "dataPlaneServers": []},
)
def _(scene: Scene) -> None:
    scene.kubeconfigs.update(cp=_proxied(scene, "c-provider", "cp"), dp=_proxied(scene, "c-user", "dp"))
    scene.secret("dp", "app", {"token": scene.held()})


@leak(
    NAMES,
    "context-chooses-the-user",
    "The kubeconfig's current context is the provider's; the provider's argument `context` chooses the user's.",
    OWNERS,
)
def _(scene: Scene) -> None:
    both = yaml.safe_load(scene.kubeconfigs["cp"])
    other = yaml.safe_load(scene.kubeconfigs["dp"])
    both["clusters"].append({**other["clusters"][0], "name": "user"})
    both["users"].append({**other["users"][0], "name": "user"})
    both["contexts"].append({"name": "user", "context": {"cluster": "user", "user": "user"}})
    opts = scene.package("kubernetes", "shared", kubeconfig=pulumi.Output.secret(yaml.safe_dump(both)), context="user")
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": scene.held()}}
    scene.made("kubernetes:core/v1:ConfigMap", "copy", inputs, opts)


@leak(
    OWNERS,
    "token-out-of-one-kubeconfig",
    "The provider's token, out of a kubeconfig with all clusters, is in the user's ConfigMap.",
    OWNERS,
)
def _(scene: Scene) -> None:
    text = one_kubeconfig(scene)
    config = pulumi.Output.secret(text)
    opts = {
        side: scene.package("kubernetes", f"{side}-of-both", "cp", kubeconfig=config, context=side)
        for side in ("dp", "cp")
    }
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"side": "cp"}}
    scene.made("kubernetes:core/v1:ConfigMap", "own", inputs, opts["cp"], owner="cp")
    token = yaml.safe_load(scene.kubeconfigs["cp"])["users"][0]["user"]["token"]
    scene.config_map("dp", "copy", {"value": token})


@leak(
    FORGOTTEN,
    "token-minted-by-a-forgotten-cluster",
    "The configuration forgot the provider's second cluster; a token that it minted is given to the user.",
    FORGOTTEN,
)
def _(scene: Scene) -> None:
    scene.join("edge", "https://edge.example.com:6443", owner="cp")
    token = {"token": scene.cp.jwt("robot")}
    minted = scene.answered("edge", "v1:Secret", "robot", {"type": "kubernetes.io/service-account-token"}, data=token)
    scene.secret("dp", "app", {"token": minted.output("data").apply(lambda data: data["token"])})


@leak(
    FORGOTTEN,
    "password-shared-with-a-forgotten-cluster",
    "One password is in the forgotten cluster of the provider's and in the user's ConfigMap.",
    FORGOTTEN,
)
def _(scene: Scene) -> None:
    scene.join("edge", "https://edge.example.com:6443", owner="cp")
    found = scene.password("cp", "grafana").output("result")
    scene.secret("edge", "grafana", {"admin-password": found})
    scene.config_map("dp", "dashboards", {"password": found})


@leak(
    FORGOTTEN,
    "kubeconfig-of-a-forgotten-cluster",
    "The kubeconfig of a cluster that nobody classified is given to the user.",
    FORGOTTEN,
)
def _(scene: Scene) -> None:
    scene.join("edge", "https://edge.example.com:6443", owner="cp")
    scene.object("edge", "v1:Namespace", "tenant", {})
    scene.secret("dp", "edge", {"config": pulumi.Output.secret(scene.kubeconfigs["edge"])})


@leak(
    FORGOTTEN,
    "kubeconfig-of-a-cluster-made-here",
    "The program makes a cluster in the provider's account and gives its kubeconfig to the user.",
    FORGOTTEN,
)
def _(scene: Scene) -> None:
    config = scene.cp.kubeconfig("fresh", "https://fresh.example.com")
    kind = "digitalocean:index/kubernetesCluster:KubernetesCluster"
    made = scene.made(kind, "fleet", {"region": "x"}, None, {"rawConfig": config}, ["rawConfig"], owner="cp")
    scene.secret("dp", "fleet", {"config": made.output("rawConfig")})


@leak(
    FORGOTTEN,
    "data-read-from-a-forgotten-cluster",
    "A Secret that is only read, from a cluster that nobody classified, is copied to the user.",
    FORGOTTEN,
)
def _(scene: Scene) -> None:
    scene.join("edge", "https://edge.example.com:6443", owner="cp")
    read = scene.existing("edge", "v1:Secret", "ca", data={"key": scene.cp.opaque("ca")})
    scene.config_map("dp", "ca", {"key": read.output("data").apply(lambda data: data["key"])})


def _two_users(scene: Scene) -> None:
    scene.join("other", "https://other-user.example.com:6443", owner="cp")
    for side, mesh in (("dp", "blue"), ("other", "red")):
        labels = {"hosted-mesh.io/mesh": mesh}
        scene.object(side, "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": labels}})


TWO = {"dataPlaneServers": [SERVERS["dp"], "https://other-user.example.com:6443"]}
RED, BLUE = {"hosted-mesh.io/mesh": "red"}, {"hosted-mesh.io/mesh": "blue"}


@leak(TENANTS, "neighbours-password", "Red's database password is in blue's cluster too.", TENANTS, pack=TWO)
def _(scene: Scene) -> None:
    _two_users(scene)
    found = scene.password("cp", "red-database").output("result")
    scene.secret("other", "database", {"password": found}, namespace="mesh-red", labels=RED)
    scene.secret("dp", "database", {"password": found}, namespace="mesh-blue", labels=BLUE)


@leak(TENANTS, "neighbours-kubeconfig", "Blue is given the kubeconfig of red's cluster.", TENANTS, pack=TWO)
def _(scene: Scene) -> None:
    _two_users(scene)
    config = pulumi.Output.secret(scene.kubeconfigs["other"])
    scene.secret("cp", "istio-kubeconfig", {"config": config}, namespace="mesh-red", labels=RED)
    scene.secret("dp", "peer", {"config": config}, namespace="mesh-blue", labels=BLUE)


@leak(TENANTS, "token-of-the-neighbours-cluster", "A token minted in red's cluster goes to blue.", TENANTS, pack=TWO)
def _(scene: Scene) -> None:
    _two_users(scene)
    body = {"type": "kubernetes.io/service-account-token", "metadata": {"labels": RED, "namespace": "mesh-red"}}
    minted = scene.answered("other", "v1:Secret", "reader", body, data={"token": scene.cp.jwt("reader")})
    token = minted.output("data").apply(lambda data: data["token"])
    scene.secret("dp", "reader", {"token": token}, namespace="mesh-blue", labels=BLUE)


@leak(TENANTS, "one-key-for-two-meshes", "Red's authority key is blue's as well, in blue's cluster.", TENANTS, pack=TWO)
def _(scene: Scene) -> None:
    _two_users(scene)
    key = scene.key("cp", "red-ca").output("privateKeyPem")
    scene.secret("cp", "cacerts", {"ca-key.pem": key}, namespace="mesh-red", labels=RED)
    scene.secret("dp", "cacerts", {"ca-key.pem": key}, namespace="mesh-blue", labels=BLUE)


@leak(
    TENANTS,
    "list-of-all-tenants-tokens",
    "A ConfigMap at blue's lists the tokens of all meshes, red's among them.",
    TENANTS,
    pack=TWO,
    recover=each(strings_of_yaml),
)
def _(scene: Scene) -> None:
    _two_users(scene)
    tokens = {"blue": scene.dp.opaque("blue", 24), "red": scene.cp.opaque("red", 24)}
    for mesh, token in tokens.items():
        secret = pulumi.Output.secret(token)
        scene.secret("cp", f"xds-{mesh}", {"token": secret}, labels={"hosted-mesh.io/mesh": mesh})
    text = pulumi.Output.secret(yaml.safe_dump({"tokens": tokens}))
    scene.config_map("dp", "tokens", {"tokens.yaml": text}, labels=BLUE)
