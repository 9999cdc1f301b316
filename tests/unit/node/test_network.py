"""Addresses of Pods, and what the container runtime is answered."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.node.network import pod_network
from sandbox.node.network.addresses import AddressPool
from sandbox.node.network.daemon import Daemon
from sandbox.node.network.pod_network import PodNetwork, Uplink
from sandbox.node.network_policies.enforcer import Enforcer


@given(st.lists(st.booleans(), max_size=40))
def test_addresses_are_unique_while_held(steps: list[bool]) -> None:
    pool = AddressPool("10.1.0.0/28", reserved=["10.1.0.1"])
    held: list[str] = []
    for take in steps:
        if take and len(held) < 13:
            address = pool.take()
            assert address not in held
            assert address != "10.1.0.1"
            held.append(address)
        elif held:
            pool.release(held.pop(0))


def test_an_address_is_not_given_again_at_once() -> None:
    pool = AddressPool("10.1.0.0/29", reserved=[])
    first = pool.take()
    pool.release(first)
    assert pool.take() != first


def test_an_exhausted_range_says_so() -> None:
    pool = AddressPool("10.1.0.0/30", reserved=["10.1.0.1"])
    pool.take()
    with pytest.raises(RuntimeError, match=r"10\.1\.0\.0/30"):
        pool.take()


class Kernel:
    """Policies and networks of a node with one address for Pods, and all that was done to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tools: Path) -> None:
        self.done: list[tuple[str, ...]] = []
        self.refusal = ""
        monkeypatch.setattr(pod_network, "create", self._create)
        monkeypatch.setattr(pod_network, "remove", self._remove)
        addresses = AddressPool("10.1.0.0/30", reserved=["10.1.0.1"])
        self.daemon = Daemon(Uplink("br0", "10.1.0.1"), addresses, cast(Enforcer, self), tools)

    async def admit(self, uid: str, address: str) -> None:
        self.done.append(("admit", uid, address))

    def dismiss(self, address: str) -> None:
        self.done.append(("dismiss", address))

    async def _create(self, _: Uplink, interface: str, address: str, sysctls: dict[str, str]) -> PodNetwork:
        if self.refusal:
            raise OSError(self.refusal)
        self.done.append(("create", interface, address, *sysctls.items()))
        return PodNetwork(address, interface, 77)

    async def _remove(self, network: PodNetwork) -> None:
        self.done.append(("remove", network.interface))

    def ask(self, **asked: Any) -> dict[str, Any]:
        return asyncio.run(self.daemon.answer(asked))


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    return Kernel(monkeypatch, tmp_path)


SANDBOX = "0123456789abcdef"


def test_a_pod_has_its_network_after_the_policies_hold_and_gives_its_address_back(kernel: Kernel) -> None:
    made = kernel.ask(do="add", id=SANDBOX, uid="u", sysctls={"net.a": "1", "kernel.b": "2"})
    assert made == {"address": "10.1.0.2", "namespace": f"/proc/{os.getpid()}/fd/77"}
    assert kernel.done == [("admit", "u", "10.1.0.2"), ("create", "pod0123456789a", "10.1.0.2", ("net.a", "1"))]
    assert kernel.ask(do="add", id="other", uid="v") == {"error": "every address of 10.1.0.0/30 is in use"}
    assert kernel.ask(do="remove", id=SANDBOX) == kernel.ask(do="remove", id=SANDBOX) == {}
    assert kernel.done[2:] == [("remove", "pod0123456789a"), ("dismiss", "10.1.0.2")]
    assert kernel.ask(do="add", id="other", uid="v")["address"] == "10.1.0.2"


def test_a_network_that_cannot_be_made_leaves_nothing_behind(kernel: Kernel) -> None:
    kernel.refusal = "no such bridge"
    assert kernel.ask(do="add", id=SANDBOX, uid="u") == {"error": "no such bridge"}
    assert kernel.done[1:] == [("dismiss", "10.1.0.2")]
    kernel.refusal = ""
    assert "address" in kernel.ask(do="add", id=SANDBOX, uid="u")


def test_an_image_is_an_id_and_a_user_or_is_not_known(kernel: Kernel, tmp_path: Path) -> None:
    assert "unknown" not in kernel.ask(do="image", reference="istio/pilot:1")  # its program is missing: an error
    (tmp_path / "pilot-discovery").touch()
    found = kernel.ask(do="image", reference="istio/pilot:1")
    assert found["id"].startswith("sandbox-process:pilot-discovery@sha256:")
    assert found["user"] == 1337
    unknown = kernel.ask(do="image", reference="nginx:1")
    assert unknown["unknown"]
    assert "nginx:1" in unknown["error"]


@pytest.mark.parametrize("asked", [{}, {"do": "juggle"}, {"do": "add", "id": "a"}])
def test_what_is_asked_in_another_way_is_an_error(kernel: Kernel, asked: dict[str, Any]) -> None:
    assert list(kernel.ask(**asked)) == ["error"]


def test_a_line_is_answered_by_a_line_and_the_end(kernel: Kernel, tmp_path: Path) -> None:
    async def body() -> bytes:
        await kernel.daemon.serve(tmp_path / "s")
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        writer.write(b'{"do": "remove", "id": "a"}\n')
        answer = await reader.read()
        writer.close()
        return answer

    assert json.loads(asyncio.run(body())) == {}
