"""Charts in a diff: rendered with the real Helm, grouped, without secrets; fetched from allowed repositories alone."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosted_mesh_analysis.diff import fetched
from hosted_mesh_analysis.diff.result import Difference
from hosted_mesh_analysis.diff.saved import as_json, from_json
from hosted_mesh_analysis.runner import charts as rendering
from hosted_mesh_analysis.runner.charts import HELM_VARIABLE, Charts, RemoteChart, UnrenderedError

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.unit.analysis.diff.charts import archive, chart, helm
from tests.unit.analysis.diff.repositories import BEGINNING, project, repository, run, write

SECRET = "correct horse battery"
PROGRAM = """
from pulumi_kubernetes import helm
def add(args):
    if "metadata" not in args.props:
        return None
    props = {**args.props, "metadata": {**args.props["metadata"], "labels": {"mesh": "demo"}}}
    return pulumi.ResourceTransformResult(props, args.opts)
helm.v4.Chart("web", SOURCE, namespace="shop", values={"key": pulumi.Output.secret("KEY")},
              opts=pulumi.ResourceOptions(provider=data_plane, transforms=[add]))
"""
LOCAL = PROGRAM.replace("SOURCE", 'chart="./web"').replace("KEY", SECRET)


def remote(version: str, repository: str) -> str:
    source = f'chart="web", version="{version}", repository_opts={{"repo": "{repository}"}}'
    return PROGRAM.replace("SOURCE", source).replace("KEY", "key-of-shop")


def in_folder(version: str, level: str, resources: str) -> dict[str, str]:
    return {f"web/{name}": text for name, text in chart(version, level, resources).items()}


def text_of(folder: Path, *options: str, **variables: str) -> str:
    done = run(folder, "--base", "main", *options, **{HELM_VARIABLE: helm(), **variables})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_changes_of_a_charts_objects_are_grouped_and_the_rest_is_folded(tmp_path: Path) -> None:
    before = {**project(LOCAL), **in_folder("1.0.0", "info", "pods")}
    folder = repository(tmp_path / "r", before, in_folder("1.1.0", "debug", "secrets"))
    shown = text_of(folder)
    expected = """\
  chart web: images
  ~ Deployment shop/web
      spec.template.spec.containers[web].image: "registry.example.com/web:1.0.0" -> "registry.example.com/web:1.1.0"
  chart web: arguments
  ~ Deployment shop/web
      spec.template.spec.containers[web].args[1]: "--level=info" -> "--level=debug"
  chart web: rights
  ~ ClusterRole web
      rules[0].resources[0]: "pods" -> "secrets"
  chart web: 1 property more of 1 object, folded
"""
    assert expected in shown
    assert "release" not in shown
    assert 'data.release: "1.0.0" -> "1.1.0"' in text_of(folder, "--all")
    comment = text_of(folder, "--markdown")
    assert "<code>dev: rest of charts</code>" in comment
    assert 'data.release: "1.0.0" -> "1.1.0"' in comment.partition("rest of charts")[2]


def test_a_secret_in_a_charts_values_is_masked_in_its_objects(tmp_path: Path) -> None:
    """It is marked, and the same in all runs. `encoded` has it in base64."""
    before = {**project(LOCAL.replace(SECRET, "another secret text")), **in_folder("1.0.0", "info", "pods")}
    folder = repository(tmp_path / "r", before, {"__main__.py": BEGINNING + LOCAL})
    shown = text_of(folder, "--all")
    assert "data.key: [secret] -> [secret]" in shown
    assert "data.encoded: [secret] -> [secret]" in shown
    assert not any(text in shown for text in (SECRET, "another secret", "Y29ycmVjd"))


def test_transforms_run_on_each_object(tmp_path: Path) -> None:
    before = {**project(LOCAL.replace('"demo"', '"old"')), **in_folder("1.0.0", "info", "pods")}
    shown = text_of(repository(tmp_path / "r", before, {"__main__.py": BEGINNING + LOCAL}), "--all")
    assert shown.count('metadata.labels.mesh: "old" -> "demo"') == 3
    assert "(tried)" not in shown


def test_without_helm_or_chart_there_is_a_note(tmp_path: Path) -> None:
    before = {**project(LOCAL), **in_folder("1.0.0", "info", "pods")}
    folder = repository(tmp_path / "r", before, {"__main__.py": BEGINNING + LOCAL.replace("shop", "other")})
    (tmp_path / "helm").write_text("#!/bin/sh\necho v2.17.0\n")
    (tmp_path / "helm").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(str(shutil.which("git")))
    assert "compared (there is no helm on PATH)" in run(folder, "--base", "main", PATH=str(tmp_path / "bin")).stdout
    old = text_of(folder, **{HELM_VARIABLE: str(tmp_path / "helm")})
    assert "was not rendered; its inputs are compared (helm is v2.17; use 3.14 or later, and before 5)" in old
    missing = remote("1.0.0", "https://charts.example.com").replace('chart="web"', 'chart="shop"')
    write(folder, {"__main__.py": BEGINNING + missing})
    assert "there is no shop-1.0.0.tgz; fetch it by `helm pull`, and name its folder by --charts" in text_of(
        folder, "--offline"
    )


def test_archives_in_a_folder_are_used(tmp_path: Path) -> None:
    archive(tmp_path / "archives", "1.0.0", "info", "pods")
    archive(tmp_path / "archives", "1.1.0", "debug", "pods")
    before, after = (remote(version, "https://charts.example.com") for version in ("1.0.0", "1.1.0"))
    folder = repository(tmp_path / "r", project(before), {"__main__.py": BEGINNING + after})
    assert '"--level=info" -> "--level=debug"' in text_of(folder, "--charts", str(tmp_path / "archives"))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A repository of charts on this machine."""
    folder = tmp_path / "repository-of-charts"
    archive(folder, "1.0.0", "info", "pods")
    archive(folder, "1.1.0", "debug", "pods")
    subprocess.run([helm(), "repo", "index", str(folder)], check=True, capture_output=True)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_missing_chart_is_fetched_from_an_allowed_repository_alone(tmp_path: Path, served: str) -> None:
    before, after = (remote(version, served) for version in ("1.0.0", "1.1.0"))
    folder = repository(tmp_path / "r", project(before), {"__main__.py": BEGINNING + after})
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    refused = text_of(folder, **cache)
    assert "its repository is not allowed; add it by --chart-repository" in refused
    assert not (tmp_path / "cache/hosted-mesh/charts").exists()
    allowed = text_of(folder, "--chart-repository", served, **cache)
    assert '"--level=info" -> "--level=debug"' in allowed
    assert "not rendered" not in allowed
    assert '"--level=info" -> "--level=debug"' in text_of(folder, "--offline", **cache)


@pytest.mark.parametrize(
    "one",
    [
        RemoteChart(fetched.ISTIO, "--post-renderer", "1.0.0"),
        RemoteChart(fetched.ISTIO, "../base", "1.0.0"),
        RemoteChart(fetched.ISTIO, "base", "1.0.0 --insecure"),
        RemoteChart(fetched.ISTIO + "/base?token=x", "base", "1.0.0"),
        RemoteChart("https://user:word@charts.example.com", "base", "1.0.0"),
        RemoteChart("https://charts.example.com", "base", "1.0.0"),
    ],
)
def test_no_chart_is_fetched_by_another_name_or_address(
    one: RemoteChart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched, "helm", lambda: pytest.fail("it was started"))
    number, notes = fetched.fetched([one], (), tmp_path / "cache")
    assert (number, len(notes)) == (0, 1)


def test_charts_wanted_are_in_the_file() -> None:
    found = Difference("main", charts_wanted=[RemoteChart("https://charts.example.com", "web", "1.0.0")])
    assert from_json(as_json(found)) == found


def test_a_charts_output_is_read_as_objects_of_lists_too() -> None:
    item = "{kind: ConfigMap, apiVersion: v1, data: {when: 2020-01-01}}"
    text = f"kind: ConfigMapList\napiVersion: v1\nitems: [{item}]\n---\n"
    assert rendering.objects_in(text) == [{"kind": "ConfigMap", "apiVersion": "v1", "data": {"when": "2020-01-01"}}]
    with pytest.raises(UnrenderedError):
        rendering.objects_in("a: [")


def test_a_post_renderer_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "helm", helm)
    with pytest.raises(UnrenderedError, match="post-renderer"):
        Charts().render("web", {"chart": "./web", "postRenderer": {"command": "x"}}, tmp_path)


@pytest.fixture(scope="module")
def tools() -> Tools:
    return toolchain.ensure(["helm", "pilot-discovery-1.30", "pilot-discovery"], progress=Progress())


def test_an_upgrade_of_istio_shows_images_and_definitions(tmp_path: Path, tools: Tools) -> None:
    """By the library's own example, and the charts of Istio 1.30 and 1.31."""
    old = tools["pilot-discovery-1.30"].parent.parent / "charts"
    shutil.copytree(
        CHECKOUT / "examples/two_clusters", tmp_path, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    document = (tmp_path / "mesh.yaml").read_text()
    charts = "charts: {version: 1.31.1}"
    assert document.count(charts) == 1
    first = document.replace(charts, f"charts: {{path: {old}, tag: 1.30.8}}")
    second = document.replace(charts, f"charts: {{path: {tools.charts}, tag: 1.31.1}}")
    shown = text_of(repository(tmp_path, {"mesh.yaml": first}, {"mesh.yaml": second}))
    for line in (
        'spec.template.spec.containers[discovery].image: "registry.istio.io/testing/pilot:1.30.8" -> '
        '"registry.istio.io/testing/pilot:1.31.1"',
        'data.values.global.tag: "1.30.8" -> "1.31.1"',
        "~ CustomResourceDefinition virtualservices.networking.istio.io",
    ):
        assert line in shown
    assert "not rendered" not in shown
