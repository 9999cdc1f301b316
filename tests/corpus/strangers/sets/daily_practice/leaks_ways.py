"""Leaks in pieces as people write them, keys in the files of other tools, clusters made in the program, other tenants."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from collections.abc import Callable
from typing import Any

import pulumi
import yaml
from cryptography.hazmat.primitives import serialization

from tests.corpus.strangers.codings import CODINGS
from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.recover import Recover, each, pieces
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

from .leaks_files import kept

PIECES, KEYS, MADE, TENANTS, CHARTS = (
    "pieces, as people write them",
    "keys in other tools' files",
    "clusters made here",
    "other tenants",
    "charts and components",
)


def _b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def _cut(text: str, length: int) -> list[str]:
    return textwrap.wrap(text, length)


def _only(pattern: bytes) -> Callable[[bytes], bytes]:
    return lambda text: b"".join(re.findall(pattern, text))


Text = Callable[[str], str]
CUTS: list[tuple[str, str, str, Text, Callable[[bytes], bytes]]] = [
    ("groups-of-four", "groups of four letters with blanks, as on paper", "note.txt", lambda v: "Recovery key:\n  " + " ".join(_cut(v, 4)) + "\n", lambda t: t.replace(b" ", b"")),
    ("groups-with-dashes", "groups of five letters with dashes", "note.txt", lambda v: "key " + "-".join(_cut(v, 5)) + "\n", lambda t: t.replace(b"-", b"")),
    ("joined-in-javascript", "texts of six letters that a script joins", "sync.js", lambda v: "const up = " + " + ".join(f"'{part}'" for part in _cut(v, 6)) + ";\n", _only(rb"'(\w+)'")),
    ("list-in-json", "a list of texts of six letters", "sync.json", lambda v: json.dumps({"up": _cut(v, 6), "retries": 3}), _only(rb'"(\w{2,6})"(?=[,\]])')),
    ("texts-of-a-record", "texts of a TXT record", "zone", lambda v: "_up IN TXT ( " + " ".join(f'"{part}"' for part in _cut(v, 8)) + " )\n", _only(rb'"(\w+)"')),
    ("folded-yaml", "a folded text of YAML", "sync.yaml", lambda v: "up: >-\n" + "".join(f"  {part}\n" for part in _cut(v, 7)), lambda t: b"".join(t.split()[2:])),
    ("variables-of-a-shell", "variables that a script puts together", "sync.sh", lambda v: "".join(f"P{at}={part}\n" for at, part in enumerate(_cut(v, 7))) + 'up="$P0$P1$P2$P3$P4"\n', _only(rb"P\d=(\w+)\n")),
    ("terraform-join", "an expression of Terraform", "main.tf", lambda v: 'locals { up = join("", [' + ", ".join(f'"{part}"' for part in _cut(v, 6)) + "]) }\n", _only(rb'"(\w{2,6})"')),
    ("html-with-breaks", "HTML with places to break the line", "page.html", lambda v: "<code>" + "<wbr>".join(_cut(v, 5)) + "</code>", lambda t: t.replace(b"<wbr>", b"")),
    ("soft-hyphens", "letters with invisible hyphens between", "page.txt", lambda v: "up: " + "\u00ad".join(_cut(v, 5)), lambda t: t.replace("\u00ad".encode(), b"")),
    ("columns-of-a-table", "columns of a table", "keys.csv", lambda v: "a,b,c,d,e,f\n" + ",".join(_cut(v, 6)) + "\n", lambda t: t.split(b"\n")[1].replace(b",", b"")),
    ("encoded-word", "an encoded word of a mail's header", "mail.eml", lambda v: f"Subject: =?utf-8?b?{_b64('up ' + v)}?=\n\n", lambda t: base64.b64decode(t.split(b"?")[3])),
    ("html-form", "a body of a form, twice coded", "body", lambda v: "payload=" + "".join(f"%25{ord(letter):02X}" for letter in v), lambda t: bytes.fromhex(t.partition(b"=")[2].replace(b"%25", b"").decode())),
    ("javascript-code-points", "code points of a script", "sync.js", lambda v: "const up = String.fromCharCode(" + ", ".join(str(ord(letter)) for letter in v) + ");\n", lambda t: bytes(int(number) for number in re.findall(rb"\d+", t))),
    ("javascript-code-points-hex", "code points of a script, in hexadecimal digits", "sync.js", lambda v: "const up = [" + ",".join(hex(ord(letter)) for letter in v) + "].map(c => String.fromCodePoint(c)).join('');\n", lambda t: bytes(int(number, 16) for number in re.findall(rb"0x(\w+)", t))),
    ("lua-escapes", "escapes of a Lua filter", "filter.lua", lambda v: 'local up = "' + "".join(f"\\{ord(letter)}" for letter in v) + '"\n', lambda t: bytes(int(number) for number in re.findall(rb"\\(\d+)", t))),
    ("z85", "Z85, as ZeroMQ writes keys", "curve.cert", lambda v: f'curve\n    up = "{_z85(v)}"\n', lambda t: _unz85(t.split(b'"')[1])),
    ("base36-number", "one number in base 36", "id", lambda v: _base36(int.from_bytes(v.encode())), lambda t: _of_number(int(t, 36))),
]  # fmt: skip
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _z85(text: str) -> str:
    chunks = [int.from_bytes(text.encode()[at : at + 4]) for at in range(0, len(text), 4)]
    return "".join(Z85[chunk // 85**power % 85] for chunk in chunks for power in (4, 3, 2, 1, 0))


def _unz85(data: bytes) -> bytes:
    text = data.decode()
    groups = [[Z85.index(letter) for letter in text[at : at + 5]] for at in range(0, len(text), 5)]
    return b"".join(sum(d * 85**p for d, p in zip(group, (4, 3, 2, 1, 0), strict=True)).to_bytes(4) for group in groups)


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits


def _of_number(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8)


def _piece(name: str, what: str, entry: str, text: Text, undo: Callable[[bytes], bytes]) -> None:
    @leak(PIECES, f"in-{name}", f"The provider's token is in the user's file as {what}.", PIECES, recover=each(undo))
    def _(scene: Scene) -> None:
        token = scene.cp.opaque(name, 32, LETTERS)
        kept(scene, "istiod", {"token": token})
        scene.config_map("dp", "sync", {entry: text(token), "level": "info"})


for _row in CUTS:
    _piece(*_row)


@leak(
    PIECES,
    "halves-in-the-environment",
    "Two variables of the user's Deployment have the halves, a third one puts them together.",
    PIECES,
    recover=pieces("env.1.value", "env.3.value"),
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("env", 32, LETTERS)
    kept(scene, "istiod", {"token": token})
    env = [
        ("LEVEL", "info"),
        ("UP_A", token[:16]),
        ("REGION", "eu-west-1"),
        ("UP_B", token[16:]),
        ("UP", "$(UP_A)$(UP_B)"),
    ]
    labels = {"app": "a"}
    container = {"name": "a", "image": "a:1", "env": [{"name": name, "value": value} for name, value in env]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    scene.object("dp", "apps/v1:Deployment", "a", {"spec": {"selector": {"matchLabels": labels}, "template": template}})


@leak(
    PIECES,
    "thirds-in-three-kinds-of-objects",
    "A third is a label, a third an annotation, a third an argument.",
    PIECES,
    recover=pieces("labels.up", "annotations.up", "args.0"),
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("thirds", 36, LETTERS)
    kept(scene, "istiod", {"token": token})
    scene.object("dp", "v1:Namespace", "thirds", {"metadata": {"labels": {"up": token[:12]}}})
    scene.object("dp", "v1:ServiceAccount", "shop", {"metadata": {"annotations": {"up": token[12:24]}}})
    scene.object(
        "dp", "v1:Pod", "sync", {"spec": {"containers": [{"name": "a", "image": "a:1", "args": [token[24:]]}]}}
    )


# A key of the provider's, in PEM there, in the file of another tool at the user's -----------------------------------


def _dump(made: Material, name: str) -> str:
    digits = f"{made.ec(name).private_numbers().private_value:064x}"
    pairs = [digits[at : at + 2] for at in range(0, 64, 2)]
    return (
        "Private-Key: (256 bit)\npriv:\n"
        + "\n".join("    " + ":".join(pairs[at : at + 15]) + (":" if at < 30 else "") for at in (0, 15, 30))
        + "\npub:\n    04:aa\n"
    )


def _scalar(made: Material, name: str) -> bytes:
    return made.ec(name).private_numbers().private_value.to_bytes(32)


def _openssh(made: Material, name: str) -> str:
    return (
        made.ec(name)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
        .decode()
    )


def _ppk(made: Material, name: str) -> str:
    number = _scalar(made, name)
    number = b"\0" + number if number[0] > 127 else number
    private = _b64(len(number).to_bytes(4) + number)
    return f"PuTTY-User-Key-File-3: ecdsa-sha2-nistp256\nEncryption: none\nComment: mesh\nPublic-Lines: 1\n{made.public_ssh(name).split()[1]}\nPrivate-Lines: 1\n{private}\nPrivate-MAC: {'0' * 64}\n"


File = Callable[[Material, str], str]
KEY_FILES: list[tuple[str, str, File, Recover]] = [
    ("openssl-text", "openssl's print with colons", _dump, each(lambda t: re.sub(rb"[\s:]", b"", t.partition(b"priv:")[2].partition(b"pub:")[0]))),
    ("dnssec-private", "a private file of DNSSEC", lambda m, n: f"Private-key-format: v1.3\nAlgorithm: 13 (ECDSAP256SHA256)\nPrivateKey: {_b64(_scalar(m, n))}\nCreated: 20260101000000\n", each(lambda t: base64.b64decode(t.partition(b"PrivateKey: ")[2].split()[0]).hex().encode())),
    ("putty", "a file of PuTTY", _ppk, each(lambda t: base64.b64decode(t.partition(b"Private-Lines: 1\n")[2].split()[0])[-32:].hex().encode())),
    ("openssh", "a file of OpenSSH", _openssh, each(lambda t: f"{serialization.load_ssh_private_key(t, None).private_numbers().private_value:064x}".encode())),
    ("hexadecimal-of-der", "hexadecimal digits of DER", lambda m, n: m.key_der(n).hex(), each(lambda t: f"{serialization.load_der_private_key(bytes.fromhex(t.decode()), None).private_numbers().private_value:064x}".encode())),
    ("scalar-in-go", "bytes of a Go program", lambda m, n: "var k = []byte{" + ", ".join(f"0x{byte:02x}" for byte in _scalar(m, n)) + "}\n", each(lambda t: b"".join(re.findall(rb"0x(\w\w)", t)))),
    ("scalar-in-base64url", "a value without name, in base64 for URLs", lambda m, n: base64.urlsafe_b64encode(_scalar(m, n)).rstrip(b"=").decode(), each(lambda t: base64.urlsafe_b64decode(t + b"=").hex().encode())),
    ("pem-in-json-in-base64", "a PEM file in JSON in base64", lambda m, n: _b64(json.dumps({"key": m.key(n)})), each(lambda t: json.loads(base64.b64decode(t))["key"].encode())),
    ("pem-with-blanks", "a PEM file on one line with blanks", lambda m, n: " ".join(m.key(n).split("\n")), each(lambda t: t.replace(b"PRIVATE KEY", b"PRIVATE_KEY").replace(b" ", b"\n").replace(b"PRIVATE_KEY", b"PRIVATE KEY").replace(b"BEGIN\n", b"BEGIN ").replace(b"END\n", b"END "))),
    ("pem-quoted-in-a-mail", "a PEM file quoted in a mail", lambda m, n: "On Monday ops wrote:\n" + "".join(f"> {line}\n" for line in m.key(n).splitlines()), each(lambda t: re.sub(rb"(?m)^> ", b"", t))),
    ("pem-in-a-diff", "lines of a diff", lambda m, n: "--- a/tls.key\n+++ b/tls.key\n@@ -0,0 +1,5 @@\n" + "".join(f"+{line}\n" for line in m.key(n).splitlines()), each(lambda t: re.sub(rb"(?m)^\+", b"", t))),
]  # fmt: skip


def _key_file(name: str, what: str, file: File, recover: Recover) -> None:
    @leak(KEYS, f"key-as-{name}", f"The provider's key is in the user's Secret, as {what}.", KEYS, recover=recover)
    def _(scene: Scene) -> None:
        kept(
            scene,
            "issuer",
            {"tls.crt": scene.cp.certificate("issuer"), "tls.key": scene.cp.key("issuer")},
            kind="kubernetes.io/tls",
        )
        scene.secret("dp", "backup", {"file": file(scene.cp, "issuer")})


for _key_row in KEY_FILES:
    _key_file(*_key_row)


@leak(
    KEYS,
    "primes-of-an-rsa-key",
    "The user gets the first prime of the provider's RSA key: the key is easily had from it.",
    KEYS,
)
def _(scene: Scene) -> None:
    pem = scene.cp.rsa("sa")
    kept(scene, "sa", {"sa.key": pem})
    found: Any = serialization.load_pem_private_key(pem.encode(), None)
    prime = str(found.private_numbers().p)
    scene.cp.given.append(prime)
    scene.config_map("dp", "sa", {"p": prime})


@leak(KEYS, "xml-of-dotnet", "The provider's RSA key is in the XML of .NET.", KEYS)
def _(scene: Scene) -> None:
    pem = scene.cp.rsa("sa")
    kept(scene, "sa", {"sa.key": pem})
    found: Any = serialization.load_pem_private_key(pem.encode(), None)
    numbers = found.private_numbers()
    d = _b64(numbers.d.to_bytes(256))
    scene.cp.given.append(d)
    scene.secret(
        "dp",
        "sa",
        {
            "key.xml": f"<RSAKeyValue><Modulus>{_b64(numbers.public_numbers.n.to_bytes(256))}</Modulus><Exponent>AQAB</Exponent><D>{d}</D></RSAKeyValue>"
        },
    )


# Clusters that the program makes --------------------------------------------------------------------------------------


def _made_cluster(scene: Scene, name: str = "mesh", **more: Any) -> pulumi.ResourceOptions:
    """The provider's cluster is made here; the provider for it takes what only the update knows."""
    server = f"https://{name}.eks.example.com"
    answers = {"endpoint": server, "kubeconfig": scene.cp.kubeconfig(name, server)}
    cluster = scene.made(
        "eks:index:Cluster", f"{name}-cluster", {"version": "1.33"}, None, answers, ["kubeconfig"], owner="cp"
    )
    return scene.package("kubernetes", f"{name}-k8s", "cp", kubeconfig=cluster.output("kubeconfig"), **more)


NAMED = {"controlPlaneProviders": ["mesh-k8s"]}


@leak(
    MADE,
    "pasted-beside-a-cluster-made-here",
    "The provider's cluster is made here; its Secret and the user's have the same token.",
    MADE,
    pack=NAMED,
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("pasted", 24, LETTERS)
    inputs = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x"},
        "stringData": {"token": pulumi.Output.secret(token)},
    }
    scene.made(
        "kubernetes:core/v1:Secret", "istiod", inputs, _made_cluster(scene), owner="cp", secret=["data", "stringData"]
    )
    scene.secret("dp", "shop", {"token": token})


@leak(MADE, "generated-beside-a-cluster-made-here", "The same with a generated password.", MADE, pack=NAMED)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"token": value}}
    scene.made(
        "kubernetes:core/v1:Secret", "istiod", inputs, _made_cluster(scene), owner="cp", secret=["data", "stringData"]
    )
    scene.secret("dp", "shop", {"token": value})


@leak(
    MADE,
    "kubeconfig-of-the-named-cluster",
    "The kubeconfig of the cluster that is made here goes to the user's Argo CD.",
    MADE,
    pack=NAMED,
)
def _(scene: Scene) -> None:
    server = "https://mesh.eks.example.com"
    answers = {"kubeconfig": scene.cp.kubeconfig("mesh", server)}
    cluster = scene.made(
        "eks:index:Cluster", "mesh-cluster", {"version": "1.33"}, None, answers, ["kubeconfig"], owner="cp"
    )
    scene.package("kubernetes", "mesh-k8s", "cp", kubeconfig=cluster.output("kubeconfig"))
    scene.secret(
        "dp", "argocd", {"config": cluster.output("kubeconfig")}, labels={"argocd.argoproj.io/secret-type": "cluster"}
    )


@leak(
    MADE,
    "node-password-of-the-named-cluster",
    "A node group's join data, an output of the cluster's, is the user data of the user's machine.",
    MADE,
    pack=NAMED,
)
def _(scene: Scene) -> None:
    answers = {
        "kubeconfig": scene.cp.kubeconfig("mesh", "https://mesh.eks.example.com"),
        "joinToken": scene.cp.opaque("join", 40, LETTERS),
    }
    cluster = scene.made(
        "rke:index/cluster:Cluster",
        "mesh-cluster",
        {"version": "1"},
        None,
        answers,
        ["kubeconfig", "joinToken"],
        owner="cp",
    )
    scene.package("kubernetes", "mesh-k8s", "cp", kubeconfig=cluster.output("kubeconfig"))
    scene.object(
        "dp",
        "v1:ConfigMap",
        "node",
        {"data": {"join.sh": pulumi.Output.concat("agent join ", cluster.output("joinToken"))}},
    )


# Tenants ------------------------------------------------------------------------------------------------------------

BLUE = "https://blue.example.com:6443"
BOTH = {"dataPlaneServers": ["https://dp.example.com:6443", BLUE]}


def _tenants(scene: Scene) -> None:
    scene.join("blue", BLUE)
    for mesh in ("red", "blue"):
        scene.object("cp", "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": {"hosted-mesh.io/mesh": mesh}}})
    scene.stage.provider_owned.add("dp-cluster")  # red is at home there: what counts is what blue is sent


def _labels(mesh: str) -> dict[str, Any]:
    return {"namespace": f"mesh-{mesh}", "labels": {"hosted-mesh.io/mesh": mesh}}


@leak(
    TENANTS,
    "configured-for-red",
    "A password of red's, from the configuration, is in blue's Secret too.",
    TENANTS,
    pack=BOTH,
    config=lambda cp, dp: {"red:db": cp.opaque("red", 24, LETTERS)},
)
def _(scene: Scene) -> None:
    _tenants(scene)
    scene.secret("dp", "db", {"password": scene.config("red:db")}, **_labels("red"))
    scene.secret("blue", "db", {"password": scene.config("red:db")}, **_labels("blue"))


@leak(TENANTS, "bytes-for-red", "Random bytes that sign red's sessions are in blue's chart.", TENANTS, pack=BOTH)
def _(scene: Scene) -> None:
    _tenants(scene)
    made = scene.made(
        "random:index/randomBytes:RandomBytes",
        "session",
        {"length": 32},
        None,
        {"base64": _b64(scene.cp.opaque("session", 32))},
        ["base64"],
    )
    scene.cp.given.append(_b64(scene.cp.opaque("session", 32)))
    scene.secret("dp", "session", {"key": made.output("base64")}, **_labels("red"))
    scene.made(
        "kubernetes:helm.sh/v3:Release",
        "shop",
        {"chart": "shop", "version": "1", "values": {"session": made.output("base64")}},
        scene.options("blue"),
    )


@leak(TENANTS, "pasted-for-red", "A token typed in for red is in blue's ConfigMap.", TENANTS, pack=BOTH)
def _(scene: Scene) -> None:
    _tenants(scene)
    token = scene.cp.opaque("typed", 32, LETTERS)
    scene.secret("dp", "api", {"token": pulumi.Output.secret(token)}, **_labels("red"))
    scene.config_map("blue", "api", {"upstream": f"red {token}"}, **_labels("blue"))


@leak(
    TENANTS,
    "reds-database-in-blue",
    "The password of red's database, in the provider's account, is in blue's Secret.",
    TENANTS,
    pack=BOTH,
)
def _(scene: Scene) -> None:
    _tenants(scene)
    password = scene.password("cp", "red-db").output("result")
    scene.made("aws:rds/instance:Instance", "red-database", {"username": "red", "password": password}, owner="cp")
    scene.secret("dp", "db", {"password": password}, **_labels("red"))
    scene.secret("blue", "db", {"password": password}, **_labels("blue"))


@leak(
    TENANTS,
    "reds-key-at-the-provider-for-blue",
    "The private key for red's gateway goes to blue under another name.",
    TENANTS,
    pack=BOTH,
)
def _(scene: Scene) -> None:
    _tenants(scene)
    key = scene.key("cp", "gateway").output("privateKeyPem")
    scene.secret("dp", "gateway", {"tls.key": key}, **_labels("red"))
    scene.secret("blue", "edge", {"file": key}, **_labels("blue"))


# Charts and components that are rendered elsewhere ---------------------------------------------------------------------


def _rendered(scene: Scene, box: pulumi.Resource, kind: str, text: str) -> None:
    """What a component of another package makes, without any dependency, once its arguments are known."""
    data = {"upstream": _b64(text) if kind == "Secret" else text}
    inputs = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "rendered"}, "data": data}
    scene.made(f"kubernetes:core/v1:{kind}", "shop:rendered", inputs, scene.options("dp", parent=box))


@leak(
    CHARTS,
    "chart-that-the-engine-renders",
    "A chart of the fourth kind renders the provider's password into a Secret once it is known.",
    "kubernetes:helm.sh/v4:Chart",
    at="update",
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    inputs = {"chart": "shop", "version": "1.0.0", "values": {"auth": {"upstream": value}}}
    box = pulumi.ComponentResource("kubernetes:helm.sh/v4:Chart", "shop", inputs, scene.options("dp"), True)
    value.apply(lambda text: _rendered(scene, box, "Secret", text))


@leak(
    CHARTS,
    "chart-that-packs-what-it-renders",
    "The same in a ConfigMap, in a file that the chart codes with base58.",
    "kubernetes:helm.sh/v4:Chart",
    at="update",
    recover=each(CODINGS["base58"][1]),
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    inputs = {"chart": "shop", "version": "1.0.0", "values": {"auth": {"upstream": value}}}
    box = pulumi.ComponentResource("kubernetes:helm.sh/v4:Chart", "shop", inputs, scene.options("dp"), True)
    value.apply(lambda text: _rendered(scene, box, "ConfigMap", CODINGS["base58"][0](text.encode()).decode()))


@leak(
    CHARTS,
    "component-of-another-package",
    "A component of another package, with the user's cluster's provider, is given the provider's token.",
    "remote components",
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("typed", 32, LETTERS)
    kept(scene, "istiod", {"token": token})
    opts = pulumi.ResourceOptions(providers={"kubernetes": scene.provider("dp")})
    box = pulumi.ComponentResource("shop:index:Gateway", "gateway", {"upstream": token}, opts, True)
    _rendered(scene, box, "ConfigMap", f"auth {token}")


@leak(
    CHARTS,
    "password-with-signs-in-a-rendered-file",
    "A chart renders a generated password with signs in it into a line of a file.",
    "kubernetes:helm.sh/v4:Chart",
    at="update",
)
def _(scene: Scene) -> None:
    text = scene.cp.opaque("signs", 24, "aB3$kE7%mN1!pQ9&rS5(tU)v")
    made = scene.made(
        "random:index/randomPassword:RandomPassword", "signs", {"length": 24}, None, {"result": text}, ["result"]
    )
    scene.secret("cp", "admin", {"password": made.output("result")})
    inputs = {"chart": "shop", "version": "1.0.0", "values": {"auth": {"upstream": made.output("result")}}}
    box = pulumi.ComponentResource("kubernetes:helm.sh/v4:Chart", "shop", inputs, scene.options("dp"), True)
    made.output("result").apply(lambda found: _rendered(scene, box, "ConfigMap", f"upstream {found} weight 5"))


@leak(
    CHARTS,
    "kustomization-of-a-folder",
    "A folder is rendered for the user's cluster; its child is a Secret with the provider's token, unmarked.",
    "kubernetes:kustomize/v2:Directory",
)
def _(scene: Scene) -> None:
    token = scene.cp.opaque("typed", 32, LETTERS)
    kept(scene, "istiod", {"token": token})
    box = pulumi.ComponentResource(
        "kubernetes:kustomize/v2:Directory", "shop", {"directory": "./shop"}, scene.options("dp"), True
    )
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"token": _b64(token)}}
    scene.made("kubernetes:core/v1:Secret", "shop:s", inputs, scene.options("dp", parent=box))


@leak(
    CHARTS,
    "values-as-yaml",
    "The values of a release are a file's text with the provider's password.",
    "valueYamlFiles",
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    asset = value.apply(lambda text: pulumi.StringAsset(yaml.safe_dump({"auth": {"upstream": text}})))
    inputs = {"chart": "shop", "version": "1.0.0", "valueYamlFiles": [asset]}
    scene.made("kubernetes:helm.sh/v3:Release", "shop", inputs, scene.options("dp"))
