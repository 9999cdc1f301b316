"""Harmless, from the field: charts' values, objects of operators and files as platform teams write them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable
from typing import Any

import yaml

from tests.corpus.strangers.material import LOWER
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid

from .world import BUCKET, CLIENT, ISSUER, SCRIPT, TEMPLATES, platform

VALUES, OPERATED, FILES, SAME = (
    "values of charts, in the field",
    "objects of operators, in the field",
    "files of tools, in the field",
    "the same public text on both sides",
)
KUSTOMIZE = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of which kustomize and Kubernetes make the ends of names."""


def ended(name: str, length: int = 10) -> str:
    """A name with the hash that kustomize puts behind it."""
    return f"{name}-{drawn(name, length, KUSTOMIZE)}"


# Values that name Secrets, and ids ------------------------------------------------------------------------------------

CHARTS: list[tuple[str, str, Any]] = [
    ("postgresql", "names of Secrets that kustomize made, with hashes at their ends", {"auth": {"username": "shop", "database": "shop", "existingSecret": ended("shop-db-credentials"), "secretKeys": {"adminPasswordKey": "postgres-password", "userPasswordKey": "password", "replicationPasswordKey": "replication-password"}}, "tls": {"enabled": True, "certificatesSecret": ended("shop-db-tls"), "certFilename": "tls.crt", "certKeyFilename": "tls.key"}}),
    ("keycloak", "places of passwords and a password's policy", {"auth": {"adminUser": "admin", "existingSecret": ended("keycloak"), "passwordSecretKey": "admin-password"}, "extraEnvVars": [{"name": "KEYCLOAK_PASSWORD_POLICY", "value": "length(12) and upperCase(1) and digits(1) and notUsername and passwordHistory(5)"}, {"name": "KC_SPI_STICKY_SESSION_ENCODER_INFINISPAN_SHOULD_ATTACH_ROUTE", "value": "false"}], "externalDatabase": {"existingSecret": ended("keycloak-db"), "existingSecretPasswordKey": "password"}}),
    ("kube-prometheus-stack", "the values of a monitoring stack", {"prometheus": {"prometheusSpec": {"externalLabels": {"cluster": "shop", "cluster_id": uid("shop")}, "thanos": {"objectStorageConfig": {"existingSecret": {"name": "thanos-objstore", "key": "objstore.yml"}}}, "remoteWrite": [{"url": "https://metrics.example.com/api/v1/push", "basicAuth": {"username": {"name": "remote-write", "key": "username"}, "password": {"name": "remote-write", "key": "password"}}}], "retention": "15d"}}, "grafana": {"admin": {"existingSecret": ended("grafana-admin"), "userKey": "admin-user", "passwordKey": "admin-password"}, "grafana.ini": {"auth.generic_oauth": {"client_id": CLIENT, "client_secret": "$__file{/etc/secrets/oauth/client_secret}", "scopes": "openid profile email", "auth_url": f"{ISSUER}/protocol/openid-connect/auth", "token_url": f"{ISSUER}/protocol/openid-connect/token"}, "security": {"secret_key": "${GF_SECURITY_SECRET_KEY}", "cookie_samesite": "lax"}}, "imageRenderer": {"image": {"sha": noise("image", 32).hex()}}}}),
    ("oauth2-proxy", "settings of a login with its secrets elsewhere", {"config": {"existingSecret": ended("oauth2-proxy"), "configFile": f'email_domains = [ "*" ]\nprovider = "oidc"\noidc_issuer_url = "{ISSUER}"\nclient_id = "{CLIENT}"\ncookie_secret_file = "/etc/cookie"\ncode_challenge_method = "S256"\n'}, "sessionStorage": {"type": "redis", "redis": {"existingSecret": ended("redis"), "passwordKey": "redis-password"}}}),
    ("external-dns", "an owner's id and a role", {"provider": {"name": "aws"}, "txtOwnerId": drawn("txt", 16, LOWER), "txtPrefix": "_xd.", "domainFilters": ["shop.example.com"], "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::407408718192:role/shop-external-dns-4f7k2m9x"}}, "extraArgs": ["--aws-zone-match-parent=true", f"--zone-id-filter=Z{drawn('zone', 20, 'ABCDEFGHJKLMNPQRSTUVWXYZ0123456789')}"]}),
    ("cert-manager", "an account key's name and hosts of resolvers", {"crds": {"enabled": True}, "extraArgs": ["--dns01-recursive-nameservers-only", "--enable-certificate-owner-ref=true"], "clusterIssuer": {"privateKeySecretRef": {"name": ended("letsencrypt-account")}, "solvers": [{"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": ended("cloudflare-api-token"), "key": "api-token"}}}}]}}),
    ("vault", "seals by a key of a cloud, by its id", {"server": {"ha": {"raft": {"config": f'seal "awskms" {{\n  region = "eu-west-1"\n  kms_key_id = "{uid("kms")}"\n}}\nstorage "raft" {{ path = "/vault/data" }}\n'}}, "extraSecretEnvironmentVars": [{"envName": "VAULT_TOKEN", "secretName": ended("vault-bootstrap"), "secretKey": "root-token"}]}, "injector": {"authPath": "auth/kubernetes-shop"}}),
    ("gitlab-runner", "the name of the Secret of a runner", {"gitlabUrl": "https://git.example.com", "runners": {"secret": ended("runner-registration"), "cache": {"secretName": ended("s3access")}, "config": "[[runners]]\n  [runners.kubernetes]\n    image = 'alpine:3.20'\n    pull_policy = 'if-not-present'\n"}}),
    ("harbor", "names under words of secrets", {"existingSecretAdminPassword": ended("harbor-admin"), "existingSecretAdminPasswordKey": "HARBOR_ADMIN_PASSWORD", "existingSecretSecretKey": ended("harbor-secret-key"), "core": {"tokenKey": "", "secretName": ended("harbor-core-token"), "xsrfKey": "", "existingXsrfSecret": ended("harbor-xsrf")}, "expose": {"tls": {"certSource": "secret", "secret": {"secretName": ended("harbor-tls")}}}}),
    ("datadog", "keys by reference, and ids", {"datadog": {"apiKeyExistingSecret": ended("datadog-api"), "appKeyExistingSecret": ended("datadog-app"), "clusterName": "shop-eu-west-1", "site": "datadoghq.eu", "tags": [f"git.commit.sha:{noise('commit', 20).hex()}"]}, "clusterAgent": {"tokenExistingSecret": ended("datadog-cluster-agent")}}),
    ("velero", "a bucket, a key's alias and a credential's name", {"configuration": {"backupStorageLocation": [{"provider": "aws", "bucket": f"shop-velero-{drawn('velero', 8, HEX)}", "config": {"region": "eu-west-1", "kmsKeyId": f"alias/{ended('velero')}"}, "credential": {"name": ended("velero-credentials"), "key": "cloud"}}]}, "credentials": {"useSecret": True, "existingSecret": ended("velero-credentials")}}),
    ("temporal", "stores with names of Secrets", {"server": {"config": {"persistence": {"default": {"driver": "sql", "sql": {"host": "db.shop", "user": "temporal", "existingSecret": ended("temporal-store"), "secretName": ended("temporal-store"), "secretKey": "password"}}}, "namespaces": {"namespace": [{"name": f"shop.{drawn('temporal', 5, LOWER)}", "retention": "3d"}]}}}}),
    ("rabbitmq", "the name of a cookie's Secret and plug-ins", {"auth": {"existingPasswordSecret": ended("rabbit-password"), "existingErlangSecret": ended("rabbit-erlang"), "existingSecretPasswordKey": "rabbitmq-password", "tls": {"existingSecret": ended("rabbit-tls"), "sslOptionsPassword": {"existingSecret": "", "key": "", "password": ""}}}, "extraConfiguration": "default_vhost = shop\nauth_mechanisms.1 = PLAIN\nauth_oauth2.resource_server_id = rabbitmq\n"}),
    ("airflow", "names of keys' Secrets and a connection without a password", {"fernetKeySecretName": ended("airflow-fernet"), "webserverSecretKeySecretName": ended("airflow-webserver"), "data": {"metadataSecretName": ended("airflow-metadata"), "brokerUrlSecretName": ended("airflow-broker")}, "env": [{"name": "AIRFLOW_CONN_AWS", "value": "aws://?region_name=eu-west-1&role_arn=arn%3Aaws%3Aiam%3A%3A407408718192%3Arole%2Fairflow"}]}),
    ("opensearch", "a discovery's id and hashes of plug-ins", {"extraEnvs": [{"name": "OPENSEARCH_INITIAL_ADMIN_PASSWORD", "valueFrom": {"secretKeyRef": {"name": ended("opensearch-admin"), "key": "password"}}}], "clusterUUID": drawn("opensearch", 22), "plugins": {"installList": [f"https://artifacts.example.com/repository-s3-2.15.0.zip?sha512={noise('plugin', 64).hex()}"]}}),
]  # fmt: skip


def _chart(name: str, what: str, values: Any, *, as_text: bool, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(VALUES, f"field-values-of-{name}", f"The values of the user's {name} have {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        if as_text:  # as Argo CD and Flux have them
            application = {
                "spec": {
                    "source": {"chart": name, "targetRevision": "1.2.3", "helm": {"values": yaml.safe_dump(values)}}
                }
            }
            scene.object("dp", "argoproj.io/v1alpha1:Application", name, application)
            scene.config_map("dp", "values", {"values.yaml": yaml.safe_dump(values)})
        else:
            release(scene, "dp", name, values)


for _at, _chart_row in enumerate(CHARTS):
    _chart(*_chart_row, as_text=_at % 2 == 1, second=_at % 3 == 0)

# Objects of operators -------------------------------------------------------------------------------------------------

OBJECTS: list[tuple[str, str, str, Any]] = [
    ("external-secret", "an ExternalSecret with templates and names in a store", "external-secrets.io/v1:ExternalSecret", {"secretStoreRef": {"name": "shop", "kind": "ClusterSecretStore"}, "refreshInterval": "1h", "target": {"name": "shop-db", "template": {"engineVersion": "v2", "data": {"url": "postgres://{{ .username }}:{{ .password | urlquery }}@db.shop:5432/shop", "config.json": '{"password": "{{ .password }}", "apiKey": "{{ .api_key }}"}'}}}, "data": [{"secretKey": "password", "remoteRef": {"key": f"shop/db-{drawn('es', 6)}", "property": "password", "version": uid("version")}}]}),
    ("secret-store", "a store with a role's id and the name of its secret id", "external-secrets.io/v1:ClusterSecretStore", {"provider": {"vault": {"server": "https://vault.shop.example.com", "path": "kv", "version": "v2", "auth": {"appRole": {"path": "approle", "roleId": uid("role"), "secretRef": {"name": ended("approle"), "key": "secret-id"}}}}}}),
    ("issuer-with-account", "an issuer with an account of ACME by its key's id", "cert-manager.io/v1:ClusterIssuer", {"acme": {"server": "https://acme.example.com/v2/DV90", "email": "ops@shop.example.com", "externalAccountBinding": {"keyID": drawn("eab", 22), "keySecretRef": {"name": ended("eab"), "key": "secret"}}, "privateKeySecretRef": {"name": ended("acme-account")}}}),
    ("kafka-user", "a user of Kafka whose password is elsewhere", "kafka.strimzi.io/v1beta2:KafkaUser", {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": ended("kafka-user"), "key": "password"}}}}, "authorization": {"type": "simple", "acls": [{"resource": {"type": "topic", "name": "orders.", "patternType": "prefix"}, "operations": ["Read", "Describe"]}]}}),
    ("postgres-cluster", "a cluster of Postgres with names of Secrets and a checksum", "postgresql.cnpg.io/v1:Cluster", {"instances": 3, "imageName": f"ghcr.io/cloudnative-pg/postgresql@sha256:{noise('pg', 32).hex()}", "superuserSecret": {"name": ended("superuser")}, "bootstrap": {"initdb": {"database": "shop", "owner": "shop", "secret": {"name": ended("shop-app")}, "postInitSQL": ["ALTER SYSTEM SET password_encryption = 'scram-sha-256'", "CREATE EXTENSION pgcrypto"]}}, "postgresql": {"pg_hba": ["hostssl all all 10.0.0.0/8 scram-sha-256"]}}),
    ("realm-import", "a realm with placeholders for clients' secrets and the algorithm of its keys", "k8s.keycloak.org/v2alpha1:KeycloakRealmImport", {"realm": {"realm": "shop", "passwordPolicy": "length(12) and hashIterations(210000) and hashAlgorithm(pbkdf2-sha512)", "clients": [{"clientId": "shop-frontend", "publicClient": True, "redirectUris": ["https://shop.example.com/*"]}, {"clientId": "shop-backend", "secret": "${SHOP_BACKEND_CLIENT_SECRET}", "clientAuthenticatorType": "client-secret"}], "otpPolicyAlgorithm": "HmacSHA1", "bruteForceProtected": True, "accessTokenLifespan": 300, "components": {"org.keycloak.keys.KeyProvider": [{"id": uid("kp"), "name": "rsa-generated", "config": {"keySize": ["2048"], "algorithm": ["RS256"]}}]}}}),
    ("sealed-secret", "a sealed Secret", "bitnami.com/v1alpha1:SealedSecret", {"encryptedData": {"password": "AgB" + b64(noise("sealed", 700))[3:], "apiToken": "AgA" + b64(noise("sealed2", 700))[3:]}, "template": {"metadata": {"name": "shop-db"}, "type": "Opaque"}}),
    ("crossplane-composition", "a composition with names of connection details", "apiextensions.crossplane.io/v1:Composition", {"mode": "Pipeline", "pipeline": [{"step": "patch", "input": {"resources": [{"name": "instance", "base": {"spec": {"forProvider": {"passwordSecretRef": {"key": "password", "namespace": "crossplane-system"}, "autoGeneratePassword": True, "kmsKeyId": f"arn:aws:kms:eu-west-1:407408718192:key/{uid('cp kms')}"}}}, "connectionDetails": [{"name": "password", "fromConnectionSecretKey": "attribute.password"}, {"name": "token", "value": "not-used"}]}]}}]}),
    ("keda-trigger", "a trigger's authentication by names", "keda.sh/v1alpha1:TriggerAuthentication", {"secretTargetRef": [{"parameter": "host", "name": ended("rabbit"), "key": "host"}, {"parameter": "personalAccessToken", "name": ended("azdo"), "key": "pat"}], "hashiCorpVault": {"authentication": "kubernetes", "role": "keda", "secrets": [{"parameter": "password", "key": "password", "path": "kv/data/shop/rabbit"}]}}),
    ("authorization-policy", "rules for tokens' claims", "security.istio.io/v1:AuthorizationPolicy", {"action": "ALLOW", "rules": [{"from": [{"source": {"requestPrincipals": [f"{ISSUER}/{uid('sub')}"]}}], "when": [{"key": "request.auth.claims[azp]", "values": [CLIENT]}, {"key": "request.headers[x-token-type]", "values": ["urn:ietf:params:oauth:token-type:access_token"]}]}]}),
    ("wasm-plugin", "a plug-in by its hash, with a header's name", "extensions.istio.io/v1alpha1:WasmPlugin", {"url": "oci://registry.example.com/wasm/auth:1.4", "sha256": noise("wasm", 32).hex(), "imagePullSecret": ended("regcred"), "pluginConfig": {"api_key_header": "x-shop-api-key-v2", "token_cache_key": "sub+azp+scope_hash", "jwks_cache_ttl": "300s"}}),
    ("kyverno-policy", "a policy that makes secrets' copies and verifies signatures", "kyverno.io/v1:ClusterPolicy", {"rules": [{"name": "clone", "generate": {"kind": "Secret", "name": "regcred", "clone": {"namespace": "default", "name": "regcred"}}}, {"name": "verify", "verifyImages": [{"imageReferences": ["registry.example.com/*"], "attestors": [{"entries": [{"keyless": {"subject": "https://github.com/example/*", "issuer": "https://token.actions.githubusercontent.com", "rekor": {"url": "https://rekor.sigstore.dev"}}}]}]}]}]}),
    ("flux-source", "a source with a verification's key and an artefact's digest", "source.toolkit.fluxcd.io/v1:OCIRepository", {"url": "oci://registry.example.com/shop", "ref": {"digest": f"sha256:{noise('oci', 32).hex()}"}, "secretRef": {"name": ended("registry")}, "verify": {"provider": "cosign", "secretRef": {"name": "cosign-pub"}}}),
    ("infisical-secret", "a store's project by its id and a slug", "secrets.infisical.com/v1alpha1:InfisicalSecret", {"authentication": {"universalAuth": {"credentialsRef": {"secretName": ended("infisical"), "secretNamespace": "shop"}, "secretsScope": {"projectSlug": "shop-x7-kq", "envSlug": "prod", "secretsPath": "/db"}}}, "managedSecretReference": {"secretName": ended("managed"), "creationPolicy": "Orphan"}}),
    ("machine-pool", "nodes with a template's hash and an image's id", "cluster.x-k8s.io/v1beta1:MachineDeployment", {"clusterName": "shop", "template": {"spec": {"bootstrap": {"dataSecretName": f"shop-md-0-{drawn('md', 5, KUSTOMIZE)}-{drawn('md2', 5, KUSTOMIZE)}"}, "failureDomain": "eu-west-1a", "providerID": f"aws:///eu-west-1a/i-{drawn('inst', 17, HEX)}"}}}),
]  # fmt: skip


def _operated(name: str, what: str, kind: str, spec: Any, *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(OPERATED, f"field-{name}", f"The user's cluster has {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        scene.object("dp", kind, name, {"spec": spec})


for _at, _object_row in enumerate(OBJECTS):
    _operated(*_object_row, second=_at % 4 == 0)

# Files ----------------------------------------------------------------------------------------------------------------


def _dashboard() -> str:
    panels = [
        {
            "id": at,
            "title": title,
            "type": "timeseries",
            "datasource": {"type": "prometheus", "uid": drawn("datasource", 9)},
            "targets": [{"refId": "A", "expr": f'sum(rate({metric}{{cluster=~"$cluster"}}[5m])) by (pod)', "editorMode": "code"}],
            "libraryPanel": {"uid": drawn(title, 14), "name": title},
        }
        for at, (title, metric) in enumerate(
            [("Token requests", "istiod_token_requests_total"), ("Secrets pushed", "pilot_sds_certificate_pushes"), ("Password failures", "auth_password_failures_total")] * 8
        )
    ]  # fmt: skip
    return json.dumps(
        {
            "uid": drawn("dash", 14),
            "title": "Logins and tokens",
            "schemaVersion": 39,
            "panels": panels,
            "time": {"from": "now-6h", "to": "now"},
        },
        indent=2,
    )


def _schema() -> str:
    fields = {
        name: {"type": "string", "format": "password", "writeOnly": True, "minLength": 16, "description": f"The {name}; see Secret `{ended(name.lower())}`.", "x-example-hash": hashlib.sha256(name.encode()).hexdigest()}
        for name in ("password", "apiKey", "clientSecret", "privateKey", "accessToken", "kubeconfig", "encryptionKey")
    }  # fmt: skip
    return json.dumps(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"https://schemas.example.com/{uid('schema')}",
            "properties": fields,
            "patternProperties": {"^.*[Ss]ecret$": {"type": "string"}},
        },
        indent=1,
    )


FILE_ROWS: list[tuple[str, str, str, Callable[[Scene], str]]] = [
    ("supabase-anonymous-key", "a page's file with a key that the browser has anyway, in the form of a token", "env.js", lambda s: "window.env = {SUPABASE_URL: 'https://shop.supabase.co', SUPABASE_ANON_KEY: '" + ".".join((b64('{"alg":"HS256","typ":"JWT"}').rstrip("="), b64('{"iss":"supabase","ref":"shop","role":"anon","iat":1767225600,"exp":2082758400}').rstrip("="), drawn("anon", 43))) + "'};\n"),
    ("map-token", "the public token of a map", "env.js", lambda s: "window.env = {MAPBOX_TOKEN: 'pk." + b64('{"u":"shop","a":"clx1"}').rstrip("=") + "." + drawn("mapbox", 22) + "'};\n"),
    ("firebase-settings", "a page's settings of Firebase, whose key is public", "firebase.json", lambda s: json.dumps({"apiKey": "AIzaSy" + drawn("firebase", 33), "authDomain": "shop.firebaseapp.com", "projectId": "shop", "messagingSenderId": "407408718192", "appId": f"1:407408718192:web:{drawn('fb', 22, HEX)}"})),
    ("sentry-dsn", "an address for crash reports with its public key", "app.env", lambda s: f"SENTRY_DSN=https://{drawn('dsn', 32, HEX)}@o4505.ingest.sentry.io/4505\nSENTRY_RELEASE=shop@{noise('rel', 20).hex()}\n"),
    ("algolia-search-key", "the search-only key of a page", "search.json", lambda s: json.dumps({"algoliaAppId": drawn("algolia", 10, "ABCDEFGHIJ0123456789"), "searchOnlyPublicKey": drawn("algolia key", 32, HEX), "indexName": "products_v2"})),
    ("turnstile-site-key", "the site key of a challenge", "app.env", lambda s: f"TURNSTILE_SITE_KEY=0x4AAAAAAA{drawn('turnstile', 14)}\nHCAPTCHA_SITEKEY={uid('hcaptcha')}\n"),
    ("openapi", "an interface's description with fields for passwords", "openapi.json", lambda s: _schema()),
    ("dashboard", "a long dashboard with ids", "dashboard.json", lambda s: _dashboard()),
    ("asset-manifest", "names of a page's files with hashes, and their integrity", "manifest.json", lambda s: json.dumps({f"assets/{part}.js": {"file": f"assets/{part}-{drawn(part, 8)}.js", "integrity": "sha384-" + b64(noise(part, 48))} for part in ("main", "vendor", "tokens", "password-reset", "secret-santa")})),
    ("lock-file", "a lock file of packages", "package-lock.json", lambda s: json.dumps({"packages": {f"node_modules/{part}": {"version": "1.2.3", "resolved": f"https://packages.example/{part}/-/{part}-1.2.3.tgz", "integrity": "sha512-" + b64(noise(part, 64))} for part in ("jsonwebtoken", "dotenv", "bcrypt", "secrets.js", "keytar")}})),
    ("known-good-vault-transit", "a value that a Vault encrypted", "app.env", lambda s: f"DB_PASSWORD=vault:v1:{b64(noise('transit', 60))}\nAPI_KEY=vault:v3:{b64(noise('transit2', 72))}\n"),
    ("kms-cipher-text", "a value that a cloud's key encrypted", "serverless.yml", lambda s: f"environment:\n  DB_PASSWORD_ENCRYPTED: AQICAH{b64(noise('kms', 160))[6:]}\n"),
    ("fernet-cipher-text", "a value in Fernet's form", "config.ini", lambda s: f"[db]\npassword_encrypted = gAAAAAB{base64.urlsafe_b64encode(noise('fernet', 93)).decode()[7:]}\n"),
    ("openssl-cipher-text", "a password that openssl encrypted", "config.yaml", lambda s: f"db:\n  password: U2FsdGVkX1{b64(noise('openssl', 48))[10:]}\n"),
    ("eyaml-cipher-text", "Puppet's values, encrypted", "common.yaml", lambda s: f"profile::db::password: ENC[PKCS7,MII{b64(noise('eyaml', 300))[3:]}]\nprofile::db::user: shop\n"),
    ("ejson-cipher-text", "a file of EJSON", "secrets.ejson", lambda s: json.dumps({"_public_key": noise("ejson", 32).hex(), "database_password": f"EJ[1:{b64(noise('e1', 32))}:{b64(noise('e2', 24))}:{b64(noise('e3', 40))}]"})),
    ("pgp-message", "values that PGP encrypted", "values.yaml", lambda s: "db:\n  password: |\n    -----BEGIN PGP MESSAGE-----\n\n    " + b64(noise("pgp", 240)) + "\n    =aB3d\n    -----END PGP MESSAGE-----\n"),
    ("rails-credentials", "encrypted credentials of Rails", "credentials.yml.enc", lambda s: f"{b64(noise('r1', 200))}--{b64(noise('r2', 12))}--{b64(noise('r3', 16))}"),
    ("age-recipients", "recipients of age and a PGP key's fingerprint", ".sops.yaml", lambda s: yaml.safe_dump({"creation_rules": [{"path_regex": "secrets/.*", "encrypted_regex": "^(data|stringData|password|token)$", "age": "age1" + drawn("age", 58, "qpzry9x8gf2tvdw0s3jn54khce6mua7l"), "pgp": noise("pgpfp", 20).hex().upper()}]})),
    ("compose-with-variables", "a compose file with variables and secrets by name", "compose.yaml", lambda s: yaml.safe_dump({"services": {"db": {"image": f"postgres@sha256:{noise('pgi', 32).hex()}", "environment": {"POSTGRES_PASSWORD_FILE": "/run/secrets/db-password", "API_TOKEN": "${API_TOKEN:?}"}, "secrets": ["db-password"]}}, "secrets": {"db-password": {"external": True, "name": ended("db-password")}}})),
    ("cloud-init", "a machine's first start, with public keys and a package's key id", "user-data", lambda s: "#cloud-config\n" + yaml.safe_dump({"users": [{"name": "ops", "lock_passwd": True, "ssh_authorized_keys": [s.dp.public_ssh("ops"), s.dp.public_ssh("second operator")]}], "apt": {"sources": {"k8s": {"source": "deb https://pkgs.k8s.io/core:/stable:/v1.31/deb/ /", "keyid": noise("apt", 20).hex().upper()}}}, "bootcmd": ["modprobe br_netfilter"]})),
    ("argo-workflow", "a workflow's parameters with keys of caches", "workflow.yaml", lambda s: yaml.safe_dump({"spec": {"arguments": {"parameters": [{"name": "cache-key", "value": f"go-mod-{noise('cache', 16).hex()}"}, {"name": "idempotency-key", "value": drawn("idem", 26, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")}, {"name": "partition_key", "value": drawn("partition", 20)}, {"name": "continuation-token-name", "value": "nextPageToken"}]}, "templates": [{"memoize": {"key": "{{inputs.parameters.cache-key}}"}}]}})),
    ("elastic-cloud-id", "the id of a deployment of Elastic, in base64", "filebeat.yml", lambda s: "cloud.id: \"shop:" + b64("eu-west-1.aws.found.io$" + drawn("es1", 32, HEX) + "$" + drawn("es2", 32, HEX)) + "\"\ncloud.auth: \"${ELASTIC_AUTH}\"\n"),
    ("application-insights", "a browser's connection string for measurements, which has no right to read", "app.env", lambda s: f"APPLICATIONINSIGHTS_CONNECTION_STRING=InstrumentationKey={uid('ai')};IngestionEndpoint=https://westeurope-5.in.applicationinsights.azure.com/;ApplicationId={uid('ai2')}\n"),
    ("tokenizer-settings", "settings of a model with words of secrets and hashes", "model.json", lambda s: json.dumps({"tokenizer": "cl100k_base", "eos_token": "<|endoftext|>", "pad_token": "<|fim_pad|>", "tokenizer_hash": noise("tok", 32).hex(), "special_tokens": {"secret_token": "<|reserved_special_token_42|>"}, "revision": noise("hf", 20).hex()})),
    ("keycloak-token-exchange-docs", "a page about tokens with a sample that is cut", "README.md", lambda s: "Get a token:\n\n```\ncurl -d client_id=shop -d client_secret=$CLIENT_SECRET -d grant_type=client_credentials $ISSUER/protocol/openid-connect/token\n{\"access_token\": \"eyJhbGciOiJSUzI1NiIsInR5cCI...\", \"token_type\": \"Bearer\", \"expires_in\": 300}\n```\n"),
    ("packed-dashboards", "dashboards in gzip and base64", "dashboards.json.gz", lambda s: b64(gzip.compress(_dashboard().encode(), mtime=0))),
    ("text-of-an-output", "a text that a program made of an Output by mistake, which is a warning and no value", "note", lambda s: str(s.password("cp", "spare").output("result"))),
]  # fmt: skip


def _file(name: str, what: str, entry: str, text: Callable[[Scene], str], *, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}

    @clean(FILES, f"field-file-{name}", f"The user's ConfigMap has {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        scene.config_map("dp", "files", {entry: text(scene)})


for _at, _file_row in enumerate(FILE_ROWS):
    _file(*_file_row, second=_at % 4 == 1)

# The same public text in the provider's Secrets and at the user's -----------------------------------------------------

PUBLIC_TEXTS: list[tuple[str, str, dict[str, str]]] = [
    ("backup-script", "the same script of backups", {"backup.sh": SCRIPT}),
    ("alert-templates", "the same templates of alerts", {"slack.tmpl": TEMPLATES}),
    ("public-settings", "the same variables without the secret ones", {".env": f"APP_ENV=production\nLOG_LEVEL=info\nREGION=eu-west-1\nAWS_ACCOUNT_ID=407408718192\nS3_BUCKET={BUCKET}\nOIDC_ISSUER={ISSUER}\nOIDC_CLIENT_ID={CLIENT}\nSENTRY_DSN=https://{drawn('dsn', 32, HEX)}@o4505.ingest.sentry.io/4505\nKAFKA_CLUSTER_ID={drawn('kafka', 22)}\nRELEASE={drawn('sha', 12, HEX)}\n"}),
    ("single-facts", "the same ids, each by itself", {"bucket": BUCKET, "kafka": drawn("kafka", 22), "audience": CLIENT, "dsn": f"https://{drawn('dsn', 32, HEX)}@o4505.ingest.sentry.io/4505", "release": drawn("sha", 12, HEX), "registry": "registry.platform.example.com", "robot": "robot$platform", "database": "keycloak"}),
    ("redis-settings", "the same settings of a cache", {"redis.conf": "maxmemory 256mb\nappendonly yes\n"}),
]  # fmt: skip


def _same(name: str, what: str, data: dict[str, str], how: str) -> None:
    more: dict[str, Any] = {"before": "the same"} if how == "second" else {}

    @clean(SAME, f"field-same-{name}-{how}", f"Both sides have {what}.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        if how == "values":
            release(
                scene,
                "dp",
                "shop",
                {"files": data, "env": [{"name": key, "value": text} for key, text in data.items()]},
            )
        elif how == "pods":
            deployment(
                scene,
                "dp",
                "shop",
                {"args": list(data.values()), "env": [{"name": "X", "value": b64(text)} for text in data.values()]},
            )
        else:
            scene.config_map("dp", "shared", data)


for _at, _same_row in enumerate(PUBLIC_TEXTS):
    _same(*_same_row, "second" if _at % 2 else "first")
    _same(*_same_row, "pods" if _at % 2 else "values")
