"""Harmless, beside a mesh team's secrets: objects, files and values that are full of words, digests and places."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from typing import Any

import yaml

from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid

from .world import (
    ACCOUNT,
    CLIENT,
    DIRECTORY,
    DOMAIN,
    ISSUER,
    KEYS,
    LOOM,
    MAPLE,
    MAPLE_ACCOUNT,
    OIDC,
    REGION,
    ROOTS,
    chart,
    files,
    plain,
)

OBJECTS, FILES, CHARTS = "ninth: usual objects", "ninth: files of settings and texts", "ninth: charts' values"


def named(name: str, key: str) -> dict[str, Any]:
    """A variable's value by reference."""
    return {"valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


# Objects --------------------------------------------------------------------------------------------------------------

plain(OBJECTS, "composition-with-connection-keys", "a composition that names connection keys and patches of passwords, without values", "apiextensions.crossplane.io/v1:Composition", {"spec": {"compositeTypeRef": {"apiVersion": "maple.example.com/v1", "kind": "XDatabase"}, "writeConnectionSecretsToNamespace": "crossplane-system", "resources": [{"name": "rds", "base": {"apiVersion": "rds.aws.upbound.io/v1beta1", "kind": "Instance", "spec": {"forProvider": {"region": REGION, "autoGeneratePassword": True, "passwordSecretRef": {"namespace": "crossplane-system", "key": "password"}}}}, "connectionDetails": [{"type": "FromConnectionSecretKey", "name": key, "fromConnectionSecretKey": key} for key in ("username", "password", "endpoint", "port")], "patches": [{"fromFieldPath": "metadata.uid", "toFieldPath": "spec.forProvider.passwordSecretRef.name", "transforms": [{"type": "string", "string": {"fmt": "%s-password"}}]}]}]}})  # fmt: skip
plain(OBJECTS, "generator-of-passwords", "a generator of passwords, by length and alphabet", "generators.external-secrets.io/v1alpha1:Password", {"spec": {"length": 42, "digits": 5, "symbols": 5, "symbolCharacters": "-_$@", "noUpper": False, "allowRepeat": True}})  # fmt: skip
plain(OBJECTS, "request-policy-of-certificates", "a policy about keys and names of certificates", "policy.cert-manager.io/v1alpha1:CertificateRequestPolicy", {"spec": {"allowed": {"dnsNames": {"values": [f"*.{MAPLE}"], "required": True}, "usages": ["server auth", "digital signature"], "isCA": False}, "constraints": {"privateKey": {"algorithm": "ECDSA", "minSize": 256, "maxSize": 521}, "maxDuration": "2160h"}, "selector": {"issuerRef": {"name": "maple"}}}})  # fmt: skip
plain(OBJECTS, "tracing-of-key-files", "a policy of the kernel's that watches files of keys and tokens", "cilium.io/v1alpha1:TracingPolicy", {"spec": {"kprobes": [{"call": "security_file_permission", "syscall": False, "args": [{"index": 0, "type": "file"}], "selectors": [{"matchArgs": [{"index": 0, "operator": "Prefix", "values": ["/etc/shadow", "/etc/ssh/ssh_host_", "/var/run/secrets/kubernetes.io/serviceaccount/token", "/etc/istio/ca/ca-key.pem"]}]}]}]}})  # fmt: skip
plain(OBJECTS, "application-set-with-places-of-a-vault", "an ApplicationSet whose values are places in the tenant's Vault", "argoproj.io/v1alpha1:ApplicationSet", {"spec": {"generators": [{"git": {"repoURL": f"https://git.{MAPLE}/apps.git", "revision": "HEAD", "files": [{"path": "envs/*/config.json"}]}}], "template": {"metadata": {"name": "{{name}}"}, "spec": {"project": "maple", "source": {"repoURL": f"https://charts.{MAPLE}", "chart": "shop", "targetRevision": "{{version}}", "helm": {"values": "db:\n  password: <path:kv/data/shop#password>\n  token: '{{`{{ .token }}`}}'\napiKey: $VAULT:kv/shop/key\n"}}, "destination": {"server": "{{server}}", "namespace": "shop"}}}}})  # fmt: skip
plain(OBJECTS, "provider-settings-by-a-role", "settings of a cloud's provider by a role and the name of a Secret", "aws.upbound.io/v1beta1:ProviderConfig", {"spec": {"credentials": {"source": "IRSA"}, "assumeRoleChain": [{"roleARN": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/crossplane", "externalID": uid("crossplane external")}]}})  # fmt: skip
plain(OBJECTS, "machine-pool-of-the-tenant", "a template of machines with hashes of an authority and a place for a token", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", {"spec": {"template": {"spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"apiServerEndpoint": "dp.example.com:6443", "caCertHashes": [f"sha256:{noise('ca hash', 32).hex()}"]}}, "nodeRegistration": {"kubeletExtraArgs": {"rotate-certificates": "true", "provider-id": "aws:///{{ ds.meta_data.instance_id }}"}}}, "files": [{"path": "/etc/kubernetes/audit.yaml", "encoding": "base64", "content": b64(yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "configmaps", "tokenreviews"]}]}]}))}, {"path": "/etc/tls/key.pem", "contentFrom": {"secret": {"name": "node-tls", "key": "tls.key"}}}]}}}})  # fmt: skip
plain(OBJECTS, "aggregated-interface", "an aggregated interface with the roots of its service", "apiregistration.k8s.io/v1:APIService", {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "caBundle": b64(ROOTS), "service": {"name": "metrics-server", "namespace": "kube-system"}}})  # fmt: skip
plain(OBJECTS, "limits-by-token-buckets", "a local limit with token buckets and keys of descriptors", "networking.istio.io/v1alpha3:EnvoyFilter", {"spec": {"workloadSelector": {"labels": {"app": "shop"}}, "configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.local_ratelimit", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", "stat_prefix": "limit", "token_bucket": {"max_tokens": 1000, "tokens_per_fill": 1000, "fill_interval": "1s"}, "descriptors": [{"entries": [{"key": "header_match", "value": "x-api-key"}], "token_bucket": {"max_tokens": 5, "tokens_per_fill": 5, "fill_interval": "1s"}}]}}}}]}})  # fmt: skip
plain(OBJECTS, "claims-of-callers", "a policy about issuers, audiences and claims of tokens", "security.istio.io/v1:AuthorizationPolicy", {"spec": {"selector": {"matchLabels": {"app": "orders"}}, "action": "ALLOW", "rules": [{"from": [{"source": {"requestPrincipals": [f"{ISSUER}/*"], "principals": [f"cluster.local/ns/shop/sa/{name}" for name in ("web", "worker")]}}], "when": [{"key": "request.auth.claims[azp]", "values": [CLIENT]}, {"key": "request.auth.claims[tid]", "values": [DIRECTORY]}, {"key": "request.headers[x-token-kind]", "values": ["access"]}]}]}})  # fmt: skip
plain(OBJECTS, "challenge-of-a-certificate", "the public answer of an ACME challenge, as the protocol serves it to everybody", "acme.cert-manager.io/v1:Challenge", {"spec": {"type": "HTTP-01", "dnsName": f"shop.{MAPLE}", "token": drawn("acme public token", 43), "key": f"{drawn('acme public token', 43)}.{drawn('acme account thumbprint', 43)}", "url": f"https://acme.example.org/acme/chall/{drawn('chall', 10, '0123456789')}", "authorizationURL": "https://acme.example.org/acme/authz/1", "issuerRef": {"name": "letsencrypt"}, "solver": {"http01": {"ingress": {"class": "istio"}}}}})  # fmt: skip
plain(OBJECTS, "secret-of-facts-only", "a Secret in which a chart wants facts: a region, an address, an issuer, a bucket", "v1:Secret", {"stringData": {"AWS_REGION": REGION, "ENDPOINT": f"https://api.{DOMAIN}", "OIDC_ISSUER": ISSUER, "OIDC_CLIENT_ID": CLIENT, "BUCKET": f"{LOOM}-releases", "MESH_ID": LOOM, "password": "", "token": "unused"}, "type": "Opaque"})  # fmt: skip
plain(OBJECTS, "pod-with-references", "a Pod whose variables come from Secrets by name and whose files are projected tokens", "v1:Pod", {"spec": {"serviceAccountName": "orders", "containers": [{"name": "orders", "image": f"images.{MAPLE}/orders@sha256:{noise('orders image', 32).hex()}", "env": [{"name": "DB_PASSWORD", **named("orders-db", "password")}, {"name": "DATABASE_URL", "value": "postgresql://orders:$(DB_PASSWORD)@orders-rw:5432/orders"}, {"name": "TOKEN_FILE", "value": "/var/run/secrets/tokens/loom"}, {"name": "AWS_ROLE_ARN", "value": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/orders"}]}], "volumes": [{"name": "tokens", "projected": {"sources": [{"serviceAccountToken": {"path": "loom", "audience": LOOM, "expirationSeconds": 600}}, {"secret": {"name": "orders-tls", "items": [{"key": "tls.key", "path": "key.pem"}]}}]}}]}})  # fmt: skip
plain(OBJECTS, "class-of-disks-by-a-key", "a class of disks with a key by its ARN", "storage.k8s.io/v1:StorageClass", {"provisioner": "ebs.csi.aws.com", "parameters": {"type": "gp3", "encrypted": "true", "kmsKeyId": f"arn:aws:kms:{REGION}:{MAPLE_ACCOUNT}:key/{uid('maple disks')}", "csi.storage.k8s.io/node-stage-secret-name": "${pvc.name}-luks"}, "volumeBindingMode": "WaitForFirstConsumer"})  # fmt: skip
plain(OBJECTS, "trusted-domain-of-the-mesh", "a rule of trust for the mesh team's keys and domains, with addresses of its bundles", "networking.istio.io/v1:ServiceEntry", {"metadata": {"annotations": {"loom.example.com/jwks": json.dumps(KEYS)}}, "spec": {"hosts": [f"xds.{DOMAIN}", f"login.{DOMAIN}"], "location": "MESH_EXTERNAL", "resolution": "DNS", "subjectAltNames": [f"spiffe://{DOMAIN}/ns/istio-system/sa/istiod"], "ports": [{"number": 15012, "name": "tls-xds", "protocol": "TLS"}]}})  # fmt: skip
plain(OBJECTS, "encrypted-file-of-the-tenant", "a map with a file that the tenant's people encrypted for their own key", "v1:ConfigMap", {"data": {"secrets.enc.yaml": yaml.safe_dump({"password": f"ENC[AES256_GCM,data:{b64(noise('sops data', 24))},iv:{b64(noise('sops iv', 32))},tag:{b64(noise('sops tag', 16))},type:str]", "sops": {"kms": [{"arn": f"arn:aws:kms:{REGION}:{MAPLE_ACCOUNT}:key/{uid('maple sops')}", "enc": b64(noise("sops enc", 180))}], "mac": f"ENC[AES256_GCM,data:{b64(noise('sops mac', 88))},type:str]", "version": "3.9.1"}})}})  # fmt: skip

# Files ----------------------------------------------------------------------------------------------------------------

GO = """// Package secret keeps nothing: it asks the store each time.
package secret

type Key struct {
	ID         string `json:"keyId"`
	PrivateKey []byte `json:"-"` // never marshalled
	Password   string `json:"-" env:"DB_PASSWORD,required,unset"`
}

func (k Key) String() string { return "Key(" + k.ID + ", [redacted])" }
"""
UNIT = f"""[Unit]
Description=loom agent
[Service]
LoadCredential=token:/etc/loom/token
Environment=LOOM_API=https://api.{DOMAIN} LOOM_MESH={LOOM}
ExecStart=/usr/bin/loom-agent --token-file=%d/token --known-mesh={LOOM}
DynamicUser=yes
"""
WORKFLOW = """name: deploy
on: {push: {branches: [main]}}
permissions: {id-token: write, contents: read}
jobs:
  deploy:
    runs-on: ubuntu-24.04
    env:
      PULUMI_ACCESS_TOKEN: ${{ secrets.PULUMI_ACCESS_TOKEN }}
      PASSWORD: ${{ secrets.DB_PASSWORD }}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - run: docker login -u ci --password-stdin registry.example.com <<< "$PASSWORD"
"""
TERRAFORM = """variable "db_password" {
  type      = string
  sensitive = true
}
resource "random_password" "api" { length = 32 }
resource "kubernetes_secret" "api" {
  data = { token = random_password.api.result, password = var.db_password }
}
"""
ZONE = f"""$TTL 3600
@ IN SOA ns1.{MAPLE}. dns.{MAPLE}. 2026021101 7200 3600 1209600 300
@ IN DNSKEY 257 3 13 {b64(noise("ksk", 64))}
@ IN DS 20326 13 2 {noise("ds", 32).hex().upper()}
@ IN CAA 0 issue "letsencrypt.org; validationmethods=dns-01"
_mta-sts IN TXT "v=STSv1; id=20260211T1200"
_acme-challenge IN TXT "{drawn("txt challenge", 43)}"
@ IN OPENPGPKEY {b64(noise("openpgp", 60))}
"""
PROPERTIES = f"""bootstrap.servers=bus.{DOMAIN}:9093
key.serializer=org.apache.kafka.common.serialization.StringSerializer
security.protocol=SASL_SSL
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="${{env:KAFKA_USER}}" password="${{env:KAFKA_PASSWORD}}";
ssl.keystore.password=${{file:/etc/kafka/secrets.properties:keystore}}
ssl.truststore.password=changeit
transactional.id=maple-orders-{drawn("tx", 8, HEX)}
"""
EXAMPLE = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Example", "iat": 1516239022})) + ".signature-goes-here"  # fmt: skip

files(FILES, "source-that-keeps-no-key", "sources of a library that speak of private keys and passwords", {"secret.go": GO, "secret.proto": 'syntax = "proto3";\nmessage Login { string user = 1; string password = 2 [debug_redact = true]; bytes private_key = 3; }\n'})  # fmt: skip
files(FILES, "unit-with-a-credential-by-path", "a unit that loads its token from a path", {"loom-agent.service": UNIT})
files(FILES, "workflow-with-masked-variables", "a workflow with places for secrets", {"deploy.yaml": WORKFLOW})
files(FILES, "module-with-sensitive-variables", "a module with sensitive variables", {"main.tf": TERRAFORM, "terraform.tfvars.example": 'db_password = "replace-me"\n'})  # fmt: skip
files(FILES, "zone-with-public-keys", "a zone with public keys and challenges", {f"db.{MAPLE}": ZONE})
files(FILES, "producer-with-places", "settings of a producer whose logins are places", {"producer.properties": PROPERTIES})  # fmt: skip
files(FILES, "design-tokens", "tokens of a design: colours and spaces", {"tokens.json": json.dumps({"color": {f"token-{at}": {"$value": f"#{noise(f'colour {at}', 3).hex()}", "$type": "color"} for at in range(24)}, "secretSauce": {"$value": "{color.token-3}"}})})  # fmt: skip
files(FILES, "vocabulary-of-a-model", "a model's vocabulary, special tokens and a sum of its weights", {"tokenizer.json": json.dumps({"added_tokens": [{"id": at, "content": f"<|{name}|>"} for at, name in enumerate(("bos", "eos", "pad", "password"))], "model": {"vocab": {drawn(f"vocab {at}", 4): at for at in range(80)}}}), "weights.sha256": f"{noise('weights', 32).hex()}  model.safetensors\n"})  # fmt: skip
files(FILES, "apps-of-phones", "which applications may open links, by fingerprints of their public certificates", {"assetlinks.json": json.dumps([{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "android_app", "package_name": "com.example.maple", "sha256_cert_fingerprints": [":".join(f"{byte:02X}" for byte in noise("apk", 32))]}}]), "apple-app-site-association": json.dumps({"applinks": {"details": [{"appIDs": [f"{drawn('team', 10, 'ABCDEFGHJKLMNPQRSTUVWXYZ0123456789')}.com.example.maple"]}]}})})  # fmt: skip
files(FILES, "headers-with-nonces", "headers of a page with hashes of its scripts", {"headers.conf": f"add_header Content-Security-Policy \"script-src 'sha256-{b64(noise('csp one', 32))}' 'sha384-{b64(noise('csp two', 48))}'\";\nadd_header Public-Key-Pins-Report-Only 'pin-sha256=\"{b64(noise('pin', 32))}\"; max-age=5184000';\n"})  # fmt: skip
files(FILES, "attestation-of-a-build", "an attestation of a build, with its public signature", {"provenance.intoto.jsonl": json.dumps({"payloadType": "application/vnd.in-toto+json", "payload": b64(json.dumps({"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": f"registry.{DOMAIN}/proxy", "digest": {"sha256": noise("proxy", 32).hex()}}], "predicate": {"builder": {"id": f"https://ci.{DOMAIN}"}}})), "signatures": [{"keyid": f"SHA256:{drawn('attest key', 43)}", "sig": b64(noise("attestation", 71))}]})})  # fmt: skip
files(FILES, "interface-with-an-example-token", "a description of an interface with the example of a token", {"openapi.json": json.dumps({"openapi": "3.1.0", "paths": {"/login": {"post": {"requestBody": {"content": {"application/json": {"example": {"user": "jane", "password": "<password>"}}}}, "responses": {"200": {"content": {"application/json": {"example": {"access_token": EXAMPLE, "token_type": "Bearer", "expires_in": 3600}}}}}}}}})})  # fmt: skip
files(FILES, "policies-for-passwords", "policies for passwords, sessions and ciphers", {"pwquality.conf": "minlen = 14\ndcredit = -1\nminclass = 3\ndictcheck = 1\n", "ciphers.conf": "ssl_ciphers TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-CHACHA20-POLY1305;\nssl_ecdh_curve X25519:P-256;\nssl_session_tickets off;\n", "policy.json": json.dumps({"passwordPolicy": "length(14) and notUsername and passwordHistory(5) and hashAlgorithm(argon2)", "accessTokenLifespan": 300, "ssoSessionMaxLifespan": 36000})})  # fmt: skip
files(FILES, "packed-tables", "tables packed by zlib, in base64, with their sums", {"geo.bin": b64(zlib.compress(b"".join(noise(f"geo {at}", 64) for at in range(12)))), "bloom.b64": b64(noise("bloom", 900)), "sums": "".join(f"{hashlib.sha512(noise(f'geo {at}', 64)).hexdigest()}  geo-{at}\n" for at in range(6))})  # fmt: skip
files(FILES, "trace-headers-and-ids", "identifiers of a trace and of requests, for a test of dashboards", {"fixtures.json": json.dumps([{"traceparent": f"00-{drawn(f'trace {at}', 32, HEX)}-{drawn(f'span {at}', 16, HEX)}-01", "x-request-id": uid(f"request {at}"), "x-amzn-oidc-identity": uid(f"subject {at}"), "etag": f'W/"{drawn(f"etag {at}", 27)}"'} for at in range(10)])})  # fmt: skip

# Charts ---------------------------------------------------------------------------------------------------------------

chart(CHARTS, "datadog", "keys by the names of Secrets, a site, and digests of images", {"datadog": {"site": "eu.example.org", "apiKeyExistingSecret": "datadog", "appKeyExistingSecret": "datadog", "clusterName": "maple", "secretBackend": {"command": "/readsecret_multiple_providers.sh"}, "env": [{"name": "DD_API_KEY", **named("datadog", "api-key")}]}, "agents": {"image": {"digest": f"sha256:{noise('dd agent', 32).hex()}"}}, "clusterAgent": {"tokenExistingSecret": "datadog-cluster-agent"}})  # fmt: skip
chart(CHARTS, "keycloak", "names of Secrets and a realm's import with variables", {"auth": {"adminUser": "admin", "existingSecret": "keycloak", "passwordSecretKey": "admin-password"}, "externalDatabase": {"host": f"db.{MAPLE}", "existingSecret": "keycloak-db"}, "keycloakConfigCli": {"enabled": True, "configuration": {"realm.json": json.dumps({"realm": "maple", "clients": [{"clientId": "shop", "secret": "$(env:SHOP_SECRET)"}], "smtpServer": {"password": "${vault.smtp}"}})}}})  # fmt: skip
chart(CHARTS, "istio-gateway", "a gateway with labels, annotations of a balancer and addresses of the mesh", {"labels": {"istio": "ingress", "topology.istio.io/network": "maple"}, "service": {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": f"arn:aws:acm:{REGION}:{MAPLE_ACCOUNT}:certificate/{uid('gateway')}", "service.beta.kubernetes.io/aws-load-balancer-target-group-attributes": "preserve_client_ip.enabled=true"}, "loadBalancerSourceRanges": ["203.0.113.0/24"]}, "env": {"ISTIO_META_REQUESTED_NETWORK_VIEW": "maple", "CA_ADDR": f"xds.{DOMAIN}:15012", "PILOT_CERT_PROVIDER": "custom"}})  # fmt: skip
chart(CHARTS, "spire-agent", "a trust domain, a bundle of public keys and a way to prove nodes", {"global": {"spire": {"trustDomain": f"mesh.{MAPLE}", "clusterName": "maple"}}, "trustBundle": json.dumps(KEYS), "nodeAttestor": {"k8sPsat": {"enabled": True}}, "server": {"address": f"spire.{MAPLE}", "port": 8081}, "trustBundleURL": f"https://{OIDC}/keys"})  # fmt: skip
chart(CHARTS, "loki", "buckets and a role, without keys", {"loki": {"storage": {"type": "s3", "s3": {"region": REGION, "secretAccessKey": None, "accessKeyId": None, "http_config": {"insecure_skip_verify": False}}, "bucketNames": {"chunks": f"maple-chunks-{drawn('chunks', 8, HEX)}", "ruler": f"maple-ruler-{drawn('ruler', 8, HEX)}"}}, "auth_enabled": False}, "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/loki"}}})  # fmt: skip
chart(CHARTS, "karpenter", "classes of nodes, a queue and addresses of a cluster", {"settings": {"clusterName": "maple", "clusterEndpoint": "https://dp.example.com:6443", "clusterCABundle": b64(ROOTS), "interruptionQueue": f"https://sqs.{REGION}.amazonaws.com/{MAPLE_ACCOUNT}/maple-interruptions"}, "controller": {"image": {"digest": f"sha256:{noise('karpenter', 32).hex()}"}}})  # fmt: skip
chart(CHARTS, "external-secrets-operator", "a store by federation, and a list of entries by their names", {"extraObjects": [{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": name}, "spec": {"secretStoreRef": {"name": "maple"}, "target": {"template": {"data": {"url": "postgresql://{{ .username }}:{{ .password | urlquery }}@db/{{ .name }}"}}}, "dataFrom": [{"extract": {"key": f"maple/{name}", "version": uid(f"version {name}")}}]}} for name in ("orders", "stock", "media")]})  # fmt: skip
chart(CHARTS, "trivy-operator", "exceptions by numbers, a mirror and rules about secrets", {"trivy": {"mode": "ClientServer", "serverURL": f"https://trivy.{MAPLE}", "dbRepository": f"registry.{DOMAIN}/trivy-db", "ignoreFile": "CVE-2025-1974\nCVE-2024-45337 exp:2026-06-01\nprivate-key:testdata/**\n", "secretConfig": {"rules": [{"id": "loom-token", "regex": "lm_[a-z0-9]{40}", "keywords": ["lm_"]}]}}})  # fmt: skip
chart(CHARTS, "grafana", "sources with places, an issuer and a client by number, dashboards by theirs", {"admin": {"existingSecret": "grafana", "passwordKey": "admin-password"}, "grafana.ini": {"auth.generic_oauth": {"client_id": CLIENT, "client_secret": "$__file{/etc/secrets/oauth/client_secret}", "auth_url": f"{ISSUER}/auth"}, "security": {"secret_key": "$__env{GF_SECRET_KEY}"}}, "datasources": {"datasources.yaml": {"datasources": [{"name": "mesh", "uid": drawn("grafana source", 14), "type": "prometheus", "url": f"https://prometheus.{MAPLE}", "basicAuth": True, "secureJsonData": {"basicAuthPassword": "$PROM_PASSWORD"}}]}}, "dashboards": {"default": {"mesh": {"gnetId": 7639, "revision": 1}}}})  # fmt: skip
chart(CHARTS, "accounts-of-both", "tables of accounts, zones, certificates and keys by their numbers, for a page of costs", {"accounts": {"loom": ACCOUNT, "maple": MAPLE_ACCOUNT}, "keys": [{"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid(f'cost key {at}')}", "monthly": at} for at in range(6)], "secrets": [{"arn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:loom/s{at}-{drawn(f'cost secret {at}', 6)}", "monthly": 0.4} for at in range(6)]})  # fmt: skip
