"""Reads rows of XML. Each element at one path, such as ``Feed/Product/Reviews/Review``, is a row.

The names of columns are paths as in XPath, without namespaces. Three examples of paths in a row are
``@id``, ``Title`` and ``UserProfileReference/DisplayName``. A row also has columns from the
elements around the row, such as ``/Feed/Product/@id`` and ``/Feed/Product/ExternalId``. These
elements and attributes must come before the row in the file. If a column occurs several times in a
row, its cell has one line for each value.

The parser is Expat from the standard library. It parses the file in pieces, so a file of any size
needs only the memory of one row. A file with a document type is rejected, because the document
type could define entities that become huge or read other files.
"""

from collections.abc import Iterator, Mapping
from typing import NoReturn
from xml.parsers import expat

from features.loading.rows import Reject, Row
from features.loading.source import Source
from server.errors import CommandError

MAX_ROW_CHARACTERS = 1_000_000

MAX_PATH_CHARACTERS = 1_000
"""Maximum characters in the path of an element. The time to parse an element grows with the length
of its path. In real files, paths have fewer than 100 characters."""

_CHUNK = 1 << 16
_SHOWN_PATHS = 10
_UNKNOWN_ENCODING = expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]
"""The error for an encoding that the parser does not support, such as Shift JIS. Expat itself
supports few encodings, and Python adds only encodings with one byte per character."""


class XmlRows:
    """The elements at ``path``, for one iteration. Raises CommandError if the text is not XML.

    ``seen`` contains the paths of the file's first elements. If no element is at ``path``, an error
    message lists these paths.
    """

    def __init__(self, source: Source, path: str) -> None:
        self._source = source
        self._path = tuple(path.split("/"))
        self._ready: list[Row | Reject] = []
        self._open: list[str] = []
        self._around: list[dict[str, str]] = []  # columns of the open elements that contain the row
        self._texts: list[list[str]] = []
        self._depth = 0  # number of characters in the names of the open elements
        self._row: dict[str, str] | None = None
        self._line = self._size = 0
        self.seen: dict[str, None] = {}
        # If the source has converted the text to UTF-8, the XML still declares the old encoding.
        # Then name UTF-8, so that the parser ignores the declaration.
        encoding = None if source.encoding is None else "utf-8"
        self._parser = expat.ParserCreate(encoding, " ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.CharacterDataHandler = self._text
        self._parser.EndElementHandler = self._end

    def __iter__(self) -> Iterator[Row | Reject]:
        """Yield the rows, and a rejected row for each row that is too long."""
        before = 0  # number of bytes that the parser has parsed
        while True:
            content = self._source.stream.read1(_CHUNK)
            try:
                self._parser.Parse(content, not content)
            except expat.ExpatError as error:
                where = f"line {error.lineno}, column {error.offset + 1}"
                fault = f"is broken XML at {where} ({expat.ErrorString(error.code)}): fix it"
                place = self._parser.ErrorByteIndex - before
                if not content:
                    fault = f"is incomplete and ends at {where}: get the complete file"
                elif self._source.encoding is None and content[place : place + 1] >= b"\x80":
                    fault = f"has broken bytes at {where}, which are not UTF-8: add --encoding, "
                    fault += "such as cp1252,"
                raise CommandError(f"{self._source.name} {fault} and load it again.") from None
            except (LookupError, ValueError) as error:
                if self._parser.ErrorCode != _UNKNOWN_ENCODING:
                    raise
                raise CommandError(
                    f"{self._source.name} declares an encoding that the XML parser does not know: "
                    "add --encoding with its name."
                ) from error
            before += len(content)
            yield from self._ready
            self._ready.clear()
            if not content:
                return

    def _doctype(self, *_: object) -> NoReturn:
        raise CommandError(
            f"{self._source.name} declares a document type, which may define entities: remove its "
            "<!DOCTYPE …> and load it again."
        )

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._open.append(name.rpartition(" ")[2])
        self._depth += len(self._open[-1]) + 1
        if self._depth > MAX_PATH_CHARACTERS:
            raise CommandError(
                f"{self._source.name} nests elements too deeply at line "
                f"{self._parser.CurrentLineNumber}: the path of the element has more than "
                f"{MAX_PATH_CHARACTERS:,} characters. Check that the file is a feed of reviews."
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
            reason = f"the row is longer than {MAX_ROW_CHARACTERS:,} characters"
            fits = self._size <= MAX_ROW_CHARACTERS
            self._ready.append(
                Row(self._line, self._row) if fits else Reject(self._line, reason, raw="", cut=True)
            )
            self._row = None
        self._depth -= len(self._open.pop()) + 1

    def _column(self) -> str:
        """Return the path of the open element.

        Inside a row, the path starts at the row. Outside a row, it starts at the root.
        """
        return "/".join(self._open if self._row is None else self._open[len(self._path) :])

    def _put(self, column: str, value: str) -> None:
        if self._row is None:
            self._around[-1][f"/{column}"] = value
        elif value or column not in self._row:
            before = self._row.get(column)
            self._row[column] = f"{before}\n{value}" if before else value
