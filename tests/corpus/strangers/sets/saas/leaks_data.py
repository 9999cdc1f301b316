"""Leaks around a hosted control plane: databases, buses, caches, and what is observed of them."""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, pull_secret

from .world import DOMAIN, REGION, TENANT, both_sides, vendor

DATA, WATCH, FORMS = (
    "saas: slips of data services",
    "saas: slips of observation",
    "saas: forms that tools read",
)

# Data services --------------------------------------------------------------------------------------------------------


@leak(DATA, "saas-standby-of-the-hosted-state", "A standby in the tenant's cluster follows the vendor's database; the standby's Secret has the vendor's replication user.", "Zalando standby clusters")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "standby.state.credentials")
    scene.secret("dp", "standby.orchard-state.credentials", {"username": "standby", "password": password}, namespace="postgres")  # fmt: skip
    spec = {"teamId": "orchard", "numberOfInstances": 1, "volume": {"size": "20Gi"}, "standby": {"standby_host": f"state.{DOMAIN}", "standby_port": "5432"}}  # fmt: skip
    scene.object("dp", "acid.zalan.do/v1:postgresql", "orchard-state", {"spec": spec})


@leak(DATA, "saas-subscription-by-sql", "A new database of the tenant's subscribes to a publication of the vendor's: SQL after the first start has the connection.", "CNPG postInitApplicationSQL")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "publication-reader")
    sql = pulumi.Output.format("CREATE SUBSCRIPTION plans CONNECTION 'host=state.{0} dbname=meshes user=plans password={1} sslmode=verify-full' PUBLICATION plans", DOMAIN, password)  # fmt: skip
    spec = {"instances": 1, "storage": {"size": "5Gi"}, "bootstrap": {"initdb": {"database": "plans", "owner": "plans", "postInitApplicationSQL": ["CREATE TABLE plans (id text PRIMARY KEY, quota int)", sql]}}}  # fmt: skip
    scene.object("dp", "postgresql.cnpg.io/v1:Cluster", "plans", {"spec": spec})


@leak(DATA, "saas-replica-by-a-statement", "A replica at the tenant's is told its source by a statement in a map of first-start scripts; the user is the vendor's.", "MySQL init scripts")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "replication", "password", 24)
    statement = pulumi.Output.format("CHANGE REPLICATION SOURCE TO SOURCE_HOST='mysql.{0}', SOURCE_USER='repl', SOURCE_PASSWORD='{1}', SOURCE_SSL=1, SOURCE_AUTO_POSITION=1;\nSTART REPLICA;\n", DOMAIN, password)  # fmt: skip
    scene.config_map("dp", "mysql-init", {"10-replica.sql": statement, "20-grants.sql": "GRANT SELECT ON plans.* TO 'reader'@'%';\n"})  # fmt: skip


@leak(DATA, "saas-connector-without-a-provider-of-config", "A connector at the tenant's reads the vendor's changes; its configuration has the password where others have a file's key.", "Debezium connectors")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "debezium")
    config = {"database.hostname": f"state.{DOMAIN}", "database.port": 5432, "database.user": "debezium", "database.password": password, "database.dbname": "meshes", "topic.prefix": "hosted", "plugin.name": "pgoutput"}  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaConnector", "hosted-changes", {"spec": {"class": "io.debezium.connector.postgresql.PostgresConnector", "tasksMax": 1, "config": config}})  # fmt: skip


@leak(DATA, "saas-mirror-with-a-login-module", "Mirroring to the tenant's bus reads with the vendor's user: a line of a login module among the source's settings.", "MirrorMaker")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "mirror-reader", "password", 32)
    module = pulumi.Output.concat('org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="', password, '";')  # fmt: skip
    source = {"alias": "hosted", "bootstrapServers": f"bus.{DOMAIN}:9093", "config": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": module}}  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaMirrorMaker2", "from-hosted", {"spec": {"version": "3.8.0", "connectCluster": "orchard", "clusters": [source, {"alias": "orchard", "bootstrapServers": "orchard-kafka-bootstrap:9092"}]}})  # fmt: skip


@leak(DATA, "saas-shovel-of-messages", "Messages are shovelled to the tenant's broker; its Secret has the address of the vendor's, the password in percent form.", "RabbitMQ shovels", recover=each(urllib.parse.unquote_to_bytes))  # fmt: skip
def _(scene: Scene) -> None:
    password = scene.cp.opaque("shovel", 24, LETTERS + "@/:#?%&")
    value = scene.held("shovel", "password", password)
    address = apply(value, lambda found: f"amqps://shovel:{urllib.parse.quote(found, safe='')}@mq.{DOMAIN}:5671/events")
    scene.secret("dp", "shovel", {"srcUri": address, "destUri": "amqp:///orchard"})
    scene.object("dp", "rabbitmq.com/v1beta1:Shovel", "events", {"spec": {"name": "events", "uriSecret": {"name": "shovel"}, "srcQueue": "events", "destQueue": "events", "rabbitmqClusterReference": {"name": "mq"}}})  # fmt: skip


@leak(DATA, "saas-backups-to-the-hosted-bucket", "Dumps of the tenant's documents go to the vendor's bucket; the agent's file has the vendor's pair of keys in YAML.", "Percona backup storage", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "dumps", "secret", 40)
    text = apply(secret, lambda found: yaml.safe_dump({"storage": {"type": "s3", "s3": {"region": REGION, "bucket": "hosted-dumps", "prefix": "orchard", "credentials": {"access-key-id": "HOSTEDDUMPS000000001", "secret-access-key": found}}}, "pitr": {"enabled": True}}))  # fmt: skip
    scene.secret("dp", "pbm-config", {"config.yaml": text})


@leak(DATA, "saas-follower-of-a-cache", "A read copy of the vendor's cache at the tenant's: its file has masterauth, and may then write to the vendor's.", "Redis masterauth")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "sessions-cache")
    text = pulumi.Output.format("replicaof cache.{0} 6380\nreplica-read-only yes\ntls-replication yes\nmasteruser default\nmasterauth {1}\nappendonly no\n", DOMAIN, password)  # fmt: skip
    scene.config_map("dp", "redis-replica", {"redis.conf": text})


@leak(DATA, "saas-key-of-a-beat", "A beat at the tenant's sends with an API key, id and key joined and in base64; it is the vendor's superuser.", "Elasticsearch API keys", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "elastic-superuser", "api_key", 22)
    encoded = apply(key, lambda found: b64(f"{drawn('elastic key id', 20)}:{found}"))
    scene.object("dp", "beat.k8s.elastic.co/v1beta1:Beat", "filebeat", {"spec": {"type": "filebeat", "version": "8.16.1", "config": {"output.elasticsearch": {"hosts": [f"https://search.{DOMAIN}:9243"], "headers": {"X-Tenant": "orchard"}}}, "deployment": {"podTemplate": {"spec": {"containers": [{"name": "filebeat", "env": [{"name": "ES_API_KEY_B64", "value": encoded}]}]}}}}})  # fmt: skip


@leak(DATA, "saas-dictionary-of-a-warehouse", "A dictionary in the tenant's column store reads the vendor's table; the source's password stands in the statement of a Job.", "ClickHouse dictionaries")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "usage-reader")
    query = pulumi.Output.format("CREATE DICTIONARY plans (id UInt64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(HOST 'usage.{0}' PORT 9440 SECURE 1 USER 'reader' PASSWORD '{1}' DB 'usage' TABLE 'plans')) LAYOUT(FLAT()) LIFETIME(300)", DOMAIN, password)  # fmt: skip
    scene.object("dp", "batch/v1:Job", "dictionary", {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "client", "image": "clickhouse/clickhouse-server:24.8", "args": ["clickhouse-client", "--host", "ch", "--query", query]}]}}}})  # fmt: skip


@leak(DATA, "saas-gossip-of-the-hosted-registry", "Agents at the tenant's join the vendor's service registry: the values have its gossip key, which lets anybody into the ring.", "Consul gossip encryption")  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "gossip").output("base64")
    scene.secret("cp", "gossip-key", {"key": key})
    release(scene, "dp", "consul", {"global": {"datacenter": "orchard", "gossipEncryption": {"autoGenerate": False, "key": key}}, "client": {"enabled": True, "join": [f"registry.{DOMAIN}"]}})  # fmt: skip


@leak(DATA, "saas-cipher-of-a-repository", "A stanza of the tenant's restores from the vendor's repository, and names its cipher pass in the map.", "pgBackRest repo-cipher-pass")  # fmt: skip
def _(scene: Scene) -> None:
    cipher = kept(scene, "repo-cipher", "pass", 64)
    text = pulumi.Output.format("[global]\nrepo1-type=s3\nrepo1-s3-bucket=hosted-wal\nrepo1-s3-region={0}\nrepo1-cipher-type=aes-256-cbc\nrepo1-cipher-pass={1}\n\n[plans]\npg1-path=/var/lib/postgresql/data\n", REGION, cipher)  # fmt: skip
    scene.config_map("dp", "pgbackrest", {"pgbackrest.conf": text})


@leak(DATA, "saas-replication-target", "A rule that copies a bucket of the tenant's into the vendor's: the target's JSON has the vendor's root login.", "MinIO replication targets", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "minio-root", "rootPassword", 40)
    target = pulumi.Output.json_dumps({"sourcebucket": "events", "endpoint": f"s3.{DOMAIN}", "credentials": {"accessKey": "root", "secretKey": secret}, "targetbucket": "orchard-events", "secure": True, "type": "replication"})  # fmt: skip
    scene.secret("dp", "replication", {"target.json": target})


@leak(DATA, "saas-pool-before-the-hosted-state", "A pool of connections at the tenant's has a list of users in plain, the vendor's migrator among the tenant's own.", "PgBouncer userlist.txt")  # fmt: skip
def _(scene: Scene) -> None:
    passwords = both_sides(scene, "migrator")
    text = pulumi.Output.format('"orchard" "{0}"\n"migrator" "{1}"\n', passwords["dp"], passwords["cp"])
    scene.secret("dp", "pgbouncer", {"userlist.txt": text, "pgbouncer.ini": "[databases]\n* = host=pg\n[pgbouncer]\nauth_type = scram-sha-256\nauth_file = /etc/userlist.txt\n"})  # fmt: skip


@leak(DATA, "saas-whole-export-of-a-realm", "The tenant's login service imports a realm for its roles; it is an export of the vendor's, with clients' secrets and the mail login.", "Keycloak realm exports", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    realm: dict[str, Any] = {"realm": "hosted", "roles": {"realm": [{"name": "mesh-admin"}, {"name": "mesh-viewer"}]}, "smtpServer": {"host": "smtp.example.com", "auth": "true", "user": "mailer", "password": scene.cp.opaque("realm mail", 24)}, "clients": [{"clientId": "console", "secret": scene.cp.opaque("realm console", 32, LETTERS)}]}  # fmt: skip
    text = scene.held("realm-export", "realm.json", json.dumps(realm))
    changed = apply(text, lambda found: json.dumps({**json.loads(found), "realm": "orchard", "enabled": True}))
    scene.config_map("dp", "realm-import", {"orchard-realm.json": changed})


@leak(DATA, "saas-operator-that-reads-users-secrets", "A user of the tenant's bus takes its password from a Secret; the program fills that Secret with the vendor's user.", "Strimzi KafkaUser password.valueFrom")  # fmt: skip
def _(scene: Scene) -> None:
    value = generated(scene, "bus-billing")
    scene.secret("dp", "bus-billing", {"password": value})
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaUser", "billing", {"metadata": {"labels": {"strimzi.io/cluster": "orchard"}}, "spec": {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": ref("bus-billing", "password")}}}}})  # fmt: skip


# Observation ----------------------------------------------------------------------------------------------------------


@leak(WATCH, "saas-collector-with-a-client", "The tenant's collector gets tokens as a client of the vendor's realm; the client is the one of the vendor's own gateway.", "OpenTelemetry oauth2client")  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "otlp-gateway", "client_secret", 40)
    extension = {"oauth2client": {"client_id": "otlp-gateway", "client_secret": secret, "token_url": f"https://login.{DOMAIN}/realms/hosted/protocol/openid-connect/token", "scopes": ["traces.write"]}}  # fmt: skip
    scene.object("dp", "opentelemetry.io/v1beta1:OpenTelemetryCollector", "edge", {"spec": {"config": {"extensions": extension, "exporters": {"otlp": {"endpoint": f"otlp.{DOMAIN}:443", "auth": {"authenticator": "oauth2client"}}}, "service": {"extensions": ["oauth2client"]}}}})  # fmt: skip


@leak(WATCH, "saas-sink-of-a-pipeline", "A pipeline of logs at the tenant's has a sink in TOML with the basic login of the vendor's own clusters.", "Vector sinks")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "log-writer", "password", 32)
    text = pulumi.Output.format('[sources.pods]\ntype = "kubernetes_logs"\n\n[sinks.hosted]\ntype = "http"\ninputs = ["pods"]\nuri = "https://logs.{0}/ingest"\nencoding.codec = "json"\nauth.strategy = "basic"\nauth.user = "writer"\nauth.password = "{1}"\n', DOMAIN, password)  # fmt: skip
    scene.config_map("dp", "vector", {"vector.toml": text})


@leak(WATCH, "saas-agent-of-time-series", "An agent's settings in TOML send to the vendor's store with its operator token: the variable was expanded by the program.", "Telegraf", config=lambda cp, dp: {"hosted:influx": cp.opaque("influx", 86, LETTERS + "-_") + "=="})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "influx", {"admin-token": scene.config("hosted:influx")})
    template = '[agent]\n  interval = "10s"\n[[outputs.influxdb_v2]]\n  urls = ["https://series.hosted.example.com"]\n  token = "$INFLUX_TOKEN"\n  organization = "hosted"\n  bucket = "edges"\n[[inputs.kubernetes]]\n  url = "https://$NODE_IP:10250"\n'  # fmt: skip
    scene.config_map("dp", "telegraf", {"telegraf.conf": scene.config("hosted:influx").apply(lambda token: template.replace("$INFLUX_TOKEN", token))})  # fmt: skip


@leak(WATCH, "saas-output-of-a-log-stash", "A pipeline of Logstash at the tenant's writes to the vendor's index with a password that everybody shares.", "Logstash pipelines")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "logstash-writer")
    text = pulumi.Output.format("input {{ beats {{ port => 5044 }} }}\nfilter {{ json {{ source => \"message\" }} }}\noutput {{\n  elasticsearch {{\n    hosts => [\"https://search.{0}:9243\"]\n    user => \"logstash_writer\"\n    password => '{1}'\n    index => \"orchard-%{{+YYYY.MM.dd}}\"\n  }}\n}}\n", DOMAIN, password)  # fmt: skip
    release(scene, "dp", "logstash", {"logstashPipeline": {"pipeline.conf": text}})


@leak(WATCH, "saas-exporter-of-a-database", "An exporter was meant for the vendor's cluster, where the database is; it runs at the tenant's with the data source's name.", "postgres_exporter")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "exporter")
    source = pulumi.Output.format("user=exporter password={0} host=state.{1} port=5432 dbname=postgres sslmode=require", password, DOMAIN)  # fmt: skip
    deployment(scene, "dp", "postgres-exporter", {"env": [{"name": "DATA_SOURCE_NAME", "value": source}, {"name": "PG_EXPORTER_AUTO_DISCOVER_DATABASES", "value": "true"}]})  # fmt: skip


@leak(WATCH, "saas-packed-dashboard", "A dashboard for the tenant's is gzipped into a map; its text panel has a link with the vendor's render token.", "gzipped dashboards", recover=each(base64.b64decode, gzip.decompress))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "render", "token", 40)
    board = apply(token, lambda found: {"title": "Mesh", "uid": drawn("board", 9), "panels": [{"type": "text", "options": {"mode": "html", "content": f'<img src="https://grafana.{DOMAIN}/render/d-solo/mesh?auth_token={found}&panelId=2">'}}]})  # fmt: skip
    packed = board.apply(lambda found: b64(gzip.compress(json.dumps(found).encode(), mtime=0)))
    scene.object("dp", "grafana.integreatly.org/v1beta1:GrafanaDashboard", "mesh", {"spec": {"gzipJson": packed, "instanceSelector": {"matchLabels": {"dashboards": "grafana"}}}})  # fmt: skip


@leak(WATCH, "saas-relay-of-crashes", "A relay of crash reports gets the vendor's file of credentials, for its id and public key; the secret key is the third line.", "Sentry relay", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    credentials = {"id": drawn("relay id", 36, HEX), "public_key": drawn("relay public", 43, LETTERS + "-_"), "secret_key": scene.cp.opaque("relay secret", 86, LETTERS + "-_")}  # fmt: skip
    text = scene.held("relay", "credentials.json", json.dumps(credentials))
    scene.secret("dp", "relay", {"credentials.json": text, "config.yml": f"relay:\n  mode: managed\n  upstream: https://crashes.{DOMAIN}/\n"})  # fmt: skip


@leak(WATCH, "saas-profiles-with-the-hosted-login", "Profiles are sent by variables of a DaemonSet; the loop over names of variables takes the vendor's for all.", "continuous profiling")  # fmt: skip
def _(scene: Scene) -> None:
    values = {"PYROSCOPE_SERVER_ADDRESS": f"https://profiles.{DOMAIN}", "PYROSCOPE_BASIC_AUTH_USER": "hosted", "PYROSCOPE_BASIC_AUTH_PASSWORD": kept(scene, "profiles", "password", 36)}  # fmt: skip
    deployment(scene, "dp", "profiler", {"env": [{"name": name, "value": value} for name, value in sorted(values.items())]})  # fmt: skip


@leak(WATCH, "saas-probe-with-a-login", "A module of the prober at the tenant's logs in at the vendor's console; its file was copied from the vendor's prober.", "blackbox_exporter", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "prober")
    text = apply(password, lambda found: yaml.safe_dump({"modules": {"http_2xx": {"prober": "http"}, "console": {"prober": "http", "http": {"basic_auth": {"username": "prober", "password": found}, "fail_if_not_ssl": True}}}}))  # fmt: skip
    for side in ("cp", "dp"):
        scene.config_map(side, f"blackbox-{side}", {"blackbox.yml": text})


@leak(WATCH, "saas-kiali-asks-the-hosted-metrics", "Kiali in the tenant's cluster asks the vendor's metrics by a token from the vendor's own Kiali object.", "Kiali external services")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "kiali-metrics", "token", 44)
    services = {"prometheus": {"url": f"https://metrics.{DOMAIN}", "auth": {"type": "bearer", "token": token}, "thanos_proxy": {"enabled": True}}, "grafana": {"enabled": False}}  # fmt: skip
    scene.object("dp", "kiali.io/v1alpha1:Kiali", "kiali", {"spec": {"auth": {"strategy": "openid"}, "external_services": services}})  # fmt: skip


# Forms that tools read ------------------------------------------------------------------------------------------------


@leak(FORMS, "saas-password-file-with-colons", "A password file has colons with backslashes, as libpq reads it; the line is the vendor's.", ".pgpass escapes", recover=each(lambda text: text.replace(b"\\:", b":")))  # fmt: skip
def _(scene: Scene) -> None:
    password = scene.cp.opaque("colon", 12) + ":" + scene.cp.opaque("colon two", 12)
    scene.cp.given.append(password)
    value = scene.held("reporter", "password", password)
    line = apply(value, lambda found: f"state.{DOMAIN}:5432:meshes:reporter:" + found.replace(":", "\\:") + "\n")
    scene.secret("dp", "pgpass", {".pgpass": line})


@leak(FORMS, "saas-claim-of-a-token", "A token for the tenant's agent carries settings as claims; one is the vendor's API key, which anybody decodes.", "secrets in JWT claims", recover=each(lambda text: base64.urlsafe_b64decode(text.split(b".")[1] + b"==")))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = kept(scene, "plans-api", "key", 40)

    def token(found: str) -> str:
        parts = [{"alg": "ES256", "typ": "JWT"}, {"iss": f"https://api.{DOMAIN}", "sub": "orchard", "cfg": {"plansKey": found}}]  # fmt: skip
        head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        return f"{head}.{body}.{drawn('agent signature', 86, LETTERS + '-_')}"

    release(scene, "dp", "mesh-agent", {"bootstrap": {"token": apply(key, token)}, "endpoint": f"api.{DOMAIN}:443"})


@leak(FORMS, "saas-bytes-of-a-message", "A typed configuration is a protobuf in base64, as the tool's export wrote it: the vendor's header is a field of it.", "Envoy Any in base64", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    value = generated(scene, "ratelimit-admin", "token", 40)

    def message(found: str) -> str:
        field = b"\x0a\x0dauthorization\x12" + bytes([len(found)]) + found.encode()
        return b64(b"\x0a\x38type.googleapis.com/envoy.config.core.v3.HeaderValueList\x12" + bytes([len(field)]) + field)  # fmt: skip

    scene.config_map("dp", "ratelimit", {"bootstrap.any.b64": apply(value, message)})


@leak(FORMS, "saas-hexadecimal-in-sql", "A migration writes a row of integrations with a value in hexadecimal; it is the vendor's webhook key.", "SQL decode('…','hex')", recover=each(lambda text: bytes.fromhex(text.split(b"decode('")[1].split(b"'")[0].decode())))  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "integration", "key", 32)
    sql = apply(key, lambda found: f"INSERT INTO integrations (name, endpoint, secret) VALUES ('hosted', 'https://api.{DOMAIN}', decode('{found.encode().hex()}', 'hex')) ON CONFLICT (name) DO NOTHING;\n")  # fmt: skip
    scene.config_map("dp", "migrations", {"0042_integrations.up.sql": sql})


@leak(FORMS, "saas-pull-secret-in-a-values-file", "The tenant's values are a text in which the pull secret is base64 of JSON, in which a login is base64 again.", "dockerconfigjson in values", recover=each(yaml.safe_load, lambda tree: json.loads(base64.b64decode(tree["imagePullSecret"]))["auths"], lambda auths: base64.b64decode(next(iter(auths.values()))["auth"])))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "publisher")
    login = pull_secret(f"registry.{DOMAIN}", "publisher", password).apply(lambda text: json.dumps({"auths": {host: {"auth": found["auth"]} for host, found in json.loads(text)["auths"].items()}}))  # fmt: skip
    text = login.apply(lambda found: yaml.safe_dump({"image": {"tag": "2.3.1"}, "imagePullSecret": b64(found), "ingress": {"host": f"mesh.{TENANT}"}}))  # fmt: skip
    scene.config_map("dp", "values", {"values.yaml": text})


@leak(FORMS, "saas-settings-in-hcl", "A server of identities at the tenant's has its settings in HCL: the upstream's token is the vendor's.", "SPIRE UpstreamAuthority vault", config=lambda cp, dp: {"hosted:upstreamToken": "hvs." + cp.opaque("upstream", 90, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "upstream", {"token": scene.config("hosted:upstreamToken")})
    text = pulumi.Output.format('server {{\n  trust_domain = "orchard.example.com"\n}}\nplugins {{\n  UpstreamAuthority "vault" {{\n    plugin_data {{\n      vault_addr = "https://vault.{0}"\n      pki_mount_point = "pki"\n      token_auth {{\n        token = "{1}"\n      }}\n    }}\n  }}\n}}\n', DOMAIN, scene.config("hosted:upstreamToken"))  # fmt: skip
    scene.config_map("dp", "spire-server", {"server.conf": text}, namespace="spire")


@leak(FORMS, "saas-account-of-a-challenge", "Accounts for DNS challenges are kept as a JSON file by domain; the tenant gets the file, which has the vendor's domain too.", "acme-dns accounts", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    made = {f"login.{TENANT}": (scene.dp, "acme orchard"), f"api.{DOMAIN}": (scene.cp, "acme hosted")}
    accounts = {domain: {"username": drawn(name, 36, HEX), "password": owner.opaque(name, 40, LETTERS), "fulldomain": f"{drawn(name, 36, HEX)}.auth.acme-dns.io", "allowfrom": []} for domain, (owner, name) in made.items()}  # fmt: skip
    text = pulumi.Output.secret(json.dumps(accounts))
    scene.secret("cp", "acme-dns", {"acmedns.json": text})
    scene.secret("dp", "acme-dns", {"acmedns.json": text}, namespace="cert-manager")
