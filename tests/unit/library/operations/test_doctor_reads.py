"""What doctor asks servers: a gateway's port, an API server's clock, what istiod's credential may. Against real TLS."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, KubeconfigRequest, for_account, from_content, minimal
from pulumi_hosted_mesh.control_plane.manifests import network_policy_spec
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.operations.doctor.access import AccessObservation, access
from pulumi_hosted_mesh.operations.doctor.clocks import ahead
from pulumi_hosted_mesh.operations.doctor.configuration import ProxyConfiguration, configured, refusal
from pulumi_hosted_mesh.operations.doctor.connection import GatewayConnection, reached, resolved
from pulumi_hosted_mesh.operations.doctor.installed import installed_objects
from pulumi_hosted_mesh.operations.doctor.namespaces import wishes
from pulumi_hosted_mesh.operations.doctor.network_policies import keeping_in, keeping_out
from pulumi_hosted_mesh.operations.doctor.observation import observe
from pulumi_hosted_mesh.operations.doctor.proxies import Proxy, proxies_of
from pulumi_hosted_mesh.operations.tokens import bounded_kubeconfig
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.features import Features, Rule
from pulumi_hosted_mesh.spec.gateway import GatewayFacts
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from typer.testing import CliRunner

from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.authorities import DAY, NOW, Authority, pem
from tests.support.serving import HttpsServer, serving
from tests.unit.library.operations.webhooks import ENDPOINT
from tests.unit.library.tenancy.gateway_documents import FACTS, behind

ROOT, OTHER = Authority("root", ends=NOW + 100 * DAY), Authority("other", ends=NOW + 100 * DAY)
GATEWAY = "spiffe://west.mesh.local/ns/mesh-west/sa/eastwest"
HOST = "reviews.books.shops.example.com"


def root_of(authority: Authority) -> str:
    return pem(authority.certificate).decode()


@contextmanager
def gateway(directory: Path, by: Authority = ROOT, *, ends: datetime = NOW + DAY, names: bool = True) -> Iterator[int]:
    """A server that shows a workload's certificate and asks for the caller's, as a gateway does; its port."""
    key = ec.generate_private_key(ec.SECP256R1())
    said = [x509.UniformResourceIdentifier(GATEWAY)] if names else []
    certificate = by.sign(x509.Name([]), key.public_key(), names=said, ends=ends)
    file = directory / "gateway.pem"
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(pem(certificate) + key.private_bytes(serialization.Encoding.PEM, form, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(cadata=root_of(by))
    context.verify_mode = ssl.CERT_REQUIRED
    with answering(lambda plain: context.wrap_socket(plain, server_side=True).close()) as port:
        yield port


@contextmanager
def answering(answer: Any) -> Iterator[int]:
    """A port where each connection is answered, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    plain, _ = server.accept()
                except OSError:
                    return
                with plain, suppress(OSError):
                    answer(plain)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def look(port: int, root: Authority = ROOT) -> GatewayConnection:
    found = reached(["127.0.0.1"], port, HOST, root_of(root))
    assert found is not None
    return found


def test_a_gateway_is_known_by_its_certificate_without_one_of_the_caller(tmp_path: Path) -> None:
    with gateway(tmp_path) as port:
        assert look(port) == GatewayConnection(None, f"127.0.0.1:{port}", GATEWAY)


def test_a_certificate_that_does_not_fit_is_told_by_how(tmp_path: Path) -> None:
    with gateway(tmp_path) as port:
        assert look(port, OTHER).cause == "another-root"
    with gateway(tmp_path, ends=NOW - DAY) as port:
        assert look(port).cause == "expired"
    with gateway(tmp_path, names=False) as port:
        assert look(port) == GatewayConnection(None, f"127.0.0.1:{port}", "")


def test_who_does_not_speak_tls_or_does_not_answer_is_told_by_how() -> None:
    with answering(lambda plain: plain.close()) as port:
        assert look(port).cause == "no-tls"
    assert look(port).cause == "refused"
    assert reached([], 15443, HOST, root_of(ROOT)) == GatewayConnection("unreachable", "there is no address")


@pytest.mark.parametrize("root", ["nonsense", "", "Zertifikat für niemanden"])
def test_with_a_root_that_is_none_nothing_is_said_of_ports(root: str) -> None:
    assert reached(["127.0.0.1"], 1, HOST, root) is None


def test_of_several_addresses_the_one_that_fails_is_told(tmp_path: Path) -> None:
    with gateway(tmp_path) as port:
        found = reached(["127.0.0.1", "127.0.0.9"], port, HOST, root_of(ROOT))
    assert found is not None
    assert (found.cause, found.seen) == ("refused", f"nothing listens at 127.0.0.9:{port}")


def test_a_name_that_is_not_there_has_no_address() -> None:
    assert resolved("localhost")
    assert resolved("nobody.invalid") == ()


IN_ALL: dict[str, Any] = {"ingress": [{}]}
FROM_PODS: dict[str, Any] = {"ingress": [{"from": [{"podSelector": {}}]}]}
FROM_GATEWAY: dict[str, Any] = network_policy_spec(
    read_document(Mesh, behind()), [443], read_document(GatewayFacts, FACTS)
)
FROM_ADDRESSES = {
    "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 15000, "endPort": 16000}]}]
}


def policy(name: str = "a", selector: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"podSelector": selector or {}, **spec}}


@pytest.mark.parametrize(
    ("policies", "names"),
    [
        ([], []),
        ([policy()], ["a"]),
        ([policy(selector={"matchLabels": {"app": "other"}})], []),
        ([policy(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})], ["a"]),
        ([policy(policyTypes=["Egress"])], []),
        ([policy(**IN_ALL)], []),
        ([policy(**FROM_PODS)], ["a"]),
        ([policy(**FROM_ADDRESSES)], []),
        ([policy(ingress=FROM_GATEWAY["ingress"])], ["a"]),  # its ports are istiod's
        ([policy("b"), policy("a", **FROM_PODS)], ["a", "b"]),
        ([policy("b"), policy("a", **IN_ALL)], []),
        ([policy(ingress=[{"ports": [{"port": 443}, {"protocol": "UDP", "port": 15443}]}])], ["a"]),
        ([policy(ingress=[{"ports": [{"port": "tls"}]}])], []),
    ],
)
def test_policies_that_keep_others_networks_out(policies: list[dict[str, Any]], names: list[str]) -> None:
    assert keeping_out(policies, {"app": "eastwest"}, 15443) == names


@pytest.mark.parametrize(("port", "names"), [(15012, []), (15017, []), (15014, ["a"])])
def test_a_mesh_behind_the_shared_gateway_is_reached_through_it(port: int, names: list[str]) -> None:
    assert keeping_out([policy(ingress=FROM_GATEWAY["ingress"])], {"app": "istiod"}, port) == names


@pytest.mark.parametrize(
    ("spec", "address", "refused"),
    [
        ({"egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]}, "192.0.2.7", False),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]}, "198.51.100.7", True),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.7/32"]}}]}]}, "192.0.2.7", True),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}]}, None, False),
        ({"egress": [{"to": [{"ipBlock": {"cidr": "010.0.0.0/8"}}]}]}, "192.0.2.7", False),
        ({"policyTypes": ["Egress"]}, None, True),
        ({"ingress": []}, None, False),
    ],
)
def test_policies_that_keep_in(spec: dict[str, Any], address: str | None, refused: bool) -> None:
    assert keeping_in([policy(**spec)], {}, 6443, address) == (["a"] if refused else [])


# An API server that answers a review of rights, and says a time of its own.
COMPANY = new_authority("company")
TOKEN = "t0ken-t0ken-t0ken"
MISSING = "missing"
"""A text that is answered with 404."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.append(str(self.headers["Authorization"]))
        self._answer(self.server.posted or {"status": {"resourceRules": self.server.rules}})

    def do_GET(self) -> None:
        path = unquote(self.path)
        self.server.paths.append(path)
        said = next((text for part, text in self.server.texts.items() if part in path), None)
        self._answer({"items": self.server.items} if said is None else said, 404 if said == MISSING else None)

    def _answer(self, content: Any, status: int | None = None) -> None:
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status or self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp: float | None = None) -> str:
        if self.server.date is not None:
            return self.server.date
        return super().date_time_string((datetime.now(UTC) + self.server.ahead).timestamp())

    def log_message(self, *arguments: Any) -> None:
        pass


class Server(HttpsServer):
    status, ahead = 200, timedelta(0)
    date: str | None = None

    def __init__(self, directory: Path) -> None:
        super().__init__(issue(COMPANY, "apiserver", names=["127.0.0.1"]), directory, Handler)
        self.rules: list[dict[str, Any]] = []
        self.posted: dict[str, Any] = {}
        self.tokens: list[str] = []
        self.items: list[Any] = []
        self.texts: dict[str, str] = {}
        self.paths: list[str] = []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(Server(tmp_path)) as made:
        yield made


def operators(server: Server) -> Kubeconfig:
    authority = base64.b64encode(COMPANY.certificate).decode()
    text = minimal("east", {"server": server.address, "certificate-authority-data": authority}, {"token": "operator"})
    return from_content(text, KubeconfigRequest())


def secret_of(server: str, authority: bytes = COMPANY.certificate, token: str = TOKEN) -> dict[str, Any]:
    text = for_account("east", server, authority.decode(), token)
    return {"data": {"config": base64.b64encode(text.encode()).decode()}}


def all_rules(without: str = "") -> list[dict[str, Any]]:
    """Those that the library grants, as an API server lists them. without: a resource to leave out."""
    rules = [*cluster_rules("east", Features()), *namespace_rules(Features())]
    return [_listed(rule) for rule in rules if without not in rule.resources]


def _listed(rule: Rule) -> dict[str, Any]:
    names = {"resourceNames": list(rule.names)} if rule.names else {}
    return {"apiGroups": [rule.group], "resources": list(rule.resources), "verbs": list(rule.verbs), **names}


def asked(server: Server, secret: Any) -> AccessObservation:
    return access(secret, operators(server), "east", Features())


def test_istiods_own_token_is_asked_where_doctor_can_reach_its_api_server(server: Server) -> None:
    server.rules = all_rules()
    elsewhere = "https://192.0.2.1:6443"
    assert asked(server, secret_of(elsewhere)) == AccessObservation(None, elsewhere, elsewhere)
    assert server.tokens == [f"Bearer {TOKEN}"]


def jwt(**claims: Any) -> str:
    """As an API server signs one for a ServiceAccount; nobody looks at the signature."""
    parts = (json.dumps(one).encode() for one in ({"alg": "RS256"}, claims))
    return ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts) + ".signature"


@pytest.mark.parametrize(
    ("token", "is_told"),
    [
        (jwt(iat=1795421420, exp=1795421420 + 86400, sub="system:serviceaccount:mesh-east:istiod"), True),
        (jwt(iss="kubernetes/serviceaccount"), False),
        (jwt(iat="soon", exp=1), False),
        ("no.jwt.%%", False),
        (TOKEN, False),
    ],
)
def test_when_istiods_token_ends_is_read_of_it(server: Server, token: str, is_told: bool) -> None:
    """A long-lived one has no end, and says none."""
    server.rules = all_rules()
    found = asked(server, secret_of(server.address, token=token))
    since = datetime.fromtimestamp(1795421420, UTC)
    assert (found.cause, found.valid) == (None, (since, since + timedelta(days=1)) if is_told else None)
    assert token not in str(found)


def test_rights_that_lack_are_listed(server: Server) -> None:
    server.rules = all_rules("tokenreviews")
    found = asked(server, secret_of(server.address))
    assert (found.cause, found.seen) == ("missing-rights", "it may not create tokenreviews.authentication.k8s.io")
    server.rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    assert asked(server, secret_of(server.address)).cause is None


def test_rights_that_lack_in_the_meshs_namespace_are_listed(server: Server) -> None:
    """A RoleBinding that is gone: no istiod is elected to write the root certificate into new namespaces."""
    server.rules = [_listed(rule) for rule in cluster_rules("east", Features())]
    found = asked(server, secret_of(server.address))
    assert found.cause == "missing-rights"
    wanted = ("get/update configmaps in namespace mesh-east", "list/watch configmaps in namespace mesh-east")
    assert found.seen == f"it may not {', '.join(wanted)}"


def test_a_token_that_is_refused_is_told(server: Server) -> None:
    server.status = 401
    found = asked(server, secret_of(server.address))
    assert found.cause == "token-refused"
    assert TOKEN not in str(found)


def test_no_token_goes_to_a_server_that_istiods_authority_does_not_verify(server: Server) -> None:
    found = asked(server, secret_of(server.address, new_authority("other").certificate))
    assert (found.cause, server.tokens) == ("another-authority", [])
    assert found.seen.count("certificate is rejected") == 1


def test_the_authority_is_no_cause_where_nothing_answers() -> None:
    away = for_account("east", "https://127.0.0.1:1", COMPANY.certificate.decode(), TOKEN)
    secret = {"data": {"config": base64.b64encode(away.encode()).decode()}}
    assert access(secret, from_content(away, KubeconfigRequest()), "east", Features()).cause == "unreachable"


@pytest.mark.parametrize("data", [{}, {"config": ""}, {"config": "%%%"}, {"config": base64.b64encode(b"[]").decode()}])
def test_a_kubeconfig_that_cannot_be_read_is_told(server: Server, data: dict[str, str]) -> None:
    assert asked(server, {"data": data}).cause == "unreadable-kubeconfig"
    assert asked(server, None).cause == "missing-kubeconfig"


@pytest.mark.parametrize("by", [timedelta(0), timedelta(hours=2), timedelta(minutes=-3)])
@pytest.mark.parametrize("status", [200, 403])
def test_an_api_servers_clock_is_read_off_its_answers(server: Server, by: timedelta, status: int) -> None:
    server.ahead, server.status = by, status
    assert abs(ahead(ApiServer(operators(server))) - by) < timedelta(seconds=20)


@pytest.mark.parametrize("said", ["Mon, 23 Nov 2026 08:10:20 -0000", "Mon, 23 Nov 2026 08:10:20 GMT"])
def test_a_time_is_utc_however_it_is_said(server: Server, said: str) -> None:
    server.date = said
    assert ApiServer(operators(server)).clock() == datetime(2026, 11, 23, 8, 10, 20, tzinfo=UTC)


@pytest.mark.parametrize("said", ["", "soon", "Mon, 23 Nov 99999 08:10:20 GMT"])
def test_an_api_server_that_says_no_time_is_told(server: Server, said: str) -> None:
    server.date = said
    with pytest.raises(UnreachableError, match="sends no header Date"):
        ApiServer(operators(server)).clock()


def test_an_answer_without_the_token_that_was_asked_for_is_told(server: Server) -> None:
    with pytest.raises(UnreachableError, match="the TokenRequest for istiod without a token"):
        bounded_kubeconfig(read_document(DataPlane, {"mesh": "east"}), operators(server), 3600)


@pytest.mark.parametrize(("hours", "is_shortened"), [("1", False), ("2", True)])
def test_when_a_bounded_token_ends_is_told_and_that_it_was_shortened(
    server: Server, tmp_path: Path, hours: str, is_shortened: bool
) -> None:
    """By an API server with --service-account-max-token-expiration, which answers what it made of the request."""
    server.posted = {"status": {"token": TOKEN, "expirationTimestamp": "2026-11-23T09:10:20Z"}}
    server.posted["spec"] = {"expirationSeconds": 3600}
    file, document = tmp_path / "kubeconfig", tmp_path / "data-plane.yaml"
    file.write_text(operators(server).text)
    document.write_text(json.dumps({"mesh": "east", "cluster": {"kubeconfig": str(file)}}))
    done = CliRunner().invoke(app, ["token", str(document), f"--hours={hours}"])
    assert (done.exit_code, TOKEN in done.stdout, TOKEN in done.stderr) == (0, True, False)
    assert done.stderr.endswith("the token ends at 2026-11-23T09:10:20Z\n")
    assert ("the API server limited the lifetime to 3600 s, from the requested 7200 s" in done.stderr) == is_shortened


def pod(name: str, **status: Any) -> dict[str, Any]:
    annotations, labels = {"istio.io/rev": "default"}, {"app": name}
    return {
        "metadata": {"name": name, "namespace": "books", "annotations": annotations, "labels": labels},
        "status": status,
    }


def test_proxies_are_ready_by_what_their_node_says_of_them(server: Server) -> None:
    waiting, ready = ([{"name": "app", "ready": True}, {"name": "istio-proxy", "ready": one}] for one in (False, True))
    server.items = [
        pod("waiting", containerStatuses=waiting),
        pod("ready", initContainerStatuses=ready),
        pod("new"),
        pod("ended", phase="Succeeded", containerStatuses=waiting),
        {"metadata": {"name": "without", "namespace": "books"}},
    ]
    server.items.append(pod("leaving", containerStatuses=waiting))
    server.items[-1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = {one.pod: one.ready for one in proxies_of(ApiServer(operators(server)))}
    assert found == {"waiting": False, "ready": True, "new": None}


@pytest.mark.parametrize(
    ("labels", "wish"),
    [
        ({"istio-injection": "enabled"}, "default"),
        ({"istio.io/rev": "1-32"}, "1-32"),
        # As the webhooks' selectors have it.
        ({"istio-injection": "enabled", "istio.io/rev": "1-32"}, "default"),
        ({"istio-injection": "disabled", "istio.io/rev": "1-32"}, None),
        ({}, None),
    ],
)
def test_what_a_namespace_asks_for(server: Server, labels: dict[str, str], wish: str | None) -> None:
    leaving = {"name": "leaving", "labels": {"istio.io/rev": "1-30"}, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    server.items = [{"metadata": {"name": "books", "labels": labels}}, {"metadata": leaving}]
    assert wishes(ApiServer(operators(server))) == ({"books": wish} if wish else {})
    server.status = 403
    assert wishes(ApiServer(operators(server))) is None


@pytest.mark.parametrize(
    ("state", "is_started"),
    [
        ({"waiting": {"reason": "PodInitializing"}}, False),
        ({"waiting": {"reason": "ImagePullBackOff"}}, False),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, True),
        ({"running": {"startedAt": "2026-01-01T00:00:00Z"}}, True),
        ({}, True),
    ],
)
def test_a_proxy_that_its_node_did_not_start_is_told_from_one_that_has_a_log(
    server: Server, state: dict[str, Any], is_started: bool
) -> None:
    server.items = [pod("page", containerStatuses=[{"name": "istio-proxy", "ready": False, "state": state}])]
    assert [one.is_started for one in proxies_of(ApiServer(operators(server)))] == [is_started]


# As Envoy and its agent say and log it; 1795421420.105 is 08:10:20.105.
NUMBERS = """# TYPE envoy_cluster_manager_cds_update_rejected counter
envoy_cluster_manager_cds_update_rejected{{}} {rejected}
envoy_listener_manager_lds_update_rejected{{}} 0
envoy_cluster_upstream_rq_active{{cluster_name="xds-grpc"}} {streams}
envoy_cluster_manager_cds_update_time{{}} 1795421420105
envoy_listener_manager_lds_update_time{{}} 1795421426389
"""
REFUSED = (
    "{at}Z 2026-11-23T08:10:26.380135Z\twarning\tenvoy config source/grpc_subscription_impl.cc:160\tgRPC config for "
    "type.googleapis.com/envoy.config.{kind} rejected: {reason}\tthread=9\n"
)
PAGE = Proxy("books", "page-1", "page", "default", True)


def logged(at: str, reason: str = "no such file", kind: str = "cluster.v3.Cluster") -> str:
    return REFUSED.format(at=f"2026-11-23T{at}", reason=reason, kind=kind)


def says(server: Server, log: str = "", **numbers: int) -> ProxyConfiguration:
    """What is made of what a proxy says."""
    server.texts = {":15090/proxy/": NUMBERS.format(**{"rejected": 0, "streams": 1, **numbers}), "/log?": log}
    (found,) = configured(ApiServer(operators(server)), [PAGE])
    return found


def test_a_proxy_says_whether_it_is_connected_and_took_what_it_was_sent(server: Server) -> None:
    assert says(server) == ProxyConfiguration(PAGE)
    (path,) = server.paths  # its log is not read where it refused nothing
    assert path.startswith("/api/v1/namespaces/books/pods/page-1:15090/proxy/stats/prometheus?filter=")
    assert says(server, streams=0) == ProxyConfiguration(PAGE, connected=False)
    found = says(server, logged("08:10:26.380216789"), rejected=1)
    assert found == ProxyConfiguration(PAGE, refused="Cluster: no such file")
    assert "container=istio-proxy" in server.paths[-1]
    assert "sinceTime=2026-11-23T08:10:20Z" in server.paths[-1]


@pytest.mark.parametrize(
    ("log", "refused"),
    [
        ("", None),
        (logged("08:10:20.104"), None),
        (logged("08:10:20.106"), "Cluster: no such file"),
        (logged("08:10:21") + logged("08:10:22", "newest"), "Cluster: newest"),
        (logged("08:10:26.4", kind="listener.v3.Listener"), None),
        (logged("08:10:21", "x" * 1000), f"Cluster: {'x' * 160}..."),
        (logged("08:10:21").replace("rejected", "accepted"), None),
        (logged("08:10:21").replace("\tthread=9", '","thread":"9"}'), "Cluster: no such file"),
        ("nonsense gRPC config for type.googleapis.com/a.Cluster rejected: b\n", None),
    ],
    ids=["empty", "before", "after", "two", "of-another-kind", "long", "another-line", "json", "no-time"],
)
def test_what_was_refused_counts_until_some_of_its_kind_is_taken(log: str, refused: str | None) -> None:
    """The number of refusals never falls, so the log says whether the last was before or after."""
    assert refusal(log, {"Cluster": 1795421420.105}) == refused


def test_a_proxy_that_says_nothing_is_told_and_a_right_that_lacks_ends_it(server: Server) -> None:
    for text in ("", NUMBERS.format(rejected=0, streams=1).replace("xds-grpc", "other")):
        server.texts = {":15090/proxy/": text}
        assert configured(ApiServer(operators(server)), [PAGE]) == [ProxyConfiguration(PAGE, answered=False)]
    # Numbers that are no time: Python's ends with the year 9999, and its numbers with 4,300 digits.
    for far in ("9" * 15, "9" * 5000):
        server.texts = {":15090/proxy/": NUMBERS.format(rejected=1, streams=1).replace("1795421420105", far)}
        assert configured(ApiServer(operators(server)), [PAGE]) == [ProxyConfiguration(PAGE, answered=False)]
    server.status = 503
    assert configured(ApiServer(operators(server)), [PAGE]) == [ProxyConfiguration(PAGE, answered=False)]
    server.status = 403
    with pytest.raises(RefusedError):
        configured(ApiServer(operators(server)), [PAGE])


def test_proxies_that_are_not_ready_are_not_asked(server: Server) -> None:
    waiting = [Proxy("books", "page-1", "page", "default", one) for one in (False, None)]
    assert (configured(ApiServer(operators(server)), waiting), server.paths) == ([], [])


@pytest.mark.parametrize(
    ("membership", "server_of", "by"),
    [
        ("two", "https://192.0.2.2:6443", "istio-remote-kubeconfigs (two.yaml)"),
        ("one", "https://192.0.2.1:6443", "istio-kubeconfig"),
        (None, "https://192.0.2.1:6443", "istio-kubeconfig"),
    ],
)
def test_the_access_is_of_the_member_that_the_endpoint_is_of(
    server: Server, membership: str | None, server_of: str, by: str
) -> None:
    """istiod has one kubeconfig for each member, and the first's says nothing of another's cluster."""
    first, second = (secret_of(f"https://192.0.2.{number}:6443")["data"]["config"] for number in (1, 2))
    for name, data in (("istio-kubeconfig", {"config": first}), ("istio-remote-kubeconfigs", {"two.yaml": second})):
        server.texts[f"/secrets/{name}"] = json.dumps({"metadata": {"name": name}, "data": data})
    for name in ("cacerts", "istio-ca-root-cert-east"):
        server.texts[f"/{name}"] = json.dumps({"metadata": {"name": name}})
    server.posted = {"metadata": {"name": "check"}, "status": {"resourceRules": all_rules()}}
    told = ENDPOINT.model_copy(update={"mesh": "east", "membership": membership}) if membership else None
    if told:
        server.texts |= {one.path: MISSING for one in installed_objects(told)}
    found = observe(None, "east", [], operators(server), operators(server), told).control_plane
    assert found is not None
    assert (found.access.cause, found.access.server, found.access.secret) == (None, server_of, by)


@pytest.mark.parametrize(("file", "is_read"), [("tls.crt", True), ("ca-cert.pem", False)])
def test_cert_managers_certificate_is_read_beside_its_own_secret(server: Server, file: str, is_read: bool) -> None:
    for name in ("istio-kubeconfig", "istio-ca-root-cert-east"):
        server.texts[f"/{name}"] = MISSING
    server.texts["/secrets/cacerts"] = json.dumps({"metadata": {"name": "cacerts"}, "data": {file: "QQ=="}})
    certificate = {"metadata": {"name": "cacerts"}, "status": {"revision": 1}}
    server.texts["/namespaces/mesh-east/certificates/cacerts"] = json.dumps(certificate)
    found = observe(None, "east", [], operators(server), operators(server)).control_plane
    assert found is not None
    assert found.certificate == (certificate if is_read else None)


@pytest.mark.parametrize("metadata", [{}, {"metadata": {"name": "check-1"}}])
def test_webhooks_of_what_is_no_api_server_are_told_without_a_trace(
    server: Server, tmp_path: Path, metadata: dict[str, Any]
) -> None:
    """It takes the Pod that is sent, and gives something else back."""
    server.posted = {"answer": "thanks", **metadata}
    file, endpoint = tmp_path / "kubeconfig", tmp_path / "endpoint.json"
    file.write_text(operators(server).text)
    endpoint.write_text(ENDPOINT.model_dump_json(by_alias=True, exclude_none=True))
    done = CliRunner().invoke(app, ["check-webhooks", str(endpoint), f"--kubeconfig={file}"])
    assert done.exit_code == (3 if metadata else 1), done.exception
    assert ("not-injected" if metadata else "unreadable metadata. Is it one of Kubernetes?") in done.output


def test_a_mesh_alone_is_read_without_a_federations_document(server: Server, tmp_path: Path) -> None:
    """And of federations only what says by its label that it is of one: so what was left of one is seen."""
    file = tmp_path / "kubeconfig"
    file.write_text(operators(server).text)
    root = {"metadata": {"name": "istio-ca-root-cert-east"}, "data": {"root-cert.pem": root_of(ROOT)}}
    server.texts = {"/namespaces/mesh-east/configmaps/istio-ca-root-cert-east": json.dumps(root)}
    done = CliRunner().invoke(app, ["doctor", "--mesh=east", f"--kubeconfig={file}", "--json"])
    said = json.loads(done.stdout)
    assert (done.exit_code, said.pop("checks")[0]["check"]) == (0, "root certificate of east")
    assert said == {"mesh": "east", "ok": True}
    istios = [path for path in server.paths if "istio.io" in path.partition("?")[0]]
    assert [path for path in istios if "labelSelector=hosted-mesh.io/federation&" not in path] == [
        "/apis/networking.istio.io/v1/gateways?limit=500"
    ]


def proxy_of(mesh: str, name: str, revision: str) -> dict[str, Any]:
    """A Pod that injection for a mesh has seen."""
    made = pod(name, containerStatuses=[{"name": "istio-proxy", "ready": True}])
    made["metadata"]["annotations"] = {"istio.io/rev": revision, "sidecar.istio.io/status": "{}"}
    made["spec"] = {"containers": [{"name": "istio-proxy", "env": [{"name": "ISTIO_META_MESH_ID", "value": mesh}]}]}
    return made


def webhooks_of(mesh: str, revision: str) -> dict[str, Any]:
    labels = {"istio.io/rev": revision} | ({"hosted-mesh.io/mesh": mesh} if mesh else {})
    return {"metadata": {"name": f"hook-{mesh}-{revision}", "labels": labels}}


def test_another_meshs_proxies_are_left_to_it_and_those_of_nobody_are_told(server: Server) -> None:
    pods = [
        proxy_of("east", "own", "default"),
        proxy_of("west", "wests", "blue"),
        proxy_of("west", "wests-old", "gone"),
        proxy_of("cluster.local", "of-an-istio", "theirs"),
        proxy_of("destroyed", "left", "gone"),
    ]
    hooks = [webhooks_of("east", "default"), webhooks_of("west", "blue"), webhooks_of("", "theirs")]
    of_pods, of_hooks = json.dumps({"items": pods}), json.dumps({"items": hooks})
    server.texts = {"/configmaps/": MISSING, "/pods?": of_pods, "/mutatingwebhook": of_hooks}
    found = observe(None, "east", [], operators(server), clock=lambda: NOW)
    assert [one.pod for one in found.proxies] == ["own", "left"]


def asked_for_east(server: Server, tmp_path: Path, *options: str) -> tuple[int, str]:
    file = tmp_path / "kubeconfig"
    file.write_text(operators(server).text)
    done = CliRunner().invoke(app, ["doctor", "--mesh=east", f"--kubeconfig={file}", *options])
    return done.exit_code, " ".join(done.output.split())


def test_a_name_that_no_mesh_of_the_cluster_has_is_refused_with_those_that_are_there(
    server: Server, tmp_path: Path
) -> None:
    server.texts = {
        "/configmaps/": MISSING,
        "/mutatingwebhook": json.dumps({"items": [webhooks_of("west", "blue"), webhooks_of("south", "default")]}),
        "/pods?": json.dumps({"items": [proxy_of("west", "wests", "blue")]}),
    }
    code, said = asked_for_east(server, tmp_path)
    assert (code, "FAILED" in said, "ok " in said) == (1, False, False), said
    assert "--mesh: is no mesh of the data plane's cluster, which has south and west. Name one of them" in said


@pytest.mark.parametrize(
    "there",
    [
        {"/mutatingwebhook": json.dumps({"items": [webhooks_of("east", "default")]})},
        {"/pods?": json.dumps({"items": [proxy_of("east", "page", "gone")]})},
        {"/configmaps/": json.dumps({"metadata": {"name": "a"}, "data": {"root-cert.pem": root_of(ROOT)}})},
        # A cluster without any mesh, as one that was rebuilt, is for the checks.
        {"/mutatingwebhook": json.dumps({"items": []})},
    ],
)
def test_a_mesh_of_which_anything_is_left_is_looked_at(server: Server, tmp_path: Path, there: dict[str, str]) -> None:
    others = json.dumps({"items": [webhooks_of("west", "blue")]})
    server.texts = {"/configmaps/": MISSING, "/mutatingwebhook": others, **there}
    _, said = asked_for_east(server, tmp_path)
    assert "root certificate of east" in said
