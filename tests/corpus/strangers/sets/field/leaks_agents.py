"""Leaks from the field: agents that join the provider's cluster, and logins for what stands there."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import minted
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Recover, as_written, each, strings_of_json
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import apply, b64, kubeconfig, noise, uid

JOIN, PUSH, BOOT, CLOUDS = (
    "agents that join the provider",
    "agents that push to the provider",
    "machines' first start",
    "what clouds make for the provider",
)
Source = Callable[[Scene], Any]
Sink = Callable[[Scene, Any], Any]

# Where the provider's secret comes from -------------------------------------------------------------------------------


def generated(scene: Scene) -> Any:
    value = scene.password("cp", "hub").output("result")
    scene.secret("cp", "hub", {"password": value})
    return value


def read(scene: Scene) -> Any:
    """Of a Secret that an operator keeps in the provider's cluster."""
    text = scene.cp.opaque("hub", 36, LETTERS)
    found = scene.existing("cp", "v1:Secret", "hub", data={"token": b64(text)})
    return found.output("data").apply(lambda data: base64.b64decode(data["token"]).decode())


def pasted(scene: Scene) -> Any:
    text = scene.cp.opaque("hub", 36, LETTERS)
    scene.secret("cp", "hub", {"token": pulumi.Output.secret(text)})
    return text


def stacked(scene: Scene) -> Any:
    """A member of another stack's output, as programs take it."""
    outputs = {"hub": {"url": "https://hub.platform.example.com", "token": scene.cp.opaque("hub", 36, LETTERS)}}
    other = scene.reference("platform", "organization/platform/prod", outputs, ["hub"])
    return other.require_output("hub")["token"]


def account(scene: Scene) -> Any:
    return minted(scene, "cp", "joiner")


def configured(scene: Scene) -> Any:
    """Secret configuration, which the provider's chart has too."""
    value = scene.config("mesh:hub")
    release(scene, "cp", "hub", {"auth": {"enabled": True, "agentToken": value}, "replicaCount": 2})
    return value


def bytes_of(scene: Scene) -> Any:
    raw = scene.cp.raw("hub", 32)
    scene.cp.given += [b64(raw)]
    made = scene.made(
        "random:index/randomBytes:RandomBytes", "hub", {"length": 32}, None, {"base64": b64(raw), "hex": raw.hex()}, ["base64", "hex"]
    )  # fmt: skip
    scene.secret("cp", "hub", {"key": made.output("base64")})
    return made.output("base64")


def commanded(scene: Scene) -> Any:
    """What a command prints, which the program marks."""
    text = scene.cp.opaque("hub", 36, LETTERS)
    made = scene.made(
        "command:local:Command", "hub-token", {"create": "hubctl token create"}, None, {"stdout": text}, ["stdout"], owner="cp"
    )  # fmt: skip
    scene.secret("cp", "hub", {"token": made.output("stdout")})
    return made.output("stdout")


# Where it goes --------------------------------------------------------------------------------------------------------


def _hub_kubeconfig(scene: Scene, value: Any) -> None:
    text = apply(value, lambda token: kubeconfig(SERVERS["cp"], {"token": token}, "none"))
    data = {"kubeconfig": text, "cluster-name": "shop"}
    scene.secret("dp", "bootstrap-hub-kubeconfig", data, namespace="open-cluster-management-agent")


def _rancher(scene: Scene, value: Any) -> None:
    env = [{"name": "CATTLE_SERVER", "value": "https://rancher.platform.example.com"}, {"name": "CATTLE_TOKEN", "value": value}, {"name": "CATTLE_CA_CHECKSUM", "value": noise("ca", 32).hex()}]  # fmt: skip
    deployment(scene, "dp", "cattle-cluster-agent", {"env": env})


def _federation(scene: Scene, value: Any) -> None:
    data = {
        "gossipEncryptionKey": value,
        "serverConfigJSON": json.dumps({"primary_datacenter": "platform", "primary_gateways": ["192.0.2.9:443"]}),
    }
    scene.secret("dp", "consul-federation", data)


def _leaf_node(scene: Scene, value: Any) -> None:
    conf = pulumi.Output.format(
        'leafnodes {{\n  remotes = [{{ url: "nats-leaf://shop:{0}@nats.platform.example.com:7422", account: "SHOP" }}]\n}}\n',
        value,
    )
    scene.config_map("dp", "nats", {"nats.conf": conf})


def _tunnel(scene: Scene, value: Any) -> None:
    text = pulumi.Output.json_dumps(
        {"AccountTag": noise("tag", 16).hex(), "TunnelID": uid("tunnel"), "TunnelSecret": value}
    )
    release(scene, "dp", "cloudflared", {"cloudflare": {"tunnelName": "platform", "credentials": text}})


def _spire(scene: Scene, value: Any) -> None:
    conf = pulumi.Output.concat(
        'agent {\n  server_address = "spire.platform.example.com"\n  trust_domain = "platform.example.com"\n  join_token = "', value, '"\n}\n'
    )  # fmt: skip
    scene.config_map("dp", "spire-agent", {"agent.conf": conf})


def _agent_chart(scene: Scene, value: Any) -> None:
    release(scene, "dp", "agent", {"config": {"hub": {"url": "https://hub.platform.example.com", "joinMethod": "shared", "joinSecretB64": apply(value, b64)}}})  # fmt: skip


def _mirror(scene: Scene, value: Any) -> None:
    jaas = pulumi.Output.format(
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="mirror" password="{0}";', value
    )
    spec = {
        "clusters": [
            {"alias": "platform", "bootstrapServers": "kafka.platform.example.com:9094", "config": {"sasl.jaas.config": jaas, "sasl.mechanism": "SCRAM-SHA-512"}},
            {"alias": "shop", "bootstrapServers": "kafka.shop:9092"},
        ]
    }  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaMirrorMaker2", "mirror", {"spec": spec})


def _alloy(scene: Scene, value: Any) -> None:
    text = pulumi.Output.format(
        'prometheus.remote_write "hub" {{\n  endpoint {{\n    url = "https://metrics.platform.example.com/api/v1/push"\n    basic_auth {{\n      username = "ops"\n      password = "{0}"\n    }}\n  }}\n}}\n',
        value,
    )
    release(scene, "dp", "alloy", {"alloy": {"configMap": {"create": True, "content": text}}})


def _collector(scene: Scene, value: Any) -> None:
    header = apply(value, lambda text: "Basic " + b64(f"ingest:{text}"))
    config = {"exporters": {"otlphttp/hub": {"endpoint": "https://otel.platform.example.com", "headers": {"authorization": header, "x-scope-orgid": "shop"}}}}  # fmt: skip
    scene.object("dp", "opentelemetry.io/v1beta1:OpenTelemetryCollector", "hub", {"spec": {"mode": "daemonset", "config": config}})  # fmt: skip


def _fluent_bit(scene: Scene, value: Any) -> None:
    outputs = pulumi.Output.format(
        "[OUTPUT]\n    Name es\n    Host logs.platform.example.com\n    HTTP_User ingest\n    HTTP_Passwd {0}\n    tls On\n",
        value,
    )
    release(scene, "dp", "fluent-bit", {"config": {"outputs": outputs, "filters": "[FILTER]\n    Name kubernetes\n"}})


def _trigger(scene: Scene, value: Any) -> None:
    host = apply(value, lambda text: f"amqps://hub:{text}@rabbit.platform.example.com/%2F")
    scene.secret("dp", "keda-rabbit", {"host": host})


def _log_shipper(scene: Scene, value: Any) -> None:
    vector = apply(value, lambda text: yaml.safe_dump({"sinks": {"hub": {"type": "http", "uri": "https://logs.platform.example.com", "auth": {"strategy": "bearer", "token": text}}}}))  # fmt: skip
    scene.secret("dp", "vector", {"vector.yaml": vector})


def _thanos(scene: Scene, value: Any) -> None:
    text = apply(value, lambda found: yaml.safe_dump({"type": "S3", "config": {"bucket": "platform-metrics", "endpoint": "s3.example.com", "access_key": "platform", "secret_key": found}}))  # fmt: skip
    release(scene, "dp", "thanos", {"objstoreConfig": text})


def _cloud_init(scene: Scene, value: Any) -> None:
    opts = scene.package("hcloud", "shop-hcloud", token=pulumi.Output.secret(scene.dp.opaque("hcloud", 64, LETTERS)))

    def written(text: str) -> str:
        files = [{"path": "/etc/rancher/k3s/config.yaml", "permissions": "0600", "encoding": "gz+b64", "content": b64(gzip.compress(f"server: https://cp.example.com:6443\ntoken: {text}\n".encode(), mtime=0))}]  # fmt: skip
        return "#cloud-config\n" + yaml.safe_dump({"package_update": True, "write_files": files, "runcmd": ["curl -sfL https://get.k3s.io | sh -s - agent"]})  # fmt: skip

    scene.made(
        "hcloud:index/server:Server", "shop-node", {"serverType": "cx22", "userData": apply(value, written)}, opts
    )


def _opened(text: bytes) -> bytes:
    files = yaml.safe_load(text)["write_files"]
    return gzip.decompress(base64.b64decode(files[0]["content"]))


def _launch_template(scene: Scene, value: Any) -> None:
    opts = scene.package("aws", "shop-aws", region="eu-west-1")
    script = apply(value, lambda text: b64(f"#!/bin/bash\n/etc/eks/bootstrap.sh shop --kubelet-extra-args '--node-labels=a=b'\nhub-agent --join {text}\n"))  # fmt: skip
    scene.made("aws:ec2/launchTemplate:LaunchTemplate", "shop-nodes", {"userData": script, "imageId": "ami-1"}, opts)


def _ignition(scene: Scene, value: Any) -> None:
    def written(text: str) -> str:
        source = "data:text/plain;charset=utf-8;base64," + b64(f"HUB_TOKEN={text}\n")
        return json.dumps({"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/hub.env", "mode": 384, "contents": {"source": source}}]}})  # fmt: skip

    scene.secret("dp", "worker-user-data", {"userData": apply(value, written)}, namespace="openshift-machine-api")


def _machine_config(scene: Scene, value: Any) -> None:
    patch = apply(value, lambda text: yaml.safe_dump({"machine": {"token": text, "kubelet": {"nodeIP": {"validSubnets": ["10.0.0.0/8"]}}}, "cluster": {"controlPlane": {"endpoint": SERVERS["cp"]}}}))  # fmt: skip
    scene.made("talos:machine/configurationApply:ConfigurationApply", "worker", {"node": "10.4.0.9", "machineConfigurationInput": patch})  # fmt: skip


def _registries(scene: Scene, value: Any) -> None:
    text = apply(value, lambda found: yaml.safe_dump({"mirrors": {"docker.io": {"endpoint": ["https://images.platform.example.com"]}}, "configs": {"images.platform.example.com": {"auth": {"username": "admin", "password": found}}}}))  # fmt: skip
    opts = scene.package("proxmoxve", "shop-proxmox", endpoint="https://pve.shop.example.com")
    scene.made("proxmoxve:Storage/file:File", "registries", {"nodeName": "pve", "sourceRaw": {"data": text, "fileName": "registries.yaml"}}, opts)  # fmt: skip


def _addon(scene: Scene, value: Any) -> None:
    opts = scene.package("aws", "shop-aws", region="eu-west-1")
    values = pulumi.Output.json_dumps({"agent": {"enabled": True, "hub": {"credential": value}}})
    scene.made("aws:eks/addon:Addon", "shop-agent", {"clusterName": "shop", "addonName": "hub-agent", "configurationValues": values}, opts)  # fmt: skip


def _arc_extension(scene: Scene, value: Any) -> None:
    opts = scene.package("azure-native", "shop-azure", subscriptionId=uid("subscription"))
    inputs = {
        "clusterName": "shop",
        "extensionType": "hub.agent",
        "configurationProtectedSettings": {"hub.secret": value},
    }
    scene.made("azure-native:kubernetesconfiguration:Extension", "shop-agent", inputs, opts)


ROWS: list[tuple[str, str, str, Source, Sink, Recover]] = [
    (JOIN, "hub-kubeconfig", "a kubeconfig with which an agent registers at the provider's cluster, made of a token that cluster minted", account, _hub_kubeconfig, as_written),
    (JOIN, "hub-kubeconfig-of-a-read-secret", "the same of a Secret that is read", read, _hub_kubeconfig, as_written),
    (JOIN, "hub-kubeconfig-of-another-stack", "the same of another stack's output", stacked, _hub_kubeconfig, as_written),
    (JOIN, "hub-kubeconfig-configured", "the same of secret configuration", configured, _hub_kubeconfig, as_written),
    (JOIN, "agents-token", "the token of all agents in a variable", generated, _rancher, as_written),
    (JOIN, "agents-token-configured", "a token of the configuration in a variable", configured, _rancher, as_written),
    (JOIN, "gossip-key", "the key of the provider's gossip", bytes_of, _federation, as_written),
    (JOIN, "gossip-key-read", "the same, read from the provider's cluster", read, _federation, as_written),
    (JOIN, "leaf-node", "an address with the provider's password", generated, _leaf_node, as_written),
    (JOIN, "leaf-node-of-another-stack", "an address with another stack's password", stacked, _leaf_node, as_written),
    (JOIN, "tunnel", "the credentials of the provider's tunnel", bytes_of, _tunnel, as_written),
    (JOIN, "tunnel-pasted", "the same, typed in on both sides", pasted, _tunnel, as_written),
    (JOIN, "join-token-of-a-command", "what a command of the provider's printed", commanded, _spire, as_written),
    (JOIN, "join-token-configured", "a join token of the configuration", configured, _spire, as_written),
    (JOIN, "join-secret-in-values", "a chart's value in base64", configured, _agent_chart, each(base64.b64decode)),
    (JOIN, "join-secret-in-values-of-a-stack", "a chart's value in base64 of another stack's output", stacked, _agent_chart, each(base64.b64decode)),
    (PUSH, "mirror-maker", "a login module in a custom resource", generated, _mirror, as_written),
    (PUSH, "mirror-maker-configured", "a login module of the configuration in a custom resource", configured, _mirror, as_written),
    (PUSH, "remote-write", "a password in Alloy's language", generated, _alloy, as_written),
    (PUSH, "remote-write-read", "a password of a read Secret in Alloy's language", read, _alloy, as_written),
    (PUSH, "collectors-header", "a header with a login", generated, _collector, each(lambda t: base64.b64decode(t.split()[1]))),
    (PUSH, "collectors-header-of-another-stack", "a header with a login of another stack", stacked, _collector, each(lambda t: base64.b64decode(t.split()[1]))),
    (PUSH, "fluent-bit", "a password in Fluent Bit's file", configured, _fluent_bit, as_written),
    (PUSH, "rabbit-trigger", "an address of the provider's bus", configured, _trigger, as_written),
    (PUSH, "rabbit-trigger-read", "an address with a read password", read, _trigger, as_written),
    (PUSH, "log-shipper", "a bearer token in a file of a Secret", configured, _log_shipper, as_written),
    (PUSH, "log-shipper-of-a-command", "a command's token in a file of a Secret", commanded, _log_shipper, as_written),
    (PUSH, "metrics-store", "the key of the provider's bucket", pasted, _thanos, as_written),
    (PUSH, "metrics-store-of-another-stack", "the key of the provider's bucket, of another stack", stacked, _thanos, as_written),
    (BOOT, "packed-cloud-init", "a file in gzip and base64 in a machine's user data", generated, _cloud_init, each(_opened)),
    (BOOT, "packed-cloud-init-configured", "the same of the configuration", configured, _cloud_init, each(_opened)),
    (BOOT, "launch-template", "a script in base64 in a template of machines", pasted, _launch_template, each(base64.b64decode)),
    (BOOT, "launch-template-of-another-stack", "the same of another stack", stacked, _launch_template, each(base64.b64decode)),
    (BOOT, "ignition", "a data URL in a file of Ignition, in a Secret", generated, _ignition, each(lambda t: base64.b64decode(json.loads(t)["storage"]["files"][0]["contents"]["source"].split(",")[1]))),
    (BOOT, "ignition-configured", "the same of the configuration", configured, _ignition, each(lambda t: base64.b64decode(json.loads(t)["storage"]["files"][0]["contents"]["source"].split(",")[1]))),
    (BOOT, "machine-configuration", "a worker's configuration with the provider's token", read, _machine_config, as_written),
    (BOOT, "registries-file", "a file of registries with the administrator's password", configured, _registries, as_written),
    (CLOUDS, "cluster-add-on", "the JSON of an add-on of the user's cluster", generated, _addon, each(strings_of_json)),
    (CLOUDS, "cluster-extension", "protected settings of an extension of the user's cluster", stacked, _arc_extension, as_written),
    (CLOUDS, "cluster-extension-configured", "protected settings of an extension, of the configuration", configured, _arc_extension, as_written),
]  # fmt: skip


def _row(theme: str, name: str, what: str, source: Source, sink: Sink, recover: Recover, second: bool) -> None:
    more: dict[str, Any] = {"before": "the same"} if second else {}
    if source is configured:
        more["config"] = lambda cp, dp: {"mesh:hub": cp.opaque("hub", 36, LETTERS)}

    @leak(theme, f"field-{name}", f"The user's side gets {what}.", theme, recover=recover, **more)
    def _(scene: Scene) -> None:
        sink(scene, source(scene))


for _at, _given in enumerate(ROWS):
    _row(*_given, second=_at % 5 == 2)
