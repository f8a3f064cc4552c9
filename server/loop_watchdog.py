"""Prints the stacks of a process if its event loop is blocked, and can then end the process.

A Python thread cannot do this. The code that blocks the loop, for example a regular expression, may
hold the interpreter's lock, and then no other Python thread runs. So the event loop resets three
timers every second. If the loop is blocked, the timers expire:

- ``faulthandler`` prints the stacks. It has a thread in C, which needs no lock.
- ``ITIMER_PROF`` measures CPU time. When it expires, the kernel kills the process. A process that
  is stopped (by SIGSTOP, or because the machine sleeps) uses no CPU time, so it is not killed.
- ``ITIMER_REAL`` measures elapsed time. It is for a loop that waits in a system call and uses no
  CPU time. Its signal has a handler in Python, which can run during such a wait. The handler
  starts the timer once more, and ends the process when it is called again without a reset in
  between. If the process was only stopped, the loop resets the timers before the second call.
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
"""The event loop resets the timers every ``TURN`` seconds. If it is blocked, the stacks are printed
after ``STACK_AFTER`` seconds, and the process ends after ``END_AFTER`` seconds."""

KILLED_BY = signal.SIGPROF
"""The signal that ends the process. The exit status in a shell or container is then 155."""


@contextmanager
def watched(*, end: bool) -> Iterator[None]:
    """Watch the running event loop during the ``with`` block.

    With ``end``, kill the process if the loop is blocked for 15 to 20 seconds. This does not work
    for the first process of a container (PID 1). If PID 1 has no handler for a signal, the kernel
    ignores the signal. https://man7.org/linux/man-pages/man7/pid_namespaces.7.html
    """
    watchdog = _LoopWatchdog(asyncio.get_running_loop(), end=end)
    handler = signal.signal(signal.SIGALRM, watchdog.expired)
    watchdog.reset()
    try:
        yield
    finally:
        watchdog.stop()
        signal.signal(signal.SIGALRM, handler)


class _LoopWatchdog:
    def __init__(self, loop: asyncio.AbstractEventLoop, *, end: bool) -> None:
        self._loop = loop
        self._end = end
        self._reset_at = loop.time()
        self._waited = False
        """Whether ITIMER_REAL has expired since the last reset."""
        self._next: asyncio.TimerHandle | None = None

    def reset(self) -> None:
        """Reset the timers now, and then every second."""
        blocked, self._reset_at = self._loop.time() - self._reset_at, self._loop.time()
        if blocked > STACK_AFTER:
            logger.warning(
                "The event loop was blocked, or the process was stopped, for %.0f s. The stack is "
                "above, after 'Timeout'.",
                blocked,
            )
        self._waited = False
        if sys.stderr is not None:
            faulthandler.dump_traceback_later(STACK_AFTER, file=sys.stderr.fileno())
        if self._end:
            signal.setitimer(signal.ITIMER_PROF, END_AFTER)
            signal.setitimer(signal.ITIMER_REAL, END_AFTER)
        self._next = self._loop.call_later(TURN, self.reset)

    def expired(self, *_: object) -> None:
        """Handle SIGALRM: end the process if ITIMER_REAL has expired twice without a reset."""
        if self._waited:
            signal.raise_signal(KILLED_BY)
        self._waited = True
        # An interval of the timer would continue while the process is stopped, and could end just
        # after the process continues, before the loop runs.
        signal.setitimer(signal.ITIMER_REAL, STACK_AFTER)

    def stop(self) -> None:
        """Stop the timers."""
        if self._next is not None:
            self._next.cancel()
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
