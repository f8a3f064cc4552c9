"""The panel of a plan: one dot for each row that was read, and the numbers and reasons of
the API.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.query.pagination import Page, Slice
from dal.query.plan import PlanBasis
from dal.query.statistics import SegmentStatistics
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.ranges import UNBOUNDED, Range
from features.plans import resolvers as plans
from features.plans.reasons import Reason, ReasonCode
from features.plans.resolvers import EMPTY_BY_COUNTS, TRACED
from features.plans.trace import Trace
from pages import i18n, plan_panel
from pages.page_documents import DOCUMENTS
from pages.plan_panel import _HEADINGS, WIDTH, draw_plan
from tests import oracle
from tests.dal.known import KnownProduct
from tests.pages.conftest import Parsed, invalid_html, numbered, opened, stored
from tests.putting import put_orders
from tests.strategies import TIES, order

ROWS = oracle.make_comments("42", 240, seed=3)
NEWEST = oracle.newest_first(ROWS)


def told(page: Any) -> dict[str, Any]:
    """Return a page's plan with the fields that the drawing needs, as the API returns it."""
    stats = page.stats
    full, ideal = plans.full_pages(stats), plans.ideal(stats)
    assert full is not None
    assert ideal is not None
    return {
        "requests": stats.requests,
        "consumedCapacity": stats.consumed_capacity,
        "segments": [
            {
                "partitionKey": one.partition_key,
                "itemsRead": one.items_read,
                "skipReason": plans.skip_reason(one),
            }
            for one in stats.segments
        ],
        "steps": [
            {"purpose": one.purpose, "index": one.index, "segments": one.segments}
            for one in plans.steps(stats)
        ],
        "rows": [one._asdict() for one in plans.rows(stats)],
        "fullPages": {"requests": full.requests, "capacity": full.capacity},
        "ideal": {"requests": ideal.requests, "capacity": ideal.capacity},
    }


@given(
    selection=st.sampled_from(list(oracle.selections("42"))),
    size=st.integers(0, 60),
    backward=st.booleans(),
    reverse=st.booleans(),
    plan_by=st.sampled_from([None, *PlanBasis]),
    shards=st.sampled_from([1, 4]),
)
async def test_each_dot_is_a_row_read_and_each_filled_dot_a_row_shown(
    selection: Any, size: int, backward: bool, reverse: bool, plan_by: Any, shards: int
) -> None:
    indexes = tuple(replace(one, shards=shards) for one in COMMENT.indexes)
    product = KnownProduct(replace(COMMENT, indexes=indexes), ROWS)
    cut = Slice(
        size, backward, reverse=reverse, next_page=True, previous_page=True, instruments=Trace
    )
    pages = []
    # The second page is planned by row locations if ``plan_by`` allows them.
    for basis in (plan_by, plan_by, None):
        pages.append(await product.read(selection.query(), replace(cut, plan_by=basis)))
        same(pages[-1])
    assert pages[0].nodes == pages[1].nodes == pages[2].nodes
    if plan_by is PlanBasis.FULL_PAGES:
        plan = plans.steps(pages[0].stats)[0].plan
        assert {one.limit for one in plan.segments} == {size + 1}
        assert len(plan.segments) % shards == 0
        assert not plan.residual


def same(page: Page[Any]) -> dict[str, Any]:
    """Check that the drawing of a page's plan has the plan's numbers. Return the drawing."""
    plan = told(page)
    drawing = draw_plan(plan)
    assert len(drawing["dots"]) == page.stats.items_read
    assert len(drawing["drops"]) == len(page.edges)
    lanes = Counter(dot["y"] for dot in drawing["dots"])
    assert [lanes[lane["y"]] for lane in drawing["lanes"]] == [
        one.items_read for one in page.stats.segments
    ]
    kinds = Counter(dot["kind"].split()[0] for dot in drawing["dots"])
    assert kinds["shown"] == len(page.edges) == drawing["counts"]["shown"]
    assert drawing["counts"]["refilled"] == sum(bool(row["refill"]) for row in plan["rows"])
    ours = drawing["ways"][0]
    assert ours["requests"] == page.stats.requests
    assert ours["capacity"] == page.stats.consumed_capacity
    stands_within(drawing)
    return drawing


IN_ENGLISH = Selection("42", frozenset({1, 2, 3, 4}), frozenset({"en"}))


def by_number(ratings: Callable[[int], int]) -> KnownProduct:
    """Return English comments.

    ``ratings`` maps the number of a comment, from the newest, to its rating.
    """
    rows = [one._replace(rating=ratings(n), language="en") for n, one in enumerate(NEWEST)]
    return KnownProduct(COMMENT, rows)


@pytest.mark.parametrize("reverse", [False, True], ids=["newest", "oldest"])
async def test_refills_residual_filters_new_plans_and_skipped_ranges_are_drawn(
    reverse: bool,
) -> None:
    def place(number: int) -> int:
        return len(NEWEST) - 1 - number if reverse else number

    surprising = by_number(lambda n: 5 if place(n) < 60 else place(n) % 4 + 1)
    replanned = same(
        await surprising.read(IN_ENGLISH.query(), Slice(10, reverse=reverse, instruments=Trace))
    )
    assert replanned["counts"]["filtered"] > 10
    assert any(lane["heading"] for lane in replanned["lanes"])
    uneven = by_number(lambda n: 5 if place(n) < 60 else place(n) % 3 + 1)
    both = Selection("42", frozenset({1, 5}))
    refilled = same(await uneven.read(both.query(), Slice(40, reverse=reverse, instruments=Trace)))
    assert {dot["kind"] for dot in refilled["dots"]} >= {"shown", "shown refilled"}
    unspoken = replace(IN_ENGLISH, languages=frozenset({"en", "xx", "yy", "zz"}))
    lone = by_number(lambda n: 1 if n % 20 == 0 else 5)
    skips = same(await lone.read(unspoken.query(), Slice(10, reverse=reverse, instruments=Trace)))
    assert sum(lane["skipped"] == EMPTY_BY_COUNTS for lane in skips["lanes"]) == 3


async def test_each_shard_of_open_orders_is_a_lane(table: Table) -> None:
    placed = [order(f"o{n}", username=f"user{n}", created_at=TIES[n % 3]) for n in range(40)]
    orders = Stores(table).orders
    await put_orders(table, placed)
    page = await orders.open_page(Slice(20, next_page=True, instruments=Trace))
    assert len(same(page)["lanes"]) == 8


def stands_within(drawing: dict[str, Any]) -> None:
    """Check that dots are in list order within the drawing, and lanes from top to bottom."""
    xs = [dot["x"] for dot in drawing["dots"]]
    assert xs == sorted(xs)
    assert all(0 < x < WIDTH for x in xs)
    assert drawing["list_y"] < drawing["height"]
    for lane, following in zip(drawing["lanes"], drawing["lanes"][1:], strict=False):
        assert lane["top"] < following["top"] < drawing["list_y"]
    for way in drawing["ways"]:
        assert way["requests"] <= way["most"][0]
        assert way["capacity"] <= way["most"][1]


def row(position: str, segment: int = 0, outcome: str = "SHOWN", refill: int = 0) -> dict[str, Any]:
    return {"position": position, "segment": segment, "outcome": outcome, "refill": refill}


def plan_of(*rows: dict[str, Any], skipped: str | None = None, rest: int = 0) -> dict[str, Any]:
    segment = {"partitionKey": "P#1", "itemsRead": len(rows), "skipReason": None}
    segments = [segment, {**segment, "partitionKey": "P#2", "skipReason": skipped}]
    steps = [{"purpose": "PAGE", "index": "byLang", "segments": 2 - rest}]
    if rest:
        steps.append({"purpose": "REST", "index": "byLangAndRating", "segments": rest})
    figures = {"requests": 1, "capacity": 0.5}
    return {
        "requests": 2,
        "consumedCapacity": 1.0,
        "segments": segments,
        "steps": steps,
        "rows": list(rows),
        "fullPages": figures,
        "ideal": figures,
    }


def test_a_dot_shows_the_outcome_of_its_row() -> None:
    outcomes = [("SHOWN", 0), ("SHOWN", 1), ("FILTERED", 0), ("AROUND", 2), ("HEAD", 0)]
    rows = [
        row(str(n), outcome=outcome, refill=refill) for n, (outcome, refill) in enumerate(outcomes)
    ]
    drawing = draw_plan(plan_of(*rows))
    assert [dot["kind"] for dot in drawing["dots"]] == [
        "shown",
        "shown refilled",
        "dropped",
        "dropped refilled",
        "shown",
    ]
    assert drawing["counts"] == {"shown": 3, "filtered": 1, "around": 1, "refilled": 2}
    assert len(drawing["drops"]) == 2, "a head is no row of the list"


def test_a_row_in_two_ranges_has_the_same_place_in_both() -> None:
    drawing = draw_plan(plan_of(row("a"), row("a", 1, "AROUND"), row("b")))
    first, again, second = drawing["dots"]
    assert first["x"] == again["x"] < second["x"]
    assert first["y"] < again["y"]


def test_a_skipped_range_has_a_lower_lane_and_a_second_plan_has_a_heading() -> None:
    plain = draw_plan(plan_of(row("a")))
    skipped = draw_plan(plan_of(row("a"), skipped=EMPTY_BY_COUNTS))
    assert skipped["lanes"][1]["skipped"] == EMPTY_BY_COUNTS
    assert skipped["height"] < plain["height"]
    again = draw_plan(plan_of(row("a"), rest=1))
    assert [lane["heading"] for lane in again["lanes"]] == [
        "",
        _HEADINGS["REST"] % {"index": "byLangAndRating"},
    ]


def test_the_axis_has_dates_if_the_list_is_sorted_by_date() -> None:
    at = "2024-0{}-02T00:00:00.000000Z#x"
    assert draw_plan(plan_of(row(at.format(3)), row(at.format(1))))["ends"] == [
        "2 March 2024",
        "2 January 2024",
    ]
    assert draw_plan(plan_of(row("000012#1")))["ends"] == []
    assert draw_plan(plan_of())["ends"] == []


@pytest.mark.parametrize("count", [0, 1, 21, 400])
def test_many_dots_have_a_minimum_size(count: int) -> None:
    drawing = draw_plan(plan_of(*(row(f"{n:03}") for n in range(count))))
    assert 2 <= drawing["radius"] <= 5


async def test_the_page_draws_the_plan_of_the_api(
    client: httpx.AsyncClient, table: Table, tmp_path: Path
) -> None:
    made = [*numbered("drawn", 60), *numbered("drawn", 60, 60, language="de")]
    await stored(table, made)
    address = "/products/drawn?rating=1&rating=4&language=de&language=xx"
    for number in range(2):
        page = await opened(client, address)
        shown = len(page.headings)
        assert len(page.dots) == int(page.account["Rows read"]) + shown
        said = re.search(r"Read in (\d+) Quer(?:y|ies), ([\d.]+) RCU", page.text)
        assert said is not None
        assert page.account["Queries"].split()[0] == said[1]
        assert page.account["Read capacity"].split()[0] == said[2]
        panel = next(given for _, given in page.elements if given.get("id") == "plan")
        ours, full = (f"{float(panel[f'data-{name}'] or 0):.1f}" for name in ("ours", "full"))
        assert f"This list took {ours} RCU." in page.text
        assert f"takes {full} RCU, because" in page.text
        assert ours == said[2]
        (tmp_path / f"{number}.html").write_text((await client.get(address)).text)
    assert "Chosen." in page.text
    assert "The articles' plan" in page.text
    assert invalid_html(tmp_path) == []


async def test_a_page_without_a_plan_has_no_panel_and_a_panel_sends_no_request(
    client: httpx.AsyncClient, table: Table
) -> None:
    await stored(table, numbered("plain", 30))
    page = await opened(client, "/products/plain?rating=1")
    assert any(given.get("id") == "plan" for _, given in page.elements)
    assert Parsed((await client.get("/sign-in")).text).account == {}
    assert all(field in DOCUMENTS["product"] for _, field in TRACED.paths)


_SEVERAL = ("language", "rating")


def _reason_text(reason: Reason) -> str:
    return plan_panel.reason({"reason": str(reason), "reasonValues": reason.values})


@pytest.mark.parametrize("code", ReasonCode)
def test_a_reason_is_that_of_the_api_and_completely_translated(code: ReasonCode) -> None:
    places = code.value.count("{}")
    reason = Reason(code, (1200, _SEVERAL, "byLang", 60)[:places])
    assert _reason_text(reason) == str(reason).replace("1200", "1,200")
    for tag in i18n.LOCALES.keys() - {i18n.SOURCE}:
        with i18n.speaking(tag):
            told = _reason_text(reason)
        assert told != _reason_text(reason)
        assert [name in told for name in ("language", "byLang", "60")] == [
            places > least for least in (1, 2, 3)
        ]


def test_the_values_of_a_reason_are_texts_and_several_names_are_one_text() -> None:
    assert Reason(ReasonCode.MORE_OF_BOTH, (3, 1, 25, _SEVERAL)).values == [
        *"31",
        "25",
        "language, rating",
    ]


@pytest.mark.parametrize("sort_keys", [UNBOUNDED, Range(low="b", high="a")])
def test_the_reason_for_skipping_a_key_range_is_translated(sort_keys: Range) -> None:
    segment = SegmentStatistics("P#1", sort_keys, 20, skipped=True)
    with i18n.speaking("de"):
        told = plan_panel.skip_reason({"skipReason": plans.skip_reason(segment)})
    assert told not in {None, plans.skip_reason(segment)}
    assert plan_panel.skip_reason({"skipReason": None}) is None


def test_a_caption_omits_counts_of_zero() -> None:
    counts = {"shown": 1, "filtered": 0, "around": 0}
    assert plan_panel.caption(counts, 1, []) == "1 row read: 1 shown."
    counts = {"shown": 20, "filtered": 4, "around": 1}
    told = "25 rows read: 20 shown, 1 read ahead and 4 dropped by language and rating."
    assert plan_panel.caption(counts, 25, _SEVERAL) == told
