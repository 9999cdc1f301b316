"""What stands in a credential's place and opens nothing: references, defaults that everybody knows, examples."""

from __future__ import annotations

import re
from typing import Final

from .jwt_claims import claims_in

_WELL_KNOWN: Final = frozenset({
    b"changeit", b"changeme", b"change-me", b"change_me", b"password", b"passw0rd", b"notasecret", b"minioadmin",
    b"prom-operator", b"postgres", b"rabbitmq", b"guest", b"mysecretpassword", b"placeholder", b"redacted",
})  # fmt: skip
"""What handbooks, charts and images have for a password until somebody sets one."""
_OF_STANDARDS: Final = frozenset({
    b"QWxhZGRpbjpvcGVuIHNlc2FtZQ", b"dGVzdDoxMjPCow", b"Aladdin:open sesame",  # RFC 7617
    b"czZCaGRSa3F0MzpnWDFmQmF0M2JW", b"2YotnFZFEjr1zCsicMWpAA", b"tGzv3JOkF0XG5Qx2TlKWIA",  # RFC 6749
    b"7Fjfp0ZBr1KtDRbnfVdmIw",
})  # fmt: skip
_OF_NOBODY: Final = {"sub": "1234567890"}
"""Whom the tokens in documentation are for, since jwt.io has it."""
_BLANKED: Final = re.compile(rb"([xX0*.])\1{7}|EXAMPLE(?:KEY)?$")


def is_example(value: bytes) -> bool:
    """True for a default password, and for a token or login that is known to be an example."""
    return value.lower() in _WELL_KNOWN or value.rstrip(b"=") in _OF_STANDARDS or _is_for_nobody(value)


def is_blanked(value: bytes) -> bool:
    """True for a token of which only the form is left: `ghp_xxxxxxxxxxxx`, `AKIA...EXAMPLE`."""
    return bool(_BLANKED.search(value))


def _is_for_nobody(token: bytes) -> bool:
    if token.count(b".") != 2 or not token.startswith(b"eyJ"):
        return False
    return claims_in(token.split(b".")[1]).items() >= _OF_NOBODY.items()


_NAME: Final = rb"\$\{[A-Za-z_][\w.-]*"
_REFERENCE: Final = re.compile(
    _NAME + rb"(?::?[-=+]?|:?\?[^{}]*)\}|\$[A-Z_][A-Z0-9_]+|\?[^{}]*\}"  # a variable, or what is said without it
    rb"|\$\{(?:env|file|sys|vault|ssm|secret)[:.][\w./-]+\}|\$__\w+\{[^{}]*\}|\$\([^()]*\)|\{\{[^{}]*\}\}|<[\w -]+>"
    rb"|(?:vault|file|env|op|arn|ssm|ref\+\w+|secretref):\S+|[~.]{0,2}(?:/[\w.-]+){2,}"
    rb"|[A-Za-z_]\w*(?:\.\w+)+\([^()]*(?:\)[\w.()]*)?|[A-Za-z_]\w*\((?:[\"'][^()]*)?\)[\w.()]*"  # a call
    rb"|(?:var|local|data|module|os|process|settings|config|self|secrets|inputs|args|random_\w+)\.[\w.\[\]\"']+"
)
_WITH_DEFAULT: Final = re.compile(_NAME + rb":?[-=]?([^{}]+)\}")


def is_reference(value: bytes) -> bool:
    """True for what only says where a secret is: `${DB_PASSWORD:?is missing}` (or its end), `$(cat /run/token)`,
    `vault:kv/db`, a path, a call. What stands in it may be a secret still."""
    return bool(_REFERENCE.fullmatch(value))


def after_reference(value: bytes) -> bytes:
    """Of `$(cat /run/token) psql -h db`, a line of a script that begins with a variable, the command; else nothing."""
    found = _REFERENCE.match(value)
    return value[found.end() :].lstrip() if found and value[found.end() : found.end() + 1].isspace() else b""


def default_in(value: bytes) -> bytes:
    """What a variable is where nobody sets it, `${NAME:-this}`; else the value as it is."""
    found = _WITH_DEFAULT.fullmatch(value)
    return found[1] if found and not is_reference(value) else value
