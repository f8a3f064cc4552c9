"""``/comments/{id}``: a comment's permalink, where who wrote it edits and deletes it."""

from typing import Any

from starlette.responses import Response

from resolvers.request.authorization import can_change
from server.pages import linked_data
from server.pages.addresses import comment_path, product_path
from server.pages.comment_forms import CommentForm, require_own, user_errors
from server.pages.faults import PageFault
from server.pages.formats import product_name
from server.pages.i18n import gettext
from server.pages.page_request import PageRequest
from server.pages.uncounted import known_counts


async def show(request: PageRequest) -> Response:
    """Show a comment, with its forms to who may change it."""
    return await _page(request, None)


async def change(request: PageRequest) -> Response:
    """Edit or delete a comment, as the form's ``action`` says."""
    fields = await request.form()
    comment = await _comment(request)
    if fields.get("action") == "delete":
        return await _delete(request, comment, fields)
    form = CommentForm.typed(fields)
    errors = form.check(request.session, fields)
    if not errors:
        answer = await request.run("comment.update", input={"id": comment["id"], **form.input()})
        errors = form.faults(user_errors(answer))
    if errors:
        return await _page(request, form.refused(errors), status=422)
    return request.to(comment_path(comment["commentId"]) + "?notice=changed")


async def _delete(
    request: PageRequest, comment: dict[str, Any], fields: dict[str, str]
) -> Response:
    require_own(request.session, fields)
    refusals = user_errors(await request.run("comment.delete", input={"id": comment["id"]}))
    if refusals:
        raise PageFault(409, gettext("It cannot be deleted now: somebody else changed it."))
    return request.to(product_path(comment["product"]["productId"]) + "?notice=deleted")


async def _comment(request: PageRequest) -> dict[str, Any]:
    comment_id = request.http.path_params["comment_id"]
    answer = await request.run("comment", commentId=comment_id)
    comment: dict[str, Any] | None = answer.data["comment"]
    if comment is None:
        raise PageFault(404, gettext("There is no such comment: it may have been deleted."))
    return comment


async def _page(request: PageRequest, form: CommentForm | None, status: int = 200) -> Response:
    comment = await _comment(request)
    viewer = request.session.context.viewer
    mine = viewer is not None and can_change(viewer, comment["username"])
    if mine and form is None:
        form = CommentForm.showing(comment)
    return request.render(
        "comment.html",
        status,
        comment=comment,
        known=known_counts(comment["product"]),
        name=product_name(comment["product"]),
        path=comment_path(comment["commentId"]),
        canonical=comment_path(comment["commentId"]),
        mine=mine,
        form=form and form.shown(request.accepted),
        linked=linked_data.lone_review(request.site, comment),
    )
