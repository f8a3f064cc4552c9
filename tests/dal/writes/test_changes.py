"""Changes of comments and their counters, in each maintenance mode."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from dal.counts.counts import deltas, in_generation, summed
from dal.counts.mode import Maintenance, MaintenanceMode
from dal.dynamodb.errors import ConditionFailedError
from dal.entities import idempotency
from dal.entities.comment import COMMENT, comment_in
from dal.entities.submission import encode
from dal.model import Comment
from dal.model.submissions import ReviewCause, pending
from dal.table.items import Action, Item, primary_key
from dal.writes.changes import (
    MOST_ACTIONS,
    MOST_BYTES,
    CommentChange,
    TransactionBatch,
    Undated,
    WriteRule,
    part_of,
)
from tests.strategies import comment

OLD, NEW = comment("1", rating=5), comment("1", rating=2, language="de")
HELD, NEXT = COMMENT.encode(OLD), COMMENT.encode(NEW)
SUBMISSION_ITEM = encode(pending(OLD, ReviewCause.SETTING, OLD.created_at))
WRITERS = Maintenance()
FOLLOWER = Maintenance(MaintenanceMode.STREAM)
REBUILD = Maintenance(generation=7, rebuilding=True)
REBUILT_STREAM = Maintenance(MaintenanceMode.STREAM, generation=7, rebuilding=True)


def stamped(generation: int) -> Item:
    return HELD | {"counted": {"N": str(generation)}}


@pytest.mark.parametrize(("old", "new"), [(None, NEW), (HELD, NEW), (HELD, None)])
def test_in_transactional_mode_writers_count_their_changes(old: Item | None, new: object) -> None:
    one = CommentChange(old, NEXT if new else None)
    assert one.write(WRITERS) == deltas(OLD if old else None, one.after)
    assert one.after == (NEW if new else None)
    assert one.products == {"42"}


@pytest.mark.parametrize("counting", [FOLLOWER, REBUILT_STREAM])
def test_in_stream_mode_writers_count_nothing(counting: Maintenance) -> None:
    for one in (CommentChange(None, NEXT), CommentChange(HELD, NEXT), CommentChange(HELD, None)):
        assert one.write(counting) == {}
        actions = one.actions
        one.write(WRITERS)
        assert one.actions == actions


@pytest.mark.parametrize(
    ("held", "taken_out"), [(HELD, False), (stamped(6), False), (stamped(7), True)]
)
def test_during_a_rebuild_writers_add_the_new_comment_and_subtract_the_old_one_if_it_was_counted(
    held: Item, *, taken_out: bool
) -> None:
    for new in (NEW, OLD._replace(text="other"), None):
        changes = CommentChange(held, new and COMMENT.encode(new)).write(REBUILD)
        recount = {key: counts for key, counts in changes.items() if key.generation == 7}
        assert recount == in_generation(deltas(OLD if taken_out else None, new), 7)
        assert {key: counts for key, counts in changes.items() if key not in recount} == deltas(
            OLD, new
        )


def test_comments_written_during_a_rebuild_have_its_generation() -> None:
    change = CommentChange(HELD, NEXT)
    change.write(REBUILD)
    (put,) = change.actions
    assert put["Put"]["Item"] == COMMENT.encode(NEW) | {"counted": {"N": "7"}}
    change = CommentChange(stamped(7), NEXT)
    change.write(WRITERS)
    (put,) = change.actions
    assert put["Put"]["Item"] == COMMENT.encode(NEW)


def test_items_that_are_not_comments_were_not_counted() -> None:
    garbage = {**HELD, "data": {"S": "{}"}}
    assert CommentChange(garbage, NEXT).changes == deltas(None, NEW)
    assert CommentChange(HELD, garbage).changes == deltas(OLD, None)


KEYED = HELD | idempotency.mark(OLD)


def test_a_tombstone_counts_as_a_deletion_and_gets_no_stamp() -> None:
    for counting in (WRITERS, FOLLOWER, REBUILD):
        left = idempotency.tombstone(KEYED)
        deletion = CommentChange(KEYED, left)
        counted = deletion.write(counting)
        (put,) = deletion.actions
        assert put["Put"]["Item"] == left
        assert counted == CommentChange(HELD, None).write(counting)


@pytest.mark.parametrize("counting", [WRITERS, FOLLOWER, REBUILD])
def test_further_actions_are_in_the_same_transaction_in_every_mode(counting: Maintenance) -> None:
    other = {"Put": {"Item": {"PK": {"S": "CASE#1"}, "SK": {"S": "CASE"}}}}
    change = CommentChange(HELD, NEXT, [other])
    change.write(counting)
    assert change.actions[1:] == [other]
    assert change.keys == [("COMMENT#1", "COMMENT#1"), ("CASE#1", "CASE")]


def test_a_comment_without_a_date_gets_the_date_of_each_write() -> None:
    change = CommentChange(None, Undated(OLD, COMMENT.encode, published=True))
    dates = []
    for counting in (WRITERS, REBUILD, FOLLOWER):
        before = datetime.now(UTC)
        change.write(counting)
        (put,) = change.actions
        assert change.after is not None
        assert before <= change.after.created_at <= datetime.now(UTC)
        assert comment_in(put["Put"]["Item"]) == change.after
        dates.append(change.after.created_at)
    assert dates == sorted({*dates})


def test_an_undated_comment_is_encoded_once_for_each_write() -> None:
    encoded = []

    def image(new: Comment) -> Item:
        encoded.append(new.created_at)
        return COMMENT.encode(new)

    change = CommentChange(None, Undated(OLD, image, published=True))
    assert change.key == "COMMENT#1"
    assert change.changes == deltas(None, OLD)
    assert change.counters == change.changes.keys()
    assert not encoded
    for number in range(1, 3):
        assert TransactionBatch([], Maintenance()).add(change)
        change.write(WRITERS)
        assert len(encoded) == number
    assert change.after == OLD._replace(created_at=encoded[-1])


def test_a_change_that_a_batch_refuses_is_dated_later() -> None:
    encoded = []

    def image(new: Comment) -> Item:
        encoded.append(new.created_at)
        return COMMENT.encode(new._replace(text="x" * MOST_BYTES))

    same = CommentChange(None, Undated(OLD, image, published=True))
    large = CommentChange(None, Undated(comment("2"), image, published=True))
    batch = TransactionBatch([], Maintenance())
    assert batch.add(CommentChange(None, HELD))
    assert not batch.add(same)
    assert not encoded
    assert not batch.add(large)
    before = datetime.now(UTC)
    assert TransactionBatch([], Maintenance()).add(large)
    large.write(WRITERS)
    assert large.after is not None
    assert large.after.created_at >= before


class Reserving(WriteRule):
    """Adds an action to each write."""

    def actions(self, change: CommentChange, state: Maintenance) -> Sequence[Action]:
        del state
        return [{"Put": {"Item": primary_key(f"RESERVED#{change.key}")}}]


@pytest.mark.parametrize("published", [True, False])
def test_a_batch_leaves_space_for_the_actions_of_rules(*, published: bool) -> None:
    new = [comment(f"c{number}", username=f"u{number}") for number in range(MOST_ACTIONS)]
    changes = [CommentChange(None, Undated(one, COMMENT.encode, published)) for one in new]
    rules = [Reserving()]
    batch = TransactionBatch(rules, WRITERS)
    taken = [change for change in changes if batch.add(change)]
    for change in taken:
        change.write(WRITERS, rules)
    assert len(taken) == (49 if published else 50)
    assert sum(len(change.actions) for change in taken) == 2 * len(taken)


def test_an_undated_submission_counts_nothing() -> None:
    change = CommentChange(None, Undated(OLD, lambda _: SUBMISSION_ITEM, published=False))
    assert not change.changes
    assert not change.write(WRITERS)
    assert (change.after, change.image) == (None, SUBMISSION_ITEM)


def test_a_comment_with_a_date_keeps_it() -> None:
    change = CommentChange(None, HELD)
    change.write(WRITERS)
    assert change.after == OLD


def edit(number: int, beside: Sequence[Action] = (), **fields: object) -> CommentChange:
    return CommentChange(None, COMMENT.encode(comment(f"c{number}", **fields)), beside)


def taken(edits: list[CommentChange]) -> int:
    """Return how many of the edits fit in one batch."""
    bundle = TransactionBatch([], Maintenance())
    return next((n for n, one in enumerate(edits) if not bundle.add(one)), len(edits))


def actions(edits: list[CommentChange]) -> int:
    """Return the number of actions of these edits while a rebuild is running."""
    counters = summed([one.write(REBUILD) for one in edits])
    return len(counters) + sum(len(one.actions) for one in edits)


def test_a_batch_leaves_space_for_its_counters_and_those_of_a_rebuild() -> None:
    """Rows of one language need two counters: the language's own and the rebuild's."""
    edits = [edit(number) for number in range(150)]
    assert taken(edits) == MOST_ACTIONS - 2
    assert actions(edits[: taken(edits)]) == MOST_ACTIONS


def test_further_actions_take_space_too() -> None:
    others = [{"Put": {"Item": {"PK": {"S": f"CASE#{n}"}, "SK": {"S": "CASE"}}}} for n in range(90)]
    edits = [edit(number, [others[number]]) for number in range(90)]
    assert taken(edits) == (MOST_ACTIONS - 2) // 2
    assert actions(edits[: taken(edits)]) == MOST_ACTIONS
    assert taken([edit(1, [others[1]]), edit(2, [others[1]])]) == 1


def test_the_error_of_some_actions_numbers_the_failed_ones_within_them() -> None:
    error = ConditionFailedError([0, 2], {0: {"n": 0}, 2: {"n": 2}})
    own = part_of(error, range(1, 3))
    assert own is not None
    assert (own.failed, own.items) == ([1], {1: {"n": 2}})
    assert part_of(error, range(3, 5)) is None


def test_every_language_needs_its_own_counters() -> None:
    tags = [f"en-{number:03}" for number in range(100, 200)]
    edits = [edit(n, language=tag) for n, tag in enumerate(tags)]
    assert taken(edits) == 33
    assert actions(edits[:33]) == 99


def test_a_changed_text_may_be_counted_by_a_rebuild() -> None:
    olds = [comment(f"c{n}", language=f"en-{n + 100}") for n in range(60)]
    edits = [
        CommentChange(COMMENT.encode(old), COMMENT.encode(old._replace(text="other")))
        for old in olds
    ]
    assert not any(edit.changes for edit in edits)
    assert actions(edits[: taken(edits)]) <= MOST_ACTIONS


def test_a_batch_has_a_maximum_size_in_bytes() -> None:
    assert taken([edit(number, text="x" * 40_000) for number in range(40)]) == 22


def test_the_size_of_a_batch_is_counted_in_the_bytes_that_are_sent() -> None:
    """A character outside the basic multilingual plane has 4 bytes in a request."""
    assert taken([edit(number, text="\U0001f600" * 10_000) for number in range(40)]) == 22


def test_no_item_is_written_twice_in_one_transaction() -> None:
    bundle = TransactionBatch([], Maintenance())
    assert bundle.add(edit(1))
    assert not bundle.add(CommentChange(COMMENT.encode(comment("c1")), None))
    assert bundle.add(edit(2))


def test_the_first_edit_of_a_batch_is_always_accepted() -> None:
    assert TransactionBatch([], Maintenance()).add(edit(1, text="x" * (MOST_BYTES + 1)))
