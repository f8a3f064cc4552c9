"""The picture of a comparison: bars of the CPU that a page takes, as SVG.

Its colours are of middle lightness and its ground is left out, so that it can be read on a light
page and on a dark one: a picture does not learn which of the two it stands on.
"""

from collections.abc import Iterable, Iterator
from html import escape

from bench.speed.comparison import Outcome
from bench.speed.figures import Line
from bench.speed.report import ordered

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


def picture(outcome: Outcome, clients: int, first: str) -> str:
    """Return the picture of the lines with so many clients; the server ``first`` stands out.

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
