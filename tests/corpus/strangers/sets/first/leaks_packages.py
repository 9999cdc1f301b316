"""Leaks to places that are no Kubernetes object: repositories, buckets, commands, DNS, another provider's arguments.

None of these providers is said to be the control plane's, so what is given to them may be read by a user.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.recover import each, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

PACKAGES, ARGUMENTS = "other packages", "provider arguments"
join = pulumi.Output.concat
ROWS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("github-file", "a file in the user's repository", "github:index/repositoryFile:RepositoryFile", {"repository": "shop", "file": "mesh.env", "content": "V"}),
    ("github-actions-variable", "a plain variable of the user's workflows", "github:index/actionsVariable:ActionsVariable", {"repository": "shop", "variableName": "MESH", "value": "V"}),
    ("gitlab-variable", "a variable of the user's pipelines", "gitlab:index/projectVariable:ProjectVariable", {"project": "shop", "key": "MESH", "value": "V"}),
    ("bucket-object", "an object in the user's bucket", "aws:s3/bucketObjectv2:BucketObjectv2", {"bucket": "shop-settings", "key": "mesh.json", "content": "V"}),
    ("gcs-object", "an object in a public bucket", "gcp:storage/bucketObject:BucketObject", {"bucket": "shop-public", "name": "mesh", "content": "V"}),
    ("parameter-store", "a parameter in the user's account", "aws:ssm/parameter:Parameter", {"name": "/shop/mesh", "type": "String", "value": "V"}),
    ("lambda-environment", "the environment of the user's function", "aws:lambda/function:Function", {"role": "r", "environment": {"variables": {"MESH": "V"}}}),
    ("user-data", "the user data of the user's machine, which its every process reads", "aws:ec2/instance:Instance", {"ami": "a", "userData": ["#!/bin/sh\nexport MESH=", "V"]}),
    ("dns-record", "a TXT record, which the whole world reads", "cloudflare:index/dnsRecord:DnsRecord", {"zoneId": "z", "name": "_mesh", "type": "TXT", "content": "V"}),
    ("route53-name", "a host name in a public zone", "aws:route53/record:Record", {"zoneId": "z", "name": ["V", ".example.com"], "type": "A", "records": ["192.0.2.1"]}),
    ("local-command", "a command's text", "command:local:Command", {"create": ["kubectl --context user create secret generic x --from-literal=t=", "V"]}),
    ("command-environment", "a command's environment, for a kubectl that writes to the user", "command:local:Command", {"create": "kubectl --context user apply -f -", "environment": {"TOKEN": "V"}}),
    ("command-stdin", "a command's standard input", "command:local:Command", {"create": "kubectl --context user apply -f -", "stdin": "V"}),
    ("remote-command", "a command on the user's machine", "command:remote:Command", {"connection": {"host": "vm.user.example.com"}, "create": ["echo ", "V", " > /etc/mesh"]}),
    ("copied-file", "a file copied to the user's machine", "command:remote:CopyToRemote", {"connection": {"host": "vm.user.example.com"}, "remotePath": "/etc/mesh", "triggers": ["V"]}),
    ("docker-build-argument", "a build argument, kept in the image's history", "docker:index/image:Image", {"imageName": "shop", "build": {"context": ".", "args": {"MESH": "V"}}}),
    ("kubectl-manifest", "a manifest that another provider applies", "kubectl:index/manifest:Manifest", {"yamlBody": ["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {t: ", "V", "}\n"]}),
    ("kustomization", "a kustomization's literals", "kustomization:index/resource:Resource", {"manifest": ['{"kind":"ConfigMap","data":{"t":"', "V", '"}}']}),
    ("helm-package-release", "the values of a release by Helm's own provider", "helm:index/release:Release", {"chart": "shop", "version": "1", "values": ["auth:\n  upstream: ", "V", "\n"]}),
    ("flux-bootstrap", "a file that Flux commits to the user's repository", "flux:index/fluxBootstrapGit:FluxBootstrapGit", {"path": "clusters/shop", "kustomizationOverride": ["secretGenerator: [{literals: [t=", "V", "]}]"]}),
    ("argocd-application", "a parameter of an application at the user's", "argocd:index/application:Application", {"spec": {"source": {"helms": [{"parameters": [{"name": "t", "value": "V"}]}]}}}),
    ("monitor-message", "a message that the user's monitoring sends", "datadog:index/monitor:Monitor", {"type": "metric alert", "message": ["call istiod with ", "V"]}),
    ("chat-webhook", "a message to the user's chat", "slack:index/message:Message", {"channel": "shop", "text": "V"}),
    ("dynamic-resource", "the arguments of a dynamic resource that pushes to the user", "pulumi-python:dynamic:Resource", {"endpoint": "https://api.user.example.com", "payload": {"t": "V"}}),
    ("consul-key", "a key of the user's key-value store", "consul:index/keys:Keys", {"keys": [{"path": "shop/mesh", "value": "V"}]}),
    ("local-file", "a file in the folder that is delivered to the user", "local:index/file:File", {"filename": "dist/mesh.txt", "content": "V"}),
]  # fmt: skip


def filled(tree: Any, value: Any) -> Any:
    """The tree with the value for each V; a list that begins or goes on with text around it is one text."""
    if tree == "V":
        return value
    if isinstance(tree, Mapping):
        return {key: filled(inner, value) for key, inner in tree.items()}
    if isinstance(tree, list):
        text = "V" in tree and len(tree) > 1
        return join(*[filled(inner, value) for inner in tree]) if text else [filled(inner, value) for inner in tree]
    return tree


def _row(name: str, why: str, kind: str, inputs: dict[str, Any], known: bool) -> None:
    @leak(PACKAGES, name, f"A secret of the provider's becomes {why}.", PACKAGES)
    def _(scene: Scene) -> None:
        if known:
            value = scene.held()
        else:
            value = scene.password("cp", "admin").output("result")
            scene.secret("cp", "admin", {"password": value})
        scene.made(kind, "sink", filled(inputs, value))


for _at, _given in enumerate(ROWS):
    _row(*_given, known=_at % 2 == 0)


@leak(
    PACKAGES,
    "helm-release-values",
    "A Helm release on the user's cluster takes the provider's password among its values.",
    "pulumi/pulumi#9781",
)
def _(scene: Scene) -> None:
    value = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": value})
    inputs = {"chart": "shop", "version": "1.0.0", "values": {"env": [{"name": "UPSTREAM", "value": value}]}}
    opts = scene.options("dp")
    scene.made("kubernetes:helm.sh/v3:Release", "shop", inputs, opts)


@leak(
    PACKAGES,
    "yaml-file-group",
    "A whole manifest is text to the program; on the user's cluster it is a Secret with the provider's key.",
    PACKAGES,
    recover=each(strings_of_yaml),
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "issuer").output("privateKeyPem")
    scene.secret("cp", "issuer", {"tls.key": key})
    manifest = key.apply(lambda pem: yaml.safe_dump({"kind": "Secret", "stringData": {"tls.key": pem}}))
    opts = scene.options("dp")
    scene.made("kubernetes:yaml/v2:ConfigGroup", "group", {"yaml": manifest}, opts)


@leak(
    ARGUMENTS,
    "control-planes-token-shown-to-the-users-server",
    "A provider logs in at the user's API server with the control plane's token: the server can keep it.",
    ARGUMENTS,
)
def _(scene: Scene) -> None:
    document = yaml.safe_load(scene.kubeconfigs["cp"])
    document["clusters"][0]["cluster"]["server"] = "https://dp.example.com:6443"
    opts = scene.package("kubernetes", "mixed", kubeconfig=pulumi.Output.secret(yaml.safe_dump(document)))
    scene.object("cp", "v1:Namespace", "mesh", {})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    scene.made("kubernetes:core/v1:ConfigMap", "x", body, opts)


@leak(
    ARGUMENTS,
    "token-for-the-users-vault",
    "A provider of the user's Vault logs in with a token that is the control plane's.",
    ARGUMENTS,
)
def _(scene: Scene) -> None:
    opts = scene.package("vault", "user-vault", address="https://vault.user.example.com", token=scene.held())
    scene.made("vault:index/mount:Mount", "shop", {"path": "shop", "type": "kv"}, opts)


@leak(
    ARGUMENTS,
    "proxy-with-a-password",
    "The user's cluster is reached through the user's proxy, whose URL has the control plane's password.",
    ARGUMENTS,
    recover=each(lambda text: yaml.safe_load(text)["clusters"][0]["cluster"]["proxy-url"].encode()),
)
def _(scene: Scene) -> None:
    document = yaml.safe_load(scene.kubeconfigs["dp"])
    token = scene.held()
    url = token.apply(lambda text: f"https://robot:{text}@proxy.user.example.com")

    def config(found: str) -> str:
        document["clusters"][0]["cluster"]["proxy-url"] = found
        return yaml.safe_dump(document)

    opts = scene.package("kubernetes", "proxied", kubeconfig=url.apply(config))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    scene.made("kubernetes:core/v1:ConfigMap", "x", body, opts)


@leak(
    ARGUMENTS,
    "header-of-a-helm-provider",
    "The registry login of a Helm provider for the user's cluster, kept there with the release, is the provider's.",
    ARGUMENTS,
    recover=each(lambda text: base64.b64decode(text)),
)
def _(scene: Scene) -> None:
    login = scene.held().apply(lambda text: base64.b64encode(f"robot:{text}".encode()).decode())
    repository = {"repo": "https://charts.user.example.com", "password": login}
    inputs = {"chart": "shop", "version": "1", "repositoryOpts": repository}
    scene.made("kubernetes:helm.sh/v3:Release", "shop", inputs, scene.options("dp"))
