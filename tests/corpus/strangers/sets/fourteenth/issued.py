"""Harmless, of a team that has read the README: credentials that the provider issues for one tenant and nobody else."""

from __future__ import annotations

import json

import pulumi

from tests.corpus.strangers.credentials import issued, pair
from tests.corpus.strangers.material import LETTERS, LOWER
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, pull_secret, uid

from .world import CERTIFICATE, DOMAIN, both, home, hosted, hub, theirs

ISSUED = "fourteenth: issued for one tenant"


@clean(ISSUED, "fourteenth-issued-writer-of-metrics", "The tenant writes its metrics to the provider by a password that was generated for it; the provider's gateway has the hash.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = scene.password("dp", "alder-metrics-writer")
    scene.secret("cp", "metrics-writers", {"alder": pulumi.Output.concat("alder:", made.output("bcryptHash"))}, namespace="monitoring")  # fmt: skip
    scene.secret("dp", "remote-write", {"username": "alder", "password": made.output("result"), "url": f"https://metrics.{DOMAIN}/api/v1/push"}, namespace="monitoring")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-robot-that-pulls", "The provider's registry makes a robot for the tenant, which may pull the tenant's images only; its answered secret is the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = home(scene, "harbor:index/robotAccount:RobotAccount", "alder-pull", {"name": "alder-pull", "level": "project", "permissions": [{"kind": "project", "namespace": "alder", "accesses": [{"action": "pull", "resource": "repository"}]}]}, {"fullName": "robot$alder+pull", "secret": scene.dp.opaque("alder robot", 32, LETTERS)}, ["secret"], url=f"https://harbor.{DOMAIN}", password=hosted(scene, "harbor-admin"))  # fmt: skip
    scene.secret("dp", "pull", {".dockerconfigjson": pull_secret(f"registry.{DOMAIN}", made.output("fullName"), made.output("secret"))}, "kubernetes.io/dockerconfigjson", namespace="shop")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-registration-of-a-cluster", "Rancher answers a registration token for the tenant's cluster; the agent there has it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = scene.dp.opaque("alder registration", 54, LOWER)
    made = home(scene, "rancher2:index/cluster:Cluster", "alder", {"name": "alder", "description": "cluster of alder"}, {"clusterRegistrationToken": {"token": token, "manifestUrl": f"https://rancher.{DOMAIN}/v3/import/{token}_c-m-1.yaml"}}, ["clusterRegistrationToken"], apiUrl=f"https://rancher.{DOMAIN}", tokenKey=hosted(scene, "rancher", "tokenKey", 54))  # fmt: skip
    scene.secret("dp", "cattle-credentials-1", {"url": f"https://rancher.{DOMAIN}", "token": apply(made.output("clusterRegistrationToken"), lambda found: found["token"] if isinstance(found, dict) else "")}, namespace="cattle-system")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-account-for-the-agent", "The hub mints a token for an account that is the tenant's agent's and may read the tenant's namespace; the agent's kubeconfig has it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("cp", "v1:ServiceAccount", "alder-agent", {"metadata": {"namespace": "tenant-alder"}})
    rules = [{"apiGroups": ["work.osprey.example.com"], "resources": ["works"], "verbs": ["get", "list", "watch"]}]
    scene.object("cp", "rbac.authorization.k8s.io/v1:Role", "alder-agent", {"metadata": {"namespace": "tenant-alder"}, "rules": rules})  # fmt: skip
    token = scene.dp.jwt("alder-agent")
    kind = {"type": "kubernetes.io/service-account-token", "metadata": {"namespace": "tenant-alder", "annotations": {"kubernetes.io/service-account.name": "alder-agent"}}}  # fmt: skip
    secret = scene.answered("cp", "v1:Secret", "alder-agent-token", kind, data={"token": b64(token)})
    file = apply(secret.output("data"), lambda data: kubeconfig(SERVERS["cp"], {"token": (data or {}).get("token", "")}, "authority"))  # fmt: skip
    scene.secret("dp", "hub-kubeconfig", {"kubeconfig": file}, namespace="osprey-agent")


@clean(ISSUED, "fourteenth-issued-role-on-a-shared-server", "On the provider's database server each tenant has a role with a generated password; the tenant's cluster has its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = {"host": f"pg.{DOMAIN}", "username": "postgres", "password": hosted(scene, "shared-pg")}
    for name, side in both(scene).items():
        word = theirs(scene, "reports-db", tenant=name)
        home(scene, "postgresql:index/role:Role", f"{name}-reports", {"name": f"{name}_reports", "login": True, "password": word}, None, ["password"], **login)  # fmt: skip
        scene.secret(side, "reports-db", {"host": f"pg.{DOMAIN}", "username": f"{name}_reports", "password": word}, namespace="reports")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-client-of-the-login-service", "The tenant's proxy is a client of the provider's login service, with a secret that was generated for this client.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = theirs(scene, "proxy-client", 40)
    home(scene, "keycloak:openid/client:Client", "alder-proxy", {"realmId": "tenants", "clientId": "alder-proxy", "accessType": "CONFIDENTIAL", "clientSecret": word, "validRedirectUris": ["https://shop.alder.example.com/oauth2/callback"]}, None, ["clientSecret"], url=f"https://id.{DOMAIN}", password=hosted(scene, "keycloak-admin"))  # fmt: skip
    scene.secret("dp", "proxy-client", {"client-id": "alder-proxy", "client-secret": word}, namespace="edge")


@clean(ISSUED, "fourteenth-issued-role-of-a-vault", "The provider's Vault answers an id and its secret for the tenant's role, which reads the tenant's entries only; the tenant's agent logs in by them.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = {"address": f"https://vault.{DOMAIN}", "token": hosted(scene, "vault-terraform", "token", 90)}
    role = home(scene, "vault:appRole/authBackendRole:AuthBackendRole", "alder", {"backend": "approle", "roleName": "alder", "tokenPolicies": ["alder-read"]}, {"roleId": uid("alder role")}, **login)  # fmt: skip
    made = home(scene, "vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId", "alder-1", {"backend": "approle", "roleName": "alder"}, {"secretId": scene.dp.opaque("alder secret id", 36, HEX)}, ["secretId"])  # fmt: skip
    scene.secret("dp", "vault-approle", {"role-id": role.output("roleId"), "secret-id": made.output("secretId")}, namespace="vault-agent")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-client-certificate", "The provider's authority signs a client certificate for the tenant's agent, whose key was generated for the tenant; the authority's key stays.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ca_key, ca = pair(scene, "cp", "agents-ca", authority=True)
    scene.secret("cp", "agents-ca", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca.output("certPem")}, "kubernetes.io/tls", namespace="platform")  # fmt: skip
    key, certificate = issued(scene, "dp", "alder-agent-client", ca_key, ca, "agents-ca")
    scene.secret("dp", "agent-client", {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem"), "ca.crt": ca.output("certPem")}, "kubernetes.io/tls", namespace="osprey-agent")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-key-for-one-zone", "A key by which the tenant updates its own zone on the provider's name server: the server has it under the tenant's name, and the tenant's external-dns.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in both(scene).items():
        word = theirs(scene, "tsig", 44, tenant=name)
        scene.secret("cp", f"tsig-{name}", {"name": f"{name}.{DOMAIN}.", "secret": word}, namespace=f"tenant-{name}")
        scene.secret(side, "rfc2136", {"rfc2136_tsig_keyname": f"{name}.{DOMAIN}.", "rfc2136_tsig_secret": word}, namespace="external-dns")  # fmt: skip


@clean(ISSUED, "fourteenth-issued-tokens-of-a-loop", "Each tenant has a token for the provider's interface; the interface knows all of them by their hashes and each cluster has its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    hashes = {}
    for name, side in both(scene).items():
        made = scene.password("dp", f"{name}-api", 48)
        hashes[name] = made.output("bcryptHash")
        scene.secret(side, "osprey-api", {"token": made.output("result"), "server": f"https://api.{DOMAIN}"}, namespace="osprey-agent")  # fmt: skip
    scene.secret("cp", "api-tokens", {"tokens.json": pulumi.Output.json_dumps(hashes)}, namespace="platform")


@clean(ISSUED, "fourteenth-issued-user-of-a-bus", "The provider's bus has a user for the tenant, with a password that is generated for it; the tenant's chart logs in by it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = theirs(scene, "bus", 40)
    scene.secret("cp", "alder-bus-user", {"password": word}, namespace="tenant-alder", labels={"tenant": "alder"})
    spec = {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": "alder-bus-user", "key": "password"}}}}, "quotas": {"producerByteRate": 1048576}}  # fmt: skip
    scene.object("cp", "kafka.strimzi.io/v1beta2:KafkaUser", "alder", {"metadata": {"namespace": "tenant-alder"}, "spec": spec})  # fmt: skip
    release(scene, "dp", "events", {"kafka": {"brokers": [f"bus.{DOMAIN}:9094"], "username": "alder", "password": word, "mechanism": "SCRAM-SHA-512"}})  # fmt: skip


@clean(ISSUED, "fourteenth-issued-key-to-the-network", "The provider's network answers a key for the tenant's gateway, which works once and only with the tenant's tag.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = home(scene, "tailscale:index/tailnetKey:TailnetKey", "alder-gateway", {"reusable": False, "ephemeral": True, "preauthorized": True, "tags": ["tag:alder"], "description": "gateway of alder"}, {"key": f"tskey-auth-{scene.dp.opaque('alder tailnet', 40, LETTERS)}"}, ["key"], tailnet=DOMAIN, apiKey=hosted(scene, "tailscale-api", "key", 48))  # fmt: skip
    scene.secret("dp", "tailscale-auth", {"TS_AUTHKEY": made.output("key")}, namespace="tailscale")


@clean(ISSUED, "fourteenth-issued-licence-of-the-tenant", "A licence that the vendor sent for this tenant is kept in the stack's configuration under the tenant's name, and goes to it.", config=lambda cp, dp: {"alder:licence": json.dumps({"customer": "alder", "seats": 40, "signature": dp.opaque("licence", 88, LETTERS)})})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "licence", {"licence.json": scene.config("alder:licence"), "id": drawn("licence id", 12, HEX)}, namespace="shop")  # fmt: skip
