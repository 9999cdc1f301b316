"""The surroundings of `heron`: its control plane, tenants and accounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from tests.corpus.blind_corpus import program
from tests.corpus.blind_corpus.credentials import generated
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import in_account
from tests.corpus.blind_corpus.scene import SERVERS, Scene
from tests.corpus.blind_corpus.values import AWS_ID, HEX, b64, drawn
from tests.corpus.world import Object

DOMAIN, FERN, MOSS = "heron.example.com", "fern.example.com", "moss.example.com"
HUB2, MOSS_SERVER = "https://hub-2.heron.example.com:6443", "https://k8s.moss.example.com:6443"
REGION, ACCOUNT, FERN_ACCOUNT = "eu-west-1", "402817556390", "917735028461"
HUB_STACK, FERN_STACK = "heron/platform/prod", "heron/fern/data-plane"
TOLD: Mapping[str, Any] = {
    "controlPlaneServers": [SERVERS["cp"], HUB2],
    "dataPlaneServers": [SERVERS["dp"], MOSS_SERVER],
    "controlPlaneProviders": ["heron-*"],
    "dataPlaneProviders": ["fern-*", "moss-*"],
    "dataPlaneStacks": ["*/data-plane"],
}
CERTIFICATE = "a certificate differs when its key does"
Pair = Callable[..., Any]


def twins(
    theme: str,
    name: str,
    why: str,
    harmless: str,
    source: str,
    *,
    told: bool = False,
    rightly: str = "",
    before: Callable[[Scene], Any] | str | None = None,
    unseen: bool = False,
    config: Any = None,
    **leaks: Any,
) -> Callable[[Pair], Pair]:
    """Keeps a function as two programs. told: with the settings. leaks: of the one that leaks only."""
    both = {"before": before, "unseen": unseen, "config": config, "pack": TOLD if told else {}}
    theme = f"{theme}"

    def keep(pair: Pair) -> Pair:
        def wrong(scene: Scene) -> None:
            pair(scene, wrong=True)

        def right(scene: Scene) -> None:
            pair(scene, wrong=False)

        program.leak(theme, f"{name}", why, source, **both, **leaks)(wrong)
        program.clean(theme, f"{name}-twin", harmless, rightly=rightly, **both)(right)
        return pair

    return keep


def hosted(scene: Scene, name: str, key: str = "password", length: int = 32) -> pulumi.Output[str]:
    """A generated password of the hub's, which the hub's cluster keeps."""
    return generated(scene, f"heron-{name}", key, length, namespace="platform")


def typed(scene: Scene, name: str, key: str = "token", prefix: str = "") -> Any:
    """A token of the hub's from elsewhere, which the hub's cluster keeps."""
    return scene.held(
        f"heron-{name}", key, prefix + scene.cp.opaque(f"heron {name}", 40, LETTERS), namespace="platform"
    )


def tenants_own(scene: Scene, name: str, length: int = 32) -> pulumi.Output[str]:
    """A generated password of fern's."""
    return scene.password("dp", f"fern-{name}", length).output("result")


def either(scene: Scene, name: str, wrong: bool, length: int = 32) -> pulumi.Output[str]:
    """The hub's password, or fern's for the same thing; the hub keeps its own in both."""
    theirs, ferns = hosted(scene, name, "password", length), tenants_own(scene, name, length)
    return theirs if wrong else ferns


def account(scene: Scene, owner: str, *resource: Any, **more: Any) -> Object:
    """A resource in an account of the hub's ("heron") or of a tenant's, by a provider that has its name."""
    return in_account(owner, scene, *resource, owner="cp" if owner == "heron" else "dp", **more)


def hub(scene: Scene) -> None:
    """What else there is in the hub's cluster."""
    cp = scene.cp
    data: dict[str, tuple[str, Mapping[str, Any]]] = {
        "argocd-redis": ("argocd", {"auth": cp.opaque("heron argo redis", 32, LETTERS)}),
        "route53": ("external-dns", {"aws_access_key_id": f"AKIA{cp.opaque('heron dns id', 16, AWS_ID)}", "aws_secret_access_key": cp.opaque("heron dns", 40, LETTERS), "region": REGION}),
        "root-ca": ("cert-manager", {"tls.crt": cp.certificate("heron-root", authority=True), "tls.key": cp.key("heron-root")}),
        "cookie": ("login", {"cookie-secret": b64(cp.raw("heron cookie")), "client-id": drawn("heron client", 20, HEX), "issuer": f"https://login.{DOMAIN}"}),
    }  # fmt: skip
    for name, (namespace, entries) in data.items():
        scene.secret("cp", name, entries, namespace=namespace)


KEYS, OUTPUTS, MERGES, OWN = "which half or digest", "which field or stack", "which side of a merge", "whose login"
FILES, SCRIPTS, ANSWERS = "files of programs", "units and scripts", "answers of operators"
FIRST, LATER, KINDS = "known at the update", "a second update", "options of a resource"
