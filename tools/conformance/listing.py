"""Pages of one connection, and whole lists read through them."""

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
    """A row as it is told from others (JSON of its id, or of all that is plain), and its cursor."""

    key: str
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it was answered; a flag or cursor that the server has not is None."""

    request: Request
    edges: tuple[Edge, ...]
    info: dict[str, Any]
    errors: tuple[str, ...] = ()
    whole: bool = True
    """Whether the answer has the connection; a server that refuses answers errors and none."""

    @property
    def keys(self) -> list[str]:
        """The rows, in order."""
        return [edge.key for edge in self.edges]

    @property
    def refused(self) -> bool:
        """Whether the server answered with errors instead of the page."""
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
"""Called after each page of a walk but the last, with its number from 1."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Reads one connection; ``most`` rows are the longest list that it reads to its end."""

    endpoint: Endpoint
    target: Target
    shape: Shape
    most: int

    async def attempt(self, **arguments: Any) -> Page:
        """Return what is answered to these pagination arguments, a refusal too."""
        return self._page(await self.endpoint.ask(self.document(*arguments), arguments))

    async def page(self, **arguments: Any) -> Page:
        """Return a page; FailedError when the server answers none."""
        page = await self.attempt(**arguments)
        if page.refused or not page.whole:
            said = "; ".join(page.errors) or "null"
            given = _spelled(arguments)
            raise FailedError(Finding(f"No page comes for {given}: {said}", page.request))
        return page

    def faults(self) -> list[str]:
        """Return what the schema holds against a page's operation: it is the target's fault."""
        known = self.shape.field.args
        names = [name for name in ("first", "last") if name in known]
        return [
            fault.message for fault in validate(self.shape.schema, parse(self.document(*names)))
        ]

    def request(self, **arguments: Any) -> Request:
        """Return what is sent to ask for a page."""
        return Request(self.document(*arguments), arguments)

    def document(self, *names: str) -> str:
        """Return the operation that gives the named arguments as variables."""
        declared = ", ".join(f"${name}: {self._type(name)}" for name in names)
        given = ", ".join(f"{name}: ${name}" for name in names)
        query = f"query ({declared})" if declared else "query"
        return f"{query} {self.target.selecting(given, self.shape.selection())}"

    def _type(self, name: str) -> str:
        """Return an argument's type, without the ``!`` that a default makes of no use."""
        argument = self.shape.field.args[name]
        return str(argument.type if argument.default is None else get_nullable_type(argument.type))

    async def walk(
        self, size: int, *, backward: bool = False, between: Between | None = None
    ) -> list[Edge]:
        """Return all rows in list order, read page by page from one end.

        FailedError where a page cannot be followed by the next, ConformanceError beyond ``most``.
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
        """Yield page after page as a client follows them, until the flag says that none is left."""
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
            sentence = "The walk goes round in a circle: the page ends where an earlier one did."
            raise FailedError(Finding(sentence, page.request))
        if rows > self.most:
            raise ConformanceError(
                f"The list has more than {self.most:,} rows: filter it in --connection, choose a "
                "shorter one, or raise --most."
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
    """Return the cursor that a client goes on from; None at the end."""
    further = page.previous if backward else page.next
    if not further:
        return None
    if not page.edges:
        raise FailedError(Finding("An empty page says that there are more.", page.request))
    cursor = page.edges[0 if backward else -1].cursor
    if cursor is None:
        raise FailedError(Finding("The edge to go on from has no cursor.", page.request))
    return cursor


def _spelled(arguments: dict[str, Any]) -> str:
    given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
    return given or "no arguments"
