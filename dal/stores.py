"""All stores over one table."""

from dataclasses import dataclass

from dal.comments import CommentStore
from dal.dynamodb import Table
from dal.orders import OrderStore
from dal.users import UserStore


@dataclass(frozen=True, slots=True)
class Stores:
    """What resolvers read and write through."""

    comments: CommentStore
    orders: OrderStore
    users: UserStore

    @classmethod
    def of(cls, table: Table) -> "Stores":
        """Return the stores over ``table``."""
        return cls(CommentStore(table), OrderStore(table), UserStore(table))
