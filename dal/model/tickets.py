"""Support tickets, which users of organisations open."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


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
