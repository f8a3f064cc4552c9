"""Why a page cannot be shown, as a status and a sentence for whoever asked."""

from graphql import GraphQLError

_STATUSES = {
    "NOT_FOUND": 404,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "THROTTLED": 503,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
"""The status of each of the API's codes that is not the address's own fault (400)."""


class PageFault(Exception):  # noqa: N818 - it is a page's ending, not always an error
    """Ends a page with an HTTP status; the message is shown."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def fault_of(error: GraphQLError) -> PageFault:
    """Return a GraphQL error as a page's fault."""
    extensions = error.extensions or {}
    message = error.message
    if "requestId" in extensions:
        message = f"The server failed; its log says more at request {extensions['requestId']}."
    return PageFault(_STATUSES.get(str(extensions.get("code")), 400), message)
