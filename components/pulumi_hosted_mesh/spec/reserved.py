"""Variables and values that the library or Istio's chart sets. A document that sets one of them is rejected."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.features import Features, environment
from pulumi_hosted_mesh.spec.issuer_ranges import blocked_ranges
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW
from pulumi_hosted_mesh.vocabulary import NETWORK_LABEL

CHARTS_ENVIRONMENT: Final = frozenset(
    {
        "CA_TRUSTED_NODE_ACCOUNTS",  # and `manifests.istiods_pod` takes it out
        "CLUSTER_ID",
        "EXTERNAL_ISTIOD",
        "GOMAXPROCS",
        "KUBECONFIG",
        "PILOT_CA_CERT_CONFIGMAP",
        "PILOT_CERT_PROVIDER",
        "PILOT_ENABLE_ANALYSIS",
        "PILOT_TRACE_SAMPLING",
        "PLATFORM",
        "POD_NAME",
        "POD_NAMESPACE",
        "REVISION",
        "SERVICE_ACCOUNT",
    }
)
"""Variables of istiod that Istio's chart sets. It would add a second entry of one name, which API servers reject."""
SPLITS_ENVIRONMENT: Final = frozenset(
    {
        "DEFAULT_WORKLOAD_CERT_TTL",
        "INJECTION_WEBHOOK_CONFIG_NAME",
        "ISTIOD_CUSTOM_HOST",
        "MAX_WORKLOAD_CERT_TTL",
        "PILOT_CRL_CONFIGMAP",
        "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER",
        "PILOT_MAX_REQUESTS_PER_SECOND",
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH",
        "RESOLVE_HOSTNAME_GATEWAYS",
        "USE_REMOTE_CERTS",
        "VALIDATION_WEBHOOK_CONFIG_NAME",
        *environment(Features()),
    }
)
"""Variables of istiod that this library sets, see `istiod_values.environment`."""
BLOCKED_FOR_ISSUERS: Final = "BLOCKED_CIDRS_IN_JWKS_URIS"
JOINED: Final[Mapping[str, str]] = {
    # In the document, `networkPolicy.issuerRanges` admits private ones.
    BLOCKED_FOR_ISSUERS: ",".join(blocked_ranges(())),
}
"""Variables with a value of this library. The document's value is appended after a comma."""
SCOPE: Final = "PILOT_SCOPE_GATEWAY_TO_NAMESPACE"
"""Limits a Gateway to Pods of its own namespace."""
DEFAULTS: Final[Mapping[str, str]] = {
    # Without it a user with the right to write Gateways in one namespace can open servers on all gateways' Pods, by
    # their labels. On the port for a federation's peers such a server can expose Services without export
    # (AUTO_PASSTHROUGH), redirect an exported host, or block further configuration (PushContext.mergeGateways in
    # pilot/pkg/model/push_context.go).
    SCOPE: "true",
}
"""Variables that the library sets by default; the document may override them."""
TYPED: Final[Mapping[str, str]] = {
    "profile": "profile",
    "replicaCount": "istiod.replicas",
    "autoscaleEnabled": "istiod.autoscaling",
    "autoscaleMin": "istiod.replicas",
    "autoscaleMax": "istiod.autoscaling.maxReplicas",
    "cpu": "istiod.autoscaling.cpuUtilization",
    "resources": "istiod.resources",
    "env": "istiod.environment",
    "revision": "name",
    "revisionTags": "tags",
    "meshConfig.trustDomain": "trustDomain",
    "meshConfig.accessLogFile": "proxies.accessLog",
    "meshConfig.accessLogEncoding": "proxies.accessLog.encoding",
    "meshConfig.accessLogFormat": "proxies.accessLog.format",
    "meshConfig.outboundTrafficPolicy": "proxies.outboundTraffic",
    "meshConfig.defaultConfig.envoyMetricsService": "proxies.metrics",
    "meshConfig.defaultConfig.proxyMetadata.SECRET_TTL": "trust.workloadLifetimeHours",
    f"meshConfig.defaultConfig.proxyMetadata.{NETWORK_VIEW}": "crossNetwork",
    "meshConfig.defaultConfig.holdApplicationUntilProxyStarts": "proxies.holdApplication",
    "global.proxy.resources": "proxies.resources",
    "global.proxy.clusterDomain": "memberships[].clusterDomain",
    "global.network": "memberships[].network",
    "global.meshID": "name",
    "global.multiCluster.clusterName": "memberships[].clusterId",
    "global.logging.level": "istiod.logLevel",
    "global.hub": "charts.hub",
    "global.tag": "charts.tag",
    "global.imagePullSecrets": "istiod.imagePullSecrets",
    "global.priorityClassName": "istiod.scheduling.priorityClass",
    "nodeSelector": "istiod.scheduling.nodeSelector",
    "tolerations": "istiod.scheduling.tolerations",
    "affinity": "istiod.scheduling.affinity",
}
"""Values of the istiod chart that are typed fields of the document."""
OF_THE_SPLIT: Final = frozenset(
    {
        "configMap",
        "istiodRemote",
        "podLabels.app",
        "podLabels.istio",
        "podLabels.istio.io/rev",
        "profile",
        "trustedZtunnelName",
        "trustedZtunnelNamespace",
        "global.profile",
        "global.caAddress",
        "global.configCluster",
        "global.configValidation",
        "global.enableReaderRBAC",
        "global.externalIstiod",
        "global.istioNamespace",
        "global.omitSidecarInjectorConfigMap",
        "global.operatorManageWebhooks",
        "global.remotePilotAddress",
        "global.resourceScope",
        "global.trustBundleName",
        "meshConfig.ingressControllerMode",
        "meshConfig.defaultConfig.discoveryAddress",
    }
)
"""Values of the istiod chart that the library sets."""
MERGED: Final[Mapping[str, str]] = {
    "pilot": "Write its content without that prefix",
    "defaults": "Write its content without that prefix",
    "_internal_defaults_do_not_set": "Leave it out",
}
"""Values that Istio's charts merge over all others, also over the library's, each with its fix."""
SPLITS_ARGUMENTS: Final = ("--grpcAddr=", "--tls-min-version=1.3", "--profile=false")
"""istiod's flags that the library sets. The empty address closes port 15010, xDS without authentication. With the
feature gatewayCertificates, istiod's debug pages would serve its profiler to the data plane's administrator."""
OF_THE_REMOTE_SPLIT: Final = frozenset(
    {"revision", "global.meshID", "global.network", "global.multiCluster.clusterName"}
)
"""Further values that the library sets on a data plane: they are facts of the control plane."""
TYPED_OF_GATEWAYS: Final[Mapping[str, str]] = {
    "name": "name",
    "replicaCount": "replicas",
    "autoscaling.enabled": "replicas",
    "service.type": "service.type",
    "service.annotations": "service.annotations",
    "service.ports": "service.ports",
    "service.loadBalancerClass": "service.loadBalancerClass",
    "service.loadBalancerSourceRanges": "service.sourceRanges",
    "nodeSelector": "scheduling.nodeSelector",
    "tolerations": "scheduling.tolerations",
    "affinity": "scheduling.affinity",
    "priorityClassName": "scheduling.priorityClass",
    "imagePullSecrets": "imagePullSecrets",
    # It would set the network's label a second time. A port 15443 has the same effect.
    "networkGateway": "service.ports",
}
"""Values of the gateway chart that are typed fields of the document."""
MESH_NETWORKS: Final = "global.meshNetworks"
"""Value of the istiod chart that contradicts `crossNetwork: none`."""
OF_GATEWAYS: Final = frozenset({"revision", "rbac", "rbac.enabled", f"labels.{NETWORK_LABEL}"})
"""Values of the gateway chart that the library sets."""
LISTS: Final = frozenset({"volumes", "volumeMounts", "extraContainerArgs", "envVarFrom", "topologySpreadConstraints"})
"""Values of the istiod chart that join the document's list and the library's."""
_AT_THE_TOP: Final = """
    affinity autoscaleBehavior autoscaleEnabled autoscaleMax autoscaleMin base cni configMap cpu
    deploymentAnnotations deploymentLabels env envVarFrom experimental extraContainerArgs gatewayClasses
    gateways global hub image initContainers ipFamilies ipFamilyPolicy istiodRemote jwksResolverExtraRootCA
    keepaliveMaxServerConnectionAge memory meshConfig nodeSelector ownerName pdb podAnnotations podLabels
    replicaCount resources revision revisionTags rollingMaxSurge rollingMaxUnavailable seccompProfile
    serviceAccountAnnotations serviceAnnotations sidecarInjectorWebhook sidecarInjectorWebhookAnnotations tag
    taint telemetry tolerations topologySpreadConstraints traceSampling trustedZtunnelName
    trustedZtunnelNamespace variant volumeMounts volumes
"""
ISTIODS_VALUES: Final = frozenset(_AT_THE_TOP.split())
"""Top-level values of the istiod chart. Helm silently ignores a misspelt one, so near misses are rejected. Other names
pass, because a newer chart may have them. The gateway chart has its own schema."""


def unreserved(name: str) -> str:
    """The name of an environment variable that the document may set. Raises RuleBrokenError."""
    if name in CHARTS_ENVIRONMENT or name in SPLITS_ENVIRONMENT:
        raise RuleBrokenError("is set by Istio's chart or by this library", "Leave it out")
    return name


def paths_of(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each path in nested values, such as `global` and `global.hub`, with its value."""
    for key, value in values.items():
        path = f"{prefix}{key}"
        yield path, value
        if isinstance(value, Mapping):
            yield from paths_of(value, f"{path}.")


def value_at(values: Mapping[str, Any], path: str) -> object:
    """The value at a path in nested values, such as `global.hub`; None if there is none."""
    return dict(paths_of(values)).get(path)


def _flag(argument: object) -> str:
    """The name of a flag among a program's arguments, `--grpcAddr`."""
    return str(argument).partition("=")[0]


def free_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the istiod chart. Raises RuleBrokenError for the first that the library or the chart overrides."""
    _refuse_misspelt(values)
    _refuse_reserved(values, {path: f"the field {field}" for path, field in TYPED.items()}, OF_THE_SPLIT)
    arguments = values.get("extraContainerArgs")
    for name in map(_flag, arguments if isinstance(arguments, list) else ()):
        if name in map(_flag, SPLITS_ARGUMENTS):
            raise RuleBrokenError(f"gives istiod {name}, which this library sets", "Leave it out")
    more = values.get("envVarFrom")
    names = {str(one.get("name")) for one in more if isinstance(one, dict)} if isinstance(more, list) else set()
    if taken := sorted(names & (CHARTS_ENVIRONMENT | SPLITS_ENVIRONMENT | JOINED.keys() | DEFAULTS.keys())):
        raise RuleBrokenError(
            f"sets {', '.join(taken)} in istiod's environment, which Istio's chart or this library sets",
            "Leave it out",
        )
    return values


def free_remote_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the istiod chart with the remote profile. Raises RuleBrokenError for one that the library sets."""
    _refuse_misspelt(values)
    _refuse_reserved(values, {}, OF_THE_SPLIT | OF_THE_REMOTE_SPLIT)
    return values


def free_gateway_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the gateway chart. Raises RuleBrokenError for one that the library or a field sets."""
    fields = {path: f"the field {field} of the gateway" for path, field in TYPED_OF_GATEWAYS.items()}
    _refuse_reserved(values, fields, OF_GATEWAYS)
    return values


def _refuse_misspelt(values: Mapping[str, Any]) -> None:
    """Raises RuleBrokenError for a value with a name close to one of the istiod chart's."""
    for key in values:
        if key not in ISTIODS_VALUES and (near := difflib.get_close_matches(key, ISTIODS_VALUES, n=1, cutoff=0.87)):
            raise RuleBrokenError(f"sets {key}, which is no value of Istio's chart", f"Did you mean {near[0]}?")


def _refuse_reserved(values: Mapping[str, Any], fields: Mapping[str, str], decided: Collection[str]) -> None:
    """Raises RuleBrokenError for the first value that is or contains a field's value or one that the library sets."""
    for name, fix in MERGED.items():
        if name in values:
            raise RuleBrokenError(f"sets {name}, which Istio's chart merges over this library's values", fix)
    for path, value in paths_of(values):
        if path in fields:
            raise RuleBrokenError(f"sets {path}, which is {fields[path]}", "Use that field")
        if path in decided:
            raise RuleBrokenError(f"sets {path}, which this library sets", "Leave it out")
        if not isinstance(value, Mapping) and any(one.startswith(f"{path}.") for one in (*fields, *decided)):
            raise RuleBrokenError(f"replaces {path}, and this library sets a part of it", "Give a mapping")


IstiodValues = Annotated[dict[str, object], AfterValidator(free_values)]
"""More values for the istiod chart on the control plane."""
RemoteValues = Annotated[dict[str, object], AfterValidator(free_remote_values)]
"""More values for the istiod chart on a data plane."""
GatewayValues = Annotated[dict[str, object], AfterValidator(free_gateway_values)]
"""More values for the gateway chart."""
