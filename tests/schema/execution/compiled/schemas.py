"""Random schemas of Strawberry types: fields of every kind, on objects of any content.

A row is a seed. Each read of an attribute computes the value from the seed again. So two executions
get equal values, even if the values are coroutines or generators.
"""

import asyncio
import enum
import math
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, NewType, Optional

import strawberry
from graphql import GraphQLError, Undefined
from strawberry.schema.config import StrawberryConfig


@strawberry.enum
class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


@strawberry.input
class Size:
    width: int
    unit: str = "cm"


@strawberry.input
class Box:
    """An input object with fields of every kind."""

    size: Size
    color: Color = Color.GREEN
    code_names: list[str] = strawberry.field(default_factory=lambda: ["none"])
    inner_sizes: list[Size | None] | None = None
    ident: strawberry.ID | None = strawberry.UNSET
    weight: float | None


@strawberry.input
class Crate(Box):
    """An input object that can contain itself."""

    crate: Optional["Crate"] = None


class Text(str):
    __slots__ = ()


def _odd(value: Any) -> Any:
    if value % 2 == 0:
        raise ValueError(f"{value} is even")
    return None if value == 3 else {"odd": value}


Root: Any = strawberry.Parent[Any]  # type: ignore[misc]
Odd = NewType("Odd", int)
SCALARS: dict[object, Any] = {Odd: strawberry.scalar(name="Odd", serialize=_odd)}

LEAVES: dict[Any, Callable[[Random], Any]] = {
    str: lambda random: random.choice(["", "a", "ü\x00", Text("sub")]),
    int: lambda random: random.choice([0, -1, 2**31 - 1, True, 1.0, "7"]),
    float: lambda random: random.choice([0.5, -0.0, 3, "1.5", False]),
    bool: lambda random: random.choice([True, False, 1]),
    strawberry.ID: lambda random: random.choice(["id", 7, 2**40]),
    Color: lambda random: random.choice([*Color, "red"]),
    datetime: lambda random: datetime(2020, 2, random.randint(1, 29), tzinfo=UTC),
    Odd: lambda random: random.choice([1, 5, 7]),
}


@dataclass(frozen=True)
class Kind:
    """A field's type: a leaf or an object type, in nested lists, each nullable or not."""

    named: Any
    nullable: tuple[bool, ...]

    @property
    def annotation(self) -> Any:
        found = self.named
        for level, nullable in enumerate(self.nullable):
            found = list[found] if level else found  # type: ignore[valid-type]
            found = Optional[found] if nullable else found  # noqa: UP045 - an ID has no `|`
        return found


class Later:
    """An awaitable that yields to the event loop once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "<Later>"

    def __await__(self) -> Generator[Any, None, Any]:
        yield from asyncio.sleep(0).__await__()
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


class Row:
    """An object of one type. ``rate`` is the frequency of unusual values."""

    def __init__(self, typename: str, seed: str, rate: float) -> None:
        self.typename = typename
        self.seed = seed
        self.rate = rate

    def __repr__(self) -> str:
        return f"<{self.typename} {self.seed}>"

    def value(self, name: str) -> Any:
        kind = KINDS[self.typename, name]
        random = Random(f"{self.seed}.{name}")
        if random.random() < self.rate / 4:
            raise random.choice([ValueError("raised"), GraphQLError("told"), KeyError("k")])
        return self._made(kind.named, kind.nullable, random)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (self.typename, name) not in KINDS:
            raise AttributeError(name)
        return self.value(name)

    def _made(self, named: Any, nullable: tuple[bool, ...], random: Random) -> Any:
        if random.random() < self.rate:
            return self._odd(named, nullable, random)
        if nullable[-1] and random.random() < 0.2:
            return None
        if len(nullable) > 1:
            items = [self._made(named, nullable[:-1], random) for _ in range(random.randint(0, 3))]
            return tuple(items) if random.random() < 0.2 else items
        if named in LEAVES:
            return LEAVES[named](random)
        return Row(named.__name__, str(random.random()), self.rate)

    def _odd(self, named: Any, nullable: tuple[bool, ...], random: Random) -> Any:
        regular = Row(self.typename, self.seed, 0)._made(named, nullable, random)
        choices: list[Any] = [None, ValueError("held"), Undefined, object, "x", 2, 2**40, math.nan]
        choices += [Later(regular), Later(ValueError("later")), Later(None), [regular], {"a": 1}]
        if isinstance(regular, list):
            choices += [iter(regular), {1, 2}, [Later(one) for one in regular]]
        return random.choice(choices)


KINDS: dict[tuple[str, str], Kind] = {}
"""The type of each field of the latest schema, by the type's name and the attribute."""


def _resolver(random: Random, kind: Kind, name: str) -> Callable[..., Any]:
    """Return a resolver in one of the forms that Strawberry supports, chosen at random."""
    waits = random.randint(0, 2)

    def plain(root: Any) -> Any:
        return root.value(name)

    def told(root: Any, info: Any) -> Any:
        assert info.path.key
        assert info.variable_values is not None
        assert info._raw_info.parent_type.name == root.typename
        return root.value(name)

    async def waiting(root: Any, info: Any) -> Any:
        for _ in range(waits):
            await asyncio.sleep(0)
        return root.value(name)

    function: Any = random.choice([plain, told, waiting])
    function.__annotations__ = {"root": Root, "return": kind.annotation}
    if function is not plain:
        function.__annotations__["info"] = strawberry.Info
    return function  # type: ignore[no-any-return]


def _echo(
    root: strawberry.Parent[Any],
    whole: int = 3,
    words: list[str] | None = None,
    color: Color = Color.RED,
    size: Size | None = None,
) -> str:
    said = repr((whole, words, color, size))
    if words:
        words.append("changed")
    return said


def _plain_echo(
    info: strawberry.Info,
    word: str,
    words: list[str | None] = ["a"],  # noqa: B006 - every call gets its own
    ident: strawberry.ID | None = None,
) -> str:
    said = repr((word, words, ident))
    words.append("changed")
    return said


def _box_echo(root: strawberry.Parent[Any], box: Box, boxes: list[Box] | None = None) -> str:
    return _said(box, *boxes or [])


def _crate_echo(info: strawberry.Info, crate: Crate | None) -> str:
    return "none" if crate is None else _said(crate)


def _said(*objects: Any) -> str:
    said = repr(objects)
    for one in objects:
        one.code_names.append("changed")
        one.size.unit = "changed"
    return said


@strawberry.interface
class Named:
    @classmethod
    def is_type_of(cls, value: Any, _: Any) -> Any:
        if getattr(value, "seed", "9").endswith("7"):
            return random_verdict(value)
        return isinstance(value, Row) and value.typename == cls.__name__

    name: str | None = strawberry.field(resolver=lambda: "named")


def random_verdict(value: Any) -> Any:
    return Random(value.seed).choice([True, 1, 0, None])


def _type(random: Random, name: str, below: list[type]) -> type:
    annotations: dict[str, Any] = {}
    members: dict[str, Any] = {"__annotations__": annotations}
    for number in range(random.randint(2, 6)):
        field = random.choice(["from_", "title", "count"]) + str(number)
        named = random.choice([*LEAVES, *below, *below])
        kind = Kind(named, tuple(random.random() < 0.4 for _ in range(random.choice([1, 1, 2, 3]))))
        KINDS[name, field] = kind
        annotations[field] = kind.annotation
        if random.random() < 0.4:
            members[field] = strawberry.field(resolver=_resolver(random, kind, field))
    bases = (Named,) if random.random() < 0.4 else ()
    members["echo"] = strawberry.field(resolver=_echo)
    members["plain_echo"] = strawberry.field(resolver=_plain_echo)
    members["box_echo"] = strawberry.field(resolver=_box_echo)
    members["crate_echo"] = strawberry.field(resolver=_crate_echo)
    return strawberry.type(type(name, bases, members))


def schema_of(random: Random) -> strawberry.Schema:
    """Return a random schema. ``KINDS`` then contains its fields."""
    KINDS.clear()
    types: list[type] = []
    for name in ("Stem", "Branch", "Tree"):
        types.append(_type(random, name, list(types)))
    named = [one for one in types if issubclass(one, Named)]
    if named:
        types.append(Named)
    query, mutation = (_type(random, name, types) for name in ("Query", "Mutation"))
    return strawberry.Schema(
        query, mutation, types=named, config=StrawberryConfig(scalar_map=SCALARS)
    )


async def awaited(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value
