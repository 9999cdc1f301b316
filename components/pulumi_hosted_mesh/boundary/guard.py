"""The guard: objects for the data plane's cluster contain no control-plane secret. It requires no policy pack.

The guard is in the options of every object (`Cluster.options`). It reads the source and the secret mark of each value
while the value is an Output. It stops the program before the object is registered: at the first preview, and in an
update without preview. The engine gives policies less information (docs/policies/timing.md).

The guard is a transformation of the object itself, which Pulumi runs first. Transformations of parents, and all
`transforms`, run later and can add secrets. The policy pack checks the result.
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
from pulumi_hosted_mesh.spec.reasons import is_for_reviewers

FIX: Final = (
    "Pass a public fact (a certificate, a host name). For a public value made from a secret, use "
    "declassify(value, reason); for the data plane's own secret, use data_plane_secret(value, reason)"
)
# The SDK's classes have string_data, programs with plain resources stringData.
MARKED_AS_A_WHOLE: Final = frozenset({"data", "string_data", "stringData"})
_on_control_plane: WeakSet[pulumi.Resource] = WeakSet()


class BoundaryError(InvalidInputError, pulumi.RunError):
    """A control-plane secret in the properties of an object for the data plane. It is raised while an Output resolves,
    so no `except` of the program catches it. Pulumi prints a RunError as one message, without a stack trace."""


def remember(args: pulumi.ResourceTransformationArgs) -> None:
    """A transformation for the control plane's objects: the guard treats their secrets as the control plane's."""
    _on_control_plane.add(args.resource)


def keep_secrets_out(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    """A transformation for the data plane's objects: it checks each Output in their properties before it is sent.

    The registration fails with BoundaryError, which names the property and the secret's source, never a value. The
    error is usually printed twice: at once, and by Pulumi at the program's end.
    """
    is_secret = args.type_.removesuffix("Patch") == SECRET_TYPE
    props = {
        name: _guarded(value, name, args.name, always_marked=is_secret and name in MARKED_AS_A_WHOLE)
        for name, value in args.props.items()
    }
    return pulumi.ResourceTransformationResult(props, args.opts)


def declassify(value: pulumi.Output[Any], reason: str) -> pulumi.Output[Any]:
    """The same value, public from here on: for a public value made from a secret, such as a hash.

    Values made from it pass too, unless a secret is added. The policy pack still searches it for the bytes of secrets.
    Raises ValueError without a reason.
    """
    _require_reason("declassify", reason)
    return pulumi.Output.unsecret(_released(value, _Public))


def data_plane_secret(value: pulumi.Output[Any], reason: str) -> pulumi.Output[Any]:
    """The same value, still secret: for the data plane's own secret, such as a registry password of another stack.

    Without it, a secret of another stack or of an object in the control plane's cluster is a control-plane secret.
    Secrets of control-plane components (`MeshTrust`, `ExternalControlPlane`) are rejected all the same.
    Raises ValueError without a reason.
    """
    _require_reason("data_plane_secret", reason)
    return pulumi.Output.secret(_released(value, _UsersOwn))


class _Public(pulumi.resource.DependencyResource):
    """Replaces the source resource in a declassified Output.

    It has the same URN, so the engine receives the same dependencies. An Output passes its resources on to Outputs made
    from it, so the release follows the value.
    """


class _UsersOwn(pulumi.resource.DependencyResource):
    """Replaces the source resource in a data plane's own secret; see `_Public`."""


def _require_reason(verb: str, reason: str) -> None:
    if not is_for_reviewers(reason):
        raise ValueError(f"{verb} requires a reason for reviewers")


def _released(value: pulumi.Output[Any], kind: type[_Public | _UsersOwn]) -> pulumi.Output[Any]:
    async def sources() -> set[pulumi.Resource]:
        urns = [await source.urn.future() for source in await value.resources()]
        return {kind(urn) for urn in urns if urn}

    return pulumi.Output(sources(), value.future(with_unknowns=True), value.is_known(), value.is_secret())


def _guarded(value: Any, path: str, resource: str, *, always_marked: bool) -> Any:
    """The value with a check before each Output in it.

    always_marked: for a Secret's data, which the SDK marks secret as a whole. There the mark of a certificate has no
    meaning, and the certificate passes.
    """

    def inside(inner: Any, deeper: str) -> Any:
        return _guarded(inner, deeper, resource, always_marked=always_marked)

    if inspect.isawaitable(value) and not isinstance(value, pulumi.Output):
        value = pulumi.Output.from_input(value)
    if isinstance(value, pulumi.Output):
        checked: pulumi.Output[bool] = pulumi.Output.from_input(_check(value, path, resource, always_marked))
        # The resolved value may contain Outputs with other sources.
        return checked.apply(lambda _: value).apply(lambda found: inside(found, path))
    if isinstance(value, Mapping):
        return {key: inside(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [inside(inner, f"{path}[{position}]") for position, inner in enumerate(value)]
    if is_input_type(type(value)):
        # A copy of the same class: the SDK takes the properties' names in the schema from the class.
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
        # A value may come from a key and from its certificate: the message names the key.
        origin = min(guilty, key=lambda urn: (is_certificate(urn), urn)).rpartition("::")[2]
        problem = Problem(f"{resource}.{path}", f"is a control-plane secret, from {origin}", FIX)
        with printed_at_once():
            raise BoundaryError([problem], "the data plane's objects")
    return True


def _is_guilty(source: pulumi.Resource, urn: str) -> bool:
    if isinstance(source, _Public):
        return False
    if isinstance(source, _UsersOwn):
        return is_made_by_control_plane(urn)
    return source in _on_control_plane or is_control_planes(urn)
