"""Shows the progress of a long command: a bar on a terminal, or a line from time to time."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN = 10.0
_SECONDS_AT_MOST = 60.0
_SHARE_BETWEEN = 0.1
"""Without a terminal, a line is printed for each tenth of the work, but at most one in 10 seconds.
If a tenth of the work takes longer than 60 seconds, a line is printed every 60 seconds."""


class ProgressBar:
    """Shows progress on standard error.

    ``total`` is the number of bytes, items or steps, or None if it is unknown. Without a terminal,
    a command that ends within ten seconds prints no progress.
    """

    def __init__(self, title: str, total: int | None) -> None:
        console = Console(stderr=True)
        self._title = title
        self._lines = not sys.stderr.isatty()
        self._line_at, self._line_share = time.monotonic(), 0.0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=self._lines,
        )
        self._task = self._progress.add_task(title, total=total, note="")

    def update(self, done: int, note: str) -> None:
        """Show a note and ``done``, the number of bytes or items that are finished.

        If ``done`` is larger than ``total``, the total was only an estimate, and is hidden. For
        example, DynamoDB updates its number of items only every few hours.
        """
        task = self._progress.tasks[0]
        if task.total is not None and done > task.total:
            task.total = None
        self._progress.update(self._task, completed=done, note=note)
        self._print_line()

    def say(self, sentence: str) -> None:
        """Print one line on standard error, above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def _print_line(self) -> None:
        if not self._lines:
            return
        task = self._progress.tasks[0]
        share = task.completed / task.total if task.total else 0.0
        passed = time.monotonic() - self._line_at
        if passed < _SECONDS_BETWEEN:
            return
        if share - self._line_share < _SHARE_BETWEEN and passed < _SECONDS_AT_MOST:
            return
        self._line_at, self._line_share = time.monotonic(), share
        parts = [f"{share:.0%}"] if task.total else []
        self.say(f"{self._title}: {', '.join([*parts, *filter(None, [task.fields['note']])])}")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
