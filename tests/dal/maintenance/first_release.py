"""The table of the first release: only comments, in four global indexes.

That release counted no comments, and its items did not expire. Items are written here in its form.
Local indexes were added in a later release. Most tests create the table with today's local indexes,
because an upgrade cannot add them.
"""

from typing import Any

import orjson

from dal.dynamodb.table import Table
from dal.entities import INDEXES
from dal.model import Comment
from dal.table.definition import table_definition
from dal.table.items import Item
from dal.table.key_parts import escape, format_instant

_INDEXES = {"all": "GSI4PK", "byLang": "GSI2PK", "byRating": "GSI3PK", "byLangAndRating": "GSIPK"}


def definition(name: str, *, local: bool) -> dict[str, Any]:
    """Return CreateTable's arguments, with today's local indexes or none."""
    indexes = table_definition(name, INDEXES)["LocalSecondaryIndexes"] if local else []
    sort_keys = [one["KeySchema"][1]["AttributeName"] for one in indexes]
    keys = ("GSI2PK", "GSI3PK", "GSI4PK", "GSIPK", "GSISK", "PK", "SK", *sort_keys)
    return {
        **({"LocalSecondaryIndexes": indexes} if local else {}),
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
        "KeySchema": _schema("PK", "SK"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": _schema(key, "GSISK"),
                "Projection": {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": ["rating", "language", "data"],
                },
            }
            for index, key in _INDEXES.items()
        ],
    }


def item(comment: Comment) -> Item:
    """Return a comment's item in the form of the first release."""
    product, language, rating = escape(comment.product_id), comment.language, str(comment.rating)
    data = {"title": comment.title, "text": comment.text, "username": comment.username}
    strings = {
        "PK": f"COMMENT#{escape(comment.comment_id)}",
        "SK": f"COMMENT#{escape(comment.comment_id)}",
        "GSIPK": f"PRODUCT#{product}/{language}/{rating}",
        "GSI2PK": f"PRODUCT#{product}/{language}",
        "GSI3PK": f"PRODUCT#{product}/{rating}",
        "GSI4PK": f"PRODUCT#{product}",
        "GSISK": f"{format_instant(comment.created_at)}#{escape(comment.comment_id)}",
        "language": language,
        "data": orjson.dumps(data).decode(),
    }
    return {**{name: {"S": value} for name, value in strings.items()}, "rating": {"N": rating}}


async def create(table: Table, comments: list[Comment], *without: str, local: bool = True) -> None:
    """Create the table with comments. ``without`` names global indexes to omit."""
    made = definition(table.name, local=local)
    gone = {_INDEXES[name] for name in without}
    made["GlobalSecondaryIndexes"] = [
        one for one in made["GlobalSecondaryIndexes"] if one["IndexName"] not in without
    ]
    made["AttributeDefinitions"] = [
        one for one in made["AttributeDefinitions"] if one["AttributeName"] not in gone
    ]
    await table.once("create_table", **made)
    rows = [item(comment) for comment in comments]
    await table.put_many([{k: v for k, v in row.items() if k not in gone} for row in rows])


def _schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]
