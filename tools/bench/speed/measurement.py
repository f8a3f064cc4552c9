"""One measurement: clients send requests to a server for some seconds, and check every response.

A script has the requests of a load for one server, and the right responses.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import orjson

from server.errors import CommandError
from tools.bench.speed.dialects import Dialect, shown
from tools.bench.speed.generator import Answer, Once, ask, request
from tools.bench.speed.loads import Asked, CommentAdded, HtmlAsked, Load
from tools.bench.speed.processes import cpu_between, cpu_times

_ADDED = re.compile(rb'{"data":{"addComment":{"comment":{"id":"[^"]+"}}}}')
_EVENTS = re.compile(rb' data-live="[^"]*"')
"""The address of live events in an HTML page. The address is not compared, because it contains a
cursor that changes with each write."""

_CODE = re.compile(rb'"code": ?"(\w+)"')
_OK = b"200"
_RECORDERS = 4
_STEP = 331
"""Each measurement of a load begins this number of requests later in the load than the measurement
before it. So the rounds send different requests."""


@dataclass(slots=True)
class Script:
    """Numbered requests. A request that does not write always has the same response."""

    url: str
    load: Load
    requests: Sequence[bytes]
    digests: list[int] = field(default_factory=list)
    """Digests of the right bodies; empty for writes, because each response has a new id."""

    def right(self, number: int, answer: Answer) -> bool:
        """Return whether a response has status 200 and a right body.

        A right body equals the recorded body. For a write, it contains the id of the new comment.
        """
        if answer.status != _OK:
            return False
        if not self.digests:
            return _ADDED.fullmatch(answer.body) is not None
        return _digest(answer) == self.digests[number]


def _digest(answer: Answer) -> int:
    return hash(_EVENTS.sub(b"", answer.body, 1))


def script(
    url: str, dialect: Dialect, load: Load, *, token: str, tell_cost: bool = False
) -> Script | None:
    """Return the requests of a load; None if this server has no such operation.

    With ``tell_cost`` each request asks the server for its cost. ``token`` is a JWT of staff, who
    may see costs.
    """
    more = {"extensions": {"cost": True}} if tell_cost else {}
    requests = [_request(url, dialect, asked, token, more) for asked in load.asked]
    if requests[0] is None:
        return None
    return Script(url, load, [each for each in requests if each is not None])


async def each(script: Script, keep: Callable[[int, Answer], None], clients: int = 1) -> None:
    """Send each request once, and pass each response to ``keep``.

    Raise CommandError if a response has another status than 200.
    """
    failed: list[Answer] = []

    def note(number: int, answer: Answer) -> None:
        if answer.status == _OK:
            keep(number, answer)
        else:
            failed.append(answer)

    await ask(script.url, Once(script.requests, note), clients)
    if failed:
        status, body = (part.decode() for part in (failed[0].status, failed[0].body))
        raise CommandError(
            f"{script.url} answers the load {script.load.title} with {status}: {body[:300]}"
        )


async def record(script: Script) -> list[int]:
    """Send each request once, and record its response as the right one for the measurement.

    Return digests of the responses' contents, which must be equal for all servers. The result is
    empty for writes and HTML pages, which are not compared between servers.
    """
    first = script.load.asked[0]
    if isinstance(first, CommentAdded):
        return []
    script.digests = [0] * len(script.requests)
    seen: dict[int, int] = {}

    def keep(number: int, answer: Answer) -> None:
        script.digests[number] = _digest(answer)
        if not isinstance(first, HtmlAsked):
            seen[number] = hash(shown(answer.body))

    await each(script, keep, _RECORDERS)
    return [seen[number] for number in sorted(seen)]


def _request(
    url: str, dialect: Dialect, asked: Asked, token: str, more: dict[str, Any]
) -> bytes | None:
    if isinstance(asked, HtmlAsked):
        return request(url, f"/products/{asked.product}") if dialect.pages else None
    body = dialect.body(asked)
    if body is None:
        return None
    signed = bool(more) or isinstance(asked, CommentAdded)
    headers = (f"Authorization: Bearer {token}",) if signed else ()
    return request(url, "/graphql", orjson.dumps(body | more), headers)


@dataclass(frozen=True, slots=True)
class Subject:
    """A server and its database, with the ids of the processes whose CPU time is measured."""

    name: str
    title: str
    pid: int
    database_pid: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The results of one measurement. CPU times are in milliseconds per page."""

    subject: str
    title: str
    load: str
    clients: int
    pages: int
    wrong: int
    refused: int
    """The number of responses with status 503 and of requests without a response."""
    rate: float
    """Pages per second."""
    server_cpu: float
    database_cpu: float
    generator_share: float
    """The part of one core that the clients used. If it is near 1, the clients limited the
    result."""
    p50: float
    """The median time of a response, in milliseconds."""
    p99: float
    statuses: Counter[str] = field(default_factory=Counter)
    """The number of responses by outcome: right, wrong, or the status and code of a refusal."""


class _Timed:
    """Sends a script's requests one after another, at least one, until the time is over."""

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
            reason = f" {code[1].decode()}" if code else ""
            self.statuses[f"{answer.status.decode() or 'no answer'}{reason}"] += 1
            self.refused += 1
        else:
            self.statuses["wrong"] += 1
            self.wrong += 1


async def measure(
    subject: Subject, script: Script, clients: int, seconds: float, part: int
) -> Sample:
    """Send a script's requests for some seconds, and return the results.

    ``part`` determines the first request, so that the rounds begin with different requests.
    """
    server, database = cpu_times(subject.pid), cpu_times(subject.database_pid)
    timed = _Timed(script, seconds, part * _STEP)
    own, began = time.process_time(), time.perf_counter()
    await ask(script.url, timed, clients)
    took, own = time.perf_counter() - began, time.process_time() - own
    pages = len(timed.latencies)
    p50, p99 = median(timed.latencies), timed.latencies[0]
    if pages > 1:
        p99 = quantiles(timed.latencies, n=100, method="inclusive")[98]
    return Sample(
        subject=subject.name,
        title=subject.title,
        load=script.load.name,
        clients=clients,
        pages=pages,
        wrong=timed.wrong,
        refused=timed.refused,
        rate=pages / took,
        server_cpu=1e3 * cpu_between(server, cpu_times(subject.pid)) / pages,
        database_cpu=1e3 * cpu_between(database, cpu_times(subject.database_pid)) / pages,
        generator_share=own / took,
        p50=1e3 * p50,
        p99=1e3 * p99,
        statuses=timed.statuses,
    )
