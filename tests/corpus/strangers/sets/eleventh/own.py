"""Harmless, on a provider's first day: secrets of tenants, of every origin, each in its tenant's places only."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pulumi
from cryptography.hazmat.primitives import serialization

from tests.corpus.strangers.credentials import issued, minted, pair, raw
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import Play, clean
from tests.corpus.strangers.values import AWS_ID, apply, b64, drawn
from tests.corpus.world import Box

from .world import (
    CERTIFICATE,
    DOMAIN,
    MOSS,
    MOSS_PROJECT,
    MOSS_SUBSCRIPTION,
    REGION,
    TERN,
    moss,
    ours,
    tenants,
    tern,
    theirs,
)

GENERATED, GIVEN, CLOUDS, SEVERAL, UP = (
    "eleventh: generated for a tenant",
    "eleventh: given by a tenant",
    "eleventh: of a tenant's own accounts",
    "eleventh: several tenants",
    "eleventh: from a tenant up to the provider",
)


def settings(**lengths: int) -> Callable[[Material, Material], dict[str, str]]:
    """Configuration of secrets that a tenant sent: each by its key and length."""
    return lambda cp, dp: {f"tenant:{key}": dp.opaque(f"given {key}", length, LETTERS) for key, length in lengths.items()}  # fmt: skip


# Generated for a tenant -----------------------------------------------------------------------------------------------


def generated(name: str, why: str, **more: Any) -> Callable[[Play], Play]:
    """A program that generates something for the tenant, beside the provider's Secrets."""

    def keep(play: Play) -> Play:
        def both(scene: Scene) -> None:
            tern(scene)
            play(scene)

        both.__module__ = __name__
        clean(GENERATED, f"eleventh-own-{name}", why, **more)(both)
        return play

    return keep


@generated("administrator-of-grafana", "The tenant's Grafana gets a generated administrator, by a Secret that its chart names.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("dp", "grafana-admin", {"admin-user": "admin", "admin-password": theirs(scene, "grafana")}, namespace="monitoring")  # fmt: skip
    release(scene, "dp", "grafana", {"admin": {"existingSecret": "grafana-admin"}, "grafana.ini": {"server": {"root_url": f"https://grafana.{MOSS}"}}})  # fmt: skip


@generated("cache-password-in-values", "The tenant's cache has its generated password right in the chart's values, as everybody does on a first day.")  # fmt: skip
def _(scene: Scene) -> None:
    release(scene, "dp", "redis", {"architecture": "replication", "auth": {"enabled": True, "password": theirs(scene, "redis")}, "metrics": {"enabled": True}})  # fmt: skip


@generated("webhook-with-its-own-pair", "An admission server of the tenant's own gets a generated pair; its certificate is the bundle of its webhook.")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "dp", "moss-admission")
    scene.secret("dp", "admission-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    hook = {"name": "labels.moss.example.com", "clientConfig": {"service": {"name": "admission", "namespace": "default", "path": "/mutate"}, "caBundle": apply(cert.output("certPem"), b64)}, "sideEffects": "None", "admissionReviewVersions": ["v1"]}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "labels", {"webhooks": [hook]})  # fmt: skip


@generated("keys-of-encrypted-traffic", "Cilium in the tenant's cluster encrypts by a key of random bytes, in the form that it wants.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "dp", "moss-ipsec", 20).output("hex")
    scene.secret("dp", "cilium-ipsec-keys", {"keys": pulumi.Output.concat("3+ rfc4106(gcm(aes)) ", key, " 128")}, namespace="kube-system")  # fmt: skip
    release(scene, "dp", "cilium", {"encryption": {"enabled": True, "type": "ipsec"}, "cluster": {"name": "moss"}})  # fmt: skip


@generated("settings-of-an-object-store", "An object store of the tenant's reads a file of exports with a generated root login.")  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.concat('export MINIO_ROOT_USER="moss"\nexport MINIO_ROOT_PASSWORD="', theirs(scene, "minio", 40), '"\nexport MINIO_BROWSER="off"\n')  # fmt: skip
    scene.secret("dp", "minio-configuration", {"config.env": text})
    scene.object("dp", "minio.min.io/v2:Tenant", "objects", {"spec": {"configuration": {"name": "minio-configuration"}, "pools": [{"servers": 4, "volumesPerServer": 2}], "requestAutoCert": True}})  # fmt: skip


@generated("pool-of-connections", "A pool before the tenant's database has a file of users and the clients a URL, both of one generated password.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = theirs(scene, "pool")
    scene.secret("dp", "pgbouncer", {"userlist.txt": pulumi.Output.format('"shop" "{0}"\n', word)})
    scene.secret("dp", "shop-env", {"DATABASE_URL": pulumi.Output.concat("postgresql://shop:", word, "@pgbouncer:6432/shop")})  # fmt: skip
    release(scene, "dp", "shop", {"envFrom": [{"secretRef": {"name": "shop-env"}}], "image": {"tag": "2.8.1"}})  # fmt: skip


@generated("client-in-its-own-realm", "A client in the tenant's own login service gets a generated secret, which the tenant's proxy has too.")  # fmt: skip
def _(scene: Scene) -> None:
    secret = theirs(scene, "wiki-client", 40)
    moss(scene, "keycloak:openid/client:Client", "wiki", {"realmId": "moss", "clientId": "wiki", "clientSecret": secret, "accessType": "CONFIDENTIAL", "validRedirectUris": [f"https://wiki.{MOSS}/*"]}, url=f"https://login.{MOSS}", clientId="admin-cli", username="admin", password=theirs(scene, "keycloak-admin"))  # fmt: skip
    scene.secret("dp", "wiki-login", {"client-id": "wiki", "client-secret": secret, "issuer": f"https://login.{MOSS}/realms/moss"})  # fmt: skip


@generated("signing-key-and-key-set", "The tenant's service signs tokens by a key made for it; its key set is public in a map of the same cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("dp", "moss-orders-signer")

    def key_set(pem: str) -> str:
        numbers = serialization.load_pem_public_key(pem.encode()).public_numbers()
        point = {name: base64.urlsafe_b64encode(getattr(numbers, name).to_bytes(32)).rstrip(b"=").decode() for name in "xy"}  # fmt: skip
        return json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "use": "sig", "kid": "orders-1", **point}]})

    scene.secret("dp", "orders-signer", {"private.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "orders-keys", {"jwks.json": apply(key.output("publicKeyPem"), key_set)})


def _last_quarter(scene: Scene) -> None:
    tern(scene)
    scene.secret("dp", "shop-session", {"key": theirs(scene, "session-2026q1", 48)})


@clean(GENERATED, "eleventh-own-session-key-of-the-next-quarter", "A later update gives the tenant's shop the next quarter's key beside the last one.", before=_last_quarter)  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    scene.secret("dp", "shop-session", {"key": theirs(scene, "session-2026q2", 48), "previous": theirs(scene, "session-2026q1", 48)})  # fmt: skip


# Given by a tenant ----------------------------------------------------------------------------------------------------


@clean(GIVEN, "eleventh-given-zone-token", "The tenant sent a token for its zone; its issuer and its external-dns have it by one Secret each.", config=settings(zoneToken=40))  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    for namespace in ("cert-manager", "external-dns"):
        body = {"stringData": {"api-token": scene.config("tenant:zoneToken")}, "metadata": {"name": "zone-token", "namespace": namespace}}  # fmt: skip
        scene.object("dp", "v1:Secret", f"{namespace}-zone-token", body)
    scene.object("dp", "cert-manager.io/v1:Issuer", "dns", {"spec": {"acme": {"email": f"tls@{MOSS}", "privateKeySecretRef": {"name": "acme"}, "solvers": [{"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": "zone-token", "key": "api-token"}}}}]}}})  # fmt: skip


@clean(GIVEN, "eleventh-given-keys-of-a-monitoring-vendor", "The tenant's keys at its vendor are values of the vendor's chart and variables of a Deployment.", config=settings(vendorApiKey=32, vendorAppKey=40))  # fmt: skip
def _(scene: Scene) -> None:
    ours(scene, "vendor-api-key", "apiKey")
    release(scene, "dp", "datadog", {"datadog": {"site": "datadoghq.eu", "clusterName": "moss", "apiKey": scene.config("tenant:vendorApiKey"), "appKey": scene.config("tenant:vendorAppKey")}, "clusterAgent": {"enabled": True}})  # fmt: skip


@clean(GIVEN, "eleventh-given-certificate-for-the-gateway", "The tenant sent a certificate with its key for the public gateway, as two settings.", config=lambda cp, dp: {"tenant:tlsKey": dp.key("moss gateway"), "tenant:tlsCert": dp.certificate("moss gateway", names=(f"*.{MOSS}",))})  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    scene.secret("dp", "gateway-tls", {"tls.key": scene.config("tenant:tlsKey"), "tls.crt": scene.config("tenant:tlsCert")}, kind="kubernetes.io/tls", namespace="ingress")  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:Gateway", "public", {"spec": {"selector": {"istio": "ingressgateway"}, "servers": [{"port": {"number": 443, "name": "https", "protocol": "HTTPS"}, "hosts": [f"*.{MOSS}"], "tls": {"mode": "SIMPLE", "credentialName": "gateway-tls"}}]}})  # fmt: skip


@clean(GIVEN, "eleventh-given-age-key-for-flux", "The tenant sent the key that decrypts its repository; Flux in its cluster has it.", config=lambda cp, dp: {"tenant:age": "AGE-SECRET-KEY-1" + dp.opaque("moss age", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")})  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    scene.secret("dp", "sops-age", {"moss.agekey": scene.config("tenant:age")}, namespace="flux-system")
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "apps", {"spec": {"path": "./apps", "decryption": {"provider": "sops", "secretRef": {"name": "sops-age"}}, "sourceRef": {"kind": "GitRepository", "name": "fleet"}}})  # fmt: skip


# Of a tenant's own accounts -------------------------------------------------------------------------------------------


@clean(CLOUDS, "eleventh-own-database-on-google", "A database with a user is made in the tenant's project; its cluster has login and address.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    word = theirs(scene, "sql")
    made = moss(scene, "gcp:sql/databaseInstance:DatabaseInstance", "shop", {"databaseVersion": "POSTGRES_17", "settings": {"tier": "db-custom-2-8192"}}, {"privateIpAddress": "10.77.0.3", "connectionName": f"{MOSS_PROJECT}:europe-west9:shop"}, project=MOSS_PROJECT)  # fmt: skip
    moss(scene, "gcp:sql/user:User", "shop-user", {"instance": "shop", "name": "shop", "password": word}, project=MOSS_PROJECT)  # fmt: skip
    scene.secret("dp", "shop-db", {"host": made.output("privateIpAddress"), "instance": made.output("connectionName"), "username": "shop", "password": word})  # fmt: skip


@clean(CLOUDS, "eleventh-own-entry-of-a-key-vault", "A generated password is in the tenant's key vault and sets the administrator of its server.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    word = theirs(scene, "flexible-server")
    azure = {"subscriptionId": MOSS_SUBSCRIPTION}
    moss(scene, "azure-native:dbforpostgresql:Server", "orders", {"resourceGroupName": "moss", "administratorLogin": "orders", "administratorLoginPassword": word, "version": "17"}, None, ["administratorLoginPassword"], **azure)  # fmt: skip
    moss(scene, "azure-native:keyvault:Secret", "orders-db", {"resourceGroupName": "moss", "vaultName": f"moss-{drawn('vault name', 6)}", "secretName": "orders-db", "properties": {"value": word}}, **azure)  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "orders-db", {"spec": {"secretStoreRef": {"name": "moss", "kind": "ClusterSecretStore"}, "data": [{"secretKey": "password", "remoteRef": {"key": "orders-db"}}]}})  # fmt: skip


@clean(CLOUDS, "eleventh-own-key-for-backups", "A user's key is made in the tenant's account; the file that velero reads is in the tenant's cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    key = moss(scene, "aws:iam/accessKey:AccessKey", "velero", {"user": "velero"}, {"id": f"AKIA{drawn('moss velero', 16, AWS_ID)}", "secret": scene.dp.opaque("moss velero", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
    scene.secret("dp", "cloud-credentials", {"cloud": pulumi.Output.concat("[default]\naws_access_key_id=", key.id, "\naws_secret_access_key=", key.output("secret"), "\n")}, namespace="velero")  # fmt: skip


@clean(CLOUDS, "eleventh-own-mount-of-its-vault", "The tenant's Vault gets a mount, a policy and an entry with a generated login; the cluster reads it by a role.", config=settings(vaultToken=28))  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    login = {"address": f"https://vault.{MOSS}", "token": scene.config("tenant:vaultToken")}
    moss(scene, "vault:index/mount:Mount", "apps", {"path": "apps", "type": "kv-v2"}, **login)
    moss(scene, "vault:kv/secretV2:SecretV2", "search-login", {"mount": "apps", "name": "search", "dataJson": pulumi.Output.json_dumps({"username": "search", "password": theirs(scene, "search")})}, **login)  # fmt: skip
    scene.object("dp", "secrets.hashicorp.com/v1beta1:VaultStaticSecret", "search", {"spec": {"mount": "apps", "type": "kv-v2", "path": "search", "destination": {"name": "search", "create": True}}})  # fmt: skip


@clean(CLOUDS, "eleventh-own-stack-of-its-database", "The tenant's own stack made its database; the address with the login is read of it and kept in the tenant's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    outputs = {"url": f"postgresql://crm:{scene.dp.opaque('moss crm', 32, LETTERS)}@crm.{MOSS}:5432/crm", "name": "crm"}  # fmt: skip
    found = scene.reference("moss-database", "moss/database/prod", outputs, ["url"])
    scene.secret("dp", "crm-db", {"uri": found.require_output("url"), "name": found.get_output("name")})


@clean(CLOUDS, "eleventh-own-key-pair-of-its-bastion", "A key pair for the tenant's bastion is made: the public half in its account, the private one in its store of parameters.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    key = scene.key("dp", "moss-bastion")
    moss(scene, "aws:ec2/keyPair:KeyPair", "bastion", {"keyName": "bastion", "publicKey": key.output("publicKeyOpenssh")}, region=REGION)  # fmt: skip
    moss(scene, "aws:ssm/parameter:Parameter", "bastion-key", {"name": "/moss/bastion", "type": "SecureString", "value": key.output("privateKeyOpenssh")}, None, ["value"], region=REGION)  # fmt: skip


# Several tenants ------------------------------------------------------------------------------------------------------


@clean(SEVERAL, "eleventh-each-tenant-its-database-login", "For each tenant a password is generated in a loop and kept in that tenant's cluster; the provider's own is beside.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    ours(scene, "hosting-db", namespace="databases")
    for tenant, side in tenants(scene).items():
        scene.secret(side, "database", {"username": tenant, "password": theirs(scene, "db", tenant=tenant)}, namespace="apps")  # fmt: skip
        release(scene, side, "istiod-remote", {"global": {"meshID": TERN, "multiCluster": {"clusterName": tenant}, "remotePilotAddress": f"{tenant}.xds.{DOMAIN}"}})  # fmt: skip


@clean(SEVERAL, "eleventh-component-of-a-tenant", "A component makes all of a tenant: its gateway's pair, its administrator, its values; it is used for each.")  # fmt: skip
def _(scene: Scene) -> None:
    class Tenant(Box):
        def __init__(self, name: str, side: str) -> None:
            super().__init__(f"tenant-{name}", "tern:mesh:Tenant")
            key, cert = pair(scene, "dp", f"{name}-ingress")
            scene.secret(side, "gateway-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
            scene.secret(side, "kiali-login", {"passphrase": theirs(scene, "kiali", tenant=name)})
            release(scene, side, "gateway", {"tls": {"secretName": "gateway-tls"}, "labels": {"tenant": name}})  # fmt: skip
            self.register_outputs({"certificate": cert.output("certPem")})

    tern(scene)
    for name, side in tenants(scene).items():
        Tenant(name, side)


@clean(SEVERAL, "eleventh-settings-of-two-tenants", "Settings have a section for each tenant; each cluster gets the members of its own section.", config=lambda cp, dp: {"tenant:moss": json.dumps({"smtp": dp.opaque("moss smtp", 24), "sentry": dp.opaque("moss sentry", 32)}), "tenant:reed": json.dumps({"smtp": dp.opaque("reed smtp", 24)})})  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    for tenant, side in tenants(scene).items():
        scene.secret(side, "app-settings", scene.config(f"tenant:{tenant}").apply(json.loads))


# From a tenant up to the provider -------------------------------------------------------------------------------------


@clean(UP, "eleventh-up-cluster-of-the-tenant-in-argocd", "The provider's Argo CD deploys to the tenant's cluster by a minted token; the tenant has the account and its rights.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    token = minted(scene, "dp", "argocd-manager")
    config = pulumi.Output.json_dumps({"bearerToken": token, "tlsClientConfig": {"caData": b64(scene.dp.certificate("kubernetes", authority=True))}})  # fmt: skip
    scene.secret("cp", "cluster-moss", {"name": "moss", "server": SERVERS["dp"], "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "argocd-manager-binding", {"metadata": {"name": "argocd-manager"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}, "subjects": [{"kind": "ServiceAccount", "name": "argocd-manager", "namespace": "default"}]})  # fmt: skip


@clean(UP, "eleventh-up-certificate-for-pushing-metrics", "The tenant pushes metrics by a certificate: the key was made for it and stays below, the provider's authority signed.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "metrics-ca", authority=True)
    scene.secret("cp", "metrics-ca", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="monitoring")  # fmt: skip
    key, cert = issued(scene, "dp", "moss-pusher", ca_key, ca_cert, "metrics-ca")
    scene.secret("dp", "pusher-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem"), "ca.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls", namespace="monitoring")  # fmt: skip


@clean(UP, "eleventh-up-hash-of-the-tenants-login", "The provider's gate for logs knows the tenant by the hash of a password that is the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    made = scene.password("dp", "moss-logs")
    scene.secret("cp", "logs-gate", {".htpasswd": pulumi.Output.concat("moss:", made.output("bcryptHash"), "\n")}, namespace="monitoring")  # fmt: skip
    scene.secret("dp", "logs-writer", {"username": "moss", "password": made.output("result"), "url": f"https://logs.{DOMAIN}/loki/api/v1/push"}, namespace="monitoring")  # fmt: skip
