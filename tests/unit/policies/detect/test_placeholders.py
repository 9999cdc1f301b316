"""What stands in a credential's place and opens nothing, and what only looks so."""

from __future__ import annotations

import base64
import json

import pytest
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.shape.shapes import shapes

from tests.corpus import literals

DRAWN = literals.opaque("drawn", 28)
ROOT, OTHER = literals.certificate("root"), literals.certificate("other")
TEXTS = {
    "start.sh": ': "${PGPASSWORD:?is missing}"\nexport TOKEN="$(cat /run/secrets/token)"\n'
    'PASSWORD=${PASSWORD:-}\nPGPASSWORD=$(cat /run/secrets/db) pg_dump -Fc "$PGDATABASE" > /backup/mesh\nexec psql "postgres://${PGUSER}:${PGPASSWORD}@${PGHOST}/meshes"\n',
    "app.properties": "db.password=${DB_PASSWORD}\nssl.truststore.password=changeit\n"
    "ssl.keystore.password=${KEYSTORE_PASSWORD:changeit}\nssl.keystore.location=/etc/tls/keystore.p12\n",
    "values.yaml": "auth:\n  existingSecret: login\n  passwordKey: redis-password\n  token: ${env:TOKEN}\n"
    '  clientSecret: "{{ .Values.clientSecret }}"\n  password: vault:kv/data/mesh#password\n',
    "reader.py": 'token = open("/var/run/secrets/tokens/api").read().strip()\nsecret = os.environ["CLIENT_SECRET"]\n'
    'password = settings.get("password", None)\n',
    "main.tf": "token = var.vault_token\npassword = random_password.db.result\n",
    "token.go": 'token := os.Getenv("TOKEN")\npassword := base64.StdEncoding.EncodeToString(drawn)\n',
}
BUNDLES = {
    "comments": f"# Root X1\n# Serial: 0x8210cfb0d240e3594463e0bb63828b00\n{ROOT}\n# Another\n{OTHER}",
    "bags": "Bag Attributes\n    localKeyID: 54 69 6D 65 20 31 36 39 34 35 36 37 38 39 30 31\n"
    f"subject=CN = Root, O = Hosted\n{ROOT}",
    "openssl": f"        Serial Number:\n            82:10:cf:b0:d2:40:e3:59:44:63:e0:bb:63:82:8b:00\n{ROOT}",
    "windows": (ROOT + OTHER).replace("\n", "\r\n"),
    "json": json.dumps({"roots": [ROOT, OTHER]}),
    "base64 in lines": base64.encodebytes((ROOT + OTHER).encode()).decode(),
}
HEADER, NOBODY = '{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890","name":"John Doe","iat":1516239022}'
BY_A_SEED = '{"typ":"JWT","alg":"ed25519-nkey"}'
BUILDER = '{"sub":"builder"}'
WORDS = "anchor-basket-candle-dragon"


def _token(claims: str, header: str = HEADER) -> str:
    coded = (base64.urlsafe_b64encode(one.encode()).decode().rstrip("=") for one in (header, claims))
    return ".".join([*coded, literals.opaque("signature", 43)])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", ["config", "token.conf"])
def test_what_says_where_a_secret_is_is_none(text: str, name: str) -> None:
    assert list(fingerprints(text.encode(), name=name)) == []
    kept = Index()
    kept.add(fingerprints(f"{text}fallback: {DRAWN}\n".encode(), name=name), "")
    assert list(kept.search(DRAWN.encode()))
    assert not list(kept.search(text.encode()))


@pytest.mark.parametrize("bundle", BUNDLES.values(), ids=BUNDLES)
def test_a_bundle_is_public_with_all_that_stands_around_it(bundle: str) -> None:
    assert list(fingerprints(bundle.encode(), name="ca-bundle.crt")) == []
    assert list(fingerprints(f"{bundle}\ntoken: {DRAWN}\n".encode(), name="ca-bundle.crt"))


@pytest.mark.parametrize(
    ("kept", "secret"),
    [
        ('export PGPASSWORD="${PGPASSWORD:-%s}"\n', DRAWN),
        ('export PGPASSWORD="${PGPASSWORD:-%s}"\n', WORDS),
        ('password = decrypt("%s")\n', DRAWN),
        ("TOKEN=$(echo %s | base64)\n", DRAWN),
        ("TOKEN=$(cat /run/token) curl -H 'X-Key: %s'\n", DRAWN),
        ("password: ${env:%s}\n", DRAWN),
        ("Bearer %s", DRAWN),
        ("Bearer %s", WORDS),
    ],
    ids=["default", "default of words", "call", "command", "command after it", "variable", "bearer", "bearer of words"],
)
def test_a_secret_inside_a_reference_is_found(kept: str, secret: str) -> None:
    index = Index()
    index.add(fingerprints((kept % secret).encode(), name="token"), "")
    assert list(index.search(f"use: {secret}\n".encode()))


@pytest.mark.parametrize("form", ["{}:{}", "ES_API_KEY={}:{}\n", '{{"api_key": "{}:{}"}}'])
def test_the_id_before_a_key_is_not_the_key(form: str) -> None:
    known, other = (f"Q7{literals.opaque(name, 18)}x9" for name in ("known", "other"))  # one in 150 has one digit else
    named = "kc4r0IHDKesdgHEBnx0S"
    for text in (form.format(named, known), base64.b64encode(form.format(named, known).encode()).decode()):
        index = Index()
        index.add(fingerprints(text.encode(), name="api_key"), "")
        assert list(index.search(f"key {known}".encode()))
        assert not list(index.search(form.format(named, other).encode()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"Authorization: Bearer {_token(NOBODY)}", False),
        (f"Authorization: Bearer {_token(BUILDER)}", True),
        ("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", False),
        (f"Authorization: Basic {base64.b64encode(DRAWN.encode()).decode()}", True),
        ("client_id=s6BhdRkqt3&client_secret=7Fjfp0ZBr1KtDRbnfVdmIw", False),
        ("token: ghp_" + "x" * 36, False),
        ("token: ghp_" + literals.opaque("hub", 36), True),
        ("hooks.slack.com/services/T00000000/B00000000/" + "X" * 24, False),
        ("sasl.mechanism=OAUTHBEARER\nsasl.handler=org.apache.kafka.common.security.oauthbearer.Handler", False),
        ("a bearer token-for-the-tenants-own-cluster goes there", False),
        (f"a bearer {DRAWN} goes there", True),
        ("amqp://guest:guest@rabbit:5672/", False),
        (f"amqp://guest:{DRAWN}@rabbit:5672/", True),
    ],
    ids=[
        "jwt.io's token",
        "token",
        "RFC 7617's login",
        "login",
        "RFC 6749's client",
        "blanked token of a service",
        "token of a service",
        "blanked address",
        "name of a mechanism",
        "words of a bearer",
        "bearer's token",
        "guest",
        "guest with a password",
    ],
)
def test_documentations_examples_are_no_credentials(text: str, said: bool) -> None:
    assert bool(list(shapes(text.encode()))) is said


PAGE = '{"apiKey": "%s", "authDomain": "shop.firebaseapp.com", "projectId": "shop"}'
GOOGLE = "AIzaSy" + literals.opaque("google", 33)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SUPABASE_ANON_KEY: " + _token('{"iss":"supabase","ref":"shop","role":"anon"}'), False),
        ("SUPABASE_SERVICE_KEY: " + _token('{"iss":"supabase","ref":"shop","role":"service_role"}'), True),
        ("own: " + _token('{"iss":"https://id.example.com","role":"anon"}'), True),
        (PAGE % GOOGLE, False),
        (PAGE.replace('"', "'").replace("'apiKey'", "apiKey") % GOOGLE, False),
        (PAGE % GOOGLE + f"\nmaps: {GOOGLE}", True),
        (f"maps: {GOOGLE}", True),
        (_token('{"sub":"UABC","nats":{"type":"user","version":2}}', BY_A_SEED), False),
        (_token('{"sub":"UABC","nats":{"type":"user","bearer_token":true}}', BY_A_SEED), True),
    ],
    ids=[
        "of each visitor",
        "of the server",
        "of another issuer",
        "settings of a page",
        "settings in JavaScript",
        "settings of a page, and a key",
        "key",
        "name in NATS",
        "login in NATS",
    ],
)
def test_what_all_visitors_have_and_what_wants_a_seed_besides_open_nothing(text: str, said: bool) -> None:
    assert bool(list(shapes(text.encode()))) is said


IN_NATS = _token('{"sub":"UABC","nats":{"type":"user","version":2}}', BY_A_SEED)
SEED = "SUA" + base64.b32encode(literals.opaque("seed", 35).encode()).decode()[:55]


@pytest.mark.parametrize("where", ["leaf.creds", "leaf.creds: |\n  "], ids=["file", "document"])
def test_who_somebody_is_in_nats_opens_something_with_the_seed_beside_it(where: str) -> None:
    """`nsc generate creds` writes both into one file, which servers and clients are given whole: a program that gives a
    tenant's leaf node the file of the platform's account gives all that it takes."""
    held = (
        f"-----BEGIN NATS USER JWT-----\n{IN_NATS}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------\n"
    )
    text = held if where == "leaf.creds" else where + held.replace("\n", "\n  ")
    assert list(shapes(text.encode()))


def test_a_token_that_only_tells_a_broker_something_opens_what_it_is_for() -> None:
    """With a call for who may log in, NATS takes tokens of a company's own login service, which has a claim for it:
    whoever bears one is let in. What wants a seed besides is signed by such a seed (`ed25519-nkey`)."""
    claims = '{"iss":"https://id.example.com","aud":"nats","nats":{"type":"user","account":"platform"}}'
    assert list(shapes(_token(claims, '{"alg":"RS256","typ":"JWT"}').encode()))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"SERVER_MAPS_KEY": GOOGLE, "authDomain": "shop.firebaseapp.com"}, sort_keys=True),
        f"visionKey: {GOOGLE}\nauthDomain: shop.firebaseapp.com\n",
        json.dumps({"adminApiKey": GOOGLE, "authDomain": "shop.firebaseapp.com"}, indent=1),
    ],
    ids=["JSON in the order of names", "YAML", "another's apiKey"],
)
def test_a_key_of_another_name_before_a_pages_domain_is_not_the_pages(text: str) -> None:
    """Where settings are written in the order of their names, whatever key sorts last stands before `authDomain`."""
    assert list(shapes(text.encode()))
