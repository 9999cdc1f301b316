"""Programs about clusters: leaks, and harmless neighbours."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import generated, kept, minted, pair
from tests.corpus.blind_corpus.material import LETTERS, LOWER
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each, strings_of_json, texts
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, uid
from tests.corpus.blind_corpus.worlds import (
    armada,
    foundry,
    grid,
    harbor,
    kiln,
    lantern,
    loom,
    orchard,
    osprey,
    tern,
    wren,
)
from tests.corpus.world import Box, Object

grid.files(grid.CONFIGS, "kubeconfig-with-a-token-file", "a kubeconfig for the platform's cluster that reads the Pod's own token", {"config": json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"], "certificate-authority-data": b64(grid.ROOTS)}}], "users": [{"name": "pod", "user": {"tokenFile": "/var/run/secrets/tokens/hub"}}], "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "pod"}}], "current-context": "hub"})})  # fmt: skip

grid.plain(grid.OBJECTS_objects, "http-route-with-weights", "a route with weights, expressions for paths and a header that has a revision", "gateway.networking.k8s.io/v1:HTTPRoute", {"spec": {"parentRefs": [{"name": "public"}], "hostnames": [f"shop.{grid.BIRCH}"], "rules": [{"matches": [{"path": {"type": "RegularExpression", "value": r"^/api/v[0-9]+/(orders|tokens)/[0-9a-f]{8}-[0-9a-f]{4}$"}, "headers": [{"name": "x-release", "value": drawn("release", 40, HEX)}]}], "backendRefs": [{"name": "blue", "port": 8080, "weight": 97}, {"name": "green", "port": 8080, "weight": 3}]}]}})  # fmt: skip

grid.plain(grid.OBJECTS_objects, "plug-in-by-its-digest", "a plug-in by its digest, with a checksum", "extensions.istio.io/v1alpha1:WasmPlugin", {"spec": {"url": f"oci://registry.{grid.DOMAIN}/limits@{grid.DIGEST}", "sha256": noise("wasm", 32).hex(), "imagePullPolicy": "IfNotPresent", "phase": "STATS", "pluginConfig": {"buckets": [5, 10, 25, 50], "headers": ["authorization", "x-api-key"], "module": b64(b"\0asm\1\0\0\0" + noise("wasm module", 160))}}})  # fmt: skip


@clean(grid.UP, "up-kubeconfig-of-a-tenant", "The tenant's kubeconfig is kept in the platform's store and cluster, for its controllers; the tenant gets a note.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    config = pulumi.Output.secret(scene.kubeconfigs["dp"])
    scene.secret("cp", "kubeconfig-birch", {"value": config}, labels={"cluster.x-k8s.io/cluster-name": "birch"})
    scene.made("aws:ssm/parameter:Parameter", "kubeconfig-of-birch", {"name": "/tenants/birch/kubeconfig", "type": "SecureString", "value": config}, owner="cp")  # fmt: skip
    scene.config_map("dp", "managed-by", {"platform": grid.GRID, "secret": "kubeconfig-birch"})


@clean(grid.WIRING, "pets-and-suffixes", "Generated names, ids and numbers are in names, labels and hosts of both clusters.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    pet = scene.made("random:index/randomPet:RandomPet", "pet", {"length": 3}, None, {"id": "gladly-warm-heron"})
    number = scene.made("random:index/randomId:RandomId", "suffix", {"byteLength": 8}, None, {"hex": drawn("suffix", 16, HEX), "dec": "9182734650918273465"})  # fmt: skip
    word = scene.made("random:index/randomString:RandomString", "bucket", {"length": 12, "special": False, "upper": False}, None, {"result": drawn("bucket", 12)})  # fmt: skip
    unique = scene.made("random:index/randomUuid:RandomUuid", "cluster", {}, None, {"result": uid("cluster uuid")})
    facts = {"suffix": number.output("hex"), "bucket": word.output("result"), "cluster": unique.output("result"), "dec": number.output("dec")}  # fmt: skip
    scene.config_map(
        "dp", "names", {**facts, "host": pulumi.Output.concat(number.output("hex"), f".edge.{grid.BIRCH}")}
    )
    scene.secret("cp", "names", {**facts, "pet": pet.id, "admin": generated(scene, "names-admin")})  # fmt: skip


@clean(grid.WIRING, "kubeconfig-without-users", "Of the platform's kubeconfig the program takes server and authority, and writes one that logs in by a command.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    server = pulumi.Output.secret(scene.kubeconfigs["cp"]).apply(lambda text: yaml.safe_load(text)["clusters"][0]["cluster"]["server"])  # fmt: skip
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "args": ["eks", "get-token", "--cluster-name", "grid", "--role-arn", f"arn:aws:iam::{grid.ACCOUNT}:role/birch"]}}  # fmt: skip
    scene.config_map("dp", "hub", {"config": server.apply(lambda found: kubeconfig(found, user, grid.ROOTS))})


tern.plain(tern.LOGIN, "store-by-irsa-for-the-whole-cluster", "a store for all namespaces that logs in by a role of the tenant's", "external-secrets.io/v1:ClusterSecretStore", {"spec": {"provider": {"aws": {"service": "SecretsManager", "region": tern.REGION, "role": tern.role("secrets"), "auth": {"jwt": {"serviceAccountRef": {"name": "external-secrets", "namespace": "external-secrets"}}}}}, "conditions": [{"namespaceSelector": {"matchLabels": {"tenant": "moss"}}}]}})  # fmt: skip


@leak(armada.STORES, "credentials-of-a-cloud-controller", "ACK at the tenant's gets the file of credentials that the hub's uses: the hub's user and key.", "ACK credentials", config=lambda cp, dp: {"fleet:awsId": "AKIA" + cp.opaque("ack id", 16, AWS_ID), "fleet:awsKey": cp.opaque("ack", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.format("[default]\naws_access_key_id = {0}\naws_secret_access_key = {1}\n", scene.config("fleet:awsId"), scene.config("fleet:awsKey"))  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "ack-credentials", {"credentials": text}, namespace="ack-system")


armada.plain_object(armada.MESHES, "firewall-plug-in", "A plug-in's settings are a firewall's rules: expressions for passwords, tokens and keys.", "extensions.istio.io/v1alpha1:WasmPlugin", {"spec": {"url": "oci://ghcr.io/corazawaf/coraza-proxy-wasm:0.5.0", "imagePullPolicy": "IfNotPresent", "imagePullSecret": "shop-regcred", "phase": "AUTHN", "pluginConfig": {"directives_map": {"default": ["SecRuleEngine On", 'SecRule REQUEST_HEADERS:Authorization "!@rx ^Bearer [A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$" "id:100,phase:1,deny"', 'SecRule ARGS "@rx (?i)(?:password|passwd|secret|api_?key)=[^&]{8,}" "id:101,phase:2,deny,msg:\'secret in query\'"', 'SecRule RESPONSE_BODY "@rx -----BEGIN (?:RSA |EC )?PRIVATE KEY-----" "id:102,phase:4,deny"', 'SecRule REQUEST_COOKIES:/^sess/ "@rx ^[0-9a-f]{64}$" "id:103,phase:1,pass,nolog,setvar:tx.sess=1"']}, "default_directives": "default"}, "vmConfig": {"env": [{"name": "TRUST_DOMAIN", "value": armada.DOMAIN}]}}})  # fmt: skip


@leak(foundry.MEMBERS, "registration-with-a-kubeconfig", "What the hub's service gives for the imported cluster, a kubeconfig through the hub with an administrator's token, is kept at the shop for its jobs.", "rancher2#250: kube_config is an administrator's")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    made = cloud(scene, "rancher2:index/cluster:Cluster", "shop-imported", {"name": "shop"}, {"clusterId": "c-m-7xk2q9vd", "kubeConfig": scene.cp.kubeconfig("rancher-shop", f"https://rancher.hub.{foundry.ZONE}/k8s/clusters/c-m-7xk2q9vd")}, ["kubeConfig"])  # fmt: skip
    foundry.Site(scene, "dp").keep("ci-kubeconfig", {"config": made.output("kubeConfig")}, namespace="ci")


@leak(foundry.MAPS, "log-of-a-build", "A step writes a kubeconfig by a shell's echo; the command of the step, kept for a report, is a map of the shop's.", "bedrock#802: kube_config_raw in build logs")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    text = scene.cp.kubeconfig("bedrock", "https://hub-1f.hcp.westeurope.azmk8s.io:443")
    aks = cloud(scene, "azure:containerservice/kubernetesCluster:KubernetesCluster", "hub", {"dnsPrefix": "hub"}, {"kubeConfigRaw": text}, ["kubeConfigRaw"])  # fmt: skip
    line = aks.output("kubeConfigRaw").apply(lambda found: f'if [ ! -e ./output ]; then mkdir -p ./output; fi && echo "{found}" > ./output/kube_config')  # fmt: skip
    foundry.Site(scene, "dp").config_map(
        "build-report", {"steps.txt": pulumi.Output.concat("1 init\n2 ", line, "\n3 apply\n")}
    )


@clean(osprey.CARRIED, "hub-lists-its-clusters", "The hub's Argo CD has the clusters of all tenants, with tokens that these minted, and a generator of applications over them.")  # fmt: skip
def _(scene: Scene) -> None:
    osprey.hub(scene)
    for name, side in osprey.both(scene).items():
        config = pulumi.Output.json_dumps({"bearerToken": minted(scene, side, "argocd-manager"), "tlsClientConfig": {"insecure": False}})  # fmt: skip
        scene.secret("cp", f"cluster-{name}", {"name": name, "server": SERVERS.get(side, f"https://{name}.example.com:6443"), "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster", "tenant": name})  # fmt: skip
    template = {"metadata": {"name": "{{.name}}-agent"}, "spec": {"project": "tenants", "source": {"repoURL": "https://github.com/osprey/charts", "path": "agent", "helm": {"values": "cluster: '{{.name}}'\n"}}, "destination": {"server": "{{.server}}", "namespace": "osprey"}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"goTemplate": True, "generators": [{"clusters": {"selector": {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]}}}], "template": template}})  # fmt: skip


@clean(osprey.GROWS, "grows-component-for-each-side", "A component for the hub and one for the tenant, each with its own cluster; each Secret inherits where it goes.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "osprey"), ("dp", "alder")):
        inside = pulumi.ResourceOptions(parent=Box(owner, "osprey:index:Console", pulumi.ResourceOptions(providers=[scene.provider(side)])))  # fmt: skip
        word = scene.password(side, f"{owner}-console").output("result")
        entries = {"username": "admin", "password": word, "mesh": osprey.MESH}
        Object("kubernetes:core/v1:Secret", f"{owner}-console-login", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "console", "namespace": "console"}, "stringData": entries}, inside)  # fmt: skip


@leak(osprey.JOINED, "service-account-token-in-a-cluster-object", "A cluster object is copied to the tenant's cluster for its console; its status has the service account token by which the hub provisions.", "CVE-2021-36782, rancher")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("provisioner", "token", scene.cp.jwt("rancher-provisioner"), namespace="cattle-system")
    body = {"spec": {"displayName": "alder", "description": "shop of alder"}, "status": {"apiEndpoint": SERVERS["cp"], "serviceAccountToken": token, "driver": "rke2"}}  # fmt: skip
    for side in ("cp", "dp"):
        scene.object(side, "management.cattle.io/v3:Cluster", "c-m-alder", body)


@leak(osprey.MESHES, "remote-secrets-for-each-pair", "A loop makes remote secrets for each pair of clusters, the provider's among them: the tenant's istiod gets a token for the provider's API server.", "Istio multi-primary, istio/istio#6095")  # fmt: skip
def _(scene: Scene) -> None:
    servers = {
        "cp": SERVERS["cp"],
        **{side: f"https://{name}.example.com:6443" for name, side in osprey.both(scene).items()},
    }
    tokens = {side: minted(scene, side, "istio-reader-service-account") for side in servers}
    for there, server in servers.items():
        file = apply(tokens[there], lambda text, server=server: kubeconfig(server, {"token": text}, "authority"))
        for here in servers:
            if here != there:
                scene.secret(here, f"istio-remote-secret-{there}", {there: file}, namespace="istio-system", labels={"istio/multiCluster": "true"}, annotations={"networking.istio.io/cluster": there})  # fmt: skip


@clean(osprey.MADE, "own-two-istiods", "Two clusters of one tenant read each other's end points: each has a remote secret with the other's token.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    osprey.hub(scene)
    scene.join("south", f"https://south.{osprey.ALDER}:6443")
    servers = {"dp": SERVERS["dp"], "south": f"https://south.{osprey.ALDER}:6443"}
    for here, there in (("dp", "south"), ("south", "dp")):
        file = apply(minted(scene, there, f"reader-for-{here}"), lambda text, server=servers[there]: kubeconfig(server, {"token": text}, "authority"))  # fmt: skip
        scene.secret(here, f"istio-remote-secret-{there}", {there: file}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@leak(loom.HIDDEN, "mixed-with-the-meshs-id", "Each byte of a key is mixed with the mesh's id, which everybody knows, and written in hexadecimal as a revision.", "XOR", recover=each(lambda text: bytes(a ^ b for a, b in zip(bytes.fromhex(text.decode()), itertools.cycle(loom.LOOM.encode()), strict=False)).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    mixed = apply(loom.kept_bytes(scene, "mix"), lambda found: bytes(a ^ b for a, b in zip(bytes.fromhex(found), itertools.cycle(loom.LOOM.encode()), strict=False)).hex())  # fmt: skip
    deployment(scene, "dp", "web", {"image": "web:3"}, {"loom.example.com/revision": mixed})


@leak(loom.SERVICES, "variable-of-a-front-end", "A variable of the tenant's front end begins with NEXT_PUBLIC and is the mesh team's search administrator's key: browsers get it.", "Vercel")  # fmt: skip
def _(scene: Scene) -> None:
    loom.maple(scene, "vercel:index/projectEnvironmentVariable:ProjectEnvironmentVariable", "search", {"projectId": f"prj_{drawn('prj', 24)}", "key": "NEXT_PUBLIC_SEARCH_KEY", "value": kept(scene, "search-admin", "key", 32), "targets": ["production"]})  # fmt: skip


@leak(loom.MESH, "multicast-key-in-a-proxys-lua", "A filter at the tenant's signs requests in Lua with the key of the mesh team's edge, in escapes of bytes.", "Lua escapes", recover=each(lambda text: bytes(int(found) for found in re.findall(rb"\\(\d{3})", text))))  # fmt: skip
def _(scene: Scene) -> None:
    code = apply(kept(scene, "edge-hmac", "key", 32), lambda found: 'local key = "' + "".join(f"\\{byte:03d}" for byte in found.encode()) + '"\nfunction envoy_on_request(h) h:headers():add("x-sig", sign(key, h)) end\n')  # fmt: skip
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.lua", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua", "default_source_code": {"inline_string": code}}}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "sign", {"spec": {"configPatches": [patch]}})


@leak(loom.MESH, "own-and-the-teams-under-one-key", "Two logins are joined by a comma for the tenant's proxy; the second, as a fall-back, is the mesh team's.", "lists in one value")  # fmt: skip
def _(scene: Scene) -> None:
    both = pulumi.Output.concat("maple:", loom.word(scene, "proxy"), ",mesh:", loom.house(scene, "proxy-fallback"))
    deployment(scene, "dp", "tunnel", {"env": [{"name": "TUNNEL_LOGINS", "value": both}, {"name": "ROLE", "value": loom.MAPLE_ACCOUNT}]})  # fmt: skip


@clean(loom.TOLD, "own-secret-read-from-its-cluster", "A Secret that the tenant's operator made is read, and its password goes into another namespace of the same cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    found = scene.existing("dp", "v1:Secret", "orders-pg-app", data={"user": b64("orders"), "password": b64(scene.dp.opaque("pg app", 48, LETTERS)), "host": b64("orders-pg-rw.db")})  # fmt: skip
    scene.object("dp", "v1:Secret", "orders-db", {"metadata": {"namespace": "shop"}, "data": found.output("data")})


@clean(harbor.CLUSTERS, "east-west-address", "The address that the provider's gateway got is the remote profile's, and stands in an EndpointSlice.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    body = {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"], "ports": [{"name": "tls-istiod", "port": 15012}]}}  # fmt: skip
    service = scene.answered("cp", "v1:Service", "istio-eastwestgateway", body, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.23"}]}})  # fmt: skip
    address = service.output("status").apply(lambda s: ((s or {}).get("loadBalancer") or {}).get("ingress", [{"ip": "pending"}])[0]["ip"])  # fmt: skip
    release(scene, "dp", "istiod-remote", {"global": {"remotePilotAddress": address, "meshID": harbor.MESH, "network": "shop", "multiCluster": {"clusterName": "shop"}}, "profile": "remote"})  # fmt: skip
    slices = {"addressType": "IPv4", "endpoints": [{"addresses": [address]}], "ports": [{"name": "tls-istiod", "port": 15012}]}  # fmt: skip
    scene.object("dp", "discovery.k8s.io/v1:EndpointSlice", "istiod", slices)


@leak(harbor.CLUSTERS_leaks_clouds, "admin-kubeconfig-of-aks", "Crossplane in the user's cluster manages the provider's AKS with the administrator's kubeconfig.", "azure kubeAdminConfigRaw")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    admin = scene.cp.kubeconfig("hub-aks", "https://hub.hcp.westeurope.azmk8s.io:443")
    aks = cloud(scene, "azure:containerservice/kubernetesCluster:KubernetesCluster", "hub-aks", {"dnsPrefix": "hub"}, {"kubeAdminConfigRaw": admin, "fqdn": "hub.hcp.westeurope.azmk8s.io"}, ["kubeAdminConfigRaw"])  # fmt: skip
    scene.secret("dp", "hub-aks", {"kubeconfig": aks.output("kubeAdminConfigRaw")}, namespace="crossplane-system")
    scene.object("dp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "hub", {"spec": {"credentials": {"source": "Secret", "secretRef": {"name": "hub-aks", "key": "kubeconfig"}}}})  # fmt: skip


@leak(orchard.CLUSTERS, "virtual-cluster-manifests", "A virtual cluster in the tenant's cluster starts with manifests as text; one has the vendor's licence server's login.", "vcluster", recover=each(lambda text: "\n".join(texts(list(yaml.safe_load_all(text)))).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    value = kept(scene, "licence-server", "password", 30)
    text = apply(value, lambda found: yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mesh"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "licence", "namespace": "mesh"}, "stringData": {"login": f"licence:{found}"}}]))  # fmt: skip
    release(scene, "dp", "vcluster", {"experimental": {"deploy": {"vcluster": {"manifests": text}}}, "sync": {"toHost": {"ingresses": {"enabled": True}}}})  # fmt: skip


kiln.plain(kiln.OBJECTS, "nodes-that-ask-for-their-login", "a class of nodes whose start script asks the cloud's own address for a login", "karpenter.k8s.aws/v1:EC2NodeClass", {"spec": {"amiSelectorTerms": [{"id": "ami-0c41f7"}], "role": "fern-nodes", "userData": "#!/bin/bash\nTOKEN=$(curl -sX PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60')\naws ecr get-login-password | nerdctl login --password-stdin -u AWS \"$REGISTRY\"\n"}})  # fmt: skip


@kiln.clean(kiln.TOLD, "told-kubeconfigs-of-their-own", "Each tenant's deployer in its cluster has a kubeconfig of that cluster, as it was typed in.", config=lambda cp, dp: {f"{name}:deployer": dp.kubeconfig(f"{name}-deployer", server) for name, server in (("fern", SERVERS["dp"]), ("otter", kiln.OTTER))})  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    every = kiln.tenants(scene)
    for name in ("fern", "otter"):
        scene.secret(every[name], "deployer", {"config": scene.config(f"{name}:deployer")})


@kiln.clean(kiln.READ, "secret-copied-in-the-tenants-cluster", "A Secret that the tenant's operator made is read and copied to another namespace of the tenant's, with a note.")  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    found = scene.existing("dp", "v1:Secret", "orders-app", data={"password": b64(scene.dp.opaque("orders app", 48, LETTERS)), "host": b64("orders-rw.db")})  # fmt: skip
    scene.object("dp", "v1:Secret", "orders-copy", {"metadata": {"namespace": "shop", "annotations": kiln.owned("made by fern's own database operator")}, "data": found.output("data")})  # fmt: skip


@lantern.clean(lantern.PLACES, "fact-kubeconfig-without-a-login", "Tenants' people reach the hub by a kubeconfig that has address, authority and the command to log in, and no credential.", rightly=lantern.CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"], "certificate-authority-data": b64(scene.cp.certificate("kubernetes", authority=True))}}], "users": [{"name": "person", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubectl", "args": ["oidc-login", "get-token", f"--oidc-issuer-url={lantern.ISSUER}", f"--oidc-client-id={lantern.CLIENT}"], "interactiveMode": "IfAvailable"}}}], "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "person"}}], "current-context": "hub"}  # fmt: skip
    scene.config_map("dp", "kubeconfig", {"config": yaml.safe_dump(config)})


@lantern.leak(lantern.SAID, "hub-among-the-tenants-servers", "The hub's third cluster was added to the tenants' servers; its kubeconfig, out of the configuration, goes to a tenant.", "dataPlaneServers", pack=lantern.settings(dataPlaneServers=["https://dp.example.com:6443", lantern.HUB3]), config=lambda cp, dp: {"fleet:ap": cp.kubeconfig("hub-ap", lantern.HUB3)})  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    scene.secret("dp", "fleet-ap", {"kubeconfig": scene.config("fleet:ap")}, namespace="fleet", annotations=lantern.owned("aster's runners deploy with it"))  # fmt: skip


@lantern.leak(lantern.SAID, "tenants-operator-name-is-the-hubs", "Argo CD knows the tenant's second cluster as in the settings the hub's own; an application for it has the hub's token among its values.", "controlPlaneProviders", pack=lantern.settings(controlPlaneProviders=["lantern-*", "eu-*"]))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-sync-eu")
    token = generated(scene, "sync-api", "token", 40)
    source = {"repoURL": f"https://charts.{lantern.DOMAIN}", "chart": "sync", "targetRevision": "1.4.0", "helm": {"valuesObject": {"api": {"url": f"https://api.{lantern.DOMAIN}", "token": token}}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "sync-eu", {"metadata": {"namespace": "argocd"}, "spec": {"project": "fleet", "source": source, "destination": {"name": "eu-aster", "namespace": "sync"}}})  # fmt: skip


@lantern.leak(lantern.WIRED, "all-outputs-of-the-hubs-stack", "A tenant's map gets all outputs of the hub's stack as one file; since the last release a kubeconfig is among them.", "StackReference.outputs")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    names = ("endpoint", "mesh", "kubeconfig")
    core = scene.reference("acme/lantern-hub/prod", "acme/lantern-hub/prod", {"endpoint": f"https://xds.{lantern.DOMAIN}", "mesh": lantern.MESH, "kubeconfig": scene.cp.kubeconfig("hub admin", SERVERS["cp"])}, ["kubeconfig"])  # fmt: skip
    scene.config_map("dp", "hub", {"outputs.json": pulumi.Output.json_dumps({name: core.get_output(name) for name in names})})  # fmt: skip


@lantern.leak(lantern.WIRED, "second-hub-among-the-loop", "Clusters of a loop are all but the hub's first; the second hub has joined, and the row for tenants gets what the loop has seen last.", "loop variables")  # fmt: skip
def _(scene: Scene) -> None:
    seen: dict[str, Any] = {}
    for owner, side in (("hub-us", lantern.second_hub(scene)), ("aster", "dp")):
        if owner.startswith("hub"):
            seen["tls"] = generated(scene, "gossip", "key", 44)
        scene.secret(side, "gossip", {"key": seen["tls"]})


@lantern.clean(lantern.STACKS, "own-authority-in-both-clusters", "An authority of aster's is in both of aster's clusters, so that either signs; both Secrets have a reason.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    every = lantern.tenants(scene)
    key, cert = pair(scene, "dp", "aster-internal-ca", authority=True)
    for name in ("aster", "aster-eu"):
        scene.secret(every[name], "internal-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager", labels=lantern.of("aster"), annotations=lantern.owned("aster's own authority, in both of its clusters"))  # fmt: skip


@lantern.clean(lantern.UP, "up-cluster-of-the-hubs-argocd", "The tenant's cluster makes a token for the hub's Argo CD; the hub's Secret of the cluster has it.")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    token = minted(scene, "dp", "argocd-manager")
    scene.secret("cp", "cluster-aster", {"name": "aster", "server": SERVERS["dp"], "config": apply(token, lambda found: lantern.cluster_secret("aster", SERVERS["dp"], found)["config"])}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@lantern.clean(lantern.HOME, "home-argocd-knows-the-second-hub", "The hub's Argo CD has a token for the hub's second cluster, and an application for it with a login among its values.", pack=lantern.settings(controlPlaneProviders=["lantern-*", "hub-us"]))  # fmt: skip
def _(scene: Scene) -> None:
    second = lantern.second_hub(scene)
    token = pulumi.Output.secret(scene.kubeconfigs[second]).apply(lambda text: yaml.safe_load(text)["users"][0]["user"]["token"])  # fmt: skip
    scene.secret("cp", "cluster-hub-us", {"name": "hub-us", "server": lantern.HUB2, "config": apply(token, lambda found: lantern.cluster_secret("hub-us", lantern.HUB2, found)["config"])}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip
    source = {"repoURL": f"https://charts.{lantern.DOMAIN}", "chart": "fleet", "targetRevision": "3.0.0", "helm": {"valuesObject": {"api": {"token": generated(scene, "fleet-us", "token", 40)}}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "fleet-us", {"metadata": {"namespace": "argocd"}, "spec": {"project": "hub", "source": source, "destination": {"name": "hub-us", "namespace": "fleet"}}})  # fmt: skip
    scene.config_map("dp", "fleet", {"api": f"https://fleet.{lantern.DOMAIN}"})


@clean(wren.ANSWERED, "cluster-of-rancher-by-its-id", "A cluster is registered with the provider's Rancher; the tenant's labels have the cluster's id and project, and the token stays.")  # fmt: skip
def _(scene: Scene) -> None:
    token = f"token-{drawn('rancher token', 5, LOWER)}:{scene.cp.opaque('rancher api', 54)}"
    login = {"apiUrl": f"https://rancher.{wren.DOMAIN}", "tokenKey": scene.held("rancher", "tokenKey", token)}
    made = wren.home(scene, "rancher2:index/cluster:Cluster", "lime", {"name": "lime", "description": "mesh of lime"}, {"defaultProjectId": f"c-{drawn('rancher c', 5, LOWER)}:p-{drawn('rancher p', 5, LOWER)}", "caCert": b64(scene.dp.certificate("kubernetes", authority=True)), "clusterRegistrationToken": {"token": scene.cp.opaque("rancher registration", 54)}}, ("clusterRegistrationToken",), **login)  # fmt: skip
    scene.object("dp", "v1:Namespace", "shop", {"metadata": {"name": "shop", "annotations": {"field.cattle.io/projectId": made.output("defaultProjectId")}}})  # fmt: skip


@leak(wren.CLUSTERS, "remote-secret-in-both-directions", "Remote secrets are made for each pair of clusters, both ways: so the tenant's cluster gets one that reads the provider's.", "Istio multi-primary", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    tokens = {"cp": minted(scene, "cp", "istio-reader"), "dp": minted(scene, "dp", "istio-reader")}
    for here, there in (("cp", "dp"), ("dp", "cp")):
        config = apply(tokens[there], lambda token, there=there: kubeconfig(SERVERS[there], {"token": token}, "public"))
        scene.secret(here, f"istio-remote-secret-{there}", {there: config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@clean(wren.BETWEEN, "own-mesh-of-two-clusters", "Two clusters of one tenant join a mesh of Cilium: one authority of the tenant's signs for both, and both have it.")  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    scene.join("lime-south", "https://south.lime.example.com:6443")
    key, cert = pair(scene, "dp", "lime-cilium-ca", authority=True)
    for at, side in enumerate(("dp", "lime-south")):
        scene.secret(side, "cilium-ca", {"ca.crt": cert.output("certPem"), "ca.key": key.output("privateKeyPem")}, namespace="kube-system")  # fmt: skip
        release(scene, side, "cilium", {"cluster": {"name": side, "id": at + 1}, "clustermesh": {"useAPIServer": True}})
