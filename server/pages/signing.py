"""``/sign-in`` and ``/sign-out``: set a pasted JWT as a cookie, and delete it."""

from http import HTTPStatus
from urllib.parse import quote

from starlette.responses import Response

from dal.limits import MAX_JWT
from server.auth.authenticator import InvalidTokenError
from server.pages import sessions
from server.pages.addresses import local
from server.pages.faults import PageFault, flaw_message
from server.pages.formats import number
from server.pages.i18n import gettext
from server.pages.page_request import LANGUAGES, PageRequest

_COMMAND = "marginalia token --user NAME"


async def show(request: PageRequest) -> Response:
    """Show the form."""
    return _form(request, request.http.query_params.get("next", "/"))


async def sign_in(request: PageRequest) -> Response:
    """Set a valid JWT as a cookie and redirect to the previous page, or show the error."""
    fields = await request.form()
    following = fields.get("next", "/")
    if len(fields.get("jwt", "")) > MAX_JWT:
        message = gettext(
            "This JWT is too long. Browsers store at most %(count)s characters.",
            count=number(MAX_JWT),
        )
        return _form(request, following, message)
    jwt = _jwt(request, fields)
    try:
        context = await request.view.context(f"Bearer {jwt}")
    except InvalidTokenError as error:
        return _form(request, following, flaw_message(error.flaw))
    assert context.viewer is not None  # noqa: S101 - a header was given
    response = request.to(local(following))
    sessions.keep(response, request.http, jwt)
    return response


def _jwt(request: PageRequest, fields: dict[str, str]) -> str:
    """Return the pasted JWT, or a JWT of the demo's account."""
    if "demo" not in fields:
        return sessions.pasted_jwt(fields.get("jwt", ""))
    jwt = request.demo.jwt() if request.demo else None
    if jwt is None:
        raise PageFault(404, gettext("This server has no demo account."))
    return jwt


async def sign_out(request: PageRequest) -> Response:
    """Delete the cookie and redirect to the previous page."""
    fields = await request.form()
    if request.session.username is not None:
        sessions.require_own(request.session, fields)
    response = request.to(local(fields.get("next", "/")))
    sessions.forget(response, request.http)
    return response


def _form(request: PageRequest, following: str, error: str | None = None) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    following = local(following)
    # After a POST too, the links to other languages lead to the form.
    return request.render(
        "sign_in.html",
        status,
        next=following,
        error=error,
        command=_COMMAND,
        here=f"/sign-in?next={quote(following, safe='')}",
        spoken_languages=LANGUAGES,
    )
