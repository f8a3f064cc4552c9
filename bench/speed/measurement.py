"""One measurement: clients ask one server for some seconds, and every answer is checked."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from bench.speed.generator import Answer, ask
from bench.speed.processes import cpu_between, cpu_times
from bench.speed.scripts import Script

_CODE = re.compile(rb'"code": ?"(\w+)"')
_STEP = 331
"""Requests between the beginnings of two rounds, so that each begins elsewhere."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A server and its database, as processes."""

    name: str
    title: str
    pid: int
    database_pid: int


@dataclass(frozen=True, slots=True)
class Sample:
    """What one measurement has shown; times of CPU are in milliseconds a page."""

    subject: str
    title: str
    load: str
    clients: int
    pages: int
    wrong: int
    refused: int
    """Answers of 503, and those that did not come."""
    rate: float
    """Pages a second."""
    server_cpu: float
    database_cpu: float
    generator_share: float
    """The part of one core that the clients took: near 1, they were the limit."""
    p50: float
    """Milliseconds."""
    p99: float
    statuses: Counter[str] = field(default_factory=Counter)
    """Answers by what they were."""


class _Timed:
    """Asks a script's requests in turn until the time is over, one at least."""

    def __init__(self, script: Script, seconds: float, offset: int) -> None:
        self._script = script
        self._number = offset % len(script.requests)
        self._end = time.perf_counter() + seconds
        self._begun = False
        self.latencies: list[float] = []
        self.wrong = self.refused = 0
        self.statuses: Counter[str] = Counter()

    def next(self) -> tuple[int, bytes] | None:
        if self._begun and time.perf_counter() >= self._end:
            return None
        self._begun = True
        number = self._number
        self._number = (number + 1) % len(self._script.requests)
        return number, self._script.requests[number]

    def note(self, number: int, answer: Answer) -> None:
        self.latencies.append(answer.seconds)
        if self._script.right(number, answer):
            self.statuses["right"] += 1
        elif answer.status in (b"", b"503"):
            code = _CODE.search(answer.body)
            said = f" {code[1].decode()}" if code else ""
            self.statuses[f"{answer.status.decode() or 'no answer'}{said}"] += 1
            self.refused += 1
        else:
            self.statuses["wrong"] += 1
            self.wrong += 1


async def measure(
    subject: Subject, script: Script, clients: int, seconds: float, part: int
) -> Sample:
    """Ask for some seconds; ``part`` says where among the requests to begin."""
    server, database = cpu_times([subject.pid]), cpu_times([subject.database_pid])
    timed = _Timed(script, seconds, part * _STEP)
    own, began = time.process_time(), time.perf_counter()
    await ask(script.url, timed, clients)
    took, own = time.perf_counter() - began, time.process_time() - own
    pages = len(timed.latencies)
    p50, p99 = percentiles(timed.latencies)
    return Sample(
        subject=subject.name,
        title=subject.title,
        load=script.load.name,
        clients=clients,
        pages=pages,
        wrong=timed.wrong,
        refused=timed.refused,
        rate=pages / took,
        server_cpu=1e3 * cpu_between(server, cpu_times([subject.pid])) / pages,
        database_cpu=1e3 * cpu_between(database, cpu_times([subject.database_pid])) / pages,
        generator_share=own / took,
        p50=1e3 * p50,
        p99=1e3 * p99,
        statuses=timed.statuses,
    )


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median, and what 99 of 100 stay below."""
    if len(seconds) == 1:
        return seconds[0], seconds[0]
    return median(seconds), quantiles(seconds, n=100, method="inclusive")[98]
