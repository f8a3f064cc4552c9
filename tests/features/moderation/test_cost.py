"""The cost of operations of moderators is predicted."""

from datetime import UTC, datetime
from typing import Any

import pytest
from graphql import parse
from hypothesis import example, given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from features.moderation.cases import put_reports
from features.moderation.kind import CaseCorrection
from features.moderation.model import QueueKind, Report, ReportReason
from resolvers.context import Viewer
from tests.moderating import held_for
from tests.putting import put_comments
from tests.schema.conftest import MODERATOR, STAFF
from tests.schema.execution.test_cost import kept_is_predicted, reads_at_most_what_is_predicted
from tests.schema.execution.test_predicted_cost import (
    World,
    costs_are_shown,
    costs_at_most_what_is_predicted,
    cursors_of,
    executed,
    world,
)
from tests.strategies import comment

__all__ = ["costs_are_shown", "world"]

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SIZES = parse(
    "query ($n: Int = 7, $k: ModerationQueueKind! = PENDING)"
    " { moderationQueue(kind: $k, first: $n) { totalCount } }"
)


@example([{"k": kind} for kind in ("PENDING", "REPORTED")])
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "n": st.none() | st.integers(-3, 200),
                "k": st.sampled_from([*QueueKind]).map(str),
            },
        ),
        min_size=1,
        max_size=8,
    )
)
def test_cached_costs_equal_newly_predicted_costs(asked: list[dict[str, Any]]) -> None:
    kept_is_predicted(SIZES, asked)


@pytest.mark.parametrize(
    "text",
    [
        "{ moderationQueue { totalCount } }",
        "{ moderationQueue(kind: REPORTED) { nodes { waitingSince } } }",
        """query ($kind: ModerationQueueKind = REPORTED) { moderationQueue(kind: $kind, first: 2) {
        nodes { comment { id } reports { total } } } }""",
    ],
)
async def test_an_operation_reads_at_most_what_is_predicted(table: Table, text: str) -> None:
    stores = Stores(table)
    for number in range(100):
        await stores.comments.add(
            comment(f"h{number}", text="x" * 300), hold=held_for(ReviewCause.WORDS)
        )
    published = [comment(f"p{number}", username="ann", text="x" * 300) for number in range(20)]
    await put_comments(stores.comments, published)
    reports = [
        Report(one.comment_id, "42", f"reader{number}", ReportReason.SPAM, "x" * 200, NOW)
        for one in published
        for number in range(100 if one in published[:2] else 1)
    ]
    await put_reports(table, reports)
    await CaseCorrection(table).correct([one.comment_id for one in published])
    viewer = Viewer("sam", STAFF.roles | MODERATOR.roles)
    await reads_at_most_what_is_predicted(stores, viewer, text)


async def test_a_page_between_neighbouring_rows_costs_at_most_what_is_predicted(
    world: World,
) -> None:
    table, _ = world
    queue = "{ moderationQueue(kind: REPORTED) { edges { cursor } } }"
    cursors = cursors_of((await executed(0, table, None, MODERATOR, queue)).data)
    text = """query ($after: String, $before: String) {
        moderationQueue(kind: REPORTED, after: $after, before: $before) {
        nodes { waitingSince } pageInfo { hasNextPage hasPreviousPage } } }"""
    between = {"after": cursors[1], "before": cursors[2]}
    answer = await executed(0, table, None, MODERATOR, text, **between)
    costs_at_most_what_is_predicted(answer)
