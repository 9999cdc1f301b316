"""What `data-plane-owned` on a Secret of the control plane's does not let through, and hints that are not given.

By somebody who has not written the rule. Each program is refused without the annotation, before its data plane has
anything of it, and with it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pulumi
import pytest
from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.credentials import FLOW, VALUE

from tests.corpus import literals
from tests.corpus.case import Case
from tests.corpus.simulated_engine import simulate
from tests.corpus.world import Object, World, key, password, random_id, request, self_signed, signed
from tests.unit.analysis.prove.in_process import proven
from tests.unit.policies.rules.sides import LOGIN, OWN, REASON, REFERENCE, URN, WORD, judged, resource, secret

Said = Mapping[str, str]
Program = Callable[[World, Said], Any]
ACCOUNT = {"kubernetes.io/service-account.name": "reader"}


def _login(world: World, said: Said, **more: Any) -> tuple[Any, Object]:
    login = password("login").output("result")
    return login, world.secret("cp", "collector", {"password": login}, annotations=said, **more)


def _read(kept: Object, name: str = "password", made: Callable[[str], Any] = str) -> Any:
    """What the program reads out of a Secret that it has made."""
    return kept.output("stringData").apply(lambda data: made(data[name]))


def _container(world: World, side: str, kind: str, name: str, **container: Any) -> None:
    spec = {"template": {"spec": {"containers": [{"name": "c", **container}]}}}
    world.object(side, kind, name, {"spec": spec})


def deployment_through_the_secret(world: World, said: Said) -> None:
    login, kept = _login(world, said)
    _container(world, "cp", "apps/v1:Deployment", "collector", env=[{"name": "LOGIN", "value": _read(kept)}])
    world.secret("dp", "agent", {"password": login})


def other_secret_through_the_secret(world: World, said: Said) -> None:
    login, kept = _login(world, said)
    world.secret("cp", "copy", {"password": _read(kept)})
    world.secret("dp", "agent", {"password": login})


def database_through_the_secret(world: World, said: Said) -> None:
    login, kept = _login(world, said)
    world.make("aws:rds/instance:Instance", "db", {"password": _read(kept)})
    world.secret("dp", "agent", {"password": login})


def cacerts_through_the_secret(world: World, said: Said) -> None:
    private = key("ca").output("privateKeyPem")
    kept = world.secret("cp", "mesh-ca", {"key": private}, annotations=said)
    world.secret("cp", "cacerts", {"ca-key.pem": _read(kept, "key")})
    world.secret("dp", "agent", {"key": private})


def signer_through_the_secret(world: World, said: Said) -> None:
    root, leaf = key("root"), key("leaf")
    kept = world.secret("cp", "root", {"key": root.output("privateKeyPem")}, annotations=said)
    inputs = {
        "certRequestPem": request("leaf", leaf).output("certRequestPem"),
        "caPrivateKeyPem": _read(kept, "key"),
        "caCertPem": self_signed("root", root, authority=True).output("certPem"),
        "validityPeriodHours": 24,
        "allowedUses": ["server_auth"],
    }
    made = Object("tls:index/locallySignedCert:LocallySignedCert", "leaf", inputs, None, ["certPem"])
    world.secret("cp", "leaf", {"tls.key": leaf.output("privateKeyPem"), "tls.crt": made.output("certPem")})
    world.secret("dp", "agent", {"key": root.output("privateKeyPem")})


def another_stacks_secret_through_the_secret(world: World, said: Said) -> None:
    """Given to the data plane as it is, it is refused with the annotation too."""
    kept = world.secret("cp", "collector", {"password": world.output_of("org/x/prod", "token")}, annotations=said)
    world.secret("dp", "agent", {"password": _read(kept)})


def unrelated_secret_beside_the_login(world: World, said: Said) -> None:
    """Another Secret has the login, and an administrator's password that no annotation speaks of."""
    _, kept = _login(world, said)
    admin = world.configured("admin")
    settings = world.secret("cp", "settings", {"login": _read(kept), "admin": admin})
    world.secret("dp", "agent", {"other": admin}, depends_on=[settings])


def unrelated_value_of_a_release_beside_the_login(world: World, said: Said) -> None:
    _, kept = _login(world, said)
    admin = world.configured("admin")
    values = {"auth": {"login": _read(kept), "adminPassword": admin}}
    world.make("kubernetes:helm.sh/v3:Release", "collector", {"chart": "collector", "values": values}, side="cp")
    world.secret("dp", "agent", {"other": admin})


def token_that_the_control_planes_cluster_makes(world: World, said: Said) -> None:
    kind = {"type": "kubernetes.io/service-account-token", "metadata": {"annotations": {**ACCOUNT, **said}}}
    kept = world.object("cp", "v1:Secret", "reader", kind)
    world.secret("dp", "agent", {"token": kept.output("data").apply(lambda data: data["token"])})


def what_a_patched_secret_has_besides(world: World, said: Said) -> None:
    """A patch gives a Secret of somebody else's an annotation, and shows all that is in it."""
    metadata = {"name": "existing", "namespace": "mesh", "annotations": said}
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    kept = world.make("kubernetes:core/v1:SecretPatch", "existing", inputs, ["data"], ["data"], side="cp")
    world.secret("dp", "agent", {"key": kept.output("data").apply(lambda data: (data or {}).get("key", "none"))})


def custom_resource_of_kind_secret(world: World, said: Said) -> None:
    body = {"spec": {"forProvider": {"name": "db"}}, "metadata": {"annotations": said}}
    kept = world.object("cp", "secretsmanager.aws.upbound.io/v1beta1:Secret", "db", body)
    world.secret("dp", "agent", {"key": kept.output("status").apply(lambda status: (status or {}).get("key", "none"))})


def cacerts_by_a_name_that_is_known_late(world: World, said: Said) -> None:
    private = key("ca").output("privateKeyPem")
    name = random_id("names").output("hex").apply(lambda _: "cacerts")
    body = {"stringData": {"ca-key.pem": private}, "metadata": {"name": name, "annotations": said}}
    world.object("cp", "v1:Secret", "authority", body)
    world.secret("dp", "agent", {"key": private})


def root_of_cacerts(world: World, said: Said) -> None:
    """The root signs the authority in `cacerts`, whose key is of the configuration."""
    root = key("root")
    intermediate = world.mark(literals.private_key("intermediate"))
    asked = Object(
        "tls:index/certRequest:CertRequest",
        "intermediate",
        {"privateKeyPem": intermediate, "subject": {"commonName": "mesh"}},
        None,
        ["certRequestPem"],
        ["privateKeyPem"],
    )
    made = signed("intermediate", asked, root, self_signed("root", root, authority=True), authority=True)
    world.secret("cp", "cacerts", {"ca-key.pem": intermediate, "ca-cert.pem": made.output("certPem")})
    world.secret("cp", "root", {"key": root.output("privateKeyPem")}, annotations=said)
    world.secret("dp", "agent", {"key": root.output("privateKeyPem")})


def plain_argument_of_a_deployment(world: World, said: Said) -> None:
    login = literals.opaque("login")
    world.secret("cp", "collector", {"password": login}, annotations=said)
    _container(world, "cp", "apps/v1:Deployment", "collector", args=[f"--auth={login}"])
    world.secret("dp", "agent", {"password": login})


def serving_key(world: World, said: Said) -> None:
    """`where one is on both sides, make two`, says the page."""
    private = key("serving")
    pair = {"tls.key": private.output("privateKeyPem"), "tls.crt": self_signed("serving", private).output("certPem")}
    world.secret("cp", "serving", pair, "kubernetes.io/tls", annotations=said)
    world.secret("dp", "agent", pair, "kubernetes.io/tls")


def ssh_key_of_the_configuration(world: World, said: Said) -> None:
    pair = {"ssh-privatekey": world.mark(literals.private_key("git"))}
    world.secret("cp", "git", pair, "kubernetes.io/ssh-auth", annotations=said)
    world.secret("dp", "git", pair, "kubernetes.io/ssh-auth")


def configmap_made_of_it(world: World, said: Said) -> None:
    """The preview passes; the update says it when the data plane has it."""
    _, kept = _login(world, said)
    copy = world.config_map("cp", "copy", {"auth": _read(kept)})
    world.secret("dp", "agent", {"password": copy.output("data").apply(lambda data: data["auth"])})


THROUGH: list[Program] = [
    deployment_through_the_secret,
    other_secret_through_the_secret,
    database_through_the_secret,
    cacerts_through_the_secret,
    signer_through_the_secret,
    another_stacks_secret_through_the_secret,
    unrelated_secret_beside_the_login,
    unrelated_value_of_a_release_beside_the_login,
    token_that_the_control_planes_cluster_makes,
    what_a_patched_secret_has_besides,
    custom_resource_of_kind_secret,
    cacerts_by_a_name_that_is_known_late,
    root_of_cacerts,
    plain_argument_of_a_deployment,
    serving_key,
    ssh_key_of_the_configuration,
    configmap_made_of_it,
]


def _elsewhere(kind: str, **inputs: Any) -> Program:
    def program(world: World, said: Said) -> None:
        login, _ = _login(world, said)
        given = {name: login if value == "login" else value for name, value in inputs.items()}
        world.make(kind, "elsewhere", {**given, **({"environment": {"X": login}} if "create" in inputs else {})})

    return program


def _unclassified(world: World, said: Said) -> None:
    nobodys = world.named_provider("nobodys", literals.kubeconfig("https://nobodys.example.com:6443"))
    login, _ = _login(world, said)
    inputs = {"metadata": {"name": "agent"}, "stringData": world.mark({"password": login})}
    Object("kubernetes:core/v1:Secret", "agent", inputs, pulumi.ResourceOptions(provider=nobodys))


def _account(world: World, said: Said) -> None:
    nobodys = pulumi.ProviderResource("aws", "nobodys", {"region": "eu-west-1"})
    login, _ = _login(world, said)
    kind = "aws:secretsmanager/secretVersion:SecretVersion"
    Object(kind, "login", {"secretString": login}, pulumi.ResourceOptions(provider=nobodys))


ELSEWHERE: dict[str, Program] = {
    "a bucket that all can read": _elsewhere("aws:s3/bucketObject:BucketObject", acl="public-read", content="login"),
    "DNS": _elsewhere("cloudflare:index/record:Record", type="TXT", content="login"),
    "a forge": _elsewhere("github:index/actionsSecret:ActionsSecret", repository="app", plaintextValue="login"),
    "a machine": _elsewhere("command:remote:Command", create="x"),
    "a cluster with no declared owner": _unclassified,
    "an account that nobody classified": _account,
}


def _refused(program: Program, said: Said) -> set[str]:
    """The rules that refuse a program before its data plane has anything of it."""
    verdict = simulate(Case("attack", "attack", lambda world: program(world, said)))
    return {finding.rule for finding in (*verdict.preview, *verdict.before_write)}


@pytest.mark.parametrize("program", THROUGH, ids=lambda program: program.__name__)
def test_what_is_said_of_one_secret_does_not_open_another_thing_of_the_control_planes(program: Program) -> None:
    assert _refused(program, {}), "refused without the annotation"
    assert _refused(program, REASON)


@pytest.mark.parametrize("place", ELSEWHERE)
def test_the_data_planes_own_does_not_go_where_no_data_plane_is(place: str) -> None:
    assert _refused(ELSEWHERE[place], {}), "refused without the annotation"
    assert _refused(ELSEWHERE[place], REASON)


UNSEEN_BY_PROVE = [
    unrelated_secret_beside_the_login,
    unrelated_value_of_a_release_beside_the_login,
    what_a_patched_secret_has_besides,
    custom_resource_of_kind_secret,
    plain_argument_of_a_deployment,
    ssh_key_of_the_configuration,
]
"""What is written in the program, or what only a cluster has."""


@pytest.mark.parametrize(
    "program", [one for one in THROUGH if one not in UNSEEN_BY_PROVE], ids=lambda one: one.__name__
)
def test_nor_does_prove_let_it_through(program: Program) -> None:
    assert proven(lambda world: program(world, REASON)).exit_code == 1


@pytest.mark.parametrize("place", ELSEWHERE)
def test_nor_does_prove_let_it_go_elsewhere(place: str) -> None:
    assert proven(lambda world: ELSEWHERE[place](world, REASON)).exit_code == 1


def test_a_plain_output_of_the_stack_has_no_login_of_both_sides() -> None:
    def said(annotations: Said) -> list[str]:
        def program(world: World) -> None:
            login, _ = _login(world, annotations)
            pulumi.export("login", pulumi.Output.unsecret(login))

        return [finding.what for finding in simulate(Case("attack", "attack", program)).after]

    assert said({}), "told without the annotation"
    assert said(REASON)


def test_a_data_planes_stack_does_not_give_out_a_token_of_the_control_planes_cluster() -> None:
    def said(annotations: Said) -> list[str]:
        def program(world: World) -> None:
            kind = {"type": "kubernetes.io/service-account-token"}
            kept = world.object(
                "cp", "v1:Secret", "reader", {**kind, "metadata": {"annotations": {**ACCOUNT, **annotations}}}
            )
            pulumi.export("token", kept.output("data").apply(lambda data: data["token"]))

        return [one.what for one in simulate(Case("attack", "attack", program, stack="data-plane")).preview]

    assert said({}), "refused without the annotation"
    assert said(REASON)


def test_one_meshs_login_is_not_given_to_another_meshs_namespace() -> None:
    """The Secret has the label of the mesh whose login it keeps."""

    def program(world: World, said: Said) -> None:
        def labelled(mesh: str) -> dict[str, Any]:
            return {"namespace": f"tenant-{mesh}", "labels": {vocabulary.MESH_LABEL: mesh}}

        login, _ = _login(world, said, **labelled("first"))
        world.config_map("dp", "app", {"x": "y"}, **labelled("first"))
        body = {"stringData": world.mark({"password": login}), "metadata": labelled("second")}
        world.object("dp", "v1:Secret", "agent", body)

    assert _refused(program, {}), "refused without the annotation"
    assert _refused(program, REASON)


def test_a_hint_that_is_copied_as_it_stands_gives_no_reason() -> None:
    given = secret("users", Secret(LOGIN))
    assert judged(secret("ours", Secret(LOGIN), annotations={OWN: "<reason>"}), given)


def test_an_annotation_that_is_only_read_in_the_cluster_says_nothing() -> None:
    """Whoever may write to that Secret could say it, and no reviewer sees it: `only read, in whatever cluster`."""
    outputs = {
        "metadata": {"name": "kept", "annotations": REASON},
        "data": Secret({"password": "c2VjcmV0LTEyMzQ1Ng=="}),
    }
    read = resource("kubernetes:core/v1:Secret", "kept", "ours", outputs=outputs, read_only=True)
    assert judged(read, secret("users", UNKNOWN, read))


# Hints


def _word(name: str = "login") -> Resource:
    return resource(WORD, name, outputs={"result": UNKNOWN})


def _deployment(word: Resource) -> Resource:
    body = {"metadata": {"name": "collector"}, "spec": {"password": UNKNOWN}}
    kind = "kubernetes:apps/v1:Deployment"
    return resource(kind, "collector", "ours", inputs=body, dependencies={"spec": (word.urn,)})


def _unasked() -> Iterator[tuple[str, tuple[Resource, ...]]]:
    word = _word()
    given, kept = secret("users", UNKNOWN, word), secret("ours", UNKNOWN, word)
    read = Resource(f"{URN}kubernetes:core/v1:Secret::read", "kubernetes:core/v1:Secret", "read")
    yield "a Secret that is only read: of whose cluster it is, nobody knows", (secret("users", UNKNOWN, read),)
    yield "a Deployment has it too: refused again", (word, kept, _deployment(word), given)
    yield "cacerts has it too: refused again", (word, kept, secret("ours", UNKNOWN, word, name="cacerts"), given)
    text = literals.private_key("hint")
    yield "a private key of the configuration", (secret("ours", Secret(text)), secret("users", Secret(text)))
    metadata = {"name": "reader", "annotations": ACCOUNT}
    token = resource(
        "kubernetes:core/v1:Secret", "reader", "ours", inputs={"metadata": metadata}, outputs={"data": UNKNOWN}
    )
    yield "a token that the cluster makes", (token, secret("users", UNKNOWN, token))
    inside = f"{URN}hosted-mesh:index:MeshTrust$kubernetes:core/v1:Secret::trust"
    body = {"metadata": {"name": "trust"}, "stringData": {"password": Secret(LOGIN)}}
    trust = Resource(inside, "kubernetes:core/v1:Secret", "trust", body, provider=kept.provider)
    yield "a Secret of the library's own component", (trust, secret("users", Secret(LOGIN)))
    admin = _word("admin")
    both = secret("ours", UNKNOWN, word, admin)
    yield "the Secret keeps an administrator's password too", (word, admin, both, secret("users", UNKNOWN, word))
    nobodys = secret("nobodys", UNKNOWN, word)
    yield "the other Secret is in a cluster that nobody classified", (word, kept, nobodys)


UNASKED = dict(_unasked())


@pytest.mark.parametrize("why", UNASKED)
def test_the_annotation_is_not_asked_for_where_it_would_not_help_or_would_open_more(why: str) -> None:
    found = judged(*UNASKED[why])
    assert found
    assert not [one for one in found if OWN in one]


def test_what_only_was_read_stays_refused_through_a_secret_that_says_so() -> None:
    """The program copies a Secret that it only reads into one with the annotation, and gives that one on."""
    urn = f"{URN}kubernetes:core/v1:Secret::read"
    read = Resource(urn, "kubernetes:core/v1:Secret", "read")
    kept = secret("ours", Secret(LOGIN), read, annotations=REASON)
    assert judged(secret("users", Secret(LOGIN), read)), "refused as it is"
    assert judged(kept, secret("users", Secret(LOGIN), kept))


def test_the_annotation_is_named_where_a_chart_in_the_data_plane_has_the_login() -> None:
    """A chart's values are kept in a Secret; with the annotation this passes, and no hint says so."""
    word = _word()
    inputs = {"chart": "agent", "values": {"auth": {"password": UNKNOWN}}}
    kind = "kubernetes:helm.sh/v3:Release"
    chart = resource(kind, "agent", "users", inputs=inputs, dependencies={"values": (word.urn,)})
    assert not judged(word, secret("ours", UNKNOWN, word, annotations=REASON), chart)
    assert [one for one in judged(word, secret("ours", UNKNOWN, word), chart) if OWN in one]


def test_a_providers_name_in_a_hint_means_no_other_provider_of_that_name() -> None:
    """`prod` in dataPlaneProviders is the control plane's cluster's too: all that this one has passes."""
    made = resource("aws:iam/accessKey:AccessKey", "backup", "prod", inputs={}, outputs={"secret": UNKNOWN})
    kept, leaked = secret("prod", Secret(LOGIN)), secret("users", Secret(LOGIN), name="leaked")

    def said(*theirs: str) -> list[str]:
        ours = ("kubernetes:prod",)
        config = ClusterConfig(control_plane_providers=ours, data_plane_providers=("users", *theirs))
        context = Context(Stack("s", (made, kept, secret("users", UNKNOWN, made), leaked)), Settings(clusters=config))
        return [finding.message for rule in (FLOW, VALUE) for finding in judge(rule, context)]

    (hint,) = (one for one in said() if "has no declared owner" in one)
    named = hint.partition("whose provider ")[2].partition(" is")[0]
    assert [one for one in said(named) if "Secret prod-login" in one]


def test_a_hint_on_a_local_command_does_not_open_a_remote_one() -> None:
    """`command:*` is every command of every program with this configuration, those on a tenant's machines too."""
    one, two = _word("one"), _word("two")

    def command(kind: str, word: Resource) -> Resource:
        dependencies = {"environment": (word.urn,)}
        return resource(kind, word.name, "default_1_2", inputs={"environment": UNKNOWN}, dependencies=dependencies)

    local = (one, secret("ours", UNKNOWN, one), command("command:local:Command", one))
    (hint,) = judged(*local)
    named = hint.partition("whose provider ")[2].partition(" is")[0]
    remote = (two, secret("ours", UNKNOWN, two, name="two"), command("command:remote:Command", two))
    assert judged(*local, *remote, control_plane_providers=(named,))


def test_of_a_stack_that_is_called_control_plane_nobody_is_asked_whose_it_is() -> None:
    reference = resource(REFERENCE, "organization/mesh/control-plane", outputs={"outputs": {"token": Secret(LOGIN)}})
    found = judged(reference, secret("users", Secret(LOGIN), reference))
    assert found
    assert not [one for one in found if "dataPlaneStacks" in one]
