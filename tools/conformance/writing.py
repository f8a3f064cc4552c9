"""Inserts and deletes of rows by the mutations that a run is told."""

import itertools
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    GraphQLSyntaxError,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    OperationType,
    TypeNode,
    parse,
)

from tools.conformance.check import FailedError, Finding
from tools.conformance.endpoint import Answer, ConformanceError, Endpoint

NUMBERS = frozenset({"Int", "Float"})


@dataclass(frozen=True, slots=True)
class Mutation:
    """A document with the names and types of its variables."""

    text: str
    variables: Mapping[str, str]


def parse_mutation(option: str, text: str) -> Mutation:
    """Return the mutation of an option; ConformanceError where it is none."""
    try:
        operation = parse(text).definitions[0]
    except GraphQLSyntaxError as error:
        raise ConformanceError(f"{option} is no GraphQL: {error.message}") from None
    if (
        not isinstance(operation, OperationDefinitionNode)
        or operation.operation is not OperationType.MUTATION
    ):
        raise ConformanceError(f"{option} is no mutation: begin it with the word mutation.")
    return Mutation(
        text,
        {
            variable.variable.name.value: _name(variable.type)
            for variable in operation.variable_definitions or ()
        },
    )


@dataclass(slots=True)
class Writer:
    """Inserts rows, and deletes those that it has inserted; ``rows`` are what is left of them.

    A variable of ``insert`` is a number where it is an Int or a Float, else a text, new each time.
    A variable of ``delete`` is the value of that name in the answer of the row's own insert.
    """

    endpoint: Endpoint
    insert_document: Mutation
    delete_document: Mutation | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def insert(self) -> dict[str, Any]:
        """Insert one row; return what deletes it, by variable."""
        values = {name: self._new(kind) for name, kind in self.insert_document.variables.items()}
        answer = _done(await self.endpoint.ask(self.insert_document.text, values), "--insert")
        row = self._handle(answer)
        self.rows.append(row)
        return row

    async def delete(self, row: dict[str, Any]) -> None:
        """Delete a row that ``insert`` returned."""
        assert self.delete_document is not None  # noqa: S101 - checks say that they need it
        self.rows.remove(row)
        _done(await self.endpoint.ask(self.delete_document.text, row), "--delete")

    async def clear(self) -> None:
        """Delete what is left of the inserted rows, where there is a way to."""
        while self.rows and self.delete_document is not None:
            await self.delete(self.rows[-1])

    def _new(self, kind: str) -> int | str:
        return next(self._numbers) if kind in NUMBERS else f"conformance-{uuid.uuid4().hex}"

    def _handle(self, answer: Answer) -> dict[str, Any]:
        wanted = self.delete_document.variables if self.delete_document else {}
        row = {name: next(_values(answer.data, name), None) for name in wanted}
        missing = [name for name, value in row.items() if value is None]
        if missing:
            raise ConformanceError(
                f"--delete wants ${missing[0]}, and the answer of --insert has no {missing[0]}: "
                f"select it there, such as comment {{ {missing[0]} }} or {missing[0]}: key."
            )
        return row


def _done(answer: Answer, option: str) -> Answer:
    """Return the answer of a mutation that was carried out.

    Errors, and a payload's filled ``userErrors`` or ``errors``, mean that it was not.
    """
    refusals = [str(one) for name in ("userErrors", "errors") for one in _values(answer.data, name)]
    said = "; ".join([*answer.errors, *(text for text in refusals if text != "[]")])
    if said:
        raise FailedError(Finding(f"{option} is not carried out: {said}", answer.request))
    return answer


def _values(data: Any, name: str) -> Iterator[Any]:
    """Yield all that stands under ``name``, the outermost first."""
    level = [data]
    while level:
        objects = [item for item in level if isinstance(item, dict)]
        yield from (item[name] for item in objects if item.get(name) is not None)
        lists = [item for item in level if isinstance(item, list)]
        level = [value for item in objects for value in item.values()]
        level += [value for item in lists for value in item]


def _name(type_: TypeNode) -> str:
    while isinstance(type_, NonNullTypeNode | ListTypeNode):
        type_ = type_.type
    assert isinstance(type_, NamedTypeNode)  # noqa: S101 - what is left
    return type_.name.value
