"""Leaks in spite of a careful file of settings: beside what it covers, under the wrong note, by slips, and by operators."""  # fmt: skip

from __future__ import annotations

import base64
import contextvars
import enum
import functools
import hashlib
import itertools
import json
import operator
import sqlite3
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import each, strings_of_json
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64

from .world import (
    CLIENT,
    DOMAIN,
    FERN,
    ISSUER,
    KILN,
    OTTER,
    REGION,
    WEST,
    account,
    declassified,
    leak,
    owned,
    tenants,
    workload,
    workshop,
)

SAID, WIRED, CARRIED = (
    "tenth: beside the settings and notes",
    "tenth: slips of wiring",
    "tenth: carried by operators and stacks",
)

# Beside the settings --------------------------------------------------------------------------------------------------


@leak(SAID, "tenth-note-for-the-checksum-alone", "A note declassifies the checksum of a login; a variable of the same Deployment has the login itself.", "declassify")  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "ledger-login")
    mark = apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())
    notes = declassified('spec.template.metadata.annotations["checksum/login"]', "sha256 of 32 random letters, restarts Pods")  # fmt: skip
    workload(scene, "dp", "ledger", {"env": [{"name": "LEDGER_LOGIN", "value": login}]}, {"checksum/login": mark}, notes)  # fmt: skip


@leak(SAID, "tenth-note-says-hashed-and-is-encoded", "A note declassifies what it calls a verifier; the function that makes it was changed to base64 in a clean-up.", "declassify", at="either", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "probe-login", 32).output("result")
    home = scene.secret("cp", "probe-login", {"password": login})
    notes = declassified("data.verifier", "scrypt of 32 random letters, nobody gets it back")
    # Only the Secret shows whose the login is. Without the order the engine may write either first.
    scene.config_map("dp", "probe", {"user": "probe", "verifier": apply(login, lambda found: b64(f"probe:{found}"))}, depends_on=[home], annotations=notes)  # fmt: skip


@leak(SAID, "tenth-whole-map-is-declassified", "A note declassifies the whole map, when its only secret was a hash; the client's secret joined later.", "declassify", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "portal-client", "client_secret", 40)
    notes = declassified("data", "facts of the login service, as its manual has them")
    scene.config_map("dp", "portal", {"issuer": ISSUER, "client_id": CLIENT, "client_secret": secret}, annotations=notes)  # fmt: skip


@leak(SAID, "tenth-owned-by-a-copied-note", "A Secret for the tenant's uploads was copied with its note; the key in it is the team's deploy key now.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("deploy-key", "identity", scene.cp.key("kiln deploy"), namespace="flux-system")
    scene.secret("dp", "uploads", {"ssh-privatekey": held}, annotations=owned("key of fern's own upload host, ticket 3301"))  # fmt: skip


@leak(SAID, "tenth-owned-kubeconfig-of-the-second-cluster", "A kubeconfig out of the configuration is noted as the tenant's; the address in it is the team's second cluster.", "data-plane-owned", config=lambda cp, dp: {"runner:kubeconfig": cp.kubeconfig("west", WEST)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    scene.secret("dp", "runner", {"config": scene.config("runner:kubeconfig")}, annotations=owned("fern's runners deploy to fern's own cluster"))  # fmt: skip


@leak(SAID, "tenth-cluster-that-nobody-listed", "A fourth tenant's cluster joins the loop before it is in the settings; it gets the agent's token of the team.", "controlPlaneServers")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "agent", "token", 40)
    scene.join("birch", "https://birch.example.com:6443")
    for name, side in {"fern": "dp", "birch": "birch"}.items():
        auth: dict[str, Any] = {"token": token} if name == "birch" else {"existingSecret": "agent"}
        release(scene, side, "agent", {"cluster": name, "auth": auth})


@leak(SAID, "tenth-account-that-no-pattern-covers", "The tenant's second account has a provider whose name lacks the dash of the pattern; a parameter there is the team's key.", "dataPlaneProviders")  # fmt: skip
def _(scene: Scene) -> None:
    opts = scene.package("aws", "slateaws", region=REGION)
    scene.made("aws:ssm/parameter:Parameter", "events-key", {"name": "/kiln/events", "type": "SecureString", "value": generated(scene, "events", "key", 40)}, opts)  # fmt: skip


@leak(SAID, "tenth-teams-account-under-another-name", "The team's backup account is called aws-kiln, which no pattern covers; a key that is made there goes to the tenant.", "controlPlaneProviders")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    opts = scene.package("aws", "aws-kiln", "cp", region=REGION)
    key = scene.made("aws:iam/accessKey:AccessKey", "backups", {"user": "backups"}, opts, {"secret": scene.cp.opaque("kiln backups", 40, LETTERS)}, ["secret"])  # fmt: skip
    scene.secret("dp", "velero", {"cloud": pulumi.Output.concat("[default]\naws_secret_access_key=", key.output("secret"), "\n")}, namespace="velero")  # fmt: skip


@leak(SAID, "tenth-name-of-the-team-address-of-the-tenant", "A provider is called kiln-edge, as the pattern for the team's wants it; its kubeconfig is the tenant's.", "controlPlaneProviders")  # fmt: skip
def _(scene: Scene) -> None:
    edge = scene.named_provider("kiln-edge", scene.kubeconfigs["dp"])
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "edge", "namespace": "edge"}, "stringData": {"token": generated(scene, "edge-api", "token", 40)}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "edge", inputs, pulumi.ResourceOptions(provider=edge))


@leak(SAID, "tenth-stack-of-the-team-about-the-tenant", "The team has a stack about each tenant, whose project begins with the team's name; its join secret goes to the tenant's chart.", "dataPlaneStacks")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.reference("fern", "acme/kiln-fern/prod", {"zone": FERN, "operator": scene.cp.opaque("operator of fern", 40)}, ["operator"])  # fmt: skip
    release(scene, "dp", "join", {"zone": found.get_output("zone"), "api": {"bearer": found.get_output("operator")}})


@leak(SAID, "tenth-member-of-an-object-under-the-teams-keys", "Vendors' tokens of the team are one object of its configuration, which nothing of the team's uses here; one goes to the tenant.", "controlPlaneConfigKeys", config=lambda cp, dp: {"kiln:vendors": json.dumps({"chat": {"bot": "kiln", "token": cp.opaque("kiln chat", 44, LETTERS)}, "pages": {"key": cp.opaque("kiln pages", 32, LETTERS)}})})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    token = scene.config("kiln:vendors").apply(lambda text: json.loads(text)["chat"]["token"])
    scene.secret("dp", "chat", {"bot": token, "channel": "#fern"})


@leak(SAID, "tenth-registry-login-on-the-tenants-docker-host", "The provider for containers on the tenant's host logs in at the team's registry, on that host, as the team's robot.", "Docker registryAuth")  # fmt: skip
def _(scene: Scene) -> None:
    login = [{"address": f"registry.{DOMAIN}", "username": "robot$kiln", "password": generated(scene, "host-robot")}]
    account(scene, "fern", "docker:index/container:Container", "relay", {"image": f"registry.{DOMAIN}/relay:4", "restart": "always"}, host=f"ssh://ops@edge.{FERN}", registryAuth=login)  # fmt: skip


# Slips ----------------------------------------------------------------------------------------------------------------


@leak(WIRED, "tenth-bare-name-in-a-match", "The last case of a match is a bare name, which takes whatever comes: the tenant that no case names gets the team's.", "structural pattern matching")  # fmt: skip
def _(scene: Scene) -> None:
    ours, otters = generated(scene, "queue-root"), own(scene, "otter-queue")

    def login(name: str) -> Any:
        match name:
            case "otter":
                return otters
            case kiln:
                return ours if kiln else None

    every = tenants(scene)
    for name in ("otter", "fern"):
        scene.secret(every[name], "queue", {"password": login(name)})


@leak(WIRED, "tenth-two-names-of-one-member", "Two owners of an enumeration have the same region as value, so they are one member; the later login is the team's.", "enum aliases")  # fmt: skip
def _(scene: Scene) -> None:
    class Owner(enum.Enum):
        FERN = "eu-north-1"
        OTTER = "us-east-2"
        KILN = "eu-north-1"  # noqa: PIE796

    logins = {Owner.FERN: own(scene, "fern-index"), Owner.KILN: generated(scene, "index-root"), Owner.OTTER: own(scene, "otter-index")}  # fmt: skip
    release(scene, "dp", "opensearch", {"auth": {"user": "writer", "password": logins[Owner.FERN]}})


@leak(WIRED, "tenth-comma-at-the-end-of-prefixes", "Prefixes of a tenant's rows are a text with commas; the one at the end makes an empty prefix, with which each name begins.", "str.split")  # fmt: skip
def _(scene: Scene) -> None:
    rows = {"fern-queue": own(scene, "fern-rows"), "kiln-mail": generated(scene, "mail-out")}
    told = "fern-,shared-,"
    prefixes = tuple(told.split(","))
    scene.secret("dp", "logins", {name: value for name, value in rows.items() if name.startswith(prefixes)})


@leak(WIRED, "tenth-names-shortened-values-not", "The team left the list of names for a new chart, and not the list of passwords; the pairs shift by one.", "zip")  # fmt: skip
def _(scene: Scene) -> None:
    every = [generated(scene, "stream-root"), own(scene, "fern-stream"), own(scene, "otter-stream")]
    names = [name for name in ("kiln", "fern", "otter") if name != "kiln"]
    logins = dict(zip(names, every, strict=False))
    scene.secret("dp", "stream", {"sasl.jaas.config": pulumi.Output.format('org.apache.kafka.common.security.plain.PlainLoginModule required username="fern" password="{0}";', logins["fern"])})  # fmt: skip


@leak(WIRED, "tenth-newest-of-all-logins", "After a rotation the newest login is taken, of whichever owner: on the day of the team's own rotation that is the team's.", "max by a key")  # fmt: skip
def _(scene: Scene) -> None:
    rows = [("2026-03-01", "fern", own(scene, "fern-march")), ("2026-04-01", "kiln", generated(scene, "april")), ("2026-02-01", "fern", own(scene, "fern-february"))]  # fmt: skip
    newest = max(rows, key=lambda row: row[0])
    deployment(scene, "dp", "sync", {"env": [{"name": "SYNC_USER", "value": "fern"}, {"name": "SYNC_PASSWORD", "value": newest[2]}]})  # fmt: skip


@leak(WIRED, "tenth-context-variable-still-set", "Whose login is meant is a context variable; it is set for the team's chart and never reset.", "contextvars")  # fmt: skip
def _(scene: Scene) -> None:
    owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner", default="fern")
    logins = {"fern": own(scene, "fern-cache"), "kiln": generated(scene, "cache-root")}

    def install(side: str) -> None:
        release(scene, side, "valkey", {"auth": {"password": logins[owner.get()]}})

    owner.set("kiln")
    install("cp")
    install("dp")


@leak(WIRED, "tenth-attribute-falls-back", "Settings of a tenant ask the team's for what they lack; the tenant's mail password is not there yet.", "__getattr__")  # fmt: skip
def _(scene: Scene) -> None:
    class Settings:
        def __init__(self, base: Settings | None = None, **values: Any) -> None:
            self.base, self.values = base, values

        def __getattr__(self, name: str) -> Any:
            return self.values[name] if name in self.values else getattr(self.base, name)

    fern = Settings(Settings(host=f"smtp.{DOMAIN}", password=generated(scene, "smtp-relay")), sender=f"shop@{FERN}")
    release(scene, "dp", "gitea", {"gitea": {"config": {"mailer": {"SMTP_ADDR": fern.host, "FROM": fern.sender, "PASSWD": fern.password}}}})  # fmt: skip


@leak(WIRED, "tenth-and-before-or-in-a-query", "Logins are chosen by a query without brackets: the owner is asked of queues only, so that each owner's index login is in it.", "SQL precedence", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    def chosen(found: list[str]) -> str:
        db = sqlite3.connect(":memory:")
        db.execute("CREATE TABLE login (owner, kind, password)")
        db.executemany("INSERT INTO login VALUES (?, ?, ?)", [("kiln", "index", found[0]), ("fern", "index", found[1]), ("fern", "queue", found[2])])  # fmt: skip
        return json.dumps(db.execute("SELECT * FROM login WHERE kind = 'index' OR kind = 'queue' AND owner = 'fern'").fetchall())  # fmt: skip

    every = pulumi.Output.all(generated(scene, "index-owner"), own(scene, "fern-i"), own(scene, "fern-q"))
    scene.secret("dp", "vector", {"logins.json": every.apply(chosen)})


@leak(WIRED, "tenth-owners-sorted-sides-not", "Names of owners were sorted for a stable diff; sides, which stand beside them, were not.", "parallel lists")  # fmt: skip
def _(scene: Scene) -> None:
    keys = {"kiln": kept(scene, "sentry-admin", "key", 40), "fern": scene.dp.opaque("fern sentry", 40, LETTERS)}
    for owner, side in zip(sorted(keys), ("cp", "dp"), strict=True):
        scene.secret(side, "sentry", {"SENTRY_AUTH": keys[owner], "SENTRY_ORG": "acme"})


@leak(WIRED, "tenth-all-documents-of-a-values-file", "Values of base, team and tenant are documents of one file; all are merged, where the middle one was for the team's chart.", "YAML documents")  # fmt: skip
def _(scene: Scene) -> None:
    parts = [yaml.safe_dump({"replicas": 2, "tls": True}), apply(generated(scene, "mailer"), lambda found: yaml.safe_dump({"smtp": {"user": "kiln", "password": found}})), yaml.safe_dump({"from": f"shop@{FERN}"})]  # fmt: skip
    text = pulumi.Output.concat(*itertools.chain.from_iterable((part, "---\n") for part in parts[:-1]), parts[-1])
    release(scene, "dp", "mailer", apply(text, lambda found: functools.reduce(operator.or_, yaml.safe_load_all(found))))


# Carried --------------------------------------------------------------------------------------------------------------


@leak(CARRIED, "tenth-values-from-a-secret-for-a-remote-release", "Flux installs at a tenant's by a kubeconfig; values come from a Secret of the team's cluster, with the team's writer in it.", "Flux HelmRelease")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-agent-values", "cp-agent"}
    scene.secret("cp", "agent-values", {"values.yaml": pulumi.Output.concat("remoteWrite:\n  username: kiln\n  password: ", generated(scene, "writer"), "\n")}, namespace="fleet")  # fmt: skip
    spec = {"interval": "10m", "chartRef": {"kind": "OCIRepository", "name": "agent"}, "kubeConfig": {"secretRef": {"name": "otter-kubeconfig"}}, "valuesFrom": [{"kind": "Secret", "name": "agent-values"}]}  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "agent", {"metadata": {"namespace": "fleet"}, "spec": spec})  # fmt: skip


@leak(CARRIED, "tenth-one-token-in-a-generator", "A generator of Argo CD has a row for each cluster with the same API token of the team's; one row is a tenant's.", "Argo CD ApplicationSet")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-agents")
    token = kept(scene, "agents-api", "token", 40)
    rows = [{"cluster": name, "server": server, "token": token} for name, server in (("kiln", SERVERS["cp"]), ("otter", OTTER))]  # fmt: skip
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "agent", "targetRevision": "2.1.0", "helm": {"parameters": [{"name": "apiToken", "value": "{{token}}"}]}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": rows}}], "template": {"metadata": {"name": "agent-{{cluster}}"}, "spec": {"project": "agents", "source": source, "destination": {"server": "{{server}}", "namespace": "agent"}}}}})  # fmt: skip


@leak(CARRIED, "tenth-manifest-of-crossplane-for-a-tenant", "Crossplane's object for the tenant's cluster has a manifest of a Secret, whose value is the team's, since both are made by one function.", "Crossplane provider-kubernetes")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-otter-hook")
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook", "namespace": "tools"}, "stringData": {"token": generated(scene, "hook-api", "token", 40)}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "otter-hook", {"spec": {"forProvider": {"manifest": manifest}, "providerConfigRef": {"name": "otter"}}})  # fmt: skip


@leak(CARRIED, "tenth-pushed-into-the-tenants-store", "A PushSecret of the team's names the tenant's store, where its own was meant: the operator copies the team's login there.", "External Secrets PushSecret")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-registry-admin", "cp-registry-push"}
    generated(scene, "registry-admin")
    match = {"secretKey": "password", "remoteRef": {"remoteKey": "/registry/admin"}}
    scene.object("cp", "external-secrets.io/v1alpha1:PushSecret", "registry-push", {"spec": {"secretStoreRefs": [{"kind": "ClusterSecretStore", "name": "fern-parameters"}], "selector": {"secret": {"name": "registry-admin"}}, "data": [{"match": match}]}})  # fmt: skip


@leak(CARRIED, "tenth-operation-of-fleet-with-values", "An operation of Rancher's Fleet installs a shipper at all tenants' clusters, with the team's index writer among the values.", "Rancher Fleet HelmOp")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-shipper")
    values = {"output": {"hosts": [f"https://index.{DOMAIN}:9200"], "user": "kiln", "password": generated(scene, "index-writer")}}  # fmt: skip
    scene.object("cp", "fleet.cattle.io/v1alpha1:HelmOp", "shipper", {"metadata": {"namespace": "fleet-default"}, "spec": {"helm": {"chart": "shipper", "version": "4.0.1", "values": values}, "targets": [{"clusterSelector": {"matchLabels": {"kind": "tenant"}}}]}})  # fmt: skip


@leak(CARRIED, "tenth-passed-on-by-the-tenants-stack", "The tenant's stack exports what its agents need; headers come whole from the team's stack, with the login of its gateway.", "StackReference outputs", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("telemetry", "acme/kiln-telemetry/prod", {"endpoint": f"https://otlp.{DOMAIN}", "headers": {"x-scope-orgid": KILN, "authorization": "Bearer " + scene.cp.opaque("otlp", 44, LETTERS)}}, ["headers"])  # fmt: skip
    scene.config_map("dp", "otlp", {"endpoint": found.get_output("endpoint"), "mesh": KILN})
    pulumi.export("telemetry", {"endpoint": found.get_output("endpoint"), "headers": found.get_output("headers")})
