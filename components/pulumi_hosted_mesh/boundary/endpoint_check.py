"""What the data plane's document and the control plane's endpoints must agree on, before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.mesh import not_granted

SOURCE = "the control plane's endpoints"


def require_match(
    document: DataPlane, endpoints: Sequence[EndpointDocument], told: Sequence[EndpointDocument] | None = None
) -> None:
    """Raises InvalidInputError with all that differs.

    endpoints: what the data plane was handed. told: what the control plane's stack says now, where it is at hand.
    """
    problems = [*_of_document(document, endpoints), *(_of_files(endpoints, told) if told is not None else ())]
    if problems:
        raise InvalidInputError(problems, SOURCE)


def _of_document(document: DataPlane, endpoints: Sequence[EndpointDocument]) -> Iterator[Problem]:
    if not endpoints:
        rule = f"has none for membership {document.name}"
        yield Problem("endpoints", rule, "Correct dataPlane.name, or run `pulumi up` of the stack control-plane first")
    for one in endpoints:
        at = f"endpoint {one.revision}"
        if one.mesh != document.mesh:
            yield Problem(f"{at}: mesh", f"is {one.mesh}, but dataPlane.mesh is {document.mesh}", "Use the right file")
        if one.membership != document.name:
            rule = f"is {one.membership}, but dataPlane.name is {document.name}"
            yield Problem(f"{at}: membership", rule, "Use the file that was made for this cluster")
        # istiod finds a proxy's cluster, and its network, by the names that the stack access gave them.
        names = {"clusterId": document.cluster_id_in(document.mesh), "network": document.network_in(document.mesh)}
        for field, told in {"clusterId": one.cluster_id, "network": one.network}.items():
            if (one.mesh, one.membership) == (document.mesh, document.name) and told != names[field]:
                rule = f"is {told!r}, but dataPlane.{field} is {names[field]!r}"
                yield Problem(f"{at}: {field}", rule, f"Set dataPlane.{field} to it, in the stack access first")
        if one.root_certificate is None:
            yield Problem(f"{at}: rootCertificate", "is missing", "Make the file anew, with `hosted-mesh endpoint`")
        if missing := not_granted(one.features, document.access.features):
            rule = f"has on what dataPlane.access.features does not grant: {', '.join(missing)}"
            yield Problem(f"{at}: features", rule, "Grant them in the stack access too, or have them switched off")
    asked = [name for one in endpoints for name in one.asked_by]
    if repeated := sorted({name for name in asked if asked.count(name) > 1}):
        rule = (
            f"have several revisions that are asked for by {', '.join(repeated)}, so each Pod would be injected twice"
        )
        yield Problem("endpoints", rule, "Make all files anew, with `hosted-mesh endpoint`")
    domains = {(one.trust_domain, one.root_certificate) for one in endpoints}
    if len(domains) > 1:
        rule = "have different trust domains or roots, so they are not revisions of one mesh"
        yield Problem("endpoints", rule, "Use files that were made together")


def _of_files(endpoints: Sequence[EndpointDocument], told: Sequence[EndpointDocument]) -> Iterator[Problem]:
    now = {one.revision: one for one in told}
    for one in endpoints:
        current = now.get(one.revision)
        if current is None:
            yield Problem(f"endpoint {one.revision}", "is of a revision that is gone", "Remove it from endpoints")
        elif different := sorted(
            str(field.alias)
            for name, field in EndpointDocument.model_fields.items()
            if getattr(one, name) != getattr(current, name)
        ):
            rule = f"differs from what the control plane says now in {', '.join(different)}"
            yield Problem(f"endpoint {one.revision}", rule, "Make the file anew, with `hosted-mesh endpoint`")
