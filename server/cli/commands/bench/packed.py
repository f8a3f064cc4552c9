"""``marginalia bench packed``: the forms in which texts can be stored, weighed and timed."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from bench.packed import Form, Weight, forms, time_decoding, weigh
from bench.skewed import skewed_comments
from dal.model import Comment
from dal.table.client import connect
from server.demo.comments import demo_comments
from server.engine.storage import open_store
from server.errors import CommandError
from server.progress import ProgressBar
from server.settings import Settings

_DATA = {"Demo data": demo_comments, "70 % rated 5": skewed_comments}


def packed(
    *,
    rounds: Annotated[
        int,
        typer.Option(envvar="MARGINALIA_ROUNDS", min=1, help="In which all pages are decoded."),
    ] = 20,
) -> None:
    """Compare the forms in which a comment's texts can be stored, on an engine of its own.

    "attributes": an attribute for each. "JSON": one attribute of text, as the table has it.
    "MessagePack" and "Protocol Buffers": one binary attribute.

    RCU are of a page of 20, read eventually consistently. Microseconds are CPU time from the bytes
    of an answer to its comments, the median of all rounds.
    """
    try:
        chosen = forms()
    except ModuleNotFoundError as error:
        raise CommandError(
            f"This comparison needs {error.name}, which is not installed: "
            "run `pip install msgpack protobuf`."
        ) from error
    for name, comments in _DATA.items():
        rows = list(comments())
        with tempfile.TemporaryDirectory() as directory:
            weights = asyncio.run(_weighed(Path(directory), chosen, rows))
        with ProgressBar("Decoding", rounds) as progress:
            for times in time_decoding(chosen, rows, rounds):
                progress.advance("pages of 20")
                for form, taken in times.items():
                    weights[form].microseconds = taken
        Console().print(_grid(f"{name}: {len(rows):,} comments", weights))


async def _weighed(
    directory: Path, chosen: Sequence[Form], rows: Sequence[Comment]
) -> dict[str, Weight]:
    weights = {}
    async with open_store(Settings(data_dir=directory), share=False) as store:
        for number, form in enumerate(chosen):
            async with connect(replace(store.connection, table=f"form-{number}")) as table:
                weights[form.name] = await weigh(form, rows, table)
    return weights


def _grid(title: str, weights: Mapping[str, Weight]) -> Grid:
    grid = Grid(title=title, title_justify="left")
    grid.add_column("Form")
    for heading in ("Bytes an item", "an index row", "a page sent", "RCU a page", "µs a page"):
        grid.add_column(heading, justify="right")
    for name, weight in weights.items():
        grid.add_row(
            name,
            f"{weight.item_bytes:.0f}",
            f"{weight.row_bytes:.0f}",
            f"{weight.answer_bytes:,.0f}",
            f"{weight.capacity:.2f}",
            f"{weight.microseconds:.0f}",
        )
    return grid
