"""The plan: the supervisor's processes, as data. `processes` computes it, `supervisor` carries it out."""

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

    network: its namespace. after: names of processes that must be ready before its start. kind: a service runs until
    the sandbox stops and restarts when it ends; a task runs once to its end. probe: None means ready once started.
    stop_stage: stages stop one after the other, lowest first. grace: seconds between SIGTERM and SIGKILL. inherited:
    open file descriptors that it needs.
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
    """The input of PID 1.

    networks: namespaces to make besides the wan's. resolver: nameserver for all programs inside; None keeps the host's.
    """

    networks: list[str]
    resolver: str | None
    processes: list[Process]
