"""What moderation adds to the lists of the core's tests."""

from datetime import UTC, datetime
from pathlib import Path

from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from features.moderation.cases import put_reports
from features.moderation.entity import encode_report
from features.moderation.kind import CaseCorrection
from features.moderation.model import Report, ReportReason
from features.moderation.words import Moderation
from tests.moderating import held_for
from tests.strategies import TIES, comment


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.comments.add(comment("held", username="ana"), hold=held_for())
    await stores.reports.report("c1", "bob", ReportReason.SPAM, "Buy", review_at=5)
    await stores.blocks.block("eve", "Spam", by="mo")


async def react(stores: Stores, comment_id: str) -> None:
    """Report a published comment."""
    await stores.reports.report(comment_id, "reader", ReportReason.SPAM, "", review_at=5)


SERVICES = {Moderation: Moderation()}
"""What resolvers find in ``Context.services``."""

PRIVATE = {
    *("Submission", "SubmissionConnection", "SubmissionEdge"),
    *("ModerationQueueConnection", "ModerationQueueEntryEdge", "ModerationQueueEntry"),
    *("BlockedUserConnection", "BlockedUserEdge", "BlockedUser"),
    *("CommentReports", "CommentReport", "ReportReasonCount"),
}
"""The types that only some users see."""

_DECIDED = 'id: "$HELD_ID", seen: "2020-02-27T00:00:00Z"'
MUTATIONS = {
    "approveComment": _DECIDED,
    "blockUser": 'username: "bob", reason: "Spam"',
    "decideComments": f"decisions: [{{ {_DECIDED}, verdict: APPROVE }}]",
    "rejectComment": f'{_DECIDED}, reason: "No."',
    "reportComment": 'id: "$COMMENT_ID", reason: SPAM',
    "unblockUser": 'username: "eve"',
}
"""A valid input of each mutation."""

INPUTS = {
    "approveComment": 'seen: "SEEN"',
    "rejectComment": 'seen: "SEEN", reason: "no"',
    "reportComment": "reason: SPAM",
}
"""The mutations by id, with the rest of their input."""

OF_PUBLISHED = ("reportComment",)
"""These mutations need a published comment."""

HIDDEN_WRITES = {
    "report": 'reportComment(input: {id: "$ID", reason: SPAM}) { userErrors { code } }',
}
"""Writes by the id of a comment, which must not find a submission."""

OF_USERS = (
    ("blockUser", 'username: $owner, reason: "Spam."'),
    ("unblockUser", "username: $owner"),
)
"""Mutations that name a user, with their input."""

ROOTS = {"moderationQueue": "(first: 2)", "blockedUsers": "(first: 2)"}
"""The root fields with arguments."""

CONNECTIONS_THAT_COUNT = ("ModerationQueueConnection",)
COUNTED_LISTS = ("Query.moderationQueue",)
"""Lists with a total."""

LOOK_UP_ARGUMENTS = ("kind",)
"""Arguments that decide whether the rows of a list are read by id."""

LISTS_BY_INPUT = ("DecideCommentsPayload.ids",)
"""Lists with an item for each value of the input."""

READ_WITH_PARENT = ("ModerationQueueConnection.totalCount",)
"""Fields whose values the resolver of the parent object reads."""

SETTINGS = {
    "moderation": ("words", "words"),
    "moderation_words": ("words.txt", Path("words.txt")),
}
"""Settings with the text of the environment variable and the value."""


async def fill_for_costs(stores: Stores) -> None:
    """Store reports and blocks, which random and rare operations read."""
    table, at = stores.comments._table, datetime(2023, 1, 1, tzinfo=UTC)
    published = (await stores.comments.page(Selection("p0"), Slice(40))).nodes
    reports = [
        Report(one.comment_id, one.product_id, f"reader{n}", ReportReason.SPAM, "x" * 200, at)
        for number, one in enumerate(published)
        for n in range(100 if number < 2 else 2)
    ]
    await put_reports(table, reports)
    await CaseCorrection(table).correct([one.comment_id for one in published])
    for number in (4, 5, 6):
        await stores.blocks.block(f"user{number}", "spam", "mo")


async def restore_for_access(stores: Stores, table: Table) -> None:
    """Restore what the operations of ``access.toml`` read."""
    await stores.blocks.unblock("bob")
    await stores.blocks.block("eve", "secret-block", by="mo")
    await stores.reports.report("reported", "cy", ReportReason.SPAM, "secret-report", 9)
    grievance = Report("held", "42", "cy", ReportReason.SPAM, "secret-grievance", TIES[0])
    await table.put_many([encode_report(grievance)])
