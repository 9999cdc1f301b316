"""Who made a secret, and where something goes: one answer for every rule.

An owner is the control plane, one data plane, or nobody yet (a generated password is whoever's it is given to). What is
not known counts as a data plane's for where a thing goes, and as the control plane's for where a secret came from.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .. import vocabulary
from .annotations import is_annotated
from .carriers import ProviderConfig, carried, config_in, configs_at_home, leads_home, pushed
from .clusters import Clusters, Role, is_called, matches
from .model import PROVIDER_PREFIX, REFERENCE_TYPE, SECRET_TYPE, STACK_TYPE, Provider, Resource, Stack
from .tree import at

CONTROL_PLANE: Final = "the control plane"
DATA_PLANES: Final = "a data plane"
"""An owner that is a data plane, without saying which."""

GENERATORS: Final = frozenset({"random", "tls", "time", "null", "std", "pulumi", vocabulary.PACKAGE})
"""Packages that compute values and send them nowhere."""
CLOUDS: Final = frozenset({
    "alicloud", "auth0", "aws", "aws-native", "awsx", "azure", "azuread", "azure-native", "civo", "cloudflare",
    "confluentcloud", "digitalocean", "dnsimple", "eks", "equinix-metal", "exoscale", "gcp", "google-native",
    "hcloud", "keycloak", "linode", "mongodbatlas", "mysql", "ns1", "oci", "openstack", "ovh", "postgresql",
    "rancher2", "scaleway", "vault", "vultr",
})  # fmt: skip
"""Packages that manage an account of the deployer's, and mark each secret output: an unmarked output of theirs is
public. Their resources are the control plane's, and stay with it but for what a store hands out."""
_STORES: Final = re.compile(
    r"BucketObject|BucketV2Object|:Blob$|ObjectCopy|BucketFile|StorageObject|:(Dns)?Record(Set)?$|ssm/parameter"
    r"|lambda/function|cloudfunctions|ec2/(instance|launch)|ec2:(Instance|Launch)|compute/instance|:Droplet$"
    r"|(hcloud|linode|vultr):.*:(Server|Instance)$|instanceServer|VirtualMachine(ScaleSet)?$"
    r"|eks.*:Addon$|kubernetesconfiguration.*:Extension$",
    re.IGNORECASE,
)
"""Types whose content is there to be read elsewhere: objects with links, DNS, what programs and machines are given."""
_SEALED: Final = "SecureString"
"""The type of a parameter of `aws:ssm` that is kept as a secret is: encrypted, and by a name that opens nothing."""
BUILDERS: Final = {
    "docker:index/image:Image": "registry",
    "docker:index/registryImage:RegistryImage": "authConfig",
    "docker-build:index:Image": "registries",
    "docker-build:index:Index": "registry",
}
"""Types that build or push an image, each with its property by which the deployer logs in to a registry. What goes into
the image is another property."""
LOGIN_TYPE: Final = re.compile(
    r"(?:Key|Token|Password|Credentials?|User|Role|Account|Client|Robot|Login|SecretId|Registration)[a-zA-Z]*$"
)
"""How types end of which a resource is a login, `harbor:index/robotAccount:RobotAccount`. What runs with one, or keeps
one of others, is none."""
OTHER_ACCOUNT: Final = (
    "assumeRole",
    "assumeRoles",
    "assumeRoleWithWebIdentity",
    "profile",
    "impersonateServiceAccount",
)
"""Inputs of a cloud's provider that lead from the deployer's account to another one."""


@dataclass(frozen=True)
class Owners:
    """The owners in one stack."""

    stack: Stack
    clusters: Clusters
    data_plane_stacks: tuple[str, ...] = ()
    data_plane_logins: tuple[str, ...] = ()
    at_home: Set[ProviderConfig] = frozenset()
    """Configurations of operators that lead to their own cluster, as a preview saw: before a write the stack is not
    known."""

    def place(self, resource: Resource) -> str | None:
        """Where what a resource asks for can be read: `CONTROL_PLANE`, or a name for a data plane or for any other
        place. None for what goes nowhere: a key, a component, a stack."""
        provider = resource.provider
        if provider is None or resource.is_provider:
            return None
        role = self.clusters.role(resource)
        if role is not None:
            if role is Role.CONTROL_PLANE:
                return self._carried.get(resource.urn, CONTROL_PLANE)
            return self.clusters.place_of(provider)
        if self._goes_nowhere(resource, provider):
            return None
        return CONTROL_PLANE if self._stays(resource, provider) else provider.urn

    @cached_property
    def _carried(self) -> Mapping[str, str]:
        """Where operators of the control plane's carry what it has, by URN."""
        return carried(self._on_control_plane, self._elsewhere, self.at_home)

    @cached_property
    def _on_control_plane(self) -> list[Resource]:
        return [one for one in self.stack.resources if self.clusters.on_control_plane(one)]

    def pushed_away(self) -> Iterator[tuple[Resource, str, Resource]]:
        """What copies a Secret of the control plane's into a store that is called like a data plane's, by which name,
        and the Secret. Who says that a login in it is the data plane's too may do so."""
        patterns = self.clusters.config.data_plane_providers
        for resource, store, secret in pushed(self._on_control_plane):
            if is_called([store], patterns) and not self.keeps_logins(secret):
                yield resource, store, secret

    @cached_property
    def configs_at_home(self) -> frozenset[ProviderConfig]:
        """Configurations of the control plane's operators that lead to the cluster that they are in."""
        return configs_at_home(self._on_control_plane)

    def leads_elsewhere_now(self, resource: Resource) -> bool:
        """True for such a configuration that does not, although a preview saw it lead there."""
        return bool(self.at_home) and config_in(resource) in self.at_home and not leads_home(resource)

    def _elsewhere(self, name: str) -> str:
        """The place that an operator calls by a name or an address; empty where that is the control plane. What nobody
        classified is none of it."""
        if is_called([name], self.clusters.config.control_plane_providers):
            return ""
        return "" if self.clusters.by_server.get(name) == {Role.CONTROL_PLANE} else self.clusters.place_at(name)

    def is_on_data_plane(self, resource: Resource) -> bool:
        """True for an object of a data plane's cluster, or of one that nobody classified, and for what an operator
        carries there."""
        return self.clusters.role(resource) is not None and self.place(resource) != CONTROL_PLANE

    def is_given_away(self, resource: Resource) -> bool:
        """True for what a data plane would get, one that nobody classified, or any other place that is not known to
        be the control plane's."""
        return not resource.read_only and self.place(resource) not in {None, CONTROL_PLANE}

    def is_in_unclassified_account(self, resource: Resource) -> bool:
        """True for what is in a cloud's account that the program names a provider for, and of which nobody says whose
        it is: what it makes counts as the control plane's, and what that has elsewhere must not be given to it."""
        provider, config = resource.provider, self.clusters.config
        return (
            provider is not None
            and not provider.is_default
            and resource.type.split(":")[0] in CLOUDS
            and not resource.read_only
            and self.clusters.role(resource) is None
            and not matches(provider, config.control_plane_providers)
            and not self._is_below_control_plane(resource)
            and self.place(resource) == CONTROL_PLANE
        )

    def is_in_data_planes_account(self, resource: Resource) -> bool:
        """True for what is in no cluster, through a provider that is said to be a data plane's."""
        provider, patterns = resource.provider, self.clusters.config.data_plane_providers
        return provider is not None and self.clusters.role(resource) is None and matches(provider, patterns)

    def is_judged(self, resource: Resource) -> bool:
        """True where the control plane's secrets are looked for."""
        return (
            self.is_given_away(resource)
            or self.reaches_data_plane(resource)
            or self.is_in_unclassified_account(resource)
        )

    def reaches_data_plane(self, resource: Resource) -> bool:
        """True for a provider of a data plane, a cluster's or one that is said to be: what it is given is shown to the
        server at which it logs in."""
        if provider := self.clusters.providers.get(resource.urn):
            return self.clusters.role_of_provider(provider) is Role.DATA_PLANE
        return self.is_data_planes_login(resource)

    def is_data_planes_login(self, resource: Resource) -> bool:
        """True for a provider that is said to be a data plane's, and is no cluster's: by what it is given it logs in
        there. A cluster's kubeconfig is mostly what some cloud answered."""
        patterns = self.clusters.config.data_plane_providers
        known = resource.urn in self.clusters.providers
        return resource.is_provider and not known and matches(resource.as_provider, patterns)

    @staticmethod
    def _goes_nowhere(resource: Resource, provider: Provider) -> bool:
        package = resource.type.split(":")[0]
        return package in GENERATORS or provider.type == f"{PROVIDER_PREFIX}pulumi"

    def _stays(self, resource: Resource, provider: Provider) -> bool:
        """For a provider that reaches no cluster: whether it is the deployer's own account."""
        config = self.clusters.config
        if matches(provider, config.data_plane_providers):
            return False
        if matches(provider, config.control_plane_providers) or self._is_below_control_plane(resource):
            return True
        return (
            resource.type.split(":")[0] in CLOUDS
            and (not _STORES.search(resource.type) or at(resource.asked, "type") == _SEALED)
            and not self._is_other_account(provider)
        )

    def is_own_account(self, provider: Provider) -> bool:
        """True for a provider by which the deployer logs in, at a cloud, a forge, a monitoring service. That account is
        the control plane's, unless it is a cluster's, or said to be a data plane's, or leads on to another account."""
        config, package = self.clusters.config, provider.type.removeprefix(PROVIDER_PREFIX)
        if provider.urn in self.clusters.providers or matches(provider, config.data_plane_providers):
            return False
        own = package not in GENERATORS and not self._is_other_account(provider)
        return own or matches(provider, config.control_plane_providers)

    def is_deployers_login(self, resource: Resource, name: str) -> bool:
        """True for the property by which an image is pushed, where the deployer builds it and nobody else."""
        provider = resource.provider
        return (
            BUILDERS.get(resource.type) == name
            and provider is not None
            and self.is_own_account(provider)
            and at(provider.inputs, "host") is None
        )

    @staticmethod
    def _is_other_account(provider: Provider) -> bool:
        return any(at(provider.inputs, key) is not None for key in OTHER_ACCOUNT)

    def maker(self, resource: Resource) -> str | None:
        """Who made the secrets that a resource has of its own. None where only their way can tell."""
        if resource.type == REFERENCE_TYPE:
            return DATA_PLANES if self._is_data_plane_stack(resource) else CONTROL_PLANE
        if resource.urn in self.clusters.providers:
            provider = self.clusters.providers[resource.urn]
            role = self.clusters.role_of_provider(provider)
            return CONTROL_PLANE if role is Role.CONTROL_PLANE else self.clusters.place_of(provider)
        if self.clusters.on_control_plane(resource) and resource.kind != "Secret":
            return CONTROL_PLANE  # whose cluster answers, wherever an operator carries what it was given
        if (place := self.place(resource)) is not None and self.clusters.role(resource) is not None:
            return place
        if self._is_below_control_plane(resource):
            return CONTROL_PLANE
        if self.is_below_data_plane(resource):
            return DATA_PLANES
        if resource.provider is not None and matches(resource.provider, self.clusters.config.data_plane_providers):
            return DATA_PLANES
        if resource.type.split(":")[0] in GENERATORS or resource.type == STACK_TYPE or resource.is_provider:
            return None
        if self.is_made_for_a_data_plane(resource):
            return None
        return CONTROL_PLANE if resource.provider is not None or resource.read_only else None

    def is_made_for_a_data_plane(self, resource: Resource) -> bool:
        """True for what an account of the control plane's makes so that a data plane may log in there, as the
        configuration says: whose it is, tells its way, as with a generated password. No letter of a name but `*` stands
        for another one."""
        named = any(fnmatch.fnmatchcase(resource.called, pattern) for pattern in self._login_patterns)
        return named and self.may_be_made_for_a_data_plane(resource)

    def may_be_made_for_a_data_plane(self, resource: Resource) -> bool:
        """True for what the configuration may say so of."""
        return (
            bool(LOGIN_TYPE.search(resource.type))
            and resource.provider is not None
            and self.clusters.role(resource) is None
            and not self._is_below_control_plane(resource)
            and resource.urn not in self._opens
        )

    @cached_property
    def _login_patterns(self) -> tuple[str, ...]:
        return tuple(re.sub(r"[?[]", r"[\g<0>]", pattern) for pattern in self.data_plane_logins)

    @cached_property
    def _opens(self) -> frozenset[str]:
        """URNs of that by which a provider logs in that is not known to be a data plane's."""
        providers = (one for one in self.stack.resources if one.is_provider and not self.reaches_data_plane(one))
        return frozenset(urn for one in providers for urn in one.depends_on)

    def keeps_logins(self, resource: Resource) -> bool:
        """True for a Secret of the control plane's of which somebody says, with a reason, that it keeps logins that a
        data plane has too. What its own cluster puts into it is not meant, nor the key of istiod's authority."""
        return self.may_keep_logins(resource) and is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)

    def may_keep_logins(self, resource: Resource) -> bool:
        """True for a Secret of the control plane's of which somebody may say so."""
        return (
            can_keep_logins(resource)
            and self.clusters.on_control_plane(resource)
            and self.place(resource) == CONTROL_PLANE
            and not self._is_below_control_plane(resource)
        )

    def is_assumed_maker(self, maker: Resource) -> bool:
        """True where a secret counts as the control plane's because nobody says whose its maker is: another stack, or
        an account for which the program names a provider."""
        if maker.type == REFERENCE_TYPE:
            return not self._is_data_plane_stack(maker)
        provider = maker.provider
        return (
            provider is not None
            and not provider.is_default
            and maker.type.split(":")[0] not in GENERATORS
            and self._is_of_nobody(maker, provider)
        )

    def is_assumed_place(self, resource: Resource) -> bool:
        """True where something counts as given away because nobody says whose its provider, which reaches no cluster,
        is."""
        provider = resource.provider
        given = self.is_given_away(resource) or self.is_in_unclassified_account(resource)
        return given and provider is not None and self._is_of_nobody(resource, provider)

    def _is_of_nobody(self, resource: Resource, provider: Provider) -> bool:
        config = self.clusters.config
        return (
            provider.urn not in self.clusters.providers
            and not matches(provider, (*config.control_plane_providers, *config.data_plane_providers))
            and not self._is_below_control_plane(resource)
            and not self.is_below_data_plane(resource)
        )

    def _is_data_plane_stack(self, reference: Resource) -> bool:
        """By the name that the program gives the reference: the stack's full name unless `stack_name` says another one,
        which the engine shows to no policy. What is no full name (organization/project/stack) tells nothing, unless the
        configuration has a pattern for it."""
        said = at(reference.body, "name")
        name = said if isinstance(said, str) else reference.name
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.data_plane_stacks)

    def is_data_plane_side(self) -> bool:
        """True for a stack of the data plane's side: named so, or with clusters none of which is a control plane."""
        named = any(fnmatch.fnmatchcase(self.stack.name, p.rpartition("/")[2]) for p in self.data_plane_stacks)
        roles = [self.clusters.role_of_provider(p) for p in self.clusters.providers.values()]
        return named or (Role.DATA_PLANE in roles and Role.CONTROL_PLANE not in roles)

    def _is_below_control_plane(self, resource: Resource) -> bool:
        return not vocabulary.CONTROL_PLANE_TYPES.isdisjoint(self.stack.ancestor_types(resource))

    def is_below_data_plane(self, resource: Resource) -> bool:
        types = self.stack.ancestor_types(resource)
        return not vocabulary.DATA_PLANE_TYPES.isdisjoint(types) and vocabulary.CONTROL_PLANE_TYPES.isdisjoint(types)


def can_keep_logins(secret: Resource) -> bool:
    """True for a Secret, wherever it is, that its program fills with what may be a login: no authority of istiod's, and
    no token of its own cluster's."""
    return (
        secret.type == SECRET_TYPE
        and secret.inputs is not None  # an annotation that is only read, anybody may have written
        and secret.object_name not in {"", *vocabulary.AUTHORITY_SECRETS}
        and at(secret.body, "type") != "kubernetes.io/service-account-token"
    )
