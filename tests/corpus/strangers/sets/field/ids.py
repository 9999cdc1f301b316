"""Harmless, from the field, tried out one by one: what everybody may know stands in a Secret of the provider's too."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid

ALONE, AMONG = "public facts in Secrets", "public facts in files in Secrets"
LOW = "abcdefghij0123456789"
FACTS: list[tuple[str, str, str]] = [
    ("host-of-a-database", "host", f"db.c{drawn('r', 11, LOW)}.eu-west-1.rds.amazonaws.com"),
    ("host-of-a-cache", "REDIS_HOST", f"master.platform.{drawn('ec', 6, LOW)}.euw1.cache.amazonaws.com"),
    ("host-of-a-balancer", "address", f"a{drawn('elb', 31, HEX)}-1234567890.eu-west-1.elb.amazonaws.com"),
    ("host-of-a-login", "domain", "dev-x7k2m9q4.eu.auth0.com"),
    ("host-of-a-document-store", "MONGO_HOST", "shop.x7k2m.mongodb.net"),
    ("issuer-at-okta", "issuer", f"https://shop.okta.com/oauth2/aus{drawn('o', 17)}"),
    ("address-with-a-public-key", "SENTRY_DSN", f"https://{drawn('d', 32, HEX)}@o1.ingest.sentry.io/2"),
    ("version-with-a-commit", "version", "v1.31.0-rc.1+3f9a2b7c"),
    ("pseudo-version", "chartVersion", "1.2.3-0.20260101120000-3f9a2b7c4d1e"),
    ("short-commit", "RELEASE", drawn("c", 12, HEX)),
    ("tag-of-an-image", "tag", "main-3f9a2b7c-1767225600"),
    ("integrity", "integrity", f"sha384-{b64(noise('sri', 48))}"),
    ("etag", "etag", f'W/"{drawn("et", 27)}"'),
    ("wireguard-key", "publicKey", b64(noise("wg", 32))),
    ("age-recipient", "recipient", "age1" + drawn("age", 58, "qpzry9x8gf2tvdw0s3jn54khce6mua7l")),
    ("record-of-mail", "dkim", f"v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A{b64(noise('dk', 200))}"),
    ("proof-of-a-site", "txt", f"google-site-verification={drawn('gs', 43)}"),
    ("channel", "slackChannel", f"C04{drawn('s', 8, 'ABCDEFGHIJ0123456789')}"),
    ("measurement-id", "GA_ID", f"G-{drawn('g', 10, 'ABCDEFGHIJ0123456789')}"),
    ("firebase-application", "appId", f"1:407408718192:web:{drawn('fb', 22, HEX)}"),
    ("workspace", "workspaceId", f"ws-{drawn('w', 16)}"),
    ("subject", "sub", f"auth0|{drawn('su', 24, HEX)}"),
    ("arn", "roleArn", f"arn:aws:iam::407408718192:role/shop-{drawn('ar', 8, HEX)}"),
    ("machine-image", "ami", f"ami-{drawn('am', 17, HEX)}"),
    ("security-group", "securityGroup", f"sg-{drawn('sg', 17, HEX)}"),
    ("spiffe-id", "spiffe", "spiffe://platform.example.com/ns/mesh/sa/istiod"),
    ("address-of-a-database", "jdbcUrl", "jdbc:postgresql://db.platform:5432/app?sslmode=verify-full"),
    ("identity-pool", "pool", f"projects/407408718192/locations/global/workloadIdentityPools/shop-{drawn('po', 6, LOW)}"),
    ("account-of-acme", "acmeAccount", "https://acme-v02.api.letsencrypt.org/acme/acct/1234567890"),
    ("bucket", "bucket", f"platform-{drawn('bu', 12, HEX)}"),
    ("ciphers", "ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305"),
    ("kubelet-path", "path", f"/var/lib/kubelet/pods/{uid('x')}/volumes"),
]  # fmt: skip
IDS: list[tuple[str, str]] = [
    ("KAFKA_CLUSTER_ID", drawn("a", 22)),
    ("OIDC_AUDIENCE", drawn("au", 32)),
    ("OAUTH_CLIENT_ID", drawn("cl", 32)),
    ("DNS_ZONE_ID", "Z" + drawn("z", 20, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")),
    ("TENANT_ID", drawn("n", 21)),
    ("CLOUD_ID", "shop:" + b64("eu-west-1.aws.found.io$" + drawn("e", 32, HEX))),
    ("AWS_ACCOUNT_ID", "407408718192"),
    ("CLUSTER_UUID", uid("cluster")),
]  # fmt: skip


def _alone(name: str, key: str, value: str) -> None:
    @clean(
        ALONE,
        f"field-alone-{name}",
        f"Both sides have {value.split(':', maxsplit=1)[0][:12]}..., a {name.replace('-', ' ')}.",
    )
    def _(scene: Scene) -> None:
        data = {key: value, "password": scene.cp.opaque("alone", 32, LETTERS)}
        scene.secret("cp", "platform", {entry: pulumi.Output.secret(text) for entry, text in data.items()})
        scene.config_map("dp", "settings", {key: value})


def _among(key: str, value: str, form: str) -> None:
    @clean(
        AMONG,
        f"field-{form}-{key.lower().replace('_', '-')}",
        f"{key} is in a file of both sides; the provider's has a password too.",
    )
    def _(scene: Scene) -> None:
        password = scene.cp.opaque("among", 32, LETTERS)

        def text(more: dict[str, Any]) -> str:
            every = {"LOG_LEVEL": "info", key: value, **more}
            if form == "dotenv":
                return "".join(f"{name}={found}\n" for name, found in every.items())
            return json.dumps(every) if form == "json" else yaml.safe_dump(every)

        scene.secret("cp", "platform", {"settings": pulumi.Output.secret(text({"DB_PASSWORD": password}))})
        scene.config_map("dp", "settings", {"settings": text({})})


for _fact in FACTS:
    _alone(*_fact)
for _at, (_key, _value) in enumerate(IDS):
    _among(_key, _value, "dotenv")
    _among(_key, _value, ("json", "yaml")[_at % 2])

# As the default values of a public chart document themselves
COMMENTS: list[tuple[str, str, str]] = [
    ("place-of-a-key-in-a-comment", "the place of a key in a comment, and a sentence below it", "#    sshPrivateKey: |\n#    -----BEGIN OPENSSH PRIVATE KEY-----\n#    ...\n#    -----END OPENSSH PRIVATE KEY-----\n\n  ## Note: what comes last in the list would use a template of credentials, configured under \"configs.credentialTemplates\".\n"),
    ("form-of-an-address-in-a-comment", "the form of an address with the words login and password in a comment", "datasource:\n  # An address such as postgresql://login:password@hostname:port/dbname?sslmode=disable\n  existingSecret: exporter\n"),
]  # fmt: skip


def _comment(name: str, what: str, text: str) -> None:
    @clean(AMONG, f"field-{name}", f"The user's values have {what}.")
    def _(scene: Scene) -> None:
        scene.secret("cp", "platform", {"password": scene.cp.opaque("comment", 32, LETTERS)})
        scene.config_map("dp", "values", {"values.yaml": text})


for _comment_row in COMMENTS:
    _comment(*_comment_row)
