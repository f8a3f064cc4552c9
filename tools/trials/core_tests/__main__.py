"""Runs the execution tests of graphql-core, and of a checkout of Strawberry, compiled.

pip downloads graphql-core's release with its tests. Strawberry's release has no tests, so give a
checkout: `ARGS="--strawberry DIRECTORY"`. Its tests import the checkout's own Strawberry. Prints
the tests that fail only if compiled. Exits with 1 if there are any, or if a suite compiles nothing.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.trials.reporting import CONSOLE, finish, show

CORE: tuple[str, ...] = (
    "tests/execution",
    "tests/test_graphql.py",
    "tests/test_star_wars_query.py",
    "tests/test_user_registry.py",
)
PLUGINS = (
    "pytest-describe",
    *("asgiref", "asttokens", "executing", "freezegun", "inline-snapshot"),
    *("pytest-emoji", "pytest-mock", "pytest-snapshot"),
)
"""Packages that the tests of graphql-core and Strawberry need."""
STRAWBERRY: tuple[str, ...] = (
    "tests/schema",
    "tests/relay",
    "tests/types",
    "tests/fields",
    "tests/objects",
)

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_PASSED = re.compile(r"(\d+) passed")
_OPERATIONS = re.compile(r"^operations: (\d+) compiled.*", re.MULTILINE)


def main() -> None:
    """Run each suite without and with compiled execution. Print the results of both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--strawberry", type=Path, help="a checkout with tests")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = Path(folder)
        suites = [("graphql-core", _release(place), "strict", CORE)]
        if given.strawberry is not None:
            suites.append(("Strawberry", given.strawberry.absolute(), "auto", STRAWBERRY))
        _pip("install", "--no-deps", "--target", place / "plugins", *PLUGINS)
        rows, broken = [], []
        for name, source, mode, paths in suites:
            whole = ("-o", f"asyncio_mode={mode}", *paths)
            plain = _ran(place, source, *whole)
            compiled = _ran(place, source, "-p", "compiled_plugin", *whole)
            rows.append((name, _passed(plain), _passed(compiled)))
            operations = _OPERATIONS.search(compiled)
            if operations is None or operations[1] == "0":
                broken.append(f"{name} runs no operation compiled:\n{compiled[-2000:]}")
            else:
                CONSOLE.print(f"{name}, {operations[0]}")
            failed = _failed(compiled) - _failed(plain)
            broken += [f"{name} fails compiled: {one}" for one in sorted(failed)]
    show("Tests that pass", ("suite", "plain", "compiled"), rows)
    finish(broken)


def _release(place: Path) -> Path:
    """Return the sources, with tests, of the release of graphql-core that is installed."""
    wanted = f"graphql-core=={version('graphql-core')}"
    _pip("download", "--no-deps", "--no-binary", "graphql-core", "--dest", place, wanted)
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    return place / archive.name.removesuffix(".tar.gz")


def _pip(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def _ran(place: Path, source: Path, *arguments: str) -> str:
    """Run pytest. Return its output."""
    paths = [place / "plugins", Path(__file__).parent]
    options = ("addopts=", "filterwarnings=ignore", "timeout=100")
    command = [sys.executable, "-m", "pytest", "--quiet", "--tb=no", "-p", "no:cacheprovider"]
    command.append("--continue-on-collection-errors")
    command += [part for option in options for part in ("-o", option)]
    done = subprocess.run(
        [*command, *arguments],
        cwd=source,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout


def _failed(output: str) -> set[str]:
    return set(_FAILED.findall(output))


def _passed(output: str) -> str:
    return "".join(_PASSED.findall(output))


if __name__ == "__main__":
    main()
