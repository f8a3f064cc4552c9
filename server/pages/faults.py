"""Why a page cannot be shown, as a status and a sentence for whoever asked.

The API's own messages are for programs, in English, and name arguments: a page never shows one.
"""

from graphql import GraphQLError

from server.auth.authenticator import TokenFlaw
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
    "UNSUPPORTED_FILTER": gettext_noop("No list is kept that is filtered like this."),
    "QUERY_TOO_COSTLY": gettext_noop(
        "This is too much at once: choose fewer languages, ratings or rows."
    ),
    "NOT_FOUND": gettext_noop("What you look for is not there: it may have been deleted."),
    "UNAUTHENTICATED": gettext_noop("Sign in first."),
    "FORBIDDEN": gettext_noop("This is not yours to see or to change."),
    "THROTTLED": gettext_noop("Too many ask at once: try again in a moment."),
    "UNAVAILABLE": gettext_noop(
        "What is stored cannot be reached at the moment: try again in a while."
    ),
}
"""What a person is told of an error, by its code."""

_ARGUMENTS = {
    "language": gettext_noop("This is no language: its tag is written as en or pt-BR."),
    "productId": gettext_noop("No product has such an id."),
    "commentId": gettext_noop("No comment has such an id."),
    "username": gettext_noop("Nobody has such a name."),
}
"""What is wrong with an address, by the argument that its part became."""

_OTHERWISE = gettext_noop("This address cannot be understood. Start from the beginning.")

_FLAWS = {
    TokenFlaw.UNREADABLE: gettext_noop("The JWT cannot be read: give the whole of it."),
    TokenFlaw.EXPIRED: gettext_noop("The JWT has expired: get a new one."),
    TokenFlaw.EARLY: gettext_noop(
        "The JWT is not valid yet: the clock of whoever made it may be fast."
    ),
    TokenFlaw.UNKNOWN_KEY: gettext_noop(
        "The JWT was signed with a key that is unknown here: get a new one."
    ),
    TokenFlaw.UNVERIFIABLE: gettext_noop(
        "This server is not set up to verify a JWT that is signed like this one."
    ),
    TokenFlaw.AUDIENCE: gettext_noop("The JWT is meant for another server: get one for this one."),
    TokenFlaw.CLAIMS: gettext_noop(
        "The JWT does not say rightly who you are and until when: get a new one."
    ),
}
"""What a person is told of a JWT that proves nothing."""

KEYS_AWAY = gettext_noop("Who you are cannot be checked at the moment: try again in a while.")


class PageFault(Exception):  # noqa: N818 - it is a page's ending, not always an error
    """Ends a page with an HTTP status; the message is shown."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def fault_of(error: GraphQLError) -> PageFault:
    """Return a GraphQL error as a page's fault."""
    extensions = error.extensions or {}
    code = str(extensions.get("code"))
    if "requestId" in extensions:
        message = gettext(
            "The server failed; its log says more at request %(id)s.", id=extensions["requestId"]
        )
    else:
        message = gettext(_words(code, str(extensions.get("argument"))))
    return PageFault(_STATUSES.get(code, 400), message)


def flaw_message(flaw: TokenFlaw) -> str:
    """Return what a person is told of a JWT with a flaw."""
    return gettext(_FLAWS[flaw])


def _words(code: str, argument: str) -> str:
    words = _CODES.get(code) or (_ARGUMENTS.get(argument) if code == "BAD_ARGUMENT" else None)
    return words or _OTHERWISE
