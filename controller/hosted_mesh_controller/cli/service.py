"""`hosted-mesh-controller`: runs the service, makes and revokes tokens, prints the OpenAPI document."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
import uvicorn
import yaml
from pulumi_hosted_mesh import InvalidInputError
from sqlalchemy.exc import ArgumentError, OperationalError

from hosted_mesh_controller import json_logs
from hosted_mesh_controller.api.app import application
from hosted_mesh_controller.chart import chart
from hosted_mesh_controller.installation import SECRETS, Installation, manifests
from hosted_mesh_controller.openid.verifier import require_authorities
from hosted_mesh_controller.settings import Settings, read_settings
from hosted_mesh_controller.store import executors
from hosted_mesh_controller.store.database import Database, StoreVersionError
from hosted_mesh_controller.store.tokens import create_token, revoke_token
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.watcher.definition import definition
from hosted_mesh_controller.watcher.intents_definition import intents_definition
from hosted_mesh_controller.watcher.intents_reconciling import IntentsReconciler
from hosted_mesh_controller.watcher.names import HOSTED_MESH, TRAFFIC_INTENTS
from hosted_mesh_controller.watcher.reconciling import Reconciler
from hosted_mesh_controller.watcher.rights import rights
from hosted_mesh_controller.watcher.webhooks import webhooks
from hosted_mesh_controller.work.discovery import Discoverer
from hosted_mesh_controller.work.membership import Membership, new_id
from hosted_mesh_controller.work.offers import OfferReader
from hosted_mesh_controller.work.queue import DurableQueue
from hosted_mesh_controller.work.upkeep import Schedule

LOG: Final = logging.getLogger(__name__)
File = Annotated[Path, typer.Argument(help="The settings file, YAML.", show_default=False)]
app = typer.Typer(add_completion=False, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def options() -> None:
    """Run the master controller of hosted-mesh."""


@app.command()
def serve(settings_file: File) -> None:
    """Serve the interface and carry out operations. A restart continues interrupted operations."""
    settings = _settings(settings_file)
    with _plain_errors():
        require_authorities(settings.issuers)
    json_logs.set_up()
    os.umask(0o077)
    database = _database(settings)
    executor = new_id() if settings.has_server else None
    queue = DurableQueue(settings, database, executor=executor)

    def lead() -> None:
        Schedule(settings, database, queue).start()
        Discoverer(settings, database).start()
        OfferReader(settings, database).start()
        if any(one.watch for one in settings.clusters.values()):
            # Loaded for this only: Kubernetes' client takes time.
            watches = import_module("hosted_mesh_controller.watcher.clusters").Watches
            reconcilers = {
                HOSTED_MESH: Reconciler(settings, database, queue),
                TRAFFIC_INTENTS: IntentsReconciler(settings, database, queue),
            }
            watches(settings, reconcilers).start()

    membership = None
    if executor is None:
        _own(settings)
        queue.start()
        lead()
    else:
        executors.join(database, executor)
        queue.start()
        membership = Membership(settings, database, queue, executor, lead)
        membership.start()
    tls: dict[str, Any] = {}
    if settings.tls:
        tls = {"ssl_certfile": settings.tls.certificate, "ssl_keyfile": settings.tls.key}
    served = application(settings, database, queue)
    served.state.services.verifier.start()
    LOG.info("serving", extra=json_logs.facts(host=settings.host, port=settings.port))
    uvicorn.run(
        served,
        host=settings.host,
        port=settings.port,
        log_config=None,
        server_header=False,
        limit_concurrency=500,
        timeout_graceful_shutdown=5,
        **tls,
    )
    # One way to stop: operations get the end of their input, save their states, and continue after the next start, or
    # on another executor, which waits for their processes.
    if membership is not None:
        membership.leave()
    logging.shutdown()
    os._exit(0)


@app.command()
def token(
    settings_file: File,
    role: Annotated[Role, typer.Option(help="The rights of its holder.")] = Role.TENANT,
    tenant: Annotated[str | None, typer.Option(help="The tenant; not for role provider.")] = None,
    hours: Annotated[float | None, typer.Option(min=0.1, help="Lifetime; by default without end.")] = None,
) -> None:
    """Print a new token, a secret. Its id goes to standard error. The service may be running."""
    settings = _settings(settings_file)
    if (role is Role.PROVIDER) != (tenant is None):
        _fail("role provider has no --tenant, and every other role requires one")
    if tenant is not None and tenant not in settings.tenants:
        _fail(f"{tenant} is not one of the settings' tenants")
    identifier, text = create_token(_database(settings), role, tenant, hours * 3600 if hours else None)
    print(text)
    print(f"id: {identifier}", file=sys.stderr)


@app.command()
def revoke(
    settings_file: File, identifier: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")]
) -> None:
    """End a token at once."""
    if not revoke_token(_database(_settings(settings_file)), identifier):
        _fail(f"there is no valid token {identifier}")


@app.command()
def definitions(
    webhooks_url: Annotated[
        str | None,
        typer.Option("--webhooks", metavar="URL", help="Also webhooks that call this controller, https://..."),
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="With --webhooks: the cluster's name in the settings.")] = None,
    ca_file: Annotated[Path | None, typer.Option(help="With --webhooks: the controller's authority, PEM.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="With --webhooks: a token of role admission.")] = None,
) -> None:
    """Print the manifests for a user's cluster: the definitions of the custom resources, and the watcher's rights."""
    made = [definition(), intents_definition(), *rights()]
    if webhooks_url is not None:
        if cluster is None or ca_file is None or token_file is None or not webhooks_url.startswith("https://"):
            _fail("--webhooks requires an address that begins with https://, --cluster, --ca-file and --token-file")
        try:
            authority, key = (file.read_text(encoding="utf-8") for file in (ca_file, token_file))
        except OSError as error:
            _fail(f"{error.filename} cannot be read: {error.strerror}")
        made += webhooks(webhooks_url, cluster, authority, key.strip())
    print(yaml.safe_dump_all(made, sort_keys=False), end="")


@app.command("manifests")
def print_manifests(
    settings_file: File,
    image: Annotated[str, typer.Option(help="Image with the controller, Pulumi, its plug-ins and the program.")],
    namespace: Annotated[str, typer.Option(help="Namespace of the Pods.")] = Installation.namespace,
    replicas: Annotated[int, typer.Option(min=1, max=100, help="Executors; more than 1 require PostgreSQL.")] = 1,
    kubeconfigs: Annotated[str, typer.Option(help="Secret with the kubeconfigs.")] = SECRETS["kubeconfigs"],
    passphrase: Annotated[str, typer.Option(help="Secret with the passphrase's file.")] = SECRETS["passphrase"],
    tls: Annotated[str, typer.Option(help="Secret with the interface's certificate.")] = SECRETS["tls"],
    database: Annotated[str, typer.Option(help="Secret with the database's URL.")] = SECRETS["database"],
    issuers: Annotated[str, typer.Option(help="Secret with the issuers' authorities.")] = SECRETS["issuers"],
    storage: Annotated[str, typer.Option(help="Size of the volume for `data`.")] = Installation.storage,
    storage_class: Annotated[str | None, typer.Option(help="StorageClass of that volume.")] = None,
    egress_port: Annotated[
        list[int] | None, typer.Option(help="Port of API servers or a database; repeat it. Default: 443, 6443.")
    ] = None,
) -> None:
    """Print the manifests that run the controller in a cluster. Secrets are mounted by name; make them yourself."""
    ports = tuple(egress_port) if egress_port else Installation.egress_ports
    secrets = {
        "kubeconfigs": kubeconfigs,
        "passphrase": passphrase,
        "tls": tls,
        "database": database,
        "issuers": issuers,
    }
    chosen = Installation(image, namespace, replicas, secrets, storage, storage_class, ports)
    with _plain_errors():
        settings = read_settings(settings_file)
        made = manifests(settings, settings_file.read_text(encoding="utf-8"), chosen)
    print(yaml.safe_dump_all(made, sort_keys=False), end="")


@app.command("chart")
def write_chart(folder: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)]) -> None:
    """Write the Helm chart of these manifests, for any settings."""
    if folder.exists():
        _fail(f"{folder} exists. Name a new folder")
    for path, text in chart().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@app.command()
def openapi() -> None:
    """Print the OpenAPI document, JSON."""
    print(json.dumps(api_document(), indent=2))


def api_document() -> dict[str, Any]:
    """The OpenAPI document, without a service."""
    settings = Settings(data="/nowhere", program="/nowhere", passphrase_file="/nowhere", tenants={})  # noqa: S106
    queue: Any = None
    database: Any = None
    return application(settings, database, queue).openapi()


def _settings(file: Path) -> Settings:
    with _plain_errors():
        return read_settings(file)


def _database(settings: Settings) -> Database:
    if settings.has_server and settings.sqlite_file.exists():
        _fail(
            f"database: {settings.sqlite_file} has the orders from before PostgreSQL, and nothing moves them. "
            "Start without database, remove the orders, then remove the file; or keep SQLite"
        )
    with _plain_errors():
        try:
            return Database(settings.database_url)
        except StoreVersionError as error:
            _fail(str(error))
        except OperationalError as error:
            # The driver's text has the address and the reason, and no password.
            _fail(f"database: {str(error.orig).strip()}")
        except ArgumentError:
            _fail("database: is no URL. Write postgresql://USER@HOST/NAME")


def _own(settings: Settings) -> None:
    """Holds the data folder until this process ends. Two on one SQLite would each run every operation."""
    file = os.open(settings.folder / "controller.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        _fail("data: another controller runs on this folder. Several controllers require PostgreSQL: set databaseFile")


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        _fail(str(error))


def _fail(text: str) -> NoReturn:
    print(text, file=sys.stderr)
    raise typer.Exit(1)
