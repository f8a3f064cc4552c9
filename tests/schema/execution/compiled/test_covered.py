"""Which operations are compiled. All others have graphql-core's results."""

import asyncio
from itertools import product
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import pytest
import strawberry
from graphql import parse

from schema.execution.compiled.operation import CompiledOperation
from schema.execution.facts import by_class
from schema.execution.selections import operations_of
from tests.schema.execution.compiled.test_same_answers import Both


@strawberry.type
class Row:
    a: str
    b: str
    c: str
    d: str
    e: str

    @strawberry.field
    def echo(self, said: str = "nothing") -> str:
        return said


@strawberry.type
class Query:
    rows: list[Row]
    row: Row


SCHEMA = strawberry.Schema(Query)
ROW = SimpleNamespace(**dict(zip("abcde", "vwxyz", strict=True)))
ROOT = SimpleNamespace(rows=[ROW, ROW], row=ROW)

CONDITIONAL = (
    "{ rows { a b @include(if: $p) c } }",
    "{ rows @skip(if: $p) { a } row { a } }",
    """{ rows { a ... @include(if: $p) { b row: c } ...More @skip(if: $q) } }
    fragment More on Row { d @include(if: $r) e }""",
    "{ row { a @include(if: $p) } row { a @skip(if: $q) b } }",
    "{ rows { a @include(if: $p) @skip(if: $q) b @skip(if: $r) c @include(if: $s) d } }",
)


@pytest.mark.parametrize("selection", CONDITIONAL)
async def test_each_combination_of_directive_variables_is_compiled(
    selection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for name in "pqrs" if f"${name}" in selection]
    declared = ", ".join(f"${name}: Boolean!" for name in names)
    both = Both(SCHEMA, f"query ({declared}) {selection}")
    for values in product([True, False], repeat=len(names)):
        found, expected = await both.answers(dict(zip(names, values, strict=True)), ROOT)
        assert found == expected
        with monkeypatch.context() as patch:
            patch.delattr("graphql.execution.Executor.execute_fields")
            document = parse(f"query ({declared}) {selection}")
            (operation,) = operations_of(document)
            compiled = CompiledOperation(SCHEMA._schema, document, operation)
            inputs = compiled.coerced(dict(zip(names, values, strict=True)))
            assert not isinstance(inputs, list)
            assert not (await compiled.execute(inputs, root_value=ROOT)).errors


@pytest.mark.parametrize(
    ("declared", "variables"),
    [
        ("$p: Boolean = true", {}),
        ("$p: Boolean = true", {"p": False}),
        ("$p: Boolean = true", {"p": None}),
        ("$p: Boolean!", {}),
    ],
)
async def test_directive_variables_with_a_default_or_without_a_value_have_equal_results(
    declared: str, variables: dict[str, Any]
) -> None:
    both = Both(SCHEMA, f"query ({declared}) {{ rows {{ a @include(if: $p) b }} }}")
    found, expected = await both.answers(variables, ROOT)
    assert found == expected


async def test_more_than_four_directive_variables_have_equal_results() -> None:
    names = "pqrst"
    declared = ", ".join(f"${name}: Boolean!" for name in names)
    fields = " ".join(f"{one} @skip(if: ${name})" for one, name in zip("abcde", names, strict=True))
    both = Both(SCHEMA, f"query ({declared}) {{ rows {{ {fields} __typename }} }}")
    found, expected = await both.answers(dict.fromkeys(names, False) | {"q": True}, ROOT)
    assert found == expected


@pytest.mark.parametrize("said", ['said: "hi"', "said: $word", ""])
async def test_operations_with_arguments_of_fragments_have_equal_results(said: str) -> None:
    """https://github.com/graphql/graphql-spec/pull/1081"""
    spread = f"...Echo({said})" if said else "...Echo"
    text = (
        f"query ($word: String) {{ word: row {{ echo(said: $word) }} rows {{ {spread} }} }} "
        'fragment Echo($said: String = "hello") on Row { echo(said: $said) a }'
    )
    both = Both(SCHEMA, text, experimental_fragment_arguments=True)
    found, expected = await both.answers({"word": "given"}, ROOT)
    assert found == expected
    assert expected[1] == []


@strawberry.type
class Failed:
    message: str


@strawberry.interface
class Named:
    a: str

    @classmethod
    def resolve_type(cls, value: Any, *_: Any) -> Any:
        found = value.of()
        return awaited(found) if value.later else found


@strawberry.type
class First(Named):
    b: str

    @classmethod
    def is_type_of(cls, value: Any, _: Any) -> bool:
        return bool(value.b == "w")


@strawberry.type
class Classified:
    a: str
    asked: ClassVar[list[str]] = []

    @classmethod
    @by_class
    def is_type_of(cls, value: Any, _: Any) -> bool:
        cls.asked.append(value.a)
        return isinstance(value, SimpleNamespace | Pair)


class Pair(NamedTuple):
    a: str


class Stranger(NamedTuple):
    a: str


@strawberry.type
class Listed:
    listed: list[Classified | None]


async def test_a_type_is_asked_once_for_each_class_of_objects() -> None:
    both = Both(strawberry.Schema(Listed), "{ listed { a } }")
    one, pair, stranger = SimpleNamespace(a="a"), Pair("b"), Stranger("c")
    for listed in ([stranger, one, pair, stranger, one], [one, one, pair, pair, one]):
        Classified.asked.clear()
        found, expected = await both.answers({}, SimpleNamespace(listed=listed))
        assert found == expected
    assert Classified.asked == [*"aabba", *"ba", *"ba"]  # by graphql-core, and twice compiled


@strawberry.type
class Found:
    found: Named | None
    other: First | Failed


async def awaited(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("name", ["First", "Failed", "Named", "Nothing", 7, [], None])
async def test_objects_of_an_interface_have_equal_results(name: Any, later: bool) -> None:
    schema = strawberry.Schema(Found, types=[First])
    both = Both(schema, "{ found { __typename a ...F } } fragment F on First { b }")
    for value in ("w", "x"):  # an object of the interface's type First, and one of no type
        one = SimpleNamespace(a="v", b=value, of=lambda: name, later=later)
        found, expected = await both.answers({}, SimpleNamespace(found=one))
        assert found == expected


async def test_objects_of_a_union_have_equal_results() -> None:
    schema = strawberry.Schema(Found, types=[First])
    both = Both(schema, "{ other { ... on First { a } ... on Failed { message } } }")
    for value in (First(a="v", b="w"), Failed(message="m"), SimpleNamespace(b="w"), ROW):
        found, expected = await both.answers({}, SimpleNamespace(other=value))
        assert found == expected


@strawberry.type
class Change:
    @strawberry.field
    async def add(self, info: strawberry.Info, number: int) -> list[int] | None:
        for _ in range(3 - number):
            await asyncio.sleep(0)
        if number == 3:
            raise ValueError(number)
        info.context.append(number)
        return list(info.context)

    @strawberry.field
    def last(self, info: strawberry.Info) -> int:
        return int(info.context[-1])


@pytest.mark.parametrize("end", ["", "d: last", "d: add(number: 3) e: last"])
async def test_fields_of_a_mutation_run_in_order(end: str) -> None:
    text = f"mutation {{ a: add(number: 0) b: last c: add(number: 1) {end} }}"
    both = Both(strawberry.Schema(Query, Change), text)
    found, expected = await both.answers({}, None, context=list)
    assert found == expected
    assert expected[0].startswith(b'{"a":[0],"b":0,"c":[0,1]')


class Handler(strawberry.ExceptionHandler[KeyError, Failed]):
    def handle(self, exception: KeyError, *, field: Any, info: Any) -> Failed:
        del field, info
        return Failed(message=str(exception))


@strawberry.type
class Handled:
    found: Row | Failed


class Faulty:
    @property
    def found(self) -> None:
        raise KeyError("gone")


async def test_an_exception_handler_receives_the_error_of_an_attribute() -> None:
    schema = strawberry.Schema(Handled, exception_handlers=[Handler()])
    both = Both(schema, "{ found { ... on Failed { message } } }")
    found, expected = await both.answers({}, Faulty())
    assert found == expected
    assert expected[1] == []
