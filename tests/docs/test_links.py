"""Links of every page: their files, headings and hosts."""

import re
from functools import cache
from urllib.parse import urlsplit

from tests.docs.markdown import anchors, links
from tests.engines import ROOT
from tools.site.__main__ import resolved, sources

_HOST = re.compile(r"(localhost|127\.0\.0\.1|[\w-]+(\.[\w-]+)+)(:\d+)?")


@cache
def anchors_of(path: str) -> frozenset[str]:
    return frozenset(anchors((ROOT / path).read_text("utf-8")))


def fault(page: str, link: str) -> str | None:
    """Return the fault of a link; None if the link is correct."""
    parts = urlsplit(link)
    if parts.scheme:
        right = parts.scheme in {"http", "https"} and _HOST.fullmatch(parts.netloc)
        return None if right else f"{link} has no host"
    path = resolved(page, parts.path) if parts.path else page
    if not (ROOT / path).exists():
        return f"{link} leads to no file"
    if parts.fragment and path.endswith(".md") and parts.fragment not in anchors_of(path):
        return f"{link} leads to no heading"
    return None


def test_every_link_has_a_target() -> None:
    found = {(page, fault(page, link)) for page, text in sources().items() for link in links(text)}
    assert [(page, why) for page, why in found if why is not None] == []


def test_a_broken_link_is_found() -> None:
    assert fault("README.md", "docs/nowhere.md") == "docs/nowhere.md leads to no file"
    assert fault("README.md", "#nowhere") == "#nowhere leads to no heading"
    assert fault("docs/DESIGN.md", "../README.md#nowhere") is not None
    assert fault("README.md", "https:/example.org") is not None
    assert fault("README.md", "docs/DESIGN.md#layers") is None
    text = '[a](b.md) and [![c](d.png)](e.md#f), not `[g](h.md)` <img src="i.png">'
    assert sorted(links(text)) == ["b.md", "d.png", "e.md#f", "i.png"]


def test_the_index_of_decisions_lists_every_record_with_its_title() -> None:
    pages = sources()
    index = pages["docs/decisions/README.md"]
    records = [path for path in pages if path.startswith("docs/decisions/0")]
    assert len(records) > 30
    for path in records:
        title = pages[path].splitlines()[0].partition(". ")[2]
        assert f"[{title}]({path.removeprefix('docs/decisions/')})" in index
