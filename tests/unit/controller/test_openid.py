"""Tokens of issuers: the accepted ones and their rights, and each attack on a claim, a header or a signature."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hosted_mesh_controller.api.page import router as page_router
from hosted_mesh_controller.openid import verifier
from hosted_mesh_controller.openid.algorithm import Algorithm
from hosted_mesh_controller.openid.identity import Identity
from hosted_mesh_controller.openid.signatures import is_signed, parsed, public_keys

from tests.unit.controller.issuer import (
    AUDIENCE,
    Issuer,
    Signer,
    by_hmac,
    encoded,
    issuing,
    json_answer,
    number,
    signed,
)
from tests.unit.controller.service import Service, documents

MESHES, OTHERS = "/v1/tenants/acme/meshes", "/v1/tenants/other/meshes"
REQUIRED = "requires a valid token: Authorization: Bearer TOKEN"


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    with issuing(tmp_path) as made:
        yield made


@pytest.fixture
def service(tmp_path: Path, issuer: Issuer) -> Service:
    return with_issuers(tmp_path, main=issuer.settings())


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Issuer]]:
    """A service and its issuer, for requests that change nothing."""
    folder = tmp_path_factory.mktemp("steady")
    with issuing(folder) as made:
        yield with_issuers(folder, main=made.settings()), made


def with_issuers(folder: Path, **issuers: Any) -> Service:
    return Service.make(folder, issuers=issuers)


def call(service: Service, token: str, path: str = MESHES, method: str = "GET", **more: Any) -> Any:
    return service.http.request(method, path, headers={"Authorization": f"Bearer {token}"}, **more)


def order(service: Service, token: str, tenant: str = "acme") -> Any:
    return call(service, token, f"/v1/tenants/{tenant}/meshes", "POST", json=documents("meshes", tenant))


def test_a_group_gives_a_role_in_a_tenant(service: Service, issuer: Issuer) -> None:
    writer, reader, admin = (issuer.token(one) for one in ("acme-writers", "acme-readers", "mesh-admins"))
    assert order(service, writer).status_code == 202
    assert call(service, writer).json()["items"][0]["name"] == "acme-mesh"
    assert call(service, reader).status_code == 200
    assert order(service, reader).status_code == 403
    assert call(service, writer, "/v1/audit").status_code == 403
    assert call(service, reader, "/v1/audit").status_code == 403
    assert [call(service, admin, path).status_code for path in (MESHES, OTHERS, "/v1/audit")] == [200] * 3
    for token in (writer, reader):
        assert call(service, token, OTHERS).status_code == 404


def test_a_user_gives_a_role(service: Service, issuer: Issuer) -> None:
    token = issuer.token(sub="system:serviceaccount:ci:look", groups=None)
    assert call(service, token).status_code == 200
    assert order(service, token).status_code == 403
    assert call(service, issuer.token(sub="system:serviceaccount:ci:look2")).status_code == 403


def test_groups_of_two_tenants_give_each_role_in_its_own_tenant(service: Service, issuer: Issuer) -> None:
    token = issuer.token("acme-readers", "other-writers")
    assert [call(service, token, path).status_code for path in (MESHES, OTHERS)] == [200, 200]
    # The right to write in one tenant is none in the other.
    assert order(service, token).status_code == 403
    assert order(service, token, "other").status_code == 202
    assert call(service, token, "/v1/tenants/nobody/meshes").status_code == 404
    assert call(service, token, "/v1/audit").status_code == 403
    # Two roles in one tenant: the stronger one, in any order.
    for groups in (("acme-readers", "acme-writers"), ("acme-writers", "acme-readers")):
        assert order(service, issuer.token(*groups)).status_code in (202, 409)


def test_a_claim_names_the_tenant(service: Service, issuer: Issuer) -> None:
    token = issuer.token(organisation="other")
    assert call(service, token, OTHERS).status_code == 200
    assert call(service, token).status_code == 404
    for name in ("nobody", "", "*", "None", "provider"):
        assert call(service, issuer.token(organisation=name)).status_code == 403, name


@pytest.mark.parametrize("value", [["acme"], {"acme": "acme"}, 1, True, [], {}, None])
def test_a_tenant_that_is_no_text(steady: tuple[Service, Issuer], value: Any) -> None:
    service, issuer = steady
    token = issuer.signer.token({**issuer.claims("acme-writers"), "organisation": value})
    answer = call(service, token)
    assert (answer.status_code, answer.json()["detail"]) == (401, "the token has no text as claim organisation")


@pytest.mark.parametrize(
    "claims", [{"role": "provider"}, {"roles": ["provider"]}, {"tenant": "acme"}, {"scope": "provider"}]
)
def test_a_token_cannot_choose_its_role(steady: tuple[Service, Issuer], claims: Any) -> None:
    service, issuer = steady
    answer = call(service, issuer.token(**claims))
    assert answer.status_code == 403
    assert "no grant of issuer main" in answer.json()["detail"]
    writer = issuer.token("acme-writers", **claims)
    assert call(service, writer, "/v1/audit").status_code == 403
    assert call(service, writer, OTHERS).status_code == 404


@pytest.mark.parametrize("groups", [[1], [["acme-writers"]], {"acme-writers": 1}, 1, True, [None]])
def test_groups_that_are_no_texts(steady: tuple[Service, Issuer], groups: Any) -> None:
    service, issuer = steady
    answer = call(service, issuer.token(groups=groups))
    assert (answer.status_code, answer.json()["detail"]) == (401, "the token has no list of texts as claim groups")


def test_a_group_s_name_is_exact(service: Service, issuer: Issuer) -> None:
    for group in ("Acme-writers", "acme-writers ", "acme-writer", "acme-writers,mesh-admins", "mesh-admins\u200b"):
        assert call(service, issuer.token(group)).status_code == 403, group
    assert call(service, issuer.token(groups="acme-writers")).status_code == 200


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"aud": "another"}, "the token is for another audience"),
        ({"aud": None}, "the token is for another audience"),
        ({"aud": []}, "the token is for another audience"),
        ({"aud": [AUDIENCE, 1]}, "the token is for another audience"),
        ({"aud": {AUDIENCE: 1}}, "the token is for another audience"),
        ({"aud": f"{AUDIENCE} "}, "the token is for another audience"),
        ({"exp": 1}, "the token has expired"),
        ({"exp": time.time() - 40}, "the token has expired"),
        ({"exp": None}, "the token has no end"),
        ({"exp": "9999999999"}, "the token has no end"),
        ({"exp": True}, "the token has no end"),
        ({"nbf": time.time() + 86400}, "the token is not valid yet"),
        ({"nbf": "0"}, "the token is not valid yet"),
        ({"iat": time.time() + 86400}, "the token is not valid yet"),
        ({"sub": None}, "the token has no usable claim sub"),
        ({"sub": ""}, "the token has no usable claim sub"),
        ({"sub": 7}, "the token has no usable claim sub"),
        ({"sub": "u\x00"}, "the token has no usable claim sub"),
        ({"sub": "u" * 256}, "the token has no usable claim sub"),
    ],
)
def test_claims_that_are_refused(steady: tuple[Service, Issuer], change: Any, detail: str) -> None:
    service, issuer = steady
    answer = call(service, issuer.token("mesh-admins", **change))
    assert (answer.status_code, answer.json()["detail"]) == (401, detail)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_claims_within_the_skew_of_clocks(service: Service, issuer: Issuer) -> None:
    now = time.time()
    for change in ({"exp": now - 15}, {"nbf": now + 15}, {"iat": now + 15}, {"aud": ["x", AUDIENCE]}, {"nbf": None}):
        assert call(service, issuer.token("acme-readers", **change)).status_code == 200, change


@pytest.mark.parametrize("change", ["/", "/.", "?", "#", " "])
def test_an_issuer_is_compared_exactly(steady: tuple[Service, Issuer], change: str) -> None:
    service, issuer = steady
    answer = call(service, issuer.token("mesh-admins", iss=issuer.url + change))
    assert (answer.status_code, answer.json()["detail"]) == (401, REQUIRED)
    for other in (issuer.url.upper(), [issuer.url], {"a": issuer.url}, None, 5):
        assert call(service, issuer.token("mesh-admins", iss=other)).status_code == 401, other
    assert call(service, issuer.token("mesh-admins")).status_code == 200


def test_none_and_hmac_are_no_signatures(service: Service, issuer: Issuer) -> None:
    strong = Signer.make("rsa", "RS256")
    issuer.keys = [issuer.signer.jwk, strong.jwk]
    claims = issuer.claims("mesh-admins")
    assert call(service, strong.token(claims)).status_code == 200
    public = strong.key.public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    secrets = [public.public_bytes(one, form) for one in (serialization.Encoding.PEM, serialization.Encoding.DER)]
    secrets += [b"", strong.jwk["n"].encode(), secrets[0].strip()]
    forged = [signed({"alg": "HS256", "kid": "rsa"}, claims, by_hmac(secret)) for secret in secrets]
    forged += [signed({"alg": "RS256", "kid": "rsa"}, claims, by_hmac(secret)) for secret in secrets]
    for algorithm in ("none", "None", "NONE", "nOnE", "", None, 1, ["ES256"], "es256", "HS512", "ES256 "):
        for kid in ("first", "rsa"):
            header = {"alg": algorithm, "kid": kid}
            forged += [signed(header, claims, lambda _: b"\0"), signed(header, claims, issuer.signer.sign)]
    content = f"{encoded({'alg': 'none'})}.{encoded(claims)}"
    forged += [f"{content}.", content]
    for token in forged:
        answer = call(service, token)
        assert (answer.status_code, answer.json()["detail"]) == (401, REQUIRED), token


def test_a_key_is_for_its_own_algorithm(service: Service, issuer: Issuer) -> None:
    """An issuer that signs by several algorithms: a token cannot choose another one for a key."""
    strong = Signer.make("rsa", "RS256")
    edwards = Signer.make("ed", "EdDSA")
    issuer.keys = [issuer.signer.jwk, {**strong.jwk, "alg": "PS256"}, edwards.jwk]
    claims = issuer.claims("mesh-admins")
    assert call(service, strong.token(claims)).status_code == 401
    assert call(service, signed({"alg": "RS256", "kid": "first"}, claims, issuer.signer.sign)).status_code == 401
    # The settings' default has no EdDSA, though the issuer has such a key.
    assert call(service, edwards.token(claims)).status_code == 401


def test_altered_tokens(service: Service, issuer: Issuer) -> None:
    token = issuer.token("acme-readers")
    header, _, signature = token.split(".")
    stolen = encoded(issuer.claims("mesh-admins"))
    altered = [f"{header}.{stolen}.{signature}", token[:-4], f"{token}AAAA", f"{token}=", f"{token}==", f"{token}."]
    altered += [f".{token}", f"{header}.{stolen}.", token.replace(".", ".."), token.replace(".", ". ")]
    altered += [f"{token}\u00e9", ".."]
    # The same bytes by another last digit, and the same numbers with a zero before the second one.
    plain = base64.urlsafe_b64decode(signature + "==")
    altered += [
        token[:-1] + chr(ord(token[-1]) + 1),
        f"{token.rpartition('.')[0]}.{encoded(plain[:32] + bytes(1) + plain[32:])}",
    ]
    for one in altered:
        answer = service.http.get(MESHES, headers={"Authorization": f"Bearer {one}".encode()})
        assert (answer.status_code, answer.json()["detail"]) == (401, REQUIRED), one
    assert call(service, token).status_code == 200


def test_a_key_of_another_issuer(tmp_path: Path, issuer: Issuer) -> None:
    """Another trusted issuer signs with its own key, and with its key under the first one's id."""
    with issuing(tmp_path, "second") as second:
        service = with_issuers(tmp_path, main=issuer.settings(), second=second.settings(grants=[OF_ACME]))
        second.signer = Signer.make("second")
        assert call(service, second.token("acme-writers")).status_code == 200
        claims = issuer.claims("mesh-admins")
        assert call(service, second.signer.token(claims)).status_code == 401
        second.signer = Signer("first", "ES256", second.signer.key)
        assert call(service, second.signer.token(claims)).status_code == 401
        # Grants are of one issuer: the same group of another one has no right.
        second.signer = Signer("second", "ES256", second.signer.key)
        assert call(service, second.token("mesh-admins")).status_code == 403


OF_ACME = {"role": "tenant", "group": "acme-writers", "tenant": "acme"}


def test_a_header_cannot_bring_a_key(service: Service, issuer: Issuer) -> None:
    own = Signer.make("first")
    issuer.answers["/mine"] = json_answer({"keys": [own.jwk]})
    address = f"{issuer.url}/mine"
    for header in ({"jku": address}, {"x5u": address}, {"jwk": own.jwk}, {"x5c": ["MII"]}, {"kid": address}):
        assert call(service, own.token(issuer.claims("mesh-admins"), **header)).status_code == 401, header
        # They change nothing of a good token either.
        if "kid" not in header:
            assert call(service, issuer.signer.token(issuer.claims("mesh-admins"), **header)).status_code == 200
    assert "/mine" not in issuer.seen


@pytest.mark.parametrize(
    "header",
    [
        {"crit": ["exp"]},
        {"crit": []},
        {"typ": "logout+jwt"},
        {"typ": 1},
        {"kid": None},
        {"kid": ""},
        {"kid": 1},
        {"kid": ["first"]},
        {"kid": "../first"},
    ],
)
def test_headers_that_are_refused(steady: tuple[Service, Issuer], header: Any) -> None:
    service, issuer = steady
    assert call(service, issuer.signer.token(issuer.claims("mesh-admins"), **header)).status_code == 401
    assert call(service, issuer.signer.token(issuer.claims("mesh-admins"), typ="at+JWT")).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"{",
        b"\xff",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b"[" * 9000,
        b'{"a":' * 1500 + b"1" + b"}" * 1500,
        b'{"a": ' + b"9" * 9000 + b"}",
    ],
)
def test_content_that_is_no_object(steady: tuple[Service, Issuer], claims: bytes) -> None:
    service, issuer = steady
    assert call(service, issuer.signer.token(claims)).status_code == 401


def test_a_claim_twice(service: Service, issuer: Issuer) -> None:
    """The reader of the first `sub` and the reader of the last one would see different users."""
    twice = encoded(issuer.claims("mesh-admins"))
    content = b'{"iss": "x",' + base64.urlsafe_b64decode(twice + "===")[1:]
    assert call(service, issuer.signer.token(content)).status_code == 401


def test_a_huge_token(service: Service, issuer: Issuer) -> None:
    fits = issuer.token("acme-readers", more="x" * 11_000)
    assert call(service, fits).status_code == 200
    huge = issuer.token("acme-readers", more="x" * verifier.LONGEST)
    began = time.monotonic()
    assert call(service, huge).status_code == 401
    assert time.monotonic() - began < 2


def test_required_claims_and_names_of_claims(tmp_path: Path, issuer: Issuer) -> None:
    required = {"/kubernetes.io/namespace": "ci", "team~1x": "mesh"}
    grants = [{"role": "reader", "group": "readers", "tenant": "acme"}]
    settings = issuer.settings(
        requiredClaims=required, userClaim="email", groupsClaim="/realm_access/roles", grants=grants
    )
    service = with_issuers(tmp_path, main=settings)
    good = {"kubernetes.io": {"namespace": "ci"}, "team~1x": "mesh", "email": "a@example.com"}
    good["realm_access"] = {"roles": ["readers"]}
    assert call(service, issuer.token(**good)).status_code == 200
    for change, detail in (
        ({"kubernetes.io": {"namespace": "dev"}}, "lacks the required value of claim /kubernetes.io/namespace"),
        ({"kubernetes.io": {"namespace": ["ci"]}}, "lacks the required value of claim /kubernetes.io/namespace"),
        ({"kubernetes.io": "ci"}, "lacks the required value of claim /kubernetes.io/namespace"),
        ({"kubernetes.io": None}, "lacks the required value of claim /kubernetes.io/namespace"),
        ({"team~1x": "mesh2"}, "lacks the required value of claim team~1x"),
        ({"email": ["a@example.com"]}, "has no text as claim email"),
        ({"email": None}, "has no text as claim email"),
        ({"email_verified": False}, "has an email that its issuer did not verify"),
        ({"email_verified": "true"}, "has an email that its issuer did not verify"),
    ):
        answer = call(service, issuer.token(**{**good, **change}))
        assert (answer.status_code, answer.json()["detail"]) == (401, f"the token {detail}"), change
    assert call(service, issuer.token(**{**good, "realm_access": {}})).status_code == 403


def test_the_controller_s_own_tokens_come_first(service: Service, issuer: Issuer) -> None:
    own = service.tokens["acme"]
    assert call(service, own).status_code == 200
    assert call(service, f"{own}.a.b").status_code == 401
    assert issuer.seen == []


def test_the_page_and_the_webhooks_take_no_issuer_s_token(service: Service, issuer: Issuer) -> None:
    token = issuer.token("mesh-admins")
    assert call(service, token).status_code == 200
    assert page_router.prefix == "/page"
    assert service.http.get("/page", auth=("x", token)).status_code == 401
    assert call(service, token, "/page").status_code == 401
    path = f"/admission/{token}/north/validate"
    assert service.http.post(path, json={"request": {"uid": "u", "object": {}}}).status_code == 404


def test_the_audit_log_has_issuer_and_subject(service: Service, issuer: Issuer, tmp_path: Path) -> None:
    tokens = [issuer.token("acme-writers"), issuer.token("acme-writers", sub="u-2", jti="1")]
    assert [order(service, one).status_code for one in tokens] == [202, 409]
    path = f"{MESHES}/acme-mesh/upkeep"
    assert call(service, tokens[1], path, "PUT", json={"repair": "always"}).status_code == 200
    service.call("acme", "PUT", path, {"repair": "report"})
    found = service.call("provider", "GET", "/v1/audit").json()["items"]
    named = [(one["token"], one["issuer"], one["subject"], one["role"]) for one in found]
    assert [one[1:] for one in named] == [
        (issuer.url, "u-1", "tenant"),
        (issuer.url, "u-2", "tenant"),
        (None, None, "tenant"),
    ]
    assert named[0][0] == Identity(issuer.url, "u-1").id
    assert all(len(one[0]) <= 32 for one in named)  # PostgreSQL's column
    assert len({one[0] for one in named}) == 3
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("controller.sqlite*"))
    for token in tokens:
        for part in token.split("."):
            assert part.encode() not in stored


def test_no_token_is_in_logs_and_answers(service: Service, issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    good, bad = issuer.token("acme-writers"), issuer.token("acme-writers", exp=1)
    foreign = issuer.token("acme-writers", iss="https://secret-host.example.com")
    nobody = issuer.token("nothing", sub="u-9")
    answers = [call(service, one) for one in (good, bad, foreign, nobody, f"{good[:-6]}AAAAAA")]
    assert [one.status_code for one in answers] == [200, 401, 401, 403, 401]
    text = "".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    text += "".join(one.text for one in answers)
    for token in (good, bad, foreign, nobody):
        for part in token.split("."):
            assert part not in text
    # The name of an unlisted issuer is its sender's text.
    assert "secret-host" not in text
    reasons = [record.__dict__["facts"] for record in caplog.records if record.getMessage().startswith("token ")]
    assert reasons == [
        {"issuer": "main", "reason": "has expired"},
        {"issuer": None, "reason": "has an issuer that is not in the settings"},
        {"issuer": "main", "user": "u-9"},
        {"issuer": "main", "reason": "has a wrong signature"},
    ]


def test_each_user_has_a_limit_of_requests(tmp_path: Path, issuer: Issuer) -> None:
    """The limit is of the user: a new token of the same one has no new limit."""
    service = Service.make(tmp_path, issuers={"main": issuer.settings()}, requestsPerSecond=1)
    codes = [call(service, issuer.token("acme-readers", jti=str(at))).status_code for at in range(13)]
    assert codes[:10] == [200] * 10
    assert 429 in codes
    assert call(service, issuer.token("acme-readers", sub="u-2")).status_code == 200


def test_an_idempotency_key_is_of_one_user(service: Service, issuer: Issuer) -> None:
    body = documents("meshes", "acme")
    codes = []
    for subject in ("u-1", "u-1", "u-2"):
        headers = {"Authorization": f"Bearer {issuer.token('acme-writers', sub=subject)}", "Idempotency-Key": "k"}
        answer = service.http.post(MESHES, headers=headers, json=body)
        codes.append((answer.status_code, answer.headers.get("Idempotency-Replayed")))
    assert codes == [(202, None), (202, "true"), (409, None)]


@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_each_algorithm(algorithm: Algorithm) -> None:
    signer = Signer.make("k", algorithm)
    token, key = parsed(signer.token({"a": 1})), public_keys({"keys": [signer.jwk]})["k", algorithm.family]
    assert is_signed(token, key, algorithm)
    assert not is_signed(parsed(Signer.make("k", algorithm).token({"a": 1})), key, algorithm)
    for other in Algorithm:
        assert is_signed(token, key, other) == (other is algorithm), other


# RFC 7515, A.2 and A.3; RFC 8037, A.4: tokens and keys by others.
VECTORS = [
    (
        Algorithm.RS256,
        "eyJhbGciOiJSUzI1NiJ9"
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
        "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383Lc"
        "OLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVm"
        "tVrBp0igcN_IoypGlUPQGe77Rw",
        {
            "kty": "RSA",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR"
            "T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-"
            "UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2eth"
            "FkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
            "e": "AQAB",
        },
    ),
    (
        Algorithm.ES256,
        "eyJhbGciOiJFUzI1NiJ9"
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        {
            "kty": "EC",
            "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        },
    ),
    (
        Algorithm.ED_DSA,
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    ),
]


@pytest.mark.parametrize(("algorithm", "token", "jwk"), VECTORS, ids=[one[0] for one in VECTORS])
def test_the_examples_of_the_standards(algorithm: Algorithm, token: str, jwk: Any) -> None:
    header, _, signature = token.split(".")
    key = public_keys({"keys": [{**jwk, "kid": "k"}]})["k", algorithm.family]
    # The example of RFC 8037 signs a text.
    assert is_signed(verifier.Signed({}, {}, token), key, algorithm)
    assert not is_signed(verifier.Signed({}, {}, f"{header}.{encoded({})}.{signature}"), key, algorithm)


def test_keys_that_are_left_out() -> None:
    signer, short = Signer.make("k"), rsa.generate_private_key(public_exponent=65537, key_size=1024)
    weak = Signer("short", "RS256", short).jwk
    for bad in (
        {**signer.jwk, "use": "enc"},
        {**signer.jwk, "key_ops": ["sign"]},
        {**signer.jwk, "key_ops": "verify"},
        {**signer.jwk, "d": "x"},
        {**signer.jwk, "d": number(signer.key.private_numbers().private_value, 32)},
        {**signer.jwk, "kid": None},
        {**signer.jwk, "crv": "secp256k1"},
        {**signer.jwk, "crv": ["P-256"]},
        {**signer.jwk, "x": signer.jwk["y"]},
        {**signer.jwk, "x": 1},
        {"kty": "oct", "kid": "k", "k": "c2VjcmV0"},
        weak,
        "k",
        None,
    ):
        assert public_keys({"keys": [bad, Signer.make("good").jwk]}).keys() == {("good", "P-256")}, bad
    for bad in ({}, {"keys": {}}, {"keys": [signer.jwk] * 2}, {"keys": [{}] * 101}):
        with pytest.raises(ValueError, match=r"^(keys|kid)$"):
            public_keys(bad)
