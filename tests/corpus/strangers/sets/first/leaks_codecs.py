"""Leaks under every coding: a token that the provider's cluster holds, written down otherwise in the user's ConfigMap.

Its value is known at the first preview. All but a few are undone by one command of a shell.
"""

from __future__ import annotations

from tests.corpus.strangers.codings import CODINGS
from tests.corpus.strangers.recover import each, pieces
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

CODECS = "codecs"


def _coded(name: str) -> None:
    there, back = CODINGS[name]

    why = f"The provider's token, under {name}, is in the user's ConfigMap."

    @leak(CODECS, f"token-in-{name}", why, CODECS, recover=each(back))
    def _(scene: Scene) -> None:
        token = scene.held().apply(lambda text: there(text.encode()).decode("latin-1"))
        scene.config_map("dp", "app", {"settings": token})


def _unmarked(name: str) -> None:
    """The same without Pulumi's mark and without a dependency: only the value tells."""
    there, back = CODINGS[name]

    @leak(
        "codecs, no dependency",
        f"copied-token-in-{name}",
        f"Somebody pasted the provider's token, under {name}, into the user's ConfigMap.",
        CODECS,
        recover=each(back),
    )
    def _(scene: Scene) -> None:
        scene.held(value=scene.cp.opaque("pasted"))
        text = there(scene.cp.opaque("pasted").encode()).decode("latin-1")
        scene.config_map("dp", "app", {"settings": text, "mode": "fast"})


for _name in ("base85", "uuencode", "tar", "zip-deflated", "lzma-alone", "zlib-small-window", "gzip-base64-yaml-json"):
    _unmarked(_name)
for _name in CODINGS:
    _coded(_name)


def _passed_on(name: str) -> None:
    """Another stack's secret, coded: it is known at the preview, and the provider's cluster does not have it."""
    there, back = CODINGS[name]
    why = f"Another stack's token, under {name}, is in the user's ConfigMap."

    @leak("codecs, another stack's", f"referenced-token-under-{name}", why, "StackReferences", recover=each(back))
    def _(scene: Scene) -> None:
        stack = "organization/dns/prod"
        dns = scene.reference(stack, stack, {"token": scene.cp.opaque("dns")}, ["token"])
        text = dns.get_output("token").apply(lambda token: there(token.encode()).decode("latin-1"))
        scene.config_map("dp", "app", {"settings": text})


for _name in ("base85", "rot13", "quoted-printable-in-json", "hex-upside-down", "decimal-list", "zip-lzma", "ebcdic"):
    _passed_on(_name)


def _chained(*names: str) -> None:
    chain = [CODINGS[name] for name in names]
    why = f"The provider's token, under {', then '.join(names)}, is in the user's Secret."

    @leak("codecs, chained", "-then-".join(names), why, CODECS, recover=each(*(back for _, back in reversed(chain))))
    def _(scene: Scene) -> None:
        def coded(text: str) -> str:
            data = text.encode()
            for there, _ in chain:
                data = there(data)
            return data.decode("latin-1")

        scene.secret("dp", "app", {"settings": scene.held().apply(coded)})


_chained("utf-32", "lzma-raw", "helm-release-record")  # found by drawing chains at random
_chained("zlib-in-base85", "zip-stored")  # likewise
_chained("uuencode", "quoted-printable-in-json")
_chained("base32-hex", "tar-gz", "quoted-printable-in-json")
_chained("tar", "base85", "gzip-twice")
_chained("percent-twice", "base64-of-base85-of-gzip")


HALVES = "cut in halves"


def _halves(scene: Scene) -> tuple[str, str]:
    """Of a token that the provider's cluster holds; nothing marks them, and nothing depends on it."""
    scene.held(value=scene.cp.opaque("halved", 24))
    text = scene.cp.opaque("halved", 24)
    return text[:12], text[12:]


@leak(
    HALVES,
    "unmarked-halves-in-two-objects",
    "Half of the provider's token is in one ConfigMap of the user's, half in another.",
    CODECS,
    recover=pieces("blue.data.value", "amber.data.value"),
)
def _(scene: Scene) -> None:
    for name, half in zip(("blue", "amber"), _halves(scene), strict=True):
        scene.config_map("dp", name, {"value": half})


@leak(
    HALVES,
    "unmarked-halves-with-others-between",
    "Between the halves of the provider's token stand other settings.",
    CODECS,
    recover=pieces("data.zebra", "data.apple"),
)
def _(scene: Scene) -> None:
    first, second = _halves(scene)
    scene.config_map("dp", "app", {"zebra": first, "apple": second, "host": "shop.example.com", "mode": "fast"})


@leak(
    HALVES,
    "unmarked-halves-in-a-secret",
    "The halves of the provider's token are two values of the user's Secret, among others.",
    CODECS,
    recover=pieces("ata.zebra", "ata.apple"),
)
def _(scene: Scene) -> None:
    first, second = _halves(scene)
    scene.secret("dp", "app", {"zebra": first, "apple": second, "host": "shop.example.com", "mode": "fast"})


@leak(
    HALVES,
    "unmarked-halves-changed-round",
    "The second half of the provider's token stands before the first.",
    CODECS,
    recover=each(lambda text: text[12:24] + text[:12]),
)
def _(scene: Scene) -> None:
    first, second = _halves(scene)
    scene.config_map("dp", "app", {"value": second + first})
