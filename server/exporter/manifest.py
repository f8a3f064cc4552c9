"""What an export consists of: its files by kind, and the manifest that describes them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from dal.model.key_parts import format_instant
from server.errors import CommandError
from server.exporter.row_kinds import ExportKind, Format

PROMISE = (
    "Every object that was in the table from `begun` until `ended` is in these files exactly once, "
    "in a state that it had in that time. Objects written or deleted meanwhile are in them or not. "
    "Reads were strongly consistent; the files are not a snapshot of one instant."
)

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Target:
    """Where an export goes: the files of its kinds, and its manifest, in one directory."""

    format: Format
    files: Mapping[ExportKind, Path]
    manifest: Path

    @property
    def directory(self) -> Path:
        """Where the files and the manifest are."""
        return self.manifest.parent

    def check_absent(self) -> None:
        """Raise CommandError when one of the files exists."""
        for path in (*self.files.values(), self.manifest):
            if path.exists():
                raise CommandError(
                    f"{path} exists: name another output, or add --force to replace it."
                )


def single_file(path: Path, kind: ExportKind, written_in: Format) -> Target:
    """Return the target of one kind in a file of any name."""
    return Target(written_in, {kind: path}, path.with_name(f"{path.name}.{_MANIFEST}"))


def directory_of(path: Path, kinds: Sequence[ExportKind], written_in: Format) -> Target:
    """Return the target of some kinds in a directory: a file for each, with the kind's name."""
    files = {kind: path / f"{kind}.{written_in}" for kind in kinds}
    return Target(written_in, files, path / _MANIFEST)


def now() -> str:
    """Return the present instant as manifests write it."""
    return format_instant(datetime.now(UTC))


@dataclass(slots=True)
class ExportedFile:
    """One file of an export; ``unreadable`` counts the items of its kind that hold no object."""

    file: str
    rows: int = 0
    unreadable: int = 0


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

    def encode(self) -> bytes:
        """Return the manifest as JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
