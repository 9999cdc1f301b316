"""Writes `inputs.py`: the documents' models as TypedDicts, for programs that give a mesh as arguments, in any language.

Pulumi's component host makes a package's schema from TypedDicts, and cannot from pydantic's models. The file is
committed; a test compares it with what is written here.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.data_plane import Access, DataPlane, DataPlaneSettings
from pulumi_hosted_mesh.spec.deployment import Deployment, DeploymentCluster
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.exposure import ExternalExposure, LoadBalancerExposure
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.load import models_in
from pulumi_hosted_mesh.spec.mesh import Mesh

INPUTS = Path(__file__).parent.parent / "inputs.py"
ROOTS: tuple[type[BaseModel], ...] = (Mesh, DataPlane, EndpointDocument, Federation, Offer, DnsBridge, Deployment)
HEAD = '''"""The documents as TypedDicts, for programs. Written by `hosted-mesh schema --write`; see `spec.typed_dicts`.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
'''
# What a program may have as an Output, for it may make the cluster itself.
INPUT = {
    (Access, "api_server"),
    (Access, "certificate_authority"),
    (EndpointDocument, "root_certificate"),
    (DeploymentCluster, "api_server"),
    (DeploymentCluster, "certificate_authority"),
}
LENGTH = 120


def text() -> str:
    """The module's text."""
    known: dict[str, str] = {}
    for model in ROOTS:
        for name, definition in _definitions(model):
            known.setdefault(name, definition)
    return "\n\n".join([HEAD, *known.values()])


def write() -> None:
    """Writes the module."""
    INPUTS.write_text(text(), encoding="utf-8")


def name_of(model: type[BaseModel]) -> str:
    """`MeshArgs` for `Mesh`."""
    return f"{model.__name__.removesuffix('Document')}Args"


def _definitions(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The TypedDicts that a model needs, and then its own."""
    fields = dict(model.model_fields)
    for field in fields.values():
        for part in models_in(field.annotation):
            if part is not ClusterReference:
                yield from _definitions(part)
    if model is LoadBalancerExposure:
        yield "ExposureArgs", _typed_dict("ExposureArgs", "How the data plane reaches istiod.", model, fields)
    elif model is not ExternalExposure:
        doc = (model.__doc__ or "").strip().splitlines()[0]
        yield name_of(model), _typed_dict(name_of(model), doc, model, fields)


def _typed_dict(name: str, doc: str, model: type[BaseModel], fields: dict[str, FieldInfo]) -> str:
    lines = [f"class {name}(TypedDict):", f'    """{doc}"""', ""]
    for field_name, field in fields.items():
        written = _written(model, field_name, field.annotation)
        lines.append(f"    {field_name}: {written if field.is_required() else f'NotRequired[{written}]'}")
        if field.description:
            lines += _docstring(field.description)
    return "\n".join(lines) + "\n"


def _docstring(description: str) -> list[str]:
    lines = description.splitlines()
    quoted = [f'    """{lines[0]}', *(f"    {line}" for line in lines[1:])]
    if len(quoted[-1]) + 3 > LENGTH:
        return [*quoted, '    """']
    quoted[-1] += '"""'
    return quoted


def _written(model: type[BaseModel], name: str, annotation: Any) -> str:
    if name == "cluster":
        return "DataPlaneCluster" if issubclass(model, DataPlaneSettings | DeploymentCluster) else "ControlPlaneCluster"
    written = _type(annotation)
    return f"pulumi.Input[{written}]" if (model, name) in INPUT else written


def _type(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0])
    if origin is Literal:
        return type(parts[0]).__name__
    if origin in (Union, types.UnionType):
        arms = [part for part in parts if part is not type(None)]
        if any(_type(arm) == "ExposureArgs" for arm in arms):
            return "ExposureArgs"
        return _type(arms[0])
    if origin is tuple:
        return f"list[{_type(parts[0])}]"
    if origin is dict:
        return f"dict[str, {_type(parts[1])}]"
    if annotation is object:
        return "Any"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "ExposureArgs" if annotation is LoadBalancerExposure else name_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "str"
    return str(annotation.__name__)
