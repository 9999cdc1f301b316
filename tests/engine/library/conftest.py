"""The program's stacks on two real API servers, which are left as they were found."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, without_nodes
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, engine_sandbox: Sandbox, tools: Tools) -> Project:
    return Project.make(tmp_path_factory.mktemp("project"), engine_sandbox, tools)


@pytest.fixture(scope="session")
def provider(engine_sandbox: Sandbox, tools: Tools) -> Api:
    return Api(engine_sandbox.control_plane, tools)


@pytest.fixture(scope="session")
def user(engine_sandbox: Sandbox, tools: Tools) -> Api:
    return Api(engine_sandbox.data_plane, tools)


@pytest.fixture
def clean(provider: Api, user: Api) -> Iterator[None]:
    """Both API servers before and after: whatever a test creates must be gone when its stacks are destroyed."""
    before = provider.stored(), user.stored()
    yield

    def differences() -> list[list[str]]:
        return [sorted(api.stored() ^ then) for api, then in zip((provider, user), before, strict=True)]

    # A cluster takes away by itself, a moment later, what it made for something: an APIService of a CRD, for one.
    with suppress(AssertionError):
        eventually(lambda: differences() == [[], []], seconds=120)
    assert differences() == [[], []]


@pytest.fixture(scope="module")
def mesh(engine_sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    return without_nodes(engine_sandbox, tools)


@pytest.fixture
def reachable(mesh: dict[str, Any], user: Api) -> dict[str, Any]:
    """With the data plane's address as this machine reaches it."""
    document: dict[str, Any] = copy.deepcopy(mesh)
    kubeconfig = yaml.safe_load(user.cluster.kubeconfig.read_text())
    document["memberships"][0]["access"] = {"apiServer": kubeconfig["clusters"][0]["cluster"]["server"]}
    return document
