"""What the split and Istio's chart set themselves, and a document may not set again: each is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.features import Features, environment
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
"""What Istio's chart sets in istiod's environment. It would add a name a second time, and API servers refuse that."""
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
"""What this library sets there, see `istiod_values.environment`."""
JOINED: Final[Mapping[str, str]] = {
    # istiod fetches token issuers' keys (JWKS) wherever a RequestAuthentication of the user's says, and sends the
    # user's proxies what came back: pilot/pkg/model/jwks_resolver.go. No NetworkPolicy covers its own loopback, and
    # 0.0.0.0 is another name of that; link-local is where clouds have their metadata.
    "BLOCKED_CIDRS_IN_JWKS_URIS": "0.0.0.0/8,127.0.0.0/8,169.254.0.0/16,::/128,::1/128,fe80::/10",
}
"""Variables with a part of this library's, to which the document's is added, after a comma."""
SCOPE: Final = "PILOT_SCOPE_GATEWAY_TO_NAMESPACE"
"""Whether a Gateway selects Pods of its own namespace alone."""
DEFAULTS: Final[Mapping[str, str]] = {
    # Without it whoever may write Gateways in some namespace opens servers at every gateway's Pods, by their labels:
    # the port that a federation's peers call then passes on what nobody exports (AUTO_PASSTHROUGH), leads an exported
    # host elsewhere, or takes no more configuration (PushContext.mergeGateways in pilot/pkg/model/push_context.go).
    SCOPE: "true",
}
"""Variables that the library sets unless the document does."""
TYPED: Final[Mapping[str, str]] = {
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
"""Values of the istiod chart that the split decides."""
MERGED: Final[Mapping[str, str]] = {
    "pilot": "Write what is in it without that prefix",
    "defaults": "Write what is in it without that prefix",
    "_internal_defaults_do_not_set": "Leave it out",
}
"""What Istio's charts merge into all other values, over the split's own, and what to do instead."""
SPLITS_ARGUMENTS: Final = ("--grpcAddr=", "--tls-min-version=1.3", "--profile=false")
"""Flags that the split gives istiod. Port 15010 is xDS without authentication; an empty address does not open it. With
the feature gatewayCertificates istiod's profiler would answer the data plane's administrator, among its debug pages."""
OF_THE_REMOTE_SPLIT: Final = frozenset(
    {"revision", "global.meshID", "global.network", "global.multiCluster.clusterName"}
)
"""The same, where there is no istiod: they are facts of the control plane."""
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
    # It would give the network's label a second time; port 15443 is all that it takes.
    "networkGateway": "service.ports",
}
"""Values of the gateway chart that are typed fields of the document."""
MESH_NETWORKS: Final = "global.meshNetworks"
"""Value of the istiod chart that contradicts `crossNetwork: none`."""
OF_GATEWAYS: Final = frozenset({"revision", "rbac", "rbac.enabled", f"labels.{NETWORK_LABEL}"})
"""Values of the gateway chart that the split decides."""
LISTS: Final = frozenset({"volumes", "volumeMounts", "extraContainerArgs", "envVarFrom", "topologySpreadConstraints"})
"""Values of the istiod chart where the document's and the split's are joined."""
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
"""What the istiod chart has at the top. Helm ignores what is spelt almost so without a word. Of a newer chart what is
unlike all of them passes. The gateway chart has a schema of its own."""


def unreserved(name: str) -> str:
    """The name of an environment variable of the document's own. Raises RuleBrokenError."""
    if name in CHARTS_ENVIRONMENT or name in SPLITS_ENVIRONMENT:
        raise RuleBrokenError("is set already, by Istio's chart or for the split", "Leave it out")
    return name


def paths_of(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each path in nested values, `global` and `global.hub`, with what is there."""
    for key, value in values.items():
        path = f"{prefix}{key}"
        yield path, value
        if isinstance(value, Mapping):
            yield from paths_of(value, f"{path}.")


def value_at(values: Mapping[str, Any], path: str) -> object:
    """What is at a path in nested values, `global.hub`; None where nothing is."""
    return dict(paths_of(values)).get(path)


def _flag(argument: object) -> str:
    """The name of a flag among a program's arguments, `--grpcAddr`."""
    return str(argument).partition("=")[0]


def free_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the istiod chart that nothing overrides. Raises RuleBrokenError for the first that would be."""
    _refuse_misspelt(values)
    _refuse_reserved(values, {path: f"the field {field}" for path, field in TYPED.items()}, OF_THE_SPLIT)
    arguments = values.get("extraContainerArgs")
    for name in map(_flag, arguments if isinstance(arguments, list) else ()):
        if name in map(_flag, SPLITS_ARGUMENTS):
            raise RuleBrokenError(f"gives istiod {name}, which the split decides", "Leave it out")
    more = values.get("envVarFrom")
    names = {str(one.get("name")) for one in more if isinstance(one, dict)} if isinstance(more, list) else set()
    if taken := sorted(names & (CHARTS_ENVIRONMENT | SPLITS_ENVIRONMENT | JOINED.keys() | DEFAULTS.keys())):
        raise RuleBrokenError(
            f"sets {', '.join(taken)} in istiod's environment, which is set already, by the chart or for the split",
            "Leave it out",
        )
    return values


def free_remote_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the istiod chart with the remote profile. Raises RuleBrokenError for what the split decides."""
    _refuse_misspelt(values)
    _refuse_reserved(values, {}, OF_THE_SPLIT | OF_THE_REMOTE_SPLIT)
    return values


def free_gateway_values(values: dict[str, object]) -> dict[str, object]:
    """Values for the gateway chart that nothing overrides. Raises RuleBrokenError."""
    fields = {path: f"the field {field} of the gateway" for path, field in TYPED_OF_GATEWAYS.items()}
    _refuse_reserved(values, fields, OF_GATEWAYS)
    return values


def _refuse_misspelt(values: Mapping[str, Any]) -> None:
    """Raises RuleBrokenError for a value that is none of the istiod chart's, but almost."""
    for key in values:
        if key not in ISTIODS_VALUES and (near := difflib.get_close_matches(key, ISTIODS_VALUES, n=1, cutoff=0.87)):
            raise RuleBrokenError(f"sets {key}, which is no value of Istio's chart", f"Did you mean {near[0]}?")


def _refuse_reserved(values: Mapping[str, Any], fields: Mapping[str, str], decided: Collection[str]) -> None:
    """Raises RuleBrokenError for the first value that is a field, that the split decides, or that has such in it."""
    for name, fix in MERGED.items():
        if name in values:
            raise RuleBrokenError(f"sets {name}, which Istio's chart merges over what the split decides", fix)
    for path, value in paths_of(values):
        if path in fields:
            raise RuleBrokenError(f"sets {path}, which is {fields[path]}", "Use that field")
        if path in decided:
            raise RuleBrokenError(f"sets {path}, which the split decides", "Leave it out")
        if not isinstance(value, Mapping) and any(one.startswith(f"{path}.") for one in (*fields, *decided)):
            raise RuleBrokenError(f"sets {path} as a whole, part of which is set already", "Give a mapping")


IstiodValues = Annotated[dict[str, object], AfterValidator(free_values)]
"""More values for the istiod chart on the control plane."""
RemoteValues = Annotated[dict[str, object], AfterValidator(free_remote_values)]
"""More values for the istiod chart on a data plane."""
GatewayValues = Annotated[dict[str, object], AfterValidator(free_gateway_values)]
"""More values for the gateway chart."""
