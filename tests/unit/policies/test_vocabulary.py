"""The pack's copy of the library's words says the same."""

from __future__ import annotations

import pulumi_hosted_mesh.vocabulary as library
from hosted_mesh_plan import vocabulary
from pulumi_hosted_mesh.boundary import ownership

NAMES = sorted(name for name in vars(vocabulary) if name.isupper() and hasattr(library, name))


def test_words_that_both_have_are_the_same() -> None:
    assert len(NAMES) >= 10
    assert {name: getattr(vocabulary, name) for name in NAMES} == {name: getattr(library, name) for name in NAMES}


def test_whose_a_type_is_has_one_table() -> None:
    assert vocabulary.CONTROL_PLANE_TYPES == ownership.CONTROL_PLANE_TYPES
    assert vocabulary.DATA_PLANE_TYPES == ownership.DATA_PLANE_TYPES


def test_the_librarys_components_are_all_classified() -> None:
    tokens = {value for name, value in vars(library).items() if name.startswith("TYPE_")}
    # Both sides in one.
    tokens -= {library.TYPE_HOSTED_MESH, library.TYPE_MESH_DEPLOYMENT, library.TYPE_HOSTED_OPERATORS}
    assert tokens <= vocabulary.CONTROL_PLANE_TYPES | vocabulary.DATA_PLANE_TYPES
