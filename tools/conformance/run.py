"""Runs a check, and prints its outcome."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from io import StringIO

from graphql import GraphQLError, parse, print_ast
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tools.conformance.check import Check, FailedError, Finding, Level, Need
from tools.conformance.endpoint import Request
from tools.conformance.session import Session

ENOUGH = 3
"""Maximum number of findings of a check. Further findings are usually of the same kind."""

NAME_WIDTH = 22
LEVEL_WIDTH = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check, its findings, and the reason if it was skipped."""

    check: Check
    findings: Sequence[Finding] = ()
    skipped: str = ""


def failed(outcomes: Sequence[Outcome], level: Level) -> int:
    """Return how many checks of a level failed."""
    return sum(bool(one.findings) and one.check.level is level for one in outcomes)


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
    """Print a check on one line.

    If it failed, also print its findings, their requests and the link.
    """
    check = outcome.check
    if outcome.skipped:
        mark = "[dim]-[/]"
    elif not outcome.findings:
        mark = "[green]✓[/]"
    else:
        mark = "[red]✗[/]" if check.level is Level.MUST else "[yellow]![/]"
    line = Table.grid(padding=(0, 1))
    for width in (1, NAME_WIDTH, LEVEL_WIDTH):
        line.add_column(width=width, no_wrap=True)
    skipped = f" [dim](skipped: {escape(outcome.skipped)})[/]" if outcome.skipped else ""
    sentence = f"{escape(check.sentence)}{skipped}"
    line.add_row(mark, f"[bold]{check.name}[/]", f"[dim]{check.level}[/]", sentence)
    console.print(line)
    for finding in outcome.findings:
        console.print(f"    {escape(finding.sentence)}")
        for name, value in (("expected", finding.expected), ("got", finding.got)):
            if value:
                console.print(f"      {name + ':':<10}{escape(value)}")
        if finding.request is not None:
            _show(console, finding.request)
    if outcome.findings:
        console.print(f"    [dim]{check.link}[/]", soft_wrap=True)


def _show(console: Console, request: Request) -> None:
    try:
        document = print_ast(parse(request.document))
    except GraphQLError:
        document = request.document
    for line in document.splitlines():
        console.print(f"      [cyan]{escape(line)}[/]", soft_wrap=True)
    if request.variables:
        variables = json.dumps(dict(request.variables))
        console.print(f"      variables: [cyan]{escape(variables)}[/]", soft_wrap=True)


def text_of(outcome: Outcome) -> str:
    """Return the output of ``show``, without colours."""
    console = Console(width=120, color_system=None, file=StringIO())
    with console.capture() as captured:
        show(console, outcome)
    return captured.get()


def summary(outcomes: Sequence[Outcome], requests: int) -> str:
    """Return the numbers of passed, failed and skipped checks."""
    must, should = (failed(outcomes, level) for level in Level)
    skipped = sum(bool(outcome.skipped) for outcome in outcomes)
    passed = len(outcomes) - must - should - skipped
    return (
        f"{len(outcomes)} checks in {requests:,} requests: {passed} pass, "
        f"{must} 'must' and {should} 'should' fail, {skipped} are skipped."
    )
