"""Limits each user to one comment on a product, by a reservation of the product.

A reservation is an item with the id of the only comment that the user may have on the product.
After an operator limits the table to one comment per user and product, some seconds pass until
every server knows the limit. In this time, a server may delete a comment, but not its reservation.
The next write that reads this reservation removes it.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress

from dal.counts.mode import Maintenance
from dal.dynamodb.concurrency import in_parallel
from dal.dynamodb.errors import ConditionFailedError, ConflictError
from dal.dynamodb.table import Table
from dal.entities.comment import ALL, BY_AUTHOR, STATE, comment_key
from dal.entities.submission import stored
from dal.errors import AlreadyCommentedError
from dal.model import Comment
from dal.model.submissions import Submission
from dal.table.errors import DalError
from dal.table.items import ABSENT, Action, Item, key_of, key_pair, unchanged
from dal.writes.changes import KEEPS_CHANGING, CommentChange, Undated, WriteRule
from features.one_per_person.entity import NAMED, commented_key, named_actions
from features.one_per_person.model import is_limited

Key = tuple[str, str]


class OnePerPersonRule(WriteRule):
    """Limits each user to one comment on a product, if the table has this limit.

    The transaction of a change also writes the author's reservation of the product. The rule's note
    is True if the reservation for the stored comment belongs to another comment or does not exist
    (``elsewhere`` in ``named_actions``).
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def compares(self, state: Maintenance) -> bool:
        """Return whether the table has the limit."""
        return is_limited(state)

    async def refused(
        self, changes: Sequence[CommentChange], state: Maintenance
    ) -> Collection[str]:
        """Return the ids of the comments whose authors have another comment on the product."""
        moves = [change for change in changes if self.actions(change, state)]
        if not moves:
            return ()
        after = [one for change in moves if (one := stored(change.image)) is not None]
        refused = (await others_of(self._table, after)).keys()
        before = [one for change in moves if (one := stored(change.old)) is not None]
        unnamed = await unnamed_among(self._table, before)
        for change in moves:
            change.notes[self] = change.key in unnamed
        return refused

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:
        """Return the actions on the reservations of the author."""
        if not is_limited(state):
            return ()
        new = change.new.comment if isinstance(change.new, Undated) else change.new
        return named_actions(change.old, new, elsewhere=change.notes.get(self, False))

    async def failed(self, change: CommentChange, error: ConditionFailedError) -> DalError:
        """Return AlreadyCommentedError if the author of a new comment has another comment.

        If the endpoint does not return items with errors, the reservation is read. Another failed
        change is tried again with the opposite note.
        """
        if change.old is not None:
            change.notes[self] = not change.notes.get(self, False)
            return ConflictError(KEEPS_CHANGING)
        new = stored(change.image)
        assert new is not None  # noqa: S101 - the change adds a comment
        item = error.items.get(max(error.failed)) or await self._table.get(commented_key(new))
        others = await named(self._table, [item] if item else [])
        if not others:
            return ConflictError(
                "Your other comment on this product was deleted meanwhile: try again."
            )
        return AlreadyCommentedError(others.popitem()[1])


async def named(table: Table, items: Sequence[Item]) -> dict[Key, Comment | Submission]:
    """Return the comments of the reservations ``items``, by the reservations' keys.

    A reservation is stale if its comment was deleted, or now has another author or product. If
    there are stale reservations, remove them and raise ConflictError, so that the caller retries.
    """
    keys = {item[NAMED]["S"]: comment_key(item[NAMED]["S"]) for item in items}
    held = {one["PK"]["S"]: one for one in await table.get_many([*keys.values()])}
    found: dict[Key, Comment | Submission] = {}
    stale: list[list[Action]] = []
    for item in items:
        key = keys[item[NAMED]["S"]]
        there = stored(held.get(key["PK"]["S"]))
        if there is not None and commented_key(there) == key_of(item):
            found[key_pair(item)] = there
        else:
            removal = {"Delete": {"Key": key_of(item), **unchanged(item, (NAMED,))}}
            stale.append([removal, same_owner(key, held.get(key["PK"]["S"]))])

    async def remove(actions: list[Action]) -> None:
        with suppress(ConditionFailedError):
            await table.write(actions)

    if stale:
        await in_parallel([remove(actions) for actions in stale])
        raise ConflictError(KEEPS_CHANGING)
    return found


async def others_of(
    table: Table, comments: Sequence[Comment | Submission]
) -> dict[str, Comment | Submission]:
    """Return the stored comments that prevent ``comments`` from being written.

    The result maps the id of a comment in ``comments`` to another comment of the same author on the
    same product. Raises ConflictError as ``named`` does.
    """
    keys = {key_pair(commented_key(one)): commented_key(one) for one in comments}
    there = await named(table, await table.get_many([*keys.values()]))
    held = [(one, there.get(key_pair(commented_key(one)))) for one in comments]
    return {
        one.comment_id: other
        for one, other in held
        if other is not None and other.comment_id != one.comment_id
    }


async def unnamed_among(table: Table, comments: Sequence[Comment | Submission]) -> set[str]:
    """Return the partition keys of those ``comments`` that have no reservation of their own.

    Their reservation is missing, or belongs to another comment of the same author and product.
    """
    keys = {key_pair(commented_key(one)): commented_key(one) for one in comments}
    items = await table.get_many([*keys.values()])
    there = {item[NAMED]["S"] for item in items}
    return {
        comment_key(one.comment_id)["PK"]["S"] for one in comments if one.comment_id not in there
    }


def same_owner(key: Item, held: Item | None) -> Action:
    """Return a check, for a transaction, that a comment's author and product have not changed.

    ``held`` is the comment's item as it was read. If ``held`` is None, the check is that the table
    still has no item with the key ``key``.

    The check compares the keys of indexes. They contain the author, and for a published comment
    also the product. An unpublished comment has its product in ``data``, so the check also compares
    ``data``.
    """
    owner = (BY_AUTHOR.partition_key, ALL.partition_key, STATE)
    if held is None:
        return {"ConditionCheck": {"Key": key, **ABSENT}}
    names = (*owner, "data") if STATE in held else owner
    return {"ConditionCheck": {"Key": key, **unchanged(held, names)}}
