"""The values and bytes of a result are counted while an operation runs.

An operation ends with QUERY_TOO_COSTLY when its result has more values than predicted, or more
bytes than a response may have.
"""

import random
import re
import tracemalloc
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from graphql import get_nullable_type, is_list_type, is_object_type

from dal.counts.counts import MAX_LANGUAGES
from dal.model import AspectRating, Photo, ProductDetails, Reply
from dal.model.comment_fields import MAX_ASPECTS
from dal.model.rules import MAX_PHOTOS
from dal.model.shop_aspects import ShopAspects
from dal.stores import Stores
from resolvers import json_ld
from resolvers.context import Context
from schema.build import build_schema
from schema.execution.compiled import answer_size
from schema.execution.compiled.answer_size import SMALL, AnswerSize, AnswerTooLargeError, bytes_of
from schema.execution.executable_schema import MAX_RESPONSE, ExecutableSchema
from schema.execution.selections import MAX_ALIASES
from tests.conftest import Tables
from tests.feature_lists import added, merged
from tests.putting import put_comments
from tests.schema.conftest import STAFF
from tests.strategies import comment

SCHEMAS = {"plain": build_schema(compiles=False), "compiled": build_schema()}
LONGEST = "🦊" * 10_000
OPERATIONS = 25


def codes(answer: Any) -> list[str]:
    return [error.extensions["code"] for error in answer.errors or []]


@pytest.fixture(params=[*SCHEMAS.values()], ids=[*SCHEMAS])
def each_schema(request: pytest.FixtureRequest) -> ExecutableSchema:
    found: ExecutableSchema = request.param
    return found


@pytest.fixture(scope="module")
async def hurtful(tables: Tables, dynoxide_url: str) -> Stores:
    """60 products of a group. ``g0`` has 151 languages, and ``g1`` has the longest comments."""
    stores = Stores(await tables.fresh(dynoxide_url))
    languages = [comment(f"l{n}", product_id="g0", language=f"l{n:05}") for n in range(150)]
    languages += [comment(f"d{n}", product_id="g0", language="de") for n in range(2)]
    photos = (Photo("https://a.example/1", "x" * 200),) * (MAX_PHOTOS + 1)
    long = [
        comment(
            f"t{n}",
            product_id="g1",
            text=LONGEST,
            photos=photos,
            reply=REPLY,
            aspects=tuple([AspectRating(name, 5) for name in SixAspects.names]),
        )
        for n in range(100)
    ]
    await put_comments(stores.comments, [*languages, *long])
    await stores.products.put_many({f"g{n}": ProductDetails(group="group") for n in range(60)})
    return stores


class SixAspects:
    """The aspects of a shop that has as many as possible."""

    names = tuple([f"aspect_{number}" for number in range(MAX_ASPECTS)])


REPLY = Reply("🦊" * 2_000, comment("any").created_at)


async def executed(schema: ExecutableSchema, stores: Stores, text: str) -> Any:
    """Return the result. The fixture ``compiled_at_once`` makes ``build_schema()`` compile."""
    context = Context(STAFF, stores, services={ShopAspects: SixAspects()})
    return await schema.execute(text, context_value=context, operation_extensions={"cost": True})


async def has_too_many_values(schema: ExecutableSchema, stores: Stores, text: str) -> None:
    answer = await executed(schema, stores, text)
    assert (codes(answer), answer.data) == (["QUERY_TOO_COSTLY"], None)
    assert "14,000 values" in answer.errors[0].message


def values_of(data: object) -> int:
    """Return the number of values in a result: fields, and further items of lists."""
    match data:
        case dict():
            return len(data) + sum(map(values_of, data.values()))
        case list():
            return max(0, len(data) - 1) + sum(map(values_of, data))
    return 0


class Drawn:
    """Random operations on products: aliases, nested groups, lists, languages, long texts."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def operation(self) -> str:
        ids = self._rng.choices(["g0", "g1", "g2", "other"], k=self._rng.choice((1, 2, 20, 100)))
        listed = ", ".join(f'"{one}"' for one in ids)
        return f"{{ products(productIds: [{listed}]) {{ {self._fields('product', 5)} }} }}"

    def _fields(self, of: str, depth: int) -> str:
        number = self._rng.choice((1, 1, 2, 3))
        return " ".join(self._field(of, depth, n) for n in range(number))

    def _field(self, of: str, depth: int, number: int) -> str:
        leaves, lists = _FIELDS[of]
        alias = f"a{number}: "
        if depth <= 0 or not lists or self._rng.random() < 0.3:
            return alias + self._rng.choice(leaves)
        head, below = self._rng.choice(lists)
        size = self._rng.choice((1, 5, 100))
        return f"{alias}{head.replace('SIZE', str(size))} {{ {self._fields(below, depth - 1)} }}"


_FIELDS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "product": (
        ["productId", "title", "isKnown"],
        [
            ("statistics", "statistics"),
            ("comments(first: SIZE)", "page"),
            *chain.from_iterable(added("PARTS_OF_PRODUCT")),
        ],
    ),
    **merged({}, "PARTS"),
    "statistics": (
        ["total", "languages { language count }", "histogram { rating }"],
        [('facets(language: ["xx", "de"])', "facets")],
    ),
    "facets": (["total", "languages { language selected }", "ratings { count }"], []),
    "page": (["jsonLd", "totalCount"], [("nodes", "comment"), ("edges", "edge")]),
    "edge": (["cursor"], [("node", "comment")]),
    "comment": (
        ["id", "text", "title", "jsonLd", "photos { url alt }", "aspects { name }"],
        [("product", "product")],
    ),
}


async def test_a_result_has_at_most_the_predicted_values(
    hurtful: Stores, each_schema: ExecutableSchema
) -> None:
    drawn, seen = Drawn(1), set[str]()
    for _ in range(OPERATIONS):
        text = drawn.operation()
        while len(re.findall(r"a\d: ", text)) > MAX_ALIASES:
            text = drawn.operation()
        answer = await executed(each_schema, hurtful, text)
        predicted = answer.extensions["cost"]["predicted"]["values"]
        assert set(codes(answer)) <= {"QUERY_TOO_COSTLY"}, text
        assert values_of(answer.data) <= predicted, text
        seen.add("data" if answer.data else "none")
    assert seen == {"data", "none"}


def aliased(field: str, times: int = 29) -> str:
    return " ".join(f"a{number}: {field}" for number in range(times))


def product(product_id: str, fields: str) -> str:
    return f'{{ product(productId: "{product_id}") {{ {fields} }} }}'


def written(product_id: str, fields: str) -> str:
    given = f'{{productId: "{product_id}", title: "T"}}'
    return f"mutation {{ updateProduct(input: {given}) {{ product {{ {fields} }} }} }}"


def products(product_id: str, times: int, fields: str) -> str:
    ids = f'"{product_id}" ' * times
    return f"{{ products(productIds: [{ids}]) {{ {fields} }} }}"


def page(fields: str) -> str:
    return f"comments(first: 100) {{ {fields} }}"


COMMENTS = '"Q29tbWVudDp0MQ==" ' * 100
TEXTS = page(f"nodes {{ {aliased('text', 3)} }}")
TOO_LONG = {
    "texts": product("g1", TEXTS),
    "texts of a payload": written("g1", TEXTS),
    "replies": product("g1", aliased(page("nodes { reply { text } }"))),
    "json-ld": product("g1", page(aliased("jsonLd"))),
    "json-ld of lists": product("g1", aliased(page("jsonLd"))),
    "json-ld of comments": product("g1", page(f"nodes {{ {aliased('jsonLd', 2)} }}")),
    "products": products("g1", 20, TEXTS),
    "nodes": f"{{ nodes(ids: [{COMMENTS}]) {{ ...f }} }} "
    f"fragment f on Comment {{ {aliased('text', 3)} }}",
    "long keys": products("g1", 20, page(f"nodes {{ {'k' * 10_000}: id }}")),
}


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG)
async def test_an_operation_ends_when_its_result_is_too_large(
    hurtful: Stores, each_schema: ExecutableSchema, text: str
) -> None:
    answer = await executed(each_schema, hurtful, text)
    assert (codes(answer), answer.data) == (["QUERY_TOO_COSTLY"], None)
    assert f"{MAX_RESPONSE:,} bytes" in answer.errors[0].message


async def test_a_result_that_is_too_large_takes_little_memory(hurtful: Stores) -> None:
    context = Context(None, hurtful)
    tracemalloc.start()
    try:
        answer = await SCHEMAS["plain"].execute(TOO_LONG["json-ld"], context_value=context)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes(answer) == ["QUERY_TOO_COSTLY"]
    assert most < 15 * MAX_RESPONSE


async def test_json_ld_is_built_once(
    hurtful: Stores, each_schema: ExecutableSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, script = list[dict[str, Any]](), json_ld._script

    def counted(facts: dict[str, Any]) -> str:
        built.append(facts)
        return script(facts)

    monkeypatch.setattr(json_ld, "_script", counted)
    fields = aliased("jsonLd", 9)
    comments = f"comments(first: 2) {{ {fields} nodes {{ {fields} }} }}"
    answer = await each_schema.execute(
        product("g0", comments), context_value=Context(None, hurtful)
    )
    assert answer.errors is None
    assert len(built) == 1 + 2


LANGUAGES = aliased("statistics { facets { languages { language count } } }")
TOO_MANY = {
    "languages": products("g0", 20, LANGUAGES),
}


@pytest.mark.parametrize("text", TOO_MANY.values(), ids=TOO_MANY)
async def test_an_operation_ends_when_its_result_has_too_many_values(
    hurtful: Stores, each_schema: ExecutableSchema, text: str
) -> None:
    await has_too_many_values(each_schema, hurtful, text)


async def test_statistics_list_the_most_frequent_languages(
    hurtful: Stores, each_schema: ExecutableSchema
) -> None:
    text = 'statistics { total languages { language } facets(language: ["xx"]) {'
    text += " languages { language } } }"
    answer = await executed(each_schema, hurtful, product("g0", text))
    statistics = answer.data["product"]["statistics"]
    languages = [one["language"] for one in statistics["languages"]]
    listed = [one["language"] for one in statistics["facets"]["languages"]]
    assert statistics["total"] == 152
    assert languages == ["de", *(f"l{n:05}" for n in range(MAX_LANGUAGES - 1))]
    assert listed == [*languages, "xx"]


def lists() -> Iterator[str]:
    for type_ in SCHEMAS["plain"]._schema.type_map.values():
        if is_object_type(type_) and not type_.name.startswith("__"):
            for name, field in type_.fields.items():
                if is_list_type(get_nullable_type(field.type)):
                    yield f"{type_.name}.{name}"


def test_every_list_of_objects_has_a_predicted_length() -> None:
    """Lists without an entry have a few texts, or an item for each wrong value of the input."""
    facts = SCHEMAS["plain"].facts
    reads = facts.reads
    others = {
        one
        for one in lists()
        if not one.endswith(".userErrors") and (one not in reads or reads[one].rows is None)
    }
    assert others - facts.sized.keys() == {
        "UserError.field",
        *chain.from_iterable(added("LISTS_BY_INPUT")),
    }


def test_the_texts_of_small_and_of_too_large_results_are_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Measuring the bytes of a page's JSON-LD takes milliseconds, and 29 aliases may return it."""
    measured = list[str]()

    def noted(text: str) -> int:
        measured.append(text)
        return bytes_of(text)

    monkeypatch.setattr(answer_size, "bytes_of", noted)
    answer = AnswerSize(most_bytes=SMALL + 5)
    answer.add_text("🦊" * SMALL)
    answer.add_text("🦊")
    for _ in range(2):
        with pytest.raises(AnswerTooLargeError):
            answer.add_text("🦊🦊")
    assert measured == ["🦊"]
