"""The surroundings of `foundry`: its control plane, tenants and accounts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import minted, pair, raw
from tests.corpus.blind_corpus.material import LETTERS, Material
from tests.corpus.blind_corpus.objects import deployment, release
from tests.corpus.blind_corpus.program import clean
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn, pull_secret
from tests.corpus.world import Object

ZONE, ACCOUNT, REGION = "found.example.com", "518264930771", "eu-west-3"
SSO = f"https://sso.{ZONE}/realms/staff"
CLIENT = f"0oa{drawn('found client', 17)}"
BUCKETS = {"hub": f"hub-archive-{drawn('hub bucket', 6, HEX)}", "shop": f"shop-archive-{drawn('shop bucket', 6, HEX)}"}
CERTIFICATE = "a certificate differs when its key does"
MESH = f"mesh-{drawn('found mesh', 8, HEX)}"
Told = Callable[[Material, Material], Mapping[str, str]]


def told(**kinds: tuple[str, int, str]) -> Told:
    """Configuration in which both owners have a section with the same keys: a prefix, a length, an alphabet."""

    def config(cp: Material, dp: Material) -> Mapping[str, str]:
        return {
            f"{owner}:{key}": prefix + made.opaque(f"told {key}", length, letters)
            for owner, made in (("hub", cp), ("shop", dp))
            for key, (prefix, length, letters) in kinds.items()
        }

    return config


class Site:
    """One owner's side of a program: its names, and secrets that it makes or is told."""

    def __init__(self, scene: Scene, side: str) -> None:
        self.scene, self.side = scene, side
        self.name = "hub" if side == "cp" else "shop"
        self.domain = f"{self.name}.{ZONE}"
        self.bucket = BUCKETS[self.name]
        self._words: dict[str, Object] = {}

    def made(self, name: str, length: int = 32) -> Object:
        if name not in self._words:
            self._words[name] = self.scene.password(self.side, f"{self.name}-{name}", length)
        return self._words[name]

    def word(self, name: str, length: int = 32) -> pulumi.Output[str]:
        """A generated password."""
        return self.made(name, length).output("result")

    def hashed(self, name: str) -> pulumi.Output[str]:
        return self.made(name).output("bcryptHash")

    def told(self, key: str) -> pulumi.Output[str]:
        """A secret of the owner's section of the configuration."""
        return self.scene.config(f"{self.name}:{key}")

    def raw(self, name: str, length: int = 32, form: str = "base64") -> pulumi.Output[str]:
        return raw(self.scene, self.side, f"{self.name}-{name}", length).output(form)

    def pair(self, name: str, *, authority: bool = False) -> tuple[Object, Object]:
        return pair(self.scene, self.side, f"{self.name}-{name}", authority=authority)

    def key(self, name: str) -> Object:
        return self.scene.key(self.side, f"{self.name}-{name}")

    def token(self, account: str) -> pulumi.Output[str]:
        """What the owner's cluster mints for an account."""
        return minted(self.scene, self.side, f"{self.name}-{account}")

    def keep(self, name: str, data: Any, kind: str = "Opaque", **more: Any) -> Object:
        return self.scene.secret(self.side, name, data, kind=kind, **more)

    def config_map(self, name: str, data: Any, **more: Any) -> Object:
        return self.scene.config_map(self.side, name, data, **more)

    def chart(self, chart: str, values: Any, **more: Any) -> Object:
        return release(self.scene, self.side, chart, values, **more)

    def object(self, kind: str, name: str, body: Mapping[str, Any], **more: Any) -> Object:
        return self.scene.object(self.side, kind, name, body, **more)

    def app(self, name: str, container: Mapping[str, Any], notes: Mapping[str, Any] | None = None) -> Object:
        return deployment(self.scene, self.side, name, container, notes)

    def login(self, name: str, host: str = f"images.{ZONE}") -> pulumi.Output[str]:
        """A Docker login of the owner's robot."""
        return pull_secret(host, f"robot${self.name}", self.word(name))

    def stack(self, outputs: Mapping[str, Any], secret: tuple[str, ...] = ()) -> pulumi.StackReference:
        """Another stack of the owner's."""
        found: pulumi.StackReference = self.scene.reference(self.name, f"acme/{self.name}-base/prod", outputs, secret)
        return found


def sites(scene: Scene) -> tuple[Site, Site]:
    """The hub and the shop."""
    return Site(scene, "cp"), Site(scene, "dp")


def aws_file(made: Material, name: str) -> str:
    key = made.opaque(f"{name} id", 16, AWS_ID)
    return f"[default]\naws_access_key_id=AKIA{key}\naws_secret_access_key={made.opaque(name, 40, LETTERS)}\n"


def secrets(cp: Material) -> dict[str, tuple[str, dict[str, str]]]:
    """Secrets of a control plane, as charts and operators make them: a namespace, and data of which most is public."""
    root = cp.certificate("found-root", authority=True)
    app = cp.opaque("cnpg app", 64, LETTERS)
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    scram = cp.opaque("scram", 32, LETTERS)
    cluster = {"bearerToken": cp.jwt("argocd-manager"), "tlsClientConfig": {"insecure": False, "caData": b64(root)}}
    return {
        "kps-grafana": ("monitoring", {"admin-user": "admin", "admin-password": cp.opaque("kps", 40, LETTERS), "ldap-toml": ""}),
        "grafana-oauth": ("monitoring", {"client_id": "grafana", "client_secret": cp.opaque("grafana oauth", 32, LETTERS), "auth_url": f"{SSO}/protocol/openid-connect/auth"}),
        "harbor-core": ("harbor", {"HARBOR_ADMIN_PASSWORD": cp.opaque("harbor", 24, LETTERS), "secret": cp.opaque("harbor core", 16, LETTERS), "CSRF_KEY": cp.opaque("harbor csrf", 32, LETTERS), "REGISTRY_CREDENTIAL_USERNAME": "harbor_registry_user", "REGISTRY_CREDENTIAL_PASSWORD": cp.opaque("harbor registry", 24, LETTERS)}),
        "hub-db-app": ("databases", {"username": "app", "password": app, "host": "hub-db-rw", "port": "5432", "dbname": "app", "uri": f"postgresql://app:{app}@hub-db-rw.databases:5432/app", "pgpass": f"hub-db-rw:5432:app:app:{app}\n"}),
        "cloud-credentials": ("velero", {"cloud": aws_file(cp, "velero")}),
        "root-ca": ("cert-manager", {"tls.crt": root, "tls.key": cp.key("found-root"), "ca.crt": root}),
        "argocd-secret": ("argocd", {"admin.password": "$2a$10$" + cp.opaque("argocd admin", 53), "server.secretkey": b64(cp.raw("argocd server")), "dex.github.clientID": CLIENT, "dex.github.clientSecret": cp.opaque("dex github", 40, HEX)}),
        "in-cluster": ("argocd", {"name": "hub", "server": SERVERS["cp"], "config": json.dumps(cluster)}),
        "platform-repo": ("argocd", {"type": "git", "url": "git@git.found.example.com:acme/platform.git", "sshPrivateKey": cp.key("platform repo")}),
        "mirror-user": ("kafka", {"password": scram, "sasl.jaas.config": f'{jaas} username="mirror-user" password="{scram}";'}),
        "keycloak-initial-admin": ("keycloak", {"username": "temp-admin", "password": cp.opaque("keycloak", 32, HEX)}),
        "alertmanager-kps": ("monitoring", {"alertmanager.yaml": yaml.safe_dump({"route": {"receiver": "slack", "group_by": ["namespace"]}, "receivers": [{"name": "slack", "slack_configs": [{"channel": "#alerts", "api_url": "https://hooks.slack.com/services/T02HUB/B03HUB/" + cp.opaque("slack", 24, LETTERS)}]}]})}),
        "vault-unseal": ("vault", {"root_token": "hvs." + cp.opaque("vault root", 24, LETTERS), "address": f"https://vault.hub.{ZONE}:8200", "recovery_shares": "5"}),
        "regcred": ("harbor", {".dockerconfigjson": json.dumps({"auths": {f"images.{ZONE}": {"username": "robot$hub", "password": cp.opaque("robot", 32, LETTERS)}}})}),
        "external-dns": ("external-dns", {"cloudflare_api_token": cp.opaque("dns", 40, LETTERS), "zone": ZONE, "owner": "hub"}),
    }  # fmt: skip


def hub(scene: Scene) -> None:
    """The provider's cluster with what its charts keep there."""
    for name, (namespace, data) in secrets(scene.cp).items():
        scene.secret("cp", name, {key: pulumi.Output.secret(value) for key, value in data.items()}, namespace=namespace)
    release(scene, "cp", "istiod", {"global": {"meshID": MESH, "externalIstiod": True}, "pilot": {"replicaCount": 2}})


def twin(theme: str, name: str, why: str, **more: Any) -> Callable[[Callable[[Site], Any]], None]:
    """A harmless program that does the same for both owners, each with its own secrets."""

    def keep(each: Callable[[Site], Any]) -> None:
        @clean(theme, f"{name}", why, **more)
        def _(scene: Scene) -> None:
            hub(scene)
            for site in sites(scene):
                each(site)

    return keep


WATCH, FORGES, DATA, APPS, LOGINS, TRAFFIC = (
    "charts that watch, twice",
    "charts of forges, twice",
    "charts of data, twice",
    "charts of applications, twice",
    "charts of logins, twice",
    "charts of traffic, twice",
)
OPERATORS, SHARED, TRUST, OBJECTS, WIRED, LATER = (
    "operators' objects, twice",
    "facts of the hub",
    "what the hub's keys are checked by",
    "objects without secrets",
    "wiring of public programs",
    "later updates without a leak",
)
BLUE = "https://blue.found.example.com:6443"
BOTH = {"dataPlaneServers": [SERVERS["dp"], BLUE]}
MEMBERS, CLOUDS, MAPS, CHARTS = (
    "incidents of joined clusters",
    "incidents with clouds' keys",
    "charts that put it in plain",
    "slips with public charts",
)
