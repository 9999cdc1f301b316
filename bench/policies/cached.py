"""Parts for this bench only, made once, into the cache: programs in Go, and other scanners' environments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.cache import cache_dir, publish
from sandbox.jobs import Job
from sandbox.progress import Progress
from sandbox.toolchain.go_compiler import find_go, needed_version
from sandbox.toolchain.go_sets import GoSet


def cached(name: str, key: str, title: str, progress: Progress, build: Callable[[Path, Job], None]) -> Path:
    """The folder of `build`, as one step; key: changes with its content. Raises the errors of `build`."""
    target = cache_dir() / "scanners" / f"{name}-{key}"
    with progress.step(title) as step:
        job = Job(name, _log_of(name), step.note)
        lock = cache_dir() / "locks" / name
        if not publish(target, lambda into: build(into, job), lock=lock, waiting=step.note):
            step.skip("in the cache")
    return target


def built(source: GoSet, progress: Progress) -> Path:
    """The one program that `source` provides. Raises SandboxError."""
    (program,) = source.provides

    def build(into: Path, job: Job) -> None:
        source.build(into, job, find_go(needed_version(source.mod_files()), progress, _log_of("go")))

    return cached(source.name, source.key(), source.title, progress, build) / "bin" / program


def _log_of(name: str) -> Path:
    folder = cache_dir() / "logs"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.log"
