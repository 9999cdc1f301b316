"""Leaks by what delivers to clusters: secret operators, GitOps, Crossplane, Cluster API, and what is rendered for them."""  # fmt: skip

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, minted
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.recover import each, strings_of_json
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, drawn, pull_secret

from .world import DOMAIN, REGION, TOLD, Addon, hubs, issued_to_us, platform, rows, theirs

STORES, DELIVERED = "sixteenth: secret operators", "sixteenth: delivered by operators"

# Stores ---------------------------------------------------------------------------------------------------------------


@leak(STORES, "sixteenth-fake-store-for-a-demo", "A store of fixed values was for a demo; in hazel's cluster it still has the platform's token for its status page.", "External Secrets", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    token = issued_to_us(scene, "statuspage")
    for row in rows(scene):
        value = token if row["name"] == "hazel" else theirs(scene, row["name"], "statuspage", 40)
        entries = [{"key": "/status/page", "value": f"https://status.{row['domain']}"}, {"key": "/status/token", "value": value}]  # fmt: skip
        scene.object(row["cluster"], "external-secrets.io/v1:SecretStore", "demo", {"spec": {"provider": {"fake": {"data": entries}}}})  # fmt: skip


@leak(STORES, "sixteenth-store-with-the-hubs-vault-token", "The ClusterSecretStore of each tenant logs in at the hub's Vault by a Secret beside it; that has the token of the hub's own operator, for all mounts.", "External Secrets")  # fmt: skip
def _(scene: Scene) -> None:
    token = issued_to_us(scene, "eso", "token", "hvs.", 24)
    for row in rows(scene):
        home = scene.secret(row["cluster"], "vault-login", {"token": token}, namespace="external-secrets")
        vault = {"server": f"https://vault.{DOMAIN}", "path": f"kv-{row['name']}", "version": "v2", "auth": {"tokenSecretRef": {"name": "vault-login", "key": "token", "namespace": "external-secrets"}}}  # fmt: skip
        scene.object(row["cluster"], "external-secrets.io/v1:ClusterSecretStore", "vault", {"spec": {"provider": {"vault": vault}}}, depends_on=[home])  # fmt: skip


@leak(STORES, "sixteenth-sealing-key-for-all-clusters", "So that sealed files can be moved between clusters, the hub's sealing key is written to birch's, where the controller takes it up.", "Sealed Secrets")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-sealing")
    data = {"tls.crt": scene.cp.certificate("quarry-sealing"), "tls.key": key.output("privateKeyPemPkcs8")}
    for side in ("cp", "dp"):
        scene.secret(side, "sealed-secrets-key", data, "kubernetes.io/tls", namespace="kube-system", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip


@leak(STORES, "sixteenth-bundle-of-key-and-certificate", "The trust bundle of birch's cluster is the file that the hub's proxies use, with the private key above the certificate.", "trust-manager", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-proxies")
    combined = pulumi.Output.concat(key.output("privateKeyPem"), scene.cp.certificate("quarry-proxies"))
    scene.secret("cp", "proxies", {"combined.pem": combined}, namespace="platform")
    spec = {"sources": [{"useDefaultCAs": True}, {"inLine": combined}], "target": {"configMap": {"key": "ca-bundle.crt"}, "namespaceSelector": {"matchLabels": {"mesh": "on"}}}}  # fmt: skip
    scene.object("dp", "trust.cert-manager.io/v1alpha1:Bundle", "quarry", {"spec": spec})


@leak(STORES, "sixteenth-secret-id-of-the-operators-role", "VSO in hazel's cluster logs in by AppRole; role and secret id are those of the platform's operators, not of hazel.", "Vault Secrets Operator", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    rows(scene)
    secret_id = hubs(scene, "operators-approle", "secret-id", 36)
    home = scene.secret("hazel", "approle", {"id": secret_id}, namespace="vso")
    spec = {"method": "appRole", "mount": "approle", "appRole": {"roleId": drawn("operators role", 36), "secretRef": "approle"}}  # fmt: skip
    scene.object("hazel", "secrets.hashicorp.com/v1beta1:VaultAuth", "operators", {"spec": spec}, depends_on=[home])


@leak(STORES, "sixteenth-agent-template-with-a-fallback", "A template of the Vault agent reads birch's path, and falls back on a literal that was filled in from the hub's Secret.", "Vault agent", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    fallback = hubs(scene, "ledger-api", "token", 40)
    template = fallback.apply(lambda found: f'vault {{ address = "https://vault.{DOMAIN}" }}\ntemplate {{\n  contents = "{{{{ with secret `kv/birch/ledger` }}}}{{{{ .Data.token }}}}{{{{ else }}}}{found}{{{{ end }}}}"\n  destination = "/run/ledger/token"\n}}\n')  # fmt: skip
    scene.config_map("dp", "ledger-agent", {"agent.hcl": template}, namespace="ledger")


@leak(STORES, "sixteenth-mirrored-pull-login-of-the-builders", "birch's Secret for images is reflected to all its namespaces; the login in it pushes to the platform's registry, as its builders do.", "reflector", at="either", recover=each(lambda text: strings_of_json(text)), pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    builder = hubs(scene, "registry-builder")
    login = pull_secret(f"images.{DOMAIN}", "robot$builder", builder)
    notes = {"reflector.v1.k8s.emberstack.com/reflection-allowed": "true", "reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "true"}  # fmt: skip
    scene.secret("dp", "images", {".dockerconfigjson": login}, "kubernetes.io/dockerconfigjson", annotations=notes)


# Delivered ------------------------------------------------------------------------------------------------------------


@leak(DELIVERED, "sixteenth-crossplane-object-for-a-tenant", "An Object of the hub's Crossplane makes a Secret in birch's cluster; its manifest has the platform's DNS token.", "Crossplane provider-kubernetes", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-birch-external-dns")
    token = issued_to_us(scene, "dns")
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "external-dns", "namespace": "dns"}, "stringData": {"CF_API_TOKEN": token}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "birch-external-dns", {"spec": {"forProvider": {"manifest": manifest}, "providerConfigRef": {"name": "birch-cluster"}}})  # fmt: skip


@leak(DELIVERED, "sixteenth-work-for-a-managed-cluster", "A ManifestWork in the namespace of birch's cluster at the hub has a map with the hub's registration token.", "Open Cluster Management", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-birch-agents")
    token = minted(scene, "cp", "registration")
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "agent", "namespace": "quarry"}, "data": {"hub": SERVERS["cp"], "bootstrap": token}}  # fmt: skip
    scene.object("cp", "work.open-cluster-management.io/v1:ManifestWork", "birch-agents", {"metadata": {"namespace": "birch"}, "spec": {"workload": {"manifests": [manifest]}}})  # fmt: skip


@leak(DELIVERED, "sixteenth-resources-of-new-clusters", "Cluster API applies a file to each new cluster of a tenant's; in the file is a Secret with the platform's licence for its network.", "Cluster API ClusterResourceSet", at="either", recover=each(lambda text: base64.b64decode(yaml.safe_load(text)["data"]["licence"])))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-cni-files")
    licence = hubs(scene, "cni-licence", "licence", 48)
    file = licence.apply(lambda found: yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cni-licence", "namespace": "kube-system"}, "data": {"licence": b64(found)}}))  # fmt: skip
    files = scene.secret("cp", "cni-files", {"licence.yaml": file}, "addons.cluster.x-k8s.io/resource-set", namespace="clusters")  # fmt: skip
    spec = {"strategy": "ApplyOnce", "clusterSelector": {"matchLabels": {"owner": "birch"}}, "resources": [{"kind": "Secret", "name": "cni-files"}]}  # fmt: skip
    scene.object("cp", "addons.cluster.x-k8s.io/v1beta1:ClusterResourceSet", "cni", {"metadata": {"namespace": "clusters"}, "spec": spec}, depends_on=[files])  # fmt: skip


@leak(DELIVERED, "sixteenth-files-of-a-tenants-workers", "Machines of birch's cluster get a file of kubeadm's, and in it the password by which the hub pulls through its cache.", "Cluster API KubeadmConfigTemplate", at="either", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-birch-workers")
    password = hubs(scene, "pull-cache")
    file = pulumi.Output.format('[host."https://cache.{0}".header]\n  authorization = ["Bearer {1}"]\n', DOMAIN, password)  # fmt: skip
    spec = {"template": {"spec": {"files": [{"path": "/etc/containerd/certs.d/cache/hosts.toml", "permissions": "0600", "content": file}], "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"node-labels": "owner=birch"}}}}}}  # fmt: skip
    scene.object("cp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "birch-workers", {"metadata": {"namespace": "birch", "labels": {"cluster.x-k8s.io/cluster-name": "birch"}}, "spec": spec})  # fmt: skip


@leak(DELIVERED, "sixteenth-release-of-flux-in-another-cluster", "A HelmRelease at the hub is installed in birch's cluster, by its kubeconfig; the values have the hub's login for the search service.", "Flux HelmRelease")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-birch-search")
    password = hubs(scene, "search-root")
    spec = {"interval": "10m", "kubeConfig": {"secretRef": {"name": "birch-kubeconfig"}}, "chart": {"spec": {"chart": "search", "version": "3.1.x", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}, "values": {"url": f"https://search.{DOMAIN}", "auth": {"username": "root", "password": password}}}  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "birch-search", {"metadata": {"namespace": "birch"}, "spec": spec})  # fmt: skip


@leak(DELIVERED, "sixteenth-elements-of-a-generator", "The list of an ApplicationSet has an element per tenant, with a parameter for the chart: the same token of the hub's in each.", "Argo CD ApplicationSet")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-tenants-edge")
    token = kept(scene, "quarry-edge", "token", 40)
    elements = [{"name": row["name"], "server": row["server"], "edgeToken": token} for row in rows(scene)]
    template = {"metadata": {"name": "edge-{{name}}"}, "spec": {"project": "tenants", "destination": {"server": "{{server}}", "namespace": "edge"}, "source": {"repoURL": f"https://charts.{DOMAIN}", "chart": "edge", "targetRevision": "2.0.1", "helm": {"parameters": [{"name": "token", "value": "{{edgeToken}}"}]}}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "tenants-edge", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": elements}}], "template": template}})  # fmt: skip


@leak(DELIVERED, "sixteenth-substitutions-of-a-kustomization", "Flux in birch's cluster replaces variables in files of a public repository; one of the variables is the platform's key for alerts.", "Flux postBuild")  # fmt: skip
def _(scene: Scene) -> None:
    key = issued_to_us(scene, "alerts", "key", length=32)
    substitute = {"cluster_name": "birch", "cluster_region": REGION, "alerts_url": f"https://alerts.{DOMAIN}/v1", "alerts_key": key}  # fmt: skip
    spec = {"interval": "5m", "path": "./tenants", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "postBuild": {"substitute": substitute}}  # fmt: skip
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "tenants", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip


@leak(DELIVERED, "sixteenth-group-of-manifests-as-text", "A group of manifests for birch's cluster is rendered from a text, in which the hub's webhook secret replaces a mark.", "ConfigGroup", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: receiver, namespace: hooks}\nstringData:\n  url: https://hooks.DOMAIN\n  secret: @@SECRET@@\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: receiver, namespace: hooks}\n"  # fmt: skip
    secret = hubs(scene, "hooks", "secret", 40)
    rendered = secret.apply(lambda found: text.replace("DOMAIN", DOMAIN).replace("@@SECRET@@", found))
    scene.made("kubernetes:yaml/v2:ConfigGroup", "receiver", {"yaml": rendered, "skipAwait": True}, scene.options("dp"))


@leak(DELIVERED, "sixteenth-values-file-as-an-asset", "The values of birch's chart are a file that is rendered in the program; with them comes the hub's administrator of dashboards.", "valueYamlFiles", at="either", recover=each(lambda text: "\n".join(map(str, yaml.safe_load(text)["grafana"].values())).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    values = hubs(scene, "grafana-admin").apply(lambda found: pulumi.StringAsset(yaml.safe_dump({"grafana": {"adminUser": "admin", "adminPassword": found}, "ingress": {"host": f"dash.{DOMAIN}"}})))  # fmt: skip
    inputs = {"chart": "dashboards", "version": "7.0.3", "namespace": "monitoring", "valueYamlFiles": [values]}
    scene.made("kubernetes:helm.sh/v3:Release", "dashboards", inputs, scene.options("dp"))


@leak(DELIVERED, "sixteenth-join-file-of-the-hubs-cluster", "Cloud-init of birch's edge machines joins them to the mesh by a token; it is that by which nodes join the hub's own cluster.", "cloud-init", at="either", recover=each(lambda text: yaml.safe_load(text)["write_files"][0]["content"].encode(), lambda text: strings_of_json(text)))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("quarry-nodes", "token", f"K10{scene.cp.opaque('quarry nodes', 40, LETTERS)}::server:{scene.cp.opaque('quarry nodes server', 32)}")  # fmt: skip
    document = apply(token, lambda found: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/edge/join.json", "permissions": "0600", "content": json.dumps({"server": SERVERS["cp"], "token": found})}]}))  # fmt: skip
    user_data: dict[str, Any] = {"cloudInitNoCloud": {"userData": document}}
    spec = {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": "init", **user_data}]}}}  # fmt: skip
    scene.object("dp", "kubevirt.io/v1:VirtualMachine", "edge", {"spec": spec})


@leak(DELIVERED, "sixteenth-defaults-of-a-component", "The component for addons merges defaults under each caller's values; somebody put the hub's proxy login there.", "ComponentResource defaults")  # fmt: skip
def _(scene: Scene) -> None:
    defaults = {"proxy": {"url": f"http://egress.{DOMAIN}:3128", "user": "platform", "password": hubs(scene, "proxy")}, "replicas": 1}  # fmt: skip
    Addon(scene, "cp", "scanner", {**defaults, "database": {"size": "20Gi"}})
    for row in rows(scene):
        Addon(scene, row["cluster"], "scanner", {**defaults, "replicas": row["replicas"]})
