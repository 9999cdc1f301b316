"""Addresses of Pods: each in use once, the longest unused one first."""

import ipaddress
from collections.abc import Iterable, Iterator


class AddressPool:
    """Hands out the host addresses of ``cidr``, the ``reserved`` ones never."""

    def __init__(self, cidr: str, reserved: Iterable[str]) -> None:
        self._network = ipaddress.ip_network(cidr)
        self._used: set[str] = set(reserved)
        self._next: Iterator[str] = iter(())

    def take(self) -> str:
        """A free address. Raises RuntimeError when there is none.

        Goes round the range instead of giving back the lowest free one: connection tables may still hold an address
        that has just been released.
        """
        for _ in range(2):
            for address in self._next:
                if address not in self._used:
                    self._used.add(address)
                    return address
            self._next = (str(host) for host in self._network.hosts())
        raise RuntimeError(f"every address of {self._network} is in use")

    def release(self, address: str) -> None:
        self._used.discard(address)
