"""Why a page cannot be shown, as a status and a sentence for whoever asked."""

from graphql import GraphQLError

from server.pages.i18n import gettext, gettext_noop

_STATUSES = {
    "NOT_FOUND": 404,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "THROTTLED": 503,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
"""The status of each of the API's codes that is not the address's own fault (400)."""


_CODES = {
    "BAD_CURSOR": gettext_noop(
        "This link leads to a place in a list that is not there. Start from the beginning."
    ),
}

_ARGUMENTS = {
    "language": gettext_noop("This is no language: its tag is written as en or pt-BR."),
    "productId": gettext_noop("No product has such an id."),
    "commentId": gettext_noop("No comment has such an id."),
}
"""What is wrong with an address, by the argument that its part became."""


class PageFault(Exception):  # noqa: N818 - it is a page's ending, not always an error
    """Ends a page with an HTTP status; the message is shown."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def fault_of(error: GraphQLError) -> PageFault:
    """Return a GraphQL error as a page's fault."""
    extensions = error.extensions or {}
    message = _words(str(extensions.get("code")), str(extensions.get("argument"))) or error.message
    if "requestId" in extensions:
        message = gettext(
            "The server failed; its log says more at request %(id)s.", id=extensions["requestId"]
        )
    return PageFault(_STATUSES.get(str(extensions.get("code")), 400), message)


def _words(code: str, argument: str) -> str | None:
    """Return what a person is told instead of the API's words, which name arguments."""
    words = _CODES.get(code) or (_ARGUMENTS.get(argument) if code == "BAD_ARGUMENT" else None)
    return gettext(words) if words else None
