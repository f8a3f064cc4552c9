"""The merge returns the sorted union of sorted sources, and reads no more than necessary."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from dal.query.executor import Merge
from dal.table.entity import Row
from tests.strategies import MORE

positions = st.sets(st.text("ab\ud7ff\ue000\U00010000", max_size=3), max_size=8)
many_positions = st.lists(positions, max_size=5)


@dataclass
class Rows:
    """A source of rows in batches. ``asked`` counts the requested batches."""

    name: str
    keys: Sequence[str]
    size: int
    taken: int = 0
    asked: int = 0

    @property
    def ended(self) -> bool:
        # As in DynamoDB, a batch that is not full is the last one.
        return self.asked > 0 and self.taken < self.asked * self.size

    async def more(self) -> Sequence[Row]:
        rows = self.keys[self.taken : self.taken + self.size]
        self.asked, self.taken = self.asked + 1, self.taken + len(rows)
        return [Row(key, {}, {"source": self.name}) for key in rows]


async def merged(sources: Sequence[Rows], *, descending: bool) -> list[Row]:
    merge, rows = Merge(sources, descending=descending), list[Row]()
    while came := await merge.more():
        rows += came
    return rows


@MORE
@given(sets=many_positions, size=st.integers(1, 4), descending=st.booleans())
async def test_the_merge_is_the_sorted_union(
    sets: list[set[str]], size: int, descending: bool
) -> None:
    sources = [
        Rows(str(number), sorted(one, reverse=descending), size) for number, one in enumerate(sets)
    ]
    rows = await merged(sources, descending=descending)
    assert [row.position for row in rows] == sorted(set[str]().union(*sets), reverse=descending)
    for row in rows:
        assert row.position in sets[int(row.values["source"])]


@MORE
@given(sets=many_positions, size=st.integers(1, 4), descending=st.booleans())
async def test_a_source_is_read_again_only_if_it_may_have_the_next_row(
    sets: list[set[str]], size: int, descending: bool
) -> None:
    sources = [
        Rows(str(number), sorted(one, reverse=descending), size) for number, one in enumerate(sets)
    ]
    merge = Merge(sources, descending=descending)
    shown: list[str] = []
    while came := await merge.more():
        for source in sources:
            before = source.keys[: max(0, source.asked - 1) * source.size]
            # The merge returned all rows of the earlier batches before it requested the last batch.
            assert set(before) <= set(shown)
        shown += [row.position for row in came]
