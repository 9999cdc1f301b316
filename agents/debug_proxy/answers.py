"""Answers to istioctl's requests, from istiod's debug pages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from . import xds_messages
from .istiod import PROXY_PAGES, STATUS_PAGE, Istiods, Proxy
from .refusals import Reason, RefusedError

# pilot/pkg/xds: TypeDebugSyncronization, TypeDebugConfigDump in statusgen.go, DebugType in v3/model.go.
STATUS_TYPE: Final = "istio.io/debug/syncz"
DUMP_TYPE: Final = "istio.io/debug/config_dump"
PAGE_TYPE: Final = "istio.io/debug"
PAGES: Final = (*(f"{one}?proxyID=POD.NAMESPACE" for one in PROXY_PAGES), STATUS_PAGE)
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9.]{0,318}", re.ASCII)


def answer(istiods: Istiods, type_url: str, names: Sequence[str], token: str) -> Any:
    """The DiscoveryResponse. Raises: RefusedError."""
    response = xds_messages.DiscoveryResponse(type_url=type_url, version_info="1", nonce="1")
    if type_url == STATUS_TYPE:
        for proxy in istiods.proxies(token):
            value = client_config(proxy).SerializeToString(deterministic=True)
            response.resources.add(type_url=xds_messages.CLIENT_CONFIG, value=value)
    elif type_url == PAGE_TYPE and len(names) == 1:
        response.resources.add(type_url=PAGE_TYPE, value=_page(istiods, names[0], token))
    elif type_url == DUMP_TYPE:
        text = "the difference of one proxy is not available: use istioctl proxy-config, or istioctl x internal-debug"
        raise RefusedError(Reason.UNIMPLEMENTED, f"{text} config_dump?proxyID=POD.NAMESPACE")
    else:
        raise RefusedError(Reason.PERMISSION_DENIED, f"not permitted: permitted are {', '.join(PAGES)}")
    identifier = {"Component": "istiod", "ID": istiods.title, "Info": istiods.version()}
    response.control_plane.identifier = json.dumps(identifier)
    return response


def client_config(proxy: Proxy) -> Any:
    """The message of istiod's own StatusGen, from an entry of `syncz`."""
    found = xds_messages.ClientConfig()
    found.node.id = proxy.name
    version = str(proxy.status.get("istio_version", ""))
    metadata = {"CLUSTER_ID": proxy.cluster, "NAMESPACE": proxy.namespace, "ISTIO_VERSION": version}
    found.node.metadata.update(metadata)
    resources = proxy.status.get("resources")
    for type_url, one in sorted(resources.items()) if isinstance(resources, dict) else ():
        config = found.generic_xds_configs.add(type_url=type_url, config_status=_status(one))
        if (sent := str(one.get("sentTime", ""))) and not sent.startswith("0001-"):
            config.last_updated.FromJsonString(sent)
        if error := one.get("lastError"):
            config.error_state.details = str(error)
            config.error_state.last_update_attempt.CopyFrom(config.last_updated)
    return found


def _status(resource: dict[str, Any]) -> int:
    """As debugSyncStatus in istiod."""
    if resource.get("lastError"):
        return xds_messages.ERROR
    sent = resource.get("sent")
    if not sent:
        return xds_messages.NOT_SENT
    return xds_messages.SYNCED if resource.get("acked") == sent else xds_messages.STALE


def _page(istiods: Istiods, request: str, token: str) -> bytes:
    page, _, query = request.partition("?")
    if page == STATUS_PAGE and not query:
        return json.dumps([one.status for one in istiods.proxies(token)]).encode()
    if page == "list" and not query:
        istiods.proxies(token)
        return json.dumps(PAGES).encode()
    if page not in PROXY_PAGES:
        raise RefusedError(
            Reason.PERMISSION_DENIED, f"{page[:40]!r} is not permitted: permitted are {', '.join(PAGES)}"
        )
    parameters = parse_qsl(query, keep_blank_values=True)
    if [key for key, _ in parameters] != ["proxyID"] or not _NAME.fullmatch(parameters[0][1]):
        raise RefusedError(Reason.INVALID_ARGUMENT, f"write it like {page}?proxyID=POD.NAMESPACE, nothing else")
    return istiods.page(page, parameters[0][1], token)
