"""Accounts of clouds and services: what may be given to them, and whose is that by which the deployer logs in there."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge, judge_resource
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.preview_evidence import evidence_of
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.credentials import FLOW, VALUE
from hosted_mesh_policies.rules.unproven import UNPROVEN

from tests.corpus import literals

URN = "urn:pulumi:s::p::"
SETTINGS = Settings(
    clusters=ClusterConfig(control_plane_providers=("ours",), data_plane_providers=("users", "user-account"))
)
WORD = "random:index/randomPassword:RandomPassword"
VALUE_OF_WORD = literals.opaque("account", 40)


def _through(package: str, name: str, **inputs: Any) -> Provider:
    return Provider(f"{URN}pulumi:providers:{package}::{name}", f"pulumi:providers:{package}", name, inputs)


def _made(kind: str, name: str, inputs: dict[str, Any], provider: Provider | None, **more: Any) -> Resource:
    return Resource(f"{URN}{kind}::{name}", kind, name, inputs, provider=provider, **more)


def _word(value: Any) -> Resource:
    return _made(WORD, "word", {}, None, outputs={"result": value})


def _kept(value: Any, side: str = "ours", *sources: str) -> Resource:
    body = {"metadata": {"name": side}, "stringData": {"password": value}}
    through = _through("kubernetes", side)
    return _made("kubernetes:core/v1:Secret", side, body, through, dependencies={"stringData": sources})


def _judged(*resources: Resource) -> list[str]:
    context = Context(Stack("s", resources), SETTINGS)
    return [finding.message for rule in (FLOW, VALUE) for finding in judge(rule, context)]


PLACES = [
    ("aws:ecs/taskDefinition:TaskDefinition", "containerDefinitions"),
    ("aws:secretsmanager/secretVersion:SecretVersion", "secretString"),
    ("gcp:cloudrunv2/service:Service", "template"),
    ("azure-native:web:WebAppApplicationSettings", "properties"),
    ("cloudflare:index/workersKv:WorkersKv", "value"),
    ("vault:kv/secretV2:SecretV2", "dataJson"),
    ("keycloak:oidc/identityProvider:IdentityProvider", "clientSecret"),
]


@pytest.mark.parametrize("value", [UNKNOWN, Secret(VALUE_OF_WORD)], ids=["not known yet", "known"])
@pytest.mark.parametrize(("kind", "argument"), PLACES)
def test_an_account_that_nobody_classified_is_a_place_where_things_go(kind: str, argument: str, value: Any) -> None:
    word = _word(value)
    package = kind.partition(":")[0]
    for name, said in (("some-account", True), ("default_6", False), ("ours", False)):
        given = _made(kind, "given", {argument: value}, _through(package, name), dependencies={argument: (word.urn,)})
        found = _judged(word, _kept(value, "ours", word.urn), given)
        assert bool(found) is said
        assert all(f"Provider {package}:some-account has no declared owner" in one for one in found)
        assert all("controlPlaneProviders" in one for one in found)


@pytest.mark.parametrize(("side", "said"), [("ours", 1), ("elsewhere", 0)])
def test_a_value_of_no_resource_is_found_in_such_an_account(side: str, said: int) -> None:
    """As is configuration, or what somebody typed in."""
    kind = "aws:secretsmanager/secretVersion:SecretVersion"
    given = _made(kind, "given", {"secretString": Secret(VALUE_OF_WORD)}, _through("aws", "some-account"))
    kept = [_kept(Secret(VALUE_OF_WORD))] if side == "ours" else []
    assert len(_judged(given, *kept)) == said


@pytest.mark.parametrize(
    ("kind", "name", "inputs"),
    [
        ("aws:rds/instance:Instance", "password", {"username": "shop", "password": UNKNOWN}),
        ("gcp:sql/user:User", "password", {"password": UNKNOWN}),
        (
            "azure-native:containerservice:ManagedCluster",
            "windowsProfile",
            {"windowsProfile": {"adminPassword": UNKNOWN}},
        ),
        ("aws:elasticache/replicationGroup:ReplicationGroup", "authToken", {"authToken": UNKNOWN}),
    ],
)
def test_by_what_an_accounts_resource_is_logged_in_to_is_its_own(kind: str, name: str, inputs: dict[str, Any]) -> None:
    account = _through(kind.partition(":")[0], "some-account")
    database = _made(kind, "database", inputs, account, dependencies={name: (_word(UNKNOWN).urn,)})
    kept, word = _kept(UNKNOWN, "ours", _word(UNKNOWN).urn), _word(UNKNOWN)
    assert _judged(word, kept, database) == []
    theirs = _kept(UNKNOWN, "users", word.urn)
    assert _judged(word, database, theirs)  # what opens the database is no data plane's


@pytest.mark.parametrize("value", [UNKNOWN, Secret(VALUE_OF_WORD)], ids=["not known yet", "known"])
@pytest.mark.parametrize(
    ("kind", "name", "inputs"),
    [
        ("aws:dms/endpoint:Endpoint", "password", {"serverName": "db.example.com", "port": 5432}),
        ("gcp:datastream/connectionProfile:ConnectionProfile", "mysqlProfile", {"hostname": "db.example.com"}),
        ("azure-native:x:Y", "users", {"endpoint": "db.example.com:5432"}),
    ],
)
def test_by_what_another_host_is_logged_in_to_is_not(kind: str, name: str, inputs: dict[str, Any], value: Any) -> None:
    """The name of an Azure server is its own, and no host's."""
    account, word = _through(kind.partition(":")[0], "some-account"), _word(value)
    for beside, said in ((inputs, True), (dict.fromkeys(inputs, "shop"), False)):
        body = {**beside, "password": value}
        asked = body if name == "password" else {name: body}
        given = _made(kind, "given", asked, account, dependencies={name: (word.urn,)})
        assert bool(_judged(word, _kept(value, "ours", word.urn), given)) is said


STORE = "azure:storage/account:Account"
JOB = "azure-native:containerinstance:ContainerGroup"


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ({"name": "ACCOUNT_KEY", "secureValue": UNKNOWN}, True),
        ({"name": "ACCOUNT_SECRET_NAME", "value": UNKNOWN}, False),
        ({"name": "BLOB", "value": UNKNOWN}, False),
    ],
)
def test_what_a_cloud_will_give_is_its_secret_where_one_is_expected(variable: dict[str, Any], said: bool) -> None:
    store = _made(STORE, "store", {}, _through("azure", "default_1"), outputs={"primaryAccessKey": Secret(UNKNOWN)})
    inputs = {"containers": [{"environmentVariables": [variable]}]}
    account = _through("azure-native", "some-account")
    job = _made(JOB, "job", inputs, account, dependencies={"containers": (store.urn,)})
    assert bool(_judged(store, job)) is said


@pytest.mark.parametrize(
    ("comes", "said"),
    [(Secret(VALUE_OF_WORD), 1), ("kq7vXw2mZx7LkW4nB9pYcR8tQ2", 0), ("https://store.example.com/", 0)],
)
def test_what_an_account_waits_for_is_written_unless_a_cloud_marks_it(comes: Any, said: int) -> None:
    store = _made(STORE, "store", {}, _through("azure", "default_1"), outputs={"primaryAccessKey": Secret(UNKNOWN)})
    account = _through("azure-native", "some-account")

    def job(given: Any) -> Resource:
        return _made(JOB, "job", {"definition": given}, account, dependencies={"definition": (store.urn,)})

    preview = Context(Stack("s", (store, job(UNKNOWN)), preview=True), SETTINGS)
    assert judge(FLOW, preview) == []
    write = Context(Stack("s", (job(comes),), partial=True), SETTINGS, evidence=evidence_of(preview, []))
    assert len(judge_resource(UNPROVEN, write, job(comes))) == said


def test_what_only_the_account_has_it_may_keep() -> None:
    account = _through("aws", "some-account")
    outputs = {"secret": Secret(VALUE_OF_WORD), "id": "AKIA"}
    key = _made("aws:iam/accessKey:AccessKey", "key", {"user": "backup"}, account, outputs=outputs)
    kind = "aws:secretsmanager/secretVersion:SecretVersion"
    inputs = {"secretString": Secret(VALUE_OF_WORD)}
    store = _made(kind, "store", inputs, account, dependencies={"secretString": (key.urn,)})
    assert _judged(key, store) == []
    assert _judged(key, store, _kept(Secret(VALUE_OF_WORD), "users", key.urn))


def test_plain_things_may_be_in_any_account() -> None:
    account = _through("aws", "some-account")
    word = _word(Secret(VALUE_OF_WORD))
    record = _made("aws:route53/record:Record", "record", {"name": "istiod", "records": ["192.0.2.1"]}, account)
    bucket = _made("aws:s3/bucket:Bucket", "bucket", {"bucket": "platform"}, account)
    role = _made("aws:iam/role:Role", "role", {"assumeRolePolicy": '{"Version": "2012-10-17"}'}, account)
    assert _judged(word, _kept(Secret(VALUE_OF_WORD), "ours", word.urn), record, bucket, role) == []


@pytest.mark.parametrize(
    ("package", "login"),
    [
        ("github", {"token": VALUE_OF_WORD}),
        ("datadog", {"apiKey": VALUE_OF_WORD}),
        ("grafana", {"auth": VALUE_OF_WORD}),
        ("docker", {"registryAuth": [{"address": "registry.example.com", "password": VALUE_OF_WORD}]}),
        ("nobody-knows-it", {"signIn": Secret(VALUE_OF_WORD)}),
    ],
)
@pytest.mark.parametrize(("name", "said"), [("some-account", 1), ("default_1", 1), ("user-account", 0)])
def test_by_what_the_deployer_logs_in_anywhere_is_the_control_planes(
    package: str, login: dict[str, Any], name: str, said: int
) -> None:
    account = _through(package, name, **login)
    team = _made(f"{package}:index/team:Team", "team", {"name": "platform"}, account)
    found = _judged(team, _kept(Secret(VALUE_OF_WORD), "users"))
    assert len(found) == said
    assert all(f"it comes from {package} {name}" in one for one in found)


def test_what_a_provider_is_told_in_plain_is_no_login() -> None:
    account = _through("github", "some-account", owner="a-team-of-this-name", baseUrl="https://git.example.com/")
    team = _made("github:index/team:Team", "team", {"name": "platform"}, account)
    theirs = _kept(Secret("a-team-of-this-name"), "users")
    assert _judged(team, theirs) == []
    word = "random:index/randomPassword:RandomPassword"
    seeded = _made(word, "seeded", {}, _through("random", "some-account", token=VALUE_OF_WORD))
    assert _judged(seeded, _kept(Secret(VALUE_OF_WORD), "users")) == []


def _logs_in(name: str, source: Resource, argument: str, value: Any) -> Resource:
    """A provider, with what it is given to log in."""
    kind = "pulumi:providers:docker"
    return _made(kind, name, {"host": "ssh://edge", argument: value}, None, dependencies={argument: (source.urn,)})


@pytest.mark.parametrize("value", [UNKNOWN, Secret(VALUE_OF_WORD)], ids=["not known yet", "known"])
def test_a_data_planes_provider_is_given_nothing_that_the_control_plane_has(value: Any) -> None:
    word = _word(value)
    login = _logs_in("user-account", word, "registryAuth", [{"address": "registry.example.com", "password": value}])
    whose = {
        "the control plane's": (word, _kept(value, "ours", word.urn)),
        "nobody else's": (word,),
        "the data plane's": (word, _kept(value, "users", word.urn)),
    }
    said = {name: {one.partition(": ")[0] for one in _judged(*known, login)} for name, known in whose.items()}
    assert {name for name, found in said.items() if found} == {"the control plane's"}


def test_by_what_the_control_planes_provider_logs_in_is_no_leak() -> None:
    word = _word(UNKNOWN)
    for name in ("ours", "some-account"):
        assert _judged(word, _kept(UNKNOWN, "ours", word.urn), _logs_in(name, word, "password", UNKNOWN)) == []


@pytest.mark.parametrize(("argument", "said"), [("endpoint", 0), ("username", 0), ("password", 1)])
def test_a_data_planes_provider_may_be_given_facts_of_what_has_a_secret(argument: str, said: int) -> None:
    kind, made = "azure:redis/cache:Cache", {"hostname": UNKNOWN, "primaryAccessKey": Secret(UNKNOWN)}
    cache = _made(kind, "cache", {}, _through("azure", "default_1"), outputs=made)
    assert len(_judged(cache, _logs_in("user-account", cache, argument, UNKNOWN))) == said


@pytest.mark.parametrize("kind", ["pulumi:pulumi:StackReference", "kubernetes:core/v1:Secret"])
def test_a_data_planes_provider_may_log_in_by_what_is_only_read(kind: str) -> None:
    """The engine shows nothing of it, and mostly it was given for this."""
    read = _made(kind, "read", {}, None)
    login = _logs_in("user-account", read, "password", Secret(VALUE_OF_WORD))
    assert _judged(login, _kept(UNKNOWN, "ours")) == []
    assert _judged(login, _kept(Secret(VALUE_OF_WORD), "ours"))


def _client_told(**outputs: Any) -> list[str]:
    """What is said of a page that gets a client's id, which a Secret of the control plane's has beside the secret."""
    client_id, secret = literals.opaque("client id", 32), literals.opaque("client secret", 64)
    told = {name: value(client_id) for name, value in outputs.items()} | {"clientSecret": Secret(secret)}
    client = _made("auth0:index/client:Client", "console", {"name": "console"}, None, outputs=told)
    through = _through("kubernetes", "ours")
    body = {"metadata": {"name": "login"}, "stringData": {"AUTH0_CLIENT": client_id, "AUTH0_SECRET": secret}}
    kept = _made("kubernetes:core/v1:Secret", "login", body, through, dependencies={"stringData": (client.urn,)})
    page = {"metadata": {"name": "page"}, "data": {"client": client_id}}
    given = _made("kubernetes:core/v1:ConfigMap", "page", page, _through("kubernetes", "users"))
    return _judged(client, kept, given)


def test_an_id_that_an_account_tells_in_plain_is_no_secret_beside_one() -> None:
    assert _client_told(clientId=str) == []


@pytest.mark.parametrize(
    "outputs",
    [
        {"clientId": Secret},
        {"id": str},
        {"client": str},
        {"endpoint": "redis://:{}@cache:6379".format},
        {"username": str, "password": Secret},
    ],
    ids=["marked", "a resource's own", "of no such name", "with a password in it", "marked under another name"],
)
def test_what_tells_no_id_in_plain_excuses_nothing(outputs: dict[str, Any]) -> None:
    """Some services, Postmark's relay of mail and DigitalOcean's registry, take one token as user and as password: what
    is marked there is no id here."""
    assert any("holds a control-plane secret" in one for one in _client_told(**outputs))


@pytest.mark.parametrize("name", ["username", "channel"])
def test_what_was_generated_as_a_password_is_no_id_where_an_account_repeats_it(name: str) -> None:
    """A dynamic provider answers with what it was asked, without marks; here with a password where a user was meant,
    or with a channel whose name is all that one needs to read it. What goes below came by another way: it was read."""
    word = _word(Secret(VALUE_OF_WORD))
    told = _made("mail:index/server:Server", "relay", {"name": "relay"}, None, outputs={name: VALUE_OF_WORD})
    body = {"metadata": {"name": "mail"}, "data": {"smtp.login": VALUE_OF_WORD}}
    given = _made("kubernetes:core/v1:ConfigMap", "mail", body, _through("kubernetes", "users"))
    found = _judged(word, told, _kept(Secret(VALUE_OF_WORD), "ours", word.urn), given)
    assert any("holds a control-plane secret" in one for one in found)


OURS, THEIRS = "https://ours.example.com:6443", "https://users.example.com:6443"
LOGIN = literals.opaque("by what the deployer logs in", 40)


def _in_store(**entries: str) -> Resource:
    body = {"metadata": {"name": "store"}, "stringData": {key: Secret(value) for key, value in entries.items()}}
    return _made("kubernetes:core/v1:Secret", "store", body, _through("kubernetes", "ours"))


def _with_login(package: str, **login: Any) -> Resource:
    """Something that the deployer makes with a login."""
    return _made(f"{package}:index/made:Made", "made", {"name": "made"}, _through(package, "ours", **login))


def _said_of_login(session: Session, earlier: Resource | None = None, *, key: str = "token") -> list[str]:
    """What is said, before it is written, of a data plane's provider that logs in by LOGIN, of the kind `key`."""
    if earlier is not None:
        session.before_write(earlier, [])
    inputs = {"kubeconfig": Secret(literals.kubeconfig(THEIRS, LOGIN, key=key))}
    login = _made("pulumi:providers:kubernetes", "users", inputs, None)
    return [finding.message for finding in session.before_write(login, [VALUE])]


def _with_configuration(key: str, value: str) -> Session:
    return Session(settings=SETTINGS, config={key: value}, secret_config_keys=frozenset({key}))


def test_by_what_a_data_plane_is_logged_in_to_may_also_be_in_the_control_planes_store() -> None:
    for kept in ({"kubeconfig": literals.kubeconfig(THEIRS, LOGIN)}, {}):
        assert _said_of_login(Session(settings=SETTINGS), _in_store(**kept)) == []


@pytest.mark.parametrize(
    ("session", "earlier"),
    [
        (_with_configuration("gcp:accessToken", LOGIN), None),
        (Session(settings=SETTINGS, ambient={"DIGITALOCEAN_TOKEN": LOGIN}), None),
        (Session(settings=SETTINGS), _with_login("gcp", accessToken=Secret(LOGIN))),
        (Session(settings=SETTINGS), _with_login("rancher2", tokenKey=Secret(LOGIN))),
    ],
    ids=["configuration", "environment", "provider of a cloud", "provider of a manager of clusters"],
)
def test_a_data_planes_provider_does_not_log_in_as_the_deployer_elsewhere(
    session: Session, earlier: Resource | None
) -> None:
    """A cluster of a cloud's takes the cloud's own token, and many examples write that into its kubeconfig. So the API
    server of a user's is shown what opens the whole account: the deployer's token is not the data plane's own."""
    assert _said_of_login(session, earlier)


def test_the_control_planes_own_login_is_refused_before_the_write_wherever_it_was_read_from() -> None:
    """The kubeconfig is in the configuration, as the kubernetes package wants it, and the provider was made of it: the
    configuration came first, so the token is told from there. A user's provider is given that token by mistake."""
    kubeconfig = literals.kubeconfig(OURS, LOGIN)
    session = _with_configuration("kubernetes:kubeconfig", kubeconfig)
    assert _said_of_login(session, _with_login("kubernetes", kubeconfig=Secret(kubeconfig)))


@pytest.mark.parametrize(
    ("kept", "key"),
    [
        ({"kubeconfig": literals.kubeconfig(OURS, LOGIN)}, "token"),
        ({"url": "https://console.example.com", "username": "admin", "password": LOGIN}, "password"),
    ],
    ids=["another cluster's", "another service's"],
)
def test_what_the_store_says_to_open_something_else_is_no_data_planes_login(kept: dict[str, str], key: str) -> None:
    """The wrong one of two variables, or a loop that kept its first token: the address is the user's, the login is what
    the control plane's store has for an address of its own."""
    assert _said_of_login(Session(settings=SETTINGS), _in_store(**kept), key=key)
