"""NetworkPolicies as the kernel enforces them: real packets between the networks of nine Pods, case by case.

The rules are those that a node's agent makes; no cluster is needed.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from lightkube.resources.networking_v1 import NetworkPolicy

from sandbox.bootstrap import CHECKOUT
from sandbox.node.network_policies.rules import Isolated, table
from sandbox.node.network_policies.selection import Endpoint, World, allowed

HERE = Path(__file__).parent
CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load((HERE / "cases.yaml").read_text())
PODS = {f"{namespace}/{name}": f"10.88.{ord(namespace)}.{ord(name)}" for namespace in "xyz" for name in "abc"}
PAIRS = [f"{caller} > {called}" for caller, called in itertools.permutations(PODS, 2)]
PORTS = {(one, f"serve-{port}-{one.lower()}"): port for one in ("TCP", "UDP") for port in (80, 81)}


def rules(step: dict[str, Any]) -> str:
    """The node's rules after one step of a case."""
    more = step.get("labels", {})
    endpoints = [
        Endpoint(name[0], address, {"pod": name[2], **more.get(name, {})}, PORTS) for name, address in PODS.items()
    ]
    namespaces = {one: {"ns": one, "kubernetes.io/metadata.name": one, **more.get(one, {})} for one in "xyz"}
    world = World([policy(one) for one in step["policies"]], endpoints, namespaces)
    found = []
    for endpoint in endpoints:
        for direction in ("Ingress", "Egress"):
            if (through := allowed(endpoint, direction, world)) is not None:
                found.append(Isolated(endpoint.address, direction, tuple(through)))
    return table("policies-of-the-node", found)


def policy(written: dict[str, Any]) -> NetworkPolicy:
    text = json.dumps({name: value for name, value in written.items() if name != "namespace"})
    for name, address in PODS.items():
        text = text.replace(f"ADDRESS({name})", address)
    metadata = {"name": "case", "namespace": written.get("namespace", "x")}
    spec = {"podSelector": {}, **json.loads(text)}
    return cast(NetworkPolicy, NetworkPolicy.from_dict({"metadata": metadata, "spec": spec}))


def expected(one: dict[str, Any]) -> set[str]:
    """The pairs that are open: all, but those of `closed`, and again those of `open`."""
    found = set(PAIRS)
    for pattern in one.get("closed", []):
        found -= set(fnmatch.filter(PAIRS, pattern))
    for pattern in one.get("open", []):
        found |= set(fnmatch.filter(PAIRS, pattern))
    return found


@pytest.fixture(scope="module")
def seen(tools) -> dict[str, list[list[list[str]]]]:
    """What was open in each try of each step, by case: all in one run, for the networks are made only once."""
    order = [(name, step) for name, steps in CASES.items() for step in steps]
    tries = [[[one["port"], one.get("protocol", "TCP")] for one in step["tries"]] for _, step in order]
    asked = {
        "pods": PODS,
        "steps": [{"rules": rules(step), "tries": some} for (_, step), some in zip(order, tries, strict=True)],
    }
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", sys.executable, HERE / "matrix.py", tools["nft"]],
        input=json.dumps(asked),
        env={"PYTHONPATH": str(CHECKOUT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[list[str]]]] = {}
    for (name, _), answers in zip(order, json.loads(done.stdout), strict=True):
        found.setdefault(name, []).append(answers)
    return found


@pytest.mark.parametrize("name", CASES)
def test_conformance(name, seen):
    for number, (step, answers) in enumerate(zip(CASES[name], seen[name], strict=True)):
        for one, pairs in zip(step["tries"], answers, strict=True):
            wrong = expected(one) ^ set(pairs)
            assert not wrong, f"step {number + 1}, {one}: {sorted(wrong)}"


def test_a_case_says_something():
    """Every pattern means some pair: a misspelt one would expect nothing."""
    tried = [one for steps in CASES.values() for step in steps for one in step["tries"]]
    for pattern in itertools.chain.from_iterable([*one.get("closed", []), *one.get("open", [])] for one in tried):
        assert fnmatch.filter(PAIRS, pattern), pattern
