"""What a check is: a name, a sentence, a paragraph of the specification, and how it is run."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tools.conformance.endpoint import Request


class Level(StrEnum):
    """How firmly the specification asks for something, in the words of RFC 2119."""

    MUST = "must"
    SHOULD = "should"


class Need(StrEnum):
    """What a check needs of a server; the value says why it is skipped."""

    READABLE = "the connection has no edges with node and cursor"
    FORWARD = "the connection takes no first and after"
    BACKWARD = "the connection takes no last and before"
    ROWS = "the list could not be read to its end"
    IDS = "rows have no id, or there is no field node"
    NODES = "rows have no id, or there is no field nodes"
    INSERT = "--insert does not say how rows are inserted"
    DELETE = "--insert and --delete do not say how rows are inserted and deleted"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, in one sentence, and the request that shows it."""

    sentence: str
    request: Request | None = None
    expected: str = ""
    got: str = ""


class FailedError(Exception):
    """Ends a check early with a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.sentence)
        self.finding = finding


Run = Callable[[Any], AsyncGenerator[Finding]]
"""Takes a ``session.Session``; Any avoids a circular import."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a conforming server does; ``run`` yields what is found to be otherwise."""

    name: str
    level: Level
    sentence: str
    link: str
    run: Run
    needs: tuple[Need, ...] = ()


def check(level: Level, link: str, sentence: str, *needs: Need) -> Callable[[Run], Check]:
    """Make a check of a function, under the function's name with hyphens."""

    def made(run: Run) -> Check:
        name = getattr(run, "__name__", "").replace("_", "-")
        return Check(name, level, sentence, link, run, needs)

    return made
