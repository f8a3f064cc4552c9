"""Runs checks one after the other, and tells what came of each."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum

from conformance.check import Check, FailedError, Finding, Level, Need
from conformance.checks import CHECKS
from conformance.session import Session

ENOUGH = 3
"""Findings of one check: those that follow are of the same kind."""


class Status(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check, what was found, and why it was skipped where it was."""

    check: Check
    findings: Sequence[Finding] = ()
    skipped: str = ""

    @property
    def status(self) -> Status:
        """Passed, failed or skipped."""
        if self.skipped:
            return Status.SKIPPED
        return Status.FAILED if self.findings else Status.PASSED


def failed(outcomes: Sequence[Outcome], level: Level) -> list[Outcome]:
    """Return the checks of a level that failed."""
    return [
        outcome
        for outcome in outcomes
        if outcome.status is Status.FAILED and outcome.check.level is level
    ]


async def outcomes(session: Session) -> AsyncIterator[Outcome]:
    """Run every check; yield what came of each as soon as it is known."""
    for check in CHECKS:
        yield await outcome_of(session, check)


async def outcome_of(session: Session, check: Check) -> Outcome:
    """Run one check, up to a few findings."""
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
