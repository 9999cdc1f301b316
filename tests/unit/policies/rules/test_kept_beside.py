"""What a data plane's cluster keeps in a Secret, and has in plain as well, is its own. Its neighbours are not."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hosted_mesh_plan import vocabulary

from tests.corpus import literals
from tests.corpus.case import Case
from tests.corpus.simulated_engine import simulate
from tests.corpus.world import World, key, password, request, self_signed, signed

Program = Callable[..., Any]
OTHER = "https://other.example.com:6443"


def _word(world: World, *sides: str, name: str = "db") -> Any:
    """A generated password, kept in a Secret of each of these sides."""
    word = password(name, 32).output("result")
    for side in sides:
        world.secret(side, name, {"password": word})
    return word


def _variables(world: World, **values: Any) -> None:
    env = [{"name": name, "value": value} for name, value in values.items()]
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1", "env": env}]}
    world.object("dp", "batch/v1:Job", "app", {"spec": {"template": {"spec": pod}}})


def _map(world: World, text: Any, **metadata: Any) -> None:
    world.config_map("dp", "app", {"app.conf": text}, **metadata)


def _token(world: World, side: str) -> Any:
    meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
    body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
    data = world.object(side, "v1:Secret", f"token-{side}", body).output("data")
    return data.apply(lambda found: base64.b64decode((found or {}).get("token", "")).decode())


def _basic(word: Any) -> Any:
    return word.apply(lambda text: "Authorization: Basic " + base64.b64encode(f"app:{text}".encode()).decode())


def _third(world: World) -> None:
    """Another data plane, of which nothing but its Secret is told."""
    text = literals.kubeconfig(OTHER, literals.opaque("other", 40))
    world._providers["other"] = world.named_provider("other-cluster", text)


OWN: dict[str, Program] = {
    "a variable": lambda w: _variables(w, DB_PASSWORD=_word(w, "dp")),
    "a URL": lambda w: _map(w, w.concat("url = postgres://app:", _word(w, "dp"), "@db:5432/app\n")),
    "a header": lambda w: _map(w, _basic(_word(w, "dp"))),
    "an argument": lambda w: _map(w, w.concat("exec agent --password=", _word(w, "dp"))),
    "its cluster's token": lambda w: _variables(w, BEARER=_token(w, "dp")),
}


def _neighbours_token(world: World) -> None:
    _third(world)
    _variables(world, BEARER=_token(world, "other"))


def _kept_in_another_cluster(world: World) -> None:
    _third(world)
    _variables(world, DB_PASSWORD=_word(world, "other"))


def _literal_beside(world: World) -> None:
    _variables(world, DB_PASSWORD=_word(world, "dp"), ADMIN_PASSWORD=literals.opaque("admin", 32))


def _both_in_one_text(world: World) -> None:
    ours, own = _word(world, "cp", name="hub"), _word(world, "dp")
    _map(world, world.concat("password = ", own, "\nmaster_password = ", ours, "\n"))


def _private_key(world: World) -> None:
    made = key("own").output("privateKeyPem")
    world.secret("dp", "own", {"tls.key": made})
    _map(world, made)


LEAKS: dict[str, Program] = {
    "of the control plane's": lambda w: _variables(w, DB_PASSWORD=_word(w, "cp")),
    "of the control plane's, in a URL": lambda w: _map(w, w.concat("u = amqp://a:", _word(w, "cp"), "@mq:5671/a")),
    "of both": lambda w: _variables(w, DB_PASSWORD=_word(w, "cp", "dp")),
    "kept nowhere": lambda w: _variables(w, DB_PASSWORD=_word(w)),
    "kept in another cluster": _kept_in_another_cluster,
    "the control plane's token": lambda w: _variables(w, BEARER=_token(w, "cp")),
    "another data plane's token": _neighbours_token,
    "a literal beside it": _literal_beside,
    "the control plane's in the same text": _both_in_one_text,
    "a private key": _private_key,
    "under a cloud's name": lambda w: _variables(w, AWS_SECRET_ACCESS_KEY=_word(w, "dp")),
    "of the configuration": lambda w: _variables(w, DB_PASSWORD=w.configured("db")),
}


def _said(program: Program, *, again: bool) -> list[str]:
    """What is said before anything is written."""
    verdict = simulate(Case("x", "timing", program, before=program if again else None))
    return [finding.message for finding in (*verdict.preview, *verdict.before_write)]


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", OWN)
def test_what_the_cluster_keeps_in_a_secret_may_be_in_plain_there(name: str, again: bool) -> None:
    assert _said(OWN[name], again=again) == []


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("name", LEAKS)
def test_what_it_does_not_keep_may_not(name: str, again: bool) -> None:
    assert _said(LEAKS[name], again=again)


# The key of istiod's authority in `cacerts` ---------------------------------------------------------------------


def _cacerts(world: World, private: Any, certificate: Any, side: str = "dp", **metadata: Any) -> None:
    world.secret(side, "cacerts", {"ca-key.pem": private, "ca-cert.pem": certificate}, **metadata)


def _authority(name: str) -> tuple[Any, Any]:
    private = key(name)
    certificate = self_signed(name, private, authority=True)
    return private, certificate


def _in_the_wrong_cluster(world: World, **metadata: Any) -> None:
    private, certificate = _authority("mesh")
    _cacerts(world, private.output("privateKeyPem"), certificate.output("certPem"), **metadata)


def _trusted(world: World, **metadata: Any) -> None:
    private, certificate = _authority("mesh")
    _cacerts(world, private.output("privateKeyPem"), certificate.output("certPem"), **metadata)
    world.config_map("cp", "trusted", {"root.pem": certificate.output("certPem")})


def _in_both(world: World, **metadata: Any) -> None:
    private, certificate = _authority("mesh")
    for side in ("cp", "dp"):
        _cacerts(world, private.output("privateKeyPem"), certificate.output("certPem"), side, **metadata)


def _below_the_control_planes(world: World, **metadata: Any) -> None:
    root, mine = _authority("root"), key("mesh")
    world.secret("cp", "root", {"tls.key": root[0].output("privateKeyPem")})
    made = signed("mesh", request("mesh", mine), *root, authority=True)
    _cacerts(world, mine.output("privateKeyPem"), made.output("certPem"), **metadata)


def _of_two(world: World, **metadata: Any) -> None:
    _third(world)
    private, certificate = _authority("mesh")
    for side in ("dp", "other"):
        _cacerts(world, private.output("privateKeyPem"), certificate.output("certPem"), side, **metadata)


def _typed_in(world: World, **metadata: Any) -> None:
    _cacerts(world, literals.private_key("ca"), literals.authority()[0], **metadata)


NOTE = {"annotations": {vocabulary.DATA_PLANE_OWNED_ANNOTATION: "read by the istiod of this cluster's owner"}}
PARTAKEN = (_trusted, _in_both, _below_the_control_planes, _of_two, _typed_in)


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
@pytest.mark.parametrize("note", [{}, NOTE], ids=["", "annotated"])
@pytest.mark.parametrize("program", PARTAKEN)
def test_the_key_of_an_authority_in_which_others_have_a_part_stays_out_of_a_data_plane(
    program: Program, note: dict[str, Any], again: bool
) -> None:
    assert _said(lambda world: program(world, **note), again=again)


@pytest.mark.parametrize("again", [False, True], ids=["not known yet", "known"])
def test_the_key_of_an_authority_of_its_own_wants_somebody_to_say_who_reads_it(again: bool) -> None:
    """A mesh whose istiod is elsewhere has no use for it there: who means the other cluster does the same."""
    (said,) = _said(_in_the_wrong_cluster, again=again)
    assert vocabulary.DATA_PLANE_OWNED_ANNOTATION in said
    assert _said(lambda world: _in_the_wrong_cluster(world, **NOTE), again=again) == []
