"""The demo's organisations: shops that buy in bulk, their users, and what these ask for."""

from datetime import UTC, datetime, timedelta

from dal.model import Organization, OrganizationUser, Roster, Ticket, TicketStatus, UserType
from server.demo.orders import DEMO_USER
from server.demo.seeded_random import SeededRandom
from server.demo.texts import phrases

_SEED = 20230905
_PLANS = {"Harbour Tea Rooms": "Enterprise", "Northlight Hotel": "Pro", "Mill Lane School": "Free"}
_USERS = (9, 6, 4)
_SINCE = datetime(2024, 6, 1, tzinfo=UTC)
_DAYS = 210
_SUBJECTS = {
    "Delivery": "The parcel that was promised for {day} has not arrived.",
    "Invoice": "The invoice of {day} names the wrong address.",
    "Warranty": "One of our pieces stopped working on {day}. May we send it in?",
    "Spare part": "We lost a lid on {day}. Do you sell it on its own?",
    "Bulk discount": "From {day} on we need two dozen. What would they cost?",
    "Return": "On {day} we received one too many and should like to send it back.",
}


def demo_rosters() -> list[Roster]:
    """Return the organisations; the demo's user administers the first and belongs to the second."""
    names = iter(phrases("en")["usernames"])
    rosters = []
    for place, (name, size) in enumerate(zip(_PLANS, _USERS, strict=True)):
        users = [next(names) for _ in range(size)]
        types = dict.fromkeys(users, UserType.MEMBER) | {users[0]: UserType.ADMIN}
        if place == 0:
            types[DEMO_USER] = UserType.ADMIN
        elif place == 1:
            types[DEMO_USER] = UserType.MEMBER
        members = [OrganizationUser(name, username, kind) for username, kind in types.items()]
        rosters.append(Roster(Organization(name, _PLANS[name]), members))
    return rosters


def demo_tickets() -> list[Ticket]:
    """Return the users' tickets, always the same, with ids ``demo-ticket-001`` and on."""
    random = SeededRandom(_SEED)
    authors = [
        user
        for roster in demo_rosters()
        for user in roster.users
        for _ in range(25 if user.username == DEMO_USER else random.number(0, 8))
    ]
    return [_ticket(random, number, user) for number, user in enumerate(authors, 1)]


def _ticket(random: SeededRandom, number: int, user: OrganizationUser) -> Ticket:
    created_at = _SINCE + timedelta(seconds=random.number(0, _DAYS * 86_400))
    subject = random.pick(list(_SUBJECTS))
    day = created_at - timedelta(days=random.number(1, 6))
    return Ticket(
        ticket_id=f"demo-ticket-{number:03}",
        organization=user.organization,
        username=user.username,
        subject=subject,
        text=_SUBJECTS[subject].format(day=f"{day:%Y-%m-%d}"),
        created_at=created_at,
        status=TicketStatus.OPEN if random.chance(0.2) else TicketStatus.CLOSED,
    )
