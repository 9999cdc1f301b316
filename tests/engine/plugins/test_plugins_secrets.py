"""Secrets stay secret: marked as such among the outputs, and encrypted in state."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_random as random
import pulumi_tls as tls

from tests.engine.plugins.stack import Stack


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
