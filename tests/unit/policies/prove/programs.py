"""Programs as data: which secrets, whose, through what, into what of a user's cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi
from pulumi.runtime import settings

from tests.corpus import literals
from tests.corpus.ways import WAYS
from tests.corpus.world import SCOPE, Box, World, key, password, random_bytes, reference, scope, self_signed
from tests.corpus.wrappings import DISGUISES, WRAPPINGS, wrap
from tests.unit.policies.prove.in_process import Local, secret_of_world

SOURCES: Final = ("key", "password", "bytes", "configuration", "stack", "control plane's Secret", "user's Secret")
OWNERS: Final = ("nobody's component", "MeshTrust", "DataPlaneAccess")
COMPONENTS: Final = {"MeshTrust": "hosted-mesh:index:MeshTrust", "DataPlaneAccess": "hosted-mesh:index:DataPlaneAccess"}
USES: Final = ("as it is", "in a document", "without its mark", "public half", "beside public", *WRAPPINGS, *DISGUISES)


@dataclass(frozen=True)
class Flow:
    """One value on its way into the user's cluster.

    source: what kind of secret. owner: what component made it. kept: whether the provider's cluster has it too, and
    kept_first: whether that is registered before the user's object. use: what the program makes of it. way: where it
    puts that.
    """

    source: str
    owner: str
    kept: bool
    kept_first: bool
    use: str
    way: str

    @property
    def kind(self) -> str:
        """The class in which agreement is counted."""
        use = "wrapped" if self.use in WRAPPINGS else "disguised" if self.use in DISGUISES else self.use
        owner = "" if self.owner == OWNERS[0] else f" of {self.owner}"
        return f"{self.source}{owner}, {'kept' if self.kept else 'not kept'}, {use}"

    def build(self, world: World) -> None:
        component = COMPONENTS.get(self.owner)
        parent = {"parent": Box("owner", component)} if component else {}
        private, public = map(_there, self._source(world, parent))
        if self.kept and self.kept_first:
            world.secret("cp", "kept", {"value": private})
        WAYS[self.way](world, self._used(private, public))
        if self.kept and not self.kept_first:
            world.secret("cp", "kept", {"value": private})

    def _source(self, world: World, parent: dict[str, Any]) -> tuple[Any, Any]:
        """A secret, and what of it is public."""
        if self.source == "key":
            found = key("made", "ECDSA", **parent)
            return found.output("privateKeyPem"), self_signed("made", found).output("certPem")
        if self.source == "password":
            return password("made", **parent).output("result"), "admin"
        if self.source == "bytes":
            return random_bytes("made").output("base64"), "32"
        if self.source == "configuration":
            return configured(), "shop.example.com"
        if self.source == "stack":
            stack = reference(f"organization/mesh/{_prefix()}trust")
            return stack.get_output("token"), stack.get_output("host")
        side = "cp" if self.source.startswith("control") else "dp"
        meta = {"annotations": {"kubernetes.io/service-account.name": "default"}}
        body = {"type": "kubernetes.io/service-account-token", "metadata": meta}
        data = world.object(side, "v1:Secret", "minted", body).output("data")
        return data.apply(lambda found: (found or {}).get("token", "bm90LXlldA==")), "default"

    def _used(self, private: pulumi.Output[str], public: pulumi.Output[str]) -> Any:
        if self.use == "as it is":
            return private
        if self.use == "public half":
            return public
        if self.use == "beside public":
            return pulumi.Output.concat(public, " ", private)
        if self.use == "in a document":
            return pulumi.Output.json_dumps({"a": [{"b": private}], "c": 1})
        if self.use == "without its mark":
            return pulumi.Output.unsecret(private)
        return private.apply(lambda text: wrap(self.use, text))


def _there(value: Any) -> pulumi.Output[str]:
    """A text, also where an update was refused and nothing more is made."""
    found: pulumi.Output[str] = pulumi.Output.from_input(value).apply(lambda text: text or "nothing")
    return found


def configured() -> Any:
    """Secret configuration: in the oracle's runs made up anew, in the pack's one text."""
    name = f"{_prefix()}token"
    if isinstance(settings.get_monitor(), Local):
        return secret_of_world(name, "kq7zw93ka0ck2tbn4xhd81mv")
    return pulumi.Output.secret(literals.opaque(name))


def _prefix() -> str:
    return SCOPE.prefix


@dataclass(frozen=True)
class Batch:
    """Many programs in one stack. They share nothing: each has a prefix of its own."""

    flows: Sequence[Flow]

    def build(self, world: World) -> None:
        for place, flow in enumerate(self.flows):
            with scope(f"p{place}-", Box(f"p{place}")):
                flow.build(world)
