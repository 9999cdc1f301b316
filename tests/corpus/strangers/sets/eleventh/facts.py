"""Harmless, on a provider's first day: files of public things, names that were drawn, and facts of what was made."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, minted, pair
from tests.corpus.strangers.material import LOWER
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box, Object

from .world import (
    ACCOUNT,
    CERTIFICATE,
    CLIENT,
    DOMAIN,
    ISSUER,
    MOSS,
    MOSS_ACCOUNT,
    MOSS_PROJECT,
    MOSS_SUBSCRIPTION,
    PROJECT,
    PUBLIC,
    REED,
    REGION,
    ROOTS,
    TERN,
    digest,
    files,
    moss,
    ours,
    tenants,
    tern,
)

FILES, DRAWN, MADE, HALVES, WIRED = (
    "eleventh: files of public things",
    "eleventh: names that were drawn",
    "eleventh: facts of what was made",
    "eleventh: certificates and public halves",
    "eleventh: facts through code",
)

# Files of public things -----------------------------------------------------------------------------------------------

files(FILES, "dashboard-with-uids", "a dashboard as JSON with uids of its source and panels about logins", {"gateways.json": json.dumps({"uid": drawn("dashboard uid", 14), "title": "Gateways", "panels": [{"id": at, "type": "timeseries", "title": title, "datasource": {"type": "prometheus", "uid": drawn("source uid", 16, "0123456789ABCDEF")}, "targets": [{"refId": "A", "expr": f'sum by (response_code) (rate(istio_requests_total{{mesh_id="{TERN}"}}[5m]))'}]} for at, title in enumerate(["Requests", "Failed tokens", "Password resets"])], "schemaVersion": 39})})  # fmt: skip
files(FILES, "envoy-with-secrets-by-discovery", "Envoy's bootstrap with names of secrets, a cluster for the provider and an id of its node", {"envoy.yaml": yaml.safe_dump({"node": {"id": f"router~10.2.0.7~edge-{drawn('pod hash', 10, HEX)}.ingress~ingress.svc.cluster.local", "cluster": "edge"}, "dynamic_resources": {"ads_config": {"api_type": "GRPC", "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}]}}, "static_resources": {"clusters": [{"name": "xds", "type": "STRICT_DNS", "transport_socket": {"name": "tls", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", "sni": f"xds.{DOMAIN}", "common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": "default", "sds_config": {"path_config_source": {"path": "/etc/envoy/sds.yaml"}}}], "validation_context": {"trusted_ca": {"inline_string": ROOTS}}}}}}]}})})  # fmt: skip
files(FILES, "bundle-of-spiffe", "the provider's SPIFFE bundle as JSON: certificates and keys for verifying", {"tern.json": json.dumps({"keys": [{"use": "x509-svid", "kty": "EC", "crv": "P-256", "x": drawn("bundle x", 43), "y": drawn("bundle y", 43), "x5c": [b64(bytes.fromhex("308201ce") + noise("tern public root 0", 462))]}, {"use": "jwt-svid", "kid": drawn("bundle kid", 32), "kty": "EC", "crv": "P-256", "x": drawn("bundle jwt x", 43), "y": drawn("bundle jwt y", 43)}], "spiffe_sequence": 9, "spiffe_refresh_hint": 300})})  # fmt: skip
files(FILES, "key-set-of-the-login-service", "the provider's key set and discovery, as anybody may fetch them", {"jwks.json": json.dumps({"keys": [{"kid": drawn("login kid", 43), "kty": "RSA", "alg": "RS256", "use": "sig", "n": drawn("login n", 342), "e": "AQAB", "x5t#S256": drawn("login x5t", 43)}]}), "openid-configuration.json": json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/protocol/openid-connect/certs", "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_basic"]})})  # fmt: skip
files(FILES, "module-of-wasm-with-its-sum", "a small module of WASM in base64 and the sums of its versions", {"filter.wasm.b64": b64(b"\x00asm\x01\x00\x00\x00" + noise("wasm body", 700)), "SHA256SUMS": "".join(f"{drawn(f'wasm {at}', 64, HEX)}  filter-0.{at}.wasm\n" for at in range(4))})  # fmt: skip
files(FILES, "encrypted-file-of-the-tenant", "a file that the tenant's people encrypted for the tenant's own key, with a recipient and a checksum", {"secrets.enc.yaml": yaml.safe_dump({"database": {"password": f"ENC[AES256_GCM,data:{b64(noise('enc data', 24))},iv:{b64(noise('enc iv', 32))},tag:{b64(noise('enc tag', 16))},type:str]"}, "sops": {"kms": [{"arn": f"arn:aws:kms:{REGION}:{MOSS_ACCOUNT}:key/{uid('moss sops')}", "created_at": "2026-03-30T09:11:02Z", "enc": b64(noise("enc kms", 184))}], "mac": f"ENC[AES256_GCM,data:{b64(noise('enc mac', 88))},iv:{b64(noise('mac iv', 32))},tag:{b64(noise('mac tag', 16))},type:str]", "version": "3.10.2"}})})  # fmt: skip
files(FILES, "images-and-statements", "digests of images and an attestation in its envelope, with a signature that anybody may check", {"images.lock": "".join(f"registry.{DOMAIN}/{name}@{digest(name)}\n" for name in ("pilot", "proxyv2", "gateway")), "provenance.jsonl": json.dumps({"payloadType": "application/vnd.in-toto+json", "payload": b64(json.dumps({"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "pilot", "digest": {"sha256": digest("pilot")[7:]}}], "predicateType": "https://slsa.dev/provenance/v1"})), "signatures": [{"keyid": drawn("provenance keyid", 64, HEX), "sig": b64(noise("provenance sig", 71))}]})})  # fmt: skip
files(FILES, "nginx-that-forwards-tokens", "a server's file that forwards callers' tokens and has places for a resolver", {"default.conf": f"upstream xds {{ server xds.{DOMAIN}:15012; keepalive 16; }}\nmap $http_authorization $bearer {{ default ''; '~*^Bearer (?<t>.+)$' $t; }}\nserver {{\n  listen 8080;\n  location /token {{ proxy_set_header Authorization $http_authorization; proxy_pass https://login.{DOMAIN}; proxy_ssl_trusted_certificate /etc/tern/roots.pem; }}\n}}\n"})  # fmt: skip
files(FILES, "alloy-with-files-and-variables", "a collector's file with a token's file, a variable for the password and stages that mask", {"config.alloy": f'prometheus.remote_write "tern" {{\n  endpoint {{\n    url = "https://metrics.{DOMAIN}/api/v1/push"\n    basic_auth {{\n      username = "moss"\n      password = sys.env("REMOTE_WRITE_PASSWORD")\n    }}\n  }}\n}}\nloki.process "mask" {{\n  stage.replace {{\n    expression = "(?i)(?:password|secret|token)[=:]\\\\s*(\\\\S+)"\n    replace    = "***"\n  }}\n}}\n'})  # fmt: skip
files(FILES, "known-hosts-and-ssh", "hosts of forges with their public keys, and settings for SSH with a key's path", {"known_hosts": "".join(f"{host} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn(f'host key {host}', 43)}\n" for host in (f"git.{MOSS}", f"git.{DOMAIN}")), "config": f"Host git.{MOSS}\n  IdentityFile /etc/ssh/keys/identity\n  IdentitiesOnly yes\n"})  # fmt: skip
files(FILES, "script-of-a-rotation", "a script that turns the tenant's password by tools of its own cluster", {"rotate.sh": "#!/bin/sh\nset -eu\nNEW=$(openssl rand -base64 24)\nkubectl -n shop create secret generic db --from-literal=password=\"$NEW\" --dry-run=client -o yaml | kubectl apply -f -\nPGPASSWORD=$OLD psql -h \"$PGHOST\" -c \"ALTER ROLE shop PASSWORD '$NEW'\"\nkubectl -n shop annotate secret db tern.example.com/rotated=\"$(date -u +%FT%TZ)\" --overwrite\n"})  # fmt: skip
files(FILES, "corefile-and-zone", "a Corefile and a zone with records of checks and signatures", {"Corefile": f".:53 {{\n  forward {DOMAIN} 198.51.100.53 {{\n    tls_servername dns.{DOMAIN}\n  }}\n  cache 30\n}}\n", "db.moss": f"$ORIGIN {MOSS}.\n@ 3600 IN SOA ns1 ops 2026040301 7200 3600 1209600 300\n@ IN TXT \"v=DMARC1; p=reject; rua=mailto:dmarc@{MOSS}\"\ns1._domainkey IN TXT \"v=DKIM1; k=rsa; p={b64(noise('moss dkim', 294))}\"\n@ IN DNSKEY 257 3 13 {b64(noise('moss dnskey', 64))}\n"})  # fmt: skip

# Names that were drawn ------------------------------------------------------------------------------------------------


def rolled(scene: Scene, kind: str, name: str, inputs: dict[str, Any], **answers: Any) -> Object:
    """A resource of the random package that is no secret: an id, a pet, a number."""
    return scene.made(f"random:index/random{kind}:Random{kind}", name, inputs, None, answers)


@clean(DRAWN, "eleventh-bucket-with-a-random-id", "A bucket of the tenant's has eight random digits in its name, and so has the policy and the chart that writes to it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    suffix = rolled(scene, "Id", "suffix", {"byteLength": 4}, hex=drawn("suffix", 8, HEX), dec="2841190311", b64Url=drawn("suffix url", 6)).output("hex")  # fmt: skip
    name = pulumi.Output.concat("moss-backups-", suffix)
    moss(scene, "aws:s3/bucketV2:BucketV2", "backups", {"bucket": name, "forceDestroy": False}, region=REGION)
    moss(scene, "aws:iam/policy:Policy", "backups-writer", {"policy": pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject"], "Resource": pulumi.Output.concat("arn:aws:s3:::", name, "/*")}]})}, region=REGION)  # fmt: skip
    release(scene, "dp", "velero", {"configuration": {"backupStorageLocation": [{"name": "default", "provider": "aws", "bucket": name, "config": {"region": REGION}}]}, "credentials": {"useSecret": False}})  # fmt: skip


@clean(DRAWN, "eleventh-pet-names-a-cluster", "A pet names the tenant's cluster: in the mesh's values, in a label and in a record.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    pet = pulumi.Output.from_input(rolled(scene, "Pet", "cluster", {"length": 2}, id="golden-marmot").id)
    release(scene, "dp", "istiod-remote", {"global": {"meshID": TERN, "multiCluster": {"clusterName": pet}, "remotePilotAddress": f"xds.{DOMAIN}"}})  # fmt: skip
    scene.object("dp", "v1:Namespace", "istio-system", {"metadata": {"name": "istio-system", "labels": {"topology.istio.io/network": pet}}})  # fmt: skip
    moss(scene, "aws:route53/record:Record", "east-west", {"zoneId": "Z07718MOSS", "name": pulumi.Output.concat(pet, f".mesh.{MOSS}"), "type": "A", "ttl": 60, "records": ["203.0.113.19"]}, region=REGION)  # fmt: skip


@clean(DRAWN, "eleventh-uuid-of-an-installation", "An installation has a random UUID, which both clusters' agents send with their reports.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    number = rolled(scene, "Uuid", "installation", {}, result=uid("installation")).output("result")
    for side, name in (("cp", "reports-server"), ("dp", "reports-agent")):
        release(scene, side, name, {"installationId": number, "endpoint": f"https://reports.{DOMAIN}", "resourceAttributes": {"service.instance.id": number}})  # fmt: skip


@clean(DRAWN, "eleventh-minute-and-priority", "Random numbers spread schedules and give a rule its priority; both are at the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    minute = rolled(scene, "Integer", "minute", {"min": 0, "max": 59}, result=37).output("result")
    priority = rolled(scene, "Integer", "priority", {"min": 1000, "max": 49999}, result=20417).output("result")  # fmt: skip
    scene.object("dp", "velero.io/v1:Schedule", "nightly", {"spec": {"schedule": pulumi.Output.concat(apply(minute, lambda n: str(int(n or 0))), " 3 * * *"), "template": {"ttl": "720h0m0s"}}})  # fmt: skip
    moss(scene, "aws:lb/listenerRule:ListenerRule", "shop", {"listenerArn": f"arn:aws:elasticloadbalancing:{REGION}:{MOSS_ACCOUNT}:listener/app/shop/{drawn('listener', 16, HEX)}/{drawn('listener 2', 16, HEX)}", "priority": priority, "conditions": [{"hostHeader": {"values": [f"shop.{MOSS}"]}}], "actions": [{"type": "forward", "targetGroupArn": f"arn:aws:elasticloadbalancing:{REGION}:{MOSS_ACCOUNT}:targetgroup/shop/{drawn('tg', 16, HEX)}"}]}, region=REGION)  # fmt: skip


@clean(DRAWN, "eleventh-random-string-in-an-account-name", "A storage account must have a name that nobody has: six random letters end it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    letters = rolled(scene, "String", "storage-suffix", {"length": 6, "special": False, "upper": False}, result=drawn("storage suffix", 6, LOWER)).output("result")  # fmt: skip
    account = pulumi.Output.concat("mosslogs", letters)
    moss(scene, "azure-native:storage:StorageAccount", "logs", {"resourceGroupName": "moss", "accountName": account, "sku": {"name": "Standard_ZRS"}, "kind": "StorageV2", "allowSharedKeyAccess": False}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip
    scene.config_map("dp", "logs", {"endpoint": pulumi.Output.concat("https://", account, ".blob.core.windows.net/loki")})  # fmt: skip


@clean(DRAWN, "eleventh-shuffled-zones-and-a-rotation-time", "Zones are shuffled for the tenant's nodes; a rotating time is the annotation that restarts its gateway.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    zones = rolled(scene, "Shuffle", "zones", {"inputs": [f"{REGION}{z}" for z in "abc"], "resultCount": 2}, results=[f"{REGION}c", f"{REGION}a"]).output("results")  # fmt: skip
    time = scene.made("time:index/rotating:Rotating", "weekly", {"rotationDays": 7}, None, {"rfc3339": "2026-04-06T00:00:00Z", "unix": 1775433600})  # fmt: skip
    scene.object("dp", "karpenter.sh/v1:NodePool", "gateways", {"spec": {"template": {"spec": {"requirements": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones}]}}}})  # fmt: skip
    deployment(scene, "dp", "gateway", {"ports": [{"containerPort": 15443}]}, {"tern.example.com/restarted-at": time.output("rfc3339")})  # fmt: skip


# Facts of what was made -----------------------------------------------------------------------------------------------


def eks(scene: Scene, name: str) -> Object:
    """A cluster in the tenant's account."""
    answers = {"endpoint": f"https://{drawn(f'{name} eks host', 32, '0123456789ABCDEF')}.gr7.{REGION}.eks.amazonaws.com", "certificateAuthority": {"data": b64(scene.dp.certificate(f"{name}-eks", authority=True))}, "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{REGION}.amazonaws.com/id/{drawn(f'{name} oidc', 32, '0123456789ABCDEF')}"}]}]}  # fmt: skip
    return moss(scene, "aws:eks/cluster:Cluster", name, {"roleArn": f"arn:aws:iam::{MOSS_ACCOUNT}:role/eks", "vpcConfig": {"subnetIds": ["subnet-0a1", "subnet-0b2"]}, "accessConfig": {"authenticationMode": "API"}}, answers, region=REGION)  # fmt: skip


def exec_config(name: str, endpoint: Any, authority: Any) -> pulumi.Output[str]:
    """A kubeconfig that logs in by a command."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": ["eks", "get-token", "--cluster-name", name, "--role-arn", f"arn:aws:iam::{MOSS_ACCOUNT}:role/deploy"]}}  # fmt: skip
    return pulumi.Output.json_dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}], "users": [{"name": name, "user": user}], "contexts": [{"name": name, "context": {"cluster": name, "user": name}}], "current-context": name})  # fmt: skip


@clean(MADE, "eleventh-cluster-and-its-provider-in-one-program", "The tenant's cluster is made, a provider logs in by a command, and a map with the mesh's facts goes there.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    made = eks(scene, "moss-prod")
    config = exec_config("moss-prod", made.output("endpoint"), made.output("certificateAuthority").apply(lambda found: (found or {}).get("data", "")))  # fmt: skip
    opts = pulumi.ResourceOptions(provider=pulumi.ProviderResource("kubernetes", "moss-prod", {"kubeconfig": config, "enableServerSideApply": True}))  # fmt: skip
    scene.made("kubernetes:core/v1:ConfigMap", "mesh-facts", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mesh-facts", "namespace": "istio-system"}, "data": {"meshID": TERN, "xds": f"xds.{DOMAIN}:15012", "root.pem": ROOTS}}, opts)  # fmt: skip


@clean(MADE, "eleventh-access-entries-for-support", "The provider's support role is made in its account; the tenant's cluster gets an access entry and a policy by the role's ARN.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    role = cloud(scene, "aws:iam/role:Role", "support", {"assumeRolePolicy": "{}"}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/support-{drawn('support role', 7, HEX)}", "uniqueId": f"AROA{drawn('support id', 17, AWS_ID)}"})  # fmt: skip
    entry = {"clusterName": "moss-prod", "principalArn": role.output("arn")}
    moss(scene, "aws:eks/accessEntry:AccessEntry", "support-entry", {**entry, "kubernetesGroups": ["tern-support"], "userName": pulumi.Output.concat("tern:", role.output("uniqueId"))}, region=REGION)  # fmt: skip
    moss(scene, "aws:eks/accessPolicyAssociation:AccessPolicyAssociation", "support-view", {**entry, "policyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy", "accessScope": {"type": "namespace", "namespaces": ["istio-system"]}}, region=REGION)  # fmt: skip


@clean(MADE, "eleventh-thumbprint-of-an-issuer", "An issuer's certificate is looked up; its thumbprint makes a provider of identities in the tenant's account, and a role trusts it.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    made = eks(scene, "moss-stage")
    issuer = made.output("identities").apply(lambda found: found[0]["oidcs"][0]["issuer"] if found else "https://pending.example.com")  # fmt: skip
    found = scene.invoke("tls:index/getCertificate:getCertificate", {"certificates": [{"isCa": True, "sha1Fingerprint": drawn("oidc thumb", 40, HEX), "subject": "CN=Public Root,O=Trust Services"}]}, secret=False)  # fmt: skip
    provider = moss(scene, "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "irsa", {"url": issuer, "clientIdLists": ["sts.amazonaws.com"], "thumbprintLists": [found.apply(lambda answer: answer["certificates"][0]["sha1Fingerprint"])]}, {"arn": f"arn:aws:iam::{MOSS_ACCOUNT}:oidc-provider/oidc.eks"}, region=REGION)  # fmt: skip
    policy = pulumi.Output.all(provider.output("arn"), issuer).apply(lambda pair_: json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": {"Federated": pair_[0]}, "Condition": {"StringEquals": {f"{pair_[1].removeprefix('https://')}:sub": "system:serviceaccount:cert-manager:cert-manager"}}}]}))  # fmt: skip
    role = moss(scene, "aws:iam/role:Role", "cert-manager", {"assumeRolePolicy": policy}, {"arn": f"arn:aws:iam::{MOSS_ACCOUNT}:role/cert-manager"}, region=REGION)  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "cert-manager", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": role.output("arn")}}})  # fmt: skip


@clean(MADE, "eleventh-google-accounts-of-both", "The provider's project has an account whose address the tenant's project lets view metrics; its key is made for the provider's own cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "gcp:serviceaccount/account:Account", "observer", {"accountId": "observer"}, {"email": f"observer@{PROJECT}.iam.gserviceaccount.com", "uniqueId": "104472210937114820551"})  # fmt: skip
    key = cloud(scene, "gcp:serviceaccount/key:Key", "observer-key", {"serviceAccountId": made.output("email")}, {"privateKey": b64(json.dumps({"type": "service_account", "private_key": scene.cp.key("observer")}))}, ["privateKey"])  # fmt: skip
    scene.secret("cp", "observer", {"key.json": key.output("privateKey").apply(lambda found: base64.b64decode(found or "").decode())}, namespace="monitoring")  # fmt: skip
    moss(scene, "gcp:projects/iAMMember:IAMMember", "observer-views", {"project": MOSS_PROJECT, "role": "roles/monitoring.viewer", "member": pulumi.Output.concat("serviceAccount:", made.output("email"))}, project=MOSS_PROJECT)  # fmt: skip
    scene.config_map("dp", "observers", {"account": made.output("email"), "id": made.output("uniqueId")})


@clean(MADE, "eleventh-federated-credential-of-a-cluster", "The tenant's identity trusts its cluster's issuer; its admin kubeconfig goes up to the provider, who keeps it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    made = moss(scene, "azure-native:containerservice:ManagedCluster", "aks", {"resourceGroupName": "moss", "dnsPrefix": "moss", "oidcIssuerProfile": {"enabled": True}}, {"oidcIssuerProfile": {"enabled": True, "issuerURL": f"https://francecentral.oic.prod-aks.azure.com/{uid('moss directory')}/{uid('aks issuer')}/"}, "fqdn": "moss-dns-7c21.hcp.francecentral.azmk8s.io"}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip
    identity = moss(scene, "azure-native:managedidentity:UserAssignedIdentity", "dns", {"resourceGroupName": "moss"}, {"clientId": uid("moss dns client"), "principalId": uid("moss dns principal")}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip
    issuer = made.output("oidcIssuerProfile").apply(lambda found: (found or {}).get("issuerURL"))
    moss(scene, "azure-native:managedidentity:FederatedIdentityCredential", "dns-federation", {"resourceGroupName": "moss", "resourceName": "dns", "issuer": issuer, "subject": "system:serviceaccount:external-dns:external-dns", "audiences": ["api://AzureADTokenExchange"]}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "external-dns", {"metadata": {"annotations": {"azure.workload.identity/client-id": identity.output("clientId")}}})  # fmt: skip
    scene.secret("cp", "aks-of-moss", {"kubeconfig": scene.dp.kubeconfig("moss-aks", SERVERS["dp"])}, namespace="moss")  # fmt: skip


@clean(MADE, "eleventh-dkim-tokens-of-a-mail-service", "The provider's mail service signs for the tenant's domain; the tokens that it answers are names of three public records.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    tokens = [drawn(f"dkim {at}", 32, LOWER) for at in range(3)]
    made = cloud(scene, "aws:ses/domainDkim:DomainDkim", "mail-moss", {"domain": MOSS}, {"dkimTokens": tokens})  # fmt: skip
    for at in range(3):
        token = made.output("dkimTokens").apply(lambda found, at=at: found[at] if found else f"pending{at}")
        moss(scene, "aws:route53/record:Record", f"dkim-{at}", {"zoneId": "Z07718MOSS", "name": pulumi.Output.concat(token, f"._domainkey.{MOSS}"), "type": "CNAME", "ttl": 600, "records": [pulumi.Output.concat(token, ".dkim.amazonses.com")]}, region=REGION)  # fmt: skip


@clean(MADE, "eleventh-verification-of-a-domain", "A certificate's authorization and a domain's verification are answered by the provider's cloud; the tenant's zone has both.")  # fmt: skip
def _(scene: Scene) -> None:
    ours(scene, "zones")
    made = cloud(scene, "gcp:certificatemanager/dnsAuthorization:DnsAuthorization", "moss", {"domain": f"mesh.{MOSS}"}, {"dnsResourceRecords": [{"name": f"_acme-challenge_{drawn('auth name', 16, LOWER)}.mesh.{MOSS}.", "type": "CNAME", "data": f"{uid('auth data')}.{drawn('auth shard', 2, '0123456789')}.authorize.certificatemanager.goog."}]})  # fmt: skip
    record = made.output("dnsResourceRecords").apply(lambda found: (found or [{"name": "pending", "type": "CNAME", "data": "pending"}])[0])  # fmt: skip
    moss(scene, "gcp:dns/recordSet:RecordSet", "authorization", {"managedZone": "moss", "name": record.apply(lambda row: row["name"]), "type": "CNAME", "ttl": 300, "rrdatas": [record.apply(lambda row: row["data"])]}, project=MOSS_PROJECT)  # fmt: skip
    moss(scene, "gcp:dns/recordSet:RecordSet", "verification", {"managedZone": "moss", "name": f"{MOSS}.", "type": "TXT", "ttl": 300, "rrdatas": [f'"tern-verification={hashlib.sha256(MOSS.encode()).hexdigest()}"']}, project=MOSS_PROJECT)  # fmt: skip


@clean(MADE, "eleventh-shared-transit-gateway", "A transit gateway of the provider's is shared; the tenant accepts by the share's ARN and makes an attachment and routes.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    share = cloud(scene, "aws:ram/resourceShare:ResourceShare", "transit", {"allowExternalPrincipals": True}, {"arn": f"arn:aws:ram:{REGION}:{ACCOUNT}:resource-share/{uid('share')}"})  # fmt: skip
    gateway = cloud(scene, "aws:ec2transitgateway/transitGateway:TransitGateway", "hub", {"description": "hosted meshes"}, {"arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:transit-gateway/tgw-{drawn('tgw hub', 17, HEX)}", "ownerId": ACCOUNT})  # fmt: skip
    moss(scene, "aws:ram/resourceShareAccepter:ResourceShareAccepter", "accept", {"shareArn": share.output("arn")}, region=REGION)  # fmt: skip
    moss(scene, "aws:ec2transitgateway/vpcAttachment:VpcAttachment", "attach", {"transitGatewayId": gateway.id, "vpcId": f"vpc-{drawn('moss vpc', 17, HEX)}", "subnetIds": [f"subnet-{drawn('moss subnet', 17, HEX)}"], "tags": {"owner": gateway.output("ownerId")}}, region=REGION)  # fmt: skip


@clean(MADE, "eleventh-image-that-was-built-and-pushed", "An image is pushed with the provider's login; the tenant runs it by its digest, with a note of the build's reference.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = ours(scene, "registry-push", namespace="ci")
    made = cloud(scene, "docker-build:index:Image", "agent", {"tags": [f"registry.{DOMAIN}/agent:3"], "push": True, "registries": [{"address": f"registry.{DOMAIN}", "username": "ci", "password": login}]}, {"ref": f"registry.{DOMAIN}/agent:3@{digest('agent')}", "digest": digest("agent")})  # fmt: skip
    deployment(scene, "dp", "agent", {"image": made.output("ref"), "args": ["--status-port=8081"]}, {"tern.example.com/digest": made.output("digest")})  # fmt: skip


@clean(MADE, "eleventh-pull-through-cache-of-public-images", "The tenant's account caches public images; workloads have digests that a look-up answered.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    moss(scene, "aws:ecr/pullThroughCacheRule:PullThroughCacheRule", "k8s", {"ecrRepositoryPrefix": "k8s", "upstreamRegistryUrl": "registry.images.example.com"}, region=REGION)  # fmt: skip
    found = scene.invoke("aws:ecr/getImage:getImage", {"imageDigest": digest("pause"), "imagePushedAt": 1774900000}, secret=False)  # fmt: skip
    deployment(scene, "dp", "placeholder", {"image": found.apply(lambda image: f"{MOSS_ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/k8s/pause@{image['imageDigest']}")})  # fmt: skip


@clean(MADE, "eleventh-mounts-of-a-vault-by-the-tenants-reviewer", "The provider's Vault knows the tenant's cluster by its address, authority and reviewer's token; the tenant has role and path.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    cloud(scene, "vault:kubernetes/authBackendConfig:AuthBackendConfig", "moss-cluster", {"backend": "kubernetes/moss", "kubernetesHost": SERVERS["dp"], "kubernetesCaCert": scene.dp.certificate("kubernetes", authority=True), "tokenReviewerJwt": minted(scene, "dp", "vault-reviewer")}, {})  # fmt: skip
    cloud(scene, "vault:kubernetes/authBackendRole:AuthBackendRole", "moss-shop", {"backend": "kubernetes/moss", "roleName": "shop", "boundServiceAccountNames": ["shop"], "tokenPolicies": ["moss-shop"]}, {})  # fmt: skip
    scene.object("dp", "secrets.hashicorp.com/v1beta1:VaultAuth", "shop", {"spec": {"method": "kubernetes", "mount": "kubernetes/moss", "kubernetes": {"role": "shop", "serviceAccount": "shop", "audiences": ["vault"]}}})  # fmt: skip


# Certificates and public halves ---------------------------------------------------------------------------------------


@clean(HALVES, "eleventh-root-of-the-webhooks", "An authority is generated, signs the webhook's certificate, and is the bundle in the tenant's webhooks; both keys stay.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "webhook-ca", authority=True)
    key, cert = issued(scene, "cp", "injector", ca_key, ca_cert, "webhook-ca")
    scene.secret("cp", "injector-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem"), "ca.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="mesh-system")  # fmt: skip
    scene.secret("cp", "webhook-ca", {"tls.key": ca_key.output("privateKeyPem")}, namespace="mesh-system")
    hook = {"name": "validation.istio.io", "clientConfig": {"url": f"https://xds.{DOMAIN}:15017/validate", "caBundle": apply(ca_cert.output("certPem"), b64)}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "timeoutSeconds": 5}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", "istio-validator", {"webhooks": [hook]})  # fmt: skip


@clean(HALVES, "eleventh-roots-of-each-mesh-in-its-namespaces", "Each tenant's mesh has an authority at the provider's; each cluster has the root of its own mesh in a map.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    for tenant, side in tenants(scene).items():
        key, cert = pair(scene, "cp", f"mesh-{tenant}", authority=True)
        scene.secret("cp", f"cacerts-{tenant}", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")}, namespace=f"mesh-{tenant}")  # fmt: skip
        scene.config_map(side, "istio-ca-root-cert", {"root-cert.pem": cert.output("certPem")})


@clean(HALVES, "eleventh-ssh-key-of-nodes", "A key for SSH is generated; nodes of the tenant's cluster have its public half, as the cloud's settings want it.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "node-ssh")
    scene.secret("cp", "node-ssh", {"id": key.output("privateKeyOpenssh")}, namespace="platform")
    moss(scene, "azure-native:containerservice:ManagedCluster", "aks-ssh", {"resourceGroupName": "moss", "dnsPrefix": "moss", "linuxProfile": {"adminUsername": "tern", "ssh": {"publicKeys": [{"keyData": key.output("publicKeyOpenssh")}]}}, "agentPoolProfiles": [{"name": "system", "mode": "System", "count": 3, "vmSize": "Standard_D4as_v5"}]}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip


@clean(HALVES, "eleventh-issuer-key-for-verifying", "Tokens of callers are signed at the provider's; a chart at the tenant's verifies them by the public key in a value and in a map.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "caller-tokens")
    scene.secret("cp", "caller-tokens", {"private.pem": key.output("privateKeyPem")}, namespace="login")
    public = key.output("publicKeyPem")
    release(scene, "dp", "edge-auth", {"jwt": {"algorithm": "ES256", "issuer": ISSUER, "audience": CLIENT, "publicKey": public}})  # fmt: skip
    scene.config_map("dp", "edge-auth", {"issuer.pem": public, "issuer": ISSUER})


# Facts through code ---------------------------------------------------------------------------------------------------


@clean(WIRED, "eleventh-address-of-the-balancer", "The provider's Service answers a balancer's name; the tenant's ServiceEntry, record and values have it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    service = scene.answered("cp", "v1:Service", "istiod-external", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["198.51.100.0/24"], "ports": [{"name": "tls-xds", "port": 15012}]}}, status={"loadBalancer": {"ingress": [{"hostname": f"a{drawn('nlb', 31, HEX)}.elb.{REGION}.amazonaws.com"}]}})  # fmt: skip
    host = service.output("status").apply(lambda status: (((status or {}).get("loadBalancer") or {}).get("ingress") or [{"hostname": "pending.example.com"}])[0]["hostname"])  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "istiod", {"spec": {"hosts": [f"xds.{DOMAIN}"], "endpoints": [{"address": host}], "resolution": "DNS", "ports": [{"number": 15012, "name": "tls", "protocol": "TLS"}]}})  # fmt: skip
    moss(scene, "aws:route53/record:Record", "xds-alias", {"zoneId": "Z07718MOSS", "name": f"xds.mesh.{MOSS}", "type": "CNAME", "ttl": 60, "records": [host]}, region=REGION)  # fmt: skip


@clean(WIRED, "eleventh-members-of-a-stacks-output", "Another stack puts out a cluster's facts as one object and its kubeconfig as a secret; the tenant has members of the object.")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"cluster": {"name": "tern-hub", "endpoint": f"https://api.{DOMAIN}:6443", "oidcIssuer": f"https://oidc.{DOMAIN}/id/{drawn('hub oidc', 32, HEX)}", "nodeSecurityGroup": f"sg-{drawn('hub sg', 17, HEX)}"}, "kubeconfig": scene.cp.kubeconfig("hub", SERVERS["cp"])}  # fmt: skip
    found = scene.reference("hub", "tern/hub/prod", outputs, ["kubeconfig"])
    scene.secret("cp", "hub-kubeconfig", {"config": found.require_output("kubeconfig")}, namespace="platform")
    facts = found.get_output("cluster")
    scene.config_map("dp", "hub", {"issuer": facts.apply(lambda cluster: cluster["oidcIssuer"]), "name": facts["name"]})  # fmt: skip


@clean(WIRED, "eleventh-component-that-shows-three-facts", "A component of the control plane has a password and a key inside; the tenant's component takes its end point and certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    class ControlPlane(Box):
        def __init__(self, name: str) -> None:
            super().__init__(name, "tern:mesh:ControlPlane")
            key, cert = pair(scene, "cp", f"{name}-root", authority=True)
            self.password = ours(scene, f"{name}-database")
            scene.secret("cp", f"{name}-root", {"ca-key.pem": key.output("privateKeyPem")}, namespace="mesh-system")  # fmt: skip
            self.endpoint, self.root = pulumi.Output.from_input(f"xds.{DOMAIN}:15012"), cert.output("certPem")
            self.register_outputs({"endpoint": self.endpoint, "root": self.root})

    class DataPlane(Box):
        def __init__(self, name: str, endpoint: Any, root: Any) -> None:
            super().__init__(name, "tern:mesh:DataPlane")
            release(scene, "dp", "istiod-remote", {"global": {"remotePilotAddress": endpoint}, "root": root})
            self.register_outputs({})

    plane = ControlPlane("mesh")
    DataPlane("moss", plane.endpoint, plane.root)


@clean(WIRED, "eleventh-frozen-facts-of-an-endpoint", "What crosses is a frozen class of facts, unfolded into values and variables; logins are in another class that stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass(frozen=True)
    class Endpoint:
        host: str = f"xds.{DOMAIN}"
        port: int = 15012
        mesh_id: str = TERN
        trust_domain: str = f"mesh.{DOMAIN}"
        ca_bundle: str = ROOTS

    @dataclasses.dataclass(frozen=True)
    class Access:
        endpoint: Endpoint
        token: pulumi.Output[str]

    access = Access(Endpoint(), ours(scene, "operator", "token", 40))
    release(scene, "cp", "mesh-operator", {"token": access.token, **dataclasses.asdict(access.endpoint)})
    release(scene, "dp", "mesh-agent", dataclasses.asdict(access.endpoint))
    deployment(scene, "dp", "probe", {"env": [{"name": key.upper(), "value": str(value)} for key, value in dataclasses.asdict(access.endpoint).items()]})  # fmt: skip


@clean(WIRED, "eleventh-checksum-of-public-settings", "Settings of the tenant's gateway are a map; their hash restarts the Pods, and names the map.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    settings = {"gateway.yaml": yaml.safe_dump({"listeners": [80, 443], "mesh": TERN, "upstream": f"xds.{DOMAIN}", "clients": {"moss": CLIENT}})}  # fmt: skip
    found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    scene.config_map("dp", f"gateway-{found[:10]}", settings)
    deployment(scene, "dp", "gateway", {"envFrom": [{"configMapRef": {"name": f"gateway-{found[:10]}"}}]}, {"checksum/config": found})  # fmt: skip


@clean(WIRED, "eleventh-exports-for-the-tenants-people", "The tenant's stack exports where to look: addresses, ids of a board and a role; the provider's logins stay.", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    login = ours(scene, "grafana-service", "token", 46, namespace="monitoring")
    opts = scene.package("grafana", "tern-grafana", "cp", url=f"https://grafana.{DOMAIN}", auth=login)
    folder = scene.made("grafana:oss/folder:Folder", "moss-folder", {"title": "moss"}, opts, {"uid": drawn("folder uid", 14)})  # fmt: skip
    pulumi.export("boards", pulumi.Output.concat(f"https://grafana.{DOMAIN}/dashboards/f/", folder.output("uid")))  # fmt: skip
    pulumi.export("endpoints", {"xds": f"xds.{DOMAIN}:15012", "metrics": f"https://metrics.{DOMAIN}"})
    pulumi.export("supportRole", f"arn:aws:iam::{MOSS_ACCOUNT}:role/tern-support")
    pulumi.export("tenants", [MOSS, REED])
