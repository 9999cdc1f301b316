"""The arguments of a cluster, checked: what fits what, and what errors call it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes

from pulumi_hosted_mesh.boundary.arguments import is_later
from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.fields import NAMES, ClientSettings
from pulumi_hosted_mesh.clusters.kubeconfig import Asked
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import nearest

WAYS: Final = ("kubeconfig", "kubeconfig_file", "provider")
IDENTITY: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
WHOLE: Final = ("burst", "timeout_seconds")


@dataclass(frozen=True, repr=False)
class Arguments:
    """What a cluster was given; see `Cluster`. called: what errors call it."""

    called: str
    name: str | None
    kubeconfig: pulumi.Input[str] | Mapping[str, Any] | None
    kubeconfig_file: str | None
    context: str | None
    server: pulumi.Input[str] | None
    identity: str | None
    client: ClientSettings | None
    provider: kubernetes.Provider | None

    @staticmethod
    def named(given: Mapping[Any, Any], called: str) -> dict[str, Any]:
        """The arguments of a mapping. Raises: InvalidInputError for a name that is no argument."""
        known = (*NAMES, "provider")
        if wrong := [str(name) for name in given if name not in known]:
            rule = "is no argument of a cluster"
            raise InvalidInputError([Problem(one, rule, nearest(one, known, "Use one of")) for one in wrong], called)
        return dict(given)

    def check(self) -> None:
        """Raises InvalidInputError unless the arguments fit each other."""
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            rule = f"{' and '.join(ways)} say it twice" if ways else "is required: nothing says where the cluster is"
            fix = "Give kubeconfig (content, or an Output of it), kubeconfig_file (a path) or provider, one of them"
            raise self._refuse(ways[0] if ways else "kubeconfig", rule, fix)
        for name in ("name", "kubeconfig_file", "context", "identity"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise self._refuse(
                    name, "must be text that is known, and not empty", "Only kubeconfig and server may be Outputs"
                )
        if self.identity is not None and not IDENTITY.fullmatch(self.identity):
            rule = "must be 1 to 63 of a-z, 0-9 and -, with a letter or a digit at both ends"
            raise self._refuse("identity", rule, "The uid of the namespace kube-system is a good one")
        if self.server is not None and not is_later(self.server):
            self.https(self.server)
        if self.provider is not None:
            self._check_provider()

    def https(self, server: object) -> str:
        """The server's address. Raises: InvalidInputError for one that is none."""
        if not isinstance(server, str) or not address.is_https(server):
            raise self._refuse("server", "must be https://HOST[:PORT]", "`kubectl cluster-info` shows it")
        return server

    def _check_provider(self) -> None:
        if not isinstance(self.provider, kubernetes.Provider):
            raise self._refuse("provider", "must be a pulumi_kubernetes.Provider", "Or give a kubeconfig")
        if self.server is None:
            raise self._refuse("server", "is required beside provider", "State the API server that it reaches")
        for name in ("context", "client"):
            if getattr(self, name) is not None:
                raise self._refuse(name, "has no effect beside provider", "Set it where the provider is made")

    def client_settings(self) -> kubernetes.KubeClientSettingsArgs | None:
        """The provider's own settings. Raises: InvalidInputError for one that is unknown, or not above zero."""
        if self.client is None:
            return None
        if not isinstance(self.client, Mapping):
            raise self._refuse("client", "must be a mapping of settings to numbers", "Leave it out for the defaults")
        known = ClientSettings.__annotations__
        for setting, value in self.client.items():
            if setting not in known:
                raise self._refuse(f"client.{setting}", "is no such setting", f"Use {', '.join(known)}")
            whole = setting not in WHOLE or isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf or not whole:
                number = "whole number" if setting in WHOLE else "number"
                raise self._refuse(f"client.{setting}", f"must be a {number} above 0", "Leave it out for the default")
        # A component host hands whole numbers over as 100.0.
        burst, timeout = self.client.get("burst"), self.client.get("timeout_seconds")
        return kubernetes.KubeClientSettingsArgs(
            qps=self.client.get("qps"), burst=burst and int(burst), timeout=timeout and int(timeout)
        )

    def asked(self) -> Asked:
        """What is asked of the kubeconfig."""
        field = "kubeconfig_file" if self.kubeconfig_file is not None else "kubeconfig"
        server = self.server if isinstance(self.server, str) else None
        return Asked(self.context, server, self.identity, field, self.called)

    def _refuse(self, field: str, rule: str, fix: str) -> InvalidInputError:
        return InvalidInputError([Problem(field, rule, fix)], self.called)
