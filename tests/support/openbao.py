"""A real OpenBao server with a PKI engine: its root's key never leaves it."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.toolchain import Tools
from tests.support.ports import free_port
from tests.support.waiting import eventually

TOKEN = "root-of-the-test"
MOUNT = "pki"
SIGNS_AUTHORITIES = f"{MOUNT}/root/sign-intermediate"
SIGNS_WORKLOADS = f"{MOUNT}/sign-verbatim"


@dataclass(frozen=True)
class OpenBao:
    """address: of its API."""

    address: str
    tools: Tools

    @property
    def environment(self) -> dict[str, str]:
        """For `bao` and the blocks of docs/."""
        return {"BAO_ADDR": self.address, "BAO_TOKEN": TOKEN}

    def bao(self, *words: str, text: str = "") -> Any:
        """A command's answer; None for a line of text alone."""
        done = subprocess.run(
            [str(self.tools["bao"]), *words],
            env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "BAO_FORMAT": "json", **self.environment},
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.startswith(("{", "[")) else None

    def make_root(self) -> str:
        """Mounts the PKI engine with a root of its own; the root's certificate."""
        self.bao("secrets", "enable", "-path", MOUNT, "pki")
        self.bao("secrets", "tune", "-max-lease-ttl=87600h", MOUNT)
        made = self.bao(
            "write", f"{MOUNT}/root/generate/internal", "common_name=company root", "ttl=87600h", "key_type=ec"
        )
        return str(made["data"]["certificate"])

    def token_for(self, *paths: str) -> str:
        """A token that may write to these paths only."""
        rules = "\n".join(f'path "{one}" {{ capabilities = ["create", "update"] }}' for one in paths)
        policy = "-".join(paths).replace("/", "-")
        self.bao("policy", "write", policy, "-", text=rules)
        return str(self.bao("token", "create", f"-policy={policy}", "-no-default-policy")["auth"]["client_token"])

    def issuer(
        self, token: str, *, name: str = "vault-token", path: str = SIGNS_AUTHORITIES
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The `spec` of cert-manager's issuer, and the Secret with its token. name: of the Secret."""
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "cert-manager"},
            "stringData": {"token": token},
        }
        auth = {"tokenSecretRef": {"name": name, "key": "token"}}
        return {"vault": {"server": self.address, "path": path, "auth": auth}}, secret


@contextmanager
def openbao(tools: Tools, directory: Path) -> Iterator[OpenBao]:
    """A server in memory, unsealed, on this machine alone."""
    address = f"127.0.0.1:{free_port()}"
    command = [str(tools["bao"]), "server", "-dev", "-dev-no-store-token"]
    command += [f"-dev-root-token-id={TOKEN}", f"-dev-listen-address={address}"]
    with (directory / "openbao.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]}
        )
        try:
            eventually(lambda: _answers(address), "OpenBao answers")
            yield OpenBao(f"http://{address}", tools)
        finally:
            process.terminate()
            process.wait(timeout=30)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/v1/sys/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
