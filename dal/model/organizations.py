"""Organisations, their users, and the users' tickets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class UserType(StrEnum):
    """The role of a user in an organisation."""

    MEMBER = "MEMBER"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organisation with a unique name, and its subscription plan."""

    name: str
    subscription_plan: str


@dataclass(frozen=True, slots=True)
class OrganizationUser:
    """A user of an organisation."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER


@dataclass(frozen=True, slots=True)
class Roster:
    """An organisation with its users. User names are unique."""

    organization: Organization
    users: Sequence[OrganizationUser] = ()


class TicketStatus(StrEnum):
    """The status of a ticket."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A support ticket of an organisation's user. The time is aware and in UTC."""

    ticket_id: str
    organization: str
    username: str
    subject: str
    text: str
    created_at: datetime
    status: TicketStatus = TicketStatus.OPEN
