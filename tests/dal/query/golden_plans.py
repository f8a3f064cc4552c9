"""The plans that the optimizer makes for the queries in tests/fixtures/plans, as trees.

``python -m tests.dal.query.golden_plans`` writes the current plans into the files. A line without
indentation is a query: the list, its filters (``rating=`` selects no rating), and options:

- ``ascending``, ``limit=5`` (default 20), ``consistent``, ``head``;
- ``span=2020..2021``: the positions of the page; ``from=`` and ``before=``: the query's bounds;
- ``counts=en:1/2/3/4/5``: statistics, the counts by language and rating; with them ``bytes=400``,
  the size of a row, and ``extent=2020-01-01..2021-01-01``, the oldest and newest date;
- ``rows=1/3/5/3x25``: statistics, the ratings of 100 rows at the positions 00 to 99; with them
  ``read=1,5`` or ``read=all``, the partitions that earlier pages read completely;
- ``pattern=A5``: a name for the query instead of an access pattern; ``shards=4``: the number of
  shards of each index.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dal.catalogue import query_of
from dal.counts.counts import CommentStatistics, RatingCounts
from dal.entities.comment import COMMENT
from dal.entities.order import ORDER
from dal.entities.organization import USERS_OF_ORGANIZATION
from dal.entities.ticket import TICKETS_OF_USER
from dal.model import RATINGS
from dal.query.errors import NoIndexError
from dal.query.optimizer import TableStatistics
from dal.query.plan import EqualityKey, Query
from dal.query.row_locations import LocatedRow, RowLocations
from dal.repositories.comments import Selection
from dal.table.index import Index
from dal.table.key_parts import LAST_CHARACTER, format_instant
from dal.table.ranges import Range
from tests.dal.planning import plan
from tests.engines import ROOT

FILES = sorted((ROOT / "tests/fixtures/plans").glob("*.txt"))
INDENT = " " * 4

LISTS: Mapping[str, Sequence[Index]] = {
    "comments": COMMENT.indexes,
    "orders": ORDER.indexes,
    "users": [USERS_OF_ORGANIZATION],
    "tickets": [TICKETS_OF_USER],
}
FIELDS = (
    *("product", "language", "rating", "author"),
    *("username", "user", "status", "order", "organization"),
)
FLAGS = ("ascending", "consistent", "head")
OPTIONS = (
    *("limit", "span", "from", "before", "pattern", "shards"),
    *("counts", "bytes", "extent", "rows", "read"),
)


def golden() -> list[tuple[str, str]]:
    """Return each query of the files with the plan below it."""
    found = list[tuple[str, str]]()
    for path in FILES:
        lines = path.read_text("utf-8").splitlines()
        for number, line in enumerate(lines):
            if _is_query(line):
                found.append((line, "\n".join(_below(lines[number + 1 :]))))
    return found


def drawn(line: str) -> str:
    """Return the plan of a query as a tree, or its error message."""
    name, *words = line.split()
    asked = dict(word.partition("=")[::2] for word in words)
    assert asked.keys() <= {*FIELDS, *FLAGS, *OPTIONS}, line
    indexes = [replace(one, shards=int(asked.get("shards", one.shards))) for one in LISTS[name]]
    try:
        found = plan(
            indexes,
            _query(name, asked),
            _range(*asked.get("span", "..").split("..")),
            descending="ascending" not in asked,
            limit=int(asked.get("limit", "20")),
            statistics=_statistics(asked),
        )
    except NoIndexError as error:
        return f"{type(error).__name__}: {error}"
    return str(found).replace(LAST_CHARACTER, "…")


def _query(name: str, asked: Mapping[str, str]) -> Query:
    filters = {
        field: frozenset(filter(None, asked[field].split(",")))
        for field in FIELDS
        if field in asked
    }
    bounds = asked.get("from", ""), asked.get("before", "")
    flags: Any = {"consistent": "consistent" in asked, "head": "head" in asked}
    if "pattern" in asked:
        return Query(asked["pattern"], filters, _range(*bounds), **flags)
    if name == "comments":
        start, end = (
            datetime.fromisoformat(one).replace(tzinfo=UTC) if one else None for one in bounds
        )
        ratings = frozenset(map(int, filters["rating"])) if "rating" in filters else None
        return Selection(asked["product"], ratings, filters.get("language"), start, end).query()
    return query_of(filters, _range(*bounds), **flags)


def _range(low: str, high: str) -> Range:
    return Range(low or None, high or None, high_open=bool(high))


def _statistics(asked: Mapping[str, str]) -> TableStatistics | None:
    if "rows" in asked:
        return _read_before(asked)
    if "counts" not in asked:
        return None
    languages = dict(one.split(":") for one in asked["counts"].split(","))
    counts = {
        language: RatingCounts(tuple(map(int, one.split("/"))))
        for language, one in languages.items()
    }
    oldest, newest = (
        one and format_instant(datetime.fromisoformat(one).replace(tzinfo=UTC))
        for one in asked.get("extent", "..").split("..")
    )
    overall = sum(counts.values(), RatingCounts())
    size = float(asked.get("bytes", "400"))
    known = CommentStatistics(overall, counts)
    return TableStatistics(known.cardinality, size, None, oldest, newest)


def _read_before(asked: Mapping[str, str]) -> TableStatistics:
    """Return statistics of rows with the locations of the rows that earlier pages read."""
    ratings, _, times = asked["rows"].partition("x")
    size = int(asked.get("bytes", "400"))
    values = [_rated(rating) for rating in ratings.split("/") * int(times)]
    rows = [LocatedRow(f"{place:02}", one, size) for place, one in enumerate(values)]
    locations = RowLocations()
    for one in filter(None, asked["read"].split(",")):
        key = _rated(None if one == "all" else one)
        locations.note(key, Range(), [row for row in rows if key <= row.values])
    counts = [sum(_rated(str(rating)) == one for one in values) for rating in RATINGS]
    known = CommentStatistics.summed({"en": RatingCounts(tuple(counts))})
    return TableStatistics(known.cardinality, size, locations)


def _rated(rating: str | None) -> EqualityKey:
    key = {"product": "42"} if rating is None else {"product": "42", "rating": rating}
    return frozenset(key.items())


def _is_query(line: str) -> bool:
    return bool(line) and line[0] not in "# "


def _below(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith(INDENT):
            return
        yield line.removeprefix(INDENT)


def rewrite() -> None:
    """Replace the plans in the files by the current plans."""
    for path in FILES:
        written = []
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith(INDENT):
                written.append(line)
            if _is_query(line):
                written += [INDENT + one for one in drawn(line).splitlines()]
        path.write_text("\n".join(written) + "\n", "utf-8")


if __name__ == "__main__":
    rewrite()
