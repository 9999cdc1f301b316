"""The sandbox's programs: fitting ones from PATH, else built or downloaded once into the user's cache.

`ensure` is the package's only entry. catalogue.py lists the programs and their sources.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.cache import cache_dir, content_key, publish
from sandbox.errors import SandboxError
from sandbox.jobs import Cancelled, Job
from sandbox.progress import Progress, few
from sandbox.toolchain import background, old_builds, on_path
from sandbox.toolchain.catalogue import (
    CHARTS,
    FITS,
    FOR_TESTS,
    GATEWAY_API_CRDS,
    KUBERNETES_PLUGIN,
    NAMES,
    PULUMI_FAMILY,
    SOURCES,
    WHEN_WANTED,
    Source,
)
from sandbox.toolchain.go_compiler import Go, find_go, needed_version
from sandbox.toolchain.go_sets import GoSet

_MEMORY_FOR_TWO = 12 * 2**30  # bytes; each compiles two packages at once on two cores, of at most some 2 GB each
COMPILING = "compiling"  # the lock of the compiler caches' users
_DISK_PER_SET = 2.6e9  # bytes of modules and compiled packages; all seven sets together took 18 GB


@dataclass(frozen=True)
class Tools:
    """The programs, ready to run.

    root: the cache folder with all programs and libraries that do not come from PATH; bind it, read-only and at the
    same path, into a root file system for them. bin_dir: a folder with all of them by name, to be put first on PATH.
    charts: Istio's Helm charts: charts/base, charts/istiod, charts/gateway.
    origins: name -> its source, for people.
    """

    root: Path
    bin_dir: Path
    charts: Path
    programs: Mapping[str, Path] = field(repr=False)
    origins: Mapping[str, str] = field(repr=False)

    @property
    def gateway_api_crds(self) -> Path:
        """A folder with the Gateway API's custom resource definitions, of Istio's version of its library."""
        return self.charts.parent / GATEWAY_API_CRDS

    def __getitem__(self, name: str) -> Path:
        """The absolute path of a program. Raises SandboxError for a name outside of the request."""
        try:
            return self.programs[name]
        except KeyError:
            known = ", ".join(sorted(self.programs))
            raise SandboxError(f"There is no tool {name!r} here.", why=f"there are: {known}") from None


def ensure(names: Collection[str] | None = None, *, also: Collection[str] = (), progress: Progress) -> Tools:
    """Finds, downloads or builds the programs of these names and reports their origins.

    None: all programs of the sandbox, and the charts, without those made WHEN_WANTED. also: more of these.

    The first time this takes minutes; afterwards it only checks. Two runs at once share the work: one makes a part, the
    other waits for it and prints that. Raises SandboxError.
    """
    return _ensure(names, progress, also=also)


def _ensure(
    names: Collection[str] | None, progress: Progress, *, also: Collection[str] = (), builder: bool = False
) -> Tools:
    """builder: this process builds for the tests: it waits for no other, and continues after a failure."""
    wanted = (set(NAMES) - WHEN_WANTED if names is None else set(names)) | set(also)
    if unknown := sorted(wanted - set(NAMES)):
        raise SandboxError(f"There is no tool {unknown[0]!r}.", why=f"there are: {', '.join(NAMES)}")
    root = cache_dir() / "tools"
    found = _on_path(wanted, root)
    needed = [
        source
        for source in SOURCES
        if (names is None and source.name == CHARTS) or (set(source.provides) & wanted) - set(found)
    ]
    entries = {source.name: _entry(root, source) for source in needed}

    def missing() -> list[str]:
        return [name for name, entry in entries.items() if not entry.is_dir()]

    if not builder:
        background.wait(_builder_lock(), missing, progress)
    making = missing()
    if making:
        _make([source for source in needed if source.name in making], root, progress, all_of_them=builder)
    for entry in entries.values():
        old_builds.mark_used(entry)
    programs = {name: item.path for name, item in found.items()}
    origins = {name: f"{item.version} on PATH ({item.path})" for name, item in found.items()}
    for source in needed:
        for name in set(source.provides) & wanted - set(found):
            programs[name] = entries[source.name] / "bin" / name
            origins[name] = source.describe()
    charts = next(_entry(root, source) for source in SOURCES if source.name == CHARTS) / "charts"
    bin_dir = _bin_dir(root, programs)
    if making:
        _clean(root, bin_dir, progress)
    return Tools(root, bin_dir, charts, programs, origins)


def build_for_tests(progress: Progress) -> None:
    """Makes all tools of the tests, in the tests' order; run it as a process beside them.

    Raises SandboxError at the end if one cannot be made.
    """
    with background.builder(_builder_lock(), progress):
        _ensure(FOR_TESTS, progress, builder=True)


def beside_tests() -> AbstractContextManager[None]:
    """While the body runs, another process makes the tools of the tests. Prints nothing if none is missing."""
    root = cache_dir() / "tools"
    found = _on_path(set(FOR_TESTS), root)
    whole = all(_entry(root, source).is_dir() for source in SOURCES if set(source.provides) & FOR_TESTS - set(found))
    return nullcontext() if whole else background.started(_builder_lock())


def _builder_lock() -> Path:
    """The lock of the process that builds for the tests; other pins have another one."""
    return cache_dir() / "locks" / f"builder-{content_key(*(source.key() for source in SOURCES))}"


def _clean(root: Path, bin_dir: Path, progress: Progress) -> None:
    """After a build: removes compiler caches, unless a setting keeps them, and tools unused for 30 days."""
    cache = cache_dir()
    with progress.step("tool cache") as step:
        removed = old_builds.remove_unused(root, [_entry(root, source) for source in SOURCES])
        old_builds.remove_unused(root / "bin", [bin_dir])
        old_builds.remove_unused(cache / "go", [cache / "go" / name for name in old_builds.CACHES])
        words = [f"removed {few(removed)}, not used for 30 days"] if removed else []
        if old_builds.keep():
            words.append(f"compiler caches stay ({old_builds.KEEP}=1)")
        elif old_builds.remove_compiler_caches(cache / "go", cache / "locks" / COMPILING):
            words.append(f"removed compiler caches ({old_builds.KEEP}=1 keeps them)")
        step.result("; ".join(words)) if words else step.skip("nothing to remove")


def report(tools: Tools) -> str:
    """The programs with their origins, one line for each, and their location; for people."""
    width = max(len(name) for name in tools.origins)
    lines = [f"{name:<{width}}  {origin}" for name, origin in sorted(tools.origins.items())]
    return "\n".join([*lines, f"all of them by name: {tools.bin_dir}", f"Istio's charts: {tools.charts}"])


def _on_path(wanted: set[str], root: Path) -> dict[str, on_path.Found]:
    """Fitting programs of PATH. HOSTED_MESH_TOOLS=pinned ignores PATH, to run exactly the pinned versions."""
    mode = os.environ.get("HOSTED_MESH_TOOLS", "")
    if mode not in ("", "pinned"):
        raise SandboxError(f"HOSTED_MESH_TOOLS={mode!r} is not a valid value.", fix="unset it, or set it to `pinned`.")
    if mode == "pinned":
        return {}
    family = wanted & {"pulumi", *PULUMI_FAMILY}
    requested = wanted | ({"pulumi"} if family else set())
    found = on_path.find({name: fit for name, fit in FITS.items() if name in requested}, root)
    if pulumi := found.pop("pulumi", None):
        beside = {name: pulumi.path.resolve().parent / name for name in PULUMI_FAMILY}
        if all(os.access(path, os.X_OK) for path in beside.values()):
            offered = {"pulumi": pulumi} | {n: on_path.Found(path, pulumi.version) for n, path in beside.items()}
            found |= {name: item for name, item in offered.items() if name in wanted}
    return found


def _entry(root: Path, source: Source) -> Path:
    return root / f"{source.name}-{source.key()}"


def _make(missing: list[Source], root: Path, progress: Progress, *, all_of_them: bool = False) -> None:
    """Makes the missing sources in the catalogue's order, two at a time where the memory allows it.

    On two cores too: one is downloaded or linked, which keeps one core busy at most, while the other is compiled.
    all_of_them: after a failure makes the others before it raises.
    """
    old_builds.keep()  # an invalid setting is an error before the long build
    logs = cache_dir() / "logs"
    logs.mkdir(exist_ok=True)
    sets = [source for source in missing if isinstance(source, GoSet)]
    _check_disk(sum(bool(item.builds) for item in sets))
    mod_files = [path for item in sets for path in item.mod_files()]
    go = find_go(needed_version(mod_files), progress, logs / "go.log") if sets else None
    if go:
        progress.line(f"     {len(missing)} part{'s' * (len(missing) > 1)} to make, Go sets with {go.origin}")
    cancelled = threading.Event()
    with (
        old_builds.compiling(cache_dir() / "locks" / COMPILING),
        ThreadPoolExecutor(max_workers=_builders(), thread_name_prefix="toolchain") as pool,
    ):
        jobs = [pool.submit(_make_one, source, root, logs, go, cancelled, progress) for source in missing]
        try:
            wait(jobs, return_when=ALL_COMPLETED if all_of_them else FIRST_EXCEPTION)
        finally:
            # One failed, or Ctrl-C: the others stop now; finished ones stay for the next run.
            if not all(job.done() and not job.exception() for job in jobs):
                cancelled.set()
    raise_first(jobs)


def raise_first(jobs: Collection[Future[None]]) -> None:
    """Raises the error of the first job that failed by itself."""
    errors = [error for job in jobs if (error := job.exception())]
    for error in sorted(errors, key=lambda error: isinstance(error, Cancelled)):
        raise error


def _make_one(
    source: Source, root: Path, logs: Path, go: Go | None, cancelled: threading.Event, progress: Progress
) -> None:
    if cancelled.is_set():
        raise Cancelled
    with progress.step(source.name) as step:
        log = logs / f"{source.name}.log"
        job = Job(source.name, log, step.note, cancelled)

        def build(into: Path) -> None:
            log.write_text("")
            if isinstance(source, GoSet):
                assert go is not None
                source.build(into, job, go)
            else:
                source.build(into, job)

        lock = cache_dir() / "locks" / source.name
        if publish(_entry(root, source), build, lock=lock, waiting=step.note):
            step.result(source.describe())
        else:
            step.skip("made by another run meanwhile")


def _check_disk(builds: int) -> None:
    """Checks the free disk space before the long build. Raises SandboxError."""
    free, needed = shutil.disk_usage(cache_dir()).free, builds * _DISK_PER_SET
    if free < needed:
        raise SandboxError(
            f"Too little disk space in {cache_dir()}.",
            why=f"{free / 1e9:.1f} GB are free; building {builds} sets of programs takes up to {needed / 1e9:.1f} GB",
            fix="free some, or set XDG_CACHE_HOME to a directory on a larger disk.",
        )


def _builders() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 2 if memory >= _MEMORY_FOR_TWO else 1


def _bin_dir(root: Path, programs: Mapping[str, Path]) -> Path:
    """A folder of links, one per program; its name is a key of its content, so it never changes under a reader.

    Without the plug-in: the engine takes one on PATH for the user's own, and prints that in every preview.
    """
    programs = {name: path for name, path in programs.items() if name != KUBERNETES_PLUGIN}
    target = root / "bin" / content_key(*(f"{name}={path}" for name, path in sorted(programs.items())))

    def link(into: Path) -> None:
        for name, path in programs.items():
            (into / name).symlink_to(path)

    publish(target, link, lock=cache_dir() / "locks" / "bin", waiting=lambda _: None)
    old_builds.mark_used(target)
    return target
