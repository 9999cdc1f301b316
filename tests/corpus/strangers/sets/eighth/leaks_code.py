"""Leaks of a platform with a dictionary of tenants: slips in loops, merges and functions, between stacks, and later."""

from __future__ import annotations

import collections
import functools
import itertools
import json
import traceback
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64
from tests.corpus.world import Box

from .world import ACCOUNT, BOTH, DOMAIN, GRID, ISSUER, REGION, birch, core, pod, tenants, twins

LOOPS, ARGUMENTS, STACKS, LATER = (
    "eighth: slips of loops and merges",
    "eighth: slips of functions and components",
    "eighth: slips between stacks",
    "eighth: leaks of later updates",
)

# Loops and merges -----------------------------------------------------------------------------------------------------


@leak(LOOPS, "eighth-defaults-over-the-tenants-row", "Each tenant's values are merged with the platform's defaults; the defaults come last, so that their mail login wins.", "dict merge order", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    defaults = {"smtpHost": f"smtp.{DOMAIN}", "smtpPassword": generated(scene, "smtp")}
    for name, side in tenants(scene).items():
        row = {"smtpHost": f"smtp.{name}.example.com", "smtpPassword": own(scene, f"smtp-{name}"), "name": name}
        scene.secret(side, "mail", {**row, **defaults})


@leak(LOOPS, "eighth-spread-of-shared-secrets", "A dictionary called common is spread into each tenant's chart; somebody put the platform's index login there.", "dict unpacking", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    common = {"region": REGION, "mesh": GRID, "image": {"tag": "2.9.1"}}
    common["indexPassword"] = kept(scene, "index")
    for name, side in tenants(scene).items():
        release(scene, side, "storefront", {**common, "tenant": name, "replicas": 2})


@leak(LOOPS, "eighth-variable-captured-in-apply", "The address of a database is put together in an apply, which runs when the loop is over: the name is the platform's by then.", "late binding in apply", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    owners = {"birch": "dp", "grid": "cp"}
    words = {name: scene.password(side, f"pg-{name}").output("result") for name, side in owners.items()}
    host = pulumi.Output.from_input(f"db.{DOMAIN}")
    urls = {}
    for name in owners:
        urls[name] = pulumi.Output.all(host=host, **words).apply(lambda found: f"postgres://{name}:{found[name]}@{found['host']}/{name}")  # fmt: skip # noqa: B023
    for name, side in owners.items():
        scene.secret(side, "database", {"url": urls[name]})


@leak(LOOPS, "eighth-row-before-the-first", "A tenant gets the login of the row before its own, since counting began at one; before the first row is the last, the platform's.", "negative index")  # fmt: skip
def _(scene: Scene) -> None:
    rows = [("birch", scene.password("dp", "row-birch").output("result")), ("grid", scene.password("cp", "row-grid").output("result"))]  # fmt: skip
    scene.secret("cp", "row", {"password": rows[1][1]})
    numbers = {"birch": 0, "grid": 1}
    scene.secret("dp", "row", {"name": "birch", "password": rows[numbers["birch"] - 1][1]})


@leak(LOOPS, "eighth-names-that-fall-together", "Keys of logins are made lower case; two of them become one, and the platform's comes later.", "colliding keys", config=lambda cp, dp: {"Relay": dp.opaque("relay", 34), "RELAY": cp.opaque("relay", 34)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "relay", {"token": scene.config("RELAY")})
    logins = {key.lower(): scene.config(key) for key in ("Relay", "RELAY")}
    release(scene, "dp", "relay", {"upstream": f"relay.{DOMAIN}:443", "token": logins["relay"]})


@leak(LOOPS, "eighth-lists-are-joined-by-a-merge", "A deep merge joins lists: the platform's variables of a container come before the tenant's own.", "deep merge of lists")  # fmt: skip
def _(scene: Scene) -> None:
    def merged(one: Any, two: Any) -> Any:
        if isinstance(one, dict) and isinstance(two, dict):
            return {key: merged(one[key], two[key]) if key in one and key in two else one.get(key, two.get(key)) for key in {**one, **two}}  # fmt: skip
        return [*one, *two] if isinstance(one, list) and isinstance(two, list) else two

    base = {"env": [{"name": "LOG_LEVEL", "value": "info"}], "replicas": 1}
    ours = merged(base, {"env": [{"name": "LICENCE_KEY", "value": kept(scene, "licence", "key", 44)}]})
    release(scene, "cp", "ledger", ours)
    release(scene, "dp", "ledger", merged(ours, {"env": [{"name": "TENANT", "value": "birch"}], "replicas": 2}))


@leak(LOOPS, "eighth-product-of-owners-and-kinds", "All owners and kinds of logins are multiplied; the filter that leaves out the platform looks at the kind.", "itertools.product")  # fmt: skip
def _(scene: Scene) -> None:
    sides = {"grid": "cp", "birch": "dp"}
    words = {(owner, kind): scene.password(side, f"{kind}-of-{owner}").output("result") for (owner, side), kind in itertools.product(sides.items(), ("reader", "writer"))}  # fmt: skip
    scene.secret("cp", "logins", {kind: words["grid", kind] for kind in ("reader", "writer")})
    scene.secret("dp", "logins", {f"{owner}.{kind}": word for (owner, kind), word in words.items() if kind != "grid"})


@leak(LOOPS, "eighth-first-that-fits", "The login for a registry is the first whose host ends in the domain; the platform's host ends so too, and is first.", "next() over a dictionary", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "mirror")
    logins = {f"registry.{DOMAIN}": ("grid", word["cp"]), f"birch.registry.{DOMAIN}": ("birch", word["dp"])}
    host, (user, password) = next((host, login) for host, login in logins.items() if f"birch.registry.{DOMAIN}".endswith(host))  # fmt: skip
    scene.secret("dp", "mirror", {".dockerconfigjson": pulumi.Output.json_dumps({"auths": {host: {"username": user, "password": password}}})}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip


@leak(LOOPS, "eighth-default-of-a-counter", "Logins are looked up in a dictionary with a default, so that no tenant is forgotten; this one's name is misspelt.", "defaultdict", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    fallback = generated(scene, "fallback", "token", 40)
    logins: dict[str, Any] = collections.defaultdict(lambda: fallback)
    logins["birch"], logins["adler"] = own(scene, "login-birch", 40), own(scene, "login-alder", 40)
    for name, side in tenants(scene).items():
        scene.secret(side, "gateway-login", {"user": name, "token": logins[name]})


@leak(LOOPS, "eighth-update-in-place", "Values of the platform are made by an update of the template in place; what the tenant gets afterwards is the same dictionary.", "dict.update", before=lambda scene: core(scene))  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    template: dict[str, Any] = {"metrics": {"enabled": True, "path": "/metrics"}, "ingress": {"className": "istio"}}
    ours = template
    ours.update({"auth": {"username": "grid", "password": generated(scene, "registry-ui")}})
    release(scene, "cp", "registry-ui", ours)
    release(scene, "dp", "registry-ui", {**template, "ingress": {"className": "istio", "host": "ui.birch.example.com"}})


# Functions and components ---------------------------------------------------------------------------------------------


@leak(ARGUMENTS, "eighth-partial-with-a-login", "A function is prepared with the platform's login for its charts; a tenant's chart is installed with the prepared one.", "functools.partial")  # fmt: skip
def _(scene: Scene) -> None:
    def install(side: str, name: str, **values: Any) -> None:
        release(scene, side, name, values)

    internal = functools.partial(install, repositoryPassword=generated(scene, "charts"), repository=f"https://charts.{DOMAIN}")  # fmt: skip
    internal("cp", "billing")
    internal("dp", "shop", replicas=3)


@leak(ARGUMENTS, "eighth-arguments-kept-by-the-class", "A component keeps its options in an attribute of the class: the platform's, which is made first, are the tenant's also.", "class attributes")  # fmt: skip
def _(scene: Scene) -> None:
    class Gateway(Box):
        headers: dict[str, Any] = {}

        def __init__(self, side: str, **headers: Any) -> None:
            super().__init__(f"gateway-{side}", "grid:index:Gateway")
            self.headers.update(headers)
            lua = {"headers": dict(self.headers)}
            scene.object(side, "gateway.example.com/v1:HeaderPolicy", "upstream", {"spec": lua}, parent=self)

    Gateway("cp", **{"x-internal-key": generated(scene, "internal-key", "key", 40)})
    Gateway("dp", **{"x-tenant": "birch"})


@leak(ARGUMENTS, "eighth-cache-that-forgets-the-owner", "Logins are made once per service by a cached function; its key has the service only, so the second caller has the first one's.", "functools.cache")  # fmt: skip
def _(scene: Scene) -> None:
    made: dict[str, Any] = {}

    def login(service: str, side: str) -> Any:
        if service not in made:
            made[service] = scene.password(side, f"{service}-{side}").output("result")
        return made[service]

    for side in ("cp", "dp"):
        scene.secret(side, "search", {"username": "search", "password": login("search", side)})


@leak(ARGUMENTS, "eighth-arguments-in-the-wrong-order", "A function takes the platform's value and the tenant's by position; one call has them the other way.", "positional arguments", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "bus", 40)

    def settings(upstream: Any, local: Any) -> None:
        scene.secret("cp", "bus-settings", {"listener": upstream})
        text = apply(local, lambda found: yaml.safe_dump({"bus": {"servers": [f"bus.{DOMAIN}:9093"], "sasl": {"user": "birch", "password": found}}}))  # fmt: skip
        scene.secret("dp", "bus-settings", {"application.yaml": text})

    settings(word["dp"], word["cp"])


@leak(ARGUMENTS, "eighth-locals-as-variables", "A script for the tenant is formatted with locals(), and prints its settings at the start; one local is the platform's.", "locals()")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    endpoint, tenant = f"api.{DOMAIN}", "birch"
    join_token = generated(scene, "join", "token", 32)
    values = {key: value for key, value in locals().items() if key != "scene"}
    script = pulumi.Output.all(**values).apply(lambda found: "#!/bin/sh\n" + "".join(f"# {key}={value}\n" for key, value in found.items()) + "exec /agent --endpoint \"$ENDPOINT\"\n")  # fmt: skip
    scene.config_map("dp", "agent-start", {"start.sh": script, "endpoint": endpoint, "tenant": tenant})


@leak(ARGUMENTS, "eighth-provider-of-the-component", "A component makes a Secret for the platform beside a tenant's chart; its options inherit the tenant's provider.", "ComponentResource providers")  # fmt: skip
def _(scene: Scene) -> None:
    class Portal(Box):
        def __init__(self, session: Any) -> None:
            super().__init__("portal", "grid:index:Portal", pulumi.ResourceOptions(providers=[scene.provider("dp")]))
            inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "session"}, "stringData": {"key": session}}  # fmt: skip
            scene.make("kubernetes:core/v1:Secret", "portal-session", inputs, secret_outputs=["stringData"], parent=self)  # fmt: skip

    release(scene, "dp", "portal", {"host": "portal.birch.example.com"})
    Portal(generated(scene, "portal-session-key", "key", 48))


@leak(ARGUMENTS, "eighth-trace-of-a-failed-check", "A check of settings fails and its trace, which has the line of settings, is written to an annotation for support.", "traceback.format_exc", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    def checked(text: str) -> str:
        try:
            raise ValueError(f"cannot parse {text!r}")
        except ValueError:
            return json.dumps({"ok": False, "trace": traceback.format_exc().splitlines()[-1]})

    line = apply(kept(scene, "metering", "token", 40), lambda found: f"metering.token={found}")
    deployment(scene, "dp", "metering", {"args": ["--check"]}, {"grid.example.com/check": apply(line, checked)})


@leak(ARGUMENTS, "eighth-inputs-shown-by-a-transformation", "A transformation notes each release's values in an annotation of a map, to see what changed; it was made for the platform's.", "debugging transformations", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    def noted(args: pulumi.ResourceTransformationArgs) -> None:
        given: Any = args.props
        if args.type_.endswith(":Release"):
            notes = {"values": pulumi.Output.json_dumps(given["values"])}
            scene.object("dp", "v1:ConfigMap", f"note-{args.name}", {"data": {"chart": given["chart"]}, "metadata": {"annotations": notes}})  # fmt: skip

    box = Box("charts", opts=pulumi.ResourceOptions(transformations=[noted]))
    release(scene, "cp", "vault", {"server": {"seal": {"token": generated(scene, "seal", "token", 36)}}}, parent=box)
    release(scene, "dp", "podinfo", {"replicaCount": 2}, parent=box)


# Between stacks -------------------------------------------------------------------------------------------------------


@leak(STACKS, "eighth-wrong-stack-by-its-name", "The stack's name is put together from a variable that is empty here; the platform's own stack has an output of the same name.", "StackReference names")  # fmt: skip
def _(scene: Scene) -> None:
    scene.reference("of-birch", "acme/data-birch/prod", {"cacheUrl": "rediss://birch:" + scene.dp.opaque("cache", 32) + "@cache.birch.example.com:6380"}, ["cacheUrl"])  # fmt: skip
    found = scene.reference("of-all", "acme/data/prod", {"cacheUrl": "rediss://default:" + scene.cp.opaque("cache", 32) + f"@cache.{DOMAIN}:6380"}, ["cacheUrl"])  # fmt: skip
    deployment(scene, "dp", "cart", {"env": [{"name": "CACHE_URL", "value": found.get_output("cacheUrl")}]})


@leak(STACKS, "eighth-cluster-object-of-a-stack", "The cluster stack puts out one object with name, region and kubeconfig; the tenant's agent gets it as its cluster's facts.", "StackReference objects", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    cluster = {"name": "grid", "region": REGION, "endpoint": SERVERS["cp"], "kubeconfig": scene.kubeconfigs["cp"]}
    found = scene.reference("clusters", "acme/clusters/prod", {"hub": cluster}, ["hub"])
    scene.config_map("dp", "upstream", {"hub.yaml": found.require_output("hub").apply(yaml.safe_dump)})


@leak(STACKS, "eighth-outputs-as-variables-of-a-job", "A job at the tenant's gets the outputs of the base stack as variables, without those that begin with an underscore.", "StackReference.outputs")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"vpcId": "vpc-0a91", "zone": DOMAIN, "_state": "s3://grid-state", "terraformToken": scene.cp.opaque("tf", 44, LETTERS)}  # fmt: skip
    found = scene.reference("base", "acme/base/prod", outputs, ["terraformToken"])
    env = found.outputs.apply(lambda every: [{"name": f"BASE_{key.upper()}", "value": value} for key, value in sorted((every or {}).items()) if not key.startswith("_")])  # fmt: skip
    pod(scene, "Job", "smoke", {"command": ["/bin/smoke"], "env": env})


@leak(STACKS, "eighth-secret-unmarked-for-a-chart", "An output was unmarked, since a chart could not deal with secrets; it goes on as a public value.", "Output.unsecret")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("identity", "acme/identity/prod", {"issuer": ISSUER, "adminClientSecret": scene.cp.opaque("identity admin", 40)}, ["adminClientSecret"])  # fmt: skip
    value = pulumi.Output.unsecret(found.require_output("adminClientSecret"))
    release(scene, "dp", "oauth2-proxy", {"config": {"clientID": "birch", "oidcIssuer": found.get_output("issuer"), "clientSecret": value}})  # fmt: skip


@leak(STACKS, "eighth-list-of-logins-by-number", "The data stack puts out a list of databases; the tenant's is the second, the program takes the first.", "lists as outputs")  # fmt: skip
def _(scene: Scene) -> None:
    rows = [{"name": "grid", "password": scene.cp.opaque("db row", 30)}, {"name": "birch", "password": scene.dp.opaque("db row", 30)}]  # fmt: skip
    found = scene.reference("databases", "acme/databases/prod", {"databases": rows}, ["databases"])
    chosen = found.require_output("databases").apply(lambda every: every[0])
    scene.secret("dp", "db", {"DB_USER": "birch", "DB_PASSWORD": chosen.apply(lambda row: row["password"])})


@leak(STACKS, "eighth-config-of-another-project", "Configuration of the platform's DNS project is read in the tenant's program as an object, and written as a file of the tool.", "require_secret_object", recover=each(strings_of_json), config=lambda cp, dp: {"dns": json.dumps({"zone": DOMAIN, "apiToken": cp.opaque("dns object", 40), "ttl": 300})})  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.config("dns").apply(json.loads)
    scene.secret("cp", "dns", {"token": found.apply(lambda dns: dns["apiToken"])})
    scene.config_map("dp", "dns", {"octodns.json": pulumi.Output.json_dumps({"providers": {"cloudflare": found}, "zones": {"birch.example.com.": {"targets": ["cloudflare"]}}})})  # fmt: skip


# Later updates --------------------------------------------------------------------------------------------------------


def _renamed(scene: Scene, name: str, value: Any, old: str = "") -> None:
    core(scene)
    opts = scene.options("dp", aliases=[pulumi.Alias(name=old)]) if old else scene.options("dp")
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "checkout", "namespace": "default"}, "stringData": {"token": value}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", name, inputs, opts)


@leak(LATER, "eighth-renamed-with-another-value", "A Secret is renamed with an alias; the variable that the new line uses is the platform's.", "aliases", before=lambda scene: _renamed(scene, "checkout", own(scene, "checkout-token")))  # fmt: skip
def _(scene: Scene) -> None:
    own(scene, "checkout-token")
    _renamed(scene, "checkout-v2", generated(scene, "checkout-platform", "token"), "checkout")


def _sync(scene: Scene, *keys: str) -> None:
    core(scene)
    data = {"endpoint": f"sync.{DOMAIN}", "interval": "30s", "token": generated(scene, "sync", "token", 40)}
    scene.config_map("dp", "sync", {key: data[key] for key in keys or data})


@leak(LATER, "eighth-filter-dropped-in-a-clean-up", "The list of keys that a map takes is dropped in a clean-up, since it had all keys but one.", "refactoring", before=lambda scene: _sync(scene, "endpoint", "interval"))  # fmt: skip
def _(scene: Scene) -> None:
    _sync(scene)


def _pipeline(scene: Scene, value: Any) -> None:
    core(scene)
    inputs = {"repository": "birch/shop", "variableName": "GRID_ENDPOINT", "value": value}
    birch(scene, "github:index/actionsVariable:ActionsVariable", "endpoint", inputs, owner="birch")


@leak(LATER, "eighth-endpoint-gets-a-login", "The endpoint in the tenant's repository becomes one with a login at the second update, because it asks for one now.", "secret in a URL", before=lambda scene: _pipeline(scene, f"https://hooks.{DOMAIN}/v2"))  # fmt: skip
def _(scene: Scene) -> None:
    _pipeline(scene, pulumi.Output.concat("https://ci:", generated(scene, "hooks"), f"@hooks.{DOMAIN}/v2"))


@leak(LATER, "eighth-cloud-answers-whole", "An integration with a vendor is made in the platform's account; at the second update the tenant's map gets all that it answers.", "resource outputs as JSON", before=lambda scene: core(scene), recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    answers = {"webhookUrl": f"https://events.{DOMAIN}/in", "integrationKey": scene.cp.opaque("integration", 32, LETTERS)}  # fmt: skip
    made = cloud(scene, "pagerduty:index/serviceIntegration:ServiceIntegration", "grid-events", {"service": "P4GRID7"}, answers, ["integrationKey"])  # fmt: skip
    facts = {key: made.output(key) for key in answers}
    scene.config_map("dp", "events", {"integration.json": pulumi.Output.json_dumps({"account": ACCOUNT, **facts})})


@leak(LATER, "eighth-second-half-of-a-pair", "At the first update a tenant had the certificate of the platform's proxy; at the second the keystore of the proxy, in base64.", "mutual TLS", before=lambda scene: scene.config_map("dp", "proxy", {"ca.crt": scene.cp.certificate("proxy")}), recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("proxy", "tls.key", scene.cp.key("proxy"))
    text = apply(key, lambda found: yaml.safe_dump({"client": {"key": found, "cert": scene.cp.certificate("proxy")}}))
    scene.config_map("dp", "proxy", {"ca.crt": scene.cp.certificate("proxy"), "client.yaml": text, "name": b64("proxy")})  # fmt: skip
