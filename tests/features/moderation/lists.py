"""What moderation adds to the lists of the core's tests."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from dal.table.key_parts import format_instant
from features.moderation.cases import put_reports
from features.moderation.entity import encode_report
from features.moderation.kind import CaseCorrection
from features.moderation.model import Report, ReportReason
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from tests.moderating import held_for
from tests.strategies import TIES, comment

_THE_ONE = f'id: "{to_base64("Comment", "one")}"'
_SEEN = f'{_THE_ONE}, seen: "{format_instant(comment("one").created_at)}"'
_REPORTED = ("reportComment", f"{_THE_ONE}, reason: SPAM")


def _decided(verdict: str) -> tuple[str, str]:
    return ("decideComments", f'decisions: [{{ {_SEEN}, verdict: {verdict}, reason: "No." }}]')


def _under(rule: Moderation) -> Mapping[str, Any]:
    """Return arguments of the context of a server with a rule."""
    return {"services": {Moderation: rule}, "publication": ModeratedPublication(rule)}


def _late(name: str, given: str, *undone: tuple[str, str], **others: Any) -> Mapping[str, Any]:
    return {"name": name, "given": given, "undone": undone, **others}


OPPOSITES = (
    (("blockUser", 'username: "eve", reason: "Spam"'), ("unblockUser", 'username: "eve"')),
    (("rejectComment", f'{_SEEN}, reason: "No."'), ("approveComment", _SEEN)),
    (_decided("REJECT"), _decided("APPROVE")),
)
"""Pairs of opposite mutations with their inputs."""

LATE_WRITES = (
    _late(
        "addComment",
        'productId: "q", rating: 5, language: "en", text: "Good"',
        ("deleteComment", 'id: "$id"'),
        context=_under(Moderation(before_publishing=True)),
    ),
    _late(*_REPORTED, ("approveComment", _SEEN), context=_under(Moderation())),
    _late(*_REPORTED, ("approveComment", _SEEN), context=_under(Moderation(review_at=1))),
    _late(
        "approveComment",
        _SEEN,
        _decided("REJECT"),
        before=[_REPORTED],
        context=_under(Moderation()),
    ),
)
"""Mutations with their inputs, the mutations that undo them, and others before them."""

RETURNS = {"addComment": "comment { id } submission { id }"}
"""The fields of the payloads that contain the id of a new object."""


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

NESTED_INPUTS = {
    "CommentDecisionInput": (
        "decideComments",
        f"decisions: [{{ {_DECIDED}, verdict: APPROVE, $FIELD: null }}]",
    )
}
"""Inputs inside other inputs: a mutation, and its input."""

NO_TEXT = {"id", "queueEntryId", "unpublishedId"}
"""Fields that do not show a comment."""

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

LOOK_UP_ARGUMENTS = ("kind",)
"""Arguments that decide whether the rows of a list are read by id."""

LISTS_BY_INPUT = tuple(
    f"DecideCommentsPayload.{name}" for name in ("ids", "queueEntryIds", "unpublishedIds")
)
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


PERSONAL = ["{ moderationQueue { nodes { comment { id } } } }"]
"""Queries of private objects. Only staff see their costs."""

COMMANDS_WITH_AN_ID = {"user block {} --reason Spam": True, "user unblock {}": True}
"""Commands that take an own id, and whether they read the table."""
