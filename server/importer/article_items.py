"""Items laid out as in the articles: their keys, and their values by the names of fields.

Values may be text or numbers, and stand beside the keys or packed into one attribute.
"""

import base64
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import orjson

from dal.table.item import Item

_PACKED = ("data", "comment", "payload", "attributes")
"""Attributes that hold others: a map, or a JSON object as text or bytes."""

_OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "product_id": ("product",),
    "username": ("user", "author"),
    "rating": ("stars", "score"),
    "language": ("lang",),
    "title": ("summary", "headline"),
    "text": ("body", "comment", "content"),
    "created_at": ("created", "created_date", "creation_date", "order_date", "date", "cd"),
    "updated_at": ("updated", "updated_date"),
    "verified_purchase": ("verified",),
    "status": ("order_status", "ticket_status"),
    "lines": ("items", "order_items", "order_lines"),
    "subscription_plan": ("plan_type", "plan"),
    "type": ("user_type", "role"),
    "subject": ("title",),
    "full_name": ("name",),
    "email": ("email_address",),
    "quantity": ("qty",),
    "unit_price": ("price",),
}
"""Under which names a field is looked for beside its own; capitals and ``_`` make no difference."""

_INDEX_KEY = re.compile(r"(GSI|LSI)[0-9]*(PK|SK)|OrderStatusDate|PlacedId", re.IGNORECASE)
"""Attributes that are keys in the articles, also where a table lacks the index."""


class Items(Protocol):
    """Items of one table, read once from the beginning, and some of them by their keys."""

    @property
    def partition_key(self) -> str:
        """The name of the partition key."""
        ...

    @property
    def sort_key(self) -> str | None:
        """The name of the sort key."""
        ...

    @property
    def keys(self) -> set[str]:
        """The attributes that are keys of the table or of an index."""
        ...

    def __iter__(self) -> Iterator[Item]: ...

    def collection(self, partition: str) -> Sequence[Item]:
        """Return the items of one partition."""
        ...

    def with_sort_key(self, sort: str) -> Sequence[Item]:
        """Return the items of one sort key, where an index finds them."""
        ...


class ArticleItem:
    """One item: its keys, and its values by the name of a field."""

    def __init__(self, item: Item, source: Items) -> None:
        self.partition = as_text(_plain(item.get(source.partition_key, {"S": ""})))
        sort = item.get(source.sort_key) if source.sort_key else None
        self.sort = self.partition if sort is None else as_text(_plain(sort))
        self.keys: dict[str, str] = {}
        own: dict[str, object] = {}
        for name, value in item.items():
            if name in source.keys or _INDEX_KEY.fullmatch(name):
                self.keys[name] = as_text(_plain(value))
            else:
                own[name] = _plain(value)
        self.values = _unpacked(own)

    def take(self, *fields: str) -> dict[str, object]:
        """Return the values of some fields by their names; what is left keeps the item's names."""
        taken, left = by_field(self.values, fields)
        return {name: value for name, value in left.items() if name not in taken} | taken

    def key(self, prefix: str) -> Iterator[str]:
        """Yield what follows a prefix in the keys of indexes."""
        for value in self.keys.values():
            if value.startswith(prefix):
                yield value[len(prefix) :]


def by_field(
    values: Mapping[str, object], fields: Sequence[str]
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the values of some fields, found under any of their names, and what is left."""
    left = dict(values)
    spelt = {_normal(name): name for name in reversed(left)}
    taken: dict[str, object] = {}
    for field in fields:
        for name in (field, *_OTHER_NAMES.get(field, ())):
            if (own := spelt.get(_normal(name))) in left:
                taken[field] = left.pop(own)
                break
    return taken, left


def as_text(value: object) -> str:
    """Return a value as text; nothing is empty."""
    return "" if value is None else str(value)


def _unpacked(values: Mapping[str, object]) -> dict[str, object]:
    """Return values with those that are packed into one of them beside the others."""
    own, packed = dict(values), dict[str, object]()
    for name, value in values.items():
        inner = _object(value) if _normal(name) in _PACKED else None
        if inner is not None:
            packed |= inner
            del own[name]
    return packed | own


def _object(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        with contextlib.suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    return value if isinstance(value, dict) else None


def _plain(value: Mapping[str, Any]) -> object:
    """Return an AttributeValue as JSON has it; bytes that are no text say how many they are."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {name: _plain(one) for name, one in content.items()}
    if kind == "L":
        return [_plain(one) for one in content]
    if kind == "N":
        return int(content) if re.fullmatch(r"-?[0-9]{1,15}", content) else content
    if kind == "B":
        return _of_bytes(content)
    if kind == "BS":
        return [_of_bytes(one) for one in content]
    return None if kind == "NULL" else content


def _of_bytes(content: bytes | str) -> str:
    raw = base64.b64decode(content) if isinstance(content, str) else content
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"{len(raw):,} bytes that are no text"


def _normal(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
