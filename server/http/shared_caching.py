"""What shared caches may keep: public reads of trusted documents, for some seconds.

Everything else that is asked for by GET says that it is not to be kept. Whoever signs in, by
whatever means, asks for answers that nobody else gets.
"""

from dataclasses import dataclass, replace

from starlette.types import Scope
from strawberry.types import ExecutionResult

from schema.execution.execute import SizedResult
from server.http.compression import SMALLEST
from server.http.entity_tags import entity_tag, matching
from server.http.graphql_request import header
from server.http.graphql_response import GraphQLResponse
from server.http.persisted import Asked

NOT_KEPT = "private, no-store"

_CREDENTIALS = frozenset({b"authorization", b"cookie"})

_VARY = b"Accept, Authorization, Origin"
"""Who is signed in, and pages of another origin, are never answered with what others were: CORS's
headers differ. A cookie changes nothing that GraphQL says."""


@dataclass(frozen=True, slots=True)
class SharedCaching:
    """For how many seconds caches may keep an answer, and then show it while they ask again.

    With an ``s_maxage`` of 0 they keep none.
    """

    s_maxage: int
    stale_while_revalidate: int

    def told(
        self, scope: Scope, asked: Asked, result: ExecutionResult, response: GraphQLResponse
    ) -> GraphQLResponse:
        """Return the answer to a GET with what caches may do, or 304 to whoever has it."""
        if not self.s_maxage or response.failed or not _is_shareable(scope, asked, result):
            return replace(response, headers=[(b"cache-control", NOT_KEPT.encode())])
        tag = entity_tag(response.media_type.encode() + response.body)
        known = matching(header(scope, b"if-none-match"), tag)
        headers = [(b"cache-control", self._kept), (b"etag", (known or tag).encode())]
        if known is None:
            return replace(response, vary=_VARY, headers=headers)
        # The whole answer varies by its coding too, where it is large enough to have one.
        vary = _VARY + b", Accept-Encoding" if len(response.body) >= SMALLEST else _VARY
        return replace(response, status_code=304, body=b"", vary=vary, headers=headers)

    @property
    def _kept(self) -> bytes:
        return b"public, s-maxage=%d, stale-while-revalidate=%d" % (
            self.s_maxage,
            self.stale_while_revalidate,
        )


def _is_shareable(scope: Scope, asked: Asked, result: ExecutionResult) -> bool:
    """Return whether an answer is the same for everybody who asks for this document."""
    if not asked.trusted or any(name in _CREDENTIALS for name, _ in scope["headers"]):
        return False
    if not isinstance(result, SizedResult) or result.operation is None:
        return False
    return not result.errors and not result.extensions and result.operation.public
