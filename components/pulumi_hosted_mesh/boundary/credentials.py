"""What istiod is given to work with. Both are secrets, and neither ever goes to the data plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi


@dataclass(frozen=True)
class CaCerts:
    """What istiod signs with: the files of the Secret `cacerts`, as one secret output.

    Only `ca-key.pem` is confidential, but the four files travel together and so the whole is secret.
    """

    files: pulumi.Output[Mapping[str, str]]
    root_certificate: pulumi.Output[str]
    """The root's certificate alone, PEM, public."""

    @classmethod
    def of(cls, files: pulumi.Input[Mapping[str, str]], root_certificate: pulumi.Input[str]) -> CaCerts:
        """Also for values from another stack's outputs; the files are always secret."""
        return cls(pulumi.Output.secret(files), pulumi.Output.from_input(root_certificate))


@dataclass(frozen=True)
class IstiodCredential:
    """What crosses from the data plane to the control plane: the kubeconfig by which istiod reads it. Always secret."""

    kubeconfig: pulumi.Output[str]

    @classmethod
    def of(cls, text: pulumi.Input[str]) -> IstiodCredential:
        """Also for a value from another stack's output; always secret."""
        return cls(pulumi.Output.secret(text))
