// A mesh across two clusters that exist: istiod in one, proxies in the other.
//
// pulumi package add ../../components && pulumi stack init shop && pulumi up
import * as hostedMesh from "@pulumi/hosted-mesh";
import * as pulumi from "@pulumi/pulumi";

const config = new pulumi.Config();
// pulumi config set --secret kubeconfig < kubeconfig; its contexts are called `control-plane` and `data-plane`.
const kubeconfig = config.requireSecret("kubeconfig");
// More of the revision's and the membership's fields, such as `charts`, where yours are not the defaults.
const revision = config.getObject<Partial<hostedMesh.types.input.RevisionArgsArgs>>("revision");
const membership = config.getObject<hostedMesh.types.input.MembershipArgsArgs>("membership");

const mesh = new hostedMesh.HostedMesh("shop", {
    name: "shop",
    // With another identity all objects are replaced: set it once.
    controlPlane: { cluster: { kubeconfig, context: "control-plane", identity: "control-plane-1" } },
    revisions: [
        {
            host: "istiod.shop.example.com",
            exposure: { sourceRanges: ["203.0.113.0/24"] },
            // Another one is an upgrade of Istio: docs/upgrade.md.
            charts: { version: "1.31.1" },
            ...revision,
        },
    ],
    memberships: [
        {
            cluster: { kubeconfig, context: "data-plane", identity: "data-plane-1" },
            access: { apiServer: "https://api.data-plane.example.com:6443" },
            ...membership,
        },
    ],
    trust: config.getObject<hostedMesh.types.input.TrustArgsArgs>("trust"),
});

export const namespace = mesh.namespace;
export const injectionLabels = mesh.injectionLabels;
export const rootCertificate = mesh.rootCertificate;
export const endpoints = mesh.endpoints;
export const webhooks = mesh.webhookManifests.apply((all) => all.map((one) => one.metadata.name));
