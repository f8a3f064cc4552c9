"""Records of DynamoDB Streams: the counters that each changes, grouped by transaction.

A record is a map as GetRecords returns it and as Lambda delivers it. A record of another item, or
of an edit that keeps product, language and rating, changes no counter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from dal.entities.comment import comment_in, is_comment
from dal.statistics.comment_changes import fitting
from dal.statistics.counts import Deltas, deltas, summed
from dal.table.items import Item

Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A record that changes counters; ``sequence`` is its place in its shard."""

    event: str
    sequence: str
    deltas: Deltas


def sequence_of(record: Record) -> str:
    """Return a record's sequence number, in digits."""
    return str(record["dynamodb"]["SequenceNumber"])


def made_at(record: Record) -> datetime | None:
    """Return the instant of a record's change, or None if the service omits it."""
    made = record["dynamodb"].get("ApproximateCreationDateTime")
    return datetime.fromtimestamp(made, UTC) if isinstance(made, float | int) else made


def changes_of(records: Iterable[Record]) -> list[Change]:
    """Return the records that change counters, in their order."""
    changes = (
        Change(record["eventID"], sequence_of(record), _deltas(record["dynamodb"]))
        for record in records
    )
    return [change for change in changes if change.deltas]


def total(changes: Iterable[Change]) -> Deltas:
    """Return the sum of several changes."""
    return summed(change.deltas for change in changes)


def parts(changes: Iterable[Change], actions_each: int) -> Iterator[list[Change]]:
    """Yield the changes in non-empty parts, each small enough for one transaction.

    A transaction holds the counters, one more action, and ``actions_each`` actions per change.
    """
    return fitting(changes, lambda change: change.deltas, actions_each=actions_each)


def _deltas(images: Item) -> Deltas:
    if not is_comment(images["Keys"]):
        return {}
    return deltas(comment_in(images.get("OldImage")), comment_in(images.get("NewImage")))
