"""A real Redis on a free loopback port. It loses its data when it is killed."""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from server.local_engine.engine_process import free_port
from tests.engines import await_listening

REDIS = shutil.which("redis-server")

NEEDS_REDIS = pytest.mark.skipif(
    REDIS is None,
    reason="redis-server is missing: on Debian, 'apt-get install redis-server' puts it there",
)


class RedisServer:
    """A Redis server with the same address after each start. It starts without data."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Redis, and wait until it listens."""
        assert REDIS is not None
        self._process = subprocess.Popen(
            [REDIS, "--bind", "127.0.0.1", "--port", str(self.port), "--save", ""],
            cwd=self._directory,
            stdout=subprocess.DEVNULL,
        )
        await_listening(self._process, self.port)

    def kill(self) -> None:
        """Kill Redis."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)

    def hang(self, *, hangs: bool) -> None:
        """Suspend the process without closing its connections, or resume it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP if hangs else signal.SIGCONT)


@contextlib.contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Run Redis until the block ends."""
    with TemporaryDirectory() as directory:
        server = RedisServer(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.kill()
