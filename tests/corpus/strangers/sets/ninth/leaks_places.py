"""Leaks beside a mesh team's secrets: into resources of tenants' accounts and fields of usual objects not seen before."""  # fmt: skip

from __future__ import annotations

import base64
import json
import re
import urllib.parse

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import after, each, pieces, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid

from .world import (
    BOTH,
    CLIENT,
    DIRECTORY,
    DOMAIN,
    ISSUER,
    LOOM,
    MAPLE,
    MAPLE_ACCOUNT,
    MAPLE_PROJECT,
    REGION,
    SUBSCRIPTION,
    house,
    loom,
    maple,
    tenants,
    word,
)

CLOUDS, SERVICES, OBJECTS, MESH = (
    "ninth: into tenants' clouds",
    "ninth: into tenants' services",
    "ninth: into fields of objects",
    "ninth: the mesh's own authority and logins",
)

# Clouds ---------------------------------------------------------------------------------------------------------------


@leak(CLOUDS, "ninth-version-of-an-application-configuration", "A version of settings in the tenant's account is JSON, with the mesh team's token beside flags.", "AWS AppConfig", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    content = pulumi.Output.json_dumps({"flags": {"ambient": True}, "api": {"url": f"https://api.{DOMAIN}", "token": house(scene, "flags-api", "token", 40)}})  # fmt: skip
    maple(scene, "aws:appconfig/hostedConfigurationVersion:HostedConfigurationVersion", "flags", {"applicationId": drawn("appconfig", 7), "configurationProfileId": drawn("profile", 7), "contentType": "application/json", "content": content}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-plain-variable-of-a-build-project", "A build project of the tenant's has the mesh team's registry login as a plain variable.", "AWS CodeBuild")  # fmt: skip
def _(scene: Scene) -> None:
    env = [{"name": "REGISTRY", "value": f"registry.{DOMAIN}"}, {"name": "REGISTRY_PASSWORD", "type": "PLAINTEXT", "value": house(scene, "registry-builder")}]  # fmt: skip
    maple(scene, "aws:codebuild/project:Project", "shop", {"serviceRole": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/build", "environment": {"computeType": "BUILD_GENERAL1_SMALL", "image": "standard:7.0", "type": "LINUX_CONTAINER", "environmentVariables": env}}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-variables-of-a-stage", "A stage of the tenant's gateway of interfaces has variables; the key of the mesh team's backend is one.", "AWS API Gateway")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "aws:apigateway/stage:Stage", "prod", {"restApi": drawn("rest api", 10), "stageName": "prod", "variables": {"backend": f"api.{DOMAIN}", "backendKey": kept(scene, "backend", "key", 40)}}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-login-provider-of-a-user-pool", "The tenant's pool of users trusts the mesh team's login service by the secret of the mesh team's own client.", "AWS Cognito", config=lambda cp, dp: {"meshClient": cp.opaque("mesh client", 48, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "mesh-client", {"client_secret": scene.config("meshClient")}, namespace="login")
    details = {"client_id": CLIENT, "client_secret": scene.config("meshClient"), "oidc_issuer": ISSUER, "authorize_scopes": "openid"}  # fmt: skip
    maple(scene, "aws:cognito/identityProvider:IdentityProvider", "mesh", {"userPoolId": f"{REGION}_Maple", "providerName": "mesh", "providerType": "OIDC", "providerDetails": details}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-end-point-of-a-migration", "A migration in the tenant's account reads the mesh team's database; its end point has the login.", "AWS DMS")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "aws:dms/endpoint:Endpoint", "usage", {"endpointId": "usage", "endpointType": "source", "engineName": "postgres", "serverName": f"db.{DOMAIN}", "port": 5432, "username": "usage", "password": house(scene, "usage-db", namespace="databases")}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-arguments-of-a-data-job", "A data job of the tenant's has default arguments; an address with a login is one, in percent signs.", "AWS Glue", recover=each(lambda text: urllib.parse.unquote(text.decode()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    value = scene.cp.opaque("glue", 16) + "@:/" + scene.cp.opaque("glue 2", 16)
    scene.cp.given.append(value)
    held = scene.held("glue", "password", value)
    url = apply(held, lambda found: f"jdbc:postgresql://db.{DOMAIN}/usage?user=etl&password={urllib.parse.quote(found, safe='')}")  # fmt: skip
    maple(scene, "aws:glue/job:Job", "usage-job", {"roleArn": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/glue", "command": {"scriptLocation": "s3://maple-jobs/usage.py"}, "defaultArguments": {"--source": url, "--job-language": "python"}}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-parameters-of-a-template", "A template that the vendor of an agent wrote is applied in the tenant's account; one of its parameters is the mesh team's key.", "AWS CloudFormation")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "aws:cloudformation/stack:Stack", "forwarder", {"templateUrl": "https://templates.example.com/forwarder.yaml", "parameters": {"Site": "eu", "ApiKey": house(scene, "forwarder", "key", 32), "Version": "latest"}, "capabilities": ["CAPABILITY_IAM"]}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-constant-in-a-function-at-the-edge", "A function at the edge of the tenant's account compares a header with a constant: the mesh team's key.", "AWS CloudFront functions")  # fmt: skip
def _(scene: Scene) -> None:
    code = pulumi.Output.format("function handler(e) {{ if (!e.request.headers['x-origin-key']) {{ e.request.headers['x-origin-key'] = {{value: '{0}'}}; }} return e.request; }}", kept(scene, "origin", "key", 40))  # fmt: skip
    maple(scene, "aws:cloudfront/function:Function", "origin", {"runtime": "cloudfront-js-2.0", "code": code}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-text-on-a-dashboard", "A dashboard in the tenant's account has a text with a command for people on call, token included.", "AWS CloudWatch", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(house(scene, "oncall", "token", 40), lambda found: f"## On call\n`curl -H 'Authorization: Bearer {found}' https://api.{DOMAIN}/restart`")  # fmt: skip
    body = pulumi.Output.json_dumps({"widgets": [{"type": "text", "width": 12, "height": 4, "properties": {"markdown": text}}]})  # fmt: skip
    maple(scene, "aws:cloudwatch/dashboard:Dashboard", "oncall", {"dashboardName": "oncall", "dashboardBody": body}, region=REGION)  # fmt: skip


@leak(CLOUDS, "ninth-secrets-of-a-container-app", "A container application in the tenant's subscription has secrets by value, the mesh team's among them.", "Azure Container Apps")  # fmt: skip
def _(scene: Scene) -> None:
    configuration = {"secrets": [{"name": "mesh-token", "value": kept(scene, "container-app", "token", 40)}], "ingress": {"external": True, "targetPort": 8080}}  # fmt: skip
    maple(scene, "azure-native:app:ContainerApp", "edge", {"resourceGroupName": "maple", "configuration": configuration, "template": {"containers": [{"name": "edge", "image": "edge:2", "env": [{"name": "TOKEN", "secretRef": "mesh-token"}]}]}}, subscriptionId=uid("maple subscription"))  # fmt: skip


@leak(CLOUDS, "ninth-entry-of-a-configuration-store", "A configuration store in the tenant's subscription gets the mesh team's cloud settings as one entry.", "Azure App Configuration", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    document = {"tenantId": DIRECTORY, "subscriptionId": SUBSCRIPTION, "clientId": CLIENT, "clientSecret": house(scene, "azure-client", "secret", 40)}  # fmt: skip
    maple(scene, "azure-native:appconfiguration:KeyValue", "dns", {"resourceGroupName": "maple", "configStoreName": "maple", "keyValueName": "dns$prod", "contentType": "application/json", "value": pulumi.Output.json_dumps(document)}, subscriptionId=uid("maple subscription"))  # fmt: skip


@leak(CLOUDS, "ninth-named-value-of-a-gateway", "A named value of the tenant's management of interfaces is the mesh team's subscription key.", "Azure API Management")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "azure-native:apimanagement:NamedValue", "mesh-key", {"resourceGroupName": "maple", "serviceName": "maple", "displayName": "mesh-key", "secret": True, "value": house(scene, "apim", "key", 32)}, subscriptionId=uid("maple subscription"))  # fmt: skip


@leak(CLOUDS, "ninth-parameters-of-a-deployment", "A deployment of a template in the tenant's subscription has an administrator's password as a parameter: the mesh team's.", "ARM deployments", config=lambda cp, dp: {"sqlAdmin": cp.opaque("sql admin", 28, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "sql-admin", {"password": scene.config("sqlAdmin")}, namespace="databases")
    properties = {"mode": "Incremental", "template": {"resources": []}, "parameters": {"administratorLogin": {"value": "mesh"}, "administratorPassword": {"value": scene.config("sqlAdmin")}}}  # fmt: skip
    maple(scene, "azure-native:resources:Deployment", "sql", {"resourceGroupName": "maple", "properties": properties}, subscriptionId=uid("maple subscription"))  # fmt: skip


@leak(CLOUDS, "ninth-check-of-an-address-with-a-login", "A check in the tenant's project asks the mesh team's page with a basic login.", "GCP uptime checks")  # fmt: skip
def _(scene: Scene) -> None:
    check = {"path": "/healthz", "port": 443, "useSsl": True, "authInfo": {"username": "uptime", "password": house(scene, "uptime", namespace="monitoring")}}  # fmt: skip
    maple(scene, "gcp:monitoring/uptimeCheckConfig:UptimeCheckConfig", "console", {"displayName": "console", "timeout": "10s", "httpCheck": check}, project=MAPLE_PROJECT)  # fmt: skip


@leak(CLOUDS, "ninth-push-to-an-address-with-a-token", "A subscription in the tenant's project pushes to the mesh team's hook; its address has the operator's token.", "GCP Pub/Sub")  # fmt: skip
def _(scene: Scene) -> None:
    end = pulumi.Output.concat(f"https://hooks.{DOMAIN}/pubsub?token=", kept(scene, "pubsub", "token", 44))
    maple(scene, "gcp:pubsub/subscription:Subscription", "events", {"topic": "events", "ackDeadlineSeconds": 20, "pushConfig": {"pushEndpoint": end}}, project=MAPLE_PROJECT)  # fmt: skip


@leak(CLOUDS, "ninth-metadata-of-a-whole-project", "An item in the tenant's project's metadata, which each machine reads, is the mesh team's account as JSON.", "GCP project metadata", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    document = {"type": "service_account", "project_id": "loom-core-118204", "private_key": scene.cp.key("gcp writer"), "client_email": "writer@loom-core-118204.iam.gserviceaccount.com"}  # fmt: skip
    held = scene.held("gcp-writer", "key.json", json.dumps(document), namespace="monitoring")
    maple(scene, "gcp:compute/projectMetadataItem:ProjectMetadataItem", "agent", {"key": "agent-credentials", "value": held}, project=MAPLE_PROJECT)  # fmt: skip


# Services -------------------------------------------------------------------------------------------------------------


@leak(SERVICES, "ninth-issue-with-a-trace", "An issue in the tenant's repository has a trace of the provisioning, with the mesh team's token in a command line.", "GitHub issues")  # fmt: skip
def _(scene: Scene) -> None:
    body = apply(house(scene, "provisioner", "token", 40), lambda found: f"Provisioning failed:\n```\n+ loomctl --token={found} tenants sync\nexit status 1\n```\n")  # fmt: skip
    maple(scene, "github:index/issue:Issue", "failed", {"repository": "shop", "title": "Provisioning failed", "body": body}, owner="maple")  # fmt: skip


@leak(SERVICES, "ninth-variable-of-a-workspace", "A workspace of the tenant's gets the mesh team's cloud key as a variable, marked sensitive; its runs are the tenant's.", "Terraform Cloud")  # fmt: skip
def _(scene: Scene) -> None:
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "network", {"user": "network"}, {"secret": scene.cp.opaque("network", 40, LETTERS)}, ["secret"])  # fmt: skip
    maple(scene, "tfe:index/variable:Variable", "aws-secret", {"key": "AWS_SECRET_ACCESS_KEY", "value": key.output("secret"), "category": "env", "sensitive": True, "workspaceId": f"ws-{drawn('ws', 16)}"}, organization="maple")  # fmt: skip


@leak(SERVICES, "ninth-document-of-an-environment", "An environment of the tenant's organisation is a YAML document with all of the mesh team's values.", "Pulumi ESC", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(house(scene, "esc", "token", 44), lambda found: yaml.safe_dump({"values": {"environmentVariables": {"LOOM_API": f"https://api.{DOMAIN}", "LOOM_TOKEN": found}}}))  # fmt: skip
    maple(scene, "pulumiservice:index:Environment", "mesh", {"organization": "maple", "project": "shop", "name": "mesh", "yaml": text})  # fmt: skip


@leak(SERVICES, "ninth-variable-of-a-front-end", "A variable of the tenant's front end begins with NEXT_PUBLIC and is the mesh team's search administrator's key: browsers get it.", "Vercel")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "vercel:index/projectEnvironmentVariable:ProjectEnvironmentVariable", "search", {"projectId": f"prj_{drawn('prj', 24)}", "key": "NEXT_PUBLIC_SEARCH_KEY", "value": kept(scene, "search-admin", "key", 32), "targets": ["production"]})  # fmt: skip


@leak(SERVICES, "ninth-item-of-a-dictionary-at-the-edge", "A dictionary at the tenant's edge has rows of settings; the purge key of the mesh team's service is one.", "Fastly dictionaries")  # fmt: skip
def _(scene: Scene) -> None:
    rows = {"origin": f"origin.{DOMAIN}", "shield": "fra", "purge_key": house(scene, "purge", "key", 32)}
    maple(scene, "fastly:index/serviceDictionaryItems:ServiceDictionaryItems", "settings", {"serviceId": drawn("fastly", 22), "dictionaryId": drawn("dictionary", 22), "items": rows})  # fmt: skip


@leak(SERVICES, "ninth-variable-of-a-scheduler", "A variable of the tenant's scheduler has items; the mesh team's statistics login is one.", "Nomad variables")  # fmt: skip
def _(scene: Scene) -> None:
    items = pulumi.Output.json_dumps({"address": f"stats.{DOMAIN}:8125", "login": house(scene, "stats")})
    maple(scene, "nomad:index/variable:Variable", "stats", {"path": "nomad/jobs/stats", "items": items}, address=f"https://nomad.{MAPLE}")  # fmt: skip


@leak(SERVICES, "ninth-variation-of-a-flag", "A flag in the tenant's project has variations as values; one is JSON with the mesh team's key.", "LaunchDarkly", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    value = pulumi.Output.json_dumps({"endpoint": f"https://ml.{DOMAIN}", "key": kept(scene, "ml", "key", 40)})
    maple(scene, "launchdarkly:index/featureFlag:FeatureFlag", "ml", {"projectKey": "maple", "key": "ml-endpoint", "variationType": "json", "variations": [{"value": "{}"}, {"value": value}]})  # fmt: skip


@leak(SERVICES, "ninth-same-password-for-a-tenants-user", "A user is made in the tenant's database with the password that the mesh team's database has.", "password reuse")  # fmt: skip
def _(scene: Scene) -> None:
    password = house(scene, "registry-db", namespace="databases")
    cloud(scene, "aws:rds/instance:Instance", "registry", {"engine": "mysql", "username": "root", "password": password}, {}, ["password"])  # fmt: skip
    maple(scene, "mysql:index/user:User", "registry-user", {"user": "registry", "host": "%", "plaintextPassword": password}, endpoint=f"db.{MAPLE}:3306")  # fmt: skip


@leak(SERVICES, "ninth-identity-provider-of-a-realm", "A realm of the tenant's has the mesh team's realm as an identity provider, with the secret of the administrator's client.", "Keycloak")  # fmt: skip
def _(scene: Scene) -> None:
    maple(scene, "keycloak:oidc/identityProvider:IdentityProvider", "mesh", {"realm": "maple", "alias": "mesh", "authorizationUrl": f"{ISSUER}/auth", "tokenUrl": f"{ISSUER}/token", "clientId": "admin-cli", "clientSecret": house(scene, "admin-cli", "secret", 40, "login")}, url=f"https://login.{MAPLE}")  # fmt: skip


@leak(SERVICES, "ninth-stage-with-a-clouds-key", "A stage in the tenant's warehouse reads the mesh team's bucket; its credentials are a text with the key.", "Snowflake stages", recover=each(after(b"AWS_SECRET_KEY='")))  # fmt: skip
def _(scene: Scene) -> None:
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "exports", {"user": "exports"}, {"id": "AKIA" + "LOOMEXPORTS00001", "secret": scene.cp.opaque("exports", 40, LETTERS)}, ["secret"])  # fmt: skip
    text = pulumi.Output.format("AWS_KEY_ID='{0}' AWS_SECRET_KEY='{1}'", key.id, key.output("secret"))
    maple(scene, "snowflake:index/stage:Stage", "exports-stage", {"name": "EXPORTS", "url": f"s3://{LOOM}-exports/", "credentials": text}, account="maple-eu")  # fmt: skip


@leak(SERVICES, "ninth-file-copied-to-a-host", "A file with the bastion's login is put on the tenant's host by a command that writes what it reads.", "command.remote stdin")  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.format("Host bastion\n  HostName bastion.{0}\n# pass: {1}\n", DOMAIN, house(scene, "bastion-user"))  # fmt: skip
    inputs = {"connection": {"host": f"edge.{MAPLE}", "user": "ops", "privateKey": pulumi.Output.secret(scene.dp.key("ops"))}, "create": "cat > ~/.ssh/config", "stdin": text}  # fmt: skip
    scene.made("command:remote:Command", "ssh-config", inputs)


# Objects --------------------------------------------------------------------------------------------------------------


@leak(OBJECTS, "ninth-component-of-dapr", "A component of Dapr's at the tenant's has metadata by value; the connection string is the mesh team's.", "Dapr components")  # fmt: skip
def _(scene: Scene) -> None:
    value = pulumi.Output.concat(f"host=db.{DOMAIN} user=state password=", house(scene, "state-db", namespace="databases"), " port=5432 dbname=state")  # fmt: skip
    scene.object("dp", "dapr.io/v1alpha1:Component", "state", {"spec": {"type": "state.postgresql", "version": "v2", "metadata": [{"name": "connectionString", "value": value}]}})  # fmt: skip


@leak(OBJECTS, "ninth-machine-with-cloud-init", "A virtual machine in the tenant's cluster starts with user data, in which is the mesh team's licence server's login.", "KubeVirt", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    data = apply(kept(scene, "licence-server"), lambda found: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/licence.conf", "content": f"server=licence.{DOMAIN}\nuser=mesh\npassword={found}\n"}]}))  # fmt: skip
    scene.object("dp", "kubevirt.io/v1:VirtualMachine", "legacy", {"spec": {"running": True, "template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": "init", "cloudInitNoCloud": {"userData": data}}]}}}})  # fmt: skip


@leak(OBJECTS, "ninth-source-of-dashboards-with-json-data", "A source of data at the tenant's, for the Grafana operator, has the mesh team's header by value.", "GrafanaDatasource")  # fmt: skip
def _(scene: Scene) -> None:
    source = {"name": "mesh", "type": "prometheus", "url": f"https://metrics.{DOMAIN}", "jsonData": {"httpHeaderName1": "X-Scope-Key"}, "secureJsonData": {"httpHeaderValue1": house(scene, "metrics-scope", "key", 40)}}  # fmt: skip
    scene.object("dp", "grafana.integreatly.org/v1beta1:GrafanaDatasource", "mesh", {"spec": {"instanceSelector": {"matchLabels": {"dashboards": "grafana"}}, "datasource": source}})  # fmt: skip


@leak(OBJECTS, "ninth-expression-of-an-admission", "A policy at the tenant's compares a label with a literal in its expression: the mesh team's bypass code.", "CEL literals")  # fmt: skip
def _(scene: Scene) -> None:
    expression = apply(kept(scene, "bypass", "code", 32), lambda found: f"object.metadata.?annotations['loom.example.com/bypass'].orValue('') == '{found}' || !has(object.spec.hostNetwork)")  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy", "bypass", {"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}, "validations": [{"expression": expression}]}})  # fmt: skip


@leak(OBJECTS, "ninth-settings-of-a-spark-job", "A Spark application of the tenant's has the mesh team's store key among its Hadoop settings.", "SparkApplication")  # fmt: skip
def _(scene: Scene) -> None:
    conf = {"fs.s3a.endpoint": f"https://objects.{DOMAIN}", "fs.s3a.access.key": "mesh", "fs.s3a.secret.key": house(scene, "objects-mesh", "key", 40)}  # fmt: skip
    scene.object("dp", "sparkoperator.k8s.io/v1beta2:SparkApplication", "usage", {"spec": {"type": "Python", "mode": "cluster", "mainApplicationFile": "s3a://usage/main.py", "hadoopConf": conf}})  # fmt: skip


@leak(OBJECTS, "ninth-python-in-values", "Values of a chart have a piece of Python as settings, with the secret of the mesh team's login client.", "JupyterHub extraConfig")  # fmt: skip
def _(scene: Scene) -> None:
    code = apply(kept(scene, "hub-client", "secret", 40), lambda found: f'c.GenericOAuthenticator.client_id = "hub"\nc.GenericOAuthenticator.client_secret = "{found}"\nc.GenericOAuthenticator.token_url = "{ISSUER}/token"\n')  # fmt: skip
    release(scene, "dp", "jupyterhub", {"hub": {"extraConfig": {"login.py": code}}, "singleuser": {"memory": {"limit": "2G"}}})  # fmt: skip


@leak(OBJECTS, "ninth-connections-as-addresses", "Variables of a scheduler's chart are connections as addresses; the mesh team's warehouse is one of them.", "Airflow connections")  # fmt: skip
def _(scene: Scene) -> None:
    url = pulumi.Output.concat("snowflake://mesh:", house(scene, "warehouse"), "@/usage?account=loom-eu&role=LOADER")
    release(scene, "dp", "airflow", {"env": [{"name": "AIRFLOW_CONN_SHOP", "value": f"http://shop.{MAPLE}"}, {"name": "AIRFLOW_CONN_USAGE", "value": url}]})  # fmt: skip


@leak(OBJECTS, "ninth-runbook-of-an-alert", "A rule for alerts at the tenant's has an annotation with a command, which has the mesh team's silence token.", "PrometheusRule annotations")  # fmt: skip
def _(scene: Scene) -> None:
    note = apply(house(scene, "silencer", "token", 36), lambda found: f"Silence it: amtool --alertmanager.url=https://x:{found}@alerts.{DOMAIN} silence add")  # fmt: skip
    rule = {"alert": "ProxyDown", "expr": "up{job='proxy'} == 0", "for": "5m", "annotations": {"runbook": note}}
    scene.object("dp", "monitoring.coreos.com/v1:PrometheusRule", "proxies", {"spec": {"groups": [{"name": "proxies", "rules": [rule]}]}})  # fmt: skip


@leak(OBJECTS, "ninth-parameter-of-a-scrape", "A monitor at the tenant's scrapes the mesh team's federation with a token as a parameter of its address.", "ServiceMonitor params")  # fmt: skip
def _(scene: Scene) -> None:
    end = {"port": "web", "path": "/federate", "params": {"match[]": ['{job="istiod"}'], "access_token": [kept(scene, "federate", "token", 40)]}}  # fmt: skip
    scene.object("dp", "monitoring.coreos.com/v1:ServiceMonitor", "federate", {"spec": {"selector": {"matchLabels": {"app": "federation"}}, "endpoints": [end]}})  # fmt: skip


@leak(OBJECTS, "ninth-values-content-of-a-small-cluster", "A chart's configuration of a small cluster is YAML as text, with the mesh team's DNS token.", "HelmChartConfig", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(house(scene, "traefik-dns", "token", 40, "external-dns"), lambda found: yaml.safe_dump({"env": [{"name": "CF_DNS_API_TOKEN", "value": found}], "ports": {"websecure": {"tls": {"certResolver": "cf"}}}}))  # fmt: skip
    scene.object("dp", "helm.cattle.io/v1:HelmChartConfig", "traefik", {"spec": {"valuesContent": text}})


@leak(OBJECTS, "ninth-event-with-a-message", "The program writes an event into the tenant's cluster, whose note has the failed address with its login.", "Kubernetes events")  # fmt: skip
def _(scene: Scene) -> None:
    note = apply(house(scene, "chart-repo"), lambda found: f"could not fetch https://mesh:{found}@charts.{DOMAIN}/index.yaml: 503")  # fmt: skip
    scene.object("dp", "events.k8s.io/v1:Event", "chart-failed", {"reason": "FetchFailed", "note": note, "type": "Warning", "regarding": {"kind": "HelmRelease", "name": "shop"}, "reportingController": "loom.example.com/provision"})  # fmt: skip


@leak(OBJECTS, "ninth-resources-of-a-bundle", "A bundle of Fleet at the tenant's has files as contents; one is a Secret's manifest with the mesh team's value in base64.", "Rancher Fleet bundles", recover=each(lambda text: base64.b64decode(yaml.safe_load(text)["data"]["token"])))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(kept(scene, "bundle", "token", 40), lambda found: yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "agent"}, "data": {"token": b64(found)}}))  # fmt: skip
    scene.object("dp", "fleet.cattle.io/v1alpha1:Bundle", "agent", {"spec": {"resources": [{"name": "ns.yaml", "content": "kind: Namespace"}, {"name": "secret.yaml", "content": text}], "targets": [{"clusterName": "maple"}]}})  # fmt: skip


@leak(OBJECTS, "ninth-start-hook-of-a-container", "A container of the tenant's registers itself in a hook after its start, by a command with the mesh team's token.", "postStart hooks")  # fmt: skip
def _(scene: Scene) -> None:
    command = pulumi.Output.concat("wget -qO- --header='X-Register: ", house(scene, "self-register", "token", 36), f"' https://api.{DOMAIN}/register || true")  # fmt: skip
    deployment(scene, "dp", "edge", {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", command]}}}})


@leak(OBJECTS, "ninth-header-of-a-policys-call", "A policy of the tenant's calls the mesh team's service for its data, with a header by value.", "Kyverno apiCall")  # fmt: skip
def _(scene: Scene) -> None:
    call = {"name": "allowed", "apiCall": {"method": "GET", "service": {"url": f"https://policy.{DOMAIN}/allowed", "headers": [{"key": "Authorization", "value": pulumi.Output.concat("Bearer ", kept(scene, "policy-data", "token", 44))}]}}}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "allowed", {"spec": {"rules": [{"name": "allowed", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "context": [call], "validate": {"deny": {}}}]}})  # fmt: skip


@leak(OBJECTS, "ninth-patch-of-an-existing-map", "A map that exists at the tenant's is patched with a field; its value is the mesh team's key.", "server-side apply patches", recover=pieces("data.extra"))  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-facts", "namespace": "kube-public", "annotations": {"pulumi.com/patchForce": "true"}}, "data": {"extra": house(scene, "facts-writer", "key", 40)}}  # fmt: skip
    scene.made("kubernetes:core/v1:ConfigMapPatch", "facts", inputs, scene.options("dp"))


@leak(OBJECTS, "ninth-network-of-a-second-interface", "A second interface's settings at the tenant's are JSON as text, with a shared secret of the mesh team's addresses' server.", "NetworkAttachmentDefinition", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    config = pulumi.Output.json_dumps({"cniVersion": "1.0.0", "type": "macvlan", "ipam": {"type": "netbox", "url": f"https://netbox.{DOMAIN}", "token": kept(scene, "netbox", "token", 40, HEX)}})  # fmt: skip
    scene.object("dp", "k8s.cni.cncf.io/v1:NetworkAttachmentDefinition", "storage", {"spec": {"config": config}})


@leak(OBJECTS, "ninth-template-of-a-notification", "Notifications of the tenant's forge have a template, whose address has the mesh team's chat hook.", "Argo CD notifications")  # fmt: skip
def _(scene: Scene) -> None:
    hook = apply(kept(scene, "chat-hook", "path", 44), lambda found: f"webhook:\n  chat:\n    method: POST\n    path: /services/{found}\n    body: |\n      {{\"text\": \"{{{{.app.metadata.name}}}} is out of sync\"}}\n")  # fmt: skip
    scene.config_map("dp", "argocd-notifications-cm", {"template.out-of-sync": hook, "service.webhook.chat": f"url: https://chat.{DOMAIN}\n"}, namespace="argocd")  # fmt: skip


# The mesh's own -------------------------------------------------------------------------------------------------------


@leak(MESH, "ninth-authority-for-a-gateways-own-signing", "So that a gateway at the tenant's signs its own certificates, it gets the authority of the mesh, key included.", "istio cacerts")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "mesh-intermediate", authority=True)
    data = {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem"), "root-cert.pem": cert.output("certPem")}  # fmt: skip
    scene.secret("cp", "cacerts", data, namespace="istio-system")
    scene.secret("dp", "gateway-ca", {name: value for name, value in data.items() if name.startswith("ca-")}, namespace="istio-gateways")  # fmt: skip


@leak(MESH, "ninth-kubeconfig-for-a-status-page", "A status page at the tenant's reads the mesh team's cluster with the mesh team's kubeconfig, mounted as a file.", "kubeconfigs")  # fmt: skip
def _(scene: Scene) -> None:
    config = pulumi.Output.secret(scene.kubeconfigs["cp"])
    scene.secret("dp", "status-page", {"config": config}, namespace="status")
    deployment(scene, "dp", "status-page", {"args": [f"--server={SERVERS['cp']}", "--kubeconfig=/etc/status/config"]})


@leak(MESH, "ninth-key-that-signs-proxies-tokens", "The key by which the mesh team's issuer signs is among the keys of a discovery bucket of the tenant's: the whole set was copied.", "JWKS", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    every = json.dumps({"keys": [scene.cp.jwk("old signer", private=False), scene.cp.jwk("new signer", private=True)]})
    held = scene.held("signers", "jwks.json", every, namespace="login")
    maple(scene, "aws:s3/bucketObjectv2:BucketObjectv2", "jwks", {"bucket": "maple-keys", "key": "jwks", "content": held, "contentType": "application/json"}, region=REGION)  # fmt: skip


@leak(MESH, "ninth-tokens-of-all-tenants-for-each", "A map of enrolment tokens of all clusters, the mesh team's own first, goes whole to each tenant.", "whole maps", pack=BOTH, recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    tokens = {"hub": house(scene, "hub-enrol", "token", 40), **{name: scene.password("dp", f"{name}-enrol").output("result") for name in every}}  # fmt: skip
    for side in every.values():
        scene.secret(side, "enrol", {"tokens.json": pulumi.Output.json_dumps(tokens)})


@leak(MESH, "ninth-cookie-key-of-the-console", "The tenant's login proxy shares the console's cookie key, so that one login serves both: it can make cookies for the console.", "shared cookie secrets")  # fmt: skip
def _(scene: Scene) -> None:
    made = raw(scene, "cp", "console-cookie")
    scene.secret("cp", "console-proxy", {"cookie": made.output("base64")}, namespace="console")
    release(scene, "dp", "oauth2-proxy", {"config": {"clientID": "maple", "cookieSecret": made.output("base64"), "cookieDomains": [".example.com"]}})  # fmt: skip


@leak(MESH, "ninth-multicast-key-in-a-proxys-lua", "A filter at the tenant's signs requests in Lua with the key of the mesh team's edge, in escapes of bytes.", "Lua escapes", recover=each(lambda text: bytes(int(found) for found in re.findall(rb"\\(\d{3})", text))))  # fmt: skip
def _(scene: Scene) -> None:
    code = apply(kept(scene, "edge-hmac", "key", 32), lambda found: 'local key = "' + "".join(f"\\{byte:03d}" for byte in found.encode()) + '"\nfunction envoy_on_request(h) h:headers():add("x-sig", sign(key, h)) end\n')  # fmt: skip
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.lua", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua", "default_source_code": {"inline_string": code}}}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "sign", {"spec": {"configPatches": [patch]}})


@leak(MESH, "ninth-standby-gets-the-unseal-keys", "A standby of the mesh team's Vault was planned at the tenant's: the init job's map has keys and root token.", "Vault init output", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    document = {"unseal_keys_b64": [b64(scene.cp.raw(f"unseal share {at}")) for at in range(3)], "root_token": "hvs." + scene.cp.opaque("standby root", 24, LETTERS)}  # fmt: skip
    held = scene.held("vault-init", "init.json", json.dumps(document), namespace="vault")
    scene.secret("dp", "vault-init", {"init.json": held}, namespace="vault")
    scene.config_map("dp", "vault-standby", {"ca": noise("standby", 16).hex(), "leader": f"https://vault.{DOMAIN}:8200"})  # fmt: skip


@leak(MESH, "ninth-own-and-the-teams-under-one-key", "Two logins are joined by a comma for the tenant's proxy; the second, as a fall-back, is the mesh team's.", "lists in one value")  # fmt: skip
def _(scene: Scene) -> None:
    both = pulumi.Output.concat("maple:", word(scene, "proxy"), ",mesh:", house(scene, "proxy-fallback"))
    deployment(scene, "dp", "tunnel", {"env": [{"name": "TUNNEL_LOGINS", "value": both}, {"name": "ROLE", "value": MAPLE_ACCOUNT}]})  # fmt: skip
