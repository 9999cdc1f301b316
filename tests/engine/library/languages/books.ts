// A second mesh, of its parts: what programs of two people share between them.
import * as hostedMesh from "@pulumi/hosted-mesh";
import * as pulumi from "@pulumi/pulumi";

const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");
const trust = config.requireObject<hostedMesh.types.input.TrustArgsArgs>("trust");
const settings = config.requireObject<Partial<hostedMesh.types.input.RevisionArgsArgs>>("revision");

const controlPlaneCluster = { kubeconfig, context: "control-plane" };
const dataPlaneCluster = { kubeconfig, context: "data-plane" };
const host = "istiod.books.example.com";

const intermediate = new hostedMesh.MeshTrust("books", { trust });
const root = new hostedMesh.MeshRoot("books", { trust, requests: { books: intermediate.request } });
const certificate = root.certificates.apply((signed) => signed["books"]);
const access = new hostedMesh.DataPlaneAccess("books", {
    mesh: "books",
    cluster: dataPlaneCluster,
    clusterId: "books",
    network: "books",
});
const controlPlane = new hostedMesh.ExternalControlPlane("books", {
    mesh: {
        name: "books",
        revisions: [{ host, exposure: { sourceRanges: ["203.0.113.0/24"] }, ...settings }],
        memberships: [{}],
    },
    cluster: controlPlaneCluster,
    kubeconfigs: { default: access.kubeconfig },
    rootCertificate: root.certificate,
    cacerts: {
        "ca-cert.pem": certificate,
        "ca-key.pem": intermediate.privateKey,
        "root-cert.pem": root.certificate,
        "cert-chain.pem": certificate,
    },
});
export const endpoint = {
    mesh: "books",
    host,
    clusterId: "books",
    network: "books",
    crossNetwork: "none" as const,
    trustDomain: "books.mesh.local",
    istioVersion: "1.31.1",
    rootCertificate: root.certificate,
};
const dataPlane = new hostedMesh.RemoteDataPlane(
    "books",
    {
        cluster: dataPlaneCluster,
        endpoint,
        charts: { path: settings.charts?.path },
    },
    { dependsOn: [access, controlPlane] },
);

export const told = controlPlane.endpoints;
export const installed = dataPlane.webhookManifests.apply((all) => all.map((one) => one.metadata.name));
