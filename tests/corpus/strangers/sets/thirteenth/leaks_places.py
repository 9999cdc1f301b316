"""Leaks into charts and by operators, as public charts, advisories and issues have them."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import generated, kept, minted, pair
from tests.corpus.strangers.objects import ref, release
from tests.corpus.strangers.recover import after, each, unpadded
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64, kubeconfig, uid

from .world import ASTER, DOMAIN, ISSUER, MESH, cluster_secret, hub, leak, owned

CHARTS, CARRIED = "thirteenth: into charts and agents", "thirteenth: carried by operators"

# Charts ---------------------------------------------------------------------------------------------------------------


@leak(CHARTS, "thirteenth-remote-secret-for-multi-primary", "A mesh of two primaries wants a remote secret at each: the tenant's istiod gets a kubeconfig of the hub, with the token of a reader of the hub's.", "Istio multi-primary", recover=each(lambda text: json.loads(text)["users"][0]["user"]["token"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "istio-reader-service-account")
    config = apply(token, lambda found: kubeconfig(SERVERS["cp"], {"token": found}, scene.cp.certificate("kubernetes", authority=True)))  # fmt: skip
    scene.secret("dp", "istio-remote-secret-hub", {"hub": config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@leak(CHARTS, "thirteenth-link-credentials-the-wrong-way", "Linkerd's link was made in the wrong context: credentials of the hub's mirror are in the tenant's cluster, in base64 as the command prints them.", "Linkerd multicluster", at="either", recover=each(lambda text: base64.b64decode(text), lambda text: json.loads(text)["users"][0]["user"]["token"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "linkerd-service-mirror-remote-access-default")
    config = apply(token, lambda found: b64(kubeconfig(SERVERS["cp"], {"token": found}, scene.cp.certificate("kubernetes", authority=True))))  # fmt: skip
    scene.object("dp", "v1:Secret", "cluster-credentials-hub", {"type": "mirror.linkerd.io/remote-kubeconfig", "stringData": {"kubeconfig": config}})  # fmt: skip
    scene.object("dp", "multicluster.linkerd.io/v1alpha2:Link", "hub", {"spec": {"targetClusterName": "hub", "clusterCredentialsSecret": "cluster-credentials-hub", "gatewayAddress": "198.51.100.40", "gatewayPort": "4143"}})  # fmt: skip


@leak(CHARTS, "thirteenth-shared-authority-of-a-cluster-mesh", "Clusters of a mesh need one authority, says the manual; the tenant's Cilium gets the hub's, certificate and key in base64 among the values.", "Cilium ClusterMesh", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "cilium-ca", authority=True)
    scene.secret("cp", "cilium-ca", {"ca.key": key.output("privateKeyPem"), "ca.crt": cert.output("certPem")}, namespace="kube-system")  # fmt: skip
    release(scene, "dp", "cilium", {"cluster": {"name": "aster", "id": 2}, "tls": {"ca": {"cert": apply(cert.output("certPem"), b64), "key": apply(key.output("privateKeyPem"), b64)}}, "clustermesh": {"useAPIServer": True}})  # fmt: skip


@leak(CHARTS, "thirteenth-one-sealing-key-for-all", "One sealing key for the whole fleet is easier: the tenant's controller gets the hub's, by which whatever is sealed for the hub is opened.", "sealed-secrets, many clusters")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "fleet-sealing")
    data = {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
    for side in ("cp", "dp"):
        scene.secret(side, "sealing", data, kind="kubernetes.io/tls", namespace="kube-system", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip


@leak(CHARTS, "thirteenth-header-of-a-daemon-set", "A DaemonSet's variable has headers for the hub's collector, percent-encoded as the specification wants: Basic, with the writer's password.", "OTEL_EXPORTER_OTLP_HEADERS", recover=each(lambda text: urllib.parse.unquote_to_bytes(text), after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    def header(password: str) -> str:
        return "Authorization=" + urllib.parse.quote("Basic " + b64(f"writer:{password}"))

    env = [{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": f"https://otlp.{DOMAIN}"}, {"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": apply(generated(scene, "otlp-writer"), header)}]  # fmt: skip
    scene.object("dp", "apps/v1:DaemonSet", "otel", {"spec": {"selector": {"matchLabels": {"app": "otel"}}, "template": {"metadata": {"labels": {"app": "otel"}}, "spec": {"containers": [{"name": "otel", "image": "otel:0.110.0", "env": env}]}}}})  # fmt: skip


@leak(CHARTS, "thirteenth-key-of-transfers-in-an-argument", "The tenant's external-dns has the key for the hub's zone as an argument, since it reads no file for it.", "external-dns rfc2136", recover=each(after(b"--rfc2136-tsig-secret=")))  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.cp.raw("lantern tsig")
    scene.cp.given.append(b64(made))
    held = scene.held("tsig", "secret", b64(made))
    args = ["--source=service", "--provider=rfc2136", f"--rfc2136-host=ns1.{DOMAIN}", "--rfc2136-tsig-keyname=lantern", pulumi.Output.concat("--rfc2136-tsig-secret=", held)]  # fmt: skip
    scene.object("dp", "apps/v1:Deployment", "external-dns", {"spec": {"selector": {"matchLabels": {"app": "dns"}}, "template": {"metadata": {"labels": {"app": "dns"}}, "spec": {"containers": [{"name": "dns", "image": "external-dns:v0.15.0", "args": args}]}}}})  # fmt: skip


@leak(CHARTS, "thirteenth-token-of-a-tunnel", "A tunnel's token is base64 of JSON with its secret; the hub's tunnel runs in the tenant's cluster too, for its high availability.", "cloudflared", recover=each(lambda text: base64.b64decode(text), lambda text: base64.b64decode(json.loads(text)["s"])))  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "tunnel", "secret", 32)
    token = apply(secret, lambda found: b64(json.dumps({"a": "5ab4e9dfbd435d24068829fda0077963", "t": uid("lantern tunnel"), "s": b64(found)})))  # fmt: skip
    release(scene, "dp", "cloudflared", {"replicas": 2, "cloudflare": {"tunnel_token": token}})


@leak(CHARTS, "thirteenth-app-key-for-the-tenants-runners", "The runners' chart at the tenant's wants an application of the forge; it gets the hub's, whose key opens every repository.", "actions-runner-controller")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("runner-app", "github_app_private_key", scene.cp.key("lantern app"))
    release(scene, "dp", "gha-runner-scale-set", {"githubConfigUrl": f"https://git.{ASTER}/shop", "githubConfigSecret": {"github_app_id": "882140", "github_app_installation_id": "51920384", "github_app_private_key": key}})  # fmt: skip


@leak(CHARTS, "thirteenth-leaf-of-the-system-account", "The tenant's NATS is a leaf of the hub's; its remote has user and password of the system account in the address.", "NATS leaf nodes", recover=each(after(b"sys:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "nats-sys")
    release(scene, "dp", "nats", {"config": {"leafnodes": {"enabled": True, "merge": {"remotes": [{"url": pulumi.Output.concat("tls://sys:", password, f"@leaf.{DOMAIN}:7422"), "account": "SYS"}]}}}})  # fmt: skip


@leak(CHARTS, "thirteenth-realm-with-the-hubs-client", "A realm for the tenant's Keycloak is an export of the hub's: the identity provider in it has the secret of the hub's broker.", "Keycloak realm exports", recover=each(lambda text: json.loads(text)["identityProviders"][0]["config"]["clientSecret"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "broker", "client_secret", 36)
    realm = pulumi.Output.json_dumps({"realm": "aster", "enabled": True, "identityProviders": [{"alias": "hub", "providerId": "oidc", "config": {"issuer": ISSUER, "clientId": "broker", "clientSecret": secret, "useJwksUrl": "true"}}]})  # fmt: skip
    scene.config_map("dp", "realm-aster", {"realm.json": realm}, labels={"app": "keycloak"})


# Carried --------------------------------------------------------------------------------------------------------------


@leak(CARRIED, "thirteenth-annotation-with-the-whole-secret", "An ApplicationSet takes annotations of a cluster's Secret over to the tenant; kubectl's among them has the Secret as it was last applied.", "CVE-2023-40029", recover=each(lambda text: json.loads(json.loads(text)["stringData"]["config"])["bearerToken"].encode()))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-facts")
    token = kept(scene, "cluster-hub-us", "bearerToken", 48)
    applied = apply(token, lambda found: json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub-us"}, "stringData": cluster_secret("hub-us", f"https://hub-us.{DOMAIN}:6443", found)}))  # fmt: skip
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "facts", "targetRevision": "1.0.0"}
    metadata = {"name": "facts-aster", "annotations": {"region": "us", "kubectl.kubernetes.io/last-applied-configuration": applied}}  # fmt: skip
    spec = {"project": "fleet", "source": {**source, "helm": {"valuesObject": {"cluster": metadata["annotations"]}}}, "destination": {"server": SERVERS["dp"], "namespace": "facts"}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "facts", {"metadata": {"namespace": "argocd"}, "spec": spec})


@leak(CARRIED, "thirteenth-values-set-from-a-connection-secret", "A Release of Crossplane's helm provider sets a value from a Secret of the hub's; the release is the tenant's.", "Crossplane provider-helm")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-warehouse-conn", "cp-reporter"}
    scene.secret("cp", "warehouse-conn", {"password": generated(scene, "warehouse", "password")}, namespace="crossplane-system")  # fmt: skip
    chart = {"name": "reporter", "repository": f"https://charts.{DOMAIN}", "version": "3.1.0"}
    values = [{"name": "db.password", "valueFrom": {"secretKeyRef": {"name": "warehouse-conn", "namespace": "crossplane-system", "key": "password"}}}]  # fmt: skip
    scene.object("cp", "helm.crossplane.io/v1beta1:Release", "reporter", {"spec": {"forProvider": {"chart": chart, "namespace": "reports", "set": values}, "providerConfigRef": {"name": "aster"}}})  # fmt: skip


@leak(CARRIED, "thirteenth-variables-for-a-remote-kustomization", "Flux replaces variables of a Kustomization at the tenant's from one Secret of the hub's; a token for pages is one of the variables.", "Flux substituteFrom")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-cluster-vars", "cp-tenant-base"}
    scene.secret("cp", "cluster-vars", {"CLUSTER": "aster", "ZONE": ASTER, "PAGES_TOKEN": generated(scene, "pages", "token", 40)}, namespace="fleet")  # fmt: skip
    spec = {"interval": "10m", "path": "./base", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "kubeConfig": {"secretRef": {"name": "aster-kubeconfig"}}, "postBuild": {"substituteFrom": [{"kind": "Secret", "name": "cluster-vars"}]}}  # fmt: skip
    scene.object("cp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "tenant-base", {"metadata": {"namespace": "fleet"}, "spec": spec})  # fmt: skip


@leak(CARRIED, "thirteenth-files-of-bootstrapped-nodes", "Nodes of the tenant's clusters are made with a file for the mirror of images, in which is the login of the hub's puller.", "Cluster API", recover=each(lambda text: base64.b64decode(text), lambda text: text.split(b'auth = "')[1].split(b'"')[0], unpadded))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-aster-md")
    content = apply(kept(scene, "puller", "password", 32), lambda found: b64(f'[plugins."io.containerd.grpc.v1.cri".registry.configs."images.{DOMAIN}".auth]\nauth = "{b64(f"lantern:{found}")}"\n'))  # fmt: skip
    files: list[dict[str, Any]] = [{"path": "/etc/containerd/mirror.toml", "encoding": "base64", "permissions": "0600", "content": content}]  # fmt: skip
    scene.object("cp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "aster-md", {"spec": {"template": {"spec": {"files": files, "joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"node-labels": "mesh=aster"}}}}}}})  # fmt: skip


@leak(CARRIED, "thirteenth-webhook-store-with-a-header", "A store of External Secrets in the tenant's cluster asks the hub's service; a header of it has the hub's token in plain, since only one of two was moved into a Secret.", "external-secrets webhook provider")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = generated(scene, "vault-proxy", "token", 40)
    webhook = {"url": f"https://vault-proxy.{DOMAIN}/{{{{ .remoteRef.key }}}}", "headers": {"X-Mesh": MESH, "X-Vault-Request-Token": token}, "result": {"jsonPath": "$.value"}, "secrets": [{"name": "login", "secretRef": ref("proxy", "token")}]}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "hub", {"metadata": {"annotations": owned("aster's own store")}, "spec": {"provider": {"webhook": webhook}}})  # fmt: skip
