"""Names that say what a value is: one table of them, for every detector."""

from __future__ import annotations

import re
from typing import Final

CREDENTIALS: Final = (
    "ARM_CLIENT_SECRET",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CF_API_KEY",
    "CF_API_TOKEN",
    "CLOUDFLARE_API_KEY",
    "CLOUDFLARE_API_TOKEN",
    "DIGITALOCEAN_TOKEN",
    "DO_TOKEN",
    "ETCD_PASSWORD",
    "EXTERNAL_DNS_PDNS_API_KEY",
    "EXTERNAL_DNS_RFC2136_TSIG_SECRET",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "GODADDY_API_SECRET",
    "GOOGLE_CREDENTIALS",
    "HCLOUD_TOKEN",
    "HETZNER_TOKEN",
    "LINODE_TOKEN",
    "NS1_APIKEY",
    "OVH_APPLICATION_SECRET",
    "OVH_CONSUMER_KEY",
    "PDNS_API_KEY",
    "PULUMI_ACCESS_TOKEN",
    "PULUMI_CONFIG_PASSPHRASE",
    "RFC2136_TSIG_SECRET",
    "VAULT_TOKEN",
)
"""Environment variables of clouds, DNS services and stores. In the deployer's environment they are the control plane's;
in an object for a data plane their value is a credential."""

_SECRET = re.compile(
    r"passw|passphrase|passwd|(?:^|[_.-])pw(?:$|[_.-])|pwd|secret|token|credential|private|api[_.-]?key|access[_.-]?key"
    r"|auth(?!or|enticat|_?uri|s$)|dsn|cookie|seed|salt|hmac|tsig|signing[_.-]?key|encryption[_.-]?key|client[_.-]?key"
    r"|session[_.-]?key|connection[_.-]?string|(?:^|[_.-])key(?:$|[_.-])|keystore|kubeconfig|bearer|webhook[_.-]?url",
    re.IGNORECASE,
)
_DESCRIPTION = re.compile(
    r"public|(?:^|[_.-])(?:id|name|type|kind|file|path|host|hostname|user|username|uri|ref|server|email|region|alg"
    r"|namespace|expiry|ttl|url|size|version)$|[a-z](?:Id|Name|Type|File|Path|Ref|Uri|Url)$|^(?:user|name|host)"
    r"|hash|digest|checksum|fingerprint|certificate|\.crt$|\.pub$|(?:^|[_.-])ca(?:$|[_.-])",
    re.IGNORECASE,
)


def is_secrets_name(name: str) -> bool:
    """True for a key such as `password`, `apiToken`, `tls.key`: its value is secret whatever it looks like."""
    return bool(_SECRET.search(name)) and not _DESCRIPTION.search(name)


_CREDENTIAL = re.compile(
    r"passw|passphrase|passwd|pwd|secret|token|credentials?$|hmac|authorization$|(?:^|[_.-])psk$"
    r"|(?:^|[_.-]|db|pg|root)pass$|literal\.value"
    r"|(?:private|api|access|routing|fernet|encryption|signing|session|master|account|shared|app)[_.-]?key"
    r"|inline_?(?:string|bytes)$",
    re.IGNORECASE,
)


def is_credentials_name(name: str) -> bool:
    """True for a name that is given to a credential alone: not `key`, `auth` or `seed`, of which many are public."""
    return bool(_CREDENTIAL.search(name)) and not _DESCRIPTION.search(name)


_IDENTIFIER = re.compile(
    r"(?:^|[_.-])(?:id|zone|org|organi[sz]ation|endpoint|host|hostname|revision|commit|bucket|username|user|email|region"
    r"|project|tenant|account|cluster|domain|issuer|audience|instance|suffix|prefix)$|[a-z](?:Id|ID|Zone|Host|Endpoint|Bucket)$",
    re.IGNORECASE,
)
_OF_SECRET = re.compile(r"passw|pwd|secret|token|(?<!access.)key", re.IGNORECASE)


def is_identifiers_name(name: str) -> bool:
    """True for a name that says what or where something is: `client-id`, `zone`, `endpoint`. Its value is public,
    however random it looks."""
    return bool(_IDENTIFIER.search(name)) and not _OF_SECRET.search(name)
