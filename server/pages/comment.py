"""``/comments/{id}``: a comment's permalink, where who wrote it edits and deletes it."""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from resolvers.access import changes
from server.pages import linked_data
from server.pages.addresses import comment_path, product_path
from server.pages.comment_forms import CommentForm, by_field, require_own, user_errors
from server.pages.faults import PageFault
from server.pages.visits import Visit


async def show(visit: Visit) -> Response:
    """Show a comment, with its forms to who may change it."""
    return await _page(visit, None)


async def change(visit: Visit) -> Response:
    """Edit or delete a comment, as the form's ``action`` says."""
    fields = await visit.form()
    comment = await _comment(visit)
    if fields.get("action") == "delete":
        return await _delete(visit, comment, fields)
    form = CommentForm.typed(fields)
    errors = form.check(visit.session, fields)
    if not errors:
        answer = await visit.run("comment.update", input={"id": comment["id"], **form.input()})
        errors = by_field(user_errors(answer))
    if errors:
        return await _page(visit, form.refused(errors), status=422)
    return visit.to(comment_path(comment["commentId"]) + "?notice=changed")


async def _delete(visit: Visit, comment: dict[str, Any], fields: dict[str, str]) -> Response:
    require_own(visit.session, fields)
    refusals = user_errors(await visit.run("comment.delete", input={"id": comment["id"]}))
    if refusals:
        raise PageFault(409, refusals[0]["message"])
    return visit.to(product_path(comment["product"]["productId"]) + "?notice=deleted")


async def _comment(visit: Visit) -> dict[str, Any]:
    comment_id = visit.request.path_params["comment_id"]
    comment: dict[str, Any] | None = (await visit.run("comment", commentId=comment_id)).data[
        "comment"
    ]
    if comment is None:
        raise PageFault(404, "There is no such comment: it may have been deleted.")
    return comment


async def _page(visit: Visit, form: CommentForm | None, status: int = 200) -> Response:
    comment = await _comment(visit)
    viewer = visit.session.context.viewer
    mine = viewer is not None and changes(viewer, comment["username"])
    product_id = comment["product"]["productId"]
    name = f"Product {product_id}"
    if mine and form is None:
        form = CommentForm.showing(comment)
    return visit.render(
        "comment.html",
        status,
        comment=comment,
        name=name,
        path=comment_path(comment["commentId"]),
        canonical=comment_path(comment["commentId"]),
        mine=mine,
        form=form and asdict(form),
        linked=linked_data.lone_review(visit.site + product_path(product_id), name, comment),
    )
