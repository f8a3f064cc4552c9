from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb import Table
from dal.indexes import ALL, BY_LANGUAGE, BY_LANGUAGE_AND_RATING, BY_RATING, COMMENT_INDEXES
from tests.strategies import LANGUAGES, MORE, identifiers

filters = st.fixed_dictionaries(
    {
        "product": identifiers,
        "language": st.sampled_from(LANGUAGES),
        "rating": st.sampled_from("12345"),
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
    for index in COMMENT_INDEXES:
        same = all(one[field] == other[field] for field in index.partition)
        assert (index.partition_of(one) == index.partition_of(other)) == same


@MORE
@given(filters, filters)
def test_no_two_indexes_share_a_partition_key(one: dict[str, str], other: dict[str, str]) -> None:
    # byLang and byRating have the same shape; a language tag is never one digit.
    partitions = {index.partition_of(one) for index in COMMENT_INDEXES}
    assert len(partitions) == len(COMMENT_INDEXES)
    assert BY_LANGUAGE.partition_of(one) != BY_RATING.partition_of(other)


async def test_the_table_has_the_declared_keys_and_indexes(each_table: Table) -> None:
    description = await each_table.describe()
    assert _keys(description["KeySchema"]) == ["PK", "SK"]
    assert {one["AttributeName"] for one in description["AttributeDefinitions"]} == {
        *("PK", "SK", "GSIPK", "GSI2PK", "GSI3PK", "GSI4PK", "GSISK")
    }
    indexes = {one["IndexName"]: one for one in description["GlobalSecondaryIndexes"]}
    assert {name: _keys(one["KeySchema"]) for name, one in indexes.items()} == {
        "byLangAndRating": ["GSIPK", "GSISK"],
        "byLang": ["GSI2PK", "GSISK"],
        "byRating": ["GSI3PK", "GSISK"],
        "all": ["GSI4PK", "GSISK"],
    }
    for one in indexes.values():
        assert one["Projection"]["ProjectionType"] == "INCLUDE"
        assert set(one["Projection"]["NonKeyAttributes"]) == {"rating", "language", "data"}


def test_partitions_read_as_the_design_says() -> None:
    values = {"product": "42", "language": "en", "rating": "5"}
    assert [index.partition_of(values) for index in (BY_LANGUAGE_AND_RATING, BY_LANGUAGE)] == [
        "PRODUCT#42/en/5",
        "PRODUCT#42/en",
    ]
    assert BY_RATING.partition_of(values) == "PRODUCT#42/5"


def _keys(schema: list[dict[str, str]]) -> list[str]:
    assert [one["KeyType"] for one in schema] == ["HASH", "RANGE"]
    return [one["AttributeName"] for one in schema]
