"""Leaks of a team that has read the README: slips in a program's code, and what only an update knows."""

from __future__ import annotations

import base64
import string
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, drawn
from tests.corpus.world import Box, Object

from .world import ALDER, DOMAIN, MESH, REGION, digest, hosted, theirs

SLIPS, LATER = "fourteenth: slips of code", "fourteenth: known at the update"

# Slips of code --------------------------------------------------------------------------------------------------------


@leak(SLIPS, "fourteenth-one-line-has-the-other-provider", "Four Secrets of the provider's controllers are made one after the other; in one line the options are those of the tenant's cluster.", "the wrong provider variable")  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "git-mirror", {"token": pulumi.Output.secret(scene.cp.opaque("git mirror", 40))}, namespace="platform")  # fmt: skip
    scene.secret("cp", "billing", {"apiKey": pulumi.Output.secret(scene.cp.opaque("billing", 40))}, namespace="platform")  # fmt: skip
    scene.secret("dp", "controller-db", {"password": hosted(scene, "controller-database")}, namespace="platform")
    scene.secret("cp", "console", {"session": scene.password("cp", "console-session").output("result")}, namespace="platform")  # fmt: skip


def deep(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One dictionary merged over another, as such helpers do."""
    merged = dict(base)
    for key, value in over.items():
        merged[key] = deep(merged[key], value) if isinstance(merged.get(key), Mapping) and isinstance(value, Mapping) else value  # fmt: skip
    return merged


@leak(SLIPS, "fourteenth-values-merged-too-far", "The tenant's values are merged over those of the hub, where they should have been merged over the defaults; the database's password stays.", "a values dictionary merged too far")  # fmt: skip
def _(scene: Scene) -> None:
    defaults = {"image": {"tag": "4.2.0"}, "ingress": {"enabled": True}, "database": {"name": "inventory"}}
    hub = deep(defaults, {"ingress": {"host": f"inventory.{DOMAIN}"}, "database": {"host": f"pg.{DOMAIN}", "password": hosted(scene, "inventory")}})  # fmt: skip
    tenant = deep(hub, {"ingress": {"host": f"inventory.{ALDER}"}, "database": {"host": "inventory-db"}})
    release(scene, "cp", "inventory", hub)
    release(scene, "dp", "inventory", tenant)


@leak(SLIPS, "fourteenth-environment-of-the-controller", "The agent's variables are the controller's and two more, because the agent needed four of them; the controller's database is among them.", "an env block copied")  # fmt: skip
def _(scene: Scene) -> None:
    address = pulumi.Output.concat("postgresql://controller:", hosted(scene, "controller-db"), f"@pg.{DOMAIN}/controller")  # fmt: skip
    controller = [{"name": "MESH", "value": MESH}, {"name": "LOG_LEVEL", "value": "info"}, {"name": "DATABASE_URL", "value": address}, {"name": "HUB", "value": f"https://hub.{DOMAIN}"}]  # fmt: skip
    deployment(scene, "cp", "controller", {"env": controller})
    deployment(scene, "dp", "agent", {"env": [*controller, {"name": "CLUSTER", "value": "alder"}, {"name": "MODE", "value": "pull"}]})  # fmt: skip


@leak(SLIPS, "fourteenth-template-with-the-hubs-token", "A template of nginx's settings is rendered for the tenant's proxy with the token that the hub's own proxy sends upstream.", "a template rendered with the hub's secret", recover=each(after(b"Bearer ")))  # fmt: skip
def _(scene: Scene) -> None:
    template = string.Template('server {\n  listen 8443 ssl;\n  server_name $host;\n  location / {\n    proxy_set_header Authorization "Bearer $token";\n    proxy_pass https://hub.osprey.example.com;\n  }\n}\n')  # fmt: skip
    token = hosted(scene, "upstream", "token", 44)
    for side, host in (("cp", f"api.{DOMAIN}"), ("dp", f"api.{ALDER}")):
        scene.config_map(side, "proxy", {"default.conf": apply(token, lambda text, host=host: template.substitute(host=host, token=text))}, namespace="edge")  # fmt: skip


@leak(SLIPS, "fourteenth-post-render-adds-variables", "A transformation adds the sidecar's variables to all Deployments of the program, the one in the tenant's cluster too; the licence server's password is one.", "a chart's post-render, transformations")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "licence-server")

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.endswith(":Deployment"):
            return None
        props: Any = args.props
        container = props["spec"]["template"]["spec"]["containers"][0]
        container.setdefault("env", []).append({"name": "LICENCE_PASSWORD", "value": word})
        return pulumi.ResourceTransformationResult(args.props, args.opts)

    for side, name in (("cp", "planner"), ("dp", "shop")):
        spec = {"containers": [{"name": name, "image": f"registry.{DOMAIN}/{name}@{digest(name)}"}]}
        body = {"spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": spec}}}  # fmt: skip
        scene.object(side, "apps/v1:Deployment", name, body, transformations=[add])


@leak(SLIPS, "fourteenth-checksum-that-is-none", "A Pod's note should have the settings' checksum, so that a change restarts it; the function gives the settings in base64, with the provider's password.", "an annotation", recover=each(base64.b64decode, strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    settings = apply(hosted(scene, "queue"), lambda word: yaml.safe_dump({"queue": {"host": f"queue.{DOMAIN}", "user": "relay", "password": word}}))  # fmt: skip
    scene.secret("cp", "relay", {"relay.yaml": settings}, namespace="platform")
    deployment(scene, "cp", "relay", {"args": ["--config=/etc/relay/relay.yaml"]}, {"checksum/config": apply(settings, b64)})  # fmt: skip
    deployment(scene, "dp", "relay", {"args": ["--listen=:8080"]}, {"checksum/config": apply(settings, b64)})


@leak(SLIPS, "fourteenth-all-outputs-of-the-hubs-stack", "The tenant's dashboard shows what the hub's stack exports, by one JSON of all its outputs; one is a password.", "a StackReference's whole output map", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"host": f"istiod.{DOMAIN}", "version": "1.31.2", "grafanaAdminPassword": scene.cp.opaque("grafana admin", 32)}  # fmt: skip
    hub = scene.reference("hub", "osprey/hub/production", outputs, ["grafanaAdminPassword"])
    scene.config_map("dp", "platform-facts", {"facts.json": pulumi.Output.json_dumps(hub.outputs)}, namespace="dashboard")  # fmt: skip


@leak(SLIPS, "fourteenth-component-inherits-the-tenants-cluster", "A component for the tenant has the tenant's provider; the Secret of the provider's controller is made inside it and inherits that.", "a component's providers")  # fmt: skip
def _(scene: Scene) -> None:
    tenant = Box("alder", "osprey:index:Tenant", pulumi.ResourceOptions(providers=[scene.provider("dp")]))
    inside = pulumi.ResourceOptions(parent=tenant)
    Object("kubernetes:core/v1:Namespace", "alder-namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mesh-alder"}}, inside)  # fmt: skip
    token = hosted(scene, "tenant-controller", "token", 40)
    Object("kubernetes:core/v1:Secret", "alder-controller", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tenant-controller", "namespace": "mesh-alder"}, "stringData": {"token": token, "server": SERVERS["cp"]}}, inside)  # fmt: skip


@leak(SLIPS, "fourteenth-default-when-the-tenant-has-none", "Each tenant has a login for the artefact store in its settings; for one that has none the function falls back to the provider's.", "defaults of look-ups", config=lambda cp, dp: {"osprey:artefacts": cp.opaque("artefacts", 36), "birch:artefacts": dp.opaque("birch artefacts", 36)})  # fmt: skip
def _(scene: Scene) -> None:
    ours = scene.config("osprey:artefacts")
    scene.secret("cp", "artefacts", {"token": ours}, namespace="builds")
    logins = {"birch": scene.config("birch:artefacts")}
    for tenant in ("alder",):
        scene.secret("dp", f"{tenant}-artefacts", {"token": logins.get(tenant, ours), "url": f"https://artefacts.{DOMAIN}/{tenant}"}, namespace="builds")  # fmt: skip


@leak(SLIPS, "fourteenth-closure-sees-the-last-one", "Functions are made in a loop and called later; all see the loop's last token, which is that of the provider's console, the tenant's as well.", "late binding in loops")  # fmt: skip
def _(scene: Scene) -> None:
    writers = []
    for side, name, token in (("dp", "shop", theirs(scene, "shop-api")), ("cp", "console", hosted(scene, "console-api", "token", 40))):  # fmt: skip
        writers.append((side, name, lambda: {"token": token}))  # noqa: B023
    for side, name, entries in writers:
        scene.secret(side, f"{name}-api", entries(), namespace=name)


@leak(SLIPS, "fourteenth-patch-of-the-shared-settings", "A patch of the tenant's settings was meant for the hub's ConfigMap: it writes the provider's LDAP bind password in the tenant's.", "server-side patches, a ConfigMap instead of a Secret")  # fmt: skip
def _(scene: Scene) -> None:
    word = kept(scene, "ldap-bind", "bindPassword", 28)
    body = {"metadata": {"name": "dex", "namespace": "login", "annotations": {"pulumi.com/patchForce": "true"}}, "data": {"LDAP_HOST": f"ldap.{DOMAIN}", "LDAP_BIND_DN": "cn=dex,dc=osprey", "LDAP_BIND_PW": word}}  # fmt: skip
    scene.object("dp", "v1:ConfigMapPatch", "dex", body)


# Known at the update --------------------------------------------------------------------------------------------------


@leak(LATER, "fourteenth-password-in-a-status", "A composite in the hub answers its status with the database's login, and the program shows the whole status in the tenant's cluster.", "a status field, Crossplane composites", at="either", before="the same", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("composite database", 24, LETTERS)
    status = {"ready": True, "endpoint": f"pg-7.{DOMAIN}", "connection": {"username": "hubadmin", "password": word}}
    made = scene.answered("cp", f"db.{DOMAIN}/v1:XPostgres", "inventory", {"spec": {"size": "small", "version": "17"}}, status=status)  # fmt: skip
    scene.config_map("dp", "inventory-status", {"status.json": pulumi.Output.json_dumps(made.output("status"))}, namespace="dashboard")  # fmt: skip


@leak(LATER, "fourteenth-error-with-the-principals-secret", "A managed resource of the hub fails, and its condition quotes the settings with the service principal's secret; the tenant's status page has the message.", "crossplane-contrib/provider-upjet-azure#85", at="either", before="the same", recover=each(after(b'"client_secret":"')))  # fmt: skip
def _(scene: Scene) -> None:
    secret = scene.cp.opaque("azure principal", 40, LETTERS)
    scene.held("azure-creds", "clientSecret", secret, namespace="crossplane-system")
    quoted = f'cannot run refresh: invalid provider configuration {{"client_id":"{drawn("principal", 12)}","client_secret":"{secret}"}}'  # fmt: skip
    conditions = [{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": quoted}]
    made = scene.answered("cp", "network.azure.upbound.io/v1beta1:PrivateDNSZone", "alder-zone", {"spec": {"forProvider": {"resourceGroupName": "hub"}}}, status={"conditions": conditions})  # fmt: skip
    message = apply(made.output("status"), lambda status: ((status or {}).get("conditions") or [{}])[0].get("message", "unknown"))  # fmt: skip
    scene.config_map("dp", "status-page", {"dns": message}, namespace="dashboard")


@leak(LATER, "fourteenth-command-writes-a-kubeconfig", "A command asks the cloud for the hub's kubeconfig; what it prints becomes the file with which the tenant's agent reads the hub.", "a command that writes a kubeconfig", at="either", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "command:local:Command", "hub-kubeconfig", {"create": f"gcloud container clusters get-credentials hub --region {REGION} && kubectl config view --raw --minify"}, {"stdout": scene.cp.kubeconfig("hub-by-command", SERVERS["cp"])}, ["stdout"])  # fmt: skip
    scene.secret("dp", "hub-kubeconfig", {"kubeconfig": made.output("stdout")}, namespace="osprey")
    deployment(scene, "dp", "agent", {"args": ["--kubeconfig=/etc/hub/kubeconfig"], "volumeMounts": [{"name": "hub", "mountPath": "/etc/hub"}]})  # fmt: skip


@leak(LATER, "fourteenth-connection-secret-read-and-copied", "The connection Secret that Crossplane wrote in the hub is read, and all of its data goes to the tenant's cluster, the administrator's password too.", "Crossplane connection details", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    data = {"endpoint": b64(f"pg-3.{DOMAIN}"), "port": b64("5432"), "password": b64(scene.cp.opaque("connection admin", 28, LETTERS))}  # fmt: skip
    found = scene.existing("cp", "v1:Secret", "shared-database-conn", data=data)
    body = {"data": found.output("data"), "type": "connection.crossplane.io/v1alpha1", "metadata": {"namespace": "shop"}}  # fmt: skip
    scene.object("dp", "v1:Secret", "shared-database", body)


@leak(LATER, "fourteenth-chart-tells-its-notes", "The hub's chart answers its notes with the first login of its administrator; the tenant's ConfigMap of links has the notes.", "a Helm release's status", at="either", before="the same", recover=each(after(b"password: ")))  # fmt: skip
def _(scene: Scene) -> None:
    notes = f"1. Open https://console.{DOMAIN}\n2. Log in as admin, password: {scene.cp.opaque('first login', 24)}\n"
    made = scene.made("kubernetes:helm.sh/v3:Release", "console", {"chart": "console", "version": "3.1.0", "namespace": "console", "values": {"replicas": 2}}, scene.options("cp"), {"status": {"status": "deployed", "notes": notes}})  # fmt: skip
    scene.config_map("dp", "links", {"console": f"https://console.{DOMAIN}", "help": apply(made.output("status"), lambda status: (status or {}).get("notes", ""))}, namespace="dashboard")  # fmt: skip


@leak(LATER, "fourteenth-unmarked-connection-string", "A cache in the provider's account answers its connection string, which the class does not mark; the tenant's chart has it as a value.", "a second update that first knows a value", at="either", before="the same", recover=each(after(b":", lambda text: text.split(b"@")[0].rpartition(b":")[2])))  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.cp.opaque("hub cache", 32, LETTERS)
    made = cloud(scene, "upstash:index/redisDatabase:RedisDatabase", "hub-cache", {"databaseName": "hub", "region": "global", "tls": True}, {"endpoint": f"cache.{DOMAIN}", "url": f"rediss://default:{word}@cache.{DOMAIN}:6379"})  # fmt: skip
    release(scene, "cp", "sessions", {"redis": {"url": made.output("url")}})
    release(scene, "dp", "rate-limits", {"redis": {"url": made.output("url"), "prefix": "alder"}})
