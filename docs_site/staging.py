"""The site's sources: this repository's pages at their places in the site, with their links.

A link between pages leads to the page; one to a file that the site does not have becomes its name.
"""

import posixpath
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from docs_site.markdown import link_pattern, prose, table, title_of
from docs_site.reference import PAGES

ROOT = Path(__file__).parents[1]
CONFIGURATION = ROOT / "docs_site/mkdocs.yml"
DECISIONS = "decisions/index.md"

AROUND = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "schema.graphql": "reference/schema.md",
    "docs_site/reference/errors.py": "reference/errors.md",
    "server/observability/declared.py": "reference/metrics.md",
}
"""Places in the site of what does not stand in ``docs/``, where all else keeps its path."""


def stage(into: Path) -> Path:
    """Write all that the site is built of; return its configuration."""
    pages = into / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    shutil.copytree(ROOT / "examples/pictures", pages / "pictures/examples")
    shutil.copytree(ROOT / "docs_site/assets", pages / "assets")
    for path, text in sources().items():
        _write(pages / str(place_of(path)), _moved(path, text))
    for place, made in PAGES.items():
        _write(pages / place, made())
    _write(pages / DECISIONS, decisions_page())
    configuration = into / "mkdocs.yml"
    _write(configuration, _configuration())
    return configuration


def sources() -> dict[str, str]:
    """Return the pages that are written by hand, by their paths in the repository."""
    files = [ROOT / path for path in AROUND if path.endswith(".md")]
    files += sorted((ROOT / "docs").rglob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}


def place_of(path: str) -> str | None:
    """Return where a file of the repository stands in the site; None where it does not."""
    if path in AROUND:
        return AROUND[path]
    if path.rstrip("/") == "docs/decisions":
        return DECISIONS
    if path.startswith("examples/pictures/"):
        return f"pictures/{path.removesuffix('/').replace('/pictures/', '/')}"
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def decisions_page() -> str:
    """Return the list of all decisions."""
    rows = []
    for path, text in sources().items():
        if path.startswith("docs/decisions/"):
            number, _, title = title_of(text).partition(". ")
            rows.append((number, f"[{title}]({Path(path).name})"))
    lines = ["# Decisions", "", "Choices that had serious alternatives.", ""]
    return "\n".join([*lines, *table(("number", "decision"), rows), ""])


def _configuration() -> str:
    """Return the configuration with every decision in the nav, whose last entry they are."""
    decided = [place_of(path) for path in sources() if path.startswith("docs/decisions/")]
    lines = [f"      - All decisions: {DECISIONS}", *(f"      - {place}" for place in decided)]
    return "\n".join([CONFIGURATION.read_text("utf-8").rstrip(), *lines, ""])


def _moved(path: str, text: str) -> str:
    """Return a page with its links as they are in the site."""
    plain = prose(text)
    for pattern, write in zip(link_pattern(), (_markdown_link, _html_link), strict=True):
        for found in reversed(list(pattern.finditer(plain))):
            target = _target(path, found["target"])
            written = write(text[found.start() : found.end()], found["target"], target)
            text = text[: found.start()] + written + text[found.end() :]
        plain = prose(text)
    return text


def _target(path: str, target: str) -> str | None:
    """Return a link's target in the site, None where that has no such page."""
    parts = urlsplit(target)
    if parts.scheme or not parts.path:
        return target
    place = place_of(resolved(path, parts.path))
    if place is None:
        return None
    here = posixpath.dirname(place_of(path) or "")
    moved = posixpath.relpath(place, here or ".")
    return f"{moved}#{parts.fragment}" if parts.fragment and "reference/" not in moved else moved


def resolved(path: str, link: str) -> str:
    """Return the path in the repository that a link of the page at ``path`` leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def _markdown_link(written: str, before: str, after: str | None) -> str:
    if after is None:
        return written[1 : written.rindex("](")]
    return written.replace(f"]({before})", f"]({after})")


def _html_link(written: str, before: str, after: str | None) -> str:
    return written.replace(before, after or "")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
