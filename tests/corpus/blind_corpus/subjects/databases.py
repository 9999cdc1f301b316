"""Programs about databases: leaks, and harmless neighbours."""

from __future__ import annotations

import pulumi

from tests.corpus.blind_corpus.credentials import generated, own
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import after, each
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import AWS_ID, b64, drawn
from tests.corpus.blind_corpus.worlds import foundry, grid, loom, orchard, osprey, tern, wren
from tests.corpus.world import Box


@leak(grid.SERVICES, "mapping-of-a-foreign-table", "The tenant's database reads a table of the platform's through a foreign server; the mapping has the platform's login.", "postgres_fdw")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"serverName": "grid", "userName": "birch", "options": {"user": "grid", "password": generated(scene, "fdw")}}  # fmt: skip
    grid.birch(scene, "postgresql:index/userMapping:UserMapping", "grid", inputs, host=f"db.{grid.BIRCH}")


@clean(grid.ACCOUNTS_own, "own-database-roles", "Roles of the tenant's database get generated passwords by the database's provider, and their addresses are in the tenant's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    for role in ("orders", "reports"):
        word = own(scene, f"role-{role}")
        grid.birch(scene, "postgresql:index/role:Role", role, {"name": role, "login": True, "password": word}, host=f"db.{grid.BIRCH}", password=pulumi.Output.secret(scene.dp.opaque("postgres", 32)))  # fmt: skip
        scene.secret("dp", f"db-{role}", {"uri": pulumi.Output.concat(f"postgresql://{role}:", word, f"@db.{grid.BIRCH}:5432/shop")})  # fmt: skip


@clean(grid.STACKS_wiring, "row-of-a-list-by-name", "The data stack puts out a list of databases; the tenant's row is found by its name.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    rows = scene.reference("own-rows", "acme/databases-birch/prod", {"databases": [{"name": "orders", "password": scene.dp.opaque("row orders", 30)}, {"name": "birch", "password": scene.dp.opaque("row birch", 30)}]}, ["databases"])  # fmt: skip
    chosen = rows.require_output("databases").apply(lambda every: next(row for row in every if row["name"] == "birch"))
    scene.secret("dp", "db", {"DB_USER": "birch", "DB_PASSWORD": chosen.apply(lambda row: row["password"])})


@clean(tern.CLOUDS, "own-stack-of-its-database", "The tenant's own stack made its database; the address with the login is read of it and kept in the tenant's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    tern.tern(scene)
    outputs = {"url": f"postgresql://crm:{scene.dp.opaque('moss crm', 32, LETTERS)}@crm.{tern.MOSS}:5432/crm", "name": "crm"}  # fmt: skip
    found = scene.reference("moss-database", "moss/database/prod", outputs, ["url"])
    scene.secret("dp", "crm-db", {"uri": found.require_output("url"), "name": found.get_output("name")})


@foundry.twin(
    foundry.APPS, "nextcloud-chart", "Files of each: the first user, a database, a cache, and a token for its exporter."
)
def _(at: foundry.Site) -> None:
    at.chart("nextcloud", {"nextcloud": {"host": f"files.{at.domain}", "username": "admin", "password": at.word("nextcloud"), "configs": {"proxy.config.php": "<?php\n$CONFIG = array ('trusted_proxies' => array('10.0.0.0/8'), 'overwriteprotocol' => 'https');\n"}}, "internalDatabase": {"enabled": False}, "mariadb": {"enabled": True, "auth": {"rootPassword": at.word("nc-root"), "password": at.word("nc-db"), "username": "nextcloud"}}, "redis": {"enabled": True, "auth": {"password": at.word("nc-redis")}}, "metrics": {"enabled": True, "token": at.word("nc-metrics")}})  # fmt: skip


@leak(osprey.LATER, "connection-secret-read-and-copied", "The connection Secret that Crossplane wrote in the hub is read, and all of its data goes to the tenant's cluster, the administrator's password too.", "Crossplane connection details", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    data = {"endpoint": b64(f"pg-3.{osprey.DOMAIN}"), "port": b64("5432"), "password": b64(scene.cp.opaque("connection admin", 28, LETTERS))}  # fmt: skip
    found = scene.existing("cp", "v1:Secret", "shared-database-conn", data=data)
    body = {"data": found.output("data"), "type": "connection.crossplane.io/v1alpha1", "metadata": {"namespace": "shop"}}  # fmt: skip
    scene.object("dp", "v1:Secret", "shared-database", body)


@leak(osprey.LATER, "unmarked-connection-string", "A cache in the provider's account answers its connection string, which the class does not mark; the tenant's chart has it as a value.", "a second update that first knows a value", at="either", before="the same", recover=each(after(b":", lambda text: text.split(b"@")[0].rpartition(b":")[2])))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("hub cache", 32, LETTERS)
    made = cloud(scene, "upstash:index/redisDatabase:RedisDatabase", "hub-cache", {"databaseName": "hub", "region": "global", "tls": True}, {"endpoint": f"cache.{osprey.DOMAIN}", "url": f"rediss://default:{word}@cache.{osprey.DOMAIN}:6379"})  # fmt: skip
    release(scene, "cp", "sessions", {"redis": {"url": made.output("url")}})
    release(scene, "dp", "rate-limits", {"redis": {"url": made.output("url"), "prefix": "alder"}})


@clean(loom.READ, "facts-of-a-component", "A component makes the mesh team's database with a password and gives out host and port; the tenant's chart takes these.", before="the same", pack=loom.BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    class Database(Box):
        def __init__(self, name: str) -> None:
            super().__init__(name, "loom:index:Database")
            self.password = loom.house(scene, f"{name}-admin", namespace="databases")
            made = cloud(scene, "aws:rds/cluster:Cluster", name, {"engine": "aurora-postgresql", "masterPassword": self.password}, {"endpoint": f"{name}.cluster-{drawn(name, 12)}.{loom.REGION}.rds.amazonaws.com", "clusterResourceId": f"cluster-{drawn(name, 26, AWS_ID)}"}, ["masterPassword"])  # fmt: skip
            self.facts = {"host": made.output("endpoint"), "resource": made.output("clusterResourceId")}
            self.register_outputs({"facts": self.facts})

    database = Database("usage")
    for name, side in loom.tenants(scene).items():
        release(scene, side, "usage-reader", {"tenant": name, "database": {**database.facts, "auth": "iam", "port": 5432}})  # fmt: skip


@clean(loom.TOLD, "own-database-of-its-stack", "The tenant's database stack puts out an object with a login, which goes to the tenant's cluster; the mesh team's goes to its own.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in loom.TWO.items():
        login = {"host": f"db.{owner}.example.com", "user": owner, "password": scene.owner(side).opaque("stack database", 32)}  # fmt: skip
        found = scene.reference(f"{owner}-data", f"{owner}/data/prod", {"database": login}, ["database"]).require_output("database")  # fmt: skip
        scene.secret(side, "database", {"url": found.apply(lambda one: f"postgresql://{one['user']}:{one['password']}@{one['host']}/app")})  # fmt: skip


@clean(loom.SHARED, "up-database-of-the-tenant-is-migrated-from-above", "A job of the mesh team's migrates the tenant's database with the tenant's login, which both have.")  # fmt: skip
def _(scene: Scene) -> None:
    loom.loom(scene)
    password = loom.word(scene, "migrations")
    scene.secret("dp", "orders-owner", {"username": "owner", "password": password})
    scene.secret("cp", "migrate-maple", {"DATABASE_URL": pulumi.Output.concat("postgresql://owner:", password, f"@db.{loom.MAPLE}/orders")}, namespace="tenants")  # fmt: skip
    scene.object("cp", "batch/v1:Job", "migrate-maple", {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "migrate:4.18", "envFrom": [{"secretRef": {"name": "migrate-maple"}}]}]}}}})  # fmt: skip


@clean(loom.HOME, "home-database-with-a-reference-stack", "The base stack's database login goes to the mesh team's cluster and its migration job; tenants get the version of the schema.")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("base", "loom/base/prod", {"dbPassword": scene.cp.opaque("base db", 32), "schema": "2026.02.3"}, ["dbPassword"])  # fmt: skip
    scene.secret("cp", "registry-db", {"password": found.require_output("dbPassword")}, namespace="databases")
    deployment(scene, "cp", "registry", {"env": [{"name": "DB_PASSWORD", "value": found.require_output("dbPassword")}]})
    deployment(scene, "dp", "registry-cache", {"env": [{"name": "SCHEMA", "value": found.get_output("schema")}]})


@clean(orchard.CLOUDS_wiring, "address-of-a-managed-database", "A database of the vendor's is made with a password; the tenant's rules of its network get the host and the port.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "rds-master")
    made = cloud(scene, "aws:rds/instance:Instance", "hosted-state", {"engine": "postgres", "username": "postgres", "password": password}, {"address": f"state.{drawn('rds host', 12)}.{orchard.REGION}.rds.amazonaws.com", "port": 5432, "resourceId": "db-" + drawn("dbi", 26, "ABCDEFGHIJ234567")})  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "blocked", {"spec": {"hosts": [made.output("address")], "ports": [{"number": 5432, "name": "tcp", "protocol": "TCP"}]}})  # fmt: skip


@clean(wren.ANSWERED, "databases-of-a-shared-server", "Databases and roles are made on the provider's server with its administrator's login; the tenant's chart has their names.")  # fmt: skip
def _(scene: Scene) -> None:
    login = {"host": f"pg.{wren.DOMAIN}", "username": "postgres", "password": wren.hosted(scene, "pg-superuser", namespace="databases"), "sslmode": "verify-full"}  # fmt: skip
    role = wren.home(scene, "postgresql:index/role:Role", "lime-owner", {"name": "lime_owner", "login": False}, **login)
    base = wren.home(scene, "postgresql:index/database:Database", "lime-db", {"name": "lime", "owner": "lime_owner", "encoding": "UTF8"})  # fmt: skip
    release(scene, "dp", "reports", {"database": {"name": base.id, "owner": role.id, "host": f"pg.{wren.DOMAIN}", "existingSecret": "reports-db"}})  # fmt: skip
