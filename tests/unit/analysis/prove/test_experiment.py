"""What the oracle says of small programs: disguises that no decoder undoes are leaks, and look-alikes are not."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from hosted_mesh_analysis.prove.verdict import Kind, Verdict
from hosted_mesh_analysis.runner.places import Known

from tests.corpus.case import Case
from tests.corpus.clean import all_clean
from tests.corpus.leaks import direct, indirect, wrapped
from tests.corpus.world import Box, Object, World, key, password, random_id, reference, self_signed
from tests.unit.analysis.prove.in_process import SERVERS, proven, secret_of_world

Disguise = Callable[[str], Any]


def _kept_key(world: World) -> Object:
    """A key that the provider's istiod serves with."""
    found = key("istiod", "ECDSA")
    world.secret("cp", "istiod-tls", {"key.pem": found.output("privateKeyPem")})
    return found


def _said(found: Verdict, kind: Kind = Kind.LEAK) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.resource, one.path, one.secrets) for one in found.of(kind)]


DISGUISES: dict[str, Disguise] = {
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "pieces": lambda text: [text[place : place + 3] for place in range(0, len(text), 3)],
    "xor": lambda text: bytes(byte ^ 0x5A for byte in text.encode()).hex(),
    "reversed": lambda text: text[::-1],
    "one letter": lambda text: text[60],
    "a count of letters": lambda text: sum(map(text.count, "abcdefghij")),
    "a hash": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "a name among ten": lambda text: ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][sum(text.encode()) % 10],
    "how many there are": lambda text: ["x"] * (sum(text.encode()) % 10),
    "a key": lambda text: {hashlib.md5(text.encode()).hexdigest(): "x"},
    "whether it is there": lambda text: {"x": "y"} if sum(text.encode()) % 2 else {},
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguised_key_is_found_and_named(name: str) -> None:
    def program(world: World) -> None:
        value = _kept_key(world).output("privateKeyPem").apply(DISGUISES[name])
        world.object("dp", "example.com/v1:Widget", "app", {"spec": {"value": value}})

    found = proven(program, rounds=8)
    assert found.exit_code == 1
    assert {(resource, secrets) for resource, _, secrets in _said(found)} == {("Widget dp-app", ("PrivateKey istiod",))}
    assert all(path.startswith("spec") for _, path, _ in _said(found))


def test_a_resource_that_is_there_for_one_secret_and_not_for_another_is_found_and_its_name_not_shown() -> None:
    def program(world: World) -> None:
        def make(text: str) -> None:
            world.config_map("dp", f"app-{text[40:48].lower().replace('/', '-')}", {"x": "y"})

        _kept_key(world).output("privateKeyPem").apply(make)

    found = proven(program)
    assert found.exit_code == 1
    assert {resource for resource, _, _ in _said(found)} == {"ConfigMap (its name or its existence depends on it)"}


def test_of_two_secrets_the_one_is_named_that_is_used_and_of_two_together_both() -> None:
    def program(world: World) -> None:
        one, two, other = password("one"), password("two"), password("other")
        world.secret(
            "cp", "kept", {"one": one.output("result"), "two": two.output("result"), "x": other.output("result")}
        )
        both = pulumi.Output.all(one.output("result"), two.output("result"))
        either = both.apply(lambda texts: "same" if texts[0] > "M" and texts[1] > "M" else "other")
        world.config_map("dp", "app", {"one": one.output("result"), "both": both.apply("".join), "either": either})

    found = {path: secrets for _, path, secrets in _said(proven(program, rounds=16))}
    assert found["data.one"] == ("RandomPassword one",)
    assert found["data.both"] == ("RandomPassword one", "RandomPassword two")
    assert set(found["data.either"]) <= {"RandomPassword one", "RandomPassword two"}


def test_a_value_that_differs_only_if_both_secrets_do_is_traced_to_both() -> None:
    def program(world: World) -> None:
        one, two = password("one"), password("two")
        world.secret("cp", "kept", {"one": one.output("result"), "two": two.output("result")})
        first: list[str] = _FIRST.setdefault("pair", [])

        def judged(texts: list[str]) -> str:
            if not first:
                first.extend(texts)
            return "both differ" if texts[0] != first[0] and texts[1] != first[1] else "same"

        both = pulumi.Output.all(one.output("result"), two.output("result")).apply(judged)
        world.config_map("dp", "app", {"both": both})

    _FIRST.clear()
    assert _said(proven(program)) == [("ConfigMap dp-app", "data.both", ("RandomPassword one", "RandomPassword two"))]


_FIRST: dict[str, list[str]] = {}


def _certificate_of(world: World, more: Callable[[str], str] = lambda key: "istiod") -> pulumi.Output[str]:
    """A certificate that the program makes by itself. more: what it writes as its subject."""

    def made(pem: str) -> str:
        private: Any = serialization.load_pem_private_key(pem.encode(), None)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, more(pem))])
        start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        builder = x509.CertificateBuilder(name, name, private.public_key(), 7, start, start + datetime.timedelta(9))
        return builder.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    return _kept_key(world).output("privateKeyPem").apply(made)


def _public_key_of(world: World) -> pulumi.Output[str]:
    def derived(pem: str) -> str:
        public = serialization.load_pem_private_key(pem.encode(), None).public_key()
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return public.public_bytes(serialization.Encoding.PEM, form).decode()

    return _kept_key(world).output("privateKeyPem").apply(derived)


def _encoded(value: pulumi.Output[str]) -> pulumi.Output[str]:
    return value.apply(lambda text: base64.b64encode(text.encode()).decode())


def _of_resources(world: World, output: str) -> pulumi.Output[Any]:
    found = _kept_key(world)
    return self_signed("istiod", found).output(output) if output == "certPem" else found.output(output)


LOOK_ALIKES: dict[str, Callable[[World], Any]] = {
    "a certificate": lambda world: _of_resources(world, "certPem"),
    "a certificate's hash": lambda world: _of_resources(world, "certPem").apply(
        lambda t: hashlib.sha256(t.encode()).hexdigest()
    ),
    "a certificate in base85": lambda world: _of_resources(world, "certPem").apply(
        lambda t: base64.b85encode(t.encode()).decode()
    ),
    "a public key": lambda world: _of_resources(world, "publicKeyPem"),
    "an SSH key's public half": lambda world: _of_resources(world, "publicKeyOpenssh"),
    "a certificate that the program made": _certificate_of,
    "one in base64": lambda world: _encoded(_certificate_of(world)),
    "a public key that the program derived": _public_key_of,
    "one in base64 ": lambda world: _encoded(_public_key_of(world)),
    "both in JSON": lambda world: pulumi.Output.json_dumps({"a": [_public_key_of(world)]}),
    "the time": lambda world: str(time.time()),
    "the time in nanoseconds": lambda world: f"made at {time.time_ns()}",
    "a date": lambda world: datetime.datetime.now(datetime.UTC).isoformat(),
    "a UUID": lambda world: f"{uuid.uuid4()} at {datetime.datetime.now(datetime.UTC).isoformat()}",
    "a random id": lambda world: random_id("x").output("hex"),
    "a secret's length": lambda world: _kept_key(world).output("publicKeyPem").apply(len),
    "another stack's host name": lambda world: reference("organization/x/trust").get_output("host"),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_look_alike_is_no_leak(name: str) -> None:
    found = proven(lambda world: world.config_map("dp", "app", {"x": LOOK_ALIKES[name](world)}))
    assert (_said(found), found.problems, found.unsure, found.exit_code) == ([], [], [], 0)


def test_a_certificate_with_a_secret_in_its_subject_is_a_leak() -> None:
    def program(world: World) -> None:
        world.config_map("dp", "app", {"x": _certificate_of(world, lambda pem: pem[50:80].replace("\n", ""))})

    assert proven(program).exit_code == 1


def test_a_password_in_the_subject_of_a_certificate_resource_is_a_leak() -> None:
    def program(world: World) -> None:
        admin = password("admin")
        world.secret("cp", "admin", {"x": admin.output("result")})
        certificate = self_signed("istiod", _kept_key(world), subject={"commonName": admin.output("result")})
        world.config_map("dp", "app", {"x": certificate.output("certPem")})

    assert [secrets for _, _, secrets in _said(proven(program))] == [("RandomPassword admin",)]


def test_a_secret_is_found_beside_noise_and_noise_that_may_hide_one_is_undecided() -> None:
    def beside(world: World) -> None:
        text = (
            _kept_key(world).output("privateKeyPem").apply(lambda pem: f"{uuid.uuid4()} {time.time_ns()} {pem[60:64]}")
        )
        world.config_map("dp", "app", {"x": text})

    def within(world: World) -> None:
        text = (
            _kept_key(world)
            .output("privateKeyPem")
            .apply(lambda pem: hashlib.sha256(f"{pem}{uuid.uuid4()}".encode()).hexdigest())
        )
        world.config_map("dp", "app", {"x": text})

    assert proven(beside).exit_code == 1
    found = proven(within)
    assert (found.exit_code, _said(found, Kind.UNDECIDED)) == (2, [("ConfigMap dp-app", "data.x", ())])


def test_a_uuid_made_of_a_secret_is_no_noise() -> None:
    def program(world: World) -> None:
        made = _kept_key(world).output("privateKeyPem").apply(lambda pem: str(uuid.uuid5(uuid.NAMESPACE_DNS, pem)))
        world.config_map("dp", "app", {"x": made})

    assert proven(program).exit_code == 1


def _configured(world: World, text: str = "tBq7zzPw93ka0ck2") -> Any:
    return secret_of_world("token", text)


def test_a_generated_secret_is_the_place_s_that_alone_gets_it() -> None:
    def own(world: World) -> None:
        world.secret("dp", "db", {"password": password("db").output("result")})

    found = proven(own)
    assert (found.exit_code, [one.kind for one in found.findings]) == (0, [Kind.OWN])


def test_configuration_is_the_control_plane_s_if_it_is_kept_there() -> None:
    def own(world: World) -> None:
        world.secret("dp", "db", {"password": _configured(world)})

    def shared(world: World) -> None:
        value = _configured(world)
        world.secret("cp", "db", {"password": value})
        world.secret("dp", "db", {"password": value.apply(lambda text: text[::-1])})

    assert proven(own).exit_code == 0
    assert [secrets for _, _, secrets in _said(proven(shared))] == [("configuration token",)]
    assert proven(shared, users=["configuration tok*"]).exit_code == 0


def test_a_secret_of_one_user_s_cluster_must_not_be_in_another_s() -> None:
    other = "https://other.example.com:6443"

    def program(world: World, *, swapped: bool) -> None:
        made = world.object("dp", "v1:Secret", "token", {"type": "Opaque"})
        text = made.output("data").apply(lambda data: data["token"])
        config = json.dumps({"clusters": [{"name": "c", "cluster": {"server": other}}], "users": []})
        provider = world.named_provider("other", config) if swapped else world.provider("dp")
        inputs = {"metadata": {"name": "x"}, "data": {"x": text}}
        Object("kubernetes:core/v1:ConfigMap", "x", inputs, pulumi.ResourceOptions(provider=provider))

    known = Known((SERVERS["cp"],), (SERVERS["dp"], other))
    assert proven(lambda world: program(world, swapped=False), known=known).exit_code == 0
    found = proven(lambda world: program(world, swapped=True), known=known)
    assert [one.why for one in found.of(Kind.LEAK)] == ["another data plane's"]


def test_what_goes_through_a_provider_that_nobody_knows_goes_to_a_data_plane() -> None:
    def program(world: World) -> None:
        value = _kept_key(world).output("privateKeyPem")
        Object("github:index/actionsSecret:ActionsSecret", "x", {"value": value})

    assert proven(program).exit_code == 1
    assert proven(program, known=Known((SERVERS["cp"], "github"), (SERVERS["dp"],))).exit_code == 0


def test_a_declassified_hash_passes_and_a_declassified_secret_does_not() -> None:
    def program(world: World, disguise: Callable[[str], str]) -> None:
        reason = {"hosted-mesh.io/declassify": "data.x: a digest that restarts Pods"}
        value = _kept_key(world).output("privateKeyPem").apply(disguise)
        world.config_map("dp", "app", {"x": value}, annotations=reason)

    hashed = proven(lambda world: program(world, lambda text: hashlib.sha256(text.encode()).hexdigest()))
    assert (hashed.exit_code, [one.kind for one in hashed.findings]) == (0, [Kind.DECLARED])
    assert proven(lambda world: program(world, str)).exit_code == 1


def test_a_login_that_both_sides_have_is_the_data_planes_where_its_secret_says_so() -> None:
    def program(world: World, name: str = "collector", reason: str = "the agent logs in by it", *more: str) -> None:
        login = password("collector").output("result")
        said = {"hosted-mesh.io/data-plane-owned": reason}
        world.secret("cp", name, {"password": login}, annotations=said)
        for other in more:
            world.secret("cp", other, {"password": login})
        world.secret("dp", "agent", {"password": login})

    def minted(world: World) -> None:
        """A token of the control plane's cluster, whatever its Secret says."""
        program(world)
        token = password("token").output("result")
        said = {"kubernetes.io/service-account.name": "agent", "hosted-mesh.io/data-plane-owned": "the agent logs in"}
        body = {"metadata": {"name": "token", "annotations": said}, "stringData": {"token": token}}
        world.object("cp", "v1:Secret", "token", {"type": "kubernetes.io/service-account-token", **body})
        world.secret("dp", "token", {"token": token})

    found = proven(program)
    assert (found.exit_code, [one.kind for one in found.findings]) == (0, [Kind.OWN])
    assert proven(minted).exit_code == 1
    for case in (("collector", "yes"), ("cacerts",), ("collector", "the agent logs in by it", "another")):
        assert proven(lambda world, case=case: program(world, *case)).exit_code == 1


def test_what_could_not_be_run_is_said_and_nothing_is_proven() -> None:
    def dynamic(world: World) -> None:
        found = Object("pulumi-python:dynamic:Resource", "via", {"__provider": "x"}, None, ["y"])
        world.config_map("dp", "app", {"x": found.output("y")})

    def remote(world: World) -> None:
        pulumi.ComponentResource("cloud:index:Thing", "thing", {"a": "b"}, None, remote=True)

    def ending(world: World) -> None:
        raise RuntimeError("no")

    for program, part in ((dynamic, "dynamic"), (remote, "component of another package")):
        found = proven(program)
        assert found.exit_code == 2
        assert [text for text in found.unsure if part in text]
    assert (proven(ending).exit_code, proven(ending).problems) == (2, ["RuntimeError"])


def test_a_program_that_ends_for_some_secrets_only_is_not_proven() -> None:
    def program(world: World) -> None:
        def judged(pem: str) -> str:
            if sum(pem.encode()) % 2:
                raise ValueError
            return "fine"

        world.config_map("dp", "app", {"x": _kept_key(world).output("privateKeyPem").apply(judged)})

    assert proven(program, rounds=8).exit_code == 2


def test_secrets_through_components_are_whose_the_component_is() -> None:
    def program(world: World, kind: str) -> None:
        found = password("x", parent=Box("demo", kind))
        world.secret("dp", "app", {"x": found.output("result")})
        if "Access" in kind:
            world.secret("cp", "app", {"x": found.output("result")})

    assert proven(lambda world: program(world, "hosted-mesh:index:MeshTrust")).exit_code == 1
    assert proven(lambda world: program(world, "hosted-mesh:index:DataPlaneAccess")).exit_code == 0


def test_what_goes_into_an_image_is_judged_and_what_pushes_it_is_not() -> None:
    def program(world: World) -> None:
        robot = password("robot").output("result")
        world.secret("cp", "robot", {"password": robot})
        asked = {"registry": {"password": robot}, "build": {"args": {"TOKEN": robot}}}
        world.make("docker:index/image:Image", "agent", asked, ["repoDigest"])

    assert _said(proven(program)) == [("Image agent", "build.args.TOKEN", ("RandomPassword robot",))]


CASES = [case for family in (direct, indirect, wrapped) for case in family() if "configuration" not in case.name]


@pytest.mark.parametrize("case", [case for case in CASES if case.family != "wrapped value"], ids=lambda case: case.name)
def test_a_leak_of_the_corpus_is_one(case: Case) -> None:
    assert proven(case.program, rounds=1).exit_code == 1


@pytest.mark.parametrize("case", all_clean(), ids=lambda case: f"{case.family}: {case.name}")
def test_a_clean_program_of_the_corpus_is_proven(case: Case) -> None:
    found = proven(case.program, rounds=1)
    assert (found.of(Kind.LEAK), found.problems, found.unsure, found.exit_code) == ([], [], [], 0)
