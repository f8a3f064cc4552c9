"""What becomes of a comment, by whoever counts."""

import pytest

from dal.entities.comment import COMMENT
from dal.statistics.comment_changes import CommentChange
from dal.statistics.counts import deltas, in_generation
from dal.statistics.maintenance_mode import Maintenance, MaintenanceMode
from dal.table.item import Item
from tests.strategies import comment

OLD, NEW = comment("1", rating=5), comment("1", rating=2, language="de")
HELD = COMMENT.encode(OLD)
WRITERS = Maintenance()
FOLLOWER = Maintenance(MaintenanceMode.STREAM)
REBUILD = Maintenance(generation=7, rebuilding=True)
REBUILT_STREAM = Maintenance(MaintenanceMode.STREAM, generation=7, rebuilding=True)


def stamped(generation: int) -> Item:
    return HELD | {"counted": {"N": str(generation)}}


@pytest.mark.parametrize(("old", "new"), [(None, NEW), (HELD, NEW), (HELD, None)])
def test_writers_count_what_changes(old: Item | None, new: object) -> None:
    one = CommentChange(old, NEW if new else None)
    assert one.write(WRITERS).changes == deltas(OLD if old else None, one.new)
    assert one.products == {"42"}


@pytest.mark.parametrize("counting", [FOLLOWER, REBUILT_STREAM])
def test_where_the_stream_is_counted_writers_count_nothing(counting: Maintenance) -> None:
    for one in (CommentChange(None, NEW), CommentChange(HELD, NEW), CommentChange(HELD, None)):
        assert one.write(counting).changes == {}
        assert one.write(counting).actions == one.write(WRITERS).actions


@pytest.mark.parametrize(
    ("held", "taken_out"), [(HELD, False), (stamped(6), False), (stamped(7), True)]
)
def test_a_rebuild_gets_the_new_and_loses_what_it_had(held: Item, *, taken_out: bool) -> None:
    for new in (NEW, OLD._replace(text="other"), None):
        changes = CommentChange(held, new).write(REBUILD).changes
        recount = {key: counts for key, counts in changes.items() if key.generation == 7}
        assert recount == in_generation(deltas(OLD if taken_out else None, new), 7)
        assert {key: counts for key, counts in changes.items() if key not in recount} == deltas(
            OLD, new
        )


def test_a_rebuilds_stamp_is_on_what_is_written_while_it_runs() -> None:
    (put,) = CommentChange(HELD, NEW).write(REBUILD).actions
    assert put["Put"]["Item"] == COMMENT.encode(NEW) | {"counted": {"N": "7"}}
    (put,) = CommentChange(stamped(7), NEW).write(WRITERS).actions
    assert put["Put"]["Item"] == COMMENT.encode(NEW)


def test_what_is_no_comment_was_not_counted() -> None:
    garbage = {**HELD, "data": {"S": "{}"}}
    assert CommentChange(garbage, NEW).changes == deltas(None, NEW)


def test_what_stands_beside_goes_along() -> None:
    beside = {"Put": {"Item": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}
    for counting in (WRITERS, FOLLOWER, REBUILD):
        assert CommentChange(None, NEW, [beside]).write(counting).actions[1:] == [beside]
