"""The repositories over one table."""

from dataclasses import dataclass

from dal.repositories.comments import CommentRepository
from dal.repositories.markers import MarkerRepository
from dal.repositories.orders import OrderRepository
from dal.repositories.organizations import OrganizationRepository
from dal.repositories.tickets import TicketRepository
from dal.repositories.users import UserRepository
from dal.table.client import Table


@dataclass(frozen=True, slots=True)
class Stores:
    """What resolvers read and write through."""

    comments: CommentRepository
    orders: OrderRepository
    users: UserRepository
    organizations: OrganizationRepository
    tickets: TicketRepository
    markers: MarkerRepository

    @classmethod
    def of(cls, table: Table) -> "Stores":
        """Return the repositories over ``table``."""
        return cls(
            CommentRepository(table),
            OrderRepository(table),
            UserRepository(table),
            OrganizationRepository(table),
            TicketRepository(table),
            MarkerRepository(table),
        )
