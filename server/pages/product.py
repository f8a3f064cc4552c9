"""``/products/{id}``: a product's comments, filtered, page by page, and a form for a new one."""

import asyncio
import secrets
from typing import Any

from starlette.responses import Response

from server.pages import linked_data, plan_drawing, product_list, trend
from server.pages.addresses import Filters, comment_path, product_path
from server.pages.comment_forms import UNLISTED, CommentForm, user_errors
from server.pages.faults import PageFault
from server.pages.i18n import gettext
from server.pages.operations import Answer
from server.pages.page_request import PageRequest
from server.pages.paging import cursor_of_previous

_USED_UP = "IDEMPOTENCY_KEY_REUSED"


async def show(request: PageRequest) -> Response:
    """Show one page of comments; ``before`` leads to the address of the page with those 20."""
    before = request.http.query_params.get("before")
    if before is not None:
        return await _previous(request, before)
    return await _page(request, CommentForm() if request.session.username else None)


async def add(request: PageRequest) -> Response:
    """Store the form's comment and lead to it, or show the form again with what to mend."""
    fields = await request.form()
    form = CommentForm.typed(fields)
    errors = form.check(request.session, fields)
    if errors:
        return await _page(request, form.refused(errors), status=422)
    product_id = request.http.path_params["product_id"]
    new = form.input() | {"productId": product_id, "idempotencyKey": form.key}
    answer = await request.run("comment.add", input=new)
    refusals = user_errors(answer)
    if refusals:
        used_up = any(error["code"] == _USED_UP for error in refusals)
        key = secrets.token_urlsafe() if used_up else form.key
        return await _page(request, form.refused(form.faults(refusals), key), status=422)
    comment_id = answer.data["addComment"]["comment"]["commentId"]
    return request.to(comment_path(comment_id) + "?notice=added")


async def _previous(request: PageRequest, before: str) -> Response:
    """Lead to the page that holds the 20 comments before a cursor, by its one address.

    The page itself could only name it by reading 40 comments more each time.
    """
    product_id = request.http.path_params["product_id"]
    filters = Filters.of(request.http.query_params)
    answer = await request.run(
        "product.previous", productId=product_id, before=before, **filters.variables()
    )
    edges = answer.data["product"]["comments"]["edges"]
    remainder = not (filters.dated or filters.oldest)
    after = cursor_of_previous([edge["cursor"] for edge in edges], remainder=remainder)
    cursor = {} if after is None else {"after": after}
    return request.to(product_path(product_id) + filters.query(**cursor))


async def _page(request: PageRequest, form: CommentForm | None, status: int = 200) -> Response:
    listed = await product_list.asked(request)
    filters, product_id = listed.filters, listed.product["productId"]
    answer, drawing = await asyncio.gather(
        request.run("product.comments", **listed.variables()),
        trend.drawn(request, product_id, filters.languages or None),
    )
    connection = answer.data["product"]["comments"]
    shown = connection["nodes"]
    if listed.after and not shown:
        message = gettext("There are no comments here any more. Start from the beginning.")
        raise PageFault(404, message)
    written_in = [one["language"] for one in listed.facets["languages"]]
    return request.render(
        "product.html",
        status,
        **listed.facts(),
        **listed.addresses(connection["pageInfo"], live=request.http.app.state.settings.live),
        comments=shown,
        total=len(shown) if listed.total is None else listed.total,
        trend=drawing,
        linked=linked_data.product(request.site, listed.product, shown),
        account=account(connection["plan"], answer, listed.playground()),
        form=form and form.shown(request.accepted, written_in),
        closed=gettext(UNLISTED) if _closed(request, listed.product) else None,
    )


def _closed(request: PageRequest, product: dict[str, Any]) -> bool:
    """Return whether the server refuses comments on a product: the shop stored no details of it."""
    known = product["title"] or product["pictureUrl"] or product["url"]
    return request.session.context.known_products_only and not known


def account(
    plan: dict[str, Any] | None, answer: Answer, playground: str | None = None
) -> dict[str, Any] | None:
    """Return what the plan panel shows, None unless the server explains.

    ``playground`` is the address of the same list there.
    """
    return plan and {
        "plan": plan,
        "drawing": plan_drawing.drawn(plan),
        "took": answer.took,
        "graphiql": answer.graphiql,
        "playground": playground,
    }
