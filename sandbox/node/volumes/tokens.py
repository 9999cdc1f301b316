"""Service-account tokens of one Pod, got from the API server and renewed at 80 % of their life."""

import time
from dataclasses import dataclass
from datetime import datetime

from lightkube import AsyncClient
from lightkube.models.authentication_v1 import BoundObjectReference, TokenRequestSpec
from lightkube.models.core_v1 import ServiceAccountTokenProjection
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import Pod, ServiceAccountToken

_DEFAULT_SECONDS = 3600


@dataclass(frozen=True)
class _Token:
    text: str
    renew_at: float


class PodTokens:
    """Tokens are held in memory and bound to the Pod: they end with it."""

    def __init__(self, client: AsyncClient, pod: Pod) -> None:
        assert pod.metadata is not None
        assert pod.spec is not None
        self._client, self._metadata = client, pod.metadata
        self._account = pod.spec.serviceAccountName or "default"
        self._tokens: dict[tuple[str, int], _Token] = {}

    async def renew(self, wanted: list[ServiceAccountTokenProjection]) -> float:
        """Gets those that are missing or due; returns when the next one is due (time.time(); inf: none).

        Raises httpx2.HTTPError.
        """
        for projection in wanted:
            known = self._tokens.get(_key(projection))
            if known is None or known.renew_at <= time.time():
                self._tokens[_key(projection)] = await self._request(projection)
        return min((token.renew_at for token in self._tokens.values()), default=float("inf"))

    def text(self, projection: ServiceAccountTokenProjection) -> str:
        return self._tokens[_key(projection)].text

    async def _request(self, projection: ServiceAccountTokenProjection) -> _Token:
        seconds = projection.expirationSeconds or _DEFAULT_SECONDS
        bound = BoundObjectReference(kind="Pod", apiVersion="v1", name=self._metadata.name, uid=self._metadata.uid)
        audiences = [projection.audience] if projection.audience else []
        spec = TokenRequestSpec(audiences=audiences, expirationSeconds=seconds, boundObjectRef=bound)
        request = ServiceAccountToken(metadata=ObjectMeta(namespace=self._metadata.namespace), spec=spec)
        answer = await self._client.create(request, name=self._account, namespace=self._metadata.namespace)
        assert answer.status is not None
        expires = answer.status.expirationTimestamp
        end = expires.timestamp() if isinstance(expires, datetime) else time.time() + seconds
        return _Token(answer.status.token or "", time.time() + 0.8 * (end - time.time()))


def _key(projection: ServiceAccountTokenProjection) -> tuple[str, int]:
    return (projection.audience or "", projection.expirationSeconds or _DEFAULT_SECONDS)
