"""A process that lives no longer than ours, on any Unix: its life hangs on an inherited pipe."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """\
"$@" </dev/null >/dev/null &
echo $! >&2
exec 2>/dev/null
read -r _
kill -9 $!
wait $!
"""
"""Runs a program until standard input ends. Whoever started the guard holds the other end of that
pipe and says nothing by it, so it ends when that process does, however it went.

The guard is the program's parent: its process id is nobody else's until the guard ends.
"""

_SIGNALLED = 128
"""What a shell adds to the number of the signal that killed a program."""

NOT_EXECUTED = {126, 127}
"""The codes of a program that the system does not run."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A shell that runs a program for as long as we hold its standard input open."""

    process: subprocess.Popen[bytes]
    said: asyncio.StreamReader
    """What the program writes to its standard error, and its process id in a line of its own.

    It ends with the program.
    """
    hearing: asyncio.BaseTransport

    async def end(self) -> int:
        """End the program if it still runs, and then the guard; return the program's code.

        It is the number of the signal that killed the program, below zero, where one did.
        """
        assert self.process.stdin is not None  # noqa: S101 - piped in guarded
        self.process.stdin.close()
        await self.said.read()
        self.hearing.close()
        await asyncio.sleep(0)  # the loop closes it in its next turn, and may have no other
        # It takes a moment; a thread that waited would outlive whoever is cancelled.
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - a process tells no event
            await asyncio.sleep(0.001)
        return _SIGNALLED - code if code > _SIGNALLED else code


async def guarded(program: Path, *arguments: str) -> Guard:
    """Start a program under a guard, in a session of its own, without input and output of ours."""
    # Not by the event loop: uvloop leaves children a second copy of each pipe, and no end is seen.
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - a millisecond, and our own program
        ["/bin/sh", "-c", _SCRIPT, "marginalia-guard", str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    said = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(said)
    assert process.stderr is not None  # noqa: S101 - piped above
    loop = asyncio.get_running_loop()
    hearing, _ = await loop.connect_read_pipe(lambda: protocol, process.stderr)
    return Guard(process, said, hearing)
