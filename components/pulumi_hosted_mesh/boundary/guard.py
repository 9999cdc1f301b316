"""A guard at the boundary that needs no policy pack: what the data plane's cluster is sent carries no secret of the
control plane's.

It sits in the options of every object (`Cluster.options`), sees where each value comes from and whether it is secret
while the program still holds it as an Output, and stops the program before the object is registered: at the first
preview, in an update without preview, whatever the engine's mode. The engine itself tells policies less
(docs/policies/timing.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakSet

import pulumi

from pulumi_hosted_mesh.boundary.ownership import SECRET_TYPE, is_certificate, is_control_planes
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

FIX: Final = (
    "Pass a public fact (a certificate, a host name); a value that is public although made from a secret goes through "
    "guard.declassify with a reason"
)
_on_control_plane: WeakSet[pulumi.Resource] = WeakSet()
_declassified: WeakSet[pulumi.Output[Any]] = WeakSet()


class BoundaryError(InvalidInputError, pulumi.RunError):
    """A control-plane secret among the properties of an object for the user's cluster. It is raised while an Output
    resolves, past every `except` of the program's; a RunError is shown as one message, without a stack trace."""


def remember(args: pulumi.ResourceTransformationArgs) -> None:
    """A transformation for the control plane's objects: their secrets are the control plane's."""
    _on_control_plane.add(args.resource)


def keep_secrets_out(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    """A transformation for the data plane's objects: each Output among their properties is looked at before it is sent.

    The registration fails with BoundaryError, which names the property and the secret's source, never a value.
    """
    kept_secret = {"data", "stringData"} if args.type_ == SECRET_TYPE else set[str]()
    props = {
        name: _guarded(value, name, args.name, always_marked=name in kept_secret) for name, value in args.props.items()
    }
    return pulumi.ResourceTransformationResult(props, args.opts)


def declassify(value: pulumi.Output[Any], reason: str) -> pulumi.Output[Any]:
    """The same value, let through: public although it is made from a secret, such as a hash.

    The policy pack still looks for secrets in it, byte for byte. Raises ValueError without a reason.
    """
    if len(reason.strip()) < len("a reason"):
        raise ValueError("declassify wants a reason that a reviewer can judge")
    public = pulumi.Output.unsecret(value)
    _declassified.add(public)
    return public


def _guarded(value: Any, path: str, resource: str, *, always_marked: bool) -> Any:
    """The value with a check before each Output in it. `always_marked`: the SDK marks a Secret's data as a whole, so
    the mark says nothing, and a certificate beside it is taken for what it is."""
    if isinstance(value, pulumi.Output):
        if value in _declassified:
            return value
        checked: pulumi.Output[bool] = pulumi.Output.from_input(_check(value, path, resource, always_marked))
        return pulumi.Output.all(value, checked).apply(lambda pair: pair[0])
    if isinstance(value, Mapping):
        return {
            key: _guarded(inner, f"{path}.{key}", resource, always_marked=always_marked) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _guarded(inner, f"{path}[{position}]", resource, always_marked=always_marked)
            for position, inner in enumerate(value)
        ]
    return value


async def _check(value: pulumi.Output[Any], path: str, resource: str, always_marked: bool) -> bool:
    """True; raises BoundaryError for a secret that comes from the control plane."""
    if not await value.is_secret():
        return True
    found = [(source, await source.urn.future() or "") for source in await value.resources()]
    guilty = [
        urn
        for source, urn in found
        if (source in _on_control_plane or is_control_planes(urn)) and not (always_marked and is_certificate(urn))
    ]
    if guilty:
        # A value may come from a key and from its certificate; it is the key that people have to look at.
        origin = min(guilty, key=lambda urn: (is_certificate(urn), urn)).rpartition("::")[2]
        problem = Problem(f"{resource}.{path}", f"is a control-plane secret, from {origin}", FIX)
        raise BoundaryError([problem], "what the data plane is sent")
    return True
