"""The output of a trial: a table, a sentence for each broken promise, and the exit code."""

import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=140, soft_wrap=True, highlight=False)


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. The first column is aligned to the left, the others to the right."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for row in rows:
        table.add_row(*row)
    CONSOLE.print(table)


def finish(broken: Iterable[str]) -> NoReturn:
    """Print the broken promises. Exit with 1 if there are any, else with 0."""
    sentences = list(broken)
    for sentence in sentences:
        CONSOLE.print(sentence, markup=False)
    sys.exit(bool(sentences))
