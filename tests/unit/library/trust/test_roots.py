"""`trust.roots`: the keys, certificates and signatures that a MeshRoot registers, and lists that are rejected."""

from __future__ import annotations

from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.trust import Trust

from tests.unit.library.program import run

REQUEST = "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"
PEMS = {name: {"certPem": f"{name}\n"} for name in ("demo-root-certificate", "demo-next-root-certificate")}


def registered(roots: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The registrations by name, and the output `certificate`."""
    certificates: list[str] = []

    def program() -> None:
        trust: Any = {"roots": roots} if roots else {}
        made = hosted_mesh.MeshRoot("demo", {"requests": {"shop": REQUEST}, "trust": trust})
        made.certificate.apply(certificates.append)

    return {one.name: one for one in run(program, outputs=PEMS)}, certificates


def test_a_list_of_the_first_root_alone_is_no_list() -> None:
    alone, listed = (
        {name: (one.type, one.inputs) for name, one in registered(roots)[0].items()}
        for roots in ({}, {"first": "signing"})
    )
    assert alone == listed


@pytest.mark.parametrize(
    ("roots", "signer", "bundle"),
    [
        ({"first": "signing", "next": "trusted"}, "demo-root", ["demo-root", "demo-next-root"]),
        ({"next": "signing", "first": "trusted"}, "demo-next-root", ["demo-root", "demo-next-root"]),
        ({"first": "retired", "next": "signing"}, "demo-next-root", ["demo-next-root"]),
        ({"next": "signing"}, "demo-next-root", ["demo-next-root"]),
    ],
)
def test_one_root_signs_and_the_trusted_ones_are_in_the_bundle(
    roots: dict[str, str], signer: str, bundle: list[str]
) -> None:
    made, certificates = registered(roots)
    assert made["demo-signs-shop"].inputs["caCertPem"] == f"{signer}-certificate\n"
    assert certificates == ["".join(f"{name}-certificate\n" for name in bundle)]
    keys = {name for name in made if name.endswith("-root-key")}
    assert keys == {"demo-root-key" if name == "first" else f"demo-{name}-root-key" for name in roots}
    assert all(made[name].protect for name in keys)


@pytest.mark.parametrize(
    ("trust", "rule"),
    [
        ({"roots": {"first": "trusted"}}, "roots has 0 roots that are signing, but exactly one signs"),
        ({"roots": {"first": "signing", "next": "signing"}}, "roots has 2 roots that are signing"),
        (
            {"roots": {"first": "signing"}, "management": "brought"},
            "roots are of this program, but",
        ),
        ({"roots": {"First!": "signing"}}, "roots"),
        ({"goOn": "why not"}, "goOn: must be the reason, one line of 3 words or more"),
    ],
)
def test_lists_that_are_rejected(trust: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInputError, match=rule):
        read_document(Trust, trust)
