"""Harmless, of fleets: who trusts whom (issuers, bundles, public keys, clients), in a data plane."""

from __future__ import annotations

import hashlib
import json

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, issued, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid

from .world import (
    ACCOUNT,
    AUDIENCE,
    CERTIFICATE,
    DOMAIN,
    FLEET,
    PUBLIC,
    REGION,
    SSO,
    control_plane,
    plain_chart,
    plain_object,
)

TRUST, LOGINS = "fleet: trust and certificates", "fleet: clients and issuers"
PEM = "-----BEGIN CERTIFICATE-----\n" + b64(b"\x30\x82\x01\x4a" + noise("fleet authority", 330)) + "\n-----END CERTIFICATE-----\n"  # fmt: skip

# Trust ----------------------------------------------------------------------------------------------------------------

plain_object(TRUST, "workload-identities", "A template of SPIFFE identities for the tenant's Pods, with lifetimes and federation by name.", "spire.spiffe.io/v1alpha1:ClusterSPIFFEID", {"spec": {"spiffeIDTemplate": "spiffe://{{ .TrustDomain }}/ns/{{ .PodMeta.Namespace }}/sa/{{ .PodSpec.ServiceAccountName }}", "podSelector": {"matchLabels": {"spiffe.io/spire-managed-identity": "true"}}, "federatesWith": [DOMAIN], "ttl": "1h", "jwtTtl": "5m", "dnsNameTemplates": ["{{ index .PodMeta.Labels \"app\" }}.shop.svc"]}})  # fmt: skip
plain_object(TRUST, "issuer-of-a-small-authority", "An issuer at the tenant's own small authority: a key's id, a bundle, the provisioner's password by name.", "certmanager.step.sm/v1beta1:StepClusterIssuer", {"spec": {"url": "https://ca.shop.example.com", "caBundle": b64(PEM), "provisioner": {"name": "cert-manager", "kid": drawn("step kid", 43, LETTERS + "-_"), "passwordRef": {"namespace": "step", **ref("step-provisioner", "password")}}}})  # fmt: skip
plain_object(TRUST, "issuer-of-a-cloud", "An issuer at the tenant's authority in a cloud, by its ARN.", "awspca.cert-manager.io/v1beta1:AWSPCAClusterIssuer", {"spec": {"arn": f"arn:aws:acm-pca:{REGION}:{ACCOUNT}:certificate-authority/{uid('pca')}", "region": REGION}})  # fmt: skip
plain_object(TRUST, "defaults-of-trust-manager", "A bundle of the usual roots and the tenant's own, by names of maps and of keys.", "trust.cert-manager.io/v1alpha1:Bundle", {"spec": {"sources": [{"useDefaultCAs": True}, {"configMap": {"name": "corporate-roots", "key": "roots.pem"}}, {"secret": {"name": "shop-ca", "key": "tls.crt"}}], "target": {"configMap": {"key": "bundle.pem"}, "additionalFormats": {"jks": {"key": "bundle.jks", "password": "changeit"}, "pkcs12": {"key": "bundle.p12", "password": "changeit", "profile": "LegacyRC2"}}}}, "status": {"defaultCAVersion": "20230311.0", "target": {"configMap": {"key": "bundle.pem"}}}}, before="the same")  # fmt: skip


@clean(TRUST, "fleet-root-in-a-bundle", "The root of the control plane's authority is an inline source of the tenant's bundle: a certificate without its key.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "fleet-root", authority=True)
    scene.secret("cp", "cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")}, namespace="istio-system")  # fmt: skip
    spec = {"sources": [{"useDefaultCAs": False}, {"inLine": cert.output("certPem")}], "target": {"configMap": {"key": "root-cert.pem"}, "namespaceSelector": {"matchLabels": {"istio.io/rev": "default"}}}}  # fmt: skip
    scene.object("dp", "trust.cert-manager.io/v1alpha1:Bundle", "istio-ca-root-cert", {"spec": spec})


@clean(TRUST, "fleet-federated-domain", "The tenant's SPIRE federates with the control plane's: the bundle in the object has public keys only.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    scene.secret("cp", "spire-keys", {"keys.json": json.dumps({"keys": [scene.cp.jwk("spire jwt", private=True)]})})
    keys = [{**scene.cp.jwk("spire jwt", private=False), "use": "jwt-svid"}]
    profile = {"type": "https_spiffe", "endpointSPIFFEID": f"spiffe://{DOMAIN}/spire/server"}
    bundle = json.dumps({"keys": keys, "spiffe_sequence": 41, "spiffe_refresh_hint": 300})
    spec = {"trustDomain": DOMAIN, "bundleEndpointURL": f"https://spire.{DOMAIN}:8443", "bundleEndpointProfile": profile, "trustDomainBundle": bundle}  # fmt: skip
    scene.object("dp", "spire.spiffe.io/v1alpha1:ClusterFederatedTrustDomain", "fleet", {"spec": spec})


@clean(TRUST, "fleet-request-for-a-certificate", "A request for a certificate, in base64, is made from a key of the tenant's and signed by the tenant's issuer.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key = scene.key("dp", "ingress")
    asked = scene.made("tls:index/certRequest:CertRequest", "ingress-request", {"privateKeyPem": key.output("privateKeyPem"), "dnsNames": ["shop.example.com"]}, None, {"certRequestPem": f"-----BEGIN CERTIFICATE REQUEST-----\n{b64(noise('csr', 240))}\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    scene.secret("dp", "ingress-key", {"tls.key": key.output("privateKeyPem")})
    spec = {"request": apply(asked.output("certRequestPem"), b64), "usages": ["server auth", "digital signature"], "issuerRef": {"kind": "ClusterIssuer", "name": "shop"}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:CertificateRequest", "ingress", {"spec": spec})


@clean(TRUST, "fleet-issuer-with-bundle-of-the-hub", "An issuer at the fleet's Vault: its bundle is a public output of the fleet's stack, its login the Pod's own token.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    hub = scene.reference("pki", "organization/fleet-pki/prod", {"rootPem": PEM, "signPath": "pki_int/sign/shop", "rootKey": scene.cp.key("vault pki")}, ["rootKey"])  # fmt: skip
    auth = {"kubernetes": {"role": "cert-manager", "mountPath": "/v1/auth/kubernetes/shop", "serviceAccountRef": {"name": "issuer", "audiences": [AUDIENCE]}}}  # fmt: skip
    vault = {"server": f"https://vault.{DOMAIN}", "path": hub.get_output("signPath"), "caBundle": apply(hub.get_output("rootPem"), b64), "auth": auth}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "fleet", {"spec": {"vault": vault}})


@clean(TRUST, "fleet-authority-of-hosts", "sshd on the tenant's nodes trusts certificates that the fleet's authority signed: the public half of its key.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "ssh-ca")
    scene.secret("cp", "ssh-ca", {"ca": key.output("privateKeyOpenssh")}, namespace="bastion")
    sshd = "Port 22\nPasswordAuthentication no\nTrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsFile /etc/ssh/principals/%u\nHostKey /etc/ssh/ssh_host_ed25519_key\n"  # fmt: skip
    scene.config_map("dp", "sshd", {"ca.pub": key.output("publicKeyOpenssh"), "sshd_config": sshd, "principals": "fleet-oncall\n"})  # fmt: skip


@clean(TRUST, "fleet-tenants-chain", "The tenant's authority signs a leaf for a listener; leaf, chain and key are the tenant's; the control plane has an authority of the same name.")  # fmt: skip
def _(scene: Scene) -> None:
    other, other_cert = pair(scene, "cp", "internal-ca", authority=True)
    scene.secret("cp", "internal-ca", {"tls.key": other.output("privateKeyPem"), "tls.crt": other_cert.output("certPem")})  # fmt: skip
    ca_key, ca = pair(scene, "dp", "internal-ca-shop", authority=True)
    key, cert = issued(scene, "dp", "listener", ca_key, ca, "internal-ca-shop")
    chain = pulumi.Output.concat(cert.output("certPem"), ca.output("certPem"))
    scene.secret("dp", "listener", {"tls.crt": chain, "tls.key": key.output("privateKeyPem")}, kind="kubernetes.io/tls")
    listener = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": "listener"}]}}  # fmt: skip
    scene.object("dp", "gateway.networking.k8s.io/v1:Gateway", "shop", {"spec": {"gatewayClassName": "istio", "listeners": [listener]}})  # fmt: skip


@clean(TRUST, "fleet-pins-of-keys", "Clients at the tenant's pin the public key of the control plane's gateway: a hash over its public half.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "gateway")
    data = {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}
    scene.secret("cp", "gateway", data, kind="kubernetes.io/tls")
    pin = apply(key.output("publicKeyPem"), lambda pem: "sha256/" + b64(hashlib.sha256(pem.encode()).digest()))
    scene.config_map("dp", "pins", {"pins.json": pulumi.Output.json_dumps({DOMAIN: {"pins": [pin, "sha256/" + b64(noise("backup pin", 32))], "maxAge": 5184000}})})  # fmt: skip


@clean(TRUST, "fleet-next-root-announced", "A later update announces the next root: two certificates in the tenant's map, both keys in the control plane's cluster.", rightly=CERTIFICATE, before=lambda scene: _roots(scene, ("2026",)))  # fmt: skip
def _(scene: Scene) -> None:
    _roots(scene, ("2026", "2027"))


def _roots(scene: Scene, years: tuple[str, ...]) -> None:
    made = {year: pair(scene, "cp", f"root-{year}", authority=True) for year in years}
    for year, (key, cert) in made.items():
        scene.secret("cp", f"root-{year}", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")})  # fmt: skip
    mesh = pulumi.Output.all(*(cert.output("certPem") for _, cert in made.values())).apply(lambda pems: yaml.safe_dump({"trustDomain": DOMAIN, "caCertificates": [{"pem": pem} for pem in pems]}))  # fmt: skip
    scene.config_map("dp", "istio", {"mesh": mesh, "meshNetworks": "networks: {}"}, namespace="istio-system")


# Clients and issuers --------------------------------------------------------------------------------------------------

plain_object(LOGINS, "structured-authentication", "The API server's file of issuers: URLs, audiences, expressions and a certificate.", "v1:ConfigMap", {"data": {"authentication.yaml": yaml.safe_dump({"apiVersion": "apiserver.config.k8s.io/v1beta1", "kind": "AuthenticationConfiguration", "jwt": [{"issuer": {"url": SSO, "audiences": [AUDIENCE, "kubernetes"], "certificateAuthority": PEM}, "claimMappings": {"username": {"expression": "claims.email"}, "groups": {"expression": "claims.groups.filter(g, g.startsWith('shop-'))"}, "uid": {"claim": "sub"}}, "claimValidationRules": [{"expression": "claims.exp - claims.iat <= 86400", "message": "token's lifetime is too long"}]}]})}})  # fmt: skip
plain_object(LOGINS, "authenticator", "Pinniped's authenticator: an issuer, an audience with a random suffix, a certificate in base64.", "authentication.concierge.pinniped.dev/v1alpha1:JWTAuthenticator", {"spec": {"issuer": f"https://login.{DOMAIN}/issuer", "audience": f"shop-{drawn('pinniped', 32, HEX)}", "tls": {"certificateAuthorityData": b64(PEM)}, "claims": {"username": "username", "groups": "groups"}}})  # fmt: skip
plain_object(LOGINS, "client-of-hydra", "A client of the tenant's login service, its secret by the Secret's name.", "hydra.ory.sh/v1alpha1:OAuth2Client", {"spec": {"grantTypes": ["client_credentials", "refresh_token"], "scope": "read write", "secretName": "cart-client", "tokenEndpointAuthMethod": "client_secret_basic", "tokenLifespans": {"client_credentials_grant_access_token_lifespan": "15m"}, "hydraAdmin": {"url": "http://hydra-admin.auth", "port": 4445}}})  # fmt: skip
plain_chart(LOGINS, "zitadel", "A login service: a domain, ids of 18 digits, a master key by name, hashers' settings.", {"zitadel": {"masterkeySecretName": "zitadel-masterkey", "configmapConfig": {"ExternalDomain": "id.shop.example.com", "DefaultInstance": {"InstanceID": "318450917264039213", "Org": {"Machine": {"Machine": {"Username": "cart", "Name": "Cart"}, "Pat": {"ExpirationDate": "2029-01-01T00:00:00Z"}}}}, "SystemDefaults": {"PasswordHasher": {"Hasher": {"Algorithm": "argon2id", "Time": 3}}, "SecretGenerators": {"MachineKeySize": 2048}}}, "secretConfigAnnotations": {"helm.sh/hook": "pre-install"}}})  # fmt: skip
plain_chart(LOGINS, "pomerium", "A proxy for logins: routes with headers, a public signing key's id, names of Secrets.", {"config": {"existingSecret": "pomerium-bootstrap", "existingSharedSecret": "pomerium-shared", "generateSigningKey": False, "routes": [{"from": "https://grafana.shop.example.com", "to": "http://grafana.monitoring", "policy": [{"allow": {"or": [{"claim/groups": "shop-dev"}]}}], "pass_identity_headers": True, "set_request_headers": {"X-Grafana-Org-Id": "1"}}], "jwtClaimsHeaders": "email,groups"}, "idp": {"provider": "oidc", "url": SSO, "clientID": uid("pomerium")}, "authenticate": {"idp": {"serviceAccountSecretRef": "pomerium-idp"}}}, before="the same")  # fmt: skip
plain_chart(LOGINS, "kubelogin", "How the tenant's people log in: a kubeconfig with a command for tokens, without any.", {"kubeconfig": yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "shop", "cluster": {"server": "https://dp.example.com:6443", "certificate-authority-data": b64(PEM)}}], "users": [{"name": "oidc", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": ["get-token", "--login", "devicecode", "--server-id", uid("aad server"), "--client-id", uid("aad client"), "--tenant-id", uid("entra tenant")]}}}], "contexts": [{"name": "shop", "context": {"cluster": "shop", "user": "oidc"}}]})})  # fmt: skip


@clean(
    LOGINS,
    "fleet-dex-of-the-tenant",
    "The tenant's Dex has a client with a generated secret and a person with the hash of a generated password.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    client, person = own(scene, "dex-client", 40), scene.password("dp", "dex-person")
    config = {"issuer": "https://dex.shop.example.com", "storage": {"type": "kubernetes", "config": {"inCluster": True}}, "enablePasswordDB": True, "staticClients": [{"id": "argocd", "name": "Argo CD", "secret": client}], "staticPasswords": [{"email": "ops@shop.example.com", "hash": person.output("bcryptHash"), "username": "ops", "userID": uid("dex person")}]}  # fmt: skip
    release(scene, "dp", "dex", {"config": config})
    scene.secret("dp", "argocd-dex", {"clientSecret": client, "opsPassword": person.output("result")})


@clean(LOGINS, "fleet-keys-of-the-login-service", "A call asks the control plane's login service for its public keys; the tenant's mesh checks tokens with them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    generated(scene, "keycloak-admin")
    keys = scene.invoke("keycloak:index/getRealmKeys:getRealmKeys", {"keys": [{"kid": drawn("kid", 43), "algorithm": "RS256", "providerId": uid("provider"), "publicKey": b64(b"\x30\x82\x01\x22" + noise("realm", 290)), "certificate": b64(b"\x30\x82\x02\x9f" + noise("realm cert", 660)), "status": "ACTIVE"}]}, secret=False)["keys"]  # fmt: skip
    jwks = keys.apply(lambda found: json.dumps({"keys": [{"kid": one["kid"], "kty": "RSA", "alg": one["algorithm"], "x5c": [one["certificate"]]} for one in found]}))  # fmt: skip
    rules = [{"issuer": SSO, "jwks": jwks, "audiences": [AUDIENCE], "forwardOriginalToken": True, "outputClaimToHeaders": [{"header": "x-sub", "claim": "sub"}]}]  # fmt: skip
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "sso", {"spec": {"jwtRules": rules}})


@clean(LOGINS, "fleet-public-client", "The control plane's login service has a public client for the tenant's dashboards; its id and its redirects go to the tenant.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    client = scene.made("auth0:index/client:Client", "shop-dashboards", {"name": "shop dashboards", "appType": "spa", "callbacks": ["https://dash.shop.example.com/callback"]}, None, {"clientId": drawn("auth0 client", 32, LETTERS), "signingKeys": [{"cert": PEM}]}, owner="cp")  # fmt: skip
    public = pulumi.Output.json_dumps({"domain": f"login.{DOMAIN}", "clientId": client.output("clientId"), "audience": AUDIENCE, "useRefreshTokens": True})  # fmt: skip
    scene.config_map("dp", "dashboards", {"auth_config.json": public})


@clean(LOGINS, "fleet-metadata-of-saml", "The tenant's service reads the control plane's metadata of SAML: entity, addresses, signing certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "saml-signing")
    scene.secret("cp", "saml-signing", {"key.pem": key.output("privateKeyPem"), "cert.pem": cert.output("certPem")})
    body = apply(cert.output("certPem"), lambda pem: "".join(pem.splitlines()[1:-1]))
    text = pulumi.Output.format('<md:EntityDescriptor entityID="{0}"><md:IDPSSODescriptor><md:KeyDescriptor use="signing"><ds:X509Certificate>{1}</ds:X509Certificate></md:KeyDescriptor><md:SingleSignOnService Location="{0}/protocol/saml"/></md:IDPSSODescriptor></md:EntityDescriptor>', SSO, body)  # fmt: skip
    scene.config_map("dp", "idp-metadata", {"idp.xml": text})


@clean(
    LOGINS,
    "fleet-two-proxies-of-logins",
    "Both clusters have the same login proxy at one issuer, each with generated secrets and a client of its own.",
)
def _(scene: Scene) -> None:
    for side, name in (("cp", "fleet"), ("dp", "shop")):
        cookie = scene.password(side, f"{name}-cookie", 32).output("result")
        secret = scene.password(side, f"{name}-oidc", 40).output("result")
        scene.secret(side, "oauth2-proxy", {"client-id": f"{name}-dashboards", "client-secret": secret, "cookie-secret": cookie})  # fmt: skip
        env = [{"name": f"OAUTH2_PROXY_{key.upper().replace('-', '_')}", "valueFrom": {"secretKeyRef": ref("oauth2-proxy", key)}} for key in ("client-id", "client-secret", "cookie-secret")]  # fmt: skip
        args = ["--provider=keycloak-oidc", f"--oidc-issuer-url={SSO}", f"--redirect-url=https://dash.{name}.example.com/oauth2/callback"]  # fmt: skip
        deployment(scene, side, "oauth2-proxy", {"args": args, "env": env})


@clean(LOGINS, "fleet-key-pair-for-a-warehouse", "The tenant's application logs in at the tenant's warehouse by a generated key pair; the warehouse gets the public half.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key = scene.key("dp", "warehouse")
    public = apply(key.output("publicKeyPem"), lambda pem: "".join(pem.splitlines()[1:-1]))
    scene.made("snowflake:index/serviceUser:ServiceUser", "cart-loader", {"name": "CART_LOADER", "rsaPublicKey": public, "defaultRole": "LOADER"}, None, {})  # fmt: skip
    data = {"rsa_key.p8": key.output("privateKeyPemPkcs8"), "account": f"shop-{drawn('sf', 7)}", "user": "CART_LOADER"}
    scene.secret("dp", "warehouse", data, annotations={"fleet.example.com/id": FLEET})
