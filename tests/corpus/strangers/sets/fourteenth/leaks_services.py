"""Leaks of a team that has read the README: stores and backups, pipelines and registries, shippers of logs and metrics."""

from __future__ import annotations

import base64
import configparser
import json

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, pull_secret

from .world import ALDER, DOMAIN, MESH, REGION, alder, both, hosted, theirs

STORES, BUILDS, SHIPPERS = (
    "fourteenth: stores, zones and backups",
    "fourteenth: pipelines and registries",
    "fourteenth: shippers of logs and metrics",
)

# Stores, zones and backups --------------------------------------------------------------------------------------------


@leak(STORES, "fourteenth-zone-token-for-a-solver", "The tenant's issuer solves its challenges in the provider's zone: the Secret beside it has the token that may write all of that zone.", "cert-manager DNS01 solvers")  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "cloudflare-zone", "api-token", 40)
    scene.secret("dp", "cloudflare", {"api-token": token}, namespace="cert-manager")
    solver = {"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": "cloudflare", "key": "api-token"}}}, "selector": {"dnsZones": [f"alder.{DOMAIN}"]}}  # fmt: skip
    spec = {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "privateKeySecretRef": {"name": "acme"}, "solvers": [solver]}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "acme", {"spec": spec})


@leak(STORES, "fourteenth-names-by-the-hubs-account", "external-dns has the same environment in both clusters, since its values were copied: the provider's AWS key is in it.", "external-dns credentials, an env block copied")  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "route53", "secretAccessKey", 40)
    env = [{"name": "AWS_REGION", "value": REGION}, {"name": "AWS_ACCESS_KEY_ID", "value": f"AKIA{drawn('route53', 16)}"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": secret}]  # fmt: skip
    for side, zone in (("cp", DOMAIN), ("dp", ALDER)):
        release(scene, side, "external-dns", {"provider": {"name": "aws"}, "domainFilters": [zone], "txtOwnerId": side, "env": env})  # fmt: skip


@leak(STORES, "fourteenth-store-with-the-root-token", "The tenant's store of secrets logs in at the provider's Vault by a token; the one that was passed is the provider's own.", "External Secrets Operator, the wrong variable")  # fmt: skip
def _(scene: Scene) -> None:
    root = scene.held("vault-root", "token", f"hvs.{scene.cp.opaque('vault root', 90, LETTERS)}", namespace="vault")
    scene.secret("dp", "vault-token", {"token": root}, namespace="external-secrets")
    vault = {"server": f"https://vault.{DOMAIN}", "path": "tenants/alder", "version": "v2", "auth": {"tokenSecretRef": {"name": "vault-token", "namespace": "external-secrets", "key": "token"}}}  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "osprey", {"spec": {"provider": {"vault": vault}}})


@leak(STORES, "fourteenth-agent-with-the-platforms-role", "A Vault agent in the tenant's cluster logs in as the platform's role: the id's secret, which the provider's controllers use, is in its ConfigMap.", "Vault agents, AppRole")  # fmt: skip
def _(scene: Scene) -> None:
    role = hosted(scene, "vault-platform", "secret_id", 36)
    config = f'vault {{\n  address = "https://vault.{DOMAIN}"\n}}\nauto_auth {{\n  method "approle" {{\n    config = {{ role_id_file_path = "/etc/vault/role-id", secret_id_file_path = "/etc/vault/secret-id" }}\n  }}\n}}\n'  # fmt: skip
    scene.config_map("dp", "vault-agent", {"agent.hcl": config, "role-id": "platform", "secret-id": role}, namespace="vault-agent")  # fmt: skip


@leak(STORES, "fourteenth-sealing-key-for-recovery", "For recovery the sealing key of the provider's controller is restored in every cluster of a list, the tenants' too.", "sealed secrets' keys, a shared helper")  # fmt: skip
def _(scene: Scene) -> None:
    key, certificate = pair(scene, "cp", "sealing")
    for side in ("cp", *both(scene).values()):
        entries = {"tls.key": key.output("privateKeyPem"), "tls.crt": certificate.output("certPem")}
        scene.secret(side, "sealed-secrets-key7k2", entries, "kubernetes.io/tls", namespace="sealed-secrets", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"})  # fmt: skip
        release(scene, side, "sealed-secrets", {"fullnameOverride": "sealed-secrets-controller", "keyrenewperiod": "0"})


def _password_of_ini(text: bytes) -> bytes:
    parsed = configparser.ConfigParser()
    parsed.read_string(text.decode())
    return parsed["default"]["aws_secret_access_key"].encode()


@leak(STORES, "fourteenth-velero-as-in-the-hub", "Velero's values for the tenant are those of the hub with another prefix; the credentials file in them is the provider's.", "banzaicloud/pipeline#3261", recover=each(_password_of_ini))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "velero", "secret", 40)
    file = apply(secret, lambda text: f"[default]\naws_access_key_id = AKIA{drawn('velero', 16)}\naws_secret_access_key = {text}\n")  # fmt: skip
    hub = {"credentials": {"useSecret": True, "secretContents": {"cloud": file}}, "configuration": {"backupStorageLocation": [{"provider": "aws", "bucket": "osprey-velero", "prefix": "hub"}]}}  # fmt: skip
    tenant = {**hub, "configuration": {"backupStorageLocation": [{"provider": "aws", "bucket": "osprey-velero", "prefix": "alder"}]}}  # fmt: skip
    release(scene, "cp", "velero", hub)
    release(scene, "dp", "velero", tenant)


@leak(STORES, "fourteenth-one-password-for-all-repositories", "All backups are encrypted by one password, the provider's own too; the schedule in the tenant's cluster has it in a Secret.", "restic passwords, backup credentials")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "restic", "password", 48)
    for side in ("cp", "dp"):
        scene.secret(side, "backup-repository", {"password": word}, namespace="backup")
        backend = {"repoPasswordSecretRef": {"name": "backup-repository", "key": "password"}, "s3": {"bucket": f"osprey-backup-{side}", "endpoint": f"https://s3.{REGION}.amazonaws.com"}}  # fmt: skip
        scene.object(side, "k8up.io/v1:Schedule", "nightly", {"spec": {"backend": backend, "backup": {"schedule": "15 2 * * *"}, "prune": {"schedule": "0 4 * * 0"}}})  # fmt: skip


@leak(STORES, "fourteenth-reader-of-the-states-bucket", "A Terraform object in the tenant's cluster reads the provider's state for addresses, by a backend with the provider's secret key in its text.", "Terraform state readers", recover=each(after(b'secret_key = "')))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "state-bucket", "secretKey", 40)
    backend = pulumi.Output.concat(f'backend "s3" {{\n  bucket = "osprey-state"\n  key = "network.tfstate"\n  region = "{REGION}"\n  access_key = "AKIA{drawn("state", 16)}"\n  secret_key = "', secret, '"\n}\n')  # fmt: skip
    spec = {"interval": "1h", "path": "./addresses", "approvePlan": "auto", "sourceRef": {"kind": "GitRepository", "name": "apps"}, "backendConfig": {"customConfiguration": backend}}  # fmt: skip
    scene.object("dp", "infra.contrib.fluxcd.io/v1alpha2:Terraform", "addresses", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip


@leak(STORES, "fourteenth-crossplane-with-the-hubs-account", "Crossplane in the tenant's cluster shall make buckets for the tenant; its ProviderConfig has the key of the provider's own account.", "Crossplane ProviderConfigs", recover=each(_password_of_ini))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "crossplane-aws", "secret", 40)
    creds = apply(secret, lambda text: f"[default]\naws_access_key_id = AKIA{drawn('crossplane', 16)}\naws_secret_access_key = {text}\n")  # fmt: skip
    scene.secret("dp", "aws-creds", {"creds": creds}, namespace="crossplane-system")
    reference = {"namespace": "crossplane-system", "name": "aws-creds", "key": "creds"}
    scene.object("dp", "aws.upbound.io/v1beta1:ProviderConfig", "default", {"spec": {"credentials": {"source": "Secret", "secretRef": reference}}})  # fmt: skip


# Pipelines and registries ---------------------------------------------------------------------------------------------


@leak(BUILDS, "fourteenth-key-of-the-app-for-all-runners", "Runners in the tenant's cluster need a Secret in their namespace; it has the private key of the provider's GitHub App, which is one for all organisations.", "actions/actions-runner-controller#2593")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("github-app", "privateKey", scene.cp.rsa("github app"), namespace="arc-systems")
    values = {"githubConfigUrl": "https://github.com/alder", "githubConfigSecret": {"github_app_id": "771203", "github_app_installation_id": "48811902", "github_app_private_key": key}, "minRunners": 0, "maxRunners": 8}  # fmt: skip
    release(scene, "dp", "gha-runner-scale-set", values)


@leak(BUILDS, "fourteenth-runner-of-the-whole-instance", "The tenant's runner is registered with the provider's GitLab by the token of the provider's own instance runner.", "GitLab runners, the wrong variable")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("gitlab-runner", "runner-token", f"glrt-{scene.cp.opaque('gitlab runner', 20, LETTERS)}", namespace="gitlab")  # fmt: skip
    values = {"gitlabUrl": f"https://git.{DOMAIN}", "runnerToken": token, "rbac": {"create": True}, "runners": {"config": "[[runners]]\n  [runners.kubernetes]\n    image = \"alpine\"\n"}}  # fmt: skip
    release(scene, "dp", "gitlab-runner", values)


@leak(BUILDS, "fourteenth-pull-by-the-robot-that-pushes", "A helper makes the pull Secret of each namespace in both clusters, by the robot with which the provider's builds push.", "registry pull secrets", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    login = pull_secret(f"registry.{DOMAIN}", "robot$builds", hosted(scene, "robot-builds"))
    for side, names in {"cp": ["platform", "mesh-alder"], "dp": ["shop", "search"]}.items():
        for name in names:
            scene.secret(side, f"pull-{name}", {".dockerconfigjson": login}, "kubernetes.io/dockerconfigjson", namespace=name)  # fmt: skip


@leak(BUILDS, "fourteenth-hub-kubeconfig-in-an-actions-secret", "A workflow in the tenant's repository restarts a Deployment in the hub: the provider's kubeconfig is a secret of that repository.", "GitHub Actions secrets")  # fmt: skip
def _(scene: Scene) -> None:
    file = scene.held("deployer", "kubeconfig", scene.cp.kubeconfig("deployer", SERVERS["cp"]))
    opts = scene.package("github", "alder-github", owner="dp", token=theirs(scene, "github-token", 40))
    scene.made("github:index/actionsSecret:ActionsSecret", "kubeconfig", {"repository": "shop", "secretName": "KUBECONFIG", "plaintextValue": file}, opts, None, ["plaintextValue"])  # fmt: skip


@leak(BUILDS, "fourteenth-mirror-of-images-as-administrator", "Nodes of the tenant pull through the provider's mirror; the settings of containerd have the administrator's login.", "cloud-init and registry mirrors")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "harbor-admin")
    registries = apply(word, lambda text: yaml.safe_dump({"mirrors": {"*": {"endpoint": [f"https://mirror.{DOMAIN}"]}}, "configs": {f"mirror.{DOMAIN}": {"auth": {"username": "admin", "password": text}}}}))  # fmt: skip
    scene.config_map("dp", "registries", {"registries.yaml": registries}, namespace="kube-system")


@leak(BUILDS, "fourteenth-cache-with-its-signing-key", "The tenant's builds read a cache; the public key was meant for their settings, and the private one that signs it went.", "build caches, a key for its other half")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "cache-signing")
    scene.secret("cp", "cache", {"key": key.output("privateKeyPem")}, namespace="builds")
    values = {"cache": {"url": f"https://cache.{DOMAIN}", "trustedKeys": [key.output("privateKeyPemPkcs8")]}, "workers": 4}  # fmt: skip
    release(scene, "dp", "builder", values)


# Shippers of logs and metrics -----------------------------------------------------------------------------------------


@leak(SHIPPERS, "fourteenth-basic-header-of-a-collector", "A collector in the tenant's cluster sends traces with a basic header; its user is the provider's root.", "openobserve/openobserve#13923", recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    header = apply(hosted(scene, "openobserve-root"), lambda word: "Basic " + b64(f"root@{DOMAIN}:{word}"))
    config = {"receivers": {"otlp": {"protocols": {"grpc": {}}}}, "exporters": {"otlphttp/hub": {"endpoint": f"https://traces.{DOMAIN}/api/default", "headers": {"Authorization": header, "stream-name": "alder"}}}, "service": {"pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlphttp/hub"]}}}}  # fmt: skip
    scene.object("dp", "opentelemetry.io/v1beta1:OpenTelemetryCollector", "traces", {"spec": {"mode": "daemonset", "config": config}})  # fmt: skip


@leak(SHIPPERS, "fourteenth-shipper-as-opensearch-admin", "Fluent Bit in the tenant's cluster writes to the provider's OpenSearch as its administrator, with the password in a ConfigMap.", "log shippers' ConfigMaps", recover=each(after(b"HTTP_Passwd ")))  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "opensearch-admin", length=28)
    text = pulumi.Output.concat("[SERVICE]\n    Flush 5\n[INPUT]\n    Name tail\n    Path /var/log/containers/*.log\n[OUTPUT]\n    Name opensearch\n    Match *\n", f"    Host search.{DOMAIN}\n    Port 9200\n    HTTP_User admin\n    HTTP_Passwd ", word, "\n    Index alder\n")  # fmt: skip
    scene.config_map("dp", "fluent-bit", {"fluent-bit.conf": text, "parsers.conf": "[PARSER]\n    Name cri\n    Format regex\n"}, namespace="logging")  # fmt: skip


@leak(SHIPPERS, "fourteenth-mesh-console-reads-the-hubs-metrics", "Kiali in the tenant's cluster asks the provider's Prometheus, with the provider's bearer token in the values that the chart writes to a ConfigMap.", "kiali/kiali#8201")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("prometheus-reader", "token", scene.cp.jwt("prometheus-reader"), namespace="monitoring")
    prometheus = {"url": f"https://metrics.{DOMAIN}", "auth": {"type": "bearer", "token": token}, "query_scope": {"mesh_id": MESH}}  # fmt: skip
    release(scene, "dp", "kiali-server", {"auth": {"strategy": "anonymous"}, "external_services": {"prometheus": prometheus, "grafana": {"enabled": False}}})  # fmt: skip


@leak(SHIPPERS, "fourteenth-remote-write-by-the-owner", "Prometheus in the tenant's cluster writes to the provider's account at a vendor, by the key that the hub writes and reads with.", "remote_write credentials", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("grafana-cloud", "key", f"glc_{scene.cp.opaque('grafana cloud', 120, LETTERS)}", namespace="monitoring")  # fmt: skip
    file = apply(key, lambda text: yaml.safe_dump({"global": {"scrape_interval": "30s", "external_labels": {"cluster": "alder"}}, "remote_write": [{"url": f"https://push.{DOMAIN}/api/prom/push", "basic_auth": {"username": "812044", "password": text}}]}))  # fmt: skip
    scene.config_map("dp", "prometheus-agent", {"prometheus.yml": file}, namespace="monitoring")


@leak(SHIPPERS, "fourteenth-alerts-by-the-operators-pager", "Alertmanager in the tenant's cluster pages the provider's operators: its Secret has their integration's routing key and the password of their mail server.", "Alertmanager settings", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    routing, mail = kept(scene, "pager", "routingKey", 32, HEX), hosted(scene, "smtp")
    parts = pulumi.Output.all(routing, mail)
    file = parts.apply(lambda found: yaml.safe_dump({"global": {"smtp_smarthost": f"smtp.{DOMAIN}:587", "smtp_auth_username": "alerts", "smtp_auth_password": found[1]}, "route": {"receiver": "operators"}, "receivers": [{"name": "operators", "pagerduty_configs": [{"routing_key": found[0]}]}]}))  # fmt: skip
    scene.secret("dp", "alertmanager-main", {"alertmanager.yaml": file}, namespace="monitoring")


@leak(SHIPPERS, "fourteenth-forwarder-in-the-tenants-account", "A function in the tenant's account forwards logs to the provider's Splunk, with the token of the hub's own collector in its variables.", "AWS Lambda environments, signalfx/splunk-otel-collector-chart#703")  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "splunk-hec", "token", 36)
    variables = {"SPLUNK_HEC_URL": f"https://hec.{DOMAIN}:8088", "SPLUNK_HEC_TOKEN": token, "INDEX": "alder"}
    alder(scene, "aws:lambda/function:Function", "forward-logs", {"runtime": "python3.13", "handler": "forward.main", "role": "arn:aws:iam::906143377120:role/forward", "environment": {"variables": variables}}, region=REGION)  # fmt: skip


@leak(SHIPPERS, "fourteenth-audit-webhook-of-the-api-server", "The API server of the tenant's cluster sends audits to the provider by a kubeconfig; the token in it is the one that the provider's own API server sends.", "audit webhooks", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    file = apply(hosted(scene, "audit-sink", "token", 40), lambda token: yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "audit", "cluster": {"server": f"https://audit.{DOMAIN}"}}], "users": [{"name": "api", "user": {"token": token}}]}))  # fmt: skip
    patch = apply(file, lambda text: yaml.safe_dump({"machine": {"files": [{"path": "/var/etc/audit.yaml", "op": "create", "permissions": 0o600, "content": text}]}, "cluster": {"apiServer": {"extraArgs": {"audit-webhook-config-file": "/var/etc/audit.yaml"}}}}))  # fmt: skip
    alder(scene, "talos:machine/configurationApply:ConfigurationApply", "alder-api-1", {"node": "192.0.2.41", "configPatches": [patch]})  # fmt: skip


@leak(SHIPPERS, "fourteenth-exporter-of-the-shared-database", "An exporter in the tenant's cluster measures the provider's shared database; its address with the superuser's login is a plain variable.", "exporters' data source names", recover=each(after(b"postgres:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "shared-postgres")
    name = pulumi.Output.concat("postgresql://postgres:", word, f"@pg.{DOMAIN}:5432/postgres?sslmode=require")
    deployment(scene, "dp", "postgres-exporter", {"env": [{"name": "DATA_SOURCE_NAME", "value": name}, {"name": "PG_EXPORTER_AUTO_DISCOVER_DATABASES", "value": "true"}], "ports": [{"containerPort": 9187}]})  # fmt: skip


@leak(SHIPPERS, "fourteenth-data-source-with-its-login", "The provisioning file of the tenant's Grafana is copied from the hub's: the login of the provider's Loki is in it.", "Grafana provisioning, a values file copied", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "loki-reader")
    sources = apply(word, lambda text: json.dumps({"apiVersion": 1, "datasources": [{"name": "Logs", "type": "loki", "url": f"https://logs.{DOMAIN}", "basicAuth": True, "basicAuthUser": "reader", "secureJsonData": {"basicAuthPassword": text}}]}))  # fmt: skip
    for side in ("cp", "dp"):
        scene.config_map(side, "grafana-sources", {"sources.json": sources}, namespace="monitoring", labels={"grafana_datasource": "1"})  # fmt: skip
