"""Harmless, of fleets: logins of the tenant's own, made by the program or configured, in the tenant's cluster."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, own, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import USERS_STACK, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, pull_secret

from .world import BLUE, BOTH, DOMAIN, FLEET, REGION, control_plane

DATA, TELEMETRY, VENDORS = "fleet: the tenant's data", "fleet: the tenant's telemetry", "fleet: the tenant's vendors"

# Data -----------------------------------------------------------------------------------------------------------------


@clean(
    DATA,
    "fleet-redpanda-users",
    "Users of the tenant's bus are lines of a file with generated passwords; a console reads one of them.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    names = ("admin", "cart", "console")
    made = {name: own(scene, f"redpanda-{name}") for name in names}
    lines = pulumi.Output.all(**made).apply(lambda found: "".join(f"{name}:{found[name]}:SCRAM-SHA-512\n" for name in names))  # fmt: skip
    scene.secret("dp", "redpanda-superusers", {"users.txt": lines})
    values = {"auth": {"sasl": {"enabled": True, "secretRef": "redpanda-superusers"}}, "console": {"config": {"kafka": {"sasl": {"enabled": True, "username": "console", "password": made["console"], "mechanism": "SCRAM-SHA-512"}}}}}  # fmt: skip
    release(scene, "dp", "redpanda", values)


@clean(DATA, "fleet-nats-accounts", "The tenant's NATS has an account with a seed of its own and a file of credentials; the fleet's operator has a seed too.", config=lambda cp, dp: {"shop:natsSeed": "SUA" + dp.opaque("nats seed", 55, AWS_ID), "fleet:natsSeed": "SOA" + cp.opaque("nats seed", 55, AWS_ID)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "nats-operator", {"operator.nk": scene.config("fleet:natsSeed")}, namespace="nats")
    jwt = scene.dp.jwt("nats-user", nats={"type": "user", "version": 2, "subs": -1})
    creds = pulumi.Output.concat("-----BEGIN NATS USER JWT-----\n", jwt, "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n", scene.config("shop:natsSeed"), "\n------END USER NKEY SEED------\n")  # fmt: skip
    scene.secret("dp", "nats-creds", {"user.creds": creds})
    scene.object("dp", "jetstream.nats.io/v1beta2:Account", "shop", {"spec": {"servers": ["nats://nats.shop:4222"], "creds": {"secret": {"name": "nats-creds"}, "file": "user.creds"}}})  # fmt: skip


@clean(
    DATA,
    "fleet-access-lists-of-a-cache",
    "The tenant's cache has a file of users with SHA-256 hashes of generated passwords.",
    before="the same",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    rules = {"cart": "~cart:* +@all -@dangerous", "metrics": "resetchannels -@all +info +ping"}
    made = {name: own(scene, f"acl-{name}") for name in rules}
    file = pulumi.Output.all(**made).apply(lambda found: "user default off\n" + "".join(f"user {name} on #{hashlib.sha256(found[name].encode()).hexdigest()} {rule}\n" for name, rule in rules.items()))  # fmt: skip
    scene.secret("dp", "valkey-acl", {"users.acl": file})
    scene.secret("dp", "valkey-users", made)


@clean(
    DATA,
    "fleet-column-store-twice",
    "Both clusters have a column store with a file of users; each has the hash of its own generated password.",
)
def _(scene: Scene) -> None:
    for side, name in (("cp", "fleet"), ("dp", "shop")):
        value = scene.password(side, f"clickhouse-{name}").output("result")
        xml = apply(value, lambda text: f"<clickhouse><users><default><password_sha256_hex>{hashlib.sha256(text.encode()).hexdigest()}</password_sha256_hex><networks><ip>::/0</ip></networks><profile>default</profile></default></users></clickhouse>")  # fmt: skip
        scene.secret(side, "clickhouse-users", {"users.xml": xml})
        scene.secret(side, "clickhouse-login", {"user": "default", "password": value, "host": f"clickhouse.{name}.svc"})


@clean(
    DATA,
    "fleet-replica-set",
    "The tenant's document store has a key file of random bytes, and an address with a generated password.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    value = own(scene, "mongo-cart")
    uri = pulumi.Output.format("mongodb://cart:{0}@cart-0.cart-svc.shop,cart-1.cart-svc.shop:27017/cart?replicaSet=cart&authSource=admin&tls=true", value)  # fmt: skip
    scene.secret("dp", "cart-mongo", {"password": value, "uri": uri, "keyfile": raw(scene, "dp", "mongo-keyfile", 96).output("base64")})  # fmt: skip
    users = [{"name": "cart", "db": "admin", "passwordSecretRef": ref("cart-mongo", "password"), "roles": [{"name": "readWrite", "db": "cart"}], "scramCredentialsSecretName": "cart-scram"}]  # fmt: skip
    scene.object("dp", "mongodbcommunity.mongodb.com/v1:MongoDBCommunity", "cart", {"spec": {"members": 3, "type": "ReplicaSet", "version": "7.0.12", "users": users}})  # fmt: skip


@clean(
    DATA,
    "fleet-file-of-users",
    "The tenant's search engine has a file of users with bcrypt hashes and a file of roles.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    made = {name: scene.password("dp", f"elastic-{name}") for name in ("cart", "kibana")}
    users = pulumi.Output.concat(*(part for name, one in made.items() for part in (f"{name}:", one.output("bcryptHash"), "\n")))  # fmt: skip
    scene.secret("dp", "file-realm", {"users": users, "users_roles": "superuser:kibana\nviewer:cart\n"})
    for name, one in made.items():
        scene.secret("dp", f"elastic-{name}", {"username": name, "password": one.output("result")})
    scene.object("dp", "elasticsearch.k8s.elastic.co/v1:Elasticsearch", "search", {"spec": {"version": "8.17.0", "auth": {"fileRealm": [{"secretName": "file-realm"}]}, "nodeSets": [{"name": "default", "count": 3}]}})  # fmt: skip


@clean(
    DATA,
    "fleet-forge-of-the-tenant",
    "A forge in the tenant's cluster has a file of four generated secrets and a generated key.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    names = ("secret_key_base", "otp_key_base", "db_key_base", "encrypted_settings_key_base")
    made = {name: own(scene, f"rails-{name}", 128) for name in names}
    key = scene.key("dp", "rails-openid").output("privateKeyPem")
    text = pulumi.Output.all(key=key, **made).apply(lambda found: yaml.safe_dump({"production": {**{name: found[name] for name in names}, "openid_connect_signing_key": found["key"]}}))  # fmt: skip
    scene.secret("dp", "gitlab-rails-secret", {"secrets.yml": text})
    release(scene, "dp", "gitlab", {"global": {"railsSecrets": {"secret": "gitlab-rails-secret"}, "hosts": {"domain": "shop.example.com"}}})  # fmt: skip


@clean(DATA, "fleet-registry-of-the-tenant", "The tenant's registry has keys of exact lengths, a htpasswd of a generated password, and a pull secret of the same.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    value = scene.password("dp", "harbor-registry")
    core = {"secret": own(scene, "harbor-core", 16), "CSRF_KEY": own(scene, "harbor-csrf", 32), "secretKey": own(scene, "harbor-key", 16)}  # fmt: skip
    scene.secret("dp", "harbor-core", core)
    scene.secret("dp", "harbor-registry", {"REGISTRY_HTPASSWD": pulumi.Output.concat("robot$shop:", value.output("bcryptHash")), "REGISTRY_PASSWD": value.output("result")})  # fmt: skip
    scene.secret("dp", "harbor-pull", {".dockerconfigjson": pull_secret("harbor.shop.example.com", "robot$shop", value.output("result"))}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip


@clean(
    DATA,
    "fleet-jobs-of-data",
    "The tenant's workflow engine: a generated Fernet key, a connection in its variables' form, a web server's key.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    fernet = raw(scene, "dp", "airflow-fernet").output("base64").apply(lambda text: text.replace("+", "-").replace("/", "_"))  # fmt: skip
    warehouse = own(scene, "airflow-warehouse")
    scene.secret("dp", "airflow", {"fernet-key": fernet, "webserver-secret-key": own(scene, "airflow-web"), "connection": pulumi.Output.concat("postgresql+psycopg2://airflow:", warehouse, "@warehouse.shop:5432/airflow")})  # fmt: skip
    extra = pulumi.Output.json_dumps({"conn_type": "postgres", "host": "warehouse.shop", "login": "airflow", "password": warehouse})  # fmt: skip
    release(scene, "dp", "airflow", {"fernetKeySecretName": "airflow", "extraSecrets": {"connections": {"data": extra.apply(lambda text: f"AIRFLOW_CONN_WAREHOUSE: {b64(text)}\n")}}})  # fmt: skip


@clean(DATA, "fleet-archive-of-a-database", "A database of the tenant's archives to the tenant's bucket with a key that the tenant configured; the fleet's does so with its own.", config=lambda cp, dp: {"shop:walKey": dp.opaque("wal", 40, LETTERS), "shop:walId": "AKIA" + dp.opaque("wal id", 16, AWS_ID), "fleet:walKey": cp.opaque("wal", 40, LETTERS), "fleet:walId": "AKIA" + cp.opaque("wal id", 16, AWS_ID)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "fleet"), ("dp", "shop")):
        scene.secret(side, "wal-login", {"ACCESS_KEY_ID": scene.config(f"{owner}:walId"), "ACCESS_SECRET_KEY": scene.config(f"{owner}:walKey"), "AWS_REGION": REGION})  # fmt: skip
        store = {"destinationPath": f"s3://{owner}-wal/", "s3Credentials": {"accessKeyId": ref("wal-login", "ACCESS_KEY_ID"), "secretAccessKey": ref("wal-login", "ACCESS_SECRET_KEY")}}  # fmt: skip
        scene.object(side, "postgresql.cnpg.io/v1:Cluster", "state", {"spec": {"instances": 3, "backup": {"barmanObjectStore": store, "retentionPolicy": "30d"}, "superuserSecret": {"name": "state-superuser"}}})  # fmt: skip


@clean(
    DATA,
    "fleet-shared-between-namespaces",
    "Two namespaces of the tenant's share one generated HMAC key of the tenant's for calls between them.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    value = own(scene, "webhook-hmac", 64)
    for namespace in ("billing", "cart"):
        scene.secret("dp", f"hmac-{namespace}", {"key": value}, namespace=namespace)
    release(scene, "dp", "billing", {"webhooks": [{"url": "http://cart.cart/hooks", "hmacKey": value, "algorithm": "sha256"}]})  # fmt: skip


@clean(
    DATA,
    "fleet-tunnel-between-sites",
    "Two sites of the tenant's have a tunnel with generated keys of the tenant's; each peer is known by a public key.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    private, psk = raw(scene, "dp", "wg-site").output("base64"), raw(scene, "dp", "wg-psk").output("base64")
    text = pulumi.Output.format("[Interface]\nPrivateKey = {0}\nAddress = 10.80.0.2/32\n\n[Peer]\nPublicKey = {1}\nPresharedKey = {2}\nEndpoint = site-b.shop.example.com:51820\nAllowedIPs = 10.81.0.0/16\n", private, b64(hashlib.sha256(b"site b").digest()), psk)  # fmt: skip
    scene.secret("dp", "wg0", {"wg0.conf": text}, namespace="network")


# Telemetry ------------------------------------------------------------------------------------------------------------


@clean(TELEMETRY, "fleet-tokens-known-by-hash", "Each tenant's agent pushes with a generated token of the tenant's; the control plane keeps SHA-256 hashes of them.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    hashes: dict[str, Any] = {}
    for side, name in (("dp", "red"), ("blue", "blue")):
        token = own(scene, f"push-{name}", 48)
        scene.secret(side, "push-token", {"token": token})
        write = {"url": f"https://metrics.{DOMAIN}/api/v1/push", "headers": {"X-Scope-OrgID": name}, "bearer_token": token}  # fmt: skip
        scene.made("kubernetes:helm.sh/v3:Release", f"alloy-{name}", {"chart": "alloy", "values": {"remoteWrite": [write]}}, scene.options(side))  # fmt: skip
        hashes[name] = apply(token, lambda text: hashlib.sha256(text.encode()).hexdigest())
    scene.secret("cp", "push-tokens", {"tokens.json": pulumi.Output.json_dumps(hashes)})
    generated(scene, "metrics-admin")


@clean(TELEMETRY, "fleet-collector-of-the-tenant", "The tenant's collector logs in at the tenant's Loki with a generated password, in its text of settings.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    value = own(scene, "loki-gateway")
    config = apply(value, lambda text: yaml.safe_dump({"extensions": {"basicauth/loki": {"client_auth": {"username": "collector", "password": text}}}, "exporters": {"otlphttp/loki": {"endpoint": "http://loki-gateway.logs/otlp", "auth": {"authenticator": "basicauth/loki"}}}, "service": {"extensions": ["basicauth/loki"], "pipelines": {"logs": {"receivers": ["otlp"], "exporters": ["otlphttp/loki"]}}}}))  # fmt: skip
    scene.secret("dp", "collector", {"relay.yaml": config})
    release(scene, "dp", "loki", {"gateway": {"basicAuth": {"enabled": True, "username": "collector", "password": value}}})  # fmt: skip


@clean(
    TELEMETRY,
    "fleet-login-of-the-tenants-stack",
    "The tenant's own stack has a login at the tenant's metrics; it goes into Alloy's file at the tenant's.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    outputs = {"metricsUser": "1184203", "metricsToken": "glc_" + scene.dp.opaque("cloud metrics", 120, LETTERS), "metricsUrl": "https://prometheus-prod-24.grafana.net/api/prom/push"}  # fmt: skip
    theirs = scene.reference(USERS_STACK, USERS_STACK, outputs, ["metricsToken"])
    text = pulumi.Output.format('prometheus.remote_write "cloud" {{\n  endpoint {{\n    url = "{0}"\n    basic_auth {{\n      username = "{1}"\n      password = "{2}"\n    }}\n  }}\n}}\n', theirs.get_output("metricsUrl"), theirs.get_output("metricsUser"), theirs.require_output("metricsToken"))  # fmt: skip
    scene.secret("dp", "alloy", {"config.alloy": text})


@clean(
    TELEMETRY,
    "fleet-numbers-of-orgs",
    "Agents of the tenant's send with the number of an organisation and no login: the mesh's certificates log in.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    headers = {"X-Scope-OrgID": "shop|shop-staging", "X-Fleet": FLEET}
    write = [{"url": f"https://metrics.{DOMAIN}/api/v1/push", "headers": headers, "tlsConfig": {"ca": {"configMap": ref("istio-ca-root-cert", "root-cert.pem")}, "cert": {"secret": ref("agent-tls", "tls.crt")}, "keySecret": ref("agent-tls", "tls.key")}, "queueConfig": {"maxShards": 30}}]  # fmt: skip
    scene.object("dp", "monitoring.coreos.com/v1:Prometheus", "shop", {"spec": {"remoteWrite": write, "externalLabels": {"cluster": "shop"}, "replicas": 2}})  # fmt: skip


@clean(TELEMETRY, "fleet-certificate-of-an-agent", "The agent's key is generated for the tenant; the tenant's authority signs it, and the control plane trusts that authority.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key, cert = pair(scene, "dp", "agents-ca", authority=True)
    scene.secret("dp", "agents-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    scene.config_map("cp", "trusted-agents", {"shop.pem": cert.output("certPem")})
    release(scene, "dp", "agent", {"tls": {"issuer": "agents-ca", "serverName": f"metrics.{DOMAIN}"}})


@clean(TELEMETRY, "fleet-crash-reports", "The tenant's own project for crash reports: its public address in variables, its upload token in a Secret, as configured.", config=lambda cp, dp: {"shop:sentryToken": "sntrys_" + dp.opaque("sentry", 60, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    scene.secret("dp", "sentry", {"SENTRY_AUTH_TOKEN": scene.config("shop:sentryToken")})
    env = [{"name": "SENTRY_DSN", "value": f"https://{drawn('shop dsn', 32, HEX)}@o88412.ingest.de.sentry.io/450{drawn('dsn number', 13, '0123456789')}"}, {"name": "SENTRY_RELEASE", "value": drawn("shop release", 40, HEX)}]  # fmt: skip
    deployment(scene, "dp", "cart", {"env": env, "envFrom": [{"secretRef": {"name": "sentry"}}]})


# Vendors --------------------------------------------------------------------------------------------------------------


@clean(VENDORS, "fleet-flags-of-the-tenant", "Feature flags: the tenant's SDK key in the tenant's Secret, the fleet's of the same vendor in the control plane's.", config=lambda cp, dp: {"shop:flags": f"sdk-{dp.opaque('flags', 8, HEX)}-4c1e-4b7a-9f00-{dp.opaque('flags2', 12, HEX)}", "fleet:flags": f"sdk-{cp.opaque('flags', 8, HEX)}-4c1e-4b7a-9f00-{cp.opaque('flags2', 12, HEX)}"}, before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "fleet"), ("dp", "shop")):
        scene.secret(side, "launchdarkly", {"LD_SDK_KEY": scene.config(f"{owner}:flags")})
        release(scene, side, "ld-relay", {"relay": {"environment": {f"LD_ENV_{owner}": scene.config(f"{owner}:flags")}, "port": 8030}})  # fmt: skip


@clean(VENDORS, "fleet-unleash-client", "A client's token of the tenant's flags server, which the program makes from parts.", config=lambda cp, dp: {"shop:unleash": dp.opaque("unleash", 56, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    token = pulumi.Output.concat("default:production.", scene.config("shop:unleash"))
    scene.secret("dp", "unleash", {"INIT_CLIENT_API_TOKENS": token})
    release(scene, "dp", "unleash-edge", {"edge": {"upstreamUrl": "http://unleash.shop:4242", "tokens": token}})


@clean(VENDORS, "fleet-payments-of-the-tenant", "The tenant's keys at a payment service, one secret object of the configuration spread into a Secret.", config=lambda cp, dp: {"shop:payments": json.dumps({"publishable": "pk_live_51" + "Abc" * 30, "secret": "sk_live_51" + dp.opaque("stripe", 90, LETTERS), "webhook": "whsec_" + dp.opaque("whsec", 32, LETTERS)})})  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    found = scene.config("shop:payments").apply(json.loads)
    data = {f"STRIPE_{key.upper()}": found.apply(lambda keys, key=key: keys[key]) for key in ("publishable", "secret", "webhook")}  # fmt: skip
    scene.secret("dp", "payments", data)


@clean(VENDORS, "fleet-mail-relay", "A mail relay of the tenant's has the tenant's login in a map of Postfix.", config=lambda cp, dp: {"shop:ses": "B" + dp.opaque("ses", 43, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    line = pulumi.Output.concat(f"[email-smtp.{REGION}.amazonaws.com]:587 AKIASHOPEXAMPLE00001:", scene.config("shop:ses"), "\n")  # fmt: skip
    scene.secret("dp", "postfix", {"sasl_passwd": line})
    scene.config_map("dp", "postfix", {"main.cf": "relayhost = [email-smtp.example.com]:587\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd\nsmtp_sasl_security_options = noanonymous\nsmtpd_tls_key_file = /tls/tls.key\n"})  # fmt: skip


@clean(VENDORS, "fleet-operator-of-a-network", "The tenant's nodes join the tenant's own private network by a client that the tenant configured.", config=lambda cp, dp: {"shop:tsId": "k" + dp.opaque("ts id", 16, LETTERS), "shop:tsSecret": f"tskey-client-{dp.opaque('ts id', 16, LETTERS)}-{dp.opaque('ts', 32, LETTERS)}"})  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    oauth = {"clientId": scene.config("shop:tsId"), "clientSecret": scene.config("shop:tsSecret")}
    release(scene, "dp", "tailscale-operator", {"oauth": oauth, "operatorConfig": {"hostname": "shop-operator", "defaultTags": ["tag:k8s-shop"]}})  # fmt: skip


@clean(VENDORS, "fleet-signatures-of-the-tenant", "The tenant signs its images with a key of its own, whose password is generated; verification has the public half.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key = scene.key("dp", "cosign")
    data = {"cosign.key": key.output("privateKeyPem"), "cosign.password": own(scene, "cosign-password"), "cosign.pub": key.output("publicKeyPem")}  # fmt: skip
    scene.secret("dp", "signing", data, namespace="tekton-chains")
    policy = {"images": [{"glob": "harbor.shop.example.com/**"}], "authorities": [{"name": "shop", "key": {"data": key.output("publicKeyPem")}}]}  # fmt: skip
    scene.object("dp", "policy.sigstore.dev/v1beta1:ClusterImagePolicy", "shop", {"spec": policy})


@clean(VENDORS, "fleet-builds-of-the-tenant", "Builds of the tenant's push with the tenant's robot; a generated file of settings for packages has the tenant's token.", config=lambda cp, dp: {"shop:npm": "npm_" + dp.opaque("npm", 36, LETTERS), "fleet:npm": "npm_" + cp.opaque("npm", 36, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "fleet"), ("dp", "shop")):
        npmrc = pulumi.Output.format("@{0}:registry=https://packages.example.com/\n//packages.example.com/:_authToken={1}\nalways-auth=true\n", owner, scene.config(f"{owner}:npm"))  # fmt: skip
        scene.secret(side, "npmrc", {".npmrc": npmrc}, namespace="builds")
        robot = scene.password(side, f"robot-{owner}", 40).output("result")
        scene.secret(side, "builder", {".dockerconfigjson": pull_secret(f"harbor.{owner}.example.com", "robot$builder", robot)}, kind="kubernetes.io/dockerconfigjson", namespace="builds")  # fmt: skip
