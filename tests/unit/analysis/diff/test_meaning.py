"""Verdicts, calls and readers of outputs in a diff of programs that run."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path

from hosted_mesh_analysis.diff.result import EffectKind

from sandbox.bootstrap import CHECKOUT
from tests.unit.analysis.diff.repositories import BEGINNING, difference, only, project, repository, run
from tests.unit.library.documents import CERTIFICATE

LEAK = """
import pulumi_tls as tls
key = tls.PrivateKey("authority", algorithm="ECDSA", ecdsa_curve="P256")
config_map("kept", {"key": key.private_key_pem}, control_plane, kind="Secret")
config_map("leak", {"key": VALUE}, data_plane)
"""


def test_verdicts_of_both_versions_are_compared(tmp_path: Path) -> None:
    leaks, does_not = LEAK.replace("VALUE", "key.private_key_pem"), LEAK.replace("VALUE", '"public"')
    after = {"__main__.py": BEGINNING + leaks}
    folder = repository(tmp_path / "r", project(does_not), after)
    found = only(difference(folder))
    added = {one.rule: one for one in found.verdicts}
    assert "no-credentials-on-data-plane" in added
    one = added["no-credentials-on-data-plane"]
    assert (one.mandatory, one.resource, one.added) == (True, "ConfigMap leak", True)
    shown = run(folder, "--base", "main", "--markdown").stdout
    assert "**policy** `new, mandatory: no-credentials-on-data-plane (ConfigMap leak)" in shown
    assert "PRIVATE KEY" not in shown
    back = repository(tmp_path / "back", project(leaks), {"__main__.py": BEGINNING + does_not})
    gone = only(difference(back)).verdicts
    assert {two.rule for two in gone if not two.added} == set(added)
    assert all(not two.added for two in gone)


def test_stacks_that_read_a_changed_output_are_named(tmp_path: Path) -> None:
    program = """
if pulumi.get_stack() == "first":
    pulumi.export("host", HOST)
    pulumi.export("same", "a")
else:
    name = "host" if pulumi.get_stack() == "second" else "same"
    config_map("app", {"x": pulumi.StackReference("organization/shop/first").get_output(name)}, data_plane)
"""
    stacks = {"first": "{}", "second": "{}", "third": "{}"}
    before, after = program.replace("HOST", '"a.example.com"'), program.replace("HOST", '"b.example.com"')
    found = difference(repository(tmp_path / "r", project(before, stacks), {"__main__.py": BEGINNING + after}))
    (first,) = (one for one in found.stacks if one.name == "first")
    assert [one.text for one in first.effects if one.kind is EffectKind.READ] == [
        "outputs (host) by stack second, which changes too",
        "outputs (host) by stack third, which changes nothing of it",
    ]


def test_calls_that_intents_open_and_close_are_named(tmp_path: Path) -> None:
    """By the library's example, with another method of one call."""
    folder = tmp_path / "r"
    shutil.copytree(CHECKOUT / "examples/intents", folder, ignore=shutil.ignore_patterns("__pycache__"))
    document = (folder / "intents.yaml").read_text()
    access = "{methods: [GET], paths: [/details/*]}"
    assert document.count(access) == 1
    repository(folder, {}, {"intents.yaml": document.replace(access, access.replace("GET", "POST"))})
    names = ("east", "west")
    cluster = {"certificate-authority-data": base64.b64encode(CERTIFICATE.encode()).decode()}
    kubeconfig = {
        "clusters": [{"name": n, "cluster": {"server": f"https://{n}.example.com:6443", **cluster}} for n in names],
        "users": [{"name": n, "user": {"token": "9dm2k7qz0xv4tn81rc6wpe35"}} for n in names],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in names],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    found = only(difference(folder, KUBECONFIG=str(tmp_path / "kubeconfig")))
    calls = {one.kind: one.text for one in found.effects if one.text.startswith("calls ")}
    call = "calls bookinfo/productpage -> bookinfo/details"
    assert calls == {
        EffectKind.OPENS: f"{call}: POST /details/* (intents page-details)",
        EffectKind.CLOSES: f"{call}: GET /details/* (intents page-details)",
    }
