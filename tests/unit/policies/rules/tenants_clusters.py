"""Data planes that may be one tenant's: programs over them, and what the policies and prove say of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hosted_mesh_analysis.prove.verdict import Kind
from hosted_mesh_analysis.runner.places import Known
from hosted_mesh_policies.evaluation.settings import Settings

from tests.corpus import literals
from tests.corpus.simulated_engine import SERVERS, run
from tests.corpus.world import World, password
from tests.unit.analysis.prove.in_process import proven

CP, DP = SERVERS["cp"], SERVERS["dp"]
OTHER, THIRD = "https://other.example.com:6443", "https://third.example.com:6443"
PROXIED = [f"https://many.example.com/clusters/{name}" for name in "ab"]
Program = Callable[[World], Any]


def cluster(world: World, side: str, server: str, name: str = "") -> None:
    text = literals.kubeconfig(server, literals.opaque(side, 40))
    world._providers[side] = world.named_provider(name or f"{side}-cluster", text)


def clusters(world: World) -> None:
    cluster(world, "other", OTHER)
    cluster(world, "third", THIRD)


def token(world: World, side: str) -> Any:
    about = {"annotations": {"kubernetes.io/service-account.name": "argocd-manager"}}
    body = {"type": "kubernetes.io/service-account-token", "metadata": about}
    made = world.object(side, "v1:Secret", f"token-{side}", body).output("data")
    return made.apply(lambda data: (data or {}).get("token", "not made"))


def given(source: str, to: str) -> Program:
    def program(world: World) -> None:
        clusters(world)
        world.secret("cp", "beside", {"token": password("hubs").output("result")})
        world.secret(to, "cluster-second", {"bearer": token(world, source)})

    return program


def told(tenants: Sequence[str]) -> dict[str, Any]:
    return {"dataPlaneServers": [DP, OTHER, THIRD, *PROXIED], "dataPlaneTenants": list(tenants)}


def said(program: Program, tenants: Sequence[str], *, again: bool = False) -> list[str]:
    """What keeps the program from being deployed, or is said of it then."""
    state: dict[str, Any] = {}
    more = told(tenants)
    if again:
        run(program, preview=False, state=state, rules=(), more=more)
    _, found, evidence, _ = run(program, preview=True, state=state, more=more)
    if not found:
        refused, later, *_ = run(program, preview=False, state=state, evidence=evidence, more=more)
        found = [*refused, *later]
    return [one.message for one in found]


def leaks(program: Program, tenants: Sequence[str]) -> int:
    found = Settings.read({"x": {"controlPlaneServers": [CP], **told(tenants)}}).clusters
    theirs = (*found.data_plane_servers, *found.data_plane_providers)
    verdict = proven(program, rounds=1, known=Known(found.control_plane_servers, theirs, found.data_plane_tenants))
    assert verdict.problems == []
    return len(verdict.of(Kind.LEAK))
