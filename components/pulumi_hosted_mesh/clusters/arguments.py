"""Checks the arguments of a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as kubernetes

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.boundary.arguments import is_later
from pulumi_hosted_mesh.clusters.fields import NAMES, ClientSettings
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import nearest

WAYS: Final = ("kubeconfig", "kubeconfig_file", "provider")
IDENTITY: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
WHOLE: Final = ("burst", "timeout_seconds")


@dataclass(frozen=True, repr=False)
class Arguments:
    """The arguments of a cluster, see `Cluster`. called: its name in errors."""

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
        names = (*NAMES, "provider")
        if wrong := [str(name) for name in given if name not in names]:
            rule = "is no argument of a cluster"
            raise InvalidInputError([Problem(one, rule, nearest(one, names, "Use one of")) for one in wrong], called)
        return dict(given)

    def check(self) -> None:
        """Raises InvalidInputError unless the arguments fit each other."""
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            rule = f"{' and '.join(ways)} exclude each other" if ways else "is required: the cluster has no address"
            fix = "Give one of kubeconfig (content, or an Output of it), kubeconfig_file (a path) and provider"
            raise self._refuse(ways[0] if ways else "kubeconfig", rule, fix)
        for name in ("name", "kubeconfig_file", "context", "identity"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise self._refuse(
                    name, "must be text, not empty and no Output", "Only kubeconfig and server may be Outputs"
                )
        if self.identity is not None and not IDENTITY.fullmatch(self.identity):
            rule = "must be 1 to 63 of a-z, 0-9 and -, with a letter or a digit at both ends"
            raise self._refuse("identity", rule, "Use the uid of the namespace kube-system, for example")
        if self.server is not None and not is_later(self.server):
            self.https(self.server)
        if self.provider is not None:
            self._check_provider()

    def https(self, server: object) -> str:
        """The server's address. Raises: InvalidInputError for an invalid one."""
        if not isinstance(server, str) or not canonical.is_https(server):
            raise self._refuse("server", "must be https://HOST[:PORT]", "Copy it from `kubectl cluster-info`")
        return server

    def _check_provider(self) -> None:
        if not isinstance(self.provider, kubernetes.Provider):
            raise self._refuse("provider", "must be a pulumi_kubernetes.Provider", "Or give a kubeconfig")
        if self.server is None:
            raise self._refuse("server", "is required with provider", "Add the address of the provider's API server")
        for name in ("context", "client"):
            if getattr(self, name) is not None:
                raise self._refuse(name, "has no effect with provider", "Set it in the provider's arguments")

    def client_settings(self) -> kubernetes.KubeClientSettingsArgs | None:
        """The provider's client settings. Raises: InvalidInputError for an unknown one, or one not above zero."""
        if self.client is None:
            return None
        if not isinstance(self.client, Mapping):
            raise self._refuse("client", "must be a mapping of settings to numbers", "Leave it out for the defaults")
        settings = ClientSettings.__annotations__
        for setting, value in self.client.items():
            if setting not in settings:
                raise self._refuse(f"client.{setting}", "is not a setting", f"Use {', '.join(settings)}")
            whole = setting not in WHOLE or isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf or not whole:
                number = "whole number" if setting in WHOLE else "number"
                raise self._refuse(f"client.{setting}", f"must be a {number} above 0", "Leave it out for the default")
        # A component host passes whole numbers as 100.0.
        burst, timeout = self.client.get("burst"), self.client.get("timeout_seconds")
        return kubernetes.KubeClientSettingsArgs(
            qps=self.client.get("qps"), burst=burst and int(burst), timeout=timeout and int(timeout)
        )

    def request(self) -> KubeconfigRequest:
        """The request to the kubeconfig."""
        field = "kubeconfig_file" if self.kubeconfig_file is not None else "kubeconfig"
        server = self.server if isinstance(self.server, str) else None
        return KubeconfigRequest(self.context, server, self.identity, field, self.called)

    def _refuse(self, field: str, rule: str, fix: str) -> InvalidInputError:
        return InvalidInputError([Problem(field, rule, fix)], self.called)
