"""Harmless, as public programs install charts: the hub and the shop run the same ones, with secrets of their own."""

from __future__ import annotations

import hashlib
import hmac
import json

import pulumi
import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, uid

from .world import ACCOUNT, CLIENT, REGION, SSO, ZONE, Site, digest, told, twin

WATCH, FORGES, DATA, APPS, LOGINS, TRAFFIC = (
    "found: charts that watch, twice",
    "found: charts of forges, twice",
    "found: charts of data, twice",
    "found: charts of applications, twice",
    "found: charts of logins, twice",
    "found: charts of traffic, twice",
)

# Watching ---------------------------------------------------------------------------------------------------------------


@twin(WATCH, "kube-prometheus-stack", "Both have the stack with Grafana's generated password, a chat's address of their own and a push of their own.", config=told(slack=("https://hooks.slack.com/services/T0A/B0A/", 24, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("push-login", {"username": at.name, "password": at.word("push")}, namespace="monitoring")
    receivers = [{"name": "null"}, {"name": "slack", "slack_configs": [{"api_url": at.told("slack"), "channel": f"#{at.name}-alerts", "send_resolved": True}]}]  # fmt: skip
    at.chart("kube-prometheus-stack", {"grafana": {"adminPassword": at.word("grafana"), "ingress": {"enabled": True, "hosts": [f"grafana.{at.domain}"]}, "sidecar": {"dashboards": {"enabled": True, "searchNamespace": "ALL"}}}, "alertmanager": {"config": {"route": {"receiver": "slack", "group_by": ["namespace"]}, "receivers": receivers}}, "prometheus": {"prometheusSpec": {"externalLabels": {"cluster": at.name}, "retention": "10d", "remoteWrite": [{"url": f"https://metrics.{at.domain}/api/v1/push", "basicAuth": {"username": {"name": "push-login", "key": "username"}, "password": {"name": "push-login", "key": "password"}}}]}}})  # fmt: skip


@twin(WATCH, "loki-with-minio", "Loki of both keeps chunks in a store in the same cluster, whose root login is generated.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("loki", {"loki": {"auth_enabled": False, "schemaConfig": {"configs": [{"from": "2024-04-01", "store": "tsdb", "object_store": "s3", "schema": "v13", "index": {"prefix": "loki_index_", "period": "24h"}}]}, "storage": {"type": "s3", "bucketNames": {"chunks": at.bucket}, "s3": {"endpoint": "minio.loki.svc:9000", "accessKeyId": "loki", "secretAccessKey": at.word("loki-s3"), "s3ForcePathStyle": True, "insecure": True}}}, "minio": {"enabled": True, "rootUser": "loki", "rootPassword": at.word("loki-s3")}, "deploymentMode": "SimpleScalable"})  # fmt: skip


@twin(WATCH, "mimir-of-a-bucket", "Mimir of both, with access keys of the owner's account for the owner's bucket.", config=told(mimir_id=("AKIA", 16, AWS_ID), mimir_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    s3 = {"endpoint": f"s3.{REGION}.amazonaws.com", "region": REGION, "access_key_id": at.told("mimir_id"), "secret_access_key": at.told("mimir_key")}  # fmt: skip
    at.chart("mimir-distributed", {"mimir": {"structuredConfig": {"common": {"storage": {"backend": "s3", "s3": s3}}, "blocks_storage": {"s3": {"bucket_name": at.bucket}}, "limits": {"max_global_series_per_user": 500000}}}, "minio": {"enabled": False}})  # fmt: skip


@twin(WATCH, "k8s-monitoring", "The vendor's destinations are in the values, each with its owner's user number and token.", config=told(cloud_policy=("glc_", 120, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    auth = {"type": "basic", "username": {"hub": "1180442", "shop": "1390917"}[at.name], "password": at.told("cloud_policy")}  # fmt: skip
    at.chart("k8s-monitoring", {"cluster": {"name": at.name}, "destinations": [{"name": "metrics", "type": "prometheus", "url": "https://prometheus-prod-24-prod-eu-west-2.grafana.net/api/prom/push", "auth": auth}, {"name": "logs", "type": "loki", "url": "https://logs-prod-012.grafana.net/loki/api/v1/push", "auth": auth}], "clusterMetrics": {"enabled": True}, "podLogs": {"enabled": True}, "alloy-logs": {"enabled": True}})  # fmt: skip


@twin(WATCH, "alloy-file", "Alloy's file is a text with the owner's generated password in it, as charts want it.")
def _(at: Site) -> None:
    text = apply(at.word("alloy"), lambda word: f'prometheus.remote_write "default" {{\n  endpoint {{\n    url = "https://metrics.{at.domain}/push"\n    basic_auth {{\n      username = "{at.name}"\n      password = "{word}"\n    }}\n  }}\n}}\n')  # fmt: skip
    at.chart("alloy", {"alloy": {"configMap": {"content": text}, "clustering": {"enabled": True}, "stabilityLevel": "generally-available"}, "controller": {"type": "daemonset"}})  # fmt: skip


@twin(WATCH, "datadog-chart", "The vendor's agents have the owner's key; the site, the tags and the features are the same.", config=told(dd=("", 32, HEX), dd_app=("", 40, HEX)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("datadog", {"datadog": {"apiKey": at.told("dd"), "appKey": at.told("dd_app"), "site": "datadoghq.eu", "clusterName": at.name, "tags": ["env:prod", f"owner:{at.name}"], "logs": {"enabled": True, "containerCollectAll": False}, "apm": {"portEnabled": True}}, "clusterAgent": {"replicas": 2, "token": at.word("dd-cluster-agent"), "metricsProvider": {"enabled": True}}})  # fmt: skip


@twin(WATCH, "nri-bundle", "A bundle of measurements with the owner's licence key under global.", config=told(newrelic=("", 36, HEX)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("nri-bundle", {"global": {"licenseKey": pulumi.Output.concat(at.told("newrelic"), "NRAL"), "cluster": at.name, "lowDataMode": True}, "newrelic-infrastructure": {"privileged": True}, "nri-kube-events": {"enabled": True}, "newrelic-logging": {"enabled": True}, "kube-state-metrics": {"enabled": True}})  # fmt: skip


@twin(WATCH, "collector-with-bearer", "A collector's extension has the owner's bearer token, the pipelines are the same in both.", config=told(otlp=("", 48, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    config = {"extensions": {"bearertokenauth": {"scheme": "Bearer", "token": at.told("otlp")}, "health_check": {}}, "receivers": {"otlp": {"protocols": {"grpc": {}, "http": {}}}}, "processors": {"batch": {}, "memory_limiter": {"check_interval": "5s", "limit_percentage": 80}}, "exporters": {"otlphttp": {"endpoint": f"https://otlp.{at.domain}", "auth": {"authenticator": "bearertokenauth"}}}, "service": {"extensions": ["bearertokenauth", "health_check"], "pipelines": {"traces": {"receivers": ["otlp"], "processors": ["memory_limiter", "batch"], "exporters": ["otlphttp"]}}}}  # fmt: skip
    at.chart("opentelemetry-collector", {"mode": "deployment", "image": {"repository": "otel/opentelemetry-collector-k8s"}, "config": config})  # fmt: skip


@twin(WATCH, "thanos-object-file", "The file of the object store is in a Secret of each, with the owner's key; the chart names it.", config=told(thanos=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    file = apply(at.told("thanos"), lambda word: yaml.safe_dump({"type": "S3", "config": {"bucket": at.bucket, "endpoint": "s3.amazonaws.com", "region": REGION, "access_key": f"AKIA{drawn(at.name + ' thanos', 16, AWS_ID)}", "secret_key": word}}))  # fmt: skip
    at.keep("thanos-objstore", {"objstore.yml": file}, namespace="monitoring")
    at.chart("thanos-receive", {"existingObjstoreSecret": "thanos-objstore", "query": {"stores": ["dnssrv+_grpc._tcp.storegateway"]}, "receive": {"enabled": True, "tsdbRetention": "2d"}})  # fmt: skip


@twin(WATCH, "elastic-agents", "An agent's enrolment token and the password of the shipper are the owner's.", config=told(enrollment=("", 60, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("elastic-agent", {"agent": {"fleet": {"enabled": True, "url": f"https://fleet.{at.domain}:8220", "token": at.told("enrollment"), "preset": "perNode"}}, "outputs": {"default": {"type": "ESPlainAuthBasic", "url": f"https://es.{at.domain}:9200", "username": "shipper", "password": at.word("shipper")}}})  # fmt: skip


@twin(WATCH, "pushgateway-web-configuration", "The gateway for pushes has users with bcrypt hashes of the owner's words in its chart's values.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("push-operator", {"username": "operator", "password": at.word("operator")}, kind="kubernetes.io/basic-auth", namespace="monitoring")  # fmt: skip
    at.chart("prometheus-pushgateway", {"webConfiguration": {"basicAuthUsers": {"operator": at.hashed("operator")}}, "serviceMonitor": {"enabled": True, "honorLabels": True}, "persistentVolume": {"enabled": False}})  # fmt: skip


@twin(WATCH, "uptime-and-status", "A status page of each with a database login and the owner's mail login.", config=told(smtp=("SG.", 66, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    env = {"DB_HOST": "oneuptime-db", "DB_PASSWORD": at.word("status-db"), "SMTP_HOST": "smtp.sendgrid.net", "SMTP_USERNAME": "apikey", "SMTP_PASSWORD": at.told("smtp"), "STATUS_HOST": f"status.{at.domain}"}  # fmt: skip
    at.keep("status", env, namespace="status")
    at.app("status", {"envFrom": [{"secretRef": {"name": "status"}}], "ports": [{"containerPort": 3002}]}, {"secret.reloader.stakater.com/reload": "status"})  # fmt: skip


# Forges -----------------------------------------------------------------------------------------------------------------


@twin(FORGES, "gitea-chart", "A forge of each: administrator, secret key, internal token and database, all generated by their owner's resources.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("gitea", {"gitea": {"admin": {"username": "gitea_admin", "password": at.word("gitea-admin"), "email": f"ops@{at.domain}"}, "config": {"security": {"SECRET_KEY": at.word("gitea-secret", 64), "INTERNAL_TOKEN": at.word("gitea-internal", 105)}, "server": {"DOMAIN": f"git.{at.domain}", "ROOT_URL": f"https://git.{at.domain}/"}, "database": {"DB_TYPE": "postgres", "PASSWD": at.word("gitea-db")}}}, "postgresql": {"enabled": True, "global": {"postgresql": {"auth": {"password": at.word("gitea-db"), "username": "gitea", "database": "gitea"}}}}, "redis-cluster": {"enabled": False}})  # fmt: skip


@twin(FORGES, "harbor-chart", "A registry of each with keys of 16 letters, a login of components by its bcrypt hash, and a database.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("harbor", {"expose": {"type": "ingress", "tls": {"certSource": "secret", "secret": {"secretName": "harbor-tls"}}}, "externalURL": f"https://images.{at.domain}", "harborAdminPassword": at.word("harbor-admin"), "secretKey": at.word("harbor-key", 16), "core": {"secret": at.word("harbor-core", 16), "xsrfKey": at.word("harbor-xsrf")}, "jobservice": {"secret": at.word("harbor-job", 16)}, "registry": {"secret": at.word("harbor-registry", 16), "credentials": {"username": "harbor_registry_user", "password": at.word("harbor-components"), "htpasswdString": pulumi.Output.concat("harbor_registry_user:", at.hashed("harbor-components"))}}, "database": {"type": "internal", "internal": {"password": at.word("harbor-db")}}})  # fmt: skip


@twin(FORGES, "woodpecker-chart", "A builder and its agents share a generated secret; the application at the forge is the owner's.", config=told(forge_secret=("gto_", 52, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    shared = at.word("agent-secret", 64)
    at.chart("woodpecker", {"server": {"env": {"WOODPECKER_HOST": f"https://ci.{at.domain}", "WOODPECKER_GITEA": "true", "WOODPECKER_GITEA_URL": f"https://git.{at.domain}", "WOODPECKER_GITEA_CLIENT": uid(f"{at.name} woodpecker"), "WOODPECKER_GITEA_SECRET": at.told("forge_secret"), "WOODPECKER_AGENT_SECRET": shared}}, "agent": {"replicaCount": 2, "env": {"WOODPECKER_SERVER": "woodpecker-server:9000", "WOODPECKER_AGENT_SECRET": shared}}})  # fmt: skip


@twin(FORGES, "argo-cd-chart", "Argo CD of each: hash of a generated password, a deploy key, the secret of a client, a hook's secret.", config=told(argocd_client=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    key = at.key("argocd-deploy")
    at.chart("argo-cd", {"global": {"domain": f"argocd.{at.domain}"}, "configs": {"secret": {"argocdServerAdminPassword": at.hashed("argocd-admin"), "githubSecret": at.word("argocd-hook"), "extra": {"oidc.clientSecret": at.told("argocd_client")}}, "cm": {"oidc.config": f"name: SSO\nissuer: {SSO}\nclientID: {CLIENT}\nclientSecret: $oidc.clientSecret\n"}, "repositories": {"apps": {"url": f"git@git.{at.domain}:apps.git", "type": "git", "sshPrivateKey": key.output("privateKeyOpenssh")}}, "params": {"server.insecure": True}}, "redis-ha": {"enabled": False}})  # fmt: skip


@twin(FORGES, "argo-workflows-chart", "Workflows of each: a login by the owner's client and a store of artifacts by the owner's key.", config=told(wf_client=("", 32, LETTERS), wf_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("argo-sso", {"client-id": CLIENT, "client-secret": at.told("wf_client")}, namespace="argo")
    at.keep("artifacts", {"accesskey": f"AKIA{drawn(at.name + ' wf', 16, AWS_ID)}", "secretkey": at.told("wf_key")}, namespace="argo")  # fmt: skip
    at.chart("argo-workflows", {"server": {"authModes": ["sso"], "sso": {"enabled": True, "issuer": SSO, "clientId": {"name": "argo-sso", "key": "client-id"}, "clientSecret": {"name": "argo-sso", "key": "client-secret"}}}, "artifactRepository": {"s3": {"bucket": at.bucket, "endpoint": "s3.amazonaws.com", "accessKeySecret": {"name": "artifacts", "key": "accesskey"}, "secretKeySecret": {"name": "artifacts", "key": "secretkey"}}}})  # fmt: skip


@twin(FORGES, "backstage-chart", "A portal of each with a session secret, a backend key and a database in its configuration.", config=told(portal_pat=("ghp_", 36, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    app = {"app": {"baseUrl": f"https://portal.{at.domain}"}, "backend": {"auth": {"keys": [{"secret": at.raw("portal-key", 24)}]}, "database": {"client": "pg", "connection": {"host": "portal-pg", "user": "backstage", "password": at.word("portal-db")}}}, "auth": {"session": {"secret": at.word("portal-session")}}, "integrations": {"github": [{"host": "github.com", "token": at.told("portal_pat")}]}}  # fmt: skip
    at.chart("backstage", {"backstage": {"appConfig": app, "image": {"registry": f"images.{ZONE}", "repository": "backstage", "tag": "1.34.1"}}, "postgresql": {"enabled": True, "auth": {"password": at.word("portal-db")}}})  # fmt: skip


@twin(FORGES, "sonarqube-chart", "A scanner of each with a passcode for its monitor and a JDBC login.")
def _(at: Site) -> None:
    at.chart("sonarqube", {"community": {"enabled": True}, "monitoringPasscode": at.word("sonar-passcode"), "jdbcOverwrite": {"enable": True, "jdbcUrl": "jdbc:postgresql://sonar-pg:5432/sonar?socketTimeout=1500", "jdbcUsername": "sonar", "jdbcPassword": at.word("sonar-db")}, "account": {"adminPassword": at.word("sonar-admin"), "currentAdminPassword": "admin"}, "postgresql": {"enabled": False}})  # fmt: skip


@twin(FORGES, "gitlab-runner-chart", "Runners of each log in with the owner's token; their file is a text with a template of Pods.", config=told(runner=("glrt-", 20, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("gitlab-runner", {"gitlabUrl": "https://gitlab.com/", "runnerToken": at.told("runner"), "concurrent": 10, "rbac": {"create": True}, "runners": {"config": f'[[runners]]\n  [runners.kubernetes]\n    namespace = "ci"\n    image = "alpine@{digest("alpine")}"\n  [runners.cache]\n    Type = "s3"\n    Shared = true\n    [runners.cache.s3]\n      BucketName = "{at.bucket}"\n      AuthenticationType = "iam"\n'}})  # fmt: skip


@twin(FORGES, "renovate-chart", "A bot of each: its file as a text with rules for hosts, its token beside.", config=told(renovate=("github_pat_", 82, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    settings = apply(at.told("renovate"), lambda word: json.dumps({"platform": "github", "token": word, "repositories": [f"acme-{at.name}/apps"], "hostRules": [{"matchHost": "ghcr.io", "username": "bot", "password": word}], "packageRules": [{"matchManagers": ["helmv3"], "groupName": "charts"}]}))  # fmt: skip
    at.chart("renovate", {"cronjob": {"schedule": "0 1 * * *"}, "renovate": {"config": settings}, "resources": {"requests": {"cpu": "100m"}}})  # fmt: skip


# Data -------------------------------------------------------------------------------------------------------------------


@twin(DATA, "postgresql-ha-chart", "A database with a pool: five generated passwords, the same names of users.")
def _(at: Site) -> None:
    at.chart("postgresql-ha", {"postgresql": {"username": "app", "database": "app", "password": at.word("pg-app"), "postgresPassword": at.word("pg-postgres"), "repmgrPassword": at.word("pg-repmgr"), "replicaCount": 3}, "pgpool": {"adminUsername": "admin", "adminPassword": at.word("pgpool-admin"), "srCheckPassword": at.word("pgpool-check"), "customUsers": {"usernames": "reader", "passwords": at.word("pg-reader")}}, "metrics": {"enabled": True}})  # fmt: skip


@twin(DATA, "rabbitmq-definitions-text", "Definitions of a broker are a text with plain passwords, in the owner's Secret.")  # fmt: skip
def _(at: Site) -> None:
    text = apply(at.word("rabbit"), lambda word: json.dumps({"users": [{"name": "app", "password": word, "tags": ""}], "vhosts": [{"name": "app"}], "policies": [{"name": "ha", "pattern": "^ha\\.", "vhost": "app", "definition": {"ha-mode": "all"}}]}))  # fmt: skip
    at.keep("rabbit-definitions", {"load_definition.json": text}, namespace="rabbitmq")
    at.chart("rabbitmq", {"auth": {"username": "admin", "password": at.word("rabbit-admin"), "erlangCookie": at.word("rabbit-cookie")}, "loadDefinition": {"enabled": True, "existingSecret": "rabbit-definitions"}, "extraConfiguration": "load_definitions = /app/load_definition.json\n"})  # fmt: skip


@twin(DATA, "minio-tenant", "A tenant of a store of objects has its environment as a text of exports.")
def _(at: Site) -> None:
    text = pulumi.Output.format("export MINIO_ROOT_USER=minio\nexport MINIO_ROOT_PASSWORD={0}\nexport MINIO_BROWSER=on\n", at.word("minio-root"))  # fmt: skip
    at.keep("minio-env", {"config.env": text}, namespace="minio")
    at.keep("minio-app-user", {"CONSOLE_ACCESS_KEY": "app", "CONSOLE_SECRET_KEY": at.word("minio-app", 40)}, namespace="minio")  # fmt: skip
    at.object("minio.min.io/v2:Tenant", "objects", {"spec": {"configuration": {"name": "minio-env"}, "users": [{"name": "minio-app-user"}], "pools": [{"name": "pool-0", "servers": 4, "volumesPerServer": 1}], "requestAutoCert": True, "buckets": [{"name": at.bucket, "region": REGION}]}})  # fmt: skip


@twin(DATA, "mongodb-chart", "A replica set with a key of its members, a root, and two users.")
def _(at: Site) -> None:
    at.chart("mongodb", {"architecture": "replicaset", "replicaCount": 3, "auth": {"rootUser": "root", "rootPassword": at.word("mongo-root"), "replicaSetKey": at.word("mongo-key", 10), "usernames": ["app", "report"], "passwords": [at.word("mongo-app"), at.word("mongo-report")], "databases": ["app", "app"]}, "metrics": {"enabled": True, "username": "root"}})  # fmt: skip


@twin(DATA, "clickhouse-users-by-hash", "Users of a column store by SHA-256 of the owner's words, beside profiles and quotas.")  # fmt: skip
def _(at: Site) -> None:
    hashed = apply(at.word("clickhouse"), lambda word: hashlib.sha256(word.encode()).hexdigest())
    at.keep("clickhouse-app", {"user": "app", "password": at.word("clickhouse")}, namespace="clickhouse")
    at.object("clickhouse.altinity.com/v1:ClickHouseInstallation", "events", {"spec": {"configuration": {"users": {"app/password_sha256_hex": hashed, "app/networks/ip": ["10.0.0.0/8"], "app/profile": "default"}, "profiles": {"default/max_memory_usage": 10000000000}, "clusters": [{"name": "main", "layout": {"shardsCount": 2, "replicasCount": 2}}]}}})  # fmt: skip


@twin(DATA, "opensearch-internal-users", "A search engine's users are a text with bcrypt hashes of the owner's words and reserved names.")  # fmt: skip
def _(at: Site) -> None:
    text = pulumi.Output.all(at.hashed("os-admin"), at.hashed("os-logs")).apply(lambda hashes: yaml.safe_dump({"_meta": {"type": "internalusers", "config_version": 2}, "admin": {"hash": hashes[0], "reserved": True, "backend_roles": ["admin"]}, "logs": {"hash": hashes[1], "backend_roles": ["logstash"]}}))  # fmt: skip
    at.keep("opensearch-users", {"internal_users.yml": text}, namespace="opensearch")
    at.chart("opensearch", {"securityConfig": {"enabled": True, "internalUsersSecret": "opensearch-users"}, "extraEnvs": [{"name": "OPENSEARCH_INITIAL_ADMIN_PASSWORD", "value": at.word("os-admin")}], "clusterName": "logs", "replicas": 3})  # fmt: skip


@twin(DATA, "proxysql-in-a-map", "A proxy's chart puts its users into a map of settings: the owner's generated words, the same user names.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("proxysql", {"admin": {"user": "admin", "password": at.word("proxysql-admin")}, "monitor": {"user": "monitor", "password": at.word("proxysql-monitor")}, "mysql": {"version": "8.0.36", "users": [{"username": "app", "password": at.word("proxysql-app"), "default_hostgroup": 10, "active": 1}], "servers": [{"address": f"mysql.{at.domain}", "port": 3306, "hostgroup": 10}], "rules": [{"rule_id": 1, "active": 1, "match_digest": "^SELECT .* FOR UPDATE", "destination_hostgroup": 10}]}})  # fmt: skip


@twin(DATA, "pgbouncer-user-list", "A pool's user list has an MD5 of the owner's password and user, and the file of settings names it.")  # fmt: skip
def _(at: Site) -> None:
    line = apply(at.word("bouncer"), lambda word: f'"app" "md5{hashlib.md5((word + "app").encode(), usedforsecurity=False).hexdigest()}"\n')  # fmt: skip
    at.keep("bouncer-users", {"userlist.txt": line}, namespace="databases")
    at.config_map("bouncer", {"pgbouncer.ini": f"[databases]\napp = host=pg.{at.domain} port=5432 dbname=app\n[pgbouncer]\nauth_type = md5\nauth_file = /etc/users/userlist.txt\npool_mode = transaction\nmax_client_conn = 500\n"})  # fmt: skip
    at.app("bouncer", {"ports": [{"containerPort": 6432}]})


@twin(DATA, "nats-chart", "A bus of each merges accounts with hashed passwords of the owner's into its settings.")
def _(at: Site) -> None:
    users = [{"user": "orders", "password": at.hashed("nats-orders"), "permissions": {"publish": ["orders.>"]}}]
    at.keep("nats-orders", {"user": "orders", "password": at.word("nats-orders")}, namespace="nats")
    at.chart("nats", {"config": {"cluster": {"enabled": True, "replicas": 3}, "jetstream": {"enabled": True, "fileStore": {"pvc": {"size": "10Gi"}}}, "merge": {"accounts": {"APP": {"jetstream": True, "users": users}, "SYS": {"users": [{"user": "sys", "password": at.hashed("nats-sys")}]}}, "system_account": "SYS"}}})  # fmt: skip


@twin(DATA, "temporal-chart", "Workflows of each persist in SQL: default store and visibility with one generated login.")  # fmt: skip
def _(at: Site) -> None:
    sql = {"driver": "postgres12", "host": f"pg.{at.domain}", "port": 5432, "user": "temporal", "password": at.word("temporal")}  # fmt: skip
    stores = {name: {"driver": "sql", "sql": {**sql, "database": database}} for name, database in (("default", "temporal"), ("visibility", "temporal_visibility"))}  # fmt: skip
    at.chart("temporal", {"server": {"config": {"persistence": stores}, "replicaCount": 1}, "cassandra": {"enabled": False}, "elasticsearch": {"enabled": False}, "schema": {"setup": {"enabled": True}}})  # fmt: skip


@twin(DATA, "airflow-chart", "A scheduler of each: Fernet key, secret of the web server, and an address of its metadata with a login.")  # fmt: skip
def _(at: Site) -> None:
    fernet = apply(at.raw("fernet"), lambda text: text.replace("+", "-").replace("/", "_"))
    at.chart("airflow", {"executor": "KubernetesExecutor", "fernetKey": fernet, "webserverSecretKey": at.raw("webserver", 16, "hex"), "data": {"metadataConnection": {"user": "airflow", "pass": at.word("airflow-db"), "protocol": "postgresql", "host": "airflow-pg", "port": 5432, "db": "airflow", "sslmode": "disable"}}, "postgresql": {"auth": {"password": at.word("airflow-db"), "username": "airflow"}}, "webserver": {"defaultUser": {"username": "admin", "password": at.word("airflow-admin"), "email": f"ops@{at.domain}"}}})  # fmt: skip


@twin(DATA, "velero-credentials-file", "Backups of each: the usual file of an access key, the owner's, and the owner's bucket.", config=told(backup_id=("AKIA", 16, AWS_ID), backup_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    file = pulumi.Output.format("[default]\naws_access_key_id={0}\naws_secret_access_key={1}\n", at.told("backup_id"), at.told("backup_key"))  # fmt: skip
    at.chart("velero", {"credentials": {"useSecret": True, "secretContents": {"cloud": file}}, "configuration": {"backupStorageLocation": [{"name": "default", "provider": "aws", "bucket": at.bucket, "config": {"region": REGION}}]}, "initContainers": [{"name": "velero-plugin-for-aws", "image": "velero/velero-plugin-for-aws:v1.11.1"}], "schedules": {"daily": {"schedule": "0 2 * * *", "template": {"ttl": "240h"}}}})  # fmt: skip


@twin(DATA, "redis-acl-file", "A cache of each with a file of access lists: SHA-256 of the owner's words, the same rules.")  # fmt: skip
def _(at: Site) -> None:
    lines = apply(at.word("valkey"), lambda word: f"user default off\nuser app on #{hashlib.sha256(word.encode()).hexdigest()} ~app:* +@all -@dangerous\nuser probe on nopass +ping\n")  # fmt: skip
    at.keep("valkey-app", {"valkey-password": at.word("valkey"), "users.acl": lines}, namespace="valkey")
    at.chart("valkey", {"auth": {"enabled": True, "existingSecret": "valkey-app", "existingSecretPasswordKey": "valkey-password"}, "architecture": "replication", "commonConfiguration": "aclfile /etc/valkey/users.acl\nappendonly yes\nsave ''\n"})  # fmt: skip


# Applications -----------------------------------------------------------------------------------------------------------


@twin(APPS, "supabase-tokens", "Two tokens are signed by the program with the owner's generated secret, as the chart wants them.")  # fmt: skip
def _(at: Site) -> None:
    def signed(role: str, word: str) -> str:
        parts = [json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps({"role": role, "iss": "supabase", "iat": 1735689600, "exp": 1893456000})]  # fmt: skip
        body = ".".join(b64(part).rstrip("=").replace("+", "-").replace("/", "_") for part in parts)
        mac = b64(hmac.new(word.encode(), body.encode(), hashlib.sha256).digest())
        return f"{body}.{mac.rstrip('=').replace('+', '-').replace('/', '_')}"

    secret = at.word("jwt-secret", 40)
    at.chart("supabase", {"secret": {"jwt": {"secret": secret, "anonKey": apply(secret, lambda word: signed("anon", word)), "serviceKey": apply(secret, lambda word: signed("service_role", word))}, "db": {"username": "postgres", "password": at.word("supabase-db"), "database": "postgres"}, "dashboard": {"username": "supabase", "password": at.word("supabase-studio")}}, "studio": {"environment": {"SUPABASE_PUBLIC_URL": f"https://base.{at.domain}"}}})  # fmt: skip


@twin(APPS, "langfuse-chart", "Observations of models: a salt, a session's secret, a key of 64 digits, and three stores' passwords.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("langfuse", {"langfuse": {"salt": {"value": at.raw("salt")}, "nextauth": {"url": f"https://llm.{at.domain}", "secret": {"value": at.raw("nextauth")}}, "encryptionKey": {"value": at.raw("encryption", 32, "hex")}}, "postgresql": {"auth": {"username": "langfuse", "password": at.word("lf-pg")}}, "clickhouse": {"auth": {"username": "default", "password": at.word("lf-ch")}}, "redis": {"auth": {"password": at.word("lf-redis")}}, "s3": {"bucket": at.bucket, "auth": {"rootUser": "minio", "rootPassword": at.word("lf-s3")}}})  # fmt: skip


@twin(APPS, "jupyterhub-chart", "Notebooks of each: a proxy's token and a cookie's secret in hexadecimal, a client of the owner's at the forge.", config=told(hub_client=("", 40, HEX)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("jupyterhub", {"proxy": {"secretToken": at.raw("proxy-token", 32, "hex"), "service": {"type": "ClusterIP"}}, "hub": {"cookieSecret": at.raw("cookie", 32, "hex"), "config": {"GitHubOAuthenticator": {"client_id": f"Iv1.{drawn(at.name + ' jupyter', 16, HEX)}", "client_secret": at.told("hub_client"), "oauth_callback_url": f"https://nb.{at.domain}/hub/oauth_callback", "allowed_organizations": ["acme"]}, "JupyterHub": {"authenticator_class": "github"}}}, "singleuser": {"image": {"name": "quay.io/jupyter/base-notebook", "tag": "2025-01-20"}, "memory": {"limit": "2G"}}})  # fmt: skip


@twin(APPS, "superset-chart", "Charts over data: extra secrets and overrides of a file in Python that reads them from its environment.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("superset", {"extraSecretEnv": {"SUPERSET_SECRET_KEY": at.raw("superset", 42), "DB_PASS": at.word("superset-db")}, "configOverrides": {"secret": "SECRET_KEY = os.environ['SUPERSET_SECRET_KEY']\nSQLALCHEMY_EXAMPLES_URI = 'sqlite://'\n", "oauth": f"AUTH_TYPE = AUTH_OAUTH\nOAUTH_PROVIDERS = [{{'name': 'sso', 'remote_app': {{'client_id': '{CLIENT}', 'server_metadata_url': '{SSO}/.well-known/openid-configuration'}}}}]\n"}, "postgresql": {"auth": {"username": "superset", "password": at.word("superset-db"), "database": "superset"}}})  # fmt: skip


@twin(APPS, "n8n-chart", "Automations of each: an encryption key and a database's login in the environment, both generated.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("n8n", {"main": {"secret": {"n8n": {"encryption_key": at.word("n8n", 48)}, "db": {"postgresdb": {"password": at.word("n8n-db")}}}, "config": {"n8n": {"hide_usage_page": True}, "db": {"type": "postgresdb", "postgresdb": {"host": "n8n-pg", "user": "n8n", "database": "n8n"}}, "webhook_url": f"https://flows.{at.domain}/"}}, "worker": {"enabled": True, "count": 2}})  # fmt: skip


@twin(APPS, "sentry-chart", "Errors of each: a system's secret, the first user's password, and passwords of what the chart brings with it.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("sentry", {"user": {"create": True, "email": f"ops@{at.domain}", "password": at.word("sentry-admin")}, "system": {"url": f"https://errors.{at.domain}", "secretKey": at.word("sentry-key", 50)}, "postgresql": {"auth": {"postgresPassword": at.word("sentry-pg")}}, "redis": {"auth": {"enabled": True, "password": at.word("sentry-redis")}}, "rabbitmq": {"auth": {"username": "guest", "password": at.word("sentry-mq"), "erlangCookie": at.word("sentry-cookie")}}, "mail": {"backend": "dummy"}})  # fmt: skip


@twin(APPS, "nextcloud-chart", "Files of each: the first user, a database, a cache, and a token for its exporter.")
def _(at: Site) -> None:
    at.chart("nextcloud", {"nextcloud": {"host": f"files.{at.domain}", "username": "admin", "password": at.word("nextcloud"), "configs": {"proxy.config.php": "<?php\n$CONFIG = array ('trusted_proxies' => array('10.0.0.0/8'), 'overwriteprotocol' => 'https');\n"}}, "internalDatabase": {"enabled": False}, "mariadb": {"enabled": True, "auth": {"rootPassword": at.word("nc-root"), "password": at.word("nc-db"), "username": "nextcloud"}}, "redis": {"enabled": True, "auth": {"password": at.word("nc-redis")}}, "metrics": {"enabled": True, "token": at.word("nc-metrics")}})  # fmt: skip


@twin(APPS, "outline-environment", "A wiki of each with two hexadecimal secrets, addresses with logins, and the owner's client at the login service.", config=told(outline=("", 32, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("outline", {"SECRET_KEY": at.raw("outline-key", 32, "hex"), "UTILS_SECRET": at.raw("outline-utils", 32, "hex"), "DATABASE_URL": pulumi.Output.format("postgres://outline:{0}@outline-pg:5432/outline", at.word("outline-db")), "REDIS_URL": pulumi.Output.format("redis://:{0}@outline-redis:6379", at.word("outline-redis")), "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": at.told("outline"), "OIDC_AUTH_URI": f"{SSO}/protocol/openid-connect/auth", "URL": f"https://wiki.{at.domain}"}, namespace="outline")  # fmt: skip
    at.app("outline", {"envFrom": [{"secretRef": {"name": "outline"}}], "ports": [{"containerPort": 3000}]})


@twin(APPS, "models-from-a-hub", "A server of models gets the owner's token for downloads by a Secret and a variable.", config=told(hf=("hf_", 34, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("hf-token", {"HF_TOKEN": at.told("hf")}, namespace="models")
    at.object("serving.kserve.io/v1beta1:InferenceService", "chat", {"spec": {"predictor": {"model": {"modelFormat": {"name": "huggingface"}, "args": ["--model_name=chat", "--model_id=Qwen/Qwen2.5-7B-Instruct", "--max-model-len=8192"], "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "HF_TOKEN"}}}], "resources": {"limits": {"nvidia.com/gpu": "1"}}}}}})  # fmt: skip


# Logins -----------------------------------------------------------------------------------------------------------------


@twin(LOGINS, "keycloak-x-chart", "A login service of each, with its administrator and its database in a command's environment.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("keycloak-admin", {"user": "admin", "password": at.word("keycloak-admin")}, namespace="keycloak")
    env = f'- name: KC_HOSTNAME\n  value: sso.{at.domain}\n- name: KEYCLOAK_ADMIN_PASSWORD\n  valueFrom: {{secretKeyRef: {{name: keycloak-admin, key: password}}}}\n- name: JAVA_OPTS_APPEND\n  value: -Djgroups.dns.query=keycloak-headless\n'  # fmt: skip
    at.chart("keycloakx", {"command": ["/opt/keycloak/bin/kc.sh", "start", "--http-enabled=true"], "extraEnv": env, "database": {"vendor": "postgres", "hostname": "keycloak-pg", "port": 5432, "database": "keycloak", "username": "keycloak", "password": at.word("keycloak-db")}, "proxy": {"mode": "xforwarded"}})  # fmt: skip


@twin(LOGINS, "authelia-chart", "A portal of logins: four secrets as values, a file of users with argon2 hashes of nobody's.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("authelia", {"configMap": {"session": {"encryption_key": {"value": at.word("authelia-session", 64)}, "cookies": [{"domain": at.domain}]}, "storage": {"encryption_key": {"value": at.word("authelia-storage", 64)}, "postgres": {"enabled": True, "username": "authelia", "password": {"value": at.word("authelia-db")}}}, "identity_validation": {"reset_password": {"secret": {"value": at.word("authelia-reset", 64)}}}, "access_control": {"default_policy": "deny", "rules": [{"domain": f"*.{at.domain}", "policy": "two_factor"}]}}})  # fmt: skip


@twin(LOGINS, "dex-chart", "Dex of each: static clients with generated secrets, a connector with the owner's, a static hash.", config=told(dex_github=("", 40, HEX)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("dex", {"config": {"issuer": f"https://dex.{at.domain}", "storage": {"type": "kubernetes", "config": {"inCluster": True}}, "connectors": [{"type": "github", "id": "github", "name": "GitHub", "config": {"clientID": f"Ov23li{drawn(at.name + ' dex', 14)}", "clientSecret": at.told("dex_github"), "redirectURI": f"https://dex.{at.domain}/callback", "orgs": [{"name": "acme"}]}}], "staticClients": [{"id": "argo-cd", "name": "Argo CD", "secret": at.word("dex-argocd"), "redirectURIs": [f"https://argocd.{at.domain}/auth/callback"]}], "staticPasswords": [{"email": f"ops@{at.domain}", "hash": at.hashed("dex-ops"), "username": "ops", "userID": uid(f"{at.name} ops")}]}})  # fmt: skip


@twin(LOGINS, "oauth2-proxy-file", "A proxy of logins has its file as a text with places of secrets, and a Secret with both of them.", config=told(proxy_client=("", 36, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("proxy-login", {"client-id": CLIENT, "client-secret": at.told("proxy_client"), "cookie-secret": at.raw("proxy-cookie")}, namespace="auth")  # fmt: skip
    at.chart("oauth2-proxy", {"config": {"existingSecret": "proxy-login", "configFile": f'provider = "keycloak-oidc"\noidc_issuer_url = "{SSO}"\nredirect_url = "https://apps.{at.domain}/oauth2/callback"\nemail_domains = ["*"]\ncookie_secure = true\npass_access_token = true\nset_xauthrequest = true\n'}, "sessionStorage": {"type": "redis", "redis": {"password": at.word("proxy-redis")}}, "redis": {"enabled": True, "auth": {"password": at.word("proxy-redis")}}})  # fmt: skip


@twin(LOGINS, "ory-kratos-chart", "Identities of each: lists of secrets for cookies and ciphers, and an address with a login.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("kratos", {"kratos": {"config": {"dsn": pulumi.Output.format("postgres://kratos:{0}@kratos-pg:5432/kratos?sslmode=disable", at.word("kratos-db")), "secrets": {"default": [at.word("kratos-default")], "cookie": [at.word("kratos-cookie")], "cipher": [at.word("kratos-cipher", 32)]}, "serve": {"public": {"base_url": f"https://id.{at.domain}"}}, "selfservice": {"methods": {"password": {"enabled": True}, "totp": {"config": {"issuer": at.domain}, "enabled": True}}}}, "identitySchemas": {"person.json": json.dumps({"$id": "person", "properties": {"traits": {"properties": {"email": {"type": "string", "format": "email", "ory.sh/kratos": {"credentials": {"password": {"identifier": True}}}}}}}})}}})  # fmt: skip


@twin(LOGINS, "openfga-preshared", "Questions of access are answered to holders of the owner's keys; the applications of the same owner have one each.")  # fmt: skip
def _(at: Site) -> None:
    at.chart("openfga", {"authn": {"method": "preshared", "preshared": {"keys": [at.word("fga-app"), at.word("fga-batch")]}}, "datastore": {"engine": "postgres", "uri": pulumi.Output.format("postgres://fga:{0}@fga-pg:5432/fga", at.word("fga-db"))}, "playground": {"enabled": False}})  # fmt: skip
    at.keep("fga-app", {"FGA_API_TOKEN": at.word("fga-app"), "FGA_STORE_ID": "01JFZ4T1R7V3Q9K2M8X6B5N0CD"}, namespace="apps")  # fmt: skip


@twin(LOGINS, "vault-seal-by-a-cloud", "A store of secrets of each: a file in HCL with a key of the owner's cloud by its id, and an audit device.", config=told(seal_id=("AKIA", 16, AWS_ID), seal_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("vault-seal", {"AWS_ACCESS_KEY_ID": at.told("seal_id"), "AWS_SECRET_ACCESS_KEY": at.told("seal_key")}, namespace="vault")  # fmt: skip
    hcl = f'ui = true\nlistener "tcp" {{\n  address = "[::]:8200"\n  tls_cert_file = "/vault/tls/tls.crt"\n  tls_key_file = "/vault/tls/tls.key"\n}}\nstorage "raft" {{ path = "/vault/data" }}\nseal "awskms" {{\n  region = "{REGION}"\n  kms_key_id = "{uid(at.name + " seal")}"\n}}\n'  # fmt: skip
    at.chart("vault", {"server": {"ha": {"enabled": True, "raft": {"enabled": True, "config": hcl}}, "extraSecretEnvironmentVars": [{"envName": "AWS_SECRET_ACCESS_KEY", "secretName": "vault-seal", "secretKey": "AWS_SECRET_ACCESS_KEY"}]}, "injector": {"enabled": True}})  # fmt: skip


# Traffic ----------------------------------------------------------------------------------------------------------------


@twin(TRAFFIC, "traefik-chart", "A proxy's dashboard has a line of users with a hash of the owner's word, in an extra object of the chart.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("dashboard-word", {"password": at.word("dashboard")}, namespace="traefik")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "dashboard-users"}, "stringData": {"users": pulumi.Output.concat("admin:", at.hashed("dashboard"))}}  # fmt: skip
    at.chart("traefik", {"ingressRoute": {"dashboard": {"enabled": True, "matchRule": f"Host(`traefik.{at.domain}`)", "middlewares": [{"name": "dashboard-auth"}]}}, "extraObjects": [secret, {"apiVersion": "traefik.io/v1alpha1", "kind": "Middleware", "metadata": {"name": "dashboard-auth"}, "spec": {"basicAuth": {"secret": "dashboard-users"}}}]})  # fmt: skip


@twin(TRAFFIC, "external-dns-of-a-zone", "Names of each owner's zone are written with the owner's token; policy, registry and sources are the same.", config=told(zone_token=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("cloudflare", {"apiToken": at.told("zone_token")}, namespace="dns")
    at.chart("external-dns", {"provider": {"name": "cloudflare"}, "env": [{"name": "CF_API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "cloudflare", "key": "apiToken"}}}], "txtOwnerId": at.name, "txtPrefix": "_edns.", "domainFilters": [at.domain], "policy": "sync", "sources": ["gateway-httproute", "service"], "extraArgs": ["--cloudflare-proxied"]})  # fmt: skip


@twin(TRAFFIC, "external-dns-by-tsig", "Names of each are written by updates with a key of the owner's, whose name and algorithm are the same.", config=told(tsig=("", 43, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.chart("external-dns", {"provider": "rfc2136", "rfc2136": {"host": "192.0.2.53", "port": 53, "zone": at.domain, "tsigKeyname": "externaldns", "tsigSecretAlg": "hmac-sha256", "tsigSecret": pulumi.Output.concat(at.told("tsig"), "="), "tsigAxfr": True}, "txtOwnerId": at.name})  # fmt: skip


@twin(TRAFFIC, "cloudflared-tunnel", "A tunnel of each: credentials as JSON with the owner's secret, an account, a tunnel's id, and rules of ingress.", config=told(tunnel=("", 43, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    file = pulumi.Output.json_dumps({"AccountTag": drawn("cloudflare account", 32, HEX), "TunnelID": uid(f"{at.name} tunnel"), "TunnelSecret": pulumi.Output.concat(at.told("tunnel"), "=")})  # fmt: skip
    at.keep("tunnel-credentials", {"credentials.json": file}, namespace="cloudflared")
    at.chart("cloudflare-tunnel", {"cloudflare": {"tunnelName": at.name, "tunnelId": uid(f"{at.name} tunnel"), "secretName": "tunnel-credentials", "ingress": [{"hostname": f"*.{at.domain}", "service": "https://ingress:443", "originRequest": {"noTLSVerify": True}}]}})  # fmt: skip


@twin(TRAFFIC, "consul-chart", "A registry of services of each has a gossip key and a token for its first rules, generated.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("consul-gossip", {"key": at.raw("gossip")}, namespace="consul")
    at.keep("consul-bootstrap", {"token": at.word("consul-acl", 36)}, namespace="consul")
    at.chart("consul", {"global": {"name": "consul", "datacenter": at.name, "gossipEncryption": {"secretName": "consul-gossip", "secretKey": "key"}, "acls": {"manageSystemACLs": True, "bootstrapToken": {"secretName": "consul-bootstrap", "secretKey": "token"}}, "tls": {"enabled": True, "enableAutoEncrypt": True}}, "connectInject": {"enabled": True}})  # fmt: skip


@twin(TRAFFIC, "netbird-operator", "Each owner's network has a setup key of the owner's; the address of the network's service is one.", config=told(netbird=("nbp_", 36, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("netbird-api", {"NB_API_KEY": at.told("netbird")}, namespace="netbird")
    at.chart("kubernetes-operator", {"netbirdAPI": {"keyFromSecret": {"name": "netbird-api", "key": "NB_API_KEY"}}, "managementURL": "https://api.netbird.io:443", "cluster": {"name": at.name, "dns": "svc.cluster.local"}, "ingress": {"enabled": True, "router": {"enabled": True}}})  # fmt: skip


@twin(TRAFFIC, "kong-chart", "A gateway of each: a password for its manager, a session's settings as JSON, and a database.")  # fmt: skip
def _(at: Site) -> None:
    session = pulumi.Output.json_dumps({"cookie_name": "admin_session", "cookie_samesite": "off", "secret": at.word("kong-session"), "cookie_secure": True, "storage": "kong"})  # fmt: skip
    at.keep("kong-session", {"admin_gui_session_conf": session}, namespace="kong")
    at.chart("kong", {"env": {"database": "postgres", "pg_host": "kong-pg", "pg_user": "kong", "pg_password": at.word("kong-db"), "password": at.word("kong-admin"), "admin_gui_url": f"https://kong.{at.domain}"}, "enterprise": {"rbac": {"enabled": True, "session_conf_secret": "kong-session"}}, "ingressController": {"enabled": True}})  # fmt: skip


@twin(TRAFFIC, "cloud-controller-manager", "The controller of a cloud has the owner's token and network; images and flags are the same.", config=told(hcloud=("", 64, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("hcloud", {"token": at.told("hcloud"), "network": {"hub": "4711041", "shop": "4720993"}[at.name]}, namespace="kube-system")  # fmt: skip
    at.chart("hcloud-cloud-controller-manager", {"networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"}, "env": {"HCLOUD_TOKEN": {"valueFrom": {"secretKeyRef": {"name": "hcloud", "key": "token"}}}, "HCLOUD_LOAD_BALANCERS_LOCATION": {"value": "nbg1"}}, "image": {"tag": "v1.21.0"}, "account": ACCOUNT})  # fmt: skip
