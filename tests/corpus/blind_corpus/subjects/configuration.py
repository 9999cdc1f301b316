"""Programs about configuration: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pulumi

from tests.corpus.blind_corpus.credentials import generated, kept
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import after, each
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import apply, drawn
from tests.corpus.blind_corpus.worlds import grid, kiln, lantern, loom, orchard, osprey, wren


@leak(grid.FORMS, "label-in-base32", "A label may not have any letter; so the platform's registration code is written in base32, small and without padding.", "base32 in labels", recover=each(lambda text: base64.b32decode(text.upper() + b"=" * (-len(text) % 8))))  # fmt: skip
def _(scene: Scene) -> None:
    code = kept(scene, "registration", "code", 30)
    label = apply(code, lambda found: base64.b32encode(found.encode()).decode().rstrip("=").lower())
    scene.object("dp", "v1:Namespace", "mesh-agents", {"metadata": {"labels": {"grid.example.com/registration": label, "istio-injection": "enabled"}}})  # fmt: skip


@leak(osprey.LATER, "error-with-the-principals-secret", "A managed resource of the hub fails, and its condition quotes the settings with the service principal's secret; the tenant's status page has the message.", "crossplane-contrib/provider-upjet-azure#85", at="either", before="the same", recover=each(after(b'"client_secret":"')))  # fmt: skip
def _(scene: Scene) -> None:
    secret = scene.cp.opaque("azure principal", 40, LETTERS)
    scene.held("azure-creds", "clientSecret", secret, namespace="crossplane-system")
    quoted = f'cannot run refresh: invalid provider configuration {{"client_id":"{drawn("principal", 12)}","client_secret":"{secret}"}}'  # fmt: skip
    conditions = [{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": quoted}]
    made = scene.answered("cp", "network.azure.upbound.io/v1beta1:PrivateDNSZone", "alder-zone", {"spec": {"forProvider": {"resourceGroupName": "hub"}}}, status={"conditions": conditions})  # fmt: skip
    message = apply(made.output("status"), lambda status: ((status or {}).get("conditions") or [{}])[0].get("message", "unknown"))  # fmt: skip
    scene.config_map("dp", "status-page", {"dns": message}, namespace="dashboard")


@leak(loom.HIDDEN, "addresses-of-a-key", "Eight bytes of a key make the end of each of four addresses of version six.", "IPv6 addresses", recover=lambda leaves: "".join(leaf.decode().split("2001:db8:0:1:")[1].replace(":", "") for leaf in leaves.values() if leaf.startswith(b"2001:db8:0:1:")).encode())  # fmt: skip
def _(scene: Scene) -> None:
    def addresses(key: str) -> list[dict[str, str]]:
        return [{"address": "2001:db8:0:1:" + ":".join(re.findall("....", key[at : at + 16]))} for at in range(0, 64, 16)]  # fmt: skip

    found = apply(loom.kept_bytes(scene, "six"), addresses)
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "six", {"spec": {"hosts": [f"six.{loom.DOMAIN}"], "resolution": "STATIC", "endpoints": found}})  # fmt: skip


@leak(orchard.LATER, "debugging-left-in", "At the second update the log level is debug, and the agent is given the key directly, to see whether it helps.", "later updates", before=orchard.agent)  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    key = generated(scene, "agent-enrol", "key", 40)
    release(scene, "dp", "mesh-agent", {"enrol": {"key": key}, "logLevel": "debug"})


@kiln.clean(kiln.STACKS, "stacks-in-a-loop", "Each tenant has a data stack of the same outputs; the loop asks for each by the tenant's name. The team's goes to the team's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **kiln.tenants(scene)}.items():
        made = scene.cp if owner == "kiln" else scene.dp
        found = scene.reference(f"{owner}-data", f"acme/{owner}-data/prod", {"host": f"db.{owner}.example.com", "url": f"redis://:{made.opaque(f'{owner} redis', 32)}@cache.{owner}.example.com:6379/0"}, ["url"])  # fmt: skip
        scene.secret(side, "cache", {"REDIS_URL": found.require_output("url"), "DB_HOST": found.get_output("host")})


@lantern.leak(lantern.NOTES, "declassified-hash-of-four-digits", "A note declassifies the hash of the door's code, which is the platform's name and four digits: who has the hash has the code.", "guessable secrets", at="either", recover=lantern.guessed)  # fmt: skip
def _(scene: Scene) -> None:
    code = f"lantern-{scene.cp.opaque('door', 4, '0123456789')}"
    scene.cp.given.append(code)
    held = scene.held("door", "code", code)
    mark = apply(held, lambda found: hashlib.sha256(found.encode()).hexdigest())
    scene.config_map("dp", "door", {"check": mark, "door": "staging"}, annotations=lantern.declassified("data.check", reason="sha256, nobody gets it back"))  # fmt: skip


@clean(wren.SERVED, "own-host-key-of-a-bastion", "The tenant's bastion gets its host key by its first script, so that known hosts can be written before; both are the tenant's.", config=wren.given(hcloudToken=64))  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    key = scene.key("dp", "lime-bastion-host")
    script = apply(key.output("privateKeyOpenssh"), lambda text: "#cloud-config\n" + json.dumps({"ssh_keys": {"ecdsa_private": text}, "ssh_pwauth": False}))  # fmt: skip
    wren.lime(scene, "hcloud:index/server:Server", "bastion", {"serverType": "cax11", "image": "debian-13", "userData": script}, {"ipv4Address": "203.0.113.140"}, token=scene.config("lime:hcloudToken"))  # fmt: skip
    scene.config_map("dp", "known-hosts", {"known_hosts": pulumi.Output.concat(f"bastion.{wren.LIME} ", key.output("publicKeyOpenssh"))})  # fmt: skip
