"""What an API server answers to dry runs, and what is made of it. The messages are those of a real one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli import check_webhooks, command
from pulumi_hosted_mesh.clusters.api_server import Answer, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.operations.webhooks.check import verdicts
from pulumi_hosted_mesh.operations.webhooks.crds import NEEDED, versions_of
from pulumi_hosted_mesh.operations.webhooks.failures import denial, failure
from pulumi_hosted_mesh.operations.webhooks.observation import WebhookObservation
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document
from typer.testing import CliRunner

from sandbox.clusters.credentials.certificates import new_authority
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.operations.webhooks import (
    ENDPOINT,
    FACTS,
    INJECTION,
    INVALID,
    PLAIN,
    VALIDATION,
    WORD,
    observed,
    pod,
    refusal,
    uncalled,
)


def causes(found: WebhookObservation, endpoint: EndpointDocument = ENDPOINT) -> list[str | None]:
    """Installed, injection by revision and by tag, validation."""
    judged = verdicts(endpoint, found)
    for one in judged:
        assert one.ok or (one.seen and one.fix), one
    return [one.cause for one in judged]


def test_all_is_well() -> None:
    assert causes(observed()) == [None] * 4
    assert not any(one.fix for one in verdicts(ENDPOINT, observed()))


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", "wrong-ca-bundle"),
        ("unable to load root certificates: unable to parse bytes as PEM block", "wrong-ca-bundle"),
        ("x509: certificate has expired or is not yet valid: current time ... is after ...", "certificate-expired"),
        ("x509: certificate is valid for a.test, not b.test", "wrong-name"),
        ("x509: cannot validate certificate for 10.90.1.1 because it doesn't contain any IP SANs", "wrong-name"),
        ("dial tcp: lookup istiod.elsewhere.test on 10.90.255.53:53: no such host", "name-not-found"),
        ("dial tcp: lookup istiod.demo.test on 10.0.0.1:53: server misbehaving", "name-not-found"),
        ("context deadline exceeded", "time-out"),
        ("dial tcp 10.90.1.1:15017: i/o timeout", "time-out"),
        ("dial tcp 10.90.1.1:15017: connect: connection refused", "unreachable"),
        ("dial tcp 192.0.2.1:15017: connect: network is unreachable", "unreachable"),
        ("EOF", "another-server"),
        ("http: server gave HTTP response to HTTPS client", "another-server"),
        ("something that nobody has seen", "call-failed"),
    ],
)
def test_why_a_webhook_could_not_be_called(reason: str, cause: str) -> None:
    found = failure(uncalled(reason))
    assert found is not None
    assert (found.webhook, found.url, found.cause.name, found.reason) == (
        INJECTION,
        ENDPOINT.injection_url,
        cause,
        reason,
    )
    injection = observed(pods={"default": refusal(uncalled(reason)), "prod": pod()})
    assert causes(injection) == [None, cause, None, None]
    url = ENDPOINT.validation_url
    for which in ("invalid", "valid"):
        assert causes(observed(**{which: refusal(uncalled(reason, VALIDATION, url))})) == [None, None, None, cause]


def test_a_path_that_is_not_there_is_told_without_its_url() -> None:
    found = failure(uncalled("the server could not find the requested resource", url=""))
    assert found is not None
    assert (found.url, found.cause.name) == (None, "another-server")


def test_words_that_quote_a_refusal_are_none() -> None:
    assert denial(INVALID) == (VALIDATION, f'configuration is invalid: * domain "{WORD}/*" invalid')
    quoted = f"gateways.networking.istio.io is forbidden: ValidatingAdmissionPolicy 'x' denied request: {INVALID}"
    assert denial(quoted) is None
    assert causes(observed(invalid=refusal(quoted, 422)))[-1] == "another-webhook"
    assert failure("pods is forbidden") is None


@pytest.mark.parametrize(
    ("other", "seen"),
    [
        ({"revision": "canary"}, "revision canary instead of default"),
        ({"mesh": "other"}, "mesh other instead of demo"),
        ({"cluster": "other"}, "cluster other instead of demo"),
        ({"domain": "cluster.local"}, "trust domain cluster.local instead of demo.mesh.local"),
        ({"istiod": "istiod.istio-system.svc:15012"}, "istiod istiod.istio-system.svc:15012 instead of istiod.demo"),
    ],
)
def test_a_sidecar_of_somebody_else(other: dict[str, str], seen: str) -> None:
    found = verdicts(ENDPOINT, observed(pods={"default": pod(**other), "prod": pod()}))
    assert [one.cause for one in found] == [None, "another-webhook", None, None]
    assert seen in found[1].seen


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (PLAIN, "not-injected"),
        (refusal('namespaces "mesh-demo" not found', 404), "not-there"),
        (refusal('pods is forbidden: User "x" cannot create resource "pods" in API group ""', 403), "not-permitted"),
        (refusal('pods "check-1" is forbidden: violates PodSecurity "restricted:latest"', 403), "another-webhook"),
        (refusal('admission webhook "gatekeeper.sh" denied the request: no', 403), "another-webhook"),
        (refusal(f'admission webhook "{INJECTION}" denied the request: template', 400), "refused-by-istiod"),
        (refusal(uncalled("EOF", "gatekeeper.sh", "https://gatekeeper/")), "another-webhook"),
        # Two meshes in one cluster have webhooks of one name: the URL tells which.
        (refusal(uncalled("EOF", url="https://istiod.other.test:15017/inject")), "another-webhook"),
        (Answer(502, None), "another-webhook"),
    ],
)
def test_an_answer_without_a_sidecar(answer: Answer, cause: str) -> None:
    assert causes(observed(pods={"default": answer, "prod": pod()})) == [None, cause, None, None]


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"invalid": Answer(201, {})}, "not-validated"),
        ({"invalid": refusal(INVALID.replace(WORD, "check-2"), 400)}, "refused-by-istiod"),
        ({"invalid": refusal(INVALID.replace(VALIDATION, "gatekeeper.sh"), 400)}, "another-webhook"),
        ({"valid": refusal(INVALID, 400)}, "refused-by-istiod"),
        ({"valid": refusal('admission webhook "gatekeeper.sh" denied the request: no', 403)}, "another-webhook"),
    ],
)
def test_validation_wants_both_a_refusal_and_an_acceptance(changes: dict[str, Answer], cause: str) -> None:
    assert causes(observed(**changes)) == [None, None, None, cause]


def test_what_fails_open_is_silent() -> None:
    found = observed(invalid=Answer(201, {}), pods={"default": PLAIN, "prod": pod()})
    assert "failurePolicy Ignore" not in str(verdicts(ENDPOINT, found))
    for one in found.configurations:
        one["webhooks"][0]["failurePolicy"] = "Ignore"
    assert [one.seen.count("failurePolicy Ignore") for one in verdicts(ENDPOINT, found)] == [0, 1, 0, 1]


Change = Callable[[list[dict[str, Any]]], object]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda all_: all_.clear(), "revision-not-present"),
        (lambda all_: all_.pop(), "revision-not-present"),
        (lambda all_: all_.pop(1), "tag-not-present"),
        (lambda all_: all_[0]["webhooks"][0]["clientConfig"].update(url="https://x.test/inject"), "another-url"),
        (lambda all_: all_[0]["webhooks"][1]["clientConfig"].pop("url"), "another-url"),
        (lambda all_: all_[2]["webhooks"][0]["clientConfig"].update(caBundle=""), "wrong-ca-bundle"),
        (lambda all_: all_[0]["webhooks"][0]["clientConfig"].update(caBundle="no base64"), "wrong-ca-bundle"),
        (lambda all_: all_[0]["webhooks"][0]["clientConfig"].update(caBundle=_other_bundle()), "wrong-ca-bundle"),
        (lambda all_: [one["metadata"].update(labels={"istio.io/tag": "prod"}) for one in all_], None),
    ],
    ids=["none", "no validation", "no tag", "url", "a Service", "no bundle", "no base64", "another", "other labels"],
)
def test_what_is_installed(change: Change, cause: str | None) -> None:
    found = observed()
    change(found.configurations)
    assert causes(found)[0] == cause
    # The state has them as they were, so a run that does not look says that nothing changes.
    assert ("`pulumi up --refresh`" in verdicts(ENDPOINT, found)[0].fix) == (cause is not None)


def _other_bundle() -> str:
    return base64.b64encode(new_authority("other").certificate).decode()


def test_a_bundle_may_hold_more_than_the_root() -> None:
    found = observed()
    both = base64.b64encode(new_authority("other").certificate + CERTIFICATE.encode()).decode()
    for one in found.configurations:
        for hook in one["webhooks"]:
            hook["clientConfig"]["caBundle"] = both
    assert causes(found)[0] is None


def test_a_revision_that_is_not_there_is_told_with_those_that_are() -> None:
    canary = read_document(EndpointDocument, {**FACTS, "revision": "canary", "host": "istiod-canary.demo.example.com"})
    (first, *_) = verdicts(canary, observed())
    assert first.cause == "revision-not-present"
    assert "there are: revision default of mesh demo" in first.seen


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ({"a.networking.istio.io": "1.31.1", "b.security.istio.io": "1.32.0"}, "ok      .* they are 1.31.1, 1.32.0"),
        (
            {"a.networking.istio.io": "1.31.1", "b.security.istio.io": "1.9.9"},
            "older-crds: .* b.security.istio.io 1.9.9",
        ),
        # Istio's source tree, and a file of definitions that is applied as it is, say no version.
        ({"a.networking.istio.io": "1.0.0", "b.security.istio.io": ""}, ""),
        ({}, ""),
    ],
)
def test_definitions_that_are_older_than_istiod_are_told(versions: dict[str, str], words: str) -> None:
    found = verdicts(ENDPOINT, observed(crds=dict.fromkeys(NEEDED, "1.0.0") | versions))[4:]
    assert bool(found) == bool(words)
    assert re.search(words, "".join(map(str, found)))


def test_definitions_that_somebody_deleted_are_told_and_what_went_with_them() -> None:
    """Of whose version nothing is known either. istiod goes on without, and so do its webhooks."""
    gone = "authorizationpolicies.security.istio.io"
    (one,) = verdicts(ENDPOINT, observed(crds={name: "1.32.0" for name in NEEDED if name != gone}))[4:]
    assert (one.cause, one.seen) == ("missing-crds", f"1 of {len(NEEDED)} are missing: {gone}")
    assert "`pulumi up --refresh` of the stack cluster" in one.fix
    assert "create them again" in one.fix
    assert [one.cause for one in verdicts(ENDPOINT, observed(crds={}))[4:]] == ["missing-crds"]
    assert verdicts(ENDPOINT, observed(crds=None))[4:] == []


FILTERS, GATEWAYS = "envoyfilters.networking.istio.io", "gateways.networking.istio.io"


def test_definitions_that_are_left_out_on_purpose_are_not_missed() -> None:
    """Nothing in the cluster says that they are, so their owner does. Others that are gone are still told."""
    there = {name: "1.99.0" for name in NEEDED if name != FILTERS}
    (missed,) = verdicts(ENDPOINT, observed(crds=there))[4:]
    assert missed.fix.endswith(f"`--without-crd {FILTERS}`")
    (one,) = verdicts(ENDPOINT, observed(crds=there), {FILTERS})[4:]
    assert (one.cause, one.check) == (None, "Istio's CRDs are of istiod's version or newer")
    fewer = {name: version for name, version in there.items() if name != "authorizationpolicies.security.istio.io"}
    (one,) = verdicts(ENDPOINT, observed(crds=fewer), {FILTERS})[4:]
    assert (one.cause, "authorizationpolicies" in one.seen, FILTERS in one.seen) == ("missing-crds", True, False)


def test_without_the_kind_that_is_sent_validation_is_not_tried() -> None:
    nothing = Answer(404, {"message": "the server could not find the requested resource"})
    found = observed(crds={}, invalid=nothing, valid=nothing)
    assert [one.cause for one in verdicts(ENDPOINT, found)[3:]] == ["not-there", "missing-crds"]
    (one,) = verdicts(ENDPOINT, found, NEEDED)[3:]
    assert (one.cause, one.ok, one.notice) == ("not-tried", True, True)
    # It is there after all, whatever the owner says.
    assert [one.cause for one in verdicts(ENDPOINT, observed(), {GATEWAYS})] == [None] * 4


def test_the_commands_are_told_what_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = observed(crds={name: "1.99.0" for name in NEEDED if name != FILTERS})
    assert run(monkeypatch, tmp_path, found)[0] == 3
    assert run(monkeypatch, tmp_path, found, f"--without-crd={FILTERS}")[0] == 0
    code, text = run(monkeypatch, tmp_path, found, "--without-crd=envoyfilter")
    assert (code, "--without-crd: is none of the required Istio CRDs" in text, FILTERS in text) == (
        1,
        True,
        True,
    )


def test_whose_definitions_are_compared() -> None:
    labels = {"app.kubernetes.io/version": "1.31.1"}
    theirs = ("a.networking.istio.io", "b.networking.istio.io.example.com", "gateways.gateway.networking.k8s.io")
    given = [{"metadata": {"name": name, "labels": labels}} for name in theirs]
    unlabelled = {"metadata": {"name": "c.telemetry.istio.io"}}
    assert versions_of([*given, unlabelled]) == {"a.networking.istio.io": "1.31.1", "c.telemetry.istio.io": ""}


def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: WebhookObservation | Exception, *options: str
) -> tuple[int, str]:
    def observe(*_: object) -> WebhookObservation:
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(check_webhooks.observation, "observe", observe)
    config = tmp_path / "kubeconfig"
    config.write_text(minimal("user", {"server": "https://user.example.com"}, {"token": "t0ken"}))
    arguments = ["check-webhooks", "-", "--kubeconfig", str(config), *options]
    done = CliRunner().invoke(command.app, arguments, input=yaml.safe_dump(FACTS))
    return done.exit_code, done.output


def test_the_command_says_it_by_its_exit_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, text = run(monkeypatch, tmp_path, observed())
    assert (code, text.count("ok      "), text.count("FAILED")) == (0, 4, 0)
    bad = observed(invalid=Answer(201, {}))
    code, text = run(monkeypatch, tmp_path, bad)
    assert (code, "FAILED  an invalid Istio object" in text) == (3, True)
    code, text = run(monkeypatch, tmp_path, bad, "--json")
    assert run(monkeypatch, tmp_path, bad, "--output", "json") == (code, text)
    assert run(monkeypatch, tmp_path, bad, "--output", "text")[1].startswith("ok")
    told = json.loads(text)
    assert (code, told["ok"], told["mesh"], told["revision"]) == (3, False, "demo", "default")
    assert [one["cause"] for one in told["checks"] if not one["ok"]] == ["not-validated"]
    code, text = run(monkeypatch, tmp_path, UnreachableError("the API server does not answer"))
    assert (code, text) == (1, "the API server does not answer\n")
    code, text = run(monkeypatch, tmp_path, observed(), "--context", "nobody's")
    assert code == 1
    assert text.startswith("the command line cannot be used, --context: there is no context")
