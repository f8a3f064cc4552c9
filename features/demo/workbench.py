"""Makes a data model of the table for NoSQL Workbench, Amazon's desktop application for DynamoDB.

The format of these models has no local secondary indexes. The model therefore lists the table's
local indexes as global indexes that have the table's partition key. NoSQL Workbench shows these
indexes correctly. But operators must not create a table from the model, because that table would
lack the local indexes.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from dal.counts import counter_items
from dal.counts.counts import deltas, summed
from dal.entities import INDEXES
from dal.entities.comment import COMMENT
from dal.entities.order import ORDER, purchases
from dal.entities.organization import ORGANIZATION_USER, encode_organization
from dal.entities.product import PRODUCT_DETAILS, word_items
from dal.entities.ticket import TICKET
from dal.model import OrderStatus
from dal.repositories.users import encode_profile
from dal.table.definition import table_definition
from dal.table.items import Item
from features.demo.demo_data import demo_comments, read_demo
from features.loading import kind as loading

_EACH = 3
"""Number of example comments, and maximum number of example tickets."""

_DESCRIPTION = (
    "Made by `marginalia table workbench`. This format has no local secondary indexes, so a table "
    "made from it would lack {local}. Create the table with `marginalia table create`."
)


def workbench_model(table: str, samples: Sequence[Item], made: datetime) -> dict[str, Any]:
    """Return the data model of a table, with the items ``samples`` as its data.

    The model is in version 3.0 of NoSQL Workbench's format. Its creation time is ``made``.
    """
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


def sample_items() -> list[Item]:
    """Return example items from the demo data.

    - Comments, the statistics that count them, and their products.
    - Orders, their users, and their purchases.
    - An organisation, its users, and its tickets.
    """
    return [*_of_comments(), *_of_customers(), *_of_organizations()]


def _of_comments() -> Iterator[Item]:
    *others, voted = demo_comments()[-_EACH:]
    comments = [*others, voted._replace(votes_before=2)]
    yield from map(COMMENT.encode, comments)
    for key, counts in summed(deltas(None, comment) for comment in comments).items():
        yield counter_items.encode(key, counts)
    products = dict(read_demo(loading.PRODUCTS))
    for product_id in dict.fromkeys(comment.product_id for comment in comments):
        pair = product_id, products[product_id]
        yield PRODUCT_DETAILS.encode(pair)
        yield from word_items(pair)


def _of_customers() -> Iterator[Item]:
    orders = read_demo(loading.ORDERS)
    shown = [next(one for one in orders if one.status is status) for status in OrderStatus]
    profiles = dict(read_demo(loading.PROFILES))
    for username in sorted({order.username for order in shown}):
        yield encode_profile(username, profiles[username])
    for order in shown:
        yield ORDER.encode(order)
        yield from purchases(order)


def _of_organizations() -> Iterator[Item]:
    roster = min(read_demo(loading.ORGANIZATIONS), key=lambda one: len(one.users))
    yield encode_organization(roster.organization)
    yield from map(ORGANIZATION_USER.encode, roster.users)
    name = roster.organization.name
    tickets = [one for one in read_demo(loading.TICKETS) if one.organization == name]
    yield from map(TICKET.encode, tickets[:_EACH])
