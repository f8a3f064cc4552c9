"""The sections of a report.

A command prints them, and can also write them between two marks in a page of docs/.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table as Grid

from server.errors import CommandError

DOCS = Path(__file__).parents[2] / "docs"

_WIDTH = 140
"""Width of the output in characters, if it does not go to a terminal."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table. Its first ``names`` columns contain words, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


def write_report(
    name: str,
    sections: Sequence[Section],
    notes: Sequence[str],
    *,
    write: bool,
    written: Sequence[Section] | None = None,
    file: str = "speed.md",
) -> None:
    """Print tables. If ``write`` is true, also write them between two marks in a file of docs/.

    The marks contain ``name``. If ``written`` is given, the file gets these tables, which have
    fewer figures than the printed ones.
    """
    console = Console()
    show(console if console.is_terminal else Console(width=_WIDTH), sections)
    for note in notes:
        typer.echo(note)
    if not write:
        return
    path = DOCS / file
    try:
        made = page(path.read_text("utf-8"), name, written or sections, notes)
        path.write_text(made, "utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error


def show(console: Console, shown: Iterable[Section]) -> None:
    """Print sections."""
    for section in shown:
        grid = Grid(title=section.title, title_justify="left")
        for place, heading in enumerate(section.columns):
            words = place < section.names
            grid.add_column(heading, justify="left" if words else "right", no_wrap=words)
        last = section.rows[0][0]
        for row in section.rows:
            if section.names > 1 and row[0] not in ("", last):
                grid.add_section()
            last = row[0] or last
            grid.add_row(*row)
        console.print(grid)


def page(before: str, name: str, shown: Iterable[Section], notes: Iterable[str]) -> str:
    """Return a page's text with new tables and notes between the marks of ``name``.

    ``before`` is the page's old text. Raise CommandError if it lacks the marks.
    """
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not marks.search(before):
        raise CommandError(f"The page has no marks '<!-- {name} -->' and '<!-- end of {name} -->'.")
    made = "\n".join([*_lines(shown), *notes, ""])
    return marks.sub(lambda found: found[1] + made + found[2], before)


def _lines(shown: Iterable[Section]) -> Iterator[str]:
    for section in shown:
        yield f"**{section.title}**"
        yield ""
        yield _row(section.columns)
        yield "|" + "---|" * section.names + "--:|" * (len(section.columns) - section.names)
        yield from map(_row, section.rows)
        yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
