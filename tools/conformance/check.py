"""A check: a rule of the specification, and a function that finds violations of the rule."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tools.conformance.endpoint import Request

SPECIFICATIONS = "https://relay.dev/graphql/"


class Level(StrEnum):
    """The requirement levels of RFC 2119."""

    MUST = "must"
    SHOULD = "should"


class Need(StrEnum):
    """A requirement of a check. The value is the reason that is shown if the check is skipped."""

    READABLE = "the connection has no edges with node and cursor"
    FORWARD = "the connection has no arguments first and after"
    BACKWARD = "the connection has no arguments last and before"
    ROWS = "the list could not be read to its end"
    IDS = "rows have no id, or the query type has no field node"
    NODES = "rows have no id, or the query type has no field nodes"
    INSERT = "--insert is missing"
    DELETE = "--insert or --delete is missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation in one sentence, and the request that shows it."""

    sentence: str
    request: Request | None = None
    expected: str = ""
    got: str = ""


class FailedError(Exception):
    """Ends a check early with a finding."""

    def __init__(self, sentence: str, request: Request | None = None) -> None:
        super().__init__(sentence)
        self.finding = Finding(sentence, request)


Run = Callable[[Any], AsyncGenerator[Finding]]
"""A function that receives a ``session.Session``. The type here is Any, because an import of
``session`` would be circular."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one rule.

    ``sentence`` states the rule. ``run`` yields a finding for each violation.
    """

    name: str
    level: Level
    sentence: str
    link: str
    run: Run
    needs: tuple[Need, ...]


def check(level: Level, paragraph: str, *needs: Need) -> Callable[[Run], Check]:
    """Return a decorator that turns a function into a check.

    The check's name is the function's name with hyphens. The check's sentence is the function's
    docstring.
    """

    def made(run: Run) -> Check:
        name = getattr(run, "__name__", "").replace("_", "-")
        sentence = " ".join((run.__doc__ or "").split())
        return Check(name, level, sentence, SPECIFICATIONS + paragraph, run, needs)

    return made
