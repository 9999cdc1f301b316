"""Leaks from the field, tried out one by one: with what the deployer logs in somewhere the user is given."""

from __future__ import annotations

from typing import Any

import pulumi

from tests.corpus.strangers.objects import release
from tests.corpus.strangers.recover import as_written, each, strings_of_json
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

from .leaks_ways import HUB

LOGINS, STORES = "logins of the deployer's providers", "places in accounts that nobody classified"
WHERE: list[tuple[str, str]] = [
    ("datadog", "apiKey"),
    ("github", "token"),
    ("gitlab", "token"),
    ("pagerduty", "token"),
    ("okta", "apiToken"),
    ("tailscale", "apiKey"),
    ("grafana", "auth"),
    ("harbor", "password"),
    ("rabbitmq", "password"),
    ("vsphere", "password"),
    ("proxmoxve", "password"),
    ("cloudflare", "apiToken"),
    ("hcloud", "token"),
    ("mongodbatlas", "privateKey"),
    ("auth0", "clientSecret"),
    ("mysql", "password"),
]


def _login(package: str, argument: str, *, as_values: bool) -> None:
    @leak(
        LOGINS, f"field-login-at-{package}", f"The user gets by what the deployer logs in at {package}.", LOGINS, **HUB
    )
    def _(scene: Scene) -> None:
        value = scene.config("mesh:hub")
        opts = scene.package(package, "platform", owner="cp", **{argument: value})
        scene.made(f"{package}:index/team:Team", "platform-team", {"name": "platform"}, opts, owner="cp")
        if as_values:
            release(scene, "dp", "agent", {"upstream": {"auth": value}})
        else:
            scene.secret("dp", "agent", {"upstream": value})


for _at, (_package, _argument) in enumerate(WHERE):
    _login(_package, _argument, as_values=_at % 2 == 0)

KINDS: list[tuple[str, str, Any]] = [
    ("aws:ecs/taskDefinition:TaskDefinition", "containerDefinitions", lambda v: pulumi.Output.json_dumps([{"name": "a", "environment": [{"name": "HUB", "value": v}]}])),
    ("aws:secretsmanager/secretVersion:SecretVersion", "secretString", lambda v: v),
    ("aws:cloudwatch/eventConnection:EventConnection", "authParameters", lambda v: {"apiKey": {"key": "x-hub", "value": v}}),
    ("aws:ssm/parameter:Parameter", "value", lambda v: v),
    ("gcp:cloudrunv2/service:Service", "template", lambda v: {"containers": [{"envs": [{"name": "HUB", "value": v}]}]}),
    ("gcp:secretmanager/secretVersion:SecretVersion", "secretData", lambda v: v),
    ("gcp:compute/instance:Instance", "metadataStartupScript", lambda v: pulumi.Output.concat("export HUB=", v)),
    ("azure-native:keyvault:Secret", "properties", lambda v: {"value": v}),
    ("azure-native:web:WebAppApplicationSettings", "properties", lambda v: {"HUB": v}),
    ("digitalocean:index/droplet:Droplet", "userData", lambda v: pulumi.Output.concat("export HUB=", v)),
    ("cloudflare:index/workersKv:WorkersKv", "value", lambda v: v),
    ("vault:kv/secretV2:SecretV2", "dataJson", lambda v: pulumi.Output.json_dumps({"hub": v})),
    ("rancher2:index/secretV2:SecretV2", "data", lambda v: {"hub": v}),
    ("keycloak:oidc/identityProvider:IdentityProvider", "clientSecret", lambda v: v),
    ("gitlab:index/projectVariable:ProjectVariable", "value", lambda v: v),
    ("vsphere:index/virtualMachine:VirtualMachine", "extraConfig", lambda v: {"guestinfo.userdata": v}),
]  # fmt: skip


def _store(kind: str, argument: str, given: Any) -> None:
    package, short = kind.partition(":")[0], kind.rpartition(":")[2]
    in_json = short in {"TaskDefinition"} or kind.startswith("vault:")

    @leak(
        STORES,
        f"field-{package}-{short.lower()}",
        f"A {short} of the user's account takes the provider's password.",
        STORES,
        recover=each(strings_of_json) if in_json else as_written,
    )
    def _(scene: Scene) -> None:
        value = scene.password("cp", "hub").output("result")
        scene.secret("cp", "hub", {"password": value})
        login = pulumi.Output.secret(scene.dp.opaque("account", 40))
        scene.made(kind, "shop-side", {argument: given(value)}, scene.package(package, "shop-account", token=login))


for _kind in KINDS:
    _store(*_kind)
