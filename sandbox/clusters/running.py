"""A running sandbox for its callers: locations of its clusters, and programs inside its networks."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.clusters.credentials.files import Credentials
from sandbox.clusters.environment import program_environment
from sandbox.clusters.network.addresses import API_PORT, ETCD_PORT, ClusterAddresses, addresses_of
from sandbox.clusters.network.namespaces import NETNS
from sandbox.clusters.state import Layout, Mode, Supervisor, running, settings
from sandbox.clusters.topology import Role


@dataclass(frozen=True)
class Sandbox:
    """Running clusters. Programs inside use the sandbox's own DNS, mounts and processes."""

    state: Path
    mode: Mode
    supervisor: Supervisor

    @classmethod
    def load(cls, state: Path) -> Sandbox | None:
        """The sandbox of this state directory if it runs (ready or not), else None."""
        found = running(Layout(state.absolute()))
        return cls(state.absolute(), found.mode, found) if found else None

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig with an administrator's context for each cluster, of the cluster's name, mode 0600."""
        return Layout(self.state).kubeconfig

    @property
    def clusters(self) -> Mapping[str, Cluster]:
        """All clusters by name, in the topology's order."""
        current = settings(Layout(self.state))
        return {name: Cluster(self, one, current.ports[name]) for name, one in addresses_of(current.topology).items()}

    @property
    def control_plane(self) -> Cluster:
        """The control plane's cluster."""
        return next(one for one in self.clusters.values() if one.role == "control-plane")

    @property
    def data_planes(self) -> Sequence[Cluster]:
        """The data planes' clusters."""
        return [one for one in self.clusters.values() if one.role == "data-plane"]

    @property
    def data_plane(self) -> Cluster:
        """The first data plane. Raises IndexError when the topology has none."""
        return self.data_planes[0]

    def run(
        self, network: str, argv: Sequence[str | Path], *, cwd: Path | None = None, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """`subprocess.run` as the sandbox's root inside a cluster's network, by its name, or between them (`wan`).

        cwd: working directory, default `/`. options: those of subprocess.run. Raises the exceptions of subprocess.run.
        """
        return subprocess.run([*self.enter(network, cwd), *map(str, argv)], **options)

    def enter(self, network: str, cwd: Path | None = None) -> list[str]:
        """The command prefix that `run` uses, for callers that need Popen."""
        pid = self.supervisor.identity.pid
        prefix = ["nsenter", f"--target={pid}"]
        if self.mode == "rootless":
            prefix += ["--user", "--preserve-credentials"]
        # The path is resolved before any namespace is entered, hence through PID 1's root.
        prefix += ["--mount", "--pid", "--ipc", "--uts", f"--net=/proc/{pid}/root{NETNS}/{network}", "--"]
        return [*prefix, "sh", "-c", 'cd "$0" && exec "$@"', str(cwd)] if cwd else prefix


@dataclass(frozen=True)
class Cluster:
    """One of the clusters."""

    sandbox: Sandbox
    addresses: ClusterAddresses
    port: int  # on the host's 127.0.0.1

    @property
    def name(self) -> str:
        """The cluster's name, also its context in every kubeconfig."""
        return self.addresses.name

    @property
    def role(self) -> Role:
        return self.addresses.role

    @property
    def kubeconfig(self) -> Path:
        """An administrator's kubeconfig for this cluster only, usable on the host, mode 0600."""
        return self._credentials.kubeconfig("admin")

    @property
    def server(self) -> str:
        """URL of the API server on the host."""
        return server_url(self.port)

    @property
    def wan_server(self) -> str | None:
        """URL of the API server from the control plane's network; None when it is closed there."""
        return f"https://{self.addresses.api_host}:{API_PORT}" if self.addresses.api_clients else None

    @property
    def certificate_authority(self) -> Path:
        """PEM of the authority that signs the API server's certificate."""
        return self._credentials.certificate("cluster")

    @property
    def administrator(self) -> tuple[Path, Path]:
        """Certificate and key of the administrator, PEM."""
        return self._credentials.certificate("admin"), self._credentials.key("admin")

    def secret_files(self) -> list[Path]:
        """Every file with a private key of this cluster: its authorities, its components, its administrators."""
        return self._credentials.secret_files()

    def etcd_items(self, since: int = 0) -> Iterator[tuple[bytes, bytes]]:
        """Every key and value in etcd, as stored, with earlier revisions of the last day.

        since: only values written after this revision (`etcd_revision`).
        Raises OSError when etcd cannot be read to the end: a part must never pass for the whole.
        """
        yield from self._etcd_dump("since", str(since))

    def etcd_revision(self) -> int:
        """The number of the latest write. Raises OSError."""
        ((_, number),) = self._etcd_dump("revision")
        return int(number)

    def etcd_keys(self) -> set[str]:
        """Every stored key, such as `/registry/configmaps/default/kube-root-ca.crt`. Raises OSError."""
        return {key.decode() for key, _ in self._etcd_dump("keys")}

    def _etcd_dump(self, *options: str) -> Iterator[tuple[bytes, bytes]]:
        credentials = self._credentials
        command: list[str | Path] = [
            *self.sandbox.enter(self.name),
            # It needs only the standard library.
            *(sys.executable, "-I", "-S", Path(__file__).with_name("etcd_dump.py"), str(ETCD_PORT)),
            *(credentials.certificate(name) for name in ("etcd", "etcd-client")),
            credentials.key("etcd-client"),
            *options,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=program_environment()) as dump:
            assert dump.stdout is not None
            ended = False
            for line in dump.stdout:
                item = json.loads(line)
                ended = item is None
                if item is not None:
                    yield base64.b64decode(item[0]), base64.b64decode(item[1])
        if dump.returncode != 0 or not ended:
            raise OSError(f"etcd of {self.name} could not be read to the end (exit code {dump.returncode})")

    @property
    def _credentials(self) -> Credentials:
        return Credentials(Layout(self.sandbox.state), self.addresses)


def server_url(port: int) -> str:
    return f"https://127.0.0.1:{port}"
