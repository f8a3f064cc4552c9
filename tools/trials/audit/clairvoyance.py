"""Runs clairvoyance, which guesses a schema from a server's errors."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from strawberry import Schema

from schema.build import build_schema
from tools.trials.audit.findings import Finding

_PROGRAM = Path(sys.prefix) / "audit/bin/clairvoyance"

_SOME = ("leaderboard", "order", "produkt", "rank", "total")
"""A few words, which are enough to show that the tool finds fields."""


def findings(open_url: str, closed_url: str) -> list[Finding]:
    """Return the number of fields that the tool finds, with introspection and without.

    With introspection, it gets five words, which shows that it works. Without introspection, it
    gets every name of the schema, and then its own list of words.
    """
    names = sorted({name for fields in _fields(build_schema()).values() for name in fields})
    shown, hidden, own = (
        _recovered(url, words)
        for url, words in ((open_url, _SOME), (closed_url, names), (closed_url, None))
    )
    without = "introspection off"
    return [
        Finding("introspection on, 5 names given", shown > 0, f"recovered {shown} fields"),
        Finding(
            f"{without}, all {len(names)} names given", not hidden, f"recovered {hidden} fields"
        ),
        Finding(f"{without}, its own list of 9,894 words", not own, f"recovered {own} fields"),
    ]


def _recovered(url: str, words: tuple[str, ...] | list[str] | None) -> int:
    """Return the number of existing fields that the tool finds. It may write no schema."""
    with TemporaryDirectory() as directory:
        found, given = Path(directory, "schema.json"), Path(directory, "words")
        given.write_text("\n".join(words or ()))
        options = [] if words is None else ["-w", str(given)]
        subprocess.run(
            [_PROGRAM, "-o", found, *options, f"{url}/graphql"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        guessed = json.loads(found.read_text())["data"]["__schema"] if found.exists() else {}
    real = _fields(build_schema())
    return sum(
        field["name"] in real.get(kind["name"], ())
        for kind in guessed.get("types", ())
        for field in kind.get("fields") or ()
    )


def _fields(schema: Schema) -> dict[str, set[str]]:
    types: list[dict[str, Any]] = schema.introspect()["__schema"]["types"]
    return {
        kind["name"]: {field["name"] for field in kind["fields"] or ()}
        for kind in types
        if not kind["name"].startswith("__")
    }
