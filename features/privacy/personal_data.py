"""Personal data: finds every item that names a user, and returns the items as JSON values.

``find`` reads the user's partitions by Query. ``find`` misses items that an index does not contain
yet, and tickets of an organisation that the user has left. ``scan`` misses nothing, because it
reads the whole table consistently. Both functions search for the name in keys, and in the fields of
``data`` that contain user names. They do not search in texts.
"""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dal.dynamodb.scan import Progress, scan_all
from dal.dynamodb.table import Table
from dal.entities.comment import BY_AUTHOR, KEYED
from dal.entities.organization import (
    ORGANIZATIONS_OF_USER,
    is_organization_user,
)
from dal.entities.submission import HELD, HELD_BY_AUTHOR
from dal.entities.ticket import TICKETS_OF_USER, is_ticket
from dal.kinds.item_kind import ItemKind, kind_of
from dal.table.entity import UNREADABLE, unpacked
from dal.table.errors import StoreRefusedError
from dal.table.index import TABLE, Index, QueryRequest, query_all
from dal.table.items import Item, key_of, key_pair
from dal.table.key_parts import escape, format_instant, unescape

_ITEMS_AT_ONCE = 100


_NAMED_IN_KEY = re.compile(
    "(?:AUTHOR|DID|USER|REPORT|ORG#[^#]+#USER)#([^#/]+)(?:/held)?|TICKET#[^#/]+/([^#/]+)/[A-Z]+"
)
_NAMED_IN_DATA = frozenset({"username", "by"})


def kind_in(item: Item, name: str, kinds: Sequence[ItemKind]) -> ItemKind | None:
    """Return the kind of an item that names the user; None if it does not name the user.

    Raises StoreRefusedError if an item of an unknown kind has the name in a key, because the item
    may name the user.
    """
    kind = kind_of(item, kinds)
    if kind is not None and not kind.name:
        return None
    person = escape(name)
    keys = [value["S"] for attribute, value in item.items() if attribute != "data" and "S" in value]
    if kind is None:
        if not any(person in key.replace("#", "/").split("/") for key in keys):
            return None
        raise StoreRefusedError(
            f"The item {item['PK']['S']} / {item['SK']['S']} may name {name}, but this version "
            "does not know this kind of item: use the version that wrote the item."
        )
    named = any(person in match.groups() for key in keys if (match := _NAMED_IN_KEY.fullmatch(key)))
    if not named:
        with suppress(*UNREADABLE):
            named = _names(unpacked(item), name)
    if not named:
        return None
    other = kind.of_another is not None and item["PK"]["S"] != f"USER#{person}"
    return kind.of_another if other else kind


def _names(data: Any, name: str) -> bool:
    return isinstance(data, dict) and any(
        (field in _NAMED_IN_DATA and value == name) or _names(value, name)
        for field, value in data.items()
    )


async def find(table: Table, name: str, kinds: Sequence[ItemKind]) -> AsyncIterator[Item]:
    """Yield the items that name a user, found by Queries. Each item is read consistently.

    Each membership in an organisation is yielded after the user's tickets in this organisation. If
    a caller erases the items in this order and is interrupted, the next call still finds the
    tickets by the membership.
    """
    author = {"author": name, "part": HELD}
    for index, partition in (
        (BY_AUTHOR, BY_AUTHOR.partition_of(author)),
        (HELD_BY_AUTHOR, HELD_BY_AUTHOR.partition_of(author)),
        (ORGANIZATIONS_OF_USER, ORGANIZATIONS_OF_USER.partition_of({"username": name})),
    ):
        async for item in _named(table, index, partition, name, kinds):
            if is_organization_user(item):
                organization = unescape(item["PK"]["S"].partition("#")[2])
                owner = {"organization": organization, "username": name}
                tickets = TICKETS_OF_USER.partition_of(owner)
                async for ticket in _named(table, TICKETS_OF_USER, tickets, name, kinds):
                    if is_ticket(ticket):
                        yield ticket
            yield item
    async for item in _named(table, TABLE, f"USER#{escape(name)}", name, kinds):
        yield item


async def _named(
    table: Table, index: Index, partition: str, name: str, kinds: Sequence[ItemKind]
) -> AsyncIterator[Item]:
    """Yield the items of a partition that name the user, each read consistently."""
    consistent = index.consistent
    request = QueryRequest(index, partition, limit=_ITEMS_AT_ONCE, consistent=consistent)
    async for response in query_all(table.query, request):
        items = response.items
        if not consistent:
            items = await table.get_many([key_of(row) for row in items])
        for item in items:
            if kind_in(item, name, kinds) is not None:
                yield item


async def scan(table: Table, name: str, seen: Progress, kinds: Sequence[ItemKind]) -> list[Item]:
    """Return the items that name a user. One consistent scan of the table finds them."""
    found: list[Item] = []
    await scan_all(
        table, seen, lambda items: found.extend(one for one in items if kind_in(one, name, kinds))
    )
    return found


def exported(items: Iterable[Item], name: str, kinds: Sequence[ItemKind]) -> dict[str, Any]:
    """Return the items that name a user, as JSON values in one list for each kind.

    Each list is sorted by key. ``profile`` and ``standing`` have one value or None instead of a
    list. An unreadable item becomes ``{"unreadable": …}`` with the item as it is stored.
    ``idempotencyKeys`` has the ids of comments with an idempotency key, and until when each key is
    kept. Items that do not name the user are omitted.
    """
    lists: dict[str, list[Any]] = {kind.name: [] for kind in kinds if kind.name}
    keys: list[Any] = []
    for item in sorted(items, key=key_pair):
        kind = kind_in(item, name, kinds)
        if kind is None:
            continue
        try:
            lists[kind.name].append(_json(kind.decode(item)))
        except UNREADABLE:
            lists[kind.name].append({"unreadable": item})
        if KEYED in item:
            until = datetime.fromtimestamp(int(item[KEYED]["S"].partition("#")[0]), UTC)
            keys.append(
                {
                    "commentId": unescape(item["PK"]["S"].partition("#")[2]),
                    "keptUntil": format_instant(until),
                }
            )
    # The tombstone of an ended block is an empty standing.
    ones = {kind.name: next(filter(None, lists[kind.name]), None) for kind in kinds if kind.single}
    return {"username": name, **lists, **ones, "idempotencyKeys": keys}


def _json(value: Any) -> Any:
    """Return a domain object as JSON values. Names are in camel case, and nulls are omitted."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {_camel(name): _json(one) for name, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [_json(one) for one in value]
    if isinstance(value, datetime):
        return format_instant(value)
    return str(value) if isinstance(value, Decimal) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
