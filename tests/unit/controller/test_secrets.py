"""Tokens are stored as digests, the audit log is append-only, and events are masked."""

from __future__ import annotations

import base64
import sqlite3
import time
from pathlib import Path

import pytest
import yaml
from hosted_mesh_controller.masking import MASK, Masker, secrets_of_kubeconfig
from hosted_mesh_controller.settings import read_settings
from hosted_mesh_controller.store.tokens import caller_of, create_token, revoke_token
from hosted_mesh_controller.vocabulary import Role
from pulumi_hosted_mesh import InvalidInputError

from tests.unit.controller.service import Service, documents


def test_a_token_is_stored_as_a_digest(service: Service, tmp_path: Path) -> None:
    service.ordered("acme", "meshes", documents("meshes", "acme"), Idempotency_Key="k")
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"acme-mesh" in stored
    for token in service.tokens.values():
        assert token.split("_", 2)[2].encode() not in stored
    assert (tmp_path / "data/controller.sqlite").stat().st_mode & 0o077 == 0


def test_expired_revoked_and_altered_tokens(service: Service) -> None:
    identifier, text = create_token(service.database, Role.TENANT, "acme", 0.5)
    assert caller_of(service.database, text)
    for altered in (text[:-1], f"{text}x", text.replace("hmc", "abc"), text.rpartition("_")[0], "", "hmc__"):
        assert caller_of(service.database, altered) is None, altered
    time.sleep(0.6)
    assert caller_of(service.database, text) is None
    identifier, text = create_token(service.database, Role.READER, "acme")
    assert revoke_token(service.database, identifier)
    assert caller_of(service.database, text) is None
    assert not revoke_token(service.database, identifier)


@pytest.mark.parametrize("command", ["UPDATE audit SET act = 'x'", "DELETE FROM audit"])
def test_the_audit_log_is_append_only(service: Service, tmp_path: Path, command: str) -> None:
    service.ordered("acme", "meshes", documents("meshes", "acme"))
    with sqlite3.connect(tmp_path / "data/controller.sqlite") as database, pytest.raises(sqlite3.IntegrityError):
        database.execute(command)
    assert len(service.call("provider", "GET", "/v1/audit").json()["items"]) == 1


def test_kubeconfigs_secrets_are_masked(tmp_path: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIabcdefghij\n-----END PRIVATE KEY-----\n"
    users = [
        {"name": "a", "user": {"token": "token-of-a", "client-key-data": base64.b64encode(key.encode()).decode()}},
        {"name": "b", "user": {"password": "password-of-b", "tokenFile": "file"}},
        {"name": "c", "user": {"auth-provider": {"config": {"id-token": "id-token-of-c"}}}},
        {"name": "d"},
    ]
    (tmp_path / "file").write_text("token-in-a-file\n")
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({"users": users}))
    mask = Masker([*secrets_of_kubeconfig(tmp_path / "kubeconfig"), "short"])
    text = f"token-of-a {key} password-of-b token-in-a-file id-token-of-c short and plain"
    assert mask(text) == (
        f"{MASK} -----BEGIN PRIVATE KEY-----\n{MASK}\n-----END PRIVATE KEY-----\n {MASK} {MASK} {MASK} short and plain"
    )


@pytest.mark.parametrize("content", ["", "[]", "users: 1", "users: [1]", "{", "\x00"])
def test_an_unusable_kubeconfig_has_no_secrets(tmp_path: Path, content: str) -> None:
    (tmp_path / "kubeconfig").write_text(content)
    assert list(secrets_of_kubeconfig(tmp_path / "kubeconfig")) == []
    assert list(secrets_of_kubeconfig(tmp_path / "absent")) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host": "0.0.0.0"}, "host"),
        ({"tenants": {"A": {}}}, "tenants.A"),
        ({"operations": 0}, "operations"),
        ({"clusters": {"a": {"kubeconfig": "x", "side": "hub"}}}, "clusters.a.side"),
        ({"passphrase": "x"}, "passphrase"),
    ],
)
def test_settings_that_are_rejected(tmp_path: Path, change: dict[str, object], field: str) -> None:
    good = {"data": "d", "program": "p", "passphraseFile": "f", "tenants": {"acme": {}}}
    (tmp_path / "good.yaml").write_text(yaml.safe_dump(good))
    assert read_settings(tmp_path / "good.yaml").port == 8443
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(good | change))
    with pytest.raises(InvalidInputError) as raised:
        read_settings(tmp_path / "bad.yaml")
    assert [one.field for one in raised.value.problems] == [field]
