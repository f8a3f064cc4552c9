"""Erasures of users from comments, orders and tickets, and the kind of items of erasures."""

import secrets
from dataclasses import replace
from typing import Any

from dal.dynamodb.table import Table
from dal.entities import idempotency
from dal.entities.erasure_mark import is_mark
from dal.entities.order import ORDER
from dal.entities.submission import encode
from dal.entities.ticket import TICKET
from dal.errors import NotFoundError
from dal.kinds.item_kind import EraseItem, ItemKind
from dal.model import Comment
from dal.table.items import Item, delete
from dal.table.key_parts import unescape
from dal.writes.changes import CommentChange
from dal.writes.comments import CommentWriter, Stored

KIND = ItemKind(
    holds=lambda item: item["PK"]["S"].startswith("ERASURE#") or is_mark(item),
    labels={"ERASURE": "maintenance", "ERASED": "maintenance"},
)


def comment_eraser(table: Table, writer: CommentWriter) -> EraseItem:
    """Return the function that erases comments and submissions.

    It deletes a comment, or replaces the user's name by a random name. An anonymous comment has no
    photos, because photos and their URLs can show who the author is, or that two comments have the
    same author.

    A deletion first removes the comment's case, reports and votes. So if it is interrupted, it
    leaves few of them, which were written meanwhile. After the deletion it removes these too.
    """

    async def erase(item: Item, username: str, *, remove: bool) -> None:
        comment_id = unescape(item["PK"]["S"].partition("#")[2])

        def step(there: Item, one: Stored) -> CommentChange | None:
            if one.username != username:
                return None
            if remove:
                return CommentChange(there, idempotency.tombstone(there, digest=False))
            anonymous: dict[str, Any] = {"username": _erased_owner(), "name": None, "photos": ()}
            if isinstance(one, Comment):
                return CommentChange(there, encode(one._replace(**anonymous)))
            return CommentChange(there, encode(replace(one, **anonymous)))

        if remove:
            await writer.remove_rest(comment_id)
        try:
            await writer.rewrite(comment_id, step)
        except NotFoundError:  # the item cannot be decoded: no counter includes it, only delete it
            await table.write([delete(item)])
        if remove:
            await writer.remove_rest(comment_id)

    return erase


def nameless_order(item: Item, _: str) -> Item:
    """Return an order under a random name."""
    return ORDER.encode(replace(ORDER.decode(item), username=_erased_owner(), name=None))


def nameless_ticket(item: Item, _: str) -> Item:
    """Return a ticket under a random name."""
    return TICKET.encode(replace(TICKET.decode(item), username=_erased_owner(), name=None))


def _erased_owner() -> str:
    """Return a random id for an object of an erased user.

    Each object gets a different id, so that readers cannot see which objects have the same author.
    """
    return f"erased-{secrets.token_hex(4)}"
