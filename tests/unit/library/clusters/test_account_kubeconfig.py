"""A kubeconfig that a data plane's owner hands over: a server, an authority and a token are taken from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.dns.documents import document as dns_document
from tests.unit.library.dns.documents import provider
from tests.unit.library.documents import CERTIFICATE, document
from tests.unit.library.program import Registered, run

pytestmark = pytest.mark.usefixtures("without_transforms")
SERVER, VALUE = "https://api.user.example.com:6443", "s3cr3t"
Program = Callable[[str], None]


def good(cluster: str, server: str = SERVER) -> str:
    return for_account(cluster, server, CERTIFICATE, "t0k3n")


def changed(path: str, value: Any, *, cluster: str = "demo") -> str:
    """A good one with a value at `users.0.user.exec`, for one; without the key where None is given."""
    whole = json.loads(good(cluster))
    *parents, last = path.split(".")
    part: Any = whole
    for step in parents:
        part = part[int(step)] if isinstance(part, list) else part[step]
    if isinstance(part, list):
        part.append(value)
    elif value is None:
        del part[last]
    else:
        part[last] = value
    return json.dumps(whole)


def istiod(text: str, **changes: Any) -> None:
    hosted_mesh.ExternalControlPlane(
        "demo",
        {
            "mesh": read_document(Mesh, document(changes)).arguments(),
            "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=good("demo")),
            "kubeconfigs": {"default": pulumi.Output.from_input(text)},
            "root_certificate": CERTIFICATE,
            "cacerts": dict.fromkeys(FILES, CERTIFICATE),
        },
    )


def bridge(text: str, server: str = SERVER) -> None:
    edges = dns_document(provider(), edges=("demo",))
    edges["edges"][0]["apiServer"] = server
    arguments: Any = {
        "bridge": edges,
        "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=good("demo")),
        "credentials": {"inner": {"username": "bridge", "password": "x"}},
        "publisher_kubeconfigs": {"demo": good("demo", server)},
        "reader_kubeconfigs": {"demo": pulumi.Output.from_input(text)},
    }
    hosted_mesh.ExternalDNSBridge("names", arguments)


def refused(program: Program, text: str) -> str:
    """What is said, in which no value is; nothing of the text was sent either."""
    found: list[Registered] = []
    with pytest.raises(InvalidInputError) as error:
        run(lambda: program(text), into=found)
    assert VALUE not in str(error.value)
    assert VALUE not in json.dumps([one.inputs for one in found])
    return str(error.value)


@pytest.mark.parametrize("program", [istiod, bridge])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("users.0.user.exec", {"command": VALUE}),
        ("users.0.user.auth-provider", {"name": VALUE}),
        ("users.0.user.tokenFile", f"/{VALUE}"),
        ("users.0.user.client-certificate", f"/{VALUE}"),
        ("users.0.user.client-certificate-data", VALUE),
        ("users.0.user.client-key", f"/{VALUE}"),
        ("users.0.user.client-key-data", VALUE),
        ("users.0.user.username", VALUE),
        ("users.0.user.as", VALUE),
        ("users.0.user.Exec", {"command": VALUE}),  # Go's decoder takes keys in any case
        ("clusters.0.cluster.certificate-authority", f"/{VALUE}"),
        ("clusters.0.cluster.insecure-skip-tls-verify", True),
        ("clusters.0.cluster.proxy-url", f"https://{VALUE}"),
        ("clusters.0.cluster.tls-server-name", VALUE),
        ("contexts.0.context.namespace", VALUE),
        ("extensions", [VALUE]),
    ],
)
def test_what_else_would_be_obeyed_is_refused_by_its_name(program: Program, path: str, value: Any) -> None:
    words = refused(program, changed(path, value))
    assert f"kubeconfigs.{'default' if program is istiod else 'demo'}: has {path.replace('.0', '[0]')}, " in words


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("clusters.1", {"name": VALUE}, "is not a kubeconfig of one cluster: it has 2 under clusters"),
        ("contexts.1", {"name": VALUE}, "is not a kubeconfig of one context: it has 2 under contexts"),
        ("users.1", {"name": VALUE}, "is not a kubeconfig of one user: it has 2 under users"),
        ("users", None, "is not a kubeconfig of one user: it has 0 under users"),
        ("users", [VALUE], "is not a kubeconfig: users[0] is not a mapping"),
        ("clusters.0.name", VALUE, "must call its cluster demo"),
        ("clusters.0.cluster.server", f"http://{VALUE}", "clusters[0].cluster.server that must be https://HOST"),
        ("clusters.0.cluster.server", "https://[", "clusters[0].cluster.server that is no address"),
        ("clusters.0.cluster.server", f"https://{VALUE}@api.user.example.com:6443", "must be https://HOST"),
        ("clusters.0.cluster.server", f"{SERVER}?{VALUE}", "must be https://HOST"),
        ("clusters.0.cluster.certificate-authority-data", None, "has no clusters[0].cluster.certificate-authority-"),
        ("clusters.0.cluster.certificate-authority-data", f"{VALUE}!", "certificate-authority-data that is not base64"),
        ("users.0.user.token", None, "must have text of one line in users[0].user.token"),
        ("users.0.user.token", f"x\r\n{VALUE}: x", "must have text of one line in users[0].user.token"),
    ],
)
def test_what_must_be_there(path: str, value: Any, words: str) -> None:
    assert words in refused(istiod, changed(path, value))


@pytest.mark.parametrize("program", [istiod, bridge])
@pytest.mark.parametrize(
    "server", ["https://169.254.169.254:6443", "https://api.user.example.com:80", f"{SERVER}/a/path"]
)
def test_the_api_server_is_the_documents(program: Program, server: str) -> None:
    assert "has another API server than apiServer" in refused(program, good("demo", server))


def sent(text: str, **changes: Any) -> str:
    (secret,) = [one for one in run(lambda: istiod(text, **changes)) if one.name == "demo-istio-kubeconfig"]
    return str(secret.inputs["stringData"]["config"])


def test_without_an_address_in_the_document_any_will_do() -> None:
    through_another = good("demo", "https://clusters.example.com/k8s/clusters/one")
    assert sent(through_another, **{"memberships.0.access": None}) == through_another


def test_it_is_written_anew() -> None:
    """Also of YAML that another program wrote: what is empty in it counts for nothing."""
    other = json.loads(good("demo", f"{SERVER}/".replace("api", "API"))) | {"preferences": {}}
    other["users"][0]["name"] = other["contexts"][0]["context"]["user"] = "istiod"
    assert json.loads(sent(yaml.safe_dump(other))) == json.loads(good("demo", SERVER.replace("api", "API")))
