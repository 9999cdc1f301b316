"""`make up ARGS=--observability`: its printed commands, Kiali's page in a browser, and a second run without changes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox import clusters, toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.jobs import processes_of
from sandbox.progress import Progress
from sandbox.proof import shown_traffic, workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_BROWSER, FOR_OBSERVABILITY
from tests.support import browser
from tests.support.browser import Browser
from tests.support.kubectl import Kubectl

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1500)]  # two runs of `make up` before the first test

EDGE = (workloads.CALLER, workloads.CALLED)
LINE = re.compile(r"^  (\S.*?)\s{2,}(\S.*)$", re.MULTILINE)
# The drawing itself: cytoscape keeps its objects at the element that it draws into.
DRAWN = """(() => {
  const box = [...document.querySelectorAll("div")].find(one => one._cyreg && one._cyreg.cy);
  if (!box) return null;
  const graph = box._cyreg.cy, place = box.getBoundingClientRect();
  return {
    nodes: graph.nodes().filter(one => !one.isParent()).map(one => one.data("workload") || ""),
    edges: graph.edges().map(one => ({
      ends: [one.source().data("workload") || "", one.target().data("workload") || ""],
      label: one.style("label"),
      x: place.x + (one.source().renderedPosition().x + one.target().renderedPosition().x) / 2,
      y: place.y + (one.source().renderedPosition().y + one.target().renderedPosition().y) / 2,
    })),
  };
})()"""
FLAGS_TAB = """[...document.querySelectorAll("#graph-side-panel button")]
  .find(one => one.innerText.trim() === "Flags").click()"""
ROW = re.compile(r"^(\d{3})\s+-\s+(\d+\.\d)$", re.MULTILINE)
WINDOW = 120  # seconds, one of Kiali's
PANEL = "#graph-side-panel"


@dataclass(frozen=True)
class Run:
    """A run of the command. lines: by label, of the section about Kiali."""

    text: str
    lines: Mapping[str, str]


@dataclass(frozen=True)
class Machine:
    """A state directory, and the commands of a person in it."""

    state: Path
    tools: Tools

    def make(self, command: str, *options: str) -> str:
        """The output of `make COMMAND ARGS=OPTIONS`."""
        done = subprocess.run(
            self.command(command, *options, "--state", str(self.state)),
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def up(self, *options: str) -> Run:
        text = self.make("up", "--observability", *options)
        return Run(text, dict(LINE.findall(text.partition("\nKiali, ")[2])))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "sandbox.commands.cli", *words]

    def in_shell(self, line: str) -> subprocess.Popen[bytes]:
        """A printed command in `make shell`."""
        return subprocess.Popen(
            self.command("shell", "-c", line),
            cwd=CHECKOUT,
            env={**os.environ, "HOSTED_MESH_STATE": str(self.state), "SHELL": "/bin/bash"},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )

    @contextmanager
    def port(self, line: str, address: str) -> Iterator[None]:
        """The printed port forwarding, until its address answers; ended with the block."""
        process = self.in_shell(line)
        try:
            eventually(lambda: answers(address), seconds=60)
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=30)

    @property
    def sandbox(self) -> Sandbox:
        found = clusters.load(self.state)
        assert found is not None
        return found

    def stored(self) -> dict[tuple[str, str, str, str], Any]:
        """Objects of both clusters with their uid and content: istiod renews annotations of ConfigMaps by itself."""
        found = {}
        kinds = "deployments,statefulsets,secrets,configmaps,services,serviceaccounts,networkpolicies"
        for cluster in self.sandbox.clusters.values():
            for item in Kubectl.of(cluster, self.tools).get(kinds, "--all-namespaces")["items"]:
                metadata = item["metadata"]
                key = (cluster.name, item["kind"], metadata.get("namespace"), metadata["name"])
                content = {name: value for name, value in item.items() if name not in ("metadata", "status")}
                found[key] = (metadata["uid"], content)
        return found


def answers(address: str) -> None:
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=10).close()
    except urllib.error.HTTPError:
        return
    except OSError as error:
        raise NotObserved(f"{address}: {error}") from None


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Machine]:
    """Without a sandbox at first; at the end `make down` leaves nothing."""
    tools = toolchain.ensure(also={*FOR_OBSERVABILITY, *FOR_BROWSER}, progress=progress)
    found = Machine(tmp_path_factory.mktemp("observability") / "state", tools)
    try:
        yield found
    finally:
        found.make("down")
    assert not found.state.exists()
    assert processes_of(found.state) == {}


@pytest.fixture(scope="module")
def first(machine: Machine) -> Run:
    """A mesh without observability, then with it: nodes lack Kiali's programs, and proxies the collector's address."""
    machine.make("up")
    return machine.up()


@pytest.fixture
def page(machine: Machine, tmp_path: Path) -> Iterator[Browser]:
    with browser.opened(machine.tools["chromium"], tmp_path) as found:
        yield found


def test_the_page_draws_the_requests(machine: Machine, first: Run, page: Browser, tmp_path: Path) -> None:
    """Once the window has no request, the page has those of this test alone."""
    address = first.lines[f"graph of {workloads.NAMESPACE}"]
    with machine.port(first.lines["open its port"], first.lines["address"]):
        page.open(address)
        eventually(lambda: drawn(page), seconds=60)
        page.picture(tmp_path / "kiali-graph.png")
        page.open(address.replace("duration=600", f"duration={WINDOW}"))
        eventually(lambda: is_empty(page), seconds=WINDOW + 60)
        deployed = Deployed.of(machine.sandbox, machine.tools)
        shown_traffic.send(deployed, shown_traffic.pushing(deployed)[workloads.CALLER])
        eventually(lambda: draws_all(page), seconds=90)
        eventually(lambda: select_the_edge(page), seconds=30, every=2)
        eventually(lambda: lists_answers(page), seconds=20)
        page.picture(tmp_path / "kiali-edge.png")
    with machine.port(first.lines["open Prometheus' port"], "http://127.0.0.1:9090/-/ready"):
        pass


def test_a_second_run_changes_nothing(machine: Machine, first: Run) -> None:
    before = machine.stored()
    second = machine.up()
    assert machine.stored() == before
    assert second.lines == first.lines
    assert re.search(r"skip .* observability: 0 changes", second.text), second.text


def test_the_users_view_takes_the_token_of_the_file(
    machine: Machine, first: Run, page: Browser, tmp_path: Path
) -> None:
    """The token is in no output, and the page asks for it."""
    users = machine.up("--users-view")
    file = machine.state / "observability" / "token"
    token = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert token not in users.text
    assert str(file) in users.lines["login"]
    assert users.lines["open its port"] == first.lines["open its port"]
    with machine.port(users.lines["open its port"], users.lines["address"]):
        assert machine.in_shell(users.lines["login by curl"]).wait(timeout=60) == 0
        page.open(users.lines[f"graph of {workloads.NAMESPACE}"])
        eventually(lambda: has_element(page, "#token"), seconds=60)
        page.picture(tmp_path / "kiali-login.png")
        page.evaluate('document.querySelector("#token").focus()')
        page.type(token)
        page.evaluate('document.querySelector("button[type=submit]").click()')
        eventually(lambda: has_element(page, "#token", wanted=False), seconds=60)
        page.open(users.lines[f"graph of {workloads.NAMESPACE}"])
        eventually(lambda: drawn(page), seconds=90)
        page.picture(tmp_path / "kiali-user.png")
        assert drawn(page)["nodes"]
    again = machine.up()
    assert again.lines == first.lines


def drawn(page: Browser) -> Any:
    """Nodes and edges of the drawing. Raises NotObserved before it has an edge."""
    found = page.evaluate(DRAWN)
    if not found or not found["edges"]:
        raise NotObserved(page.words("body")[:2000])
    return found


def is_empty(page: Browser) -> None:
    if "Empty Graph" not in (seen := page.words("body")):
        raise NotObserved(f"requests of the window before: {seen[:500]}")


def draws_all(page: Browser) -> None:
    """Two nodes, one edge, and Kiali's numbers of the requests. Raises NotObserved."""
    found = drawn(page)
    (edge, *others) = found["edges"]
    if sorted(found["nodes"]) != sorted(EDGE) or others or tuple(edge["ends"]) != EDGE:
        raise NotObserved(str(found))
    panel_has(page, r"2 workloads")
    panel_has(page, r"1 edge\b")
    failed = sum(number for status, number in shown_traffic.PLAN.items() if status >= 400)
    # Prometheus extrapolates to the window's ends.
    expected = sum(shown_traffic.PLAN.values()) / WINDOW
    label = re.fullmatch(r"(\d+\.\d+) ?rps\n(\d+)% err", edge["label"])
    if not label or int(label[2]) != failed or not 0.95 * expected < float(label[1]) < 1.15 * expected:
        raise NotObserved(f"the edge has the label {edge['label']!r}; expected: {expected:.2f} rps, {failed}% err")


def select_the_edge(page: Browser) -> None:
    """By the mouse, then its answers by code. Raises NotObserved if the drawing moved meanwhile."""
    (edge,) = drawn(page)["edges"]
    page.click(edge["x"], edge["y"])
    eventually(lambda: panel_has(page, r"Edge \(HTTP\)"), seconds=5)
    page.evaluate(FLAGS_TAB)
    eventually(lambda: panel_has(page, r"\bCode\b"), seconds=5)


def lists_answers(page: Browser) -> None:
    """The shares of the selected edge's answers by code, which Kiali cuts off after one digit."""
    found = {int(code): float(share) for code, share in ROW.findall(page.words(PANEL))}
    if found != pytest.approx({code: float(number) for code, number in shown_traffic.PLAN.items()}, abs=0.11):
        raise NotObserved(f"answers by code: {found}")


def panel_has(page: Browser, pattern: str) -> None:
    """Raises NotObserved unless the side panel has the pattern."""
    if not re.search(pattern, seen := page.words(PANEL)):
        raise NotObserved(f"no {pattern} in {seen}")


def has_element(page: Browser, selector: str, *, wanted: bool = True) -> None:
    """Raises NotObserved unless the page has, or has not, an element."""
    if page.evaluate(f"!!document.querySelector({selector!r})") is not wanted:
        raise NotObserved(page.words("body")[:2000])
