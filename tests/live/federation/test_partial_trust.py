"""Two meshes with roots of their own: who gets across, whom a root may speak for, and what stays as it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Topology
from sandbox.engine.deployment import POLICY_PACK
from sandbox.progress import Progress
from sandbox.proof.deployed import NotObserved, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project
from tests.live.federation.breaking.federation import kubectl
from tests.live.federation.doctor.diagnosis import diagnosis
from tests.live.federation.meshes.federated import (
    CALLED,
    CALLER,
    HOST,
    KINDS,
    NAMESPACE,
    PLACES,
    PORT,
    STRANGER,
    Meshes,
    answered,
    federation,
    gateway_address,
    logged,
)
from tests.live.federation.meshes.three_meshes import asking, configuration
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.clusters import started
from tests.support.envoys import shown_by

# With each change tests/engine/library/test_bundles.py has gateways and callers judge certificates of several roots.
pytestmark = pytest.mark.nightly
# Each mesh's own, those that they move to, and one of nobody's.
ROOTS = {
    name: Authority(f"the root of {name}", ends=NOW + 3650 * DAY)
    for name in ("east", "west", "next east", "next west", "nobody")
}
AUTHORITIES = {name: Authority(f"an intermediate of {name}", root) for name, root in ROOTS.items()}
ASK = Path(__file__).parent / "programs/ask_gateway.py"
PAGE = f"spiffe://east.mesh.local/ns/{NAMESPACE}/sa/{CALLER}"
GATEWAY = "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"


@pytest.fixture(scope="module")
def meshes(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Meshes]:
    with started(tmp_path_factory.mktemp("partial"), tools, progress, topology=Topology.of(3)) as sandbox:
        project = Project.make(tmp_path_factory.mktemp("project"), sandbox, tools)
        made = Meshes(sandbox, tools, project, roots=ROOTS, with_egress=("east",))
        made.deploy()
        made.run_programs()
        for mesh in PLACES:
            federate(made, mesh)
        with closing(made):
            yield made


def document(egress: bool = False, **bundles: tuple[str, ...]) -> dict[str, Any]:
    """egress: east's calls leave through a gateway. bundles: names of roots, by mesh; by default each mesh's own."""
    given = federation(f"{NAMESPACE}/{CALLER}")
    if egress:
        given["peers"][0]["egress"] = {"gateway": "egress"}
    for one in given["peers"]:
        names = bundles.get(one["mesh"], (one["mesh"],))
        one["rootCertificate"] = "".join(pem(ROOTS[name].certificate).decode() for name in names)
    return {**given, "trust": "partial"}


def federate(meshes: Meshes, mesh: str, egress: bool = False, **bundles: tuple[str, ...]) -> None:
    """One mesh's stack, with the policies on."""
    stack = meshes.stack(mesh, document(egress, **bundles))
    stack.succeed("up", "--yes", "--skip-preview", "--policy-pack", str(POLICY_PACK))


def test_a_call_crosses_between_two_roots_and_the_gateway_sees_who_calls(meshes: Meshes) -> None:
    headers = answered(meshes, CALLER, 200)
    at_gateway, at_workload = headers["x-forwarded-client-cert"].split(",")
    assert at_gateway.startswith(f"By={GATEWAY};")
    assert at_gateway.endswith(f"URI={PAGE}")
    assert at_workload.endswith(f"URI={GATEWAY}")


def test_who_is_not_named_is_refused_at_the_gateway(meshes: Meshes) -> None:
    answered(meshes, CALLER, 200)
    answered(meshes, STRANGER, 403)


def got(meshes: Meshes, directory: Path, authority: str, spiffe: str) -> str:
    """What west's gateway answers to somebody between the clusters who shows this certificate."""
    shown = directory / "shown.pem"
    shown.write_bytes(shown_by(AUTHORITIES[authority], spiffe))
    (address,) = meshes.between.here().resolve(gateway_address("west"))
    command = [*meshes.sandbox.enter("wan"), sys.executable, "-I", str(ASK), address, "15443", HOST, str(shown)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_root_speaks_for_its_own_trust_domain_alone(meshes: Meshes, tmp_path: Path) -> None:
    answered(meshes, CALLER, 200)
    assert got(meshes, tmp_path, "east", PAGE) == "200"  # so what is refused is not refused for another reason
    assert got(meshes, tmp_path, "east", f"spiffe://east.mesh.local/ns/{NAMESPACE}/sa/{STRANGER}") == "403"
    of_west = f"spiffe://west.mesh.local/ns/{NAMESPACE}/sa/{CALLED}"
    for authority, spiffe in (("nobody", PAGE), ("nobody", of_west), ("east", of_west), ("west", PAGE)):
        assert (authority, spiffe, got(meshes, tmp_path, authority, spiffe)) == (authority, spiffe, "refused")


def validators(meshes: Meshes, mesh: str, name: str, namespace: str) -> dict[str, set[str]]:
    """Where a proxy verifies by bundles of trust domains, and by whose: clusters, and server names of listeners."""
    found: dict[str, set[str]] = {}
    for part in json.loads(configuration(meshes, mesh, name, namespace))["configs"]:
        made = {one["cluster"]["name"]: one for one in part.get("dynamic_active_clusters", [])}
        for one in part.get("dynamic_listeners", []):
            for chain in one["active_state"]["listener"].get("filter_chains", []):
                names = chain.get("filter_chain_match", {}).get("server_names", [])
                made[",".join(names) or f"a chain of {one['name']}"] = chain
        found |= {where: domains for where, one in made.items() if (domains := set(trust_domains(one)))}
    return found


def trust_domains(made: Any) -> Iterator[str]:
    if isinstance(made, dict):
        yield from (one["name"] for one in made.get("trust_domains", []))
    if isinstance(made, dict | list):
        for part in made.values() if isinstance(made, dict) else made:
            yield from trust_domains(part)


def test_nothing_else_of_a_mesh_is_verified_by_a_peers_root(meshes: Meshes) -> None:
    answered(meshes, CALLER, 200)
    imported = {f"outbound|{PORT}||{HOST}": {"west.mesh.local"}}
    assert validators(meshes, "east", CALLER, NAMESPACE) == imported
    assert validators(meshes, "west", "eastwest", "mesh-west") == {HOST: {"east.mesh.local"}}
    assert validators(meshes, "west", CALLED, NAMESPACE) == {}


def test_a_mesh_moves_to_another_root_while_both_are_in_its_bundle(meshes: Meshes, tmp_path: Path) -> None:
    """And who calls meanwhile loses nothing."""
    answered(meshes, CALLER, 200)
    assert got(meshes, tmp_path, "next east", PAGE) == "refused"
    both = {mesh: (mesh, f"next {mesh}") for mesh in PLACES}
    with asking(meshes) as answers:
        for mesh in PLACES:
            federate(meshes, mesh, **both)

        def known() -> None:
            if (answer := got(meshes, tmp_path, "next east", PAGE)) != "200":
                raise NotObserved(f"with the new root: {answer}")

        eventually(known, seconds=120)
        assert got(meshes, tmp_path, "east", PAGE) == "200"
        for mesh in PLACES:
            federate(meshes, mesh, egress=True)
    assert answers.keys() == {f"200 {meshes.pod('west', CALLED).metadata.name}"}, answers


def test_through_an_egress_gateway_both_verify_each_other_as_before(meshes: Meshes) -> None:
    """East's calls have left through it since the bundles shrank. It passes TLS on, so no chain of it has a peer's
    root: as a proxy of the mesh it may itself call what is imported, and that is all."""
    headers = answered(meshes, CALLER, 200)
    assert headers["x-forwarded-client-cert"].split(",")[0].endswith(f"URI={PAGE}")
    answered(meshes, STRANGER, 403)
    logged(meshes, "east", "egress", HOST)
    assert validators(meshes, "east", "egress", "mesh-east") == {f"outbound|{PORT}||{HOST}": {"west.mesh.local"}}


def test_a_caller_does_not_believe_a_gateway_of_another_root_and_doctor_says_so(meshes: Meshes) -> None:
    """East is told another root of west, whose gateway it reaches through its egress gateway. Within east nothing
    changes."""
    answered(meshes, CALLER, 200)
    assert {mesh: diagnosis(meshes, mesh, given=document(egress=True)) for mesh in PLACES} == {"east": {}, "west": {}}
    federate(meshes, "east", egress=True, west=("nobody",))
    answered(meshes, CALLER, 503)
    own = meshes.call(CALLER, host=f"{STRANGER}.{NAMESPACE}")
    assert own[0] == 200
    found = diagnosis(meshes, "east", given=document(egress=True, west=("nobody",)))
    assert found == {"port 15443 of the gateway of west": "another-root"}
    federate(meshes, "east", egress=True)
    answered(meshes, CALLER, 200)


def test_a_mesh_that_leaves_leaves_nothing(meshes: Meshes) -> None:
    selector, kinds = "--selector=hosted-mesh.io/federation", f"{KINDS},envoyfilters"
    for mesh in PLACES:
        assert "envoyfilter" in kubectl(meshes, mesh, "get", kinds, "--all-namespaces", selector, "--output=name")
        meshes.stack(mesh, document(egress=True)).destroy()
        assert kubectl(meshes, mesh, "get", kinds, "--all-namespaces", selector, "--output=name") == ""
