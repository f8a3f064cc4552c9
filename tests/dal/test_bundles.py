from dal.bundles import MOST_ACTIONS, MOST_BYTES, Bundle, Write, joined
from dal.counters import Action
from dal.items import comment_key, encode_comment
from dal.statistics import RatingCounts, StatisticsKey, deltas
from tests.strategies import comment


def write(number: int, **fields: object) -> Write:
    one = comment(f"c{number}", **fields)
    return Write([{"Put": {"Item": encode_comment(one)}}], deltas(None, one))


def taken(writes: list[Write]) -> int:
    """How many of ``writes`` one bundle takes, in order."""
    bundle = Bundle()
    return next((n for n, one in enumerate(writes) if not bundle.add(one)), len(writes))


def test_a_bundle_has_room_for_its_counters() -> None:
    """Two items of statistics for all rows of one language."""
    assert taken([write(number) for number in range(150)]) == MOST_ACTIONS - 2


def test_every_language_takes_another_place() -> None:
    tags = [f"en-{number:03}" for number in range(100, 200)]
    assert taken([write(n, language=tag) for n, tag in enumerate(tags)]) == 49


def test_a_bundle_has_so_many_bytes() -> None:
    assert taken([write(number, text="x" * 40_000) for number in range(40)]) == 22


def test_bytes_count_as_they_are_sent() -> None:
    """A character beyond the basic plane is 12 bytes of a request's JSON."""
    assert taken([write(number, text="\U0001f600" * 10_000) for number in range(40)]) == 7


def test_no_item_is_written_twice_in_one_transaction() -> None:
    bundle = Bundle()
    delete: Action = {"Delete": {"Key": comment_key("c1")}}
    assert bundle.add(write(1))
    assert not bundle.add(Write([delete], {}))
    assert bundle.add(write(2))


def test_a_first_write_is_always_taken() -> None:
    assert Bundle().add(write(1, text="x" * (MOST_BYTES + 1)))


def test_joined_writes_keep_their_order_and_sum_their_changes() -> None:
    one, two = write(1, language="en", rating=5), write(2, language="de", rating=5)
    whole = joined([one, two])
    assert whole.actions == [*one.actions, *two.actions]
    assert whole.changes[StatisticsKey("42")] == RatingCounts((0, 0, 0, 0, 2))
    assert whole.products == {"42"}
    assert joined([]) == Write([], {})
