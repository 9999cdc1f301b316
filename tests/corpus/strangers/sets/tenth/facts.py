"""Harmless, beside a team that configured the pack: objects, files and values of public facts, and public halves of its keys."""  # fmt: skip

from __future__ import annotations

import base64
import hashlib
import json

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, noise, uid

from .world import (
    ACCOUNT,
    AGE,
    CERTIFICATE,
    CLIENT,
    DIGEST,
    DIRECTORY,
    DOMAIN,
    FERN,
    FERN_ACCOUNT,
    ISSUER,
    KEYS,
    KILN,
    PUBLIC,
    REGION,
    ROOTS,
    account,
    chart,
    clean,
    declassified,
    files,
    owned,
    plain,
    tenants,
    workload,
    workshop,
)

OBJECTS, FILES, CHARTS, HALVES, MADE = (
    "tenth: usual objects",
    "tenth: files of texts and settings",
    "tenth: charts' values",
    "tenth: public halves and declassified digests",
    "tenth: facts of the team's accounts",
)

# Objects --------------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "required": ["passwordSecret"], "properties": {"password": {"type": "string", "format": "password", "minLength": 16, "pattern": "^[A-Za-z0-9]{16,64}$", "description": "Deprecated: use passwordSecret."}, "passwordSecret": {"type": "object", "properties": {"name": {"type": "string"}, "key": {"type": "string", "default": "password"}}}, "tokenTTL": {"type": "string", "default": "720h"}}}  # fmt: skip
REGO = """package secrets
violation[{"msg": msg}] {
  env := input.review.object.spec.containers[_].env[_]
  regex.match(`(?i)(password|token|secret_?key)$`, env.name)
  not env.valueFrom
  msg := sprintf("variable %v has its value in plain", [env.name])
}
"""
plain(OBJECTS, "definition-with-password-fields", "a definition of a resource whose schema has fields for passwords, with patterns and defaults", "apiextensions.k8s.io/v1:CustomResourceDefinition", {"metadata": {"name": "queues.fern.example.com"}, "spec": {"group": "fern.example.com", "scope": "Namespaced", "names": {"kind": "Queue", "plural": "queues"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SCHEMA}}}}]}})  # fmt: skip
plain(OBJECTS, "template-of-a-constraint", "a rule in Rego against passwords in variables", "templates.gatekeeper.sh/v1:ConstraintTemplate", {"metadata": {"name": "plainsecrets"}, "spec": {"crd": {"spec": {"names": {"kind": "PlainSecrets"}}}, "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": REGO}]}})  # fmt: skip
plain(OBJECTS, "sealed-by-the-tenants-people", "a sealed Secret, which the tenant's people sealed for their own controller", "bitnami.com/v1alpha1:SealedSecret", {"spec": {"encryptedData": {key: b64(b"\x02\x00" + noise(f"sealed {key}", 520)) for key in ("password", "api-token")}, "template": {"type": "Opaque", "metadata": {"name": "orders"}}}})  # fmt: skip
plain(OBJECTS, "external-secret-with-a-template", "an ExternalSecret whose template has functions and names of entries", "external-secrets.io/v1:ExternalSecret", {"spec": {"refreshInterval": "15m", "secretStoreRef": {"kind": "ClusterSecretStore", "name": "fern"}, "target": {"name": "orders", "template": {"engineVersion": "v2", "data": {"jaas.conf": 'required username="{{ .user }}" password="{{ .password | replace "\\"" "" }}";', "store.p12": '{{ .chain | fullPemToPkcs12Pass .key .storepass }}'}}}, "data": [{"secretKey": key, "remoteRef": {"key": "fern/orders", "property": key, "version": uid(f"eso {key}")}} for key in ("user", "password", "chain", "key", "storepass")]}})  # fmt: skip
plain(OBJECTS, "certificate-with-keystores", "a request for a certificate with keystores, whose password is in a Secret of the tenant's by name", "cert-manager.io/v1:Certificate", {"spec": {"secretName": "orders-tls", "dnsNames": [f"orders.{FERN}"], "privateKey": {"algorithm": "ECDSA", "size": 384, "rotationPolicy": "Always"}, "keystores": {"pkcs12": {"create": True, "profile": "Modern2023", "passwordSecretRef": {"name": "stores", "key": "password"}}}, "issuerRef": {"kind": "ClusterIssuer", "name": "fern"}}})  # fmt: skip
plain(OBJECTS, "images-signed-without-keys", "a policy over images by issuer, subject and a log's public address", "policy.sigstore.dev/v1beta1:ClusterImagePolicy", {"spec": {"images": [{"glob": f"registry.{DOMAIN}/**"}], "authorities": [{"keyless": {"url": f"https://fulcio.{DOMAIN}", "identities": [{"issuer": ISSUER, "subjectRegExp": f"^https://git\\.{DOMAIN}/.+"}], "ca-cert": {"data": ROOTS}}, "ctlog": {"url": f"https://rekor.{DOMAIN}", "trustRootRef": "kiln"}}]}})  # fmt: skip
plain(OBJECTS, "webhook-at-the-teams-service", "an admission webhook of the team's by its address, with roots, a time-out and a policy", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", {"metadata": {"name": "kiln-images"}, "webhooks": [{"name": f"images.{DOMAIN}", "clientConfig": {"url": f"https://admission.{DOMAIN}/images", "caBundle": b64(ROOTS)}, "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}], "timeoutSeconds": 5, "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"]}]})  # fmt: skip
plain(OBJECTS, "nodes-that-ask-for-their-login", "a class of nodes whose start script asks the cloud's own address for a login", "karpenter.k8s.aws/v1:EC2NodeClass", {"spec": {"amiSelectorTerms": [{"id": "ami-0c41f7"}], "role": "fern-nodes", "userData": "#!/bin/bash\nTOKEN=$(curl -sX PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60')\naws ecr get-login-password | nerdctl login --password-stdin -u AWS \"$REGISTRY\"\n"}})  # fmt: skip
plain(OBJECTS, "job-that-turns-tokens", "a job that makes tokens in the cluster and hands them on by a pipe", "batch/v1:CronJob", {"spec": {"schedule": "0 3 * * 1", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "serviceAccountName": "turner", "containers": [{"name": "turner", "image": f"registry.{DOMAIN}/kubectl@sha256:{noise('kubectl', 32).hex()}", "command": ["sh", "-c", 'kubectl create token ci --duration 170h | vault kv put -mount=kv fern/ci token=-\nkubectl create secret generic api --from-file=token=/run/token --dry-run=client -o yaml | kubectl apply -f -']}]}}}}}})  # fmt: skip
plain(OBJECTS, "storage-classes-of-the-vendor", "a class of disks with names of Secrets and numbers of pools", "storage.k8s.io/v1:StorageClass", {"provisioner": "rook-ceph.rbd.csi.ceph.com", "parameters": {"clusterID": uid("ceph cluster"), "pool": "fern", "encrypted": "true", "encryptionKMSID": "fern-kms", **{f"csi.storage.k8s.io/{step}-secret-name": "rook-csi-rbd-node" for step in ("node-stage", "provisioner", "controller-expand")}}})  # fmt: skip
plain(OBJECTS, "token-of-a-published-signature", "the signatures of a published bundle of rules, a token that everybody may read, as the note says", "v1:ConfigMap", {"metadata": {"annotations": owned("signature of a published bundle: it opens nothing")}, "data": {".signatures.json": json.dumps({"signatures": [".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (b'{"alg":"RS256","kid":"kiln"}', b'{"files":[{"name":"data.json","hash":"' + noise("rules", 32).hex().encode() + b'"}]}', noise("bundle signature", 256)))]})}})  # fmt: skip

# Files ----------------------------------------------------------------------------------------------------------------

PROXY = f"""upstream api {{ server api.{DOMAIN}:443; }}
server {{
  listen 8443 ssl;
  ssl_certificate /run/tls/tls.crt;
  ssl_certificate_key /run/tls/tls.key;
  auth_request /auth;
  auth_request_set $token $upstream_http_x_auth_request_access_token;
  location /api {{ proxy_set_header Authorization "Bearer $token"; proxy_pass https://api; }}
  location = /auth {{ internal; proxy_pass {ISSUER}/userinfo; proxy_set_header Cookie $http_cookie; }}
}}
"""
SCANNER = r"""[[rules]]
id = "kiln-token"
regex = '''kiln_[a-z0-9]{40}'''
keywords = ["kiln_"]
[[rules]]
id = "generic-password"
regex = '''(?i)password\s*[:=]\s*['"]([^'"]{12,})['"]'''
[allowlist]
stopwords = ["changeme", "example", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]
"""
SQL = """CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE ROLE orders LOGIN PASSWORD NULL;
CREATE TABLE api_key (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), token_hash bytea NOT NULL, salt bytea DEFAULT gen_random_bytes(16));
INSERT INTO feature (id, name) VALUES ('0191b1a7-6f3c-7c21-9a54-5be9c1f2d310', 'password-less');
ALTER ROLE orders VALID UNTIL '2027-01-01';
"""
files(FILES, "proxy-with-tokens-of-users", "a proxy's file that hands on tokens of its users", {"default.conf": PROXY})
files(FILES, "rules-of-a-scanner", "rules by which secrets are found, with the usual examples", {"gitleaks.toml": SCANNER})  # fmt: skip
files(FILES, "migration-without-passwords", "a migration that makes roles without passwords and a table of hashes", {"V7__keys.sql": SQL})  # fmt: skip
files(FILES, "sums-of-modules", "lock files of three package managers, full of sums", {"go.sum": "".join(f"{name} v1.{at}.0 h1:{b64(noise(name, 32))}\n" for at, name in enumerate(("golang.org/x/oauth2", "github.com/golang-jwt/jwt/v5"))), "package-lock.json": json.dumps({"lockfileVersion": 3, "packages": {"node_modules/jsonwebtoken": {"version": "9.0.2", "integrity": f"sha512-{b64(noise('jsonwebtoken', 64))}"}}}), ".terraform.lock.hcl": f'provider "vault" {{\n  version = "4.5.0"\n  hashes = ["h1:{b64(noise("vault", 32))}", "zh:{noise("vault zh", 32).hex()}"]\n}}\n'})  # fmt: skip
files(FILES, "bill-of-materials", "a bill of materials with serial numbers, hashes and public signatures", {"bom.json": json.dumps({"bomFormat": "CycloneDX", "serialNumber": f"urn:uuid:{uid('bom')}", "components": [{"type": "library", "name": name, "purl": f"pkg:golang/{name}@1.{at}", "hashes": [{"alg": "SHA-512", "content": noise(f"bom {name}", 64).hex()}]} for at, name in enumerate(("keyring", "secretservice", "passwd"))], "signature": {"algorithm": "ES256", "publicKey": KEYS["keys"][0], "value": drawn("bom signature", 86)}})})  # fmt: skip
files(FILES, "interface-with-ways-to-log-in", "a description of an interface with ways to log in and examples that open nothing", {"openapi.yaml": yaml.safe_dump({"openapi": "3.1.0", "components": {"securitySchemes": {"apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}, "oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": f"{ISSUER}/token", "scopes": {"orders:read": "read"}}}}}, "schemas": {"Login": {"properties": {"password": {"type": "string", "format": "password", "example": "correct horse battery staple"}, "apiKey": {"type": "string", "example": "YOUR_API_KEY"}}}}}})})  # fmt: skip
files(FILES, "words-of-a-login-page", "texts of a login page in two languages", {"en.json": json.dumps({"password": "Your password has at least 16 letters.", "token": "Paste the token from your authenticator app.", "secret.hint": "Nobody of ours asks for it."}), "de.json": json.dumps({"password": "Kennwort mit mindestens 16 Zeichen", "token": "Einmalkennwort"})})  # fmt: skip
files(FILES, "scrapes-by-paths", "settings of a collector whose logins are paths, with numbers of tenants", {"config.yaml": yaml.safe_dump({"scrape_configs": [{"job_name": "mesh", "scheme": "https", "authorization": {"credentials_file": "/var/run/secrets/tokens/metrics"}, "tls_config": {"key_file": "/etc/tls/tls.key", "server_name": f"metrics.{DOMAIN}"}}], "remote_write": [{"url": f"https://metrics.{DOMAIN}/api/v1/push", "headers": {"X-Scope-OrgID": uid("fern org")}, "basic_auth": {"username": "1284417", "password_file": "/etc/metrics/password"}}]})})  # fmt: skip
files(FILES, "who-may-sign", "signers and hosts that are known, and whom to encrypt for", {"allowed_signers": f'release@{DOMAIN} namespaces="git" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn("release signer", 43)}\n', "known_hosts": f"git.{DOMAIN} ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('kiln git', 43)}\n", ".sops.yaml": yaml.safe_dump({"creation_rules": [{"path_regex": "secrets/.*", "encrypted_regex": "^(data|stringData)$", "age": AGE, "kms": f"arn:aws:kms:{REGION}:{FERN_ACCOUNT}:key/{uid('fern sops')}"}]})})  # fmt: skip
files(FILES, "panels-about-tokens", "a dashboard about tokens and certificates, with numbers of its panels and sources", {"tokens.json": json.dumps({"uid": drawn("dashboard", 14), "title": "Tokens", "templating": {"list": [{"name": "tenant", "query": 'label_values(token_issued_total{issuer="kiln"}, tenant)'}]}, "panels": [{"id": at, "title": f"{kind} that end within a week", "datasource": {"uid": drawn(f"source {kind}", 9)}, "targets": [{"expr": f'count({kind}_expiry_seconds{{cluster="fern"}} - time() < 604800)'}]} for at, kind in enumerate(("token", "certificate", "password"))]})})  # fmt: skip

# Charts ---------------------------------------------------------------------------------------------------------------

chart(CHARTS, "external-dns", "a role by its name, a zone by its number and an owner of records", {"serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{FERN_ACCOUNT}:role/external-dns"}}, "txtOwnerId": KILN, "extraArgs": ["--txt-encrypt-enabled", "--txt-encrypt-aes-key=$(TXT_KEY)"], "env": [{"name": "TXT_KEY", "valueFrom": {"secretKeyRef": {"name": "txt", "key": "key"}}}], "zoneIdFilters": ["Z05533FERN"]})  # fmt: skip
chart(CHARTS, "keycloak", "names of Secrets, a realm with places for secrets and a client by its number", {"auth": {"existingSecret": "keycloak", "passwordSecretKey": "admin-password"}, "keycloakConfigCli": {"configuration": {"fern.json": json.dumps({"realm": "fern", "identityProviders": [{"alias": "kiln", "config": {"clientId": CLIENT, "clientSecret": "${vault.kiln-client}", "issuer": ISSUER}}], "components": {"org.keycloak.keys.KeyProvider": [{"name": "rsa", "config": {"priority": ["100"], "keySize": ["2048"]}}]}})}}})  # fmt: skip
chart(CHARTS, "istiod-remote", "the addresses, the name and the roots of the team's mesh", {"global": {"meshID": KILN, "remotePilotAddress": f"xds.{DOMAIN}", "caName": "Citadel", "pilotCertProvider": "istiod", "jwtPolicy": "third-party-jwt"}, "meshConfig": {"caCertificates": [{"pem": ROOTS}], "trustDomain": DOMAIN, "trustDomainAliases": [FERN]}, "istiodRemote": {"injectionURL": f"https://xds.{DOMAIN}/inject/cluster/fern"}})  # fmt: skip
chart(CHARTS, "datadog", "names of Secrets for keys, a site and a number of an account", {"datadog": {"apiKeyExistingSecret": "datadog", "appKeyExistingSecret": "datadog-app", "site": "datadoghq.eu", "clusterName": "fern", "secretBackend": {"command": "/readsecret.py", "arguments": "/etc/secret-volume"}}, "clusterAgent": {"tokenExistingSecret": "cluster-agent", "confd": {"postgres.yaml": "instances:\n- host: orders-rw\n  username: datadog\n  password: ENC[k8s_secret@shop/orders/password]\n"}}})  # fmt: skip
chart(CHARTS, "argo-cd", "a login by the team's service with a place for its secret, and hosts with keys", {"configs": {"cm": {"oidc.config": yaml.safe_dump({"issuer": ISSUER, "clientID": CLIENT, "clientSecret": "$oidc:client-secret", "requestedScopes": ["openid", "groups"]})}, "ssh": {"knownHosts": f"git.{FERN} ecdsa-sha2-nistp256 {drawn('fern git', 140)}\n"}, "secret": {"createSecret": False}}, "server": {"extraArgs": ["--rootpath=/cd", "--enable-gzip"]}})  # fmt: skip
chart(CHARTS, "falco", "rules about reading keys and tokens, and a sum of the rules", {"customRules": {"keys.yaml": "- rule: read of a key\n  condition: open_read and (fd.name startswith /etc/istio/ca/ or fd.name glob /etc/ssh/ssh_host_*)\n  output: key read (user=%user.name file=%fd.name)\n  priority: CRITICAL\n"}, "falcoctl": {"config": {"artifact": {"allowedTypes": ["rulesfile"], "install": {"refs": [f"registry.{DOMAIN}/rules@sha256:{noise('falco', 32).hex()}"]}}}}, "falcosidekick": {"config": {"existingSecret": "sidekick"}}})  # fmt: skip

# Public halves and declassified digests -------------------------------------------------------------------------------


@clean(HALVES, "tenth-key-to-verify-with-a-note", "The public half of the team's signing key is in a map under a name of its own; a note declassifies it.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = scene.key("cp", "receipts")
    scene.secret("cp", "receipts", {"sign.pem": key.output("privateKeyPem")}, namespace="billing")
    notes = declassified('data["verify.pem"]', "public half of the key that signs receipts")
    scene.config_map("dp", "receipts", {"verify.pem": key.output("publicKeyPem"), "issuer": ISSUER}, annotations=notes)


@clean(HALVES, "tenth-checksum-with-a-note", "Pods of the tenant's start anew when the team's login at its gateway changes: a declassified hash says when.", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "gateway-login")
    mark = apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())
    notes = declassified('spec.template.metadata.annotations["checksum/login"]', "sha256 of 32 random letters, restarts Pods")  # fmt: skip
    workload(scene, "dp", "gateway", {"args": ["--login-from=/run/login"]}, {"checksum/login": mark}, notes)


@clean(HALVES, "tenth-two-digests-one-note", "Two digests of the team's generated key are declassified in one note, with a reason for each.", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "state-key", "key", 48)
    full = apply(key, lambda found: hashlib.sha512(found.encode()).hexdigest())
    notes = {"hosted-mesh.io/declassify": "data.digest: sha512 of 48 random letters; data.version: eight digits of that digest"}  # fmt: skip
    scene.config_map("dp", "state", {"digest": full, "version": apply(full, lambda found: found[:8])}, annotations=notes)  # fmt: skip


@clean(HALVES, "tenth-deploy-key-at-the-tenants-forge", "The team's controller reads the tenant's repository by a key, whose public half is a deploy key there.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = scene.key("cp", "fern-reader")
    scene.secret("cp", "fern-reader", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    account(scene, "fern", "github:index/repositoryDeployKey:RepositoryDeployKey", "kiln", {"repository": "fleet", "title": "kiln", "key": key.output("publicKeyOpenssh"), "readOnly": True}, organization="fern")  # fmt: skip


@clean(HALVES, "tenth-root-for-all-tenants", "The team's root is a bundle in each tenant's cluster; its key stays at home.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "fleet-root", authority=True)
    scene.secret("cp", "fleet-root", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    for side in tenants(scene).values():
        scene.object(side, "trust.cert-manager.io/v1alpha1:Bundle", "kiln", {"spec": {"sources": [{"inLine": cert.output("certPem")}, {"useDefaultCAs": True}], "target": {"configMap": {"key": "ca.crt"}}}})  # fmt: skip


@clean(HALVES, "tenth-pins-and-fingerprint", "Pins of the team's keys, of two hashes, are in the tenant's map as browsers and SSH show them.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = scene.key("cp", "edge-key")
    scene.secret("cp", "edge-key", {"tls.key": key.output("privateKeyPem")})
    digest = apply(key.output("publicKeyPem"), lambda pem: hashlib.sha256(base64.b64decode("".join(pem.splitlines()[1:-1]))).digest().hex())  # fmt: skip
    scene.config_map("dp", "edge-pins", {"pins": digest, "fingerprint": apply(digest, lambda found: "SHA256:" + b64(bytes.fromhex(found)).rstrip("="))})  # fmt: skip


@clean(HALVES, "tenth-hosts-that-are-known", "The bastion's generated host key is known to the tenant's jobs by its public half.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = scene.key("cp", "bastion-host")
    scene.secret("cp", "bastion-host", {"ssh_host_key": key.output("privateKeyOpenssh")}, namespace="bastion")
    scene.config_map("dp", "ssh", {"known_hosts": pulumi.Output.concat(f"[bastion.{DOMAIN}]:2222 ", key.output("publicKeyOpenssh")), "config": f"Host bastion\n  HostName bastion.{DOMAIN}\n  IdentityFile /run/ssh/identity\n"})  # fmt: skip


# Facts of the team's accounts -----------------------------------------------------------------------------------------


@clean(MADE, "tenth-repository-of-images", "A repository is made in the team's account; the tenant's Deployment has its address, the tenant's account may read it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "kiln", "aws:ecr/repository:Repository", "proxy", {"name": "proxy"}, {"repositoryUrl": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/proxy", "arn": f"arn:aws:ecr:{REGION}:{ACCOUNT}:repository/proxy"}, region=REGION)  # fmt: skip
    deployment(scene, "dp", "proxy", {"image": pulumi.Output.concat(made.output("repositoryUrl"), ":1.26.2")})
    account(scene, "fern", "aws:iam/policy:Policy", "pulls", {"policy": pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ecr:BatchGetImage", "Resource": made.output("arn")}]})}, region=REGION)  # fmt: skip


@clean(MADE, "tenth-client-by-its-number", "A client with a secret is made in the team's pool of users; the tenant's chart has numbers of pool and client.")  # fmt: skip
def _(scene: Scene) -> None:
    made = account(scene, "kiln", "aws:cognito/userPoolClient:UserPoolClient", "portal", {"userPoolId": f"{REGION}_K1ln", "name": "portal", "generateSecret": True}, {"clientId": drawn("cognito client", 26), "clientSecret": scene.cp.opaque("cognito", 51)}, ["clientSecret"], region=REGION)  # fmt: skip
    scene.secret("cp", "portal", {"client_secret": made.output("clientSecret")}, namespace="console")
    release(scene, "dp", "portal-link", {"oidc": {"clientId": made.output("clientId"), "issuer": f"https://cognito-idp.{REGION}.amazonaws.com/{REGION}_K1ln"}})  # fmt: skip


@clean(MADE, "tenth-addresses-of-the-metrics", "The team's organisation has a stack for metrics and a token for its own agents; tenants' agents have addresses and numbers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    stack = account(scene, "kiln", "grafana:cloud/stack:Stack", "metrics", {"name": "kiln", "slug": "kiln"}, {"prometheusRemoteWriteEndpoint": "https://prometheus-prod-24.example.net/api/prom/push", "prometheusUserId": 1284417, "logsUserId": 903318})  # fmt: skip
    token = account(scene, "kiln", "grafana:cloud/accessPolicyToken:AccessPolicyToken", "agents", {"name": "agents"}, {"token": "glc_" + scene.cp.opaque("kiln agents", 60, LETTERS)}, ["token"])  # fmt: skip
    release(scene, "cp", "alloy", {"password": token.output("token")})
    for side in tenants(scene).values():
        release(scene, side, "alloy", {"url": stack.output("prometheusRemoteWriteEndpoint"), "username": stack.output("prometheusUserId"), "logs": stack.output("logsUserId"), "passwordFrom": {"name": "metrics"}})  # fmt: skip


@clean(MADE, "tenth-peering-of-two-accounts", "A peering is asked for in the team's account and accepted in the tenant's; numbers of both are in routes.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    asked = account(scene, "kiln", "aws:ec2/vpcPeeringConnection:VpcPeeringConnection", "to-fern", {"vpcId": f"vpc-{drawn('kiln vpc', 17, HEX)}", "peerOwnerId": FERN_ACCOUNT, "peerVpcId": f"vpc-{drawn('fern vpc', 17, HEX)}"}, {"id": f"pcx-{drawn('peering', 17, HEX)}", "acceptStatus": "pending-acceptance"}, region=REGION)  # fmt: skip
    account(scene, "fern", "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter", "from-kiln", {"vpcPeeringConnectionId": asked.id, "autoAccept": True}, region=REGION)  # fmt: skip
    account(scene, "fern", "aws:ec2/route:Route", "to-kiln", {"routeTableId": f"rtb-{drawn('fern routes', 17, HEX)}", "destinationCidrBlock": "10.64.0.0/14", "vpcPeeringConnectionId": asked.id}, region=REGION)  # fmt: skip


@clean(MADE, "tenth-application-of-two-directories", "An application with a password is in the team's directory; the tenant's directory trusts it by its number.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = account(scene, "kiln", "azuread:index/application:Application", "observer", {"displayName": "kiln observer", "signInAudience": "AzureADMultipleOrgs"}, {"clientId": uid("observer app")}, tenantId=DIRECTORY)  # fmt: skip
    password = account(scene, "kiln", "azuread:index/applicationPassword:ApplicationPassword", "observer-password", {"applicationId": made.id}, {"value": scene.cp.opaque("observer", 40, LETTERS)}, ["value"])  # fmt: skip
    scene.secret("cp", "observer", {"AZURE_CLIENT_SECRET": password.output("value")}, namespace="monitoring")
    account(scene, "fern", "azuread:index/servicePrincipal:ServicePrincipal", "observer-in-fern", {"clientId": made.output("clientId"), "notes": f"https://console.{DOMAIN}"}, tenantId=uid("fern directory"))  # fmt: skip


@clean(MADE, "tenth-queue-of-usage", "Of the team's queue the tenant has the address, and of the key that reads it its name in the engine; the key stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    queue = account(scene, "kiln", "aws:sqs/queue:Queue", "usage", {"name": "usage"}, {"url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/usage"}, region=REGION)  # fmt: skip
    key = account(scene, "kiln", "aws:iam/accessKey:AccessKey", "usage-reader", {"user": "usage"}, {"id": f"AKIA{drawn('usage id', 16, AWS_ID)}", "secret": scene.cp.opaque("usage reader", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
    scene.secret("cp", "usage-reader", {"aws_access_key_id": key.id, "aws_secret_access_key": key.output("secret")})
    scene.config_map("dp", "usage", {"queue": queue.output("url"), "reader": apply(key.urn, lambda urn: urn.rpartition("::")[2]), "api": SERVERS["cp"]})  # fmt: skip
