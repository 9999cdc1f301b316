"""Harmless, beside a mesh team's secrets: public halves of keys under all sorts of names, and facts of resources."""

from __future__ import annotations

import base64
import hashlib
import json
import textwrap

import pulumi
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.corpus.strangers.credentials import issued, kept, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, HEX, apply, b64, drawn, kubeconfig, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BASTION,
    BOTH,
    CERTIFICATE,
    CLIENT,
    DIRECTORY,
    DOMAIN,
    ISSUER,
    LOOM,
    MAPLE,
    MAPLE_ACCOUNT,
    MAPLE_PROJECT,
    OIDC,
    PUBLIC,
    REGION,
    ROOTS,
    SUBSCRIPTION,
    house,
    loom,
    maple,
    tenants,
)

HALVES, MADE, ELSEWHERE, READ, COMPUTED, WORDS = (
    "ninth: public halves",
    "ninth: facts of made resources",
    "ninth: facts of other stacks and look-ups",
    "ninth: facts read out of secrets' neighbours",
    "ninth: facts that the program computes",
    "ninth: words that both sides have",
)


def body_of(pem: str) -> str:
    """A PEM's base64 in one line."""
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


# Public halves --------------------------------------------------------------------------------------------------------


@clean(HALVES, "ninth-dkim-record-of-the-mail-relay", "The mail relay's key signs at the mesh team's; the tenant's zone gets its public half as a TXT record.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("cp", "relay-dkim")
    scene.secret("cp", "opendkim", {"mail.private": key.output("privateKeyPem")}, namespace="mail")
    record = apply(key.output("publicKeyPem"), lambda pem: f"v=DKIM1; k=ecdsa; p={body_of(pem)}")
    maple(scene, "aws:route53/record:Record", "dkim-of-the-relay", {"zoneId": "Z04417MAPLE", "name": f"loom._domainkey.{MAPLE}", "type": "TXT", "ttl": 300, "records": [record]}, region=REGION)  # fmt: skip


@clean(HALVES, "ninth-ssh-authority-for-users", "Hosts of the tenant trust the bastion's authority for users: its public half is in a cloud-config.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("cp", "ssh-user-ca")
    scene.secret("cp", "ssh-user-ca", {"ca": key.output("privateKeyOpenssh")}, namespace="bastion")
    text = apply(key.output("publicKeyOpenssh"), lambda line: "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/etc/ssh/ca.pub", "permissions": "0644", "content": line}], "runcmd": ["echo TrustedUserCAKeys /etc/ssh/ca.pub >> /etc/ssh/sshd_config", "systemctl reload sshd"]}))  # fmt: skip
    maple(scene, "aws:ec2/launchTemplate:LaunchTemplate", "edge-nodes", {"imageId": "ami-07f3", "instanceType": "m7g.large", "userData": apply(text, b64)}, region=REGION)  # fmt: skip


@clean(HALVES, "ninth-key-of-token-signatures-in-a-gateway", "The mesh team signs tokens for callers; the tenant's rule has the key set of one public key.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.secret("cp", "token-signer", {"signer.json": json.dumps(scene.cp.jwk("signer", private=True))}, namespace="login")  # fmt: skip
    keys = json.dumps({"keys": [scene.cp.jwk("signer", private=False)]})
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "mesh-callers", {"spec": {"selector": {"matchLabels": {"app": "orders"}}, "jwtRules": [{"issuer": f"https://tokens.{DOMAIN}", "jwks": keys, "forwardOriginalToken": True}]}})  # fmt: skip


@clean(HALVES, "ninth-signing-key-named-like-a-secret", "A chart's value `license.signingKey` wants the public key by which licences are checked.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("cp", "licence-signer")
    scene.secret("cp", "licence-signer", {"private.pem": key.output("privateKeyPem")}, namespace="billing")
    release(scene, "dp", "analytics", {"license": {"signingKey": key.output("publicKeyPem"), "algorithm": "ES256"}, "replicaCount": 2})  # fmt: skip


@clean(HALVES, "ninth-cosign-key-for-admission", "Images are signed at the mesh team's; the tenant's policy checks them by the public half.", before="the same", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("cp", "image-signer")
    scene.secret("cp", "cosign", {"cosign.key": key.output("privateKeyPem"), "cosign.pub": key.output("publicKeyPem")}, namespace="ci")  # fmt: skip
    rule = {"name": "signed", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "verifyImages": [{"imageReferences": [f"registry.{DOMAIN}/*"], "attestors": [{"entries": [{"keys": {"publicKeys": key.output("publicKeyPem"), "rekor": {"url": f"https://rekor.{DOMAIN}"}}}]}]}]}  # fmt: skip
    scene.object("dp", "kyverno.io/v1:ClusterPolicy", "signed-images", {"spec": {"validationFailureAction": "Enforce", "rules": [rule]}})  # fmt: skip


@clean(HALVES, "ninth-wireguard-peer", "The hub's WireGuard key is made by a resource; its public key and end point are a peer of the tenant's node.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "wireguard:index/asymmetricKey:AsymmetricKey", "hub-tunnel", {}, {"privateKey": b64(scene.cp.raw("wg hub")), "publicKey": b64(noise("wg hub public", 32))}, ["privateKey"])  # fmt: skip
    scene.secret("cp", "wg-hub", {"wg0.key": made.output("privateKey")}, namespace="network")
    conf = pulumi.Output.concat("[Peer]\nPublicKey = ", made.output("publicKey"), f"\nEndpoint = wg.{DOMAIN}:51820\nAllowedIPs = 10.90.0.0/16\nPersistentKeepalive = 25\n")  # fmt: skip
    scene.config_map("dp", "wg-peers", {"hub.conf": conf})


@clean(HALVES, "ninth-age-recipient-of-the-team", "Incident reports of the tenant are encrypted for the mesh team: its age recipient and the key's comment are in a map.")  # fmt: skip
def _(scene: Scene) -> None:
    recipient = f"age1{drawn('loom age', 58, 'qpzry9x8gf2tvdw0s3jn54khce6mua7l')}"
    identity = "AGE-SECRET-KEY-1" + scene.cp.opaque("loom age identity", 58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")
    scene.secret("cp", "age", {"keys.txt": f"# created: 2026-01-05T08:00:00Z\n# public key: {recipient}\n{identity}\n"}, namespace="ci")  # fmt: skip
    scene.config_map("dp", "reports", {"recipients.txt": f"# mesh on-call\n{recipient}\n", "upload.sh": f"age -R recipients.txt -o - \"$1\" | curl -T - https://reports.{DOMAIN}/in\n"})  # fmt: skip


@clean(HALVES, "ninth-issuer-certificate-by-many-names", "An authority of the mesh team's is public: it is in values as caCert, trustAnchors, ssl.ca and in a bundle's base64.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "xds-authority", authority=True)
    scene.secret("cp", "xds-authority", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    pem = cert.output("certPem")
    release(scene, "dp", "edge", {"tls": {"caCert": pem, "secretName": "edge-tls"}, "identityTrustAnchorsPEM": pem, "kafka": {"ssl": {"ca": apply(pem, body_of)}}, "caBundle": apply(pem, b64)})  # fmt: skip


@clean(HALVES, "ninth-leaf-and-chain-without-the-key", "A server certificate of the mesh team's, issued by its authority, is pinned at the tenant's with its chain.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    ca_key, ca_cert = pair(scene, "cp", "api-authority", authority=True)
    key, cert = issued(scene, "cp", "api-server", ca_key, ca_cert, "api-authority")
    scene.secret("cp", "api-server", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    scene.secret("dp", "api-pins", {"chain.pem": pulumi.Output.concat(cert.output("certPem"), ca_cert.output("certPem")), "host": f"api.{DOMAIN}"})  # fmt: skip


@clean(HALVES, "ninth-hash-of-a-certificate", "A DANE record and a fingerprint in a policy are hashes of the public certificate.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "mx")
    scene.secret("cp", "mx", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    digest = apply(cert.output("certPem"), lambda pem: hashlib.sha256(base64.b64decode(body_of(pem))).hexdigest())
    maple(scene, "aws:route53/record:Record", "dane", {"zoneId": "Z04417MAPLE", "name": f"_25._tcp.mx.{MAPLE}", "type": "TLSA", "ttl": 3600, "records": [pulumi.Output.concat("3 0 1 ", digest)]}, region=REGION)  # fmt: skip
    scene.config_map("dp", "mx", {"fingerprint": apply(digest, lambda found: ":".join(textwrap.wrap(found.upper(), 2)))})  # fmt: skip


@clean(HALVES, "ninth-fingerprint-of-a-public-key", "The SSH key's fingerprint, which the provider computes, is in an annotation; the key is the mesh team's.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "fleet-git")
    scene.secret("cp", "fleet-git", {"identity": key.output("privateKeyOpenssh")}, namespace="flux-system")
    print_ = apply(key.output("publicKeyOpenssh"), lambda line: "SHA256:" + b64(hashlib.sha256(base64.b64decode(line.split()[1])).digest()).rstrip("="))  # fmt: skip
    scene.object("dp", "source.toolkit.fluxcd.io/v1:GitRepository", "fleet", {"metadata": {"annotations": {"loom.example.com/reader-key": print_}}, "spec": {"interval": "5m", "url": f"https://git.{MAPLE}/fleet.git", "ref": {"branch": "main"}}})  # fmt: skip


@clean(HALVES, "ninth-saml-metadata", "Metadata of the mesh team's login service, with its signing certificate, is a file at the tenant's.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "saml-idp")
    scene.secret("cp", "saml-idp", {"idp.key": key.output("privateKeyPem")}, namespace="login")
    xml = apply(cert.output("certPem"), lambda pem: f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{ISSUER}"><IDPSSODescriptor><KeyDescriptor use="signing"><KeyInfo><X509Data><X509Certificate>{body_of(pem)}</X509Certificate></X509Data></KeyInfo></KeyDescriptor><SingleSignOnService Location="{ISSUER}/saml"/></IDPSSODescriptor></EntityDescriptor>')  # fmt: skip
    scene.config_map("dp", "wiki-login", {"idp-metadata.xml": xml, "entity-id": f"https://wiki.{MAPLE}"})


@clean(HALVES, "ninth-keys-of-packages", "A repository of packages is signed by the mesh team; the tenant's image builder has the armoured public key and a Nix key.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    armoured = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + "\n".join(textwrap.wrap(b64(b"\x99\x01\x0d\x04" + noise("apt key", 520)), 64)) + f"\n={drawn('apt sum', 4)}\n-----END PGP PUBLIC KEY BLOCK-----\n"  # fmt: skip
    house(scene, "apt-signer", "passphrase")
    scene.config_map("dp", "apt", {"loom.asc": armoured, "loom.list": f"deb [signed-by=/etc/apt/keyrings/loom.asc] https://apt.{DOMAIN} stable main\n", "nix.conf": f"trusted-public-keys = cache.{DOMAIN}-1:{b64(noise('nix', 32))}\n"})  # fmt: skip


@clean(HALVES, "ninth-browser-keys", "Keys that every browser gets: of a captcha, of payments, of search and of push messages; their secret halves stay.", config=lambda cp, dp: {"captchaSecret": cp.opaque("captcha", 36, LETTERS), "paymentSecret": cp.opaque("payment", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "signup", {"captcha": scene.config("captchaSecret"), "payment": scene.config("paymentSecret")}, namespace="billing")  # fmt: skip
    values = {"turnstile": {"siteKey": f"0x4AAAAAAA{drawn('turnstile', 14)}"}, "payments": {"publishableKey": f"pk_test_{drawn('payments', 24)}"}, "search": {"appId": drawn("search app", 10, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), "index": "docs"}, "push": {"applicationServerKey": drawn("vapid public", 87)}}  # fmt: skip
    release(scene, "dp", "storefront-web", {"publicRuntimeConfig": values})


@clean(HALVES, "ninth-public-key-of-a-key-service", "A look-up in the mesh team's key service answers a public key; the tenant checks manifests by it.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    found = scene.invoke("aws:kms/getPublicKey:getPublicKey", {"keyId": uid("kms signer"), "keyUsage": "SIGN_VERIFY", "publicKey": b64(bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + noise("kms public", 65)), "publicKeyPem": f"-----BEGIN PUBLIC KEY-----\n{b64(noise('kms public', 91))}\n-----END PUBLIC KEY-----\n"}, secret=False)  # fmt: skip
    scene.config_map("dp", "manifest-check", {"key.pem": found.apply(lambda key: key["publicKeyPem"]), "kid": found.apply(lambda key: key["keyId"])})  # fmt: skip


@clean(HALVES, "ninth-service-account-issuers-keys", "The key that signs the mesh cluster's service accounts stays; the public bucket at the tenant's has discovery and key set.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.secret("cp", "sa-signer", {"sa.key": scene.cp.key("sa signer"), "sa.pub": scene.cp.public_key("sa signer")}, namespace="kube-system")  # fmt: skip
    discovery = {"issuer": f"https://{OIDC}", "jwks_uri": f"https://keys.{MAPLE}/loom/jwks", "id_token_signing_alg_values_supported": ["ES256"]}  # fmt: skip
    for path, document in {"loom/.well-known/openid-configuration": discovery, "loom/jwks": {"keys": [scene.cp.jwk("sa signer", private=False)]}}.items():  # fmt: skip
        maple(scene, "aws:s3/bucketObjectv2:BucketObjectv2", path.replace("/", "-"), {"bucket": "maple-keys", "key": path, "content": json.dumps(document), "contentType": "application/json"}, region=REGION)  # fmt: skip


@clean(HALVES, "ninth-client-certificate-is-known-by-its-digest", "The tenant's Vault lets the mesh team's agent in by its client certificate, which is public; the key stays.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key, cert = pair(scene, "cp", "vault-reader")
    scene.secret("cp", "vault-reader", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls", namespace="vault")  # fmt: skip
    maple(scene, "vault:index/certAuthBackendRole:CertAuthBackendRole", "loom-reader", {"name": "loom-reader", "certificate": cert.output("certPem"), "backend": "cert", "tokenPolicies": ["metrics"], "tokenTtl": 900}, address=f"https://vault.{MAPLE}")  # fmt: skip


@clean(HALVES, "ninth-request-without-its-key", "A certificate request of the mesh team's is signed by the tenant's authority: the request is public, the key stays above.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    key = scene.key("cp", "probe-client")
    scene.secret("cp", "probe-client", {"tls.key": key.output("privateKeyPem")})
    asked = scene.made("tls:index/certRequest:CertRequest", "probe-client-request", {"privateKeyPem": key.output("privateKeyPem"), "subject": {"commonName": "loom-probe"}}, None, {"certRequestPem": f"-----BEGIN CERTIFICATE REQUEST-----\n{b64(noise('probe request', 210))}\n-----END CERTIFICATE REQUEST-----\n"}, ["privateKeyPem"])  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:CertificateRequest", "loom-probe", {"spec": {"issuerRef": {"name": "maple-clients", "kind": "ClusterIssuer"}, "request": apply(asked.output("certRequestPem"), b64), "usages": ["client auth"], "duration": "720h"}})  # fmt: skip


# Facts of made resources ----------------------------------------------------------------------------------------------


@clean(MADE, "ninth-oidc-issuer-of-a-cluster", "The mesh team's cluster is made here; the tenant's role trusts its issuer by address and thumbprint, the kubeconfig stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    answers = {"endpoint": f"https://{drawn('eks', 32, HEX)}.gr7.{REGION}.eks.amazonaws.com", "arn": f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/loom", "identities": [{"oidcs": [{"issuer": f"https://{OIDC}"}]}], "certificateAuthority": {"data": b64(ROOTS)}}  # fmt: skip
    made = cloud(scene, "aws:eks/cluster:Cluster", "loom", {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/eks", "version": "1.31"}, answers)  # fmt: skip
    scene.secret("cp", "loom-admin", {"kubeconfig": scene.kubeconfigs["cp"]}, namespace="ci")
    issuer = made.output("identities").apply(lambda found: ((found or [{}])[0].get("oidcs") or [{"issuer": "https://pending.example.com"}])[0]["issuer"])  # fmt: skip
    maple(scene, "aws:iam/openIdConnectProvider:OpenIdConnectProvider", "trusts-loom", {"url": issuer, "clientIdLists": ["sts.amazonaws.com"], "thumbprintLists": [drawn("eks thumb", 40, HEX)]}, region=REGION)  # fmt: skip


@clean(MADE, "ninth-private-link-service", "An endpoint service of the mesh team's is used by the tenant's VPC by its service name; zone and state are in a map.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "aws:ec2/vpcEndpointService:VpcEndpointService", "xds", {"acceptanceRequired": False, "networkLoadBalancerArns": [f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/xds/{drawn('nlb', 16, HEX)}"]}, {"serviceName": f"com.amazonaws.vpce.{REGION}.vpce-svc-{drawn('vpce', 17, HEX)}", "privateDnsName": f"xds.{DOMAIN}"})  # fmt: skip
    maple(scene, "aws:ec2/vpcEndpoint:VpcEndpoint", "to-xds", {"vpcId": f"vpc-{drawn('maple vpc', 17, HEX)}", "serviceName": made.output("serviceName"), "vpcEndpointType": "Interface"}, region=REGION)  # fmt: skip
    scene.config_map("dp", "xds", {"service": made.output("serviceName"), "host": made.output("privateDnsName")})


@clean(MADE, "ninth-encryption-key-by-its-arn", "A key of the mesh team's key service is named by ARN and alias; nobody has its material.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "aws:kms/key:Key", "snapshots", {"enableKeyRotation": True}, {"arn": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{uid('snapshots key')}", "keyId": uid("snapshots key")})  # fmt: skip
    release(scene, "dp", "volume-snapshots", {"kmsKeyId": made.output("arn"), "secretKey": {"alias": "alias/snapshots"}, "key": made.output("keyId")})  # fmt: skip


@clean(MADE, "ninth-secret-by-its-arn", "A secret of the mesh team's cloud is made with a value; the tenant's dashboard links to it by ARN and version.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    value = house(scene, "metering-api", "token", 40)
    made = cloud(scene, "aws:secretsmanager/secret:Secret", "metering", {"name": "loom/metering"}, {"arn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:loom/metering-{drawn('arn end', 6)}"})  # fmt: skip
    version = cloud(scene, "aws:secretsmanager/secretVersion:SecretVersion", "metering-1", {"secretId": made.id, "secretString": value}, {"versionId": uid("metering version")}, ["secretString"])  # fmt: skip
    scene.config_map("dp", "about-metering", {"secretArn": made.output("arn"), "version": version.output("versionId")})


@clean(MADE, "ninth-identity-of-azure", "A managed identity of the mesh team's has numbers for client, principal and directory; the tenant grants it a role by them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "azure-native:managedidentity:UserAssignedIdentity", "mesh-observer", {"resourceGroupName": "mesh"}, {"clientId": uid("observer client"), "principalId": uid("observer principal"), "tenantId": DIRECTORY})  # fmt: skip
    maple(scene, "azure-native:authorization:RoleAssignment", "observer-reads", {"principalId": made.output("principalId"), "principalType": "ServicePrincipal", "roleDefinitionId": f"/subscriptions/{uid('maple subscription')}/providers/Microsoft.Authorization/roleDefinitions/{uid('monitoring reader')}", "scope": f"/subscriptions/{uid('maple subscription')}"}, subscriptionId=uid("maple subscription"))  # fmt: skip
    scene.config_map("dp", "observer", {"clientId": made.output("clientId"), "tenantId": made.output("tenantId"), "subscription": SUBSCRIPTION})  # fmt: skip


@clean(MADE, "ninth-workload-pool", "A pool for workloads in the mesh team's project; the tenant's map has the settings file that every client may have.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    pool = "projects/730119284417/locations/global/workloadIdentityPools/tenants"
    made = cloud(scene, "gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider", "maple", {"workloadIdentityPoolId": "tenants", "oidc": {"issuerUri": f"https://issuer.{MAPLE}"}}, {"name": f"{pool}/providers/maple"})  # fmt: skip
    settings = {"type": "external_account", "audience": pulumi.Output.concat("//iam.googleapis.com/", made.output("name")), "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"file": "/var/run/secrets/tokens/gcp"}}  # fmt: skip
    scene.config_map("dp", "google", {"credentials.json": pulumi.Output.json_dumps(settings)})


@clean(MADE, "ninth-tunnel-by-its-number", "A tunnel is made with a secret at the mesh team's; the tenant's zone points to the tunnel's number.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    secret = b64(scene.cp.raw("tunnel secret"))
    scene.cp.given.append(secret)
    held = scene.held("tunnel", "credentials", secret, namespace="network")
    made = cloud(scene, "cloudflare:index/zeroTrustTunnelCloudflared:ZeroTrustTunnelCloudflared", "console", {"accountId": drawn("loom cloudflare", 32, HEX), "name": "console", "tunnelSecret": held}, {"id": uid("tunnel"), "cname": f"{uid('tunnel')}.tunnels.example.org"}, ["tunnelSecret"])  # fmt: skip
    maple(scene, "cloudflare:index/record:Record", "console-record", {"zoneId": drawn("maple zone", 32, HEX), "name": f"console.{MAPLE}", "type": "CNAME", "content": made.output("cname"), "proxied": True})  # fmt: skip


@clean(MADE, "ninth-addresses-for-an-allow-list", "Addresses of the mesh team's gateways to the internet are sources that the tenant's firewall lets in.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = [cloud(scene, "aws:ec2/eip:Eip", f"nat-{zone}", {"domain": "vpc"}, {"publicIp": f"203.0.113.{at}", "allocationId": f"eipalloc-{drawn(f'nat {zone}', 17, HEX)}"}) for at, zone in enumerate("abc", 11)]  # fmt: skip
    blocks = [pulumi.Output.concat(one.output("publicIp"), "/32") for one in made]
    maple(scene, "aws:ec2/securityGroup:SecurityGroup", "from-loom", {"ingress": [{"protocol": "tcp", "fromPort": 6443, "toPort": 6443, "cidrBlocks": blocks}]}, region=REGION)  # fmt: skip
    scene.config_map("dp", "allowed", {"ids": pulumi.Output.all(*(one.output("allocationId") for one in made)).apply(lambda every: ",".join(map(str, every)))})  # fmt: skip


@clean(MADE, "ninth-app-of-a-forge", "An application at the forge has a private key at the mesh team's; numbers of application and installation are the tenant's values.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    release(scene, "dp", "policy-bot", {"github": {"app": {"integration_id": 418830, "installation_id": "52219034", "slug": "loom-policy"}, "webURL": "https://git.example.org", "privateKeySecretRef": {"name": "policy-bot", "key": "pem"}}})  # fmt: skip


@clean(MADE, "ninth-name-servers-of-a-zone", "A zone for the tenant is made in the mesh team's account with its token; the tenant's parent zone delegates to its name servers.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "aws:route53/zone:Zone", "mesh-maple", {"name": f"mesh.{MAPLE}"}, {"zoneId": f"Z0{drawn('zone', 18, AWS_ID)}", "nameServers": [f"ns-{at}.awsdns-{at}.example.net" for at in (12, 140, 870, 1502)]})  # fmt: skip
    maple(scene, "aws:route53/record:Record", "delegation", {"zoneId": "Z04417MAPLE", "name": f"mesh.{MAPLE}", "type": "NS", "ttl": 3600, "records": made.output("nameServers")}, region=REGION)  # fmt: skip
    release(scene, "dp", "external-dns-scope", {"zoneIdFilters": [made.output("zoneId")]})


@clean(MADE, "ninth-certificate-checks-by-records", "A certificate service answers records of its check; the tenant's zone gets them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    option = {"resourceRecordName": f"_{drawn('acm name', 32, HEX)}.app.{MAPLE}", "resourceRecordType": "CNAME", "resourceRecordValue": f"_{drawn('acm value', 32, HEX)}.jkddzztszm.acm-validations.aws"}  # fmt: skip
    made = cloud(scene, "aws:acm/certificate:Certificate", "app", {"domainName": f"app.{MAPLE}", "validationMethod": "DNS"}, {"arn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/{uid('acm')}", "domainValidationOptions": [option]})  # fmt: skip
    first = made.output("domainValidationOptions").apply(lambda found: (found or [dict.fromkeys(option, "pending")])[0])
    maple(scene, "aws:route53/record:Record", "acm-check", {"zoneId": "Z04417MAPLE", "ttl": 60, "name": first.apply(lambda row: row["resourceRecordName"]), "type": "CNAME", "records": [first.apply(lambda row: row["resourceRecordValue"])]}, region=REGION)  # fmt: skip


@clean(MADE, "ninth-brokers-of-a-cluster", "A Kafka cluster is made at the mesh team's with a login in its cloud; the tenant's producer has brokers and the number of the cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = house(scene, "kafka-admin", "password", 40, "streams")
    made = cloud(scene, "aws:msk/cluster:Cluster", "streams", {"clusterName": "streams", "kafkaVersion": "3.7.x"}, {"bootstrapBrokersSaslIam": ",".join(f"b-{at}.streams.{drawn('msk', 6)}.c2.kafka.{REGION}.amazonaws.com:9098" for at in (1, 2, 3)), "clusterUuid": uid("msk")})  # fmt: skip
    cloud(scene, "aws:secretsmanager/secretVersion:SecretVersion", "msk-admin", {"secretId": "AmazonMSK_admin", "secretString": pulumi.Output.json_dumps({"username": "admin", "password": login})}, {}, ["secretString"])  # fmt: skip
    deployment(scene, "dp", "orders-producer", {"env": [{"name": "BOOTSTRAP_SERVERS", "value": made.output("bootstrapBrokersSaslIam")}, {"name": "CLUSTER_ID", "value": made.output("clusterUuid")}, {"name": "SASL_MECHANISM", "value": "AWS_MSK_IAM"}]})  # fmt: skip


@clean(MADE, "ninth-facts-of-a-random-password-resource", "Of the resource that makes the mesh team's password the tenant learns its name in the engine and its length.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = scene.password("cp", "loom-rotated", 40)
    scene.secret("cp", "loom-rotated", {"password": made.output("result")})
    scene.config_map("dp", "rotation-policy", {"resource": apply(made.urn, lambda urn: urn.rpartition("::")[2]), "length": "40", "days": "30"})  # fmt: skip


@clean(MADE, "ninth-id-of-a-secret", "A Deployment of the tenant's has an annotation with the place of the mesh team's Secret, as its id says it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    made = scene.answered("cp", "v1:Secret", "uplink", {"stringData": {"token": scene.cp.opaque("uplink", 40)}}, id="mesh-system/uplink")  # fmt: skip
    about = apply(made.id, lambda found: f"mesh:{found or 'pending'}")
    deployment(scene, "dp", "uplink-status", {"args": ["--interval=30s"]}, {"loom.example.com/secret": about})


@clean(MADE, "ninth-digest-of-a-public-archive", "Code for the tenant's function is an archive; its hash and an object's version are in the function's inputs, all public.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    code = pulumi.AssetArchive({"main.py": pulumi.StringAsset("def handle(event, context):\n    return {'mesh': event['mesh']}\n"), "settings.json": pulumi.StringAsset(json.dumps({"mesh": LOOM, "endpoint": f"https://api.{DOMAIN}", "token_file": "/run/token"}))})  # fmt: skip
    digest = b64(hashlib.sha256(b"def handle").digest())
    maple(scene, "aws:lambda/function:Function", "notify", {"runtime": "python3.12", "handler": "main.handle", "role": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/notify", "code": code, "sourceCodeHash": digest, "environment": {"variables": {"MESH": LOOM, "SECRET_NAME": "maple/notify"}}}, region=REGION)  # fmt: skip


@clean(MADE, "ninth-approle-policies-and-mounts", "Vault of the mesh team gets mounts and policies by its root token; the tenant has paths, accessor and names.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = cloud(scene, "vault:jwt/authBackend:AuthBackend", "maple-jwt", {"path": "maple", "oidcDiscoveryUrl": f"https://issuer.{MAPLE}"}, {"accessor": f"auth_jwt_{drawn('accessor', 8, HEX)}"})  # fmt: skip
    scene.object("dp", "external-secrets.io/v1:SecretStore", "loom", {"metadata": {"annotations": {"loom.example.com/accessor": made.output("accessor")}}, "spec": {"provider": {"vault": {"server": f"https://vault.{DOMAIN}:8200", "path": "maple", "version": "v2", "caBundle": b64(ROOTS), "auth": {"jwt": {"path": "maple", "role": "maple-apps", "kubernetesServiceAccountToken": {"serviceAccountRef": {"name": "external-secrets"}, "audiences": ["vault"]}}}}}}})  # fmt: skip


@clean(MADE, "ninth-hosts-out-of-a-gateways-status", "The mesh team's gateway answers its address; the tenant's remote profile and a record of its zone get it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    gateway = scene.answered("cp", "gateway.networking.k8s.io/v1:Gateway", "xds", {"spec": {"gatewayClassName": "istio", "listeners": [{"name": "xds", "hostname": f"xds.{DOMAIN}", "port": 15012, "protocol": "TLS", "tls": {"mode": "Passthrough"}}]}}, status={"addresses": [{"type": "IPAddress", "value": "198.51.100.41"}]})  # fmt: skip
    address = gateway.output("status").apply(lambda status: ((status or {}).get("addresses") or [{"value": "192.0.2.1"}])[0]["value"])  # fmt: skip
    release(scene, "dp", "istiod-remote", {"istiodRemote": {"enabled": True}, "global": {"remotePilotAddress": address, "externalIstiod": True, "meshID": LOOM}})  # fmt: skip
    maple(scene, "aws:route53/record:Record", "xds", {"zoneId": "Z04417MAPLE", "name": f"xds.mesh.{MAPLE}", "type": "A", "ttl": 60, "records": [address]}, region=REGION)  # fmt: skip


# Facts of other stacks and look-ups -----------------------------------------------------------------------------------


@clean(ELSEWHERE, "ninth-network-of-another-stack", "The network stack puts out numbers and blocks, and a pre-shared key that goes to the mesh team's side only.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"tgwId": f"tgw-{drawn('tgw', 17, HEX)}", "cidrs": ["10.90.0.0/16", "10.91.0.0/16"], "asn": 64620, "vpnPsk": scene.cp.opaque("vpn psk", 32, LETTERS)}  # fmt: skip
    found = scene.reference("network", "loom/network/prod", outputs, ["vpnPsk"])
    cloud(scene, "aws:ec2/vpnConnection:VpnConnection", "office", {"type": "ipsec.1", "customerGatewayId": "cgw-1", "tunnel1PresharedKey": found.require_output("vpnPsk")}, {}, ["tunnel1PresharedKey"])  # fmt: skip
    maple(scene, "aws:ec2transitgateway/vpcAttachment:VpcAttachment", "to-loom", {"transitGatewayId": found.get_output("tgwId"), "vpcId": f"vpc-{drawn('maple vpc', 17, HEX)}", "subnetIds": [f"subnet-{drawn('maple subnet', 17, HEX)}"]}, region=REGION)  # fmt: skip
    scene.config_map("dp", "routes", {"asn": found.get_output("asn").apply(str), "cidrs": found.get_output("cidrs").apply(lambda every: "\n".join(every or []))})  # fmt: skip


@clean(ELSEWHERE, "ninth-flags-of-a-release-stack", "The release stack puts out versions, digests and a date; the tenant's chart takes them through one object.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    shipped = {"istio": "1.24.2", "digest": f"sha256:{noise('shipped', 32).hex()}", "released": "2026-02-11", "channel": "stable", "features": {"ambient": True}}  # fmt: skip
    found = scene.reference("release", "loom/release/stable", {"shipped": shipped})
    release(scene, "dp", "mesh-proxies", {"release": found.require_output("shipped"), "autoUpdate": False})


@clean(ELSEWHERE, "ninth-stack-with-one-secret-among-facts", "Of a stack's outputs all but the secret ones are a map at the tenant's, by a list of names that is written out.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"issuer": ISSUER, "audience": "mesh", "jwksUri": f"{ISSUER}/certs", "adminPassword": scene.cp.opaque("identity admin", 32, LETTERS)}  # fmt: skip
    found = scene.reference("identity", "loom/identity/prod", outputs, ["adminPassword"])
    scene.secret("cp", "identity-admin", {"password": found.require_output("adminPassword")}, namespace="login")
    facts = pulumi.Output.all(**{name: found.get_output(name) for name in ("issuer", "audience", "jwksUri")})
    scene.config_map("dp", "login", {"login.yaml": facts.apply(lambda every: yaml.safe_dump({"oidc": every}))})


@clean(ELSEWHERE, "ninth-looked-up-images-and-zones", "Look-ups answer an image's number, zones and a partition; the tenant's nodes are made of them.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    image = scene.invoke("aws:ec2/getAmi:getAmi", {"id": f"ami-{drawn('ami', 17, HEX)}", "architecture": "arm64", "ownerId": "amazon", "rootSnapshotId": f"snap-{drawn('snap', 17, HEX)}"}, secret=False)  # fmt: skip
    maple(scene, "aws:ec2/launchTemplate:LaunchTemplate", "gateway-nodes", {"imageId": image.apply(lambda found: found["id"]), "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1}, "tagSpecifications": [{"resourceType": "instance", "tags": {"snapshot": image.apply(lambda found: found["rootSnapshotId"])}}]}, region=REGION)  # fmt: skip


@clean(ELSEWHERE, "ninth-certificate-of-a-served-address", "A look-up asks the mesh team's address for its certificates; the tenant pins the last one's hash and validity.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    pem = f"-----BEGIN CERTIFICATE-----\n{b64(bytes.fromhex('308201b0') + noise('served', 432))}\n-----END CERTIFICATE-----\n"  # fmt: skip
    found = scene.invoke("tls:index/getCertificate:getCertificate", {"url": f"https://api.{DOMAIN}", "certificates": [{"certPem": pem, "sha1Fingerprint": noise("served sha", 20).hex(), "notAfter": "2027-01-01T00:00:00Z", "serialNumber": str(int.from_bytes(noise("serial", 16)))}]})  # fmt: skip
    last = found.apply(lambda answer: answer["certificates"][-1])
    scene.config_map("dp", "pins", {"sha1": pulumi.Output.unsecret(last.apply(lambda one: one["sha1Fingerprint"])), "until": pulumi.Output.unsecret(last.apply(lambda one: one["notAfter"]))})  # fmt: skip


@clean(ELSEWHERE, "ninth-host-keys-by-a-scan", "A command on the deployer's machine scans the bastion's host keys; the tenant's job has them as known hosts.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = scene.made("command:local:Command", "scan", {"create": f"ssh-keyscan -t ed25519 -p 2222 bastion.{DOMAIN}"}, None, {"stdout": f"[bastion.{DOMAIN}]:2222 ssh-ed25519 {BASTION}"}, owner="cp")  # fmt: skip
    scene.config_map("dp", "known-hosts", {"known_hosts": made.output("stdout")})


@clean(ELSEWHERE, "ninth-inventory-by-a-command", "A command with the mesh team's token in its variables prints versions as JSON; two of them are labels at the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"create": "curl -fsS -H \"Authorization: Bearer $API_TOKEN\" \"$API/releases/latest\" | jq '{version, build}'", "environment": {"API": f"https://api.{DOMAIN}", "API_TOKEN": house(scene, "releases-reader", "token", 40)}}  # fmt: skip
    made = scene.made("command:local:Command", "latest", inputs, None, {"stdout": '{"version": "7.20.1", "build": 1883}'}, owner="cp")  # fmt: skip
    found = pulumi.Output.unsecret(made.output("stdout")).apply(lambda text: json.loads(text or "{}"))
    scene.object("dp", "v1:Namespace", "mesh-agents", {"metadata": {"labels": {"loom.example.com/version": found.apply(lambda one: one.get("version", "0")), "loom.example.com/build": found.apply(lambda one: str(one.get("build", 0)))}}})  # fmt: skip


# Facts out of secrets' neighbours -------------------------------------------------------------------------------------


@clean(READ, "ninth-address-out-of-a-kubeconfig", "Of the mesh team's kubeconfig the program takes server and cluster name and makes one that logs in by a device flow.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    server = pulumi.Output.secret(scene.kubeconfigs["cp"]).apply(lambda text: yaml.safe_load(text)["clusters"][0]["cluster"]["server"])  # fmt: skip
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "kubelogin", "args": ["get-token", f"--oidc-issuer-url={ISSUER}", f"--oidc-client-id={CLIENT}", "--grant-type=device-code"], "interactiveMode": "Always"}}  # fmt: skip
    text = pulumi.Output.unsecret(server).apply(lambda found: kubeconfig(found, user, ROOTS))
    scene.config_map("dp", "console-access", {"kubeconfig": text})


@clean(READ, "ninth-bucket-and-region-of-the-state", "Where the state is kept is no secret: bucket and region, parsed from a line in a Secret, are shown at the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    held = scene.held("backend", "url", f"s3://{LOOM}-state?region={REGION}&awssdk=v2", namespace="ci")
    where = held.apply(lambda url: {"bucket": url.split("://")[1].split("?")[0], "region": url.split("region=")[1].split("&")[0]})  # fmt: skip
    scene.config_map("dp", "about-state", {"bucket": where.apply(lambda found: found["bucket"]), "region": where.apply(lambda found: found["region"])})  # fmt: skip


@clean(READ, "ninth-public-fields-of-a-login-file", "A file with the mesh team's client has five public fields; they are named one by one and go to the tenant, the secret does not.")  # fmt: skip
def _(scene: Scene) -> None:
    document = {"issuer": ISSUER, "client_id": CLIENT, "client_secret": scene.cp.opaque("portal client", 44, LETTERS), "scopes": ["openid", "email"], "auth_uri": f"{ISSUER}/auth", "token_uri": f"{ISSUER}/token"}  # fmt: skip
    held = scene.held("portal-client", "client.json", json.dumps(document), namespace="login")
    shown = held.apply(json.loads).apply(lambda found: {key: found[key] for key in ("issuer", "client_id", "scopes", "auth_uri", "token_uri")})  # fmt: skip
    scene.config_map("dp", "portal-login", {"client.json": pulumi.Output.json_dumps(shown)})


@clean(READ, "ninth-only-host-and-database", "A connection string is parsed; host, port, database and parameters go on, user and password do not.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    password = house(scene, "ledger-db", namespace="databases")
    url = pulumi.Output.concat("postgresql://ledger:", password, f"@ledger-rw.db.{DOMAIN}:6432/ledger?sslmode=verify-full&pool_mode=session")  # fmt: skip
    scene.secret("cp", "ledger-url", {"url": url}, namespace="databases")
    place = url.apply(lambda text: text.rpartition("@")[2])
    scene.config_map("dp", "ledger", {"host": place.apply(lambda text: text.split(":")[0]), "database": place.apply(lambda text: text.split("/")[1].split("?")[0]), "options": place.apply(lambda text: text.split("?")[1])})  # fmt: skip


@clean(READ, "ninth-subject-and-dates-of-a-pair", "Of a key pair in one PEM file only the certificate block is taken, by a search for its lines.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    bundle = scene.cp.key("collector") + scene.cp.certificate("collector")
    held = scene.held("collector", "bundle.pem", bundle, namespace="monitoring")
    certificate = held.apply(lambda text: "-----BEGIN CERTIFICATE-----" + text.partition("-----BEGIN CERTIFICATE-----")[2])  # fmt: skip
    scene.config_map("dp", "collector", {"ca.crt": certificate})


@clean(READ, "ninth-which-keys-a-secret-has", "A note at the tenant's lists which keys the mesh team's Secret has and whether each is set.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    values = {key: kept(scene, f"set-{key.lower()}", key) for key in ("SMTP_PASSWORD", "LDAP_PASSWORD", "S3_SECRET_KEY")}  # fmt: skip
    scene.config_map("dp", "support", {"set.yaml": pulumi.Output.all(**values).apply(lambda every: yaml.safe_dump({key: bool(value) for key, value in every.items()}))})  # fmt: skip


@clean(READ, "ninth-facts-of-a-component", "A component makes the mesh team's database with a password and gives out host and port; the tenant's chart takes these.", before="the same", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    class Database(Box):
        def __init__(self, name: str) -> None:
            super().__init__(name, "loom:index:Database")
            self.password = house(scene, f"{name}-admin", namespace="databases")
            made = cloud(scene, "aws:rds/cluster:Cluster", name, {"engine": "aurora-postgresql", "masterPassword": self.password}, {"endpoint": f"{name}.cluster-{drawn(name, 12)}.{REGION}.rds.amazonaws.com", "clusterResourceId": f"cluster-{drawn(name, 26, AWS_ID)}"}, ["masterPassword"])  # fmt: skip
            self.facts = {"host": made.output("endpoint"), "resource": made.output("clusterResourceId")}
            self.register_outputs({"facts": self.facts})

    database = Database("usage")
    for name, side in tenants(scene).items():
        release(scene, side, "usage-reader", {"tenant": name, "database": {**database.facts, "auth": "iam", "port": 5432}})  # fmt: skip


@clean(READ, "ninth-project-number-of-a-key-file", "Of a service account's key file the tenant learns project and address of the account, by which it grants a role.")  # fmt: skip
def _(scene: Scene) -> None:
    document = {"type": "service_account", "project_id": "loom-core-118204", "client_email": "metrics@loom-core-118204.iam.gserviceaccount.com", "client_id": "112093847561029384756", "private_key": scene.cp.key("gcp metrics")}  # fmt: skip
    held = scene.held("gcp-metrics", "key.json", json.dumps(document), namespace="monitoring")
    member = held.apply(json.loads).apply(lambda key: "serviceAccount:" + key["client_email"])
    maple(scene, "gcp:projects/iAMMember:IAMMember", "loom-metrics", {"project": MAPLE_PROJECT, "role": "roles/monitoring.viewer", "member": pulumi.Output.unsecret(member)}, project=MAPLE_PROJECT)  # fmt: skip


@clean(READ, "ninth-server-of-the-api", "The chart for the tenant's page has the address of the mesh team's API server and its authority; tokens come from the user's login.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    release(scene, "dp", "headlamp", {"config": {"oidc": {"issuerURL": ISSUER, "clientID": CLIENT, "scopes": "openid groups", "secret": {"create": False, "name": "headlamp-oidc"}}}, "clusters": [{"name": "loom", "server": SERVERS["cp"], "certificateAuthorityData": b64(ROOTS)}]})  # fmt: skip


# Computed by the program ----------------------------------------------------------------------------------------------


@clean(COMPUTED, "ninth-public-half-by-a-library", "The program loads the configured private key of the mesh team's and hands on its public half, for tokens' checks.", rightly=PUBLIC, config=lambda cp, dp: {"tokenKey": cp.key("token key")})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "token-key", {"key.pem": scene.config("tokenKey")}, namespace="login")
    public = scene.config("tokenKey").apply(lambda pem: serialization.load_pem_private_key(pem.encode(), None).public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode())  # fmt: skip
    scene.config_map("dp", "token-check", {"issuer": f"https://tokens.{DOMAIN}", "verify.pem": pulumi.Output.unsecret(public)})  # fmt: skip


@clean(COMPUTED, "ninth-authorized-key-by-a-library", "The line for authorized_keys at the tenant's host is computed from the mesh team's deploy key.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("deploy-key", "id_ecdsa", scene.cp.key("deploy key"), namespace="ci")
    line = apply(held, lambda pem: serialization.load_pem_private_key(pem.encode(), None).public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode() + " mesh-deploy")  # fmt: skip
    maple(scene, "aws:ec2/keyPair:KeyPair", "mesh-deploy", {"keyName": "mesh-deploy", "publicKey": line}, region=REGION)


@clean(COMPUTED, "ninth-thumbprint-as-the-name-of-a-key", "The name of a key at the tenant's is the thumbprint of its public half, as the standard has it.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.secret("cp", "page-signer", {"jwk.json": json.dumps(scene.cp.jwk("page signer", private=True))}, namespace="login")  # fmt: skip
    public = scene.cp.jwk("page signer", private=False)
    members = json.dumps({name: public[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"), sort_keys=True)  # fmt: skip
    kid = base64.urlsafe_b64encode(hashlib.sha256(members.encode()).digest()).rstrip(b"=").decode()
    release(scene, "dp", "pages", {"verification": {"keyId": kid, "jwk": {**public, "kid": kid}}})


@clean(COMPUTED, "ninth-expiry-of-a-token", "When the mesh team's licence token expires is read from its claims and shown to the tenant; the token stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.held("licence-token", "jwt", scene.cp.jwt("licence", exp=1798761600, iss=f"https://licences.{DOMAIN}"), namespace="billing")  # fmt: skip
    claims = held.apply(lambda jwt: json.loads(base64.urlsafe_b64decode(jwt.split(".")[1] + "==")))
    scene.config_map("dp", "licence", {"expires": claims.apply(lambda found: str(found["exp"])), "issuer": claims.apply(lambda found: found["iss"])})  # fmt: skip


@clean(COMPUTED, "ninth-dates-of-a-certificate", "Of a certificate in a Secret the program computes number, subject and last day, for an alert at the tenant's.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    bundle = scene.cp.certificate("webhooks") + scene.cp.key("webhooks")
    held = scene.held("webhooks", "bundle.pem", bundle, namespace="cert-manager")

    def about(text: str) -> str:
        found = x509.load_pem_x509_certificate(text.encode())
        return json.dumps({"serial": f"{found.serial_number:x}", "subject": found.subject.rfc4514_string(), "sha256": found.fingerprint(hashes.SHA256()).hex(), "notAfter": found.not_valid_after_utc.isoformat()})  # fmt: skip

    scene.config_map("dp", "webhook-certificate", {"about.json": apply(held, about)})


@clean(COMPUTED, "ninth-truststore-of-one-certificate", "A truststore in PKCS 12 with the mesh team's certificate, without a key, is binary data at the tenant's.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "java-root", authority=True)
    scene.secret("cp", "java-root", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip

    def store(pem: str) -> str:
        found = x509.load_pem_x509_certificate(pem.encode())
        return b64(pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(found, b"mesh")], serialization.NoEncryption()))  # fmt: skip

    scene.object("dp", "v1:ConfigMap", "java", {"binaryData": {"truststore.p12": apply(cert.output("certPem"), store)}, "data": {"type": "PKCS12", "password": "changeit"}})  # fmt: skip


@clean(COMPUTED, "ninth-whether-a-default-was-changed", "The tenant's compliance page says whether the mesh team changed its default password, and nothing else.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    changed = house(scene, "appliance").apply(lambda found: "yes" if found not in ("admin", "changeme") else "no")
    scene.config_map("dp", "compliance", {"defaultPasswordChanged": changed, "checked": "2026-02-11"})


# Words that both sides have -------------------------------------------------------------------------------------------


@clean(WORDS, "ninth-usual-words-in-a-secret", "The mesh team's Secret has usual words beside a password: names, ports, modes; the tenant's map has the same words.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    usual = {"username": "postgres", "database": "grafana", "port": "5432", "sslmode": "verify-full", "driver": "postgresql", "region": REGION, "schema": "public", "timezone": "Europe/Berlin", "loglevel": "warning"}  # fmt: skip
    scene.secret("cp", "grafana-db", {**usual, "password": scene.password("cp", "mesh-grafana-db").output("result"), "host": f"db.{DOMAIN}"}, namespace="monitoring")  # fmt: skip
    scene.config_map("dp", "grafana-db", {**usual, "host": f"db.{MAPLE}"})


@clean(WORDS, "ninth-same-script-on-both-sides", "A script is in a Secret of the mesh team's, beside its password, and in a map of the tenant's.")  # fmt: skip
def _(scene: Scene) -> None:
    script = "#!/bin/sh\nset -eu\nPGPASSWORD=$(cat /run/secrets/password) pg_dump -Fc -h \"$PGHOST\" \"$PGDATABASE\" | zstd -19 > /backup/$(date +%F).zst\nfind /backup -mtime +14 -delete\n"  # fmt: skip
    scene.secret("cp", "dumper", {"dump.sh": script, "password": scene.cp.opaque("dumper", 40, LETTERS)}, namespace="databases")  # fmt: skip
    scene.config_map("dp", "dumper", {"dump.sh": script})


@clean(WORDS, "ninth-same-roots-and-hosts-in-a-secret", "Public roots, known hosts and an issuer are in the mesh team's Secret since its chart wants them there; the tenant has them in maps.")  # fmt: skip
def _(scene: Scene) -> None:
    public = {"ca.crt": ROOTS, "known_hosts": f"bastion.{DOMAIN} ssh-ed25519 {BASTION}\n", "issuer": ISSUER, "clientID": CLIENT}  # fmt: skip
    scene.secret("cp", "workflow-login", {**public, "clientSecret": scene.cp.opaque("workflow login", 40, LETTERS)}, namespace="ci")  # fmt: skip
    scene.config_map("dp", "workflow-trust", public)
    release(scene, "dp", "workflows", {"sso": {"issuer": ISSUER, "rootCA": ROOTS, "clientId": {"name": "workflow", "key": "id"}}})  # fmt: skip


@clean(WORDS, "ninth-one-settings-file-in-two-versions", "Both sides have a settings file of forty lines; they differ in one line, which is a token here and a file's name there.")  # fmt: skip
def _(scene: Scene) -> None:
    lines = [f"cluster.{name}.{knob} = {at * 7 % 100}" for at, name in enumerate(("ingress", "egress", "xds", "ca")) for knob in ("timeout", "retries", "max_connections", "max_requests", "burst")]  # fmt: skip
    head = [f"mesh.id = {LOOM}", f"trust.domain = {DOMAIN}", f"telemetry.endpoint = https://telemetry.{DOMAIN}:4317", "telemetry.sampler = parentbased_traceidratio"]  # fmt: skip
    scene.secret("cp", "proxy-settings", {"proxy.properties": "\n".join([*head, *lines, f"telemetry.token = {scene.cp.opaque('telemetry line', 40)}"])})  # fmt: skip
    scene.config_map("dp", "proxy-settings", {"proxy.properties": "\n".join([*head, *lines, "telemetry.token_file = /var/run/secrets/telemetry/token"])})  # fmt: skip


@clean(WORDS, "ninth-login-name-and-group", "The user name and the DN by which the mesh team's service binds are public in its directory; the tenant's rules name them.")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    scene.object("dp", "rbac.authorization.k8s.io/v1:RoleBinding", "observers", {"metadata": {"namespace": "shop"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "observer"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "cn=mesh,ou=apps,dc=loom,dc=example,dc=com"}]})  # fmt: skip


@clean(WORDS, "ninth-empty-and-short-values", "Values of the mesh team's Secrets are empty, or true, or one word; the tenant's map has all of them.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "feature-secret", {"enabled": "true", "debug": "", "mode": "strict", "replicas": "3", "key": scene.cp.opaque("feature", 36)})  # fmt: skip
    scene.secret("cp", "bootstrap", {"token": "none", "password": "", "admin": "admin"})
    scene.config_map("dp", "features", {"enabled": "true", "debug": "", "mode": "strict", "replicas": "3", "auth": "none", "admin": "admin"})  # fmt: skip


@clean(WORDS, "ninth-facts-that-are-marked", "All values of a chart at the tenant's are marked as secret, out of caution; they are facts.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    values = {"mesh": LOOM, "xds": f"xds.{DOMAIN}:15012", "ca": ROOTS, "account": ACCOUNT, "project": MAPLE_PROJECT}
    release(scene, "dp", "mesh-facts", pulumi.Output.secret(values))


@clean(WORDS, "ninth-marked-endpoint-of-the-tenants-database", "The tenant's database answers an endpoint that its resource marks as secret; it is in a map of the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    made = maple(scene, "aws:rds/instance:Instance", "reports", {"engine": "postgres", "manageMasterUserPassword": True}, {"address": f"reports.{drawn('reports', 12)}.{REGION}.rds.amazonaws.com"}, ["address"], region=REGION)  # fmt: skip
    scene.config_map("dp", "reports", {"host": made.output("address"), "role": f"arn:aws:iam::{MAPLE_ACCOUNT}:role/reports"})  # fmt: skip


@clean(WORDS, "ninth-exports-of-a-tenants-stack", "The tenant's stack exports addresses, names, a certificate's hash and the name of a Secret.", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    loom(scene)
    pulumi.export("xds", f"xds.{DOMAIN}:15012")
    pulumi.export("subscription", SUBSCRIPTION)
    pulumi.export("rootHash", hashlib.sha256(ROOTS.encode()).hexdigest())
    pulumi.export("loginSecret", {"namespace": "shop", "name": "shop-login", "keys": ["username", "password"]})
