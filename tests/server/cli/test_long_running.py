"""Maintenance commands on a store that stalls, cannot be reached, or has wrong counters."""

import asyncio
import time

import pytest

from dal.dynamodb import retries
from dal.dynamodb.table import Table
from dal.entities.comment import COMMENT
from dal.stores import Stores
from server.errors import DIFFERS, UNAVAILABLE
from tests import oracle
from tests.proxy import Fault, reset_before, through_proxy
from tests.putting import put_comments
from tests.server.serving import AWS, called

DEADLINE, STALL = 1.0, 1.5


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "DEADLINE", DEADLINE)
    monkeypatch.setattr(retries, "REPORT_SECONDS", 0.2)


async def test_a_command_waits_for_a_store_that_fails_during_its_work(table: Table) -> None:
    await put_comments(Stores(table).comments, oracle.make_comments("42", 5, seed=1))
    ends: list[float] = []

    def stalled(operation: str, _: bytes) -> Fault | None:
        if operation == "Scan" and not ends:
            ends.append(time.monotonic() + STALL)
        return reset_before if ends and time.monotonic() < ends[0] else None

    async with through_proxy(table) as (_, proxy):
        proxy.choose = stalled
        options = ["--table", table.name, "--endpoint-url", proxy.url]
        done = await asyncio.to_thread(called, "stats", "verify", *options, **AWS)
    assert done.returncode == 0, done.stderr
    assert "equal a recount" in done.stdout
    assert "Still waiting" in done.stderr
    assert "Ctrl-C" in done.stderr


def test_ctrl_c_prints_what_to_do_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("server.cli.commands.stats.open_store", interrupt)
    done = called("stats", "verify", "--endpoint-url", "http://127.0.0.1:9", **AWS)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("marginalia: stopped.")
    assert done.stderr.count("\n") == 1


def test_an_unreachable_store_has_the_exit_code_of_a_failed_store() -> None:
    done = called("stats", "verify", "--endpoint-url", "http://127.0.0.1:9", **AWS)
    assert done.returncode == UNAVAILABLE


async def test_wrong_counts_have_the_exit_code_of_a_difference(
    table: Table, dynoxide_url: str
) -> None:
    await table.put_many([COMMENT.encode(one) for one in oracle.make_comments("42", 2, seed=1)])
    done = called("stats", "verify", "--table", table.name, "--endpoint-url", dynoxide_url, **AWS)
    assert done.returncode == DIFFERS
