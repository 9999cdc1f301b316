"""Stack outputs, and marks: no control-plane secret in a plain output or on the data plane's side; all are marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.clusters import KUBECONFIG_KEYS
from hosted_mesh_plan.model import STACK_TYPE, Resource
from hosted_mesh_plan.tree import UNKNOWN, Path, Secret, Tree, leaves, show

from ..detect.leaf.content import as_bytes
from ..detect.search.tree_text import Text, text_of
from ..detect.shape.credential_forms import Kind
from ..detect.shape.shapes import Shape, shapes
from ..detect.value.inspection import inspect
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Rule
from .credentials import UNEXPLAINED

AWAITED: Final = (
    "is unknown before the update, and so is a control-plane secret of this stack: on the data plane's side nothing "
    "shows that the two differ"
)
UNMARKED: Final = "not marked secret: the state keeps it in plain text"


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    data_plane_side = context.owners.is_data_plane_side()
    for resource in context.stack.resources:
        if resource.type == STACK_TYPE:
            yield from _outputs(context, resource, data_plane_side)
        elif context.stack.marks and resource.urn in context.clusters.providers:
            yield from _provider(resource)
    if context.stack.marks:
        yield from _unmarked(context)


def _outputs(context: Context, stack: Resource, data_plane_side: bool) -> Iterator[tuple[Resource, str, str]]:
    outputs = stack.outputs if isinstance(stack.outputs, dict) else {}
    for name, value in outputs.items():
        text = text_of({name: _without_marked(value) if context.stack.marks else value})
        for path in _known_in(context, text):
            yield stack, f"output {show(path)}", "holds a control-plane secret and is not marked secret"
        for path, shape in _shapes_in(text):
            if shape.kind is not Kind.PASSWORD_HASH:
                yield stack, f"output {show(path)}", f"is {shape.kind.value} and not marked secret"
        for path, what in _given_out(context, name, value).items() if data_plane_side else ():
            yield stack, f"output {show(path)}", what


def _given_out(context: Context, name: str, value: Tree) -> dict[Path, str]:
    """Problems of an output of a stack on the data plane's side, marked or not."""
    text = text_of({name: value})
    found = dict.fromkeys(_known_in(context, text), "gives a control-plane secret to a stack on the data plane's side")
    for path, shape in _shapes_in(text):
        if shape.opens is not None and not context.opens_data_planes_alone(shape.opens):
            found.setdefault(path, "gives a kubeconfig of another cluster to the data plane's side")
    for leaf in leaves(value, (name,)):
        if leaf.value is UNKNOWN and context.flow.awaits_secrets:
            found.setdefault(leaf.path, AWAITED)
        elif leaf.secret and leaf.path not in found and not context.is_data_planes_own(as_bytes(leaf.value)):
            found[leaf.path] = UNEXPLAINED
    return found


def _known_in(context: Context, text: Text) -> Iterator[Path]:
    return (match.path for match in inspect(text, context.known, look_for_shapes=False).matches)


def _shapes_in(text: Text) -> Iterator[tuple[Path, Shape]]:
    return ((path, shape) for path, data in text.parts() for shape in shapes(data))


def _without_marked(tree: Tree) -> Tree:
    """The tree without values that are marked secret."""
    if isinstance(tree, Secret):
        return None
    if isinstance(tree, dict):
        return {key: _without_marked(value) for key, value in tree.items()}
    return [_without_marked(value) for value in tree] if isinstance(tree, list) else tree


def _provider(resource: Resource) -> Iterator[tuple[Resource, str, str]]:
    """An unmarked kubeconfig, which the state would keep in plain text: the kubernetes package does not mark it."""
    for leaf in leaves(resource.inputs if resource.inputs is not None else {}):
        if leaf.secret or not leaf.path or leaf.path[0] not in KUBECONFIG_KEYS:
            continue
        if any(shape.kind in {Kind.KUBECONFIG, Kind.CLIENT_KEY} for shape in shapes(as_bytes(leaf.value))):
            yield resource, show(leaf.path), f"is a kubeconfig with a credential and {UNMARKED}"


def _unmarked(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """Known secrets in unmarked inputs of a control-plane resource."""
    for resource in context.stack.resources:
        if not context.clusters.on_control_plane(resource) or resource.inputs is None or resource.kind == "Secret":
            continue
        if context.inspection(resource).matches:
            for path in _known_in(context, text_of(_without_marked(resource.inputs))):
                yield resource, show(path), f"holds a control-plane secret and is {UNMARKED}"


OUTPUTS = Rule(
    name="stack-outputs-keep-secrets",
    title="Stack outputs keep secrets",
    description="No control-plane secret is in a plain stack output, in any output of a stack on the data plane's "
    "side, or in a value that is not marked secret.",
    cure="Wrap the value in pulumi.Output.secret(...); export only public facts from a data-plane stack; pass "
    "kubeconfigs to providers as secrets. Read another stack's exports from that stack.",
    severity=Severity.HIGH,
    page="stacks",
    check_stack=check_stack,
)
