"""The report of a load about values that it did not store."""

from collections import defaultdict
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.loading import losses as module
from features.loading.column_mapping import Preset, make_column_mapping
from features.loading.kind import COMMENTS
from features.loading.losses import Losses, SharedIds
from features.loading.rows import Reject, Row
from server.errors import CommandError

PRESET = Preset(
    id_from=["who", "variant"],
    keep={"state": ["OK", "old"], "gone": ["false"]},
    leave_out={"state": ["Old"], "kind": ["shop"]},
    no_place={"votes": ["up", "down"], "variants": ["variant"]},
)


def reported(*rows: dict[str, object]) -> tuple[list[str], list[str]]:
    """Load these rows as changed rows.

    Return the unused columns and the sentences of the report.
    """
    with closing(Losses(make_column_mapping(COMMENTS, [], [], PRESET))) as losses:
        for number, row in enumerate(losses.kept(Row(n, row) for n, row in enumerate(rows, 1))):
            assert isinstance(row, Row)
            losses.loaded(row, str(number), number)
        return list(losses.unused), list(losses.sentences())


def test_values_without_a_field_are_counted_by_what_they_are() -> None:
    unused, sentences = reported(
        {"up": 3, "down": "1,204", "variant": "red", "who": "ana", "extra": "x", "id": "1"},
        {"up": 1, "variant": "", "who": "bo"},
    )
    assert unused == ["extra", "id"]
    dropped = [sentence.partition(" dropped")[0] for sentence in sentences]
    assert dropped == ["votes: 3 values", "variants: 1 value"]


@pytest.mark.parametrize("cell", [None, "", 0, "0", 0.0, False, "false", [], {}, [0, 0], [[]]])
def test_an_empty_value_is_not_a_loss(cell: object) -> None:
    assert reported({"up": cell, "extra": cell}) == ([], [])


def test_rows_are_left_out_by_their_state() -> None:
    rows: list[dict[str, object]] = [
        {"state": "ok"},
        {"state": " spam "},
        {"state": "spam", "gone": "true"},
        {"gone": True},
        {"gone": False, "state": None},
        {"state": "old", "kind": "shop"},
        {"kind": "Shop"},
        {"kind": "product"},
        {},
    ]
    assert reported(*rows)[1] == [
        "2 rows left out: state is spam.",
        "1 row left out: gone is True.",
        "1 row left out: state is old.",
        "1 row left out: kind is Shop.",
    ]


def test_rejected_rows_are_passed_on() -> None:
    with closing(Losses(make_column_mapping(COMMENTS, [], [], PRESET))) as losses:
        assert list(losses.kept(iter([Reject(1, "broken")]))) == [Reject(1, "broken")]


def test_the_number_of_counted_columns_is_limited() -> None:
    rows: list[dict[str, object]] = [{f"c{number}": "x"} for number in range(1_500)]
    unused, _ = reported(*rows)
    assert len(unused) == 1_000


def test_of_many_shared_ids_the_first_are_shown() -> None:
    with closing(Losses(make_column_mapping(COMMENTS, [], [], PRESET))) as losses:
        for line in range(1, 13):
            losses.loaded(Row(line, {}), str(line % 6), line)
        (sentence,) = losses.sentences()
    assert sentence.startswith(
        "12 rows share 6 ids but differ (lines 1, 7; 2, 8; 3, 9; 4, 10; 5, 11; …): only the"
    )


def found_in(rows: list[tuple[str, int]]) -> list[list[int]]:
    with closing(SharedIds()) as ids:
        for line, (identity, thing) in enumerate(rows, 1):
            ids.add(identity, thing, line)
        return sorted(ids.find())


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 2)), max_size=40))
def test_ids_of_differing_rows_are_found_with_their_lines(rows: list[tuple[str, int]]) -> None:
    lines, things = defaultdict(list), defaultdict(set)
    for line, (identity, thing) in enumerate(rows, 1):
        lines[identity].append(line)
        things[identity].add(thing)
    assert found_in(rows) == sorted(lines[one] for one in lines if len(things[one]) > 1)


def test_the_ids_of_a_large_file_are_stored_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY", 1_000)
    rows = [(str(number % 9_999), number // 9_999) for number in range(10_000)]
    assert found_in(rows) == [[1, 10_000]]


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = SharedIds()
    ids.close()

    class Full:
        def write(self, content: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(ids, "_parts", [Full()] * len(ids._parts))
    with pytest.raises(CommandError, match=r"\(No space left on device\): .* TMPDIR"):
        ids.add("a", 1, 1)
