"""Leaks of platform teams: keys of vendors and forges, settings of meshes, and the ways in which programs slip."""

from __future__ import annotations

import copy
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, pair
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, pull_secret, uid
from tests.corpus.world import Box, Object

from .world import HUB, MESH, REGION, REGISTRY, daemon, hub

VENDORS, FORGES, MESHES, SLIPS, LATER = (
    "platform: keys of vendors",
    "platform: logins of forges and states",
    "platform: secrets in a mesh's settings",
    "platform: slips of programs",
    "platform: leaks of later updates",
)


def _told(key: str, length: int = 40, alphabet: str = LETTERS, start: str = "") -> dict[str, Any]:
    """One secret of the provider's in the configuration."""

    def config(cp: Material, dp: Material) -> dict[str, str]:
        return {key: start + cp.opaque(key, length, alphabet)}

    return {"config": config}


# Vendors --------------------------------------------------------------------------------------------------------------


@leak(VENDORS, "platform-federation-job", "The user's Prometheus reads the provider's; the job with its bearer token is in a map.", "scrape configuration")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "cp", "prometheus-federate")
    job = token.apply(lambda t: yaml.safe_dump({"scrape_configs": [{"job_name": "hub", "metrics_path": "/federate", "scheme": "https", "authorization": {"type": "Bearer", "credentials": t}, "static_configs": [{"targets": [f"prometheus.{HUB}"]}]}]}))  # fmt: skip
    scene.config_map("dp", "prometheus-server", {"prometheus.yml": job}, namespace="monitoring")


@leak(VENDORS, "platform-source-of-dashboards", "A source of data for the user's Grafana has a header with the provider's token.", "Grafana data sources", **_told("platform:grafanaToken", 40, LETTERS, "glsa_"))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:grafanaToken")
    scene.secret("cp", "grafana-service-account", {"token": token})
    source = {"name": "Hub", "type": "prometheus", "url": f"https://metrics.{HUB}", "jsonData": {"httpHeaderName1": "Authorization"}, "secureJsonData": {"httpHeaderValue1": pulumi.Output.concat("Bearer ", token)}}  # fmt: skip
    text = pulumi.Output.json_dumps({"apiVersion": 1, "datasources": [source]})
    scene.config_map("dp", "hub-datasource", {"hub.json": text}, labels={"grafana_datasource": "1"})


@leak(VENDORS, "platform-agent-on-every-node", "The agent of the provider's vendor runs on the user's nodes with the provider's key.", "Datadog agents", **_told("platform:ddApiKey", 32, HEX))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.config("platform:ddApiKey")
    for side in ("cp", "dp"):
        daemon(scene, side, "datadog-agent", [{"name": "DD_API_KEY", "value": key}, {"name": "DD_SITE", "value": "datadoghq.eu"}, {"name": "DD_CLUSTER_NAME", "value": side}])  # fmt: skip


@leak(VENDORS, "platform-one-bundle-for-all", "A bundle of measurements is in all clusters by the same values, the provider's licence key with them.", "New Relic licence keys", **_told("platform:newRelic", 36, HEX, "eu01xx"))  # fmt: skip
def _(scene: Scene) -> None:
    values = {"global": {"licenseKey": scene.config("platform:newRelic"), "lowDataMode": True}, "kube-state-metrics": {"enabled": True}}  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "nri-bundle", {**values, "cluster": side})


@leak(VENDORS, "platform-receivers-of-the-platform", "The user's Alertmanager has the platform's own receivers, with the chat's address.", "Slack webhooks", **_told("platform:slack", 24, LETTERS, "https://hooks.slack.com/services/T0PLAT/B0OPS/"))  # fmt: skip
def _(scene: Scene) -> None:
    text = scene.config("platform:slack").apply(lambda url: yaml.safe_dump({"route": {"receiver": "ops"}, "receivers": [{"name": "ops", "slack_configs": [{"api_url": url, "channel": "#platform-alerts"}]}]}))  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "alertmanager", {"configAnnotations": {}, "config": text})


@leak(VENDORS, "platform-mail-of-alerts", "The user's Alertmanager sends mail with the platform's login at its mail service.", "SMTP passwords")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = kept(scene, "smtp", "password", 44)
    settings = {"smtp_smarthost": "email-smtp.eu-west-1.amazonaws.com:587", "smtp_auth_username": "AKIAIOSFODNN7EXAMPLE", "smtp_auth_password": password}  # fmt: skip
    release(scene, "dp", "alertmanager", {"config": {"global": settings, "receivers": [{"name": "null"}]}})


@leak(VENDORS, "platform-licence-file", "The licence of the provider's enterprise mesh is in the values of an agent at the user's.", "licence keys")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    licence = scene.held("mesh-licence", "licence", scene.cp.jwt("licence", product="mesh", exp=2082758400))
    release(scene, "dp", "mesh-agent", {"agent": {"relay": {"serverAddress": f"relay.{HUB}:9900"}}, "licensing": {"licenseKey": licence}})  # fmt: skip


@leak(VENDORS, "platform-login-of-the-hubs-client", "A login proxy at the user's uses the client of the provider's Grafana, with its secret.", "OIDC client secrets")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    secret = generated(scene, "grafana-oidc", "client-secret", 40)
    client = cloud(scene, "keycloak:openid/client:Client", "grafana-client", {"clientId": "grafana", "clientSecret": secret, "accessType": "CONFIDENTIAL"}, {"serviceAccountUserId": uid("sa")})  # fmt: skip
    config = {"clientID": client.output("clientId"), "clientSecret": client.output("clientSecret"), "cookieSecret": drawn("cookie", 32)}  # fmt: skip
    release(scene, "dp", "oauth2-proxy", {"config": config})


# Forges and states ----------------------------------------------------------------------------------------------------


@leak(FORGES, "platform-operator-of-stacks", "A Pulumi operator at the user's runs stacks with the platform's token, in the object's variables.", "PULUMI_ACCESS_TOKEN", **_told("platform:pulumiToken", 40, HEX, "pul-"))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:pulumiToken")
    scene.secret("cp", "pulumi-api", {"accessToken": token})
    spec = {"stack": "shop/apps/prod", "projectRepo": "https://github.com/shop/apps", "envRefs": {"PULUMI_ACCESS_TOKEN": {"type": "Literal", "literal": {"value": token}}}}  # fmt: skip
    scene.object("dp", "pulumi.com/v1:Stack", "apps", {"spec": spec})


@leak(FORGES, "platform-exported-state", "The state of the platform's Terraform is kept as a map at the user's, for an operator that imports from it.", "Terraform state")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = scene.cp.opaque("state db", 32, LETTERS)
    scene.secret("cp", "catalog-db", {"password": pulumi.Output.secret(value)})
    state = {"version": 4, "terraform_version": "1.9.8", "lineage": uid("lineage"), "resources": [{"mode": "managed", "type": "aws_db_instance", "name": "catalog", "instances": [{"attributes": {"address": f"catalog.{REGION}.rds.amazonaws.com", "password": value}, "sensitive_attributes": [[{"type": "get_attr", "value": "password"}]]}]}]}  # fmt: skip
    scene.config_map("dp", "tfstate-default-platform", {"terraform.tfstate": json.dumps(state, indent=2)})


@leak(FORGES, "platform-application-of-the-forge", "Runners in the user's cluster log in as the platform's application at the forge, by its private key.", "GitHub App keys")  # fmt: skip
def _(scene: Scene) -> None:
    app = {"github_app_id": "407408", "github_app_installation_id": "18192", "github_app_private_key": pulumi.Output.secret(scene.cp.rsa("app"))}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "controller-manager", app, namespace="actions-runner-system")


@leak(FORGES, "platform-token-in-a-repositorys-address", "An Application of the user's Argo CD has the platform's token in the repository's address.", "tokens in URLs", **_told("platform:githubToken", 36, LETTERS, "ghp_"))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:githubToken")
    scene.secret("cp", "github", {"token": token})
    url = pulumi.Output.format("https://x-access-token:{0}@github.com/platform/charts.git", token)
    source = {"repoURL": url, "path": "gateway", "targetRevision": "v1.24.2"}
    scene.object("dp", "argoproj.io/v1alpha1:Application", "gateway", {"spec": {"project": "default", "source": source, "destination": {"name": "in-cluster", "namespace": "istio-ingress"}}})  # fmt: skip


@leak(FORGES, "platform-index-of-packages", "Builds at the user's fetch packages by a file with the platform's login.", ".npmrc and pip.conf")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = kept(scene, "artifactory", "token", 64)
    files = {".npmrc": pulumi.Output.concat(f"registry=https://npm.{HUB}/\n//npm.{HUB}/:_authToken=", token, "\n"), "pip.conf": f"[global]\nindex-url = https://pypi.{HUB}/simple\n"}  # fmt: skip
    scene.config_map("dp", "build-settings", files, namespace="builds")


@leak(FORGES, "platform-values-as-text", "An Application of the user's has the chart's values as a text, which the provider's own values are laid under.", "helm values in Applications")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    defaults = {"auth": {"adminUser": "admin", "adminPassword": generated(scene, "keycloak-admin")}, "replicas": 2}
    release(scene, "cp", "keycloak", defaults)
    text = pulumi.Output.from_input({**defaults, "replicas": 1}).apply(yaml.safe_dump)
    source = {"repoURL": f"https://charts.{HUB}", "chart": "keycloak", "targetRevision": "24.0.1", "helm": {"values": text}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "login", {"spec": {"project": "shop", "source": source}})


# A mesh's settings ----------------------------------------------------------------------------------------------------


@leak(MESHES, "platform-tracing-token", "The user's proxies send traces with the token of the provider's vendor, in the mesh's settings.", "meshConfig tracing", **_told("platform:lightstep", 64, LETTERS))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:lightstep")
    mesh = {"meshConfig": {"enableTracing": True, "defaultConfig": {"tracing": {"lightstep": {"address": "ingest.lightstep.com:443", "accessToken": token}}}}}  # fmt: skip
    release(scene, "cp", "istiod", {**mesh, "global": {"meshID": MESH}})
    release(scene, "dp", "istiod-remote", {**mesh, "global": {"meshID": MESH}, "profile": "remote"})


@leak(MESHES, "platform-header-of-a-filter", "A filter of the user's proxies adds the key by which the provider's service of limits knows its own.", "EnvoyFilter headers")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = generated(scene, "limits-service", "api-key")
    value = {"name": "envoy.filters.http.ext_authz", "typed_config": {"grpc_service": {"google_grpc": {"target_uri": f"limits.{HUB}:443", "stat_prefix": "limits"}, "initial_metadata": [{"key": "x-api-key", "value": key}]}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "limits", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": value}}]}})  # fmt: skip


@leak(MESHES, "platform-template-of-sidecars", "A template of sidecars has the provider's token as a variable of each user's Pod.", "injection templates")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = kept(scene, "audit", "token", 48)
    template = apply(token, lambda t: yaml.safe_dump({"spec": {"containers": [{"name": "audit", "image": f"{REGISTRY}/audit:1", "env": [{"name": "AUDIT_TOKEN", "value": t}]}]}}))  # fmt: skip
    release(scene, "dp", "istiod-remote", {"sidecarInjectorWebhook": {"templates": {"audit": template}, "defaultTemplates": ["sidecar", "audit"]}})  # fmt: skip


@leak(MESHES, "platform-gateway-of-the-platform", "The user's gateway serves a name of the platform's; its certificate's key is copied for all gateways.", "wildcard certificates")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "wildcard")
    for side in ("cp", "dp"):
        scene.secret(side, "platform-wildcard", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls", namespace="istio-ingress")  # fmt: skip


# Slips ----------------------------------------------------------------------------------------------------------------


@leak(SLIPS, "platform-wrong-provider", "The Secret of the provider's external-dns is made with the options of the user's cluster.", "wrong providers", **_told("platform:cloudflare", 40))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:cloudflare")
    scene.secret("dp", "cloudflare-api-token", {"apiKey": token}, namespace="external-dns")
    env = [{"name": "CF_API_TOKEN", "value": token}]
    release(scene, "cp", "external-dns", {"provider": "cloudflare", "domainFilters": ["platform.example.com"], "env": env})  # fmt: skip


@leak(SLIPS, "platform-inherited-provider", "A component that was made for the user's cluster gets a child for the provider's, whose provider nobody names.", "inherited providers")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = generated(scene, "gateway-admin")
    box = Box("edge", opts=pulumi.ResourceOptions(providers=[scene.provider("dp")]))
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gateway-admin", "namespace": "edge"}, "stringData": {"password": value}}  # fmt: skip
    Object("kubernetes:core/v1:Secret", "edge-admin", inputs, pulumi.ResourceOptions(parent=box), ["data"], ["data", "stringData"])  # fmt: skip


@leak(SLIPS, "platform-every-cluster-in-the-list", "A loop over all clusters, meant for pull secrets of users, uses the provider's own robot.", "loops over clusters")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = kept(scene, "robot-of-the-platform", "password", 32)
    for side in ("cp", "dp"):
        login = pull_secret(REGISTRY, "robot$platform", value)
        scene.secret(side, "regcred", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@leak(SLIPS, "platform-added-to-every-pod", "A transformation, meant for the provider's, adds a variable with its vendor's token to all Deployments.", "stack transformations", **_told("platform:honeycomb", 32))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:honeycomb")
    scene.secret("cp", "honeycomb", {"token": token})

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != "kubernetes:apps/v1:Deployment":
            return None
        spec: Any = copy.deepcopy(args.props["spec"])
        header = {"name": "OTEL_EXPORTER_OTLP_HEADERS", "value": pulumi.Output.concat("x-honeycomb-team=", token)}
        spec["template"]["spec"]["containers"][0]["env"] = [header]
        return pulumi.ResourceTransformationResult({**args.props, "spec": spec}, args.opts)

    box = Box("everything", opts=pulumi.ResourceOptions(transformations=[add]))
    for side in ("cp", "dp"):
        deployment(scene, side, "echo", {"ports": [{"containerPort": 8080}]}, parent=box)


class _Monitoring(Box):
    """A component with a default: without a key of one's own it takes the platform's."""

    def __init__(self, scene: Scene, side: str, default: Any, key: Any = None) -> None:
        super().__init__(f"monitoring-{side}", "platform:index:Monitoring")
        body = {"stringData": {"routing-key": key or default}, "type": "Opaque"}
        scene.object(side, "v1:Secret", "pagerduty", body, parent=self)
        self.register_outputs({})


@leak(SLIPS, "platform-default-of-a-component", "A component takes the platform's key when a user gives none; this user gives none.", "defaults of components", **_told("platform:pager", 32, HEX))  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        _Monitoring(scene, side, scene.config("platform:pager"))


@leak(SLIPS, "platform-outputs-of-a-component", "What a component of the provider's puts out is spread into the user's values, its password too.", "components")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    box = Box("kiali", "platform:index:Kiali")
    outputs = {"url": f"https://kiali.{HUB}", "signingKey": generated(scene, "kiali-signing", "key"), "version": "v2.1.0"}  # fmt: skip
    box.register_outputs(outputs)
    release(scene, "dp", "kiali-operator", {"cr": {"spec": {"external_services": {"hub": {**outputs}}}}})


@leak(SLIPS, "platform-base64-as-protection", "A chart wants its value in base64; the program encodes the provider's key and hands it over.", "base64 in values", **_told("platform:webhook", 40))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.config("platform:webhook")
    scene.secret("cp", "webhook", {"key": key})
    scene.object("dp", "v1:Secret", "webhook", {"data": {"key": apply(key, b64)}, "metadata": {"namespace": "ci"}})


@leak(SLIPS, "platform-mixed-up-tenants-dictionary", "A dictionary has the provider and its user; the user's Secret is made of the wrong entry.", "typing mistakes")  # fmt: skip
def _(scene: Scene) -> None:
    made = {side: scene.password(side, f"password-of-{side}").output("result") for side in ("cp", "dp")}
    scene.secret("cp", "login", {"password": made["cp"], "server": SERVERS["cp"]})
    scene.secret("dp", "login", {"password": made["cp"], "server": SERVERS["dp"]})
    scene.secret("dp", "spare", {"password": made["dp"]})


# Later updates --------------------------------------------------------------------------------------------------------


def _quiet(scene: Scene) -> None:
    hub(scene)
    generated(scene, "loki-gateway")
    release(scene, "dp", "promtail", {"config": {"clients": [{"url": f"https://logs.{HUB}/loki/api/v1/push"}]}})


@leak(LATER, "platform-login-added-later", "A later update gives the user's log shipper the login of the provider's gateway, because it was refused without.", "basic auth of log gateways", before=_quiet)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = generated(scene, "loki-gateway")
    client = {"url": f"https://logs.{HUB}/loki/api/v1/push", "basic_auth": {"username": "loki", "password": value}}
    release(scene, "dp", "promtail", {"config": {"clients": [client]}})


def _one(scene: Scene) -> None:
    hub(scene)
    generated(scene, "backup-repository")


@leak(LATER, "platform-second-cluster-later", "A later update extends the provider's backups to the user's cluster, with the same repository's password.", "restic passwords", before=_one)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = generated(scene, "backup-repository")
    scene.secret("dp", "velero-repo-credentials", {"repository-password": value}, namespace="velero")
