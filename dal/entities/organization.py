"""Organisations and their users as items.

An organisation and its users are in one partition: first the organisation's own item, then its
users by name.
"""

from dal.entities.ticket import TICKETS_OF_USER
from dal.model import Organization, OrganizationUser, Roster, UserType
from dal.table.entity import Entity, Row, packed, unpacked
from dal.table.index import Index
from dal.table.items import VERSION, Item, primary_key
from dal.table.key_parts import escape, unescape

_ORGANIZATION = "ORG#"
_METADATA = "METADATA#"
_USER = "USER#"
_BY_NAME, _BY_ORGANIZATION = ("username",), ("organization",)

USERS_OF_ORGANIZATION = Index(
    None, "PK", "SK", "ORG", ("organization",), _BY_NAME, label=_USER, head=_METADATA
)
ORGANIZATIONS_OF_USER = Index(
    "byAuthor",
    "GSI5PK",
    "GSISK",
    "DID",
    ("username",),
    _BY_ORGANIZATION,
    projects=("data",),
    label="MEMBER#",
)


def organization_key(name: str) -> Item:
    """Return the primary key of an organisation."""
    return primary_key(_ORGANIZATION + escape(name), _METADATA + escape(name))


def is_organization(key: Item) -> bool:
    """Return whether a key or an item belongs to an organisation, and not to one of its users."""
    keys = (str(key["PK"]["S"]), str(key["SK"]["S"]))
    return keys[0].startswith(_ORGANIZATION) and keys[1].startswith(_METADATA)


def encode_organization(organization: Organization) -> Item:
    """Return the table item of an organisation."""
    return organization_key(organization.name) | packed({"plan": organization.subscription_plan})


def decode_organization(item: Item) -> Organization:
    """Return the organisation that a table item stores."""
    name = unescape(item["PK"]["S"][len(_ORGANIZATION) :])
    return Organization(name, unpacked(item)["plan"])


def user_key(organization: str, username: str) -> Item:
    """Return the primary key of an organisation's user."""
    return primary_key(_ORGANIZATION + escape(organization), _USER + escape(username))


def is_organization_user(key: Item) -> bool:
    """Return whether a key or an item belongs to an organisation's user."""
    keys = (str(key["PK"]["S"]), str(key["SK"]["S"]))
    return keys[0].startswith(_ORGANIZATION) and keys[1].startswith(_USER)


def user_position(user: OrganizationUser) -> str:
    """Return a user's position in the organisation's list of users: the escaped name."""
    return escape(user.username)


def _attributes(user: OrganizationUser) -> Item:
    """Return the user's type, and the keys of the user's item in ``GSI1``.

    These keys put the item into the partition of the user's tickets.
    """
    owner = {"organization": user.organization, "username": user.username}
    return {
        TICKETS_OF_USER.partition_key: {"S": TICKETS_OF_USER.partition_of(owner)},
        TICKETS_OF_USER.sort_key: {"S": TICKETS_OF_USER.head + escape(user.username)},
        **packed({"type": user.type.value}),
    }


def _decode(row: Row) -> OrganizationUser:
    item = row.item
    return OrganizationUser(
        unescape(item["PK"]["S"][len(_ORGANIZATION) :]),
        unescape(item["SK"]["S"][len(_USER) :]),
        UserType(unpacked(item)["type"]),
    )


ORGANIZATION_USER: Entity[OrganizationUser] = Entity(
    key=lambda user: user_key(user.organization, user.username),
    fields={
        "organization": lambda user: user.organization,
        "username": lambda user: user.username,
    },
    positions={
        _BY_NAME: user_position,
        _BY_ORGANIZATION: lambda user: escape(user.organization),
    },
    indexes=(USERS_OF_ORGANIZATION, ORGANIZATIONS_OF_USER),
    attributes=_attributes,
    decode_row=_decode,
    marks=(VERSION,),
)


def encode_roster(roster: Roster) -> list[Item]:
    """Return the table items of an organisation and its users."""
    users = map(ORGANIZATION_USER.encode, roster.users)
    return [encode_organization(roster.organization), *users]
