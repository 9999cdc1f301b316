"""Harmless, of a provider in many clouds: files that look like secrets and are public, or sealed for their reader."""

from __future__ import annotations

import datetime
import hashlib
import json
import textwrap

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12

from .fieldwork import HEX, b64, drawn, noise, uid
from .twelvework import (
    CLIENT,
    DOMAIN,
    ISSUER,
    LIME,
    LIME_ACCOUNT,
    LIME_PROJECT,
    REGION,
    ROOTS,
    WORLD,
    WREN,
    digest,
    files,
)

HOSTS, KEYS, SCRIPTS, LOCKS, BOARDS = (
    "twelfth: settings of servers",
    "twelfth: public keys and signatures in files",
    "twelfth: scripts and statements",
    "twelfth: locks and checksums",
    "twelfth: boards, rules and patterns",
)


def armor(label: str, data: bytes) -> str:
    """A block of PEM."""
    return f"-----BEGIN {label}-----\n" + "\n".join(textwrap.wrap(b64(data), 64)) + f"\n-----END {label}-----\n"


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


_BEGIN = datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC)
_PEM = serialization.Encoding.PEM
_ROOTS = x509.load_pem_x509_certificates(ROOTS.encode())
_CRL = x509.CertificateRevocationListBuilder().issuer_name(_named("public-root-0")).last_update(_BEGIN).next_update(_BEGIN + datetime.timedelta(days=30)).sign(WORLD.ec("public-root-0"), hashes.SHA256()).public_bytes(_PEM).decode()  # fmt: skip
_REQUEST = x509.CertificateSigningRequestBuilder().subject_name(_named(f"shop.{LIME}")).sign(WORLD.ec("lime shop"), hashes.SHA256()).public_bytes(_PEM).decode()  # fmt: skip
_HOST = serialization.SSHCertificateBuilder().public_key(WORLD.ec("lime host").public_key()).serial(7).type(serialization.SSHCertificateType.HOST).key_id(b"host_lime").valid_principals([f"bastion.{LIME}".encode()]).valid_after(1775000000).valid_before(1806500000).sign(WORLD.ec("wren host ca")).public_bytes().decode()  # fmt: skip

# Settings of servers --------------------------------------------------------------------------------------------------

files(HOSTS, "pg-hba-and-idents", "a database's file of who may log in how, by SCRAM, by certificates and by a map of names", {"pg_hba.conf": "hostssl all  lime_app  10.20.0.0/16  scram-sha-256\nhostssl all  wren_observer  198.51.100.0/24  cert map=wren\nhost    all  all  0.0.0.0/0  reject\n", "pg_ident.conf": f"wren  /^CN=([a-z]+)\\.{DOMAIN}$  wren_\\1\n", "postgresql.conf": "password_encryption = scram-sha-256\nssl_key_file = '/tls/tls.key'\nssl_ca_file = '/etc/wren/roots.pem'\n"})  # fmt: skip
files(HOSTS, "wireguard-of-peers", "a tunnel's settings with public keys of peers; the own key comes of a file after the start", {"wg0.conf": f"[Interface]\nAddress = 10.99.0.7/32\nListenPort = 51820\nPostUp = wg set %i private-key /etc/wireguard/private.key\n\n[Peer] # hub of wren\nPublicKey = {b64(noise('wren hub wg', 32))}\nEndpoint = vpn.{DOMAIN}:51820\nAllowedIPs = 10.99.0.0/16\nPersistentKeepalive = 25\n"})  # fmt: skip
files(HOSTS, "haproxy-with-variables", "a balancer's settings: logins by variables, tables of clients and a resolver", {"haproxy.cfg": f"global\n  stats socket /run/haproxy.sock mode 600 level admin\nuserlist operators\n  user lime password \"${{OPERATORS_HASH}}\"\nfrontend xds\n  bind :15012\n  stick-table type string len 64 size 100k expire 30m store http_req_rate(10s)\n  http-request track-sc0 req.hdr(authorization)\nbackend istiod\n  server hub xds.{DOMAIN}:15012 ssl verify required ca-file /etc/wren/roots.pem sni str(xds.{DOMAIN})\n"})  # fmt: skip
files(HOSTS, "kafka-by-config-providers", "a client's properties, where the password is a place in a file and the login a class with a token's file", {"client.properties": f"bootstrap.servers=bus.{DOMAIN}:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url={ISSUER}/protocol/openid-connect/token\nsasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"lime\" clientSecret=\"${{file:/run/secrets/bus.properties:client.secret}}\";\nssl.truststore.type=PEM\nssl.truststore.location=/etc/wren/roots.pem\nconfig.providers=file\n"})  # fmt: skip
files(HOSTS, "consul-agent-without-keys", "an agent's settings with rules for checks and names; tokens and gossip are in another file", {"agent.hcl": f'datacenter = "lime-eu"\nprimary_datacenter = "wren-eu"\nretry_join = ["consul.{DOMAIN}"]\nauto_encrypt {{ tls = true }}\nacl {{\n  enabled = true\n  default_policy = "deny"\n  enable_token_persistence = true\n}}\ntls {{\n  defaults {{ verify_incoming = true\n    ca_file = "/consul/roots.pem" }}\n}}\n', "roots.pem": ROOTS})  # fmt: skip
files(HOSTS, "template-of-a-vault-agent", "an agent's template that reads the tenant's path of a Vault, with an address and a role", {"agent.hcl": f'vault {{ address = "https://vault.{DOMAIN}" }}\nauto_auth {{\n  method "kubernetes" {{\n    mount_path = "auth/kubernetes/lime"\n    config = {{ role = "orders" }}\n  }}\n}}\ntemplate {{\n  destination = "/run/orders.env"\n  contents = <<EOT\n{{{{- with secret "lime/data/orders" }}}}\nPASSWORD={{{{ .Data.data.password }}}}\nAPI_TOKEN={{{{ index .Data.data "token" }}}}\n{{{{- end }}}}\nEOT\n}}\n'})  # fmt: skip
files(HOSTS, "metadata-of-a-login-service", "a login service's metadata in XML: its certificate for signatures and where it answers", {"idp.xml": f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{ISSUER}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><KeyName>{drawn("saml kid", 43)}</KeyName><X509Data><X509Certificate>{"".join(WORLD.certificate("saml").splitlines()[1:-1])}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{ISSUER}/protocol/saml"/></IDPSSODescriptor></EntityDescriptor>'})  # fmt: skip
files(HOSTS, "example-of-an-env-file", "an example of a file of variables with words to be replaced, and the key that a cloud's manual shows", {".env.example": "DATABASE_URL=postgres://shop:changeme@localhost:5432/shop\nSECRET_KEY_BASE=replace-me-with-64-characters-of-openssl-rand\nAWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nSTRIPE_KEY=sk_test_xxxxxxxxxxxxxxxxxxxxxxxx\n"})  # fmt: skip
files(HOSTS, "ignition-of-public-files", "a machine's first settings: files as data URLs, a user's public key and units", {"worker.ign": json.dumps({"ignition": {"version": "3.5.0", "security": {"tls": {"certificateAuthorities": [{"source": f"data:text/plain;base64,{b64(ROOTS)}"}]}}}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [WORLD.public_ssh("lime operator")]}]}, "storage": {"files": [{"path": "/etc/wren/mesh.env", "mode": 420, "contents": {"source": f"data:;base64,{b64(f'MESH_ID={WREN}')}", "verification": {"hash": f"sha512-{hashlib.sha512(f'MESH_ID={WREN}'.encode()).hexdigest()}"}}}]}})})  # fmt: skip

# Public keys and signatures in files ----------------------------------------------------------------------------------


def _pgp() -> str:
    body = bytes.fromhex("c633") + noise("pgp packet", 600)
    return "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + "\n".join(textwrap.wrap(b64(body), 64)) + "\n=q8Wd\n-----END PGP PUBLIC KEY BLOCK-----\n"  # fmt: skip


files(KEYS, "packages-signed-by", "a list of package sources with the public key of who signs, written into the same file", {"wren.sources": f"Types: deb\nURIs: https://apt.{DOMAIN}/stable\nSuites: trixie\nComponents: main\nSigned-By:\n" + "".join(f" {line or '.'}\n" for line in _pgp().splitlines()), "RPM-GPG-KEY-wren": _pgp()})  # fmt: skip
files(KEYS, "age-file-of-the-tenants", "a file that the tenant's people encrypted by age for the tenant's own key, in its armour", {"secrets.env.age": "-----BEGIN AGE ENCRYPTED FILE-----\n" + "\n".join(textwrap.wrap(b64(b"age-encryption.org/v1\n-> X25519 " + b64(noise("age share", 32)).rstrip("=").encode() + b"\n" + b64(noise("age wrap", 32)).rstrip("=").encode() + b"\n--- " + b64(noise("age mac", 32)).rstrip("=").encode() + b"\n" + noise("age body", 300)), 64)) + "\n-----END AGE ENCRYPTED FILE-----\n", ".sops.yaml": yaml.safe_dump({"creation_rules": [{"path_regex": r".*\.env$", "age": f"age1{drawn('lime recipient', 58, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}"}]})})  # fmt: skip
files(KEYS, "minisign-of-a-release", "a release's public key of minisign and a signature with its comment", {"minisign.pub": f"untrusted comment: minisign public key {drawn('minisign id', 16, '0123456789ABCDEF')}\n{b64(b'Ed' + noise('minisign key', 40))}\n", "istioctl.tar.gz.minisig": f"untrusted comment: signature from wren\n{b64(b'ED' + noise('minisign sig', 72))}\ntrusted comment: timestamp:1775031234\n{b64(noise('minisign global', 64))}\n"})  # fmt: skip
files(KEYS, "root-of-an-update-framework", "an update framework's root: public keys by number, roles and thresholds, and who signed", {"root.json": json.dumps({"signed": {"_type": "root", "spec_version": "1.0.31", "version": 4, "expires": "2027-02-01T00:00:00Z", "keys": {drawn(f"tuf {at}", 64, HEX): {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": drawn(f"tuf public {at}", 64, HEX)}} for at in range(3)}, "roles": {"root": {"keyids": [drawn(f"tuf {at}", 64, HEX) for at in range(3)], "threshold": 2}}}, "signatures": [{"keyid": drawn("tuf 0", 64, HEX), "sig": drawn("tuf sig", 128, HEX)}]})})  # fmt: skip
files(KEYS, "revocations-and-parameters", "a list of revoked certificates, parameters for key exchange and a curve's name, all in PEM", {"crl.pem": _CRL, "dhparam.pem": armor("DH PARAMETERS", bytes.fromhex("3082010802820101") + noise("dh", 256) + bytes.fromhex("020102")), "curve.pem": "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"})  # fmt: skip
files(KEYS, "users-authority-of-ssh", "an authority's public key for SSH, principals, and a certificate of a host", {"user_ca.pub": WORLD.public_ssh("wren user ca"), "auth_principals": "wren-support\nlime-admin\n", "sshd_config": "TrustedUserCAKeys /etc/ssh/user_ca.pub\nAuthorizedPrincipalsFile /etc/ssh/auth_principals\nPasswordAuthentication no\nHostKey /etc/ssh/ssh_host_ed25519_key\n", "host-cert.pub": _HOST})  # fmt: skip
files(KEYS, "zone-with-hashes-of-keys", "a signed zone: hashes of keys and certificates for SSH, mail and servers, and salts of its chain", {"db.lime": f"$ORIGIN {LIME}.\n@ IN DNSKEY 256 3 13 {b64(noise('lime zsk', 64))}\n@ IN DS 21177 13 2 {drawn('lime ds', 64, '0123456789ABCDEF')}\n@ IN NSEC3PARAM 1 0 10 {drawn('salt', 16, HEX)}\n_443._tcp.shop IN TLSA 3 1 1 {drawn('lime tlsa', 64, HEX)}\nbastion IN SSHFP 4 2 {drawn('lime sshfp', 64, HEX)}\nops._openpgpkey IN TYPE61 \\# 24 {drawn('lime pgp', 48, HEX)}\n@ IN CAA 0 issue \"letsencrypt.org; accounturi=https://acme-v02.api.letsencrypt.org/acme/acct/1839274650\"\n"})  # fmt: skip
files(KEYS, "requests-for-certificates", "a request for a certificate that the tenant's people made: a public key with a name, in PEM", {"shop.csr": _REQUEST, "shop.cnf": f"[req]\ndefault_md = sha256\nprompt = no\nencrypt_key = no\n[dn]\nCN = shop.{LIME}\n[san]\nDNS.1 = shop.{LIME}\n"})  # fmt: skip
_LICENCES = rsa.RSAPublicNumbers(65537, int.from_bytes(noise("licence modulus", 256)) | 1 << 2047 | 1).public_key()
files(KEYS, "key-for-checking-licences", "a key of RSA for checking the provider's licences, as PEM of both usual kinds and as a fingerprint", {"licences.pem": _LICENCES.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode(), "licences.rsa.pem": _LICENCES.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.PKCS1).decode(), "fingerprint": "SHA256:" + b64(hashlib.sha256(_LICENCES.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).digest()).rstrip("=")})  # fmt: skip

# Scripts and statements -----------------------------------------------------------------------------------------------

files(SCRIPTS, "roles-and-grants", "statements that make roles without passwords, grants, and a function that checks a caller's token", {"001-roles.sql": "CREATE ROLE wren_observer LOGIN PASSWORD NULL;\nGRANT pg_monitor TO wren_observer;\nCREATE TABLE api_tokens (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), token_hash bytea NOT NULL, secret_hint text, expires_at timestamptz);\nCREATE FUNCTION valid(token text) RETURNS boolean LANGUAGE sql AS $$ SELECT EXISTS (SELECT 1 FROM api_tokens WHERE token_hash = digest(token, 'sha256') AND expires_at > now()) $$;\n"})  # fmt: skip
files(SCRIPTS, "pipeline-by-identity", "a pipeline that logs in by its identity and by variables that its own forge keeps", {".gitlab-ci.yml": yaml.safe_dump({"deploy": {"image": f"registry.{DOMAIN}/deploy@{digest('deploy')}", "id_tokens": {"WREN_ID_TOKEN": {"aud": f"https://vault.{DOMAIN}"}}, "secrets": {"DATABASE_PASSWORD": {"vault": "production/db/password@ops"}}, "script": ["docker login -u $CI_REGISTRY_USER -p $CI_REGISTRY_PASSWORD $CI_REGISTRY", "export VAULT_TOKEN=$(vault write -field=token auth/jwt/login role=lime jwt=$WREN_ID_TOKEN)", "helm upgrade --install shop ./chart --set db.password=$DATABASE_PASSWORD"]}})})  # fmt: skip
files(SCRIPTS, "workflow-of-a-forge", "a workflow whose logins are places for secrets of the tenant's repository, with actions by their commits", {"deploy.yaml": f"on: push\npermissions: {{id-token: write, contents: read}}\njobs:\n  deploy:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: actions/checkout@{drawn('checkout', 40, HEX)}\n      - uses: aws-actions/configure-aws-credentials@{drawn('configure', 40, HEX)}\n        with: {{role-to-assume: 'arn:aws:iam::{LIME_ACCOUNT}:role/deploy', aws-region: {REGION}}}\n      - run: kubectl apply -f mesh/\n        env:\n          TOKEN: ${{{{ secrets.LIME_DEPLOY_TOKEN }}}}\n          GH_TOKEN: ${{{{ github.token }}}}\n"})  # fmt: skip
files(SCRIPTS, "joins-with-a-token-from-the-user", "a script that asks who runs it for a token, checks an authority by its hash and joins", {"join.sh": f'#!/bin/bash\nset -euo pipefail\nread -rsp "token from https://console.{DOMAIN}/tokens: " TOKEN\nCA_SHA256={drawn("join ca", 64, HEX)}\ncurl -fsS https://get.{DOMAIN}/roots.pem -o roots.pem\necho "$CA_SHA256  roots.pem" | sha256sum -c -\ncurl -fsS --cacert roots.pem -H "Authorization: Bearer $TOKEN" https://api.{DOMAIN}/v1/join -d "{{\\"mesh\\":\\"{WREN}\\"}}"\n'})  # fmt: skip
files(SCRIPTS, "load-test-with-made-up-users", "a load test that draws passwords of its made-up users from a seed, and a list of them", {"load.js": "import http from 'k6/http';\nimport { randomString } from './lib.js';\nexport const options = { vus: 40, duration: '5m' };\nexport default () => {\n  const password = `load-${__VU}-${randomString(12)}`;\n  http.post(`${__ENV.BASE}/login`, { user: `user${__VU}`, password });\n};\n", "users.csv": "user,password\n" + "".join(f"user{at},load-{at}-{drawn(f'load {at}', 12)}\n" for at in range(5))})  # fmt: skip

# Locks and checksums --------------------------------------------------------------------------------------------------

files(LOCKS, "lock-of-providers", "a lock of providers with hashes of both usual kinds", {".terraform.lock.hcl": 'provider "registry.opentofu.org/hashicorp/aws" {\n  version = "6.2.0"\n  hashes = [\n' + "".join(f'    "h1:{b64(noise(f"h1 {at}", 32))}",\n' for at in range(2)) + "".join(f'    "zh:{drawn(f"zh {at}", 64, HEX)}",\n' for at in range(3)) + "  ]\n}\n"})  # fmt: skip
files(LOCKS, "locks-of-three-languages", "locks of packages for three languages: hashes of every kind", {"go.sum": "".join(f"istio.io/api v1.{at}.0 h1:{b64(noise(f'gosum {at}', 32))}\n" for at in range(26, 29)), "package-lock.json": json.dumps({"lockfileVersion": 3, "packages": {"node_modules/jose": {"version": "6.0.1", "integrity": f"sha512-{b64(noise('jose', 64))}"}}}), "requirements.txt": f"pyjwt==2.10.1 \\\n    --hash=sha256:{drawn('pyjwt', 64, HEX)} \\\n    --hash=sha256:{drawn('pyjwt wheel', 64, HEX)}\n"})  # fmt: skip
files(LOCKS, "bill-of-materials", "a bill of materials with serial numbers, hashes and a component called after passwords", {"bom.json": json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uid('bom')}", "components": [{"type": "library", "bom-ref": uid(f"bom {name}"), "name": name, "purl": f"pkg:golang/{name}@v1.2.0", "hashes": [{"alg": "SHA-512", "content": drawn(f"bom sha {name}", 128, HEX)}]} for name in ("password-hashing", "token-bucket", "envoy")]})})  # fmt: skip
files(LOCKS, "roots-as-a-store-of-java", "public roots as a store in base64, its well-known password and its hash", {"roots.p12.b64": b64(pkcs12.serialize_key_and_certificates(b"roots", None, None, _ROOTS, serialization.NoEncryption())), "store.properties": "javax.net.ssl.trustStoreType=PKCS12\njavax.net.ssl.trustStorePassword=changeit\n"})  # fmt: skip

# Boards, rules and patterns -------------------------------------------------------------------------------------------

files(BOARDS, "rules-that-look-for-secrets", "rules of a scanner: patterns of keys and tokens, with an allow-list of commits", {"gitleaks.toml": f'title = "lime"\n[[rules]]\nid = "private-key"\nregex = \'\'\'(?i)-----BEGIN[ A-Z0-9_-]{{0,100}}PRIVATE KEY-----[\\s\\S-]*?-----END\'\'\'\nkeywords = ["-----begin"]\n[[rules]]\nid = "github-pat"\nregex = \'\'\'ghp_[0-9a-zA-Z]{{36}}\'\'\'\nentropy = 3.1\n[[rules]]\nid = "jwt"\nregex = \'\'\'\\bey[a-zA-Z0-9]{{17,}}\\.ey[a-zA-Z0-9/\\\\_-]{{17,}}\\.\'\'\'\n[allowlist]\ncommits = ["{drawn("allowed", 40, HEX)}"]\n'})  # fmt: skip
files(BOARDS, "contact-points-by-files", "Grafana's contact points and rules, where keys are places of files and variables", {"contact-points.yaml": yaml.safe_dump({"apiVersion": 1, "contactPoints": [{"orgId": 1, "name": "lime", "receivers": [{"uid": drawn("receiver", 14), "type": "pagerduty", "settings": {"integrationKey": "$__file{/run/secrets/pagerduty}", "severity": "critical"}}, {"uid": drawn("receiver 2", 14), "type": "slack", "settings": {"url": "$SLACK_WEBHOOK_URL", "recipient": "C07LIME4QX"}}]}]}), "rules.yaml": yaml.safe_dump({"groups": [{"name": "credentials", "rules": [{"uid": drawn("rule", 14), "title": "Secret older than 90 days", "condition": "C", "data": [{"refId": "A", "datasourceUid": drawn("rule source", 14), "model": {"expr": "time() - kube_secret_created > 7776000"}}]}]}]})})  # fmt: skip
files(BOARDS, "policy-in-rego-with-data", "a bundle of rules in Rego: who may have which token's claims, with a revision and data", {"policy.rego": f'package mesh.authz\n\nimport rego.v1\n\ndefault allow := false\n\nallow if {{\n  some key in data.jwks.keys\n  io.jwt.verify_es256(bearer, json.marshal({{"keys": [key]}}))\n  claims.iss == "{ISSUER}"\n}}\n\nbearer := trim_prefix(input.attributes.request.http.headers.authorization, "Bearer ")\n\n[_, claims, _] := io.jwt.decode(bearer)\n', "data.json": json.dumps({"jwks": {"keys": [WORLD.jwk("wren caller", private=False)]}, "clients": [CLIENT]}), ".manifest": json.dumps({"revision": drawn("rego revision", 40, HEX), "roots": ["mesh"]})})  # fmt: skip
files(BOARDS, "openapi-of-the-interface", "the provider's interface described: how callers log in, and examples of answers", {"openapi.yaml": yaml.safe_dump({"openapi": "3.1.0", "info": {"title": "wren", "version": "4"}, "servers": [{"url": f"https://api.{DOMAIN}/v4"}], "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}}, "schemas": {"Token": {"type": "object", "properties": {"token": {"type": "string", "format": "password", "writeOnly": True, "example": "wrn_xxxxxxxxxxxx"}, "clientId": {"type": "string", "example": uid("api example")}}}}}})})  # fmt: skip
files(BOARDS, "theme-with-an-icon", "a login page's theme: an icon in base64, hashes for a content policy and texts about passwords", {"theme.json": json.dumps({"logo": "data:image/png;base64," + b64(b"\x89PNG\r\n\x1a\n" + noise("wren logo", 900)), "contentSecurityPolicy": f"script-src 'sha256-{b64(noise('csp', 32))}'", "messages": {"password": "Password", "doForgotPassword": "Forgot your password?", "secretQuestion": "What is your secret?"}}), "analytics.html": f"<script defer data-site=\"{drawn('analytics', 32, HEX)}\" src=\"https://stats.{LIME}/s.js\"></script>"})  # fmt: skip
files(BOARDS, "client-of-an-app-in-the-browser", "settings that a browser loads: a publishable key, a DSN, a client's number and a project", {"config.js": f'window.__CONFIG__ = {{ oidc: {{ authority: "{ISSUER}", clientId: "{uid("lime spa")}", pkce: true }}, sentryDsn: "https://{drawn("lime dsn", 32, HEX)}@o4507.ingest.de.sentry.io/4507", firebase: {{ projectId: "{LIME_PROJECT}", appId: "1:{drawn("fb app", 12, "123456789")}:web:{drawn("fb hash", 22, HEX)}" }}, stripe: "pk_live_{drawn("lime publishable", 24)}" }};\n'})  # fmt: skip
