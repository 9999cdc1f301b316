"""The objects that run the controller in a cluster: Pods without rights there, and Secrets that they mount by name.

One structure has them. `manifests` fills it with a settings file's values, chart.py with a chart's expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

from pulumi_hosted_mesh import InvalidInputError, Problem

from hosted_mesh_controller.settings import Settings

Manifest = dict[str, Any]
NAME: Final = "hosted-mesh-controller"
_LABELS: Final = {"app.kubernetes.io/name": NAME}
_SETTINGS: Final = PurePosixPath("/etc/hosted-mesh")
_SCRATCH: Final = "/tmp"  # noqa: S108 (an emptyDir of the Pod's own)
USER: Final = 10001
_GRACE: Final = 120  # seconds: an interrupted engine ends its begun steps within 60
LOCAL: Final = ("127.0.0.1", "::1", "localhost")

# The conditions of parts.
SEVERAL, DATABASE_FILE, AUTHORITIES = "several", "databaseFile", "authorities"
SECRETS: Final = {
    "kubeconfigs": "hosted-mesh-kubeconfigs",
    "passphrase": "hosted-mesh-passphrase",
    "tls": "hosted-mesh-tls",
    "database": "hosted-mesh-database",
    "issuers": "hosted-mesh-issuers",
}
"""Volumes, and the default names of their Secrets."""
_CONDITIONS: Final = {"database": DATABASE_FILE, "issuers": AUTHORITIES}
"""The conditions of volumes that not every Pod has."""

ONE_FOLDER: Final = Problem(
    "clusters", "have kubeconfigs in several folders", "Give them one folder: that of one Secret"
)
ONE_TLS_FOLDER: Final = Problem("tls", "has its files in two folders", "Give both one folder: that of one Secret")
ONE_AUTHORITIES_FOLDER: Final = Problem(
    "issuers", "have certificateAuthority files in several folders", "Give them one folder: that of one Secret"
)
ABSOLUTE: Final = Problem("(settings)", "have a relative path", "Write absolute paths")
OWN_FOLDERS: Final = Problem(
    "(settings)",
    "have one folder for two volumes",
    "Give data, kubeconfigs, passphrase, tls, the database's URL and the issuers' authorities a folder each",
)
REPLICAS: Final = Problem(
    "replicas", "of more than 1 require PostgreSQL", "Set databaseFile in the settings, or 1 replica"
)


@dataclass(frozen=True)
class Installation:
    """The choices of an installation: names in its cluster, and the size of its volume.

    image: with the controller, Pulumi, the plug-ins and the program. secrets: names by volume. egress_ports: of API
    servers and, if there is one, of the database and of Pulumi's backend.
    """

    image: str
    namespace: str = NAME
    replicas: int = 1
    secrets: Mapping[str, str] = field(default_factory=dict)
    storage: str = "10Gi"
    storage_class: str | None = None
    egress_ports: tuple[int, ...] = (443, 6443)


class Form(Protocol):
    """The values of the structure, and its conditional parts."""

    image: Any
    namespace: Any
    replicas: Any
    storage: Any
    storage_class: Any
    egress_ports: Any
    """Each of these: one value of an installation."""
    text: Any
    """The settings file."""
    data: Any
    pulumi_home: Any
    port: Any
    """Paths and the port of the settings."""
    folders: Mapping[str, Any]
    """Folder of each Secret's volume."""
    secrets: Mapping[str, Any]
    """Name of each Secret."""

    def items(self, condition: str, items: list[Any]) -> list[Any]:
        """These items of a list if the condition holds, else none."""

    def fields(self, condition: str, fields: Manifest) -> Manifest:
        """These fields of an object if the condition holds, else none."""

    def either(self, condition: str, yes: Any, no: Any) -> Any:
        """One of two scalars."""


class _Filled:
    """The values of a settings file."""

    def __init__(self, settings: Settings, text: str, chosen: Installation) -> None:
        self.text, self.image, self.namespace, self.replicas = text, chosen.image, chosen.namespace, chosen.replicas
        self.storage, self.storage_class = chosen.storage, chosen.storage_class
        self.egress_ports = [_port(one) for one in chosen.egress_ports]
        self.data, self.pulumi_home, self.port = settings.data, f"{settings.data}/pulumi", settings.port
        self.folders: Mapping[str, Any] = _mounts(settings)
        self.secrets: Mapping[str, Any] = {**SECRETS, **chosen.secrets}
        self._holds = {
            SEVERAL: chosen.replicas > 1,
            DATABASE_FILE: settings.database_file is not None,
            AUTHORITIES: bool(_authorities(settings)),
            "storageClass": chosen.storage_class is not None,
        }

    def items(self, condition: str, items: list[Any]) -> list[Any]:
        """As the form's."""
        return items if self._holds[condition] else []

    def fields(self, condition: str, fields: Manifest) -> Manifest:
        """As the form's."""
        return fields if self._holds[condition] else {}

    def either(self, condition: str, yes: Any, no: Any) -> Any:
        """As the form's."""
        return yes if self._holds[condition] else no


def manifests(settings: Settings, text: str, chosen: Installation) -> list[Manifest]:
    """The manifests. text: the settings file. Raises: InvalidInputError for settings that do not fit into a Pod."""
    if problems := list(_problems(settings, chosen)):
        raise InvalidInputError(problems, "the settings")
    restricted = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    namespace = _object("v1", "Namespace", {"name": chosen.namespace, "labels": restricted})
    return [namespace, *objects(_Filled(settings, text, chosen))]


def objects(form: Form) -> list[Manifest]:
    """The objects in the controller's namespace, after the Namespace itself."""
    place = {"name": NAME, "namespace": form.namespace, "labels": _LABELS}
    claim = {
        "accessModes": [form.either(SEVERAL, "ReadWriteMany", "ReadWriteOnce")],
        **form.fields("storageClass", {"storageClassName": form.storage_class}),
        "resources": {"requests": {"storage": form.storage}},
    }
    port = {"name": "https", "port": 443, "targetPort": "https"}
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}}
    return [
        # No role: its credentials are the mounted kubeconfigs.
        _object("v1", "ServiceAccount", place, automountServiceAccountToken=False),
        _object("v1", "ConfigMap", place, data={"settings.yaml": form.text}),
        _object("v1", "PersistentVolumeClaim", place, spec=claim),
        _object("apps/v1", "Deployment", place, spec=_deployment(form)),
        _object("v1", "Service", place, spec={"selector": _LABELS, "ports": [port]}),
        _object("networking.k8s.io/v1", "NetworkPolicy", place, spec=_network_policy(form)),
        *form.items(SEVERAL, [_object("policy/v1", "PodDisruptionBudget", place, spec=budget)]),
    ]


def _problems(settings: Settings, chosen: Installation) -> Iterator[Problem]:
    if settings.host in LOCAL or settings.tls is None:
        yield Problem("host", "is not reachable in a Pod without an address and tls", "Set host to 0.0.0.0, and tls")
    if chosen.replicas > 1 and not settings.has_server:
        yield REPLICAS
    if len(_folders(settings)) > 1:
        yield ONE_FOLDER
    elif not _folders(settings):
        yield Problem("clusters", "are none", "Add a cluster")
    if settings.tls and PurePosixPath(settings.tls.key).parent != PurePosixPath(settings.tls.certificate).parent:
        yield ONE_TLS_FOLDER
    if len(_authorities(settings)) > 1:
        yield ONE_AUTHORITIES_FOLDER
    if settings.dns_credentials:
        fix = "Leave it out, and add a volume to the Deployment"
        yield Problem("dnsCredentials", "has folders in it, which a Secret has not", fix)
    mounts = [settings.data, *_mounts(settings).values()]
    if not all(PurePosixPath(one).is_absolute() for one in mounts):
        yield ABSOLUTE
    elif len(set(mounts)) < len(mounts):
        yield OWN_FOLDERS


def _folders(settings: Settings) -> set[str]:
    """The folders of kubeconfigs, the watchers' among them."""
    files = [entry.kubeconfig for entry in settings.clusters.values()]
    files += [entry.watch.kubeconfig for entry in settings.clusters.values() if entry.watch]
    return {str(PurePosixPath(file).parent) for file in files}


def _authorities(settings: Settings) -> set[str]:
    """The folders of the issuers' authorities."""
    files = [one.certificate_authority for one in settings.issuers.values() if one.certificate_authority]
    return {str(PurePosixPath(file).parent) for file in files}


def _mounts(settings: Settings) -> dict[str, str]:
    """Folders by the volume in them."""
    found = dict(zip(["kubeconfigs"], _folders(settings), strict=False))
    found["passphrase"] = str(PurePosixPath(settings.passphrase_file).parent)
    if settings.tls:
        found["tls"] = str(PurePosixPath(settings.tls.key).parent)
    if settings.database_file:
        found["database"] = str(PurePosixPath(settings.database_file).parent)
    found |= dict(zip(["issuers"], _authorities(settings), strict=False))
    return found


def _object(version: str, kind: str, metadata: Manifest, **more: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def _deployment(form: Form) -> Manifest:
    def volume(name: str) -> Manifest:
        # Group-readable: the volume's owner is root, its group that of the Pod.
        return {"name": name, "secret": {"secretName": form.secrets[name], "defaultMode": 0o440}}

    def mount(name: str) -> Manifest:
        return {"name": name, "mountPath": form.folders[name], "readOnly": True}

    always = [name for name in SECRETS if name not in _CONDITIONS]
    optional = [(name, condition) for name, condition in _CONDITIONS.items() if name in form.folders]
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": NAME}},
        {"name": "settings", "configMap": {"name": NAME}},
        {"name": "scratch", "emptyDir": {}},
        *[volume(name) for name in always],
        *[one for name, condition in optional for one in form.items(condition, [volume(name)])],
    ]
    mounts: list[Manifest] = [
        {"name": "data", "mountPath": form.data},
        {"name": "settings", "mountPath": str(_SETTINGS), "readOnly": True},
        {"name": "scratch", "mountPath": _SCRATCH},
        *[mount(name) for name in always],
        *[one for name, condition in optional for one in form.items(condition, [mount(name)])],
    ]
    probe = {"httpGet": {"path": "/healthz", "port": "https", "scheme": "HTTPS"}, "timeoutSeconds": 5}
    container: Manifest = {
        "name": "controller",
        "image": form.image,
        "command": [NAME, "serve", str(_SETTINGS / "settings.yaml")],
        # Pulumi writes into its home, and finds plug-ins of the image by PATH. Several Pods have no home in common.
        "env": [
            {"name": "HOME", "value": _SCRATCH},
            {"name": "PULUMI_HOME", "value": form.either(SEVERAL, f"{_SCRATCH}/pulumi", form.pulumi_home)},
        ],
        "ports": [{"name": "https", "containerPort": form.port}],
        "startupProbe": {**probe, "periodSeconds": 2, "failureThreshold": 60},
        "readinessProbe": {**probe, "periodSeconds": 10},
        "livenessProbe": {**probe, "periodSeconds": 30, "failureThreshold": 5},
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _LABELS},
    }
    pod: Manifest = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **form.fields(SEVERAL, {"topologySpreadConstraints": [apart]}),
        "containers": [container],
        "volumes": volumes,
    }
    return {
        "replicas": form.replicas,
        "strategy": {
            # Two controllers on one SQLite would run an operation twice.
            "type": form.either(SEVERAL, "RollingUpdate", "Recreate"),
            **form.fields(SEVERAL, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        },
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }


def _network_policy(form: Form) -> Manifest:
    names = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {
        "podSelector": {"matchLabels": _LABELS},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"ports": [_port(form.port)]}],
        "egress": [{"ports": names}, {"ports": form.egress_ports}],
    }


def _port(number: Any) -> Manifest:
    return {"protocol": "TCP", "port": number}
