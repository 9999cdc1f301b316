"""No control-plane secret reaches a data plane: by flow, by value, by shape. Each detector can fail a run alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.annotations import declassified, is_annotated
from hosted_mesh_plan.model import IN_SECRET, Resource
from hosted_mesh_plan.owners import CONTROL_PLANE
from hosted_mesh_plan.tree import UNKNOWN, Path, at, is_covered, leaves, show

from ..detect.flow.taint import UNCLASSIFIED
from ..detect.leaf.names import names_clouds_credential
from ..detect.secrets.resource_types import CHART_TYPES, makes_what_opens
from ..detect.shape.credential_forms import Kind
from ..detect.shape.shapes import Shape, shapes, shapes_in_tree
from ..detect.value.logins import NO_LOGINS
from ..evaluation.certificates import holds_certificate_of_its_key
from ..evaluation.context import Context
from ..evaluation.finding import Severity, Undeclared
from ..evaluation.rule import Place, Rule
from ..evaluation.settings import schema_of
from .whose import ONE_TENANTS, rests_on_nobody, short, unsaid

CURE_FLOW: Final = (
    "Pass a public fact instead (a certificate, a public key, a host name). If the value is public although it is made "
    f"from a secret, such as a hash, declare it on the resource: annotation {vocabulary.DECLASSIFY_ANNOTATION}: "
    '"<property>: <reason>".'
)
CURE_VALUE: Final = (
    "Remove the value: no annotation allows a control-plane secret that is there byte for byte. Rotate it if it was "
    "ever written."
)
CURE_SHAPE: Final = (
    "Remove the credential, or keep it in a Secret of the data plane's own. If it belongs to the data plane, declare "
    f'that: annotation {vocabulary.DATA_PLANE_OWNED_ANNOTATION}: "<reason>".'
)
WHOSE: Final = {CONTROL_PLANE: "a control-plane secret", UNCLASSIFIED: f"a secret of {UNCLASSIFIED}"}
UNEXPLAINED: Final = "is marked secret, and nothing shows that it is the data plane's own"
COPIED: Final = "spec.selector.secret"
PARTS_OF_KUBECONFIG: Final = frozenset(
    {Kind.PRIVATE_KEY, Kind.CLIENT_KEY, Kind.SERVICE_ACCOUNT_TOKEN, Kind.BEARER_TOKEN}
)
_OF_CHARTS: Final = frozenset({"values", "valuesContent", "valuesObject"})
"""Names of the charts' values in objects of operators that install charts."""
_IN_PARTS: Final = ("kubernetes:yaml:", "kubernetes:yaml/", "kubernetes:kustomize:", "kubernetes:kustomize/")


def flows(context: Context) -> Iterator[tuple[Resource, str, str]]:
    """Paths from control-plane secrets to data-plane resources, resource by resource."""
    for leak in context.flow.leaks():
        allowed = declassified(leak.resource)
        places = leak.places or ((leak.property,),)
        if allowed and all(is_covered(show(place), allowed) for place in places):
            continue
        where = ", ".join(context.show(place) for place in places[:3]) + (" ..." if len(places) > 3 else "")
        whose = WHOSE.get(leak.owner, "a secret of another data plane")
        hops = [f"{short(hop.urn)} (as {hop.property})" for hop in leak.path]
        way = " -> ".join([*hops, short(leak.resource.urn)])
        asked = unsaid(context, leak.path[0].urn, leak.resource, leak.property, leak.owner)
        what = f"{whose} flows here: {way}{asked}"
        undeclared = rests_on_nobody(context, leak.path[0].urn, leak.resource, leak.owner)
        yield leak.resource, where, Undeclared(what) if undeclared else what
    for resource, store, secret in context.owners.pushed_away():
        kept = (leaf for leaf in leaves(secret.asked) if leaf.path[:1] in IN_SECRET)
        own = any(not context.flow.is_all_from_others(secret, leaf) for leaf in kept)
        if own and not is_covered(COPIED, declassified(resource)):
            yield (
                resource,
                COPIED,
                f"copies Secret {secret.object_name or secret.name} to {store}, a data plane's store",
            )
    for resource, unexplained in context.flow.unexplained():
        allowed = declassified(resource)
        if not is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION):
            for place, data in unexplained:
                if not is_covered(show(place), allowed) and not context.tells_whose(data):
                    undeclared = context.is_undeclared(resource)
                    yield resource, context.show(place), Undeclared(UNEXPLAINED) if undeclared else UNEXPLAINED


def values(context: Context, resource: Resource) -> Iterator[Place]:
    """Known control-plane secrets in a data-plane resource's inputs."""
    if not context.owners.is_judged(resource):
        return
    in_account = context.owners.is_in_unclassified_account(resource)
    for match in context.matches(resource):
        if match.path and context.owners.is_deployers_login(resource, str(match.path[0])):
            continue
        if context.is_login_of_both(resource, match) or context.is_issued_login(resource, match.path):
            continue
        if in_account and (makes_what_opens(resource, match.path) or not context.flow.is_from_elsewhere(match.origin)):
            continue
        wrapped = f", under {_nesting(match.layers)}" if match.layers else ""
        name = str(match.path[0]) if match.path else ""
        source, _, place = match.origin.partition(" ")
        asked = unsaid(context, source, resource, name)
        what = f"holds a control-plane secret{wrapped}; it comes from {_origin(match.origin)}{asked}"
        undeclared = rests_on_nobody(context, source, resource, name=re.split(r"[.\[]", place)[0])
        yield context.show(match.path), Undeclared(what) if undeclared else what


def _nesting(layers: tuple[str, ...]) -> str:
    """Innermost first. Base64 in lines of equal length is PEM."""
    return " in ".join(reversed(layers)).replace("base64 in folding", "PEM")


def _origin(origin: str) -> str:
    urn, _, path = origin.partition(" ") if origin.startswith("urn:") else (origin, "", "")
    return f"{short(urn)} ({path})" if path else urn


def credentials(context: Context, resource: Resource) -> Iterator[Place]:
    """Credentials by structure in a data-plane resource's inputs. A credential by its name alone, or by its id, is
    reported only without another at its place."""
    found = dict.fromkeys(_credentials(context, resource))
    weak = [one for one in found if one[1].startswith((Kind.NAMED.value, Kind.KEY_ID.value))]
    told = {place for place, _ in found.keys() - weak}
    yield from (one for one in found if one not in weak or one[0] not in told)


def _credentials(context: Context, resource: Resource) -> Iterator[Place]:
    if not context.owners.is_on_data_plane(resource) or resource.read_only:
        return
    yield from _named_credentials(context, resource)
    found = list(_found(context, resource))
    wholes = {(path[:depth], shape.kind) for path, shape in found for depth in range(len(path))}
    for path, shape in found:
        # Joined siblings repeat the find of one of them.
        if (path, shape.kind) not in wholes and (problem := _problem(context, resource, path, shape)):
            wrapped = f" (under {_nesting(shape.layers)})" if shape.layers else ""
            yield context.show(path), _of(context, resource, path, f"{shape.kind.value}{wrapped}{problem}")


def _of(context: Context, resource: Resource, path: Path, what: str) -> str:
    """A verdict's text. In a Secret of an undeclared cluster it rests on that: the cluster may be the control plane's.
    Outside of a Secret a credential is a leak in any cluster."""
    kept = context.is_undeclared(resource) and _is_kept_in_secret(context, resource, path)
    return Undeclared(what) if kept else what


def _found(context: Context, resource: Resource) -> Iterator[tuple[Path, Shape]]:
    yield from shapes_in_tree(resource.body)
    for path, data in context.text(resource).parts() if context.inspection(resource).shapely else ():
        found = list(shapes(data))
        own = any(_is_own_kubeconfig(context, shape) for shape in found)
        yield from ((path, shape) for shape in found if not (own and shape.kind in PARTS_OF_KUBECONFIG))


def _is_own_kubeconfig(context: Context, shape: Shape) -> bool:
    """A kubeconfig that opens only the data plane itself, with its key or token."""
    return shape.opens is not None and context.opens_data_planes_alone(shape.opens)


PLAIN_OBJECT: Final = " outside a Secret: every reader of this object has it"
HARD: Final = frozenset(
    {Kind.SERVICE_ACCOUNT_TOKEN, Kind.BEARER_TOKEN, Kind.CLIENT_KEY, Kind.CLOUD, Kind.KEY_ID, Kind.STORE_TOKEN}
)
"""Credentials that count as the control plane's until the contrary is shown, even inside a Secret."""

DRAWN: Final = frozenset(
    {
        Kind.NAMED,
        Kind.ARGUMENT,
        Kind.PASSWORD_IN_URL,
        Kind.PASSWORD_HASH,
        Kind.BEARER_TOKEN,
        Kind.SERVICE_ACCOUNT_TOKEN,
    }
)
"""Kinds that generated passwords and a cluster's tokens match."""


def _problem(context: Context, resource: Resource, path: Path, shape: Shape) -> str:
    """The reason against a credential here; empty if it may stay."""
    said_own = is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
    if shape.kind is Kind.NAMED:
        if resource.type.startswith(_IN_PARTS):
            return ""  # each object comes again by itself
        if _OF_CHARTS.intersection(path) and _is_marked(resource, path):
            return ""  # as among a chart's own values
    if shape.opens is not None and not context.opens_data_planes_alone(shape.opens):
        return " for another cluster than the data plane's own"
    if shape.opens is not None and context.opens_neighbours(shape.opens, resource):
        return f" for another data plane's cluster. {ONE_TENANTS}"
    if not _is_kept_in_secret(context, resource, path):
        own = said_own or (shape.kind in DRAWN and _is_made_of_own(context, resource, path))
        return "" if own and shape.kind is not Kind.KUBECONFIG else PLAIN_OBJECT
    if said_own or shape.kind is Kind.KUBECONFIG:
        return ""
    if shape.kind not in NO_LOGINS and context.is_issued_login(resource, path):
        return ""
    if shape.kind is not Kind.PRIVATE_KEY and shape.kind not in HARD:
        return ""
    if _is_shown_own(context, resource, path, shape.kind):
        return ""
    if shape.kind is Kind.PRIVATE_KEY:
        return _problem_of_key(context, resource, path)
    signed = not context.stack.partial and _is_charts_own(context, resource, path)
    return "" if signed or _is_from_data_plane(context, resource) else ": nothing shows that it is the data plane's own"


def _is_shown_own(context: Context, resource: Resource, path: Path, kind: Kind) -> bool:
    """True if the credentials are all of a data plane's own section of the configuration, or the preview showed them as
    its own; and for the id of such a secret's key."""
    if not context.stack.partial:
        own = context.of_own_sections(resource)
        return bool(own) if kind is Kind.KEY_ID else path in own
    shown = _shown_own(context, resource)
    return bool(shown) if kind is Kind.KEY_ID else show(path) in shown


def _shown_own(context: Context, resource: Resource) -> frozenset[str]:
    """The properties with the data plane's own credentials, as the preview showed."""
    return context.evidence.opens_own.get(resource.urn, frozenset()) if context.evidence else frozenset()


def _is_made_of_own(context: Context, resource: Resource, path: Path) -> bool:
    """True for a credential that its cluster keeps in a Secret as well, as the stack or its preview shows."""
    if not context.stack.partial:
        return path in context.flow.made_of_own(resource)
    return is_covered(show(path), _shown_own(context, resource))


def _is_marked(resource: Resource, path: Path) -> bool:
    return any(leaf.secret and leaf.path == path for leaf in leaves(resource.asked))


def _is_kept_in_secret(context: Context, resource: Resource, path: Path) -> bool:
    """True in a Secret's data, also of a Secret that an operator carries, and for a marked value of a chart, which its
    release keeps in a Secret."""
    if resource.kind == "Secret":
        return path[:1] in IN_SECRET
    if resource.kind == "SecretList":
        return path[:1] == ("items",) and path[2:3] in IN_SECRET
    if context.clusters.on_control_plane(resource):
        return any(
            path[depth : depth + 1] in IN_SECRET and at(resource.body, *path[:depth], "kind") == "Secret"
            for depth in range(len(path))
        )
    if resource.type not in CHART_TYPES or path[:1] != ("values",):
        return False
    return _is_marked(resource, path)


def _problem_of_key(context: Context, resource: Resource, path: Path) -> str:
    certificate = holds_certificate_of_its_key(resource)
    if certificate == "authority":
        return "" if _is_own_authority(context, resource) else " of a certificate authority: it can sign any identity"
    if certificate == "istiod":
        return " of istiod's serving certificate"
    if (
        certificate == "leaf"
        or at(resource.body, "type") == "kubernetes.io/ssh-auth"
        or _is_from_data_plane(context, resource)
        or _is_charts_own(context, resource, path)
    ):
        return ""
    return ": nothing shows that it is the data plane's own (no certificate beside it, no source in this stack)"


def _is_from_data_plane(context: Context, resource: Resource) -> bool:
    """True if the stack shows the sources of a resource's secrets, all on the data plane's side."""
    if resource.type in CHART_TYPES:
        return False  # its values have many sources: see `_is_charts_own`
    if context.stack.partial:
        return context.evidence is not None and resource.urn in context.evidence.data_planes
    return context.flow.is_from_data_plane(resource)


def _is_charts_own(context: Context, resource: Resource, path: Path) -> bool:
    """True for a key or a token in a chart's values that was made for its data plane."""
    if resource.type not in CHART_TYPES:
        return False
    if context.stack.partial:
        return context.evidence is not None and resource.urn in context.evidence.data_planes
    return context.flow.is_from_data_plane(resource) and context.flow.is_held_by_its_source(resource, path)


def _is_own_authority(context: Context, resource: Resource) -> bool:
    if context.stack.partial:
        return context.evidence is not None and resource.urn in context.evidence.authorities
    return context.flow.is_own_authority(resource)


LEAST_NAMED: Final = 12
_SAY_SO: Final = f"declare it in annotation {vocabulary.DATA_PLANE_OWNED_ANNOTATION}"


def _named_credentials(context: Context, resource: Resource) -> Iterator[Place]:
    """Credentials by their name alone: a token under a DNS provider's variable; Istio's CA Secret."""
    said_own = is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
    if resource.kind == "Secret" and resource.object_name in vocabulary.AUTHORITY_SECRETS:
        is_own = _is_own_authority(context, resource)
        cure = f", unless an istiod of this cluster's owner reads it: {_SAY_SO}" if is_own else ""
        for leaf in leaves(resource.body):
            if leaf.path[:1] in IN_SECRET and leaf.path[-1] in {"ca-key.pem", "key.pem"} and not (is_own and said_own):
                what = f"the key of istiod's certificate authority: it stays in the control plane{cure}"
                yield show(leaf.path), _of(context, resource, leaf.path, what)
    if said_own:
        return
    for leaf in leaves(resource.body):
        if not leaf.path or not _is_literal(leaf.value):
            continue
        named = _name_beside(resource, leaf.path) if leaf.path[-1] == "value" else ""
        if (
            (named or names_clouds_credential(str(leaf.path[-1])))
            and not (context.is_issued_login(resource, leaf.path))
            and not (
                _is_kept_in_secret(context, resource, leaf.path)
                and (_is_shown_own(context, resource, leaf.path, Kind.CLOUD) or _is_from_data_plane(context, resource))
            )
        ):
            what = f"a cloud or DNS credential, by its name {named}".rstrip()
            yield show(leaf.path), _of(context, resource, leaf.path, what)


def _is_literal(value: Any) -> bool:
    return (
        value is not UNKNOWN
        and isinstance(value, str)
        and len(value) >= LEAST_NAMED
        and not value.startswith(("$", "/"))
        and not value.endswith(("EXAMPLE", "EXAMPLEKEY"))
    )


def _name_beside(resource: Resource, path: Path) -> str:
    name = at(resource.body, *path[:-1], "name")
    return name if isinstance(name, str) and names_clouds_credential(name) else ""


FLOW = Rule(
    name="control-plane-secrets-do-not-flow-to-data-plane",
    title="Control-plane secrets do not flow to a data plane",
    description="A resource on a data plane takes no value made from a control-plane secret, through any number of "
    "components, applies, Helm values and stack outputs. Works while values are still unknown.",
    cure=CURE_FLOW,
    severity=Severity.CRITICAL,
    page="credentials",
    check_stack=flows,
    schema=schema_of(
        data_plane_stacks="Full names of the data plane's stacks, as in StackReferences (* matches any text).",
        data_plane_logins="Resources of the control plane's accounts that are a login for one data plane, as "
        "Type:name, such as RobotAccount:shop-pull (* matches any text).",
    ),
)
VALUE = Rule(
    name="control-plane-secret-values-stay-off-data-plane",
    title="Control-plane secret values stay off a data plane",
    description="No resource on a data plane contains a control-plane secret with a known value, or a part of one, "
    "plain or wrapped (base64, gzip, hex, PEM, JSON, YAML, URL-encoding, cut into pieces).",
    cure=CURE_VALUE,
    severity=Severity.CRITICAL,
    page="credentials",
    check=values,
    schema=schema_of(control_plane_config_keys="Secret configuration keys of the control plane (* matches any text)."),
)
SHAPE = Rule(
    name="no-credentials-on-data-plane",
    title="No credentials on a data plane",
    description="A data plane receives no private key, kubeconfig of another cluster, token, cloud or DNS credential "
    "of any origin. Its own secrets in its own Secrets pass.",
    cure=CURE_SHAPE,
    severity=Severity.CRITICAL,
    page="credentials",
    check=credentials,
)
