"""Compares the data plane's document with the control plane's endpoints, before any change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.mesh import not_granted

SOURCE = "the control plane's endpoints"


def require_matching_endpoints(
    document: DataPlane, endpoints: Sequence[EndpointDocument], current: Sequence[EndpointDocument] | None = None
) -> None:
    """Raises InvalidInputError with every difference.

    endpoints: of the data plane's stack. current: of the control plane's stack, if its outputs can be read.
    """
    problems = [*_of_document(document, endpoints), *(_of_files(endpoints, current) if current is not None else ())]
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
            yield Problem(f"{at}: membership", rule, "Use this cluster's file")
        # istiod finds a proxy's cluster and network by the names in the stack access.
        names = {"clusterId": document.cluster_id_in(document.mesh), "network": document.network_in(document.mesh)}
        for field, value in {"clusterId": one.cluster_id, "network": one.network}.items():
            if (one.mesh, one.membership) == (document.mesh, document.name) and value != names[field]:
                rule = f"is {value!r}, but dataPlane.{field} is {names[field]!r}"
                yield Problem(f"{at}: {field}", rule, f"Set dataPlane.{field} to it, in the stack access first")
        if one.root_certificate is None:
            yield Problem(f"{at}: rootCertificate", "is missing", "Make it again with `hosted-mesh endpoint`")
        if missing := not_granted(one.features, document.access.features):
            rule = f"has features that dataPlane.access.features does not grant: {', '.join(missing)}"
            yield Problem(f"{at}: features", rule, "Grant them in the stack access too, or turn them off in the mesh")
    labels = [name for one in endpoints for name in one.asked_by]
    if repeated := sorted({name for name in labels if labels.count(name) > 1}):
        rule = f"have several revisions for the label {', '.join(repeated)}, so each Pod would be injected twice"
        yield Problem("endpoints", rule, "Make all files again with `hosted-mesh endpoint`")
    domains = {(one.trust_domain, one.root_certificate) for one in endpoints}
    if len(domains) > 1:
        rule = "have different trust domains or roots, so they are not revisions of one mesh"
        yield Problem("endpoints", rule, "Make all files again with `hosted-mesh endpoint`")


def _of_files(endpoints: Sequence[EndpointDocument], current: Sequence[EndpointDocument]) -> Iterator[Problem]:
    latest = {one.revision: one for one in current}
    for one in endpoints:
        newest = latest.get(one.revision)
        if newest is None:
            yield Problem(f"endpoint {one.revision}", "is of a removed revision", "Remove it from endpoints")
        elif different := sorted(
            str(field.alias)
            for name, field in EndpointDocument.model_fields.items()
            if name != "generation" and getattr(one, name) != getattr(newest, name)
        ):
            rule = f"differs from the control plane's current endpoint in {', '.join(different)}"
            yield Problem(f"endpoint {one.revision}", rule, "Make the file again with `hosted-mesh endpoint`")
