"""Counters: statistics as items, and changes of them as actions of a transaction.

A statistics item has ``count_1`` to ``count_5``, ``count_total`` and ``seal`` (N; one that was
never touched is absent). The seal is a fixed sum of multiples of the counts, which the same ADD
keeps: counts that another program sets do not fit it. While its ``count_5`` is above 0 the item
also carries the two keys of a leaderboard, whose sort key is ``<count_5>#<product>``. A transaction
cannot compute that string, so a change of ``count_5`` holds on condition that the count is what was
read; other changes hold on no condition.

The counters of a rebuild stand apart, under ``RECOUNT#<generation>#<part>``, and hold on no
condition: they are on no board. Those that a rebuild leaves behind expire.
"""

import time
from collections.abc import Iterable, Mapping
from operator import mul
from typing import Any, TypeAlias
from zlib import crc32

from dal.indexes import EXPIRES, LEADERS, LEADERS_BY_LANGUAGE
from dal.items import Item
from dal.keys import LAST_CHARACTER, escape, format_count, unescape
from dal.model import RATINGS
from dal.positions import Range
from dal.statistics import Deltas, RatingCounts, RatingDeltas, Statistics, StatisticsKey

Action: TypeAlias = dict[str, Any]
"""An entry of TransactWriteItems without its table name: ``{"Put": {"Item": …}}``."""

SORT_KEYS = Range("S", f"S#{LAST_CHARACTER}")
"""Where a product's statistics items stand in its partition."""

_PRODUCT = "PRODUCT#"
_RECOUNT = "RECOUNT#"
_TOTAL = "count_total"
_FIVES = "count_5"
COUNTS = tuple(f"count_{rating}" for rating in RATINGS)
"""The attributes of the five counts."""

_SEAL = "seal"
_WEIGHTS = (7_919, 104_729, 1_299_709, 15_485_863, 179_424_673)
"""The seal's multiples of the five counts, primes all."""

RECOUNT_PARTS = 16
"""Partitions of a rebuild's counters."""

RECOUNT_KEPT_SECONDS = 30 * 24 * 3600


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
        return {"PK": {"S": partition_of(key.product_id)}, "SK": {"S": f"S{language}"}}
    part = crc32(key.product_id.encode()) % RECOUNT_PARTS
    return {
        "PK": {"S": recount_partition(key.generation, part)},
        "SK": {"S": escape(key.product_id) + language},
    }


def recount_partition(generation: int, part: int) -> str:
    """Return the partition key of one part of a rebuild's counters."""
    return f"{_RECOUNT}{generation}#{part}"


def encode(key: StatisticsKey, counts: RatingCounts) -> Item:
    """Return the whole item of some counts."""
    item = item_key(key) | {name: {"N": str(value)} for name, value in numbers_of(counts).items()}
    return item | _board_keys(key, counts.fives) if counts.fives > 0 else item


def numbers_of(counts: RatingCounts) -> dict[str, int]:
    """Return the numbers of an item with some counts, by attribute; so too for changes."""
    seal = sum(map(mul, _WEIGHTS, counts.by_rating))
    by_rating = {f"count_{rating}": counts.of([rating]) for rating in RATINGS}
    return by_rating | {_TOTAL: counts.of(), _SEAL: seal}


def decode(item: Item) -> tuple[StatisticsKey, RatingCounts]:
    """Return whose counts an item holds, and the counts as they are."""
    first, _, language = item["SK"]["S"].partition("#")
    counts = tuple(_number(item, f"count_{rating}") for rating in RATINGS)
    if item["PK"]["S"].startswith(_RECOUNT):
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


def statistics_of(items: Iterable[Item]) -> Statistics:
    """Return the statistics that a product's items hold; a count below 0 is wrong, and 0 here.

    They are sound when each item's total and seal are those of its counts, none of which is below
    0, and the counts of all languages are the sums of the languages' counts.
    """
    overall, by_language, sound = RatingCounts(), {}, True
    for item in items:
        key, held = decode(item)
        counts = RatingCounts(tuple(max(0, count) for count in held.by_rating))
        sound = sound and counts == held and fits(item)
        if key.language is None:
            overall = counts
        else:
            by_language[key.language] = counts
    sound = sound and overall == sum(by_language.values(), RatingCounts())
    return Statistics(overall, by_language, sound)


def fits(item: Item) -> bool:
    """Return whether an item's numbers are those of its own counts."""
    numbers = numbers_of(decode(item)[1])
    return all(_number(item, name) == number for name, number in numbers.items())


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
        values[":until"] = {"N": str(int(time.time()) + RECOUNT_KEPT_SECONDS)}
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
    board = LEADERS if key.language is None else LEADERS_BY_LANGUAGE
    values = {} if key.language is None else {"language": key.language}
    return {
        board.partition_key: {"S": board.partition_of(values)},
        board.sort_key: {"S": f"{format_count(fives)}#{escape(key.product_id)}"},
    }
