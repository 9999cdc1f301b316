"""Commands with a file of the right shape and wrong leaves: one line for each problem, and no trace."""

from __future__ import annotations

import base64
import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from tests.unit.library.cli.documents import DEPLOYMENT, ENDPOINT, FEDERATION, MEMBER, OFFER, STACK
from tests.unit.library.dns import documents as dns
from tests.unit.library.documents import CERTIFICATE, document

KUBECONFIG = {
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority-data": base64.b64encode(CERTIFICATE.encode()).decode(),
                "tls-server-name": "api.example.com",
                "extensions": [{"name": "e", "extension": {"last-update": "Mon, 01 Jan 2024"}}],
            },
        }
    ],
    "users": [
        {
            "name": "u",
            "user": {"token": "t", "as": "auditor", "as-groups": ["readers"], "as-user-extra": {"a": ["b"]}},
        },
        {
            "name": "e",
            "user": {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "/nonexistent",
                    "args": ["a"],
                    "env": [{"name": "A", "value": "b"}],
                    "provideClusterInfo": True,
                }
            },
        },
    ],
    "contexts": [
        {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}},
        {"name": "y", "context": {"cluster": "c", "user": "e"}},
    ],
    "current-context": "x",
}
STATE = {
    "version": 3,
    "deployment": {
        "resources": [
            {
                "urn": "urn:pulumi:s::p::kubernetes:core/v1:ConfigMap::a",
                "type": "kubernetes:core/v1:ConfigMap",
                "inputs": {"metadata": {"name": "a", "labels": {"hosted-mesh.io/mesh": "demo"}}},
                "outputs": {"metadata": {"name": "a"}},
            }
        ]
    },
}
OUTPUTS = {"endpoints": {"default/default": ENDPOINT}}
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "a", "namespace": "b", "labels": {"c": "d"}},
    "stringData": {"config": "text"},
}
APPLICATION = {
    "name": "books",
    "namespace": "books",
    "parts": [{"name": "page", "manifests": [MANIFEST | {"kind": "ConfigMap"}], "place": {"names": ["east"]}}],
    "clusters": [{"name": "east", "labels": {"tier": "near"}}],
}
STACKS = Path(__file__).parents[4] / "stacks"


def example(kind: str) -> Any:
    return yaml.safe_load((STACKS / f"example.{kind}.yaml").read_text())


CASES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "validate mesh": (document(), ("validate", "FILE")),
    "validate data-plane": ({"mesh": "demo", **MEMBER}, ("validate", "FILE", "--kind=data-plane")),
    "validate federation": (FEDERATION, ("validate", "FILE", "--kind=federation")),
    "validate endpoint": (ENDPOINT, ("validate", "FILE", "--kind=endpoint")),
    "validate offer": (OFFER, ("validate", "FILE", "--kind=offer")),
    "validate stack": (STACK, ("validate", "FILE", "--kind=stack")),
    "validate dns": (dns.document(), ("validate", "FILE", "--kind=dns")),
    "validate deployment": (DEPLOYMENT, ("validate", "FILE", "--kind=deployment")),
    "validate application": (APPLICATION, ("validate", "FILE", "--kind=application")),
    "validate intents": (example("intents"), ("validate", "FILE", "--kind=intents")),
    "validate inventory": (example("inventory"), ("validate", "FILE", "--kind=inventory")),
    "intents compile": (example("intents"), ("intents", "compile", "FILE", str(STACKS / "example.inventory.yaml"))),
    "intents matrix": (example("inventory"), ("intents", "matrix", str(STACKS / "example.intents.yaml"), "FILE")),
    "doctor --offer": (OFFER, ("doctor", str(STACKS / "example.federation.yaml"), "--mesh=east", "--offer=FILE")),
    "token": ({"mesh": "demo", **MEMBER}, ("token", "FILE")),
    "leftovers": ({"mesh": "demo", **MEMBER}, ("leftovers", "FILE")),
    "exports": (FEDERATION, ("exports", "FILE", "--mesh=east")),
    "doctor": (FEDERATION, ("doctor", "FILE", "--mesh=east")),
    "doctor --endpoint": (ENDPOINT, ("doctor", "--mesh=demo", "--endpoint=FILE")),
    "doctor --kubeconfig": (KUBECONFIG, ("doctor", "--mesh=demo", "--kubeconfig=FILE")),
    "doctor --kubeconfig, exec": (KUBECONFIG, ("doctor", "--mesh=demo", "--kubeconfig=FILE", "--context=y")),
    "check-webhooks": (ENDPOINT, ("check-webhooks", "FILE")),
    "discover": (KUBECONFIG, ("discover", "--kubeconfig=FILE")),
    "endpoint": (OUTPUTS, ("endpoint", "FILE")),
    "status": (STATE, ("status", "FILE")),
    "topology": (STATE, ("topology", "FILE")),
    "topology --federation": (STATE, ("topology", "--federation", "FILE")),
    "scan a state": (STATE, ("scan", "FILE")),
    "scan a manifest": (MANIFEST, ("scan", "FILE")),
}
AS_JSON = ("endpoint", "status", "topology", "topology --federation")
WRITTEN = [
    "2024-01-01",
    "012345670123",
    "yes",
    "!!binary aGk=",
    "1e3",
    "0x1F",
    ".nan",
    "!!set {a}",
    "*a",
    "&a [*a]",
    "=",
]
LEAVES: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", " ", "a" * 300, "\u00fc", "a\nb", "\x7f", "[2001:db8::10]", "https://[::1",
    "https://2001:db8::1", "svc.cluster.local", f"{'a' * 64}.example.com", "-----BEGIN CERTIFICATE-----", "{x}", "../a",
    "$NOT_SET", [], {}, [None], [[]], {"a": None}, {"": ""}, [{"name": 1}], "1Gi", "%", "\ud83d\ude00",
]  # fmt: skip
MARK = "PLACE-OF-TEXT"


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a document, without the whole."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for step, one in inner for found in ((*path, step), *places(one, (*path, step)))]


def replaced(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(content)
    part = result
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return result


@st.composite
def texts(draw: st.DrawFn, name: str) -> str:
    content = CASES[name][0]
    for _ in range(draw(st.integers(1, 2))):
        here = places(content)
        if not here:
            break
        as_text = name not in AS_JSON and not name.startswith("scan a state") and draw(st.booleans())
        value = MARK if as_text else copy.deepcopy(draw(st.sampled_from(LEAVES)))
        content = replaced(content, draw(st.sampled_from(here)), value)
    if name in AS_JSON or name == "scan a state":
        return json.dumps(content)
    return yaml.safe_dump(content, allow_unicode=True).replace(MARK, draw(st.sampled_from(WRITTEN)), 1)


def judge(name: str, text: str, folder: Path) -> None:
    file = folder / "given.yaml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    done = CliRunner().invoke(app, [one.replace("FILE", str(file)) for one in CASES[name][1]])
    assert done.exception is None or isinstance(done.exception, SystemExit), (text, done.exception)
    assert "Traceback" not in done.output, text
    assert done.exit_code in (0, 1, 2, 3, 4), text
    assert done.exit_code == 0 or done.output.strip(), text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """With a kubeconfig whose API server refuses connections, as the default of all commands."""
    place = tmp_path_factory.mktemp("wrong-leaves")
    (place / "kubeconfig").write_text(yaml.safe_dump(KUBECONFIG))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(place / "kubeconfig"))
        for proxy in ("HTTPS_PROXY", "https_proxy"):
            patch.delenv(proxy, raising=False)
        patch.chdir(place)
        yield place


def examples(number: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, deadline=None, suppress_health_check=checks)


@pytest.mark.parametrize("name", CASES)
def test_wrong_leaves_are_one_line(folder: Path, name: str) -> None:
    @examples(12)
    @given(texts(name))
    def check(text: str) -> None:
        judge(name, text, folder)

    check()


@pytest.mark.nightly("many")
@pytest.mark.parametrize("name", CASES)
def test_many_wrong_leaves_are_one_line(folder: Path, name: str) -> None:
    @examples(int(os.environ.get("HOSTED_MESH_EXAMPLES", "250")))
    @given(texts(name))
    def check(text: str) -> None:
        judge(name, text, folder)

    check()


@pytest.mark.parametrize("name", CASES)
def test_the_files_themselves_are_no_mistake(folder: Path, name: str) -> None:
    """Else the wrong leaves would never be reached."""
    content, arguments = CASES[name]
    (folder / "given.yaml").write_text(json.dumps(content))
    done = CliRunner().invoke(app, [one.replace("FILE", str(folder / "given.yaml")) for one in arguments])
    reached = ("does not answer at 127.0.0.1:1", "/nonexistent", "it names no kubeconfig", "warning")
    assert done.exit_code in (0, 4) or any(words in done.output for words in reached), done.output
