"""Harmless, of a team that has read the README: public facts, beside the secrets from which some of them come."""

from __future__ import annotations

import base64
import hashlib
import json

import pulumi

from tests.corpus.strangers.credentials import issued, kept, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid

from .world import (
    ACCOUNT,
    ALDER,
    ALDER_ACCOUNT,
    CERTIFICATE,
    DOMAIN,
    MESH,
    PROJECT,
    PUBLIC,
    REGION,
    alder,
    digest,
    home,
    hosted,
    hub,
)

HALVES, NAMED, EXPORTED = (
    "fourteenth: public halves",
    "fourteenth: names, ids and versions",
    "fourteenth: what other stacks export",
)

# Public halves --------------------------------------------------------------------------------------------------------


@clean(HALVES, "fourteenth-fact-root-of-the-mesh", "The root certificate goes to the tenant's cluster, where proxies trust it; keys stay in the provider's cacerts.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    root_key, root = pair(scene, "cp", "mesh-root", authority=True)
    key, certificate = issued(scene, "cp", "mesh-alder-istiod", root_key, root, "mesh-root")
    scene.secret("cp", "cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": certificate.output("certPem"), "root-cert.pem": root.output("certPem"), "cert-chain.pem": certificate.output("certPem")}, namespace="mesh-alder")  # fmt: skip
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": root.output("certPem")}, namespace="shop")


@clean(HALVES, "fourteenth-fact-bundle-of-a-webhook", "The API server of the tenant's cluster trusts the provider's webhook by the authority's certificate, in base64.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key, certificate = pair(scene, "cp", "injector-ca", authority=True)
    scene.secret("cp", "injector-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="mesh-alder")  # fmt: skip
    config = {"url": f"https://istiod.{DOMAIN}:15017/inject", "caBundle": apply(certificate.output("certPem"), lambda text: b64(text or ""))}  # fmt: skip
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    hook = {"name": "inject.osprey.example.com", "clientConfig": config, "rules": rules, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 5}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [hook]})


@clean(HALVES, "fourteenth-fact-keys-of-the-login-service", "Tokens of the provider's login service are checked by the tenant's proxies, with the public keys as a document.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("cp", "login-signer", {"jwk": pulumi.Output.secret(json.dumps(scene.cp.jwk("osprey login", private=True)))}, namespace="login")  # fmt: skip
    jwks = json.dumps({"keys": [scene.cp.jwk("osprey login", private=False)]})
    rule = {"issuer": f"https://id.{DOMAIN}", "jwks": jwks, "audiences": ["shop"], "forwardOriginalToken": True}
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "login", {"metadata": {"namespace": "istio-system"}, "spec": {"jwtRules": [rule]}})  # fmt: skip


@clean(HALVES, "fourteenth-fact-key-of-the-operators", "Machines in the tenant's account let the provider's operators in by a public key; the private one stays in the hub.", before="the same", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("cp", "operators")
    scene.secret("cp", "operators-ssh", {"id_ecdsa": key.output("privateKeyOpenssh")}, namespace="operators")
    alder(scene, "aws:ec2/keyPair:KeyPair", "operators-pair", {"keyName": "osprey-operators", "publicKey": key.output("publicKeyOpenssh")}, region=REGION)  # fmt: skip


@clean(HALVES, "fourteenth-fact-key-of-signed-images", "A policy in the tenant's cluster admits images that the provider signed: it has the public key of the pair whose private one the builds have.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "image-signing")
    scene.secret("cp", "cosign", {"cosign.key": key.output("privateKeyPem"), "cosign.password": hosted(scene, "cosign-password")}, namespace="builds")  # fmt: skip
    spec = {"images": [{"glob": f"registry.{DOMAIN}/**"}], "authorities": [{"name": "osprey", "key": {"data": key.output("publicKeyPem")}}]}  # fmt: skip
    scene.object("dp", "policy.sigstore.dev/v1beta1:ClusterImagePolicy", "osprey", {"spec": spec})


@clean(HALVES, "fourteenth-fact-certificate-for-sealing", "The tenant's people seal for the hub's controller, by its certificate, which is in a ConfigMap of theirs.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "hub-sealing")
    scene.secret("cp", "sealed-secrets-key1", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="sealed-secrets")  # fmt: skip
    scene.config_map("dp", "seal-for-the-hub", {"cert.pem": certificate.output("certPem"), "README": "kubeseal --cert cert.pem < secret.yaml"}, namespace="osprey")  # fmt: skip


@clean(HALVES, "fourteenth-fact-hash-of-an-authority", "Nodes that join check the authority by the hash of its certificate, which the program computes.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "hosted-api", authority=True)
    scene.secret("cp", "hosted-api-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="clusters")  # fmt: skip
    pin = apply(certificate.output("certPem"), lambda text: "sha256:" + hashlib.sha256(base64.b64decode("".join((text or "").splitlines()[1:-1]))).hexdigest())  # fmt: skip
    join = {"joinConfiguration": {"discovery": {"bootstrapToken": {"apiServerEndpoint": f"api.alder.{DOMAIN}:6443", "caCertHashes": [pin]}}}}  # fmt: skip
    scene.object("dp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "workers", {"metadata": {"namespace": "nodes"}, "spec": {"template": {"spec": join}}})  # fmt: skip


@clean(HALVES, "fourteenth-fact-known-hosts-of-the-forge", "The tenant's Flux knows the host key of the provider's forge, whose private half the forge has.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("cp", "forge-host")
    scene.secret("cp", "forge-host", {"ssh_host_ecdsa_key": key.output("privateKeyOpenssh")}, namespace="forge")
    scene.config_map("dp", "known-hosts", {"known_hosts": pulumi.Output.concat(f"git.{DOMAIN} ", key.output("publicKeyOpenssh"))}, namespace="flux-system")  # fmt: skip


@clean(HALVES, "fourteenth-fact-metadata-of-sign-on", "The tenant's Grafana trusts the provider's sign-on by its metadata: addresses and a certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "saml-signing")
    scene.secret("cp", "saml", {"private.pem": key.output("privateKeyPem")}, namespace="login")
    body = apply(certificate.output("certPem"), lambda text: "".join((text or "").splitlines()[1:-1]))
    metadata = pulumi.Output.concat(f'<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://id.{DOMAIN}"><md:KeyDescriptor use="signing"><ds:X509Certificate>', body, f'</ds:X509Certificate></md:KeyDescriptor><md:SingleSignOnService Location="https://id.{DOMAIN}/saml"/></md:EntityDescriptor>')  # fmt: skip
    scene.config_map("dp", "sign-on", {"metadata.xml": metadata}, namespace="monitoring")


@clean(HALVES, "fourteenth-fact-signature-record-of-mail", "The provider's mail server signs for the tenant's domain; the public key is a record in the tenant's zone.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("cp", "dkim", {"alder.private": pulumi.Output.secret(scene.cp.rsa("dkim alder"))}, namespace="mail")
    record = f"v=DKIM1; k=ed25519; p={b64(noise('fourteenth dkim public', 32))}"
    alder(scene, "cloudflare:index/dnsRecord:DnsRecord", "dkim-record", {"zoneId": drawn("alder zone", 32, HEX), "name": f"osprey._domainkey.{ALDER}", "type": "TXT", "ttl": 3600, "content": record})  # fmt: skip


# Names, ids and versions ----------------------------------------------------------------------------------------------


@clean(NAMED, "fourteenth-fact-address-of-a-service", "A balancer in the hub answers its address; the tenant's cluster has an entry with it for istiod's name.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    status = {"loadBalancer": {"ingress": [{"ip": "198.51.100.23"}]}}
    service = scene.answered("cp", "v1:Service", "istiod-alder", {"metadata": {"namespace": "mesh-alder"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 15012}], "loadBalancerSourceRanges": ["203.0.113.0/24"]}}, status=status)  # fmt: skip
    address = apply(service.output("status"), lambda found: (((found or {}).get("loadBalancer") or {}).get("ingress") or [{}])[0].get("ip", ""))  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "istiod", {"metadata": {"namespace": "shop"}, "spec": {"hosts": [f"istiod.{DOMAIN}"], "ports": [{"number": 15012, "name": "tls", "protocol": "TLS"}], "resolution": "STATIC", "endpoints": [{"address": address}]}})  # fmt: skip


@clean(NAMED, "fourteenth-fact-account-and-roles", "The tenant's role trusts a role in the provider's account, by its ARN and an id that both know and that opens nothing.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    role = cloud(scene, "aws:iam/role:Role", "collector", {"name": "collector", "assumeRolePolicy": "{}"}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/collector"})  # fmt: skip
    trust = apply(role.output("arn"), lambda arn: json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": arn}, "Action": "sts:AssumeRole", "Condition": {"StringEquals": {"sts:ExternalId": "alder"}}}]}))  # fmt: skip
    alder(scene, "aws:iam/role:Role", "osprey-reads", {"name": "osprey-reads", "assumeRolePolicy": trust}, {"arn": f"arn:aws:iam::{ALDER_ACCOUNT}:role/osprey-reads"}, region=REGION)  # fmt: skip


@clean(NAMED, "fourteenth-fact-key-by-its-arn", "The tenant's backups are encrypted by a key of a key service, which has an ARN and an alias; the chart has both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = home(scene, "aws:kms/key:Key", "backups", {"description": "backups of tenants", "enableKeyRotation": True}, {"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid('osprey kms')}", "keyId": uid("osprey kms")}, region=REGION, secretKey=kept(scene, "aws-admin", "secretKey", 40))  # fmt: skip
    release(scene, "dp", "velero", {"configuration": {"backupStorageLocation": [{"provider": "aws", "bucket": "osprey-alder", "config": {"kmsKeyId": key.output("keyId"), "serverSideEncryption": "aws:kms"}}]}, "kmsKeyArn": key.output("arn"), "credentials": {"useSecret": False}})  # fmt: skip


@clean(NAMED, "fourteenth-fact-name-of-the-administrator", "The tenant's chart has the same names of users and hosts as a Secret of the hub, and another Secret by name.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "reporting", {"database": {"host": f"pg.{DOMAIN}", "port": 5432, "user": "postgres", "existingSecret": "reporting-db", "existingSecretPasswordKey": "password"}, "grafana": {"url": f"https://grafana.{DOMAIN}", "adminUser": "admin"}})  # fmt: skip


@clean(NAMED, "fourteenth-fact-name-of-a-secret-object", "The hub's Secret answers its name and its revision; a note of the tenant's Deployment has the revision.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "ingest")
    secret = scene.secret("cp", "ingest-login", {"password": word}, namespace="platform")
    revision = apply(secret.output("metadata"), lambda found: (found or {}).get("name", ""))
    deployment(scene, "dp", "ingest", {"args": ["--follow"]}, {"osprey.example.com/login": revision})


@clean(NAMED, "fourteenth-fact-images-by-digest", "The versions and digests that the hub runs are set for the tenant's proxies as well.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    images = {name: f"registry.{DOMAIN}/{name}@{digest(name)}" for name in ("proxyv2", "install-cni", "ztunnel")}
    release(scene, "cp", "istiod", {"global": {"proxy": {"image": images["proxyv2"]}, "tag": "1.31.2", "meshID": MESH}})
    release(scene, "dp", "cni", {"global": {"images": images, "tag": "1.31.2"}, "revision": "1-31-2"})


@clean(NAMED, "fourteenth-fact-ids-of-a-client", "The tenant's console logs people in at the provider, as a public client: an id, an issuer and a way back, without a secret.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    client = home(scene, "keycloak:openid/client:Client", "alder-console", {"realmId": "tenants", "clientId": "alder-console", "accessType": "PUBLIC", "pkceCodeChallengeMethod": "S256"}, {"resourceServerId": uid("console client")}, url=f"https://id.{DOMAIN}", password=hosted(scene, "keycloak-terraform"))  # fmt: skip
    scene.config_map("dp", "console", {"OIDC_CLIENT_ID": client.output("clientId"), "OIDC_ISSUER": f"https://id.{DOMAIN}/realms/tenants", "OIDC_REDIRECT": f"https://console.{ALDER}/callback", "OIDC_RESOURCE": client.output("resourceServerId")}, namespace="console")  # fmt: skip


@clean(NAMED, "fourteenth-fact-dates-of-a-certificate", "A dashboard of the tenant's shows until when the hub's certificate is good, and its serial number's checksum.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "hub-serving")
    scene.secret("cp", "hub-serving", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="edge")  # fmt: skip
    scene.config_map("dp", "expiry", {"hub": pulumi.Output.concat("until 2027-01-01, fingerprint ", apply(certificate.output("certPem"), lambda text: hashlib.sha256((text or "").encode()).hexdigest()))}, namespace="dashboard")  # fmt: skip


@clean(NAMED, "fourteenth-fact-cluster-of-google", "The provider's cluster at Google answers an end point, an authority's certificate and a pool for identities; the tenant's federation has them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    cluster = cloud(scene, "gcp:container/cluster:Cluster", "hub-gke", {"name": "hub", "location": "europe-west1", "project": PROJECT}, {"endpoint": "198.51.100.40", "masterAuth": {"clusterCaCertificate": b64(scene.cp.certificate("gke", authority=True)), "clientKey": b64(scene.cp.key("gke client"))}, "workloadIdentityConfig": {"workloadPool": f"{PROJECT}.svc.id.goog"}}, ["masterAuth"])  # fmt: skip
    scene.secret("cp", "gke", {"auth": pulumi.Output.json_dumps(cluster.output("masterAuth"))}, namespace="fleet")
    scene.config_map("dp", "federation", {"hub": cluster.output("endpoint"), "pool": apply(cluster.output("workloadIdentityConfig"), lambda found: found["workloadPool"] if isinstance(found, dict) else "")}, namespace="osprey")  # fmt: skip


# What other stacks export ---------------------------------------------------------------------------------------------


@clean(EXPORTED, "fourteenth-fact-three-outputs-of-the-hub", "The hub's stack exports names and a password; the tenant's chart is given three of the names, one by one.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"host": f"istiod.{DOMAIN}", "zone": DOMAIN, "grafanaAdminPassword": scene.cp.opaque("exported grafana", 32, LETTERS), "revision": "1-31-2"}  # fmt: skip
    stack = scene.reference("hub", "osprey/hub/production", outputs, ["grafanaAdminPassword"])
    scene.secret("cp", "grafana-login", {"password": stack.get_output("grafanaAdminPassword")}, namespace="monitoring")
    release(scene, "dp", "agent", {"istiod": stack.get_output("host"), "zone": stack.get_output("zone"), "revision": stack.get_output("revision")})  # fmt: skip


@clean(EXPORTED, "fourteenth-fact-network-of-the-hub", "The network's stack exports ranges and ids, which policies in the tenant's cluster name.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    stack = scene.reference("network", "osprey/network/production", {"egress": ["203.0.113.10/32", "203.0.113.11/32"], "vpcId": "vpc-0f3a9c11d2", "asn": 64620})  # fmt: skip
    blocks = apply(stack.get_output("egress"), lambda found: [{"ipBlock": {"cidr": block}} for block in found or []])
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": blocks, "ports": [{"port": 8443}]}]}
    scene.object("dp", "networking.k8s.io/v1:NetworkPolicy", "from-the-hub", {"metadata": {"namespace": "shop"}, "spec": spec})  # fmt: skip


@clean(EXPORTED, "fourteenth-fact-servers-of-the-fleet", "The fleet's stack exports its clusters; a ConfigMap of the tenant's lists their names and servers, and not their kubeconfigs.")  # fmt: skip
def _(scene: Scene) -> None:
    clusters = [{"name": "hub", "server": SERVERS["cp"]}, {"name": "alder", "server": SERVERS["dp"]}]
    stack = scene.reference("fleet", "osprey/fleet/production", {"clusters": clusters, "kubeconfig": scene.cp.kubeconfig("fleet", SERVERS["cp"])}, ["kubeconfig"])  # fmt: skip
    scene.secret("cp", "fleet", {"value": stack.get_output("kubeconfig")}, namespace="fleet")
    scene.config_map("dp", "clusters", {"clusters.json": pulumi.Output.json_dumps(stack.get_output("clusters"))}, namespace="osprey")  # fmt: skip
