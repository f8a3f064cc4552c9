"""The forms in which a comment's texts can be stored: their size, their cost, how they decode.

*Attributes* has an attribute for each text. *JSON* is what the table holds: one attribute ``data``
with an object, legible in the console. *MessagePack* and *Protocol Buffers* are the same values in
one binary attribute, with their names and with numbers in place of them.
"""

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean, median
from typing import Any

import orjson

from dal.entities.comment import ALL, COMMENT, comment_position
from dal.model import Comment
from dal.table.client import Table
from dal.table.concurrency import batched
from dal.table.definition import table_definition
from dal.table.index import Index
from dal.table.item import Item
from dal.table.keys import INSTANT_LENGTH, format_instant, parse_instant, unescape
from dal.table.requests import QueryRequest, answers

SIZE = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Form:
    """One form: the attributes of a comment's texts, and how a row's are read back."""

    name: str
    attributes: Callable[[Comment], Item]
    read: Callable[[Item], tuple[str, str, str, datetime | None, bool]]
    """Return username, title, text, when it was edited, and whether the purchase is verified."""

    def encode(self, comment: Comment) -> Item:
        """Return the whole item of a comment in this form."""
        item = COMMENT.encode(comment)
        del item["data"]
        return item | self.attributes(comment)

    def decode(self, row: Item) -> Comment:
        """Return the comment of an index row, as the API decodes its own."""
        position = row[ALL.sort_key]["S"]
        username, title, text, updated_at, verified = self.read(row)
        return Comment(
            unescape(position[INSTANT_LENGTH + 1 :]),
            unescape(row[ALL.partition_key]["S"][len("PRODUCT#") :]),
            username,
            int(row["rating"]["N"]),
            row["language"]["S"],
            title,
            text,
            parse_instant(position[:INSTANT_LENGTH]),
            updated_at,
            verified,
        )


@dataclass(slots=True)
class Weight:
    """What one form comes to; bytes and microseconds are means."""

    item_bytes: float = 0.0
    row_bytes: float = 0.0
    answer_bytes: float = 0.0
    """Of a page on the wire, where bytes are base64."""
    capacity: float = 0.0
    """RCU of a page, as the engine counts it."""
    microseconds: float = 0.0
    """From the answer's bytes to the comments of a page."""


def _plain(comment: Comment) -> Item:
    item: Item = {name: {"S": getattr(comment, name)} for name in ("title", "text", "username")}
    if comment.updated_at is not None:
        item["updatedAt"] = {"S": format_instant(comment.updated_at)}
    if comment.verified_purchase:
        item["verifiedPurchase"] = {"BOOL": True}
    return item


def _read_plain(row: Item) -> tuple[str, str, str, datetime | None, bool]:
    updated_at = parse_instant(row["updatedAt"]["S"]) if "updatedAt" in row else None
    return (
        row["username"]["S"],
        row["title"]["S"],
        row["text"]["S"],
        updated_at,
        "verifiedPurchase" in row,
    )


def _of_names(data: Mapping[str, Any]) -> tuple[str, str, str, datetime | None, bool]:
    updated_at = data.get("updatedAt")
    return (
        data["username"],
        data["title"],
        data["text"],
        parse_instant(updated_at) if updated_at else None,
        data.get("verifiedPurchase", False),
    )


def _json_data(comment: Comment) -> Item:
    return {"data": COMMENT.attributes(comment)["data"]}


def _binary(content: bytes) -> Item:
    return {"data": {"B": content}}


def _content(row: Item) -> bytes:
    return base64.b64decode(row["data"]["B"])


def forms() -> list[Form]:
    """Return all forms; ModuleNotFoundError without msgpack and protobuf, which ``dev`` has."""
    import msgpack  # noqa: PLC0415 - nothing else needs it

    def packed(comment: Comment) -> Item:
        return _binary(msgpack.packb(orjson.loads(_json_data(comment)["data"]["S"])))

    message = _message()

    def buffered(comment: Comment) -> Item:
        told: dict[str, Any] = {
            "title": comment.title,
            "text": comment.text,
            "username": comment.username,
        }
        if comment.updated_at is not None:
            told["updated_at"] = (comment.updated_at - _EPOCH) // _MICROSECOND
        return _binary(message(**told, verified=comment.verified_purchase).SerializeToString())

    def unbuffered(row: Item) -> tuple[str, str, str, datetime | None, bool]:
        one = message.FromString(_content(row))
        edited = _EPOCH + timedelta(microseconds=one.updated_at) if one.updated_at else None
        return one.username, one.title, one.text, edited, one.verified

    return [
        Form("attributes", _plain, _read_plain),
        Form("JSON", _json_data, lambda row: _of_names(orjson.loads(row["data"]["S"]))),
        Form("MessagePack", packed, lambda row: _of_names(msgpack.unpackb(_content(row)))),
        Form("Protocol Buffers", buffered, unbuffered),
    ]


def _message() -> Any:
    """Return the class of the message, described here instead of by generated code."""
    from google.protobuf import (  # noqa: PLC0415 - nothing else needs it
        descriptor_pb2,
        descriptor_pool,
        message_factory,
    )

    kinds = descriptor_pb2.FieldDescriptorProto
    fields = {
        "title": kinds.TYPE_STRING,
        "text": kinds.TYPE_STRING,
        "username": kinds.TYPE_STRING,
        "updated_at": kinds.TYPE_INT64,
        "verified": kinds.TYPE_BOOL,
    }
    file = descriptor_pb2.FileDescriptorProto(name="comment.proto", syntax="proto3")
    described = file.message_type.add(name="Data")
    for number, (name, type_) in enumerate(fields.items(), 1):
        described.field.add(name=name, number=number, type=type_, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Data"))


def size_of(item: Item, names: Sequence[str]) -> int:
    """Return the bytes of some attributes as DynamoDB counts them: names, text in UTF-8, digits."""
    size = 0
    for name in names:
        if name in item:
            ((kind, value),) = item[name].items()
            sizes = {"S": lambda v: len(v.encode()), "N": lambda v: len(v) // 2 + 1, "B": len}
            size += len(name) + sizes.get(kind, lambda _: 1)(value)
    return size


async def weigh(form: Form, comments: Sequence[Comment], table: Table) -> Weight:
    """Store comments in ``table``, which is created, and walk all pages of each product."""
    items = [form.encode(one) for one in comments]
    shown = tuple(dict.fromkeys(name for item in items for name in item if name not in _KEYS))
    index = Index(
        "all", ALL.partition_key, ALL.sort_key, "PRODUCT", ("product",), ALL.order, (), shown
    )
    definition = table_definition(table.name, [index])
    del definition["LocalSecondaryIndexes"]  # there are none, and an empty list is refused
    await table.once("create_table", **definition)
    await table.put_many(items)
    weight = Weight(
        item_bytes=mean(size_of(item, list(item)) for item in items),
        row_bytes=mean(size_of(item, index.attributes) for item in items),
        answer_bytes=mean(map(len, pages(form, comments))),
    )
    products = sorted({one[ALL.partition_key]["S"] for one in items})
    spent = [
        answer.capacity
        for product in products
        async for answer in answers(
            table.query, QueryRequest(index, product, descending=True, limit=SIZE)
        )
        if answer.items
    ]
    weight.capacity = mean(spent)
    return weight


_KEYS = {
    "PK",
    "SK",
    *(name for one in COMMENT.indexes for name in (one.partition_key, one.sort_key)),
}


def pages(form: Form, comments: Sequence[Comment]) -> list[bytes]:
    """Return the bodies of DynamoDB's answers of full pages, newest first."""
    ordered = sorted(comments, key=lambda one: (one.product_id, comment_position(one)))
    rows = [_row(form.encode(one)) for one in reversed(ordered)]
    return [
        orjson.dumps({"Items": page, "Count": SIZE, "ScannedCount": SIZE}, default=_base64)
        for page in batched(rows, SIZE)
        if len(page) == SIZE
    ]


def _row(item: Item) -> Item:
    """Return what the index of all comments of a product shows of an item."""
    others = _KEYS - {"PK", "SK", ALL.partition_key, ALL.sort_key}
    return {name: value for name, value in item.items() if name not in others}


def _base64(content: object) -> str:
    assert isinstance(content, bytes)  # noqa: S101 - orjson knows all else
    return base64.b64encode(content).decode()


def time_decoding(
    chosen: Sequence[Form], comments: Sequence[Comment], rounds: int
) -> Iterator[dict[str, float]]:
    """Yield after each round the median of microseconds a page so far, by form, taken in turns."""
    bodies = {form.name: pages(form, comments) for form in chosen}
    taken: dict[str, list[float]] = {form.name: [] for form in chosen}
    for number in range(rounds):
        first = number % len(chosen)
        for form in (*chosen[first:], *chosen[:first]):
            start = time.process_time()
            for body in bodies[form.name]:
                for row in orjson.loads(body)["Items"]:
                    form.decode(row)
            spent = time.process_time() - start
            taken[form.name].append(spent / len(bodies[form.name]) * 1e6)
        yield {name: median(times) for name, times in taken.items()}
