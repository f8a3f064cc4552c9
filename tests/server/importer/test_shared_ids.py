from collections import defaultdict
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import CommandError
from server.importer import shared_ids
from server.importer.shared_ids import SharedIds


def found_in(rows: list[tuple[str, int]]) -> list[list[int]]:
    with closing(SharedIds()) as ids:
        for line, (identity, thing) in enumerate(rows, 1):
            ids.add(identity, thing, line)
        return sorted(ids.find())


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 2)), max_size=40))
def test_ids_of_rows_that_differ_are_found_with_their_lines(rows: list[tuple[str, int]]) -> None:
    lines, things = defaultdict(list), defaultdict(set)
    for line, (identity, thing) in enumerate(rows, 1):
        lines[identity].append(line)
        things[identity].add(thing)
    assert found_in(rows) == sorted(lines[one] for one in lines if len(things[one]) > 1)


def test_a_large_file_is_remembered_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_ids, "_MEMORY", 1_000)
    rows = [(str(number % 9_999), number // 9_999) for number in range(10_000)]
    assert found_in(rows) == [[1, 10_000]]


def test_no_room_for_them_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = SharedIds()
    ids.close()

    class Full:
        def write(self, content: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(ids, "_parts", [Full()] * len(ids._parts))
    with pytest.raises(CommandError, match="has no room for the ids of the file"):
        ids.add("a", 1, 1)
