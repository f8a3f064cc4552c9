"""``marginalia analytics``: fills the analytics store, and prints what it answers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from dal.analytics.questions import (
    AT_LEAST,
    Interval,
    MovedBy,
    Mover,
    Movers,
    MoversQuestion,
    Span,
    Totals,
    Trend,
    TrendQuestion,
)
from dal.analytics.service import Analytics
from dal.analytics.store import Export
from dal.client import admin
from dal.model import rules
from server.analytics.asking import analytics_of
from server.cli import options
from server.cli.patience import maintenance
from server.engine.storage import open_store
from server.progress import ProgressBar
from server.settings import Settings

_BAR = 30
_SHOWN = {Interval.DAY: "%Y-%m-%d", Interval.WEEK: "%G-W%V", Interval.MONTH: "%Y-%m"}

Answer = TypeVar("Answer")

From = Annotated[
    datetime | None,
    typer.Option("--from", envvar="MARGINALIA_FROM", help="UTC.", show_default=False),
]
To = Annotated[
    datetime | None,
    typer.Option("--to", envvar="MARGINALIA_TO", help="UTC.", show_default=False),
]
Every = Annotated[
    Interval,
    typer.Option(
        envvar="MARGINALIA_INTERVAL",
        case_sensitive=False,
        help="How long a period is; weeks start on Monday.",
    ),
]


@maintenance
@options.of_store
def refresh(*, analytics_url: options.AnalyticsUrl = None, settings: Settings) -> None:
    """Export all comments and answer from them from now on, also while servers run.

    Later changes are in the answers after the next refresh: run it from a timer.
    """
    export = asyncio.run(_refresh(replace(settings, analytics_url=analytics_url)))
    typer.echo(
        f"Table {settings.table}: analytics has {export.rows:,} comments as of "
        f"{export.began:%Y-%m-%d %H:%M:%S} UTC."
    )


@options.of_store
def trend(
    *,
    product: Annotated[str, typer.Argument(help="The product's id.", show_default=False)],
    interval: Every = Interval.MONTH,
    language: Annotated[
        list[str] | None,
        typer.Option(
            envvar="MARGINALIA_LANGUAGE",
            help="Only comments in this language, such as en. Repeatable.",
            show_default=False,
        ),
    ] = None,
    from_: From = None,
    to: To = None,
    analytics_url: options.AnalyticsUrl = None,
    settings: Settings,
) -> None:
    """Print how many comments a product got over time, and their ratings.

    From the first comment to the last, or the periods from --from and before --to.
    """
    question = TrendQuestion(
        rules.identifier("product", product),
        Span.of(interval, *rules.period(from_, to, ("from", "to"))),
        rules.languages("language", language) if language else None,
    )
    settings = replace(settings, analytics_url=analytics_url)
    found = asyncio.run(_asked(settings, lambda analytics: analytics.trend(question)))
    if not found.points:
        typer.echo(f"Product {product} has no comments as of {_told(found.as_of)}.")
        return
    Console().print(_trend_grid(product, found))


@options.of_store
def movers(
    *,
    interval: Every = Interval.MONTH,
    by: Annotated[
        MovedBy,
        typer.Option(
            envvar="MARGINALIA_BY",
            case_sensitive=False,
            help="What moved: the mean rating, or the number of comments.",
        ),
    ] = MovedBy.VOLUME,
    from_: From = None,
    to: To = None,
    first: Annotated[
        int, typer.Option(envvar="MARGINALIA_FIRST", min=1, max=100, help="How many to print.")
    ] = 20,
    at_least: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_AT_LEAST",
            min=1,
            help="Comments in both periods that a mean rating needs.",
        ),
    ] = AT_LEAST,
    analytics_url: options.AnalyticsUrl = None,
    settings: Settings,
) -> None:
    """Print the products that moved most between two periods.

    These are the period of --from and that of --to: the last two that are over if none is given.
    """
    earlier, later = rules.period(from_, to, ("from", "to"))
    question = MoversQuestion(interval, by, earlier, later, first, at_least)
    settings = replace(settings, analytics_url=analytics_url)
    found = asyncio.run(_asked(settings, lambda analytics: analytics.movers(question)))
    Console().print(_movers_grid(interval, found))


async def _refresh(settings: Settings) -> Export:
    from server.analytics.refresh import refresh  # noqa: PLC0415 - imports DuckDB

    async with open_store(settings, share=True) as store:
        total = (await admin.describe(store.table))["ItemCount"] or None
        with ProgressBar(store.table.name, total) as progress:
            return await refresh(
                settings, store, lambda items: progress.update(items, f"{items:,} items seen")
            )


async def _asked(settings: Settings, ask: Callable[[Analytics], Awaitable[Answer]]) -> Answer:
    analytics = analytics_of(settings)
    try:
        return await ask(analytics)
    finally:
        await analytics.close()


def _trend_grid(product: str, found: Trend) -> Grid:
    title = Text(f"Comments on {product} by {found.interval.lower()}")
    grid = Grid(title=title, title_justify="left", caption=f"As of {_told(found.as_of)}")
    grid.add_column(found.interval.capitalize())
    for heading in ("Comments", "Average"):
        grid.add_column(heading, justify="right")
    grid.add_column("")
    most = max(point.count for point in found.points) or 1
    for point in found.points:
        bar = "█" * round(_BAR * point.count / most)
        grid.add_row(
            point.start.strftime(_SHOWN[found.interval]),
            f"{point.count:,}",
            _average(point.average),
            bar or ("▏" if point.count else ""),
        )
    return grid


def _movers_grid(interval: Interval, found: Movers) -> Grid:
    names = [period.start.strftime(_SHOWN[interval]) for period in (found.earlier, found.later)]
    title = f"What moved most from {names[0]} to {names[1]}"
    grid = Grid(title=title, title_justify="left", caption=f"As of {_told(found.as_of)}")
    grid.add_column("Product", overflow="fold")
    for name in names:
        grid.add_column(name, justify="right")
    grid.add_column("Moved", justify="right")
    for mover in found.products:
        grid.add_row(Text(mover.product.product_id), *map(_totals, _both(mover)), _move(mover))
    return grid


def _both(mover: Mover) -> tuple[Totals, Totals]:
    return mover.earlier, mover.later


def _totals(totals: Totals) -> str:
    return f"{totals.count:,} at {_average(totals.average)}" if totals.count else "0"


def _move(mover: Mover) -> str:
    volume = f"{mover.later.count - mover.earlier.count:+,}"
    if mover.earlier.average is None or mover.later.average is None:
        return volume
    return f"{volume}, {mover.later.average - mover.earlier.average:+.2f} ★"


def _average(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _told(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"
