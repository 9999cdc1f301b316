"""Leaks around a hosted control plane: objects of the mesh, networks, certificates and identities."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, kept, pair, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise

from .world import DOMAIN, LOGIN, MESH, ROOTS, TENANT, both_sides, vendor

MESHES, NETWORKS, TRUST = (
    "saas: slips in objects of a mesh",
    "saas: slips of networks",
    "saas: slips of certificates",
)

# Objects of a mesh ----------------------------------------------------------------------------------------------------


@leak(MESHES, "saas-variables-of-proxies", "Variables for all of the tenant's proxies have the tracing token of the vendor's organisation.", "Istio ProxyConfig", config=lambda cp, dp: {"hosted:tracing": cp.opaque("tracing", 32, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "tracing", {"access-token": scene.config("hosted:tracing")})
    variables = {"ISTIO_META_DNS_CAPTURE": "true", "OTEL_SERVICE_NAME": "orchard", "OTEL_EXPORTER_OTLP_HEADERS": pulumi.Output.concat("x-token=", scene.config("hosted:tracing"))}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1beta1:ProxyConfig", "mesh-wide", {"spec": {"concurrency": 2, "environmentVariables": variables}})  # fmt: skip


@leak(MESHES, "saas-annotation-of-a-workload", "A workload's annotation has its proxy's settings in YAML, with the vendor's bearer for the tracing collector.", "proxy.istio.io/config", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "trace-ingest", "token", 36)
    note = apply(token, lambda found: yaml.safe_dump({"tracing": {"sampling": 10, "lightstep": {"address": f"traces.{DOMAIN}:443", "accessToken": found}}, "discoveryAddress": f"xds.{DOMAIN}:15012"}))  # fmt: skip
    deployment(scene, "dp", "checkout", {"ports": [{"containerPort": 8080}]}, {"proxy.istio.io/config": note, "sidecar.istio.io/inject": "true"})  # fmt: skip


@leak(MESHES, "saas-filter-of-a-route", "A route of the Gateway API sets the header by which the vendor's services trust each other.", "HTTPRoute RequestHeaderModifier")  # fmt: skip
def _(scene: Scene) -> None:
    header = generated(scene, "internal-trust", "header", 48)
    rule = {"matches": [{"path": {"type": "PathPrefix", "value": "/plans"}}], "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "x-internal-trust", "value": header}]}}], "backendRefs": [{"name": "plans", "port": 443}]}  # fmt: skip
    scene.object("dp", "gateway.networking.k8s.io/v1:HTTPRoute", "plans", {"spec": {"parentRefs": [{"name": "edge"}], "rules": [rule]}})  # fmt: skip


@leak(MESHES, "saas-remote-profile-with-pilots-environment", "The remote profile's values are merged over the hosted ones, so that pilot's variables come along: the vendor's CA login.", "istiod-remote values")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "external-ca", "token", 40)
    hosted: dict[str, Any] = {"global": {"meshID": MESH}, "pilot": {"env": {"EXTERNAL_CA": "ISTIOD_RA_KUBERNETES_API", "CA_TOKEN": token}}}  # fmt: skip
    release(scene, "cp", "istiod", hosted)
    remote = {"istiodRemote": {"enabled": True, "injectionPath": "/inject/cluster/orchard/net/orchard"}, "global": {**hosted["global"], "remotePilotAddress": f"xds.{DOMAIN}"}}  # fmt: skip
    release(scene, "dp", "istiod-remote", hosted | remote)


@leak(MESHES, "saas-authority-in-mesh-settings", "Mesh settings list the vendor's authority as trusted; the PEM that was pasted there goes on with the key.", "MeshConfig caCertificates", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "hosted-ca", authority=True)
    scene.secret("cp", "hosted-ca", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")})
    both = pulumi.Output.concat(cert.output("certPem"), key.output("privateKeyPem"))
    mesh = apply(both, lambda pem: yaml.safe_dump({"trustDomain": TENANT, "caCertificates": [{"pem": pem, "certSigners": ["clusterissuers.cert-manager.io/hosted"]}]}))  # fmt: skip
    scene.config_map("dp", "istio", {"mesh": mesh, "meshNetworks": "networks: {}"}, namespace="istio-system")


@leak(MESHES, "saas-self-signed-authority-read", "The self-signed authority that istiod made at the vendor's is read for its root, and its data is copied.", "istio-ca-secret")  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.cp
    data = {"ca-cert.pem": b64(made.certificate("istiod self", authority=True)), "ca-key.pem": b64(made.key("istiod self")), "root-cert.pem": ""}  # fmt: skip
    found = scene.existing("cp", "v1:Secret", "istio-ca-secret", data=data)
    scene.object("dp", "v1:Secret", "hosted-root", {"data": found.output("data"), "metadata": {"namespace": "istio-system"}})  # fmt: skip


@leak(MESHES, "saas-wasm-module-with-a-login", "A plug-in's address at the vendor's module server has user and password before the host.", "WasmPlugin URLs")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "modules", "password", 28)
    url = pulumi.Output.concat("https://modules:", password, f"@modules.{DOMAIN}/waf/1.9.0.wasm")
    scene.object("dp", "extensions.istio.io/v1alpha1:WasmPlugin", "waf", {"spec": {"url": url, "sha256": noise("waf", 32).hex(), "phase": "AUTHN"}})  # fmt: skip


@leak(MESHES, "saas-key-set-with-a-shared-secret", "A filter's key set has a key of kind oct: base64url of the secret with which the vendor signs its sessions.", "jwt_authn local_jwks", recover=each(strings_of_json, lambda text: base64.urlsafe_b64decode(next(line for line in text.split(b"\n") if len(line) == 43) + b"=").hex().encode()))  # fmt: skip
def _(scene: Scene) -> None:
    secret = scene.cp.raw("session signing")
    scene.held("session-signing", "hmac", secret.hex())
    keys = json.dumps({"keys": [{"kty": "oct", "alg": "HS256", "kid": "s1", "k": base64.urlsafe_b64encode(secret).decode().rstrip("=")}]})  # fmt: skip
    provider = {"issuer": LOGIN, "local_jwks": {"inline_string": pulumi.Output.secret(keys)}, "forward": True}
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.jwt_authn", "typed_config": {"providers": {"hosted": provider}}}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "sessions", {"spec": {"configPatches": [patch]}})


@leak(MESHES, "saas-workload-group-of-machines", "A group's template for machines has an annotation with the bootstrap token with which the vendor's own machines join.", "WorkloadGroup")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "vm-bootstrap", "token", 40)
    scene.object("dp", "networking.istio.io/v1:WorkloadGroup", "machines", {"spec": {"metadata": {"labels": {"app": "legacy"}, "annotations": {"mesh.example.com/bootstrap": token}}, "template": {"serviceAccount": "legacy", "network": "orchard"}}})  # fmt: skip


@leak(MESHES, "saas-limits-of-a-gateway-policy", "A policy for an API gateway lists its clients' keys as a map of headers to names, the vendor's own client first.", "AuthorizationPolicy header values")  # fmt: skip
def _(scene: Scene) -> None:
    keys = both_sides(scene, "gateway-client")
    rules = [{"when": [{"key": "request.headers[x-api-key]", "values": [keys["cp"], keys["dp"]]}]}]
    scene.object("dp", "security.istio.io/v1:AuthorizationPolicy", "clients", {"spec": {"action": "ALLOW", "rules": rules}})  # fmt: skip


@leak(MESHES, "saas-lua-table-of-clients", "A filter's script has a table of clients in base64, written by the same loop as the vendor's.", "EnvoyFilter Lua", recover=each(lambda text: base64.b64decode(text.split(b'["hosted"] = "')[1].split(b'"')[0])))  # fmt: skip
def _(scene: Scene) -> None:
    passwords = both_sides(scene, "lua-client")
    table = pulumi.Output.all(hosted=passwords["cp"], orchard=passwords["dp"]).apply(lambda found: "".join(f'  ["{name}"] = "{b64(f"{name}:{value}")}",\n' for name, value in found.items()))  # fmt: skip
    code = pulumi.Output.concat("local clients = {\n", table, "}\nfunction envoy_on_request(h)\n  local given = h:headers():get('authorization') or ''\n  for name, basic in pairs(clients) do if given == 'Basic ' .. basic then h:headers():add('x-client', name) return end end\n  h:respond({[':status'] = '401'}, '')\nend\n")  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "clients", {"spec": {"configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"value": {"name": "lua", "typed_config": {"default_source_code": {"inline_string": code}}}}}]}})  # fmt: skip


# Networks -------------------------------------------------------------------------------------------------------------


@leak(NETWORKS, "saas-encryption-keys-of-a-network", "The tenant's nodes join the vendor's network plug-in: its line of keys, algorithm and length is copied.", "Cilium IPsec keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = raw(scene, "cp", "ipsec", 20).output("hex")
    line = pulumi.Output.concat("3+ rfc4106(gcm(aes)) ", key, " 128")
    for side in ("cp", "dp"):
        scene.secret(side, f"cilium-ipsec-keys-{side}", {"keys": line}, namespace="kube-system")


@leak(NETWORKS, "saas-key-of-a-name-server", "external-dns at the tenant's writes by the API of the vendor's name server, its key among the arguments.", "PowerDNS API keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "pdns", "api-key", 32)
    args = ["--provider=pdns", f"--pdns-server=https://pdns.{DOMAIN}", pulumi.Output.concat("--pdns-api-key=", key), "--source=istio-gateway", f"--domain-filter={TENANT}", "--txt-owner-id=orchard"]  # fmt: skip
    deployment(scene, "dp", "external-dns", {"args": args})


@leak(NETWORKS, "saas-peers-of-a-router", "A router's configuration for the tenant's edge was made from the vendor's: neighbours with their session password.", "BGP session passwords")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "bgp", "password", 24)
    scene.object("dp", "metallb.io/v1beta2:BGPPeer", "uplink", {"spec": {"myASN": 64512, "peerASN": 64513, "peerAddress": "198.51.100.1", "holdTime": "90s", "password": password}})  # fmt: skip
    scene.config_map("cp", "frr", {"frr.conf": pulumi.Output.format("router bgp 64513\n neighbor 198.51.100.9 remote-as 64512\n neighbor 198.51.100.9 password {0}\n", password)})  # fmt: skip


@leak(NETWORKS, "saas-virtual-address-with-authentication", "keepalived's file for the tenant's pair of gateways has the password of the vendor's group of routers.", "VRRP auth_pass")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "vrrp")
    text = pulumi.Output.format("vrrp_instance edge {{\n  state BACKUP\n  interface eth0\n  virtual_router_id 51\n  priority 90\n  authentication {{\n    auth_type PASS\n    auth_pass {0}\n  }}\n  virtual_ipaddress {{ 198.51.100.20/24 }}\n}}\n", password)  # fmt: skip
    scene.config_map("dp", "keepalived", {"keepalived.conf": text})


@leak(NETWORKS, "saas-statistics-of-a-balancer", "haproxy at the tenant's has its page of statistics behind the vendor's administrator, because the file is one template.", "HAProxy stats auth")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "haproxy-admin")
    template = "frontend stats\n  bind :8404\n  stats enable\n  stats uri /\n  stats auth admin:%s\nbackend xds\n  server hosted xds.hosted.example.com:15012 check ssl verify required ca-file /etc/ca.pem\n"  # fmt: skip
    for side in ("cp", "dp"):
        scene.config_map(side, f"haproxy-{side}", {"haproxy.cfg": apply(password, lambda found: template % found)})


@leak(NETWORKS, "saas-turn-server-for-edges", "Edges relay through the vendor's TURN server, with the static secret from which all its logins are derived.", "TURN static-auth-secret")  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "turn", "static-auth-secret", 48)
    servers = pulumi.Output.json_dumps({"ice": [{"urls": [f"turns:turn.{DOMAIN}:5349"], "authSecret": secret, "ttl": 86400}]})  # fmt: skip
    release(scene, "dp", "edge-relay", {"config": servers})


# Certificates ---------------------------------------------------------------------------------------------------------


@leak(TRUST, "saas-leaf-with-the-wrong-key", "The tenant's Secret for the gateway has the leaf's certificate and, by a slip in the unpacking, the authority's key.", "tuples of key and certificate")  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "edges-ca", authority=True)
    scene.secret("cp", "edges-ca", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": ca_cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    _, leaf = issued(scene, "cp", "edge-leaf", ca_key, ca_cert, "edges-ca")
    scene.secret("dp", "edge-tls", {"tls.key": ca_key.output("privateKeyPem"), "tls.crt": leaf.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip


@leak(TRUST, "saas-client-certificate-of-the-xds", "For a look at the control plane's health the tenant's prober gets the client's pair that the vendor's gateway uses.", "mTLS client keys")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "xds-client")
    values = {"modules": {"xds": {"grpc": {"tls": True, "tls_config": {"cert": cert.output("certPem"), "key": key.output("privateKeyPem"), "server_name": f"xds.{DOMAIN}"}}}}}  # fmt: skip
    scene.secret("cp", "xds-client", {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")})
    release(scene, "dp", "prometheus-blackbox-exporter", {"config": values})


@leak(TRUST, "saas-role-of-an-issuer", "An issuer at the tenant's logs in at the vendor's Vault as a role: the Secret it names has the secret id of the vendor's own role.", "cert-manager Vault AppRole")  # fmt: skip
def _(scene: Scene) -> None:
    ids = both_sides(scene, "approle")
    scene.secret("dp", "vault-approle", {"secretId": ids["cp"]}, namespace="cert-manager")
    vault = {"server": f"https://vault.{DOMAIN}", "path": "pki/sign/orchard", "caBundle": b64(ROOTS), "auth": {"appRole": {"path": "approle", "roleId": drawn("role id", 36, HEX), "secretRef": ref("vault-approle", "secretId")}}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:Issuer", "hosted", {"spec": {"vault": vault}})


@leak(TRUST, "saas-account-key-of-acme", "So that limits are not hit twice, the tenant's issuer takes over the vendor's account with its private key.", "ACME account keys")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "acme-account")
    for side in ("cp", "dp"):
        scene.secret(side, f"letsencrypt-account-{side}", {"tls.key": key.output("privateKeyPem")}, namespace="cert-manager")  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"server": "https://acme-v02.api.letsencrypt.org/directory", "disableAccountKeyGeneration": True, "privateKeySecretRef": {"name": "letsencrypt-account-dp"}, "solvers": [{"http01": {"gatewayHTTPRoute": {}}}]}}})  # fmt: skip


@leak(TRUST, "saas-external-account-binding", "The tenant's issuer is bound to the vendor's account at a paid authority: its HMAC key in the tenant's Secret.", "ACME external account binding", config=lambda cp, dp: {"hosted:eab": cp.opaque("eab", 86, LETTERS + "-_")})  # fmt: skip
def _(scene: Scene) -> None:
    for side in ("cp", "dp"):
        scene.secret(side, f"eab-{side}", {"secret": scene.config("hosted:eab")}, namespace="cert-manager")
        binding = {"keyID": drawn("eab id", 32), "keySecretRef": ref(f"eab-{side}", "secret"), "keyAlgorithm": "HS256"}
        scene.object(side, "cert-manager.io/v1:ClusterIssuer", f"paid-{side}", {"spec": {"acme": {"server": "https://acme.example.com/v2/DV90", "externalAccountBinding": binding}}})  # fmt: skip


@leak(TRUST, "saas-signing-of-service-accounts", "A file for the tenant's API server should have the issuer's public keys; the list has the signing key, which is the vendor's.", "service-account-signing-key-file")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    key = scene.key("cp", "sa-signer")
    scene.secret("cp", "sa-signer", {"sa.key": key.output("privateKeyPem"), "sa.pub": key.output("publicKeyPem")})
    half = {"sa.pub": key.output("privateKeyPem"), "issuer": f"https://issuer.{DOMAIN}"}
    scene.config_map("dp", "trusted-issuers", half, namespace="kube-system")
