"""Settings of issuers that are rejected: one line with field, rule and fix."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.openid.issuers import MOST_ISSUERS, Issuer
from hosted_mesh_controller.settings import read_settings
from pulumi_hosted_mesh import InvalidInputError

from sandbox.bootstrap import CHECKOUT

Config = dict[str, Any]
GRANT: Config = {"role": "tenant", "group": "acme", "tenant": "acme"}
ISSUER: Config = {"url": "https://login.example.com/realms/a", "audiences": ["hosted-mesh"], "grants": [GRANT]}
PROGRAM = Path(sys.executable).with_name("hosted-mesh-controller")


def problems(folder: Path, **issuers: Any) -> list[str]:
    settings = {"data": str(folder / "data"), "program": "p", "passphraseFile": "f", "tenants": {"acme": {}}}
    file = folder / "settings.yaml"
    file.write_text(yaml.safe_dump({**settings, "issuers": copy.deepcopy(issuers)}))  # no anchors
    try:
        read_settings(file)
    except InvalidInputError as error:
        assert all(one.rule and one.fix for one in error.problems)
        return [one.field for one in error.problems]
    return []


def test_good_ones(tmp_path: Path) -> None:
    for change in (
        {},
        {"algorithms": ["PS512", "EdDSA"], "clockSkewSeconds": 0, "requiredClaims": {"hd": "example.com"}},
        {"discoveryUrl": "https://[::1]:8443/a?b=c", "certificateAuthority": "/run/ca.pem"},
        {"jwksUrl": "https://10.0.0.1:6443/openid/v1/jwks", "url": "https://kubernetes.default.svc.cluster.local"},
        {"grants": [{"role": "provider", "user": "a"}, {"role": "reader", "tenantClaim": "/a/b"}, GRANT]},
    ):
        assert problems(tmp_path, login={**ISSUER, **change}) == [], change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        *[
            ({"url": url}, "url")
            for url in (
                "http://login.example.com",
                "http://127.0.0.1",
                "login.example.com",
                "https://",
                "https://a:b@login.example.com",
                "https://@login.example.com",
                "https://login.example.com?a=b",
                "https://login.example.com#a",
                "https://login.example.com:port",
                "https://login.example.com:0",
                "https://login.example.com/ a",
                "https://log\u0456n.example.com",
                "HTTPS://login.example.com",
                "",
            )
        ],
        ({"discoveryUrl": "http://login.example.com/d"}, "discoveryUrl"),
        ({"jwksUrl": "http://login.example.com/k"}, "jwksUrl"),
        ({"jwksUrl": "https://a.example.com/k", "discoveryUrl": "https://a.example.com/d"}, "jwksUrl"),
        ({"audiences": []}, "audiences"),
        ({"audiences": [""]}, "audiences[0]"),
        ({"audiences": None}, "audiences"),
        ({"algorithms": []}, "algorithms"),
        ({"algorithms": ["none"]}, "algorithms[0]"),
        ({"algorithms": ["RS256", "HS256"]}, "algorithms[1]"),
        ({"clockSkewSeconds": 301}, "clockSkewSeconds"),
        ({"clockSkewSeconds": -1}, "clockSkewSeconds"),
        ({"requiredClaims": {"a": 1}}, "requiredClaims.a"),
        ({"userClaim": ""}, "userClaim"),
        ({"secret": "x"}, "secret"),
        ({"grants": []}, "grants"),
        ({"grants": [{**GRANT, "role": "admission"}]}, "grants[0].role"),
        ({"grants": [{**GRANT, "role": "admin"}]}, "grants[0].role"),
        ({"grants": [GRANT, {**GRANT, "tenant": "nobody"}]}, "grants[1].tenant"),
        ({"grants": [{**GRANT, "user": "a"}]}, "grants[0]"),
        ({"grants": [{**GRANT, "tenantClaim": "a"}]}, "grants[0]"),
        ({"grants": [{"role": "reader", "group": "a"}]}, "grants[0]"),
        ({"grants": [{"role": "reader", "tenant": "acme"}]}, "grants[0]"),
        ({"grants": [{"role": "provider"}]}, "grants[0]"),
        ({"grants": [{**GRANT, "role": "provider"}]}, "grants[0]"),
        ({"grants": [{"role": "provider", "user": "a", "tenantClaim": "b"}]}, "grants[0]"),
    ],
)
def test_bad_ones(tmp_path: Path, change: Config, field: str) -> None:
    assert problems(tmp_path, login={**ISSUER, **change}) == [f"issuers.login.{field}"]


def test_one_issuer_twice_and_too_many(tmp_path: Path) -> None:
    assert problems(tmp_path, a=ISSUER, b=ISSUER) == ["issuers.a.url", "issuers.b.url"]
    assert problems(tmp_path, Login=ISSUER) == ["issuers.Login"]
    many = {f"i{at}": {**ISSUER, "url": f"https://{at}.example.com"} for at in range(MOST_ISSUERS + 1)}
    assert problems(tmp_path, **many) == ["issuers"]


BROKEN = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("content", [None, BROKEN])
def test_the_service_does_not_start_without_its_authorities(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    assert problems(tmp_path, login={**ISSUER, "certificateAuthority": str(file)}) == []
    command = [PROGRAM, "serve", tmp_path / "settings.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        "the settings cannot be used, issuers.login.certificateAuthority: must be the path of a file with "
        "certificates, PEM. Check the path, the mount and the content.\n"
    )
    assert not (tmp_path / "data").exists()


def test_the_page_s_example_and_fields(tmp_path: Path) -> None:
    text = (CHECKOUT / "docs/controller.md").read_text().partition("### Tokens of your own issuers")[2]
    (example,) = re.findall(r"^```yaml\n(issuers:.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert problems(tmp_path, **yaml.safe_load(example)["issuers"]) == []
    table = text.partition("| field |")[2].partition("\n\n")[0]
    rows = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert rows == {str(field.alias) for field in Issuer.model_fields.values()}
