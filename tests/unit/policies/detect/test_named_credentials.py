"""Credentials by the name beside them: which names, which values, in which grammars."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_policies.detect.leaf.names import names_credential
from hosted_mesh_policies.detect.secrets.named_credentials import is_concrete, named_in_tree
from hosted_mesh_policies.detect.shape.credential_forms import Kind
from hosted_mesh_policies.detect.shape.shapes import may_hold_shape, shapes

V = "tR8vQ2mZx7LkW4nB9pYc"
"""Made up here, and nobody's."""


SAY = """
password adminPassword DB_PASSWORD PGPASSWORD DBPASS smtp_pass HTTP_Passwd X-Api-Key PRIVATE-TOKEN apiToken
apikey secret_key_base hmacEncoded signing.password client_secret aws_secret_access_key SharedAccessKey
AccountKey PASSWORD_2 PrivateKey encryptionKey xpack.encryptedSavedObjects.encryptionKey fernet_key routing_key
/platform/dns-token Authorization bearerTokens --requirepass SITE_ADMIN_PASSWORD
"""


@pytest.mark.parametrize("name", SAY.split())
def test_the_last_word_of_a_name_says_that_it_opens_something(name: str) -> None:
    assert names_credential(name)


SAY_NOTHING = """
secretName tokenUrl token_ttl passwordPolicy secretKeyRef key access_key_id PublicKey RECAPTCHA_SITE_KEY
checksum/secret clientToken encryptedPassword password_hash publishable_token nextPageToken bypass compass
monkey NEXT_PUBLIC_API_KEY discovery-token-ca-cert-hash STAKATER_DB_SECRET credentialName PASSWORD_FILE
hashed_secret hashedToken
"""


@pytest.mark.parametrize("name", SAY_NOTHING.split())
def test_a_name_of_something_else_says_nothing(name: str) -> None:
    assert not names_credential(name)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "required",
            "istio-ca-secret",
            "changeme",
            "db-creds-7c9d8f6b5d",
            "istiod-5d8f7c9b6d-x2k9z",
            "${DB_PASSWORD}",
        ),
        *(
            "$(DB_PASSWORD)",
            "{{.Values.password}}",
            "%(db_password)s",
            "<your-token-1a2B3c4D>",
            "/run/secrets/t0k3n4b5c6",
        ),
        *(
            "vault:secret/data/x9Y8z7W6v5#P4",
            "op://shop/db/p4s5w6o7r8d9",
            "%%env_PG_P4SSW0RD2%%",
            "true",
            "12345678901",
        ),
        *(
            "sha256:" + "0f" * 32,
            "$2y$10$" + V + V,
            "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            f"ENC({V}{V})",
            f"{{cipher}}{V}",
            f"U2FsdGVkX1{V}",
            f"{V}...",
        ),
        *("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55", "xxxxxxxxxxxx1a2B3c4D5e"),
        *(
            "^[A-Za-z0-9]{32}$",
            "getPasswordFromSecretsManagerV2",
            "os.environ['T0K3N4X5Y6']",
            "dGhpcyBpcyBub3QgcmVhbA==",
        ),
        *("arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbC1eF", V * 14),
    ],
)
def test_what_stands_for_a_value_is_none(value: str) -> None:
    assert not is_concrete(value)


TEXTS = [
    *(f"password: {V}", f'adminPassword: "{V}"', f"DB_PASSWORD={V}", f"api_key = '{V}'", f'{{"token": "{V}"}}'),
    *(
        f"x;User Id=mesh;Password={V};Encrypt=True",
        f"https://x.example.com/?token={V}&a=b",
        f"<password>{V}</password>",
    ),
    *(f"curl -H 'X-Api-Key: {V}' https://x", f'proxy_set_header X-Api-Key "{V}";', f"HTTP_Passwd {V}", f': PSK "{V}"'),
    *(f"Authorization: Api-Token {V}", f"- name: API_TOKEN\n  value: {V}", f'{{"key": "dbPassword", "value": "{V}"}}'),
    *(f"docker login -u robot -p {V} x.example.com", f"mysqldump -u mesh -p{V} mesh", f"curl -su mesh:{V} https://x"),
    *(f"api:\n  key: {V}\n  site: x.eu\n", f"a:\n  encryption:\n    kind: x\n    key: {V}\n"),
    *(f'{{"api": {{"site": "x", "key": "{V}"}}}}', f'{{"api": {{\n  "site": "x",\n  "key": "{V}"}}}}'),
    f"join_params:\n  method: token\n  token_name: {V}\n",
    *(f'{{"dnsToken": {{"Value": "{V}", "Secret": true}}}}', f"apiToken:\n  value: {V}\n"),
    *(
        f"openssl ca -passin pass:{V}",
        f"sshpass -p '{V}' ssh x",
        f"glsa_{V}{V[:12]}_0a1b2c3d",
        f"username=a,password={V}",
    ),
    *(f"dsn = root:{V}@tcp(db:3306)/app", f"url=thin:app/{V}@db.example.com:1521/svc", f"app:{V}@pg.example.com/app"),
    *(f"db.example.com:5432:app:app:{V}\n", f"[smtp.example.com]:587 relay:{V}\n", f"bindpw {V}\n"),
    *(f"define('DB_PASSWORD', '{V}');", f'os.environ.setdefault("API_TOKEN", "{V}")'),
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_credential_is_found_beside_its_name_and_not_without_the_value(text: str) -> None:
    assert may_hold_shape(text.encode())
    assert list(shapes(text.encode()))
    assert not list(shapes(text.replace(V, "required").encode()))
    assert not list(shapes(text.replace(V, "${FROM_ELSEWHERE}").encode()))


@pytest.mark.parametrize(
    "text",
    [
        "https://cdn.example.com/npm/vue-router@4.0.3/dist/vue-router.min.js",
        "uses: actions/checkout@v4.1.7/dist",
        "mailto:john.smith1984@example.com/",
        "image: registry.example.com:5000/acme/agent:v1.30.2@sha256:" + "0a1b2c3d" * 8,
        "2026-01-02T03:04:05Z db.example.com:5432 ready: accepting",
        "10.0.0.1:53 a:b:c",
        f"define('DB_HOST', '{V}')",
    ],
)
def test_what_looks_like_a_login_is_none(text: str) -> None:
    assert not [shape for shape in shapes(text.encode()) if shape.kind is Kind.NAMED]


def test_a_clouds_own_example_is_none_and_a_key_like_it_is() -> None:
    text = "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n"
    assert not list(shapes(text.encode()))
    assert list(shapes(text.replace("EXAMPLE", "QXMPLQZ").encode()))


@pytest.mark.parametrize(
    "text",
    [
        "# such as postgresql://login:password@hostname:5432/db\nproxy: http://user:pass@proxy.example.com\n",
        "#  -----BEGIN OPENSSH PRIVATE KEY-----\n#  ...\n#  -----END OPENSSH PRIVATE KEY-----\n\n"
        "# Note\n# whatcomeslastinthelist\n# winsoverwhatisbeforeit\n",
        "API_URL=https://api.example.com\nSITE_NAME=Shop\nSUPPORT_EMAIL=support@example.com\n",
        "1. `pulumi config set --secret shop:adminPassword`, then\n2. `pulumi up`\n",
        "gitea admin user create --random-password --random-password-length 20\n",
    ],
)
def test_what_documentation_shows_of_a_credential_is_none(text: str) -> None:
    assert not list(shapes(text.encode()))


def test_of_a_configuration_that_is_set_the_value_counts_and_not_its_key() -> None:
    command = "pulumi config set --secret shop:adminPassword"
    assert [shape.kind for shape in shapes(f"{command} {V}\n".encode())] == [Kind.NAMED]
    assert not list(shapes(f"{command} $ADMIN_PASSWORD\n".encode()))


def test_a_name_in_prose_is_none() -> None:
    assert not list(shapes(b"The apiKey; see Secret `apikey-x7k2m9q4w8`.\n"))


@pytest.mark.parametrize("text", [f"tokenUrl:\n  value: {V}\n", f"token: x\nvalue: {V}\n", f"tokens.\n value: {V}"])
def test_a_value_is_what_it_is_directly_below(text: str) -> None:
    assert not list(shapes(text.encode()))


@pytest.mark.parametrize("text", [f"cache:\n  key: {V}\n", f"api: x\ncache:\n  key: {V}\n", f"key: {V}\n"])
def test_a_key_is_what_it_is_below(text: str) -> None:
    assert not list(shapes(text.encode()))


def test_folding_puts_no_name_beside_a_value_that_was_elsewhere() -> None:
    text = f"password:\n  required: true\nid: {V}\n"
    assert Kind.NAMED not in {shape.kind for shape in shapes(text.encode())}


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"helm": {"parameters": [{"name": "adminPassword", "value": V}]}}, True),
        ({"helm": {"parameters": [{"name": "adminUser", "value": V}]}}, False),
        ({"client_secret": [V]}, True),
        ({"args": ["--requirepass", V]}, True),
        ({"args": ["--user", V]}, False),
        ({"secret": {"inline_string": V}}, True),
        ({"api": {"site": "x", "key": V}}, True),
        ({"cache": {"site": "x", "key": V}}, False),
        ({"tokens": {"replication": V}}, True),
        ({"imagePullSecrets": [{"name": V}]}, False),
        ({"headers": {"Authorization": f"Api-Token {V}"}}, True),
        ({"encryptedData": {"password": V}}, False),
        ({"apiVersion": "acme.cert-manager.io/v1", "kind": "Challenge", "spec": {"token": V}}, False),
        ({"apiVersion": "example.com/v1", "kind": "Challenge", "spec": {"token": V}}, True),
        ({"metadata": {"annotations": {"example.com/secret": "0f1e2d3c" * 8}}}, False),
        ({"env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": V, "key": "token"}}}]}, False),
    ],
)
def test_a_tree_has_names_above_before_and_beside_a_value(tree: dict[str, Any], found: bool) -> None:
    assert bool(list(named_in_tree(tree))) is found


AUTHS = '{{"auths": {{"{{{{ .host }}}}": {}, "r.example.com": {}}}}}'
FILLED = '{"username": "{{ .user }}", "password": "{{ .password }}"}'
PRINTED = '{"auth": "{{ printf "%s:%s" .user .password | b64enc }}"}'


@pytest.mark.parametrize(
    ("login", "found"),
    [
        (FILLED, False),
        (PRINTED, False),
        ('{"password": "${REGISTRY_PASSWORD}"}', False),
        ('{"auth": "$(LOGIN)"}', False),
        ('{"password": "' + V + '"}', True),
        ('{"username": "{{ .user }}", "password": "' + V + '"}', True),
        ('{"password": "{{ .prefix }}' + V + '"}', True),
        ('{"password": "' + V + '{{ .suffix }}"}', True),
        ('{"password": "{{' + V + '"}', True),
        ('{"password": "shop-registry-login"}', True),  # in this place any text is one
    ],
)
@pytest.mark.parametrize("other", [FILLED, PRINTED])
def test_a_login_to_a_registry_that_is_filled_in_elsewhere_is_none(login: str, other: str, found: bool) -> None:
    """A template of an ExternalSecret's. One that is filled in beside another does not hide that."""
    for data in (AUTHS.format(login, other).encode(), AUTHS.format(other, login).encode()):
        assert (Kind.REGISTRY_LOGIN in {shape.kind for shape in shapes(data)}) is found
