"""Leaks by unusual places of Kubernetes objects: the same token of the provider's, in every field that takes text."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from tests.corpus.strangers.recover import after, as_written, each, unpadded
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

CARRIERS = "carriers in objects"
Body = Callable[[Any], Mapping[str, Any]]
join = pulumi.Output.concat


def pod(**container: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
    template["spec"]["containers"][0].update(container)  # type: ignore[index]
    return {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}}


def schema(value: Any) -> dict[str, Any]:
    field = {"type": "string", "default": value}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"token": field}}}
    return {"spec": {"group": "example.com", "versions": [version]}}


def hook(**config: Any) -> dict[str, Any]:
    common = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 5, "failurePolicy": "Fail"}
    return {"webhooks": [{"name": "x.example.com", "clientConfig": config, **common}]}


CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
HEADERS = "kubectl.kubernetes.io/last-applied-configuration"
ROWS: list[tuple[str, str, str, Body]] = [
    ("annotation-key", "a token in an annotation's key", "v1:ServiceAccount", lambda v: {"metadata": {"annotations": pulumi.Output.all(v).apply(lambda t: {f"x/{t[0]}": ""})}}),
    ("label-value", "a token in a label, which every list shows", "v1:Namespace", lambda v: {"metadata": {"labels": {"auth": v}}}),
    ("object-name", "a token as a part of the name, which events and logs repeat", "v1:ConfigMap", lambda v: {"metadata": {"name": join("auth-", v)}, "data": {"a": "b"}}),
    ("data-key", "a token in the key of an entry", "v1:ConfigMap", lambda v: {"data": pulumi.Output.all(v).apply(lambda t: {f"{t[0]}.conf": "on"})}),
    ("binary-data", "a token in binaryData", "v1:ConfigMap", lambda v: {"binaryData": {"blob": pulumi.Output.all(v).apply(lambda t: base64.b64encode(b"\x00\x01" + t[0].encode() + b"\xff").decode())}}),
    ("secret-type", "a token in a Secret's type", "v1:Secret", lambda v: {"type": join("example.com/", v), "stringData": {"a": "b"}}),
    ("probe-header", "a token in a probe's header", "apps/v1:Deployment", lambda v: pod(livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "X-Auth", "value": v}]}})),
    ("init-command", "a token in a shell command", "apps/v1:StatefulSet", lambda v: pod(command=["sh", "-c", join("curl -H 'X-Auth: ", v, "' https://istiod.example.com")])),
    ("environment", "a token in an environment variable", "batch/v1:CronJob", lambda v: {"spec": {"jobTemplate": {"spec": {"template": pod(env=[{"name": "UPSTREAM", "value": v}])["spec"]["template"]}}}}),
    ("working-directory", "a token in a path", "v1:Pod", lambda v: {"spec": {"containers": [{"name": "a", "image": "a:1", "workingDir": join("/srv/", v)}]}}),
    ("image-reference", "a token in an image's tag", "v1:Pod", lambda v: {"spec": {"containers": [{"name": "a", "image": join("registry.example.com/a:", v)}]}}),
    ("host-alias", "a token in a host alias", "v1:Pod", lambda v: {"spec": {"hostAliases": [{"ip": "10.0.0.1", "hostnames": [join(v, ".example.com")]}], "containers": []}}),
    ("csi-attributes", "a token in the attributes of a volume", "v1:PersistentVolume", lambda v: {"spec": {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"share": v}}}}),
    ("storage-class", "a token in a StorageClass's parameters", "storage.k8s.io/v1:StorageClass", lambda v: {"provisioner": "p", "parameters": {"adminId": v}}),
    ("external-name", "a token in the host name of a Service", "v1:Service", lambda v: {"spec": {"type": "ExternalName", "externalName": join(v, ".svc.example.com")}}),
    ("ingress-snippet", "a token in an ingress controller's snippet", "networking.k8s.io/v1:Ingress", lambda v: {"metadata": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": join("proxy_set_header Authorization ", v, ";")}}, "spec": {}}),
    ("envoy-filter-lua", "a token in the Lua code of an EnvoyFilter", "networking.istio.io/v1alpha3:EnvoyFilter", lambda v: {"spec": {"configPatches": [{"patch": {"value": {"inlineCode": join('handle:headers():add("x", "', v, '")')}}}]}}),
    ("virtual-service-header", "a token in a header that the user's gateway adds", "networking.istio.io/v1:VirtualService", lambda v: {"spec": {"http": [{"headers": {"request": {"set": {"x-upstream": v}}}}]}}),
    ("wasm-configuration", "a token in a plug-in's configuration", "extensions.istio.io/v1alpha1:WasmPlugin", lambda v: {"spec": {"url": "oci://x", "pluginConfig": {"rules": [{"credential": v}]}}}),
    ("crd-default", "a token as the default of a custom resource's field", "apiextensions.k8s.io/v1:CustomResourceDefinition", schema),
    ("webhook-path", "a token in a webhook's path", "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", lambda v: hook(url=join("https://istiod.example.com/validate/", v), caBundle=CA)),
    ("rolebinding-subject", "a token as a subject's name", "rbac.authorization.k8s.io/v1:RoleBinding", lambda v: {"roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}, "subjects": [{"kind": "User", "name": v, "apiGroup": "rbac.authorization.k8s.io"}]}),
    ("status-of-users-object", "a token in the status that the program writes", "example.com/v1:Widget", lambda v: {"status": {"conditions": [{"message": join("logged in with ", v)}]}}),
    ("last-applied", "a token in the annotation that kubectl keeps", "v1:ConfigMap", lambda v: {"metadata": {"annotations": {HEADERS: join('{"data":{"token":"', v, '"}}')}}, "data": {}}),
]  # fmt: skip


def _known(scene: Scene) -> Any:
    return scene.held()


def _made(scene: Scene) -> Any:
    found = scene.password("cp", "admin").output("result")
    scene.secret("cp", "admin", {"password": found})
    return found


def _row(name: str, why: str, kind: str, body: Body, source: Callable[[Scene], Any]) -> None:
    what = f"The user's {kind.rpartition(':')[2]} has {why}."
    recover = each(unpadded) if name == "binary-data" else as_written

    @leak(CARRIERS, f"{name}-{source.__name__[1:]}", what, CARRIERS, recover=recover)
    def _(scene: Scene) -> None:
        scene.object("dp", kind, "app", body(source(scene)))


for _at, _given in enumerate(ROWS):
    _row(*_given, source=(_known, _made)[_at % 2])


@leak(
    CARRIERS,
    "key-behind-the-bundle",
    "The webhook's CA bundle goes on after the certificate: the authority's key is in it.",
    "webhooks' caBundle with a key",
    recover=each(unpadded),
)
def _(scene: Scene) -> None:
    key = scene.key("cp", "ca").output("privateKeyPem")
    scene.secret("cp", "ca", {"tls.key": key})
    bundle = key.apply(lambda pem: base64.b64encode((scene.cp.certificate("ca") + pem).encode()).decode())
    body = hook(url="https://istiod.example.com/inject", caBundle=bundle)
    scene.object("dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "app", body)


@leak(
    CARRIERS,
    "key-in-a-conversion-webhook",
    "The CA bundle of a CRD's conversion webhook is the key's PEM, and nothing else.",
    "webhooks' caBundle with a key",
    recover=each(unpadded),
)
def _(scene: Scene) -> None:
    key = scene.cp.key("conversion")
    scene.held("conversion", "tls.key", key)
    bundle = pulumi.Output.secret(base64.b64encode(key.encode()).decode())
    client = {"url": "https://istiod.example.com/convert", "caBundle": bundle}
    spec = {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
    scene.object("dp", "apiextensions.k8s.io/v1:CustomResourceDefinition", "widgets", {"spec": spec})


@leak(
    CARRIERS,
    "token-in-an-upstreams-url",
    "A URL in a ServiceEntry's annotation has the provider's password as its user information.",
    CARRIERS,
    recover=each(after(b"robot:", lambda text: text.partition(b"@")[0])),
)
def _(scene: Scene) -> None:
    url = join("https://robot:", scene.held(), "@istiod.example.com/debug")
    body = {"metadata": {"annotations": {"example.com/upstream": url}}, "spec": {"hosts": ["istiod.example.com"]}}
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "app", body)
