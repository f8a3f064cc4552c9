"""The report: what was measured, as tables of the terminal."""

from rich.console import Console
from rich.table import Table as Grid

from bench.speed.comparison import Outcome
from bench.speed.figures import Figure, Line, lines

_COLUMNS = ("CPU ms", "database", "pages/s", "p50 ms", "p99 ms", "Queries", "units", "pages")


def show(console: Console, outcome: Outcome) -> None:
    """Print a line for each load, number of clients and server."""
    grid = Grid(title="Speed: medians (least to greatest), CPU a page", title_justify="left")
    for heading in ("load", "clients", "server"):
        grid.add_column(heading, no_wrap=True)
    for heading in _COLUMNS:
        grid.add_column(heading, justify="right", no_wrap=True)
    last = None
    for line in sorted(lines(outcome.samples), key=lambda line: _order(outcome, line)):
        here = line.load, line.clients
        if last not in (None, here):
            grid.add_section()
        start = (outcome.titles[line.load], str(line.clients)) if last != here else ("", "")
        grid.add_row(*start, line.title, *_cells(outcome, line))
        last = here
    console.print(grid)
    console.print(_footprints(outcome))
    if outcome.crowds:
        console.print(_crowds(outcome))
    console.print(_summary(outcome))


def _footprints(outcome: Outcome) -> Grid:
    grid = Grid("server", title="Start and memory", title_justify="left")
    for heading in ("ready after s", "CPU s", "MB at rest", "MB after the rounds"):
        grid.add_column(heading, justify="right")
    for one in outcome.footprints:
        start = one.start
        memory = (f"{size / 1e6:.0f}" for size in (start.memory, one.loaded))
        grid.add_row(one.title, f"{start.seconds:.2f}", f"{start.cpu:.2f}", *memory)
    return grid


def _crowds(outcome: Outcome) -> Grid:
    title = f"{outcome.crowds[0].clients:,} clients ask for the first page at once"
    grid = Grid("server", title=title, title_justify="left")
    for heading in ("pages/s", "p50 ms", "p99 ms", "answers"):
        grid.add_column(heading, justify="right")
    for one in outcome.crowds:
        shares = (f"{what} {count / one.pages:.1%}" for what, count in one.statuses.most_common())
        numbers = (one.rate * one.statuses["right"] / one.pages, one.p50, one.p99)
        grid.add_row(one.title, *(f"{number:,.0f}" for number in numbers), ", ".join(shares))
    return grid


def figure(value: Figure, form: str = ".2f") -> str:
    """Return a median with its range."""
    return f"{value.median:{form}} ({value.least:{form}}-{value.greatest:{form}})"


def wrong(outcome: Outcome) -> int:
    """Return how many answers were wrong."""
    in_rounds = sum(sample.wrong + sample.refused for sample in outcome.samples)
    return in_rounds + sum(sample.wrong for sample in outcome.crowds)


def _order(outcome: Outcome, line: Line) -> tuple[int, int]:
    return list(outcome.titles).index(line.load), line.clients


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


def _summary(outcome: Outcome) -> str:
    answers = sum(sample.pages for sample in outcome.samples)
    busiest = max(sample.generator_share for sample in outcome.samples)
    return (
        f"{outcome.compared:,} requests answered alike by every server before; {answers:,} answers "
        f"checked, {wrong(outcome):,} wrong. The clients took {busiest:.0%} of a core at most."
    )
