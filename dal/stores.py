"""The stores over one table."""

from dataclasses import dataclass

from dal.comments import CommentStore
from dal.dynamodb import Table
from dal.organizations import OrganizationStore
from dal.tickets import TicketStore


@dataclass(frozen=True, slots=True)
class Stores:
    """One store for each kind of item."""

    comments: CommentStore
    organizations: OrganizationStore
    tickets: TicketStore


def open_stores(table: Table) -> Stores:
    """Return the stores of an open table."""
    return Stores(CommentStore(table), OrganizationStore(table), TicketStore(table))
