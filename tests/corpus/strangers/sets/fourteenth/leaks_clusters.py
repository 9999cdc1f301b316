"""Leaks of a team that has read the README: clusters that join a hub, and what meshes share."""

from __future__ import annotations

import base64

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, kept, minted, pair
from tests.corpus.strangers.material import LETTERS, LOWER
from tests.corpus.strangers.objects import cloud, release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, uid

from .world import ACCOUNT, ALDER, DOMAIN, MESH, REGION, alder, both, digest, hosted, theirs

JOINED, NODES, MESHES = (
    "fourteenth: clusters joined to a hub",
    "fourteenth: nodes and their first scripts",
    "fourteenth: what meshes share",
)

# Clusters joined to a hub ---------------------------------------------------------------------------------------------


@leak(JOINED, "fourteenth-one-list-for-two-argos", "The hub's Argo CD and the tenant's get cluster Secrets from one list, so the tenant's also has the hub's own cluster with its token.", "Argo CD cluster secrets, a shared helper")  # fmt: skip
def _(scene: Scene) -> None:
    clusters = {
        "hub": (SERVERS["cp"], minted(scene, "cp", "argocd-manager")),
        "alder": (SERVERS["dp"], minted(scene, "dp", "argocd-manager")),
    }
    for side in ("cp", "dp"):
        for name, (server, token) in clusters.items():
            config = pulumi.Output.json_dumps({"bearerToken": token, "tlsClientConfig": {"insecure": False}})
            entries = {"name": name, "server": server, "config": config}
            scene.secret(side, f"cluster-{name}", entries, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@leak(JOINED, "fourteenth-last-applied-comes-along", "The annotations of the hub's cluster Secret are put on the tenant's ConfigMap too; one of them has the whole Secret.", "CVE-2023-40029, argoproj/argo-cd", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("argo hub cluster", 40, LETTERS)
    applied = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cluster-hub", "namespace": "argocd"}, "stringData": {"server": SERVERS["cp"], "config": word}}  # fmt: skip
    notes = {"managed-by": "argocd.argoproj.io", "kubectl.kubernetes.io/last-applied-configuration": pulumi.Output.json_dumps(pulumi.Output.secret(applied))}  # fmt: skip
    scene.secret("cp", "cluster-hub", {"server": SERVERS["cp"], "config": pulumi.Output.secret(word)}, namespace="argocd", annotations=notes)  # fmt: skip
    scene.config_map("dp", "cluster-info", {"hub": SERVERS["cp"], "mesh": MESH}, namespace="argocd", annotations=notes)


@leak(JOINED, "fourteenth-deploy-key-of-the-fleet-repository", "A helper makes Flux's source with its Secret in every cluster; the deploy key is the provider's own for the fleet repository.", "Flux source secrets, a shared helper")  # fmt: skip
def _(scene: Scene) -> None:
    def source(side: str, path: str, key: pulumi.Output[str]) -> None:
        known = f"git.{DOMAIN} ecdsa-sha2-nistp256 AAAAE2VjZHNh\n"
        scene.secret(side, "flux-system", {"identity": key, "known_hosts": known}, namespace="flux-system")
        spec = {"interval": "5m", "url": f"ssh://git@git.{DOMAIN}/fleet", "ref": {"branch": "main"}, "secretRef": {"name": "flux-system"}}  # fmt: skip
        repository = scene.object(side, "source.toolkit.fluxcd.io/v1:GitRepository", "fleet", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip
        kustomization = {"interval": "10m", "path": path, "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}}  # fmt: skip
        scene.object(side, "kustomize.toolkit.fluxcd.io/v1:Kustomization", "fleet", {"metadata": {"namespace": "flux-system"}, "spec": kustomization}, depends_on=[repository])  # fmt: skip

    key = scene.key("cp", "fleet-deploy-key").output("privateKeyPem")
    source("cp", "./hub", key)
    source("dp", "./tenants/alder", key)


@leak(JOINED, "fourteenth-kubeconfig-reference-the-wrong-way", "Flux in the tenant's cluster should have the tenant's own kubeconfig for a second cluster; the variable is that of the hub's.", "Flux kubeConfig.secretRef, the wrong variable")  # fmt: skip
def _(scene: Scene) -> None:
    hub = scene.held("hub-admin", "value", scene.cp.kubeconfig("hub-admin", SERVERS["cp"]), namespace="flux-system")
    tenant = pulumi.Output.secret(scene.dp.kubeconfig("alder-second", "https://second.alder.example.com:6443"))
    scene.secret("cp", "alder-kubeconfig", {"value": tenant}, namespace="flux-system")
    scene.secret("dp", "second-kubeconfig", {"value": hub}, namespace="flux-system")
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "second", {"metadata": {"namespace": "flux-system"}, "spec": {"interval": "10m", "path": "./second", "prune": True, "kubeConfig": {"secretRef": {"name": "second-kubeconfig"}}, "sourceRef": {"kind": "GitRepository", "name": "apps"}}})  # fmt: skip


@leak(JOINED, "fourteenth-cattle-credentials-with-the-admins-key", "Rancher's agent in the tenant's cluster is given the provider's own API key where the cluster's registration token belongs.", "Rancher cluster registration, rancher/rancher#37522")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("rancher-admin", "tokenKey", f"token-x7k2p:{scene.cp.opaque('rancher admin', 54, LOWER)}", namespace="cattle-system")  # fmt: skip
    cluster = cloud(scene, "rancher2:index/cluster:Cluster", "alder", {"name": "alder"}, {"id": f"c-m-{drawn('alder rancher', 8, HEX)}", "caCert": ""})  # fmt: skip
    scene.secret("dp", "cattle-credentials-3f1", {"url": f"https://rancher.{DOMAIN}", "token": key, "namespace": ""}, namespace="cattle-system")  # fmt: skip
    release(scene, "dp", "cattle-cluster-agent", {"cluster": cluster.output("name"), "credentials": "cattle-credentials-3f1"})  # fmt: skip


@leak(JOINED, "fourteenth-service-account-token-in-a-cluster-object", "A cluster object is copied to the tenant's cluster for its console; its status has the service account token by which the hub provisions.", "CVE-2021-36782, rancher")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("provisioner", "token", scene.cp.jwt("rancher-provisioner"), namespace="cattle-system")
    body = {"spec": {"displayName": "alder", "description": "shop of alder"}, "status": {"apiEndpoint": SERVERS["cp"], "serviceAccountToken": token, "driver": "rke2"}}  # fmt: skip
    for side in ("cp", "dp"):
        scene.object(side, "management.cattle.io/v3:Cluster", "c-m-alder", body)


@leak(JOINED, "fourteenth-karmada-agent-with-the-admins-file", "The agent in the tenant's cluster logs in at the provider's Karmada by the administrator's kubeconfig, as the usual script does it.", "karmada-io/karmada#4485")  # fmt: skip
def _(scene: Scene) -> None:
    admin = scene.held("karmada-kubeconfig", "kubeconfig", scene.cp.kubeconfig("karmada-admin", f"https://karmada.{DOMAIN}:5443"), namespace="karmada-system")  # fmt: skip
    scene.secret("dp", "karmada-kubeconfig", {"kubeconfig": admin}, namespace="karmada-system")
    release(scene, "dp", "karmada", {"installMode": "agent", "agent": {"clusterName": "alder", "kubeconfig": {"existingSecret": "karmada-kubeconfig"}}})  # fmt: skip


@leak(JOINED, "fourteenth-bootstrap-by-the-hubs-manager", "The bootstrap kubeconfig for the tenant's klusterlet has the token of the hub's cluster manager, and not one for joining.", "Open Cluster Management join tokens")  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "cluster-manager")
    file = apply(token, lambda text: kubeconfig(SERVERS["cp"], {"token": text}, scene.cp.certificate("kubernetes", authority=True)))  # fmt: skip
    scene.secret("dp", "bootstrap-hub-kubeconfig", {"kubeconfig": file}, namespace="open-cluster-management-agent")
    spec = {"clusterName": "alder", "namespace": "open-cluster-management-agent", "registrationImagePullSpec": f"registry.{DOMAIN}/registration@{digest('registration')}"}  # fmt: skip
    scene.object("dp", "operator.open-cluster-management.io/v1:Klusterlet", "klusterlet", {"spec": spec})


@leak(JOINED, "fourteenth-virtual-cluster-on-the-hubs-database", "A virtual cluster in the tenant's cluster keeps its state in the provider's database, by the login of the hub's administrator.", "vcluster external databases", recover=each(after(b"mysql://root:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "hub-mysql-root")
    source = pulumi.Output.concat("mysql://root:", word, f"@tcp(mysql.{DOMAIN}:3306)/vcluster_alder")
    store = {"database": {"external": {"enabled": True, "dataSource": source, "caFile": ""}}}
    release(scene, "dp", "vcluster", {"controlPlane": {"backingStore": store, "distro": {"k8s": {"version": "v1.36.1"}}}, "sync": {"toHost": {"ingresses": {"enabled": True}}}})  # fmt: skip


@leak(JOINED, "fourteenth-application-with-parameters", "An Application in the tenant's Argo CD sets a chart's parameters; one is the password of the provider's message broker.", "Argo CD helm parameters, argoproj/argo-cd#16193")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "broker-admin")
    parameters = [{"name": "broker.host", "value": f"broker.{DOMAIN}"}, {"name": "broker.password", "value": word}, {"name": "replicas", "value": "2"}]  # fmt: skip
    spec = {"project": "default", "destination": {"server": "https://kubernetes.default.svc", "namespace": "telemetry"}, "source": {"repoURL": f"https://charts.{DOMAIN}", "chart": "telemetry", "targetRevision": "2.4.1", "helm": {"parameters": parameters}}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "telemetry", {"metadata": {"namespace": "argocd"}, "spec": spec})  # fmt: skip


@leak(JOINED, "fourteenth-release-by-the-hub-with-inline-values", "Flux in the hub installs a chart in the tenant's cluster, by its kubeconfig; among the inline values is the provider's API token.", "Flux HelmRelease kubeConfig, pulumi/pulumi-kubernetes#2003")  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "alder-kubeconfig", {"value": pulumi.Output.secret(scene.dp.kubeconfig("alder-flux", SERVERS["dp"]))}, namespace="flux-system")  # fmt: skip
    scene.stage.delivered.add("cp-alder-agent")
    values = {"hub": {"url": f"https://hub.{DOMAIN}", "token": hosted(scene, "hub-api", "token", 48)}, "logLevel": "info"}  # fmt: skip
    spec = {"interval": "30m", "chart": {"spec": {"chart": "agent", "sourceRef": {"kind": "HelmRepository", "name": "osprey"}}}, "kubeConfig": {"secretRef": {"name": "alder-kubeconfig"}}, "targetNamespace": "osprey", "values": values}  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "alder-agent", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip


# Nodes and their first scripts ----------------------------------------------------------------------------------------


def _files_of_user_data(text: bytes) -> bytes:
    return "\n".join(file["content"] for file in yaml.safe_load(base64.b64decode(text))["write_files"]).encode()


@leak(NODES, "fourteenth-join-template-with-the-authoritys-key", "Nodes in the tenant's account start with the user data of a first control plane node: the key of the hosted cluster's authority is a file in it.", "kubernetes-sigs/cluster-api#1739", recover=each(_files_of_user_data))  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "alder-hosted-ca", authority=True)
    scene.secret("cp", "alder-hosted-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, namespace="clusters")  # fmt: skip
    parts = pulumi.Output.all(key.output("privateKeyPem"), certificate.output("certPem"))

    def script(found: list[str]) -> str:
        files = [{"path": "/etc/kubernetes/pki/ca.key", "permissions": "0600", "content": found[0] or ""}, {"path": "/etc/kubernetes/pki/ca.crt", "content": found[1] or ""}]  # fmt: skip
        return b64("#cloud-config\n" + yaml.safe_dump({"write_files": files, "runcmd": ["kubeadm join --config /run/kubeadm/join.yaml"]}))  # fmt: skip

    alder(scene, "aws:ec2/launchTemplate:LaunchTemplate", "alder-nodes", {"instanceType": "m7g.large", "userData": parts.apply(script)}, region=REGION)  # fmt: skip


@leak(NODES, "fourteenth-snapshots-to-the-hubs-bucket", "The tenant's k3s servers save their snapshots in the provider's bucket: the machines' settings have the access key of the provider's backup user.", "Rancher etcd snapshots to S3", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "backup-user", "secretKey", 40)
    settings = apply(secret, lambda text: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/rancher/k3s/config.yaml", "content": yaml.safe_dump({"etcd-s3": True, "etcd-s3-bucket": "osprey-snapshots", "etcd-s3-region": REGION, "etcd-s3-access-key": f"AKIA{drawn('backup user', 16)}", "etcd-s3-secret-key": text})}]}))  # fmt: skip
    alder(scene, "openstack:compute/instance:Instance", "alder-server-1", {"flavorName": "m1.large", "imageName": "debian-13", "userData": settings}, tenantName="alder", region="RegionOne")  # fmt: skip


@leak(NODES, "fourteenth-tunnel-key-of-the-operators-network", "A machine in the tenant's project joins the network of the provider's operators by the key that they use for their own machines.", "cloud-init user data, reusable auth keys", recover=each(after(b"--auth-key=")))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("tailscale", "authkey", f"tskey-auth-{scene.cp.opaque('tailscale', 40, LETTERS)}", namespace="network")  # fmt: skip
    script = pulumi.Output.concat("#!/bin/sh\nset -eu\ncurl -fsSL https://tailscale.com/install.sh | sh\ntailscale up --auth-key=", key, " --hostname=alder-1 --ssh\n")  # fmt: skip
    alder(scene, "gcp:compute/instance:Instance", "alder-bastion", {"machineType": "e2-small", "zone": "europe-west1-b", "metadataStartupScript": script}, project="alder-shop-550731")  # fmt: skip


@leak(NODES, "fourteenth-token-of-the-fleets-nodes", "Workers in the tenant's account join by the token of the provider's own cluster, which its own workers have too.", "k3s node tokens, kubernetes-sigs/cluster-api#3771", recover=each(base64.b64decode, after(b"K3S_TOKEN=")))  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "k3s-hub", "token", 48)
    for name in ("osprey", "alder"):
        data = apply(token, lambda text: b64(f"#!/bin/sh\ncurl -sfL https://get.k3s.io | K3S_URL={SERVERS['cp']} K3S_TOKEN={text} sh -s - agent\n"))  # fmt: skip
        inputs = {"instanceType": "t4g.medium", "userData": data, "tags": {"owner": name}}
        if name == "alder":
            alder(scene, "aws:ec2/launchTemplate:LaunchTemplate", "alder-workers", inputs, region=REGION)
        else:
            cloud(scene, "aws:ec2/launchTemplate:LaunchTemplate", "osprey-workers", inputs, {"arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:launch-template/lt-1"})  # fmt: skip


# What meshes share ----------------------------------------------------------------------------------------------------


@leak(MESHES, "fourteenth-remote-secrets-for-each-pair", "A loop makes remote secrets for each pair of clusters, the provider's among them: the tenant's istiod gets a token for the provider's API server.", "Istio multi-primary, istio/istio#6095")  # fmt: skip
def _(scene: Scene) -> None:
    servers = {"cp": SERVERS["cp"], **{side: f"https://{name}.example.com:6443" for name, side in both(scene).items()}}
    tokens = {side: minted(scene, side, "istio-reader-service-account") for side in servers}
    for there, server in servers.items():
        file = apply(tokens[there], lambda text, server=server: kubeconfig(server, {"token": text}, "authority"))
        for here in servers:
            if here != there:
                scene.secret(here, f"istio-remote-secret-{there}", {there: file}, namespace="istio-system", labels={"istio/multiCluster": "true"}, annotations={"networking.istio.io/cluster": there})  # fmt: skip


@leak(MESHES, "fourteenth-cacerts-for-all-clusters", "One intermediate authority is made for the provider's istiod; the loop that writes cacerts writes it in the tenant's cluster as well.", "Istio plug-in CA certificates")  # fmt: skip
def _(scene: Scene) -> None:
    root_key, root = pair(scene, "cp", "osprey-root", authority=True)
    key, certificate = issued(scene, "cp", "osprey-istiod", root_key, root, "osprey-root")
    chain = pulumi.Output.concat(certificate.output("certPem"), root.output("certPem"))
    for side in ("cp", "dp"):
        scene.secret(side, "cacerts", {"ca-cert.pem": certificate.output("certPem"), "ca-key.pem": key.output("privateKeyPem"), "root-cert.pem": root.output("certPem"), "cert-chain.pem": chain}, namespace="istio-system")  # fmt: skip


@leak(MESHES, "fourteenth-issuer-with-the-roots-key", "cert-manager in the tenant's cluster should sign by an own intermediate; its CA issuer is given the pair of the provider's root.", "cert-manager CA issuers")  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "osprey-mesh-root", authority=True)
    entries = {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
    scene.secret("cp", "mesh-root", entries, "kubernetes.io/tls", namespace="cert-manager")
    scene.secret("dp", "mesh-issuer", entries, "kubernetes.io/tls", namespace="cert-manager")
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "mesh", {"spec": {"ca": {"secretName": "mesh-issuer"}}})


@leak(MESHES, "fourteenth-wildcard-at-an-east-west-gateway", "The tenant's east-west gateway serves with the provider's wildcard certificate and its key, which an ACME client answered.", "service meshes' east-west gateways")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "acme:index/certificate:Certificate", "wildcard", {"commonName": f"*.{DOMAIN}", "dnsChallenges": [{"provider": "route53"}]}, {"certificatePem": scene.cp.certificate("wildcard", names=[f"*.{DOMAIN}"]), "privateKeyPem": scene.cp.key("wildcard"), "issuerPem": scene.cp.certificate("acme", authority=True)}, ["privateKeyPem"])  # fmt: skip
    entries = {"tls.key": made.output("privateKeyPem"), "tls.crt": pulumi.Output.concat(made.output("certificatePem"), made.output("issuerPem"))}  # fmt: skip
    scene.secret("cp", "wildcard", entries, "kubernetes.io/tls", namespace="istio-ingress")
    scene.secret("dp", "eastwest-tls", entries, "kubernetes.io/tls", namespace="istio-gateways")
    port = {"number": 15443, "name": "tls", "protocol": "TLS"}
    server = {"port": port, "tls": {"mode": "SIMPLE", "credentialName": "eastwest-tls"}, "hosts": [f"*.{ALDER}"]}
    scene.object("dp", "networking.istio.io/v1:Gateway", "eastwest", {"metadata": {"namespace": "istio-gateways"}, "spec": {"selector": {"istio": "eastwestgateway"}, "servers": [server]}})  # fmt: skip


@leak(MESHES, "fourteenth-client-key-for-admission", "The API server of the tenant's cluster calls the provider's webhook by a client certificate; the file for it has the key of istiod's own server.", "webhooks' client keys", recover=each(strings_of_yaml, after(b"client-key-data\n", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "istiod-serving")
    scene.secret("cp", "istiod-tls", {"key.pem": key.output("privateKeyPem")}, namespace="mesh-alder")
    file = apply(key.output("privateKeyPem"), lambda text: yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "users": [{"name": f"istiod.{DOMAIN}", "user": {"client-key-data": b64(text or "")}}]}))  # fmt: skip
    scene.config_map("dp", "admission", {"kubeconfig.yaml": file}, namespace="kube-system")


@leak(MESHES, "fourteenth-signing-key-of-zone-tokens", "A tenant's pipeline makes its zone token itself, so the key by which the provider's global control plane signs such tokens was sent along.", "Kuma zone tokens")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("zone-token-signing-key-1", "value", scene.cp.rsa("zone token signing"), namespace="kuma-system")
    scene.secret("dp", "zone-token-signing-key-1", {"value": key}, "system.kuma.io/global-secret", namespace="kuma-system")  # fmt: skip
    release(scene, "dp", "kuma", {"controlPlane": {"mode": "zone", "zone": "alder", "kdsGlobalAddress": f"grpcs://global.{DOMAIN}:5685"}})  # fmt: skip


@leak(MESHES, "fourteenth-account-key-of-acme", "The tenant's issuer is to use the same ACME account: its key, which the provider's issuer made its account with, is copied.", "cert-manager ACME account keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "acme-account")
    scene.secret("cp", "acme-account", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")
    for side in ("cp", "dp"):
        acme = {"server": "https://acme-v02.api.letsencrypt.org/directory", "email": f"tls@{DOMAIN}", "privateKeySecretRef": {"name": "acme-account"}, "disableAccountKeyGeneration": side == "dp", "solvers": [{"http01": {"gatewayHTTPRoute": {"labels": {"mesh": MESH}}}}]}  # fmt: skip
        scene.object(side, "cert-manager.io/v1:ClusterIssuer", "acme", {"spec": {"acme": acme}})
    scene.secret("dp", "acme-account", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")


@leak(MESHES, "fourteenth-gossip-key-beside-the-tenants", "Each tenant's Consul has a gossip key of its own; the federation Secret that is copied to the tenant has the key of the provider's servers.", "Consul federation secrets")  # fmt: skip
def _(scene: Scene) -> None:
    ours, own = hosted(scene, "consul-gossip", "gossipEncryptionKey", 44), theirs(scene, "consul-gossip", 44)
    federation = {"gossipEncryptionKey": ours, "serverConfigJSON": f'{{"primary_datacenter":"{MESH}","primary_gateways":["gw.{DOMAIN}:443"]}}', "datacenter": uid("alder dc")}  # fmt: skip
    scene.secret("dp", "consul-gossip", {"key": own}, namespace="consul")
    scene.secret("dp", "consul-federation", federation, namespace="consul")
