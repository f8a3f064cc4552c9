"""Tickets as items.

In ``GSI1``, an organisation's user and the user's tickets are in one partition: first the tickets
by time, then the user's own item. So a Query in descending order returns the user first. Some other
indexes have keys without the user, so the JSON attribute ``data`` contains organisation and
username too.
"""

from dal.model import Ticket, TicketStatus
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import BY_DATE, QUEUE_SHARDS, Index
from dal.table.items import Item, primary_key
from dal.table.key_parts import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape

_TICKET = "TICKET#"

_OWNER = ("organization", "username")

TICKETS_OF_USER = Index(
    "GSI1",
    "GSI1PK",
    "GSI1SK",
    "ORG",
    _OWNER,
    BY_DATE,
    projects=("status", "data"),
    label=_TICKET,
    head="USER#",
    between="#USER#",
)
TICKETS_BY_STATUS = Index(
    "byLangAndRating", "GSIPK", "GSISK", "TICKET", (*_OWNER, "status"), BY_DATE, (), ("data",)
)
TICKETS_OF_ORGANIZATION = Index(
    "all", "GSI4PK", "GSISK", "TICKET", ("organization", "status"), BY_DATE, (), ("data",)
)
OPEN_TICKETS = Index(
    "byRating",
    "GSI3PK",
    "GSISK",
    "QUEUE",
    ("status",),
    BY_DATE,
    projects=("data",),
    shards=QUEUE_SHARDS,
    covers={"status": frozenset({TicketStatus.OPEN})},
)


def ticket_key(ticket_id: str) -> Item:
    """Return the primary key of a ticket."""
    return primary_key(_TICKET + escape(ticket_id))


def is_ticket(key: Item) -> bool:
    """Return whether a key or an item belongs to a ticket."""
    return str(key["PK"]["S"]).startswith(_TICKET)


def ticket_position(ticket: Ticket) -> str:
    """Return a ticket's position in the lists of tickets: ``<createdAt>#<id>``."""
    return f"{format_instant(ticket.created_at)}#{escape(ticket.ticket_id)}"


def _attributes(ticket: Ticket) -> Item:
    owner = {"organization": ticket.organization, "username": ticket.username}
    named = {} if ticket.name is None else {"name": ticket.name}
    data = packed({**owner, "subject": ticket.subject, "text": ticket.text, **named})
    return {"status": {"S": ticket.status.value}, **data}


def _decode(row: Row) -> Ticket:
    position, item, values = row
    status = values["status"] if "status" in values else item["status"]["S"]
    # Items that an earlier version wrote contain the owner in their keys only.
    owner = {name: values[name] for name in _OWNER if name in values}
    return Ticket(
        ticket_id=unescape(position[INSTANT_LENGTH + 1 :]),
        created_at=parse_instant(position[:INSTANT_LENGTH]),
        status=TicketStatus(status),
        **{**owner, **unpacked(item)},
    )


TICKET: Entity[Ticket] = Entity(
    key=lambda ticket: ticket_key(ticket.ticket_id),
    fields={
        "organization": lambda ticket: ticket.organization,
        "username": lambda ticket: ticket.username,
        "status": lambda ticket: ticket.status.value,
    },
    positions={BY_DATE: ticket_position},
    indexes=(TICKETS_OF_USER, TICKETS_BY_STATUS, TICKETS_OF_ORGANIZATION, OPEN_TICKETS),
    attributes=_attributes,
    decode_row=_decode,
)
