"""``/sign-in`` and ``/sign-out``. Visitors sign in with a JWT, or at the OpenID Connect issuer."""

import logging
from dataclasses import astuple
from http import HTTPStatus
from urllib.parse import quote, unquote

from starlette.responses import RedirectResponse, Response

from pages import sessions
from pages.addresses import local
from pages.faults import FLAWS, PageFault
from pages.formats import number
from pages.i18n import gettext
from pages.page_request import LANGUAGES, PageRequest
from pages.sign_in import MAX_JWT, Attempt, SignIn
from server.auth.claims import InvalidTokenError, TokenFlaw
from server.logs import FirstValues

logger = logging.getLogger(__name__)

_CALLBACK = "/sign-in/callback"

_ATTEMPT = "marginalia_sign_in"
_ATTEMPT_SECONDS = 600

_FAILURES = FirstValues()

_COMMAND = "marginalia token --user NAME"


async def show(request: PageRequest) -> Response:
    """Return the sign-in form, or sign the visitor in by the code in the address.

    At its start, a demo prints an address with such a code. The code is valid for one sign-in.
    After the sign-in, redirect to the page in ``next``. If the code is not valid, the form explains
    this. A visitor who is signed in already needs no code.
    """
    given = request.http.query_params
    following = given.get("next", "/")
    # A HEAD request, for example for a link preview, must not use up the code.
    if "code" not in given or request.http.method != "GET":
        return _form(request, following)
    demo = request.demo
    jwt = demo.jwt() if demo and demo.code and demo.code.take(given["code"]) else None
    if jwt is not None:
        response = request.to(local(following))
        sessions.keep(response, request.http, jwt)
        return response
    if request.session.username is not None:
        return request.to(local(following))
    return _form(request, following, stale_link=True)


async def sign_in(request: PageRequest) -> Response:
    """Store the form's JWT in a cookie, and redirect to the page in the field ``next``.

    If the JWT is invalid, show the form again with an error. With the field ``demo``, sign in to
    the account of the demo that the field names.
    """
    fields = await request.form()
    following = fields.get("next", "/")
    if len(fields.get("jwt", "")) > MAX_JWT:
        message = gettext(
            "This JWT is too long; the maximum is %(count)s characters. Ask the shop for a shorter "
            "one.",
            count=number(MAX_JWT),
        )
        return _form(request, following, message)
    jwt: str | None = sessions.pasted_jwt(fields.get("jwt", ""))
    if "demo" in fields:
        jwt = request.demo.jwt(fields["demo"]) if request.demo else None
    if jwt is None:
        raise PageFault(404, gettext("This server has no demo account. Sign in another way."))
    try:
        context = await request.view.context(f"Bearer {jwt}")
        # A grant is not an account: see ``Context.grant``.
        flaw = TokenFlaw.CLAIMS if context.viewer is None else None
    except InvalidTokenError as error:
        flaw = error.flaw
    if flaw is not None:
        return _form(request, following, gettext(FLAWS[flaw]))
    response = request.to(local(following))
    sessions.keep(response, request.http, jwt)
    return response


async def go_to_provider(request: PageRequest) -> Response:
    """Redirect to the issuer's sign-in page. A cookie stores the attempt for ten minutes.

    The cookie contains the state, the nonce, the code verifier, and the page to show after the
    sign-in.

    This site's sign-in page has a link to this address and not a form. Browsers apply
    ``form-action`` of the Content-Security-Policy to a form's redirects too, and would block the
    redirect.
    """
    provider = _provider(request)
    address, attempt = await provider.start(request.site + _CALLBACK)
    following = local(request.http.query_params.get("next", "/"))
    kept = ".".join([*astuple(attempt), quote(following, safe="")])
    if len(kept) > MAX_JWT:  # without the next page, because browsers would drop a larger cookie
        kept = ".".join([*astuple(attempt), "/"])
    response = RedirectResponse(address, HTTPStatus.SEE_OTHER)
    # ``lax``, because the browser comes back from another site, and would not send a ``strict``
    # cookie.
    sessions.put(response, request.http, _ATTEMPT, kept, samesite="lax", seconds=_ATTEMPT_SECONDS)
    return response


async def return_from_provider(request: PageRequest) -> Response:
    """Sign in a visitor who returns from the issuer, and open the page that the cookie names.

    If the issuer's response is invalid, show the sign-in page with an error.
    """
    provider = _provider(request)
    answer = request.http.query_params
    kept = (sessions.kept(request.http, _ATTEMPT) or "").split(".", 3)
    state, nonce, verifier, following = kept if len(kept) == 4 else ("", "", "", "")  # noqa: PLR2004
    following = local(unquote(following))
    try:
        jwt = await provider.finish(
            Attempt(state, nonce, verifier),
            answer.get("state", ""),
            answer.get("code", ""),
            request.site + _CALLBACK,
        )
    except InvalidTokenError as error:
        # The number of log lines is limited, because any client can cause such errors.
        if _FAILURES.adds(str(error)):
            logger.warning("A sign-in at the issuer failed: %s", error)
        message = gettext("Sign-in failed. Please try again.")
        response = _form(request, following, message)
        sessions.drop(response, request.http, _ATTEMPT)
        return response
    # The response is a page that opens the next page, and not a redirect. After a redirect from
    # another site, browsers do not send cookies with SameSite=Strict, so the next page would not
    # know the visitor.
    response = request.render("signed_in.html", next=following)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Refresh"] = f"0;url={request.root}{following}"
    sessions.drop(response, request.http, _ATTEMPT)
    sessions.keep(response, request.http, jwt)
    return response


def _provider(request: PageRequest) -> SignIn:
    provider: SignIn | None = request.http.app.state.provider
    if provider is None:
        raise PageFault(404, gettext("This link does not work. Start again from the home page."))
    return provider


async def sign_out(request: PageRequest) -> Response:
    """Delete the session's cookie, and redirect to the page in the field ``next``."""
    fields = await request.form()
    if request.session.username is not None:
        sessions.require_own(request.session, fields)
    response = request.to(local(fields.get("next", "/")))
    sessions.drop(response, request.http, sessions.COOKIE)
    return response


def _form(
    request: PageRequest, following: str, error: str | None = None, *, stale_link: bool = False
) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    if stale_link:
        status = HTTPStatus.GONE
    following = local(following)
    # Unlike other pages, this page has links to other languages also after a POST. These links
    # lead to the empty form.
    return request.render(
        "sign_in.html",
        status,
        next=following,
        error=error,
        stale_link=stale_link,
        command=_COMMAND,
        provider=request.http.app.state.provider is not None,
        here=f"/sign-in?next={quote(following, safe='')}",
        spoken_languages=LANGUAGES,
    )
