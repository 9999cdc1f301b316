"""A harmless program with the settings and annotations that its verdicts suggest, as far as they are true."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

from hosted_mesh_plan.vocabulary import DATA_PLANE_OWNED_ANNOTATION, DECLASSIFY_ANNOTATION
from hosted_mesh_policies.evaluation.finding import Finding

from .full_settings import is_for_tenants, with_full_settings
from .judge import play
from .program import BlindProgram, Play
from .scene import Scene

SETTING = re.compile(
    r"(?:Stack|Provider) ([^\s,]+),? (?:which [^.]*? )?has no declared owner: if [^.]*?, name it in (\w+)"
)
OF_DEFAULT = re.compile(r"stay with the control plane, name (\S+) in (\w+)")
CLUSTER = re.compile(r"No setting declares cluster (\S+): ")
LOGIN = re.compile(r"issued to this data plane, name ([^\s:]+:(\S+)) in dataPlaneLogins")
KEEPER = re.compile(r"Secret (\S+) keeps it in the control plane: if both sides share that login")
READ = "if it is this one, declassify the copy"
TENANT = re.compile("name them in dataPlaneTenants|Declare that cluster first")
MOST_LOOKS = 6
"""An author who is refused more often asks somebody."""


def with_suggested_settings(program: BlindProgram) -> BlindProgram:
    """The same program with these settings, and with annotations on Secrets: on those that keep a login that both sides
    have, and on the copies of a Secret in the same cluster."""
    true = {key: set(names) for key, names in with_full_settings(program).pack.items() if isinstance(names, list)}
    pack: dict[str, Any] = dict(program.pack)
    annotations: dict[str, dict[str, str]] = {}
    now = program
    for _ in range(MOST_LOOKS):
        outcome, sent, _ = play(now)
        found = (*outcome.said, *outcome.elsewhere)
        settings = [*SETTING.findall(_text(found)), *OF_DEFAULT.findall(_text(found))]
        asked = {(key, name) for name, key in settings if _is_true(name, true[key])}
        tenants = sent.scene.tenants if sent.scene else ()
        asked |= {("dataPlaneServers", server) for server in CLUSTER.findall(_text(found)) if server in tenants}
        logins = {name for name, resource in LOGIN.findall(_text(found)) if is_for_tenants(program, resource)}
        asked |= {("dataPlaneLogins", name) for name in logins}
        if TENANT.search(_text(found)) and sent.scene:  # the program is harmless, so they are
            asked |= {("dataPlaneTenants", f"tenant={server}") for server in sent.scene.tenants}
        more = {(key, name) for key, name in asked if name not in pack.get(key, ())}
        notes = {name: said for name, said in _notes(found).items() if annotations.get(name) != said}
        if not more and not notes:
            break
        for key, name in more:
            pack[key] = [*pack.get(key, ["*/data-plane"] if key == "dataPlaneStacks" else []), name]
        annotations |= notes
        now = dataclasses.replace(program, pack=pack, play=_saying(program.play, dict(annotations)))
    return now


def _text(found: Iterable[Finding]) -> str:
    return " ".join(finding.message for finding in found)


def _notes(found: Iterable[Finding]) -> dict[str, dict[str, str]]:
    """Annotations by the names of the resources."""
    keepers = {
        name: {DATA_PLANE_OWNED_ANNOTATION: "a login that both sides have"} for name in KEEPER.findall(_text(found))
    }
    copies: dict[str, list[str]] = {}
    for finding in found:
        if READ in finding.message:
            copies.setdefault(finding.urn.rpartition("::")[2], []).extend(finding.path.split(", "))
    reason = "a copy of a Secret of its own"
    return keepers | {
        name: {DECLASSIFY_ANNOTATION: "; ".join(f"{path}: {reason}" for path in paths)}
        for name, paths in copies.items()
    }


def _is_true(name: str, names: Set[str]) -> bool:
    """A default provider is the deployer's; a reference may be called by the stack's name or by its first part."""
    plain = name.partition(":")[2] or name
    return plain == "*" or any(one == plain or one.startswith(f"{plain}/") for one in names)


def _saying(plainly: Play, annotations: Mapping[str, Mapping[str, str]]) -> Play:
    def run(scene: Scene) -> Any:
        make = scene.object

        def made(side: str, kind: str, name: str, body: Any, **more: Any) -> Any:
            if said := annotations.get(f"{side}-{name}"):
                metadata = dict(body.get("metadata") or {})
                body = {**body, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **said}}}
            return make(side, kind, name, body, **more)

        scene.object = made  # type: ignore[method-assign]
        return plainly(scene)

    return run
