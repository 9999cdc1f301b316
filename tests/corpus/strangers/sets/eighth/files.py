"""Harmless, on a platform with tenants: files in maps: scripts, SQL, licences, locales, lists of parts, settings."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib

import yaml

from tests.corpus.strangers.scene import SERVERS
from tests.corpus.strangers.sets.saas.world import KEYS
from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid

from .world import BIRCH, CLIENT, DIRECTORY, DOMAIN, FLAGS, GRID, ISSUER, REGION, ROOTS, files

FILES, CONFIGS = "eighth: files of public things", "eighth: kubeconfigs and settings without a login"
SBOM = {"bomFormat": "CycloneDX", "serialNumber": f"urn:uuid:{uid('sbom')}", "components": [{"type": "library", "name": name, "version": f"{at}.{at + 2}.1", "purl": f"pkg:pypi/{name}@{at}.{at + 2}.1", "hashes": [{"alg": "SHA-256", "content": noise(name, 32).hex()}, {"alg": "SHA-512", "content": noise(f"{name} long", 64).hex()}]} for at, name in enumerate(("cryptography", "pyjwt", "passlib", "secretstorage", "keyring", "oauthlib"))]}  # fmt: skip
PNG = b64(b"\x89PNG" + noise("png", 420))
LICENCE = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated  # fmt: skip
documentation files, to deal in the Software without restriction. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY.
Licence-Key: none required. SPDX-License-Identifier: MIT
"""
SQL = """CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE TABLE account (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), password_hash text NOT NULL, totp_secret bytea);
CREATE FUNCTION check_password(given text, kept text) RETURNS bool AS $$ SELECT kept = crypt(given, kept) $$ LANGUAGE sql;  # fmt: skip
ALTER ROLE app SET statement_timeout = '30s';
GRANT SELECT (id) ON account TO reporting;
INSERT INTO migration (version, checksum) VALUES ('20260114T0930', '%s');
"""
WORDS = {"password": "Passwort", "token": "Token", "login.failed": "Anmeldung gescheitert: falsches Passwort", "secret.hint": "Geheimnis: mindestens 12 Zeichen", "session.expired": "Die Sitzung ist abgelaufen"}  # fmt: skip
SCRIPT = """#!/usr/bin/env bash
set -euo pipefail
: "${VAULT_ADDR:?}" "${ROLE:=orders}"
JWT=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)
TOKEN=$(curl -fsS "$VAULT_ADDR/v1/auth/kubernetes/login" -d "{\\"role\\": \\"$ROLE\\", \\"jwt\\": \\"$JWT\\"}" | jq -r .auth.client_token)  # fmt: skip
PASSWORD=$(curl -fsS -H "X-Vault-Token: $TOKEN" "$VAULT_ADDR/v1/kv/data/orders" | jq -r .data.data.password)
export DATABASE_URL="postgresql://orders:${PASSWORD}@db.birch.svc:5432/orders"
exec "$@"
"""

files(FILES, "sbom", "a list of parts with checksums", {"bom.json": json.dumps(SBOM, indent=1)})
files(FILES, "licences", "texts of licences that speak of keys", {"LICENSE": LICENCE * 4, "NOTICE": LICENCE.upper()})
files(FILES, "migrations", "migrations with checksums, and functions about passwords", {"V7__accounts.sql": SQL % noise("migration", 32).hex(), "V8__down.sql": "DROP TABLE account;\n", "checksums": "".join(f"{noise(f'sql {at}', 32).hex()}  V{at}.sql\n" for at in range(9))})  # fmt: skip
files(FILES, "locales", "words of a login page in several languages", {"de.json": json.dumps(WORDS), "ja.json": json.dumps({"password": "パスワード", "token": "トークン"}), "de.po": "".join(f'msgid "{key}"\nmsgstr "{value}"\n' for key, value in WORDS.items())})  # fmt: skip
files(FILES, "script-that-fetches", "a script that fetches a password when it runs", {"entrypoint.sh": SCRIPT})
files(FILES, "packed-script", "a script that is gzipped, in base64", {"entrypoint.sh.gz": b64(gzip.compress(SCRIPT.encode(), mtime=0)), "sha256": hashlib.sha256(SCRIPT.encode()).hexdigest()})  # fmt: skip
files(FILES, "lock-file", "a lock file of packages with integrities", {"package-lock.json": json.dumps({"lockfileVersion": 3, "packages": {f"node_modules/{name}": {"version": "4.2.1", "resolved": f"https://packages.example.com/{name}/-/{name}-4.2.1.tgz", "integrity": f"sha512-{b64(noise(f'npm {name}', 64))}"} for name in ("jsonwebtoken", "bcryptjs", "dotenv", "passport", "csurf")}})})  # fmt: skip
files(FILES, "go-sums", "sums of modules", {"go.sum": "".join(f"golang.org/x/{name} v0.{at}.0 h1:{b64(noise(f'go {name}', 32))}\n" for at, name in enumerate(("crypto", "oauth2", "net", "sys", "term")))})  # fmt: skip
files(FILES, "known-hosts", "public keys of hosts and people", {"known_hosts": f"git.{DOMAIN} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('files host', 43)}\n|1|{b64(noise('salt', 20))}|{b64(noise('hashed', 20))} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('hashed host', 43)}\n", "authorized_keys": f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('person', 43)} ops@birch\n"})  # fmt: skip
files(FILES, "icon-and-font", "an icon and a font in base64", {"logo.svg": f'<svg xmlns="http://www.w3.org/2000/svg"><image href="data:image/png;base64,{PNG}"/></svg>', "font.woff2": b64(b"wOF2" + noise("font", 600)), "manifest.json": json.dumps({"integrity": f"sha384-{b64(noise('sri', 48))}"})})  # fmt: skip
files(FILES, "seed-of-a-shop", "rows of a demonstration with numbers of cards for tests and hashes of nothing", {"seed.csv": "id,email,card,password_hash\n" + "".join(f"{uid(f'row {at}')},user{at}@example.com,4242424242424242,$2b$12${drawn(f'demo hash {at}', 53)}\n" for at in range(10))})  # fmt: skip
files(FILES, "examples-for-developers", "an example of variables, with values to be replaced", {".env.example": "DATABASE_URL=postgresql://user:password@localhost:5432/app\nAPI_TOKEN=changeme\nAWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nJWT_SECRET=your-256-bit-secret\n"})  # fmt: skip
files(FILES, "rules-of-a-scanner", "rules of a scanner for secrets", {".gitleaks.toml": "[[rules]]\nid = 'aws'\nregex = '''(A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}'''\n[[rules]]\nid = 'key'\nregex = '''-----BEGIN (EC|RSA|OPENSSH) PRIVATE KEY-----'''\n[allowlist]\ncommits = ['" + drawn("allowed commit", 40, HEX) + "']\n"})  # fmt: skip
files(FILES, "protocol-descriptor", "a descriptor of messages, in base64, compressed", {"descriptor.pb": b64(b"\n\x12grid/v1/api.proto" + noise("descriptor", 380)), "descriptor.z": b64(zlib.compress(json.dumps({"message": "Login", "fields": ["user", "password"]}).encode()))})  # fmt: skip
files(FILES, "table-of-hashes-of-names", "checksums of names of the platform's Secrets", {"names.txt": "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("grid-api", "grid-db", "grid-admin", "cacerts", "grid-robot"))})  # fmt: skip
files(FILES, "openapi-of-the-platform", "a description of the platform's interface, with examples of tokens", {"openapi.yaml": yaml.safe_dump({"openapi": "3.1.0", "info": {"title": "Grid", "version": "7"}, "servers": [{"url": f"https://api.{DOMAIN}/v7"}], "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}, "schemas": {"Token": {"type": "object", "properties": {"access_token": {"type": "string", "format": "password", "example": "eyJhbGciOiJub25lIn0.e30."}}}}}})})  # fmt: skip
files(FILES, "words-for-captchas", "a list of words and of forbidden passwords", {"words.txt": "\n".join(drawn(f"word {at}", 7, "bcdfghlmnprstaeiou") for at in range(200)), "forbidden.txt": "123456\npassword\nqwerty\nletmein\nhunter2\ncorrecthorsebatterystaple\n"})  # fmt: skip
files(FILES, "vectors-of-a-test", "vectors of a cipher for tests, out of a standard", {"aes.json": json.dumps({"algorithm": "AES-GCM", "tests": [{"tcId": 1, "key": "5b9604fe14eadba931b0ccf34843dab9", "iv": "028318abc1824029138141a2", "msg": "001d0c231287c1182784554ca3a21908", "ct": "26073cc1d851beff176384dc9896d5ff", "tag": "0a3ea7a5487cb5f7d70fb6c58d038554"}]})})  # fmt: skip

files(CONFIGS, "kubeconfig-with-an-exec", "a kubeconfig for the platform's cluster that logs in by a command", {"config": yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "hub", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"], "certificate-authority-data": b64(ROOTS)}}], "users": [{"name": "birch", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": ["get-token", "--login", "workloadidentity", "--client-id", uid("exec client"), "--tenant-id", DIRECTORY, "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"], "interactiveMode": "Never"}}}], "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "birch"}}]})})  # fmt: skip
files(CONFIGS, "kubeconfig-with-a-token-file", "a kubeconfig for the platform's cluster that reads the Pod's own token", {"config": json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"], "certificate-authority-data": b64(ROOTS)}}], "users": [{"name": "pod", "user": {"tokenFile": "/var/run/secrets/tokens/hub"}}], "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "pod"}}], "current-context": "hub"})})  # fmt: skip
files(CONFIGS, "kubeconfig-with-oidc", "a kubeconfig with a plug-in for a login by a browser", {"config": yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "hub", "cluster": {"server": SERVERS["cp"]}}], "users": [{"name": "oidc", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "kubectl", "args": ["oidc-login", "get-token", f"--oidc-issuer-url={ISSUER}", f"--oidc-client-id={CLIENT}", "--oidc-use-pkce"], "env": [{"name": "KUBECACHEDIR", "value": "/tmp"}]}}}]})})  # fmt: skip
files(CONFIGS, "aws-config-with-roles", "a file of a cloud's tool with roles and a file of a web identity", {"config": f"[profile birch]\nregion = {REGION}\nrole_arn = arn:aws:iam::862170394415:role/birch-reader\nweb_identity_token_file = /var/run/secrets/eks.amazonaws.com/serviceaccount/token\nrole_session_name = {drawn('session name', 20)}\n[profile sso]\nsso_account_id = 862170394415\nsso_start_url = https://birch.awsapps.com/start\n"})  # fmt: skip
files(CONFIGS, "federation-of-google", "a file by which Pods of the tenant's log in without a key", {"credentials.json": json.dumps({"type": "external_account", "audience": "//iam.googleapis.com/projects/481920773345/locations/global/workloadIdentityPools/birch/providers/k8s", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"file": "/var/run/secrets/tokens/gcp"}})})  # fmt: skip
files(CONFIGS, "agent-of-vault", "settings of an agent of Vault with templates", {"agent.hcl": 'auto_auth {\n  method "kubernetes" {\n    mount_path = "auth/birch"\n    config = { role = "orders", token_path = "/var/run/secrets/tokens/vault" }\n  }\n}\ntemplate {\n  contents = "{{ with secret \\"kv/data/orders\\" }}{{ .Data.data.password }}{{ end }}"\n  destination = "/run/password"\n}\n'})  # fmt: skip
files(CONFIGS, "discovery-of-the-issuer", "the discovery document and key set of the platform's issuer", {"openid-configuration": json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/jwks", "token_endpoint": f"{ISSUER}/token", "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_basic"], "id_token_signing_alg_values_supported": ["RS256", "ES256"]}), "jwks.json": json.dumps(KEYS)})  # fmt: skip
files(CONFIGS, "settings-of-a-mesh", "settings of a mesh with roots and names", {"mesh": yaml.safe_dump({"trustDomain": BIRCH, "defaultConfig": {"discoveryAddress": f"xds.{DOMAIN}:15012", "meshId": GRID, "proxyMetadata": {"CA_PROVIDER": "Citadel", "PROXY_CONFIG_XDS_AGENT": "true"}}, "caCertificates": [{"pem": ROOTS}], "extensionProviders": [{"name": "otel", "opentelemetry": {"service": f"otel.{BIRCH}", "port": 4317}}]}), "root-cert.pem": ROOTS})  # fmt: skip
files(CONFIGS, "flags-and-variants", "flags in three forms: JSON, YAML and base64", {"flags.json": json.dumps({"flags": FLAGS}), "flags.yaml": yaml.safe_dump({"flags": FLAGS}), "flags.b64": base64.b64encode(json.dumps({"flags": FLAGS}).encode()).decode()})  # fmt: skip
