"""Growth: how a page's cost grows with the number of the product's comments and of key ranges.

A key range is a contiguous part of an index. A page sends at least one Query for each key range.

An exponent shows how a figure grows with the number of comments. It is 0 if the figure stays the
same, and 1 if the figure is proportional to the number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import linear_regression

from dal.model import RATINGS, Comment
from dal.table.key_parts import format_instant
from tools.bench.report import Section
from tools.bench.speed.comparison import Outcome
from tools.bench.speed.loads import LANGUAGES, MIDDLE, Asked, Load, PageAsked, comments_of
from tools.bench.speed.tables import Line, lines

_FAN_OUTS = ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 4), (2, 5))
"""Pairs: the number of ratings and the number of languages. A page reads one key range for each
combination of a rating and a language, up to ten."""


def product_of(size: int) -> str:
    """Return the id of the product with ``size`` comments."""
    return f"growth-{size}"


def grown(sizes: Sequence[int]) -> Iterator[Comment]:
    """Yield the comments of the products of all sizes."""
    for size in sizes:
        yield from comments_of(product_of(size), size)


def size_loads(size: int) -> list[Load]:
    """Return four loads of one product's pages.

    They read the first page and a page in the middle, with all ratings and with three ratings.
    """
    product = product_of(size)
    # This position is a valid cursor, although no comment has it.
    middle = f"{format_instant(MIDDLE)}#middle"
    pages: dict[str, Asked] = {
        "first page": PageAsked(product),
        "page in the middle": PageAsked(product, after=middle),
        "ratings 1, 3, 5": PageAsked(product, (1, 3, 5)),
        "ratings 1, 3, 5 in the middle": PageAsked(product, (1, 3, 5), after=middle),
    }
    return [Load(f"{title}, {size}", title, [page]) for title, page in pages.items()]


def fan_out_loads(size: int) -> list[Load]:
    """Return loads of one product's first pages. A page reads 1 to 10 key ranges."""
    loads = []
    for ratings, languages in _FAN_OUTS:
        asked = PageAsked(product_of(size), RATINGS[:ratings], tuple(LANGUAGES)[:languages])
        title = f"{ratings * languages} ranges: {ratings} ratings, {languages} languages"
        loads.append(Load(title, title, [asked]))
    return loads


def sections(outcome: Outcome, sizes: Mapping[str, int]) -> list[Section]:
    """Return a table by product size, with each figure's exponent, and a table by key ranges.

    ``sizes`` maps the name of a load to the number of comments of its product.
    """
    found = {line.first.load: line for line in lines(outcome.samples)}
    titles, rows = outcome.titles, list[list[str]]()
    for title in dict.fromkeys(titles[name] for name in sizes):
        group = [found[name] for name in sizes if titles[name] == title]
        for place, line in enumerate(group):
            start = ["" if place else title, f"{sizes[line.first.load]:,}"]
            rows.append([*start, *_cells(outcome, line)])
        if len(group) > 1:
            across = [sizes[line.first.load] for line in group]
            series = zip(*(_figures(outcome, line) for line in group), strict=True)
            rows.append(["", "exponent", *(f"{exponent(across, one):+.2f}" for one in series)])
    fans = [line for name, line in found.items() if name not in sizes]
    return [
        Section("By comments of the product", ["page", "comments", *_COLUMNS], rows, names=1),
        Section(
            "By ranges of keys",
            ["page", *_COLUMNS],
            [[titles[line.first.load], *_cells(outcome, line)] for line in fans],
        ),
    ]


_COLUMNS = ("CPU ms", "database ms", "pages/s", "p99 ms", "requests", "RCU")


def _figures(outcome: Outcome, line: Line) -> list[float]:
    """Return the figures of ``_COLUMNS``."""
    cost = outcome.costs[line.first.subject, line.first.load]
    medians = [line.figure(name).median for name in ("server_cpu", "database_cpu", "rate", "p99")]
    return [*medians, cost.requests, cost.capacity]


def _cells(outcome: Outcome, line: Line) -> list[str]:
    _, database, _, p99, requests, capacity = _figures(outcome, line)
    cells = [line.figure("server_cpu").text(), f"{database:.2f}", line.figure("rate").text(",.0f")]
    return [*cells, f"{p99:.1f}", f"{requests:.2f}", f"{capacity:.3f}"]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the exponent e for which the values are about proportional to size ** e.

    It is computed by least squares of the logarithms.
    """
    slope = linear_regression([math.log(one) for one in sizes], [math.log(one) for one in values])
    return slope.slope
