"""Programs outside of the mesh, between the clusters, and the authority that its proxies trust for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.clusters import Sandbox
from sandbox.clusters.network.addresses import WAN, WAN_ROUTER
from sandbox.proof.deployed import NotObserved, eventually
from tests.support.authorities import DAY, NOW, Authority, pem

ADDRESS = WAN_ROUTER
HTTP, TLS, PROXY = 18080, 18443, 13128
SECURE, SECURE_TOO, TUNNELLED = NAMES = "secure.example.org", "secure-too.example.org", "tunnelled.example.org"
"""Of the TLS server's certificate."""
PROGRAM = Path(__file__).parents[1] / "programs/outside.py"


@dataclass(frozen=True)
class Outside:
    """log: the file with a line for each request that arrived."""

    log: Path

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def saw(self, *words: str, since: int = 0) -> None:
        """Waits for a line with all of these words. since: lines of before."""

        def look() -> None:
            if not any(all(word in line.split() for word in words) for line in self.lines()[since:]):
                raise NotObserved(f"no line with {words} in {self.lines()[since:]}")

        eventually(look, seconds=120)


@contextmanager
def running(sandbox: Sandbox, folder: Path, authority: Authority) -> Iterator[Outside]:
    """The programs for as long as the block runs."""
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName(one) for one in NAMES]
    certificate = authority.sign(x509.Name([]), key.public_key(), ends=NOW + DAY, names=names)
    files = folder / "server.pem", folder / "server.key"
    files[0].write_bytes(pem(certificate))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    made = Outside(folder / "outside.log")
    command = [*sandbox.enter(WAN), sys.executable, "-I", str(PROGRAM), ADDRESS]
    with (
        made.log.open("wb") as log,
        # At the end its standard input closes.
        subprocess.Popen(
            [*command, *map(str, (HTTP, TLS, PROXY, *files))], stdin=subprocess.PIPE, stdout=log, stderr=log
        ),
    ):
        made.saw("ready")
        yield made
