"""A small ``make trial NAME=processes``: two servers over one table, one with two workers."""

from pathlib import Path

from tests.engines.redis import NEEDS_REDIS
from tests.trials.processes.ledger import Filters, Ledger, Row, faults_of_walk
from tests.trials.processes.trial import Size, trial

SMALL = Size(writers=3, writes_each=20, walkers=1, listeners=2, lists=4, workers=(2, 1))


@NEEDS_REDIS
async def test_every_process_shows_counts_and_tells_what_any_of_them_wrote(tmp_path: Path) -> None:
    outcome = await trial(tmp_path, SMALL)
    assert outcome.faults == []
    assert outcome.writes.total() == SMALL.writers * SMALL.writes_each
    assert outcome.events == outcome.writes.total() * SMALL.listeners
    assert outcome.walks


def row(number: int, rating: int = 5) -> Row:
    return Row(f"n{number}", f"c{number}", f"2024-{number:02}", rating, "en", f"{number}")


def test_a_walk_that_is_not_exact_is_found() -> None:
    ledger, filters = Ledger(), Filters(rating=[5])
    rows = [row(3), row(2), row(1)]
    for one in reversed(rows):
        ledger.end("ADDED", one)
    since, before = ledger.writes, ledger.listed(filters)
    ledger.begin("n2")
    ledger.end("DELETED", rows[1])
    gone = row(9)
    ledger.touched["n9"] = 0
    for walked in (rows, [rows[0], rows[2]], [row(4), *rows]):
        assert faults_of_walk(ledger, filters, since, before, walked) == []
    wrong = [rows[:2], rows[::-1], [rows[0], *rows], [row(4, rating=1), *rows], [gone, *rows]]
    for walked in wrong:
        assert len(faults_of_walk(ledger, filters, since, before, walked)) == 1
