"""A plugin of pytest: each check is a test of its own.

A test that takes ``relay_check`` runs once for each check, and gives it to ``conforms`` with a
session of its own fixture.
"""

import pytest

from tools.conformance.check import Check
from tools.conformance.checks import CHECKS
from tools.conformance.run import outcome_of, text_of
from tools.conformance.session import Session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check."""
    if "relay_check" in metafunc.fixturenames:
        metafunc.parametrize("relay_check", CHECKS, ids=[check.name for check in CHECKS])


async def conforms(session: Session, check: Check) -> None:
    """Fail with the findings of a check; skip where the server has not what it needs."""
    outcome = await outcome_of(session, check)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    if outcome.findings:
        pytest.fail(text_of(outcome), pytrace=False)
