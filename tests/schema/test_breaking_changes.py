"""Clients of the last release continue to work, except for intended breaking changes.

At each release, copy schema.graphql to the fixture and empty ``INTENDED``.
"""

import re
from collections.abc import Mapping

import pytest
from graphql import BreakingChange, build_schema, find_breaking_changes

from tests.engines import ROOT

LAST_RELEASE = (ROOT / "tests/fixtures/last_release.graphql").read_text("utf-8")
SDL = (ROOT / "schema.graphql").read_text("utf-8")

INTENDED: Mapping[str, str] = {
    r"Field \w+Connection\.plan was removed\.": "only servers that explain plans have them",
    r"Argument Product\.comments\(planBy:\) was removed\.": "it compares plans",
    r"(KeyRange|Plan(Alternative|Basis|Purpose|Reason|Step)|QueryPlan|ReadFigures|RowOutcome"
    r"|RowReading|SegmentReading) was removed\.": "they describe plans",
    r"Argument Author\.comments\(orderBy:\) has changed type from CommentOrder to DateOrder\.": (
        "they are sorted by date only, and the values are equal"
    ),
    r"(AnalyticsSource|Field (Movers|Trend)\.source) was removed\.": "clients need not know which "
    "store answers",
    r"Field \w+\.(comment|order|product|ticket)Id changed type from String! to ID!\.": "clients "
    "compare ids and do not read them",
    r"Argument (Query|Subscription)\.(comment|commentEvents|order|product|ticket)"
    r"\((comment|order|product|ticket)Id:\) has changed type from String! to ID!\.": "one variable "
    "serves every field",
    r"Field (AddComment|OrderLine|UpdateProduct)Input\.productId changed type from String! to "
    r"ID!\.": "one variable serves every field",
    r"Field Author\.comments changed type from \w+ to AuthorCommentConnection\.": "its "
    "totalCount was always null",
}
"""The reason for each intended breaking change. The keys are patterns of the descriptions."""


def breaks(released: str, sdl: str) -> list[BreakingChange]:
    return find_breaking_changes(build_schema(released), build_schema(sdl))


def unintended(released: str, sdl: str) -> list[str]:
    found = [change.description for change in breaks(released, sdl)]
    return [one for one in found if not any(re.fullmatch(known, one) for known in INTENDED)]


def test_every_breaking_change_since_the_last_release_is_intended() -> None:
    assert unintended(LAST_RELEASE, SDL) == []


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("  lastCommentedAt: DateTime\n", ""),
        ("text: String!", "text: String"),
        ("rating: [Int!]", "rating: [Int!]!"),
        ("  NEWEST\n", ""),
    ],
)
def test_another_breaking_change_is_found(now: str, then: str) -> None:
    assert unintended(LAST_RELEASE, LAST_RELEASE.replace(now, then))


@pytest.mark.parametrize("pattern", INTENDED)
def test_the_list_of_breaking_changes_has_no_stale_entry(pattern: str) -> None:
    found = [change.description for change in breaks(LAST_RELEASE, SDL)]
    assert any(re.fullmatch(pattern, one) for one in found)
