"""Inserts and deletes rows with the mutations of ``--insert`` and ``--delete``."""

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

from tools.conformance.check import FailedError
from tools.conformance.endpoint import Answer, ConformanceError, Endpoint

NUMBERS = frozenset({"Int", "Float"})


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mutation, with the names and types of its variables."""

    text: str
    variables: Mapping[str, str]


def parse_mutation(option: str, text: str) -> Mutation:
    """Return the mutation of an option; raise ConformanceError if ``text`` is not a mutation."""
    try:
        operation = parse(text).definitions[0]
    except GraphQLSyntaxError as error:
        raise ConformanceError(f"{option} is not valid GraphQL: {error.message}") from None
    if (
        not isinstance(operation, OperationDefinitionNode)
        or operation.operation is not OperationType.MUTATION
    ):
        raise ConformanceError(f"{option} is not a mutation: begin it with the word mutation.")
    declared = operation.variable_definitions or ()
    return Mutation(text, {one.variable.name.value: _name(one.type) for one in declared})


@dataclass(slots=True)
class Writer:
    """Inserts rows, and deletes only these rows. ``rows`` are the inserted rows that still exist.

    Each insert gives every variable a new value: a number for an Int or a Float, otherwise a text.
    A variable of the deletion takes its value from the field of the same name in the response to
    the insert.
    """

    endpoint: Endpoint
    insert_document: Mutation
    delete_document: Mutation | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def insert(self) -> dict[str, Any]:
        """Insert one row; return the variables with which ``delete`` deletes the row."""
        values = {
            name: next(self._numbers) if kind in NUMBERS else f"conformance-{uuid.uuid4().hex}"
            for name, kind in self.insert_document.variables.items()
        }
        answer = _done(await self.endpoint.ask(self.insert_document.text, values), "--insert")
        wanted = self.delete_document.variables if self.delete_document else {}
        row = {name: next(_values(answer.data, name), None) for name in wanted}
        missing = [name for name, value in row.items() if value is None]
        if missing:
            raise ConformanceError(
                f"--delete takes ${missing[0]}, but the response of --insert has no {missing[0]}: "
                f"select it in --insert, such as comment {{ {missing[0]} }} or {missing[0]}: key."
            )
        self.rows.append(row)
        return row

    async def delete(self, row: dict[str, Any]) -> None:
        """Delete a row that ``insert`` returned."""
        assert self.delete_document is not None  # noqa: S101 - guaranteed by Check.needs
        self.rows.remove(row)
        _done(await self.endpoint.ask(self.delete_document.text, row), "--delete")

    async def clear(self) -> None:
        """Delete the remaining inserted rows, if ``--delete`` is given."""
        while self.rows and self.delete_document is not None:
            await self.delete(self.rows[-1])


def _done(answer: Answer, option: str) -> Answer:
    """Return the response of a mutation; raise FailedError if it failed.

    A mutation fails by errors, or by a payload's non-empty ``userErrors`` or ``errors``.
    """
    refusals = [str(one) for name in ("userErrors", "errors") for one in _values(answer.data, name)]
    failures = [*answer.errors, *(text for text in refusals if text != "[]")]
    if failures:
        raise FailedError(f"{option} failed: {'; '.join(failures)}", answer.request)
    return answer


def _values(data: Any, name: str) -> Iterator[Any]:
    """Yield all values of the key ``name``, the outermost first."""
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
    assert isinstance(type_, NamedTypeNode)  # noqa: S101 - the remaining kind
    return type_.name.value
