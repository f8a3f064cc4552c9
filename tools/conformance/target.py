"""Parses ``--connection``: a path of fields, or a query whose only leaf is the connection.

A path and a query that are equivalent: ``product(productId: "42").comments`` and
``{ product(productId: "42") { comments } }``. A type in square brackets becomes an inline fragment:
``node(id: "…").[User].orders`` is ``{ node(id: "…") { ... on User { orders } } }``.
"""

import re
from dataclasses import dataclass

from graphql import (
    FieldNode,
    GraphQLSyntaxError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
    print_ast,
)

from tools.conformance.endpoint import ConformanceError

PAGINATION = ("first", "after", "last", "before")

_PART = re.compile(
    r"""
    (?: "(?:\\.|[^"\\])*"   # a string, which may contain dots and brackets
      | \( | \) | \[ | \] | \{ | \}
      | \.
      | [^"()\[\]{}.]+
    )
    """,
    re.VERBOSE,
)
_HOW = (
    'Write a path such as product(productId: "42").comments, or a query whose only leaf is the '
    'connection such as { product(productId: "42") { comments } }.'
)

Step = FieldNode | InlineFragmentNode


@dataclass(frozen=True, slots=True)
class Target:
    """The path to a connection: fields with their arguments, and type conditions."""

    steps: tuple[Step, ...]

    @property
    def field(self) -> FieldNode:
        """The connection's field."""
        last = self.steps[-1]
        assert isinstance(last, FieldNode)  # noqa: S101 - checked by parse_target
        return last

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to the connection in a response."""
        fields = (step for step in self.steps if isinstance(step, FieldNode))
        return tuple((step.alias or step.name).value for step in fields)

    def selecting(self, arguments: str, selection: str) -> str:
        """Return the selection set of the connection, with additional ``arguments``."""
        text = f"{_opening(self.field, arguments)} {selection}"
        for step in reversed(self.steps[:-1]):
            text = f"{_opening(step)} {{ {text} }}"
        return f"{{ {text} }}"


def parse_target(text: str) -> Target:
    """Return the target of ``text``.

    Raise ConformanceError if ``text`` does not select exactly one field, or if it has variables or
    pagination arguments.
    """
    stripped = text.strip()
    document = stripped if stripped.startswith(("{", "query")) else _document(stripped)
    try:
        operation = parse(document).definitions[0]
    except GraphQLSyntaxError as error:
        raise ConformanceError(
            f"--connection is not valid GraphQL: {error.message} {_HOW}"
        ) from None
    if not isinstance(operation, OperationDefinitionNode):
        raise ConformanceError(f"--connection has no query. {_HOW}")
    target = Target(tuple(_steps(operation.selection_set)))
    if operation.variable_definitions:
        raise ConformanceError("--connection has variables: replace them by their values.")
    if not isinstance(target.steps[-1], FieldNode):
        raise ConformanceError(f"--connection does not end in a field. {_HOW}")
    for argument in target.field.arguments or ():
        if argument.name.value in PAGINATION:
            raise ConformanceError(
                f"--connection sets {argument.name.value}: leave the argument out, because the "
                "checks set it."
            )
    return target


def _steps(selected: SelectionSetNode | None) -> list[Step]:
    steps: list[Step] = []
    while selected is not None:
        if len(selected.selections) != 1:
            raise ConformanceError(f"--connection does not name exactly one field. {_HOW}")
        (selection,) = selected.selections
        if not isinstance(selection, FieldNode | InlineFragmentNode):
            raise ConformanceError(f"--connection has a named fragment. {_HOW}")
        steps.append(selection)
        selected = selection.selection_set
    return steps


def _document(path: str) -> str:
    """Return the query of a path, which is split at the dots outside of brackets and strings."""
    parts, depth = [""], 0
    for piece in _PART.findall(path):
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "." and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    opened = [re.sub(r"^\s*\[(.*)\]\s*$", r"... on \1", part) for part in parts]
    return "{ " + " { ".join(opened) + " }" * len(opened)


def _opening(step: Step, *more: str) -> str:
    """Return a step without its selection set, with the additional arguments ``more``."""
    if isinstance(step, InlineFragmentNode):
        return f"... on {step.type_condition.name.value}" if step.type_condition else "..."
    name = f"{step.alias.value}: {step.name.value}" if step.alias else step.name.value
    given = ", ".join(filter(None, [*map(print_ast, step.arguments or ()), *more]))
    return f"{name}({given})" if given else name
