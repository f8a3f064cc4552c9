"""Runs the checks one after another, and prints the outcome of each."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO

from graphql import GraphQLError, parse, print_ast
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tools.conformance.check import Check, FailedError, Finding, Level, Need
from tools.conformance.checks import CHECKS
from tools.conformance.endpoint import Request
from tools.conformance.session import Session

ENOUGH = 3
"""Maximum number of findings of a check: further ones are usually of the same kind."""


class Status(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check, its findings, and the reason if it was skipped."""

    check: Check
    findings: Sequence[Finding] = ()
    skipped: str = ""

    @property
    def status(self) -> Status:
        """Passed, failed or skipped."""
        if self.skipped:
            return Status.SKIPPED
        return Status.FAILED if self.findings else Status.PASSED


NAME_WIDTH = 22
LEVEL_WIDTH = 6

_MARKS = {
    (Status.PASSED, Level.MUST): "[green]✓[/]",
    (Status.PASSED, Level.SHOULD): "[green]✓[/]",
    (Status.FAILED, Level.MUST): "[red]✗[/]",
    (Status.FAILED, Level.SHOULD): "[yellow]![/]",
    (Status.SKIPPED, Level.MUST): "[dim]-[/]",
    (Status.SKIPPED, Level.SHOULD): "[dim]-[/]",
}


def failed(outcomes: Sequence[Outcome], level: Level) -> list[Outcome]:
    """Return the checks of a level that failed."""
    return [
        outcome
        for outcome in outcomes
        if outcome.status is Status.FAILED and outcome.check.level is level
    ]


async def outcomes(session: Session) -> AsyncIterator[Outcome]:
    """Run every check; yield each outcome at once."""
    for check in CHECKS:
        yield await outcome_of(session, check)


async def outcome_of(session: Session, check: Check) -> Outcome:
    """Run one check; stop after ``ENOUGH`` findings."""
    for need in check.needs:
        if need in session.lacks:
            return Outcome(check, skipped=need.value)
    findings: list[Finding] = []
    try:
        async with aclosing(check.run(session)) as found:
            async for finding in found:
                findings.append(finding)
                if len(findings) == ENOUGH:
                    break
    except FailedError as failure:
        findings.append(failure.finding)
    if Need.INSERT in check.needs or Need.DELETE in check.needs:
        await session.renew()
    return Outcome(check, findings)


def show(console: Console, outcome: Outcome) -> None:
    """Print one check: a line if it passed, else also its findings and the link."""
    check = outcome.check
    line = Table.grid(padding=(0, 1))
    for width in (1, NAME_WIDTH, LEVEL_WIDTH):
        line.add_column(width=width, no_wrap=True)
    mark = _MARKS[outcome.status, check.level]
    skipped = f" [dim](skipped: {escape(outcome.skipped)})[/]" if outcome.skipped else ""
    sentence = f"{escape(check.sentence)}{skipped}"
    line.add_row(mark, f"[bold]{check.name}[/]", f"[dim]{check.level}[/]", sentence)
    console.print(line)
    for finding in outcome.findings:
        _show(console, finding)
    if outcome.findings:
        console.print(f"    [dim]{check.link}[/]", soft_wrap=True)


def text_of(outcome: Outcome) -> str:
    """Return the output of ``show``, without colours."""
    console = Console(width=120, color_system=None, file=StringIO())
    with console.capture() as captured:
        show(console, outcome)
    return captured.get()


def summary(outcomes: Sequence[Outcome], requests: int) -> str:
    """Return the numbers of passed, failed and skipped checks."""
    count = Counter(outcome.status for outcome in outcomes)
    must, should = (len(failed(outcomes, level)) for level in Level)
    return (
        f"{len(outcomes)} checks in {requests:,} requests: {count[Status.PASSED]} pass, "
        f"{must} must and {should} should fail, {count[Status.SKIPPED]} skipped."
    )


def _show(console: Console, finding: Finding) -> None:
    console.print(f"    {escape(finding.sentence)}")
    for name, value in (("expected", finding.expected), ("got", finding.got)):
        if value:
            console.print(f"      {name + ':':<10}{escape(value)}")
    if finding.request is not None:
        for line in _pretty(finding.request).splitlines():
            console.print(f"      [cyan]{escape(line)}[/]", soft_wrap=True)
        if finding.request.variables:
            variables = json.dumps(dict(finding.request.variables))
            console.print(f"      variables: [cyan]{escape(variables)}[/]", soft_wrap=True)


def _pretty(request: Request) -> str:
    try:
        return print_ast(parse(request.document))
    except GraphQLError:
        return request.document
