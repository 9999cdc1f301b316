"""The life of a sandbox for real: killed, interrupted, started twice, copied, enlarged, removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lightkube import Client, KubeConfig
from lightkube.models.core_v1 import Container, ContainerPort, PodSpec, ServicePort, ServiceSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod, Service

from sandbox import clusters
from sandbox.clusters import Sandbox, Topology
from sandbox.clusters.network.load_balancers import HOSTNAME
from sandbox.commands.down import remove
from sandbox.engine.pulumi_cli import PulumiCli
from sandbox.program_environment import passphrase_file, pulumi_settings
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.live.sandbox.machine.inside import Inside
from tests.support.clusters import client_of
from tests.support.waiting import eventually


def test_clusters_alone_have_no_mesh_and_a_backend_for_one(tmp_path: Path, tools: Tools, progress: Progress) -> None:
    state = tmp_path / "state"
    command = [sys.executable, "-m", "sandbox.commands.cli", "up", "--no-mesh", "--state", str(state)]
    try:
        for said in ("start the clusters", "start the clusters: already running"):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (done.returncode, said in done.stderr) == (0, True), done.stderr
            assert "(contexts control-plane, data-plane)" in done.stdout
        sandbox = clusters.load(state)
        assert sandbox is not None
        for name in sandbox.clusters:
            found = {one.metadata.name for one in client_of(sandbox, name).list(Namespace) if one.metadata}
            assert found == {"default", "kube-node-lease", "kube-public", "kube-system"}
        stacks = PulumiCli.of(tools, pulumi_settings(state)).run("stack", "ls", "--json")
        assert (stacks.returncode, stacks.stdout.strip()) == (0, "[]"), stacks.stderr
        assert passphrase_file(state).stat().st_mode & 0o777 == 0o600
    finally:
        remove(state, progress)
    assert not state.exists()


def test_after_a_crash_nothing_runs_and_up_goes_on_with_the_old_data(
    tmp_path: Path, tools: Tools, progress: Progress
) -> None:
    state = tmp_path / "state"
    try:
        first = clusters.up(state, tools, progress, nodes=False)
        for name in first.clusters:
            client_of(first, name).create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))
        kept_kubeconfig = first.kubeconfig.read_text()
        inside = Inside.of(first)
        assert len(inside.processes) >= 8
        assert len(inside.networks()) == 3
        os.kill(first.supervisor.identity.pid, signal.SIGKILL)
        eventually(lambda: not inside.left(), "the kernel ends everything")
        assert clusters.load(state) is None
        assert clusters.status(state) == clusters.Status(running=False)

        second = clusters.up(state, tools, progress, nodes=False)
        assert {name: one.server for name, one in first.clusters.items()} == {
            name: one.server for name, one in second.clusters.items()
        }
        state.joinpath("old").write_text(kept_kubeconfig)  # one that somebody kept from before
        for name in first.clusters:
            client = Client(config=KubeConfig.from_file(state / "old").get(context_name=name), trust_env=False)
            client.get(ConfigMap, "kept", namespace="default")
        (state / "old").unlink()
        inside = Inside.of(second)
    finally:
        clusters.down(state)
    assert inside.left() == []
    assert not state.exists()
    clusters.down(state)  # once more changes nothing


def test_a_stopped_sandbox_is_copied_and_enlarged_and_both_have_the_old_data(
    tmp_path: Path, tools: Tools, progress: Progress
) -> None:
    state, other = tmp_path / "state", tmp_path / "other"
    try:
        first = clusters.up(state, tools, progress, nodes=False)
        with pytest.raises(clusters.SandboxError, match="runs, so it cannot be copied"):
            clusters.copy(state, other)
        client_of(first, "data-plane").create(ConfigMap(metadata=ObjectMeta(name="kept", namespace="default")))
        inside = Inside.of(first)
        clusters.stop(state)
        assert inside.left() == []
        clusters.copy(state, other)

        larger = clusters.up(state, tools, progress, nodes=False, topology=Topology.of(3))
        copied = clusters.up(other, tools, progress, nodes=False)
        assert [*larger.clusters] == ["control-plane", "data-plane", "data-plane-2"]
        assert [*copied.clusters] == ["control-plane", "data-plane"]
        assert not {one.port for one in larger.clusters.values()} & {one.port for one in copied.clusters.values()}
        for one in (larger, copied):
            client_of(one, "data-plane").get(ConfigMap, "kept", namespace="default")
        client_of(copied, "data-plane").delete(ConfigMap, "kept", namespace="default")
        client_of(larger, "data-plane").get(ConfigMap, "kept", namespace="default")  # it is a copy, not the same
        again = clusters.up(state, tools, progress, nodes=False, topology=Topology.of(2))  # fewer than there are
        assert again.supervisor == larger.supervisor
    finally:
        clusters.down(state)
        clusters.down(other)


def test_a_copy_runs_the_pods_of_the_stopped_sandbox_again(tmp_path: Path, tools: Tools, progress: Progress) -> None:
    """A state that is made once and begun from often: its Pods, names and load balancers come back as they were."""
    made, begun = tmp_path / "made", tmp_path / "begun"
    host = "again.sandbox.test"
    container = Container(name="app", image="hosted-mesh/sample:1", ports=[ContainerPort(containerPort=8080)])
    metadata = ObjectMeta(name="again", namespace="default", labels={"app": "again"}, annotations={HOSTNAME: host})
    ports = [ServicePort(port=80, targetPort=8080)]
    ask = ["-c", f"import urllib.request as r; print(r.urlopen('http://{host}/', timeout=5).status)"]

    def answers(sandbox: Sandbox) -> bool:
        asked = sandbox.run("data-plane", [sys.executable, "-I", *ask], capture_output=True, text=True, timeout=60)
        return bool(asked.stdout.strip() == "200")

    def restarts(sandbox: Sandbox) -> list[int]:
        status = client_of(sandbox, "control-plane").get(Pod, "again", namespace="default").status
        return [one.restartCount for one in (status.containerStatuses or [])] if status else []

    try:
        first = clusters.up(made, tools, progress)
        client = client_of(first, "control-plane")
        client.create(Pod(metadata=metadata, spec=PodSpec(containers=[container])))
        spec = ServiceSpec(type="LoadBalancer", selector={"app": "again"}, ports=ports)
        client.create(Service(metadata=metadata, spec=spec))
        eventually(lambda: answers(first), "the user's node reaches the provider's Pod by name")
        assert restarts(first) == [0]
        clusters.stop(made)
        clusters.copy(made, begun)
        for _ in range(2):
            second = clusters.up(begun, tools, progress)
            eventually(lambda: restarts(second) == [1] and answers(second), "so it does in a copy")  # noqa: B023
            clusters.down(begun)
            clusters.copy(made, begun)
    finally:
        clusters.down(made)
        clusters.down(begun)


def test_down_after_a_crash_removes_the_files(tmp_path: Path, tools: Tools, progress: Progress) -> None:
    state = tmp_path / "state"
    sandbox = clusters.up(state, tools, progress, nodes=False)
    os.kill(sandbox.supervisor.identity.pid, signal.SIGKILL)
    clusters.down(state)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_up_is_continued_and_two_at_once_share_one_sandbox(
    tmp_path: Path, tools: Tools, progress: Progress
) -> None:
    state = tmp_path / "state"
    up = (
        "import sys,pathlib,types\n"
        "from sandbox import clusters\nfrom sandbox.progress import Progress\n"
        "state, bin_dir = map(pathlib.Path, sys.argv[1:])\n"
        "class Tools(dict):\n  def __missing__(self, name): return bin_dir / name\n"
        "tools = Tools(); tools.bin_dir = bin_dir\n"
        "print(clusters.up(state, tools, Progress.silent(), nodes=False).supervisor.identity.pid)\n"
    )
    argv = [sys.executable, "-c", up, str(state), str(tools.bin_dir)]
    try:
        interrupted = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: (state / "clusters" / "supervisor.json").exists(), "it is half-way")
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait(60) != 0
        both = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        pids = {one.communicate(timeout=240)[0] for one in both}
        assert len(pids) == 1
        assert all(one.returncode == 0 for one in both)
        assert clusters.up(state, tools, progress, nodes=False).supervisor.identity.pid == int(pids.pop())
    finally:
        clusters.down(state)


def test_a_sandbox_whose_state_directory_is_removed_ends_itself(
    tmp_path: Path, tools: Tools, progress: Progress
) -> None:
    state = tmp_path / "state"
    sandbox = clusters.up(state, tools, progress, nodes=False)
    try:
        inside = Inside.of(sandbox)
        state.rename(tmp_path / "elsewhere")
        eventually(lambda: not inside.left(), "it ends itself")
    finally:
        (tmp_path / "elsewhere").rename(state)
        clusters.down(state)


def test_a_program_that_cannot_start_is_one_clear_error(tmp_path: Path, tools: Tools, progress: Progress) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho this etcd is broken; exit 3\n")
    broken.chmod(0o755)

    class Broken:
        bin_dir = tools.bin_dir

        def __getitem__(self, name: str) -> Path:
            return broken if name == "etcd" else tools[name]

    try:
        with pytest.raises(clusters.SandboxError) as error:
            clusters.up(tmp_path / "state", Broken(), progress, nodes=False)
    finally:
        clusters.down(tmp_path / "state")
    assert "etcd keeps ending (exit code 3)" in str(error.value)
    assert "this etcd is broken" in str(error.value)
