"""``marginalia explain``: reads a page of comments and prints the query plan and its cost."""

from dataclasses import replace
from datetime import datetime
from math import isnan
from typing import Annotated

import typer
from rich.table import Table as Grid

from dal.kinds.field_parsers import instant
from dal.model import Comment, own_ids, rules
from dal.query.pagination import Page
from dal.query.statistics import ExecutionStatistics
from dal.repositories.comments import Selection
from features.plans.trace import Trace
from resolvers.selection import DEFAULT_SIZE, MAX_ROWS, CommentOrder, plain_slice
from server.cli.console import console
from server.cli.options import STORE, takes
from server.local_engine.storage import open_store
from server.settings import Settings


@takes(*STORE)
async def explain(
    product: Annotated[str, typer.Argument(help="Id of the product.")],
    *,
    rating: Annotated[
        list[int] | None,
        typer.Option(help="Only comments with this rating, 1 to 5. Repeatable."),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(
            help="Only comments in this language, such as en, which finds en-US. Repeatable."
        ),
    ] = None,
    created_from: Annotated[
        str | None,
        typer.Option(help="Only comments created at or after this time, such as 2024-12-01."),
    ] = None,
    created_before: Annotated[
        str | None,
        typer.Option(help="Only comments created before this time, such as 2025-01-01."),
    ] = None,
    contains: Annotated[
        str | None, typer.Option(help="Only comments with these words in the title or text.")
    ] = None,
    order_by: Annotated[
        CommentOrder,
        typer.Option(case_sensitive=False, help="Which comments come first."),
    ] = CommentOrder.NEWEST,
    first: Annotated[
        int | None,
        typer.Option(
            help="Number of rows from the start, or after --after. "
            f"Default {DEFAULT_SIZE}, maximum {MAX_ROWS}.",
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            help="Number of rows from the end, or before --before. Do not use it with --first."
        ),
    ] = None,
    after: Annotated[str | None, typer.Option(help="Cursor after which the page starts.")] = None,
    before: Annotated[str | None, typer.Option(help="Cursor before which the page ends.")] = None,
    settings: Settings,
) -> None:
    """Read a page of comments as the API does. Print the read's index, key ranges and cost."""
    selection = Selection(
        own_ids.own_id("PRODUCT", product),
        rules.ratings("--rating", rating) if rating else None,
        rules.languages("--language", language) if language else None,
        *_period(created_from, created_before),
        order=order_by.order,
        search=rules.search("--contains", contains) if contains is not None else "",
    )
    cut = replace(
        plain_slice(first, after, last, before, kind=order_by.kind),
        reverse=order_by is CommentOrder.OLDEST,
        instruments=Trace,
    )
    async with open_store(settings, share=True) as store:
        page = await store.stores.comments.page(selection, cut)
    out = console()
    out.print(_grid(page.stats))
    out.print(_summary(page))
    if isinstance(page.stats.instruments, Trace):
        out.print(_alternatives(page.stats.instruments))
        out.print(_compared(page.stats.instruments))
    if page.edges:
        out.print(f"Next page: --after {page.edges[-1].cursor}")


def _period(*bounds: str | None) -> tuple[datetime | None, datetime | None]:
    names = ("--created-from", "--created-before")
    start, end = (
        None if text is None else instant(name, text)
        for name, text in zip(names, bounds, strict=True)
    )
    return rules.period(start, end, names)


def _grid(stats: ExecutionStatistics) -> Grid:
    title = f"{stats.access_pattern} on index {stats.index or 'none'}"
    if stats.residual:
        title += f", filtered by {' and '.join(stats.residual)} after reading"
    grid = Grid(title=title, title_justify="left")
    grid.add_column("Partition key", overflow="fold")
    grid.add_column("Range", overflow="fold")
    for heading in ("Limit", "Items read", "Refills"):
        grid.add_column(heading, justify="right")
    for segment in stats.segments:
        read = "skipped" if segment.skipped else f"{segment.items_read:,}"
        grid.add_row(
            segment.partition_key, segment.range, f"{segment.limit:,}", read, str(segment.refills)
        )
    return grid


def _units(capacity: float) -> str:
    return "not reported by this endpoint" if isnan(capacity) else f"{capacity:g}"


def _summary(page: Page[Comment]) -> str:
    stats = page.stats
    read = (
        f"Rows: {len(page.edges)}. Requests: {stats.requests}. "
        f"Items read: {stats.items_read:,}. Read capacity units: {_units(stats.consumed_capacity)}."
    )
    if stats.estimated_capacity is not None:
        read += (
            f" Expected: {stats.estimated_capacity:.2f}. Read capacity units to read the "
            f"statistics for this estimate: {_units(stats.planning_capacity)}."
        )
    return read


def _alternatives(trace: Trace) -> Grid:
    grid = Grid(title="Plans that the optimizer compared", title_justify="left")
    grid.add_column("Index", overflow="fold")
    for heading in ("Key ranges", "Rows", "RCU", "Cost"):
        grid.add_column(heading, justify="right")
    grid.add_column("Why", overflow="fold")
    for one in trace.alternatives:
        figures = ((one.expected_rows, 0), (one.estimated_capacity, 2), (one.cost, 2))
        grid.add_row(
            f"{one.index} (chosen)" if one.chosen else one.index,
            str(len(one.segments) or "-"),
            *("-" if figure is None else f"{figure:,.{places}f}" for figure, places in figures),
            one.reason,
            style="bold" if one.chosen else "",
        )
    return grid


def _compared(trace: Trace) -> str:
    named = (
        ("A full page of every partition", trace.full_pages()),
        ("A single Query for only the page's rows", trace.ideal()),
    )
    return "\n".join(
        f"{name}: Requests: {figures.requests}. Items read: {figures.items_read:,.0f}. "
        f"Read capacity units: {figures.capacity:g}."
        for name, figures in named
        if figures is not None
    )
