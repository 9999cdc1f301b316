"""Leaks under every coding: a token that the provider's cluster holds, written down otherwise in the user's ConfigMap.

Its value is known at the first preview. All but a few are undone by one command of a shell.
"""

from __future__ import annotations

from .codings import CODINGS
from .recover import each
from .scene import Scene
from .stranger import leak

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
