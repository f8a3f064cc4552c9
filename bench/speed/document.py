"""The tables of docs/speed.md, between marks; the text around them is written by hand."""

import re
from collections.abc import Iterable, Iterator

from bench.speed.errors import BenchError
from bench.speed.report import Section


def page(before: str, name: str, shown: Iterable[Section], notes: Iterable[str]) -> str:
    """Return a page with what stands between the marks of ``name`` made anew."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not marks.search(before):
        raise BenchError(f"The page has no marks '<!-- {name} -->' and '<!-- end of {name} -->'.")
    made = "\n".join([*_lines(shown), *notes, ""])
    return marks.sub(lambda found: found[1] + made + found[2], before)


def _lines(shown: Iterable[Section]) -> Iterator[str]:
    for section in shown:
        yield f"**{section.title}**"
        yield ""
        yield _row(section.columns)
        yield "|" + "---|" * section.names + "--:|" * (len(section.columns) - section.names)
        yield from map(_row, section.rows)
        yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
