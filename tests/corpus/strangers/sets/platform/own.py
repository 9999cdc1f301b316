"""Harmless, of platform teams: secrets that a program makes for the user, or is told by the user, in the user's cluster."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, kept, own, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import USERS_STACK, Scene
from tests.corpus.strangers.sets.field.world import CLIENT, ISSUER
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, pull_secret
from tests.corpus.world import Box

from .world import hub

MADE, TOLD = "platform: made for the user", "platform: configured by the user"


@clean(MADE, "platform-wordpress", "A blog and its database have three generated passwords of the user's.")
def _(scene: Scene) -> None:
    hub(scene)
    root, user, admin = (own(scene, name) for name in ("mariadb-root", "mariadb-user", "wordpress-admin"))
    scene.secret("dp", "wordpress-db", {"mariadb-root-password": root, "mariadb-password": user})
    values = {
        "wordpressUsername": "admin",
        "wordpressPassword": admin,
        "mariadb": {"auth": {"existingSecret": "wordpress-db", "username": "bn_wordpress"}},
        "service": {"type": "ClusterIP"},
    }
    release(scene, "dp", "wordpress", values)


@clean(MADE, "platform-cache-url", "A cache's password is in the user's Secret, and in an address for its exporter.")
def _(scene: Scene) -> None:
    hub(scene)
    value = own(scene, "cache")
    scene.secret(
        "dp", "redis", {"redis-password": value, "url": pulumi.Output.concat("redis://:", value, "@redis:6379/0")}
    )
    deployment(scene, "dp", "redis-exporter", {"envFrom": [{"secretRef": {"name": "redis"}}]})


@clean(MADE, "platform-broker", "A broker of the user's gets a cookie and a file of definitions with a hash of a generated password.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    cookie, value = own(scene, "cookie", 32), own(scene, "broker")

    def hashed(text: str) -> str:
        salt = hashlib.sha256(b"salt").digest()[:4]
        return b64(salt + hashlib.sha256(salt + text.encode()).digest())

    users = [{"name": "shop", "password_hash": apply(value, hashed), "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": "administrator"}]  # fmt: skip
    definitions = pulumi.Output.json_dumps({"users": users, "vhosts": [{"name": "/"}], "permissions": [{"user": "shop", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}]})  # fmt: skip
    scene.secret("dp", "rabbitmq-definitions", {"load_definition.json": definitions})
    release(scene, "dp", "rabbitmq", {"auth": {"username": "shop", "password": value, "erlangCookie": cookie}, "loadDefinition": {"enabled": True, "existingSecret": "rabbitmq-definitions"}})  # fmt: skip


@clean(MADE, "platform-basic-auth", "A gateway's user: the password in one Secret, its bcrypt hash in another, both the user's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = scene.password("dp", "dashboard-login")
    scene.secret("dp", "dashboard-login", {"username": "ops", "password": made.output("result")}, kind="kubernetes.io/basic-auth")  # fmt: skip
    scene.secret("dp", "dashboard-htpasswd", {"auth": pulumi.Output.concat("ops:", made.output("bcryptHash"), "\n")})
    notes = {"nginx.ingress.kubernetes.io/auth-type": "basic", "nginx.ingress.kubernetes.io/auth-secret": "dashboard-htpasswd"}  # fmt: skip
    rules = [{"host": "dash.shop.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "dash", "port": {"number": 80}}}}]}}]  # fmt: skip
    scene.object("dp", "networking.k8s.io/v1:Ingress", "dash", {"metadata": {"annotations": notes}, "spec": {"rules": rules}})  # fmt: skip


@clean(MADE, "platform-login-proxy", "oauth2-proxy of the user's has a generated cookie secret and the secret of the user's own client.", config=lambda cp, dp: {"shop:clientSecret": dp.opaque("client", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    cookie = raw(scene, "dp", "cookie-secret").output("base64")
    config = {"clientID": CLIENT, "clientSecret": scene.config("shop:clientSecret"), "cookieSecret": cookie}
    release(scene, "dp", "oauth2-proxy", {"config": config, "extraArgs": {"provider": "oidc", "oidc-issuer-url": ISSUER}})  # fmt: skip


@clean(MADE, "platform-grafana", "Grafana at the user's reads the user's database with a generated password.")
def _(scene: Scene) -> None:
    hub(scene)
    generated(scene, "grafana-admin", "admin-password")
    reader = own(scene, "reader")
    scene.secret("dp", "reader", {"username": "reader", "password": reader})
    source = {"name": "Orders", "type": "postgres", "url": "orders-db.shop:5432", "user": "reader", "secureJsonData": {"password": reader}, "jsonData": {"sslmode": "require", "database": "orders"}}  # fmt: skip
    sources = {"apiVersion": 1, "datasources": [source]}
    release(scene, "dp", "grafana", {"adminPassword": own(scene, "grafana-user"), "datasources": {"datasources.yaml": sources}})  # fmt: skip


@clean(MADE, "platform-operator-webhook", "An operator's webhook of the user's: an authority that stays in the program, a leaf for the server, the bundle for the API server.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ca_key, ca = pair(scene, "dp", "operator-ca", authority=True)
    key, cert = issued(scene, "dp", "operator-webhook", ca_key, ca, "operator-ca")
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem"), "ca.crt": ca.output("certPem")}
    scene.secret("dp", "operator-webhook", data, kind="kubernetes.io/tls", namespace="operator")
    hook = {
        "name": "validate.operator.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "timeoutSeconds": 5,
        "clientConfig": {"service": {"name": "operator", "namespace": "operator", "path": "/validate"}, "caBundle": apply(ca.output("certPem"), b64)},
        "rules": [{"apiGroups": ["shop.example.com"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["carts"]}],
    }  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", "operator", {"webhooks": [hook]})  # fmt: skip


@clean(MADE, "platform-deploy-key", "A key is made for the user's Flux: the private half in its Secret, the public half at the forge.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("dp", "flux-deploy")
    scene.made("github:index/repositoryDeployKey:RepositoryDeployKey", "shop-flux", {"repository": "shop-gitops", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, None, {"etag": drawn("etag", 20)})  # fmt: skip
    data = {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh"), "known_hosts": "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"}  # fmt: skip
    scene.secret("dp", "flux-system", data, namespace="flux-system")


@clean(MADE, "platform-roles-of-a-database", "Each role of the user's database gets a password and an address in a Secret of its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    generated(scene, "hub-db")
    for role in ("owner", "app", "readonly", "migrator"):
        value = own(scene, f"role-{role}")
        url = pulumi.Output.format("postgresql://{0}:{1}@orders-rw.shop:5432/orders?sslmode=require", role, value)
        scene.secret("dp", f"orders-{role}", {"username": role, "password": value, "uri": url}, kind="kubernetes.io/basic-auth")  # fmt: skip
    managed = [{"name": role, "passwordSecret": {"name": f"orders-{role}"}, "login": True} for role in ("app", "readonly")]  # fmt: skip
    scene.object("dp", "postgresql.cnpg.io/v1:Cluster", "orders", {"spec": {"instances": 3, "managed": {"roles": managed}, "storage": {"size": "20Gi"}}})  # fmt: skip


@clean(
    MADE,
    "platform-object-store",
    "A store of objects in the user's cluster, its root login, and a client's alias with both.",
)
def _(scene: Scene) -> None:
    hub(scene)
    user, value = own(scene, "minio-user", 20), own(scene, "minio-root", 40)
    scene.secret("dp", "minio-login", {"rootUser": user, "rootPassword": value})
    alias = pulumi.Output.json_dumps({"version": "10", "aliases": {"shop": {"url": "http://minio.shop:9000", "accessKey": user, "secretKey": value, "api": "S3v4"}}})  # fmt: skip
    scene.secret("dp", "mc", {"config.json": alias})
    release(
        scene, "dp", "minio", {"existingSecret": "minio-login", "mode": "distributed", "buckets": [{"name": "orders"}]}
    )


@clean(
    MADE,
    "platform-framework-settings",
    "A web application's key and three addresses with generated passwords, by Output.all.",
)
def _(scene: Scene) -> None:
    hub(scene)
    key, db, bus = own(scene, "django-key", 50), own(scene, "django-db"), own(scene, "django-bus")
    env = pulumi.Output.all(key=key, db=db, bus=bus).apply(
        lambda a: (
            f"SECRET_KEY={a['key']}\nDATABASE_URL=postgres://django:{a['db']}@db:5432/django\nCELERY_BROKER_URL=amqp://django:{a['bus']}@bus:5672//\nALLOWED_HOSTS=shop.example.com\n"
        )
    )
    scene.secret("dp", "django-env", {".env": env})
    checksum = apply(env, lambda text: hashlib.sha256(text.encode()).hexdigest())
    deployment(scene, "dp", "django", {"envFrom": [{"secretRef": {"name": "django-env"}}]}, {"checksum/env": checksum})


@clean(MADE, "platform-signed-service-role", "The user's own signing key, and a token that the program signs with it.")
def _(scene: Scene) -> None:
    hub(scene)
    key = own(scene, "jwt-secret", 48)

    def token(secret: str) -> str:
        head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS256", "typ": "JWT"}, {"role": "service_role", "iss": "shop", "exp": 2082758400}))  # fmt: skip
        mac = hmac.new(secret.encode(), head + b"." + body, "sha256").digest()
        return (head + b"." + body + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()

    scene.secret("dp", "supabase-jwt", {"secret": key, "serviceKey": apply(key, token)})


@clean(
    MADE,
    "platform-client-certificate",
    "A client's certificate of the user's is in a Secret, and as text in a chart's values.",
)
def _(scene: Scene) -> None:
    hub(scene)
    key, cert = pair(scene, "dp", "orders-client")
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("dp", "orders-client", data, kind="kubernetes.io/tls")
    release(scene, "dp", "orders", {"client": {"tls": {"enabled": True, "cert": cert.output("certPem"), "key": key.output("privateKeyPem")}}})  # fmt: skip


@clean(MADE, "platform-issuer-of-the-users", "cert-manager in the user's cluster issues internal names from an authority that was made for the user.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key, cert = pair(scene, "dp", "shop-internal-ca", authority=True)
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("dp", "shop-internal-ca", data, kind="kubernetes.io/tls", namespace="cert-manager")
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "shop-internal", {"spec": {"ca": {"secretName": "shop-internal-ca"}}})  # fmt: skip


@clean(MADE, "platform-argocd-of-the-users", "The user's own Argo CD: a hash of the administrator's password, a server key, a repository with a key of its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    admin, server = scene.password("dp", "argocd-admin"), raw(scene, "dp", "argocd-server").output("base64")
    secret = {"argocdServerAdminPassword": admin.output("bcryptHash"), "argocdServerAdminPasswordMtime": "2026-01-01T00:00:00Z", "extra": {"server.secretkey": server}}  # fmt: skip
    release(scene, "dp", "argo-cd", {"configs": {"secret": secret, "cm": {"url": "https://argocd.shop.example.com"}}})
    scene.secret("dp", "argocd-admin", {"password": admin.output("result")})
    key = scene.key("dp", "argocd-repository")
    data = {"type": "git", "url": "git@github.com:shop/gitops.git", "sshPrivateKey": key.output("privateKeyOpenssh")}
    scene.secret("dp", "repository", data, labels={"argocd.argoproj.io/secret-type": "repository"}, namespace="argocd")


@clean(
    MADE,
    "platform-login-of-each-team",
    "Each team's namespace in the user's cluster gets a login of the user's own registry.",
)
def _(scene: Scene) -> None:
    hub(scene)
    for team in ("cart", "search", "billing", "mobile"):
        scene.object("dp", "v1:Namespace", team, {"metadata": {"labels": {"istio-injection": "enabled"}}})
        value = own(scene, f"robot-{team}")
        login = pull_secret("harbor.shop.example.com", f"robot${team}", value)
        scene.secret("dp", f"pull-{team}", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace=team)  # fmt: skip


@clean(MADE, "platform-streams", "A user of the user's Kafka: the login module is formatted from a generated password.")
def _(scene: Scene) -> None:
    hub(scene)
    value = own(scene, "kafka-orders")
    jaas = pulumi.Output.format('org.apache.kafka.common.security.scram.ScramLoginModule required username="orders" password="{0}";', value)  # fmt: skip
    scene.secret("dp", "kafka-orders", {"password": value, "sasl.jaas.config": jaas})
    user = {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": "kafka-orders", "key": "password"}}}}}  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaUser", "orders", {"spec": user})


@clean(
    MADE,
    "platform-keystore-password",
    "A keystore's password of the user's is in a Secret and in arguments of its JVM.",
)
def _(scene: Scene) -> None:
    hub(scene)
    value = own(scene, "keystore")
    opts = pulumi.Output.concat("-Djavax.net.ssl.keyStore=/ks/app.p12 -Djavax.net.ssl.keyStorePassword=", value)
    scene.secret("dp", "app-jvm", {"JAVA_TOOL_OPTIONS": opts, "keystore-password": value})
    keystores = {"pkcs12": {"create": True, "passwordSecretRef": {"name": "app-jvm", "key": "keystore-password"}}}
    scene.object("dp", "cert-manager.io/v1:Certificate", "app", {"spec": {"secretName": "app-tls", "keystores": keystores, "dnsNames": ["app.shop.svc"], "issuerRef": {"name": "shop"}}})  # fmt: skip


class _Database(Box):
    """A component as teams write it: password, Secret and chart of one database."""

    def __init__(self, scene: Scene, side: str, name: str) -> None:
        super().__init__(name, "shop:index:Database")
        self.password = scene.password(side, f"{name}-password").output("result")
        data = {"stringData": {"password": self.password}, "type": "Opaque"}
        self.secret = scene.object(side, "v1:Secret", name, data, parent=self)
        self.url = pulumi.Output.format("postgres://app:{0}@{1}:5432/app", self.password, name)
        self.register_outputs({"url": self.url})


@clean(MADE, "platform-database-component", "One component is used three times: once for the provider's cluster, twice for the user's, each with a password.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    _Database(scene, "cp", "hub-state")
    for name in ("orders", "users"):
        made = _Database(scene, "dp", name)
        scene.secret("dp", f"{name}-url", {"DATABASE_URL": made.url})


# What the user configures ---------------------------------------------------------------------------------------------


@clean(TOLD, "platform-age-key", "The user's own key for encrypted manifests is configured and goes to the user's Flux.", config=lambda cp, dp: {"shop:sopsAge": "AGE-SECRET-KEY-1" + dp.opaque("age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = pulumi.Output.concat("# created: 2026-01-01T00:00:00Z\n", scene.config("shop:sopsAge"), "\n")
    scene.secret("dp", "sops-age", {"age.agekey": text}, namespace="flux-system")
    spec = {"interval": "10m", "path": "./clusters/shop", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "flux-system"}, "decryption": {"provider": "sops", "secretRef": {"name": "sops-age"}}}  # fmt: skip
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "apps", {"spec": spec})


@clean(TOLD, "platform-dns-token", "external-dns at the user's writes the user's own zone with the user's own token; the provider has a token of its own.", config=lambda cp, dp: {"shop:cloudflareToken": dp.opaque("cf", 40, LETTERS), "platform:cloudflareToken": cp.opaque("cf", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for side, key, zone in (("cp", "platform:cloudflareToken", "platform.example.com"), ("dp", "shop:cloudflareToken", "shop.example.com")):  # fmt: skip
        scene.secret(side, "cloudflare", {"api-token": scene.config(key)}, namespace="external-dns")
        env = [{"name": "CF_API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "cloudflare", "key": "api-token"}}}]
        release(scene, side, "external-dns", {"provider": "cloudflare", "domainFilters": [zone], "env": env})


@clean(TOLD, "platform-backup-login", "The user's backups go to the user's bucket with the user's key, in a cloud's file of credentials.", config=lambda cp, dp: {"shop:veleroId": "AKIA" + dp.opaque("velero id", 16, AWS_ID), "shop:veleroKey": dp.opaque("velero", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", scene.config("shop:veleroId"), scene.config("shop:veleroKey"))  # fmt: skip
    scene.secret("dp", "cloud-credentials", {"cloud": text}, namespace="velero")
    spec = {"provider": "aws", "objectStorage": {"bucket": "shop-backups"}, "config": {"region": "eu-west-1"}}
    scene.object("dp", "velero.io/v1:BackupStorageLocation", "default", {"spec": spec})


@clean(TOLD, "platform-approle", "The user's store of secrets is the user's own Vault, with an id and a secret of the user's.", config=lambda cp, dp: {"shop:vaultSecretId": dp.opaque("secret id", 36, HEX + "-")})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "vault-approle", {"secret-id": scene.config("shop:vaultSecretId")})
    auth = {"appRole": {"path": "approle", "roleId": drawn("role id", 36, HEX), "secretRef": {"name": "vault-approle", "key": "secret-id"}}}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:SecretStore", "shop-vault", {"spec": {"provider": {"vault": {"server": "https://vault.shop.example.com", "path": "kv", "version": "v2", "auth": auth}}}})  # fmt: skip


@clean(TOLD, "platform-own-receivers", "The user's alerts go to the user's chat and pager, in Alertmanager's file.", config=lambda cp, dp: {"shop:slack": "https://hooks.slack.com/services/T0SHOP/B0SHOP/" + dp.opaque("slack", 24, LETTERS), "shop:pager": dp.opaque("pager", 32, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    kept(scene, "alert-pager", "routing-key", 32, HEX)
    both = pulumi.Output.all(scene.config("shop:slack"), scene.config("shop:pager"))
    text = both.apply(lambda a: yaml.safe_dump({"route": {"receiver": "shop", "group_by": ["alertname"]}, "receivers": [{"name": "shop", "slack_configs": [{"api_url": a[0], "channel": "#shop"}], "pagerduty_configs": [{"routing_key": a[1]}]}]}))  # fmt: skip
    scene.secret("dp", "alertmanager-shop", {"alertmanager.yaml": text}, namespace="monitoring")


@clean(TOLD, "platform-own-observer", "The user's own account at a vendor: its key is in the agent's Secret and values.", config=lambda cp, dp: {"shop:ddApiKey": dp.opaque("dd", 32, HEX), "platform:ddApiKey": cp.opaque("dd", 32, HEX)}, before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for side, owner in (("cp", "platform"), ("dp", "shop")):
        key = scene.config(f"{owner}:ddApiKey")
        scene.secret(side, "datadog-key", {"api-key": key})
        release(scene, side, "datadog", {"datadog": {"apiKey": key, "site": "datadoghq.eu", "clusterName": owner}})


@clean(TOLD, "platform-proxy-of-a-database", "A sidecar of the user's reads the user's own database by a key file of the user's project.", config=lambda cp, dp: {"shop:gcpKey": json.dumps({"type": "service_account", "project_id": "shop-prod", "private_key_id": "5b0f", "private_key": dp.key("sql"), "client_email": "sql@shop-prod.iam.gserviceaccount.com"})})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "sql-proxy", {"key.json": scene.config("shop:gcpKey")})
    deployment(scene, "dp", "orders", {"args": ["--credentials-file=/secrets/key.json", "shop-prod:europe-west1:orders"], "volumeMounts": [{"name": "sql-proxy", "mountPath": "/secrets"}]})  # fmt: skip


@clean(TOLD, "platform-users-of-a-list", "A list of logins in the configuration becomes one Secret for each, and a map of names.", config=lambda cp, dp: {"shop:logins": json.dumps([{"name": name, "password": dp.opaque(name, 20, LETTERS)} for name in ("anna", "boris", "chen")])})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    found = scene.config("shop:logins").apply(json.loads)
    for at in range(3):
        data = {key: found.apply(lambda logins, at=at, key=key: logins[at][key]) for key in ("name", "password")}
        scene.secret("dp", f"login-{at}", data, kind="kubernetes.io/basic-auth")


@clean(TOLD, "platform-pull-secret-configured", "A pull secret of the user's own account at a public registry, for a service account.", config=lambda cp, dp: {"shop:ghcr": "ghp_" + dp.opaque("ghcr", 36, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = pull_secret("ghcr.io", "shop-bot", scene.config("shop:ghcr"))
    scene.secret("dp", "ghcr", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")
    scene.object("dp", "v1:ServiceAccount", "builder", {"imagePullSecrets": [{"name": "ghcr"}]})


@clean(TOLD, "platform-stack-of-the-users", "The user's own stack has a database; its address with the password goes to the user's charts, the host to a map.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = scene.dp.opaque("stack db", 28, LETTERS)
    outputs = {"dbHost": "db.shop.internal", "dbUrl": f"postgres://shop:{value}@db.shop.internal:5432/shop"}
    theirs = scene.reference(USERS_STACK, USERS_STACK, outputs, ["dbUrl"])
    release(scene, "dp", "shop", {"database": {"url": theirs.require_output("dbUrl")}})
    scene.config_map("dp", "shop-db", {"host": theirs.get_output("dbHost")})


def _second_before(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "orders", {"password": own(scene, "orders-password", 16)})


@clean(MADE, "platform-rotated-by-keepers", "At the second update the user's password is longer, and a second one joins it.", before=_second_before)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    data: dict[str, Any] = {
        "password": own(scene, "orders-password", 40),
        "previous": own(scene, "orders-previous", 40),
    }
    scene.secret("dp", "orders", data, annotations={"rotation": "2026-04"})
