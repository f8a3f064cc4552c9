"""The figures of a comparison as tables, and as a picture.

A figure is the median of several rounds, with its range. The picture is an SVG with a bar for the
CPU time of a page. It has no background, and its colours have medium lightness. So it is readable
on light and dark pages.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
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
    """The median, the minimum and the maximum of some values."""

    median: float
    least: float
    greatest: float

    def text(self, form: str = ".2f") -> str:
        """Return the median with the range."""
        return f"{self.median:{form}} ({self.least:{form}}-{self.greatest:{form}})"


@dataclass(frozen=True, slots=True)
class Line:
    """The rounds of one load, with one server and one number of clients."""

    rounds: list[Sample]

    @property
    def first(self) -> Sample:
        """The first round, for values that are the same in all rounds."""
        return self.rounds[0]

    def figure(self, name: str) -> Figure:
        """Return the median and range of the samples' attribute ``name``."""
        values = [getattr(sample, name) for sample in self.rounds]
        return Figure(median(values), min(values), max(values))


def lines(samples: Iterable[Sample]) -> list[Line]:
    """Return a line for each server, load and number of clients, in the order of appearance."""
    rounds: dict[tuple[str, str, int], list[Sample]] = defaultdict(list)
    for sample in samples:
        rounds[sample.load, sample.subject, sample.clients].append(sample)
    return [Line(group) for group in rounds.values()]


def sections(outcome: Outcome) -> list[Section]:
    """Return the tables: pages, start and memory, and crowds if they were measured."""
    footprints = Section(
        "Start and memory",
        ("server", "ready after s", "CPU s until then", "MB at rest", "MB after all loads"),
        [
            (
                one.title,
                f"{one.start.seconds:.2f}",
                f"{one.start.cpu:.2f}",
                f"{one.start.memory / 1e6:.0f}",
                f"{one.loaded / 1e6:.0f}",
            )
            for one in outcome.footprints
        ],
    )
    found = [_pages(outcome), footprints]
    return [*found, _crowds(outcome)] if outcome.crowds else found


def page_sections(outcome: Outcome, clients: int) -> list[Section]:
    """Return the tables of docs/speed.md: the lines with ``clients`` clients, in fewer columns.

    Each line also has the CPU time with one client, because concurrent clients share reads of the
    table. Only with one client does each page include the cost of all its reads.
    """
    full, *others = sections(outcome)
    left_out = {"clients", "pages/s", "p50 ms", "p99 ms", "answers"}
    kept = [place for place, name in enumerate(full.columns) if name not in left_out]
    found = ordered(outcome)
    alone = {
        (line.first.load, line.first.subject): line.figure("server_cpu").text()
        for line in found
        if line.first.clients == 1
    }
    rows = []
    for row, line in zip(full.rows, found, strict=True):
        if line.first.clients == clients:
            cells = [row[place] for place in kept]
            cells.insert(2, alone.get((line.first.load, line.first.subject), ""))
            rows.append(cells)
    columns = [full.columns[place] for place in kept]
    columns[2:3] = ["CPU ms, 1 client", f"CPU ms, {clients} clients"]
    return [Section(full.title, columns, rows, names=2), *others]


def summary(outcome: Outcome) -> str:
    """Return sentences about the checks of the answers and about the CPU time of the clients."""
    answers = sum(sample.pages for sample in outcome.samples)
    busiest = max(sample.generator_share for sample in outcome.samples)
    return (
        f"Before the measurement, every server gave the same answers to {outcome.compared:,} "
        f"requests. During the measurement, {answers:,} answers were checked; {wrong(outcome):,} "
        f"were wrong. The clients took at most {busiest:.0%} of one core."
    )


def wrong(outcome: Outcome) -> int:
    """Return the number of wrong responses.

    A refusal counts as wrong, except in the measurement of a crowd.
    """
    in_rounds = sum(sample.wrong + sample.refused for sample in outcome.samples)
    return in_rounds + sum(sample.wrong for sample in outcome.crowds)


def ordered(outcome: Outcome) -> list[Line]:
    """Return the lines by load, then by number of clients."""
    order = list(outcome.titles)
    found = lines(outcome.samples)
    return sorted(found, key=lambda line: (order.index(line.first.load), line.first.clients))


def _pages(outcome: Outcome) -> Section:
    columns = ["load", "clients", "server", "CPU ms", "database ms", "pages/s"]
    columns += ["p50 ms", "p99 ms", "requests", "units", "answers"]
    rows, last = [], ("", 0)
    for line in ordered(outcome):
        one = line.first
        here = one.load, one.clients
        cost = outcome.costs.get((one.subject, one.load))
        pages = sum(sample.pages for sample in line.rounds)
        bad = sum(sample.wrong + sample.refused for sample in line.rounds)
        rows.append(
            [
                *((outcome.titles[one.load], str(one.clients)) if here != last else ("", "")),
                one.title,
                line.figure("server_cpu").text(),
                f"{line.figure('database_cpu').median:.2f}",
                line.figure("rate").text(",.0f"),
                f"{line.figure('p50').median:.1f}",
                f"{line.figure('p99').median:.1f}",
                f"{cost.requests:.2f}" if cost else "",
                f"{cost.capacity:.3f}" if cost else "",
                f"{pages:,}" + (f", {bad:,} wrong" if bad else ""),
            ]
        )
        last = here
    title = "A page: CPU of the server and of its database, medians (minimum to maximum)"
    return Section(title, columns, rows, names=3)


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
    """Return the picture of the lines with ``clients`` clients.

    The server ``first`` is highlighted.

    Loads that only one server can answer are omitted.
    """
    lines = [line for line in ordered(outcome) if line.first.clients == clients]
    groups = {
        title: [line for line in lines if line.first.load == name]
        for name, title in outcome.titles.items()
    }
    groups = {title: group for title, group in groups.items() if len(group) > 1}
    most = max(line.figure("server_cpu").median for group in groups.values() for line in group)
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
        cpu = line.figure("server_cpu").median
        width = max(cpu * scale, 1)
        colour = _FIRST if line.first.subject.startswith(first) else _OTHERS
        label = y + _BAR - 3
        yield f'<text class="server" x="{_LEFT - 8}" y="{label}">{escape(line.first.title)}</text>'
        yield f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>'
        yield f'<text x="{_LEFT + width + 6:.1f}" y="{label}">{cpu:.2f}</text>'
