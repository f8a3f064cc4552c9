"""Organisations, their users, and the tickets that these open."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class UserType(StrEnum):
    """What a user is to an organisation."""

    MEMBER = "MEMBER"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organisation under its unique name, and what it subscribed to."""

    name: str
    subscription_plan: str


@dataclass(frozen=True, slots=True)
class OrganizationUser:
    """One user of one organisation, named by its name."""

    organization: str
    username: str
    type: UserType = UserType.MEMBER


@dataclass(frozen=True, slots=True)
class Roster:
    """An organisation together with its users, of whom no two share a username."""

    organization: Organization
    users: Sequence[OrganizationUser] = ()


class TicketStatus(StrEnum):
    """Whether somebody still has to look at a ticket."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a user of an organisation asks its supplier; ``created_at`` is aware and in UTC."""

    ticket_id: str
    organization: str
    username: str
    subject: str
    text: str
    created_at: datetime
    status: TicketStatus = TicketStatus.OPEN
