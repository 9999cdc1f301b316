"""Objects as programs of many sets write them: a chart, a workload, a resource in an account, a team's own cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.corpus.world import Object

from .scene import Scene


def release(scene: Scene, side: str, chart: str, values: Any, **more: Any) -> Object:
    inputs = {"chart": chart, "version": "1.2.3", "namespace": chart, "values": values}
    return scene.made("kubernetes:helm.sh/v3:Release", f"{side}-{chart}", inputs, scene.options(side, **more))


def deployment(
    scene: Scene,
    side: str,
    name: str,
    container: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    labels = {"app": name}
    spec = {"containers": [{"name": name, "image": f"{name}:1.0", **container}]}
    template = {"metadata": {"labels": labels, "annotations": dict(notes or {})}, "spec": spec}
    body = {"spec": {"selector": {"matchLabels": labels}, "template": template}}
    return scene.object(side, "apps/v1:Deployment", name, body, **more)


def cloud(
    scene: Scene,
    kind: str,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any],
    secret: Sequence[str] = (),
) -> Object:
    """A resource in the provider's account."""
    return scene.made(kind, name, inputs, None, answers, secret, owner="cp")


def in_account(
    team: str,
    scene: Scene,
    kind: str,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any] | None = None,
    secret: Sequence[str] = (),
    *,
    owner: str = "dp",
    **login: Any,
) -> Object:
    """A resource in an account of a team's, by a provider that has the team's name and logs in as it."""
    package = kind.partition(":")[0]
    opts = scene.package(package, f"{team}-{package}", owner, **login)
    return scene.made(kind, name, inputs, opts, answers, secret)


def at_home(scene: Scene, team: str, domain: str, mesh: str, data: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
    """A team's own cluster: Secrets with their namespaces, a console with a generated login, and istiod."""
    for name, (namespace, entries) in data.items():
        scene.secret("cp", f"{team}-{name}", entries, namespace=namespace)
    admin = scene.password("cp", f"{team}-console").output("result")
    login = {"username": "admin", "password": admin, "url": f"https://console.{domain}"}
    scene.secret("cp", f"{team}-console", login, namespace="console")
    release(scene, "cp", "istiod", {"global": {"meshID": mesh, "externalIstiod": True}, "console": {"adminPassword": admin}})  # fmt: skip


def ref(name: str, key: str) -> dict[str, str]:
    """A key of a Secret, by name."""
    return {"name": name, "key": key}
