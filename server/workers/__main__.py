"""The fork server: a process that makes the imports once, and that workers are forked from.

Its parent names a socket as the argument and gives the configuration by standard input. Eight bytes
by that socket are a request: 0, with a socket, spawns a worker, and anything else is the process
id of one to kill. Answers are lines: the process id of a new worker, or that of one that has ended
and its exit code. The fork server ends with the other end of the socket. Its workers see the end of
their own; but the embedded engine ends with the parent, so they have nothing left to answer with,
and are killed.
"""

import gc
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

REQUEST = struct.Struct("=q")

_CHILD_ENDED = {signal.SIGCHLD}

Target = Callable[[socket.socket], None]


def main() -> None:
    """Fork workers until the parent is gone."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # they come to all; the parent tells us
    parent = socket.socket(fileno=int(sys.argv[1]))
    try:
        target, engine = _prepared()
    except Exception as error:  # noqa: BLE001 - whatever a new version is broken by
        kind = type(error).__name__
        sys.exit(f"The installed version cannot be started: {kind}: {error}")
    fork_server = _ForkServer(parent, target)
    fork_server.run()
    if engine:
        fork_server.kill_all()


def _prepared() -> tuple[Target, bool]:
    """Make the imports, which are kept for good; return what a worker runs.

    The second value is whether the store is an engine of the parent's.
    """
    gc.disable()
    from server.workers.config import WorkerConfig  # noqa: PLC0415 - a failure is told in a sentence
    from server.workers.worker import run  # noqa: PLC0415 - as above

    config = WorkerConfig.from_dict(pickle.load(sys.stdin.buffer))  # noqa: S301 - of our parent
    gc.freeze()
    gc.enable()
    return lambda channel: run(config, channel), config.settings.embedded


class _ForkServer:
    def __init__(self, parent: socket.socket, target: Target) -> None:
        self._parent = parent
        self._target = target
        self._workers: set[int] = set()

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        while True:
            try:
                request, sockets, *_ = socket.recv_fds(self._parent, REQUEST.size, 1)
            except ConnectionResetError:
                return
            if not request:
                return
            (pid,) = REQUEST.unpack(request)
            signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD_ENDED)
            if pid:
                self._kill(pid)
            else:
                self._spawn(*(socket.socket(fileno=one) for one in sockets))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD_ENDED)

    def kill_all(self) -> None:
        """Kill the workers that are left."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD_ENDED)
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)

    def _kill(self, pid: int) -> None:
        """Kill a worker, unless it has ended and its process id may be another's."""
        if pid in self._workers:
            os.kill(pid, signal.SIGKILL)

    def _spawn(self, channel: socket.socket) -> None:
        sys.stdout.flush()
        with channel:
            pid = os.fork()
            if not pid:
                self._run_worker(channel)
        self._workers.add(pid)
        self._answer(b"%d\n" % pid)

    def _run_worker(self, channel: socket.socket) -> None:
        """Do a worker's work in a process of its own, and end it."""
        code = 1
        try:
            self._parent.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD_ENDED)
            self._target(channel)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - the process ends here, whatever it is
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        while self._workers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._workers.discard(pid)
            self._answer(b"%d %d\n" % (pid, os.waitstatus_to_exitcode(status)))

    def _answer(self, line: bytes) -> None:
        with suppress(OSError):  # the parent is gone, as the next request tells
            self._parent.sendall(line)


if __name__ == "__main__":
    main()
