"""The names of a certificate: subject and alternative names."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from sandbox.plugins.bridged.resources import Values
from sandbox.plugins.protocol.errors import ProviderError

# In the order of Go's library, so that certificates of either plug-in set write a subject alike.
_PARTS: Final[Mapping[str, ObjectIdentifier]] = {
    "country": NameOID.COUNTRY_NAME,
    "organization": NameOID.ORGANIZATION_NAME,
    "organizationalUnit": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "locality": NameOID.LOCALITY_NAME,
    "province": NameOID.STATE_OR_PROVINCE_NAME,
    "streetAddresses": NameOID.STREET_ADDRESS,
    "postalCode": NameOID.POSTAL_CODE,
    "commonName": NameOID.COMMON_NAME,
    "serialNumber": NameOID.SERIAL_NUMBER,
    "emailAddress": NameOID.EMAIL_ADDRESS,
}


def subject(parts: Mapping[str, Any] | None) -> x509.Name:
    """The `subject` input as a name. Raises ProviderError for a part that a name cannot hold."""
    attributes = []
    for key, oid in _PARTS.items():
        value = (parts or {}).get(key)
        for text in value if isinstance(value, list) else [value]:
            if not text:
                continue
            try:
                attributes.append(x509.NameAttribute(oid, text))
            except ValueError as error:
                raise ProviderError(f"subject.{key}: {error}") from None
    return x509.Name(attributes)


def alternative_names(inputs: Values) -> list[x509.GeneralName]:
    """The inputs dnsNames, ipAddresses and uris. Raises ProviderError for one that cannot be parsed."""
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in inputs.get("dnsNames") or ()]
    for text in inputs.get("ipAddresses") or ():
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            raise ProviderError(f"ipAddresses: {text!r} is not an IP address") from None
    return names + [x509.UniformResourceIdentifier(uri) for uri in inputs.get("uris") or ()]


def carried_over(names: Sequence[x509.GeneralName]) -> list[x509.GeneralName]:
    """The alternative names of a request that the official plug-in copies into the certificate, in its order."""
    kinds = (x509.DNSName, x509.IPAddress, x509.UniformResourceIdentifier)
    return [name for kind in kinds for name in names if isinstance(name, kind)]
