"""Random documents for any schema: aliases, fragments, directives, merged fields."""

import re
from random import Random
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)

VARIABLES = {
    "$yes": "Boolean! = true",
    "$more": "Boolean! = false",
    "$no": "Boolean",
    "$whole": "Int",
    "$ident": "ID",
    "$word": 'String! = "w"',
    "$words": "[String!]",
    "$color": "Color! = GREEN",
    "$width": "Int! = 4",
    "$size": "Size",
    "$box": "Box!",
    "$boxes": "[Box!]",
    "$crate": "Crate",
}
VALUES: dict[str, list[Any]] = {
    "yes": [True, False],
    "more": [True, False],
    "no": [False, True],
    "whole": [5, None, 2**31, "x"],
    "ident": ["id", 7, None, 1.5],
    "word": ["given", None],
    "words": [["a", "b"], "single", None, [None]],
    "color": ["RED", "BLUE"],
    "width": [1],
    "size": [{"width": 2}, {"width": 2, "unit": "in"}, None, {"width": None}, {"unit": "in"}, []],
    "box": [
        {"size": {"width": 2}, "weight": None},
        {"size": {"width": 2, "unit": "in"}, "codeNames": ["a"], "ident": "i", "color": "RED"},
        {"size": {"width": 2}, "innerSizes": [{"width": 3}, None], "codeNames": "single"},
        {"size": {"width": 2}, "ident": None, "innerSizes": None, "weight": 2},
        *({"size": one} for one in [None, {}, {"width": 2**31}, {"width": 1, "unit": None}, 7]),
        {"size": {"width": 2}, "unknown": 1},
        {"weight": 1.5},
        None,
        [],
    ],
    "boxes": [[{"size": {"width": 2}}, {"size": {"width": 3}}], {"size": {"width": 2}}, None, [7]],
    "crate": [
        {"size": {"width": 2}, "crate": {"size": {"width": 3}, "crate": None}},
        {"size": {"width": 2}, "crate": {"size": {"width": 3}, "crate": {}}},
        None,
    ],
}

INPUTS = {
    "Size": ["$size", "{width: $width}", '{width: 2, unit: "in"}'],
    "Box": ["$box", "$box", "{size: {width: $width}, innerSizes: [null, {width: 1}]}"],
    "Crate": ["$crate", "{size: {width: 1}, crate: {size: {width: $width}}}"],
}
LEAVES = {"Int": ["$whole", "7"], "ID": ["$ident", '"s"', "7"]}
PARTED = 0.95
MUTATIONS = 0.2


class Writer:
    """Writes one random document."""

    def __init__(self, schema: GraphQLSchema, random: Random) -> None:
        self.root = ""
        self._schema = schema
        self._random = random
        self._fragments: list[str] = []
        self._keys: dict[str, str] = {}

    def document(self) -> str:
        """Return the text of an operation, which may be invalid.

        ``root`` becomes its root type's name.
        """
        mutates = self._random.random() < MUTATIONS
        root = self._schema.mutation_type if mutates else self._schema.query_type
        assert root is not None
        selected = self._selection(root, 4)
        text = "\n".join([selected, *self._fragments])
        named = set(re.findall(r"\$\w+", text))
        used = [f"{name}: {kind}" for name, kind in VARIABLES.items() if name in named]
        self.root = root.name
        declared = f" ({', '.join(used)})" if used else ""
        return f"{root.name.lower()}{declared} {text}"

    def variables(self) -> dict[str, Any]:
        """Return variables, most of which have the right type."""
        random = self._random
        return {
            name: values[0] if random.random() < 0.9 else random.choice(values)
            for name, values in VALUES.items()
            if name == "no" or random.random() < 0.6
        }

    def _selection(self, of: Any, depth: int) -> str:
        parts = [self._part(of, depth) for _ in range(self._random.randint(1, 5))]
        return "{ " + " ".join(parts) + " }"

    def _part(self, of: Any, depth: int) -> str:
        chance = self._random.random()
        if chance < 0.1:
            return "__typename" if chance < 0.07 else "kind: __typename"
        if chance < 0.3 and depth:
            return self._fragment(of, depth)
        field = self._field(of, depth)
        return f"{field} {field}" if chance > 0.95 else field

    def _fragment(self, of: Any, depth: int) -> str:
        on = self._random.choice([of, *self._related(of)])
        inner = self._selection(on, depth - 1)
        if self._random.random() < 0.5:
            condition = "" if on is of and self._random.random() < 0.3 else f" on {on.name}"
            return f"...{condition}{self._directive()} {inner}"
        name = f"f{len(self._fragments)}"
        self._fragments.append(f"fragment {name} on {on.name} {inner}")
        return f"...{name}{self._directive()}"

    def _related(self, of: Any) -> list[Any]:
        if is_abstract_type(of):
            return list(self._schema.get_possible_types(of))
        return list(of.interfaces) if is_object_type(of) else []

    def _field(self, of: Any, depth: int) -> str:
        below = [one for one in of.fields if not is_leaf_type(get_named_type(of.fields[one].type))]
        name: str = self._random.choice([*of.fields, *below, *below] if depth else list(of.fields))
        field = of.fields[name]
        inner = get_named_type(field.type)
        called = name + self._arguments(field)
        head = self._alias(name, called) + called + self._directive()
        if is_leaf_type(inner):
            return head
        return f"{head} {self._selection(inner, depth - 1) if depth else '{ __typename }'}"

    def _alias(self, name: str, called: str) -> str:
        """Return an alias or "".

        Most fields with different arguments get different response keys. With the same key, a
        document is invalid if the fields have the same parent.
        """
        key = self._random.choice([name, name, "same", f"a{len(self._keys)}", "class"])
        if self._keys.setdefault(key, called) != called and self._random.random() < PARTED:
            key = f"a{len(self._keys)}"
            self._keys[key] = called
        return "" if key == name else f"{key}: "

    def _arguments(self, field: Any) -> str:
        given = [
            f"{name}: {self._value(argument.type)}"
            for name, argument in field.args.items()
            if name in ("word", "box") or self._random.random() < 0.4
        ]
        return f"({', '.join(given)})" if given else ""

    def _value(self, of: Any) -> str:
        random, kind = self._random, get_nullable_type(of)
        if kind is of and random.random() < 0.1:
            return "null"
        if is_list_type(kind):
            if isinstance(get_named_type(of), GraphQLInputObjectType):
                return random.choice(["$boxes", "[$box, {size: {width: 1}}]", "[]"])
            return random.choice(["$words", '["l"]', '["l", $word]', '"one"', "[]"])
        if isinstance(kind, GraphQLEnumType):
            return random.choice(["$color", "RED"])
        if isinstance(kind, GraphQLInputObjectType):
            return random.choice(INPUTS[kind.name])
        return random.choice(LEAVES.get(kind.name, ["$word", '"s"']))

    def _directive(self) -> str:
        chance = self._random.random()
        if chance > 0.2:
            return ""
        name = self._random.choice(["@skip(if: ", "@include(if: "])
        value = self._random.choice(["true", "false", "$yes", "$yes", "$more"])
        return f" {name}{value})"
