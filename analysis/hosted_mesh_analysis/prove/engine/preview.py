"""One run by the real engine: a preview of a copy of the project, in a private stack and backend."""

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

from ...runner.capture import Capture, is_kept
from ...runner.commands import Commands, Run
from ...runner.private_folder import private_folder
from ...runner.program.monitor import RunOptions
from ...runner.project import MADE_UP_KUBECONFIG, Project, UnusableProjectError, missing_kubeconfigs, texts
from ...runner.secrets.credentials import environment, replaced, with_other_credentials
from ...runner.secrets.generator import SecretGenerator, SecretVariant
from ...runner.secrets.made_up import Answers
from . import planned, private, stack_files, stack_state
from .commands import engine, engine_variables, own_variables
from .passphrase_cipher import PassphraseCipher

_LED_ASIDE: Final = (
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "GOOGLE_APPLICATION_CREDENTIALS",
)
"""Places of this machine's logins for plug-ins: empty, unless one is kept."""


@dataclass(frozen=True)
class PreviewWorkspace:
    """The workspace of one preview at a time: a copy of the project, a backend and its files."""

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
    """Runs one project in any variant for `experiment`, in a private folder."""

    project: Project
    run_options: RunOptions
    generator: SecretGenerator
    cipher: PassphraseCipher
    workspaces: Sequence[PreviewWorkspace]
    files: Mapping[Path, str]
    kubeconfigs: Sequence[tuple[str, str]]
    keep: Collection[str] = ()
    pulumi: str = "pulumi"
    run_command: Run = field(default_factory=Commands)
    state: stack_state.StackState | None = None

    def __post_init__(self) -> None:
        self._free: queue.SimpleQueue[PreviewWorkspace] = queue.SimpleQueue()
        for workspace in self.workspaces:
            self._free.put(workspace)

    def __call__(self, worlds: Sequence[SecretVariant]) -> list[Capture]:
        with futures.ThreadPoolExecutor(len(self.workspaces)) as pool:
            try:
                return list(pool.map(self.run, worlds))
            except BaseException:
                if isinstance(self.run_command, Commands):
                    self.run_command.stop()
                raise

    def run(self, world: SecretVariant) -> Capture:
        """One preview in one variant. Failures are in the capture's problems."""
        workspace = self._free.get()
        try:
            return self._preview(workspace, Answers(self.generator, world))
        finally:
            self._free.put(workspace)

    def _preview(self, workspace: PreviewWorkspace, answers: Answers) -> Capture:
        for left in (workspace.plan, workspace.calls):
            left.unlink(missing_ok=True)
        variables, state = self._write(workspace, answers)
        command = [
            *(self.pulumi, "--non-interactive", "--color=never", "preview", "--json", "--show-secrets"),
            "--refresh=false",
            *(
                "--stack",
                self.run_options.stack,
                "--config-file",
                str(workspace.settings),
                "--save-plan",
                str(workspace.plan),
            ),
        ]
        done = self.run_command(command, workspace.project, variables)
        digest = _json(done.output[done.output.find("{") :])
        instead = {str(workspace.project): str(self.project.folder), str(workspace.root): "(private folder)"}
        if done.code != 0 or not workspace.plan.is_file():
            return Capture(problems=[self._said(planned.problem(digest, done.error), instead)])
        found = planned.captured(
            _json(workspace.plan.read_text(encoding="utf-8")),
            digest,
            _calls(workspace.calls),
            self.run_options.known,
            before=state.inputs if state else None,
            instead=instead,
            keep=self.keep,
        )
        found.remarks += self._kept(found.remarks)
        if not workspace.calls.is_file():
            found.unsure.append("this engine does not report the program's calls of provider functions")
        found.unsure += self.project.unread
        return found

    def _write(
        self, workspace: PreviewWorkspace, answers: Answers
    ) -> tuple[dict[str, str], stack_state.StackState | None]:
        """Writes a variant's secrets into the private folder. Returns the environment and the state before it."""
        redirected = _Redirected(workspace.root / "files", self.project.folder, answers, self.keep)
        settings = stack_files.Settings(self.project, answers, self.cipher, self.keep, redirected)
        workspace.settings.write_text(yaml.safe_dump(settings.document()), encoding="utf-8")
        others = {}
        for path, text in self.files.items():
            if str(path) not in self.keep:
                copy = workspace.project / path
                copy.unlink(missing_ok=True)  # it may be a link
                others[text] = with_other_credentials(text, f"file {path}", answers)
                copy.write_text(others[text], encoding="utf-8")
        for stack, outputs in self.run_options.stack_outputs.items():
            _write_stack(workspace, stack, stack_files.stack_with_outputs(stack, outputs, answers, self.cipher))
        variables = self._environment(workspace, answers)
        if self.state is None:
            return variables, None
        others |= {value: variables[name] for name, value in os.environ.items() if variables.get(name, value) != value}
        others |= settings.others()
        state = stack_state.with_other_secrets(self.state, answers, self.run_options.known, others)
        name = f"organization/{self.project.name}/{self.run_options.stack}"
        _write_stack(workspace, name, state.checkpoint(name, self.cipher))
        return variables, state

    def _environment(self, workspace: PreviewWorkspace, answers: Answers) -> dict[str, str]:
        """This process' environment with other credentials, and the private backend."""
        found = environment(engine_variables(os.environ), answers, self.keep)
        aside = {name: str(workspace.root / "none") for name in _LED_ASIDE}
        paths = []
        for at, (name, text) in enumerate(self.kubeconfigs):
            path = workspace.root / f"kubeconfig-{at}"
            path.write_text(replaced(text, f"file {name}", answers), encoding="utf-8")
            paths.append(str(path))
        aside |= {"KUBECONFIG": os.pathsep.join(paths), "AWS_EC2_METADATA_DISABLED": "true"}
        login = workspace.root / "login"
        login.mkdir(exist_ok=True)
        return {
            **found,
            **{name: value for name, value in aside.items() if name not in self.keep},
            **own_variables(workspace.backend, login, self.cipher.passphrase),
            "PULUMI_DEBUG_GRPC": str(workspace.calls),
        }

    def _kept(self, told: Collection[str]) -> Iterator[str]:
        """A remark on each kept name. `told`: remarks on functions and resources so far."""
        keys = {key for full in self.project.config for key in (full, full.removeprefix(f"{self.project.name}:"))}
        names = {*os.environ, *_LED_ASIDE, "KUBECONFIG", *keys, *map(str, self.files)}
        for name in self.keep:
            if name in names:
                yield f"{name} was kept unchanged: dependence on it stays unseen"
            elif not is_kept(name, told):
                yield f"--keep {name}: no variable, configuration key, file, function or resource has this name"

    def _said(self, text: str, instead: Mapping[str, str]) -> str:
        """The engine's messages, without made-up texts and without kept credentials."""
        for path, other in instead.items():
            text = text.replace(path, other)
        config = texts(self.project.config)
        short = {key.removeprefix(f"{self.project.name}:"): value for key, value in config.items()}
        given = {**short, **config, **os.environ}
        kept = {given[name] for name in self.keep if len(given.get(name, "")) >= 6}
        hidden = any(one in text for one in self.generator.texts() | kept | {self.cipher.passphrase})
        return "the preview fails: (its message contains a secret)" if hidden else text


class _Redirected:
    """A private copy for each file of credentials that the configuration names by its path."""

    def __init__(self, folder: Path, project: Path, answers: Answers, keep: Collection[str]) -> None:
        self._folder, self._project, self._answers, self._keep = folder, project, answers, keep

    def __call__(self, text: str) -> str:
        if "\n" in text or text in self._keep or any(f"${name}" in text.replace("{", "") for name in self._keep):
            return text
        try:
            path = (self._project / Path(os.path.expandvars(text)).expanduser()).resolve()
        except (OSError, ValueError, RuntimeError):  # no path, or of an unknown user
            return text
        # The copy of the project already has others.
        found = None if path.is_relative_to(self._project) else private.credential(path)
        if found is None:
            return text
        self._folder.mkdir(exist_ok=True)
        copy = self._folder / str(path).strip("/").replace("/", "-")
        copy.write_text(with_other_credentials(found, f"file {path.name}", self._answers), encoding="utf-8")
        return str(copy)


def _write_stack(workspace: PreviewWorkspace, name: str, checkpoint: Mapping[str, Any]) -> None:
    """A stack of a workspace's backend. name: organization/project/stack."""
    path = workspace.backend / ".pulumi" / "stacks" / f"{'/'.join(name.split('/')[-2:])}.json"
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


def exported(project: Project, stack: str) -> tuple[str, dict[str, Any]]:
    """The output of `pulumi stack export` and `pulumi config` with secrets, by this user's login and passphrase.

    It stays in this process, away from all runs. Raises: UnusableProjectError.
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


@contextlib.contextmanager
def ready(
    project: Project,
    run_options: RunOptions,
    generator: SecretGenerator,
    keep: Collection[str],
    state: stack_state.StackState | None = None,
) -> Iterator[Previews]:
    """A project ready for previews, in a private folder until the end. Raises: UnusableProjectError.

    state: the last update's result; without it each run starts from an empty stack.
    """
    pulumi = engine()
    stack_files.check_kept(project, keep)
    with private_folder("prove", "made-up secrets") as root:
        commands = Commands()
        try:
            found = _previews(root, project, run_options, generator, keep, pulumi, commands)
            found.state = state
            yield found
        finally:
            commands.stop()


def _previews(
    root: Path,
    project: Project,
    run_options: RunOptions,
    generator: SecretGenerator,
    keep: Collection[str],
    pulumi: str,
    run_command: Run,
) -> Previews:
    first = root / "workspace-0"
    first.mkdir()
    cipher = _stack(PreviewWorkspace(first, first), project, run_options.stack, pulumi, run_command)
    copy = private.copied(project.folder, first / "project")
    for settings in (project.stacks / f"Pulumi.{run_options.stack}.yaml", project.given.absolute()):
        if settings.is_relative_to(project.folder):
            (copy / settings.relative_to(project.folder)).unlink(missing_ok=True)
    workspaces = [PreviewWorkspace(first, copy)]
    for number in range(1, min(2, os.cpu_count() or 1)):
        other = root / f"workspace-{number}"
        shutil.copytree(first, other, symlinks=True)
        workspaces.append(PreviewWorkspace(other, other / copy.relative_to(first)))
    files = private.credentials_in(copy)
    return Previews(
        project, run_options, generator, cipher, workspaces, files, _kubeconfigs(project), keep, pulumi, run_command
    )


def _stack(
    workspace: PreviewWorkspace, project: Project, stack: str, pulumi: str, run_command: Run
) -> PassphraseCipher:
    """Makes an empty stack in a workspace's backend; returns its cipher. Raises: UnusableProjectError."""
    passphrase = secrets.token_urlsafe(32)
    login, empty = workspace.root / "login", workspace.root / "empty"
    for folder in (workspace.backend, login, empty):
        folder.mkdir()
    described = {"name": project.name, "runtime": project.described.get("runtime") or "python"}
    (empty / "Pulumi.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    command = [pulumi, "--non-interactive", "--color=never", "stack", "init", stack, "--no-select"]
    variables = engine_variables(os.environ) | own_variables(workspace.backend, login, passphrase)
    done = run_command(command, empty, variables)
    try:
        salt = yaml.safe_load((empty / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["encryptionsalt"]
    except (OSError, yaml.YAMLError, TypeError, KeyError):
        why = planned.reasons({}, done.error).replace(str(workspace.root), "(private folder)")
        raise UnusableProjectError(f"pulumi: cannot make a private stack: {why}") from None
    return PassphraseCipher(passphrase, salt)


def _kubeconfigs(project: Project) -> list[tuple[str, str]]:
    """The files of $KUBECONFIG, or ~/.kube/config: names and texts. For a missing one, a kubeconfig without a
    destination, with the contexts of the project's documents."""
    given = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(one).expanduser() for one in given.split(os.pathsep) if one]
    found = [(path.name, path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    if found:
        return found
    made = missing_kubeconfigs(project.documents(), {"KUBECONFIG": MADE_UP_KUBECONFIG})
    return [("kubeconfig", made[MADE_UP_KUBECONFIG])]
