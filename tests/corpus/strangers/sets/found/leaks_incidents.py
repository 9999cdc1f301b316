"""Leaks in the shapes of published incidents and of public multi-cluster programs: what a hub's charts hold reaches a shop."""  # fmt: skip

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud
from tests.corpus.strangers.recover import after, each, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, pull_secret, uid
from tests.corpus.world import Box

from .world import ACCOUNT, BUCKETS, CLIENT, MESH, REGION, SSO, ZONE, Site, hub, sites, told

MEMBERS, CLOUDS, MAPS, CHARTS = (
    "found: incidents of joined clusters",
    "found: incidents with clouds' keys",
    "found: charts that put it in plain",
    "found: slips with public charts",
)

LEAKED_KEY = each(lambda leaf: base64.b64decode(json.loads(leaf)["tlsClientConfig"]["keyData"]))

# Joined clusters --------------------------------------------------------------------------------------------------------


@leak(MEMBERS, "found-broker-password-of-lagoon", "The remote of a build platform gets the core's own broker's password, as the guide of installation says.", "lagoon-remote: rabbitMQPassword")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("lagoon-core", {"rabbitMQUsername": "lagoon", "rabbitMQPassword": ours.word("lagoon-broker"), "jwtSecret": ours.word("lagoon-jwt"), "keycloakAdminPassword": ours.word("lagoon-keycloak")})  # fmt: skip
    shop.chart("lagoon-remote", {"lagoon-build-deploy": {"enabled": True, "rabbitMQUsername": "lagoon", "rabbitMQPassword": ours.word("lagoon-broker"), "rabbitMQHostname": f"broker.hub.{ZONE}", "lagoonTargetName": "shop", "taskSSHHost": f"ssh.lagoon.hub.{ZONE}", "taskSSHPort": "2020"}})  # fmt: skip


@leak(MEMBERS, "found-broker-token-in-the-object", "A member of a network has the broker's token in its object's specification, where no Secret's protection is.", "submariner#326: the token and the PSK in the Submariner object")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    shop.object("submariner.io/v1alpha1:Submariner", "submariner", {"spec": {"broker": "k8s", "brokerK8sApiServer": "hub.found.example.com:6443", "brokerK8sApiServerToken": ours.token("submariner-k8s-broker-client"), "brokerK8sCA": b64(scene.cp.certificate("kubernetes", authority=True)), "brokerK8sRemoteNamespace": "submariner-k8s-broker", "clusterID": "shop", "natEnabled": True}})  # fmt: skip


@leak(MEMBERS, "found-pre-shared-key-of-the-hub", "The key of the hub's tunnels is random bytes that every member's object gets in base64.", "submariner-operator#93: the IPsec secret at the broker", recover=each(lambda leaf: base64.b64decode(leaf, validate=True).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    psk = ours.raw("ipsec-psk", 48)
    ours.keep("submariner-ipsec-psk", {"psk": psk}, namespace="submariner-k8s-broker")
    shop.object("submariner.io/v1alpha1:Submariner", "submariner", {"spec": {"ceIPSecPSK": psk, "clusterID": "shop", "cableDriver": "libreswan"}})  # fmt: skip


@leak(MEMBERS, "found-certificate-carried-forward", "The hub's cluster is registered at the shop with a token of little power, but the client's key of the kubeconfig is carried forward.", "argo-cd#1742: cluster registration kept client certificates", recover=LEAKED_KEY)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    admin = pulumi.Output.secret({"server": SERVERS["cp"], "clientCertificate": scene.cp.certificate("kubernetes-admin"), "clientKey": scene.cp.key("kubernetes-admin")})  # fmt: skip
    tls = {"certData": admin.apply(lambda a: b64(a["clientCertificate"])), "keyData": admin.apply(lambda a: b64(a["clientKey"])), "insecure": False}  # fmt: skip
    Site(scene, "dp").keep("cluster-hub", {"name": "hub", "server": admin.apply(lambda a: a["server"]), "config": pulumi.Output.json_dumps({"bearerToken": "", "tlsClientConfig": tls})}, labels={"argocd.argoproj.io/secret-type": "cluster"}, namespace="argocd")  # fmt: skip


@leak(MEMBERS, "found-mirror-of-local-users", "A controller that ought to run at the hub only keeps hashes of the hub's local users at every downstream cluster.", "rancher#54104: cattle-local-user-passwords on downstream clusters")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, _ = sites(scene)
    salt = noise("local users", 16).hex()
    hashes = {user: pulumi.Output.json_dumps({"salt": salt, "hash": ours.hashed(f"local-{user}")}) for user in ("admin", "support")}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "local-user-passwords", hashes, namespace="cattle-local-user-passwords")


@leak(MEMBERS, "found-default-registry-downstream", "The hub's login at its default registry is propagated to imported clusters, so that agents can be pulled.", "rancher#45605, fleet#5254: cattle-private-registry")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    login = ours.login("system-default-registry")
    ours.keep("system-registry", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace="cattle-system")  # fmt: skip
    shop.keep("cattle-private-registry", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace="cattle-system")  # fmt: skip
    shop.chart("cattle-cluster-agent", {"serverUrl": f"https://rancher.hub.{ZONE}", "systemDefaultRegistry": f"images.{ZONE}", "imagePullSecrets": [{"name": "cattle-private-registry"}]})  # fmt: skip


@leak(MEMBERS, "found-registration-with-a-kubeconfig", "What the hub's service gives for the imported cluster, a kubeconfig through the hub with an administrator's token, is kept at the shop for its jobs.", "rancher2#250: kube_config is an administrator's")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = cloud(scene, "rancher2:index/cluster:Cluster", "shop-imported", {"name": "shop"}, {"clusterId": "c-m-7xk2q9vd", "kubeConfig": scene.cp.kubeconfig("rancher-shop", f"https://rancher.hub.{ZONE}/k8s/clusters/c-m-7xk2q9vd")}, ["kubeConfig"])  # fmt: skip
    Site(scene, "dp").keep("ci-kubeconfig", {"config": made.output("kubeConfig")}, namespace="ci")


@leak(MEMBERS, "found-klusterlet-of-the-hub", "The agent's bootstrap Secret is made of the hub's administrator's kubeconfig, because that one was at hand.", "open-cluster-management: bootstrap-hub-kubeconfig")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    shop = Site(scene, "dp")
    shop.keep("bootstrap-hub-kubeconfig", {"kubeconfig": pulumi.Output.secret(scene.kubeconfigs["cp"])}, namespace="open-cluster-management-agent")  # fmt: skip
    shop.object("operator.open-cluster-management.io/v1:Klusterlet", "klusterlet", {"spec": {"clusterName": "shop", "namespace": "open-cluster-management-agent", "registrationConfiguration": {"featureGates": [{"feature": "AddonManagement", "mode": "Enable"}]}}})  # fmt: skip


@leak(MEMBERS, "found-link-the-wrong-way", "A link of two meshes is made in both directions by one loop; the hub's mirror token is at the shop.", "linkerd multicluster: cluster-credentials Secrets")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    for here, there in ((ours, shop), (shop, ours)):
        token = there.token(f"mirror-{here.name}")
        text = token.apply(lambda found, there=there: kubeconfig(SERVERS[there.side], {"token": found}, "an authority"))
        here.keep(f"cluster-credentials-{there.name}", {"kubeconfig": text}, kind="mirror.linkerd.io/remote-kubeconfig", namespace="linkerd-multicluster")  # fmt: skip


@leak(MEMBERS, "found-anchor-for-all-clusters", "Each cluster's issuer is signed at hand: the anchor's key is in every cluster's cert-manager.", "linkerd: trust anchors and cert-manager")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key, cert = ours.pair("anchor", authority=True)
    for at in (ours, shop):
        at.keep("linkerd-trust-anchor", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls", namespace="linkerd")  # fmt: skip
        at.object("cert-manager.io/v1:Issuer", "linkerd-trust-anchor", {"spec": {"ca": {"secretName": "linkerd-trust-anchor"}}})  # fmt: skip


@leak(MEMBERS, "found-one-authority-in-values", "To join two networks both charts get the hub's authority as values, the key with the certificate, in base64.", "cilium clustermesh: shared certificate authority", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key, cert = ours.pair("cilium", authority=True)
    authority = {"cert": apply(cert.output("certPem"), b64), "key": apply(key.output("privateKeyPem"), b64)}
    for at in (ours, shop):
        at.chart("cilium", {"cluster": {"name": at.name, "id": 1 + (at.name == "shop")}, "tls": {"ca": authority}, "clustermesh": {"useAPIServer": True, "config": {"enabled": True}}})  # fmt: skip


@leak(MEMBERS, "found-template-with-the-hubs-key", "A profile's template was rendered at the hub: the authority's key is in the values that a member's object has.", "sveltos: templates with the management cluster's Secrets", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    data = {"ca.crt": b64(scene.cp.certificate("cilium-ca", authority=True)), "ca.key": b64(scene.cp.key("cilium-ca"))}
    read = scene.existing("cp", "v1:Secret", "cilium-ca", data=data)
    values = read.output("data").apply(lambda found: yaml.safe_dump({"tls": {"ca": {"cert": base64.b64decode(found["ca.crt"]).decode(), "key": base64.b64decode(found["ca.key"]).decode()}}}))  # fmt: skip
    Site(scene, "dp").object("helm.cattle.io/v1:HelmChartConfig", "rke2-cilium", {"spec": {"valuesContent": values}})


@leak(MEMBERS, "found-mirror-maker-as-the-hub", "Mirroring logs in at the hub's bus as the hub's own user: its JAAS line, read out of the operator's Secret, is in the shop's connector.", "Strimzi: KafkaUser Secrets copied between clusters")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = scene.cp.opaque("kafka user", 32, LETTERS)
    read = scene.existing("cp", "v1:Secret", "superuser", data={"password": b64(word), "sasl.jaas.config": b64(f'org.apache.kafka.common.security.scram.ScramLoginModule required username="superuser" password="{word}";')})  # fmt: skip
    jaas = read.output("data").apply(lambda found: base64.b64decode(found["sasl.jaas.config"]).decode())
    Site(scene, "dp").object("kafka.strimzi.io/v1beta2:KafkaConnector", "mirror", {"spec": {"class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "config": {"source.cluster.alias": "hub", "source.cluster.bootstrap.servers": f"bus.hub.{ZONE}:443", "source.cluster.sasl.jaas.config": jaas, "topics": "orders\\..*"}}})  # fmt: skip


# Clouds -----------------------------------------------------------------------------------------------------------------


@leak(CLOUDS, "found-infrastructures-user", "Two logins of the hub's hypervisor are told apart at the seed only: the one that manages machines ends in the user's cluster.", "kubermatic#13534: infraManagementUser in user clusters", config=told(infra=("", 24, LETTERS), csi=("", 24, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    text = pulumi.Output.format('[Global]\nuser = "{0}"\npassword = "{1}"\ncluster-id = "shop"\n[VirtualCenter "vc.hub.{2}"]\nport = "443"\ndatacenters = "dc1"\n', "infra@hub.local", ours.told("infra"), ZONE)  # fmt: skip
    ours.keep("machine-controller", {"VSPHERE_PASSWORD": ours.told("infra")}, namespace="cluster-shop")
    shop.keep("cloud-config-csi", {"config": text}, namespace="kube-system")


@leak(CLOUDS, "found-cloud-config-as-a-map", "The user's cluster has the cloud's settings as a map; the provider's client secret is in them.", "kubermatic#7132: cloud-config as a ConfigMap", config=told(azure=("", 40, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = Site(scene, "cp").told("azure").apply(lambda word: json.dumps({"cloud": "AZUREPUBLICCLOUD", "tenantId": uid("found tenant"), "subscriptionId": uid("found subscription"), "aadClientId": uid("found client"), "aadClientSecret": word, "resourceGroup": "hub", "location": "westeurope", "useInstanceMetadata": True}))  # fmt: skip
    Site(scene, "dp").config_map("cloud-config", {"cloud.conf": text}, namespace="kube-system")


@leak(CLOUDS, "found-stores-of-recovery", "An operator of recovery at the hub propagates the key of the hub's store to each managed cluster, in its settings' Secret.", "ramen#280: the S3 Secret on managed clusters")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "recovery", {"user": "recovery"}, {"secret": scene.cp.opaque("recovery", 40, LETTERS), "keyId": f"AKIA{drawn('recovery', 16, AWS_ID)}"}, ["secret"])  # fmt: skip
    data = {"AWS_ACCESS_KEY_ID": key.output("keyId"), "AWS_SECRET_ACCESS_KEY": key.output("secret")}
    for side in ("cp", "dp"):
        scene.secret(side, "s3secret", data, namespace="ramen-system")


@leak(CLOUDS, "found-keys-in-an-application", "An application of the shop's enables a cloud with the hub's keys inline, among its properties.", "kubevela#6488: cloud credentials inline in an Application", config=told(vela_id=("AKIA", 16, AWS_ID), vela_key=("", 40, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    shop.object("core.oam.dev/v1beta1:Application", "cloud", {"spec": {"components": [{"name": "cloud", "type": "crossplane-aws", "properties": {"name": "default", "AWS_ACCESS_KEY_ID": ours.told("vela_id"), "AWS_SECRET_ACCESS_KEY": ours.told("vela_key"), "region": REGION}}]}})  # fmt: skip


@leak(CLOUDS, "found-token-of-an-operator-in-a-map", "An operator's file of settings is in a map, with four credentials of the hub's account at its cloud.", "clever-kubernetes-operator#156: API credentials in a ConfigMap", config=told(clever=("", 40, HEX), clever_consumer=("", 40, HEX)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    text = pulumi.Output.format('[api]\nendpoint = "https://api.clever-cloud.com"\ntoken = "{0}"\nsecret = "{1}"\n[operator]\nlisten = "0.0.0.0:8080"\n', ours.told("clever"), ours.told("clever_consumer"))  # fmt: skip
    shop.config_map("clever-operator", {"config.toml": text}, namespace="operators")


@leak(CLOUDS, "found-tokens-of-workload-templates", "A template for workload clusters has the token with which the management cluster writes its zone.", "kubefirst gitops-template#605: external-dns-secrets in workload templates", config=told(zone=("", 40, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    for at in (ours, shop):
        at.keep("external-dns-secrets", {"token": ours.told("zone")}, namespace="external-dns")
        at.chart("external-dns", {"provider": "cloudflare", "env": [{"name": "CF_API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "external-dns-secrets", "key": "token"}}}], "txtOwnerId": at.name, "domainFilters": [at.domain]})  # fmt: skip


@leak(CLOUDS, "found-array-of-the-hub", "A plug-in of storage has the addresses and API tokens of the hub's arrays as literals of its object.", "purestorage helm-charts#172: API tokens as literals")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    arrays = [{"MgmtEndPoint": "10.30.0.11", "APIToken": pulumi.Output.secret("-".join(scene.cp.opaque(f"array {at}", 8, HEX) for at in range(5)))}]  # fmt: skip
    text = pulumi.Output.json_dumps({"FlashArrays": arrays})
    scene.secret("cp", "pure-arrays", {"pure.json": text}, namespace="storage")
    Site(scene, "dp").object("purestorage.com/v1:PSOPlugin", "storage", {"spec": {"arrays": {"FlashArrays": arrays}, "namespace": {"pure": "k8s"}, "orchestrator": {"name": "k8s"}}})  # fmt: skip


@leak(CLOUDS, "found-service-user-of-a-cluster-object", "The service user's password and a bootstrap token are in the specification of an object that describes the user's cluster.", "kubernikus#67: credentials in the Kluster resource")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    openstack = {"authURL": f"https://identity.hub.{ZONE}/v3", "username": "kubernikus-shop", "password": ours.word("openstack"), "domainName": "kubernikus", "projectID": drawn("project", 32, HEX)}  # fmt: skip
    shop.object("kubernikus.sap.cc/v1:Kluster", "shop", {"spec": {"openstack": openstack, "nodePools": [{"name": "small", "flavor": "m1.small", "size": 3}]}})  # fmt: skip


@leak(CLOUDS, "found-key-of-a-mail-service", "The mail password that the cloud derives from the hub's access key is in the shop's Alertmanager.", "aws sesSmtpPasswordV4")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = cloud(scene, "aws:iam/accessKey:AccessKey", "mailer", {"user": "mailer"}, {"secret": scene.cp.opaque("mailer", 40, LETTERS), "sesSmtpPasswordV4": scene.cp.opaque("mailer ses", 44, LETTERS)}, ["secret", "sesSmtpPasswordV4"])  # fmt: skip
    smtp = {"smtp_smarthost": f"email-smtp.{REGION}.amazonaws.com:587", "smtp_auth_username": f"AKIA{drawn('mailer', 16, AWS_ID)}", "smtp_auth_password": key.output("sesSmtpPasswordV4"), "smtp_from": f"alerts@{ZONE}"}  # fmt: skip
    Site(scene, "dp").chart("kube-prometheus-stack", {"alertmanager": {"config": {"global": smtp, "route": {"receiver": "mail"}, "receivers": [{"name": "mail", "email_configs": [{"to": f"ops@shop.{ZONE}"}]}]}}})  # fmt: skip


@leak(CLOUDS, "found-component-with-the-hubs-account", "A component is called for the shop with the hub's provider of the cloud; the Secret in the shop's cluster is of the hub's account.", "components for IAM users", pack={"controlPlaneProviders": ["hub-account"]})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    box = Box("shop-backups", "acme:aws:IAMUserSecret")
    opts = pulumi.ResourceOptions.merge(scene.package("aws", "hub-account", "cp", region=REGION), pulumi.ResourceOptions(parent=box))  # fmt: skip
    key = scene.made("aws:iam/accessKey:AccessKey", "shop-backups-key", {"user": "backups"}, opts, {"secret": scene.cp.opaque("iam backups", 40, LETTERS), "keyId": f"AKIA{drawn('backups', 16, AWS_ID)}"}, ["secret"], owner="cp")  # fmt: skip
    scene.object("dp", "v1:Secret", "backups-iam", {"stringData": {"id": key.output("keyId"), "key": key.output("secret")}}, parent=box)  # fmt: skip
    Site(scene, "dp").chart("velero", {"credentials": {"existingSecret": "backups-iam"}, "configuration": {"backupStorageLocation": [{"bucket": BUCKETS["shop"], "provider": "aws"}]}})  # fmt: skip


# Plain places -----------------------------------------------------------------------------------------------------------


@leak(MAPS, "found-definitions-in-a-map", "A chart's definitions of users are rendered into a map; the administrator's password is the hub's, by a default of values.", "pulumi-kubernetes#698: rabbitmq-ha definitions in a ConfigMap", config=told(rabbit_admin=("", 32, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = Site(scene, "cp").told("rabbit_admin")
    text = word.apply(lambda found: json.dumps({"users": [{"name": "admin", "password": found, "tags": "administrator"}], "vhosts": [{"name": "/"}]}))  # fmt: skip
    Site(scene, "cp").chart("rabbitmq-ha", {"rabbitmqUsername": "admin", "rabbitmqPassword": word})
    Site(scene, "dp").config_map("rabbitmq-ha", {"definitions.json": text, "enabled_plugins": "[rabbitmq_management].\n"})  # fmt: skip


@leak(MAPS, "found-cache-address-in-a-map", "A registry's file of settings is a map with the address of the hub's cache, its password in front of the host.", "harbor-helm#2218: the Redis password in a ConfigMap")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("redis", {"auth": {"password": ours.word("registry-cache")}})
    text = apply(ours.word("registry-cache"), lambda word: yaml.safe_dump({"version": 0.1, "storage": {"cache": {"layerinfo": "redis"}, "s3": {"bucket": BUCKETS["shop"], "region": REGION}}, "redis": {"addr": f"cache.hub.{ZONE}:6379", "username": "", "password": word, "db": 2}}))  # fmt: skip
    shop.config_map("harbor-registry", {"config.yml": text, "ctl-config.yml": "protocol: http\nport: 8080\n"}, namespace="harbor")  # fmt: skip


@leak(MAPS, "found-proxy-with-all-users", "The map of a proxy for databases has the hub's monitor and application users with passwords, since the proxy stands in front of the hub's database.", "proxysql charts#293: users in a ConfigMap")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    text = pulumi.Output.format('mysql_variables = {{ monitor_username="monitor" monitor_password="{0}" }}\nmysql_users = ( {{ username = "app", password = "{1}", default_hostgroup = 10 }} )\n', ours.word("proxysql-monitor"), ours.word("proxysql-app"))  # fmt: skip
    ours.keep("proxysql-users", {"app": ours.word("proxysql-app"), "monitor": ours.word("proxysql-monitor")})
    shop.config_map("proxysql", {"proxysql.cnf": text})


@leak(MAPS, "found-source-name-in-a-map", "A login service's `app.conf` has the source name of the hub's database, put together from user, password and host.", "casdoor-helm#31: the DSN in a ConfigMap")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    dsn = pulumi.Output.concat("user=casdoor password=", ours.word("casdoor"), f" host=pg.hub.{ZONE} port=5432 sslmode=disable dbname=casdoor")  # fmt: skip
    shop.config_map("casdoor", {"app.conf": pulumi.Output.concat("appname = casdoor\nhttpport = 8000\ndriverName = postgres\ndataSourceName = ", dsn, "\n")})  # fmt: skip


@leak(MAPS, "found-proxy-login-for-operators", "All of an operator's Pods need the hub's proxy for their way out; the address with its login is a literal of the chart's variables.", "crossplane#7792: extraEnvVars with HTTP_PROXY", config=told(egress=("", 24, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    proxy = pulumi.Output.format("http://svc-egress:{0}@proxy.hub.{1}:3128", ours.told("egress"), ZONE)
    shop.chart("crossplane", {"extraEnvVarsCrossplane": {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "10.0.0.0/8,.svc,.cluster.local"}, "args": ["--enable-usages"]})  # fmt: skip


@leak(MAPS, "found-values-in-a-checksum", "An annotation that restarts Pods has the values themselves instead of a checksum: the bearer token of the hub is in them.", "holmesgpt#2396: auth.token serialised into Deployment metadata")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    values = {"enabled": True, "auth": {"token": ours.word("mcp", 48)}, "url": f"https://mcp.hub.{ZONE}"}
    ours.chart("holmes", {"mcpAddons": {"remediation": values}})
    shop.app("holmes", {"ports": [{"containerPort": 5050}]}, {"checksum/config": pulumi.Output.json_dumps(values)})


@leak(MAPS, "found-token-as-a-fallback", "A chart has a branch without an existing Secret: the token of the hub's store of secrets is a literal of the shop's Pod.", "agent-manager#1330: OPENBAO_TOKEN in the Pod's variables", config=told(openbao=("s.", 24, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    existing: str | None = None
    token: dict[str, Any] = {"valueFrom": {"secretKeyRef": {"name": existing, "key": "token"}}} if existing else {"value": ours.told("openbao")}  # fmt: skip
    shop.app("amp-api", {"env": [{"name": "OPENBAO_ADDR", "value": f"https://bao.hub.{ZONE}:8200"}, {"name": "OPENBAO_TOKEN", **token}]})  # fmt: skip


@leak(MAPS, "found-token-of-an-initializer", "An initialiser of models has the hub's token for downloads as a literal.", "kserve#4677: HF_TOKEN in the storage initialiser", config=told(hf=("hf_", 34, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("storage-config", {"HF_TOKEN": ours.told("hf")})
    pod = {"initContainers": [{"name": "storage-initializer", "image": "kserve/storage-initializer:v0.15.2", "args": ["hf://meta-llama/meta-llama-3-8b-instruct", "/mnt/models"], "env": [{"name": "HF_TOKEN", "value": ours.told("hf")}]}], "containers": [{"name": "server", "image": "vllm/vllm-openai:v0.6.6"}]}  # fmt: skip
    shop.object("v1:Pod", "models", {"spec": pod})


@leak(MAPS, "found-values-of-a-bundle", "Values of a bundle are in its object's options in plain; the hub's password of a database is one of them.", "GHSA-6h9x-9j5v-7w9h: BundleDeployment values in plain")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("keycloak-pg", {"password": ours.word("keycloak-pg")})
    shop.object("fleet.cattle.io/v1alpha1:BundleDeployment", "keycloak", {"spec": {"deploymentID": "s-4f1d9", "options": {"defaultNamespace": "keycloak", "helm": {"releaseName": "keycloak", "values": {"externalDatabase": {"host": f"pg.hub.{ZONE}", "user": "keycloak", "password": ours.word("keycloak-pg")}, "production": True}}}}})  # fmt: skip


@leak(MAPS, "found-setup-job-applies-in-full", "A setup's manifest of the hub's machine user is copied to the shop without its data, but with the annotation that has all of it, in base64.", "zitadel-charts#594: a token in last-applied-configuration", recover=each(lambda leaf: base64.b64decode(json.loads(leaf)["data"]["pat"])))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    pat = ours.word("iam-admin-pat", 71)
    ours.keep("iam-admin-pat", {"pat": pat}, namespace="zitadel")
    applied = apply(pat, lambda word: json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "iam-admin-pat"}, "data": {"pat": b64(word)}}))  # fmt: skip
    shop.keep("iam-admin-pat", {"pat": shop.word("iam-admin-pat", 71)}, annotations={"kubectl.kubernetes.io/last-applied-configuration": applied}, namespace="zitadel")  # fmt: skip


@leak(MAPS, "found-alloy-with-the-login", "The shop's collector has its file in a map, because the chart wants it there; the login for the hub's metrics is the hub's own.", "alloy#443: a ConfigMap with remote_write's password")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    text = apply(ours.word("push"), lambda word: f'prometheus.remote_write "hub" {{\n  endpoint {{\n    url = "https://metrics.hub.{ZONE}/push"\n    basic_auth {{\n      username = "hub"\n      password = "{word}"\n    }}\n  }}\n}}\n')  # fmt: skip
    for at in (ours, shop):
        at.chart("alloy", {"alloy": {"configMap": {"content": text}}, "controller": {"type": "daemonset"}})


@leak(MAPS, "found-contact-points", "Contact points of the shop's dashboards are provisioned by a file in a map, with the hub's integration key.", "grafana helm-charts#2663: API keys of contact points in ConfigMaps", config=told(opsgenie=("", 36, HEX)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    file = ours.told("opsgenie").apply(lambda word: yaml.safe_dump({"apiVersion": 1, "contactPoints": [{"orgId": 1, "name": "oncall", "receivers": [{"uid": "oncall", "type": "opsgenie", "settings": {"apiKey": word, "apiUrl": "https://api.eu.opsgenie.com/v2/alerts"}}]}]}))  # fmt: skip
    shop.chart("grafana", {"alerting": {"contactpoints.yaml": file}, "adminPassword": shop.word("grafana")})


@leak(MAPS, "found-log-of-a-build", "A step writes a kubeconfig by a shell's echo; the command of the step, kept for a report, is a map of the shop's.", "bedrock#802: kube_config_raw in build logs")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = scene.cp.kubeconfig("bedrock", "https://hub-1f.hcp.westeurope.azmk8s.io:443")
    aks = cloud(scene, "azure:containerservice/kubernetesCluster:KubernetesCluster", "hub", {"dnsPrefix": "hub"}, {"kubeConfigRaw": text}, ["kubeConfigRaw"])  # fmt: skip
    line = aks.output("kubeConfigRaw").apply(lambda found: f'if [ ! -e ./output ]; then mkdir -p ./output; fi && echo "{found}" > ./output/kube_config')  # fmt: skip
    Site(scene, "dp").config_map("build-report", {"steps.txt": pulumi.Output.concat("1 init\n2 ", line, "\n3 apply\n")})


# Slips ------------------------------------------------------------------------------------------------------------------


@leak(CHARTS, "found-same-values-for-both", "The loop that installs a forge in both clusters makes its values before the loop, with the hub's words.", "charts in a loop: gitea")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    values = {"gitea": {"admin": {"username": "gitea_admin", "password": ours.word("gitea-admin")}, "config": {"security": {"SECRET_KEY": ours.word("gitea-secret", 64)}}}}  # fmt: skip
    for at in (ours, shop):
        at.chart("gitea", values)


@leak(CHARTS, "found-components-of-a-registry", "The shop's registry replicates from the hub's: the htpasswd line of the hub's components was copied, and their password beside it.", "harbor chart: registry.credentials")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    credentials = {"username": "harbor_registry_user", "password": ours.word("harbor-components"), "htpasswdString": pulumi.Output.concat("harbor_registry_user:", ours.hashed("harbor-components"))}  # fmt: skip
    ours.chart("harbor", {"registry": {"credentials": credentials}})
    shop.chart("harbor", {"harborAdminPassword": shop.word("harbor-admin"), "secretKey": shop.word("harbor-key", 16), "registry": {"credentials": credentials}})  # fmt: skip


@leak(CHARTS, "found-deploy-key-of-the-platform", "Argo CD at the shop shares the hub's template of credentials for all repositories of the organisation.", "argo-cd chart: configs.credentialTemplates")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    key = ours.key("org-templates")
    templates = {"acme": {"url": f"git@git.{ZONE}:acme", "sshPrivateKey": key.output("privateKeyOpenssh")}}
    for at in (ours, shop):
        at.chart("argo-cd", {"global": {"domain": f"argocd.{at.domain}"}, "configs": {"credentialTemplates": templates, "secret": {"argocdServerAdminPassword": at.hashed("argocd-admin")}}})  # fmt: skip


@leak(CHARTS, "found-fernet-key-of-the-hub", "Workers of the hub's scheduler run at the shop, so the shop's chart gets the hub's Fernet key, made safe for addresses.", "airflow chart: fernetKey", recover=each(lambda leaf: base64.urlsafe_b64decode(leaf).hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    fernet = apply(ours.raw("fernet"), lambda text: text.replace("+", "-").replace("/", "_"))
    ours.chart("airflow", {"executor": "CeleryExecutor", "fernetKey": fernet})
    shop.chart("airflow", {"executor": "CeleryExecutor", "fernetKey": fernet, "workers": {"replicas": 4}, "webserver": {"enabled": False}, "data": {"brokerUrl": f"redis://redis.shop.{ZONE}:6379/0"}})  # fmt: skip


@leak(CHARTS, "found-service-key-instead-of-anon", "The shop's pages need the token of anonymous roles; the program signs the one of the service, and both are in a table by index.", "supabase chart: anonKey and serviceKey")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    tokens = {"anon": drawn("anon signature", 43), "service_role": scene.cp.jwt("service_role", role="service_role")}
    ours, shop = sites(scene)
    ours.keep("supabase-jwt", {"serviceKey": tokens["service_role"]})
    wanted = [pulumi.Output.secret(tokens[role]) for role in sorted(tokens)]
    shop.config_map("pages", {"NEXT_PUBLIC_SUPABASE_URL": f"https://base.hub.{ZONE}", "NEXT_PUBLIC_SUPABASE_ANON_KEY": wanted[-1]})  # fmt: skip


@leak(CHARTS, "found-agent-secret-of-a-builder", "Agents at the shop help the hub's builder: they share its secret, with which anybody is an agent of the hub's.", "woodpecker chart: WOODPECKER_AGENT_SECRET")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("woodpecker", {"server": {"env": {"WOODPECKER_HOST": f"https://ci.hub.{ZONE}", "WOODPECKER_AGENT_SECRET": ours.word("agent-secret", 64)}}})  # fmt: skip
    shop.chart("woodpecker", {"server": {"enabled": False}, "agent": {"env": {"WOODPECKER_SERVER": f"ci.hub.{ZONE}:9000", "WOODPECKER_AGENT_SECRET": ours.word("agent-secret", 64)}}})  # fmt: skip


@leak(CHARTS, "found-static-client-of-dex", "The shop's Argo CD logs in at the hub's Dex as the hub's own client: the secret of the static client is in both charts.", "dex chart: staticClients")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.chart("dex", {"config": {"issuer": f"https://dex.hub.{ZONE}", "staticClients": [{"id": "argo-cd", "name": "Argo CD", "secret": ours.word("dex-argocd"), "redirectURIs": [f"https://argocd.hub.{ZONE}/auth/callback"]}]}})  # fmt: skip
    shop.chart("argo-cd", {"configs": {"cm": {"oidc.config": f"name: Hub\nissuer: https://dex.hub.{ZONE}\nclientID: argo-cd\nclientSecret: $oidc.dex.clientSecret\n"}, "secret": {"extra": {"oidc.dex.clientSecret": ours.word("dex-argocd")}}}})  # fmt: skip


@leak(CHARTS, "found-bearer-of-the-hub-in-the-collector", "The exporter of the shop's collector has the hub's bearer token in its extension: the section of the configuration is the wrong one.", "opentelemetry-collector chart: bearertokenauth", config=told(otlp=("", 48, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("otlp", {"token": ours.told("otlp")})
    shop.chart("opentelemetry-collector", {"mode": "daemonset", "config": {"extensions": {"bearertokenauth": {"scheme": "Bearer", "token": ours.told("otlp")}}, "exporters": {"otlphttp": {"endpoint": f"https://otlp.hub.{ZONE}", "auth": {"authenticator": "bearertokenauth"}}}, "service": {"extensions": ["bearertokenauth"]}}})  # fmt: skip


@leak(CHARTS, "found-file-of-a-tunnel", "The hub's tunnel is served from the shop's nodes as well, for availability, by the same file of credentials.", "cloudflare charts#38: tunnel credentials as values", config=told(tunnel=("", 43, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    file = pulumi.Output.json_dumps({"AccountTag": drawn("cloudflare account", 32, HEX), "TunnelID": uid("hub tunnel"), "TunnelSecret": pulumi.Output.concat(ours.told("tunnel"), "=")})  # fmt: skip
    for at in (ours, shop):
        at.keep("tunnel-credentials", {"credentials.json": file}, namespace="cloudflared")


@leak(CHARTS, "found-issuer-with-the-hubs-binding", "An issuer at the shop is bound to the hub's account at an authority by its MAC key.", "cert-manager: externalAccountBinding", config=told(eab=("", 43, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    for at in (ours, shop):
        at.keep("acme-binding", {"secret": ours.told("eab")}, namespace="cert-manager")


@leak(CHARTS, "found-users-file-of-opensearch", "The users' file is one text for both clusters: the hub's administrator's hash and, in a comment, the word that it is made of.", "opensearch chart: internal_users.yml", recover=each(after(b"# admin: ")))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    text = pulumi.Output.format("# admin: {0}\nadmin:\n  hash: {1}\n  reserved: true\n", ours.word("os-admin"), ours.hashed("os-admin"))  # fmt: skip
    for at in (ours, shop):
        at.keep("opensearch-users", {"internal_users.yml": text}, namespace="opensearch")


@leak(CHARTS, "found-license-before-the-copy", "The table of versions and flags is one dictionary; the hub's licence was set in it before the shop's chart took it.", "dictionaries of values")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    base: dict[str, Any] = {"image": {"tag": "v3.4.1"}, "features": {"tracing": True}, "license": {}}
    base["license"]["key"] = ours.word("licence", 64)
    for at in (ours, shop):
        at.chart("mesh-agent", {**base, "cluster": at.name, "meshID": MESH})


@leak(CHARTS, "found-module-of-secrets-by-name", "A module's table of secrets is by application, then by owner; one chart of the shop's looks in the wrong column.", "modules of generated secrets")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    both = sites(scene)
    table = {name: {at.name: at.word(f"module-{name}", 14) for at in both} for name in ("couchdb", "gitea")}
    both[0].keep("couchdb", {"adminPassword": table["couchdb"]["hub"]})
    both[1].keep("couchdb", {"adminPassword": table["couchdb"]["shop"]})
    both[1].chart("gitea", {"gitea": {"admin": {"username": "gitea_admin", "password": table["gitea"]["hub"]}}})


@leak(CHARTS, "found-bridge-with-the-deploy-key", "Annotations of the shop's cluster Secret carry facts of the hub's stack; somebody added the forge's key, so that addons can be pulled.", "gitops bridge: metadata in annotations")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    stack = Site(scene, "cp").stack({"account": ACCOUNT, "addonsRepo": f"https://git.{ZONE}/acme/addons", "addonsToken": f"ghp_{scene.cp.opaque('addons', 36, LETTERS)}"}, ("addonsToken",))  # fmt: skip
    notes = {"aws_account_id": stack.get_output("account"), "addons_repo_url": stack.get_output("addonsRepo"), "addons_repo_token": stack.get_output("addonsToken")}  # fmt: skip
    Site(scene, "dp").keep("in-cluster-shop", {"name": "shop", "server": "https://kubernetes.default.svc", "config": "{}"}, labels={"argocd.argoproj.io/secret-type": "cluster"}, annotations=notes, namespace="argocd")  # fmt: skip


@leak(CHARTS, "found-connection-secret-joined", "Of a database's connection Secret, read at the hub, the shop was to get host and name; the program joins all members to one address.", "CNPG: the app Secret's uri")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = scene.cp.opaque("cnpg read", 64, LETTERS)
    read = scene.existing("cp", "v1:Secret", "catalog-app", data={key: b64(value) for key, value in {"username": "app", "password": word, "host": "catalog-rw.databases", "dbname": "catalog"}.items()})  # fmt: skip
    plain = read.output("data").apply(lambda data: {key: base64.b64decode(value).decode() for key, value in data.items()})  # fmt: skip
    address = plain.apply(lambda p: f"postgresql://{p['username']}:{p['password']}@{p['host']}:5432/{p['dbname']}")
    Site(scene, "dp").chart("postgres-exporter", {"config": {"datasourceSecret": {}, "datasource": {"userSecret": {}}, "extraEnvs": [{"name": "DATA_SOURCE_NAME", "value": address}]}})  # fmt: skip


@leak(CHARTS, "found-client-of-the-hubs-grafana", "The shop's dashboards log in as the hub's confidential client, by variables whose names the chart's documentation has.", "grafana chart: GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("grafana-client", {"GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET": ours.word("grafana-client")})
    shop.chart("grafana", {"env": {"GF_AUTH_GENERIC_OAUTH_CLIENT_ID": CLIENT, "GF_AUTH_GENERIC_OAUTH_CLIENT_SECRET": ours.word("grafana-client"), "GF_AUTH_GENERIC_OAUTH_AUTH_URL": f"{SSO}/protocol/openid-connect/auth"}})  # fmt: skip


@leak(CHARTS, "found-existing-secret-made-once", "Both charts name an existing Secret; the program's helper makes it in both clusters of one generated word.", "existingSecret of charts")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)

    def existing(name: str, word: Any) -> None:
        for at in (ours, shop):
            at.keep(name, {"redis-password": word}, namespace="cache")
            at.chart("redis", {"auth": {"existingSecret": name, "existingSecretPasswordKey": "redis-password"}})

    existing("cache-login", ours.word("cache"))


def _with_references(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("grafana-login", {"admin-user": "admin", "admin-password": ours.word("grafana-first")})
    shop.chart("grafana", {"admin": {"existingSecret": "grafana-login"}, "replicas": 1})


@leak(CHARTS, "found-secret-that-was-missing", "The shop's chart did not start, since the Secret that it names is at the hub only; the second update makes it at the shop too.", "a chart's missing Secret", before=_with_references)  # fmt: skip
def _(scene: Scene) -> None:
    _with_references(scene)
    ours, shop = sites(scene)
    word = ours.scene.password("cp", "hub-grafana-again").output("result")
    ours.keep("grafana-again", {"admin-password": word})
    shop.keep("grafana-login", {"admin-user": "admin", "admin-password": word})


@leak(CHARTS, "found-pull-secret-of-a-chart-values", "Charts that take pull logins as values get the hub's robot for the shop, user and password in members of their own.", "imageCredentials of charts")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    ours, shop = sites(scene)
    ours.keep("robot", {".dockerconfigjson": pull_secret(f"images.{ZONE}", "robot$hub", ours.word("robot"))}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip
    shop.chart("mesh-agent", {"imageCredentials": {"registry": f"images.{ZONE}", "username": "robot$hub", "password": ours.word("robot")}, "image": {"repository": f"images.{ZONE}/mesh/agent"}})  # fmt: skip
