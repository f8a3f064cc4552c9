"""``/playground``: one page of comments by two plans, ours and the articles', side by side.

Both are carried out, each as one operation of the API with its limits. A page reads four lists at
most: the two, and up to two that count the rows before it. Each stands in 60 partitions at most, so
that all of it stays within what one request may cost (``schema.execution.cost.MAX_REQUESTS``).
"""

import hashlib
from dataclasses import replace
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from schema.execution.processor_time import charged
from server.http.graphiql import FILE_HEADERS
from server.http.request import read_body
from server.pages import i18n, plan_drawing, rendering
from server.pages.faults import PageFault
from server.pages.operations import Answer
from server.pages.page_request import PageRequest
from server.pages.playground_choice import BASES, LARGEST, Choice, beginning, examples
from server.pages.uncounted import known_counts

LARGEST_DRAWING = 2_000
"""Rows and key ranges of a posted plan: more take over 10 ms, and their dots run together."""


async def draw(request: Request) -> Response:
    """Draw a plan that a client posts as the API answered it; GraphiQL shows the drawing.

    The answer is JSON of HTML, so that no browser shows it as a page of this site. Its language is
    English, as GraphiQL's.
    """
    if not request.app.state.settings.explain:
        raise HTTPException(404)
    body = await read_body(request.receive)
    with charged(), i18n.speaking(i18n.SOURCE):
        try:
            plan = orjson.loads(body)
            plan_drawing.check(plan)
        except (LookupError, TypeError, ValueError):
            raise HTTPException(
                400,
                "A plan is drawn with these of its fields: residual steps { purpose index "
                "segments } segments { partitionKey itemsRead skipReason } rows { position "
                "segment refill outcome }.",
            ) from None
        rows = len(plan["rows"])
        if rows + len(plan["segments"]) > LARGEST_DRAWING:
            raise HTTPException(
                413,
                f"This plan has {rows:,} rows and {len(plan['segments']):,} key ranges: a drawing "
                f"takes {LARGEST_DRAWING:,} in all.",
            )
        facts = {
            "plan": {"itemsRead": rows, "residual": plan["residual"]},
            "drawing": plan_drawing.lanes_of(plan),
            "key": f"plan-{hashlib.sha256(body).hexdigest()[:12]}-",
        }
        drawing = rendering.render("playground.drawing.html", facts)
    return Response(orjson.dumps(drawing), headers=FILE_HEADERS, media_type="application/json")


async def show(request: PageRequest) -> Response:
    """Show both plans, or say how to get a server that explains."""
    if not request.session.context.explain:
        return request.render("playground.off.html", 404)
    choice = Choice.of(request.http.query_params)
    if choice.product:
        answer = await request.run("playground.languages", productId=choice.product)
        languages = _languages(answer.data["product"])
    else:
        choice, languages = await _start(request)
    status, facts = 200, dict[str, Any](sides=[])
    if choice.product:
        try:
            facts = await _both(request, choice)
        except PageFault as fault:  # what was chosen stays, to be chosen anew
            status, facts["fault"] = fault.status, str(fault)
    return request.render(
        "playground.html",
        status,
        choice=choice,
        address=choice.address,
        bases=BASES,
        languages=languages,
        examples=[(name, one.address) for name, one in examples(choice, languages)],
        **{"fault": None, **facts},
    )


async def _start(request: PageRequest) -> tuple[Choice, list[str]]:
    """Return a first choice and the languages of its product, which has the most fives."""
    answer = await request.run("playground.start")
    for rank in answer.data["leaderboard"]["nodes"]:
        languages = _languages(rank["product"])
        return beginning(rank["product"]["productId"], languages), languages
    return Choice(), []


async def _both(request: PageRequest, choice: Choice) -> dict[str, Any]:
    """Return both plans and their rows.

    The articles' plan comes first: where ours goes by where rows stood when they were last read,
    they have been read then.
    """
    after = choice.after or await _depth(request, choice)
    asked = {**choice.variables(), "first": choice.size, "after": after}
    articles = await request.run("playground", **asked, planBy="FULL_PAGES")
    ours = await request.run("playground", **asked, planBy=BASES[choice.by])
    listed, theirs = (one.data["product"]["comments"] for one in (ours, articles))
    rows, cursor = listed["nodes"], listed["pageInfo"]["endCursor"]
    sides = [_side("ours", ours), _side("articles", articles)]
    return {
        "sides": sides,
        "compared": _compared(sides),
        "rows": rows,
        "same": rows == theirs["nodes"],
        "onward": _at(choice, cursor) if len(rows) == choice.size else None,
        "first": _at(choice, "") if after else None,
    }


async def _depth(request: PageRequest, choice: Choice) -> str | None:
    """Return the cursor of the last row before a page that has a number."""
    after, left = None, choice.before
    while left:
        first = min(left, LARGEST)
        answer = await request.run(
            "playground.depth", **choice.variables(), first=first, after=after
        )
        end = answer.data["product"]["comments"]["pageInfo"]["endCursor"]
        if end is None:
            break
        after, left = end, left - first
    return after


def _side(key: str, answer: Answer) -> dict[str, Any]:
    plan = answer.data["product"]["comments"]["plan"]
    return {
        "key": key,
        "plan": plan,
        "drawing": plan_drawing.drawn(plan),
        "graphiql": answer.graphiql,
    }


def _compared(sides: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of both plans and of the ideal, each with the largest of its kind."""
    ways = [
        {
            "key": side["key"],
            "requests": side["plan"]["requests"],
            "planning": side["plan"]["planningRequests"],
            "planning_capacity": side["plan"]["planningCapacity"],
            "rows": side["plan"]["itemsRead"],
            "capacity": side["plan"]["consumedCapacity"],
        }
        for side in sides
    ]
    ideal = sides[0]["plan"]["ideal"]
    ways.append(
        {
            "key": "ideal",
            "requests": ideal["requests"],
            "planning": 0,
            "planning_capacity": 0.0,
            "rows": round(ideal["itemsRead"]),
            "capacity": ideal["capacity"],
        }
    )
    kinds = ("requests", "rows", "capacity")
    most = {kind: max(way[kind] or 0 for way in ways) or 1 for kind in kinds}
    return [{**way, "most": most} for way in ways]


def _at(choice: Choice, cursor: str) -> str:
    return replace(choice, page=1, after=cursor).address


def _languages(product: dict[str, Any]) -> list[str]:
    """Return a product's languages, the most frequent first."""
    known_counts(product)
    counted = product["statistics"]["languages"]
    counted = sorted(counted, key=lambda one: (-one["count"], one["language"]))
    return [one["language"] for one in counted]
