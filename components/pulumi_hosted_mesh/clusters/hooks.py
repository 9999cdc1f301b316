"""The kind of a run: whether the engine calls resource hooks, with their values, and whether it changes clusters."""

from __future__ import annotations

import os
from typing import Any

import pulumi
from pulumi.runtime import settings
from pulumi.runtime.proto import resource_pb2_grpc

from pulumi_hosted_mesh.vocabulary import ANALYSIS_VARIABLE


def engine_calls_hooks() -> bool:
    """False in a component host (hooks were not tried there), under Pulumi's mocks, and in `prove` and `diff`.

    `prove` and `diff` run no hooks, and note each program with one that could matter. Those of the library reject or
    warn, and change no object.
    """
    is_engine = isinstance(settings.SETTINGS.monitor, resource_pb2_grpc.ResourceMonitorStub)
    return is_engine and settings.get_root_resource() is not None and not os.environ.get(ANALYSIS_VARIABLE)


def writes() -> bool:
    """Whether this run changes clusters: no preview, and no analysis of the program."""
    return not pulumi.runtime.is_dry_run() and not os.environ.get(ANALYSIS_VARIABLE)


async def plain(value: Any) -> Any:
    """A value of a resource; a secret one comes as an Output."""
    return await value.future() if isinstance(value, pulumi.Output) else value
