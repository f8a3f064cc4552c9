"""The codec of organisations, their users and their tickets.

An organisation and its users are one collection of the table: first the organisation's own item,
then the users by name. A user and that user's tickets are one collection of ``GSI1``: first the
tickets by time, then the user's own item, which a backward read so meets first.
"""

import orjson

from dal.indexes import TICKETS_BY_STATUS, TICKETS_OF_USER
from dal.items import Item
from dal.keys import INSTANT_LENGTH, escape, format_instant, parse_instant, unescape
from dal.organization_model import Organization, OrganizationUser, Ticket, TicketStatus, UserType

_ORGANIZATION = "ORG#"
_METADATA = "METADATA#"
_USER = "USER#"
_TICKET = "TICKET#"


def organization_key(name: str) -> Item:
    """Return the primary key of an organisation."""
    return {"PK": {"S": _ORGANIZATION + escape(name)}, "SK": {"S": _METADATA + escape(name)}}


def user_key(organization: str, username: str) -> Item:
    """Return the primary key of an organisation's user."""
    return {
        "PK": {"S": _ORGANIZATION + escape(organization)},
        "SK": {"S": _USER + escape(username)},
    }


def ticket_key(ticket_id: str) -> Item:
    """Return the primary key of a ticket."""
    key = {"S": _TICKET + escape(ticket_id)}
    return {"PK": key, "SK": key}


def user_position(user: OrganizationUser) -> str:
    """Return where a user stands among the organisation's: the name as it stands in keys."""
    return escape(user.username)


def ticket_position(ticket: Ticket) -> str:
    """Return where a ticket stands among its user's: ``<createdAt>#<id>``."""
    return f"{format_instant(ticket.created_at)}#{escape(ticket.ticket_id)}"


def encode_organization(organization: Organization) -> Item:
    """Return the whole item of an organisation."""
    return organization_key(organization.name) | _data({"plan": organization.plan})


def decode_organization(item: Item) -> Organization:
    """Return the organisation of a table item."""
    name = unescape(item["PK"]["S"][len(_ORGANIZATION) :])
    return Organization(name, orjson.loads(item["data"]["S"])["plan"])


def encode_user(user: OrganizationUser) -> Item:
    """Return the whole item of an organisation's user, with the keys of its tickets' index."""
    place = {"organization": user.organization, "username": user.username}
    return {
        **user_key(user.organization, user.username),
        "GSI1PK": {"S": TICKETS_OF_USER.partition_of(place)},
        "GSI1SK": {"S": _USER + escape(user.username)},
        **_data({"type": user.type.value}),
    }


def decode_user(item: Item) -> OrganizationUser:
    """Return the user of a table item or of a row of ``GSI1``."""
    return OrganizationUser(
        unescape(item["PK"]["S"][len(_ORGANIZATION) :]),
        unescape(item["SK"]["S"][len(_USER) :]),
        UserType(orjson.loads(item["data"]["S"])["type"]),
    )


def encode_ticket(ticket: Ticket) -> Item:
    """Return the whole item of a ticket, with the keys of both its indexes."""
    values = {
        "organization": ticket.organization,
        "username": ticket.username,
        "status": ticket.status.value,
    }
    return {
        **ticket_key(ticket.ticket_id),
        **TICKETS_OF_USER.keys_of(values, ticket_position(ticket)),
        **TICKETS_BY_STATUS.keys_of(values, ticket_position(ticket)),
        "status": {"S": ticket.status.value},
        **_data({"subject": ticket.subject, "text": ticket.text}),
    }


def decode_ticket(item: Item) -> Ticket:
    """Return the ticket of a table item or of a row of either of its indexes."""
    data = orjson.loads(item["data"]["S"])
    if "GSI1PK" in item:
        _, organization, _, username = item["GSI1PK"]["S"].split("#")
        position, status = item["GSI1SK"]["S"][len(_TICKET) :], item["status"]["S"]
    else:
        organization, username, status = item["GSIPK"]["S"][len(_TICKET) :].split("/")
        position = item["GSISK"]["S"]
    return Ticket(
        ticket_id=unescape(item["PK"]["S"][len(_TICKET) :]),
        organization=unescape(organization),
        username=unescape(username),
        created_at=parse_instant(position[:INSTANT_LENGTH]),
        status=TicketStatus(status),
        **data,
    )


def _data(values: dict[str, str]) -> Item:
    return {"data": {"S": orjson.dumps(values).decode()}}
