"""An answer counts as the mesh's own webhook's only if nobody else can have given it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from lightkube import ApiError
from lightkube.resources.admissionregistration_v1 import ValidatingWebhookConfiguration

from sandbox.proof import webhooks
from sandbox.proof.deployed import MeshFacts, NotObserved
from sandbox.proof.webhooks import ANSWERED, REFUSED, by_url, called, refusal, require_log_entry

NAME = "validation.istio.io"
URL = "https://istiod.demo.test:15017/validate"
MESH = MeshFacts("demo", "mesh-demo", "istiod.demo.test", 15012, 15017, "mesh.test", "", {})


def configuration(url: str = URL, name: str = NAME, **more: object) -> ValidatingWebhookConfiguration:
    hook = {
        "name": name,
        "clientConfig": {"url": url, **more},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    made = ValidatingWebhookConfiguration.from_dict({"metadata": {"name": "one"}, "webhooks": [hook]})
    return cast(ValidatingWebhookConfiguration, made)


def test_the_meshs_own_is_known_by_its_url():
    assert by_url([configuration(), configuration("https://x.test/", "gatekeeper.sh")], MESH) == {NAME: URL}


@pytest.mark.parametrize(
    "url",
    [
        "https://istiod.demo.test:15018/validate",
        "https://istiod.demo.test/validate",
        "https://istiod.other.test:15017/validate",
        "https://istiod.demo.test.evil.test:15017/validate",
    ],
    ids=["another port", "no port", "another host", "a host that begins like it"],
)
def test_another_url_is_not(url):
    with pytest.raises(NotObserved, match=r"no webhook .* points to https://istiod\.demo\.test:15017, only"):
        by_url([configuration(url)], MESH)


def test_one_of_istios_in_the_data_plane_is_told():
    service = {"name": "istiod", "namespace": "mesh-demo", "path": "/validate"}
    with pytest.raises(NotObserved, match="refers to a Service"):
        by_url([configuration(), configuration(url=None, service=service)], MESH)


def calls(count: int, name: str = NAME, code: str = "200", rejected: str = "false") -> str:
    labels = f'code="{code}",name="{name}",operation="CREATE",rejected="{rejected}",type="admit"'
    return f"# TYPE x counter\napiserver_admission_webhook_request_total{{{labels}}} {count}\n"


def refusals(count: int, name: str = NAME, error_type: str = "no_error") -> str:
    labels = f'error_type="{error_type}",name="{name}",operation="CREATE",rejection_code="400",type="validating"'
    return f"apiserver_admission_webhook_rejection_count{{{labels}}} {count}\n"


@pytest.mark.parametrize("before", ["", calls(1), calls(5, code="500")], ids=["the first", "once more", "after errors"])
def test_an_answer_more_is_seen(before):
    assert called({NAME: URL}, before, before + calls(2), ANSWERED) == NAME


def test_a_refusal_more_is_seen():
    assert called({NAME: URL}, refusals(1), calls(9, code="400", rejected="true") + refusals(2), REFUSED) == NAME


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        (ANSWERED, calls(2), calls(2)),
        (ANSWERED, "", ""),
        (ANSWERED, calls(1), calls(1) + calls(9, name="gatekeeper.sh")),
        (ANSWERED, calls(1), calls(1) + calls(9, code="400", rejected="true") + refusals(9)),
        (ANSWERED, calls(1), calls(1) + calls(9, code="500")),
        (REFUSED, refusals(2), refusals(2) + calls(9)),
        (REFUSED, "", refusals(1, name="gatekeeper.sh")),
        (REFUSED, "", refusals(1, error_type="calling_webhook_error")),
    ],
    ids=[
        "no answer",
        "never one",
        "another webhook's",
        "a refusal",
        "a failure that is ignored",
        "an answer and no refusal",
        "another webhook's refusal",
        "one that could not be called",
    ],
)
def test_no_call_or_anothers_is_not(wanted, before, after):
    with pytest.raises(NotObserved, match="so it was another's"):
        called({NAME: URL}, before, after, wanted)


def test_a_refusal_gives_its_reason():
    assert (
        refusal(f'admission webhook "{NAME}" denied the request: no:\n\t* such host', {NAME: URL}) == "no: * such host"
    )


@pytest.mark.parametrize(
    "message",
    [
        'admission webhook "gatekeeper.sh" denied the request: no such host',
        f"gateways.networking.istio.io is forbidden: ValidatingAdmissionPolicy 'x' denied request: "
        f'admission webhook "{NAME}" denied the request: no',
        f'failed calling webhook "{NAME}": dial tcp 10.90.1.1:15017: connect: connection refused',
    ],
    ids=["another webhook's", "a policy's that quotes it", "a webhook that cannot be reached"],
)
def test_anothers_refusal_is_told(message):
    with pytest.raises(NotObserved, match="not by the mesh's own webhook"):
        refusal(message, {NAME: URL})


def test_an_entry_of_several_lines_is_one():
    log = (
        'info\tvalidation\tconfiguration is invalid: 1 error occurred:\n\t* domain "proof-1/*" invalid\n\n (dry run)\n'
    )
    require_log_entry(log, "configuration is invalid", "proof-1")
    with pytest.raises(NotObserved):
        require_log_entry(log + "info\tads\tproof-2 connected", "configuration is invalid", "proof-2")


def test_istiods_log_has_to_name_the_request():
    log = "info\tinject\tProcess sidecar injection request\tpod=bookshop/proof-1\ninfo\tads\tproof-2 connected\n"
    require_log_entry(log, "sidecar injection", "proof-1")
    with pytest.raises(NotObserved, match="another program answered"):
        require_log_entry(log, "sidecar injection", "proof-2")


@pytest.mark.parametrize("claim", ["injection", "validation"])
def test_an_answer_that_istiod_did_not_give_is_no_answer(monkeypatch, claim):
    """The whole check: everything looks right (URL, answer, one call more), but istiod knows nothing of it."""
    pages = iter([calls(1) + refusals(1), calls(2) + refusals(2)])
    refused = {"code": 400, "message": f'admission webhook "{NAME}" denied the request: configuration is invalid'}

    def create(made: object, *, dry_run: bool) -> object:
        if claim == "validation":
            raise ApiError(response=SimpleNamespace(json=lambda: refused, status_code=400))
        return made

    data_plane = SimpleNamespace(list=lambda kind: [configuration()], create=create)
    deployed = SimpleNamespace(data_plane=data_plane, mesh=MESH, sandbox=SimpleNamespace(data_plane=None))
    monkeypatch.setattr(webhooks, "get_text", lambda cluster, path: next(pages))
    monkeypatch.setattr(webhooks, "eventually", lambda look, seconds: look())
    monkeypatch.setattr(webhooks.workloads, "deploy", lambda deployed: {})
    monkeypatch.setattr(webhooks.workloads, "has_proxy", lambda pod: True)
    monkeypatch.setattr(webhooks.istiod, "log", lambda deployed: "info\tnothing of interest")
    with pytest.raises(NotObserved, match="another program answered"):
        getattr(webhooks, claim)(deployed)
