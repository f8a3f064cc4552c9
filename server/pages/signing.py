"""``/sign-in`` and ``/sign-out``: a pasted JWT, kept in the browser as a cookie."""

from http import HTTPStatus

from starlette.responses import Response

from server.auth import InvalidTokenError
from server.pages import sessions
from server.pages.addresses import local
from server.pages.comment_forms import require_own
from server.pages.visits import Visit


async def show(visit: Visit) -> Response:
    """Show the form."""
    return _form(visit, visit.request.query_params.get("next", "/"))


async def sign_in(visit: Visit) -> Response:
    """Keep the JWT when it proves who somebody is, and lead back to where they came from."""
    fields = await visit.form()
    jwt, following = sessions.pasted_jwt(fields.get("jwt", "")), fields.get("next", "/")
    try:
        context = await visit.view.context(f"Bearer {jwt}")
    except InvalidTokenError as error:
        return _form(visit, following, str(error))
    assert context.viewer is not None  # noqa: S101 - a header was given
    response = visit.to(local(following))
    sessions.keep(response, visit.request, jwt)
    return response


async def sign_out(visit: Visit) -> Response:
    """Forget the JWT."""
    fields = await visit.form()
    if visit.session.username is not None:
        require_own(visit.session, fields)
    response = visit.to(local(fields.get("next", "/")))
    sessions.forget(response, visit.request)
    return response


def _form(visit: Visit, following: str, error: str | None = None) -> Response:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    return visit.render("sign_in.html", status, next=local(following), error=error)
