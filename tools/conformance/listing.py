"""Reads pages of one connection, and whole lists page by page."""

import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from graphql import get_nullable_type, parse, validate

from tools.conformance.check import FailedError
from tools.conformance.endpoint import ConformanceError, Endpoint, Request
from tools.conformance.shape import Shape
from tools.conformance.target import Target


@dataclass(frozen=True, slots=True)
class Edge:
    """A row's key, by which rows are compared, and its cursor.

    The key is JSON of the row's type and id. For a row without an id, it is JSON of the row's type
    and the fields in ``shape.plain_fields``.
    """

    key: str
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page, or the response's errors. ``info`` is empty if the response has no ``pageInfo``."""

    request: Request
    edges: tuple[Edge, ...]
    info: dict[str, Any]
    errors: tuple[str, ...]
    whole: bool
    """Whether the response contains the connection."""

    @property
    def keys(self) -> list[str]:
        """The keys of the rows, in order."""
        return [edge.key for edge in self.edges]

    @property
    def refused(self) -> bool:
        """Whether the response has errors instead of the page."""
        return bool(self.errors) and not self.whole


Between = Callable[[int], Awaitable[None]]
"""Called after each page of a walk except the last, with the page's number from 1."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Reads one connection. ``walk`` refuses a list with more than ``most`` rows."""

    endpoint: Endpoint
    target: Target
    shape: Shape
    most: int

    async def attempt(self, **arguments: Any) -> Page:
        """Return the page for these pagination arguments, or the response's errors."""
        answer = await self.endpoint.ask(self._document(*arguments), arguments)
        found = answer.at(self.target.path)
        whole = isinstance(found, dict) and isinstance(found.get("edges"), list)
        edges = found["edges"] if whole else []
        info = found.get("pageInfo") if whole else None
        return Page(
            answer.request,
            tuple(_edge(edge) for edge in edges),
            info if isinstance(info, dict) else {},
            answer.errors,
            whole,
        )

    async def page(self, **arguments: Any) -> Page:
        """Return a page; raise FailedError if the response has none."""
        page = await self.attempt(**arguments)
        if not page.whole:
            given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
            sentence = f"No page for {given or 'no arguments'}: {'; '.join(page.errors) or 'null'}"
            raise FailedError(sentence, page.request)
        return page

    def faults(self) -> list[str]:
        """Return the validation errors of a page's operation.

        A wrong option ``--connection`` causes such errors.
        """
        names = [name for name in ("first", "last") if name in self.shape.field.args]
        document = parse(self._document(*names))
        return [fault.message for fault in validate(self.shape.schema, document)]

    def request(self, **arguments: Any) -> Request:
        """Return the request for a page."""
        return Request(self._document(*arguments), arguments)

    def _document(self, *names: str) -> str:
        """Return the operation, with the named arguments as variables."""
        declared = ", ".join(f"${name}: {self._type(name)}" for name in names)
        given = ", ".join(f"{name}: ${name}" for name in names)
        query = f"query ({declared})" if declared else "query"
        return f"{query} {self.target.selecting(given, self.shape.selection())}"

    def _type(self, name: str) -> str:
        """Return an argument's type as text, without ``!`` if the argument has a default."""
        argument = self.shape.field.args[name]
        return str(argument.type if argument.default is None else get_nullable_type(argument.type))

    async def walk(
        self, size: int, *, backward: bool = False, between: Between | None = None
    ) -> list[Edge]:
        """Return all rows in list order, read page by page from one end.

        Raises FailedError if a response has no page, or if the next page cannot be requested.
        Raises ConformanceError if the list has more than ``most`` rows.
        """
        size_name, cursor_name = ("last", "before") if backward else ("first", "after")
        flag, end = ("hasPreviousPage", 0) if backward else ("hasNextPage", -1)
        arguments: dict[str, Any] = {size_name: size}
        rows: list[Edge] = []
        seen: set[str] = set()
        for number in itertools.count(1):
            page = await self.page(**arguments)
            rows = [*page.edges, *rows] if backward else [*rows, *page.edges]
            if not page.info.get(flag):
                break
            if not page.edges:
                raise FailedError("An empty page reports a further page.", page.request)
            cursor = page.edges[end].cursor
            if cursor is None:
                raise FailedError(
                    "The edge from which the next page would continue has no cursor.", page.request
                )
            if cursor in seen:
                raise FailedError(
                    "The walk does not end: the page ends at the cursor of an earlier page.",
                    page.request,
                )
            seen.add(cursor)
            if len(rows) > self.most:
                raise ConformanceError(
                    f"The list has more than {self.most:,} rows: filter it in --connection, choose "
                    "a shorter list, or raise --most."
                )
            if between is not None:
                await between(number)
            arguments = {size_name: size, cursor_name: cursor}
        return rows


def _edge(edge: Any) -> Edge:
    if not isinstance(edge, dict):
        return Edge("null", None)
    cursor = edge.get("cursor")
    key = json.dumps(edge.get("node"), sort_keys=True)
    return Edge(key, cursor if isinstance(cursor, str) else None)
