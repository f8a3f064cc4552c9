"""The steps between two numbers of shards, and what can be read at each."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from dal.entities.comment import ALL, COMMENT
from dal.entities.shard_layout import FIRST, LAST, PLAIN, SECOND, ShardLayout
from dal.errors import TooManySegmentsError
from dal.query.access_paths import access_paths
from dal.repositories.comments import Selection
from dal.statistics.table_statistics import by_index
from tests.strategies import comment

ITEM = COMMENT.encode(comment("7/a#", product_id="42/en", language="pt-BR", rating=4))
MOVES = [(1, 4), (4, 1), (4, 16)]


def steps(before: int, after: int) -> Iterator[ShardLayout]:
    layout = ShardLayout(before)
    yield layout
    for _ in range(LAST + 1):
        layout = layout.next(after)
        yield layout


def keys(layout: ShardLayout) -> dict[str, str]:
    return {name: value["S"] for name, value in layout.keys(ITEM).items()}


@pytest.mark.parametrize(("before", "after"), MOVES)
def test_a_move_ends_in_the_number_of_shards_that_was_asked_for(before: int, after: int) -> None:
    *_, last = way = list(steps(before, after))
    assert last == ShardLayout(after)
    assert [one.step for one in way] == [0, 1, 2, 3, 4, 0]


@pytest.mark.parametrize(("before", "after"), MOVES)
def test_no_index_is_read_by_anybody_while_another_step_writes_it(before: int, after: int) -> None:
    """Some act on a step and others still on the one before."""
    for one, other in pairwise(steps(before, after)):
        for reader, writer in ((one, other), (other, one), (other, other)):
            for index in reader.read:
                (whole,) = (known for known in COMMENT.indexes if known.name == index.name)
                assert writer.written(whole) == index
        moving = {index.name for index in other.moves}
        assert moving.isdisjoint(index.name for layout in (one, other) for index in layout.read)


@pytest.mark.parametrize(("before", "after"), MOVES)
def test_every_filter_is_answered_at_every_step(before: int, after: int) -> None:
    for layout in steps(before, after):
        for ratings in (None, frozenset({1}), frozenset({1, 2, 3, 4})):
            for languages in (None, frozenset({"en"}), frozenset({"en", "de", "fr"})):
                query = Selection("42", ratings, languages).query()
                paths = access_paths(layout.read, by_index(query, layout.read))
                assert paths
                assert layout.step or not paths[0].residual


@pytest.mark.parametrize("step", range(1, LAST + 1))
@pytest.mark.parametrize("wanted", [16, 60])
def test_many_languages_are_answered_over_many_shards(step: int, wanted: int) -> None:
    read = ShardLayout(16, 4, step).read
    languages = frozenset(f"x{n}" for n in range(wanted))
    assert access_paths(read, by_index(Selection("42", None, languages).query(), read))


def test_what_fits_in_no_way_is_refused() -> None:
    (by_language,) = (one for one in ShardLayout(16).read if one.name == "byLang")
    query = Selection("42", None, frozenset(f"x{n}" for n in range(16))).query()
    with pytest.raises(TooManySegmentsError, match="256 shards"):
        access_paths([by_language], query)


def test_all_indexes_move_and_none_twice() -> None:
    assert sorted(one.partition for one in (*FIRST, *SECOND)) == sorted(
        one.partition for one in COMMENT.indexes
    )


def test_keys_of_a_comment() -> None:
    assert PLAIN.keys(ITEM) == {name: ITEM[name] for name in keys(PLAIN)}
    four = keys(ShardLayout(4))
    shard = four["GSI4PK"][-1]
    assert four == {name: f"{key}#{shard}" for name, key in keys(PLAIN).items()}
    spread = ITEM | ShardLayout(16).keys(ITEM)
    assert ShardLayout(4).keys(spread) == ShardLayout(4).keys(ITEM)
    assert PLAIN.keys(spread) == PLAIN.keys(ITEM)
    assert COMMENT.decode(spread) == COMMENT.decode(ITEM)
    assert int(keys(ShardLayout(16))["GSI4PK"].rpartition("#")[2]) % 4 == int(shard)


def test_what_has_no_keys_gets_none() -> None:
    assert ShardLayout(4).keys({"PK": ITEM["PK"], "SK": ITEM["SK"]}) == {}


def test_filters_are_left_alone_while_nothing_moves() -> None:
    query = Selection("42", languages=frozenset({"en"})).query()
    assert by_index(query, COMMENT.indexes) is query
    moving = ShardLayout(1, 4, 3)
    assert by_index(query, moving.read).filters["rating"] == frozenset("12345")
    assert [one.name for one in moving.read] == [one.name for one in FIRST]
    many = Selection("42", languages=frozenset(f"x{n}" for n in range(30))).query()
    assert by_index(many, moving.read) is many  # its partitions would be too many
    (only,) = access_paths(moving.read, many)
    assert only.index.partition == ALL.partition
