"""Harmless: credentials that are made for one tenant and kept nowhere else, or come from the tenant itself."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, minted, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import USERS_STACK, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import apply, b64, drawn, noise, pull_secret

from .world import (
    BIRCH,
    CORE,
    DOMAIN,
    HAZEL,
    REGION,
    ROWAN,
    TENANTS,
    TOLD,
    Addon,
    account,
    hubs,
    issued_to_us,
    platform,
    rows,
    secret_object,
    theirs,
)

MADE, BROUGHT = "sixteenth: made for a tenant", "sixteenth: brought by a tenant"

# Made -----------------------------------------------------------------------------------------------------------------


@clean(MADE, "sixteenth-own-administrators-in-a-loop", "Each tenant of the file has a Grafana with a generated administrator of its own; the hub's Grafana has another.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    Addon(scene, "cp", "grafana", {"adminUser": "admin", "adminPassword": hubs(scene, "grafana")})
    for row in rows(scene):
        Addon(scene, row["cluster"], "grafana", {"adminUser": "admin", "adminPassword": theirs(scene, row["name"], "grafana-admin"), "replicas": row["replicas"]})  # fmt: skip


def _two(scene: Scene) -> None:
    platform(scene)
    for row in rows(scene, TENANTS):
        scene.secret(row["cluster"], "queue", {"user": row["name"], "password": theirs(scene, row["name"], "queue")})


@clean(MADE, "sixteenth-own-login-of-a-tenant-that-joins", "A third tenant joins by a second update, and gets a queue's password that is generated for it.", before=_two)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    for row in rows(scene, TENANTS + ROWAN):
        scene.secret(row["cluster"], "queue", {"user": row["name"], "password": theirs(scene, row["name"], "queue")})


@clean(MADE, "sixteenth-own-passphrase-of-backups", "Backups of birch go to its own bucket with a passphrase of random bytes that was made for it; the hub's backups have another.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    hub, birch = raw(scene, "cp", "quarry-restic"), raw(scene, "dp", "birch-restic")
    for side, key, host in (("cp", hub, DOMAIN), ("dp", birch, BIRCH)):
        release(scene, side, "restic", {"repository": f"s3:https://s3.{host}/backups", "password": key.output("base64"), "schedule": "0 2 * * *"})  # fmt: skip


@clean(MADE, "sixteenth-own-tunnel-between-two-gateways", "Both ends of a tunnel are birch's machines: a private key for each, and each other's public one as it was printed.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    for at, other in ((1, 2), (2, 1)):
        key = raw(scene, "dp", f"birch-wg-{at}")
        file = pulumi.Output.format("[Interface]\nAddress = 10.9.0.{0}/32\nPrivateKey = {1}\n\n[Peer]\nPublicKey = {2}\nEndpoint = gw{3}.{4}:51820\nAllowedIPs = 10.9.0.{3}/32\n", at, key.output("base64"), b64(noise(f"birch wg {other}", 32)), other, BIRCH)  # fmt: skip
        scene.secret("dp", f"wg-{at}", {"wg0.conf": file}, namespace="vpn")


@clean(MADE, "sixteenth-own-users-of-its-own-broker", "hazel has a broker in its own cluster; users and lines of JAAS are made for it, with generated passwords.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    rows(scene)
    for user in ("orders", "audit"):
        password = theirs(scene, "hazel", f"kafka-{user}")
        home = scene.secret("hazel", f"kafka-{user}", {"password": password}, namespace="kafka")
        spec = {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": f"kafka-{user}", "key": "password"}}}}}  # fmt: skip
        scene.object("hazel", "kafka.strimzi.io/v1beta2:KafkaUser", user, {"spec": spec}, depends_on=[home])
        line = pulumi.Output.format('org.apache.kafka.common.security.scram.ScramLoginModule required username="{0}" password="{1}";', user, password)  # fmt: skip
        scene.secret("hazel", f"jaas-{user}", {"sasl.jaas.config": line})


@clean(MADE, "sixteenth-own-authority-of-a-tenant", "birch's cluster has an authority of its own for cert-manager, and a certificate by it; the hub's authority stays at the hub.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub_key, _hub_cert = pair(scene, "cp", "quarry-ca", authority=True)
    scene.secret("cp", "ca", {"tls.key": hub_key.output("privateKeyPem")}, namespace="cert-manager")
    key, certificate = pair(scene, "dp", "birch-ca", authority=True)
    scene.secret("dp", "birch-ca", {"tls.crt": certificate.output("certPem"), "tls.key": key.output("privateKeyPem")}, "kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    leaf, signed = issued(scene, "dp", "birch-gateway", key, certificate, "birch-ca")
    scene.secret("dp", "birch-gateway", {"tls.crt": signed.output("certPem"), "tls.key": leaf.output("privateKeyPem")}, "kubernetes.io/tls")  # fmt: skip


@clean(MADE, "sixteenth-own-key-of-a-delegated-zone", "The server of birch's delegated zone and its cert-manager share a key that is made for this zone; the parent's stays at the hub.")  # fmt: skip
def _(scene: Scene) -> None:
    parent, key = raw(scene, "cp", "quarry-zone"), raw(scene, "dp", "birch-zone")
    scene.secret("cp", "bind-keys", {"quarry.key": parent.output("base64")}, namespace="dns")
    scene.secret("dp", "tsig", {"key": key.output("base64")}, namespace="cert-manager")
    release(scene, "dp", "bind", {"zones": [BIRCH], "keys": [{"name": "birch", "algorithm": "hmac-sha256", "secret": key.output("base64")}]})  # fmt: skip


@clean(MADE, "sixteenth-own-values-of-a-fake-store", "Tests of birch read a store of fixed values; they were generated for the tests.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    data = [{"key": f"/test/{name}", "value": theirs(scene, "birch", f"test-{name}", 20)} for name in ("db", "cache", "mail")]  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:SecretStore", "tests", {"spec": {"provider": {"fake": {"data": data}}}})


@clean(MADE, "sixteenth-own-secret-reflected-to-its-namespaces", "A reflector copies birch's Secret to namespaces of birch's cluster; the login in it is of birch's registry and generated.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    Addon(scene, "cp", "registry", {"admin": hubs(scene, "registry")})
    login = pull_secret(f"registry.{BIRCH}", "puller", theirs(scene, "birch", "registry"))
    notes = {"replicator.v1.mittwald.de/replicate-to": "shop,pay", "reflector.v1.k8s.emberstack.com/reflection-allowed": "true"}  # fmt: skip
    scene.secret("dp", "images", {".dockerconfigjson": login}, "kubernetes.io/dockerconfigjson", annotations=notes)


@clean(MADE, "sixteenth-own-proxy-password-by-a-transformation", "A transformation adds birch's proxy login to Deployments of birch's component; the hub's component has no transformation.")  # fmt: skip
def _(scene: Scene) -> None:
    login = theirs(scene, "birch", "proxy")

    def with_proxy(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.endswith(":Release"):
            return None
        proxy = pulumi.Output.format("http://birch:{0}@proxy.{1}:3128", login, BIRCH)
        return pulumi.ResourceTransformationResult({**given, "values": {**given["values"], "httpsProxy": proxy}}, args.opts)  # fmt: skip

    box = pulumi.ComponentResource("quarry:index:Apps", "birch-apps", None, pulumi.ResourceOptions(transformations=[with_proxy]))  # fmt: skip
    release(scene, "cp", "console", {"admin": hubs(scene, "console")})
    for chart in ("cart", "pay"):
        release(scene, "dp", chart, {"replicas": 2}, parent=box)


@clean(MADE, "sixteenth-own-join-token-in-cloud-init", "Machines of hazel join hazel's cluster by a token that was made for it; the hub's nodes have another.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    issued_to_us(scene, "nodes", "token", "K10")
    token = theirs(scene, "hazel", "nodes", 40)
    data = token.apply(lambda found: b64("#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/k3s/token", "content": found}], "runcmd": [f"k3s agent --server https://k8s.{HAZEL}:6443 --token-file /etc/k3s/token"]})))  # fmt: skip
    account(scene, "hazel", "aws:ec2/launchTemplate:LaunchTemplate", "nodes", {"imageId": "ami-0c1d", "instanceType": "m7g.large", "userData": data}, region=REGION)  # fmt: skip


@clean(MADE, "sixteenth-own-secret-of-a-function", "A function in birch's account checks webhooks by a secret that is generated for it; the hub's webhooks have another.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    hubs(scene, "hooks", "secret", 40)
    variables = {"HOOK_SECRET": theirs(scene, "birch", "hooks", 40), "MESH": f"https://mesh.{DOMAIN}", "LOG_LEVEL": "info"}  # fmt: skip
    account(scene, "birch", "aws:lambda/function:Function", "hooks", {"runtime": "nodejs22.x", "handler": "index.handler", "environment": {"variables": variables}}, region=REGION)  # fmt: skip


@clean(MADE, "sixteenth-own-headers-percent-encoded", "Agents of hazel send to hazel's own collector, by a generated login in percent-encoded headers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    rows(scene)
    platform(scene)
    headers = theirs(scene, "hazel", "otlp").apply(lambda found: "authorization=" + urllib.parse.quote("Basic " + b64(f"agent:{found}")))  # fmt: skip
    deployment(scene, "hazel", "collector", {"env": [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": f"https://otlp.{HAZEL}"}, {"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": headers}]})  # fmt: skip


@clean(MADE, "sixteenth-own-token-minted-in-its-cluster", "A token that birch's cluster minted for its deployer goes into birch's own Argo CD; the hub minted one for itself.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "in-cluster", {"token": minted(scene, "cp", "argo-hub")}, namespace="argocd")
    config = apply(minted(scene, "dp", "argo-birch"), lambda found: json.dumps({"bearerToken": found, "tlsClientConfig": {"insecure": False}}))  # fmt: skip
    scene.secret("dp", "in-cluster", {"name": "in-cluster", "server": "https://kubernetes.default.svc", "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@clean(MADE, "sixteenth-own-leaf-of-its-own-bus", "birch's bus and its leaf are in birch's cluster; users of it have generated passwords in one rendered file.")  # fmt: skip
def _(scene: Scene) -> None:
    hubs(scene, "nats-system")
    passwords = pulumi.Output.all(orders=theirs(scene, "birch", "nats-orders"), leaf=theirs(scene, "birch", "nats-leaf"))  # fmt: skip
    conf = passwords.apply(lambda found: "authorization {\n  users = [\n" + "".join(f'    {{ user: {user}, password: "{password}" }}\n' for user, password in sorted(found.items())) + "  ]\n}\n")  # fmt: skip
    scene.secret("dp", "nats-conf", {"nats.conf": conf}, namespace="nats")


# Brought --------------------------------------------------------------------------------------------------------------

SECTIONS = {"birch": ("birch mail", "dp"), "hazel": ("hazel mail", "dp"), "platform": ("quarry mail", "cp")}


@clean(BROUGHT, "sixteenth-sections-of-one-object", "One object of settings has a section per tenant and one of the platform's; each cluster gets its own, and the hub the platform's.", config=lambda cp, dp: {"mesh:mail": json.dumps({owner: {"user": owner, "password": {"cp": cp, "dp": dp}[side].opaque(name, 32)} for owner, (name, side) in SECTIONS.items()})})  # fmt: skip
def _(scene: Scene) -> None:
    mail = secret_object(scene, "mesh:mail")
    for owner, side in (("platform", "cp"), ("birch", "dp"), ("hazel", rows(scene)[1]["cluster"])):
        section = mail[owner]
        scene.secret(side, "mail", {"user": section["user"], "password": section["password"]}, namespace="mail")


@clean(BROUGHT, "sixteenth-tenants-key-of-its-monitoring", "birch has typed its own key of the monitoring service into its section of the configuration; the agent in birch's cluster has it.", pack=TOLD, config=lambda cp, dp: {"birch:datadogKey": dp.opaque("birch datadog", 32), "quarry:datadogKey": cp.opaque("quarry datadog key", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, key in (("cp", "quarry:datadogKey"), ("dp", "birch:datadogKey")):
        release(scene, side, "datadog", {"datadog": {"apiKey": scene.config(key), "site": "datadoghq.example.com", "clusterName": key.partition(":")[0]}})  # fmt: skip


@clean(BROUGHT, "sixteenth-tenants-stack-gives-its-database", "The connection of birch's database comes from a stack of birch's and goes to birch's cluster; the core stack is only asked for an address.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    data = scene.reference("data", USERS_STACK, {"host": f"pg.{BIRCH}", "password": scene.dp.opaque("birch pg", 32, LETTERS)}, ["password"])  # fmt: skip
    core = scene.reference("core", CORE, {"xds": f"xds.{DOMAIN}:15012", "rootPassword": scene.cp.opaque("quarry core root", 32, LETTERS)}, ["rootPassword"])  # fmt: skip
    url = pulumi.Output.format("postgresql://shop:{0}@{1}/shop", data.get_output("password"), data.get_output("host"))
    deployment(scene, "dp", "shop", {"env": [{"name": "DATABASE_URL", "value": url}, {"name": "XDS", "value": core.get_output("xds")}]})  # fmt: skip


@clean(BROUGHT, "sixteenth-tenants-registry-token", "birch's token for birch's registry is in the configuration under its name, and becomes its pull Secret.", config=lambda cp, dp: {"birch:registryToken": dp.opaque("birch registry", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    scene.secret("dp", "pull", {".dockerconfigjson": pull_secret(f"registry.{BIRCH}", "birch", scene.config("birch:registryToken"))}, "kubernetes.io/dockerconfigjson", namespace="shop")  # fmt: skip


@clean(BROUGHT, "sixteenth-copied-between-namespaces-of-a-tenant", "A Secret that exists in birch's cluster is read there and copied to another namespace of the same cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    found = scene.existing("dp", "v1:Secret", "shop-tls", data={"tls.crt": b64(scene.dp.certificate("shop")), "tls.key": b64(scene.dp.key("shop"))})  # fmt: skip
    scene.object("dp", "v1:Secret", "shop-tls-copy", {"data": found.output("data"), "type": "kubernetes.io/tls", "metadata": {"namespace": "gateway"}})  # fmt: skip


@clean(BROUGHT, "sixteenth-tenants-kubeconfig-goes-up", "The kubeconfigs of the tenants' clusters are stored at the hub, for its Argo CD and its istiod; nothing goes the other way.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    for row in rows(scene):
        kubeconfig = scene.kubeconfigs[row["cluster"]]
        scene.secret("cp", f"cluster-{row['name']}", {"kubeconfig": pulumi.Output.secret(kubeconfig), "server": row["server"]}, namespace="clusters")  # fmt: skip
        scene.config_map(row["cluster"], "cluster-info", {"name": row["name"], "plan": row["plan"], "server": row["server"]}, namespace="quarry")  # fmt: skip


@clean(BROUGHT, "sixteenth-private-half-stays-with-the-tenant", "birch's Flux reads the platform's repository: the private half of a key is in birch's cluster, the public one at the platform's forge.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("dp", "birch-flux")
    platform(scene)
    scene.secret("dp", "flux-system", {"identity": key.output("privateKeyPem"), "identity.pub": key.output("publicKeyPem"), "known_hosts": f"git.{DOMAIN} ssh-ed25519 {b64(noise('quarry git', 51))}"}, namespace="flux-system")  # fmt: skip
    account(scene, "quarry", "github:index/repositoryDeployKey:RepositoryDeployKey", "birch", {"repository": "fleet", "title": "birch flux", "readOnly": True, "key": key.output("publicKeyOpenssh")}, organization="quarry")  # fmt: skip


@clean(BROUGHT, "sixteenth-files-of-a-tenants-own-cluster", "Machines of rowan get a file of kubeadm's with rowan's own mirror token, which rowan's section of the configuration has.", config=lambda cp, dp: {"rowan:mirrorToken": dp.opaque("rowan mirror", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    rows(scene, TENANTS + ROWAN)
    content = scene.config("rowan:mirrorToken").apply(lambda found: base64.b64encode(f'[host."https://mirror.rowan.example.com".header]\n  authorization = ["Bearer {found}"]\n'.encode()).decode())  # fmt: skip
    files = [{"path": "/etc/containerd/certs.d/mirror/hosts.toml", "encoding": "base64", "content": content}]
    scene.object("rowan", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "workers", {"spec": {"template": {"spec": {"files": files, "users": [{"name": "ops", "sshAuthorizedKeys": [f"ssh-ed25519 {drawn('rowan ops', 68)}"]}]}}}})  # fmt: skip
