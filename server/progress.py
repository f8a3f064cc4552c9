"""What a long command has done so far: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN = 10.0
_SECONDS_AT_MOST = 60.0
_SHARE_BETWEEN = 0.1
"""Ten seconds at least pass between two lines; then a tenth of the work, or a minute."""


class ProgressBar:
    """Counts what is done of ``total`` (bytes or items; None when unknown) while in its context.

    Both the bar and the lines are on standard error; what ends within ten seconds prints no line.
    """

    def __init__(self, title: str, total: int | None) -> None:
        console = Console(stderr=True)
        self._title = title
        self._lines = not sys.stderr.isatty()
        self._told_at, self._told_share = time.monotonic(), 0.0
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
        """Show how much is done, in the unit of ``total``, with a few words next to it.

        A total that is exceeded was an estimate, such as a table's count of some hours ago: from
        then on there is none.
        """
        task = self._progress.tasks[0]
        if task.total is not None and done > task.total:
            task.total = None
        self._progress.update(self._task, completed=done, note=note)
        self._tell()

    def advance(self, note: str) -> None:
        """Show that one more is begun, and what it is."""
        self._progress.update(self._task, advance=1, note=note)
        self._tell()

    def say(self, sentence: str) -> None:
        """Print one line on standard error, above the bar."""
        self._progress.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def _tell(self) -> None:
        """Print a line where there is no bar and the last one is long ago."""
        if not self._lines:
            return
        task = self._progress.tasks[0]
        share = task.completed / task.total if task.total else 0.0
        passed = time.monotonic() - self._told_at
        if passed < _SECONDS_BETWEEN:
            return
        if share - self._told_share < _SHARE_BETWEEN and passed < _SECONDS_AT_MOST:
            return
        self._told_at, self._told_share = time.monotonic(), share
        parts = [f"{share:.0%}"] if task.total else []
        self.say(f"{self._title}: {', '.join([*parts, *filter(None, [task.fields['note']])])}")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
