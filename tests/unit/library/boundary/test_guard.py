"""The guard sees a secret in whatever shape the SDK's classes hold it, and lets through what is said to be fine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest
import yaml
from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.vocabulary import TYPE_MESH_TRUST
from pulumi_kubernetes import apps, core, meta

from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.program import UNKNOWN, Registered, run, secret

KEY = "the-root-key"
CERTIFICATE = "the-root-certificate"
ANSWERS = {
    "root-key": {"pem": secret(KEY)},
    "certificate": {"pem": secret(CERTIFICATE)},
    "kept": {"data": secret({"password": "cGFzc3dvcmQ="})},
}
REASON = "a password of the user's own"


class Made(pulumi.CustomResource):
    pem: pulumi.Output[Any]

    def __init__(self, kind: str, name: str, parent: pulumi.Resource) -> None:
        super().__init__(kind, name, {"pem": None}, pulumi.ResourceOptions(parent=parent))


class Deployed:
    """Both clusters, the control plane's key, and a component for the user's objects."""

    def __init__(self) -> None:
        self.trust = pulumi.ComponentResource(TYPE_MESH_TRUST, "trust")
        self.key = Made("tls:index/privateKey:PrivateKey", "root-key", self.trust).pem
        self.box = pulumi.ComponentResource("test:index:Box", "box")
        self.control_plane = ControlPlaneCluster(kubeconfig=yaml.safe_dump(content()), context="provider")
        self.data_plane = DataPlaneCluster(kubeconfig=yaml.safe_dump(content()), context="user")
        self.opts = self.data_plane.options(self.box)

    def certificate(self) -> pulumi.Output[Any]:
        return Made("tls:index/selfSignedCert:SelfSignedCert", "certificate", self.trust).pem

    def kept_at_the_provider(self) -> pulumi.Output[Any]:
        """A value of a Secret in the provider's cluster, which none of our components made."""
        kept = core.v1.Secret("kept", string_data={"password": "x"}, opts=self.control_plane.options(self.box))
        password: pulumi.Output[Any] = kept.data.apply(lambda data: data["password"])
        return password


def config_map(deployed: Deployed, value: Any) -> None:
    core.v1.ConfigMap("leak", data={"k": value}, opts=deployed.opts)


def pod(deployed: Deployed, value: Any) -> None:
    """Four classes deep, in a list."""
    env = core.v1.EnvVarArgs(name="CA", value=value)
    container = core.v1.ContainerArgs(name="app", image="app", env=[env])
    template = core.v1.PodTemplateSpecArgs(
        metadata=meta.v1.ObjectMetaArgs(labels={"app": "a"}), spec=core.v1.PodSpecArgs(containers=[container])
    )
    spec = apps.v1.DeploymentSpecArgs(selector=meta.v1.LabelSelectorArgs(match_labels={"app": "a"}), template=template)
    apps.v1.Deployment("leak", spec=spec, opts=deployed.opts)


def custom(deployed: Deployed, props: dict[str, Any]) -> None:
    pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "leak", props, deployed.opts)


def length(deployed: Deployed) -> pulumi.Output[str]:
    return guard.declassify(deployed.key.apply(len).apply(str), "the length only")


async def later(value: Any) -> Any:
    return value


LEAKS: dict[str, tuple[Callable[[Deployed], Any], str]] = {
    "typed metadata": (
        lambda s: core.v1.ConfigMap("leak", metadata=meta.v1.ObjectMetaArgs(annotations={"k": s.key}), opts=s.opts),
        "metadata.annotations.k",
    ),
    "the same as a dictionary": (
        lambda s: core.v1.ConfigMap("leak", metadata={"annotations": {"k": s.key}}, opts=s.opts),
        "metadata.annotations.k",
    ),
    "typed, as an Output": (
        lambda s: core.v1.ConfigMap(
            "leak", metadata=pulumi.Output.from_input("x").apply(lambda _: typed(s.key)), opts=s.opts
        ),
        "metadata.annotations.k",
    ),
    "a name": (
        lambda s: core.v1.ConfigMap("leak", metadata=meta.v1.ObjectMetaArgs(name=s.key), opts=s.opts),
        "metadata.name",
    ),
    "deep in classes": (lambda s: pod(s, s.key), "spec.template.spec.containers[0].env[0].value"),
    "a dictionary in classes": (
        lambda s: core.v1.Pod(
            "leak",
            spec=core.v1.PodSpecArgs(containers=[{"name": "a", "args": [pulumi.Output.concat("--ca=", s.key)]}]),
            opts=s.opts,
        ),
        "spec.containers[0].args[0]",
    ),
    "data": (lambda s: config_map(s, s.key), "data.k"),
    "a whole dictionary": (
        lambda s: core.v1.ConfigMap("leak", data=s.key.apply(lambda key: {"k": key}), opts=s.opts),
        "leak.data",
    ),
    "an Output of a dictionary with an Output": (
        lambda s: core.v1.ConfigMap(
            "leak", data=pulumi.Output.from_input("x").apply(lambda x: {"k": s.key}), opts=s.opts
        ),
        "data.k",
    ),
    "string_data of a Secret": (
        lambda s: core.v1.Secret("leak", string_data={"k": s.key, "n": "x"}, opts=s.opts),
        "leak.string_data",
    ),
    "data of a SecretPatch": (
        lambda s: core.v1.SecretPatch(
            "leak", metadata=meta.v1.ObjectMetaPatchArgs(name="x"), data={"k": s.key}, opts=s.opts
        ),
        "leak.data",
    ),
    "a certificate and a key together": (
        lambda s: core.v1.Secret("leak", string_data={"c": s.certificate(), "k": s.key}, opts=s.opts),
        "from root-key",
    ),
    "a certificate and a key together, outside a Secret": (
        lambda s: config_map(s, pulumi.Output.concat(s.certificate(), s.key)),
        "from root-key",
    ),
    "a certificate resource's secret, outside a Secret": (lambda s: config_map(s, s.certificate()), "data.k"),
    "an asset": (lambda s: custom(s, {"binary": s.key.apply(pulumi.StringAsset)}), "leak.binary"),
    "an archive": (
        lambda s: custom(s, {"x": s.key.apply(lambda k: pulumi.AssetArchive({"ca": pulumi.StringAsset(k)}))}),
        "leak.x",
    ),
    "a coroutine": (lambda s: custom(s, {"data": later({"k": s.key})}), "leak.data"),
    "a tuple": (lambda s: custom(s, {"data": ("x", s.key)}), "leak.data[1]"),
    "another stack's": (lambda s: config_map(s, pulumi.Output.secret(references(s))), "data.k"),
    "an object of the provider's cluster": (lambda s: config_map(s, s.kept_at_the_provider()), "data.k"),
    "said to be the user's, but made by the trust": (
        lambda s: config_map(s, guard.data_plane_secret(s.key, REASON)),
        "data.k",
    ),
    "the user's, with the control plane's added": (
        lambda s: config_map(s, pulumi.Output.concat(guard.data_plane_secret(references(s), REASON), s.key)),
        "from root-key",
    ),
    "declassified, with the secret itself added": (
        lambda s: config_map(s, pulumi.Output.concat(length(s), s.key)),
        "data.k",
    ),
}


def typed(key: Any) -> meta.v1.ObjectMetaArgs:
    return meta.v1.ObjectMetaArgs(annotations={"k": key})


def references(deployed: Deployed) -> pulumi.Output[Any]:
    """A secret of another stack's."""
    other: pulumi.Output[Any] = Made("pulumi:pulumi:StackReference", "other", deployed.box).pem
    return pulumi.Output.secret(other)


FINE: dict[str, tuple[Callable[[Deployed], Any], Callable[[Registered], Any], Any, bool]] = {
    "a public fact": (lambda s: config_map(s, "host"), lambda it: it.inputs["data"]["k"], "host", False),
    "a typed public fact": (
        lambda s: core.v1.ConfigMap("leak", metadata=typed(pulumi.Output.from_input("host")), opts=s.opts),
        lambda it: it.inputs["metadata"]["annotations"]["k"],
        "host",
        False,
    ),
    "names of the schema": (
        lambda s: pod(s, pulumi.Output.from_input("x")),
        lambda it: it.inputs["spec"]["selector"]["matchLabels"],
        {"app": "a"},
        False,
    ),
    "the mesh's certificate in a Secret": (
        lambda s: core.v1.Secret("leak", string_data={"c": s.certificate()}, opts=s.opts),
        lambda it: it.inputs["stringData"]["c"],
        CERTIFICATE,
        True,
    ),
    "the mesh's certificate in a SecretPatch": (
        lambda s: core.v1.SecretPatch("leak", metadata={"name": "x"}, data={"c": s.certificate()}, opts=s.opts),
        lambda it: it.inputs["data"]["c"],
        CERTIFICATE,
        True,
    ),
    "declassified": (
        lambda s: config_map(s, length(s)),
        lambda it: it.inputs["data"]["k"],
        "12",
        False,
    ),
    "made from the declassified, in a Secret": (
        lambda s: core.v1.Secret(
            "leak",
            string_data={"k": pulumi.Output.concat("<", length(s), ">")},
            opts=s.opts,
        ),
        lambda it: it.inputs["stringData"]["k"],
        "<12>",
        True,
    ),
    "the user's own in another stack": (
        lambda s: core.v1.Secret(
            "leak", string_data={"k": guard.data_plane_secret(references(s), REASON)}, opts=s.opts
        ),
        lambda it: it.inputs["stringData"]["k"],
        "theirs",
        True,
    ),
    "the user's own in the provider's cluster": (
        lambda s: config_map(s, guard.data_plane_secret(s.kept_at_the_provider(), REASON)),
        lambda it: it.inputs["data"]["k"],
        "cGFzc3dvcmQ=",
        True,
    ),
}


def scene_with(build: Callable[[Deployed], Any]) -> Callable[[], None]:
    def program() -> None:
        build(Deployed())

    return program


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("name", LEAKS)
def test_refused_before_it_is_registered(name: str, preview: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And printed at once: what Pulumi prints at the program's end may come too late."""
    build, words = LEAKS[name]
    printed: list[str] = []
    monkeypatch.setattr(pulumi.log, "error", printed.append)
    found: list[Registered] = []
    answers = {**ANSWERS, "other": {"pem": secret("theirs")}}
    with pytest.raises(InvalidInputError, match="is a control-plane secret") as refused:
        run(scene_with(build), outputs=answers, preview=preview, into=found)
    assert words in str(refused.value)
    assert str(refused.value) in printed
    assert KEY not in "".join(printed)
    assert "leak" not in [one.name for one in found]


@pytest.mark.parametrize("name", FINE)
def test_let_through_as_it_is(name: str) -> None:
    build, read, value, is_secret = FINE[name]
    answers = {**ANSWERS, "other": {"pem": secret("theirs")}}
    found = run(scene_with(build), outputs=answers)
    (sent,) = [one for one in found if one.name == "leak"]
    assert read(sent) == value
    assert bool(sent.secrets) is is_secret


@pytest.mark.parametrize(
    ("build", "refused"),
    [
        (lambda s: config_map(s, s.key), True),
        (lambda s: core.v1.Secret("leak", string_data={"k": s.key}, opts=s.opts), True),
        (lambda s: config_map(s, guard.declassify(s.key.apply(len).apply(str), "the length only")), False),
        (lambda s: config_map(s, guard.data_plane_secret(references(s), REASON)), False),
    ],
)
def test_what_is_not_known_yet_is_judged_by_its_source(build: Callable[[Deployed], Any], refused: bool) -> None:
    found: list[Registered] = []
    answers = {"root-key": {"pem": secret(UNKNOWN)}, "other": {"pem": secret(UNKNOWN)}}
    if refused:
        with pytest.raises(InvalidInputError, match="from root-key"):
            run(scene_with(build), outputs=answers, preview=True, into=found)
        return
    run(scene_with(build), outputs=answers, preview=True, into=found)
    (sent,) = [one for one in found if one.name == "leak"]
    assert sent.inputs["data"]["k"] == UNKNOWN


def test_a_release_keeps_what_the_engine_is_told_of_dependencies() -> None:
    async def program() -> None:
        key = Deployed().key
        original = {await source.urn.future() for source in await key.resources()}
        for released in (guard.declassify(key, REASON), guard.data_plane_secret(key, REASON)):
            assert {await source.urn.future() for source in await released.resources()} == original
            assert await released.future() == KEY

    run(program, outputs=ANSWERS)


@pytest.mark.parametrize("verb", [guard.declassify, guard.data_plane_secret])
def test_a_release_wants_a_reason(verb: Callable[[Any, str], Any]) -> None:
    with pytest.raises(ValueError, match="requires a reason"):
        verb(None, " ")


def test_a_transformation_above_an_object_comes_after_the_guard() -> None:
    """The limit, as documented: what it adds the guard does not see. The policies do (tests/engine/policies)."""

    def program() -> None:
        deployed = Deployed()

        def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
            return pulumi.ResourceTransformationResult({**args.props, "data": {"k": deployed.key}}, args.opts)

        above = pulumi.ResourceOptions(transformations=[add])
        deployed.opts = deployed.data_plane.options(pulumi.ComponentResource("test:index:Box", "above", {}, above))
        config_map(deployed, "public")

    (sent,) = [one for one in run(program, outputs=ANSWERS) if one.name == "leak"]
    assert sent.inputs["data"] == {"k": KEY}
