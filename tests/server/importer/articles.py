"""Tables laid out as in the articles, with what their items say as an oracle."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from dal.model import Comment
from dal.table.client import Table
from dal.table.item import Item

_INDEXES = {
    "byLangAndRating": ("GSIPK", "GSISK"),
    "byLang": ("GSI2PK", "GSISK"),
    "byRating": ("GSI3PK", "GSISK"),
    "all": ("GSI4PK", "GSISK"),
}
COPIES = {"gsi": ("sk", "cd")}
"""The first article's table: an index from the copies to the comments."""

ORDERS = {
    "byOrder": ("SK", "PK"),
    "byStatus": ("PK", "OrderStatusDate"),
    "placed": ("PlacedId", "PK"),
}
TICKETS = {"GSI1": ("GSI1PK", "GSI1SK")}


async def create(
    table: Table,
    indexes: dict[str, tuple[str, str]] | None = None,
    keys: tuple[str, str] = ("PK", "SK"),
) -> None:
    """Create a table with the articles' key names and indexes."""
    chosen = _INDEXES if indexes is None else indexes
    names = {*keys, *(name for pair in chosen.values() for name in pair)}
    await table.call(
        "create_table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": one, "AttributeType": "S"} for one in sorted(names)
        ],
        KeySchema=_schema(*keys),
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": _schema(*pair),
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, pair in chosen.items()
        ],
    )


def _schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def comments(count: int, *, seed: int) -> list[Comment]:
    """Comments of two products, of which many share their second; ids are the articles' numbers."""
    chance = random.Random(seed)
    start = datetime(2020, 11, 10, 16, 31, 30, tzinfo=UTC)
    return [
        Comment(
            comment_id=str(100_001 + number),
            product_id=chance.choice(["42", "43"]),
            username=f"user {number % 7}",
            rating=chance.choice([1, 2, 3, 4, 5, 5]),
            language=chance.choice(["en", "en", "fr", "pt-BR"]),
            title=f"Title {number}",
            text="It boils. \N{HOT BEVERAGE}" * chance.randrange(1, 4),
            created_at=start + timedelta(minutes=number // 3),
        )
        for number in range(count)
    ]


def item(comment: Comment, packing: str) -> Item:
    """A comment as the second article stores it, its texts plain or packed."""
    product, language, rating = comment.product_id, comment.language, str(comment.rating)
    texts = {"title": comment.title, "text": comment.text, "username": comment.username}
    of_product = f"PRODUCT#{product}"
    return {
        "PK": {"S": f"COMMENT#{comment.comment_id}"},
        "SK": {"S": f"COMMENT#{comment.comment_id}"},
        "GSIPK": {"S": f"{of_product}/{language}/{rating}"},
        "GSI2PK": {"S": f"{of_product}/{language}"},
        "GSI3PK": {"S": f"{of_product}/{rating}"},
        "GSI4PK": {"S": of_product},
        "GSISK": {"S": f"{comment.created_at:%Y-%m-%d %H:%M}"},
        "language": {"S": language},
        "rating": {"S": rating},
    } | _packed(texts, packing)


def copies(comment: Comment) -> list[Item]:
    """A comment as the first article stores it: copies for the filters that it passes."""
    product, language, rating = comment.product_id, comment.language, str(comment.rating)
    texts = {"title": comment.title, "text": comment.text, "username": comment.username}
    return [
        {
            "pk": {"S": f"COMMENT#{comment.comment_id}"},
            "sk": {"S": f"PRODUCT#{product}/{filters}"},
            "cd": {"S": f"{comment.created_at:%Y-%m-%dT%H:%M:%S}"},
            "language": {"S": language},
            "rating": {"S": rating},
            "comment": {"M": {name: {"S": value} for name, value in texts.items()}},
        }
        for filters in ("~/~", f"{language}/~", f"{language}/{rating}")
    ]


def _packed(texts: dict[str, str], packing: str) -> Item:
    values = {name: {"S": value} for name, value in texts.items()}
    forms: dict[str, Item] = {
        "plain": values,
        "map": {"comment": {"M": values}},
        "json": {"data": {"S": orjson.dumps(texts).decode()}},
        "bytes": {"data": {"B": orjson.dumps(texts)}},
    }
    return forms[packing]


def seen(created_at: datetime, *, minutes: bool) -> datetime:
    """The instant that a sort key of minutes, or of seconds, still tells."""
    return created_at.replace(second=0 if minutes else created_at.second, microsecond=0)


def model(*tables: dict[str, Any]) -> dict[str, Any]:
    """A data model as NoSQL Workbench exports it."""
    return {
        "ModelName": "Product Comments",
        "ModelMetadata": {"AWSService": "Amazon DynamoDB", "Version": "2.0"},
        "DataModel": list(tables),
    }


def model_table(
    keys: tuple[str, str], index: tuple[str, str], items: Sequence[Item]
) -> dict[str, Any]:
    """A table of a data model with one index."""
    return {
        "TableName": "comments",
        "KeyAttributes": _model_keys(*keys),
        "NonKeyAttributes": [],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "all",
                "KeyAttributes": _model_keys(*index),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "TableData": list(items),
        "DataAccess": {"MySql": {}},
    }


def _model_keys(partition: str, sort: str) -> dict[str, dict[str, str]]:
    return {
        "PartitionKey": {"AttributeName": partition, "AttributeType": "S"},
        "SortKey": {"AttributeName": sort, "AttributeType": "S"},
    }
