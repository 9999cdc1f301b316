"""Harmless, of platform teams: large values, policies, schemas and files of the user's cluster, without any secret value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.sets.field.world import CLIENT, ISSUER, platform
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid
from tests.corpus.world import Object

from .world import ACCOUNT, HUB, MESH, REGION, REGISTRY, hub

VALUES, POLICIES, MESHES, FILES = (
    "platform: large values",
    "platform: policies and schemas",
    "platform: objects of a mesh",
    "platform: files",
)


def _ref(name: str, key: str) -> dict[str, Any]:
    return {"name": name, "key": key}


def _env(name: str, secret: str, key: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": _ref(secret, key)}}


CHARTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("kube-prometheus-stack", "a stack of measurements: rules, relabelings, names of Secrets", "kube-prometheus-stack", {
        "grafana": {"admin": {"existingSecret": "grafana-admin", "userKey": "admin-user", "passwordKey": "admin-password"}, "grafana.ini": {"auth.generic_oauth": {"enabled": True, "client_id": CLIENT, "client_secret": "$__file{/etc/secrets/oauth/client_secret}", "auth_url": f"{ISSUER}/protocol/openid-connect/auth", "scopes": "openid profile email groups", "role_attribute_path": "contains(groups[*], 'sre') && 'Admin' || 'Viewer'"}}},
        "prometheus": {"prometheusSpec": {"externalLabels": {"cluster": "shop", "mesh": MESH}, "remoteWrite": [{"url": f"https://metrics.{HUB}/api/v1/push", "authorization": {"credentials": _ref("remote-write", "token")}, "writeRelabelConfigs": [{"sourceLabels": ["__name__"], "regex": "container_(network|fs)_.*|.*_bucket", "action": "drop"}]}], "additionalScrapeConfigs": [{"job_name": "envoy-stats", "metrics_path": "/stats/prometheus", "authorization": {"credentials_file": "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "relabel_configs": [{"source_labels": ["__meta_kubernetes_pod_container_port_name"], "action": "keep", "regex": ".*-envoy-prom"}]}]}},
        "alertmanager": {"config": {"route": {"receiver": "null"}, "receivers": [{"name": "null"}]}, "alertmanagerSpec": {"secrets": ["slack-webhook"]}},
    }),
    ("loki", "a store of logs that logs in by a role", "loki", {"loki": {"auth_enabled": True, "storage": {"type": "s3", "bucketNames": {"chunks": f"shop-chunks-{drawn('loki', 8, HEX)}"}, "s3": {"region": REGION, "accessKeyId": None, "secretAccessKey": None}}, "schemaConfig": {"configs": [{"from": "2024-04-01", "store": "tsdb", "schema": "v13"}]}}, "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{ACCOUNT}:role/shop-loki-{drawn('lr', 7, HEX)}"}}}),
    ("argo-cd", "Argo CD with its own login's facts, policies and known hosts", "argo-cd", {"configs": {"cm": {"url": "https://argocd.shop.example.com", "oidc.config": yaml.safe_dump({"name": "SSO", "issuer": ISSUER, "clientID": CLIENT, "clientSecret": "$oidc-login:client.secret", "requestedScopes": ["openid", "groups"]})}, "rbac": {"policy.csv": "p, role:dev, applications, sync, shop/*, allow\ng, shop-dev, role:dev\n"}, "ssh": {"knownHosts": "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"}}, "notifications": {"secret": {"create": False}, "templates": {"template.synced": "message: '{{.app.metadata.name}} is synced to {{.app.status.sync.revision}}'"}}}),
    ("vault-agent", "an injector of the user's own Vault: addresses, a template with names of fields", "vault", {"injector": {"enabled": True, "externalVaultAddr": "https://vault.shop.example.com"}, "server": {"enabled": False}, "agent": {"template": '{{ with secret "kv/data/shop/db" }}export DB_PASSWORD="{{ .Data.data.password }}"{{ end }}', "tokenPath": "/home/vault/.vault-token"}}),
    ("runner", "runners of a forge that read the login of an application from a Secret", "gha-runner-scale-set", {"githubConfigUrl": "https://github.com/shop", "githubConfigSecret": "arc-github-app", "maxRunners": 12, "template": {"spec": {"containers": [{"name": "runner", "image": f"ghcr.io/actions/actions-runner@sha256:{noise('arc', 32).hex()}", "env": [_env("NPM_TOKEN", "npm", "token"), {"name": "DOCKER_HOST", "value": "unix:///var/run/docker.sock"}]}]}}}),
    ("keycloak", "a login server's realm, with flows, mappers, ids and no client's secret", "keycloakx", {"database": {"vendor": "postgres", "existingSecret": "keycloak-db", "existingSecretKey": "password", "hostname": "keycloak-db-rw"}, "realm.json": json.dumps({"id": uid("realm"), "realm": "shop", "accessTokenLifespan": 300, "passwordPolicy": "length(12) and notUsername", "clients": [{"id": uid("c1"), "clientId": "shop-web", "publicClient": True, "secret": "${SHOP_WEB_SECRET}", "attributes": {"pkce.code.challenge.method": "S256"}}], "components": {"org.keycloak.keys.KeyProvider": [{"id": uid("kp"), "name": "rsa-generated", "providerId": "rsa-generated", "config": {"keySize": ["2048"]}}]}})}),
    ("teleport", "an agent that joins by its cluster's own tokens: pins and names", "teleport-kube-agent", {"proxyAddr": "teleport.platform.example.com:443", "authToken": "kube-shop", "joinParams": {"method": "kubernetes", "tokenName": "kube-shop"}, "caPin": [f"sha256:{noise('pin', 32).hex()}"], "kubeClusterName": "shop"}),
    ("velero-values", "backups by a role, with hashes of plug-ins", "velero", {"credentials": {"useSecret": False}, "initContainers": [{"name": "aws", "image": f"velero/velero-plugin-for-aws@sha256:{noise('velero', 32).hex()}"}], "configuration": {"backupStorageLocation": [{"bucket": "shop-backups", "config": {"kmsKeyId": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid('vk')}", "serverSideEncryption": "aws:kms"}}]}}),
]  # fmt: skip


def _chart(name: str, what: str, chart: str, values: dict[str, Any], *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(VALUES, f"platform-values-{name}", f"The user's cluster gets {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        release(scene, "dp", chart, values)


for _at, _chart_row in enumerate(CHARTS):
    _chart(*_chart_row, second=_at % 3 == 0)

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["adminPasswordSecretRef"],
            "properties": {
                "adminPasswordSecretRef": {"type": "object", "description": "A Secret's key with the password.", "properties": {"name": {"type": "string"}, "key": {"type": "string", "default": "password"}}},
                "tokenTTL": {"type": "string", "pattern": "^[0-9]+(s|m|h)$", "default": "1h"},
                "privateKey": {"type": "string", "format": "password", "description": "PEM, begins with -----BEGIN PRIVATE KEY-----"},
                "caBundle": {"type": "string", "format": "byte"},
            },
        }
    },
}  # fmt: skip
REGO = """package shop.secrets
violation[{"msg": msg}] {
  container := input.review.object.spec.containers[_]
  env := container.env[_]
  regex.match("(?i)(password|token|secret|api_?key)", env.name)
  env.value != ""
  msg := sprintf("container <%v> has a secret in variable <%v>; use secretKeyRef", [container.name, env.name])
}
"""
OBJECTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (POLICIES, "definition", "a definition of a resource with fields for secrets", "apiextensions.k8s.io/v1:CustomResourceDefinition", {"metadata": {"name": "databases.shop.example.com"}, "spec": {"group": "shop.example.com", "scope": "Namespaced", "names": {"kind": "Database", "plural": "databases"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}]}}),
    (POLICIES, "rego", "a rule in Rego that forbids secrets in variables", "templates.gatekeeper.sh/v1:ConstraintTemplate", {"metadata": {"name": "noplainsecrets"}, "spec": {"crd": {"spec": {"names": {"kind": "NoPlainSecrets"}}}, "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}]}}),
    (POLICIES, "kyverno-clone", "a policy that copies the user's own pull secret to each of its namespaces", "kyverno.io/v1:ClusterPolicy", {"spec": {"rules": [{"name": "pull-secret", "match": {"any": [{"resources": {"kinds": ["Namespace"]}}]}, "generate": {"apiVersion": "v1", "kind": "Secret", "name": "regcred", "namespace": "{{request.object.metadata.name}}", "synchronize": True, "clone": {"namespace": "default", "name": "regcred"}}}]}}),
    (POLICIES, "composition", "a composition of the user's clouds: names of connection details", "apiextensions.crossplane.io/v1:Composition", {"spec": {"compositeTypeRef": {"apiVersion": "shop.example.com/v1", "kind": "XDatabase"}, "resources": [{"name": "rds", "base": {"apiVersion": "rds.aws.upbound.io/v1beta1", "kind": "Instance", "spec": {"forProvider": {"passwordSecretRef": {"namespace": "shop", **_ref("db", "password")}, "region": REGION}, "writeConnectionSecretToRef": {"namespace": "shop", "name": "db-conn"}}}, "connectionDetails": [{"name": "password", "fromConnectionSecretKey": "attribute.password"}, {"name": "endpoint", "fromConnectionSecretKey": "endpoint"}]}]}}),
    (POLICIES, "acme-with-binding", "an issuer of certificates with an external account, its key by name", "cert-manager.io/v1:ClusterIssuer", {"spec": {"acme": {"server": "https://acme.zerossl.com/v2/DV90", "email": "ops@shop.example.com", "externalAccountBinding": {"keyID": drawn("eab", 22), "keySecretRef": _ref("zerossl-eab", "secret")}, "privateKeySecretRef": {"name": "zerossl-account"}, "solvers": [{"dns01": {"route53": {"region": REGION, "hostedZoneID": f"Z{drawn('hz', 20, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')}"}}}]}}}),
    (POLICIES, "external-secret-template", "a template that puts a database's address together from the user's own store", "external-secrets.io/v1:ExternalSecret", {"spec": {"secretStoreRef": {"name": "shop-vault"}, "refreshInterval": "1h", "target": {"name": "orders-db", "template": {"data": {"url": "postgres://{{ .user }}:{{ .password | urlquery }}@orders-db:5432/orders", "auth": '{{ printf "%s:%s" .user .password | b64enc }}'}}}, "dataFrom": [{"extract": {"key": "kv/shop/orders-db"}}]}}),
    (POLICIES, "machines-template", "a user's cluster of machines, with files out of Secrets by name", "controlplane.cluster.x-k8s.io/v1beta1:KubeadmControlPlane", {"spec": {"version": "v1.31.4", "replicas": 3, "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"extraArgs": {"encryption-provider-config": "/etc/kubernetes/enc.yaml", "service-account-issuer": "https://oidc.shop.example.com"}}}, "files": [{"path": "/etc/kubernetes/enc.yaml", "owner": "root:root", "permissions": "0600", "contentFrom": {"secret": _ref("shop-encryption", "enc.yaml")}}], "initConfiguration": {"nodeRegistration": {"kubeletExtraArgs": {"provider-id": f"aws:///{REGION}a/i-{drawn('ec2', 17, HEX)}"}}}}}}),
    (MESHES, "other-networks", "addresses of other networks for its services", "networking.istio.io/v1:ServiceEntry", {"spec": {"hosts": ["istiod.istio-system.svc"], "location": "MESH_INTERNAL", "resolution": "STATIC", "ports": [{"number": 15012, "name": "tls-xds", "protocol": "TLS"}], "endpoints": [{"address": "198.51.100.23", "network": "hub", "labels": {"topology.istio.io/network": "hub"}}], "subjectAltNames": ["spiffe://cluster.local/ns/istio-system/sa/istiod"]}}),
    (MESHES, "east-west", "a gateway for other networks with the names of services", "networking.istio.io/v1:Gateway", {"spec": {"selector": {"istio": "eastwestgateway"}, "servers": [{"port": {"number": 15443, "name": "tls", "protocol": "TLS"}, "tls": {"mode": "AUTO_PASSTHROUGH"}, "hosts": ["*.local"]}]}}),
    (MESHES, "transcoder", "a filter with descriptors in base64, by which JSON becomes gRPC", "networking.istio.io/v1alpha3:EnvoyFilter", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.grpc_json_transcoder", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.grpc_json_transcoder.v3.GrpcJsonTranscoder", "proto_descriptor_bin": b64(noise("descriptor", 900)), "services": ["shop.Cart", "shop.TokenService"]}}}}]}}),
    (MESHES, "lua", "a filter in Lua that takes a token off a request", "networking.istio.io/v1alpha3:EnvoyFilter", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "lua", "typed_config": {"inlineCode": 'function envoy_on_request(h)\n  local token = h:headers():get("authorization")\n  if token ~= nil then h:headers():replace("x-token-hash", h:base64Escape(token)) end\n  h:headers():remove("x-api-key")\nend\n'}}}}]}}),
    (MESHES, "plug-in", "a plug-in by its hash, with settings", "extensions.istio.io/v1alpha1:WasmPlugin", {"spec": {"url": f"oci://{REGISTRY}/wasm/auth:1.0", "sha256": noise("wasm", 32).hex(), "imagePullSecret": "regcred", "verificationKey": "cosign-pub", "pluginConfig": {"header": "x-api-key", "realm": "shop", "issuer": ISSUER}}}),
    (MESHES, "measurement", "settings for traces and log fields", "telemetry.istio.io/v1:Telemetry", {"spec": {"tracing": [{"providers": [{"name": "otel"}], "randomSamplingPercentage": 1.5, "customTags": {"session": {"header": {"name": "x-session-id"}}, "mesh": {"literal": {"value": MESH}}}}], "accessLogging": [{"filter": {"expression": "response.code >= 400 && !('authorization' in request.headers)"}}]}}),
    (MESHES, "mutual-tls", "a rule by which names of certificates log in", "networking.istio.io/v1:DestinationRule", {"spec": {"host": "payments.example.com", "trafficPolicy": {"tls": {"mode": "MUTUAL", "credentialName": "payments-client", "sni": "payments.example.com", "subjectAltNames": ["payments.example.com"]}}}}),
]  # fmt: skip


def _object(theme: str, name: str, what: str, kind: str, body: dict[str, Any], *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(theme, f"platform-object-{name}", f"The user's cluster has {what}.", **more)
    def _(scene: Scene) -> None:
        hub(scene)
        scene.object("dp", kind, name, body)


for _at, _object_row in enumerate(OBJECTS):
    _object(*_object_row, second=_at % 4 == 1)

DH = "-----BEGIN DH PARAMETERS-----\n" + b64(b"\x30\x82\x01\x08\x02\x82\x01\x01\x00" + noise("dh", 256) + b"\x02\x01\x02") + "\n-----END DH PARAMETERS-----\n"  # fmt: skip


def _map(name: str, **body: Any) -> Callable[[Scene], Object]:
    return lambda scene: scene.object("dp", "v1:ConfigMap", name, body)


FILE_ROWS: list[tuple[str, str, Callable[[Scene], Any]]] = [
    ("binary", "a module and a picture in base64", _map("assets", binaryData={"filter.wasm": b64(b"\0asm\1\0\0\0" + noise("module", 2400)), "logo.png": b64(b"\x89PNG\r\n\x1a\n" + noise("logo", 900))})),
    ("diffie-hellman", "parameters of a key exchange and a list of ciphers", _map("nginx-tls", data={"dhparam.pem": DH, "tls.conf": "ssl_dhparam /etc/nginx/dhparam.pem;\nssl_session_tickets off;\nssl_ecdh_curve X25519:secp384r1;\n"})),
    ("authorized-keys", "public keys of the user's operators, and the key of a source of packages", lambda scene: scene.config_map("dp", "bastion", {"authorized_keys": "".join(f"{scene.dp.public_ssh(name)} {name}@shop\n" for name in ("anna", "boris", "chen")), "docker.asc": f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{b64(noise('apt key', 500))}\n=xK2m\n-----END PGP PUBLIC KEY BLOCK-----\n"})),
    ("migrations", "a job's script that makes a password by itself and keeps it", _map("init-db", data={"init.sh": "#!/bin/sh\nset -eu\nPGPASSWORD=$(cat /run/secrets/db/password)\nexport PGPASSWORD\nNEW=$(openssl rand -base64 32)\npsql -h \"$PGHOST\" -c \"ALTER ROLE app PASSWORD '$NEW'\"\nkubectl create secret generic app-db --from-literal=password=\"$NEW\" --dry-run=client -o yaml | kubectl apply -f -\n"})),
    ("collector", "a pipeline of logs with variables for its logins", _map("vector", data={"vector.yaml": yaml.safe_dump({"sources": {"k8s": {"type": "kubernetes_logs"}}, "transforms": {"redact": {"type": "remap", "inputs": ["k8s"], "source": '.message = redact(string!(.message), filters: [r\'(?i)(password|token|api_key)=[^&\\s]+\', "us_social_security_number"])'}}, "sinks": {"logs": {"type": "elasticsearch", "inputs": ["redact"], "endpoints": ["https://logs.shop.example.com"], "auth": {"strategy": "basic", "user": "${ES_USER}", "password": "${ES_PASSWORD}"}}}})})),
    ("prometheus-rules", "alerts about logins, Secrets and expiry of tokens", lambda scene: scene.object("dp", "monitoring.coreos.com/v1:PrometheusRule", "logins", {"spec": {"groups": [{"name": "logins", "rules": [{"alert": name, "expr": f"increase({name.lower()}_total[5m]) > 10", "for": "10m", "annotations": {"summary": f"{name} on {{{{ $labels.cluster }}}}", "runbook_url": f"https://runbooks.shop.example.com/{drawn(name, 11)}"}} for name in ("TokenExpiry", "SecretRotationFailed", "PasswordSpray", "ApiKeyDenied")]}]}})),
    ("seeds", "checksums and signatures of files that its nodes fetch", _map("artifacts", data={"SHA256SUMS": "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("istioctl", "secret-agent", "token-helper", "passwd.tar.gz")), "SHA256SUMS.minisig": f"untrusted comment: signature from minisign secret key\n{b64(noise('minisig', 74))}\ntrusted comment: timestamp:1767225600\n{b64(noise('minisig2', 64))}\n"})),
    ("page", "a page's settings with keys that a browser has anyway", _map("storefront", data={"config.js": f"window.config = {{stripeKey: 'pk_live_{drawn('stripe pk', 99, LETTERS)}', recaptchaSiteKey: '6L{drawn('recaptcha', 38)}', clientId: '{CLIENT}', posthog: 'phc_{drawn('posthog', 43)}'}};\n"})),
]  # fmt: skip


def _file(name: str, what: str, make: Callable[[Scene], Any], *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(FILES, f"platform-file-{name}", f"The user's cluster gets {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        make(scene)


for _at, _file_row in enumerate(FILE_ROWS):
    _file(*_file_row, second=_at % 3 == 2)
