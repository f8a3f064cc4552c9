"""Several processes serve one port over one table. This module extends uvicorn's supervisor.

The parent process opens the engine, and runs uvicorn's supervisor in a thread. A worker is a new
Python interpreter, so it runs the program version that is installed when the worker starts.
"""

import asyncio
import gc
import logging
import math
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from multiprocessing import parent_process, resource_tracker
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.supervisors.multiprocess import SIGNALS, Multiprocess, Process

from dal.client.table import TableAddress, connect
from dal.errors import DalError
from server.app import Served
from server.auth.secret import secret_source
from server.errors import CommandError
from server.logs import set_up_logs
from server.loop_watchdog import KILLED_BY, watched
from server.serving import WORKER_START, duplicates, http_config, open_application
from server.settings import Settings

logger = logging.getLogger(__name__)

STEADY = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds. A dead worker is replaced at once. If the new worker dies within ``STEADY`` seconds, the
cause may still exist. Then the pause before the next replacement grows: 2, 4, 8 … 60 seconds."""

CLOSING = 15
"""Maximum seconds in which an ending worker closes its connections to the table, Redis and the
collector."""


class Supervisor(Multiprocess):
    """Keeps the configured number of workers running behind one listener, and replaces them."""

    def __init__(
        self, settings: Settings, address: TableAddress, listener: socket.socket, greeting: str
    ) -> None:
        # A dictionary, because a newer version may have more settings than the version that started
        # the parent.
        values = {"settings": asdict(settings), "address": asdict(address)}
        config = http_config(partial(_Worker, values), settings, workers=settings.workers)
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        super().__init__(config, duplicates(listener))
        # here the event loop handles signals, and not uvicorn's supervisor
        for number, handler in handlers.items():
            signal.signal(number, handler)
        self._greeting = greeting
        self._restarts: dict[int, tuple[float, float]] = {}
        """For each worker's index: the time of its last restart, and the pause before that
        restart."""
        self._due: dict[Process, float] = {}
        """The time at which each dead worker must be replaced."""

    async def serve(self) -> None:
        """Serve until ``end``. Raise CommandError if no worker can be started."""
        try:
            await asyncio.to_thread(self.run)
        finally:
            # Otherwise Python's exit would wait, after an error, for the workers that still run.
            self.terminate_all()
            self.join_all()

    def end(self) -> None:
        """Stop serving after the running requests end. A second call stops at once."""
        for worker in self.processes if self.should_exit.is_set() else ():
            worker.process.kill()
        self.should_exit.set()

    def replace(self) -> None:
        """Replace the workers one by one. The new workers run the version that is installed now."""
        self.signal_queue.append(signal.SIGHUP)

    def init_processes(self) -> None:
        """Start the workers. When all of them serve, print the addresses."""
        # Workers inherit this thread's signal mask. A terminal sends signals to all processes, and
        # only the parent must handle them. The resource tracker would remove the mask when it
        # starts, so it starts first.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        super().init_processes()
        for worker in self.processes:
            if not worker.wait_until_ready(WORKER_START, self.should_exit):
                if self.should_exit.is_set():
                    return
                raise CommandError("No worker can be started: see the log above.")
        print(self._greeting, flush=True)  # noqa: T201 - a command's output

    def keep_subprocess_alive(self) -> None:
        """Replace each worker that has ended.

        uvicorn's own supervisor ends all workers if one cannot start.
        """
        # A worker that hangs is ended by its own watchdog, which prints its stacks.
        for index, worker in enumerate(self.processes):
            if worker.process.is_alive() or self.should_exit.is_set():
                continue
            now = time.monotonic()
            if worker not in self._due:
                worker.kill()  # also closes the pipes to the ended worker
                restarted, pause = self._restarts.get(index, (-math.inf, 0.0))
                soon = now - restarted < STEADY
                pause = min(max(FIRST_PAUSE, 2 * pause), LONGEST_PAUSE) if soon else 0.0
                self._restarts[index] = now + pause, pause
                self._due[worker] = now + pause
                when = f" in {pause:.0f} s" if pause else ""
                logger.warning("A worker died (%s): starting it again%s.", _ending(worker), when)
            if now >= self._due[worker]:
                del self._due[worker]
                self.processes[index] = Process(self.config, self.sockets)
                self.processes[index].start()

    def restart_all(self) -> None:
        """Replace the workers. If a new worker cannot serve, keep the old workers."""
        before, count = self.processes.copy(), len(self.processes)
        super().restart_all()
        replaced = sum(worker not in self.processes for worker in before)
        if replaced == count:
            logger.warning("All %d workers were replaced.", count)
        elif not self.should_exit.is_set():
            logger.error(
                "%d of %d workers were replaced: a new worker cannot serve, for the reason above. "
                "The other workers continue; fix the cause and send SIGHUP again.",
                *(replaced, count),
            )


def _ending(worker: Process) -> str:
    """Return how a worker ended, in words."""
    code = worker.exitcode or 0
    if code == -KILLED_BY:
        return "its event loop was blocked, see the stack above"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # most real-time signals have no name
        return f"killed by signal {-code}"


class _Worker:
    """The application of one worker. It is opened and closed by ASGI's lifespan messages."""

    def __init__(self, values: dict[str, Any]) -> None:
        # Exclude the imported objects from garbage collection, because they stay in memory.
        gc.freeze()
        self._settings = Settings(**values["settings"])
        self._address = TableAddress(**values["address"])
        self._served: Served
        set_up_logs(self._settings.log_format)
        threading.Thread(target=_end_with_parent, daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle ASGI's lifespan messages."""
        if scope["type"] != "lifespan":
            await self._served.admission(scope, receive, send)
            return
        try:
            async with self._opened() as self._served:
                await self._served.live(scope, receive, send)
        except (CommandError, DalError) as error:
            logger.error("A worker cannot serve: %s", error)  # noqa: TRY400 - no trace is needed
            await send({"type": "lifespan.startup.failed", "message": ""})
        else:  # This message ends the process, so close the process's connection to Redis first.
            await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Served]:
        settings = self._settings
        secret = secret_source(settings.jwt_secret, settings.data_dir)
        async with (
            connect(self._address) as table,
            open_application(settings, table, secret) as served,
        ):
            with watched(end=settings.ends_when_blocked):
                yield served
            # Kill the process if closing takes longer, because the parent waits for the process to
            # end.
            signal.alarm(CLOSING)


def _end_with_parent() -> None:
    """End this worker when its parent has ended.

    Otherwise uvicorn's worker would keep the port open.
    """
    if parent := parent_process():  # always true: uvicorn starts workers by ``spawn``
        parent.join()
    signal.raise_signal(signal.SIGTERM)
