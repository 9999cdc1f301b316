"""A stack's state with other secrets: what is replaced, and that it is the same everywhere."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography import x509
from hosted_mesh_analysis.prove.engine import stack_state
from hosted_mesh_analysis.prove.engine.passphrase_cipher import PassphraseCipher
from hosted_mesh_analysis.runner.places import Known
from hosted_mesh_analysis.runner.project import UnusableProjectError
from hosted_mesh_analysis.runner.secrets import keys
from hosted_mesh_analysis.runner.secrets.generator import FIRST, SecretGenerator, SecretVariant
from hosted_mesh_analysis.runner.secrets.made_up import Answers
from hosted_mesh_analysis.runner.values import plain
from hosted_mesh_plan.decode import SECRET, SIGNATURE

PASSWORD, TOKEN = "fqgU(CRU14yR3[{Q[4(M", "9dm2k7qz0xv4tn81rc6wpe35"
CONFIGURED = "ah62-bq81-ck09"
KEY = keys.generate()
PRIVATE, PUBLIC = keys.private_texts(KEY), keys.public_texts(KEY.public_key())
KUBERNETES = "urn:pulumi:dev::shop::pulumi:providers:kubernetes::data-plane-cluster"


def marked(value: Any) -> dict[str, Any]:
    return {SIGNATURE: SECRET, "plaintext": json.dumps(value)}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def resource(kind: str, name: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::shop::{kind}::{name}"
    return {"urn": urn, "type": kind, "custom": True, "inputs": inputs, "outputs": {**inputs, **outputs}, **more}


def authority() -> str:
    import datetime  # noqa: PLC0415

    inputs = {"subject": {"commonName": "root"}, "isCaCertificate": True}
    return keys.certificate(inputs, KEY, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), 7)


CERTIFICATE = authority()


def exported(*more: dict[str, Any]) -> str:
    password = {"result": marked(PASSWORD), "bcryptHash": marked("$2a$10$" + "k" * 53)}
    made = {**{name: marked(text) for name, text in PRIVATE.items()}, **PUBLIC}
    root = {
        "privateKeyPem": marked(PRIVATE["privateKeyPem"]),
        "isCaCertificate": True,
        "subject": {"commonName": "root"},
    }
    document = json.dumps({"url": f"postgres://app:{PASSWORD}@db", "key": PRIVATE["privateKeyPem"]})
    data = {"config": encoded(document), "public": encoded(PUBLIC["publicKeyPem"]), "configured": encoded(CONFIGURED)}
    answered = {"token": encoded(TOKEN), "namespace": encoded("istio-system"), "ca.crt": encoded(CERTIFICATE)}
    resources = [
        {"urn": KUBERNETES, "type": "pulumi:providers:kubernetes", "custom": True, "id": "an-id",
         "inputs": {"kubeconfig": marked(json.dumps({
             "clusters": [{"name": "dp", "cluster": {"server": "https://dp.example.com"}}],
             "users": [{"name": "dp", "user": {"token": TOKEN[::-1]}}],
             "contexts": [{"name": "dp", "context": {"cluster": "dp", "user": "dp"}}],
             "current-context": "dp"}))}},
        resource("random:index/randomPassword:RandomPassword", "password", {"length": 20}, password),
        resource("tls:index/privateKey:PrivateKey", "key", {"algorithm": "ECDSA", "ecdsaCurve": "P256"}, made),
        resource("tls:index/selfSignedCert:SelfSignedCert", "root", root, {"certPem": CERTIFICATE}),
        resource("kubernetes:core/v1:Secret", "kept", {"data": marked(data)}, {}),
        resource("kubernetes:core/v1:Secret", "minted", {"type": "x"}, {"data": marked(answered)},
                 provider=f"{KUBERNETES}::an-id"),
        *more,
    ]  # fmt: skip
    return json.dumps({"version": 3, "deployment": {"resources": resources}})


def in_world(world: SecretVariant, generator: SecretGenerator, text: str | None = None) -> dict[str, Any]:
    """Outputs by a resource's name."""
    state = stack_state.parsed(text or exported(), "state.json", "shop", "dev")
    made = stack_state.with_other_secrets(state, Answers(generator, world), Known(), {CONFIGURED: "zz99-yy88-xx77"})
    return {one["urn"].rpartition("::")[2]: plain(one.get("outputs") or one["inputs"]) for one in made.resources}


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def test_each_secret_is_another_one_and_the_same_everywhere() -> None:
    generator = SecretGenerator()
    worlds = [FIRST, SecretVariant(1), SecretVariant(2)]
    seen = [in_world(world, generator) for world in worlds]
    assert seen[1] == in_world(SecretVariant(1), generator)
    passwords = {one["password"]["result"] for one in seen}
    assert len(passwords | {PASSWORD}) == 4
    for one in seen:
        text = json.dumps(one) + "".join(map(decoded, [*one["kept"]["data"].values(), *one["minted"]["data"].values()]))
        for old in (PASSWORD, TOKEN, TOKEN[::-1], CONFIGURED, *PRIVATE.values(), *PUBLIC.values(), CERTIFICATE):
            assert old not in text
            assert json.dumps(old)[1:-1] not in text
        document = json.loads(decoded(one["kept"]["data"]["config"]))
        assert document["url"] == f"postgres://app:{one['password']['result']}@db"
        assert document["key"] == one["key"]["privateKeyPem"] == one["root"]["privateKeyPem"]
        assert decoded(one["kept"]["data"]["public"]) == one["key"]["publicKeyPem"]
        assert decoded(one["kept"]["data"]["configured"]) == "zz99-yy88-xx77"
        assert decoded(one["minted"]["data"]["ca.crt"]) == one["root"]["certPem"]


def test_a_key_pair_and_its_certificate_fit() -> None:
    generator = SecretGenerator()
    for world in (FIRST, SecretVariant(1)):
        seen = in_world(world, generator)
        private = keys.private_of(seen["key"]["privateKeyPem"])
        assert keys.public_texts(private.public_key()) == {name: seen["key"][name] for name in PUBLIC}
        certificate = x509.load_pem_x509_certificate(seen["root"]["certPem"].encode())
        assert keys.spki(certificate.public_key()) == keys.spki(private.public_key())
        assert certificate.subject == x509.load_pem_x509_certificate(CERTIFICATE.encode()).subject


def test_public_halves_can_stay_while_private_ones_change() -> None:
    generator = SecretGenerator()
    first, other, held = (
        in_world(world, generator) for world in (FIRST, SecretVariant(1), SecretVariant(1, held=True))
    )
    assert held["key"]["privateKeyPem"] == other["key"]["privateKeyPem"] != first["key"]["privateKeyPem"]
    for name, text in PUBLIC.items():
        assert first["key"][name] == held["key"][name] != text
    assert held["root"]["certPem"] == first["root"]["certPem"] != other["root"]["certPem"]
    assert held["kept"]["data"]["public"] == first["kept"]["data"]["public"]


def test_what_a_cluster_makes_is_that_clusters() -> None:
    generator = SecretGenerator()
    in_world(FIRST, generator)
    assert (
        generator.sources["urn:pulumi:dev::shop::kubernetes:core/v1:Secret::minted"].place
        == "https://dp.example.com:443"
    )
    assert "kubeconfig https://dp.example.com:443" in generator.sources


def test_a_word_is_replaced_where_it_is_made_alone() -> None:
    """`istio-system` is in a Secret that a cluster filled, and is the name of a namespace too."""
    inputs = {"metadata": {"namespace": "istio-system"}}
    seen = in_world(
        SecretVariant(1), SecretGenerator(), exported(resource("kubernetes:core/v1:Service", "s", inputs, {}))
    )
    assert seen["s"]["metadata"]["namespace"] == "istio-system"
    assert decoded(seen["minted"]["data"]["namespace"]) != "istio-system"


def test_what_waits_to_be_deleted_is_left_out() -> None:
    gone = resource("random:index/randomPassword:RandomPassword", "gone", {}, {"result": marked(TOKEN)}, delete=True)
    assert "gone" not in in_world(FIRST, SecretGenerator(), exported(gone))


def test_a_backend_gets_it_sealed() -> None:
    seal = PassphraseCipher("a passphrase", "v1:ZWlnaHQgYnk=:v1:none:none")
    state = stack_state.parsed(exported(), "state.json", "shop", "dev")
    made = state.checkpoint("organization/shop/dev", seal)
    password = made["checkpoint"]["latest"]["resources"][1]["outputs"]["result"]
    assert json.loads(seal.open(password["ciphertext"])) == PASSWORD
    assert PASSWORD not in json.dumps(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no stack's state. Write it with `pulumi stack export --show-secrets`"),
        ('{"version": 3}', "is no stack's state"),
        (exported().replace("plaintext", "ciphertext"), "its secrets are encrypted"),
        (exported().replace(":dev::", ":prod::"), "is of prod::shop, not of dev::shop. Name the stack with --stack"),
    ],
    ids=["no JSON", "no deployment", "encrypted", "another stack"],
)
def test_a_mistake_is_said(text: str, said: str) -> None:
    with pytest.raises(UnusableProjectError) as problem:
        stack_state.parsed(text, "state.json", "shop", "dev")
    assert str(problem.value).startswith("state.json: ")
    assert said in str(problem.value)
