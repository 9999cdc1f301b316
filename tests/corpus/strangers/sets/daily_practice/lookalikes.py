"""Harmless, of daily practice: public tokens, places for secrets, ciphertext, patterns of secrets, ids, the user's own."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from tests.corpus.strangers.material import LETTERS, LOWER
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean

PUBLIC, PLACES, SEALED = "public tokens and keys", "places for secrets", "ciphertext for the user"
PATTERNS, IDS, NOISE, OWN = (
    "patterns and examples",
    "ids on both sides",
    "noise of clusters",
    "the user's own, in practice",
)
HEX = "0123456789abcdef"
SIGNS = LETTERS + "!@#$%&*()-_=+[]{}<>:?"
Text = Callable[[Scene], str]


def _bytes(name: str, length: int) -> bytes:
    return hashlib.shake_256(f"practice {name}".encode()).digest(length)


def _drawn(name: str, length: int, letters: str = LETTERS) -> str:
    """Letters that look random and are nobody's secret: the same in each run."""
    return "".join(letters[byte % len(letters)] for byte in _bytes(name, length))


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def _uuid(name: str) -> str:
    return str(uuid.UUID(bytes=_bytes(name, 16), version=4))


def _pem(label: str, name: str, length: int = 160) -> str:
    lines = re.findall(".{1,64}", _b64(_bytes(name, length)))
    return f"-----BEGIN {label}-----\n" + "\n".join(lines) + f"\n-----END {label}-----\n"


def platform(scene: Scene) -> None:
    """What a provider's cluster has: passwords with signs in them, files, kubeconfigs, keys, logins, words."""
    password = scene.cp.opaque("signs", 24, SIGNS)
    document = {
        "adminUser": "admin",
        "adminPassword": password,
        "service": {"type": "ClusterIP"},
        "ingress": {"enabled": True},
    }
    given = {
        "password": password,
        "username": "postgres",
        "host": "db.platform.svc.cluster.local",
        "values.yaml": yaml.safe_dump(document),
        ".env": f"LOG_LEVEL=info\nREGION=eu-west-1\nDB_USER=mesh\nDB_PASSWORD={scene.cp.opaque('db', 20, LETTERS)}\nISSUER=https://id.example.com\n",
        "settings.json": json.dumps({"clientId": _uuid("app"), "tenantId": _uuid("tenant"), "clientSecret": scene.cp.opaque("client", 40, LETTERS)}),
        "ca.crt": scene.cp.certificate("root", authority=True),
        "tls.key": scene.cp.key("root"),
        "config": scene.kubeconfigs["dp"],
        "passphrase": "istio-ingressgateway",
        ".dockerconfigjson": json.dumps({"auths": {"registry.example.com": {"username": "robot", "auth": _b64("robot:" + scene.cp.opaque("robot", 32, LETTERS))}}}),
    }  # fmt: skip
    scene.secret("cp", "platform", {key: pulumi.Output.secret(value) for key, value in given.items()})
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})


def _setting(
    theme: str, name: str, what: str, text: Text, entry: str = "settings", *, second: bool = False, rightly: str = ""
) -> None:
    @clean(
        theme, name, f"The user's ConfigMap has {what}.", rightly=rightly, **({"before": "the same"} if second else {})
    )
    def _(scene: Scene) -> None:
        platform(scene)
        scene.config_map("dp", "settings", {entry: text(scene)})


# Public by design, whatever they look like ---------------------------------------------------------------------------

PUBLICS: list[tuple[str, str, Text]] = [
    ("recaptcha-site-key", "a site key, which each page shows", lambda s: f"RECAPTCHA_SITE_KEY=6Lc{_drawn('captcha', 37)}\nTHEME=dark\n"),
    ("stripe-publishable-key", "a publishable key of a payment service", lambda s: f"STRIPE_PUBLISHABLE_KEY=pk_live_51{_drawn('stripe', 97)}\n"),
    ("posthog-key", "the public project key of a product analysis", lambda s: f"POSTHOG_KEY=phc_{_drawn('posthog', 43)}\n"),
    ("real-user-monitoring", "the client's token of browser monitoring, public by its form", lambda s: json.dumps({"applicationId": _uuid("rum"), "clientToken": "pub" + _drawn("rum", 32, HEX), "site": "example.eu"})),
    ("vapid-public-key", "the public key of web push", lambda s: "VAPID_PUBLIC_KEY=B" + base64.urlsafe_b64encode(_bytes("vapid", 64)).decode().rstrip("=") + "\n"),
    ("wireguard-peers", "peers of WireGuard by their public keys", lambda s: f"[Peer]\nPublicKey = {_b64(_bytes('wg', 32))}\nAllowedIPs = 10.8.0.0/24\nEndpoint = vpn.example.com:51820\n"),
    ("hashed-known-hosts", "known hosts with hashed names", lambda s: f"|1|{_b64(_bytes('salt', 20))}|{_b64(_bytes('name', 20))} {s.dp.public_ssh('host')}\n"),
    ("minisign-public-key", "a public key of minisign", lambda s: f"untrusted comment: minisign public key\nRWQ{_drawn('minisign', 53)}\n"),
    ("dh-parameters", "parameters of Diffie and Hellman", lambda s: _pem("DH PARAMETERS", "dh", 268)),
    ("certificate-request", "a request for a certificate", lambda s: _request(s)),
    ("revocation-list", "a list of revoked certificates", lambda s: _pem("X509 CRL", "crl", 300)),
    ("pkcs7-bundle", "a bundle of certificates in PKCS#7", lambda s: _pem("PKCS7", "p7b", 500)),
    ("ssh-signature", "a signature of SSH", lambda s: _pem("SSH SIGNATURE", "sshsig", 200)),
    ("cosign-signature", "a signature of an image and the image's digest", lambda s: json.dumps({"critical": {"image": {"docker-manifest-digest": "sha256:" + _bytes("image", 32).hex()}}, "Signature": _b64(_bytes("cosign", 71))})),
    ("dnssec-records", "records of DNSSEC, DANE and SSH", lambda s: f"shop.example.com. IN DS 2371 13 2 {_bytes('ds', 32).hex().upper()}\nshop IN DNSKEY 257 3 13 {_b64(_bytes('dnskey', 64))}\n_443._tcp IN TLSA 3 1 1 {_bytes('tlsa', 32).hex()}\nhost IN SSHFP 4 2 {_bytes('sshfp', 32).hex()}\n"),
    ("saml-metadata", "metadata of SAML, with the certificate's base64 without a frame", lambda s: f'<EntityDescriptor entityID="https://id.example.com"><KeyDescriptor use="signing"><X509Certificate>{"".join(s.dp.certificate("saml").splitlines()[1:-1])}</X509Certificate></KeyDescriptor></EntityDescriptor>'),
    ("realm-public-key", "the public key of a realm, without a frame", lambda s: json.dumps({"realm": "shop", "public_key": "".join(s.dp.public_key("realm").splitlines()[1:-1]), "token-service": "https://id.example.com/realms/shop/protocol/openid-connect"})),
    ("root-of-tuf", "public keys of a root of trust, in hexadecimal digits", lambda s: json.dumps({"signed": {"keys": {_bytes("kid", 32).hex(): {"keytype": "ed25519", "keyval": {"public": _bytes("tuf", 32).hex()}}}, "expires": "2027-01-01T00:00:00Z"}})),
    ("discovery-of-oidc", "what an issuer says about itself", lambda s: json.dumps({"issuer": "https://id.example.com", "token_endpoint": "https://id.example.com/token", "jwks_uri": "https://id.example.com/keys", "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"]})),
    ("nix-and-ipfs", "hashes of packages in other alphabets", lambda s: f"src: sha256-{_b64(_bytes('nix', 32))}\ncid: bafybei{_drawn('cid', 52, 'abcdefghijklmnopqrstuvwxyz234567')}\nout: /nix/store/{_drawn('nix', 32, '0123456789abcdfghijklmnpqrsvwxyz')}-envoy-1.31.0\n"),
    ("chain-addresses", "addresses on a public chain", lambda s: f"treasury: 0x{_bytes('eth', 20).hex()}\nbtc: bc1q{_drawn('btc', 38, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}\n"),
    ("feature-flags-client", "the id of a client of feature flags", lambda s: f"LD_CLIENT_SIDE_ID={_bytes('ld', 12).hex()}\nFIREBASE_APP_ID=1:407408718192:web:{_bytes('fb', 11).hex()}\nGA_ID=G-{_drawn('ga', 10, 'ABCDEFGHIJ0123456789')}\n"),
]  # fmt: skip


def _request(scene: Scene) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "shop")])
    asked = x509.CertificateSigningRequestBuilder().subject_name(name).sign(scene.dp.ec("csr"), hashes.SHA256())
    return asked.public_bytes(serialization.Encoding.PEM).decode()


for _at, _given in enumerate(PUBLICS):
    if _given[0] != "certificate-request":  # its signature has a random number in it
        _setting(PUBLIC, *_given, second=_at % 4 == 0)

# A place where a secret is put by somebody else ----------------------------------------------------------------------

PLACEHOLDERS: list[tuple[str, str, str]] = [
    ("argocd-vault-plugin", "a path for Argo CD's Vault plug-in", "<path:secret/data/shop/db#password>"),
    ("vals", "a reference of vals", "ref+vault://secret/shop/db#/password"),
    ("bank-vaults", "a reference that a webhook fills in", "vault:secret/data/shop/db#DB_PASSWORD"),
    ("onepassword", "a reference of a password store", "op://shop/database/password"),
    ("environment", "a variable of the environment", "${DB_PASSWORD}"),
    ("environment-with-default", "a variable with an error as default", "${DB_PASSWORD:?set it in the pipeline}"),
    ("kubernetes-variable", "a variable that the kubelet fills in", "$(DB_PASSWORD)"),
    ("helm-template", "a template of Helm", '{{ .Values.global.dbPassword | default (randAlphaNum 24) | quote }}'),
    ("vault-agent", "a template of Vault's agent", '{{ with secret "database/creds/shop" }}{{ .Data.password }}{{ end }}'),
    ("secrets-manager-arn", "the ARN of a secret", f"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/shop/db-{_drawn('arn', 6)}"),
    ("google-secret-name", "the name of a secret's version", "projects/407408718192/secrets/shop-db-password/versions/latest"),
    ("key-vault-reference", "a reference to a key vault", "@Microsoft.KeyVault(SecretUri=https://shop.vault.azure.net/secrets/db-password/)"),
    ("file-of-docker", "a file that is mounted", "/run/secrets/db_password"),
    ("terraform-variable", "a variable of Terraform", "${var.db_password}"),
    ("ansible-lookup", "a look-up of Ansible", "{{ lookup('community.hashi_vault.vault_kv2_get', 'shop/db').secret.password }}"),
    ("github-expression", "an expression of GitHub's workflows", "${{ secrets.DB_PASSWORD }}"),
    ("redacted", "a value that was taken out", "**REDACTED**"),
    ("example-of-docs", "an example of documentation", "REPLACE_ME_WITH_A_STRONG_PASSWORD"),
]  # fmt: skip


def _place(name: str, what: str, value: str) -> None:
    @clean(PLACES, f"place-{name}", f"Where a password belongs the user's objects have {what}.")
    def _(scene: Scene) -> None:
        platform(scene)
        values = {"auth": {"username": "shop", "password": value, "database": "shop"}}
        inputs = {"chart": "postgresql", "version": "16.0.0", "values": values}
        scene.made("kubernetes:helm.sh/v3:Release", "postgresql", inputs, scene.options("dp"))
        scene.config_map(
            "dp",
            "app",
            {
                "application.yaml": yaml.safe_dump(
                    {"spring": {"datasource": {"url": "jdbc:postgresql://db/shop", "password": value}}}
                ),
                "app.env": f"DB_PASSWORD={value}\n",
            },
        )


for _place_row in PLACEHOLDERS:
    _place(*_place_row)

# Only the user's cluster can open it ---------------------------------------------------------------------------------

CIPHERS: list[tuple[str, str, Text]] = [
    ("sops-values", "chart values of which SOPS encrypted the password", lambda s: yaml.safe_dump({"auth": {"user": "shop", "password": f"ENC[AES256_GCM,data:{_b64(_bytes('d', 20))},iv:{_b64(_bytes('iv', 32))},tag:{_b64(_bytes('t', 16))},type:str]"}, "sops": {"age": [{"recipient": "age1" + _drawn("age", 58, "qpzry9x8gf2tvdw0s3jn54khce6mua7l"), "enc": _pem("AGE ENCRYPTED FILE", "age", 200)}], "mac": f"ENC[AES256_GCM,data:{_b64(_bytes('m', 88))},iv:{_b64(_bytes('i', 32))},tag:{_b64(_bytes('g', 16))},type:str]"}})),
    ("ansible-vault", "a value that Ansible's vault encrypted", lambda s: "db_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n" + "".join(f"  {line}\n" for line in re.findall(".{80}", _bytes("av", 160).hex()))),
    ("spring-cipher", "a value that a configuration server opens", lambda s: f"spring.datasource.password={{cipher}}{_bytes('spring', 64).hex()}\n"),
    ("jasypt", "a value that Jasypt opens", lambda s: f"db.password=ENC({_b64(_bytes('jasypt', 48))})\n"),
    ("encrypted-jwe", "a JWE for the user's key", lambda s: ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (b'{"alg":"RSA-OAEP-256","enc":"A256GCM"}', _bytes("k", 256), _bytes("iv", 12), _bytes("c", 60), _bytes("t", 16)))),
    ("pulumi-cipher", "a stack's file with encrypted configuration", lambda s: yaml.safe_dump({"encryptionsalt": f"v1:{_b64(_bytes('s', 8))}:v1:{_b64(_bytes('n', 12))}:{_b64(_bytes('x', 34))}", "config": {"shop:dbPassword": {"secure": f"v1:{_b64(_bytes('n2', 12))}:{_b64(_bytes('y', 40))}"}}})),
    ("git-crypt", "a file that git-crypt encrypted, in base64", lambda s: _b64(b"\0GITCRYPT\0" + _bytes("gc", 300))),
]  # fmt: skip
for _cipher_row in CIPHERS:
    _setting(SEALED, *_cipher_row)

# Texts about secrets -------------------------------------------------------------------------------------------------

GITLEAKS = """title = "leaks"
[[rules]]
id = "aws-access-token"
regex = '''(?:A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}'''
[[rules]]
id = "private-key"
regex = '''(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----[\\s\\S-]{64,}?KEY-----'''
[[rules]]
id = "generic-api-key"
regex = '''(?i)[\\w.-]{0,50}?(?:access|auth|api|credential|creds|key|passw(?:or)?d|secret|token)[ \\t\\w.-]{0,20}[\\s'"]{0,3}(?:=|>|:{1,3}=)[\\x60'"\\s=]{0,5}([\\w.=-]{10,150})'''
keywords = ["password", "secret", "token"]
"""
REGO = """package kubernetes.admission
deny[msg] {
  input.request.kind.kind == "ConfigMap"
  some key
  contains(lower(key), "password")
  msg := sprintf("ConfigMap has %v: use a Secret with secretKeyRef", [key])
}
"""
TEXTS: list[tuple[str, str, Text]] = [
    ("rules-of-a-scanner", "rules by which a scanner finds secrets", lambda s: GITLEAKS),
    ("policy-about-passwords", "a policy that refuses passwords", lambda s: REGO),
    ("clouds-own-example", "the example key of a cloud's documentation", lambda s: "export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nexport AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"),
    ("handbook", "a handbook with commands that read secrets", lambda s: "Get the password:\n\n    kubectl get secret grafana -o jsonpath='{.data.admin-password}' | base64 -d\n\nLog in with `curl -u admin:$PASSWORD https://grafana.example.com/api/health`, or set Authorization: Bearer <token>.\n"),
    ("masking-rules", "rules that hide passwords in logs", lambda s: "pipeline:\n- redact: {pattern: '(?i)(password|token|secret)=([^& ]+)', replacement: '$1=***'}\n- redact: {pattern: 'Bearer [A-Za-z0-9._-]+', replacement: 'Bearer ***'}\n"),
    ("injection-template", "the template of a sidecar", lambda s: "spec:\n  {{- if .Values.global.imagePullSecrets }}\n  imagePullSecrets: {{ toYaml .Values.global.imagePullSecrets }}\n  {{- end }}\n  containers:\n  - name: istio-proxy\n    env:\n    - {name: CA_ADDR, value: 'istiod.example.com:15012'}\n    - {name: JWT_POLICY, value: third-party-jwt}\n    volumeMounts:\n    - {mountPath: /var/run/secrets/tokens, name: istio-token}\n"),
    ("schema-with-password-fields", "a schema that has fields for secrets", lambda s: json.dumps({"type": "object", "properties": {"password": {"type": "string", "format": "password", "minLength": 12, "default": ""}, "apiKey": {"type": "string", "pattern": "^[A-Za-z0-9]{32}$"}, "token": {"$ref": "#/definitions/secretKeyRef"}}})),
    ("translations", "texts of a page about passwords", lambda s: json.dumps({"login.password": "Password", "login.password.help": "At least twelve characters", "reset.token": "Your token has expired", "api_key.label": "API key"})),
    ("audit-policy", "rules for what an audit log has", lambda s: yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "configmaps", "tokenreviews"]}]}]})),
    ("ldap-settings", "settings of a directory that say where the password is", lambda s: "[[servers]]\nhost = 'ldap.example.com'\nbind_dn = 'cn=grafana,dc=example,dc=com'\nbind_password = '${LDAP_BIND_PASSWORD}'\nssl_skip_verify = false\n"),
    ("nginx-with-key-files", "a server's file with paths of keys", lambda s: "ssl_certificate /etc/tls/tls.crt;\nssl_certificate_key /etc/tls/tls.key;\nauth_basic_user_file /etc/nginx/htpasswd;\nssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384;\nproxy_set_header Authorization $http_authorization;\n"),
    ("password-hash-settings", "settings of hashing without a hash", lambda s: "password_hash: argon2id\nargon2: {memory: 65536, iterations: 3, parallelism: 4, saltLength: 16}\npassword_reset_token_ttl: 3600\n"),
]  # fmt: skip
for _at, _text_row in enumerate(TEXTS):
    _setting(PATTERNS, *_text_row, second=_at % 3 == 0)

# The same id on both sides, beside a secret at the provider's -------------------------------------------------------

SHARED: list[tuple[str, str, str, str]] = [
    ("client-of-auth0", "client-id", _drawn("auth0", 32), "the id of an OAuth client"),
    ("client-of-okta", "client-id", "0oa" + _drawn("okta", 17), "the id of an OAuth client"),
    ("client-of-azure", "AZURE_CLIENT_ID", _uuid("azure"), "the id of an application"),
    ("client-of-google", "client_id", "407408718192-" + _drawn("google", 32, LOWER) + ".apps.googleusercontent.com", "the id of an OAuth client"),
    ("zone-of-cloudflare", "zone-id", _bytes("zone", 16).hex(), "the id of a zone"),
    ("zone-of-route53", "hostedZoneID", "Z" + _drawn("r53", 20, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), "the id of a zone"),
    ("github-app", "github_app_id", "1048576", "the id of an application at GitHub"),
    ("bucket", "bucket", f"mesh-backups-{_drawn('bucket', 8, LOWER)}", "the name of a bucket"),
    ("key-of-kms", "kms-key", f"arn:aws:kms:eu-west-1:123456789012:key/{_uuid('kms')}", "the ARN of a key"),
    ("organisation", "org", "org_2" + _drawn("org", 26), "the id of an organisation"),
    ("database-endpoint", "endpoint", f"mesh.cluster-{_drawn('rds', 12, LOWER)}.eu-west-1.rds.amazonaws.com", "the name of a database's host"),
    ("brokers", "bootstrap.servers", "b-1.mesh.4k2x9q.c3.kafka.eu-west-1.amazonaws.com:9096,b-2.mesh.4k2x9q.c3.kafka.eu-west-1.amazonaws.com:9096", "the addresses of brokers"),
    ("host-fingerprint", "fingerprint", "SHA256:" + _b64(_bytes("fp", 32)).rstrip("="), "the fingerprint of a host's key"),
    ("trust-anchor-hash", "discovery-token-ca-cert-hash", "sha256:" + _bytes("anchor", 32).hex(), "the hash of an authority's public key"),
    ("image", "image", "registry.example.com/mesh/proxy@sha256:" + _bytes("proxy", 32).hex(), "an image by digest"),
    ("project", "project_id", f"platform-prod-{_drawn('project', 6, LOWER)}", "the id of a project"),
    ("user-name", "username", f"svc-mesh-{_drawn('user', 6, LOWER)}", "the name of a login"),
    ("commit", "revision", _bytes("commit", 20).hex(), "a revision of a repository"),
]  # fmt: skip


def _shared(name: str, entry: str, value: str, what: str, *, second: bool) -> None:
    @clean(
        IDS,
        f"shared-{name}",
        f"Both sides have {what}; beside it the provider's Secret has a secret.",
        **({"before": "the same"} if second else {}),
    )
    def _(scene: Scene) -> None:
        secret = scene.cp.opaque(name, 40, LETTERS)
        data = {
            entry: value,
            "client-secret": secret,
            "settings.yaml": yaml.safe_dump({"auth": {entry: value, "secret": secret}}),
        }
        scene.secret("cp", "platform", {key: pulumi.Output.secret(text) for key, text in data.items()})
        scene.config_map(
            "dp", "settings", {entry: value, "settings.yaml": yaml.safe_dump({"use": value, "level": "info"})}
        )
        scene.object("dp", "v1:ServiceAccount", "app", {"metadata": {"annotations": {"example.com/uses": value}}})


for _at, _shared_row in enumerate(SHARED):
    _shared(*_shared_row, second=_at % 3 == 1)

# What clusters and their tools write ---------------------------------------------------------------------------------


def _annotated(name: str, what: str, notes: Callable[[], Mapping[str, str]]) -> None:
    @clean(NOISE, name, f"The user's Deployment has {what}.")
    def _(scene: Scene) -> None:
        platform(scene)
        labels = {"app": "cart"}
        template = {
            "metadata": {"labels": labels, "annotations": dict(notes())},
            "spec": {"containers": [{"name": "cart", "image": "cart:1"}]},
        }
        body = {
            "metadata": {"annotations": dict(notes())},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        scene.object("dp", "apps/v1:Deployment", "cart", body)


APPLIED = json.dumps(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "cart"},
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "env": [
                                {
                                    "name": "DB_PASSWORD",
                                    "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}},
                                }
                            ]
                        }
                    ]
                }
            }
        },
    }
)
NOTES: list[tuple[str, str, Callable[[], Mapping[str, str]]]] = [
    ("last-applied-with-references", "what was last applied, with names of Secrets", lambda: {"kubectl.kubernetes.io/last-applied-configuration": APPLIED}),
    ("rancher-applied", "what Rancher applied, packed", lambda: {"objectset.rio.cattle.io/applied": _b64(gzip.compress(APPLIED.encode(), mtime=0)), "objectset.rio.cattle.io/hash": _bytes("rio", 20).hex()}),
    ("checksums-of-charts", "checksums that restart Pods", lambda: {"checksum/config": _bytes("c", 32).hex(), "checksum/secret": hashlib.sha256(b"").hexdigest(), "rollme": _drawn("rollme", 5)}),
    ("vault-injection", "names of Vault's paths and templates", lambda: {"vault.hashicorp.com/agent-inject": "true", "vault.hashicorp.com/role": "cart", "vault.hashicorp.com/agent-inject-secret-db": "database/creds/cart", "vault.hashicorp.com/agent-inject-template-db": '{{- with secret "database/creds/cart" -}}\npostgres://{{ .Data.username }}:{{ .Data.password }}@db:5432/cart\n{{- end }}'}),
    ("datadog-check", "a check of Datadog that names an environment variable", lambda: {"ad.datadoghq.com/cart.checks": json.dumps({"postgres": {"instances": [{"host": "%%host%%", "port": 5432, "username": "datadog", "password": "%%env_PG_PASSWORD%%"}]}})}),
    ("reloader", "names of Secrets whose change restarts Pods", lambda: {"secret.reloader.stakater.com/reload": "cart-db,cart-tls", "prometheus.io/path": "/metrics", "cni.projectcalico.org/containerID": _bytes("cni", 32).hex()}),
    ("proxy-configuration", "settings of the proxy in YAML", lambda: {"proxy.istio.io/config": "discoveryAddress: istiod.example.com:15012\nproxyMetadata:\n  PROVISION_CERT: /var/run/secrets/workload\n  CREDENTIAL_FETCHER_TYPE: ''\ntracing:\n  zipkin: {address: zipkin.shop:9411}\n"}),
]  # fmt: skip
for _note_row in NOTES:
    _annotated(*_note_row)


@clean(
    NOISE, "filter-with-secrets-by-name", "An EnvoyFilter for OAuth2 names its secrets, which files of the user's have."
)
def _(scene: Scene) -> None:
    platform(scene)
    sds = {"path_config_source": {"path": "/etc/istio/token-secret.yaml"}, "resource_api_version": "V3"}
    oauth = {
        "token_endpoint": {"uri": "https://id.example.com/token", "cluster": "id", "timeout": "3s"},
        "credentials": {
            "client_id": _uuid("oauth"),
            "token_secret": {"name": "token", "sds_config": sds},
            "hmac_secret": {"name": "hmac", "sds_config": sds},
        },
    }
    patch = {
        "operation": "INSERT_BEFORE",
        "value": {
            "name": "envoy.filters.http.oauth2",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.oauth2.v3.OAuth2",
                "config": oauth,
            },
        },
    }
    scene.object(
        "dp",
        "networking.istio.io/v1alpha3:EnvoyFilter",
        "oauth",
        {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": patch}]}},
    )


@clean(
    NOISE,
    "bundles-in-three-places",
    "An APIService, a CRD's conversion webhook and a trust bundle have certificates.",
    rightly="certificates",
)
def _(scene: Scene) -> None:
    platform(scene)
    pem = scene.cp.certificate("root", authority=True)
    scene.object(
        "dp",
        "apiregistration.k8s.io/v1:APIService",
        "v1.metrics",
        {
            "spec": {
                "group": "metrics",
                "version": "v1",
                "caBundle": _b64(pem),
                "service": {"name": "m", "namespace": "m"},
            }
        },
    )
    conversion = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "c", "namespace": "c"},
                "caBundle": _b64(pem + scene.dp.certificate("other")),
            },
        },
    }
    scene.object(
        "dp",
        "apiextensions.k8s.io/v1:CustomResourceDefinition",
        "carts.example.com",
        {"spec": {"group": "example.com", "conversion": conversion}},
    )
    scene.object(
        "dp",
        "trust.cert-manager.io/v1alpha1:Bundle",
        "mesh",
        {
            "spec": {
                "sources": [{"inLine": f"# mesh root\n{pem}"}, {"useDefaultCAs": True}],
                "target": {"configMap": {"key": "ca.pem"}},
            }
        },
    )


@clean(NOISE, "suffix-of-names", "A random suffix is in names of both sides, and in no Secret's data.")
def _(scene: Scene) -> None:
    suffix = scene.made(
        "random:index/randomString:RandomString",
        "suffix",
        {"length": 6, "special": False, "upper": False},
        None,
        {"result": _drawn("suffix", 6, LOWER)},
    )
    for side in ("cp", "dp"):
        scene.object(
            side,
            "v1:ConfigMap",
            "named",
            {"metadata": {"name": pulumi.Output.concat("mesh-", suffix.output("result"))}, "data": {"level": "info"}},
        )
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})


@clean(
    NOISE,
    "address-in-apply",
    "A file of settings is made inside apply when the balancer's address is known.",
    rightly="",
)
def _(scene: Scene) -> None:
    platform(scene)
    service = scene.answered(
        "dp",
        "v1:Service",
        "gateway",
        {"spec": {"type": "LoadBalancer"}},
        status={"loadBalancer": {"ingress": [{"ip": "192.0.2.77"}]}},
    )
    address = service.output("status").apply(
        lambda status: ((status or {}).get("loadBalancer") or {}).get("ingress", [{}])[0].get("ip")
    )
    address.apply(
        lambda ip: (
            scene.config_map(
                "dp",
                "made",
                {
                    "settings.yaml": yaml.safe_dump(
                        {
                            "address": ip,
                            "region": "eu-west-1",
                            "id": _uuid("made"),
                            "hosts": ["shop.example.com"],
                            "replicas": 3,
                        }
                    )
                },
            )
            if ip
            else None
        )
    )


@clean(
    NOISE,
    "one-public-member-of-a-marked-output",
    "Another stack exports one object with a token in it, so all of it is marked; the user gets the host and the id of the network.",
)
def _(scene: Scene) -> None:
    outputs = {
        "network": {"host": "istiod.example.com", "vpc": "vpc-0a1b2c3d4e5f67890", "token": scene.cp.opaque("net", 32)}
    }
    other = scene.reference("platform", "organization/platform/prod", outputs, ["network"])
    network = other.get_output("network")
    scene.config_map(
        "dp", "mesh", {"host": network.apply(lambda n: n["host"]), "network": network.apply(lambda n: n["vpc"])}
    )


# The user's own ------------------------------------------------------------------------------------------------------

Entries = Callable[[Scene], dict[str, Any]]


def _signed(scene: Scene, name: str) -> str:
    return scene.dp.opaque(name, 24, SIGNS)


OWNS: list[tuple[str, str, Entries]] = [
    ("password-with-signs", "a password with signs", lambda s: {"password": _signed(s, "own")}),
    ("values-file", "a chart's values with a password", lambda s: {"values.yaml": yaml.safe_dump({"adminUser": "admin", "adminPassword": _signed(s, "own"), "service": {"type": "ClusterIP"}, "ingress": {"enabled": True}})}),
    ("dotenv", "a file of variables like the provider's, with other secrets", lambda s: {".env": f"LOG_LEVEL=info\nREGION=eu-west-1\nDB_USER=mesh\nDB_PASSWORD={s.dp.opaque('db', 20, LETTERS)}\nISSUER=https://id.example.com\n"}),
    ("alertmanager", "the user's own alert receivers", lambda s: {"alertmanager.yaml": yaml.safe_dump({"receivers": [{"name": "shop", "slack_configs": [{"api_url": f"https://hooks.slack.com/services/T0SHOP/B0SHOP/{s.dp.opaque('slack', 24, LETTERS)}", "channel": "#shop"}]}]})}),
    ("oauth-proxy", "a client's secret and the secret of cookies", lambda s: {"client-id": _uuid("proxy"), "client-secret": s.dp.opaque("proxy", 40, LETTERS), "cookie-secret": _b64(s.dp.raw("cookie"))}),
    ("argocd-admin", "a hashed password and the key of sessions", lambda s: {"admin.password": "$2a$10$" + s.dp.opaque("argo", 53, LETTERS), "admin.passwordMtime": "2026-01-01T00:00:00Z", "server.secretkey": _b64(s.dp.raw("server"))}),
    ("shadow", "hashes of passwords for machines", lambda s: {"user-data": f"#cloud-config\nusers:\n- name: shop\n  passwd: $6$rounds=4096${s.dp.opaque('salt', 16, LETTERS)}${s.dp.opaque('hash', 86, LETTERS)}\n"}),
    ("pgpass-and-netrc", "files of logins", lambda s: {".pgpass": f"db.shop:5432:shop:shop:{s.dp.opaque('pg', 20, LETTERS)}\n", ".netrc": f"machine git.shop.example.com login shop password {s.dp.opaque('net', 20, LETTERS)}\n"}),
    ("sas-and-connection-string", "a connection string of a message bus", lambda s: {"connection": f"Endpoint=amqps://mq.shop.example.com/;Username=shop;Password={s.dp.opaque('mq', 24, LETTERS)}"}),
    ("jwt-of-the-users-issuer", "a token of the user's issuer", lambda s: {"token": s.dp.opaque("tok", 64, LETTERS)}),
    ("license", "a licence of a product", lambda s: {"license": json.dumps({"customer": "shop", "expires": "2027-01-01", "signature": _b64(_bytes("license", 256))})}),
    ("runner-registration", "the token of the user's own runner", lambda s: {"github_token": "ghp_" + s.dp.opaque("runner", 36, LETTERS)}),
    ("same-user-name", "the same user name as the provider's, and another password", lambda s: {"username": "postgres", "password": s.dp.opaque("pg2", 24, SIGNS), "host": "db.platform.svc.cluster.local"}),
]  # fmt: skip


def _own(name: str, what: str, entries: Entries, how: str) -> None:
    more: dict[str, Any] = {"before": "the same"} if how == "second" else {}
    config = {f"shop:{name}": "x"}
    if how == "configured":
        more["config"] = lambda cp, dp: {key: json.dumps(entries(_only(dp))) for key in config}

    @clean(OWN, f"own-{name}-{how}", f"The user's Secret has {what}; the provider has others.", **more)
    def _(scene: Scene) -> None:
        platform(scene)
        if how == "configured":
            text = scene.config(f"shop:{name}")
            data = {key: text.apply(lambda found, key=key: json.loads(found)[key]) for key in entries(scene)}
        else:
            data = {key: pulumi.Output.secret(value) for key, value in entries(scene).items()}
        scene.secret("dp", "shop", data)


class _Only:
    def __init__(self, dp: Any) -> None:
        self.dp = dp


def _only(dp: Any) -> Any:
    return _Only(dp)


for _at, _own_row in enumerate(OWNS):
    _own(*_own_row, ("typed", "second", "configured")[_at % 3])


@clean(
    OWN,
    "own-signing-key",
    "The user's key signs tokens in the user's cluster; the provider's istiod gets the public key.",
)
def _(scene: Scene) -> None:
    platform(scene)
    key = scene.key("dp", "issuer")
    scene.secret("dp", "issuer", {"jwt.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "issuer-public", {"jwt.pub": key.output("publicKeyPem")})
    scene.config_map("cp", "tenant", {"shop.pub": key.output("publicKeyPem")})


@clean(
    OWN,
    "own-deploy-key-at-github",
    "The user's deploy key is generated: the public half is at GitHub, the private one in the user's Flux.",
)
def _(scene: Scene) -> None:
    platform(scene)
    key = scene.key("dp", "flux")
    scene.made(
        "github:index/repositoryDeployKey:RepositoryDeployKey",
        "shop",
        {"repository": "shop", "title": "flux", "key": key.output("publicKeyOpenssh")},
    )
    scene.secret(
        "dp",
        "flux-system",
        {
            "identity": key.output("privateKeyOpenssh"),
            "identity.pub": key.output("publicKeyOpenssh"),
            "known_hosts": f"git.example.com {scene.dp.public_ssh('git')}",
        },
    )


@clean(
    OWN,
    "own-database-address",
    "A URL is put together of the user's generated password, and a digest of it restarts the user's Pods.",
)
def _(scene: Scene) -> None:
    platform(scene)
    password = scene.password("dp", "db").output("result")
    url = pulumi.Output.format("postgres://shop:{0}@db.shop:5432/shop?sslmode=require", password)
    made = scene.secret("dp", "db", {"url": url, "password": password, "PGUSER": "shop"})
    labels = {"app": "cart"}
    digest = made.output("data").apply(
        lambda data: hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
    )
    template = {
        "metadata": {"labels": labels, "annotations": {"checksum/db": digest}},
        "spec": {"containers": [{"name": "a", "image": "a:1"}]},
    }
    scene.object(
        "dp", "apps/v1:Deployment", "cart", {"spec": {"selector": {"matchLabels": labels}, "template": template}}
    )


@clean(
    OWN,
    "own-chart-with-everything",
    "A chart of the user's takes a generated password, a session key and a hash of a login.",
)
def _(scene: Scene) -> None:
    platform(scene)
    password, session = scene.password("dp", "app"), scene.password("dp", "session")
    values = {
        "auth": {
            "adminPassword": password.output("result"),
            "htpasswd": pulumi.Output.concat("shop:", password.output("bcryptHash")),
        },
        "session": {"secret": session.output("result")},
        "ingress": {"hosts": ["shop.example.com"]},
    }
    scene.made(
        "kubernetes:helm.sh/v3:Release",
        "shop-app",
        {"chart": "app", "version": "1.0.0", "values": values},
        scene.options("dp"),
    )


@clean(
    OWN,
    "own-access-key-of-the-users-account",
    "The user's account, known as the user's, makes an access key for the user's backups.",
    pack={"dataPlaneProviders": ["shop-aws"]},
)
def _(scene: Scene) -> None:
    platform(scene)
    opts = scene.package("aws", "shop-aws", region="eu-west-1")
    answers = {"id": "AKIAEXAMPLEEXAMPLE00", "secret": scene.dp.opaque("key", 40, LETTERS)}
    key = scene.made("aws:iam/accessKey:AccessKey", "backups", {"user": "velero"}, opts, answers, ["secret"])
    notes = {"hosted-mesh.io/data-plane-owned": "key of the shop's own bucket for its backups"}
    text = pulumi.Output.concat("[default]\naws_secret_access_key=", key.output("secret"), "\n")
    scene.secret("dp", "velero", {"cloud": text}, annotations=notes)


@clean(
    OWN,
    "own-remote-secret-the-right-way",
    "A token that the user's cluster minted is in the provider's remote secret, as istiod needs it; a label of it is at the user's.",
)
def _(scene: Scene) -> None:
    kind = {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"annotations": {"kubernetes.io/service-account.name": "istio-reader"}},
    }
    minted = scene.answered(
        "dp",
        "v1:Secret",
        "istio-reader",
        kind,
        data={"token": _b64(scene.dp.jwt("reader")), "ca.crt": _b64(scene.dp.certificate("kubernetes"))},
    )
    config = minted.output("data").apply(
        lambda data: yaml.safe_dump(
            {
                "kind": "Config",
                "clusters": [
                    {
                        "name": "shop",
                        "cluster": {"server": SERVERS["dp"], "certificate-authority-data": (data or {}).get("ca.crt")},
                    }
                ],
                "users": [{"name": "u", "user": {"token": base64.b64decode((data or {}).get("token", "")).decode()}}],
                "contexts": [{"name": "c", "context": {"cluster": "shop", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    scene.secret("cp", "istio-remote-secret-shop", {"shop": config}, labels={"istio/multiCluster": "true"})
    scene.object(
        "dp",
        "v1:Namespace",
        "istio-system",
        {
            "metadata": {
                "labels": {"topology.istio.io/network": "shop", "topology.istio.io/controlPlaneClusters": "platform"}
            }
        },
    )
