from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.entities.comment import ALL, comment_position
from dal.table.index import QueryRequest, query_arguments
from dal.table.ranges import Range
from tests.fakes import within
from tests.strategies import MORE, comments

START = {"PK": {"S": "COMMENT#1"}, "SK": {"S": "COMMENT#1"}}
positions = st.builds(comment_position, comments)
ends = st.none() | positions
ranges = st.builds(Range, ends, ends, st.booleans(), st.booleans())


def request(span: Range, *, descending: bool = True, start: Any = None) -> QueryRequest:
    return QueryRequest(ALL, "PRODUCT#42", span, descending, 20, start)


def condition(span: Range) -> tuple[str, dict[str, str]]:
    arguments = query_arguments(request(span))
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


def test_the_rest_of_the_arguments() -> None:
    arguments = query_arguments(request(Range(low="b")))
    del arguments["KeyConditionExpression"], arguments["ExpressionAttributeValues"]
    assert arguments == {
        "IndexName": "all",
        "ExpressionAttributeNames": {"#p": "GSI4PK", "#s": "GSISK"},
        "ScanIndexForward": False,
        "Limit": 20,
        "ReturnConsumedCapacity": "TOTAL",
    }


def test_a_name_that_no_condition_uses_is_not_sent() -> None:
    assert query_arguments(request(Range()))["ExpressionAttributeNames"] == {"#p": "GSI4PK"}


def test_reading_upwards_and_going_on() -> None:
    arguments = query_arguments(request(Range(), descending=False, start=START))
    assert arguments["ScanIndexForward"] is True
    assert arguments["ExclusiveStartKey"] == START


@MORE
@given(ranges)
def test_never_a_prefix_nor_a_filter(span: Range) -> None:
    arguments = query_arguments(request(span))
    assert "begins_with" not in arguments["KeyConditionExpression"]
    assert not {"FilterExpression", "ProjectionExpression", "QueryFilter"} & set(arguments)


@MORE
@given(ranges, positions)
def test_the_comparison_holds_for_exactly_the_keys_of_the_range(span: Range, key: str) -> None:
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
def test_what_is_not_empty_can_be_asked(span: Range) -> None:
    """DynamoDB refuses a BETWEEN whose ends cross."""
    _, values = condition(span)
    if ":l" in values and ":h" in values and not span.empty:
        assert values[":l"].encode() <= values[":h"].encode()
