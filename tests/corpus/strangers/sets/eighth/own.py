"""Harmless, on a platform with tenants: each tenant's own secrets in its own cluster and accounts, and what goes up."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, kept, minted, own, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, pull_secret, uid
from tests.corpus.world import Box

from .world import (
    BIRCH,
    BIRCH_ACCOUNT,
    BIRCH_PROJECT,
    BOTH,
    CERTIFICATE,
    DOMAIN,
    GRID,
    ISSUER,
    REGION,
    birch,
    core,
    pod,
    tenants,
    twins,
)

OWN, ACCOUNTS, UP = "eighth: tenants' own secrets", "eighth: tenants' own accounts", "eighth: upwards, which is allowed"


@clean(OWN, "eighth-own-mail-by-merge-order", "The tenant's row comes after the defaults: the twin of a merge the other way round.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    defaults = {"smtpHost": f"smtp.{DOMAIN}", "smtpPassword": generated(scene, "smtp")}
    for name, side in tenants(scene).items():
        row = {"smtpHost": f"smtp.{name}.example.com", "smtpPassword": own(scene, f"smtp-{name}"), "name": name}
        scene.secret(side, "mail", {**defaults, **row})


@clean(OWN, "eighth-own-database-bound-in-apply", "The name is bound as a default of the function in an apply: the twin of a captured variable.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    owners = {"birch": "dp", "grid": "cp"}
    words = {name: scene.password(side, f"pg-{name}").output("result") for name, side in owners.items()}
    for name, side in owners.items():
        url = pulumi.Output.all(f"db.{DOMAIN}", words[name]).apply(lambda found, name=name: f"postgres://{name}:{found[1]}@{found[0]}/{name}")  # fmt: skip
        scene.secret(side, "database", {"url": url})


@clean(OWN, "eighth-own-logins-by-key", "Logins are looked up by the tenant's name; a name that is not there is an error: the twin of a default.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    generated(scene, "fallback", "token", 40)
    logins = {name: own(scene, f"login-{name}", 40) for name in ("birch", "alder")}
    for name, side in tenants(scene).items():
        scene.secret(side, "gateway-login", {"user": name, "token": logins[name]})


@clean(OWN, "eighth-own-registry-by-longest-host", "The longest host that fits is taken: the twin of the first one.")
def _(scene: Scene) -> None:
    word = twins(scene, "mirror")
    logins = {f"registry.{DOMAIN}": ("grid", word["cp"]), f"birch.registry.{DOMAIN}": ("birch", word["dp"])}
    host = max((host for host in logins if f"birch.registry.{DOMAIN}".endswith(host)), key=len)
    scene.secret("dp", "mirror", {".dockerconfigjson": pull_secret(host, *logins[host])}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip


@clean(OWN, "eighth-own-login-of-a-cached-function", "A cached function has service and side in its key: the twin of one that forgets the owner.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made: dict[tuple[str, str], Any] = {}
    for side in ("cp", "dp", "dp", "cp"):
        if ("search", side) not in made:
            made["search", side] = scene.password(side, f"search-{side}").output("result")
    for side in ("cp", "dp"):
        scene.secret(side, "search", {"username": "search", "password": made["search", side]})


@clean(OWN, "eighth-own-component-with-secrets-as-arguments", "A component takes secrets as arguments: each instance has those of its owner, and hands them to a Secret and a chart.")  # fmt: skip
def _(scene: Scene) -> None:
    class Shop(Box):
        def __init__(self, side: str, *, session: Any, database: Any) -> None:
            super().__init__(f"shop-{side}", "grid:index:Shop")
            secret = scene.object(side, "v1:Secret", "shop", {"stringData": {"session": session, "database": database}}, parent=self)  # fmt: skip
            release(scene, side, "shop", {"auth": {"existingSecret": "shop", "sessionKey": session}}, depends_on=[secret], parent=self)  # fmt: skip
            self.register_outputs({"database": database})

    for side in ("cp", "dp"):
        Shop(side, session=raw(scene, side, f"session-{side}").output("base64"), database=scene.password(side, f"shop-{side}").output("result"))  # fmt: skip


@clean(OWN, "eighth-own-section-of-an-object", "One secret object of the configuration has a section for each tenant; each gets its own, as a file.", pack=BOTH, config=lambda cp, dp: {"tenants": json.dumps({"birch": {"apiKey": dp.opaque("birch api", 36)}, "alder": {"apiKey": dp.opaque("alder api", 36)}}), "grid": json.dumps({"apiKey": cp.opaque("grid api", 36)})})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "api", {"settings.json": scene.config("grid")})
    every = scene.config("tenants").apply(json.loads)
    for name, side in tenants(scene).items():
        scene.secret(side, "api", {"settings.yaml": every.apply(lambda found, name=name: yaml.safe_dump({"tenant": name, **found[name]}))})  # fmt: skip


@clean(OWN, "eighth-own-stack-per-tenant", "Each tenant has a stack of its own, whose secret output goes to that tenant's cluster.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    for name, side in tenants(scene).items():
        found = scene.reference(name, f"acme/data-{name}/prod", {"cacheUrl": f"rediss://{name}:" + scene.dp.opaque(f"cache {name}", 32) + f"@cache.{name}.example.com:6380", "region": REGION}, ["cacheUrl"])  # fmt: skip
        scene.secret(side, "cache", {"url": found.require_output("cacheUrl"), "region": found.get_output("region")})


@clean(OWN, "eighth-own-authority-and-leaves", "The tenant's own authority signs leaves for its gateways; keys stay in its cluster, the platform has an authority of the same shape.")  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        ca_key, ca_cert = pair(scene, side, f"mesh-ca-{side}", authority=True)
        key, cert = issued(scene, side, f"eastwest-{side}", ca_key, ca_cert, f"mesh-ca-{side}")
        scene.secret(side, "eastwest", {"tls.key": key.output("privateKeyPem"), "tls.crt": pulumi.Output.concat(cert.output("certPem"), ca_cert.output("certPem"))}, kind="kubernetes.io/tls")  # fmt: skip


@clean(OWN, "eighth-own-dotenv-packed", "A file of variables of the tenant's, with a generated password, is gzipped in base64, in a Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "app")
    text = pulumi.Output.format("API_URL=https://api.{0}\nAPI_PASSWORD={1}\n", DOMAIN, word["dp"])
    scene.secret("dp", "app", {"env.gz": apply(text, lambda found: b64(gzip.compress(found.encode(), mtime=0)))})


@clean(OWN, "eighth-own-token-minted-and-used", "A token that the tenant's cluster mints is in a kubeconfig for that cluster, for the tenant's pipeline.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    config = minted(scene, "dp", "deployer").apply(lambda found: kubeconfig(SERVERS["dp"], {"token": found}, "dp"))
    scene.secret("dp", "pipeline", {"config": config}, namespace="ci")


@clean(OWN, "eighth-own-hash-for-a-gateway", "The bcrypt hash of the tenant's own generated password is in a file of users.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    made = scene.password("dp", "gateway")
    scene.secret("dp", "users", {"auth": pulumi.Output.concat("birch:", made.output("bcryptHash"))})
    scene.secret("dp", "gateway", {"password": made.output("result")})


@clean(OWN, "eighth-own-policy-and-variable", "A policy of the tenant's adds a variable to Pods by a reference to the tenant's Secret, made beside it.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    scene.secret("dp", "apm", {"token": own(scene, "apm-own", 40)})
    patch = {"spec": {"containers": [{"(name)": "*", "env": [{"name": "APM_TOKEN", "valueFrom": {"secretKeyRef": {"name": "apm", "key": "token"}}}]}]}}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "apm", {"spec": {"rules": [{"name": "apm", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "mutate": {"patchStrategicMerge": patch}}]}})  # fmt: skip


@clean(OWN, "eighth-own-checksum-of-a-secret", "A Deployment has a checksum of the tenant's own Secret as an annotation, the platform's one of the platform's.")  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        value = scene.password(side, f"roll-{side}").output("result")
        scene.secret(side, "roll", {"password": value})
        deployment(scene, side, "roll", {"envFrom": [{"secretRef": {"name": "roll"}}]}, {"checksum/secret": apply(value, lambda found: hashlib.sha256(found.encode()).hexdigest())})  # fmt: skip


@clean(OWN, "eighth-own-random-bytes-for-cookies", "Random bytes of the tenant's are a cookie's key, in hexadecimal and base64; the platform has others of the same length.")  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        made = raw(scene, side, f"cookie-{side}")
        scene.secret(side, "cookie", {"hex": made.output("hex"), "base64": made.output("base64")})
        release(scene, side, "oauth2-proxy", {"config": {"cookieSecret": made.output("base64"), "clientID": uid(f"client {side}")}})  # fmt: skip


# Accounts -------------------------------------------------------------------------------------------------------------


@clean(ACCOUNTS, "eighth-own-parameters", "The tenant's parameter store gets facts of the platform and a generated login of the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    rows = {"/grid/endpoint": f"api.{DOMAIN}", "/grid/mesh": GRID, "/orders/password": own(scene, "orders-parameter", 40)}  # fmt: skip
    for path, value in rows.items():
        birch(scene, "aws:ssm/parameter:Parameter", path.strip("/").replace("/", "-"), {"name": path, "type": "SecureString", "value": value}, region=REGION, allowedAccountIds=[BIRCH_ACCOUNT])  # fmt: skip


@clean(ACCOUNTS, "eighth-own-secret-versions", "Versions of secrets in each project are the owner's: the twin of a mapping of both.")  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "orders-db")
    birch(scene, "gcp:secretmanager/secretVersion:SecretVersion", "orders-db-own", {"secret": f"projects/{BIRCH_PROJECT}/secrets/orders-db", "secretData": word["dp"]}, project=BIRCH_PROJECT)  # fmt: skip
    scene.made("gcp:secretmanager/secretVersion:SecretVersion", "grid-db-own", {"secret": "projects/grid-core-481920/secrets/grid-db", "secretData": word["cp"]}, owner="cp")  # fmt: skip


@clean(ACCOUNTS, "eighth-own-key-of-a-cloud", "A key made in the tenant's account is in the tenant's cluster and repository; the platform's is in the platform's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    ours = cloud(scene, "aws:iam/accessKey:AccessKey", "grid-key", {"user": "grid"}, {"secret": scene.cp.opaque("grid key", 40, LETTERS)}, ["secret"])  # fmt: skip
    scene.secret("cp", "aws", {"secret": ours.output("secret")})
    theirs = birch(scene, "aws:iam/accessKey:AccessKey", "birch-key", {"user": "birch"}, {"secret": scene.dp.opaque("birch key", 40, LETTERS), "keyId": f"AKIA{drawn('birch key', 16, AWS_ID)}"}, ["secret"], region=REGION)  # fmt: skip
    scene.secret("dp", "aws", {"credentials": pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", theirs.output("keyId"), theirs.output("secret"))})  # fmt: skip
    birch(scene, "github:index/actionsSecret:ActionsSecret", "aws", {"repository": "shop", "secretName": "AWS_SECRET", "plaintextValue": theirs.output("secret")}, owner="birch")  # fmt: skip


@clean(ACCOUNTS, "eighth-own-pager", "Alerts of each owner go to its own pager, by a contact point and by a Secret.", config=lambda cp, dp: {"grid:pager": cp.opaque("pager", 32, HEX), "birch:pager": dp.opaque("pager", 32, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "pager", {"key": scene.config("grid:pager")})
    birch(scene, "grafana:alerting/contactPoint:ContactPoint", "own-pager", {"name": "birch", "pagerduties": [{"integrationKey": scene.config("birch:pager"), "severity": "warning"}]}, url=f"https://grafana.{BIRCH}")  # fmt: skip


@clean(ACCOUNTS, "eighth-own-database-roles", "Roles of the tenant's database get generated passwords by the database's provider, and their addresses are in the tenant's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    for role in ("orders", "reports"):
        word = own(scene, f"role-{role}")
        birch(scene, "postgresql:index/role:Role", role, {"name": role, "login": True, "password": word}, host=f"db.{BIRCH}", password=pulumi.Output.secret(scene.dp.opaque("postgres", 32)))  # fmt: skip
        scene.secret("dp", f"db-{role}", {"uri": pulumi.Output.concat(f"postgresql://{role}:", word, f"@db.{BIRCH}:5432/shop")})  # fmt: skip


@clean(ACCOUNTS, "eighth-own-user-data", "A machine of the tenant's starts with a cloud-config in base64 that has the platform's address and the tenant's own join token.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    token = own(scene, "join-own", 24)
    text = apply(token, lambda found: b64("#cloud-config\n" + yaml.safe_dump({"runcmd": [["k3s", "agent", "--server", SERVERS["dp"], "--token", found]], "ntp": {"servers": [f"time.{DOMAIN}"]}})))  # fmt: skip
    birch(scene, "aws:ec2/instance:Instance", "own-edge", {"ami": "ami-0c1f", "instanceType": "t4g.small", "userDataBase64": text}, region=REGION)  # fmt: skip


@clean(ACCOUNTS, "eighth-own-client-of-a-login-service", "A client is made in the tenant's login service; its secret is in the tenant's cluster, its number in the platform's.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    made = birch(scene, "auth0:index/client:Client", "shop", {"name": "shop", "appType": "regular_web"}, {"clientId": drawn("auth0 client", 32), "clientSecret": scene.dp.opaque("auth0", 64, LETTERS)}, ["clientSecret"], domain="birch.eu.auth0.com")  # fmt: skip
    scene.secret("dp", "login", {"client_id": made.output("clientId"), "client_secret": made.output("clientSecret")})
    scene.config_map("cp", "clients", {"birch": made.output("clientId")})


@clean(ACCOUNTS, "eighth-own-records-of-a-zone", "Records of the tenant's zone: addresses of the platform's gateway, keys of mail and texts to check a domain, all public.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    records = {"shop": ("CNAME", f"edge-{drawn('edge', 10)}.{DOMAIN}"), "_dmarc": ("TXT", f"v=DMARC1; p=reject; rua=mailto:dmarc@{BIRCH}"), "s1._domainkey": ("TXT", f"v=DKIM1; k=rsa; p={b64(drawn('dkim public', 290))}"), "_github-challenge": ("TXT", drawn("challenge", 10, HEX)), "@": ("TXT", f"google-site-verification={drawn('site', 43)}")}  # fmt: skip
    for at, (name, (kind, content)) in enumerate(records.items()):
        birch(scene, "cloudflare:index/record:Record", f"record-{at}", {"zoneId": drawn("birch zone", 32, HEX), "name": name, "type": kind, "content": content, "ttl": 300})  # fmt: skip


@clean(ACCOUNTS, "eighth-own-repository", "A repository of the tenant's gets variables with facts, and a deploy key whose private half is in the tenant's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    key = scene.key("dp", "birch-flux")
    scene.secret("dp", "flux-system", {"identity": key.output("privateKeyPem"), "identity.pub": key.output("publicKeyOpenssh")})  # fmt: skip
    birch(scene, "github:index/repositoryDeployKey:RepositoryDeployKey", "flux", {"repository": "shop", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, owner="birch")  # fmt: skip
    for name, value in {"GRID_ENDPOINT": f"https://api.{DOMAIN}", "AWS_ROLE": f"arn:aws:iam::{BIRCH_ACCOUNT}:role/ci", "OIDC_ISSUER": ISSUER}.items():  # fmt: skip
        birch(scene, "github:index/actionsVariable:ActionsVariable", name.lower(), {"repository": "shop", "variableName": name, "value": value}, owner="birch")  # fmt: skip


@clean(ACCOUNTS, "eighth-own-trust-of-workloads", "Roles in the tenant's account trust the tenant's cluster's issuer, by thumbprints and conditions.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    issuer = f"oidc.eks.{REGION}.amazonaws.com/id/{drawn('eks issuer', 32, '0123456789ABCDEF')}"
    birch(scene, "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "cluster", {"url": f"https://{issuer}", "clientIdLists": ["sts.amazonaws.com"], "thumbprintLists": [drawn("thumbprint", 40, HEX)]}, region=REGION)  # fmt: skip
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": {"Federated": f"arn:aws:iam::{BIRCH_ACCOUNT}:oidc-provider/{issuer}"}, "Condition": {"StringEquals": {f"{issuer}:sub": "system:serviceaccount:birch:orders", "sts:ExternalId": uid("external id")}}}]}  # fmt: skip
    birch(scene, "aws:iam/role:Role", "orders", {"assumeRolePolicy": json.dumps(policy)}, region=REGION)


@clean(ACCOUNTS, "eighth-own-entry-in-its-vault", "The tenant's Vault gets an entry with the tenant's login beside the platform's address; a role for Pods has policies.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    birch(scene, "vault:kv/secretV2:SecretV2", "own-facts", {"mount": "kv", "name": "orders", "dataJson": pulumi.Output.json_dumps({"endpoint": f"https://api.{DOMAIN}", "password": own(scene, "vault-orders")})}, address=f"https://vault.{BIRCH}")  # fmt: skip
    birch(scene, "vault:index/policy:Policy", "orders", {"name": "orders", "policy": 'path "kv/data/orders" { capabilities = ["read"] }\npath "auth/token/renew-self" { capabilities = ["update"] }\n'}, address=f"https://vault.{BIRCH}")  # fmt: skip


# Upwards --------------------------------------------------------------------------------------------------------------


@clean(UP, "eighth-up-tokens-of-all-tenants", "The platform's cluster has a remote secret for each tenant's cluster, with a token that the tenant's cluster minted.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    for name, side in tenants(scene).items():
        server = scene.kubeconfigs[side].split("server: ")[1].split("\n")[0]
        config = minted(scene, side, f"reader-{name}").apply(lambda found, server=server: kubeconfig(server, {"token": found}, "tenant"))  # fmt: skip
        scene.secret("cp", f"istio-remote-secret-{name}", {name: config}, labels={"istio/multiCluster": "true"}, namespace="istio-system")  # fmt: skip


@clean(UP, "eighth-up-kubeconfig-of-a-tenant", "The tenant's kubeconfig is kept in the platform's store and cluster, for its controllers; the tenant gets a note.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    config = pulumi.Output.secret(scene.kubeconfigs["dp"])
    scene.secret("cp", "kubeconfig-birch", {"value": config}, labels={"cluster.x-k8s.io/cluster-name": "birch"})
    scene.made("aws:ssm/parameter:Parameter", "kubeconfig-of-birch", {"name": "/tenants/birch/kubeconfig", "type": "SecureString", "value": config}, owner="cp")  # fmt: skip
    scene.config_map("dp", "managed-by", {"platform": GRID, "secret": "kubeconfig-birch"})


@clean(UP, "eighth-up-login-of-the-tenants-metrics", "The platform reads the tenant's metrics by a generated login of the tenant's, which both have.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    word = own(scene, "metrics")
    scene.secret("dp", "metrics", {"username": "grid", "password": word})
    scene.secret("cp", "metrics-birch", {"scrape.yaml": apply(word, lambda found: yaml.safe_dump([{"job_name": "birch", "basic_auth": {"username": "grid", "password": found}, "static_configs": [{"targets": [f"metrics.{BIRCH}:443"]}]}]))})  # fmt: skip


@clean(UP, "eighth-up-webhook-of-the-tenant", "The platform calls the tenant's webhook with the tenant's token; the tenant's receiver has it, as its own.", config=lambda cp, dp: {"birch:hook": dp.opaque("hook", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    scene.secret("dp", "hook", {"token": scene.config("birch:hook")})
    scene.object("cp", "notification.toolkit.fluxcd.io/v1beta3:Provider", "birch", {"spec": {"type": "generic-hmac", "address": pulumi.Output.concat(f"https://hooks.{BIRCH}/", scene.config("birch:hook"))}})  # fmt: skip


@clean(UP, "eighth-up-certificate-signed-above", "The tenant's key stays below, the platform signs its request; only the certificate comes down.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    ca_key, ca_cert = pair(scene, "cp", "edge-ca", authority=True)
    key = scene.key("dp", "edge-own")
    asked = scene.made("tls:index/certRequest:CertRequest", "edge-own-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": "edge"}}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIBedge\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    signed = scene.made("tls:index/locallySignedCert:LocallySignedCert", "edge-own-cert", {"certRequestPem": asked.output("certRequestPem"), "caPrivateKeyPem": ca_key.output("privateKeyPem"), "caCertPem": ca_cert.output("certPem"), "validityPeriodHours": 720, "allowedUses": ["client_auth"]}, None, {"certPem": scene.cp.certificate("edge-own", "edge-ca")}, ["caPrivateKeyPem"])  # fmt: skip
    scene.secret("dp", "edge", {"tls.key": key.output("privateKeyPem"), "tls.crt": signed.output("certPem"), "ca.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@clean(UP, "eighth-up-job-at-the-platform", "A job at the platform's copies the tenant's dump with the platform's key and the tenant's login; the tenant's own job uses its Pod's identity.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    word = own(scene, "dump")
    scene.secret("dp", "dump", {"password": word})
    pod(scene, "CronJob", "fetch", {"command": ["sh", "-c", pulumi.Output.concat("PGPASSWORD=", word, f" pg_dump -h db.{BIRCH} shop")], "env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": kept(scene, "archive", "key", 40)}]}, side="cp")  # fmt: skip
    pod(scene, "CronJob", "dump", {"command": ["/bin/dump", "--to", "s3://birch-dumps"], "env": [{"name": "PGPASSWORD", "valueFrom": {"secretKeyRef": {"name": "dump", "key": "password"}}}]}, serviceAccountName="dump")  # fmt: skip


@clean(UP, "eighth-up-public-half-of-a-tenants-key", "The platform checks the tenant's tokens by the public half of the tenant's key, as PEM and as a key set.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    key = scene.key("dp", "issuer-birch")
    scene.secret("dp", "issuer", {"sa.key": key.output("privateKeyPem")})
    scene.secret("cp", "issuers", {"birch.pem": key.output("publicKeyPem"), "birch.json": json.dumps(scene.dp.jwk("issuer-birch", private=False)), "own": base64.b64encode(b"grid").decode()})  # fmt: skip
