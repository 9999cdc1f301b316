// The components for several meshes and for names, with the documents of the repository's examples.
import * as hostedMesh from "@pulumi/hosted-mesh";
import * as pulumi from "@pulumi/pulumi";

import input = hostedMesh.types.input;

const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");
const controlPlane = { kubeconfig, context: "control-plane", identity: "control-plane-1" };
const dataPlane = { kubeconfig, context: "data-plane", identity: "data-plane-1" };

const fleet = config.requireObject<Omit<hostedMesh.MeshDeploymentArgs, "controlPlane" | "clusters">>("fleet");
const deployment = new hostedMesh.MeshDeployment("fleet", {
    ...fleet,
    controlPlane: { cluster: controlPlane },
    clusters: [
        {
            name: "berlin",
            cluster: dataPlane,
            apiServer: "https://api.berlin.example.com:6443",
            sourceRanges: ["203.0.113.0/24"],
        },
    ],
});

const federation = new hostedMesh.MeshFederation("shops-east", {
    federation: config.requireObject<input.FederationArgsArgs>("federation"),
    mesh: "east",
    cluster: dataPlane,
});

const intents = new hostedMesh.TrafficIntents("bookinfo", {
    intents: config.requireObject<input.IntentsArgsArgs>("intents"),
    inventory: config.requireObject<input.InventoryArgsArgs>("inventory"),
    target: "east",
    cluster: dataPlane,
});

const bridge = config.requireObject<input.DnsBridgeArgsArgs>("bridge");
const edge = new hostedMesh.DnsEdge("data-plane", { edge: bridge.edges![0], cluster: dataPlane, keepCrd: false });
const names = new hostedMesh.ExternalDNSBridge("names", {
    bridge,
    cluster: controlPlane,
    publisherKubeconfigs: { "data-plane": edge.publisherKubeconfig },
    readerKubeconfigs: { "data-plane": edge.readerKubeconfig },
    credentials: { office: { "tsig-secret": config.requireSecret("tsigSecret") } },
    records: { "istiod.mesh.shop.example.com": ["192.0.2.1"] },
});

export const meshes = deployment.meshes;
export const hosts = federation.hosts;
export const imports = intents.imports;
export const zones = names.zones;
