"""Harmless, beside a team that configured the pack: tenants' own credentials, generated, typed in, of stacks and accounts."""  # fmt: skip

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, minted, own, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, pull_secret, uid

from .world import (
    DOMAIN,
    FERN,
    FERN_ACCOUNT,
    ISSUER,
    KILN,
    OTTER,
    REGION,
    TENANTS,
    account,
    clean,
    owned,
    tenants,
    west,
    workshop,
)

GENERATED, TOLD, STACKS, ACCOUNTS = (
    "tenth: tenants' own, generated",
    "tenth: tenants' own, configured",
    "tenth: tenants' own, of their stacks",
    "tenth: tenants' own accounts",
)

# Generated ------------------------------------------------------------------------------------------------------------


@clean(GENERATED, "tenth-own-login-for-each-tenant", "Each tenant's database has a generated login in a Secret, and the same in its chart's values; so has the team's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **tenants(scene)}.items():
        password = scene.password("cp" if owner == "kiln" else "dp", f"{owner}-ledger-db").output("result")
        scene.secret(side, "ledger", {"username": owner, "password": password})
        release(scene, side, "ledger", {"db": {"user": owner, "password": password}, "replicas": 2})


@clean(GENERATED, "tenth-own-users-of-a-bus", "Users of the tenant's bus have generated passwords, in the users' Secrets and in one JAAS file of the broker's.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    users = {name: own(scene, f"fern-bus-{name}") for name in ("orders", "audit")}
    for name, password in users.items():
        scene.secret("dp", f"bus-{name}", {"password": password})
        scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaUser", name, {"spec": {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": f"bus-{name}", "key": "password"}}}}}})  # fmt: skip
    lines = [pulumi.Output.concat(f'  user_{name}="', password, '"\n') for name, password in users.items()]
    scene.secret("dp", "broker", {"jaas.conf": pulumi.Output.concat("KafkaServer {\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n", *lines, "};\n")})  # fmt: skip


@clean(GENERATED, "tenth-own-key-for-tokens-and-its-key-set", "The tenant signs tokens with a generated key of its own; the public half is in a map of its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = scene.key("dp", "fern-tokens")
    scene.secret("dp", "tokens", {"private.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "tokens", {"public.pem": key.output("publicKeyPem"), "issuer": f"https://id.{FERN}"})


@clean(GENERATED, "tenth-own-authority-and-a-gateway", "The tenant's own authority signs for its gateway; both keys are in its cluster, and the team trusts neither.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    ca_key, ca_cert = pair(scene, "dp", "fern-authority", authority=True)
    key, cert = issued(scene, "dp", "fern-gateway", ca_key, ca_cert, "fern-authority")
    scene.secret("dp", "fern-authority", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    scene.secret("dp", "gateway", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem"), "ca.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(GENERATED, "tenth-own-roles-of-a-database", "Roles of the tenant's database are made by the tenant's provider with generated passwords, which its cluster has as addresses.", config=lambda cp, dp: {"fern:pgAdmin": dp.opaque("fern pg admin", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    for name in ("reader", "writer"):
        password = own(scene, f"fern-{name}")
        account(scene, "fern", "postgresql:index/role:Role", f"role-{name}", {"name": name, "login": True, "password": password}, host=f"db.{FERN}", username="admin", password=scene.config("fern:pgAdmin"))  # fmt: skip
        scene.secret("dp", f"db-{name}", {"uri": pulumi.Output.concat(f"postgresql://{name}:", password, f"@db.{FERN}/orders?sslmode=verify-full")})  # fmt: skip


@clean(GENERATED, "tenth-own-hook-at-both-ends", "A hook of the tenant's repository is signed with a generated secret, which the receiver in the tenant's cluster has.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    secret = own(scene, "fern-hook", 40)
    account(scene, "fern", "github:index/repositoryWebhook:RepositoryWebhook", "push", {"repository": "fleet", "events": ["push"], "configuration": {"url": f"https://hooks.{FERN}/flux", "secret": secret}}, organization="fern")  # fmt: skip
    scene.secret("dp", "receiver-token", {"token": secret}, namespace="flux-system")
    scene.object("dp", "notification.toolkit.fluxcd.io/v1:Receiver", "push", {"spec": {"type": "github", "events": ["push"], "secretRef": {"name": "receiver-token"}, "resources": [{"kind": "GitRepository", "name": "fleet"}]}})  # fmt: skip


@clean(GENERATED, "tenth-own-administrator-of-argocd", "The tenant's Argo CD has a generated administrator as bcrypt, and a key for its sessions; the team's has others.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in (("kiln", "cp"), ("fern", "dp")):
        admin = scene.password(side, f"{owner}-argocd")
        scene.secret(side, "argocd-secret", {"admin.password": admin.output("bcryptHash"), "admin.passwordMtime": "2026-03-01T00:00:00Z", "server.secretkey": raw(scene, side, f"{owner}-sessions").output("base64")}, namespace="argocd")  # fmt: skip


@clean(GENERATED, "tenth-own-entry-in-its-vault", "A generated login of the tenant's is an entry of the tenant's Vault, and in the Secret of the server that asks for it.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    password = own(scene, "fern-search")
    account(scene, "fern", "vault:kv/secretV2:SecretV2", "search", {"mount": "kv", "name": "search", "dataJson": pulumi.Output.json_dumps({"user": "orders", "password": password})}, address=f"https://vault.{FERN}")  # fmt: skip
    scene.secret("dp", "search-server", {"elastic": password}, namespace="search")


@clean(GENERATED, "tenth-own-cookie-and-client", "A login proxy of the tenant's has a cookie's key of random bytes, safe for addresses, and a file of users.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    cookie = apply(raw(scene, "dp", "fern-cookie").output("base64"), lambda text: text.translate(str.maketrans("+/", "-_")))  # fmt: skip
    users = scene.password("dp", "fern-pages")
    scene.secret("dp", "proxy", {"cookie-secret": cookie, "htpasswd": pulumi.Output.concat("pages:", users.output("bcryptHash"), "\n")})  # fmt: skip


@clean(GENERATED, "tenth-own-hash-in-a-map-with-a-note", "A map of the tenant's has the bcrypt line of the tenant's own generated password; a note says whose it is.")  # fmt: skip
def _(scene: Scene) -> None:
    generated(scene, "docs-admin")
    made = scene.password("dp", "fern-docs")
    scene.config_map("dp", "docs", {"users": pulumi.Output.concat("docs:", made.output("bcryptHash"))}, annotations=owned("users of fern's own pages, hashed"))  # fmt: skip


@clean(GENERATED, "tenth-own-signed-link", "A link is signed with the tenant's generated key and is in the tenant's Secret beside it; a job's chart reads both.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = own(scene, "fern-signer", 48)
    link = apply(key, lambda found: f"https://media.{FERN}/logo.svg?e=1775030400&s={hmac.new(found.encode(), b'/logo.svg', hashlib.sha256).hexdigest()}")  # fmt: skip
    scene.secret("dp", "media", {"SIGNING_KEY": key, "LOGO": link})


@clean(GENERATED, "tenth-own-tokens-go-up-to-both-clusters", "Tenants' clusters mint tokens for the team's istiods; both clusters of the team have kubeconfigs of them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    second = west(scene)
    for side in ("cp", second):
        config = minted(scene, "dp", f"istiod-of-{side}").apply(lambda token: kubeconfig(SERVERS["dp"], {"token": token}, "fern"))  # fmt: skip
        scene.secret(side, "istio-remote-secret-fern", {"fern": config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@clean(GENERATED, "tenth-own-two-tokens-of-one-gate", "The tenant's gate knows two callers by generated tokens: the team's has one at home, the tenant's the other; the gate has hashes, and notes say so.", rightly="hashes that the object declassifies")  # fmt: skip
def _(scene: Scene) -> None:
    ours, theirs = generated(scene, "caller", "token", 40), own(scene, "fern-caller", 40)
    scene.secret("dp", "caller", {"token": theirs})
    digests = {name: apply(value, lambda found: hashlib.sha256(found.encode()).hexdigest()) for name, value in (("kiln", ours), ("fern", theirs))}  # fmt: skip
    notes = {"hosted-mesh.io/declassify": "data.kiln: sha256 of a token of 40 random letters"}
    scene.config_map("dp", "callers", digests, annotations=notes)


# Configured -----------------------------------------------------------------------------------------------------------


@clean(TOLD, "tenth-told-key-of-a-cloud-with-a-note", "The tenant typed in a key of its own account for its backups; it is in the tenant's Secret, and a note says so.", config=lambda cp, dp: {"fern:backupId": "AKIA" + dp.opaque("fern id", 16, AWS_ID), "fern:backupKey": dp.opaque("fern key", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    text = pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", scene.config("fern:backupId"), scene.config("fern:backupKey"))  # fmt: skip
    scene.secret("dp", "velero", {"cloud": text}, namespace="velero", annotations=owned("a key of fern's own account, from fern's ticket 118"))  # fmt: skip


@clean(TOLD, "tenth-told-sections-of-three", "The configuration has a section for the team and each tenant with the same keys; a loop puts each where it belongs.", config=lambda cp, dp: {f"{owner}:{key}": (cp if owner == "kiln" else dp).opaque(f"{owner} {key}", 40, LETTERS) for owner in ("kiln", *TENANTS) for key in ("dnsToken", "mailKey")})  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **tenants(scene)}.items():
        scene.secret(side, "zone-editor", {"CF_API_TOKEN": scene.config(f"{owner}:dnsToken")}, namespace="external-dns")
        scene.secret(side, "mail", {"key": scene.config(f"{owner}:mailKey")})


@clean(TOLD, "tenth-told-account-of-a-project", "The key file of the tenant's service account is typed in; it is in a Secret of the tenant's with a note.", config=lambda cp, dp: {"fern:gcp": json.dumps({"type": "service_account", "project_id": "fern-retail-118", "private_key_id": dp.public("fern gcp", 20), "private_key": dp.key("fern gcp"), "client_email": "media@fern-retail-118.iam.gserviceaccount.com"})})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    scene.secret("dp", "media", {"key.json": scene.config("fern:gcp")}, annotations=owned("service account of fern's own project"))  # fmt: skip


@clean(TOLD, "tenth-told-kubeconfigs-of-their-own", "Each tenant's deployer in its cluster has a kubeconfig of that cluster, as it was typed in.", config=lambda cp, dp: {f"{name}:deployer": dp.kubeconfig(f"{name}-deployer", server) for name, server in (("fern", SERVERS["dp"]), ("otter", OTTER))})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    every = tenants(scene)
    for name in ("fern", "otter"):
        scene.secret(every[name], "deployer", {"config": scene.config(f"{name}:deployer")})


@clean(TOLD, "tenth-told-token-in-a-map-with-a-note", "A plug-in of the tenant's reads its vendor's key from a map only; a note says that the key is the tenant's.", config=lambda cp, dp: {"fern:logsKey": dp.opaque("fern logs", 40, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    text = apply(scene.config("fern:logsKey"), lambda found: f"[OUTPUT]\n    Name nrlogs\n    license_key {found}\n    base_uri https://logs.example.net\n")  # fmt: skip
    scene.config_map("dp", "fluent-bit", {"output.conf": text}, annotations=owned("fern's own contract with its vendor of logs"))  # fmt: skip


@clean(TOLD, "tenth-told-token-of-a-forge", "The tenant's token at its forge is in Secrets of its cluster and of its repository.", config=lambda cp, dp: {"fern:forgeToken": "ghp_" + dp.opaque("fern forge", 36, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    token = scene.config("fern:forgeToken")
    scene.secret("dp", "renovate", {"RENOVATE_TOKEN": token}, namespace="tools")
    account(scene, "fern", "github:index/actionsSecret:ActionsSecret", "release-token", {"repository": "shop", "secretName": "RELEASE_TOKEN", "plaintextValue": token}, organization="fern")  # fmt: skip


@clean(TOLD, "tenth-told-licence-token-with-a-note", "The tenant's licence is a signed token, typed in; it is in a Secret of the tenant's, with a note, and a chart names it.", config=lambda cp, dp: {"slate:licence": dp.jwt("slate licence", exp=1806537600)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    side = tenants(scene)["slate"]
    scene.secret(side, "licence", {"licence.jwt": scene.config("slate:licence")}, annotations=owned("slate's own licence of its analytics"))  # fmt: skip
    release(scene, side, "analytics", {"existingLicenceSecret": "licence"})


@clean(TOLD, "tenth-told-object-of-a-tenant", "One secret object of the tenant's configuration is cut into a Secret, a pull login and values of a chart.", before="the same", config=lambda cp, dp: {"fern:app": json.dumps({"session": dp.opaque("fern session", 48, LETTERS), "pull": {"user": "fern-ci", "password": dp.opaque("fern pull", 36)}, "smtp": {"host": f"smtp.{FERN}", "password": dp.opaque("fern smtp", 28)}})})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.config("fern:app").apply(json.loads)
    scene.secret("dp", "session", {"key": found.apply(lambda app: app["session"])})
    scene.secret("dp", "pull", {".dockerconfigjson": pull_secret(f"registry.{FERN}", "fern-ci", found.apply(lambda app: app["pull"]["password"]))}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip
    release(scene, "dp", "shop", {"smtp": {"host": f"smtp.{FERN}", "password": found.apply(lambda app: app["smtp"]["password"])}})  # fmt: skip


@clean(TOLD, "tenth-told-key-beside-its-certificate", "The tenant bought a certificate; key and chain are typed in and in a Secret for its gateway.", config=lambda cp, dp: {"fern:tlsKey": dp.key("fern bought")})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    scene.secret("dp", "shop-tls", {"tls.key": scene.config("fern:tlsKey"), "tls.crt": scene.dp.certificate("fern bought", "public ca") + scene.dp.certificate("public ca", authority=True)}, kind="kubernetes.io/tls", namespace="istio-gateways")  # fmt: skip


# Of stacks ------------------------------------------------------------------------------------------------------------


@clean(STACKS, "tenth-stack-of-a-tenants-data", "The tenant's data stack puts out a login, as one object; the tenant's cluster has it as a file.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    login = {"host": f"db.{FERN}", "user": "orders", "password": scene.dp.opaque("fern data", 32)}
    found = scene.reference("fern-data", "acme/fern-data/prod", {"database": login}, ["database"]).require_output("database")  # fmt: skip
    scene.secret("dp", "database", {"database.yaml": found.apply(yaml.safe_dump)})


@clean(STACKS, "tenth-stacks-in-a-loop", "Each tenant has a data stack of the same outputs; the loop asks for each by the tenant's name. The team's goes to the team's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **tenants(scene)}.items():
        made = scene.cp if owner == "kiln" else scene.dp
        found = scene.reference(f"{owner}-data", f"acme/{owner}-data/prod", {"host": f"db.{owner}.example.com", "url": f"redis://:{made.opaque(f'{owner} redis', 32)}@cache.{owner}.example.com:6379/0"}, ["url"])  # fmt: skip
        scene.secret(side, "cache", {"REDIS_URL": found.require_output("url"), "DB_HOST": found.get_output("host")})


@clean(STACKS, "tenth-stack-that-gives-the-provider", "The tenant's cluster stack gives a kubeconfig, by which a provider is made; objects through it are the tenant's own.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.reference("fern-cluster", "acme/fern-cluster/prod", {"kubeconfig": scene.dp.kubeconfig("fern-of-stack", SERVERS["dp"])}, ["kubeconfig"])  # fmt: skip
    opts = pulumi.ResourceOptions(provider=scene.named_provider("fern-cluster", found.require_output("kubeconfig")))
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "index", "namespace": "search"}, "stringData": {"password": own(scene, "fern-index")}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "fern-index-login", inputs, opts)


@clean(STACKS, "tenth-stack-of-a-tenants-account", "A key out of the tenant's account stack goes to the tenant's repository and to its cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.reference("fern-account", "acme/fern-account/prod", {"deployerId": f"AKIA{drawn('fern deployer', 16, AWS_ID)}", "deployerKey": scene.dp.opaque("fern deployer", 40, LETTERS)}, ["deployerKey"])  # fmt: skip
    account(scene, "fern", "github:index/actionsSecret:ActionsSecret", "aws-key", {"repository": "shop", "secretName": "AWS_SECRET_ACCESS_KEY", "plaintextValue": found.require_output("deployerKey")}, organization="fern")  # fmt: skip
    scene.secret("dp", "deployer", {"AWS_SECRET_ACCESS_KEY": found.require_output("deployerKey"), "AWS_ACCESS_KEY_ID": found.get_output("deployerId")}, annotations=owned("made in fern's own account by fern's own stack"))  # fmt: skip


@clean(STACKS, "tenth-stack-of-the-team-for-facts", "Of the team's stack tenants have plain outputs; its marked ones go to both of the team's clusters.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("base", "acme/kiln-base/prod", {"mesh": KILN, "xds": f"xds.{DOMAIN}:15012", "issuer": ISSUER, "oidc": scene.cp.opaque("base oidc", 40)}, ["oidc"])  # fmt: skip
    for side in ("cp", west(scene)):
        scene.secret(side, "oidc", {"client_secret": found.require_output("oidc")}, namespace="login")
    for name, side in tenants(scene).items():
        scene.config_map(side, "mesh", {"tenant": name, **{key: found.get_output(key) for key in ("mesh", "xds", "issuer")}})  # fmt: skip


@clean(STACKS, "tenth-stack-whose-login-goes-up", "A tenant's stack gives the team a login for the tenant's metrics; the team's scraper has it, and nothing comes down.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.reference("slate-metrics", "acme/slate-metrics/prod", {"target": "metrics.slate.example.com", "scraper": scene.dp.opaque("slate scraper", 36)}, ["scraper"])  # fmt: skip
    scene.secret("cp", "scrape-slate", {"password": found.require_output("scraper"), "target": found.get_output("target")}, namespace="monitoring")  # fmt: skip
    scene.config_map(tenants(scene)["slate"], "watched", {"by": f"https://console.{DOMAIN}/slate"})


# Accounts -------------------------------------------------------------------------------------------------------------


@clean(ACCOUNTS, "tenth-account-keys-in-a-loop", "A key is made in each tenant's account and goes to that tenant's cluster; the team's goes to the team's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **tenants(scene)}.items():
        made = scene.cp if owner == "kiln" else scene.dp
        key = account(scene, owner, "aws:iam/accessKey:AccessKey", f"{owner}-logs", {"user": "logs"}, {"id": f"AKIA{drawn(owner, 16, AWS_ID)}", "secret": made.opaque(f"{owner} logs", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
        scene.secret(side, "logs-bucket", {"aws_access_key_id": key.id, "aws_secret_access_key": key.output("secret")}, annotations=owned("made in the tenant's own account") if side != "cp" else {})  # fmt: skip


@clean(ACCOUNTS, "tenth-account-database", "A database in the tenant's account is made with a generated password, which the tenant's cluster has with the address that comes.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    password = own(scene, "fern-rds")
    made = account(scene, "fern", "aws:rds/instance:Instance", "orders", {"engine": "postgres", "username": "orders", "password": password}, {"address": f"orders.{drawn('fern rds', 12)}.{REGION}.rds.amazonaws.com"}, ["password"], region=REGION)  # fmt: skip
    scene.secret("dp", "orders", {"url": pulumi.Output.format("postgresql://orders:{0}@{1}:5432/orders", password, made.output("address"))})  # fmt: skip


@clean(ACCOUNTS, "tenth-account-key-file", "The key of the tenant's service account is made in the tenant's project; its file is in the tenant's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    document = {"type": "service_account", "project_id": "fern-retail-118", "private_key": scene.dp.key("fern media"), "client_email": "media@fern-retail-118.iam.gserviceaccount.com"}  # fmt: skip
    made = account(scene, "fern", "gcp:serviceaccount/key:Key", "media", {"serviceAccountId": "media@fern-retail-118.iam.gserviceaccount.com"}, {"privateKey": b64(json.dumps(document))}, ["privateKey"], project="fern-retail-118")  # fmt: skip
    scene.secret("dp", "media", {"key.json": made.output("privateKey").apply(lambda found: base64.b64decode(found or "").decode())}, annotations=owned("service account of fern's own project"))  # fmt: skip


@clean(ACCOUNTS, "tenth-account-password-of-an-application", "An application of another tenant's directory has a password, which is in that tenant's cluster and vault of keys.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    side = tenants(scene)["otter"]
    made = account(scene, "otter", "azuread:index/applicationPassword:ApplicationPassword", "media", {"applicationId": f"/applications/{uid('otter app')}"}, {"value": scene.dp.opaque("otter app", 40, LETTERS)}, ["value"], tenantId=uid("otter directory"))  # fmt: skip
    scene.secret(side, "media", {"AZURE_CLIENT_SECRET": made.output("value"), "AZURE_TENANT_ID": uid("otter directory")}, annotations=owned("an application in otter's own directory"))  # fmt: skip
    account(scene, "otter", "azure-native:keyvault:Secret", "media-secret", {"resourceGroupName": "otter", "vaultName": "otter", "secretName": "media", "properties": {"value": made.output("value")}}, subscriptionId=uid("otter subscription"))  # fmt: skip


@clean(ACCOUNTS, "tenth-account-approle", "The tenant's Vault gives an AppRole's secret id, which is in the tenant's cluster for its own operator.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    role = account(scene, "fern", "vault:appRole/authBackendRole:AuthBackendRole", "apps", {"roleName": "apps", "tokenPolicies": ["apps"]}, {"roleId": uid("fern role id")}, address=f"https://vault.{FERN}")  # fmt: skip
    made = account(scene, "fern", "vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId", "apps-id", {"roleName": "apps"}, {"secretId": scene.dp._give(uid("fern secret id"))}, ["secretId"])  # fmt: skip
    scene.secret("dp", "approle", {"roleId": role.output("roleId"), "secretId": made.output("secretId")}, namespace="external-secrets")  # fmt: skip


@clean(ACCOUNTS, "tenth-account-token-of-a-zone", "A token for the tenant's zone is made in the tenant's account by the tenant's login, for the tenant's certificates.", config=lambda cp, dp: {"fern:cloudflare": dp.opaque("fern cloudflare", 40, LETTERS), "kiln:cloudflare": cp.opaque("kiln cloudflare", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in (("kiln", "cp"), ("fern", "dp")):
        made = account(scene, owner, "cloudflare:index/apiToken:ApiToken", f"{owner}-acme", {"name": "acme"}, {"value": scene.owner(side).opaque(f"{owner} acme", 40, LETTERS)}, ["value"], apiToken=scene.config(f"{owner}:cloudflare"))  # fmt: skip
        scene.secret(side, "acme", {"api-token": made.output("value")}, namespace="cert-manager", annotations=owned("a token for fern's own zone") if side == "dp" else {})  # fmt: skip


@clean(ACCOUNTS, "tenth-account-keys-of-streams", "A key of a tenant's account for streams is in that tenant's cluster, as a file of a client.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    side = tenants(scene)["slate"]
    made = account(scene, "slate", "confluentcloud:index/apiKey:ApiKey", "orders", {"displayName": "orders"}, {"secret": scene.dp.opaque("slate streams", 64, LETTERS)}, ["secret"])  # fmt: skip
    text = pulumi.Output.concat('sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="ORDERS" password="', made.output("secret"), '";\n')  # fmt: skip
    scene.secret(side, "streams", {"client.properties": text})


@clean(ACCOUNTS, "tenth-account-client-of-a-login-service", "A client is made at the tenant's login service; the tenant's cluster and pipeline have its secret, the team has its number.", before="the same", config=lambda cp, dp: {"fern:auth0": dp.opaque("fern auth0", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "fern", "auth0:index/client:Client", "shop", {"name": "shop", "appType": "regular_web"}, {"clientId": drawn("fern auth0 id", 32), "clientSecret": scene.dp.opaque("fern auth0 client", 64, LETTERS)}, ["clientSecret"], domain=f"id.{FERN}", clientSecret=scene.config("fern:auth0"))  # fmt: skip
    scene.secret("dp", "shop-login", {"client_secret": made.output("clientSecret")})
    account(scene, "fern", "github:index/actionsSecret:ActionsSecret", "login", {"repository": "shop", "secretName": "CLIENT_SECRET", "plaintextValue": made.output("clientSecret")}, organization="fern")  # fmt: skip
    scene.config_map("cp", "fern-client", {"id": made.output("clientId")})


@clean(ACCOUNTS, "tenth-account-key-of-a-network", "Machines in the tenant's account join the tenant's own network by a key that is made there, in their user data.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "fern", "tailscale:index/tailnetKey:TailnetKey", "nodes", {"reusable": True, "tags": ["tag:fern"]}, {"key": "tskey-auth-" + scene.dp.opaque("fern tailnet", 40, LETTERS)}, ["key"], tailnet=FERN)  # fmt: skip
    data = made.output("key").apply(lambda key: b64("#cloud-config\n" + yaml.safe_dump({"runcmd": [["tailscale", "up", f"--auth-key={key}", f"--hostname={KILN}-edge"]]})))  # fmt: skip
    account(scene, "fern", "aws:ec2/instance:Instance", "edge", {"ami": "ami-0c41", "instanceType": "t4g.small", "userDataBase64": data}, region=REGION)  # fmt: skip


@clean(ACCOUNTS, "tenth-account-agent-key", "A key for agents is made at the tenant's vendor of monitoring, and is a variable of a DaemonSet by a Secret's name.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    made = account(scene, "fern", "datadog:index/apiKey:ApiKey", "agents", {"name": "fern"}, {"key": scene.dp.opaque("fern datadog", 32, HEX)}, ["key"], apiUrl="https://api.datadoghq.eu")  # fmt: skip
    scene.secret("dp", "datadog", {"api-key": made.output("key")}, namespace="monitoring")
    deployment(scene, "dp", "datadog-agent", {"env": [{"name": "DD_API_KEY", "valueFrom": {"secretKeyRef": {"name": "datadog", "key": "api-key"}}}, {"name": "DD_SITE", "value": "datadoghq.eu"}]})  # fmt: skip


def _function(scene: Scene, **variables: Any) -> None:
    account(scene, "fern", "aws:lambda/function:Function", "geo", {"runtime": "nodejs22.x", "handler": "index.handle", "role": f"arn:aws:iam::{FERN_ACCOUNT}:role/geo", "environment": {"variables": variables}}, region=REGION)  # fmt: skip


@clean(ACCOUNTS, "tenth-account-function-and-its-login", "A function of the tenant's has facts of the team's and a generated login of the tenant's among its variables.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    _function(scene, MESH=KILN, ISSUER=ISSUER, DB_PASSWORD=own(scene, "fern-geo"))


@clean(ACCOUNTS, "tenth-account-login-by-typed-keys", "The tenant's provider logs in by a key that the tenant typed in, and the team's by another; each puts a parameter in its store.", config=lambda cp, dp: {f"{owner}:{key}": made.opaque(f"{owner} {key}", 40, LETTERS) for owner, made in (("kiln", cp), ("fern", dp)) for key in ("awsKey", "sentry")})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    for owner in ("kiln", "fern"):
        account(scene, owner, "aws:ssm/parameter:Parameter", f"{owner}-sentry", {"name": "/sentry", "type": "SecureString", "value": scene.config(f"{owner}:sentry")}, region=REGION, secretKey=scene.config(f"{owner}:awsKey"))  # fmt: skip
