"""Random documents and variables for the schema, most of them valid."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
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


def _own_id(rng: random.Random) -> str:
    """Return an own id, or rarely a global id, which is refused."""
    return rng.choice(["1", "42", "demo-00092", "x y", "", "UHJvZHVjdDox"])


_PLAUSIBLE: Mapping[str, Draw] = {
    "Int": lambda rng: rng.choice((int, float))(rng.randint(-2, 120)),
    "Float": lambda rng: rng.random(),
    "Boolean": lambda rng: rng.random() < 0.5,
    "String": lambda rng: rng.choice(["1", "42", "en", "de-AT", "ana", "x y", "12.50 EUR", ""]),
    "language": lambda rng: rng.choice(["en", "EN-gb", "zh-Hant-TW", "iw", "no-NO", "en-x-a", "-"]),
    "contains": lambda rng: rng.choice(
        ["a", "good kettle", "wi-fi", "電池", "👍", "%", "", "x" * 201, "zinc"]
    ),
    "ID": lambda rng: rng.choice(["UHJvZHVjdDox", "Q29tbWVudDpkZW1vLTAwMDky", "", "1"]),
    **dict.fromkeys(("productId", "productIds", "commentId", "orderId", "ticketId"), _own_id),
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


def value(
    rng: random.Random,
    kind: Any,
    awkward: float = 0.1,
    name: str = "",
    known: Mapping[str, Draw] = _PLAUSIBLE,
) -> Any:
    """Return a JSON value for an argument or a variable of type ``kind``.

    ``known`` draws the values of scalars, by the name of an argument or of a type.
    """
    if rng.random() < awkward:
        return rng.choice(AWKWARD)
    if isinstance(kind, GraphQLNonNull):
        return value(rng, kind.of_type, awkward, name, known)
    if isinstance(kind, GraphQLList):
        count = rng.choice((0, 1, 1, 2, 5))
        return [value(rng, kind.of_type, awkward, name, known) for _ in range(count)]
    if isinstance(kind, GraphQLEnumType):
        return rng.choice([*kind.values, *["NOTHING"] * (awkward > 0)])
    if isinstance(kind, GraphQLInputObjectType):
        kept = {
            name: one
            for name, one in kind.fields.items()
            if rng.random() < 0.9 or (not awkward and isinstance(one.type, GraphQLNonNull))
        }
        return {name: value(rng, one.type, awkward, name, known) for name, one in kept.items()}
    return (known.get(name) or known.get(kind.name) or _PLAUSIBLE[kind.name])(rng)


def document(
    rng: random.Random,
    schema: GraphQLSchema,
    awkward: float = 0.1,
    known: Mapping[str, Draw] = _PLAUSIBLE,
    wanted: str | None = None,
) -> tuple[str, dict[str, Any]]:
    """Return an operation with its variables. Every argument has a variable of its own.

    ``wanted`` is a field, as ``Type.field``. If possible, the operation selects it.
    """
    steps = {} if wanted is None else _steps(schema, wanted)
    drawing = _Drawing(rng, awkward, known, steps)
    mutation = rng.random() < 0.3 or (wanted or "").startswith("Mutation.")
    root = schema.mutation_type if mutation else schema.query_type
    assert root is not None
    body = drawing.selection(root, schema, DEPTH)
    heads = ", ".join(f"${name}: {kind}" for name, (kind, _) in drawing.variables.items())
    values = {name: given for name, (_, given) in drawing.variables.items()}
    return f"{'mutation' if mutation else 'query'}{f'({heads})' if heads else ''} {body}", values


@cache
def _steps(schema: GraphQLSchema, wanted: str) -> Mapping[str, Sequence[str]]:
    """Return the fields of each type that lead to the field ``wanted`` on a shortest way."""
    owner, name = wanted.split(".")[-2:]
    steps = {owner: [name]}
    while True:
        new: dict[str, list[str]] = {}
        for kind in schema.type_map.values():
            if isinstance(kind, GraphQLObjectType) and kind.name not in steps:
                ways = [name for name, one in kind.fields.items() if _leads(schema, one, steps)]
                new |= {kind.name: ways} if ways else {}
        if not new:
            return steps
        steps |= new


def _leads(schema: GraphQLSchema, field: GraphQLField, steps: Mapping[str, object]) -> bool:
    of = get_named_type(field.type)
    possible = schema.get_possible_types(of) if isinstance(of, GraphQLInterfaceType) else (of,)
    return any(one.name in steps for one in possible)


class _Drawing:
    """An operation under construction, and its variables."""

    def __init__(
        self,
        rng: random.Random,
        awkward: float,
        known: Mapping[str, Draw],
        steps: Mapping[str, Sequence[str]],
    ) -> None:
        self.variables: dict[str, tuple[Any, Any]] = {}
        self._rng = rng
        self._awkward = awkward
        self._known = known
        self._steps = steps

    def selection(self, kind: Any, schema: GraphQLSchema, depth: int) -> str:
        """Return a selection of a composite type."""
        if not isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            return "{ __typename }"
        names = self._rng.sample(
            sorted(kind.fields), min(len(kind.fields), self._rng.choice((1, 2, 3)))
        )
        if ways := self._steps.get(kind.name):
            names[0] = self._rng.choice(ways)
        chosen = [self._field(name, kind.fields[name], schema, depth - 1) for name in names]
        if isinstance(kind, GraphQLInterfaceType):
            possible = schema.get_possible_types(kind)
            leading = [one for one in possible if one.name in self._steps]
            one = self._rng.choice(leading or possible)
            chosen.append(f"... on {one.name} {self.selection(one, schema, depth - 1)}")
        return f"{{ __typename {' '.join(filter(None, chosen))} }}"

    def _field(self, name: str, field: GraphQLField, schema: GraphQLSchema, depth: int) -> str:
        inner = get_named_type(field.type)
        if not is_leaf_type(inner) and depth <= 0:
            return ""
        alias = (
            f"{name}_{len(self.variables)}_{self._rng.randrange(1000)}: "
            if self._rng.random() < 0.5
            else ""
        )
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
        self.variables[variable] = (kind, value(self._rng, kind, self._awkward, name, self._known))
        return f"{name}: ${variable}"
