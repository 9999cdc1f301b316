"""The webhooks of HostedMesh by URL: checks and defaults that need the controller's facts, for one token's tenant."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_controller.cli.service import app
from hosted_mesh_controller.store.tokens import revoke_token
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.unit.controller.service import Service, documents
from tests.unit.controller.webhooks import TENANTS, WATCHED, Webhooks

Config = dict[str, Any]
SPEC: Config = {"revisions": [{"host": "istiod.shop.acme.example", "exposure": {"sourceRanges": ["203.0.113.0/24"]}}]}


@pytest.fixture
def hooks(tmp_path: Path) -> Webhooks:
    return Webhooks(Service.make(tmp_path, clusters=WATCHED, tenants=TENANTS))


def test_a_valid_resource_passes(hooks: Webhooks) -> None:
    assert hooks.answer("validate", SPEC)["allowed"] is True
    assert hooks.service.queue.added == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"revisions": [{**SPEC["revisions"][0], "host": "a.elsewhere.test"}]}, "spec.revisions[0].host is outside"),
        ({"trust": {}}, "spec.trust is set by the provider"),
        ({"memberships": [{"access": {"apiServer": "http://x"}}]}, "spec.memberships[0].access.apiServer"),
    ],
)
def test_refusals_name_field_rule_and_fix(hooks: Webhooks, change: Config, message: str) -> None:
    refused = hooks.answer("validate", {**SPEC, **change})
    assert refused["allowed"] is False
    assert message in refused["status"]["message"]


def test_taken_names_are_refused(hooks: Webhooks) -> None:
    hooks.service.ordered("other", "meshes", documents("meshes", "other", "theirs"))
    mine = documents("meshes", "acme", "shop")
    mine["mesh"]["revisions"][0]["host"] = "istiod.shop.acme.example"
    hooks.service.ordered("acme", "meshes", mine)
    assert "metadata.name is the name of a mesh" in hooks.answer("validate", SPEC)["status"]["message"]


def test_a_change_of_metadata_passes(hooks: Webhooks) -> None:
    """Else a finalizer would stay on a resource that became invalid."""
    bad = {**SPEC, "trust": {}}
    assert hooks.answer("validate", bad)["allowed"] is False
    assert hooks.answer("validate", bad, oldObject={"spec": bad})["allowed"] is True
    going = {"metadata": {"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": bad}
    assert hooks.answer("validate", bad, object=going)["allowed"] is True


def test_the_default_host(hooks: Webhooks) -> None:
    def patch(spec: Any) -> Any:
        answer = hooks.answer("mutate", spec)
        return json.loads(base64.b64decode(answer["patch"])) if "patch" in answer else None

    host = "istiod.shop.acme.example"
    assert patch({}) == [{"op": "add", "path": "/spec/revisions", "value": [{"host": host}]}]
    ranges = {"exposure": {"sourceRanges": ["203.0.113.0/24"]}}
    assert patch({"revisions": [ranges]}) == [{"op": "add", "path": "/spec/revisions/0/host", "value": host}]
    assert patch(SPEC) is None
    assert patch({"revisions": [ranges, ranges]}) is None
    assert hooks.answer("validate", {"revisions": [{**ranges, "host": host}]})["allowed"] is True


def test_tokens_of_webhooks(hooks: Webhooks) -> None:
    """A token of this role answers its tenant's clusters, and opens nothing else; no other token opens a webhook."""
    assert hooks.call("validate", SPEC, cluster="south").status_code == 404
    assert hooks.call("validate", SPEC, cluster="hub").status_code == 404
    assert hooks.call("validate", SPEC, cluster="absent").status_code == 404
    for token in (*hooks.service.tokens.values(), "hmc_x_y", "x"):
        assert hooks.call("validate", SPEC, key=token).status_code == 404
    for path in ("/v1/tenants/acme/meshes", "/v1/tenants/acme/clusters", "/v1/audit", "/v1/found-meshes"):
        headers = {"Authorization": f"Bearer {hooks.key}"}
        assert hooks.service.http.get(path, headers=headers).status_code == 401
    assert revoke_token(hooks.service.database, hooks.identifier)
    assert hooks.call("validate", SPEC).status_code == 404


def test_the_token_is_in_no_log(hooks: Webhooks, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        hooks.answer("validate", SPEC)
        hooks.call("validate", SPEC, cluster="absent")
        hooks.service.call(None, "GET", f"/admission/{hooks.key}/north/nothing")
    requests = [one for one in caplog.records if one.name.startswith("hosted_mesh_controller")]
    assert len(requests) == 3
    assert hooks.key.split("_", 2)[2] not in str([one.__dict__ for one in requests])


FIELDS = ["revisions", "host", "exposure", "sourceRanges", "kind", "memberships", "cluster", "tags", "x"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SPEC, *SPEC["revisions"][0], "x"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(spec=ANY_JSON | st.dictionaries(st.sampled_from(FIELDS), ANY_JSON))
def test_any_spec_gets_an_answer(hooks: Webhooks, spec: Any) -> None:
    for act in ("validate", "mutate"):
        assert "allowed" in hooks.answer(act, spec)


@pytest.mark.parametrize("body", ["x", [], {}, {"request": {}}, {"request": {"uid": 1, "object": {}}}])
def test_bodies_that_are_no_review(hooks: Webhooks, body: Any) -> None:
    answer = hooks.service.http.post(f"/admission/{hooks.key}/north/validate", json=body)
    assert answer.status_code == 404


def test_definitions_with_webhooks(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("PEM")
    (tmp_path / "token").write_text("hmc_a_b\n")
    files = ["--ca-file", str(tmp_path / "ca"), "--token-file", str(tmp_path / "token")]
    command = ["definitions", "--webhooks", "https://controller.example.com:8443", "--cluster", "north"]
    done = CliRunner().invoke(app, [*command, *files])
    assert done.exit_code == 0, done.output
    found = [one for one in yaml.safe_load_all(done.output) if one["kind"].endswith("WebhookConfiguration")]
    hooks = {one["kind"]: one["webhooks"][0] for one in found}
    begin = "https://controller.example.com:8443/admission/hmc_a_b/north"
    assert hooks["MutatingWebhookConfiguration"]["clientConfig"]["url"] == f"{begin}/mutate"
    assert hooks["ValidatingWebhookConfiguration"]["clientConfig"]["url"] == f"{begin}/validate"
    assert {one["failurePolicy"] for one in hooks.values()} == {"Ignore"}
    assert CliRunner().invoke(app, command).exit_code == 1
    plain = CliRunner().invoke(app, ["definitions", "--webhooks", "http://x", "--cluster", "north", *files])
    assert plain.exit_code == 1
