"""The figures of a comparison as tables, and the picture of them.

A figure is the median of several rounds, with its range. The picture has bars of the CPU that a
page takes, as SVG: its colours are of middle lightness and it has no ground, so that it can be read
on a light page and on a dark one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from statistics import median

from tools.bench.report import Section
from tools.bench.speed.comparison import Outcome
from tools.bench.speed.measurement import Sample

_WIDTH = 780
_LEFT = 185
_RIGHT = 60
_BAR = 14
_STEP = 20
_HEADING = 30
_TEXT = "#76808d"
_FIRST = "#d1496b"
_OTHERS = "#5b8dbf"
_STYLE = f"""text {{ font: 12px system-ui, sans-serif; fill: {_TEXT} }}
.load {{ font-weight: 600; font-size: 13px }} .server {{ text-anchor: end }}"""


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


def sections(outcome: Outcome) -> list[Section]:
    """Return everything that was measured."""
    found = [_pages(outcome), _footprints(outcome)]
    return [*found, _crowds(outcome)] if outcome.crowds else found


def summary(outcome: Outcome) -> str:
    """Return in words how far the figures can be trusted."""
    answers = sum(sample.pages for sample in outcome.samples)
    busiest = max(sample.generator_share for sample in outcome.samples)
    return (
        f"{outcome.compared:,} requests were answered alike by every server before; {answers:,} "
        f"answers were checked, {wrong(outcome):,} were wrong. The clients took {busiest:.0%} of "
        "one core at most."
    )


def wrong(outcome: Outcome) -> int:
    """Return how many answers were wrong; refusals are, but those of the crowd."""
    in_rounds = sum(sample.wrong + sample.refused for sample in outcome.samples)
    return in_rounds + sum(sample.wrong for sample in outcome.crowds)


def ordered(outcome: Outcome) -> list[Line]:
    """Return the lines by load, then by number of clients."""
    order = list(outcome.titles)
    return sorted(lines(outcome.samples), key=lambda line: (order.index(line.load), line.clients))


def _pages(outcome: Outcome) -> Section:
    columns = ["load", "clients", "server", "CPU ms", "database ms", "pages/s"]
    columns += ["p50 ms", "p99 ms", "requests", "units", "answers"]
    rows, last = [], ("", 0)
    for line in ordered(outcome):
        here = line.load, line.clients
        new = here != last
        start = [outcome.titles[line.load], str(line.clients)] if new else ["", ""]
        rows.append([*start, line.title, *_cells(outcome, line)])
        last = here
    title = "A page: CPU of the server and of its database, medians (least to greatest)"
    return Section(title, columns, rows, names=3)


def _cells(outcome: Outcome, line: Line) -> list[str]:
    cost = outcome.costs.get((line.subject, line.load))
    return [
        figure(line.server_cpu),
        f"{line.database_cpu.median:.2f}",
        figure(line.rate, ",.0f"),
        f"{line.p50.median:.1f}",
        f"{line.p99.median:.1f}",
        f"{cost.requests:.2f}" if cost else "",
        f"{cost.capacity:.3f}" if cost else "",
        f"{line.pages:,}" + (f", {line.wrong:,} wrong" if line.wrong else ""),
    ]


def figure(value: Figure, form: str = ".2f") -> str:
    """Return a median with its range."""
    return f"{value.median:{form}} ({value.least:{form}}-{value.greatest:{form}})"


def _footprints(outcome: Outcome) -> Section:
    columns = ("server", "ready after s", "CPU s until then", "MB at rest", "MB after the rounds")
    rows = [
        (
            one.title,
            f"{one.start.seconds:.2f}",
            f"{one.start.cpu:.2f}",
            f"{one.start.memory / 1e6:.0f}",
            f"{one.loaded / 1e6:.0f}",
        )
        for one in outcome.footprints
    ]
    return Section("Start and memory", columns, rows)


def _crowds(outcome: Outcome) -> Section:
    rows = []
    for one in outcome.crowds:
        shares = (f"{what} {count / one.pages:.1%}" for what, count in one.statuses.most_common())
        rate = one.rate * one.statuses["right"] / one.pages
        numbers = (f"{number:,.0f}" for number in (rate, one.p50, one.p99))
        rows.append((one.title, *numbers, ", ".join(shares)))
    title = f"{outcome.crowds[0].clients:,} clients request the first page at once"
    return Section(title, ("server", "pages/s", "p50 ms", "p99 ms", "answers"), rows)


def picture(outcome: Outcome, clients: int, first: str) -> str:
    """Return the picture of lines with ``clients`` clients; the server ``first`` is highlighted.

    Loads that only one server answers are left out.
    """
    lines = [line for line in ordered(outcome) if line.clients == clients]
    groups = {
        title: [line for line in lines if line.load == name]
        for name, title in outcome.titles.items()
    }
    groups = {title: group for title, group in groups.items() if len(group) > 1}
    most = max(line.server_cpu.median for group in groups.values() for line in group)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts, height = [], 24
    for title, group in groups.items():
        parts += list(_group(title, group, height, scale, first))
        height += _HEADING + _STEP * len(group)
    caption = f"Milliseconds of server CPU a page, {clients} clients; less is better"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height + 10}">',
            f"<title>{escape(caption)}</title>",
            f"<style>{_STYLE}</style>",
            f'<text x="0" y="14">{escape(caption)}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def _group(
    title: str, group: Iterable[Line], top: float, scale: float, first: str
) -> Iterator[str]:
    yield f'<text class="load" x="0" y="{top + 20}">{escape(title)}</text>'
    for number, line in enumerate(group):
        y = top + _HEADING + number * _STEP
        cpu = line.server_cpu.median
        width = max(cpu * scale, 1)
        colour = _FIRST if line.subject.startswith(first) else _OTHERS
        label = y + _BAR - 3
        yield f'<text class="server" x="{_LEFT - 8}" y="{label}">{escape(line.title)}</text>'
        yield f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>'
        yield f'<text x="{_LEFT + width + 6:.1f}" y="{label}">{cpu:.2f}</text>'
