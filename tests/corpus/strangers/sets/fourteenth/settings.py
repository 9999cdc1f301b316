"""Harmless, of a team that has read the README: objects, charts, scripts and boards that name secrets and have none."""

from __future__ import annotations

import json

import pulumi
import yaml

from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, b64, drawn, noise, uid

from .world import ALDER, ALDER_ACCOUNT, CERTIFICATE, DOMAIN, MESH, REGION, ROOTS, both, digest, hub

CHARTS, OBJECTS, FILES = (
    "fourteenth: values of charts",
    "fourteenth: objects that name secrets",
    "fourteenth: scripts, rules and boards",
)

# Values of charts -----------------------------------------------------------------------------------------------------


@clean(CHARTS, "fourteenth-chart-of-a-whole-stack", "A chart with many values: logins by the names of Secrets, addresses, limits and long lists.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    values = {
        "grafana": {
            "admin": {"existingSecret": "grafana-admin", "userKey": "admin-user", "passwordKey": "admin-password"},
            "ingress": {"hosts": [f"grafana.{ALDER}"]},
            "sidecar": {"dashboards": {"enabled": True}},
        },
        "prometheus": {
            "prometheusSpec": {
                "retention": "15d",
                "externalLabels": {"cluster": "alder", "mesh": MESH},
                "remoteWrite": [
                    {
                        "url": f"https://metrics.{DOMAIN}/api/v1/push",
                        "basicAuth": {
                            "username": ref("remote-write", "username"),
                            "password": ref("remote-write", "password"),
                        },
                    }
                ],
            }
        },
        "alertmanager": {
            "alertmanagerSpec": {"configSecret": "alertmanager", "externalUrl": f"https://alerts.{ALDER}"}
        },
        "defaultRules": {"disabled": {"KubeProxyDown": True, "etcdMembersDown": True}},
    }
    release(scene, "dp", "kube-prometheus-stack", values)


@clean(CHARTS, "fourteenth-chart-of-the-login-service", "A chart sets how passwords have to look and how long tokens live, and none of either.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "keycloak", {"auth": {"adminUser": "admin", "existingSecret": "keycloak", "passwordSecretKey": "admin-password"}, "realm": {"passwordPolicy": "length(14) and notUsername and hashIterations(210000)", "accessTokenLifespan": 300, "ssoSessionIdleTimeout": 1800, "bruteForceProtected": True}, "externalDatabase": {"host": f"pg.{ALDER}", "existingSecret": "keycloak-db"}})  # fmt: skip


@clean(CHARTS, "fourteenth-chart-of-istio-for-remote-clusters", "The tenant's proxies are set up for an istiod elsewhere: addresses, networks, a policy for certificates and a trust domain.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "istiod-remote", {"profile": "remote", "global": {"externalIstiod": True, "remotePilotAddress": f"istiod.{DOMAIN}", "meshID": MESH, "network": "alder-1", "pilotCertProvider": "istiod", "caAddress": f"istiod.{DOMAIN}:15012", "sts": {"servicePort": 0}, "jwtPolicy": "third-party-jwt", "multiCluster": {"clusterName": "alder"}}, "meshConfig": {"trustDomain": f"alder.{DOMAIN}", "accessLogFile": "/dev/stdout", "defaultConfig": {"discoveryAddress": f"istiod.{DOMAIN}:15012", "proxyMetadata": {"SECRET_TTL": "24h0m0s"}}}})  # fmt: skip


@clean(CHARTS, "fourteenth-chart-of-external-secrets", "The operator of external secrets with its rights, its certificate's settings and the tenant's own role in a note.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "external-secrets", {"installCRDs": True, "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": f"arn:aws:iam::{ALDER_ACCOUNT}:role/external-secrets"}}, "webhook": {"certManager": {"enabled": True, "cert": {"issuerRef": {"kind": "ClusterIssuer", "name": "alder"}, "duration": "2160h"}}}, "extraEnv": [{"name": "AWS_REGION", "value": REGION}]})  # fmt: skip


@clean(CHARTS, "fourteenth-chart-of-runners-by-name", "Runners of the tenant's, whose registration is in a Secret that the tenant's people made.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "gha-runner-scale-set", {"githubConfigUrl": "https://github.com/alder", "githubConfigSecret": "alder-github-app", "maxRunners": 12, "template": {"spec": {"containers": [{"name": "runner", "image": f"registry.{DOMAIN}/runner@{digest('runner')}"}]}}})  # fmt: skip


# Objects that name secrets --------------------------------------------------------------------------------------------


@clean(OBJECTS, "fourteenth-object-definition-of-a-claim", "A definition of claims, whose schema has fields for passwords and references to Secrets.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "required": ["passwordSecretRef"], "properties": {"passwordSecretRef": {"type": "object", "description": "The Secret with the owner's password.", "properties": {"name": {"type": "string"}, "key": {"type": "string", "default": "password"}}}, "tokenTTL": {"type": "string", "pattern": "^[0-9]+h$", "default": "24h"}}}}}  # fmt: skip
    spec = {"group": f"db.{DOMAIN}", "scope": "Namespaced", "names": {"kind": "Database", "plural": "databases"}, "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}  # fmt: skip
    scene.object("dp", "apiextensions.k8s.io/v1:CustomResourceDefinition", f"databases.db.{DOMAIN}", {"spec": spec})


@clean(OBJECTS, "fourteenth-object-rights-of-the-agent", "Rights of the provider's agent in the tenant's cluster, to Secrets of one namespace among them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    rules = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["osprey-agent"], "verbs": ["get", "update"]}, {"apiGroups": ["networking.istio.io", "security.istio.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}, {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]}]  # fmt: skip
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRole", "osprey-agent", {"rules": rules})
    subjects = [{"kind": "ServiceAccount", "name": "osprey-agent", "namespace": "osprey"}]
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "osprey-agent", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "osprey-agent"}, "subjects": subjects})  # fmt: skip


@clean(OBJECTS, "fourteenth-object-policy-against-plain-passwords", "A policy in the tenant's cluster refuses variables that look like passwords; the patterns are in it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    rule = {"name": "no-plain-passwords", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "validate": {"message": "Take passwords from Secrets.", "foreach": [{"list": "request.object.spec.containers[].env[]", "deny": {"conditions": {"any": [{"key": "{{ element.name }}", "operator": "AnyIn", "value": ["*PASSWORD*", "*TOKEN*", "*SECRET_KEY*"]}]}}}]}}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "no-plain-passwords", {"spec": {"validationFailureAction": "Enforce", "rules": [rule]}})  # fmt: skip


@clean(OBJECTS, "fourteenth-object-workload-with-references", "A workload whose variables and files come from Secrets by name, with tokens for an audience projected by the cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    env = [{"name": "DATABASE_PASSWORD", "valueFrom": {"secretKeyRef": ref("orders-db", "password")}}, {"name": "API_TOKEN_FILE", "value": "/var/run/secrets/osprey/token"}, {"name": "AWS_WEB_IDENTITY_TOKEN_FILE", "value": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"}]  # fmt: skip
    deployment(scene, "dp", "orders", {"env": env, "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/osprey"}]}, {"vault.hashicorp.com/agent-inject": "true", "vault.hashicorp.com/role": "orders", "vault.hashicorp.com/agent-inject-secret-db": "tenants/alder/orders"})  # fmt: skip


@clean(OBJECTS, "fourteenth-object-store-by-identity", "The tenant's store of secrets logs in by the cloud's identity, and an ExternalSecret templates an address out of two entries.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    auth = {"jwt": {"serviceAccountRef": {"name": "external-secrets"}}}
    scene.object("dp", "external-secrets.io/v1:SecretStore", "alder", {"spec": {"provider": {"aws": {"service": "SecretsManager", "region": REGION, "auth": auth}}}})  # fmt: skip
    template = {"engineVersion": "v2", "data": {"url": "postgresql://{{ .user }}:{{ .password | urlquery }}@pg.alder.example.com:5432/orders"}}  # fmt: skip
    data = [{"secretKey": key, "remoteRef": {"key": "alder/orders", "property": key}} for key in ("user", "password")]
    scene.object("dp", "external-secrets.io/v1:ExternalSecret", "orders", {"spec": {"refreshInterval": "15m", "secretStoreRef": {"name": "alder"}, "target": {"name": "orders-db", "template": template}, "data": data}})  # fmt: skip


@clean(OBJECTS, "fourteenth-object-certificates-to-be-issued", "Certificates that cert-manager shall issue in the tenant's cluster: names, uses and the Secret for the key.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in both(scene).items():
        spec = {"secretName": "shop-tls", "dnsNames": [f"shop.{name}.example.com"], "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}, "usages": ["server auth"], "issuerRef": {"name": "acme", "kind": "ClusterIssuer"}, "keystores": {"pkcs12": {"create": True, "passwordSecretRef": ref("keystore", "password")}}}  # fmt: skip
        scene.object(side, "cert-manager.io/v1:Certificate", "shop", {"metadata": {"namespace": "shop"}, "spec": spec})


@clean(OBJECTS, "fourteenth-object-trust-in-public-roots", "The tenant's trust manager bundles roots that everybody has, one of the provider's own among them.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    spec = {"sources": [{"useDefaultCAs": True}, {"inLine": ROOTS}, {"inLine": scene.cp.certificate("osprey-root", authority=True)}], "target": {"configMap": {"key": "trust.pem"}}}  # fmt: skip
    scene.object("dp", "trust.cert-manager.io/v1alpha1:Bundle", "trust", {"spec": spec})


@clean(OBJECTS, "fourteenth-object-sealed-by-the-tenant", "A SealedSecret that the tenant's people committed, which only the tenant's controller opens.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    spec = {"encryptedData": {"token": "AgA" + b64(noise("fourteenth sealed", 570))[3:]}, "template": {"metadata": {"name": "vendor", "namespace": "shop"}, "type": "Opaque"}}  # fmt: skip
    scene.object("dp", "bitnami.com/v1alpha1:SealedSecret", "vendor", {"metadata": {"namespace": "shop"}, "spec": spec})


# Scripts, rules and boards --------------------------------------------------------------------------------------------


@clean(FILES, "fourteenth-file-script-that-rotates", "A script in the tenant's cluster makes a password anew and writes it to a Secret there; the map has the script.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    script = "#!/bin/sh\nset -eu\nPASSWORD=$(head -c 24 /dev/urandom | base64 | tr -d '+/=')\nexport PGPASSWORD=$(cat /run/old/password)\npsql -h pg -U orders -c \"ALTER ROLE orders PASSWORD '$PASSWORD'\"\nkubectl -n shop create secret generic orders-db --from-literal=password=\"$PASSWORD\" --dry-run=client -o yaml | kubectl apply -f -\n"  # fmt: skip
    scene.config_map("dp", "rotate", {"rotate.sh": script}, namespace="shop")


@clean(FILES, "fourteenth-file-dashboard-of-logins", "A dashboard counts failed logins and the ages of tokens; its queries have words for secrets.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    panels = [{"title": "Failed logins", "targets": [{"expr": 'sum(rate(login_attempts_total{result="bad_password"}[5m])) by (client_id)'}]}, {"title": "Tokens by age", "targets": [{"expr": "histogram_quantile(0.9, token_age_seconds_bucket)"}]}, {"title": "Certificates", "targets": [{"expr": "certmanager_certificate_expiration_timestamp_seconds - time()"}]}]  # fmt: skip
    scene.config_map("dp", "dashboard-login", {"login.json": json.dumps({"uid": drawn("board", 12), "title": "Login", "panels": panels, "schemaVersion": 41})}, namespace="monitoring", labels={"grafana_dashboard": "1"})  # fmt: skip


@clean(FILES, "fourteenth-file-settings-of-a-collector", "A collector's settings take the token from a variable, which a Secret of the tenant's fills.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    config = {"receivers": {"filelog": {"include": ["/var/log/pods/*/*/*.log"]}}, "processors": {"redaction": {"allow_all_keys": True, "blocked_values": ["4[0-9]{12}(?:[0-9]{3})?", "AKIA[0-9A-Z]{16}", "-----BEGIN [A-Z ]*PRIVATE KEY-----"]}}, "exporters": {"otlphttp": {"endpoint": f"https://logs.{DOMAIN}", "headers": {"Authorization": "Bearer ${env:OSPREY_TOKEN}"}}}}  # fmt: skip
    scene.config_map("dp", "collector", {"collector.yaml": yaml.safe_dump(config)}, namespace="logging")


@clean(FILES, "fourteenth-file-rules-of-a-scanner", "Rules for finding secrets in the tenant's repositories: patterns, examples that are known to be public, and a list of what to let pass.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    rules = '[[rules]]\nid = "aws"\nregex = \'\'\'(A3T[A-Z0-9]|AKIA|ASIA)[A-Z0-9]{16}\'\'\'\n[[rules]]\nid = "key"\nregex = \'\'\'-----BEGIN (EC|RSA) PRIVATE KEY-----\'\'\'\n[allowlist]\nregexes = [\'\'\'AKIAIOSFODNN7EXAMPLE\'\'\', \'\'\'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\'\'\']\n'  # fmt: skip
    scene.config_map("dp", "gitleaks", {"gitleaks.toml": rules}, namespace="builds")


@clean(FILES, "fourteenth-file-settings-of-dex", "The tenant's login service reads its secrets from variables; its file has clients that are public and a connector by name.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    config = {"issuer": f"https://dex.{ALDER}", "storage": {"type": "kubernetes", "config": {"inCluster": True}}, "staticClients": [{"id": "kubectl", "public": True, "redirectURIs": ["http://localhost:8000"]}, {"id": "shop", "secretEnv": "SHOP_CLIENT_SECRET"}], "connectors": [{"type": "github", "id": "github", "config": {"clientID": "$GITHUB_CLIENT_ID", "clientSecret": "$GITHUB_CLIENT_SECRET"}}], "oauth2": {"skipApprovalScreen": True, "passwordConnector": "local"}}  # fmt: skip
    scene.config_map("dp", "dex", {"config.yaml": yaml.safe_dump(config)}, namespace="login")


@clean(FILES, "fourteenth-file-manifests-for-an-agent", "Manifests for the tenant's people are rendered to one text: a namespace, an account, and a Secret with a place to fill in.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "osprey"}}, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent", "namespace": "osprey"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "agent", "namespace": "osprey"}, "stringData": {"token": "<paste the token from the console here>"}}]  # fmt: skip
    scene.config_map("dp", "install", {"install.yaml": yaml.safe_dump_all(objects)}, namespace="osprey")


@clean(FILES, "fourteenth-file-locks-with-checksums", "A chart's lock and a module's sums, with digests of everything, are in a map for the tenant's builds.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    lock = f'provider "modules.example.com/hashicorp/aws" {{\n  version = "6.4.0"\n  hashes = [\n    "h1:{b64(noise("provider lock", 32))}",\n    "zh:{drawn("provider zh", 64, HEX)}",\n  ]\n}}\n'  # fmt: skip
    chart = yaml.safe_dump({"dependencies": [{"name": "postgresql", "version": "16.7.4"}], "digest": digest("chart lock"), "generated": "2026-06-01T08:00:00Z"})  # fmt: skip
    scene.config_map("dp", "locks", {".terraform.lock.hcl": lock, "Chart.lock": chart, "build-id": uid("build"), "sum": pulumi.Output.concat("sha512-", b64(noise("npm", 64)))}, namespace="builds")  # fmt: skip
