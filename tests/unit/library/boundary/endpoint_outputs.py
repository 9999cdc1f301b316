"""Objects and documents for several test modules."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
from pulumi_hosted_mesh.boundary.cacerts import FILES
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.dns.documents import document as dns_document
from tests.unit.library.dns.documents import provider
from tests.unit.library.documents import CERTIFICATE, document


def of(cluster: str) -> str:
    return for_account(cluster, "https://api.example.com:6443", CERTIFICATE, "t0k3n")


GOOD = of("demo")

VALUE = "s3cr3t"


def later(value: Any) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value)


def control_plane(**changes: Any) -> None:
    arguments: dict[str, Any] = {
        "mesh": read_document(Mesh, document({"memberships.0.access": None})).arguments(),
        "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=GOOD),
        "kubeconfigs": {"default": later(GOOD)},
        "root_certificate": later(CERTIFICATE),
        "cacerts": later(dict.fromkeys(FILES, CERTIFICATE)),
    }
    hosted_mesh.ExternalControlPlane("demo", arguments | changes)


def access(**given: Any) -> None:
    arguments: Any = {"mesh": "demo", "cluster": hosted_mesh.DataPlaneCluster(kubeconfig=GOOD), "access": given}
    made = hosted_mesh.DataPlaneAccess("demo", arguments)
    pulumi.export("kubeconfig", made.kubeconfig)


def edge(**given: Any) -> None:
    arguments: Any = {"edge": {"name": "north"}, "cluster": hosted_mesh.DataPlaneCluster(kubeconfig=GOOD)}
    made = hosted_mesh.DnsEdge("north", arguments | given)
    pulumi.export("kubeconfig", made.reader_kubeconfig)


def bridge(value: Any, holder: str) -> None:
    arguments: dict[str, Any] = {
        "bridge": dns_document(provider()),
        "cluster": hosted_mesh.ControlPlaneCluster(kubeconfig=GOOD),
        "credentials": {"inner": {"username": "bridge", "password": "x"}},
    }
    for one in ("publisher", "reader"):
        arguments[f"{one}_kubeconfigs"] = {
            "north": later(value if one == holder else of("north")),
            "south": of("south"),
        }
    hosted_mesh.ExternalDNSBridge("names", arguments)


TOKEN = {"data": {"token": "dDBrM24="}}

TOKENS = {"demo-istiod-token-1": TOKEN, "north-dns-publisher-token-1": TOKEN, "north-dns-reader-token-1": TOKEN}
