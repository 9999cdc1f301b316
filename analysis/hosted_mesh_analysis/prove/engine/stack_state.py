"""A stack's state with other secrets, so that a preview has the last update's results.

Derived values are found by a secret's text in the whole state, also inside longer texts and in base64: the old text
becomes the same new text everywhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hosted_mesh_plan.decode import SECRET, SIGNATURE
from hosted_mesh_plan.model import PROVIDER_PREFIX

from ...runner.places import Known, Places
from ...runner.program.monitor import source_of
from ...runner.project import UnusableProjectError
from ...runner.secrets import forms, keys
from ...runner.secrets.credentials import replaced, with_other_credentials
from ...runner.secrets.generator import FIRST, Source
from ...runner.secrets.made_up import Answers
from ...runner.values import leaves, plain, show, substitution
from ..public_facts import encodings
from . import planned, stack_files
from .passphrase_cipher import PassphraseCipher

LEAST: Final = 8
"""Shorter texts are replaced only at their source: other texts may contain them by chance."""
_PUBLIC: Final = re.compile(r"-----BEGIN (?:CERTIFICATE|CERTIFICATE REQUEST|PUBLIC KEY)-----")
_PACKED: Final = re.compile(r"[A-Za-z0-9+/]{11,}={0,2}")
_WORD: Final = re.compile(r"[a-z]+(?:[-. ][a-z]+)*")
_MOST_LAYERS: Final = 3
_MADE: Final = ("tls:index/", "random:index/randomPassword:", "random:index/randomBytes:", "random:index/randomString:")


@dataclass(frozen=True)
class StackState:
    """The last update's result. version, features: of the format. resources: with the protocol's secret marks."""

    version: int
    features: tuple[str, ...]
    resources: tuple[dict[str, Any], ...]

    @property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """Each resource's inputs, by its URN."""
        return {str(one["urn"]): one.get("inputs") or {} for one in self.resources}

    def checkpoint(self, name: str, cipher: PassphraseCipher) -> dict[str, Any]:
        """In the form of a file backend, with its secrets encrypted. name: organization/project/stack."""
        features = {"features": list(self.features)} if self.features else {}
        sealed = [_sealed(one, cipher) for one in self.resources]
        return stack_files.checkpoint(name, sealed, cipher, version=self.version, **features)


def parsed(text: str, where: str, project: str, stack: str) -> StackState:
    """A state from the output of `pulumi stack export --show-secrets`. where: its name in messages.

    Resources pending deletion are left out. Raises: UnusableProjectError.
    """
    fix = "Write it with `pulumi stack export --show-secrets`"
    try:
        document = json.loads(text)
        deployment = document["deployment"]
        found = [one for one in deployment.get("resources") or () if not one.get("delete")]
        stacks = {tuple(str(one["urn"]).split("::")[:2]) for one in found}
        if any("ciphertext" in mark for one in found for mark in _marks(one)):
            raise UnusableProjectError(f"{where}: its secrets are encrypted. {fix}")
        resources = tuple(planned.tree_of_plan(one) for one in found)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnusableProjectError(f"{where}: is no stack's state. {fix}") from None
    if others := stacks - {(f"urn:pulumi:{stack}", project)}:
        other = "::".join(sorted(others)[0]).removeprefix("urn:pulumi:")
        raise UnusableProjectError(
            f"{where}: is of {other}, not of {stack}::{project}. Name the stack with --stack, and its project's folder"
        )
    return StackState(int(document.get("version") or 3), tuple(document.get("features") or ()), resources)


def _marks(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            yield value
        for one in value.values():
            yield from _marks(one)
    elif isinstance(value, list):
        for one in value:
            yield from _marks(one)


def _sealed(value: Any, cipher: PassphraseCipher) -> Any:
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            return {SIGNATURE: SECRET, "ciphertext": cipher.close(json.dumps(_sealed(value.get("value"), cipher)))}
        return {key: _sealed(one, cipher) for key, one in value.items()}
    return [_sealed(one, cipher) for one in value] if isinstance(value, list) else value


def with_other_secrets(state: StackState, answers: Answers, known: Known, given: Mapping[str, str]) -> StackState:
    """The state in one variant. given: the new values of the program's own secrets, by their old values."""
    first = replace(answers, world=FIRST) if answers.world.held else answers
    made = _Made(answers, known, dict(given))
    public = made if first is answers else _Made(first, known, dict(given))
    resources = [made.resource(one) for one in state.resources]
    if public is not made:
        for one in state.resources:
            public.resource(one)
    halves = dict(_public_halves(made.texts, public.texts))
    texts = _Texts({**made.texts, **halves, **made.facts})
    return replace(state, resources=tuple(_with(one, texts) for one in resources))


def _with(resource: dict[str, Any], texts: _Texts) -> dict[str, Any]:
    parts: dict[str, Any] = {key: texts.tree(resource[key]) for key in ("inputs", "outputs") if key in resource}
    return {**resource, **parts}


def _public_halves(private: Mapping[str, str], shown: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The public halves of keys, in each of their forms. shown: the keys whose public halves they become."""
    for old in private:
        for here, there in zip(keys.privates_in(old), keys.privates_in(shown.get(old, "")), strict=False):
            try:
                before, after = (encodings(keys.private_of(pem).public_key()) for pem in (here, there))
            except keys.UnusableKeyError:
                continue
            yield from ((text, after[form]) for form, text in before.items() if form in after)


@dataclass
class _Made:
    """The secrets of a state's resources, regenerated in the order of creation.

    texts: the new value of each old secret. facts: the new text of each old certificate.
    """

    answers: Answers
    known: Known
    texts: dict[str, str]

    def __post_init__(self) -> None:
        self.facts: dict[str, str] = {}
        self._places = Places(self.known)

    def resource(self, one: dict[str, Any]) -> dict[str, Any]:
        """A resource with its outputs replaced. Inputs are replaced as whole values only."""
        urn, kind = str(one["urn"]), str(one["type"])
        inputs = self._whole(one.get("inputs") or {})
        if kind.startswith(PROVIDER_PREFIX):
            inputs = self._opening(inputs, urn)
            planned.add_provider(self._places, urn, kind, inputs)
            return {**one, "inputs": inputs, "outputs": self._whole(one.get("outputs") or {})}
        if not one.get("custom"):
            return one
        outputs = one.get("outputs") or {}
        source = source_of(urn, kind, planned.place_of(self._places, kind, one.get("provider")))
        known = plain(inputs)
        if kind.startswith(_MADE):
            made = self._generated(kind, urn, source, known)
            outputs = {**outputs, **{key: self._learn(outputs[key], made[key]) for key in made if key in outputs}}
        theirs = {leaf.value for _, leaf in leaves(one.get("inputs") or {}) if isinstance(leaf.value, str)}
        return {**one, "inputs": inputs, "outputs": self._others(outputs, source, theirs)}

    def _generated(self, kind: str, urn: str, source: Source, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """As in in-process runs; nothing for types that those cannot make."""
        try:
            if kind.startswith("tls:index/privateKey"):
                return self.answers.key(source, inputs)
            if kind.startswith("tls:"):
                made = self.answers.certificate(kind, inputs)
                return {key: text for key, text in made.items() if key.endswith("Pem")}
            return self.answers.chance(kind, urn, source, inputs)
        except keys.UnusableKeyError:
            return {}

    def _learn(self, before: Any, after: Any) -> Any:
        old, new = plain(before), plain(after)
        if isinstance(old, str) and isinstance(new, str) and len(old) >= LEAST:
            (self.facts if _PUBLIC.match(old) else self.texts)[old] = new
        return after

    def _opening(self, inputs: dict[str, Any], urn: str) -> Any:
        """A provider's settings: an absent kubeconfig is replaced by one with its clusters' credentials."""
        for path, leaf in leaves(inputs):
            text = leaf.value
            if isinstance(text, str) and text not in self.texts.values() and forms.holds_credential(text):
                name = f"provider {urn.rpartition('::')[2]} {show(path)}"
                self.texts[text] = with_other_credentials(text, name, self.answers)
        return self._whole(inputs)

    def _whole(self, tree: Any) -> Any:
        return _mapped(tree, lambda text: self.texts.get(text, self.facts.get(text, text)))

    def _others(self, outputs: dict[str, Any], source: Source, given: set[str]) -> Any:
        """Secrets that a provider or a cluster made, by their marks."""
        found: dict[str, str] = {}
        new = {*self.texts.values()}
        for path, leaf in leaves(outputs):
            is_secret = leaf.secret and isinstance(leaf.value, str) and leaf.value
            if not is_secret or leaf.value in given or leaf.value in new:
                continue
            inner = _unpacked(leaf.value)
            text = leaf.value if inner is None else inner
            if text in self.texts or _PUBLIC.match(text) or _Texts(self.texts).text(text) != text:
                continue
            other = self._fresh(text, source, show(path))
            found[leaf.value] = other if inner is None else base64.b64encode(other.encode()).decode()
            if len(text) >= LEAST and not _WORD.fullmatch(text):
                self.texts[text] = other
        return _in_secrets(outputs, found)

    def _fresh(self, text: str, source: Source, detail: str) -> str:
        if forms.parsed_kubeconfig(text) is not None:
            return replaced(text, f"{source.name} {detail}", self.answers)
        return str(self.answers.value(source, detail, lambda chance: forms.fresh(text, chance)))


def _unpacked(text: str) -> str | None:
    try:
        inner = base64.b64decode(text, validate=True).decode()
    except ValueError:
        return None
    return inner if inner and (inner.isprintable() or "\n" in inner) else None


def _mapped(tree: Any, other: Any) -> Any:
    if isinstance(tree, str):
        return other(tree)
    if isinstance(tree, Mapping):
        return {key: one if key == SIGNATURE else _mapped(one, other) for key, one in tree.items()}
    return [_mapped(one, other) for one in tree] if isinstance(tree, list) else tree


def _in_secrets(tree: Any, other: Mapping[str, str]) -> Any:
    """Replaces whole texts that are marked secret."""
    if isinstance(tree, Mapping):
        if tree.get(SIGNATURE) == SECRET:
            return _mapped(tree, lambda text: other.get(text, text))
        return {key: _in_secrets(one, other) for key, one in tree.items()}
    return [_in_secrets(one, other) for one in tree] if isinstance(tree, list) else tree


class _Texts:
    """Replaces texts in longer ones: plain, as in JSON, and in base64."""

    def __init__(self, other: Mapping[str, str]) -> None:
        self._other = {
            way(old): way(new)
            for old, new in other.items()
            if len(old) >= LEAST and old != new
            for way in (lambda text: json.dumps(text)[1:-1], str)
        }
        self._substituted = substitution(self._other)

    def tree(self, value: Any) -> Any:
        return _mapped(value, self.text) if self._other else value

    def text(self, text: str, layer: int = 0) -> str:
        if not self._other:
            return text
        found = self._substituted(text)
        if layer < _MOST_LAYERS:
            found = _PACKED.sub(lambda one: self._packed(one.group(), layer), found)
        return found

    def _packed(self, text: str, layer: int) -> str:
        inner = _unpacked(text)
        if inner is None:
            return text
        other = self.text(inner, layer + 1)
        return text if other == inner else base64.b64encode(other.encode()).decode()
