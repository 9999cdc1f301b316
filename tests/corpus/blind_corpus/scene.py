"""What the programs' programs are written with: the corpus's two clusters, and what else there is in the world.

Other clusters, providers of any package, other stacks, objects that exist already, answers that only a cluster gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from tests.corpus.world import KEY_OUTPUTS, Object, World

from .material import Material

SERVERS = {"cp": "https://cp.example.com:6443", "dp": "https://dp.example.com:6443"}
USERS_STACK = "organization/shop/data-plane"
"""A stack of the data plane's, by its name."""


@dataclass
class Stage:
    """What the monitor knows besides the program: answers of clouds and clusters, and what goes to a user."""

    cp: Material
    dp: Material
    config: Mapping[str, str] = field(default_factory=dict)
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    secret_answers: dict[str, Sequence[str]] = field(default_factory=dict)
    invokes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    provider_owned: set[str] = field(default_factory=lambda: {"cp-cluster"})
    delivered: set[str] = field(default_factory=set)
    """Objects of the provider's cluster that an operator there carries to a user's."""


class Scene(World):
    """One program's surroundings. `cp` and `dp` make the provider's and the user's secrets."""

    def __init__(self, stage: Stage) -> None:
        sides = {"cp": stage.cp, "dp": stage.dp}
        configs = [made.kubeconfig(f"{side}-cluster", SERVERS[side]) for side, made in sides.items()]
        super().__init__(configs[0], configs[1])
        self.stage = stage
        self.cp, self.dp = stage.cp, stage.dp
        self.packages: dict[str, pulumi.ProviderResource] = {}
        self.tenants = {SERVERS["dp"]}
        """Addresses of the clusters that are not the provider's."""

    def config(self, key: str) -> pulumi.Output[str]:
        """A secret of the stack's configuration."""
        return pulumi.Output.secret(self.stage.config[key])

    def owner(self, side: str) -> Material:
        return self.cp if side == "cp" else self.dp

    def join(self, side: str, server: str, *, owner: str = "dp") -> None:
        """One more cluster, whose objects are then made by its name."""
        self.kubeconfigs[side] = self.owner(owner).kubeconfig(f"{side}-cluster", server)
        if owner == "cp":
            self.stage.provider_owned.add(f"{side}-cluster")
        else:
            self.tenants.add(server)

    def held(self, name: str = "istiod-internal", key: str = "token", value: Any = None, **metadata: Any) -> Any:
        """A secret that a Secret of the provider's cluster holds: an opaque token unless told."""
        value = self.cp.opaque(name) if value is None else value
        self.secret("cp", name, {key: pulumi.Output.secret(value)}, **metadata)
        return pulumi.Output.secret(value)

    def answered(self, side: str, kind: str, name: str, body: Mapping[str, Any], **answers: Any) -> Object:
        """A Kubernetes object to which its cluster adds something, a status for instance."""
        self.stage.answers[f"{side}-{name}"] = answers
        return self.object(side, kind, name, body)

    def package(self, package: str, name: str, owner: str = "dp", **inputs: Any) -> pulumi.ResourceOptions:
        """Options with a provider of any package."""
        if name not in self.packages:
            self.packages[name] = pulumi.ProviderResource(package, name, inputs)
            if owner == "cp":
                self.stage.provider_owned.add(name)
        return pulumi.ResourceOptions(provider=self.packages[name])

    def made(
        self,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None = None,
        answers: Mapping[str, Any] | None = None,
        secret: Sequence[str] = (),
        owner: str = "",
    ) -> Object:
        """A resource of any kind. `answers` are the outputs that its provider adds, unknown in a first preview."""
        assert name not in self.stage.answers, f"two resources are called {name}"
        self.stage.answers[name] = answers or {}
        if owner == "cp":  # not where things go, although its provider is a default one
            self.stage.provider_owned.add(name)
        fresh = [key for key in (answers or {}) if key not in inputs]
        return Object(kind, name, inputs, opts, fresh, secret)

    def key(self, side: str, name: str) -> Object:
        """A generated private key of one side's."""
        material = self.owner(side)
        texts = [material.key(name), material.key(name), material.key(name)]
        public = [material.public_key(name), material.public_ssh(name)]
        answers = dict(zip(KEY_OUTPUTS, texts + public, strict=True))
        inputs = {"algorithm": "ECDSA", "ecdsaCurve": "P256"}
        return self.made("tls:index/privateKey:PrivateKey", name, inputs, None, answers, KEY_OUTPUTS[:3])

    def password(self, side: str, name: str, length: int = 24) -> Object:
        material = self.owner(side)
        answers = {"result": material.opaque(name, length), "bcryptHash": "$2a$10$" + material.opaque(name + "h", 53)}
        inputs = {"length": length}
        kind = "random:index/randomPassword:RandomPassword"
        return self.made(kind, name, inputs, None, answers, ("result", "bcryptHash"))

    def reference(self, name: str, stack: str, outputs: Mapping[str, Any], secret: Sequence[str] = ()) -> Any:
        """Another stack's outputs."""
        self.stage.answers[name] = {"name": stack, "outputs": outputs, "secretOutputNames": list(secret)}
        self.stage.secret_answers[name] = secret
        return pulumi.StackReference(name, stack_name=stack)

    def existing(self, side: str, kind: str, name: str, **answers: Any) -> Object:
        """An object that is only read, as `Secret.get` does."""
        full = f"{side}-{name}-read"
        version, _, short = kind.rpartition(":")
        group, _, number = version.rpartition("/")
        self.stage.answers[full] = answers
        opts = pulumi.ResourceOptions(provider=self.provider(side), id=f"default/{name}")
        outputs = dict.fromkeys(answers)
        secret = ["data"] if short == "Secret" else []
        merged = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(additional_secret_outputs=secret))
        return Object(f"kubernetes:{group or 'core'}/{number}:{short}", full, outputs, merged)

    def invoke(self, token: str, answer: Mapping[str, Any], *, secret: bool = True) -> pulumi.Output[Any]:
        """What a data source answers; known at the first preview."""
        self.stage.invokes[token] = answer
        found = pulumi.Output.from_input(pulumi.runtime.invoke(token, {}).value)
        return pulumi.Output.secret(found) if secret else found
