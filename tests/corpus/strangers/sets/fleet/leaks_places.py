"""Leaks of fleets: GitOps, stores, identities and telemetry, each a harmless program with one slip."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, pair, raw
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, pull_secret, uid

from .world import ACCOUNT, AUDIENCE, DOMAIN, FLEET, REGION, SSO, control_plane

GITOPS, STORES, TRUST, DATA, TELEMETRY = (
    "fleet: slips of GitOps",
    "fleet: slips of stores",
    "fleet: slips of trust",
    "fleet: logins of the hub's data",
    "fleet: logins of the hub's telemetry",
)

# GitOps ---------------------------------------------------------------------------------------------------------------


@leak(GITOPS, "fleet-substitution-of-a-login", "Flux substitutes variables of the control plane's stack at the tenant's; one of them is the cache's password, which the stack marks.", "Flux postBuild")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"region": REGION, "cacheHost": f"cache.{DOMAIN}", "cachePassword": scene.cp.opaque("hub cache", 36, LETTERS)}  # fmt: skip
    hub = scene.reference("hub", "organization/fleet-hub/prod", outputs, ["cachePassword"])
    substitute = {"region": hub.get_output("region"), "cache_url": pulumi.Output.concat("rediss://:", hub.get_output("cachePassword"), "@", hub.get_output("cacheHost"), ":6380")}  # fmt: skip
    spec = {"path": "./apps", "postBuild": {"substitute": substitute}}
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "apps", {"spec": spec})


@leak(GITOPS, "fleet-values-file-of-the-hub", "The Application of the tenant's cluster is given the hub's file of values as text, with the administrator's password.", "Argo CD values")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "grafana-admin", "admin-password", 40)
    text = apply(password, lambda found: yaml.safe_dump({"grafana": {"adminUser": "admin", "adminPassword": found, "grafana.ini": {"server": {"root_url": f"https://grafana.{DOMAIN}"}}}, "prometheus": {"retention": "30d"}}))  # fmt: skip
    release(scene, "cp", "monitoring", {"values": text})
    spec = {"project": "monitoring", "source": {"chart": "kube-prometheus-stack", "targetRevision": "66.2.1", "helm": {"values": text}}, "destination": {"name": "in-cluster"}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "monitoring", {"spec": spec})


@leak(GITOPS, "fleet-cluster-secret-with-wrong-config", "The tenant's Argo CD registers its own cluster; the file of settings is that of the hub's Secret, bearer token and all.", "Argo CD cluster secrets")  # fmt: skip
def _(scene: Scene) -> None:
    configs = {}
    for side in ("cp", "dp"):
        token = minted(scene, side, f"argocd-manager-{side}")
        configs[side] = pulumi.Output.json_dumps({"bearerToken": token, "tlsClientConfig": {"insecure": False}})
    labels = {"argocd.argoproj.io/secret-type": "cluster"}
    scene.secret("cp", "cluster-shop", {"name": "shop", "server": SERVERS["dp"], "config": configs["dp"]}, labels=labels)  # fmt: skip
    scene.secret("dp", "cluster-local", {"name": "local", "server": "https://kubernetes.default.svc", "config": configs["cp"]}, labels=labels)  # fmt: skip


@leak(GITOPS, "fleet-forge-application-of-the-hub", "Repositories' credentials of the tenant's Argo CD have the key of the fleet's application: one wrong prefix of the configuration.", "GitHub App keys", config=lambda cp, dp: {"fleet:forgeApp": cp.key("forge app"), "shop:forgeApp": dp.key("forge app")})  # fmt: skip
def _(scene: Scene) -> None:
    labels = {"argocd.argoproj.io/secret-type": "repo-creds"}
    scene.secret("cp", "forge-creds", {"githubAppPrivateKey": scene.config("fleet:forgeApp")}, labels=labels)
    data = {"type": "git", "url": "https://github.com/shop", "githubAppID": "910233", "githubAppPrivateKey": scene.config("fleet:forgeApp")}  # fmt: skip
    scene.secret("dp", "forge-creds", data, labels=labels, namespace="argocd")


@leak(GITOPS, "fleet-source-with-the-hubs-login", "A source of charts at the tenant's logs in at the hub's registry with the hub's robot, as a HelmRepository's Secret.", "Flux HelmRepository")  # fmt: skip
def _(scene: Scene) -> None:
    robot = kept(scene, "harbor-robot", "password", 32)
    scene.secret("dp", "charts-login", {"username": "robot$fleet", "password": robot}, namespace="flux-system")
    spec = {"type": "oci", "url": f"oci://harbor.{DOMAIN}/charts", "secretRef": {"name": "charts-login"}}
    scene.object("dp", "source.toolkit.fluxcd.io/v1:HelmRepository", "fleet", {"spec": spec})


@leak(GITOPS, "fleet-last-applied-of-the-hubs-secret", "A map of the tenant's is made from the hub's Secret's metadata, annotations included: the last applied manifest has the data in base64.", "last-applied-configuration", recover=each(strings_of_json, lambda text: base64.b64decode(text.split(b'password\n')[1].split(b"\n")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    value = scene.cp.opaque("applied", 40, LETTERS)
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"password": b64(value)}}
    metadata = {"labels": {"app": "db"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(manifest)}}  # fmt: skip
    scene.held("db", "password", value)
    found = scene.existing("cp", "v1:Secret", "db", data={"password": b64(value)}, metadata=metadata)
    notes = found.output("metadata").apply(lambda m: m["annotations"])
    scene.config_map("dp", "db-info", {"host": f"db.{DOMAIN}"}, annotations=notes)


@leak(GITOPS, "fleet-token-of-the-stacks-operator", "The tenant's Pulumi operator gets the deployer's token: the loop's dictionary has one token for both.", "PULUMI_ACCESS_TOKEN", config=lambda cp, dp: {"fleet:pulumiToken": "pul-" + cp.opaque("pulumi", 40, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        scene.secret(side, "pulumi-api-secret", {"accessToken": scene.config("fleet:pulumiToken")}, namespace="pulumi")


@leak(GITOPS, "fleet-workflow-parameter", "A workflow at the tenant's gets the hub's kubeconfig as a parameter in base64, so that it can register itself.", "Argo Workflows", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "registrar")
    text = token.apply(lambda found: b64(kubeconfig(SERVERS["cp"], {"token": found}, "the hub's authority")))
    spec = {"entrypoint": "register", "arguments": {"parameters": [{"name": "cluster", "value": "shop"}, {"name": "kubeconfig", "value": text}]}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Workflow", "register", {"spec": spec})


@leak(GITOPS, "fleet-webhook-of-the-hub", "The tenant's receiver for pushes is given the hub's webhook token, with which deployments of the hub are started.", "Argo CD webhook secrets")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "argocd-webhook", "webhook.github.secret", 40)
    release(scene, "dp", "argo-cd", {"configs": {"secret": {"githubSecret": token}, "cm": {"url": "https://argocd.shop.example.com"}}})  # fmt: skip


# Stores ---------------------------------------------------------------------------------------------------------------


@leak(STORES, "fleet-store-of-the-hub", "The tenant's store of secrets is pointed at the hub's Vault, with the hub's own token in its Secret.", "Vault tokens", config=lambda cp, dp: {"fleet:vaultToken": "hvs." + cp.opaque("vault token", 90, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("fleet:vaultToken")
    scene.secret("cp", "vault-token", {"token": token}, namespace="external-secrets")
    scene.secret("dp", "vault-token", {"token": token}, namespace="external-secrets")
    vault = {"server": f"https://vault.{DOMAIN}", "path": "kv", "auth": {"tokenSecretRef": ref("vault-token", "token")}}
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "fleet", {"spec": {"provider": {"vault": vault}}})


@leak(STORES, "fleet-reviewer-the-wrong-way", "The reviewer's token is minted by the control plane's cluster and written into the tenant's, sides mixed up.", "Vault token reviewer")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    token = minted(scene, "cp", "vault-reviewer")
    values = {"injector": {"externalVaultAddr": f"https://vault.{DOMAIN}"}, "server": {"extraEnvironmentVars": {"TOKEN_REVIEWER_JWT": token}}}  # fmt: skip
    release(scene, "dp", "vault", values)


@leak(STORES, "fleet-sealing-key-for-the-certificate", "The map for developers was to have the sealing certificate of the hub; the program takes the key.", "sealed secrets")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "sealing")
    scene.secret("cp", "sealed-secrets-key", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls")  # fmt: skip
    scene.config_map("dp", "sealing-certificate", {"pub-cert.pem": key.output("privateKeyPem")}, namespace="kube-public")  # fmt: skip


@leak(STORES, "fleet-decrypted-document", "A document of SOPS is decrypted by the program, and its whole content becomes the tenant's Secret: the hub's keys beside the tenant's.", "SOPS", config=lambda cp, dp: {"fleet:sops": yaml.safe_dump({"hub": {"dbPassword": cp.opaque("sops db", 32, LETTERS)}, "shop": {"apiKey": dp.opaque("sops api", 32, LETTERS)}})})  # fmt: skip
def _(scene: Scene) -> None:
    document = scene.config("fleet:sops").apply(yaml.safe_load)
    scene.secret("cp", "db", {"password": document["hub"]["dbPassword"]})
    scene.secret("dp", "settings", {"secrets.yaml": document.apply(yaml.safe_dump)})


@leak(STORES, "fleet-credentials-of-a-cloud-controller", "ACK at the tenant's gets the file of credentials that the hub's uses: the hub's user and key.", "ACK credentials", config=lambda cp, dp: {"fleet:awsId": "AKIA" + cp.opaque("ack id", 16, AWS_ID), "fleet:awsKey": cp.opaque("ack", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.format("[default]\naws_access_key_id = {0}\naws_secret_access_key = {1}\n", scene.config("fleet:awsId"), scene.config("fleet:awsKey"))  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "ack-credentials", {"credentials": text}, namespace="ack-system")


@leak(STORES, "fleet-answer-of-a-store-as-values", "A call reads the hub's entry in the cloud's store; the whole answer becomes an extra value of the tenant's chart.", "getSecretVersion")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    answer = scene.invoke("aws:secretsmanager/getSecretVersion:getSecretVersion", {"arn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:hub-x1", "secretString": json.dumps({"user": "hub", "password": scene.cp.opaque("entry", 40, LETTERS)}), "versionId": uid("entry")}, secret=False)  # fmt: skip
    release(scene, "dp", "cart", {"extra": {"entry": answer}, "global": {"meshID": FLEET}})


@leak(STORES, "fleet-connection-details-whole", "Connection details that Crossplane wrote at the hub are read and copied to the tenant for their endpoint's sake.", "Crossplane connection secrets")  # fmt: skip
def _(scene: Scene) -> None:
    details = {"endpoint": b64(f"db.{DOMAIN}"), "port": b64("5432"), "password": b64(scene.cp.opaque("details", 27, LETTERS))}  # fmt: skip
    found = scene.existing("cp", "v1:Secret", "hub-db-conn", data=details)
    scene.object("dp", "v1:Secret", "hub-db-conn", {"data": found.output("data"), "type": "connection.crossplane.io/v1alpha1"})  # fmt: skip


# Trust ----------------------------------------------------------------------------------------------------------------


@leak(TRUST, "fleet-bundle-with-the-key-in-it", "The bundle of roots is put together from certificate and key, because the load balancer wanted one file.", "PEM bundles")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "fleet-root", authority=True)
    combined = pulumi.Output.concat(cert.output("certPem"), key.output("privateKeyPem"))
    scene.secret("cp", "haproxy", {"site.pem": combined})
    spec = {"sources": [{"inLine": combined}], "target": {"configMap": {"key": "root-cert.pem"}}}
    scene.object("dp", "trust.cert-manager.io/v1alpha1:Bundle", "fleet-root", {"spec": spec})


@leak(TRUST, "fleet-federation-with-private-keys", "The trust bundle of the federated domain is made with private keys: one wrong argument.", "SPIFFE bundles")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    keys = [{**scene.cp.jwk("spire jwt", private=True), "use": "jwt-svid"}]
    scene.secret("cp", "spire-keys", {"keys.json": json.dumps({"keys": keys})})
    spec = {"trustDomain": DOMAIN, "bundleEndpointURL": f"https://spire.{DOMAIN}:8443", "trustDomainBundle": json.dumps({"keys": keys, "spiffe_sequence": 41})}  # fmt: skip
    scene.object("dp", "spire.spiffe.io/v1alpha1:ClusterFederatedTrustDomain", "fleet", {"spec": spec})


@leak(TRUST, "fleet-issuer-with-the-hubs-provisioner", "An issuer at the hub's small authority has the provisioner's password of the hub's, in the values of its chart.", "step-ca provisioners", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    password = generated(scene, "step-provisioner", "password", 44)
    config = {"url": f"https://ca.{DOMAIN}", "provisioner": {"name": "admin", "kid": drawn("step kid 2", 43), "password": apply(password, b64)}}  # fmt: skip
    release(scene, "dp", "step-issuer", {"stepIssuer": config})


@leak(TRUST, "fleet-host-authority-private", "Nodes of the tenant's get the authority for hosts' certificates to trust it: the private half, in OpenSSH's form.", "SSH authorities")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "ssh-ca")
    scene.secret("cp", "ssh-ca", {"ca": key.output("privateKeyOpenssh")})
    scene.config_map("dp", "sshd", {"ca.pub": key.output("privateKeyOpenssh"), "sshd_config": "TrustedUserCAKeys /etc/ssh/ca.pub\n"})  # fmt: skip


@leak(TRUST, "fleet-intermediate-shared", "Both tiers' cacerts come from one function; the tenant gets the control plane's intermediate with its key.", "Istio cacerts")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "intermediate", authority=True)
    data = {"ca-cert.pem": cert.output("certPem"), "ca-key.pem": key.output("privateKeyPem"), "cert-chain.pem": cert.output("certPem"), "root-cert.pem": cert.output("certPem")}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, f"cacerts-{side}", data, namespace="istio-system")


@leak(TRUST, "fleet-key-set-of-signing-keys", "Rules for tokens have the service account issuer's key set, whose keys the program made with their private numbers, in a text of YAML.", "RequestAuthentication jwks", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    jwk = scene.cp.jwk("issuer", private=True)
    scene.secret("cp", "sa-signer", {"jwk": json.dumps(jwk)})
    rules = yaml.safe_dump({"jwtRules": [{"issuer": SSO, "audiences": [AUDIENCE], "jwks": json.dumps({"keys": [jwk]})}]})  # fmt: skip
    scene.config_map("dp", "request-authentication", {"policy.yaml": rules})


@leak(TRUST, "fleet-client-of-the-hubs-realm", "All of a client of the hub's login service is dumped as JSON for the tenant's portal, its secret too.", "Keycloak clients")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    secret = generated(scene, "realm-admin-cli", "client-secret", 36)
    client = scene.made("keycloak:openid/client:Client", "realm-admin-cli-client", {"clientId": "admin-cli", "realmId": "fleet", "clientSecret": secret, "serviceAccountsEnabled": True}, None, {"resourceServerId": uid("resource server")}, owner="cp")  # fmt: skip
    text = pulumi.Output.json_dumps({name: client.output(name) for name in ("clientId", "clientSecret", "resourceServerId")})  # fmt: skip
    scene.config_map("dp", "portal", {"client.json": text})


@leak(TRUST, "fleet-gateway-with-the-hubs-certificate", "The tenant's gateway gets the certificate of the fleet's domain, key in base64, as values of a TLS list.", "wildcard certificates", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "wildcard")
    scene.secret("cp", "wildcard", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls")  # fmt: skip
    secrets = [{"name": "wildcard", "crt": apply(cert.output("certPem"), b64), "key": apply(key.output("privateKeyPem"), b64)}]  # fmt: skip
    release(scene, "dp", "gateway-secrets", {"tls": {"secrets": secrets}})


# Data -----------------------------------------------------------------------------------------------------------------


@leak(
    DATA,
    "fleet-bus-users-of-all",
    "The file of users of the hub's bus is written into the tenant's cluster too, for its console.",
    "SASL users",
)
def _(scene: Scene) -> None:
    made = {name: generated(scene, f"redpanda-{name}") for name in ("admin", "cart")}
    lines = pulumi.Output.all(**made).apply(lambda found: "".join(f"{name}:{found[name]}:SCRAM-SHA-512\n" for name in sorted(found)))  # fmt: skip
    scene.secret("cp", "users", {"users.txt": lines})
    scene.config_map("dp", "redpanda-console", {"users.txt": lines, "brokers": f"bus.{DOMAIN}:9093"})


@leak(DATA, "fleet-operators-seed", "The tenant's NATS is given the operator's seed of the hub, with which any account can be signed.", "NATS operator seeds", config=lambda cp, dp: {"fleet:natsSeed": "SOA" + cp.opaque("nats seed", 55, AWS_ID)})  # fmt: skip
def _(scene: Scene) -> None:
    seed = scene.config("fleet:natsSeed")
    scene.secret("cp", "nats-operator", {"operator.nk": seed})
    file = pulumi.Output.concat(
        "operator: /etc/nats/operator.jwt\n# nsc import keys --dir: ", seed, "\nresolver: MEMORY\n"
    )
    scene.config_map("dp", "nats-config", {"nats.conf": file})


@leak(
    DATA,
    "fleet-document-store-key-file",
    "Members at the tenant's join the hub's replica set with its key file of random bytes.",
    "MongoDB keyfiles",
)
def _(scene: Scene) -> None:
    keyfile = raw(scene, "cp", "mongo-keyfile", 96).output("base64")
    scene.secret("cp", "mongo-keyfile", {"keyfile": keyfile})
    release(scene, "dp", "mongodb", {"architecture": "replicaset", "auth": {"replicaSetKey": keyfile, "existingSecret": "mongo"}})  # fmt: skip


@leak(DATA, "fleet-packed-values", "Values of the hub are gzipped and put as base64 into an annotation of the tenant's release, to compare them later.", "packed values", recover=each(base64.b64decode, gzip.decompress))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "cockroach-root")
    packed = apply(password, lambda text: b64(gzip.compress(yaml.safe_dump({"conf": {"single-node": False}, "init": {"provisioning": {"users": [{"name": "root", "password": text}]}}}).encode(), mtime=0)))  # fmt: skip
    scene.config_map("dp", "release-state", {"revision": "12"}, annotations={"fleet.example.com/values": packed})


@leak(DATA, "fleet-pull-secret-inherited", "Each tenant's namespace gets the pull secret by a function whose default is the hub's robot, and one caller gives none.", "pull secrets")  # fmt: skip
def _(scene: Scene) -> None:
    hub_robot = kept(scene, "harbor-admin", "password", 36)

    def namespace(name: str, password: Any = hub_robot) -> None:
        login = pull_secret(f"harbor.{DOMAIN}", "robot$pull", password)
        scene.secret("dp", f"pull-{name}", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")

    namespace("cart", scene.password("dp", "robot-cart").output("result"))
    namespace("billing")


@leak(DATA, "fleet-database-of-the-cloud", "The tenant's migration Job has the whole address of the hub's database, in its arguments, with the generated password.", "connection strings")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "alloydb")
    cluster = scene.made("gcp:alloydb/cluster:Cluster", "hub-alloydb", {"location": "europe-west3", "initialUser": {"user": "postgres", "password": password}}, None, {"uid": uid("alloydb")}, owner="cp")  # fmt: skip
    url = pulumi.Output.format("postgresql://postgres:{0}@10.40.7.3:5432/hub?application_name={1}", password, cluster.output("uid"))  # fmt: skip
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "migrate:4.18", "args": ["-database", url, "up"]}]}}}  # fmt: skip
    scene.object("dp", "batch/v1:Job", "migrate", {"spec": spec})


# Telemetry ------------------------------------------------------------------------------------------------------------


@leak(TELEMETRY, "fleet-push-password-of-the-hub", "The tenant's collector pushes with the password that all of the hub's own agents have, in its text of settings.", "remote write")  # fmt: skip
def _(scene: Scene) -> None:
    value = generated(scene, "mimir-gateway", "password", 40)
    config = apply(value, lambda text: yaml.safe_dump({"extensions": {"basicauth/hub": {"client_auth": {"username": "hub", "password": text}}}, "exporters": {"prometheusremotewrite": {"endpoint": f"https://metrics.{DOMAIN}/api/v1/push", "auth": {"authenticator": "basicauth/hub"}}}}))  # fmt: skip
    scene.config_map("dp", "collector", {"relay.yaml": config})


@leak(TELEMETRY, "fleet-token-for-its-hash", "The tenant was to get the hash of the hub's admission token; the tuple's first part is the token.", "Output.all and an index")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "admission", "token", 48)
    both = pulumi.Output.all(token, apply(token, lambda text: uid(text)))
    release(scene, "dp", "agent", {"admission": {"tokenHash": both.apply(lambda found: found[0])}, "fleet": FLEET})


@leak(TELEMETRY, "fleet-cloud-access-policy", "The hub's access policy at a vendor of measurements is in the tenant's Alloy file: the stack's output of the hub, not of the tenant.", "Grafana Cloud tokens")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"metricsUser": "1184200", "metricsToken": "glc_" + scene.cp.opaque("cloud metrics", 120, LETTERS)}
    hub = scene.reference("hub-metrics", "organization/fleet-observability/prod", outputs, ["metricsToken"])
    text = pulumi.Output.format('prometheus.remote_write "cloud" {{\n  endpoint {{\n    basic_auth {{\n      username = "{0}"\n      password = "{1}"\n    }}\n  }}\n}}\n', hub.get_output("metricsUser"), hub.require_output("metricsToken"))  # fmt: skip
    scene.secret("dp", "alloy", {"config.alloy": text})


@leak(TELEMETRY, "fleet-debug-annotation", "For debugging all inputs of the hub's exporter are printed into an annotation of the tenant's namespace.", "debug output")  # fmt: skip
def _(scene: Scene) -> None:
    value = generated(scene, "exporter", "DATA_SOURCE_PASS")
    inputs = {"host": f"db.{DOMAIN}", "user": "exporter", "password": value, "digest": noise("exporter", 32).hex()}
    release(scene, "cp", "postgres-exporter", {"config": {"datasource": inputs}})
    notes = {"fleet.example.com/debug": pulumi.Output.all(**inputs).apply(repr)}
    scene.object("dp", "v1:Namespace", "exporter", {"metadata": {"annotations": notes}})


@leak(TELEMETRY, "fleet-flags-of-the-hub", "The tenant's relay of feature flags has the hub's SDK key: the wrong owner's name in one line.", "feature flags", config=lambda cp, dp: {owner + ":flags": "api-" + made.opaque("flags", 36, HEX) for owner, made in (("fleet", cp), ("shop", dp))})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "flags", {"SDK_KEY": scene.config("fleet:flags")})
    env = [{"name": "RELAY_SDK_KEY", "value": scene.config("fleet:flags")}, {"name": "PORT", "value": "8030"}]
    deployment(scene, "dp", "flags-relay", {"env": env})


def _smtp(cp: Material, dp: Material) -> dict[str, str]:
    return {"fleet:smtp": "B" + cp.opaque("smtp", 43, LETTERS)}


@leak(TELEMETRY, "fleet-mail-map-of-the-hub", "The map of logins of the tenant's mail relay has the hub's line, joined with a colon to its user.", "Postfix maps", config=_smtp)  # fmt: skip
def _(scene: Scene) -> None:
    line = pulumi.Output.concat(f"[email-smtp.{REGION}.amazonaws.com]:587 AKIAFLEETEXAMPLE0001:", scene.config("fleet:smtp"), "\n")  # fmt: skip
    scene.secret("cp", "postfix", {"sasl_passwd": line})
    scene.object("dp", "v1:ConfigMap", "postfix", {"data": {"sasl_passwd": line, "main.cf": "smtp_sasl_auth_enable = yes\n"}})  # fmt: skip
