"""The files that Envoy follows: validated first, replaced at once, and never worse than before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.gateway_sidecar.__main__ import run_pass
from agents.gateway_sidecar.api import RowsApi
from agents.gateway_sidecar.publisher import INVALID, Publisher, Rows
from agents.gateway_sidecar.rows import Row, rows_of
from agents.gateway_sidecar.settings import Settings
from agents.gateway_sidecar.status import Status
from tests.unit.agents.gateway_sidecar.row_documents import ROWS, SETTINGS

MADE = Settings.of(SETTINGS)


def rows(*names: str) -> Rows:
    return rows_of([ROWS[name] for name in names], MADE)[0]


def hosts(folder: Path) -> set[str]:
    (listener,) = json.loads((folder / "listeners.json").read_text())["resources"]
    return {name for chain in listener["filter_chains"] for name in chain["filter_chain_match"]["server_names"]}


class Judge:
    """Stands for `envoy --mode validate`: rejects every configuration with one of the bad hosts."""

    def __init__(self, *bad: str) -> None:
        self.bad, self.asked = set(bad), 0

    def __call__(self, found: Rows) -> bool:
        self.asked += 1
        return not self.bad & {one.host for one in found}


def test_all_rows_are_written_and_nothing_is_written_again_without_a_change(tmp_path: Path) -> None:
    judge = Judge()
    publisher = Publisher(MADE, tmp_path, judge)
    assert publisher.publish(rows("a", "b")) == {}
    assert hosts(tmp_path) == {"a.mesh.test", "b.mesh.test"}
    before = (tmp_path / "listeners.json").stat()
    assert publisher.publish(rows("b", "a")) == {}
    assert ((tmp_path / "listeners.json").stat().st_ino, judge.asked) == (before.st_ino, 1)
    publisher.publish(rows("b"))
    assert hosts(tmp_path) == {"b.mesh.test"}


def test_a_row_that_envoy_rejects_leaves_all_others_served(tmp_path: Path) -> None:
    publisher = Publisher(MADE, tmp_path, Judge("c.mesh.test"))
    publisher.publish(rows("a"))
    assert publisher.publish(rows("a", "b", "c")) == {"c.mesh.test": INVALID}
    assert hosts(tmp_path) == {"a.mesh.test", "b.mesh.test"}
    assert publisher.publish(rows("a", "b")) == {}


def test_the_first_configuration_with_a_rejected_row_serves_the_others(tmp_path: Path) -> None:
    publisher = Publisher(MADE, tmp_path, Judge("b.mesh.test"))
    assert publisher.publish(rows("a", "b", "c")) == {"b.mesh.test": INVALID}
    assert hosts(tmp_path) == {"a.mesh.test", "c.mesh.test"}


def test_a_changed_row_that_envoy_rejects_is_not_served_as_before(tmp_path: Path) -> None:
    """Its former ranges may be those that the change was to close."""
    (first,) = rows("a")
    changed = Row(first.host, first.mesh, first.revision, first.routes, (), 10, 5)
    publisher = Publisher(MADE, tmp_path, lambda found: changed not in found)
    publisher.publish((first,))
    assert publisher.publish((changed,)) == {"a.mesh.test": INVALID}
    assert hosts(tmp_path) == set()


class Api(RowsApi):
    def __init__(self, *answers: list[dict[str, Any]] | OSError) -> None:
        self.answers = [*answers]

    def list(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer, "7"


def test_a_pass_reports_rejected_hosts_and_keeps_the_configuration_while_nothing_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, publisher = Status(lambda: 5.0), Publisher(MADE, tmp_path, Judge())
    bad = {"metadata": {"name": "a.other.test"}, "data": {}}
    api = Api([ROWS["a"], bad], OSError("no answer"))
    assert not status.ready
    assert run_pass(api, MADE, publisher, status) == "7"
    assert status.ready
    assert 'hosted_mesh_gateway_rejected{host="a.other.test"} 1\n' in status.metrics()
    assert "hosted_mesh_gateway_hosts 1\n" in status.metrics()
    assert "rejected: a.other.test is outside of the gateway's zones" in capsys.readouterr().err
    with pytest.raises(OSError, match="no answer"):
        run_pass(api, MADE, publisher, status)
    assert hosts(tmp_path) == {"a.mesh.test"}
