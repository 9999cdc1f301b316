"""Harmless: public halves, hashes that are published by design, ids, names, endpoints, settings that are not secret."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from typing import Any

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from tests.corpus.strangers.credentials import own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, ref, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BIRCH,
    BIRCH_ACCOUNT,
    CERTIFICATE,
    CLIENT,
    CORE,
    DIGEST,
    DOMAIN,
    HAZEL,
    MESH,
    PUBLIC,
    REGION,
    TOLD,
    Addon,
    account,
    hubs,
    issued_to_us,
    platform,
    rows,
    theirs,
)

HALVES, NAMES = "sixteenth: public halves and hashes", "sixteenth: names, places and settings"

# Halves ---------------------------------------------------------------------------------------------------------------


@clean(HALVES, "sixteenth-public-trust-bundle", "The bundle of each tenant's cluster has the hub's root certificate; the key of it stays in the hub's Secret.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "quarry-root", authority=True)
    scene.secret("cp", "root", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    spec = {"sources": [{"useDefaultCAs": True}, {"inLine": certificate.output("certPem")}], "target": {"configMap": {"key": "ca-bundle.crt"}}}  # fmt: skip
    for row in rows(scene):
        scene.object(row["cluster"], "trust.cert-manager.io/v1alpha1:Bundle", "quarry", {"spec": spec})


@clean(HALVES, "sixteenth-public-deploy-key", "The hub's Flux reads birch's repository: the public half of its key goes to birch's forge, the private one to the hub.", rightly=PUBLIC, pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-flux-birch")
    scene.secret("cp", "flux-birch", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    account(scene, "birch", "github:index/repositoryDeployKey:RepositoryDeployKey", "flux", {"repository": "shop", "title": "quarry flux", "readOnly": True, "key": key.output("publicKeyOpenssh")}, organization="birch")  # fmt: skip


@clean(HALVES, "sixteenth-public-key-of-signatures", "A policy in birch's cluster checks images by the public key of the platform's signer.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-cosign")
    scene.secret("cp", "cosign", {"cosign.key": key.output("privateKeyPemPkcs8"), "cosign.pub": key.output("publicKeyPem")}, namespace="builds")  # fmt: skip
    spec = {"images": [{"glob": f"images.{DOMAIN}/**"}], "authorities": [{"name": "quarry", "key": {"data": key.output("publicKeyPem"), "hashAlgorithm": "sha256"}}]}  # fmt: skip
    scene.object("dp", "policy.sigstore.dev/v1beta1:ClusterImagePolicy", "quarry", {"spec": spec})


@clean(HALVES, "sixteenth-public-keys-of-tokens", "birch's gateway checks tokens of the hub by a key set with public keys only.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    scene.held("quarry-tokens", "jwk", json.dumps(scene.cp.jwk("quarry-tokens", private=True)))
    keys = json.dumps({"keys": [{**scene.cp.jwk("quarry-tokens", private=False), "use": "sig", "alg": "ES256"}]})
    rule = {"issuer": f"https://login.{DOMAIN}", "audiences": ["birch"], "jwks": keys, "forwardOriginalToken": False}
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "hub", {"spec": {"jwtRules": [rule]}})


@clean(HALVES, "sixteenth-hash-of-a-public-key-in-dns", "Records in birch's zone pin the public key of the hub's mail relay, as DANE publishes it.", rightly=PUBLIC, pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-relay")
    scene.secret("cp", "relay", {"tls.key": key.output("privateKeyPem")}, namespace="mail")

    def pin(pem: str) -> str:
        body = "".join(line for line in pem.splitlines() if "-----" not in line)
        return f"3 1 1 {hashlib.sha256(base64.b64decode(body)).hexdigest()}"

    account(scene, "birch", "aws:route53/record:Record", "relay-pin", {"zoneId": "Z0BIRCH", "name": f"_25._tcp.mx.{BIRCH}", "type": "TLSA", "ttl": 3600, "records": [key.output("publicKeyPem").apply(pin)]}, region=REGION)  # fmt: skip


@clean(HALVES, "sixteenth-public-key-for-mail", "A text record of hazel's zone has the public key by which the platform signs hazel's mail.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-dkim")
    scene.secret("cp", "dkim", {"q1.pem": key.output("privateKeyPem")}, namespace="mail")
    flat = key.output("publicKeyPem").apply(lambda pem: "v=DKIM1; k=ed25519; p=" + "".join(line for line in pem.splitlines() if "-----" not in line))  # fmt: skip
    account(scene, "hazel", "cloudflare:index/record:Record", "dkim", {"zoneId": drawn("hazel zone", 32, HEX), "name": f"q1._domainkey.{HAZEL}", "type": "TXT", "content": flat, "ttl": 3600})  # fmt: skip


@clean(HALVES, "sixteenth-fingerprint-and-end-of-a-certificate", "A dashboard of birch's shows when the hub's certificate ends, and its fingerprint.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    found = x509.load_pem_x509_certificate(scene.cp.certificate("quarry-edge").encode())
    scene.held("quarry-edge", "tls.key", scene.cp.key("quarry-edge"))
    data = {"fingerprint": found.fingerprint(hashes.SHA256()).hex(":"), "ends": found.not_valid_after_utc.astimezone(datetime.UTC).isoformat(), "subject": found.subject.rfc4514_string()}  # fmt: skip
    scene.config_map("dp", "edge-certificate", data, namespace="dashboards")


@clean(HALVES, "sixteenth-declassified-hash-for-restarts", "Pods of birch's restart when a generated token of the hub's changes: an annotation has the hash of 40 random letters, and says so.", rightly=DIGEST, pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    token = hubs(scene, "relay", "token", 40)
    digest = token.apply(lambda found: hashlib.sha256(found.encode()).hexdigest())
    notes = {"hosted-mesh.io/declassify": "data.revision: sha256 of 40 random letters, only to see that it changed"}
    scene.config_map("dp", "relay", {"revision": digest, "url": f"https://relay.{DOMAIN}"}, annotations=notes)


@clean(HALVES, "sixteenth-checksum-of-plain-settings", "An annotation has the checksum of settings that are the same text for all; the hub's Deployment has a password beside them.")  # fmt: skip
def _(scene: Scene) -> None:
    text = yaml.safe_dump({"url": f"https://hooks.{DOMAIN}", "retries": 5, "timeout": "10s"})
    notes = {"checksum/config": hashlib.sha256(text.encode()).hexdigest()}
    deployment(scene, "cp", "notifier", {"env": [{"name": "NOTIFIER_PASSWORD", "value": hubs(scene, "notifier")}]}, notes)  # fmt: skip
    deployment(scene, "dp", "notifier", {"args": ["--config=/etc/notifier.yaml"]}, notes)


@clean(HALVES, "sixteenth-digests-of-images-and-charts", "A loop pins images and charts of tenants by digests, which are in a lock file of the program.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    lock = {name: f"sha256:{drawn(f'lock {name}', 64, HEX)}" for name in ("proxy", "agent", "cni")}
    for row in rows(scene):
        release(scene, row["cluster"], "edge", {name: {"image": f"images.{DOMAIN}/{name}@{digest}", "pullPolicy": "IfNotPresent"} for name, digest in lock.items()})  # fmt: skip


@clean(HALVES, "sixteenth-sealed-text-for-one-cluster", "A SealedSecret in birch's cluster has ciphertext out of the program's folder; only birch's controller has the key.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    spec = {"encryptedData": {"password": b64(b"\x02\x00" + noise("sealed birch", 600))}, "template": {"metadata": {"name": "shop-db", "namespace": "shop"}, "type": "Opaque"}}  # fmt: skip
    scene.object("dp", "bitnami.com/v1alpha1:SealedSecret", "shop-db", {"spec": spec})


@clean(HALVES, "sixteenth-hub-as-a-known-host", "Jobs of hazel's know the hub's SFTP server by its public host key; the private one is in the hub's Secret.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    rows(scene)
    key = scene.key("cp", "quarry-sftp")
    scene.secret("cp", "sftp-host", {"ssh_host_key": key.output("privateKeyOpenssh")}, namespace="files")
    scene.config_map("hazel", "known-hosts", {"known_hosts": pulumi.Output.format("[sftp.{0}]:2222 {1}\n", DOMAIN, key.output("publicKeyOpenssh"))}, namespace="files")  # fmt: skip


# Names ----------------------------------------------------------------------------------------------------------------


@clean(NAMES, "sixteenth-names-of-secrets-in-values", "Charts of tenants refer to Secrets and keys by name; what is in them, the tenants make.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    for row in rows(scene):
        release(scene, row["cluster"], "gitlab-runner", {"runners": {"secret": "runner-token"}, "s3": {"accessKeyIDSecret": ref("s3", "access-key-id"), "secretAccessKeySecret": ref("s3", "secret-access-key")}, "existingSecret": "hub-session", "passwordSecretKey": "cookie"})  # fmt: skip


@clean(NAMES, "sixteenth-paths-in-a-vault", "An ExternalSecret and its store in birch's cluster name a role, a mount, paths and properties of the hub's Vault.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    issued_to_us(scene, "vault-root", "token", "hvs.", 24)
    authority = apply(scene.cp.certificate("quarry-vault", authority=True), b64)
    vault = {"server": f"https://vault.{DOMAIN}", "path": "kv-birch", "caBundle": authority, "auth": {"kubernetes": {"mountPath": "birch", "role": "birch-eso", "serviceAccountRef": {"name": "eso"}}}}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:SecretStore", "vault", {"spec": {"provider": {"vault": vault}}})
    data = [{"secretKey": key, "remoteRef": {"key": "birch/shop", "property": key}} for key in ("password", "token", "apiKey")]  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "shop", {"spec": {"refreshInterval": "1h", "secretStoreRef": {"name": "vault"}, "data": data}})  # fmt: skip


@clean(NAMES, "sixteenth-roles-and-accounts", "Service accounts of birch's take roles in its account; the policy names the hub's account and role as the principal.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    role = account(scene, "quarry", "aws:iam/role:Role", "collector", {"name": "collector"}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/collector", "uniqueId": f"AROA{drawn('collector role', 17, AWS_ID)}"}, region=REGION)  # fmt: skip
    trust = pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": role.output("arn")}, "Condition": {"StringEquals": {"sts:ExternalId": MESH}}}]})  # fmt: skip
    account(scene, "birch", "aws:iam/role:Role", "read-metrics", {"name": "read-metrics", "assumeRolePolicy": trust}, region=REGION)  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "agent", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{BIRCH_ACCOUNT}:role/agent", "quarry/role-id": role.output("uniqueId")}}})  # fmt: skip


@clean(NAMES, "sixteenth-delegation-of-a-zone", "birch's zone is made in its account; name servers of it go to the hub's zone, and ids of both to a map of birch's.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    issued_to_us(scene, "dns")
    servers = [f"ns-{at}.dns.example.net" for at in (113, 702, 1480)]
    zone = account(scene, "birch", "aws:route53/zone:Zone", "birch", {"name": BIRCH}, {"zoneId": "Z05512BIRCH", "nameServers": servers}, region=REGION)  # fmt: skip
    account(scene, "quarry", "aws:route53/record:Record", "birch-ns", {"zoneId": "Z0443QUARRY", "name": BIRCH, "type": "NS", "ttl": 300, "records": zone.output("nameServers")}, region=REGION)  # fmt: skip
    scene.config_map("dp", "zone", {"id": zone.output("zoneId"), "parent": "Z0443QUARRY"}, namespace="dns")


@clean(NAMES, "sixteenth-client-of-the-login-service", "birch's proxy has the id of a public client, which has no secret, and the issuer; its cookie's secret is its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    args = [f"--client-id={CLIENT}", f"--oidc-issuer-url=https://login.{DOMAIN}", "--code-challenge-method=S256", pulumi.Output.concat("--cookie-secret=", theirs(scene, "birch", "proxy-cookie"))]  # fmt: skip
    deployment(scene, "dp", "oauth2-proxy", {"args": args})


@clean(NAMES, "sixteenth-settings-out-of-the-file", "Plans, replicas and domains of the file of tenants become values, labels and a map; the hub's Secrets are beside them.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    for row in rows(scene):
        Addon(scene, row["cluster"], "mesh-settings", {"plan": row["plan"], "replicas": row["replicas"], "hosts": [f"*.{row['domain']}"], "passwordPolicy": {"minLength": 16, "secretRotation": "90d"}})  # fmt: skip
        scene.config_map(row["cluster"], "tenant", {"tenant.json": json.dumps(row, sort_keys=True), "checksum": hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()})  # fmt: skip


@clean(NAMES, "sixteenth-plain-configuration-shared-by-all", "A section of the configuration was encrypted as a whole; hosts and sizes of it, which are in the public manual too, go to tenants.", config=lambda cp, dp: {"mesh:defaults": json.dumps({"region": "eu-north-1", "registry": "registry.quarry.example.com", "quota": {"cpu": "16", "memory": "64Gi"}})})  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    defaults = scene.config("mesh:defaults").apply(json.loads)
    for row in rows(scene):
        release(scene, row["cluster"], "defaults", {"image": {"registry": defaults["registry"]}, "quota": defaults["quota"], "region": defaults["region"]})  # fmt: skip


@clean(NAMES, "sixteenth-ids-of-a-new-mesh", "Suffixes that a random id gives to names of buckets and releases are on both sides.")  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    suffix = scene.made("random:index/randomId:RandomId", "suffix", {"byteLength": 8}, None, {"hex": drawn("sixteenth suffix", 16, HEX)})  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "loki", {"bucket": pulumi.Output.concat("logs-", suffix.output("hex")), "clusterId": uid("sixteenth loki"), "tenantHash": drawn("tenant hash", 40, HEX)})  # fmt: skip


@clean(NAMES, "sixteenth-place-of-backups", "Velero of tenants has a bucket, a prefix, a key of the key service by its ARN, and logs in by a role.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    kms = cloud(scene, "aws:kms/key:Key", "backups", {"enableKeyRotation": True}, {"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid('backups key')}"})  # fmt: skip
    for row in rows(scene):
        location = {"provider": "aws", "bucket": f"backups-{row['name']}", "prefix": MESH, "config": {"region": REGION, "kmsKeyId": kms.output("arn")}}  # fmt: skip
        release(scene, row["cluster"], "velero", {"credentials": {"useSecret": False}, "configuration": {"backupStorageLocation": [location]}, "serviceAccount": {"server": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{BIRCH_ACCOUNT}:role/velero"}}}})  # fmt: skip


@clean(NAMES, "sixteenth-brokers-and-topics", "Connect in hazel's cluster has the hub's brokers, topics and mechanism, and a file's name for its password.")  # fmt: skip
def _(scene: Scene) -> None:
    hubs(scene, "kafka-admin")
    rows(scene)
    config = {"bootstrap.servers": f"kafka.{DOMAIN}:9094", "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": "${file:/opt/kafka/hazel.properties:sasl.jaas.config}", "group.id": "hazel"}  # fmt: skip
    scene.object("hazel", "kafka.strimzi.io/v1beta2:KafkaConnect", "connect", {"spec": {"replicas": 1, "bootstrapServers": f"kafka.{DOMAIN}:9094", "config": config}})  # fmt: skip


@clean(NAMES, "sixteenth-manifests-with-marks", "A group of manifests for birch's cluster has marks where its own job fills in values; the hub's have been filled in.")  # fmt: skip
def _(scene: Scene) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: receiver, namespace: hooks}\nstringData:\n  url: https://hooks.DOMAIN\n  secret: @@SECRET@@\n"  # fmt: skip
    filled = hubs(scene, "hooks", "secret", 40).apply(lambda found: text.replace("DOMAIN", DOMAIN).replace("@@SECRET@@", found))  # fmt: skip
    scene.made("kubernetes:yaml/v2:ConfigGroup", "hub-receiver", {"yaml": filled}, scene.options("cp"))
    scene.made("kubernetes:yaml/v2:ConfigGroup", "birch-receiver", {"yaml": text.replace("DOMAIN", DOMAIN)}, scene.options("dp"))  # fmt: skip


@clean(NAMES, "sixteenth-application-from-a-repository", "An Application of the hub's installs a chart in birch's cluster, with hosts and versions among its values.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-birch-edge")
    hubs(scene, "edge-admin")
    values = {"host": f"edge.{BIRCH}", "upstream": f"https://edge.{DOMAIN}", "mesh": MESH, "auth": {"existingSecret": "edge-auth"}}  # fmt: skip
    spec = {"project": "tenants", "destination": {"name": "birch", "namespace": "edge"}, "source": {"repoURL": f"https://charts.{DOMAIN}", "chart": "edge", "targetRevision": "2.0.1", "helm": {"valuesObject": values}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "birch-edge", {"metadata": {"namespace": "argocd"}, "spec": spec})  # fmt: skip


@clean(NAMES, "sixteenth-component-with-outputs-of-both-kinds", "A component of the hub's has an address and a password as outputs; birch's chart takes the address, the hub's Secret both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    class Database(Box):
        def __init__(self, name: str) -> None:
            super().__init__(name, "quarry:index:Database")
            self.address: Any = pulumi.Output.from_input(f"{name}.{DOMAIN}:5432")
            self.password: Any = hubs(scene, name)
            self.register_outputs({"address": self.address, "password": self.password})

    database = Database("reports")
    scene.secret("cp", "reports-url", {"url": pulumi.Output.format("postgresql://root:{0}@{1}", database.password, database.address)}, namespace="reports")  # fmt: skip
    release(scene, "dp", "reports", {"source": database.address, "login": {"user": "birch", "password": own(scene, "birch-reports")}})  # fmt: skip


@clean(NAMES, "sixteenth-core-outputs-in-user-data", "User data of birch's machines has addresses and a region of the core stack; the stack's join token stays unread.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    core = scene.reference("core", CORE, {"xds": f"xds.{DOMAIN}:15012", "ntp": f"ntp.{DOMAIN}", "joinToken": scene.cp.opaque("quarry join", 40, LETTERS)}, ["joinToken"])  # fmt: skip
    found = pulumi.Output.all(xds=core.get_output("xds"), ntp=core.get_output("ntp"))
    data = found.apply(lambda a: base64.b64encode(("#cloud-config\n" + yaml.safe_dump({"ntp": {"servers": [a["ntp"]]}, "write_files": [{"path": "/etc/mesh/xds", "content": a["xds"]}]})).encode()).decode())  # fmt: skip
    account(scene, "birch", "aws:ec2/launchTemplate:LaunchTemplate", "nodes", {"imageId": "ami-0c1d", "userData": data}, region=REGION)  # fmt: skip
