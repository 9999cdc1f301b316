"""What a preview proves for the update of the same run.

Before a write the engine does not say where a value comes from. The preview did. So a preview notes, per data-plane
resource, which of its values marked secret (or not known yet) come from the data plane's own sources, and the update
that the same engine process runs next trusts exactly those. An update without that note refuses secrets of
unproven owner.

The note holds URNs, property paths and salted hashes, never values. It is bound to the engine's process and its start
time, so no other run, however soon, can use it. A preview in one job and its update in another say where to keep it
(`HOSTED_MESH_EVIDENCE`); then it is bound to the stack, its configuration and the program: what a secret is made of is
in the program alone, and before a write only the preview knows it. It is bound to what the pack was told, too: whose a
cluster or an account is, the settings say.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..detect.leaf.level import Level
from ..detect.leaf.names import describes
from ..detect.secrets.resource_types import tells_facts
from ..evaluation.context import Context
from ..evaluation.finding import Finding
from ..plan.carriers import ProviderConfig
from ..plan.evidence import Evidence, Shown
from ..plan.model import SECRET_DATA, Resource
from ..plan.tree import UNKNOWN, Leaf, leaves, show
from ..plan.tree import Path as Place
from ..rules.credentials import FLOW, SHAPE, VALUE
from . import engine

OLDEST_NOTE_SECONDS: Final = 24 * 3600
_UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, AttributeError)


class UnusableEvidenceError(Exception):
    """A file of evidence that counts as none. The message says why, and never a value."""


@dataclass(frozen=True)
class Bond:
    """What a file of evidence is good for. `stack`: its configuration, and its name under the empty key. `program`: a
    hash of its files, or its commit. `told`: the pack's settings, and the policies that were off."""

    stack: Mapping[str, str]
    program: str
    told: str


def evidence_of(context: Context, findings: list[Finding]) -> Evidence:
    """What a whole stack's verdict shows for the update."""
    accused = {finding.urn for finding in findings if finding.rule in {FLOW.name, VALUE.name, SHAPE.name}}
    paths: dict[str, frozenset[str]] = {}
    data_planes: set[str] = set()
    foreign: dict[str, frozenset[str]] = {}
    shown: dict[str, Shown] = {}
    awaited: dict[str, frozenset[str]] = {}
    authorities: set[str] = set()
    opens_own: dict[str, frozenset[str]] = {}
    salted = Evidence(salt=secrets.token_hex(16))
    for resource in context.stack.resources:
        if context.clusters.on_control_plane(resource):
            alone = frozenset(name for name in resource.sources if context.flow.is_data_planes_alone(resource, name))
            if alone & set(SECRET_DATA):
                alone |= set(SECRET_DATA)
            foreign.update({resource.urn: alone} if alone else {})
        if not context.owners.is_judged(resource):
            continue
        if waits := frozenset(map(show, context.flow.awaited(resource))):
            awaited[resource.urn] = waits
        if not context.owners.is_given_away(resource):
            continue
        shown[resource.urn] = salted.show(resource)
        if resource.urn in accused:
            continue
        kept = {show(path) for leaf in _proven(context, resource) for path in _names(leaf.path)}
        if kept:
            paths[resource.urn] = frozenset(kept)
            if context.flow.is_from_data_plane(resource):
                data_planes.add(resource.urn)
            if context.flow.is_own_authority(resource):
                authorities.add(resource.urn)
        if own := context.of_own_sections(resource) | context.flow.made_of_own(resource):
            opens_own[resource.urn] = frozenset(name for path in own for name in map(show, _names(path)))
    alone, made = frozenset(data_planes), frozenset(authorities)
    at_home = context.owners.configs_at_home
    return Evidence(paths, alone, foreign, shown, awaited, made, opens_own, at_home, salted.salt)


def _names(path: Place) -> list[Place]:
    """Where a value will be in the update: a Secret's `stringData` may have become `data` by then."""
    renamed = [("data", *path[1:])] if path[:1] == ("stringData",) else []
    return [path, *renamed]


def _proven(context: Context, resource: Resource) -> Iterator[Leaf]:
    """Values that are secret or unknown, and that no control-plane source feeds. Where one does that has public outputs
    too (a certificate, a cloud's resource), which of them will come shows only in the update: by its mark, or in a
    Secret by its structure. What is the control plane's and marks nothing, a service's resource, may give either."""
    flow = context.flow
    for name, tree in resource.asked.items() if isinstance(resource.asked, dict) else ():
        hidden = [leaf for leaf in leaves(tree, (name,)) if leaf.secret or leaf.value is UNKNOWN]
        sources = context.stack.sources_of(resource, name)
        tainted = {one.urn for one in sources if flow.is_tainted_for(one.urn, resource, name)}
        guilty = [
            one
            for one in sources
            if one.urn in tainted or (flow.is_owned_for(one.urn, resource, name) and not tells_facts(one))
        ]
        if not hidden or any(flow.uses.level(resource, name, source) is not Level.PUBLIC for source in guilty):
            continue
        own = not guilty or any(source.urn not in tainted and flow.uses.is_source(source) for source in sources)
        for leaf in hidden:
            only_named_public = guilty and describes(str(leaf.path[-1]))
            if leaf.value is not UNKNOWN or (own and not only_named_public):
                yield leaf


def note_path(stack: str, project: str) -> Path | None:
    """Where the note of this run is: named by the engine's process. None where processes cannot be told apart."""
    process = engine.identity()
    if process is None:
        return None
    name = hashlib.sha256(f"{process}:{project}:{stack}".encode()).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"hosted-mesh-policies-{os.getuid()}" / f"{name}.json"


def write_note(path: Path | None, evidence: Evidence) -> None:
    """Keeps a note for the update of the same engine process. Failing to is not an error: the update is then
    stricter."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.parent.stat().st_uid != os.getuid() or path.parent.is_symlink():
            return
        path.parent.chmod(0o700)
        for old in path.parent.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run takes its note away
                if time.time() - old.stat().st_mtime > OLDEST_NOTE_SECONDS:
                    old.unlink()
        _write(path, _content(evidence))


def read_note(path: Path | None) -> Evidence | None:
    """The note of this run's preview, if there was one. It is used once."""
    if path is None:
        return None
    try:
        if path.parent.stat().st_uid != os.getuid() or path.stat().st_uid != os.getuid():
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        return _evidence(content)
    except _UNREADABLE:
        return None


def save(path: Path, evidence: Evidence, bond: Bond) -> None:
    """Writes a file for an update elsewhere: what a preview showed, and what it is bound to. It holds URNs, paths and
    salted hashes. Raises OSError."""
    _write(path, {**_content(evidence), **_bound(bond, evidence.salt)})


def load(path: Path, bond: Bond) -> Evidence:
    """What `save` wrote. What the state changed since is told by the values: each is compared with what the preview
    showed.

    Raises: UnusableEvidenceError if there is none, or if it is of another stack, configuration or program, or of a pack
    that was told otherwise.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        evidence = _evidence(content)
        same = {key: content[key] == one for key, one in _bound(bond, evidence.salt).items()}
    except OSError as problem:
        raise UnusableEvidenceError(f"cannot be read ({problem.strerror})") from None
    except _UNREADABLE:
        raise UnusableEvidenceError("is not what a preview of this version writes") from None
    for key, why in _OTHERS.items():
        if not same[key]:
            raise UnusableEvidenceError(f"is of {why}")
    return evidence


_OTHERS: Final = {
    "bound": "another stack, or of another configuration of it",
    "program": "another program, or of other files beside it",
    "told": "other settings of the policies; give both jobs the same --policy-pack-config",
}


def _bound(bond: Bond, salt: str) -> dict[str, str]:
    """Slow on purpose for the configuration, which has secrets that could be guessed."""
    stack = json.dumps(sorted(bond.stack.items())).encode()
    return {
        "bound": hashlib.scrypt(stack, salt=salt.encode(), n=2**14, r=8, p=1, maxmem=2**26).hex(),
        "program": bond.program,
        "told": hashlib.sha256(f"{salt}{bond.told}".encode()).hexdigest(),
    }


def _content(evidence: Evidence) -> dict[str, Any]:
    return {
        "paths": {urn: sorted(found) for urn, found in evidence.paths.items()},
        "data_planes": sorted(evidence.data_planes),
        "foreign": {urn: sorted(found) for urn, found in evidence.foreign.items()},
        "shown": evidence.shown,
        "awaited": {urn: sorted(found) for urn, found in evidence.awaited.items()},
        "authorities": sorted(evidence.authorities),
        "opens_own": {urn: sorted(found) for urn, found in evidence.opens_own.items()},
        "at_home": sorted(evidence.at_home),
        "salt": evidence.salt,
    }


def _evidence(content: dict[str, Any]) -> Evidence:
    paths, foreign, awaited, opens_own = (
        {urn: frozenset(found) for urn, found in content[key].items()}
        for key in ("paths", "foreign", "awaited", "opens_own")
    )
    shown = {urn: Shown(digest, tuple(unknown)) for urn, (digest, unknown) in content["shown"].items()}
    alone, authorities = (frozenset(content[key]) for key in ("data_planes", "authorities"))
    at_home = frozenset(ProviderConfig(*config) for config in content["at_home"])
    return Evidence(paths, alone, foreign, shown, awaited, authorities, opens_own, at_home, content["salt"])


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.replace(path)
