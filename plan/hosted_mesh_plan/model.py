"""Input of the rules: a stack's resources, their providers, and their dependencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .tree import Tree, at, is_marked, plain

PROVIDER_PREFIX = "pulumi:providers:"
SECRET_DATA = ("data", "stringData")
IN_SECRET = frozenset((name,) for name in SECRET_DATA)
"""First part of the paths of a Secret's values."""
STACK_TYPE = "pulumi:pulumi:Stack"
REFERENCE_TYPE = "pulumi:pulumi:StackReference"
SECRET_TYPE = "kubernetes:core/v1:Secret"  # noqa: S105 a type
LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider of a resource. `inputs` are its own inputs, kubeconfig included."""

    urn: str
    type: str
    name: str
    inputs: Tree

    @property
    def is_default(self) -> bool:
        """True for the engine's provider of a program that names none."""
        return self.name.startswith("default") and (self.name == "default" or self.name[7:8] in {"_", "-"})


@dataclass(frozen=True)
class Resource:
    """One resource at a preview, before its write, or after it.

    `inputs` come from the program: None if the front end cannot read them (`outputs` replace them). `outputs` come from
    the provider. `dependencies` maps a property's name to the URNs of its value's sources.
    """

    urn: str
    type: str
    name: str
    inputs: Tree | None = None
    outputs: Tree | None = None
    parent: str | None = None
    provider: Provider | None = None
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    read_only: bool = False
    """True for a resource that is only read (`.get`, StackReference), never written."""

    @cached_property
    def asked(self) -> Tree:
        """Inputs with their `Secret` marks; outputs where inputs are missing."""
        return self.inputs if self.inputs is not None else (self.outputs or {})

    @cached_property
    def body(self) -> Tree:
        """`asked` without `Secret` wrappers, for rules that read fields."""
        return plain(self.asked)

    @cached_property
    def sources(self) -> Mapping[str, tuple[str, ...]]:
        """`dependencies` by the names of `asked`. The kubernetes package turns a Secret's `stringData` into `data`,
        while the dependencies keep the program's name."""
        if self.kind != "Secret":
            return self.dependencies
        together = tuple(urn for name in SECRET_DATA for urn in self.dependencies.get(name, ()))
        present = [name for name in SECRET_DATA if isinstance(self.asked, dict) and name in self.asked]
        rest = {name: urns for name, urns in self.dependencies.items() if name not in SECRET_DATA}
        return {**rest, **dict.fromkeys(present or SECRET_DATA[1:], together)}

    @cached_property
    def depends_on(self) -> frozenset[str]:
        """URNs of all sources of its values."""
        return frozenset(urn for urns in self.dependencies.values() for urn in urns)

    @property
    def is_kubernetes(self) -> bool:
        """True for an object of the kubernetes package, charts and custom resources included."""
        return self.type.startswith("kubernetes:")

    @property
    def is_provider(self) -> bool:
        return self.type.startswith(PROVIDER_PREFIX)

    @property
    def called(self) -> str:
        """Type and name as in settings: `RobotAccount:shop-pull`."""
        return f"{self.type.rpartition(':')[2]}:{self.name}"

    @property
    def as_provider(self) -> Provider:
        """A provider's own resource, as the provider of others."""
        return Provider(self.urn, self.type, self.name, self.asked)

    @cached_property
    def kind(self) -> str:
        """The Kubernetes kind: from the object itself, else from the type token (`...:ConfigMap` or
        `...:ConfigMapPatch`)."""
        stated = at(self.body, "kind")
        if isinstance(stated, str):
            return stated
        return self.type.rsplit(":", 1)[-1].removesuffix("Patch") if self.is_kubernetes else ""

    @cached_property
    def group(self) -> str:
        """The Kubernetes API group ("" for core), from apiVersion, else from the type token."""
        stated = at(self.body, "apiVersion")
        if not isinstance(stated, str):
            parts = self.type.split(":")
            stated = parts[1] if len(parts) == 3 else ""
        group, joint, _ = stated.partition("/")
        return group if joint and group != "core" else ""

    @cached_property
    def namespace(self) -> str:
        found = at(self.body, "metadata", "namespace")
        return found if isinstance(found, str) else ""

    @cached_property
    def object_name(self) -> str:
        found = at(self.body, "metadata", "name")
        return found if isinstance(found, str) else ""


@dataclass(frozen=True)
class Stack:
    """One stack at one moment.

    `partial`: only some resources are known, before a write. A rule that needs the whole stack (flow) is silent then,
    and judges at the end.
    """

    name: str
    resources: tuple[Resource, ...]
    project: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    secret_config_keys: frozenset[str] = frozenset()
    preview: bool = False
    partial: bool = False
    marks: bool = True
    """False where the front end cannot read the secret marks (plain manifests)."""

    @cached_property
    def by_urn(self) -> Mapping[str, Resource]:
        """Resources by URN, and dependencies without a resource: the engine shows no StackReference to its policies."""
        found = {resource.urn: resource for resource in self.resources}
        for resource in self.resources:
            for urn in {urn for urns in resource.dependencies.values() for urn in urns if urn not in found}:
                _, _, rest = urn.partition("::")
                kind, _, name = rest.partition("::")[2].partition("::")
                found[urn] = Resource(urn, kind.rsplit("$", 1)[-1], name, read_only=True)
        return found

    def sources_of(self, resource: Resource, *names: str) -> list[Resource]:
        """The sources of the values of some of its properties, each once."""
        urns = dict.fromkeys(urn for name in names for urn in resource.sources.get(name, ()))
        return [self.by_urn[urn] for urn in urns]

    @cached_property
    def names(self) -> frozenset[str]:
        """Names and namespaces of the Kubernetes objects, which are no secrets in any place. A name made from a secret
        stays a secret."""
        return frozenset(
            name
            for resource in self.resources
            if resource.is_kubernetes
            for key, name in (("name", resource.object_name), ("namespace", resource.namespace))
            if name and len(name) <= LONGEST_NAME and not is_marked(resource.asked, "metadata", key)
        )

    def ancestor_types(self, resource: Resource) -> tuple[str, ...]:
        """Types above a resource. A URN repeats its parents' types, so this also works for unknown parents."""
        chain = resource.urn.split("::")
        return tuple(chain[2].split("$")[:-1]) if len(chain) > 3 else ()
