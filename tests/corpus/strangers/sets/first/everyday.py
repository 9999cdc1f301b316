"""Harmless: what everybody writes who runs applications on Istio with Pulumi, next to a control plane full of secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean

EVERYDAY = "everyday objects"
Body = Callable[[Scene], Mapping[str, Any]]


def _bytes(name: str, length: int) -> bytes:
    return hashlib.shake_256(f"everyday {name}".encode()).digest(length)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _control_plane(scene: Scene) -> None:
    """Secrets of every form, of which none goes to the user."""
    given = {
        "token": scene.cp.opaque("dns", 40),
        "password": "istio-ingressgateway",
        "ca.crt": scene.cp.certificate("root", authority=True),
        "tls.key": scene.cp.key("root"),
        "config": scene.kubeconfigs["dp"],
        ".env": f"HOST=istiod.example.com\nDB_PASSWORD={scene.cp.opaque('db')}\nDB_USER=postgres\n",
    }
    scene.secret("cp", "platform", {key: pulumi.Output.secret(value) for key, value in given.items()})
    scene.secret("cp", "admin", {"password": scene.password("cp", "grafana").output("result")})


GRAFANA = {
    "adminUser": "admin",
    "admin": {"existingSecret": "grafana-admin", "userKey": "admin-user", "passwordKey": "admin-password"},
    "grafana.ini": {"auth.generic_oauth": {"client_id": "grafana", "token_url": "https://id.example.com/token"}},
    "sidecar": {"dashboards": {"enabled": True, "searchNamespace": "ALL"}},
}
POSTGRES = {
    "auth": {"existingSecret": "shop-db", "secretKeys": {"adminPasswordKey": "postgres-password"}, "database": "shop"},
    "primary": {"persistence": {"size": "8Gi"}},
}
DEFAULTS = {"auth": {"username": "shop", "password": "changeme"}, "tls": {"enabled": True, "certificatesSecret": "s"}}
DASHBOARD = {
    "title": "Mesh",
    "uid": "G8wLrJIZk",
    "annotations": {"list": [{"datasource": {"uid": "PBFA97CFB590B2093"}, "iconColor": "rgba(0, 211, 255, 1)"}]},
    "panels": [{"id": 1, "targets": [{"expr": 'sum(irate(istio_requests_total{reporter="destination"}[5m]))'}]}],
    "version": 38,
}
LUA = """function envoy_on_request(handle)
  local id = handle:headers():get("x-request-id")
  handle:headers():add("x-shop", id or "none")
end
"""
CHALLENGE = {"dns01": {"route53": {"region": "eu-west-1", "hostedZoneID": "Z2ABCDEFGHIJKL", "role": "arn:aws:iam::123456789012:role/dns"}}}  # fmt: skip
CLOUDFLARE = {"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": "cloudflare-api-token", "key": "api-token"}}}}
IDENTITY = "cluster.local/ns/shop/sa/cart"


def _selector() -> dict[str, Any]:
    return {"selector": {"matchLabels": {"app": "cart"}}}


def _deployment(container: Mapping[str, Any], **pod: Any) -> Mapping[str, Any]:
    labels = {"app": "cart", "pod-template-hash": "6d4b75cb6d"}
    spec = {"containers": [{"name": "cart", "image": "registry.example.com/shop/cart:1.9.2", **container}], **pod}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "cart"}}, "template": template}}


def _env(**values: str) -> dict[str, Any]:
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}


def _jwks(scene: Scene) -> str:
    return json.dumps({"keys": [{**scene.dp.jwk(name, private=False), "use": "sig"} for name in ("a", "b")]})


OBJECTS: list[tuple[str, str, str, Body]] = [
    ("certificate-by-issuer", "a Certificate that names the Secret for its key", "cert-manager.io/v1:Certificate", lambda s: {"spec": {"secretName": "cart-tls", "issuerRef": {"name": "letsencrypt-prod", "kind": "ClusterIssuer"}, "dnsNames": ["cart.shop.example.com"], "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"}, "keystores": {"pkcs12": {"create": True, "passwordSecretRef": {"name": "store", "key": "password"}}}}}),
    ("issuer-for-lets-encrypt", "an ACME Issuer with a Route 53 zone", "cert-manager.io/v1:ClusterIssuer", lambda s: {"spec": {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "email": "ops@shop.example.com", "privateKeySecretRef": {"name": "letsencrypt-prod-account-key"}, "solvers": [CHALLENGE]}}}),
    ("issuer-with-a-token-by-name", "an ACME Issuer that names the Secret of its DNS token", "cert-manager.io/v1:Issuer", lambda s: {"spec": {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "externalAccountBinding": {"keyID": "kid-1Xk2", "keySecretRef": {"name": "eab", "key": "secret"}}, "privateKeySecretRef": {"name": "issuer-key"}, "solvers": [CLOUDFLARE]}}}),
    ("external-secret-by-path", "an ExternalSecret that names where its values are", "external-secrets.io/v1:ExternalSecret", lambda s: {"spec": {"refreshInterval": "1h", "secretStoreRef": {"name": "aws", "kind": "ClusterSecretStore"}, "target": {"name": "cart", "template": {"data": {"url": "postgres://{{ .user }}:{{ .password }}@db.shop:5432/cart"}}}, "dataFrom": [{"extract": {"key": "prod/shop/cart"}}]}}),
    ("store-of-secrets", "a store of secrets that is reached by a role", "external-secrets.io/v1:ClusterSecretStore", lambda s: {"spec": {"provider": {"aws": {"service": "SecretsManager", "region": "eu-west-1", "auth": {"jwt": {"serviceAccountRef": {"name": "external-secrets", "namespace": "external-secrets"}}}}}}}),
    ("pull-secret-by-name", "Pods that name their own pull secret", "apps/v1:Deployment", lambda s: _deployment({}, imagePullSecrets=[{"name": "registry-credentials"}], serviceAccountName="cart")),
    ("image-by-digest", "an image by digest, of a revision in its label", "apps/v1:Deployment", lambda s: _deployment({"image": "ghcr.io/shop/cart@sha256:" + _bytes("image", 32).hex(), **_env(GIT_SHA=_bytes("git", 20).hex(), VERSION="1.9.2+g" + _bytes("git", 4).hex())})),
    ("secrets-by-reference", "environment variables that name Secrets", "apps/v1:Deployment", lambda s: _deployment({"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "cart-db", "key": "password"}}}, {"name": "API_TOKEN_FILE", "value": "/var/run/secrets/tokens/api"}], "envFrom": [{"secretRef": {"name": "cart-env"}}]})),
    ("projected-token", "a service-account token that the kubelet mounts", "apps/v1:Deployment", lambda s: _deployment({"volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/tokens"}]}, volumes=[{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "istio-token", "audience": "istio-ca", "expirationSeconds": 43200}}]}}])),
    ("arguments-with-addresses", "arguments with files of certificates and no values", "apps/v1:Deployment", lambda s: _deployment({"args": ["--tls-cert-file=/certs/tls.crt", "--tls-private-key-file=/certs/tls.key", "--token-auth-file=/etc/tokens.csv", "--oidc-client-id=kubernetes"]})),
    ("client-of-oidc", "a client of OpenID Connect, by its public id", "apps/v1:Deployment", lambda s: _deployment(_env(OIDC_ISSUER="https://login.example.com/0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55/v2.0", OIDC_CLIENT_ID=str(uuid.UUID(bytes=_bytes("client", 16), version=4)), OIDC_SCOPES="openid profile email", OIDC_TOKEN_URL="https://login.example.com/oauth2/v2.0/token"))),
    ("google-client", "a client id of Google's", "apps/v1:Deployment", lambda s: _deployment(_env(GOOGLE_CLIENT_ID="407408718192-" + base64.b32encode(_bytes("google", 20)).decode().lower() + ".apps.googleusercontent.com"))),
    ("sentry-address", "the public address for crash reports", "apps/v1:Deployment", lambda s: _deployment(_env(SENTRY_DSN=f"https://{_bytes('sentry', 16).hex()}@o4504.ingest.example.com/4504838"))),
    ("buckets-and-roles", "ARNs of a bucket, a key and a role", "v1:ServiceAccount", lambda s: {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/eksctl-shop-addon-iamserviceaccount-Role1-1B3K0ZLV7ZJ5W", "example.com/bucket": "arn:aws:s3:::shop-prod-assets-eu-west-1", "example.com/key": "arn:aws:kms:eu-west-1:123456789012:key/0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55"}}}),
    ("who-may-call", "an AuthorizationPolicy with principals and claims", "security.istio.io/v1:AuthorizationPolicy", lambda s: {"spec": {**_selector(), "action": "ALLOW", "rules": [{"from": [{"source": {"principals": [IDENTITY], "requestPrincipals": ["https://id.example.com/*"]}}], "to": [{"operation": {"methods": ["GET"], "paths": ["/api/v1/token/*"]}}], "when": [{"key": "request.auth.claims[groups]", "values": ["shop-admin"]}]}]}}),
    ("tokens-that-are-checked", "a RequestAuthentication with a key set inside", "security.istio.io/v1:RequestAuthentication", lambda s: {"spec": {**_selector(), "jwtRules": [{"issuer": "https://id.example.com", "jwks": _jwks(s), "audiences": ["shop"], "outputPayloadToHeader": "x-jwt-payload"}]}}),
    ("strict-mtls", "strict mTLS", "security.istio.io/v1:PeerAuthentication", lambda s: {"spec": {"mtls": {"mode": "STRICT"}}}),
    ("gateway-by-credential-name", "a Gateway that names its certificate", "networking.istio.io/v1:Gateway", lambda s: {"spec": {"selector": {"istio": "ingressgateway"}, "servers": [{"port": {"number": 443, "name": "https", "protocol": "HTTPS"}, "hosts": ["shop.example.com"], "tls": {"mode": "MUTUAL", "credentialName": "shop-credential", "minProtocolVersion": "TLSV1_2", "cipherSuites": ["ECDHE-ECDSA-AES256-GCM-SHA384"]}}]}}),
    ("routes", "routes by header and path", "networking.istio.io/v1:VirtualService", lambda s: {"spec": {"hosts": ["cart.shop.svc.cluster.local"], "http": [{"match": [{"headers": {"x-canary": {"exact": "true"}}}], "route": [{"destination": {"host": "cart", "subset": "v2"}, "weight": 100}], "corsPolicy": {"allowHeaders": ["authorization", "x-api-key"]}}]}}),
    ("subsets", "a DestinationRule with paths of certificates and subject names", "networking.istio.io/v1:DestinationRule", lambda s: {"spec": {"host": "*.db.example.com", "trafficPolicy": {"tls": {"mode": "MUTUAL", "clientCertificate": "/etc/certs/cert-chain.pem", "privateKey": "/etc/certs/key.pem", "caCertificates": "/etc/certs/root-cert.pem", "subjectAltNames": [f"spiffe://{IDENTITY}"]}, "loadBalancer": {"consistentHash": {"httpCookie": {"name": "session", "ttl": "0s"}}}}}}),
    ("filter-with-lua", "an EnvoyFilter with a script", "networking.istio.io/v1alpha3:EnvoyFilter", lambda s: {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "match": {"context": "SIDECAR_INBOUND"}, "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.lua", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua", "inlineCode": LUA}}}}]}}),
    ("plugin-by-digest", "a plug-in of WebAssembly with its checksum and pull secret", "extensions.istio.io/v1alpha1:WasmPlugin", lambda s: {"spec": {"url": "oci://ghcr.io/shop/filter:1.2.0", "sha256": _bytes("wasm", 32).hex(), "imagePullSecret": "registry", "phase": "AUTHN", "pluginConfig": {"openid_realm": "shop", "client_id": "cart"}}}),
    ("workload-outside", "a WorkloadEntry with an identity", "networking.istio.io/v1:WorkloadEntry", lambda s: {"spec": {"address": "2001:db8::17", "labels": {"app": "db", "instance-id": "i-0abcd1234ef567890"}, "serviceAccount": "db", "network": "vpc-0a1b2c3d4e5f67890"}}),
    ("services-outside", "a ServiceEntry with names and addresses", "networking.istio.io/v1:ServiceEntry", lambda s: {"spec": {"hosts": ["shop.cluster-c9akciq32rgv.eu-west-1.rds.example.com"], "addresses": ["192.0.2.0/24"], "ports": [{"number": 5432, "name": "tcp", "protocol": "TCP"}], "resolution": "DNS", "location": "MESH_EXTERNAL"}}),
    ("webhook-with-a-bundle", "a webhook with the user's own CA bundle", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", lambda s: {"webhooks": [{"name": "policy.shop.example.com", "clientConfig": {"service": {"name": "policy", "namespace": "shop", "path": "/validate"}, "caBundle": _b64(s.dp.certificate("policy-ca", authority=True).encode())}, "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}], "sideEffects": "None", "timeoutSeconds": 5, "failurePolicy": "Ignore", "admissionReviewVersions": ["v1"]}]}),
    ("public-keys-of-partners", "keys that check other people's tokens and commits", "v1:ConfigMap", lambda s: {"data": {"jwks.json": _jwks(s), "cosign.pub": s.dp.public_key("cosign"), "authorized_keys": s.dp.public_ssh("ops") + " ops@shop\n"}}),
    ("dashboards", "a dashboard with ids and hashes", "v1:ConfigMap", lambda s: {"metadata": {"labels": {"grafana_dashboard": "1"}}, "data": {"mesh.json": json.dumps(DASHBOARD, indent=2)}}),
    ("page-with-integrity", "a page whose scripts have checksums", "v1:ConfigMap", lambda s: {"data": {"index.html": f'<script src="/a.js" integrity="sha384-{_b64(_bytes("sri", 48))}" crossorigin="anonymous"></script>\n<link href="/app.{_bytes("css", 4).hex()}.css">\n'}}),
    ("name-with-a-hash", "a ConfigMap named by Kustomize after its content", "v1:ConfigMap", lambda s: {"metadata": {"name": "cart-settings-9mtk7b8t2f", "annotations": {"kustomize.toolkit.fluxcd.io/checksum": _bytes("kustomize", 20).hex()}}, "data": {"level": "info"}}),
    ("lock-file", "a lock file of a package manager", "v1:ConfigMap", lambda s: {"data": {"package-lock.json": json.dumps({"lockfileVersion": 3, "packages": {f"node_modules/p{at}": {"version": f"1.{at}.0", "resolved": f"https://packages.example.com/p{at}/-/p{at}-1.{at}.0.tgz", "integrity": "sha512-" + _b64(_bytes(f"npm{at}", 64))} for at in range(20)}})}}),
    ("alerts", "rules for alerts, with a receiver's file", "v1:ConfigMap", lambda s: {"data": {"alertmanager.yml": yaml.safe_dump({"route": {"receiver": "chat"}, "receivers": [{"name": "chat", "slack_configs": [{"api_url_file": "/etc/alertmanager/secrets/slack", "channel": "#shop-alerts"}]}]})}}),
    ("users-mesh-configuration", "mesh settings: trust domain, tracing, extension providers", "v1:ConfigMap", lambda s: {"data": {"mesh": yaml.safe_dump({"trustDomain": "shop.example.com", "defaultConfig": {"discoveryAddress": "istiod.example.com:15012", "proxyMetadata": {"ISTIO_META_DNS_CAPTURE": "true"}}, "extensionProviders": [{"name": "oauth2-proxy", "envoyExtAuthzHttp": {"service": "oauth2-proxy.shop.svc.cluster.local", "port": 4180, "includeRequestHeadersInCheck": ["authorization", "cookie"]}}]})}}),
    ("backup-with-a-role", "a backup's place, with a key by its ARN", "velero.io/v1:BackupStorageLocation", lambda s: {"spec": {"provider": "aws", "objectStorage": {"bucket": "shop-backup-3f9a1c7e"}, "credential": {"name": "cloud-credentials", "key": "cloud"}, "config": {"region": "eu-west-1", "kmsKeyId": "arn:aws:kms:eu-west-1:123456789012:alias/backup"}}}),
    ("application-by-revision", "an Argo CD application at a revision", "argoproj.io/v1alpha1:Application", lambda s: {"spec": {"project": "default", "source": {"repoURL": "git@github.com:shop/deploy.git", "targetRevision": _bytes("revision", 20).hex(), "path": "overlays/prod"}, "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"}}}),
]  # fmt: skip
RELEASES: list[tuple[str, str, Body]] = [
    ("grafana", "Grafana's chart, which names its Secret", lambda s: GRAFANA),
    ("postgres", "a database's chart, which names its Secret", lambda s: POSTGRES),
    ("default-password", "a chart with the password `changeme` of its examples", lambda s: DEFAULTS),
    ("users-password", "a chart with a password of the user's from the program, marked secret", lambda s: {"auth": {"password": pulumi.Output.secret(s.dp.opaque("redis"))}}),
    ("generated-password", "a chart with a generated password that only the user has", lambda s: {"auth": {"password": s.password("dp", "redis").output("result")}}),
]  # fmt: skip


def _object(name: str, what: str, kind: str, body: Body) -> None:
    @clean(EVERYDAY, name, f"The user's cluster gets {what}.")
    def _(scene: Scene) -> None:
        _control_plane(scene)
        scene.object("dp", kind, "cart", body(scene))


def _release(name: str, what: str, values: Body) -> None:
    @clean(EVERYDAY, f"chart-{name}", f"The user's cluster gets {what}.")
    def _(scene: Scene) -> None:
        _control_plane(scene)
        inputs = {"chart": "oci://charts.example.com/app", "version": "8.1.0", "values": values(scene)}
        scene.made("kubernetes:helm.sh/v3:Release", "app", inputs, scene.options("dp"), {"status": {}})


for _given in OBJECTS:
    _object(*_given)
for _chart in RELEASES:
    _release(*_chart)


@clean(
    EVERYDAY,
    "chart-configured-password",
    "The user's chart gets a password and a connection string from the stack's configuration.",
    config=lambda cp, dp: {"shop:dbPassword": dp.opaque("configured")},
)
def _(scene: Scene) -> None:
    _control_plane(scene)
    password = scene.config("shop:dbPassword")
    url = pulumi.Output.concat("postgres://shop:", password, "@db.shop:5432/shop?sslmode=require")
    inputs = {"chart": "app", "version": "8.1.0", "values": {"password": password, "url": url}}
    scene.made("kubernetes:helm.sh/v3:Release", "app", inputs, scene.options("dp"), {"status": {}})


@clean(
    EVERYDAY,
    "configured-token-in-a-file",
    "A file of settings with the user's own configured token is in a Secret of the user's, and its checksum on the Pods.",
    config=lambda cp, dp: {"shop:apiToken": dp.opaque("api", 40)},
)
def _(scene: Scene) -> None:
    _control_plane(scene)
    text = scene.config("shop:apiToken").apply(lambda token: f"[api]\ntoken = {token}\n")
    scene.secret("dp", "cart-settings", {"settings.ini": text})
    checksum = text.apply(lambda found: hashlib.sha256(found.encode()).hexdigest())
    template = {"metadata": {"annotations": {"checksum/settings": checksum}}}
    scene.object("dp", "apps/v1:Deployment", "cart", {"spec": {"template": template}})


@clean(
    EVERYDAY,
    "certificates-out-of-a-marked-authority",
    "The root of an authority that is configured as one secret goes to the user, plain, in DER and as a webhook's bundle.",
    config=lambda cp, dp: {"mesh:cacerts": cp.certificate("root", authority=True) + cp.key("root")},
    rightly="certificates differ when their keys do",
)
def _(scene: Scene) -> None:
    files = scene.config("mesh:cacerts")
    scene.secret(
        "cp", "cacerts", {"ca-key.pem": files.apply(lambda text: "-----BEGIN PRIV" + text.split("-----BEGIN PRIV")[1])}
    )
    root = files.apply(lambda text: text.partition("-----BEGIN PRIV")[0])
    body = root.apply(lambda pem: "".join(pem.splitlines()[1:-1]))
    scene.config_map("dp", "root", {"root-cert.pem": root, "root.der": body})
    config = {"url": "https://istiod.example.com:15017/inject", "caBundle": root.apply(lambda pem: _b64(pem.encode()))}
    hook: dict[str, Any] = {"name": "namespace.sidecar-injector.istio.io", "clientConfig": config}
    hook |= {"sideEffects": "None", "timeoutSeconds": 5, "failurePolicy": "Fail", "admissionReviewVersions": ["v1"]}
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "injector", {"webhooks": [hook]})


@clean(EVERYDAY, "marked-host-name", "A program marks everything that it reads as secret, a host name too.")
def _(scene: Scene) -> None:
    _control_plane(scene)
    host = pulumi.Output.secret("istiod.example.com")
    data = {"address": pulumi.Output.concat(host, ":15012"), "network": pulumi.Output.secret("vpc-0a1b2c3d4e5f67890")}
    scene.config_map("dp", "mesh", data)


def one_kubeconfig(scene: Scene) -> str:
    """The file that people have at home: all clusters in one."""
    sides = {side: yaml.safe_load(scene.kubeconfigs[side]) for side in ("cp", "dp")}
    document = {**sides["cp"], "clusters": [], "users": [], "contexts": []}
    for side, found in sides.items():
        for key in ("clusters", "users"):
            document[key].append({**found[key][0], "name": side})
        document["contexts"].append({"name": side, "context": {"cluster": side, "user": side}})
    return yaml.safe_dump(document)


def _in_order(first: str, second: str) -> None:
    @clean(
        EVERYDAY,
        f"one-kubeconfig-{first}-first",
        "Both clusters' providers are given one file with both contexts: to each server its own token is shown.",
    )
    def _(scene: Scene) -> None:
        config = pulumi.Output.secret(one_kubeconfig(scene))
        opts = {
            side: scene.package("kubernetes", f"{side}-of-both", "cp", kubeconfig=config, context=side)
            for side in (first, second)
        }
        for side in (first, second):
            inputs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"side": side}}
            scene.made("kubernetes:core/v1:ConfigMap", f"own-{side}", inputs, opts[side], owner=side)


_in_order("cp", "dp")
_in_order("dp", "cp")
