"""Leaks beside a mesh team's secrets: slips of Python and Pulumi, what an insider would hide, and second updates."""

from __future__ import annotations

import base64
import bisect
import configparser
import dataclasses
import difflib
import hashlib
import hmac
import io
import itertools
import json
import logging
import pickle
import re
import sqlite3
import struct
import uuid
import zlib
from typing import Any
from urllib.parse import urljoin

import pulumi
import yaml
from cryptography.fernet import Fernet

from tests.corpus.strangers.credentials import kept
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.recover import Leaves, after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.sets.saas.world import WORDS
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, apply, b64, noise
from tests.corpus.world import Box

from .world import BOTH, DOMAIN, ISSUER, LOOM, MAPLE, REGION, house, loom, maple, tenants, word

SLIPS, HIDDEN, DERIVED, LATER = (
    "ninth: slips of Python and Pulumi",
    "ninth: hidden by an insider",
    "ninth: made of a secret and as good as it",
    "ninth: leaks of later updates",
)


def kept_bytes(scene: Scene, name: str, length: int = 32) -> Any:
    """A key that a Secret of the mesh team's holds in hexadecimal."""
    return scene.held(name, "key", scene.cp.raw(name, length).hex())


# Slips ----------------------------------------------------------------------------------------------------------------


@leak(SLIPS, "ninth-one-list-for-all-owners", "A dictionary of lists is made by fromkeys: all owners share one list, so the mesh team's variables are the tenant's too.", "dict.fromkeys")  # fmt: skip
def _(scene: Scene) -> None:
    env: dict[str, list[dict[str, Any]]] = dict.fromkeys(("cp", "dp"), [])  # noqa: RUF024
    env["cp"].append({"name": "INGEST_TOKEN", "value": house(scene, "ingest", "token", 40)})
    env["dp"].append({"name": "TENANT", "value": "maple"})
    for side, rows in env.items():
        deployment(scene, side, "ingest", {"env": rows})


@leak(SLIPS, "ninth-grouped-by-the-first-letter", "Logins are grouped by the first letter of their owner, which maple and mesh share.", "itertools.groupby")  # fmt: skip
def _(scene: Scene) -> None:
    logins = [("maple", "queue", word(scene, "queue")), ("mesh", "root", house(scene, "queue-root"))]
    groups = {letter: list(rows) for letter, rows in itertools.groupby(logins, key=lambda row: row[0][0])}
    scene.secret("dp", "queue", {kind: value for _, kind, value in groups["maple"[0]]})


@leak(SLIPS, "ninth-bisect-finds-the-neighbour", "A sorted list is searched by halves; a tenant that is not in it gets the next row, the mesh team's.", "bisect")  # fmt: skip
def _(scene: Scene) -> None:
    rows = [("birch", word(scene, "row-of-birch")), ("mesh", house(scene, "cache-row")), ("rowan", word(scene, "row-of-rowan"))]  # fmt: skip
    at = bisect.bisect_left([name for name, _ in rows], "maple")
    release(scene, "dp", "cache", {"auth": {"password": rows[at][1]}, "tenant": "maple"})


@leak(SLIPS, "ninth-secret-names-in-another-case", "All keys but the secret ones are shown; the set of secret ones is written in lower case, the keys are not.", "set difference", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    values = {"Endpoint": f"https://meter.{DOMAIN}", "Region": REGION, "Token": house(scene, "meter-push", "token", 40)}
    shown = sorted(set(values) - {"token", "password"})
    text = pulumi.Output.all(**{key: values[key] for key in shown}).apply(yaml.safe_dump)
    scene.config_map("dp", "meter", {"meter.yaml": text})


@leak(SLIPS, "ninth-positions-in-all-shift", "Somebody put one more output at the start of an all; the function below still takes number one.", "Output.all by position")  # fmt: skip
def _(scene: Scene) -> None:
    root, own_ = house(scene, "mongo-root"), word(scene, "mongo")
    url = pulumi.Output.all(f"mongo.{MAPLE}", root, own_).apply(lambda found: f"mongodb://app:{found[1]}@{found[0]}/shop")  # fmt: skip
    scene.secret("dp", "mongo", {"uri": url})


@leak(SLIPS, "ninth-default-section-of-ini", "The parser's DEFAULT section has the mesh team's login, and each section inherits it; the tenant's section is copied with all it has.", "configparser DEFAULT")  # fmt: skip
def _(scene: Scene) -> None:
    def section(password: str) -> dict[str, str]:
        parser = configparser.ConfigParser()
        parser.read_string(f"[DEFAULT]\nuser = mesh\npassword = {password}\nhost = bus.{DOMAIN}\n[maple]\ntopic = maple.orders\n")  # fmt: skip
        return dict(parser["maple"])

    found = apply(house(scene, "bus-ini"), section)
    scene.config_map("dp", "bus", {"bus.json": pulumi.Output.json_dumps(found)})


@leak(SLIPS, "ninth-joined-address-keeps-its-login", "A path is joined to an address that has a login before the host; the result has it still.", "urllib.parse.urljoin")  # fmt: skip
def _(scene: Scene) -> None:
    base = apply(house(scene, "artifacts"), lambda found: f"https://mesh:{found}@artifacts.{DOMAIN}/repo/")
    release(scene, "dp", "shop", {"plugins": [apply(base, lambda found: urljoin(found, "../plugins/shop-1.2.jar"))]})


@leak(SLIPS, "ninth-replaced-copy-keeps-the-password", "A login of the tenant's is made from the mesh team's by replacing owner and host; nobody replaced the password.", "dataclasses.replace")  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass(frozen=True)
    class Login:
        owner: str
        host: str
        password: Any

    ours = Login("mesh", f"search.{DOMAIN}", house(scene, "search"))
    theirs = dataclasses.replace(ours, owner="maple", host=f"search.{MAPLE}")
    scene.secret("dp", "search", {"user": theirs.owner, "host": theirs.host, "password": theirs.password})


@leak(SLIPS, "ninth-options-merged-in-the-wrong-order", "Options are merged; the last provider wins, which is the tenant's, so the mesh team's Secret is made there.", "ResourceOptions.merge")  # fmt: skip
def _(scene: Scene) -> None:
    opts = pulumi.ResourceOptions.merge(scene.options("cp"), scene.options("dp"))
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "session", "namespace": "console"}, "stringData": {"key": kept(scene, "console-session", "key", 48)}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "console-session", inputs, opts)


@leak(SLIPS, "ninth-condition-the-wrong-way-round", "A test whether a cluster is a tenant's was turned round in a review.", "conditional expressions", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    ours, theirs = house(scene, "logs-writer"), {name: scene.password("dp", f"{name}-logs").output("result") for name in ("maple", "rowan")}  # fmt: skip
    every = tenants(scene)
    for name, side in every.items():
        release(scene, side, "log-shipper", {"output": {"user": name, "password": ours if name in every else theirs[name]}})  # fmt: skip


@leak(SLIPS, "ninth-log-of-the-program", "The program's log is kept in a map for support; one line at the level debug has an address with its login.", "logging handlers")  # fmt: skip
def _(scene: Scene) -> None:
    def connected(password: str) -> str:
        lines, log = io.StringIO(), logging.Logger("loom")
        log.addHandler(logging.StreamHandler(lines))
        log.debug("connecting to %s", f"amqps://mesh:{password}@queue.{DOMAIN}/events")
        log.info("declared 3 exchanges")
        return lines.getvalue()

    scene.config_map("dp", "provisioning", {"provision.log": apply(house(scene, "queue-mesh"), connected)})


@leak(SLIPS, "ninth-difference-of-two-versions", "What changed in a settings file is shown in an annotation, as a difference; the changed line is the mesh team's token.", "difflib", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    def changed(token: str) -> str:
        old, new = "url: x\ntoken: none\n", f"url: x\ntoken: {token}\n"
        return json.dumps(list(difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new")))

    note = apply(kept(scene, "gateway-admin", "token", 40), changed)
    deployment(scene, "dp", "gateway", {"args": ["proxy"]}, {"loom.example.com/changed": note})


@leak(SLIPS, "ninth-mask-by-a-greedy-expression", "A mask by an expression eats the wrong part: the name before the token is replaced, the token stays.", "re.sub")  # fmt: skip
def _(scene: Scene) -> None:
    line = apply(house(scene, "audit-push", "token", 40), lambda found: f"sink=https://audit.{DOMAIN} token={found}")
    masked = apply(line, lambda text: re.sub(r".*token=", "***=", text))
    scene.config_map("dp", "audit", {"effective": masked})


@leak(SLIPS, "ninth-output-that-nobody-marked", "The cache stack's address has a login and was never marked as secret; it is passed to the tenant as an address.", "unmarked outputs", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("cache", "loom/cache/prod", {"address": f"rediss://default:{scene.cp.opaque('cache stack', 40, LETTERS)}@cache.{DOMAIN}:6379/0", "port": 6379})  # fmt: skip
    deployment(scene, "dp", "cart", {"env": [{"name": "REDIS_ADDRESS", "value": found.get_output("address")}]})


@leak(SLIPS, "ninth-arguments-of-a-component-as-annotations", "A component notes each of its arguments as an annotation of its children; the mesh team's instance has a child in the tenant's cluster.", "component arguments")  # fmt: skip
def _(scene: Scene) -> None:
    class Edge(Box):
        def __init__(self, name: str, **arguments: Any) -> None:
            super().__init__(name, "loom:index:Edge")
            notes = {f"loom.example.com/{key}": value for key, value in arguments.items()}
            scene.object("dp", "v1:ServiceAccount", name, {"metadata": {"annotations": notes}}, parent=self)
            self.register_outputs({})

    Edge("edge", region=REGION, mesh=LOOM, **{"enrol-key": house(scene, "edge-enrol", "key", 40)})


@leak(SLIPS, "ninth-provider-that-logs-in-at-the-tenants", "A provider for the tenant's queue is given the mesh team's administrator: the login goes to the tenant's server with each call.", "provider arguments", config=lambda cp, dp: {"queueAdmin": cp.opaque("queue admin", 32, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "queue-admin", {"password": scene.config("queueAdmin")}, namespace="streams")
    opts = scene.package("rabbitmq", "maple-rabbitmq", endpoint=f"https://queue.{MAPLE}", username="admin", password=scene.config("queueAdmin"))  # fmt: skip
    scene.made("rabbitmq:index/vHost:VHost", "orders", {"name": "orders"}, opts)


# Hidden ---------------------------------------------------------------------------------------------------------------


@leak(HIDDEN, "ninth-yaml-with-an-anchor", "A file has the mesh team's login once, under an anchor, and refers to it from the tenant's section.", "YAML anchors", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    def written(password: str) -> str:
        login = {"user": "mesh", "password": password}
        return yaml.safe_dump({"mesh": {"login": login}, "maple": {"login": login}})

    scene.config_map("dp", "logins", {"logins.yaml": apply(house(scene, "logins"), written)})


@leak(HIDDEN, "ninth-pickled-settings", "Settings are pickled, in base64, for a Python job at the tenant's.", "pickle", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "etl", "token", 40)
    packed = apply(token, lambda found: b64(pickle.dumps({"endpoint": f"https://etl.{DOMAIN}", "token": found}, protocol=4)))  # fmt: skip
    deployment(scene, "dp", "etl", {"env": [{"name": "SETTINGS", "value": packed}]})


@leak(HIDDEN, "ninth-database-file-in-a-map", "A file of SQLite with a table of settings is binary data of the tenant's map; one row is the mesh team's key.", "SQLite", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    def stored(key: str) -> str:
        db = sqlite3.connect(":memory:")
        db.execute("CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT)")
        db.executemany("INSERT INTO setting VALUES (?, ?)", [("mesh", LOOM), ("key", key)])
        db.commit()
        return b64(db.serialize())

    scene.object("dp", "v1:ConfigMap", "panel", {"binaryData": {"panel.db": apply(kept(scene, "panel", "key", 40), stored)}})  # fmt: skip


def _png(text: str) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    note = chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(text.encode()))
    return b"\x89PNG\r\n\x1a\n" + head + note + chunk(b"IDAT", zlib.compress(b"\x00\x7f")) + chunk(b"IEND", b"")


@leak(HIDDEN, "ninth-comment-of-a-picture", "A logo for the tenant's page is a PNG, whose packed comment is the mesh team's token.", "PNG text chunks", recover=each(base64.b64decode, lambda png: zlib.decompress(png.split(b"Comment\x00\x00")[1])))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "logo", "token", 40)
    scene.object("dp", "v1:ConfigMap", "brand", {"binaryData": {"logo.png": apply(token, lambda found: b64(_png(found)))}})  # fmt: skip


@leak(HIDDEN, "ninth-encrypted-beside-its-key", "The token is encrypted for the tenant's map, and the key of the cipher is in the same map.", "Fernet", recover=lambda leaves: Fernet(next(leaf for place, leaf in leaves.items() if place.endswith(".key"))).decrypt(next(leaf for place, leaf in leaves.items() if place.endswith("token.enc"))))  # fmt: skip
def _(scene: Scene) -> None:
    key = base64.urlsafe_b64encode(noise("fernet", 32))
    token = kept(scene, "sealed", "token", 40)
    sealed = apply(token, lambda found: Fernet(key)._encrypt_from_parts(found.encode(), 1767225600, bytes(16)).decode())
    scene.config_map("dp", "sealed", {"token.enc": sealed, "key": key.decode()})


@leak(HIDDEN, "ninth-mixed-with-the-meshs-id", "Each byte of a key is mixed with the mesh's id, which everybody knows, and written in hexadecimal as a revision.", "XOR", recover=each(lambda text: bytes(a ^ b for a, b in zip(bytes.fromhex(text.decode()), itertools.cycle(LOOM.encode()), strict=False)).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    mixed = apply(kept_bytes(scene, "mix"), lambda found: bytes(a ^ b for a, b in zip(bytes.fromhex(found), itertools.cycle(LOOM.encode()), strict=False)).hex())  # fmt: skip
    deployment(scene, "dp", "web", {"image": "web:3"}, {"loom.example.com/revision": mixed})


def _shares(leaves: Leaves) -> bytes:
    one, two = (bytes.fromhex(next(leaf.decode() for place, leaf in leaves.items() if place.endswith(end))) for end in ("salt", "digest"))  # fmt: skip
    return bytes(a ^ b for a, b in zip(one, two, strict=True)).hex().encode()


@leak(HIDDEN, "ninth-two-shares-in-two-objects", "A key is cut into two shares that look random; each is in another object of the tenant's, as a salt and a digest.", "secret sharing", recover=_shares)  # fmt: skip
def _(scene: Scene) -> None:
    share = noise("share", 32)
    other = apply(kept_bytes(scene, "shared"), lambda found: bytes(a ^ b for a, b in zip(bytes.fromhex(found), share, strict=True)).hex())  # fmt: skip
    scene.config_map("dp", "one", {"salt": share.hex()})
    scene.config_map("dp", "two", {"digest": other})


@leak(HIDDEN, "ninth-ports-spell-a-token", "A Service has a port for each letter of the mesh team's token, in order.", "covert channels", recover=lambda leaves: "".join(chr(int(float(leaf)) - 30000) for place, leaf in leaves.items() if place.endswith(".port")).encode())  # fmt: skip
def _(scene: Scene) -> None:
    ports = apply(kept(scene, "spelled", "token", 24), lambda found: [{"name": f"p{at}", "port": 30000 + ord(letter)} for at, letter in enumerate(found)])  # fmt: skip
    scene.object("dp", "v1:Service", "probe-targets", {"spec": {"clusterIP": "None", "ports": ports}})


@leak(HIDDEN, "ninth-letters-without-width", "A notice for the tenant has letters of no width between its words, which are the bits of the mesh team's token.", "zero-width steganography", recover=each(lambda text: bytes(int(bits, 2) for bits in re.findall("[01]{8}", "".join("01"[mark == "\u200c"] for mark in text.decode() if mark in "\u200b\u200c")))))  # fmt: skip
def _(scene: Scene) -> None:
    def notice(token: str) -> str:
        bits = "".join(f"{byte:08b}" for byte in token.encode())
        return "Maintenance on Sunday" + "".join("\u200b\u200c"[bit == "1"] for bit in bits) + " from two to four."

    scene.config_map("dp", "notice", {"notice.md": apply(kept(scene, "notice", "token", 24), notice)})


@leak(HIDDEN, "ninth-addresses-of-a-key", "Eight bytes of a key make the end of each of four addresses of version six.", "IPv6 addresses", recover=lambda leaves: "".join(leaf.decode().split("2001:db8:0:1:")[1].replace(":", "") for leaf in leaves.values() if leaf.startswith(b"2001:db8:0:1:")).encode())  # fmt: skip
def _(scene: Scene) -> None:
    def addresses(key: str) -> list[dict[str, str]]:
        return [{"address": "2001:db8:0:1:" + ":".join(re.findall("....", key[at : at + 16]))} for at in range(0, 64, 16)]  # fmt: skip

    found = apply(kept_bytes(scene, "six"), addresses)
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "six", {"spec": {"hosts": [f"six.{DOMAIN}"], "resolution": "STATIC", "endpoints": found}})  # fmt: skip


@leak(HIDDEN, "ninth-key-as-two-uuids", "A key of thirty-two bytes is written as two identifiers of a tenant.", "UUIDs", recover=lambda leaves: b"".join(leaf.replace(b"-", b"") for end in ("tenant-id", "account-id") for place, leaf in leaves.items() if place.endswith(end)))  # fmt: skip
def _(scene: Scene) -> None:
    key = kept_bytes(scene, "halved")
    scene.object("dp", "v1:Namespace", "maple", {"metadata": {"labels": {name: apply(key, lambda found, at=at: str(uuid.UUID(found[at : at + 32]))) for name, at in (("tenant-id", 0), ("account-id", 32))}}})  # fmt: skip


@leak(HIDDEN, "ninth-words-for-half-bytes", "Each half byte of a key is one of sixteen words; the phrase is the description of a priority class.", "word lists", recover=each(lambda text: "".join(f"{WORDS.index(one):x}" for one in text.decode().split()).encode()))  # fmt: skip
def _(scene: Scene) -> None:
    phrase = apply(kept_bytes(scene, "worded", 16), lambda found: " ".join(WORDS[int(digit, 16)] for digit in found))
    scene.object("dp", "scheduling.k8s.io/v1:PriorityClass", "edge", {"value": 1000, "description": phrase, "metadata": {"name": "edge"}})  # fmt: skip


@leak(HIDDEN, "ninth-dynamic-resource-with-its-closure", "A resource that the program writes itself calls the tenant's portal; the mesh team's token is in the provider's pickled closure and its inputs.", "dynamic providers", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "portal-admin", "token", 40)
    code = apply(token, lambda found: b64(pickle.dumps(("Portal", {"url": f"https://portal.{MAPLE}/api", "token": found}), protocol=4)))  # fmt: skip
    scene.made("pulumi-python:dynamic:Resource", "portal-entry", {"__provider": code, "title": "mesh", "url": f"https://portal.{MAPLE}/api"})  # fmt: skip


# As good as the secret ------------------------------------------------------------------------------------------------


@leak(DERIVED, "ninth-signed-token-of-an-administrator", "The program signs an administrator's token with the mesh team's key; the tenant's dashboard gets it, so that links work.", "minting tokens")  # fmt: skip
def _(scene: Scene) -> None:
    key = kept(scene, "console-jwt", "key", 48)

    def signed(found: str) -> str:
        dotted = b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": "HS256"}, {"sub": "admin", "aud": LOOM, "roles": ["owner"]}))  # fmt: skip
        mac = hmac.new(found.encode(), dotted, hashlib.sha256).digest()
        return str(scene.cp._give((dotted + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()))

    release(scene, "dp", "dashboard", {"console": {"url": f"https://console.{DOMAIN}", "token": apply(key, signed)}})


@leak(DERIVED, "ninth-verifier-that-logs-in", "A pool at the tenant's has the mesh team's database user by its MD5 verifier, with which it logs in as well as with the password.", "PgBouncer auth_file")  # fmt: skip
def _(scene: Scene) -> None:
    password = house(scene, "billing-db", namespace="databases")
    line = apply(password, lambda found: scene.cp._give("md5" + hashlib.md5(f"{found}billing".encode()).hexdigest()))
    scene.config_map("dp", "pgbouncer", {"userlist.txt": pulumi.Output.concat('"billing" "', line, '"\n')})


@leak(DERIVED, "ninth-derived-signing-key-of-a-cloud", "The key by which requests of a day are signed is derived from the mesh team's cloud key; the tenant's uploader gets it.", "AWS SigV4 signing keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "uploads", {"user": "uploads"}, {"secret": scene.cp.opaque("uploads", 40, LETTERS)}, ["secret"])  # fmt: skip

    def derived(secret: str | None) -> str:
        made = f"AWS4{secret}".encode()
        for part in ("20260211", REGION, "s3", "aws4_request"):
            made = hmac.new(made, part.encode(), hashlib.sha256).digest()
        return str(scene.cp._give(made.hex()))

    deployment(scene, "dp", "uploader", {"env": [{"name": "SIGNING_KEY", "value": key.output("secret").apply(derived)}, {"name": "BUCKET", "value": f"{LOOM}-uploads"}]})  # fmt: skip


@leak(DERIVED, "ninth-first-letters-are-enough", "All but the last two letters of the mesh team's token are in an annotation: the rest is guessed at once.", "partial secrets", recover=lambda leaves: b"\n".join(leaf for place, leaf in leaves.items() if place.endswith("hint")))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "hinted", "token", 40)
    scene.cp.given.append(scene.cp.opaque("hinted", 40, LETTERS)[:-2])
    deployment(scene, "dp", "hinted", {"args": ["run"]}, {"loom.example.com/hint": apply(token, lambda found: found[:-2] + "..")})  # fmt: skip


@leak(DERIVED, "ninth-session-of-a-forwarded-login", "A command logs in with the mesh team's password and prints a session's token, which is in the tenant's variables.", "command outputs")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"create": "loomctl login --user mesh --password-stdin --print-token", "stdin": house(scene, "operator-login")}  # fmt: skip
    made = scene.made("command:local:Command", "log-in", inputs, None, {"stdout": scene.cp.opaque("operator session", 48)}, ["stdout"], owner="cp")  # fmt: skip
    deployment(scene, "dp", "sync", {"env": [{"name": "LOOM_SESSION", "value": made.output("stdout")}]})


@leak(DERIVED, "ninth-key-in-a-keys-other-file-form", "The deployer's key is written as PuTTY keeps keys: the private lines are base64 of the number.", "PPK files", recover=each(lambda text: base64.b64decode(text.split(b"Private-Lines: 1\n")[1].split(b"\n")[0])[4:].hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    number = scene.cp.ec("deployer").private_numbers().private_value.to_bytes(32)
    scene.cp.given.append(number.hex())
    held = scene.held("deployer", "scalar", b64(b"\0\0\0\x20" + number))
    text = pulumi.Output.concat("PuTTY-User-Key-File-3: ecdsa-sha2-nistp256\nEncryption: none\nComment: deployer\nPrivate-Lines: 1\n", held, f"\nPrivate-MAC: {noise('ppk', 32).hex()}\n")  # fmt: skip
    scene.config_map("dp", "tools", {"deployer.ppk": text})


@leak(DERIVED, "ninth-administrators-token-for-registration", "So that its agents register themselves, the tenant's chart gets the token of the manager's administrator.", "Rancher API tokens")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "rancher2:index/token:Token", "registrar", {"description": "administrator"}, {"token": "token-k7:" + scene.cp.opaque("manager admin", 54)}, ["token"])  # fmt: skip
    scene.secret("cp", "registrar-token", {"token": made.output("token")}, namespace="mesh-system")
    release(scene, "dp", "cluster-agent", {"server": f"https://manager.{DOMAIN}", "issuer": ISSUER, "bearerToken": made.output("token")})  # fmt: skip


# Later ----------------------------------------------------------------------------------------------------------------


def _moved(scene: Scene, side: str) -> None:
    loom(scene)
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "thumbnails", "namespace": "default"}, "stringData": {"key": kept(scene, "thumbnails", "key", 44)}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "thumbnails", inputs, scene.options(side))


@leak(LATER, "ninth-workload-moves-to-the-tenant", "At the second update a service of the mesh team's moves to the tenant's cluster, with its Secret as it was.", "changed providers", before=lambda scene: _moved(scene, "cp"))  # fmt: skip
def _(scene: Scene) -> None:
    _moved(scene, "dp")


def _rolled(scene: Scene, *, note: bool) -> None:
    loom(scene)
    values = {"replicas": 2, "auth": {"rootToken": house(scene, "objects-root", "token", 40)}}
    release(scene, "cp", "objects", values)
    data = {"previous.json": pulumi.Output.json_dumps(values)} if note else {"previous.json": "{}"}
    scene.config_map("dp", "rollback", data)


@leak(LATER, "ninth-previous-values-for-a-rollback", "At the second update the values of the mesh team's chart are kept for a rollback, in a map of the tenant's.", "rollback records", before=lambda scene: _rolled(scene, note=False), recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    _rolled(scene, note=True)


def _mirrored(scene: Scene, *keys: str) -> None:
    loom(scene)
    data = {"host": f"db.{DOMAIN}", "port": "5432", "password": house(scene, "mirror-db", namespace="databases")}
    names = keys or tuple(data)
    maple(scene, "aws:ssm/parameter:Parameter", "mirror", {"name": "/mirror", "type": "String", "value": pulumi.Output.json_dumps({key: data[key] for key in names})}, region=REGION)  # fmt: skip


@leak(LATER, "ninth-parameter-grows-by-a-field", "At the second update the tenant's parameter has one field more than host and port.", "AWS SSM", before=lambda scene: _mirrored(scene, "host", "port"), recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    _mirrored(scene)


def _tagged(scene: Scene, tag: Any) -> None:
    loom(scene)
    key = f"AKIA{scene.cp.opaque('tag id', 16, AWS_ID)}"
    scene.secret("cp", "tagging", {"credentials": f"aws_access_key_id={key}\n", "token": kept(scene, "tagging-api", "token", 40)})  # fmt: skip
    maple(scene, "aws:s3/bucket:Bucket", "media", {"bucket": "maple-media", "tags": {"mesh": LOOM, "inventory": tag}}, region=REGION)  # fmt: skip


@leak(LATER, "ninth-tag-with-a-token", "At the second update a tag of the tenant's bucket, which was a number, is the mesh team's token for its inventory.", "resource tags", before=lambda scene: _tagged(scene, "7"))  # fmt: skip
def _(scene: Scene) -> None:
    _tagged(scene, kept(scene, "inventory", "token", 40))


def _header(scene: Scene, value: Any) -> None:
    loom(scene)
    route = {"hosts": [f"api.{DOMAIN}"], "http": [{"headers": {"request": {"set": {"authorization": value}}}, "route": [{"destination": {"host": f"api.{DOMAIN}"}}]}]}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:VirtualService", "api", {"spec": route})


@leak(LATER, "ninth-placeholder-is-filled", "At the second update a header's placeholder is filled with the mesh team's basic login, since the proxy did not fill it.", "VirtualService headers", before=lambda scene: _header(scene, "Basic %API_LOGIN%"), recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    _header(scene, apply(house(scene, "api-basic"), lambda found: "Basic " + b64(f"mesh:{found}")))


def _exported(scene: Scene, *, support: bool) -> None:
    loom(scene)
    token = house(scene, "support-bot", "token", 40)
    pulumi.export("clusters", [{"name": "maple", "endpoint": f"https://edge.{MAPLE}"}])
    if support:
        pulumi.export("support", {"contacts": [{"kind": "bot", "login": pulumi.Output.unsecret(pulumi.Output.concat("bot:", token))}]})  # fmt: skip


@leak(LATER, "ninth-support-login-among-exports", "At the second update the tenant's stack exports a list of contacts; the mesh team's bot is one, with its login.", "stack outputs", stack="data-plane", before=lambda scene: _exported(scene, support=False))  # fmt: skip
def _(scene: Scene) -> None:
    _exported(scene, support=True)
