"""What a long command has done so far: a bar on standard error when that is a terminal."""

import sys
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class ProgressBar:
    """Counts what is done of ``total`` (bytes or items; None when unknown) while in its context."""

    def __init__(self, title: str, total: int | None) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(title, total=total, note="")

    def update(self, done: int, note: str) -> None:
        """Show how much is done, in the unit of ``total``, with a few words beside it."""
        self._progress.update(self._task, completed=done, note=note)

    def advance(self, note: str) -> None:
        """Show that one more is begun, and what it is."""
        self._progress.update(self._task, advance=1, note=note)

    def show(self, done: int, total: int) -> None:
        """Show how much is done of a total that is known only by now."""
        self._progress.update(self._task, completed=done, total=total)

    def say(self, sentence: str) -> None:
        """Print one line on standard error, above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
