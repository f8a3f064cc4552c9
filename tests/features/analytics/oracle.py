"""Computes trends and movers in plain Python from a list of comments, for comparison."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import orjson

from dal.model import Comment
from features.analytics.questions import Interval, MovedBy
from tests.oracle import found_by

Point = tuple[datetime, tuple[int, ...]]


def day_of(interval: Interval, instant: datetime) -> date:
    """Return the first day of the period that contains an instant."""
    day = instant.astimezone(UTC).date()
    if interval is Interval.WEEK:
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if interval is Interval.MONTH else day


def next_day(interval: Interval, day: date) -> date:
    if interval is Interval.MONTH:
        return (day + timedelta(days=31)).replace(day=1)
    return day + timedelta(days=7 if interval is Interval.WEEK else 1)


def trend(
    comments: Iterable[Comment],
    product: str,
    interval: Interval,
    languages: frozenset[str] | None = None,
) -> list[Point]:
    counts: dict[date, list[int]] = defaultdict(lambda: [0] * 5)
    for one in comments:
        if one.product_id == product and (
            languages is None or any(found_by(asked, one.language) for asked in languages)
        ):
            counts[day_of(interval, one.created_at)][one.rating - 1] += 1
    points, day = [], min(counts, default=date.max)
    while counts and day <= max(counts):
        start = datetime(day.year, day.month, day.day, tzinfo=UTC)
        points.append((start, tuple(counts.get(day, [0] * 5))))
        day = next_day(interval, day)
    return points


def movers(
    comments: Iterable[Comment],
    interval: Interval,
    by: MovedBy,
    days: tuple[date, date],
    at_least: int,
) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    sums = {day: defaultdict[str, tuple[int, int]](lambda: (0, 0)) for day in days}
    for one in comments:
        day = day_of(interval, one.created_at)
        if day in sums:
            count, stars = sums[day][one.product_id]
            sums[day][one.product_id] = count + 1, stars + one.rating
    earlier, later = (sums[day] for day in days)
    moves = {}
    for product in {*earlier, *later}:
        (count, stars), (later_count, later_stars) = earlier[product], later[product]
        if by is MovedBy.VOLUME:
            moves[product] = float(abs(later_count - count))
        elif min(count, later_count) >= at_least:
            difference = abs(later_stars * count - stars * later_count)
            moves[product] = difference / (count * later_count)
    moved = [product for product, move in moves.items() if move > 0]
    return [
        (product, earlier[product], later[product])
        for product in sorted(moved, key=lambda product: (-moves[product], product))
    ]


def write_export(path: Path, comments: Iterable[Comment]) -> Path:
    """Write the columns of ``marginalia export`` that the stores read."""
    rows = [
        {
            "id": one.comment_id,
            "product_id": one.product_id,
            "rating": one.rating,
            "language": one.language,
            "created_at": one.created_at.isoformat(),
        }
        for one in comments
    ]
    lines = path.with_suffix(".jsonl")
    lines.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    columns = {"id": "VARCHAR", "product_id": "VARCHAR", "rating": "TINYINT"}
    columns |= {"language": "VARCHAR", "created_at": "TIMESTAMPTZ"}
    with duckdb.connect() as database:
        read = database.read_json(str(lines), format="newline_delimited", columns=columns)
        read.write_parquet(str(path))
    return path
