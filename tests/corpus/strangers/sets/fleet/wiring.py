"""Harmless, of fleets: outputs of other stacks, marks that are too careful, components, loops and later updates."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, USERS_STACK, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, noise, uid
from tests.corpus.world import Box

from .world import ACCOUNT, AUDIENCE, BLUE, BOTH, DOMAIN, FLEET, REGION, SSO, SUBNETS, VPC, ZONE, control_plane

STACKS, CAREFUL, CODE, TENANTS, LATER = (
    "fleet: facts of other stacks",
    "fleet: marked without need",
    "fleet: wiring",
    "fleet: several tenants",
    "fleet: later updates",
)
ROOT = "-----BEGIN CERTIFICATE-----\n" + b64(b"\x30\x82\x01\x4a" + noise("stack root", 330)) + "\n-----END CERTIFICATE-----\n"  # fmt: skip

# Facts of other stacks ------------------------------------------------------------------------------------------------


def _hub(scene: Scene) -> pulumi.StackReference:
    """The control plane's stack: facts, and two logins that are marked."""
    outputs = {
        "istiodAddress": f"istiod.{DOMAIN}",
        "rootCertificate": ROOT,
        "meshId": FLEET,
        "oidc": {"issuer": SSO, "audience": AUDIENCE, "jwksUri": f"{SSO}/protocol/openid-connect/certs"},
        "roles": {"logs": f"arn:aws:iam::{ACCOUNT}:role/logs", "dns": f"arn:aws:iam::{ACCOUNT}:role/dns"},
        "network": {"vpc": VPC, "zone": ZONE, "subnets": SUBNETS},
        "kubeconfig": scene.cp.kubeconfig("fleet-hub", SERVERS["cp"]),
        "caKey": scene.cp.key("fleet hub"),
    }
    found: pulumi.StackReference = scene.reference("hub", "organization/fleet-hub/prod", outputs, ["kubeconfig", "caKey"])  # fmt: skip
    return found


@clean(STACKS, "fleet-remote-profile-of-a-stack", "The remote profile gets address, mesh and root from the control plane's stack, whose kubeconfig stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub = _hub(scene)
    values = {"global": {"remotePilotAddress": hub.get_output("istiodAddress"), "meshID": hub.get_output("meshId")}, "istiodRemote": {"injectionURL": pulumi.Output.concat("https://", hub.get_output("istiodAddress"), ":15017/inject/cluster/shop/net/shop"), "injectionCABundle": apply(hub.get_output("rootCertificate"), b64)}}  # fmt: skip
    release(scene, "dp", "istiod-remote", values)


@clean(
    STACKS,
    "fleet-members-of-an-output",
    "Of objects that the control plane's stack puts out the tenant gets members: a role, a zone, an issuer.",
)
def _(scene: Scene) -> None:
    hub = _hub(scene)
    values = {"role": hub.get_output("roles")["dns"], "zone": hub.get_output("network").apply(lambda found: found["zone"]), "oidc": hub.get_output("oidc")}  # fmt: skip
    release(scene, "dp", "external-dns", values)
    scene.object("dp", "v1:ServiceAccount", "logs", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": hub.get_output("roles")["logs"]}}})  # fmt: skip


@clean(
    STACKS,
    "fleet-loop-over-outputs",
    "The program goes over a list of names of public outputs and writes them into a map.",
)
def _(scene: Scene) -> None:
    hub = _hub(scene)
    facts = {name: hub.get_output(name) for name in ("istiodAddress", "meshId", "rootCertificate")}
    scene.config_map(
        "dp", "fleet-facts", {**facts, "network.json": pulumi.Output.json_dumps(hub.get_output("network"))}
    )


@clean(STACKS, "fleet-cluster-of-a-stack", "The control plane's own provider is made of its stack's kubeconfig; objects there get logins, the tenant an address.", pack={"controlPlaneServers": [SERVERS["cp"], "https://hub2.example.com:6443"]})  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"kubeconfig": scene.cp.kubeconfig("hub2", "https://hub2.example.com:6443"), "domain": f"hub2.{DOMAIN}"}
    hub = scene.reference("hub2", "organization/fleet-hub2/prod", outputs, ["kubeconfig"])
    opts = scene.package("kubernetes", "hub2", "cp", kubeconfig=hub.require_output("kubeconfig"))
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "push", "namespace": "fleet-system"}, "stringData": {"token": pulumi.Output.secret(scene.cp.opaque("hub2 push", 40))}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "hub2-push", body, opts)
    scene.config_map("dp", "hub2", {"host": hub.get_output("domain"), "port": "15012"})


@clean(
    STACKS,
    "fleet-two-stacks-side-by-side",
    "A password of the tenant's stack and an address of the control plane's are one JSON of the tenant's.",
)
def _(scene: Scene) -> None:
    hub = _hub(scene)
    theirs = scene.reference(USERS_STACK, USERS_STACK, {"cachePassword": scene.dp.opaque("tenant cache", 32)}, ["cachePassword"])  # fmt: skip
    text = pulumi.Output.json_dumps({"cache": {"password": theirs.require_output("cachePassword")}, "mesh": {"id": hub.get_output("meshId"), "address": hub.get_output("istiodAddress")}})  # fmt: skip
    scene.secret("dp", "cart-config", {"config.json": text})


@clean(STACKS, "fleet-details-by-a-look-up", "Data sources answer with facts of the control plane's cloud: a network, subnets, a zone, a certificate's ARN.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    network = scene.invoke("aws:ec2/getVpc:getVpc", {"id": VPC, "cidrBlock": "10.40.0.0/16", "ownerId": ACCOUNT}, secret=False)  # fmt: skip
    zone = scene.invoke("aws:route53/getZone:getZone", {"zoneId": ZONE, "name": DOMAIN, "callerReference": f"terraform-{drawn('caller', 26, '0123456789')}"}, secret=False)  # fmt: skip
    values = {"vpc": network["id"], "cidr": network["cidrBlock"], "zone": zone["zoneId"], "reference": zone["callerReference"]}  # fmt: skip
    release(scene, "dp", "network-facts", values)


# Marked without need --------------------------------------------------------------------------------------------------


@clean(CAREFUL, "fleet-marked-zone", "The program marks the id of a zone as secret, out of care; it is public.")
def _(scene: Scene) -> None:
    control_plane(scene)
    zone = scene.made("aws:route53/zone:Zone", "fleet-zone", {"name": DOMAIN}, None, {"zoneId": ZONE}, owner="cp")
    release(scene, "dp", "external-dns", {"zoneIdFilters": [pulumi.Output.secret(zone.output("zoneId"))]})


@clean(CAREFUL, "fleet-marked-output-on-the-network", "A network's id is an additional secret output, out of care, and stands in the tenant's values.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    network = scene.made("aws:ec2/vpc:Vpc", "fleet-vpc", {"cidrBlock": "10.40.0.0/16"}, None, {"id_": VPC, "arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:vpc/{VPC}"}, ["arn"], owner="cp")  # fmt: skip
    release(scene, "dp", "aws-load-balancer-controller", {"vpcArn": network.output("arn"), "region": REGION})


@clean(CAREFUL, "fleet-domain-kept-as-a-secret", "The domain and the region are secret configuration, because all of it is; the tenant's charts have them.", config=lambda cp, dp: {"fleet:domain": "mesh.fleet.example.com", "fleet:region": "eu-central-1", "fleet:adminPassword": cp.opaque("configured admin", 32)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "admin", {"password": scene.config("fleet:adminPassword"), "domain": scene.config("fleet:domain")})  # fmt: skip
    release(scene, "dp", "istio-ingress", {"host": pulumi.Output.concat("*.", scene.config("fleet:domain")), "region": scene.config("fleet:region")})  # fmt: skip


@clean(
    CAREFUL,
    "fleet-careful-component",
    "A component marks everything that it puts out; of its members the tenant gets the address and the port.",
)
def _(scene: Scene) -> None:
    control_plane(scene)

    class Exposure(Box):
        def __init__(self) -> None:
            super().__init__("exposure", "fleet:index:Exposure")
            token = scene.password("cp", "exposure-token").output("result")
            scene.object("cp", "v1:Secret", "exposure-token", {"stringData": {"token": token}}, parent=self)
            self.address = pulumi.Output.secret(f"istiod.{DOMAIN}")
            self.port = pulumi.Output.secret("15012")
            self.token = token

    made = Exposure()
    scene.config_map("dp", "istiod", {"address": pulumi.Output.concat(made.address, ":", made.port)})


@clean(CAREFUL, "fleet-certificate-kept-as-a-secret", "The root's certificate is secret configuration beside its key; the tenant gets the certificate.", config=lambda cp, dp: {"fleet:rootCert": ROOT, "fleet:rootKey": cp.key("configured root")})  # fmt: skip
def _(scene: Scene) -> None:
    data = {"ca-cert.pem": scene.config("fleet:rootCert"), "ca-key.pem": scene.config("fleet:rootKey")}
    scene.secret("cp", "cacerts", data, namespace="istio-system")
    scene.config_map("dp", "istio-ca-root-cert", {"root-cert.pem": scene.config("fleet:rootCert")})


@clean(CAREFUL, "fleet-public-kubeconfig-members", "A kubeconfig of the control plane's is parsed; the tenant's agent gets the server and the authority's certificate out of it.")  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.secret(kubeconfig(SERVERS["cp"], {"token": scene.cp.jwt("deployer")}, ROOT))
    scene.secret("cp", "deployer", {"kubeconfig": text})
    cluster = text.apply(lambda found: json.loads(found)["clusters"][0]["cluster"])
    release(scene, "dp", "konnectivity-agent", {"proxyServerHost": cluster["server"], "caData": cluster["certificate-authority-data"]})  # fmt: skip


@clean(
    CAREFUL,
    "fleet-secret-replicas",
    "A count and a flag come from an output that is marked as a whole; the tenant gets numbers.",
)
def _(scene: Scene) -> None:
    plan = pulumi.Output.secret({"replicas": 3, "autoscale": True, "licence": scene.cp.opaque("plan licence", 40)})
    scene.secret("cp", "plan", {"licence": plan["licence"]})
    scene.object("dp", "apps/v1:Deployment", "gateway", {"spec": {"replicas": plan["replicas"], "selector": {"matchLabels": {"app": "gateway"}}, "template": {"metadata": {"labels": {"app": "gateway", "autoscale": plan["autoscale"].apply(lambda yes: "yes" if yes else "no")}}, "spec": {"containers": [{"name": "gateway", "image": "gateway:1.0"}]}}}})  # fmt: skip


# Wiring ---------------------------------------------------------------------------------------------------------------


@clean(CODE, "fleet-chain-of-applies", "Five steps of apply make a file of settings from public facts; a password made beside them is in the control plane's.")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    generated(scene, "beside")
    address = scene.answered("cp", "v1:Service", "eastwest", {"spec": {"selector": {"app": "eastwest"}, "ports": [{"port": 15443}]}}, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.44"}]}}).output("status")  # fmt: skip
    steps: pulumi.Output[Any] = address.apply(lambda s: (s or {}).get("loadBalancer", {}))
    for step in (lambda b: b.get("ingress", []), lambda i: [one["ip"] for one in i], lambda ips: {"networks": {"hub": {"gateways": [{"address": ip, "port": 15443} for ip in ips]}}}, yaml.safe_dump):  # fmt: skip
        steps = steps.apply(step)
    scene.config_map("dp", "mesh-networks", {"meshNetworks": steps, "sha256": steps.apply(lambda text: noise(text, 32).hex())})  # fmt: skip


@clean(
    CODE,
    "fleet-transformation-by-name",
    "A transformation adds a login to what is called after the hub, and labels to everything.",
)
def _(scene: Scene) -> None:
    login = generated(scene, "hub-sidecar")

    def added(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != "kubernetes:core/v1:ConfigMap" and args.type_ != "kubernetes:core/v1:Secret":
            return None
        given: Any = args.props
        props: dict[str, Any] = {**given, "metadata": {**given["metadata"], "labels": {"fleet": FLEET}}}
        if args.name.startswith("cp-"):
            both = pulumi.Output.all(props["stringData"], login)
            props["stringData"] = both.apply(lambda found: {**found[0], "sidecar": found[1]})
        return pulumi.ResourceTransformationResult(props, args.opts)

    box = Box("both", opts=pulumi.ResourceOptions(transformations=[added]))
    scene.object("cp", "v1:Secret", "settings", {"stringData": {"mode": "hub"}}, parent=box)
    scene.object("dp", "v1:ConfigMap", "settings", {"data": {"mode": "agent"}}, parent=box)


@clean(
    CODE,
    "fleet-defaults-without-logins",
    "Values are copied deeply and the logins are taken out before the tenant gets them.",
    before="the same",
)
def _(scene: Scene) -> None:
    defaults: dict[str, Any] = {"global": {"meshID": FLEET, "hub": "docker.io/istio"}, "auth": {"password": generated(scene, "defaults")}, "replicas": 2}  # fmt: skip
    release(scene, "cp", "agent", defaults)
    values = {key: copy.deepcopy(value) for key, value in defaults.items() if key != "auth"}
    release(scene, "dp", "agent", {**values, "auth": {"existingSecret": "agent-auth"}})


class _Membership(Box):
    """A fleet's component: a reader of the tenant's cluster for the control plane, and facts for the tenant."""

    def __init__(self, scene: Scene, side: str, name: str) -> None:
        super().__init__(f"membership-{name}", "fleet:index:Membership")
        server = SERVERS.get(side, BLUE)
        token = minted(scene, side, f"istiod-{name}")
        config = token.apply(lambda found: kubeconfig(server, {"token": found}, ROOT))
        labels = {"istio/multiCluster": "true"}
        body = {"stringData": {name: config}, "metadata": {"labels": labels, "namespace": f"mesh-{name}"}}
        scene.object("cp", "v1:Secret", f"remote-{name}", body, parent=self)
        self.facts = pulumi.Output.json_dumps({"address": f"{name}.istiod.{DOMAIN}:15012", "mesh": FLEET, "member": uid(name)})  # fmt: skip
        scene.object(side, "v1:ConfigMap", f"membership-{name}", {"data": {"facts.json": self.facts}}, parent=self)
        self.register_outputs({"facts": self.facts})


@clean(CODE, "fleet-membership", "A component gives the control plane a token that the tenant's cluster minted, and the tenant facts.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    made = _Membership(scene, "dp", "shop")
    deployment(scene, "dp", "agent", {"env": [{"name": "FACTS", "value": made.facts}]})


@clean(
    CODE,
    "fleet-names-that-look-alike",
    "Objects of the tenant's are called like the control plane's Secrets and keys, and have settings only.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    for name in ("cacerts", "fleet-sso", "fleet-settings"):
        scene.config_map("dp", f"{name}-docs", {"about": f"see Secret {name} in istio-system", "key": "ca-key.pem", "clientSecret": "kept elsewhere"})  # fmt: skip
    mounts = [{"name": "cacerts", "mountPath": "/etc/cacerts", "readOnly": True}]
    deployment(scene, "dp", "verifier", {"args": ["--root=/etc/cacerts/root-cert.pem"], "volumeMounts": mounts})


@clean(
    CODE,
    "fleet-patched-account",
    "The tenant's default service account is patched with the name of a pull secret; the secret is the tenant's.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    from_tenant = own(scene, "pull-robot")
    login = pulumi.Output.json_dumps({"auths": {"harbor.shop.example.com": {"username": "robot", "password": from_tenant}}})  # fmt: skip
    scene.secret("dp", "shop-pull", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")
    scene.object("dp", "v1:ServiceAccountPatch", "default", {"metadata": {"name": "default", "annotations": {"pulumi.com/patchForce": "true"}}, "imagePullSecrets": [{"name": "shop-pull"}]})  # fmt: skip


@clean(
    CODE,
    "fleet-last-applied",
    "An object of the tenant's keeps its own manifest as an annotation: public settings in JSON.",
)
def _(scene: Scene) -> None:
    control_plane(scene)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mesh", "namespace": "default"}, "data": {"issuer": SSO, "audience": AUDIENCE, "zone": ZONE}}  # fmt: skip
    notes = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(body, separators=(",", ":")) + "\n"}
    scene.config_map("dp", "mesh", body["data"], annotations=notes)


@clean(CODE, "fleet-facts-at-the-update", "Ids that only the update knows (a network interface, an address, an endpoint) become variables of the tenant's.", before=lambda scene: control_plane(scene))  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    endpoint = scene.made("aws:ec2/vpcEndpointService:VpcEndpointService", "istiod-service", {"acceptanceRequired": True, "networkLoadBalancerArns": [f"arn:aws:elasticloadbalancing:{REGION}:{ACCOUNT}:loadbalancer/net/istiod/{drawn('lb', 16, HEX)}"]}, None, {"serviceName": f"com.amazonaws.vpce.{REGION}.vpce-svc-{drawn('svc', 17, HEX)}", "privateDnsNameConfigurations": [{"name": f"_{drawn('pdns', 20)}", "type": "TXT", "value": f"vpce:{drawn('pdns value', 20, LETTERS)}"}]}, owner="cp")  # fmt: skip
    made = scene.made("aws:ec2/vpcEndpoint:VpcEndpoint", "istiod-endpoint", {"serviceName": endpoint.output("serviceName"), "vpcId": VPC}, None, {"dnsEntries": [{"dnsName": f"vpce-{drawn('ep', 17, HEX)}-{drawn('ep2', 8)}.vpce-svc-{drawn('svc', 17, HEX)}.{REGION}.vpce.amazonaws.com"}]})  # fmt: skip
    host = made.output("dnsEntries").apply(lambda found: found[0]["dnsName"] if found else "")
    scene.object("dp", "v1:Service", "istiod-remote-alias", {"spec": {"type": "ExternalName", "externalName": host}})
    proof = endpoint.output("privateDnsNameConfigurations").apply(lambda found: found[0]["value"] if found else "")
    scene.config_map("dp", "endpoint-proof", {"txt": proof})


@clean(
    CODE,
    "fleet-order-by-secrets",
    "The tenant's Deployment waits for the control plane's Secret and the release there, by depends_on alone.",
)
def _(scene: Scene) -> None:
    value = generated(scene, "ordered")
    first = release(scene, "cp", "vault", {"server": {"rootToken": value}})
    scene.object("dp", "v1:ConfigMap", "after", {"data": {"vault": f"https://vault.{DOMAIN}"}}, depends_on=[first])


# Several tenants ------------------------------------------------------------------------------------------------------


@clean(
    TENANTS,
    "fleet-logins-of-two-tenants",
    "A loop gives each tenant a generated login in its own cluster, by the right provider.",
    pack=BOTH,
)
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    control_plane(scene)
    fleet: Mapping[str, str] = {"red": "dp", "blue": "blue"}
    logins = {name: own(scene, f"{name}-login") for name in fleet}
    for name, side in fleet.items():
        scene.secret(side, f"{name}-login", {"username": name, "password": logins[name]}, kind="kubernetes.io/basic-auth")  # fmt: skip


@clean(
    TENANTS,
    "fleet-two-memberships",
    "Two tenants join: two tokens of theirs go to the control plane, facts to each.",
    pack=BOTH,
    before="the same",
)
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    for side, name in (("dp", "red"), ("blue", "blue")):
        _Membership(scene, side, name)


@clean(TENANTS, "fleet-certificates-for-two", "Each tenant's gateway has a key and a certificate of its own; the control plane trusts both certificates.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    trusted = {}
    for side, name in (("dp", "red"), ("blue", "blue")):
        key, cert = pair(scene, "dp", f"{name}-gateway")
        scene.secret(side, f"{name}-gateway", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
        trusted[f"{name}.pem"] = cert.output("certPem")
    scene.config_map("cp", "trusted-gateways", trusted)


@clean(TENANTS, "fleet-catalogue-of-tenants", "The control plane keeps a catalogue with a login for each tenant's portal; each tenant gets its id and its plan.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    catalogue = {name: {"id": uid(f"tenant {name}"), "plan": "gold", "portal": scene.cp.opaque(f"portal {name}", 40)} for name in ("red", "blue")}  # fmt: skip
    scene.secret("cp", "catalogue", {"tenants.json": json.dumps(catalogue)})
    for side, name in (("dp", "red"), ("blue", "blue")):
        scene.config_map(side, f"tenant-{name}", {key: catalogue[name][key] for key in ("id", "plan")})


# Later updates --------------------------------------------------------------------------------------------------------


def _first(scene: Scene) -> None:
    control_plane(scene)
    generated(scene, "hub-robot")
    value = own(scene, "cart-db", 20)
    scene.secret("dp", "cart-db", {"password": value})


@clean(LATER, "fleet-both-rotated", "The second update makes both passwords anew, the control plane's and the tenant's; each stays on its side.", before=_first)  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    scene.secret("cp", "hub-robot", {"password": scene.password("cp", "hub-robot", 40).output("result")})
    value = own(scene, "cart-db", 40)
    scene.secret("dp", "cart-db", {"password": value, "url": pulumi.Output.concat("mysql://cart:", value, "@cart-db/cart")})  # fmt: skip
    deployment(
        scene, "dp", "cart", {"env": [{"name": "PW", "valueFrom": {"secretKeyRef": ref("cart-db", "password")}}]}
    )


@clean(
    LATER,
    "fleet-renamed-tenant",
    "The second update renames the tenant's Secret, with an alias, and its namespace.",
    before=_first,
)
def _(scene: Scene) -> None:
    control_plane(scene)
    generated(scene, "hub-robot")
    value = own(scene, "cart-db", 20)
    scene.object("dp", "v1:Secret", "checkout-db", {"stringData": {"password": value}, "metadata": {"namespace": "checkout"}}, aliases=[pulumi.Alias(name="dp-cart-db")])  # fmt: skip


@clean(LATER, "fleet-tenant-joins-later", "A second tenant joins at the second update; the first one's objects stay as they are.", pack=BOTH, before=lambda scene: _join(scene, ("dp",)))  # fmt: skip
def _(scene: Scene) -> None:
    _join(scene, ("dp", "blue"))


def _join(scene: Scene, sides: tuple[str, ...]) -> None:
    scene.join("blue", BLUE)
    control_plane(scene)
    for side in sides:
        scene.secret(side, f"gossip-{side}", {"key": own(scene, f"gossip-{side}", 44)})
        scene.config_map(side, f"facts-{side}", {"mesh": FLEET, "issuer": SSO})


@clean(LATER, "fleet-move-to-references", "The second update takes the tenant's password out of a chart's values and puts the Secret's name there.", before=lambda scene: _values(scene, inline=True))  # fmt: skip
def _(scene: Scene) -> None:
    _values(scene, inline=False)


def _values(scene: Scene, *, inline: bool) -> None:
    control_plane(scene)
    kept(scene, "postgres-admin")
    value = own(scene, "keycloak-db")
    scene.secret("dp", "keycloak-db", {"password": value})
    auth = {"password": value} if inline else {"existingSecret": "keycloak-db"}
    release(scene, "dp", "keycloakx", {"database": {"vendor": "postgres", **auth}, "proxy": {"mode": "edge"}})
