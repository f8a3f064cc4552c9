"""Deletes each feature from a copy of the project, and all at once, and tests the rest.

A copy without a feature must import all modules, pass mypy, build a schema that only loses lines,
serve a page of comments, and pass the core's tests. These are all tests except those of features,
pages, browsers and tools, and except ``PROJECT``. Each copy has its own environment, so that the
commands and servers that tests start import the copy's modules. Exits with 1 if a copy fails.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

from tests.doors import CORE, FEATURES, project_without, roots, settings_of, without
from tests.engines import ROOT
from tests.server.serving import environment
from tools.trials.figures import code_lines
from tools.trials.reporting import CONSOLE, finish, show

ALL = "all"
"""Names all features at once."""

OTHERS = ("tests/features", "tests/pages", "tests/browser", "tests/tools")

PROJECT = (
    "tests/clients",
    "tests/deploy",
    "tests/docs",
    "tests/examples",
    "tests/integration/test_recipe.py",
    "tests/schema/test_breaking_changes.py",
    "tests/test_doors.py",
    "tests/test_dockerfile.py",
    "tests/test_makefile.py",
    "tests/test_wheel.py",
)
"""Tests of the files around the code. They know all features, and some need the Git repository."""

PAGE = """
import asyncio, sys
from pathlib import Path
import httpx
from tests.server.serving import add_comment, all_comments, bearer, served

async def page():
    with served(Path(sys.argv[1])) as server:
        async with httpx.AsyncClient(base_url=server.url, headers=bearer("ann")) as client:
            comment_id = await add_comment(client, "Good paper")
            assert await all_comments(client) == [(comment_id, "Good paper")]

asyncio.run(page())
"""
"""A program that serves a comment on a page."""


@dataclass
class Outcome:
    """What a copy without features has shown. ``broken`` are its failures."""

    passed: int = 0
    failed: int = 0
    broken: list[str] = field(default_factory=list)


def main() -> None:
    """Test the copies, print a row for each, and exit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", help=f"names, separated by commas, or {ALL} for all at once")
    parser.add_argument("--tests", nargs="*", help="tests instead of all of the core's")
    options = parser.parse_args()
    names = options.features.split(",") if options.features else [*FEATURES, ALL]
    if unknown := set(names) - {*FEATURES, ALL}:
        parser.error(f"no feature {', '.join(sorted(unknown))}: choose from {', '.join(FEATURES)}")
    rows, broken = [], list[str]()
    for name in names:
        deleted = FEATURES if name == ALL else [name]
        with TemporaryDirectory(prefix="doors-") as folder:
            outcome = tried(deleted, Path(folder), options.tests)
        broken += [f"Without {name}: {one}" for one in outcome.broken]
        lines = lines_in_roots(deleted)
        folder_lines = sum(map(code_lines, texts_of(deleted)))
        by_root = "\n".join(f"{root} {count}" for root, count in lines.items())
        figures = (sum(lines.values()), folder_lines, outcome.passed, outcome.failed)
        rows.append((name, by_root, *(f"{one:,}" for one in figures)))
        CONSOLE.print(f"Without {name}: {outcome.passed} tests passed, {outcome.failed} failed.")
    columns = ("feature", "by root", "lines in roots", "lines in folder", "passed", "failed")
    show("The core without features", columns, rows)
    finish(broken)


def lines_in_roots(features: Sequence[str]) -> dict[str, int]:
    """Return the number of lines that features have in each composition root."""
    lines = dict[str, int]()
    for feature in features:
        settings = settings_of(ROOT, feature)
        for path, text in roots(ROOT, feature).items():
            lines[path] = lines.get(path, 0) + without(text, feature, settings)[1]
    return dict(sorted(lines.items()))


def texts_of(features: Sequence[str]) -> list[str]:
    """Return the texts of the modules in the folders of features."""
    paths = [path for one in features for path in (ROOT / "features" / one).rglob("*.py")]
    return [path.read_text("utf-8") for path in paths]


def tried(features: Sequence[str], folder: Path, tests: Sequence[str] | None) -> Outcome:
    """Test a copy of the project without features in ``folder``."""
    outcome = Outcome()
    root = folder / "project"
    try:
        project_without(features, root)
    except AssertionError as error:
        outcome.broken.append(str(error))
        return outcome
    program = own_environment(root)
    if (ROOT / ".mypy_cache").exists():
        shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
    for name, arguments in {
        "mypy": ("-m", "mypy", *CORE, "features"),
        "a page": ("-c", PAGE, str(folder / "data")),
    }.items():
        done = run(program, *arguments)
        if done.returncode:
            outcome.broken.append(f"{name}: {done.stdout}{done.stderr}")
    report = folder / "report.xml"
    chosen = tests or ["tests", *(f"--ignore={one}" for one in (*OTHERS, *PROJECT))]
    options = ("-q", "-p", "no:cacheprovider", "-n", "auto", "--dist", "loadscope")
    done = run(program, "-m", "pytest", *options, f"--junit-xml={report}", *chosen)
    if not report.exists():
        outcome.broken.append(done.stdout + done.stderr)
        return outcome
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
            outcome.broken.append(f"{case.get('classname')} {case.get('name')} failed.")
        elif case.find("skipped") is None:
            outcome.passed += 1
    if done.returncode and not outcome.failed:
        outcome.broken.append(done.stdout + done.stderr)
    return outcome


def own_environment(root: Path) -> Path:
    """Create an environment for a copy in ``.venv``, and return its Python.

    It has the packages of this environment, but neither imports nor starts this project's modules.
    """
    here, there = ROOT / ".venv", root / ".venv"
    venv.create(there, symlinks=True)
    packages = Path(sysconfig.get_path("purelib"))
    own = there / packages.relative_to(sys.prefix) / "project.pth"
    own.write_text(f"{root}\n{packages}\n", "utf-8")
    program = (here / "bin/marginalia").read_text("utf-8").replace(str(here), str(there))
    (there / "bin/marginalia").write_text(program, "utf-8")
    (there / "bin/marginalia").chmod(0o755)
    (there / "engines").symlink_to(here / "engines")
    for path in (here / "bin").iterdir():
        if not (there / "bin" / path.name).exists():
            (there / "bin" / path.name).symlink_to(path)
    return there / "bin/python"


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy that contains ``program``."""
    root = program.parents[2]
    settings = environment(PYTHONPATH=str(root))
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [program, *arguments], cwd=root, env=settings, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    main()
