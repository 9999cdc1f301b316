"""Leaks of a platform with tenants: into the tenants' accounts at clouds and services, and in the forms of usual tools."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import tarfile
import textwrap
import urllib.parse
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import after, each, pieces, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, uid

from .world import (
    BIRCH,
    BIRCH_ACCOUNT,
    BIRCH_PROJECT,
    CLIENT,
    DIRECTORY,
    DOMAIN,
    GRID,
    ISSUER,
    REGION,
    ZONE_ID,
    birch,
    core,
    pod,
    twins,
)

ACCOUNTS, SERVICES, FORMS, OBJECTS = (
    "eighth: slips into tenants' clouds",
    "eighth: slips into tenants' services",
    "eighth: forms of usual tools",
    "eighth: slips into usual objects",
)

# Clouds ---------------------------------------------------------------------------------------------------------------


@leak(ACCOUNTS, "eighth-parameter-of-the-tenant", "The tenant's parameter store gets the platform's token for enrolment, because the loop over parameters takes all rows.", "AWS SSM")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    rows = {"/grid/endpoint": f"api.{DOMAIN}", "/grid/mesh": GRID, "/grid/enrol": generated(scene, "enrol", "token", 40)}  # fmt: skip
    for path, value in rows.items():
        birch(scene, "aws:ssm/parameter:Parameter", path.strip("/").replace("/", "-"), {"name": path, "type": "SecureString", "value": value}, region=REGION, allowedAccountIds=[BIRCH_ACCOUNT])  # fmt: skip


@leak(ACCOUNTS, "eighth-object-in-the-tenants-bucket", "A file of settings for the tenant's batch jobs is an object in its bucket; it is the platform's file.", "S3 objects", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    settings = {"grid": GRID, "endpoint": f"https://api.{DOMAIN}", "auth": {"type": "static", "token": kept(scene, "batch", "token", 36)}}  # fmt: skip
    inputs = {"bucket": "birch-batch", "key": "config/settings.json", "contentType": "application/json", "content": pulumi.Output.json_dumps(settings)}  # fmt: skip
    birch(scene, "aws:s3/bucketObjectv2:BucketObjectv2", "settings", inputs, region=REGION)


@leak(ACCOUNTS, "eighth-user-data-packed", "A machine of the tenant's starts with packed user data; in it is a unit with the platform's variables.", "EC2 user data", recover=each(lambda text: gzip.decompress(base64.b64decode(text))))  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    unit = apply(generated(scene, "shipper"), lambda found: f"#cloud-config\nwrite_files:\n- path: /etc/systemd/system/shipper.service\n  content: |\n    [Service]\n    Environment=SINK=https://logs.{DOMAIN}\n    Environment=SINK_PASSWORD={found}\n    ExecStart=/usr/bin/shipper\n")  # fmt: skip
    packed = apply(unit, lambda text: b64(gzip.compress(text.encode(), mtime=0)))
    birch(scene, "aws:ec2/instance:Instance", "edge", {"ami": "ami-0c1f", "instanceType": "t4g.small", "userDataBase64": packed}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "eighth-startup-script-of-a-machine", "A machine in the tenant's project has a start script in its metadata, which clones with the platform's token.", "GCE metadata")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "clone", "token", 38)
    script = pulumi.Output.format("#!/bin/bash\ngit clone https://x-access-token:{0}@git.{1}/grid/edge.git /opt/edge\n/opt/edge/install.sh\n", token, DOMAIN)  # fmt: skip
    birch(scene, "gcp:compute/instance:Instance", "edge", {"machineType": "e2-small", "zone": "europe-north1-a", "metadata": {"startup-script": script, "enable-oslogin": "TRUE"}}, project=BIRCH_PROJECT)  # fmt: skip


@leak(ACCOUNTS, "eighth-secret-version-of-the-tenants-project", "Versions of secrets in the tenant's project are made from a mapping in which the platform's database is.", "GCP Secret Manager")  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "orders-db")
    for name, value in {"orders-db": word["dp"], "grid-db": word["cp"]}.items():
        secret = birch(scene, "gcp:secretmanager/secret:Secret", name, {"secretId": name, "replication": {"auto": {}}}, project=BIRCH_PROJECT)  # fmt: skip
        birch(scene, "gcp:secretmanager/secretVersion:SecretVersion", f"{name}-1", {"secret": secret.id, "secretData": value}, project=BIRCH_PROJECT)  # fmt: skip


@leak(ACCOUNTS, "eighth-secret-in-the-tenants-vault-of-keys", "A client secret of the platform's application is kept in the tenant's vault of keys; the tenant's own was meant.", "Azure Key Vault")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "azuread:index/applicationPassword:ApplicationPassword", "grid-app", {"applicationId": uid("grid app")}, {"value": scene.cp.opaque("grid app", 40, LETTERS)}, ["value"])  # fmt: skip
    scene.secret("cp", "grid-app", {"client-id": CLIENT, "client-secret": made.output("value")})
    inputs = {"vaultName": "birch", "resourceGroupName": "birch", "secretName": "oidc", "properties": {"contentType": "text/plain", "value": made.output("value")}}  # fmt: skip
    birch(scene, "azure-native:keyvault:Secret", "oidc", inputs, subscriptionId=uid("birch subscription"))


@leak(ACCOUNTS, "eighth-custom-data-of-a-machine", "Custom data of the tenant's machine are a cloud-config in base64 with the join token of the platform's cluster.", "Azure customData", recover=each(lambda text: strings_of_yaml(base64.b64decode(text))))  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "joiner")
    text = apply(token, lambda found: b64("#cloud-config\n" + yaml.safe_dump({"runcmd": [["kubeadm", "join", SERVERS["cp"], "--token", found]], "package_update": True})))  # fmt: skip
    inputs = {"resourceGroupName": "birch", "vmName": "worker", "osProfile": {"computerName": "worker", "customData": text, "adminUsername": "birch"}}  # fmt: skip
    birch(scene, "azure-native:compute:VirtualMachine", "worker", inputs, subscriptionId=uid("birch subscription"))


@leak(ACCOUNTS, "eighth-variables-of-a-function", "A function in the tenant's account gets variables by a spread, after which the platform's signing key is there.", "Lambda environment")  # fmt: skip
def _(scene: Scene) -> None:
    shared: dict[str, Any] = {"GRID_ID": GRID, "ISSUER": ISSUER, "WEBHOOK_SIGNING_KEY": generated(scene, "webhook-signing", "key", 48)}  # fmt: skip
    inputs = {"runtime": "python3.12", "handler": "main.handle", "role": f"arn:aws:iam::{BIRCH_ACCOUNT}:role/hook", "environment": {"variables": {**shared, "TENANT": "birch"}}}  # fmt: skip
    birch(scene, "aws:lambda/function:Function", "hook", inputs, region=REGION)


@leak(ACCOUNTS, "eighth-record-of-text", "To check a domain a TXT record in the tenant's zone has a challenge; the program writes the account's key for it.", "DNS TXT records")  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "acme-dns", "key", 40)
    birch(scene, "cloudflare:index/record:Record", "challenge", {"zoneId": drawn("birch zone", 32, HEX), "name": f"_grid-challenge.{BIRCH}", "type": "TXT", "content": pulumi.Output.concat("grid-verification=", key), "ttl": 300})  # fmt: skip


@leak(ACCOUNTS, "eighth-mail-key-in-pieces", "A DKIM record in the tenant's zone is split at 255 letters; the key is the private half of the platform's pair.", "DKIM keys", recover=each(lambda text: b"".join(text.split(b'""')).split(b"p=")[1].strip(b'"'), base64.b64decode, lambda der: base64.b64encode(der).replace(b"\n", b"")))  # fmt: skip
def _(scene: Scene) -> None:
    der = b64(scene.cp.key_der("dkim"))
    scene.cp.given.append(der)
    key = scene.held("dkim", "private.der", der)
    text = apply(key, lambda found: '"' + '""'.join(textwrap.wrap(f"v=DKIM1; k=ed25519; p={found}", 120, break_on_hyphens=False)) + '"')  # fmt: skip
    birch(scene, "aws:route53/record:Record", "dkim", {"zoneId": "Z0BIRCH", "name": f"grid._domainkey.{BIRCH}", "type": "TXT", "ttl": 300, "records": [text]}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "eighth-task-of-containers", "A task definition in the tenant's account has containers as JSON; the log driver's options have the platform's key.", "ECS container definitions", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "log-intake", "key", 32)
    container = {"name": "edge", "image": "edge:3.1", "logConfiguration": {"logDriver": "awsfirelens", "options": {"Name": "datadog", "apikey": key, "Host": "http-intake.logs.datadoghq.eu"}}}  # fmt: skip
    birch(scene, "aws:ecs/taskDefinition:TaskDefinition", "edge", {"family": "edge", "containerDefinitions": pulumi.Output.json_dumps([container])}, region=REGION)  # fmt: skip


# Services -------------------------------------------------------------------------------------------------------------


@leak(SERVICES, "eighth-secret-of-a-repositorys-environment", "An environment of the tenant's repository gets a kubeconfig in base64: the platform's, which the function takes by default.", "GitHub Actions secrets", recover=each(lambda text: strings_of_yaml(base64.b64decode(text))))  # fmt: skip
def _(scene: Scene) -> None:
    def config(side: str = "cp") -> Any:
        return pulumi.Output.secret(scene.kubeconfigs[side]).apply(b64)

    core(scene)
    inputs = {"repository": "birch/shop", "environment": "production", "secretName": "KUBECONFIG_B64", "plaintextValue": config()}  # fmt: skip
    birch(scene, "github:index/actionsEnvironmentSecret:ActionsEnvironmentSecret", "kubeconfig", inputs, owner="birch")


@leak(SERVICES, "eighth-variable-of-an-organisation", "A variable, readable for all, of the tenant's organisation has an index's address with the platform's login.", "GitHub Actions variables")  # fmt: skip
def _(scene: Scene) -> None:
    url = pulumi.Output.concat("https://ci:", generated(scene, "pypi"), f"@pypi.{DOMAIN}/simple")
    birch(scene, "github:index/actionsOrganizationVariable:ActionsOrganizationVariable", "index", {"variableName": "PIP_INDEX_URL", "visibility": "all", "value": url}, owner="birch")  # fmt: skip


@leak(SERVICES, "eighth-hook-with-a-token-in-its-address", "A hook of the tenant's repository calls the platform; its address has the platform's operator token as a query.", "webhook URLs")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "hook-operator", "token", 40)
    config = {"url": pulumi.Output.concat(f"https://hooks.{DOMAIN}/github?tenant=birch&token=", token), "contentType": "json"}  # fmt: skip
    birch(scene, "github:index/repositoryWebhook:RepositoryWebhook", "push", {"repository": "shop", "events": ["push"], "configuration": config}, owner="birch")  # fmt: skip


@leak(SERVICES, "eighth-entry-in-the-tenants-vault", "The tenant's Vault gets an entry of facts as JSON; the dictionary of facts was extended by a login a year ago.", "Vault KV", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    facts: dict[str, Any] = {"endpoint": f"https://api.{DOMAIN}", "grid": GRID}
    facts |= {"basic": {"username": "grid", "password": generated(scene, "api-basic")}}
    scene.config_map("cp", "facts", {"endpoint": facts["endpoint"]})
    birch(scene, "vault:kv/secretV2:SecretV2", "facts", {"mount": "kv", "name": "grid/facts", "dataJson": pulumi.Output.json_dumps(facts)}, address=f"https://vault.{BIRCH}")  # fmt: skip


@leak(SERVICES, "eighth-mapping-of-a-foreign-table", "The tenant's database reads a table of the platform's through a foreign server; the mapping has the platform's login.", "postgres_fdw")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"serverName": "grid", "userName": "birch", "options": {"user": "grid", "password": generated(scene, "fdw")}}  # fmt: skip
    birch(scene, "postgresql:index/userMapping:UserMapping", "grid", inputs, host=f"db.{BIRCH}")


@leak(SERVICES, "eighth-contact-point-of-the-platforms-pager", "Alerts of the tenant's are sent to the platform's pager by a contact point in the tenant's account.", "Grafana contact points", config=lambda cp, dp: {"grid:pager": cp.opaque("pager", 32, HEX), "birch:pager": dp.opaque("pager", 32, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "pager", {"key": scene.config("grid:pager")})
    inputs = {"name": "grid", "pagerduties": [{"integrationKey": scene.config("grid:pager"), "severity": "warning"}]}
    birch(scene, "grafana:alerting/contactPoint:ContactPoint", "grid", inputs, url=f"https://grafana.{BIRCH}")


@leak(SERVICES, "eighth-headers-of-a-monitor", "A webhook in the tenant's monitoring has headers as JSON text; the platform's key is among them.", "Datadog webhooks", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "incident-api", "key", 40)
    headers = pulumi.Output.json_dumps({"X-Grid-Key": key, "Content-Type": "application/json"})
    birch(scene, "datadog:index/webhook:Webhook", "incidents", {"name": "incidents", "url": f"https://incidents.{DOMAIN}", "customHeaders": headers})  # fmt: skip


@leak(SERVICES, "eighth-connection-to-the-platforms-realm", "The tenant's login service trusts the platform's realm by a connection that has the platform's own client's secret.", "Auth0 connections", config=lambda cp, dp: {"realmSecret": cp.opaque("realm", 48, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "realm", {"clientSecret": scene.config("realmSecret")})
    options = {"clientId": CLIENT, "clientSecret": scene.config("realmSecret"), "issuer": ISSUER, "type": "back_channel"}  # fmt: skip
    birch(scene, "auth0:index/connection:Connection", "grid", {"strategy": "oidc", "name": "grid", "options": options}, domain="birch.eu.auth0.com")  # fmt: skip


@leak(SERVICES, "eighth-worker-with-a-binding", "A script at the edge of the tenant's account has a binding of the platform's purge token.", "Cloudflare Workers")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "purge", "token", 40)
    inputs = {"accountId": drawn("birch cloudflare", 32, HEX), "name": "router", "module": True, "content": "export default { async fetch(r, env) { return fetch(r) } }", "plainTextBindings": [{"name": "GRID", "text": GRID}], "secretTextBindings": [{"name": "PURGE", "text": token}]}  # fmt: skip
    birch(scene, "cloudflare:index/workersScript:WorkersScript", "router", inputs)


@leak(SERVICES, "eighth-argument-of-a-build", "An image for the tenant is built with an argument and pushed to the tenant's registry; the argument stays in the image's history.", "docker build --build-arg")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "npm", "token", 36)
    inputs = {"imageName": f"registry.{BIRCH}/shop:1.9", "build": {"context": "./shop", "args": {"NPM_TOKEN": token, "NODE_ENV": "production"}}}  # fmt: skip
    birch(scene, "docker:index/image:Image", "shop", inputs, host="unix:///var/run/docker.sock")


@leak(SERVICES, "eighth-command-on-the-tenants-host", "A command runs over SSH on the tenant's host; its variables are those of the platform's deployer.", "command.remote", config=lambda cp, dp: {"deployer": cp.opaque("deployer", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "deployer", {"AWS_SECRET_ACCESS_KEY": scene.config("deployer"), "AWS_ACCESS_KEY_ID": f"AKIA{drawn('deployer', 16, AWS_ID)}"})  # fmt: skip
    inputs = {"connection": {"host": f"edge.{BIRCH}", "user": "birch"}, "create": "aws s3 sync s3://grid-edge /srv/edge", "environment": {"AWS_SECRET_ACCESS_KEY": scene.config("deployer")}}  # fmt: skip
    scene.made("command:remote:Command", "sync", inputs)


# Forms ----------------------------------------------------------------------------------------------------------------


@leak(FORMS, "eighth-dotenv-with-quotes", "A file of variables for the tenant's application is written as dotenv writes it, in single quotes with export; one is the platform's.", "dotenv")  # fmt: skip
def _(scene: Scene) -> None:
    values = {"GRID_ID": GRID, "API_URL": f"https://api.{DOMAIN}", "API_PASSWORD": generated(scene, "api-user")}
    text = pulumi.Output.all(**values).apply(lambda found: "".join(f"export {key}='{value}'\n" for key, value in found.items()))  # fmt: skip
    scene.config_map("dp", "app-env", {".env": text})


@leak(FORMS, "eighth-record-of-a-release", "A release of the platform's was exported as Helm keeps it, gzip in base64 in base64, and restored at the tenant's.", "Helm release Secrets", recover=each(base64.b64decode, gzip.decompress, strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    config = {"auth": {"rootPassword": generated(scene, "object-store")}, "mode": "distributed"}
    record = pulumi.Output.json_dumps({"name": "minio", "info": {"status": "deployed"}, "config": config, "version": 3})
    packed = apply(record, lambda text: b64(gzip.compress(text.encode(), mtime=0)))
    scene.secret("dp", "sh.helm.release.v1.minio.v3", {"release": packed}, kind="helm.sh/release.v1")


@leak(FORMS, "eighth-base64-in-lines", "A kubeconfig of the platform's is wrapped at 76 letters, as base64 does without -w0, and typed into a script.", "base64 of coreutils", recover=each(lambda text: strings_of_yaml(base64.b64decode(text.split(b"EOT\n")[1]))))  # fmt: skip
def _(scene: Scene) -> None:
    lines = pulumi.Output.secret(scene.kubeconfigs["cp"]).apply(lambda text: base64.encodebytes(text.encode()).decode())
    script = pulumi.Output.concat("#!/bin/sh\nbase64 -d > ~/.kube/hub <<EOT\n", lines, "EOT\n")
    scene.config_map("dp", "setup", {"setup.sh": script})


@leak(FORMS, "eighth-label-in-base32", "A label may not have any letter; so the platform's registration code is written in base32, small and without padding.", "base32 in labels", recover=each(lambda text: base64.b32decode(text.upper() + b"=" * (-len(text) % 8))))  # fmt: skip
def _(scene: Scene) -> None:
    code = kept(scene, "registration", "code", 30)
    label = apply(code, lambda found: base64.b32encode(found.encode()).decode().rstrip("=").lower())
    scene.object("dp", "v1:Namespace", "mesh-agents", {"metadata": {"labels": {"grid.example.com/registration": label, "istio-injection": "enabled"}}})  # fmt: skip


@leak(FORMS, "eighth-annotation-with-percent-signs", "Effective settings are kept in an annotation as a query, with percent signs; the platform's password is one of them.", "urlencode", recover=each(lambda text: urllib.parse.unquote_plus(text.decode()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("sink", 14) + "/+=" + scene.cp.opaque("sink 2", 14)
    scene.cp.given.append(word)
    value = scene.held("sink", "password", word)
    note = pulumi.Output.all(host=f"sink.{DOMAIN}", password=value, level="info").apply(urllib.parse.urlencode)
    deployment(scene, "dp", "tailer", {"args": ["run"]}, {"grid.example.com/effective": note})


@leak(FORMS, "eighth-xml-of-a-build", "A file of settings for builds is XML, in which signs are escaped; the server's login is the platform's uploader.", "Maven settings.xml", recover=each(lambda text: html.unescape(text.decode()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("maven", 12) + "&<>" + scene.cp.opaque("maven 2", 12)
    scene.cp.given.append(word)
    value = scene.held("maven", "password", word)
    text = apply(value, lambda found: f"<settings><servers><server><id>grid</id><username>uploader</username><password>{html.escape(found)}</password></server></servers></settings>")  # fmt: skip
    scene.config_map("dp", "maven", {"settings.xml": text})


@leak(FORMS, "eighth-bundle-of-rules", "Rules for the tenant's admission are a bundle, tar and gzip, whose data file was exported from the platform's.", "OPA bundles", recover=each(base64.b64decode, gzip.decompress, lambda text: text))  # fmt: skip
def _(scene: Scene) -> None:
    def bundle(token: str) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, text in {"policy.rego": "package grid\n\ndefault allow := false\n", "data.json": json.dumps({"registry": {"user": "grid", "token": token}})}.items():  # fmt: skip
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text.encode()))
        return b64(gzip.compress(packed.getvalue(), mtime=0))

    token = kept(scene, "rules-registry", "token", 36)
    scene.object("dp", "v1:ConfigMap", "opa-bundle", {"binaryData": {"bundle.tar.gz": apply(token, bundle)}})


@leak(FORMS, "eighth-login-of-nginx", "A proxy at the tenant's sets a header for the platform's API: basic login, joined by a colon, in base64.", "nginx proxy_set_header", recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    header = apply(generated(scene, "assets"), lambda found: b64(f"assets:{found}"))
    conf = pulumi.Output.format('location /assets/ {{\n  proxy_pass https://assets.{0}/;\n  proxy_set_header Authorization "Basic {1}";\n}}\n', DOMAIN, header)  # fmt: skip
    scene.config_map("dp", "nginx", {"default.conf": conf})


@leak(FORMS, "eighth-token-cut-for-two-variables", "A token is longer than a tool's variables may be; the program cuts it in two for the tenant's job.", "split values", recover=pieces("env.0.value", "env.1.value"))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "long", "token", 64)
    env = [{"name": f"TOKEN_{at}", "value": apply(token, lambda found, at=at: found[32 * at : 32 * at + 32])} for at in range(2)]  # fmt: skip
    pod(scene, "Job", "import", {"env": env, "command": ["sh", "-c", "import --token $TOKEN_0$TOKEN_1"]})


@leak(FORMS, "eighth-netrc-by-a-command", "An init command writes a file of logins for git from a literal; the line is the platform's machine user.", "netrc")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "machine-user", "token", 40)
    command = pulumi.Output.format("printf 'machine git.{0} login grid-bot password %s\\n' '{1}' > ~/.netrc && git fetch --all", DOMAIN, token)  # fmt: skip
    pod(scene, "CronJob", "mirror", {"command": ["/bin/sh", "-ec", command]})


# Usual objects --------------------------------------------------------------------------------------------------------


@leak(OBJECTS, "eighth-webhook-with-a-token-in-its-path", "An admission webhook of the tenant's calls the platform; the path of its address ends with the platform's token.", "ValidatingWebhookConfiguration")  # fmt: skip
def _(scene: Scene) -> None:
    url = pulumi.Output.concat(f"https://admission.{DOMAIN}/v1/validate/", kept(scene, "admission", "token", 40))
    hook = {"name": "validate.grid.example.com", "clientConfig": {"url": url}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore"}  # fmt: skip
    scene.object("dp", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", "grid", {"webhooks": [hook]})


@leak(OBJECTS, "eighth-default-in-a-schema", "A definition of a resource has a default for an agent's token, so that nobody needs to give one: the platform's.", "CRD defaults")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "agent-default", "token", 32)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"endpoint": {"type": "string", "default": f"api.{DOMAIN}"}, "token": {"type": "string", "default": token}}}}}  # fmt: skip
    spec = {"group": "grid.example.com", "scope": "Namespaced", "names": {"kind": "Agent", "plural": "agents"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}  # fmt: skip
    scene.object("dp", "apiextensions.k8s.io/v1:CustomResourceDefinition", "agents.grid.example.com", {"spec": spec})


@leak(OBJECTS, "eighth-policy-that-adds-a-variable", "A policy of the tenant's adds a variable to each Pod; its value was to be a reference.", "Kyverno mutate")  # fmt: skip
def _(scene: Scene) -> None:
    value = kept(scene, "apm", "token", 40)
    patch = {"spec": {"containers": [{"(name)": "*", "env": [{"name": "APM_ENDPOINT", "value": f"https://apm.{DOMAIN}"}, {"name": "APM_TOKEN", "value": value}]}]}}  # fmt: skip
    rule = {"name": "apm", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "mutate": {"patchStrategicMerge": patch}}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "apm", {"spec": {"rules": [rule]}})


@leak(OBJECTS, "eighth-patch-in-a-kustomization", "Flux patches a Deployment by a text of YAML, into which the program formatted the platform's password.", "Flux patches", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(generated(scene, "reports"), lambda found: yaml.safe_dump([{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": f"--reports-password={found}"}]))  # fmt: skip
    scene.object("dp", "kustomize.toolkit.fluxcd.io/v1:Kustomization", "apps", {"spec": {"interval": "10m", "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": "apps"}, "patches": [{"patch": text, "target": {"kind": "Deployment", "name": "reports"}}]}})  # fmt: skip


@leak(OBJECTS, "eighth-plug-in-with-a-key", "A WASM plug-in's configuration at the tenant's has the key by which the platform's limiter knows callers.", "WasmPlugin")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    config = {"limiter": f"limits.{DOMAIN}", "key": generated(scene, "limiter", "key", 36), "rules": [{"path": "/api", "rpm": 600}]}  # fmt: skip
    scene.object("dp", "extensions.istio.io/v1alpha1:WasmPlugin", "limits", {"spec": {"url": f"oci://registry.{DOMAIN}/limits:1.2", "phase": "AUTHN", "pluginConfig": config}})  # fmt: skip


@leak(OBJECTS, "eighth-receiver-with-a-header", "A receiver of alerts at the tenant's posts to the platform with a bearer in the header; the platform's own was formatted in.", "AlertmanagerConfig")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    http = {"authorization": {"type": "Bearer", "credentials": generated(scene, "alert-intake", "token", 40)}}
    spec = {"route": {"receiver": "grid"}, "receivers": [{"name": "grid", "webhookConfigs": [{"url": f"https://alerts.{DOMAIN}/v1", "httpConfig": http}]}]}  # fmt: skip
    scene.object("dp", "monitoring.coreos.com/v1alpha1:AlertmanagerConfig", "grid", {"spec": spec})


@leak(OBJECTS, "eighth-service-entry-with-a-token-host", "A tunnel's host name at the tenant's has the platform's tunnel secret as its first label.", "ServiceEntry hosts", config=lambda cp, dp: {"tunnel": cp.opaque("tunnel", 40, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "tunnel", {"secret": scene.config("tunnel")})
    host = pulumi.Output.concat(scene.config("tunnel"), f".tunnel.{DOMAIN}")
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "tunnel", {"spec": {"hosts": [host], "location": "MESH_EXTERNAL", "resolution": "DNS", "ports": [{"number": 443, "name": "tls", "protocol": "TLS"}]}})  # fmt: skip


@leak(OBJECTS, "eighth-template-for-the-wrong-side", "One template of secret stores is rendered twice; the tenant's store gets the platform's AppRole, since the side is a default.", "templates", recover=each(strings_of_yaml), config=lambda cp, dp: {"cp:approle": cp.opaque("approle", 36, HEX), "dp:approle": dp.opaque("approle", 36, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    def rendered(server: str, side: str = "cp") -> Any:
        return scene.config(f"{side}:approle").apply(lambda found: yaml.safe_dump({"vault": {"server": server, "auth": {"appRole": {"roleId": "grid", "secretId": found}}}}))  # fmt: skip

    scene.secret("cp", "store", {"store.yaml": rendered(f"https://vault.{DOMAIN}")})
    scene.secret("dp", "store", {"store.yaml": rendered(f"https://vault.{BIRCH}")})


@leak(OBJECTS, "eighth-zone-editor-in-a-challenge", "The tenant's issuer has a webhook solver with its settings inline, the platform's zone editor among them.", "cert-manager webhook solvers")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    solver = {"dns01": {"webhook": {"groupName": "acme.grid.example.com", "solverName": "grid", "config": {"zoneId": ZONE_ID, "apiToken": generated(scene, "zone-editor", "token", 40)}}}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "email": f"ops@{BIRCH}", "privateKeySecretRef": {"name": "letsencrypt"}, "solvers": [solver]}}})  # fmt: skip


@leak(OBJECTS, "eighth-values-of-an-application", "An Application of the tenant's has values inline; the parameter for a directory's bind is the platform's.", "Argo CD parameters")  # fmt: skip
def _(scene: Scene) -> None:
    bind = kept(scene, "ldap-bind")
    helm = {"parameters": [{"name": "ldap.bindDN", "value": "cn=grid,dc=example"}, {"name": "ldap.bindPassword", "value": bind, "forceString": True}]}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "wiki", {"spec": {"project": "birch", "source": {"repoURL": "https://charts.birch.example.com", "chart": "wiki", "targetRevision": "4.1.0", "helm": helm}, "destination": {"server": "https://kubernetes.default.svc", "namespace": "wiki"}}})  # fmt: skip
    release(scene, "dp", "podinfo", {"directory": DIRECTORY})
