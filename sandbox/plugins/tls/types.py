"""The resource types of the tls provider: their inputs, outputs, secrets and the effect of each change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from sandbox.plugins.bridged.resources import Attribute, ResourceType, Values, at_least, each, never, one_of, texts
from sandbox.plugins.tls import certificates, keys, uses


def _certain(inputs: Values) -> dict[str, Any]:
    hours, early = inputs.get("validityPeriodHours"), inputs.get("earlyRenewalHours")
    if not isinstance(hours, int) or not isinstance(early, int):
        return {}
    return {"readyForRenewal": certificates.renews_at_once(inputs)}


def _overdue(state: Values) -> dict[str, Any]:
    return {"readyForRenewal": True} if certificates.is_due(state) else {}


_PUBLIC_PEM: Final = Attribute(required=True)
_SECRET_PEM: Final = Attribute(required=True, secret=True)
# State has no write-only inputs; a change of one is visible only by the number beside it.
_REFUSED: Final = Attribute(check=lambda _: "(a write-only input) is not implemented by the stand-in plug-in")
_REFUSED_VERSION: Final = replace(_REFUSED, of="integer")
_NAMES: Final = {
    "subject": Attribute(of="{any"),
    "dnsNames": Attribute(of="[string"),
    "ipAddresses": Attribute(of="[string"),
    "uris": Attribute(of="[string"),
}
_CERTIFICATE: Final = {
    "validityPeriodHours": Attribute(required=True, check=at_least(0), of="integer"),
    "allowedUses": Attribute(required=True, check=each(one_of(*uses.WORDS)), of="[string"),
    "earlyRenewalHours": Attribute(default=0, replaces=never, check=at_least(0), of="integer"),
    "isCaCertificate": Attribute(default=False, of="boolean"),
    "maxPathLength": Attribute(kept=True, check=at_least(-1), of="integer"),
    "setSubjectKeyId": Attribute(default=False, of="boolean"),
}
_CERTIFICATE_OUTPUTS: Final = {
    **texts("certPem", "validityStartTime", "validityEndTime"),
    "readyForRenewal": "boolean",
}
_PRIVATE_OUTPUTS: Final = ("privateKeyPem", "privateKeyOpenssh", "privateKeyPemPkcs8")

TYPES: Final = (
    ResourceType(
        "tls:index/privateKey:PrivateKey",
        {
            "algorithm": Attribute(required=True, check=one_of(*keys.ALGORITHMS)),
            "rsaBits": Attribute(default=2048, of="integer"),
            "ecdsaCurve": Attribute(default="P224", check=one_of(*keys.CURVES)),
        },
        computed=texts(
            *_PRIVATE_OUTPUTS,
            "publicKeyPem",
            "publicKeyOpenssh",
            "publicKeyFingerprintMd5",
            "publicKeyFingerprintSha256",
        ),
        secrets=frozenset(_PRIVATE_OUTPUTS),
        create=keys.create,
        version=1,
        all_anew=True,
    ),
    ResourceType(
        "tls:index/certRequest:CertRequest",
        {
            "privateKeyPem": _SECRET_PEM,
            "privateKeyPemWo": _REFUSED,
            "privateKeyPemWoVersion": _REFUSED_VERSION,
            **_NAMES,
        },
        computed=texts("certRequestPem", "keyAlgorithm"),
        create=certificates.create_request,
    ),
    ResourceType(
        "tls:index/selfSignedCert:SelfSignedCert",
        {
            "privateKeyPem": _SECRET_PEM,
            "privateKeyPemWo": _REFUSED,
            "privateKeyPemWoVersion": _REFUSED_VERSION,
            **_NAMES,
            **_CERTIFICATE,
            "setAuthorityKeyId": Attribute(default=False, of="boolean"),
        },
        computed={**_CERTIFICATE_OUTPUTS, "keyAlgorithm": "string"},
        create=certificates.create_self_signed,
        certain=_certain,
        overdue=_overdue,
    ),
    ResourceType(
        "tls:index/locallySignedCert:LocallySignedCert",
        {
            "certRequestPem": _PUBLIC_PEM,
            "caCertPem": _PUBLIC_PEM,
            "caPrivateKeyPem": _SECRET_PEM,
            "caPrivateKeyPemWo": _REFUSED,
            "caPrivateKeyPemWoVersion": _REFUSED_VERSION,
            **_CERTIFICATE,
        },
        computed={**_CERTIFICATE_OUTPUTS, "caKeyAlgorithm": "string"},
        create=certificates.create_locally_signed,
        certain=_certain,
        overdue=_overdue,
    ),
)
