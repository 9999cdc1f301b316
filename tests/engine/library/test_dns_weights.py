"""Weighted and health-checked answers of a real PowerDNS, written by the real external-dns through the sidecar's gate.

Answers are counted: their share must lie within five standard deviations of the binomial distribution.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.dns import arguments
from pulumi_hosted_mesh.dns.credentials import environment
from pulumi_hosted_mesh.dns.plan import pairs
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import FOR_WEIGHTS

pytestmark = pytest.mark.nightly
POWERDNS = Path(__file__).parent / "dns_weights" / "powerdns.py"
KEY, HEALTH_PORT = "key-of-the-test", "8443"
ONE, TWO, THREE = "127.0.0.11", "127.0.0.12", "127.0.0.13"
QUERIES = 2000
DETECTION_SECONDS = 4
"""The test's server checks each second; docs state two checks and their time-out of two seconds."""
DOCUMENT = {
    "edges": [{"name": "north"}],
    "providers": [
        {
            "id": "p",
            "type": "powerdns",
            "powerdns": {"url": "http://127.0.0.1:8081"},
            "zones": [{"name": "{edge}.example.com"}],
            "answers": "weighted",
            "ttl": 5,
        }
    ],
}


def record(name: str, *targets: str, kind: str = "A", **properties: str) -> dict[str, Any]:
    given = [{"name": f"powerdns/{key.replace('_', '-')}", "value": value} for key, value in properties.items()]
    found = {"dnsName": f"{name}.north.example.com", "recordType": kind, "targets": list(targets)}
    return {**found, "providerSpecific": given} if given else found


def full(**answers: Any) -> dict[str, Any]:
    return {f"{name}.north.example.com": given for name, given in answers.items()}


def ran(phases: list[dict[str, Any]], folder: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch) -> Any:
    tools = toolchain.ensure({"external-dns", *FOR_WEIGHTS}, progress=progress)
    bridge = read_document(DnsBridge, DOCUMENT)
    (pair,) = pairs(bridge)
    kubeconfig = str(folder / "kubeconfig")
    monkeypatch.setattr(arguments, "_KUBECONFIG", f"--kubeconfig={kubeconfig}")
    keys = {"api-key": KEY}
    settings = {
        "server": str(tools["pdns_server"]),
        "program": str(tools["external-dns"]),
        "folder": str(folder),
        "planner": arguments.publisher_arguments(bridge, pair),
        "kubeconfig": kubeconfig,
        "writer": arguments.provider_arguments(bridge, pair),
        "key": KEY,
        "zone": "example.com",
        "answers": "weighted",
        "environment": {
            one["name"]: keys[one["valueFrom"]["secretKeyRef"]["key"]]
            for one in environment(pair.provider, "secret", keys)
        },
        "phases": phases,
    }
    (folder / "settings").write_text(json.dumps(settings))
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, str(POWERDNS), str(folder / "settings")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "result").read_text())
    assert found["started"], found["log"]
    for phase in found["phases"]:
        assert not phase["late"], (phase["late"], phase["sets"], found["log"][-3000:], done.stderr)
    return found["phases"]


def require_share(counts: dict[str, int], answer: str, share: float) -> None:
    total = sum(counts.values())
    deviation = math.sqrt(total * share * (1 - share))
    assert abs(counts.get(answer, 0) - total * share) < 5 * deviation, counts


def test_weights_and_health_are_answered_as_written(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = f"{ONE}=3,{TWO}=1"
    both = {"weights": f"{ONE}=3,{TWO}=1,{THREE}=4", "health_port": HEALTH_PORT}
    records = [
        record("plain", ONE, TWO),
        record("weighted", ONE, TWO, weights=weights),
        record("weighted", "::1", kind="AAAA", weights="::1=2"),
        record("checked", ONE, TWO, health_port=HEALTH_PORT),
        record("both", ONE, TWO, THREE, **both),
        record("*.any", ONE, TWO, weights=weights),
        record("moved", "target.example.org", kind="CNAME"),
    ]
    answered = full(
        plain=[f"{ONE} {TWO}"],
        weighted=[f"{ONE} ::1", f"{TWO} ::1"],
        checked=[f"{ONE} {TWO}"],
        both=[ONE, TWO, THREE],
        **{"x.any": [ONE, TWO]},
        moved=["target.example.org target.example.org"],
    )
    names = list(full(plain=0, weighted=0, checked=0, both=0))
    counted = full(weighted=QUERIES, both=QUERIES, **{"x.any": QUERIES}, checked=100)
    changed = [
        record("plain", ONE, TWO, weights=f"{ONE}=1,{TWO}=9"),
        record("weighted", ONE, TWO),
        record("weighted", "::1", kind="AAAA", weights="::1=2"),
        record("checked", THREE, health_port=HEALTH_PORT),
        record("both", ONE, TWO, THREE, weights=f"{ONE}=1,{TWO}=1,{THREE}=2"),
        record("moved", ONE, TWO, weights=weights),
        record("*.any", "target.example.org", kind="CNAME"),
    ]
    phases = [
        {"records": records, "up": [ONE, TWO, THREE], "await": answered, "pause": DETECTION_SECONDS, "count": counted},
        {"records": records, "pause": 12},
        {
            "records": records,
            "down": [ONE],
            "pause": DETECTION_SECONDS,
            "steady": names,
            "count": full(checked=500, both=QUERIES),
        },
        {"records": records, "up": [ONE], "pause": DETECTION_SECONDS, "count": full(checked=100)},
        {"records": records, "down": [ONE, TWO, THREE], "pause": DETECTION_SECONDS, "count": full(checked=100)},
        {
            "records": changed,
            "steady": names,
            "up": [ONE, TWO, THREE],
            "await": full(
                weighted=[f"{ONE} {TWO} ::1"],
                plain=[ONE, TWO],
                checked=[THREE],
                moved=[ONE, TWO],
                **{"x.any": ["target.example.org target.example.org"]},
            ),
            "pause": 2,
            "count": full(plain=QUERIES, both=QUERIES, weighted=100),
        },
        {"records": [], "await": full(plain=[""], weighted=[""], checked=[""], both=[""])},
    ]
    first, again, without_one, returned, without_all, after, removed = ran(phases, tmp_path, progress, monkeypatch)
    weighted = first["counts"]["weighted.north.example.com"]
    assert weighted.keys() == {f"{ONE} ::1", f"{TWO} ::1"}
    require_share(weighted, f"{ONE} ::1", 3 / 4)
    require_share(first["counts"]["x.any.north.example.com"], ONE, 3 / 4)
    three = first["counts"]["both.north.example.com"]
    for address, share in ((ONE, 3 / 8), (TWO, 1 / 8), (THREE, 4 / 8)):
        require_share(three, address, share)
    assert first["counts"]["checked.north.example.com"] == {f"{ONE} {TWO}": 100}
    # A new external-dns reads back what the last one wrote, and writes nothing.
    assert again["sets"] == first["sets"]
    assert without_one["counts"]["checked.north.example.com"] == {TWO: 500}
    two = without_one["counts"]["both.north.example.com"]
    assert two.keys() == {TWO, THREE}
    require_share(two, THREE, 4 / 5)
    assert returned["counts"]["checked.north.example.com"] == {f"{ONE} {TWO}": 100}
    # All addresses down: they are answered all the same.
    assert without_all["counts"]["checked.north.example.com"] == {f"{ONE} {TWO}": 100}
    require_share(after["counts"]["plain.north.example.com"], TWO, 9 / 10)
    require_share(after["counts"]["both.north.example.com"], THREE, 1 / 2)
    assert after["counts"]["weighted.north.example.com"] == {f"{ONE} {TWO} ::1": 100}
    assert without_one["lost"] == after["lost"] == []
    assert {one.partition(" ")[2] for one in removed["sets"]} == {"SOA", "NS"}, removed["sets"]
