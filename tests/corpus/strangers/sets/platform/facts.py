"""Harmless, of platform teams: what everybody may know of the provider's clusters, clouds and keys, in the user's cluster."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, own, pair
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.sets.field.world import CLIENT, ISSUER
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, noise, uid

from .world import ACCOUNT, HUB, MESH, REGION, REGISTRY, hub

CLOUDS, CLUSTERS, TRUST = (
    "platform: facts of the provider's clouds",
    "platform: facts of the provider's cluster",
    "platform: public halves and trust",
)
CERTIFICATE = "a certificate differs when its key does"
PUBLIC = "a public key differs when its key does"

# Clouds ---------------------------------------------------------------------------------------------------------------


@clean(CLOUDS, "platform-eks-facts", "Of the provider's EKS cluster the user's agent gets the address, the authority's certificate and the issuer.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    pem = b64("the cloud's own authority, the same for any secret")
    eks = cloud(scene, "aws:eks/cluster:Cluster", "hub-eks", {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/eks", "version": "1.31"}, {"endpoint": f"https://{drawn('hub eks', 32, HEX.upper())}.gr7.{REGION}.eks.amazonaws.com", "certificateAuthority": {"data": pem}, "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{REGION}.amazonaws.com/id/{drawn('hub eks', 32, HEX.upper())}"}]}]})  # fmt: skip
    issuer = eks.output("identities").apply(lambda found: found[0]["oidcs"][0]["issuer"] if found else "")
    values = {"hub": {"endpoint": eks.output("endpoint"), "caData": eks.output("certificateAuthority")["data"], "issuer": issuer}}  # fmt: skip
    release(scene, "dp", "hub-agent", values)


@clean(CLOUDS, "platform-gke-authority", "GKE marks all of masterAuth; the user gets the certificate of the authority out of it, and the address.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    authority = b64("the cloud's own authority, the same for any secret")
    auth = {"clientKey": b64(scene.cp.key("gke client")), "clusterCaCertificate": authority, "password": ""}
    gke = cloud(scene, "gcp:container/cluster:Cluster", "hub-gke", {"location": "europe-west1", "name": "hub"}, {"endpoint": "192.0.2.17", "masterAuth": auth, "workloadIdentityConfig": {"workloadPool": "platform-prod.svc.id.goog"}}, ["masterAuth"])  # fmt: skip
    public = gke.output("masterAuth").apply(lambda found: (found or {}).get("clusterCaCertificate", ""))
    scene.config_map("dp", "hub", {"ca": public, "host": gke.output("endpoint"), "pool": gke.output("workloadIdentityConfig")["workloadPool"]})  # fmt: skip


@clean(CLOUDS, "platform-aks-facts", "Of AKS, which gives kubeconfigs too, the user gets the name and the issuer.")
def _(scene: Scene) -> None:
    hub(scene)
    admin = scene.cp.kubeconfig("hub-aks", "https://hub-aks.hcp.westeurope.azmk8s.io:443")
    aks = cloud(scene, "azure:containerservice/kubernetesCluster:KubernetesCluster", "hub-aks", {"dnsPrefix": "hub", "location": "westeurope"}, {"kubeConfigRaw": admin, "kubeAdminConfigRaw": admin, "fqdn": "hub-4f7k2m9q.hcp.westeurope.azmk8s.io", "oidcIssuerUrl": f"https://westeurope.oic.prod-aks.azure.com/{uid('t')}/{uid('aks')}/"}, ["kubeConfigRaw", "kubeAdminConfigRaw"])  # fmt: skip
    scene.secret("cp", "hub-aks", {"kubeconfig": aks.output("kubeConfigRaw")})
    scene.config_map("dp", "hub", {"fqdn": aks.output("fqdn"), "issuer": aks.output("oidcIssuerUrl")})


@clean(CLOUDS, "platform-jdbc-without-login", "The provider's database has a generated password; the user's application, which logs in by IAM, gets an address.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = generated(scene, "aurora")
    aurora = cloud(scene, "aws:rds/cluster:Cluster", "aurora-cluster", {"engine": "aurora-postgresql", "masterUsername": "root", "masterPassword": value, "databaseName": "catalog", "port": 5432}, {"endpoint": f"catalog.cluster-c4k2x9q7.{REGION}.rds.amazonaws.com", "readerEndpoint": f"catalog.cluster-ro-c4k2x9q7.{REGION}.rds.amazonaws.com"})  # fmt: skip
    url = pulumi.Output.format("jdbc:aws-wrapper:postgresql://{0}:{1}/{2}?wrapperPlugins=iam", aurora.output("readerEndpoint"), 5432, "catalog")  # fmt: skip
    deployment(scene, "dp", "catalog", {"env": [{"name": "JDBC_URL", "value": url}, {"name": "DB_HOST", "value": aurora.output("endpoint")}]})  # fmt: skip


@clean(CLOUDS, "platform-brokers", "The addresses of the provider's Kafka are the user's values; its login stays.")
def _(scene: Scene) -> None:
    hub(scene)
    brokers = ",".join(f"b-{at}.hub.x7k2m9.c4.kafka.{REGION}.amazonaws.com:9096" for at in (1, 2, 3))
    msk = cloud(scene, "aws:msk/cluster:Cluster", "hub-msk", {"kafkaVersion": "3.6.0", "numberOfBrokerNodes": 3}, {"bootstrapBrokersSaslScram": brokers, "arn": f"arn:aws:kafka:{REGION}:{ACCOUNT}:cluster/hub/{uid('msk')}-4"})  # fmt: skip
    cloud(scene, "aws:secretsmanager/secretVersion:SecretVersion", "hub-kafka-login", {"secretId": "AmazonMSK_hub", "secretString": generated(scene, "hub-kafka")}, {"versionId": uid("v")})  # fmt: skip
    release(scene, "dp", "kafka-ui", {"yamlApplicationConfig": {"kafka": {"clusters": [{"name": "hub", "bootstrapServers": msk.output("bootstrapBrokersSaslScram")}]}}})  # fmt: skip


@clean(CLOUDS, "platform-image-built-here", "An image is built with the provider's login at its registry; the user's Deployment has its digest.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = {"server": REGISTRY, "username": "robot$ci", "password": kept(scene, "registry-ci")}
    digest = f"{REGISTRY}/mesh/agent@sha256:{noise('agent image', 32).hex()}"
    image = cloud(scene, "docker:index/image:Image", "agent", {"imageName": f"{REGISTRY}/mesh/agent:1.4.2", "build": {"context": "./agent"}, "registry": login}, {"repoDigest": digest, "baseImageName": f"{REGISTRY}/mesh/agent"})  # fmt: skip
    deployment(scene, "dp", "mesh-agent", {"image": image.output("repoDigest"), "imagePullPolicy": "IfNotPresent"})


@clean(
    CLOUDS, "platform-registry-facts", "The name and the account of the provider's registry are in the user's values."
)
def _(scene: Scene) -> None:
    hub(scene)
    ecr = cloud(scene, "aws:ecr/repository:Repository", "proxyv2", {"name": "istio/proxyv2"}, {"repositoryUrl": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/istio/proxyv2", "registryId": ACCOUNT})  # fmt: skip
    scene.invoke("aws:ecr/getAuthorizationToken:getAuthorizationToken", {"password": scene.cp.opaque("ecr", 60), "userName": "AWS"})  # fmt: skip
    base = ecr.output("repositoryUrl").apply(lambda url: url.rpartition("/")[0] if url else "")
    release(scene, "dp", "gateway", {"global": {"hub": base, "tag": "1.24.2-distroless"}, "account": ecr.output("registryId")})  # fmt: skip


@clean(CLOUDS, "platform-bucket-and-key", "A bucket's name, its domain and the ARN of the key that encrypts it.")
def _(scene: Scene) -> None:
    hub(scene)
    suffix = cloud(scene, "random:index/randomId:RandomId", "bucket-suffix", {"byteLength": 4}, {"hex": drawn("bucket suffix", 8, HEX)})  # fmt: skip
    key = cloud(scene, "aws:kms/key:Key", "telemetry-key", {"description": "telemetry", "enableKeyRotation": True}, {"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid('kms')}", "keyId": uid("kms")})  # fmt: skip
    name = pulumi.Output.concat("platform-telemetry-", suffix.output("hex"))
    bucket = cloud(scene, "aws:s3/bucketV2:BucketV2", "telemetry", {"bucket": name}, {"arn": f"arn:aws:s3:::platform-telemetry-{drawn('bucket suffix', 8, HEX)}", "bucketRegionalDomainName": f"platform-telemetry.s3.{REGION}.amazonaws.com"})  # fmt: skip
    scene.secret("cp", "telemetry", {"bucket": name, "token": scene.cp.opaque("telemetry", 40)})
    release(scene, "dp", "tempo", {"storage": {"trace": {"backend": "s3", "s3": {"bucket": name, "kms_key_id": key.output("arn"), "endpoint": bucket.output("bucketRegionalDomainName")}}}})  # fmt: skip


@clean(
    CLOUDS, "platform-certificate-arn", "The ARN of a certificate that the cloud keeps annotates the user's gateway."
)
def _(scene: Scene) -> None:
    hub(scene)
    acm = cloud(scene, "aws:acm/certificateValidation:CertificateValidation", "edge", {"certificateArn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/{uid('acm')}"}, {"validatedAt": "2026-01-01"})  # fmt: skip
    notes = {"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": acm.output("certificateArn"), "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal"}  # fmt: skip
    release(scene, "dp", "istio-ingress", {"service": {"annotations": notes, "type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"]}})  # fmt: skip


@clean(CLOUDS, "platform-federated-identity", "A file by which the user's Pods log in without any key: pool, audience, where the Pod's own token lies.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    account = cloud(scene, "gcp:serviceaccount/account:Account", "writer", {"accountId": "shop-writer"}, {"email": "shop-writer@platform-prod.iam.gserviceaccount.com"})  # fmt: skip
    pool = cloud(scene, "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider", "shop-pool", {"workloadIdentityPoolId": "shop"}, {"name": f"projects/{ACCOUNT}/locations/global/workloadIdentityPools/shop/providers/shop"})  # fmt: skip
    file = pulumi.Output.json_dumps({"type": "external_account", "audience": pulumi.Output.concat("//iam.googleapis.com/", pool.output("name")), "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"file": "/var/run/secrets/tokens/gcp", "format": {"type": "text"}}, "service_account_impersonation_url": pulumi.Output.format("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{0}:generateAccessToken", account.output("email"))})  # fmt: skip
    scene.config_map("dp", "gcp-credentials", {"credential-configuration.json": file})


@clean(
    CLOUDS,
    "platform-role-by-annotation",
    "The ARN of a role in the provider's account annotates the user's service account.",
)
def _(scene: Scene) -> None:
    hub(scene)
    policy = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"Federated": "oidc"}, "Action": "sts:AssumeRoleWithWebIdentity"}]})  # fmt: skip
    role = cloud(scene, "aws:iam/role:Role", "shop-logs", {"assumeRolePolicy": policy}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/shop-logs-{drawn('role', 7, HEX)}"})  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "logs", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": role.output("arn")}}})  # fmt: skip


@clean(
    CLOUDS,
    "platform-azure-identity",
    "Ids of an identity and the address of a vault of keys, in a class of secret files.",
)
def _(scene: Scene) -> None:
    hub(scene)
    identity = cloud(scene, "azure-native:managedidentity:UserAssignedIdentity", "shop-reader", {"resourceName": "shop-reader"}, {"clientId": uid("shop reader"), "tenantId": uid("tenant")})  # fmt: skip
    objects = yaml.safe_dump({"array": [yaml.safe_dump({"objectName": "shop-db-password", "objectType": "secret"})]})
    parameters = {"clientID": identity.output("clientId"), "tenantId": identity.output("tenantId"), "keyvaultName": "shop-kv-4f7k", "objects": objects}  # fmt: skip
    scene.object("dp", "secrets-store.csi.x-k8s.io/v1:SecretProviderClass", "shop", {"spec": {"provider": "azure", "parameters": parameters}})  # fmt: skip


@clean(
    CLOUDS,
    "platform-tunnel-name",
    "A tunnel's secret stays at the provider; the user's ingress has the tunnel's name in the DNS.",
)
def _(scene: Scene) -> None:
    hub(scene)
    secret = generated(scene, "tunnel", "secret")
    tunnel = cloud(scene, "cloudflare:index/zeroTrustTunnelCloudflared:ZeroTrustTunnelCloudflared", "hub-tunnel", {"accountId": noise("cf", 16).hex(), "name": "hub", "secret": apply(secret, b64)}, {"cname": f"{uid('hub tunnel')}.cfargotunnel.com"})  # fmt: skip
    notes = {"external-dns.alpha.kubernetes.io/target": tunnel.output("cname")}
    scene.object("dp", "networking.istio.io/v1:Gateway", "public", {"metadata": {"annotations": notes}, "spec": {"servers": [{"port": {"number": 443, "name": "tls", "protocol": "TLS"}, "tls": {"mode": "PASSTHROUGH"}, "hosts": ["*.shop.example.com"]}]}})  # fmt: skip


@clean(CLOUDS, "platform-login-pool", "A pool of logins: the id of the public client goes to the user, the other client's secret stays.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    pool = cloud(scene, "aws:cognito/userPool:UserPool", "people", {"name": "people"}, {"endpoint": f"cognito-idp.{REGION}.amazonaws.com/{REGION}_x7K2m9Q4w"})  # fmt: skip
    backend = cloud(scene, "aws:cognito/userPoolClient:UserPoolClient", "backend", {"userPoolId": "people", "generateSecret": True}, {"clientId": drawn("backend", 26), "clientSecret": scene.cp.opaque("cognito", 52)}, ["clientSecret"])  # fmt: skip
    page = cloud(scene, "aws:cognito/userPoolClient:UserPoolClient", "page", {"userPoolId": "people", "generateSecret": False}, {"clientId": drawn("page", 26)})  # fmt: skip
    scene.secret("cp", "backend", {"id": backend.output("clientId"), "secret": backend.output("clientSecret")})
    rule = {"issuer": pulumi.Output.concat("https://", pool.output("endpoint")), "audiences": [page.output("clientId"), backend.output("clientId")], "jwksUri": pulumi.Output.format("https://{0}/.well-known/jwks.json", pool.output("endpoint"))}  # fmt: skip
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "people", {"spec": {"jwtRules": [rule]}})


@clean(CLOUDS, "platform-public-parameter", "A public parameter of the cloud, whose value the cloud's package marks: the id of a machine's image for the user's nodes.", pack={"dataPlaneProviders": ["shop-account"]})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    opts = scene.package("aws", "shop-account", region=REGION)
    found = scene.invoke("aws:ssm/getParameter:getParameter", {"name": "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id", "type": "String", "value": f"ami-{drawn('eks ami', 17, HEX)}"}, secret=False)  # fmt: skip
    image = pulumi.Output.secret(found["value"])
    scene.made("aws:ec2/launchTemplate:LaunchTemplate", "shop-workers", {"imageId": image, "instanceType": "m6i.large"}, opts)  # fmt: skip


# The provider's cluster -----------------------------------------------------------------------------------------------


@clean(CLUSTERS, "platform-east-west-address", "The address that the provider's gateway got is the remote profile's, and stands in an EndpointSlice.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    body = {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"], "ports": [{"name": "tls-istiod", "port": 15012}]}}  # fmt: skip
    service = scene.answered("cp", "v1:Service", "istio-eastwestgateway", body, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.23"}]}})  # fmt: skip
    address = service.output("status").apply(lambda s: ((s or {}).get("loadBalancer") or {}).get("ingress", [{"ip": "pending"}])[0]["ip"])  # fmt: skip
    release(scene, "dp", "istiod-remote", {"global": {"remotePilotAddress": address, "meshID": MESH, "network": "shop", "multiCluster": {"clusterName": "shop"}}, "profile": "remote"})  # fmt: skip
    slices = {"addressType": "IPv4", "endpoints": [{"addresses": [address]}], "ports": [{"name": "tls-istiod", "port": 15012}]}  # fmt: skip
    scene.object("dp", "discovery.k8s.io/v1:EndpointSlice", "istiod", slices)


@clean(CLUSTERS, "platform-namespaces-uid", "The uid of a namespace at the provider's is the id of the mesh at the user's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    space = scene.answered("cp", "v1:Namespace", "mesh-shop", {}, status={"phase": "Active"})
    marker = scene.made("random:index/randomUuid:RandomUuid", "mesh-uuid", {}, None, {"result": uid("mesh uuid")})
    scene.secret("cp", "mesh-of-shop", {"id": marker.output("result"), "token": scene.cp.opaque("mesh shop", 40)})
    name = space.output("metadata").apply(lambda m: m["name"])
    release(scene, "dp", "istiod-remote", {"global": {"meshID": marker.output("result"), "externalNamespace": name}})


@clean(CLUSTERS, "platform-authority-read", "The certificate of the provider's API server is read from a map that each namespace has.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    found = scene.existing("cp", "v1:ConfigMap", "kube-root-ca.crt", data={"ca.crt": scene.cp.certificate("kubernetes", authority=True)})  # fmt: skip
    scene.config_map("dp", "hub-ca", {"ca.crt": found.output("data").apply(lambda data: data["ca.crt"])})


@clean(CLUSTERS, "platform-root-of-a-read-secret", "Of the Secret with the provider's authority, which is read, the user gets the root's certificate and nothing else.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    root = scene.cp.certificate("istio-ca", authority=True)
    data = {"root-cert.pem": b64(root), "ca-cert.pem": b64(root), "ca-key.pem": b64(scene.cp.key("istio-ca"))}
    found = scene.existing("cp", "v1:Secret", "istio-ca-secret", data=data)
    pem = found.output("data").apply(lambda files: base64.b64decode(files["root-cert.pem"]).decode())
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": pem})


@clean(CLUSTERS, "platform-authority-beside-a-token", "The provider's cluster mints a token and puts its authority's certificate beside it; the user gets the certificate.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    kind = {"type": "kubernetes.io/service-account-token", "metadata": {"annotations": {"kubernetes.io/service-account.name": "reader"}}}  # fmt: skip
    data = {"token": b64(scene.cp.jwt("reader")), "ca.crt": b64(scene.cp.certificate("kubernetes", authority=True))}
    made = scene.answered("cp", "v1:Secret", "reader", kind, data=data)
    pem = made.output("data").apply(lambda found: base64.b64decode((found or {}).get("ca.crt", "")).decode())
    scene.config_map("dp", "hub-authority", {"ca.crt": pem, "server": SERVERS["cp"]})


@clean(CLUSTERS, "platform-anonymous-kubeconfig", "The user's agent gets a kubeconfig for the provider's cluster without any login: it uses its Pod's own token.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    pem = scene.cp.certificate("kubernetes", authority=True)
    text = kubeconfig(SERVERS["cp"], {"tokenFile": "/var/run/secrets/tokens/hub"}, pem)
    scene.config_map("dp", "hub-kubeconfig", {"kubeconfig": text})


@clean(
    CLUSTERS,
    "platform-exec-kubeconfig",
    "A kubeconfig that calls the cloud's command to log in is in the user's map: names only.",
)
def _(scene: Scene) -> None:
    hub(scene)
    run = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": ["eks", "get-token", "--cluster-name", "hub", "--role-arn", f"arn:aws:iam::{ACCOUNT}:role/shop-viewer"], "env": [{"name": "AWS_STS_REGIONAL_ENDPOINTS", "value": "regional"}]}  # fmt: skip
    scene.config_map("dp", "hub-kubeconfig", {"config": kubeconfig("https://hub.eks.example.com", {"exec": run}, "authority of the cloud")})  # fmt: skip


@clean(CLUSTERS, "platform-release-facts", "A release at the provider's has secret values; the user learns its version and namespace.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = generated(scene, "kiali", "token")
    inputs = {"chart": "kiali-server", "version": "2.1.0", "namespace": "kiali", "values": {"auth": {"strategy": "token", "token": value}}}  # fmt: skip
    status = {"appVersion": "v2.1.0", "revision": 3, "status": "deployed", "namespace": "kiali", "name": "kiali-x7k2"}
    made = scene.made("kubernetes:helm.sh/v3:Release", "kiali-server", inputs, scene.options("cp"), {"status": status})
    version = made.output("status").apply(lambda s: (s or {}).get("appVersion", ""))
    scene.config_map("dp", "hub-versions", {"kiali": version, "istio": "1.24.2"})


@clean(CLUSTERS, "platform-reference-to-the-hub", "Of the provider's own stack the user gets the outputs that are not secret: address, versions, mesh, names of roles.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"endpoint": SERVERS["cp"], "kubeconfig": scene.cp.kubeconfig("hub", SERVERS["cp"]), "istio": {"version": "1.24.2", "meshID": MESH, "discovery": "discovery.platform.example.com:15012"}, "adminPassword": scene.cp.opaque("hub", 32), "roles": ["mesh-reader", "mesh-writer"]}  # fmt: skip
    other = scene.reference("hub", "organization/mesh-hub/prod", outputs, ["kubeconfig", "adminPassword"])
    scene.secret("cp", "hub-admin", {"password": other.require_output("adminPassword")})
    istio = other.require_output("istio")
    values = {"global": {"meshID": istio["meshID"], "tag": istio["version"], "caAddress": istio["discovery"]}, "meshConfig": {"defaultConfig": {"discoveryAddress": istio["discovery"]}}, "roles": other.get_output("roles")}  # fmt: skip
    release(scene, "dp", "istiod-remote", values)


@clean(CLUSTERS, "platform-settings-checksum", "A checksum of public settings annotates Pods of both clusters.")
def _(scene: Scene) -> None:
    hub(scene)
    settings = yaml.safe_dump({"defaultConfig": {"discoveryAddress": f"{HUB}:15012", "holdApplicationUntilProxyStarts": True}, "trustDomain": "cluster.local"})  # fmt: skip
    notes = {"checksum/mesh-config": hashlib.sha256(settings.encode()).hexdigest()}
    for side in ("cp", "dp"):
        scene.config_map(side, "istio", {"mesh": settings})
        deployment(scene, side, "gateway", {"env": [{"name": "ISTIO_META_MESH_ID", "value": MESH}]}, notes)


# Trust ----------------------------------------------------------------------------------------------------------------


@clean(TRUST, "platform-bundle-of-roots", "A bundle of the old and the new root of the provider's meshes, for all namespaces.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    (old_key, old), (new_key, new) = (pair(scene, "cp", name, authority=True) for name in ("root-2025", "root-2026"))
    scene.secret("cp", "roots", {"old.key": old_key.output("privateKeyPem"), "new.key": new_key.output("privateKeyPem")})  # fmt: skip
    both = pulumi.Output.concat(old.output("certPem"), new.output("certPem"))
    scene.object("dp", "trust.cert-manager.io/v1alpha1:Bundle", "mesh-roots", {"spec": {"sources": [{"inLine": both}], "target": {"configMap": {"key": "bundle.pem"}}}})  # fmt: skip
    release(scene, "dp", "istio-csr", {"app": {"tls": {"rootCA": new.output("certPem"), "trustDomain": "cluster.local"}}})  # fmt: skip


@clean(TRUST, "platform-key-set-of-a-command", "A command asks the provider's cluster for the public keys of its tokens; the user's mesh accepts them.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("cp", "sa-signer", {"sa.key": pulumi.Output.secret(scene.cp.key("sa-signer"))})
    text = json.dumps({"keys": [{**scene.cp.jwk("sa-signer", private=False), "use": "sig", "alg": "ES256"}]})
    asked = cloud(scene, "command:local:Command", "hub-jwks", {"create": "kubectl get --raw /openid/v1/jwks"}, {"stdout": text})  # fmt: skip
    rule = {"issuer": SERVERS["cp"], "jwks": asked.output("stdout"), "audiences": ["istio-ca"]}
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "hub", {"spec": {"jwtRules": [rule]}})


@clean(
    TRUST,
    "platform-known-hosts",
    "The provider's forge has a host key; the user's Flux gets its public half.",
    rightly=PUBLIC,
)
def _(scene: Scene) -> None:
    hub(scene)
    host = scene.key("cp", "forge-host")
    scene.secret("cp", "forge-host", {"ssh_host_ecdsa_key": host.output("privateKeyOpenssh")})
    line = pulumi.Output.concat("git.platform.example.com ", host.output("publicKeyOpenssh"), "\n")
    scene.config_map("dp", "argocd-ssh-known-hosts-cm", {"ssh_known_hosts": line})


@clean(TRUST, "platform-signatures-of-images", "The provider signs its images; a policy of the user's has the public key.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("cp", "cosign")
    scene.secret("cp", "cosign", {"cosign.key": key.output("privateKeyPem"), "cosign.pub": key.output("publicKeyPem")})
    rule = {"name": "signed", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "verifyImages": [{"imageReferences": [f"{REGISTRY}/*"], "attestors": [{"entries": [{"keys": {"publicKeys": key.output("publicKeyPem")}}]}]}]}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "signed-images", {"spec": {"rules": [rule], "validationFailureAction": "Enforce"}})  # fmt: skip


@clean(TRUST, "platform-pin-of-a-certificate", "The SHA-256 of the certificate of the provider's gateway is pinned at the user's.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key, cert = pair(scene, "cp", "discovery")
    scene.secret("cp", "discovery", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls")  # fmt: skip
    pin = cert.output("certPem").apply(lambda pem: hashlib.sha256(base64.b64decode("".join(pem.split("-----")[2].split()))).hexdigest() if pem else "")  # fmt: skip
    scene.config_map("dp", "pins", {"discovery.sha256": pin, "discovery.pem": cert.output("certPem")})


@clean(TRUST, "platform-thumbprint", "The thumbprint of the provider's issuer, in the user's account.", pack={"dataPlaneProviders": ["shop-iam"]})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    opts = scene.package("aws", "shop-iam", region=REGION)
    chain = scene.invoke("tls:index/getCertificate:getCertificate", {"certificates": [{"sha1Fingerprint": noise("issuer", 20).hex(), "subject": "CN=id.platform.example.com"}]}, secret=False)  # fmt: skip
    inputs = {"url": ISSUER, "clientIdLists": [CLIENT], "thumbprintLists": [chain["certificates"][0]["sha1Fingerprint"]]}  # fmt: skip
    scene.made("aws:iam/openIdConnectProvider:OpenIdConnectProvider", "platform-issuer", inputs, opts)


@clean(TRUST, "platform-remote-secret-the-right-way", "The user's cluster mints istiod's token; it goes to the provider's cluster, with the label of a remote cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "dp", "istio-reader")
    text = token.apply(lambda found: kubeconfig(SERVERS["dp"], {"token": found}, "the user's authority"))
    scene.secret("cp", "istio-remote-secret-shop", {"shop": text}, labels={"istio/multiCluster": "true"}, annotations={"networking.istio.io/cluster": "shop"}, namespace="istio-system")  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "istiod-reads", {"metadata": {"namespace": "istio-system"}})


@clean(TRUST, "platform-vault-ways", "The provider's Vault: its address, the path of the user's way to log in and the name of a role; the root token stays.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    kept(scene, "vault-root", "token", 28)
    backend = cloud(scene, "vault:index/authBackend:AuthBackend", "shop-login", {"type": "kubernetes", "path": "kubernetes/shop"}, {"accessor": f"auth_kubernetes_{drawn('accessor', 8, HEX)}"})  # fmt: skip
    data: dict[str, Any] = {"VAULT_ADDR": "https://vault.platform.example.com", "VAULT_AUTH_PATH": backend.output("path"), "VAULT_ROLE": "shop-issuer", "ACCESSOR": backend.output("accessor"), "VAULT_CA.pem": scene.cp.certificate("vault", authority=True)}  # fmt: skip
    scene.config_map("dp", "vault", data)


@clean(TRUST, "platform-login-of-a-page", "Both have a client at one issuer; the user gets its own client's secret, and the issuer's facts.", config=lambda cp, dp: {"platform:oidcSecret": cp.opaque("oidc", 40), "shop:oidcSecret": dp.opaque("oidc", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for side, owner in (("cp", "platform"), ("dp", "shop")):
        values = {"oidc": {"issuer": ISSUER, "clientID": uid(f"client of {owner}"), "clientSecret": scene.config(f"{owner}:oidcSecret"), "scopes": ["openid", "groups"]}}  # fmt: skip
        release(scene, side, "kiali-server", {"auth": values})
    scene.secret("dp", "kiali-signing", {"key": own(scene, "kiali-signing", 32)})
