"""Figures: medians of several rounds, with their ranges."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from bench.speed.measurement import Sample


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of some values, the least, and the greatest."""

    median: float
    least: float
    greatest: float


@dataclass(frozen=True, slots=True)
class Line:
    """What the rounds of one load have shown of one server, with so many clients."""

    subject: str
    title: str
    load: str
    clients: int
    rate: Figure
    server_cpu: Figure
    database_cpu: Figure
    p50: Figure
    p99: Figure
    generator_share: Figure
    pages: int
    wrong: int
    """Refusals included: none of these loads is more than a server must bear."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What DynamoDB was asked for, a page."""

    requests: float
    capacity: float
    """RCU; of a write, WCU."""


Costs = Mapping[tuple[str, str], Cost]
"""By server and load."""


def lines(samples: Iterable[Sample]) -> list[Line]:
    """Return a line for each server, load and number of clients, in the order of appearance."""
    rounds: dict[tuple[str, str, int], list[Sample]] = defaultdict(list)
    for sample in samples:
        rounds[sample.load, sample.subject, sample.clients].append(sample)
    return [_line(group) for group in rounds.values()]


def _line(group: list[Sample]) -> Line:
    def figure(value: Callable[[Sample], float]) -> Figure:
        values = [value(sample) for sample in group]
        return Figure(median(values), min(values), max(values))

    first = group[0]
    return Line(
        subject=first.subject,
        title=first.title,
        load=first.load,
        clients=first.clients,
        rate=figure(lambda sample: sample.rate),
        server_cpu=figure(lambda sample: sample.server_cpu),
        database_cpu=figure(lambda sample: sample.database_cpu),
        p50=figure(lambda sample: sample.p50),
        p99=figure(lambda sample: sample.p99),
        generator_share=figure(lambda sample: sample.generator_share),
        pages=sum(sample.pages for sample in group),
        wrong=sum(sample.wrong + sample.refused for sample in group),
    )
