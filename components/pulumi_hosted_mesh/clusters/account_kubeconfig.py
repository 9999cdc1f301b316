"""Validates a component's kubeconfig of a data plane for the control plane, and writes it again.

The kubeconfig comes from the data plane's owner, and the control plane's Pods use it. istiod sanitizes the kubeconfigs
of further clusters only (BuildClientCmd and sanitizeKubeConfig, pkg/kube/util.go). By an `exec` in the first one it
would run a program beside the mesh's key. So the result has only an address, an authority and a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pulumi

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest, authority_of, for_account, parse
from pulumi_hosted_mesh.problems import InvalidInputError, RuleBrokenError, visible
from pulumi_hosted_mesh.spec.fields import api_server


def account_kubeconfig(
    given: Any, request: KubeconfigRequest, fix: str, way: Mapping[str, str] | None = None
) -> pulumi.Output[str]:
    """The kubeconfig, written again with a server, an authority and a token only. A secret.

    given: text, or an Output of it. request: its `identity` is the required name of the kubeconfig's cluster. fix: the
    instruction in errors. way: the control plane's own `proxy-url` and `tls-server-name`.
    Raises: InvalidInputError for one with other content: at once if it is plain, else when the Output resolves, before
    it is sent.
    """
    text: pulumi.Output[str] = pulumi.Output.secret(when_known(given, _AccountKubeconfig(request, fix, way).rewritten))
    return text


@dataclass(frozen=True)
class _AccountKubeconfig:
    request: KubeconfigRequest
    fix: str
    way: Mapping[str, str] | None = None

    def rewritten(self, content: object) -> str:
        if not content:
            raise self._refused("is empty")
        whole = self._only(
            parse(content, self.request) if isinstance(content, str) else content,
            "",
            ("apiVersion", "kind", "clusters", "contexts", "current-context", "users"),
        )
        name, cluster = self._sole(whole, "cluster", ("server", "certificate-authority-data"))
        self._sole(whole, "context", ("cluster", "user"))
        user = self._sole(whole, "user", ("token",))[1]
        if name != self.request.identity:
            rule = f"must call its cluster {self.request.identity}, but has another name"
            raise self._refused(rule, "Set the same name on the data plane's side, or give the right cluster's")
        token = user.get("token")
        if not isinstance(token, str) or not token.isprintable():
            raise self._refused("must have text of one line in users[0].user.token")
        return for_account(name, self._server(cluster.get("server")), self._authority(cluster), token, self.way)

    def _server(self, server: object) -> str:
        written = str(server).rstrip("/")
        try:
            # The address of a cluster behind another's proxy has a path.
            api_server(urlsplit(written)._replace(path="").geturl())
        except RuleBrokenError as broken:
            raise self._refused(f"has a clusters[0].cluster.server that {broken.rule}") from None
        except ValueError:
            raise self._refused("has a clusters[0].cluster.server that is no address") from None
        if self.request.server is not None and canonical.server(written) != canonical.server(self.request.server):
            rule = "has another API server than apiServer in the control plane's document"
            raise self._refused(rule, "Set one address in both sides' documents, or give the right cluster's")
        return written

    def _authority(self, cluster: Mapping[str, Any]) -> str:
        field = "clusters[0].cluster.certificate-authority-data"
        try:
            authority = authority_of(cluster)
        except ValueError:
            raise self._refused(f"has a {field} that is not base64 of PEM") from None
        if authority is None:
            raise self._refused(f"has no {field} to verify the API server")
        return authority

    def _sole(self, whole: Mapping[str, Any], kind: str, keys: tuple[str, ...]) -> tuple[str, Mapping[str, Any]]:
        """Name and content of the only entry of a list, such as `clusters`."""
        entries = whole.get(f"{kind}s")
        number = len(entries) if isinstance(entries, list) else 0
        if not isinstance(entries, list) or number != 1:
            raise self._refused(f"is not a kubeconfig of one {kind}: it has {number} under {kind}s")
        entry = self._only(entries[0], f"{kind}s[0]", ("name", kind))
        return str(entry.get("name")), self._only(entry.get(kind), f"{kind}s[0].{kind}", keys)

    def _only(self, part: object, path: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
        """The part, checked for values under other keys."""
        if not isinstance(part, Mapping):
            raise self._refused(f"is not a kubeconfig: {path} is not a mapping" if path else "is not a kubeconfig")
        for key, value in part.items():
            if value and key not in keys:
                where = f"{path}.{key}" if path else str(key)
                raise self._refused(f"has {visible(where)}, but may have only a server, an authority and a token")
        return part

    def _refused(self, rule: str, fix: str | None = None) -> InvalidInputError:
        return self.request.refuse("kubeconfig", rule, fix or self.fix)
