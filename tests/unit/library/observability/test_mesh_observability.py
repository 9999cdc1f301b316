"""What the component registers: where each part is, where the credentials are, and public facts on the data plane."""

from __future__ import annotations

import json
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.boundary.cacerts import cacerts_files
from pulumi_hosted_mesh.clusters.kubeconfig import minimal
from pulumi_hosted_mesh.control_plane.istiod_values import mesh_config
from pulumi_hosted_mesh.control_plane.pushed_metrics import LOG_ATTRIBUTES
from pulumi_hosted_mesh.observability import control_objects, proxy_objects, rules
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.observability import Observability
from pulumi_hosted_mesh.spec.proxies import Proxies

from agents.metrics_collector import flat_names, receivers, series
from agents.metrics_collector.settings import Settings
from tests.support.authorities import constrained_certificate
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.observability.documents import HOST, document, read
from tests.unit.library.program import Registered, run, secret

KEY = "-----BEGIN PRIVATE KEY-----\nof the intermediate\n-----END PRIVATE KEY-----\n"
CLUSTERS = {"control_plane": hosted_mesh.ControlPlaneCluster, "data_plane": hosted_mesh.DataPlaneCluster}


def cluster(role: str) -> Any:
    entry = {"server": f"https://api.{role.replace('_', '-')}.test", "insecure-skip-tls-verify": False}
    content = minimal("c", entry, {"token": f"administrator-of-{role}"})
    return CLUSTERS[role](kubeconfig=content, identity=role.replace("_", "-"))


def registered(given: dict[str, Any], *roles: str, **arguments: Any) -> list[Registered]:
    parsed = read_document(Observability, given)

    def program() -> None:
        own: Any = {"observability": parsed.arguments(), **{role: cluster(role) for role in roles}, **arguments}
        hosted_mesh.MeshObservability("demo", own)

    answers = {
        "demo-collector-key": {"privateKeyPemPkcs8": secret("key-of-the-collector")},
        "demo-collector-request": {"certRequestPem": "request"},
        "demo-collector-certificate": {"certPem": CERTIFICATE},
    }
    return run(program, outputs=answers)


def signed(given: dict[str, Any] | None = None, *roles: str) -> list[Registered]:
    roles = roles or ("control_plane", "data_plane")
    return registered(given or document(), *roles, cacerts=cacerts_files(CERTIFICATE, KEY, CERTIFICATE))


def placed(found: list[Registered]) -> dict[str, set[str]]:
    """Kinds by the cluster's provider."""
    kinds: dict[str, set[str]] = {}
    for one in found:
        if one.type.startswith("kubernetes:"):
            kinds.setdefault(one.provider, set()).add(one.type.rpartition(":")[2])
    return kinds


def test_the_parts_are_on_the_control_plane_and_public_objects_on_the_data_plane() -> None:
    assert placed(signed(document(accessLogs="gateways"))) == {
        "control-plane-cluster": {
            *("Namespace", "NetworkPolicy", "Secret", "ConfigMap", "Deployment", "StatefulSet", "Service"),
        },
        "data-plane-cluster": {"EnvoyFilter", "Telemetry"},
    }


def test_credentials_are_in_one_secret_of_the_control_plane() -> None:
    found = signed()
    holders = [one for one in found if "key-of-the-collector" in json.dumps(one.inputs)]
    assert [(one.type, one.name) for one in holders] == [
        ("tls:index/certRequest:CertRequest", "demo-collector-request"),
        ("kubernetes:core/v1:Secret", "demo-collector-server"),
    ]
    assert all(one.secrets for one in holders)
    assert [one.type for one in found if KEY.splitlines()[1] in json.dumps(one.inputs)] == [
        "tls:index/locallySignedCert:LocallySignedCert"
    ]
    (made,) = [one for one in found if one.name == "demo-collector-server"]
    assert made.provider == "control-plane-cluster"
    assert set(made.inputs["stringData"]) == {"tls.crt", "tls.key", "ca.crt"}
    assert made.inputs["stringData"]["tls.crt"].count("BEGIN CERTIFICATE") == 2
    (request,) = [one for one in found if one.type.endswith("CertRequest")]
    assert request.inputs["dnsNames"] == [HOST]


def test_what_the_data_plane_gets_is_public() -> None:
    for source in ("access-logger", "access-log"):
        found = signed(document({"source": source}, accessLogs="gateways"))
        given = [one for one in found if one.provider == "data-plane-cluster"]
        assert given
        for one in given:
            assert one.secrets == set()
            assert one.inputs["metadata"]["namespace"] == "mesh-demo"


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("access-logger", ["EnvoyFilter"]),
        ("stats-filter", []),
        ("access-log", ["ServiceEntry", "DestinationRule", "Telemetry"]),
    ],
)
def test_each_source_has_its_objects(source: str, kinds: list[str]) -> None:
    assert [one["kind"] for one in proxy_objects.objects(read({"source": source}))] == kinds


def test_access_logs_of_gateways_are_one_object_and_need_no_other_part() -> None:
    found = registered({"mesh": "demo", "accessLogs": "gateways"}, "data_plane")
    assert placed(found) == {"data-plane-cluster": {"Telemetry"}}
    (one,) = [each for each in found if each.type.endswith(":Telemetry")]
    (logging,) = one.inputs["spec"]["accessLogging"]
    assert logging == {
        "providers": [{"name": "envoy"}],
        "filter": {"expression": "xds.node.id.startsWith('router~')"},
    }


def test_exported_logs_and_those_of_gateways_share_the_only_telemetry_of_the_namespace() -> None:
    found = proxy_objects.objects(read({"source": "access-log"}, accessLogs="gateways"))
    (telemetry,) = [one for one in found if one["kind"] == "Telemetry"]
    assert [one["providers"] for one in telemetry["spec"]["accessLogging"]] == [
        [{"name": "hosted-mesh-collector"}],
        [{"name": "envoy"}],
    ]


@pytest.mark.parametrize("source", ["access-logger", "stats-filter", "access-log"])
def test_traces_have_the_road_of_metrics_and_the_only_telemetry_of_the_namespace(source: str) -> None:
    given = {"to": "jaeger.tracing.svc:4317", "samplingPercent": 12.5, "plaintext": True}
    found = proxy_objects.objects(read({"source": source}, traces=given, accessLogs="gateways"))
    (telemetry,) = [one["spec"] for one in found if one["kind"] == "Telemetry"]
    assert telemetry["tracing"] == [{"providers": [{"name": "hosted-mesh-traces"}], "randomSamplingPercentage": 12.5}]
    assert {"providers": [{"name": "envoy"}]}.items() <= telemetry["accessLogging"][-1].items()
    (rule,) = [one["spec"] for one in found if one["kind"] == "DestinationRule"]
    assert rule == {
        "host": HOST,
        "trafficPolicy": {"tls": {"mode": "ISTIO_MUTUAL", "sni": HOST, "subjectAltNames": [HOST]}},
    }
    metrics = {"metrics": {"host": HOST, "source": source}}
    provider = mesh_config(read_document(Proxies, metrics))["extensionProviders"][-1]
    assert provider == {"name": "hosted-mesh-traces", "opentelemetry": {"service": HOST, "port": 15018}}


def test_the_collector_accepts_its_configuration_of_traces_and_reaches_the_receiver_alone() -> None:
    inside = read(traces={"to": "jaeger.tracing.svc:4317", "plaintext": True, "queueBytes": 2**20})
    outside = read(traces={"to": "traces.example.com:4317", "certificateAuthority": CERTIFICATE})
    traces = [Settings.of(json.loads(control_objects.collector_config(one))).traces for one in (inside, outside)]
    assert [(one.address, one.plaintext) for one in traces if one] == [
        ("jaeger.tracing.svc:4317", True),
        ("traces.example.com:4317", False),
    ]
    assert traces[0] and traces[0].queue_bytes == 2**20
    assert traces[1] and traces[1].authorities
    assert control_objects.collector_files(outside)[traces[1].authorities.name] == CERTIFICATE
    own, beyond = (control_objects.network_policies(one)["metrics-collector"]["egress"][0] for one in (inside, outside))
    assert own == {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "tracing"}}}]}
    assert beyond == {"ports": [{"protocol": "TCP", "port": 4317}]}


def test_without_traces_nothing_of_them_is_there() -> None:
    document = read()
    assert Settings.of(json.loads(control_objects.collector_config(document))).traces is None
    assert "egress" not in control_objects.network_policies(document)["metrics-collector"]
    assert [one["kind"] for one in proxy_objects.objects(document)] == ["EnvoyFilter"]


def test_on_the_data_plane_the_users_own_secret_is_mounted_and_no_key_is_sent() -> None:
    own = {"placement": "data-plane", "serverSecret": "collector-tls", "exposure": None}
    found = registered(document(own, prometheus={"placement": "data-plane"}), "data_plane")
    assert set(placed(found)) == {"data-plane-cluster"}
    assert "Secret" not in placed(found)["data-plane-cluster"]
    (deployment,) = [one for one in found if one.type.endswith(":Deployment")]
    secrets = [one["secret"]["secretName"] for one in deployment.inputs["spec"]["template"]["spec"]["volumes"][1:]]
    assert secrets == ["collector-tls"]


def refused(given: dict[str, Any], *roles: str, **arguments: Any) -> list[str]:
    with pytest.raises(InvalidInputError) as error:
        registered(given, *roles, **arguments)
    return [str(one) for one in error.value.problems]


def test_missing_clusters_and_authorities_are_one_line_each() -> None:
    files = cacerts_files(CERTIFICATE, KEY, CERTIFICATE)
    logs = {"mesh": "demo", "accessLogs": "gateways"}
    assert refused(document(), "data_plane", cacerts=files) == [
        "control_plane: is required by parts with placement control-plane. Add the cluster, or place them elsewhere."
    ]
    assert refused(document(), "control_plane") == [
        "cacerts: is required: the collector's certificate is signed with it. "
        "Give that of MeshTrust and MeshRoot, or set collector.serverSecret."
    ]
    others = constrained_certificate("demo.mesh.local", "istiod.demo.example.com")
    assert refused(document(), "control_plane", "data_plane", cacerts=cacerts_files(others, KEY, others)) == [
        f"cacerts: has a certificate whose name constraints exclude {document()['collector']['host']}. "
        "Run `pulumi up` of `trust`, then of `root`; a host that is not istiod's belongs in trust.dnsNames there."
    ]
    assert refused(logs) == ["data_plane: is required by accessLogs: gateways. Add the cluster."]
    assert refused(logs, "data_plane", cacerts=files) == [
        "cacerts: is given, but no certificate is signed here. Remove it."
    ]


def test_the_load_balancer_is_limited_as_istiods() -> None:
    exposed = control_objects.exposed_service(read())
    assert exposed
    annotations, spec = exposed
    assert spec["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert spec["allocateLoadBalancerNodePorts"] is False
    assert [one["port"] for one in spec["ports"]] == [15018]
    assert annotations["external-dns.alpha.kubernetes.io/hostname"] == HOST
    opened = control_objects.exposed_service(read({"exposure": {"openToAll": True}}))
    assert opened and "loadBalancerSourceRanges" not in opened[1]
    assert opened[0]["hosted-mesh.io/open-to-all"] == "collector.exposure.openToAll"
    assert control_objects.exposed_service(read({"exposure": {"kind": "external"}})) is None


def test_no_pod_has_an_accounts_token_or_rights() -> None:
    for one in signed():
        if one.type.endswith((":Deployment", ":StatefulSet")):
            pod = one.inputs["spec"]["template"]["spec"]
            assert pod["automountServiceAccountToken"] is False
            assert pod["securityContext"]["runAsNonRoot"] is True
            (container,) = pod["containers"]
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert not [one for one in signed() if "Role" in one.type or one.type.endswith("ServiceAccount")]


def test_network_policies_deny_the_rest() -> None:
    found = control_objects.network_policies(read(prometheus={"readers": ["monitoring"]}))
    assert found["deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert [one["ports"][0]["port"] for one in found["metrics-collector"]["ingress"]] == [15018, 15090]
    assert "from" not in found["metrics-collector"]["ingress"][0]
    (reading,) = found["prometheus"]["ingress"]
    assert reading["from"][0]["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert control_objects.network_policies(read())["prometheus"]["ingress"] == []


def test_the_collector_accepts_its_configuration() -> None:
    given = {"limits": {"series": 1000, "proxySeries": 100}}
    settings = Settings.of(json.loads(control_objects.collector_config(read(given, network="east"))))
    (endpoint,) = settings.endpoints
    assert (endpoint.tenant, endpoint.cluster, endpoint.network) == ("demo", "demo", "east")
    assert endpoint.trust_domain == "demo.mesh.local"
    assert (settings.limits.series, settings.limits.proxy_series) == (1000, 100)
    mounted = control_objects.collector_deployment(read())["template"]["spec"]["containers"][0]["volumeMounts"]
    assert str(endpoint.key.parent) in [one["mountPath"] for one in mounted]


def test_the_collector_knows_the_tags_and_metrics_of_the_filter() -> None:
    found = proxy_objects.statistics_filter(read())["spec"]["configPatches"]
    assert [(one["match"]["context"]) for one in found] == [
        context for context in ("SIDECAR_OUTBOUND", "GATEWAY", "SIDECAR_INBOUND") for _ in range(2)
    ]
    for patch in found:
        (logger,) = patch["patch"]["value"]["typed_config"]["access_log"]
        config = logger["typed_config"]
        for kind, known in (("counters", series.COUNTERS), ("histograms", series.HISTOGRAMS)):
            for one in config.get(kind, []):
                assert one["stat"]["name"] in known
                tags = {tag["name"] for tag in one["stat"]["tags"]}
                assert tags <= flat_names.TAGS
                name = ".".join(f"{tag}.x" for tag in ("reporter", *sorted(tags - {"reporter"})))
                assert flat_names.parsed(f"{config['stat_prefix']}.{one['stat']['name']}.{name}")


def test_the_collector_knows_the_attributes_of_logs() -> None:
    tags = set(receivers._reported(dict(LOG_ATTRIBUTES))) - {"node", "duration", "sent", "received"}
    assert tags <= flat_names.TAGS


def test_the_bootstrap_gets_the_address_and_requires_the_collectors_name() -> None:
    proxies = read_document(Proxies, {"metrics": {"host": HOST}})
    assert mesh_config(proxies)["defaultConfig"] == {
        "holdApplicationUntilProxyStarts": False,
        "envoyMetricsService": {
            "address": f"{HOST}:15018",
            "tlsSettings": {"mode": "ISTIO_MUTUAL", "sni": HOST, "subjectAltNames": [HOST]},
        },
    }
    logs = mesh_config(read_document(Proxies, {"metrics": {"host": HOST, "source": "access-log"}}))
    assert "envoyMetricsService" not in logs["defaultConfig"]
    provider, _ = logs["extensionProviders"]
    assert (provider["name"], provider["envoyOtelAls"]["service"]) == ("hosted-mesh-collector", HOST)
    # Otherwise istiod's default format, with paths and headers of requests.
    assert "%" not in provider["envoyOtelAls"]["logFormat"]["text"]
    assert "envoyMetricsService" not in str(mesh_config(read_document(Proxies, {})))


def test_prometheus_reads_its_own_collector_and_keeps_its_own_tenant() -> None:
    files = control_objects.prometheus_files(read())
    (job,) = yaml.safe_load(files["prometheus.yaml"])["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["metrics-collector.obs-demo.svc:15090"]}]
    assert job["job_name"] == rules.JOB
    assert job["metric_relabel_configs"] == [{"source_labels": ["tenant"], "regex": "demo", "action": "keep"}]
    container = control_objects.prometheus_set(read(prometheus={"retentionDays": 3, "storage": "10Gi"}))
    arguments = container["template"]["spec"]["containers"][0]["args"]
    assert "--storage.tsdb.retention.time=3d" in arguments
    assert "--storage.tsdb.retention.size=9663MB" in arguments
    assert container["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "10Gi"


def test_the_dashboard_has_the_label_of_grafanas_sidecar() -> None:
    def dashboard_of(**prometheus: bool) -> list[dict[str, str]]:
        given = document()
        given["prometheus"] |= prometheus
        made = [one for one in signed(given) if one.name == "demo-dashboard"]
        return [one.inputs["metadata"]["labels"] for one in made]

    (labels,) = dashboard_of()
    assert labels["grafana_dashboard"] == "1"
    assert dashboard_of(dashboard=False) == []
