"""What a user may do: blocks by moderators, and purchases."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a user: their new texts wait for a moderator."""

    username: str
    reason: str
    at: datetime
    by: str | None = None
    """The moderator; None if a command set the block, or the moderator's data was erased."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What decides on a user's new comment on a product."""

    blocked: bool
    erasing: bool
    """Whether the user's data is being erased."""
    bought: bool
    """Whether an order of the user with the product was ever delivered."""
