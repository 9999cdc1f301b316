"""Whose something is, where nobody says it: what a verdict adds, and how a person says that both sides have a login."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.credentials import VALUE

from tests.corpus.blind_corpus.suggested_settings import LOGIN as FOR_DATA_PLANE
from tests.corpus.blind_corpus.suggested_settings import OF_DEFAULT, SETTING
from tests.unit.policies.rules.sides import (
    KEY,
    LOGIN,
    OWN,
    REASON,
    REFERENCE,
    SIDES,
    URN,
    WORD,
    judged,
    resource,
    secret,
)


def _advised(found: list[str]) -> set[tuple[str, str]]:
    """What to name, and in which setting."""
    return {told for one in found for pattern in (SETTING, OF_DEFAULT) for told in pattern.findall(one)}


VALUES = pytest.mark.parametrize("value", [UNKNOWN, Secret(LOGIN)], ids=["not known yet", "known"])


def test_a_verdict_on_another_stacks_secret_says_how_to_say_whose_it_is() -> None:
    database = resource(REFERENCE, "shop/data/prod", outputs={"outputs": {"password": Secret(LOGIN)}})
    given = secret("users", Secret(LOGIN), database)
    assert _advised(judged(database, given)) == {("shop/data/prod", "dataPlaneStacks")}
    assert judged(database, given, stacks=("shop/data/prod",)) == []


@VALUES
def test_so_does_one_on_what_an_account_makes(value: Any) -> None:
    key = resource("aws:iam/accessKey:AccessKey", "backup", "some-account", inputs={}, outputs={"secret": value})
    given = secret("users", value, key)
    assert _advised(judged(key, given)) == {("aws:some-account", "dataPlaneProviders")}
    assert judged(key, given, data_plane_providers=("aws:some-account",)) == []


@VALUES
def test_so_does_one_on_what_an_account_is_given(value: Any) -> None:
    """A database's login is generated: that the account has it makes it the control plane's."""
    word = resource(WORD, "login", outputs={"result": value})
    kind, inputs = "postgresql:index/role:Role", {"password": value}
    role = resource(kind, "orders", "some-account", inputs=inputs, dependencies={"password": (word.urn,)})
    found = judged(word, role, given := secret("users", value, word))
    assert _advised(found) == {("postgresql:some-account", "dataPlaneProviders")}
    assert all("which makes Role orders, has no declared owner" in one for one in found)
    assert judged(word, role, given, data_plane_providers=("some-account",)) == []


SENDER, ROLE = "AccessKey:shop-mail", "Role:orders"


def _sender(value: Any, name: str = "shop-mail") -> Resource:
    return resource("aws:iam/accessKey:AccessKey", name, "our-account", inputs={}, outputs={"secret": value})


@VALUES
@pytest.mark.parametrize("ours", [(), ("our-account",)], ids=["of nobody", "the control plane's account"])
def test_what_the_control_plane_makes_for_a_data_plane_to_log_in_is_named(value: Any, ours: tuple[str, ...]) -> None:
    key = _sender(value)
    given = secret("users", value, key)
    found = judged(key, given, control_plane_providers=("ours", *ours))
    assert {name for one in found for name, _ in FOR_DATA_PLANE.findall(one)} == {SENDER}
    assert judged(key, given, control_plane_providers=("ours", *ours), logins=(SENDER,)) == []


@VALUES
def test_a_generated_login_is_named_by_what_it_opens(value: Any) -> None:
    word = resource(WORD, "login", outputs={"result": value})
    kind, inputs = "postgresql:index/role:Role", {"password": value}
    role = resource(kind, "orders", "some-account", inputs=inputs, dependencies={"password": (word.urn,)})
    given = secret("users", value, word)
    assert judged(word, role, given, logins=("Role:*",)) == []
    # Another role with the same login is the control plane's own.
    other = resource(kind, "admin", "some-account", inputs=inputs, dependencies={"password": (word.urn,)})
    assert judged(word, role, other, given, logins=(ROLE,))


@VALUES
def test_nothing_else_is_a_login_that_was_made_for_a_data_plane(value: Any) -> None:
    for key, logins in (
        (_sender(value, name="hub-mail"), (SENDER,)),
        (_sender(value), ("User:shop-mail",)),
    ):
        assert judged(key, secret("users", value, key), logins=logins)
    # What the control plane keeps as well is the control plane's, until its Secret says that both have it.
    key = _sender(value)
    assert judged(key, secret("ours", value, key), secret("users", value, key), logins=(SENDER,))
    # A Secret of the control plane's cluster is named in its own annotation.
    kept = secret("ours", value)
    assert judged(kept, secret("users", value, kept, name="copy"), logins=("SecretKey:*", "*Key:ours-login"))


@VALUES
def test_a_login_that_no_name_frees_is_not_asked_for(value: Any) -> None:
    """What the library's control plane makes stays its own whatever is named: its author would name it in vain."""
    below = f"{URN}hosted-mesh:index:ExternalControlPlane$aws:iam/accessKey:AccessKey::shop-mail"
    key = dataclasses.replace(_sender(value), urn=below)
    found = judged(key, secret("users", value, key), control_plane_providers=("our-account",), logins=(SENDER,))
    assert found
    assert not any(FOR_DATA_PLANE.search(one) for one in found)


@VALUES
@pytest.mark.parametrize("name", ["robot[shop]", "robot?"])
def test_nothing_but_a_star_is_more_than_itself_in_a_logins_name(value: Any, name: str) -> None:
    """A program that was converted calls its resources robot["shop"]: the name that the verdict tells has to free this
    one, and no robots that is called with one of these letters."""
    key, other = _sender(value, name=name), _sender(value, name="robots")
    found = judged(key, given := secret("users", value, key), control_plane_providers=("our-account",))
    [named] = {named for one in found for named, _ in FOR_DATA_PLANE.findall(one)}
    assert judged(key, given, control_plane_providers=("our-account",), logins=(named,)) == []
    for pattern in (f"AccessKey:{name}", "AccessKey:robot[s]", "AccessKey:?*", "AccessKey:[!x]*"):
        assert judged(other, secret("users", value, other), control_plane_providers=("our-account",), logins=(pattern,))


def _pod(value: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "app", "env": [{"name": "SMTP_PASSWORD", "value": value}]}]}}}


@VALUES
@pytest.mark.parametrize(
    ("kind", "through", "place", "held"),
    [
        ("kubernetes:core/v1:Secret", "ours", "stringData", lambda value: {"app.yaml": value}),
        ("kubernetes:core/v1:ConfigMap", "ours", "data", lambda value: {"app.yaml": value}),
        ("kubernetes:apps/v1:Deployment", "ours", "spec", _pod),
        ("aws:secretsmanager/secretVersion:SecretVersion", "our-account", "secretString", lambda value: value),
    ],
    ids=["Secret", "ConfigMap", "Deployment", "a vault"],
)
def test_a_named_login_that_the_control_plane_has_too_stays_refused(
    value: Any, kind: str, through: str, place: str, held: Callable[[Any], Any]
) -> None:
    """The hub's own mails are sent by the key that is named for a tenant: whatever of the hub's has it, under whatever
    name, it is no longer one tenant's."""
    key, ours = _sender(value), {"control_plane_providers": ("our-account",)}
    inputs = {"metadata": {"name": "hub"}, place: held(value)}
    kept = resource(kind, "hub", through, inputs=inputs, dependencies={place: (key.urn,)})
    given = secret("users", value, key)
    assert judged(key, given, logins=(SENDER,), **ours) == []
    assert judged(key, given, kept, logins=(SENDER,), **ours)


@VALUES
def test_a_named_login_by_which_the_hubs_own_provider_logs_in_stays_refused_at_preview(value: Any) -> None:
    """The hub's second provider logs in by the key that is named for a tenant: whoever gets it is the hub there."""
    key = _sender(value)
    login = resource(
        "pulumi:providers:aws", "our-mail", inputs={"secretKey": value}, dependencies={"secretKey": (key.urn,)}
    )
    ours = {"control_plane_providers": ("our-account", "our-mail")}
    assert judged(key, login, secret("users", value, key), **ours)
    assert judged(key, login, secret("users", value, key), logins=(SENDER,), **ours)


@VALUES
def test_a_cluster_behind_the_control_planes_provider_is_no_login(value: Any) -> None:
    """`Cluster:*` is named, for tenants' clusters; the hub's own cluster is of the same type."""
    cluster = resource("gcp:container/cluster:Cluster", "hub", "our-account", inputs={}, outputs={"config": value})
    login = resource(
        "pulumi:providers:kubernetes", "ours", inputs={"kubeconfig": value}, dependencies={"kubeconfig": (cluster.urn,)}
    )
    ours = {"control_plane_providers": ("our-account",)}
    assert judged(cluster, login, secret("users", value, cluster), **ours)
    assert judged(cluster, login, secret("users", value, cluster), logins=("Cluster:h*",), **ours)


@VALUES
def test_a_named_resource_does_not_free_a_password_that_it_only_runs_with(value: Any) -> None:
    """The hub's function is named because a tenant calls it by its key; the password of the hub's database in its
    environment, which nothing else of this stack has, then passes into the tenant's Secret at preview and update."""
    word = resource(WORD, "database", outputs={"result": value})
    variables = {"variables": {"DATABASE_PASSWORD": value}}
    function = resource(
        "aws:lambda/function:Function",
        "shop-hook",
        "our-account",
        inputs={"environment": variables},
        dependencies={"environment": (word.urn,)},
    )
    ours = {"control_plane_providers": ("our-account",)}
    assert judged(word, function, given := secret("users", value, word), **ours)
    assert judged(word, function, given, logins=("Function:shop-hook",), **ours)


@pytest.mark.parametrize(("through", "named"), [("default_1_2", "command:*"), ("deployer", "command:deployer")])
def test_a_verdict_on_what_a_command_gets_says_how_to_say_that_it_stays(through: str, named: str) -> None:
    word = resource(WORD, "login", outputs={"result": UNKNOWN})
    command = resource(
        "command:local:Command",
        "asks",
        through,
        inputs={"environment": UNKNOWN},
        dependencies={"environment": (word.urn,)},
    )
    resources = (word, secret("ours", UNKNOWN, word), command)
    assert _advised(judged(*resources)) == {(named, "controlPlaneProviders")}
    assert judged(*resources, control_plane_providers=(named,)) == []


def test_what_somebody_classified_is_not_asked_for() -> None:
    word = resource(WORD, "login", outputs={"result": UNKNOWN})
    key = resource("aws:iam/accessKey:AccessKey", "backup", "our-account", outputs={"secret": Secret(UNKNOWN)})
    reference = resource(REFERENCE, "shop/data-plane", outputs={"outputs": {"token": Secret(LOGIN)}})
    found = judged(
        *(word, key, reference, secret("ours", UNKNOWN, word), secret("ours", UNKNOWN, reference, name="theirs")),
        *(secret("users", UNKNOWN, word), secret("users", UNKNOWN, key, name="backup")),
        stacks=("*/data-plane",),
        control_plane_providers=("our-account",),
    )
    assert len(found) == 2
    assert _advised(found) == set()


def test_of_two_who_make_it_the_control_planes_the_one_who_is_classified_counts() -> None:
    """Else a person says that the account is the data plane's, and is refused again."""
    word = resource(WORD, "login", outputs={"result": UNKNOWN})
    role = resource(
        "postgresql:index/role:Role",
        "a",
        "some-account",
        inputs={"password": UNKNOWN},
        dependencies={"password": (word.urn,)},
    )
    for resources in ((word, role, secret("ours", UNKNOWN, word)), (word, secret("ours", UNKNOWN, word), role)):
        (found,) = judged(*resources, secret("users", UNKNOWN, word))
        assert _advised([found]) == set()
        assert OWN not in found  # the account has it too


@VALUES
def test_a_secret_that_both_sides_have_passes_where_a_person_says_whose_it_is(value: Any) -> None:
    word = resource(WORD, "login", outputs={"result": value})
    given = secret("users", value, word)
    assert any(OWN in one for one in judged(word, secret("ours", value, word), given))
    assert judged(word, secret("ours", value, word, annotations=REASON), given) == []


def test_so_does_one_of_the_configuration() -> None:
    assert judged(secret("ours", Secret(LOGIN)), given := secret("users", Secret(LOGIN)))
    assert judged(secret("ours", Secret(LOGIN), annotations=REASON), given) == []


def test_before_a_write_too() -> None:
    for reason, said in ((REASON, 0), ({}, 1)):
        session = Session(settings=Settings(clusters=ClusterConfig(**SIDES)))
        session.before_write(secret("ours", Secret(LOGIN), annotations=reason), [VALUE])
        assert len(session.before_write(secret("users", Secret(LOGIN)), [VALUE])) == said


@VALUES
@pytest.mark.parametrize(
    "more",
    [
        lambda value, word: [secret("ours", value, word, annotations={OWN: "yes"})],
        lambda value, word: [secret("ours", value, word, name="cacerts", annotations=REASON)],
        lambda value, word: [
            secret("ours", value, word, annotations=REASON),
            secret("ours", value, word, name="other"),
        ],
        lambda value, word: [
            secret("ours", value, word, annotations=REASON),
            resource(
                "kubernetes:apps/v1:Deployment",
                "collector",
                "ours",
                inputs={"metadata": {"name": "collector"}, "spec": {"password": value}},
                dependencies={"spec": (word.urn,)},
            ),
        ],
    ],
    ids=["without a reason", "in istiod's Secret", "while another Secret has it", "while a Deployment has it"],
)
def test_what_is_said_of_one_secret_holds_for_no_other(value: Any, more: Any) -> None:
    word = resource(WORD, "login", outputs={"result": value})
    assert judged(word, *more(value, word), secret("users", value, word))


def test_on_the_data_planes_side_it_does_not_help_against_the_control_planes() -> None:
    word = resource(WORD, "login", outputs={"result": Secret(LOGIN)})
    given = secret("users", Secret(LOGIN), word, annotations=REASON)
    assert len(judged(word, secret("ours", Secret(LOGIN), word), given)) == 2


def test_nobody_is_asked_whose_a_private_key_is() -> None:
    key = resource(KEY, "authority", outputs={"privateKeyPem": UNKNOWN})
    (found,) = judged(key, secret("ours", UNKNOWN, key), secret("users", UNKNOWN, key))
    assert OWN not in found
