import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import ALL, BY_LANGUAGE, BY_LANGUAGE_AND_RATING, BY_RATING, COMMENT
from dal.entities.order import (
    OPEN_ORDERS,
    OPEN_SHARDS,
    ORDER_BY_ID,
    ORDERS_BY_DATE,
    ORDERS_BY_STATUS,
)
from dal.table.index import BY_DATE, Index
from tests.strategies import LANGUAGES, MORE, identifiers

filters = st.fixed_dictionaries(
    {
        "product": identifiers,
        "language": st.sampled_from(LANGUAGES),
        "rating": st.sampled_from("12345"),
        "author": identifiers,
    }
)


def test_a_product_with_a_slash_is_not_a_product_in_a_language() -> None:
    product_alone = ALL.partition_of({"product": "42/en"})
    assert product_alone == "PRODUCT#42%2Fen"
    assert product_alone != BY_LANGUAGE.partition_of({"product": "42", "language": "en"})
    assert ALL.partition_of({"product": "42%2Fen"}) != product_alone


@MORE
@given(filters, filters)
def test_partition_keys_agree_only_where_the_values_do(
    one: dict[str, str], other: dict[str, str]
) -> None:
    for index in COMMENT.indexes:
        same = all(one[field] == other[field] for field in index.partition)
        assert (index.partition_of(one) == index.partition_of(other)) == same


@MORE
@given(filters, filters)
def test_no_two_indexes_share_a_partition_key(one: dict[str, str], other: dict[str, str]) -> None:
    # byLang and byRating have the same shape; a language tag is never one digit.
    partitions = {index.partition_of(one) for index in COMMENT.indexes}
    assert len(partitions) == len(COMMENT.indexes)
    assert BY_LANGUAGE.partition_of(one) != BY_RATING.partition_of(other)


def test_partitions_read_as_the_design_says() -> None:
    values = {"product": "42", "language": "en", "rating": "5"}
    assert [index.partition_of(values) for index in (BY_LANGUAGE_AND_RATING, BY_LANGUAGE)] == [
        "PRODUCT#42/en/5",
        "PRODUCT#42/en",
    ]
    assert BY_RATING.partition_of(values) == "PRODUCT#42/5"


@pytest.mark.parametrize(
    ("index", "keys"),
    [
        (ORDERS_BY_DATE, ("USER#a%2Fb", "2020#7")),
        (ORDERS_BY_STATUS, ("USER#a%2Fb", "SHIPPED#2020#7")),
        (ORDER_BY_ID, ("ORDER#7%23", "ORDER#2020#7")),
        (
            Index("x", "P", "S", "ORG", ("user", "order"), BY_DATE, between="#USER#"),
            ("ORG#a%2Fb#USER#7%23", "2020#7"),
        ),
    ],
)
def test_keys_of_a_row(index: Index, keys: tuple[str, str]) -> None:
    values = {"user": "a/b", "status": "SHIPPED", "order": "7#"}
    partition, sort = keys
    assert index.keys_of(values, "2020#7") == {
        index.partition_key: {"S": partition},
        index.sort_key: {"S": sort},
    }


def test_shards_are_stable_and_all_used() -> None:
    keys = [OPEN_ORDERS.keys_of({}, f"2020#{number}")["PlacedId"]["S"] for number in range(200)]
    assert set(keys) == {f"PLACED#{shard}" for shard in range(OPEN_SHARDS)}
    # Written by an earlier version: another hash would leave them in partitions of their own.
    assert keys[:4] == ["PLACED#1", "PLACED#7", "PLACED#5", "PLACED#3"]


def test_only_the_table_and_local_indexes_are_consistent() -> None:
    indexes = (ORDERS_BY_DATE, ORDERS_BY_STATUS, ORDER_BY_ID, OPEN_ORDERS, ALL)
    assert [index.consistent for index in indexes] == [True, True, False, False, False]
    assert Index(None, "PK", "SK", "ORG", ("organization",), ("user",)).consistent
