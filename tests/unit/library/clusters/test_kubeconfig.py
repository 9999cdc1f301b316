"""Kubeconfigs: one context leaves the file, and bad ones are refused before anything is touched."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.assembly.document import control_plane_cluster, data_plane_cluster
from pulumi_hosted_mesh.assembly.preflight import check_charts
from pulumi_hosted_mesh.clusters import distinct, kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.mesh import Mesh

from tests.unit.library.clusters.kubeconfigs import (
    CA,
    OTHER_CA,
    TOKEN,
    content,
)
from tests.unit.library.documents import document


def write(directory: Path, parsed: object) -> str:
    path = directory / "kubeconfig"
    text = parsed if isinstance(parsed, str | bytes) else yaml.safe_dump(parsed)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def reference(path: str, **rest: str) -> ClusterReference:
    return ClusterReference.model_validate({"kubeconfig": path, **rest})


def test_one_context_alone_leaves_the_file(tmp_path: Path) -> None:
    found = kubeconfig.read(reference(write(tmp_path, content()), context="user"), "memberships.0.cluster", "mesh.yaml")
    assert found.server == "https://127.0.0.1:2"
    assert found.certificate_authority == base64.b64decode(OTHER_CA).decode()
    assert TOKEN not in found.text
    assert json.loads(found.text)["current-context"] == "user"
    assert TOKEN not in repr(found)
    assert "other-token" not in repr(found)


def test_current_context_is_the_default(tmp_path: Path) -> None:
    assert kubeconfig.read(reference(write(tmp_path, content())), "x", "mesh.yaml").context == "provider"


def test_files_beside_the_kubeconfig_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (tmp_path / "token").write_text("from-file\n")
    files = content(
        clusters=[{"name": "p", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority": "ca.pem"}}],
        users=[{"name": "admin", "user": {"tokenFile": "token"}}],
    )
    found = kubeconfig.read(reference(write(tmp_path, files)), "x", "mesh.yaml")
    assert found.certificate_authority == "-----BEGIN CERTIFICATE-----\n"
    assert json.loads(found.text)["users"][0]["user"] == {"token": "from-file"}


REFUSED: list[tuple[str, object, dict[str, str], str]] = [
    ("no YAML", "a: }", {}, "is not YAML in line 1"),
    (
        "a tag",
        "a: 1\nb: !secret x",
        {},
        "has an unknown tag or kind of key in line 2",
    ),
    (
        "as an editor or a shell on Windows writes it",
        yaml.safe_dump(content()).encode("utf-16"),
        {},
        "is not UTF-8 text",
    ),
    ("another file", "# " + "x" * 2**23, {}, "is longer than 8 MiB"),
    ("a number that is none", "a: !!int x", {}, "is not YAML"),
    ("nested too deep", "[" * 5000, {}, "is not YAML"),
    ("contexts that are no list", content(contexts=5), {}, "no context 'provider'"),
    ("users that are no list", content(users={"admin": {"token": TOKEN}}), {}, "lacks its cluster, server or user"),
    ("another document", "kind: Pod", {}, "is not a kubeconfig"),
    ("a list", "- a", {}, "is not a kubeconfig"),
    ("no such context", content(), {"context": "third"}, "no context 'third'"),
    ("no context at all", content(**{"current-context": ""}), {}, "no current context"),
    ("context without its cluster", content(), {"context": "broken"}, "lacks its cluster"),
    ("another server than expected", content(), {"server": "https://api.example.com"}, "has another API server"),
    *(
        (f"a server at {server}", content(clusters=[{"name": "p", "cluster": {"server": server}}]), {}, "not https://")
        for server in ("http://127.0.0.1:8080", "127.0.0.1:6443", "https://", "https://h:port")
    ),
    (
        "certificate that is not there",
        content(clusters=[{"name": "p", "cluster": {"server": "https://h", "certificate-authority": "gone.pem"}}]),
        {},
        "cannot be read (certificate-authority: No such file",
    ),
    (
        "token file that is not there",
        content(users=[{"name": "admin", "user": {"tokenFile": "gone"}}]),
        {},
        "cannot be read (tokenFile: No such file",
    ),
    (
        "authority that is no base64",
        content(clusters=[{"name": "p", "cluster": {"server": "https://h", "certificate-authority-data": "%"}}]),
        {},
        "certificate-authority-data that is not base64 of PEM",
    ),
]


@pytest.mark.parametrize(("parsed", "rest", "words"), [pytest.param(*rest, id=name) for name, *rest in REFUSED])
def test_refused(tmp_path: Path, parsed: object, rest: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        kubeconfig.read(reference(write(tmp_path, parsed), **rest), "memberships.0.cluster", "mesh.yaml")
    (problem,) = caught.value.problems
    assert problem.field.startswith("memberships.0.cluster.")
    assert words in problem.rule
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("form", ["mark", "lines", "json", "wrapped", "name"])
def test_however_it_is_written(tmp_path: Path, form: str) -> None:
    wrapped = content()
    wrapped["clusters"][0]["cluster"]["certificate-authority-data"] = f"{CA[:16]}\r\n{CA[16:]}\n"
    text = yaml.safe_dump(content())
    written: dict[str, str | bytes] = {
        "mark": text.encode("utf-8-sig"),
        "lines": text.replace("\n", "\r\n"),
        "json": json.dumps(content()),
        "wrapped": yaml.safe_dump(wrapped),
        "name": text,
    }
    folder = tmp_path / ("für 日本" if form == "name" else "plain")
    folder.mkdir()
    found = kubeconfig.read(reference(write(folder, written[form])), "x", "mesh.yaml")
    assert (found.context, found.certificate_authority) == ("provider", base64.b64decode(CA).decode())


def test_a_path_that_none_can_be_is_told() -> None:
    with pytest.raises(InvalidInputError, match="a path with an invalid character"):
        kubeconfig.read(reference("a\0b"), "x", "mesh.yaml")


def test_contexts_that_are_no_list_are_none(tmp_path: Path) -> None:
    assert kubeconfig.contexts(write(tmp_path, content(contexts=5))) == []
    assert kubeconfig.contexts(write(tmp_path, content())) == ["provider", "user", "broken"]


def test_of_several_files_the_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"^{tmp_path / 'gone'} cannot be used, --kubeconfig: cannot be read"):
        kubeconfig.contexts(str(tmp_path / "gone"))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="No such file"):
        kubeconfig.read(reference(str(tmp_path / "gone")), "memberships.0.cluster", "mesh.yaml")


@pytest.mark.parametrize("written", ["$KUBECONFIG", "${KUBECONFIG}", "$KUBECONFIG/config"])
@pytest.mark.parametrize("value", [None, ""])
def test_variable_that_is_not_set(written: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBECONFIG", value)
    with pytest.raises(InvalidInputError, match="environment variable KUBECONFIG is not set") as caught:
        kubeconfig.read(reference(written), "memberships.0.cluster", "mesh.yaml")
    assert caught.value.problems[0].field == "memberships.0.cluster.kubeconfig"
    assert "Set it to the path" in caught.value.problems[0].fix


def test_variable_that_lists_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, content())
    monkeypatch.setenv("KUBECONFIG", path)
    assert kubeconfig.read(reference("$KUBECONFIG"), "x", "mesh.yaml").context == "provider"
    other = tmp_path / "other"
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'gone'}:{path}:{other}:")
    assert kubeconfig.read(reference("$KUBECONFIG"), "x", "mesh.yaml").context == "provider", (
        "as kubectl, without those not there"
    )
    with pytest.raises(InvalidInputError, match="cannot be read"):
        kubeconfig.read(reference(f"{path}:{other}"), "x", "mesh.yaml")
    other.write_text("")
    with pytest.raises(InvalidInputError, match="KUBECONFIG lists several files, but only one is allowed") as caught:
        kubeconfig.read(reference("$KUBECONFIG"), "memberships.0.cluster", "mesh.yaml")
    assert "kubectl config view --raw --flatten" in caught.value.problems[0].fix
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    with pytest.raises(InvalidInputError, match=f"none of these files exists: {tmp_path}/a, {tmp_path}/b. Correct"):
        kubeconfig.read(reference("$KUBECONFIG"), "x", "mesh.yaml")


def clusters(control_plane: str, data_plane: str, **kubeconfigs: Any) -> None:
    """The clusters of a mesh document, which must be two."""
    given = {"controlPlane.cluster": {"kubeconfig": control_plane, "context": "provider"}}
    mesh = read_document(Mesh, document({**given, "memberships.0.cluster": {"kubeconfig": data_plane, **kubeconfigs}}))
    user = data_plane_cluster(mesh.memberships[0].cluster, "memberships[0].cluster", "mesh.yaml")
    user.distinct_from(control_plane_cluster(mesh.control_plane.cluster, "controlPlane.cluster", "mesh.yaml"))


def test_the_same_context_twice(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    with pytest.raises(InvalidInputError, match="same API server"):
        clusters(path, path, context="provider")


def test_one_cluster_under_two_addresses(tmp_path: Path) -> None:
    same = content()
    same["clusters"][1]["cluster"]["certificate-authority-data"] = CA
    path = write(tmp_path, same)
    with pytest.raises(InvalidInputError, match="same certificate authority"):
        clusters(path, path, context="user")


def test_two_clusters_of_one_company_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, content())
    found = [kubeconfig.read(reference(path, context=name), "x", "mesh.yaml") for name in ("provider", "user")]
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: config.context)
    refuse(*found)
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: "uid")
    with pytest.raises(InvalidInputError, match="same kube-system"):
        refuse(*found)


def refuse(one: kubeconfig.Kubeconfig, other: kubeconfig.Kubeconfig) -> None:
    facts = distinct.ClusterFacts.of(other), distinct.ClusterFacts.of(one)
    distinct.refuse_same_cluster(*facts, ("data plane", "control plane"), "mesh.yaml")


def company(tmp_path: Path, **identities: str) -> list[kubeconfig.Kubeconfig]:
    """Two addresses under one authority, neither of which answers."""
    same = content()
    same["clusters"][1]["cluster"]["certificate-authority-data"] = CA
    path = write(tmp_path, same)
    return [
        kubeconfig.read(
            reference(path, context=name, **({"identity": identities[name]} if name in identities else {})),
            "x",
            "mesh.yaml",
        )
        for name in ("provider", "user")
    ]


def test_identities_tell_clusters_of_one_authority_apart(tmp_path: Path) -> None:
    refuse(*company(tmp_path, provider="one", user="two"))
    with pytest.raises(InvalidInputError, match="same certificate authority"):
        refuse(*company(tmp_path, provider="one"))


def test_what_tells_clusters_of_one_authority_apart_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="if they are two clusters, set `identity` of each"):
        refuse(*company(tmp_path))


def test_one_identity_is_one_cluster(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    found = [
        kubeconfig.read(reference(path, context=name, identity="one"), "x", "mesh.yaml")
        for name in ("provider", "user")
    ]
    with pytest.raises(InvalidInputError, match="same identity"):
        refuse(*found)


def test_two_identities_do_not_make_two_of_one_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = company(tmp_path, provider="one", user="two")
    monkeypatch.setattr(distinct, "kube_system_uid", lambda config: "uid")
    with pytest.raises(InvalidInputError, match="same kube-system"):
        refuse(*found)


def test_what_a_cluster_is_in_the_state(tmp_path: Path) -> None:
    path = write(tmp_path, content())
    # A constant, for it is in the state of stacks that exist: were it another, all of their objects would be replaced.
    assert kubeconfig.read(reference(path), "x", "mesh.yaml").identifier == "7dc866f3c7103805"
    assert kubeconfig.read(reference(path, identity="prod-1"), "x", "mesh.yaml").identifier == "prod-1"


def test_a_cluster_that_is_needed_is_named_with_where_it_should_stand(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as refused:
        control_plane_cluster(
            read_document(Mesh, document()).control_plane.cluster, "controlPlane.cluster", "the stack"
        )
    assert str(refused.value).startswith("the stack cannot be used, controlPlane.cluster: is required here.")
    file = write(tmp_path, document())
    with pytest.raises(InvalidInputError) as refused:
        hosted_mesh.read_mesh(file)
    assert str(refused.value).startswith(f"{file} cannot be used, controlPlane.cluster: is required here.")


def test_local_charts(tmp_path: Path) -> None:
    mesh = read_document(Mesh, document({"revisions.0.charts": {"path": str(tmp_path)}}))
    with pytest.raises(InvalidInputError, match=r"has no chart at base/Chart\.yaml"):
        check_charts(mesh)
    for name in ("istiod", "base"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Chart.yaml").touch()
    with pytest.raises(InvalidInputError, match="too old: the istiod chart has no remote profile"):
        check_charts(mesh)
