"""One call, as a person writes it and as proxies see it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.fields import is_address

OUTSIDE: Final = "outside"
CALL: Final = re.compile(
    r"(?P<caller>\S+)\s*->\s*(?P<callee>\S+?)(?::(?P<port>[0-9]{1,5}))?(?:\s+(?P<method>[A-Z]+)(?:\s+(?P<path>/\S*))?)?"
)


@dataclass(frozen=True)
class Call:
    """caller: `namespace/service`, or `outside`. callee: `namespace/service`, or a host. address: of a caller outside.
    account: of the caller, in place of its service's. cluster: of the caller, where it runs in several meshes."""

    caller: str
    callee: str
    method: str = "GET"
    path: str = "/"
    port: int | None = None
    claims: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    account: str | None = None
    cluster: str | None = None

    def __str__(self) -> str:
        port = f":{self.port}" if self.port else ""
        return f"{self.caller} -> {self.callee}{port} {self.method} {self.path}"


def parse_call(text: str, claims: Mapping[str, str] | None = None) -> Call:
    """A call from its text, `bookinfo/productpage@east -> bookinfo/reviews:9080 GET /reviews/1`.

    A caller outside is `outside` or an IP address. Raises: InvalidInputError.
    """
    match = CALL.fullmatch(text.strip())
    if match is None:
        problem = Problem(
            "CALL",
            "must be a caller, an arrow and a callee, with a port, a method and a path if you like",
            'Write it like "bookinfo/productpage -> bookinfo/reviews GET /reviews/1"',
        )
        raise InvalidInputError([problem], "the command line")
    caller, _, cluster = match["caller"].partition("@")
    address = caller if is_address(caller) else None
    return Call(
        OUTSIDE if address else caller,
        match["callee"],
        match["method"] or "GET",
        match["path"] or "/",
        int(match["port"]) if match["port"] else None,
        dict(claims or {}),
        address,
        cluster=cluster or None,
    )
