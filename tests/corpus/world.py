"""What the corpus's programs are written with: two clusters, sources of secrets, and ways into an object.

The programs use plain `CustomResource`s: what the engine sees is the same as from the SDK's classes (their additional
secret outputs included), and a program starts in a quarter of the time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from tests.corpus import literals

Inputs = Mapping[str, Any]


@dataclass
class Scope:
    """Where a program's resources go: several programs may share a stack, each under a parent and a prefix."""

    prefix: str = ""
    parent: pulumi.Resource | None = None

    def options(self, opts: pulumi.ResourceOptions | None) -> pulumi.ResourceOptions:
        own = pulumi.ResourceOptions(parent=self.parent)
        return pulumi.ResourceOptions.merge(own, opts) if opts else own


SCOPE = Scope()


@contextlib.contextmanager
def scope(prefix: str, parent: pulumi.Resource | None) -> Iterator[None]:
    """Puts what is made inside under a parent and a prefix."""
    before = (SCOPE.prefix, SCOPE.parent)
    SCOPE.prefix, SCOPE.parent = prefix, parent
    try:
        yield
    finally:
        SCOPE.prefix, SCOPE.parent = before


def reference(stack: str) -> pulumi.StackReference:
    """Another stack's outputs."""
    opts = SCOPE.options(None)
    return pulumi.StackReference(f"{SCOPE.prefix}{stack}", stack_name=stack, opts=opts)


class Object(pulumi.CustomResource):
    """Any resource by its type token. `outputs` are the names of outputs that the program wants to read."""

    def __init__(
        self,
        kind: str,
        name: str,
        inputs: Inputs,
        opts: pulumi.ResourceOptions | None = None,
        outputs: Sequence[str] = (),
        secret_outputs: Sequence[str] = (),
    ) -> None:
        own = pulumi.ResourceOptions(additional_secret_outputs=list(secret_outputs))
        super().__init__(
            kind,
            SCOPE.prefix + name,
            {**dict.fromkeys(outputs), **inputs},
            pulumi.ResourceOptions.merge(own, SCOPE.options(opts)),
        )

    def output(self, name: str) -> pulumi.Output[Any]:
        found: pulumi.Output[Any] = getattr(self, name)
        return found


class Box(pulumi.ComponentResource):
    """A component of no particular type: a leak through it is still a leak."""

    def __init__(self, name: str, kind: str = "corpus:index:Box", opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(kind, SCOPE.prefix + name, None, SCOPE.options(opts))


class World:
    """One program's surroundings: providers for both clusters, made from kubeconfigs in the stack's configuration."""

    def __init__(self, control_plane: str, data_plane: str, namespace: str = "default") -> None:
        self.kubeconfigs = {"cp": control_plane, "dp": data_plane}
        self.namespace = namespace
        self._providers: dict[str, pulumi.ProviderResource] = {}

    def provider(self, side: str) -> pulumi.ProviderResource:
        """The provider of a side, made on first use: a program that needs one cluster has one provider."""
        if side not in self._providers:
            with scope("", None):
                self._providers[side] = self.named_provider(f"{side}-cluster", self.kubeconfigs[side])
        return self._providers[side]

    def named_provider(self, name: str, kubeconfig: Any, *, secret: bool = True) -> pulumi.ProviderResource:
        value = pulumi.Output.secret(kubeconfig) if secret else kubeconfig
        opts = pulumi.ResourceOptions(parent=SCOPE.parent)
        return pulumi.ProviderResource("kubernetes", name, {"kubeconfig": value, "clusterIdentifier": name}, opts)

    def options(self, side: str, **more: Any) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(provider=self.provider(side), **more)

    def object(self, side: str, kind: str, name: str, body: Inputs, **more: Any) -> Object:
        """A Kubernetes object: `kind` as in "v1:ConfigMap" or "apps/v1:Deployment"."""
        version, _, short = kind.rpartition(":")
        group, _, number = version.rpartition("/")
        token = f"kubernetes:{group or 'core'}/{number}:{short}"
        inputs = {"apiVersion": version, "kind": short, **body}
        metadata = dict(inputs.pop("metadata", {}))
        metadata.setdefault("name", name if short in KEEP_NAMES or name in KEPT_NAMES else SCOPE.prefix + name)
        if short not in CLUSTER_WIDE:
            metadata.setdefault("namespace", self.namespace)
        outputs = [key for key in ("data", "stringData", "status") if key not in inputs]
        secret_outputs = ["data", "stringData"] if short == "Secret" else []
        if short == "Secret":  # as the SDK's Secret class does
            inputs = {k: self.mark(v) if k in {"data", "stringData"} else v for k, v in inputs.items()}
        body = {**inputs, "metadata": metadata}
        return self.make(token, f"{side}-{name}", body, outputs, secret_outputs, side=side, **more)

    def make(
        self,
        kind: str,
        name: str,
        inputs: Inputs,
        outputs: Sequence[str] = (),
        secret_outputs: Sequence[str] = (),
        *,
        side: str = "",
        **more: Any,
    ) -> Object:
        """Any resource; `side` says whose cluster it goes to."""
        opts = pulumi.ResourceOptions(**more)
        opts = pulumi.ResourceOptions.merge(self.options(side), opts) if side else opts
        return Object(kind, name, inputs, opts, outputs, secret_outputs)

    def mark(self, value: Any) -> Any:
        """A value marked secret."""
        return pulumi.Output.secret(value)

    def unmark(self, value: Any) -> Any:
        return pulumi.Output.unsecret(value)

    def concat(self, *parts: Any) -> Any:
        return pulumi.Output.concat(*parts)

    def component(self, name: str, kind: str) -> Any:
        """What may be a parent."""
        return Box(name, kind)

    def configured(self, name: str) -> Any:
        """Secret configuration."""
        return pulumi.Output.secret(literals.opaque(name))

    def output_of(self, stack: str, name: str) -> Any:
        """An output of another stack."""
        return reference(stack).get_output(name)

    def config_map(self, side: str, name: str, data: Any, depends_on: Sequence[Object] = (), **metadata: Any) -> Object:
        body = {"data": data, "metadata": metadata}
        return self.object(side, "v1:ConfigMap", name, body, depends_on=list(depends_on))

    def secret(
        self, side: str, name: str, data: Any, kind: str = "Opaque", depends_on: Sequence[Object] = (), **metadata: Any
    ) -> Object:
        body = {"stringData": data, "type": kind, "metadata": metadata}
        return self.object(side, "v1:Secret", name, body, depends_on=list(depends_on))


KEPT_NAMES = frozenset({"cacerts", "istio-kubeconfig", "istio-ca-secret"})
KEEP_NAMES = frozenset({"ClusterRole", "ClusterRoleBinding", "Namespace", "Service", "ClusterServiceVersion"})
"""Names and kinds that keep their names; the rules look at them. All others get the scope's prefix, so that programs in
one stack do not meet in the cluster."""
CLUSTER_WIDE = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)
KEY_OUTPUTS = ("privateKeyPem", "privateKeyPemPkcs8", "privateKeyOpenssh", "publicKeyPem", "publicKeyOpenssh")


def key(name: str, algorithm: str = "ED25519", **opts: Any) -> Object:
    """A private key; outputs as of pulumi-tls."""
    return Object(
        "tls:index/privateKey:PrivateKey",
        name,
        {"algorithm": algorithm},
        pulumi.ResourceOptions(**opts),
        KEY_OUTPUTS,
        KEY_OUTPUTS[:3],
    )


def self_signed(name: str, private: Object, *, authority: bool = False, **more: Any) -> Object:
    """A certificate signed with its own key."""
    inputs = {
        "privateKeyPem": private.output("privateKeyPem"),
        "isCaCertificate": authority,
        "validityPeriodHours": 8760,
        "earlyRenewalHours": 720,
        "allowedUses": ["cert_signing"] if authority else ["server_auth"],
        "subject": {"commonName": name},
        "dnsNames": [f"{name}.example.com"],
        **more,
    }
    return Object("tls:index/selfSignedCert:SelfSignedCert", name, inputs, None, ["certPem"], ["privateKeyPem"])


def request(name: str, private: Object) -> Object:
    inputs = {"privateKeyPem": private.output("privateKeyPem"), "subject": {"commonName": name}}
    return Object("tls:index/certRequest:CertRequest", name, inputs, None, ["certRequestPem"], ["privateKeyPem"])


def signed(name: str, asked: Object, ca_key: Object, ca_certificate: Object, *, authority: bool = False) -> Object:
    """A certificate signed by an authority."""
    inputs = {
        "certRequestPem": asked.output("certRequestPem"),
        "caPrivateKeyPem": ca_key.output("privateKeyPem"),
        "caCertPem": ca_certificate.output("certPem"),
        "isCaCertificate": authority,
        "validityPeriodHours": 8760,
        "earlyRenewalHours": 720,
        "allowedUses": ["cert_signing"] if authority else ["server_auth"],
    }
    return Object("tls:index/locallySignedCert:LocallySignedCert", name, inputs, None, ["certPem"], ["caPrivateKeyPem"])


def password(name: str, length: int = 24, **opts: Any) -> Object:
    """A generated password; outputs as of pulumi-random."""
    return Object(
        "random:index/randomPassword:RandomPassword",
        name,
        {"length": length},
        pulumi.ResourceOptions(**opts),
        ["result", "bcryptHash"],
        ["result", "bcryptHash"],
    )


def random_id(name: str) -> Object:
    """Not a secret: an id for names."""
    return Object("random:index/randomId:RandomId", name, {"byteLength": 8}, None, ["hex", "b64Url", "dec"])


def random_bytes(name: str) -> Object:
    return Object(
        "random:index/randomBytes:RandomBytes", name, {"length": 32}, None, ["base64", "hex"], ["base64", "hex"]
    )
