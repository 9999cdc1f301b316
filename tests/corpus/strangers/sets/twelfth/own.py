"""Harmless, of a provider in many clouds: tenants' secrets in tenants' places, and what goes up and stays up."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pulumi
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import x25519

from tests.corpus.strangers.credentials import issued, kept, minted, pair, raw
from tests.corpus.strangers.material import LETTERS, LOWER, Material
from tests.corpus.strangers.objects import cloud, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    CERTIFICATE,
    DOMAIN,
    LIME,
    LIME_PROJECT,
    LIME_SUBSCRIPTION,
    PROJECT,
    WREN,
    home,
    hosted,
    lime,
    tenants,
    tenants_own,
    wren,
)

SERVED, FORGES, CLUSTERS, BETWEEN, STAYS, UP = (
    "twelfth: of a tenant's own services",
    "twelfth: of a tenant's own forges",
    "twelfth: generated for a tenant's cluster",
    "twelfth: between clusters of one tenant",
    "twelfth: the provider's, which stay",
    "twelfth: up to the provider",
)


def given(**lengths: int) -> Callable[[Material, Material], dict[str, str]]:
    """Configuration of tokens that the tenant sent, by which the program logs in at the tenant's services."""
    return lambda cp, dp: {f"lime:{key}": dp.opaque(f"lime {key}", length, LETTERS) for key, length in lengths.items()}


# Of a tenant's own services -------------------------------------------------------------------------------------------


@clean(SERVED, "twelfth-own-roles-of-its-database", "On the tenant's own database roles are made in a loop, each with a generated password and an address with login in its own Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    login = {"host": f"pg.{LIME}", "username": "postgres", "password": tenants_own(scene, "pg-superuser"), "sslmode": "require"}  # fmt: skip
    for name in ("orders", "search", "wiki"):
        word = tenants_own(scene, f"pg-{name}")
        lime(scene, "postgresql:index/role:Role", f"pg-{name}-role", {"name": name, "login": True, "password": word}, None, ["password"], **login)  # fmt: skip
        scene.secret("dp", f"{name}-db", {"DATABASE_URL": pulumi.Output.concat(f"postgresql://{name}:", word, f"@pg.{LIME}:5432/{name}?sslmode=require")}, namespace=name)  # fmt: skip


@clean(SERVED, "twelfth-own-user-of-its-documents", "In the tenant's Atlas project a user is made; its address with the login, quoted, is in the tenant's cluster.", config=given(atlasKey=36))  # fmt: skip
def _(scene: Scene) -> None:
    hosted(scene, "atlas-of-wren")
    word = tenants_own(scene, "atlas-catalogue")
    login = {"publicKey": drawn("lime atlas public", 8, LOWER), "privateKey": scene.config("lime:atlasKey")}
    lime(scene, "mongodbatlas:index/databaseUser:DatabaseUser", "catalogue", {"projectId": drawn("lime atlas project", 24, HEX), "username": "catalogue", "password": word, "authDatabaseName": "admin", "roles": [{"roleName": "readWrite", "databaseName": "catalogue"}]}, None, ["password"], **login)  # fmt: skip
    scene.secret("dp", "catalogue-db", {"uri": pulumi.Output.concat("mongodb+srv://catalogue:", word, "@lime.k3v9q.mongodb.net/catalogue?retryWrites=true&w=majority")})  # fmt: skip


@clean(SERVED, "twelfth-own-client-of-its-login-service", "In the tenant's Okta an application is made, whose answered secret the tenant's proxy has beside a generated one for cookies.", config=given(oktaToken=42), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = lime(scene, "okta:app/oAuth:OAuth", "wiki", {"label": "wiki", "type": "web", "grantTypes": ["authorization_code"], "redirectUris": [f"https://wiki.{LIME}/oauth2/callback"]}, {"clientId": f"0oa{drawn('okta client', 17)}", "clientSecret": scene.dp.opaque("okta wiki", 64, LETTERS)}, ["clientSecret"], orgName="lime", baseUrl="okta-emea.com", apiToken=scene.config("lime:oktaToken"))  # fmt: skip
    scene.secret("dp", "wiki-proxy", {"OAUTH2_PROXY_CLIENT_ID": made.output("clientId"), "OAUTH2_PROXY_CLIENT_SECRET": made.output("clientSecret"), "OAUTH2_PROXY_COOKIE_SECRET": tenants_own(scene, "wiki-cookies")})  # fmt: skip


@clean(SERVED, "twelfth-own-key-of-its-monitoring", "At the tenant's monitoring vendor a key is made by the tenant's login; its agents have it by a Secret that a chart names.", config=given(datadogApi=32, datadogApp=40))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = lime(scene, "datadog:index/apiKey:ApiKey", "agents", {"name": "agents of lime"}, {"key": scene.dp.opaque("datadog agents", 32, HEX)}, ["key"], apiKey=scene.config("lime:datadogApi"), appKey=scene.config("lime:datadogApp"))  # fmt: skip
    scene.secret("dp", "datadog-keys", {"api-key": made.output("key")}, namespace="monitoring")
    release(scene, "dp", "datadog", {"datadog": {"apiKeyExistingSecret": "datadog-keys", "clusterName": "lime"}})


@clean(SERVED, "twelfth-own-connection-of-a-managed-database", "A managed database of the tenant's in another cloud answers host, user, password and an address with all; two Secrets have them.", config=given(doToken=64))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    word = scene.dp.opaque("do database", 24, LETTERS)
    answers = {"host": "lime-do-user-77.db.ondigitalocean.com", "port": 25060, "user": "doadmin", "password": word, "uri": f"postgresql://doadmin:{word}@lime-do-user-77.db.ondigitalocean.com:25060/defaultdb?sslmode=require"}  # fmt: skip
    made = lime(scene, "digitalocean:index/databaseCluster:DatabaseCluster", "shop", {"engine": "pg", "version": "17", "size": "db-s-2vcpu-4gb", "region": "ams3", "nodeCount": 2}, answers, ["password", "uri"], token=scene.config("lime:doToken"))  # fmt: skip
    scene.secret("dp", "shop-db", {"uri": made.output("uri")}, namespace="shop")
    scene.secret("dp", "metabase", {"MB_DB_HOST": made.output("host"), "MB_DB_PORT": apply(made.output("port"), str), "MB_DB_USER": made.output("user"), "MB_DB_PASS": made.output("password")}, namespace="bi")  # fmt: skip


@clean(SERVED, "twelfth-own-key-for-dns-in-its-cloud", "In the tenant's organisation of Scaleway an application gets a key for DNS; external-dns in its cluster logs in by it.", config=given(scwSecret=36), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = lime(scene, "scaleway:iam/apiKey:ApiKey", "dns", {"applicationId": uid("scw application"), "description": "external-dns"}, {"accessKey": f"SCW{drawn('scw access', 17, AWS_ID)}", "secretKey": scene.dp.opaque("scw dns", 36, HEX)}, ["secretKey"], projectId=uid("lime scw"), secretKey=scene.config("lime:scwSecret"))  # fmt: skip
    scene.secret("dp", "scaleway-dns", {"SCW_ACCESS_KEY": made.output("accessKey"), "SCW_SECRET_KEY": made.output("secretKey")}, namespace="external-dns")  # fmt: skip


@clean(SERVED, "twelfth-own-host-key-of-a-bastion", "The tenant's bastion gets its host key by its first script, so that known hosts can be written before; both are the tenant's.", config=given(hcloudToken=64))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    key = scene.key("dp", "lime-bastion-host")
    script = apply(key.output("privateKeyOpenssh"), lambda text: "#cloud-config\n" + json.dumps({"ssh_keys": {"ecdsa_private": text}, "ssh_pwauth": False}))  # fmt: skip
    lime(scene, "hcloud:index/server:Server", "bastion", {"serverType": "cax11", "image": "debian-13", "userData": script}, {"ipv4Address": "203.0.113.140"}, token=scene.config("lime:hcloudToken"))  # fmt: skip
    scene.config_map("dp", "known-hosts", {"known_hosts": pulumi.Output.concat(f"bastion.{LIME} ", key.output("publicKeyOpenssh"))})  # fmt: skip


@clean(SERVED, "twelfth-own-ciphertext-in-its-project", "A generated password of the tenant's is encrypted by the tenant's key service; the ciphertext is in a map and the password in its manager of secrets.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    word = tenants_own(scene, "payments")
    key = f"projects/{LIME_PROJECT}/locations/europe-north1/keyRings/lime/cryptoKeys/apps"
    sealed = lime(scene, "gcp:kms/secretCiphertext:SecretCiphertext", "payments", {"cryptoKey": key, "plaintext": word}, {"ciphertext": b64(noise("lime ciphertext", 113))}, ["plaintext"], project=LIME_PROJECT)  # fmt: skip
    lime(scene, "gcp:secretmanager/secretVersion:SecretVersion", "payments-1", {"secret": f"projects/{LIME_PROJECT}/secrets/payments", "secretData": word}, None, ["secretData"], project=LIME_PROJECT)  # fmt: skip
    scene.config_map("dp", "payments", {"password.enc": sealed.output("ciphertext"), "key": key})


@clean(SERVED, "twelfth-own-cache-of-azure", "A cache in the tenant's subscription answers its key; the tenant's cluster has it in a connection for .NET.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = lime(scene, "azure-native:redis:Redis", "sessions", {"resourceGroupName": "lime", "name": "lime-sessions", "sku": {"name": "Standard", "family": "C", "capacity": 1}}, {"hostName": "lime-sessions.redis.cache.windows.net", "accessKeys": {"primaryKey": b64(scene.dp.raw("redis primary")), "secondaryKey": b64(scene.dp.raw("redis secondary"))}}, ["accessKeys"], subscriptionId=LIME_SUBSCRIPTION)  # fmt: skip
    text = pulumi.Output.all(made.output("hostName"), made.output("accessKeys")).apply(lambda found: f"{found[0]}:6380,password={(found[1] or {}).get('primaryKey', '')},ssl=True,abortConnect=False")  # fmt: skip
    scene.secret("dp", "sessions", {"ConnectionStrings__Redis": text})


# Of a tenant's own forges ---------------------------------------------------------------------------------------------


@clean(FORGES, "twelfth-own-deploy-key-of-its-repository", "The tenant's Flux reads the tenant's repository by a key made for it: half in the repository, half in the tenant's cluster.", config=given(githubToken=40), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    key = scene.key("dp", "lime-flux")
    scene.made("github:index/repositoryDeployKey:RepositoryDeployKey", "own-flux", {"repository": "fleet", "title": "flux", "key": key.output("publicKeyOpenssh"), "readOnly": True}, scene.package("github", "lime-github", token=scene.config("lime:githubToken")))  # fmt: skip
    scene.secret("dp", "flux-system", {"identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh"), "known_hosts": f"github.com {scene.dp.public_ssh('github host')}"}, namespace="flux-system")  # fmt: skip


@clean(FORGES, "twelfth-own-secret-of-an-action", "A generated password of the tenant's preview database is a secret of the tenant's repository and a Secret of its cluster.", config=given(githubToken=40))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    word = tenants_own(scene, "preview-db")
    opts = scene.package("github", "lime-github", token=scene.config("lime:githubToken"))
    scene.made("github:index/actionsSecret:ActionsSecret", "preview-db", {"repository": "shop", "secretName": "PREVIEW_DB_PASSWORD", "plaintextValue": word}, opts, None, ["plaintextValue"])  # fmt: skip
    scene.secret("dp", "preview-db", {"password": word}, namespace="preview")


@clean(FORGES, "twelfth-own-pull-login-of-its-group", "A deploy token of the tenant's GitLab group is answered; the tenant's cluster pulls images by it, as Docker writes logins.", config=given(gitlabToken=26), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = lime(scene, "gitlab:index/deployToken:DeployToken", "pull", {"group": "lime", "name": "pull", "scopes": ["read_registry"]}, {"username": "gitlab+deploy-token-4411", "token": f"gldt-{scene.dp.opaque('gitlab pull', 20, LETTERS)}"}, ["token"], baseUrl=f"https://git.{LIME}", token=scene.config("lime:gitlabToken"))  # fmt: skip
    login = pulumi.Output.all(made.output("username"), made.output("token")).apply(lambda found: json.dumps({"auths": {f"registry.git.{LIME}": {"auth": b64(f"{found[0]}:{found[1]}")}}}))  # fmt: skip
    scene.secret("dp", "pull", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


# Generated for a tenant's cluster -------------------------------------------------------------------------------------


@clean(CLUSTERS, "twelfth-own-password-file-of-a-registry", "A registry in the tenant's cluster has a file with the hash, and its pullers the password, of one that was generated for it.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    made = scene.password("dp", "lime-registry")
    scene.secret("dp", "registry-htpasswd", {"htpasswd": pulumi.Output.concat("pull:", made.output("bcryptHash"), "\n")}, namespace="registry")  # fmt: skip
    scene.secret("dp", "registry-login", {"username": "pull", "password": made.output("result")}, kind="kubernetes.io/basic-auth")  # fmt: skip


@clean(CLUSTERS, "twelfth-own-identity-of-linkerd", "The tenant's mesh gets an anchor and an issuer of its own, all made for it; the chart has the issuer's key as it wants it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    anchor_key, anchor = pair(scene, "dp", "lime-linkerd-anchor", authority=True)
    key, cert = issued(scene, "dp", "lime-linkerd-issuer", anchor_key, anchor, "lime-linkerd-anchor")
    release(scene, "dp", "linkerd-control-plane", {"identityTrustAnchorsPEM": anchor.output("certPem"), "identity": {"issuer": {"tls": {"crtPEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}})  # fmt: skip


@clean(CLUSTERS, "twelfth-own-component-for-each-team", "A component gives each team of the tenant's a namespace, a quota and a Secret with keys for sessions; three teams use it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    class Team(Box):
        def __init__(self, name: str, quota: int) -> None:
            super().__init__(f"team-{name}", "wren:mesh:Team")
            scene.object(
                "dp", "v1:Namespace", name, {"metadata": {"name": name, "labels": {"mesh": WREN}}}, parent=self
            )
            scene.object("dp", "v1:ResourceQuota", f"{name}-quota", {"metadata": {"namespace": name}, "spec": {"hard": {"count/secrets": str(quota)}}}, parent=self)  # fmt: skip
            self.key = tenants_own(scene, f"{name}-sessions", 64)
            scene.secret("dp", f"{name}-rails", {"SECRET_KEY_BASE": self.key}, namespace=name)
            self.register_outputs({})

    wren(scene)
    for at, name in enumerate(("checkout", "catalogue", "support")):
        Team(name, 20 + 10 * at)


@clean(CLUSTERS, "twelfth-own-gossip-of-consul", "Consul in the tenant's cluster gossips by random bytes that were made for it, and has a first token by a random UUID.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    scene.secret("dp", "consul-gossip", {"key": raw(scene, "dp", "lime-gossip").output("base64")}, namespace="consul")
    scene.secret("dp", "consul-bootstrap", {"token": scene.made("random:index/randomUuid:RandomUuid", "lime-consul", {}, None, {"result": uid("lime consul bootstrap")}).output("result")}, namespace="consul")  # fmt: skip
    release(scene, "dp", "consul", {"global": {"gossipEncryption": {"secretName": "consul-gossip", "secretKey": "key"}, "acls": {"bootstrapToken": {"secretName": "consul-bootstrap", "secretKey": "token"}}}})  # fmt: skip


# Between clusters of one tenant ---------------------------------------------------------------------------------------


@clean(BETWEEN, "twelfth-own-mesh-of-two-clusters", "Two clusters of one tenant join a mesh of Cilium: one authority of the tenant's signs for both, and both have it.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    scene.join("lime-south", "https://south.lime.example.com:6443")
    key, cert = pair(scene, "dp", "lime-cilium-ca", authority=True)
    for at, side in enumerate(("dp", "lime-south")):
        scene.secret(side, "cilium-ca", {"ca.crt": cert.output("certPem"), "ca.key": key.output("privateKeyPem")}, namespace="kube-system")  # fmt: skip
        release(scene, side, "cilium", {"cluster": {"name": side, "id": at + 1}, "clustermesh": {"useAPIServer": True}})


@clean(BETWEEN, "twelfth-own-secret-of-a-tunnel", "Two clusters of one tenant are joined by a tunnel with a shared secret that was made for the two.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    scene.join("lime-south", "https://south.lime.example.com:6443")
    word = raw(scene, "dp", "lime-submariner", 48).output("base64")
    for side, number in (("dp", "198.19.0.0/20"), ("lime-south", "198.19.16.0/20")):
        release(scene, side, "submariner", {"ipsec": {"psk": word}, "submariner": {"clusterId": side, "globalCidr": number}})  # fmt: skip


# The provider's, which stay -------------------------------------------------------------------------------------------


@clean(STAYS, "twelfth-stays-in-the-providers-project", "A generated password is kept in the provider's own manager of secrets and cluster; the tenant's cluster gets a name of a topic.")  # fmt: skip
def _(scene: Scene) -> None:
    cloud(scene, "gcp:secretmanager/secretVersion:SecretVersion", "billing-1", {"secret": f"projects/{PROJECT}/secrets/billing", "secretData": hosted(scene, "billing")}, {}, ["secretData"])  # fmt: skip
    topic = cloud(scene, "gcp:pubsub/topic:Topic", "usage", {"name": "usage-lime"}, {"id": f"projects/{PROJECT}/topics/usage-lime"})  # fmt: skip
    scene.config_map("dp", "usage", {"topic": topic.id})  # fmt: skip


@clean(STAYS, "twelfth-stays-a-rotated-login", "The provider's login turns: the new one is in its Vault and its cluster, and the tenant's note has only the day.", before=wren)  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    word = hosted(scene, "operators-2026q2")
    home(scene, "vault:kv/secretV2:SecretV2", "operators", {"mount": "kv", "name": "operators", "dataJson": pulumi.Output.json_dumps({"password": word})}, None, ("dataJson",), address=f"https://vault.{DOMAIN}", token=kept(scene, "vault-writer", "token", 90))  # fmt: skip
    scene.config_map("dp", "maintenance", {"credentials-rotated": "2026-04-01", "next": "2026-07-01"})


@clean(STAYS, "twelfth-stays-an-export-of-the-control-plane", "The provider's stack exports a kubeconfig as a secret and an end point as a fact; the tenant's cluster gets the end point.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    pulumi.export("kubeconfig", pulumi.Output.secret(scene.cp.kubeconfig("exported", SERVERS["cp"])))
    pulumi.export("adminPassword", pulumi.Output.secret(hosted(scene, "exported-admin")))
    pulumi.export("endpoint", f"xds.{DOMAIN}:15012")
    scene.config_map("dp", "endpoint", {"xds": f"xds.{DOMAIN}:15012", "account": ACCOUNT})


# Up to the provider ---------------------------------------------------------------------------------------------------


@clean(UP, "twelfth-up-remote-secrets-of-two-tenants", "istiod of each tenant reads that tenant's cluster by a token of an account there; the kubeconfig is in the provider's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    for tenant, side in tenants(scene).items():
        token = minted(scene, side, f"istio-reader-{tenant}")
        config = apply(token, lambda text, tenant=tenant: json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": tenant, "cluster": {"server": f"https://api.{tenant}.example.com"}}], "users": [{"name": tenant, "user": {"token": text}}], "contexts": [{"name": tenant, "context": {"cluster": tenant, "user": tenant}}], "current-context": tenant}))  # fmt: skip
        scene.secret("cp", f"istio-remote-secret-{tenant}", {tenant: config}, namespace=f"mesh-{tenant}", labels={"istio/multiCluster": "true"})  # fmt: skip
        scene.object(side, "v1:ServiceAccount", f"reader-{tenant}", {"metadata": {"labels": {"mesh": WREN}}})


@clean(UP, "twelfth-up-public-key-of-the-tenants-tunnel", "The tenant's end of a tunnel has a key that was made for it; the provider's end knows the public key, which the program computes.")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    private = raw(scene, "dp", "lime-wireguard").output("base64")

    def public(text: str) -> str:
        key = x25519.X25519PrivateKey.from_private_bytes(base64.b64decode(text)).public_key()
        return b64(key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw))

    scene.secret("dp", "wireguard", {"privatekey": private}, namespace="vpn")
    scene.config_map("cp", "peers", {"lime.conf": pulumi.Output.concat("[Peer]\nPublicKey = ", apply(private, public), "\nAllowedIPs = 10.99.0.7/32\n")}, namespace="vpn")  # fmt: skip


@clean(UP, "twelfth-up-key-that-seals-for-a-tenant", "The tenant's controller opens sealed secrets by a key made for it; the provider has its certificate for sealing, and the tenant another of the provider's.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "dp", "lime-sealing")
    scene.secret("dp", "sealed-secrets-key", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="kube-system", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip
    scene.config_map("cp", "sealing-lime", {"cert.pem": cert.output("certPem")}, namespace="fleet")
    own_key, own_cert = pair(scene, "cp", "wren-sealing")
    scene.secret("cp", "sealed-secrets-key", {"tls.key": own_key.output("privateKeyPem"), "tls.crt": own_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="kube-system")  # fmt: skip
    scene.config_map("dp", "sealing-wren", {"cert.pem": own_cert.output("certPem")})
