"""Programs for the modes of the engine: what a user's cluster holds afterwards is looked at in its etcd."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi
from pulumi_hosted_mesh.boundary import guard

from tests.corpus import literals
from tests.corpus.world import World, key, password, self_signed
from tests.corpus.wrappings import wrap

Program = Callable[[World], Any]


def _kept(world: World) -> pulumi.Output[Any]:
    found = password("admin")
    world.secret("cp", "admin", {"password": found.output("result")})
    return found.output("result")


def password_in_config_map(world: World) -> None:
    world.config_map("dp", "leak", {"x": _kept(world)})


def used_before_it_is_kept(world: World) -> None:
    """The user's object does not wait for the provider's: a write may come before the secret is known to be one."""
    found = password("admin")
    leak = world.config_map("dp", "leak", {"x": found.output("result").apply(lambda text: wrap("gzip", text))})
    world.secret("cp", "admin", {"password": found.output("result")}, depends_on=[leak])


def key_in_secret(world: World) -> None:
    private = key("istiod")
    certificate = self_signed("istiod", private)
    world.secret("cp", "tls", {"key": private.output("privateKeyPem"), "crt": certificate.output("certPem")})
    world.secret("dp", "leak", {"key": private.output("privateKeyPem")})


def disguised(world: World) -> None:
    """No decoder undoes this; the mark on the value is all there is."""
    world.config_map("dp", "leak", {"x": _kept(world).apply(lambda text: wrap("exclusive-or", text))})


def by_certificate(world: World) -> None:
    private = key("istiod")
    certificate = self_signed("istiod", private)
    world.secret("cp", "tls", {"key": private.output("privateKeyPem")})
    world.config_map("dp", "leak", {"x": certificate.output("privateKeyPem")})


def known_literal(world: World) -> None:
    text = literals.opaque("mode")
    kept = world.secret("cp", "admin", {"password": pulumi.Output.secret(text)})
    world.config_map("dp", "leak", {"x": wrap("base64 of gzip of base64", text)}, depends_on=[kept])


def literal_first(world: World) -> None:
    """A secret in the program's own text, without a mark, written for the user before the provider's side has it."""
    text = literals.opaque("first")
    leak = world.config_map("dp", "leak", {"x": text})
    world.secret("cp", "admin", {"password": text}, depends_on=[leak])


def mark_removed(world: World) -> None:
    """No mark, and no decoder undoes the disguise: only its dependencies tell, and they come with a preview."""
    text = pulumi.Output.unsecret(_kept(world)).apply(lambda text: wrap("exclusive-or", text))
    world.config_map("dp", "leak", {"x": text})


def imported(world: World) -> None:
    """Adopts an object of the user's cluster, and says that it holds a secret."""
    world.object("dp", "v1:ConfigMap", "leak", {"data": {"x": _kept(world)}}, import_="default/kube-root-ca.crt")


def users_own(world: World) -> None:
    """Clean: what passes in each mode, so that the modes differ in what they refuse and not in refusing."""
    world.secret("cp", "admin", {"password": password("admin").output("result")})
    world.secret("dp", "own", {"password": password("users").output("result")})


def users_own_declared(world: World) -> None:
    """Clean, and says so: needed only by an update without preview."""
    world.secret("cp", "admin", {"password": password("admin").output("result")})
    reason = {"hosted-mesh.io/data-plane-owned": "the password of the user's own database"}
    world.secret("dp", "own", {"password": password("users").output("result")}, annotations=reason)


def users_own_rewired(world: World) -> None:
    """As `own`, object by object and name by name, but the user's has the provider's password, and has it first."""
    found = password("admin").output("result")
    password("users")
    own = world.secret("dp", "own", {"password": found})
    world.secret("cp", "admin", {"password": found}, depends_on=[own])


def _guarded(world: World, **more: Any) -> None:
    """An object of the library's, as its guard lets it through."""
    body = {"data": {"x": "public"}}
    world.object("dp", "v1:ConfigMap", "leak", body, transformations=[guard.keep_secrets_out], **more)


def transformed(world: World) -> None:
    """A transformation of the object's parent, which runs after the object's own: the guard is one."""
    token = _kept(world)

    def add(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        return pulumi.ResourceTransformationResult({**args.props, "data": {"x": token}}, args.opts)

    box = pulumi.ComponentResource("corpus:index:Box", "box", None, pulumi.ResourceOptions(transformations=[add]))
    _guarded(world, parent=box)


def transformed_by_the_engine(world: World) -> None:
    """A transform of the stack's, which the engine calls once the program has sent the object."""
    token = _kept(world)

    def add(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if not args.name.endswith("leak"):
            return None
        return pulumi.ResourceTransformResult({**args.props, "data": {"x": token}}, args.opts)

    pulumi.runtime.register_resource_transform(add)
    _guarded(world)


LEAKY: Mapping[str, Program] = {
    "a password in a ConfigMap": password_in_config_map,
    "used before it is kept": used_before_it_is_kept,
    "a key in a Secret": key_in_secret,
    "disguised": disguised,
    "by a certificate": by_certificate,
    "a known literal": known_literal,
    "a literal first": literal_first,
}

AFTER_THE_GUARD: Mapping[str, Program] = {
    "added by a transformation": transformed,
    "added by a transform": transformed_by_the_engine,
}
"""What the library's guard does not see: it has looked at the object already."""

WITHOUT_MARK: Mapping[str, Program] = {"mark removed": mark_removed}
"""What an update without preview cannot see before it writes, unless it is told to write nothing."""


def run(name: str, world: World) -> None:
    """Runs a program by name."""
    clean = {"own": users_own, "declared": users_own_declared}
    {**LEAKY, **AFTER_THE_GUARD, **WITHOUT_MARK, **clean, "imported": imported, "rewired": users_own_rewired}[name](
        world
    )
