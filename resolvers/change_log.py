"""The log of changes of comments."""

from collections.abc import Hashable
from typing import Protocol


class ChangeLog(Protocol):
    """The log of changes of comments, from which clients receive the changes after a page."""

    @property
    def last(self) -> Hashable:
        """The position of the latest change."""
