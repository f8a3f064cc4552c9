"""Random writes of authors, readers and moderators on a server with moderation."""

import random
from collections.abc import Mapping

from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.writes.comments import version
from features.moderation.model import ReportReason
from tests.fakes import anybody
from tests.moderating import edit_for, held_for
from tests.writers import PEOPLE, ROWS, Write, changed_row, new_row

MODERATOR = "mo"


def _some_id(chance: random.Random) -> str:
    return chance.choice([chance.choice(ROWS).comment_id, f"new-{chance.randrange(60)}"])


async def _add(stores: Stores, chance: random.Random) -> None:
    """Add a comment twice. The comments of blocked authors wait."""
    new, key = new_row(chance), chance.choice([None, "own"])
    blocked = (await stores.standings.permission(new.username)).blocked
    hold = held_for(ReviewCause.BLOCKED if blocked else None)
    await stores.comments.add(new, key and new.comment_id, hold=hold)
    await stores.comments.add(new, new.comment_id if key else "once", hold=hold)


async def _hold(stores: Stores, chance: random.Random) -> None:
    await stores.comments.add(new_row(chance), hold=held_for(ReviewCause.SETTING))


async def _review(stores: Stores, chance: random.Random) -> None:
    """Edit a text, which may wait."""
    row, review = changed_row(chance), chance.choice([ReviewCause.WORDS, None])
    changes = {"text": row.text, "rating": row.rating}
    await stores.comments.update(_some_id(chance), changes, anybody, edit_for(review))


async def _decide(stores: Stores, chance: random.Random) -> None:
    """Approve or reject a comment."""
    comment_id = _some_id(chance)
    there = await stores.comments.get(comment_id)
    held = await stores.moderation.get(comment_id)
    if held is not None and chance.random() < 0.7:
        await stores.moderation.approve(comment_id, version(held), MODERATOR)
    elif (one := held or there) is not None:
        await stores.moderation.reject(comment_id, version(one), MODERATOR, "no")


async def _report(stores: Stores, chance: random.Random) -> None:
    """Report a comment, and perhaps block or unblock an author."""
    row = chance.choice(ROWS)
    comment_id = chance.choice(["new-1", "new-2", ROWS[0].comment_id, row.comment_id])
    if chance.random() < 0.2:
        await stores.blocks.block(row.username, f"why {chance.random()}", MODERATOR)
    elif chance.random() < 0.2:
        await stores.blocks.unblock(row.username)
    reporter = chance.choice(PEOPLE)
    await stores.reports.report(comment_id, reporter, ReportReason.SPAM, "", review_at=4)


MODERATION: Mapping[str, Write] = {
    "add": _add,
    "hold": _hold,
    "review": _review,
    "decide": _decide,
    "report": _report,
}
"""``add`` replaces the write of the core."""
