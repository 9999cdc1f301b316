"""The workflows that run a mesh's stacks: their steps, in the order of `needs`, on the real engine and API servers.

Not run: the hosts' approvals, environments and OIDC, `pip install`, and the AWS CLI. In its place a program writes the
kubeconfig of one cluster, for the role of that cluster alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack, without_nodes
from tests.support import workflow_steps
from tests.support.split import split_configs
from tests.support.stacks import PASSPHRASE, new_stack

TEMPLATES = CHECKOUT / "examples/run_stacks"
# Of a role, the part before the colon is the cluster.
CLUSTERS = {"mesh-keys": "", "root-key": "", "control-plane": "control-plane", "data-plane": "data-plane"}
AWS = """
[ "$1 $2 $3 $5 $7" = "eks update-kubeconfig --name --alias --kubeconfig" ] || exit 2
[ "$AWS_ROLE_ARN" = "$4-role" ] || { echo "not authorized to describe the cluster $4" >&2; exit 254; }
exec @KUBECTL@ --kubeconfig @ALL@ config view --raw --minify --flatten --context "$6" > "$8"
"""


@dataclass(frozen=True)
class Repository:
    """A checkout with one mesh's stacks, and the environment of a runner."""

    folder: Path
    environment: Mapping[str, str]
    stacks: dict[str, Stack]

    def variables(self, environment: str) -> dict[str, str]:
        """Those of an environment of the code host's."""
        cluster = CLUSTERS[environment]
        backend = self.stacks["trust"].project.environment["PULUMI_BACKEND_URL"]
        return {
            "BACKEND": backend,
            "ROLE": f"{cluster or environment}-role",
            "REGION": "eu-central-1",
            "CLUSTER": cluster,
            "CONTEXT": cluster,
            "HOST": "localhost" if environment == "data-plane" else "",
        }


@pytest.fixture
def repository(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> Iterator[Repository]:
    folder = tmp_path / "checkout"
    (folder / "stacks").mkdir(parents=True)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(CHECKOUT / name, folder / name)
    for source in (CHECKOUT / "stacks").glob("*.py"):
        shutil.copyfile(source, folder / "stacks" / source.name)
    (folder / "policies").symlink_to(CHECKOUT / "policies")

    project = Project.make(tmp_path / "project", engine_sandbox, tools, folder)
    mesh = without_nodes(engine_sandbox, tools)
    mesh["trust"] = {"root": {"protect": False}}
    for part in (mesh["controlPlane"], mesh["memberships"][0]):
        part["cluster"]["kubeconfig"] = "$KUBECONFIG"
    configs: dict[str, Any] = split_configs(mesh)
    charts = mesh["revisions"][0]["charts"]
    cluster = {"cluster": mesh["memberships"][0]["cluster"], "charts": charts, "keepOnDestroy": False}
    configs["cluster"] = {"cluster": cluster}
    stacks = {}
    for name, config in configs.items():
        salt = new_stack(tools["pulumi"], project.environment, project.directory, "hosted-mesh", name)
        keys = {f"hosted-mesh:{key}": value for key, value in {"stack": name, **config}.items()}
        file = folder / f"stacks/Pulumi.{name}.yaml"
        file.write_text(yaml.safe_dump({"config": keys, "encryptionsalt": salt}))
        stacks[name] = Stack(project, name, file)

    programs = tmp_path / "programs"
    aws = AWS.replace("@KUBECTL@", str(tools["kubectl"])).replace("@ALL@", str(engine_sandbox.kubeconfig))
    workflow_steps.stand_in(programs, "aws", aws)
    workflow_steps.stand_in(programs, "pip", 'echo "$@"')
    own = {key: value for key, value in project.environment.items() if key not in ("KUBECONFIG", "PULUMI_BACKEND_URL")}
    del own["PULUMI_CONFIG_PASSPHRASE"]
    environment = {**own, "PATH": f"{programs}:{own['PATH']}", "HOME": str(tmp_path)}
    yield Repository(folder, environment, stacks)
    for stack in reversed([stacks[name] for name in ("cluster", *split_configs(mesh))]):
        stack.destroy()


def github(repository: Repository) -> Iterator[tuple[str, CompletedProcess[str]]]:
    """Each stack's name with its steps that ran, in the order of the jobs' needs."""
    jobs = workflow_steps.read(TEMPLATES / "github/up.yaml")["jobs"]
    for name in TopologicalSorter({name: job.get("needs", ()) for name, job in jobs.items()}).static_order():
        assert jobs[name]["uses"] == "./.github/workflows/up-stack.yaml"
        assert jobs[name]["permissions"] == {"contents": "read", "id-token": "write"}
        yield from ((name, done) for done in github_steps(repository, **jobs[name]["with"]))


def github_steps(
    repository: Repository, stack: str, environment: str, **variables: str
) -> Iterator[CompletedProcess[str]]:
    (job,) = workflow_steps.read(TEMPLATES / "github/up-stack.yaml")["jobs"].values()
    assert job["environment"] == "${{ inputs.environment }}"
    found = {**repository.variables(environment), **variables}
    values = {
        "inputs.stack": stack,
        "inputs.environment": environment,
        "github.workspace": str(repository.folder),
        "secrets.PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        **{f"vars.{name}": value for name, value in found.items()},
    }
    own = {**repository.environment, **workflow_steps.evaluated(job["env"], values)}
    (repository.folder / ".kubeconfig").unlink(missing_ok=True)  # each job has a machine of its own
    for step in job["steps"]:
        if step.get("uses", "").startswith("aws-actions/configure-aws-credentials@"):
            own["AWS_ROLE_ARN"] = workflow_steps.evaluated(step["with"], values)["role-to-assume"]
        if "run" in step:
            done = workflow_steps.run(step, values, own, repository.folder)
            yield done
            if done.returncode:
                return


def gitlab(repository: Repository) -> Iterator[tuple[str, CompletedProcess[str]]]:
    jobs = workflow_steps.read(TEMPLATES / "gitlab-ci.yaml")
    template = jobs.pop(".up")
    for name in TopologicalSorter({name: job["needs"] for name, job in jobs.items()}).static_order():
        assert jobs[name]["extends"] == ".up"
        (repository.folder / ".kubeconfig").unlink(missing_ok=True)
        own = {
            **repository.environment,
            **repository.variables(jobs[name]["environment"]),
            **jobs[name]["variables"],
            "AWS_TOKEN": "token",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        }
        yield name, workflow_steps.run_script(template["script"], own, repository.folder)


def contexts(repository: Repository) -> list[str]:
    """Of the kubeconfig that a job has."""
    file = repository.folder / ".kubeconfig"
    return [one["name"] for one in yaml.safe_load(file.read_text())["contexts"]] if file.exists() else []


@pytest.mark.nightly
@pytest.mark.parametrize("host", [github, gitlab])
@pytest.mark.usefixtures("clean")
def test_each_stack_is_made_with_one_cluster_s_login(
    host: Any, repository: Repository, provider: Api, user: Api
) -> None:
    order: list[str] = []
    seen: dict[str, list[str]] = {}
    for name, done in host(repository):
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        order += [] if name in order else [name]
        seen[name] = contexts(repository)
    assert seen == {
        "trust": [],
        "root": [],
        "cluster": ["data-plane"],
        "access": ["data-plane"],
        "control-plane": ["control-plane"],
        "data-plane": ["data-plane"],
    }
    assert order.index("trust") < order.index("root") < order.index("control-plane") < order.index("data-plane")
    assert order.index("cluster") < order.index("access") < order.index("control-plane")
    provider.get("deployment", "istiod", "-n", "mesh-demo")
    user.get("mutatingwebhookconfiguration", "istio-sidecar-injector-mesh-demo")
    # A second run of a job changes nothing.
    *_, done = github_steps(repository, "data-plane", "data-plane")
    assert done.returncode == 0, done.stderr
    assert "unchanged" in done.stdout
    assert " updated" not in done.stdout


@pytest.mark.usefixtures("clean")
def test_another_environment_s_role_reaches_no_cluster(repository: Repository) -> None:
    """The login fails, and with it the job, before the engine runs."""
    *_, done = github_steps(repository, "control-plane", "control-plane", ROLE="data-plane-role")
    assert (done.returncode, done.stderr) == (254, "not authorized to describe the cluster control-plane\n")
    assert contexts(repository) == []


def test_a_name_that_is_not_there_ends_the_job() -> None:
    """The wait for istiod's name is bounded."""
    for script in (
        (TEMPLATES / "github/up-stack.yaml").read_text(),
        (TEMPLATES / "gitlab-ci.yaml").read_text(),
    ):
        assert "timeout 900 sh -c 'until getent hosts \"$HOST\"; do sleep 10; done'" in script
