"""The forms of credentials: one row per form, with words that precede its expression.

A search for the words (on a lower-case copy) makes a miss cheap; expressions alone cost ten times more.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from ..leaf.placeholders import is_blanked, is_example
from ..leaf.public_structure import is_public
from ..leaf.randomness import is_random, is_scrambled


class Kind(Enum):
    """Kinds of credentials. The value is the name in messages."""

    PRIVATE_KEY = "a private key"
    KEYSTORE = "a keystore with a private key"
    KUBECONFIG = "a kubeconfig with a credential"
    CLIENT_KEY = "a client key of a kubeconfig"
    SERVICE_ACCOUNT_TOKEN = "a service-account token"  # noqa: S105 a name, not a password
    BEARER_TOKEN = "a bearer token"  # noqa: S105
    CLOUD = "a cloud or DNS credential"
    KEY_ID = "the id of a cloud's access key"
    ACCESS_TOKEN = "an access token of a service"  # noqa: S105
    PASSWORD_IN_URL = "a password in a URL"  # noqa: S105
    PASSWORD_HASH = "a password file entry"  # noqa: S105
    REGISTRY_LOGIN = "a registry login"
    ARGUMENT = "a credential given as an argument"
    STORE_TOKEN = "a token of a store of secrets"  # noqa: S105
    SECRET_KEY = "a secret key of a tool"  # noqa: S105
    NAMED = "a credential, by the name beside it"


class Signature(NamedTuple):
    """One form. The lower-case data must contain one of the lower-case `words`. The expression's group, if any, is the
    secret itself, which must be no placeholder; a group `login` is in base64."""

    kind: Kind
    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


_TEMPLATES = rb"(?:\{\{(?:[^{}\"]|\"[^{}\"]{0,100}\"){0,200}\}\}|\$\{[^}\"]{0,100}\}|\$\([^)\"]{0,100}\)){1,4}\""
"""Only templates, to the end of a quoted text."""
_VALUE = rb"[\"']?\s*[:=]\s*[\"']?"

PEM: Final = re.compile(
    rb"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE ?KEY(?: ?BLOCK)?-----(?:(?!-----END)[\s\S]){0,300}?[A-Za-z0-9+/]{24}"
)
JWT: Final = re.compile(rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.(eyJ[A-Za-z0-9_-]{8,16384})\.[A-Za-z0-9_-]{16,}")
CLIENT_KEY: Final = re.compile(rb"client-key-data" + _VALUE + rb"[A-Za-z0-9+/]{24,}")

_OF_SERVICES: Final = {
    b"_gitlab_session=": rb"[0-9a-z]{32}", b"access_token$production$": rb"[0-9a-z]{16}\$[0-9a-f]{32}",
    b"AKCp": rb"[A-Za-z0-9]{69}", b"api_org_": rb"[A-Za-z]{34}", b"ATATT3": rb"[A-Za-z0-9_=-]{100,}",
    b"ATBB": rb"[A-Za-z0-9_=]{32}", b"ATCTT3": rb"[A-Za-z0-9_=-]{100,}", b"bkua_": rb"[0-9a-f]{40}",
    b"CCIP": rb"(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}", b"cmVmdGtu": rb"[A-Za-z0-9]{56}",
    b"dapi": rb"[0-9a-f]{32}(?:-\d)?", b"dckr_": rb"[op]at_[A-Za-z0-9_-]{27,}",
    b"dp.": rb"(?:pt|ct|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}",
    b"dt0": rb"[cs]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}", b"eyJhIjoi": rb"[A-Za-z0-9+/_-]{140,}={0,2}",
    b"eyJrIjoi": rb"[A-Za-z0-9]{70,400}={0,3}", b"figd_": rb"[A-Za-z0-9_-]{40}",
    b"fm": rb"(?:1[ar]|2)_[A-Za-z0-9+/]{100,}", b"fo1_": rb"[A-Za-z0-9_-]{43}",
    b"gl": rb"(?:rt|dt|ptt|ft|ffct|cbt|agent|soat|imt|oas|wt)-[A-Za-z0-9_=-]{20,}|c_[A-Za-z0-9+/]{32,}"
    rb"|sa_[A-Za-z0-9]{32}_[0-9a-f]{8}", b"GOCSPX-": rb"[A-Za-z0-9_-]{28}", b"GR1348941": rb"[A-Za-z0-9_-]{20}",
    b"gsk_": rb"[A-Za-z0-9]{52}", b"hcaik_": rb"[a-z0-9]{58}", b"hcxik_": rb"[a-z0-9]{58}",
    b"hf_": rb"[A-Za-z]{34}(?![A-Za-z])|[A-Za-z0-9]{34}", b"HRKU-AA": rb"[A-Za-z0-9_-]{58}",
    b"K10": rb"[0-9a-f]{64}::server:[0-9A-Za-z]{16,}", b"kubeconfig-": rb"[a-z0-9-]{4,40}:[a-z0-9]{54}",
    b"lin_": rb"api_[A-Za-z0-9]{40}|oauth_[0-9a-f]{64}", b"lsv2_": rb"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
    b"napi_": rb"[a-z0-9]{60,}", b"nfp_": rb"[A-Za-z0-9]{36}", b"NRAK-": rb"[A-Z0-9]{27}",
    b"NRII-": rb"[A-Za-z0-9_-]{32}", b"ntn_": rb"\d{11}[A-Za-z0-9]{35}", b"nvapi-": rb"[A-Za-z0-9_-]{64}",
    b"oy2": rb"[a-z0-9]{43}(?![a-z0-9])", b"pat.": rb"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",
    b"pcsk_": rb"[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,}", b"phx_": rb"[A-Za-z0-9_-]{40,}",
    b"PMAK-": rb"[0-9a-f]{24}-[0-9a-f]{34}", b"pplx-": rb"[A-Za-z0-9]{48}",
    b"pscale_": rb"(?:pw|tkn|oauth)_[A-Za-z0-9_=.-]{32,64}", b"pypi-AgE": rb"[A-Za-z0-9_-]{50,}",
    b"r8_": rb"[A-Za-z0-9]{37}", b"rk_live_": rb"[A-Za-z0-9]{16,}", b"rubygems_": rb"[0-9a-f]{48}",
    b"sb_secret_": rb"[A-Za-z0-9_-]{31}", b"sbp_": rb"[0-9a-f]{40}", b"secret_": rb"[A-Za-z0-9]{43}(?![A-Za-z0-9])",
    b"SG.": rb"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", b"sgp_": rb"(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}",
    b"shp": rb"(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    b"sk-": rb"(?:ant|proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|or-v1-[0-9a-f]{64}",
    b"sk.eyJ": rb"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}", b"sk_live_": rb"[A-Za-z0-9]{16,}",
    b"sl.": rb"(?:u\.)?[A-Za-z0-9_-]{130,}", b"sntry": rb"u_[0-9a-f]{64}|s_eyJ[A-Za-z0-9+/=_]{60,}",
    b"sq0": rb"atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43}", b"sqa_": rb"[0-9a-f]{40}", b"sqp_": rb"[0-9a-f]{40}",
    b"squ_": rb"[0-9a-f]{40}", b"token-": rb"[a-z0-9]{5}:[a-z0-9]{54}",
    b"tskey-": rb"[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}",
    b"vercel_blob_rw_": rb"[A-Za-z0-9]{16}_[A-Za-z0-9]{30}", b"whsec_": rb"[A-Za-z0-9+/]{32,}",
    b"xai-": rb"[A-Za-z0-9]{80}", b"xapp-": rb"\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}",
    b"xkeysib-": rb"[0-9a-f]{64}-[A-Za-z0-9]{16}", b"xsmtpsib-": rb"[0-9a-f]{64}-[A-Za-z0-9]{16}",
}  # fmt: skip
"""First and following letters of services' tokens, by their publications and gitleaks' rules. No beginning occurs
twice."""
_OF_CLOUDS: Final = {
    b"1//0": rb"[A-Za-z0-9_-]{60,}", b"ABSK": rb"[A-Za-z0-9+/]{109,}", b"AQVN": rb"[A-Za-z0-9_-]{35,}",
    b"bedrock-api-key-": rb"YmVkcm9jay5hbWF6b25hd3MuY29t", b"FwoGZXIvYXdzE": rb"[A-Za-z0-9+/]{100,}",
    b"IQoJb3JpZ2luX2Vj": rb"[A-Za-z0-9+/]{100,}", b"sha256~": rb"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
    b"t1.": rb"[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}", b"v1.0-": rb"[0-9a-f]{24}-[0-9a-f]{146}",
    b"ya29.": rb"[A-Za-z0-9_-]{60,}",
}  # fmt: skip


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
        Kind.CLOUD,  # a cloud account opens its registry
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
    (Kind.CLOUD, (b"_v1_",), rb"do[opr]_v1_[0-9a-f]{40,}"),
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
    (Kind.ACCESS_TOKEN, (b"xox",), rb"xox[abcdeoprs][.-][A-Za-z0-9.%-]{20,}"),
    (
        Kind.STORE_TOKEN,
        (b"hvs.", b"hvb.", b"hvr.", b"ops_ey", b"dp.s"),
        rb"(?<![A-Za-z0-9_-])(?:hv[sbr]\.[A-Za-z0-9_-]{24,}|ops_eyJ[A-Za-z0-9+/]{100,}"
        rb"|dp\.(?:st|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,})",
    ),
    (Kind.ACCESS_TOKEN, (b"pul-",), rb"pul-[0-9a-f]{40}"),
    (Kind.ACCESS_TOKEN, (b"glpat-",), rb"glpat-[A-Za-z0-9_-]{20}"),
    (Kind.ACCESS_TOKEN, (b"npm_",), rb"npm_[A-Za-z0-9]{36}"),
    (Kind.ACCESS_TOKEN, (b".atlasv1.",), rb"(?<![A-Za-z0-9_-])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    (Kind.ACCESS_TOKEN, (b"nral",), rb"(?<![0-9A-Za-z])[0-9a-f]{36}(?:FFFF)?NRAL(?![0-9A-Za-z])"),
    (Kind.ACCESS_TOKEN, (b"-us",), rb"(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?![\w-])"),
    (Kind.ACCESS_TOKEN, (b":aa",), rb"(?<![\w.-])(?:bot)?\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    (
        Kind.ACCESS_TOKEN,  # addresses that admit their holder
        (b"hooks.slack", b"webhooks/", b"webhookb2/", b"azurewebsites.net/", b"sig=", b"-signature="),
        rb"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/T[A-Za-z0-9_]{2,}(?:/[A-Za-z0-9_]{2,}){1,2}"
        rb"/[A-Za-z0-9]{20,}"
        rb"|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}"
        rb"|webhook\.office\.com/webhookb2/[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/[0-9a-f]{32}"
        rb"|azurewebsites\.net/[^\s\"']{0,256}[?&]code=[A-Za-z0-9_/+=%-]{40,}"
        rb"|(?<![A-Za-z0-9_])sig=(?:[A-Za-z0-9+/_-]|%2[BbFf]){42,43}(?:=|%3[Dd])?(?![A-Za-z0-9+/_-])"
        rb"|X-(?:Amz|Goog)-Signature=[0-9a-f]{64,}",
    ),
    (
        Kind.SECRET_KEY,
        (b"age-secret-key-1", b"openvpn static key", b"nkey seed", b"putty-user-key-file-"),
        rb"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}|-----BEGIN OpenVPN Static key V1-----\s+[0-9a-f]{32}"
        rb"|-----BEGIN [A-Z]{1,12} NKEY SEED-----\s+S[A-Z2-7]{57}"
        rb"|PuTTY-User-Key-File-\d: (?:(?!Private-Lines)[\s\S]){0,4096}"
        rb"Private-Lines: \d+(?:\s|\\[rn])+[A-Za-z0-9+/]{24}",
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
        Kind.REGISTRY_LOGIN,  # .npmrc
        (b"_auth",),
        rb":_authToken\s*=\s*[\"']?([A-Za-z0-9+/=._-]{16,})|(?<![\w-])_auth\s*=\s*[\"']?(?P<login>[A-Za-z0-9+/]{8,}={0,2})",
    ),
    (
        Kind.NAMED,  # .netrc
        (b"machine", b"default"),
        rb"(?<![\w-])(?:machine\s+\S{1,253}|default)\s+login\s+\S{1,128}\s+password\s+([^\s\"']{4,512})",
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
        (b"bearer", b"basic", b"authorization"),
        rb"(?i:authorization)[\"']?\s*[:=]?\s*[\"']?(?i:bearer|basic)\s+([A-Za-z0-9._~+/-]{16,}=*)"
        rb"|(?<![A-Za-z])(?i:bearer)\s+([A-Za-z0-9._~+/-]{24,}=*)|(?<![A-Za-z])Basic\s+(?P<login>[A-Za-z0-9+/]{8,}={0,2})",
    ),
)
SIGNATURES: Final = tuple(Signature(kind, words, re.compile(form)) for kind, words, form in _FORMS)
TOKENS: Final = {
    start.lower(): (kind, re.compile(re.escape(start) + b"(?:" + rest + b")"))
    for kind, forms in ((Kind.ACCESS_TOKEN, _OF_SERVICES), (Kind.CLOUD, _OF_CLOUDS))
    for start, rest in forms.items()
}
_BY_LETTER: Final = itertools.groupby(sorted(TOKENS), key=lambda start: start[:1])
_STARTS: Final = re.compile(
    rb"(?<![a-z0-9_-])(?:"
    + b"|".join(first + b"(?:" + b"|".join(re.escape(one[1:]) for one in starts) + b")" for first, starts in _BY_LETTER)
    + b")"
)
"""Their common beginning, letter by letter, three times faster than one by one."""


def matches(data: bytes, lower: bytes) -> Iterator[tuple[Kind, re.Match[bytes]]]:
    """All matches of a form, including placeholders. lower: the data in small letters."""
    for one in SIGNATURES:
        if any(word in lower for word in one.words):
            yield from ((one.kind, found) for found in one.pattern.finditer(data))
    for start in _STARTS.finditer(lower):
        kind, form = TOKENS[start[0]]
        if found := form.match(data, start.start()):
            yield kind, found


_PLACEHOLDER = re.compile(
    rb"^[\[<{$*/]|^(?:x{4,}|redacted|changeme|example|your[-_ ]|placeholder|null|none|true|false"
    rb"|(?:pass(?:word|wd)?|pwd|secret|token)$)",
    re.IGNORECASE,
)


LONGEST_BLANKED: Final = 128


_NAMES_OBJECT: Final = re.compile(rb"(?<!client-)(?<!app-)secret(?:=|\s+|\"?,\s*\")$")
_OBJECTS_NAME: Final = re.compile(rb"(?:[a-z0-9-]{1,63}/)?[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9-]{1,63}){0,4}")


def _is_objects_name(option: bytes, value: bytes) -> bool:
    """True for a Secret's name, with or without namespace, after an option such as `--webhook-secret`."""
    named = bool(_NAMES_OBJECT.search(option)) and bool(_OBJECTS_NAME.fullmatch(value))
    return named and not is_random(re.sub(r"-[a-z0-9]{5,10}$", "", value.decode())) and not is_scrambled(value.decode())


def is_placeholder(found: re.Match[bytes]) -> bool:
    """True if the secret's place has a reference, a word such as "changeme", an example or an object's name. A bearer
    token is no words either."""
    value = next((group for group in found.groups() if group), b"")
    if is_example(value) or (len(whole := value or found[0]) <= LONGEST_BLANKED and is_blanked(whole)):
        return True
    if not value or _PLACEHOLDER.match(value):
        return bool(value)
    if found.groupdict().get("login"):
        return not _is_login(value)
    if _is_objects_name(found[0].partition(value)[0], value):
        return True
    return found[0].partition(value)[0].rstrip().lower().endswith(b"bearer") and is_public(value)


def _is_login(value: bytes) -> bool:
    """True for a name and a password in base64, not for words with base64's letters."""
    try:
        return b":" in base64.b64decode(value, validate=True).decode("ascii").encode()
    except ValueError:
        return False
