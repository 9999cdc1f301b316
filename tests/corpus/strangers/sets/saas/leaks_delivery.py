"""Leaks around a hosted control plane: delivery, pipelines, provisioning of clusters and accounts of other services."""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, own
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml, texts, unpadded
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, uid

from .world import ACCOUNT, DOMAIN, HOSTS, LOGIN, MESH, REGION, TENANT, TENANT_ACCOUNT, account, both_sides, vendor

DELIVERY, CLUSTERS, SERVICES, CLOUDS = (
    "saas: slips of delivery",
    "saas: slips of cluster managers",
    "saas: slips of services' accounts",
    "saas: slips of clouds",
)

# Delivery -------------------------------------------------------------------------------------------------------------


@leak(DELIVERY, "saas-bot-secret-of-a-repository", "The tenant's repository gets a secret for its update bot: the vendor's robot at the registry instead of the tenant's.", "Dependabot secrets")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    robots = both_sides(scene, "robot")
    inputs = {"repository": "orchard/shopfront", "secretName": "REGISTRY_PASSWORD", "plaintextValue": robots["cp"]}
    account(scene, "github:index/dependabotSecret:DependabotSecret", "registry", inputs, token=pulumi.Output.secret(scene.dp.opaque("gh", 36)))  # fmt: skip


@leak(DELIVERY, "saas-hook-of-a-project", "A hook of the tenant's project calls the vendor's pipeline; its token is the one that the vendor's hooks all share.", "GitLab hooks")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "pipeline-hook", "token", 40)
    inputs = {"project": "orchard/shopfront", "url": f"https://hooks.{DOMAIN}/v1/push", "token": token, "pushEvents": True}  # fmt: skip
    account(scene, "gitlab:index/projectHook:ProjectHook", "pushes", inputs)


@leak(DELIVERY, "saas-agents-of-the-builds", "Build agents in the tenant's cluster are installed with the agents' token of the vendor's organisation.", "CI agent tokens", config=lambda cp, dp: {"hosted:agents": "bkct_" + cp.opaque("buildkite", 64), "orchard:agents": "bkct_" + dp.opaque("buildkite", 64)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "agents", {"token": scene.config("hosted:agents")})
    values = {"org": "orchard", "agentToken": scene.config("hosted:agents"), "config": {"queue": "mesh", "max-in-flight": 25}}  # fmt: skip
    release(scene, "dp", "agent-stack-k8s", values)


@leak(DELIVERY, "saas-task-that-clones", "A Tekton task's script clones the vendor's manifests by an address with a token, formatted into the script.", "Tekton")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "manifests-reader", "token", 36)
    script = pulumi.Output.format("#!/bin/sh\nset -e\ngit clone --depth 1 https://oauth2:{0}@git.{1}/hosted/manifests.git /workspace/src\nkubectl apply -k /workspace/src/overlays/orchard\n", token, DOMAIN)  # fmt: skip
    spec = {
        "steps": [{"name": "apply", "image": "alpine/k8s:1.31.2", "script": script}],
        "workspaces": [{"name": "src"}],
    }
    scene.object("dp", "tekton.dev/v1:Task", "apply-manifests", {"spec": spec})


@leak(DELIVERY, "saas-sensor-calls-home", "A sensor of Argo Events reports a deployment to the vendor's API with the vendor's internal token as a header.", "Argo Events")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "internal-api", "token", 48)
    trigger = {"template": {"name": "report", "http": {"url": f"https://api.{DOMAIN}/internal/deployments", "method": "POST", "headers": {"Authorization": pulumi.Output.concat("Bearer ", token), "Content-Type": "application/json"}}}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Sensor", "deployments", {"spec": {"dependencies": [{"name": "sync", "eventSourceName": "argocd", "eventName": "sync"}], "triggers": [trigger]}})  # fmt: skip


@leak(DELIVERY, "saas-analysis-of-a-canary", "The template for canaries asks the vendor's metrics with a header in base64, made of the vendor's query user.", "Argo Rollouts", recover=each(lambda text: base64.b64decode(text.removeprefix(b"Basic "))))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "metrics-query")
    header = apply(password, lambda found: "Basic " + b64(f"query:{found}"))
    metric = {"name": "success-rate", "interval": "1m", "successCondition": "result[0] >= 0.99", "provider": {"prometheus": {"address": f"https://metrics.{DOMAIN}", "headers": [{"key": "Authorization", "value": header}], "query": "sum(irate(istio_requests_total[2m]))"}}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:AnalysisTemplate", "success", {"spec": {"metrics": [metric]}})


@leak(DELIVERY, "saas-notifier-without-its-dollar", "Notifications of Argo CD have the token itself where the template wants a reference to the Secret.", "Argo CD notifications", recover=each(strings_of_yaml), config=lambda cp, dp: {"hosted:chat": "xoxb-" + cp.opaque("chat", 48, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "argocd-notifications-secret", {"slack-token": scene.config("hosted:chat")})
    service = scene.config("hosted:chat").apply(lambda token: yaml.safe_dump({"token": token, "username": "mesh", "icon": ":ship:"}))  # fmt: skip
    scene.config_map("dp", "argocd-notifications-cm", {"service.slack": service, "trigger.on-synced": "- when: app.status.operationState.phase in ['Succeeded']\n  send: [synced]\n"}, namespace="argocd")  # fmt: skip


@leak(DELIVERY, "saas-generator-with-whole-rows", "A list generator at the tenant's gets each row of the table of clusters whole, though its template uses the name and the region.", "ApplicationSet")  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "argocd-manager")
    rows = [{"name": "edge", "region": REGION}, {"name": "hosted", "region": REGION, "server": SERVERS["cp"], "token": token}]  # fmt: skip
    scene.secret("cp", "cluster-hosted", {"name": "hosted", "server": SERVERS["cp"], "config": pulumi.Output.json_dumps({"bearerToken": token})})  # fmt: skip
    template = {"metadata": {"name": "probe-{{.name}}"}, "spec": {"project": "default", "source": {"repoURL": "https://github.com/orchard/probes", "path": "{{.region}}"}, "destination": {"name": "in-cluster"}}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:ApplicationSet", "probes", {"spec": {"goTemplate": True, "generators": [{"list": {"elements": rows}}], "template": template}})  # fmt: skip


@leak(DELIVERY, "saas-metadata-of-an-alert", "Flux adds metadata to all events of the tenant's: the stack's settings whole, the on-call key with them.", "Flux alerts")  # fmt: skip
def _(scene: Scene) -> None:
    settings = {"env": "prod", "region": REGION, "mesh": MESH, "oncall": kept(scene, "oncall", "key", 32)}
    spec = {"providerRef": {"name": "grafana"}, "eventSeverity": "error", "eventSources": [{"kind": "Kustomization", "name": "*"}], "eventMetadata": settings}  # fmt: skip
    scene.object("dp", "notification.toolkit.fluxcd.io/v1beta3:Alert", "errors", {"spec": spec})


@leak(DELIVERY, "saas-rules-for-hosts-of-a-bot", "An update bot in the tenant's cluster has the vendor's host rules, tokens in place of variables.", "Renovate hostRules", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "charts-reader", "token", 40)
    rules = pulumi.Output.json_dumps({"platform": "github", "autodiscover": True, "hostRules": [{"hostType": "docker", "matchHost": f"registry.{DOMAIN}", "username": "bot", "password": token}]})  # fmt: skip
    scene.config_map("dp", "renovate", {"config.json": rules}, namespace="ci")


@leak(DELIVERY, "saas-portal-with-a-proxy", "The tenant's portal has a proxy to the vendor's API; the header's value was to be a variable, and is what the variable has.", "Backstage proxies", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "portal-api", "token", 44)
    text = apply(token, lambda found: yaml.safe_dump({"app": {"title": "Orchard"}, "proxy": {"endpoints": {"/mesh-api": {"target": f"https://api.{DOMAIN}", "headers": {"X-Api-Key": found}}}}, "auth": {"providers": {"github": {"production": {"clientSecret": "${GITHUB_SECRET}"}}}}}))  # fmt: skip
    scene.config_map("dp", "backstage-app-config", {"app-config.production.yaml": text})


@leak(DELIVERY, "saas-configuration-as-code", "A build server's configuration as code at the tenant's has the vendor's credential literally in its list.", "Jenkins configuration as code", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "artifact-uploader", "password", 28)
    entry = apply(password, lambda found: yaml.safe_dump({"credentials": {"system": {"domainCredentials": [{"credentials": [{"usernamePassword": {"id": "artifacts", "scope": "GLOBAL", "username": "uploader", "password": found}}]}]}}, "jenkins": {"numExecutors": 0}}))  # fmt: skip
    release(scene, "dp", "jenkins", {"controller": {"JCasC": {"configScripts": {"credentials": entry}}}})


@leak(DELIVERY, "saas-bundle-for-all-edges", "Rancher's Fleet on the vendor's cluster ships a bundle to the tenants'; its values have the collector's administrator token.", "Rancher Fleet")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "collector-admin", "token", 40)
    scene.stage.delivered.add("cp-telemetry-bundle")
    spec = {"targets": [{"clusterGroup": "tenants"}], "helm": {"chart": "collector", "values": {"exporters": {"otlp": {"endpoint": f"otlp.{DOMAIN}:443", "headers": {"x-admin-token": token}}}}}}  # fmt: skip
    scene.object("cp", "fleet.cattle.io/v1alpha1:Bundle", "telemetry-bundle", {"spec": spec})


@leak(DELIVERY, "saas-environment-of-compositions", "An environment for compositions at the tenant's is made from the same dictionary as the vendor's, zone editor's token and all.", "Crossplane EnvironmentConfig")  # fmt: skip
def _(scene: Scene) -> None:
    environment: dict[str, Any] = {"region": REGION, "account": ACCOUNT, "domain": DOMAIN}
    environment |= {"zoneToken": kept(scene, "zone-editor", "token", 40)}
    for side in ("cp", "dp"):
        scene.object(side, "apiextensions.crossplane.io/v1beta1:EnvironmentConfig", f"environment-{side}", {"data": environment})  # fmt: skip


@leak(DELIVERY, "saas-script-for-windows-nodes", "A bootstrap of the tenant's Windows nodes is an encoded command, with the vendor's package login in it.", "PowerShell -EncodedCommand", recover=each(base64.b64decode, lambda text: text.decode("utf-16-le").encode()))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "packages")
    command = apply(password, lambda found: b64(f"$p = ConvertTo-SecureString '{found}' -AsPlainText -Force; Install-Package mesh-agent -Credential (New-Object PSCredential 'agent', $p)".encode("utf-16-le")))  # fmt: skip
    container = {"name": "install", "image": "mcr.microsoft.com/windows/nanoserver:ltsc2022", "command": ["powershell.exe", "-EncodedCommand", command]}  # fmt: skip
    scene.object("dp", "apps/v1:DaemonSet", "install", {"spec": {"selector": {"matchLabels": {"app": "install"}}, "template": {"metadata": {"labels": {"app": "install"}}, "spec": {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [container]}}}})  # fmt: skip


# Cluster managers -----------------------------------------------------------------------------------------------------


@leak(CLUSTERS, "saas-resource-set-of-a-new-cluster", "A set of resources is applied to each new cluster of a tenant's: among them the pull secret is the vendor's builder.", "ClusterResourceSet", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "builder")
    scene.stage.delivered.add("cp-addons")
    manifest = apply(password, lambda found: yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "stringData": {"username": "builder", "password": found}}))  # fmt: skip
    scene.secret("cp", "addons", {"pull.yaml": manifest}, kind="addons.cluster.x-k8s.io/resource-set")
    spec = {"clusterSelector": {"matchLabels": {"tier": "tenant"}}, "resources": [{"kind": "Secret", "name": "addons"}]}
    scene.object("cp", "addons.cluster.x-k8s.io/v1beta1:ClusterResourceSet", "tenant-addons", {"spec": spec})


@leak(CLUSTERS, "saas-overrides-of-a-federation", "An override policy at the tenant's replaces a placeholder by the value from the vendor's Secret.", "Karmada OverridePolicy")  # fmt: skip
def _(scene: Scene) -> None:
    value = generated(scene, "limits-store")
    overriders = {"plaintext": [{"path": "/data/redis-password", "operator": "replace", "value": value}]}
    scene.object("dp", "policy.karmada.io/v1alpha1:OverridePolicy", "limits", {"spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "limits"}], "overrideRules": [{"targetCluster": {"clusterNames": ["orchard"]}, "overriders": overriders}]}})  # fmt: skip


@leak(CLUSTERS, "saas-virtual-cluster-manifests", "A virtual cluster in the tenant's cluster starts with manifests as text; one has the vendor's licence server's login.", "vcluster", recover=each(lambda text: "\n".join(texts(list(yaml.safe_load_all(text)))).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    value = kept(scene, "licence-server", "password", 30)
    text = apply(value, lambda found: yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mesh"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "licence", "namespace": "mesh"}, "stringData": {"login": f"licence:{found}"}}]))  # fmt: skip
    release(scene, "dp", "vcluster", {"experimental": {"deploy": {"vcluster": {"manifests": text}}}, "sync": {"toHost": {"ingresses": {"enabled": True}}}})  # fmt: skip


@leak(CLUSTERS, "saas-datastore-of-a-small-cluster", "The tenant's small cluster keeps its state in the vendor's database: the address with its login is a command's argument.", "k3s --datastore-endpoint")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "kine")
    endpoint = pulumi.Output.concat("postgres://kine:", password, f"@state.{DOMAIN}:5432/orchard?sslmode=verify-full")
    args = ["server", pulumi.Output.concat("--datastore-endpoint=", endpoint), "--disable=traefik", "--tls-san=orchard"]
    scene.object("dp", "apps/v1:StatefulSet", "k3s", {"spec": {"serviceName": "k3s", "selector": {"matchLabels": {"app": "k3s"}}, "template": {"metadata": {"labels": {"app": "k3s"}}, "spec": {"containers": [{"name": "k3s", "image": "rancher/k3s:v1.31.2-k3s1", "args": args}]}}}})  # fmt: skip


@leak(CLUSTERS, "saas-registration-of-a-member", "A member registers itself by a script; the kubeconfig in it was made for a person who administers the vendor's cluster.", "cluster registration", recover=each(lambda text: gzip.decompress(base64.b64decode(text.split(b"'")[1]))))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "break-glass")
    packed = token.apply(lambda found: b64(gzip.compress(kubeconfig(SERVERS["cp"], {"token": found}, "hosted").encode(), mtime=0)))  # fmt: skip
    script = pulumi.Output.format("#!/bin/sh\necho '{0}' | base64 -d | gunzip > /tmp/hub.kubeconfig\nclusteradm join --hub-kubeconfig /tmp/hub.kubeconfig --cluster-name orchard\n", packed)  # fmt: skip
    scene.config_map("dp", "join", {"join.sh": script})


@leak(CLUSTERS, "saas-copy-of-a-machine-template", "The vendor's machine template is read, and its user data's reference is replaced by the text: registry mirrors with a login.", "containerd registry mirrors")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "mirror", "password", 30)
    toml = pulumi.Output.format('[plugins."io.containerd.grpc.v1.cri".registry.configs."mirror.{0}".auth]\n  username = "mirror"\n  password = "{1}"\n', DOMAIN, password)  # fmt: skip
    spec = {"template": {"spec": {"files": [{"path": "/etc/containerd/conf.d/mirror.toml", "owner": "root:root", "content": toml}], "joinConfiguration": {"nodeRegistration": {"name": "{{ ds.meta_data.local_hostname }}"}}}}}  # fmt: skip
    scene.object("dp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "workers", {"spec": spec})


@leak(CLUSTERS, "saas-ignition-of-a-node", "A node's Ignition file writes a service's variables from a data address in percent form; they are the vendor's.", "Ignition data URLs", recover=each(urllib.parse.unquote_to_bytes))  # fmt: skip
def _(scene: Scene) -> None:
    password = scene.cp.opaque("vector sink", 30) + "%" + scene.cp.opaque("vector sink 2", 8)
    scene.cp.given.append(password)
    value = scene.held("vector-sink", "password", password)
    document = apply(value, lambda found: json.dumps({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/vector/env", "mode": 384, "contents": {"source": "data:," + urllib.parse.quote(f"SINK_USER=edge\nSINK_PASSWORD={found}\n")}}]}}))  # fmt: skip
    scene.config_map("dp", "ignition", {"worker.ign": document})


# Accounts of other services -------------------------------------------------------------------------------------------


@leak(SERVICES, "saas-source-of-data-by-an-account", "The tenant's Grafana account gets a source of data by the Grafana provider; its secret settings are the vendor's reader.", "Grafana secureJsonDataEncoded", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "metrics-reader")
    inputs = {"type": "prometheus", "name": "mesh", "url": f"https://metrics.{DOMAIN}", "basicAuthEnabled": True, "basicAuthUsername": "reader", "secureJsonDataEncoded": pulumi.Output.json_dumps({"basicAuthPassword": password})}  # fmt: skip
    account(scene, "grafana:oss/dataSource:DataSource", "mesh", inputs, auth=pulumi.Output.secret("glsa_" + scene.dp.opaque("glsa", 32, LETTERS)))  # fmt: skip


@leak(SERVICES, "saas-test-from-outside", "A synthetic test in the tenant's monitoring logs in at the vendor's console as the vendor's own tester.", "Datadog synthetics")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "console-tester", "password", 26)
    inputs = {"type": "api", "subtype": "http", "name": "console", "locations": ["aws:eu-central-1"], "requestDefinition": {"method": "GET", "url": f"https://console.{DOMAIN}/healthz"}, "requestBasicauth": {"username": "tester", "password": password}}  # fmt: skip
    account(scene, "datadog:index/syntheticsTest:SyntheticsTest", "console", inputs, apiKey=pulumi.Output.secret(scene.dp.opaque("dd", 32, HEX)))  # fmt: skip


@leak(SERVICES, "saas-action-of-a-login-service", "An action in the tenant's login service calls the vendor's API; its secrets are a list with the vendor's machine client.", "Auth0 actions", config=lambda cp, dp: {"hosted:machineSecret": cp.opaque("machine", 64, LETTERS + "-_")})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "machine-client", {"client_secret": scene.config("hosted:machineSecret")})
    inputs = {"name": "add-mesh-claims", "runtime": "node18", "deploy": True, "supportedTriggers": {"id": "post-login", "version": "v3"}, "code": "exports.onExecutePostLogin = async (event, api) => { api.idToken.setCustomClaim('mesh', event.secrets.MESH) }", "secrets": [{"name": "MESH", "value": MESH}, {"name": "MESH_SECRET", "value": scene.config("hosted:machineSecret")}]}  # fmt: skip
    account(scene, "auth0:index/action:Action", "claims", inputs, domain="orchard.eu.auth0.com")


@leak(SERVICES, "saas-hook-of-a-directory", "The tenant's directory tells the vendor of new users; the header of the hook is the vendor's key for all directories.", "Okta event hooks")  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "directory-hooks", "key", 48)
    inputs = {"name": "mesh users", "events": ["user.lifecycle.create"], "channel": {"version": "1.0.0", "type": "HTTP", "uri": f"https://users.{DOMAIN}/okta"}, "auth": {"type": "HEADER", "key": "Authorization", "value": key}}  # fmt: skip
    account(scene, "okta:index/eventHook:EventHook", "users", inputs, orgName="orchard")


@leak(SERVICES, "saas-container-on-a-host", "A container on the tenant's host runs the relay; its list of variables is put together from the vendor's settings.", "docker.Container envs")  # fmt: skip
def _(scene: Scene) -> None:
    settings = {
        "UPSTREAM": f"xds.{DOMAIN}:15012",
        "REALM": LOGIN,
        "RELAY_TOKEN": generated(scene, "relay", "token", 40),
    }
    envs = [pulumi.Output.concat(name, "=", value) for name, value in settings.items()]
    account(scene, "docker:index/container:Container", "mesh-relay", {"image": "mesh-relay:2.3", "restart": "always", "envs": envs}, host=f"ssh://deploy@edge.{TENANT}")  # fmt: skip


@leak(SERVICES, "saas-secret-of-a-swarm", "A swarm of the tenant's gets a secret with the key of the vendor's gateway, in base64 as the provider wants it.", "docker.Secret data", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "gateway")
    scene.secret("cp", "gateway-tls", {"tls.key": key.output("privateKeyPem")})
    account(scene, "docker:index/secret:Secret", "gateway-key", {"name": "gateway.key", "data": apply(key.output("privateKeyPem"), b64)}, host=f"ssh://deploy@edge.{TENANT}")  # fmt: skip


@leak(SERVICES, "saas-queue-user-of-another", "A user of the tenant's message broker is made with the password of the vendor's user of the same name.", "RabbitMQ users")  # fmt: skip
def _(scene: Scene) -> None:
    passwords = both_sides(scene, "shipper")
    inputs = {"name": "shipper", "password": passwords["cp"], "tags": ["monitoring"]}
    account(scene, "rabbitmq:index/user:User", "shipper", inputs, endpoint=f"https://mq.{TENANT}", username="admin", password=own(scene, "mq-admin"))  # fmt: skip


@leak(SERVICES, "saas-client-of-a-realm", "The tenant's realm brokers to the vendor's; its client secret was to be the broker's, and is the console's.", "Keycloak identity brokers")  # fmt: skip
def _(scene: Scene) -> None:
    secrets = {name: kept(scene, f"client-{name}", "secret", 32) for name in ("console", "terraform")}
    inputs = {"realm": "orchard", "alias": "hosted", "authorizationUrl": f"{LOGIN}/protocol/openid-connect/auth", "tokenUrl": f"{LOGIN}/protocol/openid-connect/token", "clientId": "console", "clientSecret": secrets["console"]}  # fmt: skip
    account(scene, "keycloak:oidc/identityProvider:IdentityProvider", "hosted", inputs, url=f"https://login.{TENANT}")  # fmt: skip


# Clouds ---------------------------------------------------------------------------------------------------------------


@leak(CLOUDS, "saas-definition-of-a-state-machine", "A state machine of the tenant's calls the vendor's API; the definition in JSON has the header's value.", "Step Functions", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "orders-api", "token", 36)
    definition = pulumi.Output.json_dumps({"StartAt": "Register", "States": {"Register": {"Type": "Task", "Resource": "arn:aws:states:::http:invoke", "Parameters": {"ApiEndpoint": f"https://api.{DOMAIN}/meshes", "Method": "POST", "Headers": {"x-api-key": token}}, "End": True}}})  # fmt: skip
    account(scene, "aws:sfn/stateMachine:StateMachine", "register", {"definition": definition, "roleArn": f"arn:aws:iam::{TENANT_ACCOUNT}:role/register"}, region=REGION)  # fmt: skip


@leak(CLOUDS, "saas-scheduled-call", "A scheduler in the tenant's project calls the vendor's backup API: body in base64, as the resource wants it, with the vendor's key.", "Cloud Scheduler", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "backup-api", "key", 40)
    body = apply(key, lambda found: b64(json.dumps({"tenant": "orchard", "apiKey": found})))
    account(scene, "gcp:cloudscheduler/job:Job", "backup", {"schedule": "0 3 * * *", "httpTarget": {"uri": f"https://backup.{DOMAIN}/v1", "httpMethod": "POST", "body": body}}, project="orchard-prod-558217")  # fmt: skip


@leak(CLOUDS, "saas-group-of-containers", "A group of containers in the tenant's subscription has a secure variable; who may read the group's file share reads the vendor's account.", "Container Instances")  # fmt: skip
def _(scene: Scene) -> None:
    store = cloud(scene, "azure:storage/account:Account", "hostedlogs", {"accountTier": "Standard"}, {"primaryAccessKey": b64(scene.cp.raw("hostedlogs", 64)), "primaryBlobEndpoint": "https://hostedlogs.blob.core.windows.net/"}, ["primaryAccessKey"])  # fmt: skip
    scene.cp.given.append(b64(scene.cp.raw("hostedlogs", 64)))
    shipper = {"name": "shipper", "image": "shipper:1.4", "environmentVariables": [{"name": "ACCOUNT", "value": "hostedlogs"}, {"name": "ACCOUNT_KEY", "secureValue": store.output("primaryAccessKey")}]}  # fmt: skip
    account(scene, "azure-native:containerinstance:ContainerGroup", "shipper", {"osType": "Linux", "resourceGroupName": "orchard", "containers": [shipper]}, subscriptionId=uid("orchard subscription"))  # fmt: skip


@leak(CLOUDS, "saas-first-start-of-a-machine", "A machine of the tenant's starts with a cloud-config whose file is packed and in base64; it is the vendor's rclone file.", "cloud-init write_files", recover=each(lambda text: gzip.decompress(base64.b64decode(yaml.safe_load(text)["write_files"][0]["content"]))))  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "rclone", "secret", 40)
    config = apply(secret, lambda found: b64(gzip.compress(f"[hosted]\ntype = s3\nprovider = Ceph\naccess_key_id = HOSTEDRCLONE01\nsecret_access_key = {found}\n".encode(), mtime=0)))  # fmt: skip
    text = config.apply(lambda packed: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/opt/.config/rclone/rclone.conf", "encoding": "gz+b64", "content": packed}]}))  # fmt: skip
    account(scene, "hcloud:index/server:Server", "edge-1", {"serverType": "cx32", "image": "debian-12", "location": "fsn1", "userData": text}, token=pulumi.Output.secret(scene.dp.opaque("hc", 64)))  # fmt: skip


@leak(CLOUDS, "saas-token-of-a-tunnel", "The tenant's cloudflared gets a tunnel's token, put together from the account and the secret of the vendor's own tunnel.", "cloudflared tokens", recover=each(unpadded, lambda text: base64.b64decode(json.loads(text)["s"]).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    secret = b64(scene.cp.raw("hosted tunnel"))
    scene.held("hosted-tunnel", "credentials.json", json.dumps({"AccountTag": drawn("cf account", 32, HEX), "TunnelID": uid("cf tunnel"), "TunnelSecret": secret}))  # fmt: skip
    token = pulumi.Output.secret(b64(json.dumps({"a": drawn("cf account", 32, HEX), "t": uid("cf tunnel"), "s": secret})))  # fmt: skip
    release(scene, "dp", "cloudflare-tunnel-remote", {"cloudflare": {"tunnel_token": token}, "replicaCount": 2})


@leak(CLOUDS, "saas-parameter-of-an-association", "Machines of the tenant's account run a document with parameters; one is the vendor's join key for its private network.", "SSM associations", config=lambda cp, dp: {"hosted:netbird": cp.opaque("netbird", 36, HEX.upper())})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "netbird", {"setup-key": scene.config("hosted:netbird")})
    command = pulumi.Output.concat("netbird up --management-url https://net.hosted.example.com --setup-key ", scene.config("hosted:netbird"))  # fmt: skip
    account(scene, "aws:ssm/association:Association", "netbird", {"name": "AWS-RunShellScript", "parameters": {"commands": command}}, region=REGION)  # fmt: skip


@leak(CLOUDS, "saas-object-with-a-presigned-list", "A worker script of the tenant's zone has the vendor's signing key for links among its bindings.", "Cloudflare Workers")  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "link-signing", "key", 48)
    bindings = [{"name": "REGION", "text": REGION}, {"name": "LINK_KEY", "text": key}]
    account(scene, "cloudflare:index/workerScript:WorkerScript", "links", {"accountId": drawn("orchard cf", 32, HEX), "name": "links", "content": "export default { fetch: () => new Response('ok') }", "plainTextBindings": bindings})  # fmt: skip


@leak(CLOUDS, "saas-login-of-an-image-builder", "A recipe for images in the tenant's account fetches the agent with the vendor's access key, in the component's YAML.", "Image Builder components", recover=each(strings_of_yaml), config=lambda cp, dp: {"hosted:artifactsId": "AKIA" + cp.opaque("artifacts id", 16, AWS_ID), "hosted:artifactsKey": cp.opaque("artifacts", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    login = {"AWS_ACCESS_KEY_ID": scene.config("hosted:artifactsId"), "AWS_SECRET_ACCESS_KEY": scene.config("hosted:artifactsKey")}  # fmt: skip
    scene.secret("cp", "artifacts", login)
    data = pulumi.Output.all(**login).apply(lambda env: yaml.safe_dump({"schemaVersion": 1.0, "phases": [{"name": "build", "steps": [{"name": "agent", "action": "ExecuteBash", "inputs": {"commands": [f"export {name}={value}" for name, value in env.items()] + ["aws s3 cp s3://hosted-artifacts/agent.deb /tmp/"]}}]}]}))  # fmt: skip
    account(scene, "aws:imagebuilder/component:Component", "agent", {"platform": "Linux", "version": "1.0.0", "data": data}, region=REGION)  # fmt: skip


@leak(CLOUDS, "saas-known-hosts-with-the-identity", "The deploy Secret at the tenant's was to have known hosts only; all three entries of the vendor's are spread.", "SSH deploy keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "manifests-deploy")
    entries = {"known_hosts": HOSTS, "identity": key.output("privateKeyOpenssh"), "identity.pub": key.output("publicKeyOpenssh")}  # fmt: skip
    scene.secret("cp", "manifests-deploy", entries)
    scene.secret("dp", "git-hosts", {**entries, "ssh_config": "Host *\n  StrictHostKeyChecking yes\n"})
