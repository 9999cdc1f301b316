"""A hosted cluster with OLM on the control plane, for tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lightkube.resources.core_v1 import Namespace

from sandbox.clusters import Cluster, Sandbox
from sandbox.clusters.readiness import get_text
from sandbox.engine import operators
from sandbox.engine.example_catalog import OLM, Config
from sandbox.proof import stored_secrets
from sandbox.proof.secret_search import Search
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.live.operators.bundles import catalog
from tests.support.clusters import client_of
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

T = TypeVar("T")
HOSTED = "olm"
HOST = "packages.sandbox.test"
PROCESSES = Path(__file__).parent / "programs/processes_of.py"


@dataclass(frozen=True)
class Hosting:
    """One hosted cluster, the control plane, and the stack with OLM. name: of the stack."""

    sandbox: Sandbox
    tools: Tools
    project: Project
    hosted: Cluster
    document: Config
    name: str = "operators"

    @property
    def namespace(self) -> str:
        """Of OLM on the control plane."""
        return f"operators-{self.document['name']}"

    @property
    def provider(self) -> Kubectl:
        return Kubectl.of(self.sandbox.control_plane, self.tools)

    @property
    def user(self) -> Kubectl:
        return Kubectl.of(self.hosted, self.tools)

    def stack(self, **fields: Any) -> Stack:
        return stack_of(self.project, self.name, self.sandbox, self.hosted, {**self.document, **fields})

    def apply(self, *objects: Config) -> None:
        """In the hosted cluster."""
        self.user.apply(*objects)

    def olm(self, kind: str, namespace: str = "operators") -> dict[str, Config]:
        """Objects of OLM in the hosted cluster by name."""
        return {one["metadata"]["name"]: one for one in self.user.get(f"{kind}.{OLM}", "-n", namespace)["items"]}

    def csvs(self) -> dict[str, tuple[str, str]]:
        """Phase and reason of the installed versions."""
        states = {name: one.get("status", {}) for name, one in self.olm("clusterserviceversions").items()}
        return {name: (state.get("phase", ""), state.get("reason", "")) for name, state in states.items()}

    def has(self, name: str) -> bool:
        """Whether this version is installed."""
        return self.csvs().get(name, ("", ""))[0] == "Succeeded"

    def subscribe(self, channel: str, approval: str = "Automatic", package: str = "demo") -> None:
        source = {"source": "provider", "sourceNamespace": HOSTED}
        spec = {"name": package, "channel": channel, "installPlanApproval": approval, **source}
        metadata = {"name": package, "namespace": "operators"}
        self.apply({"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription", "metadata": metadata, "spec": spec})

    def eventually(self, look: Callable[[], T], awaited: str) -> T:
        """The first true answer of `look`. A failure has OLM's view as a note."""
        try:
            return eventually(look, awaited)
        except AssertionError as error:
            error.add_note(self.view())
            raise

    def view(self) -> str:
        """Spec and status of Subscriptions and InstallPlans, and catalog-operator's last log lines."""
        kinds = f"subscriptions.{OLM},installplans.{OLM}"
        fields = r"{range .items[*]}{.kind} {.metadata.name} {.spec} {.status.phase}{.status.conditions}{'\n'}{end}"
        found = self.user.run("get", kinds, "-n", "operators", "-o", f"jsonpath={fields}")
        log = self.provider.run("logs", "deployment/catalog-operator", "-n", self.namespace, "--tail=50")
        return "\n".join((found.stdout, found.stderr, log.stdout, log.stderr))

    def remove(self) -> None:
        """Removes the Subscription and what it installed, as a user does."""
        kinds = f"subscriptions.{OLM},clusterserviceversions.{OLM}"

        def gone() -> bool:
            # An InstallPlan makes its version again as long as OLM has not written the plan's phase Complete.
            self.user.run("delete", kinds, "--all", "-n", "operators")
            return not self.csvs()

        eventually(gone, "no version is installed")

    def pods(self) -> dict[str, Config]:
        """OLM's Pods on the control plane by name."""
        return {one["metadata"]["name"]: one for one in self.provider.get("pods", "-n", self.namespace)["items"]}

    def processes(self) -> list[Config]:
        """OLM's processes."""
        command = [sys.executable, "-I", PROCESSES, *self.pods()]
        done = self.sandbox.run("wan", command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        found: list[Config] = json.loads(done.stdout)
        return found

    def send(self, signal: str, process: Config) -> None:
        self.sandbox.run("wan", ["kill", f"-{signal}", process["pid"]], check=True, timeout=60)


def stack_of(project: Project, name: str, sandbox: Sandbox, hosted: Cluster, document: Config) -> Stack:
    """A stack of kind `operators`."""
    return project.stack(name, operators.config(sandbox, hosted, document))


def secrets_of_the_control_plane(sandbox: Sandbox, stack: Stack) -> Search:
    """A search for all of them. Tokens of the hosted cluster's own accounts are its own."""
    clients = {name: client_of(sandbox, name) for name in sandbox.clusters}
    sources = {
        "the control plane's Secrets": stored_secrets.stored(clients[sandbox.control_plane.name]),
        "the control plane's key files": stored_secrets.files(sandbox.control_plane),
        "the engine's state": stored_secrets.state(stack.export()),
    }
    own = stored_secrets.signed_by(json.loads(get_text(sandbox.data_plane, "/openid/v1/jwks")))
    names = {str(one.metadata.name) for client in clients.values() for one in client.list(Namespace) if one.metadata}
    return stored_secrets.search_for(sources, own, names)


def document_of(hosted: Cluster, name: str = "north", host: str = HOST) -> Config:
    """The document for a hosted cluster, with the tests' catalog. host: of its packageserver."""
    document = operators.document(hosted, name, host)
    # The second version brings its definition again, and OLM lists the existing objects of it.
    more = {"catalogs": [{"name": "provider", "content": catalog()}], "operandGroups": ["example.com"]}
    return {**document, **more, "keepCrds": False}
