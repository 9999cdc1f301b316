"""The maker of each secret and the place of each resource, for every rule.

An owner is the control plane, one data plane, or undecided: a generated password belongs to its receiver. An unknown
place counts as a data plane's, an unknown maker as the control plane's.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from . import vocabulary
from .annotations import is_annotated, issued_logins
from .carriers import ProviderConfig, carried, config_in, configs_at_home, leads_home, pushed
from .clusters import Clusters, Role, is_called, matches
from .model import PROVIDER_PREFIX, REFERENCE_TYPE, SECRET_TYPE, STACK_TYPE, Provider, Resource, Stack
from .tree import at

CONTROL_PLANE: Final = "the control plane"
DATA_PLANES: Final = "a data plane"
"""An owner that is some data plane."""

GENERATORS: Final = frozenset({"random", "tls", "time", "null", "std", "pulumi", vocabulary.PACKAGE})
"""Packages that compute values and send them nowhere."""
CLOUDS: Final = frozenset({
    "alicloud", "auth0", "aws", "aws-native", "awsx", "azure", "azuread", "azure-native", "civo", "cloudflare",
    "confluentcloud", "digitalocean", "dnsimple", "eks", "equinix-metal", "exoscale", "gcp", "google-native",
    "hcloud", "keycloak", "linode", "mongodbatlas", "mysql", "ns1", "oci", "openstack", "ovh", "postgresql",
    "rancher2", "scaleway", "vault", "vultr",
})  # fmt: skip
"""Packages that manage the deployer's accounts and mark each secret output: an unmarked output is public. Their
resources belong to the control plane and stay there, except those of a store."""
_STORES: Final = re.compile(
    r"BucketObject|BucketV2Object|:Blob$|ObjectCopy|BucketFile|StorageObject|:(Dns)?Record(Set)?$|ssm/parameter"
    r"|lambda/function|cloudfunctions|ec2/(instance|launch)|ec2:(Instance|Launch)|compute/instance|:Droplet$"
    r"|(hcloud|linode|vultr):.*:(Server|Instance)$|instanceServer|VirtualMachine(ScaleSet)?$"
    r"|eks.*:Addon$|kubernetesconfiguration.*:Extension$",
    re.IGNORECASE,
)
"""Types with content for readers elsewhere: objects with links, DNS, settings of programs and machines."""
_SEALED: Final = "SecureString"
"""The type of a secret parameter of `aws:ssm`: encrypted, under a public name."""
BUILDERS: Final = {
    "docker:index/image:Image": "registry",
    "docker:index/registryImage:RegistryImage": "authConfig",
    "docker-build:index:Image": "registries",
    "docker-build:index:Index": "registry",
}
"""Types that build or push an image, each with its property for the deployer's registry login. The image's content is
in another property."""
LOGIN_TYPE: Final = re.compile(
    r"(?:Key|Token|Password|Credentials?|User|Role|Account|Client|Robot|Login|SecretId|Registration)[a-zA-Z]*$"
)
"""Endings of the types of logins, such as `harbor:index/robotAccount:RobotAccount`. Users and keepers of logins are
none."""
DATABASE_TYPE: Final = re.compile(
    r"^[a-z-]+:(?:rds|docdb|neptune|redshift|elasticache|memorydb|sql|alloydb|redis|memorystore|cosmosdb|cache|db\w+"
    r"|database\w*)[/:].*:\w*(?:Instance|Cluster|Server|Database|Group|Cache|Redis)$"
    r"|:(?:Database\w*|RdsInstance|MongoDbAtlasCluster)$",
    re.IGNORECASE,
)
"""Types of databases and caches, which have a login of their own."""
OTHER_ACCOUNT: Final = (
    "assumeRole",
    "assumeRoles",
    "assumeRoleWithWebIdentity",
    "profile",
    "impersonateServiceAccount",
)
"""Inputs of a cloud's provider that lead from the deployer's account to another account."""


@dataclass(frozen=True)
class Owners:
    """The owners in one stack."""

    stack: Stack
    clusters: Clusters
    data_plane_stacks: tuple[str, ...] = ()
    data_plane_logins: tuple[str, ...] = ()
    at_home: Set[ProviderConfig] = frozenset()
    """Configurations of operators that lead to their own cluster, as the preview showed: before a write the stack is
    unknown."""

    def place(self, resource: Resource) -> str | None:
        """The place of a resource's inputs: `CONTROL_PLANE`, or a name for a data plane or another place. None for a
        resource of no place: a key, a component, a stack."""
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
        """Destinations of the control plane's objects that operators carry, by URN."""
        return carried(self._on_control_plane, self._elsewhere, self.at_home)

    @cached_property
    def _on_control_plane(self) -> list[Resource]:
        return [one for one in self.stack.resources if self.clusters.on_control_plane(one)]

    def pushed_away(self) -> Iterator[tuple[Resource, str, Resource]]:
        """Each object that copies a Secret of the control plane into a store named like a data plane's, the store's
        name, and the Secret. Declared shared logins may be copied."""
        patterns = self.clusters.config.data_plane_providers
        for resource, store, secret in pushed(self._on_control_plane):
            if is_called([store], patterns) and not self.keeps_logins(secret):
                yield resource, store, secret

    @cached_property
    def configs_at_home(self) -> frozenset[ProviderConfig]:
        """Configurations of the control plane's operators that lead to their own cluster."""
        return configs_at_home(self._on_control_plane)

    def leads_elsewhere_now(self, resource: Resource) -> bool:
        """True for such a configuration that now leads elsewhere, in contrast to its preview."""
        return bool(self.at_home) and config_in(resource) in self.at_home and not leads_home(resource)

    def _elsewhere(self, name: str) -> str:
        """The place of an operator's name or address; empty for the control plane. An unclassified cluster is no
        control plane."""
        if is_called([name], self.clusters.config.control_plane_providers):
            return ""
        return "" if self.clusters.by_server.get(name) == {Role.CONTROL_PLANE} else self.clusters.place_at(name)

    def is_on_data_plane(self, resource: Resource) -> bool:
        """True for an object of a data plane's or an unclassified cluster, and for an object that an operator carries
        there."""
        return self.clusters.role(resource) is not None and self.place(resource) != CONTROL_PLANE

    def is_given_away(self, resource: Resource) -> bool:
        """True for an object of a data plane, of an unclassified cluster, or of any place other than the control
        plane."""
        return not resource.read_only and self.place(resource) not in {None, CONTROL_PLANE}

    def is_in_unclassified_account(self, resource: Resource) -> bool:
        """True for a resource in a cloud account of a named provider without a declared owner. Its own secrets count as
        the control plane's, and it must not receive other secrets of the control plane."""
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
        """True for a resource outside of clusters, through a provider declared as a data plane's."""
        provider, patterns = resource.provider, self.clusters.config.data_plane_providers
        return provider is not None and self.clusters.role(resource) is None and matches(provider, patterns)

    def is_judged(self, resource: Resource) -> bool:
        """True for a place that must not hold the control plane's secrets."""
        return (
            self.is_given_away(resource)
            or self.reaches_data_plane(resource)
            or self.is_in_unclassified_account(resource)
        )

    def reaches_data_plane(self, resource: Resource) -> bool:
        """True for a provider of a data plane, by cluster or by declaration: the server that it logs in to receives its
        inputs."""
        if provider := self.clusters.providers.get(resource.urn):
            return self.clusters.role_of_provider(provider) is Role.DATA_PLANE
        return self.is_data_planes_login(resource)

    def is_data_planes_login(self, resource: Resource) -> bool:
        """True for a provider declared as a data plane's that is no cluster's: its inputs are a login there. A
        cluster's kubeconfig mostly comes from a cloud."""
        patterns = self.clusters.config.data_plane_providers
        known = resource.urn in self.clusters.providers
        return resource.is_provider and not known and matches(resource.as_provider, patterns)

    @staticmethod
    def _goes_nowhere(resource: Resource, provider: Provider) -> bool:
        package = resource.type.split(":")[0]
        return package in GENERATORS or provider.type == f"{PROVIDER_PREFIX}pulumi"

    def _stays(self, resource: Resource, provider: Provider) -> bool:
        """For a provider that reaches no cluster: true for the deployer's own account."""
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
        """True for the deployer's login to a cloud, a forge, a monitoring service. That account is the control plane's,
        unless it is a cluster's, declared as a data plane's, or leads on to another account."""
        config, package = self.clusters.config, provider.type.removeprefix(PROVIDER_PREFIX)
        if provider.urn in self.clusters.providers or matches(provider, config.data_plane_providers):
            return False
        own = package not in GENERATORS and not self._is_other_account(provider)
        return own or matches(provider, config.control_plane_providers)

    def is_deployers_login(self, resource: Resource, name: str) -> bool:
        """True for the property with the login that pushes an image, if the deployer alone builds it."""
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
        """The maker of a resource's own secrets. None where only their flow decides."""
        if resource.type == REFERENCE_TYPE:
            return DATA_PLANES if self._is_data_plane_stack(resource) else CONTROL_PLANE
        if resource.urn in self.clusters.providers:
            provider = self.clusters.providers[resource.urn]
            role = self.clusters.role_of_provider(provider)
            return CONTROL_PLANE if role is Role.CONTROL_PLANE else self.clusters.place_of(provider)
        if self.clusters.on_control_plane(resource) and resource.kind != "Secret":
            return CONTROL_PLANE  # the cluster that answers, even if an operator carries the object on
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
        """True for a resource of a control-plane account that the settings declare as a login for a data plane. Its
        flow decides its owner, as with a generated password. In a pattern only `*` stands for other letters."""
        named = is_login_in_settings(resource) and any(
            fnmatch.fnmatchcase(resource.called, pattern) for pattern in self._login_patterns
        )
        return named and self.may_be_made_for_a_data_plane(resource)

    def issued_to(self, resource: Resource) -> frozenset[str]:
        """URNs of the logins that a data plane's Secret declares as issued to its tenant: resources of an account, and
        generated passwords of such a login or named directly."""
        names = issued_logins(resource) if resource.type == SECRET_TYPE and self.is_on_data_plane(resource) else ()
        found = set[str]()
        for one in self.stack.by_urn.values() if names else ():
            if one.called in names and one.type.startswith("random:"):
                found.add(one.urn)
            elif one.called in names and self.may_be_made_for_a_data_plane(one):
                found.add(one.urn)
                made_of = self.stack.sources_of(one, *one.sources)
                found.update(source.urn for source in made_of if source.type.startswith("random:"))
        return frozenset(found)

    def may_be_made_for_a_data_plane(self, resource: Resource) -> bool:
        """True for a resource that the settings may declare so: a login, or a database with its own login."""
        return (
            bool(LOGIN_TYPE.search(resource.type) or DATABASE_TYPE.search(resource.type))
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
        """URNs of the credentials of providers without proof that they are a data plane's."""
        providers = (one for one in self.stack.resources if one.is_provider and not self.reaches_data_plane(one))
        return frozenset(urn for one in providers for urn in one.depends_on)

    def keeps_logins(self, resource: Resource) -> bool:
        """True for a Secret of the control plane annotated, with a reason, as a keeper of logins that a data plane
        shares. Tokens that its own cluster makes and the key of istiod's authority are excluded."""
        return self.may_keep_logins(resource) and is_annotated(resource, vocabulary.DATA_PLANE_OWNED_ANNOTATION)

    def may_keep_logins(self, resource: Resource) -> bool:
        """True for a Secret of the control plane that may be annotated so."""
        return (
            can_keep_logins(resource)
            and self.clusters.on_control_plane(resource)
            and self.place(resource) == CONTROL_PLANE
            and not self._is_below_control_plane(resource)
        )

    def is_assumed_maker(self, maker: Resource) -> bool:
        """True if a secret counts as the control plane's only because its maker has no declared owner: another stack,
        or an account of a named provider."""
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
        """True if a resource counts as given away only because its provider, which reaches no cluster, has no declared
        owner."""
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
        """By the reference's name in the program: the stack's full name unless `stack_name` differs, which the engine
        shows to no policy. A name other than organization/project/stack decides nothing, unless a setting has a pattern
        for it."""
        said = at(reference.body, "name")
        name = said if isinstance(said, str) else reference.name
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.data_plane_stacks)

    def is_data_plane_side(self) -> bool:
        """True for a stack of the data plane's side: by its name, or by clusters without a control plane."""
        named = any(fnmatch.fnmatchcase(self.stack.name, p.rpartition("/")[2]) for p in self.data_plane_stacks)
        roles = [self.clusters.role_of_provider(p) for p in self.clusters.providers.values()]
        return named or (Role.DATA_PLANE in roles and Role.CONTROL_PLANE not in roles)

    def _is_below_control_plane(self, resource: Resource) -> bool:
        return not vocabulary.CONTROL_PLANE_TYPES.isdisjoint(self.stack.ancestor_types(resource))

    def is_below_data_plane(self, resource: Resource) -> bool:
        types = self.stack.ancestor_types(resource)
        return not vocabulary.DATA_PLANE_TYPES.isdisjoint(types) and vocabulary.CONTROL_PLANE_TYPES.isdisjoint(types)


def is_login_in_settings(resource: Resource) -> bool:
    """True for a login that a setting may name. A `Cluster` may be a database, or have a kubeconfig."""
    return not resource.type.endswith("Cluster")


def can_keep_logins(secret: Resource) -> bool:
    """True for a Secret in any place whose program data may be a login: no authority of istiod, and no token of its own
    cluster."""
    return (
        secret.type == SECRET_TYPE
        and secret.inputs is not None  # an annotation that is only read may be anybody's
        and secret.object_name not in {"", *vocabulary.AUTHORITY_SECRETS}
        and at(secret.body, "type") != "kubernetes.io/service-account-token"
    )
