"""Leaks of a provider in many clouds: into services, accounts and clusters of a tenant, by everyday resources."""

from __future__ import annotations

import base64
import gzip
import json

import pulumi
import yaml

from tests.corpus.strangers.credentials import issued, kept, minted, pair, raw
from tests.corpus.strangers.objects import release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, uid

from .world import (
    CLIENT,
    DOMAIN,
    ISSUER,
    LIME,
    LIME_PROJECT,
    LIME_SUBSCRIPTION,
    REGION,
    WREN,
    digest,
    hosted,
    lime,
    wren,
)

SERVICES, MACHINES, CLUSTERS, CARRIED = (
    "twelfth: into services of a tenant",
    "twelfth: into machines and functions",
    "twelfth: into objects and charts",
    "twelfth: carried by a hub",
)

# Into services of a tenant --------------------------------------------------------------------------------------------


@leak(SERVICES, "twelfth-binding-of-a-worker", "A worker in the tenant's account asks the provider's interface; its binding is plain text with the provider's token.", "Cloudflare Workers plain_text")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    bindings = [{"type": "plain_text", "name": "MESH", "text": WREN}, {"type": "plain_text", "name": "API_TOKEN", "text": hosted(scene, "mesh-api", "token", 40)}]  # fmt: skip
    lime(scene, "cloudflare:index/workersScript:WorkersScript", "status", {"accountId": drawn("lime cf account", 32, HEX), "scriptName": "status", "content": "export default { fetch: (r, env) => fetch(env.API, { headers: { authorization: env.API_TOKEN } }) }", "bindings": bindings})  # fmt: skip


@leak(SERVICES, "twelfth-variable-of-the-tenants-repository", "The tenant's workflows push images by a variable of the repository, a plain one, with the robot of the provider's registry.", "GitHub Actions variables")  # fmt: skip
def _(scene: Scene) -> None:
    opts = scene.package("github", "lime-github", owner="dp")
    scene.made("github:index/actionsVariable:ActionsVariable", "registry", {"repository": "shop", "variableName": "REGISTRY_PASSWORD", "value": kept(scene, "registry-robot")}, opts)  # fmt: skip


@leak(SERVICES, "twelfth-kubeconfig-for-the-tenants-pipeline", "A file variable of the tenant's GitLab group is the provider's kubeconfig, since the pipeline once deployed there.", "GitLab CI file variables", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("pipeline", "kubeconfig", scene.cp.kubeconfig("pipeline", SERVERS["cp"]))
    lime(scene, "gitlab:index/groupVariable:GroupVariable", "kubeconfig", {"group": "lime", "key": "KUBECONFIG", "value": held, "variableType": "file", "protected": True, "masked": False}, baseUrl=f"https://git.{LIME}")  # fmt: skip


@leak(SERVICES, "twelfth-test-of-a-browser-vendor", "The tenant's monitoring vendor asks the provider's interface every minute, with user and password of the provider's in the test.", "Datadog synthetics")  # fmt: skip
def _(scene: Scene) -> None:
    basic = {"type": "web", "username": "probe", "password": hosted(scene, "probe", namespace="edge")}
    lime(scene, "datadog:index/syntheticsTest:SyntheticsTest", "api", {"name": "api of wren", "type": "api", "subtype": "http", "status": "live", "locations": ["aws:eu-north-1"], "requestDefinition": {"method": "GET", "url": f"https://api.{DOMAIN}/healthz"}, "requestBasicauth": basic, "assertions": [{"type": "statusCode", "operator": "is", "target": "200"}]})  # fmt: skip


@leak(SERVICES, "twelfth-source-of-the-tenants-grafana", "The tenant's Grafana gets a source of data, with the provider's writer of metrics as its password.", "Grafana data sources", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    secure = pulumi.Output.json_dumps({"basicAuthPassword": hosted(scene, "metrics-writer", namespace="monitoring")})
    lime(scene, "grafana:oss/dataSource:DataSource", "wren", {"type": "prometheus", "name": "wren", "url": f"https://metrics.{DOMAIN}", "basicAuthEnabled": True, "basicAuthUsername": "writer", "secureJsonDataEncoded": secure}, None, ["secureJsonDataEncoded"], url=f"https://grafana.{LIME}")  # fmt: skip


@leak(SERVICES, "twelfth-client-of-the-console-in-a-tenants-realm", "The tenant's realm lets people in by the provider's: its client is the console's own, with the secret that the console has.", "Keycloak identity providers")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    lime(scene, "keycloak:oidc/identityProvider:IdentityProvider", "wren", {"realm": "lime", "alias": "wren", "authorizationUrl": f"{ISSUER}/protocol/openid-connect/auth", "tokenUrl": f"{ISSUER}/protocol/openid-connect/token", "clientId": CLIENT, "clientSecret": hosted(scene, "console-client", "clientSecret", 36, namespace="console")}, None, ["clientSecret"], url=f"https://id.{LIME}")  # fmt: skip


@leak(SERVICES, "twelfth-secrets-of-an-action-after-login", "An action after the login in the tenant's Auth0 tells the provider's directory, by a client secret among the action's secrets.", "Auth0 actions")  # fmt: skip
def _(scene: Scene) -> None:
    lime(scene, "auth0:index/action:Action", "tell", {"name": "tell", "code": "exports.onExecutePostLogin = async (e, api) => {}", "deploy": True, "supportedTriggers": {"id": "post-login", "version": "v3"}, "secrets": [{"name": "DIRECTORY", "value": f"https://dir.{DOMAIN}"}, {"name": "DIRECTORY_SECRET", "value": kept(scene, "directory", "clientSecret", 48)}]}, domain="lime.eu.auth0.com")  # fmt: skip


@leak(SERVICES, "twelfth-user-mapping-to-the-providers-database", "The tenant's database has a foreign server: the mapping of its user has the password of the provider's database.", "postgres_fdw user mappings")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    word = hosted(scene, "usage-reader", namespace="databases")
    lime(scene, "postgresql:index/server:Server", "usage", {"serverName": "usage", "fdwName": "postgres_fdw", "options": {"host": f"pg.{DOMAIN}", "dbname": "usage"}}, host=f"pg.{LIME}", username="postgres")  # fmt: skip
    lime(scene, "postgresql:index/userMapping:UserMapping", "usage-app", {"serverName": "usage", "userName": "app", "options": {"user": "usage_reader", "password": word}})  # fmt: skip


@leak(SERVICES, "twelfth-replica-that-logs-in-upstream", "A command on the tenant's database host makes it a replica of the provider's, with the replication password in the statement.", "MySQL replication", recover=each(after(b"SOURCE_PASSWORD='")))  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "replication", namespace="databases")
    statement = pulumi.Output.concat(f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='mysql.{DOMAIN}', SOURCE_USER='repl', SOURCE_PASSWORD='", word, "', SOURCE_SSL=1; START REPLICA;")  # fmt: skip
    lime(scene, "command:remote:Command", "replicate", {"connection": {"host": f"mysql.{LIME}", "user": "root"}, "create": pulumi.Output.concat('mysql -e "', statement, '"')})  # fmt: skip


@leak(SERVICES, "twelfth-integration-of-the-tenants-atlas", "The tenant's Atlas project sends its metrics on, by the key of the provider's own vendor account.", "MongoDB Atlas third-party integrations")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    lime(scene, "mongodbatlas:index/thirdPartyIntegration:ThirdPartyIntegration", "metrics", {"projectId": drawn("lime atlas project", 24, HEX), "type": "DATADOG", "region": "EU", "apiKey": kept(scene, "datadog-org", "apiKey", 32, HEX)}, None, ["apiKey"], publicKey=drawn("lime atlas public", 8))  # fmt: skip


# Into machines and functions ------------------------------------------------------------------------------------------


def _cloud_config(text: bytes) -> bytes:
    files = yaml.safe_load(gzip.decompress(base64.b64decode(text)))["write_files"]
    return base64.b64decode(files[0]["content"])


@leak(MACHINES, "twelfth-first-script-of-a-machine", "A machine of the tenant's joins the provider's cluster: its first script is packed, with a file in base64 that has the token.", "cloud-init", recover=each(_cloud_config))  # fmt: skip
def _(scene: Scene) -> None:
    def script(token: str) -> str:
        config = f"server: https://api.{DOMAIN}:9345\ntoken: {token}\n"
        text = yaml.safe_dump({"write_files": [{"path": "/etc/rancher/rke2/config.yaml", "encoding": "b64", "content": b64(config)}]})  # fmt: skip
        return b64(gzip.compress(f"#cloud-config\n{text}".encode(), mtime=0))

    lime(scene, "hcloud:index/server:Server", "worker", {"serverType": "cax31", "image": "debian-13", "userData": apply(hosted(scene, "rke2-server", "token", 48), script)})  # fmt: skip


@leak(MACHINES, "twelfth-variable-of-an-app", "The tenant's app has variables in its spec, and one of them, of no special kind, is the password of the provider's queue.", "DigitalOcean App Platform")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    url = pulumi.Output.concat("amqps://hosting:", hosted(scene, "queue"), f"@queue.{DOMAIN}:5671/usage")
    lime(scene, "digitalocean:index/app:App", "usage", {"spec": {"name": "usage", "region": "ams", "services": [{"name": "usage", "image": {"registryType": "GHCR", "repository": "usage", "digest": digest("usage")}, "envs": [{"key": "QUEUE_URL", "scope": "RUN_TIME", "type": "GENERAL", "value": url}]}]}})  # fmt: skip


@leak(MACHINES, "twelfth-secret-variables-of-a-function", "A function in the tenant's project of Scaleway has the provider's signing secret for hooks among its secret variables.", "Scaleway functions")  # fmt: skip
def _(scene: Scene) -> None:
    secret = raw(scene, "cp", "hook-signing").output("hex")
    scene.secret("cp", "hook-signing", {"secret": secret}, namespace="edge")
    lime(scene, "scaleway:functions/function:Function", "hook", {"namespaceId": f"fr-par/{uid('scw namespace')}", "runtime": "python313", "handler": "hook.handle", "privacy": "public", "secretEnvironmentVariables": {"SIGNING_SECRET": secret}}, None, ["secretEnvironmentVariables"], projectId=uid("lime scw"))  # fmt: skip


@leak(MACHINES, "twelfth-boot-by-an-address-with-a-login", "A bare machine of the tenant's boots over the network, from an address that has user and password of the provider's images.", "Equinix Metal iPXE", recover=each(after(b"https://boot:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    url = pulumi.Output.concat("https://boot:", kept(scene, "boot-images"), f"@images.{DOMAIN}/mesh.ipxe")
    lime(scene, "equinix:metal/device:Device", "edge-1", {"hostname": "edge-1", "plan": "c3.small.x86", "metro": "sk", "operatingSystem": "custom_ipxe", "alwaysPxe": False, "ipxeScriptUrl": url, "projectId": uid("lime metal")})  # fmt: skip


@leak(MACHINES, "twelfth-header-of-a-timed-call", "A timer in the tenant's project calls the provider's interface each night: its header has the provider's token, and its body is in base64.", "Cloud Scheduler")  # fmt: skip
def _(scene: Scene) -> None:
    target = {"httpMethod": "POST", "uri": f"https://api.{DOMAIN}/v1/reports", "body": b64('{"tenant":"lime"}'), "headers": {"Content-Type": "application/json", "X-Api-Key": hosted(scene, "reports-api", "key", 40)}}  # fmt: skip
    lime(scene, "gcp:cloudscheduler/job:Job", "report", {"schedule": "10 2 * * *", "timeZone": "UTC", "httpTarget": target}, project=LIME_PROJECT)  # fmt: skip


@leak(MACHINES, "twelfth-variable-of-a-build", "A build project in the tenant's account has the provider's package token as a variable in plain text.", "AWS CodeBuild")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    variables = [{"name": "MESH", "value": WREN}, {"name": "NPM_TOKEN", "type": "PLAINTEXT", "value": pulumi.Output.concat("npm_", kept(scene, "npm", "token", 36))}]  # fmt: skip
    lime(scene, "aws:codebuild/project:Project", "portal", {"serviceRole": "arn:aws:iam::164980237715:role/build", "artifacts": {"type": "NO_ARTIFACTS"}, "environment": {"type": "LINUX_CONTAINER", "computeType": "BUILD_GENERAL1_SMALL", "image": "aws/codebuild/standard:7.0", "environmentVariables": variables}, "source": {"type": "GITHUB", "location": "https://git.example.org/lime/portal.git"}}, region=REGION)  # fmt: skip


@leak(MACHINES, "twelfth-secure-value-of-a-container-group", "A group of containers in the tenant's subscription has an agent, whose secure variable is the connection of the provider's store.", "Azure container groups", recover=each(after(b"AccountKey=")))  # fmt: skip
def _(scene: Scene) -> None:
    connection = pulumi.Output.concat("DefaultEndpointsProtocol=https;AccountName=wrenusage;AccountKey=", raw(scene, "cp", "storage-key", 64).output("base64"), ";EndpointSuffix=core.windows.net")  # fmt: skip
    scene.secret("cp", "usage-store", {"connection": connection}, namespace="billing")
    container = {"name": "agent", "image": f"registry.{DOMAIN}/agent@{digest('agent')}", "environmentVariables": [{"name": "USAGE_STORE", "secureValue": connection}], "resources": {"requests": {"cpu": 0.5, "memoryInGB": 1}}}  # fmt: skip
    lime(scene, "azure-native:containerinstance:ContainerGroup", "agent", {"resourceGroupName": "lime", "osType": "Linux", "containers": [container]}, subscriptionId=LIME_SUBSCRIPTION)  # fmt: skip


# Into objects and charts ----------------------------------------------------------------------------------------------


@leak(CLUSTERS, "twelfth-store-that-is-called-fake", "A store for trying out holds its values in the object itself; the provider's password of the real store was tried out at the tenant's.", "External Secrets fake provider")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    data = [{"key": "/orders/db", "version": "v1", "value": "not-yet"}, {"key": "/mesh/db", "version": "v1", "value": hosted(scene, "mesh-db")}]  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:ClusterSecretStore", "try-out", {"spec": {"provider": {"fake": {"data": data}}}})  # fmt: skip


@leak(CLUSTERS, "twelfth-issuer-with-the-providers-root", "Linkerd at the tenant's signs by the provider's own anchor: its key is the issuer's in the chart's values.", "Linkerd identity")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "linkerd-root", authority=True)
    scene.secret("cp", "linkerd-root", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="linkerd")  # fmt: skip
    release(scene, "dp", "linkerd-control-plane", {"identityTrustAnchorsPEM": cert.output("certPem"), "identity": {"issuer": {"tls": {"crtPEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}})  # fmt: skip


@leak(CLUSTERS, "twelfth-federation-secret-of-the-primary", "The tenant's Consul becomes a secondary of the provider's by one Secret: gossip key, replication token and the authority's key.", "Consul WAN federation")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    ca_key, ca_cert = pair(scene, "cp", "consul-ca", authority=True)
    gossip = raw(scene, "cp", "consul-primary-gossip").output("base64")
    scene.secret(
        "cp", "consul-primary", {"gossip": gossip, "caKey": ca_key.output("privateKeyPem")}, namespace="consul"
    )
    data = {"caCert": ca_cert.output("certPem"), "caKey": ca_key.output("privateKeyPem"), "gossipEncryptionKey": gossip, "serverConfigJSON": '{"primary_datacenter":"wren-eu"}'}  # fmt: skip
    scene.secret("dp", "consul-federation", data, namespace="consul")


@leak(CLUSTERS, "twelfth-broker-of-the-providers-cluster", "The tenant's cluster joins a broker in the provider's: the chart has the token of the broker's administrator and the shared key of all tunnels.", "Submariner broker")  # fmt: skip
def _(scene: Scene) -> None:
    psk = raw(scene, "cp", "tunnels-psk", 48).output("base64")
    scene.secret("cp", "tunnels-psk", {"psk": psk}, namespace="submariner-k8s-broker")
    release(scene, "dp", "submariner", {"broker": {"server": f"api.{DOMAIN}:6443", "token": minted(scene, "cp", "broker-admin"), "namespace": "submariner-k8s-broker"}, "ipsec": {"psk": psk}, "submariner": {"clusterId": "lime"}})  # fmt: skip


@leak(CLUSTERS, "twelfth-mesh-key-of-the-providers-cilium", "The provider's and the tenant's networks are joined; the tenant's agents log in to the provider's etcd by its administrator's certificate.", "Cilium cluster mesh")  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "clustermesh-ca", authority=True)
    scene.secret("cp", "clustermesh-ca", {"ca.key": ca_key.output("privateKeyPem")}, namespace="kube-system")
    key, cert = issued(scene, "cp", "clustermesh-admin", ca_key, ca_cert, "clustermesh-ca")
    scene.secret("cp", "clustermesh-admin", {"tls.key": key.output("privateKeyPem")}, namespace="kube-system")
    etcd = yaml.safe_dump({"endpoints": [f"https://etcd.{DOMAIN}:2379"], "key-file": "/var/lib/cilium/clustermesh/wren.etcd-client.key"})  # fmt: skip
    scene.secret("dp", "cilium-clustermesh", {"wren": etcd, "wren.etcd-client.key": key.output("privateKeyPem"), "wren.etcd-client.crt": cert.output("certPem"), "wren.etcd-client-ca.crt": ca_cert.output("certPem")}, namespace="kube-system")  # fmt: skip


@leak(CLUSTERS, "twelfth-remote-secret-in-both-directions", "Remote secrets are made for each pair of clusters, both ways: so the tenant's cluster gets one that reads the provider's.", "Istio multi-primary", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    tokens = {"cp": minted(scene, "cp", "istio-reader"), "dp": minted(scene, "dp", "istio-reader")}
    for here, there in (("cp", "dp"), ("dp", "cp")):
        config = apply(tokens[there], lambda token, there=there: kubeconfig(SERVERS[there], {"token": token}, "public"))
        scene.secret(here, f"istio-remote-secret-{there}", {there: config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@leak(CLUSTERS, "twelfth-private-numbers-in-a-key-set", "The inline key set for checking callers' tokens is the signer's whole JWK: its private number came along.", "JWKS with private members", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    whole = scene.cp.jwk("caller-signer", private=True)
    held = scene.held("caller-signer", "jwk.json", json.dumps(whole))
    rules = [{"issuer": ISSUER, "jwks": apply(held, lambda text: json.dumps({"keys": [json.loads(text)]}))}]
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "callers", {"spec": {"jwtRules": rules}})


@leak(CLUSTERS, "twelfth-inline-secret-of-a-proxy", "A filter for the tenant's gateways logs in at the provider's issuer: client secret and signing key for cookies stand inline in base64.", "Envoy OAuth2 generic secrets", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    inline = {"name": "token", "generic_secret": {"secret": {"inline_bytes": apply(hosted(scene, "gateway-client", "clientSecret", 40, namespace="login"), b64)}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "oauth2", {"spec": {"configPatches": [{"applyTo": "BOOTSTRAP", "patch": {"operation": "MERGE", "value": {"static_resources": {"secrets": [inline]}}}}]}})  # fmt: skip


@leak(CLUSTERS, "twelfth-password-in-a-triggers-metadata", "The tenant's scaler watches the provider's queue; the trigger's metadata has the address with its password.", "KEDA trigger metadata", recover=each(after(b"amqp://scaler:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    host = pulumi.Output.concat("amqp://scaler:", kept(scene, "queue-scaler"), f"@queue.{DOMAIN}:5672/lime")
    scene.object("dp", "keda.sh/v1alpha1:ScaledObject", "usage", {"spec": {"scaleTargetRef": {"name": "usage"}, "triggers": [{"type": "rabbitmq", "metadata": {"host": host, "queueName": "usage", "mode": "QueueLength", "value": "20"}}]}})  # fmt: skip


@leak(CLUSTERS, "twelfth-last-applied-in-an-annotation", "A Secret is copied to the tenant's with other data, but with all annotations: the last one that kubectl wrote has the provider's data.", "last-applied-configuration", recover=each(strings_of_json, lambda text: b"\n".join(base64.b64decode(line) for line in text.splitlines() if len(line) == 44)))  # fmt: skip
def _(scene: Scene) -> None:
    last = apply(hosted(scene, "bridge", "token"), lambda word: json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bridge"}, "data": {"token": b64(word)}}))  # fmt: skip
    scene.secret("dp", "bridge-of-lime", {"token": scene.dp.opaque("lime bridge", 32)}, annotations={"kubectl.kubernetes.io/last-applied-configuration": last})  # fmt: skip


# Carried by a hub -----------------------------------------------------------------------------------------------------


@leak(CARRIED, "twelfth-manifest-work-with-a-secret", "A ManifestWork of the provider's hub has a Secret for the tenant's cluster among its manifests: in it is the provider's token.", "Open Cluster Management")  # fmt: skip
def _(scene: Scene) -> None:
    wren(scene)
    scene.stage.delivered.add("cp-lime-agent")
    manifests = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "agent"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "agent", "namespace": "agent"}, "stringData": {"token": hosted(scene, "agent-api", "token", 40)}}]  # fmt: skip
    scene.object("cp", "work.open-cluster-management.io/v1:ManifestWork", "lime-agent", {"metadata": {"namespace": "lime"}, "spec": {"workload": {"manifests": manifests}}})  # fmt: skip


@leak(CARRIED, "twelfth-values-for-a-chart-at-a-workload-cluster", "Cluster API's charts proxy installs an agent in the tenant's cluster, by a template of values with the provider's password.", "CAPI add-on provider Helm", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-agent")
    values = apply(hosted(scene, "telemetry-writer"), lambda word: yaml.safe_dump({"output": {"url": f"https://logs.{DOMAIN}", "user": "writer", "password": word}}))  # fmt: skip
    scene.object("cp", "addons.cluster.x-k8s.io/v1alpha1:HelmChartProxy", "agent", {"metadata": {"namespace": "fleet"}, "spec": {"clusterSelector": {"matchLabels": {"tenant": "lime"}}, "repoURL": f"https://charts.{DOMAIN}", "chartName": "agent", "valuesTemplate": values}})  # fmt: skip
