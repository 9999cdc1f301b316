"""Harmless: public halves, certificates, hashes, ids and addresses of the hub, in tenants' clusters and accounts."""

from __future__ import annotations

import base64
import hashlib
import json
import ssl
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, own, pair
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64, drawn, noise, uid
from tests.corpus.world import random_id

from .world import (
    ACCOUNT,
    ASTER,
    ASTER_ACCOUNT,
    CERTIFICATE,
    CLIENT,
    DIGEST,
    DIRECTORY,
    DOMAIN,
    ISSUER,
    MESH,
    PUBLIC,
    RECIPIENT,
    REGION,
    account,
    clean,
    declassified,
    hub,
    settings,
    tenants,
)

KEYS, MARKS, PLACES, TEXTS = (
    "thirteenth: public halves and certificates",
    "thirteenth: hashes, pins and ids",
    "thirteenth: addresses and answers",
    "thirteenth: files, policies and manifests",
)

# Keys -----------------------------------------------------------------------------------------------------------------


@clean(KEYS, "thirteenth-fact-roots-for-all-tenants", "The hub's root of trust is in a bundle of trust-manager's and in a map in each tenant's cluster.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "lantern-trust", authority=True)
    scene.secret("cp", "lantern-trust", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    for name, side in tenants(scene).items():
        scene.config_map(side, "lantern-roots", {"ca-certificates.crt": cert.output("certPem")})
        scene.object(side, "trust.cert-manager.io/v1alpha1:Bundle", f"lantern-{name}", {"spec": {"sources": [{"inLine": cert.output("certPem")}], "target": {"configMap": {"key": "ca.crt"}}}})  # fmt: skip


@clean(KEYS, "thirteenth-fact-injector-with-its-bundle", "A webhook of the tenant's calls the hub by address; its bundle is the certificate of the hub's authority.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ca_key, ca_cert = pair(scene, "cp", "injector-ca", authority=True)
    key, cert = issued(scene, "cp", "injector", ca_key, ca_cert, "injector-ca")
    scene.secret("cp", "injector", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="mesh-aster")  # fmt: skip
    hook = {"name": "inject.lantern.example.com", "clientConfig": {"url": f"https://inject.{DOMAIN}:443/inject/aster", "caBundle": apply(ca_cert.output("certPem"), b64)}, "timeoutSeconds": 5, "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"]}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "lantern-injector", {"webhooks": [hook]})  # fmt: skip


@clean(KEYS, "thirteenth-fact-sealing-certificate", "The certificate by which tenants seal for the hub is in a map of their pipelines.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.config_map("dp", "kubeseal", {"pub-cert.pem": scene.cp.certificate("lantern sealing"), "scope": "cluster-wide"})  # fmt: skip


@clean(KEYS, "thirteenth-fact-signatures-of-images", "The public half of the key that signs the hub's images is in a policy of each tenant's cluster.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "image-signing")
    scene.secret("cp", "image-signing", {"cosign.key": key.output("privateKeyPem")}, namespace="builds")
    for side in tenants(scene).values():
        rule = {"imageReferences": [f"images.{DOMAIN}/*"], "attestors": [{"entries": [{"keys": {"publicKeys": key.output("publicKeyPem")}}]}]}  # fmt: skip
        scene.object(side, "kyverno.io/v1:ClusterPolicy", "lantern-images", {"spec": {"validationFailureAction": "Enforce", "rules": [{"name": "signed", "verifyImages": [rule]}]}})  # fmt: skip


@clean(KEYS, "thirteenth-fact-deploy-key-of-the-hubs-flux", "The hub's Flux reads the tenant's repository: the public half of its key is a deploy key in the tenant's organisation.", before="the same", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "flux-of-aster")
    scene.secret("cp", "flux-of-aster", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    account(scene, "aster", "github:index/repositoryDeployKey:RepositoryDeployKey", "hub", {"repository": "fleet", "title": "lantern hub", "key": key.output("publicKeyOpenssh"), "readOnly": True}, organization="aster")  # fmt: skip


@clean(KEYS, "thirteenth-fact-authorized-key-on-nodes", "The hub's bastion logs in to tenants' nodes: its public key is in their user data and in a map.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "bastion")
    scene.secret("cp", "bastion", {"ssh-privatekey": key.output("privateKeyOpenssh")}, kind="kubernetes.io/ssh-auth")
    scene.config_map("dp", "bastion", {"authorized_keys": key.output("publicKeyOpenssh")})
    account(scene, "aster", "aws:ec2/keyPair:KeyPair", "bastion-key", {"keyName": "lantern-bastion", "publicKey": key.output("publicKeyOpenssh")}, region=REGION)  # fmt: skip


@clean(KEYS, "thirteenth-fact-key-set-of-the-signer", "The hub signs tokens; its key set is a map, and is in a RequestAuthentication, of the tenant's.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    scene.held("signer", "jwks.json", json.dumps({"keys": [scene.cp.jwk("lantern signer", private=True)]}))
    keys = json.dumps({"keys": [{**scene.cp.jwk("lantern signer", private=False), "use": "sig", "alg": "ES256"}]})
    scene.config_map("dp", "signer", {"jwks.json": keys})
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "hub", {"spec": {"jwtRules": [{"issuer": ISSUER, "jwks": keys, "forwardOriginalToken": True}]}})  # fmt: skip


@clean(KEYS, "thirteenth-fact-leaf-certificate-of-a-gateway", "The tenant pins the certificate of the hub's gateway, which an authority of the hub's signed.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "edge-ca", authority=True)
    key, cert = issued(scene, "cp", "edge", ca_key, ca_cert, "edge-ca")
    scene.secret("cp", "edge", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem"), "ca.key": ca_key.output("privateKeyPem")})  # fmt: skip
    scene.secret("dp", "edge-pins", {"edge.crt": cert.output("certPem"), "ca.crt": ca_cert.output("certPem")})


@clean(KEYS, "thirteenth-fact-recipients-of-a-file", "Recipients of age and of PGP for the hub are in the tenant's file for SOPS.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.config_map("dp", "sops", {".sops.yaml": yaml.safe_dump({"creation_rules": [{"path_regex": ".*\\.enc\\.yaml$", "encrypted_regex": "^(data|stringData)$", "age": RECIPIENT, "pgp": drawn("lantern pgp", 40, "0123456789ABCDEF")}]})})  # fmt: skip


def _nkey(name: str, kind: str) -> str:
    return kind + drawn(name, 55, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")


@clean(KEYS, "thirteenth-fact-operator-token-of-nats", "The hub's NATS operator and account are public tokens, signed with seeds that stay; the tenant's server preloads them.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.held("nats-operator", "seed", "SO" + scene.cp.opaque("nats operator", 56, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))

    def signed(name: str, kind: str) -> str:
        parts = [json.dumps(part).encode() for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, {"jti": _nkey(name, "J"), "iat": 1771200000, "iss": _nkey("lantern operator", "O"), "name": name, "sub": _nkey(name, kind), "nats": {"type": {"O": "operator", "A": "account"}[kind], "version": 2}})]  # fmt: skip
        return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (*parts, noise(f"{name} signature", 64))).decode()  # fmt: skip

    release(scene, "dp", "nats", {"config": {"merge": {"operator": signed("lantern", "O"), "system_account": _nkey("SYS", "A"), "resolver_preload": {_nkey("SYS", "A"): signed("SYS", "A")}}, "resolver": {"enabled": True}}})  # fmt: skip


# Marks ----------------------------------------------------------------------------------------------------------------


@clean(MARKS, "thirteenth-fact-checksum-of-the-hubs-authority", "Rancher's agent in the tenant's cluster gets the SHA-256 of the hub's authority, which is made of its certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "rancher-ca", authority=True)
    scene.secret("cp", "tls-rancher", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, namespace="cattle-system")  # fmt: skip
    pin = apply(cert.output("certPem"), lambda pem: hashlib.sha256(pem.encode()).hexdigest())
    deployment(scene, "dp", "cattle-cluster-agent", {"env": [{"name": "CATTLE_SERVER", "value": f"https://rancher.{DOMAIN}"}, {"name": "CATTLE_CA_CHECKSUM", "value": pin}]})  # fmt: skip


@clean(MARKS, "thirteenth-fact-pins-of-an-authority", "Nodes of the tenant's join with pins of the hub's authority, SHA-256 of its DER, as teleport and kubeadm want them.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "teleport-ca", authority=True)
    scene.secret("cp", "teleport-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")})
    pin = apply(cert.output("certPem"), lambda pem: f"sha256:{hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()}")  # fmt: skip
    release(scene, "dp", "teleport-kube-agent", {"proxyAddr": f"teleport.{DOMAIN}:443", "caPin": [pin], "joinParams": {"method": "kubernetes", "tokenName": "aster"}})  # fmt: skip


@clean(MARKS, "thirteenth-fact-declassified-restart-mark", "A Pod's checksum is of a generated login, and a note declassifies it with a reason.", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "edge-api", "token", 40)
    place = 'spec.template.metadata.annotations["checksum/edge"]'
    body = {"metadata": {"annotations": declassified(place, reason="sha256 of 40 random letters, restarts Pods")}, "spec": {"selector": {"matchLabels": {"app": "edge"}}, "template": {"metadata": {"labels": {"app": "edge"}, "annotations": {"checksum/edge": apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())}}, "spec": {"containers": [{"name": "edge", "image": "edge:3"}]}}}}  # fmt: skip
    scene.object("dp", "apps/v1:Deployment", "edge", body)


@clean(MARKS, "thirteenth-fact-digest-of-a-token-for-a-check", "A map of the tenant's has the SHA-512 of the hub's token, by which the tenant checks calls of the hub; it is declassified.", before="the same", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "caller", "token", 48)
    scene.config_map("dp", "callers", {"hub.sha512": apply(token, lambda found: hashlib.sha512(found.encode()).hexdigest()), "algorithm": "sha512"}, annotations=declassified("data", reason="sha512 of 48 random letters, and the name of the algorithm"))  # fmt: skip


@clean(MARKS, "thirteenth-fact-suffix-of-the-hubs-names", "Names of the hub's buckets end with a drawn id, which is in policies of the tenant's account.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    suffix = scene.made("random:index/randomId:RandomId", "suffix", {"byteLength": 4}, None, {"hex": drawn("bucket", 8, "0123456789abcdef")})  # fmt: skip
    bucket = pulumi.Output.concat("lantern-artifacts-", suffix.output("hex"))
    account(scene, "aster", "aws:iam/policy:Policy", "artifacts", {"policy": pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": pulumi.Output.concat("arn:aws:s3:::", bucket, "/*")}]})}, region=REGION)  # fmt: skip
    scene.config_map("dp", "artifacts", {"bucket": bucket, "region": REGION})


@clean(MARKS, "thirteenth-fact-external-id-of-a-role", "A role in the tenant's account trusts the hub's by an external id; the id is a UUID of the tenant's page.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/hub-crossplane"}, "Action": "sts:AssumeRole", "Condition": {"StringEquals": {"sts:ExternalId": uid("aster external id")}}}]}  # fmt: skip
    account(scene, "aster", "aws:iam/role:Role", "hub", {"name": "lantern-hub", "assumeRolePolicy": json.dumps(trust)}, region=REGION)  # fmt: skip


@clean(MARKS, "thirteenth-fact-ids-of-the-login-service", "Ids of the hub's client, directory and realm are among values of the tenant's proxy; its secret is its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "oauth2-proxy", {"config": {"clientID": CLIENT, "existingSecret": "proxy"}, "extraArgs": {"oidc-issuer-url": ISSUER, "azure-tenant": DIRECTORY}})  # fmt: skip
    scene.secret("dp", "proxy", {"client-secret": own(scene, "aster-proxy", 40), "cookie-secret": own(scene, "aster-proxy-cookie")})  # fmt: skip


@clean(MARKS, "thirteenth-fact-id-made-by-the-program", "A drawn id of the mesh is in both clusters: a name of objects, no secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.stage.answers["mesh"] = {"hex": drawn("mesh id", 16, "0123456789abcdef"), "dec": "1844674407370955161", "b64Url": drawn("mesh url", 11)}  # fmt: skip
    made = random_id("mesh")
    for side in ("cp", "dp"):
        scene.config_map(side, "mesh", {"id": made.output("hex"), "network": "aster"})


@clean(MARKS, "thirteenth-fact-digests-of-built-images", "Images are built by the hub with a registry login; digests and tags go to tenants' charts.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = [{"address": f"images.{DOMAIN}", "username": "lantern", "password": generated(scene, "pusher")}]
    built = account(scene, "lantern", "docker-build:index:Image", "edge", {"tags": [f"images.{DOMAIN}/edge:4.2.0"], "push": True, "registries": login}, {"digest": f"sha256:{noise('edge image', 32).hex()}", "ref": f"images.{DOMAIN}/edge@sha256:{noise('edge image', 32).hex()}"})  # fmt: skip
    for side in tenants(scene).values():
        release(scene, side, "edge", {"image": {"repository": f"images.{DOMAIN}/edge", "tag": "4.2.0", "digest": built.output("digest")}, "ref": built.output("ref")})  # fmt: skip


# Places ---------------------------------------------------------------------------------------------------------------


@clean(PLACES, "thirteenth-fact-address-of-a-gateway", "The hub's east-west gateway answers with a host name; tenants' links have it, with the gateway's identity.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    gate = scene.answered("cp", "v1:Service", "linkerd-gateway", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["203.0.113.0/24"], "ports": [{"name": "mc-gateway", "port": 4143}]}}, status={"loadBalancer": {"ingress": [{"hostname": f"gw-{drawn('gateway', 12).lower()}.elb.{REGION}.amazonaws.com"}]}})  # fmt: skip
    address = gate.output("status").apply(lambda found: ((found or {}).get("loadBalancer") or {"ingress": [{"hostname": "pending.example.com"}]})["ingress"][0]["hostname"])  # fmt: skip
    for name, side in tenants(scene).items():
        scene.object(side, "multicluster.linkerd.io/v1alpha2:Link", f"hub-{name}", {"spec": {"targetClusterName": "hub", "targetClusterDomain": "cluster.local", "gatewayAddress": address, "gatewayPort": "4143", "gatewayIdentity": "linkerd-gateway.linkerd-multicluster.serviceaccount.identity.linkerd.cluster.local", "clusterCredentialsSecret": "cluster-credentials-hub"}})  # fmt: skip


@clean(PLACES, "thirteenth-fact-of-the-hubs-stack", "Plain outputs of the hub's stack, whose kubeconfig is marked, are in each tenant's map.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    core = scene.reference("acme/lantern-hub/prod", "acme/lantern-hub/prod", {"endpoint": f"https://xds.{DOMAIN}:15012", "mesh": MESH, "zone": DOMAIN, "kubeconfig": scene.cp.kubeconfig("hub admin", SERVERS["cp"])}, ["kubeconfig"])  # fmt: skip
    for side in tenants(scene).values():
        scene.config_map(side, "hub", {name: core.get_output(name) for name in ("endpoint", "mesh", "zone")})


@clean(PLACES, "thirteenth-fact-host-of-a-marked-output", "The hub's stack marks a whole connection; the tenant gets its host and port, which a note declassifies with a reason.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    core = scene.reference("acme/lantern-data/prod", "acme/lantern-data/prod", {"connection": {"host": f"pg.{DOMAIN}", "port": 5432, "password": scene.cp.opaque("data connection", 40)}}, ["connection"])  # fmt: skip
    found = core.get_output("connection")
    scene.config_map("dp", "usage", {"host": found.apply(lambda one: (one or {}).get("host", "")), "port": found.apply(lambda one: f"{(one or {}).get('port', 0):.0f}")}, annotations=declassified("data.host", "data.port", reason="where the database is, as its page says"))  # fmt: skip


@clean(PLACES, "thirteenth-fact-kubeconfig-without-a-login", "Tenants' people reach the hub by a kubeconfig that has address, authority and the command to log in, and no credential.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"], "certificate-authority-data": b64(scene.cp.certificate("kubernetes", authority=True))}}], "users": [{"name": "person", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubectl", "args": ["oidc-login", "get-token", f"--oidc-issuer-url={ISSUER}", f"--oidc-client-id={CLIENT}"], "interactiveMode": "IfAvailable"}}}], "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "person"}}], "current-context": "hub"}  # fmt: skip
    scene.config_map("dp", "kubeconfig", {"config": yaml.safe_dump(config)})


@clean(PLACES, "thirteenth-fact-status-of-a-claim", "A claim of the hub's Crossplane tells host and ARN of a bucket in its status; the tenant's chart has both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    claim = scene.answered("cp", "platform.lantern.example.com/v1alpha1:Bucket", "logs", {"spec": {"region": REGION, "writeConnectionSecretToRef": {"name": "logs-conn"}}}, status={"host": f"logs.s3.{REGION}.amazonaws.com", "arn": "arn:aws:s3:::lantern-logs"})  # fmt: skip
    status = claim.output("status")
    release(scene, "dp", "vector", {"sink": {"host": status.apply(lambda found: (found or {}).get("host", "")), "arn": status.apply(lambda found: (found or {}).get("arn", ""))}})  # fmt: skip


@clean(PLACES, "thirteenth-fact-rows-of-a-generator", "An ApplicationSet of the hub's has a row for each tenant with addresses, names and zones; values name Secrets.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.stage.delivered.add("cp-agents")
    rows = [{"cluster": name, "zone": f"{name}.example.com", "account": ASTER_ACCOUNT, "existingSecret": "agent"} for name in tenants(scene)]  # fmt: skip
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "agent", "targetRevision": "2.1.0", "helm": {"valuesObject": {"cluster": "{{cluster}}", "tokenSecretName": "{{existingSecret}}", "mesh": MESH, "passwordKey": "password"}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": rows}}], "template": {"metadata": {"name": "agent-{{cluster}}"}, "spec": {"project": "agents", "source": source, "destination": {"name": "{{cluster}}", "namespace": "agent"}}}}})  # fmt: skip


@clean(PLACES, "thirteenth-fact-what-a-command-prints", "A command of the platform's, with its token, prints the number of a tenant; settings call commands the hub's.", before="the same", pack=settings(controlPlaneProviders=["lantern-*", "command:*"]))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "registrar", "token", 40)
    made = scene.made("command:local:Command", "register", {"create": "lanternctl tenants add aster -o id", "environment": {"LANTERN_TOKEN": token}}, None, {"stdout": "t-00417"}, owner="cp")  # fmt: skip
    scene.config_map("dp", "registered", {"tenant": made.output("stdout"), "mesh": MESH})


# Texts ----------------------------------------------------------------------------------------------------------------


@clean(TEXTS, "thirteenth-fact-collector-with-variables", "A collector's file has placeholders for its token; the DaemonSet takes it from a Secret of the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    config = {"receivers": {"otlp": {"protocols": {"grpc": {"endpoint": "0.0.0.0:4317"}}}}, "exporters": {"otlphttp": {"endpoint": f"https://otlp.{DOMAIN}", "headers": {"Authorization": "Bearer ${env:LANTERN_TOKEN}"}}}, "service": {"pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlphttp"]}}}}  # fmt: skip
    scene.config_map("dp", "otel", {"config.yaml": yaml.safe_dump(config)})
    scene.secret("dp", "otel-token", {"token": own(scene, "aster-otel", 40)})
    scene.object("dp", "apps/v1:DaemonSet", "otel", {"spec": {"selector": {"matchLabels": {"app": "otel"}}, "template": {"metadata": {"labels": {"app": "otel"}}, "spec": {"containers": [{"name": "otel", "image": "otel:0.110.0", "env": [{"name": "LANTERN_TOKEN", "valueFrom": {"secretKeyRef": ref("otel-token", "token")}}]}]}}}})  # fmt: skip


@clean(TEXTS, "thirteenth-fact-external-secrets-with-paths", "Tenants' External Secrets name paths of the hub's Vault and a role; a store logs in by the cluster's own account.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "lantern", {"spec": {"provider": {"vault": {"server": f"https://vault.{DOMAIN}", "path": "kv", "version": "v2", "caBundle": b64(scene.cp.certificate("vault-ca", authority=True)), "auth": {"kubernetes": {"mountPath": "kubernetes/aster", "role": "aster-reader", "serviceAccountRef": {"name": "external-secrets"}}}}}}})  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "orders", {"spec": {"refreshInterval": "1h", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "lantern"}, "target": {"name": "orders"}, "data": [{"secretKey": "password", "remoteRef": {"key": "aster/orders/database", "property": "password"}}]}})  # fmt: skip


@clean(TEXTS, "thirteenth-fact-script-that-asks-for-a-token", "A script in the tenant's map asks the hub for a token with the Pod's own; nothing of it is there before.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = f"""#!/bin/sh
set -eu
jwt=$(cat /var/run/secrets/tokens/lantern)
token=$(curl -fsS --data "{{\\"role\\": \\"aster\\", \\"jwt\\": \\"$jwt\\"}}" https://vault.{DOMAIN}/v1/auth/kubernetes/aster/login | jq -r .auth.client_token)
password="$(curl -fsS -H "X-Vault-Token: $token" https://vault.{DOMAIN}/v1/kv/data/aster/orders | jq -r .data.data.password)"
export PGPASSWORD="$password"
exec psql "host=pg.{ASTER} user=orders"
"""
    scene.config_map("dp", "orders-login", {"login.sh": text})


@clean(TEXTS, "thirteenth-fact-issuer-with-names-of-keys", "An issuer of the tenant's uses the hub's ACME server; names of Secrets and keys stand where their values would be.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "lantern", {"spec": {"acme": {"server": f"https://acme.{DOMAIN}/directory", "email": f"ops@{ASTER}", "caBundle": b64(scene.cp.certificate("acme-root", authority=True)), "privateKeySecretRef": {"name": "lantern-account-key"}, "externalAccountBinding": {"keyID": "aster-01", "keySecretRef": ref("eab", "secret")}, "solvers": [{"dns01": {"route53": {"region": REGION, "hostedZoneID": "Z07719ASTER"}}}]}}})  # fmt: skip
    scene.secret("dp", "eab", {"secret": own(scene, "aster-eab", 44)}, namespace="cert-manager")


@clean(TEXTS, "thirteenth-fact-rules-that-speak-of-tokens", "Alerts and a page of the manual speak of tokens, passwords and keys that expire.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    rules = {"groups": [{"name": "credentials", "rules": [{"alert": "TokenExpires", "expr": 'min by (token_name) (vault_token_ttl_seconds{token_name=~"aster-.*"}) < 86400', "annotations": {"summary": "token {{ $labels.token_name }} expires", "runbook_url": f"https://docs.{DOMAIN}/runbooks/token-expires"}}]}]}  # fmt: skip
    scene.object("dp", "monitoring.coreos.com/v1:PrometheusRule", "credentials", {"spec": rules})
    scene.config_map("dp", "manual", {"rotate.md": f"# Rotate the collector's password\n\n1. `lanternctl logins rotate aster --what collector` prints nothing.\n2. The hub's Secret `collector-aster` and yours change together.\n3. Set `password: <the new password>` nowhere by hand; see https://docs.{DOMAIN}/logins.\n"})  # fmt: skip


@clean(TEXTS, "thirteenth-fact-mesh-config-of-an-external-istiod", "The tenant's mesh configuration has the hub's discovery address, trust domain and root, as the library would write it.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    root = scene.cp.certificate("lantern-root", authority=True)
    mesh: dict[str, Any] = {"defaultConfig": {"discoveryAddress": f"xds.{DOMAIN}:15012", "proxyMetadata": {"CREDENTIAL_FETCHER_TYPE": "", "XDS_ROOT_CA": "/var/run/secrets/istio/root-cert.pem"}}, "trustDomain": "aster", "caCertificates": [{"pem": root}]}  # fmt: skip
    scene.config_map("dp", "istio-aster", {"mesh": yaml.safe_dump(mesh)}, namespace="istio-system")
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": root}, namespace="istio-system")
