"""The drawing of a merge: a mark for each row that was read, and a film of the merge."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.query.pagination import Page, Slice
from dal.query.plan import PlanBasis
from dal.repositories.comments import Selection
from dal.stores import Stores
from features.plans import resolvers as plans
from features.plans.resolvers import EMPTY_BY_COUNTS
from features.plans.trace import Trace
from pages.merge_drawing import (
    _BEYOND,
    _HEADINGS,
    FEWEST_SLOTS,
    LARGEST_FILM,
    LONGEST_LABEL,
    draw_merge,
    lane_label,
)
from pages.plan_panel import draw_plan
from tests import oracle
from tests.dal.known import KnownProduct
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
async def test_each_mark_is_a_row_read_and_each_coloured_mark_a_row_shown(
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
        # No index has both the region of a language and the rating.
        assert len(plan.residual) <= any("-" in one for one in selection.languages or ())


def same(page: Page[Any]) -> dict[str, Any]:
    """Check that the drawing of a plan has the plan's numbers. Return the plan's part of it."""
    plan = told(page)
    drawn = draw_plan(plan)
    ours = drawn["ways"][0]
    assert ours["requests"] == page.stats.requests
    assert ours["capacity"] == page.stats.consumed_capacity
    for way in drawn["ways"]:
        assert way["requests"] <= way["most"]["requests"]
        assert way["capacity"] <= way["most"]["capacity"]
    moving = draw_merge([plan], moving=True)
    panel: dict[str, Any]
    (panel,) = moving["panels"]
    read = [len(lane["shown"]) + len(lane["dropped"]) for lane in panel["lanes"]]
    assert read == [one.items_read for one in page.stats.segments]
    assert sum(len(lane["shown"]) for lane in panel["lanes"]) == len(page.edges)
    assert panel["rows"] == len(page.edges) == panel["counts"]["shown"]
    assert panel["wasted"] == page.stats.items_read - len(page.edges)
    assert panel["counts"]["refilled"] == sum(bool(row["refill"]) for row in plan["rows"])
    taken = sorted(slot for slots in panel["taken"] for slot in slots)
    assert len(set(taken)) == len(taken) == len(page.edges)
    assert taken == sorted(slot for lane in panel["lanes"] for slot in lane["shown"])
    stands_within(moving)
    if page.edges:
        moves_like(panel, taken)
    return panel


def moves_like(panel: dict[str, Any], taken: list[int]) -> None:
    """Check that each move takes the first of the heads, and that heads are in open Queries."""
    opened = Counter[int]()
    for move, slot in zip(panel["moves"], taken, strict=True):
        opened.update(move["sent"])
        heads = dict(move["heads"])
        assert set(heads) <= set(opened)
        assert heads[move["taken"]] == min(heads.values()) == slot


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
    sent = [lane for move in replanned["moves"] for lane in move["sent"]]
    assert sent[0] == 0 < sent[-1]
    uneven = by_number(lambda n: 5 if place(n) < 60 else place(n) % 3 + 1)
    both = Selection("42", frozenset({1, 5}))
    refilled = same(await uneven.read(both.query(), Slice(40, reverse=reverse, instruments=Trace)))
    assert any(len(lane["queries"]) > 1 for lane in refilled["lanes"])
    assert refilled["film"]["late"]
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
    """Check that marks are in list order within the drawing, and lanes from top to bottom."""
    bottom = 0
    for panel in drawing["panels"]:
        assert panel["top"] >= bottom
        tops = [lane["top"] for lane in panel["lanes"]]
        assert all(top < following for top, following in pairwise([*tops, panel["list_y"]]))
        bottom = panel["bottom"]
        for lane in panel["lanes"]:
            for slots in (lane["shown"], lane["dropped"]):
                assert slots == sorted(slots)
                assert all(0 <= slot < drawing["slots"] for slot in slots)
    assert bottom <= drawing["height"]


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


def test_a_mark_shows_the_outcome_of_its_row() -> None:
    outcomes = [("SHOWN", 0), ("SHOWN", 1), ("FILTERED", 0), ("AROUND", 2), ("HEAD", 0)]
    rows = [
        row(str(n), outcome=outcome, refill=refill) for n, (outcome, refill) in enumerate(outcomes)
    ]
    (panel,) = draw_merge([plan_of(*rows)])["panels"]
    (lane, _) = panel["lanes"]
    assert lane["shown"] == [0, 1, 4]
    assert lane["dropped"] == [2, 3]
    assert panel["taken"] == [[0, 1], [], [], []], "a head is no row of the list"
    assert panel["counts"] == {"shown": 3, "filtered": 1, "around": 1, "refilled": 2}
    assert panel["wasted"] == 2


def test_a_row_in_two_ranges_or_plans_has_the_same_slot_in_all() -> None:
    ours = plan_of(row("c"), row("c", 1, "AROUND"), row("a"))
    theirs = plan_of(row("c"), row("b", outcome="AROUND"), row("a"))
    first, second = draw_merge([ours, theirs])["panels"]
    assert [lane["shown"] for lane in first["lanes"]] == [[0, 2], []]
    assert [lane["dropped"] for lane in first["lanes"]] == [[], [0]]
    assert [lane["dropped"] for lane in second["lanes"]] == [[1], []]
    assert second["top"] > first["bottom"]


def test_a_skipped_range_has_a_lower_lane_and_a_second_plan_has_a_heading() -> None:
    plain = draw_merge([plan_of(row("a"))])
    skipped = draw_merge([plan_of(row("a"), skipped=EMPTY_BY_COUNTS)])
    assert skipped["panels"][0]["lanes"][1]["skipped"] == EMPTY_BY_COUNTS
    assert skipped["height"] < plain["height"]
    again = draw_merge([plan_of(row("a"), rest=1)])
    assert [lane["heading"] for lane in again["panels"][0]["lanes"]] == [
        "",
        _HEADINGS["REST"] % {"index": "byLangAndRating"},
    ]


def test_the_axis_has_the_ranks_of_the_pages_rows() -> None:
    rows = [row(f"{n:03}", outcome="FILTERED" if n == 1 else "SHOWN") for n in range(21)]
    drawing = draw_merge([plan_of(*rows)])
    assert drawing["slots"] == FEWEST_SLOTS
    assert [tick["rank"] for tick in drawing["ticks"]] == [1, 5, 10, 15, 20]
    first, *_, last = drawing["ticks"]
    assert first["x"] == 100 * 0.5 / FEWEST_SLOTS
    assert last["x"] == 100 * 20.5 / FEWEST_SLOTS
    assert not drawing["more"]
    assert draw_merge([plan_of(row("a"), row("b", outcome="AROUND"))])["more"]


@pytest.mark.parametrize("count", [0, 1, 21, 400])
def test_ranks_do_not_overlap(count: int) -> None:
    drawing = draw_merge([plan_of(*(row(f"{n:03}") for n in range(count)))])
    xs = [tick["x"] for tick in drawing["ticks"]]
    assert all(after - before >= 6 for before, after in pairwise(xs))
    assert len(xs) <= 12


def test_a_film_moves_each_row_from_its_lane_to_the_list_and_ends_within_five_seconds() -> None:
    rows = [row("a"), row("b", 1), row("c"), row("d", 1, refill=1), row("e", 0, "AROUND")]
    drawing = draw_merge([plan_of(*rows)], moving=True)
    (panel,) = drawing["panels"]
    assert panel["moves"] == [
        {"taken": 0, "heads": [(0, 0), (1, 1)], "sent": [0, 1]},
        {"taken": 1, "heads": [(0, 2), (1, 1)], "sent": []},
        {"taken": 0, "heads": [(0, 2), (1, 3)], "sent": [1]},
        {"taken": 1, "heads": [(0, 4), (1, 3)], "sent": []},
    ]
    film = panel["film"]
    assert film["cover"]["values"] == "0;1;2;3;4"
    assert [head["across"]["values"] for head in film["heads"]] == ["0;2;4", "1;3"]
    (late,) = film["late"]
    assert late["across"]["values"] == f"3;{_BEYOND}"
    for head in film["heads"]:
        times = [float(time) for time in head["down"]["times"].split(";")]
        assert times == sorted(times)
        assert (times[0], times[-1]) == (0, 1)
        assert head["down"]["values"].count(str(panel["list_y"])) == 4
    for count in (1, 20, 100):
        longest = [row(f"{n:03}") for n in range(count)]
        assert draw_merge([plan_of(*longest)], moving=True)["film"]["seconds"] < 5
    assert draw_merge([plan_of(*rows)])["film"] is None
    assert draw_merge([plan_of()], moving=True)["film"] is None


def test_a_long_label_keeps_its_beginning_and_its_end() -> None:
    assert lane_label("P" * LONGEST_LABEL) == "P" * LONGEST_LABEL
    cut = lane_label("PRODUCT#" + "1" * 99 + "/en/4")
    assert len(cut) == LONGEST_LABEL
    assert cut.startswith("PRODUCT#1")
    assert cut.endswith("1/en/4")


def test_a_drawing_with_too_many_lanes_and_rows_has_no_film() -> None:
    def plan(rows: int, ranges: int) -> dict[str, Any]:
        one = plan_of(*(row(f"{n:04}", n % ranges) for n in range(rows)))
        segment = {"partitionKey": "p", "itemsRead": 1, "skipReason": None}
        step = {"purpose": "PAGE", "index": "i", "segments": ranges}
        return one | {"segments": [segment] * ranges, "steps": [step]}

    largest = draw_merge([plan(100, LARGEST_FILM // 100)], moving=True)
    assert len(largest["panels"][0]["moves"]) == largest["steps"] == 100
    larger = draw_merge([plan(101, LARGEST_FILM // 100)], moving=True)
    assert (larger["film"], larger["steps"]) == (None, 0)
