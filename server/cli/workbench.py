"""The table as a data model of NoSQL Workbench for DynamoDB, made from its one definition.

The format knows no local indexes. They stand among the global ones, with the table's own partition
key: the pictures are right, but a table must not be made from the model.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from dal.entities.declared import INDEXES
from dal.table.definition import table_definition
from dal.table.item import Item

_DESCRIPTION = (
    "Made by `marginalia table workbench`. Local secondary indexes, which this format cannot say: "
    "{local}. Make the table with `marginalia table create`."
)


def workbench_model(table: str, samples: Sequence[Item], made: datetime) -> dict[str, Any]:
    """Return the model of a table of that name, in version 3.0 of the format."""
    definition = table_definition(table, INDEXES)
    types = {
        one["AttributeName"]: one["AttributeType"] for one in definition["AttributeDefinitions"]
    }
    types = {**_types(samples), **types}
    indexes = [*definition["LocalSecondaryIndexes"], *definition["GlobalSecondaryIndexes"]]
    local = [index["IndexName"] for index in definition["LocalSecondaryIndexes"]]
    keys = _keys(definition, types)
    primary = {key["AttributeName"] for key in keys.values()}
    date = f"{made:%b %d, %Y, %I:%M %p}"
    return {
        "ModelName": table,
        "ModelMetadata": {
            "Author": "Marginalia",
            "DateCreated": date,
            "DateLastModified": date,
            "Description": _DESCRIPTION.format(local=", ".join(local)),
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": [
            {
                "TableName": table,
                "KeyAttributes": keys,
                "NonKeyAttributes": [
                    _attribute(name, types) for name in sorted(types) if name not in primary
                ],
                "TableFacets": [],
                "GlobalSecondaryIndexes": [_index(index, types) for index in indexes],
                "TableData": list(samples),
                "DataAccess": {"MySql": {}},
                "SampleDataFormats": {},
                "BillingMode": definition["BillingMode"],
            }
        ],
    }


def _types(samples: Sequence[Item]) -> Mapping[str, str]:
    return {name: kind for item in samples for name, value in item.items() for kind in value}


def _index(index: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    return {
        "IndexName": index["IndexName"],
        "KeyAttributes": _keys(index, types),
        "Projection": index["Projection"],
    }


def _keys(part: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    roles = {"HASH": "PartitionKey", "RANGE": "SortKey"}
    return {
        roles[key["KeyType"]]: _attribute(key["AttributeName"], types) for key in part["KeySchema"]
    }


def _attribute(name: str, types: Mapping[str, str]) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": types[name]}
