"""The names in the certificates of the mesh's certificate authorities."""

from __future__ import annotations

from typing import Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem, RuleBrokenError
from pulumi_hosted_mesh.spec.name_lengths import (
    INTERMEDIATE_SUFFIX,
    ROOT_SUFFIX,
    MadeName,
    require_short_names,
)

ORGANIZATION: Final = "hosted-mesh"


def root_common_name(mesh: str) -> str:
    """Common name of a root's certificate."""
    return f"{mesh}{ROOT_SUFFIX}"


def intermediate_common_name(mesh: str) -> str:
    """Common name of a mesh's intermediate certificate."""
    return f"{mesh}{INTERMEDIATE_SUFFIX}"


def require_short_common_name(component: str, name: str, suffix: str) -> None:
    """Raises InvalidInputError if the common name is too long for a certificate. name: of the component."""
    try:
        require_short_names([MadeName("common name", f"{name}{suffix}", (("the component's name", name),))])
    except RuleBrokenError as broken:
        raise InvalidInputError([Problem("name", broken.rule, broken.fix)], f"{component} {name}") from None
