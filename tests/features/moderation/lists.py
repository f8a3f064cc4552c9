"""What moderation adds to the lists of the core's tests."""

from dal.dynamodb.table import Table
from dal.stores import Stores
from features.moderation.entity import encode_report
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


async def restore_for_access(stores: Stores, table: Table) -> None:
    """Restore what the operations of ``access.toml`` read."""
    await stores.blocks.unblock("bob")
    await stores.blocks.block("eve", "secret-block", by="mo")
    await stores.reports.report("reported", "cy", ReportReason.SPAM, "secret-report", 9)
    grievance = Report("held", "42", "cy", ReportReason.SPAM, "secret-grievance", TIES[0])
    await table.put_many([encode_report(grievance)])
