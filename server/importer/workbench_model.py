"""A data model of NoSQL Workbench: the sample items of its tables, as rows to load."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dal.table.item import Item
from server.errors import CommandError
from server.importer.article_rows import refuse_ours
from server.importer.source import unreadable

_OPENING = 4_096
_NAMED = (b'"ModelName"', b'"ModelMetadata"')
"""What a model names in its first bytes."""


@dataclass(frozen=True, slots=True)
class ModelTable:
    """The items of one table of a model."""

    partition_key: str
    sort_key: str | None
    keys: set[str]
    items: Sequence[Item]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def collection(self, partition: str) -> Sequence[Item]:
        """Return the items of one partition."""
        return [one for one in self.items if one[self.partition_key] == {"S": partition}]

    def with_sort_key(self, sort: str) -> Sequence[Item]:
        """Return the items of one sort key."""
        return [
            one for one in self.items if self.sort_key and one.get(self.sort_key) == {"S": sort}
        ]


def is_model(path: Path) -> bool:
    """Return whether a file opens as a data model does; a pipe is not looked into."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_OPENING)
    except OSError:
        return False
    return head.lstrip().startswith(b"{") and all(name in head for name in _NAMED)


def read_model(path: Path) -> list[ModelTable]:
    """Return the tables of a model; CommandError when it is none after all."""
    try:
        model = orjson.loads(path.read_bytes())
        return [_table(path, one) for one in model["DataModel"]]
    except OSError as error:
        raise unreadable(str(path), error) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CommandError(
            f"{path} is not a whole data model of NoSQL Workbench: export it there again."
        ) from error


def _table(path: Path, described: dict[str, Any]) -> ModelTable:
    indexes = described.get("GlobalSecondaryIndexes", [])
    refuse_ours(str(path), [index["IndexName"] for index in indexes])
    parts = [described, *indexes]
    partition, sort = _keys(described)
    keys = {name for part in parts for name in _keys(part) if name is not None}
    items = [item for item in described.get("TableData", []) if partition in item]
    return ModelTable(partition, sort, keys, items)


def _keys(part: dict[str, Any]) -> tuple[str, str | None]:
    keys = part["KeyAttributes"]
    return keys["PartitionKey"]["AttributeName"], keys.get("SortKey", {}).get("AttributeName")
