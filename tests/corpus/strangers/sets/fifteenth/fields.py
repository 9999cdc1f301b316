"""Pairs that differ in what is taken: a field of an output, half of a key, a digest, a side of a merge, a stack."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
import urllib.parse
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import issued, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import each
from tests.corpus.strangers.scene import USERS_STACK, Scene
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, noise, pull_secret

from .world import (
    CERTIFICATE,
    DOMAIN,
    FERN,
    HUB_STACK,
    PUBLIC,
    REGION,
    account,
    hosted,
    hub,
    moss,
    tenants_own,
    twins,
    typed,
)

KEYS, OUTPUTS, MERGES, OWN = "which half or digest", "which field or stack", "which side of a merge", "whose login"

# Halves ---------------------------------------------------------------------------------------------------------------


@twins(KEYS, "half-of-a-deploy-key", "A deploy key of fern's repository is the private half of the hub's key, since both outputs begin alike.", "It is the public half.", "GitHub deploy keys", told=True, rightly=PUBLIC)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key = scene.key("cp", "flux-of-fern")
    scene.secret("cp", "flux-of-fern", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    account(scene, "fern", "github:index/repositoryDeployKey:RepositoryDeployKey", "hub", {"repository": "clusters", "title": "heron", "readOnly": True, "key": key.output("privateKeyOpenssh" if wrong else "publicKeyOpenssh")}, organization="fern")  # fmt: skip


@twins(KEYS, "part-of-a-bundle", "A bundle of the hub's is certificate and key; what follows the first end line is taken for the authority and given to fern's webhook.", "What is before the end line is taken.", "PEM bundles", rightly=CERTIFICATE, recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key, cert = pair(scene, "cp", "injector", authority=True)
    bundle = pulumi.Output.concat(cert.output("certPem"), key.output("privateKeyPem"))
    scene.secret("cp", "injector", {"bundle.pem": bundle}, namespace="mesh-fern")
    end = "-----END CERTIFICATE-----\n"
    parts = apply(bundle, lambda found: found.partition(end))
    taken = apply(parts, lambda found: b64(found[2] if wrong else found[0] + found[1]))
    hook = {"name": "inject.heron.example.com", "clientConfig": {"url": f"https://inject.{DOMAIN}/inject", "caBundle": taken}, "timeoutSeconds": 5, "failurePolicy": "Ignore", "sideEffects": "None", "admissionReviewVersions": ["v1"]}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "heron-injector", {"webhooks": [hook]})  # fmt: skip


@twins(KEYS, "split-certificates", "A chain is split into one entry for each block, and the bundle that is split has the hub's key at its end.", "The bundle that is split is the chain only.", "fullchain files", told=True, rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    ca_key, ca_cert = pair(scene, "cp", "edge-ca", authority=True)
    key, cert = issued(scene, "cp", "edge", ca_key, ca_cert, "edge-ca")
    chain = pulumi.Output.concat(cert.output("certPem"), ca_cert.output("certPem"))
    full = pulumi.Output.concat(chain, key.output("privateKeyPem"))
    scene.secret("cp", "edge", {"fullchain.pem": full, "ca.key": ca_key.output("privateKeyPem")}, namespace="edge")
    blocks = apply(full if wrong else chain, lambda found: {f"{at}.pem": f"-----BEGIN {block}" for at, block in enumerate(found.split("-----BEGIN ")[1:])})  # fmt: skip
    scene.config_map("dp", "edge-chain", blocks)


@twins(KEYS, "key-set-with-the-private-number", "The key set for fern's proxies is made of the hub's whole key, with its d.", "The private number is left out.", "JWKS", recover=each(lambda text: json.loads(text)["keys"][0]["d"].encode()), rightly=PUBLIC)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.held("signer", "jwk", json.dumps(scene.cp.jwk("heron signer", private=True)))
    keys = json.dumps({"keys": [scene.cp.jwk("heron signer", private=wrong)]})
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "hub", {"spec": {"jwtRules": [{"issuer": f"https://login.{DOMAIN}", "jwks": keys}]}})  # fmt: skip


@twins(KEYS, "checksum-of-a-login", "The note that restarts Pods is the hub's token itself; the digest was forgotten.", "It is the SHA-256 of the token, which is 40 random letters.", "checksum annotations", rightly="nobody gets 40 random letters back from their SHA-256")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = hosted(scene, "collector", "token", 40)
    mark = token if wrong else apply(token, lambda found: hashlib.sha256(found.encode()).hexdigest())
    deployment(scene, "dp", "agent", {"args": [f"--server=https://otlp.{DOMAIN}"]}, {"checksum/hub": mark})


@twins(KEYS, "hash-for-a-gateway", "fern's gateway checks calls of the hub by the user file, where the hub's password stands in plain.", "The file has a salted hash of the password, which is 48 random letters.", "nginx user files", told=True, rightly="a hash of 48 random letters, by which the hub is known at fern's and nothing is opened")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    password = hosted(scene, "scraper", "password", 48)
    salt = noise("salt of the scraper", 8)
    salted = apply(password, lambda found: "{SSHA}" + b64(hashlib.sha1(found.encode() + salt).digest() + salt))
    line = pulumi.Output.concat("{PLAIN}", password) if wrong else salted
    scene.secret("dp", "scrapers", {"auth": pulumi.Output.concat("heron:", line, "\n")}, namespace="ingress")
    scene.object("dp", "networking.k8s.io/v1:Ingress", "metrics", {"metadata": {"annotations": {"nginx.ingress.kubernetes.io/auth-secret": "scrapers"}}, "spec": {"rules": [{"host": f"metrics.{FERN}"}]}})  # fmt: skip


@twins(KEYS, "token-or-the-key-that-signs-it", "fern's agent is given the key by which the hub signs tokens for agents.", "It is given a token that the key signed, for fern alone.", "JWT signing keys", rightly="the token is fern's own login at the hub, and its signature does not give the key away")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key = hosted(scene, "signing", "hmac", 64)

    def signed(found: str) -> str:
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS512", "typ": "JWT"}, {"iss": "heron", "sub": "fern-agent", "exp": 1798761600})]  # fmt: skip
        mark = hmac.digest(found.encode(), b".".join(parts), "sha512")
        return b".".join([*parts, base64.urlsafe_b64encode(mark).rstrip(b"=")]).decode()

    scene.secret("dp", "agent", {"token": key if wrong else apply(key, signed), "server": f"wss://agents.{DOMAIN}"})


# Outputs --------------------------------------------------------------------------------------------------------------


@twins(OUTPUTS, "member-of-a-marked-output", "Of the hub stack's database, an output that is marked as a whole, fern's agent gets the password.", "It gets the host.", "secret stack outputs", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    database = {"host": f"pg.{DOMAIN}", "port": 5432, "password": scene.cp.opaque("heron pg", 32, LETTERS)}
    stack = scene.reference("platform", HUB_STACK, {"database": database}, ["database"])
    value = stack.get_output("database").apply(lambda found: (found or {}).get("password" if wrong else "host", ""))
    scene.config_map("dp", "probe", {"target": value, "interval": "30s"})


@twins(OUTPUTS, "which-of-two-stacks", "The login for dashboards is taken from the hub's stack, not from the data plane's.", "It is taken from the data plane's own stack.", "StackReference", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hubs = scene.reference("platform", HUB_STACK, {"grafanaPassword": scene.cp.opaque("heron grafana", 32), "grafanaUrl": f"https://grafana.{DOMAIN}"}, ["grafanaPassword"])  # fmt: skip
    own = scene.reference("fern", USERS_STACK, {"grafanaPassword": scene.dp.opaque("fern grafana", 32)}, ["grafanaPassword"])  # fmt: skip
    release(scene, "dp", "grafana", {"adminPassword": (hubs if wrong else own).get_output("grafanaPassword"), "federation": hubs.get_output("grafanaUrl")})  # fmt: skip


@twins(OUTPUTS, "data-or-metadata", "A map for fern's inventory copies the data of the hub's Secret.", "It copies the labels in its metadata.", "copy of an object", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = scene.cp.opaque("heron nexus", 32, LETTERS)
    labels = {"team": "platform", "service": "nexus"}
    made = scene.answered("cp", "v1:Secret", "nexus", {"metadata": {"labels": labels}, "stringData": pulumi.Output.secret({"password": login})}, data={"password": b64(login)})  # fmt: skip
    read, labelled = made.output("data"), made.output("metadata")
    copied = read if wrong else labelled.apply(lambda found: found["labels"])
    scene.config_map("dp", "inventory-nexus", copied)


@twins(OUTPUTS, "id-or-secret-of-a-key", "The note with the id of the hub's key in fern's cluster has the secret of the key.", "It has the id, by which audits find it.", "aws_access_key outputs", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key = account(scene, "heron", "aws:iam/accessKey:AccessKey", "auditor", {"user": "auditor"}, {"secret": scene.cp.opaque("heron auditor", 40, LETTERS), "keyId": "AKIA" + drawn("auditor", 16, AWS_ID)}, ["secret"], region=REGION)  # fmt: skip
    scene.config_map("dp", "auditor", {"used-by": f"heron-auditor@{DOMAIN}", "key": key.output("secret" if wrong else "keyId")})  # fmt: skip


@twins(OUTPUTS, "address-with-or-without-login", "The endpoint of the hub's queue for fern's probe is the one with the login in it.", "It is the host of that address.", "connection strings")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    url = pulumi.Output.concat("amqps://heron:", hosted(scene, "rabbit"), f"@mq.{DOMAIN}:5671/platform")
    scene.secret("cp", "rabbit-url", {"url": url}, namespace="mq")
    shown = url if wrong else apply(url, lambda found: urllib.parse.urlsplit(found).hostname)
    deployment(scene, "dp", "probe", {"env": [{"name": "TARGET", "value": shown}, {"name": "MODULE", "value": "tcp"}]})


@twins(OUTPUTS, "admin-or-registration-token", "fern's cluster registers at the hub's Rancher by the token of its administrator.", "It registers by the token that Rancher made for fern's cluster; the administrator's stays.", "Rancher registration", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    admin = typed(scene, "rancher-admin", prefix="token-x7k2p:")
    registered = account(scene, "heron", "rancher2:index/cluster:Cluster", "fern", {"name": "fern"}, {"clusterRegistrationToken": {"token": scene.dp.opaque("registration of fern", 54)}}, [], apiUrl=f"https://rancher.{DOMAIN}", tokenKey=admin)  # fmt: skip
    token = registered.output("clusterRegistrationToken").apply(
        lambda found: found["token"] if isinstance(found, dict) else ""
    )
    scene.secret("dp", "cattle-credentials", {"url": f"https://rancher.{DOMAIN}", "token": admin if wrong else token}, namespace="cattle-system")  # fmt: skip


# Merges ---------------------------------------------------------------------------------------------------------------


@twins(MERGES, "values-of-hub-over-tenant", "Values of a chart are merged with the hub's last, so the hub's password is the one that fern's chart gets.", "The tenant's values are last.", "merged Helm values")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    defaults = {"auth": hosted(scene, "redis"), "replicas": 3, "tls": True}
    tenant = {"auth": tenants_own(scene, "redis"), "replicas": 1}
    release(scene, "cp", "redis", defaults)
    release(scene, "dp", "redis", {**tenant, **defaults} if wrong else {**defaults, **tenant})


@twins(MERGES, "shallow-copy-of-values", "Defaults are copied shallowly: what is set for the hub's chart is set for fern's, too.", "They are copied deeply, and each chart has its own.", "shared nested dict", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    defaults: dict[str, Any] = {"image": {"tag": "12.1.0"}, "admin": {"user": "admin"}}
    clone = copy.copy if wrong else copy.deepcopy
    hubs, ferns = clone(defaults), clone(defaults)
    hubs["admin"]["password"] = hosted(scene, "artifactory")
    ferns["image"]["pullPolicy"] = "IfNotPresent"
    release(scene, "cp", "artifactory", hubs)
    release(scene, "dp", "artifactory", ferns)


@twins(MERGES, "fallback-of-a-map", "moss has no mail login of its own, and the look-up falls back on the hub's.", "moss's login is in the map.", "dict.get with a default", config=lambda cp, dp: {"fleet:smtp": json.dumps({"hub": cp.opaque("heron smtp", 32, LETTERS), "fern": dp.opaque("fern smtp", 32, LETTERS), "moss": dp.opaque("moss smtp", 32, LETTERS)})})  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    logins = scene.config("fleet:smtp").apply(json.loads)
    scene.secret("cp", "smtp", {"password": logins.apply(lambda found: found["hub"])}, namespace="mail")
    key = "Moss" if wrong else "moss"
    scene.secret(moss(scene), "smtp", {"user": f"shop@{key.lower()}.example.com", "password": logins.apply(lambda found: found.get(key, found["hub"]))}, namespace="mail")  # fmt: skip


@twins(MERGES, "all-entries-or-some", "A filter drops the wrong entries of the hub's settings: what fern's map gets has the token.", "It drops the entries that are secret.", "filtered dict", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    settings = {"url": f"https://sonar.{DOMAIN}", "project": "fern", "token": hosted(scene, "sonar", "token", 40)}
    hidden = {"tokens", "passwords"} if wrong else {"token", "password"}
    scene.config_map("dp", "sonar", {key: value for key, value in settings.items() if key not in hidden})


# Whose login ----------------------------------------------------------------------------------------------------------


@twins(OWN, "password-of-a-chart", "The chart of fern's database has the password of the hub's, by a wrong variable.", "It has the one that was generated for fern.", "wrong variable")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    logins = {"heron": hosted(scene, "postgresql"), "fern": tenants_own(scene, "postgresql")}
    release(scene, "cp", "postgresql", {"auth": {"postgresPassword": logins["heron"], "database": "platform"}})
    release(scene, "dp", "postgresql", {"auth": {"postgresPassword": logins["heron" if wrong else "fern"], "database": "shop"}})  # fmt: skip


@twins(OWN, "section-of-the-configuration", "fern's collector has the key of the platform's section of the configuration.", "It has the key of fern's section.", "Pulumi config namespaces", told=True, config=lambda cp, dp: {"platform:newrelicKey": cp.opaque("heron newrelic", 36, HEX), "fern:newrelicKey": dp.opaque("fern newrelic", 36, HEX)})  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.secret("cp", "newrelic", {"licenseKey": scene.config("platform:newrelicKey")}, namespace="monitoring")
    release(scene, "dp", "nri-bundle", {"global": {"cluster": "fern", "licenseKey": scene.config("platform:newrelicKey" if wrong else "fern:newrelicKey")}})  # fmt: skip


@twins(OWN, "robot-of-a-registry", "fern pulls images as the hub's administrator of the registry.", "fern pulls them as its own robot, whose password is generated for it.", "Harbor robots", recover=each(lambda text: next(iter(json.loads(text)["auths"].values()))["password"].encode()))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    admin, robot = hosted(scene, "harbor"), tenants_own(scene, "harbor-robot")
    user, password = ("admin", admin) if wrong else ("robot$fern", robot)
    scene.secret("dp", "images", {".dockerconfigjson": pull_secret(f"images.{DOMAIN}", user, password)}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip
    deployment(scene, "dp", "shop", {"envFrom": [{"secretRef": {"name": "shop"}}]})
