"""Records of DynamoDB Streams: what each changes of the counters, and which go together.

A record is a map as GetRecords returns it and as Lambda delivers it. One that is about no comment,
or leaves its product, language and rating alone, changes nothing.
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
    """A record that changes counters; ``sequence`` is where it stands in its shard."""

    event: str
    sequence: str
    deltas: Deltas


def sequence_of(record: Record) -> str:
    """Return a record's sequence number: digits, in the service's own notation."""
    return str(record["dynamodb"]["SequenceNumber"])


def made_at(record: Record) -> datetime | None:
    """Return when a record's change was made; None where the service tells nothing."""
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
    """Return several changes as one."""
    return summed(change.deltas for change in changes)


def parts(changes: Iterable[Change], actions_each: int) -> Iterator[list[Change]]:
    """Yield the changes in parts that fit a transaction each, none of them empty.

    Beside its counters, a transaction has room for one action and ``actions_each`` of a change.
    """
    return fitting(changes, lambda change: change.deltas, actions_each=actions_each)


def _deltas(images: Item) -> Deltas:
    if not is_comment(images["Keys"]):
        return {}
    return deltas(comment_in(images.get("OldImage")), comment_in(images.get("NewImage")))
