"""Types of values in the documents, each with its rule and its fix."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, ClassVar, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.problems import RuleBrokenError

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
RANGE = re.compile(r"[0-9A-Fa-f.:]+/(0|[1-9][0-9]{0,2})")
QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
# pkg/log/options.go in Istio: `scope:level`, or a level alone for the scope `default`.
_LOG_LEVEL = r"([A-Za-z0-9_-]+:)?(debug|info|warn|error|fatal|none)"
LOG_LEVELS = re.compile(f"{_LOG_LEVEL}(,{_LOG_LEVEL})*")
VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
NO_CERTIFICATE = re.compile(r"-----BEGIN (?!CERTIFICATE-----)")
# A deployment's template may have {cluster} and {mesh} in it.
IMAGE_TAG = re.compile(r"[A-Za-z0-9_{][A-Za-z0-9_.{}-]{0,127}")
CHART_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")
OLDEST_CHART = (1, 30, 0)
"""The oldest tested version of Istio: earlier istiods need more rights on the data plane."""
NEWEST_TESTED = (1, 31)
"""Minor version of the newest tested Istio. A later one gives a warning."""
FIRST_REMOTE_PROFILE = (1, 24, 0)
LONGEST_MESH_NAME = 63 - len("mesh-")
LONGEST_REVISION = 53 - len("istiod-")
SET_BY = "x-set-by"
"""The key of a setter in JSON Schemas."""


class Setter(StrEnum):
    """The person who sets a field of a document, where the two sides are run by two people."""

    OPERATOR = "control plane's operator"
    OWNER = "data plane's owner"
    BOTH = "both"
    """Each in a document of their own, to the same value."""


@dataclass(frozen=True)
class SetBy:
    """Marks a field with a setter of its own: `Annotated[Port, SetBy(Setter.OWNER)]`. Others have their document's."""

    setter: Setter

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core), SET_BY: self.setter.value}


class Model(BaseModel):
    """The base of documents and their parts: camelCase in YAML, no unknown fields, immutable.

    The docstring below a field is its description in schemas.
    """

    handed_over: ClassVar[bool] = False
    """Whether this program writes it for another side's program, maybe of another version."""
    setter: ClassVar[Setter | None] = None
    """The setter of its fields without a mark; None: the setter of the field that holds it."""

    made_elsewhere: ClassVar[frozenset[str]] = frozenset()
    """Required fields that the model above fills in where the document must not have them."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler, /) -> JsonSchemaValue:
        schema = super().__get_pydantic_json_schema__(core, handler)
        found = handler.resolve_ref_schema(schema)
        if cls.setter is not None:
            found[SET_BY] = cls.setter.value
        if required := [name for name in found.get("required", ()) if name not in cls.made_elsewhere]:
            found["required"] = required
        else:
            found.pop("required", None)
        return schema

    def arguments(self) -> Any:
        """The fields that are set, as a component's arguments: in snake_case, plain values."""
        return self.model_dump(mode="json", by_alias=False, exclude_unset=True)


def models_in(annotation: object) -> list[type[BaseModel]]:
    """The models in the annotation of a field, also those of a union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in models_in(part)]


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
            f"must have at most {LONGEST_MESH_NAME} characters: the mesh's namespace is mesh-<name>",
            "Choose a shorter name",
        )
    if not value[0].isalpha():
        raise RuleBrokenError("must begin with a letter: names of Services begin with it", "Choose another name")
    return value


def tenant_name(value: str) -> str:
    mesh_name(value)
    if "--" in value:
        rule = "has `--`, which separates tenant and mesh in the namespace's name"
        raise RuleBrokenError(rule, "Choose a name with single hyphens")
    return value


def revision(value: str) -> str:
    dns_label(value)
    if len(value) > LONGEST_REVISION:
        raise RuleBrokenError(
            f"must have at most {LONGEST_REVISION} characters: the Helm release is istiod-<revision>",
            "Choose a shorter revision",
        )
    return value


def label_value(value: str) -> str:
    if not LABEL_VALUE.fullmatch(value) or len(value) > 63:
        raise RuleBrokenError(
            "must fit into a Kubernetes label: at most 63 letters, digits, '-', '_' and '.', a letter or digit at both "
            "ends",
            "Choose another name",
        )
    return value


def qualified_name(value: str) -> str:
    """`name` or `domain/name`, Kubernetes' form of annotations' keys and load balancers' classes."""
    prefix, slash, name = value.rpartition("/")
    labels = prefix.split(".")
    prefix_fits = len(prefix) <= 253 and all(DNS_LABEL.fullmatch(label) for label in labels) if slash else True
    if not name or len(name) > 63 or not LABEL_VALUE.fullmatch(name) or not prefix_fits:
        raise RuleBrokenError(
            "must be a Kubernetes name, after a DNS domain in lower case and '/' if it has one: at most 63 letters, "
            "digits, '-', '_' and '.', a letter or digit at both ends",
            "Write it like example.com/name",
        )
    return value


def is_address(value: str) -> bool:
    return canonical.address(value) is not None


def host_name(value: str) -> str:
    """A DNS name with at least two labels, no address and no internal name: both sides must resolve it."""
    if is_address(value):
        raise RuleBrokenError(
            "is an IP address, but both sides connect by name",
            "Give a DNS name that resolves to the load balancer from the data plane",
        )
    parts = value.split(".")
    if len(value) > 253 or len(parts) < 2 or not all(DNS_LABEL.fullmatch(part) and len(part) <= 63 for part in parts):
        raise RuleBrokenError(
            "must be a DNS name with a domain, in lower case, without scheme, port or final dot",
            "Write it like istiod.demo.example.com",
        )
    if parts[-1].isdigit():
        raise RuleBrokenError(
            "ends in a number, like a mistyped IP address",
            "Give a DNS name that resolves to the load balancer from the data plane",
        )
    if parts[-1] == "svc" or value.endswith(".cluster.local"):
        raise RuleBrokenError("is a name that only one cluster resolves", "Give a DNS name that both clusters resolve")
    return value


def domain(value: str) -> str:
    if not all(DNS_LABEL.fullmatch(part) and len(part) <= 63 for part in value.split(".")) or len(value) > 253:
        raise RuleBrokenError(
            "must be a DNS domain in lower case: labels of at most 63 characters, 253 in all",
            "Write it like cluster.local",
        )
    return value


def cidr(value: str) -> str:
    try:
        # Python also reads an address alone and a netmask; Kubernetes does not.
        network = ipaddress.ip_network(value if RANGE.fullmatch(value) else "")
    except ValueError:
        raise RuleBrokenError(
            "must be a range of addresses in CIDR form with no host bits set",
            "Write it like 203.0.113.0/24, or 203.0.113.7/32 for one address",
        ) from None
    if network.prefixlen == 0:
        raise RuleBrokenError(
            "admits every address", "Leave it out; to let all connect to istiod, set exposure.openToAll: true"
        )
    return value


def covers_every_address(ranges: Iterable[str]) -> bool:
    """Whether the ranges together admit every address of IPv4 or of IPv6, as 0.0.0.0/1 and 128.0.0.0/1 do."""
    networks = [ipaddress.ip_network(one) for one in ranges]
    four = [network for network in networks if isinstance(network, ipaddress.IPv4Network)]
    six = [network for network in networks if isinstance(network, ipaddress.IPv6Network)]
    merged: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    merged += ipaddress.collapse_addresses(four)
    merged += ipaddress.collapse_addresses(six)
    return any(network.prefixlen == 0 for network in merged)


def refuse_same_names(field: str, names: Sequence[str]) -> None:
    """Raises RuleBrokenError if two entries of a list have one name."""
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RuleBrokenError(f"{field} has two called {twice[0]}", "Give each a name of its own")


def api_server(value: str) -> str:
    """`https://host[:port][/path]` of an API server, without parts that could carry a credential."""
    form = "must be https://HOST or https://HOST:PORT, with a path if the kubeconfig has one"
    if not value.lower().startswith("https://"):
        raise RuleBrokenError(form, "Begin it with https://")
    try:
        url = canonical.split_server(value)
        port_fits = url.port is None or 0 < url.port < 65536
    except ValueError:
        raise RuleBrokenError(form, "Correct host and port; an IPv6 address is in brackets") from None
    if not port_fits or "@" in url.netloc or url.query or url.fragment or not value.isprintable() or " " in value:
        raise RuleBrokenError(f"{form}, and nothing more", "Leave out the rest")
    return value.rstrip("/")


def proxy_url(value: str) -> str:
    """`http[s]://host:port` of a proxy, without a credential: documents are no place for one."""
    try:
        url = urlsplit(value)
        fits = url.scheme in ("http", "https") and bool(url.hostname) and bool(url.port) and "@" not in url.netloc
    except ValueError:
        fits = False
    if not fits or url.path.strip("/") or url.query or url.fragment or not value.isprintable():
        raise RuleBrokenError(
            "must be http://HOST:PORT or https://HOST:PORT of a proxy, without a user and a password",
            "Admit istiod's Pods at the proxy by their addresses",
        )
    return value.rstrip("/")


def chart_repository(value: str) -> str:
    """`https://host/path` or `oci://host/path`, without a credential: state and previews show it in plain text."""
    try:
        url = urlsplit(value)
        host = url.hostname
    except ValueError:
        url, host = urlsplit(""), None
    if "@" in url.netloc or url.query or url.fragment:
        raise RuleBrokenError(
            "must hold no user, password or query: it is stored and shown in plain text",
            "Leave them out, and log in with `helm registry login`, or take charts from a directory with charts.path",
        )
    if url.scheme not in ("https", "oci") or not host:
        raise RuleBrokenError(
            "must be the address of a Helm repository, https://HOST/PATH or oci://HOST/PATH",
            "Write it like https://charts.example.com/istio",
        )
    return value


def image_hub(value: str) -> str:
    """`registry/folder`. Istio's charts put it before the image's name unchanged, and API servers accept any text."""
    if not value or "://" in value or value.endswith("/") or not value.isprintable() or " " in value:
        raise RuleBrokenError(
            "must be a registry and a folder, without https:// and without a slash at the end",
            "Write it like registry.example.com/istio",
        )
    return value


def image_tag(value: str) -> str:
    if not IMAGE_TAG.fullmatch(value):
        raise RuleBrokenError(
            "must be an image's tag: at most 128 letters, digits, '_', '.' and '-', not beginning with '.' or '-'",
            "Write it like 1.31.1-distroless",
        )
    return value


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
            "is too old: its istiod requires more rights on the data plane than this library grants",
            f"Use {oldest} or later",
        )
    return value


def amount(quantity: str) -> Decimal:
    """A Kubernetes quantity in its base unit, cores or bytes: `500m` is 0.5, `1Ki` is 1024."""
    found = canonical.quantity(quantity) if QUANTITY.fullmatch(quantity) else None
    if found is None:
        raise RuleBrokenError("must be a Kubernetes quantity", "Write it like 500m, 2, 512Mi or 2Gi")
    return found


def cpu(value: str) -> str:
    if amount(value) == 0:
        raise RuleBrokenError("must be more than zero", "Write it like 500m or 2, in cores")
    return value


def memory(value: str) -> str:
    if amount(value) == 0:
        raise RuleBrokenError("must be more than zero", "Write it like 512Mi or 2Gi")
    if value.endswith("m"):
        raise RuleBrokenError("has the suffix m, which means thousandths of a byte", "Write it like 512Mi")
    return value


def log_levels(value: str) -> str:
    if not LOG_LEVELS.fullmatch(value):
        raise RuleBrokenError(
            "must be scope:level, separated by commas; a level is one of none, error, warn, info, debug and fatal",
            "Write it like default:info,ads:debug",
        )
    return value


def variable(value: str) -> str:
    if not VARIABLE.fullmatch(value):
        raise RuleBrokenError(
            "must be the name of an environment variable: letters, digits, '_', '.' and '-', no digit at the start",
            "Choose another name",
        )
    return value


def variable_value(value: str) -> str:
    if not value.isprintable() or '"' in value or "\\" in value:
        raise RuleBrokenError(
            "must have no double quotes, backslashes or line breaks: Istio's chart quotes it without escapes",
            "Write it without them",
        )
    return value


def pem_certificate(value: str) -> str:
    """One certificate or more, with comments as `openssl x509 -text` writes them. Other PEM blocks are rejected."""
    if "PRIVATE KEY" in value:
        raise RuleBrokenError("holds a private key", "Remove it, and give the certificate alone")
    if NO_CERTIFICATE.search(value):
        raise RuleBrokenError("holds more than PEM certificates, for example a request", "Leave the rest out")
    if "-----BEGIN CERTIFICATE-----" not in value:
        raise RuleBrokenError("must be PEM certificates", "Give text that begins with -----BEGIN CERTIFICATE-----")
    try:
        # OpenSSL's PEM reader skips comments, which may hold any letter; within a certificate it rejects such a letter.
        letters = value.encode("ascii", "replace").decode()
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=letters)
    except ssl.SSLError:
        raise RuleBrokenError(
            "begins like PEM certificates, but holds none, or one that cannot be read",
            "Give the whole file, from the first -----BEGIN to the last -----END line",
        ) from None
    return value


def pem_request(value: str) -> str:
    if "PRIVATE KEY" in value:
        raise RuleBrokenError("holds a private key", "Remove it from the document now, and give the request alone")
    if not value.strip().startswith("-----BEGIN CERTIFICATE REQUEST-----"):
        raise RuleBrokenError(
            "must be a PEM certificate signing request", "Begin it with -----BEGIN CERTIFICATE REQUEST-----"
        )
    return value


def file_path(value: str) -> str:
    if "\n" in value or not value.strip():
        raise RuleBrokenError("must be the path of a file, not its content", "Save the content as a file, mode 0600")
    if "://" in value:
        raise RuleBrokenError("must be a path, not a URL", "Fetch the content, and give its path on this machine")
    return value


Text = Annotated[str, StringConstraints(strict=True)]
MeshName = Annotated[Text, AfterValidator(mesh_name), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})]
TenantName = Annotated[
    Text, AfterValidator(tenant_name), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})
]
DnsLabel = Annotated[Text, AfterValidator(dns_label), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})]
Revision = Annotated[Text, AfterValidator(revision), Field(json_schema_extra={"pattern": f"^{DNS_LABEL.pattern}$"})]
LabelValue = Annotated[
    Text, AfterValidator(label_value), Field(json_schema_extra={"pattern": f"^{LABEL_VALUE.pattern}$"})
]
QualifiedName = Annotated[Text, AfterValidator(qualified_name)]
Switch = Annotated[bool, Field(strict=True)]
"""A boolean: 1, "true" and the like are rejected."""
Port = Annotated[int, Field(strict=True, ge=1, le=65535)]
HostName = Annotated[Text, AfterValidator(host_name), Field(json_schema_extra={"format": "hostname"})]
Domain = Annotated[Text, AfterValidator(domain), Field(json_schema_extra={"format": "hostname"})]
Cidr = Annotated[Text, AfterValidator(cidr)]
ApiServer = Annotated[Text, AfterValidator(api_server), Field(json_schema_extra={"pattern": "^https://"})]
ProxyUrl = Annotated[Text, AfterValidator(proxy_url), Field(json_schema_extra={"pattern": "^https?://"})]
ChartVersion = Annotated[Text, AfterValidator(chart_version)]
ChartRepository = Annotated[
    Text, AfterValidator(chart_repository), Field(json_schema_extra={"pattern": "^(https|oci)://"})
]
ImageHub = Annotated[Text, AfterValidator(image_hub)]
ImageTag = Annotated[Text, AfterValidator(image_tag)]
Cpu = Annotated[Text, AfterValidator(cpu), Field(json_schema_extra={"pattern": f"^{QUANTITY.pattern}$"})]
Memory = Annotated[Text, AfterValidator(memory), Field(json_schema_extra={"pattern": f"^{QUANTITY.pattern}$"})]
LogLevels = Annotated[Text, AfterValidator(log_levels), Field(json_schema_extra={"pattern": f"^{LOG_LEVELS.pattern}$"})]
Variable = Annotated[Text, AfterValidator(variable)]
VariableValue = Annotated[Text, AfterValidator(variable_value)]
PemCertificate = Annotated[Text, AfterValidator(pem_certificate)]
PemRequest = Annotated[Text, AfterValidator(pem_request)]
FilePath = Annotated[Text, AfterValidator(file_path)]
