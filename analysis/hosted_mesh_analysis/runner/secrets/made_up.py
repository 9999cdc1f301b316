"""Outputs in place of providers: of tls, random, kubernetes and, by their names alone, of all others."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import json
import random
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hosted_mesh_plan.decode import SIGNATURE

from ..values import secret
from . import forms, keys
from .generator import Made, Owner, SecretGenerator, SecretVariant, Source

USUAL_KEYS: Final = (
    "token", "password", "username", "config", "kubeconfig", "value", "tls.key", "tls.crt", "ca.crt", "ca.key",
    "ca-key.pem", "ca-cert.pem", "root-cert.pem", "cert-chain.pem", "key.pem", "cert.pem", "credentials", "api-key",
)  # fmt: skip
"""Possible keys of an unknown Secret; each gets a value."""
DATA_PLANE_STACK: Final = "data-plane"
"""The name of the stack whose outputs are the data plane's own."""
LISTED: Final = 3
"""Number of texts in an unknown list: zones of a region, addresses of a name."""
SYMBOLS: Final = "!@#$%&*()-_=+[]{}<>:?"
_CREDENTIAL: Final = re.compile(
    r"kubeconfig|(?:token|secret|secretString|passw(?:or)?d|passphrase|(?:private|access|api|client|account)Key)s?$",
    re.IGNORECASE,
)
"""Names of secret results of functions."""
_EPOCH: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
Form = Any
"""The form of a value: "str", "int", "float" or "bool"; "=" and a text for a limited choice; a list with the form of
its elements; or a mapping with the form of each value, empty for unknown keys."""


@dataclass
class Answers:
    """Outputs in one variant. Equal requests get equal answers in every run of it. gave_secrets: True after the first
    made-up secret."""

    generator: SecretGenerator
    world: SecretVariant
    gave_secrets: bool = False

    def value(self, source: Source, detail: str, make: Any) -> Any:
        self.gave_secrets = True
        return self.generator.value(source, detail, self.world.variant_of(source), make)

    def by_name(self, source: Source, name: str) -> Any:
        """A secret made from its name alone. Certificates in it are public."""
        found = self.value(source, name, lambda chance: named(name, chance))
        if not self.world.held:
            return found
        first = self.generator.value(source, name, 0, lambda chance: named(name, chance))
        if isinstance(found, dict):
            return {key: first[key] if "CERTIFICATE" in text else text for key, text in found.items()}
        return first if "CERTIFICATE" in str(found) else found

    def stack_output(self, stack: str, key: str) -> Any:
        """An output of another stack, by its name. It is the control plane's, except for the data plane's stack."""
        owner = Owner.DATA_PLANES if stack.rpartition("/")[2] == DATA_PLANE_STACK else Owner.CONTROL_PLANE
        return self.by_name(Source(f"stack {stack} {key}", f"output {key} of stack {stack}", owner), key)

    def key(self, source: Source, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """tls.PrivateKey."""
        self.gave_secrets = True
        curve, bits = str(inputs.get("ecdsaCurve") or "P224"), int(inputs.get("rsaBits") or 2048)
        form = (str(inputs.get("algorithm")), curve, bits)

        def of(variant: int) -> keys.PrivateKey:
            return self.generator.value(source, f"key {form}", variant, lambda _: keys.generate(*form))

        private, public = of(self.world.variant_of(source)), of(0 if self.world.held else self.world.variant_of(source))
        for variant, made in ((self.world.variant_of(source), private), (0, of(0))):
            origin = (source.id, form, variant)
            self.generator.kept(("key", keys.spki(made.public_key())), functools.partial(_same, origin))
        texts = self.value(source, f"texts {form}", lambda _: keys.private_texts(private))
        return {name: secret(text) for name, text in texts.items()} | keys.public_texts(public.public_key())

    def _signer(self, pem: Any) -> tuple[keys.PrivateKey, str]:
        """The requested key of a certificate, which signs it, and its owner."""
        given = keys.private_of(pem)
        public = keys.spki(given.public_key())
        source_id, form, variant = self.generator.kept(("key", public), lambda _: ("", None, 0))
        if source_id and variant and self.world.held:
            source = self.generator.sources[source_id]
            given = self.generator.value(source, f"key {form}", 0, lambda _: given)
        return given, source_id

    def certificate(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """tls.SelfSignedCert, LocallySignedCert and CertRequest. Raises: UnusableKeyError."""
        facts = json.dumps({k: v for k, v in inputs.items() if "rivateKey" not in k}, sort_keys=True, default=str)
        pem = inputs.get("caPrivateKeyPem") or inputs.get("privateKeyPem")
        signer, source_id = self._signer(pem)
        memo = (kind, facts, keys.spki(signer.public_key()))
        serial = int.from_bytes(hashlib.sha256(repr(memo).encode()).digest()[:16], "big")
        if "certRequest" in kind:
            return {"certRequestPem": self.generator.kept(memo, lambda _: keys.request(inputs, signer))}
        if "locallySigned" in kind:
            asked = keys.parsed_request(inputs.get("certRequestPem"))
            subject_id, *_ = self.generator.kept(("key", keys.spki(asked.public_key())), lambda _: ("", None, 0))
            self.generator.signers.add((source_id, subject_id))
            authority = inputs.get("caCertPem")
            made = self.generator.kept(
                memo,
                lambda _: keys.certificate(
                    inputs, signer, self.generator.now, serial, asked=asked, authority=authority
                ),
            )
        else:
            made = self.generator.kept(memo, lambda _: keys.certificate(inputs, signer, self.generator.now, serial))
        end = self.generator.now.isoformat()
        return {"certPem": made, "validityStartTime": end, "validityEndTime": end, "readyForRenewal": False}

    def chance(self, kind: str, urn: str, source: Source, inputs: Mapping[str, Any], form: str = "") -> dict[str, Any]:
        """The random package. Only passwords, bytes and strings are secrets. form: inputs that change the value."""
        length = int(inputs.get("length") or inputs.get("byteLength") or 16)
        # The first requested form has no name.
        form = "" if form == self.generator.kept(("form", source.id), lambda _: form) else f" {form}"
        if "randomPassword" in kind or "randomString" in kind:
            text = self.value(source, f"result{form}", lambda chance: _password(inputs, length, chance))
            if "randomString" in kind:
                return {"result": text}
            hashed = self.value(source, f"bcrypt{form}", lambda chance: "$2a$10$" + forms.text_of(53, chance))
            return {"result": secret(text), "bcryptHash": secret(hashed)}
        if "randomBytes" in kind:
            made = self.value(source, f"bytes{form}", lambda chance: chance.randbytes(length))
            return {"base64": secret(base64.b64encode(made).decode()), "hex": secret(made.hex())}
        chance = random.Random(f"{self.generator.seed} {urn}")  # noqa: S311 an id, no secret
        made = chance.randbytes(length)
        if "randomPet" in kind:
            words = range(int(inputs.get("length") or 2))
            return {"id": "-".join(forms.text_of(6, chance, string.ascii_lowercase) for _ in words)}
        if "randomInteger" in kind:
            return {"result": chance.randint(int(inputs.get("min") or 0), int(inputs.get("max") or 1))}
        if "randomShuffle" in kind:
            given = list(inputs.get("inputs") or [])
            return {"results": chance.sample(given, len(given))[: int(inputs.get("resultCount") or len(given))]}
        if "randomUuid" in kind:
            digits = made[:16].hex().ljust(32, "0")
            return {"result": f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"}
        return {
            "hex": made.hex(),
            "dec": str(int.from_bytes(made, "big")),
            "b64Std": base64.b64encode(made).decode(),
            "b64Url": base64.urlsafe_b64encode(made).rstrip(b"=").decode(),
        }

    def kubernetes_secret(self, source: Source, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The data of a Secret: its inputs, and its cluster's additions."""
        data = dict(inputs.get("data") or {})
        for key, text in (inputs.get("stringData") or {}).items():
            data[key] = base64.b64encode(str(text).encode()).decode()
        made: Mapping[str, Any] = {}
        if inputs.get("type") == "kubernetes.io/service-account-token":
            authority = self.generator.kept(
                ("authority", source.place), lambda _: _authority(source.place, self.generator)
            )
            made = {"token": self.by_name(source, "service-account-token"), "ca.crt": authority, "namespace": "default"}
        elif not data:
            made = {key: self.by_name(source, key) for key in USUAL_KEYS}
        return data | {
            key: base64.b64encode(str(text).encode()).decode() for key, text in made.items() if key not in data
        }

    def declared(self, source: Source, forms: Mapping[str, Form], secrets: Sequence[str], urn: str) -> dict[str, Any]:
        """Outputs of a resource, from their names and forms alone (`program.declared`)."""

        def hidden(path: str) -> Any:
            return self.by_name(source, path)

        def shown(path: str) -> Any:
            return self._public(urn, path)

        return {
            name: secret(filled(form, name, hidden)) if name in secrets else filled(form, name, shown)
            for name, form in forms.items()
        }

    def answer(self, source: Source, form: Mapping[str, Form]) -> dict[str, Any]:
        """A function's answer, from its form alone. A credential's name makes it one."""

        def told(path: str) -> Any:
            if _CREDENTIAL.search(path):
                return secret(self.by_name(source, path))
            return self._public(source.id, path)

        return {name: filled(one, name, told) for name, one in form.items()}

    def _public(self, of: str, path: str) -> str:
        """A public text, the same in all variants. of: its owner."""
        return public(path, random.Random(f"{self.generator.seed} {of} {path}"))  # noqa: S311 public


def filled(form: Form, path: str, text: Callable[[str], Any]) -> Any:
    """A value of a form. text: makes a text by its path."""
    if isinstance(form, dict):
        return {name: filled(one, f"{path}.{name}", text) for name, one in form.items()}
    if form == ["str"]:
        return [text(f"{path}.{number}") for number in range(LISTED)]
    if isinstance(form, list):
        return [filled(one, path, text) for one in form]
    if form.startswith("="):
        return form[1:]
    return {"int": 1, "float": 1, "bool": False}[form] if form != "str" else text(path)


def completed(given: Any, made: Any) -> Any:
    """The given value, with made-up values for missing parts."""
    if given is None:
        return made
    if made is None or (isinstance(given, dict) and SIGNATURE in given):
        return given
    if isinstance(given, dict) and isinstance(made, dict):
        return {**made, **{name: completed(one, made.get(name)) for name, one in given.items()}}
    if isinstance(given, list) and isinstance(made, list) and made:
        return [completed(one, made[0]) for one in given]
    return made if isinstance(given, dict | list) and isinstance(made, dict | list) else given  # Azure maps a list


def _same(value: Made, _: random.Random) -> Made:
    return value


def _password(inputs: Mapping[str, Any], length: int, chance: random.Random) -> str:
    classes = {
        "upper": string.ascii_uppercase,
        "lower": string.ascii_lowercase,
        "numeric": string.digits,
        "special": str(inputs.get("overrideSpecial") or SYMBOLS),
    }
    letters = "".join(found for name, found in classes.items() if inputs.get(name, True) is not False)
    return forms.text_of(length, chance, letters or string.ascii_letters)


def _authority(place: str, generator: SecretGenerator) -> str:
    inputs = {"subject": {"commonName": f"authority of {place}"[:60]}, "isCaCertificate": True}
    return keys.certificate(inputs, keys.generate(), generator.now, 1)


_SHAPES: Final = tuple(
    (re.compile(pattern), made)
    for pattern, made in (
        (r"(?i:arn)$", "arn:aws:made-up:us-east-1:123456789012:{0}"),
        (r"(?i:cidr)", "10.{1}.0.0/16"),
        (r"(?i:url|uri)", "https://{0}.example.com"),
        (r"^ip$|Ip$|[iI]pAddress(?:es)?$", "192.0.2.{1}"),
        (r"(?i:host|endpoint|address|domain|fqdn|server)", "{0}.example.com"),
    )
)
"""A text in the form that programs parse for its name."""


def public(path: str, chance: random.Random) -> str:
    """A public value for a name, at the end of a path with dots."""
    name = next((name for name in reversed(path.split(".")) if not name.isdigit()), "")
    word = forms.text_of(8, chance, string.ascii_lowercase)
    for pattern, made in _SHAPES:
        if pattern.search(name):
            return made.format(word, chance.randrange(1, 255))
    return word


def named(name: str, chance: random.Random) -> Any:
    """A secret for a name: a kubeconfig, a key, a set of certificates, or else an opaque token."""
    low = name.lower()
    if "kubeconfig" in low or low == "config":
        cluster = {"server": "https://made-up.example.com:6443"}
        text = json.dumps(forms.kubeconfig({"made-up": cluster}, forms.text_of(40, chance)))
        return base64.b64encode(text.encode()).decode() if low.endswith(".value") else text  # like Azure's answers
    if low.endswith("authorizationtoken"):  # of a registry: a login, in base64
        return base64.b64encode(f"AWS:{forms.text_of(40, chance)}".encode()).decode()
    if "cacerts" in low:
        return _cacerts()
    if "service-account-token" in low:
        claims = {
            "iss": "https://kubernetes.default.svc",
            "sub": "system:serviceaccount:made:up",
            "jti": forms.text_of(12, chance),
        }
        return forms.token(claims, chance)
    if re.search(r"cert|crt|bundle|(^|[-_.])ca$", low) and "key" not in low:
        return keys.certificate(
            {"subject": {"commonName": "made up"}, "isCaCertificate": True}, keys.generate(), _EPOCH, 7
        )
    if re.search(r"private|key\.pem|\.key$|ca[-_]?key|ssh", low):
        return keys.private_texts(keys.generate())["privateKeyPemPkcs8"]
    return forms.text_of(40, chance)


def _cacerts() -> dict[str, str]:
    """Like the library's stack `trust`."""
    root, own = keys.generate(), keys.generate()
    inputs = {"subject": {"commonName": "made-up root"}, "isCaCertificate": True}
    root_pem = keys.certificate(inputs, root, _EPOCH, 1)
    asked = keys.parsed_request(keys.request({"subject": {"commonName": "made-up intermediate"}}, own))
    own_pem = keys.certificate({"isCaCertificate": True}, root, _EPOCH, 2, asked=asked, authority=root_pem)
    key = keys.private_texts(own)["privateKeyPemPkcs8"]
    return {"ca-key.pem": key, "ca-cert.pem": own_pem, "cert-chain.pem": own_pem + root_pem, "root-cert.pem": root_pem}
