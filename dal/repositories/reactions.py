"""Users' reactions to comments of other users: reports and votes."""

from collections.abc import Callable
from dataclasses import replace

from dal import errors
from dal.account import note_hidden
from dal.client.concurrency import in_parallel
from dal.client.table import Table
from dal.entities.case import CASE_ITEMS, case_partition
from dal.entities.comment import comment_in, comment_key, is_comment
from dal.entities.standing import permission_in, standing_key
from dal.entities.vote import all_votes
from dal.model import Comment
from dal.model.standings import Permission
from dal.table.index import TABLE, QueryRequest, query_all
from dal.table.items import further_units, key_of

_AT_ONCE = 100
"""Number of items that are deleted in parallel."""


async def published(
    table: Table, comment_id: str, username: str, check: Callable[[Permission], None]
) -> Comment:
    """Return a published comment, for a user's report or vote (access pattern AP19).

    ``check`` receives the user's permission, and may raise an error to refuse the user. Raises
    NotFoundError if the comment is not published. The read is one BatchGetItem, and is eventually
    consistent.
    """
    keys = [standing_key(username), comment_key(comment_id)]
    items = await table.get_many(keys, consistent=False)
    check(permission_in(items))
    comment = next(filter(None, map(comment_in, items)), None)
    if comment is None:
        note_hidden(sum(further_units(item) for item in items if is_comment(item)) / 2)
        raise errors.NotFoundError("Comment not found.")
    return comment


async def remove_reactions(table: Table, comment_id: str) -> None:
    """Delete the case, the reports and the votes of a comment."""
    for request in (
        QueryRequest(TABLE, case_partition(comment_id), CASE_ITEMS),
        all_votes(comment_id),
    ):
        some = replace(request, limit=_AT_ONCE, consistent=True)
        async for response in query_all(table.query, some):
            deletes = [{"Delete": {"Key": key_of(item)}} for item in response.items]
            await in_parallel([table.write([delete]) for delete in deletes])
