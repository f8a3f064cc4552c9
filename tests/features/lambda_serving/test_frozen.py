"""A process that is frozen after each answer leaves nothing undone, and uses no old value."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dal.counts.mode import MaintenanceMode, MaintenanceStore
from dal.dynamodb.table import Table
from dal.stores import Stores
from tests.features.lambda_serving.requests import Event, content, operation
from tests.recount import comments_of, expected, stored
from tests.server.serving import AWS, SECRET, bearer, environment


class Frozen:
    """A process that is frozen except while it answers an event."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    async def answer(self, event: Event) -> Any:
        """Let the process run until it has answered an event. Return the body in JSON."""
        found = await asyncio.to_thread(self._answer, event)
        assert found["statusCode"] == 200
        return json.loads(content(found))

    def _answer(self, event: Event) -> Event:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(event) + "\n")
        self.process.stdin.flush()
        answer: Event = json.loads(self.process.stdout.readline())
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        return answer


@pytest.fixture
def frozen(table: Table) -> Iterator[Frozen]:
    url = str(table.service.endpoint_url)
    settings = {"MARGINALIA_ENDPOINT_URL": url, "MARGINALIA_TABLE": table.name}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.features.lambda_serving.process"],
        env=environment(**settings, **AWS, MARGINALIA_JWT_SECRET=SECRET),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Frozen(process)
        process.kill()


def by(user: str, query: str) -> Event:
    return operation("url", f"mutation {{ {query} }}", **bearer(user))


def adding(key: str, rating: int = 5, language: str = "en") -> str:
    return (
        f'addComment(input: {{productId: "42", rating: {rating}, language: "{language}", title: '
        f'"Tea", text: "Good", idempotencyKey: "{key}"}}) {{ comment {{ id }} }}'
    )


async def test_counts_votes_and_leaderboard_are_right_while_the_process_is_frozen(
    table: Table, frozen: Frozen
) -> None:
    ids = []
    for number, language in enumerate(("en", "en-US", "de")):
        added = await frozen.answer(by(f"user{number}", adding(f"k{number}", language=language)))
        ids.append(added["data"]["addComment"]["comment"]["id"])
        comments = await comments_of(Stores(table).comments, "42")
        # ``stored`` includes the keys of leaderboards.
        assert len(comments) == number + 1
        assert await stored(table, "42") == expected("42", comments)
    for number in (1, 2):
        helpful = f'markHelpful(input: {{id: "{ids[0]}"}}) {{ userErrors {{ code }} }}'
        await frozen.answer(by(f"reader{number}", helpful))
        votes = [one.votes for one in await comments_of(Stores(table).comments, "42")]
        assert sorted(votes) == [0, 0, number]
    await frozen.answer(by("user0", f'deleteComment(input: {{id: "{ids[0]}"}}) {{ deletedId }}'))
    comments = await comments_of(Stores(table).comments, "42")
    assert len(comments) == 2
    assert await stored(table, "42") == expected("42", comments)
    leaders = "{ leaderboard { nodes { count } } }"
    page = await frozen.answer(operation("url", leaders))
    assert [one["count"] for one in page["data"]["leaderboard"]["nodes"]] == [2]


async def test_a_process_whose_clock_stopped_does_not_count_by_an_old_mode(
    table: Table, frozen: Frozen
) -> None:
    """A rebuild has waited until other writers knew the new mode."""
    await frozen.answer(by("ann", adding("k1")))
    before = await stored(table, "42")
    store = MaintenanceStore(table)
    await store.announce(await store.read(), mode=MaintenanceMode.STREAM)
    late = by("bob", adding("k2"))
    late["requestContext"]["timeEpoch"] = 1000 * (time.time() + 60)
    assert (await frozen.answer(late))["data"]["addComment"]["comment"] is not None
    assert await stored(table, "42") == before
