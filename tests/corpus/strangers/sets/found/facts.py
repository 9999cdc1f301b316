"""Harmless, as public programs write them: facts that hub and shop share, operators' objects, and how programs are wired."""  # fmt: skip

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, pull_secret
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BUCKETS,
    CERTIFICATE,
    CLIENT,
    MESH,
    PUBLIC,
    REGION,
    SSO,
    ZONE,
    Site,
    digest,
    hub,
    plain,
    sites,
    told,
    twin,
)

OPERATORS, SHARED, TRUST, OBJECTS, WIRED, LATER = (
    "found: operators' objects, twice",
    "found: facts of the hub",
    "found: what the hub's keys are checked by",
    "found: objects without secrets",
    "found: wiring of public programs",
    "found: later updates without a leak",
)
BLUE = "https://blue.found.example.com:6443"
BOTH = {"dataPlaneServers": [SERVERS["dp"], BLUE]}

# Operators --------------------------------------------------------------------------------------------------------------


@twin(OPERATORS, "cnpg-component", "A component makes a database: a superuser's Secret, an archive's login, the cluster and its backups.", config=told(barman_id=("AKIA", 16, AWS_ID), barman_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    box = Box(f"{at.name}-database", "acme:k8s:Database")
    at.object("v1:Secret", "db-superuser", {"stringData": {"username": "postgres", "password": at.word("superuser")}, "type": "kubernetes.io/basic-auth"}, parent=box)  # fmt: skip
    at.object("v1:Secret", "db-archive", {"stringData": {"ACCESS_KEY_ID": at.told("barman_id"), "ACCESS_SECRET_KEY": at.told("barman_key")}}, parent=box)  # fmt: skip
    store = {"destinationPath": f"s3://{at.bucket}/pg", "s3Credentials": {"accessKeyId": {"name": "db-archive", "key": "ACCESS_KEY_ID"}, "secretAccessKey": {"name": "db-archive", "key": "ACCESS_SECRET_KEY"}}, "wal": {"compression": "gzip", "encryption": "AES256"}}  # fmt: skip
    at.object("postgresql.cnpg.io/v1:Cluster", "db", {"spec": {"instances": 3, "enableSuperuserAccess": True, "superuserSecret": {"name": "db-superuser"}, "backup": {"barmanObjectStore": store, "retentionPolicy": "30d"}, "storage": {"size": "20Gi"}, "postgresql": {"parameters": {"max_connections": "200"}}}}, parent=box)  # fmt: skip
    at.object("postgresql.cnpg.io/v1:ScheduledBackup", "db-daily", {"spec": {"schedule": "0 0 3 * * *", "cluster": {"name": "db"}, "backupOwnerReference": "self"}}, parent=box)  # fmt: skip


@twin(OPERATORS, "strimzi-users", "Users of a bus with passwords from Secrets of the same cluster; access lists and quotas are the same.")  # fmt: skip
def _(at: Site) -> None:
    for user in ("orders", "connect"):
        at.keep(f"{user}-scram", {"password": at.word(f"scram-{user}")}, namespace="kafka")
        acls = [{"resource": {"type": "topic", "name": f"{user}.", "patternType": "prefix"}, "operations": ["Read", "Write", "Describe"]}]  # fmt: skip
        at.object("kafka.strimzi.io/v1beta2:KafkaUser", user, {"spec": {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": {"name": f"{user}-scram", "key": "password"}}}}, "authorization": {"type": "simple", "acls": acls}}})  # fmt: skip
    at.object("kafka.strimzi.io/v1beta2:KafkaConnect", "connect", {"metadata": {"annotations": {"strimzi.io/use-connector-resources": "true"}}, "spec": {"bootstrapServers": "bus-kafka-bootstrap:9093", "authentication": {"type": "scram-sha-512", "username": "connect", "passwordSecret": {"secretName": "connect-scram", "password": "password"}}, "config": {"config.providers": "secrets", "config.providers.secrets.class": "io.strimzi.kafka.KubernetesSecretConfigProvider"}}})  # fmt: skip


@twin(OPERATORS, "keycloak-realm-import", "A realm is imported with a client whose secret is a placeholder; the placeholder's Secret is the owner's.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("realm-clients", {"apps": at.word("realm-apps")}, namespace="keycloak")
    at.keep("keycloak-db-login", {"username": "keycloak", "password": at.word("realm-db")}, namespace="keycloak")
    at.object("k8s.keycloak.org/v2alpha1:Keycloak", "sso", {"spec": {"instances": 2, "db": {"vendor": "postgres", "host": "keycloak-pg", "usernameSecret": {"name": "keycloak-db-login", "key": "username"}, "passwordSecret": {"name": "keycloak-db-login", "key": "password"}}, "hostname": {"hostname": f"sso.{at.domain}"}}})  # fmt: skip
    at.object("k8s.keycloak.org/v2alpha1:KeycloakRealmImport", "staff", {"spec": {"keycloakCRName": "sso", "placeholders": {"APPS_SECRET": {"secret": {"name": "realm-clients", "key": "apps"}}}, "realm": {"id": "staff", "realm": "staff", "enabled": True, "clients": [{"clientId": "apps", "secret": "${APPS_SECRET}", "redirectUris": [f"https://apps.{at.domain}/*"], "publicClient": False}]}}})  # fmt: skip


@twin(OPERATORS, "percona-seven-users", "Seven system users of a database have generated passwords under the names that the operator wants.")  # fmt: skip
def _(at: Site) -> None:
    users = ("root", "xtrabackup", "monitor", "proxyadmin", "operator", "replication", "pmmserver")
    at.keep("pxc-secrets", {user: at.word(f"pxc-{user}", 20) for user in users}, namespace="pxc")
    at.object("pxc.percona.com/v1:PerconaXtraDBCluster", "cart", {"spec": {"crVersion": "1.16.1", "secretsName": "pxc-secrets", "pxc": {"size": 3, "image": f"percona/percona-xtradb-cluster@{digest('pxc')}"}, "haproxy": {"enabled": True, "size": 2}, "backup": {"storages": {"s3": {"type": "s3", "s3": {"bucket": at.bucket, "region": REGION, "credentialsSecret": "pxc-backup"}}}}}})  # fmt: skip


@twin(OPERATORS, "mongodb-community", "A document store's users have passwords by reference and a connection string's Secret by name.")  # fmt: skip
def _(at: Site) -> None:
    at.keep("mongo-app-word", {"password": at.word("mongo-user")}, namespace="mongo")
    at.object("mongodbcommunity.mongodb.com/v1:MongoDBCommunity", "catalog", {"spec": {"members": 3, "type": "ReplicaSet", "version": "7.0.14", "security": {"authentication": {"modes": ["SCRAM"]}}, "users": [{"name": "app", "db": "admin", "passwordSecretRef": {"name": "mongo-app-word"}, "roles": [{"name": "readWrite", "db": "catalog"}], "scramCredentialsSecretName": "app-scram", "connectionStringSecretName": "app-mongo-url"}]}})  # fmt: skip


@twin(OPERATORS, "rabbitmq-default-user", "A broker's default user is a file of two lines in the owner's Secret.")
def _(at: Site) -> None:
    at.keep("bus-default-user", {"default_user.conf": pulumi.Output.format("default_user = app\ndefault_pass = {0}\n", at.word("bus-user")), "username": "app", "password": at.word("bus-user"), "host": "bus.rabbit.svc", "port": "5672"}, namespace="rabbit")  # fmt: skip
    at.object("rabbitmq.com/v1beta1:RabbitmqCluster", "bus", {"spec": {"replicas": 3, "secretBackend": {"externalSecret": {"name": "bus-default-user"}}, "rabbitmq": {"additionalConfig": "cluster_partition_handling = pause_minority\nvm_memory_high_watermark.relative = 0.6\n"}}})  # fmt: skip


@twin(OPERATORS, "grafana-operator-source", "A source of data takes its header from a Secret of the same cluster; dashboards come from an address.", config=told(source=("glsa_", 41, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("source-token", {"token": at.told("source")}, namespace="grafana")
    at.object("grafana.integreatly.org/v1beta1:GrafanaDatasource", "metrics", {"spec": {"instanceSelector": {"matchLabels": {"dashboards": "grafana"}}, "valuesFrom": [{"targetPath": "secureJsonData.httpHeaderValue1", "valueFrom": {"secretKeyRef": {"name": "source-token", "key": "token"}}}], "datasource": {"name": "metrics", "type": "prometheus", "access": "proxy", "url": f"https://metrics.{at.domain}", "jsonData": {"httpHeaderName1": "Authorization"}, "secureJsonData": {"httpHeaderValue1": "Bearer ${token}"}}}})  # fmt: skip


@twin(OPERATORS, "external-secrets-by-key", "A store of each is the owner's account, by the owner's access key; what is taken out is named alike.", config=told(eso_id=("AKIA", 16, AWS_ID), eso_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("store-login", {"access-key": at.told("eso_id"), "secret-access-key": at.told("eso_key")}, namespace="external-secrets")  # fmt: skip
    auth = {"secretRef": {"accessKeyIDSecretRef": {"name": "store-login", "key": "access-key"}, "secretAccessKeySecretRef": {"name": "store-login", "key": "secret-access-key"}}}  # fmt: skip
    at.object("external-secrets.io/v1:ClusterSecretStore", "account", {"spec": {"provider": {"aws": {"service": "SecretsManager", "region": REGION, "auth": auth}}}})  # fmt: skip
    at.object("external-secrets.io/v1:ExternalSecret", "app", {"spec": {"refreshInterval": "1h", "secretStoreRef": {"name": "account", "kind": "ClusterSecretStore"}, "target": {"name": "app", "template": {"data": {"DATABASE_URL": "postgres://{{ .user }}:{{ .password }}@db:5432/app"}}}, "dataFrom": [{"extract": {"key": f"{at.name}/app"}}]}})  # fmt: skip


@twin(OPERATORS, "authority-for-cert-manager", "An issuer of each signs with an authority of its own cluster: a pair that tls made for its owner.")  # fmt: skip
def _(at: Site) -> None:
    key, cert = at.pair("issuing", authority=True)
    at.keep("issuing-ca", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    at.object("cert-manager.io/v1:ClusterIssuer", "issuing", {"spec": {"ca": {"secretName": "issuing-ca", "crlDistributionPoints": [f"http://pki.{at.domain}/crl"]}}})  # fmt: skip
    at.object("cert-manager.io/v1:Certificate", "wildcard", {"spec": {"secretName": "wildcard-tls", "dnsNames": [f"*.{at.domain}"], "issuerRef": {"name": "issuing", "kind": "ClusterIssuer"}, "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"}, "keystores": {"pkcs12": {"create": True, "passwordSecretRef": {"name": "keystore-word", "key": "password"}}}}})  # fmt: skip
    at.keep("keystore-word", {"password": at.word("keystore")})


@twin(OPERATORS, "crossplane-accounts", "Crossplane of each has the usual file of its owner's account and a configuration that names it.", config=told(xp_id=("AKIA", 16, AWS_ID), xp_key=("", 40, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("aws-account", {"creds": pulumi.Output.format("[default]\naws_access_key_id = {0}\naws_secret_access_key = {1}\n", at.told("xp_id"), at.told("xp_key"))}, namespace="crossplane-system")  # fmt: skip
    at.object("aws.upbound.io/v1beta1:ProviderConfig", "default", {"spec": {"credentials": {"source": "Secret", "secretRef": {"namespace": "crossplane-system", "name": "aws-account", "key": "creds"}}}})  # fmt: skip
    at.object("s3.aws.upbound.io/v1beta2:Bucket", "archive", {"spec": {"forProvider": {"region": REGION}, "providerConfigRef": {"name": "default"}}, "metadata": {"annotations": {"crossplane.io/external-name": at.bucket}}})  # fmt: skip


@twin(OPERATORS, "solo-apps-by-helm-controller", "A HelmChart object has values as a text in which the owner's generated words stand.")  # fmt: skip
def _(at: Site) -> None:
    values = apply(at.word("hc-admin"), lambda word: yaml.safe_dump({"adminPassword": word, "ingress": {"enabled": True, "hosts": [f"grafana.{at.domain}"]}, "persistence": {"enabled": True}}))  # fmt: skip
    at.object("helm.cattle.io/v1:HelmChart", "grafana", {"spec": {"chart": "grafana", "repo": "https://grafana.github.io/helm-charts", "version": "8.8.2", "targetNamespace": "monitoring", "valuesContent": values}})  # fmt: skip


@twin(OPERATORS, "fleet-bundle-values", "A bundle of Fleet has values in the object itself, the owner's word among them.")  # fmt: skip
def _(at: Site) -> None:
    at.object("fleet.cattle.io/v1alpha1:Bundle", "cache", {"spec": {"helm": {"chart": "redis", "repo": "oci://registry-1.docker.io/bitnamicharts", "values": {"auth": {"password": at.word("bundle-cache")}, "architecture": "standalone"}}, "targets": [{"clusterName": at.name}]}})  # fmt: skip


@twin(OPERATORS, "flagger-and-chat", "Alerts of releases go to the owner's chat by an address in a Secret; the rules of release are the same.", config=told(flagger=("https://hooks.slack.com/services/T0F/B0F/", 24, LETTERS)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("chat-address", {"address": at.told("flagger")}, namespace="flagger")
    at.object("flagger.app/v1beta1:AlertProvider", "chat", {"spec": {"type": "slack", "channel": f"{at.name}-releases", "username": "flagger", "secretRef": {"name": "chat-address"}}})  # fmt: skip
    at.object("flagger.app/v1beta1:Canary", "cart", {"spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"}, "service": {"port": 9898}, "analysis": {"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "webhooks": [{"name": "load", "url": "http://loadtester/", "metadata": {"cmd": "hey -z 1m -q 10 -c 2 http://cart-canary:9898/"}}]}}})  # fmt: skip


@twin(OPERATORS, "tekton-logins", "Builds of each push with the owner's deploy key and the owner's robot, by annotations that say for which host.")  # fmt: skip
def _(at: Site) -> None:
    key = at.key("tekton")
    at.keep("git-login", {"ssh-privatekey": key.output("privateKeyOpenssh"), "known_hosts": f"git.{ZONE} ssh-ed25519 {b64(noise('git host', 51))}\n"}, kind="kubernetes.io/ssh-auth", annotations={"tekton.dev/git-0": f"git.{ZONE}"}, namespace="ci")  # fmt: skip
    at.keep("registry-login", {".dockerconfigjson": at.login("tekton-robot")}, kind="kubernetes.io/dockerconfigjson", annotations={"tekton.dev/docker-0": f"https://images.{ZONE}"}, namespace="ci")  # fmt: skip
    at.object("v1:ServiceAccount", "builder", {"secrets": [{"name": "git-login"}, {"name": "registry-login"}], "metadata": {"namespace": "ci"}})  # fmt: skip


@twin(OPERATORS, "argo-events-webhook", "A source of events checks signatures with the owner's generated secret.")
def _(at: Site) -> None:
    at.keep("hook-secret", {"secret": at.word("events-hook", 40)}, namespace="argo-events")
    at.object("argoproj.io/v1alpha1:EventSource", "github", {"spec": {"service": {"ports": [{"port": 12000, "targetPort": 12000}]}, "github": {"apps": {"repositories": [{"owner": f"acme-{at.name}", "names": ["apps"]}], "webhook": {"endpoint": "/push", "port": "12000", "method": "POST", "url": f"https://events.{at.domain}"}, "events": ["push"], "webhookSecret": {"name": "hook-secret", "key": "secret"}, "insecure": False, "active": True, "contentType": "json"}}}})  # fmt: skip


@twin(OPERATORS, "pulumi-operator-stacks", "Stacks of each are run with the owner's token; a stack's configuration has ciphertext of the engine's service.", config=told(pulumi_token=("pul-", 40, HEX)))  # fmt: skip
def _(at: Site) -> None:
    at.keep("pulumi-token", {"accessToken": at.told("pulumi_token")}, namespace="pulumi")
    at.object("pulumi.com/v1:Stack", "apps", {"spec": {"stack": f"acme-{at.name}/apps/prod", "projectRepo": f"https://git.{ZONE}/acme/apps", "branch": "main", "destroyOnFinalize": False, "envRefs": {"PULUMI_ACCESS_TOKEN": {"type": "Secret", "secret": {"name": "pulumi-token", "key": "accessToken"}}}, "config": {"aws:region": REGION, "apps:replicas": "3"}}})  # fmt: skip


# Facts ------------------------------------------------------------------------------------------------------------------


@clean(SHARED, "found-gitops-bridge", "Annotations of the shop's own cluster Secret carry facts of its cloud and of the hub: accounts, roles, revisions; the token is the shop's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    shop = Site(scene, "dp")
    role = cloud(scene, "aws:iam/role:Role", "external-secrets", {"name": "external-secrets-shop"}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/external-secrets-shop"})  # fmt: skip
    notes = {"aws_account_id": ACCOUNT, "aws_region": REGION, "aws_cluster_name": "shop", "aws_vpc_id": f"vpc-{drawn('found vpc', 17, HEX)}", "external_secrets_iam_role_arn": role.output("arn"), "addons_repo_url": f"https://git.{ZONE}/acme/addons", "addons_repo_revision": drawn("addons", 40, HEX)}  # fmt: skip
    config = pulumi.Output.json_dumps({"bearerToken": shop.token("argocd-manager"), "tlsClientConfig": {"insecure": False}})  # fmt: skip
    shop.keep("in-cluster-shop", {"name": "shop", "server": "https://kubernetes.default.svc", "config": config}, labels={"argocd.argoproj.io/secret-type": "cluster", "enable_external_secrets": "true"}, annotations=notes, namespace="argocd")  # fmt: skip


@clean(SHARED, "found-addresses-of-push", "The hub's metrics have a login, which the hub's Secret has; the shop's collector asks for a token by its own Pod's identity at the same address.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("push-htpasswd", {"auth": pulumi.Output.concat("hub:", ours.hashed("push"))}, namespace="monitoring")
    text = yaml.safe_dump({"extensions": {"oidc": {}, "sigv4auth": {"region": REGION, "service": "aps", "assume_role": {"arn": f"arn:aws:iam::{ACCOUNT}:role/push"}}}, "exporters": {"prometheusremotewrite": {"endpoint": f"https://metrics.hub.{ZONE}/api/v1/push", "auth": {"authenticator": "sigv4auth"}, "headers": {"X-Scope-OrgID": "shop"}}}})  # fmt: skip
    shop.config_map("collector", {"relay.yaml": text})


@clean(SHARED, "found-broker-facts-of-submariner", "A member of a network of clusters knows the broker's server, namespace and ranges; the token is in a Secret that somebody else makes.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.token("submariner-k8s-broker-client")
    spec = {"broker": "k8s", "brokerK8sApiServer": "hub.found.example.com:6443", "brokerK8sRemoteNamespace": "submariner-k8s-broker", "brokerK8sCA": b64(scene.cp.certificate("kubernetes", authority=True)), "brokerK8sSecret": "broker-secret-shop", "ceIPSecPSKSecret": "submariner-ipsec-psk", "clusterID": "shop", "clusterCIDR": "10.42.0.0/16", "serviceCIDR": "10.43.0.0/16", "natEnabled": True}  # fmt: skip
    shop.object("submariner.io/v1alpha1:Submariner", "submariner", {"spec": spec})


@clean(SHARED, "found-names-of-a-cluster-mesh", "Both networks have the same table of clusters, with ids and addresses; each has certificates by a job of its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    clusters = [{"name": "hub", "address": f"mesh.hub.{ZONE}", "port": 2379}, {"name": "shop", "address": f"mesh.shop.{ZONE}", "port": 2379}]  # fmt: skip
    for at in sites(scene):
        at.chart("cilium", {"cluster": {"name": at.name, "id": 1 + (at.name == "shop")}, "clustermesh": {"useAPIServer": True, "config": {"enabled": True, "domain": "mesh.cilium.io", "clusters": clusters}, "apiserver": {"tls": {"auto": {"enabled": True, "method": "certmanager", "certManagerIssuerRef": {"name": "cilium", "kind": "Issuer"}}}}}, "encryption": {"enabled": True, "type": "wireguard"}})  # fmt: skip


@clean(SHARED, "found-linkerd-link", "A link of the hub's to the shop: the hub keeps the shop's token; the shop has the gateway's names and a service account.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    token = shop.token("linkerd-mirror-hub")
    text = token.apply(lambda found: kubeconfig(SERVERS["dp"], {"token": found}, "the shop's authority"))
    ours.keep("cluster-credentials-shop", {"kubeconfig": text}, kind="mirror.linkerd.io/remote-kubeconfig", namespace="linkerd-multicluster")  # fmt: skip
    ours.object("multicluster.linkerd.io/v1alpha3:Link", "shop", {"spec": {"targetClusterName": "shop", "clusterCredentialsSecret": "cluster-credentials-shop", "gatewayAddress": "198.51.100.20", "gatewayPort": "4143", "gatewayIdentity": f"linkerd-gateway.linkerd-multicluster.serviceaccount.identity.linkerd.{ZONE}", "probeSpec": {"path": "/ready", "period": "3s", "port": "4191"}}})  # fmt: skip
    shop.chart("linkerd-multicluster", {"gateway": {"enabled": True, "port": 4143}, "identityTrustDomain": ZONE, "remoteMirrorServiceAccountName": "linkerd-mirror-hub"})  # fmt: skip


@clean(SHARED, "found-lagoon-without-the-broker", "A remote of a build platform gets hosts and ports of the core, which keeps the broker's password; its own broker's user is generated at its own side.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("lagoon-core", {"rabbitMQUsername": "lagoon", "rabbitMQPassword": ours.word("lagoon-broker"), "jwtSecret": ours.word("lagoon-jwt"), "keycloakAdminPassword": ours.word("lagoon-keycloak"), "s3BAASAccessKeyID": drawn("lagoon baas", 20, AWS_ID)})  # fmt: skip
    shop.chart("lagoon-remote", {"lagoon-build-deploy": {"enabled": True, "rabbitMQUsername": "shop", "rabbitMQPassword": shop.word("lagoon-broker"), "rabbitMQHostname": f"broker.shop.{ZONE}", "lagoonTargetName": "shop", "taskSSHHost": f"ssh.lagoon.hub.{ZONE}", "taskSSHPort": "2020", "taskAPIHost": f"https://api.lagoon.hub.{ZONE}"}})  # fmt: skip


@clean(SHARED, "found-kubeconfig-without-a-login", "A stack's output says it is no secret: a kubeconfig with a command that asks the cloud; a dashboard of the shop's shows it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = json.dumps({"apiVersion": "v1", "clusters": [{"cluster": {"server": f"https://{drawn('found eks', 32, HEX.upper())}.gr7.{REGION}.eks.amazonaws.com", "certificate-authority-data": b64("the cloud's authority")}, "name": "hub"}], "contexts": [{"context": {"cluster": "hub", "user": "aws"}, "name": "aws"}], "current-context": "aws", "kind": "Config", "users": [{"name": "aws", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": ["eks", "get-token", "--cluster-name", "hub", "--role-arn", f"arn:aws:iam::{ACCOUNT}:role/reader"]}}}]})  # fmt: skip
    outputs = {"kubeconfig": text, "nodeRole": f"arn:aws:iam::{ACCOUNT}:role/nodes", "adminToken": scene.cp.opaque("found admin", 40)}  # fmt: skip
    stack = Site(scene, "cp").stack(outputs, ("adminToken",))
    scene.config_map("dp", "clusters", {"hub.json": stack.get_output("kubeconfig"), "role": stack.get_output("nodeRole")})  # fmt: skip


@clean(SHARED, "found-endpoint-of-a-database", "The hub's database has a generated master password; the shop's proxy has its endpoint, its name and its resource's id for logins by IAM.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    rds = cloud(scene, "aws:rds/instance:Instance", "ledger", {"engine": "postgres", "username": "ledger", "password": ours.word("ledger"), "dbName": "ledger", "iamDatabaseAuthenticationEnabled": True}, {"address": f"ledger.c9q2k4.{REGION}.rds.amazonaws.com", "port": 5432, "resourceId": "db-4KQ7XW2M9ZP3N6T8R5V1B0CJ"})  # fmt: skip
    ours.keep("ledger", {"PGPASSWORD": ours.word("ledger"), "PGHOST": rds.output("address"), "PGUSER": "ledger"})
    shop.app("ledger-proxy", {"env": [{"name": "PGHOST", "value": rds.output("address")}, {"name": "PGUSER", "value": "ledger_ro"}, {"name": "DB_RESOURCE", "value": pulumi.Output.format("arn:aws:rds-db:{0}:{1}:dbuser:{2}/ledger_ro", REGION, ACCOUNT, rds.output("resourceId"))}]})  # fmt: skip


@clean(SHARED, "found-mirror-of-topics", "The shop mirrors its own topics by its own user; the hub's bus is known by its bootstrap address and its authority's certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key, cert = ours.pair("kafka-clients-ca", authority=True)
    ours.keep("bus-clients-ca", {"ca.key": key.output("privateKeyPem"), "ca.crt": cert.output("certPem")}, namespace="kafka")  # fmt: skip
    shop.keep("hub-cluster-ca-cert", {"ca.crt": cert.output("certPem")}, namespace="kafka")
    shop.keep("mirror-scram", {"password": shop.word("mirror")}, namespace="kafka")
    clusters = [{"alias": "shop", "bootstrapServers": "bus-kafka-bootstrap:9093", "authentication": {"type": "scram-sha-512", "username": "mirror-user", "passwordSecret": {"secretName": "mirror-scram", "password": "password"}}}, {"alias": "hub", "bootstrapServers": f"bus.hub.{ZONE}:443", "tls": {"trustedCertificates": [{"secretName": "hub-cluster-ca-cert", "certificate": "ca.crt"}]}, "authentication": {"type": "oauth", "clientId": "shop-mirror", "tokenEndpointUri": f"{SSO}/protocol/openid-connect/token", "clientAssertionLocation": "/var/run/secrets/tokens/hub"}}]  # fmt: skip
    shop.object("kafka.strimzi.io/v1beta2:KafkaMirrorMaker2", "mirror", {"spec": {"version": "3.9.0", "replicas": 1, "connectCluster": "hub", "clusters": clusters, "mirrors": [{"sourceCluster": "shop", "targetCluster": "hub", "topicsPattern": "orders\\..*"}]}})  # fmt: skip


@clean(SHARED, "found-registry-mirror-file", "Nodes of both pull through the hub's mirror, which is open to its networks; the hub's robot pushes with a login of its own.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, _ = sites(scene)
    ours.keep("push-robot", {".dockerconfigjson": ours.login("push-robot")}, kind="kubernetes.io/dockerconfigjson", namespace="ci")  # fmt: skip
    file = yaml.safe_dump({"mirrors": {"docker.io": {"endpoint": [f"https://images.{ZONE}"], "rewrite": {"^(.*)$": "docker/$1"}}}, "configs": {f"images.{ZONE}": {"tls": {"ca_file": "/etc/ssl/certs/found.pem"}}}})  # fmt: skip
    for side in ("cp", "dp"):
        scene.object(side, "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "nodes", {"spec": {"template": {"spec": {"files": [{"path": "/etc/rancher/rke2/registries.yaml", "permissions": "0600", "content": file}]}}}})  # fmt: skip


@clean(SHARED, "found-facts-out-of-a-connection-secret", "A database's connection Secret is read at the hub; host, port and name of it are in the shop's chart, each decoded.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    data = {"host": b64("hub-db-rw.databases.svc"), "port": b64("5432"), "dbname": b64("catalog"), "password": b64(scene.cp.opaque("connection", 64, LETTERS))}  # fmt: skip
    found = scene.existing("cp", "v1:Secret", "catalog-connection", data=data)
    facts = {key: found.output("data").apply(lambda data, key=key: base64.b64decode(data[key]).decode()) for key in ("host", "port", "dbname")}  # fmt: skip
    Site(scene, "dp").chart("postgres-exporter", {"config": {"datasource": {"host": facts["host"], "port": facts["port"], "database": facts["dbname"], "user": "exporter", "passwordSecret": {"name": "exporter", "key": "password"}}}})  # fmt: skip


@clean(SHARED, "found-versions-and-flags", "One table of versions, feature flags and limits feeds charts of both clusters; the hub's licence is set after a copy.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    base: dict[str, Any] = {"image": {"tag": "v3.4.1", "digest": digest("agent")}, "features": {"tracing": True, "newRouter": False, "quota": 100}, "license": {"secretName": "licence"}}  # fmt: skip
    ours, shop = sites(scene)
    values = {**base, "license": {"key": ours.word("licence", 64)}}
    ours.chart("mesh-agent", values)
    shop.chart("mesh-agent", base)


@clean(SHARED, "found-dashboards-of-both", "The same dashboards and rules are maps in both clusters, with expressions about tokens and passwords.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    board = json.dumps({"title": "Logins", "uid": drawn("board", 9), "panels": [{"type": "timeseries", "title": "Token requests", "targets": [{"expr": 'sum by (cluster) (rate(keycloak_failed_login_attempts_total{realm="staff"}[5m]))'}]}], "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]}})  # fmt: skip
    rules = [{"alert": "SecretExpiresSoon", "expr": 'certmanager_certificate_expiration_timestamp_seconds - time() < 604800', "labels": {"severity": "warning"}, "annotations": {"runbook_url": f"https://docs.{ZONE}/runbooks/secret-expires"}}]  # fmt: skip
    for at in sites(scene):
        at.keep("grafana-admin", {"admin-user": "admin", "admin-password": at.word("boards")}, namespace="monitoring")
        at.config_map("board-logins", {"logins.json": board}, labels={"grafana_dashboard": "1"})
        at.object("monitoring.coreos.com/v1:PrometheusRule", "logins", {"spec": {"groups": [{"name": "logins", "rules": rules}]}})  # fmt: skip


@clean(SHARED, "found-oidc-of-one-issuer", "Argo CD, Grafana and a proxy of the shop's log in at the hub's issuer as a public client with PKCE; the hub's own client has a secret.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("grafana-client", {"GF_AUTH_GENERIC_OAUTH_CLIENT_ID": CLIENT, "GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET": ours.word("grafana-client")})  # fmt: skip
    ini = {"server": {"root_url": f"https://grafana.shop.{ZONE}"}, "auth.generic_oauth": {"enabled": True, "client_id": CLIENT, "use_pkce": True, "scopes": "openid email profile groups", "auth_url": f"{SSO}/protocol/openid-connect/auth", "token_url": f"{SSO}/protocol/openid-connect/token", "role_attribute_path": "contains(groups[*], 'admin') && 'Admin' || 'Viewer'"}}  # fmt: skip
    shop.chart("grafana", {"grafana.ini": ini, "adminPassword": shop.word("grafana-break-glass")})
    shop.chart("argo-cd", {"configs": {"cm": {"oidc.config": f"name: SSO\nissuer: {SSO}\nclientID: {CLIENT}\nenablePKCEAuthentication: true\n"}}})  # fmt: skip


@clean(SHARED, "found-sns-and-queues", "Addresses and ARNs of the hub's queues, topics and streams are the shop's variables; the hub's user of queues has an access key.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "queues", {"user": "queues"}, {"secret": scene.cp.opaque("queues", 40, LETTERS), "sesSmtpPasswordV4": scene.cp.opaque("queues ses", 44, LETTERS)}, ["secret", "sesSmtpPasswordV4"])  # fmt: skip
    scene.secret("cp", "queues", {"AWS_SECRET_ACCESS_KEY": key.output("secret")})
    queue = cloud(scene, "aws:sqs/queue:Queue", "orders", {"name": "orders"}, {"url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/orders", "arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders"})  # fmt: skip
    shop = Site(scene, "dp")
    shop.object("keda.sh/v1alpha1:ScaledObject", "orders", {"spec": {"scaleTargetRef": {"name": "orders"}, "triggers": [{"type": "aws-sqs-queue", "metadata": {"queueURL": queue.output("url"), "queueLength": "5", "awsRegion": REGION, "identityOwner": "operator"}}]}})  # fmt: skip
    shop.app("orders", {"env": [{"name": "QUEUE_ARN", "value": queue.output("arn")}]})


# Trust ------------------------------------------------------------------------------------------------------------------


@clean(TRUST, "found-linkerd-anchors", "The shop's issuer is a pair of the shop's, its certificate signed by the hub's anchor; anchor and certificate go over, the anchor's key does not.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    anchor_key, anchor = ours.pair("anchor", authority=True)
    ours.keep("linkerd-trust-anchor", {"tls.key": anchor_key.output("privateKeyPem"), "tls.crt": anchor.output("certPem")}, kind="kubernetes.io/tls", namespace="linkerd")  # fmt: skip
    key = shop.key("issuer")
    request = scene.made("tls:index/certRequest:CertRequest", "shop-issuer-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": f"identity.linkerd.shop.{ZONE}"}}, None, {"certRequestPem": "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    cert = scene.made("tls:index/locallySignedCert:LocallySignedCert", "shop-issuer-cert", {"certRequestPem": request.output("certRequestPem"), "caPrivateKeyPem": anchor_key.output("privateKeyPem"), "caCertPem": anchor.output("certPem"), "isCaCertificate": True, "validityPeriodHours": 8760, "allowedUses": ["cert_signing", "crl_signing"]}, None, {"certPem": scene.cp.certificate("shop-issuer", "hub-anchor", authority=True)}, ["caPrivateKeyPem"])  # fmt: skip
    shop.chart("linkerd-control-plane", {"identityTrustAnchorsPEM": anchor.output("certPem"), "identity": {"issuer": {"tls": {"crtPEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}, "clusterNetworks": "10.0.0.0/8"})  # fmt: skip


@clean(TRUST, "found-istio-remote-profile", "The remote profile at the shop: the hub's root certificate, its address, a revision; istiod's key and accounts stay at the hub.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key, cert = ours.pair("istio-root", authority=True)
    ours.keep("cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem"), "root-cert.pem": cert.output("certPem")}, namespace="istio-system")  # fmt: skip
    shop.chart("base", {"base": {"validationCABundle": apply(cert.output("certPem"), b64), "validationURL": f"https://istiod.hub.{ZONE}:15017/validate"}})  # fmt: skip
    shop.chart("istiod-remote", {"profile": "remote", "istiodRemote": {"injectionURL": f"https://istiod.hub.{ZONE}:15017/inject/cluster/shop/net/shop-net", "injectionCABundle": apply(cert.output("certPem"), b64)}, "global": {"meshID": MESH, "remotePilotAddress": f"istiod.hub.{ZONE}", "caAddress": f"istiod.hub.{ZONE}:15012"}})  # fmt: skip
    shop.config_map("istio-ca-root-cert", {"root-cert.pem": cert.output("certPem")}, labels={"istio.io/config": "true"})


@clean(TRUST, "found-vault-way-to-log-in", "The hub's store trusts the shop's accounts: the shop's reviewer token goes to the hub, the shop has an issuer with a path and the bundle.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    scene.made("vault:kubernetes/authBackendConfig:AuthBackendConfig", "shop-login", {"backend": "shop", "kubernetesHost": SERVERS["dp"], "tokenReviewerJwt": shop.token("vault-auth"), "disableIssValidation": True}, scene.package("vault", "hub-vault", "cp", address=f"https://vault.hub.{ZONE}:8200"))  # fmt: skip
    key, cert = ours.pair("vault-pki", authority=True)
    ours.keep("vault-pki", {"bundle.pem": pulumi.Output.concat(cert.output("certPem"), key.output("privateKeyPem"))}, namespace="vault")  # fmt: skip
    shop.object("cert-manager.io/v1:ClusterIssuer", "hub-vault", {"spec": {"vault": {"server": f"https://vault.hub.{ZONE}:8200", "path": "pki_int/sign/shop", "caBundle": apply(cert.output("certPem"), b64), "auth": {"kubernetes": {"role": "shop-issuer", "mountPath": "/v1/auth/shop", "serviceAccountRef": {"name": "issuer"}}}}}})  # fmt: skip


@clean(TRUST, "found-jwks-of-the-hubs-issuer", "A discovery document and a key set are made of the hub's signing key: kid, x and y; the shop's filter has them inline.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("cp", "token-signer", {"jwk.json": json.dumps(scene.cp.jwk("found-issuer", private=True))}, namespace="auth")  # fmt: skip
    keys = json.dumps({"keys": [{**scene.cp.jwk("found-issuer", private=False), "use": "sig", "alg": "ES256"}]})
    provider = {"issuer": SSO, "audiences": ["shop"], "localJwks": {"inlineString": keys}, "forward": True, "payloadInMetadata": "claims"}  # fmt: skip
    patch = {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.jwt_authn", "typedConfig": {"@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", "providers": {"staff": provider}, "rules": [{"match": {"prefix": "/"}, "requires": {"providerName": "staff"}}]}}}  # fmt: skip
    Site(scene, "dp").object("networking.istio.io/v1alpha3:EnvoyFilter", "staff-tokens", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "match": {"context": "SIDECAR_INBOUND"}, "patch": patch}]}})  # fmt: skip


@clean(TRUST, "found-teleport-pin", "Agents of the shop join the shop's own proxy by their accounts; the hub's proxy is trusted by a pin over its public key.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key = ours.key("teleport-host")
    ours.keep("teleport-host-ca", {"key.pem": key.output("privateKeyPem")}, namespace="teleport")
    pin = apply(key.output("publicKeyPem"), lambda pem: "sha256:" + hashlib.sha256(pem.encode()).hexdigest())
    shop.chart("teleport-kube-agent", {"proxyAddr": f"teleport.hub.{ZONE}:443", "kubeClusterName": "shop", "roles": "kube,app", "joinParams": {"method": "kubernetes", "tokenName": "shop-agents"}, "caPin": [pin], "labels": {"owner": "shop"}})  # fmt: skip


@clean(TRUST, "found-spire-nested-by-identity", "A downstream server of the shop's trusts the hub's bundle and logs in by what its nodes attest.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key, cert = ours.pair("spire-root", authority=True)
    ours.keep("spire-upstream", {"key.pem": key.output("privateKeyPem"), "cert.pem": cert.output("certPem")}, namespace="spire")  # fmt: skip
    shop.config_map("spire-upstream-bundle", {"bundle.crt": cert.output("certPem")})
    shop.chart("spire-server", {"trustDomain": ZONE, "upstreamAuthority": {"spire": {"enabled": True, "server": {"address": f"spire.hub.{ZONE}", "port": 8081}, "upstreamDriver": "upstream.csi.spiffe.io"}}, "nodeAttestor": {"k8sPsat": {"serviceAccountAllowList": ["spire:spire-agent"]}}, "caSubject": {"commonName": f"shop.{ZONE}", "organization": "acme"}})  # fmt: skip


@clean(TRUST, "found-cosign-of-the-hub", "The hub signs images; the shop's policies have the public key, in one object and in a map of another tool.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key = ours.key("image-signer")
    ours.keep("cosign", {"cosign.key": key.output("privateKeyPem"), "cosign.pub": key.output("publicKeyPem"), "cosign.password": ours.word("cosign")}, namespace="ci")  # fmt: skip
    shop.object("policy.sigstore.dev/v1beta1:ClusterImagePolicy", "hub-images", {"spec": {"images": [{"glob": f"images.{ZONE}/**"}], "authorities": [{"key": {"data": key.output("publicKeyPem"), "hashAlgorithm": "sha256"}, "ctlog": {"url": "https://rekor.sigstore.dev"}}]}})  # fmt: skip
    shop.config_map("connaisseur", {"validators.yaml": apply(key.output("publicKeyPem"), lambda pem: yaml.safe_dump({"validators": [{"name": "hub", "type": "cosign", "trustRoots": [{"name": "default", "key": pem}]}]}))})  # fmt: skip


@clean(TRUST, "found-discovery-of-kubeadm", "Machines of the shop join the shop's API server; the pin of the shop's authority is in their template, the hub's own machines have the hub's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        _, cert = at.pair("kubernetes-ca", authority=True)
        pin = apply(cert.output("certPem"), lambda pem: "sha256:" + hashlib.sha256(pem.encode()).hexdigest())
        at.keep("bootstrap-token-abc", {"token-id": at.word("token-id", 6), "token-secret": at.word("token-secret", 16), "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token"}, kind="bootstrap.kubernetes.io/token", namespace="kube-system")  # fmt: skip
        at.object("bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "workers", {"spec": {"template": {"spec": {"joinConfiguration": {"discovery": {"bootstrapToken": {"apiServerEndpoint": f"api.{at.domain}:6443", "caCertHashes": [pin]}}, "nodeRegistration": {"kubeletExtraArgs": {"cloud-provider": "external"}}}}}}})  # fmt: skip


# Plain objects ----------------------------------------------------------------------------------------------------------


plain(OBJECTS, "bookinfo-token-page", "A sample's policy of tokens with an address of keys and claims.", "security.istio.io/v1:RequestAuthentication", {"spec": {"selector": {"matchLabels": {"app": "productpage"}}, "jwtRules": [{"issuer": SSO, "jwksUri": f"{SSO}/protocol/openid-connect/certs", "outputClaimToHeaders": [{"header": "x-user", "claim": "sub"}]}]}})  # fmt: skip
plain(OBJECTS, "karmada-propagation", "Policies propagate Secrets by name to member clusters' names; no data is in them.", "policy.karmada.io/v1alpha1:PropagationPolicy", {"spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Secret", "name": "shop-tls"}, {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"}], "placement": {"clusterAffinity": {"clusterNames": ["shop", "shop-dr"]}, "replicaScheduling": {"replicaSchedulingType": "Divided"}}}})  # fmt: skip
plain(OBJECTS, "sveltos-templates", "Profiles of an add-on manager have templates with names of Secrets that it reads at its own side.", "config.projectsveltos.io/v1beta1:ClusterProfile", {"spec": {"clusterSelector": {"matchLabels": {"env": "prod"}}, "templateResourceRefs": [{"resource": {"kind": "Secret", "name": "{{ .Cluster.metadata.name }}-ca"}, "identifier": "CA"}], "policyRefs": [{"kind": "ConfigMap", "name": "cilium-ca"}], "helmCharts": [{"chartName": "cilium/cilium", "chartVersion": "1.16.5", "releaseName": "cilium", "values": "tls:\n  ca:\n    cert: '{{ index (getResource \"CA\").data \"ca.crt\" }}'\n"}]}})  # fmt: skip
plain(OBJECTS, "capi-helm-proxy", "A proxy of charts for clusters: a template of values with fields of the cluster's objects.", "addons.cluster.x-k8s.io/v1alpha1:HelmChartProxy", {"spec": {"clusterSelector": {"matchLabels": {"mesh": "main"}}, "repoURL": "https://helm.cilium.io/", "chartName": "cilium", "version": "1.16.5", "valuesTemplate": "k8sServiceHost: {{ .Cluster.spec.controlPlaneEndpoint.host }}\ncluster:\n  name: {{ .ControlPlane.metadata.name }}\n"}})  # fmt: skip
plain(OBJECTS, "ramen-without-keys", "A recovery operator's settings: stores by profile with a Secret's name, endpoint and bucket.", "v1:ConfigMap", {"data": {"ramen_manager_config.yaml": yaml.safe_dump({"kind": "RamenConfig", "ramenControllerType": "dr-cluster", "s3StoreProfiles": [{"s3ProfileName": "minio-east", "s3Bucket": BUCKETS["shop"], "s3Region": REGION, "s3CompatibleEndpoint": f"https://s3.shop.{ZONE}", "s3SecretRef": {"name": "s3secret", "namespace": "ramen-system"}}]})}})  # fmt: skip
plain(OBJECTS, "rancher-fleet-workspace", "A repository of Fleet's with names of Secrets and a fingerprint of a host.", "fleet.cattle.io/v1alpha1:GitRepo", {"spec": {"repo": f"ssh://git@git.{ZONE}/acme/apps", "branch": "main", "clientSecretName": "git-login", "helmSecretName": "helm-login", "paths": ["shop"], "targets": [{"name": "prod", "clusterSelector": {"matchLabels": {"env": "prod"}}}]}})  # fmt: skip
plain(OBJECTS, "descheduler-and-secrets-encryption", "An encryption settings file with a plug-in of a cloud's keys: a socket and a name.", "v1:ConfigMap", {"data": {"encryption.yaml": yaml.safe_dump({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [{"resources": ["secrets"], "providers": [{"kms": {"apiVersion": "v2", "name": "aws-encryption-provider", "endpoint": "unix:///var/run/kmsplugin/socket.sock"}}, {"identity": {}}]}]})}})  # fmt: skip
plain(OBJECTS, "envoy-by-discovery-of-secrets", "A proxy's file asks for its certificates by discovery, by names, with a cluster for tokens of a service account.", "v1:ConfigMap", {"data": {"envoy.yaml": yaml.safe_dump({"static_resources": {"listeners": [{"name": "https", "filter_chains": [{"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", "common_tls_context": {"tls_certificate_sds_secret_configs": [{"name": "server_cert", "sds_config": {"path_config_source": {"path": "/etc/envoy/sds.yaml"}}}]}}}}]}], "clusters": [{"name": "sts", "connect_timeout": "2s", "type": "LOGICAL_DNS"}]}, "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 9901}}}})}})  # fmt: skip
plain(OBJECTS, "velero-schedule-without-secrets", "A schedule of backups leaves Secrets out and names hooks with a variable for a password.", "velero.io/v1:Schedule", {"spec": {"schedule": "0 4 * * *", "template": {"excludedResources": ["secrets", "events"], "ttl": "168h", "hooks": {"resources": [{"name": "dump", "pre": [{"exec": {"container": "db", "command": ["sh", "-c", "PGPASSWORD=$POSTGRES_PASSWORD pg_dump -U app app > /backup/app.sql"]}}]}]}}}})  # fmt: skip
plain(OBJECTS, "policy-that-copies-pull-secrets", "A policy of Kyverno's copies a Secret of the same cluster to new namespaces, and one replaces logins in annotations.", "kyverno.io/v1:ClusterPolicy", {"spec": {"generateExisting": True, "rules": [{"name": "pull-secret", "match": {"any": [{"resources": {"kinds": ["Namespace"]}}]}, "generate": {"apiVersion": "v1", "kind": "Secret", "name": "regcred", "namespace": "{{request.object.metadata.name}}", "synchronize": True, "clone": {"namespace": "default", "name": "regcred"}}}]}})  # fmt: skip
plain(OBJECTS, "crowdsec-and-patterns", "Rules of a firewall: regular expressions for tokens and for keys in requests.", "v1:ConfigMap", {"data": {"leaks.yaml": "name: acme/leaks\nfilter: evt.Meta.log_type == 'http_access-log'\ndata:\n  - pattern: '(ghp|gho)_[A-Za-z0-9]{36}'\n  - pattern: 'AKIA[0-9A-Z]{16}'\n  - pattern: '-----BEGIN (RSA |EC )?PRIVATE KEY-----'\n"}})  # fmt: skip
plain(OBJECTS, "bank-vaults-with-references", "A store's object: unseal keys in a Secret by the operator, policies and roles as text, an `env` of references.", "vault.banzaicloud.com/v1alpha1:Vault", {"spec": {"size": 3, "image": "hashicorp/vault:1.18.3", "unsealConfig": {"options": {"preFlightChecks": True, "storeRootToken": False}, "kubernetes": {"secretNamespace": "vault"}}, "externalConfig": {"policies": [{"name": "allow_secrets", "rules": 'path "secret/*" { capabilities = ["read", "list"] }'}], "auth": [{"type": "kubernetes", "roles": [{"name": "default", "bound_service_account_names": ["default", "vault-secrets-webhook"], "policies": "allow_secrets", "ttl": "1h"}]}]}}})  # fmt: skip
plain(OBJECTS, "flux-of-a-signed-artifact", "A chart's source by digest, whose signature is checked by an issuer and a subject.", "source.toolkit.fluxcd.io/v1beta2:OCIRepository", {"spec": {"interval": "10m", "url": f"oci://images.{ZONE}/charts/cart", "ref": {"digest": digest("cart chart")}, "secretRef": {"name": "regcred"}, "verify": {"provider": "cosign", "matchOIDCIdentity": [{"issuer": "^https://token.actions.githubusercontent.com$", "subject": "^https://github.com/acme/cart.*$"}]}}})  # fmt: skip
plain(OBJECTS, "gateway-with-references", "A gateway's listeners name certificates and options of a cloud.", "gateway.networking.k8s.io/v1:Gateway", {"spec": {"gatewayClassName": "istio", "listeners": [{"name": "https", "hostname": f"*.shop.{ZONE}", "port": 443, "protocol": "HTTPS", "tls": {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": "wildcard-tls"}], "options": {"gateway.istio.io/tls-terminate-mode": "MUTUAL"}}}]}})  # fmt: skip


# Wiring -----------------------------------------------------------------------------------------------------------------


class _Account(Box):
    """A user of a cloud's and its Secret in one cluster, as public programs have a component for it."""

    def __init__(self, at: Site, name: str) -> None:
        super().__init__(f"{at.name}-{name}", "acme:aws:IAMUserSecret")
        material = at.scene.owner(at.side)
        inputs, answers = {"user": f"{at.name}-{name}"}, {"secret": material.opaque(f"iam {name}", 40, LETTERS), "keyId": f"AKIA{drawn(at.name + name, 16, AWS_ID)}"}  # fmt: skip
        opts = at.scene.package("aws", f"{at.name}-account", at.side, region=REGION)
        key = at.scene.made("aws:iam/accessKey:AccessKey", f"{at.name}-{name}-key", inputs, pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(parent=self)), answers, ["secret"])  # fmt: skip
        at.object("v1:Secret", f"{name}-iam", {"stringData": {"id": key.output("keyId"), "key": key.output("secret")}}, parent=self)  # fmt: skip
        self.secret_name = f"{name}-iam"
        self.register_outputs({"secretName": self.secret_name})


@clean(WIRED, "found-component-per-account", "A component makes a cloud's user and a Secret with its key: once in the hub's account for the hub, once in the shop's for the shop.", pack={"dataPlaneProviders": ["shop-account"], "controlPlaneProviders": ["hub-account"]})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        account = _Account(at, "backups")
        at.chart("velero", {"credentials": {"existingSecret": account.secret_name}, "configuration": {"backupStorageLocation": [{"bucket": at.bucket, "provider": "aws"}]}})  # fmt: skip


@clean(WIRED, "found-credentials-provider-chain", "Two stacks, one per cluster, give kubeconfigs that providers are made of; the objects have names only.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.stack({"kubeconfig": scene.cp.kubeconfig("found-hub", SERVERS["cp"]), "namespace": "mesh"}, ("kubeconfig",))
    theirs = shop.stack({"kubeconfig": scene.dp.kubeconfig("found-shop", SERVERS["dp"]), "namespace": "apps", "domain": shop.domain}, ("kubeconfig",))  # fmt: skip
    shop.config_map("base", {"namespace": theirs.get_output("namespace"), "domain": theirs.get_output("domain")})


@clean(WIRED, "found-secrets-in-a-module", "A module of generated secrets, as public programs keep one, has an object per owner; each cluster's charts read their owner's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    names = ("couchdb", "gitea", "keycloak", "oauth2-cookie")
    table = {at.name: {name: at.word(f"module-{name}", 14) for name in names} for at in sites(scene)}
    for at in sites(scene):
        mine = table[at.name]
        at.keep("couchdb", {"adminUsername": "admin", "adminPassword": mine["couchdb"], "cookieAuthSecret": mine["oauth2-cookie"]})  # fmt: skip
        at.chart("couchdb", {"createAdminSecret": False, "extraSecretName": "couchdb", "couchdbConfig": {"couchdb": {"uuid": drawn(at.name + " couch", 32, HEX)}}})  # fmt: skip
        at.chart("gitea", {"gitea": {"admin": {"username": "gitea_admin", "password": mine["gitea"]}}})


@clean(WIRED, "found-extra-secret-outputs", "A generated password is marked twice and put out by the stack; the shop has its own, the stack's outputs have both marked.", stack="corpus")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        value: pulumi.Output[str] = pulumi.Output.secret(at.word("exported", 16))
        at.keep("exported", {"key": value})
        pulumi.export(f"{at.name}Password", value)


@clean(WIRED, "found-config-object-of-tenants", "One secret object of the configuration is a list of tenants with logins for their own registries; each tenant's cluster gets its entry.", pack=BOTH, config=lambda cp, dp: {"shop:tenants": json.dumps([{"name": name, "registry": f"registry.{name}.example.com", "token": dp.opaque(f"tenant {name}", 40, LETTERS)} for name in ("red", "blue")])})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.join("blue", BLUE)
    for at, side in enumerate(("dp", "blue")):
        entry = scene.config("shop:tenants").apply(lambda text, at=at: json.loads(text)[at])
        login = pull_secret(entry.apply(lambda e: e["registry"]), entry.apply(lambda e: e["name"]), entry.apply(lambda e: e["token"]))  # fmt: skip
        scene.secret(side, "tenant-registry", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@clean(WIRED, "found-loop-over-clusters", "A loop installs an ingress, an issuer and a monitor in both clusters; what differs is looked up by the cluster's name.", config=told(acme=("", 43, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    clusters = {"cp": {"replicas": 3, "class": "internal"}, "dp": {"replicas": 2, "class": "nginx"}}
    for at in sites(scene):
        settings = clusters[at.side]
        at.chart("ingress-nginx", {"controller": {"replicaCount": settings["replicas"], "ingressClassResource": {"name": settings["class"]}, "config": {"ssl-protocols": "TLSv1.2 TLSv1.3", "hide-headers": "X-Powered-By"}}})  # fmt: skip
        at.keep("acme-binding", {"secret": at.told("acme")}, namespace="cert-manager")
        at.object("cert-manager.io/v1:ClusterIssuer", "zerossl", {"spec": {"acme": {"server": "https://acme.zerossl.com/v2/DV90", "email": f"ops@{ZONE}", "privateKeySecretRef": {"name": "zerossl-account"}, "externalAccountBinding": {"keyID": drawn(at.name + " eab", 22), "keySecretRef": {"name": "acme-binding", "key": "secret"}}, "solvers": [{"http01": {"ingress": {"ingressClassName": settings["class"]}}}]}}})  # fmt: skip


@clean(WIRED, "found-dynamic-registration", "The hub registers the shop: a resource that the program writes itself asks the hub for the shop's id; the token of the registration stays in the hub's Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = cloud(scene, "rancher2:index/cluster:Cluster", "shop-imported", {"name": "shop"}, {"clusterId": "c-m-7xk2q9vd", "defaultProjectId": "c-m-7xk2q9vd:p-4h8zt", "kubeConfig": scene.cp.kubeconfig("rancher-shop", f"https://rancher.hub.{ZONE}/k8s/clusters/c-m-7xk2q9vd"), "clusterRegistrationToken": {"token": scene.cp.opaque("registration", 54)}}, ["kubeConfig", "clusterRegistrationToken"])  # fmt: skip
    ours, shop = sites(scene)
    ours.keep("shop-registration", {"token": made.output("clusterRegistrationToken").apply(lambda found: (found or {}).get("token", ""))})  # fmt: skip
    shop.object("v1:Namespace", "apps", {"metadata": {"annotations": {"field.cattle.io/projectId": made.output("defaultProjectId")}, "labels": {"management.cattle.io/cluster": made.output("clusterId")}}})  # fmt: skip


@clean(WIRED, "found-deep-merge-of-values", "Values are merged deeply by a function of the program's; the hub's overlay with its login is for the hub only.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)

    def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
        return {key: merged(base.get(key, {}), over[key]) if isinstance(over.get(key), dict) and isinstance(base.get(key, {}), dict) else over.get(key, base.get(key)) for key in {**base, **over}}  # fmt: skip

    base: dict[str, Any] = {"loki": {"auth_enabled": True, "commonConfig": {"replication_factor": 3}}, "gateway": {"basicAuth": {"enabled": True, "username": "loki"}}}  # fmt: skip
    ours, shop = sites(scene)
    ours.chart("loki", merged(base, {"gateway": {"basicAuth": {"password": ours.word("gateway")}}, "loki": {"storage": {"bucketNames": {"chunks": ours.bucket}}}}))  # fmt: skip
    shop.chart("loki", merged(base, {"gateway": {"basicAuth": {"password": shop.word("gateway")}}, "loki": {"storage": {"bucketNames": {"chunks": shop.bucket}}}}))  # fmt: skip


@clean(WIRED, "found-values-as-asset-text", "The shop's chart gets its values by a text of YAML that the program writes, with the shop's words and the hub's addresses.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    balancer = scene.answered("cp", "v1:Service", "ingest", {"spec": {"type": "LoadBalancer", "ports": [{"port": 443}], "loadBalancerSourceRanges": ["198.51.100.0/24"]}}, status={"loadBalancer": {"ingress": [{"hostname": f"a1b2.elb.{REGION}.amazonaws.com"}]}})  # fmt: skip
    ours.keep("ingest", {"password": ours.word("ingest")})
    host = balancer.output("status").apply(lambda status: (status or {}).get("loadBalancer", {}).get("ingress", [{}])[0].get("hostname", ""))  # fmt: skip
    text = pulumi.Output.all(host=host, word=shop.word("ingest")).apply(lambda a: yaml.safe_dump({"endpoint": f"https://{a['host']}", "basicAuth": {"username": "shop", "password": a["word"]}}))  # fmt: skip
    scene.made("kubernetes:helm.sh/v4:Chart", "shop-agent", {"chart": "agent", "namespace": "agents", "valueYamlFiles": [pulumi.StringAsset("replicas: 2\n")], "values": {"configText": text}}, scene.options("dp"))  # fmt: skip


@clean(WIRED, "found-certificates-of-an-authority-each", "Each owner's authority signs leaves for webhooks of the same names; keys and chains stay at their owner's side.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        ca_key, ca = at.pair("webhooks", authority=True)
        key, cert = issued(scene, at.side, f"{at.name}-admission", ca_key, ca, f"{at.name}-webhooks")
        at.keep("admission-tls", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem"), "ca.crt": ca.output("certPem")}, kind="kubernetes.io/tls", namespace="admission")  # fmt: skip
        at.chart("gatekeeper", {"controllerManager": {"tlsMinVersion": 1.3}, "externalCertInjection": {"enabled": True, "secretName": "admission-tls"}, "validatingWebhookCustomRules": {}, "caBundle": apply(ca.output("certPem"), b64)})  # fmt: skip


@clean(WIRED, "found-login-of-the-shop-kept-by-the-hub", "The hub watches the shop with the shop's generated word: a source of data and a job of the hub's have it, and the shop's gateway its hash.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("shop-source", {"source.yaml": apply(shop.word("federate"), lambda word: yaml.safe_dump({"datasources": [{"name": "shop", "type": "prometheus", "url": f"https://prometheus.shop.{ZONE}", "basicAuth": True, "basicAuthUser": "hub", "secureJsonData": {"basicAuthPassword": word}}]}))}, labels={"grafana_datasource": "1"})  # fmt: skip
    shop.keep("federate-users", {"auth": pulumi.Output.concat("hub:", shop.hashed("federate"))})


# Later ------------------------------------------------------------------------------------------------------------------


def _bare(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        at.chart("grafana", {"adminPassword": at.word("grafana-first"), "replicas": 1})


@clean(LATER, "found-chart-moves-to-an-existing-secret", "A second update moves both charts from values to Secrets of the same words.", before=_bare)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        at.keep("grafana-login", {"admin-user": "admin", "admin-password": at.word("grafana-first")})
        at.chart("grafana", {"admin": {"existingSecret": "grafana-login"}, "replicas": 2})


@clean(LATER, "found-new-words-for-both", "A second update makes new words for both owners, under new names of resources.", before=_bare)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at in sites(scene):
        at.chart("grafana", {"adminPassword": at.word("grafana-second"), "replicas": 1, "podAnnotations": {"acme/rotated": "2026-02-01"}})  # fmt: skip


@clean(LATER, "found-shop-gets-the-hubs-address", "A second update tells the shop's charts the address that the hub's balancer got meanwhile.", before=_bare)  # fmt: skip
def _(scene: Scene) -> None:
    _bare(scene)
    balancer = scene.answered("cp", "v1:Service", "eastwest", {"spec": {"type": "LoadBalancer", "ports": [{"port": 15443}], "loadBalancerSourceRanges": ["198.51.100.0/24"]}}, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.44"}]}})  # fmt: skip
    Site(scene, "dp").chart("gateway", {"networkGateway": "hub", "service": {"externalIPs": [balancer.output("status").apply(lambda status: ((status or {}).get("loadBalancer", {}).get("ingress") or [{}])[0].get("ip", ""))]}})  # fmt: skip


@clean(LATER, "found-chart-is-removed", "A second update removes the shop's chart and keeps the hub's; a map says why.", before=_bare)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("grafana", {"adminPassword": ours.word("grafana-first"), "replicas": 1})
    shop.config_map("moved", {"message": f"Dashboards are at https://grafana.hub.{ZONE} now; log in with your staff account."})  # fmt: skip
