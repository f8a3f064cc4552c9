"""Which pages are tested, and what of a page is run in which order."""

from collections.abc import Iterator

from tests.docs.markdown import Fence, fences
from tools.site.__main__ import sources

HISTORY = ("docs/decisions/", "CHANGELOG.md")
"""What tells of its day stays as it was."""

LANGUAGES = {
    "",
    "console",
    "diff",
    "graphql",
    "jinja",
    "json",
    "nginx",
    "python",
    "sh",
    "toml",
    "yaml",
}


def living() -> dict[str, str]:
    """Return the pages that hold today, by their paths; README first, on a server not asked yet."""
    return {path: text for path, text in sources().items() if not path.startswith(HISTORY)}


def marked() -> Iterator[tuple[str, Fence]]:
    """Yield the blocks that a comment before them says are not run, with their pages."""
    for path, text in living().items():
        for fence in fences(text):
            if fence.note == "not run":
                yield path, fence


if __name__ == "__main__":
    for page, block in marked():
        print(f"{page}:{block.line}: {block.language}: {block.reason}")  # noqa: T201
