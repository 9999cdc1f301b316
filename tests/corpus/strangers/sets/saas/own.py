"""Harmless, around a hosted control plane: secrets of the tenant's own, made or configured for it and used only there."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import urllib.parse
from collections import ChainMap
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, minted, own, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, USERS_STACK, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, pull_secret, uid

from .world import (
    BOTH,
    CLIENT,
    DOMAIN,
    GREEN,
    HOSTS,
    LOGIN,
    REGION,
    ROOTS,
    TENANT,
    TENANT_ACCOUNT,
    both_sides,
    phrase,
    vendor,
)

DATA, LOGINS, TRUST, WATCH, UP, LATER = (
    "saas: the tenant's own data services",
    "saas: the tenant's own logins",
    "saas: the tenant's own certificates",
    "saas: the tenant's own observation",
    "saas: from the data plane to the control plane",
    "saas: the tenant's own rotations",
)

# Data services --------------------------------------------------------------------------------------------------------


@clean(DATA, "saas-own-standby", "A standby of the tenant's own database has the tenant's replication user, generated: the twin of one that follows the vendor's.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    scene.secret("dp", "standby.orders.credentials", {"username": "standby", "password": own(scene, "orders-standby")}, namespace="postgres")  # fmt: skip
    scene.object("dp", "acid.zalan.do/v1:postgresql", "orders-b", {"spec": {"teamId": "orchard", "numberOfInstances": 1, "standby": {"standby_host": f"orders.{TENANT}", "standby_port": "5432"}}})  # fmt: skip


@clean(DATA, "saas-own-subscription-by-sql", "A subscription between two databases of the tenant's: SQL with a generated password of the tenant's, in both sides' same shape.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, password in both_sides(scene, "publication").items():
        sql = pulumi.Output.format("CREATE SUBSCRIPTION plans CONNECTION 'host=orders dbname=orders user=plans password={0}' PUBLICATION plans", password)  # fmt: skip
        scene.object(side, "postgresql.cnpg.io/v1:Cluster", "plans", {"spec": {"instances": 1, "bootstrap": {"initdb": {"database": "plans", "postInitApplicationSQL": [sql]}}}})  # fmt: skip


@clean(DATA, "saas-own-scram-verifier", "A generated password of the tenant's becomes a verifier in SQL, with a salt that is made of the user's name.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)

    def verifier(password: str) -> str:
        salt = hashlib.sha256(b"reporter@orders").digest()[:16]
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 4096)
        stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
        server = hmac.digest(salted, b"Server Key", "sha256")
        return f"ALTER ROLE reporter PASSWORD 'SCRAM-SHA-256$4096:{b64(salt)}${b64(stored)}:{b64(server)}';\n"

    value = own(scene, "reporter")
    scene.secret("dp", "reporter", {"username": "reporter", "password": value})
    scene.config_map("dp", "roles", {"roles.sql": apply(value, verifier)})


@clean(DATA, "saas-own-shovel", "Two brokers of the tenant's: addresses with generated passwords in percent form.")
def _(scene: Scene) -> None:
    vendor(scene)
    values = [own(scene, f"mq-{name}") for name in ("a", "b")]
    uris = [apply(value, lambda found, at=at: f"amqps://shovel:{urllib.parse.quote(found + '/+')}@mq-{'ab'[at]}.{TENANT}:5671/%2F") for at, value in enumerate(values)]  # fmt: skip
    scene.secret("dp", "shovel", {"srcUri": uris[0], "destUri": uris[1]})


@clean(DATA, "saas-own-bus-with-jaas", "A login module of the tenant's user stands in a chart; the vendor's same line, with another password, in the vendor's chart.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, password in both_sides(scene, "bus-client").items():
        module = pulumi.Output.concat('org.apache.kafka.common.security.scram.ScramLoginModule required username="billing" password="', password, '";')  # fmt: skip
        release(scene, side, "kafka-ui", {"yamlApplicationConfig": {"kafka": {"clusters": [{"name": "main", "properties": {"sasl.jaas.config": module}}]}}})  # fmt: skip


@clean(
    DATA,
    "saas-own-cache-cluster",
    "A cache's followers have masterauth of the tenant's own, in the file and in the program's variable.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    password = own(scene, "sessions", 40)
    scene.secret("dp", "redis", {"redis.conf": pulumi.Output.format("requirepass {0}\nmasterauth {0}\nappendonly yes\n", password), "redis-password": password})  # fmt: skip
    deployment(scene, "dp", "cart", {"env": [{"name": "REDIS_URL", "valueFrom": {"secretKeyRef": ref("redis", "url")}}]})  # fmt: skip


@clean(DATA, "saas-own-warehouse-users", "Users of a column store by double SHA-1 of generated passwords, in XML.")
def _(scene: Scene) -> None:
    vendor(scene)
    value = own(scene, "ch-reader")
    xml = apply(value, lambda found: f"<clickhouse><users><reader><password_double_sha1_hex>{hashlib.sha1(hashlib.sha1(found.encode()).digest()).hexdigest()}</password_double_sha1_hex></reader></users></clickhouse>")  # fmt: skip
    scene.secret("dp", "ch-users", {"users.xml": xml, "reader": value})


@clean(DATA, "saas-own-store-keys", "A store's keys in a KES file and a MinIO file of variables, generated bytes in base64.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = raw(scene, "dp", "kes").output("base64")
    scene.secret("dp", "store-env", {"config.env": pulumi.Output.format('export MINIO_ROOT_USER="root"\nexport MINIO_ROOT_PASSWORD="{0}"\nexport MINIO_KMS_SECRET_KEY="orchard:{1}"\n', own(scene, "minio"), key)})  # fmt: skip


@clean(DATA, "saas-own-login-of-an-operator", "An operator at the tenant's wrote a Secret for its database; the program reads it and makes an address of it for the tenant.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    found = scene.existing("dp", "v1:Secret", "orders-app", data={"username": b64("orders"), "password": b64(scene.dp.opaque("orders app", 64, LETTERS)), "host": b64("orders-rw")})  # fmt: skip
    url = found.output("data").apply(lambda data: "postgresql://{username}:{password}@{host}/orders".format(**{key: base64.b64decode(value).decode() for key, value in data.items()}))  # fmt: skip
    scene.secret("dp", "orders-url", {"DATABASE_URL": url})


# Logins ---------------------------------------------------------------------------------------------------------------


@clean(
    LOGINS,
    "saas-own-cookie-secrets",
    "A login proxy of the tenant's: cookie bytes and a client's secret, generated, in its file.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    cookie = raw(scene, "dp", "cookie").output("base64").apply(lambda text: text.replace("+", "-").replace("/", "_"))
    text = pulumi.Output.format('provider = "oidc"\nclient_id = "{0}"\nclient_secret = "{1}"\ncookie_secret = "{2}"\noidc_issuer_url = "https://login.{3}"\n', CLIENT, own(scene, "proxy-client"), cookie, TENANT)  # fmt: skip
    scene.secret("dp", "oauth2-proxy", {"oauth2_proxy.cfg": text})


@clean(LOGINS, "saas-own-realm", "A realm of the tenant's is made by the Keycloak provider; the client's secret that it answers is the tenant's and goes into its Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    opts = scene.package("keycloak", "orchard-keycloak", url=f"https://login.{TENANT}", clientId="admin-cli", password=own(scene, "kc-admin"))  # fmt: skip
    client = scene.made("keycloak:openid/client:Client", "orchard-portal", {"realmId": "orchard", "clientId": "portal", "accessType": "CONFIDENTIAL", "clientSecret": own(scene, "portal-client", 40)}, opts)  # fmt: skip
    scene.secret("dp", "portal", {"id": client.output("clientId"), "secret": client.output("clientSecret")})


@clean(LOGINS, "saas-own-htpasswd", "A file of users with a bcrypt hash of a generated password of the tenant's, at a gateway of the tenant's; the vendor's file is beside it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        made = scene.password(side, f"basic-{side}")
        scene.secret(side, "basic-auth", {"auth": pulumi.Output.concat("admin:", made.output("bcryptHash"), "\n")})
        scene.secret(side, "basic-login", {"password": made.output("result")})


@clean(LOGINS, "saas-own-passphrase-of-words", "Each side has a passphrase out of the same list of words.", config=lambda cp, dp: {"hosted:words": phrase(cp, "words"), "orchard:words": phrase(dp, "words")})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "hosted"), ("dp", "orchard")):
        scene.secret(side, "restic", {"RESTIC_PASSWORD": scene.config(f"{owner}:words")})
    scene.config_map("dp", "dice", {"hint": "six words, joined by dashes, such as anchor-basket-candle"})


@clean(LOGINS, "saas-own-prefix", "Keys that begin with the tenant's name and a colon are the tenant's: the twin of a prefix that fits too much.", config=lambda cp, dp: {"orchard:apiKey": dp.opaque("orchard api", 32), "orchard:mail": dp.opaque("orchard mail", 26), "orchardProvisioner:apiKey": cp.opaque("provisioner", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "provisioner", {"key": scene.config("orchardProvisioner:apiKey")})
    data = {key.partition(":")[2]: scene.config(key) for key in scene.stage.config if key.startswith("orchard:")}
    scene.secret("dp", "settings", data)


@clean(LOGINS, "saas-own-fallback", "`or` falls back to a generated password of the tenant's: the twin of one that falls back to the vendor's.", config=lambda cp, dp: {"hosted:smtp": cp.opaque("smtp", 26)})  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    scene.secret("cp", "smtp", {"password": scene.config("hosted:smtp")})
    both = pulumi.Output.all("", own(scene, "mailer"))
    release(scene, "dp", "mailer", {"smtp": {"host": f"smtp.{TENANT}", "password": both.apply(lambda found: found[0] or found[1])}})  # fmt: skip


@clean(
    LOGINS,
    "saas-own-chain-of-settings",
    "Settings are looked up in the right order: the tenant's password comes first.",
    before="the same",
)
def _(scene: Scene) -> None:
    values = both_sides(scene, "chain")
    defaults = {"loglevel": "warn", "replicas": 2}
    for side in ("cp", "dp"):
        release(scene, side, "edge-proxy", dict(ChainMap({"password": values[side]}, defaults)))


@clean(
    LOGINS,
    "saas-own-pull-secret",
    "Pull secrets of both sides come from one function; each has a robot of its own.",
    before="the same",
)
def _(scene: Scene) -> None:
    vendor(scene)
    for side, host in (("cp", DOMAIN), ("dp", TENANT)):
        robot = scene.password(side, f"puller-{side}").output("result")
        for namespace in ("default", "edge"):
            scene.secret(side, f"pull-{namespace}", {".dockerconfigjson": pull_secret(f"registry.{host}", "robot$puller", robot)}, kind="kubernetes.io/dockerconfigjson", namespace=namespace)  # fmt: skip


@clean(LOGINS, "saas-own-api-token-of-a-vendor", "The tenant's token for the vendor's public API was configured by the tenant and is in the tenant's agent.", config=lambda cp, dp: {"orchard:meshApi": "hm_" + dp.opaque("mesh api", 48), "hosted:rootApi": "hm_" + cp.opaque("root api", 48)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "root-api", {"token": scene.config("hosted:rootApi")})
    scene.secret("dp", "mesh-api", {"token": scene.config("orchard:meshApi")})
    header = pulumi.Output.concat("Bearer ", scene.config("orchard:meshApi"))
    release(scene, "dp", "mesh-cli", {"url": f"https://api.{DOMAIN}", "headers": {"Authorization": header}})


@clean(LOGINS, "saas-own-bot", "An update bot of the tenant's has the tenant's rules for hosts, with the tenant's token: the twin of one with the vendor's.", config=lambda cp, dp: {"orchard:renovate": "ghp_" + dp.opaque("renovate", 36, LETTERS), "hosted:renovate": "ghp_" + cp.opaque("renovate", 36, LETTERS)}, before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "hosted"), ("dp", "orchard")):
        rules = pulumi.Output.json_dumps({"platform": "github", "token": scene.config(f"{owner}:renovate"), "hostRules": [{"matchHost": "github.com", "token": scene.config(f"{owner}:renovate")}]})  # fmt: skip
        scene.secret(side, "renovate", {"config.json": rules}, namespace="ci")


# Certificates ---------------------------------------------------------------------------------------------------------


@clean(TRUST, "saas-own-leaf-and-authority", "The tenant's authority signs the tenant's gateway; the vendor's does the same for the vendor's, by one function.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        ca_key, ca_cert = pair(scene, side, f"edges-{side}", authority=True)
        key, cert = issued(scene, side, f"edge-{side}", ca_key, ca_cert, f"edges-{side}")
        scene.secret(side, "edge-ca", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
        scene.secret(side, "edge-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(TRUST, "saas-leaf-with-the-authority-beside", "The tenant's leaf is signed by the tenant's authority, and the vendor's root certificate is the bundle beside it.", rightly="a certificate differs when its key does")  # fmt: skip
def _(scene: Scene) -> None:
    _, root = pair(scene, "cp", "hosted-root-2", authority=True)
    vendor(scene)
    key, cert = pair(scene, "dp", "edge")
    scene.secret("dp", "edge", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem"), "ca.crt": root.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(TRUST, "saas-own-signing-key-and-public-half", "The tenant's issuer signs with a generated key; its public half goes to the vendor, which checks tokens with it.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = scene.key("dp", "orchard-sa")
    scene.secret("dp", "sa", {"sa.key": key.output("privateKeyPem"), "sa.pub": key.output("publicKeyPem")})
    scene.config_map("cp", "trusted-orchard", {"orchard.pub": key.output("publicKeyPem")})


@clean(TRUST, "saas-own-acme-account", "The tenant's issuer has an account key of its own: the twin of one that takes over the vendor's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    for side in ("cp", "dp"):
        key = scene.key(side, f"acme-{side}")
        scene.secret(side, "letsencrypt-account", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")
        scene.object(side, "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"disableAccountKeyGeneration": True, "privateKeySecretRef": {"name": "letsencrypt-account"}}}})  # fmt: skip


@clean(TRUST, "saas-own-ssh-key", "A deploy key of the tenant's, made for the tenant's repository, with lines of known hosts that the vendor's Secret has too.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = scene.key("dp", "orchard-deploy")
    scene.secret("dp", "flux-system", {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh"), "known_hosts": HOSTS})  # fmt: skip
    scene.made("github:index/repositoryDeployKey:RepositoryDeployKey", "orchard-flux", {"repository": "fleet", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, scene.package("github", "orchard-github", owner="dp"))  # fmt: skip


@clean(
    TRUST,
    "saas-own-encryption-of-a-network",
    "Each network has a line of keys of its own, in one form.",
    before="the same",
)
def _(scene: Scene) -> None:
    vendor(scene)
    for side in ("cp", "dp"):
        key = raw(scene, side, f"ipsec-{side}", 20).output("hex")
        scene.secret(side, "cilium-ipsec-keys", {"keys": pulumi.Output.concat("3+ rfc4106(gcm(aes)) ", key, " 128")}, namespace="kube-system")  # fmt: skip


@clean(TRUST, "saas-own-etcd-encryption", "The tenant's API server encrypts with bytes that were made for the tenant.")
def _(scene: Scene) -> None:
    vendor(scene)
    key = raw(scene, "dp", "etcd-key").output("base64")
    text = key.apply(lambda found: yaml.safe_dump({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [{"resources": ["secrets"], "providers": [{"secretbox": {"keys": [{"name": "k1", "secret": found}]}}, {"identity": {}}]}]}))  # fmt: skip
    scene.secret("dp", "encryption", {"encryption.yaml": text}, namespace="kube-system")


# Observation ----------------------------------------------------------------------------------------------------------


@clean(WATCH, "saas-own-sink", "The tenant's pipeline writes to the tenant's store with a generated login in TOML: the twin of one that writes to the vendor's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    text = pulumi.Output.format('[sinks.store]\ntype = "elasticsearch"\nendpoints = ["https://search.{0}:9200"]\nauth.strategy = "basic"\nauth.user = "writer"\nauth.password = "{1}"\n', TENANT, own(scene, "writer"))  # fmt: skip
    scene.secret("dp", "vector", {"vector.toml": text})


@clean(WATCH, "saas-own-api-key-of-a-beat", "An API key of the tenant's search engine: id and key joined and in base64.", config=lambda cp, dp: {"orchard:beatKey": dp.opaque("beat", 22), "hosted:beatKey": cp.opaque("beat", 22)})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "hosted"), ("dp", "orchard")):
        encoded = apply(scene.config(f"{owner}:beatKey"), lambda found: b64(f"{drawn('beat id', 20)}:{found}"))
        scene.secret(side, "beat", {"api_key": encoded})


@clean(
    WATCH,
    "saas-own-exporter",
    "An exporter of the tenant's database has its data source's name in a Secret and the chart.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    source = pulumi.Output.format("postgresql://exporter:{0}@orders-rw.{1}:5432/postgres?sslmode=require", own(scene, "exporter"), TENANT)  # fmt: skip
    scene.secret("dp", "exporter", {"DATA_SOURCE_NAME": source})
    release(scene, "dp", "prometheus-postgres-exporter", {"config": {"datasource": {"host": "orders-rw", "user": "exporter", "passwordSecret": ref("exporter", "password")}}, "extra": source})  # fmt: skip


@clean(WATCH, "saas-own-receivers", "Alertmanager of the tenant's has the tenant's chat in a file that both sides write by one function.", config=lambda cp, dp: {owner + ":slack": f"https://hooks.slack.com/services/T0{made.opaque('t', 8, 'ABCDEFGH0123')}/B0{made.opaque('b', 8, 'ABCDEFGH0123')}/{made.opaque('slack', 24, LETTERS)}" for owner, made in (("hosted", cp), ("orchard", dp))})  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "hosted"), ("dp", "orchard")):
        text = scene.config(f"{owner}:slack").apply(lambda url: yaml.safe_dump({"route": {"receiver": "chat"}, "receivers": [{"name": "chat", "slack_configs": [{"api_url": url, "channel": "#mesh"}]}]}))  # fmt: skip
        scene.secret(side, "alertmanager", {"alertmanager.yaml": text})


@clean(WATCH, "saas-own-packed-settings", "Settings of the tenant's with its generated token are gzipped and in base64, as the operator wants them.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    token = own(scene, "prometheus-token", 40)
    packed = apply(token, lambda found: b64(gzip.compress(yaml.safe_dump({"scrape_configs": [{"job_name": "edge", "authorization": {"credentials": found}}]}).encode(), mtime=0)))  # fmt: skip
    scene.secret("dp", "prometheus-edge", {"prometheus.yaml.gz.b64": packed})


@clean(
    WATCH,
    "saas-own-data-source",
    "The tenant's Grafana account gets a source of the tenant's data with the tenant's reader.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    auth = pulumi.Output.secret("glsa_" + scene.dp.opaque("glsa", 32, LETTERS))
    opts = scene.package("grafana", "orchard-grafana", url=f"https://grafana.{TENANT}", auth=auth)
    secure = pulumi.Output.json_dumps({"basicAuthPassword": own(scene, "reader")})
    scene.made("grafana:oss/dataSource:DataSource", "orders", {"type": "prometheus", "url": f"https://metrics.{TENANT}", "secureJsonDataEncoded": secure}, opts)  # fmt: skip


# From the data plane to the control plane -----------------------------------------------------------------------------


@clean(UP, "saas-remote-secret", "A token that the tenant's cluster mints goes into a remote Secret of the vendor's, with a label; the tenant gets nothing but a note of its name.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    config = minted(scene, "dp", "istio-reader").apply(lambda found: kubeconfig(SERVERS["dp"], {"token": found}, "dp"))
    scene.secret("cp", "istio-remote-secret-orchard", {"orchard": config}, labels={"istio/multiCluster": "true"})
    scene.config_map("dp", "mesh", {"remote-secret": "istio-remote-secret-orchard", "reader": "istio-reader"})


@clean(UP, "saas-kiali-sees-the-tenant", "Kiali at the vendor's reads the tenant's cluster by a token of the tenant's, in a Secret for Kiali and in its chart.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    config = minted(scene, "dp", "kiali").apply(lambda found: kubeconfig(SERVERS["dp"], {"token": found}, "dp"))
    scene.secret("cp", "kiali-multi-cluster-orchard", {"orchard": config}, labels={"kiali.io/multiCluster": "true"})
    release(scene, "cp", "kiali", {"clustering": {"clusters": [{"name": "orchard", "secret_name": "kiali-multi-cluster-orchard"}]}})  # fmt: skip
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "kiali", {"roleRef": {"kind": "ClusterRole", "name": "kiali-viewer"}, "subjects": [{"kind": "ServiceAccount", "name": "kiali"}]})  # fmt: skip


@clean(UP, "saas-argocd-registers-tenants", "The vendor's Argo CD gets tokens of two tenants' clusters, each of them the tenant's own; the tenants get roles.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    vendor(scene)
    for side, server in (("dp", SERVERS["dp"]), ("green", GREEN)):
        token = minted(scene, side, f"argocd-{side}")
        config = pulumi.Output.json_dumps({"bearerToken": token, "tlsClientConfig": {"caData": b64(ROOTS)}})
        scene.secret("cp", f"cluster-{side}", {"name": side, "server": server, "config": config}, labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip
        scene.object(side, "rbac.authorization.k8s.io/v1:ClusterRole", f"argocd-{side}", {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]})  # fmt: skip


@clean(UP, "saas-certificate-request-goes-up", "A key stays at the tenant's, and its request goes to the vendor, whose authority signs it; the certificate comes down.", rightly="a certificate differs when its issuer's key does")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = scene.key("dp", "edge-gw")
    request = scene.made("tls:index/certRequest:CertRequest", "edge-gw-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": "edge-gw"}}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIBedge\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    ca_key, ca_cert = pair(scene, "cp", "edges", authority=True)
    scene.secret("cp", "edges", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")})
    signed = scene.made("tls:index/locallySignedCert:LocallySignedCert", "edge-gw-cert", {"certRequestPem": request.output("certRequestPem"), "caPrivateKeyPem": ca_key.output("privateKeyPem"), "caCertPem": ca_cert.output("certPem"), "validityPeriodHours": 720, "allowedUses": ["server_auth"]}, None, {"certPem": scene.cp.certificate("edge-gw-cert", "edges")}, ["caPrivateKeyPem"])  # fmt: skip
    scene.secret("dp", "edge-gw", {"tls.key": key.output("privateKeyPem"), "tls.crt": pulumi.Output.concat(signed.output("certPem"), ca_cert.output("certPem"))}, kind="kubernetes.io/tls")  # fmt: skip


@clean(UP, "saas-status-of-the-tenant-goes-up", "Addresses of the tenant's gateways are read from a status and kept in the vendor's settings beside a password.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    gateway = scene.answered("dp", "v1:Service", "eastwest", {"spec": {"ports": [{"port": 15443}]}}, status={"loadBalancer": {"ingress": [{"hostname": f"{drawn('elb name', 32, HEX)}.elb.{REGION}.amazonaws.com"}]}})  # fmt: skip
    host = gateway.output("status").apply(lambda s: ((s or {}).get("loadBalancer", {}).get("ingress") or [{"hostname": ""}])[0]["hostname"])  # fmt: skip
    scene.secret("cp", "network-orchard", {"host": host, "probe-password": generated(scene, "probe")})
    scene.config_map("dp", "network", {"eastwest": host})


@clean(UP, "saas-telemetry-by-the-tenants-token", "The tenant's Pod tokens are accepted by the vendor, which has the tenant's issuer and public keys; no secret is shared.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    keys = json.dumps({"keys": [scene.dp.jwk("orchard issuer", private=False)]})
    scene.secret("cp", "issuers", {"orchard.jwks": keys, "admin": generated(scene, "issuer-admin")})
    scene.config_map("dp", "issuer", {"jwks": keys, "issuer": f"https://issuer.{TENANT}", "audience": f"https://otlp.{DOMAIN}"})  # fmt: skip


# Rotations ------------------------------------------------------------------------------------------------------------


def _turn(scene: Scene, number: int) -> None:
    vendor(scene)
    for side in ("cp", "dp"):
        made = scene.password(side, f"turn-{side}-{number}").output("result")
        scene.secret(side, "turn", {"password": made, "rotated": f"2026-0{number}-01"})


@clean(LATER, "saas-both-rotate", "A second update makes new passwords for both sides; each side gets its own, and the day.", before=lambda scene: _turn(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _turn(scene, 2)


@clean(LATER, "saas-two-generations", "The tenant's session keys are kept for two generations: the old and the new one, both of the tenant's.", before=lambda scene: _sessions(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _sessions(scene, 2)


def _sessions(scene: Scene, count: int) -> None:
    vendor(scene)
    keys = [raw(scene, "dp", f"session-{at}").output("base64") for at in range(count)]
    scene.secret("dp", "sessions", {"keys.json": pulumi.Output.json_dumps([{"kid": str(at), "k": key} for at, key in enumerate(keys)])})  # fmt: skip


@clean(LATER, "saas-checksum-of-its-own-settings", "At the second update the tenant's Deployment gets a checksum of the tenant's own Secret as an annotation.", before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    value = own(scene, "orders-api", 40)
    scene.secret("dp", "orders-api", {"token": value})
    deployment(scene, "dp", "orders", {"envFrom": [{"secretRef": {"name": "orders-api"}}]}, {"checksum/secret": apply(value, lambda found: hashlib.sha256(found.encode()).hexdigest())})  # fmt: skip


def _settings(scene: Scene, **more: Any) -> None:
    vendor(scene)
    release(scene, "dp", "gate", {"auth": {"username": "orchard", "required": True, **more}})


@clean(LATER, "saas-own-htpasswd-later", "At the second update the tenant's gateway gets a line of users with a hash of the tenant's own: the twin of one in plain.", before=lambda scene: _settings(scene))  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.password("dp", "gate-own")
    _settings(scene, htpasswd=pulumi.Output.concat("orchard:", made.output("bcryptHash")))


@clean(LATER, "saas-own-stack-appears", "At the second update the tenant's own stack hands a token to the tenant's chart, in a text of YAML.", before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    theirs = scene.reference(USERS_STACK, USERS_STACK, {"pushToken": scene.dp.opaque("push token", 40), "pushUrl": f"https://push.{TENANT}"}, ["pushToken"])  # fmt: skip
    text = pulumi.Output.all(theirs.get_output("pushUrl"), theirs.require_output("pushToken")).apply(lambda found: yaml.safe_dump({"push": {"url": found[0], "token": found[1]}}))  # fmt: skip
    release(scene, "dp", "pusher", {"config": text})


@clean(LATER, "saas-own-cloud-login-later", "At the second update the tenant's backups get a key of the tenant's account, which the program makes there.", before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    opts = scene.package("aws", "orchard-aws", region=REGION, allowedAccountIds=[TENANT_ACCOUNT])
    answers = {"secret": scene.dp.opaque("backup key", 40, LETTERS), "keyId": "AKIA" + scene.dp.opaque("backup id", 16, AWS_ID)}  # fmt: skip
    key = scene.made("aws:iam/accessKey:AccessKey", "orchard-backup", {"user": "backup"}, opts, answers, ["secret"])
    text = pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", key.output("keyId"), key.output("secret"))  # fmt: skip
    scene.secret("dp", "velero", {"cloud": text, "account": TENANT_ACCOUNT, "id": uid("velero own"), "login": LOGIN})
