"""Sources with bytes from a test, and a repository that records its writes."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dal.composition import KINDS
from dal.model import Comment
from dal.table.errors import InvalidArgumentError
from dal.writes.overwrite import Outcome, compared, summed
from features.loading.column_mapping import (
    NO_PRESET,
    ColumnMapping,
    Preset,
    make_column_mapping,
)
from features.loading.kind import files_of
from features.loading.opening import open_file
from features.loading.rows import Reject, RejectsFile, Row
from features.loading.source import Counted, Source, source_of
from features.loading.text_rows import CsvRows, read_jsonl

FILES = files_of(KINDS)
HEADER = "id,product_id,username,rating,language,title,text,created_at"


def source(content: bytes | str) -> Source:
    data = content.encode(errors="surrogateescape") if isinstance(content, str) else content
    return source_of(
        "sample", Counted(iter(partial(io.BytesIO(data).read, 1 << 16), b"")), len(data)
    )


def read_csv(content: bytes | str) -> list[Row | Reject]:
    return list(CsvRows(source(content)))


def read_json_lines(content: bytes | str) -> list[Row | Reject]:
    return list(read_jsonl(source(content)))


def write(rejects: Sequence[Reject], path: Path) -> None:
    """Write rejects as a load does. Without rejects, the file is empty."""
    path.touch()
    file = RejectsFile(path)
    for reject in rejects:
        file.write(reject)
    if rejects:
        file.close()


def row(comment_id: str = "1", **changes: object) -> dict[str, object]:
    return {
        "id": comment_id,
        "product_id": "p",
        "username": "ada",
        "rating": 5,
        "language": "en",
        "title": "Good",
        "text": "It works.",
        "created_at": "2020-11-20T12:00:00Z",
        **changes,
    }


def jsonl(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(cells)}\n" for cells in rows)


def good(found: Sequence[Row | Reject]) -> Iterator[Row]:
    return (one for one in found if isinstance(one, Row))


def bad(found: Sequence[Row | Reject]) -> list[Reject]:
    return [one for one in found if isinstance(one, Reject)]


class RecordingStore:
    """Stores comments by id, and records the batches in order."""

    def __init__(self) -> None:
        self.comments: dict[str, Comment] = {}
        self.batches: list[list[Comment]] = []
        self.marks: set[str] = set()

    async def put_many(self, comments: Sequence[Comment]) -> Outcome:
        self.batches.append(list(comments))
        held = [compared(self.comments.get(one.comment_id), one) for one in comments]
        self.comments |= {comment.comment_id: comment for comment in comments}
        return summed(held)


def read_file(
    path: Path, kind: str = "comments", preset: Preset = NO_PRESET
) -> tuple[list[Any], list[Reject]]:
    """Return the objects of a file's valid rows, and the rejected rows."""
    mapping: ColumnMapping[Any] = make_column_mapping(FILES[kind], [], [], preset)
    things: list[Any] = []
    rejects: list[Reject] = []
    with open_file(path, mapping) as opened:
        for one in opened.rows:
            if isinstance(one, Reject):
                rejects.append(one)
                continue
            try:
                things.append(mapping.make(one.cells))
            except InvalidArgumentError as error:
                rejects.append(one.rejected(str(error)))
    return things, rejects
