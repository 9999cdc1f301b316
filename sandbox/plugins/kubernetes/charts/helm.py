"""Charts rendered by the helm command, as the official plug-in renders them by Helm's library."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sandbox.memory_file import memory_file
from sandbox.plugins.kubernetes.charts.lookups import refuse_lookups
from sandbox.plugins.kubernetes.objects import Gvk
from sandbox.plugins.protocol.errors import ProviderError

_TIMEOUT: Final = 300  # seconds: a chart may come from a repository


@dataclass(frozen=True)
class Chart:
    """What to render. chart: a folder, an archive, a URL, or a name in `repository`, which is a URL too.

    version: of a chart that is not local; "" for the newest.
    """

    release: str
    namespace: str
    chart: str
    version: str = ""
    repository: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    include_crds: bool = True


def render(chart: Chart, kube_version: str, kinds: Sequence[Gvk]) -> str:
    """The manifests of the chart, hooks left out, for a cluster of that version with those kinds.

    Raises ProviderError with Helm's message, NotImplementedHere for a chart that looks things up in the cluster.
    """
    versions = sorted({gvk.api_version for gvk in kinds} | {str(gvk) for gvk in kinds})
    with ExitStack() as files:
        values = json.dumps(chart.values)
        path = _local(chart, files)
        refuse_lookups(path, values)
        # Values may hold secrets: they go by memory that helm inherits, not by the command line, nor by a folder, which
        # would stay when the engine ends this process meanwhile.
        file = files.enter_context(memory_file(values.encode()))
        command = [
            *("template", chart.release, str(path), "--namespace", chart.namespace),
            *("--no-hooks", "--skip-tests", "--kube-version", kube_version, "--api-versions", ",".join(versions)),
            *("--values", f"/dev/fd/{file}"),
            *(["--include-crds"] if chart.include_crds else []),
        ]
        return _helm(command, [file])


def _local(chart: Chart, files: ExitStack) -> Path:
    """The chart's folder or archive; one that is not here is fetched for as long as `files` is open."""
    path = Path(chart.chart)
    if not chart.repository and path.exists():
        return path
    if chart.chart.startswith(("/", "./", "../")):
        raise ProviderError(f'the chart "{chart.chart}" was not found')
    folder = Path(files.enter_context(TemporaryDirectory(prefix="hosted-mesh-chart-")))
    _helm(
        [
            *("pull", chart.chart, "--destination", str(folder)),
            *(["--repo", chart.repository] if chart.repository else []),
            *(["--version", chart.version] if chart.version else []),
        ]
    )
    return next(folder.iterdir())


def _helm(arguments: Sequence[str], inherited: Sequence[int] = ()) -> str:
    command = [os.environ.get("HOSTED_MESH_HELM") or "helm", *arguments]
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
