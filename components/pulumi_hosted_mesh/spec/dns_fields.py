"""Types of values in the DNS bridge's document, each with its rule and its fix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.fields import DNS_LABEL, Text, is_address

EDGE: Final = "{edge}"
IMAGE: Final = re.compile(r"[a-z0-9][a-z0-9._:/-]*[a-z0-9](:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]{64})?")
ARGUMENT: Final = re.compile(r"--[a-z0-9][a-z0-9-]*(=\S.*)?")
SECRET_ARGUMENT: Final = re.compile(r"secret|token|password|api-?key|credential", re.IGNORECASE)
CREDENTIAL_FIELDS: Final = ("credentials", "secret", "password", "token", "tsigSecret", "apiKey", "apiToken")
SET_BY_BRIDGE: Final = frozenset(
    {
        *("source", "kubeconfig", "server", "provider", "policy", "registry", "interval", "events", "label-filter"),
        *("domain-filter", "exclude-domains", "regex-domain-filter", "regex-domain-exclusion", "namespace"),
        *("txt-owner-id", "txt-prefix", "txt-suffix", "txt-wildcard-replacement", "managed-record-types", "min-ttl"),
        *("webhook-provider-url", "metrics-address", "log-format", "annotation-filter", "force-default-targets"),
        *("default-targets", "migrate-from-txt-owner", "crd-source-kind", "crd-source-apiversion", "dry-run"),
    }
)


def zone_name(value: str) -> str:
    """A domain of two labels or more. `{edge}` may replace a label."""
    if "*" in value:
        raise RuleBrokenError("is a wildcard, but a zone is everything below a domain", "Leave out `*.`")
    if is_address(value):
        raise RuleBrokenError("is an address, but a zone is a domain", "Write it like shop.example.com")
    labels = value.split(".")
    if (
        len(value) > 253
        or len(labels) < 2
        or not all(label == EDGE or (DNS_LABEL.fullmatch(label) and len(label) <= 63) for label in labels)
    ):
        raise RuleBrokenError(
            "must be a DNS domain of two labels or more, in lower case, without final dot; {edge} may be one label",
            "Write it like shop.example.com or {edge}.example.com",
        )
    return value


def not_empty(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """The check for an empty list, after the entries' checks: pydantic's own would also count rejected entries."""
    if not value:
        raise RuleBrokenError("is an empty list", "Give one entry or more")
    return value


def server_host(value: str) -> str:
    """Name or address of a name server."""
    labels = value.split(".")
    fits = all(DNS_LABEL.fullmatch(label) and len(label) <= 63 for label in labels) and not labels[-1].isdigit()
    if not is_address(value) and (len(value) > 253 or not fits):
        raise RuleBrokenError(
            "must be a host name in lower case or an IP address, without port", "Write it like ns1.example.com"
        )
    return canonical.host(value)


def name_server(value: str) -> str:
    if not is_address(value):
        raise RuleBrokenError("must be an IP address, as in a resolver's configuration", "Write it like 10.0.0.53")
    return canonical.host(value)


def etcd_url(value: str) -> str:
    return _url(value, ("http", "https"), "Write it like https://etcd.example.com:2379")


def http_url(value: str) -> str:
    return _url(value, ("http", "https"), "Write it like http://webhook.dns.svc:8888")


def image_reference(value: str) -> str:
    if not IMAGE.fullmatch(value):
        raise RuleBrokenError("must be the reference of an image", "Write it like registry/folder/name:tag")
    return value


def argument(value: str) -> str:
    if not ARGUMENT.fullmatch(value):
        raise RuleBrokenError("must be one argument of external-dns", "Write it like --name=value")
    name = value[2:].partition("=")[0]
    if name.removeprefix("no-") in SET_BY_BRIDGE:
        raise RuleBrokenError(
            f"--{name} is set by the bridge: the boundary between edges depends on it", "Leave it out"
        )
    if SECRET_ARGUMENT.search(name):
        variable = f"EXTERNAL_DNS_{name.upper().replace('-', '_')}"
        raise RuleBrokenError(
            f"--{name} looks like a secret, and arguments are stored and shown in plain text",
            f"Set it as {variable} in the provider's credentials",
        )
    return value


def refuse_plain_credentials(given: Any) -> Any:
    """The provider's document, unchanged. Raises: RuleBrokenError if it holds a credential; without its value."""
    if isinstance(given, Mapping):
        parts = [given, *(part for part in given.values() if isinstance(part, Mapping))]
        for name in CREDENTIAL_FIELDS:
            if any(name in part for part in parts):
                raise RuleBrokenError(
                    f"has {name} in plain text, and documents are stored and shown as they are",
                    "Remove it now, change it at the provider, and set the new one in the component's `credentials` "
                    "as a secret (`pulumi config set --secret`)",
                )
    return given


def _url(value: str, schemes: tuple[str, ...], fix: str) -> str:
    try:
        url = urlsplit(value)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    if "@" in url.netloc:
        raise RuleBrokenError("holds a user or a password in plain text", "Set them as credentials")
    if url.scheme not in schemes or not host or port == 0 or url.query or url.fragment or "," in value:
        raise RuleBrokenError(f"must be {' or '.join(f'{one}://' for one in schemes)}, a host and a port", fix)
    return value.rstrip("/")


NOT_EMPTY: Final = AfterValidator(not_empty)
ZoneName = Annotated[Text, AfterValidator(zone_name)]
NameServer = Annotated[Text, AfterValidator(name_server)]
ServerHost = Annotated[Text, AfterValidator(server_host)]
EtcdUrl = Annotated[Text, AfterValidator(etcd_url), Field(json_schema_extra={"pattern": "^https?://"})]
HttpUrl = Annotated[Text, AfterValidator(http_url), Field(json_schema_extra={"pattern": "^https?://"})]
ImageReference = Annotated[Text, AfterValidator(image_reference)]
Argument = Annotated[Text, AfterValidator(argument)]
