"""The option for Istio's CRDs that their owner leaves out on purpose."""

from __future__ import annotations

from typing import Annotated

import typer

WithoutCrdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without-crd",
        help="An Istio CRD that is left out on purpose, `envoyfilters.networking.istio.io`; repeatable.",
    ),
]
