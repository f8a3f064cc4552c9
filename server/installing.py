"""Runs one step of ``make setup`` and prints its progress; needs only Python.

``python server/installing.py TITLE PATTERNS COMMAND…``: PATTERNS are globs with spaces between
them. Each file that matches one of them counts as installed.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

_SECONDS_BETWEEN = 5.0
_LINES_OF_A_FAILURE = 40


def step(title: str, patterns: str, command: Sequence[str]) -> int:
    """Run a command to its end and return its exit code; if it fails, print its output."""
    started = time.monotonic()
    before = _matching(patterns)
    output: list[str] = []
    with subprocess.Popen(  # noqa: S603 - the Makefile's own command
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        reading = Thread(target=output.extend, args=(process.stdout,), daemon=True)
        reading.start()
        _say(f"{title}: begun")
        while True:
            reading.join(_SECONDS_BETWEEN)
            seconds = f"{time.monotonic() - started:.0f} s"
            if not reading.is_alive():
                break
            found = sum(line.startswith("Collecting ") for line in output)
            parts = [f"{found} found"] if found else []
            parts.append(f"{_matching(patterns) - before} installed")
            _say(f"{title}: {', '.join([*parts, seconds])}")
    if process.returncode:
        _say("".join(output[-_LINES_OF_A_FAILURE:]).rstrip())
        _say(f"{title}: failed after {seconds}, see above")
    else:
        _say(f"{title}: done, {_matching(patterns) - before} in {seconds}")
    return process.returncode


def _matching(patterns: str) -> int:
    return sum(1 for pattern in patterns.split() for _ in Path().glob(pattern))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the output of `make setup`


if __name__ == "__main__":
    title, patterns, *command = sys.argv[1:]
    try:
        sys.exit(step(title, patterns, command))
    except KeyboardInterrupt:  # the command received it too, and its traceback is not printed
        _say(f"{title}: stopped; run the same command again to continue.")
        sys.exit(130)
