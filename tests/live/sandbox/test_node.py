"""Pods as processes, on real clusters: started, reached, kept up to date, restarted, removed. No mesh is deployed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

NODE: Final = "data-plane-node"
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=5).read().decode())"
GRACE = 240
"""Seconds until a Pod that does not end is killed: as many as a busy machine may need to end one."""
READY = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("node") / "state", tools, progress) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def kubectl(sandbox: Sandbox, tools: Tools) -> Kubectl:
    """Ready for Pods: without the default ServiceAccount the API server refuses them."""
    found = Kubectl.of(sandbox.data_plane, tools)
    eventually(lambda: found.run("get", "serviceaccount", "default").returncode == 0)
    return found


def pod(name: str, container: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    one = {"name": "app", "image": "hosted-mesh/sample:1", **container}
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [one], **spec}}


def shell(script: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", script]}


def container_of(kubectl: Kubectl, name: str) -> Any:
    return (kubectl.get("pod", name).get("status", {}).get("containerStatuses") or [{}])[0]


def is_ready(kubectl: Kubectl, name: str) -> bool:
    rows = kubectl.get("pod", name).get("status", {}).get("conditions", [])
    return any(row["type"] == "Ready" and row["status"] == "True" for row in rows)


def fetch(sandbox: Sandbox, url: str) -> Any:
    """GET from the node; None while nothing answers."""
    fetch_it = [sys.executable, "-I", "-c", FETCH, url]
    done = sandbox.run(sandbox.data_plane.name, fetch_it, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else None


def processes(marker: str) -> list[int]:
    """Processes of this machine with MARKER=<marker> in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"MARKER={marker}".encode() in variables:
                found.append(int(entry.name))
    return found


def test_a_deployment_answers_through_its_service_and_reaches_itself_there(sandbox: Sandbox, kubectl: Kubectl) -> None:
    whole = pod("web", {"readinessProbe": READY, "ports": [{"name": "http", "containerPort": 8080}]})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": whole["spec"]}
    kubectl.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
        },
    )
    kubectl("rollout", "status", "deployment/web", "--timeout=240s")
    address = kubectl.get("service", "web")["spec"]["clusterIP"]
    answer = eventually(lambda: fetch(sandbox, f"http://{address}/from-node"))
    assert answer["pod"].startswith("web-")
    itself = f"http://{address}/fetch?url=http://web.default.svc.cluster.local/self"
    through_itself = eventually(lambda: fetch(sandbox, itself))
    assert json.loads(through_itself["body"])["path"] == "/self"


def test_the_node_says_what_it_is(kubectl: Kubectl) -> None:
    status = kubectl.get("node", NODE)["status"]
    assert status["nodeInfo"]["containerRuntimeVersion"].startswith("process://")
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.3"
    kubectl.apply(pod("named", {}))
    image_id = eventually(lambda: container_of(kubectl, "named").get("imageID"))
    assert image_id.startswith("sandbox-process:sample@sha256:")


def test_the_pods_words_reach_the_process(kubectl: Kubectl) -> None:
    said = "id -u; id -g; id -G; echo $GREETING > /dev/stdout"
    own = {
        **shell(f"{said}; touch /no 2>&1; echo $?; touch /data/yes && echo written; sleep 60"),
        "env": [
            {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "GREETING", "value": "hello $(WHO)"},
        ],
        "securityContext": {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    security = {"runAsUser": 4321, "runAsGroup": 4322, "fsGroup": 4323}
    kubectl.apply(pod("words", own, securityContext=security, volumes=[{"name": "data", "emptyDir": {}}]))
    eventually(lambda: "written" in kubectl.run("logs", "words").stdout)
    log = kubectl("logs", "words")
    if os.geteuid() == 0:  # an ordinary user's sandbox may have one user only
        assert log.splitlines()[:3] == ["4321", "4322", "4322 4323"]
    assert "hello words" in log
    assert "Read-only file system" in log
    assert kubectl("exec", "words", "--", "sh", "-c", "grep CapEff /proc/self/status").split()[1] == "0" * 16
    assert kubectl.run("exec", "words", "--", "sh", "-c", "exit 3").returncode == 3
    assert kubectl("exec", "-i", "words", "--", "cat", text="through standard input") == "through standard input"


def test_a_secret_appears_changes_live_and_never_reaches_the_disk(sandbox: Sandbox, kubectl: Kubectl) -> None:
    mount = {"volumeMounts": [{"name": "s", "mountPath": "/s", "readOnly": True}]}
    selector = "--field-selector=involvedObject.name=holder,reason=FailedMount"
    kubectl.apply(pod("holder", {**mount, "readinessProbe": READY},
                      volumes=[{"name": "s", "secret": {"secretName": "late"}}]))  # fmt: skip
    assert eventually(lambda: kubectl("get", "events", selector, "--output=name"))
    state = eventually(lambda: container_of(kubectl, "holder").get("state"))
    assert state["waiting"]["reason"] == "ContainerCreating"
    values = [f"value-{os.urandom(12).hex()}" for _ in range(2)]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late"}}
    kubectl.apply({**secret, "stringData": {"key": values[0]}})
    eventually(lambda: is_ready(kubectl, "holder"))
    assert kubectl("exec", "holder", "--", "cat", "/s/key") == values[0]
    kubectl.apply({**secret, "stringData": {"key": values[1]}})
    eventually(lambda: kubectl("exec", "holder", "--", "cat", "/s/key") == values[1])
    directory = sandbox.state / "clusters" / sandbox.data_plane.name / NODE
    node_files = [path for path in directory.rglob("*") if path.is_file()]
    assert node_files  # logs at least
    assert not [path for path in node_files for value in values if value.encode() in path.read_bytes()]


def test_an_unknown_image_stays_pending_and_says_why(kubectl: Kubectl) -> None:
    kubectl.apply(pod("unknown", {"image": "docker.io/library/nginx:1"}))
    waiting = eventually(lambda: container_of(kubectl, "unknown").get("state", {}).get("waiting", {}).get("message") and
                         container_of(kubectl, "unknown")["state"]["waiting"])  # fmt: skip
    assert waiting["reason"] in ("ErrImagePull", "ImagePullBackOff")
    assert "nginx:1" in waiting["message"]
    assert "catalog-operator, coredns, " in waiting["message"]
    assert ", proxyv2, python, " in waiting["message"]
    assert kubectl.get("pod", "unknown")["status"]["phase"] == "Pending"


def test_kubelet_does_what_a_pod_may_ask_of_it(sandbox: Sandbox, kubectl: Kubectl) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"COLOUR": "green"}}
    asked = {
        **shell("echo $COLOUR; cat /only; echo ended > /dev/termination-log; until test -e /w/hook; do sleep 1; done"),
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "volumeMounts": [
            {"name": "files", "mountPath": "/only", "subPath": "COLOUR"},
            {"name": "work", "mountPath": "/w"},
        ],
        "lifecycle": {"postStart": {"exec": {"command": ["touch", "/w/hook"]}}},
    }
    volumes = [{"name": "files", "configMap": {"name": "settings"}}, {"name": "work", "emptyDir": {}}]
    kubectl.apply(settings, pod("asking", asked, volumes=volumes, restartPolicy="Never"))
    eventually(lambda: kubectl.get("pod", "asking")["status"].get("phase") == "Succeeded")
    assert kubectl("logs", "asking").split() == ["green", "green"]
    assert container_of(kubectl, "asking")["state"]["terminated"]["message"] == "ended\n"


def test_a_shell_has_a_terminal(kubectl: Kubectl) -> None:
    kubectl.apply(pod("terminal", {}))
    eventually(lambda: container_of(kubectl, "terminal").get("state", {}).get("running"))
    command = [kubectl.program, f"--kubeconfig={kubectl.kubeconfig}", "exec", "-it", "terminal", "--", "sh"]
    ours, kubectls = pty.openpty()
    with subprocess.Popen(command, stdin=kubectls, stdout=kubectls, stderr=subprocess.PIPE) as shell_there:
        os.close(kubectls)
        os.write(ours, b"test -t 0 && (: < /dev/tty) && echo it' 'has; exit 4\n")
        written = b""
        while b"it has" not in written:
            written += os.read(ours, 1024)
        assert shell_there.wait(timeout=60) == 4
    os.close(ours)


def test_a_port_is_forwarded(sandbox: Sandbox, kubectl: Kubectl) -> None:
    kubectl.apply(pod("forwarded", {"readinessProbe": READY}))
    eventually(lambda: is_ready(kubectl, "forwarded"))
    command = [kubectl.program, f"--kubeconfig={kubectl.kubeconfig}", "port-forward", "pod/forwarded", ":8080"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as forwarding:
        assert forwarding.stdout is not None
        port = int(forwarding.stdout.readline().split("127.0.0.1:")[1].split()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/through", timeout=20) as answer:
            assert json.load(answer)["path"] == "/through"
        forwarding.terminate()


def test_a_crash_is_restarted_and_told(kubectl: Kubectl) -> None:
    kubectl.apply(pod("crash", shell("echo run; sleep 0.3; exit 7")))
    eventually(lambda: container_of(kubectl, "crash").get("restartCount", 0) >= 2)
    status = eventually(lambda: (one := container_of(kubectl, "crash")).get("state", {}).get("waiting") and one)
    assert status["lastState"]["terminated"]["exitCode"] == 7
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    eventually(lambda: kubectl.run("logs", "crash").stdout == "run\n")  # another run may just begin


def test_liveness_restarts_and_readiness_only_takes_out(kubectl: Kubectl) -> None:
    probe = {"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1, "failureThreshold": 1}
    probe["timeoutSeconds"] = 5
    kubectl.apply(
        pod("alive", {**shell("trap 'exit 0' TERM; touch /tmp/up; sleep 2; rm /tmp/up; while :; do sleep 0.1; done"),
                      "livenessProbe": {**probe, "initialDelaySeconds": 1}}),
        pod("unready", {"readinessProbe": {**READY, "httpGet": {"path": "/status/503", "port": 8080}}}),
    )  # fmt: skip
    eventually(lambda: container_of(kubectl, "alive").get("restartCount", 0) >= 1)
    before = eventually(lambda: (one := container_of(kubectl, "unready")).get("state", {}).get("running") and one)
    failed = ("get", "events", "--field-selector=involvedObject.name=unready,reason=Unhealthy", "--output=json")
    eventually(lambda: sum(one.get("count", 1) for one in json.loads(kubectl(*failed))["items"]) > 3)
    after = container_of(kubectl, "unready")
    assert (after["ready"], after["containerID"]) == (False, before["containerID"]), (before, after)


def test_init_containers_run_in_order_and_a_sidecar_starts_before_the_next(kubectl: Kubectl) -> None:
    shared = {"image": "sample", "volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    sidecar = {
        **shared,
        **shell("echo side >> /w/o; sleep 1; touch /w/up; sleep 99"),
        "name": "side",
        "restartPolicy": "Always",
        "startupProbe": {"exec": {"command": ["test", "-e", "/w/up"]}, "periodSeconds": 1, "failureThreshold": 9},
    }
    steps = [
        {**shared, "name": "first", **shell("sleep 0.5; echo first >> /w/o")},
        sidecar,
        {**shared, "name": "last", **shell("test -e /w/up && echo last >> /w/o")},
    ]
    main = {**shared, **shell("echo main >> /w/o; cat /w/o")}
    rest = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1}  # the sidecar's shell takes no SIGTERM
    kubectl.apply(pod("order", main, initContainers=steps, **rest, volumes=[{"name": "w", "emptyDir": {}}]))
    eventually(lambda: kubectl.get("pod", "order")["status"].get("phase") == "Succeeded")
    assert kubectl("logs", "order", "-c", "app").split() == ["first", "side", "last", "main"]


def test_a_job_completes(kubectl: Kubectl) -> None:
    template = {"spec": {**pod("x", shell("exit 0"))["spec"], "restartPolicy": "Never"}}
    kubectl.apply(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    )
    kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=240s")


def test_logs_are_followed_to_the_end(kubectl: Kubectl) -> None:
    kubectl.apply(pod("talker", shell("for i in 1 2 3 4; do echo line $i; sleep 0.4; done"), restartPolicy="Never"))
    eventually(lambda: kubectl.run("logs", "talker").stdout)
    assert kubectl("logs", "-f", "talker").splitlines() == [f"line {number}" for number in range(1, 5)]
    assert kubectl("logs", "--tail=1", "--timestamps", "talker").endswith("Z line 4\n")


def marked(name: str, marker: str) -> dict[str, Any]:
    script = "trap 'exit 0' TERM; sh -c 'trap : TERM; while :; do sleep 0.2; done' & while :; do sleep 0.1; done"
    container = {**shell(script), "env": [{"name": "MARKER", "value": marker}]}
    return pod(name, container, terminationGracePeriodSeconds=GRACE)


def test_deletion_leaves_no_process(kubectl: Kubectl) -> None:
    marker = os.urandom(8).hex()
    kubectl.apply(marked("stubborn", marker))
    eventually(lambda: len(processes(marker)) >= 3)
    # Within the time of grace: the first process ends on SIGTERM, and the kernel ends the rest with it.
    kubectl("delete", "pod", "stubborn", "--wait", f"--timeout={GRACE - 60}s")
    assert not processes(marker)


def test_nothing_outlives_a_killed_agent_and_the_next_runs_each_pod_once(sandbox: Sandbox, kubectl: Kubectl) -> None:
    marker = os.urandom(8).hex()
    kubectl.apply(marked("survivor", marker))
    # Seen by the API server, not just by the kernel: the next agent knows of the first run by nothing else.
    eventually(lambda: container_of(kubectl, "survivor").get("state", {}).get("running"))
    before = processes(marker)
    config = f"{sandbox.state}/clusters/{sandbox.data_plane.name}/{NODE}.json"
    agents = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs(entry, config)]
    os.kill(min(agents), signal.SIGKILL)
    eventually(lambda: not set(before) & set(processes(marker)))
    status = eventually(lambda: (one := container_of(kubectl, "survivor")).get("restartCount") and one)
    assert status["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    firsts = eventually(lambda: [pid for pid in processes(marker) if _is_first(Path(f"/proc/{pid}"))])
    assert len(firsts) == 1


def _is_first(process: Path) -> bool:
    """Whether it is the first process of a container: number 1 in the innermost of its PID namespaces."""
    try:
        status = (process / "status").read_text()
    except OSError:
        return False
    return next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1] == "1"


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def _runs(process: Path, config: str) -> bool:
    return b"sandbox.node" in _command(process) and config.encode() in _command(process)
