"""Personal data: finds every item that names a user, and returns the items as JSON values.

``find`` reads the user's partitions by Query. ``find`` misses items that an index does not contain
yet, and tickets of an organisation that the user has left. ``scan`` misses nothing, because it
reads the whole table consistently. Both functions search for the name in keys, and in the fields of
``data`` that contain user names. They do not search in texts.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from dal.dynamodb.scan import Progress, scan_all
from dal.dynamodb.table import Table
from dal.entities.case import decode_report, is_case, is_report
from dal.entities.comment import BY_AUTHOR, KEYED, is_comment
from dal.entities.commented import NAMED
from dal.entities.order import ORDER, is_order
from dal.entities.organization import (
    ORGANIZATION_USER,
    ORGANIZATIONS_OF_USER,
    is_organization_user,
)
from dal.entities.standing import is_standing
from dal.entities.submission import HELD, HELD_BY_AUTHOR, stored
from dal.entities.ticket import TICKET, TICKETS_OF_USER, is_ticket
from dal.entities.vote import decode_vote, is_vote
from dal.model import Comment
from dal.repositories.users import decode_profile, is_profile
from dal.table.entity import UNREADABLE, unpacked
from dal.table.errors import StoreRefusedError
from dal.table.index import TABLE, Index, QueryRequest, query_all
from dal.table.items import Item, key_of
from dal.table.key_parts import escape, format_instant, unescape

_ITEMS_AT_ONCE = 100


class Kind(StrEnum):
    """The kinds of items that name a user. The values are names of fields in an exported file."""

    COMMENT = "comments"
    REPORT = "reports"
    VOTE = "votes"
    DECISION = "decisions"
    BLOCK = "blocks"
    """The standing of another user, whom this user has blocked as a moderator."""
    TICKET = "tickets"
    MEMBERSHIP = "memberships"
    PROFILE = "profile"
    ORDER = "orders"
    PURCHASE = "purchases"
    COMMENTED = "commented"
    STANDING = "standing"


def _keyed(partition: str, sort: str) -> Callable[[Item], bool]:
    """Return a function that tests whether an item's PK and SK begin with these texts."""
    return lambda key: key["PK"]["S"].startswith(partition) and key["SK"]["S"].startswith(sort)


_KINDS: Sequence[tuple[Callable[[Item], bool], Kind]] = (
    (is_comment, Kind.COMMENT),
    (is_report, Kind.REPORT),
    (is_vote, Kind.VOTE),
    (is_case, Kind.DECISION),
    (is_ticket, Kind.TICKET),
    (is_organization_user, Kind.MEMBERSHIP),
    (is_profile, Kind.PROFILE),
    (is_order, Kind.ORDER),
    (_keyed("USER#", "PURCHASE#"), Kind.PURCHASE),
    (_keyed("USER#", "COMMENTED#"), Kind.COMMENTED),
    (is_standing, Kind.STANDING),
)

_NAMELESS = re.compile(
    "(PRODUCT|GROUP|ORG|RECOUNT|UPGRADE|STREAM|EVENT|CANARY|MARKER|ERASURE)#|(COUNTING|DOCUMENTS)$|COMMENTED(#|$)"
)
"""Matches the partition keys of all items that never name a user."""

_NAMED_IN_KEY = re.compile(
    "(?:AUTHOR|DID|USER|REPORT|ORG#[^#]+#USER)#([^#/]+)(?:/held)?|TICKET#[^#/]+/([^#/]+)/[A-Z]+"
)
NAMED_IN_DATA = frozenset({"username", "by"})


def kind_in(item: Item, name: str) -> Kind | None:
    """Return the kind of an item that names the user; None if it does not name the user.

    Raises StoreRefusedError if an item of an unknown kind has the name in a key, because the item
    may name the user.
    """
    kind = next((kind for holds, kind in _KINDS if holds(item)), None)
    if kind is None and _NAMELESS.match(item["PK"]["S"]):
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
    other = kind is Kind.STANDING and item["PK"]["S"] != f"USER#{person}"
    return Kind.BLOCK if other else kind


def _names(data: Any, name: str) -> bool:
    return isinstance(data, dict) and any(
        (field in NAMED_IN_DATA and value == name) or _names(value, name)
        for field, value in data.items()
    )


async def find(table: Table, name: str) -> AsyncIterator[Item]:
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
        async for item in _named(table, index, partition, name):
            if is_organization_user(item):
                organization = unescape(item["PK"]["S"].partition("#")[2])
                owner = {"organization": organization, "username": name}
                tickets = TICKETS_OF_USER.partition_of(owner)
                async for ticket in _named(table, TICKETS_OF_USER, tickets, name):
                    if is_ticket(ticket):
                        yield ticket
            yield item
    async for item in _named(table, TABLE, f"USER#{escape(name)}", name):
        yield item


async def _named(table: Table, index: Index, partition: str, name: str) -> AsyncIterator[Item]:
    """Yield the items of a partition that name the user, each read consistently."""
    consistent = index.consistent
    request = QueryRequest(index, partition, limit=_ITEMS_AT_ONCE, consistent=consistent)
    async for response in query_all(table.query, request):
        items = response.items
        if not consistent:
            items = await table.get_many([key_of(row) for row in items])
        for item in items:
            if kind_in(item, name) is not None:
                yield item


async def scan(table: Table, name: str, seen: Progress) -> list[Item]:
    """Return the items that name a user. One consistent scan of the table finds them."""
    found: list[Item] = []
    await scan_all(
        table, seen, lambda items: found.extend(one for one in items if kind_in(one, name))
    )
    return found


def exported(items: Iterable[Item], name: str) -> dict[str, Any]:
    """Return the items that name a user, as JSON values in one list for each kind.

    Each list is sorted by key. ``profile`` and ``standing`` have one value or None instead of a
    list. An unreadable item becomes ``{"unreadable": …}`` with the item as it is stored.
    ``idempotencyKeys`` has the ids of comments with an idempotency key, and until when each key is
    kept. Items that do not name the user are omitted.
    """
    lists: dict[str, list[Any]] = {kind.value: [] for kind in Kind}
    keys: list[Any] = []
    for item in sorted(items, key=lambda one: (one["PK"]["S"], one["SK"]["S"])):
        kind = kind_in(item, name)
        if kind is None:
            continue
        try:
            lists[kind].append(_json(_decoders[kind](item)))
        except UNREADABLE:
            lists[kind].append({"unreadable": item})
        if KEYED in item:
            until = datetime.fromtimestamp(int(item[KEYED]["S"].partition("#")[0]), UTC)
            keys.append({"commentId": _first(item), "keptUntil": format_instant(until)})
    # The tombstone of an ended block is an empty standing.
    ones = {
        kind.value: next(filter(None, lists[kind]), None) for kind in (Kind.PROFILE, Kind.STANDING)
    }
    return {"username": name, **lists, **ones, "idempotencyKeys": keys}


def _first(item: Item) -> str:
    """Return the identifier in an item's partition key."""
    return unescape(item["PK"]["S"].partition("#")[2])


def _second(item: Item) -> str:
    """Return the identifier in an item's sort key."""
    return unescape(item["SK"]["S"].partition("#")[2])


def _comment(item: Item) -> dict[str, Any]:
    one = stored(item)
    if one is None:
        raise ValueError("This item is not a comment.")
    state = {"state": "PUBLISHED"} if isinstance(one, Comment) else {}
    return {**_json(one), **state}


_decoders: Mapping[Kind, Callable[[Item], Any]] = {
    Kind.COMMENT: _comment,
    Kind.REPORT: decode_report,
    Kind.VOTE: decode_vote,
    Kind.DECISION: lambda item: {"comment_id": _first(item), **unpacked(item)},
    Kind.BLOCK: lambda item: {"username": _first(item), **unpacked(item)["block"]},
    Kind.TICKET: TICKET.decode,
    Kind.MEMBERSHIP: ORGANIZATION_USER.decode,
    Kind.PROFILE: lambda item: decode_profile(item)[1],
    Kind.ORDER: ORDER.decode,
    Kind.PURCHASE: lambda item: {"product_id": _second(item)},
    Kind.COMMENTED: lambda item: {
        "product_id": _second(item),
        "comment_id": item[NAMED]["S"],
    },
    Kind.STANDING: unpacked,
}


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
