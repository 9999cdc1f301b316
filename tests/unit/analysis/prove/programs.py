"""Programs as data: which secret, whose, through what, into what, when. Hypothesis makes them.

A program is built in a `World` of the corpus, which speaks to Pulumi's SDK.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from tests.corpus.ways import WAYS
from tests.corpus.world import KEY_OUTPUTS, SCOPE, World, scope
from tests.corpus.wrappings import DISGUISES, WRAPPINGS, wrap

SERVERS: Final = {
    "cp": "https://cp.example.com:6443",
    "dp": "https://dp.example.com:6443",
    "other": "https://other.example.com:6443",
}
"""The control plane, and two data planes that are strangers to each other."""
NOBODY: Final = "nobody's component"
COMPONENTS: Final = {"MeshTrust": "hosted-mesh:index:MeshTrust", "DataPlaneAccess": "hosted-mesh:index:DataPlaneAccess"}
KEPT: Final = ("not kept", "kept before", "kept after")
STEPS: Final = ("in a document", "beside public", "without its mark", "cut in two", "hash", *WRAPPINGS, *DISGUISES)
TIMES: Final = ("first update", "second update", "inside apply")


@dataclass(frozen=True)
class Program:
    """One value on its way to a data plane.

    source: what kind of secret. owner: what component made it. kept: whether the control plane has it too, before or
    after the data plane. carrier: what it goes through. steps: what the program makes of it, one after the other. way:
    where it puts that. when: at which update, or in an object that is made once the value is known.
    """

    source: str
    owner: str = NOBODY
    kept: str = KEPT[0]
    carrier: str = "nothing"
    steps: tuple[str, ...] = ()
    way: str = "ConfigMap"
    when: str = TIMES[0]

    @property
    def kind(self) -> str:
        """The class in which agreement is counted."""
        steps = sorted({"wrapped" if s in WRAPPINGS else "disguised" if s in DISGUISES else s for s in self.steps})
        said = [self.source, self.kept, *steps]
        said += [self.owner] * (self.owner != NOBODY) + [f"through {self.carrier}"] * (self.carrier != "nothing")
        return ", ".join([*said, *[self.when] * (self.when != TIMES[0])])

    def build(self, world: World) -> None:
        value = SOURCES[self.source](world, self._parent(world))
        value = value.apply(lambda text: text or "nothing")  # nothing more is made where an update was refused
        if self.kept == KEPT[1]:
            world.secret("cp", "kept", {"value": value})
        used = CARRIERS[self.carrier](world, value)
        for step in self.steps:
            used = _used(world, step, used)
        here, way = scope(SCOPE.prefix, SCOPE.parent), {**WAYS, **OTHER_WAYS}[self.way]

        def arrive(text: str) -> None:
            with here:  # the SDK runs it later
                way(world, text)

        if self.when == TIMES[2]:
            used.apply(arrive)
        else:
            way(world, used)
        if self.kept == KEPT[2]:
            world.secret("cp", "kept", {"value": value})

    def _parent(self, world: World) -> dict[str, Any]:
        return {"parent": world.component("owner", COMPONENTS[self.owner])} if self.owner in COMPONENTS else {}


def _used(world: World, step: str, value: Any) -> Any:
    if step == "beside public":
        return world.concat("https://shop.example.com ", value)
    if step == "without its mark":
        return world.unmark(value)
    return value.apply(lambda text: _made(step, text))


def _made(step: str, text: str) -> str:
    if step == "in a document":
        return json.dumps({"a": [{"b": text}], "c": 1})
    if step == "hash":
        return hashlib.sha256(text.encode()).hexdigest()
    if step == "cut in two":
        return f"{text[: len(text) // 2]} and {text[len(text) // 2 :]}"
    return wrap(step, text)


# Where a value comes from --------------------------------------------------------------------------------------


def _key(output: str) -> Callable[[World, dict[str, Any]], Any]:
    def made(world: World, parent: dict[str, Any]) -> Any:
        kind, outputs = "tls:index/privateKey:PrivateKey", KEY_OUTPUTS
        found = world.make(kind, "made", {"algorithm": "ED25519"}, outputs, outputs[:3], **parent)
        return found.output(output)

    return made


def _certificate(world: World, parent: dict[str, Any]) -> Any:
    inputs = {
        "privateKeyPem": _key("privateKeyPem")(world, parent),
        "isCaCertificate": True,
        "validityPeriodHours": 8760,
        "earlyRenewalHours": 720,
        "allowedUses": ["cert_signing"],
        "subject": {"commonName": "made"},
    }
    kind = "tls:index/selfSignedCert:SelfSignedCert"
    return world.make(kind, "signed", inputs, ["certPem"], ["privateKeyPem"], **parent).output("certPem")


def _password(output: str) -> Callable[[World, dict[str, Any]], Any]:
    def made(world: World, parent: dict[str, Any]) -> Any:
        kind, outputs = "random:index/randomPassword:RandomPassword", ["result", "bcryptHash"]
        return world.make(kind, "made", {"length": 24}, outputs, outputs, **parent).output(output)

    return made


def _bytes(world: World, parent: dict[str, Any]) -> Any:
    kind, outputs = "random:index/randomBytes:RandomBytes", ["base64", "hex"]
    return world.make(kind, "made", {"length": 32}, outputs, outputs, **parent).output("base64")


def _id(world: World, parent: dict[str, Any]) -> Any:
    kind, outputs = "random:index/randomId:RandomId", ["hex", "b64Url", "dec"]
    return world.make(kind, "made", {"byteLength": 8}, outputs, **parent).output("hex")


def _cloud(world: World, parent: dict[str, Any]) -> Any:
    kind = "cloudflare:index/apiToken:ApiToken"
    return world.make(kind, "made", {"name": "dns"}, ["value"], ["value"], **parent).output("value")


def _configured(world: World, _: dict[str, Any]) -> Any:
    return world.configured(f"{SCOPE.prefix}token")


def _of_stack(name: str, output: str) -> Callable[[World, dict[str, Any]], Any]:
    return lambda world, _: world.output_of(f"organization/{SCOPE.prefix}mesh/{name}", output)


def _minted(side: str) -> Callable[[World, dict[str, Any]], Any]:
    """A token that a cluster made."""

    def made(world: World, parent: dict[str, Any]) -> Any:
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        data = world.object(side, "v1:Secret", "minted", body, **parent).output("data")
        return data.apply(lambda found: (found or {}).get("token", "bm90LXlldA=="))

    return made


SOURCES: Final[Mapping[str, Callable[[World, dict[str, Any]], Any]]] = {
    "password": _password("result"),
    "password's hash": _password("bcryptHash"),
    "key": _key("privateKeyPem"),
    "SSH key": _key("privateKeyOpenssh"),
    "public key": _key("publicKeyPem"),
    "certificate": _certificate,
    "bytes": _bytes,
    "id": _id,
    "cloud's key": _cloud,
    "configuration": _configured,
    "stack": _of_stack("trust", "token"),
    "stack's fact": _of_stack("trust", "host"),
    "data plane's stack": _of_stack("data-plane", "token"),
    "control plane's Secret": _minted("cp"),
    "data plane's Secret": _minted("dp"),
    "neighbour's Secret": _minted("other"),
}
_OWNED: Final = frozenset({"password", "password's hash", "key", "SSH key", "public key", "certificate", "bytes"})
"""What components make."""

# What it goes through ------------------------------------------------------------------------------------------


def _through_object(side: str, kind: str) -> Callable[[World, Any], Any]:
    def through(world: World, value: Any) -> Any:
        if kind == "Secret":
            data = world.secret(side, "through", {"value": value}).output("data")
            return data.apply(lambda found: (found or {}).get("value", "bm90LXlldA=="))
        data = world.config_map(side, "through", {"value": value}).output("data")
        return data.apply(lambda found: (found or {}).get("value", "not yet"))

    return through


def _through_component(world: World, value: Any) -> Any:
    """A component's output is what its children's inputs were."""
    world.component("through", "corpus:index:Box")
    return world.concat("", value)


CARRIERS: Final[Mapping[str, Callable[[World, Any], Any]]] = {
    "nothing": lambda _, value: value,
    "a component": _through_component,
    "the control plane's Secret": _through_object("cp", "Secret"),
    "the control plane's ConfigMap": _through_object("cp", "ConfigMap"),
    "the data plane's ConfigMap": _through_object("dp", "ConfigMap"),
}

# Where it arrives ----------------------------------------------------------------------------------------------


def _release(world: World, value: Any) -> Any:
    inputs = {"chart": "shop", "version": "1.0.0", "values": {"auth": {"value": value}}}
    return world.make("kubernetes:helm.sh/v3:Release", "release", inputs, side="dp")


def _bucket(world: World, value: Any) -> Any:
    return world.make("aws:s3/bucketObject:BucketObject", "file", {"bucket": "shop", "key": "a", "content": value})


def _command(world: World, value: Any) -> Any:
    return world.make("command:local:Command", "run", {"create": "deploy", "environment": {"VALUE": value}})


def _repository(world: World, value: Any) -> Any:
    inputs = {"repository": "shop", "secretName": "VALUE", "plaintextValue": value}
    return world.make("github:index/actionsSecret:ActionsSecret", "secret", inputs)


def _kept_by_control_plane(world: World, value: Any) -> Any:
    return world.config_map("cp", "own", {"value": value})


OTHER_WAYS: Final[Mapping[str, Callable[[World, Any], Any]]] = {
    "release": _release,
    "bucket": _bucket,
    "command": _command,
    "repository": _repository,
    "control plane": _kept_by_control_plane,
}

programs: Final = st.builds(
    Program,
    source=st.sampled_from(list(SOURCES)),
    owner=st.sampled_from([NOBODY, *COMPONENTS]),
    kept=st.sampled_from(KEPT),
    carrier=st.sampled_from(list(CARRIERS)),
    steps=st.lists(st.sampled_from(STEPS), max_size=2, unique=True).map(tuple),
    way=st.sampled_from([*WAYS, *OTHER_WAYS]),
    when=st.sampled_from(TIMES),
).map(lambda one: one if one.source in _OWNED else dataclasses.replace(one, owner=NOBODY))


@dataclass(frozen=True)
class Batch:
    """Many programs in one stack. They share nothing: each has a prefix of its own, by its place among all."""

    programs: Sequence[Program]
    places: Sequence[int] = ()

    def build(self, world: World) -> None:
        world.provider("cp"), world.provider("dp"), world.provider("other")
        for place, program in zip(self.places or range(len(self.programs)), self.programs, strict=True):
            with scope(f"p{place}-", world.component(f"p{place}-", "corpus:index:Box")):
                program.build(world)
