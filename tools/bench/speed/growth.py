"""Growth: the cost of a page by the product's comments, and by the number of key ranges.

A constant cost has the exponent 0, a cost in proportion to the size the exponent 1.
"""

import math
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from dal.model import RATINGS, Comment
from dal.model.key_parts import format_instant
from tools.bench.report import Section
from tools.bench.speed.comparison import Contestant, Cost, Plan, told
from tools.bench.speed.loads import LANGUAGES, MIDDLE, Asked, Load, PageAsked, comments_of
from tools.bench.speed.measurement import Sample, measure, record, script
from tools.bench.speed.tables import Line, figure, lines

_FAN_OUTS = ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 4), (2, 5))
"""Ratings by languages: up to ten ranges."""


def product_of(size: int) -> str:
    """Return the product with ``size`` comments."""
    return f"growth-{size}"


def grown(sizes: Sequence[int]) -> Iterator[Comment]:
    """Yield the comments of every size."""
    for size in sizes:
        yield from comments_of(product_of(size), size)


@dataclass(slots=True)
class Growth:
    """The results, by the names of loads."""

    samples: list[Sample] = field(default_factory=list)
    costs: dict[tuple[str, str], Cost] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Number of comments of a load's product."""


def size_loads(size: int) -> list[Load]:
    """Return pages of one product: at the start, in the middle, and of three ratings."""
    product = product_of(size)
    # A cursor is a position in the list, even if it is not a comment's own.
    middle = f"{format_instant(MIDDLE)}#middle"
    pages: dict[str, Asked] = {
        "first page": PageAsked(product),
        "page in the middle": PageAsked(product, after=middle),
        "ratings 1, 3, 5": PageAsked(product, (1, 3, 5)),
        "ratings 1, 3, 5 in the middle": PageAsked(product, (1, 3, 5), after=middle),
    }
    return [Load(f"{title}, {size}", title, [page]) for title, page in pages.items()]


def fan_out_loads(size: int) -> list[Load]:
    """Return first pages of one product that read from 1 to 10 ranges of keys."""
    loads = []
    for ratings, languages in _FAN_OUTS:
        asked = PageAsked(product_of(size), RATINGS[:ratings], tuple(LANGUAGES)[:languages])
        title = f"{ratings * languages} ranges: {ratings} ratings, {languages} languages"
        loads.append(Load(title, title, [asked]))
    return loads


async def grow(
    plan: Plan, contestant: Contestant, growth: Growth, sizes: dict[str, int]
) -> AsyncIterator[str]:
    """Measure every load in rounds."""
    growth.sizes = sizes
    for load in plan.loads:
        growth.titles[load.name] = load.title
        made = script(contestant.url, contestant.dialect, load, token=plan.token)
        assert made is not None  # noqa: S101 - every dialect has pages
        yield f"{load.title}: what it costs"
        growth.costs |= await told(plan, contestant, load)
        await record(made)
        contestant.scripts[load.name] = made
    for number in range(plan.rounds):
        for made in contestant.scripts.values():
            yield f"Round {number + 1}: {made.load.title}"
            clients = plan.clients[0]
            growth.samples.append(
                await measure(contestant.subject, made, clients, plan.seconds, number)
            )


def sections(growth: Growth) -> list[Section]:
    """Return a table by sizes, with how fast each figure grows, and one by ranges of keys."""
    found = {line.load: line for line in lines(growth.samples)}
    titles = dict.fromkeys(growth.titles[name] for name in growth.sizes)
    rows: list[list[str]] = []
    for title in titles:
        names = [name for name in growth.sizes if growth.titles[name] == title]
        for place, name in enumerate(names):
            start = [title if not place else "", f"{growth.sizes[name]:,}"]
            rows.append([*start, *_cells(growth, found[name])])
        if len(names) > 1:
            rows.append(["", "exponent", *_exponents(growth, [found[name] for name in names])])
    fans = [line for name, line in found.items() if name not in growth.sizes]
    return [
        Section("By comments of the product", ["page", "comments", *_COLUMNS], rows, names=1),
        Section(
            "By ranges of keys",
            ["page", *_COLUMNS],
            [[growth.titles[line.load], *_cells(growth, line)] for line in fans],
        ),
    ]


_COLUMNS = ("CPU ms", "database ms", "pages/s", "p99 ms", "requests", "RCU")


def _cells(growth: Growth, line: Line) -> list[str]:
    cost = growth.costs[line.subject, line.load]
    return [
        figure(line.server_cpu),
        f"{line.database_cpu.median:.2f}",
        figure(line.rate, ",.0f"),
        f"{line.p99.median:.1f}",
        f"{cost.requests:.2f}",
        f"{cost.capacity:.3f}",
    ]


def _exponents(growth: Growth, found: Sequence[Line]) -> list[str]:
    sizes = [growth.sizes[line.load] for line in found]
    costs = [growth.costs[line.subject, line.load] for line in found]
    series = [
        [line.server_cpu.median for line in found],
        [line.database_cpu.median for line in found],
        [line.rate.median for line in found],
        [line.p99.median for line in found],
        [cost.requests for cost in costs],
        [cost.capacity for cost in costs],
    ]
    return [f"{exponent(sizes, values):+.2f}" for values in series]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the power of the size with which values grow, by least squares over logarithms."""
    across, up = ([math.log(value) for value in series] for series in (sizes, values))
    middle, level = sum(across) / len(across), sum(up) / len(up)
    both = sum((x - middle) * (y - level) for x, y in zip(across, up, strict=True))
    return both / sum((x - middle) ** 2 for x in across)
