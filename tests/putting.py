"""Stores comments and other objects of the core for tests, in few requests."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from dal.dynamodb.concurrency import batched
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_key
from dal.entities.order import ORDER, purchases
from dal.entities.organization import encode_roster
from dal.entities.submission import stored
from dal.entities.ticket import TICKET
from dal.model import Comment, Order, Profile, Roster, Ticket
from dal.repositories.comments import CommentRepository
from dal.repositories.users import encode_profile
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter
from dal.writes.overwrite import Outcome, overwrite

AT_ONCE = 200
"""Number of comments that are written together."""


async def put_comments(
    comments: CommentRepository | CommentWriter, rows: Iterable[Comment]
) -> None:
    """Write comments over the stored comments with the same ids, unless they are equal.

    Raises ConflictError if another client changes one of the comments meanwhile.
    """
    writer = comments.writer if isinstance(comments, CommentRepository) else comments
    for some in batched(list({row.comment_id: row for row in rows}.values()), AT_ONCE):
        keys = [comment_key(row.comment_id) for row in some]
        held = {item["PK"]["S"]: item for item in await writer._table.get_many(keys)}
        before = [held.get(key["PK"]["S"]) for key in keys]
        changes = [
            CommentChange(old, COMMENT.encode(row) | idempotency.kept_mark(old))
            for row, old in zip(some, before, strict=True)
            if stored(old) != row
        ]
        for rule in writer.rules.prepare:
            await rule.prepare(changes)
        # Wait for all writes, so that none still runs after the first failure.
        writes = [writer.transactions.write(change) for change in changes]
        for end in await asyncio.gather(*writes, return_exceptions=True):
            if isinstance(end, ConditionFailedError):
                raise ConflictError("Another client has changed a comment.") from end
            if isinstance(end, BaseException):
                raise end


async def put_orders(table: Table, orders: Sequence[Order]) -> Outcome:
    """Write orders and their proofs of purchase over the stored ones."""
    return await overwrite(table, [[ORDER.encode(order), *purchases(order)] for order in orders])


async def put_rosters(table: Table, rosters: Sequence[Roster]) -> None:
    """Write organisations and their users over the stored ones."""
    await overwrite(table, [encode_roster(roster) for roster in rosters])


async def put_tickets(table: Table, tickets: Sequence[Ticket]) -> None:
    """Write tickets over the stored ones."""
    await overwrite(table, [[TICKET.encode(ticket)] for ticket in tickets])


async def put_profiles(table: Table, profiles: Mapping[str, Profile]) -> None:
    """Write profiles, by username, over the stored ones."""
    await overwrite(table, [[encode_profile(*pair)] for pair in profiles.items()])
