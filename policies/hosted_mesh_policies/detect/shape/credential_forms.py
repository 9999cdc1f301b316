"""How credentials look: one row per form, with words that must be there before its expression is worth trying.

Looking for the words first (on a lower-case copy) is what makes "no" cheap; expressions alone cost ten times more.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from ..leaf.placeholders import is_blanked, is_example
from ..leaf.public_structure import is_public


class Kind(Enum):
    """What a credential is. The value is how messages call it."""

    PRIVATE_KEY = "a private key"
    KEYSTORE = "a keystore with a private key"
    KUBECONFIG = "a kubeconfig with a credential"
    CLIENT_KEY = "a client key of a kubeconfig"
    SERVICE_ACCOUNT_TOKEN = "a service-account token"  # noqa: S105 a name, not a password
    BEARER_TOKEN = "a bearer token"  # noqa: S105
    CLOUD = "a cloud or DNS credential"
    KEY_ID = "the id of a cloud's access key"
    ACCESS_TOKEN = "an access token of a known service"  # noqa: S105
    PASSWORD_IN_URL = "a password in a URL"  # noqa: S105
    PASSWORD_HASH = "a password file entry"  # noqa: S105
    REGISTRY_LOGIN = "a registry login"
    ARGUMENT = "a credential given as an argument"
    STORE_TOKEN = "a token of a store of secrets"  # noqa: S105
    SECRET_KEY = "a secret key of a known tool"  # noqa: S105
    NAMED = "a credential, by the name beside it"


class Signature(NamedTuple):
    """One form. `words` are lower-case bytes of which one must be in the lower-case data. A group, if the expression
    has one, is the secret itself, which must not be a placeholder."""

    kind: Kind
    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


_TEMPLATES = rb"(?:\{\{(?:[^{}\"]|\"[^{}\"]{0,100}\"){0,200}\}\}|\$\{[^}\"]{0,100}\}|\$\([^)\"]{0,100}\)){1,4}\""
"""Nothing but what is filled in elsewhere, to the end of a text in quotes."""
_VALUE = rb"[\"']?\s*[:=]\s*[\"']?"

PEM: Final = re.compile(
    rb"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE ?KEY(?: ?BLOCK)?-----(?:(?!-----END)[\s\S]){0,300}?[A-Za-z0-9+/]{24}"
)
JWT: Final = re.compile(rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.(eyJ[A-Za-z0-9_-]{8,16384})\.[A-Za-z0-9_-]{16,}")
CLIENT_KEY: Final = re.compile(rb"client-key-data" + _VALUE + rb"[A-Za-z0-9+/]{24,}")

_OF_SERVICES: Final = (
    b"tskey-", b"glsa_", b"glc_", b"gl", b"sg.", b"dp.", b".atlasv1.", b"::server:", b"dt0c01.", b"nrak-", b"hf_",
    b"sk-", b"sk_live_", b"rk_live_", b"dapi", b"pypi-", b"hooks.slack.com/services/", b"webhooks/", b"atatt3",
    b"dckr_pat_", b"lin_api_", b"shp", b"token-",
)  # fmt: skip
_FORMS: Final = (
    (Kind.KEY_ID, (b"akia", b"asia"), rb"(?<![A-Z0-9])((?:AKIA|ASIA)[A-Z0-9]{16})(?![A-Z0-9])"),
    (Kind.CLOUD, (b"aiza",), rb"AIza[0-9A-Za-z_-]{35}"),
    (
        Kind.CLOUD,
        (b"access_key", b"accesskey"),
        rb"(?i:secret_?access_?key)" + _VALUE + rb"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (Kind.CLOUD, (b"accountkey=",), rb"AccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
    (Kind.CLOUD, (b"aadclientsecret",), rb"aadClientSecret" + _VALUE + rb"([^\s\"']{16,})"),
    (Kind.CLOUD, (b"k8s-aws-v1.",), rb"k8s-aws-v1\.[A-Za-z0-9_-]{40,}"),
    (
        Kind.CLOUD,  # by which a cloud's account opens its registry
        (b'"aws"', b"aws:", b"oauth2accesstoken"),
        rb"\"username\"\s*:\s*\"(?:AWS|oauth2accesstoken)\"\s*,\s*\"password\"\s*:\s*\"([^\"]{40,})"
        rb"|(?:^|\0)(?:AWS|oauth2accesstoken):([A-Za-z0-9+/=._-]{40,})",
    ),
    (Kind.CLOUD, (b"q~",), rb"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    (
        Kind.CLOUD,
        (b"tsig", b"hmac-"),
        rb"(?i:tsig|algorithm\s+hmac-)[^\n]{0,80}(?i:secret)[\"']?\s*[=:\s]\s*[\"']?[A-Za-z0-9+/]{16,}={0,2}",
    ),
    (Kind.CLOUD, (b"dop_v1_",), rb"dop_v1_[0-9a-f]{40,}"),
    (
        Kind.CLOUD,
        (b"cf_api", b"cf-api", b"cloudflare"),
        rb"(?i:(?:cf|cloudflare)[-_]api[-_](?:token|key))" + _VALUE + rb"[A-Za-z0-9_-]{30,}",
    ),
    (
        Kind.ACCESS_TOKEN,
        (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_"),
        rb"gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,}",
    ),
    (Kind.ACCESS_TOKEN, (b"xox",), rb"xox[abprs]-[A-Za-z0-9-]{20,}"),
    (
        Kind.STORE_TOKEN,
        (b"hvs.", b"hvb.", b"ops_ey", b"dp.s"),
        rb"(?<![A-Za-z0-9_-])(?:hv[sb]\.[A-Za-z0-9_-]{24,}|ops_eyJ[A-Za-z0-9+/]{100,}"
        rb"|dp\.(?:st|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,})",
    ),
    (Kind.ACCESS_TOKEN, (b"pul-",), rb"pul-[0-9a-f]{40}"),
    (Kind.ACCESS_TOKEN, (b"glpat-",), rb"glpat-[A-Za-z0-9_-]{20}"),
    (Kind.ACCESS_TOKEN, (b"npm_",), rb"npm_[A-Za-z0-9]{36}"),
    (
        Kind.ACCESS_TOKEN,  # forms as the services publish them, and as gitleaks' rules have them
        _OF_SERVICES,
        rb"(?<![A-Za-z0-9_-])(?:tskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"
        rb"|glc_[A-Za-z0-9+/]{32,}|gl(?:rt|dt|ptt|ft|cbt|agent|soat|imt|oas)-[A-Za-z0-9_=-]{20,}"
        rb"|SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}|dp\.(?:pt|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"
        rb"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}|K10[0-9a-f]{64}::server:[0-9A-Za-z]{16,}"
        rb"|dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}|NRAK-[A-Z0-9]{27}|hf_[A-Za-z]{34}(?![A-Za-z])|hf_[A-Za-z0-9]{34}"
        rb"|sk-(?:ant|proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"
        rb"|[sr]k_live_[A-Za-z0-9]{16,}|dapi[0-9a-f]{32}(?:-\d)?|pypi-AgE[A-Za-z0-9_-]{50,}"
        rb"|ATATT3[A-Za-z0-9_=-]{100,}|dckr_pat_[A-Za-z0-9_-]{27}|lin_api_[A-Za-z0-9]{40}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
        rb"|token-[a-z0-9]{5}:[a-z0-9]{54})"
        rb"|hooks\.slack\.com/services/T[A-Za-z0-9_]{2,}/B[A-Za-z0-9_]{2,}/[A-Za-z0-9]{20,}"
        rb"|discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}",
    ),
    (
        Kind.SECRET_KEY,
        (b"age-secret-key-1", b"openvpn static key", b"nkey seed"),
        rb"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}|-----BEGIN OpenVPN Static key V1-----\s+[0-9a-f]{32}"
        rb"|-----BEGIN [A-Z]{1,12} NKEY SEED-----\s+S[A-Z2-7]{57}",
    ),
    (Kind.PASSWORD_IN_URL, (b"://",), rb"://(?<=[a-z0-9]://)[^/@:\s\"']{0,64}:([^/@\s\"'${}<>*]{4,128})@[A-Za-z0-9\[]"),
    (
        Kind.PASSWORD_HASH,
        (b":$apr1$", b":$2", b":$5$", b":$6$", b":{sha}", b":{ssha}"),
        rb"(?:^|[\n\0])[A-Za-z0-9_.@-]{1,64}:"
        rb"(?:\$(?:apr1|2[aby]|5|6)\$[./A-Za-z0-9$=]{20,}|\{S?SHA\}[A-Za-z0-9+/=]{20,})",
    ),
    (
        Kind.REGISTRY_LOGIN,
        (b'"auths"',),
        rb"(?s)\"auths\"\s*:\s*\{.{0,400}?\"(?:auth|password|identitytoken)\"\s*:\s*\"(?!"
        + _TEMPLATES
        + rb")[^\"]{6,}\"",
    ),
    (
        Kind.ARGUMENT,
        (b"token", b"secret", b"passw", b"key"),
        rb"(?<![a-z0-9-])(?<!config set )--?[a-z0-9-]{0,40}"
        rb"(?:token|secret|password|passwd|api-?key|access-?key|private-?key)"
        rb"(?:=|\s+|\"?,\s*\")([^\s\"',$({/<-][^\s\"',]{7,512})",
    ),
    (
        Kind.BEARER_TOKEN,
        (b"bearer", b"authorization"),
        rb"(?i:authorization)[\"']?\s*[:=]?\s*[\"']?(?i:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,}=*)"
        rb"|(?<![A-Za-z])(?i:bearer)\s+([A-Za-z0-9._~+/-]{24,}=*)",
    ),
)
SIGNATURES: Final = tuple(Signature(kind, words, re.compile(form)) for kind, words, form in _FORMS)

_PLACEHOLDER = re.compile(
    rb"^[\[<{$*/]|^(?:x{4,}|redacted|changeme|example|your[-_ ]|placeholder|null|none|true|false"
    rb"|(?:pass(?:word|wd)?|pwd|secret|token)$)",
    re.IGNORECASE,
)


LONGEST_BLANKED: Final = 128


def is_placeholder(found: re.Match[bytes]) -> bool:
    """True when what stands in the secret's place is a reference, a word such as "changeme", an example. A bearer's
    token is no words either."""
    value = next((group for group in found.groups() if group), b"")
    if is_example(value) or (len(whole := value or found[0]) <= LONGEST_BLANKED and is_blanked(whole)):
        return True
    if not value or _PLACEHOLDER.match(value):
        return bool(value)
    return found[0].partition(value)[0].rstrip().lower().endswith(b"bearer") and is_public(value)
