"""``marginalia table workbench``: the model agrees with the table, and its samples can be
stored.
"""

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.table.definition import table_definition
from features.demo.commands import workbench
from tests.features.demo.workbench_file import FILE, made

KINDS = ("COMMENT#", "PRODUCT#", "USER#", "ORG#", "TICKET#")


@pytest.fixture(scope="module")
def model() -> dict[str, Any]:
    app = typer.Typer()
    app.command()(workbench)
    outcome = CliRunner().invoke(app, ["--table", "shop"])
    assert outcome.exit_code == 0
    printed: dict[str, Any] = json.loads(outcome.output)
    return printed


def test_the_model_has_the_parts_of_the_published_format(model: dict[str, Any]) -> None:
    assert model.keys() == {"ModelName", "ModelMetadata", "DataModel"}
    assert model["ModelMetadata"].keys() == {
        *("Author", "DateCreated", "DateLastModified", "Description", "AWSService", "Version")
    }
    assert model["ModelMetadata"]["AWSService"] == "Amazon DynamoDB"
    (table,) = model["DataModel"]
    assert table["TableName"] == "shop"
    assert table["KeyAttributes"] == {
        "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
        "SortKey": {"AttributeName": "SK", "AttributeType": "S"},
    }
    assert {"rating", "data", "GSI1PK", "OrderDate"} <= {
        one["AttributeName"] for one in table["NonKeyAttributes"]
    }


def test_the_model_has_the_indexes_of_the_table(model: dict[str, Any]) -> None:
    definition = table_definition("shop", INDEXES)
    declared = [*definition["LocalSecondaryIndexes"], *definition["GlobalSecondaryIndexes"]]
    shown = model["DataModel"][0]["GlobalSecondaryIndexes"]
    assert [one["IndexName"] for one in shown] == [one["IndexName"] for one in declared]
    for one, index in zip(shown, declared, strict=True):
        keys = one["KeyAttributes"]
        assert [keys["PartitionKey"]["AttributeName"], keys["SortKey"]["AttributeName"]] == [
            key["AttributeName"] for key in index["KeySchema"]
        ]
        assert one["Projection"] == index["Projection"]
    assert "would lack byDate, byStatusDate." in model["ModelMetadata"]["Description"]


def test_the_samples_of_each_kind_have_the_declared_attributes(model: dict[str, Any]) -> None:
    (table,) = model["DataModel"]
    types = {one["AttributeName"]: one["AttributeType"] for one in table["NonKeyAttributes"]}
    keys = [(item["PK"]["S"], item["SK"]["S"]) for item in table["TableData"]]
    assert len(set(keys)) == len(keys)
    assert all(any(key.startswith(kind) for key, _ in keys) for kind in KINDS)
    for item in table["TableData"]:
        for name, value in item.items():
            assert list(value) == [types.get(name, "S")]
    for index in table["GlobalSecondaryIndexes"]:
        name = index["KeyAttributes"]["SortKey"]["AttributeName"]
        assert any(name in item for item in table["TableData"])


def test_the_committed_model_equals_the_tables() -> None:
    committed = FILE.read_text("utf-8")
    assert committed == made(committed), "run `make docs` and commit it"


async def test_an_engine_stores_the_samples(model: dict[str, Any], each_table: Table) -> None:
    await each_table.put_many(model["DataModel"][0]["TableData"])
