"""Charts, the one component of the provider here. Each object in a chart is a resource of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Final

from sandbox.plugins.kubernetes.api_server.discovery import ClusterError, Discovery
from sandbox.plugins.kubernetes.charts import helm, manifests
from sandbox.plugins.kubernetes.charts.monitor import Monitor
from sandbox.plugins.kubernetes.objects import (
    SKIP_AWAIT,
    Object,
    annotation,
    gvk_of,
    is_secret,
    qualified_name,
    set_in,
)
from sandbox.plugins.kubernetes.settings import Settings
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import (
    ResourceReference,
    Secret,
    contains_unknown,
    plain,
    read_struct,
    write_struct,
)

_AT_ONCE: Final = 64  # registrations on their way at the same time
_RESOURCE_POLICY: Final = "helm.sh/resource-policy"
_REFUSED_CHART_ARGS: Final = (
    "postRenderer",
    "verify",
    "keyring",
    "devel",
    "dependencyUpdate",
    "plainHttp",
    "includeHooks",
    "resourcePrefix",
    "valueYamlFiles",
)

Arguments = Mapping[str, Any]
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Components:
    """Constructs charts in one cluster: that of `discovery` and `settings`. version: of this plug-in."""

    discovery: Discovery
    settings: Settings
    engine: Engine
    version: str

    def construct(self, request: Any) -> Any:
        if request.type != "kubernetes:helm.sh/v4:Chart":
            raise NotImplementedHere(f"the component {request.type}")
        monitor = Monitor(request, self.version)
        urn = monitor.register_component()
        given = read_struct(request.inputs)
        response = provider_pb2.ConstructResponse(urn=urn)
        response.state.SetInParent()
        if contains_unknown(given):
            self.engine.log("warning", "Input properties have unknown values. Preview is incomplete.", urn)
            return response
        arguments = plain(given)

        def warn(text: str) -> None:
            self.engine.log("warning", text, urn)

        objects = self._chart(request.name, arguments)
        skip_await = bool(arguments.get("skipAwait"))
        resources = self._register(monitor, urn, objects, prefix=request.name, skip_await=skip_await, warn=warn)
        write_struct({"resources": resources}, response.state)
        response.stateDependencies["resources"].urns.extend(one.urn for one in resources)
        return response

    def _chart(self, name: str, arguments: Arguments) -> list[Object]:
        for refused in _REFUSED_CHART_ARGS:
            if arguments.get(refused) not in (None, False, []):
                raise NotImplementedHere(f"{refused} of a Chart")
        repository = arguments.get("repositoryOpts") or {}
        for option in repository:
            if option != "repo" and repository[option]:
                raise NotImplementedHere(f"repositoryOpts.{option} of a Chart")
        namespace = arguments.get("namespace") or self.settings.default_namespace
        chart = helm.Chart(
            release=arguments.get("name") or name,
            namespace=namespace,
            chart=arguments.get("chart") or "",
            version=arguments.get("version") or "",
            repository=repository.get("repo") or "",
            values=arguments.get("values") or {},
            include_crds=not arguments.get("skipCrds"),
        )
        return manifests.placed(manifests.parse(self._render(chart)), namespace, self.discovery)

    def _render(self, chart: helm.Chart) -> str:
        try:
            self.discovery.refresh()
            return helm.render(chart, self.discovery.server_version(), self.discovery.kinds())
        except ClusterError as error:
            raise ProviderError(f"could not get server version and kinds from Kubernetes: {error}") from None

    def _register(
        self, monitor: Monitor, parent: str, objects: Sequence[Object], *, prefix: str, skip_await: bool, warn: Warn
    ) -> list[ResourceReference]:
        """Registers the objects, each after those that it depends on; those that may are made at the same time."""
        edges = manifests.dependencies(objects)
        order = list(TopologicalSorter(edges).static_order())
        done: dict[int, Future[ResourceReference]] = {}

        def register(index: int) -> ResourceReference:
            obj = objects[index]
            depends_on = [done[edge].result().urn for edge in sorted(edges[index])]
            token, name, properties = as_resource(obj, prefix, skip_await=skip_await)
            policy = annotation(obj, _RESOURCE_POLICY)
            if policy not in ("", "keep"):
                warn(f'Unsupported Helm resource policy "{policy}"')
            return monitor.register_child(
                token, name, parent, properties, depends_on=depends_on, retain=policy == "keep"
            )

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for index in order:
                done[index] = pool.submit(register, index)
            return [done[index].result() for index in order]


def as_resource(obj: Object, prefix: str, *, skip_await: bool = False) -> tuple[str, str, dict[str, Any]]:
    """(type token, name, properties) by which an object in a component is registered.

    The name is "prefix:namespace/name", or "prefix:name" for cluster-wide objects.
    """
    gvk = gvk_of(obj)
    if skip_await:
        set_in(obj, "true", "metadata", "annotations", SKIP_AWAIT)
    properties = dict(obj)
    if is_secret(obj):
        properties |= {key: Secret(properties[key]) for key in ("data", "stringData") if key in properties}
    group_version = gvk.api_version if gvk.group else f"core/{gvk.version}"
    return f"kubernetes:{group_version}:{gvk.kind}", f"{prefix}:{qualified_name(obj)}", properties
