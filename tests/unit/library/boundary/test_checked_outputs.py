"""An Output is held to the rule of a plain value, when it is known: one message with the field's name, no value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.boundary.arguments import outputs_of
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.unit.library.boundary.endpoint_outputs import (
    GOOD,
    TOKEN,
    TOKENS,
    VALUE,
    access,
    bridge,
    control_plane,
    edge,
    later,
)
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")


JUNK = {"empty": "", "none": None, "text": VALUE, "no kubeconfig": f'{{"users": ["{VALUE}"]}}'}


def refused(program: Callable[[], Any], *, outputs: dict[str, Any] | None = None) -> str:
    found: list[Registered] = []
    with pytest.raises(InvalidInputError) as error:
        run(program, outputs=outputs, into=found)
    assert VALUE not in str(error.value)
    assert VALUE not in json.dumps([one.inputs for one in found])
    return str(error.value)


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("form", [later, lambda value: value])
def test_istiods_kubeconfig(form: Any, junk: str) -> None:
    words = refused(lambda: control_plane(kubeconfigs={"default": form(JUNK[junk])}))
    assert "cannot be used, kubeconfigs.default: " in words


@pytest.mark.parametrize("holder", ["publisher", "reader"])
@pytest.mark.parametrize("junk", JUNK)
def test_the_dns_bridges_kubeconfigs(holder: str, junk: str) -> None:
    assert f"{holder}_kubeconfigs.north: is " in refused(lambda: bridge(JUNK[junk], holder))


def test_istiods_authority_is_whole() -> None:
    lacking = dict.fromkeys(FILES, CERTIFICATE) | {"root-cert.pem": ""}
    assert "cacerts: lacks root-cert.pem" in refused(lambda: control_plane(cacerts=later(lacking)))
    assert "cacerts: lacks ca-cert.pem" in refused(lambda: control_plane(cacerts=later(VALUE)))
    assert "root_certificate: must be PEM" in refused(lambda: control_plane(root_certificate=later(VALUE)))


def test_a_kubeconfig_that_the_library_made_is_sent_as_it_is() -> None:
    found = run(lambda: control_plane(kubeconfigs={"default": later(GOOD)}))
    (secret,) = [one for one in found if one.name == "demo-istio-kubeconfig"]
    assert "stringData" in secret.secrets
    assert secret.inputs["stringData"]["config"] == GOOD


def test_a_kubeconfig_that_is_not_known_yet_is_not_judged() -> None:
    async def program() -> None:
        unknown: Any = pulumi.Output(set(), _nothing(), _no())
        assert not await account_kubeconfig(unknown, KubeconfigRequest(), "Give it").is_known()

    run(program, preview=True)


async def _nothing() -> Any:
    return None


async def _no() -> bool:
    return False


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("api_server", ""),
        ("api_server", None),
        ("api_server", f"https://{VALUE}@host"),
        ("api_server", "http://host"),
        ("certificate_authority", ""),
        ("certificate_authority", VALUE),
        ("certificate_authority", f"{CERTIFICATE}-----BEGIN PRIVATE KEY-----\n{VALUE}"),
    ],
)
def test_where_the_data_planes_api_server_is(field: str, value: Any) -> None:
    written = {"api_server": "access.apiServer: ", "certificate_authority": "access.certificateAuthority: "}[field]
    assert written in refused(lambda: access(**{field: later(value)}), outputs=TOKENS)
    assert f"{field}: " in refused(lambda: edge(**{field: later(value)}), outputs=TOKENS)


@pytest.mark.parametrize("given", [lambda text: text, later], ids=["plain", "Output"])
def test_who_lacks_an_authority_is_told_where_to_give_it(given: Callable[[str], Any]) -> None:
    """A program has many data planes, and an edge no `access`."""
    config = json.loads(GOOD)
    del config["clusters"][0]["cluster"]["certificate-authority-data"]

    def cluster() -> hosted_mesh.DataPlaneCluster:
        return hosted_mesh.DataPlaneCluster(kubeconfig=given(json.dumps(config)))

    def with_access() -> None:
        hosted_mesh.DataPlaneAccess("demo-eu", {"mesh": "demo", "cluster": cluster()})

    def with_edge() -> None:
        hosted_mesh.DnsEdge("north", {"edge": {"name": "north"}, "cluster": cluster()})

    answers = TOKENS | {"demo-eu-istiod-token-1": TOKEN}
    told = refused(with_access, outputs=answers)
    assert told.startswith("DataPlaneAccess demo-eu cannot be used, access.certificateAuthority: is required")
    told = refused(with_edge, outputs=answers)
    assert told.startswith("DnsEdge north cannot be used, certificate_authority: is required")


def test_good_ones_arrive() -> None:
    told: list[str] = []

    def program() -> None:
        given = outputs_of(
            {"api_server": later("https://h:1/"), "certificate_authority": later(CERTIFICATE), "token": "x"}
        )
        pulumi.Output.all(**given).apply(lambda found: told.extend(found.values()))

    run(program)
    assert told == ["https://h:1", CERTIFICATE]
