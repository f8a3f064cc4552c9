"""A server, and in mode stream a follower, that are killed and started again."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen

import httpx

from tests.server.serving import AWS, MARGINALIA, Served, environment
from tools.trials.serving import serving

WRITES = 600
"""The least number of acknowledged writes during the kills."""

BETWEEN = range(40, 90)
"""The number of acknowledged writes between two kills."""


@dataclass
class Restarts:
    """Runs the server, and a follower of the stream if ``follows``.

    ``client`` sends requests to the server. ``engine`` is the engine's URL for the commands.
    """

    client: httpx.AsyncClient
    directory: Path
    options: Sequence[str]
    engine: str
    follows: bool
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether a server is running."""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _server: Served | None = None
    _follower: Popen[str] | None = None

    async def start(self) -> None:
        """Start the server and the follower."""
        self._server = await self._stack.enter_async_context(serving(self.directory, *self.options))
        self.client.base_url = httpx.URL(self._server.url)
        if self.follows:
            self._follower = self._command("stats", "follow")
            assert self._follower.stdout is not None
            await asyncio.to_thread(self._follower.stdout.readline)
        self.ready.set()

    async def end(self) -> None:
        """End the server and the follower."""
        await self._stack.aclose()

    async def kill(self) -> None:
        """Kill the server and the follower, and start others."""
        assert self._server is not None
        self.ready.clear()
        self._server.kill()
        if self._follower is not None:
            self._follower.kill()
        await self.start()

    async def kill_during_a_rebuild(self, writes: Callable[[], int], chance: random.Random) -> int:
        """Kill repeatedly until WRITES were acknowledged and a rebuild has ended.

        Return the number of kills.
        """
        rebuild, kills = self._command("stats", "rebuild"), 0
        while writes() < WRITES or rebuild.poll() is None:
            reached = writes() + chance.choice(BETWEEN)
            while writes() < reached:  # noqa: ASYNC110 - polled
                await asyncio.sleep(chance.random() / 20)
            await self.kill()
            kills += 1
        assert rebuild.returncode == 0, "the rebuild failed"
        await self.kill()  # A follower that started during the rebuild has ended.
        return kills + 1

    def _command(self, *words: str) -> Popen[str]:
        command = [str(MARGINALIA), *words, "--endpoint-url", self.engine]
        process = self._stack.enter_context(
            Popen(command, env=environment(**AWS), stdout=PIPE, text=True)
        )
        self._stack.callback(process.kill)
        return process


@asynccontextmanager
async def restarting(restarts: Restarts) -> AsyncIterator[Restarts]:
    """Start, and end at the end of the block."""
    try:
        await restarts.start()
        yield restarts
    finally:
        await restarts.end()
