"""The panel of a plan: the numbers and reasons of the API, and the drawing of the plan."""

import re
from pathlib import Path

import httpx
import pytest

from dal.dynamodb.table import Table
from dal.query.statistics import SegmentStatistics
from dal.table.ranges import UNBOUNDED, Range
from features.plans import resolvers as plans
from features.plans.reasons import Reason, ReasonCode
from features.plans.resolvers import TRACED
from pages import i18n, merge_drawing, plan_panel
from pages.page_documents import DOCUMENTS
from tests.pages.conftest import Parsed, invalid_html, numbered, opened, stored


async def test_the_page_draws_the_plan_of_the_api(
    client: httpx.AsyncClient, table: Table, tmp_path: Path
) -> None:
    made = [*numbered("drawn", 60), *numbered("drawn", 60, 60, language="de")]
    await stored(table, made)
    address = "/products/drawn?rating=1&rating=4&language=de&language=xx"
    for number in range(2):
        page = await opened(client, address)
        shown = len(page.headings)
        assert page.marks["taken"] == page.marks["shown"] == shown
        assert page.marks.total() == int(page.account["Rows read"]) + shown
        said = re.search(r"Read in (\d+) Quer(?:y|ies), ([\d.]+) RCU", page.text)
        assert said is not None
        assert page.account["Queries"].split()[0] == said[1]
        assert page.account["Read capacity"].split()[0] == said[2]
        panel = next(given for _, given in page.elements if given.get("id") == "plan")
        ours, full = (f"{float(panel[f'data-{name}'] or 0):.1f}" for name in ("ours", "full"))
        assert f"This list took {ours} RCU." in page.text
        assert float(full) >= float(ours)
        assert ours == said[2]
        (tmp_path / f"{number}.html").write_text((await client.get(address)).text)
    assert "Chosen." in page.text
    assert "The articles' plan" in page.text
    assert invalid_html(tmp_path) == []


@pytest.mark.parametrize(("chosen", "saves"), [("", False), ("?rating=1&rating=2&rating=3", True)])
async def test_a_saving_is_shown_only_where_the_articles_plan_costs_more(
    client: httpx.AsyncClient, table: Table, chosen: str, saves: bool
) -> None:
    made = [*numbered("thrifty", 60), *numbered("thrifty", 60, 60, language="de")]
    await stored(table, made)
    page = await opened(client, "/products/thrifty" + chosen)
    panel = next(given for _, given in page.elements if given.get("id") == "plan")
    assert (panel["data-ours"] != panel["data-full"]) is saves
    costs = [given["class"] for _, given in page.elements if "costs" in (given.get("class") or "")]
    assert costs == ["costs" if saves else "costs same"]


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
        told = merge_drawing.skip_reason({"skipReason": plans.skip_reason(segment)})
    assert told not in {None, plans.skip_reason(segment)}
    assert merge_drawing.skip_reason({"skipReason": None}) is None


def test_a_caption_omits_counts_of_zero() -> None:
    counts = {"shown": 1, "filtered": 0, "around": 0}
    assert plan_panel.caption(counts, 1, []) == "1 row read: 1 shown."
    counts = {"shown": 20, "filtered": 4, "around": 1}
    told = "25 rows read: 20 shown, 1 read ahead and 4 dropped by language and rating."
    assert plan_panel.caption(counts, 25, _SEVERAL) == told
