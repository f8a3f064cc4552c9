"""The report: what was measured, in sections that a terminal and a page of Markdown both show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as Grid

from bench.speed.comparison import Outcome
from bench.speed.figures import Figure, Line, lines


@dataclass(frozen=True, slots=True)
class Section:
    """A table; its first ``names`` columns are words, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


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


def show(console: Console, shown: Iterable[Section]) -> None:
    """Print sections."""
    for section in shown:
        grid = Grid(title=section.title, title_justify="left")
        for place, heading in enumerate(section.columns):
            words = place < section.names
            grid.add_column(heading, justify="left" if words else "right", no_wrap=words)
        last = section.rows[0][0]
        for row in section.rows:
            if section.names > 1 and row[0] not in ("", last):
                grid.add_section()
            last = row[0] or last
            grid.add_row(*row)
        console.print(grid)


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
    title = f"{outcome.crowds[0].clients:,} clients ask for the first page at once"
    return Section(title, ("server", "pages/s", "p50 ms", "p99 ms", "answers"), rows)
