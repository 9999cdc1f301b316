"""Harmless texts in a credential's place: references, well-known default passwords, examples."""

from __future__ import annotations

import re
from typing import Final

from .jwt_claims import claims_in

_WELL_KNOWN: Final = frozenset({
    b"changeit", b"changeme", b"change-me", b"change_me", b"password", b"passw0rd", b"notasecret", b"minioadmin",
    b"prom-operator", b"postgres", b"rabbitmq", b"guest", b"mysecretpassword", b"placeholder", b"redacted",
})  # fmt: skip
"""Default passwords of handbooks, charts and images."""
_OF_STANDARDS: Final = frozenset({
    b"QWxhZGRpbjpvcGVuIHNlc2FtZQ", b"dGVzdDoxMjPCow", b"Aladdin:open sesame",  # RFC 7617
    b"czZCaGRSa3F0MzpnWDFmQmF0M2JW", b"2YotnFZFEjr1zCsicMWpAA", b"tGzv3JOkF0XG5Qx2TlKWIA",  # RFC 6749
    b"7Fjfp0ZBr1KtDRbnfVdmIw",
})  # fmt: skip
_OF_NOBODY: Final = {"sub": "1234567890"}
"""The subject of the tokens in documentation, since jwt.io."""
_BLANKED: Final = re.compile(rb"([xX0*.])\1{7}|EXAMPLE(?:KEY)?$")


def is_example(value: bytes) -> bool:
    """True for a default password, and for a published example of a token or login."""
    return value.lower() in _WELL_KNOWN or value.rstrip(b"=") in _OF_STANDARDS or _is_for_nobody(value)


def is_blanked(value: bytes) -> bool:
    """True for a token reduced to its form: `ghp_xxxxxxxxxxxx`, `AKIA...EXAMPLE`."""
    return bool(_BLANKED.search(value))


def _is_for_nobody(token: bytes) -> bool:
    if token.count(b".") != 2 or not token.startswith(b"eyJ"):
        return False
    return claims_in(token.split(b".")[1]).items() >= _OF_NOBODY.items()


_NAME: Final = rb"\$\{[A-Za-z_][\w.-]*"
_REFERENCE: Final = re.compile(
    _NAME + rb"(?::?[-=+]?|:?\?[^{}]*)\}|\$[A-Z_][A-Z0-9_]+|\?[^{}]*\}"  # a variable, or its default
    rb"|\$\{(?:env|file|sys|vault|ssm|secret)[:.][\w./-]+\}|\$__\w+\{[^{}]*\}|\$\([^()]*\)|\{\{[^{}]*\}\}|<[\w -]+>"
    rb"|(?:vault|file|env|op|arn|ssm|ref\+\w+|secretref):\S+|[~.]{0,2}(?:/[\w.-]+){2,}"
    rb"|[A-Za-z_]\w*(?:\.\w+)+\([^()]*(?:\)[\w.()]*)?|[A-Za-z_]\w*\((?:[\"'][^()]*)?\)[\w.()]*"  # a call
    rb"|(?:var|local|data|module|os|process|settings|config|self|secrets|inputs|args|random_\w+)\.[\w.\[\]\"']+"
)
_WITH_DEFAULT: Final = re.compile(_NAME + rb":?[-=]?([^{}]+)\}")


def is_reference(value: bytes) -> bool:
    """True for a mere reference to a secret: `${DB_PASSWORD:?is missing}` (or its end), `$(cat /run/token)`,
    `vault:kv/db`, a path, a call. A secret may still be inside."""
    return bool(_REFERENCE.fullmatch(value))


def after_reference(value: bytes) -> bytes:
    """The command after a variable at a script line's beginning, `$(cat /run/token) psql -h db`; else nothing."""
    found = _REFERENCE.match(value)
    return value[found.end() :].lstrip() if found and value[found.end() : found.end() + 1].isspace() else b""


def default_in(value: bytes) -> bytes:
    """A variable's default, `${NAME:-this}`; else the value unchanged."""
    found = _WITH_DEFAULT.fullmatch(value)
    return found[1] if found and not is_reference(value) else value
