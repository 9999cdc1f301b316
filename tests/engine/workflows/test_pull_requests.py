"""The workflows for pull requests: their steps as they are in the files, with the real `gh`, and hosts on this machine.

Not run: the hosts' own evaluation of events, conditions, permissions and artifacts, and `pip install`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import FOR_WORKFLOWS
from tests.support import workflow_steps
from tests.support.code_hosts import CodeHost, github, gitlab

ACTIONS, WORKFLOWS = CHECKOUT / ".github/actions", CHECKOUT / ".github/workflows"
TEMPLATES = CHECKOUT / "examples/pull_requests"
EVENT = {
    "github.token": "t0ken",
    "github.repository": "owner/repository",
    "github.event.workflow_run.id": "99",
    "github.event.workflow_run.head_repository.owner.login": "somebody",
    "github.event.workflow_run.head_branch": "change",
}


def actions(name: str) -> list[workflow_steps.Step]:
    found: list[workflow_steps.Step] = workflow_steps.read(ACTIONS / name / "action.yml")["runs"]["steps"]
    return found


def inputs(name: str, **given: str) -> dict[str, str]:
    """The values of an action's inputs, with its defaults."""
    declared = workflow_steps.read(ACTIONS / name / "action.yml")["inputs"]
    return {f"inputs.{key}": given.get(key, field["default"]) for key, field in declared.items()}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH: pip, which only writes down its arguments."""
    folder = tmp_path_factory.mktemp("programs")
    workflow_steps.stand_in(folder, "pip", 'echo "$@" >> "$PIP_CALLS"')
    return folder


@pytest.fixture(scope="module")
def gh(programs: Path, progress: Progress) -> None:
    """GitHub's own, beside pip. It takes two minutes to build."""
    (programs / "gh").symlink_to(toolchain.ensure(FOR_WORKFLOWS, progress=progress)["gh"])


@pytest.fixture
def environment(programs: Path, tmp_path: Path) -> dict[str, str]:
    """A runner's: without the tokens, proxies and settings of this machine."""
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PIP_CALLS": str(tmp_path / "pip"), "GH_CONFIG_DIR": str(tmp_path / "gh"), "HOME": str(tmp_path)}
    return {"PATH": path, "LANG": "C.UTF-8", **own}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of a pull request: its commit has the base as first parent."""
    folder = tmp_path_factory.mktemp("repository")
    shutil.copytree(CHECKOUT / "examples/two_clusters", folder / "examples/two_clusters")

    def git(*words: str) -> str:
        names = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
        return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    for ranges in ("203.0.113.0/24", "203.0.113.0/24, 198.51.100.0/24"):
        document = folder / "examples/two_clusters/mesh.yaml"
        document.write_text(document.read_text().replace("[203.0.113.0/24]", f"[{ranges}]"))
        git("add", ".")
        git("commit", "--quiet", "--allow-empty", "--message", ranges)
    return folder


@pytest.fixture(scope="module")
def commit(repository: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def host(commit: str) -> CodeHost:
    return CodeHost(commit, token="t0ken")


def compare(environment: dict[str, str], repository: Path) -> bytes:
    """The steps of the repository's own `preview.yml` that run the pull request's code; the file that it uploads."""
    (job,) = workflow_steps.read(WORKFLOWS / "preview.yml")["jobs"].values()
    (use,) = [step for step in job["steps"] if step["uses"] == "./.github/actions/diff"]
    values = {"github.action_path": str(ACTIONS / "diff"), **inputs("diff", **use["with"])}
    install, diff = [step for step in actions("diff") if "run" in step]
    for step in (install, diff):
        done = workflow_steps.run(step, values, environment, repository)
        assert done.returncode == 0, done.stderr
    wanted = [word for line in Path(environment["PIP_CALLS"]).read_text().splitlines() for word in line.split()[1:]]
    assert [Path(word).resolve() for word in wanted] == [
        CHECKOUT / name for name in ("components", "plan", "policies", "analysis")
    ]
    assert all((Path(word) / "pyproject.toml").is_file() for word in wanted)
    upload = actions("diff")[-1]
    path: str = workflow_steps.evaluated(upload["with"], values)["path"]
    return (repository / path).read_bytes()


def commented(
    environment: dict[str, str], host: CodeHost, folder: Path, event_of: str = ""
) -> Iterator[subprocess.CompletedProcess[str]]:
    """The comment's step for the host's file, each time in a new folder, as a new run has one.

    event_of: the commit of the event, by default the pull request's newest.
    """
    values = {
        **EVENT,
        **inputs("comment"),
        "github.action_path": str(ACTIONS / "comment"),
        "github.event.workflow_run.head_sha": event_of or host.commit,
    }
    _, post = [step for step in actions("comment") if "run" in step]
    with github(host, folder) as own:
        number = 0
        while True:
            (run := folder / f"run-{number}").mkdir()
            yield workflow_steps.run(post, values, {**environment, **own}, run)
            number += 1


@pytest.mark.nightly("gh")
@pytest.mark.usefixtures("gh")
def test_a_pull_request_gets_one_comment_that_is_changed_later(
    environment: dict[str, str], repository: Path, host: CodeHost, tmp_path: Path
) -> None:
    host.file = compare(environment, repository)
    runs = commented(environment, host, tmp_path)
    done = next(runs)
    assert (done.returncode, done.stderr) == (0, "")
    assert host.calls == ["POST /issues/7/comments"]
    (comment,) = host.comments.values()
    assert comment.startswith("<!-- hosted-mesh diff -->\n")
    assert f", at {host.commit[:10]}" in comment.splitlines()[1]
    assert 'spec.loadBalancerSourceRanges[1]: "198.51.100.0/24" (added)' in comment

    # A later push of the same pull request changes it, also when nothing differs any more.
    same = json.loads(host.file)
    same["stacks"][0] |= {"state": "unchanged", "changes": [], "outputs": [], "configuration": []}
    host.file = json.dumps(same).encode()
    done = next(runs)
    assert (done.returncode, done.stderr) == (0, "")
    assert host.calls[1:] == ["PATCH /issues/comments/1"]
    assert "198.51.100.0/24" not in host.comments[1]


@pytest.mark.nightly("gh")
@pytest.mark.usefixtures("gh")
def test_a_hostile_file_is_not_posted(environment: dict[str, str], host: CodeHost, tmp_path: Path) -> None:
    host.file = b'{"version": 1, "base": "@everyone"}'
    done = next(commented(environment, host, tmp_path))
    assert done.returncode != 0
    assert "the file.stacks: is missing" in done.stderr
    assert host.calls == []


@pytest.mark.nightly("gh")
@pytest.mark.usefixtures("gh")
def test_a_commit_that_is_no_longer_the_head_is_not_posted(
    environment: dict[str, str], host: CodeHost, tmp_path: Path
) -> None:
    host.file = b"{}"
    runs = commented(environment, host, tmp_path, event_of="f" * 40)
    done = next(runs)
    assert (done.returncode, done.stdout) == (0, "no open pull request has this commit now\n")
    assert host.calls == []


def test_the_template_has_the_action_s_script() -> None:
    """The template, for a project with this checkout, and the action differ in the artifact's name alone."""
    (job,) = workflow_steps.read(TEMPLATES / "github/preview-comment.yaml")["jobs"].values()
    template, action = job["steps"][-1], actions("comment")[-1]
    assert action["run"] == template["run"].replace("--name hosted-mesh-diff", '--name "$ARTIFACT"')
    assert action["env"] == {"ARTIFACT": "${{ inputs.artifact }}", **template["env"]}


@pytest.mark.parametrize("name", ["preview", "preview-comment"])
def test_the_repository_s_own_workflows_have_the_templates_rights(name: str) -> None:
    own, template = (
        workflow_steps.read(path) for path in (WORKFLOWS / f"{name}.yml", TEMPLATES / f"github/{name}.yaml")
    )
    for key in (True, "permissions"):  # YAML reads `on` as true
        assert own[key] == template[key]
    (own_job,), (job,) = own["jobs"].values(), template["jobs"].values()
    assert [own_job.get(key) for key in ("if", "permissions", "concurrency", "timeout-minutes")] == [
        job.get(key) for key in ("if", "permissions", "concurrency", "timeout-minutes")
    ]
    assert own_job["steps"][0]["with"] == job["steps"][0]["with"]
    assert "secrets." not in (WORKFLOWS / f"{name}.yml").read_text()


@pytest.mark.nightly("gitlab")
def test_gitlab_s_jobs(environment: dict[str, str], repository: Path, host: CodeHost, tmp_path: Path) -> None:
    """The merge request's job makes the files; the scheduled one posts one comment, and changes it later."""
    (job,) = workflow_steps.read(TEMPLATES / "gitlab-ci.yaml").values()
    base = subprocess.run(["git", "rev-parse", "HEAD^"], cwd=repository, check=True, capture_output=True, text=True)
    program = repository / "examples/two_clusters"
    own = {**environment, "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.stdout.strip()}
    done = workflow_steps.run_script(job["script"], own, program)
    assert done.returncode == 0, done.stderr
    assert "(added)" in (program / "diff.md").read_text()
    assert {*job["artifacts"]["paths"]} == {"diff.md", "diff.json"}

    host.file = (program / "diff.json").read_bytes()
    (job,) = workflow_steps.read(TEMPLATES / "gitlab-comment-ci.yaml").values()
    with gitlab(host) as variables:
        for _ in range(2):  # a second run finds its own comment, and changes nothing
            own = {**environment, **variables, "GITLAB_TOKEN": host.token}
            done = workflow_steps.run_script(job["script"], own, CHECKOUT)
            assert (done.returncode, done.stderr) == (0, "")
            assert host.calls == ["POST /projects/1/merge_requests/7/notes"]
        assert f", at {host.commit[:10]}" in host.comments[1].splitlines()[1]
        host.file = b'{"version": 1, "base": "@everyone"}'
        done = workflow_steps.run_script(job["script"], own, CHECKOUT)
        assert done.returncode != 0
        assert "!7: the file is malformed" in done.stderr
        assert len(host.calls) == 1
