"""Stacks of one mesh, each run under an account of its own in one cluster, or under none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import yaml
from lightkube.codecs import from_dict
from lightkube.models.authentication_v1 import TokenRequestSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ServiceAccount, ServiceAccountToken

from sandbox.clusters import Cluster, Sandbox
from sandbox.proof.deployed import client_of
from tests.engine.library.engine import Project, Stack

# Where a stack's configuration names its runner's cluster, and which that is. `trust` reads the same document as
# `control-plane`, but not the kubeconfig that it names; `root` names none.
PLACES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "cluster": (("cluster",), "data-plane"),
    "trust": (("mesh", "controlPlane"), None),
    "access": (("dataPlane",), "data-plane"),
    "control-plane": (("mesh", "controlPlane"), "control-plane"),
    "data-plane": (("dataPlane",), "data-plane"),
    "dns": (("dns",), "control-plane"),
}


def run_by_accounts(
    sandbox: Sandbox, project: Project, configs: Mapping[str, dict[str, Any]], folder: Path
) -> dict[str, Stack]:
    """The stacks in their order, each in an environment that names no other kubeconfig. folder: of the kubeconfigs."""
    made = {}
    for name, config in configs.items():
        environment = {**project.environment, "KUBECONFIG": "/dev/null"}
        if name in PLACES:
            path, role = PLACES[name]
            kubeconfig = folder / f"{name}.kubeconfig"
            if role and not kubeconfig.exists():
                runner(sandbox.clusters[role], name, kubeconfig)
            part = reduce(getitem, path, config)
            part["cluster"] = {"kubeconfig": str(kubeconfig), "context": role or "control-plane"}
        made[name] = replace(project, environment=environment).stack(name, {"stack": name, **config})
    return made


def runner(cluster: Cluster, stack: str, path: Path) -> None:
    """Writes the kubeconfig of a new account in one cluster, for whoever runs this stack."""
    client, name = client_of(cluster), f"runs-{stack}"
    client.create(ServiceAccount(metadata=ObjectMeta(name=name, namespace="kube-system")))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}],
    }
    client.create(from_dict(binding))
    asked = ServiceAccountToken(
        metadata=ObjectMeta(namespace="kube-system"), spec=TokenRequestSpec(audiences=[], expirationSeconds=3600)
    )
    answer = client.create(asked, name, namespace="kube-system")
    assert answer.status is not None
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    (entry,) = [one for one in content["clusters"] if one["name"] == cluster.name]
    content |= {
        "clusters": [entry],
        "users": [{"name": name, "user": {"token": answer.status.token}}],
        "contexts": [{"name": cluster.name, "context": {"cluster": cluster.name, "user": name}}],
        "current-context": cluster.name,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))
