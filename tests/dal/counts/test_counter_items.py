import uuid
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.counts import counter_items
from dal.counts.counts import CommentStatistics, RatingCounts, StatisticsKey, sum_names
from dal.dynamodb.account import Account
from dal.dynamodb.table import Table
from dal.table.items import Item
from tests.strategies import LANGUAGES, MORE, identifiers


def statistics_of(items: Iterable[Item]) -> CommentStatistics:
    return counter_items.statistics_of(counter_items.stored_in(items))


generations, shards = st.none() | st.integers(1, 10**6), st.none() | st.integers(0, 15)
keys = st.builds(StatisticsKey, identifiers, st.none(), generations) | st.builds(
    StatisticsKey, identifiers, st.sampled_from(LANGUAGES), generations
)


def _numbers(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[RatingCounts]:
    names = [one for name in ("fit", "n_s", "x" * 20) for one in sum_names("a", name)]
    sums = st.dictionaries(st.sampled_from(names), numbers.filter(bool))
    return st.builds(
        RatingCounts,
        st.tuples(*[numbers] * 5),
        st.tuples(*[numbers] * 15),
        sums.map(lambda several: tuple(sorted(several.items()))),
    )


counts = _numbers(st.integers(0, 10**6))
changes = _numbers(st.integers(-3, 4)).filter(bool)


def test_a_counter_item_has_the_attributes_that_the_access_patterns_describe() -> None:
    flagged = (0, 0, 0, 1, 7, 1, 0, 0, 0, 4, 0, 0, 0, 0, 3)
    sums = (("a_fit_n", 3), ("a_fit_s", 14), ("a_quality_n", 1), ("a_quality_s", 2))
    held = RatingCounts((1, 0, 0, 2, 10), flagged, sums)
    assert counter_items.encode(StatisticsKey("4/2", "pt-BR"), held) == {
        "PK": {"S": "PRODUCT#4%2F2"},
        "SK": {"S": "S#pt-BR"},
        "count_1": {"N": "1"},
        "count_4": {"N": "2"},
        "count_5": {"N": "10"},
        "v4": {"N": "1"},
        "v5": {"N": "7"},
        "p1": {"N": "1"},
        "p5": {"N": "4"},
        "vp5": {"N": "3"},
        "a_fit_n": {"N": "3"},
        "a_fit_s": {"N": "14"},
        "a_quality_n": {"N": "1"},
        "a_quality_s": {"N": "2"},
        "count_total": {"N": "13"},
        "GSIPK": {"S": "LEADERS#pt-BR"},
        "GSISK": {"S": "000000000010#4%2F2"},
    }


def test_an_item_for_all_languages_is_on_the_common_leaderboard_and_has_no_count() -> None:
    assert counter_items.encode(StatisticsKey("42"), RatingCounts((0, 0, 0, 1, 9))) == {
        "PK": {"S": "PRODUCT#42"},
        "SK": {"S": "S"},
        "GSIPK": {"S": "LEADERS"},
        "GSISK": {"S": "000000000009#42"},
    }


def test_an_item_without_fives_is_on_no_leaderboard() -> None:
    item = counter_items.encode(StatisticsKey("42"), RatingCounts((3, 0, 0, 0, 0)))
    assert not {"GSIPK", "GSISK"} & item.keys()


@MORE
@given(keys, counts)
def test_decode_undoes_encode(key: StatisticsKey, held: RatingCounts) -> None:
    counted = key.language is not None or key.generation is not None
    decoded = counter_items.decode(counter_items.encode(key, held))
    assert decoded == (key, held if counted else RatingCounts())


def test_a_missing_attribute_counts_as_zero() -> None:
    item = counter_items.item_key(StatisticsKey("42", "en")) | {"count_2": {"N": "7"}}
    assert counter_items.decode(item) == (StatisticsKey("42", "en"), RatingCounts((0, 7, 0, 0, 0)))


def test_a_products_items_are_those_of_its_languages_and_its_leaderboard_item() -> None:
    counted = {EN: RatingCounts((0, 0, 0, 0, 2)), StatisticsKey("42", "de"): ONE_FIVE}
    assert list(counter_items.encode_all(counted)) == [
        *(counter_items.encode(key, held) for key, held in counted.items()),
        counter_items.encode(ALL, RatingCounts((0, 0, 0, 0, 3))),
    ]


def test_a_count_below_zero_shows_as_zero() -> None:
    """A negative count is wrong, and clients must not see it."""
    item = counter_items.encode(StatisticsKey("42", "en"), RatingCounts((-2, 0, 0, 0, 3)))
    assert statistics_of([item]).total == 3


EN, ALL = StatisticsKey("42", "en"), StatisticsKey("42")
ONE_FIVE = RatingCounts((0, 0, 0, 0, 1))


def test_consistent_statistics_are_valid() -> None:
    assert statistics_of([]).sound
    items = [counter_items.encode(ALL, ONE_FIVE), counter_items.encode(EN, ONE_FIVE)]
    assert statistics_of(items).sound
    assert statistics_of(items).of(["en"]).sound


@pytest.mark.parametrize(
    "item",
    [
        counter_items.encode(EN, RatingCounts((-1, 0, 0, 0, 1))),
        counter_items.encode(EN, ONE_FIVE) | {"p5": {"N": "-1"}},
        counter_items.encode(EN, ONE_FIVE) | {"a_fit_s": {"N": "-1"}},
        counter_items.encode(EN, ONE_FIVE) | {"count_total": {"N": "2"}},
        counter_items.encode(EN, ONE_FIVE) | {"count_1": {"N": "1"}},
    ],
    ids=["negative", "negative flag", "negative aspect", "total", "count"],
)
def test_inconsistent_statistics_are_not_valid(item: Item) -> None:
    assert not statistics_of([item]).sound


def test_no_change_of_counters_has_a_condition() -> None:
    changes = {EN: RatingCounts((1, 0, 0, 0, -1)), EN._replace(generation=3): RatingCounts()}
    assert not any("ConditionExpression" in one["Update"] for one in counter_items.actions(changes))


@given(language=st.sampled_from(LANGUAGES), steps=st.lists(changes, max_size=6))
async def test_actions_change_the_item_to_the_sum_of_the_changes(
    each_table: Table, language: str, steps: list[RatingCounts]
) -> None:
    """This is also true for a negative sum, because a wrong count must still change."""
    key = StatisticsKey(f"a/{uuid.uuid4().hex}", language)
    held = RatingCounts()
    for change in steps:
        await each_table.write(counter_items.actions({key: change}))
        held += change
        item = await each_table.get(counter_items.item_key(key)) or {}
        assert counter_items.decode(item) == (key, held)
        assert int(item.get("count_total", {"N": "0"})["N"]) == held.of()


async def test_counts_of_flags_and_aspects_cost_no_further_write_capacity(table: Table) -> None:
    """The largest counts of a language fit in 1 kB, for 2 WCU in a transaction.

    They are those of all flags and of six aspects with the longest names.
    """
    most, one = (10**9,) * 5, (1, 0, 0, 0, 0)
    names = [sum_names("a", f"{number}".rjust(20, "x")) for number in range(6)]
    many = tuple([one for n, s in names for one in ((n, 5 * 10**9), (s, 25 * 10**9))])
    few = tuple([one for n, s in names for one in ((n, 1), (s, 5))])
    changes = {EN: RatingCounts(most)}, {EN: RatingCounts(most, most * 3, many)}
    further = {EN: RatingCounts(one)}, {EN: RatingCounts(one, one * 3, few)}
    for change in (*changes, *further):
        with Account() as account:
            await table.write(counter_items.actions(change))
        assert (account.requests, account.wcu) == (1, 2.0)
