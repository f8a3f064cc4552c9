"""Sessions of visitors. The JWT of a session is in a cookie, or in the Authorization header.

The cookie is HttpOnly, so scripts cannot read it, and SameSite=Strict, so browsers do not send it
with links and forms of other sites. Over HTTPS its name begins with ``__Host-``. The forms of a
signed-in user also have a ``form_key``, which is computed from the JWT. The GraphQL endpoint
ignores cookies.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Literal

import orjson
from starlette.requests import Request
from starlette.responses import Response

from pages import i18n
from pages.faults import SESSION_ENDED, PageFault
from pages.i18n import gettext, gettext_noop
from resolvers.authorization import MERCHANT, is_moderator
from resolvers.context import Context
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.http.graphql import GraphQLView
from server.http.middleware import is_own

COOKIE = "marginalia_jwt"

LANGUAGE_COOKIE = "marginalia_lang"

NO_LINK = gettext_noop(
    "This link is not valid or not complete. Open it in the e-mail again, or copy all of it."
)

LINK_EXPIRED = gettext_noop("This link has expired. Ask the shop for a new link.")

OTHER_SESSION = gettext_noop(
    "You signed in after you opened this form. Check your text and send it again."
)

# The quantifiers are possessive, and matches begin only at the start of a word. So the time is
# linear for any text.
_JWT = re.compile(r"(?<![\w-])[\w-]++\.[\w-]++\.[\w-]++", re.ASCII)

_HEAD = "eyJ"
"""The beginning of every JWT: ``{"`` in Base64."""

_BROKEN_JWT = re.compile(r"([\w\s-]++)\.([\w\s-]++)\.([\w\s-]++)", re.ASCII)
"""Also matches a JWT with white space inside, because terminals and e-mail programs break long
lines."""

_SIGNATURES = {
    "HS256": {43},
    "ES256": {86},
    "EdDSA": {86, 152},  # Ed25519, Ed448
    "RS256": {342, 512, 683},  # keys of 2048, 3072 and 4096 bits
}
"""For each algorithm, the possible numbers of characters in a signature."""


@dataclass(frozen=True, slots=True)
class Session:
    """A visitor's session: the context for resolvers, and the credentials.

    ``credentials`` is the JWT in the cookie, or the value of the Authorization header; None for an
    anonymous visitor. If the JWT in the cookie is invalid, ``ended`` has the reason, and the
    visitor is anonymous.
    """

    context: Context
    credentials: str | None = None
    ended: TokenFlaw | None = None

    @property
    def username(self) -> str | None:
        """The signed-in user's id; None for an anonymous visitor."""
        return self.context.viewer.user_id if self.context.viewer else None

    @property
    def name(self) -> str | None:
        """The signed-in user's display name; None for an anonymous visitor."""
        return self.context.viewer.name if self.context.viewer else None

    @property
    def replies(self) -> bool:
        """Whether the signed-in user may reply for the shop."""
        return self.context.viewer is not None and MERCHANT in self.context.viewer.roles

    @property
    def moderates(self) -> bool:
        """Whether the signed-in user is a moderator."""
        return self.context.viewer is not None and is_moderator(self.context.viewer)

    @property
    def form_key(self) -> str:
        """The token that protects this session's forms from other sites; empty without a JWT.

        The token is an HMAC with the JWT as its key. Other sites cannot compute the token, because
        they can read neither the cookie nor the pages of this site. The server does not store the
        token, so forms still work after a restart.
        """
        if self.credentials is None:
            return ""
        return hmac.new(self.credentials.encode(), b"form", hashlib.sha256).hexdigest()


async def open_session(view: GraphQLView, request: Request) -> Session:
    """Return the request's session. Raise InvalidTokenError if the JWT in the header is invalid.

    A JWT in the Authorization header takes precedence over a JWT in the cookie. Raise
    KeysUnavailableError if the issuer's keys cannot be fetched.
    """
    context = partial(view.context, site=site_of(request))
    header = request.headers.get("authorization")
    if header is not None:
        return Session(await context(header), header)
    cookie = kept(request, COOKIE)
    if cookie is None:
        return Session(await context(None))
    try:
        return Session(await context(f"Bearer {cookie}"), cookie)
    except InvalidTokenError as error:
        return Session(await context(None), ended=error.flaw)


async def open_link(view: GraphQLView, request: Request, jwt: str) -> Session:
    """Return the session of a visitor who has opened a link that permits comments.

    Raise PageFault if ``jwt`` is not the JWT of a link. The JWT of a user is not one.
    """
    try:
        context = await view.context(f"Bearer {jwt.strip()}", site=site_of(request))
    except InvalidTokenError as error:
        if error.flaw is TokenFlaw.EXPIRED:
            raise PageFault(410, gettext(LINK_EXPIRED)) from None
        raise PageFault(400, gettext(NO_LINK)) from None
    if context.grant is None:
        raise PageFault(400, gettext(NO_LINK))
    return Session(context)


def site_of(request: Request) -> str:
    """Return the absolute address of the site, without a slash at its end."""
    public: str | None = request.app.state.settings.public_url
    if public is None:
        return str(request.base_url).rstrip("/")
    root: str = request.scope.get("root_path", "")
    return public + root.rstrip("/")


def cookies(request: Request) -> dict[str, str]:
    """Return a request's cookies by name.

    Quotes are not removed, because this server's cookies have none. Starlette uses Python's parser,
    which removes quotes in quadratic time before Python 3.12.6: 5 s for 60 kB of backslashes
    (CVE-2024-7592).
    """
    sent = request.headers.getlist("cookie")
    if not sent:  # most visitors
        return {}
    pairs = (part.partition("=") for part in ";".join(sent).split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def pasted_jwt(text: str) -> str:
    """Return the JWT in a text that a visitor has pasted, such as a header or a JSON object.

    White space inside the JWT is removed. If the text contains no JWT, return the text without
    white space at its ends. The caller limits the text to ``MAX_JWT`` characters.
    """
    # Try only the first ``eyJ``, because trying each would take quadratic time.
    begin = text.find(_HEAD)
    broken = _BROKEN_JWT.match(text, begin) if begin >= 0 else None
    if broken:
        header, payload, signature = ("".join(part.split()) for part in broken.groups())
        words = broken[3].split()
        lines = broken[0].split()[: 1 - len(words) or None]
        end = _signature_end(lines, words, _algorithm(header)) if words else 0
        return f"{header}.{payload}.{signature[:end]}"
    found = _JWT.search(text)
    return found[0] if found else text.strip()


def _signature_end(lines: list[str], words: list[str], algorithm: str) -> int:
    """Return the number of characters in a JWT's signature, without white space.

    ``words`` is the text after the JWT's second dot, split at white space: the signature's parts,
    and perhaps words of a text that follows the JWT. ``lines`` are the lines of the JWT up to and
    including the first of ``words``. A line is full if the program that broke the JWT into lines
    had no room for more.

    The signature ends with the first word at which its length is usual for ``algorithm``, unless
    the next word is a full line: a full line is still a part of the signature. If the length is
    usual at no word, the signature ends with its first line that is not full.
    """
    ends = list(accumulate(map(len, words)))
    sizes, following = _SIGNATURES.get(algorithm, set()), [*map(len, words[1:]), 0]
    # In the first line, other words may precede the JWT. So the JWT's part of the first line may be
    # shorter than a full line. The longest line is full.
    full = max(map(len, lines)) if len(lines) > 1 else max(len(lines[0]), following[0])
    for end, size in zip(ends, following, strict=True):
        if end in sizes and size != full:
            return end
    if (len(lines[-1]) if len(lines) > 1 else following[0]) < full:
        return ends[0]
    short = (end for end, size in zip(ends[1:], following, strict=False) if size < full)
    return next(short, ends[-1])


def _algorithm(header: str) -> str:
    """Return the algorithm in a JWT's header; empty if the header cannot be decoded."""
    try:
        algorithm = orjson.loads(urlsafe_b64decode(f"{header}==")).get("alg")
    except (ValueError, AttributeError):
        return ""
    return algorithm if isinstance(algorithm, str) else ""


def keep(response: Response, request: Request, jwt: str) -> None:
    """Set the session's cookie.

    The session ends when the visitor signs out or closes the browser, or when the JWT expires.
    """
    put(response, request, COOKIE, jwt, samesite="strict")


def kept(request: Request, name: str) -> str | None:
    """Return the value of a cookie that ``put`` has set; None if the browser does not send it."""
    sent = cookies(request)
    return sent.get(_full_name(request, name)) if sent else None


def put(
    response: Response,
    request: Request,
    name: str,
    value: str,
    *,
    samesite: Literal["lax", "strict"],
    seconds: int | None = None,
) -> None:
    """Set a cookie that scripts cannot read.

    Without ``seconds``, the cookie is deleted when the visitor closes the browser.
    """
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=seconds,
        path=_path(request),
        httponly=True,
        samesite=samesite,
        secure=_is_secure(request),
    )


def drop(response: Response, request: Request, name: str) -> None:
    """Delete a cookie that ``put`` has set."""
    put(response, request, name, "", samesite="strict", seconds=0)


def _full_name(request: Request, name: str) -> str:
    """Return the name of a cookie as the browser stores it.

    With the prefix ``__Host-``, browsers accept the cookie from this host only, and not from
    another subdomain (RFC 6265bis, 4.1.3.2). The prefix requires HTTPS and the path ``/``.
    Otherwise the name has no prefix.
    """
    return f"__Host-{name}" if _is_secure(request) and _path(request) == "/" else name


def _is_secure(request: Request) -> bool:
    return bool(request.scope["scheme"] == "https")


def language(request: Request) -> str:
    """Return the language of the response to a request."""
    return i18n.negotiated(
        request.query_params.get("lang"),
        kept(request, LANGUAGE_COOKIE),
        request.headers.get("accept-language", ""),
    )


def from_here(request: Request) -> bool:
    """Return whether a page of this site sent the form, according to the request's headers.

    With a form, all current browsers send ``Sec-Fetch-Site`` or ``Origin``. Return True for
    requests without these headers, because they do not come from a browser. The sign-in form
    depends on this check alone, because there is no form key without a session.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or is_own(origin, request.headers.get("host"))


PLEASE_SIGN_IN = gettext_noop("Please sign in.")


def require_own(session: Session, fields: dict[str, str], anonymous: str = PLEASE_SIGN_IN) -> None:
    """Raise PageFault unless the form belongs to this session.

    ``anonymous`` is the message for a visitor who has not signed in. If the visitor's cookie
    contains an invalid JWT, the message is ``SESSION_ENDED``.
    """
    if session.username is None:
        raise PageFault(401, gettext(SESSION_ENDED if session.ended else anonymous))
    given = fields.get("form_key")
    if not given or not hmac.compare_digest(session.form_key.encode(), given.encode()):
        raise PageFault(403, gettext(OTHER_SESSION))


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"
