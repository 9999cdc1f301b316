"""What uses a revision, and the refusal that names it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters.api_server import UnreachableError
from pulumi_hosted_mesh.control_plane import in_use
from pulumi_hosted_mesh.control_plane.in_use import Use, refusal, use_of

ISTIOD_URL, OTHER_URL = "https://istiod.demo.example.com:15017/inject", "https://istiod.other.example.com:15017/inject"


class Server:
    """An API server by what is at the beginning of its paths; an exception is raised."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def _at(self, path: str) -> Any:
        found = next((value for begin, value in self.content.items() if path.startswith(begin)), None)
        if isinstance(found, Exception):
            raise found
        return found

    def list(self, path: str) -> Iterator[Any]:
        yield from self._at(path) or []

    def get(self, path: str) -> Any:
        return self._at(path)


def deployment(**annotations: str) -> dict[str, Any]:
    environment = [{"name": "ISTIOD_CUSTOM_HOST", "value": "istiod.demo.example.com,hooks.demo.example.com"}]
    return {
        "metadata": {"name": "istiod", "annotations": annotations},
        "spec": {"template": {"spec": {"containers": [{"name": "discovery", "env": environment}]}}},
    }


def istiod(name: str, phase: str = "Running") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def with_sidecar(namespace: str, revision: str = "default", phase: str = "Running") -> dict[str, Any]:
    metadata = {"namespace": namespace, "annotations": {"istio.io/rev": revision}}
    return {"metadata": metadata, "status": {"phase": phase}}


def hooks(name: str, url: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "webhooks": [{"clientConfig": {"url": url}}]}


SECRETS = "/api/v1/namespaces/mesh-demo/secrets/istio-kubeconfig"
DEPLOYMENTS = "/apis/apps/v1/namespaces/mesh-demo/deployments"
ISTIODS = "/api/v1/namespaces/mesh-demo/pods"
GONE = UnreachableError("it does not answer")


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at a control plane with these Pods, what they print, and a data plane.

    own: more of the control plane's cluster.
    """

    def look(
        pods: Sequence[dict[str, Any]],
        printed: dict[str, Any],
        data_plane: dict[str, Any],
        made: dict[str, Any] | None = None,
        *,
        webhooks: bool = True,
        own: dict[str, Any] | None = None,
    ) -> Use | None:
        def output(api: Any, namespace: str, pod: str, container: str, command: Sequence[str]) -> str:
            assert (namespace, container, command[-1]) == ("mesh-demo", "discovery", "/debug/syncz")
            if isinstance(printed[pod], Exception):
                raise printed[pod]
            return json.dumps(printed[pod])

        monkeypatch.setattr(in_use, "output_in_pod", output)
        monkeypatch.setattr(in_use, "from_content", lambda content, request: content)
        monkeypatch.setattr(in_use, "ApiServer", lambda config: Server(data_plane))
        kubeconfig = {"data": {"config": base64.b64encode(b"one").decode()}}
        content = {SECRETS: kubeconfig, DEPLOYMENTS: [made or deployment()], ISTIODS: pods, **(own or {})}
        return use_of(Server(content), "mesh-demo", "default", webhooks=webhooks)

    return look


def test_connected_proxies_are_counted_over_all_pods(look: Any) -> None:
    answers = {"a": [{"proxy": "cart-1.shop"}, {"proxy": "page.web"}], "b": [{"proxy": "cart-2.shop"}], "c": GONE}
    leaving = {**istiod("d"), "metadata": {"name": "d", "deletionTimestamp": "now"}}
    found = look([istiod("a"), istiod("b"), istiod("c", "Pending"), leaving], answers, {})
    assert found == Use({"shop": 2, "web": 1})
    text = str(refusal("default", "mesh-demo", found))
    assert "in use by 3 proxies in namespaces of the data plane: shop, web. " in text
    assert text.endswith("Or set controlPlane.removeInUse: {default: REASON}")


def test_a_revision_that_nothing_uses_may_go(look: Any) -> None:
    """Not even the data plane is needed for that: it may be gone."""
    found = look([istiod("a")], {"a": None}, {"/apis": GONE, "/api": GONE})
    assert found.unseen
    assert refusal("default", "mesh-demo", found) is None


def test_pods_of_the_data_plane_count_where_no_istiod_runs(look: Any) -> None:
    pods = [with_sidecar("shop"), with_sidecar("old", phase="Succeeded"), with_sidecar("web", "canary")]
    found = look([], {}, {"/api/v1/pods": pods})
    assert found == Use({"shop": 1})
    assert refusal("default", "mesh-demo", look([], {}, {})) is None


def test_an_istiod_without_a_host_serves_its_own_cluster(look: Any) -> None:
    """That of a mesh with `split: false`; a hosted one has a host for its data planes."""
    alone = deployment()
    alone["spec"]["template"]["spec"]["containers"][0]["env"] = []
    pods = {"/api/v1/pods": [with_sidecar("shop"), with_sidecar("web", "canary")]}
    assert look([], {}, {}, alone, own=pods) == Use({"shop": 1})
    assert look([istiod("a")], {"a": [{"proxy": "page.web"}]}, {}, alone, own=pods) == Use({"web": 1})
    assert look([], {}, {}, own=pods) == Use()


@pytest.mark.parametrize("printed", [GONE, {"not": "a list"}, [{"no": "proxy"}]])
def test_an_istiod_that_cannot_be_asked_keeps_its_revision(look: Any, printed: Any) -> None:
    """Unless its data planes answer in its place."""
    found = look([istiod("a")], {"a": printed}, {"/api": GONE})
    assert "as far as can be seen: proxies of Pod mesh-demo/a" in str(refusal("default", "mesh-demo", found))
    assert refusal("default", "mesh-demo", look([istiod("a")], {"a": printed}, {})) is None
    assert look([istiod("a")], {"a": printed}, {"/api/v1/pods": [with_sidecar("shop")]}).proxies == {"shop": 1}


def test_webhooks_that_call_it_count_where_another_stack_has_them(look: Any) -> None:
    data_plane = {
        f"{in_use.ADMISSION}/mutating": [hooks("other", OTHER_URL), hooks("inject", ISTIOD_URL)],
        f"{in_use.ADMISSION}/validating": [hooks("validate", "https://hooks.demo.example.com/validate")],
    }
    found = look([istiod("a")], {"a": []}, data_plane)
    assert found.webhooks == ("inject", "validate")
    assert "by webhooks of a data plane: inject, validate. First run" in str(refusal("default", "mesh-demo", found))
    assert look([istiod("a")], {"a": []}, data_plane, webhooks=False) == Use()


def test_a_reason_on_the_deployment_is_read(look: Any) -> None:
    made = deployment(**{"hosted-mesh.io/remove-in-use": "the cluster is gone"})
    assert look([istiod("a")], {"a": []}, {}, made).override == "the cluster is gone"


def test_many_namespaces_are_cut() -> None:
    found = Use({f"n-{number:02}": 1 for number in range(12)})
    assert "n-09 and 2 more. " in str(refusal("default", "mesh-demo", found))
