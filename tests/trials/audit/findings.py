"""What a check has found, and the table of it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: whether it holds, and in a few words what was seen."""

    name: str
    holds: bool
    seen: str = ""


def table(sections: Iterable[tuple[str, list[Finding]]]) -> str:
    """Return a table in Markdown: a line for each section, and for each finding worth a word."""
    lines = ["| audit | holds | seen |", "|---|---|---|"]
    for title, findings in sections:
        held = sum(finding.holds for finding in findings)
        lines.append(f"| **{title}** | **{held} of {len(findings)}** | |")
        lines += [
            f"| {finding.name} | {'yes' if finding.holds else 'NO'} | {finding.seen} |"
            for finding in findings
            if finding.seen or not finding.holds
        ]
    return "\n".join(lines)
