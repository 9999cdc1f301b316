"""Leaks from the field: mistakes of programs, what is as good as the password, what operators carry, odd places."""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
import json
import re
import string
from collections.abc import Callable
from typing import Any

import pulumi
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Recover, as_written, each, strings_of_json
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, noise
from tests.corpus.world import Box, Object

from .leaks_agents import configured, generated, pasted, read, stacked

MISTAKES, GOOD, CARRIED, PLACES, CLOUDS, LATER = (
    "mistakes of programs",
    "as good as the password",
    "carried by the provider's operators",
    "odd places of objects",
    "keys that clouds make for the provider",
    "later updates, in the field",
)
HUB: dict[str, Any] = {"config": lambda cp, dp: {"mesh:hub": cp.opaque("hub", 36, LETTERS)}}

# Mistakes -------------------------------------------------------------------------------------------------------------


@leak(
    MISTAKES,
    "field-shared-values",
    "Values of both releases are one dictionary: what one gets, the other has.",
    MISTAKES,
)
def _(scene: Scene) -> None:
    base: dict[str, Any] = {"global": {"hub": "registry.example.com"}, "auth": {"enabled": True}}
    ours = base
    ours["auth"]["password"] = generated(scene)
    release(scene, "cp", "istiod", ours)
    release(scene, "dp", "ztunnel", {**base, "profile": "ambient"})


@leak(MISTAKES, "field-shared-values-configured", "The same with a password of the configuration.", MISTAKES, **HUB)
def _(scene: Scene) -> None:
    base: dict[str, Any] = {"global": {"hub": "registry.example.com"}, "auth": {"enabled": True}}
    theirs = copy.copy(base)  # not a deep copy
    base["auth"]["password"] = scene.config("mesh:hub")
    release(scene, "cp", "istiod", base)
    release(scene, "dp", "ztunnel", theirs)


@leak(
    MISTAKES, "field-merged-defaults", "A tenant's settings are laid over the provider's, secrets included.", MISTAKES
)
def _(scene: Scene) -> None:
    defaults = {"LOG_LEVEL": "info", "HUB": "hub.example.com", "HUB_AUTH": stacked(scene)}
    scene.secret("dp", "agent-env", {**defaults, "LOG_LEVEL": "debug"})


@leak(
    MISTAKES,
    "field-appended-variables",
    "A list of variables with a default value grows from call to call.",
    MISTAKES,
    **HUB,
)
def _(scene: Scene) -> None:
    def variables(extra: Any = None, kept: list[Any] = []) -> list[Any]:  # noqa: B006 the mistake
        if extra is not None:
            kept.append(extra)
        return kept

    try:
        env = variables({"name": "HUB_AUTH", "value": scene.config("mesh:hub")})
        deployment(scene, "cp", "hub", {"env": list(env)})
        deployment(scene, "dp", "agent", {"env": list(variables())})
    finally:
        variables().clear()


@leak(
    MISTAKES,
    "field-whole-component",
    "All fields of the provider's settings become the user's values.",
    MISTAKES,
    recover=as_written,
)
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Platform:
        host: str
        port: int
        token: Any

    platform = Platform("hub.example.com", 443, generated(scene))
    release(
        scene,
        "dp",
        "agent",
        {"upstream": {one.name: getattr(platform, one.name) for one in dataclasses.fields(platform)}},
    )


@leak(
    MISTAKES,
    "field-text-of-an-error",
    "The text of an error has the value that was wrong; it becomes an annotation.",
    MISTAKES,
)
def _(scene: Scene) -> None:
    def number(text: str) -> str:
        try:
            return str(int(text))
        except ValueError as error:
            return str(error)

    scene.object(
        "dp",
        "v1:ServiceAccount",
        "agent",
        {"metadata": {"annotations": {"example.com/port": apply(generated(scene), number)}}},
    )


@leak(MISTAKES, "field-template-of-everything", "A template is filled with all that the program has.", MISTAKES, **HUB)
def _(scene: Scene) -> None:
    value = configured(scene)
    every = pulumi.Output.all(host="hub.example.com", token=value, zone="shop.example.com")
    text = every.apply(
        lambda found: string.Template("zone=$zone\nupstream=https://$token@$host\n").safe_substitute(found)
    )
    scene.config_map("dp", "agent", {"agent.env": text})


@leak(
    MISTAKES,
    "field-wrong-index",
    "Of three outputs put together the second one is taken instead of the third.",
    MISTAKES,
)
def _(scene: Scene) -> None:
    every = pulumi.Output.all("hub.example.com", read(scene), "shop")
    scene.secret("dp", "agent", {"cluster": every.apply(lambda found: found[1])})


@leak(
    MISTAKES,
    "field-parent-decides-the-cluster",
    "A copy of the provider's Secret goes where its parent's provider goes.",
    MISTAKES,
)
def _(scene: Scene) -> None:
    value = generated(scene)
    box = Box("shop", opts=pulumi.ResourceOptions(providers=[scene.provider("dp")]))
    inner = Box("istiod", opts=pulumi.ResourceOptions(parent=box))
    inputs = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "istiod"},
        "stringData": pulumi.Output.secret({"t": value}),
    }
    Object("kubernetes:core/v1:Secret", "istiod-copy", inputs, pulumi.ResourceOptions(parent=inner))


@leak(
    MISTAKES,
    "field-only-when-it-is-no-preview",
    "The program writes it only when it is no preview.",
    MISTAKES,
    at="update",
)
def _(scene: Scene) -> None:
    value = generated(scene)
    if not pulumi.runtime.is_dry_run():
        scene.config_map("dp", "agent", {"upstream": value})


@leak(
    MISTAKES,
    "field-only-when-it-is-no-preview-configured",
    "The same of the configuration.",
    MISTAKES,
    at="update",
    **HUB,
)
def _(scene: Scene) -> None:
    value = configured(scene)
    if not pulumi.runtime.is_dry_run():
        scene.secret("dp", "agent", {"upstream": value})


BOTH = {"controlPlaneServers": ["https://cp.example.com:6443"], "dataPlaneServers": ["https://dp.example.com:6443", "https://blue.example.com:6443"]}  # fmt: skip


def _tenants(scene: Scene) -> None:
    scene.join("blue", "https://blue.example.com:6443")
    for side, mesh in (("dp", "red"), ("blue", "blue")):
        scene.object(side, "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": {"hosted-mesh.io/mesh": mesh}}})


@leak(MISTAKES, "field-late-binding", "Each tenant's Secret is made of the loop's last password.", MISTAKES, pack=BOTH)
def _(scene: Scene) -> None:
    _tenants(scene)
    kept = {mesh: scene.password("cp", f"{mesh}-db").output("result") for mesh in ("red", "blue")}
    makers = []
    for side, mesh in (("dp", "red"), ("blue", "blue")):
        makers.append((side, lambda: kept[mesh]))  # noqa: B023 the mistake
    for (side, maker), label in zip(makers, ("red", "blue"), strict=True):
        scene.secret(side, "db", {"password": maker()}, labels={"hosted-mesh.io/mesh": label})


@leak(
    MISTAKES,
    "field-misaligned-lists",
    "Sorted tenants get passwords in the order in which they were made, of a Secret of the other's.",
    MISTAKES,
    pack=BOTH,
)
def _(scene: Scene) -> None:
    _tenants(scene)
    typed = [scene.cp.opaque(mesh, 32, LETTERS) for mesh in ("red", "blue")]
    scene.secret("dp", "api", {"token": pulumi.Output.secret(typed[0])}, labels={"hosted-mesh.io/mesh": "red"})
    for mesh, token in zip(sorted(("red", "blue")), typed, strict=True):
        if mesh == "blue":
            scene.secret(
                "blue", "api-client", {"token": pulumi.Output.secret(token)}, labels={"hosted-mesh.io/mesh": mesh}
            )


# As good as the password ----------------------------------------------------------------------------------------------

RCLONE = bytes.fromhex("9c935b48730a554d6bfd7c63c886a92bd390198eb8128afbf4de162b8b95f638")
"""The key that is in rclone's source: what it obscures everybody can read."""


def _obscured(text: str) -> str:
    start = noise("rclone", 16)
    made = Cipher(algorithms.AES(RCLONE), modes.CTR(start)).encryptor().update(text.encode())
    return base64.urlsafe_b64encode(start + made).rstrip(b"=").decode()


def _clear(text: bytes) -> bytes:
    coded = re.search(rb"pass = (\S+)", text)[1]  # type: ignore[index]
    raw = base64.urlsafe_b64decode(coded + b"=" * (-len(coded) % 4))
    return Cipher(algorithms.AES(RCLONE), modes.CTR(raw[:16])).decryptor().update(raw[16:])


def _rclone(text: str) -> str:
    return f"[hub]\ntype = webdav\nurl = https://dav.platform.example.com\nuser = hub\npass = {_obscured(text)}\n"


def _xor(text: str) -> str:
    return f'<authData alias="hub" userId="hub" password="{{xor}}{b64(bytes(ord(letter) ^ 0x5F for letter in text))}"/>'


def _unxor(text: bytes) -> bytes:
    coded = re.search(rb"\{xor\}([^\"]+)", text)[1]  # type: ignore[index]
    return bytes(byte ^ 0x5F for byte in base64.b64decode(coded))


def _pool_login(text: str) -> str:
    return f'"hub" "md5{hashlib.md5((text + "hub").encode()).hexdigest()}"\n'


def _digest_login(text: str) -> str:
    return "hub:platform:" + hashlib.md5(f"hub:platform:{text}".encode()).hexdigest() + "\n"


def _box(text: str) -> str:
    key = base64.urlsafe_b64encode(noise("box", 32))
    token = Fernet(key)._encrypt_from_parts(text.encode(), 1767225600, noise("box iv", 16))
    return json.dumps({"key": key.decode(), "payload": token.decode()})


def _unbox(text: bytes) -> bytes:
    found = json.loads(text)
    return Fernet(found["key"]).decrypt(found["payload"])


Change = Callable[[str], str]
FORMS: list[tuple[str, str, str, Change, Recover | None]] = [
    ("rclone", "obscured by rclone with the key of its source", "rclone.conf", _rclone, each(_clear)),
    ("websphere", "coded by an application server with one letter", "server.xml", _xor, each(_unxor)),
    ("pool", "a hash with which a pool logs in at the provider's database", "userlist.txt", _pool_login, None),
    ("digest", "a digest with which clients log in at the provider's server", ".htdigest", _digest_login, None),
    ("box", "encrypted, with the key beside it", "box.json", _box, each(_unbox)),
]  # fmt: skip


def _form(name: str, what: str, entry: str, change: Change, recover: Recover | None, how: str) -> None:
    more: dict[str, Any] = dict(HUB) if how == "configured" else {}

    @leak(
        GOOD,
        f"field-{name}-{how}",
        f"The user's Secret has the provider's password, {what}.",
        GOOD,
        recover=recover or as_written,
        **more,
    )
    def _(scene: Scene) -> None:
        if how == "configured":
            value, text = configured(scene), scene.cp.opaque("hub", 36, LETTERS)
        elif how == "generated":
            value, text = generated(scene), scene.cp.opaque("hub", 24)
        else:
            value = text = pasted(scene)
        if recover is None:  # whoever has it can log in with it
            scene.cp.given.append(change(text).strip().strip('"').rpartition("md5")[2].rpartition(":")[2])
        scene.secret("dp", "agent", {entry: apply(value, change)})


for _at, _form_row in enumerate(FORMS):
    for _how in ("generated", ("configured", "pasted")[_at % 2]):
        _form(*_form_row, _how)

# Carried by operators -------------------------------------------------------------------------------------------------


def _manifest(value: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hub", "namespace": "shop"},
        "stringData": {"token": value},
    }


CARRIERS: list[tuple[str, str, str, Callable[[Any], Any], Callable[[Scene], Any]]] = [
    ("manifest-work", "Open Cluster Management's agent at the user's applies what this object at the provider's has", "work.open-cluster-management.io/v1:ManifestWork", lambda v: {"workload": {"manifests": [_manifest(v)]}}, generated),
    ("crossplane-object", "Crossplane writes it to the cluster of a provider's configuration", "kubernetes.crossplane.io/v1alpha2:Object", lambda v: {"providerConfigRef": {"name": "shop-cluster"}, "forProvider": {"manifest": _manifest(v)}}, read),
    ("flux-release-elsewhere", "Flux installs a chart in the cluster of a kubeconfig", "helm.toolkit.fluxcd.io/v2:HelmRelease", lambda v: {"kubeConfig": {"secretRef": {"name": "shop-kubeconfig"}}, "chart": {"spec": {"chart": "agent"}}, "values": {"hub": {"token": v}}}, stacked),
    ("application-elsewhere", "Argo CD installs a chart in the cluster of a destination", "argoproj.io/v1alpha1:Application", lambda v: {"destination": {"server": "https://dp.example.com:6443", "namespace": "shop"}, "source": {"chart": "agent", "helm": {"parameters": [{"name": "hub.token", "value": v}]}}}, generated),
]  # fmt: skip


def _carried(name: str, why: str, kind: str, spec: Callable[[Any], Any], source: Callable[[Scene], Any]) -> None:
    @leak(CARRIED, f"field-{name}", f"The provider's token is in an object of its own cluster: {why}.", CARRIED)
    def _(scene: Scene) -> None:
        scene.stage.delivered.add("cp-carrier")
        scene.object("cp", kind, "carrier", {"spec": spec(source(scene)), "metadata": {"namespace": "shop"}})


for _carrier in CARRIERS:
    _carried(*_carrier)

# Odd places -----------------------------------------------------------------------------------------------------------

ODD: list[tuple[str, str, Callable[[Scene, Any], Any], Callable[[Scene], Any], Recover]] = [
    ("snippet", "a snippet of an Ingress", lambda s, v: s.object("dp", "networking.k8s.io/v1:Ingress", "hub", {"metadata": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": pulumi.Output.format('proxy_set_header Authorization "Bearer {0}";\n', v)}}, "spec": {}}), generated, as_written),
    ("probe-header", "a header of a probe", lambda s, v: deployment(s, "dp", "agent", {"livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "httpHeaders": [{"name": "X-Hub", "value": v}]}}}), configured, as_written),
    ("mc-alias", "the arguments of a container that signs in at the provider's store", lambda s, v: deployment(s, "dp", "sync", {"command": ["mc", "alias", "set", "hub", "https://s3.platform.example.com", "hub", v]}), stacked, as_written),
    ("label-in-base32", "a label in base32", lambda s, v: s.object("dp", "v1:Namespace", "agent", {"metadata": {"labels": {"example.com/hub": apply(v, lambda t: base64.b32encode(t.encode()).decode().rstrip("=").lower())}}}), pasted, each(lambda t: base64.b32decode(t.upper() + b"=" * (-len(t) % 8)))),
    ("volume-attributes", "attributes of a volume", lambda s, v: s.object("dp", "v1:PersistentVolume", "hub", {"spec": {"csi": {"driver": "smb.csi.k8s.io", "volumeHandle": "hub", "volumeAttributes": {"source": "//nas.platform.example.com/hub", "mountOptions": pulumi.Output.concat("username=hub,password=", v)}}}}), configured, as_written),
    ("credential-injector", "a filter that puts a header into requests, in base64", lambda s, v: s.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "hub", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"value": {"name": "envoy.filters.http.credential_injector", "typed_config": {"credential": {"typed_config": {"credential": {"inline_bytes": apply(v, b64)}}}}}}}]}}), generated, each(base64.b64decode)),
    ("wasm-settings", "settings of a plug-in", lambda s, v: s.object("dp", "extensions.istio.io/v1alpha1:WasmPlugin", "hub", {"spec": {"url": "oci://registry.example.com/hub:1", "pluginConfig": {"upstreams": [{"host": "hub.example.com", "hmac": {"k": v}}]}}}), read, as_written),
    ("patch-of-a-secret", "a patch of a Secret that is there", lambda s, v: s.made("kubernetes:core/v1:SecretPatch", "hub-patch", {"metadata": {"name": "agent"}, "stringData": {"hub": v}}, s.options("dp")), stacked, as_written),
    ("scrape-settings", "an additional job of Prometheus, in a Secret", lambda s, v: s.secret("dp", "scrape", {"jobs.yaml": pulumi.Output.format("- job_name: hub\n  basic_auth: {{username: hub, password: '{0}'}}\n  static_configs: [{{targets: [hub.example.com]}}]\n", v)}), configured, as_written),
    ("cron-arguments", "an argument in JSON of a CronJob", lambda s, v: s.object("dp", "batch/v1:CronJob", "sync", {"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "sync", "image": "sync:1", "args": ["--config", pulumi.Output.json_dumps({"hub": {"auth": v}})]}]}}}}}}), generated, each(strings_of_json)),
    ("job-of-a-hook", "a hook's manifest in a chart's extra objects", lambda s, v: release(s, "dp", "shop", {"extraObjects": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub", "annotations": {"helm.sh/hook": "pre-install"}}, "stringData": {"t": v}}]}), configured, as_written),
    ("extra-deploy-text", "the same as a text", lambda s, v: release(s, "dp", "shop", {"extraDeploy": [pulumi.Output.format("apiVersion: v1\nkind: Secret\nmetadata: {{name: hub}}\nstringData:\n  t: {0}\n", v)]}), stacked, as_written),
]  # fmt: skip


def _odd(
    name: str, what: str, sink: Callable[[Scene, Any], Any], source: Callable[[Scene], Any], recover: Recover
) -> None:
    @leak(
        PLACES,
        f"field-{name}",
        f"The provider's secret is in {what}.",
        PLACES,
        recover=recover,
        **(HUB if source is configured else {}),
    )
    def _(scene: Scene) -> None:
        sink(scene, source(scene))


for _odd_row in ODD:
    _odd(*_odd_row)


def _wildcard(scene: Scene, how: str) -> tuple[Any, Any]:
    key, certificate = scene.cp.key("wildcard"), scene.cp.certificate("wildcard", names=("*.platform.example.com",))
    if how == "read":
        data = scene.existing(
            "cp", "v1:Secret", "wildcard", data={"tls.key": b64(key), "tls.crt": b64(certificate)}
        ).output("data")
        return tuple(
            data.apply(lambda found, one=one: base64.b64decode(found[one]).decode()) for one in ("tls.crt", "tls.key")
        )  # type: ignore[return-value]
    scene.secret(
        "cp", "wildcard", {"tls.crt": certificate, "tls.key": pulumi.Output.secret(key)}, kind="kubernetes.io/tls"
    )
    return certificate, key


for _how, _unseen in (("read", False), ("read", True), ("pasted", False)):

    @leak(
        PLACES,
        f"field-wildcard-key-{_how}{'-unseen' if _unseen else ''}",
        "The key of the provider's wildcard certificate goes to the user's gateway.",
        "wildcard certificates",
        unseen=_unseen,
        at="either" if _unseen else "preview",
    )
    def _(scene: Scene, how: str = _how) -> None:
        certificate, key = _wildcard(scene, how)
        scene.secret("dp", "gateway-tls", {"tls.crt": certificate, "tls.key": key}, kind="kubernetes.io/tls")


# Clouds ---------------------------------------------------------------------------------------------------------------

MADE: list[tuple[str, str, str, dict[str, Any], str, Callable[[Scene], str], tuple[str, ...]]] = [
    ("mail-password", "the mail password that goes with the provider's access key", "aws:iam/accessKey:AccessKey", {"user": "platform-alerts"}, "sesSmtpPasswordV4", lambda s: "B" + s.cp.opaque("ses", 43, LETTERS), ("secret", "sesSmtpPasswordV4")),
    ("service-accounts-key", "a key of the provider's service account, in base64", "gcp:serviceaccount/key:Key", {"serviceAccountId": "platform"}, "privateKey", lambda s: b64(json.dumps({"type": "service_account", "private_key": s.cp.key("gcp"), "client_email": "platform@p.iam.gserviceaccount.com"})), ("privateKey",)),
    ("zones-token", "the token of all of the provider's zones", "cloudflare:index/apiToken:ApiToken", {"name": "platform-dns"}, "value", lambda s: s.cp.opaque("cf", 40, LETTERS), ("value",)),
    ("roles-secret-id", "the secret id of the provider's role in its Vault", "vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId", {"roleName": "platform"}, "secretId", lambda s: s.cp.opaque("approle", 36), ("secretId",)),
    ("networks-key", "a key by which machines join the provider's network", "tailscale:index/tailnetKey:TailnetKey", {"reusable": True}, "key", lambda s: f"tskey-auth-k{s.cp.opaque('ts1', 10, LETTERS)}CNTRL-{s.cp.opaque('ts2', 32, LETTERS)}", ("key",)),
    ("brokers-key", "the secret of the provider's key at its broker", "confluentcloud:index/apiKey:ApiKey", {"displayName": "platform"}, "secret", lambda s: s.cp.opaque("cc", 64, LETTERS), ("secret",)),
]  # fmt: skip


def _made(
    name: str,
    what: str,
    kind: str,
    inputs: dict[str, Any],
    output: str,
    text: Callable[[Scene], str],
    marked: tuple[str, ...],
) -> None:
    recover = each(lambda t: strings_of_json(base64.b64decode(t))) if "account" in name else as_written

    @leak(CLOUDS, f"field-{name}", f"The user's release has {what}.", CLOUDS, recover=recover)
    def _(scene: Scene) -> None:
        made = scene.made(
            kind,
            "platform-key",
            inputs,
            None,
            {output: text(scene)},
            [one for one in marked if one == output],
            owner="cp",
        )
        release(scene, "dp", "agent", {"hub": {"user": "platform", "auth": made.output(output)}})


for _made_row in MADE:
    _made(*_made_row)

# Later updates --------------------------------------------------------------------------------------------------------


def _first(scene: Scene) -> None:
    generated(scene)
    scene.config_map("dp", "agent", {"host": "hub.example.com"})


@leak(
    LATER,
    "field-added-at-the-second-update",
    "The second update adds the password, which is known by now, to a ConfigMap that is there.",
    LATER,
    before=_first,
)
def _(scene: Scene) -> None:
    scene.config_map("dp", "agent", {"host": "hub.example.com", "auth": generated(scene)})


@leak(
    LATER,
    "field-renamed-with-an-alias",
    "The provider's Secret has another name in the program, and an alias.",
    LATER,
    before=_first,
    recover=each(lambda t: t[::-1]),
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "hub").output("result")
    scene.object(
        "cp", "v1:Secret", "hub-two", {"stringData": {"password": value}}, aliases=[pulumi.Alias(name="cp-hub")]
    )
    scene.config_map("dp", "agent", {"auth": apply(value, lambda text: text[::-1])})


@leak(
    LATER,
    "field-adopted",
    "A Secret of the user's is imported and given the provider's password.",
    LATER,
    before=_first,
)
def _(scene: Scene) -> None:
    scene.object("dp", "v1:Secret", "adopted", {"stringData": {"password": generated(scene)}}, import_="shop/adopted")


@leak(
    LATER,
    "field-replaced-password",
    "The password is made anew, longer, and is not known at the preview of the second update.",
    LATER,
    before=_first,
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "hub", 40).output("result")
    scene.secret("cp", "hub", {"password": value})
    scene.config_map("dp", "agent", {"auth": value})


@leak(
    LATER,
    "field-moved-to-the-user",
    "An object of the provider's is moved to the user's cluster by another provider.",
    LATER,
    before=_first,
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "hub").output("result")
    release(scene, "cp", "hub", {"auth": {"password": value}})
    scene.object("dp", "v1:Secret", "hub", {"stringData": {"password": value}}, delete_before_replace=True)


@leak(
    LATER,
    "field-ignored-afterwards",
    "Changes of the user's Secret are ignored, but its first content is written.",
    LATER,
)
def _(scene: Scene) -> None:
    scene.object("dp", "v1:Secret", "agent", {"stringData": {"auth": stacked(scene)}}, ignore_changes=["stringData"])
