"""What this set's programs have in common: a provider's cluster as platform teams fill it."""

from __future__ import annotations

import json

import pulumi
import yaml

from tests.corpus.strangers.material import LETTERS, Material
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import HEX, b64, drawn, uid

ISSUER = "https://id.platform.example.com/realms/platform"

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
