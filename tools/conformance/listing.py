"""Reads pages of one connection, and whole lists page by page."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from graphql import get_nullable_type, parse, validate

from tools.conformance.check import FailedError, Finding
from tools.conformance.endpoint import Answer, ConformanceError, Endpoint, Request
from tools.conformance.shape import Shape
from tools.conformance.target import Target


@dataclass(frozen=True, slots=True)
class Edge:
    """A row's key (JSON of its id, or of its plain fields if it has none) and its cursor."""

    key: str
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a response; a flag or cursor that the server does not return is None."""

    request: Request
    edges: tuple[Edge, ...]
    info: dict[str, Any]
    errors: tuple[str, ...] = ()
    whole: bool = True
    """Whether the response has the connection; a refusal has errors instead."""

    @property
    def keys(self) -> list[str]:
        """The keys of the rows, in order."""
        return [edge.key for edge in self.edges]

    @property
    def refused(self) -> bool:
        """Whether the response has errors instead of the page."""
        return bool(self.errors) and not self.whole

    @property
    def next(self) -> bool | None:
        """``hasNextPage``."""
        return self.info.get("hasNextPage")

    @property
    def previous(self) -> bool | None:
        """``hasPreviousPage``."""
        return self.info.get("hasPreviousPage")


Between = Callable[[int], Awaitable[None]]
"""Called after each page of a walk except the last, with the page's number from 1."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Reads one connection; a list of more than ``most`` rows is refused."""

    endpoint: Endpoint
    target: Target
    shape: Shape
    most: int

    async def attempt(self, **arguments: Any) -> Page:
        """Return the page of these pagination arguments, or the refusal."""
        return self._page(await self.endpoint.ask(self.document(*arguments), arguments))

    async def page(self, **arguments: Any) -> Page:
        """Return a page; raise FailedError if the response has none."""
        page = await self.attempt(**arguments)
        if page.refused or not page.whole:
            given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
            sentence = f"No page for {given or 'no arguments'}: {'; '.join(page.errors) or 'null'}"
            raise FailedError(Finding(sentence, page.request))
        return page

    def faults(self) -> list[str]:
        """Return validation errors of a page's operation; they are caused by ``--connection``."""
        known = self.shape.field.args
        names = [name for name in ("first", "last") if name in known]
        return [
            fault.message for fault in validate(self.shape.schema, parse(self.document(*names)))
        ]

    def request(self, **arguments: Any) -> Request:
        """Return the request for a page."""
        return Request(self.document(*arguments), arguments)

    def document(self, *names: str) -> str:
        """Return the operation, with the named arguments as variables."""
        declared = ", ".join(f"${name}: {self._type(name)}" for name in names)
        given = ", ".join(f"{name}: ${name}" for name in names)
        query = f"query ({declared})" if declared else "query"
        return f"{query} {self.target.selecting(given, self.shape.selection())}"

    def _type(self, name: str) -> str:
        """Return an argument's type, without ``!`` if the argument has a default."""
        argument = self.shape.field.args[name]
        return str(argument.type if argument.default is None else get_nullable_type(argument.type))

    async def walk(
        self, size: int, *, backward: bool = False, between: Between | None = None
    ) -> list[Edge]:
        """Return all rows in list order, read page by page from one end.

        Raises FailedError if the next page cannot be requested, ConformanceError beyond ``most``.
        """
        edges: list[Edge] = []
        number = 0
        async for page in self.pages(size, backward=backward):
            if number and between is not None:
                await between(number)
            number += 1
            edges = [*page.edges, *edges] if backward else [*edges, *page.edges]
        return edges

    async def pages(self, size: int, *, backward: bool) -> AsyncIterator[Page]:
        """Yield page after page, until the flag is false."""
        size_name, cursor_name = ("last", "before") if backward else ("first", "after")
        arguments: dict[str, Any] = {size_name: size}
        seen: set[str] = set()
        rows = 0
        while True:
            page = await self.page(**arguments)
            yield page
            rows += len(page.edges)
            cursor = _onwards(page, backward=backward)
            if cursor is None:
                return
            self._check(page, cursor, seen, rows)
            seen.add(cursor)
            arguments = {size_name: size, cursor_name: cursor}

    def _check(self, page: Page, cursor: str, seen: set[str], rows: int) -> None:
        if cursor in seen:
            sentence = "The walk does not end: the page ends at the cursor of an earlier page."
            raise FailedError(Finding(sentence, page.request))
        if rows > self.most:
            raise ConformanceError(
                f"The list has more than {self.most:,} rows: filter it in --connection, choose a "
                "shorter list, or raise --most."
            )

    def _page(self, answer: Answer) -> Page:
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


def _edge(edge: Any) -> Edge:
    if not isinstance(edge, dict):
        return Edge("null", None)
    cursor = edge.get("cursor")
    key = json.dumps(edge.get("node"), sort_keys=True)
    return Edge(key, cursor if isinstance(cursor, str) else None)


def _onwards(page: Page, *, backward: bool) -> str | None:
    """Return the cursor of the next page; None at the end."""
    further = page.previous if backward else page.next
    if not further:
        return None
    if not page.edges:
        raise FailedError(Finding("An empty page reports a further page.", page.request))
    cursor = page.edges[0 if backward else -1].cursor
    if cursor is None:
        raise FailedError(Finding("The edge at the page's end has no cursor.", page.request))
    return cursor
