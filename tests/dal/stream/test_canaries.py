"""What canaries prove of shards, and what they leave."""

import pytest

from dal.client.streams import Shard
from dal.client.table import Table
from dal.maintenance.canaries import PER_SHARD, Canaries, is_canary

A, B, C = Shard("a"), Shard("b", parent="a"), Shard("c", parent="b")


@pytest.mark.parametrize(
    ("missing", "out_of", "done", "shards", "proven"),
    [
        pytest.param(0, "a", set(), [A], True, id="an open shard that has shown some"),
        pytest.param(1, "a", set(), [A], False, id="one has not come"),
        pytest.param(0, "a", set(), [], False, id="no shards are listed"),
        pytest.param(0, "b", set(), [A, B], False, id="a shard has shown none"),
        pytest.param(0, "b", {"a"}, [A, B], True, id="a parent was read to its end"),
        pytest.param(0, "b", {"b"}, [B], True, id="a closed shard that has shown some"),
        pytest.param(0, "b", {"a"}, [A], False, id="a closed shard whose child is not listed"),
        pytest.param(0, "a", {"a", "b"}, [A, B, C], True, id="what follows a shard with some"),
        pytest.param(0, "c", {"c"}, [C, *map(Shard, "defg")], False, id="too few for the shards"),
    ],
)
async def test_what_is_proven(
    table: Table, missing: int, out_of: str, done: set[str], shards: list[Shard], proven: bool
) -> None:
    async with Canaries(table) as canaries:
        await canaries.release(2)
        names = [key["PK"]["S"] for key in await left(table)]
        assert len(names) == 2 * PER_SHARD
        shown = dict.fromkeys(names[missing:], out_of)
        assert canaries.prove(shown, done, shards) is proven


async def test_those_of_later_count_too_and_none_is_left(table: Table) -> None:
    async with Canaries(table) as canaries:
        await canaries.release(1)
        shown = {key["PK"]["S"]: "a" for key in await left(table)}
        assert canaries.prove(shown, set(), [A])
        await canaries.release(4)
        assert not canaries.have_come(shown)
        assert len(await left(table)) == 4 * PER_SHARD
    assert await left(table) == []


async def left(table: Table) -> list[dict[str, dict[str, str]]]:
    return [item for item in (await table.scan(0, 1, None)).items if is_canary(item)]
