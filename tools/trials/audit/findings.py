"""The findings of audits, and their report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from tools.trials.reporting import CONSOLE, finish


@dataclass(frozen=True, slots=True)
class Finding:
    """A check: whether it passed, and what was seen."""

    name: str
    holds: bool
    seen: str = ""


def report(sections: Mapping[str, list[Finding]]) -> NoReturn:
    """Print a table in Markdown. Exit with 1 if a check has failed.

    A row is omitted if its check passed and nothing was seen.
    """
    lines = ["| audit | holds | seen |", "|---|---|---|"]
    for title, findings in sections.items():
        held = sum(finding.holds for finding in findings)
        lines.append(f"| **{title}** | **{held} of {len(findings)}** | |")
        lines += [
            f"| {finding.name} | {'yes' if finding.holds else 'NO'} | {finding.seen} |"
            for finding in findings
            if finding.seen or not finding.holds
        ]
    CONSOLE.print("\n".join(lines), markup=False)
    finish(
        f"{title}: {finding.name} does not hold."
        for title, findings in sections.items()
        for finding in findings
        if not finding.holds
    )
