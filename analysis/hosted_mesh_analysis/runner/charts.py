"""Renders Helm charts with `helm template`, as Pulumi's plug-in renders them.

Nothing is fetched here: a chart is a folder or an archive beside the program, or an archive in a given folder.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from hosted_mesh_plan import yaml_text
from hosted_mesh_plan.decode import ASSET, SIGNATURE

from .values import leaves, plain, secret

CHART: Final = "kubernetes:helm.sh/v4:Chart"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
RENDERED: Final = frozenset({CHART, RELEASE})
HELM_VARIABLE: Final = "HOSTED_MESH_HELM"
"""The path of a Helm, in place of the one on PATH."""
OLDEST: Final = (3, 14)
BEFORE: Final = (5,)
KUBERNETES: Final = "1.34.0"
"""The version that a chart sees. An update uses the cluster's."""
SECONDS: Final = 120
LONG: Final = 6
"""Fewest characters of a secret that is searched for inside of texts."""
LARGEST: Final = 64 * 1024 * 1024
"""Most bytes of a rendered chart."""
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,127}")
_CHART_VERSION: Final = re.compile(r"v?\d{1,6}\.\d{1,6}\.\d{1,6}(?:[-+][0-9A-Za-z.+-]{1,32})?")
_REPOSITORY: Final = re.compile(r"(?:https?|oci)://[A-Za-z0-9.:_/-]{1,300}")


class UnrenderedError(Exception):
    """The reason that a chart is not rendered. It has no value of the program but the chart's name and version."""


@dataclass(frozen=True, order=True)
class RemoteChart:
    """A chart of a repository."""

    repository: str
    name: str
    version: str

    @property
    def archive(self) -> str:
        return f"{self.name}-{self.version.removeprefix('v')}.tgz"

    @property
    def folder(self) -> str:
        """A folder's name for the repository."""
        return hashlib.sha256(self.repository.encode()).hexdigest()[:16]

    @property
    def is_plain(self) -> bool:
        """True for a name, a version and an address of plain characters."""
        parts = ((_NAME, self.name), (_CHART_VERSION, self.version), (_REPOSITORY, self.repository))
        return all(form.fullmatch(text) for form, text in parts)


@functools.cache
def helm() -> str:
    """The path of Helm. Raises: UnrenderedError."""
    found = os.environ.get(HELM_VARIABLE) or shutil.which("helm")
    if not found:
        raise UnrenderedError("there is no helm on PATH")
    try:
        command = [found, "version", "--template", "{{.Version}}"]
        text = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        raise UnrenderedError("helm cannot be run") from None
    version = _VERSION.match(text.strip())
    if not version or not OLDEST <= (int(version[1]), int(version[2])) < BEFORE:
        wanted = f"{'.'.join(map(str, OLDEST))} or later, and before {BEFORE[0]}"
        raise UnrenderedError(f"helm is {version[0] if version else 'of an unknown version'}; use {wanted}")
    return found


@dataclass
class Charts:
    """Renders charts. folders: of archives. wanted: charts of repositories that no folder has. only_found: True to find
    charts without rendering them, for a run that is about its files alone."""

    folders: Sequence[Path] = ()
    only_found: bool = False
    wanted: set[RemoteChart] = field(default_factory=set)
    _found: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def archives(self) -> list[str]:
        """The archives in the folders."""
        return [str(one) for folder in self.folders for one in sorted(folder.rglob("*.tgz"))]

    def render(self, name: str, inputs: Mapping[str, Any], directory: Path) -> list[dict[str, Any]]:
        """The objects of a chart. name: of its resource; directory: the program's. Raises: UnrenderedError."""
        program = helm()
        given = plain(inputs)
        if given.get("postRenderer") or given.get("postrender"):
            raise UnrenderedError("its post-renderer is not run")
        place = self._place(given, directory, is_wanted=True)
        release, namespace = str(given.get("name") or name), str(given.get("namespace") or "default")
        command = [program, "template", release, str(place), "--namespace", namespace, "--kube-version", KUBERNETES]
        command += [] if given.get("skipCrds") else ["--include-crds"]
        values = [*_files(inputs.get("valueYamlFiles"), directory), json.dumps(_texts(given.get("values") or {}))]
        key = hashlib.sha256(json.dumps([command, values, _state(place)]).encode()).hexdigest()
        if key not in self._found:
            with self._lock:
                if key not in self._found:
                    self._found[key] = _rendered(command, values)
        return self._found[key]

    def place(self, inputs: Mapping[str, Any], directory: Path) -> Path | None:
        """The place of a chart; None if there is none."""
        try:
            return self._place(plain(inputs), directory)
        except UnrenderedError:
            return None

    def _place(self, given: Mapping[str, Any], directory: Path, *, is_wanted: bool = False) -> Path:
        """The chart's folder or archive. is_wanted: a missing one may be fetched. Raises: UnrenderedError."""
        chart, version = str(given.get("chart") or ""), str(given.get("version") or "")
        beside = directory / Path(chart).expanduser()
        if chart and "://" not in chart and ((beside / "Chart.yaml").is_file() or beside.is_file()):
            return beside
        options = given.get("repositoryOpts") or {}
        repository = str(options.get("repo") or "") if isinstance(options, Mapping) else ""
        name = chart
        if chart.startswith("oci://"):
            repository, _, name = chart.rpartition("/")
        found = RemoteChart(repository.rstrip("/"), name, version)
        for folder in self.folders:
            for file in (folder / found.folder / found.archive, folder / found.archive):
                if _NAME.fullmatch(name) and _CHART_VERSION.fullmatch(version) and file.is_file():
                    return file
        if not found.is_plain:
            raise UnrenderedError("its chart is neither a folder nor of a repository with an exact version")
        if is_wanted:
            self.wanted.add(found)
        raise UnrenderedError(f"there is no {found.archive}; fetch it by `helm pull`, and name its folder by --charts")


def _state(place: Path) -> Any:
    """Distinguishes versions of a folder of charts, which may change between runs of one process."""
    if place.is_file():
        return [place.stat().st_mtime_ns, place.stat().st_size]
    files = [one for one in sorted(place.rglob("*")) if one.is_file()]
    return [[str(one.relative_to(place)), one.stat().st_mtime_ns, one.stat().st_size] for one in files]


def _texts(value: Any) -> Any:
    """Values with assets as their text."""
    if isinstance(value, dict):
        if value.get(SIGNATURE) == ASSET:
            return value.get("text") or ""
        return {key: _texts(one) for key, one in value.items()}
    return [_texts(one) for one in value] if isinstance(value, list) else value


def _files(given: Any, directory: Path) -> list[str]:
    """The texts of files with values. Raises: UnrenderedError."""
    found = []
    for one in plain(given) or ():
        text = one.get("text") if isinstance(one, dict) else None
        if text is None and isinstance(one, dict) and isinstance(one.get("path"), str):
            try:
                text = (directory / one["path"]).read_text(encoding="utf-8")
            except (OSError, ValueError):
                raise UnrenderedError("a file of its values cannot be read") from None
        if text is None:
            raise UnrenderedError("a file of its values is at an address")
        found.append(str(text))
    return found


def _rendered(command: Sequence[str], values: Sequence[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="hosted-mesh-charts-") as folder:
        options: list[str] = []
        for place, text in enumerate(values):
            file = Path(folder) / f"{place}.yaml"
            file.write_text(text, encoding="utf-8")
            options += ["--values", str(file)]
        own = {"HELM_CACHE_HOME": folder, "HELM_CONFIG_HOME": folder, "HELM_DATA_HOME": folder, "HOME": folder}
        environment = {"PATH": os.environ.get("PATH", ""), **own}
        try:
            done = subprocess.run(
                [*command, *options], capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            raise UnrenderedError("helm does not end or cannot be run") from None
    if done.returncode or len(done.stdout) > LARGEST:
        # Its message may quote a value.
        raise UnrenderedError("helm cannot render it" if done.returncode else "it is too large")
    return objects_in(done.stdout)


def objects_in(text: str) -> list[dict[str, Any]]:
    """The Kubernetes objects of a rendered chart; those of lists one by one. Raises: UnrenderedError."""
    found: list[dict[str, Any]] = []
    try:
        for one in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            items = one.get("items") if isinstance(one, dict) and str(one.get("kind", "")).endswith("List") else [one]
            found += [_plain_values(item) for item in items or () if _is_object(item)]
    except yaml_text.UNPARSABLE:
        raise UnrenderedError("helm's output is not YAML") from None
    return found


def _is_object(one: Any) -> bool:
    return isinstance(one, dict) and all(isinstance(one.get(key), str) for key in ("apiVersion", "kind"))


def _plain_values(value: Any) -> Any:
    """Values of JSON alone: keys and dates as text."""
    if isinstance(value, dict):
        return {str(key): _plain_values(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain_values(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def token_of(one: Mapping[str, Any]) -> str:
    """Pulumi's type of an object."""
    version = one["apiVersion"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{one['kind']}"


def name_in(prefix: str, one: Mapping[str, Any]) -> str:
    """The name of a chart's resource, as the plug-in makes it."""
    metadata = one.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    own = "/".join(str(part) for part in (given.get("namespace"), given.get("name")) if part)
    return f"{prefix}:{own}"


def secrets_in(inputs: Mapping[str, Any]) -> set[str]:
    """The texts of values that the program marks as secret, plain and in base64."""
    marked = {str(leaf.value) for _, leaf in leaves(inputs) if leaf.secret and leaf.value not in (None, "", {}, [])}
    lines = {line for text in marked for line in text.split("\n") if len(line) >= LONG}
    return marked | lines | {base64.b64encode(one.encode(errors="replace")).decode().rstrip("=") for one in marked}


def marked(value: Any, secrets: set[str]) -> Any:
    """A rendered tree with texts marked as secret that contain a secret, or that are a short one."""
    if isinstance(value, dict):
        return {key: marked(one, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [marked(one, secrets) for one in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    return secret(value) if text in secrets or any(one in text for one in secrets if len(one) >= LONG) else value
