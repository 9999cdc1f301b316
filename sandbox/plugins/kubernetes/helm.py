"""Charts rendered by the helm command, as the official plug-in renders them by Helm's library."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sandbox.plugins.kubernetes.memory_file import memory_file
from sandbox.plugins.kubernetes.objects import Gvk
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.values import Archive, Asset

_TIMEOUT: Final = 300  # seconds: a chart may come from a repository


@dataclass(frozen=True)
class Chart:
    """What to render. chart: a path, a URL, or a name in `repository`. values are laid over the files in order."""

    release: str
    namespace: str
    chart: str
    version: str = ""
    devel: bool = False
    repository: Mapping[str, Any] = field(default_factory=dict)
    dependency_update: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    value_files: Sequence[Any] = ()
    include_crds: bool = True
    plain_http: bool = False


def render(chart: Chart, kube_version: str, kinds: Sequence[Gvk]) -> str:
    """The manifests of the chart, hooks left out, for a cluster of that version with those kinds.

    Raises ProviderError with Helm's message, NotImplementedHere for a local chart that looks things up in the cluster.
    """
    _refuse_lookups(chart.chart)
    versions = sorted({gvk.api_version for gvk in kinds} | {str(gvk) for gvk in kinds})
    with ExitStack() as files:
        # Values may hold secrets: they go by memory that helm inherits, not by the command line, nor by a folder, which
        # would stay when the engine ends this process meanwhile.
        values = [files.enter_context(memory_file(text.encode())) for text in _texts(chart)]
        command = [
            os.environ.get("HOSTED_MESH_HELM") or "helm",
            *("template", chart.release, chart.chart, "--namespace", chart.namespace),
            *("--no-hooks", "--skip-tests", "--kube-version", kube_version, "--api-versions", ",".join(versions)),
            *(argument for file in values for argument in ("--values", f"/dev/fd/{file}")),
            *(["--include-crds"] if chart.include_crds else []),
            *(["--version", chart.version] if chart.version else []),
            *(["--devel"] if chart.devel and not chart.version else []),
            *(["--dependency-update"] if chart.dependency_update else []),
            *(["--plain-http"] if chart.plain_http else []),
            *_repository(chart.repository),
        ]
        return _run(command, values)


def _run(command: Sequence[str], inherited: Sequence[int]) -> str:
    try:
        done = subprocess.run(
            command, pass_fds=inherited, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise ProviderError("helm was not found: put it on PATH, or set HOSTED_MESH_HELM to it") from None
    except subprocess.TimeoutExpired:
        raise ProviderError(f"helm did not render the chart within {_TIMEOUT} seconds") from None
    if done.returncode != 0:
        raise ProviderError(f"helm could not render the chart: {done.stderr.strip()}")
    return done.stdout


def _texts(chart: Chart) -> list[str]:
    return [_read(asset) for asset in chart.value_files] + [json.dumps(with_assets_read(chart.values))]


def with_assets_read(value: Any) -> Any:
    """The values with each asset replaced by its text."""
    if isinstance(value, Mapping):
        return {key: with_assets_read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_assets_read(item) for item in value]
    if isinstance(value, Asset):
        return _read(value)
    if isinstance(value, Archive):
        raise ProviderError("Archive values are not supported as a Helm value")
    return value


def _read(asset: Any) -> str:
    if not isinstance(asset, Asset):
        raise ProviderError("valueYamlFiles must be assets")
    if asset.uri:
        raise NotImplementedHere("values from a URI")
    if not asset.path:
        return asset.text
    try:
        return Path(asset.path).read_text()
    except OSError as error:
        raise ProviderError(f'failed to read file "{asset.path}": {error.strerror}') from None


def _repository(options: Mapping[str, Any]) -> list[str]:
    flags = []
    for name in ("username", "password"):
        if options.get(name):
            raise NotImplementedHere(f"repositoryOpts.{name}")
    if options.get("repo"):
        flags += ["--repo", str(options["repo"])]
    for name, flag in (("caFile", "--ca-file"), ("certFile", "--cert-file"), ("keyFile", "--key-file")):
        if options.get(name) is not None:
            asset = options[name]
            if not isinstance(asset, Asset) or not asset.path:
                raise NotImplementedHere(f"repositoryOpts.{name} that is not a file")
            flags += [flag, asset.path]
    return flags


def _refuse_lookups(chart: str) -> None:
    """A chart that asks the cluster with `lookup` would come out different without one; better none than wrong."""
    for template in Path(chart).glob("**/templates/**/*") if Path(chart).is_dir() else ():
        if template.suffix in (".yaml", ".yml", ".tpl") and "lookup " in template.read_text(errors="replace"):
            raise NotImplementedHere(f"charts that use Helm's lookup function ({template})")
