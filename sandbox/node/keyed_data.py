"""What Secrets and ConfigMaps hold, by key; used by environments and by volumes alike."""

import base64
from collections.abc import Mapping

from lightkube.resources.core_v1 import ConfigMap, Secret

Reference = tuple[type[Secret] | type[ConfigMap], str]
"""Kind and name of an object of the Pod's own namespace."""
Objects = Mapping[Reference, Secret | ConfigMap | None]
"""Those that a Pod refers to; None, or left out, are those that do not exist."""


class MissingReferenceError(LookupError):
    """A Secret, ConfigMap or key that is not optional does not exist; the text is kubelet's."""


def described(reference: Reference) -> str:
    """As kubelet names it: secret "name"."""
    kind, name = reference
    return f'{kind.__name__.lower()} "{name}"'


def values(objects: Objects, reference: Reference, *, optional: bool | None) -> dict[str, bytes]:
    """An object's values; none of one that is optional and does not exist. Raises MissingReferenceError."""
    found = objects.get(reference)
    if found is None:
        if optional:
            return {}
        raise MissingReferenceError(f"{described(reference)} not found")
    encoded = found.data if isinstance(found, Secret) else found.binaryData
    plain = {} if isinstance(found, Secret) else found.data or {}
    return {
        **{key: value.encode() for key, value in plain.items()},
        **{key: base64.b64decode(value) for key, value in (encoded or {}).items()},
    }
