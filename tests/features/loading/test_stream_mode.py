"""Loads in maintenance mode stream."""

from collections import Counter

from dal.dynamodb.table import Table
from dal.stores import Stores
from dal.writes.overwrite import Outcome
from tests import recount
from tests.dal.writes.test_stream_mode_writes import ROWS, streamed, watched
from tests.edges import edge_of
from tests.fakes import anybody, let_pass, lose_answer
from tests.features.loading.bulk import load_rows
from tests.putting import put_comments

__all__ = ["streamed"]


async def test_of_many_rows_only_those_that_other_clients_changed_are_read_again(
    streamed: Table,
) -> None:
    store, client = watched(streamed)
    await put_comments(Stores(streamed).comments, ROWS[7:9])
    assert await load_rows(store, ROWS) == Outcome(new=118, unchanged=2)
    puts = Counter(
        arguments["Item"]["PK"]["S"] for name, arguments in client.calls if name == "put_item"
    )
    assert set(puts.values()) == {1}
    assert set(await recount.comments_of(store, "42")) == set(ROWS)


async def test_several_writes_with_lost_responses_succeed(streamed: Table) -> None:
    store, client = watched(streamed)
    client._faults = [let_pass, *[lose_answer] * 20]  # first, the repository reads which rows exist
    assert await load_rows(store, ROWS[:40]) == Outcome(new=40)
    client._faults = [lose_answer] * 3
    edge = edge_of(await store.add(ROWS[50], "key"))
    assert (await store.add(ROWS[50], "key")) == edge
    client._faults = [let_pass, lose_answer, lose_answer]
    await store.delete(edge.node.comment_id, anybody)
    assert set(await recount.comments_of(store, "42")) == set(ROWS[:40])
