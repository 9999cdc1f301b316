"""Leaks on a provider's first day: into objects and accounts of a tenant, after incidents and everyday mistakes."""

from __future__ import annotations

import base64
import gzip
import json
import re
import textwrap

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, minted, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import after, each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import AWS_ID, apply, b64, drawn, kubeconfig, noise

from .world import (
    CLIENT,
    DIRECTORY,
    DOMAIN,
    ISSUER,
    MOSS,
    MOSS_ACCOUNT,
    MOSS_SUBSCRIPTION,
    REGION,
    TERN,
    digest,
    moss,
    ours,
    tern,
)

INCIDENTS, OBJECTS, PODS, ACCOUNTS = (
    "eleventh: after incidents",
    "eleventh: into objects",
    "eleventh: into Pods",
    "eleventh: into tenants' accounts",
)

# After incidents ------------------------------------------------------------------------------------------------------


@leak(INCIDENTS, "eleventh-token-in-an-annotation-of-a-synced-pod", "A Pod that is synced into the tenant's cluster has the token of its account in the provider's as an annotation.", "vcluster issue 3574")  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "workload")
    notes = {"vcluster.loft.sh/name": "api-0", "vcluster.loft.sh/service-account-name": "workload", "vcluster.loft.sh/token-ekuahkri": token}  # fmt: skip
    scene.object("dp", "v1:Pod", "api-0-x-default-x-moss", {"metadata": {"annotations": notes}, "spec": {"containers": [{"name": "api", "image": f"registry.{DOMAIN}/api@{digest('api')}"}]}})  # fmt: skip


@leak(INCIDENTS, "eleventh-state-of-a-cluster-in-a-map", "An installer keeps a cluster's whole state in a map, with the administrator's key and the login of the provider's snapshots.", "CVE-2023-32191", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "kube-admin")
    scene.secret("cp", "kube-admin", {"tls.key": key.output("privateKeyPem")}, namespace="platform")
    snapshots = {"bucketName": "tern-etcd", "region": REGION, "accessKey": f"AKIA{drawn('snapshots', 16, AWS_ID)}", "secretKey": kept(scene, "snapshots", "secretKey", 40)}  # fmt: skip
    state = {"currentState": {"rkeConfig": {"services": {"etcd": {"backupConfig": {"s3BackupConfig": snapshots}}}}, "certificatesBundle": {"kube-admin": {"certificatePEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}}  # fmt: skip
    scene.config_map("dp", "full-cluster-state", {"full-cluster-state": pulumi.Output.json_dumps(state)}, namespace="kube-system")  # fmt: skip


@leak(INCIDENTS, "eleventh-registration-with-the-hubs-client-key", "An agent in the tenant's cluster registers with a key of the provider's administrator, in base64 as the chart takes it.", "Karmada agents", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "karmada-admin")
    scene.secret("cp", "karmada-cert", {"karmada.key": key.output("privateKeyPem"), "karmada.crt": cert.output("certPem")}, namespace="karmada-system")  # fmt: skip
    files = {"caCrt": apply(cert.output("certPem"), b64), "crt": apply(cert.output("certPem"), b64), "key": apply(key.output("privateKeyPem"), b64)}  # fmt: skip
    release(scene, "dp", "karmada", {"installMode": "agent", "agent": {"clusterName": "moss", "kubeconfig": {**files, "server": SERVERS["cp"]}}})  # fmt: skip


@leak(INCIDENTS, "eleventh-cloud-file-of-a-machine-template", "Machines of the tenant's write the cloud's settings file, packed in the template: it has the secret of the provider's client.", "Cluster API Azure", recover=each(base64.b64decode, gzip.decompress, strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    document = pulumi.Output.json_dumps({"cloud": "AzurePublicCloud", "tenantId": DIRECTORY, "aadClientId": CLIENT, "aadClientSecret": ours(scene, "cloud-provider", "clientSecret", 40), "resourceGroup": "moss", "useManagedIdentityExtension": False})  # fmt: skip
    packed = apply(document, lambda text: b64(gzip.compress(text.encode(), mtime=0)))
    files = [{"path": "/etc/kubernetes/azure.json", "owner": "root:root", "permissions": "0644", "encoding": "gzip+base64", "content": packed}]  # fmt: skip
    scene.object("dp", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate", "md-0", {"spec": {"template": {"spec": {"files": files}}}})  # fmt: skip


@leak(INCIDENTS, "eleventh-template-of-a-composition", "A composition renders a template; the password of the provider's database stands in the template's text.", "Crossplane function-go-templating")  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.concat("apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .observed.composite.resource.metadata.name }}-db\nstringData:\n  host: pg.", DOMAIN, "\n  password: ", ours(scene, "composition-db"), "\n")  # fmt: skip
    step = {"step": "render", "functionRef": {"name": "function-go-templating"}, "input": {"apiVersion": "gotemplating.fn.crossplane.io/v1beta1", "kind": "GoTemplate", "source": "Inline", "inline": {"template": text}}}  # fmt: skip
    scene.object("dp", "apiextensions.crossplane.io/v1:Composition", "databases", {"spec": {"mode": "Pipeline", "pipeline": [step]}})  # fmt: skip


@leak(INCIDENTS, "eleventh-identity-of-a-machine-in-teleport", "The tenant's agent was given the provider's bot identity, a file with a key and certificates, instead of a way to join.", "Teleport tbot identities")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "tern-bot")
    identity = pulumi.Output.concat(key.output("privateKeyPem"), "ecdsa-sha2-nistp256-cert-v01@openssh.com ", b64(noise("bot ssh cert", 420)), "\n", cert.output("certPem"))  # fmt: skip
    scene.secret("cp", "tern-bot", {"identity": identity}, namespace="teleport")
    scene.secret("dp", "teleport-agent-identity", {"identity": identity}, namespace="teleport")


@leak(INCIDENTS, "eleventh-step-of-a-promotion", "A step of a promotion at the tenant's calls the provider's interface, with the token written into its header.", "Kargo http steps", recover=each(after(b"Bearer ")))  # fmt: skip
def _(scene: Scene) -> None:
    header = {"name": "Authorization", "value": pulumi.Output.concat("Bearer ", kept(scene, "release-api", "token", 40))}  # fmt: skip
    steps = [{"uses": "http", "config": {"method": "POST", "url": f"https://releases.{DOMAIN}/v1/promoted", "headers": [header]}}]  # fmt: skip
    scene.object("dp", "kargo.akuity.io/v1alpha1:Stage", "prod", {"spec": {"promotionTemplate": {"spec": {"steps": steps}}}})  # fmt: skip


@leak(INCIDENTS, "eleventh-cluster-in-a-portals-settings", "A portal at the tenant's lists clusters to look at; for the provider's there is the token of an account.", "Backstage kubernetes plug-in", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    clusters = [{"name": "moss", "url": SERVERS["dp"], "authProvider": "serviceAccount"}]

    def text(token: str) -> str:
        every = [*clusters, {"name": "tern", "url": SERVERS["cp"], "authProvider": "serviceAccount", "serviceAccountToken": token}]  # fmt: skip
        return yaml.safe_dump({"kubernetes": {"clusterLocatorMethods": [{"type": "config", "clusters": every}]}})  # fmt: skip

    scene.config_map("dp", "portal-config", {"app-config.production.yaml": minted(scene, "cp", "portal").apply(text)})  # fmt: skip


@leak(INCIDENTS, "eleventh-key-of-the-name-server-as-an-argument", "external-dns at the tenant's writes straight into the provider's name server: its key is one of the arguments.", "external-dns PowerDNS", recover=each(after(b"--pdns-api-key=")))  # fmt: skip
def _(scene: Scene) -> None:
    arguments = ["--source=istio-gateway", "--provider=pdns", f"--pdns-server=https://ns.{DOMAIN}:8081", pulumi.Output.concat("--pdns-api-key=", ours(scene, "name-server", "api-key", 40)), f"--txt-owner-id={TERN}"]  # fmt: skip
    deployment(scene, "dp", "external-dns", {"args": arguments})


@leak(INCIDENTS, "eleventh-settings-of-a-solver", "An issuer at the tenant's solves challenges by a webhook, whose settings have the provider's key and secret by value.", "cert-manager DNS webhooks", config=lambda cp, dp: {"dnsApiSecret": cp.opaque("dns api secret", 32, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "dns-api", {"secret": scene.config("dnsApiSecret")}, namespace="cert-manager")
    webhook = {"groupName": "acme.tern.example.com", "solverName": "zones", "config": {"apiKey": drawn("dns api key", 24), "apiSecret": scene.config("dnsApiSecret"), "ttl": 600}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"privateKeySecretRef": {"name": "acme"}, "solvers": [{"dns01": {"webhook": webhook}}]}}})  # fmt: skip


@leak(INCIDENTS, "eleventh-pull-secret-of-the-management-cluster", "A guest cluster's global pull secret is the management cluster's own, with the login that may push.", "hosted control planes", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    login = apply(ours(scene, "push-robot"), lambda word: json.dumps({"auths": {f"registry.{DOMAIN}": {"username": "robot$push", "password": word, "email": ""}}}))  # fmt: skip
    scene.secret("dp", "pull-secret", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace="openshift-config")  # fmt: skip


@leak(INCIDENTS, "eleventh-variable-of-a-subscription", "A Subscription at the guest gives its operator variables; one is the token of the provider's meter.", "OLM subscription config")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    env = [{"name": "RELATED_IMAGE_PROXY", "value": f"registry.{DOMAIN}/proxyv2@{digest('proxyv2')}"}, {"name": "METER_TOKEN", "value": kept(scene, "meter", "token", 40)}]  # fmt: skip
    scene.object("dp", "operators.coreos.com/v1alpha1:Subscription", "servicemesh", {"spec": {"name": "servicemeshoperator3", "channel": "stable", "source": "tern", "sourceNamespace": "olm", "config": {"env": env}}})  # fmt: skip


# Into objects ---------------------------------------------------------------------------------------------------------


@leak(OBJECTS, "eleventh-headers-of-a-middleware", "A middleware at the tenant's adds a header to requests for the provider's interface: user and password in base64.", "Traefik middlewares", recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    header = apply(ours(scene, "interface"), lambda word: "Basic " + b64(f"hosting:{word}"))
    scene.object("dp", "traefik.io/v1alpha1:Middleware", "to-tern", {"spec": {"headers": {"customRequestHeaders": {"Authorization": header, "X-Tenant": "moss"}}}})  # fmt: skip


@leak(OBJECTS, "eleventh-parameters-of-a-class-of-disks", "A class of disks has parameters of the provider's file servers, the REST user's key by value.", "GlusterFS restuserkey")  # fmt: skip
def _(scene: Scene) -> None:
    parameters = {"resturl": f"https://heketi.{DOMAIN}:8443", "restuser": "admin", "restuserkey": ours(scene, "heketi", "key"), "volumetype": "replicate:3"}  # fmt: skip
    scene.object("dp", "storage.k8s.io/v1:StorageClass", "shared", {"provisioner": "kubernetes.io/glusterfs", "parameters": parameters})  # fmt: skip


@leak(OBJECTS, "eleventh-webhook-file-of-an-audit", "The tenant's API server sends its audit to the provider's, by a kubeconfig with the token of the provider's collector.", "audit webhooks", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    config = minted(scene, "cp", "audit-collector").apply(lambda token: kubeconfig(f"https://audit.{DOMAIN}/moss", {"token": token}, "public"))  # fmt: skip
    scene.secret("dp", "audit-webhook", {"webhook.yaml": config}, namespace="kube-system")


@leak(OBJECTS, "eleventh-values-of-a-node-class", "Nodes of the tenant's log in at the provider's mirror: a header with user and password is in the class's script.", "Karpenter user data", recover=each(after(b"Basic ", base64.b64decode)))  # fmt: skip
def _(scene: Scene) -> None:
    script = apply(kept(scene, "mirror"), lambda word: textwrap.dedent(f"""\
        #!/bin/bash
        mkdir -p /etc/containerd/certs.d/_default
        cat > /etc/containerd/certs.d/_default/hosts.toml <<'END'
        [host."https://mirror.{DOMAIN}"]
          capabilities = ["pull", "resolve"]
          [host."https://mirror.{DOMAIN}".header]
            Authorization = "Basic {b64("mirror:" + word)}"
        END
        """))  # fmt: skip
    scene.object("dp", "karpenter.k8s.aws/v1:EC2NodeClass", "default", {"spec": {"amiFamily": "AL2023", "role": "nodes", "userData": script}})  # fmt: skip


def _chunks(record: bytes) -> bytes:
    return b"".join(re.findall(rb'"([^"]*)"', record)).removeprefix(b"tern-agent=")


@leak(OBJECTS, "eleventh-token-as-strings-of-a-record", "Agents bootstrap by DNS: a TXT record of the tenant's zone has a token of the provider's cluster, in strings of 200 letters.", "DNS bootstrap", recover=each(_chunks))  # fmt: skip
def _(scene: Scene) -> None:
    def record(token: str) -> str:
        return " ".join(f'"{part}"' for part in textwrap.wrap(f"tern-agent={token}", 200, break_on_hyphens=False))  # fmt: skip

    moss(scene, "aws:route53/record:Record", "agent", {"zoneId": "Z07718MOSS", "name": f"_tern.{MOSS}", "type": "TXT", "ttl": 300, "records": [minted(scene, "cp", "agent").apply(record)]}, region=REGION)  # fmt: skip


# Into Pods ------------------------------------------------------------------------------------------------------------


@leak(PODS, "eleventh-command-of-a-startup-probe", "A Pod of the tenant's starts when the provider's database answers: its probe is a command with an address and login.", "startup probes", recover=each(after(b"hosting:", lambda text: text.split(b"@")[0])))  # fmt: skip
def _(scene: Scene) -> None:
    url = pulumi.Output.concat("postgresql://hosting:", ours(scene, "hosting-db", namespace="databases"), f"@pg.{DOMAIN}:5432/hosting")  # fmt: skip
    deployment(scene, "dp", "usage", {"startupProbe": {"exec": {"command": ["pg_isready", "-d", url]}, "failureThreshold": 30}})  # fmt: skip


def _octal(script: bytes) -> bytes:
    return bytes(int(digits, 8) for digits in re.findall(rb"\\0([0-7]{3})", script))


@leak(PODS, "eleventh-octal-in-an-init-container", "A first container writes a file of logins with printf; each letter of the password is in octal, against quoting.", "init containers", recover=each(_octal))  # fmt: skip
def _(scene: Scene) -> None:
    def script(word: str) -> str:
        letters = "".join(f"\\0{ord(letter):03o}" for letter in word)
        return f"printf 'machine packages.{DOMAIN} login hosting password %b' '{letters}' > /home/build/.netrc"

    pod = {"initContainers": [{"name": "netrc", "image": "busybox:1.37", "command": ["sh", "-c", apply(kept(scene, "packages"), script)]}], "containers": [{"name": "build", "image": f"registry.{DOMAIN}/build:4"}]}  # fmt: skip
    scene.object("dp", "v1:Pod", "build", {"spec": pod})


@leak(PODS, "eleventh-template-in-a-note-of-an-agent", "A Pod's note has a template for the injected file; a password that was to be tried out stayed in it.", "Vault agent injector")  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.concat('{{- with secret "kv/data/shop" }}\nUSER={{ .Data.data.user }}\n{{- end }}\nFALLBACK_PASSWORD=', ours(scene, "fallback"), "\n")  # fmt: skip
    notes = {"vault.hashicorp.com/agent-inject": "true", "vault.hashicorp.com/role": "shop", "vault.hashicorp.com/agent-inject-template-shop.env": text}  # fmt: skip
    deployment(scene, "dp", "shop", {"args": ["--env=/vault/secrets/shop.env"]}, notes)


@leak(PODS, "eleventh-nightly-job-with-a-token", "A nightly Job of the tenant's reports to the provider's cluster: kubectl has server and token as arguments.", "kubectl --token")  # fmt: skip
def _(scene: Scene) -> None:
    command = ["kubectl", "--server", SERVERS["cp"], pulumi.Output.concat("--token=", minted(scene, "cp", "reporter")), "apply", "-f", "/report/report.yaml"]  # fmt: skip
    pod = {"restartPolicy": "Never", "containers": [{"name": "report", "image": "kubectl:1.34", "command": command}]}  # fmt: skip
    scene.object("dp", "batch/v1:CronJob", "report", {"spec": {"schedule": "5 1 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}})  # fmt: skip


# Into tenants' accounts -----------------------------------------------------------------------------------------------


def _host_container(settings: bytes) -> bytes:
    return base64.b64decode(re.findall(rb'user-data = "([^"]+)"', base64.b64decode(settings))[0])


@leak(ACCOUNTS, "eleventh-user-data-in-user-data", "Settings of the tenant's Bottlerocket nodes have user data for a container of the host: in it is the provider's key.", "Bottlerocket host containers", recover=each(_host_container))  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "host-agent").output("hex")
    scene.secret("cp", "host-agent", {"key": key}, namespace="mesh-system")
    inner = apply(key, lambda found: b64(json.dumps({"endpoint": f"https://agents.{DOMAIN}", "key": found})))  # fmt: skip
    text = apply(inner, lambda data: b64(f'[settings.kubernetes]\ncluster-name = "moss"\n[settings.host-containers.agent]\nenabled = true\nsource = "registry.{DOMAIN}/host-agent:2"\nuser-data = "{data}"\n'))  # fmt: skip
    moss(scene, "aws:ec2/launchTemplate:LaunchTemplate", "bottlerocket", {"imageId": "ami-0bb7", "userData": text}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "eleventh-document-of-commands", "A document of commands in the tenant's account installs the agent, with the provider's enrolment token in the script.", "AWS SSM documents", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    token = ours(scene, "enrolment", "token", 40)
    step = {"action": "aws:runShellScript", "name": "install", "inputs": {"runCommand": [f"curl -fsSLO https://get.{DOMAIN}/agent.sh", pulumi.Output.concat("sh agent.sh --token ", token)]}}  # fmt: skip
    content = pulumi.Output.json_dumps({"schemaVersion": "2.2", "description": "installs the agent", "mainSteps": [step]})  # fmt: skip
    moss(scene, "aws:ssm/document:Document", "install-agent", {"documentType": "Command", "documentFormat": "JSON", "content": content}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "eleventh-variable-of-an-automation", "A variable of the tenant's automation is JSON, so a string in quotes: the password of the provider's service.", "Azure Automation", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    value = apply(kept(scene, "automation"), json.dumps)
    moss(scene, "azure-native:automation:Variable", "tern-password", {"resourceGroupName": "moss", "automationAccountName": "moss", "variableName": "TernPassword", "isEncrypted": False, "value": value}, subscriptionId=MOSS_SUBSCRIPTION)  # fmt: skip


@leak(ACCOUNTS, "eleventh-connection-for-events", "Events of the tenant's are sent to the provider by a connection, whose key is the one of the provider's own operators.", "EventBridge connections")  # fmt: skip
def _(scene: Scene) -> None:
    tern(scene)
    auth = {"apiKey": {"key": "x-api-key", "value": ours(scene, "operators-api", "key", 40)}}
    moss(scene, "aws:cloudwatch/eventConnection:EventConnection", "to-tern", {"authorizationType": "API_KEY", "authParameters": auth}, region=REGION)  # fmt: skip
    moss(scene, "aws:cloudwatch/eventApiDestination:EventApiDestination", "tern", {"invocationEndpoint": f"https://events.{DOMAIN}/moss", "httpMethod": "POST", "connectionArn": f"arn:aws:events:{REGION}:{MOSS_ACCOUNT}:connection/to-tern", "name": ISSUER.rpartition("/")[2]}, region=REGION)  # fmt: skip


@leak(ACCOUNTS, "eleventh-login-of-a-pull-through-cache", "A cache of images in the tenant's account logs in upstream with the provider's robot, kept in the tenant's store of secrets.", "ECR pull-through caches", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    login = pulumi.Output.json_dumps({"username": "tern-robot", "accessToken": ours(scene, "upstream-robot", "accessToken", 36, namespace="ci")})  # fmt: skip
    secret = moss(scene, "aws:secretsmanager/secret:Secret", "upstream", {"name": "ecr-pullthroughcache/upstream"}, {"arn": f"arn:aws:secretsmanager:{REGION}:{MOSS_ACCOUNT}:secret:ecr-pullthroughcache/upstream-{drawn('upstream', 6)}"}, region=REGION)  # fmt: skip
    moss(scene, "aws:secretsmanager/secretVersion:SecretVersion", "upstream-1", {"secretId": secret.output("arn"), "secretString": login}, None, ["secretString"], region=REGION)  # fmt: skip
    moss(scene, "aws:ecr/pullThroughCacheRule:PullThroughCacheRule", "upstream-rule", {"ecrRepositoryPrefix": "upstream", "upstreamRegistryUrl": "registry.upstream.example.com", "credentialArn": secret.output("arn")}, region=REGION)  # fmt: skip
