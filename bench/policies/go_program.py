"""Programs in Go that nothing but the bench needs: built once, into the cache."""

from __future__ import annotations

from pathlib import Path

from sandbox.cache import cache_dir, publish
from sandbox.jobs import Job
from sandbox.progress import Progress
from sandbox.toolchain.go_compiler import find_go, needed_version
from sandbox.toolchain.go_sets import GoSet


def built(source: GoSet, progress: Progress) -> Path:
    """The one program that `source` provides. Raises SandboxError."""
    (program,) = source.provides
    target = cache_dir() / "scanners" / f"{source.name}-{source.key()}"
    with progress.step(source.title) as step:
        job = Job(source.name, log_of(source.name), step.note)

        def build(into: Path) -> None:
            source.build(into, job, find_go(needed_version(source.mod_files()), progress, log_of("go")))

        if not publish(target, build, lock=cache_dir() / "locks" / source.name, waiting=step.note):
            step.skip("in the cache")
    return target / "bin" / program


def log_of(name: str) -> Path:
    folder = cache_dir() / "logs"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.log"
