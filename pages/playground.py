"""``/playground``: reads one page of comments by two query plans, Marginalia's and the articles'.

The articles are by Alex Reid, and the data model is based on them: see docs/DESIGN.md. The page
shows both plans side by side. The server runs each plan as one operation of the API, with the API's
limits. A request to the playground reads at most four pages of comments: one by each plan, and two
to find the start of the page. The server reads at most 60 partitions for a page of comments, so at
most 240 for the request. This is below the limit for a single operation,
``dal.dynamodb.account.MAX_REQUESTS``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pages import i18n, merge_drawing, plan_panel, rendering
from pages.addresses import RATINGS, SIZE, Filters, one_of, with_query
from pages.aws_commands import requests_of
from pages.faults import PageFault
from pages.formats import decimal, number
from pages.i18n import gettext, gettext_noop, ngettext
from pages.list_orders import ORDERS
from pages.page_documents import DocumentResult, languages_of
from pages.page_request import PageRequest
from schema.execution.documents import charged
from server.http.graphiql import FILE_HEADERS
from server.http.request import read_body

PATH = "/playground"

LARGEST = 100
"""Maximum number of rows of a page, as in the API."""

DEEPEST = 200
"""Maximum number of rows before a page. To find the start of the page, the server reads these rows,
100 at a time."""

BASES = {"all": "ROW_LOCATIONS", "counts": "COUNTS", "nothing": "NOTHING"}
"""The statistics that Marginalia's plan may use. Maps their names in an address to values of the
argument ``planBy``."""

_BASIS_UNKNOWN = gettext_noop("Choose the statistics that the plan may use: %(names)s.")

_NUMBER_UNKNOWN = gettext_noop(
    "%(value)s is not possible here. Choose a number from 1 to %(most)s, or continue from a cursor."
)

LARGEST_DRAWING = 2_000
"""Maximum number of rows and key ranges, in total, of a posted plan. More would take over 10 ms to
draw."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The visitor's choice: a page of comments, and which statistics Marginalia's plan may use."""

    product: str = ""
    filters: Filters = field(default_factory=Filters)
    size: int = SIZE
    page: int = 1
    after: str = ""
    """The cursor after which the page starts. It replaces the page's number."""
    by: str = "all"

    @classmethod
    def of(cls, given: QueryParams) -> "Choice":
        """Return the choice in an address. Raise PageFault for an invalid value."""
        by = one_of(BASES, given.get("by") or "all", _BASIS_UNKNOWN)
        after = given.get("after", "").strip()
        size = _number(given.get("size", ""), SIZE, LARGEST)
        deepest = DEEPEST // max(1, size) + 1
        return cls(
            given.get("product", "").strip(),
            Filters.of(given),
            size,
            1 if after else _number(given.get("page", ""), 1, deepest),
            after,
            by,
        )

    @property
    def address(self) -> str:
        """The address of the playground with this choice, without default values."""
        return with_query(
            PATH + self.filters.query,
            product=self.product,
            size="" if self.size == SIZE else str(self.size),
            page="" if self.page == 1 else str(self.page),
            by="" if self.by == "all" else self.by,
            after=self.after,
        )

    def variables(self) -> dict[str, Any]:
        """Return the arguments that select the list."""
        return {"productId": self.product, **self.filters.variables()}


def examples(choice: Choice, languages: Sequence[str]) -> list[tuple[str, Choice]]:
    """Return names and example choices, in pairs. They are for the product of ``choice``."""
    first = tuple(languages[:1])
    start = Choice(choice.product, by=choice.by)

    def of(ratings: tuple[int, ...], *chosen: str, order: str = "newest") -> Choice:
        return replace(start, filters=Filters(ratings, tuple(sorted(chosen)), order=order))

    return [
        (gettext("Four ratings, any language"), of((1, 2, 3, 4))),
        (gettext("Three ratings, one language"), of((1, 4, 5), *first)),
        (gettext("Two ratings, three languages"), of((1, 2), *languages[:3])),
        (gettext("Languages without comments"), of((1, 2), *first, "eo", "tlh", "vo")),
        (gettext("Oldest first"), of((2, 3), order="oldest")),
        (gettext("Highest rating"), of((), *first, order="highest")),
        (gettext("Page 8"), replace(of((1, 4, 5), *first), page=8)),
        (gettext("Without statistics"), replace(of((1, 4, 5), *first), by="nothing")),
        (gettext("All ratings"), of(RATINGS, *first)),
    ]


def _number(value: str, usual: int, most: int) -> int:
    """Return a number in an address, or ``usual`` for an empty value.

    Raise PageFault unless the number is from 1 to ``most``.
    """
    numbers = map(str, range(1, most + 1))
    return int(one_of(numbers, value or str(usual), _NUMBER_UNKNOWN, most=str(most)))


async def draw(request: Request) -> Response:
    """Return the drawing of the plan in the request's body.

    GraphiQL takes the plan from a response of the API, and posts it to this server. The drawing is
    HTML in a JSON string, so that a browser never shows it as a page of this site. It is in
    English, as GraphiQL is.
    """
    if not request.app.state.explain:
        raise HTTPException(404)
    body = await read_body(request.receive)
    with charged(), i18n.speaking(i18n.SOURCE):
        try:
            plan = orjson.loads(body)
            merge_drawing.check(plan)
        except (LookupError, TypeError, ValueError):
            raise HTTPException(
                400,
                "The plan lacks fields for a drawing. Select: residual steps { purpose index "
                "segments } segments { partitionKey itemsRead skipReason } rows { position "
                "segment refill outcome }.",
            ) from None
        rows = len(plan["rows"])
        if rows + len(plan["segments"]) > LARGEST_DRAWING:
            raise HTTPException(
                413,
                f"This plan has {rows:,} rows and {len(plan['segments']):,} key ranges. "
                f"The maximum for a drawing is {LARGEST_DRAWING:,} in total: request fewer rows.",
            )
        facts = {
            "residual": plan["residual"],
            "drawing": merge_drawing.draw_merge([plan], moving=True),
            "key": f"plan-{hashlib.sha256(body).hexdigest()[:12]}-",
        }
        drawing = rendering.render("playground.drawing.html", facts)
    return Response(orjson.dumps(drawing), headers=FILE_HEADERS, media_type="application/json")


async def show(request: PageRequest) -> Response:
    """Return the page with both plans.

    Without ``--explain``, return a page that says that the playground is not available.
    """
    if not request.session.context.explain:
        return request.render("playground.off.html", 404)
    choice = Choice.of(request.http.query_params)
    if choice.product:
        result = await request.run("playground.languages", productId=choice.product)
        product = result.data["product"]
    else:
        choice, product = await _start(request)
    languages = languages_of([product])
    status, facts = 200, dict[str, Any](sides=[])
    if choice.product:
        try:
            facts = await _both(request, choice)
        except PageFault as fault:  # Show the fault above the form, which keeps the values.
            status, facts["fault"] = fault.status, fault.message
    return request.render(
        "playground.html",
        status,
        choice=choice,
        address=choice.address,
        bases=BASES,
        names={key: gettext(name) for key, name in NAMES.items()},
        orders=[(name, gettext(words.name)) for name, words in ORDERS.items()],
        languages=[one["language"] for one in product["statistics"]["languages"]],
        examples=[(name, one.address) for name, one in examples(choice, languages)],
        **{"fault": None, **facts},
    )


async def _start(request: PageRequest) -> tuple[Choice, dict[str, Any]]:
    """Return a choice for the first product of the leaderboard, and the product.

    The choice has four ratings in any language, so both plans merge four key ranges, and the
    articles' plan reads more rows.
    """
    result = await request.run("playground.start")
    for rank in result.data["leaderboard"]["nodes"]:
        product = rank["product"]
        return Choice(product["productId"], Filters((1, 2, 3, 4))), product
    return Choice(), {"statistics": None}


async def _both(request: PageRequest, choice: Choice) -> dict[str, Any]:
    """Return the template's data: both plans and their rows.

    The articles' plan runs first. Marginalia's plan may then use the locations of the rows that the
    articles' plan has read.
    """
    after = choice.after or await _depth(request, choice)
    asked = {**choice.variables(), "first": choice.size, "after": after, "shown": True}
    articles = await request.run("playground", **asked, planBy="FULL_PAGES")
    ours = await request.run("playground", **asked, planBy=BASES[choice.by])
    listed, theirs = (one.data["product"]["comments"] for one in (ours, articles))
    rows, cursor = listed["nodes"], listed["pageInfo"]["endCursor"]
    table = request.http.app.state.settings.table
    sides = [_side("ours", ours, table), _side("articles", articles, table)]
    plans, names = [side["plan"] for side in sides], map(gettext, NAMES.values())
    drawing = merge_drawing.draw_merge(plans, titled=True, moving=True)
    return {
        "sides": sides,
        "drawing": drawing,
        "moves": _moves(drawing),
        "gains": any(plans[0][one] != plans[1][one] for one in _GAINS),
        "compared": plan_panel.compared(dict(zip(names, [*plans, plans[0]["ideal"]], strict=True))),
        "rows": rows,
        "same": rows == theirs["nodes"],
        "onward": _at(choice, cursor) if len(rows) == choice.size else None,
        "first": _at(choice, "") if after else None,
    }


async def _depth(request: PageRequest, choice: Choice) -> str | None:
    """Return the cursor of the last row before the selected page; None for the first page.

    If the list ends before the page, return the cursor of the list's last row; None for an empty
    list.
    """
    after, left = None, (choice.page - 1) * choice.size
    while left:
        first = min(left, LARGEST)
        asked = {**choice.variables(), "first": first, "after": after}
        result = await request.run("playground", **asked, shown=False)
        end = result.data["product"]["comments"]["pageInfo"]["endCursor"]
        if end is None:
            break
        after, left = end, left - first
    return after


_GAINS = ("itemsRead", "consumedCapacity")
"""The figures of a plan that the page shows in large type."""

MOST_HEADS = 8
"""Maximum number of heads that the text of a step names."""


def _moves(drawing: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return for each step of the film how each plan merges a row, by the labels of lanes."""
    moves = []
    for place in range(drawing["steps"]):
        plans = []
        for panel in drawing["panels"]:
            labels = [one["label"] for one in panel["lanes"]]
            for move in panel["moves"][place : place + 1]:
                heads = [labels[lane] for lane, _ in move["heads"]]
                plans.append(
                    {
                        "taken": labels[move["taken"]],
                        "heads": heads[:MOST_HEADS] + ["…"] * (len(heads) > MOST_HEADS),
                        "sent": [labels[lane] for lane in move["sent"]],
                    }
                )
        moves.append(plans)
    return moves


def _side(key: str, result: DocumentResult, table: str) -> dict[str, Any]:
    plan = result.data["product"]["comments"]["plan"]
    return {
        "key": key,
        "plan": plan,
        "title": plan_title(key, plan),
        "segments": plan_panel.segments_of(plan),
        "requests": requests_of(plan["steps"], table),
        "graphiql": result.graphiql,
    }


NAMES = {  # also the order in the table of costs
    "ours": gettext_noop("Marginalia's plan"),
    "articles": gettext_noop("The articles' plan"),
    "ideal": gettext_noop("The ideal"),
}


def plan_title(key: str, plan: dict[str, Any]) -> str:
    """Return the title of a plan in the drawing: its name, and the rows and RCU that it took."""
    read = plan["itemsRead"]
    rows = ngettext("%(count)s row read", "%(count)s rows read", read, count=number(read))
    units = decimal(plan["consumedCapacity"])
    return gettext(
        "%(plan)s: %(rows)s, %(units)s RCU", plan=gettext(NAMES[key]), rows=rows, units=units
    )


def _at(choice: Choice, cursor: str) -> str:
    return replace(choice, page=1, after=cursor).address
