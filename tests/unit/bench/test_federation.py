"""What a mesh of a federation costs: as much among twenty as among two, unless it imports more."""

from __future__ import annotations

from bench.federation import EVERY_OTHER, EXPORTED, SHARED, SIZES, cost


def test_a_mesh_that_imports_as_much_is_given_as_much_among_twenty_as_among_two() -> None:
    found = [cost(size, 1) for size in SIZES]
    assert len({(one.imported, one.objects, one.entries, one.all) for one in found}) == 1
    # A Gateway, an AuthorizationPolicy, a ProxyConfig and twenty routes; an entry and a rule for each import.
    assert (found[0].imported, found[0].objects) == (EXPORTED, 3 + EXPORTED + 2 * EXPORTED)


def test_what_grows_is_what_is_imported() -> None:
    few, many = (cost(size, EVERY_OTHER) for size in (2, 20))
    assert (few.imported, many.imported) == (EXPORTED, 19 * EXPORTED)
    assert many.objects - few.objects == 2 * (many.imported - few.imported)
    each = {(one.entries - 1) / one.imported for one in (few, many)}  # a list has one comma or bracket more
    assert len(each) == 1


def test_with_shared_objects_a_mesh_costs_one_object_for_each_peer() -> None:
    few, many = (cost(size, EVERY_OTHER, **SHARED) for size in (2, 20))
    assert (few.imported, many.imported) == (EXPORTED, 19 * EXPORTED)
    assert (few.objects, many.objects) == (4 + EXPORTED + 1, 4 + EXPORTED + 19)
