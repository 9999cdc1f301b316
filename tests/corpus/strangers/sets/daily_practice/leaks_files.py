"""Leaks of daily practice: the same secret in two kinds of files, addresses that are credentials, tokens of services."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

import pulumi

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.recover import as_written, each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

OTHER_FILES, ESCAPES, ADDRESSES, TOKENS = "another kind of file", "escapes", "addresses that open", "tokens of services"
Entries = Callable[[str], dict[str, Any]]


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kept(scene: Scene, name: str, data: dict[str, Any], **more: Any) -> None:
    """A Secret of the provider's, as a program writes it."""
    scene.secret("cp", name, {key: pulumi.Output.secret(value) for key, value in data.items()}, **more)


# A password of fourteen letters is in a file of the provider's, and by itself in the user's Secret.
SOURCES: list[tuple[str, str, str, Callable[[str], str]]] = [
    ("oracle-address", "an Oracle JDBC address", "url", lambda v: f"jdbc:oracle:thin:mesh/{v}@db.example.com:1521/mesh"),
    ("sqlserver-address", "an address of SQL Server", "dsn", lambda v: f"sqlserver://db.example.com:1433;databaseName=mesh;user=mesh;password={v};encrypt=true"),
    ("kafka-login-module", "a login module of Kafka", "jaas.conf", lambda v: f'KafkaClient {{\n  org.apache.kafka.common.security.scram.ScramLoginModule required\n  username="mesh"\n  password="{v}";\n}};\n'),
    ("go-mysql-address", "a data source name of Go's MySQL driver", "dsn", lambda v: f"mesh:{v}@tcp(db.example.com:3306)/mesh?parseTime=true"),
    ("libpq-address", "a connection string of libpq", "dsn", lambda v: f"host=db.example.com user=mesh password='{v}' dbname=mesh sslmode=verify-full"),
    ("ldif", "an LDIF file, in base64", "users.ldif", lambda v: f"dn: cn=mesh,dc=example,dc=com\nobjectClass: person\nuserPassword:: {_b64(v)}\n"),
    ("sql-script", "an SQL script", "init.sql", lambda v: f"CREATE DATABASE mesh;\nCREATE USER mesh WITH LOGIN PASSWORD '{v}';\nGRANT ALL ON DATABASE mesh TO mesh;\n"),
    ("redis-users", "an ACL file of Redis", "users.acl", lambda v: f"user default off\nuser mesh on >{v} ~mesh:* +@all\n"),
    ("runner-toml", "a GitLab runner's file", "config.toml", lambda v: f'concurrent = 4\n[[runners]]\n  name = "mesh"\n  url = "https://git.example.com"\n  token = "{v}"\n  executor = "kubernetes"\n'),
    ("php-settings", "settings in PHP", "config.php", lambda v: f"<?php\n$databases['default'] = ['username' => 'mesh', 'pass' => '{v}', 'host' => 'db'];\n"),
    ("haproxy-userlist", "a user list of HAProxy", "haproxy.cfg", lambda v: f"userlist mesh\n  user admin insecure-password {v}\nfrontend stats\n  bind :9000\n"),
    ("crontab", "a line of a crontab", "crontab", lambda v: f"SHELL=/bin/sh\n*/5 * * * * curl -su mesh:{v} https://istiod.example.com/debug/syncz >/dev/null\n"),
    ("cifs-mount", "options of a mount", "fstab", lambda v: f"//nas.example.com/mesh /mnt cifs username=mesh,password={v},vers=3.0 0 0\n"),
    ("django-settings", "settings in Python", "settings.py", lambda v: f"DEBUG = False\nALLOWED_HOSTS = ['*']\nDATABASES = {{'default': {{'USER': 'mesh', 'PASSWORD': '{v}', 'HOST': 'db'}}}}\n"),
    ("grafana-ini", "a Grafana file with three quotes", "grafana.ini", lambda v: f'[security]\nadmin_user = admin\nadmin_password = """{v}"""\n'),
    ("docker-login", "a registry's login, in base64", ".dockerconfigjson", lambda v: json.dumps({"auths": {"registry.example.com": {"auth": _b64(f"robot:{v}")}}})),
    ("helm-values", "a chart's values", "values.yaml", lambda v: f"global:\n  hub: registry.example.com\nauth:\n  rootUser: admin\n  rootPassword: {v}\n"),
    ("ansible-inventory", "an inventory of Ansible", "hosts", lambda v: f"[masters]\ncp1 ansible_host=192.0.2.7 ansible_user=ops ansible_become_password={v}\n"),
    ("terraform-variables", "variables of Terraform", "terraform.tfvars", lambda v: f'region     = "eu-west-1"\nadmin_pass = "{v}"\n'),
    ("systemd-credential", "a unit of systemd", "agent.service", lambda v: f'[Service]\nEnvironment="XDS_USER=mesh" "XDS_PASS={v}"\nExecStart=/usr/bin/agent\n'),
]  # fmt: skip


def _source(name: str, what: str, entry: str, text: Callable[[str], str]) -> None:
    why = f"A password of the provider's is in {what}; the user's Secret has the password by itself."

    @leak(OTHER_FILES, f"password-out-of-{name}", why, OTHER_FILES)
    def _(scene: Scene) -> None:
        value = scene.cp.opaque(name, 14, LETTERS)
        kept(scene, "platform", {entry: text(value)})
        scene.secret("dp", "shop", {"username": "mesh", "password": value})


for _given in SOURCES:
    _source(*_given)

# A password with signs in it, and what a file's format makes of the signs.
DISGUISES: list[tuple[str, str, str, Callable[[str], str], Callable[[bytes], bytes]]] = [
    ("compose", "a compose file, where a dollar is written twice", "docker-compose.yaml", lambda v: "services:\n  sync:\n    environment:\n      UPSTREAM: '" + v.replace("$", "$$") + "'\n", lambda t: t.replace(b"$$", b"$")),
    ("systemd", "a unit, where a percent sign is written twice", "sync.service", lambda v: "[Service]\nEnvironment=UPSTREAM=" + v.replace("%", "%%") + "\n", lambda t: t.replace(b"%%", b"%")),
    ("sql", "SQL, where a quote is written twice", "init.sql", lambda v: "INSERT INTO peers VALUES ('istiod', '" + v.replace("'", "''") + "');\n", lambda t: t.replace(b"''", b"'")),
    ("shell", "a shell script, where a quote ends the text and begins it again", "sync.sh", lambda v: "#!/bin/sh\nexport UPSTREAM='" + v.replace("'", "'\\''") + "'\n", lambda t: t.replace(b"'\\''", b"'")),
    ("shell-backslashes", "a shell script without quotes", "sync.sh", lambda v: "sync " + re.sub(r"([^A-Za-z0-9])", r"\\\1", v) + "\n", lambda t: t.replace(b"\\", b"")),
    ("crontab", "a crontab, where a percent sign has a backslash", "crontab", lambda v: "@daily sync " + v.replace("%", "\\%") + "\n", lambda t: t.replace(b"\\%", b"%")),
    ("properties", "Java properties", "sync.properties", lambda v: "upstream.auth=" + re.sub(r"([=:#!&$%'])", lambda m: f"\\u{ord(m[0]):04x}", v) + "\n", lambda t: t.decode("unicode_escape").encode()),
    ("helm-set", "an argument of helm, where a comma has a backslash", "deploy.sh", lambda v: "helm upgrade shop shop/shop --set upstream=" + v.replace(",", "\\,") + "\n", lambda t: t.replace(b"\\,", b",")),
    ("xml", "XML, with numbers for signs", "sync.xml", lambda v: "<peer auth=\"" + re.sub(r"[^A-Za-z0-9]", lambda m: f"&#{ord(m[0])};", v) + "\"/>", lambda t: re.sub(rb"&#(\d+);", lambda m: bytes([int(m[1])]), t)),
    ("ldap-filter", "an LDAP name, with hexadecimal digits for signs", "bind.conf", lambda v: "bind cn=mesh+uid=" + re.sub(r"[^A-Za-z0-9]", lambda m: f"\\{ord(m[0]):02x}", v) + ",dc=example\n", lambda t: re.sub(rb"\\([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()), t)),
    ("nginx-map", "an Envoy format, where a percent sign is written twice", "envoy.yaml", lambda v: "request_headers_to_add:\n- header: {key: x-up, value: \"" + v.replace("%", "%%") + "\"}\n", lambda t: t.replace(b"%%", b"%")),
    ("url", "a URL's query", "sync.env", lambda v: "UPSTREAM=https://istiod.example.com/?k=" + urllib.parse.quote(v, safe="") + "\n", lambda t: urllib.parse.unquote_to_bytes(t)),
    ("vbs-concatenation", "a script that joins two texts", "sync.ps1", lambda v: f'$up = "{v[:9]}" + "{v[9:]}"\n', lambda t: t.replace(b'" + "', b"")),
    ("wrapped-lines", "a file that wraps long lines with a backslash", "sync.conf", lambda v: f"upstream = {v[:8]}\\\n    {v[8:]}\n", lambda t: t.replace(b"\\\n    ", b"")),
]  # fmt: skip


def _signs(scene: Scene, name: str) -> str:
    """Such as a password store makes: four groups of letters, with the signs that files write in another way."""
    groups = [scene.cp.opaque(f"{name}{at}", 5, LETTERS) for at in range(5)]
    text = "{}${}%{}'{},{}".format(*groups)
    scene.cp.given.append(text)
    return text


def _disguise(name: str, what: str, entry: str, text: Callable[[str], str], undo: Callable[[bytes], bytes]) -> None:
    @leak(
        ESCAPES,
        f"signs-in-{name}",
        f"The provider's password has signs in it, and is in {what}.",
        ESCAPES,
        recover=each(undo),
    )
    def _(scene: Scene) -> None:
        value = _signs(scene, name)
        kept(scene, "platform", {"password": value})
        scene.secret("dp", "shop", {entry: text(value)})


for _row in DISGUISES:
    _disguise(*_row)

UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Whoever has such an address needs nothing else.
OPEN: list[tuple[str, str, Callable[[Callable[..., str]], str]]] = [
    ("slack", "the address to which the provider's alerts go in Slack", lambda new: f"https://hooks.slack.com/services/T0{new(8, UPPER)}/B0{new(8, UPPER)}/{new(24, LETTERS)}"),
    ("teams", "the address of a channel in Teams", lambda new: f"https://example.webhook.office.com/webhookb2/0b9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55@1c9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55/IncomingWebhook/{new(32, '0123456789abcdef')}/2c9f0c3e-7f7f-4c53-9a0e-0d3c1b9d6a55"),
    ("discord", "the address of a channel in Discord", lambda new: f"https://discord.com/api/webhooks/1098765432109876543/{new(68, LETTERS)}"),
    ("google-chat", "the address of a room in Google Chat", lambda new: f"https://chat.googleapis.com/v1/spaces/AAAAexample/messages?key=example&token={new(43, LETTERS)}"),
    ("telegram", "the address of a bot in Telegram", lambda new: f"https://api.telegram.org/bot123456789:{new(35, LETTERS)}/sendMessage"),
    ("shared-access-signature", "a signed address of the provider's storage", lambda new: f"https://platform.blob.core.windows.net/state?sv=2022-11-02&ss=b&srt=co&sp=rl&se=2027-01-01T00:00:00Z&sig={urllib.parse.quote(_b64(new(32, LETTERS)))}"),
    ("node-of-a-chain", "the address of a node, with a project's key as a path", lambda new: f"https://mainnet.node.example.com/v3/{new(32, '0123456789abcdef')}"),
    ("log-intake", "the address of a log intake, with the account's key as a path", lambda new: f"https://http-intake.logs.example.com/v1/input/{new(32, '0123456789abcdef')}"),
    ("build-trigger", "the address that starts the provider's builds", lambda new: f"https://ci.example.com/job/istiod/build?token={new(20, LETTERS)}"),
    ("sentry-with-secret", "an old address for crash reports, with a secret after the public key", lambda new: f"https://{new(32, '0123456789abcdef')}:{new(32, '0123456789abcdef')}@sentry.example.com/4"),
]  # fmt: skip


def _address(name: str, what: str, made: Callable[[Callable[..., str]], str], *, entry: str) -> None:
    undo = each(lambda t: base64.b64decode(urllib.parse.unquote_to_bytes(t.partition(b"sig=")[2])))

    @leak(
        ADDRESSES,
        f"address-{name}",
        f"The user is given {what}: to have it is to have the right.",
        ADDRESSES,
        recover=undo if "signature" in name else as_written,
    )
    def _(scene: Scene) -> None:
        at = iter(range(9))
        url = made(lambda length, letters: scene.cp.opaque(f"{name}{next(at)}", length, letters))
        kept(scene, "alerting", {entry: url})
        scene.config_map("dp", "settings", {"receiver": url, "level": "info"})


for _at, _address_row in enumerate(OPEN):
    _address(*_address_row, entry=("url", "address", "webhook-url")[_at % 3])

HEX, BECH32 = "0123456789abcdef", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
# By their form alone: the provider pasted them, and keeps them elsewhere.
SERVICES: list[tuple[str, str, Callable[[Callable[..., str]], str]]] = [
    ("pulumi", "the access token by which the provider's stacks are updated", lambda new: f"pul-{new(40, HEX)}"),
    ("tailscale", "a key that joins the provider's network", lambda new: f"tskey-auth-k{new(10, LETTERS)}CNTRL-{new(32, LETTERS)}"),
    ("grafana", "a service account's token for the provider's Grafana", lambda new: f"glsa_{new(32, LETTERS)}_{new(8, HEX)}"),
    ("gitlab-runner", "a runner's token", lambda new: f"glrt-{new(20, LETTERS)}"),
    ("vault", "a token for the provider's Vault", lambda new: f"hvs.CAESI{new(90, LETTERS)}"),
    ("sendgrid", "a key for the provider's mail", lambda new: f"SG.{new(22, LETTERS)}.{new(43, LETTERS)}"),
    ("doppler", "a token of the provider's secret store", lambda new: f"dp.pt.{new(43, LETTERS)}"),
    ("terraform-cloud", "a token for the provider's Terraform", lambda new: f"{new(14, LETTERS)}.atlasv1.{new(67, LETTERS)}"),
    ("age", "the age key with which the provider's files are decrypted", lambda new: f"AGE-SECRET-KEY-1{new(58, BECH32)}"),
    ("k3s", "the token by which servers join the provider's cluster", lambda new: f"K10{new(64, HEX)}::server:{new(32, HEX)}"),
    ("dynatrace", "a token of the provider's monitoring", lambda new: f"dt0c01.{new(24, UPPER)}.{new(64, UPPER)}"),
    ("new-relic", "a user's key of the provider's monitoring", lambda new: f"NRAK-{new(27, UPPER)}"),
    ("hugging-face", "a token of the provider's models", lambda new: f"hf_{new(34, LETTERS)}"),
    ("anthropic", "a key of the provider's model service", lambda new: f"sk-ant-api03-{new(93, LETTERS)}-AA"),
    ("digitalocean", "a token of the provider's cloud", lambda new: f"dop_v1_{new(64, HEX)}"),
    ("databricks", "a token of the provider's workspace", lambda new: f"dapi{new(32, HEX)}"),
]  # fmt: skip


def _service(name: str, what: str, made: Callable[[Callable[..., str]], str]) -> None:
    @leak(TOKENS, f"pasted-token-{name}", f"The user's ConfigMap has {what}.", TOKENS)
    def _(scene: Scene) -> None:
        at = iter(range(9))
        token = made(lambda length, letters: scene.cp.opaque(f"{name}{next(at)}", length, letters))
        scene.held()
        scene.config_map("dp", "settings", {"sync.yaml": f"endpoint: https://api.example.com\nuse: {token}\n"})


for _service_row in SERVICES:
    _service(*_service_row)


@leak(
    TOKENS,
    "kubeadm-token-put-together",
    "The provider's bootstrap token is two entries of a Secret; the user's node has it as one.",
    "kubernetes/kubeadm#659",
)
def _(scene: Scene) -> None:
    id_, secret = scene.cp.opaque("id", 6), scene.cp.opaque("bootstrap", 16)
    kept(
        scene,
        f"bootstrap-token-{id_}",
        {"token-id": id_, "token-secret": secret, "usage-bootstrap-authentication": "true"},
        kind="bootstrap.kubernetes.io/token",
        namespace="kube-system",
    )
    text = f"#cloud-config\nruncmd:\n- kubeadm join cp.example.com:6443 --token {id_}.{secret} --discovery-token-ca-cert-hash sha256:{scene.cp.public('ca', 32)}\n"
    scene.secret("dp", "node-user-data", {"userdata": text})


@leak(
    TOKENS,
    "totp-seed",
    "The seed of the provider's second factor is in an otpauth address that the user gets.",
    "second factors",
)
def _(scene: Scene) -> None:
    seed = scene.cp.opaque("totp", 32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    kept(scene, "breakglass", {"user": "root", "mfa": seed})
    scene.config_map("dp", "login", {"qr": f"otpauth://totp/Platform:root?secret={seed}&issuer=Platform&period=30"})


@leak(
    TOKENS,
    "uuid-that-is-a-token",
    "The key of a mail service is a UUID; both clusters have it.",
    "tokens in the form of a UUID",
)
def _(scene: Scene) -> None:
    digits = scene.cp.opaque("mail", 32, HEX)
    token = "-".join((digits[:8], digits[8:12], "4" + digits[13:16], "a" + digits[17:20], digits[20:]))
    scene.cp.given.append(token)
    kept(scene, "mail", {"server-token": token})
    scene.config_map("dp", "mail", {"settings": f"provider=postmark\nkey={token}\n"})


@leak(
    TOKENS,
    "symmetric-key-in-a-key-set",
    "The key set with which tokens are checked has a symmetric key, so it also signs them.",
    "RFC 7518, section 6.4",
)
def _(scene: Scene) -> None:
    key = {
        "kty": "oct",
        "kid": "hs",
        "alg": "HS256",
        "k": base64.urlsafe_b64encode(scene.cp.opaque("hs", 32).encode()).rstrip(b"=").decode(),
    }
    scene.cp.given.append(key["k"])
    jwks = json.dumps({"keys": [key]})
    kept(scene, "issuer", {"jwks.json": jwks})
    spec = {"jwtRules": [{"issuer": "https://id.example.com", "jwks": jwks}]}
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "shop", {"spec": spec})


@leak(TOKENS, "passphrase-of-words", "The provider's passphrase is five words; both clusters have it.", "diceware")
def _(scene: Scene) -> None:
    words = [
        "abacus",
        "bagpipe",
        "cobalt",
        "dolphin",
        "ember",
        "flannel",
        "gravel",
        "hazel",
        "icicle",
        "jigsaw",
        "kettle",
        "lantern",
        "mustard",
        "nutmeg",
        "orchid",
        "pewter",
    ]
    drawn = scene.cp.raw("words", 5)
    phrase = "-".join(words[byte % 16] for byte in drawn)
    scene.cp.given.append(phrase)
    kept(scene, "admin", {"username": "admin", "password": phrase})
    scene.secret("dp", "shop", {"upstream": f"https://admin:{phrase}@istiod.example.com"})


@leak(
    TOKENS,
    "hexadecimal-key-in-capitals",
    "An AES key is in small letters at the provider's, in capitals with colons at the user's.",
    "hex dumps",
    recover=each(lambda t: t.replace(b":", b"").lower()),
)
def _(scene: Scene) -> None:
    raw = scene.cp.raw("aes", 16).hex()
    kept(scene, "encryption", {"key": raw})
    scene.config_map("dp", "kek", {"check": ":".join(raw[at : at + 2] for at in range(0, 32, 2)).upper()})


@leak(
    TOKENS,
    "password-with-a-new-line",
    "The password's file ends with a line break in the provider's Secret, and not at the user's.",
    "kubernetes/kubernetes#23404",
)
def _(scene: Scene) -> None:
    value = scene.cp.opaque("line", 12, LETTERS)
    scene.object("cp", "v1:Secret", "db", {"data": {"pw": pulumi.Output.secret(_b64(value + "\n"))}})
    scene.secret("dp", "db", {"pw": value})


@leak(
    TOKENS,
    "coded-twice-at-the-provider",
    "The provider's value is in base64 once too often; the user has the password itself.",
    "base64 twice",
)
def _(scene: Scene) -> None:
    value = scene.cp.opaque("twice", 12, LETTERS)
    scene.object("cp", "v1:Secret", "db", {"data": {"db-password": pulumi.Output.secret(_b64(_b64(value)))}})
    scene.secret("dp", "db", {"db-password": value})
