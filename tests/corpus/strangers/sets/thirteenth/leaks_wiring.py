"""Leaks by slips of wiring, and by what is encoded, cut or computed."""

from __future__ import annotations

import base64
import collections
import functools
import gzip
import itertools
import json
import re
import textwrap
from typing import Any

import pulumi
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.strangers.credentials import generated, kept, own, raw
from tests.corpus.strangers.material import LOWER
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Leaves, each, pieces, strings_of_json
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64
from tests.corpus.world import Box

from .world import ASTER, DOMAIN, MESH, REGION, account, hub, leak, second_hub, tenants

WIRED, FORMS = "thirteenth: slips of wiring", "thirteenth: encoded, cut and computed"

# Wiring ---------------------------------------------------------------------------------------------------------------


@leak(WIRED, "thirteenth-closures-over-the-last-owner", "Functions that give each cluster its login are made in a comprehension; all of them see its last owner, the hub.", "late binding")  # fmt: skip
def _(scene: Scene) -> None:
    logins = {"aster": own(scene, "aster-queue"), "cedar": own(scene, "cedar-queue"), "hub": generated(scene, "queue-root")}  # fmt: skip
    sides = {**tenants(scene), "hub": "cp"}
    makers = {sides[owner]: lambda: logins[owner] for owner in logins}  # noqa: B023
    for side, make in makers.items():
        scene.secret(side, "queue", {"password": make()})


@leak(WIRED, "thirteenth-chain-of-maps-in-the-wrong-order", "Values of a tenant fall back on the hub's by a chain of maps, whose first map is the hub's: it wins where both have a key.", "ChainMap")  # fmt: skip
def _(scene: Scene) -> None:
    theirs = {"host": f"smtp.{ASTER}", "password": own(scene, "aster-smtp")}
    ours = {"host": f"smtp.{DOMAIN}", "password": generated(scene, "smtp-relay"), "from": f"noreply@{DOMAIN}"}
    release(scene, "dp", "mailer", dict(collections.ChainMap(ours, theirs)))


@leak(WIRED, "thirteenth-empty-token-falls-back", "A tenant's token is an empty text in the file of tenants, since it was not issued yet; an or takes the hub's.", "fallback values")  # fmt: skip
def _(scene: Scene) -> None:
    issued, default = {"aster": own(scene, "aster-sync", 40), "cedar": "", "maple": None}, generated(scene, "sync-default", "token", 40)  # fmt: skip
    every = tenants(scene)
    for name, token in issued.items():
        if name != "maple":
            release(scene, every[name], "sync", {"cluster": name, "token": token or default})


@leak(WIRED, "thirteenth-shallow-copy-of-base-values", "Values are a copy of a base for each cluster, but what is inside is the same dictionary; the hub's login was put there first.", "shallow copies")  # fmt: skip
def _(scene: Scene) -> None:
    base: dict[str, Any] = {"replicas": 2, "auth": {"existingSecret": "", "rootPassword": None}}
    ours = dict(base)
    ours["auth"]["rootPassword"] = generated(scene, "object-store")
    release(scene, "cp", "minio", ours)
    theirs = dict(base)
    theirs["replicas"] = 4
    release(scene, "dp", "minio", theirs)


@leak(WIRED, "thirteenth-zip-filled-up", "There is one password too few for the list of clusters; the pairs are filled up with the hub's.", "zip_longest")  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    passwords = [own(scene, f"valkey-of-{name}") for name in ("aster", "cedar")]
    pairs: Any = itertools.zip_longest(("aster", "cedar", "maple"), passwords, fillvalue=generated(scene, "valkey-root"))  # fmt: skip
    for name, password in pairs:
        release(scene, every[name], "valkey", {"auth": {"enabled": True, "password": password}})


@leak(WIRED, "thirteenth-cache-without-the-owner", "A function that makes a login is cached by the application's name alone; the hub asked first.", "functools.cache")  # fmt: skip
def _(scene: Scene) -> None:
    asking = ["cp"]

    @functools.cache
    def login(app: str) -> Any:
        return generated(scene, app) if asking[0] == "cp" else own(scene, f"aster-{app}")

    for side in ("cp", "dp"):
        asking[0] = side
        release(scene, side, "gitea", {"gitea": {"admin": {"username": "root", "password": login("gitea-admin")}}})


class _Agent(Box):
    """A component whose token was meant for each, and is the class's."""

    token: Any = None

    def __init__(self, scene: Scene, name: str, side: str, token: Any = None) -> None:
        super().__init__(f"agent-{name}", "lantern:index:Agent")
        if token is not None:
            type(self).token = token
        container = {"name": "agent", "image": f"agent.{DOMAIN}/agent:2", "env": [{"name": "AGENT_TOKEN", "value": self.token}]}  # fmt: skip
        scene.object(side, "apps/v1:DaemonSet", f"agent-{name}", {"spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [container]}}}}, parent=self)  # fmt: skip
        self.register_outputs({})


@leak(WIRED, "thirteenth-token-on-the-class", "A component keeps its token on the class; the tenant's instance, made without one, has the hub's.", "class attributes")  # fmt: skip
def _(scene: Scene) -> None:
    _Agent(scene, "hub", "cp", generated(scene, "agent-of-the-hub", "token", 40))
    _Agent(scene, "aster", "dp")


@leak(WIRED, "thirteenth-all-outputs-of-the-hubs-stack", "A tenant's map gets all outputs of the hub's stack as one file; since the last release a kubeconfig is among them.", "StackReference.outputs")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    names = ("endpoint", "mesh", "kubeconfig")
    core = scene.reference("acme/lantern-hub/prod", "acme/lantern-hub/prod", {"endpoint": f"https://xds.{DOMAIN}", "mesh": MESH, "kubeconfig": scene.cp.kubeconfig("hub admin", SERVERS["cp"])}, ["kubeconfig"])  # fmt: skip
    scene.config_map("dp", "hub", {"outputs.json": pulumi.Output.json_dumps({name: core.get_output(name) for name in names})})  # fmt: skip


@leak(WIRED, "thirteenth-options-merged-the-other-way", "Options of a helper are merged over the caller's: the hub's Secret for repositories goes through the tenant's provider.", "ResourceOptions.merge")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "repo", "namespace": "argocd"}, "stringData": {"url": "git@git.example.org:acme/fleet.git", "sshPrivateKey": generated(scene, "repo-creds", "key", 48)}}  # fmt: skip
    opts = pulumi.ResourceOptions.merge(scene.options("cp"), scene.options("dp"))
    scene.made("kubernetes:core/v1:Secret", "repo", inputs, opts)


@leak(WIRED, "thirteenth-arguments-in-a-debug-annotation", "A component writes its arguments into an annotation while a bug is looked for; the hub's token is one of them.", "debugging")  # fmt: skip
def _(scene: Scene) -> None:
    def bridge(side: str, **given: Any) -> None:
        debug = pulumi.Output.json_dumps(given)
        deployment(scene, side, "bridge", {"args": ["--url", given["url"]]}, {"debug/arguments": debug})

    bridge("dp", url=f"https://bridge.{DOMAIN}", token=generated(scene, "bridge-api", "token", 40), retries=3)


@leak(WIRED, "thirteenth-prefix-of-a-support-login", "Rows that begin with a tenant's name are the tenant's, by an expression without an end; aster-support is the hub's login for support.", "regular expressions")  # fmt: skip
def _(scene: Scene) -> None:
    rows = {"aster-orders": own(scene, "aster-orders"), "aster-support": generated(scene, "aster-support"), "cedar-orders": own(scene, "cedar-orders")}  # fmt: skip
    scene.secret("dp", "logins", {name: value for name, value in rows.items() if re.match("aster", name)})


@leak(WIRED, "thirteenth-numbers-from-one", "Owners have numbers from one, and a list of passwords begins with the hub's at place zero, so that each gets the one before.", "off by one")  # fmt: skip
def _(scene: Scene) -> None:
    passwords = [generated(scene, "streams-root"), own(scene, "streams-of-aster"), own(scene, "streams-of-cedar")]
    numbers, every = {"aster": 1, "cedar": 2}, tenants(scene)
    for name, number in numbers.items():
        release(scene, every[name], "streams", {"sasl": {"user": name, "password": passwords[number - 1]}})


@leak(WIRED, "thirteenth-result-of-all-by-place", "Passwords of both sides are awaited in one Output.all; a third was put in front, and the tenant's place was not moved.", "Output.all", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    every = pulumi.Output.all(generated(scene, "reports"), generated(scene, "reports-reader"), own(scene, "aster-reports"))  # fmt: skip
    scene.secret("dp", "reports", {"dsn": every.apply(lambda found: f"postgresql://reports:{found[1]}@pg.{ASTER}/reports")})  # fmt: skip


@leak(WIRED, "thirteenth-second-hub-among-the-loop", "Clusters of a loop are all but the hub's first; the second hub has joined, and the row for tenants gets what the loop has seen last.", "loop variables")  # fmt: skip
def _(scene: Scene) -> None:
    seen: dict[str, Any] = {}
    for owner, side in (("hub-us", second_hub(scene)), ("aster", "dp")):
        if owner.startswith("hub"):
            seen["tls"] = generated(scene, "gossip", "key", 44)
        scene.secret(side, "gossip", {"key": seen["tls"]})


# Forms ----------------------------------------------------------------------------------------------------------------


@leak(FORMS, "thirteenth-packed-files-of-a-machine", "User data of the tenant's machines has a file in gzip and base64, as cloud-init takes it; the file is the hub's join configuration.", "cloud-init write_files", recover=each(base64.b64decode, lambda text: gzip.decompress(base64.b64decode(text.split(b"content: ")[1].split()[0]))))  # fmt: skip
def _(scene: Scene) -> None:
    text = apply(kept(scene, "join", "token", 40), lambda found: b64("#cloud-config\nwrite_files:\n- path: /etc/lantern/join.json\n  encoding: gz+b64\n  content: " + b64(gzip.compress(json.dumps({"server": f"https://xds.{DOMAIN}", "token": found}).encode(), mtime=0)) + "\n"))  # fmt: skip
    account(scene, "aster", "aws:ec2/launchTemplate:LaunchTemplate", "workers", {"imageId": "ami-07b2", "userData": text}, region=REGION)  # fmt: skip


@leak(FORMS, "thirteenth-token-cut-for-a-script", "A script in the tenant's cluster joins a token from four maps, so that no scanner finds it.", "split secrets", recover=pieces("part-0", "part-1", "part-2", "part-3"))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "mirror", "token", 48)
    for at in range(4):
        scene.config_map("dp", f"mirror-{at}", {f"part-{at}": apply(token, lambda found, at=at: found[at * 12 : at * 12 + 12])})  # fmt: skip
    scene.config_map("dp", "mirror", {"run.sh": "#!/bin/sh\ncat /etc/mirror/part-* | mirror --token-stdin\n"})


def _xor(data: bytes, pad: bytes) -> bytes:
    return bytes(byte ^ pad[at % len(pad)] for at, byte in enumerate(data))


@leak(FORMS, "thirteenth-token-xored-with-the-mesh", "A chart's value is the hub's token, exclusive-or with the mesh's public name: enough for the chart's author.", "obfuscation", recover=each(base64.b64decode, lambda data: _xor(data, MESH.encode())))  # fmt: skip
def _(scene: Scene) -> None:
    value = apply(generated(scene, "relay-api", "token", 40), lambda found: b64(_xor(found.encode(), MESH.encode())))
    release(scene, "dp", "relay", {"mesh": MESH, "auth": {"obfuscated": value}})


@leak(FORMS, "thirteenth-object-named-after-a-token", "A lease of the tenant's is named after the first half of the hub's token, to tell clients apart.", "names of objects", recover=lambda leaves: b"\n".join([*leaves.values(), *(place.encode() for place in leaves)]))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.cp.opaque("lease", 40, LOWER)
    scene.cp.given.append(token[:20])
    scene.held("lease", "token", token)
    scene.object("dp", "coordination.k8s.io/v1:Lease", f"client-{token[:20]}", {"spec": {"holderIdentity": "edge", "leaseDurationSeconds": 15}})  # fmt: skip


@leak(FORMS, "thirteenth-token-as-a-number", "A label takes digits and letters only, so a token of the hub's is there as one number in base 36.", "labels", recover=each(lambda text: int(text, 36).to_bytes(20)))  # fmt: skip
def _(scene: Scene) -> None:
    def number(text: str) -> str:
        left, digits = int.from_bytes(text.encode()), ""
        while left:
            left, digit = divmod(left, 36)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        return digits

    value = apply(kept(scene, "meter", "token", 20), number)
    scene.object("dp", "v1:ServiceAccount", "meter", {"metadata": {"labels": {"lantern/meter": value}}})


def _opened(leaves: Leaves) -> bytes:
    sealed, key = (next(leaf for place, leaf in leaves.items() if place.endswith(end)) for end in ("sealed.bin", "sealed.key"))  # fmt: skip
    return ChaCha20Poly1305(base64.b64decode(key)).decrypt(bytes(12), base64.b64decode(sealed), None)


@leak(FORMS, "thirteenth-encrypted-with-its-key-beside", "A token of the hub's is encrypted for the tenant's Secret, since Secrets are not; the key is in the same Secret.", "key beside its ciphertext", recover=_opened)  # fmt: skip
def _(scene: Scene) -> None:
    both = pulumi.Output.all(kept(scene, "scanner", "token", 40), raw(scene, "dp", "aster-scanner-key").output("base64"))  # fmt: skip
    sealed = both.apply(lambda found: b64(ChaCha20Poly1305(base64.b64decode(found[1])).encrypt(bytes(12), found[0].encode(), None)))  # fmt: skip
    scene.secret("dp", "scanner", {"sealed.bin": sealed, "sealed.key": both.apply(lambda found: found[1])})


def _of_keystore(leaves: Leaves) -> bytes:
    store, word = (next(leaf for place, leaf in leaves.items() if place.endswith(end)) for end in ("keystore.p12", "keystore.pass"))  # fmt: skip
    found = pkcs12.load_key_and_certificates(base64.b64decode(store), word)[0]
    assert found
    return found.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())  # fmt: skip


@leak(FORMS, "thirteenth-key-in-a-keystore", "A keystore for the tenant's bridge has the hub's client key, behind a password that stands beside it.", "PKCS#12", recover=_of_keystore)  # fmt: skip
def _(scene: Scene) -> None:
    key, word = scene.held("bridge-client", "tls.key", scene.cp.key("bridge-client")), "bridge-keystore"

    def packed(pem: str) -> str:
        private: Any = serialization.load_pem_private_key(pem.encode(), None)
        return b64(pkcs12.serialize_key_and_certificates(b"bridge", private, None, None, serialization.BestAvailableEncryption(word.encode())))  # fmt: skip

    scene.secret("dp", "bridge", {"keystore.p12": apply(key, packed), "keystore.pass": word})


@leak(FORMS, "thirteenth-wrapped-lines-of-a-script", "A script for the tenant's nodes has the hub's token in a here-document of base64, in lines of sixteen letters that are indented.", "here-documents", recover=each(lambda text: base64.b64decode(b"".join(text.split(b"EOT\n")[1].split()))), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def script(token: str) -> str:
        return "#!/bin/sh\nbase64 -d > /run/node.token <<-EOT\n" + textwrap.indent("\n".join(textwrap.wrap(b64(token), 16)), "\t") + "\n\tEOT\n"  # fmt: skip

    scene.config_map("dp", "node", {"start.sh": apply(generated(scene, "node-join", "token", 40), script)})


@leak(FORMS, "thirteenth-second-update-in-a-query", "At the second update, when the token is known, it is in the query of an address, which is in JSON in a chart's value.", "tokens in URLs", recover=each(strings_of_json), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "hooks", "token", 40)
    release(scene, "dp", "hooks", {"config.json": pulumi.Output.json_dumps({"listen": ":8080", "upstream": pulumi.Output.concat(f"https://hooks.{DOMAIN}/v1?tenant=aster&access_token=", token)})})  # fmt: skip


@leak(FORMS, "thirteenth-bytes-as-a-list-of-numbers", "A key of the hub's is among a chart's values as a list of numbers, as its program wants it.", "numbers", recover=lambda leaves: bytes(int(float(leaves[f"dp-vector.values.key.{at}"])) for at in range(32)).hex().encode())  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "vector-key")
    scene.secret("cp", "vector-key", {"key": key.output("base64")})
    release(scene, "dp", "vector", {"cipher": "aes-256-gcm", "key": apply(key.output("base64"), lambda found: list(base64.b64decode(found)))})  # fmt: skip
