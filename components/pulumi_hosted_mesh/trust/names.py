"""The names that the mesh's certificate authorities have in their certificates."""

from __future__ import annotations

from typing import Final

ORGANIZATION: Final = "hosted-mesh"


def root_common_name(mesh: str) -> str:
    """Common name of a root's certificate."""
    return f"{mesh} root"


def intermediate_common_name(mesh: str) -> str:
    """Common name of a mesh's intermediate certificate."""
    return f"{mesh} intermediate"
