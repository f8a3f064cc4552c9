"""Writes docs/pictures/merge.svg, the drawing of a page of the demo by both plans. `make docs` runs
it.

The playground of the demo shows the same drawing at ``SHOWN.address``.
"""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from markupsafe import Markup

from pages import i18n, rendering
from pages.addresses import Filters
from pages.merge_drawing import draw_merge
from pages.page_documents import DOCUMENTS
from pages.playground import Choice, plan_title
from tests.engines import ROOT
from tests.server.serving import served

FILE = ROOT / "docs/pictures/merge.svg"

SHOWN = Choice("1", Filters((1, 2, 3, 4)))
"""The page that the file shows: the newest comments on the demo's first product that are rated 1 to
4. The playground shows the same page at ``SHOWN.address``."""

_WIDTH, _MARGIN = 880, 16
_STYLES = ("colours", "lanes")
_BASES = {"articles": "FULL_PAGES", "ours": "ROW_LOCATIONS"}
_TEMPLATE = """{% from "merge.html" import picture with context %}
<svg xmlns="http://www.w3.org/2000/svg" class="lanes" width="{{ width }}" height="{{ height }}" \
viewBox="0 0 {{ width }} {{ height }}">
<style>
{{ styles | safe }}</style>
<rect class="cover" width="100%" height="100%" rx="10"/>
{{ picture(drawing, "", titles, attributes) }}
</svg>
"""


def made(url: str) -> str:
    """Return the file's text. ``url`` is the address of a server with the demo data."""
    plans = {}
    for name, basis in _BASES.items():
        variables = {**SHOWN.variables(), "first": SHOWN.size, "shown": True, "planBy": basis}
        request = {"query": DOCUMENTS["playground"], "variables": variables}
        answer = httpx.post(f"{url}/graphql", json=request, timeout=60).json()
        plans[name] = answer["data"]["product"]["comments"]["plan"]
    shown = [(name, plans[name]) for name in ("ours", "articles")]
    drawing = draw_merge([plan for _, plan in shown], titled=True, moving=True)
    width, height = _WIDTH + 2 * _MARGIN, drawing["height"] + 2 * _MARGIN
    inner = Markup('x="{0}" y="{0}" width="{1}" height="{2}"').format(
        _MARGIN, _WIDTH, drawing["height"]
    )
    with i18n.speaking(i18n.SOURCE):
        return (
            rendering.environment(i18n.SOURCE)
            .from_string(_TEMPLATE)
            .render(
                width=width,
                height=height,
                styles="".join(_style(name) for name in _STYLES),
                drawing=drawing,
                titles=[plan_title(name, plan) for name, plan in shown],
                attributes=inner,
            )
        )


def _style(name: str) -> str:
    return (ROOT / f"pages/styles/{name}.css").read_text("utf-8")


def main() -> None:
    """Run a server with the demo data, and write the file."""
    with TemporaryDirectory() as directory, served(Path(directory), "--demo") as server:
        while b"Demo data: loaded." not in os.pread(server.log.fileno(), 10_000, 0):
            time.sleep(0.2)
        FILE.write_text(made(server.url), "utf-8")


if __name__ == "__main__":
    main()
