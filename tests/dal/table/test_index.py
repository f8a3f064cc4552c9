import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import (
    ALL,
    BY_LANGUAGE,
    BY_RATING,
    COMMENT,
    comment_position,
)
from dal.entities.order import (
    OPEN_ORDERS,
    ORDER_BY_ID,
    ORDERS_BY_DATE,
    ORDERS_BY_STATUS,
)
from dal.table.index import BY_DATE, QUEUE_SHARDS, Index, QueryRequest, query_arguments
from dal.table.ranges import Range
from tests.fakes import within
from tests.strategies import LANGUAGES, MORE, comments, identifiers

filters = st.fixed_dictionaries(
    {
        "product": identifiers,
        "language": st.sampled_from(LANGUAGES),
        "locale": st.sampled_from(["en-GB", "zh-Hant"]),
        "rating": st.sampled_from("12345"),
        "author": identifiers,
        "verified": st.just("true"),
        "hasPhotos": st.just("true"),
    }
)


def test_a_product_with_a_slash_is_not_a_product_in_a_language() -> None:
    product_alone = ALL.partition_of({"product": "42/en"})
    assert product_alone == "PRODUCT#42%2Fen"
    assert product_alone != BY_LANGUAGE.partition_of({"product": "42", "language": "en"})
    assert ALL.partition_of({"product": "42%2Fen"}) != product_alone


@MORE
@given(filters, filters)
def test_partition_keys_are_equal_only_for_equal_values(
    one: dict[str, str], other: dict[str, str]
) -> None:
    for index in COMMENT.indexes:
        same = all(one[field] == other[field] for field in index.partition)
        assert (index.partition_of(one) == index.partition_of(other)) == same


@MORE
@given(filters, filters)
def test_no_two_indexes_share_a_partition_key(one: dict[str, str], other: dict[str, str]) -> None:
    # byLang and byRating have keys of the same form, but a language tag is never a digit. byHelpful
    # has another order, so it is not compared.
    by_date = [index for index in COMMENT.indexes if index.order == BY_DATE]
    # byVerified and withPhotos have equal partition keys, but the locations are remembered by field
    # and value.
    assert len({frozenset(index.partition) for index in by_date}) == len(by_date)
    assert len({index.partition_of(one) for index in by_date}) == len(by_date) - 1
    assert len(by_date) == len(COMMENT.indexes) - 1
    assert BY_LANGUAGE.partition_of(one) != BY_RATING.partition_of(other)


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
    assert set(keys) == {f"PLACED#{shard}" for shard in range(QUEUE_SHARDS)}
    # An earlier version wrote these keys, so another hash would read the wrong partitions.
    assert keys[:4] == ["PLACED#1", "PLACED#7", "PLACED#5", "PLACED#3"]


def test_only_the_table_and_local_indexes_are_consistent() -> None:
    indexes = (ORDERS_BY_DATE, ORDERS_BY_STATUS, ORDER_BY_ID, OPEN_ORDERS, ALL)
    assert [index.consistent for index in indexes] == [True, True, False, False, False]
    assert Index(None, "PK", "SK", "ORG", ("organization",), ("user",)).consistent


positions = st.builds(comment_position, comments)
ends = st.none() | positions
ranges = st.builds(Range, ends, ends, st.booleans(), st.booleans())


def condition(span: Range) -> tuple[str, dict[str, str]]:
    arguments = query_arguments(QueryRequest(ALL, "PRODUCT#42", span))
    values = arguments["ExpressionAttributeValues"]
    return arguments["KeyConditionExpression"], {name: value["S"] for name, value in values.items()}


@pytest.mark.parametrize(
    ("span", "expression", "values"),
    [
        (Range(), "#p = :p", {}),
        (Range(low="b"), "#p = :p AND #s >= :l", {":l": "b"}),
        (Range(low="b", low_open=True), "#p = :p AND #s > :l", {":l": "b"}),
        (Range(high="d"), "#p = :p AND #s <= :h", {":h": "d"}),
        (Range(high="d", high_open=True), "#p = :p AND #s < :h", {":h": "d"}),
        (Range("b", "d"), "#p = :p AND #s BETWEEN :l AND :h", {":l": "b", ":h": "d"}),
        (
            Range("b", "d", low_open=True),
            "#p = :p AND #s BETWEEN :l AND :h",
            {":l": "b\0", ":h": "d"},
        ),
        (
            Range("b", "d", high_open=True),
            "#p = :p AND #s BETWEEN :l AND :h",
            {":l": "b", ":h": "c\U0010ffff"},
        ),
        (
            Range("b", "d", low_open=True, high_open=True),
            "#p = :p AND #s BETWEEN :l AND :h",
            {":l": "b\0", ":h": "c\U0010ffff"},
        ),
    ],
    ids=str,
)
def test_each_range_is_one_comparison(span: Range, expression: str, values: dict[str, str]) -> None:
    assert condition(span) == (expression, {":p": "PRODUCT#42", **values})


def test_all_other_arguments_of_a_query() -> None:
    start = {"PK": {"S": "COMMENT#1"}, "SK": {"S": "COMMENT#1"}}
    arguments = query_arguments(QueryRequest(ALL, "P", Range(low="b"), True, 20, start))
    del arguments["KeyConditionExpression"], arguments["ExpressionAttributeValues"]
    assert arguments == {
        "IndexName": "all",
        "ExpressionAttributeNames": {"#p": "GSI4PK", "#s": "GSISK"},
        "ScanIndexForward": False,
        "Limit": 20,
        "ReturnConsumedCapacity": "TOTAL",
        "ExclusiveStartKey": start,
    }


@MORE
@given(ranges, positions)
def test_a_key_condition_selects_exactly_the_keys_of_its_range(span: Range, key: str) -> None:
    expression, values = condition(span)
    at = key.encode()
    low, high = (values.get(name, "").encode() for name in (":l", ":h"))
    match expression.removeprefix("#p = :p AND #s ").split(" :")[0]:
        case "BETWEEN":
            holds = low <= at <= high
        case ">=":
            holds = at >= low
        case ">":
            holds = at > low
        case "<=":
            holds = at <= high
        case "<":
            holds = at < high
        case _:
            holds = True
    assert holds == within(span, key)


@MORE
@given(ranges)
def test_the_bounds_of_a_range_that_is_not_empty_do_not_cross(span: Range) -> None:
    """DynamoDB refuses a BETWEEN whose lower bound is above the upper one."""
    _, values = condition(span)
    if ":l" in values and ":h" in values and not span.empty:
        assert values[":l"].encode() <= values[":h"].encode()
