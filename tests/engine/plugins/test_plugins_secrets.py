"""Secrets stay secret: encrypted in state, masked in output, passed on to what is made of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pulumi_random as random
import pulumi_tls as tls

from tests.engine.plugins.stack import Stack
from tests.support.kubectl import Kubectl

Provider = Callable[..., pulumi.ResourceOptions]
PASSWORD = "correct-horse-battery-staple"
ENCODED = base64.b64encode(PASSWORD.encode()).decode()


def _occurrences(stack: Stack) -> int:
    text = stack.state_text()
    return text.count(PASSWORD) + text.count(ENCODED)


def test_data_of_a_secret_is_always_encrypted(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    def program() -> None:
        # Not marked as secret by the program.
        kubernetes.core.v1.Secret("plain", metadata={"name": "plain"}, string_data={"a": PASSWORD}, opts=provider())

    shown: list[str] = []
    stack.program = program
    stack.engine.preview(program=program, on_output=shown.append, diff=True)
    stack.engine.up(program=program, on_output=shown.append, diff=True)
    assert kubectl.get("secret", "plain", "--namespace", namespace)["data"]["a"] == ENCODED
    assert _occurrences(stack) == 0
    assert PASSWORD not in "".join(shown)
    assert ENCODED not in "".join(shown)
    assert stack.preview() == {"same": 3}


def test_secretness_of_an_input_reaches_the_state_of_any_kind(stack: Stack, provider: Provider) -> None:
    def program() -> None:
        data = {"secret": pulumi.Output.secret(PASSWORD), "public": "nothing to hide"}
        kubernetes.core.v1.ConfigMap("settings", data=data, opts=provider())

    stack.up(program)
    assert _occurrences(stack) == 0
    assert "nothing to hide" in stack.state_text()
    assert stack.resources()["settings"]["outputs"]["data"]["public"] == "nothing to hide"
    stack.engine.refresh()
    assert _occurrences(stack) == 0


def test_changed_data_of_a_secret_replaces_it(stack: Stack, provider: Provider) -> None:
    def program(value: str) -> Callable[[], None]:
        return lambda: kubernetes.core.v1.Secret("secret", string_data={"a": value}, opts=provider()) and None

    stack.up(program("1"))
    assert stack.preview(program("2"))["replace"] == 1
    assert stack.up(program("2"))["replace"] == 1


def test_a_service_account_token_is_there_when_its_secret_is_made(stack: Stack, provider: Provider) -> None:
    def program() -> None:
        options = provider()
        robot = kubernetes.core.v1.ServiceAccount("robot", opts=options)
        token = kubernetes.core.v1.Secret(
            "token",
            metadata={"annotations": {"kubernetes.io/service-account.name": robot.metadata.name}},
            type="kubernetes.io/service-account-token",
            opts=options,
        )
        pulumi.export("token", token.data["token"])

    stack.up(program)
    token = stack.engine.outputs()["token"]
    assert token.secret
    assert base64.b64decode(token.value).startswith(b"ey")
    assert token.value not in stack.state_text()
    assert stack.preview() == {"same": 4}


def test_private_keys_and_passwords_are_secret_outputs(stack: Stack) -> None:
    def program() -> None:
        key = tls.PrivateKey("key", algorithm="ECDSA", ecdsa_curve="P256")
        subject: Any = {"common_name": "self"}
        certificate = tls.SelfSignedCert(
            "cert",
            private_key_pem=key.private_key_pem,
            subject=subject,
            validity_period_hours=24,
            allowed_uses=["cert_signing"],
        )
        password = random.RandomPassword("password", length=24)
        pulumi.export("key", key.private_key_pem)
        pulumi.export("repeated key", certificate.private_key_pem)
        pulumi.export("password", password.result)
        pulumi.export("certificate", certificate.cert_pem)

    stack.up(program)
    outputs = stack.engine.outputs()
    assert {name for name, output in outputs.items() if output.secret} == {"key", "repeated key", "password"}
    assert "PRIVATE KEY" not in stack.state_text()
    assert outputs["password"].value not in stack.state_text()
