"""Facts that decide what a user may write: blocks, a running erasure, and purchases."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a user: the user's new comments and edited texts wait for a moderator."""

    username: str
    reason: str
    at: datetime
    by: str | None = None
    """The moderator who blocked the user. None if the user was blocked with the command
    `marginalia user block`, or if the moderator's data was erased."""


@dataclass(frozen=True, slots=True)
class Permission:
    """The facts that decide whether a server accepts and publishes what a user writes."""

    blocked: bool
    erasing: bool
    """Whether the user's data is being erased."""
    bought: bool
    """Whether an order with the product, or with a product of its group, was ever delivered to the
    user. Always False if the permission was read without a product."""
