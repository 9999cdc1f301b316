"""The kinds of documents, and the kind of a file that a command does not take."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pulumi_hosted_mesh.cli import stack_file
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.application import Application
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, Offer
from pulumi_hosted_mesh.spec.fields import Model
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.intents import Intents
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.spec.operators import Operators


class DocumentKind(StrEnum):
    """The documents."""

    MESH = "mesh"
    DATA_PLANE = "data-plane"
    ENDPOINT = "endpoint"
    DEPLOYMENT = "deployment"
    APPLICATION = "application"
    FEDERATION = "federation"
    OFFER = "offer"
    DNS = "dns"
    GATEWAY = "gateway"
    INTENTS = "intents"
    INVENTORY = "inventory"
    OBSERVABILITY = "observability"
    OPERATORS = "operators"
    STACK = "stack"


DOCUMENTS: Final[Mapping[DocumentKind, type[Model]]] = {
    DocumentKind.MESH: Mesh,
    DocumentKind.DATA_PLANE: DataPlane,
    DocumentKind.ENDPOINT: EndpointDocument,
    DocumentKind.DEPLOYMENT: Deployment,
    DocumentKind.APPLICATION: Application,
    DocumentKind.FEDERATION: Federation,
    DocumentKind.OFFER: Offer,
    DocumentKind.DNS: DnsBridge,
    DocumentKind.GATEWAY: GatewaySettings,
    DocumentKind.INTENTS: Intents,
    DocumentKind.INVENTORY: Inventory,
    DocumentKind.OBSERVABILITY: Observability,
    DocumentKind.OPERATORS: Operators,
}
COMMANDS: Final[Mapping[str, str]] = {
    DocumentKind.MESH: "`hosted-mesh doctor --mesh NAME`, without the file, checks its mesh",
    DocumentKind.DATA_PLANE: "`hosted-mesh token FILE` and `hosted-mesh leftovers FILE` take it",
    DocumentKind.ENDPOINT: "`hosted-mesh check-webhooks FILE` and `hosted-mesh doctor --endpoint FILE` take it",
    DocumentKind.DEPLOYMENT: "`hosted-mesh validate --kind deployment FILE` checks it",
    DocumentKind.APPLICATION: "`hosted-mesh validate --kind application FILE` checks it",
    DocumentKind.FEDERATION: "`hosted-mesh doctor FILE --mesh NAME` and `hosted-mesh exports FILE` take it",
    DocumentKind.OFFER: "`hosted-mesh doctor --offer FILE` takes it",
    DocumentKind.DNS: "`hosted-mesh validate --kind dns FILE` checks it",
    DocumentKind.GATEWAY: "`hosted-mesh validate --kind gateway FILE` checks it",
    DocumentKind.INTENTS: "`hosted-mesh intents compile INTENTS INVENTORY` takes it",
    DocumentKind.INVENTORY: "`hosted-mesh intents compile INTENTS INVENTORY` takes it",
    DocumentKind.OBSERVABILITY: "`hosted-mesh validate --kind observability FILE` checks it",
    DocumentKind.OPERATORS: "`hosted-mesh validate --kind operators FILE` checks it",
    DocumentKind.STACK: "`hosted-mesh validate --kind stack FILE` checks it",
}
"""The commands for each kind."""


def kinds_of(content: object) -> list[str]:
    """The kinds of document that content is valid as. For a stack's file only the keys are compared."""
    fitting = [DocumentKind.STACK.value] if stack_file.is_one(content) else []
    for kind, model in DOCUMENTS.items():
        with contextlib.suppress(InvalidInputError):
            read_document(model, content)
            fitting.append(kind.value)
    return fitting
