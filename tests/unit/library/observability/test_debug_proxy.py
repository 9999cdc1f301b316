"""The debug proxy's objects: no credential but its own key, one way in, one way to istiod; and rejected documents."""

from __future__ import annotations

import json
import re
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.observability import debug_proxy_objects as objects
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.observability import Observability, ObservabilityStack

from agents.debug_proxy.__main__ import parser
from sandbox.bootstrap import CHECKOUT
from tests.unit.agents.dockerfile import build
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.observability.documents import COLLECTOR, DEBUG_HOST, DEBUG_PROXY, with_debug_proxy
from tests.unit.library.program import Registered, run, secret

PAGE = CHECKOUT / "docs/components/istioctl.md"
KEY = "-----BEGIN PRIVATE KEY-----\nof the intermediate\n-----END PRIVATE KEY-----\n"


def registered(given: dict[str, Any], **arguments: Any) -> list[Registered]:
    content = minimal("c", {"server": "https://api.control-plane.test"}, {"token": "administrator"})
    parsed = read_document(Observability, given)

    def program() -> None:
        cluster = hosted_mesh.ControlPlaneCluster(kubeconfig=content, identity="control-plane")
        own: Any = {"observability": parsed.arguments(), "control_plane": cluster, **arguments}
        hosted_mesh.MeshObservability("demo", own)

    answers = {
        "demo-debug-proxy-key": {"privateKeyPemPkcs8": secret("key-of-the-debug-proxy")},
        "demo-debug-proxy-request": {"certRequestPem": "request"},
        "demo-debug-proxy-certificate": {"certPem": CERTIFICATE},
        "demo-collector-key": {"privateKeyPemPkcs8": secret("key-of-the-collector")},
        "demo-collector-request": {"certRequestPem": "request"},
        "demo-collector-certificate": {"certPem": CERTIFICATE},
    }
    return run(program, outputs=answers)


def signed(given: dict[str, Any] | None = None) -> list[Registered]:
    return registered(given or with_debug_proxy(), cacerts=cacerts_files(CERTIFICATE, KEY, CERTIFICATE))


def named(found: list[Registered], name: str) -> Registered:
    (one,) = [each for each in found if each.name == name]
    return one


def test_its_key_is_the_only_credential_and_stays_on_the_control_plane() -> None:
    found = signed()
    holders = [one for one in found if "key-of-the-debug-proxy" in json.dumps(one.inputs)]
    assert [one.name for one in holders] == ["demo-debug-proxy-request", "demo-debug-proxy-server"]
    assert all(one.secrets for one in holders)
    made = named(found, "demo-debug-proxy-server")
    assert (made.provider, set(made.inputs["stringData"])) == ("control-plane-cluster", {"tls.crt", "tls.key"})
    assert named(found, "demo-debug-proxy-request").inputs["dnsNames"] == [DEBUG_HOST]
    assert {one.provider for one in found if one.type.startswith("kubernetes:")} == {"control-plane-cluster"}
    # No token, no right: nothing but Secrets of its own is mounted.
    pod = named(found, "demo-debug-proxy").inputs["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert [one["name"] for one in pod["volumes"]] == ["server"]
    assert named(found, "demo-debug-proxy-account").inputs["automountServiceAccountToken"] is False
    assert [one.type for one in found if "rbac" in one.type] == []


def test_the_collectors_and_its_certificate_are_independent() -> None:
    both = with_debug_proxy(collector=COLLECTOR)
    names = {one.name for one in signed(both)}
    assert {"demo-collector-server", "demo-debug-proxy-server"} <= names
    own = with_debug_proxy(collector={**COLLECTOR, "serverSecret": "collector-tls"})
    names = {one.name for one in signed(own)}
    assert ("demo-collector-server" in names, "demo-debug-proxy-server" in names) == (False, True)


def test_an_existing_secret_needs_no_authority() -> None:
    found = registered(with_debug_proxy({"serverSecret": "debug-tls"}))
    assert [one.type for one in found if one.type.startswith("tls:")] == []
    (volume,) = named(found, "demo-debug-proxy").inputs["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"]["secretName"] == "debug-tls"


@pytest.mark.parametrize(
    ("given", "arguments", "words"),
    [
        (with_debug_proxy(), {}, "cacerts: is required: the debug proxy's certificate is signed with it"),
        (
            with_debug_proxy({"serverSecret": "debug-tls"}),
            {"cacerts": cacerts_files(CERTIFICATE, KEY, CERTIFICATE)},
            "cacerts: is given, but no certificate is signed here",
        ),
    ],
    ids=["missing", "needless"],
)
def test_the_authority_is_required_for_a_signed_certificate_alone(
    given: dict[str, Any], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        registered(given, **arguments)
    assert str(error.value.problems[0]).startswith(words)


def test_only_it_reaches_istiods_debug_port_and_it_reaches_nothing_else() -> None:
    document = read_document(Observability, with_debug_proxy())
    to_istiod = objects.istiod_network_policy(document)
    assert to_istiod["podSelector"] == {"matchLabels": {"app": "istiod"}}
    (rule,) = to_istiod["ingress"]
    assert rule == {
        "from": [
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "obs-demo"}},
                "podSelector": {"matchLabels": {"app.kubernetes.io/name": "debug-proxy"}},
            }
        ],
        "ports": [{"protocol": "TCP", "port": 15014}],
    }
    own = objects.network_policy(document)
    assert own["policyTypes"] == ["Ingress", "Egress"]
    assert [one["ports"] for one in own["ingress"]] == [[{"protocol": "TCP", "port": 15019}]]
    assert [[each["port"] for each in one["ports"]] for one in own["egress"]] == [[15014], [53, 53]]
    assert own["egress"][0]["to"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "mesh-demo"}
    found = signed()
    assert named(found, "demo-debug-proxy-to-istiod").inputs["metadata"]["namespace"] == "mesh-demo"
    # One address for each istiod: a Service with an address of its own would ask one of them.
    headless = named(found, "demo-debug-proxy-istiod").inputs
    assert (headless["metadata"]["namespace"], headless["spec"]["clusterIP"]) == ("mesh-demo", "None")


def test_two_documents_of_one_mesh_share_no_object() -> None:
    """Each data plane of a mesh has a debug proxy of its own."""
    given = [with_debug_proxy(), with_debug_proxy(clusterId="demo-second", namespace="obs-second")]
    names = [
        {(one.type, one.inputs["metadata"].get("namespace"), one.inputs["metadata"]["name"]) for one in found}
        for found in ([one for one in signed(each) if one.type.startswith("kubernetes:")] for each in given)
    ]
    assert names[0] & names[1] == set()


def test_its_service_is_exposed_as_the_document_has_it() -> None:
    annotations, spec = objects.service(read_document(Observability, with_debug_proxy()))
    assert annotations["external-dns.alpha.kubernetes.io/hostname"] == DEBUG_HOST
    assert (spec["type"], spec["loadBalancerSourceRanges"]) == ("LoadBalancer", ["198.51.100.0/24"])
    _, spec = objects.service(read_document(Observability, with_debug_proxy({"exposure": {"kind": "external"}})))
    assert set(spec) == {"selector", "ports"}


def test_the_program_accepts_the_arguments_of_the_manifest(tmp_path: Any) -> None:
    document = read_document(Observability, with_debug_proxy(clusterId="shop-1"))
    pod = objects.deployment(document)["template"]["spec"]
    (container,) = pod["containers"]
    image = build(CHECKOUT / "agents" / "debug_proxy", tmp_path)
    assert container["command"] == image.entrypoint
    assert container["workingDir"] == str(image.workdir)
    assert image.user == f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    given = parser().parse_args(container["args"])
    assert (given.cluster, given.namespace, given.port) == ("shop-1", "mesh-demo", 15019)
    assert given.istiod == f"{objects.istiod_service_name(document)}.mesh-demo.svc:15014"
    assert str(given.key.parent) == container["volumeMounts"][0]["mountPath"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no host": (with_debug_proxy({"host": None}), "debugProxy: host is required by a debug proxy. Add host, or set"),
    "address": (with_debug_proxy({"host": "203.0.113.7"}), "debugProxy.host: is an IP address"),
    "host of one cluster": (with_debug_proxy({"host": "debug.obs.svc"}), "debugProxy.host: is a name that only one"),
    "no image": (with_debug_proxy({"image": None}), "debugProxy: image is required by a debug proxy"),
    "no exposure": (with_debug_proxy({"exposure": None}), "debugProxy: exposure is required: without it no istioctl"),
    "open to all": (with_debug_proxy({"exposure": {}}), "debugProxy.exposure: sourceRanges is empty"),
    "shared gateway": (
        with_debug_proxy({"exposure": {"kind": "gateway", "openToAll": True, "webhookPort": 15017}}),
        "debugProxy: exposure.kind gateway is for istiod's hosts alone. Set kind: load-balancer or external",
    ),
    "webhooks": (
        with_debug_proxy(
            {"exposure": {"openToAll": True, "webhooks": {"host": "hooks.example.com", "openToAll": True}}}
        ),
        "debugProxy: exposure.webhooks is for istiod alone. Remove it",
    ),
    "data plane": (
        with_debug_proxy({"placement": "data-plane"}),
        "debugProxy: placement must be control-plane: istiod's debug port is not reachable",
    ),
    "port of istiod": (with_debug_proxy({"port": 15014}), "debugProxy.port: is a port of istiod or"),
    "off alone": ({"mesh": "demo", "debugProxy": {"placement": "none"}}, "(document): has no part that is on"),
    "collector's host": (
        with_debug_proxy({"host": COLLECTOR["host"]}, collector=COLLECTOR),
        "(document): collector and debugProxy have one host, and a load balancer each. Give debugProxy a host",
    ),
    "misspelt": ({"mesh": "demo", "debugproxy": DEBUG_PROXY}, "debugproxy: is not a field of the document. Did you"),
}


def test_a_part_that_is_off_takes_no_host() -> None:
    off = {**COLLECTOR, "host": DEBUG_HOST, "placement": "none"}
    read_document(Observability, with_debug_proxy(collector=off))


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_line(case: str) -> None:
    given, words = BAD[case]
    with pytest.raises(InvalidInputError) as error:
        read_document(Observability, given)
    (problem,) = error.value.problems
    assert str(problem).startswith(words)
    assert "\n" not in str(error.value)


def test_the_pages_document_is_valid() -> None:
    (block,) = re.findall(r"```yaml\n(observability:.*?)```", PAGE.read_text(), re.DOTALL)
    found = read_document(ObservabilityStack, yaml.safe_load(block)).observability
    assert (found.debug_proxy.host, found.cluster_name) == (DEBUG_HOST, "demo")
