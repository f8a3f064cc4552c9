"""A pytest plugin that turns each check into a test.

A test with the argument ``relay_check`` runs once for each check. The test passes the check and a
session to ``conforms``.
"""

import pytest

from tools.conformance.check import Check
from tools.conformance.checks import CHECKS
from tools.conformance.run import outcome_of, text_of
from tools.conformance.session import Session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize ``relay_check``."""
    if "relay_check" in metafunc.fixturenames:
        metafunc.parametrize("relay_check", CHECKS, ids=[check.name for check in CHECKS])


async def conforms(session: Session, check: Check) -> None:
    """Fail with the findings of a check; skip if the server lacks what the check needs."""
    outcome = await outcome_of(session, check)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    if outcome.findings:
        pytest.fail(text_of(outcome), pytrace=False)
