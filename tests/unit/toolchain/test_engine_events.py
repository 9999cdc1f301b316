"""What people are told of an engine's run: events as Pulumi 3.256 writes them."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox.engine.events import Changes, EventLog, Story, short_name

URN = "urn:pulumi:all-in-one::hosted-mesh::hosted-mesh:index:ExternalControlPlane$kubernetes:apps/v1:Deployment::istiod"


def test_a_urn_for_people() -> None:
    assert short_name(URN) == "Deployment istiod"


def test_notes_tell_what_changes_and_how_far_it_is() -> None:
    story = Story("updating")
    assert story.take({"resourcePreEvent": {"metadata": {"op": "same", "urn": URN}}}) is None
    story.take({"resOutputsEvent": {"metadata": {"op": "same", "urn": URN}}})
    note = story.take({"resourcePreEvent": {"metadata": {"op": "create", "urn": URN}}})
    assert note == "updating, 1 done: create Deployment istiod"


def test_the_summary() -> None:
    story = Story("updating")
    changes = {"create": 2, "update": 1, "same": 7, "create-replacement": 1, "replace": 1, "delete-replaced": 1}
    story.take({"summaryEvent": {"durationSeconds": 4, "resourceChanges": changes}})
    assert story.changes == Changes(create=2, update=1, replace=1, same=7, seconds=4)
    assert str(story.changes) == "2 created, 1 updated, 1 replaced (7 unchanged)"
    assert story.changes.total == 4
    assert str(Changes(same=55)) == "0 changes (55 unchanged)"


def diagnostic(severity: str, message: str, urn: str = "") -> dict[str, object]:
    return {"diagnosticEvent": {"severity": severity, "message": message, "urn": urn}}


def test_an_error_is_its_first_line_once_and_without_noise() -> None:
    story = Story("updating")
    error = "error: namespaces is forbidden: User cannot create\n    * more\n"
    for _ in range(2):
        story.take(diagnostic("error", error, URN))
    story.take(diagnostic("error", "update failed\n"))
    story.take(diagnostic("warning", "using pulumi-language-python from $PATH\n"))
    assert story.reason() == "Deployment istiod: namespaces is forbidden: User cannot create"


def test_a_program_that_raises_is_told_by_its_last_line() -> None:
    story = Story("previewing")
    trace = 'Program failed:\nTraceback (most recent call last):\n  File "x"\nValueError: mesh.name: too long\n'
    story.take(diagnostic("error", trace))
    assert story.reason() == "ValueError: mesh.name: too long"


def test_without_an_error_event_the_program_s_last_words_are_told() -> None:
    story = Story("previewing")
    story.take(diagnostic("info#err", "missing executor\n"))
    assert story.reason() == "missing executor"


def test_only_mandatory_policies_are_reasons() -> None:
    story = Story("previewing")
    event = {"policyName": "no-keys", "message": "holds a key\nmore", "resourceUrn": URN}
    story.take({"policyEvent": event | {"enforcementLevel": "advisory"}})
    assert story.reason() == ""
    story.take({"policyEvent": event | {"enforcementLevel": "mandatory"}})
    assert story.reason() == "policy no-keys, Deployment istiod: holds a key"


def test_the_log_is_read_as_it_grows_and_from_the_start_when_a_new_phase_begins(tmp_path: Path) -> None:
    path = tmp_path / "events"
    log = EventLog(path)
    assert list(log.new()) == []
    first, second = json.dumps({"sequence": 0}), json.dumps({"sequence": 1, "cancelEvent": {}})
    path.write_text(first + "\n" + second[:5])
    assert [event["sequence"] for event in log.new()] == [0]
    path.write_text(first + "\n" + second + "\n")
    assert [event["sequence"] for event in log.new()] == [1]
    path.write_text(first + "\n")
    assert [event["sequence"] for event in log.new()] == [0]
