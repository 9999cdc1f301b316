"""Evidence of a preview for the update of the same run.

Before a write the engine does not show a value's sources. The preview did. So a preview notes, per data-plane resource,
the secret or unknown values from the data plane's own sources. The next update of the same engine process trusts
exactly those. An update without that note rejects secrets of unproven owner.

The note has URNs, property paths and salted hashes, never values. It is bound to the engine's process and its start
time, so no other run can use it. `HOSTED_MESH_EVIDENCE` names a file for an update in another job. The file is bound to
the stack, its configuration, the program and the pack's settings: only the program shows a secret's sources, and only
the settings show the owner of a cluster or an account.
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

from hosted_mesh_plan.carriers import ProviderConfig
from hosted_mesh_plan.evidence import Evidence, Shown
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import UNKNOWN, Leaf, at, leaves, show
from hosted_mesh_plan.tree import Path as Place

from ..detect.leaf.level import Level
from ..detect.leaf.names import describes
from ..detect.secrets.resource_types import tells_facts
from ..evaluation.context import Context
from ..evaluation.finding import Finding
from ..rules.credentials import FLOW, SHAPE, VALUE
from . import engine

OLDEST_NOTE_SECONDS: Final = 24 * 3600
_UNREADABLE: Final = (OSError, ValueError, KeyError, TypeError, AttributeError)


class UnusableEvidenceError(Exception):
    """A file of evidence that counts as none. The message has the reason, and never a value."""


@dataclass(frozen=True)
class EvidenceScope:
    """The scope of a file of evidence. `stack`: its configuration, and its name under the empty key. `program`: a hash
    of its files, or its commit. `told`: the pack's settings, and the disabled policies."""

    stack: Mapping[str, str]
    program: str
    told: str


def evidence_of(context: Context, findings: list[Finding]) -> Evidence:
    """The evidence of a whole stack's verdict for the update."""
    accused = {finding.urn for finding in findings if finding.rule in {FLOW.name, VALUE.name, SHAPE.name}}
    paths: dict[str, frozenset[str]] = {}
    data_planes: set[str] = set()
    foreign: dict[str, frozenset[str]] = {}
    shown: dict[str, Shown] = {}
    awaited: dict[str, frozenset[str]] = {}
    authorities: set[str] = set()
    opens_own: dict[str, frozenset[str]] = {}
    issued: dict[str, frozenset[str]] = {}
    salted = Evidence(salt=secrets.token_hex(16))
    for resource in context.stack.resources:
        if context.clusters.on_control_plane(resource):
            others = frozenset(_from_others(context, resource))
            foreign.update({resource.urn: others} if others else {})
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
        if logins := frozenset(_issued(context, resource)):
            issued[resource.urn] = logins
        if own := context.of_own_sections(resource) | context.flow.made_of_own(resource):
            opens_own[resource.urn] = frozenset(name for path in own for name in map(show, _names(path)))
    alone, made = frozenset(data_planes), frozenset(authorities)
    at_home = context.owners.configs_at_home
    return Evidence(paths, alone, foreign, shown, awaited, made, opens_own, at_home, issued, salted.salt)


def _issued(context: Context, resource: Resource) -> Iterator[str]:
    """The values of a Secret that are logins issued to its tenant, without values that have another secret."""
    for name in resource.sources if context.flow.issued_to(resource) else ():
        for leaf in leaves(at(resource.asked, name), (name,)):
            if leaf.value is UNKNOWN or context.is_issued_login(resource, leaf.path):
                yield from map(show, _names(leaf.path))


def _from_others(context: Context, resource: Resource) -> Iterator[str]:
    for name in resource.sources:
        if context.flow.is_data_planes_alone(resource, name):
            for leaf in leaves(at(resource.asked, name), (name,)):
                if context.flow.is_all_from_others(resource, leaf):
                    yield from map(show, _names(leaf.path))


def _names(path: Place) -> list[Place]:
    """A value's places in the update: a Secret's `stringData` may have become `data`."""
    renamed = [("data", *path[1:])] if path[:1] == ("stringData",) else []
    return [path, *renamed]


def _proven(context: Context, resource: Resource) -> Iterator[Leaf]:
    """Secret or unknown values without a control-plane source. If such a source has public outputs too (a certificate,
    a cloud's resource), only the update decides: by the mark, or in a Secret by structure. An unmarked resource of the
    control plane, such as a service's, may yield either."""
    flow = context.flow
    for name, tree in resource.asked.items() if isinstance(resource.asked, dict) else ():
        hidden = [leaf for leaf in leaves(tree, (name,)) if leaf.secret or leaf.value is UNKNOWN]
        sources = context.stack.sources_of(resource, name)
        sources = [one for one in sources if one.urn not in flow.issued_to(resource)]
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
    """The place of this run's note, named by the engine's process. None where processes cannot be identified."""
    process = engine.identity()
    if process is None:
        return None
    name = hashlib.sha256(f"{process}:{project}:{stack}".encode()).hexdigest()[:32]
    return Path(tempfile.gettempdir()) / f"hosted-mesh-policies-{os.getuid()}" / f"{name}.json"


def write_note(path: Path | None, evidence: Evidence) -> None:
    """Keeps a note for the update of the same engine process. A failure is no error: the update is then stricter."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.parent.stat().st_uid != os.getuid() or path.parent.is_symlink():
            return
        path.parent.chmod(0o700)
        for old in path.parent.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run removed its note
                if time.time() - old.stat().st_mtime > OLDEST_NOTE_SECONDS:
                    old.unlink()
        _write(path, _content(evidence))


def read_note(path: Path | None) -> Evidence | None:
    """The note of this run's preview, if any. It is used once."""
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


def save(path: Path, evidence: Evidence, bond: EvidenceScope) -> None:
    """Writes a file for an update elsewhere: a preview's evidence and its scope, as URNs, paths and salted hashes.
    Raises OSError."""
    _write(path, {**_content(evidence), **_bound(bond, evidence.salt)})


def load(path: Path, bond: EvidenceScope) -> Evidence:
    """Reads the file of `save`. Values detect later changes of the state: each is compared with the preview's.

    Raises: UnusableEvidenceError if it is missing, or of another stack, configuration, program or pack settings.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        evidence = _evidence(content)
        same = {key: content[key] == one for key, one in _bound(bond, evidence.salt).items()}
    except OSError as problem:
        raise UnusableEvidenceError(f"cannot be read ({problem.strerror})") from None
    except _UNREADABLE:
        raise UnusableEvidenceError("is no evidence of this version's preview") from None
    for key, why in _OTHERS.items():
        if not same[key]:
            raise UnusableEvidenceError(f"is of {why}")
    return evidence


_OTHERS: Final = {
    "bound": "another stack or stack configuration",
    "program": "another program, or other files beside it",
    "told": "other policy settings; give both jobs the same --policy-pack-config",
}


def _bound(bond: EvidenceScope, salt: str) -> dict[str, str]:
    """Slow on purpose, since a configuration's secrets could be guessed."""
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
        "issued": {urn: sorted(found) for urn, found in evidence.issued.items()},
        "salt": evidence.salt,
    }


def _evidence(content: dict[str, Any]) -> Evidence:
    paths, foreign, awaited, opens_own, issued = (
        {urn: frozenset(found) for urn, found in content[key].items()}
        for key in ("paths", "foreign", "awaited", "opens_own", "issued")
    )
    shown = {urn: Shown(digest, tuple(unknown)) for urn, (digest, unknown) in content["shown"].items()}
    alone, authorities = (frozenset(content[key]) for key in ("data_planes", "authorities"))
    at_home = frozenset(ProviderConfig(*config) for config in content["at_home"])
    return Evidence(paths, alone, foreign, shown, awaited, authorities, opens_own, at_home, issued, content["salt"])


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(content), encoding="utf-8")
    temporary.replace(path)
