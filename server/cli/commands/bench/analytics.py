"""``marginalia bench analytics``: seconds a question beside a scan of the table."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from server.cli import options
from server.engine.storage import open_table
from server.progress import ProgressBar
from server.settings import Settings


def analytics(
    *,
    rows: Annotated[
        int, typer.Option(envvar="MARGINALIA_ROWS", min=1_000, help="Comments in the store.")
    ] = 1_000_000,
    changes: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_CHANGES", min=0, help="Changes since the export, laid over it."
        ),
    ] = 10_000,
    scan_rows: Annotated[
        int,
        typer.Option(
            envvar="MARGINALIA_SCAN_ROWS",
            min=100,
            help="Comments in the table that is scanned; a scan takes as long for each row.",
        ),
    ] = 20_000,
    rounds: Annotated[
        int, typer.Option(envvar="MARGINALIA_ROUNDS", min=1, help="How often each is asked.")
    ] = 7,
    analytics_url: options.AnalyticsUrl = None,
) -> None:
    """Measure trends and movers of many comments, and a scan of a table, all of which is gone then.

    With --analytics-url its tables stay: they begin with 'bench_'.
    """
    with tempfile.TemporaryDirectory() as directory:
        grid = asyncio.run(
            _measured(Path(directory), (rows, changes, scan_rows, rounds), analytics_url)
        )
    Console().print(grid)


async def _measured(folder: Path, sizes: tuple[int, int, int, int], url: str | None) -> Grid:
    from analytics.opening import open_store  # noqa: PLC0415 - it may not be installed
    from bench import analytics as bench  # noqa: PLC0415 - as above

    rows, changes, scan_rows, rounds = sizes
    store = await open_store(folder, "bench", url)
    grid = Grid(title=f"{rows:,} comments in {store.name}", title_justify="left")
    for heading in ("Question", "Seconds", f"after {changes:,} changes", "Rows read"):
        grid.add_column(heading, justify="left" if heading == "Question" else "right")
    with ProgressBar("Measuring", 2 * len(bench.QUESTIONS) + 2) as progress:
        progress.advance("making rows")
        bench.write_rows(folder / "rows.parquet", rows)
        filled = await bench.fill(store, folder / "rows.parquet")
        found = {}
        for name, ask in bench.QUESTIONS.items():
            progress.advance(name)
            found[name] = await bench.measure(store, ask, rounds)
        await bench.change(store, changes)
        for name, ask in bench.QUESTIONS.items():
            progress.advance(f"{name}, after changes")
            after = await bench.measure(store, ask, rounds)
            before = found[name]
            grid.add_row(
                name, f"{before.seconds:.3f}", f"{after.seconds:.3f}", f"{before.rows_read:,}"
            )
        progress.advance("scanning a table")
        async with open_table(Settings(data_dir=folder / "table"), share=False) as table:
            scan = await bench.scanned(table, scan_rows)
    await store.close()
    grid.caption = (
        f"The store was filled in {filled:.1f} s. A parallel scan of a table of {scan_rows:,} took "
        f"{scan:.2f} s: {scan * rows / scan_rows:,.0f} s for {rows:,} at that rate."
    )
    return grid
