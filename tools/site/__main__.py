"""``python -m tools.site``: build the documentation into build/site.

Pages are copied to their places in the site, and links between pages are adapted. A link to a file
that the site does not have, such as code, becomes plain text. Typer writes the page of commands.
"""

import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"

AROUND = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
    "schema.graphql": "schema.md",
}
"""The pages of the site from files outside ``docs/``: each file with its path in the site."""

_CODE_OR_LINK = re.compile(
    r"""^(?P<marks>\ *```+).*?^(?P=marks)\ *$
      | (`+)(?!`).+?(?<!`)\2(?!`)
      | (?P<start>!?\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\(|\bsrc=")
        (?P<target>[^)"\s]+)(?P<end>[)"])
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_FOREIGN = re.compile(r'<(?:script|img|iframe|source)\b[^>]* src="(?:https?:)?//')


def main() -> None:
    """Build the site.

    Exit with 1 if Zensical is not installed or warns, or if a page loads a file of another host.
    """
    stage(BUILD)
    bin_ = ROOT / ".venv/site/bin"
    if not (bin_ / "zensical").is_file():
        sys.exit("Zensical is not installed: run `make docs`, which installs it.")
    command = [str(bin_ / "zensical"), "build", "--strict", "--config-file", "mkdocs.yml"]
    if subprocess.run(command, cwd=BUILD, check=False).returncode:  # noqa: S603 - Zensical
        sys.exit("The site was not built: fix the warnings above.")
    pages = sorted((BUILD / "site").rglob("*.html"))
    foreign = [page.name for page in pages if _FOREIGN.search(page.read_text("utf-8"))]
    if foreign:
        sys.exit(
            f"These pages load files of other hosts: {', '.join(foreign)}. "
            "Remove the links to these files."
        )


def stage(into: Path) -> None:
    """Write the files that Zensical reads: the pages, their pictures, and the configuration."""
    pages = into / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    shutil.copytree(ROOT / "examples/pictures", pages / "pictures/examples")
    shutil.copytree(ROOT / "tools/site/assets", pages / "assets")
    shutil.copy(ROOT / "tools/site/mkdocs.yml", into)
    for path, text in sources().items():
        (pages / str(place_of(path))).write_text(_adapted(path, text), "utf-8")
    sdl = (ROOT / "schema.graphql").read_text("utf-8")
    (pages / "schema.md").write_text(f"# Schema\n\n```graphql\n{sdl}```\n", "utf-8")
    (pages / "decisions/README.md").unlink()  # its copy with adapted links is index.md
    typer = [sys.executable, "-m", "typer", "tools.site.commands", "utils", "docs"]
    typer += ["--name", "marginalia", "--title", "Commands", "--output", f"{pages}/commands.md"]
    subprocess.run(typer, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - Typer


def sources() -> dict[str, str]:
    """Return the texts of the hand-written pages, with their paths in the repository as keys."""
    files = [ROOT / path for path in AROUND if path.endswith(".md")]
    files += sorted((ROOT / "docs").rglob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files}


def place_of(path: str) -> str | None:
    """Return the path in the site for a file of the repository; None if the site lacks the file."""
    if path in AROUND:
        return AROUND[path]
    if path.startswith("examples/pictures/"):
        return path.replace("examples/pictures/", "pictures/examples/")
    if path in {"docs/decisions", "docs/decisions/README.md"}:
        return "decisions/index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def resolved(path: str, link: str) -> str:
    """Return the path in the repository to which a link on the page at ``path`` leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def _adapted(path: str, text: str) -> str:
    """Return a page with its links adapted to the site."""

    def adapt(found: re.Match[str]) -> str:
        target = found["target"]
        if target is None or urlsplit(target).scheme or target.startswith("#"):
            return found[0]
        file, mark, fragment = target.partition("#")
        place = place_of(resolved(path, file))
        if place is None:
            return found["text"] or ""
        here = posixpath.dirname(place_of(path) or "") or "."
        return f"{found['start']}{posixpath.relpath(place, here)}{mark}{fragment}{found['end']}"

    return _CODE_OR_LINK.sub(adapt, text)


if __name__ == "__main__":
    main()
