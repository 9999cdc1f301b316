"""Harmless, of a team that has read the README: what the program makes for a tenant and sends to that tenant."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, minted, pair, raw
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, pull_secret, uid

from .world import (
    ALDER,
    ALDER_ACCOUNT,
    ALDER_DIRECTORY,
    ALDER_PROJECT,
    ALDER_SUBSCRIPTION,
    DOMAIN,
    REGION,
    alder,
    both,
    hosted,
    hub,
    theirs,
)

MADE, ACCOUNTS = "fourteenth: made for a tenant", "fourteenth: answered by a tenant's account"


def sent(**lengths: int) -> Callable[[Material, Material], dict[str, str]]:
    """Configuration of secrets that the tenant sent."""
    return lambda cp, dp: {f"alder:{key}": dp.opaque(f"alder {key}", length, LETTERS) for key, length in lengths.items()}  # fmt: skip


# Made for a tenant ----------------------------------------------------------------------------------------------------


@clean(MADE, "fourteenth-own-database-with-its-login", "The tenant's database and the login of its owner are made together, both in the tenant's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "orders-owner", {"username": "orders", "password": theirs(scene, "orders")}, "kubernetes.io/basic-auth", namespace="shop")  # fmt: skip
    spec = {"instances": 3, "bootstrap": {"initdb": {"database": "orders", "owner": "orders", "secret": {"name": "orders-owner"}}}, "storage": {"size": "20Gi"}}  # fmt: skip
    scene.object("dp", "postgresql.cnpg.io/v1:Cluster", "orders", {"metadata": {"namespace": "shop"}, "spec": spec})


@clean(MADE, "fourteenth-own-keys-of-sessions", "Each of the tenant's applications gets a generated key for its sessions, in a loop.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name in ("shop", "search", "returns"):
        scene.secret("dp", f"{name}-session", {"SESSION_KEY": theirs(scene, f"{name}-session", 64), "SESSION_NAME": name}, namespace=name)  # fmt: skip
        deployment(scene, "dp", name, {"envFrom": [{"secretRef": {"name": f"{name}-session"}}]})


@clean(MADE, "fourteenth-own-serving-certificate", "A key and a certificate for the tenant's shop are generated; the tenant's gateway has both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key, certificate = pair(scene, "dp", "shop-gateway")
    scene.secret("dp", "shop-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="istio-gateways")  # fmt: skip
    server = {"port": {"number": 443, "name": "https", "protocol": "HTTPS"}, "tls": {"mode": "SIMPLE", "credentialName": "shop-tls"}, "hosts": [f"shop.{ALDER}"]}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:Gateway", "shop", {"metadata": {"namespace": "istio-gateways"}, "spec": {"selector": {"istio": "gateway"}, "servers": [server]}})  # fmt: skip


@clean(MADE, "fourteenth-own-authority-for-queues", "The tenant's queues have an authority of their own, which signs a certificate for each broker; all of it is the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ca_key, ca = pair(scene, "dp", "alder-queue-ca", authority=True)
    scene.secret("dp", "queue-ca", {"ca.key": ca_key.output("privateKeyPem"), "ca.crt": ca.output("certPem")}, namespace="queue")  # fmt: skip
    for at in range(2):
        key, certificate = issued(scene, "dp", f"alder-broker-{at}", ca_key, ca, "alder-queue-ca")
        scene.secret("dp", f"broker-{at}", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem"), "ca.crt": ca.output("certPem")}, "kubernetes.io/tls", namespace="queue")  # fmt: skip


@clean(MADE, "fourteenth-own-hmac-of-a-hook", "Sender and receiver of a hook, both the tenant's, share a generated word.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = theirs(scene, "hook", 48)
    for name in ("sender", "receiver"):
        scene.secret("dp", f"{name}-hmac", {"HMAC_SECRET": word}, namespace="hooks")


@clean(MADE, "fourteenth-own-sealing-key", "The tenant's controller of sealed secrets starts with a key that was generated for the tenant, so that its people can seal before it runs.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key, certificate = pair(scene, "dp", "alder-sealing")
    scene.secret("dp", "sealed-secrets-key1", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}, "kubernetes.io/tls", namespace="sealed-secrets", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip
    release(scene, "dp", "sealed-secrets", {"fullnameOverride": "sealed-secrets-controller"})


@clean(MADE, "fourteenth-own-deploy-key", "A deploy key is generated for the tenant's repository: GitHub has the public half, the tenant's Flux the private one.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("dp", "alder-apps")
    opts = scene.package("github", "alder-github", owner="dp")
    scene.made("github:index/repositoryDeployKey:RepositoryDeployKey", "apps", {"repository": "apps", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, opts)  # fmt: skip
    scene.secret("dp", "apps", {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh"), "known_hosts": "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"}, namespace="flux-system")  # fmt: skip


@clean(MADE, "fourteenth-own-password-in-values", "A chart of the tenant's takes its cache's password as a value; it was generated for this chart.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "valkey", {"auth": {"enabled": True, "password": theirs(scene, "valkey")}, "replica": {"replicas": 2}, "metrics": {"enabled": True}})  # fmt: skip


@clean(MADE, "fourteenth-own-page-behind-a-login", "The tenant's page has basic authentication: the file has the hash, and a second Secret the password for the tenant's people.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = scene.password("dp", "alder-reports")
    scene.secret("dp", "reports-auth", {"auth": pulumi.Output.concat("admin:", made.output("bcryptHash"))}, namespace="reports")  # fmt: skip
    scene.secret("dp", "reports-login", {"username": "admin", "password": made.output("result")}, namespace="reports")


@clean(MADE, "fourteenth-own-signer-of-tokens", "The tenant's login service signs with a generated key; proxies of the tenant's check with the public one, which is in a ConfigMap.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = scene.key("dp", "alder-login")
    scene.secret("dp", "login-signer", {"private.pem": key.output("privateKeyPemPkcs8")}, namespace="login")
    scene.config_map("dp", "login-public", {"public.pem": key.output("publicKeyPem"), "issuer": f"https://login.{ALDER}"}, namespace="edge")  # fmt: skip


@clean(MADE, "fourteenth-own-tokens-of-the-configuration", "Tokens of vendors, which the tenant sent and the stack's configuration keeps, are in a Secret of the tenant's.", config=sent(payments=48, mail=32))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "vendors", {"PAYMENTS_KEY": scene.config("alder:payments"), "MAIL_TOKEN": scene.config("alder:mail"), "MAIL_HOST": "smtp.mail.example.com"}, namespace="shop")  # fmt: skip


@clean(MADE, "fourteenth-own-environment-file", "A file of variables for the tenant's shop has its own address of a database, with a generated login, among settings.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    lines = pulumi.Output.concat(f"PORT=8080\nREGION={REGION}\nDATABASE_URL=postgresql://shop:", theirs(scene, "shop-db"), f"@pg.{ALDER}:5432/shop\nMESH=osprey-eu\nADMIN_USER=admin\n")  # fmt: skip
    scene.secret("dp", "shop-env", {".env": lines}, namespace="shop")


@clean(MADE, "fourteenth-own-registry-login", "Nodes of the tenant pull from the tenant's own registry by the robot that the tenant sent.", config=sent(robot=40))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = pull_secret(f"registry.{ALDER}", "robot$nodes", scene.config("alder:robot"))
    for name in ("shop", "search"):
        scene.secret("dp", f"pull-{name}", {".dockerconfigjson": login}, "kubernetes.io/dockerconfigjson", namespace=name)  # fmt: skip


@clean(MADE, "fourteenth-own-cookie-key", "A proxy of the tenant's encrypts its cookies by random bytes that were made for it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    cookie = raw(scene, "dp", "alder-cookies").output("base64")
    scene.secret("dp", "oauth2-proxy", {"cookie-secret": cookie, "client-id": "shop"}, namespace="edge")


@clean(MADE, "fourteenth-own-kubeconfig-for-its-pipeline", "The tenant's cluster mints a token for its pipeline; a kubeconfig with it is a secret of the tenant's repository.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "dp", "pipeline")
    file = apply(token, lambda text: kubeconfig(SERVERS["dp"], {"token": text}, "authority of the tenant's cluster"))
    opts = scene.package("github", "alder-github", owner="dp")
    scene.made("github:index/actionsSecret:ActionsSecret", "kubeconfig", {"repository": "shop", "secretName": "KUBECONFIG", "plaintextValue": file}, opts, None, ["plaintextValue"])  # fmt: skip


@clean(MADE, "fourteenth-own-argo-with-its-clusters", "The tenant's Argo CD manages the tenant's second cluster, by a token that this one minted.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.join("second", f"https://second.{ALDER}:6443")
    config = pulumi.Output.json_dumps({"bearerToken": minted(scene, "second", "argocd-manager"), "tlsClientConfig": {"insecure": False}})  # fmt: skip
    scene.secret("dp", "cluster-second", {"name": "second", "server": f"https://second.{ALDER}:6443", "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@clean(MADE, "fourteenth-own-two-istiods", "Two clusters of one tenant read each other's end points: each has a remote secret with the other's token.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.join("south", f"https://south.{ALDER}:6443")
    servers = {"dp": SERVERS["dp"], "south": f"https://south.{ALDER}:6443"}
    for here, there in (("dp", "south"), ("south", "dp")):
        file = apply(minted(scene, there, f"reader-for-{here}"), lambda text, server=servers[there]: kubeconfig(server, {"token": text}, "authority"))  # fmt: skip
        scene.secret(here, f"istio-remote-secret-{there}", {there: file}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@clean(MADE, "fourteenth-own-cacerts-of-two-tenants", "For each tenant a loop makes an authority and writes it to that tenant's cluster only.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in both(scene).items():
        key, certificate = pair(scene, "dp", f"{name}-mesh-ca", authority=True)
        scene.secret(side, "cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": certificate.output("certPem"), "root-cert.pem": certificate.output("certPem"), "cert-chain.pem": certificate.output("certPem")}, namespace=f"mesh-{name}")  # fmt: skip


@clean(MADE, "fourteenth-own-logins-of-two-tenants", "Grafana's administrator has a generated password for each tenant, by one function that is called in a loop.")  # fmt: skip
def _(scene: Scene) -> None:
    def grafana(side: str, tenant: str, word: pulumi.Output[str]) -> None:
        scene.secret(side, f"grafana-{tenant}", {"admin-user": "admin", "admin-password": word}, namespace="monitoring")

    grafana("cp", "osprey", hosted(scene, "grafana-hub"))
    for name, side in both(scene).items():
        grafana(side, name, theirs(scene, "grafana", tenant=name))


# Answered by a tenant's account ---------------------------------------------------------------------------------------


@clean(ACCOUNTS, "fourteenth-own-access-key-for-backups", "In the tenant's account a user gets an access key; Velero in the tenant's cluster logs in by it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    alder(scene, "aws:iam/user:User", "velero", {"name": "velero", "path": "/backup/"}, region=REGION)
    made = alder(scene, "aws:iam/accessKey:AccessKey", "velero-key", {"user": "velero"}, {"id": f"AKIA{drawn('alder velero', 16, AWS_ID)}", "secret": scene.dp.opaque("alder velero", 40, LETTERS)}, ["secret"])  # fmt: skip
    file = pulumi.Output.concat("[default]\naws_access_key_id = ", made.id, "\naws_secret_access_key = ", made.output("secret"), "\n")  # fmt: skip
    release(scene, "dp", "velero", {"credentials": {"secretContents": {"cloud": file}}, "configuration": {"backupStorageLocation": [{"provider": "aws", "bucket": "alder-velero"}]}})  # fmt: skip


@clean(ACCOUNTS, "fourteenth-own-account-key-of-a-project", "A service account of the tenant's project gets a key, which external-dns in its cluster has as a file.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = alder(scene, "gcp:serviceaccount/key:Key", "dns", {"serviceAccountId": f"dns@{ALDER_PROJECT}.iam.gserviceaccount.com"}, {"privateKey": b64(json.dumps({"type": "service_account", "project_id": ALDER_PROJECT, "private_key": scene.dp.key("alder dns")}))}, ["privateKey"], project=ALDER_PROJECT)  # fmt: skip
    scene.secret("dp", "external-dns", {"credentials.json": apply(made.output("privateKey"), lambda text: base64.b64decode(text or "").decode())}, namespace="external-dns")  # fmt: skip


@clean(ACCOUNTS, "fourteenth-own-password-of-a-principal", "An application of the tenant's directory gets a password, and Crossplane in the tenant's cluster a Secret with it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = alder(scene, "azuread:index/applicationPassword:ApplicationPassword", "crossplane", {"applicationId": f"/applications/{uid('alder crossplane')}"}, {"value": scene.dp.opaque("alder principal", 40, LETTERS), "keyId": uid("alder key id")}, ["value"], tenantId=ALDER_DIRECTORY)  # fmt: skip
    creds = apply(made.output("value"), lambda word: json.dumps({"clientId": uid("alder client"), "clientSecret": word, "tenantId": ALDER_DIRECTORY, "subscriptionId": ALDER_SUBSCRIPTION}))  # fmt: skip
    scene.secret("dp", "azure-creds", {"creds": creds}, namespace="crossplane-system")


@clean(ACCOUNTS, "fourteenth-own-database-of-its-account", "A database in the tenant's account has a generated password, and its address with the login is in the tenant's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = theirs(scene, "rds")
    made = alder(scene, "aws:rds/instance:Instance", "orders-db", {"engine": "postgres", "instanceClass": "db.t4g.medium", "username": "postgres", "password": word}, {"address": f"orders.c3kd.{REGION}.rds.amazonaws.com"}, ["password"], region=REGION)  # fmt: skip
    scene.secret("dp", "orders-db", {"url": pulumi.Output.concat("postgresql://postgres:", word, "@", made.output("address"), ":5432/orders")}, namespace="shop")  # fmt: skip


@clean(ACCOUNTS, "fourteenth-own-entry-of-its-store", "A generated password goes to the tenant's own manager of secrets, and its cluster has an ExternalSecret that names the entry.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = alder(scene, "aws:secretsmanager/secret:Secret", "search-api", {"name": "alder/search"}, {"arn": f"arn:aws:secretsmanager:{REGION}:{ALDER_ACCOUNT}:secret:alder/search-a1B2c3"}, region=REGION)  # fmt: skip
    alder(scene, "aws:secretsmanager/secretVersion:SecretVersion", "search-api-1", {"secretId": made.output("arn"), "secretString": theirs(scene, "search-api")}, None, ["secretString"])  # fmt: skip
    data = [{"secretKey": "token", "remoteRef": {"key": made.output("arn")}}]
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "search", {"spec": {"refreshInterval": "1h", "secretStoreRef": {"name": "alder", "kind": "SecretStore"}, "data": data}})  # fmt: skip


@clean(ACCOUNTS, "fourteenth-own-token-of-its-zone", "In the tenant's Cloudflare account a token is made for the tenant's zone; its issuer solves challenges by it.", config=sent(cloudflare=40))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = alder(scene, "cloudflare:index/apiToken:ApiToken", "acme", {"name": "acme", "policies": [{"effect": "allow", "resources": json.dumps({f"com.cloudflare.api.account.zone.{drawn('alder zone', 32, HEX)}": "*"})}]}, {"value": scene.dp.opaque("alder acme", 40, LETTERS)}, ["value"], apiToken=scene.config("alder:cloudflare"))  # fmt: skip
    scene.secret("dp", "cloudflare", {"api-token": made.output("value")}, namespace="cert-manager")
    solver = {"dns01": {"cloudflare": {"apiTokenSecretRef": ref("cloudflare", "api-token")}}}
    scene.object("dp", "cert-manager.io/v1:Issuer", "acme", {"spec": {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "privateKeySecretRef": {"name": "acme"}, "solvers": [solver]}}})  # fmt: skip


@clean(ACCOUNTS, "fourteenth-own-user-data-of-its-nodes", "Nodes of the tenant's own k3s join by a token that was generated for that cluster, in their user data.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = theirs(scene, "k3s", 48)
    data = apply(token, lambda text: b64("#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/rancher/k3s/config.yaml", "content": f"server: https://k3s.{ALDER}:6443\ntoken: {text}\n"}], "runcmd": ["systemctl enable --now k3s-agent"]})))  # fmt: skip
    alder(scene, "aws:ec2/launchTemplate:LaunchTemplate", "k3s-workers", {"instanceType": "m7g.large", "userData": data, "tags": {"provider": DOMAIN}}, region=REGION)  # fmt: skip
