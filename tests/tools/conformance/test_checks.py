"""Every check passes on a conforming server. Each fault is found by its checks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.tools.conformance.faults import FAULTS
from tests.tools.conformance.notes import CONNECTION, DELETE, INSERT, Notes, transport
from tools.conformance.check import Check, Level
from tools.conformance.checks import CHECKS, writes
from tools.conformance.endpoint import Endpoint
from tools.conformance.plugin import conforms
from tools.conformance.run import outcome_of
from tools.conformance.session import Session, open_session

BY_NAME = {check.name: check for check in CHECKS}


@asynccontextmanager
async def session_of(notes: Notes) -> AsyncIterator[Session]:
    async with (
        Endpoint("http://notes/graphql", transport=transport(notes)) as endpoint,
        open_session(endpoint, CONNECTION, insert=INSERT, delete=DELETE, page_size=5) as session,
    ):
        yield session


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "PAUSE", 0.0)
    monkeypatch.setattr(writes, "PATIENCE", 2)


@pytest.fixture(scope="module")
async def flawless() -> AsyncIterator[Session]:
    async with session_of(Notes()) as session:
        yield session


async def test_a_conforming_server_passes(flawless: Session, relay_check: Check) -> None:
    assert flawless.lacks == []
    await conforms(flawless, relay_check)


async def test_checks_may_run_in_any_order() -> None:
    """Checks that write restore the list."""
    async with session_of(Notes()) as session:
        for check in reversed(CHECKS):
            await conforms(session, check)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
async def test_each_kind_of_fault_is_found(fault: type[Notes]) -> None:
    async with session_of(fault()) as session:
        for name in FAULTS[fault]:
            outcome = await outcome_of(session, BY_NAME[name])
            assert outcome.findings, f"{name} does not find it: {outcome.skipped}"


def test_every_check_fails_for_some_fault() -> None:
    assert set().union(*FAULTS.values()) == BY_NAME.keys()


@pytest.mark.parametrize("backward", [False, True])
async def test_a_connection_with_one_direction_is_checked(backward: bool) -> None:
    pair = "first: Int, after: String, " if backward else ", last: Int, before: String"
    async with session_of(Notes.with_sdl(pair, "")()) as session:
        outcomes = [await outcome_of(session, check) for check in CHECKS]
    failed = {outcome.check.name for outcome in outcomes if outcome.findings}
    assert failed == {"both-directions"}
    skipped = {outcome.check.name for outcome in outcomes if outcome.skipped}
    assert {"first-and-last", "between-cursors"} < skipped
    assert len(skipped) < len(CHECKS) // 4


async def test_inserted_rows_are_deleted_after_each_check_and_at_the_end() -> None:
    notes = Notes()
    before = list(notes.rows)
    async with session_of(notes) as session:
        outcome = await outcome_of(session, BY_NAME["inserts-between-pages"])
        assert not outcome.findings
        assert notes.rows == before
        assert session.writer is not None
        await session.writer.insert()
        assert len(notes.rows) > len(before)
    assert notes.rows == before


def test_each_check_has_a_name_a_sentence_and_a_link() -> None:
    assert len(BY_NAME) == len(CHECKS)
    for check in CHECKS:
        assert check.sentence.endswith(".")
        assert check.link.startswith("https://relay.dev/graphql/")
        assert check.level in Level
