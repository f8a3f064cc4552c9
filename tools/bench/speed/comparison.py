"""Compares servers: in several rounds, every server receives the requests of every load."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import orjson

from server.errors import CommandError
from tools.bench.speed.generator import Answer, fetch
from tools.bench.speed.loads import CommentAdded, HtmlAsked, Load
from tools.bench.speed.measurement import Sample, each, measure, record, script
from tools.bench.speed.processes import memory_of
from tools.bench.speed.servers import Contestant, Start

_WARM_CLIENTS = 16
_CROWDED = "first"


@dataclass(frozen=True, slots=True)
class Cost:
    """DynamoDB requests and capacity of a page."""

    requests: float
    capacity: float
    """The capacity in RCU; for a write in WCU."""


Costs = Mapping[tuple[str, str], Cost]
"""Costs by server and load."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The loads, numbers of clients, rounds and seconds of a measurement."""

    loads: Sequence[Load]
    clients: Sequence[int]
    rounds: int
    seconds: float
    token: str
    """The JWT of the user who writes."""
    crowd: int = 0
    """The number of concurrent clients in the measurement after the rounds; 0 omits it."""

    def most_steps(self, contestants: int) -> int:
        """Return the maximum number of steps that the progress bar shows.

        There are fewer steps if some servers do not receive some loads.
        """
        return len(self.loads) * contestants * (2 + self.rounds * len(self.clients)) + contestants


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources that a server needed to start, and its memory after the rounds."""

    title: str
    start: Start
    loaded: int
    """Bytes of memory after the rounds."""


@dataclass(slots=True)
class Outcome:
    """The results of a comparison."""

    samples: list[Sample] = field(default_factory=list)
    costs: dict[tuple[str, str], Cost] = field(default_factory=dict)
    compared: int = 0
    """The number of requests to which all servers returned the same content."""
    footprints: list[Footprint] = field(default_factory=list)
    crowds: list[Sample] = field(default_factory=list)
    """The measurements with ``Plan.crowd`` clients."""
    machine: str = ""
    versions: str = ""
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of the loads, in the order in which they are shown."""


async def compare(
    plan: Plan, contestants: Sequence[Contestant], outcome: Outcome
) -> AsyncIterator[str]:
    """Measure in rounds, with the order of the servers reversed in every second round.

    Yields the title of each step before the step. Raises CommandError if two servers return
    different content.
    """
    for load in plan.loads:
        async for step in _prepare(plan, load, contestants, outcome):
            yield step
    for one in contestants:
        for made in one.scripts.values():
            yield f"{made.load.title}: {one.title} warms up"
            await measure(one, made, _WARM_CLIENTS, plan.seconds, part=-1)
    for number in range(plan.rounds):
        order = contestants if number % 2 == 0 else contestants[::-1]
        for load, (place, clients) in product(plan.loads, enumerate(plan.clients)):
            part = number * len(plan.clients) + place
            for one in order:
                if load.name in one.scripts:
                    yield f"Round {number + 1}: {load.title}, {clients}, {one.title}"
                    made = one.scripts[load.name]
                    outcome.samples.append(await measure(one, made, clients, plan.seconds, part))


async def crowds(
    plan: Plan, contestants: Sequence[Contestant], outcome: Outcome
) -> AsyncIterator[str]:
    """Record each server's memory. Then measure a crowd of clients that request the first page.

    If ``plan.crowd`` is 0, no crowd is measured. Yields a crowd's title before its measurement.
    """
    for one in contestants:
        outcome.footprints.append(Footprint(one.title, one.start, memory_of(one.pid)))
        if plan.crowd and _CROWDED in one.scripts:
            yield f"{plan.crowd:,} clients: {one.title}"
            made = one.scripts[_CROWDED]
            outcome.crowds.append(await measure(one, made, plan.crowd, plan.seconds, part=0))


async def _prepare(
    plan: Plan, load: Load, contestants: Sequence[Contestant], outcome: Outcome
) -> AsyncIterator[str]:
    """Record each server's costs for a load, and the responses that count as right in the rounds.

    Yields titles of steps, and raises CommandError, as ``compare`` does.
    """
    outcome.titles[load.name] = load.title
    agreed: tuple[str, list[int]] | None = None
    for one in contestants:
        made = (
            script(one.url, one.dialect, load, token=plan.token) if one.takes(load.name) else None
        )
        if made is None:
            continue
        yield f"{load.title}: {one.title} answers once"
        outcome.costs |= await _reported(plan, one, load)
        before = await _counted(one)
        shown = await record(made)
        after = await _counted(one)
        if before and after and made.digests:
            pages = len(made.requests)
            requests = (after.requests - before.requests) / pages
            capacity = (after.capacity - before.capacity) / pages
            outcome.costs[one.name, load.name] = Cost(requests, capacity)
        one.scripts[load.name] = made
        if agreed is None:
            agreed = one.title, shown
            outcome.compared += len(shown)
        elif shown != agreed[1]:
            pairs = enumerate(zip(agreed[1], shown, strict=True))
            number = next(place for place, (first, second) in pairs if first != second)
            raise CommandError(
                f"{one.title} returns other content than {agreed[0]} for request {number} of "
                f"{load.title}, {load.asked[number]}: nothing was measured."
            )


async def _reported(plan: Plan, one: Contestant, load: Load) -> Costs:
    """Return the cost of a page from ``extensions.cost``; empty if the server reports no cost."""
    asking = script(one.url, one.dialect, load, token=plan.token, tell_cost=True)
    if asking is None or not one.dialect.tells_cost or isinstance(load.asked[0], HtmlAsked):
        return {}
    unit = "wcu" if isinstance(load.asked[0], CommentAdded) else "rcu"
    spent: list[tuple[int, float]] = []

    def keep(_: int, answer: Answer) -> None:
        actual = orjson.loads(answer.body)["extensions"]["cost"]["actual"]
        spent.append((actual["requests"], actual[unit]))

    await each(asking, keep)
    requests, capacity = (sum(values) / len(spent) for values in zip(*spent, strict=True))
    return {(one.name, load.name): Cost(requests, capacity)}


async def _counted(one: Contestant) -> Cost | None:
    """Return a server's requests and capacity from its ``/cost``; None if it has no ``/cost``."""
    if not one.dialect.counts_cost:
        return None
    return Cost(**orjson.loads((await fetch(one.url, "/cost")).body))
