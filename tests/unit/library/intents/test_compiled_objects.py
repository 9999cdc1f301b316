"""The objects of each type of intent, the seams, and the evaluator on them."""

from __future__ import annotations

import ipaddress
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.federation import manifests
from pulumi_hosted_mesh.federation.exports import with_declared
from pulumi_hosted_mesh.intents.addresses import SIZE, addresses_of
from pulumi_hosted_mesh.intents.calls import Call, parse_call
from pulumi_hosted_mesh.intents.compiler import compile_intents, of_peer, with_intents
from pulumi_hosted_mesh.intents.evaluator import Evaluator
from pulumi_hosted_mesh.intents.matrix import matrix
from pulumi_hosted_mesh.intents.patterns import normalized
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.federation import Federation
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.intents.documents import (
    INBOUND,
    INTRA,
    OUTBOUND,
    REVIEWS,
    by_kind,
    compiled,
    intents,
    inventory,
    service,
)

INTER = {**INTRA, "type": "inter-cluster"}
TO_RATINGS = {**INTER, "service": {"name": "ratings", "namespace": "books", "port": 9080}}
JWT = {"issuer": "https://id.example.com", "jwksUri": "https://id.example.com/keys"}
HTTP_OUT = {"host": "api.example.org", "protocol": "HTTP", "port": 80, "tls": {"caCertificates": "/etc/ssl/ca.pem"}}
EAST_GATEWAYS = [{"name": "ingress", "role": "ingress", "addresses": ["10.0.0.7", "fd00::7"]}]


TCP = {"port": 9080, "protocol": "TCP"}


def judged(*given: dict[str, Any], call: str, places: Any = None, **claims: str) -> bool:
    known = places or inventory()
    return Evaluator(compile_intents(intents(*given), known), known).judge(parse_call(call, claims)).allowed


def test_one_deny_all_and_an_allow_for_the_clients() -> None:
    result = compiled({**INTRA, "access": [{"methods": ["GET"], "paths": ["/reviews/*"]}]})
    deny, allow = by_kind(result, "AuthorizationPolicy")
    assert (deny["metadata"]["name"], deny["spec"]) == ("shop-deny-all", {})
    assert allow["spec"] == {
        "selector": {"matchLabels": {"app": "reviews"}},
        "action": "ALLOW",
        "rules": [
            {
                "from": [{"source": {"principals": ["shop.mesh.local/ns/books/sa/page"]}}],
                "to": [{"operation": {"methods": ["GET"], "paths": ["/reviews/*"]}}],
            }
        ],
    }
    notes = allow["metadata"]["annotations"]
    assert notes == {"hosted-mesh.io/intent": "page-reviews", "hosted-mesh.io/intent-field": "access"}
    assert result.objects.keys() == {"east"}, "north is a member whose istiod reads east alone"


@pytest.mark.parametrize(
    ("more", "call", "allowed"),
    [
        ({}, "books/page -> books/reviews", True),
        ({}, "books/ratings -> books/reviews", False),
        ({"access": [{"methods": ["GET"]}]}, "books/page -> books/reviews POST /", False),
        (
            {"access": [{"methods": ["GET"]}, {"methods": ["POST"], "paths": ["/a*"]}]},
            "books/page -> books/reviews POST /ab",
            True,
        ),
        ({"access": [{"action": "DENY", "paths": ["/admin*"]}]}, "books/page -> books/reviews GET /admin/1", False),
        ({"access": [{"action": "DENY", "paths": ["/admin*"]}]}, "books/page -> books/reviews GET /reviews", True),
        ({"access": [{"namespaces": ["other"]}]}, "books/page -> books/reviews", False),
        ({"clients": [{"service": "page", "serviceAccounts": ["other"]}]}, "books/page -> books/reviews", False),
        ({"clients": [{"service": "page", "serviceAccounts": ["*"]}]}, "books/page -> books/reviews", True),
    ],
)
def test_access_limits_the_clients(more: dict[str, Any], call: str, allowed: bool) -> None:
    assert judged({**INTRA, **more}, call=call) is allowed


@pytest.mark.parametrize(
    ("path", "compared"),
    [
        ("/reviews/1?page=/admin", "/reviews/1"),
        ("/reviews/1#top", "/reviews/1"),
        ("/reviews/../admin", "/admin"),
        ("/reviews/%2e%2e/admin", "/admin"),
        ("/reviews/..;a=1/admin", "/admin"),
        ("/reviews;a=1/1", "/reviews;a=1/1"),
        ("/../..", "/"),
        ("/a/.", "/a/"),
        ("/a/./b", "/a/b"),
        ("/.../b", "/.../b"),
        ("//a//b", "//a//b"),
        ("/a\\b", "/a/b"),
        ("/a%2fb%5Cc", "/a%2fb%5Cc"),
        ("/%61%2D%7euser%zz", "/a-~user%zz"),
        ("/%25%32%65", "/%252e"),
        ("/a|b", "/a%7Cb"),
    ],
)
def test_paths_are_compared_as_envoy_normalizes_them(path: str, compared: str) -> None:
    """Each was sent through Envoy: this path arrived."""
    assert normalized(path) == compared


def test_a_detour_of_a_path_opens_nothing() -> None:
    limited = {**INTRA, "access": [{"paths": ["/reviews/*"]}]}
    assert judged(limited, call="books/page -> books/reviews GET /reviews/1")
    assert not judged(limited, call="books/page -> books/reviews GET /reviews/../admin")
    denied = {**INTRA, "access": [{"action": "DENY", "paths": ["/admin*"]}]}
    assert not judged(denied, call="books/page -> books/reviews GET /reviews/%2e%2e/%61dmin")


def test_ranges_are_of_the_connection_for_callers_in_the_mesh() -> None:
    """They write X-Forwarded-For themselves."""
    allows = {**INTRA, "access": [{"ranges": ["10.1.0.0/16"]}]}
    _, policy = by_kind(compiled(allows), "AuthorizationPolicy")
    assert policy["spec"]["rules"][0]["from"][0]["source"]["ipBlocks"] == ["10.1.0.0/16"]
    denies = {**INTRA, "access": [{"action": "DENY", "ranges": ["10.1.0.0/16"]}]}
    evaluators = [Evaluator(compiled(one), inventory()) for one in (allows, denies)]

    def verdicts(address: str | None) -> list[bool]:
        return [one.judge(Call("books/page", "books/reviews", address=address)).allowed for one in evaluators]

    assert verdicts("10.1.2.3") == [True, False]
    assert verdicts("10.2.2.3") == [False, True]
    assert verdicts(None) == [False, False]
    assert "the caller's address is unknown" in evaluators[1].judge(Call("books/page", "books/reviews")).reasons[0]


def test_a_deny_by_http_denies_all_bytes_of_a_port_without_http() -> None:
    places = inventory(services=[service("page", "east"), {**service("reviews", "east"), "ports": [TCP]}])
    denies = {
        **INTRA,
        "service": {**REVIEWS, "protocol": "HTTP"},
        "access": [{"action": "DENY", "methods": ["DELETE"], "paths": ["/*"]}],
    }
    assert judged(INTRA, call="books/page -> books/reviews:9080", places=places)
    assert not judged(denies, call="books/page -> books/reviews:9080", places=places)


def test_an_intent_opens_its_own_port_only() -> None:
    ports = [{"port": 9080, "targetPort": 8080}, {**TCP, "port": 9091, "targetPort": 9092}]
    places = inventory(services=[service("page", "east"), {**service("reviews", "east"), "ports": ports}])
    limited = {**INTRA, "access": [{"methods": ["GET"]}, {"action": "DENY", "paths": ["/admin"]}]}
    objects = compile_intents(intents(limited), places).objects["east"]
    rules = [rule for one in objects if one["spec"] for rule in one["spec"]["rules"]]
    assert [one["to"][0]["operation"]["ports"] for one in rules] == [["8080"], ["8080"]]
    assert judged(limited, call="books/page -> books/reviews:9080", places=places)
    assert not judged(limited, call="books/page -> books/reviews:9091", places=places)
    bytes_too = {**INTRA, "name": "bytes", "service": {**REVIEWS, "port": 9091, "protocol": "TCP"}}
    assert judged(limited, bytes_too, call="books/page -> books/reviews:9091", places=places)
    assert not judged(limited, bytes_too, call="books/page -> books/reviews:9080 POST /", places=places)
    shown = matrix(compile_intents(intents(limited, bytes_too), places), places).cells["books/page", "books/reviews"]
    assert (shown.calls, shown.intents) == ((":9080 GET *", ":9091 all"), ("page-reviews", "bytes"))


def test_a_token_is_needed_with_an_issuer() -> None:
    intent = {**INTRA, "jwt": JWT, "access": [{"claims": {"role": ["admin"]}}]}
    call = "books/page -> books/reviews"
    assert not judged(intent, call=call)
    assert not judged(intent, call=call, iss=JWT["issuer"], role="guest")
    assert judged(intent, call=call, iss=JWT["issuer"], role="admin")
    without = {**INTRA, "name": "without"}
    assert judged(intent, without, call=call)
    assert not judged(intent, without, call=call, iss="https://other.example.com"), "a proxy refuses unknown issuers"
    assert by_kind(compiled(intent), "RequestAuthentication")[0]["spec"]["jwtRules"][0]["issuer"] == JWT["issuer"]
    shown = matrix(compiled(intent), inventory()).cells["books/page", "books/reviews"]
    assert shown.calls == (f"* * with a token iss={JWT['issuer']} role=admin",)


def test_routes_of_weights_and_limits_of_connections() -> None:
    weights = [{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}]
    given = {**INTRA, "weights": weights, "timeout": "2s", "retries": {"attempts": 1}, "mirror": {"version": "v2"}}
    result = compiled({**given, "circuitBreaking": {"maxConnections": 9, "consecutiveErrors": 3}})
    ((route,),) = (one["spec"]["http"] for one in by_kind(result, "VirtualService"))
    assert [(one["destination"]["subset"], one["weight"]) for one in route["route"]] == [("v1", 90), ("v2", 10)]
    assert (route["timeout"], route["mirror"]["subset"], route["retries"]["attempts"]) == ("2s", "v2", 1)
    (rule,) = by_kind(result, "DestinationRule")
    assert [one["name"] for one in rule["spec"]["subsets"]] == ["v1", "v2"]
    policy = rule["spec"]["trafficPolicy"]
    assert policy["connectionPool"]["tcp"] == {"maxConnections": 9}
    assert policy["outlierDetection"]["consecutive5xxErrors"] == 3


def test_no_policy_of_traffic_is_empty() -> None:
    """istiod's webhook rejects it."""
    weights = [{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}]
    (rule,) = by_kind(compiled({**INTRA, "weights": weights}), "DestinationRule")
    assert rule["spec"].keys() == {"host", "subsets"}
    by_routes = {**INTRA, "weights": weights, "serviceMesh": "gateway-api"}
    assert by_kind(compiled(by_routes), "DestinationRule") == []


def test_the_gateway_api_has_services_in_place_of_subsets() -> None:
    weights = [{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}]
    result = compiled({**INTRA, "serviceMesh": "gateway-api", "weights": weights, "timeout": "2s"})
    (route,) = by_kind(result, "HTTPRoute")
    assert route["spec"]["parentRefs"] == [{"group": "", "kind": "Service", "name": "reviews", "port": 9080}]
    (rule,) = route["spec"]["rules"]
    assert [(one["name"], one["weight"]) for one in rule["backendRefs"]] == [("reviews-v1", 90), ("reviews-v2", 10)]
    selectors = {one["metadata"]["name"]: one["spec"]["selector"] for one in by_kind(result, "Service")}
    assert selectors["reviews-v2"] == {"app": "reviews", "version": "v2"}
    assert not by_kind(result, "VirtualService")


def test_grpc_and_a_grant_for_an_entry_of_the_gateway_api() -> None:
    service = {"name": "page", "namespace": "books", "protocol": "GRPC", "port": 9080}
    given = {**INBOUND, "service": service, "serviceMesh": "gateway-api", "certificate": {"secret": "mine"}}
    result = compiled(given)
    (route,) = by_kind(result, "GRPCRoute")
    assert (route["spec"]["hostnames"], route["metadata"]["namespace"]) == (["shop.example.com"], "mesh-shop")
    (grant,) = by_kind(result, "ReferenceGrant")
    assert grant["metadata"]["namespace"] == "books"
    (gateway,) = by_kind(result, "Gateway")
    assert gateway["spec"]["listeners"][0]["tls"]["certificateRefs"] == [{"name": "mine"}]
    assert judged(given, call="outside -> shop.example.com")


def test_members_of_one_mesh_prefer_near_endpoints() -> None:
    (rule,) = by_kind(compiled(INTER), "DestinationRule")
    policy = rule["spec"]["trafficPolicy"]
    assert policy["tls"] == {"mode": "ISTIO_MUTUAL"}
    assert policy["loadBalancer"] == {"localityLbSetting": {"enabled": True}}
    assert "outlierDetection" in policy


def test_mutual_tls_between_clusters_leaves_by_a_gateway_of_its_own() -> None:
    result = compiled({**INTER, "mutualTls": True})
    kinds = {one["kind"] for one in result.objects["east"]}
    assert {"Deployment", "Service", "ServiceAccount", "Gateway", "VirtualService", "PeerAuthentication"} <= kinds
    policies = {
        one["metadata"]["name"]: one["spec"]["rules"][0]
        for one in by_kind(result, "AuthorizationPolicy")[1:]
        if one["spec"]
    }
    at_gateway, at_callee = policies["shop-page-reviews-egress"], policies["shop-page-reviews-gateway"]
    assert at_gateway["from"][0]["source"]["principals"] == ["shop.mesh.local/ns/books/sa/page"]
    assert at_callee["from"][0]["source"]["principals"] == ["shop.mesh.local/ns/mesh-shop/sa/page-reviews-egress"]
    assert judged({**INTER, "mutualTls": True}, call="books/page -> books/reviews")
    assert not judged({**INTER, "mutualTls": True}, call="books/reviews -> books/page")


def federation(*meshes: str) -> Federation:
    peers = [{"mesh": mesh, "gateway": {"address": f"eastwest.{mesh}.example.com"}} for mesh in meshes]
    return read_document(Federation, {"name": "shops", "domain": "shops.example.com", "peers": peers})


def test_meshes_of_a_federation_get_an_export_and_an_import() -> None:
    result = compiled(TO_RATINGS)
    united = with_intents(federation("shop", "data"), result)
    (export,), (wish,) = united.peer("data").exports, united.peer("shop").imports
    assert [(one.mesh, one.identities) for one in export.to] == [("shop", ("books/page",))]
    assert (wish.meshes, wish.service, wish.namespaces) == (("data",), "ratings", ("books",))
    assert {one["kind"] for one in result.objects["west"]} == {"AuthorizationPolicy"}
    assert judged(TO_RATINGS, call="books/page -> books/ratings")
    assert not judged(TO_RATINGS, call="books/reviews -> books/ratings")


def test_calls_between_meshes_leave_by_the_egress_gateway_of_the_inventory() -> None:
    """The client's own, with its namespace and ports, as MeshFederation needs them; mutual TLS alone needs none."""
    leaving = {**TO_RATINGS, "mutualTls": True, "clients": [{"service": "page", "egressGateway": {"name": "out"}}]}
    gateway = {"name": "out", "role": "egress", "namespace": "edge", "port": 8443, "ports": {"data": 8444, "more": 1}}
    clusters = inventory().model_dump(mode="json", by_alias=True, exclude_unset=True)["clusters"]
    clusters[0]["gateways"].append(gateway)
    places = inventory(clusters=clusters)
    result = compile_intents(intents(leaving), places)
    united = with_intents(federation("shop", "data"), result)
    made = {
        (one["kind"], one["metadata"]["namespace"]): one["spec"]
        for one in manifests.objects(united, "shop", with_declared(united, []))
    }
    assert made["Gateway", "edge"]["selector"] == {"app": "out"}
    assert made["Gateway", "edge"]["servers"][0]["port"]["number"] == 8444
    endpoints = made["ServiceEntry", "mesh-shop"]["endpoints"]
    assert [one["address"] for one in endpoints] == ["out.edge.svc.cluster.local"]
    assert united.peer("data").egress is None
    assert not compile_intents(intents({**TO_RATINGS, "mutualTls": True}), places).egress

    given = federation("shop", "data").model_dump(mode="json", by_alias=True, exclude_unset=True)
    given["peers"][0]["egress"] = {"gateway": "out", "namespace": "edge", "port": 9443}
    own = with_intents(read_document(Federation, given), result).peer("shop").egress
    assert own is not None
    assert own.port == 9443, "the document's own ports stay"
    given["peers"][0]["egress"] = {"gateway": "another"}
    with pytest.raises(InvalidInputError, match=r"is another, and intents of mesh shop name egressGateway out"):
        with_intents(read_document(Federation, given), result)


RATINGS_HOST = "ratings.books.shops.example.com"


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        ("books/page -> books/ratings GET /ratings/1", True),
        (f"books/page -> {RATINGS_HOST}:9080 GET /ratings/1", True),
        ("books/page -> books/ratings POST /ratings/1", False),
        (f"books/page -> {RATINGS_HOST} GET /admin", False),
        (f"books/page -> {RATINGS_HOST}:9081 GET /ratings/1", False),
        (f"books/reviews -> {RATINGS_HOST} GET /ratings/1", False),
        ("books/near -> books/ratings GET /ratings/1", False),
        (f"books/near -> {RATINGS_HOST} GET /ratings/1", False),
        (f"books/lonely -> {RATINGS_HOST} GET /ratings/1", False),
        (f"outside -> {RATINGS_HOST} GET /ratings/1", False),
    ],
)
def test_calls_between_meshes_are_judged_by_the_name_of_the_export_too(call: str, allowed: bool) -> None:
    """Near is in the mesh of ratings, where nobody knows that name."""
    placed = {"page": "east", "reviews": "east", "ratings": "west", "near": "west", "lonely": "south"}
    known = inventory(services=[service(name, cluster) for name, cluster in placed.items()])
    rule = {"methods": ["GET"], "paths": ["/ratings/*"], "hosts": [RATINGS_HOST]}
    assert judged({**TO_RATINGS, "access": [rule]}, call=call, places=known) is allowed
    another = {**rule, "hosts": ["ratings.example.com"]}
    assert not judged({**TO_RATINGS, "access": [another]}, call=call, places=known), "callers do not use it"


def test_an_export_of_one_port_opens_no_other() -> None:
    ports = [{"port": 9080}, {"port": 9090}]
    places = inventory(
        services=[service(one, "east") for one in ("page", "reviews")] + [service("ratings", "west", ports=ports)]
    )
    others = {"name": "reviews-ratings", "clients": [{"service": "reviews"}], "externalPrefix": "second"}
    second = {**TO_RATINGS, **others, "service": {**TO_RATINGS["service"], "port": 9090}}
    calls = {
        f"books/{caller} -> {callee}:{port}": judged(
            TO_RATINGS, second, call=f"books/{caller} -> {callee}:{port}", places=places
        )
        for caller in ("page", "reviews")
        for callee in ("books/ratings", RATINGS_HOST, "second.shops.example.com")
        for port in (9080, 9090)
    }
    assert [call for call, allowed in calls.items() if allowed] == [
        "books/page -> books/ratings:9080",
        f"books/page -> {RATINGS_HOST}:9080",
        "books/reviews -> books/ratings:9090",
        "books/reviews -> second.shops.example.com:9090",
    ]


def test_an_export_names_the_accounts_of_the_callers_mesh_by_their_own_namespaces() -> None:
    accounts = ["shop.mesh.local/ns/batch/sa/reader", "data.mesh.local/ns/books/sa/page", "front"]
    result = compiled({**TO_RATINGS, "clients": [{"service": "page", "serviceAccounts": accounts}]})
    ((_, export),), ((_, wish),) = result.exports["data"], result.imports["shop"]
    assert export["to"] == [{"mesh": "shop", "identities": ["batch/reader", "books/front"]}]
    assert wish["namespaces"] == ["batch", "books"]
    foreign = {**TO_RATINGS, "clients": [{"service": "page", "serviceAccounts": accounts[1:2]}]}
    assert not compiled(foreign).exports
    assert not judged(foreign, call="books/page -> books/ratings")


def test_several_intents_and_meshes_are_one_export_and_one_import() -> None:
    """As MeshFederation takes them: it rejects two exports or imports of one host."""
    south = {"name": "south", "mesh": "more", "gateways": [{"name": "eastwest", "role": "east-west"}]}
    clusters = [*inventory().model_dump(mode="json", by_alias=True, exclude_unset=True)["clusters"][:3], south]
    services = [service("page", "east"), service("reviews", "east"), service("ratings", "west", "south")]
    joined = {"name": "shops", "domain": "shops.example.com", "meshes": ["shop", "data", "more"]}
    places = inventory(clusters=clusters, services=services, federations=[joined])
    second = {**TO_RATINGS, "name": "reviews-ratings", "clients": [{"service": "reviews"}]}
    result = compile_intents(intents(TO_RATINGS, second), places)
    united = with_intents(federation("shop", "data", "more"), result)
    assert [one.meshes for one in united.peer("shop").imports] == [("data", "more")]
    for mesh in ("data", "more"):
        (export,) = united.peer(mesh).exports
        assert [(one.mesh, one.identities) for one in export.to] == [("shop", ("books/page", "books/reviews"))]
        ((name, parts),) = of_peer(result.exports, mesh).items()
        assert (name, len(parts)) == ("shops", 1), "the component's output is the document's"
    (entry,) = (
        one for one in manifests.objects(united, "shop", with_declared(united, [])) if one["kind"] == "ServiceEntry"
    )
    assert [one["address"] for one in entry["spec"]["endpoints"]] == [
        "eastwest.data.example.com",
        "eastwest.more.example.com",
    ]
    by_host = f"books/reviews -> {RATINGS_HOST}"
    assert judged(TO_RATINGS, second, call=by_host, places=places)
    assert not judged(TO_RATINGS, call=by_host, places=places)


@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        ("outside -> shop.example.com GET /shop", True),
        ("outside -> shop.example.com POST /shop", False),
        ("192.0.2.1 -> shop.example.com GET /shop", False),
        ("outside -> other.example.com GET /shop", False),
        ("outside -> books/reviews GET /shop", False),
        ("books/reviews -> books/page GET /shop", False),
    ],
)
def test_callers_outside_reach_the_host_only(call: str, allowed: bool) -> None:
    rule = {"methods": ["GET"], "ranges": ["203.0.113.0/24"]}
    assert judged({**INBOUND, "certificate": {"secret": "mine"}, "access": [rule]}, call=call) is allowed


def test_a_load_balancer_has_the_intents_ranges_and_the_certificate_is_the_users_own() -> None:
    result = compiled({**INBOUND, "certificate": {"secret": "mine"}, "access": [{"ranges": ["203.0.113.0/24"]}]})
    (front,) = by_kind(result, "Service")
    assert front["spec"]["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert front["spec"]["externalTrafficPolicy"] == "Local", "else the gateway sees a node's address"
    (denying,) = by_kind(compiled({**INBOUND, "access": [{"action": "DENY", "ranges": ["203.0.113.0/24"]}]}), "Service")
    assert denying["spec"]["externalTrafficPolicy"] == "Local"
    assert "externalTrafficPolicy" not in by_kind(compiled(INBOUND), "Service")[0]["spec"]
    (gateway,) = by_kind(result, "Gateway")
    assert gateway["spec"]["servers"][0]["tls"] == {
        "mode": "SIMPLE",
        "minProtocolVersion": "TLSV1_2",
        "credentialName": "mine",
    }
    assert gateway["metadata"]["annotations"]["external-dns.alpha.kubernetes.io/target"] == "198.51.100.7"
    assert not by_kind(result, "Secret")


def test_a_nat_box_and_a_webhook(tmp_path: Path) -> None:
    gateways = [{**EAST_GATEWAYS[0], "publicAddresses": ["198.51.100.9", "2001:db8::9"]}]
    cluster = {"name": "east", "mesh": "shop", "entry": "nat", "names": "webhook", "gateways": gateways}
    places = inventory(
        clusters=[cluster], services=[{"name": "page", "namespace": "books", "clusters": ["east"]}], federations=[]
    )
    result = compile_intents(intents({**INBOUND, "access": [{"ranges": ["203.0.113.0/24"]}]}), places)
    rules = result.files["nat/east-ingress.nft"]
    assert "ip saddr { 203.0.113.0/24 } ip daddr 198.51.100.9 tcp dport 80 dnat ip to 10.0.0.7:80" in rules
    assert "2001:db8::9" not in rules, "no range of IPv6 is permitted"
    (policy,) = (one for one in by_kind(result, "AuthorizationPolicy") if one["metadata"]["name"] == "shop-shop-entry")
    assert "from" not in policy["spec"]["rules"][0], "the gateway sees the box's address"
    evaluator = Evaluator(result, places)
    assert evaluator.judge(parse_call("203.0.113.5 -> shop.example.com")).allowed
    assert not evaluator.judge(parse_call("198.51.100.5 -> shop.example.com")).allowed
    records = json.loads(result.files["names/east.json"])
    assert [(one["dnsName"], one["recordType"], one["targets"]) for one in records] == [
        ("shop.example.com", "A", ["198.51.100.9"]),
        ("shop.example.com", "AAAA", ["2001:db8::9"]),
    ]
    assert not by_kind(result, "Service")
    denies = {**INBOUND, "access": [{"action": "DENY", "ranges": ["203.0.113.0/24"]}]}
    with pytest.raises(InvalidInputError, match="behind the NAT box of east/ingress, which permits ranges by port"):
        compile_intents(intents(denies), places)
    another = {**INBOUND, "name": "another"}
    with pytest.raises(InvalidInputError, match="has other ranges than intent another, at one port of the NAT box"):
        compile_intents(intents({**INBOUND, "access": [{"ranges": ["203.0.113.0/24"]}]}, another), places)
    if shutil.which("nft") and shutil.which("unshare"):
        (tmp_path / "rules.nft").write_text(rules)
        checked = ["unshare", "-Urn", "nft", "-f", str(tmp_path / "rules.nft")]
        done = subprocess.run(checked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_tls_origination_at_an_egress_gateway() -> None:
    given = {**OUTBOUND, "external": HTTP_OUT, "egressGateway": {"name": "egress"}}
    result = compiled(given, outboundTraffic="REGISTRY_ONLY")
    (entry,) = by_kind(result, "ServiceEntry")
    assert entry["spec"]["ports"][0] == {"number": 80, "name": "http-80", "protocol": "HTTP", "targetPort": 443}
    tls = {one["spec"]["host"]: one["spec"] for one in by_kind(result, "DestinationRule")}["api.example.org"]
    assert tls["trafficPolicy"]["tls"] == {
        "mode": "SIMPLE",
        "sni": "api.example.org",
        "subjectAltNames": ["api.example.org"],
        "caCertificates": "/etc/ssl/ca.pem",
    }
    assert tls["exportTo"] == ["mesh-shop"], "sidecars send the gateway plain HTTP inside mutual TLS"
    known = inventory()
    evaluator = Evaluator(result, known)
    assert evaluator.judge(Call("books/page", "api.example.org")).allowed
    assert not evaluator.judge(Call("books/reviews", "api.example.org")).allowed
    assert not evaluator.judge(Call("books/page", "evil.example.org")).allowed


def test_a_tunnel_through_a_proxy_of_others() -> None:
    external = {"host": "api.example.org", "proxy": {"host": "proxy.example.org", "addresses": ["192.0.2.8"]}}
    result = compiled({**OUTBOUND, "external": external})
    (rule,) = by_kind(result, "DestinationRule")
    tunnel = {"protocol": "CONNECT", "targetHost": "api.example.org", "targetPort": 443}
    assert rule["spec"]["subsets"] == [{"name": "catalogue", "trafficPolicy": {"tunnel": tunnel}}]
    (route,) = by_kind(result, "VirtualService")
    assert route["spec"]["tls"][0]["route"][0]["destination"]["host"] == "proxy.example.org"


def test_addresses_are_stable_distinct_and_of_both_families() -> None:
    hosts = [f"h{number}.example.org" for number in range(5000)]
    found = addresses_of(hosts)
    assert len(set(found.values())) == len(hosts) < SIZE
    assert addresses_of(hosts[::-1]) == found
    assert found["h7.example.org"] == addresses_of(["h7.example.org"])["h7.example.org"]
    assert {ipaddress.ip_address(one).version for one in found["h7.example.org"]} == {4, 6}
    tcp = {"host": "db.example.org", "protocol": "TCP", "port": 5432}
    (entry,) = by_kind(compiled({**OUTBOUND, "external": tcp}), "ServiceEntry")
    assert entry["spec"]["addresses"] == list(addresses_of(["db.example.org"])["db.example.org"])


def test_an_intent_without_a_placement_waits_and_the_rest_compiles() -> None:
    waiting = {**INTRA, "name": "waits", "clients": [{"service": "later"}]}
    result = compiled(INTRA, waiting)
    assert [(one.intent, one.reason) for one in result.pending] == [
        ("waits", "books/later is placed in no cluster yet")
    ]
    assert "shop-page-reviews" in {one["metadata"]["name"] for one in result.objects["east"]}


def test_namespaces_stay_closed_without_an_intent() -> None:
    assert judged(call="books/page -> books/reviews"), "nothing is closed without an intent"
    known = inventory()
    closed = compile_intents(intents(namespaces=["books"], outboundTraffic="REGISTRY_ONLY"), known)
    assert not Evaluator(closed, known).judge(Call("books/page", "books/reviews")).allowed
    assert not Evaluator(closed, known).judge(Call("books/page", "api.example.org")).allowed
    whole = compile_intents(intents(INTRA, defaultDeny="mesh"), known)
    assert not Evaluator(whole, known).judge(Call("books/reviews", "books/page")).allowed


@pytest.mark.parametrize("text", ["", "books/page", "books/page > books/reviews", "books/nobody -> books/reviews"])
def test_a_call_that_is_none_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError):
        judged(INTRA, call=text)


def test_every_object_is_plain_yaml() -> None:
    result = compiled(INTRA, {**OUTBOUND, "external": HTTP_OUT, "egressGateway": {}}, INBOUND)
    for objects in result.objects.values():
        assert yaml.safe_load_all(yaml.safe_dump_all(objects))
        names = [(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in objects]
        assert len(set(names)) == len(names)
