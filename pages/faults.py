"""Errors of pages: an HTTP status and a message for visitors.

Pages never show the API's messages. Those messages are for programs: they are in English, and
they contain the names of GraphQL arguments.
"""

from dataclasses import KW_ONLY, dataclass

from graphql import GraphQLError

from pages.i18n import gettext, gettext_noop
from server.auth.claims import TokenFlaw

_STATUSES = {
    "NOT_FOUND": 404,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "THROTTLED": 503,
    "UNAVAILABLE": 503,
    "INTERNAL": 500,
}
"""The HTTP status of a page for an error code of the API. Other codes have the status 400."""

TOO_RARE = gettext_noop(
    "Too few comments contain these words. Add a filter or a date, or search for other words."
)

TOO_LARGE = gettext_noop(
    "This page would be too large. Choose fewer comments per page, languages or ratings."
)

_CODES = {
    "BAD_CURSOR": gettext_noop(
        "This page of the list no longer exists. Go back to the first page."
    ),
    "UNSUPPORTED_FILTER": gettext_noop(
        "This combination of filters and order is not available. Choose fewer filters or another "
        "order."
    ),
    "QUERY_TOO_COSTLY": TOO_LARGE,
    "NOT_FOUND": gettext_noop(
        "We could not find this. It may have been deleted. Please check the link."
    ),
    "UNAUTHENTICATED": gettext_noop("Please sign in."),
    "FORBIDDEN": gettext_noop("You do not have permission for this. If you need it, ask the shop."),
    "THROTTLED": gettext_noop("We are very busy right now. Please try again in a moment."),
    "UNAVAILABLE": gettext_noop("Comments are temporarily unavailable. Please try again later."),
}
"""The message for an error code of the API. ``_ARGUMENTS`` has the messages for BAD_ARGUMENT. Other
codes have the message ``_OTHERWISE``."""

_ARGUMENTS = {
    "language": gettext_noop("This language code is not valid. Codes look like en or pt-BR."),
    "productId": gettext_noop("This product number is not valid. Search for the product instead."),
    "commentId": gettext_noop("This comment number is not valid. Check the link."),
    "contains": gettext_noop("Search for one or several words, with at most 200 characters."),
    "username": gettext_noop("This user name is not valid. Check the link."),
}
"""The message for the code BAD_ARGUMENT, by the argument's name. Other arguments have the message
``_OTHERWISE``."""

_OTHERWISE = gettext_noop("This link does not work. Start again from the home page.")

SESSION_ENDED = gettext_noop("Your session has expired. Sign in again.")
"""The message for an expired JWT, and for any other invalid JWT in the session's cookie."""

_ELSEWHERE = gettext_noop("This JWT is for another server. Get one for this server.")

FLAWS = {
    TokenFlaw.UNREADABLE: gettext_noop("This JWT cannot be read. Check that it is complete."),
    TokenFlaw.EXPIRED: SESSION_ENDED,
    TokenFlaw.EARLY: gettext_noop("This JWT is not valid yet. Try again in a few minutes."),
    TokenFlaw.UNKNOWN_KEY: gettext_noop("This JWT is signed with an unknown key. Get a new one."),
    TokenFlaw.UNVERIFIABLE: gettext_noop(
        "This server cannot verify JWTs that are signed this way. Get one for this server."
    ),
    TokenFlaw.ISSUER: _ELSEWHERE,
    TokenFlaw.AUDIENCE: _ELSEWHERE,
    TokenFlaw.CLAIMS: gettext_noop(
        "This JWT has no valid user name or expiry time. Get a new one."
    ),
}
"""The message for each reason why a JWT is invalid."""

KEYS_AWAY = gettext_noop("We cannot check your sign-in at the moment. Please try again later.")


@dataclass(eq=False)
class PageFault(Exception):  # noqa: N818 - not always an error
    """Ends a request with an error page: an HTTP status and a message for the visitor."""

    status: int
    message: str
    _: KW_ONLY
    leaves_list: bool = False
    """Whether the page links to the first page of the list in the address."""
    code: str = ""
    """The error code of the API; empty for a fault of another origin."""
    listed: str | None = None
    """The address of the list without the filter that causes the fault."""


def fault_of(error: GraphQLError) -> PageFault:
    """Return the fault that a page shows for a GraphQL error.

    If the error has a request id, the message contains this id and not the cause.
    """
    extensions = error.extensions or {}
    code = str(extensions.get("code"))
    if "requestId" in extensions:
        message = gettext(
            "Something went wrong on our side. If you contact us, please give this number: %(id)s.",
            id=extensions["requestId"],
        )
    elif code == "BAD_ARGUMENT":
        message = gettext(_ARGUMENTS.get(str(extensions.get("argument")), _OTHERWISE))
    else:
        message = gettext(_CODES.get(code, _OTHERWISE))
    status, leaves_list = _STATUSES.get(code, 400), code == "BAD_CURSOR"
    return PageFault(status, message, leaves_list=leaves_list, code=code)
