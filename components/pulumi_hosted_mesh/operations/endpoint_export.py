"""Exports one endpoint from the outputs of the stack `control-plane`, for the user of a data plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document, whole_numbers

OUTPUT = "endpoints"


def endpoint_of(outputs: Mapping[str, Any], membership: str, revision: str | None) -> EndpointDocument:
    """One endpoint, checked. outputs: of the stack, by name, as `pulumi stack output --json` prints them.

    revision: may be None if there is only one. Raises: InvalidInputError with the available endpoints.
    """
    found = outputs.get(OUTPUT)
    if not isinstance(found, Mapping) or not found:
        rule, fix = "has no output `endpoints`", "Name a stack of kind control-plane or all-in-one that is up"
        raise InvalidInputError([Problem("stack", rule, fix)], "the stack")
    if not any("/" in key for key in found):  # by revision alone: the data plane's own output of this name
        rule, fix = (
            "is a data plane's, which has only the endpoint of its last run",
            "Name the control plane's: --stack control-plane",
        )
        raise InvalidInputError([Problem("stack", rule, fix)], "the stack")
    wanted = [
        key for key in sorted(found) if key.split("/")[0] == membership and revision in (None, key.partition("/")[2])
    ]
    if len(wanted) != 1:
        rule = f"{'match several endpoints' if wanted else 'match no endpoint'}; there are {', '.join(sorted(found))}"
        raise InvalidInputError([Problem("--membership, --revision", rule, "Name one of these")], "the choice")
    return read_document(EndpointDocument, whole_numbers(found[wanted[0]]), f"the endpoint {wanted[0]}")
