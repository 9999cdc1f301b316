"""Programs about tokens: leaks, and harmless neighbours."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pulumi
import yaml

from tests.corpus.blind_corpus.credentials import generated, kept, own
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import cloud, deployment, release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import pieces
from tests.corpus.blind_corpus.scene import SERVERS, USERS_STACK, Scene
from tests.corpus.blind_corpus.values import HEX, apply, b64, drawn, kubeconfig, noise, pull_secret, uid
from tests.corpus.blind_corpus.worlds import (
    foundry,
    grid,
    harbor,
    heron,
    kiln,
    lantern,
    loom,
    meadow,
    orchard,
    quarry,
    tern,
    wren,
)
from tests.corpus.world import Box

grid.files(grid.CONFIGS, "agent-of-vault", "settings of an agent of Vault with templates", {"agent.hcl": 'auto_auth {\n  method "kubernetes" {\n    mount_path = "auth/birch"\n    config = { role = "orders", token_path = "/var/run/secrets/tokens/vault" }\n  }\n}\ntemplate {\n  contents = "{{ with secret \\"kv/data/orders\\" }}{{ .Data.data.password }}{{ end }}"\n  destination = "/run/password"\n}\n'})  # fmt: skip


@leak(grid.LATER, "endpoint-gets-a-login", "The endpoint in the tenant's repository becomes one with a login at the second update, because it asks for one now.", "secret in a URL", before=lambda scene: grid.pipeline(scene, f"https://hooks.{grid.DOMAIN}/v2"))  # fmt: skip
def _(scene: Scene) -> None:
    grid.pipeline(scene, pulumi.Output.concat("https://ci:", generated(scene, "hooks"), f"@hooks.{grid.DOMAIN}/v2"))


@leak(grid.ACCOUNTS, "secret-in-the-tenants-vault-of-keys", "A client secret of the platform's application is kept in the tenant's vault of keys; the tenant's own was meant.", "Azure Key Vault")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "azuread:index/applicationPassword:ApplicationPassword", "grid-app", {"applicationId": uid("grid app")}, {"value": scene.cp.opaque("grid app", 40, LETTERS)}, ["value"])  # fmt: skip
    scene.secret("cp", "grid-app", {"client-id": grid.CLIENT, "client-secret": made.output("value")})
    inputs = {"vaultName": "birch", "resourceGroupName": "birch", "secretName": "oidc", "properties": {"contentType": "text/plain", "value": made.output("value")}}  # fmt: skip
    grid.birch(scene, "azure-native:keyvault:Secret", "oidc", inputs, subscriptionId=uid("birch subscription"))


grid.plain(grid.TRUST, "webhook-with-a-bundle", "a webhook of the tenant's with roots and selectors", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", {"metadata": {"labels": {"istio.io/rev": "1-24-2"}}, "webhooks": [{"name": "rev.namespace.sidecar-injector.istio.io", "clientConfig": {"url": f"https://xds.{grid.DOMAIN}:15017/inject/cluster/birch/net/birch", "caBundle": b64(grid.ROOTS)}, "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5, "admissionReviewVersions": ["v1"]}]})  # fmt: skip

grid.plain(grid.WATCH, "pipeline-of-masks", "a pipeline that masks tokens and passwords by expressions", "opentelemetry.io/v1beta1:OpenTelemetryCollector", {"spec": {"mode": "daemonset", "config": {"processors": {"redaction": {"blocked_values": [r"AKIA[0-9A-Z]{16}", r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", r"(?i)password\s*[:=]\s*\S+"], "summary": "debug"}}, "exporters": {"otlphttp": {"endpoint": f"https://otlp.{grid.DOMAIN}", "headers": {"authorization": "Bearer ${env:OTLP_TOKEN}", "x-scope-orgid": uid("org birch")}}}}}})  # fmt: skip


@clean(grid.OWN, "own-hash-for-a-gateway", "The bcrypt hash of the tenant's own generated password is in a file of users.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    made = scene.password("dp", "gateway")
    scene.secret("dp", "users", {"auth": pulumi.Output.concat("birch:", made.output("bcryptHash"))})
    scene.secret("dp", "gateway", {"password": made.output("result")})


@clean(grid.ACCOUNTS_own, "own-entry-in-its-vault", "The tenant's Vault gets an entry with the tenant's login beside the platform's address; a role for Pods has policies.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    grid.birch(scene, "vault:kv/secretV2:SecretV2", "own-facts", {"mount": "kv", "name": "orders", "dataJson": pulumi.Output.json_dumps({"endpoint": f"https://api.{grid.DOMAIN}", "password": own(scene, "vault-orders")})}, address=f"https://vault.{grid.BIRCH}")  # fmt: skip
    grid.birch(scene, "vault:index/policy:Policy", "orders", {"name": "orders", "policy": 'path "kv/data/orders" { capabilities = ["read"] }\npath "auth/token/renew-self" { capabilities = ["update"] }\n'}, address=f"https://vault.{grid.BIRCH}")  # fmt: skip


@clean(grid.UP, "up-login-of-the-tenants-metrics", "The platform reads the tenant's metrics by a generated login of the tenant's, which both have.")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    word = own(scene, "metrics")
    scene.secret("dp", "metrics", {"username": "grid", "password": word})
    scene.secret("cp", "metrics-birch", {"scrape.yaml": apply(word, lambda found: yaml.safe_dump([{"job_name": "birch", "basic_auth": {"username": "grid", "password": found}, "static_configs": [{"targets": [f"metrics.{grid.BIRCH}:443"]}]}]))})  # fmt: skip


@clean(grid.UP, "up-webhook-of-the-tenant", "The platform calls the tenant's webhook with the tenant's token; the tenant's receiver has it, as its own.", config=lambda cp, dp: {"birch:hook": dp.opaque("hook", 40)})  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    scene.secret("dp", "hook", {"token": scene.config("birch:hook")})
    scene.object("cp", "notification.toolkit.fluxcd.io/v1beta3:Provider", "birch", {"spec": {"type": "generic-hmac", "address": pulumi.Output.concat(f"https://hooks.{grid.BIRCH}/", scene.config("birch:hook"))}})  # fmt: skip


@clean(grid.CLOUDS, "facts-of-a-client", "A client is made in the platform's login service; the tenant gets its number, the secret stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    grid.core(scene)
    made = cloud(scene, "okta:app/oAuth:OAuth", "grid-portal", {"label": "portal", "type": "web"}, {"clientId": f"0oa{drawn('okta client', 17)}", "clientSecret": scene.cp.opaque("okta", 64, LETTERS)}, ["clientSecret"])  # fmt: skip
    scene.secret("cp", "portal", {"client_id": made.output("clientId"), "client_secret": made.output("clientSecret")})
    release(scene, "dp", "portal", {"oidc": {"issuer": grid.ISSUER, "clientID": made.output("clientId"), "pkce": True}})


@leak(tern.INCIDENTS, "settings-of-a-solver", "An issuer at the tenant's solves challenges by a webhook, whose settings have the provider's key and secret by value.", "cert-manager DNS webhooks", config=lambda cp, dp: {"dnsApiSecret": cp.opaque("dns api secret", 32, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "dns-api", {"secret": scene.config("dnsApiSecret")}, namespace="cert-manager")
    webhook = {"groupName": "acme.tern.example.com", "solverName": "zones", "config": {"apiKey": drawn("dns api key", 24), "apiSecret": scene.config("dnsApiSecret"), "ttl": 600}}  # fmt: skip
    scene.object("dp", "cert-manager.io/v1:ClusterIssuer", "letsencrypt", {"spec": {"acme": {"privateKeySecretRef": {"name": "acme"}, "solvers": [{"dns01": {"webhook": webhook}}]}}})  # fmt: skip


tern.plain(tern.DELIVERY, "stack-of-the-pulumi-operator", "a Stack of the tenant's own with a token by reference and a config of facts", "pulumi.com/v1:Stack", {"spec": {"stack": "moss/shop/prod", "projectRepo": f"https://git.{tern.MOSS}/infra.git", "commit": drawn("moss infra commit", 40, HEX), "envRefs": {"PULUMI_ACCESS_TOKEN": {"type": "Secret", "secret": {"name": "pulumi-api", "key": "token"}}}, "secretsProvider": f"awskms://alias/moss-pulumi?region={tern.REGION}", "config": {"shop:mesh": tern.TERN, "aws:region": tern.REGION}}})  # fmt: skip


@heron.twins(heron.OUTPUTS, "which-of-two-stacks", "The login for dashboards is taken from the hub's stack, not from the data plane's.", "It is taken from the data plane's own stack.", "StackReference", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hubs = scene.reference("platform", heron.HUB_STACK, {"grafanaPassword": scene.cp.opaque("heron grafana", 32), "grafanaUrl": f"https://grafana.{heron.DOMAIN}"}, ["grafanaPassword"])  # fmt: skip
    own = scene.reference("fern", USERS_STACK, {"grafanaPassword": scene.dp.opaque("fern grafana", 32)}, ["grafanaPassword"])  # fmt: skip
    release(scene, "dp", "grafana", {"adminPassword": (hubs if wrong else own).get_output("grafanaPassword"), "federation": hubs.get_output("grafanaUrl")})  # fmt: skip


@heron.twins(heron.ANSWERS, "target-of-a-pushed-secret", "A PushSecret in the hub's cluster pushes the hub's token through a store that is fern's Vault.", "The store is the hub's Vault.", "External Secrets PushSecret")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    if wrong:
        scene.stage.delivered |= {"cp-heron-pages", "cp-pages"}
    heron.typed(scene, "pages")
    for owner, domain in (("fern", heron.FERN), ("heron", heron.DOMAIN)):
        scene.object("cp", "external-secrets.io/v1:SecretStore", owner, {"metadata": {"namespace": "platform"}, "spec": {"provider": {"vault": {"server": f"https://vault.{domain}", "path": "kv", "auth": {"kubernetes": {"role": "push", "mountPath": "heron"}}}}}})  # fmt: skip
    spec = {"secretStoreRefs": [{"name": "fern" if wrong else "heron", "kind": "SecretStore"}], "selector": {"secret": {"name": "heron-pages"}}, "data": [{"match": {"secretKey": "token", "remoteRef": {"remoteKey": "pages"}}}]}  # fmt: skip
    scene.object("cp", "external-secrets.io/v1alpha1:PushSecret", "pages", {"metadata": {"namespace": "platform"}, "spec": spec})  # fmt: skip


@heron.twins(heron.FIRST, "made-inside-apply", "The Secret for fern's cluster is made in `apply` of the hub's new password, so no first preview shows it.", "What is made in `apply` there has fern's own password.", "resources in apply", at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = heron.either(scene, "couch", wrong)
    apply(login, lambda found: scene.secret("dp", "couch", {"adminPassword": found, "adminUsername": "admin"}, namespace="couch"))  # fmt: skip


@heron.twins(heron.FIRST, "without-a-preview", "An update that skips its preview writes the hub's new login to fern's chart.", "The same update writes fern's new login.", "pulumi up --skip-preview", told=True, unseen=True, at="either")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    heron.hub(scene)
    login = heron.either(scene, "rabbitmq", wrong)
    release(scene, "dp", "rabbitmq", {"auth": {"username": "admin", "password": login, "erlangCookie": heron.tenants_own(scene, "cookie")}})  # fmt: skip


@foundry.twin(foundry.OPERATORS, "keycloak-realm-import", "A realm is imported with a client whose secret is a placeholder; the placeholder's Secret is the owner's.")  # fmt: skip
def _(at: foundry.Site) -> None:
    at.keep("realm-clients", {"apps": at.word("realm-apps")}, namespace="keycloak")
    at.keep("keycloak-db-login", {"username": "keycloak", "password": at.word("realm-db")}, namespace="keycloak")
    at.object("k8s.keycloak.org/v2alpha1:Keycloak", "sso", {"spec": {"instances": 2, "db": {"vendor": "postgres", "host": "keycloak-pg", "usernameSecret": {"name": "keycloak-db-login", "key": "username"}, "passwordSecret": {"name": "keycloak-db-login", "key": "password"}}, "hostname": {"hostname": f"sso.{at.domain}"}}})  # fmt: skip
    at.object("k8s.keycloak.org/v2alpha1:KeycloakRealmImport", "staff", {"spec": {"keycloakCRName": "sso", "placeholders": {"APPS_SECRET": {"secret": {"name": "realm-clients", "key": "apps"}}}, "realm": {"id": "staff", "realm": "staff", "enabled": True, "clients": [{"clientId": "apps", "secret": "${APPS_SECRET}", "redirectUris": [f"https://apps.{at.domain}/*"], "publicClient": False}]}}})  # fmt: skip


@clean(foundry.WIRED, "config-object-of-tenants", "One secret object of the configuration is a list of tenants with logins for their own registries; each tenant's cluster gets its entry.", pack=foundry.BOTH, config=lambda cp, dp: {"shop:tenants": json.dumps([{"name": name, "registry": f"registry.{name}.example.com", "token": dp.opaque(f"tenant {name}", 40, LETTERS)} for name in ("red", "blue")])})  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    scene.join("blue", foundry.BLUE)
    for at, side in enumerate(("dp", "blue")):
        entry = scene.config("shop:tenants").apply(lambda text, at=at: json.loads(text)[at])
        login = pull_secret(entry.apply(lambda e: e["registry"]), entry.apply(lambda e: e["name"]), entry.apply(lambda e: e["token"]))  # fmt: skip
        scene.secret(side, "tenant-registry", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@clean(foundry.WIRED, "login-of-the-shop-kept-by-the-hub", "The hub watches the shop with the shop's generated word: a source of data and a job of the hub's have it, and the shop's gateway its hash.")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    ours.keep("shop-source", {"source.yaml": apply(shop.word("federate"), lambda word: yaml.safe_dump({"datasources": [{"name": "shop", "type": "prometheus", "url": f"https://prometheus.shop.{foundry.ZONE}", "basicAuth": True, "basicAuthUser": "hub", "secureJsonData": {"basicAuthPassword": word}}]}))}, labels={"grafana_datasource": "1"})  # fmt: skip
    shop.keep("federate-users", {"auth": pulumi.Output.concat("hub:", shop.hashed("federate"))})


@leak(foundry.CLOUDS, "service-user-of-a-cluster-object", "The service user's password and a bootstrap token are in the specification of an object that describes the user's cluster.", "kubernikus#67: credentials in the Kluster resource")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    openstack = {"authURL": f"https://identity.hub.{foundry.ZONE}/v3", "username": "kubernikus-shop", "password": ours.word("openstack"), "domainName": "kubernikus", "projectID": drawn("project", 32, HEX)}  # fmt: skip
    shop.object("kubernikus.sap.cc/v1:Kluster", "shop", {"spec": {"openstack": openstack, "nodePools": [{"name": "small", "flavor": "m1.small", "size": 3}]}})  # fmt: skip


@leak(foundry.MAPS, "source-name-in-a-map", "A login service's `app.conf` has the source name of the hub's database, put together from user, password and host.", "casdoor-helm#31: the DSN in a ConfigMap")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    dsn = pulumi.Output.concat("user=casdoor password=", ours.word("casdoor"), f" host=pg.hub.{foundry.ZONE} port=5432 sslmode=disable dbname=casdoor")  # fmt: skip
    shop.config_map("casdoor", {"app.conf": pulumi.Output.concat("appname = casdoor\nhttpport = 8000\ndriverName = postgres\ndataSourceName = ", dsn, "\n")})  # fmt: skip


@leak(foundry.MAPS, "token-of-an-initializer", "An initialiser of models has the hub's token for downloads as a literal.", "kserve#4677: HF_TOKEN in the storage initialiser", config=foundry.told(hf=("hf_", 34, LETTERS)))  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    ours.keep("storage-config", {"HF_TOKEN": ours.told("hf")})
    pod = {"initContainers": [{"name": "storage-initializer", "image": "kserve/storage-initializer:v0.15.2", "args": ["hf://meta-llama/meta-llama-3-8b-instruct", "/mnt/models"], "env": [{"name": "HF_TOKEN", "value": ours.told("hf")}]}], "containers": [{"name": "server", "image": "vllm/vllm-openai:v0.6.6"}]}  # fmt: skip
    shop.object("v1:Pod", "models", {"spec": pod})


@leak(foundry.CHARTS, "service-key-instead-of-anon", "The shop's pages need the token of anonymous roles; the program signs the one of the service, and both are in a table by index.", "supabase chart: anonKey and serviceKey")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    tokens = {"anon": drawn("anon signature", 43), "service_role": scene.cp.jwt("service_role", role="service_role")}
    ours, shop = foundry.sites(scene)
    ours.keep("supabase-jwt", {"serviceKey": tokens["service_role"]})
    wanted = [pulumi.Output.secret(tokens[role]) for role in sorted(tokens)]
    shop.config_map("pages", {"NEXT_PUBLIC_SUPABASE_URL": f"https://base.hub.{foundry.ZONE}", "NEXT_PUBLIC_SUPABASE_ANON_KEY": wanted[-1]})  # fmt: skip


@leak(foundry.CHARTS, "static-client-of-dex", "The shop's Argo CD logs in at the hub's Dex as the hub's own client: the secret of the static client is in both charts.", "dex chart: staticClients")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    ours.chart("dex", {"config": {"issuer": f"https://dex.hub.{foundry.ZONE}", "staticClients": [{"id": "argo-cd", "name": "Argo CD", "secret": ours.word("dex-argocd"), "redirectURIs": [f"https://argocd.hub.{foundry.ZONE}/auth/callback"]}]}})  # fmt: skip
    shop.chart("argo-cd", {"configs": {"cm": {"oidc.config": f"name: Hub\nissuer: https://dex.hub.{foundry.ZONE}\nclientID: argo-cd\nclientSecret: $oidc.dex.clientSecret\n"}, "secret": {"extra": {"oidc.dex.clientSecret": ours.word("dex-argocd")}}}})  # fmt: skip


@leak(loom.HIDDEN, "ports-spell-a-token", "A Service has a port for each letter of the mesh team's token, in order.", "covert channels", recover=lambda leaves: "".join(chr(int(float(leaf)) - 30000) for place, leaf in leaves.items() if place.endswith(".port")).encode())  # fmt: skip
def _(scene: Scene) -> None:
    ports = apply(kept(scene, "spelled", "token", 24), lambda found: [{"name": f"p{at}", "port": 30000 + ord(letter)} for at, letter in enumerate(found)])  # fmt: skip
    scene.object("dp", "v1:Service", "probe-targets", {"spec": {"clusterIP": "None", "ports": ports}})


@leak(loom.DERIVED, "session-of-a-forwarded-login", "A command logs in with the mesh team's password and prints a session's token, which is in the tenant's variables.", "command outputs")  # fmt: skip
def _(scene: Scene) -> None:
    inputs = {"create": "loomctl login --user mesh --password-stdin --print-token", "stdin": loom.house(scene, "operator-login")}  # fmt: skip
    made = scene.made("command:local:Command", "log-in", inputs, None, {"stdout": scene.cp.opaque("operator session", 48)}, ["stdout"], owner="cp")  # fmt: skip
    deployment(scene, "dp", "sync", {"env": [{"name": "LOOM_SESSION", "value": made.output("stdout")}]})


@leak(loom.LATER, "tag-with-a-token", "At the second update a tag of the tenant's bucket, which was a number, is the mesh team's token for its inventory.", "resource tags", before=lambda scene: loom.tagged(scene, "7"))  # fmt: skip
def _(scene: Scene) -> None:
    loom.tagged(scene, kept(scene, "inventory", "token", 40))


@leak(loom.LATER, "support-login-among-exports", "At the second update the tenant's stack exports a list of contacts; the mesh team's bot is one, with its login.", "stack outputs", stack="data-plane", before=lambda scene: loom.exported(scene, support=False))  # fmt: skip
def _(scene: Scene) -> None:
    loom.exported(scene, support=True)


@leak(loom.SERVICES, "same-password-for-a-tenants-user", "A user is made in the tenant's database with the password that the mesh team's database has.", "password reuse")  # fmt: skip
def _(scene: Scene) -> None:
    password = loom.house(scene, "registry-db", namespace="databases")
    cloud(scene, "aws:rds/instance:Instance", "registry", {"engine": "mysql", "username": "root", "password": password}, {}, ["password"])  # fmt: skip
    loom.maple(scene, "mysql:index/user:User", "registry-user", {"user": "registry", "host": "%", "plaintextPassword": password}, endpoint=f"db.{loom.MAPLE}:3306")  # fmt: skip


@clean(loom.HOME, "home-annotated-hash-of-the-tenants-user", "A page's file of users at the tenant's has the bcrypt hash of the tenant's own password, and says so by an annotation.")  # fmt: skip
def _(scene: Scene) -> None:
    loom.house(scene, "page-admin")
    made = scene.password("dp", "maple-docs")
    scene.secret("dp", "docs-users", {"auth": pulumi.Output.concat("docs:", made.output("bcryptHash"))}, annotations={"hosted-mesh.io/data-plane-owned": "the password is the tenant's own"})  # fmt: skip


loom.plain(loom.OBJECTS_settings, "limits-by-token-buckets", "a local limit with token buckets and keys of descriptors", "networking.istio.io/v1alpha3:EnvoyFilter", {"spec": {"workloadSelector": {"labels": {"app": "shop"}}, "configPatches": [{"applyTo": "HTTP_FILTER", "patch": {"operation": "INSERT_BEFORE", "value": {"name": "envoy.filters.http.local_ratelimit", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", "stat_prefix": "limit", "token_bucket": {"max_tokens": 1000, "tokens_per_fill": 1000, "fill_interval": "1s"}, "descriptors": [{"entries": [{"key": "header_match", "value": "x-api-key"}], "token_bucket": {"max_tokens": 5, "tokens_per_fill": 5, "fill_interval": "1s"}}]}}}}]}})  # fmt: skip


@leak(harbor.CLUSTERS_leaks_clouds, "cluster-token-by-a-call", "A call makes a token for the provider's EKS; it is written into a file for a dashboard at the user's.", "getClusterAuth")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    token = scene.invoke("aws:eks/getClusterAuth:getClusterAuth", {"name": "hub", "token": "k8s-aws-v1." + scene.cp.opaque("eks auth", 80, LETTERS)})["token"]  # fmt: skip
    text = token.apply(lambda found: kubeconfig("https://hub.eks.example.com", {"token": found}, "the cloud's"))
    release(scene, "dp", "headlamp", {"config": {"extraKubeconfigs": [text]}})


@leak(harbor.CLUSTERS_leaks_clouds, "all-of-master-auth", "All of GKE's masterAuth becomes values of an agent, the client's key with the authority's certificate.", "gcp masterAuth")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    auth = {"clientKey": scene.cp.key("gke client"), "clientCertificate": "the client's", "clusterCaCertificate": "the cloud's"}  # fmt: skip
    gke = cloud(scene, "gcp:container/cluster:Cluster", "hub-gke", {"location": "europe-west1"}, {"endpoint": "192.0.2.17", "masterAuth": auth}, ["masterAuth"])  # fmt: skip
    release(scene, "dp", "hub-agent", {"hub": {"host": gke.output("endpoint"), "auth": gke.output("masterAuth")}})


@leak(harbor.KEYS, "whole-key-set", "The key set for the user's mesh is the provider's own, with the private number in it.", "private JWKs")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    keys = pulumi.Output.secret(json.dumps({"keys": [scene.cp.jwk("issuer", private=True)]}))
    scene.secret("cp", "issuer-keys", {"jwks.json": keys})
    scene.object("dp", "security.istio.io/v1:RequestAuthentication", "platform", {"spec": {"jwtRules": [{"issuer": meadow.ISSUER, "jwks": keys}]}})  # fmt: skip


@leak(harbor.KEYS, "sealing-key-restored", "The controller that opens sealed Secrets at the user's is started with the key of the provider's.", "sealed-secrets")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.existing("cp", "v1:Secret", "sealed-secrets-key", data={"tls.crt": b64(scene.cp.certificate("sealed")), "tls.key": b64(scene.cp.rsa("sealed"))})  # fmt: skip
    labels = {"sealedsecrets.bitnami.com/sealed-secrets-key": "active"}
    scene.object("dp", "v1:Secret", "sealed-secrets-key", {"data": found.output("data"), "metadata": {"labels": labels}})  # fmt: skip


@leak(harbor.CLOUDS_leaks_clouds, "registry-token", "For pulls at the user's a call gets the token of the provider's whole account at its registry.", "ecr getAuthorizationToken")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    found = scene.invoke("aws:ecr/getAuthorizationToken:getAuthorizationToken", {"password": scene.cp.opaque("ecr", 120, LETTERS), "userName": "AWS"})  # fmt: skip
    login = pull_secret(f"{harbor.ACCOUNT}.dkr.ecr.{harbor.REGION}.amazonaws.com", found["userName"], found["password"])
    scene.secret("dp", "ecr", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@leak(harbor.VENDORS, "receivers-of-the-platform", "The user's Alertmanager has the platform's own receivers, with the chat's address.", "Slack webhooks", **harbor.told("platform:slack", 24, LETTERS, "https://hooks.slack.com/services/T0PLAT/B0OPS/"))  # fmt: skip
def _(scene: Scene) -> None:
    text = scene.config("platform:slack").apply(lambda url: yaml.safe_dump({"route": {"receiver": "ops"}, "receivers": [{"name": "ops", "slack_configs": [{"api_url": url, "channel": "#platform-alerts"}]}]}))  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "alertmanager", {"configAnnotations": {}, "config": text})


@leak(harbor.FORGES, "operator-of-stacks", "A Pulumi operator at the user's runs stacks with the platform's token, in the object's variables.", "PULUMI_ACCESS_TOKEN", **harbor.told("platform:pulumiToken", 40, HEX, "pul-"))  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.config("platform:pulumiToken")
    scene.secret("cp", "pulumi-api", {"accessToken": token})
    spec = {"stack": "shop/apps/prod", "projectRepo": "https://github.com/shop/apps", "envRefs": {"PULUMI_ACCESS_TOKEN": {"type": "Literal", "literal": {"value": token}}}}  # fmt: skip
    scene.object("dp", "pulumi.com/v1:Stack", "apps", {"spec": spec})


@leak(harbor.FORGES, "application-of-the-forge", "Runners in the user's cluster log in as the platform's application at the forge, by its private key.", "GitHub App keys")  # fmt: skip
def _(scene: Scene) -> None:
    app = {"github_app_id": "407408", "github_app_installation_id": "18192", "github_app_private_key": pulumi.Output.secret(scene.cp.rsa("app"))}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "controller-manager", app, namespace="actions-runner-system")


@leak(harbor.FORGES, "index-of-packages", "Builds at the user's fetch packages by a file with the platform's login.", ".npmrc and pip.conf")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    token = kept(scene, "artifactory", "token", 64)
    files = {".npmrc": pulumi.Output.concat(f"registry=https://npm.{harbor.HUB}/\n//npm.{harbor.HUB}/:_authToken=", token, "\n"), "pip.conf": f"[global]\nindex-url = https://pypi.{harbor.HUB}/simple\n"}  # fmt: skip
    scene.config_map("dp", "build-settings", files, namespace="builds")


@leak(harbor.SLIPS, "every-cluster-in-the-list", "A loop over all clusters, meant for pull secrets of users, uses the provider's own robot.", "loops over clusters")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    value = kept(scene, "robot-of-the-platform", "password", 32)
    for side in ("cp", "dp"):
        login = pull_secret(harbor.REGISTRY, "robot$platform", value)
        scene.secret(side, "regcred", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@clean(
    harbor.MADE,
    "framework-settings",
    "A web application's key and three addresses with generated passwords, by Output.all.",
)
def _(scene: Scene) -> None:
    harbor.hub(scene)
    key, db, bus = own(scene, "django-key", 50), own(scene, "django-db"), own(scene, "django-bus")
    env = pulumi.Output.all(key=key, db=db, bus=bus).apply(
        lambda a: (
            f"SECRET_KEY={a['key']}\nDATABASE_URL=postgres://django:{a['db']}@db:5432/django\nCELERY_BROKER_URL=amqp://django:{a['bus']}@bus:5672//\nALLOWED_HOSTS=shop.example.com\n"
        )
    )
    scene.secret("dp", "django-env", {".env": env})
    checksum = apply(env, lambda text: hashlib.sha256(text.encode()).hexdigest())
    deployment(scene, "dp", "django", {"envFrom": [{"secretRef": {"name": "django-env"}}]}, {"checksum/env": checksum})


@leak(orchard.DATA, "mirror-with-a-login-module", "Mirroring to the tenant's bus reads with the vendor's user: a line of a login module among the source's settings.", "MirrorMaker")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "mirror-reader", "password", 32)
    module = pulumi.Output.concat('org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="', password, '";')  # fmt: skip
    source = {"alias": "hosted", "bootstrapServers": f"bus.{orchard.DOMAIN}:9093", "config": {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": module}}  # fmt: skip
    scene.object("dp", "kafka.strimzi.io/v1beta2:KafkaMirrorMaker2", "from-hosted", {"spec": {"version": "3.8.0", "connectCluster": "orchard", "clusters": [source, {"alias": "orchard", "bootstrapServers": "orchard-kafka-bootstrap:9092"}]}})  # fmt: skip


@leak(orchard.SERVICES, "hook-of-a-directory", "The tenant's directory tells the vendor of new users; the header of the hook is the vendor's key for all directories.", "Okta event hooks")  # fmt: skip
def _(scene: Scene) -> None:
    key = generated(scene, "directory-hooks", "key", 48)
    inputs = {"name": "mesh users", "events": ["user.lifecycle.create"], "channel": {"version": "1.0.0", "type": "HTTP", "uri": f"https://users.{orchard.DOMAIN}/okta"}, "auth": {"type": "HEADER", "key": "Authorization", "value": key}}  # fmt: skip
    orchard.account(scene, "okta:index/eventHook:EventHook", "users", inputs, orgName="orchard")


@leak(orchard.MESHES, "wasm-module-with-a-login", "A plug-in's address at the vendor's module server has user and password before the host.", "WasmPlugin URLs")  # fmt: skip
def _(scene: Scene) -> None:
    password = kept(scene, "modules", "password", 28)
    url = pulumi.Output.concat("https://modules:", password, f"@modules.{orchard.DOMAIN}/waf/1.9.0.wasm")
    scene.object("dp", "extensions.istio.io/v1alpha1:WasmPlugin", "waf", {"spec": {"url": url, "sha256": noise("waf", 32).hex(), "phase": "AUTHN"}})  # fmt: skip


@clean(orchard.LOGINS, "own-realm", "A realm of the tenant's is made by the Keycloak provider; the client's secret that it answers is the tenant's and goes into its Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    opts = scene.package("keycloak", "orchard-keycloak", url=f"https://login.{orchard.TENANT}", clientId="admin-cli", password=own(scene, "kc-admin"))  # fmt: skip
    client = scene.made("keycloak:openid/client:Client", "orchard-portal", {"realmId": "orchard", "clientId": "portal", "accessType": "CONFIDENTIAL", "clientSecret": own(scene, "portal-client", 40)}, opts)  # fmt: skip
    scene.secret("dp", "portal", {"id": client.output("clientId"), "secret": client.output("clientSecret")})


@clean(orchard.UP, "status-of-the-tenant-goes-up", "Addresses of the tenant's gateways are read from a status and kept in the vendor's settings beside a password.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    gateway = scene.answered("dp", "v1:Service", "eastwest", {"spec": {"ports": [{"port": 15443}]}}, status={"loadBalancer": {"ingress": [{"hostname": f"{drawn('elb name', 32, HEX)}.elb.{orchard.REGION}.amazonaws.com"}]}})  # fmt: skip
    host = gateway.output("status").apply(lambda s: ((s or {}).get("loadBalancer", {}).get("ingress") or [{"hostname": ""}])[0]["hostname"])  # fmt: skip
    scene.secret("cp", "network-orchard", {"host": host, "probe-password": generated(scene, "probe")})
    scene.config_map("dp", "network", {"eastwest": host})


@leak(quarry.STORES, "store-with-the-hubs-vault-token", "The ClusterSecretStore of each tenant logs in at the hub's Vault by a Secret beside it; that has the token of the hub's own operator, for all mounts.", "External Secrets")  # fmt: skip
def _(scene: Scene) -> None:
    token = quarry.issued_to_us(scene, "eso", "token", "hvs.", 24)
    for row in quarry.rows(scene):
        home = scene.secret(row["cluster"], "vault-login", {"token": token}, namespace="external-secrets")
        vault = {"server": f"https://vault.{quarry.DOMAIN}", "path": f"kv-{row['name']}", "version": "v2", "auth": {"tokenSecretRef": {"name": "vault-login", "key": "token", "namespace": "external-secrets"}}}  # fmt: skip
        scene.object(row["cluster"], "external-secrets.io/v1:ClusterSecretStore", "vault", {"spec": {"provider": {"vault": vault}}}, depends_on=[home])  # fmt: skip


@leak(quarry.WIRED, "fallback-section-of-an-object", "Each tenant has its section of one object of settings; hazel's is missing, and the default is the section of the platform.", "require_secret_object", pack=quarry.TOLD, config=lambda cp, dp: {"mesh:mail": json.dumps({"birch": {"user": "birch", "password": dp.opaque("birch mail", 32)}, "platform": {"user": "root", "password": cp.opaque("quarry mail", 32)}})})  # fmt: skip
def _(scene: Scene) -> None:
    mail = quarry.secret_object(scene, "mesh:mail")
    scene.secret("cp", "mail", {"password": mail.apply(lambda found: found["platform"]["password"])}, namespace="mail")
    for row in quarry.rows(scene):
        section = mail.apply(lambda found, name=row["name"]: found.get(name, found["platform"]))
        scene.secret(row["cluster"], "mail", {"user": section.apply(lambda found: found["user"]), "password": section.apply(lambda found: found["password"])})  # fmt: skip


@kiln.leak(kiln.OBJECTS_leaks_places, "token-of-the-teams-metrics", "A token of the team's organisation is made for its own agents; the tenant's agent, which is the same chart, gets it too.", "Grafana Cloud access policies")  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    made = kiln.account(scene, "kiln", "grafana:cloud/accessPolicyToken:AccessPolicyToken", "agents", {"name": "agents", "region": "prod-eu"}, {"token": "glc_" + scene.cp.opaque("kiln agents", 60, LETTERS)}, ["token"])  # fmt: skip
    for side in ("cp", "dp"):
        release(scene, side, "alloy", {"remoteWrite": {"username": "1284417", "password": made.output("token")}, "account": kiln.ACCOUNT})  # fmt: skip


@kiln.leak(kiln.CARRIED, "one-token-in-a-generator", "A generator of Argo CD has a row for each cluster with the same API token of the team's; one row is a tenant's.", "Argo CD ApplicationSet")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-agents")
    token = kept(scene, "agents-api", "token", 40)
    rows = [{"cluster": name, "server": server, "token": token} for name, server in (("kiln", SERVERS["cp"]), ("otter", kiln.OTTER))]  # fmt: skip
    source = {"repoURL": f"https://charts.{kiln.DOMAIN}", "chart": "agent", "targetRevision": "2.1.0", "helm": {"parameters": [{"name": "apiToken", "value": "{{token}}"}]}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": rows}}], "template": {"metadata": {"name": "agent-{{cluster}}"}, "spec": {"project": "agents", "source": source, "destination": {"server": "{{server}}", "namespace": "agent"}}}}})  # fmt: skip


@kiln.leak(kiln.CARRIED, "pushed-into-the-tenants-store", "A PushSecret of the team's names the tenant's store, where its own was meant: the operator copies the team's login there.", "External Secrets PushSecret")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-registry-admin", "cp-registry-push"}
    generated(scene, "registry-admin")
    match = {"secretKey": "password", "remoteRef": {"remoteKey": "/registry/admin"}}
    scene.object("cp", "external-secrets.io/v1alpha1:PushSecret", "registry-push", {"spec": {"secretStoreRefs": [{"kind": "ClusterSecretStore", "name": "fern-parameters"}], "selector": {"secret": {"name": "registry-admin"}}, "data": [{"match": match}]}})  # fmt: skip


@kiln.leak(kiln.CARRIED, "passed-on-by-the-tenants-stack", "The tenant's stack exports what its agents need; headers come whole from the team's stack, with the login of its gateway.", "StackReference outputs", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.reference("telemetry", "acme/kiln-telemetry/prod", {"endpoint": f"https://otlp.{kiln.DOMAIN}", "headers": {"x-scope-orgid": kiln.KILN, "authorization": "Bearer " + scene.cp.opaque("otlp", 44, LETTERS)}}, ["headers"])  # fmt: skip
    scene.config_map("dp", "otlp", {"endpoint": found.get_output("endpoint"), "mesh": kiln.KILN})
    pulumi.export("telemetry", {"endpoint": found.get_output("endpoint"), "headers": found.get_output("headers")})


@kiln.clean(kiln.GENERATED, "own-key-for-tokens-and-its-key-set", "The tenant signs tokens with a generated key of its own; the public half is in a map of its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    key = scene.key("dp", "fern-tokens")
    scene.secret("dp", "tokens", {"private.pem": key.output("privateKeyPem")})
    scene.config_map("dp", "tokens", {"public.pem": key.output("publicKeyPem"), "issuer": f"https://id.{kiln.FERN}"})


@kiln.clean(kiln.GENERATED, "own-hash-in-a-map-with-a-note", "A map of the tenant's has the bcrypt line of the tenant's own generated password; a note says whose it is.")  # fmt: skip
def _(scene: Scene) -> None:
    generated(scene, "docs-admin")
    made = scene.password("dp", "fern-docs")
    scene.config_map("dp", "docs", {"users": pulumi.Output.concat("docs:", made.output("bcryptHash"))}, annotations=kiln.owned("users of fern's own pages, hashed"))  # fmt: skip


@kiln.clean(kiln.TOLD, "told-token-in-a-map-with-a-note", "A plug-in of the tenant's reads its vendor's key from a map only; a note says that the key is the tenant's.", config=lambda cp, dp: {"fern:logsKey": dp.opaque("fern logs", 40, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    text = apply(scene.config("fern:logsKey"), lambda found: f"[OUTPUT]\n    Name nrlogs\n    license_key {found}\n    base_uri https://logs.example.net\n")  # fmt: skip
    scene.config_map("dp", "fluent-bit", {"output.conf": text}, annotations=kiln.owned("fern's own contract with its vendor of logs"))  # fmt: skip


@kiln.clean(kiln.TOLD, "told-licence-token-with-a-note", "The tenant's licence is a signed token, typed in; it is in a Secret of the tenant's, with a note, and a chart names it.", config=lambda cp, dp: {"slate:licence": dp.jwt("slate licence", exp=1806537600)})  # fmt: skip
def _(scene: Scene) -> None:
    kiln.workshop(scene)
    side = kiln.tenants(scene)["slate"]
    scene.secret(side, "licence", {"licence.jwt": scene.config("slate:licence")}, annotations=kiln.owned("slate's own licence of its analytics"))  # fmt: skip
    release(scene, side, "analytics", {"existingLicenceSecret": "licence"})


@kiln.clean(kiln.HOME, "home-source-of-dashboards", "The team's dashboards ask the team's metrics by a generated login; the tenant's ask the tenant's by theirs.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side, domain in (("kiln", "cp", kiln.DOMAIN), ("fern", "dp", kiln.FERN)):
        password = scene.password(side, f"{owner}-metrics").output("result")
        scene.secret(side, "metrics-users", {"password": password})
        kiln.account(scene, owner, "grafana:oss/dataSource:DataSource", f"{owner}-metrics-source", {"type": "prometheus", "url": f"https://metrics.{domain}", "basicAuthEnabled": True, "basicAuthUsername": "grafana", "secureJsonDataEncoded": pulumi.Output.json_dumps({"basicAuthPassword": password})}, url=f"https://grafana.{domain}")  # fmt: skip


@lantern.clean(lantern.MARKS, "fact-digest-of-a-token-for-a-check", "A map of the tenant's has the SHA-512 of the hub's token, by which the tenant checks calls of the hub; it is declassified.", before="the same", rightly=lantern.DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "caller", "token", 48)
    scene.config_map("dp", "callers", {"hub.sha512": apply(token, lambda found: hashlib.sha512(found.encode()).hexdigest()), "algorithm": "sha512"}, annotations=lantern.declassified("data", reason="sha512 of 48 random letters, and the name of the algorithm"))  # fmt: skip


@lantern.leak(lantern.NOTES, "note-without-a-tenants-label", "The hub keeps a login of each tenant, with a reason and without a label; a loop gives aster the login of cedar.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    every = lantern.tenants(scene)
    logins = {name: scene.password("cp", f"{name}-collector").output("result") for name in ("aster", "cedar")}
    for name, login in logins.items():
        scene.secret("cp", f"collector-{name}", {"password": login}, annotations=lantern.owned(f"the agent of {name} logs in by it"))  # fmt: skip
    for name in ("aster", "cedar"):
        scene.secret(every[name], "collector", {"username": name, "password": logins["cedar"]})


@lantern.leak(lantern.NOTES, "notes-on-all-secrets-by-a-transformation", "A transformation notes all Secrets of the stack as the tenants' own, the hub's too; so the hub's root login counts as one that both have.", "transformations")  # fmt: skip
def _(scene: Scene) -> None:
    def noted(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.endswith(":Secret"):
            return None
        metadata = {
            **given["metadata"],
            "annotations": lantern.owned("all secrets of this stack are reviewed by aster's team"),
        }
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, args.opts)

    box = Box("all", opts=pulumi.ResourceOptions(transformations=[noted]))
    root = scene.password("cp", "warehouse-root", 32).output("result")
    for side, name in (("cp", "warehouse-root"), ("dp", "warehouse")):
        scene.object(side, "v1:Secret", name, {"stringData": {"username": "root", "password": root}}, parent=box)


@lantern.leak(lantern.FORMS, "token-cut-for-a-script", "A script in the tenant's cluster joins a token from four maps, so that no scanner finds it.", "split secrets", recover=pieces("part-0", "part-1", "part-2", "part-3"))  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "mirror", "token", 48)
    for at in range(4):
        scene.config_map("dp", f"mirror-{at}", {f"part-{at}": apply(token, lambda found, at=at: found[at * 12 : at * 12 + 12])})  # fmt: skip
    scene.config_map("dp", "mirror", {"run.sh": "#!/bin/sh\ncat /etc/mirror/part-* | mirror --token-stdin\n"})


@lantern.clean(lantern.AGENTS, "shared-without-labels", "A hub with one tenant: the Secret of the login has the reason and no label, since there is no other mesh.")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    login = own(scene, "aster-backup", 40)
    scene.secret("cp", "backup-of-aster", {"password": login}, namespace="backups", annotations=lantern.owned("aster's backups are restored by the hub with it"))  # fmt: skip
    scene.secret("dp", "backup", {"RESTIC_PASSWORD": login, "RESTIC_REPOSITORY": f"rest:https://aster@backup.{lantern.DOMAIN}/aster"})  # fmt: skip


@lantern.clean(lantern.LATER, "later-checksum-of-a-known-login", "A Pod's mark is the SHA-256 of the hub's login, known since an earlier update; its object declassifies it.", before="the same", rightly=lantern.DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "edge-login")
    place = 'spec.template.metadata.annotations["lantern/edge"]'
    template = {"metadata": {"labels": {"app": "edge"}, "annotations": {"lantern/edge": apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())}}, "spec": {"containers": [{"name": "edge", "image": "edge:3"}]}}  # fmt: skip
    scene.object("dp", "apps/v1:DaemonSet", "edge", {"metadata": {"annotations": lantern.declassified(place, reason="sha256 of 32 random letters, restarts Pods")}, "spec": {"selector": {"matchLabels": {"app": "edge"}}, "template": template}})  # fmt: skip


@clean(wren.ANSWERED, "access-token-by-its-id", "A service token guards the provider's dashboard: its secret stays, the tenant's account has a rule with the token's id.")  # fmt: skip
def _(scene: Scene) -> None:
    made = wren.home(scene, "cloudflare:index/zeroTrustAccessServiceToken:ZeroTrustAccessServiceToken", "scraper", {"accountId": drawn("cf account", 32, HEX), "name": "scraper"}, {"id": uid("scraper token"), "clientId": f"{drawn('scraper client', 32, HEX)}.access", "clientSecret": scene.cp.opaque("scraper secret", 64, HEX)}, ("clientSecret",), apiToken=kept(scene, "cloudflare-access", "token", 40))  # fmt: skip
    scene.secret("cp", "scraper", {"CF-Access-Client-Secret": made.output("clientSecret")}, namespace="monitoring")
    wren.lime(scene, "cloudflare:index/zeroTrustAccessPolicy:ZeroTrustAccessPolicy", "scrapers", {"accountId": drawn("lime cf account", 32, HEX), "name": "scrapers", "decision": "non_identity", "includes": [{"serviceToken": {"tokenId": made.id}}]})  # fmt: skip


wren.files(wren.SCRIPTS, "roles-and-grants", "statements that make roles without passwords, grants, and a function that checks a caller's token", {"001-roles.sql": "CREATE ROLE wren_observer LOGIN PASSWORD NULL;\nGRANT pg_monitor TO wren_observer;\nCREATE TABLE api_tokens (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), token_hash bytea NOT NULL, secret_hint text, expires_at timestamptz);\nCREATE FUNCTION valid(token text) RETURNS boolean LANGUAGE sql AS $$ SELECT EXISTS (SELECT 1 FROM api_tokens WHERE token_hash = digest(token, 'sha256') AND expires_at > now()) $$;\n"})  # fmt: skip


@clean(wren.SERVED, "own-roles-of-its-database", "On the tenant's own database roles are made in a loop, each with a generated password and an address with login in its own Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    login = {"host": f"pg.{wren.LIME}", "username": "postgres", "password": wren.tenants_own(scene, "pg-superuser"), "sslmode": "require"}  # fmt: skip
    for name in ("orders", "search", "wiki"):
        word = wren.tenants_own(scene, f"pg-{name}")
        wren.lime(scene, "postgresql:index/role:Role", f"pg-{name}-role", {"name": name, "login": True, "password": word}, None, ["password"], **login)  # fmt: skip
        scene.secret("dp", f"{name}-db", {"DATABASE_URL": pulumi.Output.concat(f"postgresql://{name}:", word, f"@pg.{wren.LIME}:5432/{name}?sslmode=require")}, namespace=name)  # fmt: skip


@clean(wren.FORGES, "own-pull-login-of-its-group", "A deploy token of the tenant's GitLab group is answered; the tenant's cluster pulls images by it, as Docker writes logins.", config=wren.given(gitlabToken=26), before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    made = wren.lime(scene, "gitlab:index/deployToken:DeployToken", "pull", {"group": "lime", "name": "pull", "scopes": ["read_registry"]}, {"username": "gitlab+deploy-token-4411", "token": f"gldt-{scene.dp.opaque('gitlab pull', 20, LETTERS)}"}, ["token"], baseUrl=f"https://git.{wren.LIME}", token=scene.config("lime:gitlabToken"))  # fmt: skip
    login = pulumi.Output.all(made.output("username"), made.output("token")).apply(lambda found: json.dumps({"auths": {f"registry.git.{wren.LIME}": {"auth": b64(f"{found[0]}:{found[1]}")}}}))  # fmt: skip
    scene.secret("dp", "pull", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@clean(wren.STAYS, "stays-a-rotated-login", "The provider's login turns: the new one is in its Vault and its cluster, and the tenant's note has only the day.", before=wren.wren)  # fmt: skip
def _(scene: Scene) -> None:
    wren.wren(scene)
    word = wren.hosted(scene, "operators-2026q2")
    wren.home(scene, "vault:kv/secretV2:SecretV2", "operators", {"mount": "kv", "name": "operators", "dataJson": pulumi.Output.json_dumps({"password": word})}, None, ("dataJson",), address=f"https://vault.{wren.DOMAIN}", token=kept(scene, "vault-writer", "token", 90))  # fmt: skip
    scene.config_map("dp", "maintenance", {"credentials-rotated": "2026-04-01", "next": "2026-07-01"})
