"""A guard at the boundary that needs no policy pack: what the data plane's cluster is sent carries no secret of the
control plane's.

It sits in the options of every object (`Cluster.options`), sees where each value comes from and whether it is secret
while the program still holds it as an Output, and stops the program before the object is registered: at the first
preview, in an update without preview, whatever the engine's mode. The engine itself tells policies less
(docs/policies/timing.md).

It is a transformation of the object's own, which Pulumi runs first. Transformations of what is above the object, and
all `transforms`, come after it and can undo what it has proven; the policy pack judges what comes out of them.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakSet

import pulumi
from pulumi._types import is_input_type

from pulumi_hosted_mesh.boundary.ownership import (
    SECRET_TYPE,
    is_certificate,
    is_control_planes,
    is_made_by_control_plane,
)
from pulumi_hosted_mesh.boundary.refusals import printed_at_once
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

FIX: Final = (
    "Pass a public fact (a certificate, a host name). A value that is public although made from a secret goes through "
    "declassify(value, reason), a secret that is the data plane's own through data_plane_secret(value, reason)"
)
# The SDK's classes write string_data, programs with plain resources stringData.
MARKED_AS_A_WHOLE: Final = frozenset({"data", "string_data", "stringData"})
_on_control_plane: WeakSet[pulumi.Resource] = WeakSet()


class BoundaryError(InvalidInputError, pulumi.RunError):
    """A control-plane secret among the properties of an object for the data plane. It is raised while an Output
    resolves, past every `except` of the program's; a RunError is shown as one message, without a stack trace."""


def remember(args: pulumi.ResourceTransformationArgs) -> None:
    """A transformation for the control plane's objects: their secrets are the control plane's."""
    _on_control_plane.add(args.resource)


def keep_secrets_out(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    """A transformation for the data plane's objects: each Output among their properties is looked at before it is sent.

    The registration fails with BoundaryError, which names the property and the secret's source, never a value. It is
    printed at once, so usually twice: Pulumi prints at its end what a program ends with.
    """
    is_secret = args.type_.removesuffix("Patch") == SECRET_TYPE
    props = {
        name: _guarded(value, name, args.name, always_marked=is_secret and name in MARKED_AS_A_WHOLE)
        for name, value in args.props.items()
    }
    return pulumi.ResourceTransformationResult(props, args.opts)


def declassify(value: pulumi.Output[Any], reason: str) -> pulumi.Output[Any]:
    """The same value, public from here on and let through: made from a secret, but none itself, such as a hash.

    What is made from it is let through too, unless something secret is added. The policy pack still looks for secrets
    in it, byte for byte. Raises ValueError without a reason.
    """
    _require_reason("declassify", reason)
    return pulumi.Output.unsecret(_released(value, _Public))


def data_plane_secret(value: pulumi.Output[Any], reason: str) -> pulumi.Output[Any]:
    """The same value, still secret, let through: the data plane's own, such as a registry's password of another stack.

    Without it a secret of another stack's, or of an object in the control plane's cluster, counts as that plane's.
    What a component of the control plane's has made (`MeshTrust`, `ExternalControlPlane`) is not let through by this.
    Raises ValueError without a reason.
    """
    _require_reason("data_plane_secret", reason)
    return pulumi.Output.secret(_released(value, _UsersOwn))


class _Public(pulumi.resource.DependencyResource):
    """In a declassified Output, in the place of the resource that the value came from.

    It stands for the same URN, so nothing is lost of what the engine is told of dependencies. An Output hands its
    resources on to all that is made from it, so the release goes with the value, and only with it.
    """


class _UsersOwn(pulumi.resource.DependencyResource):
    """In a data plane's own secret, in the place of the resource that it came from; see `_Public`."""


def _require_reason(verb: str, reason: str) -> None:
    if len(reason.strip()) < len("a reason"):
        raise ValueError(f"{verb} wants a reason that a reviewer can judge")


def _released(value: pulumi.Output[Any], kind: type[_Public | _UsersOwn]) -> pulumi.Output[Any]:
    async def sources() -> set[pulumi.Resource]:
        urns = [await source.urn.future() for source in await value.resources()]
        return {kind(urn) for urn in urns if urn}

    return pulumi.Output(sources(), value.future(with_unknowns=True), value.is_known(), value.is_secret())


def _guarded(value: Any, path: str, resource: str, *, always_marked: bool) -> Any:
    """The value with a check before each Output in it. `always_marked`: the SDK marks a Secret's data as a whole, so
    the mark says nothing, and a certificate beside it is taken for what it is."""

    def inside(inner: Any, deeper: str) -> Any:
        return _guarded(inner, deeper, resource, always_marked=always_marked)

    if inspect.isawaitable(value) and not isinstance(value, pulumi.Output):
        value = pulumi.Output.from_input(value)
    if isinstance(value, pulumi.Output):
        checked: pulumi.Output[bool] = pulumi.Output.from_input(_check(value, path, resource, always_marked))
        # What an Output resolves to may hold Outputs again, with sources of their own.
        return checked.apply(lambda _: value).apply(lambda found: inside(found, path))
    if isinstance(value, Mapping):
        return {key: inside(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [inside(inner, f"{path}[{position}]") for position, inner in enumerate(value)]
    if is_input_type(type(value)):
        # A copy of the same class, by which the SDK knows the properties' names in the schema.
        guarded = copy.copy(value)
        vars(guarded).update({key: inside(inner, f"{path}.{key}") for key, inner in vars(value).items()})
        return guarded
    return value


async def _check(value: pulumi.Output[Any], path: str, resource: str, always_marked: bool) -> bool:
    """True; raises BoundaryError for a secret that comes from the control plane."""
    if not await value.is_secret():
        return True
    found = [(source, await source.urn.future() or "") for source in await value.resources()]
    guilty = [urn for source, urn in found if _is_guilty(source, urn) and not (always_marked and is_certificate(urn))]
    if guilty:
        # A value may come from a key and from its certificate; it is the key that people have to look at.
        origin = min(guilty, key=lambda urn: (is_certificate(urn), urn)).rpartition("::")[2]
        problem = Problem(f"{resource}.{path}", f"is a control-plane secret, from {origin}", FIX)
        with printed_at_once():
            raise BoundaryError([problem], "what the data plane is sent")
    return True


def _is_guilty(source: pulumi.Resource, urn: str) -> bool:
    if isinstance(source, _Public):
        return False
    if isinstance(source, _UsersOwn):
        return is_made_by_control_plane(urn)
    return source in _on_control_plane or is_control_planes(urn)
