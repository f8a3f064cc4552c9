from dal.entities.comment import COMMENT
from dal.statistics.comment_changes import (
    MOST_ACTIONS,
    MOST_BYTES,
    CommentChange,
    CountedWrite,
    TransactionBatch,
    joined,
)
from dal.statistics.counts import RatingCounts, StatisticsKey, deltas
from dal.statistics.maintenance_mode import Maintenance
from tests.strategies import comment

REBUILD = Maintenance(generation=1, rebuilding=True)


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
