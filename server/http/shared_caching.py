"""Lets shared caches, such as CDNs, store responses to public queries of known documents.

A document is known if it is built into the server, or if the operator has registered it. A query is
public if all clients get the same response.
"""

from dataclasses import dataclass

from starlette.types import Scope
from strawberry.types import ExecutionResult

from schema.execution.executable_schema import OperationResult
from server.http.graphql import GraphQLResponse, not_kept
from server.http.middleware import SMALLEST, entity_tag, matching
from server.http.request import header

_CREDENTIALS = frozenset({b"authorization", b"cookie"})

_SHARED_VARY = b"Accept, Authorization, Origin"
"""The request headers on which a response depends. A shared cache sends a stored response only to
requests with equal values of these headers. So a signed-in user never gets another user's response,
and pages of each origin get their own CORS headers. GraphQL's responses do not depend on
cookies."""


@dataclass(frozen=True, slots=True)
class SharedCaching:
    """Allows shared caches to store responses to public queries.

    A cache may serve a stored response for ``s_maxage`` seconds. For ``stale_while_revalidate``
    more seconds, it may serve the old response while it fetches a new response (RFC 5861). If
    ``s_maxage`` is 0, caches store nothing.

    Caches may not store responses to requests with credentials.
    """

    s_maxage: int
    stale_while_revalidate: int

    def response(
        self, scope: Scope, result: ExecutionResult, response: GraphQLResponse
    ) -> GraphQLResponse:
        """Return ``response``, which is the response to a GET, with the header ``Cache-Control``.

        If the client already has the same response, return status 304 without a body.
        """
        if not self.s_maxage or response.failed or not _is_shareable(scope, result):
            return not_kept(scope, result, response)
        kept = b"public, s-maxage=%d, stale-while-revalidate=%d" % (
            self.s_maxage,
            self.stale_while_revalidate,
        )
        tag = entity_tag(response.media_type.encode() + response.body)
        known = matching(header(scope, b"if-none-match"), tag)
        headers = [(b"cache-control", kept), (b"etag", (known or tag).encode())]
        if known is None:
            return response._replace(vary=_SHARED_VARY, headers=headers)
        # A response with status 304 must have the same Vary as with status 200 (RFC 9110, 15.4.5).
        # With status 200, the compression middleware adds Accept-Encoding to Vary. It skips this
        # response, which has no body, so add Accept-Encoding here.
        compressed = len(response.body) >= SMALLEST
        vary = _SHARED_VARY + b", Accept-Encoding" if compressed else _SHARED_VARY
        return response._replace(status_code=304, body=b"", vary=vary, headers=headers)


def _is_shareable(scope: Scope, result: ExecutionResult) -> bool:
    """Return whether all clients get the same response, so that a shared cache may store it."""
    if any(name in _CREDENTIALS for name, _ in scope["headers"]):
        return False
    if not isinstance(result, OperationResult) or result.operation is None:
        return False
    return not result.errors and not result.extensions and result.operation.public
