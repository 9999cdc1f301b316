"""The real engine with stacks of a test's own, and the whole content of an API server, for comparing."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Cluster, Sandbox
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.toolchain import Tools
from tests.support.environment import quick_cli
from tests.support.kubectl import Kubectl
from tests.support.stacks import PASSPHRASE, new_stack

EXAMPLE = CHECKOUT / "examples/two_clusters"
# Written by the cluster itself, now and then.
VOLATILE = ("events", "leases", "componentstatuses", "nodes", "pods", "replicasets", "endpoints", "endpointslices")
_STORED_VOLATILE = re.compile(rf"^/registry/([^/]+/)?({'|'.join((*VOLATILE, 'minions', 'masterleases'))})/")


@dataclass(frozen=True)
class Run:
    """One command: exit code, everything that it printed, and its standard output alone."""

    code: int
    text: str
    output: str

    def summary(self) -> dict[str, int]:
        """Numbers from the lines under "Resources:", `{"created": 57}` or `{"unchanged": 57}`."""
        lines = self.text.partition("\nResources:\n")[2].partition("\n\n")[0].splitlines()
        words = [line.replace("to ", "").split() for line in lines if line.strip()]
        return {line[-1]: int(line[-2]) for line in words}


@dataclass(frozen=True)
class Project:
    """A Pulumi project with a file backend of its own. program: the directory with Pulumi.yaml and __main__.py."""

    directory: Path
    environment: Mapping[str, str]
    tools: Tools
    program: Path = CHECKOUT
    limit: float = 600
    """Seconds of one command."""

    @classmethod
    def make(
        cls, directory: Path, sandbox: Sandbox, tools: Tools, program: Path = CHECKOUT, limit: float = 600
    ) -> Project:
        directory.mkdir(parents=True, exist_ok=True)
        settings = {
            "KUBECONFIG": str(sandbox.kubeconfig),
            "PULUMI_BACKEND_URL": f"file://{directory}",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        }
        environment = quick_cli(tools, settings).environment
        name = yaml.safe_load((program / "Pulumi.yaml").read_text())["name"]
        (directory / "Pulumi.yaml").write_text(f"name: {name}\nruntime: python\n")
        return cls(directory, environment, tools, program, limit)

    def stack(self, name: str, config: Mapping[str, Any]) -> Stack:
        """A stack with this configuration, `{"stack": "all-in-one", "mesh": {...}}`; made if it is not there."""
        salted = self.directory / f"Pulumi.{name}.yaml"
        if not salted.exists():
            project = yaml.safe_load((self.directory / "Pulumi.yaml").read_text())["name"]
            made = new_stack(self.tools["pulumi"], self.environment, self.directory, project, name)
            salted.write_text(yaml.safe_dump({"encryptionsalt": made}))
        salt = yaml.safe_load(salted.read_text())["encryptionsalt"]
        file = self.directory / f"{name}.config.yaml"
        keys = {f"hosted-mesh:{key}": value for key, value in config.items()}
        file.write_text(yaml.safe_dump({"config": keys, "encryptionsalt": salt}))
        return Stack(self, name, file)

    def as_written(self, block: str, api: Api | None = None) -> str:
        """Runs a block of a page in a shell; what it prints. api: the cluster that it is run at, by default all."""
        own = {"KUBECONFIG": str(api.cluster.kubeconfig)} if api else {}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.directory,
            env={**self.environment, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self.limit,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _call(self, arguments: list[str], cwd: Path) -> Run:
        done = PulumiCli(self.tools["pulumi"], self.environment).run(*arguments, cwd=cwd, limit=self.limit)
        return Run(done.returncode, done.stdout + done.stderr, done.stdout)


@dataclass(frozen=True)
class Stack:
    """One stack of a project."""

    project: Project
    name: str
    file: Path

    def run(self, *arguments: str) -> Run:
        """Any command that takes a configuration: preview, up, destroy."""
        return self.project._call(
            [*arguments, "--stack", self.name, "--config-file", str(self.file)], self.project.program
        )

    def succeed(self, *arguments: str) -> Run:
        done = self.run(*arguments)
        assert done.code == 0, done.text
        return done

    def up(self) -> Run:
        return self.succeed("up", "--yes", "--skip-preview")

    def destroy(self) -> Run:
        return self.succeed("destroy", "--yes", "--skip-preview", *self.program_options())

    def program_options(self) -> list[str]:
        """Of `destroy`: hooks of deletions are run by the program."""
        states = (self.project.directory / ".pulumi" / "stacks").rglob(f"{self.name}.json")
        return ["--run-program"] if any(b"BeforeDelete" in file.read_bytes() for file in states) else []

    def preview(self) -> list[dict[str, Any]]:
        """The steps of a preview."""
        steps: list[dict[str, Any]] = json.loads(self.succeed("preview", "--json").output)["steps"]
        return steps

    def resources(self) -> list[dict[str, Any]]:
        """What the engine keeps of each resource, secrets encrypted."""
        found: list[dict[str, Any]] = self._told("export")["deployment"].get("resources", [])
        return found

    def outputs(self) -> dict[str, Any]:
        return self._told("output", "--json", "--show-secrets")

    def export(self) -> dict[str, Any]:
        """The engine's whole state, its secrets in plain text."""
        return self._told("export", "--show-secrets")

    def _told(self, *words: str) -> dict[str, Any]:
        """What `pulumi stack` says."""
        found: dict[str, Any] = json.loads(self.manage("stack", *words).output)
        return found

    def manage(self, *words: str) -> Run:
        """A command about the stack or its state that takes no configuration."""
        done = self.project._call([*words, "--stack", self.name], self.project.directory)
        assert done.code == 0, done.text
        return done

    def begin(self) -> None:
        """The stack is there again, and empty."""
        self.manage("stack", "init", "--no-select")

    def back_up(self, *options: str) -> Path:
        file = self.project.directory / f"{self.name}.backup.json"
        self.manage("stack", "export", "--file", str(file), *options)
        return file

    def restore(self, file: Path) -> None:
        self.manage("stack", "import", "--file", str(file))

    def secrets(self) -> list[dict[str, Any]]:
        """What the engine keeps of each resource, in plain text: inputs and outputs together."""
        return [
            {**one.get("inputs", {}), **(one.get("outputs") or {})} for one in self.export()["deployment"]["resources"]
        ]

    def state(self) -> bytes:
        """The bytes of the stack's state as they lie in the backend."""
        files = (self.project.directory / ".pulumi").rglob(f"{self.name}*.json*")
        return b"\n".join(file.read_bytes() for file in files)


@dataclass(frozen=True)
class Api:
    """An API server as its administrator sees it."""

    cluster: Cluster
    tools: Tools

    def kubectl(self, *arguments: str, kubeconfig: Path | None = None) -> Run:
        done = Kubectl(self.tools["kubectl"], kubeconfig or self.cluster.kubeconfig).run(*arguments)
        return Run(done.returncode, done.stdout + done.stderr, done.stdout)

    @contextmanager
    def with_istio(self, tools: Tools, *namespaces: str) -> Iterator[None]:
        """Istio's definitions and these namespaces, for as long as the block runs."""
        definitions = str(tools.charts / "base/files/crd-all.gen.yaml")
        assert self.kubectl("create", "-f", definitions).code == 0
        try:
            assert self.kubectl("wait", "--for=condition=Established", "-f", definitions, "--timeout=60s").code == 0
            for name in namespaces:
                assert self.kubectl("create", "namespace", name).code == 0
            yield
        finally:
            self.kubectl("delete", "namespace", *namespaces)
            self.kubectl("delete", "-f", definitions)

    @contextmanager
    def with_sidecar(self, name: str, namespace: str, revision: str) -> Iterator[None]:
        """A Pod as injection of this revision labels it, in a namespace of its own, for as long as the block runs."""
        self.kubectl("create", "namespace", namespace)
        overrides = json.dumps({"metadata": {"annotations": {"istio.io/rev": revision}}})
        labels = f"--labels=service.istio.io/canonical-name={name}"
        made = self.kubectl("run", name, "-n", namespace, f"--image={name}", labels, f"--overrides={overrides}")
        assert made.code == 0, made.text
        try:
            yield
        finally:
            self.kubectl("delete", "pod", name, "-n", namespace, "--ignore-not-found", "--now")
            self.kubectl("delete", "namespace", namespace)

    def get(self, *arguments: str) -> Any:
        done = self.kubectl("get", *arguments, "-o", "json")
        assert done.code == 0, done.text
        return json.loads(done.output)

    def everything(self) -> dict[str, dict[str, Any]]:
        """Every object of every kind that can be listed, by kind, namespace and name, but for what clusters write."""
        kinds = self.kubectl("api-resources", "--verbs=list", "-o", "name").output.split()
        wanted = [kind for kind in kinds if kind.split(".")[0] not in VOLATILE]
        items = self.get(",".join(wanted), "--all-namespaces", "--ignore-not-found")["items"]
        return {_key(item): item for item in items}

    def stored(self) -> set[str]:
        """What is in etcd now, by key, of every kind, listable or not, but for what clusters write."""
        return {key for key in self.cluster.etcd_keys() if not _STORED_VOLATILE.match(key)}


def bash_in(page: str, section: str = "") -> list[str]:
    """The blocks of bash of a page of docs/, or of the section with this title."""
    text = (CHECKOUT / "docs" / page).read_text()
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def example_document(tools: Tools) -> dict[str, Any]:
    """The example's mesh document for the pinned charts, and for clusters without nodes: no istiod gets ready there."""
    document: dict[str, Any] = yaml.safe_load((EXAMPLE / "mesh.yaml").read_text())
    (revision,) = document["revisions"]
    revision |= {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
    # The sandbox's own is removed as a whole; tests destroy.
    document["trust"] = {"root": {"protect": False}}
    return document


def without_nodes(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The committed all-in-one document for clusters without nodes, where no Pod gets ready, and without the CRDs."""
    committed = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())
    document: dict[str, Any] = committed["config"]["hosted-mesh:mesh"]
    (revision,), (membership,) = document["revisions"], document["memberships"]
    for part in (document["controlPlane"], membership):
        part["cluster"]["kubeconfig"] = str(sandbox.kubeconfig)
    revision["istiod"]["waitUntilReady"] = False
    revision["charts"] = {"path": str(tools.charts)}
    membership["crds"] = {"install": False}
    return document


def versions(*apis: Api) -> dict[str, tuple[str, str]]:
    """Uid and content, but for the status, of everything."""
    return {
        f"{api.cluster.name}: {key}": (item["metadata"]["uid"], _content(item))
        for api in apis
        for key, item in api.everything().items()
    }


def _content(item: Mapping[str, Any]) -> str:
    kept = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    metadata = {key: item["metadata"].get(key) for key in ("annotations", "ownerReferences")}
    labels = dict(item["metadata"].get("labels") or {})
    labels.pop("kubernetes.io/legacy-token-last-used", None)  # the API server's, on a token that was used
    metadata["labels"] = labels
    return json.dumps([metadata, kept], sort_keys=True)


def differences(before: Mapping[str, tuple[str, str]], after: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """What became of each object that is not as it was."""
    found = {}
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            there = key in before, key in after
            same = all(there) and before[key][0] == after[key][0]
            found[key] = "changed" if same else {(False, True): "made", (True, False): "deleted"}.get(there, "replaced")
    return found


def name_of(urn: str) -> str:
    """The name in the program, `demo-istiod:mesh-demo/istiod` for a chart's object."""
    return urn.rsplit("::", 1)[-1]


def _key(item: Mapping[str, Any]) -> str:
    metadata = item["metadata"]
    group = item["apiVersion"].partition("/")[0] if "/" in item["apiVersion"] else "core"
    return f"{item['kind']}.{group} {metadata.get('namespace', '')}/{metadata['name']}"
