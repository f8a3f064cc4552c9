"""The draft of an export: a part file for each scan segment and kind, and how far each is.

``state.json`` says for each segment the position to go on from, and how long its parts were there.
It is written after the parts are on the disk, so that a part is never shorter than it says; what is
longer was written after it, and is cut off when the export goes on. An export that was interrupted
at any point so goes on from its last checkpoint, without a gap and without a row twice.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, BinaryIO, TypeAlias

import orjson

from dal.repositories.export import ExportPage
from dal.table.item import Item
from dal.table.parallel_scan import SCAN_SEGMENTS
from server.errors import CommandError
from server.exporter.rows import ExportKind, encode
from server.exporter.target import Target

CHECKPOINT_SECONDS = 1.0
"""Between two checkpoints of a scan segment: what an interrupted export does again at most."""

Asked: TypeAlias = Mapping[str, object]
"""What an export is of: a draft of something else cannot go on."""


@dataclass(slots=True)
class PartState:
    """How much of a part is on the disk, and the items that hold no object of its kind."""

    bytes: int = 0
    rows: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class SegmentState:
    """How far a scan segment is: ``last`` is the position to go on from."""

    parts: dict[ExportKind, PartState]
    items: int = 0
    last: Item | None = None
    done: bool = False


@dataclass(slots=True)
class DraftState:
    """What ``state.json`` holds; ``begun`` is when the first run began."""

    asked: Asked
    begun: str
    segments: list[SegmentState] = field(default_factory=list)


class Draft:
    """The folder in which one process makes an export."""

    def __init__(self, target: Target, state: DraftState) -> None:
        self.target = target
        self.state = state
        self.state_file = target.draft / "state.json"
        self._saving = Lock()

    def save(self, segment: int | None = None, reached: SegmentState | None = None) -> None:
        """Replace the state in one step, with how far a scan segment is by now."""
        with self._saving:
            if segment is not None and reached is not None:
                self.state.segments[segment] = deepcopy(reached)
            write_whole(self.state_file, orjson.dumps(asdict(self.state)))

    def part(self, kind: ExportKind, segment: int) -> Path:
        """Return the path of one part."""
        return self.target.draft / f"{kind}.{segment}"

    def discard(self) -> None:
        """Remove the folder; without its state, what may be left of it is nothing to go on with."""
        self.state_file.unlink()
        shutil.rmtree(self.target.draft)


@contextmanager
def open_draft(target: Target, asked: Asked, now: str) -> Iterator[Draft]:
    """Begin a draft, or go on with the one that an earlier run of the same export left.

    CommandError when another process works on it, and when it is of another export.
    """
    target.folder.mkdir(parents=True, exist_ok=True)
    target.draft.mkdir(exist_ok=True)
    lock = os.open(target.draft, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _opened(target, asked, now)
    except BlockingIOError as error:
        raise CommandError(
            f"Another export is writing to {target.draft}: wait for its end, or name another "
            "output."
        ) from error
    finally:
        os.close(lock)


def _opened(target: Target, asked: Asked, now: str) -> Draft:
    draft = Draft(target, DraftState(asked, now))
    if draft.state_file.exists():
        draft.state = _state(orjson.loads(draft.state_file.read_bytes()))
        if draft.state.asked != asked:
            raise CommandError(
                f"{target.draft} was left by another export ({_differing(draft.state, asked)}): "
                "run that one again to finish it, or remove the folder to begin anew."
            )
    else:
        draft.state.segments = [
            SegmentState({kind: PartState() for kind in target.files}) for _ in range(SCAN_SEGMENTS)
        ]
        draft.save()
    return draft


def _state(content: dict[str, Any]) -> DraftState:
    segments = [
        SegmentState(**{**one, "parts": {k: PartState(**v) for k, v in one["parts"].items()}})
        for one in content["segments"]
    ]
    return DraftState(content["asked"], content["begun"], segments)


def _differing(state: DraftState, asked: Asked) -> str:
    return ", ".join(
        f"{name} {state.asked.get(name)}"
        for name, value in asked.items()
        if state.asked.get(name) != value
    )


class SegmentWriter:
    """Appends pages to the parts of one scan segment, from where they were left."""

    def __init__(self, draft: Draft, segment: int) -> None:
        self._draft = draft
        self._segment = segment
        self.state = deepcopy(draft.state.segments[segment])
        self._files = {
            kind: _opened_at(draft.part(kind, segment), part.bytes)
            for kind, part in self.state.parts.items()
        }
        self._kept_at = monotonic()

    def write(self, page: ExportPage) -> None:
        """Append the rows of one page, and keep how far that is from time to time."""
        for kind, part in self.state.parts.items():
            objects = page.objects[kind]
            rows = encode(kind, self._draft.target.format, objects)
            self._files[kind].write(rows)
            part.bytes += len(rows)
            part.rows += len(objects)
            part.unreadable += page.unreadable[kind]
        self.state.items += page.items
        self.state.last, self.state.done = page.last, page.last is None
        if self.state.done or monotonic() - self._kept_at > CHECKPOINT_SECONDS:
            self._keep()

    def close(self) -> None:
        """Close the parts, each of them also where what is left of another finds no room."""
        with ExitStack() as files:
            for file in self._files.values():
                files.callback(file.close)

    def _keep(self) -> None:
        for file in self._files.values():
            sync(file)
        self._draft.save(self._segment, self.state)
        self._kept_at = monotonic()


def _opened_at(path: Path, size: int) -> BinaryIO:
    """Open a part for appending, cut to what the state knows of it."""
    file = path.open("ab")
    if file.seek(0, os.SEEK_END) < size:
        file.close()
        raise CommandError(
            f"{path} was cut or removed: remove the folder {path.parent} to begin anew."
        )
    file.truncate(size)
    return file


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("wb") as file:
        file.write(content)
        sync(file)
    draft.replace(path)


def sync(file: BinaryIO) -> None:
    """Bring a file to the disk."""
    file.flush()
    os.fsync(file.fileno())
