"""What the bench of the policies computes by itself: counting, tables, the synthetic stack and its messages, the words
that follow from figures."""

from __future__ import annotations

import json

import pytest
from hosted_mesh_plan.decode import from_struct
from hosted_mesh_plan.tree import Secret, leaves

from bench.grid import Grid
from bench.policies import corpus, messages
from bench.policies.counting import Score, cases_of
from bench.policies.growing import Grown
from bench.policies.page import bytes_verdict, goal_verdict, machine, text
from bench.policies.ratio import Pair, Ratio
from bench.policies.ratio import grid as ratio_grid
from bench.policies.scaling import Judging, OnEngine, Size, in_turn
from bench.policies.scanners.environments import GITLEAKS, GITLEAKS_VERSION
from bench.policies.scanners.others import SCANNERS
from bench.policies.synthetic import NO_SECRET, made_up, planned
from bench.samples import Samples


def test_a_case_counts_once_however_many_files_are_flagged():
    flagged = cases_of(["case-000/a.yaml", "case-000/b.yaml", "case-002/a.yaml"])
    score = Score.of("tool", "plans", flagged, {"case-000": True, "case-001": True, "case-002": False}, 1.25)
    assert score.row() == ["tool", "plans", "1 of 2", "1 of 1", "1.2 s"]


def test_a_find_outside_the_corpus_is_an_error_not_a_point():
    with pytest.raises(ValueError, match="case-009"):
        Score.of("tool", "plans", {"case-009"}, {"case-000": True}, 0)


def test_a_tool_that_is_not_there_has_a_reason_and_no_figures():
    assert Score("tool", "plans", why_not="no wheel").row() == ["tool", "plans", "could not be had: no wheel", "", ""]


def test_a_table_for_a_page_is_markdown():
    grid = Grid("title", ["what", "much"], [["a|b", "1"]])
    assert grid.for_page().splitlines() == ["| what | much |", "| --- | ---: |", "| a\\|b | 1 |"]
    assert grid.for_terminal().row_count == 1


@pytest.mark.parametrize(("resources", "secrets"), [(100, 10), (101, 3), (100, 45), (20, 0)])
def test_a_synthetic_stack_has_the_size_asked_for(resources, secrets):
    objects = list(planned(resources, secrets))
    tokens = [text for one in objects for text in one.secret.values() if one.secret != NO_SECRET]
    assert len(objects) == len({one.name for one in objects}) == resources
    assert len(tokens) == len(set(tokens)) == secrets


def test_no_secret_of_a_synthetic_stack_is_on_the_users_side():
    objects = list(planned(500, 100))
    users = json.dumps([one.manifest for one in objects if one.side == "dp"])
    assert not any(made_up(number) in users for number in range(100))
    assert all(one.kind == "Secret" for one in objects if one.side == "cp")


def test_more_secrets_hardly_change_the_bytes():
    few, many = (sum(one.size for one in planned(1000, secrets)) for secrets in (50, 400))
    assert 1 < many / few < 1.05


def test_messages_mark_secrets_and_nothing_else():
    for one in planned(10, 2):
        tree = from_struct(messages.properties(one))
        marked = {leaf.value for leaf in leaves(tree) if leaf.secret}
        assert marked == set(one.secret.values())
        assert isinstance(tree.get("stringData"), Secret) == bool(one.secret)


def test_there_is_a_message_for_each_object_and_each_provider():
    objects = list(planned(10, 2))
    assert len(list(messages.requests(objects))) == 12
    assert [resource.name for resource in messages.whole(objects).resources] == [one.name for one in objects]


def test_a_preview_of_many_programs_is_split_by_its_owners():
    urn = "urn:pulumi:s::p::corpus:index:Box"
    steps = [
        {"urn": "urn:pulumi:s::p::pulumi:providers:kubernetes::dp-cluster", "newState": {}},
        {"urn": f"{urn}::case0", "newState": {}},
        {"urn": f"{urn}$kubernetes:core/v1:ConfigMap::case1-dp-app", "newState": {"parent": f"{urn}::case1"}},
        {"urn": f"{urn}$pulumi:providers:kubernetes::own", "newState": {"parent": f"{urn}::case1"}},
        {"urn": f"{urn}$kubernetes:core/v1:ConfigMap::case10-dp-app", "newState": {"parent": f"{urn}::case10"}},
    ]
    found = corpus.split({"steps": steps, "diagnostics": []}, [f"n{number}" for number in range(11)])
    assert [len(found[name]["steps"]) for name in ("n0", "n1", "n2", "n10")] == [2, 3, 1, 2]


def test_the_corpus_has_folders_that_tell_nothing():
    assert len(set(corpus.FOLDERS.values())) == len(corpus.NAMES) == len(corpus.IS_LEAK)
    assert all(folder.startswith("case-") and folder[5:].isdigit() for folder in corpus.FOLDERS.values())


def test_a_record_of_judgements_is_summed():
    lines = ['["analyze", 0.5, 10]', '["analyze", 0.25, 20]', '["analyze_stack", 2.0, 70]']
    judging = Judging.read(lines)
    assert (judging.each, judging.end, judging.seconds, judging.calls, judging.message_bytes) == (
        0.75,
        2.0,
        2.75,
        3,
        100,
    )


def size(resources: int, secrets: int, seconds: float, added: float | None = None) -> Size:
    judging = Judging(0, seconds, resources, resources)
    engine = None
    if added is not None:
        engine = OnEngine(Samples([10.0]), Samples([10.5]), Samples([11.0]), Samples([10.0 + added]), judging)
    return Size(resources, secrets, resources * 1000, judging, engine)


def test_words_follow_from_figures():
    sizes = [size(1000, 100, 1, 1.6), size(5000, 500, 5, 6.0), size(20000, 2000, 22)]
    assert "bytes grew 20.0 times, the seconds 22.0 times, resources times secrets 400 times" in bytes_verdict(sizes)
    assert "**is not met**: 6.00 times" in goal_verdict(sizes)
    assert "is met: 1.60 times" in goal_verdict(sizes[:1])
    assert "takes 0.5 s of the engine's time in Go, and 1.0 s in Python" in goal_verdict(sizes)


def test_what_a_pack_adds_is_the_median_of_the_rounds():
    """Not the difference of two medians, which the machine's drift from round to round would decide."""
    without, pack = Samples([10.0, 20.0, 12.0]), Samples([11.0, 21.5, 32.0])
    seen = OnEngine(without, without, without, pack, Judging(0, 0, 0, 0))
    assert seen.added_by(pack).median == 1.5


def test_each_round_begins_with_another_and_has_all():
    assert [in_turn("abc", number) for number in range(4)] == [[*"abc"], [*"bca"], [*"cab"], [*"abc"]]


def test_ratios_are_of_rounds():
    pair = Pair(Samples([1.0, 2.0, 4.0]), Samples([1.5, 2.0, 5.0]))
    row = ratio_grid(Ratio(pair, pair)).rows[2]
    assert row[1:] == ["1.25", "1.00", "1.50"]


def test_the_page_has_every_table_and_nothing_left_to_fill_in():
    pair = Pair(Samples([1.0]), Samples([1.1]))
    about = machine() | {"minutes": "20", "load_before": "0.5", "load_after": "1.5", "plugins": "standin"}
    grown = [Grown(50, "meshes", 452, 0.5, 1.5)]
    page = text([Score("tool", "plans", 1, 2, 0, 3, 0.5)], grown, [size(1000, 100, 1, 1.5)], Ratio(pair, pair), about)
    assert page.count("| --- |") == 5
    assert not {"{", "}"} & set(page)
    assert "1 of 2 | 0 of 3" in page


OUTPUTS = {
    "detect-secrets": {"results": {"./case-000/a.yaml": [{"type": "x"}], "case-001/a.yaml": []}},
    "checkov": [{"results": {"failed_checks": [{"file_path": "/case-000/a.yaml"}]}}, {"passed": 0}],
    "gitleaks": [{"File": "case-000/a.yaml"}],
}


@pytest.mark.parametrize("scanner", SCANNERS, ids=lambda scanner: scanner.name)
def test_findings_are_read_by_file(scanner, tmp_path):
    printed = OUTPUTS[scanner.name.split()[0].rstrip(",")]
    found = scanner.files_with_findings(["printf", "%s", json.dumps(printed)], tmp_path)
    assert cases_of(found) == {"case-000"}


def test_gitleaks_says_the_version_that_it_is_built_from():
    assert f"zricethezav/gitleaks/v8 {GITLEAKS_VERSION}" in (GITLEAKS.directory / "go.mod").read_text(encoding="utf-8")
