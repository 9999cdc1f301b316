"""The plan: what the supervisor starts, as data. `processes` computes it, `supervisor` carries it out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel


class Probe(BaseModel, extra="forbid", frozen=True):
    """A health endpoint on loopback: ready when it answers 200.

    authority: CA file of an https endpoint; None means plain http.
    """

    port: int
    path: str
    authority: Path | None = None


class Process(BaseModel, extra="forbid", frozen=True):
    """One program of the sandbox.

    network: the namespace it runs in. after: names that must be ready before it is started. kind: a service runs
    until the sandbox stops and is restarted when it ends; a task runs once to its end. probe: None means ready once
    started. stop_stage: stages stop one after the other, lowest first. grace: seconds between SIGTERM and SIGKILL.
    inherited: open file descriptors that it needs.
    """

    name: str
    argv: list[str]
    network: str
    after: list[str] = []
    kind: Literal["service", "task"] = "service"
    probe: Probe | None = None
    stop_stage: int = 1
    grace: float = 5.0
    inherited: list[int] = []


class Plan(BaseModel, extra="forbid", frozen=True):
    """Everything that PID 1 needs to know.

    networks: namespaces to make besides the wan's. resolver: nameserver for everything inside; None leaves the host's.
    """

    networks: list[str]
    resolver: str | None
    processes: list[Process]
