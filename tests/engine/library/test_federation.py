"""A mesh's part of a federation on the real engine and a real API server: made, kept right, and taken away whole."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters.credentials.certificates import new_authority
from sandbox.engine.deployment import POLICY_PACK
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.engine.library.lost_states import taken_in

Config = dict[str, Any]
BOOKS = "federation-books"
KINDS = (
    "gateways.networking.istio.io,virtualservices,serviceentries,destinationrules,authorizationpolicies,envoyfilters"
)
AUDIENCE = [{"mesh": "east", "identities": ["books/page"]}]
SELECTED = {"namespace": BOOKS, "labels": {"export": "yes"}, "to": AUDIENCE}
NAMED = {"namespace": BOOKS, "service": "reviews", "port": 9080, "to": AUDIENCE}


@pytest.fixture
def namespaces(user: Api, tools: Tools) -> Iterator[None]:
    """Istio's definitions, and the namespaces that the stacks of the meshes make."""
    with user.with_istio(tools, "mesh-east", "mesh-west", BOOKS):
        yield


def federation(export: Config) -> Config:
    wishes = [{"meshes": ["west"], "namespace": BOOKS}]
    peers = [
        {"mesh": "east", "gateway": {"address": "eastwest.east.example.com"}, "imports": wishes},
        {"mesh": "west", "gateway": {"address": "192.0.2.7"}, "exports": [export]},
    ]
    return {"name": "shops", "domain": "shops.example.com", "peers": peers}


def member(project: Project, mesh: Config, name: str, document: Config, *offers: Config) -> Stack:
    cluster = mesh["memberships"][0]["cluster"]
    config = {"stack": "federation", "federation": document, "member": {"mesh": name, "cluster": cluster}}
    return project.stack(f"federation-{name}", {**config, **({"offers": list(offers)} if offers else {})})


def offered(document: Config, user: Api, directory: Path) -> Config:
    """What `hosted-mesh exports` prints for west."""
    file = directory / "federation.yaml"
    file.write_text(yaml.safe_dump(document))
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "exports", str(file)]
    options = ["--mesh", "west", "--kubeconfig", str(user.cluster.kubeconfig)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    printed: Config = yaml.safe_load(done.stdout)
    return printed


def existing(user: Api, namespace: str) -> set[str]:
    found = user.get(KINDS, "-n", namespace)["items"]
    return {f"{one['kind']} {one['metadata']['name']}" for one in found}


@pytest.mark.usefixtures("clean", "namespaces")
def test_services_come_and_go_with_their_labels_and_a_mesh_leaves_whole(
    project: Project, mesh: Config, user: Api, tmp_path: Path
) -> None:
    for name in ("one", "two", "database"):  # as kubectl names their ports they speak TCP
        assert user.kubectl("create", "service", "clusterip", name, "-n", BOOKS, "--tcp=80:8080").code == 0
    speaks_http = '--patch=[{"op": "add", "path": "/spec/ports/0/appProtocol", "value": "http"}]'
    for name in ("one", "two"):
        assert user.kubectl("patch", "service", name, "-n", BOOKS, "--type=json", speaks_http).code == 0
    assert user.kubectl("label", "service", "one", "-n", BOOKS, "export=yes").code == 0
    document = federation(SELECTED)
    offer = offered(document, user, tmp_path)

    west = member(project, mesh, "west", document, offer)
    west.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    host = f"one.{BOOKS}.shops.example.com"
    assert existing(user, "mesh-west") == {"Gateway shops", "AuthorizationPolicy shops", f"VirtualService shops-{host}"}
    east = member(project, mesh, "east", document, offer)
    east.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    imported = {f"ServiceEntry shops-{host}", f"DestinationRule shops-{host}"}
    assert existing(user, "mesh-east") == {"AuthorizationPolicy shops", *imported}
    assert east.outputs()["hosts"] == [host]
    assert east.up().summary().keys() == {"unchanged"}

    for stack in (west, east):
        taken_in(stack, tmp_path, user)

    # Another service gets the label: the same two commands, on the side that has it and on the side that wants it.
    assert user.kubectl("label", "service", "two", "database", "-n", BOOKS, "export=yes").code == 0
    offer = offered(document, user, tmp_path)
    more = member(project, mesh, "east", document, offer).up()
    assert more.summary()["created"] == 2
    assert f"imports[0] of east: does not import database.{BOOKS}.shops.example.com of west, which is TCP" in more.text
    assert user.kubectl("delete", "service", "one", "two", "database", "-n", BOOKS).code == 0
    offer = offered(document, user, tmp_path)
    required = copy.deepcopy(document)
    required["peers"][0]["imports"][0]["required"] = True
    refused = member(project, mesh, "east", required, offer).run("preview")
    assert refused.code != 0
    assert "imports[0] of east: names a service that west does not export to east" in refused.text
    assert "Traceback" not in refused.text

    # Without `required` the import goes, and the mesh's own part stays.
    notice = "imports[0] of east: is left out for west, which exports no such service to east"
    east = member(project, mesh, "east", document, offer)
    assert east.succeed("preview").text.rpartition("Diagnostics:")[2].count(notice) == 1
    withdrawn = east.up()
    assert withdrawn.text.rpartition("Diagnostics:")[2].count(notice) == 1
    assert withdrawn.summary()["deleted"] == 4
    assert existing(user, "mesh-east") == {"AuthorizationPolicy shops"}
    assert east.outputs()["hosts"] == []

    for stack in (east, west):
        stack.destroy()
    assert existing(user, "mesh-east") | existing(user, "mesh-west") == set()


HERE = "organization/hosted-mesh"


def known(project: Project, name: str, outputs: Config) -> None:
    """A stack with these outputs and no other resource."""
    stack, kind = project.stack(name, {}), "pulumi:pulumi:Stack"
    resource = {"urn": f"urn:pulumi:{name}::hosted-mesh::{kind}::hosted-mesh-{name}", "custom": False, "type": kind}
    manifest = {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}
    state = {"version": 3, "deployment": {"manifest": manifest, "resources": [{**resource, "outputs": outputs}]}}
    file = project.directory / f"{name}.state.json"
    file.write_text(json.dumps(state))
    done = project._call(["stack", "import", "--force", "--stack", name, "--file", str(file)], project.directory)
    assert done.code == 0, done.text
    assert stack.outputs() == outputs


@pytest.mark.usefixtures("clean", "namespaces")
def test_addresses_roots_and_offers_come_from_outputs_of_the_peers_stacks(
    project: Project, mesh: Config, user: Api, tmp_path: Path
) -> None:
    """A stack that was not run yet offers nothing, so meshes that import from each other can begin."""
    assert user.kubectl("create", "service", "clusterip", "one", "-n", BOOKS, "--tcp=80:8080").code == 0
    change = '--patch=[{"op": "add", "path": "/spec/ports/0/appProtocol", "value": "http"}]'
    assert user.kubectl("patch", "service", "one", "-n", BOOKS, "--type=json", change).code == 0
    assert user.kubectl("label", "service", "one", "-n", BOOKS, "export=yes").code == 0
    document = federation(SELECTED)
    offer = offered(document, user, tmp_path)
    document["peers"][1]["gateway"] = {}
    root = new_authority("root of west").certificate.decode()
    known(project, "data-plane-west", {"gateway_addresses": {"mesh-west/eastwest": ["192.0.2.77"]}})
    known(project, "root-west", {"certificate": root})
    references = {
        "dataPlanes": {"west": f"{HERE}/data-plane-west"},
        "roots": {"west": f"{HERE}/root-west"},
        "federations": {"west": f"{HERE}/federation-west"},
    }
    cluster = mesh["memberships"][0]["cluster"]

    def stack(name: str, **more: Any) -> Stack:
        config = {"stack": "federation", "federation": document, "member": {"mesh": name, "cluster": cluster}}
        return project.stack(f"federation-{name}", {**config, **more})

    alone = stack("east").run("preview")
    assert (alone.code != 0, "peers[1].gateway.address: is required" in alone.text) == (True, True)
    others = {key: value for key, value in references.items() if key != "federations"}
    west = stack("west", references=others, offers=[offer])
    east = stack("east", references=references)
    first = east.up()
    assert "references.federations.west: the stack has no output offer yet" in first.text
    assert east.outputs()["hosts"] == []

    west.succeed("up", "--yes")
    assert west.outputs()["offer"] == offer
    east.up()
    host = f"one.{BOOKS}.shops.example.com"
    assert east.outputs()["hosts"] == [host]
    (entry,) = user.get("serviceentries.networking.istio.io", "-n", "mesh-east")["items"]
    assert entry["spec"]["endpoints"] == [{"address": "192.0.2.77", "ports": {"http": 15443}}]
    assert east.up().summary().keys() == {"unchanged"}

    known(project, "data-plane-west", {"gateway_addresses": {"mesh-west/eastwest": []}})
    gone = east.run("preview")
    assert "gateway.address of west: is missing, and the stack data-plane of west has no address" in gone.text
    assert "Traceback" not in gone.text
    known(project, "data-plane-west", {"gateway_addresses": {"mesh-west/eastwest": ["192.0.2.77"]}})
    wrong = stack("east", references={**references, "federations": {"east": f"{HERE}/federation-west"}}).run("preview")
    assert "references.federations.east: names this mesh itself" in wrong.text
    for one in (stack("east", references=references), stack("west", references=others, offers=[offer])):
        one.destroy()


@pytest.mark.usefixtures("clean", "namespaces")
def test_roots_of_peers_are_put_where_the_callers_are_and_go_with_the_mesh(
    project: Project, mesh: Config, user: Api
) -> None:
    document = {**federation(NAMED), "trust": "partial"}
    for one in document["peers"]:
        one["rootCertificate"] = new_authority(f"root of {one['mesh']}").certificate.decode()
    document["peers"][0]["imports"][0]["namespaces"] = [BOOKS, "mesh-east"]
    filters = {f"EnvoyFilter shops-reviews.{BOOKS}.shops.example.com"}
    stacks = [member(project, mesh, name, document) for name in ("west", "east")]
    for stack in stacks:
        stack.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
        assert stack.up().summary().keys() == {"unchanged"}
    assert existing(user, BOOKS) == filters
    assert filters < existing(user, "mesh-east")
    assert "EnvoyFilter shops" in existing(user, "mesh-west")
    for stack in stacks:
        stack.destroy()
    assert existing(user, "mesh-east") | existing(user, "mesh-west") | existing(user, BOOKS) == set()


@pytest.mark.usefixtures("clean", "namespaces")
def test_what_leads_on_from_an_egress_gateway_is_there_before_callers_are_sent_to_it_and_goes_with_it(
    project: Project, mesh: Config, user: Api
) -> None:
    """The engine makes an object after those that it depends on, and deletes it before them."""
    direct, through = federation(NAMED), federation(NAMED)
    through["peers"][0]["egress"] = {"gateway": "egress"}
    host = f"reviews.{BOOKS}.shops.example.com"
    imported = {"AuthorizationPolicy shops", f"ServiceEntry shops-{host}", f"DestinationRule shops-{host}"}
    ways = {f"{kind} shops-egress-west" for kind in ("Gateway", "VirtualService", "ServiceEntry", "DestinationRule")}

    east = member(project, mesh, "east", through)
    east.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    assert existing(user, "mesh-east") == imported | ways
    assert east.outputs()["hosts"] == [host]
    resources = {one["urn"].rpartition("::")[2]: one for one in east.export()["deployment"]["resources"]}
    (entry,) = [one for name, one in resources.items() if name.endswith(f"serviceentry-shops-{host}")]
    before = {urn.rpartition("::")[2].removeprefix("shops-east-") for urn in entry["dependencies"]}
    assert before == {way.lower().replace(" ", "-") for way in ways}
    member(project, mesh, "east", direct).up()
    assert existing(user, "mesh-east") == imported
    east.destroy()


def test_exports_by_label_need_to_be_read(tmp_path: Path) -> None:
    file = tmp_path / "federation.yaml"
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "exports", str(file)]
    for export, code, said in ((SELECTED, 1, "--kubeconfig: is required"), (NAMED, 0, "")):
        file.write_text(yaml.safe_dump(federation(export)))
        done = subprocess.run([*command, "--mesh", "west"], capture_output=True, text=True, timeout=240)
        assert (done.returncode, said in done.stderr) == (code, True)
