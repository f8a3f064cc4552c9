"""Runs several processes (workers) that serve the same port and table.

The parent process runs the engine, and runs uvicorn's supervisor in a thread. Each worker is a new
Python interpreter. So a worker runs the version of the program that is installed when it starts.
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

from dal.dynamodb.table import TableAddress, connect
from dal.table.errors import DalError
from server.app import Served
from server.auth.secret import secret_source
from server.errors import CommandError
from server.logs import set_up_logs
from server.loop_watchdog import KILLED_BY, watched
from server.observability.vitals import Vitals
from server.serving import WORKER_START, YOUNG, duplicates, http_config, open_application
from server.settings import Settings

logger = logging.getLogger(__name__)

STEADY = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""A worker that has ended is replaced immediately. If the new worker ends within ``STEADY``
seconds, the cause may still exist, so the supervisor waits before it starts the next worker. The
pause becomes longer each time: 2, 4, 8 … 60 seconds."""

CLOSING = 15
"""Maximum seconds in which a stopping worker closes its connections to the table, to Redis and to
the OpenTelemetry collector."""


class Supervisor(Multiprocess):
    """Starts the workers, and replaces workers that have ended."""

    def __init__(
        self,
        settings: Settings,
        address: TableAddress,
        listener: socket.socket,
        greeting: str,
        vitals: Vitals,
    ) -> None:
        # Pass the settings to workers as a dictionary. A worker of a newer version may have more
        # settings than the parent process, and uses the defaults of the additional settings. A
        # pickled Settings object would lack them.
        values = {"settings": asdict(settings), "address": asdict(address)}
        config = http_config(partial(_Worker, values), settings, workers=settings.workers)
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        super().__init__(config, duplicates(listener))
        # uvicorn's supervisor has installed its own signal handlers. Restore the old handlers,
        # because the event loop handles the signals.
        for number, handler in handlers.items():
            signal.signal(number, handler)
        self._greeting, self._vitals = greeting, vitals
        self._restarts: dict[int, tuple[float, float]] = {}
        """For each worker's index: the time of its last restart, and the seconds of the pause
        before this restart."""
        self._due: dict[Process, float] = {}
        """The time at which each worker that has ended must be replaced."""

    async def serve(self) -> None:
        """Serve until ``end`` is called. Raise CommandError if a worker cannot start."""
        try:
            await asyncio.to_thread(self.run)
        finally:
            # After an error, some workers may still run. End them, because Python would wait for
            # them at its exit.
            self.terminate_all()
            self.join_all()

    def end(self) -> None:
        """Stop the workers after their running requests have ended. A second call kills them."""
        for worker in self.processes if self.should_exit.is_set() else ():
            worker.process.kill()
        self.should_exit.set()

    def replace(self) -> None:
        """Replace the workers one by one. New workers run the version that is installed now."""
        self.signal_queue.append(signal.SIGHUP)

    def init_processes(self) -> None:
        """Start the workers. Print the addresses after all of them are ready."""
        # Only the parent handles SIGINT and SIGHUP, but a terminal sends them to all processes. So
        # this thread blocks these signals, and workers inherit the block. Python's resource tracker
        # removes the block when it starts, so the tracker must start first.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        super().init_processes()
        for worker in self.processes:
            if not worker.wait_until_ready(WORKER_START, self.should_exit):
                if self.should_exit.is_set():
                    return
                raise CommandError("A worker cannot start: read the log above.")
        print(self._greeting, flush=True)  # noqa: T201 - a command's output

    def keep_subprocess_alive(self) -> None:
        """Replace each worker that has ended.

        uvicorn's own method would end all workers if one worker cannot start.
        """
        # This method does not look for blocked workers. Each worker has a watchdog that ends it.
        for index, worker in enumerate(self.processes):
            if worker.process.is_alive() or self.should_exit.is_set():
                continue
            now = time.monotonic()
            if worker not in self._due:
                worker.kill()  # The worker has ended. This only closes the pipes to it.
                restarted, pause = self._restarts.get(index, (-math.inf, 0.0))
                soon = now - restarted < STEADY
                pause = min(max(FIRST_PAUSE, 2 * pause), LONGEST_PAUSE) if soon else 0.0
                self._restarts[index] = now + pause, pause
                self._due[worker] = now + pause
                self._vitals.worker_deaths += 1
                when = f" in {pause:.0f} s" if pause else ""
                logger.warning(
                    "A worker has ended (%s): starting it again%s.", _ending(worker), when
                )
            if now >= self._due[worker]:
                del self._due[worker]
                self.processes[index] = Process(self.config, self.sockets)
                self.processes[index].start()

    def restart_all(self) -> None:
        """Replace the workers one by one.

        If a new worker cannot serve, keep the old workers that are not replaced yet.
        """
        before, count = self.processes.copy(), len(self.processes)
        super().restart_all()
        replaced = sum(worker not in self.processes for worker in before)
        if replaced == count:
            logger.warning("All %d workers were replaced.", count)
        elif not self.should_exit.is_set():
            logger.error(
                "Only %d of %d workers were replaced, because a new worker cannot serve. The old "
                "workers continue. The log above shows the cause: fix it, then send SIGHUP again.",
                *(replaced, count),
            )


def _ending(worker: Process) -> str:
    """Return the reason why a worker has ended."""
    code = worker.exitcode or 0
    if code == -KILLED_BY:
        return "its event loop was blocked, and its stack is above"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # Most real-time signals have no name.
        return f"killed by signal {-code}"


class _Worker:
    """The application of one worker. ASGI's lifespan messages open and close it."""

    def __init__(self, values: dict[str, Any]) -> None:
        # Exclude the imported objects from garbage collection, because they stay in memory.
        gc.freeze()
        gc.set_threshold(YOUNG)
        self._settings = Settings(**values["settings"])
        self._address = TableAddress(**values["address"])
        self._served: Served
        set_up_logs(self._settings.log_format)
        threading.Thread(target=_end_with_parent, daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or handle ASGI's lifespan messages."""
        if scope["type"] != "lifespan":
            await self._served.admission(scope, receive, send)
            return
        try:
            async with self._opened() as self._served:
                await self._served.live(scope, receive, send)
        except (CommandError, DalError) as error:
            logger.error("A worker cannot serve: %s", error)  # noqa: TRY400 - the message needs no traceback
            await send({"type": "lifespan.startup.failed", "message": ""})
        else:  # All connections are closed. This message ends the process.
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
            # The parent waits until this process ends. If the process has not closed its
            # connections after ``CLOSING`` seconds, SIGALRM kills it.
            signal.alarm(CLOSING)


def _end_with_parent() -> None:
    """End this worker when its parent has ended.

    Without this, the worker would continue to use the port.
    """
    if parent := parent_process():  # uvicorn starts workers by ``spawn``, so there is a parent.
        parent.join()
    signal.raise_signal(signal.SIGTERM)
