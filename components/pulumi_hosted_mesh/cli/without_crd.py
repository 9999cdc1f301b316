"""The option by which an owner says which of Istio's definitions are not wanted."""

from __future__ import annotations

from typing import Annotated

import typer

WithoutCrdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without-crd",
        help="A CRD of Istio's that is left out on purpose, `envoyfilters.networking.istio.io`; several times.",
    ),
]
