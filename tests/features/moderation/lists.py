"""What moderation adds to the lists of the core's tests."""

from dal.stores import Stores
from features.moderation.model import ReportReason
from tests.moderating import held_for
from tests.strategies import comment


async def fill(stores: Stores) -> None:
    """Store what the examples of access patterns read."""
    await stores.comments.add(comment("held", username="ana"), hold=held_for())
    await stores.reports.report("c1", "bob", ReportReason.SPAM, "Buy", review_at=5)
    await stores.blocks.block("eve", "Spam", by="mo")


async def react(stores: Stores, comment_id: str) -> None:
    """Report a published comment."""
    await stores.reports.report(comment_id, "reader", ReportReason.SPAM, "", review_at=5)
