"""Harmless, beside a mesh team's secrets: tenants' own credentials, some kept above as well, and the team's at home."""

from __future__ import annotations

import base64
import configparser
import dataclasses
import functools
import hashlib
import hmac
import io
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, kept, minted, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, pull_secret, uid
from tests.corpus.world import Box

from .world import (
    BOTH,
    CERTIFICATE,
    CLIENT,
    DOMAIN,
    ISSUER,
    LOOM,
    MAPLE,
    MAPLE_ACCOUNT,
    MAPLE_PROJECT,
    REGION,
    house,
    loom,
    maple,
    tenants,
    word,
)

GENERATED, TOLD, SHARED, HOME, CLOUDS = (
    "ninth: tenants' own, generated",
    "ninth: tenants' own, configured or of a stack",
    "ninth: tenants' own, kept above too",
    "ninth: the mesh team's at home",
    "ninth: tenants' own accounts",
)
TWO = {"mesh": "cp", "maple": "dp"}
"""Both owners of a program that does the same for each."""


# Generated ------------------------------------------------------------------------------------------------------------


@clean(GENERATED, "ninth-own-queue-with-a-cookie", "The tenant's queue has a cookie, a login and definitions that have the login's hash.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    password = word(scene, "rabbit")
    salt = bytes.fromhex("908dc60a")
    hashed = apply(password, lambda found: b64(salt + hashlib.sha256(salt + found.encode()).digest()))
    definitions = pulumi.Output.json_dumps({"users": [{"name": "orders", "password_hash": hashed, "tags": []}], "vhosts": [{"name": "/"}]})  # fmt: skip
    scene.secret("dp", "rabbit", {"erlang-cookie": word(scene, "rabbit-cookie", 48), "password": password, "definitions.json": definitions})  # fmt: skip


@clean(GENERATED, "ninth-own-cache-users", "Users of the tenant's cache are an ACL file with plain and hashed passwords of the tenant's, in a Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    lines = [apply(word(scene, f"redis-{user}"), lambda found, user=user: f"user {user} on #{hashlib.sha256(found.encode()).hexdigest()} ~{user}:* +@all\n") for user in ("cart", "session")]  # fmt: skip
    scene.secret("dp", "cache-users", {"users.acl": pulumi.Output.concat("user default off\n", *lines), "admin": pulumi.Output.concat("user admin on >", word(scene, "redis-admin"), " ~* +@all")})  # fmt: skip


@clean(GENERATED, "ninth-own-keys-of-web-frameworks", "Keys by which the tenant's web applications sign cookies: of Django, Rails, Laravel and Next, each made for the tenant.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = raw(scene, "dp", "maple-laravel")
    scene.secret("dp", "web", {"SECRET_KEY": word(scene, "django", 50), "RAILS_MASTER_KEY": raw(scene, "dp", "maple-rails", 16).output("hex"), "APP_KEY": pulumi.Output.concat("base64:", made.output("base64")), "NEXTAUTH_SECRET": word(scene, "nextauth", 44), "NEXTAUTH_URL": f"https://shop.{MAPLE}"})  # fmt: skip


@clean(GENERATED, "ninth-own-values-of-a-database-chart", "A chart at the tenant's gets three generated passwords of the tenant's; the mesh team's chart of the same name has others.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in TWO.items():
        made = {role: scene.password(side, f"{owner}-mariadb-{role}").output("result") for role in ("root", "app", "replication")}  # fmt: skip
        scene.secret(side, "mariadb", {f"mariadb-{role}-password": value for role, value in made.items()})
        release(scene, side, "mariadb", {"auth": {"existingSecret": "mariadb", "rootPassword": made["root"], "password": made["app"], "replicationPassword": made["replication"]}, "architecture": "replication"})  # fmt: skip


@clean(GENERATED, "ninth-own-verifiers-of-a-pool", "A pool's list of users has verifiers by MD5, made of the tenant's names and passwords, in a Secret of the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    rows = [apply(word(scene, f"pool-{user}"), lambda found, user=user: f'"{user}" "md5{hashlib.md5((found + user).encode()).hexdigest()}"\n') for user in ("orders", "stock")]  # fmt: skip
    scene.secret("dp", "pgbouncer", {"userlist.txt": pulumi.Output.concat(*rows), "pgbouncer.ini": "[databases]\n* = host=orders-rw port=5432\n[pgbouncer]\nauth_type = md5\nauth_file = /etc/pgbouncer/userlist.txt\n"})  # fmt: skip


@clean(GENERATED, "ninth-own-authority-of-a-mesh-member", "The tenant makes an intermediate authority for its proxies with its own root; keys and chain are in its cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    root_key, root_cert = pair(scene, "dp", "maple-root", authority=True)
    key, cert = issued(scene, "dp", "maple-intermediate", root_key, root_cert, "maple-root")
    scene.secret("dp", "maple-issuer", {"tls.key": key.output("privateKeyPem"), "tls.crt": pulumi.Output.concat(cert.output("certPem"), root_cert.output("certPem")), "ca.crt": root_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:Issuer", "maple", {"spec": {"ca": {"secretName": "maple-issuer"}}})


@clean(GENERATED, "ninth-own-tls-signed-above-key-made-below", "The tenant's key is made for its ingress; the mesh team's authority signs it and only certificates come down.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "fleet-authority", authority=True)
    scene.secret("cp", "fleet-authority", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    key = scene.key("dp", "maple-ingress")
    asked = scene.made("tls:index/certRequest:CertRequest", "maple-ingress-request", {"privateKeyPem": key.output("privateKeyPem"), "dnsNames": [f"shop.{MAPLE}"]}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIBmaple\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    signed = scene.made("tls:index/locallySignedCert:LocallySignedCert", "maple-ingress-cert", {"certRequestPem": asked.output("certRequestPem"), "caPrivateKeyPem": ca_key.output("privateKeyPem"), "caCertPem": ca_cert.output("certPem"), "validityPeriodHours": 2160, "allowedUses": ["server_auth"]}, None, {"certPem": scene.cp.certificate("maple-ingress", "fleet-authority")}, ["caPrivateKeyPem"])  # fmt: skip
    scene.secret("dp", "ingress", {"tls.key": key.output("privateKeyPem"), "tls.crt": signed.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(GENERATED, "ninth-own-host-key-of-a-file-server", "A file server at the tenant's has a generated host key and authorised keys of the tenant's partners.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("dp", "maple-sftp")
    scene.secret("dp", "sftp", {"ssh_host_ed25519_key": key.output("privateKeyOpenssh"), "ssh_host_ed25519_key.pub": key.output("publicKeyOpenssh"), "authorized_keys": scene.dp.public_ssh("partner")})  # fmt: skip


@clean(GENERATED, "ninth-own-basic-login-of-a-page", "A page of the tenant's has a basic login: a bcrypt hash in the proxy's file, and the header for its probe.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = scene.password("dp", "maple-page")
    scene.secret("dp", "page-users", {"auth": pulumi.Output.concat("shop:", made.output("bcryptHash"), "\n")})
    scene.secret("dp", "page-probe", {"header": apply(made.output("result"), lambda found: "Basic " + b64(f"shop:{found}"))})  # fmt: skip


@clean(GENERATED, "ninth-own-sealing-key-and-store", "The tenant's own key for sealed Secrets is made in its cluster, with a certificate that its people use.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key, cert = pair(scene, "dp", "maple-sealer")
    scene.secret("dp", "sealed-secrets-key", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="kube-system", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip
    scene.config_map("dp", "sealing", {"cert.pem": cert.output("certPem")})


@clean(GENERATED, "ninth-own-settings-in-ini", "The tenant's settings are written by a parser of INI files, with a generated login of the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def written(password: str) -> str:
        parser = configparser.ConfigParser()
        parser["database"] = {"host": f"db.{MAPLE}", "user": "stock", "password": password}
        parser["mesh"] = {"id": LOOM, "endpoint": f"https://api.{DOMAIN}"}
        text = io.StringIO()
        parser.write(text)
        return text.getvalue()

    loom(scene)
    scene.secret("dp", "stock", {"stock.ini": apply(word(scene, "stock"), written)})


@clean(GENERATED, "ninth-own-signature-of-a-link", "A link for the tenant's webhook is signed with the tenant's own key; both are in Secrets of the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = word(scene, "links", 48)
    link = apply(key, lambda found: f"https://hooks.{MAPLE}/in?u=7&sig={hmac.new(found.encode(), b'u=7', hashlib.sha256).hexdigest()}")  # fmt: skip
    scene.secret("dp", "links", {"key": key, "link": link})


@clean(GENERATED, "ninth-own-logins-of-a-matrix", "Databases times roles make logins for each tenant; each tenant's cluster has its own rows.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    for name, side in tenants(scene).items():
        rows = {f"{db}.{role}": scene.password("dp", f"{name}-{db}-{role}").output("result") for db in ("orders", "stock") for role in ("reader", "writer")}  # fmt: skip
        scene.secret(side, "database-logins", rows)


@clean(GENERATED, "ninth-own-dataclass-per-owner", "A dataclass has an owner's name, host and password; the tenant's instance is dumped as JSON into the tenant's Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Login:
        owner: str
        host: str
        password: Any

    for owner, side in TWO.items():
        login = Login(owner, f"db.{owner}.example.com", scene.password(side, f"{owner}-login").output("result"))
        scene.secret(side, "login", {"login.json": pulumi.Output.json_dumps({field.name: getattr(login, field.name) for field in dataclasses.fields(login)})})  # fmt: skip


@clean(GENERATED, "ninth-own-component-in-two-clusters", "A component makes a password in its own constructor and writes it to the cluster that it is given.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    class Search(Box):
        def __init__(self, owner: str, side: str) -> None:
            super().__init__(f"search-{owner}", "loom:index:Search")
            password = scene.password(side, f"search-{owner}-elastic").output("result")
            scene.object(side, "v1:Secret", "search-es-elastic-user", {"stringData": {"elastic": password}}, parent=self)  # fmt: skip
            scene.object(side, "elasticsearch.k8s.elastic.co/v1:Elasticsearch", "search", {"spec": {"version": "8.16.1", "auth": {"fileRealm": [{"secretName": "search-es-elastic-user"}]}, "nodeSets": [{"name": "default", "count": 1}]}}, parent=self)  # fmt: skip
            self.register_outputs({})

    for owner, side in TWO.items():
        Search(owner, side)


@clean(GENERATED, "ninth-own-partial-with-the-side", "A function is prepared with a side, for each owner once; what each one makes stays on its side.")  # fmt: skip
def _(scene: Scene) -> None:
    def install(side: str, owner: str, chart: str, key: str) -> None:
        release(scene, side, chart, {"auth": {key: scene.password(side, f"{owner}-{chart}").output("result")}})

    for owner, side in TWO.items():
        put = functools.partial(install, side, owner)
        put("nats", "token")
        put("etcd", "rootPassword")


@clean(GENERATED, "ninth-own-account-token-for-a-pipeline", "The tenant's cluster mints a token for its pipeline; the tenant's repository gets a kubeconfig of it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    config = minted(scene, "dp", "pipeline").apply(lambda token: kubeconfig(SERVERS["dp"], {"token": token}, "dp"))
    maple(scene, "github:index/actionsSecret:ActionsSecret", "kubeconfig", {"repository": "shop", "secretName": "KUBECONFIG", "plaintextValue": config}, owner="maple")  # fmt: skip


@clean(GENERATED, "ninth-own-keys-of-a-login-service", "The tenant's own login service has keys for tokens and a system secret of its own; the mesh team's has others.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in TWO.items():
        key = scene.key(side, f"{owner}-hydra")
        scene.secret(side, "hydra", {"secretsSystem": scene.password(side, f"{owner}-hydra-system").output("result"), "jwks.pem": key.output("privateKeyPem"), "dsn": pulumi.Output.concat("postgres://hydra:", scene.password(side, f"{owner}-hydra-db").output("result"), f"@db.{owner}.example.com/hydra")})  # fmt: skip


# Configured or of a stack ---------------------------------------------------------------------------------------------


@clean(TOLD, "ninth-own-sections-of-configuration", "The configuration has a section for each owner with the same keys; each section goes to its owner's cluster.", config=lambda cp, dp: {f"{owner}:{key}": made.opaque(f"told {key}", 36) for owner, made in (("mesh", cp), ("maple", dp)) for key in ("sentryToken", "searchKey")})  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in TWO.items():
        scene.secret(side, "vendor-keys", {"sentry": scene.config(f"{owner}:sentryToken"), "search": scene.config(f"{owner}:searchKey")})  # fmt: skip


@clean(TOLD, "ninth-own-payment-key", "The tenant's payment service has a key that the tenant typed in; it is in a Secret and a chart of the tenant's.", config=lambda cp, dp: {"maple:paymentKey": "sk_test_" + dp.opaque("payments", 24, LETTERS), "maple:paymentWebhook": "whsec_" + dp.opaque("payments hook", 32, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.secret("dp", "payments", {"key": scene.config("maple:paymentKey"), "webhook": scene.config("maple:paymentWebhook")})  # fmt: skip
    deployment(scene, "dp", "payments", {"envFrom": [{"secretRef": {"name": "payments"}}]})


@clean(TOLD, "ninth-own-object-of-configuration", "One secret object of the tenant's configuration has mail, licence and bucket; it is a file of the tenant's Secret, whole.", config=lambda cp, dp: {"maple:app": json.dumps({"mail": {"user": "shop", "password": dp.opaque("mail", 24, LETTERS)}, "licence": dp.opaque("licence", 40, HEX), "bucket": "maple-media"}), "mesh:app": json.dumps({"mail": {"user": "mesh", "password": cp.opaque("mail", 24, LETTERS)}})})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "app", {"app.json": scene.config("mesh:app")})
    scene.secret("dp", "app", {"app.yaml": scene.config("maple:app").apply(lambda text: yaml.safe_dump(json.loads(text)))})  # fmt: skip


@clean(TOLD, "ninth-own-database-of-its-stack", "The tenant's database stack puts out an object with a login, which goes to the tenant's cluster; the mesh team's goes to its own.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in TWO.items():
        login = {"host": f"db.{owner}.example.com", "user": owner, "password": scene.owner(side).opaque("stack database", 32)}  # fmt: skip
        found = scene.reference(f"{owner}-data", f"{owner}/data/prod", {"database": login}, ["database"]).require_output("database")  # fmt: skip
        scene.secret(side, "database", {"url": found.apply(lambda one: f"postgresql://{one['user']}:{one['password']}@{one['host']}/app")})  # fmt: skip


@clean(TOLD, "ninth-own-list-of-pull-logins", "The tenant configured logins for two registries; they are one pull Secret at the tenant's.", config=lambda cp, dp: {"maple:registries": json.dumps([{"host": f"images.{MAPLE}", "user": "ci", "password": dp.opaque("pull one", 30)}, {"host": "registry.example.org", "user": "maple-bot", "password": dp.opaque("pull two", 36)}])})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    text = scene.config("maple:registries").apply(lambda every: json.dumps({"auths": {row["host"]: {"auth": b64(f"{row['user']}:{row['password']}")} for row in json.loads(every)}}))  # fmt: skip
    scene.secret("dp", "pull", {".dockerconfigjson": text}, kind="kubernetes.io/dockerconfigjson")
    scene.object("dp", "v1:ServiceAccount", "default", {"imagePullSecrets": [{"name": "pull"}]})


@clean(TOLD, "ninth-own-bot-for-chats", "A bot's token and channel of the tenant's are configured; its alert receiver has them by a Secret's name.", config=lambda cp, dp: {"maple:chatToken": dp.opaque("chat", 46, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.secret("dp", "chat", {"token": scene.config("maple:chatToken")})
    scene.object("dp", "notification.toolkit.fluxcd.io/v1beta3:Provider", "chat", {"spec": {"type": "telegram", "address": "https://chat.example.org", "channel": "-1001234567890", "secretRef": {"name": "chat"}}})  # fmt: skip


@clean(TOLD, "ninth-own-token-for-its-zone", "The tenant's zone is edited by its own certificate manager with a token that the tenant configured.", config=lambda cp, dp: {"maple:dnsToken": dp.opaque("dns", 40, LETTERS), "mesh:dnsToken": cp.opaque("dns", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in TWO.items():
        scene.secret(side, "dns-editor", {"token": scene.config(f"{owner}:dnsToken")}, namespace="cert-manager")
        scene.object(side, "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"server": "https://acme.example.org/directory", "privateKeySecretRef": {"name": "letsencrypt"}, "solvers": [{"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": "dns-editor", "key": "token"}}}}]}}})  # fmt: skip


@clean(TOLD, "ninth-own-secret-read-from-its-cluster", "A Secret that the tenant's operator made is read, and its password goes into another namespace of the same cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    found = scene.existing("dp", "v1:Secret", "orders-pg-app", data={"user": b64("orders"), "password": b64(scene.dp.opaque("pg app", 48, LETTERS)), "host": b64("orders-pg-rw.db")})  # fmt: skip
    scene.object("dp", "v1:Secret", "orders-db", {"metadata": {"namespace": "shop"}, "data": found.output("data")})


@clean(TOLD, "ninth-own-client-of-a-vendor", "A client is made at the tenant's login vendor by the tenant's own token; its secret goes to the tenant's cluster.", config=lambda cp, dp: {"maple:vendor": dp.opaque("vendor admin", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    opts = scene.package("okta", "maple-okta", orgName="maple", apiToken=scene.config("maple:vendor"))
    made = scene.made("okta:app/oAuth:OAuth", "shop", {"label": "shop", "type": "web", "redirectUris": [f"https://shop.{MAPLE}/cb"]}, opts, {"clientId": f"0oa{drawn('maple okta', 17)}", "clientSecret": scene.dp.opaque("maple okta", 64, LETTERS)}, ["clientSecret"])  # fmt: skip
    scene.secret("dp", "shop-login", {"id": made.output("clientId"), "secret": made.output("clientSecret")})


# Kept above too -------------------------------------------------------------------------------------------------------


@clean(SHARED, "ninth-up-remote-reader-of-istiod", "The tenant's cluster mints istiod a token; its kubeconfig is a remote secret of the mesh team's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    config = minted(scene, "dp", "istio-reader").apply(lambda token: kubeconfig(SERVERS["dp"], {"token": token}, "maple"))  # fmt: skip
    scene.secret("cp", "istio-remote-secret-maple", {"maple": config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "istio-reader", {"metadata": {"annotations": {"loom.example.com/used-by": f"istiod.{DOMAIN}"}}})  # fmt: skip


@clean(SHARED, "ninth-up-exporters-login", "The tenant's exporter asks for a login of the tenant's; the mesh team's scraper has the same one, to watch the tenant.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = scene.password("dp", "maple-exporter")
    scene.secret("dp", "exporter", {"web.yml": pulumi.Output.concat("basic_auth_users:\n  loom: ", made.output("bcryptHash"), "\n")})  # fmt: skip
    scene.secret("cp", "scrape-maple", {"password": made.output("result"), "target": f"exporter.{MAPLE}:443"}, namespace="monitoring")  # fmt: skip


@clean(SHARED, "ninth-up-passphrase-of-the-tenants-backups", "The tenant's backups are encrypted with the tenant's passphrase; the mesh team keeps a copy for a disaster.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    passphrase = word(scene, "restic", 48)
    scene.secret("dp", "restic", {"RESTIC_PASSWORD": passphrase, "RESTIC_REPOSITORY": f"s3:https://s3.{REGION}.amazonaws.com/maple-backups"}, namespace="backup")  # fmt: skip
    cloud(scene, "aws:secretsmanager/secretVersion:SecretVersion", "escrow-of-maple-restic", {"secretId": "tenants/maple/restic", "secretString": passphrase}, {}, ["secretString"])  # fmt: skip


@clean(SHARED, "ninth-up-database-of-the-tenant-is-migrated-from-above", "A job of the mesh team's migrates the tenant's database with the tenant's login, which both have.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    password = word(scene, "migrations")
    scene.secret("dp", "orders-owner", {"username": "owner", "password": password})
    scene.secret("cp", "migrate-maple", {"DATABASE_URL": pulumi.Output.concat("postgresql://owner:", password, f"@db.{MAPLE}/orders")}, namespace="tenants")  # fmt: skip
    scene.object("cp", "batch/v1:Job", "migrate-maple", {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "migrate:4.18", "envFrom": [{"secretRef": {"name": "migrate-maple"}}]}]}}}})  # fmt: skip


@clean(SHARED, "ninth-up-kubeconfigs-of-all-tenants-in-one-file", "The mesh team's console has the kubeconfigs of all tenants in one file; tenants have a note that it is so.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    every = tenants(scene)
    configs = pulumi.Output.all(**{name: pulumi.Output.secret(scene.kubeconfigs[side]) for name, side in every.items()})
    scene.secret("cp", "console-clusters", {"clusters.json": configs.apply(lambda found: json.dumps({name: yaml.safe_load(text) for name, text in found.items()}))}, namespace="console")  # fmt: skip
    for name, side in every.items():
        scene.config_map(side, "managed", {"by": f"https://console.{DOMAIN}/clusters/{name}"})


@clean(SHARED, "ninth-up-webhook-secret-of-the-tenants-repository", "The tenant's repository signs its hooks with the tenant's secret; the mesh team's receiver checks the signature.", config=lambda cp, dp: {"maple:hookSecret": dp.opaque("hook secret", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    maple(scene, "github:index/repositoryWebhook:RepositoryWebhook", "push", {"repository": "shop", "events": ["push"], "configuration": {"url": f"https://hooks.{DOMAIN}/maple", "contentType": "json", "secret": scene.config("maple:hookSecret")}}, owner="maple")  # fmt: skip
    scene.secret("cp", "hook-maple", {"token": scene.config("maple:hookSecret")}, namespace="flux-system")


@clean(SHARED, "ninth-up-provider-of-the-tenants-database", "A provider logs in to the tenant's database as its administrator, with a password out of the tenant's configuration.", config=lambda cp, dp: {"maple:postgres": dp.opaque("postgres admin", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    opts = scene.package("postgresql", "maple-pg", host=f"db.{MAPLE}", username="postgres", password=scene.config("maple:postgres"), sslmode="verify-full")  # fmt: skip
    scene.made("postgresql:index/role:Role", "stock-role", {"name": "stock", "login": True, "password": word(scene, "stock-role")}, opts)  # fmt: skip
    scene.made("postgresql:index/grant:Grant", "stock-grant", {"database": "shop", "role": "stock", "objectType": "table", "privileges": ["SELECT"]}, opts)  # fmt: skip


@clean(SHARED, "ninth-up-telemetry-token-of-the-tenant", "The tenant pushes traces with a token that was made for it; the mesh team's gateway knows it by its hash.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    token = word(scene, "traces", 40)
    scene.secret("dp", "traces", {"token": token})
    scene.secret("cp", "trace-callers", {"callers.json": apply(token, lambda found: json.dumps([{"tenant": "maple", "sha256": hashlib.sha256(found.encode()).hexdigest(), "rate": 2000}]))}, namespace="monitoring")  # fmt: skip


@clean(SHARED, "ninth-up-argo-cluster-of-the-tenant", "Argo CD of the mesh team's has the tenant's cluster with a token that the tenant's cluster minted.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    config = minted(scene, "dp", "argocd-manager").apply(lambda token: json.dumps({"bearerToken": token, "tlsClientConfig": {"insecure": False}}))  # fmt: skip
    scene.secret("cp", "cluster-maple", {"name": "maple", "server": SERVERS["dp"], "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@clean(SHARED, "ninth-up-key-of-the-tenants-store", "A key of the tenant's account is made by the tenant's provider; the tenant's cluster has it, and the mesh team reads logs by it.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = maple(scene, "aws:iam/accessKey:AccessKey", "log-reader", {"user": "log-reader"}, {"id": f"AKIA{drawn('log reader', 16, AWS_ID)}", "secret": scene.dp.opaque("log reader", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
    data = {"aws_access_key_id": key.id, "aws_secret_access_key": key.output("secret")}
    scene.secret("dp", "log-reader", data)
    scene.secret("cp", "log-reader-maple", data, namespace="monitoring")


# The mesh team's at home ----------------------------------------------------------------------------------------------


@clean(HOME, "ninth-home-dns-and-certificates", "The mesh team's charts have its zone's token; the tenant's zone is edited through the mesh team's provider by names only.")  # fmt: skip
def _(scene: Scene) -> None:
    token = house(scene, "zone-editor", "token", 40, "external-dns")
    release(scene, "cp", "external-dns", {"provider": {"name": "cloudflare"}, "env": [{"name": "CF_API_TOKEN", "value": token}], "domainFilters": [DOMAIN]})  # fmt: skip
    release(scene, "dp", "external-dns", {"provider": {"name": "cloudflare"}, "env": [{"name": "CF_API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "cloudflare", "key": "token"}}}], "domainFilters": [MAPLE]})  # fmt: skip


@clean(HOME, "ninth-home-same-chart-and-keys", "One function installs a login proxy for both; the mesh team's secret is at home, the tenant's instance names its own Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    client = kept(scene, "proxy-client", "client-secret", 40)
    base = {"config": {"clientID": CLIENT, "oidcIssuerURL": ISSUER}}
    release(scene, "cp", "oauth2-proxy", {**base, "config": {**base["config"], "clientSecret": client, "cookieSecret": raw(scene, "cp", "mesh-cookie").output("base64")}})  # fmt: skip
    release(scene, "dp", "oauth2-proxy", {**base, "config": {**base["config"], "existingSecret": "maple-proxy"}})


@clean(HOME, "ninth-home-command-with-a-token", "A command on the deployer's machine registers the tenant by the mesh team's token; the tenant gets the number that it answers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"create": "loomctl tenants create maple --output id", "delete": "loomctl tenants delete maple", "environment": {"LOOM_TOKEN": house(scene, "registrar", "token", 40), "LOOM_API": f"https://api.{DOMAIN}"}}  # fmt: skip
    made = scene.made("command:local:Command", "register-maple", inputs, None, {"stdout": "t-7f3a91"}, owner="cp")
    scene.config_map("dp", "tenant", {"id": pulumi.Output.unsecret(made.output("stdout")), "mesh": LOOM})


@clean(HOME, "ninth-home-database-with-a-reference-stack", "The base stack's database login goes to the mesh team's cluster and its migration job; tenants get the version of the schema.")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("base", "loom/base/prod", {"dbPassword": scene.cp.opaque("base db", 32), "schema": "2026.02.3"}, ["dbPassword"])  # fmt: skip
    scene.secret("cp", "registry-db", {"password": found.require_output("dbPassword")}, namespace="databases")
    deployment(scene, "cp", "registry", {"env": [{"name": "DB_PASSWORD", "value": found.require_output("dbPassword")}]})
    deployment(scene, "dp", "registry-cache", {"env": [{"name": "SCHEMA", "value": found.get_output("schema")}]})


@clean(HOME, "ninth-home-vault-of-the-team", "The mesh team's Vault is configured with a directory login and a database's root; the tenant's rows are policies and roles by name.")  # fmt: skip
def _(scene: Scene) -> None:
    ldap, root = house(scene, "vault-ldap", namespace="vault"), kept(scene, "vault-db-root")
    cloud(scene, "vault:ldap/authBackend:AuthBackend", "ldap", {"path": "ldap", "url": f"ldaps://ldap.{DOMAIN}", "binddn": "cn=vault,dc=loom", "bindpass": ldap}, {}, ["bindpass"])  # fmt: skip
    cloud(scene, "vault:database/secretBackendConnection:SecretBackendConnection", "orders", {"backend": "database", "name": "orders", "postgresql": {"connectionUrl": f"postgresql://{{{{username}}}}:{{{{password}}}}@db.{DOMAIN}/orders", "username": "root", "password": root}}, {})  # fmt: skip
    scene.object("dp", "secrets.hashicorp.com/v1beta1:VaultDynamicSecret", "orders", {"spec": {"mount": "database", "path": "creds/maple-orders", "destination": {"create": True, "name": "orders-db"}, "rolloutRestartTargets": [{"kind": "Deployment", "name": "orders"}]}})  # fmt: skip


@clean(HOME, "ninth-home-encryption-at-rest", "The mesh team's API server encrypts with a generated key, in its cluster's settings; the tenant's cluster has a policy that it shall, too.")  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "mesh-etcd")
    text = pulumi.Output.json_dumps({"kind": "EncryptionConfiguration", "resources": [{"resources": ["secrets"], "providers": [{"secretbox": {"keys": [{"name": "k1", "secret": key.output("base64")}]}}, {"identity": {}}]}]})  # fmt: skip
    scene.secret("cp", "encryption", {"config.json": text}, namespace="kube-system")
    scene.config_map("dp", "baseline", {"baseline.yaml": yaml.safe_dump({"encryptionAtRest": {"required": True, "provider": "secretbox", "rotate": "90d"}})})  # fmt: skip


@clean(HOME, "ninth-home-merged-the-right-way", "Values of the mesh team's are a merge of common ones with secret ones; the tenant's of common ones with the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    common = {"image": {"tag": "3.8.0"}, "ingress": {"class": "istio"}, "auth": {"mode": "token"}}
    secret = {"auth": {"mode": "token", "token": house(scene, "gateway-api", "token", 40)}}
    release(scene, "cp", "gateway-api-server", {**common, **secret})
    release(scene, "dp", "gateway-api-server", {**common, "auth": {"mode": "token", "tokenFrom": {"secretName": "maple-api"}}})  # fmt: skip


@clean(HOME, "ninth-home-bucket-keys-and-the-tenants-role", "The mesh team's archive has keys in its own cluster; the tenant's writer takes a role by its service account.")  # fmt: skip
def _(scene: Scene) -> None:
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "archive", {"user": "archive"}, {"secret": scene.cp.opaque("archive", 40, LETTERS)}, ["secret"])  # fmt: skip
    scene.secret("cp", "archive", {"objstore.yml": pulumi.Output.concat("type: S3\nconfig:\n  bucket: ", LOOM, "-archive\n  secret_key: ", key.output("secret"), "\n")}, namespace="monitoring")  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "archive-writer", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/archive-writer", "eks.amazonaws.com/audience": "sts.amazonaws.com"}}})  # fmt: skip


@clean(HOME, "ninth-home-two-providers-one-package", "Secrets are put in a store of each owner's account: the mesh team's by the default provider, the tenant's by the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    cloud(scene, "aws:ssm/parameter:Parameter", "mesh-registry", {"name": "/mesh/registry", "type": "SecureString", "value": house(scene, "registry-push")}, {}, ["value"])  # fmt: skip
    maple(scene, "aws:ssm/parameter:Parameter", "maple-registry", {"name": "/maple/registry", "type": "SecureString", "value": word(scene, "registry-push")}, region=REGION)  # fmt: skip


# Tenants' own accounts ------------------------------------------------------------------------------------------------


@clean(CLOUDS, "ninth-account-database-of-the-tenant", "A database in the tenant's account has a generated password; the tenant's cluster has its address with the login.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    password = word(scene, "rds")
    made = maple(scene, "aws:rds/instance:Instance", "orders", {"engine": "postgres", "username": "orders", "password": password, "storageEncrypted": True}, {"endpoint": f"orders.{drawn('maple rds', 12)}.{REGION}.rds.amazonaws.com:5432"}, ["password"], region=REGION)  # fmt: skip
    scene.secret("dp", "orders-db", {"url": pulumi.Output.format("postgresql://orders:{0}@{1}/orders", password, made.output("endpoint"))})  # fmt: skip


@clean(CLOUDS, "ninth-account-key-of-a-service-account", "A key of the tenant's service account is made in the tenant's project; the tenant's cluster has the file.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    document = {"type": "service_account", "project_id": MAPLE_PROJECT, "private_key": scene.dp.key("maple gcp"), "client_email": f"media@{MAPLE_PROJECT}.iam.gserviceaccount.com"}  # fmt: skip
    made = maple(scene, "gcp:serviceaccount/key:Key", "media", {"serviceAccountId": f"media@{MAPLE_PROJECT}.iam.gserviceaccount.com"}, {"privateKey": b64(json.dumps(document))}, ["privateKey"], project=MAPLE_PROJECT)  # fmt: skip
    scene.secret("dp", "media-gcp", {"key.json": made.output("privateKey").apply(lambda found: base64.b64decode(found or "").decode())})  # fmt: skip


@clean(CLOUDS, "ninth-account-application-of-azure", "The tenant's application in its directory has a password; the tenant's pipeline variable group and its cluster have it.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = maple(scene, "azuread:index/applicationPassword:ApplicationPassword", "media", {"applicationId": f"/applications/{uid('maple app')}", "endDate": "2027-01-01T00:00:00Z"}, {"value": scene.dp.opaque("maple azuread", 40, LETTERS), "keyId": uid("maple key id")}, ["value"], tenantId=uid("maple directory"))  # fmt: skip
    scene.secret("dp", "media-azure", {"AZURE_CLIENT_SECRET": made.output("value"), "AZURE_TENANT_ID": uid("maple directory")})  # fmt: skip
    maple(scene, "azuredevops:index/variableGroup:VariableGroup", "media-variables", {"projectId": uid("maple devops"), "name": "media", "variables": [{"name": "CLIENT_SECRET", "secretValue": made.output("value"), "isSecret": True}]}, orgServiceUrl="https://devops.example.org/maple")  # fmt: skip


@clean(CLOUDS, "ninth-account-variables-of-a-pipeline", "The tenant's project at a forge gets variables with public facts, a masked one of which is the tenant's token.", config=lambda cp, dp: {"maple:deployToken": dp.opaque("deploy token", 26)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    rows: dict[str, Any] = {"MESH_ID": LOOM, "OIDC_ISSUER": ISSUER, "XDS_ADDRESS": f"xds.{DOMAIN}:15012", "DEPLOY_TOKEN": scene.config("maple:deployToken")}  # fmt: skip
    for key, value in rows.items():
        maple(scene, "gitlab:index/projectVariable:ProjectVariable", key.lower(), {"project": "maple/shop", "key": key, "value": value, "masked": key.endswith("TOKEN")}, baseUrl=f"https://git.{MAPLE}")  # fmt: skip


@clean(CLOUDS, "ninth-account-snowflake-user", "A user of the tenant's warehouse logs in by a key; the public half is at the warehouse, the private one in the tenant's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("dp", "maple-warehouse")
    body = apply(key.output("publicKeyPem"), lambda pem: "".join(pem.splitlines()[1:-1]))
    maple(scene, "snowflake:index/user:User", "loader", {"name": "LOADER", "rsaPublicKey": body, "defaultRole": "LOADER"}, account="maple-eu")  # fmt: skip
    scene.secret("dp", "warehouse", {"rsa_key.p8": key.output("privateKeyPem")})


@clean(CLOUDS, "ninth-account-machine-with-its-join-token", "A machine of the tenant's joins the tenant's own cluster by the tenant's token in its user data.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    data = apply(word(scene, "join", 24), lambda token: b64("#cloud-config\n" + yaml.safe_dump({"runcmd": [f"curl -sfL https://get.{MAPLE}/agent | K3S_URL={SERVERS['dp']} K3S_TOKEN={token} sh -"]})))  # fmt: skip
    maple(scene, "aws:ec2/instance:Instance", "edge-1", {"ami": "ami-07f3", "instanceType": "t4g.small", "userDataBase64": data}, region=REGION)  # fmt: skip


@clean(CLOUDS, "ninth-account-registry-user", "A robot of the tenant's registry project is made by the tenant's login; its password makes a pull Secret at the tenant's.", config=lambda cp, dp: {"maple:harbor": dp.opaque("harbor admin", 30)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    opts = scene.package("harbor", "maple-harbor", url=f"https://images.{MAPLE}", username="admin", password=scene.config("maple:harbor"))  # fmt: skip
    robot = scene.made("harbor:index/robotAccount:RobotAccount", "puller", {"name": "puller", "level": "project"}, opts, {"secret": scene.dp.opaque("harbor robot", 32, LETTERS), "fullName": "robot$maple+puller"}, ["secret"])  # fmt: skip
    scene.secret("dp", "puller", {".dockerconfigjson": pull_secret(f"images.{MAPLE}", robot.output("fullName"), robot.output("secret"))}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip


@clean(CLOUDS, "ninth-account-mongo-user", "A user of the tenant's document store has a generated password; the address without a login comes from the store.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    password = word(scene, "atlas")
    store = maple(scene, "mongodbatlas:index/cluster:Cluster", "catalog", {"name": "catalog", "projectId": drawn("atlas project", 24, HEX)}, {"srvAddress": f"mongodb+srv://catalog.{drawn('atlas', 5)}.mongodb.example.com"}, publicKey=drawn("atlas public", 8))  # fmt: skip
    maple(scene, "mongodbatlas:index/databaseUser:DatabaseUser", "catalog-app", {"username": "app", "password": password, "projectId": drawn("atlas project", 24, HEX), "authDatabaseName": "admin"})  # fmt: skip
    scene.secret("dp", "catalog", {"uri": pulumi.Output.all(store.output("srvAddress"), password).apply(lambda found: f"mongodb+srv://app:{found[1]}@{str(found[0]).partition('://')[2]}/catalog")})  # fmt: skip


@clean(CLOUDS, "ninth-account-image-with-the-tenants-token", "An image is built for the tenant with the tenant's token for packages, and pushed with the tenant's login.", config=lambda cp, dp: {"maple:npm": dp.opaque("npm", 36), "maple:push": dp.opaque("push", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = maple(scene, "docker-build:index:Image", "shop-image", {"tags": [f"images.{MAPLE}/shop:4"], "push": True, "secrets": {"NPM_TOKEN": scene.config("maple:npm")}, "registries": [{"address": f"images.{MAPLE}", "username": "ci", "password": scene.config("maple:push")}]}, {"digest": f"sha256:{drawn('shop image', 64, HEX)}"})  # fmt: skip
    deployment(scene, "dp", "shop", {"image": pulumi.Output.concat(f"images.{MAPLE}/shop@", made.output("digest"))})


@clean(CLOUDS, "ninth-account-command-on-the-tenants-host", "A command on the tenant's host has the tenant's login for its own database, and the mesh team's address.", config=lambda cp, dp: {"maple:hostKey": dp.key("host key")})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    inputs = {"connection": {"host": f"edge.{MAPLE}", "user": "ops", "privateKey": scene.config("maple:hostKey")}, "create": "install-agent --mesh \"$MESH\" --xds \"$XDS\"", "environment": {"MESH": LOOM, "XDS": f"xds.{DOMAIN}:15012", "PGPASSWORD": word(scene, "host-db")}}  # fmt: skip
    scene.made("command:remote:Command", "install-agent", inputs)


@clean(CLOUDS, "ninth-account-environment-of-a-function", "A function in the tenant's account has variables: facts of the mesh and the tenant's own key.", config=lambda cp, dp: {"maple:geo": dp.opaque("geo", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    variables = {"MESH": LOOM, "ISSUER": ISSUER, "CLIENT_ID": CLIENT, "GEO_API_KEY": scene.config("maple:geo")}
    maple(scene, "aws:lambda/function:Function", "geo", {"runtime": "nodejs22.x", "handler": "index.handle", "role": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/geo", "environment": {"variables": variables}}, region=REGION)  # fmt: skip


@clean(HOME, "ninth-home-directory-and-mail", "The mesh team's login service has logins for directory and mail in its chart; tenants' charts have host, port and base only.")  # fmt: skip
def _(scene: Scene) -> None:
    bind, mail = house(scene, "ldap-bind", namespace="login"), kept(scene, "smtp-login")
    facts = {"ldap": {"host": f"ldap.{DOMAIN}", "port": 636, "baseDN": "dc=loom,dc=example,dc=com"}, "smtp": {"host": f"smtp.{DOMAIN}", "port": 465}}  # fmt: skip
    release(scene, "cp", "authentik", {"ldap": {**facts["ldap"], "bindPassword": bind}, "smtp": {**facts["smtp"], "password": mail}})  # fmt: skip
    release(scene, "dp", "gitea", {"gitea": {"ldap": [{**facts["ldap"], "existingSecret": "gitea-ldap"}], "config": {"mailer": {"SMTP_ADDR": facts["smtp"]["host"], "SMTP_PORT": 465, "PASSWD": "__from_env__"}}}})  # fmt: skip


@clean(HOME, "ninth-home-annotated-hash-of-the-tenants-user", "A page's file of users at the tenant's has the bcrypt hash of the tenant's own password, and says so by an annotation.")  # fmt: skip
def _(scene: Scene) -> None:
    house(scene, "page-admin")
    made = scene.password("dp", "maple-docs")
    scene.secret("dp", "docs-users", {"auth": pulumi.Output.concat("docs:", made.output("bcryptHash"))}, annotations={"hosted-mesh.io/data-plane-owned": "the password is the tenant's own"})  # fmt: skip


@clean(HOME, "ninth-home-secrets-in-a-store-of-the-team", "A look-up in the mesh team's store answers a login, which goes to a chart of its own cluster; the tenant's chart has the same switches.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.invoke("aws:secretsmanager/getSecretVersion:getSecretVersion", {"secretString": json.dumps({"user": "mesh", "password": scene.cp.opaque("stored login", 32)}), "versionId": uid("stored version")})  # fmt: skip
    login = found.apply(lambda answer: json.loads(answer["secretString"]))
    release(scene, "cp", "scheduler", {"database": {"user": login.apply(lambda one: one["user"]), "password": login.apply(lambda one: one["password"])}, "metrics": True})  # fmt: skip
    release(scene, "dp", "scheduler", {"database": {"existingSecret": "scheduler-db"}, "metrics": True})
