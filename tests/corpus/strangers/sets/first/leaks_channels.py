"""Leaks by a way round: a secret goes through objects of the provider's, components, files or outputs first."""

from __future__ import annotations

import base64
from typing import Any

import pulumi

from tests.corpus.strangers.recover import each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.world import Box

CHANNELS, OUTPUTS = "ways round", "stack outputs"


def _secret(scene: Scene) -> Any:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    return value


@leak(CHANNELS, "config-map-of-the-provider", "The secret rests in a ConfigMap of the provider's.", "ConfigMaps")
def _(scene: Scene) -> None:
    kept = scene.config_map("cp", "settings", {"admin.conf": pulumi.Output.concat("password=", _secret(scene))})
    copied = scene.object("cp", "v1:ConfigMap", "copy", {"data": kept.output("data")})
    scene.config_map("dp", "app", {"settings": copied.output("data").apply(lambda data: data["admin.conf"])})


@leak(
    CHANNELS,
    "config-map-without-its-secret",
    "A token stands in a ConfigMap of the provider's only, from secret configuration, and is copied to the user.",
    "ConfigMaps",
    config=lambda cp, dp: {"mesh:telemetryToken": cp.opaque("telemetry")},
)
def _(scene: Scene) -> None:
    kept = scene.config_map("cp", "telemetry", {"token": scene.config("mesh:telemetryToken")})
    scene.config_map("dp", "telemetry", kept.output("data"))


@leak(
    CHANNELS,
    "bucket-of-the-provider",
    "The secret goes through an object in the provider's bucket.",
    "buckets",
    pack={"controlPlaneProviders": ["platform"]},
)
def _(scene: Scene) -> None:
    opts = scene.package("aws", "platform", owner="cp", region="eu-west-1")
    inputs = {"bucket": "platform", "key": "admin", "content": _secret(scene)}
    kind = "aws:s3/bucketObjectv2:BucketObjectv2"
    kept = scene.made(kind, "kept", inputs, opts, {"etag": scene.cp.public("etag")})
    scene.config_map("dp", "app", {"value": kept.output("content")})


@leak(
    CHANNELS,
    "signed-url-of-the-providers-bucket",
    "The user gets a signed URL: whoever has it reads the provider's bucket.",
    "buckets",
)
def _(scene: Scene) -> None:
    url = f"https://platform.s3.example.com/state?X-Amz-Signature={scene.cp.opaque('signature', 64)}"
    made = scene.made(
        "aws:s3/presignedUrl:PresignedUrl", "url", {"key": "state"}, None, {"url": url}, ["url"], owner="cp"
    )
    scene.config_map("dp", "app", {"source": made.output("url")})


@leak(CHANNELS, "chart-on-the-provider", "A chart of the provider's takes the secret; its values go on.", "charts")
def _(scene: Scene) -> None:
    inputs = {"chart": "istiod", "version": "1.31.0", "values": {"admin": _secret(scene)}}
    release = scene.made(
        "kubernetes:helm.sh/v3:Release", "istiod", inputs, scene.options("cp"), {"status": {"revision": 1}}
    )
    scene.config_map("dp", "app", {"value": release.output("values").apply(lambda values: values["admin"])})


@leak(
    CHANNELS,
    "manifest-of-the-providers-chart",
    "The manifest that a release on the provider's cluster rendered, its Secrets included, is shown to the user.",
    "charts",
    recover=each(lambda text: base64.b64decode(text.partition(b"token: ")[2].split()[0])),
)
def _(scene: Scene) -> None:
    token = base64.b64encode(scene.cp.opaque("rendered").encode()).decode()
    answers = {"manifest": f"kind: Secret\ndata:\n  token: {token}\n"}
    inputs = {"chart": "istiod", "version": "1.31.0"}
    release = scene.made("kubernetes:helm.sh/v3:Release", "istiod", inputs, scene.options("cp"), answers)
    scene.config_map("dp", "app", {"manifest": release.output("manifest")})


@leak(
    CHANNELS,
    "spec-of-a-custom-resource",
    "A controller copies the secret from spec to status; the user gets it.",
    "custom resources",
)
def _(scene: Scene) -> None:
    status = {"effective": {"auth": scene.cp.opaque("admin", 24)}}
    made = scene.answered("cp", "example.com/v1:Widget", "w", {"spec": {"auth": _secret(scene)}}, status=status)
    scene.object("dp", "example.com/v1:Widget", "w2", {"spec": made.output("status").apply(lambda s: s["effective"])})


@leak(
    CHANNELS,
    "command-on-the-providers-side",
    "A command reads the provider's cluster; its output is shown.",
    "a command",
)
def _(scene: Scene) -> None:
    answers = {"stdout": scene.cp.jwt("admin")}
    inputs = {"create": "kubectl --context provider create token admin"}
    made = scene.made("command:local:Command", "token", inputs, None, answers, owner="cp")
    scene.secret("dp", "app", {"token": made.output("stdout")})


@leak(
    CHANNELS, "keepers-of-a-random-id", "A random id keeps the secret among its keepers, and hands it on.", "ways round"
)
def _(scene: Scene) -> None:
    inputs = {"byteLength": 4, "keepers": {"password": _secret(scene)}}
    made = scene.made("random:index/randomId:RandomId", "suffix", inputs, None, {"hex": "0a0b0c0d"})
    scene.config_map("dp", "app", {"value": made.output("keepers").apply(lambda kept: kept["password"])})


@leak(CHANNELS, "component-hands-it-on", "A component of no known type returns the secret as its output.", "components")
def _(scene: Scene) -> None:
    value = _secret(scene)
    box = Box("platform")
    box.register_outputs({"settings": value})
    scene.config_map("dp", "app", {"value": pulumi.Output.all(box.urn, value).apply(lambda both: both[1])})


@leak(
    CHANNELS,
    "made-inside-apply",
    "The user's object is made inside apply, when the secret is known.",
    "made inside apply",
    at="update",
)
def _(scene: Scene) -> None:
    _secret(scene).apply(lambda text: scene.config_map("dp", "app", {"value": text}))


@leak(
    CHANNELS,
    "count-of-objects",
    "As many ConfigMaps as the secret's first byte: their number tells it.",
    "made inside apply",
    at="update",
    recover=lambda leaves: _counted(leaves),
)
def _(scene: Scene) -> None:
    pin = scene.password("cp", "pin", 8).output("result")
    scene.secret("cp", "pin", {"pin": pin})

    def spell(text: str) -> None:
        for at, letter in enumerate(text):
            scene.config_map("dp", f"n{at}", {"value": "|" * ord(letter)})

    pin.apply(spell)


def _counted(leaves: Any) -> bytes:
    bars = {place: leaf for place, leaf in leaves.items() if place.endswith("data.value")}
    return bytes(len(leaf) for _, leaf in sorted(bars.items()))


@leak(
    CHANNELS,
    "private-copy-of-a-certificate",
    "A certificate resource keeps its key; that copy is handed on.",
    "ways round",
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "ca")
    scene.secret("cp", "ca", {"tls.key": key.output("privateKeyPem")})
    inputs = {
        "privateKeyPem": key.output("privateKeyPem"),
        "validityPeriodHours": 24,
        "earlyRenewalHours": 2,
        "allowedUses": [],
    }
    answers = {"certPem": scene.cp.certificate("ca"), "keyAlgorithm": "ECDSA"}
    made = scene.made("tls:index/selfSignedCert:SelfSignedCert", "ca-cert", inputs, None, answers, ["privateKeyPem"])
    scene.config_map(
        "dp", "app", {"bundle": pulumi.Output.concat(made.output("certPem"), made.output("privateKeyPem"))}
    )


@leak(CHANNELS, "secret-without-its-mark", "The mark is taken off the provider's password on its way.", "ways round")
def _(scene: Scene) -> None:
    scene.secret("dp", "app", {"value": pulumi.Output.unsecret(_secret(scene))})


@leak(
    CHANNELS,
    "read-from-the-provider",
    "A Secret of the provider's that is only read is copied to the user.",
    "ways round",
)
def _(scene: Scene) -> None:
    read = scene.existing("cp", "v1:Secret", "admin", data={"token": scene.cp.opaque("admin")})
    scene.secret("dp", "app", {"token": read.output("data").apply(lambda data: data["token"])})


@leak(OUTPUTS, "plain-output", "The provider's password is a stack output without a mark.", OUTPUTS)
def _(scene: Scene) -> None:
    pulumi.export("admin", pulumi.Output.unsecret(scene.held()))


@leak(
    OUTPUTS,
    "output-of-a-users-stack",
    "A stack that users read exports a token of the provider's.",
    OUTPUTS,
    stack="data-plane",
)
def _(scene: Scene) -> None:
    pulumi.export("settings", {"host": "istiod.example.com", "auth": scene.held()})


@leak(
    OUTPUTS,
    "coded-output-of-a-users-stack",
    "The same under base85.",
    OUTPUTS,
    stack="data-plane",
    recover=each(lambda t: base64.b85decode(t)),
)
def _(scene: Scene) -> None:
    pulumi.export("blob", scene.held().apply(lambda text: base64.b85encode(text.encode()).decode()))


@leak(
    OUTPUTS,
    "unknown-output-of-a-users-stack",
    "A stack that users read exports a generated password.",
    OUTPUTS,
    stack="data-plane",
)
def _(scene: Scene) -> None:
    pulumi.export("admin", _secret(scene))


@leak(
    OUTPUTS,
    "reference-passed-on",
    "A stack that users read passes on another stack's token.",
    OUTPUTS,
    stack="data-plane",
)
def _(scene: Scene) -> None:
    dns = scene.reference("dns", "organization/dns/prod", {"token": scene.cp.opaque("dns")}, ["token"])
    scene.config_map("dp", "zone", {"zone": "shop.example.com"})
    pulumi.export("dns", dns.get_output("token"))
