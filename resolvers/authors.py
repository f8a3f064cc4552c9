"""Authors: their comments, on whatever product."""

import strawberry

from dal.model import Comment, User, rules
from dal.query.pagination import Page
from dal.repositories.comments import AuthorSelection
from resolvers.connections import (
    CommentOrder,
    CommentOrderBy,
    CreatedBefore,
    CreatedFrom,
    slice_of,
)
from resolvers.request.selection import Info


def author(username: str) -> User:
    """Return the author of this name; every well-formed identifier is one."""
    return User(rules.identifier("username", username))


async def comments(  # noqa: PLR0913, PLR0917 - the field's arguments
    root: strawberry.Parent[User],
    info: Info,
    created_from: CreatedFrom = None,
    created_before: CreatedBefore = None,
    order_by: CommentOrderBy = CommentOrder.NEWEST,
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> Page[Comment]:
    """Return a page of the author's comments."""
    start, end = rules.period(created_from, created_before)
    cut = slice_of(info, first, after, last, before, order_by=order_by)
    selection = AuthorSelection(root.username, start, end)
    return await info.context.stores.comments.page_of_author(selection, cut)
