"""What a run found: lines as checks end, the requests that show faults, and JSON for programs."""

import json
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from typing import Any

from graphql import GraphQLError, parse, print_ast
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.check import Finding, Level
from conformance.endpoint import Request
from conformance.run import Outcome, Status, failed

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

CHANGED = (
    "Others wrote to the list meanwhile: some findings may be theirs. Run again in a quiet time."
)


def show(console: Console, outcome: Outcome) -> None:
    """Print one check: a line where it holds, all that helps where it does not."""
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
    """Return what ``show`` prints, without colours."""
    console = Console(width=120, color_system=None, file=StringIO())
    with console.capture() as captured:
        show(console, outcome)
    return captured.get()


def summary(outcomes: Sequence[Outcome], requests: int) -> str:
    """Return how many checks hold and do not, by level."""
    count = Counter(outcome.status for outcome in outcomes)
    must, should = (len(failed(outcomes, level)) for level in Level)
    return (
        f"{len(outcomes)} checks in {requests:,} requests: {count[Status.PASSED]} hold, "
        f"{must} must and {should} should fail, {count[Status.SKIPPED]} skipped."
    )


def as_json(url: str, outcomes: Sequence[Outcome], *, changed: bool) -> str:
    """Return the run as a JSON object, indented."""
    checks = [_plain(outcome) for outcome in outcomes]
    return json.dumps({"url": url, "listChanged": changed, "checks": checks}, indent=2)


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


def _plain(outcome: Outcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "name": check.name,
        "level": check.level,
        "sentence": check.sentence,
        "link": check.link,
        "status": outcome.status,
        "skipped": outcome.skipped or None,
        "findings": [
            {
                "sentence": finding.sentence,
                "request": finding.request and finding.request.body,
                "expected": finding.expected or None,
                "got": finding.got or None,
            }
            for finding in outcome.findings
        ],
    }
