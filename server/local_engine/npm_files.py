"""Copies those files of npm packages that a server needs, for the container image."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from server.http.graphiql import FILES, ROOT
from server.local_engine.program import packaged_engine

NODE_MODULES = ROOT / "node_modules"


def read_by_a_server() -> list[Path]:
    """Return the files that a server needs: the engine's program and GraphiQL.

    The paths are relative to node_modules.
    """
    below = [path for path in FILES.values() if path.is_relative_to(NODE_MODULES)]
    return [path.relative_to(NODE_MODULES) for path in [packaged_engine(), *below]]


def copy(source: Path, target: Path = NODE_MODULES) -> None:
    """Copy the files of ``read_by_a_server`` from one node_modules to another.

    The ``package.json`` and the licence of each package are copied too. The engine may be missing
    in ``source``. Raises FileNotFoundError if any other file is missing.
    """
    engine, *files = read_by_a_server()
    for place in [engine, *files] if (source / engine).is_file() else files:
        for one in [place, *_licence(source, place)]:
            (target / one).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / one, target / one)


def _licence(source: Path, place: Path) -> Iterator[Path]:
    """Yield the ``package.json`` and the licence of the package that contains ``place``."""
    package = Path(*place.parts[: 2 if place.parts[0].startswith("@") else 1])
    for name in ("package.json", "LICENSE", "LICENSE.md"):
        if (source / package / name).is_file():
            yield package / name


if __name__ == "__main__":
    copy(Path(sys.argv[1]))
