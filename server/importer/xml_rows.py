"""XML whose rows are elements at one path, such as ``Feed/Product/Reviews/Review``.

Columns are named as by XPath, without namespaces: of the row ``@id``, ``Title`` and
``UserProfileReference/DisplayName``; of what encloses it, as far as it stands before the row,
``/Feed/Product/@id`` and ``/Feed/Product/ExternalId``. Values of a column that repeats are lines.

Expat of the standard library parses, piece by piece, so that a feed of any size takes the memory of
one row. A document type is refused before anything of it is read: without one there are no entities
to expand or to fetch.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NoReturn
from xml.parsers import expat

from server.errors import CommandError
from server.importer.rows import Reject, Row
from server.importer.source import Source

MAX_ROW_CHARACTERS = 1_000_000

MAX_PATH_CHARACTERS = 1_000
"""Of the names of the open elements: each element costs as much as its path is long. Feeds of rows
have less than 100."""

_CHUNK = 1 << 16
_SHOWN_PATHS = 10
_UNKNOWN_ENCODING = expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]
"""Expat itself knows few, and Python teaches it those of one byte a character."""


class XmlRows(Iterator[Row | Reject]):
    """Iterates over the elements at ``path``; CommandError where the text is no XML.

    ``seen`` are the first paths of the document, to be told where there is no such element.
    """

    def __init__(self, source: Source, path: str) -> None:
        self._source = source
        self._path = tuple(path.split("/"))
        self._ready: deque[Row | Reject] = deque()
        self._ended = False
        self._open: list[str] = []
        self._around: list[dict[str, str]] = []  # columns of each open element that is no row's
        self._texts: list[list[str]] = []
        self._depth = 0  # characters of the open path
        self._row: dict[str, str] | None = None
        self._line = self._size = 0
        self.seen: dict[str, None] = {}
        self._parser = self._prepared()

    def __next__(self) -> Row | Reject:
        """Return the next row, or a reject where it is too long; StopIteration after the last."""
        while not self._ready:
            if self._ended:
                raise StopIteration
            content = self._source.stream.read1(_CHUNK)
            self._ended = not content
            try:
                self._parser.Parse(content, self._ended)
            except expat.ExpatError as error:
                raise self._broken(error) from None
            except (LookupError, ValueError) as error:
                if self._parser.ErrorCode != _UNKNOWN_ENCODING:
                    raise
                raise CommandError(
                    f"{self._source.name} declares an encoding that XML is not read in as it is: "
                    "add --encoding with its name."
                ) from error
        return self._ready.popleft()

    def _prepared(self) -> expat.XMLParserType:
        # Transcoded text is UTF-8, whatever its declaration says.
        known = None if self._source.encoding is None else "utf-8"
        parser = expat.ParserCreate(known, " ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.CharacterDataHandler = self._text
        parser.EndElementHandler = self._end
        return parser

    def _doctype(self, *_: object) -> NoReturn:
        raise CommandError(
            f"{self._source.name} declares a document type, which may hide entities and which no "
            "feed of rows needs: take its <!DOCTYPE …> out first."
        )

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._open.append(name.rpartition(" ")[2])
        self._depth += len(self._open[-1]) + 1
        if self._depth > MAX_PATH_CHARACTERS:
            raise CommandError(
                f"{self._source.name} nests elements too deeply at line "
                f"{self._parser.CurrentLineNumber}: the names of the open ones have over "
                f"{MAX_PATH_CHARACTERS:,} characters, which no feed of rows needs."
            )
        self._texts.append([])
        path = tuple(self._open)
        if len(self.seen) < _SHOWN_PATHS:
            self.seen["/".join(path)] = None
        if path == self._path:
            self._row = {name: one for columns in self._around for name, one in columns.items()}
            self._line, self._size = self._parser.CurrentLineNumber, 0
        elif self._row is None:
            self._around.append({})
        for attribute, value in attributes.items():
            self._size += len(value)
            if self._size <= MAX_ROW_CHARACTERS:
                self._put(f"{self._column()}/@{attribute.rpartition(' ')[2]}".lstrip("/"), value)

    def _text(self, text: str) -> None:
        self._size += len(text)
        if self._size <= MAX_ROW_CHARACTERS:
            self._texts[-1].append(text)

    def _end(self, _: str) -> None:
        text = "".join(self._texts.pop()).strip()
        column = self._column()
        if self._row is None:
            self._around.pop()
            self._size = 0
            if text and self._around:
                self._around[-1][f"/{column}"] = text
        elif column:
            self._put(column, text)
        else:
            self._finish(self._row)
        self._depth -= len(self._open.pop()) + 1

    def _finish(self, row: dict[str, str]) -> None:
        reason = f"the row is over {MAX_ROW_CHARACTERS:,} characters long"
        fits = self._size <= MAX_ROW_CHARACTERS
        found = Row(self._line, row) if fits else Reject(self._line, reason, raw="", cut=True)
        self._ready.append(found)
        self._row = None

    def _column(self) -> str:
        """Return the open element's path: of a row's below the row, of another from the root."""
        return "/".join(self._open if self._row is None else self._open[len(self._path) :])

    def _put(self, column: str, value: str) -> None:
        if self._row is None:
            self._around[-1][f"/{column}"] = value
        elif value or column not in self._row:
            before = self._row.get(column)
            self._row[column] = f"{before}\n{value}" if before else value

    def _broken(self, error: expat.ExpatError) -> CommandError:
        where = f"line {error.lineno}, column {error.offset + 1}"
        if self._ended:
            return CommandError(
                f"{self._source.name} ends too soon, at {where}: get a whole copy and load it."
            )
        return CommandError(
            f"{self._source.name} is broken XML at {where} ({expat.ErrorString(error.code)}): mend "
            "it and load it again."
        )
