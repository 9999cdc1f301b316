"""HTML of the forms: what an act does, and its confirmation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pulumi_hosted_mesh import Problem

from hosted_mesh_controller.api.page_parts import (
    badge,
    e,
    link,
    object_path,
    operation_path,
    page,
    steps_list,
    tenant_path,
    way,
    wrong,
)
from hosted_mesh_controller.api.page_session import PROOF, VERSION, Session
from hosted_mesh_controller.views import Operation, OrderedObject
from hosted_mesh_controller.vocabulary import Action, Repair, State

REFUSED: Final = "nothing was done"


def form(own: Session, path: str, button: str, *, version: object = "", style: str = "", inner: str = "") -> str:
    """A form that changes something. style: class of its button. inner: HTML of its fields."""
    version = str(version)
    hidden = {PROOF: own.proof(path, version), VERSION: version}
    fields = "".join(f'<input type="hidden" name="{name}" value="{e(value)}">' for name, value in hidden.items())
    return (
        f'<form method="post" action="{e(path)}" autocomplete="off">{fields}{inner}'
        f'<p><button class="{style}">{e(button)}</button></p></form>'
    )


def of_tenant(tenant: str) -> str:
    """Buttons of a tenant's page."""
    return _acts(_button(f"{tenant_path(tenant)}/orders", "Order an object"))


def of_object(one: OrderedObject, own: Session) -> str:
    """Buttons of an object's page. Previews begin at once, because they change nothing."""
    path = object_path(one.tenant, one.kind, one.name)
    return _acts(
        form(own, f"{path}/preview", "Preview"),
        _button(f"{path}/apply", "Run again"),
        _button(f"{tenant_path(one.tenant)}/orders?kind={one.kind}&name={one.name}", "Change"),
        _button(f"{path}/upkeep", "Drift policy"),
        form(own, f"{path}/preview-removal", "Preview removal"),
        _button(f"{path}/remove", "Remove", "danger"),
    )


def of_operation(one: Operation) -> str:
    """Buttons of an operation's page."""
    if not one.state.ended:
        return _acts(_button(f"{operation_path(one)}/cancel", "Cancel"))
    if one.state is not State.SUCCEEDED:
        return ""
    if one.action is Action.PREVIEW_UP:
        return _acts(_button(f"{operation_path(one)}/order", "Order this", "main"))
    if one.action is Action.PREVIEW_DESTROY:
        return _acts(_button(f"{object_path(one.tenant, one.kind, one.name)}/remove", "Remove", "danger"))
    return ""


def cancel(one: Operation, own: Session) -> str:
    """The confirmation of a cancellation."""
    path = operation_path(one)
    body = (
        f"<p>{badge(one.state)} An operation that has not started ends at once. One that runs gets an interrupt: "
        "its begun steps end, and its finished steps stay. Run the object again, or remove it.</p>"
    )
    body += form(own, f"{path}/cancel", "Cancel the operation", style="danger")
    title = f"Cancel {one.action} of {one.kind}/{one.name}?"
    return page(title, way(one.tenant, (path, "operation")), body)


def apply(one: OrderedObject, own: Session) -> str:
    """The confirmation of another run with the same documents."""
    path = object_path(one.tenant, one.kind, one.name)
    body = (
        f"<p>{badge(one.state)} The clusters have order {one.ready_generation} of {one.generation}. One more run of "
        "<code>pulumi up</code> with the same documents continues a failed one.</p>"
    )
    body += form(own, f"{path}/apply", "Run it again", version=one.generation, style="main")
    return page(f"Run {one.kind}/{one.name} again?", way(one.tenant, (path, one.name)), body)


def removal(
    one: OrderedObject,
    own: Session,
    lost: Iterable[str],
    preview: Operation | None,
    problems: Sequence[Problem] = (),
    *,
    is_protected: bool = False,
) -> str:
    """The confirmation of a removal. lost: sentences. preview: of the removal of this very order."""
    path = object_path(one.tenant, one.kind, one.name)
    body = wrong(REFUSED if problems else "", problems)
    body += f"<p>Removed for good:</p><ul>{''.join(f'<li>{e(sentence)}</li>' for sentence in lost)}</ul>"
    if is_protected:
        body += (
            '<p class="note">The run rejects this removal while <code>trust.root.protect</code> is true: '
            "the provider orders false first.</p>"
        )
    if preview is None:
        body += "<p>There is no preview of this removal. It lists each resource.</p>"
        body += form(own, f"{path}/preview-removal", "Preview removal")
    else:
        body += f"<h2>Resources</h2><p>By the preview of {link(preview, preview.created)}:</p>"
        body += f'<div class="scroll">{steps_list((preview.result or {}).get("steps", ()))}</div>'
    inner = (
        f'<label for="name">Type the name, {e(one.name)}, to confirm</label>'
        '<input id="name" name="name" required spellcheck="false">'
    )
    body += form(own, f"{path}/remove", "Remove it", version=one.generation, style="danger", inner=inner)
    return page(f"Remove {one.kind}/{one.name}?", way(one.tenant, (path, one.name)), body)


def upkeep(one: OrderedObject, own: Session, default: Repair) -> str:
    """The choice of a policy for drift."""
    path = object_path(one.tenant, one.kind, one.name)
    texts = {
        "": f"the policy of the controller's settings: {default}",
        Repair.ALWAYS: "always: mend changes by others, within a budget",
        Repair.REPORT: "report: leave changes by others, and report them",
    }
    options = "".join(f'<option value="{e(value)}">{e(text)}</option>' for value, text in texts.items())
    inner = f'<label for="repair">Policy for drift</label><select id="repair" name="repair">{options}</select>'
    body = f"<p>The policy now: <b>{e(one.upkeep.repair)}</b></p>"
    body += form(own, f"{path}/upkeep", "Set the policy", style="main", inner=inner)
    return page(f"Drift policy of {one.kind}/{one.name}", way(one.tenant, (path, one.name)), body)


def documents(
    tenant: str,
    own: Session,
    kinds: Iterable[str],
    given: Mapping[str, str],
    detail: str = "",
    problems: Sequence[Problem] = (),
) -> str:
    """The form of an order. given: kind and documents of the form before."""
    options = "".join(
        f'<option value="{e(kind)}"{" selected" if kind == given.get("kind") else ""}>{e(kind)}</option>'
        for kind in kinds
    )
    inner = f'<label for="kind">Kind</label><select id="kind" name="kind">{options}</select>'
    inner += '<label for="documents">Documents of the object, in YAML</label>'
    inner += f'<textarea id="documents" name="documents" required spellcheck="false">\n{e(given.get("documents", ""))}'
    inner += "</textarea>"
    body = wrong(detail, problems) + "<p>A preview changes nothing. Its page has the button of the order.</p>"
    body += form(own, f"{tenant_path(tenant)}/orders", "Preview", style="main", inner=inner)
    return page("Order an object", way(tenant), body)


def order(one: Operation, own: Session, text: str, generation: int | None) -> str:
    """The confirmation of the order of a preview's documents. generation: of the object, None for a new one."""
    path = operation_path(one)
    act = "Change" if generation else "Create"
    steps: Sequence[Mapping[str, Any]] = (one.result or {}).get("steps", ())
    listed = f'<div class="scroll">{steps_list(steps)}</div>' if steps else "<p>No step: the clusters have this.</p>"
    body = f"<h2>Steps of the preview</h2>{listed}"
    body += form(own, f"{path}/order", f"{act} it", version=generation or "", style="main")
    body += f'<h2>Documents</h2><pre class="scroll">{e(text)}</pre>'
    return page(f"{act} {one.kind}/{one.name}?", way(one.tenant, (path, "preview")), body)


def _acts(*buttons: str) -> str:
    return f'<div class="acts">{"".join(buttons)}</div>'


def _button(path: str, text: str, style: str = "") -> str:
    """A link to a confirmation."""
    return f'<a class="button {style}" href="{e(path)}">{e(text)}</a>'
