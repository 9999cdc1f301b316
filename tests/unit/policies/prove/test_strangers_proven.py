"""The oracle, which knows no rule, says of the strangers' programs of the later sets what their author says."""

from __future__ import annotations

import pytest

from tests.corpus.strangers.oracle import agrees, proven
from tests.corpus.strangers.programs import CLEAN, LEAKS
from tests.corpus.strangers.stranger import Stranger

LATER = {name: one for name, one in {**LEAKS, **CLEAN}.items() if one.set != "first"}
NOT_RUN = frozenset(
    {
        "clusters-credentials-listed",
        "eighth-cluster-object-without-a-login",
        "eighth-list-of-logins-by-number",
        "eighth-row-of-a-list-by-name",
        "eleventh-address-of-the-balancer",
        "eleventh-cluster-and-its-provider-in-one-program",
        "eleventh-connection-that-nobody-marked",
        "eleventh-google-accounts-of-both",
        "eleventh-pull-through-cache-of-public-images",
        "eleventh-thumbprint-of-an-issuer",
        "eleventh-verification-of-a-domain",
        "field-cluster-extension",
        "field-collectors-header-of-another-stack",
        "field-extra-deploy-text",
        "field-flux-release-elsewhere",
        "field-hub-kubeconfig-of-another-stack",
        "field-ignored-afterwards",
        "field-join-secret-in-values-of-a-stack",
        "field-launch-template-of-another-stack",
        "field-leaf-node-of-another-stack",
        "field-mc-alias",
        "field-merged-defaults",
        "field-metrics-store-of-another-stack",
        "field-patch-of-a-secret",
        "fleet-answer-of-a-store-as-values",
        "fleet-details-by-a-look-up",
        "fleet-facts-at-the-update",
        "fleet-keys-of-the-login-service",
        "fleet-last-applied-of-the-hubs-secret",
        "fleet-store-in-the-same-cluster",
        "found-connection-secret-joined",
        "found-dynamic-registration",
        "found-facts-out-of-a-connection-secret",
        "found-mirror-maker-as-the-hub",
        "key-as-openssh",
        "ninth-account-key-of-a-service-account",
        "ninth-certificate-checks-by-records",
        "ninth-certificate-of-a-served-address",
        "ninth-home-secrets-in-a-store-of-the-team",
        "ninth-inventory-by-a-command",
        "ninth-looked-up-images-and-zones",
        "ninth-oidc-issuer-of-a-cluster",
        "ninth-own-database-of-its-stack",
        "ninth-own-settings-in-ini",
        "ninth-public-key-of-a-key-service",
        "one-public-member-of-a-marked-output",
        "output-of-a-command-run",
        "page-of-the-vault",
        "platform-account-by-a-call",
        "platform-authority-read",
        "platform-cluster-token-by-a-call",
        "platform-dns-account",
        "platform-eks-facts",
        "platform-gke-authority",
        "platform-public-parameter",
        "platform-registry-token",
        "platform-secret-by-a-call-stays",
        "platform-thumbprint",
        "platform-unmarked-host",
        "platform-unseal",
        "registry-login-of-a-cloud",
        "saas-facts-of-projects",
        "saas-own-login-of-an-operator",
        "saas-password-for-the-vendors-side",
        "saas-status-of-the-tenant-goes-up",
        "state-of-terraform",
        "storage-keys-listed",
        "tenth-account-key-file",
        "tenth-look-up-of-a-login-stays",
        "tenth-look-ups-of-the-teams-account",
        "thirteenth-account-key-file-of-a-bucket",
        "thirteenth-fact-address-of-a-gateway",
        "thirteenth-fact-host-of-a-marked-output",
        "thirteenth-key-in-a-keystore",
        "token-for-a-cluster",
        "twelfth-hosts-of-a-cluster-of-documents",
        "twelfth-key-for-checking-of-a-vault",
        "twelfth-own-cache-of-azure",
        "twelfth-store-of-keys-with-the-usual-password",
        "twelfth-what-a-command-prints",
        "unmarked-output-of-a-dynamic-resource",
    }
)
"""Data sources and dynamic providers have no answers before the oracle; OpenSSH's form has a random number in it; what
another stack's marked output is made of, or an object that is only read, it does not know."""
OTHERWISE = frozenset(
    {
        "eighth-own-client-of-a-login-service",
        "eighth-own-database-roles",
        "eighth-own-key-of-a-cloud",
        "eighth-own-stack-per-tenant",
        "eighth-pets-and-suffixes",
        "eighth-up-job-at-the-platform",
        "eighth-up-login-of-the-tenants-metrics",
        "eleventh-all-that-a-component-has",
        "eleventh-own-client-in-its-own-realm",
        "eleventh-own-database-on-google",
        "eleventh-own-key-for-backups",
        "eleventh-own-stack-of-its-database",
        "eleventh-random-string-in-an-account-name",
        "eleventh-up-hash-of-the-tenants-login",
        "fleet-cluster-of-a-stack",
        "fleet-marked-output-on-the-network",
        "fleet-tokens-known-by-hash",
        "found-component-per-account",
        "found-kubeconfig-without-a-login",
        "found-login-of-the-shop-kept-by-the-hub",
        "found-module-of-secrets-by-name",
        "found-service-user-of-a-cluster-object",
        "found-source-name-in-a-map",
        "found-vault-way-to-log-in",
        "ninth-account-application-of-azure",
        "ninth-account-database-of-the-tenant",
        "ninth-account-mongo-user",
        "ninth-account-registry-user",
        "ninth-authorized-key-by-a-library",
        "ninth-marked-endpoint-of-the-tenants-database",
        "ninth-own-account-token-for-a-pipeline",
        "ninth-own-client-of-a-vendor",
        "ninth-provider-that-logs-in-at-the-tenants",
        "ninth-public-half-by-a-library",
        "ninth-support-login-among-exports",
        "ninth-up-database-of-the-tenant-is-migrated-from-above",
        "ninth-up-exporters-login",
        "ninth-up-key-of-the-tenants-store",
        "ninth-up-passphrase-of-the-tenants-backups",
        "ninth-up-telemetry-token-of-the-tenant",
        "own-access-key-of-the-users-account",
        "random-uuid-as-a-token",
        "saas-export-of-a-tenants-stack",
        "saas-hook-with-an-own-token",
        "saas-own-cloud-login-later",
        "saas-own-database-in-a-cloud",
        "saas-own-realm",
        "saas-release-notes-of-a-chart",
        "saas-status-of-a-claim-copied-later",
        "saas-workflow-of-the-tenant",
        "tenth-account-agent-key",
        "tenth-account-approle",
        "tenth-account-client-of-a-login-service",
        "tenth-account-database",
        "tenth-account-key-of-a-network",
        "tenth-account-keys-in-a-loop",
        "tenth-account-keys-of-streams",
        "tenth-account-password-of-an-application",
        "tenth-account-token-of-a-zone",
        "tenth-component-with-providers-of-an-account",
        "tenth-home-reader-of-a-tenants-bucket",
        "tenth-home-source-of-dashboards",
        "tenth-integration-key-of-the-teams-pager",
        "tenth-note-says-hashed-and-is-encoded",
        "tenth-own-entry-in-its-vault",
        "tenth-own-hook-at-both-ends",
        "tenth-own-roles-of-a-database",
        "tenth-passed-on-by-the-tenants-stack",
        "tenth-pushed-into-the-tenants-store",
        "tenth-registry-login-on-the-tenants-docker-host",
        "tenth-stack-of-a-tenants-account",
        "tenth-stack-of-a-tenants-data",
        "tenth-stacks-in-a-loop",
        "thirteenth-account-database-and-its-login",
        "thirteenth-account-key-of-a-pager",
        "thirteenth-account-keys-of-streams",
        "thirteenth-account-password-of-an-application",
        "thirteenth-account-runner-of-its-group",
        "thirteenth-account-tunnel-of-its-zone",
        "thirteenth-account-user-of-documents",
        "thirteenth-build-cluster-with-the-hubs-prefix",
        "thirteenth-declassified-hash-of-four-digits",
        "thirteenth-note-of-another-tenants-label",
        "thirteenth-note-on-a-secret-of-two",
        "thirteenth-note-without-a-tenants-label",
        "thirteenth-notes-on-all-secrets-by-a-transformation",
        "thirteenth-own-authority-in-both-clusters",
        "thirteenth-own-keycloak-of-a-tenant",
        "thirteenth-own-mirror-between-two-clusters",
        "thirteenth-several-entries-one-is-not-public",
        "thirteenth-shared-client-of-the-login-service",
        "thirteenth-shared-robot-of-the-hubs-images",
        "thirteenth-stack-of-each-tenants-data",
        "thirteenth-tenants-operator-name-is-the-hubs",
        "thirteenth-up-hook-of-the-tenants-forge",
        "thirteenth-up-tenants-key-for-the-hubs-backups",
        "thirteenth-whole-spec-is-declassified",
        "thirteenth-wired-providers-in-a-loop",
        "twelfth-address-of-a-machine-with-user-data",
        "twelfth-key-set-of-a-private-key",
        "twelfth-name-of-a-tunnel",
        "twelfth-own-client-of-its-login-service",
        "twelfth-own-connection-of-a-managed-database",
        "twelfth-own-key-for-dns-in-its-cloud",
        "twelfth-own-key-of-its-monitoring",
        "twelfth-own-mesh-of-two-clusters",
        "twelfth-own-pull-login-of-its-group",
        "twelfth-own-roles-of-its-database",
        "twelfth-own-secret-of-a-tunnel",
        "twelfth-own-secret-of-an-action",
        "twelfth-own-user-of-its-documents",
        "twelfth-public-key-of-a-tunnel-computed",
        "twelfth-stays-a-rotated-login",
        "twelfth-up-public-key-of-the-tenants-tunnel",
        "unmarked-output-of-a-client",
    }
)
"""A UUID counts as none of a secret's forms, and a RandomString as one; what the user's account makes is not the user's
cluster's until its object says so, which the oracle does not read; an output that nobody marks it takes for a fact;
what a stack exports is no registration; where a kubeconfig of another stack leads, that a marked output is a public
name, what a claim or a chart answers, and that of a tenant's password the control plane keeps only a hash, it does not
know. A generated secret that the control plane has too it takes for the control plane's, and one that reaches a single
place for that place's own. All secrets here are made of one word, so it does not see which key it is whose public half
a program computes by itself; a provider's own arguments go nowhere to it, and what an operator pushes to a store stays
where it is. Notes and settings it believes, also those that say too much."""


def _asked(stranger: Stranger) -> bool | None:
    return agrees(stranger, proven(stranger))


@pytest.mark.parametrize(
    "name", [name for at, name in enumerate(LATER) if at % 4 == 0 and name not in NOT_RUN | OTHERWISE]
)
def test_the_oracle_agrees(name: str) -> None:
    """Every fourth one: a run of all takes half a minute."""
    assert _asked(LATER[name]) is True, LATER[name].why


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_what_the_oracle_cannot_run_is_known(name: str) -> None:
    assert _asked(LATER[name]) is None


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_where_the_oracle_disagrees_is_known(name: str) -> None:
    assert _asked(LATER[name]) is False
