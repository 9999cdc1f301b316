"""States of Kubernetes objects, shown by how they differ from what the API server has.

So the facts hold no value that an API server makes, and a newer one, with other defaults, changes none of them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.plugins.protocol.values import plain
from tests.recorded.plain import changed, secrets, shown

Values = dict[str, Any]
NAMESPACE: Final = "recorded"
_SURROUNDINGS: Final = Path(__file__).parent / "cases" / "surroundings.yaml"
_INPUTS: Final = "__inputs"
# Written by controllers at any moment, so that two looks at an object may differ in it.
_VOLATILE: Final = ("managedFields", "resourceVersion", "generation")
_VERSION: Final = "metadata.resourceVersion"  # a count of all that was ever written
_REVISION: Final = "deployment.kubernetes.io/revision"
_SUBSTITUTES: Final = (
    (re.compile(r"pulumi-kubernetes-[0-9a-f]{8}"), "pulumi-kubernetes-<8 hex>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"https?://[\d.:]+"), "<server>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
)


@dataclass(frozen=True)
class KubernetesWorld:
    """An API server with the namespace `recorded`."""

    kubectl: Path
    kubeconfig: Path
    context: str

    def settings(self) -> dict[str, str]:
        """The provider's, for this server."""
        return {
            "kubeconfig": self.kubeconfig.read_text(),
            "context": self.context,
            "namespace": NAMESPACE,
            "clusterIdentifier": "the-cluster",
        }

    def state(self, outputs: Values, inputs: Values, before: Values) -> Values:
        """What is not as the API server has it and as it was checked; and the notes, where they are not as before."""
        saved, notes = _parted(outputs)
        facts = {"differs from live": shown(changed(self._live(saved), _settled(saved)))}
        return _without_empty({**facts, **self._notes(notes, inputs, before), "secrets": secrets(outputs)})

    def planned(self, outputs: Values, inputs: Values, before: Values) -> Values:
        saved, notes = _parted(outputs)
        facts = {
            "adds": sorted({*saved} - {*inputs}),
            "adds to metadata": sorted({*_metadata(saved)} - {*_metadata(plain(inputs))}),
            "without": sorted({*inputs} - {*saved}),
        }
        return _without_empty({**facts, **self._notes(notes, inputs, before), "secrets": secrets(outputs)})

    def _notes(self, notes: Values, inputs: Values, before: Values) -> Values:
        """What the plug-in keeps beside the object; of the inputs only how they differ from those that were checked."""
        was = _parted(before)[1]
        texts = {name: value for name, value in notes.items() if name != _INPUTS and was.get(name) != value}
        said = {name: self.message(value) if isinstance(value, str) else shown(value) for name, value in texts.items()}
        return {**said, _INPUTS: _changed_inputs(inputs, notes[_INPUTS]) if _INPUTS in notes else "<none>"}

    def identity(self, identity: str) -> str:
        return self.message(identity)

    def message(self, text: str) -> str:
        for pattern, word in _SUBSTITUTES:
            text = pattern.sub(word, text)
        return text.strip()

    def drift(self, outputs: Values, patch: Mapping[str, Any]) -> None:
        change = ("--type=merge", f"--patch={json.dumps(patch)}", "--field-manager=somebody")
        self._run("patch", *_named(plain(outputs)), *change)

    def _live(self, saved: Values) -> Values:
        found: Values = json.loads(self._run("get", *_named(saved), "--output=json", "--show-managed-fields"))
        return _settled(found)

    def prepare(self) -> None:
        """Makes the namespace and what else the cases find in the cluster."""
        self._run("apply", f"--filename={_SURROUNDINGS}")
        self._run("wait", "customresourcedefinition/things.recorded.test", "--for=condition=Established")

    def clear(self) -> None:
        self._run("delete", f"--filename={_SURROUNDINGS}", "--ignore-not-found")

    def _run(self, *arguments: str) -> str:
        command = [str(self.kubectl), f"--kubeconfig={self.kubeconfig}", f"--context={self.context}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


def _named(obj: Values) -> tuple[str, ...]:
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind = f"{obj['kind']}.{version}.{group}" if group else obj["kind"]
    namespace = obj["metadata"].get("namespace")
    return (kind, obj["metadata"]["name"], *((f"--namespace={namespace}",) if namespace else ()))


def _parted(outputs: Values) -> tuple[Values, Values]:
    """The object in plain text, and the notes beside it."""
    saved = {name: plain(value) for name, value in outputs.items() if not name.startswith("__")}
    return saved, {name: value for name, value in outputs.items() if name.startswith("__")}


def _settled(obj: Values) -> Values:
    """The object with a word for what is there but not always the same, and without its status."""
    metadata = {name: "<there>" if name in _VOLATILE else value for name, value in obj["metadata"].items()}
    annotations = {name: value for name, value in metadata.get("annotations", {}).items() if name != _REVISION}
    if annotations or "annotations" in metadata:
        metadata["annotations"] = annotations
    if not annotations:
        metadata.pop("annotations", None)
    return {**{name: value for name, value in obj.items() if name != "status"}, "metadata": metadata}


def _changed_inputs(inputs: Values, kept: Any) -> Values:
    return {path: "<there>" if path == _VERSION else value for path, value in changed(inputs, kept).items()}


def _metadata(obj: Values) -> Values:
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def _without_empty(facts: Values) -> Values:
    return {name: value for name, value in facts.items() if value not in ({}, [], None)}
