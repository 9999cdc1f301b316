"""`hosted-mesh check-webhooks` on the real mesh: for each way to break it the right word, and what to do."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube.resources.admissionregistration_v1 import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from lightkube.resources.core_v1 import Pod, ServiceAccount
from lightkube.resources.rbac_authorization_v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from typer.testing import CliRunner

from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.toolchain import Tools
from tests.live.mesh.breaking import mesh, webhooks
from tests.support.authorities import Authority, pem
from tests.support.nightly import nightly_if

MUTATING, VALIDATING = MutatingWebhookConfiguration, ValidatingWebhookConfiguration
ELSEWHERE = "https://istiod.elsewhere.test:15017/"
OTHER_ROOT = base64.b64encode(pem(Authority("other").certificate)).decode()


@pytest.fixture(scope="module")
def deployed(live_sandbox: Sandbox, tools: Tools) -> Deployed:
    return Deployed.of(live_sandbox, tools)


@pytest.fixture(scope="module")
def facts(deployed: Deployed) -> dict[str, Any]:
    """The endpoint as `hosted-mesh endpoint` writes it."""
    outputs = deployment.outputs(deployed.sandbox, deployed.tools)
    done = CliRunner().invoke(app, ["endpoint", "-"], input=json.dumps(outputs))
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = yaml.safe_load(done.output)
    return found


def check(deployed: Deployed, facts: Mapping[str, Any], *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and checks: installed, injection, validation."""
    own = ["--kubeconfig", str(deployed.sandbox.kubeconfig), "--context", deployed.sandbox.data_plane.name]
    arguments = ["check-webhooks", "-", "--json", *(options or own)]
    done = CliRunner().invoke(app, arguments, input=yaml.safe_dump(dict(facts)))
    assert done.exit_code in (0, 3), done.output
    return done.exit_code, json.loads(done.output)["checks"]


def causes(found: tuple[int, list[dict[str, Any]]]) -> list[str | None]:
    code, checks = found
    assert (code == 0) == all(one["ok"] for one in checks)
    assert all(one["fix"] for one in checks if not one["ok"])
    return [one["cause"] for one in checks]


def test_all_is_well_and_nothing_is_stored(deployed: Deployed, facts: Mapping[str, Any]) -> None:
    workloads.deploy(deployed)
    _settle(deployed, facts, [None] * 3)  # the API server's connection may lead to an istiod of before
    config = ["--kubeconfig", str(deployed.sandbox.kubeconfig), "--context", deployed.sandbox.data_plane.name]
    # The labels of the namespace decide: bookshop has them, default has none.
    assert causes(check(deployed, facts, *config, "--namespace", workloads.NAMESPACE)) == [None] * 3
    assert causes(check(deployed, facts, *config, "--namespace", "default")) == [None, "not-injected", None]
    assert not [one for one in deployed.data_plane.list(Pod, namespace="*") if one.metadata.name.startswith("check-")]


def test_doctor_looks_at_a_mesh_alone(deployed: Deployed, facts: Mapping[str, Any]) -> None:
    """One stack has all of it, and no federation's document is there."""
    workloads.deploy(deployed)
    sandbox, file = deployed.sandbox, f"={deployed.sandbox.kubeconfig}"
    options = ["doctor", "--mesh=demo", "--endpoint=-", "--ask-proxies", "--json"]
    options += [f"--kubeconfig{file}", f"--context={sandbox.data_plane.name}"]
    options += [f"--control-plane-kubeconfig{file}", f"--control-plane-context={sandbox.control_plane.name}"]

    def found() -> list[tuple[str, str]]:
        done = CliRunner().invoke(app, options, input=yaml.safe_dump(dict(facts)))
        said = json.loads(done.output)
        wrong = [(one["check"], one["cause"]) for one in said["checks"] if not one["ok"]]
        assert (done.exit_code, said["ok"]) == ((3, False) if wrong else (0, True))
        return wrong

    def finds(*wanted: tuple[str, str]) -> None:
        """Proxies connect, and istiod's Deployment counts its Pods, a moment later."""

        def look() -> None:
            if (seen := found()) != [*wanted]:
                raise NotObserved(f"{seen}, not {wanted}")

        eventually(look, seconds=120)

    finds()
    with mesh.no_istiod(deployed):
        finds(("istiod istiod in namespace mesh-demo of the control plane", "not-ready"))


def at(url: str, hook: Any) -> None:
    hook.clientConfig.url, hook.timeoutSeconds = url, 1


def with_bundle(bundle: str, hook: Any) -> None:
    hook.clientConfig.caBundle = bundle


def other_cluster(hook: Any) -> None:
    hook.clientConfig.url = hook.clientConfig.url.replace("/cluster/demo", "/cluster/other")


def other_host(host: str) -> Callable[[Any], None]:
    def change(hook: Any) -> None:
        at(hook.clientConfig.url.replace("istiod.demo.sandbox.test", host), hook)

    return change


Break = Callable[[Deployed], AbstractContextManager[Any]]
BREAKS: list[tuple[str, Break, list[str | None]]] = [
    (
        "no injection webhook",
        partial(webhooks.without_webhooks_of, MUTATING),
        ["revision-not-present", "not-injected", None],
    ),
    (
        "no validation webhook",
        partial(webhooks.without_webhooks_of, VALIDATING),
        ["revision-not-present", None, "not-validated"],
    ),
    *(
        (f"{what}, {kind.__name__}", partial(webhooks.altered, change, kind), [static, *both])
        for what, change, static, cause in (
            ("another root", partial(with_bundle, OTHER_ROOT), "wrong-ca-bundle", "wrong-ca-bundle"),
            ("another name", other_host("10.90.1.1"), "another-url", "wrong-name"),
            ("a name that is not there", other_host("istiod.elsewhere.test"), "another-url", "name-not-found"),
            ("no way there", other_host("192.0.2.1"), "another-url", "unreachable"),
            ("nobody answers", other_host("10.90.1.99"), "another-url", "time-out"),
            ("another path", partial(at, "https://istiod.demo.sandbox.test:15017/x"), "another-url", "another-server"),
        )
        for kind, both in ((MUTATING, [cause, None]), (VALIDATING, [None, cause]))
    ),
    ("injection fails open", partial(webhooks.webhooks_at, ELSEWHERE, MUTATING), ["another-url", "not-injected", None]),
    (
        "validation fails open",
        partial(webhooks.webhooks_at, ELSEWHERE, VALIDATING),
        ["another-url", None, "not-validated"],
    ),
    ("injection is not asked", partial(webhooks.not_asked, MUTATING), [None, "not-injected", None]),
    ("validation is not asked", partial(webhooks.not_asked, VALIDATING), [None, None, "not-validated"]),
    ("no sidecar", webhooks.injection_answers_without_a_sidecar, [None, "not-injected", None]),
    (
        "a sidecar for another cluster",
        partial(webhooks.altered, other_cluster, MUTATING),
        ["another-url", "another-webhook", None],
    ),
    ("somebody else refuses", webhooks.somebody_else_refuses, [None, None, "another-webhook"]),
    ("nothing is accepted", webhooks.valid_ones_are_refused, [None, None, "another-webhook"]),
]


NIGHTLY = {
    *(f"{what}, {MUTATING.__name__}" for what in ("a name that is not there", "no way there", "another path")),
    *(f"{what}, {VALIDATING.__name__}" for what in ("another root", "another name", "a name that is not there")),
    *(f"{what}, {VALIDATING.__name__}" for what in ("no way there", "nobody answers")),
    *("validation fails open", "injection is not asked", "somebody else refuses"),
    *("no validation webhook", "nothing is accepted", "no sidecar"),
}
"""Second ways to a cause that another case has."""
assert {what for what, *_ in BREAKS} >= NIGHTLY


@pytest.mark.parametrize(
    ("breaks", "expected"),
    [pytest.param(b, e, id=what, marks=nightly_if(what in NIGHTLY)) for what, b, e in BREAKS],
)
def test_what_is_broken_is_named(
    deployed: Deployed, facts: Mapping[str, Any], breaks: Break, expected: list[str | None]
) -> None:
    with breaks(deployed):
        _settle(deployed, facts, expected)
    _settle(deployed, facts, [None] * 3)


def test_an_istiod_that_is_away_is_named(deployed: Deployed, facts: Mapping[str, Any]) -> None:
    def away() -> None:
        """A connection of the API server that ends in the middle of a call has other words."""
        if not set(found := causes(check(deployed, facts))[1:]) <= {"unreachable", "time-out"}:
            raise NotObserved(f"{found}")

    with mesh.no_istiod(deployed):
        eventually(away, seconds=120)
    _settle(deployed, facts, [None] * 3)


def test_a_revision_that_is_not_there_is_named(deployed: Deployed, facts: Mapping[str, Any]) -> None:
    code, (installed, *asked) = check(deployed, {**facts, "revision": "canary", "host": "istiod-canary.sandbox.test"})
    assert (code, installed["cause"]) == (3, "revision-not-present")
    assert "revision default of mesh demo" in installed["seen"]
    assert [one["cause"] for one in asked] == ["not-injected", "not-validated"]


def _settle(deployed: Deployed, facts: Mapping[str, Any], expected: list[str | None], *options: str) -> None:
    """The API server learns of a changed configuration, and istiod of its own, a moment later."""

    def look() -> None:
        if (found := causes(check(deployed, facts, *options))) != expected:
            raise NotObserved(f"{found} and not {expected}")

    eventually(look, seconds=120)


@contextmanager
def account(deployed: Deployed, facts: Mapping[str, Any], directory: Path, *, creates: bool) -> Iterator[Path]:
    """The kubeconfig of an account with the rights that the command asks for, or without that to create."""
    namespace, name = f"mesh-{facts['mesh']}", "checker"
    hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    reads = {"apiGroups": ["admissionregistration.k8s.io"], "resources": hooks, "verbs": ["list"]}
    makes = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
        {"apiGroups": ["networking.istio.io"], "resources": ["gateways"], "verbs": ["create"]},
    ]
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    inner, group = {"name": name, "namespace": namespace}, "rbac.authorization.k8s.io"
    made: list[Any] = [
        ServiceAccount.from_dict({"metadata": inner}),
        ClusterRole.from_dict({"metadata": {"name": name}, "rules": [reads]}),
        Role.from_dict({"metadata": inner, "rules": makes if creates else []}),
    ]
    for kind, role, metadata in ((ClusterRoleBinding, "ClusterRole", {"name": name}), (RoleBinding, "Role", inner)):
        reference = {"apiGroup": group, "kind": role, "name": name}
        made.append(kind.from_dict({"metadata": metadata, "subjects": subjects, "roleRef": reference}))
    cluster = deployed.sandbox.data_plane
    for one in made:
        deployed.data_plane.create(one)
    try:
        request = ServiceAccount.Token.from_dict({"metadata": inner, "spec": {"audiences": []}})
        token = deployed.data_plane.create(request, name, namespace=namespace).status.token
        authority = base64.b64encode(Path(cluster.certificate_authority).read_bytes()).decode()
        entry = {"server": cluster.server, "certificate-authority-data": authority}
        path = directory / "kubeconfig"
        path.write_text(minimal("checker", entry, {"token": token}))
        yield path
    finally:
        for one in made:
            deployed.data_plane.delete(type(one), name, namespace=one.metadata.namespace)


@pytest.mark.parametrize(("creates", "expected"), [(True, None), (False, "not-permitted")])
def test_the_rights_that_it_says_suffice(
    deployed: Deployed, facts: Mapping[str, Any], tmp_path: Path, creates: bool, expected: str | None
) -> None:
    with account(deployed, facts, tmp_path, creates=creates) as kubeconfig:
        # The API server's authorizer has the account's roles, and no longer those of the case before, a moment later.
        _settle(deployed, facts, [None, expected, expected], "--kubeconfig", str(kubeconfig))
