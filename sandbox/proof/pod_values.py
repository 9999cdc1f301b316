"""The required variables and arguments of a container, by its Pod's own object. Pure.

It shares no code with the node: only then does agreement prove something.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from lightkube.models.core_v1 import Container
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.utils.quantity import parse_quantity

from sandbox.proof.deployed import NotObserved

Data = Mapping[str, str]
_REFERENCE = re.compile(r"\$\$|\$\(([^()$]+)\)")
_KEYED = re.compile(r"metadata\.(annotations|labels)\['(.+)'\]")


def values(pod: PodModel, container: Container, objects: Mapping[str, Callable[[str], Data]]) -> dict[str, str]:
    """The value of each variable, without optional references to missing objects.

    objects: for "configMapKeyRef" and "secretKeyRef" a function that returns an object's data by its name. Raises
    NotObserved for an unsupported source: without a comparison nothing is proven.
    """
    found: dict[str, str] = {}
    for variable in container.env or []:
        if variable.valueFrom is None:
            found[variable.name] = expanded(variable.value or "", found)
            continue
        source = variable.valueFrom.to_dict()
        ((kind, reference),) = source.items()
        if kind == "fieldRef":
            found[variable.name] = _field(pod, reference["fieldPath"])
        elif kind == "resourceFieldRef":
            found[variable.name] = _resource(container, reference)
        elif kind in objects:
            value = objects[kind](reference["name"]).get(reference["key"])
            if value is not None:
                found[variable.name] = value
            elif not reference.get("optional"):
                raise NotObserved(f"variable {variable.name}: {reference['name']} has no key {reference['key']}")
        else:
            raise NotObserved(f"variable {variable.name} comes from {kind}, which this proof does not support")
    return found


def expanded(text: str, known: Mapping[str, str]) -> str:
    """A value or argument with its $(NAME)s replaced by earlier variables, as in Kubernetes."""
    return _REFERENCE.sub(lambda found: "$" if found[0] == "$$" else known.get(found[1], found[0]), text)


def _field(pod: PodModel, path: str) -> str:
    held: Any = pod.to_dict()
    if found := _KEYED.match(path):
        return str((held["metadata"].get(found[1]) or {}).get(found[2], ""))
    for part in path.split("."):
        if not isinstance(held, dict) or part not in held:
            raise NotObserved(f"the Pod has no {path}, from which a variable comes")
        held = held[part]
    return str(held)


def _resource(container: Container, reference: Mapping[str, Any]) -> str:
    """A limit or request in whole units, rounded up, as Kubernetes passes it to programs."""
    kind, _, name = str(reference["resource"]).partition(".")
    resources = container.resources.to_dict() if container.resources else {}
    amount = (resources.get(kind) or {}).get(name)
    if amount is None:
        raise NotObserved(f"the container has no {reference['resource']}, from which a variable comes")
    divisor = str(reference.get("divisor") or "1")
    return str(math.ceil(_number(amount) / (_number(divisor) or 1)))


def _number(quantity: str) -> Decimal:
    try:
        return parse_quantity(quantity) or Decimal(0)
    except ValueError:
        raise NotObserved(f"{quantity} is not a quantity that this proof can read") from None
