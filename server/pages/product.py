"""``/products/{id}``: a product's comments, filtered, page by page, and a form for a new one."""

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from starlette.responses import Response

from server.pages import linked_data, plan_drawing, product_words, trend
from server.pages.addresses import Filters, comment_path, product_path
from server.pages.comment_forms import CommentForm, user_errors
from server.pages.faults import PageFault
from server.pages.formats import product_name
from server.pages.i18n import gettext
from server.pages.operations import Answer, graphql_address
from server.pages.page_request import PageRequest
from server.pages.paging import SIZE, cursor_of_previous, first_size
from server.pages.playground_choice import Choice
from server.pages.uncounted import known_counts

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
    product_id = request.http.path_params["product_id"]
    filters = Filters.of(request.http.query_params)
    after = request.http.query_params.get("after") or None
    # The first page's size follows from the counts, so they come first.
    counts = await request.run(
        "product.counts",
        productId=product_id,
        rating=filters.ratings or None,
        language=filters.languages or None,
    )
    product = counts.data["product"]
    known = known_counts(product, filters.ratings, filters.languages)
    facets = product["statistics"]["facets"]
    filters = filters.spelt(one["language"] for one in facets["languages"] if one["selected"])
    total = facets["total"] if known and not filters.dated else None
    first = SIZE if after else first_size(None if filters.oldest else total)
    comments, drawing = await asyncio.gather(
        request.run(
            "product.comments",
            productId=product_id,
            first=first,
            after=after,
            **filters.variables(),
        ),
        trend.drawn(request, product_id, filters.languages or None),
    )
    facts = _facts(request, product, filters, comments)
    shown = facts["comments"]
    if after and not shown:
        message = gettext("There are no comments here any more. Start from the beginning.")
        raise PageFault(404, message)
    written_in = [one["language"] for one in facets["languages"]]
    facts |= {"known": known, "counted": known and not filters.dated, "trend": drawing}
    facts |= {"total": len(shown) if total is None else total}
    return request.render(
        "product.html", status, **facts, form=form and form.shown(request.accepted, written_in)
    )


def _facts(
    request: PageRequest, product: dict[str, Any], filters: Filters, answer: Answer
) -> dict[str, Any]:
    """Return what the template shows: everything but the form."""
    connection = answer.data["product"]["comments"]
    after = answer.variables["after"]
    path = product_path(product["productId"])
    info = connection["pageInfo"]
    comments = connection["nodes"]
    onward = filters.query(after=info["endCursor"]) if info["hasNextPage"] else None
    back = filters.query(before=info["startCursor"]) if info["hasPreviousPage"] else None
    name = product_name(product)
    return {
        "product": product,
        "name": name,
        "path": path,
        "filters": asdict(filters),
        "facets": product["statistics"]["facets"],
        "chosen": filters.chosen,
        "title": product_words.title(name, product["statistics"], filters, further=bool(after)),
        "summary": product_words.summary(name, product["statistics"]),
        "orders": list(_orders(path, filters)),
        "all_of_it": path + Filters(oldest=filters.oldest).query(),
        "size": SIZE,
        "comments": comments,
        "after": after,
        "newest": path + filters.query(),
        "live": graphql_address(
            "product.live", {"productId": product["productId"], **filters.variables()}
        ),
        "canonical": path + filters.essential.query(**({"after": after} if after else {})),
        "onward": onward and path + onward,
        "back": back and path + back,
        "linked": linked_data.product(request.site, product, comments),
        "account": account(
            connection["plan"],
            answer,
            Choice(
                product["productId"], filters, answer.variables["first"], after=after or ""
            ).address,
        ),
    }


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


def _orders(path: str, filters: Filters) -> Iterator[tuple[str, str, bool]]:
    """Yield each order's name, where it leads, and whether it is the one that is shown."""
    for name, oldest in ((gettext("Newest first"), False), (gettext("Oldest first"), True)):
        yield name, path + replace(filters, oldest=oldest).query(), filters.oldest is oldest
