"""Runs one step of ``make setup`` and prints its progress.

This file imports only the standard library, because it runs before the packages are installed. Run
it as ``python tools/installing.py TITLE PATTERNS COMMAND…``. PATTERNS are globs, separated by
spaces. The progress is the number of new files and directories that match a pattern. For pip, the
progress also shows how many packages pip has found.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

_SECONDS_BETWEEN = 5.0
_LINES_OF_A_FAILURE = 40


def step(title: str, patterns: str, command: Sequence[str]) -> int:
    """Run a command and return its exit code.

    Print the progress every five seconds. If the command fails, print the last 40 lines of its
    output.
    """
    started = time.monotonic()
    before = _matching(patterns)
    with NamedTemporaryFile() as output:
        with subprocess.Popen(  # noqa: S603 - the Makefile's own command
            command, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            _say(f"{title}: begun")
            while _runs(process):
                lines = Path(output.name).read_text(errors="replace").splitlines()
                found = sum(line.startswith("Collecting ") for line in lines)
                parts = [f"{found} found"] if found else []
                parts.append(f"{_matching(patterns) - before} installed")
                _say(f"{title}: {', '.join(parts)}, {_since(started)}")
        lines = Path(output.name).read_text(errors="replace").splitlines()
    if process.returncode:
        _say("\n".join(lines[-_LINES_OF_A_FAILURE:]).rstrip())
        _say(f"{title}: failed after {_since(started)}, see above")
    else:
        _say(f"{title}: done, {_matching(patterns) - before} in {_since(started)}")
    return process.returncode


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a few seconds. Return whether the process still runs."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS_BETWEEN)
    return process.returncode is None


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.0f} s"


def _matching(patterns: str) -> int:
    return sum(1 for pattern in patterns.split() for _ in Path().glob(pattern))


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the output of `make setup`


if __name__ == "__main__":
    title, patterns, *command = sys.argv[1:]
    try:
        sys.exit(step(title, patterns, command))
    # Ctrl-C also ends the command. The command's output is not printed, because it contains a
    # traceback.
    except KeyboardInterrupt:
        _say(f"{title}: stopped. To continue, run the same command again.")
        sys.exit(130)
