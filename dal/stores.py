"""All stores over one table."""

from dataclasses import dataclass

from dal.comments import CommentStore
from dal.dynamodb import Table
from dal.orders import OrderStore
from dal.organizations import OrganizationStore
from dal.tickets import TicketStore
from dal.users import UserStore


@dataclass(frozen=True, slots=True)
class Stores:
    """What resolvers read and write through."""

    comments: CommentStore
    orders: OrderStore
    users: UserStore
    organizations: OrganizationStore
    tickets: TicketStore

    @classmethod
    def of(cls, table: Table) -> "Stores":
        """Return the stores over ``table``."""
        return cls(
            CommentStore(table),
            OrderStore(table),
            UserStore(table),
            OrganizationStore(table),
            TicketStore(table),
        )
