"""The debug proxy as a process, between istioctl's stream and istiods: scope, tokens, and pages that it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agents.debug_proxy import istiod as istiod_module
from agents.debug_proxy import xds_messages
from agents.debug_proxy.answers import DUMP_TYPE, PAGE_TYPE, STATUS_TYPE
from agents.debug_proxy.istiod import Istiods, could_mean, without_secrets
from agents.debug_proxy.refusals import Reason, RefusedError
from agents.debug_proxy.tokens import require_claims
from sandbox.bootstrap import CHECKOUT
from tests.support.authorities import Authority, pem
from tests.support.envoys import shown_by
from tests.support.ports import free_port
from tests.support.waiting import eventually
from tests.unit.agents.debug_proxy.istiods import CLUSTERS, KEY, MESH, NEVER, Istioctl, Istiod, proxy, running, token

HOST = "debug.demo.example.com"
OWN, OTHER = "demo", "demo-2"
TOKEN = token()
OTHERS_TOKEN = token(jti="of the other cluster")
WEB, GATEWAY = "web-1.shop", "edge-1.mesh-demo"


@dataclass(frozen=True)
class Served:
    istioctl: Istioctl
    istiod: Istiod
    process: subprocess.Popen[str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("debug")
    authority = Authority("demo")
    certificate = folder / "server.pem"
    certificate.write_bytes(shown_by(authority, HOST))
    proxies = [
        proxy(WEB, OWN),
        proxy(GATEWAY, OWN, acked="nonce-1"),
        proxy("new-1.shop", OWN, sent="", sentTime=NEVER),
        proxy("bad-1.shop", OWN, lastError="rejected"),
        proxy("secret-1.shop", OTHER),
        proxy("twin-1.shop", OWN),
        proxy("a-twin-1.shop", OTHER),
    ]
    istiod = Istiod("127.0.0.1", 0, proxies, {OWN: {TOKEN}, OTHER: {OTHERS_TOKEN}})
    port = free_port()
    arguments = {
        "address": "127.0.0.1",
        "port": port,
        "certificate": certificate,
        "key": certificate,
        "istiod": f"localhost:{istiod.server.server_address[1]}",
        "cluster": OWN,
        "namespace": MESH,
    }
    command = [sys.executable, "-m", "agents.debug_proxy", *(f"--{name}={value}" for name, value in arguments.items())]
    with running(istiod), subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == f"listens on {port}\n"
            yield Served(Istioctl(f"127.0.0.1:{port}", pem(authority.certificate), HOST), istiod, process)
        finally:
            process.terminate()
            assert process.wait(30) == 0


def statuses(response: Any) -> dict[str, int]:
    found = [xds_messages.ClientConfig.FromString(one.value) for one in response.resources]
    assert {one.type_url for one in response.resources} == {xds_messages.CLIENT_CONFIG}
    return {one.node.id: one.generic_xds_configs[0].config_status for one in found}


def test_the_own_clusters_proxies_are_listed_with_their_status(served: Served) -> None:
    response = served.istioctl.answer(STATUS_TYPE, bearer=TOKEN)
    assert statuses(response) == {
        WEB: xds_messages.SYNCED,
        GATEWAY: xds_messages.STALE,
        "new-1.shop": xds_messages.NOT_SENT,
        "bad-1.shop": xds_messages.ERROR,
        "twin-1.shop": xds_messages.SYNCED,
    }
    (web,) = [
        one
        for one in map(xds_messages.ClientConfig.FromString, (r.value for r in response.resources))
        if one.node.id == WEB
    ]
    assert dict(web.node.metadata) == {"CLUSTER_ID": OWN, "NAMESPACE": "shop", "ISTIO_VERSION": "1.31.1"}
    (config,) = web.generic_xds_configs
    assert (config.type_url, config.last_updated.ToJsonString()) == (CLUSTERS, "2026-11-28T20:00:00.123456789Z")
    identifier = json.loads(response.control_plane.identifier)
    assert (identifier["Component"], identifier["Info"]["version"]) == ("istiod", "1.31.1-dev")


def test_pages_show_the_own_clusters_proxies_alone(served: Served) -> None:
    response = served.istioctl.answer(PAGE_TYPE, "syncz", bearer=TOKEN)
    assert {one["cluster_id"] for one in json.loads(response.resources[0].value)} == {OWN}
    dump = json.loads(served.istioctl.answer(PAGE_TYPE, f"config_dump?proxyID={WEB}", bearer=TOKEN).resources[0].value)
    assert dump["configs"][0]["of"] == WEB
    for name in ("secret-1.shop", "secret-1", "1.shop", "nobody.shop"):
        code, text = served.istioctl.refusal(PAGE_TYPE, f"config_dump?proxyID={name}", bearer=TOKEN)
        assert (code, f"no proxy {name} of cluster demo" in text) == ("NOT_FOUND", True)


def test_a_name_within_another_clusters_name_is_refused(served: Served) -> None:
    """istiod would answer about either of them."""
    code, text = served.istioctl.refusal(PAGE_TYPE, "config_dump?proxyID=twin-1.shop", bearer=TOKEN)
    assert (code, "another cluster's proxy" in text) == ("PERMISSION_DENIED", True)


@pytest.mark.parametrize(
    ("name", "other", "expected"),
    [
        ("a.shop", "a.shop", True),
        ("a.shop", "b-a.shop", True),
        ("a.shop", "a.shop-1", True),
        # Its connection could be a.shop-12.
        ("a.shop-1", "a.shop", True),
        ("a.shop-1", "b-a.shop", True),
        ("a.shop-1", "a.shop-b", False),
        ("a.shop-b", "a.shop", False),
        ("a.shop", "b.shop", False),
    ],
)
def test_names_that_istiod_mistakes_for_each_other(name: str, other: str, expected: bool) -> None:
    assert could_mean(name, other) is expected


def test_dumps_have_no_contents_of_secrets(served: Served) -> None:
    value = served.istioctl.answer(PAGE_TYPE, f"config_dump?proxyID={WEB}", bearer=TOKEN).resources[0].value
    assert KEY.encode() not in value
    assert json.loads(value)["configs"][1]["dynamic_active_secrets"] == [{"name": "default"}]


@pytest.mark.parametrize(
    "page",
    [
        *("adsz?push=true", "adsz", "cachez?clear=true", "force_disconnect?proxyID=web-1.shop", "authorizationz"),
        *("pprof/profile", "configz", "registryz", "mesh", "syncz?namespace=shop", "syncz/../adsz?push=true", ""),
        *("../metrics", "http://127.0.0.1/", "inject", "connections", "SYNCZ"),
    ],
)
def test_pages_that_write_or_show_the_mesh_never_reach_istiod(served: Served, page: str) -> None:
    before = len(served.istiod.asked)
    code, text = served.istioctl.refusal(PAGE_TYPE, page, bearer=TOKEN)
    assert code == "PERMISSION_DENIED"
    assert "permitted are config_dump?proxyID=POD.NAMESPACE, edsz" in text
    assert served.istiod.asked[before:] == []


@pytest.mark.parametrize(
    "query", ["proxyID=a.b&types=SDS", "types=SDS", "proxyID=a.b&proxyID=c.d", "proxyID=", "proxyID=A", "proxyID=a%26b"]
)
def test_a_page_about_a_proxy_takes_one_name(served: Served, query: str) -> None:
    before = len(served.istiod.asked)
    assert served.istioctl.refusal(PAGE_TYPE, f"config_dump?{query}", bearer=TOKEN)[0] == "INVALID_ARGUMENT"
    assert served.istiod.asked[before:] == []


def test_other_resources_are_refused(served: Served) -> None:
    for type_url in (CLUSTERS, "istio.io/debug/connections", "", "istio.io/debug/../adsz"):
        assert served.istioctl.refusal(type_url, bearer=TOKEN)[0] == "PERMISSION_DENIED"
    code, text = served.istioctl.refusal(DUMP_TYPE, WEB, bearer=TOKEN)
    assert (code, "istioctl proxy-config" in text) == ("UNIMPLEMENTED", True)


@pytest.mark.parametrize(
    ("bearer", "code", "words", "reviews"),
    [
        (None, "UNAUTHENTICATED", "a ServiceAccount's token is required", 0),
        ("", "UNAUTHENTICATED", "not a ServiceAccount's token", 0),
        ("a.b.c", "UNAUTHENTICATED", "not a ServiceAccount's token", 0),
        ("no-token", "UNAUTHENTICATED", "not a ServiceAccount's token", 0),
        (token(exp=time.time() - 1), "UNAUTHENTICATED", "has expired", 0),
        (token(exp=None), "UNAUTHENTICATED", "has expired", 0),
        (token(aud=["https://kubernetes.default.svc"]), "UNAUTHENTICATED", "no audience istio-ca", 0),
        (token(sub="system:serviceaccount:shop:default"), "PERMISSION_DENIED", "--istioNamespace mesh-demo", 0),
        (token(sub="kubernetes-admin"), "PERMISSION_DENIED", "--istioNamespace mesh-demo", 0),
        (token(jti="forged"), "UNAUTHENTICATED", "the API server of cluster demo does not accept", 1),
        (OTHERS_TOKEN, "UNAUTHENTICATED", "the API server of cluster demo does not accept", 1),
    ],
    ids=[
        "none",
        "empty",
        "form",
        "one part",
        "expired",
        "endless",
        "audience",
        "namespace",
        "person",
        "forged",
        "other",
    ],
)
def test_a_token_that_is_not_the_users_is_refused(
    served: Served, bearer: str | None, code: str, words: str, reviews: int
) -> None:
    """reviews: of istiod. Expired tokens cost none."""
    before = len(served.istiod.asked)
    found, text = served.istioctl.refusal(STATUS_TYPE, bearer=bearer)
    assert (found, words in text) == (code, True)
    assert bearer is None or len(bearer) < 10 or bearer not in text
    assert len(served.istiod.asked) - before == reviews


def test_all_istiods_are_read_and_a_dump_comes_from_the_proxys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    first = Istiod("127.0.0.1", port, [proxy(WEB, OWN)], {OWN: {TOKEN}})
    second = Istiod("127.0.0.2", port, [proxy("api-1.shop", OWN)], {OWN: {TOKEN}})
    istiods = Istiods("istiod-debug.mesh-demo.svc", port, OWN)
    assert istiods.title == "istiod.mesh-demo"
    monkeypatch.setattr(istiods, "_addresses", lambda: ["127.0.0.2", "127.0.0.1"])
    with running(first, second):
        assert [one.name for one in istiods.proxies(TOKEN)] == ["api-1.shop", WEB]
        istiods.page("config_dump", WEB, TOKEN)
        assert [len(one.asked) for one in (first, second)] == [3, 2]
        # A list without a part of the proxies would look like proxies that are gone.
        second.server.shutdown()
        second.server.server_close()
        with pytest.raises(RefusedError, match="istiod did not answer") as error:
            istiods.proxies(TOKEN)
        assert error.value.reason is Reason.UNAVAILABLE


def test_no_istiod_is_an_answer_of_one_line() -> None:
    with pytest.raises(RefusedError, match="no istiod is ready"):
        Istiods("nobody.invalid", 1, OWN).proxies(TOKEN)


def test_a_large_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    istiod = Istiod("127.0.0.1", 0, [proxy(WEB, OWN)], {OWN: {TOKEN}})
    monkeypatch.setattr(istiod_module, "LARGEST_PAGE", 100)
    with running(istiod), pytest.raises(RefusedError) as error:
        Istiods("127.0.0.1", int(istiod.server.server_address[1]), OWN).proxies(TOKEN)
    assert error.value.reason is Reason.RESOURCE_EXHAUSTED


def test_debug_pages_that_are_off_are_named() -> None:
    istiod = Istiod("127.0.0.1", 0, [], {OWN: {TOKEN}})
    istiod.off = True
    with running(istiod), pytest.raises(RefusedError, match="ENABLE_DEBUG_ON_HTTP") as error:
        Istiods("127.0.0.1", int(istiod.server.server_address[1]), OWN).proxies(TOKEN)
    assert error.value.reason is Reason.UNAVAILABLE


@pytest.mark.parametrize("page", [b"", b"[]", b"text", b'"configs"'])
def test_an_answer_that_is_no_dump_is_not_passed_on(page: bytes) -> None:
    with pytest.raises(RefusedError):
        without_secrets(page)


def test_claims_are_read_with_a_clock() -> None:
    own = token(exp=100.0)
    require_claims(own, MESH, now=99)
    with pytest.raises(RefusedError):
        require_claims(own, MESH, now=100)


def test_a_silent_stream_ends(served: Served) -> None:
    """A forged token passes until istiod's check, so it must not hold a stream."""
    call: Any = served.istioctl.channel.stream_stream(
        "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
    )
    ended = list[bool]()

    def silent() -> Iterator[bytes]:
        while not ended:
            time.sleep(0.1)
        yield from ()

    stream = call(silent(), metadata=[("authorization", f"Bearer {token(jti='forged')}")])
    eventually(stream.done, "the end of the stream")
    ended.append(True)
    assert stream.code().name == "DEADLINE_EXCEEDED"


def test_wrong_arguments_are_one_line(tmp_path: Path) -> None:
    given = ["--port=1", "--certificate=a", "--key=b", "--cluster=c", "--namespace=d", "--istiod=istiod"]
    done = subprocess.run(
        [sys.executable, "-m", "agents.debug_proxy", *given], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "debug_proxy: --istiod: must be HOST:PORT.\n")
