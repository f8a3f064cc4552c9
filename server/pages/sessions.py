"""Sessions: a JWT in a cookie, or in the Authorization header as for the API.

The cookie is HttpOnly, so scripts cannot read it, and SameSite=Strict, so browsers do not send it
with links and forms of other sites. Each form also has a ``form_key`` that is made from the JWT.
The GraphQL endpoint ignores cookies.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from resolvers.context import Context
from server.auth.authenticator import InvalidTokenError, TokenFlaw
from server.http.graphql import GraphQLView
from server.http.middleware import is_own
from server.pages import i18n
from server.pages.faults import PageFault, flaw_message
from server.pages.i18n import gettext, gettext_noop

COOKIE = "marginalia_jwt"

LANGUAGE_COOKIE = "marginalia_lang"

OTHER_SESSION = gettext_noop(
    "You signed in after you opened this form. Check your text and send it again."
)

_YEAR = 365 * 86_400

# Possessive quantifiers and a match only at a word's start: linear time for any text.
_JWT = re.compile(r"(?<![\w-])[\w-]++\.[\w-]++\.[\w-]++", re.ASCII)


@dataclass(frozen=True, slots=True)
class Session:
    """The resolvers' context of a visitor, and the visitor's credentials.

    ``ended`` is the flaw of a cookie's JWT. The visitor is then anonymous.
    """

    context: Context
    credentials: str | None = None
    ended: TokenFlaw | None = None

    @property
    def username(self) -> str | None:
        """The signed-in user's name; None for an anonymous visitor."""
        return self.context.viewer.username if self.context.viewer else None

    @property
    def form_key(self) -> str:
        """The token that protects this session's forms from other sites; empty without a JWT.

        The token is an HMAC with the JWT as its key. Another site cannot make it, because it can
        read neither the cookie nor our pages. The server does not store it, so forms survive a
        restart.
        """
        if self.credentials is None:
            return ""
        return hmac.new(self.credentials.encode(), b"form", hashlib.sha256).hexdigest()

    def made(self, form_key: str) -> bool:
        """Return whether a form with this ``form_key`` belongs to this session."""
        return bool(form_key) and hmac.compare_digest(self.form_key.encode(), form_key.encode())


async def open_session(view: GraphQLView, request: Request) -> Session:
    """Return the request's session; InvalidTokenError if the header's JWT is invalid."""
    header = request.headers.get("authorization")
    if header is not None:
        return Session(await view.context(header), header)
    cookie = cookies(request).get(COOKIE)
    if cookie is None:
        return Session(await view.context(None))
    try:
        return Session(await view.context(f"Bearer {cookie}"), cookie)
    except InvalidTokenError as error:
        return Session(await view.context(None), ended=error.flaw)


def cookies(request: Request) -> dict[str, str]:
    """Return a request's cookies by name, without unquoting: our cookies have no quotes.

    Starlette uses Python's parser, which unquotes in quadratic time before Python 3.12.6: 5 s for
    60 kB of backslashes (CVE-2024-7592).
    """
    sent = ";".join(request.headers.getlist("cookie"))
    pairs = (part.partition("=") for part in sent.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def pasted_jwt(text: str) -> str:
    """Return the JWT in a pasted text, such as a ``Bearer`` header or a JSON object.

    The caller limits the text to ``MAX_JWT`` characters.
    """
    found = _JWT.search(text)
    return found[0] if found else text.strip()


def keep(response: Response, request: Request, jwt: str) -> None:
    """Sign the browser in until it is closed or the JWT expires."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, jwt, path=_path(request), httponly=True, samesite="strict", secure=secure
    )


def forget(response: Response, request: Request) -> None:
    """Sign the browser out."""
    response.delete_cookie(COOKIE, path=_path(request), httponly=True, samesite="strict")


def language(request: Request) -> str:
    """Return the language of the response to a request."""
    return i18n.negotiated(
        request.query_params.get("lang"),
        cookies(request).get(LANGUAGE_COOKIE),
        request.headers.get("accept-language", ""),
    )


def keep_language(response: Response, request: Request, tag: str) -> None:
    """Set the cookie that selects the language of later pages."""
    response.set_cookie(
        LANGUAGE_COOKIE,
        tag,
        max_age=_YEAR,
        path=_path(request),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


def from_here(request: Request) -> bool:
    """Return whether a browser sends this form from one of our own pages.

    All current browsers send one of these headers with a form. The sign-in form depends on this
    check alone, because without a session it has no form key.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or is_own(origin, request.headers.get("host"))


def require_own(session: Session, fields: dict[str, str]) -> None:
    """Raise PageFault unless a form belongs to this session. For forms without typed fields."""
    if session.username is None:
        ended = session.ended and flaw_message(session.ended)
        raise PageFault(401, ended or gettext("Please sign in."))
    if not session.made(fields.get("form_key", "")):
        raise PageFault(403, gettext(OTHER_SESSION))


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"
