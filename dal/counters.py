"""Counters: statistics as items, and changes of them as actions of a transaction.

A statistics item has ``count_1`` to ``count_5`` and ``count_total`` (N; one that was never touched
is absent). While its ``count_5`` is above 0 it also carries the two keys of a leaderboard, whose
sort key is ``<count_5>#<product>``. A transaction cannot compute that string, so a change of
``count_5`` holds on condition that the count is what was read; other changes hold on no condition.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dal.indexes import LEADERS, LEADERS_BY_LANGUAGE
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
_TOTAL = "count_total"
_FIVES = "count_5"


def partition_of(product_id: str) -> str:
    """Return the partition key of a product's statistics items."""
    return _PRODUCT + escape(product_id)


def product_of(item: Item) -> str:
    """Return the product of a statistics item or of a leaderboard's row."""
    return unescape(item["PK"]["S"][len(_PRODUCT) :])


def item_key(key: StatisticsKey) -> Item:
    """Return the primary key of a statistics item."""
    language = "" if key.language is None else f"#{escape(key.language)}"
    return {"PK": {"S": partition_of(key.product_id)}, "SK": {"S": f"S{language}"}}


def encode(key: StatisticsKey, counts: RatingCounts) -> Item:
    """Return the whole item of some counts."""
    numbers = {f"count_{rating}": counts.of([rating]) for rating in RATINGS} | {_TOTAL: counts.of()}
    item = item_key(key) | {name: {"N": str(number)} for name, number in numbers.items()}
    return item | _board_keys(key, counts.fives) if counts.fives > 0 else item


def decode(item: Item) -> tuple[StatisticsKey, RatingCounts]:
    """Return whose counts an item holds, and the counts as they are."""
    _, _, language = item["SK"]["S"].partition("#")
    counts = tuple(_number(item, f"count_{rating}") for rating in RATINGS)
    return StatisticsKey(product_of(item), unescape(language) or None), RatingCounts(counts)


def statistics_of(items: Iterable[Item]) -> Statistics:
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
    return Statistics(overall, by_language, sound)


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"]) if name in item else 0


def conditional(changes: Deltas) -> list[StatisticsKey]:
    """Return the items that ``actions`` must be given: those whose ``count_5`` changes."""
    return [key for key, change in changes.items() if change.fives]


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
    added = {f"count_{rating}": change.of([rating]) for rating in RATINGS} | {_TOTAL: change.of()}
    values = {f":{name}": {"N": str(number)} for name, number in added.items() if number}
    update: Item = {
        "Key": item_key(key),
        "UpdateExpression": "ADD " + ", ".join(f"{name[1:]} {name}" for name in values),
        "ExpressionAttributeValues": values,
    }
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
