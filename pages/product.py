"""``/products/{id}``: one page of a product's comments, filters, and a form for a new comment.

If analytics is set up, the page also shows the product's mean rating by month.
"""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any

from babel.lists import format_list
from starlette.responses import Response

from pages import i18n
from pages.addresses import (
    RATINGS,
    SIZE,
    SIZES,
    Filters,
    ListPart,
    pager,
    product_path,
    with_query,
)
from pages.comment import (
    BUYERS_ONLY,
    UNLISTED,
    CommentForm,
    done,
    fresh_comment,
    gone,
    unchecked,
    user_errors,
)
from pages.faults import TOO_RARE, PageFault
from pages.formats import day, decimal, language, minute, number, product_name
from pages.i18n import gettext, ngettext
from pages.list_filters import SWITCHES
from pages.list_orders import ORDERS
from pages.page_documents import CARD, fill_statistics, graphql_address
from pages.page_request import PageRequest
from pages.plan_panel import plan_account
from pages.playground import Choice

TREND_TIMEOUT = 0.5
"""Maximum seconds that a page waits for its trend after it has read all other data."""

_FEWEST_MONTHS, _FEWEST_COMMENTS, _FEWEST_OF_A_MONTH = 3, 50, 3
"""A trend needs at least ``_FEWEST_COMMENTS`` comments, and ``_FEWEST_OF_A_MONTH`` in each of
``_FEWEST_MONTHS`` months. With fewer comments, the mean ratings would mostly depend on chance.
"""

_WIDTH, _HEIGHT = 1000, 100
"""The trend's size in units of the drawing.

Browsers stretch the drawing, so it has no text and no circles.
"""

_EDGE = 4
"""The margin above and below the trend's line. Without it, the drawing would cut off half of the
stroke of a line at the top or the bottom."""

_BEST, _WORST = 5, 1

Point = dict[str, Any]


async def show(request: PageRequest) -> Response:
    """Return the product's page.

    Simultaneous requests of visitors who are not signed in share one page: see
    ``PageRequest.shared``.
    """
    if request.session.username:
        return await _page(request, CommentForm())
    return await request.shared(lambda: _page(request, None))


async def add(request: PageRequest) -> Response:
    """Store the form's comment and redirect to it. On errors, show the form again.

    If the comment waits for a moderator, redirect to the product.
    """
    fields = await request.form()
    form = CommentForm.typed(fields)
    errors = unchecked(request.session, fields)
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
    comment = result.data["addComment"]["comment"]
    if comment is None:  # the comment waits for a moderator
        return gone(request, product_id, "held")
    return done(request, comment, "added")


async def _page(request: PageRequest, form: CommentForm | None, status: int = 200) -> Response:
    product_id = request.http.path_params["product_id"]
    filters = Filters.of(request.http.query_params)
    part = ListPart.of(request.http.query_params)
    variables = {"productId": product_id, **filters.variables()}
    # Without a store, ask nothing, because creating the error would take a thirtieth of the page's
    # time.
    drawing = request.http.app.state.may_have_trends() and asyncio.create_task(
        _draw_trend(request, product_id, filters.languages or None)
    )
    try:
        result = await request.run(
            "product",
            **variables,
            **part.variables(filters.size),
            together=filters.together,
            summary=replace(filters, size=SIZE) == Filters() and not part.chosen,
            signedIn=request.session.username is not None,
            knownOnly=request.session.context.known_products_only,
        )
        if drawing:
            # The timeout begins only here, because the first page of a server also compiles
            # documents, which takes longer than the timeout.
            await asyncio.wait([drawing], timeout=TREND_TIMEOUT)
    except PageFault as fault:
        if filters.words and fault.code == "QUERY_TOO_COSTLY":
            every = product_path(product_id) + replace(filters, words="").query
            raise PageFault(400, gettext(TOO_RARE), listed=every) from None
        raise
    finally:
        if drawing:
            drawing.cancel()
    trend = drawing.result() if drawing and drawing.done() else None
    product = result.data["product"]
    path = product_path(product_id)
    if filters.together and product["group"] is None:  # the product has left its group
        return request.to(path + replace(filters, together=False).query)
    shown = product["group"] if filters.together else product
    # The connection is removed from the template's variables, because the ETag must not depend on
    # the connection's costs and cursors.
    connection = shown.pop("comments")
    comments, info = connection["nodes"], connection["pageInfo"]
    known = fill_statistics(product, filters.ratings, filters.languages)
    fill_statistics(shown, filters.ratings, filters.languages)
    statistics, facets = product["statistics"], shown["statistics"]["facets"]
    if filters.languages:
        # In the API's spelling: ``EN`` in an address becomes ``en``.
        spelt = sorted({one["language"] for one in facets["languages"] if one["selected"]})
        filters = replace(filters, languages=tuple(spelt))
    if part.chosen and not comments:
        message = gettext("There are no more comments here. Go back to the first page.")
        raise PageFault(404, message, leaves_list=True)
    # If the page before a cursor is the list's first page, it may have fewer comments than
    # ``size``. So redirect to the full first page.
    if part.before and not info["hasPreviousPage"]:
        return request.to(path + filters.query)
    total = facets["total"] if known and filters.counted else None
    # With known_products_only, the server refuses comments on a product without details. So the
    # product's page shows a message instead of the form.
    details = ("title", "pictureUrl", "url", "group", "gtin", "brand", "mpn")
    closed = request.session.context.known_products_only and not any(map(product.get, details))
    events = connection["eventCursor"]
    stated = {name: value for name, value in variables.items() if value}
    plan = connection.get("plan")
    playground = plan and Choice(
        product_id, replace(filters, together=False, size=SIZE), filters.size, after=part.after
    )
    choices = _choices(filters, i18n.spoken())
    name = product_name(product)
    return request.render(
        "product.html",
        status,
        product=product,
        name=name,
        title=_title(name, choices, statistics, older=bool(part.chosen)),
        summary=ngettext(
            "%(product)s has %(average)s of 5 stars from %(count)s comment.",
            "%(product)s has %(average)s of 5 stars from %(count)s comments.",
            statistics["total"],
            product=name,
            average=decimal(statistics["average"]),
            count=number(statistics["total"]),
        ),
        known=known,
        counted=total is not None,
        # A list that never had a comment needs no filters and no orders.
        blank=known and not shown["statistics"]["total"] and not comments,
        facets=facets,
        filters=filters,
        **choices,
        heading=choices["further_heading"] if part.chosen else gettext("Comments"),
        # For each number of comments on a page: the number, the address of the list with this
        # number, and whether it is selected.
        sizes=[
            (size, with_query(path + query, **part.chosen), size == filters.size)
            for size, query in choices["starts"]
        ],
        path=path,
        canonical=with_query(path + choices["essential"], **part.chosen),
        wider=[]
        if comments
        else [(words, n, path + rest.query) for words, n, rest in _wider(filters, facets)],
        pager=pager(path + filters.query, part, info, len(comments), total),
        comments=comments,
        fresh=await fresh_comment(request),
        # The events are of the list without the search and the days.
        live=graphql_address("product.live", stated | {"after": events})
        if events and not filters.words
        else None,
        trend=trend,
        linked=connection["jsonLd"],
        account=playground and plan_account(plan, result, playground.address),
        form=form and form.shown(request, [one["language"] for one in facets["languages"]]),
        draft=form and _draft(request),
        closed=gettext(UNLISTED) if closed else None,
        # Whether other pages show the same comments.
        repeats=filters.together or filters.words,
        buyers_only=gettext(BUYERS_ONLY) if request.session.context.buyers_only else None,
    )


@lru_cache(maxsize=128)
def _choices(filters: Filters, tag: str) -> dict[str, Any]:
    """Return the variables of the template that depend only on the filters and the language.

    They are cached, because most visitors open a list without filters. ``tag``, the language, is a
    part of the key. The queries are those of addresses of the list.
    """
    del tag
    ratings = () if filters.ratings == RATINGS else filters.ratings
    order = ORDERS[filters.order]
    return {
        "title_words": [*_filter_words(filters)],
        "chosen": filters.chosen,
        # For each filter that is on or off: its name, its texts, and whether it is on.
        "switches": [
            (name, *map(gettext, (one.heading, one.label, one.uncounted)), name in filters.on)
            for name, one in SWITCHES.items()
        ],
        # For each order: its name, the query of the list in this order, and whether it is selected.
        "orders": [
            (gettext(one.name), replace(filters, order=name).query, name == filters.order)
            for name, one in ORDERS.items()
        ],
        # For the product's list and for its group's list: the name, the query, and whether it is
        # the group's list.
        "variants": [
            (gettext("This variant"), replace(filters, together=False).query, False),
            (gettext("All variants"), replace(filters, together=True).query, True),
        ],
        "further_heading": gettext(order.further_heading),
        "further": gettext(order.further),
        "onward": gettext(order.onward),
        "back": gettext(order.back),
        "all_of_it": Filters(
            order=filters.order, together=filters.together, size=filters.size
        ).query,
        "removals": [(words, rest.query) for words, rest in _removals(filters)],
        # The list with each number of comments on a page.
        "starts": [(size, replace(filters, size=size).query) for size in SIZES],
        # For the canonical address, which crawlers store. With all five ratings, the list is the
        # same as without ratings.
        "essential": replace(filters, ratings=ratings, size=SIZE).query,
    }


def _draft(request: PageRequest) -> dict[str, Any]:
    """Return a comment with placeholder values.

    The page contains a hidden card of this comment. When the visitor sends a new comment, a script
    copies the card, and shows the form's values in it until the server responds.
    """
    return {
        **CARD,
        "commentId": "",
        "username": request.session.username or "",
        "authorName": request.session.name or "",
        "createdAt": datetime.now(UTC).isoformat(),
        "language": i18n.spoken(),
        "rating": _BEST,
        "title": "-",
        "text": "-",
    }


def _title(name: str, choices: dict[str, Any], statistics: dict[str, Any], *, older: bool) -> str:
    """Return the page's title: the product's name, then the filters or the mean rating.

    The title has the mean rating only on the first page of the newest comments without filters.
    """
    parts = [*choices["title_words"], *([choices["further"]] if older else [])]
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


def _filter_words(filters: Filters) -> Iterator[str]:
    """Yield a few words for each filter, and for an order other than the default."""

    def any_of(values: Iterable[str]) -> str:
        return format_list(list(values), "or", i18n.locale())

    yield from _search_words(filters)
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
    for name in filters.on:
        yield gettext(SWITCHES[name].title)
    if filters.together:
        yield gettext("all variants")
    if words := ORDERS[filters.order].filter:
        yield gettext(words)


def _search_words(filters: Filters) -> Iterator[str]:
    if filters.words:
        yield gettext("with “%(words)s”", words=filters.words)


def _removals(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield each selected value in words, with the filters that remain without this value.

    The first and the last day count as one value, and so do all words.
    """
    for words in _search_words(filters):
        yield words, replace(filters, words="")
    for rating in filters.ratings:
        words = ngettext("%(count)s star", "%(count)s stars", rating, count=number(rating))
        yield (
            words,
            replace(filters, ratings=tuple(one for one in filters.ratings if one != rating)),
        )
    for tag in filters.languages:
        rest = tuple(one for one in filters.languages if one != tag)
        yield language(tag), replace(filters, languages=rest)
    if filters.dated:
        (words,) = _filter_words(Filters(since=filters.since, until=filters.until))
        yield words, replace(filters, since=None, until=None)
    for name in filters.on:
        rest = tuple(one for one in filters.on if one != name)
        yield gettext(SWITCHES[name].label), replace(filters, on=rest)


def _wider(filters: Filters, facets: dict[str, Any]) -> Iterator[tuple[str, int, Filters]]:
    """Yield filters that are less strict than ``filters``, and that match comments.

    The page offers them if no comment matches ``filters``. Each result is a text for the link,
    the number of matching comments, and the filters.
    """
    # ``facets`` ignores words, days and ``filters.on``: its total is the number without such
    # filters.
    if not filters.counted:
        without = replace(filters, since=None, until=None, on=(), words="")
        if filters.words:
            words = gettext("Without these words")
        else:
            words = gettext("Any date") if filters.dated else gettext(SWITCHES[filters.on[0]].wider)
        wider = [(words, facets["total"], without)]
    else:
        by_rating = sum(one["count"] for one in facets["ratings"])
        by_language = sum(one["count"] for one in facets["languages"] if one["parent"] is None)
        wider = [
            (gettext("All ratings"), by_rating, replace(filters, ratings=())),
            (gettext("All languages"), by_language, replace(filters, languages=())),
        ]
    yield from (one for one in wider if one[1] and one[2] != filters)


async def _draw_trend(
    request: PageRequest, product_id: str, languages: Sequence[str] | None
) -> dict[str, Any] | None:
    """Return the drawing of a product's trend: a line of mean ratings in front of bars of counts.

    Return None if the store fails, or if there are too few comments.
    """
    try:
        result = await request.run("product.trend", productId=product_id, language=languages)
    except PageFault:
        return None
    trend = result.data["product"]["trend"]
    points: list[Point] = trend["points"]
    # Omit months with few comments at both ends, because they would squeeze the other months.
    many = [place for place, point in enumerate(points) if point["count"] >= _FEWEST_OF_A_MONTH]
    points = points[many[0] : many[-1] + 1] if many else []
    enough = sum(point["count"] for point in points) >= _FEWEST_COMMENTS
    if len(many) < _FEWEST_MONTHS or not enough:
        return None
    most = max(point["count"] for point in points)
    return {
        "points": points,
        # ``minute`` omits the seconds, so this time changes the page's ETag at most once a minute.
        "as_of": minute(trend["asOf"]),
        "most": most,
        # The months that are named below the drawing: the first, the last and, if the number of
        # months is odd, the one in the middle.
        "ticks": points[:: len(points) // 2] if len(points) % 2 else [points[0], points[-1]],
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
    """Yield an SVG path for each run of consecutive months with comments.

    A month without comments interrupts the line.
    """
    step = _WIDTH / len(points)

    def height(average: float) -> float:
        return _EDGE + (_HEIGHT - 2 * _EDGE) * (_BEST - average) / (_BEST - _WORST)

    for rated, run in groupby(enumerate(points), lambda one: one[1]["average"] is not None):
        if rated:
            places = [
                f"{(place + 0.5) * step:.2f} {height(point['average']):.2f}" for place, point in run
            ]
            # The path of a single month is a line without length, which browsers draw as a dot.
            yield "M" + "L".join(places if len(places) > 1 else places * 2)
