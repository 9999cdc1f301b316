"""An event loop for tests that make Outputs outside a program, and charts for programs without an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pulumi
import pytest
from pulumi_hosted_mesh.data_plane import served_kinds
from pulumi_kubernetes.helm import v4 as helm

from tests.support.without_engine import end


@pytest.fixture(autouse=True)
def event_loop_for_outputs() -> Iterator[None]:
    """Other tests end theirs, and leave none."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    end(loop)


@pytest.fixture(autouse=True)
def data_planes_have_admission_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of the library reads a cluster of its kubeconfigs' invented addresses."""
    monkeypatch.setattr(served_kinds, "has_policies", lambda config: True)


@pytest.fixture
def without_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are rendered by the engine, which the mocks have not, nor its way of changing what is rendered."""

    class Untransformed(helm.Chart):
        def __init__(self, name: str, args: helm.ChartArgs, opts: pulumi.ResourceOptions) -> None:
            opts.transforms = None
            super().__init__(name, args, opts)

    monkeypatch.setattr(helm, "Chart", Untransformed)
