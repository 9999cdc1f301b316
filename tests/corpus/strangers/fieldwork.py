"""What the third set's programs have in common: a provider's cluster as platform teams fill it, and usual objects."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
import yaml

from tests.corpus.world import Object

from .material import LETTERS, Material
from .scene import SERVERS, Scene

HEX = "0123456789abcdef"
ISSUER = "https://id.platform.example.com/realms/platform"


def noise(name: str, length: int) -> bytes:
    """Bytes that look random and are nobody's secret: the same in each run."""
    return hashlib.shake_256(f"field {name}".encode()).digest(length)


def drawn(name: str, length: int, letters: str = LETTERS) -> str:
    return "".join(letters[byte % len(letters)] for byte in noise(name, length))


def b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def uid(name: str) -> str:
    return str(uuid.UUID(bytes=noise(name, 16), version=4))


CLIENT = uid("oidc client")
BUCKET = f"platform-metrics-{drawn('bucket', 8, HEX)}"
SCRIPT = """#!/bin/bash
set -euo pipefail
export PGHOST=${PGHOST:-localhost} PGUSER=${PGUSER:-postgres}
STAMP=$(date -u +%Y%m%dT%H%M%SZ)
pg_dump --format=custom --no-owner "$PGDATABASE" | gzip -9 > "/backup/$PGDATABASE-$STAMP.dump.gz"
aws s3 cp --only-show-errors "/backup/$PGDATABASE-$STAMP.dump.gz" "s3://$BUCKET/$PGDATABASE/"
find /backup -name '*.dump.gz' -mtime +7 -delete
"""
TEMPLATES = """{{ define "slack.title" }}[{{ .Status | toUpper }}{{ if eq .Status "firing" }}:{{ .Alerts.Firing | len }}{{ end }}] {{ .CommonLabels.alertname }}{{ end }}
{{ define "slack.text" }}{{ range .Alerts }}*{{ .Annotations.summary }}* <{{ .GeneratorURL }}|:chart_with_upwards_trend:>{{ end }}{{ end }}
"""


def settings_of(made: Material, bucket: str = BUCKET) -> str:
    """A file of variables as an application reads it: most of it is public."""
    return (
        f"APP_ENV=production\nLOG_LEVEL=info\nREGION=eu-west-1\nAWS_ACCOUNT_ID=407408718192\nS3_BUCKET={bucket}\n"
        f"OIDC_ISSUER={ISSUER}\nOIDC_CLIENT_ID={CLIENT}\nSENTRY_DSN=https://{drawn('dsn', 32, HEX)}@o4505.ingest.sentry.io/4505\n"
        f"KAFKA_CLUSTER_ID={drawn('kafka', 22)}\nRELEASE={drawn('sha', 12, HEX)}\nSESSION_SECRET={made.opaque('session', 48, LETTERS)}\n"
        f"DATABASE_URL=postgres://app:{made.opaque('app db', 24, LETTERS)}@db.platform.svc:5432/app?sslmode=require\n"
    )


def receivers_of(made: Material) -> str:
    """Alertmanager's file."""
    slack = f"https://hooks.slack.com/services/T0{made.opaque('t', 8, 'ABCDEFGH0123')}/B0{made.opaque('b', 8, 'ABCDEFGH0123')}/{made.opaque('slack', 24, LETTERS)}"
    return yaml.safe_dump(
        {
            "global": {"resolve_timeout": "5m"},
            "templates": ["/etc/alertmanager/config/*.tmpl"],
            "route": {"receiver": "slack", "group_by": ["alertname", "namespace"], "group_wait": "30s"},
            "inhibit_rules": [{"source_matchers": ["severity=critical"], "target_matchers": ["severity=warning"]}],
            "receivers": [
                {
                    "name": "slack",
                    "slack_configs": [
                        {"api_url": slack, "channel": "#alerts", "title": '{{ template "slack.title" . }}'}
                    ],
                },
                {"name": "pager", "pagerduty_configs": [{"routing_key": made.opaque("pager", 32, HEX)}]},
            ],
        }
    )


def platform(scene: Scene) -> None:
    """The Secrets of a provider's cluster: each has a secret in it, and much that everybody may know."""
    cp = scene.cp
    cluster = {"tlsClientConfig": {"caData": b64(cp.certificate("kubernetes", authority=True))}}
    files: dict[str, dict[str, str]] = {
        "app-settings": {".env": settings_of(cp)},
        "grafana": {"admin-user": "admin", "admin-password": cp.opaque("grafana", 40, LETTERS), "ldap-toml": ""},
        "argocd-secret": {
            "admin.passwordMtime": "2026-01-01T00:00:00Z",
            "server.secretkey": b64(cp.raw("argocd")),
            "oidc.clientID": CLIENT,
            "oidc.clientSecret": cp.opaque("argocd oidc", 32, LETTERS),
        },
        "cluster-platform": {
            "name": "platform",
            "server": SERVERS["cp"],
            "config": json.dumps({"bearerToken": cp.jwt("argocd"), **cluster}),
        },
        "thanos-objstore": {
            "objstore.yml": yaml.safe_dump(
                {
                    "type": "S3",
                    "config": {
                        "bucket": BUCKET,
                        "endpoint": "s3.eu-west-1.amazonaws.com",
                        "region": "eu-west-1",
                        "access_key": "AKIA" + cp.opaque("thanos id", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
                        "secret_key": cp.opaque("thanos", 40, LETTERS),
                    },
                }
            )
        },
        "alertmanager": {"alertmanager.yaml": receivers_of(cp), "slack.tmpl": TEMPLATES},
        "keycloak-db": {
            "host": "db.platform.svc",
            "port": "5432",
            "database": "keycloak",
            "username": "keycloak",
            "password": cp.opaque("keycloak", 32, LETTERS),
        },
        "backup": {"backup.sh": SCRIPT, "PGPASSWORD": cp.opaque("backup", 24, LETTERS), "BUCKET": BUCKET},
        "regcred": {
            ".dockerconfigjson": json.dumps(
                {
                    "auths": {
                        "registry.platform.example.com": {
                            "username": "robot$platform",
                            "password": cp.opaque("registry", 32, LETTERS),
                            "auth": b64("robot$platform:" + cp.opaque("registry", 32, LETTERS)),
                        }
                    }
                }
            )
        },
        "cacerts": {
            "ca-cert.pem": cp.certificate("istio-ca", authority=True),
            "ca-key.pem": cp.key("istio-ca"),
            "root-cert.pem": cp.certificate("istio-ca", authority=True),
            "cert-chain.pem": cp.certificate("istio-ca", authority=True),
        },
        "flux-system": {
            "identity": cp.key("flux"),
            "identity.pub": cp.public_ssh("flux"),
            "known_hosts": f"git.example.com {scene.dp.public_ssh('git host')}\n",
        },
        "gateway-htpasswd": {".htpasswd": "tenant:$apr1$" + cp.opaque("salt", 8, LETTERS) + "$" + cp.opaque("ht", 22)},
        "redis": {"redis-password": cp.opaque("redis", 32, LETTERS), "redis.conf": "maxmemory 256mb\nappendonly yes\n"},
    }
    for name, data in files.items():
        scene.secret("cp", name, {key: pulumi.Output.secret(value) for key, value in data.items()})
    scene.secret("cp", "admin", {"password": scene.password("cp", "admin").output("result")})


def apply(value: Any, change: Callable[[Any], Any]) -> pulumi.Output[Any]:
    return pulumi.Output.from_input(value).apply(change)


def release(scene: Scene, side: str, chart: str, values: Any, **more: Any) -> Object:
    inputs = {"chart": chart, "version": "1.2.3", "namespace": chart, "values": values}
    return scene.made("kubernetes:helm.sh/v3:Release", f"{side}-{chart}", inputs, scene.options(side, **more))


def deployment(
    scene: Scene,
    side: str,
    name: str,
    container: Mapping[str, Any],
    notes: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    labels = {"app": name}
    spec = {"containers": [{"name": name, "image": f"{name}:1.0", **container}]}
    template = {"metadata": {"labels": labels, "annotations": dict(notes or {})}, "spec": spec}
    body = {"spec": {"selector": {"matchLabels": labels}, "template": template}}
    return scene.object(side, "apps/v1:Deployment", name, body, **more)


def kubeconfig(server: str, user: Mapping[str, Any], authority: str) -> str:
    """A kubeconfig in the order in which programs write it."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "hub", "cluster": {"server": server, "certificate-authority-data": b64(authority)}}],
            "users": [{"name": "agent", "user": dict(user)}],
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
            "current-context": "hub",
        }
    )


def minted(scene: Scene, side: str, account: str) -> pulumi.Output[str]:
    """The token that a cluster makes for a service account."""
    kind = {
        "type": "kubernetes.io/service-account-token",
        "metadata": {"annotations": {"kubernetes.io/service-account.name": account}},
    }
    made = scene.owner(side)
    data = {"token": b64(made.jwt(account)), "ca.crt": b64(made.certificate("kubernetes", authority=True))}
    secret = scene.answered(side, "v1:Secret", account, kind, data=data)
    return secret.output("data").apply(lambda found: base64.b64decode((found or {}).get("token", "")).decode())


def in_account(
    team: str,
    scene: Scene,
    kind: str,
    name: str,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any] | None = None,
    secret: Sequence[str] = (),
    *,
    owner: str = "dp",
    **login: Any,
) -> Object:
    """A resource in an account of a team's, by a provider that has the team's name and logs in as it."""
    package = kind.partition(":")[0]
    opts = scene.package(package, f"{team}-{package}", owner, **login)
    return scene.made(kind, name, inputs, opts, answers, secret)


def at_home(scene: Scene, team: str, domain: str, mesh: str, data: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
    """A team's own cluster: Secrets with their namespaces, a console with a generated login, and istiod."""
    for name, (namespace, entries) in data.items():
        scene.secret("cp", f"{team}-{name}", entries, namespace=namespace)
    admin = scene.password("cp", f"{team}-console").output("result")
    login = {"username": "admin", "password": admin, "url": f"https://console.{domain}"}
    scene.secret("cp", f"{team}-console", login, namespace="console")
    release(scene, "cp", "istiod", {"global": {"meshID": mesh, "externalIstiod": True}, "console": {"adminPassword": admin}})  # fmt: skip
