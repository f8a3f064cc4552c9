"""Users' reactions to comments of other users: reports and votes."""

from collections.abc import Callable, Sequence

from dal.dynamodb.account import note_hidden
from dal.dynamodb.table import Table
from dal.entities.comment import comment_in, comment_key, is_comment
from dal.entities.standing import permission_in, standing_key
from dal.errors import NotFoundError
from dal.model import Comment
from dal.model.standings import Permission
from dal.table.items import Item, further_units, key_of


async def published(
    table: Table,
    comment_id: str,
    username: str,
    check: Callable[[Permission], None],
    own: Sequence[Item] = (),
    *,
    consistent: bool = False,
) -> tuple[Comment, list[Item]]:
    """Return a published comment, and the user's existing items with the keys ``own``.

    The read is for a user's report or vote (access pattern AP19), and is one BatchGetItem.
    ``check`` receives the user's permission, and may raise an error to refuse the user. Raises
    NotFoundError if the comment is not published.
    """
    keys = [standing_key(username), comment_key(comment_id), *own]
    items = await table.get_many(keys, consistent=consistent)
    check(permission_in(items))
    comment = next(filter(None, map(comment_in, items)), None)
    if comment is None:
        further = sum(further_units(item) for item in items if is_comment(item))
        note_hidden(further if consistent else further / 2)
        raise NotFoundError("Comment not found.")
    return comment, [item for item in items if key_of(item) in own]
