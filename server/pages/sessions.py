"""Who looks at a page: a JWT in a cookie, or in the Authorization header as for the API.

The cookie is HttpOnly, so no script reads it, and SameSite=Strict, so no other site's link or form
brings it along. Each form carries a second proof besides (``form_key``), which needs the JWT to be
made. The GraphQL endpoint takes no cookie at all.
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

# Possessive, and begun only where a word begins: a text is looked through once.
_JWT = re.compile(r"(?<![\w-])[\w-]++\.[\w-]++\.[\w-]++", re.ASCII)


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, as the resolvers see it, and the credentials that say so.

    ``ended`` says why a cookie's JWT counts no more: whoever sent it is anybody then.
    """

    context: Context
    credentials: str | None = None
    ended: TokenFlaw | None = None

    @property
    def username(self) -> str | None:
        """The name of who is signed in."""
        return self.context.viewer.username if self.context.viewer else None

    @property
    def form_key(self) -> str:
        """What this session's forms carry to show that they are ours; empty for anybody.

        It is an HMAC keyed by the JWT: another site, which can read neither the cookie nor our
        pages, cannot make it, and it needs no memory of the server's, so it outlives a restart.
        """
        if self.credentials is None:
            return ""
        return hmac.new(self.credentials.encode(), b"form", hashlib.sha256).hexdigest()

    def made(self, form_key: str) -> bool:
        """Return whether a form that carries ``form_key`` is of this session."""
        return bool(form_key) and hmac.compare_digest(self.form_key.encode(), form_key.encode())


async def open_session(view: GraphQLView, request: Request) -> Session:
    """Return who asks; InvalidTokenError when the header, and not a cookie, holds a bad JWT."""
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
    """Return the values of a request's cookies by name, as they were sent.

    Ours have no quotes to take off. Python's parser, which Starlette uses, takes quadratic time
    for it before 3.12.6: 5 s for 60 kB of backslashes.
    """
    sent = ";".join(request.headers.getlist("cookie"))
    pairs = (part.partition("=") for part in sent.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def pasted_jwt(text: str) -> str:
    """Return the JWT in what a person pasted: alone, after ``Bearer``, or a whole JSON header.

    The text is ``MAX_JWT`` long at most.
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
    """Return the language of the page that answers a request."""
    return i18n.negotiated(
        request.query_params.get("lang"),
        cookies(request).get(LANGUAGE_COOKIE),
        request.headers.get("accept-language", ""),
    )


def keep_language(response: Response, request: Request, tag: str) -> None:
    """Have the browser ask for pages in a language from now on."""
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

    Every browser of today sends one of these headers with a form. Signing in depends on it, as it
    has no session yet whose key its form could carry; the other forms have both.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or is_own(origin, request.headers.get("host"))


def require_own(session: Session, fields: dict[str, str]) -> None:
    """Raise PageFault unless a form without typed fields is this session's own."""
    if session.username is None:
        ended = session.ended and flaw_message(session.ended)
        raise PageFault(401, ended or gettext("Please sign in."))
    if not session.made(fields.get("form_key", "")):
        raise PageFault(403, gettext(OTHER_SESSION))


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"
