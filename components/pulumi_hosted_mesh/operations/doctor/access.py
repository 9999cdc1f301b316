"""istiod's access to its data plane: the API server's response to istiod's own kubeconfig."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnreachableError, UnverifiedError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.features import Features, Rule
from pulumi_hosted_mesh.vocabulary import KUBECONFIG_KEY, KUBECONFIG_SECRET, namespace_of

REVIEW: Final = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class AccessObservation:
    """cause: identifier of the fault, or None. seen: finding, without a secret. server: address in istiod's kubeconfig.

    secret: name of the Secret with the kubeconfig. valid: start and end in the token's claims; None for a token without
    them, such as a long-lived one.
    """

    cause: str | None
    seen: str
    server: str | None = None
    secret: str = KUBECONFIG_SECRET
    valid: tuple[datetime, datetime] | None = None


def access(
    secret: Manifest | None, data_plane: Kubeconfig, mesh: str, features: Features, key: str = KUBECONFIG_KEY
) -> AccessObservation:
    """Requests the rights of istiod's credential (SelfSubjectRulesReview). key: of the Secret. Nothing is stored.

    The address in istiod's kubeconfig may be reachable for istiod only. So the token first goes to the address of the
    data plane's kubeconfig, but only if istiod's authority verifies that server; then to istiod's own address.
    """
    if secret is None:
        return AccessObservation("missing-kubeconfig", "it is not there")
    try:
        text = base64.b64decode((secret.get("data") or {}).get(key) or "").decode()
        own = kubeconfig.from_content(text, kubeconfig.KubeconfigRequest(source="istiod's Secret"))
    except (InvalidInputError, binascii.Error, UnicodeDecodeError):
        return AccessObservation("unreadable-kubeconfig", f"its {key} cannot be read as a kubeconfig")
    silent, cause = [], "unreachable"
    for config in (_at(own, data_plane), own):
        try:
            review = ApiServer(config).post(REVIEW, {"spec": {"namespace": namespace_of(mesh)}})
        except RefusedError as refusal:
            return AccessObservation("token-refused", str(refusal), own.server)
        except UnreachableError as error:
            silent.append(str(error))
            cause = "another-authority" if isinstance(error, UnverifiedError) else cause
            continue
        if lacking := list(_lacking(mesh, features, (review or {}).get("status") or {})):
            return AccessObservation("missing-rights", f"it may not {', '.join(lacking)}", own.server)
        return AccessObservation(None, own.server, own.server, valid=_valid(own))
    return AccessObservation(cause, "; ".join(dict.fromkeys(silent)), own.server)


def _valid(own: Kubeconfig) -> tuple[datetime, datetime] | None:
    """Start and end in the claims of a ServiceAccount's token. The API server has just verified the token."""
    try:
        _, claims, _ = json.loads(own.text)["users"][0]["user"]["token"].split(".")
        payload = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.fromtimestamp(payload["iat"], UTC), datetime.fromtimestamp(payload["exp"], UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):  # OSError: a time that no clock can show
        return None


def _at(own: Kubeconfig, data_plane: Kubeconfig) -> Kubeconfig:
    content, there = json.loads(own.text), json.loads(data_plane.text)["clusters"][0]["cluster"]
    cluster = content["clusters"][0]["cluster"]
    cluster |= {"server": data_plane.server, "tls-server-name": there.get("tls-server-name")}
    cluster |= {"proxy-url": there.get("proxy-url")}
    return dataclasses.replace(own, server=data_plane.server, text=json.dumps(content))


def _lacking(mesh: str, features: Features, status: Manifest) -> Iterator[str]:
    """The least rights that are missing, like `list pods`. Empty if the authorizer cannot list all its rules.

    Without the rights in the mesh's own namespace no istiod is elected to write the root certificate. Then Pods with a
    proxy do not start in new namespaces, although the webhooks respond.
    """
    if status.get("incomplete"):
        return
    granted = status.get("resourceRules") or []
    there = f" in namespace {namespace_of(mesh)}"
    needed = [(rule, "") for rule in cluster_rules(mesh, features)]
    for rule, where in [*needed, *((rule, there) for rule in namespace_rules(features))]:
        for resource in rule.resources:
            if verbs := [verb for verb in rule.verbs if not any(_grants(one, rule, resource, verb) for one in granted)]:
                yield f"{'/'.join(verbs)} {resource}{f'.{rule.group}' if rule.group else ''}{where}"


def _grants(granted: Manifest, rule: Rule, resource: str, verb: str) -> bool:
    pairs = (("apiGroups", rule.group), ("resources", resource), ("verbs", verb))
    if any(not {"*", wanted} & set(granted.get(key) or []) for key, wanted in pairs):
        return False
    names = granted.get("resourceNames") or []
    return not names or (bool(rule.names) and set(rule.names) <= set(names))
