"""Builds the table's definition from the declared indexes, and compares existing tables with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dal.table.errors import OutdatedTableError
from dal.table.index import TABLE_KEYS, Index

_UNREADABLE = {"CREATING", "DELETING"}
"""The statuses in which a global index cannot be read."""


def table_definition(name: str, indexes: Sequence[Index]) -> dict[str, Any]:
    """Return CreateTable's arguments for the table ``name``."""
    attributes = {*TABLE_KEYS}.union(*(_keys(index) for index in indexes))
    defined = _defined(indexes)
    local = {index.name for index in indexes if index.local}
    kinds = {
        "LocalSecondaryIndexes": [one for one in defined if one["IndexName"] in local],
        "GlobalSecondaryIndexes": [one for one in defined if one["IndexName"] not in local],
    }
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [string_attribute(name) for name in sorted(attributes)],
        "KeySchema": _key_schema(*TABLE_KEYS),
        **{kind: found for kind, found in kinds.items() if found},  # DynamoDB refuses empty lists
    }


@dataclass(frozen=True, slots=True)
class Differences:
    """How a table's indexes differ from the declared indexes.

    Each missing index is in the form of CreateTable's arguments.
    """

    missing: Sequence[dict[str, Any]]
    """Global indexes that the table does not have, or that are being created or deleted."""
    missing_local: Sequence[dict[str, Any]]
    """Local indexes that the table does not have. DynamoDB creates them only together with the
    table: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html"""
    differing: Sequence[str]
    """The names of indexes whose keys are not the declared keys, or that do not project every
    declared attribute."""

    @property
    def lacking(self) -> list[str]:
        """The names of all indexes in ``missing_local`` and ``missing``."""
        return [one["IndexName"] for one in (*self.missing_local, *self.missing)]


def differences(description: Mapping[str, Any], indexes: Sequence[Index]) -> Differences:
    """Compare a table with the declared indexes; ``description`` is DescribeTable's ``Table``."""
    there = {
        one["IndexName"]: one
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        for one in description.get(kind, [])
    }
    serving = {name for name, one in there.items() if one.get("IndexStatus") not in _UNREADABLE}
    lacking = [one for one in _defined(indexes) if one["IndexName"] not in serving]
    local = {one.name for one in indexes if one.local} - there.keys()
    return Differences(
        missing=[one for one in lacking if one["IndexName"] not in local],
        missing_local=[one for one in lacking if one["IndexName"] in local],
        differing=[
            one["IndexName"]
            for one in _defined(indexes)
            if one["IndexName"] in there and not _serves(there[one["IndexName"]], one)
        ],
    )


def refuse_outdated(description: Mapping[str, Any], indexes: Sequence[Index]) -> None:
    """Raise OutdatedTableError if a table lacks a declared index, or has it in another form.

    An index must have the declared keys and project the declared attributes. The error occurs if an
    older version created the table, or if an operator has removed an index. ``description`` is
    DescribeTable's ``Table``.
    """
    table, found = description["TableName"], differences(description, indexes)
    if found.lacking:
        raise OutdatedTableError(
            f"The table {table} lacks {listed(found.lacking)}, which this version reads: run "
            "`marginalia table upgrade`."
        )
    if found.differing:
        raise OutdatedTableError(
            f"This version cannot use {listed(found.differing)} of the table {table}, because "
            "needed keys or attributes are missing: run `marginalia table upgrade`, which says "
            "what to do."
        )


def string_attribute(name: str) -> dict[str, str]:
    """Return the definition of a key attribute, which is always a string."""
    return {"AttributeName": name, "AttributeType": "S"}


def has_declared_keys(description: Mapping[str, Any]) -> bool:
    """Return whether a table has this program's primary key, ``PK`` and ``SK``.

    ``description`` is DescribeTable's ``Table``.
    """
    return bool(description["KeySchema"] == _key_schema(*TABLE_KEYS))


def _serves(index: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """Return whether an index has the declared keys and projects all declared attributes."""
    projection = index["Projection"]
    projected = projection.get("NonKeyAttributes", [])
    needed = {*declared["Projection"]["NonKeyAttributes"]}
    complete = projection["ProjectionType"] == "ALL" or needed <= {*projected}
    return complete and index["KeySchema"] == declared["KeySchema"]


def listed(names: Sequence[str]) -> str:
    """Return the names of indexes as part of a sentence: ``the indexes all, byLang``."""
    return f"the index{'es' if len(names) > 1 else ''} {', '.join(names)}"


def _defined(indexes: Iterable[Index]) -> list[dict[str, Any]]:
    """Return the indexes in CreateTable's form.

    Declarations with the same name describe one index. This index projects the attributes of all
    these declarations.
    """
    by_name: dict[str, list[Index]] = {}
    for index in indexes:
        if index.name is not None:
            by_name.setdefault(index.name, []).append(index)
    return [
        {
            "IndexName": name,
            "KeySchema": _key_schema(*_keys(kinds[0])),
            "Projection": {
                "ProjectionType": "INCLUDE",
                "NonKeyAttributes": list(
                    dict.fromkeys(attribute for kind in kinds for attribute in kind.projects)
                ),
            },
        }
        for name, kinds in by_name.items()
    ]


def _keys(index: Index) -> tuple[str, str]:
    return index.partition_key, index.sort_key


def _key_schema(partition_key: str, sort_key: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition_key, "KeyType": "HASH"},
        {"AttributeName": sort_key, "KeyType": "RANGE"},
    ]
