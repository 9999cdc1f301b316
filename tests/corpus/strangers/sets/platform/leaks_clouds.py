"""Leaks of platform teams: what clusters, clouds and stores gave the provider is passed on to the user's cluster."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import after, each
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.sets.field.world import ISSUER
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, pull_secret, uid

from .world import ACCOUNT, HUB, MESH, REGION, REGISTRY, daemon, hub

CLUSTERS, KEYS, CLOUDS, STORES = (
    "platform: logins of clusters",
    "platform: keys",
    "platform: what clouds gave",
    "platform: logins of stores and buses",
)

# Logins of clusters ---------------------------------------------------------------------------------------------------


@leak(CLUSTERS, "platform-remote-secret-the-wrong-way", "istioctl's remote secret is made for the provider's cluster and put into the user's: its reader's token goes with it.", "istioctl create-remote-secret")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "cp", "istio-reader")
    text = token.apply(lambda found: kubeconfig(SERVERS["cp"], {"token": found}, "the provider's authority"))
    scene.secret("dp", "istio-remote-secret-hub", {"hub": text}, labels={"istio/multiCluster": "true"}, annotations={"networking.istio.io/cluster": "hub"}, namespace="istio-system")  # fmt: skip


@leak(CLUSTERS, "platform-argocd-knows-the-hub", "The user's Argo CD gets the provider's cluster too, because a loop registers all clusters everywhere.", "Argo CD cluster secrets")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    tokens = {side: minted(scene, side, f"argocd-manager-{side}") for side in ("cp", "dp")}
    for side, token in tokens.items():
        config = pulumi.Output.json_dumps({"bearerToken": token, "tlsClientConfig": {"insecure": False}})
        data = {"name": side, "server": SERVERS[side], "config": config}
        labels = {"argocd.argoproj.io/secret-type": "cluster"}
        scene.secret("dp", f"cluster-{side}", data, labels=labels, namespace="argocd")


@leak(CLUSTERS, "platform-pipeline-kubeconfig", "A pipeline in the user's cluster deploys with the kubeconfig that the provider's stack puts out.", "StackReferences")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"kubeconfig": scene.cp.kubeconfig("platform-eks", "https://hub.eks.example.com"), "region": REGION}
    other = scene.reference("hub", "organization/mesh-hub/prod", outputs, ["kubeconfig"])
    scene.secret("dp", "deploy-target", {"kubeconfig": other.require_output("kubeconfig")}, namespace="tekton")
    scene.config_map("dp", "deploy-settings", {"region": other.get_output("region")}, namespace="tekton")


@leak(CLUSTERS, "platform-cluster-token-by-a-call", "A call makes a token for the provider's EKS; it is written into a file for a dashboard at the user's.", "getClusterAuth")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = scene.invoke("aws:eks/getClusterAuth:getClusterAuth", {"name": "hub", "token": "k8s-aws-v1." + scene.cp.opaque("eks auth", 80, LETTERS)})["token"]  # fmt: skip
    text = token.apply(lambda found: kubeconfig("https://hub.eks.example.com", {"token": found}, "the cloud's"))
    release(scene, "dp", "headlamp", {"config": {"extraKubeconfigs": [text]}})


@leak(CLUSTERS, "platform-admin-kubeconfig-of-aks", "Crossplane in the user's cluster manages the provider's AKS with the administrator's kubeconfig.", "azure kubeAdminConfigRaw")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    admin = scene.cp.kubeconfig("hub-aks", "https://hub.hcp.westeurope.azmk8s.io:443")
    aks = cloud(scene, "azure:containerservice/kubernetesCluster:KubernetesCluster", "hub-aks", {"dnsPrefix": "hub"}, {"kubeAdminConfigRaw": admin, "fqdn": "hub.hcp.westeurope.azmk8s.io"}, ["kubeAdminConfigRaw"])  # fmt: skip
    scene.secret("dp", "hub-aks", {"kubeconfig": aks.output("kubeAdminConfigRaw")}, namespace="crossplane-system")
    scene.object("dp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "hub", {"spec": {"credentials": {"source": "Secret", "secretRef": {"name": "hub-aks", "key": "kubeconfig"}}}})  # fmt: skip


@leak(CLUSTERS, "platform-all-of-master-auth", "All of GKE's masterAuth becomes values of an agent, the client's key with the authority's certificate.", "gcp masterAuth")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    auth = {"clientKey": scene.cp.key("gke client"), "clientCertificate": "the client's", "clusterCaCertificate": "the cloud's"}  # fmt: skip
    gke = cloud(scene, "gcp:container/cluster:Cluster", "hub-gke", {"location": "europe-west1"}, {"endpoint": "192.0.2.17", "masterAuth": auth}, ["masterAuth"])  # fmt: skip
    release(scene, "dp", "hub-agent", {"hub": {"host": gke.output("endpoint"), "auth": gke.output("masterAuth")}})


@leak(CLUSTERS, "platform-copied-kubeconfig-secret", "A Secret that Cluster API made for the provider's cluster is read and copied, data and all.", "Secret.get")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    found = scene.existing("cp", "v1:Secret", "hub-kubeconfig", data={"value": b64(scene.cp.kubeconfig("hub-admin", SERVERS["cp"]))})  # fmt: skip
    scene.object("dp", "v1:Secret", "hub-kubeconfig", {"data": found.output("data"), "type": "cluster.x-k8s.io/secret"})


@leak(CLUSTERS, "platform-cluster-mesh-certificate", "To join two networks the client's key of the provider's cluster mesh is copied to the user's.", "Cilium cluster mesh", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "clustermesh-remote")
    data = {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
    scene.secret("cp", "clustermesh-apiserver-remote-cert", data, namespace="kube-system")
    remote = {"name": "hub", "address": "192.0.2.8", "tls": {name[4:]: apply(pem, b64) for name, pem in data.items()}}
    release(scene, "dp", "cilium", {"clustermesh": {"useAPIServer": True, "config": {"enabled": True, "clusters": [remote]}}})  # fmt: skip


@leak(CLUSTERS, "platform-broker-of-networks", "The user's Submariner joins with the broker's token, which may write to the provider's cluster.", "Submariner")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "cp", "submariner-k8s-broker-admin")
    release(scene, "dp", "submariner", {"broker": {"server": "cp.example.com:6443", "token": token, "namespace": "submariner-k8s-broker"}, "ipsec": {"psk": "set-by-operator"}})  # fmt: skip


# Keys -----------------------------------------------------------------------------------------------------------------


@leak(KEYS, "platform-shared-root", "So that meshes trust each other the provider's authority, key and all, is cacerts in every cluster.", "plug-in CA certificates")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "shared-root", authority=True)
    files = {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem"), "root-cert.pem": cert.output("certPem"), "cert-chain.pem": cert.output("certPem")}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "cacerts", files, namespace="istio-system")


@leak(KEYS, "platform-issuer-copied", "cert-manager in the user's cluster gets the issuer of the provider's, with its authority's key.", "cert-manager CA issuers")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    data = {"tls.crt": b64(scene.cp.certificate("issuing", authority=True)), "tls.key": b64(scene.cp.key("issuing"))}
    held = scene.existing("cp", "v1:Secret", "platform-issuing-ca", data=data)
    scene.object("dp", "v1:Secret", "issuing-ca", {"data": held.output("data"), "type": "kubernetes.io/tls"})
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "issuing", {"spec": {"ca": {"secretName": "issuing-ca"}}})


@leak(KEYS, "platform-spire-upstream", "A SPIRE server at the user's has the provider's upstream authority on disk, in a map.", "SPIRE UpstreamAuthority disk")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "spire-upstream", authority=True)
    scene.secret("cp", "spire-upstream", {"key": key.output("privateKeyPem"), "cert": cert.output("certPem")})
    scene.config_map("dp", "spire-upstream", {"upstream.key": key.output("privateKeyPemPkcs8"), "upstream.crt": cert.output("certPem")})  # fmt: skip


@leak(KEYS, "platform-private-for-public", "A rule wants the key that checks the provider's tokens; the program hands it the one that signs.", "mixed up outputs")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "token-signer")
    scene.secret("cp", "token-signer", {"key.pem": key.output("privateKeyPem"), "pub.pem": key.output("publicKeyPem")})
    deployment(scene, "dp", "api", {"env": [{"name": "JWT_PUBLIC_KEY", "value": key.output("privateKeyPem")}]})


@leak(KEYS, "platform-whole-key-set", "The key set for the user's mesh is the provider's own, with the private number in it.", "private JWKs")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    keys = pulumi.Output.secret(json.dumps({"keys": [scene.cp.jwk("issuer", private=True)]}))
    scene.secret("cp", "issuer-keys", {"jwks.json": keys})
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "platform", {"spec": {"jwtRules": [{"issuer": ISSUER, "jwks": keys}]}})  # fmt: skip


@leak(KEYS, "platform-sops-key-for-all", "One key opens the encrypted manifests of the platform; each cluster's Flux gets it.", "Flux and SOPS", config=lambda cp, dp: {"platform:age": "AGE-SECRET-KEY-1" + cp.opaque("age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")})  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        scene.secret(side, "sops-age", {"age.agekey": scene.config("platform:age")}, namespace="flux-system")


@leak(KEYS, "platform-sealing-key-restored", "The controller that opens sealed Secrets at the user's is started with the key of the provider's.", "sealed-secrets")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.existing("cp", "v1:Secret", "sealed-secrets-key", data={"tls.crt": b64(scene.cp.certificate("sealed")), "tls.key": b64(scene.cp.rsa("sealed"))})  # fmt: skip
    labels = {"sealedsecrets.bitnami.com/sealed-secrets-key": "active"}
    scene.object("dp", "v1:Secret", "sealed-secrets-key", {"data": found.output("data"), "metadata": {"labels": labels}})  # fmt: skip


@leak(KEYS, "platform-flux-of-the-platform", "The user's Flux reads the platform's repository with the platform's own deploy key.", "Flux deploy keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "platform-repository")
    data = {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh")}
    scene.secret("cp", "flux-system", data, namespace="flux-system")
    scene.secret("dp", "platform-repository", data, namespace="flux-system")


@leak(KEYS, "platform-signing-key-for-builds", "The key that signs the platform's images is given to builds in the user's cluster.", "cosign.key", config=lambda cp, dp: {"platform:cosign": cp.key("cosign"), "platform:cosignPassword": cp.opaque("cosign", 24)})  # fmt: skip
def _(scene: Scene) -> None:
    data = {"cosign.key": scene.config("platform:cosign"), "cosign.password": scene.config("platform:cosignPassword")}
    scene.secret("cp", "signing", data, namespace="ci")
    scene.secret("dp", "signing-secrets", data, namespace="tekton-chains")


@leak(KEYS, "platform-encryption-at-rest", "The user's machines get the file by which the provider's API server encrypts its Secrets.", "EncryptionConfiguration")  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "at-rest").output("base64")
    text = key.apply(lambda found: yaml.safe_dump({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [{"resources": ["secrets"], "providers": [{"aescbc": {"keys": [{"name": "k1", "secret": found}]}}, {"identity": {}}]}]}))  # fmt: skip
    scene.secret("cp", "encryption", {"enc.yaml": text}, namespace="kube-system")
    scene.object("dp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "workers", {"spec": {"template": {"spec": {"files": [{"path": "/etc/kubernetes/enc.yaml", "content": text}]}}}})  # fmt: skip


@leak(KEYS, "platform-tunnel-of-the-hub", "Both ends of a tunnel get one file with the hub's private key.", "WireGuard", config=lambda cp, dp: {"platform:wireguard": b64(cp.raw("wireguard"))}, recover=each(after(b"PrivateKey = ", lambda t: base64.b64decode(t).hex().encode())))  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.concat("[Interface]\nPrivateKey = ", scene.config("platform:wireguard"), f"\nListenPort = 51820\n[Peer]\nPublicKey = {b64(noise('wg peer', 32))}\nAllowedIPs = 10.8.0.0/24\n")  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "wireguard", {"wg0.conf": text})


# What clouds gave -----------------------------------------------------------------------------------------------------


@leak(CLOUDS, "platform-store-keys", "The user's store of secrets reads the provider's account with an access key of the provider's.", "External Secrets and IAM keys")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "secrets-reader", {"user": "secrets-reader"}, {"secret": scene.cp.opaque("reader", 40, LETTERS), "keyId": "AKIA" + drawn("reader", 16, AWS_ID)}, ["secret"])  # fmt: skip
    scene.secret("dp", "awssm-secret", {"access-key": key.output("keyId"), "secret-access-key": key.output("secret")})
    auth = {"secretRef": {"accessKeyIDSecretRef": {"name": "awssm-secret", "key": "access-key"}, "secretAccessKeySecretRef": {"name": "awssm-secret", "key": "secret-access-key"}}}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "platform", {"spec": {"provider": {"aws": {"service": "SecretsManager", "region": REGION, "auth": auth}}}})  # fmt: skip


@leak(CLOUDS, "platform-dns-account", "cert-manager at the user's proves names with the key of the service account that administers the provider's zones.", "gcp service account keys")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    file = json.dumps({"type": "service_account", "project_id": "platform-prod", "private_key_id": noise("kid", 20).hex(), "private_key": "-", "client_email": "dns@platform-prod.iam.gserviceaccount.com", "token": scene.cp.opaque("dns account", 40, LETTERS)})  # fmt: skip
    key = cloud(scene, "gcp:serviceaccount/key:Key", "dns-admin", {"serviceAccountId": "dns"}, {"privateKey": b64(file), "name": "projects/p/keys/1"}, ["privateKey"])  # fmt: skip
    text = key.output("privateKey").apply(lambda found: base64.b64decode(found).decode())
    scene.secret("dp", "clouddns-dns01-solver", {"key.json": text}, namespace="cert-manager")


@leak(CLOUDS, "platform-storage-connection", "Measurements of the user's go to the provider's storage by the account's connection string.", "azure primaryConnectionString")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = f"DefaultEndpointsProtocol=https;AccountName=platformmetrics;AccountKey={scene.cp.opaque('storage', 86, LETTERS)}==;EndpointSuffix=core.windows.net"  # fmt: skip
    account = cloud(scene, "azure:storage/account:Account", "metrics", {"accountTier": "Standard"}, {"primaryConnectionString": text}, ["primaryConnectionString"])  # fmt: skip
    objstore = account.output("primaryConnectionString").apply(lambda t: yaml.safe_dump({"type": "AZURE", "config": {"storage_account": "platformmetrics", "storage_connection_string": t, "container": "thanos"}}))  # fmt: skip
    release(scene, "dp", "thanos", {"objstoreConfig": objstore})


@leak(CLOUDS, "platform-registry-token", "For pulls at the user's a call gets the token of the provider's whole account at its registry.", "ecr getAuthorizationToken")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    found = scene.invoke("aws:ecr/getAuthorizationToken:getAuthorizationToken", {"password": scene.cp.opaque("ecr", 120, LETTERS), "userName": "AWS"})  # fmt: skip
    login = pull_secret(f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com", found["userName"], found["password"])
    scene.secret("dp", "ecr", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@leak(CLOUDS, "platform-robot-account", "Namespaces of the user's pull with the robot that may push all of the platform's images.", "harbor robots")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    robot = cloud(scene, "harbor:index/robotAccount:RobotAccount", "ci", {"name": "ci", "level": "system"}, {"fullName": "robot$ci", "secret": scene.cp.opaque("robot", 32, LETTERS)}, ["secret"])  # fmt: skip
    login = pull_secret(REGISTRY, robot.output("fullName"), robot.output("secret"))
    scene.secret("cp", "ci-registry", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")
    for team in ("cart", "search"):
        scene.secret("dp", f"regcred-{team}", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace=team)  # fmt: skip


@leak(CLOUDS, "platform-key-of-a-network", "A router at the user's joins the provider's private network with a reusable key of its tailnet.", "tailscale auth keys")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "tailscale:index/tailnetKey:TailnetKey", "routers", {"reusable": True, "tags": ["tag:platform"]}, {"key": "tskey-auth-" + scene.cp.opaque("tailnet", 40, LETTERS)}, ["key"])  # fmt: skip
    daemon(scene, "dp", "subnet-router", [{"name": "TS_AUTHKEY", "value": key.output("key")}, {"name": "TS_ROUTES", "value": "10.0.0.0/8"}])  # fmt: skip


@leak(CLOUDS, "platform-unseal", "What initialised the provider's Vault is kept as a command's output, and a job at the user's gets the root token of it.", "vault operator init")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = json.dumps({"unseal_keys_b64": [scene.cp.opaque("unseal", 44, LETTERS)], "root_token": "hvs." + scene.cp.opaque("root", 24, LETTERS)})  # fmt: skip
    made = cloud(scene, "command:local:Command", "vault-init", {"create": "vault operator init -format=json"}, {"stdout": text}, ["stdout"])  # fmt: skip
    scene.secret("cp", "vault-init", {"init.json": made.output("stdout")}, namespace="vault")
    token = made.output("stdout").apply(lambda found: json.loads(found)["root_token"] if found else "")
    pod = {"restartPolicy": "Never", "containers": [{"name": "setup", "image": "vault:1.18", "env": [{"name": "VAULT_TOKEN", "value": token}], "args": ["auth", "enable", "-path=shop", "kubernetes"]}]}  # fmt: skip
    scene.object("dp", "batch/v1:Job", "vault-setup", {"spec": {"template": {"spec": pod}}})


# Stores and buses -----------------------------------------------------------------------------------------------------


@leak(STORES, "platform-database-address", "A Deployment at the user's has the whole address of the provider's database, with its generated password.", "connection strings")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = scene.password("cp", "aurora-root").output("result")
    rds = cloud(scene, "aws:rds/cluster:Cluster", "aurora", {"engine": "aurora-postgresql", "masterUsername": "root", "masterPassword": value}, {"endpoint": f"a.cluster-c4k2x9q7.{REGION}.rds.amazonaws.com"})  # fmt: skip
    url = pulumi.Output.format("postgresql://{0}:{1}@{2}:5432/catalog", "root", value, rds.output("endpoint"))
    deployment(scene, "dp", "catalog", {"env": [{"name": "DATABASE_URL", "value": url}]})


@leak(STORES, "platform-document-store", "A chart of the user's is pointed at the provider's document store by the address that the store's package made.", "connection strings")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = f"mongodb+srv://hub:{scene.cp.opaque('mongo', 24, LETTERS)}@hub.x7k2m.mongodb.net/?retryWrites=true"
    made = cloud(scene, "scaleway:mongodb/instance:Instance", "documents", {"version": "7.0"}, {"uri": text}, ["uri"])
    release(scene, "dp", "catalog", {"mongodb": {"enabled": False}, "externalMongodb": {"uri": made.output("uri")}})


@leak(STORES, "platform-limits-cache", "Limits of rates at the user's count in the provider's cache; its token is in the service's values.", "elasticache auth tokens")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = generated(scene, "limits", "auth-token")
    cache = cloud(scene, "aws:elasticache/replicationGroup:ReplicationGroup", "limits-cache", {"authToken": token, "transitEncryptionEnabled": True}, {"primaryEndpointAddress": "master.limits.x7k2m9.euw1.cache.amazonaws.com"})  # fmt: skip
    env = [{"name": "REDIS_URL", "value": cache.output("primaryEndpointAddress")}, {"name": "REDIS_AUTH", "value": token}, {"name": "REDIS_TLS", "value": "true"}]  # fmt: skip
    deployment(scene, "dp", "ratelimit", {"env": env})


@leak(STORES, "platform-connector", "A connector at the user's writes to the provider's bus with the bus's own administrator's key.", "confluent API keys")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "confluentcloud:index/apiKey:ApiKey", "admin-key", {"displayName": "admin"}, {"secret": scene.cp.opaque("confluent", 64, LETTERS), "key": drawn("ck", 16, HEX.upper())}, ["secret"])  # fmt: skip
    jaas = pulumi.Output.format("org.apache.kafka.common.security.plain.PlainLoginModule required username='{0}' password='{1}';", "ADMIN", key.output("secret"))  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaConnector", "orders-sink", {"spec": {"class": "io.debezium.connector.postgresql.PostgresConnector", "config": {"schema.history.internal.producer.sasl.jaas.config": jaas, "topic.prefix": "shop"}}})  # fmt: skip


@leak(STORES, "platform-dump-job", "A nightly job at the user's dumps the provider's database; its login is in the command line.", "credentials in arguments")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = kept(scene, "reporting", "password", 28)
    line = pulumi.Output.concat("pg_dump postgresql://reporting:", value, f"@db.{HUB}/billing | gzip > /out/billing.gz")
    pod = {"restartPolicy": "OnFailure", "containers": [{"name": "dump", "image": "postgres:16", "command": ["sh", "-c", line]}]}  # fmt: skip
    scene.object("dp", "batch/v1:CronJob", "dump", {"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}})  # fmt: skip


@leak(STORES, "platform-info-map", "A map for support has all that the program knows of the hub, the administrator's password with the rest.", "Output.all and json.dumps")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    facts: dict[str, Any] = {"host": HUB, "mesh": MESH, "tenant": uid("tenant"), "admin": generated(scene, "support-admin")}  # fmt: skip
    text = pulumi.Output.all(**facts).apply(lambda found: json.dumps(found, indent=2))
    scene.config_map("dp", "hub-info", {"info.json": text})
