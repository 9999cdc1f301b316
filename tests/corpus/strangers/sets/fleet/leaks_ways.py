"""Leaks of fleets: stacks, objects of a mesh, and the ways in which programs slip."""

from __future__ import annotations

import base64
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, pair
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import each, strings_of_json, strings_of_yaml
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import leak
from tests.corpus.strangers.values import HEX, apply, b64, kubeconfig
from tests.corpus.world import Box

from .world import BLUE, BOTH, DOMAIN, FLEET, REGION, control_plane

STACKS, MESHES, CODE, LATER = (
    "fleet: wrong outputs of stacks",
    "fleet: secrets in objects of a mesh",
    "fleet: slips of programs",
    "fleet: leaks of later updates",
)

# Wrong outputs of stacks ----------------------------------------------------------------------------------------------


@leak(STACKS, "fleet-wrong-output", "The remote profile's bundle was to be the root's certificate; the name of the output is that of its key.", "StackReferences")  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"rootCertificate": "public", "rootKey": scene.cp.key("fleet root"), "address": f"istiod.{DOMAIN}"}
    hub = scene.reference("hub", "organization/fleet-hub/prod", outputs, ["rootKey"])
    bundle = apply(hub.get_output("rootKey"), lambda text: text)
    release(scene, "dp", "istiod-remote", {"global": {"remotePilotAddress": hub.get_output("address")}, "istiodRemote": {"injectionCABundle": bundle}})  # fmt: skip


@leak(STACKS, "fleet-all-outputs-as-facts", "A map of facts is made from all outputs of the control plane's stack, as JSON; one of them is a kubeconfig.", "StackReferences", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"mesh": FLEET, "region": REGION, "kubeconfig": scene.cp.kubeconfig("hub", SERVERS["cp"])}
    hub = scene.reference("hub", "organization/fleet-hub/prod", outputs, ["kubeconfig"])
    scene.config_map("dp", "fleet-facts", {"facts.json": hub.outputs.apply(json.dumps)})


@leak(STACKS, "fleet-kubeconfig-with-the-wrong-user", "The tenant's agent was to get a kubeconfig without a login; users are copied from the administrator's.", "kubeconfigs", recover=each(strings_of_yaml))  # fmt: skip
def _(scene: Scene) -> None:
    text = pulumi.Output.secret(kubeconfig(SERVERS["cp"], {"token": scene.cp.jwt("admin")}, "the hub's authority"))
    scene.secret("cp", "admin", {"kubeconfig": text})

    def for_agent(found: str) -> str:
        document = json.loads(found)
        return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "clusters": document["clusters"], "users": document["users"], "current-context": "agent"})  # fmt: skip

    scene.config_map("dp", "konnectivity", {"kubeconfig": text.apply(for_agent)})


@leak(STACKS, "fleet-values-of-a-component-of-the-hub", "The hub's component puts out its chart's values; the tenant's chart takes them over, with the login in JSON in YAML.", "values", recover=each(lambda text: strings_of_json(yaml.safe_load(text)["config"]["settings.json"].encode())))  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "ldap-bind")
    settings = pulumi.Output.json_dumps({"ldap": {"bind_dn": "cn=svc,dc=fleet", "bind_password": password}})
    values = settings.apply(lambda text: yaml.safe_dump({"config": {"settings.json": text}, "replicas": 2}))
    release(scene, "cp", "portal", {"values": values})
    release(scene, "dp", "portal", {"values": values})


# Objects of a mesh ----------------------------------------------------------------------------------------------------


@leak(MESHES, "fleet-filter-with-a-login", "A filter of the tenant's asks the hub's service of authorization with the hub's token, in initial metadata.", "EnvoyFilter")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "ext-authz", "token", 48)
    service = {"grpc_service": {"google_grpc": {"target_uri": f"authz.{DOMAIN}:443"}, "initial_metadata": [{"key": "authorization", "value": pulumi.Output.concat("Bearer ", token)}]}}  # fmt: skip
    patch = {"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_FIRST", "value": {"name": "envoy.filters.http.ext_authz", "typed_config": service}}}  # fmt: skip
    scene.object("dp", "networking.istio.io/v1alpha3:EnvoyFilter", "authz", {"spec": {"configPatches": [patch]}})


@leak(MESHES, "fleet-telemetry-provider-in-mesh-settings", "The tenant's mesh settings have a provider of traces with the hub's header of its vendor.", "MeshConfig extension providers", recover=each(strings_of_yaml), config=lambda cp, dp: {"fleet:honeycomb": "hcaik_" + cp.opaque("honeycomb", 58)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "honeycomb", {"key": scene.config("fleet:honeycomb")})
    mesh = scene.config("fleet:honeycomb").apply(lambda key: yaml.safe_dump({"extensionProviders": [{"name": "otel", "opentelemetry": {"service": "api.honeycomb.io", "port": 443, "http": {"path": "/v1/traces", "headers": [{"name": "x-honeycomb-team", "value": key}]}}}]}))  # fmt: skip
    scene.config_map("dp", "istio", {"mesh": mesh}, namespace="istio-system")


@leak(MESHES, "fleet-plug-in-with-the-hubs-login", "A plug-in of the tenant's is pulled with the hub's login, whose Secret a loop over namespaces writes with the wrong provider.", "WasmPlugin imagePullSecret", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    value = kept(scene, "wasm-robot", "password", 32)
    login = pulumi.Output.json_dumps({"auths": {f"harbor.{DOMAIN}": {"username": "robot$wasm", "password": value}}})
    for side, namespace in (("cp", "istio-system"), ("dp", "istio-ingress")):
        scene.secret(side, f"wasm-{namespace}", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson", namespace=namespace)  # fmt: skip
    spec = {"url": f"oci://harbor.{DOMAIN}/wasm/auth:1.2", "imagePullSecret": "wasm-istio-ingress"}
    scene.object("dp", "extensions.istio.io/v1alpha1:WasmPlugin", "auth", {"spec": spec})


# Slips of programs ----------------------------------------------------------------------------------------------------


@leak(CODE, "fleet-wrong-side-in-a-loop", "A loop writes logins of three services to their clusters; one row of the table has the wrong cluster.", "a table of sides")  # fmt: skip
def _(scene: Scene) -> None:
    for service, owner, side in (("vault", "cp", "cp"), ("cart", "dp", "dp"), ("harbor", "cp", "dp")):
        value = scene.password(owner, f"{service}-admin").output("result")
        scene.secret(side, f"{service}-admin", {"username": "admin", "password": value})
        if owner == "cp":
            scene.secret("cp", f"{service}-kept", {"password": value})


@leak(CODE, "fleet-transformation-for-all", "A transformation adds the hub's sidecar login to every Secret below the component, the tenant's too.", "transformations")  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "hub-sidecar")

    def added(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != "kubernetes:core/v1:ConfigMap":
            return None
        given: Any = args.props
        props: dict[str, Any] = {**given, "data": {**given["data"], "SIDECAR_LOGIN": login}}
        return pulumi.ResourceTransformationResult(props, args.opts)

    box = Box("both", opts=pulumi.ResourceOptions(transformations=[added]))
    for side in ("cp", "dp"):
        scene.object(side, "v1:ConfigMap", f"settings-{side}", {"data": {"mode": side}}, parent=box)


@leak(CODE, "fleet-shallow-copy-of-defaults", "Values are copied, but not deeply: the hub's password, set in the hub's copy, is in the tenant's.", "shallow copies")  # fmt: skip
def _(scene: Scene) -> None:
    defaults: dict[str, Any] = {"auth": {"username": "agent"}, "global": {"meshID": FLEET}}
    hub, tenant = dict(defaults), dict(defaults)
    hub["auth"]["password"] = generated(scene, "agent-hub")
    release(scene, "cp", "agent", hub)
    release(scene, "dp", "agent", tenant)


@leak(CODE, "fleet-catalogue-of-all", "Each tenant was to get its row of the catalogue; it gets the catalogue, with every portal's login of the control plane's.", "whole objects", pack=BOTH, recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    catalogue = {name: {"plan": "gold", "portal": scene.cp.opaque(f"portal {name}", 40)} for name in ("red", "blue")}
    text = pulumi.Output.secret(json.dumps(catalogue))
    scene.secret("cp", "catalogue", {"tenants.json": text})
    for side, name in (("dp", "red"), ("blue", "blue")):
        scene.config_map(side, f"tenant-{name}", {"row": text})


@leak(CODE, "fleet-membership-the-other-way", "The component of a membership mints the token on the wrong side and keeps it at the tenant's.", "a component's arguments", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    box = Box("membership", "fleet:index:Membership")
    token = minted(scene, "cp", "istiod-shop")
    config = token.apply(lambda found: kubeconfig(SERVERS["cp"], {"token": found}, "the hub's authority"))
    body = {"stringData": {"shop": config}, "metadata": {"labels": {"istio/multiCluster": "true"}}}
    scene.object("dp", "v1:Secret", "remote-shop", body, parent=box)


@leak(CODE, "fleet-log-of-a-failed-step", "The text of a failed step, which repeats its command with the password, is kept in the tenant's map.", "messages of errors")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "restic")

    def log(text: str) -> str:
        try:
            raise RuntimeError(f"exit status 1: restic -r s3:hub --password-command 'echo {text}' backup /data")
        except RuntimeError as error:
            return f"level=error msg={error}"

    scene.config_map("dp", "backup-status", {"last.log": apply(password, log)})


@leak(CODE, "fleet-name-made-of-a-password", "The tenant's Deployment restarts when the hub's login changes: the annotation is the login in base64, not a checksum.", "checksum annotations", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "xds-login")
    deployment(scene, "dp", "agent", {"args": ["--reload"]}, {"checksum/login": apply(login, b64)})


# Later updates --------------------------------------------------------------------------------------------------------


def _first(scene: Scene) -> None:
    control_plane(scene)
    key, cert = pair(scene, "cp", "xds-server")
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("cp", "xds-server", data, kind="kubernetes.io/tls")
    scene.config_map("dp", "xds-trust", {"xds.pem": cert.output("certPem")})


@leak(LATER, "fleet-key-joins-the-certificate", "At the second update the map of trust gets all of the Secret's data, so that the next field needs no change.", "later updates", before=_first)  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    key, cert = pair(scene, "cp", "xds-server")
    data = {"tls.crt": cert.output("certPem"), "tls.key": key.output("privateKeyPem")}
    scene.secret("cp", "xds-server", data, kind="kubernetes.io/tls")
    scene.config_map("dp", "xds-trust", {"xds.pem": cert.output("certPem"), **data})


def _references(scene: Scene) -> None:
    control_plane(scene)
    generated(scene, "keycloak-admin")
    release(scene, "dp", "keycloakx", {"auth": {"existingSecret": "keycloak-admin"}})


@leak(LATER, "fleet-reference-becomes-a-value", "At the second update the chart's reference is replaced by the value, which is the hub's password.", "later updates", before=_references)  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    password = generated(scene, "keycloak-admin")
    release(scene, "dp", "keycloakx", {"auth": {"adminUser": "admin", "adminPassword": password}})


def _config(cp: Any, dp: Any) -> dict[str, str]:
    return {"fleet:pagerKey": cp.opaque("pager", 32, HEX), "fleet:domain": DOMAIN}  # fmt: skip


@leak(LATER, "fleet-configuration-dumped-later", "At the second update a map of the tenant's is made of the whole configuration, for its domain.", "later updates", before=lambda scene: control_plane(scene), config=_config)  # fmt: skip
def _(scene: Scene) -> None:
    control_plane(scene)
    both = {key: scene.config(f"fleet:{key}") for key in ("domain", "pagerKey")}
    scene.secret("cp", "pager", {"key": both["pagerKey"]})
    scene.config_map("dp", "settings", both)
