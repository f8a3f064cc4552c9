from typing import Any

import pytest

from dal.dynamodb import admin
from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.table.definition import refuse_outdated, table_definition
from dal.table.errors import StoreRefusedError
from dal.table.index import TABLE_KEYS


async def test_the_table_has_the_declared_keys_and_indexes(each_table: Table) -> None:
    description = await admin.describe(each_table)
    assert _keys(description) == TABLE_KEYS
    declared = {index.name: index for index in INDEXES if index.name is not None}
    found = _indexes(description)
    assert {name: _keys(one) for name, one in found.items()} == {
        name: (index.partition_key, index.sort_key) for name, index in declared.items()
    }
    local = {one["IndexName"] for one in description["LocalSecondaryIndexes"]}
    assert local == {name for name, index in declared.items() if index.local}
    for name, one in found.items():
        assert one["Projection"]["ProjectionType"] == "INCLUDE"
        shown = {at for index in INDEXES if index.name == name for at in index.projects}
        assert set(one["Projection"]["NonKeyAttributes"]) == shown
    refuse_outdated(description, INDEXES)


def test_local_indexes_have_the_partitions_of_the_table() -> None:
    for index in INDEXES:
        if index.local:
            assert index.partition_key == "PK"


def test_kinds_of_rows_that_share_an_index_agree_on_its_keys() -> None:
    keys = {(one.name, one.partition_key, one.sort_key, one.local) for one in INDEXES}
    assert len(keys) == len({one.name for one in INDEXES})


@pytest.mark.parametrize(
    ("gone", "named"), [(1, "the index byDate"), (2, "the indexes byDate, byStatusDate")]
)
def test_a_table_of_an_older_version_is_refused_with_its_missing_indexes(
    gone: int, named: str
) -> None:
    definition = table_definition("t", INDEXES)
    del definition["LocalSecondaryIndexes"][:gone]
    with pytest.raises(StoreRefusedError, match=f"table t lacks {named}, ") as fault:
        refuse_outdated(definition, INDEXES)
    assert "`marginalia table upgrade`" in str(fault.value)


def test_a_table_without_local_indexes_is_refused() -> None:
    definition = table_definition("t", INDEXES)
    del definition["LocalSecondaryIndexes"]
    with pytest.raises(StoreRefusedError, match="lacks the indexes byDate, byStatusDate"):
        refuse_outdated(definition, INDEXES)


@pytest.mark.parametrize("spoiled", ["a projection", "a key"])
def test_an_index_that_projects_less_or_has_other_keys_is_refused(spoiled: str) -> None:
    definition = table_definition("t", INDEXES)
    index = next(one for one in definition["GlobalSecondaryIndexes"] if one["IndexName"] == "all")
    if spoiled == "a key":
        index["KeySchema"][1]["AttributeName"] = "SK"
    else:
        index["Projection"]["NonKeyAttributes"].remove("language")
    wrong = (
        "This version cannot use the index all of the table t, because needed keys or attributes "
        "are missing"
    )
    with pytest.raises(StoreRefusedError, match=wrong):
        refuse_outdated(definition, INDEXES)


def test_an_index_that_projects_more_is_accepted() -> None:
    definition = table_definition("t", INDEXES)
    first, second, *_ = definition["GlobalSecondaryIndexes"]
    first["Projection"] = {"ProjectionType": "ALL"}
    second["Projection"]["NonKeyAttributes"].append("more")
    refuse_outdated(definition, INDEXES)


def _indexes(description: dict[str, Any]) -> dict[str, Any]:
    kinds = ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
    return {one["IndexName"]: one for kind in kinds for one in description[kind]}


def _keys(part: dict[str, Any]) -> tuple[str, ...]:
    assert [one["KeyType"] for one in part["KeySchema"]] == ["HASH", "RANGE"]
    return tuple(one["AttributeName"] for one in part["KeySchema"])
