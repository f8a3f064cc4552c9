"""What becomes of a comment, by whoever counts."""

from dataclasses import replace

import pytest

from dal.counting import Counting, Mode
from dal.edits import Edit
from dal.items import Item, encode_comment
from dal.statistics import deltas, recounted
from tests.strategies import comment

OLD, NEW = comment("1", rating=5), comment("1", rating=2, language="de")
HELD = encode_comment(OLD)
WRITERS = Counting()
FOLLOWER = Counting(Mode.STREAM)
REBUILD = Counting(generation=7, rebuilding=True)
REBUILT_STREAM = Counting(Mode.STREAM, generation=7, rebuilding=True)


def stamped(generation: int) -> Item:
    return HELD | {"counted": {"N": str(generation)}}


@pytest.mark.parametrize(("old", "new"), [(None, NEW), (HELD, NEW), (HELD, None)])
def test_writers_count_what_changes(old: Item | None, new: object) -> None:
    one = Edit(old, NEW if new else None)
    assert one.write(WRITERS).changes == deltas(OLD if old else None, one.new)
    assert one.products == {"42"}


@pytest.mark.parametrize("counting", [FOLLOWER, REBUILT_STREAM])
def test_where_the_stream_is_counted_writers_count_nothing(counting: Counting) -> None:
    for one in (Edit(None, NEW), Edit(HELD, NEW), Edit(HELD, None)):
        assert one.write(counting).changes == {}
        assert one.write(counting).actions == one.write(WRITERS).actions


@pytest.mark.parametrize(
    ("held", "taken_out"), [(HELD, False), (stamped(6), False), (stamped(7), True)]
)
def test_a_rebuild_gets_the_new_and_loses_what_it_had(held: Item, *, taken_out: bool) -> None:
    for new in (NEW, replace(OLD, text="other"), None):
        changes = Edit(held, new).write(REBUILD).changes
        recount = {key: counts for key, counts in changes.items() if key.generation == 7}
        assert recount == recounted(deltas(OLD if taken_out else None, new), 7)
        assert {key: counts for key, counts in changes.items() if key not in recount} == deltas(
            OLD, new
        )


def test_a_rebuilds_stamp_is_on_what_is_written_while_it_runs() -> None:
    (put,) = Edit(HELD, NEW).write(REBUILD).actions
    assert put["Put"]["Item"] == encode_comment(NEW) | {"counted": {"N": "7"}}
    (put,) = Edit(stamped(7), NEW).write(WRITERS).actions
    assert put["Put"]["Item"] == encode_comment(NEW)


def test_what_is_no_comment_was_not_counted() -> None:
    garbage = {**HELD, "data": {"S": "{}"}}
    assert Edit(garbage, NEW).changes == deltas(None, NEW)


def test_what_stands_beside_goes_along() -> None:
    beside = {"Put": {"Item": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}
    for counting in (WRITERS, FOLLOWER, REBUILD):
        assert Edit(None, NEW, [beside]).write(counting).actions[1:] == [beside]
