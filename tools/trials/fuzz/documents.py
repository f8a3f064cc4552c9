"""Random documents and variables for the schema, most of them valid."""

import random
from collections.abc import Callable, Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLField,
    GraphQLID,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
    get_named_type,
    is_leaf_type,
)

DEPTH = 6
DIRECTIVES = 0.05
"""The fraction of fields with a directive."""

AWKWARD: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        101,
        2**31,
        -(2**63),
        10**400,
        1e308,
        0.5,
        [],
        [None],
        [[]],
        {},
        {"id": {}},
    ),
    *("", " ", "\x00", "\ud800", "\u202e", "😀" * 50, "x" * 3000, "en", "1", "PLACED", "12.50 EUR"),
    *("2024-13-01", "2024-02-30T25:61:61Z", "0001-01-01T00:00:00+23:59", "UHJvZHVjdDox"),
    "9999-12-31T23:59:59-23:59",
)
"""Unusual values, which test rules, coercions and encodings."""

_CONDITION = GraphQLNonNull(GraphQLBoolean)

Draw = Callable[[random.Random], Any]

_PLAUSIBLE: Mapping[str, Draw] = {
    "Int": lambda rng: rng.choice((int, float))(rng.randint(-2, 120)),
    "Float": lambda rng: rng.random(),
    "Boolean": lambda rng: rng.random() < 0.5,
    "String": lambda rng: rng.choice(["1", "42", "en", "de-AT", "ana", "x y", "12.50 EUR", ""]),
    "ID": lambda rng: rng.choice(["UHJvZHVjdDox", "Q29tbWVudDpkZW1vLTAwMDky", "", "1"]),
    "_Any": lambda rng: {
        "__typename": rng.choice(["Product", "Comment", "Author", "Order", "_Any", "", 1]),
        rng.choice(["productId", "id"]): value(rng, rng.choice((GraphQLID, GraphQLString))),
    },
    "Decimal": lambda rng: rng.choice(["12.50", "0", "1e9", "-1", "NaN"]),
    "CurrencyCode": lambda rng: rng.choice(["EUR", "JPY", "XAU", "eur"]),
    "DateTime": lambda rng: rng.choice(
        ["2024-01-01T00:00:00Z", "2024-02-29T23:59:59+05:30", "now"]
    ),
}


def value(rng: random.Random, kind: Any, awkward: float = 0.1) -> Any:
    """Return a JSON value for an argument or a variable of type ``kind``."""
    if rng.random() < awkward:
        return rng.choice(AWKWARD)
    if isinstance(kind, GraphQLNonNull):
        return value(rng, kind.of_type, awkward)
    if isinstance(kind, GraphQLList):
        return [value(rng, kind.of_type, awkward) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
    if isinstance(kind, GraphQLEnumType):
        return rng.choice([*kind.values, "NOTHING"])
    if isinstance(kind, GraphQLInputObjectType):
        kept = {name: one for name, one in kind.fields.items() if rng.random() < 0.9}
        return {name: value(rng, one.type, awkward) for name, one in kept.items()}
    return _PLAUSIBLE.get(kind.name, _PLAUSIBLE["String"])(rng)


def document(
    rng: random.Random, schema: GraphQLSchema, awkward: float = 0.1
) -> tuple[str, dict[str, Any]]:
    """Return an operation with its variables. Every argument has a variable of its own."""
    drawing = _Drawing(rng, awkward)
    mutation = rng.random() < 0.3
    root = schema.mutation_type if mutation else schema.query_type
    assert root is not None
    body = drawing.selection(root, schema, DEPTH)
    heads = ", ".join(f"${name}: {kind}" for name, (kind, _) in drawing.variables.items())
    values = {name: given for name, (_, given) in drawing.variables.items()}
    return f"{'mutation' if mutation else 'query'}{f'({heads})' if heads else ''} {body}", values


class _Drawing:
    """An operation under construction, and its variables."""

    def __init__(self, rng: random.Random, awkward: float) -> None:
        self.variables: dict[str, tuple[Any, Any]] = {}
        self._rng = rng
        self._awkward = awkward

    def selection(self, kind: Any, schema: GraphQLSchema, depth: int) -> str:
        """Return a selection of a composite type."""
        if not isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            return "{ __typename }"
        names = self._rng.sample(
            sorted(kind.fields), min(len(kind.fields), self._rng.choice((1, 2, 3)))
        )
        chosen = [self._field(name, kind.fields[name], schema, depth - 1) for name in names]
        if isinstance(kind, GraphQLInterfaceType):
            one = self._rng.choice(schema.get_possible_types(kind))
            chosen.append(f"... on {one.name} {self.selection(one, schema, depth - 1)}")
        return f"{{ __typename {' '.join(filter(None, chosen))} }}"

    def _field(self, name: str, field: GraphQLField, schema: GraphQLSchema, depth: int) -> str:
        inner = get_named_type(field.type)
        if not is_leaf_type(inner) and depth <= 0:
            return ""
        alias = f"a{len(self.variables)}_{self._rng.randrange(1000)}: "
        below = "" if is_leaf_type(inner) else self.selection(inner, schema, depth)
        return f"{alias}{name}{self._arguments(field.args)}{self._directive()} {below}"

    def _directive(self) -> str:
        if self._rng.random() > DIRECTIVES:
            return ""
        name = self._rng.choice(("skip", "include"))
        return f" @{name}({self._argument('if', _CONDITION)})"

    def _arguments(self, declared: Mapping[str, GraphQLArgument | GraphQLInputField]) -> str:
        given = [
            self._argument(name, one.type) for name, one in declared.items() if self._wanted(one)
        ]
        return f"({', '.join(given)})" if given else ""

    def _wanted(self, one: GraphQLArgument | GraphQLInputField) -> bool:
        return isinstance(one.type, GraphQLNonNull) or self._rng.random() < 0.4

    def _argument(self, name: str, kind: Any) -> str:
        variable = f"v{len(self.variables)}"
        self.variables[variable] = (kind, value(self._rng, kind, self._awkward))
        return f"{name}: ${variable}"
