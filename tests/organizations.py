"""Organisations for tests: their names need escaping, and they have users of every kind."""

from datetime import UTC, datetime, timedelta

from dal.model import Organization, OrganizationUser, Roster, Ticket, TicketStatus, UserType
from dal.stores import Stores
from tests.putting import put_rosters, put_tickets

ACME = Organization("ac/me#1%", "Enterprise")
OTHER = Organization("ac", "Pro")
ADMIN, MEMBER, COLLEAGUE, OUTSIDER = "ann", "bob", "b/o#b%", "olga"
"""Users in different roles. The outsider is an admin of the other organisation, not of Acme."""

ROSTERS = (
    Roster(
        ACME,
        [
            OrganizationUser(ACME.name, ADMIN, UserType.ADMIN),
            OrganizationUser(ACME.name, MEMBER),
            OrganizationUser(ACME.name, COLLEAGUE),
        ],
    ),
    Roster(
        OTHER,
        [
            OrganizationUser(OTHER.name, OUTSIDER, UserType.ADMIN),
            OrganizationUser(OTHER.name, MEMBER),
        ],
    ),
)
NEWEST = datetime(2024, 5, 1, tzinfo=UTC)


def ticket(number: int, username: str = MEMBER, organization: str = ACME.name) -> Ticket:
    """Return a ticket.

    A higher number is older. Every third ticket has the time of the one before it.
    """
    return Ticket(
        ticket_id=f"t/{number:03}",
        organization=organization,
        username=username,
        subject=f"Subject {number}",
        text="It does not boil.",
        created_at=NEWEST - timedelta(hours=number - (number % 3 == 0)),
        status=TicketStatus.CLOSED if number % 4 else TicketStatus.OPEN,
    )


TICKETS = (
    *(ticket(number) for number in range(30)),
    *(ticket(number, COLLEAGUE) for number in range(100, 103)),
    ticket(200, MEMBER, OTHER.name),
)


async def fill(stores: Stores) -> None:
    """Store the organisations, their users and the tickets."""
    await put_rosters(stores.table, ROSTERS)
    await put_tickets(stores.table, TICKETS)
