"""What a federation makes in each mesh, and what it refuses: pure functions of public facts."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.federation.exports import needs_reading, offer, protocol_of
from pulumi_hosted_mesh.federation.imports import imported, left_out, notices
from pulumi_hosted_mesh.federation.manifests import objects
from pulumi_hosted_mesh.federation.overlaps import overlaps
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.federation import Federation, Offer, Protocol

from sandbox.clusters.credentials.certificates import new_authority
from tests.support.authorities import Authority, pem
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.federation.documents import (
    AUDIENCE,
    HOST,
    REVIEWS,
    SERVICE,
    WISH,
    Manifest,
    document,
    federation,
    labelled,
    made,
    peer,
)


def by_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [one["spec"] for one in manifests if one["kind"] == kind]


def test_the_exporter_lets_in_the_identity_that_is_named_for_what_is_exported() -> None:
    west = made(document(), "west")
    (gateway,), (route,), (policy,) = (
        by_kind(west, kind) for kind in ("Gateway", "VirtualService", "AuthorizationPolicy")
    )
    (server,) = gateway["servers"]
    assert server["tls"] == {"mode": "ISTIO_MUTUAL"}  # the gateway sees who calls; Istio reads nothing else of it
    # A VirtualService of another namespace is not taken: whoever may write there does not serve foreign callers.
    assert (server["port"]["number"], server["hosts"]) == (15443, [f"./{HOST}"])
    assert route["http"][0]["route"][0]["destination"] == {
        "host": "reviews.books.svc.cluster.local",
        "port": {"number": 9080},
    }
    assert policy["action"] == "ALLOW"
    (rule,) = policy["rules"]
    assert rule["from"] == [{"source": {"principals": ["east.mesh.local/ns/books/sa/page"]}}]
    assert rule["to"] == [{"operation": {"hosts": [HOST, f"{HOST}:*"]}}]
    assert rule["when"] == [{"key": "connection.sni", "values": [HOST]}]


def test_routes_are_in_the_namespace_of_the_gateway_that_takes_no_others() -> None:
    given = document()
    given["peers"][0]["egress"] = {"gateway": "egress", "namespace": "ways-out"}
    given["peers"][1]["gateway"] |= {"namespace": "ways-in"}
    for mesh, namespace in (("east", "ways-out"), ("west", "ways-in")):
        at_gateway = [one["metadata"] for one in made(given, mesh) if {"servers", "gateways"} & one["spec"].keys()]
        assert [one["namespace"] for one in at_gateway] == [namespace] * 2


def test_the_importer_calls_the_peer_s_gateway_and_verifies_its_identity() -> None:
    east = made(document(), "east")
    (entry,), (rule,) = by_kind(east, "ServiceEntry"), by_kind(east, "DestinationRule")
    assert entry["hosts"] == [HOST]
    assert entry["endpoints"] == [{"address": "eastwest.west.example.com", "ports": {"http": 15443}}]
    assert (entry["resolution"], entry["location"]) == ("DNS", "MESH_INTERNAL")
    assert entry["subjectAltNames"] == ["spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"]
    # Istio takes the entry's identities only where the rule has none.
    assert rule["trafficPolicy"]["tls"] == {"mode": "ISTIO_MUTUAL", "sni": HOST}


def test_a_mesh_that_exports_nothing_lets_nobody_in() -> None:
    (policy,) = by_kind(made(document(), "east"), "AuthorizationPolicy")
    assert policy == {"selector": {"matchLabels": {"app": "eastwest"}}, "action": "ALLOW"}
    assert by_kind(made(document(), "east"), "Gateway") == []


def test_a_fifth_mesh_changes_nothing_of_those_that_do_not_mention_it() -> None:
    four = document(peer("north"), peer("south", imports=[{**WISH, "meshes": ["north"]}]))
    four["peers"][2]["exports"] = [{**REVIEWS, "to": [{"mesh": "south", "identities": ["a/b"]}]}]
    five = copy.deepcopy(four)
    five["peers"].append(peer("fifth", imports=[{**WISH, "meshes": ["north"]}], exports=[REVIEWS]))
    five["peers"][2]["exports"][0]["to"].append({"mesh": "fifth", "identities": ["c/d"]})
    changed = {mesh for mesh in ("east", "west", "north", "south") if made(four, mesh) != made(five, mesh)}
    assert changed == {"north"}
    assert made(five, "fifth")


def test_roles_are_symmetrical_and_order_says_nothing() -> None:
    both = document()
    both["peers"][0]["exports"] = [{**REVIEWS, "to": [{"mesh": "west", "identities": ["books/page"]}]}]
    both["peers"][1]["imports"] = [{**WISH, "meshes": ["east"]}]

    def swapped(text: str) -> str:
        return text.replace("east.", "?.").replace("west.", "east.").replace("?.", "west.")

    east, west = (json.dumps(by_kind(made(both, mesh), "DestinationRule")) for mesh in ("east", "west"))
    assert east.replace("mesh-west", "mesh-east") == swapped(west)
    turned = copy.deepcopy(both)
    turned["peers"].reverse()
    assert made(turned, "east") == made(both, "east")


def test_only_what_is_imported_of_a_peer_is_told() -> None:
    """No address, identity or name of a mesh reaches one that imports nothing of it."""
    given = document(peer("north", exports=[{**REVIEWS, "service": "secretly"}]))
    east = json.dumps(made(given, "east"))
    assert "north" not in east
    assert "secretly" not in east


def test_labels_select_services_and_each_port_has_a_name() -> None:
    given = document()
    given["peers"][1]["exports"] = [{"namespace": "books", "labels": {"export": "yes"}, "to": [AUDIENCE]}]
    given["peers"][0]["imports"] = [{"meshes": ["west"], "ports": [80, 9000]}]
    assert needs_reading(federation(given), "west")

    def service(name: str, namespace: str, labels: Manifest, *ports: Manifest) -> Manifest:
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        return {"metadata": metadata, "spec": {"ports": list(ports)}}

    grpc, plain = {"name": "grpc-api", "port": 9000}, {"name": "web", "port": 80, "appProtocol": "http"}
    services = [
        service("one", "books", {"export": "yes"}, plain),
        service("two", "books", {"export": "yes"}, grpc, plain, {"name": "dns", "port": 53, "protocol": "UDP"}),
        service("hidden", "books", {}, plain),
        # Were it exported, and led to what is imported, a request could go in a circle.
        {"metadata": {**SERVICE["metadata"], "name": "elsewhere"}, "spec": {"type": "ExternalName", "ports": [plain]}},
        service("three", "else", {"export": "yes"}, plain),
    ]
    offered = offer(federation(given), "west", services)
    assert [(one.host, one.port, one.protocol.value) for one in offered.services] == [
        ("grpc-api.two.books.shops.example.com", 9000, "GRPC"),
        ("one.books.shops.example.com", 80, "HTTP"),
        ("web.two.books.shops.example.com", 80, "HTTP"),
    ]
    east = made(given, "east", [offered, offer(federation(given), "east")])
    assert [one["hosts"] for one in by_kind(east, "ServiceEntry")] == [[one.host] for one in offered.services]
    # When a service goes, so does what stands for it.
    fewer = offer(federation(given), "west", services[:1])
    east = made(given, "east", [fewer, offer(federation(given), "east")])
    assert [one["hosts"] for one in by_kind(east, "ServiceEntry")] == [["one.books.shops.example.com"]]


@pytest.mark.parametrize(
    ("port", "protocol"),
    [
        ({"name": "http"}, Protocol.HTTP),
        ({"name": "http2-x"}, Protocol.HTTP2),
        ({"name": "x", "appProtocol": "kubernetes.io/h2c"}, Protocol.HTTP2),
        ({"name": "GRPC-x"}, Protocol.GRPC),
        ({"name": "grpc-web-x"}, Protocol.HTTP),
        ({"name": "x", "appProtocol": "grpc-web"}, Protocol.HTTP),
        ({"name": "x", "appProtocol": "kubernetes.io/ws"}, Protocol.HTTP),
        ({"name": "http", "appProtocol": "kubernetes.io/wss"}, Protocol.TCP),
        ({"name": "x", "appProtocol": "HTTP"}, Protocol.HTTP),
        ({"name": "http", "appProtocol": "https"}, Protocol.TCP),
        ({"name": "http", "appProtocol": "tcp"}, Protocol.TCP),
        ({"name": "http", "appProtocol": "example.com/own"}, Protocol.TCP),
        ({"name": "kubernetes.io/h2c"}, Protocol.TCP),
        ({"name": "mysql"}, Protocol.TCP),
        ({}, Protocol.TCP),
    ],
)
def test_what_a_port_speaks(port: Manifest, protocol: Protocol) -> None:
    assert protocol_of(port) is protocol


def test_tcp_has_a_server_of_its_own_and_no_rule_by_host_header() -> None:
    given = document()
    given["peers"][1]["exports"] = [REVIEWS, {**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP"}]
    west = made(given, "west")
    (gateway,), (policy,) = by_kind(west, "Gateway"), by_kind(west, "AuthorizationPolicy")
    assert [(one["port"]["protocol"], one["hosts"]) for one in gateway["servers"]] == [
        ("HTTPS", [f"./{HOST}"]),
        ("TLS", ["./db.books.shops.example.com"]),
    ]
    assert ["to" in rule for rule in policy["rules"]] == [False, True]


def test_a_renamed_import_is_asked_for_by_the_name_that_it_is_exported_as() -> None:
    given = document()
    given["peers"][0]["imports"] = [{**WISH, "host": "reviews.partner.example.com"}]
    east = made(given, "east")
    (entry,), (rule,), (route,) = (
        by_kind(east, kind) for kind in ("ServiceEntry", "DestinationRule", "VirtualService")
    )
    assert entry["hosts"] == [rule["host"]] == ["reviews.partner.example.com"]
    assert rule["trafficPolicy"]["tls"]["sni"] == HOST
    assert route["http"][0]["rewrite"] == {"authority": HOST}


def test_what_changes_when_a_mesh_comes_or_goes_is_one_object() -> None:
    """Who a gateway is and where it is arrive together, or a caller would refuse the one that it is sent to."""
    both = document(peer("north", exports=[REVIEWS]))
    both["peers"][0]["imports"] = [{**WISH, "meshes": ["north", "west"]}]
    after = copy.deepcopy(both)
    after["peers"][0]["imports"] = [{**WISH, "meshes": ["north"]}]
    old, new = ({one["kind"]: json.dumps(one["spec"]) for one in made(given, "east")} for given in (both, after))
    for of_west in ("eastwest.west.example.com", "spiffe://west.mesh.local/"):
        assert [kind for kind in old if of_west in old[kind]] == ["ServiceEntry"]
        assert not [kind for kind in new if of_west in new[kind]]


def test_several_meshes_serve_one_import_by_locality() -> None:
    given = document(peer("north", exports=[REVIEWS], locality="eu-north/b"))
    given["peers"][1]["locality"] = "eu-west/a"
    given["peers"][0]["imports"] = [{**WISH, "meshes": ["north", "west"]}]
    east = made(given, "east")
    (entry,), (rule,) = by_kind(east, "ServiceEntry"), by_kind(east, "DestinationRule")
    assert [one["locality"] for one in entry["endpoints"]] == ["eu-north/b", "eu-west/a"]
    policy = rule["trafficPolicy"]
    assert len(entry["subjectAltNames"]) == 2
    assert policy["loadBalancer"]["localityLbSetting"] == {"enabled": True}
    assert policy["outlierDetection"]["maxEjectionPercent"] == 100
    (alone,) = by_kind(made(document(), "east"), "DestinationRule")
    assert "outlierDetection" not in alone["trafficPolicy"]


def calls(**fields: Any) -> list[Manifest]:
    """East's routes of reviews, which west and north serve. fields: of the import."""
    given = document(peer("north", exports=[REVIEWS]))
    given["peers"][0]["imports"] = [{**WISH, "meshes": ["north", "west"], **fields}]
    return [route for spec in by_kind(made(given, "east"), "VirtualService") for route in spec["http"]]


def test_what_may_have_been_done_is_asked_again_only_where_that_does_no_harm() -> None:
    idempotent, others = calls()
    (method,) = [one["method"]["regex"].split("|") for one in idempotent["match"]]
    assert {"GET", "PUT"} < set(method)
    assert not {"POST", "PATCH", "CONNECT"} & set(method)
    assert {"503", "reset"} < set(idempotent["retries"]["retryOn"].split(","))
    assert "match" not in others
    assert not {"503", "5xx", "gateway-error", "reset"} & set(others["retries"]["retryOn"].split(","))
    for route in (idempotent, others):
        assert route["retries"]["retryRemoteLocalities"] is True
        assert route["retries"]["attempts"] == 5
    assert calls(retry="unsent") == [others]
    assert by_kind(made(document(), "east"), "VirtualService") == []


def test_a_gateway_whose_packets_vanish_takes_seconds_of_each_try_and_no_longer() -> None:
    """Istio's own limits are 10 s for a connection, and none for an answer on one that was there before."""
    policies = [rule["trafficPolicy"] for rule in by_kind(made(document(), "east"), "DestinationRule")]
    assert [one["connectionPool"]["tcp"].pop("connectTimeout") for one in policies] == ["2s"]
    assert not [route for route in calls() if "perTryTimeout" in route["retries"]]
    for retry in ("idempotent", "unsent"):
        routes = calls(retry=retry, tryTimeoutSeconds=3)
        assert {route["retries"].pop("perTryTimeout") for route in routes} == {"3s"}
        assert routes == calls(retry=retry)


def test_proxies_of_importers_answer_dns_for_imported_hosts() -> None:
    """From the mesh's namespace a ProxyConfig without selector applies to all proxies of the mesh."""
    (found,) = [one for one in made(document(), "east") if one["kind"] == "ProxyConfig"]
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == ("mesh-east", "shops")
    capture = {"ISTIO_META_DNS_CAPTURE": "true", "ISTIO_META_DNS_AUTO_ALLOCATE": "true"}
    assert found["spec"] == {"environmentVariables": capture}
    assert by_kind(made(document(), "west"), "ProxyConfig") == []
    without = document()
    without["peers"][0]["dnsCapture"] = False
    assert by_kind(made(without, "east"), "ProxyConfig") == []


def keepalives(manifests: list[Manifest]) -> dict[str, Manifest]:
    """Keepalive by host."""
    rules = by_kind(manifests, "DestinationRule")
    return {rule["host"]: rule["trafficPolicy"]["connectionPool"]["tcp"]["tcpKeepalive"] for rule in rules}


def test_idle_connections_are_kept_longer_than_load_balancers_allow() -> None:
    """Network load balancers close after 350 s of silence, some after 240 s; the kernel's default is two hours."""
    assert keepalives(made(document(), "east")) == {HOST: {"time": "120s", "interval": "30s", "probes": 4}}
    given = document()
    given["peers"][0]["imports"] = [{**WISH, "tcpKeepalive": {"timeSeconds": 20, "intervalSeconds": 5, "probes": 2}}]
    assert keepalives(made(given, "east")) == {HOST: {"time": "20s", "interval": "5s", "probes": 2}}


def test_an_egress_gateway_keeps_its_own_connections() -> None:
    """It holds a connection of its own to the peer: the callers' probes end at the egress gateway."""
    found = keepalives(out({**WISH, "tcpKeepalive": {"timeSeconds": 20}}))
    assert found[HOST] == found["west.shops.egress.internal"] == {"time": "20s", "interval": "30s", "probes": 4}


def test_a_host_of_several_meshes_that_is_renamed_is_rewritten_in_each_route() -> None:
    assert [one["rewrite"] for one in calls(host="r.example.com")] == [{"authority": HOST}] * 2


def test_tcp_has_no_route_of_its_own() -> None:
    tcp = {**REVIEWS, "protocol": "TCP"}
    given = document(peer("north", exports=[tcp]))
    given["peers"][0]["imports"] = [{**WISH, "meshes": ["north", "west"]}]
    given["peers"][1]["exports"] = [tcp]
    assert by_kind(made(given, "east"), "VirtualService") == []


def test_only_proxies_of_the_callers_namespaces_are_told_of_an_import() -> None:
    given = document(peer("north", exports=[REVIEWS]))
    wish = {**WISH, "meshes": ["north", "west"], "host": "r.example.com", "namespaces": ["shop", "books"]}
    given["peers"][0]["imports"] = [wish]
    found = {one["kind"]: one["spec"]["exportTo"] for one in made(given, "east") if "exportTo" in one["spec"]}
    assert found.keys() == {"ServiceEntry", "DestinationRule", "VirtualService"}
    assert all(scope == ["books", "shop"] for scope in found.values())
    assert not [one for one in made(document(), "east") if "exportTo" in one["spec"]]


EGRESS = "egress.mesh-east.svc.cluster.local"


def out(*imports: Manifest, **egress: Any) -> list[Manifest]:
    """East's objects where its calls leave through a gateway. West and north export reviews, north at an address."""
    given = document(peer("north", exports=[REVIEWS], locality="us"))
    given["peers"][2]["gateway"] = {"address": "192.0.2.7", "port": 443}
    given["peers"][0] |= {"egress": {"gateway": "egress", **egress}, "imports": list(imports) or [WISH]}
    return made(given, "east")


def of_egress(manifests: list[Manifest], mesh: str) -> dict[str, Manifest]:
    """What leads from the egress gateway to a peer, by kind."""
    return {one["kind"]: one for one in manifests if one["metadata"]["name"] == f"shops-egress-{mesh}"}


def test_callers_connect_to_the_egress_gateway_and_verify_the_peer_s() -> None:
    """Only where a caller connects to is another than without one: who it wants to find there is not."""
    direct, through = ({one["kind"]: one["spec"] for one in made(document(), "east")}, out())
    (entry,) = (
        one["spec"] for one in through if one["metadata"]["name"] == f"shops-{HOST}" and "endpoints" in one["spec"]
    )
    assert entry == {**direct["ServiceEntry"], "endpoints": [{"address": EGRESS, "ports": {"http": 15443}}]}
    assert [rule for rule in by_kind(through, "DestinationRule") if rule["host"] == HOST] == [direct["DestinationRule"]]


def test_the_egress_gateway_passes_tls_on_unopened_for_what_is_imported_alone() -> None:
    """A gateway that ended it would call with its own identity, and the peer could not tell who calls."""
    found = of_egress(out(), "west")
    (server,) = found["Gateway"]["spec"]["servers"]
    assert server == {
        "port": {"number": 15443, "name": "tls", "protocol": "TLS"},
        "tls": {"mode": "PASSTHROUGH"},
        "hosts": [f"./{HOST}"],
    }
    assert found["Gateway"]["spec"]["selector"] == {"app": "egress"}
    route, entry = found["VirtualService"]["spec"], found["ServiceEntry"]["spec"]
    assert route["gateways"] == ["shops-egress-west"]
    (tls,) = route["tls"]
    assert tls["match"] == [{"port": 15443, "sniHosts": [HOST]}]
    assert tls["route"] == [{"destination": {"host": entry["hosts"][0], "port": {"number": 15443}}}]
    assert entry["endpoints"] == [{"address": "eastwest.west.example.com", "ports": {"tls": 15443}}]
    # What is in the mesh may get a TLS of Istio's own around the caller's, and callers are not to be told.
    assert (entry["location"], entry["exportTo"]) == ("MESH_EXTERNAL", ["."])
    assert of_egress(out(), "north") == {}


def test_a_peer_sees_no_difference() -> None:
    given = document()
    given["peers"][0]["egress"] = {"gateway": "egress"}
    assert made(given, "west") == made(document(), "west")


def test_objects_of_the_egress_gateway_are_beside_it_and_callers_find_it_there() -> None:
    found = out(namespace="edge")
    assert {one["metadata"]["namespace"] for one in of_egress(found, "west").values()} == {"edge"}
    addresses = [one["address"] for spec in by_kind(found, "ServiceEntry") for one in spec["endpoints"]]
    assert "egress.edge.svc.cluster.local" in addresses
    (policy,) = [one for one in found if one["kind"] == "AuthorizationPolicy"]
    assert policy["metadata"]["namespace"] == "mesh-east"


def test_callers_choose_between_meshes_of_one_import_by_the_egress_gateway_s_ports() -> None:
    """Each is an endpoint with its own locality, as without an egress gateway, so failover is the caller's."""
    found = out({**WISH, "meshes": ["west", "north"]}, ports={"north": 15444})
    (entry,) = [spec for spec in by_kind(found, "ServiceEntry") if spec["hosts"] == [HOST]]
    assert entry["endpoints"] == [
        {"address": EGRESS, "ports": {"http": 15444}, "locality": "us"},
        {"address": EGRESS, "ports": {"http": 15443}},
    ]
    assert entry["resolution"] == "DNS"  # the egress gateway's name, whatever the peers' are
    for mesh, port, resolution in (("west", 15443, "DNS"), ("north", 15444, "STATIC")):
        one = of_egress(found, mesh)
        assert one["Gateway"]["spec"]["servers"][0]["port"]["number"] == port
        assert one["VirtualService"]["spec"]["tls"][0]["match"][0]["port"] == port
        assert one["ServiceEntry"]["spec"]["resolution"] == resolution
    to_north = of_egress(found, "north")
    (endpoint,) = to_north["ServiceEntry"]["spec"]["endpoints"]
    assert endpoint == {"address": "192.0.2.7", "ports": {"tls": 443}}
    assert to_north["VirtualService"]["spec"]["tls"][0]["route"][0]["destination"]["port"] == {"number": 443}


def test_a_renamed_import_leaves_under_the_server_name_that_the_peer_knows() -> None:
    found = of_egress(out({**WISH, "host": "r.example.com"}), "west")
    assert found["Gateway"]["spec"]["servers"][0]["hosts"] == [f"./{HOST}"]


def test_one_server_name_of_two_peers_needs_a_port_for_each() -> None:
    """Two imports may have two names here and one there, by which the egress gateway could not tell them apart."""
    two = [WISH, {**WISH, "meshes": ["north"], "host": "r.example.com"}]
    with pytest.raises(InvalidInputError) as error:
        out(*two)
    assert f"egress of east: leads to north and west by port 15443, and both serve {HOST}" in str(error.value)
    assert "egress.ports" in str(error.value)
    assert of_egress(out(*two, ports={"west": 15444}), "west")


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (
            document(peer("north", egress={"gateway": "eastwest"})),
            "peers[2]: egress.gateway is eastwest, the gateway by which others call this mesh",
        ),
        (
            document(
                peer("north", egress={"gateway": "egress"}, imports=[{**WISH, "meshes": ["west", "east"]}]),
            ),
            "peers[2]: imports[0] is served by east and west, and egress has one port for them",
        ),
        (
            document(peer("north", egress={"gateway": "egress", "ports": {"gone": 15444}})),
            "egress.ports of north names gone, which is no peer",
        ),
        (
            document(peer("north", egress={"gateway": "egress", "ports": {"north": 15444}})),
            "egress.ports of north names the mesh itself",
        ),
        (document(peer("north", egress={"gateway": "egress", "port": 0})), "peers[2].egress.port"),
        (document(peer("north", egress={})), "peers[2].egress.gateway"),
        (document(peer("north", egress={"gateway": "istiod"})), "peers[2].egress.gateway: is taken"),
        (document(peer("east", gateway={"address": "x.example.com"})), "peers has two with one mesh, east"),
        (document(peer("north", network="west")), "peers has two with one network, west"),
        (document(peer("north", trustDomain="west.mesh.local")), "peers has two with one trustDomain, west.mesh.local"),
        (
            document(peer("north", gateway={"address": "eastwest.west.example.com"})),
            "peers has two with one gateway.address",
        ),
        (document(peer("north", imports=[{"meshes": ["nobody"]}])), "imports[0].meshes of north names nobody"),
        (document(peer("north", imports=[{"meshes": ["north"]}])), "names the mesh itself"),
        (document(peer("north", exports=[{**REVIEWS, "to": [{**AUDIENCE, "mesh": "x"}]}])), "exports[0].to of north"),
        (document(peer("north"), groups=[{"name": "g", "meshes": ["east", "north"]}]), "and no group has both"),
        (document(groups=[{"name": "g", "meshes": ["east", "gone"]}]), "group g names gone, which is no peer"),
        (document(trust="partial"), "trust is partial, but rootCertificate of east, west is missing"),
        (document(trust="changing"), "trust is changing, but rootCertificate of east, west is missing"),
        (document(trust="some"), "trust: must be"),
        (document(peer("north", exports=[{**REVIEWS, "to": []}])), "exports[0].to"),
        (document(peer("north", exports=[{**REVIEWS, "port": None}])), "port is required with service"),
        (document(peer("north", exports=[{**REVIEWS, "labels": {"a": "b"}}])), "labels have no effect with service"),
        (
            document(peer("north", exports=[{**REVIEWS, "to": [{**AUDIENCE, "identities": ["*/page"]}]}])),
            "must be a namespace and a service account, or a pattern",
        ),
        (
            document(peer("north", trustDomain="cluster.local")),
            "peers[2].trustDomain: is Istio's name of the reader's own trust domain",
        ),
        (
            document(peer("north", imports=[{**WISH, "host": "eastwest.west.example.com"}])),
            "imports[0].host of north is eastwest.west.example.com, the address of the gateway of west",
        ),
        (
            document(peer("north", exports=[{**REVIEWS, "host": "eastwest.east.example.com"}])),
            "exports[0].host of north is eastwest.east.example.com, the address of the gateway of east",
        ),
        (
            document(peer("north", imports=[{**WISH, "retry": "unsent"}])),
            "imports[0]: retry requires two or more meshes",
        ),
        (
            document(peer("north", imports=[{**WISH, "tryTimeoutSeconds": 3}])),
            "imports[0]: tryTimeoutSeconds requires two or more meshes",
        ),
        (
            document(peer("north", imports=[{**WISH, "tcpKeepalive": {"timeSeconds": 0}}])),
            "peers[2].imports[0].tcpKeepalive.timeSeconds: must be",
        ),
        (
            document(peer("north", imports=[{**WISH, "tcpKeepalive": {"time": "300s"}}])),
            "peers[2].imports[0].tcpKeepalive.time: is not a field",
        ),
        (document(objects="all"), "objects: must be"),
        (document(peer("north", dnsCapture="on")), "peers[2].dnsCapture: must be"),
        (document(peer("north", imports=[{**WISH, "required": "yes"}])), "peers[2].imports[0].required: must be"),
        (document(peer("north", gateway={"address": "eastwest.svc"})), "only one cluster resolves"),
        (document(peer("north", kubeconfig="~/.kube/config")), "kubeconfig: is not a field"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(given: Manifest, rule: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        federation(given)
    assert rule in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("imports", "rule"),
    [
        (
            [{**WISH, "service": "ratings", "required": True}],
            "imports[0] of east: names a service that west does not export to east",
        ),
        ([WISH, {**WISH, "service": None}], f"imports[1] of east: has host {HOST}, and so has another import"),
        (
            [{**WISH, "meshes": ["west", "north"], "required": True}],
            "imports[0] of east: names a service that north does not export to east",
        ),
        ([{"meshes": ["south"]}], "needs the offer of south, which is missing"),
    ],
)
def test_imports_that_nobody_can_serve_are_refused(imports: list[Manifest], rule: str) -> None:
    south = peer("south", exports=[{"namespace": "books", "to": [AUDIENCE]}])
    given = document(peer("north"), south)
    given["peers"][0]["imports"] = imports
    known = federation(given)
    told = [offer(known, mesh) for mesh in ("east", "west", "north")]
    with pytest.raises(InvalidInputError) as error:
        objects(known, "east", told)
    assert rule in str(error.value)


@pytest.mark.parametrize("wish", [{"namespace": "books", "service": "ratings"}, {"namespace": "shop"}])
def test_a_withdrawn_service_is_left_out_and_the_other_imports_stay(wish: Manifest) -> None:
    """A peer that withdraws its last service must not block its importers."""
    given = document(peer("north", exports=[{**REVIEWS, "service": "stars"}]))
    given["peers"][0]["imports"] = [{"meshes": ["west"], **wish}, {"meshes": ["north"]}]
    known = federation(given)
    offers = [offer(known, mesh) for mesh in ("east", "west", "north")]
    entries = [one["metadata"]["name"] for one in objects(known, "east", offers) if one["kind"] == "ServiceEntry"]
    assert entries == ["shops-stars.books.shops.example.com"]
    (notice,) = notices(known, "east", offers)
    assert str(notice).startswith("imports[0] of east: is left out for west, which exports no such service to east. ")


def test_of_several_meshes_the_others_go_on_serving() -> None:
    given = document(peer("north"))
    given["peers"][0]["imports"][0]["meshes"] = ["north", "west"]
    known = federation(given)
    offers = [offer(known, mesh) for mesh in ("east", "west", "north")]
    assert [[one.mesh for one in service.peers] for service in imported(known, "east", offers)] == [["west"]]
    assert [one.rule.partition(",")[0] for one in notices(known, "east", offers)] == ["is left out for north"]


BY_LABELS = {"namespace": "books", "to": [AUDIENCE]}
BY_SERVICE = [REVIEWS, {**REVIEWS, "service": "db", "port": 3306, "protocol": "TCP"}]
ALL = {"meshes": ["west"]}


@pytest.mark.parametrize(
    ("exports", "imports", "rule"),
    [
        ([REVIEWS], [ALL, WISH], f"has host {HOST}"),
        ([REVIEWS], [WISH, {**WISH, "port": 9080}], f"has host {HOST}"),
        ([BY_LABELS], [ALL, ALL], "has each Service with HTTP"),
        ([BY_LABELS], [ALL, {**ALL, "namespace": "books"}], "has each Service with HTTP of namespace books"),
        ([BY_LABELS], [WISH, ALL], "has Service reviews of namespace books"),
        ([BY_LABELS], [{**WISH, "port": 5432}, {**WISH, "port": 5432}], "has Service reviews of namespace books"),
        ([], [{**WISH, "host": "a.example.com"}, {**WISH, "service": "b", "host": "a.example.com"}], "a.example.com"),
    ],
)
def test_overlapping_imports_of_one_mesh_are_found_without_an_offer(
    exports: list[Manifest], imports: list[Manifest], rule: str
) -> None:
    given = document()
    given["peers"][1]["exports"], given["peers"][0]["imports"] = exports, imports
    (found,) = overlaps(federation(given), "east")
    assert (found.field, found.rule.endswith("and so has another import, imports[0]")) == ("imports[1] of east", True)
    assert rule in found.rule
    assert found.fix.startswith("Both are of west: remove one of the two, narrow one by namespace, service or port")


@pytest.mark.parametrize(
    ("exports", "imports"),
    [
        (BY_SERVICE, [ALL, {**WISH, "service": "db"}]),  # all takes no TCP
        ([BY_LABELS], [ALL, {**WISH, "port": 8080}]),  # may be TCP at that port
        ([BY_LABELS], [ALL, {**ALL, "ports": [9080]}]),
        ([BY_LABELS], [ALL, {**ALL, "namespace": "other"}]),
        ([BY_LABELS], [WISH, {**WISH, "host": "a.example.com"}]),
        (
            [BY_LABELS, {**REVIEWS, "host": "login.bank.example", "service": "login"}],
            [ALL, {**WISH, "service": "login"}],
        ),
    ],
)
def test_imports_that_divide_a_peer_s_services_do_not_overlap(exports: list[Manifest], imports: list[Manifest]) -> None:
    given = document()
    given["peers"][1]["exports"], given["peers"][0]["imports"] = exports, imports
    assert overlaps(federation(given), "east") == []


@pytest.mark.parametrize("export", [REVIEWS, BY_LABELS])
def test_one_service_of_two_meshes_needs_one_import(export: Manifest) -> None:
    given = document(peer("north", exports=[export]))
    given["peers"][1]["exports"] = [export]
    given["peers"][0]["imports"] = [WISH, {**WISH, "meshes": ["north"]}]
    (found,) = overlaps(federation(given), "east")
    assert found.fix.startswith("Name north and west in meshes of one import")


def test_roots_that_differ_are_said_with_the_way_to_one_root() -> None:
    given = document()
    given["peers"][0]["rootCertificate"] = CERTIFICATE
    given["peers"][1]["rootCertificate"] = new_authority("another").certificate.decode()
    with pytest.raises(InvalidInputError) as error:
        federation(given)
    assert "east and west have different roots" in str(error.value)
    assert "a root certificate with both roots" in str(error.value)
    assert "BEGIN" not in str(error.value)
    given["peers"][1]["rootCertificate"] = CERTIFICATE + "\n"
    assert federation(given)


def test_meshes_on_the_way_to_one_root_have_both() -> None:
    """In whichever order they stand: what counts is that some root is everybody's."""
    other, third = (new_authority(name).certificate.decode() for name in ("another", "a third"))
    given = document(peer("north"))

    def roots(*texts: str) -> Federation:
        for one, text in zip(given["peers"], texts, strict=True):
            one["rootCertificate"] = text
        return federation(given)

    assert roots(CERTIFICATE + other, other + CERTIFICATE, other)
    with pytest.raises(InvalidInputError, match="east and north have different roots"):
        roots(CERTIFICATE, CERTIFICATE + other, other)
    with pytest.raises(InvalidInputError, match="east, north, west have different roots"):
        roots(CERTIFICATE + other, other + third, third + CERTIFICATE)


ROOTS = {name: new_authority(name).certificate.decode() for name in ("east", "west", "north", "new")}


def partial(*more: Manifest, **fields: Any) -> Manifest:
    """The same document, for meshes with roots of their own."""
    given = document(*more, trust="partial", **fields)
    for one in given["peers"]:
        one.setdefault("rootCertificate", ROOTS[one["mesh"]])
    return given


def validators(manifests: list[Manifest]) -> list[tuple[str, Manifest, dict[str, str]]]:
    """Of all patches of EnvoyFilters: what they apply to, what they match, and the bundle of each trust domain."""
    found = []
    for patch in (one for spec in by_kind(manifests, "EnvoyFilter") for one in spec["configPatches"]):
        assert patch["patch"]["operation"] == "MERGE"  # beside what istiod makes
        context = patch["patch"]["value"]["transport_socket"]["typed_config"]["common_tls_context"]
        assert context.keys() == {"combined_validation_context"}
        beside = context["combined_validation_context"]["default_validation_context"]
        assert beside.keys() == {"custom_validator_config"}  # the identities that istiod asks for stay
        domains = beside["custom_validator_config"]["typed_config"]["trust_domains"]
        bundles = {one["name"]: one["trust_bundle"]["inline_string"] for one in domains}
        found.append((patch["applyTo"], patch["match"], bundles))
    return found


def test_with_roots_of_their_own_each_verifies_the_other_by_its_root_and_for_its_trust_domain() -> None:
    east, west = (made(partial(), mesh) for mesh in ("east", "west"))
    assert validators(east) == [("CLUSTER", {"cluster": {"service": HOST}}, {"west.mesh.local": ROOTS["west"]})]
    match = {"context": "GATEWAY", "listener": {"portNumber": 15443, "filterChain": {"sni": HOST}}}
    assert validators(west) == [("FILTER_CHAIN", match, {"east.mesh.local": ROOTS["east"]})]
    (spec,) = by_kind(west, "EnvoyFilter")
    assert spec["workloadSelector"] == {"labels": {"app": "eastwest"}}
    for mesh, manifests in (("east", east), ("west", west)):
        assert ROOTS[mesh] not in json.dumps(manifests)  # its own is istiod's matter, and never stands for a peer
        filters = [one for one in manifests if one["kind"] == "EnvoyFilter"]
        # All else is as with one root: who may call what, and where it goes.
        assert [one for one in manifests if one not in filters] == made(document(), mesh)


def test_on_the_way_roots_are_exchanged_that_all_have_in_common() -> None:
    """So that who verifies by the shared root and who verifies by bundles believe each other."""
    given = partial()
    given["trust"] = "changing"
    assert made(given, "east") == made(partial(), "east")
    given["peers"][0]["rootCertificate"] = given["peers"][1]["rootCertificate"] = ROOTS["new"]
    for mesh, other in (("east", "west"), ("west", "east")):
        ((_, _, bundles),) = validators(made(given, mesh))
        assert bundles == {f"{other}.mesh.local": ROOTS["new"]}


def test_a_gateway_knows_the_roots_of_those_who_may_call_and_of_nobody_else() -> None:
    to_north = [{"mesh": "north", "identities": ["a/b"]}]
    tcp = {**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP", "to": to_north}
    given = partial(peer("north"))
    given["peers"][1]["exports"] = [REVIEWS, tcp]
    found = validators(made(given, "west"))
    # A patch for each server: a second one of the same would take the place of the first.
    assert [(match["listener"]["filterChain"]["sni"], set(bundles)) for _, match, bundles in found] == [
        (HOST, {"east.mesh.local"}),
        ("db.books.shops.example.com", {"north.mesh.local"}),
    ]
    given["peers"][1]["exports"] = [REVIEWS, {**tcp, "protocol": "HTTP"}]
    ((_, match, bundles),) = validators(made(given, "west"))
    assert list(bundles) == ["east.mesh.local", "north.mesh.local"]
    (gateway,) = by_kind(made(given, "west"), "Gateway")
    sni = match["listener"]["filterChain"]["sni"]
    assert [f"./{sni}" in server["hosts"] for server in gateway["servers"]] == [True]
    assert validators(made(given, "north")) == []


def test_a_peer_that_moves_to_another_root_has_both_and_a_trust_domain_may_be_its_own() -> None:
    given = partial()
    given["peers"][1] |= {"rootCertificate": ROOTS["west"] + ROOTS["new"], "trustDomain": "west.example.org"}
    ((_, _, bundles),) = validators(made(given, "east"))
    assert bundles == {"west.example.org": ROOTS["west"] + ROOTS["new"]}


def test_a_service_of_several_meshes_is_verified_by_each_one_s_root() -> None:
    given = partial(peer("north", exports=[REVIEWS]))
    given["peers"][0]["imports"] = [{**WISH, "meshes": ["north", "west"], "host": "r.example.com"}]
    ((_, match, bundles),) = validators(made(given, "east"))
    assert match == {"cluster": {"service": "r.example.com"}}
    assert bundles == {"north.mesh.local": ROOTS["north"], "west.mesh.local": ROOTS["west"]}


def test_roots_are_told_where_the_import_is_told() -> None:
    given = partial()
    given["peers"][0]["imports"] = [{**WISH, "namespaces": ["shop", "books"]}]
    filters = [one["metadata"] for one in made(given, "east") if one["kind"] == "EnvoyFilter"]
    assert [one["namespace"] for one in filters] == ["books", "shop"]
    (everywhere,) = (one["metadata"] for one in made(partial(), "east") if one["kind"] == "EnvoyFilter")
    assert everywhere["namespace"] == "mesh-east"  # istiod's root namespace


def test_an_old_offer_brings_no_root_of_a_mesh_that_the_document_does_not_let_in() -> None:
    given = partial()
    told = [offer(federation(given), one) for one in ("east", "west")]
    given["peers"][0]["imports"], given["peers"][1]["exports"] = [], []
    assert validators(made(given, "west", told)) == []


def intermediate() -> str:
    return pem(Authority("intermediate", Authority("root")).certificate).decode()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (partial(peer("north", rootCertificate=None)), "rootCertificate of north is missing"),
        (
            partial(peer("north", rootCertificate=ROOTS["west"] + ROOTS["new"])),
            "trust is partial, but north and west have a root in common",
        ),
        (partial(peer("north", trustDomain="east.mesh.local")), "peers has two with one trustDomain, east.mesh.local"),
        (
            partial(peer("north", rootCertificate=ROOTS["new"] + intermediate())),
            "rootCertificate of north holds a certificate that is no root",
        ),
        (
            partial(peer("north", rootCertificate=pem(Authority("a workload", ca=False).certificate).decode())),
            "rootCertificate of north holds a certificate that is no root",
        ),
    ],
)
def test_bundles_that_prove_nothing_are_refused_in_one_line(given: Manifest, rule: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        federation(given)
    assert rule in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert "BEGIN" not in str(error.value)


def test_an_exported_name_may_have_a_suffix_of_its_own() -> None:
    given = document()
    given["peers"][1]["exports"] = [{**REVIEWS, "host": "reviews.partners.example.org"}]
    (entry,) = by_kind(made(given, "east"), "ServiceEntry")
    assert entry["hosts"] == ["reviews.partners.example.org"]


def ring(size: int) -> Manifest:
    """Each mesh exports twenty services to the one before it, and imports those of the next."""
    names = [f"mesh-{number}" for number in range(size)]
    peers = []
    for number, mesh in enumerate(names):
        audience = {"mesh": names[number - 1], "identities": ["shop/*"]}
        exports = [
            {"namespace": "shop", "service": f"{mesh}-s{one}", "port": 80, "to": [audience]} for one in range(20)
        ]
        peers.append(peer(mesh, exports=exports, imports=[{"meshes": [names[(number + 1) % size]]}]))
    return {"name": "shops", "domain": "shops.example.com", "peers": peers}


def test_a_mesh_s_objects_grow_with_its_imports_and_not_with_the_federation() -> None:
    assert [len(made(ring(size), "mesh-0")) for size in (2, 5, 20)] == [63, 63, 63]


def all_to_all(size: int, **fields: Any) -> Manifest:
    """Meshes that export twenty services each to all others."""
    names = [f"mesh-{one}" for one in range(size)]
    everyone = [{"mesh": "*", "identities": ["shop/*"]}]
    peers = [
        peer(
            name,
            exports=[
                {"namespace": "shop", "service": f"{name}-s{one}", "port": 80, "to": everyone} for one in range(20)
            ],
            imports=[{"meshes": [other]} for other in names if other != name],
        )
        for name in names
    ]
    return {"name": "shops", "domain": "shops.example.com", "peers": peers, **fields}


def test_services_of_a_peer_share_objects_so_that_twenty_meshes_are_cheap() -> None:
    """A Pulumi resource is what costs: the state is written after each."""
    assert [len(made(all_to_all(size), "mesh-0")) for size in (2, 20)] == [63, 783]
    assert [len(made(all_to_all(size, objects="shared"), "mesh-0")) for size in (2, 20)] == [25, 43]


def test_shared_objects_have_each_host_and_each_identity() -> None:
    east = made(document(objects="shared"), "east")
    (entry,), (rule,) = by_kind(east, "ServiceEntry"), by_kind(east, "DestinationRule")
    (alone,) = by_kind(made(document(), "east"), "ServiceEntry")
    assert entry == alone
    # Without a server name Istio sets `outbound_.<port>_._.<host>`.
    assert (rule["host"], rule["trafficPolicy"]["tls"]) == ("*.shops.example.com", {"mode": "ISTIO_MUTUAL"})
    big = made(all_to_all(3, objects="shared"), "mesh-0")
    entries = {one["metadata"]["name"]: one for one in big if one["kind"] == "ServiceEntry"}
    assert set(entries) == {"shops-mesh-1-80-http", "shops-mesh-2-80-http"}
    for mesh, one in zip(("mesh-1", "mesh-2"), entries.values(), strict=True):
        assert one["spec"]["hosts"] == sorted(f"{mesh}-s{at}.shop.shops.example.com" for at in range(20))
        assert one["spec"]["subjectAltNames"] == [f"spiffe://{mesh}.mesh.local/ns/mesh-{mesh}/sa/eastwest"]


@pytest.mark.parametrize("objects", ["changing", "shared"])
def test_gateways_accept_callers_of_both_kinds_by_the_host_s_own_name(objects: str) -> None:
    west = made(document(objects=objects), "west")
    (gateway,), (policy,) = by_kind(west, "Gateway"), by_kind(west, "AuthorizationPolicy")
    assert gateway["servers"][0]["hosts"] == [f"./{HOST}", f"./*.{HOST}"]
    assert policy["rules"][0]["when"] == [{"key": "connection.sni", "values": [HOST, f"*.{HOST}"]}]
    assert policy["rules"][0]["to"] == [{"operation": {"hosts": [HOST, f"{HOST}:*"]}}]
    kept = [one for one in made(document(objects="changing"), "east") if one["kind"] == "DestinationRule"]
    assert [one["spec"]["host"] for one in kept] == [HOST]


@pytest.mark.parametrize(
    "change",
    [
        lambda east, _: east["imports"][0].update(host="r.example.com"),
        lambda east, _: east["imports"][0].update(tcpKeepalive={"timeSeconds": 20}),
        lambda east, _: east["imports"][0].update(meshes=["west", "north"]),
        lambda east, _: east.update(egress={"gateway": "egress"}),
        lambda _, west: west["exports"][0].update(protocol="TCP"),
        lambda _, west: west["exports"][0].update(host="reviews.example.org"),
    ],
)
def test_an_import_with_a_setting_of_its_own_has_its_own_objects(change: Callable[[Manifest, Manifest], None]) -> None:
    given = document(peer("north", exports=[REVIEWS]))
    change(*given["peers"][:2])
    assert made({**given, "objects": "shared"}, "east") == made(given, "east")


def test_imports_for_other_namespaces_do_not_share() -> None:
    given = document(objects="shared")
    given["peers"][1]["exports"].append({**REVIEWS, "service": "ratings"})
    given["peers"][0]["imports"] = [{**WISH, "namespaces": ["a"]}, {**WISH, "service": "ratings"}]
    found = {one["metadata"]["name"]: one["spec"] for one in made(given, "east") if one["kind"] == "ServiceEntry"}
    assert sorted(one.get("exportTo", []) for one in found.values()) == [[], ["a"]]


def principals(manifests: list[Manifest]) -> dict[str, list[str]]:
    """Who is let in, by host."""
    (policy,) = by_kind(manifests, "AuthorizationPolicy")
    return {rule["when"][0]["values"][0]: rule["from"][0]["source"]["principals"] for rule in policy.get("rules", [])}


def test_shared_objects_need_one_root() -> None:
    given = partial(objects="shared")
    with pytest.raises(InvalidInputError, match="objects is shared, but trust is partial"):
        federation(given)


def test_two_exports_of_one_service_let_in_each_its_own() -> None:
    given = document()
    other = {**REVIEWS, "port": 9090, "host": "admin.shops.example.com"}
    other["to"] = [{"mesh": "east", "identities": ["books/admin"]}]
    given["peers"][1]["exports"] = [REVIEWS, other]
    assert principals(made(given, "west")) == {
        HOST: ["east.mesh.local/ns/books/sa/page"],
        "admin.shops.example.com": ["east.mesh.local/ns/books/sa/admin"],
    }


def test_all_peers_are_those_of_the_groups_and_a_named_one_has_its_own() -> None:
    given = document(peer("north"), peer("south"), groups=[{"name": "g", "meshes": ["east", "west", "north"]}])
    everyone = {"mesh": "*", "identities": ["*"]}
    given["peers"][1]["exports"] = [{**REVIEWS, "to": [everyone, AUDIENCE]}]
    assert principals(made(given, "west")) == {HOST: ["east.mesh.local/ns/books/sa/page", "north.mesh.local/*"]}
    del given["groups"]
    assert principals(made(given, "west"))[HOST][1:] == ["north.mesh.local/*", "south.mesh.local/*"]


@pytest.mark.parametrize(
    ("identity", "form"),
    [
        ("books/page", "ns/books/sa/page"),
        ("books/*", "ns/books/sa/*"),
        ("books/page*", "ns/books/sa/page*"),
        ("books-*/*", "ns/books-*"),
        ("*", "*"),
    ],
)
def test_identities_may_be_patterns(identity: str, form: str) -> None:
    given = document()
    given["peers"][1]["exports"][0]["to"][0]["identities"] = [identity]
    assert principals(made(given, "west")) == {HOST: [f"east.mesh.local/{form}"]}


@pytest.mark.parametrize(
    "identity", ["*/page", "books", "books/*page", "books-*/page", "**", "books/", "a/b/c", "-*/*"]
)
def test_patterns_that_istio_does_not_match_are_refused(identity: str) -> None:
    given = document()
    given["peers"][1]["exports"][0]["to"][0]["identities"] = [identity]
    with pytest.raises(InvalidInputError, match="must be a namespace and a service account, or a pattern of one"):
        federation(given)


def test_twenty_meshes_by_twenty_exports_are_a_short_document() -> None:
    names = [f"mesh-{one}" for one in range(20)]
    exports = [{**REVIEWS, "service": f"s{one}", "to": [{"mesh": "*", "identities": ["shop/*"]}]} for one in range(20)]
    peers = [peer(name, exports=exports, imports=[{"meshes": [one for one in names if one != name]}]) for name in names]
    given = {"name": "shops", "domain": "shops.example.com", "peers": peers}
    assert len(yaml.safe_dump(given, default_flow_style=True, width=1000)) < 60_000
    assert all(len(one.exports[0].to) == 19 for one in federation(given).peers)


def test_exports_by_different_labels_let_in_each_its_own() -> None:
    given = labelled([AUDIENCE])
    given["peers"][1]["exports"].append(
        {"namespace": "books", "labels": {"export": "also"}, "to": [{"mesh": "north", "identities": ["a/b"]}]}
    )
    known = federation(given)
    also = copy.deepcopy(SERVICE)
    also["metadata"] |= {"name": "also", "labels": {"export": "also"}}
    offered = offer(known, "west", [SERVICE, also])
    assert principals(objects(known, "west", [offered])) == {
        "also.books.shops.example.com": ["north.mesh.local/ns/a/sa/b"],
        HOST: ["east.mesh.local/ns/books/sa/page"],
    }


def test_an_old_offer_lets_nobody_in_whom_the_document_does_not_name_any_more() -> None:
    old = offer(federation(labelled([AUDIENCE, {"mesh": "north", "identities": ["a/b"]}])), "west", [SERVICE])
    now = federation(labelled([{"mesh": "north", "identities": ["a/b"]}]))
    assert principals(objects(now, "west", [old])) == {HOST: ["north.mesh.local/ns/a/sa/b"]}
    given = labelled([AUDIENCE])
    given["peers"][1]["exports"] = []
    given["peers"][0]["imports"] = []
    assert principals(objects(federation(given), "west", [old])) == {}


def imports_of(given: Manifest, offered: Offer) -> tuple[list[tuple[str, int]], list[str]]:
    """Host and port of each, and what is left out."""
    known = federation(given)
    offers = [offer(known, "east"), offered]
    found = imported(known, "east", offers)
    return [(one.host, one.offered.port) for one in found], [str(one) for one in left_out(known, "east", offers)]


def offers_tcp(given: Manifest) -> Offer:
    """Of reviews, which was HTTP, and which a document that selects by labels says nothing of."""
    offered = offer(federation(given), "west", [{**SERVICE, "spec": {"ports": [{"name": "pg", "port": 5432}]}}])
    assert [(one.host, one.protocol) for one in offered.services] == [(HOST, Protocol.TCP)]
    return offered


@pytest.mark.parametrize("wish", [{}, {"namespace": "books"}, {"namespace": "books", "service": "reviews"}])
def test_a_peer_cannot_take_all_tcp_to_a_port_by_its_offer_alone(wish: Manifest) -> None:
    given = labelled([AUDIENCE])
    given["peers"][0]["imports"] = [{"meshes": ["west"], **wish}]
    hosts, (without,) = imports_of(given, offers_tcp(given))
    assert (hosts, told(without)["port"]) == ([], 5432)
    given["peers"][0]["imports"][0]["required"] = True
    rule = f"would import {HOST} from west, which is TCP, so all TCP to port 5432 would go there. Name it in an import"
    with pytest.raises(InvalidInputError, match=re.escape(rule)) as refused:
        imports_of(given, offers_tcp(given))
    given["peers"][0]["imports"] = [told(str(refused.value))]
    assert imports_of(given, offers_tcp(given)) == ([(HOST, 5432)], [])


def told(message: str) -> Any:
    """The import that a message says to write."""
    return yaml.safe_load(message.split("`")[1])


@pytest.mark.parametrize("wish", [{}, {"namespace": "books"}, {"namespace": "books", "service": "reviews"}])
def test_a_peer_cannot_open_any_port_for_http_by_its_labels_alone(wish: Manifest) -> None:
    """A proxy that expects HTTP at a port waits for the client's first bytes, so MySQL there would wait for ever."""
    given = labelled([AUDIENCE])
    mysql = offer(federation(given), "west", [{**SERVICE, "spec": {"ports": [{"name": "http", "port": 3306}]}}])
    given["peers"][0]["imports"] = [{"meshes": ["west"], **wish}]
    hosts, (without,) = imports_of(given, mysql)
    assert (hosts, told(without)["port"]) == ([], 3306)
    given["peers"][0]["imports"][0]["required"] = True
    rule = f"would import {HOST} from west, which is selected by labels only, and would make proxies treat port 3306 "
    rule += "as HTTP"
    with pytest.raises(InvalidInputError, match=re.escape(rule)) as refused:
        imports_of(given, mysql)
    given["peers"][0]["imports"] = [told(str(refused.value))]
    assert imports_of(given, mysql) == ([(HOST, 3306)], [])
    given["peers"][0]["imports"] = [{"meshes": ["west"], **wish, "ports": [80, 3306]}]
    assert imports_of(given, mysql) == ([(HOST, 3306)], [])


@pytest.mark.parametrize("port", [80, 8080])
def test_ports_of_http_that_nothing_else_has_need_no_name(port: int) -> None:
    given = labelled([AUDIENCE])
    given["peers"][0]["imports"] = [{"meshes": ["west"]}]
    offered = offer(federation(given), "west", [{**SERVICE, "spec": {"ports": [{"name": "http", "port": port}]}}])
    assert imports_of(given, offered) == ([(HOST, port)], [])


def test_a_port_that_the_document_s_export_names_needs_no_other_name() -> None:
    given = document()
    given["peers"][0]["imports"] = [{"meshes": ["west"]}]
    assert imports_of(given, offer(federation(given), "west")) == ([(HOST, 9080)], [])


def test_ports_beside_port_are_refused() -> None:
    given = document()
    given["peers"][0]["imports"] = [{**WISH, "port": 9080, "ports": [9080]}]
    with pytest.raises(InvalidInputError, match="ports has no effect with port"):
        federation(given)


def test_tcp_is_imported_where_the_importer_names_its_port() -> None:
    given = labelled([AUDIENCE])
    given["peers"][0]["imports"] = [{**WISH, "port": 5432}]
    assert imports_of(given, offers_tcp(given)) == ([(HOST, 5432)], [])
    given["peers"][0]["imports"] = [{**WISH, "port": 5433, "required": True}]
    with pytest.raises(InvalidInputError, match="names a service that west does not export to east"):
        imports_of(given, offers_tcp(given))


def test_tcp_is_imported_where_the_document_s_export_names_its_port_and_protocol() -> None:
    given = document()
    given["peers"][1]["exports"] = [{**REVIEWS, "port": 5432, "protocol": "TCP"}]
    assert imports_of(given, offer(federation(given), "west")) == ([(HOST, 5432)], [])
    tcp = offer(federation(given), "west")
    given["peers"][1]["exports"] = [{**REVIEWS, "port": 5432}]
    given["peers"][0]["imports"][0]["required"] = True
    with pytest.raises(InvalidInputError, match=f"would import {HOST} from west, which is TCP"):
        imports_of(given, tcp)


def test_an_import_of_all_takes_what_is_named_by_nobody_but_no_tcp_and_no_foreign_host() -> None:
    given = labelled([AUDIENCE])
    given["peers"][1]["exports"].append({**REVIEWS, "service": "login", "host": "login.bank.example"})
    given["peers"][1]["exports"].append({**REVIEWS, "service": "db", "port": 5432, "protocol": "TCP"})
    offered = offer(federation(given), "west", [SERVICE])
    database = "db.books.shops.example.com of west, which is TCP, so all TCP to port 5432 would go there"
    bank = "login.bank.example of west, which lies outside of the federation's domain"
    hosts, without = imports_of(given, offered)
    assert hosts == [(HOST, 9080)]
    assert [one.partition(". Name it")[0] for one in without] == [
        f"imports[0] of east: does not import {database}",
        f"imports[0] of east: does not import {bank}",
    ]
    given["peers"][0]["imports"] += map(told, without)
    assert imports_of(given, offered) == (
        [("db.books.shops.example.com", 5432), ("login.bank.example", 9080), (HOST, 9080)],
        [],
    )


@pytest.mark.parametrize("host", ["bank.example.org", "ratings.books.shops.example.com", "shops.example.com"])
def test_a_peer_cannot_offer_a_name_that_is_not_its_own(host: str) -> None:
    known = federation(labelled([AUDIENCE]))
    honest = offer(known, "west", [SERVICE])
    taken = honest.model_copy(update={"services": (honest.services[0].model_copy(update={"host": host}),)})
    with pytest.raises(InvalidInputError, match=f"would import host {host} from west"):
        objects(known, "east", [offer(known, "east"), taken])
