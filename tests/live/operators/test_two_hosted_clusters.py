"""Two hosted clusters with OLM on one control plane: neither one's user reaches the other, and one goes alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox import toolchain
from sandbox.clusters import Topology
from sandbox.engine.example_catalog import OLM
from sandbox.engine.operators import POOL
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import FOR_OPERATORS
from tests.engine.library.engine import Api, Project
from tests.live.operators.hosting import Hosting, document_of
from tests.support.clusters import started
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly
KINDS = "deployments,services,configmaps,secrets,networkpolicies,serviceaccounts,resourcequotas"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[tuple[Hosting, Hosting]]:
    tools = toolchain.ensure(also=FOR_OPERATORS, progress=progress)
    directory = tmp_path_factory.mktemp("operators")
    with started(directory / "state", tools, progress, topology=Topology.of(3)) as sandbox:
        project = Project.make(directory / "project", sandbox, tools)
        hosted = (sandbox.clusters[name] for name in ("data-plane", "data-plane-2"))
        found = []
        for name, cluster in zip(("north", "south"), hosted, strict=True):
            document = document_of(cluster, name, f"{name}.sandbox.test")
            one = Hosting(sandbox, tools, project, cluster, document, f"operators-{name}")
            one.user("label", "nodes", "--all", "example.com/pool=operators")
            one.stack().succeed("up", "--yes")
            found.append(one)
        yield found[0], found[1]


def objects(api: Api, namespace: str) -> dict[str, str]:
    """Each object of a namespace without its status, as stored."""
    items = api.get(KINDS, "-n", namespace)["items"]
    return {
        f"{one['kind']}/{one['metadata']['name']}": json.dumps({**one, "status": None}, sort_keys=True) for one in items
    }


def secrets(api: Api, namespace: str) -> list[bytes]:
    """Values of a namespace's Secrets, the longer ones."""
    found = [
        value for one in api.get("secrets", "-n", namespace)["items"] for value in (one.get("data") or {}).values()
    ]
    return [value for value in map(base64.b64decode, found) if len(value) >= 32]


def is_token_or_key(value: bytes) -> bool:
    return value.startswith(b"ey") or b"PRIVATE KEY" in value


def test_each_installs_from_its_own_catalog_on_its_own_nodes(both: tuple[Hosting, Hosting]) -> None:
    for one in both:
        one.subscribe("stable")
    for one in both:
        one.eventually(lambda one=one: one.has("demo.v1.0.0"), f"{one.namespace}: demo.v1.0.0 is installed")
        (pod,) = one.user.get("pods", "-n", "operators")["items"]
        assert pod["spec"]["nodeSelector"] == POOL
        running = [each for each in one.processes() if each["program"] != "opm"]
        print(f"\n{one.namespace}: {sum(each['anonymous'] for each in running) / 1e6:.0f} MB anonymous")


def test_no_secret_of_one_is_in_the_other(both: tuple[Hosting, Hosting]) -> None:
    """Tokens and keys, in every byte of each hosted cluster's etcd."""
    for one, other in (both, both[::-1]):
        wanted = [value for value in secrets(other.provider, other.namespace) if is_token_or_key(value)]
        assert wanted
        stored = b"\n".join(value for _, value in one.hosted.etcd_items())
        assert not [value for value in wanted if value in stored]
        # The search finds what is there: a token of its own account.
        own = [value for value in secrets(one.provider, one.namespace) if value.startswith(b"ey")]
        assert [value for value in own if value in stored]


def test_one_user_reaches_neither_the_others_catalog_nor_its_packages(both: tuple[Hosting, Hosting]) -> None:
    one, other = both

    def state(name: str) -> Any:
        found = one.olm("catalogsources", "hostile").get(name, {}).get("status", {})
        return found.get("connectionState", {}).get("lastObservedState", "")

    one.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hostile"}})
    for name, hosting in (("own", one), ("others", other)):
        address = f"catalog-provider.{hosting.namespace}.svc:50051"
        spec = {"sourceType": "grpc", "address": address}
        metadata = {"name": name, "namespace": "hostile"}
        one.apply({"apiVersion": f"{OLM}/v1alpha1", "kind": "CatalogSource", "metadata": metadata, "spec": spec})
    eventually(lambda: state("own") == "READY", "its own catalog is reached")
    eventually(lambda: state("others") == "TRANSIENT_FAILURE", "the other one's is not")
    one.user.run("delete", "namespace", "hostile")

    # An administrator of the one has no rights at the other one's packageserver.
    one.user("create", "serviceaccount", "caller", "-n", "default")
    role = ("--clusterrole=cluster-admin", "--serviceaccount=default:caller")
    one.user("create", "clusterrolebinding", "caller", *role)
    token = one.user("create", "token", "caller", "-n", "default").strip()
    answers = []
    for hosting in both:
        host = hosting.document["packageServer"]["host"]
        options = ("--kubeconfig=/dev/null", "--insecure-skip-tls-verify", f"--server=https://{host}")
        path = "/apis/packages.operators.coreos.com/v1/namespaces/default/packagemanifests"
        command = [
            str(one.tools["kubectl"]),
            "--kubeconfig=/dev/null",
            *options,
            f"--token={token}",
            "get",
            "--raw",
            path,
        ]
        # From the hosted cluster that the load balancer admits: the token is the only difference.
        done = one.sandbox.run(hosting.hosted.name, command, capture_output=True, text=True, timeout=60)
        answers.append(done.stdout + done.stderr)
    assert '"kind":"PackageManifestList"' in answers[0]
    assert "Unauthorized" in answers[1]


def test_one_is_removed_and_the_others_objects_stay_as_they_were(both: tuple[Hosting, Hosting]) -> None:
    one, other = both
    before = objects(other.provider, other.namespace), other.olm("catalogsources", "olm").keys()
    one.remove()
    one.stack().destroy()
    assert one.provider("get", "namespace", one.namespace, "--ignore-not-found") == ""
    assert (objects(other.provider, other.namespace), other.olm("catalogsources", "olm").keys()) == before
    other.remove()
    other.subscribe("stable")
    other.eventually(lambda: other.has("demo.v1.0.0"), "the other one installs as before")
    other.remove()
    other.stack().destroy()
