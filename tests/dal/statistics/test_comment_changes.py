"""What becomes of a comment, by whoever counts."""

from datetime import UTC, datetime

import pytest

from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_in
from dal.statistics.comment_changes import (
    MOST_ACTIONS,
    MOST_BYTES,
    CommentChange,
    CountedWrite,
    TransactionBatch,
    joined,
)
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas, in_generation
from dal.statistics.mode import Maintenance, MaintenanceMode
from dal.table.items import Item
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


KEYED = HELD | idempotency.mark(OLD)


def test_an_edit_keeps_the_mark_of_a_key_and_a_deletion_leaves_a_tombstone() -> None:
    for counting in (WRITERS, FOLLOWER, REBUILD):
        (put,) = CommentChange(KEYED, NEW).write(counting).actions
        assert put["Put"]["Item"]["keyed"] == KEYED["keyed"]
        deletion = CommentChange(KEYED, None).write(counting)
        (put,) = deletion.actions
        assert put["Put"]["Item"] == idempotency.tombstone(KEYED)
        assert deletion.changes == CommentChange(HELD, None).write(counting).changes


def test_a_comment_without_a_date_gets_that_of_each_write() -> None:
    change = CommentChange(None, OLD, dated=False)
    dates = []
    for counting in (WRITERS, REBUILD, FOLLOWER):
        before = datetime.now(UTC)
        (put,) = change.write(counting).actions
        assert change.new is not None
        assert before <= change.new.created_at <= datetime.now(UTC)
        assert comment_in(put["Put"]["Item"]) == change.new
        dates.append(change.new.created_at)
    assert dates == sorted({*dates})


def test_a_comment_with_a_date_keeps_it() -> None:
    change = CommentChange(None, OLD)
    change.write(WRITERS)
    assert change.new == OLD


def edit(number: int, **fields: object) -> CommentChange:
    return CommentChange(None, comment(f"c{number}", **fields))


def taken(edits: list[CommentChange]) -> int:
    """How many of ``edits`` one bundle takes, in order."""
    bundle = TransactionBatch()
    return next((n for n, one in enumerate(edits) if not bundle.add(one)), len(edits))


def actions(edits: list[CommentChange]) -> int:
    """How many actions they take while a rebuild runs."""
    write = joined([one.write(REBUILD) for one in edits])
    return len(write.actions) + len(write.changes)


def test_a_bundle_has_room_for_its_counters_and_those_of_a_rebuild() -> None:
    """Two items of statistics for all rows of one language."""
    edits = [edit(number) for number in range(150)]
    assert taken(edits) == MOST_ACTIONS - 2
    assert actions(edits[: taken(edits)]) == MOST_ACTIONS


def test_every_language_takes_other_places() -> None:
    tags = [f"en-{number:03}" for number in range(100, 200)]
    edits = [edit(n, language=tag) for n, tag in enumerate(tags)]
    assert taken(edits) == 33
    assert actions(edits[:33]) == 99


def test_a_changed_text_may_be_counted_by_a_rebuild() -> None:
    olds = [comment(f"c{n}", language=f"en-{n + 100}") for n in range(60)]
    edits = [CommentChange(COMMENT.encode(old), old._replace(text="other")) for old in olds]
    assert not any(edit.changes for edit in edits)
    assert actions(edits[: taken(edits)]) <= MOST_ACTIONS


def test_a_bundle_has_so_many_bytes() -> None:
    assert taken([edit(number, text="x" * 40_000) for number in range(40)]) == 22


def test_bytes_count_as_they_are_sent() -> None:
    """A character beyond the basic plane is 4 bytes of a request."""
    assert taken([edit(number, text="\U0001f600" * 10_000) for number in range(40)]) == 22


def test_no_item_is_written_twice_in_one_transaction() -> None:
    bundle = TransactionBatch()
    assert bundle.add(edit(1))
    assert not bundle.add(CommentChange(COMMENT.encode(comment("c1")), None))
    assert bundle.add(edit(2))


def test_a_first_edit_is_always_taken() -> None:
    assert TransactionBatch().add(edit(1, text="x" * (MOST_BYTES + 1)))


def test_joined_writes_keep_their_order_and_sum_their_changes() -> None:
    news = comment("c1", language="en", rating=5), comment("c2", language="de", rating=5)
    one, two = (
        CountedWrite([{"Put": {"Item": COMMENT.encode(new)}}], deltas(None, new)) for new in news
    )
    whole = joined([one, two])
    assert whole.actions == [*one.actions, *two.actions]
    assert whole.changes[StatisticsKey("42", "en")] == RatingCounts((0, 0, 0, 0, 1))
    assert joined([]) == CountedWrite([], {})
