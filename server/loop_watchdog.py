"""Prints the stacks of a process when its event loop is blocked, and then ends the process.

A thread of Python could do neither: a regular expression keeps the interpreter's lock. So the loop
resets three timers at each turn. Each acts without Python when it expires:

- ``faulthandler`` has a thread in C, which prints the stack.
- ``ITIMER_PROF`` counts processor time; at its end the kernel kills the process. A process that was
  stopped (SIGSTOP, a suspended machine) or had to wait for the processor has used none.
- ``ITIMER_REAL`` counts time, for a loop that waits in a system call. The handler of its signal is
  Python's, which such a wait lets run. A process that was stopped has its loop turn before the
  handler is called for the second time.
"""

import asyncio
import faulthandler
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

TURN = 1.0
STACK_AFTER = 5.0
END_AFTER = 15.0
"""Seconds from one turn to the next, until the stack is printed, and until the process ends."""

KILLED_BY = signal.SIGPROF
"""The signal that ends the process: exit status 155 in a shell and a container."""


@contextmanager
def watched(*, end: bool) -> Iterator[None]:
    """Watch the running loop, which is ready to serve; ``end`` the process where it is blocked.

    The process must not be the first one of a container: the kernel kills that by no such signal.
    """
    watchdog = _LoopWatchdog(asyncio.get_running_loop(), end=end)
    handler = signal.signal(signal.SIGALRM, watchdog.ran_down)
    watchdog.turn()
    try:
        yield
    finally:
        watchdog.stop()
        signal.signal(signal.SIGALRM, handler)


class _LoopWatchdog:
    def __init__(self, loop: asyncio.AbstractEventLoop, *, end: bool) -> None:
        self._loop = loop
        self._end = end
        self._turned = loop.time()
        self._waited = False
        """Whether ITIMER_REAL ran down since the last turn."""
        self._next: asyncio.TimerHandle | None = None

    def turn(self) -> None:
        """Wind the clocks up."""
        blocked, self._turned = self._loop.time() - self._turned, self._loop.time()
        if blocked > STACK_AFTER:
            logger.warning(
                "The event loop was blocked, or the process stopped, for %.0f s: see the stack "
                "above, after 'Timeout'.",
                blocked,
            )
        self._waited = False
        if sys.stderr is not None:
            faulthandler.dump_traceback_later(STACK_AFTER, file=sys.stderr.fileno())
        if self._end:
            signal.setitimer(signal.ITIMER_PROF, END_AFTER)
            signal.setitimer(signal.ITIMER_REAL, END_AFTER, STACK_AFTER)
        self._next = self._loop.call_later(TURN, self.turn)

    def ran_down(self, *_: object) -> None:
        """End the process at the second time without a turn."""
        if self._waited:
            signal.raise_signal(KILLED_BY)
        self._waited = True

    def stop(self) -> None:
        """Stop the clocks."""
        if self._next is not None:
            self._next.cancel()
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
