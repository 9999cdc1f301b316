"""The kubeconfig by which a part of the control plane reads a data plane, as a component is given it."""

from __future__ import annotations

from typing import Any

import pulumi

from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.clusters.kubeconfig import Asked, from_content


def account_kubeconfig(given: Any, field: str, source: str, fix: str) -> pulumi.Output[str]:
    """The kubeconfig's context that is in use, as a secret.

    given: text, or an Output of it. fix: what to do about one that is empty. Raises: InvalidInputError for one that
    cannot be used: at once if it is plain, else when it is known, and before it is sent.
    """
    asked = Asked(field=field, source=source)

    def used(found: object) -> str:
        if not found:
            raise asked.refuse("kubeconfig", "is empty", fix)
        return from_content(found, asked).text

    text: pulumi.Output[str] = pulumi.Output.secret(when_known(given, used))
    return text
