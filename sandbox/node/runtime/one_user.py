"""The differences of a node with a single user id: a sandbox of an ordinary user without a range of ids.

Istio distinguishes a proxy's traffic from its application's by user id 1337, and here all have the same one. So Envoy
marks its connections (SO_MARK) instead, by a setting in its bootstrap. Rules before Istio's own let marked traffic and
traffic to istiod pass. Less real: the proxy holds NET_ADMIN for that, and an application's own calls to port 15012
are not captured. All else (redirection both ways, mutual TLS, policies) works as with users.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sandbox.node.runtime.images import Files
from sandbox.node.runtime.security import GRANTABLE, IdMap
from sandbox.node.runtime.spec import Identity

PROXY_USER = 1337
_ISTIOD_PORT = 15012
_SOL_SOCKET, _SO_MARK = 1, 36
_BOOTSTRAP = "/var/lib/istio/envoy/envoy_bootstrap_tmpl.json"
_MANAGER = '"cluster_manager": {'
_AFTER = '{{- end }}\n  ,\n  "deferred_stat_options"'  # the template has a cluster manager only with settings in it
_OPTION = f'{{"level": "{_SOL_SOCKET}", "name": "{_SO_MARK}", "int_value": "{PROXY_USER}", "state": "STATE_PREBIND"}}'
_BIND = f'"upstream_bind_config": {{"socket_options": [{_OPTION}]}}'
# Each is inserted before all others, so the last here matches first: the order of Istio's own rules for user 1337.
_RULES = f"""
insert rule inet istio-proxy-nat istio-output tcp dport {_ISTIOD_PORT} counter return
insert rule inet istio-proxy-nat istio-output meta mark {PROXY_USER} counter return
insert rule inet istio-proxy-nat istio-output oifname lo meta l4proto tcp ip daddr != 127.0.0.1 meta mark {PROXY_USER} \
  counter jump istio-in-redirect
insert rule inet istio-proxy-nat istio-output oifname lo ip saddr 127.0.0.6 counter return
"""


def applies(ids: IdMap, files: Files) -> bool:
    """Whether this node has a single user id and the image is a proxy's."""
    return _BOOTSTRAP in files.bound and not ids.has(PROXY_USER)


def marked(template: str) -> str:
    """Istio's bootstrap template with a mark on every connection to an upstream. Raises ValueError for another form."""
    if template.count(_MANAGER) != 1 or template.count(_AFTER) != 1:
        raise ValueError("Envoy's bootstrap template has a form in which this node cannot mark connections")
    always = template.replace(_AFTER, f"{{{{- else }}}}\n  ,\n  {_MANAGER} {_BIND} }}\n  {_AFTER}")
    return always.replace(_MANAGER + "\n", f"{_MANAGER}\n    {_BIND},\n")


def marking(files: Files, identity: Identity) -> tuple[Files, Mapping[str, str], Identity]:
    """The image's files without the template, its changed text by its path, and the right to set a mark besides."""
    bound = dict(files.bound)
    template = Path(bound.pop(_BOOTSTRAP)).read_text()
    capabilities = tuple(sorted({*identity.capabilities, GRANTABLE["NET_ADMIN"]}))
    return replace(files, bound=bound), {_BOOTSTRAP: marked(template)}, replace(identity, capabilities=capabilities)


def let_marked_pass(nft: Path) -> None:
    """Adds the rules in this process's network, if Istio's init container has made its own there.

    Raises subprocess.CalledProcessError when the kernel refuses them.
    """
    import subprocess  # noqa: PLC0415 (slow, and unused on other nodes)

    table = subprocess.run([nft, "list", "table", "inet", "istio-proxy-nat"], capture_output=True, check=False)
    if table.returncode == 0 and f"meta mark {PROXY_USER:#010x}".encode() not in table.stdout:
        subprocess.run([nft, "-f", "-"], input=_RULES.encode(), capture_output=True, check=True)
