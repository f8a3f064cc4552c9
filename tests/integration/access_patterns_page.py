"""Generates the tables of docs/access-patterns.md from the access patterns and their examples.

`make docs` writes the tables. The text around them is written by hand.
"""

import math
import re
from collections.abc import Iterable, Iterator

from dal.composition import ACCESS_PATTERNS
from tests.engines import ROOT
from tests.integration.patterns import EXAMPLES

PAGE = ROOT / "docs/access-patterns.md"
QUESTIONS = {pattern.name: pattern.question for pattern in ACCESS_PATTERNS}

_TABLE = re.compile(r"^## (.+?)$(.*?)<!-- table -->.*?<!-- end -->", re.MULTILINE | re.DOTALL)
_SECTIONS = {
    "Comments": r"AP([1-6]|12|2\d)[a-c]?\b|most (recent|helpful)|own votes|last comm|known auth",
    "Moderation": r"AP1[3-9]\b",
    "Statistics": r"AP([7-9]|10|11)\b",
    "Products": r"product details|group members|known product|product search",
    "Users and orders": r"A\d|known user",
    "Organisations and tickets": r"T\d",
}
NONE = "\N{EN DASH}"
_HEADING = ("Pattern", "Question", "Index", "Key condition", "Requests")


def pattern_of(example: str) -> str:
    """Return the name of an example's access pattern."""
    return example.partition(",")[0]


def _number(name: str) -> float:
    """Return the number in a pattern's name, such as 3 for AP3a. Names without one come last."""
    found = re.match(r"[A-Z]+(\d+)", name)
    return int(found[1]) if found else math.inf


def page(before: str) -> str:
    """Return the page with new tables."""

    def made(section: re.Match[str]) -> str:
        heading, text = section[1], section[2]
        rows = "\n".join(_rows(heading))
        return f"## {heading}{text}<!-- table -->\n{rows}\n<!-- end -->"

    return _TABLE.sub(made, before)


def _rows(section: str) -> Iterator[str]:
    yield _row(_HEADING)
    yield "|---" * len(_HEADING) + "|"
    order = list(QUESTIONS)
    for name in sorted(EXAMPLES, key=lambda one: (_number(one), order.index(pattern_of(one)))):
        example = EXAMPLES[name]
        if re.match(_SECTIONS[section], name):
            first, *others = example.reads.indexes or [""]
            chosen = "up to" in example.reads.requests
            either = " or " if chosen else " and "
            named = [one for one in (first, *others) if one != "table" or one == first]
            indexes = either.join(_code(named))
            conditions = example.reads.conditions
            if chosen and conditions:
                # Other plans read coarser partitions, so the row names only their indexes.
                key = conditions[0].partition(" ")[0]
                conditions = [one for one in conditions if one.startswith(f"{key} ")]
            yield _row(
                (
                    f"**{name}**",
                    QUESTIONS.get(name) or " with ".join(name.split(", ")),
                    indexes or NONE,
                    ", ".join(_code(conditions)) or NONE,
                    example.reads.requests,
                )
            )


def _code(parts: Iterable[str]) -> list[str]:
    return [f"`{part}`" for part in parts if part]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
