"""Bad input: one clear error each, which names the field, the rule and the fix, and no value."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.charts.chart import source
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.fields import amount
from pulumi_hosted_mesh.spec.load import read_document, read_document_file, read_text
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW

from tests.unit.library.documents import CERTIFICATE, as_field, document

HOST = "revisions.0.host"
ISTIOD = "revisions.0.istiod"
EXPOSURE = "revisions.0.exposure"
RANGES = f"{EXPOSURE}.sourceRanges"
ACCESS = "memberships.0.access"
REVISION = {"host": "istiod.demo.example.com", "exposure": {"openToAll": True}}
CANARY = {"name": "canary", "host": "canary.demo.example.com", "exposure": {"openToAll": True}}
HOOKS = {"host": "hooks.demo.example.com", "openToAll": True}
MESH_NETWORKS = {"global": {"meshNetworks": {"east": {"endpoints": [{"fromRegistry": "demo"}]}}}}
PEM = "-----BEGIN CERTIFICATE-----\n"
GARBAGE = f"{PEM}czNjcjN0LXMzY3IzdA==\n-----END CERTIFICATE-----\n"
BAD: list[tuple[str, dict[str, Any], str, str]] = [
    # what is wrong, changes, the field that the error names, words of the rule or the fix
    ("unknown field", {"revisions.0.istiod.replica": 2}, "revisions.0.istiod.replica", "Did you mean replicas?"),
    ("unknown section", {"observability": {}}, "observability", "not a field"),
    (
        "unknown field, snake case",
        {"memberships.0.cluster_id": "x"},
        "memberships.0.cluster_id",
        "Did you mean clusterId?",
    ),
    ("missing field", {HOST: None}, HOST, "is required"),
    ("missing section", {"memberships": None}, "memberships", "is required"),
    ("no revision", {"revisions": []}, "revisions", "Add one"),
    ("text for a number", {"revisions.0.istiod.replicas": "2"}, "revisions.0.istiod.replicas", "whole number"),
    ("number for text", {HOST: 5}, HOST, "must be text"),
    ("text for true", {"revisions.0.exposure.openToAll": "yes"}, "revisions.0.exposure.openToAll", "true or false"),
    ("text for a list", {"revisions.0.exposure.sourceRanges": "10.0.0.0/8"}, "sourceRanges", "must be a list"),
    ("text for a section", {"revisions.0.istiod": "small"}, "revisions.0.istiod", "must be a mapping"),
    ("number too small", {"revisions.0.istiod.replicas": 0}, "revisions.0.istiod.replicas", "at least 1"),
    ("number too large", {"memberships.0.webhooks.timeoutSeconds": 31}, "timeoutSeconds", "at most 30"),
    ("unknown choice", {"memberships.0.webhooks.management": "me"}, "management", "'managed' or 'unmanaged'"),
    ("host without domain", {HOST: "istiod"}, HOST, "with a domain"),
    ("host in capitals", {HOST: "Istiod.example.com"}, HOST, "lower case"),
    ("host with a scheme", {HOST: "https://istiod.example.com"}, HOST, "without scheme"),
    ("host with a port", {HOST: "istiod.example.com:15012"}, HOST, "without scheme, port"),
    ("host with an underscore", {HOST: "istiod_1.example.com"}, HOST, "DNS name"),
    ("host with a label too long", {HOST: f"{'a' * 64}.example.com"}, HOST, "DNS name"),
    ("host of one cluster", {HOST: "istiod.mesh-demo.svc"}, HOST, "only one cluster resolves"),
    ("IPv4 address as host", {HOST: "192.0.2.1"}, HOST, "is an IP address"),
    ("IPv6 address as host", {HOST: "2001:db8::1"}, HOST, "is an IP address"),
    ("bracketed address as host", {HOST: "[2001:db8::1]"}, HOST, "is an IP address"),
    ("mistyped address as host", {HOST: "10.0.0.256"}, HOST, "mistyped IP address"),
    ("address with zeros as host", {HOST: "010.0.0.1"}, HOST, "mistyped IP address"),
    ("no source ranges", {"revisions.0.exposure.sourceRanges": []}, "revisions.0.exposure", "openToAll: true"),
    ("ranges and open to all", {"revisions.0.exposure.openToAll": True}, "revisions.0.exposure", "contradicts"),
    ("everything as a range", {"revisions.0.exposure.sourceRanges": ["0.0.0.0/0"]}, "sourceRanges[0]", "openToAll"),
    ("host bits in a range", {"revisions.0.exposure.sourceRanges": ["10.0.0.1/8"]}, "sourceRanges[0]", "CIDR"),
    ("address as a range", {RANGES: ["203.0.113.7"]}, "sourceRanges[0]", "203.0.113.7/32"),
    ("netmask in a range", {RANGES: ["203.0.113.0/255.255.255.0"]}, "sourceRanges[0]", "CIDR"),
    ("zone in a range", {RANGES: ["fe80::%1/64"]}, "sourceRanges[0]", "CIDR"),
    ("everything in two ranges", {RANGES: ["0.0.0.0/1", "128.0.0.0/1"]}, "revisions.0.exposure", "every address"),
    (
        "everything of IPv6 in three ranges",
        {RANGES: ["10.0.0.0/8", "8000::/1", "4000::/2", "::/2"]},
        "revisions.0.exposure",
        "openToAll: true",
    ),
    ("annotation's key with a space", {f"{EXPOSURE}.annotations": {"a b": "c"}}, "annotations.a b", "Kubernetes name"),
    ("annotation's key too long", {f"{EXPOSURE}.annotations": {"a" * 64: "c"}}, "a" * 64, "at most 63"),
    ("annotation's key with two slashes", {f"{EXPOSURE}.annotations": {"a/b/c": "d"}}, "a/b/c", "Kubernetes name"),
    (
        "load balancer's class with a colon",
        {f"{EXPOSURE}.loadBalancerClass": "a:b"},
        "loadBalancerClass",
        "example.com/",
    ),
    (
        "load balancer's class in capitals",
        {f"{EXPOSURE}.loadBalancerClass": "A.b/c"},
        "loadBalancerClass",
        "lower case",
    ),
    ("network that is no label", {"memberships.0.network": "east 1"}, "memberships.0.network", "Kubernetes label"),
    ("network too long", {"memberships.0.network": "e" * 64}, "memberships.0.network", "at most 63"),
    (
        "API server at every address",
        {"controlPlane.networkPolicy.apiServerRanges": ["::/0"]},
        "controlPlane.networkPolicy.apiServerRanges[0]",
        "Leave it out",
    ),
    (
        "ranges of a port that is open to all",
        {
            "controlPlane.networkPolicy.apiServerRanges": ["198.51.100.0/24"],
            f"{ACCESS}.apiServer": "https://api.user.example.com",
        },
        "(document)",
        "fetchJwks: false",
    ),
    (
        "API server without TLS",
        {f"{ACCESS}.apiServer": "http://h:1"},
        f"{ACCESS}.apiServer",
        "https://HOST or https://HOST:PORT, with a path if the kubeconfig has one. Begin it with",
    ),
    (
        "API server with a user",
        {f"{ACCESS}.apiServer": "https://u:p@h"},
        f"{ACCESS}.apiServer",
        "nothing more",
    ),
    (
        "API server with a query",
        {f"{ACCESS}.apiServer": "https://h/x?y"},
        f"{ACCESS}.apiServer",
        "nothing more",
    ),
    ("API server at no port", {f"{ACCESS}.apiServer": "https://h:99999"}, "apiServer", "https://HOST:PORT"),
    (
        "key instead of certificate",
        {f"{ACCESS}.certificateAuthority": "PRIVATE KEY"},
        "certificateAuthority",
        "private key",
    ),
    ("no PEM", {f"{ACCESS}.certificateAuthority": "abc"}, "certificateAuthority", "PEM"),
    ("PEM of nothing", {f"{ACCESS}.certificateAuthority": PEM}, "certificateAuthority", "cannot be read"),
    (
        "garbage as PEM",
        {f"{ACCESS}.certificateAuthority": GARBAGE},
        "certificateAuthority",
        "cannot be read",
    ),
    (
        "second certificate cut off",
        {f"{ACCESS}.certificateAuthority": CERTIFICATE + CERTIFICATE[:200]},
        "certificateAuthority",
        "whole file",
    ),
    (
        "certificate with a letter of another script",
        {f"{ACCESS}.certificateAuthority": CERTIFICATE.replace("MII", "\N{GREEK CAPITAL LETTER MU}II")},
        "certificateAuthority",
        "cannot be read",
    ),
    (
        "chart without remote profile",
        {"revisions.0.charts.version": "1.23.4"},
        "revisions.0.charts.version",
        "no remote profile",
    ),
    (
        "chart that wants more rights",
        {"revisions.0.charts.version": "1.29.9"},
        "revisions.0.charts.version",
        "Use 1.30.0 or later",
    ),
    (
        "range of chart versions",
        {"revisions.0.charts.version": "^1.31"},
        "revisions.0.charts.version",
        "one exact version",
    ),
    (
        "scheme in the hub",
        {"revisions.0.charts.hub": "https://images.example.com/istio"},
        "revisions.0.charts.hub",
        "without https://",
    ),
    (
        "slash after the hub",
        {"revisions.0.charts.hub": "images.example.com/istio/"},
        "revisions.0.charts.hub",
        "without a slash at the end",
    ),
    (
        "no hub",
        {"revisions.0.charts.hub": ""},
        "revisions.0.charts.hub",
        "a registry and a folder",
    ),
    (
        "space in the hub",
        {"revisions.0.charts.hub": "images.example.com/ istio"},
        "revisions.0.charts.hub",
        "a registry and a folder",
    ),
    (
        "whole image as the tag",
        {"revisions.0.charts.tag": "istio/pilot:1.31.1"},
        "revisions.0.charts.tag",
        "an image's tag",
    ),
    (
        "no tag",
        {"revisions.0.charts.tag": ""},
        "revisions.0.charts.tag",
        "an image's tag",
    ),
    (
        "plain http repository",
        {"revisions.0.charts.repository": "http://charts.example.com"},
        "revisions.0.charts.repository",
        "https://",
    ),
    (
        "repository without a host",
        {"revisions.0.charts.repository": "https:/charts"},
        "revisions.0.charts.repository",
        "https://HOST",
    ),
    (
        "password in the repository",
        {"revisions.0.charts.repository": "https://u:p@h/c"},
        "revisions.0.charts.repository",
        "no user, password",
    ),
    (
        "token in the repository",
        {"revisions.0.charts.repository": "https://h/c?sig=x"},
        "revisions.0.charts.repository",
        "no user, password",
    ),
    (
        "user of a registry",
        {"revisions.0.charts.repository": "oci://user@h/c"},
        "revisions.0.charts.repository",
        "no user, password",
    ),
    (
        "renewed after its end",
        {"trust.root": {"lifetimeDays": 9, "renewBeforeDays": 9}},
        "trust.root",
        "less than lifetimeDays",
    ),
    (
        "intermediate outlives root",
        {"trust.root": {"lifetimeDays": 800, "renewBeforeDays": 300}},
        "trust",
        "an intermediate outlives its root",
    ),
    (
        "workload outlives intermediate",
        {"trust.workloadLifetimeHours": 24 * 61},
        "trust",
        "workload's certificate outlives",
    ),
    ("name in capitals", {"name": "Demo"}, "name", "lower-case"),
    ("name with a dot", {"name": "de.mo"}, "name", "must be a Kubernetes name"),
    ("name too long", {"name": "a" * 59}, "name", "at most 58 characters"),
    ("name that begins with a digit", {"name": "1demo"}, "name", "begin with a letter"),
    (
        "gateway name with a slash",
        {"memberships.0.gateways": [{"name": "a/b"}]},
        "memberships.0.gateways[0].name",
        "Kubernetes name",
    ),
    *[
        (
            f"gateway name that is taken: {name}",
            {"memberships.0.gateways": [{"name": name}]},
            "gateways[0].name",
            "is taken",
        )
        for name in ("istiod", "istiod-canary", "default")
    ],
    (
        "gateway name that begins with a digit",
        {"memberships.0.gateways": [{"name": "1a"}]},
        "memberships.0.gateways[0].name",
        "begin with a letter",
    ),
    (
        "gateway name too long",
        {"memberships.0.gateways": [{"name": "a" * 54}]},
        "memberships.0.gateways[0].name",
        "at most 53 characters",
    ),
    (
        "gateways of one name",
        {"memberships.0.gateways": [{"name": "a"}, {"name": "a"}]},
        "memberships.0",
        "two gateways of one name",
    ),
    ("bad revision", {"revisions.0.name": "1.31"}, "revisions.0.name", "Kubernetes name"),
    ("revision too long", {"revisions.0.name": "r" * 47}, "revisions.0.name", "at most 46 characters"),
    ("exposure of another kind", {f"{EXPOSURE}.kind": "tunnel"}, "exposure.kind", "'load-balancer', 'external'"),
    (
        "field of a load balancer where there is none",
        {EXPOSURE: {"kind": "external", "sourceRanges": ["203.0.113.0/24"]}},
        "exposure.sourceRanges",
        "The fields here are kind",
    ),
    (
        "webhooks that are open to all by omission",
        {f"{EXPOSURE}.webhooks": {"host": "hooks.demo.example.com"}},
        f"{EXPOSURE}.webhooks",
        "openToAll: true",
    ),
    (
        "one host for two load balancers",
        {f"{EXPOSURE}.webhooks": {"host": "istiod.demo.example.com", "openToAll": True}},
        "(document)",
        "revisions has two with one host",
    ),
    ("tag of no revision", {"tags": {"prod": "1-32"}}, "(document)", "tags.prod names a revision that does not exist"),
    ("tag that is a revision", {"tags": {"default": "default"}}, "(document)", "Choose another tag"),
    ("revisions of one name", {"revisions": [REVISION, REVISION]}, "(document)", "revisions has two with one name"),
    (
        "revisions of one host",
        {"revisions": [REVISION, {**REVISION, "name": "canary"}]},
        "(document)",
        "revisions has two with one host",
    ),
    ("memberships of one name", {"memberships": [{}, {}]}, "(document)", "memberships has two with one name"),
    (
        "memberships of one cluster ID",
        {"memberships": [{"clusterId": "a"}, {"name": "b", "clusterId": "a"}]},
        "(document)",
        "memberships has two with one clusterId",
    ),
    (
        "membership and revision of one name, beside those without",
        {"revisions": [REVISION, CANARY], "memberships": [{}, {"name": "canary"}]},
        "(document)",
        "memberships[0] with revisions[1] and memberships[1] with revisions[0] would have a RemoteDataPlane",
    ),
    (
        "revision that is named like the other's Service for webhooks",
        {f"{EXPOSURE}.webhooks": HOOKS, "revisions.1": {**CANARY, "name": "webhooks"}},
        "(document)",
        "revisions[0] and revisions[1] would have a Service of one name",
    ),
    (
        "revision that is named like the other's Service for data planes",
        {"revisions.1": {**CANARY, "name": "exposed-demo"}},
        "(document)",
        "revisions[0] and revisions[1] would have a Service of one name",
    ),
    (
        "revision that is named like the other's injection templates",
        {"revisions.1": {**CANARY, "name": "sidecar-injector"}},
        "(document)",
        "revisions[0] and revisions[1] would have a ConfigMap of one name",
    ),
    (
        "feature that the data plane does not grant",
        {"revisions.0.features": {"gatewayApi": True}},
        "(document)",
        "membership default does not grant: gatewayApi",
    ),
    (
        "revocation list that nobody makes",
        {
            "revisions.0.features": {"certificateRevocation": True},
            "memberships.0.access": {"features": {"certificateRevocation": True}},
        },
        "(document)",
        "trust.management: own makes no list ca-crl.pem",
    ),
    (
        "revocation list that cert-manager does not make",
        {
            "trust": {"management": "cert-manager", "issuer": {"name": "company"}},
            "revisions.0.features": {"certificateRevocation": True},
            "memberships.0.access": {"features": {"certificateRevocation": True}},
        },
        "(document)",
        "trust.management: cert-manager makes no list ca-crl.pem",
    ),
    ("no issuer", {"trust.management": "cert-manager"}, "trust", "issuer is required with management: cert-manager"),
    ("issuer of nobody", {"trust.issuer": {"name": "x"}}, "trust", "issuer is set, but management is own"),
    (
        "issuer's kind in lower case",
        {"trust": {"management": "cert-manager", "issuer": {"name": "x", "kind": "issuer"}}},
        "trust.issuer.kind",
        "",
    ),
    ("fewer Pods at most than at least", {f"{ISTIOD}.autoscaling": {"maxReplicas": 2}}, "istiod", "more than replicas"),
    *[
        (f"chart value that is a field: {path}", {"revisions.0.chartValues": values}, "chartValues", f"field {field}")
        for path, values, field in (
            ("replicaCount", {"replicaCount": 3}, "istiod.replicas"),
            ("autoscaleEnabled", {"autoscaleEnabled": True}, "istiod.autoscaling"),
            ("env", {"env": {"A": "b"}}, "istiod.environment"),
            ("global.hub", {"global": {"hub": "x"}}, "charts.hub"),
            ("meshConfig.accessLogFile", {"meshConfig": {"accessLogFile": "/x"}}, "proxies.accessLog"),
        )
    ],
    (
        "chart value of the split",
        {"revisions.0.chartValues": {"global": {"externalIstiod": False}}},
        "chartValues",
        "sets global.externalIstiod, which this library sets",
    ),
    *[
        (
            f"chart value that is merged over the split's: {name}",
            {where: {name: {"a": {}}}},
            "chartValues",
            f"sets {name},",
        )
        for name in ("pilot", "defaults", "_internal_defaults_do_not_set")
        for where in ("revisions.0.chartValues", "memberships.0.chartValues")
    ],
    *[
        (
            f"chart value that is spelt almost right, of {where}",
            {f"{where}.chartValues": {"meshConifg": {}}},
            "chartValues",
            "sets meshConifg, which is no value of Istio's chart. Did you mean meshConfig?",
        )
        for where in ("revisions.0", "memberships.0")
    ],
    (
        "label of istiod's Pods by which its Service finds them",
        {"revisions.0.chartValues": {"podLabels": {"app": "mine"}}},
        "chartValues",
        "sets podLabels.app, which this library sets",
    ),
    (
        "flag of istiod's that the split gives it",
        {"revisions.0.chartValues": {"extraContainerArgs": ["--mine", "--grpcAddr=:15010"]}},
        "chartValues",
        "gives istiod --grpcAddr, which this library sets",
    ),
    (
        "chart value of the split on a data plane",
        {"memberships.0.chartValues": {"revision": "x"}},
        "chartValues",
        "sets revision, which this library sets",
    ),
    (
        "gateway's chart value that is merged over the split's",
        {"memberships.0.gateways": [{"name": "a", "chartValues": {"_internal_defaults_do_not_set": {"rbac": {}}}}]},
        "gateways.0.chartValues",
        "sets _internal_defaults_do_not_set,",
    ),
    (
        "gateway's chart value that is a field",
        {"memberships.0.gateways": [{"name": "a", "chartValues": {"service": {"type": "ClusterIP"}}}]},
        "gateways.0.chartValues",
        "the field service.type",
    ),
    (
        "gateway's chart value that makes it its network's",
        {"memberships.0.gateways": [{"name": "a", "chartValues": {"networkGateway": "demo"}}]},
        "gateways.0.chartValues",
        "the field service.ports",
    ),
    (
        "gateway's chart value that another field switches",
        {"memberships.0.gateways": [{"name": "a", "chartValues": {"autoscaling": {"enabled": True}}}]},
        "gateways.0.chartValues",
        "the field replicas",
    ),
    (
        "domain of one cluster of several",
        {"memberships": [{}, {"name": "b", "clusterDomain": "other.local"}]},
        "(document)",
        "memberships have different clusterDomains",
    ),
    (
        "gateways of networks that nothing joins",
        {"revisions.0.chartValues": MESH_NETWORKS},
        "(document)",
        "revisions[0].chartValues sets global.meshNetworks, the gateways of other networks, but crossNetwork is "
        "none. Set crossNetwork: gateways, or leave global.meshNetworks out",
    ),
    (
        "gateways of networks in another revision",
        {"revisions": [REVISION, {**CANARY, "chartValues": MESH_NETWORKS}], "crossNetwork": "none"},
        "(document)",
        "revisions[1].chartValues sets global.meshNetworks",
    ),
    (
        "member without a network beside one that has one",
        {"memberships": [{}, {"name": "b", "network": ""}]},
        "(document)",
        "some memberships have an empty network",
    ),
    ("unknown way to other networks", {"crossNetwork": "mesh"}, "crossNetwork", "'none' or 'gateways'"),
    (
        "view of networks by chartValues",
        {"revisions.0.chartValues": {"meshConfig": {"defaultConfig": {"proxyMetadata": {NETWORK_VIEW: "a"}}}}},
        "revisions.0.chartValues",
        "is the field crossNetwork. Use that field",
    ),
    (
        "gateway that may read Secrets",
        {"memberships.0.gateways": [{"name": "a", "chartValues": {"rbac": {"enabled": True}}}]},
        "gateways.0.chartValues",
        "sets rbac, which this library sets",
    ),
    ("bad quantity", {"revisions.0.istiod.resources": {"cpuLimit": "two"}}, "resources.cpuLimit", "quantity"),
    ("no CPU", {f"{ISTIOD}.resources": {"cpuRequest": "0m"}}, "resources.cpuRequest", "more than zero"),
    ("no memory", {f"{ISTIOD}.resources": {"memoryLimit": "0.0Gi"}}, "resources.memoryLimit", "more than zero"),
    (
        "thousandths of a byte",
        {f"{ISTIOD}.resources": {"memoryRequest": "512m"}},
        "memoryRequest",
        "Write it like 512Mi",
    ),
    (
        "CPU request above the limit",
        {f"{ISTIOD}.resources": {"cpuRequest": "1500m", "cpuLimit": "1"}},
        "revisions.0.istiod.resources",
        "raise cpuLimit",
    ),
    (
        "CPU request above the default limit",
        {f"{ISTIOD}.resources": {"cpuRequest": "2001m"}},
        "revisions.0.istiod.resources",
        "their defaults are 250m and 2",
    ),
    (
        "memory request above the default limit",
        {f"{ISTIOD}.resources": {"memoryRequest": "2200M"}},
        "revisions.0.istiod.resources",
        "raise memoryLimit",
    ),
    (
        "memory limit below the default request",
        {f"{ISTIOD}.resources": {"memoryLimit": "511Mi"}},
        "revisions.0.istiod.resources",
        "Lower memoryRequest",
    ),
    ("unknown log level", {f"{ISTIOD}.logLevel": "default:verbose"}, "logLevel", "one of none, error, warn, info"),
    ("log level in capitals", {f"{ISTIOD}.logLevel": "default:INFO"}, "logLevel", "one of none, error, warn, info"),
    ("log levels with spaces", {f"{ISTIOD}.logLevel": "a:info, b:info"}, "logLevel", "separated by commas"),
    ("chart's variable", {f"{ISTIOD}.environment": {"KUBECONFIG": "/x"}}, "environment.KUBECONFIG", "Leave it out"),
    (
        "whom istiod lets ask for others",
        {f"{ISTIOD}.environment": {"CA_TRUSTED_NODE_ACCOUNTS": "a/b"}},
        "environment.CA_TRUSTED_NODE_ACCOUNTS",
        "is set by Istio's chart or by this library",
    ),
    (
        "whom istiod lets ask for others, by the chart's values",
        {"revisions.0.chartValues": {"trustedZtunnelName": "a"}},
        "revisions.0.chartValues",
        "sets trustedZtunnelName, which this library sets",
    ),
    (
        "variable that keeps the split",
        {f"{ISTIOD}.environment": {"USE_REMOTE_CERTS": "true"}},
        "environment.USE_REMOTE_CERTS",
        "is set by Istio's chart or by this library",
    ),
    (
        "variable with a quote",
        {f"{ISTIOD}.environment": {"A": 'say "b"'}},
        "environment.A",
        "quotes it without escapes",
    ),
    ("variable of two lines", {f"{ISTIOD}.environment": {"A": "b\nc"}}, "environment.A", "line breaks"),
    ("variable's name with a space", {f"{ISTIOD}.environment": {"A B": "c"}}, "environment.A B", "Choose another name"),
    ("profile of istiod's chart", {"revisions.0.chartValues": {"profile": "remote"}}, "chartValues", "profile"),
    (
        "profile at the other place",
        {"revisions.0.chartValues": {"global": {"profile": "x"}}},
        "chartValues",
        "profile",
    ),
    (
        "profile on the data plane",
        {"memberships.0.chartValues": {"profile": "demo"}},
        "memberships.0.chartValues",
        "profile",
    ),
    (
        "chart's variable in the chart's values",
        {"revisions.0.chartValues": {"env": {"EXTERNAL_ISTIOD": "false"}}},
        "revisions.0.chartValues",
        "the field istiod.environment",
    ),
    (
        "variable of the split from elsewhere",
        {"revisions.0.chartValues": {"envVarFrom": [{"name": "USE_REMOTE_CERTS", "valueFrom": {}}]}},
        "revisions.0.chartValues",
        "sets USE_REMOTE_CERTS",
    ),
    ("number for a quantity", {f"{ISTIOD}.resources": {"cpuLimit": 2}}, "cpuLimit", 'in quotes, like cpuLimit: "2".'),
    (
        "number for a version",
        {"revisions.0.charts.version": 1.30},
        "revisions.0.charts.version",
        'in quotes, like version: "...".',
    ),
    ("true for a context", {"memberships.0.cluster": {"kubeconfig": True}}, "kubeconfig", 'like kubeconfig: "...".'),
    ("true for a variable", {f"{ISTIOD}.environment": {"A": True}}, "environment.A", "Put it in quotes."),
    ("number for a variable", {f"{ISTIOD}.environment": {"replicas": 5}}, "environment.replicas", "Put it in quotes."),
    ("nothing for text", {f"{ISTIOD}.logLevel": {}}, "logLevel", "Change its value"),
    (
        "renewal of the root before it begins",
        {"trust.root": {"lifetimeDays": 400}},
        "trust.root",
        "less than lifetimeDays",
    ),
    (
        "kubeconfig instead of its path",
        {"memberships.0.cluster": {"kubeconfig": "apiVersion: v1\nkind: Config"}},
        "memberships.0.cluster.kubeconfig",
        "path of a file, not its content",
    ),
    (
        "URL in place of a path",
        {"memberships.0.cluster": {"kubeconfig": "https://me:password@files.example.com/kubeconfig"}},
        "memberships.0.cluster.kubeconfig",
        "must be a path, not a URL",
    ),
]


@pytest.mark.parametrize(("changes", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD])
def test_one_clear_error(changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, document(changes))
    assert len(caught.value.problems) == 1
    problem = caught.value.problems[0]
    assert problem.field.endswith(as_field(field))
    assert words in str(problem)
    assert problem.fix


@pytest.mark.parametrize(("changes", "field", "words"), [pytest.param(*rest, id=name) for name, *rest in BAD])
def test_no_error_repeats_a_value(changes: dict[str, Any], field: str, words: str) -> None:
    secret = "s3cr3t-s3cr3t-s3cr3t"
    poisoned = {path: _poisoned(value, secret) for path, value in changes.items()}
    try:
        read_document(Mesh, document(poisoned))
    except InvalidInputError as error:
        assert secret not in str(error)


def _poisoned(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return f"{secret}{value}"
    if isinstance(value, dict):
        return {key: _poisoned(inner, secret) for key, inner in value.items()}
    return [_poisoned(inner, secret) for inner in value] if isinstance(value, list) else value


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, document({"name": "Demo", HOST: "192.0.2.1"}))
    assert {problem.field for problem in caught.value.problems} == {"name", as_field(HOST)}


@pytest.mark.parametrize("not_a_document", [None, [], "demo", 3])
def test_not_a_mapping(not_a_document: object) -> None:
    with pytest.raises(InvalidInputError, match="must be a mapping"):
        read_document(Mesh, not_a_document)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [demo\n")
    with pytest.raises(InvalidInputError, match=r"line 2.*is not valid YAML"):
        read_document_file(Mesh, broken)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_document_file(Mesh, tmp_path / "missing.yaml")
    for content in ("name: d\u00e9mo".encode("latin-1"), "name: demo".encode("utf-16"), bytes(range(256))):
        broken.write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"not UTF-8 text\. Save it as UTF-8"):
            read_document_file(Mesh, broken)
    with pytest.raises(InvalidInputError, match="must be the path of a file, not its text") as caught:
        read_document_file(Mesh, tmp_path / "name: demo\npassword: s3cr3t\n")
    assert "s3cr3t" not in str(caught.value)
    with pytest.raises(InvalidInputError, match=r"invalid character\. Correct the path"):
        read_document_file(Mesh, tmp_path / "a\0b")
    broken.write_text("")
    with pytest.raises(InvalidInputError, match="must be a mapping of fields to values, and is empty"):
        read_document_file(Mesh, broken)


def test_open_to_all_is_possible_when_said() -> None:
    mesh = read_document(Mesh, document({"revisions.0.exposure": {"openToAll": True}}))
    assert mesh.revisions[0].exposure.source_ranges == ()


@pytest.mark.parametrize(
    "changes",
    [
        {f"{ISTIOD}.logLevel": "debug"},
        {f"{ISTIOD}.logLevel": "default:none,validationController:debug,ip-autoallocate:fatal"},
        {f"{ISTIOD}.resources": {"cpuRequest": "2", "cpuLimit": "2000m", "memoryRequest": "1Gi", "memoryLimit": "1Gi"}},
        {f"{ISTIOD}.environment": {"GOMEMLIMIT": "1GiB", "MINE": "a/b"}},
        {RANGES: ["0.0.0.0/1", "128.0.0.0/2", "2001:db8::/32", "203.0.113.7/32"]},
        {f"{EXPOSURE}.annotations": {"service.beta.kubernetes.io/aws-load-balancer-type": "external", "a_B.c": ""}},
        {f"{EXPOSURE}.loadBalancerClass": "service.k8s.aws/nlb"},
        {f"{ACCESS}.certificateAuthority": CERTIFICATE + CERTIFICATE},
        {"memberships.0.network": ""},
        {"memberships.0.network": "East_1.a"},
        {"revisions.0.name": "r" * 43},
        {"revisions.0.charts.repository": "oci://registry.example.com:5000/istio"},
        {"crossNetwork": "gateways", "revisions.0.chartValues": MESH_NETWORKS},
        {"crossNetwork": "none", "revisions.0.chartValues": {"global": {"meshNetworks": {}}}},
        {"memberships": [{"network": ""}, {"name": "b", "network": ""}]},
        {HOST: "istiod.10.example.com"},
        {"revisions.0.chartValues": {"global": {"nativeNftables": True}, "volumes": [], "envVarFrom": []}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_meant_is_accepted(changes: dict[str, Any]) -> None:
    read_document(Mesh, document(changes))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("revisions.0.charts.repository", "https://user:s3cr3t@charts.example.com"),
        ("revisions.0.charts.repository", "https://charts.example.com/?token=s3cr3t"),
        (f"{ACCESS}.certificateAuthority", f"{PEM}s3cr3t"),
        (f"{ISTIOD}.environment", {"PASSWORD": 53124}),
    ],
)
def test_no_error_repeats_a_credential(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_document(Mesh, document({field: value}))
    assert "s3cr3t" not in str(caught.value)
    assert "53124" not in str(caught.value)


@pytest.mark.parametrize(
    ("quantity", "wanted"),
    [("500m", "0.5"), ("2", "2"), ("1.5", "1.5"), ("3k", "3000"), ("1G", "1e9"), ("1Ki", "1024"), ("2Gi", str(2**31))],
)
def test_quantities_in_their_base_unit(quantity: str, wanted: str) -> None:
    assert amount(quantity) == Decimal(wanted)


def test_a_part_of_an_authority_keeps_its_other_default() -> None:
    trust = read_document(
        Mesh, document({"trust": {"root": {"lifetimeDays": 7300}, "intermediate": {"renewBeforeDays": 90}}})
    ).trust
    assert (trust.root.lifetime_days, trust.root.renew_before_days) == (7300, 400)
    assert (trust.intermediate.lifetime_days, trust.intermediate.renew_before_days) == (365, 90)


def test_a_key_given_twice() -> None:
    text = "name: demo\nrevisions:\n- exposure: {sourceRanges: [203.0.113.0/24]}\n  exposure: {openToAll: true}\n"
    with pytest.raises(InvalidInputError) as caught:
        read_text(Mesh, text, "mesh.yaml")
    assert "exposure (line 4): is given twice" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("name: demo\nname2: s3cr3t: x", "(line 2)", "is not valid YAML"),
        ("name: a\n---\nname: b", "(line 2)", "begins a second document"),
        ("name: \ud800", "(file)", "holds an invalid number or character"),
        ("name: demo\nx: !!int s3cr3t", "(line 2)", "holds an invalid number or character"),
        ("name: demo\nx: !!float s3cr3t", "(line 2)", "holds an invalid number or character"),
        ("name: demo\nx: !!bool s3cr3t", "(line 2)", "holds an invalid number or character"),
        ("name: demo\nx: " + "9" * 5000, "(line 2)", "holds an invalid number or character"),
        ("name: demo\nx: *s3cr3t", "(line 2)", "has an alias without an anchor"),
        ("name: demo\nx: &s3cr3t [*s3cr3t]", "(line 2)", "has aliases that contain themselves"),
        ("name: demo\nx: !s3cr3t s3cr3t", "(line 2)", "has a tag, a merge (<<) or a kind of key"),
        ("name: demo\nx: {{ s3cr3t }}", "(line 2)", "has a tag, a merge (<<) or a kind of key"),
        ("name: demo\n<<: s3cr3t", "(line 2)", "has a tag, a merge (<<) or a kind of key"),
        ("[" * 5000, "(file)", "is nested too deeply"),
    ],
    ids=[
        "syntax",
        "two documents",
        "surrogate",
        "whole number",
        "number",
        "boolean",
        "digits",
        "alias",
        "alias of itself",
        "tag",
        "key",
        "merge",
        "depth",
    ],
)
def test_text_that_cannot_be_parsed(text: str, field: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_text(Mesh, text, "mesh.yaml")
    (problem,) = caught.value.problems
    assert (problem.field, words in problem.rule) == (field, True)
    assert "s3cr3t" not in str(caught.value)


def test_a_merged_key_is_not_given_twice() -> None:
    text = """
name: demo
revisions:
- istiod:
    resources: {cpuLimit: "1", memoryLimit: 1Gi}
    environment: &more
      <<: {A: merged, B: merged}
      A: own
  host: istiod.demo.example.com
  exposure: {sourceRanges: [203.0.113.0/24]}
  chartValues: {extra: {<<: *more, A: again}}
memberships:
- access: {apiServer: "https://api.user.example.com"}
"""
    (revision,) = read_text(Mesh, text, "mesh.yaml").revisions
    assert revision.istiod.environment == {"A": "own", "B": "merged"}
    assert revision.chart_values["extra"] == {"A": "again", "B": "merged"}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.29.2", "base/Chart.yaml: is too old"),
        ("1.23.0", "no remote profile"),
        ("", "one exact version"),
        ("1.30.0", None),
        ("1.31.0", None),
        ("1.32.0-rc.1", None),
        ("1.0.0", None),
    ],
)
def test_the_version_of_charts_in_a_directory(version: str, words: str | None, tmp_path: Path) -> None:
    for name in ("base/Chart.yaml", "istiod/files/profile-remote.yaml"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"name: base\nversion: {version}\n")
    charts = read_document(Mesh, document({"revisions.0.charts.path": str(tmp_path)})).revisions[0].charts
    if words is None:
        assert source(charts, "base") == {"chart": str(tmp_path / "base")}
    else:
        with pytest.raises(InvalidInputError, match=words):
            source(charts, "base")


def test_a_data_planes_document_has_no_definitions_to_install() -> None:
    """The stacks that read it install none: the stack `cluster` does."""
    with pytest.raises(InvalidInputError, match="crds: is not a field"):
        read_document(DataPlane, {"mesh": "demo", "crds": {"keepOnDestroy": False}})
