"""Fresh values of the same form: they still parse, and nothing of the old value is left."""

from __future__ import annotations

import base64
import functools
import json
import random
import re
import string
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from . import keys

_TOKEN: Final = re.compile(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]*")
_SERVICE_TOKEN: Final = re.compile(
    r"(?<![\w-])(?:"
    r"gh[opsur]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]-|xapp-|hv[bsr]\.|pul-|npm_|pypi-|dckr_[op]at_|do[opr]_v1_|hf_"
    r"|[rs]k_live_|sk-|SG\.|shp[acs][ast]_|tskey-|dapi|AIza|ya29\.|GOCSPX-|sha256~|k8s-aws-v1\.|AGE-SECRET-KEY-1"
    r")[\w.+/=~-]{20,}"
    r"|\b\d{8,10}:AA[\w-]{33}"
    r"|(?i:hooks\.slack\.com/|discord(?:app)?\.com/api/|\.webhook\.office\.com/)[\w/@-]{40,}"
    r"|(?i:\bsig|-signature)=[\w+/%-]{40,}=?"
    r"|(?i:\w*account_?key|\w*access_?key|\w*api[_-]?(?:key|token))[\"']?\s*[:=]\s*[\"']?[\w+/~.-]{30,}={0,2}"
)
"""Tokens of services and clouds. A separate table: a judge must not share tables with the judged pack."""
_LEAST_LETTERS: Final = 9
"""Fewest different letters of a token. A placeholder has fewer."""
_BEGINNING: Final = re.compile(
    r"(?s:.*[=:\s\"'])(?=[\w+/.~%-]{16,}={0,2}$)|[\w-]+(?:\.[\w-]+)+/|(?:[A-Za-z0-9]{2,12}[-_.~]){1,2}|[A-Za-z]{4}"
)
"""The part before a token's secret: a name, a host, a common beginning. A program may require it."""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]{16,}={0,2}\s*")
_CLASSES: Final = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_HEX: Final = re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}")
_OF_HEX: Final = ("abcdef", "ABCDEF", string.digits)
LARGEST: Final = 4 * 1024 * 1024
"""Most bytes of a searched file."""
CREDENTIALS: Final = ("token", "password", "client-key-data")
"""Credentials of a kubeconfig's user."""


@functools.lru_cache(maxsize=64)
def parsed_kubeconfig(text: str) -> dict[str, Any] | None:
    """A kubeconfig's content, not to be changed, or None for any other text."""
    if "clusters" not in text or "users" not in text:
        return None
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("clusters"), list) else None


def holds_credential(text: str) -> bool:
    """True for a text with a recognisable credential: a private key, a kubeconfig, a token."""
    found = bool(keys.IN_PEM.search(text) or _TOKEN.search(text)) or parsed_kubeconfig(text) is not None
    return found or next(_service_tokens(text), None) is not None


def _service_tokens(text: str) -> Iterator[str]:
    yield from (one[0] for one in _SERVICE_TOKEN.finditer(text) if len({*one[0]}) >= _LEAST_LETTERS)


def fresh_credentials(text: str, chance: random.Random) -> str:
    """A text with its private keys and tokens replaced; the rest stays."""
    text = _TOKEN.sub(lambda found: _signed_anew(found.group(), chance), _with_other_keys(text, chance))
    for token in dict.fromkeys(_service_tokens(text)):
        text = text.replace(token, _token(token, chance))
    return text


def fresh(text: str, chance: random.Random) -> str:
    """Another text of the same form: key for key, token for token, letter for letter."""
    if keys.IN_PEM.search(text):
        return _with_other_keys(text, chance)
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.dumps(_tree(json.loads(text), chance))
        except ValueError:
            pass
    if _TOKEN.fullmatch(text.strip()):
        return _signed_anew(text.strip(), chance)
    if [*_service_tokens(text)] == [text]:
        return _token(text, chance)
    if (inner := _from_base64(text)) is not None:
        return base64.b64encode(fresh(inner, chance).encode()).decode()
    if _URL.match(text):
        return _url(text, chance)
    return {"true": "false", "false": "true"}.get(text) or opaque(text, chance)


def _with_other_keys(text: str, chance: random.Random) -> str:
    return keys.IN_PEM.sub(lambda found: _key(found.group(), chance), text)


def _signed_anew(token: str, chance: random.Random) -> str:
    head, _, signature = token.rpartition(".")
    return f"{head}.{opaque(signature, chance)}"


def _token(token: str, chance: random.Random) -> str:
    start = _BEGINNING.match(token)
    end = start.end() if start else 0
    return token[:end] + opaque(token[end:], chance)


def opaque(text: str, chance: random.Random) -> str:
    """Each letter replaced by another of its class, digits by digits; the rest stays, and hex stays hex. Never the same
    text."""
    classes = _OF_HEX if _HEX.fullmatch(text) else _CLASSES
    return "".join(_letter(letter, chance, classes) for letter in text)


def _letter(letter: str, chance: random.Random, classes: tuple[str, ...]) -> str:
    among = next((letters for letters in classes if letter in letters), "")
    return chance.choice(among.replace(letter, "")) if among else letter


def text_of(length: int, chance: random.Random, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(chance.choice(letters) for _ in range(length))


def _key(pem: str, chance: random.Random) -> str:
    try:
        made = keys.private_texts(keys.like(keys.private_of(pem)))
    except keys.UnusableKeyError:  # encrypted, or no key
        head, *body, foot = pem.rstrip("\n").split("\n")
        return "\n".join([head, *(opaque(line, chance) for line in body), foot]) + "\n"
    kind = (
        "privateKeyOpenssh" if "OPENSSH" in pem else "privateKeyPemPkcs8" if "BEGIN PRIVATE" in pem else "privateKeyPem"
    )
    return made[kind]


def _tree(value: Any, chance: random.Random) -> Any:
    if isinstance(value, Mapping):
        return {key: _tree(one, chance) for key, one in value.items()}
    if isinstance(value, list):
        return [_tree(one, chance) for one in value]
    if isinstance(value, str):
        return fresh(value, chance)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(opaque(str(value), chance).lstrip("0") or "7")
    return value


def _from_base64(text: str) -> str | None:
    """The content of a whole text in base64, if its form must be kept."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        inner = base64.b64decode("".join(text.split()), validate=True).decode()
    except ValueError:
        return None
    return inner if inner.startswith(("{", "-----BEGIN")) or holds_credential(inner) else None


def _url(text: str, chance: random.Random) -> str:
    """Scheme and host stay; login, path and query may be secret."""
    scheme, _, rest = text.partition("://")
    authority, slash, tail = rest.partition("/")
    login, at, host = authority.rpartition("@")
    return f"{scheme}://{opaque(login, chance)}{at}{host}{slash}{opaque(tail, chance)}"


def kubeconfig(clusters: Mapping[str, Mapping[str, str]], token: str) -> dict[str, Any]:
    """A new kubeconfig, with a user and a context for each cluster."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(clusters)),
        "clusters": [{"name": name, "cluster": cluster} for name, cluster in clusters.items()],
        "users": [{"name": name, "user": {"token": token}} for name in clusters],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in clusters],
    }


def token(claims: Mapping[str, Any], chance: random.Random) -> str:
    """A JWT with a made-up signature."""
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "kid": text_of(12, chance)}, dict(claims))]
    encoded = [base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, text_of(86, chance)])
