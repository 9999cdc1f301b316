"""The keys of issuers: read over HTTPS alone, kept for a while, and an issuer that is away holds nobody."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_controller.openid import key_source
from hosted_mesh_controller.openid.issuers import Issuer as IssuerSettings
from hosted_mesh_controller.openid.key_source import AwayError, KeySource
from prometheus_client import generate_latest

from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.waiting import eventually
from tests.unit.controller.issuer import Answer, Issuer, Signer, issuing, json_answer
from tests.unit.controller.service import Service

MESHES = "/v1/tenants/acme/meshes"
DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    with issuing(tmp_path) as made:
        yield made


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(key_source, "time", made)
    return made


def source(issuer: Issuer, **more: Any) -> KeySource:
    return KeySource("main", IssuerSettings.model_validate(issuer.settings(**more)), lambda: None)


def has(found: KeySource, kid: str = "first") -> bool:
    return found.find(kid, "P-256") is not None


def settled(found: KeySource) -> None:
    eventually(lambda: not found._is_reading, seconds=20)


def status(service: Service, token: str) -> int:
    found: int = service.http.get(MESHES, headers={"Authorization": f"Bearer {token}"}).status_code
    return found


def test_keys_are_read_once(issuer: Issuer) -> None:
    found = source(issuer)
    assert all(has(found) for _ in range(5))
    assert issuer.seen == [DISCOVERY, "/keys"]
    assert {(one["Accept"], one["Accept-Encoding"]) for one in issuer.headers} == {("*/*", "identity")}
    assert not any("Authorization" in one or "Cookie" in one for one in issuer.headers)


def test_old_keys_are_read_again_and_serve_meanwhile(issuer: Issuer, clock: Clock) -> None:
    found, gate = source(issuer), threading.Event()
    assert has(found)
    issuer.answers["/keys"] = lambda: (gate.wait(20), json_answer({"keys": [Signer.make("new").jwk]}))[1]
    clock.now += key_source.FRESH + 1
    assert has(found)  # although the issuer does not answer
    gate.set()
    settled(found)
    assert issuer.seen.count("/keys") == 2
    assert has(found, "new")
    # A key that the issuer withdrew is gone.
    assert not has(found)


def test_keys_end_where_their_issuer_stays_away(issuer: Issuer, clock: Clock) -> None:
    found = source(issuer)
    assert has(found)
    issuer.answers[DISCOVERY] = (500, {}, b"")
    for _ in range(5):
        clock.now += key_source.MOST_AGE / 6
        assert has(found)
        settled(found)
        assert found.is_away
    clock.now += key_source.MOST_AGE / 6 + 1
    with pytest.raises(AwayError, match="the discovery document has status 500"):
        has(found)
    del issuer.answers[DISCOVERY]
    clock.now += key_source.PAUSE
    assert has(found)
    assert not found.is_away


def test_new_keys_are_found_and_made_up_ones_cost_little(issuer: Issuer, clock: Clock) -> None:
    found = source(issuer)
    assert has(found)
    issuer.keys = [issuer.signer.jwk, Signer.make("next").jwk]
    clock.now += key_source.PAUSE + 1
    assert has(found, "next")
    readings = len(issuer.seen)
    assert not any(has(found, f"made-up-{at}") for at in range(200))
    assert len(issuer.seen) == readings
    clock.now += key_source.PAUSE + 1
    assert not any(has(found, f"made-up-{at}") for at in range(200))
    assert len(issuer.seen) == readings + 2
    assert has(found)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({DISCOVERY: (404, {}, b"")}, "the discovery document has status 404"),
        ({DISCOVERY: (200, {}, b"<html>")}, "the discovery document is not a JSON object"),
        ({DISCOVERY: (200, {}, b"[]")}, "the discovery document is not a JSON object"),
        ({DISCOVERY: (200, {}, b"[" * 100_000)}, "the discovery document is not a JSON object"),
        ({DISCOVERY: (200, {}, b" " * 300_000)}, "the discovery document has more than 262144 bytes"),
        ({"/keys": (200, {}, b" " * 300_000)}, "the keys document has more than 262144 bytes"),
        ({"/keys": (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b")}, "the keys document is not a JSON object"),
        ({"/keys": json_answer({"keys": []})}, "the keys' document has no usable key"),
        ({"/keys": json_answer({"keys": [{}] * 101})}, "the keys' document cannot be used: keys"),
        ({"/keys": (302, {"Location": "/elsewhere"}, b"")}, "the keys document has status 302"),
        ({DISCOVERY: (307, {"Location": "/elsewhere"}, b"")}, "the discovery document has status 307"),
        ({DISCOVERY: {"issuer": "URL/", "jwks_uri": "URL/keys"}}, "the discovery document is of another issuer"),
        (
            {DISCOVERY: {"issuer": "https://other", "jwks_uri": "URL/keys"}},
            "the discovery document is of another issuer",
        ),
        ({DISCOVERY: {"jwks_uri": "URL/keys"}}, "the discovery document is of another issuer"),
        ({DISCOVERY: {"issuer": "URL"}}, "the discovery document has no jwks_uri of HTTPS"),
        (
            {DISCOVERY: {"issuer": "URL", "jwks_uri": "http://127.0.0.1/k"}},
            "the discovery document has no jwks_uri of HTTPS",
        ),
        (
            {DISCOVERY: {"issuer": "URL", "jwks_uri": "file:///etc/k"}},
            "the discovery document has no jwks_uri of HTTPS",
        ),
        (
            {DISCOVERY: {"issuer": "URL", "jwks_uri": "https://a@b/k"}},
            "the discovery document has no jwks_uri of HTTPS",
        ),
        ({DISCOVERY: {"issuer": "URL", "jwks_uri": ["URL/keys"]}}, "the discovery document has no jwks_uri of HTTPS"),
    ],
)
def test_documents_that_are_refused(issuer: Issuer, answers: dict[str, Any], reason: str) -> None:
    for path, answer in answers.items():
        if isinstance(answer, dict):
            answer = json_answer(json.loads(json.dumps(answer).replace("URL", issuer.url)))
        issuer.answers[path] = answer
    issuer.answers["/elsewhere"] = json_answer({"keys": [issuer.signer.jwk]})
    with pytest.raises(AwayError) as refused:
        has(source(issuer))
    assert refused.value.reason == reason
    assert "/elsewhere" not in issuer.seen


def test_addresses_of_the_settings(issuer: Issuer) -> None:
    issuer.answers["/discovery?p=1"] = json_answer({"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys?p=1"})
    issuer.answers["/keys?p=1"] = json_answer({"keys": [issuer.signer.jwk]})
    assert has(source(issuer, discoveryUrl=f"{issuer.url}/discovery?p=1"))
    assert issuer.seen == ["/discovery?p=1", "/keys?p=1"]
    assert has(source(issuer, jwksUrl=f"{issuer.url}/keys", url="https://kubernetes.default.svc"))
    assert issuer.seen[2:] == ["/keys"]
    slashed = source(issuer, url=f"{issuer.url}/")
    issuer.answers[DISCOVERY] = json_answer({"issuer": f"{issuer.url}/", "jwks_uri": f"{issuer.url}/keys"})
    assert has(slashed)
    assert issuer.seen[3:] == [DISCOVERY, "/keys"]


def test_another_authority_or_name_is_not_trusted(tmp_path: Path, issuer: Issuer) -> None:
    other = new_authority("other")
    (tmp_path / "other.pem").write_bytes(other.certificate)
    for file in (str(tmp_path / "other.pem"), None):
        with pytest.raises(AwayError, match="cannot be read: unable to get local issuer certificate"):
            has(source(issuer, certificateAuthority=file))
    pair = issue(other, "x", names=("other.example.com",))
    with (
        issuing(tmp_path, "named", pair) as named,
        pytest.raises(AwayError, match="read: IP address mismatch"),
    ):
        has(source(named, certificateAuthority=str(tmp_path / "other.pem")))
    assert issuer.seen == []


def test_plain_http_is_no_issuer(issuer: Issuer) -> None:
    """The server below would answer with keys; the client begins TLS."""
    with pytest.raises(AwayError, match="cannot be read: "):
        has(source(issuer, jwksUrl="https://127.0.0.1:1/keys"))


def hanging(gate: threading.Event) -> Callable[[], Answer]:
    return lambda: (gate.wait(60), (200, {}, b"{}"))[1]


def test_an_issuer_that_hangs_holds_nobody_else(
    tmp_path: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 requests with its tokens, four wait for it. No clock decides: it hangs until the others are answered."""
    monkeypatch.setattr(key_source, "TIMEOUT", 120.0)
    gate = threading.Event()
    with issuing(tmp_path, "slow") as slow:
        slow.answers[DISCOVERY] = hanging(gate)
        service = Service.make(tmp_path, issuers={"main": issuer.settings(), "slow": slow.settings()})
        good, held = issuer.token("acme-readers"), slow.token("acme-readers")
        answers: list[int] = []
        threads = [threading.Thread(target=lambda: answers.append(status(service, held))) for _ in range(60)]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: len(answers) >= 56, seconds=60)
            assert status(service, good) == 200
            assert service.call("acme", "GET", MESHES).status_code == 200
            assert len(answers) == 56
        finally:
            gate.set()
        for thread in threads:
            thread.join()
        assert answers == [503] * 60
        assert slow.seen == [DISCOVERY]
        # Until the next reading, an issuer that is away is not read again.
        refused = service.http.get(MESHES, headers={"Authorization": f"Bearer {held}"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
        assert refused.json()["detail"] == "the keys of the token's issuer cannot be read now; try again"
        assert slow.seen == [DISCOVERY]
        assert status(service, good) == 200
        metrics = generate_latest().decode()
        assert 'hosted_mesh_issuers{state="away"} 1.0' in metrics
        assert 'hosted_mesh_issuers{state="up"} 1.0' in metrics


def test_an_answer_by_drops_has_an_end(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte arrives in time, and the whole does not: the limit is of the whole."""
    monkeypatch.setattr(key_source, "TIMEOUT", 1.0)
    found, stop = source(issuer), threading.Event()

    def drops() -> Iterator[bytes]:
        while not stop.wait(0.3):
            yield b" "

    issuer.answers[DISCOVERY] = lambda: (200, {}, drops())
    began = time.monotonic()
    with pytest.raises(AwayError, match="does not answer in time"):
        has(found)
    assert time.monotonic() - began < 30
    settled(found)  # the reading itself ends too
    stop.set()


def test_a_service_starts_without_its_issuer(tmp_path: Path, issuer: Issuer, clock: Clock) -> None:
    issuer.answers[DISCOVERY] = (503, {}, b"")
    service = Service.make(tmp_path, issuers={"main": issuer.settings()})
    service.app.state.services.verifier.start()
    token = issuer.token("acme-readers")
    assert status(service, token) == 503
    assert service.call("acme", "GET", MESHES).status_code == 200
    del issuer.answers[DISCOVERY]
    assert status(service, token) == 503
    clock.now += key_source.PAUSE + 1
    assert status(service, token) == 200
