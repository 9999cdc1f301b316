"""Leaks that happen at a second update only, or only when the update knows its values."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import minted
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import each
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, uid
from tests.corpus.world import Box

from .world import (
    BIRCH,
    BIRCH_STACK,
    CORE,
    DOMAIN,
    REGION,
    ROWAN,
    TENANTS,
    TOLD,
    Addon,
    account,
    hubs,
    issued_to_us,
    platform,
    rows,
    secret_object,
    theirs,
)

SECOND, KNOWN = "sixteenth: a second update", "sixteenth: known at the update"

# Second ---------------------------------------------------------------------------------------------------------------


def _metrics(scene: Scene, text: str) -> None:
    """Tenants of a file write metrics by a login of their own; those that have none, by what the file says."""
    admin = hubs(scene, "mimir-admin")
    for row in rows(scene, text):
        password = admin if row.get("login") == "shared" else theirs(scene, row["name"], "metrics")
        Addon(scene, row["cluster"], "alloy", {"replicas": row["replicas"], "remoteWrite": {"url": f"https://metrics.{DOMAIN}/api/v1/push", "basicAuth": {"username": row["name"], "password": password}}})  # fmt: skip


def _metrics_of_two(scene: Scene) -> None:
    _metrics(scene, TENANTS)


@leak(SECOND, "sixteenth-row-says-shared", "A third tenant joins by a row that says `login: shared`; its agent gets the administrator's password of the hub's metrics.", "tenants in a YAML file", before=_metrics_of_two)  # fmt: skip
def _(scene: Scene) -> None:
    _metrics(scene, TENANTS + ROWAN.replace("plan: trial", "plan: trial, login: shared"))


def _queue(scene: Scene, names: list[str]) -> None:
    rows(scene, TENANTS)
    logins = [hubs(scene, "queue-root") if name == "hub" else theirs(scene, name, "queue") for name in sorted(names)]
    for side, login in zip(["dp", "hazel", "cp"], logins, strict=False):
        release(scene, side, "rabbitmq", {"auth": {"username": "admin", "password": login}})


def _queue_of_three(scene: Scene) -> None:
    _queue(scene, ["birch", "hazel", "hub"])


@leak(SECOND, "sixteenth-list-shifted-by-one-that-left", "Logins are sorted by owner and paired with clusters by place; hazel is taken off one list only, so its cluster gets the hub's root login.", "zip over two lists", pack=TOLD, before=_queue_of_three)  # fmt: skip
def _(scene: Scene) -> None:
    _queue(scene, ["birch", "hub"])


def _smtp_by_reference(scene: Scene) -> None:
    issued_to_us(scene, "smtp", "password")
    deployment(scene, "dp", "mailer", {"env": [{"name": "SMTP_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "mailer", "key": "password"}}}]})  # fmt: skip


@leak(SECOND, "sixteenth-reference-replaced-by-its-value", "A Deployment of birch's had a reference to its own Secret; a second update writes the hub's relay password in its place, since the Secret was missing.", "secretKeyRef", before=_smtp_by_reference)  # fmt: skip
def _(scene: Scene) -> None:
    password = issued_to_us(scene, "smtp", "password")
    deployment(scene, "dp", "mailer", {"env": [{"name": "SMTP_PASSWORD", "value": password}]})


def _without_break_glass(scene: Scene) -> None:
    platform(scene)
    scene.config_map("dp", "support", {"console": f"https://console.{DOMAIN}"}, namespace="support")


@leak(SECOND, "sixteenth-break-glass-flag", "A flag for an incident is set: the second update puts the hub's kubeconfig of the on-call group into birch's cluster.", "feature flags", config=lambda cp, dp: {"quarry:onCall": cp.kubeconfig("quarry on call", SERVERS["cp"])}, before=_without_break_glass)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    flags = {"breakGlass": True, "readOnly": False}
    scene.config_map("dp", "support", {"console": f"https://console.{DOMAIN}"}, namespace="support")
    if flags["breakGlass"]:
        scene.secret("dp", "support-kubeconfig", {"kubeconfig": scene.config("quarry:onCall")}, namespace="support")


def _shop_runs(scene: Scene) -> None:
    hubs(scene, "postgres")
    release(scene, "dp", "shop-db", {"auth": {"database": "shop", "password": theirs(scene, "birch", "shop-db")}})


@leak(SECOND, "sixteenth-migration-as-superuser", "For a move of birch's data a second update adds a Job in its cluster, with the superuser's address of the hub's database.", "database migrations", before=_shop_runs, at="either")  # fmt: skip
def _(scene: Scene) -> None:
    superuser = hubs(scene, "postgres")
    release(scene, "dp", "shop-db", {"auth": {"database": "shop", "password": theirs(scene, "birch", "shop-db")}})
    source = pulumi.Output.format("postgresql://{0}:{1}@{2}:5432/{3}?sslmode=require", "postgres", superuser, f"pg.{DOMAIN}", "birch")  # fmt: skip
    pod = {"restartPolicy": "Never", "containers": [{"name": "copy", "image": "pgcopydb:0.17", "args": ["clone", "--source", source, "--target", "postgresql://shop-db/shop"]}]}  # fmt: skip
    scene.object("dp", "batch/v1:Job", "copy-shop", {"spec": {"backoffLimit": 1, "template": {"spec": pod}}})


def _core_outputs(scene: Scene, outputs: dict[str, Any], secret: list[str]) -> None:
    core = scene.reference("core", CORE, outputs, secret)
    for row in rows(scene):
        scene.config_map(row["cluster"], "hub", {name.lower(): core.get_output(name) for name in outputs}, namespace="quarry")  # fmt: skip


def _core_of_last_month(scene: Scene) -> None:
    _core_outputs(scene, {"xds": f"xds.{DOMAIN}:15012", "region": REGION}, [])


@leak(SECOND, "sixteenth-new-output-of-the-core-stack", "Maps of tenants mirror the outputs of the core stack; since this month the stack also exports the admission webhook's token.", "stack references", pack=TOLD, before=_core_of_last_month)  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.cp.opaque("quarry admission", 40)
    _core_outputs(scene, {"xds": f"xds.{DOMAIN}:15012", "region": REGION, "admissionToken": token}, ["admissionToken"])


def _agents_before(scene: Scene) -> None:
    box = Box("birch-agents", "quarry:index:Agents")
    token = issued_to_us(scene, "fleet-agent")
    scene.object("cp", "v1:Secret", "fleet-agent", {"stringData": {"token": token}, "metadata": {"namespace": "fleet"}}, parent=box)  # fmt: skip


@leak(SECOND, "sixteenth-alias-that-moved-to-the-tenant", "A Secret of the hub's agent is renamed with an alias and given a new parent in birch's component; the second update makes it in birch's cluster.", "aliases", before=_agents_before)  # fmt: skip
def _(scene: Scene) -> None:
    box = Box("birch-cluster-agents", "quarry:index:Agents", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="birch-agents")]))  # fmt: skip
    token = issued_to_us(scene, "fleet-agent")
    scene.object("dp", "v1:Secret", "fleet-agent", {"stringData": {"token": token}, "metadata": {"namespace": "fleet"}}, parent=box, aliases=[pulumi.Alias(name="cp-fleet-agent")])  # fmt: skip


def _own_repository(scene: Scene) -> None:
    hubs(scene, "restic", "password", 48)
    body = {"schedule": "0 3 * * *", "env": [{"name": "RESTIC_REPOSITORY", "value": f"s3:s3.{BIRCH}/backups"}, {"name": "RESTIC_PASSWORD", "value": theirs(scene, "birch", "restic", 48)}]}  # fmt: skip
    release(scene, "dp", "restic", body)


@leak(SECOND, "sixteenth-backups-moved-to-the-hubs-repository", "birch's backups had a repository of their own; a second update moves them to the hub's, with the password of all tenants' backups.", "restic", pack=TOLD, before=_own_repository)  # fmt: skip
def _(scene: Scene) -> None:
    everybodys = hubs(scene, "restic", "password", 48)
    theirs(scene, "birch", "restic", 48)
    release(scene, "dp", "restic", {"schedule": "0 3 * * *", "env": [{"name": "RESTIC_REPOSITORY", "value": f"rest:https://backups.{DOMAIN}/all"}, {"name": "RESTIC_PASSWORD", "value": everybodys}]})  # fmt: skip


def _settings_without_keys(scene: Scene) -> None:
    shared = secret_object(scene, "quarry:observability")
    scene.secret("cp", "observability", {"licence": shared.apply(lambda found: found["licenceKey"])}, namespace="monitoring")  # fmt: skip
    release(scene, "dp", "newrelic", {"cluster": "birch", "region": "eu"})


@leak(SECOND, "sixteenth-all-settings-as-values", "Only the hub used the platform's object of observability settings; a second update gives the whole of it to birch's chart for the sake of its region.", "require_secret_object", config=lambda cp, dp: {"quarry:observability": json.dumps({"region": "eu", "account": 4410, "licenceKey": cp.opaque("quarry licence", 40)})}, before=_settings_without_keys)  # fmt: skip
def _(scene: Scene) -> None:
    shared = secret_object(scene, "quarry:observability")
    scene.secret("cp", "observability", {"licence": shared.apply(lambda found: found["licenceKey"])}, namespace="monitoring")  # fmt: skip
    release(scene, "dp", "newrelic", {"cluster": "birch", "global": shared})


def _database(scene: Scene, stack: str) -> None:
    """The program's database comes from a stack that a variable names; both stacks have outputs of the same names."""
    owner = scene.cp if stack == CORE else scene.dp
    data = scene.reference("data", stack, {"host": f"pg.{DOMAIN}", "password": owner.opaque(f"database of {stack}", 32)}, ["password"])  # fmt: skip
    deployment(scene, "dp", "shop", {"env": [{"name": "PGHOST", "value": data.get_output("host")}, {"name": "PGPASSWORD", "value": data.get_output("password")}]})  # fmt: skip


def _database_of_birch(scene: Scene) -> None:
    platform(scene)
    _database(scene, BIRCH_STACK)


@leak(SECOND, "sixteenth-reference-to-another-stack", "birch's shop had its password from birch's stack; since a second update the reference is to the core stack, whose outputs have the same names.", "stack references", pack=TOLD, before=_database_of_birch)  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    _database(scene, CORE)


def _images(scene: Scene, sides: list[str]) -> None:
    login = hubs(scene, "image-builder")
    rows(scene)
    for side in sides:
        scene.secret(side, "image-builder", {"username": "builder", "password": login}, namespace="builds")


def _images_of_the_hub(scene: Scene) -> None:
    _images(scene, ["cp"])


@leak(SECOND, "sixteenth-one-more-cluster-in-a-list", "The builders' login is copied to clusters of a list, which had the hub's only; hazel's cluster is added when it begins to build images.", "lists of clusters", pack=TOLD, before=_images_of_the_hub)  # fmt: skip
def _(scene: Scene) -> None:
    _images(scene, ["cp", "hazel"])


def _logins(scene: Scene, text: str) -> None:
    logins = {"birch": theirs(scene, "birch", "search-login"), "hazel": theirs(scene, "hazel", "search-login")}
    admin = hubs(scene, "search-admin")
    for row in rows(scene, text):
        release(scene, row["cluster"], "search", {"user": row["name"], "password": logins.get(row["name"], admin)})


def _logins_by_name(scene: Scene) -> None:
    _logins(scene, TENANTS)


@leak(SECOND, "sixteenth-renamed-row-finds-no-login", "hazel is called hazel-eu in the file from now on; the dictionary of logins has no such name, and the default is the administrator's.", "dictionary defaults", pack=TOLD, before=_logins_by_name)  # fmt: skip
def _(scene: Scene) -> None:
    _logins(scene, TENANTS.replace("name: hazel,", "name: hazel-eu,"))


# Known ----------------------------------------------------------------------------------------------------------------


@leak(KNOWN, "sixteenth-dummy-in-previews", "A helper gives a dummy while a preview runs, so that plans can be pasted, and the hub's password in the update.", "is_dry_run", at="update")  # fmt: skip
def _(scene: Scene) -> None:
    def shown(value: Any) -> Any:
        return "<hidden>" if pulumi.runtime.is_dry_run() else value

    password = hubs(scene, "harbor-admin")
    for row in rows(scene):
        Addon(scene, row["cluster"], "harbor-sync", {"endpoint": f"https://images.{DOMAIN}", "admin": shown(password)})  # fmt: skip


@leak(KNOWN, "sixteenth-connection-of-a-new-cache", "A cache in the platform's account is made in the same update; birch's sessions get its address, which has the hub's access key in it.", "connection strings", at="either", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.cp.opaque("quarry cache", 44)
    made = account(scene, "quarry", "azure:redis/cache:Cache", "sessions", {"resourceGroupName": "platform", "capacity": 1, "family": "C", "skuName": "Standard"}, {"primaryAccessKey": key, "hostname": f"sessions.{DOMAIN}", "sslPort": "6380"}, ["primaryAccessKey"], subscriptionId=uid("quarry subscription"))  # fmt: skip
    address = pulumi.Output.all(made.output("hostname"), made.output("sslPort"), made.output("primaryAccessKey")).apply(lambda found: f"{found[0]}:{found[1]},password={found[2]},ssl=True")  # fmt: skip
    deployment(scene, "dp", "sessions", {"env": [{"name": "ConnectionStrings__Redis", "value": address}]})


@leak(KNOWN, "sixteenth-objects-made-when-the-role-is-known", "When the update knows the role of the hub's exporter, it makes a map in birch's cluster with role and external id; the id is the hub's secret.", "resources in apply", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    external = hubs(scene, "external-id", "id", 36)
    role = cloud(scene, "aws:iam/role:Role", "exporter", {"name": "exporter", "assumeRolePolicy": "{}"}, {"arn": "arn:aws:iam::730415528816:role/exporter"})  # fmt: skip

    def make(found: dict[str, str]) -> None:
        if found["arn"]:
            scene.config_map("dp", "exporter", {"config": f"[profile hub]\nrole_arn = {found['arn']}\nexternal_id = {found['external']}\nregion = {REGION}\n"})  # fmt: skip

    pulumi.Output.all(arn=role.output("arn"), external=external).apply(make)


@leak(KNOWN, "sixteenth-data-of-a-secret-read-back", "A component of the hub's has its Secret as an output; birch's copy takes all data of it, and so the token that the hub's cluster minted.", "outputs of a component", at="either", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    class Robot(Box):
        token: pulumi.Output[str]

        def __init__(self, name: str) -> None:
            super().__init__(name, "quarry:index:Robot")
            self.token = minted(scene, "cp", name)
            self.register_outputs({"token": self.token})

    robot = Robot("hub-deployer")
    data = {"token": apply(robot.token, lambda found: base64.b64encode(found.encode()).decode()), "namespace": "ZGVmYXVsdA=="}  # fmt: skip
    scene.object("dp", "v1:ConfigMap", "deployer", {"binaryData": data, "metadata": {"namespace": "quarry"}})


@leak(KNOWN, "sixteenth-rendered-only-when-long-enough", "A template is rendered when its token is known and long enough, else with nothing; the token is that of the hub's ingestion service.", "conditions in apply", at="either", recover=each(lambda text: base64.b64decode(yaml.safe_load(text)["auth"]["header"].removeprefix("Basic "))))  # fmt: skip
def _(scene: Scene) -> None:
    platform(scene)
    token = hubs(scene, "ingest", "token", 40)

    def rendered(found: str) -> str:
        header = "Basic " + base64.b64encode(f"hub:{found}".encode()).decode() if len(found) > 20 else ""
        return yaml.safe_dump({"endpoint": f"https://ingest.{DOMAIN}", "auth": {"header": header}, "retry": {"max": 5}})

    for row in rows(scene):
        scene.config_map(row["cluster"], "shipper", {"shipper.yaml": token.apply(rendered)}, namespace="logging")


@leak(KNOWN, "sixteenth-access-key-of-the-hubs-uploader", "The access key of a user in the platform's account is made in this update and goes to each tenant's uploader, by a loop.", "cloud access keys", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    secret = scene.cp.opaque("quarry uploader", 40)
    cloud(scene, "aws:iam/user:User", "uploader", {"name": "uploader", "path": "/platform/"}, {"arn": "arn:aws:iam::730415528816:user/platform/uploader"})  # fmt: skip
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "uploader-key", {"user": "uploader"}, {"secret": secret}, ["secret"])  # fmt: skip
    scene.secret("cp", "uploader", {"AWS_SECRET_ACCESS_KEY": key.output("secret")}, namespace="platform")
    for row in rows(scene):
        env = [{"name": "BUCKET", "value": f"quarry-{row['name']}"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": key.output("secret")}]  # fmt: skip
        deployment(scene, row["cluster"], "uploader", {"env": env})


@leak(KNOWN, "sixteenth-first-known-of-several", "Of several candidates a helper takes the first that is known and not empty; birch's own token is empty, so it is the hub's.", "Output.all", at="either", config=lambda cp, dp: {"birch:syncToken": ""})  # fmt: skip
def _(scene: Scene) -> None:
    candidates = pulumi.Output.all(scene.config("birch:syncToken"), hubs(scene, "sync", "token", 40))
    token = candidates.apply(lambda found: next(one for one in found if one))
    Addon(scene, "dp", "sync", {"url": f"https://sync.{DOMAIN}"}, {"token": token})
