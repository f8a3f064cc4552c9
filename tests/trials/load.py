"""Clients that ask for one page as soon as they are answered, and what they saw."""

import time
from collections import Counter
from dataclasses import dataclass, field

import uvloop

from tools.bench.speed.generator import Answer, ask, request

GIVE_UP = 5.0
"""Seconds after which a client takes its request for lost."""


@dataclass
class Phase:
    """What a number of clients saw for some seconds."""

    clients: int
    seconds: float
    served: list[tuple[float, float]] = field(default_factory=list)
    """When each page came, in seconds since the start, and after how long."""
    shed: list[float] = field(default_factory=list)
    """After how long each 503 came."""
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def goodput(self) -> float:
        """Pages a second."""
        return len(self.served) / self.seconds


def run(url: str, body: bytes, phases: list[Phase], fresh: bool) -> list[Phase]:
    """Run the phases without a pause; with ``fresh`` each request has a connection of its own."""

    async def run_all() -> None:
        for phase in phases:
            await load(url, body, phase, fresh=fresh)

    uvloop.run(run_all())
    return phases


async def load(url: str, body: bytes, phase: Phase, *, fresh: bool, pause: float = 0.0) -> None:
    """Ask until the phase ends, with ``pause`` seconds between an answer and the next request."""
    asking = _Asking(url, body, phase, fresh=fresh)
    await ask(url, asking, phase.clients, patience=GIVE_UP, pause=pause)


class _Asking:
    """Asks for one page, over and over, and sorts the answers."""

    def __init__(self, url: str, body: bytes, phase: Phase, *, fresh: bool) -> None:
        headers = (f"Connection: {'close' if fresh else 'keep-alive'}",)
        self._request = request(url, "/graphql", body, headers)
        self._phase = phase
        self._start = time.perf_counter()

    def next(self) -> tuple[int, bytes] | None:
        over = time.perf_counter() >= self._start + self._phase.seconds
        return None if over else (0, self._request)

    def note(self, number: int, answer: Answer) -> None:
        if answer.status == b"200" and b'"errors"' not in answer.body:
            self._phase.served.append((answer.ended - self._start, answer.seconds))
        elif answer.status == b"503" and b"retry-after" in answer.head:
            self._phase.shed.append(answer.seconds)
        else:
            self._phase.failed[answer.status.decode() or "unanswered"] += 1
