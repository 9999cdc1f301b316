"""No control-plane secret reaches a data plane: by flow, by value, by shape. Each detector can fail a run alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .. import vocabulary
from ..detect.flow.taint import UNCLASSIFIED, Hop
from ..detect.leaf.names import names_clouds_credential
from ..detect.search.tree_text import OPENED, OPENED_ALONE
from ..detect.secrets.resource_types import CHART_TYPES, makes_what_opens
from ..detect.shape.credential_forms import Kind
from ..detect.shape.shapes import Shape, shapes, shapes_in_tree
from ..evaluation.certificates import holds_certificate_of_its_key
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule
from ..evaluation.settings import schema_of
from ..plan.annotations import declassified, is_annotated
from ..plan.model import IN_SECRET, SECRET_DATA, Resource
from ..plan.owners import CONTROL_PLANE
from ..plan.tree import UNKNOWN, Path, at, is_covered, leaves, show
from .whose import short, unsaid

CURE_FLOW: Final = (
    "Pass a public fact instead (a certificate, a public key, a host name). If the value is public although it is made "
    f"from a secret, such as a hash, say so on the resource: annotation {vocabulary.DECLASSIFY_ANNOTATION}: "
    '"<property>: <reason>".'
)
CURE_VALUE: Final = (
    "Remove the value. Nothing declassifies a control-plane secret that is there byte for byte; rotate it if it was "
    "ever written."
)
CURE_SHAPE: Final = (
    "Remove the credential, or keep it in a Secret of the data plane's own. If it is the data plane's and not the "
    f'control plane\'s, say so: annotation {vocabulary.DATA_PLANE_OWNED_ANNOTATION}: "<reason>".'
)
WHOSE: Final = {CONTROL_PLANE: "a control-plane secret", UNCLASSIFIED: f"a secret of {UNCLASSIFIED}"}
UNEXPLAINED: Final = "is marked secret, and nothing shows that it is the data plane's own"
COPIED: Final = "spec.selector.secret"
PARTS_OF_KUBECONFIG: Final = frozenset(
    {Kind.PRIVATE_KEY, Kind.CLIENT_KEY, Kind.SERVICE_ACCOUNT_TOKEN, Kind.BEARER_TOKEN}
)
_OF_CHARTS: Final = frozenset({"values", "valuesContent", "valuesObject"})
"""How objects of operators that install charts call the charts' values."""
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
        way = _told(leak.path, leak.resource)
        asked = unsaid(context, leak.path[0].urn, leak.resource, leak.property, leak.owner)
        yield leak.resource, where, f"{whose} flows here: {way}{asked}"
    for resource, store, secret in context.owners.pushed_away():
        kept = {name for name in SECRET_DATA if at(secret.asked, name) is not None}
        if not kept <= context.flow.not_its_own(secret) and not is_covered(COPIED, declassified(resource)):
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
                    yield resource, context.show(place), UNEXPLAINED


def _told(path: tuple[Hop, ...], end: Resource) -> str:
    return " -> ".join([f"{short(hop.urn)} (as {hop.property})" for hop in path] + [short(end.urn)])


def values(context: Context, resource: Resource) -> Iterator[Place]:
    """Known control-plane secrets in what a data-plane resource asks for."""
    if not context.owners.is_judged(resource):
        return
    in_account = context.owners.is_in_unclassified_account(resource)
    for match in context.matches(resource):
        if match.path and context.owners.is_deployers_login(resource, str(match.path[0])):
            continue
        if context.is_login_of_both(resource, match):
            continue
        if in_account and (makes_what_opens(resource, match.path) or not context.flow.is_from_elsewhere(match.origin)):
            continue
        wrapped = f", under {_told_layers(match.layers)}" if match.layers else ""
        name = str(match.path[0]) if match.path else ""
        asked = unsaid(context, match.origin.partition(" ")[0], resource, name)
        yield (
            context.show(match.path),
            f"holds a control-plane secret{wrapped}; it comes from {_origin(match.origin)}{asked}",
        )


def _told_layers(layers: tuple[str, ...]) -> str:
    """Innermost first. Base64 in lines of equal length is what people know as PEM."""
    return " in ".join(reversed(layers)).replace("base64 in folding", "PEM")


def _origin(origin: str) -> str:
    urn, _, path = origin.partition(" ") if origin.startswith("urn:") else (origin, "", "")
    return f"{short(urn)} ({path})" if path else urn


def credentials(context: Context, resource: Resource) -> Iterator[Place]:
    """Credentials by structure in what a data-plane resource asks for. What its name alone gives away, or the id beside
    it, is told where nothing else is."""
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
        # Short siblings are also looked at end to end, which finds again what one of them holds.
        if (path, shape.kind) not in wholes and (problem := _problem(context, resource, path, shape)):
            wrapped = f" (under {_told_layers(shape.layers)})" if shape.layers else ""
            yield context.show(path), f"{shape.kind.value}{wrapped}{problem}"


def _found(context: Context, resource: Resource) -> Iterator[tuple[Path, Shape]]:
    yield from shapes_in_tree(resource.body)
    for path, data in context.text(resource).parts() if context.inspection(resource).shapely else ():
        if path[-1:] == (OPENED,) and _is_kept_in_secret(context, resource, path):
            continue  # it is kept there no worse than the keystore, and its certificate is in there, too
        found = list(shapes(data))
        own = any(_is_own_kubeconfig(context, shape) for shape in found)
        yield from ((path, shape) for shape in found if not (own and shape.kind in PARTS_OF_KUBECONFIG))


def _is_own_kubeconfig(context: Context, shape: Shape) -> bool:
    """A kubeconfig that opens only the data plane itself; its key or token is the data plane's too."""
    return shape.opens is not None and context.opens_data_planes_alone(shape.opens)


PLAIN_OBJECT: Final = " outside a Secret: everybody who can read this object has it"
HARD: Final = frozenset(
    {Kind.SERVICE_ACCOUNT_TOKEN, Kind.BEARER_TOKEN, Kind.CLIENT_KEY, Kind.CLOUD, Kind.KEY_ID, Kind.STORE_TOKEN}
)
"""Credentials that open something of the control plane's unless the contrary is shown, even inside a Secret."""

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
"""As what generated passwords and a cluster's tokens are recognised."""


def _problem(context: Context, resource: Resource, path: Path, shape: Shape) -> str:
    """Why a credential must not be here; empty when it may."""
    said_own = is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
    if shape.kind is Kind.NAMED:
        if resource.type.startswith(_IN_PARTS):
            return ""  # each object comes again by itself, a Secret as a Secret
        if _OF_CHARTS.intersection(path) and _is_marked(resource, path):
            return ""  # as among a chart's own values
    if shape.opens is not None and not context.opens_data_planes_alone(shape.opens):
        return " for another cluster than the data plane's own"
    if not _is_kept_in_secret(context, resource, path):
        own = said_own or (shape.kind in DRAWN and _is_made_of_own(context, resource, path))
        return "" if own and shape.kind is not Kind.KUBECONFIG else PLAIN_OBJECT
    if said_own or shape.kind is Kind.KUBECONFIG:
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
    """True where all that opens something is of a section of the configuration that is the data plane's own, or was
    shown by the preview to be its own; and for the id of a key that such a secret belongs to."""
    if not context.stack.partial:
        own = context.of_own_sections(resource)
        return bool(own) if kind is Kind.KEY_ID else path in own
    shown = _shown_own(context, resource)
    return bool(shown) if kind is Kind.KEY_ID else show(path) in shown


def _shown_own(context: Context, resource: Resource) -> frozenset[str]:
    """The properties of which the preview has shown that they open what is the data plane's own."""
    return context.evidence.opens_own.get(resource.urn, frozenset()) if context.evidence else frozenset()


def _is_made_of_own(context: Context, resource: Resource, path: Path) -> bool:
    """True where what opens something is what its cluster keeps in a Secret as well, as the stack shows or its preview
    has shown."""
    if not context.stack.partial:
        return path in context.flow.made_of_own(resource)
    return is_covered(show(path), _shown_own(context, resource))


def _is_marked(resource: Resource, path: Path) -> bool:
    return any(leaf.secret and leaf.path == path for leaf in leaves(resource.asked))


def _is_kept_in_secret(context: Context, resource: Resource, path: Path) -> bool:
    """In a Secret's data, also of one that an operator carries there, or marked as secret among a chart's values, which
    its release keeps in a Secret."""
    path = path[:-1] if path[-1:] in {(OPENED,), (OPENED_ALONE,)} else path
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
        return (
            ""
            if _is_own_authority(context, resource)
            else " of a certificate authority: whoever has it can make any identity"
        )
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
    """True when the stack shows where the secrets of a resource come from, and that is the data plane's side."""
    if resource.type in CHART_TYPES:
        return False  # it has values of many: see `_is_charts_own`
    if context.stack.partial:
        return context.evidence is not None and resource.urn in context.evidence.data_planes
    return context.flow.is_from_data_plane(resource)


def _is_charts_own(context: Context, resource: Resource, path: Path) -> bool:
    """True for a key, or a token, among a chart's values that was made for its data plane."""
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
_SAY_SO: Final = f"say so in annotation {vocabulary.DATA_PLANE_OWNED_ANNOTATION}"


def _named_credentials(context: Context, resource: Resource) -> Iterator[Place]:
    """Credentials that only their name gives away: a token under a DNS provider's variable; Istio's CA Secret."""
    said_own = is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)
    if resource.kind == "Secret" and resource.object_name in vocabulary.AUTHORITY_SECRETS:
        is_own = _is_own_authority(context, resource)
        cure = f", unless an istiod of this cluster's owner reads it: {_SAY_SO}" if is_own else ""
        for leaf in leaves(resource.body):
            if leaf.path[:1] in IN_SECRET and leaf.path[-1] in {"ca-key.pem", "key.pem"} and not (is_own and said_own):
                yield show(leaf.path), f"the key of istiod's certificate authority: it stays in the control plane{cure}"
    if said_own:
        return
    for leaf in leaves(resource.body):
        if not leaf.path or not _is_literal(leaf.value):
            continue
        named = _name_beside(resource, leaf.path) if leaf.path[-1] == "value" else ""
        if (named or names_clouds_credential(str(leaf.path[-1]))) and not (
            _is_kept_in_secret(context, resource, leaf.path)
            and (_is_shown_own(context, resource, leaf.path, Kind.CLOUD) or _is_from_data_plane(context, resource))
        ):
            yield show(leaf.path), f"a cloud or DNS credential, by its name {named}".rstrip()


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
    description="Nothing made from a control-plane secret may be given to a resource on a data plane, however long "
    "the way: through components, apply, Helm values, outputs of other stacks. Works before any value is known.",
    cure=CURE_FLOW,
    severity=Severity.CRITICAL,
    page="credentials",
    check_stack=flows,
    schema=schema_of(
        data_plane_stacks="Full names of stacks of the data plane's side, as references to them are called (* matches "
        "anything).",
        data_plane_logins="Resources of the control plane's accounts that are a login for one data plane, as "
        "Type:name, RobotAccount:shop-pull for one (* matches anything).",
    ),
)
VALUE = Rule(
    name="control-plane-secret-values-stay-off-data-plane",
    title="Control-plane secret values stay off a data plane",
    description="No known control-plane secret, nor a part of one, may appear in a resource on a data plane, plain or "
    "wrapped (base64, gzip, hex, PEM, JSON, YAML, URL-encoding, cut into pieces).",
    cure=CURE_VALUE,
    severity=Severity.CRITICAL,
    page="credentials",
    check=values,
    schema=schema_of(
        control_plane_config_keys="Secret configuration keys (* matches anything) that are the control plane's."
    ),
)
SHAPE = Rule(
    name="no-credentials-on-data-plane",
    title="No credentials on a data plane",
    description="Private keys, kubeconfigs of other clusters, tokens, cloud and DNS credentials may not be given to a "
    "data plane, whoever made them. Its own secrets in Secrets of its own pass.",
    cure=CURE_SHAPE,
    severity=Severity.CRITICAL,
    page="credentials",
    check=credentials,
)
