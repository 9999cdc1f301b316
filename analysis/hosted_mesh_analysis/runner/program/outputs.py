"""Outputs in place of providers: a resource's inputs, and the provider's additions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..secrets.generator import Source
from ..secrets.made_up import Answers, completed
from ..values import answered, leaves, plain, secret

CHARTS: Final = frozenset(
    ["kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Release", "kubernetes:kustomize/v2:Directory"]
    + [f"kubernetes:yaml/v2:{kind}" for kind in ("ConfigFile", "ConfigGroup")]
)
"""Renderers of the kubernetes package: their output is a function of the inputs, except for transforms."""


@dataclass(frozen=True)
class Wanted:
    """A resource that needs outputs.

    inputs: with their marks. forms: declared outputs of the program's class (`declared`). secrets: outputs that are
    secret as a whole. id_read: the id of a read resource; empty for a new one.
    """

    urn: str
    kind: str
    inputs: Mapping[str, Any]
    forms: Mapping[str, Any]
    source: Source
    secrets: tuple[str, ...] = ()
    id_read: str = ""

    @property
    def name(self) -> str:
        return self.urn.rpartition("::")[2]


def outputs(answers: Answers, wanted: Wanted) -> dict[str, Any]:
    """The outputs. Raises: UnusableKeyError."""
    kind, source, known = wanted.kind, wanted.source, plain(wanted.inputs)
    given = answered(wanted.inputs)
    if kind.startswith("tls:index/privateKey"):
        made = answers.key(source, known)
    elif kind.startswith("tls:index/"):
        made = answers.certificate(kind, known)
    elif kind.startswith("random:"):
        made = answers.chance(kind, wanted.urn, source, known, _form(wanted.inputs))
    elif kind.startswith("kubernetes:"):
        made = _of_cluster(answers, wanted, given)
        if kind == "kubernetes:core/v1:Secret":
            data = answers.kubernetes_secret(source, {} if wanted.id_read else known)
            made |= {"data": secret(data), "type": known.get("type") or "Opaque"}
    else:
        added = answers.declared(source, wanted.forms, wanted.secrets, wanted.urn)
        made = {name: completed(given.get(name), one) for name, one in added.items()}
    found = {**given, **made}
    return found | {key: secret(found[key]) for key in wanted.secrets if key in found}


def _form(inputs: Mapping[str, Any]) -> str:
    """Inputs that change a random value. Secret ones are left out: they would seem to be in the value."""
    told = {path: plain(leaf.value) for path, leaf in leaves(inputs) if not leaf.secret}
    return str(sorted((path, value) for path, value in told.items() if value is not None))


def _of_cluster(answers: Answers, wanted: Wanted, given: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster's additions to an object: a name and a namespace, a status, addresses; everything of a read object."""
    forms = {name: form for name, form in wanted.forms.items() if isinstance(form, dict)}
    forms = forms if wanted.id_read else {name: form for name, form in forms.items() if name == "status"}
    made = {"status": {}, **answers.declared(wanted.source, forms, (), wanted.urn)}
    if wanted.kind == "kubernetes:helm.sh/v3:Release":
        name, namespace = (plain(given.get(one)) for one in ("name", "namespace"))
        release = {"name": name or wanted.name.lower(), "namespace": namespace or "default"}
        return {"status": {**made["status"], **release}}
    if wanted.kind in CHARTS:
        return {}
    namespace, _, name = wanted.id_read.rpartition("/")
    metadata = {"name": name or wanted.name.lower(), "namespace": namespace or "default"}
    made["metadata"] = completed(given.get("metadata"), metadata)
    if wanted.kind.endswith(":Service"):
        made["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.10"}]}}
        made["spec"] = completed(given.get("spec"), {"clusterIP": "192.0.2.11"})
    return made


def new_id(kind: str, name: str) -> str:
    """A new resource's id. Programs parse those of Azure."""
    within = f"/subscriptions/{uuid.UUID(int=0)}/resourceGroups/made-up/providers/"
    return f"{within if kind.startswith('azure') else ''}{name}-id"
