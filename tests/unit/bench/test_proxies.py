"""What the bench writes for meshes that are not there: what the library makes, or all of their Services."""

from __future__ import annotations

import ipaddress

from bench.federation import EVERY_OTHER, EXPORTED, SERVICES
from bench.proxies import everything, imports


def test_a_mesh_is_written_what_the_library_makes_for_its_imports() -> None:
    assert [one["kind"] for one in imports(20, 1)] == ["ServiceEntry", "DestinationRule"] * EXPORTED
    assert imports(20, 1) == imports(2, 1)
    few, many = (imports(size, EVERY_OTHER) for size in (2, 20))
    assert len(many) == 19 * len(few)
    assert all(one in many for one in few)


def test_in_istios_way_all_services_of_all_others_are_written_each_with_an_endpoint() -> None:
    made = everything(20)
    assert [one["kind"] for one in made] == ["Service", "EndpointSlice"] * (19 * SERVICES)
    found = {ipaddress.ip_address(one["endpoints"][0]["addresses"][0]) for one in made if "endpoints" in one}
    assert len(found) == 19 * SERVICES
    assert len({one["metadata"]["name"] for one in made}) == 19 * SERVICES
