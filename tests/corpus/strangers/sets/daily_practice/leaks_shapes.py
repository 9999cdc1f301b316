"""Leaks by form alone: the program's author pasted a secret of the provider's, which the stack has nowhere else."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.recover import Recover, after, as_written, each
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak

FILES, OBJECTS = "pasted into a file", "pasted into an object"
HEX = "0123456789abcdef"
Text = Callable[[Scene, str], str]
Body = Callable[[Scene, str], Mapping[str, Any]]


def _b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


ROWS: list[tuple[str, str, Text]] = [
    ("aws-credentials-file", "credentials", lambda s, v: f"[default]\naws_access_key_id = AKIAEXAMPLEEXAMPLE00\naws_secret_access_key = {v}\n"),
    ("s3cfg", ".s3cfg", lambda s, v: f"[default]\naccess_key = AKIAEXAMPLEEXAMPLE00\nsecret_key = {v}\nhost_base = s3.example.com\n"),
    ("rclone", "rclone.conf", lambda s, v: f"[backup]\ntype = s3\naccess_key_id = EXAMPLE\nsecret_access_key = {v}\n"),
    ("thanos-object-store", "objstore.yml", lambda s, v: yaml.safe_dump({"type": "S3", "config": {"bucket": "thanos", "access_key": "EXAMPLE", "secret_key": v}})),
    ("loki-storage-address", "loki.yaml", lambda s, v: f"storage_config:\n  aws:\n    s3: s3://EXAMPLE:{v}@eu-west-1/loki\n"),
    ("prometheus-remote-write", "prometheus.yml", lambda s, v: yaml.safe_dump({"remote_write": [{"url": "https://prom.example.com/push", "basic_auth": {"username": "1234", "password": v}}]})),
    ("prometheus-bearer", "prometheus.yml", lambda s, v: yaml.safe_dump({"scrape_configs": [{"job_name": "istiod", "authorization": {"type": "Bearer", "credentials": v}}]})),
    ("alertmanager-slack", "alertmanager.yml", lambda s, v: yaml.safe_dump({"global": {"slack_api_url": f"https://hooks.slack.com/services/T01234567/B01234567/{v[:24]}"}})),
    ("alertmanager-pager", "alertmanager.yml", lambda s, v: yaml.safe_dump({"receivers": [{"name": "ops", "pagerduty_configs": [{"routing_key": s.cp.opaque("pd", 32, HEX)}]}]})),
    ("fluent-bit", "fluent-bit.conf", lambda s, v: f"[OUTPUT]\n    Name es\n    Host logs.example.com\n    HTTP_User mesh\n    HTTP_Passwd {v}\n"),
    ("collector-headers", "otel.yaml", lambda s, v: yaml.safe_dump({"exporters": {"otlp": {"endpoint": "api.example.com:443", "headers": {"x-honeycomb-team": v[:22]}}}})),
    ("collector-api-key", "otel.yaml", lambda s, v: yaml.safe_dump({"exporters": {"datadog": {"api": {"site": "example.eu", "key": s.cp.opaque("dd", 32, HEX)}}}})),
    ("grafana-datasource", "datasources.yaml", lambda s, v: yaml.safe_dump({"apiVersion": 1, "datasources": [{"name": "mesh", "type": "postgres", "user": "mesh", "secureJsonData": {"password": v[:20]}}]})),
    ("corefile", "Corefile", lambda s, v: f"example.com {{\n  route53 example.com.:Z1 {{\n    aws_access_key AKIAEXAMPLEEXAMPLE00 {v}\n  }}\n}}\n"),
    ("openvpn-static-key", "client.ovpn", lambda s, v: "client\nremote vpn.example.com\n<tls-auth>\n-----BEGIN OpenVPN Static key V1-----\n" + "\n".join(s.cp.opaque(f"ovpn{at}", 32, HEX) for at in range(16)) + "\n-----END OpenVPN Static key V1-----\n</tls-auth>\n"),
    ("ipsec-secrets", "ipsec.secrets", lambda s, v: f'192.0.2.1 192.0.2.2 : PSK "{v[:32]}"\n'),
    ("wireguard-private", "wg0.conf", lambda s, v: f"[Interface]\nPrivateKey = {v[:32]}{v[:10]}0=\nAddress = 10.8.0.1/24\n[Peer]\nPublicKey = {_b64(bytes(range(32)))}\n"),
    ("rails-secret", "secrets.yml", lambda s, v: f"production:\n  secret_key_base: {s.cp.opaque('rails', 128, HEX)}\n"),
    ("laravel-key", "env", lambda s, v: f"APP_ENV=production\nAPP_KEY=base64:{v[:43]}=\n"),
    ("jwt-secret", "env", lambda s, v: f"PORT=3000\nJWT_SECRET={v[:32]}\n"),
    ("fernet-key", "airflow.cfg", lambda s, v: f"[core]\nexecutor = KubernetesExecutor\nfernet_key = {v[:43]}=\n"),
    ("kibana-keys", "kibana.yml", lambda s, v: f"server.host: 0.0.0.0\nxpack.encryptedSavedObjects.encryptionKey: {v[:32]}\n"),
    ("minio-root", "env", lambda s, v: f"MINIO_ROOT_USER=admin\nMINIO_ROOT_PASSWORD={v[:20]}\n"),
    ("django-key", "settings.py", lambda s, v: f"DEBUG = False\nSECRET_KEY = 'django-insecure-{v[:40]}'\n"),
    ("encoded-words", "env", lambda s, v: f"DBPASS={v[:16]}\nDBHOST=db.example.com\n"),
    ("postgres-variables", "env", lambda s, v: f"PGHOST=db.example.com\nPGUSER=mesh\nPGPASSWORD={v[:16]}\n"),
    ("vault-unseal-keys", "init.txt", lambda s, v: f"Unseal Key 1: {v[:43]}=\nUnseal Key 2: {v[1:44]}=\n\nInitial Root Token: hvs.{v[:24]}\n"),
    ("kubectl-command", "join.sh", lambda s, v: f"#!/bin/sh\nkubectl --server=https://cp.example.com:6443 --token={v} get pods\n"),
    ("docker-login-command", "login.sh", lambda s, v: f"docker login -u robot -p {v[:24]} registry.example.com\n"),
    ("mysql-command", "dump.sh", lambda s, v: f"mysqldump -h db.example.com -u mesh -p{v[:20]} mesh > /tmp/dump.sql\n"),
    ("ssh-by-password", "copy.sh", lambda s, v: f"sshpass -p '{v[:16]}' scp file ops@cp.example.com:/tmp\n"),
    ("openssl-passphrase", "sign.sh", lambda s, v: f"openssl ca -config ca.cnf -passin pass:{v[:16]} -in req.pem\n"),
    ("curl-header", "call.sh", lambda s, v: f"curl -H 'X-Api-Key: {v[:32]}' https://istiod.example.com/debug/config_dump\n"),
    ("curl-private-token", "call.sh", lambda s, v: f"curl --header 'PRIVATE-TOKEN: {v[:20]}' https://git.example.com/api/v4/projects\n"),
    ("json-with-connection", "appsettings.json", lambda s, v: json.dumps({"ConnectionStrings": {"Mesh": f"Server=db.example.com;Database=mesh;User Id=mesh;Password={v[:20]};Encrypt=True"}})),
    ("storage-connection", "env", lambda s, v: f"AZURE_STORAGE=DefaultEndpointsProtocol=https;AccountName=platform;AccountKey={s.cp.opaque('az', 86, LETTERS)}==;EndpointSuffix=core.windows.net\n"),
    ("service-bus", "env", lambda s, v: f"BUS=Endpoint=sb://platform.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={v[:43]}=\n"),
    ("mongodb-srv", "env", lambda s, v: f"MONGO=mongodb+srv://mesh:{v[:20]}@cluster0.example.mongodb.net/mesh?retryWrites=true\n"),
    ("redis-url", "env", lambda s, v: f"REDIS=rediss://:{v[:24]}@redis.example.com:6380/0\n"),
    ("ldap-bind", "ldap.toml", lambda s, v: f'[[servers]]\nhost = "ldap.example.com"\nbind_dn = "cn=mesh"\nbind_password = "{v[:20]}"\n'),
    ("application-default", "adc.json", lambda s, v: json.dumps({"type": "authorized_user", "client_id": "764086051850-x.apps.googleusercontent.com", "client_secret": "d-FL95Q19q7MQmFpd7hHD0Ty", "refresh_token": f"1//0{v}"})),
    ("external-account-binding", "acme.json", lambda s, v: json.dumps({"eab": {"kid": "kid-1", "hmacEncoded": v[:43]}})),
    ("git-remote-with-token", "gitmodules", lambda s, v: f"[submodule \"mesh\"]\n\turl = https://x-access-token:ghs_{v[:36]}@github.com/platform/mesh.git\n"),
    ("pypirc", ".pypirc", lambda s, v: f"[distutils]\nindex-servers = pypi\n[pypi]\nusername = __token__\npassword = pypi-AgEIcHlwaS5vcmc{v}\n"),
    ("npm-token", ".npmrc", lambda s, v: f"//registry.npmjs.org/:_authToken=npm_{v[:36]}\n"),
    ("yarn-and-cargo", "credentials.toml", lambda s, v: f'[registry]\ntoken = "cio{v[:32]}"\n'),
    ("gradle-properties", "gradle.properties", lambda s, v: f"org.gradle.jvmargs=-Xmx2g\nsigning.password={v[:20]}\nmavenPassword={v[20:40]}\n"),
    ("helmfile-environment", "values.yaml.gotmpl", lambda s, v: f"grafana:\n  adminPassword: \"{v[:20]}\"\n  host: grafana.example.com\n"),
]  # fmt: skip


def _file(name: str, entry: str, text: Text) -> None:
    @leak(
        FILES,
        f"pasted-{name}",
        f"The user's ConfigMap has a file with a secret of the provider's ({name.replace('-', ' ')}).",
        FILES,
    )
    def _(scene: Scene) -> None:
        scene.held()
        value = scene.cp.opaque(name, 48, LETTERS)
        scene.cp.given += [value[:16], value[:10], value[20:40]]
        scene.config_map("dp", "app", {entry: text(scene, value)})


for _row in ROWS:
    _file(*_row)

OBJECT_ROWS: list[tuple[str, str, str, Body, Recover]] = [
    ("route-with-its-key", "an OpenShift Route with the provider's key inside", "route.openshift.io/v1:Route", lambda s, v: {"spec": {"host": "edge.example.com", "tls": {"termination": "edge", "certificate": s.cp.certificate("edge"), "key": s.cp.key("edge")}}}, as_written),
    ("store-of-fakes", "a store of secrets whose values stand in it", "external-secrets.io/v1:ClusterSecretStore", lambda s, v: {"spec": {"provider": {"fake": {"data": [{"key": "/platform/dns-token", "value": v, "version": "v1"}]}}}}, as_written),
    ("kong-plugin", "a plug-in of Kong with a client's secret", "configuration.konghq.com/v1:KongPlugin", lambda s, v: {"plugin": "openid-connect", "config": {"issuer": "https://id.example.com", "client_id": ["mesh"], "client_secret": [v]}}, as_written),
    ("scaled-object", "a trigger of KEDA with a connection string", "keda.sh/v1alpha1:ScaledObject", lambda s, v: {"spec": {"triggers": [{"type": "rabbitmq", "metadata": {"host": f"amqps://mesh:{v}@mq.example.com:5671/", "queueName": "q"}}]}}, as_written),
    ("generated-by-kyverno", "a policy that makes a Secret in each namespace", "kyverno.io/v1:ClusterPolicy", lambda s, v: {"spec": {"rules": [{"name": "pull", "generate": {"kind": "Secret", "name": "regcred", "data": {"kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": _b64(json.dumps({"auths": {"registry.example.com": {"auth": _b64(f"robot:{v}")}}}))}}}}]}}, each(after(b'"auth": "', base64.b64decode))),
    ("machine-config", "a file of a machine's, as a data URL", "machineconfiguration.openshift.io/v1:MachineConfig", lambda s, v: {"spec": {"config": {"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/kubernetes/kubeconfig", "contents": {"source": "data:text/plain;charset=utf-8;base64," + _b64(s.kubeconfigs["cp"] + v)}}]}}}}, each(lambda t: base64.b64decode(t.partition(b"base64,")[2]))),
    ("cluster-api-files", "a file of a new machine's with a kubelet's key", "bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfig", lambda s, v: {"spec": {"files": [{"path": "/etc/kubernetes/pki/sa.key", "content": s.cp.rsa("sa")}]}}, as_written),
    ("mount-options", "options of a mount with a password", "v1:PersistentVolume", lambda s, v: {"spec": {"mountOptions": ["vers=3.0", f"username=mesh,password={v}"], "csi": {"driver": "smb.csi.k8s.io", "volumeHandle": "x"}}}, as_written),
    ("flux-source", "a source of Flux with a login in its address", "source.toolkit.fluxcd.io/v1:GitRepository", lambda s, v: {"spec": {"url": f"https://robot:{v}@git.example.com/platform.git", "interval": "1m"}}, as_written),
    ("flux-substitutions", "values that Flux puts in", "kustomize.toolkit.fluxcd.io/v1:Kustomization", lambda s, v: {"spec": {"path": "./", "postBuild": {"substitute": {"cluster": "shop", "grafana_admin_password": v}}}}, as_written),
    ("flux-release", "values of a HelmRelease", "helm.toolkit.fluxcd.io/v2:HelmRelease", lambda s, v: {"spec": {"chart": {"spec": {"chart": "grafana"}}, "values": {"adminUser": "admin", "adminPassword": v}}}, as_written),
    ("argocd-parameters", "parameters of an Application", "argoproj.io/v1alpha1:Application", lambda s, v: {"spec": {"source": {"chart": "grafana", "helm": {"parameters": [{"name": "adminPassword", "value": v}]}}}}, as_written),
    ("pulumi-stack", "the configuration of a stack that an operator runs", "pulumi.com/v1:Stack", lambda s, v: {"spec": {"stack": "org/shop/prod", "envRefs": {"PULUMI_ACCESS_TOKEN": {"type": "Literal", "literal": {"value": v}}}}}, as_written),
    ("terraform-workspace", "a variable of a workspace", "app.terraform.io/v1alpha2:Workspace", lambda s, v: {"spec": {"terraformVariables": [{"name": "db_password", "sensitive": True, "value": v}]}}, as_written),
    ("tekton-parameter", "a parameter of a run", "tekton.dev/v1:PipelineRun", lambda s, v: {"spec": {"params": [{"name": "registry-password", "value": v}]}}, as_written),
    ("envoy-inline-key", "an EnvoyFilter with a key inside", "networking.istio.io/v1alpha3:EnvoyFilter", lambda s, v: {"spec": {"configPatches": [{"applyTo": "CLUSTER", "patch": {"operation": "MERGE", "value": {"transport_socket": {"typed_config": {"common_tls_context": {"tls_certificates": [{"certificate_chain": {"inline_string": s.cp.certificate("c")}, "private_key": {"inline_string": s.cp.key("c")}}]}}}}}}]}}, as_written),
    ("envoy-inline-secret", "an EnvoyFilter with a client's secret inside", "networking.istio.io/v1alpha3:EnvoyFilter", lambda s, v: {"spec": {"configPatches": [{"applyTo": "BOOTSTRAP", "patch": {"operation": "MERGE", "value": {"static_resources": {"secrets": [{"name": "token", "generic_secret": {"secret": {"inline_string": v}}}]}}}}]}}, as_written),
    ("envoy-inline-bytes", "the same as inline bytes", "networking.istio.io/v1alpha3:EnvoyFilter", lambda s, v: {"spec": {"configPatches": [{"applyTo": "BOOTSTRAP", "patch": {"operation": "MERGE", "value": {"static_resources": {"secrets": [{"name": "hmac", "generic_secret": {"secret": {"inline_bytes": _b64(v)}}}]}}}}]}}, each(base64.b64decode)),
    ("wasm-environment", "an environment of a plug-in", "extensions.istio.io/v1alpha1:WasmPlugin", lambda s, v: {"spec": {"url": "oci://ghcr.io/x:1", "vmConfig": {"env": [{"name": "API_TOKEN", "value": v}]}}}, as_written),
    ("telemetry-header", "a header of the mesh's tracing", "install.istio.io/v1alpha1:IstioOperator", lambda s, v: {"spec": {"meshConfig": {"extensionProviders": [{"name": "otel", "opentelemetry": {"service": "otel", "port": 443, "http": {"path": "/v1", "headers": [{"name": "Authorization", "value": f"Api-Token {v}"}]}}}]}}}, as_written),
    ("virtual-service-bearer", "a header that a route sets", "networking.istio.io/v1:VirtualService", lambda s, v: {"spec": {"hosts": ["x"], "http": [{"headers": {"request": {"set": {"authorization": f"Bearer {v}"}}}}]}}, as_written),
    ("datadog-annotation", "a check with a password", "v1:Service", lambda s, v: {"metadata": {"annotations": {"ad.datadoghq.com/endpoints.instances": json.dumps([{"host": "%%host%%", "username": "datadog", "password": v}])}}, "spec": {}}, as_written),
    ("nginx-auth-snippet", "a snippet that sets a header", "networking.k8s.io/v1:Ingress", lambda s, v: {"metadata": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": f'proxy_set_header X-Api-Key "{v}";'}}, "spec": {}}, as_written),
    ("oauth-client", "an OAuthClient with its secret", "oauth.openshift.io/v1:OAuthClient", lambda s, v: {"secret": v, "redirectURIs": ["https://x.example.com"], "grantMethod": "auto"}, as_written),
    ("event-with-a-token", "an event with the command that failed", "v1:Event", lambda s, v: {"involvedObject": {"kind": "Pod"}, "reason": "Failed", "message": f"exec: curl -H 'Authorization: Bearer {v}' failed: 401"}, as_written),
    ("traefik-middleware", "headers that a middleware sets", "traefik.io/v1alpha1:Middleware", lambda s, v: {"spec": {"headers": {"customRequestHeaders": {"Authorization": "Basic " + _b64(f"mesh:{v}")}}}}, each(after(b"Basic ", base64.b64decode))),
    ("crossplane-provider", "an object of Crossplane with a Secret in it", "kubernetes.crossplane.io/v1alpha2:Object", lambda s, v: {"spec": {"forProvider": {"manifest": {"kind": "Secret", "stringData": {"password": v}}}}}, as_written),
    ("sealed-template", "the template of a SealedSecret, in plain", "bitnami.com/v1alpha1:SealedSecret", lambda s, v: {"spec": {"encryptedData": {}, "template": {"data": {"config.yaml": f"user: mesh\npassword: {v}\n"}}}}, as_written),
    ("node-annotation", "an annotation of a node with a join command", "v1:Node", lambda s, v: {"metadata": {"annotations": {"example.com/join": f"kubeadm join cp.example.com:6443 --token abcdef.{s.cp.opaque('kubeadm', 16)} --certificate-key {s.cp.opaque('ck', 64, HEX)}"}}}, as_written),
    ("list-of-config-maps", "a list of ConfigMaps", "v1:ConfigMapList", lambda s, v: {"items": [{"metadata": {"name": "a"}, "data": {"db.env": f"DB_PASSWORD={v}\n"}}]}, as_written),
]  # fmt: skip


def _object(name: str, what: str, kind: str, body: Body, recover: Recover) -> None:
    @leak(OBJECTS, f"object-{name}", f"The user's cluster gets {what}: the provider's.", OBJECTS, recover=recover)
    def _(scene: Scene) -> None:
        scene.held()
        scene.object("dp", kind, "pasted", body(scene, scene.cp.opaque(name, 32, LETTERS)))


for _object_row in OBJECT_ROWS:
    _object(*_object_row)
