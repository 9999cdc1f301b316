"""istioctl of two users against one istiod, each by the debug proxy of their own cluster, with their own token."""

from __future__ import annotations

import base64
import copy
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Pod, Secret, Service, ServiceAccount

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Cluster, Sandbox, Topology
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, MeshFacts, NotObserved, client_of, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.updates import update

MESH, NAMESPACE = "demo", "mesh-demo"
FIRST, SECOND = MEMBERS = ("default", "second")
CLUSTER_IDS = {FIRST: "demo", SECOND: "demo-second"}
PORT = 15019
ASK = Path(__file__).parent / "programs" / "ask_debug_proxy.py"
STATUS = "istio.io/debug/syncz"
CLOSED = ("adsz?push=true", "cachez?clear=true", "authorizationz", "configz", "registryz", "connections", "mesh")
"""Pages that write, or show more than the own proxies."""


@dataclass
class User:
    """The user of one data plane.

    kubeconfig: of an account with the right of the user's page alone. administrator: of the cluster's administrator.
    """

    member: str
    sandbox: Sandbox
    tools: Tools
    istioctl: Path
    deployed: Deployed
    kubeconfig: Path
    administrator: Path
    pods: Mapping[str, PodModel]

    @property
    def cluster(self) -> Cluster:
        return self.sandbox.data_planes[MEMBERS.index(self.member)]

    @property
    def namespace(self) -> str:
        """Of the debug proxy, on the control plane."""
        return f"obs-{self.member}"

    @property
    def host(self) -> str:
        return f"debug.{self.member}.sandbox.test"

    @property
    def proxies(self) -> set[str]:
        """As istioctl names them."""
        return {f"{one.metadata.name}.{one.metadata.namespace}" for one in self.pods.values() if one.metadata}

    @cached_property
    def address(self) -> str:
        service = client_of(self.sandbox.control_plane).get(Service, "debug-proxy", namespace=self.namespace)
        assert service.status
        assert service.status.loadBalancer
        (ingress,) = service.status.loadBalancer.ingress or []
        return f"{ingress.ip}:{PORT}"

    def run(self, *words: str, at: str = "") -> subprocess.CompletedProcess[str]:
        """istioctl in the user's network, with the user's kubeconfig. at: by default the own debug proxy."""
        options = (f"--istioNamespace={NAMESPACE}", "--revision=default", f"--xds-address={at or self.address}")
        return self.runs(self.kubeconfig, *words, *options)

    def runs(self, kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[str]:
        command = [self.istioctl, *words, f"--kubeconfig={kubeconfig}"]
        return self.sandbox.run(self.cluster.name, command, capture_output=True, text=True, timeout=60)

    def succeeds(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def listed(self, at: str = "") -> dict[str, str]:
        """Cluster of each proxy by `istioctl proxy-status`."""
        done = self.run("proxy-status", at=at)
        assert done.returncode == 0, done.stderr
        head, *lines = [line.split() for line in done.stdout.splitlines()]
        assert head[:2] == ["NAME", "CLUSTER"]
        return {line[0]: line[1] for line in lines}

    def token(self, *words: str) -> str:
        kubectl = Kubectl.of(self.cluster, self.tools)
        return kubectl("create", "token", *(words or ("default", f"-n={NAMESPACE}", "--audience=istio-ca"))).strip()

    def asked(self, token: str, root: Path, *request: str, of: User | None = None) -> str:
        """The debug proxy's answer to a token of any kind, with its certificate checked."""
        other = of or self
        words = [other.address, other.host, root, token, *(request or (STATUS,))]
        done = self.sandbox.run(
            self.cluster.name, [sys.executable, "-P", ASK, *map(str, words)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout).strip()


def with_claims(token: str, **claims: Any) -> str:
    """A token with changed claims, and so with a wrong signature."""
    head, body, signature = token.split(".")
    found = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))) | claims
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(found).encode()).decode().rstrip('=')}.{signature}"


def mesh_document(committed: Mapping[str, Any], sandbox: Sandbox) -> dict[str, Any]:
    """The sandbox's own document with a second member. The sandbox's load balancer publishes the hosts."""
    config = copy.deepcopy(dict(committed))
    del config["config"]["hosted-mesh:dns"]
    mesh = config["config"]["hosted-mesh:mesh"]
    (revision,), (first,) = mesh["revisions"], mesh["memberships"]
    revision["exposure"] |= {"publishName": True, "sourceRanges": ranges(sandbox)}
    second = copy.deepcopy(first) | {"name": SECOND}
    second["cluster"]["context"] = sandbox.data_planes[1].name
    second["access"]["apiServer"] = sandbox.data_planes[1].wan_server
    mesh["memberships"] = [first, second]
    return config


def page() -> str:
    return (CHECKOUT / "docs/components/istioctl.md").read_text()


def restricted(user: User) -> None:
    """Writes both kubeconfigs, with the API server's address in the user's network."""
    cluster, account = user.cluster, {"kind": "ServiceAccount", "name": "person", "namespace": "default"}
    (role,) = re.findall(r"```yaml\n(apiVersion: rbac.*?)```", page(), re.DOTALL)
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "istioctl", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "istioctl"},
        "subjects": [account],
    }
    metadata = {"name": account["name"], "namespace": account["namespace"]}
    kubectl = Kubectl.of(cluster, user.tools)
    kubectl.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, yaml.safe_load(role), binding)
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = cluster.wan_server
    user.administrator.write_text(yaml.safe_dump(config))
    config["users"][0]["user"] = {"token": user.token("person", "-n=default")}
    user.kubeconfig.write_text(yaml.safe_dump(config))


def ranges(sandbox: Sandbox) -> list[str]:
    """Both users' networks: a stranger's token shall reach the check."""
    return [f"{one.addresses.wan_address}/32" for one in sandbox.data_planes]


def debug_proxy(project: Project, user: User, files: Mapping[str, str]) -> Stack:
    part = {
        "host": user.host,
        "image": "hosted-mesh/debug-proxy:1",
        "exposure": {"sourceRanges": ranges(user.sandbox), "publishName": True},
    }
    document = {"mesh": MESH, "clusterId": CLUSTER_IDS[user.member], "namespace": user.namespace, "debugProxy": part}
    cluster = {"kubeconfig": str(user.sandbox.kubeconfig), "context": user.sandbox.control_plane.name}
    own = {"observability": document, "controlPlane": cluster}
    return project.stack(user.member, {"stack": "observability", "observability": own, "cacerts": dict(files)})


def up(stack: Stack) -> None:
    """With the policies: they have nothing against the debug proxy."""
    stack.succeed("up", "--yes", "--skip-preview", "--policy-pack", str(deployment.POLICY_PACK))


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[dict[str, User]]:
    istioctl = toolchain.ensure({"istioctl"}, progress=progress)["istioctl"]
    with started(tmp_path_factory.mktemp("debug"), tools, progress, topology=Topology.of(3)) as sandbox:
        folder = tmp_path_factory.mktemp("stacks")
        deployment.engine(sandbox, tools)
        file = folder / "stack.yaml"
        committed = yaml.safe_load(deployment.config_file(sandbox.state).read_text())
        file.write_text(yaml.safe_dump(mesh_document(committed, sandbox)))
        update(sandbox, tools, file, policies=False)
        outputs = deployment.outputs(sandbox, tools)
        found = {}
        for member, cluster in zip(MEMBERS, sandbox.data_planes, strict=True):
            facts = MeshFacts.of({**outputs, "endpoints": {"one": outputs["endpoints"][f"{member}/default"]}})
            deployed = Deployed(sandbox, tools, facts, engine_states=list, gateways=list)
            deployed.__dict__["data_plane"] = client_of(cluster)  # instead of the first one's
            person, administrator = (folder / f"{member}-{name}.yaml" for name in ("person", "administrator"))
            found[member] = User(member, sandbox, tools, istioctl, deployed, person, administrator, {})
        secret = client_of(sandbox.control_plane).get(Secret, "cacerts", namespace=NAMESPACE)
        files = {name: base64.b64decode(value).decode() for name, value in (secret.data or {}).items()}
        stacks = [
            debug_proxy(Project.make(folder / member, sandbox, tools), user, files) for member, user in found.items()
        ]
        with ThreadPoolExecutor() as pool:
            made = pool.map(up, stacks)
            for user in found.values():
                user.pods = workloads.deploy(user.deployed)
                restricted(user)
            list(made)
        for user, stack in zip(found.values(), stacks, strict=True):
            assert stack.outputs()["debug_address"] == f"{user.host}:{PORT}"
        yield found


@pytest.fixture(scope="module")
def root(users: dict[str, User], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("root") / "root.pem"
    file.write_text(users[FIRST].deployed.mesh.root_certificate)
    return file


def test_each_user_sees_the_own_proxies_and_never_the_others(users: dict[str, User]) -> None:
    for user in users.values():
        expected = dict.fromkeys(user.proxies, CLUSTER_IDS[user.member])
        assert len(expected) == 2

        def look() -> None:
            if (found := user.listed()) != expected:  # noqa: B023 (called at once)
                raise NotObserved(f"{found}, not {expected}")  # noqa: B023

        eventually(look, seconds=120)

    def synced() -> None:
        status = users[FIRST].succeeds("proxy-status", "--verbosity=1")
        if "SYNCED" not in status or "STALE" in status:  # a change is on its way for a moment
            raise NotObserved(status)

    eventually(synced, seconds=120)
    version = users[FIRST].succeeds("experimental", "version")
    assert "control plane version: 1.31" in version
    assert "data plane version: 1.31-dev (2 proxies)" in version


def test_a_dump_of_an_own_proxy_reads_like_envoys_and_has_no_key(users: dict[str, User], tmp_path: Path) -> None:
    """`istioctl proxy-config` reads it from a file."""
    first, second = users[FIRST], users[SECOND]
    name = min(one for one in first.proxies if one.startswith(workloads.CALLER))
    dump = first.succeeds("experimental", "internal-debug", f"config_dump?proxyID={name}")
    assert "PRIVATE KEY" not in dump
    secrets = [one for one in json.loads(dump)["configs"] if one["@type"].endswith("SecretsConfigDump")]
    assert all("secret" not in one for each in secrets for one in each.get("dynamic_active_secrets", []))
    file = tmp_path / "dump.json"
    file.write_text(dump)
    command = [first.istioctl, "proxy-config", "clusters", f"--file={file}"]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local" in printed
    assert "SERVICE FQDN" in printed
    for other in second.proxies:
        refused = first.run("experimental", "internal-debug", f"config_dump?proxyID={other}")
        assert refused.returncode != 0
        assert "code = NotFound" in refused.stderr
        assert f"no proxy {other} of cluster demo" in refused.stderr


def test_commands_without_istiod_need_no_debug_proxy(users: dict[str, User]) -> None:
    """By the user's own API server, with more rights there."""
    user = users[FIRST]
    name = min(user.proxies)
    printed = user.runs(user.administrator, "proxy-config", "clusters", name)
    assert f"{workloads.CALLED}.{workloads.NAMESPACE}.svc.cluster.local" in printed.stdout, printed.stderr
    analyzed = user.runs(user.administrator, "analyze", "--namespace", workloads.NAMESPACE)
    assert "No validation issues found" in analyzed.stdout + analyzed.stderr


@pytest.mark.parametrize("closed", CLOSED)
def test_other_pages_of_istiod_are_closed(users: dict[str, User], closed: str) -> None:
    refused = users[FIRST].run("experimental", "internal-debug", closed)
    assert refused.returncode != 0
    assert "code = PermissionDenied" in refused.stderr
    assert refused.stdout.strip() == ""


def test_the_difference_of_one_proxy_is_refused_with_another_command(users: dict[str, User], root: Path) -> None:
    user = users[FIRST]
    answer = user.asked(user.token(), root, "istio.io/debug/config_dump", min(user.proxies))
    assert answer.startswith("UNIMPLEMENTED: the difference of one proxy is not available: use istioctl proxy-config")


def test_the_other_users_token_is_refused(users: dict[str, User]) -> None:
    """By istioctl, with all rights in the own cluster: the other cluster's API server does not accept its token."""
    for user, other in (tuple(users.values()), tuple(users.values())[::-1]):
        refused = user.run("proxy-status", at=other.address)
        assert refused.returncode != 0
        assert "code = Unauthenticated" in refused.stderr
        assert f"the API server of cluster {CLUSTER_IDS[other.member]} does not accept the token" in refused.stderr
        assert not any(one in refused.stdout for one in (*user.proxies, *other.proxies))


def test_wrong_and_expired_tokens_are_refused(users: dict[str, User], root: Path) -> None:
    user = users[FIRST]
    own = user.token()
    assert user.asked(own, root).startswith("answered: ")
    refused = {
        "the token has expired": with_claims(own, exp=int(time.time()) - 1),
        "the API server of cluster demo does not accept the token": with_claims(own, exp=int(time.time()) + 9999),
        "the token has no audience istio-ca": user.token("default", f"-n={NAMESPACE}", "--audience=another"),
        "the token is not of a ServiceAccount in mesh-demo": user.token(
            workloads.CALLER, f"-n={workloads.NAMESPACE}", "--audience=istio-ca"
        ),
    }
    for words, token in refused.items():
        assert words in user.asked(token, root)
    # As with one that has expired there, the API server does not accept it any more.
    client = client_of(user.cluster)
    client.create(ServiceAccount.from_dict({"metadata": {"name": "gone", "namespace": NAMESPACE}}))
    gone = user.token("gone", f"-n={NAMESPACE}", "--audience=istio-ca")
    assert user.asked(gone, root).startswith("answered: ")
    client.delete(ServiceAccount, "gone", namespace=NAMESPACE)

    def rejected() -> None:
        # The API server remembers accepted tokens for 10 s.
        if "does not accept the token" not in (answer := user.asked(gone, root)):
            raise NotObserved(answer)

    eventually(rejected, seconds=120)


def test_istiod_itself_refuses_istioctl_and_reads_no_secret_for_the_debug_proxy(users: dict[str, User]) -> None:
    """Without the feature gatewayCertificates its gRPC port has no identity to check."""
    user = users[FIRST]
    refused = user.run("proxy-status", at=f"{user.deployed.mesh.host}:{user.deployed.mesh.xds_port}")
    assert refused.returncode != 0
    assert "code = Unauthenticated" in refused.stderr
    (pod,) = client_of(user.sandbox.control_plane).list(Pod, namespace=user.namespace)
    assert pod.spec
    assert pod.spec.automountServiceAccountToken is False
    assert [one.name for one in pod.spec.volumes or []] == ["server"]
