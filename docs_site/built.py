"""What must hold of the site as it was built: each link leads somewhere, and nothing is foreign."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
}
_NOT_LOADED = {"canonical", "next", "prev"}


class _Page(HTMLParser):
    """The ids and links of a page, and the addresses that a browser loads by itself."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(str(given["id"]))
        for name in ("href", "src"):
            target = given.get(name)
            if target is None or given.get("rel") in _NOT_LOADED:
                continue
            self.links.append(target)
            if (tag, name) in _LOADED:
                self.loaded.append(target)


def faults(site: Path) -> Iterator[str]:
    """Yield a sentence for each link that leads nowhere, and each file from the network."""
    for path in sorted(site.rglob("*.html")):
        page, name = _page(path), path.relative_to(site)
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name} loads {target} from the network."
        for target in page.links:
            if path.name != "404.html" and not _leads(path, target):
                yield f"{name} links to {target}, which is not there."


@cache
def _page(path: Path) -> _Page:
    return _Page(path.read_text("utf-8"))


def _leads(path: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    to = path.parent / unquote(parts.path) if parts.path else path
    if to.is_dir():
        to /= "index.html"
    if not to.exists():
        return False
    ids = _page(to).ids if to.suffix == ".html" else set()
    return parts.fragment in {"", "__toc", "__skip"} or unquote(parts.fragment) in ids
