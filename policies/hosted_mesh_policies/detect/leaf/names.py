"""Names that classify a value: one table for every detector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

CREDENTIALS: Final = (
    "ARM_CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "CF_API_KEY",
    "CF_API_TOKEN", "CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN", "DIGITALOCEAN_TOKEN", "DO_TOKEN", "ETCD_PASSWORD",
    "EXTERNAL_DNS_PDNS_API_KEY", "EXTERNAL_DNS_RFC2136_TSIG_SECRET", "GITHUB_TOKEN", "GITLAB_TOKEN",
    "GODADDY_API_SECRET", "GOOGLE_CREDENTIALS", "HCLOUD_TOKEN", "HETZNER_TOKEN", "LINODE_TOKEN", "NS1_APIKEY",
    "OVH_APPLICATION_SECRET", "OVH_CONSUMER_KEY", "PDNS_API_KEY", "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE",
    "RFC2136_TSIG_SECRET", "VAULT_TOKEN",
)  # fmt: skip
"""Environment variables of clouds, DNS services and stores. In the deployer's environment they are the control plane's;
in an object for a data plane their value is a credential."""

_ACCOUNT_KEY = re.compile(r"(azure[_-]?)?(storage[_-]?)?account[_-]?key[12]?", re.IGNORECASE)


def names_clouds_credential(name: str) -> bool:
    """True for the name of such a variable, and of a cloud storage key."""
    return name in CREDENTIALS or bool(_ACCOUNT_KEY.fullmatch(name))


_SECRET = re.compile(
    r"passw|passphrase|passwd|(?:^|[_.-])pw(?:$|[_.-])|pwd|secret|token|credential|private|api[_.-]?key|access[_.-]?key"
    r"|auth(?!or|enticat|_?uri|s$)|dsn|cookie|seed|salt|hmac|tsig|signing[_.-]?key|encryption[_.-]?key|client[_.-]?key"
    r"|session[_.-]?key|connection[_.-]?string|(?:^|[_.-])key(?:$|[_.-])|keystore|kubeconfig|bearer|webhook[_.-]?url",
    re.IGNORECASE,
)
_DESCRIPTION = re.compile(
    r"public|(?:^|[_.-])(?:id|name|type|kind|file|path|host|hostname|user|username|uri|ref|server|email|region|alg"
    r"|namespace|expiry|ttl|url|size|version|groups|roles|scopes)$|[a-z](?:Groups|Roles|Scopes)$"
    r"|[a-z](?:Id|Name|Type|File|Path|Ref|Uri|Url|Format)$|^(?:user|name|host)"
    r"|passwordKey$|dkim|hash|digest|checksum|fingerprint|certificate|\.crt$|\.pub$|(?:^|[_.-])ca(?:$|[_.-])",
    re.IGNORECASE,
)


def is_secrets_name(name: str) -> bool:
    """True for a key such as `password`, `apiToken`, `tls.key`: its value is secret in any form."""
    return bool(_SECRET.search(name)) and not _DESCRIPTION.search(name)


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_AFTER: Final = re.compile(
    r"base|encoded|values?|literal|inline|string|bytes|plain|plaintext|text|raw|b64|base64|current|old|new|\d+"
)
"""Words after a name without a meaning of their own: `secret_key_base`, `hmacEncoded`, `token.value`."""
_SHOWN: Final = re.compile(
    r"pub$|publishable|site|dkim|digest|encrypted|sealed|example|dummy|fake|next|page|continue|idempotency|csrf"
)
_SHOWN_ANYWHERE: Final = frozenset({"public", "checksum", "hash", "hashed", "stakater"})
"""Words that make a name harmless: a public key, a checksum of a Secret, a place in a list."""
_SAYS_IT: Final = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "psk", "hmac", "authorization",
    "apikey", "secretkey", "accountkey", "privatekey", "presharedkey", "sharedaccesskey", "requirepass", "masterauth",
)  # fmt: skip
_PASS: Final = re.compile(
    r"(?:db|pg|my|sql|redis|root|admin|user|smtp|mail|ldap|bind|ssh|auth|require)?pass|(?:root|bind|rootbind|admin|db)pw"
)
_OF_KEYS: Final = re.compile(
    r"api|secret|private|encryption|signing|hmac|routing|fernet|master|account|shared|preshared|app|jwt|session|cookie"
    r"|unseal|auth|consumer|certificate|symmetric|crypto|integration"
)
_WHOLE: Final = frozenset(
    {"encrypt", "gossip_key", "x-honeycomb-team", "secret access key", "shared access key", "token_name"}
)


@lru_cache(maxsize=16384)
def names_credential(name: str) -> bool:
    """True for the name of a credential beside a value: `adminPassword`, `X-Api-Key`, `PGPASSWORD`, `secret_key_base`.
    The last word decides: `tokenUrl` and `secretName` are none."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and _AFTER.fullmatch(words[-1]):
        words.pop()
    if not words or words[-2:] == ["client", "token"] or not _SHOWN_ANYWHERE.isdisjoint(words):
        return False
    if any(map(_SHOWN.match, words[-2:])):
        return False
    last = words[-1].removesuffix("s")
    if last == "key":
        before = words[-2] if len(words) > 1 else ""
        return bool(_OF_KEYS.fullmatch(before)) or " ".join(words[-3:]) in _WHOLE
    return last.endswith(_SAYS_IT) or bool(_PASS.fullmatch(words[-1])) or name.lower() in _WHOLE


def names_key(name: str) -> bool:
    """True for `key`, `tls.key`, `keyPEM`, `ca-key.pem`: the private half of a pair."""
    words = [word.lower() for word in _WORD.findall(name)]
    return "key" in words[-2:] and "public" not in words


def names_credentials(name: str) -> bool:
    """True for a name of several credentials: `tokens`, `passwords`. The names below it only number them."""
    return name.endswith("s") and names_credential(name) and not name.lower().endswith("credentials")


_IDENTIFIERS: Final = frozenset({
    "account", "address", "audience", "bucket", "channel", "cluster", "commit", "domain", "email", "endpoint", "etag",
    "host", "hostname", "id", "instance", "integrity", "issuer", "org", "organisation", "organization", "owner",
    "prefix", "project", "recipient", "region", "release", "revision", "sub", "subject", "suffix", "tag", "tenant",
    "user", "username", "version", "zone",
})  # fmt: skip
_PUBLIC_KEY: Final = re.compile(r"(?:^|[_.-])public[_.-]?key$|[a-z]PublicKey$", re.IGNORECASE)
_OF_SECRET = re.compile(r"passw|pwd|secret|token|(?<!access.)(?<!public)(?<!public[_.-])key", re.IGNORECASE)


def describes(name: str) -> bool:
    """True for the name of a fact: an id, an ARN, a date."""
    return is_identifiers_name(name) or bool(re.search(r"(?:^|[_.-])(?i:arn|date)$|[a-z](?:Arn|Date)$", name))


def is_identifiers_name(name: str) -> bool:
    """True for the name of an identifier or place: `client-id`, `zone`, `endpoint`. Its value is public, even if
    random."""
    words = [word.lower() for word in _WORD.findall(name)]
    says = bool(words) and (words[-1] in _IDENTIFIERS or bool(_PUBLIC_KEY.search(name)))
    return says and not _OF_SECRET.search(name)


_PUBLIC_HALF: Final = re.compile(
    r"(?:^|[_.-])pub$|(?:public|verification|trusted)[_.-]?keys?(?:[_.-]?pem)?$|known[_.-]?hosts$|authorized[_.-]?keys$"
    r"|(?:^|[_.-])(?:validators|trust[_.-]?(?:roots?|anchors?))(?:\.[a-z]{3,4})?$",
    re.IGNORECASE,
)


def names_public_half(name: str) -> bool:
    """True for the name of a public half, `publicKeys`, `known_hosts`, and of signature checks: `trustRoots`."""
    return bool(_PUBLIC_HALF.search(name))


_DIGEST_OF_PUBLIC: Final = re.compile(
    r"(?:^|[_.-])(?:pins|pin[_.-]?sha256|(?:finger|thumb)prints?(?:[_-]?[lL]ists?)?)(?:\.[a-z]{3,4})?$"
    r"|[a-z](?:Pins|(?:Finger|Thumb)prints?(?:[lL]ists?)?)$"
    r"|(?:^|[_.-])(?:ca|cert|key|spki|tls)(?:[_.-]?pin|Pin)$|[cC]ert_?[hH]ash(?:es)?$"
)


def names_digest_of_public(name: str) -> bool:
    """True for the name of digests of public keys and certificates: `pins.json`, `hostKeyFingerprint`,
    `thumbprintLists`."""
    return bool(_DIGEST_OF_PUBLIC.search(name))


_OWN_LOGIN: Final = re.compile(r"^(?:p|[a-z]+[A-Za-z]*P)assword$|^authToken$")
_LOGINS: Final = re.compile(r"^(?:[a-z]+Profile|users?|masterAuth|advancedSecurityOptions)$")


def is_own_login(path: Sequence[str | int]) -> bool:
    """True for the login of a cloud's resource, such as a database's `masterPassword`: the account makes the resource
    that it opens."""
    keys = [key for key in path if isinstance(key, str)]
    within = len(keys) == 1 or bool(keys and _LOGINS.search(keys[0]))
    return within and bool(_OWN_LOGIN.search(keys[-1]))


def names_issuer(name: str) -> bool:
    """True for the name of a signer or receiver of tokens, with a public address."""
    return bool(re.search(r"(?:^|[_.-])(?:issuer|audience)$", name, re.IGNORECASE))
