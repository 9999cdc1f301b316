"""The controller's settings file, by its operator: places of secrets, clusters by name, tenants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, urlsplit

from pulumi_hosted_mesh import InvalidInputError, Model, Problem, read_document_file
from pydantic import Field

from hosted_mesh_controller.openid.issuers import Issuer, problems_of
from hosted_mesh_controller.vocabulary import EVERY_TENANT, Repair, Side

Count = Annotated[int, Field(strict=True, ge=1, le=1000)]
_SERVER: Final = re.compile(r"postgresql(\+psycopg)?://.")
_DRIVER: Final = "postgresql+psycopg"
LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Watch(Model):
    """The watch on the custom resources of a user's cluster."""

    kubeconfig: str
    """Path of the watcher's own kubeconfig file. Its rights are those of `hosted-mesh-controller definitions`."""
    context: str | None = None
    """The context to use; by default the file's current context."""
    tenant: str
    """The tenant that orders by them."""
    control_plane: str
    """Name of the cluster for the control planes of their meshes."""


class ClusterEntry(Model):
    """A cluster that documents may name."""

    kubeconfig: str
    """Path of the kubeconfig file. Only the process of an operation reads it."""
    context: str | None = None
    """The context to use; by default the file's current context."""
    server: str | None = None
    """The expected API server, `https://HOST:PORT`."""
    identity: str | None = None
    """The cluster's name in the stacks' state."""
    side: Side
    """`control-plane` or `data-plane`. A document may use the cluster in that role only."""
    tenants: tuple[str, ...] = ()
    """Tenants with access to this cluster; `*` for all."""
    watch: Watch | None = None
    """The watch on this cluster's custom resources; none by default."""

    def admits(self, tenant: str) -> bool:
        """Whether a tenant may name this cluster."""
        return tenant in self.tenants or EVERY_TENANT in self.tenants

    @property
    def reference(self) -> dict[str, Any]:
        """The cluster reference for the program's document."""
        found = {"kubeconfig": self.kubeconfig, "context": self.context}
        found |= {"server": self.server, "identity": self.identity}
        return {key: value for key, value in found.items() if value is not None}


class Tenant(Model):
    """The provider's decisions for one tenant."""

    domains: tuple[str, ...] = ()
    """Domains of this tenant: its meshes' hosts are below them. Empty allows any, and so any name that external-dns
    publishes for you."""
    mesh: dict[str, Any] = {}
    """A part of a mesh document below each of the tenant's. A list with one entry applies to each entry of theirs."""


class Tls(Model):
    """The certificate of the interface."""

    certificate: str
    """Path of the certificate, PEM."""
    key: str
    """Path of its private key, PEM."""


class Upkeep(Model):
    """The schedule that keeps objects as ordered."""

    every_seconds: Annotated[int, Field(strict=True, ge=5, le=30 * 86400)] | None = 3600
    """Time between two checks of an object for drift; null for no checks."""
    repair: Repair = Repair.REPORT
    """`always` or `report`: the policy of objects without one of their own."""
    repairs: Count = 3
    """Most repairs of one object within `windowSeconds`. After them its drift is reported only, so that two writers do
    not fight."""
    window_seconds: Annotated[int, Field(strict=True, ge=60, le=30 * 86400)] = 86400
    """Length of that time."""

    def used(self, times: Iterable[float], now: float) -> int:
        """The repairs that count for the budget, of all their times. now: seconds since 1970."""
        return sum(one > now - self.window_seconds for one in times)


class Discovery(Model):
    """The search for meshes in the clusters, whoever made them."""

    every_seconds: Annotated[int, Field(strict=True, ge=10, le=30 * 86400)] | None = 600
    """Time between two looks at all clusters; null for none."""


class Offers(Model):
    """The looks at the Services that federated meshes export by labels."""

    every_seconds: Annotated[int, Field(strict=True, ge=5, le=30 * 86400)] = 60
    """Time between two looks at the meshes whose order gives no offer of their own."""


class Settings(Model):
    """The settings of one controller."""

    data: str
    """Folder of the database, the stacks' folders, and by default Pulumi's states."""
    program: str
    """Folder with this project's `Pulumi.yaml`, `__main__.py` and `stacks/`."""
    passphrase_file: str
    """Path of the file with the passphrase of the stacks' secrets."""
    backend: str | None = None
    """URL of Pulumi's backend; by default a folder in `data`."""
    database: str | None = None
    """URL of the controller's database without a password, `postgresql://USER@HOST/NAME`; by default SQLite files in
    `data`."""
    database_file: str | None = None
    """Path of a file with that URL, for one with a password. Replaces `database`."""
    clusters: dict[str, ClusterEntry] = {}
    """Clusters by name. Documents give the name in place of a kubeconfig's path."""
    charts: dict[str, str] = {}
    """Directories of Istio's charts by name. Documents give the name in place of `charts.path`."""
    tenants: dict[str, Tenant]
    """Tenants by name."""
    issuers: dict[str, Issuer] = {}
    """Issuers of OpenID Connect tokens, by names of your choice. Their tokens are accepted beside the controller's."""
    dns_credentials: str | None = None
    """Folder of DNS providers' credentials: one file for each, at `TENANT/PROVIDER/KEY`."""
    policy_pack: str | None = None
    """Folder of a policy pack for each operation."""
    host: str = "127.0.0.1"
    """Address of the interface."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 8443
    """Port of the interface."""
    tls: Tls | None = None
    """Certificate of the interface. Without it, tokens cross the network in plain text: use 127.0.0.1 only."""
    operations: Count = 2
    """Number of operations at a time, of all executors together."""
    operations_per_executor: Count | None = None
    """Number of operations at a time of one executor; by default `operations`."""
    take_over_seconds: Annotated[int, Field(strict=True, ge=6, le=3600)] = 120
    """With PostgreSQL: time without a sign of life after which another executor takes the operations over."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=10, le=86400)] = 1800
    """Time limit of one operation."""
    upkeep: Upkeep = Upkeep()
    """Checks for drift, their repair, and renewals."""
    discovery: Discovery = Discovery()
    """The search for meshes in the clusters."""
    offers: Offers = Offers()
    """The looks at exported Services."""
    requests_per_second: Count = 20
    """Limit of each token's requests, with bursts of ten times as many."""

    @cached_property
    def folder(self) -> Path:
        """The data folder."""
        return Path(self.data)

    @property
    def has_server(self) -> bool:
        """Whether the database is PostgreSQL, so that several executors may share it."""
        return self.database is not None or self.database_file is not None

    @property
    def sqlite_file(self) -> Path:
        """The controller's own tables without PostgreSQL."""
        return self.folder / "controller.sqlite"

    @property
    def database_url(self) -> str:
        """URL of the controller's own tables, a secret. Raises: InvalidInputError."""
        return self._server_url() or f"sqlite:///{self.sqlite_file}"

    @property
    def queue_url(self) -> str:
        """URL of the queue's tables, a secret. Raises: InvalidInputError."""
        return self._server_url() or f"sqlite:///{self.folder / 'queue.sqlite'}"

    def _server_url(self) -> str | None:
        if self.database_file is None:
            return None if self.database is None else f"{_DRIVER}://{self.database.partition('://')[2]}"
        try:
            text = Path(self.database_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = Problem("databaseFile", f"cannot be read: {type(error).__name__}", "Check the path and the mount")
            raise InvalidInputError([problem], "the settings") from None
        if not _SERVER.match(text) or "\n" in text:
            fix = "Write postgresql://USER:PASSWORD@HOST/NAME into it"
            raise InvalidInputError([Problem("databaseFile", "has no URL of PostgreSQL", fix)], "the settings")
        return f"{_DRIVER}://{text.partition('://')[2]}"

    @property
    def backend_url(self) -> str:
        """URL of Pulumi's backend."""
        return self.backend or f"file://{self.folder / 'states'}"

    def clusters_of(self, tenant: str) -> dict[str, ClusterEntry]:
        """The clusters that a tenant may name."""
        return {name: entry for name, entry in self.clusters.items() if entry.admits(tenant)}


def read_settings(path: Path) -> Settings:
    """The settings in a YAML file. Raises: InvalidInputError."""
    settings = read_document_file(Settings, path)
    problems = [*_bad_names(settings), *_unsafe(settings), *_bad_watches(settings), *_bad_database(settings)]
    problems += problems_of(settings.issuers, settings.tenants)
    if problems:
        raise InvalidInputError(problems, str(path))
    return settings


def _bad_names(settings: Settings) -> list[Problem]:
    tables: dict[str, Iterable[str]] = {"tenants": settings.tenants, "clusters": settings.clusters}
    tables |= {"charts": settings.charts, "issuers": settings.issuers}
    rule = "must be a Kubernetes name: 1 to 63 lower-case letters, digits and '-'"
    return [
        Problem(f"{field}.{name}", rule, "Choose another name")
        for field, table in tables.items()
        for name in table
        if not LABEL.fullmatch(name)
    ]


def _bad_watches(settings: Settings) -> Iterator[Problem]:
    for name, entry in settings.clusters.items():
        watch, field = entry.watch, f"clusters.{name}.watch"
        if watch is None:
            continue
        if entry.side is not Side.DATA_PLANE:
            yield Problem(field, "requires a cluster with side data-plane", "Leave it out")
        if watch.tenant not in settings.tenants or not entry.admits(watch.tenant):
            yield Problem(f"{field}.tenant", "must be a tenant with access to this cluster", "Name one of them")
        hub = settings.clusters.get(watch.control_plane)
        if hub is None or hub.side is not Side.CONTROL_PLANE or not hub.admits(watch.tenant):
            rule = "must be the name of a control-plane cluster that admits the tenant"
            yield Problem(f"{field}.controlPlane", rule, "Name one of `clusters`")


def _bad_database(settings: Settings) -> Iterator[Problem]:
    url = settings.database
    if url is None:
        return
    if settings.database_file is not None:
        yield Problem("databaseFile", "replaces database, and both are set", "Leave one of them out")
    if not _SERVER.match(url):
        yield Problem("database", "must be a URL of PostgreSQL", "Write postgresql://USER@HOST/NAME")
    elif has_password(url):
        fix = "Put the URL into a file, and name it by databaseFile"
        yield Problem("database", "has a password, and this file is no place for it", fix)


def has_password(url: str) -> bool:
    """Whether a URL of PostgreSQL has a password, also one among its parameters."""
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return ":" in user or any("password" in name for name in parse_qs(parts.query, keep_blank_values=True))


def _unsafe(settings: Settings) -> list[Problem]:
    if settings.tls or settings.host in ("127.0.0.1", "::1", "localhost"):
        return []
    rule = "is reachable from other machines, but tls is not set, so tokens would cross the network in plain text"
    return [Problem("host", rule, "Set tls, or set host to 127.0.0.1 behind a proxy that ends TLS")]
