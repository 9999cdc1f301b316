"""One run by the real engine: a preview of a copy of the project, in a stack and a backend of its own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from ..capture import Capture, is_kept
from ..commands import Commands, Run
from ..private_folder import private_folder
from ..program.monitor import Surroundings
from ..project import MADE_UP_KUBECONFIG, Project, UnusableProjectError, missing_kubeconfigs, texts
from ..secrets.credentials import environment, replaced, with_other_credentials
from ..secrets.made_up import Answers
from ..secrets.vault import Vault, World
from . import planned, private, stack_files, stack_state
from .commands import engine, engine_variables, own_variables
from .sealed import Seal

_LED_ASIDE: Final = (
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
)
"""Where plug-ins look for a login of this machine: there is none, unless one of these is kept."""


@dataclass(frozen=True)
class Seat:
    """Where one preview at a time runs: a folder with a copy of the project, a backend and what is written for it."""

    root: Path
    project: Path

    @property
    def backend(self) -> Path:
        return self.root / "backend"

    @property
    def settings(self) -> Path:
        return self.root / "settings.yaml"

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def calls(self) -> Path:
        return self.root / "calls.json"


@dataclass
class Previews:
    """Runs one project in any world, as `experiment` asks. Everything it needs is in a private folder."""

    project: Project
    surroundings: Surroundings
    vault: Vault
    seal: Seal
    seats: Sequence[Seat]
    files: Mapping[Path, str]
    kubeconfigs: Sequence[tuple[str, str]]
    keep: Collection[str] = ()
    pulumi: str = "pulumi"
    run_command: Run = field(default_factory=Commands)
    state: stack_state.State | None = None

    def __post_init__(self) -> None:
        self._free: queue.SimpleQueue[Seat] = queue.SimpleQueue()
        for seat in self.seats:
            self._free.put(seat)

    def __call__(self, worlds: Sequence[World]) -> list[Capture]:
        with futures.ThreadPoolExecutor(len(self.seats)) as pool:
            try:
                return list(pool.map(self.run, worlds))
            except BaseException:
                if isinstance(self.run_command, Commands):
                    self.run_command.stop()
                raise

    def run(self, world: World) -> Capture:
        """One preview in one world. What goes wrong is in the capture's problems."""
        seat = self._free.get()
        try:
            return self._preview(seat, Answers(self.vault, world))
        finally:
            self._free.put(seat)

    def _preview(self, seat: Seat, answers: Answers) -> Capture:
        for left in (seat.plan, seat.calls):
            left.unlink(missing_ok=True)
        variables, state = self._write(seat, answers)
        command = [
            *(self.pulumi, "--non-interactive", "--color=never", "preview", "--json", "--show-secrets"),
            "--refresh=false",
            *("--stack", self.surroundings.stack, "--config-file", str(seat.settings), "--save-plan", str(seat.plan)),
        ]
        done = self.run_command(command, seat.project, variables)
        digest = _json(done.output[done.output.find("{") :])
        instead = {str(seat.project): str(self.project.folder), str(seat.root): "(private folder)"}
        if done.code != 0 or not seat.plan.is_file():
            return Capture(problems=[self._said(planned.problem(digest, done.error), instead)])
        found = planned.captured(
            _json(seat.plan.read_text(encoding="utf-8")),
            digest,
            _calls(seat.calls),
            self.surroundings.known,
            before=state.inputs if state else None,
            instead=instead,
            keep=self.keep,
        )
        found.remarks += self._kept(found.remarks)
        if not seat.calls.is_file():
            found.unsure.append("this engine does not tell which functions of providers the program calls")
        found.unsure += self.project.unread
        return found

    # What a run is given --------------------------------------------------------------------------------------------

    def _write(self, seat: Seat, answers: Answers) -> tuple[dict[str, str], stack_state.State | None]:
        """Writes a world's secrets into the private folder. Returns the environment and the state before it."""
        redirected = _Redirected(seat.root / "files", self.project.folder, answers, self.keep)
        settings = stack_files.Settings(self.project, answers, self.seal, self.keep, redirected)
        seat.settings.write_text(yaml.safe_dump(settings.document()), encoding="utf-8")
        others = {}
        for path, text in self.files.items():
            if str(path) not in self.keep:
                copy = seat.project / path
                copy.unlink(missing_ok=True)  # it may be a link
                others[text] = with_other_credentials(text, f"file {path}", answers)
                copy.write_text(others[text], encoding="utf-8")
        for stack, outputs in self.surroundings.stack_outputs.items():
            _write_stack(seat, stack, stack_files.stack_with_outputs(stack, outputs, answers, self.seal))
        variables = self._environment(seat, answers)
        if self.state is None:
            return variables, None
        others |= {value: variables[name] for name, value in os.environ.items() if variables.get(name, value) != value}
        others |= settings.others()
        state = stack_state.with_other_secrets(self.state, answers, self.surroundings.known, others)
        name = f"organization/{self.project.name}/{self.surroundings.stack}"
        _write_stack(seat, name, state.checkpoint(name, self.seal))
        return variables, state

    def _environment(self, seat: Seat, answers: Answers) -> dict[str, str]:
        """This process' environment with other credentials, led to the private backend."""
        found = environment(engine_variables(os.environ), answers, self.keep)
        aside = {name: str(seat.root / "none") for name in _LED_ASIDE}
        paths = []
        for at, (name, text) in enumerate(self.kubeconfigs):
            path = seat.root / f"kubeconfig-{at}"
            path.write_text(replaced(text, f"file {name}", answers), encoding="utf-8")
            paths.append(str(path))
        aside |= {"KUBECONFIG": os.pathsep.join(paths), "AWS_EC2_METADATA_DISABLED": "true"}
        login = seat.root / "login"
        login.mkdir(exist_ok=True)
        return {
            **found,
            **{name: value for name, value in aside.items() if name not in self.keep},
            **own_variables(seat.backend, login, self.seal.passphrase),
            "PULUMI_DEBUG_GRPC": str(seat.calls),
        }

    def _kept(self, told: Collection[str]) -> Iterator[str]:
        """Of each name that stays: what that means. told: what was said already of functions and resources."""
        keys = {key for full in self.project.config for key in (full, full.removeprefix(f"{self.project.name}:"))}
        names = {*os.environ, *_LED_ASIDE, "KUBECONFIG", *keys, *map(str, self.files)}
        for name in self.keep:
            if name in names:
                yield f"{name} was kept as it is: what depends on it is not seen"
            elif not is_kept(name, told):
                yield f"--keep {name}: no variable, configuration key, file, function or resource is called so"

    def _said(self, text: str, instead: Mapping[str, str]) -> str:
        """What the engine says, without any text that was made up for it and without any credential that was kept."""
        for path, other in instead.items():
            text = text.replace(path, other)
        config = texts(self.project.config)
        short = {key.removeprefix(f"{self.project.name}:"): value for key, value in config.items()}
        given = {**short, **config, **os.environ}
        kept = {given[name] for name in self.keep if len(given.get(name, "")) >= 6}
        hidden = any(one in text for one in self.vault.texts() | kept | {self.seal.passphrase})
        return "the preview fails: (what it says holds a secret)" if hidden else text


class _Redirected:
    """A private copy for each file of credentials that the configuration names by its path."""

    def __init__(self, folder: Path, project: Path, answers: Answers, keep: Collection[str]) -> None:
        self._folder, self._project, self._answers, self._keep = folder, project, answers, keep

    def __call__(self, text: str) -> str:
        if "\n" in text or text in self._keep or any(f"${name}" in text.replace("{", "") for name in self._keep):
            return text
        try:
            path = (self._project / Path(os.path.expandvars(text)).expanduser()).resolve()
        except (OSError, ValueError, RuntimeError):  # no path, or of a user that there is not
            return text
        # The copy of the project has the others already.
        found = None if path.is_relative_to(self._project) else private.credential(path)
        if found is None:
            return text
        self._folder.mkdir(exist_ok=True)
        copy = self._folder / str(path).strip("/").replace("/", "-")
        copy.write_text(with_other_credentials(found, f"file {path.name}", self._answers), encoding="utf-8")
        return str(copy)


def _write_stack(seat: Seat, name: str, checkpoint: Mapping[str, Any]) -> None:
    """A stack of a seat's backend. name: organization/project/stack."""
    path = seat.backend / ".pulumi" / "stacks" / f"{'/'.join(name.split('/')[-2:])}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(checkpoint), encoding="utf-8")


def _json(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _calls(log: Path) -> set[str]:
    if not log.is_file():
        return set()
    with log.open(encoding="utf-8", errors="replace") as lines:
        return planned.calls_of(lines)


# The stack as it is ---------------------------------------------------------------------------------------------------


def exported(project: Project, stack: str) -> tuple[str, dict[str, Any]]:
    """What `pulumi stack export` and `pulumi config` print with secrets, by this user's login and passphrase.

    It stays in this process: no run gets it. Raises: UnusableProjectError.
    """

    def printed(*words: str) -> str:
        command = [engine(), "--non-interactive", "--color=never", *words, "--stack", stack, "--show-secrets"]
        done = Commands()(command, project.folder, os.environ)
        if done.code != 0:
            why = planned.reasons({}, done.error)
            raise UnusableProjectError(f"pulumi {words[0]}: {why}. Name a stack that you can log in to with --stack")
        return done.output

    own = ("--config-file", str(project.given.absolute())) if project.given.is_file() else ()
    values = _json(printed("config", "--json", *own))
    config = {key: one.get("objectValue", one.get("value")) for key, one in values.items() if one.get("secret")}
    return printed("stack", "export"), config


# Made ready ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def ready(
    project: Project,
    surroundings: Surroundings,
    vault: Vault,
    keep: Collection[str],
    state: stack_state.State | None = None,
) -> Iterator[Previews]:
    """A project that can be previewed; its private folder is gone at the end. Raises: UnusableProjectError.

    state: what the last update left; without it each run starts from an empty stack.
    """
    pulumi = engine()
    stack_files.check_kept(project, keep)
    with private_folder("prove", "made-up secrets") as root:
        commands = Commands()
        try:
            found = _previews(root, project, surroundings, vault, keep, pulumi, commands)
            found.state = state
            yield found
        finally:
            commands.stop()


def _previews(
    root: Path,
    project: Project,
    surroundings: Surroundings,
    vault: Vault,
    keep: Collection[str],
    pulumi: str,
    run_command: Run,
) -> Previews:
    first = root / "seat-0"
    first.mkdir()
    seal = _stack(Seat(first, first), project, surroundings.stack, pulumi, run_command)
    copy = private.copied(project.folder, first / "project")
    for settings in (project.stacks / f"Pulumi.{surroundings.stack}.yaml", project.given.absolute()):
        if settings.is_relative_to(project.folder):
            (copy / settings.relative_to(project.folder)).unlink(missing_ok=True)
    seats = [Seat(first, copy)]
    for number in range(1, min(2, os.cpu_count() or 1)):
        other = root / f"seat-{number}"
        shutil.copytree(first, other, symlinks=True)
        seats.append(Seat(other, other / copy.relative_to(first)))
    files = private.credentials_in(copy)
    return Previews(project, surroundings, vault, seal, seats, files, _kubeconfigs(project), keep, pulumi, run_command)


def _stack(seat: Seat, project: Project, stack: str, pulumi: str, run_command: Run) -> Seal:
    """Makes an empty stack in a seat's backend; returns what encrypts for it. Raises: UnusableProjectError."""
    passphrase = secrets.token_urlsafe(32)
    login, empty = seat.root / "login", seat.root / "empty"
    for folder in (seat.backend, login, empty):
        folder.mkdir()
    described = {"name": project.name, "runtime": project.described.get("runtime") or "python"}
    (empty / "Pulumi.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    command = [pulumi, "--non-interactive", "--color=never", "stack", "init", stack, "--no-select"]
    variables = engine_variables(os.environ) | own_variables(seat.backend, login, passphrase)
    done = run_command(command, empty, variables)
    try:
        salt = yaml.safe_load((empty / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["encryptionsalt"]
    except (OSError, yaml.YAMLError, TypeError, KeyError):
        why = planned.reasons({}, done.error).replace(str(seat.root), "(private folder)")
        raise UnusableProjectError(f"pulumi: cannot make a stack of its own: {why}") from None
    return Seal(passphrase, salt)


def _kubeconfigs(project: Project) -> list[tuple[str, str]]:
    """What $KUBECONFIG leads to, or ~/.kube/config: names and texts. Where there is none, one that leads nowhere, with
    the contexts that the project's documents name."""
    given = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(one).expanduser() for one in given.split(os.pathsep) if one]
    found = [(path.name, path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    if found:
        return found
    made = missing_kubeconfigs(project.documents(), {"KUBECONFIG": MADE_UP_KUBECONFIG})
    return [("kubeconfig", made[MADE_UP_KUBECONFIG])]
