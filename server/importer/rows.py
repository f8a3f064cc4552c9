"""What reading a file yields: rows, and the lines that are none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server.importer.lines import Line

OPENING = b'{"line":'
"""How each entry of a rejects file starts."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row by column name: text from CSV, any JSON value from JSONL.

    ``line`` is the number of its first physical line; ``source`` the row as JSON text.
    """

    line: int
    cells: Mapping[str, object]
    source: str | None = None

    def rejected(self, reason: str) -> "Reject":
        """Return this row as one that broke a rule."""
        source = self.source or json.dumps(self.cells, ensure_ascii=False)
        return Reject(self.line, reason, row=source)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that is not loaded: its ``row`` as JSON text or, unparsed, the ``raw`` text.

    ``columns`` names the cells of raw CSV text, between ``delimiter``. ``cut`` tells that only the
    head of an overlong line was kept.
    """

    line: int
    reason: str
    row: str | None = None
    raw: str | None = None
    columns: Sequence[str] | None = None
    cut: bool = False
    delimiter: str = ","


def reject_lines(
    lines: Sequence[Line],
    reason: str,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Reject:
    """Return ``lines`` as one reject; their own fault comes before ``reason``."""
    return Reject(
        lines[0].number,
        next((line.fault for line in lines if line.fault), reason),
        raw="".join(line.text for line in lines).removesuffix("\n").removesuffix("\r"),
        columns=columns,
        cut=any(line.cut for line in lines),
        delimiter=delimiter,
    )
