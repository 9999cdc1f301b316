"""The kubeconfig by which a part of the control plane reads a data plane, as a component is given it.

It comes from the data plane's owner, and the control plane's Pods would do what it says: istiod sanitizes those of
further clusters alone, and with the first one's `exec` it would run a program beside the mesh's key (BuildClientCmd and
sanitizeKubeConfig, pkg/kube/util.go). So it is written anew, of an address, an authority and a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pulumi

from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.kubeconfig import Asked, authority_of, for_account, parse
from pulumi_hosted_mesh.problems import InvalidInputError, RuleBrokenError, visible
from pulumi_hosted_mesh.spec.fields import api_server


def account_kubeconfig(given: Any, asked: Asked, fix: str) -> pulumi.Output[str]:
    """The kubeconfig written anew, as a secret: a server, an authority and a token, and nothing else of it.

    given: text, or an Output of it. asked: its `identity` is what the kubeconfig must call its cluster. fix: what to
    give instead of one that cannot be used. Raises: InvalidInputError for one that holds anything else: at once if it
    is plain, else when it is known, and before it is sent.
    """
    text: pulumi.Output[str] = pulumi.Output.secret(when_known(given, _HandedOver(asked, fix).rewritten))
    return text


@dataclass(frozen=True)
class _HandedOver:
    asked: Asked
    fix: str

    def rewritten(self, content: object) -> str:
        if not content:
            raise self._refused("is empty")
        whole = self._only(
            parse(content, self.asked) if isinstance(content, str) else content,
            "",
            ("apiVersion", "kind", "clusters", "contexts", "current-context", "users"),
        )
        name, cluster = self._sole(whole, "cluster", ("server", "certificate-authority-data"))
        self._sole(whole, "context", ("cluster", "user"))
        user = self._sole(whole, "user", ("token",))[1]
        if name != self.asked.identity:
            rule = f"must call its cluster {self.asked.identity}, and has another name"
            raise self._refused(rule, "Say the same name on the data plane's side, or give the right cluster's")
        token = user.get("token")
        if not isinstance(token, str) or not token.isprintable():
            raise self._refused("has no text under users[0].user.token, or one of several lines")
        return for_account(name, self._server(cluster.get("server")), self._authority(cluster), token)

    def _server(self, server: object) -> str:
        written = str(server).rstrip("/")
        try:
            # Of a cluster that is reached through another's proxy the address has a path.
            api_server(urlsplit(written)._replace(path="").geturl())
        except RuleBrokenError as broken:
            raise self._refused(f"has a clusters[0].cluster.server that {broken.rule}") from None
        except ValueError:
            raise self._refused("has a clusters[0].cluster.server that is no address") from None
        if self.asked.server is not None and address.normal(written) != address.normal(self.asked.server):
            rule = "names another API server than apiServer does in the control plane's document"
            raise self._refused(rule, "Say one address in the documents of both sides, or give the right cluster's")
        return written

    def _authority(self, cluster: Mapping[str, Any]) -> str:
        field = "clusters[0].cluster.certificate-authority-data"
        try:
            authority = authority_of(cluster)
        except ValueError:
            raise self._refused(f"has a {field} that is not base64 of PEM") from None
        if authority is None:
            raise self._refused(f"has no {field}, by which the API server is verified")
        return authority

    def _sole(self, whole: Mapping[str, Any], kind: str, keys: tuple[str, ...]) -> tuple[str, Mapping[str, Any]]:
        """Name and content of the only entry of a list, `clusters` for one."""
        entries = whole.get(f"{kind}s")
        number = len(entries) if isinstance(entries, list) else 0
        if not isinstance(entries, list) or number != 1:
            raise self._refused(f"is not a kubeconfig of one {kind}: it has {number} under {kind}s")
        entry = self._only(entries[0], f"{kind}s[0]", ("name", kind))
        return str(entry.get("name")), self._only(entry.get(kind), f"{kind}s[0].{kind}", keys)

    def _only(self, part: object, path: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
        """The part, which has a value under no other key."""
        if not isinstance(part, Mapping):
            raise self._refused(f"is not a kubeconfig: {path} is no mapping" if path else "is not a kubeconfig")
        for key, value in part.items():
            if value and key not in keys:
                where = f"{path}.{key}" if path else str(key)
                raise self._refused(f"has {visible(where)}, and may have a server, an authority and a token alone")
        return part

    def _refused(self, rule: str, fix: str | None = None) -> InvalidInputError:
        return self.asked.refuse("kubeconfig", rule, fix or self.fix)
