"""What differs between two trees and two sights of a stack; what of it replaces a resource."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hosted_mesh_analysis.diff.compare import compared
from hosted_mesh_analysis.diff.masked import merged, shown_path, without_credentials
from hosted_mesh_analysis.diff.result import Cluster, Property, Stack, StackChange, Step, Value
from hosted_mesh_analysis.diff.snapshot import SnapshotResource, StackSnapshot
from hosted_mesh_analysis.diff.trees import ABSENT, File, Hidden, Why, differences
from hosted_mesh_plan.decode import SECRET, SIGNATURE

from tests.corpus import literals

HERE, THERE = (
    Cluster("control plane", "https://cp.example.com:6443"),
    Cluster("data plane", "https://dp.example.com:6443"),
)
DEPLOYMENT, SECRET_TYPE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Secret"


def marked(value: Any) -> dict[str, Any]:
    return {SIGNATURE: SECRET, "value": value}


def found(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    return {
        shown_path(path): tuple(None if one is ABSENT else one for one in values)
        for path, *values in differences(old, new)
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1}}, {}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a.b": (1, 2)}),
        ({"a": 1}, {"a": True}, {"a": (1, True)}),
        ({"a": 0}, {"a": False}, {"a": (0, False)}),
        ({"a": None}, {}, {"a": (None, None)}),
        ({"a": {}}, {"a": {"b": "x"}}, {"a.b": (None, "x")}),
        ({"a": "x"}, {"a": {"b": "x"}}, {"a": ("x", None), "a.b": (None, "x")}),
        ({"a": ["x", "y"]}, {"a": ["w", "x", "y"]}, {"a[0]": (None, "w")}),
        ({"a": ["x", "y", "z"]}, {"a": ["x", "z"]}, {"a[1]": ("y", None)}),
        ({"a": ["--x=1", "--y"]}, {"a": ["--x=2", "--y"]}, {"a[0]": ("--x=1", "--x=2")}),
        ({"a": []}, {"a": [{"b": 1}]}, {"a[0].b": (None, 1)}),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"env": [{"name": "B", "value": "3"}]},
            {"env[A].name": ("A", None), "env[A].value": ("1", None), "env[B].value": ("2", "3")},
        ),
        ({"c": [{"name": "A"}, {"name": "B"}]}, {"c": [{"name": "B"}, {"name": "A"}]}, {"c.(order)": ("A, B", "B, A")}),
        (
            {"c": [{"name": "A"}, {"name": "A", "x": 1}]},
            {"c": [{"name": "A"}]},
            {"c[1].name": ("A", None), "c[1].x": (1, None)},
        ),
        ({"l": {"a/b": "1"}}, {"l": {"a/b": "2"}}, {'l["a/b"]': ("1", "2")}),
    ],
)
def test_where_two_trees_differ(old: Any, new: Any, said: dict[str, tuple[Any, Any]]) -> None:
    assert found(old, new) == said


def test_what_differs_between_runs_is_hidden_and_compared_run_by_run() -> None:
    old, same, new = (
        merged({"a": "x1"}, {"a": "x2"}),
        merged({"a": "x1"}, {"a": "x2"}),
        merged({"a": "x1"}, {"a": "y2"}),
    )
    assert found(old, same) == {}
    ((path, one, other),) = differences(old, new)
    assert (path, one.why, other.why) == (("a",), Why.SECRET, Why.SECRET)
    assert "x1" not in repr(one) + str(one)


@pytest.mark.parametrize(
    ("one", "other", "hidden"),
    [
        ({"a": "x"}, {"a": "y"}, {("a",)}),
        ({"a": marked("x")}, {"a": marked("x")}, {("a",)}),
        ({"a": marked({"b": ["x", "y"]})}, {"a": marked({"b": ["x", "y"]})}, {("a", "b", 0), ("a", "b", 1)}),
        ({"a": ["x"]}, {"a": ["x", "y"]}, {("a",)}),
        ({"x1": "a", "b": "c"}, {"x2": "a", "b": "c"}, {("\0",)}),
        ({"a": "x"}, {"a": {"b": "x"}}, {("a",)}),
        ({"a": 1}, {"a": True}, {("a",)}),
        ({"a": [{"b": "x"}, "c"]}, {"a": [{"b": "y"}, "c"]}, {("a", 0, "b")}),
    ],
)
def test_of_two_runs_only_what_is_the_same_and_not_marked_is_shown(one: Any, other: Any, hidden: set[Any]) -> None:
    tree = merged(one, other)
    assert {path for path, _, new in differences(ABSENT, tree) if isinstance(new, Hidden)} == hidden


def test_a_credential_is_hidden_by_its_form_and_by_its_name() -> None:
    token, password = literals.credentials()["access token"], literals.opaque("a password")
    tree = without_credentials({"note": token, "password": password, "colour": "blue", "list": [{"x": token}]})
    assert {path: one for path, _, one in differences(ABSENT, tree)} == {
        ("colour",): "blue",
        ("note",): Hidden(Why.FORM, token),
        ("password",): Hidden(Why.FORM, password),
        ("list", 0, "x"): Hidden(Why.FORM, token),
    }
    assert shown_path(("data", token)) == 'data["…"]'
    assert without_credentials([File(f"{token}.html"), File("page.html")]) == [
        Hidden(Why.FORM, File(f"{token}.html")),
        File("page.html"),
    ]


# Stacks -----------------------------------------------------------------------------------------------------------


def sight(outputs: Any = None, **resources: SnapshotResource) -> StackSnapshot:
    return StackSnapshot({(name,): one for name, one in resources.items()}, outputs or {})


def seen(tree: Any, name: str = "app", kind: str = "kubernetes:core/v1:ConfigMap", **more: Any) -> SnapshotResource:
    return SnapshotResource(kind, name, more.pop("cluster", THERE), tree, **more)


def step(old: SnapshotResource, new: SnapshotResource) -> tuple[Step | None, tuple[str, ...]]:
    changes = compared("dev", sight(app=old), sight(app=new)).changes
    return (changes[0].step, changes[0].forced_by) if changes else (None, ())


def test_a_stack_is_as_its_versions_say() -> None:
    one, other = sight(app=seen({"a": "1"})), sight(app=seen({"a": "2"}))
    assert compared("dev", one, one) == Stack("dev", StackChange.UNCHANGED)
    assert compared("dev", one, other).state is StackChange.CHANGED
    assert compared("dev", None, other).state is StackChange.NEW
    assert compared("dev", one, None).state is StackChange.REMOVED
    assert compared("dev", one, one, [Property("aws:region", None, Value("x"))]).state is StackChange.CHANGED
    assert compared("dev", sight({"x": "1"}), sight({"x": "2"})).outputs == [Property("x", Value("1"), Value("2"))]
    assert [one.step for one in compared("dev", sight(), other).changes] == [Step.MADE]
    assert [one.step for one in compared("dev", one, sight()).changes] == [Step.REMOVED]


def test_a_resource_that_goes_to_another_cluster_or_is_treated_otherwise_has_changed() -> None:
    one = seen({"a": "1"}, options={"protect": True, "ignoreChanges": ["b", "c"]})
    (change,) = compared("dev", sight(app=one), sight(app=replace(one, cluster=HERE, options={}))).changes
    assert (change.step, change.cluster, change.moved_from) == (Step.REPLACED, HERE, THERE)
    assert {one.path: (one.old and one.old.value, one.new and one.new.value) for one in change.properties} == {
        "(cluster)": (f"data plane {THERE.name}", f"control plane {HERE.name}"),
        "(protect)": (True, None),
        "(ignoreChanges)": ("b, c", None),
    }


@pytest.mark.parametrize(
    ("kind", "old", "new", "forced"),
    [
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, ["metadata.name"]),
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"namespace": "a"}}, {"metadata": {}}, []),
        ("kubernetes:core/v1:ConfigMap", {"data": {"a": "1"}}, {"data": {"a": "2"}}, []),
        ("kubernetes:core/v1:ConfigMap", {"data": {"a": "1"}, "immutable": True}, {"data": {"a": "2"}}, ["data.a"]),
        (SECRET_TYPE, {"type": "Opaque"}, {"type": "x/y"}, ["type"]),
        (DEPLOYMENT, {"spec": {"selector": {"a": "1"}}}, {"spec": {"selector": {"a": "2"}}}, ["spec.selector.a"]),
        (
            DEPLOYMENT,
            {"spec": {"selector": {"a": "1"}}},
            {"spec": {"selector": {"b": "1"}}},
            ["spec.selector.a", "spec.selector.b"],
        ),
        (DEPLOYMENT, {"spec": {}}, {"spec": {"selector": {"b": "1"}}}, []),
        (DEPLOYMENT, {"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, []),
        ("kubernetes:helm.sh/v4:Chart", {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}, []),
        ("tls:index/privateKey:PrivateKey", {"ecdsaCurve": "P256"}, {"ecdsaCurve": "P384"}, ["ecdsaCurve"]),
        ("tls:index/selfSignedCert:SelfSignedCert", {"earlyRenewalHours": 1}, {"earlyRenewalHours": 2}, []),
        ("aws:s3/bucket:Bucket", {"bucket": "a"}, {"bucket": "b"}, []),
    ],
)  # fmt: skip
def test_only_what_surely_replaces_is_said_to(kind: str, old: Any, new: Any, forced: list[str]) -> None:
    steps = (Step.REPLACED if forced else Step.CHANGED, tuple(forced))
    assert step(seen(old, kind=kind), seen(new, kind=kind)) == steps


def test_what_the_program_says_of_changes_is_followed() -> None:
    told = {"options": {"replaceOnChanges": ["data.a"]}}
    assert step(seen({"data": {"a": "1"}}, **told), seen({"data": {"a": "2"}}, **told)) == (Step.REPLACED, ("data.a",))
    told = {"options": {"ignoreChanges": ["data"]}}
    assert step(seen({"data": {"a": "1"}}, **told), seen({"data": {"a": "2"}}, **told)) == (None, ())


def test_a_credential_among_options_is_hidden() -> None:
    token = literals.credentials()["access token"]
    one = seen({"a": "1"})
    (change,) = compared("dev", sight(app=one), sight(app=replace(one, options={"ignoreChanges": [token]}))).changes
    assert change.properties == (Property("(ignoreChanges)", None, Value(hidden=Why.FORM)),)


def test_of_what_has_a_secret_name_only_is_told_that_it_changed() -> None:
    one = SnapshotResource("x:y:Z", None, THERE, Hidden(Why.SECRET, [{"a": 1}]))
    assert compared("dev", StackSnapshot({("", "t"): one}, {}), StackSnapshot({("", "t"): one}, {})).changes == []
    other = replace(one, tree=Hidden(Why.SECRET, [{"a": 2}]), count=3)
    (change,) = compared("dev", StackSnapshot({("", "t"): one}, {}), StackSnapshot({("", "t"): other}, {})).changes
    assert (change.step, change.name, change.count, change.properties) == (Step.CHANGED, None, 3, ())
