"""The findings of ``marginalia serve --check``."""

from enum import StrEnum
from functools import partial
from typing import NamedTuple


class Level(StrEnum):
    """The level of a finding.

    An operator must not open the server to the internet if a finding has the level ``danger``.
    """

    OK = "ok"
    WARNING = "warning"
    DANGER = "danger"


class Finding(NamedTuple):
    """One line of the report."""

    level: Level
    subject: str
    sentence: str


ok = partial(Finding, Level.OK)
warning = partial(Finding, Level.WARNING)
danger = partial(Finding, Level.DANGER)
