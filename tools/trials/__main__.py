"""Lists the trials for ``make trial``.

With a name, it lists nothing, and exits with 2 if there is no such trial. It imports only the
standard library, so that `make trial` works before anything is installed.
"""

import ast
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).parent


def trials() -> dict[str, str]:
    """Return the names of the trials with the first lines of their docstrings."""
    packages = {path.parent.name: path for path in HERE.glob("*/__main__.py")}
    modules = {
        path.stem: path
        for path in HERE.glob("*.py")
        if path.stem != "__main__" and '__name__ == "__main__"' in path.read_text("utf-8")
    }
    return {name: _first_line(path) for name, path in sorted((packages | modules).items())}


def _first_line(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.partition("\n")[0]


def main(names: list[str]) -> None:
    """List all trials. With names, exit with 2 if one is unknown."""
    known = trials()
    for name in names:
        if name not in known:
            sys.stderr.write(f"There is no trial {name}: choose one of {', '.join(known)}.\n")
            sys.exit(2)
    if not names:
        for name, line in known.items():
            shown = textwrap.fill(
                line, 79, initial_indent=f"  {name:<14}", subsequent_indent=" " * 16
            )
            sys.stdout.write(f"{shown}\n")
        sys.stdout.write("Run one: make trial NAME=fuzz, with ARGS for its options.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
