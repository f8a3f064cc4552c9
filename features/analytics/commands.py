"""``marginalia analytics``: fills the analytics store, and prints trends and changed products."""

from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Annotated

import typer
from rich.table import Table as Grid

from dal.kinds.item_kind import ItemKind
from dal.model import own_ids, rules
from features.analytics.exporting import analytics_of
from features.analytics.exporting import refresh as fill
from features.analytics.questions import (
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
from server.cli.console import console
from server.cli.long_running import long_running, scanning
from server.cli.options import STORE, takes
from server.local_engine.storage import open_store
from server.settings import Settings

_BAR = 30
_SHOWN = {Interval.DAY: "%Y-%m-%d", Interval.WEEK: "%G-W%V", Interval.MONTH: "%Y-%m"}

_DATE = "A time in UTC, such as 2024-04-01 or 2024-04-01T12:00:00."

_date = partial(typer.Option, metavar="DATE", help=_DATE, show_default=False)

From = Annotated[datetime | None, _date("--from")]
To = Annotated[datetime | None, _date("--to")]
Every = Annotated[
    Interval,
    typer.Option(
        case_sensitive=False,
        help="Length of a period. Weeks start on Monday.",
    ),
]


@long_running
@takes("analytics_url", *STORE)
async def refresh(settings: Settings, kinds: Sequence[ItemKind]) -> None:
    """Copy all published comments to the analytics store. Servers may run meanwhile.

    In the API and on the command line, trends and movers (the products that changed most) show the
    comments as of the last refresh. So run this command from a timer, for example every night.
    """
    async with open_store(settings, share=True) as store, scanning(store) as (_, seen):
        export = await fill(settings, store, seen, kinds)
    typer.echo(
        f"Table {settings.table}: the analytics store has {export.rows:,} comments as of "
        f"{export.began:%Y-%m-%d %H:%M:%S} UTC."
    )


@takes("analytics_url", *STORE)
async def trend(
    *,
    product: Annotated[str, typer.Argument(help="The product's id.", show_default=False)],
    interval: Every = Interval.MONTH,
    language: Annotated[
        list[str] | None,
        typer.Option(
            help="Only comments in this language, such as en, which finds en-US. Repeatable.",
            show_default=False,
        ),
    ] = None,
    from_: From = None,
    to: To = None,
    settings: Settings,
) -> None:
    """Print a product's number of comments and average rating in each period.

    The rows begin with the period that contains --from, and end with the period that contains the
    last moment before --to. Without --from, they begin with the period of the first comment.
    Without --to, they end with the period of the last comment.
    """
    question = TrendQuestion(
        own_ids.own_id("product", product),
        Span.of(interval, *rules.period(from_, to, ("from", "to"))),
        rules.languages("language", language) if language else None,
    )
    async with aclosing(analytics_of(settings)) as analytics:
        found = await analytics.trend(question)
    if not found.points:
        typer.echo(f"Product {product} has no comments as of {_utc(found.as_of)}.")
        return
    console().print(_trend_grid(product, found))


@takes("analytics_url", *STORE)
async def movers(
    *,
    interval: Every = Interval.MONTH,
    by: Annotated[
        MovedBy,
        typer.Option(
            case_sensitive=False,
            help="Sort by the change of the average rating, or of the number of comments.",
        ),
    ] = MovedBy.VOLUME,
    from_: From = None,
    to: To = None,
    first: Annotated[int, typer.Option(min=1, max=100, help="Number of products to print.")] = 20,
    at_least: Annotated[
        int,
        typer.Option(
            min=1,
            help="Only for --by average: minimum number of comments on a product in each period.",
        ),
    ] = AT_LEAST,
    settings: Settings,
) -> None:
    """Print the products that changed most between two periods.

    One period contains --from, and the other contains --to. Default: the last two periods that have
    ended.
    """
    earlier, later = rules.period(from_, to, ("from", "to"))
    question = MoversQuestion(interval, by, earlier, later, first, at_least)
    async with aclosing(analytics_of(settings)) as analytics:
        found = await analytics.movers(question)
    console().print(_movers_grid(interval, found))


def _trend_grid(product: str, found: Trend) -> Grid:
    title = f"Comments on {product} by {found.interval.lower()}"
    grid = Grid(title=title, title_justify="left", caption=f"As of {_utc(found.as_of)}")
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
    title = f"Products that changed most from {names[0]} to {names[1]}"
    grid = Grid(title=title, title_justify="left", caption=f"As of {_utc(found.as_of)}")
    grid.add_column("Product", overflow="fold")
    for name in names:
        grid.add_column(name, justify="right")
    grid.add_column("Change", justify="right")
    for mover in found.products:
        grid.add_row(
            mover.product.product_id,
            *map(_totals, (mover.earlier, mover.later)),
            _move(mover),
        )
    return grid


def _totals(totals: Totals) -> str:
    return f"{totals.count:,} at {_average(totals.average)}" if totals.count else "0"


def _move(mover: Mover) -> str:
    volume = f"{mover.later.count - mover.earlier.count:+,}"
    if mover.earlier.average is None or mover.later.average is None:
        return volume
    return f"{volume}, {mover.later.average - mover.earlier.average:+.2f} ★"


def _average(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _utc(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"
