"""A small server of notes that conforms to the specification. Faults are subclasses of ``Notes``.

The list begins with the highest number. A note's cursor is its number.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

import httpx
from graphql import (
    DocumentNode,
    GraphQLSchema,
    build_schema,
    execute_sync,
    parse,
    validate,
)

SDL = """
interface Node { id: ID! }
type Note implements Node { id: ID! text: String! }
type NoteEdge { node: Note! cursor: String! }
type NoteConnection { edges: [NoteEdge!]! pageInfo: PageInfo! }
type PageInfo {
  hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String
}
type Query {
  notes(first: Int, after: String, last: Int, before: String): NoteConnection
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]!
}
type Mutation { addNote(text: String!): Note deleteNote(id: ID!): ID }
"""
CONNECTION = "notes"
INSERT = "mutation ($text: String!) { addNote(text: $text) { id } }"
DELETE = "mutation ($id: ID!) { deleteNote(id: $id) }"

COUNT = 13
DEFAULT_SIZE = 4

Note = dict[str, Any]
Page = dict[str, Any]


class Notes:
    """The root value: its methods are the resolvers. A faulty server overrides one method."""

    sdl: tuple[str, str] = ("", "")
    """A text in the SDL, and the text that replaces it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.rows: list[Note] = []
        for number in range(COUNT):
            self.addNote(None, text=f"Note {number}")

    # Names as in GraphQL: the root value's methods are the resolvers.
    def addNote(self, _: object, *, text: str) -> Note:  # noqa: N802
        number = next(self._numbers)
        note = {"__typename": "Note", "id": f"note-{number}", "text": text, "number": number}
        self.rows.insert(0, note)
        return note

    def deleteNote(self, _: object, *, id: str) -> str:  # noqa: A002, N802
        self.rows = [note for note in self.rows if note["id"] != id]
        return id

    def node(self, _: object, *, id: str) -> Note | None:  # noqa: A002
        return next((note for note in self.rows if note["id"] == id), None)

    def nodes(self, info: object, *, ids: list[str]) -> list[Note | None]:
        return [self.node(info, id=one) for one in ids]

    def notes(self, _: object, **given: Any) -> Page:
        if any((given.get(size) or 0) < 0 for size in ("first", "last")):
            raise ValueError("A size is negative.")
        if given.get("first") is None and given.get("last") is None:
            given["first"] = self.default_size()
        low, high = self.span(given)
        left = range(low, max(low, high))
        shown = self.cut(left, given)
        edges = [{"node": self.rows[place], "cursor": self.cursor(place)} for place in shown]
        return {"edges": edges, "pageInfo": self.info(given, left, shown, edges)}

    def default_size(self) -> int:
        return DEFAULT_SIZE

    def cursor(self, place: int) -> str | None:
        return str(self.rows[place]["number"])

    def span(self, given: Mapping[str, Any]) -> tuple[int, int]:
        """Return the range of places in the list after one cursor and before the other."""
        after, before = given.get("after"), given.get("before")
        low = 0 if after is None else self.behind(after)
        high = len(self.rows) if before is None else self.upto(before)
        return low, high

    def behind(self, cursor: str) -> int:
        return sum(note["number"] >= int(cursor) for note in self.rows)

    def upto(self, cursor: str) -> int:
        return sum(note["number"] > int(cursor) for note in self.rows)

    def cut(self, left: range, given: Mapping[str, Any]) -> range:
        if given.get("first") is not None:
            left = left[: given["first"]]
        if given.get("last") is not None:
            left = left[max(0, len(left) - given["last"]) :]
        return left

    def info(
        self, given: Mapping[str, Any], left: range, shown: range, edges: list[Any]
    ) -> dict[str, Any]:
        return {
            "hasNextPage": shown.stop < len(self.rows),
            "hasPreviousPage": shown.start > 0,
            "startCursor": edges[0]["cursor"] if edges else None,
            "endCursor": edges[-1]["cursor"] if edges else None,
        }

    @classmethod
    def with_sdl(cls, old: str, new: str) -> type[Self]:
        """Return a subclass whose SDL differs in one text."""
        assert old in SDL
        return type(f"Notes{new}", (cls,), {"sdl": (old, new)})


def answered(notes: Notes, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response to a GraphQL request."""
    schema, document = _schema(SDL.replace(*notes.sdl)), _parsed(body["query"])
    errors = _validated(schema, document)
    if errors:
        return {"errors": [{"message": text} for text in errors]}
    result = execute_sync(schema, document, notes, variable_values=body.get("variables"))
    return dict(result.formatted)


def transport(notes: Notes) -> httpx.AsyncBaseTransport:
    """Return a transport that executes requests in this process."""

    async def answer(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)  # lets another client run
        return httpx.Response(200, json=answered(notes, json.loads(request.content)))

    return httpx.MockTransport(answer)


@contextmanager
def listening(notes: Notes) -> Iterator[str]:
    """Serve the notes to clients that send the header ``Key: of notes``. Yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            allowed = self.path == "/graphql" and self.headers["Key"] == "of notes"
            answer = answered(notes, json.loads(body)) if allowed else "This is a page."
            self.send_response(200 if allowed else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/graphql"
        finally:
            server.shutdown()
            thread.join()


@cache
def _schema(sdl: str) -> GraphQLSchema:
    return build_schema(sdl)


@cache
def _parsed(text: str) -> DocumentNode:
    return parse(text)


_KNOWN: dict[tuple[int, int], list[str]] = {}


def _validated(schema: GraphQLSchema, document: DocumentNode) -> list[str]:
    """Return the errors of a document, which is validated only once for each schema.

    ``id`` is a safe key, because the caches above never release either object.
    """
    key = id(schema), id(document)
    if key not in _KNOWN:
        _KNOWN[key] = [error.message for error in validate(schema, document)]
    return _KNOWN[key]
