"""Counters: statistics as items, and deltas as actions of a transaction.

A statistics item has ``count_1`` to ``count_5`` and ``count_total`` (N; one that was never changed
is absent). While its ``count_5`` is above 0 it also has the two keys of a leaderboard, whose sort
key is ``<count_5>#<product>``. No update expression can compute that string, so a change of
``count_5`` holds on condition that the count is what was read. Other changes have no condition.

The counters of a rebuild are other items, under ``RECOUNT#<generation>#<part>``. They are on no
leaderboard, so their changes have no condition. Those that a rebuild leaves behind expire.
"""

import time
from collections.abc import Iterable, Mapping
from zlib import crc32

from dal.entities.leaderboard import board_of, rank_position
from dal.model import RATINGS
from dal.statistics.counts import (
    CommentStatistics,
    Deltas,
    RatingCounts,
    RatingDeltas,
    StatisticsKey,
)
from dal.table.index import EXPIRES
from dal.table.item import Action, Item, primary_key
from dal.table.keys import LAST_CHARACTER, escape, unescape
from dal.table.ranges import Range

SORT_KEYS = Range("S", f"S#{LAST_CHARACTER}")
"""Where a product's statistics items stand in its partition."""

_PRODUCT = "PRODUCT#"

_REBUILD = "RECOUNT#"

_TOTAL = "count_total"

_FIVES = "count_5"

COUNTS = tuple(f"count_{rating}" for rating in RATINGS)
"""The attributes of the five counts."""

REBUILD_PARTS = 16
"""Partitions of a rebuild's counters."""

REBUILD_KEPT_SECONDS = 30 * 24 * 3600
"""How long a rebuild's items are kept at least."""


def partition_of(product_id: str) -> str:
    """Return the partition key of a product's statistics items."""
    return _PRODUCT + escape(product_id)


def product_of(item: Item) -> str:
    """Return the product of a statistics item or of a leaderboard's row."""
    return unescape(item["PK"]["S"][len(_PRODUCT) :])


def item_key(key: StatisticsKey) -> Item:
    """Return the primary key of a statistics item."""
    language = "" if key.language is None else f"#{escape(key.language)}"
    if key.generation is None:
        return primary_key(partition_of(key.product_id), f"S{language}")
    part = crc32(key.product_id.encode()) % REBUILD_PARTS
    return primary_key(rebuild_partition(key.generation, part), escape(key.product_id) + language)


def rebuild_partition(generation: int, part: int) -> str:
    """Return the partition key of one part of a rebuild's counters."""
    return f"{_REBUILD}{generation}#{part}"


def encode(key: StatisticsKey, counts: RatingCounts) -> Item:
    """Return the whole item of some counts."""
    item = item_key(key) | {name: {"N": str(value)} for name, value in numbers_of(counts).items()}
    return item | _board_keys(key, counts.fives) if counts.fives > 0 else item


def numbers_of(counts: RatingCounts) -> dict[str, int]:
    """Return an item's numbers by attribute; deltas have the same attributes as counts."""
    return {f"count_{rating}": counts.of([rating]) for rating in RATINGS} | {_TOTAL: counts.of()}


def decode(item: Item) -> tuple[StatisticsKey, RatingCounts]:
    """Return the key and the counts of a statistics item, or of a rebuild's counter."""
    first, _, language = item["SK"]["S"].partition("#")
    counts = tuple(_number(item, f"count_{rating}") for rating in RATINGS)
    if item["PK"]["S"].startswith(_REBUILD):
        product, generation = unescape(first), int(item["PK"]["S"].split("#")[1])
    else:
        product, generation = product_of(item), None
    key = StatisticsKey(product, unescape(language) or None, generation)
    return key, RatingCounts(counts)


def is_statistics(item: Item) -> bool:
    """Return whether an item, whoever wrote it, holds counts that are shown."""
    partition, sort_key = (str(item[name].get("S", "")) for name in ("PK", "SK"))
    if not partition.startswith(_PRODUCT) or (sort_key != "S" and not sort_key.startswith("S#")):
        return False
    try:
        decode(item)
    except (KeyError, ValueError):
        return False
    return True


def statistics_of(items: Iterable[Item]) -> CommentStatistics:
    """Return the statistics that a product's items hold; a count below 0 is wrong, and 0 here.

    They are sound when each item's total is the sum of its counts, none of which is below 0, and
    the counts of all languages are the sums of the languages' counts.
    """
    overall, by_language, sound = RatingCounts(), {}, True
    for item in items:
        key, held = decode(item)
        counts = RatingCounts(tuple(max(0, count) for count in held.by_rating))
        sound = sound and counts == held and _number(item, _TOTAL) == held.of()
        if key.language is None:
            overall = counts
        else:
            by_language[key.language] = counts
    sound = sound and overall == sum(by_language.values(), RatingCounts())
    return CommentStatistics(overall, by_language, sound)


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"]) if name in item else 0


def conditional(changes: Deltas) -> list[StatisticsKey]:
    """Return the items that ``actions`` must be given: those whose place on a board changes."""
    return [key for key, change in changes.items() if change.fives and key.generation is None]


def actions(changes: Deltas, current: Mapping[StatisticsKey, RatingCounts]) -> list[Action]:
    """Return one Update for each item that changes.

    ``current`` holds what the ``conditional`` items were just read to be; an absent one is missing
    in the table too.
    """
    return [
        {"Update": _update(key, change, current.get(key, RatingCounts()).fives)}
        for key, change in changes.items()
    ]


def _update(key: StatisticsKey, change: RatingDeltas, fives: int) -> Item:
    added = numbers_of(change)
    values = {f":{name}": {"N": str(number)} for name, number in added.items() if number}
    update: Item = {
        "Key": item_key(key),
        "UpdateExpression": "ADD " + ", ".join(f"{name[1:]} {name}" for name in values),
        "ExpressionAttributeValues": values,
    }
    if key.generation is not None:
        values[":until"] = {"N": str(int(time.time()) + REBUILD_KEPT_SECONDS)}
        added_to = update["UpdateExpression"] if len(values) > 1 else ""  # zero makes the item
        update["UpdateExpression"] = f"{added_to} SET {EXPIRES} = :until".strip()
        return update
    if not change.fives:
        return update
    values[":read"] = {"N": str(fives)}
    update["ConditionExpression"] = f"{_FIVES} = :read" + (
        "" if fives else f" OR attribute_not_exists({_FIVES})"
    )
    update["UpdateExpression"] += _move(key, fives + change.fives, values)
    return update


def _move(key: StatisticsKey, fives: int, values: Item) -> str:
    """Return the clause that puts an item in its place on the leaderboard, or takes it off."""
    keys = _board_keys(key, fives)
    if fives <= 0:
        return " REMOVE " + ", ".join(keys)
    values |= {f":{name}": place for name, place in keys.items()}
    return " SET " + ", ".join(f"{name} = :{name}" for name in keys)


def _board_keys(key: StatisticsKey, fives: int) -> Item:
    board, values = board_of(key.language)
    return {
        board.partition_key: {"S": board.partition_of(values)},
        board.sort_key: {"S": rank_position(key.product_id, fives)},
    }
