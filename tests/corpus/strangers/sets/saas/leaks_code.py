"""Leaks around a hosted control plane: how Python programs slip, later updates, and what stacks hand on."""

from __future__ import annotations

import dataclasses
import json
import re
import string
from collections import ChainMap
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, drawn

from .world import BOTH, DOMAIN, ENTRY, GREEN, LOGIN, MESH, REGION, TENANT, both_sides, phrase, vendor

CODE, STACKS, LATER = "saas: slips of programs", "saas: slips between stacks", "saas: leaks of later updates"

# Programs -------------------------------------------------------------------------------------------------------------


@leak(CODE, "saas-closure-over-the-last-name", "Functions in a loop are called after it: all of them take the last owner's password, and the last is the vendor.", "late binding closures")  # fmt: skip
def _(scene: Scene) -> None:
    makers: dict[str, Any] = {}
    values = {owner: scene.password(side, f"late-{owner}").output("result") for owner, side in (("orchard", "dp"), ("hosted", "cp"))}  # fmt: skip
    for owner in ("orchard", "hosted"):
        makers[owner] = lambda: {"user": "agent", "password": values[owner]}  # noqa: B023
    scene.secret("cp", "late-login", makers["hosted"]())
    scene.secret("dp", "late-login", makers["orchard"]())


@leak(CODE, "saas-default-argument-that-remembers", "A function's default is one dictionary for all calls: the vendor's login, set at the first call, is in the tenant's values.", "mutable default arguments")  # fmt: skip
def _(scene: Scene) -> None:
    def values(name: str, login: Any = None, into: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006
        into["name"] = name
        if login is not None:
            into["login"] = login
        return dict(into)

    release(scene, "cp", "dispatcher", values("hosted", generated(scene, "dispatcher")))
    release(scene, "dp", "dispatcher", values("orchard"))


@leak(CODE, "saas-dump-of-a-dataclass", "For support all settings of a dataclass are written into the tenant's map; one field is the vendor's key for licences.", "dataclasses.asdict", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Settings:
        mesh: str
        region: str
        endpoint: str
        licence_key: Any

    settings = Settings(MESH, REGION, f"https://api.{DOMAIN}", kept(scene, "licences", "key", 40))
    scene.config_map("dp", "about", {"settings.json": pulumi.Output.json_dumps(vars(settings))})


@leak(CODE, "saas-redaction-of-the-first", "A text of settings is redacted before it goes to the tenant, but the expression knows `password:` only.", "incomplete redaction")  # fmt: skip
def _(scene: Scene) -> None:
    values = {"password": kept(scene, "redacted one", "password", 24), "apiToken": kept(scene, "redacted two", "token", 40)}  # fmt: skip
    text = pulumi.Output.all(**values).apply(lambda found: yaml.safe_dump({"endpoint": f"api.{DOMAIN}", **found}))
    scene.config_map("dp", "effective", {"effective.yaml": text.apply(lambda found: re.sub(r"(?m)^(password): .*$", r"\1: '***'", found))})  # fmt: skip


@leak(CODE, "saas-filter-of-names", "Values whose names end in password or secret are dropped; the one that is called dsn stays.", "deny lists of names")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "meshes-db")
    values = {"host": f"state.{DOMAIN}", "db_password": password, "dsn": pulumi.Output.concat("postgresql://meshes:", password, f"@state.{DOMAIN}/meshes"), "pool": "20"}  # fmt: skip
    deployment(scene, "dp", "meshes", {"env": [{"name": name.upper(), "value": value} for name, value in values.items() if not name.endswith(("password", "secret"))]})  # fmt: skip


@leak(CODE, "saas-template-with-everything", "A template of strings is filled from one mapping of all values; this tenant's template has a debug line with the vendor's.", "string.Template")  # fmt: skip
def _(scene: Scene) -> None:
    every = {"mesh": MESH, "endpoint": f"xds.{DOMAIN}", "admin": generated(scene, "template-admin")}
    template = string.Template("mesh=$mesh\nendpoint=$endpoint\n# debug: curl -u admin:$admin https://$endpoint/debug/configz\n")  # fmt: skip
    scene.config_map("dp", "env", {"mesh.env": pulumi.Output.all(**every).apply(template.safe_substitute)})


@leak(
    CODE,
    "saas-swapped-while-unpacking",
    "Two passwords are made in one line and unpacked the other way round.",
    "unpacking",
)
def _(scene: Scene) -> None:
    theirs, ours = (scene.password(side, f"swap-{side}").output("result") for side in ("cp", "dp"))
    scene.secret("cp", "swap-hosted", {"password": theirs})
    scene.secret("dp", "swap-orchard", {"password": theirs, "next": ours})


@leak(
    CODE,
    "saas-zip-of-sorted-names",
    "Names are sorted, passwords are not; the pairs that zip makes are other ones than meant.",
    "zip of two orders",
)
def _(scene: Scene) -> None:
    owners = ["tenant", "hosted"]
    sides = {"tenant": "dp", "hosted": "cp"}
    values = [scene.password(sides[owner], f"zip-{owner}").output("result") for owner in owners]
    scene.secret("cp", "zip-kept", {"password": values[1]})
    for owner, value in zip(sorted(owners), values, strict=True):
        if owner == "tenant":
            scene.secret("dp", "zip-login", {"owner": owner, "password": value})


@leak(CODE, "saas-chain-of-maps-in-the-wrong-order", "Settings are looked up in a chain; the vendor's come first, so the tenant's own password is never found.", "ChainMap precedence")  # fmt: skip
def _(scene: Scene) -> None:
    values = both_sides(scene, "chain")
    hosted = {"password": values["cp"], "loglevel": "warn"}
    tenant = {"password": values["dp"], "replicas": 3}
    release(scene, "dp", "edge-proxy", dict(ChainMap(hosted, tenant)))


@leak(CODE, "saas-prefix-that-also-fits", "Configuration keys that begin with the tenant's name are the tenant's; the vendor has a key that begins so as well.", "prefix matching", config=lambda cp, dp: {"orchard:apiKey": dp.opaque("orchard api", 32), "orchardProvisioner:apiKey": cp.opaque("provisioner", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "provisioner", {"key": scene.config("orchardProvisioner:apiKey")})
    data = {key.replace(":", "."): scene.config(key) for key in scene.stage.config if key.startswith("orchard")}
    scene.secret("dp", "settings", data)


@leak(CODE, "saas-message-of-an-exception", "A check of settings fails softly: the exception's text, which repeats the value, becomes a condition of the tenant's object.", "ValueError with its value")  # fmt: skip
def _(scene: Scene) -> None:
    value = kept(scene, "retention", "token", 36)

    def checked(text: str) -> str:
        try:
            return f"{int(text)} days"
        except ValueError as error:
            return f"default (warning: {error})"

    scene.object("dp", "v1:ConfigMap", "retention", {"data": {"retention": apply(value, checked)}})


@leak(CODE, "saas-f-string-with-equals", "A note for debugging is an f-string with an equals sign, in the Pod template's annotation.", "f-string debugging")  # fmt: skip
def _(scene: Scene) -> None:
    found = pulumi.Output.all(endpoint=f"xds.{DOMAIN}", psk=generated(scene, "edge-psk", "psk", 44))
    note = found.apply(lambda settings: f"{settings=}")
    deployment(scene, "dp", "edge", {"args": ["--verbose"]}, {"mesh.example.com/debug": note})


@leak(CODE, "saas-list-of-secrets-for-mounts", "The list of files to mount is made from the vendor's volume; contents and names were to be split, and both go.", "dict.items()")  # fmt: skip
def _(scene: Scene) -> None:
    contents = {"entrypoint.sh": ENTRY, "passphrase": pulumi.Output.secret(phrase(scene.cp, "mount words"))}
    scene.secret("cp", "mounts", contents)
    items = [{"key": key, "path": value} for key, value in contents.items() if key != "entrypoint.sh"]
    deployment(scene, "dp", "runner", {"volumeMounts": [{"name": "files", "mountPath": "/files"}]}, {"mounts": pulumi.Output.json_dumps(items)})  # fmt: skip


@leak(CODE, "saas-two-tenants-and-one-host", "Each tenant gets a list of sinks; the vendor's own sink is appended to the list that both share.", "aliased lists", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    sinks: list[dict[str, Any]] = [{"name": "local", "url": "http://loki.logs:3100"}]
    release(scene, "cp", "promtail", {"sinks": sinks})
    mine = sinks
    mine.append({"name": "hosted", "url": f"https://logs.{DOMAIN}", "basic": {"user": "hosted", "pass": generated(scene, "sink")}})  # fmt: skip
    for side in ("dp", "green"):
        scene.made("kubernetes:helm.sh/v3:Release", f"promtail-{side}", {"chart": "promtail", "values": {"sinks": sinks}}, scene.options(side))  # fmt: skip


@leak(CODE, "saas-fallback-when-empty", "`or` falls back when the tenant's value is empty; what it falls back to is the vendor's.", "falsy fallbacks", config=lambda cp, dp: {"orchard:smtpPassword": "", "hosted:smtpPassword": cp.opaque("smtp", 26)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "smtp", {"password": scene.config("hosted:smtpPassword")})
    both = pulumi.Output.all(scene.config("orchard:smtpPassword"), scene.config("hosted:smtpPassword"))
    release(scene, "dp", "mailer", {"smtp": {"host": "smtp.example.com", "password": both.apply(lambda found: found[0] or found[1])}})  # fmt: skip


# Between stacks -------------------------------------------------------------------------------------------------------


@leak(STACKS, "saas-outputs-by-a-pattern", "Of the vendor's stack the tenant gets all outputs whose names begin with edge; edgeSigningKey is one.", "StackReferences")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"edgeAddress": f"edge.{DOMAIN}", "edgePort": "15443", "edgeSigningKey": scene.cp.opaque("edge signing", 44, LETTERS), "adminUrl": f"https://admin.{DOMAIN}"}  # fmt: skip
    hosted = scene.reference("hosted", "organization/hosted-mesh/prod", outputs, ["edgeSigningKey"])
    facts = {name: hosted.get_output(name) for name in outputs if name.startswith("edge")}
    scene.config_map("dp", "edge", facts)


@leak(STACKS, "saas-object-output-as-values", "The vendor's stack puts out an object for the agent's chart; a colleague added the registration key to it.", "StackReferences")  # fmt: skip
def _(scene: Scene) -> None:
    agent = {"endpoint": f"api.{DOMAIN}:443", "tls": True, "registration": {"key": scene.cp.opaque("registration", 48)}}
    hosted = scene.reference("hosted", "organization/hosted-mesh/prod", {"agent": agent}, ["agent"])
    release(scene, "dp", "mesh-agent", hosted.get_output("agent"))


@leak(STACKS, "saas-export-of-a-tenants-stack", "The stack that tenants read exports the login of the vendor's console, for its own tests.", "stack outputs", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    password = generated(scene, "console-smoke")
    pulumi.export("endpoint", f"https://console.{DOMAIN}")
    pulumi.export("smoke", pulumi.Output.concat("tester:", password))
    scene.config_map("dp", "console", {"url": f"https://console.{DOMAIN}"})


@leak(STACKS, "saas-file-for-the-next-step", "A file of results for the tenant's pipeline is a map in the tenant's cluster: JSON of all that this stack made.", "outputs as JSON", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    made = {"realm": LOGIN, "client": "edge", "secret": generated(scene, "edge-client", "secret", 40), "jwks": f"{LOGIN}/protocol/openid-connect/certs"}  # fmt: skip
    scene.config_map("dp", "pipeline-results", {"outputs.json": pulumi.Output.json_dumps({name: {"value": value} for name, value in made.items()})})  # fmt: skip


@leak(STACKS, "saas-variables-for-terraform", "Terraform at the tenant's continues from variables that the program writes as HCL; it writes the whole mapping.", "terraform.tfvars")  # fmt: skip
def _(scene: Scene) -> None:
    variables = {"mesh_id": MESH, "region": REGION, "provisioner_token": kept(scene, "provisioner", "token", 40)}
    text = pulumi.Output.all(**variables).apply(lambda found: "".join(f"{key:18} = {json.dumps(value)}\n" for key, value in found.items()))  # fmt: skip
    scene.secret("dp", "tfvars", {"terraform.tfvars": text})


# Later updates --------------------------------------------------------------------------------------------------------


def _agent(scene: Scene) -> None:
    vendor(scene)
    generated(scene, "agent-enrol", "key", 40)
    release(scene, "dp", "mesh-agent", {"enrol": {"existingSecret": "enrol"}, "logLevel": "info"})


@leak(LATER, "saas-debugging-left-in", "At the second update the log level is debug, and the agent is given the key directly, to see whether it helps.", "later updates", before=_agent)  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = generated(scene, "agent-enrol", "key", 40)
    release(scene, "dp", "mesh-agent", {"enrol": {"key": key}, "logLevel": "debug"})


def _hash(scene: Scene) -> None:
    password = scene.password("cp", "gate")
    scene.secret("cp", "gate", {"password": password.output("result")})
    release(scene, "dp", "gate", {"auth": {"username": "hosted", "required": True}})


@leak(LATER, "saas-htpasswd-in-plain", "At the second update the tenant's gateway gets a line of users; where the hash was meant stands the vendor's password.", "later updates", before=_hash)  # fmt: skip
def _(scene: Scene) -> None:
    password = scene.password("cp", "gate")
    scene.secret("cp", "gate", {"password": password.output("result")})
    release(scene, "dp", "gate", {"auth": {"username": "hosted", "required": True, "htpasswd": pulumi.Output.concat("hosted:{PLAIN}", password.output("result"))}})  # fmt: skip


def _rotated(scene: Scene, name: str, *, shared: bool) -> None:
    old = scene.password("cp", "rotation-1")
    scene.secret("cp", "rotation", {"current": old.output("result")})
    facts: dict[str, Any] = {"rotated": name}
    if shared:
        new = scene.password("cp", "rotation-2")
        scene.secret("cp", "rotation-next", {"current": new.output("result")})
        facts["previous"] = old.output("result")
    scene.config_map("dp", "rotation", facts)


@leak(LATER, "saas-old-password-after-rotation", "A rotation writes the day into the tenant's map, and the previous password, thought to be worthless; it is valid for a day more.", "credential rotation", before=lambda scene: _rotated(scene, "2026-01-01", shared=False))  # fmt: skip
def _(scene: Scene) -> None:
    _rotated(scene, "2026-04-01", shared=True)


@leak(LATER, "saas-status-of-a-claim-copied-later", "The claim at the vendor's answers with a connection at the second update; the program copies its status for the address.", "status read back", before=lambda scene: vendor(scene), at="either")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    secret = scene.cp.opaque("claim secret", 36)
    scene.held("claim-connection", "password", secret)
    status = {"phase": "Ready", "connection": {"host": f"q7.{DOMAIN}", "port": 5432, "password": secret}}
    claim = scene.answered("cp", "hosted.example.com/v1:Database", "claim", {"spec": {"size": "small"}}, status=status)
    deployment(scene, "dp", "reader", {"env": [{"name": "DATABASE", "value": pulumi.Output.json_dumps(claim.output("status"))}]})  # fmt: skip


@leak(LATER, "saas-second-tenant-gets-the-firsts", "At the second update a tenant joins; its Secret is made by the loop variable that still holds the first row's values.", "later updates", pack=BOTH, before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    vendor(scene)
    found = {"green": own(scene, "join-green"), "hosted": scene.password("cp", "join-hosted").output("result")}
    for name, login in found.items():
        scene.secret("cp", f"join-{name}", {"name": name, "login": login})
    scene.secret("green", "join", {"server": SERVERS["cp"], "name": "green", "login": login})


@leak(LATER, "saas-description-with-a-runbook", "A runbook is added to the tenant's namespace: how to log in, with the break-glass password typed into the text.", "runbooks", before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    words = scene.held("break-glass", "passphrase", phrase(scene.cp, "break glass"))
    text = pulumi.Output.format("# If the mesh is down\n1. `ssh rescue@bastion.{0}`\n2. Password: {1}\n3. `istioctl proxy-status`\n", DOMAIN, words)  # fmt: skip
    scene.config_map("dp", "runbook", {"README.md": text})


@leak(LATER, "saas-release-notes-of-a-chart", "Notes of the vendor's release are read back and shown to the tenant; they print the generated password of the console.", "helm NOTES.txt", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    password = generated(scene, "console-first")
    note = scene.cp.opaque("console-first", 32)
    answers = {"status": {"notes": f"Log in at https://console.{DOMAIN} as admin with {note}", "revision": 3}}
    console = scene.made("kubernetes:helm.sh/v3:Release", "cp-console", {"chart": "console", "values": {"password": password}}, scene.options("cp"), answers)  # fmt: skip
    scene.config_map("dp", "welcome", {"notes.txt": apply(console.output("status"), lambda s: (s or {}).get("notes", ""))})  # fmt: skip


@leak(LATER, "saas-annotation-for-a-restart", "A restart on change: the annotation was to be a checksum of the vendor's file; the program forgot to hash, and quotes it as YAML.", "checksum annotations", recover=each(strings_of_yaml), before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    token = kept(scene, "ingest", "token", 40)
    text = apply(token, lambda found: yaml.safe_dump({"exporters": {"otlphttp": {"endpoint": f"https://otlp.{DOMAIN}", "headers": {"authorization": f"Bearer {found}"}}}}))  # fmt: skip
    deployment(scene, "dp", "collector", {"args": ["--config=/conf/relay.yaml"]}, {"checksum/config": text, "revision": drawn("revision", 12, HEX), "host": TENANT})  # fmt: skip
