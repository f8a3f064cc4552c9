"""The pages of the documentation that tests execute, and their blocks that are not run."""

from collections.abc import Iterator

from tests.docs.markdown import Fence, fences
from tools.site.__main__ import sources

HISTORY = ("docs/decisions/", "CHANGELOG.md")
"""Pages about the past. They are not kept up to date, so they are not tested."""

LANGUAGES = {
    "",
    "console",
    "diff",
    "graphql",
    "html",
    "jinja",
    "js",
    "json",
    "nginx",
    "python",
    "sh",
    "toml",
    "yaml",
}


def living() -> dict[str, str]:
    """Return the current pages by path. README is first, because its plans need empty caches."""
    return {path: text for path, text in sources().items() if not path.startswith(HISTORY)}


def marked() -> Iterator[tuple[str, Fence]]:
    """Yield the blocks marked ``not run``, with their pages."""
    for path, text in living().items():
        for fence in fences(text):
            if fence.note == "not run":
                yield path, fence


if __name__ == "__main__":
    for page, block in marked():
        print(f"{page}:{block.line}: {block.language}: {block.reason}")  # noqa: T201
