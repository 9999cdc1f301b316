"""The stack `root` serves all tenants although the stack of one of them is not deployed, or was destroyed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from cryptography import x509

from tests.engine.library.engine import Project, Stack
from tests.support.split import HERE

Config = dict[str, Any]


def permitted(certificate: str) -> list[str]:
    """The names that an intermediate may sign."""
    found = x509.load_pem_x509_certificate(certificate.encode()).extensions.get_extension_for_class(
        x509.NameConstraints
    )
    assert found.critical
    return [one.value for one in found.value.permitted_subtrees or ()]


@pytest.mark.usefixtures("clean")
def test_a_tenant_without_outputs_ends_no_others_run(project: Project, mesh: Config) -> None:
    def trust(tenant: str) -> Stack:
        document = copy.deepcopy(mesh) | {"name": "shop", "tenant": tenant}
        return project.stack(f"{tenant}-trust", {"stack": "trust", "mesh": document})

    acme, umbra, late = (trust(name) for name in ("acme", "umbra", "late"))
    acme.up()
    umbra.up()
    named = {f"{name}--shop": f"{HERE}/{name}-trust" for name in ("acme", "umbra", "late")}
    unprotected = {"root": {"protect": False}}
    root = project.stack("all-root", {"stack": "root", "root": {"name": "all", "trust": unprotected, "stacks": named}})
    first = root.up()
    assert f"root.stacks.late--shop: the stack {HERE}/late-trust has no outputs" in first.text, first.text
    before = root.outputs()["certificates"]
    assert before.keys() == {"acme--shop", "umbra--shop"}
    assert {name: permitted(pem) for name, pem in before.items()} == {
        f"{tenant}--shop": [f"shop.{tenant}.mesh.local", mesh["revisions"][0]["host"], "mesh-shop.svc"]
        for tenant in ("acme", "umbra")
    }

    umbra.destroy()
    again = root.up()
    assert f"root.stacks.umbra--shop: the stack {HERE}/umbra-trust has no outputs" in again.text, again.text
    assert again.summary() == {"deleted": 1, "unchanged": again.summary()["unchanged"]}
    assert root.outputs()["certificates"] == {"acme--shop": before["acme--shop"]}

    late.up()
    assert root.up().summary().get("created") == 1
    assert root.outputs()["certificates"].keys() == {"acme--shop", "late--shop"}
    # Another kind of stack is a mistake, not a missing tenant.
    wrong = {"name": "all", "trust": unprotected, "stacks": {**named, "acme--shop": f"{HERE}/all-root"}}
    other = project.stack("wrong-root", {"stack": "root", "root": wrong}).run("preview")
    assert other.code != 0
    assert "has no output 'request'" in other.text, other.text
    for stack in (root, late, acme):
        stack.destroy()
