"""What a name says to be a credential is not shown, whatever it looks like; and what only leads to one is."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_analysis.diff.masked import without_credentials
from hosted_mesh_analysis.diff.trees import hidden_in

WORDS, ID = "sunshine on the hills", "3f2b8c1e-7d4a-4e9b-a1c6-5f0d9e8b7a6c"


def hidden(tree: Any) -> list[Any]:
    return [path for path, _ in hidden_in(without_credentials(tree))]


@pytest.mark.parametrize("value", [WORDS, "sunshine", "abc", ID, "correct-horse-battery"])
@pytest.mark.parametrize(
    "tree",
    [
        {"adminPassword": "{}"},
        {"data": {"API_TOKEN": "{}"}},
        {"env": [{"name": "DB_PASSWORD", "value": "{}"}]},
        {"args": ["--password", "{}"]},
        {"tokens": {"first": "{}"}},
        {"passwords": ["{}"]},
        {"clientSecret": "{}"},
    ],
    ids=["a property", "a key", "a variable", "an option", "one of several", "one of a list", "a client's secret"],
)
def test_what_stands_under_the_name_of_a_credential_is_hidden(tree: Any, value: str) -> None:
    def filled(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: filled(two) for key, two in one.items()}
        return [filled(two) for two in one] if isinstance(one, list) else one.replace("{}", value)

    assert len(hidden(filled(tree))) == 1


@pytest.mark.parametrize("value", ["sunshine", ID, "abc"])
@pytest.mark.parametrize(
    "text",
    [
        "DB_HOST=db\nDB_PASSWORD={}\nDB_NAME=shop\n",
        "export API_TOKEN='{}' # of the shop",
        "db:\n  host: db\n  password: {}\n",
        'db:\n  password: "{} on the hills"\n',
        '{"db": {"host": "db", "password": "{}"}}',
        "db.password = {}",
        "- name: DB_PASSWORD\n  value: {}\n",
        "https://shop.example.com/hook?token={}&to=all",
        "Authorization: Bearer {}",
        "Cookie: session={}",
    ],
)
def test_a_text_with_a_name_and_its_credential_is_hidden(text: str, value: str) -> None:
    assert hidden({"data": {"app": text.replace("{}", value)}}) == [("data", "app")]


@pytest.mark.parametrize("value", ["sunshine", ID, WORDS])
@pytest.mark.parametrize(
    "text",
    [
        "password: |\n  {}\n",
        "password: |\n  {}",
        "password: >\n  {}\n  and more\n",
        "db:\n  host: db\n  password: |-\n    {}\n  name: shop\n",
        "db:\n  password: >+\n\n    \n    {}\n",
        "db:\n  password: |2\n      {}\n",
        "password: |1-\n {}\n",
        "password: >-2 # of the shop\n    {}\n",
        "password: |\r\n  {}\r\nhost: db\r\n",
        "'password': !!str &shop |\n  {}\n",
        "- password: |\n    {}\n  host: db\n",
        "- - host: db\n  - password: |\n      {}\n",
        "password: |\n  ${DB_PASSWORD}\n  {}\n",
        "data:\n  app.yaml: |\n    db:\n      password: |\n        {}\n",
        "headers:\n  Authorization: >-\n    Bearer {}\n",
        "headers:\n  Cookie: >-\n    session={}\n",
    ],
)
def test_a_text_with_a_credential_in_a_block_of_yaml_is_hidden(text: str, value: str) -> None:
    assert hidden({"data": {"app": text.replace("{}", value)}}) == [("data", "app")]


@pytest.mark.parametrize(
    "text",
    [
        "password: |\n  ${DB_PASSWORD}\n  \n",
        "password: |\n  ${DB_PASSWORD}\nhost: sunshine\n",
        "db:\n  password: |\n\n  host: sunshine\n",
        "- password: |\n  host: sunshine\n",
        "password: |",
        "password: |\n",
        "script: |\n  sunshine on the hills\n",
        "app.yaml: |\n  passwordFile: |\n    /run/password\n  host: db\n",
        "secretName: |\n  db-login\nimagePullSecret: >-\n  registry\n",
    ],
)
def test_a_block_of_yaml_that_leads_to_a_credential_or_ends_before_is_shown(text: str) -> None:
    assert hidden({"data": {"app": text}}) == []


@pytest.mark.parametrize(
    "tree",
    [
        {"passwordSecretName": "db-login", "existingSecret": "db-login", "tokenUrl": "https://id.example.com/token"},
        {"password": "${DB_PASSWORD}", "token": "$(cat /run/token)", "passwordFile": "/run/password", "pwd": ""},
        {"adminPassword": "changeme", "token": "/var/run/secrets/token", "apiKey": "vault:kv/api#key"},
        {"imagePullSecrets": [{"name": "registry"}], "secrets": [{"kind": "Secret", "namespace": "shop"}]},
        {"secretKeyRef": {"name": "db-login", "key": "password"}, "automountServiceAccountToken": "false"},
        {"properties": {"tokens": {"type": "array", "description": "Which ones."}}},
        {"data": {"a": "password: ${DB_PASSWORD}\nsecretName: db-login\nimagePullSecrets: []\n"}},
        {"data": {"a": "# Tokens are read from /run/token.\ntokenReview: {enabled: true}\n", "note": "the password."}},
        {"data": {"id": ID, "colour": "blue", "line": f"ID={ID}"}},
    ],
)  # fmt: skip
def test_what_leads_to_a_credential_or_has_another_name_is_shown(tree: Any) -> None:
    assert hidden(tree) == []
