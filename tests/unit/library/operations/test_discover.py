"""From objects of clusters to meshes: pure, so each rule has a case. Whole charts are an engine test's."""

from __future__ import annotations

import dataclasses
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.clusters.api_server import (
    METADATA,
    ApiServer,
    OutdatedError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
)
from pulumi_hosted_mesh.clusters.kubeconfig_files import of_environment
from pulumi_hosted_mesh.operations.discovery import show, watching
from pulumi_hosted_mesh.operations.discovery.cluster_observation import NO_NAMESPACE, READ, ClusterObservation, observe
from pulumi_hosted_mesh.operations.discovery.clusters import choose, look
from pulumi_hosted_mesh.operations.discovery.facts import Discovery
from pulumi_hosted_mesh.operations.discovery.managers import manager_of
from pulumi_hosted_mesh.operations.discovery.mesh_identity import image_version
from pulumi_hosted_mesh.operations.discovery.meshes import discover
from pulumi_hosted_mesh.operations.discovery.selectors import selects
from pulumi_hosted_mesh.operations.discovery.watching import follow
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.problems import InvalidInputError
from typer.testing import CliRunner

Manifest = dict[str, Any]


def thing(name: str, namespace: str = "", labels: Any = None, annotations: Any = None, **rest: Any) -> Manifest:
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata | ({"namespace": namespace} if namespace else {}), **rest}


def istiod(revision: str = "default", namespace: str = "istio-system", **env: str) -> Manifest:
    container = {
        "image": "registry.example/pilot:1.29.2-distroless",
        "args": ["discovery"],
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    spec = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    labels = {"app": "istiod", "istio.io/rev": revision}
    return thing(f"istiod-{revision}", namespace, labels, spec=spec, status={"readyReplicas": 1})


def hook(revision: str, client: Manifest, *, tag: str = "", namespace: str = "istio-system") -> Manifest:
    wants = {"key": "istio.io/rev", "operator": "In", "values": [tag or revision]}
    refused = {"key": "sidecar.istio.io/inject", "operator": "NotIn", "values": ["false"]}
    asked = {"key": "istio.io/rev", "operator": "In", "values": [tag or revision]}
    webhooks = [
        {
            "name": "rev.namespace.sidecar-injector.istio.io",
            "clientConfig": client,
            "namespaceSelector": {"matchExpressions": [wants]},
            "objectSelector": {"matchExpressions": [refused]},
        },
        {
            "name": "rev.object.sidecar-injector.istio.io",
            "clientConfig": client,
            "namespaceSelector": {"matchExpressions": [{"key": "istio.io/rev", "operator": "DoesNotExist"}]},
            "objectSelector": {"matchExpressions": [refused, asked]},
        },
    ]
    labels = {"istio.io/rev": revision} | ({"istio.io/tag": tag} if tag else {})
    return thing(f"injector-{tag or revision}-{namespace}", labels=labels, webhooks=webhooks)


def service(name: str = "istiod") -> Manifest:
    return {"service": {"name": name, "namespace": "istio-system"}}


def config(mesh_id: str, domain: str, name: str = "istio") -> Manifest:
    mesh = json.dumps({"trustDomain": domain, "defaultConfig": {"meshId": mesh_id}})
    return thing(name, "istio-system", data={"mesh": mesh})


def found(*clusters: ClusterObservation) -> Discovery:
    return discover(clusters)


def cluster(name: str = "east", **objects: list[Manifest]) -> ClusterObservation:
    return ClusterObservation(name, objects)


def test_one_mesh_of_two_revisions_a_tag_and_members() -> None:
    only = found(
        cluster(
            Deployment=[istiod("old"), istiod("new")],
            MutatingWebhookConfiguration=[
                hook("old", service()),
                hook("new", service()),
                hook("new", service(), tag="prod"),
            ],
            ConfigMap=[config("shops", "s.example", "istio-old"), config("shops", "s.example", "istio-new")],
            Namespace=[
                thing("a", labels={"istio.io/rev": "old"}),
                thing("b", labels={"istio.io/rev": "prod"}),
                thing("c"),
            ],
            Pod=[thing("p1", "b"), thing("p2", "b")],
        )
    )
    (mesh,) = only.meshes
    assert (mesh.name, mesh.trust_domain) == ("shops", "s.example")
    new, old = mesh.installations
    assert (old.revision, [one.namespace for one in old.members]) == ("old", ["a"])
    assert (new.tags, [(one.namespace, one.proxies) for one in new.members]) == (("prod",), [("b", 2)])
    assert (new.version, new.ready, new.role) == ("1.29.2", "1/2", "istiod")


def aged(one: Manifest, created: str) -> Manifest:
    one["metadata"]["creationTimestamp"] = created
    return one


def with_sidecar(name: str, namespace: str, revision: str, created: str = "2026-03-01T00:00:00Z") -> Manifest:
    """The metadata of a Pod, as injection leaves it."""
    return aged(thing(name, namespace, annotations={"istio.io/rev": revision}), created)


EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"


@pytest.mark.parametrize(
    ("pods", "since", "counted", "lines"),
    [
        ([("p1", "default"), ("p2", "default")], EARLIER, 2, []),
        (
            [("p1", "default"), ("p2", "gone"), ("p3", "gone")],
            EARLIER,
            1,
            ["proxies of a removed mesh or revision, of revision gone, which has no webhooks: a (2)"],
        ),
        (
            [("p1", "default")],
            LATER,
            0,
            ["proxies of a removed mesh or revision, of revision default, and older than the mesh with it: a (1)"],
        ),
        ([("p1", "default")], "", 1, []),
    ],
    ids=["own", "revision", "age", "no age"],
)
def test_sidecars_of_a_removed_mesh_are_no_other_meshs(
    pods: list[tuple[str, str]], since: str, counted: int, lines: list[str]
) -> None:
    """A namespace gets another mesh's label, and its old Pods stay."""
    url = {"url": "https://istiod.example.com:15017/inject/cluster/c/net/n"}
    injector = hook("default", url)
    injector["metadata"]["labels"]["hosted-mesh.io/mesh"] = "other"
    seen = cluster(
        MutatingWebhookConfiguration=[injector],
        Namespace=[thing("a", labels={"istio.io/rev": "default"}), aged(thing("mesh-other"), since)],
        Pod=[with_sidecar(name, "a", revision) for name, revision in pods],
    )
    told = found(seen)
    assert [(one.namespace, one.proxies) for one in told.meshes[0].installations[0].members] == [("a", counted)]
    assert told.left_behind == ({"east": tuple(lines)} if lines else {})
    assert json.loads(show.as_json(told))["left_behind"] == ({"east": lines} if lines else {})
    shown = [f"east: {one}. {show.NAMED}" for one in lines]
    assert show.table(told).splitlines()[2:] == shown
    # Who may not list webhooks is not misled by their absence.
    blind = dataclasses.replace(seen, objects={"Pod": seen.of("Pod")}, unreadable=("MutatingWebhookConfiguration",))
    assert found(blind).left_behind == {}


def test_sidecars_stay_behind_where_the_last_mesh_was_removed() -> None:
    told = found(cluster(Pod=[with_sidecar("p", "a", "default"), with_sidecar("q", "b", "default")]))
    assert (told.meshes, told.left_behind) == (
        [],
        {"east": ("proxies of a removed mesh or revision, of revision default, which has no webhooks: a (1), b (1)",)},
    )


def test_a_proxy_counts_for_the_revision_that_injected_it() -> None:
    """Not for the one that its namespace names by now."""
    (mesh,) = found(
        cluster(
            Deployment=[istiod("old"), istiod("new")],
            MutatingWebhookConfiguration=[hook("old", service()), hook("new", service())],
            ConfigMap=[config("shops", "s.example", "istio-old"), config("shops", "s.example", "istio-new")],
            Namespace=[thing("a", labels={"istio.io/rev": "new"})],
            Pod=[with_sidecar("p", "a", "old"), with_sidecar("q", "a", "new")],
        )
    ).meshes
    assert {one.revision: [member.proxies for member in one.members] for one in mesh.installations} == {
        "new": [1],
        "old": [],
    }


def test_a_mesh_of_two_clusters_is_one_by_its_id_and_two_without_an_id_are_two() -> None:
    together = found(
        cluster("east", Deployment=[istiod()], ConfigMap=[config("shops", "s.example")]),
        cluster("west", Deployment=[istiod()], ConfigMap=[config("shops", "s.example")]),
    )
    assert [(mesh.name, [one.cluster for one in mesh.installations]) for mesh in together.meshes] == [
        ("shops", ["east", "west"])
    ]
    apart = found(cluster("east", Deployment=[istiod()]), cluster("west", Deployment=[istiod()]))
    assert [mesh.name for mesh in apart.meshes] == ["east/istio-system", "west/istio-system"]


def test_a_cluster_under_two_contexts_is_read_as_one() -> None:
    kube_system = thing("kube-system")
    kube_system["metadata"]["uid"] = "the-uid"
    twice = [cluster(name, Deployment=[istiod()], Namespace=[kube_system]) for name in ("a", "b")]
    (mesh,) = found(*twice).meshes
    assert [one.cluster for one in mesh.installations] == ["a"]


def test_webhooks_by_url_are_a_data_plane_of_an_istiod_elsewhere() -> None:
    url = {"url": "https://istiod.example.com:15017/inject/cluster/c-1/net/n-1"}
    (mesh,) = found(cluster(MutatingWebhookConfiguration=[hook("default", url)])).meshes
    (only,) = mesh.installations
    assert (only.role, only.istiod, only.cluster_id, only.network) == (
        "data-plane",
        "istiod.example.com",
        "c-1",
        "n-1",
    )


def test_webhooks_of_others_are_no_mesh() -> None:
    other = thing("cert-manager", webhooks=[{"name": "webhook.cert-manager.io", "clientConfig": service()}])
    assert found(cluster(MutatingWebhookConfiguration=[other])).meshes == []


def test_gateways_with_what_their_services_say() -> None:
    template = {
        "metadata": {
            "labels": {"istio": "edge", "istio.io/rev": "default", "topology.istio.io/network": "n-1"},
            "annotations": {"inject.istio.io/templates": "gateway"},
        }
    }
    balancer = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}, {"hostname": "lb.example.com"}]}}
    edge = thing("edge", "istio-system", spec={"template": template})
    svc = thing("x", "istio-system", spec={"selector": {"istio": "edge"}, "ports": [{"port": 15443}]}, status=balancer)
    other = thing("y", "istio-system", spec={"selector": {"istio": "other"}, "ports": [{"port": 80}]})
    (mesh,) = found(cluster(Deployment=[istiod(), edge], Service=[svc, other])).meshes
    (gateway,) = mesh.installations[0].gateways
    assert (gateway.name, gateway.ports, gateway.network) == ("edge", (15443,), "n-1")
    assert gateway.addresses == ("192.0.2.7", "lb.example.com")


def test_peers_are_whom_it_imports_from_and_whose_credential_it_has() -> None:
    labels = {"hosted-mesh.io/mesh": "shops", "hosted-mesh.io/federation": "f"}
    entry = thing("x", "mesh-shops", labels, {"hosted-mesh.io/peers": "north,west"})
    other = thing("x", "mesh-other", labels | {"hosted-mesh.io/mesh": "other"}, {"hosted-mesh.io/peers": "south"})
    secret = thing("s", "istio-system", annotations={"networking.istio.io/cluster": "c-9"})
    (mesh,) = found(
        cluster(
            Deployment=[istiod()],
            ConfigMap=[config("shops", "s.example")],
            ServiceEntry=[entry, other],
            Secret=[secret],
        )
    ).meshes
    assert mesh.peers == ("cluster c-9", "north", "west")


def test_configuration_that_somebody_broke_does_not_end_it() -> None:
    broken = thing("istio", "istio-system", data={"mesh": "a: [unclosed"})
    values = thing("values", "istio-system", data={"merged-values": '"just text"'})
    (mesh,) = found(cluster(Deployment=[istiod()], ConfigMap=[broken, values])).meshes
    assert mesh.name == "east/istio-system"


@pytest.mark.parametrize("text", ["a: 2024-13-01", "[" * 5000, "a: [unclosed"], ids=["date", "deep", "unclosed"])
def test_configuration_that_is_no_yaml_says_nothing(text: str) -> None:
    broken = [
        thing(name, "istio-system", data={key: text}) for name, key in (("istio", "mesh"), ("values", "merged-values"))
    ]
    (mesh,) = found(cluster(Deployment=[istiod()], ConfigMap=broken)).meshes
    assert mesh.name == "east/istio-system"


def test_a_cluster_whose_objects_cannot_be_read_is_named_and_the_others_are_shown() -> None:
    strange = hook("default", {"url": "https://a\u2100b.example.com"})  # Python takes no such host
    both = found(cluster("west", MutatingWebhookConfiguration=[strange]), cluster(Deployment=[istiod()]))
    assert [mesh.name for mesh in both.meshes] == ["east/istio-system"]
    assert both.unreachable == {"west": "its objects have an invalid form (ValueError)"}


@pytest.mark.parametrize(
    ("labels", "annotations", "owners", "manager"),
    [
        ({"hosted-mesh.io/managed-by": "hosted-mesh", "app.kubernetes.io/managed-by": "Helm"}, {}, [], "hosted-mesh"),
        ({"app.kubernetes.io/managed-by": "Helm"}, {"meta.helm.sh/release-name": "i"}, [], "helm"),
        ({"app.kubernetes.io/managed-by": "Helm"}, {}, [], "helm template"),
        (
            {"app.kubernetes.io/managed-by": "Helm"},
            {"meta.helm.sh/release-name": "i"},
            [{"apiVersion": "sailoperator.io/v1", "kind": "IstioRevision"}],
            "sail-operator",
        ),
        ({"operator.istio.io/managed": "Reconcile", "app.kubernetes.io/managed-by": "Helm"}, {}, [], "istioctl"),
        ({"maistra.io/owner": "smcp"}, {}, [], "maistra"),
        (
            {"argocd.argoproj.io/instance": "istiod", "app.kubernetes.io/managed-by": "Helm"},
            {},
            [],
            "argocd",
        ),
        (
            {"helm.toolkit.fluxcd.io/name": "istiod", "app.kubernetes.io/managed-by": "Helm"},
            {"meta.helm.sh/release-name": "i"},
            [],
            "flux",
        ),
        ({}, {}, [], "unknown"),
    ],
)
def test_who_manages_it(labels: Any, annotations: Any, owners: Any, manager: str) -> None:
    one = thing("istiod", "istio-system", labels, annotations)
    one["metadata"]["ownerReferences"] = owners
    assert manager_of(one) == manager


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("pilot:1.31.1", "1.31.1"),
        ("host:5000/istio/pilot:1.31.1-debug", "1.31.1"),
        ("host:5000/istio/pilot@sha256:abc", ""),
        ("pilot:latest", ""),
    ],
)
def test_a_version_is_what_the_tag_says(image: str, version: str) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["x"]}]}, False),
    ],
)
def test_selectors_select_as_kubernetes_does(selector: Manifest, fits: bool) -> None:
    assert selects(selector, {"a": "1"}) is fits


def test_what_could_not_be_read_is_said() -> None:
    told = show.table(
        found(
            ClusterObservation("gone", unreachable="the API server does not answer"),
            ClusterObservation("shy", {}, ("Secret",)),
        )
    )
    assert told.splitlines() == [
        "No mesh was found",
        "gone: not read, the API server does not answer",
        "shy: this credential may not list Secret, so their facts are missing",
    ]


def test_what_a_terminal_would_obey_is_shown_as_text() -> None:
    """A cluster's own users write names and domains into it, who need not be those of the others."""
    strange = found(cluster(Deployment=[istiod()], ConfigMap=[config("a\x1b]0;b\x07", "für\u202ec\nd")]))
    told = show.table(strange)
    assert r"a\x1b]0;b\x07 (für\u202ec\nd)" in told
    assert len(told.splitlines()) == 2
    assert show.table(found(ClusterObservation("x", unreachable="\x1b[2J"))).splitlines()[1] == r"x: not read, \x1b[2J"
    assert str(Verdict("a", "b", "\x1b[2J", "do")) == "FAILED  a: b: \\x1b[2J\n        do"


class Watched(ApiServer):
    """An API server in memory: lists, and changes that a test adds while discovery watches."""

    def __init__(self, forbidden: tuple[str, ...] = (), unwatched: tuple[str, ...] = ()) -> None:
        self.objects: dict[str, list[Manifest]] = {path: [] for path, _ in READ.values()}
        self.events: dict[str, queue.Queue[Any]] = {path: queue.Queue() for path in self.objects}
        self.forbidden = [READ[kind][0] for kind in forbidden]
        self.unwatched = [READ[kind][0] for kind in unwatched]
        self.lists: list[str] = []
        self.is_down = False

    def snapshot(self, path: str, *, metadata_only: bool = False) -> tuple[list[Manifest], str | None]:
        self.lists.append(path)
        if self.is_down:
            raise UnreachableError("it does not answer")
        if path in self.forbidden:
            raise RefusedError("answered 403")
        return list(self.objects[path]), "1"

    def watch(self, path: str, version: str, seconds: float, *, metadata_only: bool = False) -> Any:
        if path in self.unwatched:
            raise RefusedError("answered 403")
        while True:
            event = self.events[path].get(timeout=60)
            if isinstance(event, Exception):
                raise event
            if event is None:
                return
            yield event

    def tell(self, kind: str, event: Any) -> None:
        self.events[READ[kind][0]].put(event)

    def listed(self, kind: str) -> int:
        return self.lists.count(READ[kind][0])


def seen(api: ApiServer, every: float = 60) -> Iterator[Discovery]:
    for observed in follow([("east", lambda: api)], every, settle=0.01):
        yield discover(observed)


def names(found: Discovery) -> list[str]:
    return [one.name for one in found.meshes]


def test_a_change_is_seen_without_another_list() -> None:
    api = Watched()
    api.objects[READ["Namespace"][0]] = [thing("kube-system")]
    found = seen(api)
    assert names(next(found)) == []
    made = istiod()
    api.tell("Deployment", ("ADDED", made))
    assert names(next(found)) == ["east/istio-system"]
    api.tell("Deployment", ("BOOKMARK", {"metadata": {"resourceVersion": "7"}}))
    api.tell("Deployment", None)  # the API server ends each watch after some time
    api.tell("Deployment", ("DELETED", made))
    assert names(next(found)) == []
    assert {api.lists.count(path) for path, _ in READ.values()} == {1}


def test_changes_that_the_server_no_longer_has_are_listed_again() -> None:
    api = Watched()
    api.objects[READ["Namespace"][0]] = [thing("kube-system")]
    found = seen(api)
    assert names(next(found)) == []
    api.objects[READ["Deployment"][0]] = [istiod()]
    api.tell("Deployment", OutdatedError("too old"))
    assert names(next(found)) == ["east/istio-system"]
    assert (api.listed("Deployment"), api.listed("Service")) == (2, 1)


def test_a_list_that_may_not_be_watched_is_read_again() -> None:
    api = Watched(unwatched=("Deployment",))
    api.objects[READ["Namespace"][0]] = [thing("kube-system")]
    found = seen(api, every=0.05)
    assert names(next(found)) == []
    api.objects[READ["Deployment"][0]] = [istiod()]
    assert names(next(found)) == ["east/istio-system"]
    assert api.listed("Service") == 1


def test_a_connection_that_breaks_costs_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SHORTEST_SECONDS", -1)  # each counts as one that has lasted
    api = Watched()
    api.objects[READ["Namespace"][0]] = [thing("kube-system")]
    found = seen(api)
    assert names(next(found)) == []
    api.objects[READ["Deployment"][0]] = [istiod()]
    api.tell("Deployment", UnreachableError("the connection ended"))
    after = next(found)
    assert (names(after), after.unreachable) == (["east/istio-system"], {})


def test_a_cluster_that_goes_is_named_and_comes_back() -> None:
    api = Watched(forbidden=("Secret",))
    api.objects[READ["Namespace"][0]] = [thing("kube-system")]
    api.objects[READ["Deployment"][0]] = [istiod()]
    found = seen(api, every=0.05)
    first = next(found)
    assert (names(first), first.unreadable) == (["east/istio-system"], {"east": ("Secret",)})
    api.is_down = True
    api.tell("Service", UnreachableError("the connection ended"))
    assert next(found).unreachable == {"east": "it does not answer"}
    api.is_down = False
    # Each kind has a watch of its own, which may report the end once more.
    back = next(one for one in found if not one.unreachable)
    assert names(back) == ["east/istio-system"]


class Paged(ApiServer):
    """An API server that answers one object at a time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def _call(self, method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        self.asked.append((path, headers))
        last = "continue=a%2Fb" in path
        return {
            "items": [{"metadata": {"name": "second" if last else "first"}}],
            "metadata": {} if last else {"continue": "a/b"},
        }


class Refusing(ApiServer):
    """An API server that answers the lists of some kinds, and refuses all others by an error."""

    def __init__(self, error: UnreachableError, **lists: list[Manifest]) -> None:
        self.error, self.lists = error, {READ[kind][0]: found for kind, found in lists.items()}

    def list(self, path: str, *, metadata_only: bool = False) -> Any:
        if path not in self.lists:
            raise self.error
        return iter(self.lists[path])


def test_a_credential_that_is_not_known_is_not_a_cluster_without_a_mesh() -> None:
    spaces = [thing("kube-system")]
    some = observe("east", Refusing(RefusedError("answered 403"), Namespace=spaces))
    assert (some.unreachable, "Pod" in some.unreadable) == ("", True)
    # One that may list nothing, one that has ended, and a server without a namespace, which is no API server.
    assert observe("east", Refusing(RefusedError("answered 403"))).unreachable == "answered 403"
    ended = observe("east", Refusing(UnauthorizedError("answered 401"), Namespace=spaces))
    assert (ended.unreachable, ended.unreadable) == ("answered 401", ())
    assert observe("east", Refusing(RefusedError("answered 403"), Namespace=[])).unreachable == NO_NAMESPACE


def test_a_list_is_read_to_its_end() -> None:
    api = Paged()
    found = api.list("/api/v1/secrets?labelSelector=x", metadata_only=True)
    assert [one["metadata"]["name"] for one in found] == ["first", "second"]
    first, second = api.asked
    assert first == ("/api/v1/secrets?labelSelector=x&limit=500", {"Accept": METADATA})
    assert second[0].endswith("&limit=500&continue=a%2Fb")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("{0}/there", ["{0}/there"]),
        ("{0}/gone:{0}/there::{0}/there:{0}/other", ["{0}/there", "{0}/other"]),
        ("{0}/there/below:{0}/there", ["{0}/there/below", "{0}/there"]),  # wrong, and not only missing
        ("{0}/gone", ["{0}/gone"]),
        ("", ["~/.kube/config"]),
        (None, ["~/.kube/config"]),
    ],
    ids=["one", "list", "wrong", "gone", "empty", "unset"],
)
def test_files_of_a_list_that_do_not_exist_are_passed_over(
    value: str | None, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("there", "other"):
        (tmp_path / name).touch()
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if value is not None:
        monkeypatch.setenv("KUBECONFIG", value.format(tmp_path))
    assert of_environment() == [one.format(tmp_path) for one in found]


def test_a_list_of_which_no_file_exists_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    done = CliRunner().invoke(app, ["discover"])
    rule = f"none of these files exists: {tmp_path}/a, {tmp_path}/b. Correct the paths, or give --kubeconfig."
    assert (done.exit_code, done.output) == (1, f"the environment cannot be used, $KUBECONFIG: {rule}\n")


def test_a_file_without_a_context_is_named(tmp_path: Path) -> None:
    empty, other = tmp_path / "empty", tmp_path / "other"
    empty.touch()
    other.write_text("- a")
    with pytest.raises(InvalidInputError, match=f"^{empty}, {other} cannot be used, --kubeconfig: has no context"):
        choose([str(empty), str(other)], [])


def test_a_context_that_cannot_be_used_is_named_and_two_of_one_name_are_told_apart(tmp_path: Path) -> None:
    cluster = {"name": "c", "cluster": {"server": "http://192.0.2.1"}}
    context = {"name": "east", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": "t0ken"}}
    files = [tmp_path / "one", tmp_path / "two"]
    for file in files:
        file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "users": [user]}))
    chosen = choose([str(file) for file in files], ["east"])
    names = [f"east of {file}" for file in files]
    assert [name for name, _, _ in chosen] == names
    told = look(chosen).unreachable
    assert list(told) == names
    assert all("a server that is not https://HOST" in reason and "t0ken" not in reason for reason in told.values())


def test_meshes_of_one_name_are_apart_by_tenant() -> None:
    """A data plane is of the tenant with the host that its webhooks call."""

    def centre(tenant: str) -> Manifest:
        made = istiod(
            namespace=f"tenant-{tenant}--store", EXTERNAL_ISTIOD="true", ISTIOD_CUSTOM_HOST=f"a.{tenant},b.{tenant}"
        )
        made["metadata"]["labels"] |= {"hosted-mesh.io/mesh": "store", "hosted-mesh.io/tenant": tenant}
        return made

    def plane(host: str) -> Manifest:
        made = hook("default", {"url": f"https://{host}:443/inject"})
        made["metadata"]["labels"] |= {"hosted-mesh.io/mesh": "store"}
        return made

    observed = [
        ClusterObservation("provider", {"Deployment": [centre("shop"), centre("bank")]}),
        ClusterObservation("one", {"MutatingWebhookConfiguration": [plane("b.bank")]}),
        ClusterObservation("two", {"MutatingWebhookConfiguration": [plane("a.shop")]}),
        ClusterObservation("three", {"MutatingWebhookConfiguration": [plane("a.elsewhere")]}),
    ]
    found = {one.name: [part.cluster for part in one.installations] for one in discover(observed).meshes}
    assert found == {"bank--store": ["provider", "one"], "shop--store": ["provider", "two"], "store": ["three"]}
