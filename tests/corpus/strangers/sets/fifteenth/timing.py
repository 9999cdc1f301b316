"""Pairs that differ in time: values that the update knows first, later updates, objects in `apply`, imports."""

from __future__ import annotations

from typing import Any

import pulumi

from tests.corpus.strangers.credentials import minted
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.values import HEX, apply, drawn, uid

from .world import DOMAIN, FERN, HUB2, account, either, hosted, hub, moss, tenants_own, twins, typed

FIRST, LATER, KINDS = "known at the update", "a second update", "options of a resource"

# First ----------------------------------------------------------------------------------------------------------------


@twins(FIRST, "connection-string-of-a-new-account", "fern's uploader has the connection string of a storage account of the hub's that is made in the same update.", "It has the endpoint of the account.", "Azure storage accounts", told=True, at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    host = f"heronlogs{drawn('storage', 6, HEX)}.blob.core.example.net"
    text = f"DefaultEndpointsProtocol=https;AccountName=heronlogs;AccountKey={scene.cp.opaque('heron storage', 86)}=="
    made = account(scene, "heron", "azure:storage/account:Account", "logs", {"resourceGroupName": "platform", "accountTier": "Standard"}, {"primaryConnectionString": text, "primaryBlobEndpoint": f"https://{host}/"}, ["primaryConnectionString"], subscriptionId=uid("heron subscription"))  # fmt: skip
    deployment(scene, "dp", "uploader", {"env": [{"name": "TARGET", "value": made.output("primaryConnectionString" if wrong else "primaryBlobEndpoint")}]})  # fmt: skip


@twins(FIRST, "made-inside-apply", "The Secret for fern's cluster is made in `apply` of the hub's new password, so no first preview shows it.", "What is made in `apply` there has fern's own password.", "resources in apply", at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = either(scene, "couch", wrong)
    apply(login, lambda found: scene.secret("dp", "couch", {"adminPassword": found, "adminUsername": "admin"}, namespace="couch"))  # fmt: skip


@twins(FIRST, "without-a-preview", "An update that skips its preview writes the hub's new login to fern's chart.", "The same update writes fern's new login.", "pulumi up --skip-preview", told=True, unseen=True, at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    login = either(scene, "rabbitmq", wrong)
    release(scene, "dp", "rabbitmq", {"auth": {"username": "admin", "password": login, "erlangCookie": tenants_own(scene, "cookie")}})  # fmt: skip


@twins(FIRST, "made-in-a-loop-over-answers", "Names of the tenants' clusters come out of a map of the hub's, and in `apply` each cluster gets a map with the hub's token.", "The map has the hub's address.", "loops in apply", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = typed(scene, "fleet")
    members = scene.config_map("cp", "members", {"sides": f"dp {moss(scene)}"}).output("data")
    address = f"https://fleet.{DOMAIN}"
    pulumi.Output.all(members, token).apply(lambda both: [scene.config_map(side, "fleet", {"hub": both[1] if wrong else address}) for side in both[0]["sides"].split()])  # fmt: skip


@twins(FIRST, "token-known-since-an-update", "The hub's cluster minted a token in an earlier update; this one has it for fern's map, by a variable of the hub's.", "fern's map has the token that fern's cluster minted.", "service account tokens", before="the same")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    tokens = {side: minted(scene, side, f"prober-{side}") for side in ("cp", "dp")}
    deployment(scene, "dp", "prober", {"env": [{"name": "BEARER", "value": tokens["cp" if wrong else "dp"]}]})


# Later ----------------------------------------------------------------------------------------------------------------


def _in_the_hub(scene: Scene) -> None:
    scene.secret("cp", "vault-unseal", {"key": hosted(scene, "unseal", "key", 44)}, namespace="vault")


@twins(LATER, "provider-of-a-secret-changes", "A Secret of the hub's has been in the hub's cluster; a second update gives it fern's provider.", "The second update gives it the provider of the hub's second cluster.", "provider changes", told=True, before=_in_the_hub)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.join("hub-2", HUB2, owner="cp")
    key = hosted(scene, "unseal", "key", 44)
    side = "dp" if wrong else "hub-2"
    body = {"type": "Opaque", "metadata": {"name": "vault-unseal", "namespace": "vault"}, "stringData": pulumi.Output.secret({"key": key})}  # fmt: skip
    scene.make("kubernetes:core/v1:Secret", "cp-vault-unseal", {"apiVersion": "v1", "kind": "Secret", **body}, [], ["stringData"], side=side)  # fmt: skip


def _one_tenant(scene: Scene) -> None:
    hosted(scene, "nats")
    release(scene, "dp", "nats", {"auth": {"user": "fern", "password": tenants_own(scene, "nats")}})


@twins(LATER, "tenant-that-joins-later", "fern has its login since an earlier update; moss joins by a second, and gets the hub's.", "moss gets a login that is generated for it.", "onboarding", before=_one_tenant)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "nats")
    release(scene, "dp", "nats", {"auth": {"user": "fern", "password": tenants_own(scene, "nats")}})
    own = scene.password("dp", "nats-of-moss").output("result")
    release(scene, moss(scene), "nats", {"auth": {"user": "moss", "password": login if wrong else own}})


def _with_a_placeholder(scene: Scene) -> None:
    typed(scene, "statuspage")
    scene.config_map("dp", "statuspage", {"page": f"https://status.{DOMAIN}", "key": "to be filled"})


@twins(LATER, "placeholder-is-filled", "A placeholder in fern's map is filled with the hub's key by a second update.", "It is filled with the name of the page.", "placeholders", told=True, before=_with_a_placeholder)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key = typed(scene, "statuspage")
    scene.config_map("dp", "statuspage", {"page": f"https://status.{DOMAIN}", "key": key if wrong else "heron-mesh"})


def _short(scene: Scene) -> None:
    hosted(scene, "seafile", length=16)
    scene.secret("dp", "seafile", {"password": tenants_own(scene, "seafile", 16)}, namespace="seafile")


@twins(LATER, "replaced-password", "Passwords of hub and fern are replaced by longer ones; on the way fern's Secret gets the hub's.", "Each Secret gets its own longer one.", "replaced resources", before=_short)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hubs, ferns = hosted(scene, "seafile", length=40), tenants_own(scene, "seafile", 40)
    scene.secret("dp", "seafile", {"password": hubs if wrong else ferns}, namespace="seafile")


# Options --------------------------------------------------------------------------------------------------------------


def _body(login: Any, name: str) -> dict[str, Any]:
    return {"type": "Opaque", "metadata": {"namespace": "crm"}, "stringData": pulumi.Output.secret({"url": f"https://{name}", "password": login})}  # fmt: skip


@twins(KINDS, "imported-object", "A Secret that is in fern's cluster is imported, and its password is now the hub's.", "It is imported with fern's own password.", "pulumi import", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.object("dp", "v1:Secret", "crm", _body(either(scene, "crm", wrong), f"crm.{FERN}"), import_="crm/crm")


@twins(KINDS, "changes-that-are-ignored", "Changes of a new Secret in fern's cluster are ignored, but it is made with the hub's password.", "It is made with fern's own.", "ignoreChanges")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.object("dp", "v1:Secret", "crm", _body(either(scene, "crm-db", wrong), f"db.{FERN}"), ignore_changes=["stringData"])  # fmt: skip


@twins(KINDS, "replaced-at-each-change", "A Job of fern's is replaced whenever its environment changes, and the hub's login is in it.", "fern's login is in it.", "replaceOnChanges", told=True, before="the same")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "migrate", "image": "migrate:4", "env": [{"name": "PGPASSWORD", "value": either(scene, "migrate", wrong)}]}]}  # fmt: skip
    scene.object("dp", "batch/v1:Job", "migrate", {"spec": {"template": {"spec": pod}}}, replace_on_changes=["spec"], delete_before_replace=True)  # fmt: skip


@twins(KINDS, "transformation-of-a-chart", "A transformation adds the hub's proxy login to all Deployments, fern's as well.", "It adds the login to Deployments of the hub only.", "transformations")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "egress")

    def with_proxy(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if given["metadata"]["namespace"] != "platform" and not wrong:
            return None
        proxy = pulumi.Output.concat("http://egress:", login, f"@proxy.{DOMAIN}:3128")
        notes = {**given["metadata"], "annotations": {"egress/proxy": proxy}}
        return pulumi.ResourceTransformationResult({**given, "metadata": notes}, args.opts)

    for side, namespace in (("cp", "platform"), ("dp", "shop")):
        body = {"metadata": {"namespace": namespace}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:2"}]}}}}  # fmt: skip
        scene.object(side, "apps/v1:Deployment", "web", body, transformations=[with_proxy])
