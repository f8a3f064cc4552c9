"""``/products/{id}``: a product's comments, filtered, page by page, and a form for a new one.

The page shows the product's rating by month too, where analytics is set up.
"""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from babel.lists import format_list
from starlette.responses import Response

from server.pages import i18n
from server.pages.addresses import (
    SIZE,
    Filters,
    comment_path,
    cursor_of_previous,
    first_size,
    product_path,
)
from server.pages.comment import UNLISTED, CommentForm, user_errors
from server.pages.crawlers import linked_product
from server.pages.faults import PageFault
from server.pages.formats import day, decimal, language, minute, number, product_name
from server.pages.i18n import gettext, ngettext
from server.pages.page_documents import fill_statistics, graphql_address
from server.pages.page_request import PageRequest
from server.pages.plan_panel import plan_account
from server.pages.playground import Choice

TREND_TIMEOUT = 0.5
"""Seconds that a page waits for its trend."""

_FEWEST = 2
"""Minimum number of points for a line."""

_WIDTH, _HEIGHT = 1000, 100
"""The trend's size in units of the drawing.

Browsers stretch the drawing, so it has no text and no circles.
"""

_EDGE = 4
"""Margin above and below the trend's line for the stroke's width."""

_BEST, _WORST = 5, 1

Point = dict[str, Any]


async def show(request: PageRequest) -> Response:
    """Show one page of comments; with ``before``, redirect to the page before the cursor."""
    before = request.http.query_params.get("before")
    if before is not None:
        return await _previous(request, before)
    return await _page(request, CommentForm() if request.session.username else None)


async def add(request: PageRequest) -> Response:
    """Store the form's comment and redirect to it, or show the form again with errors."""
    fields = await request.form()
    form = CommentForm.typed(fields)
    errors = form.check(request.session, fields)
    if errors:
        return await _page(request, form.with_errors(errors), status=422)
    product_id = request.http.path_params["product_id"]
    new = form.input() | {"productId": product_id, "idempotencyKey": form.key}
    result = await request.run("comment.add", input=new)
    refusals = user_errors(result)
    if refusals:
        used_up = any(error["code"] == "IDEMPOTENCY_KEY_REUSED" for error in refusals)
        key = secrets.token_urlsafe() if used_up else form.key
        return await _page(request, form.with_errors(form.messages(refusals), key), status=422)
    comment_id = result.data["addComment"]["comment"]["commentId"]
    return request.to(comment_path(comment_id) + "?notice=added")


async def _previous(request: PageRequest, before: str) -> Response:
    """Redirect to the page that holds the 20 comments before a cursor.

    A page does not link its previous page directly: it would read 40 more comments each time to
    know the cursor.
    """
    product_id = request.http.path_params["product_id"]
    filters = Filters.of(request.http.query_params)
    result = await request.run(
        "product.previous", productId=product_id, before=before, **filters.variables()
    )
    edges = result.data["product"]["comments"]["edges"]
    remainder = not (filters.dated or filters.oldest)
    after = cursor_of_previous([edge["cursor"] for edge in edges], remainder=remainder)
    cursor = {} if after is None else {"after": after}
    return request.to(product_path(product_id) + filters.query(**cursor))


async def _page(request: PageRequest, form: CommentForm | None, status: int = 200) -> Response:
    shown = await _list_of(request)
    filters, product = shown.filters, shown.product
    result, trend = await asyncio.gather(
        request.run("product.comments", **shown.variables()),
        _draw_trend(request, product["productId"], filters.languages or None),
    )
    connection = result.data["product"]["comments"]
    comments = connection["nodes"]
    if shown.after and not comments:
        message = gettext("There are no more comments here. Go back to the first page.")
        raise PageFault(404, message)
    # With known_products_only, the server refuses comments on products without details.
    listed = product["title"] or product["pictureUrl"] or product["url"]
    closed = request.session.context.known_products_only and not listed
    written_in = [one["language"] for one in shown.facets["languages"]]
    return request.render(
        "product.html",
        status,
        **shown.facts(),
        **shown.addresses(connection["pageInfo"], live=request.http.app.state.settings.live),
        comments=comments,
        total=len(comments) if shown.total is None else shown.total,
        trend=trend,
        linked=linked_product(request.site, product, comments),
        account=plan_account(connection["plan"], result, shown.playground()),
        form=form and form.shown(request.accepted, written_in),
        closed=gettext(UNLISTED) if closed else None,
    )


@dataclass(frozen=True, slots=True)
class ProductList:
    """A page of a product's comments: the product with its counts, the filters, and a cursor."""

    product: dict[str, Any]
    filters: Filters
    after: str | None
    known: bool
    """Whether the product's comments are counted."""

    @property
    def facets(self) -> dict[str, Any]:
        """The number of comments for each value of a filter."""
        found: dict[str, Any] = self.product["statistics"]["facets"]
        return found

    @property
    def total(self) -> int | None:
        """The number of comments that pass the filters; None if they are not counted."""
        return self.facets["total"] if self.known and not self.filters.dated else None

    @property
    def path(self) -> str:
        """The path of the product's page."""
        return product_path(self.product["productId"])

    def variables(self) -> dict[str, Any]:
        """Return the variables of the document that reads the page."""
        first = SIZE if self.after else first_size(None if self.filters.oldest else self.total)
        return self._list_variables() | {"first": first, "after": self.after}

    def _list_variables(self) -> dict[str, Any]:
        return {"productId": self.product["productId"], **self.filters.variables()}

    def facts(self) -> dict[str, Any]:
        """Return the template's variables for the product and the filters."""
        name, statistics = product_name(self.product), self.product["statistics"]
        return {
            "product": self.product,
            "name": name,
            "title": self._title(name),
            "summary": ngettext(
                "%(product)s has %(average)s of 5 stars from %(count)s comment.",
                "%(product)s has %(average)s of 5 stars from %(count)s comments.",
                statistics["total"],
                product=name,
                average=decimal(statistics["average"]),
                count=number(statistics["total"]),
            ),
            "known": self.known,
            "counted": self.total is not None,
            "facets": self.facets,
            "filters": self.filters,
            "chosen": self.filters.chosen,
            "after": self.after,
            "size": SIZE,
        }

    def _title(self, name: str) -> str:
        """Return the page's title: the name and the filters; without filters, the rating."""
        filters, statistics = self.filters, self.product["statistics"]
        parts = list(_filter_words(filters))
        if self.after:
            parts.append(gettext("newer comments") if filters.oldest else gettext("older comments"))
        if parts or not statistics["total"]:
            return ", ".join([name, *parts])
        rating = ngettext(
            "%(average)s of 5 stars from %(count)s comment",
            "%(average)s of 5 stars from %(count)s comments",
            statistics["total"],
            average=decimal(statistics["average"]),
            count=number(statistics["total"]),
        )
        return gettext("%(product)s: %(rating)s", product=name, rating=rating)

    def addresses(self, info: dict[str, Any], *, live: bool) -> dict[str, Any]:
        """Return the links of a page with this ``pageInfo``; None for a missing page."""
        path, query = self.path, self.filters.query
        cursor = {"after": self.after} if self.after else {}
        orders = ((gettext("Newest first"), False), (gettext("Oldest first"), True))
        return {
            "path": path,
            "newest": path + query(),
            "canonical": path + self.filters.essential.query(**cursor),
            "onward": path + query(after=info["endCursor"]) if info["hasNextPage"] else None,
            "back": path + query(before=info["startCursor"]) if info["hasPreviousPage"] else None,
            "all_of_it": path + Filters(oldest=self.filters.oldest).query(),
            # Each order's name and address, and whether it is in force.
            "orders": [
                (name, path + replace(self.filters, oldest=one).query(), self.filters.oldest is one)
                for name, one in orders
            ],
            "live": graphql_address("product.live", self._list_variables()) if live else None,
        }

    def playground(self) -> str:
        """Return the address of the same page in the playground."""
        product_id, first = self.product["productId"], self.variables()["first"]
        return Choice(product_id, self.filters, first, after=self.after or "").address


async def _list_of(request: PageRequest) -> ProductList:
    """Return the address's list with its counts, which decide the first page's size."""
    filters = Filters.of(request.http.query_params)
    result = await request.run(
        "product.counts",
        productId=request.http.path_params["product_id"],
        rating=filters.ratings or None,
        language=filters.languages or None,
    )
    product = result.data["product"]
    known = fill_statistics(product, filters.ratings, filters.languages)
    languages = product["statistics"]["facets"]["languages"]
    filters = filters.spelt(one["language"] for one in languages if one["selected"])
    return ProductList(product, filters, request.http.query_params.get("after") or None, known)


def _filter_words(filters: Filters) -> Iterator[str]:
    """Yield a few words for each filter."""

    def any_of(values: Iterable[str]) -> str:
        return format_list(list(values), "or", i18n.locale())

    if filters.ratings:
        yield gettext("rated %(ratings)s", ratings=any_of(map(number, filters.ratings)))
    if filters.languages:
        yield gettext("in %(languages)s", languages=any_of(map(language, filters.languages)))
    since, until = (one and day(one.isoformat()) for one in (filters.since, filters.until))
    if since and until:
        yield gettext("from %(first)s to %(last)s", first=since, last=until)
    elif since:
        yield gettext("from %(first)s", first=since)
    elif until:
        yield gettext("to %(last)s", last=until)
    if filters.oldest:
        yield gettext("oldest first")


async def _draw_trend(
    request: PageRequest, product_id: str, languages: Sequence[str] | None
) -> dict[str, Any] | None:
    """Return the drawing of a product's trend: the mean rating's line over bars of the counts.

    None where analytics is absent, down or slow, or has too few points.
    """
    try:
        async with asyncio.timeout(TREND_TIMEOUT):
            result = await request.run("product.trend", productId=product_id, language=languages)
    except (PageFault, TimeoutError):
        return None
    trend = result.data["product"]["trend"]
    points: list[Point] = trend["points"]
    if len(points) < _FEWEST:
        return None
    most = max(point["count"] for point in points)
    return {
        "points": points,
        "as_of": minute(trend["asOf"]),  # with seconds, the page's ETag would change all the time
        "most": most,
        "bars": list(_bars(points, most)),
        "lines": list(_lines(points)),
    }


def _bars(points: Sequence[Point], most: int) -> Iterator[dict[str, float]]:
    step = _WIDTH / len(points)
    for place, point in enumerate(points):
        if point["count"]:
            height = _HEIGHT * point["count"] / most
            yield {
                "x": round((place + 0.1) * step, 2),
                "y": round(_HEIGHT - height, 2),
                "width": round(0.8 * step, 2),
                "height": round(height, 2),
            }


def _lines(points: Sequence[Point]) -> Iterator[str]:
    """Yield the path of each run of months with comments: a month without any breaks the line."""
    step = _WIDTH / len(points)

    def height(average: float) -> float:
        return _EDGE + (_HEIGHT - 2 * _EDGE) * (_BEST - average) / (_BEST - _WORST)

    for rated, run in groupby(enumerate(points), lambda one: one[1]["average"] is not None):
        if rated:
            places = [
                f"{(place + 0.5) * step:.2f} {height(point['average']):.2f}" for place, point in run
            ]
            yield "M" + "L".join(places if len(places) > 1 else places * 2)  # a dot
