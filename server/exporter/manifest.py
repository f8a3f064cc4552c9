"""The manifest: what an export holds, from when, and what it promises."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import orjson

from dal.table.keys import format_instant
from server.exporter.rows import ExportKind, Format

PROMISE = (
    "Every object that was in the table from `begun` until `ended` is in these files exactly once, "
    "in a state that it had in that time. Objects written or deleted meanwhile are in them or not. "
    "Reads were strongly consistent; the files are not a snapshot of one instant."
)


def now() -> str:
    """Return the present instant as manifests write it."""
    return format_instant(datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """One file of an export; ``unreadable`` counts the items of its kind that are not in it."""

    file: str
    rows: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a finished export holds; instants are ISO 8601 in UTC with microseconds."""

    store: str
    format: Format
    begun: str
    ended: str
    files: Mapping[ExportKind, ExportedFile]
    promise: str = PROMISE

    @property
    def unreadable(self) -> int:
        """Return the items of all kinds that hold no object."""
        return sum(one.unreadable for one in self.files.values())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the manifest that ``encode`` made."""
        content = orjson.loads(path.read_bytes())
        files = {kind: ExportedFile(**one) for kind, one in content.pop("files").items()}
        return cls(**content, files=files)

    def encode(self) -> bytes:
        """Return the manifest as JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
