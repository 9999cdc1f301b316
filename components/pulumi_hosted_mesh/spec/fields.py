"""The kinds of value that the document is made of, each with its rule and the fix that an error suggests."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from pulumi_hosted_mesh.problems import RuleBrokenError

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
CHART_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")
OLDEST_CHART = (1, 31, 0)
FIRST_REMOTE_PROFILE = (1, 24, 0)
LONGEST_MESH_NAME = 63 - len("mesh-")


class Model(BaseModel):
    """A part of the document: camelCase in YAML, nothing unknown, immutable once read.

    A field is described by the docstring below it; `schema` reads those.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


def dns_label(value: str) -> str:
    if not DNS_LABEL.fullmatch(value) or len(value) > 63:
        raise RuleBrokenError(
            "must be a Kubernetes name: 1 to 63 lower-case letters, digits and '-', a letter or digit at both ends",
            "Choose another name",
        )
    return value


def mesh_name(value: str) -> str:
    dns_label(value)
    if len(value) > LONGEST_MESH_NAME:
        raise RuleBrokenError(
            f"must have at most {LONGEST_MESH_NAME} characters, for the mesh's namespace is called mesh-<name>",
            "Choose a shorter name",
        )
    if not value[0].isalpha():
        raise RuleBrokenError("must begin with a letter, for Services are named after it", "Choose another name")
    return value


def is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value.strip("[]"))
    except ValueError:
        return False
    return True


def host_name(value: str) -> str:
    """A DNS name with at least two labels; an address or a cluster's inner name would not do on the other side."""
    if is_address(value):
        raise RuleBrokenError(
            "is an IP address, but both sides find each other by name",
            "Give a DNS name that resolves to the load balancer from the data plane",
        )
    parts = value.split(".")
    if len(value) > 253 or len(parts) < 2 or not all(DNS_LABEL.fullmatch(part) and len(part) <= 63 for part in parts):
        raise RuleBrokenError(
            "must be a DNS name with a domain, in lower case, without scheme, port or final dot",
            "Write it like istiod.demo.example.com",
        )
    if parts[-1] == "svc" or value.endswith(".cluster.local"):
        raise RuleBrokenError("is a name that only one cluster knows", "Give a DNS name that both clusters resolve")
    return value


def domain(value: str) -> str:
    if not all(DNS_LABEL.fullmatch(part) for part in value.split(".")) or len(value) > 253:
        raise RuleBrokenError("must be a DNS domain in lower case", "Write it like cluster.local")
    return value


def cidr(value: str) -> str:
    try:
        network = ipaddress.ip_network(value)
    except ValueError:
        raise RuleBrokenError(
            "must be a range of addresses in CIDR form with no host bits set", "Write it like 203.0.113.0/24"
        ) from None
    if network.prefixlen == 0:
        raise RuleBrokenError(
            "admits every address", "Leave it out; to let all connect to istiod, set exposure.openToAll: true"
        )
    return value


def api_server(value: str) -> str:
    """`https://host[:port]`: scheme, host and port of an API server, nothing that could carry a credential."""
    try:
        url = urlsplit(value)
        port_fits = url.port is None or 0 < url.port < 65536
    except ValueError:
        url, port_fits = urlsplit(""), False
    if url.scheme != "https" or not url.hostname or not port_fits or "@" in url.netloc or url.path not in ("", "/"):
        raise RuleBrokenError("must be https://HOST or https://HOST:PORT and nothing more", "Leave out the rest")
    if url.query or url.fragment:
        raise RuleBrokenError("must be https://HOST or https://HOST:PORT and nothing more", "Leave out the rest")
    return value.rstrip("/")


def chart_version(value: str) -> str:
    match = CHART_VERSION.fullmatch(value)
    if not match:
        raise RuleBrokenError("must be one exact version", "Write it like 1.31.1")
    version = tuple(int(part) for part in match.groups()[:3])
    oldest = ".".join(map(str, OLDEST_CHART))
    if version < FIRST_REMOTE_PROFILE:
        raise RuleBrokenError("is too old: its istiod chart has no remote profile", f"Use {oldest} or later")
    if version < OLDEST_CHART:
        raise RuleBrokenError(
            "is too old: its istiod cannot do with the few rights on the data plane that this library grants",
            f"Use {oldest} or later",
        )
    return value


def quantity(value: str) -> str:
    if not QUANTITY.fullmatch(value):
        raise RuleBrokenError("must be a Kubernetes quantity", "Write it like 500m, 2, 512Mi or 2Gi")
    return value


def pem_certificate(value: str) -> str:
    if "PRIVATE KEY" in value:
        raise RuleBrokenError("holds a private key", "Remove it from the document now, and give the certificate alone")
    if not value.strip().startswith("-----BEGIN CERTIFICATE-----"):
        raise RuleBrokenError("must be PEM certificates", "Begin it with -----BEGIN CERTIFICATE-----")
    return value


def file_path(value: str) -> str:
    if "\n" in value or not value.strip():
        raise RuleBrokenError("must be the path of a file, not its content", "Save the content as a file, mode 0600")
    return value


Text = Annotated[str, StringConstraints(strict=True)]
MeshName = Annotated[Text, AfterValidator(mesh_name), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})]
DnsLabel = Annotated[Text, AfterValidator(dns_label), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})]
HostName = Annotated[Text, AfterValidator(host_name), Field(json_schema_extra={"format": "hostname"})]
Domain = Annotated[Text, AfterValidator(domain), Field(json_schema_extra={"format": "hostname"})]
Cidr = Annotated[Text, AfterValidator(cidr)]
ApiServer = Annotated[Text, AfterValidator(api_server), Field(json_schema_extra={"pattern": "^https://"})]
ChartVersion = Annotated[Text, AfterValidator(chart_version)]
Quantity = Annotated[Text, AfterValidator(quantity), Field(json_schema_extra={"pattern": f"^{QUANTITY.pattern}$"})]
PemCertificate = Annotated[Text, AfterValidator(pem_certificate)]
FilePath = Annotated[Text, AfterValidator(file_path)]
