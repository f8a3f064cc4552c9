"""A short ``make trial NAME=processes``: two servers with one table, one of them with two
workers.
"""

from pathlib import Path

import pytest

from tests.engines.redis import NEEDS_REDIS
from tools.trials.ledger import Filters, Ledger, Row
from tools.trials.processes import trial


@NEEDS_REDIS
@pytest.mark.soak
async def test_each_worker_shows_and_announces_the_writes_of_all_workers(tmp_path: Path) -> None:
    done, faults = await trial(tmp_path, writes=20, restarts=0, writers=3, lists=4, workers=(2, 1))
    assert faults == []
    assert done["events heard"]
    assert done["lists walked during writes"]


def row(number: int, rating: int = 5) -> Row:
    return Row(f"n{number}", f"c{number}", f"2024-{number:02}", rating, "en", f"{number}")


def test_a_failed_walk_is_reported() -> None:
    ledger, filters = Ledger(), Filters(rating=[5])
    rows = [row(3), row(2), row(1)]
    for one in reversed(rows):
        ledger.end("ADDED", one)
    since, before = len(ledger.writes), ledger.listed(filters)
    ledger.begin("n2")
    ledger.end("DELETED", rows[1])
    gone = row(9)
    ledger.touched["n9"] = 0
    for walked in (rows, [rows[0], rows[2]], [row(4), *rows]):
        assert ledger.faults(filters, since, before, walked) == []
    wrong = [rows[:2], rows[::-1], [rows[0], *rows], [row(4, rating=1), *rows], [gone, *rows]]
    for walked in wrong:
        assert len(ledger.faults(filters, since, before, walked)) == 1
