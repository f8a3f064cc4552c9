"""Small requests that would cost much are refused at once, with one sentence."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from graphql import (
    GraphQLError,
    Lexer,
    NoFragmentCyclesRule,
    Source,
    TokenKind,
    get_introspection_query,
    parse,
    validate,
)
from hypothesis import given
from hypothesis import strategies as st

from schema.build import build_schema
from schema.execution.documents import _UNIT, KEPT_BYTES, DocumentCache
from schema.execution.errors import MAX_ERRORS, MAX_MESSAGE
from schema.execution.selections import MAX_ALIASES, MAX_FIELDS, faults_of
from tests.schema.conftest import Run
from tests.steps import lines

SCHEMA = build_schema()
NAMES = [f"a{number}" for number in range(31)]


def doubling(last: str, *, of: str = "Query") -> str:
    """Return a kilobyte of fragments that spread the last one a billion times."""
    chain = [f"fragment {one} on {of}{{...{two} ...{two}}}" for one, two in pairwise(NAMES)]
    return "\n".join([f"{{...{NAMES[0]}}}", *chain, f"fragment {NAMES[-1]} on {of}{{{last}}}"])


def everyone(count: int) -> str:
    """Return fragments that each spread all others. Eleven have about a kilobyte."""
    names = [f"f{number}" for number in range(count)]
    spread = {one: " ".join(f"...{name}" for name in names if name != one) for one in names}
    return "{...f0}" + " ".join(f"fragment {one} on Query{{{spread[one]}}}" for one in names)


HURTFUL = {
    "fragments that all spread each other": everyone(11),
    "fragments that double what is not there": doubling("...nope"),
    "fragments that double what nothing spreads": "{__typename}"
    + doubling('product(productId:"1"){id}').partition("\n")[2],
    "fragments that double what is not there, spread by nothing": "{__typename}"
    + doubling("...nope").partition("\n")[2],
    "fragments of one name": "{...a} fragment a on Query{id} fragment a on Query{...a ...a}",
    "a string that never ends": '{product(productId:"' + '\\"' * 9_900,
    "a block string that never ends": '{product(productId:"""' + '\\"""' * 4_900,
    "fragments that double": doubling("__typename"),
    "fragments that double aliases": doubling("a:__typename"),
    "fragments that double fields": doubling('product(productId:"1"){id}'),
    "fragments in a circle": "{...a} fragment a on Query{...b ...b} fragment b on Query{...a ...a}",
    "no selection": "{}",
    "no selection below": "{__schema{}}",
    "a fragment that is not there": "{...nope}",
    "an operation without a body": "query",
    "nothing": " ",
    "a long integer": '{product(productId:"1"){comments(first:' + "1" * 4301 + "){nodes{id}}}}",
    "many long integers": "{"
    + " ".join(f"a:product(productId:{'9' * 4200}){{id}}" for _ in range(20))
    + "}",
    "many identical fields": "{" + 'product(productId:"1"){id} ' * 210 + "}",
    "many lists in fragments": "{"
    + " ".join(f"...f{n}" for n in range(20))
    + "}"
    + " ".join(
        f"fragment f{n} on Query{{{'product(productId:1){comments{nodes{id}}} ' * 7}}}"
        for n in range(20)
    ),
    "many fragments": "{__typename}"
    + " ".join(f"fragment f{n} on Query{{__typename}}" for n in range(100)),
    "many operations": " ".join(f"query q{n}{{__typename}}" for n in range(101)),
    "deep nesting": "{" + "a{" * 900 + "b" + "}" * 901,
    "deep lists": "{a(b:" + "[" * 900 + "]" * 900 + ")}",
    "a long chain of fragments": "{...f0}"
    + "".join(f"fragment f{n} on Query{{...f{n + 1}}}" for n in range(220)),
    "a long text": "#" * 900_000 + "\n{__typename}",
    "too many tokens": "{" + "a " * 3000 + "}",
}


MOST_LINES = 400_000
"""Maximum lines of Python code that the server executes to refuse a document."""


@pytest.mark.parametrize("document", HURTFUL.values(), ids=HURTFUL)
async def test_a_harmful_document_is_refused_in_linear_time(run: Run, document: str) -> None:
    with lines() as executed:
        answer = await run(document)
    assert executed.count < MOST_LINES
    assert answer["data"] is None
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"BAD_REQUEST"}
    assert len(str(answer)) < 10_000


async def test_introspection_is_within_the_limits(run: Run) -> None:
    assert (await run(get_introspection_query()))["errors"] == []


def test_documents_at_each_limit_are_allowed() -> None:
    aliases = " ".join(f"a{n}:x" for n in range(MAX_ALIASES))
    assert faults_of(parse(f"{{{aliases}}}")) == []
    assert "31 aliases" in faults_of(parse(f"{{{aliases} b:x}}"))[0].message
    fields = " ".join(f"f{n}" for n in range(MAX_FIELDS))
    assert faults_of(parse(f"{{{fields}}}")) == []
    assert "501 fields" in faults_of(parse(f"{{{fields} g}}"))[0].message
    deep = "a{" * 10 + "a" + "}" * 10
    assert faults_of(parse(f"{{{deep}}}")) == []
    assert "maximum depth of 10" in faults_of(parse(f"{{a{{{deep}}}}}"))[0].message


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=5), max_size=9))
def test_fragments_that_spread_themselves_are_refused_first(spread: list[list[str]]) -> None:
    """The message is that of graphql-core's rule, which would take longer."""
    text = "{...a __typename}"
    for name, inner in zip("abcdefghi", spread, strict=False):
        spreads = " ".join(f"...{one}" for one in inner)
        text += f" fragment {name} on Query{{__typename {spreads} p{{id {spreads}}}}}"
    document = parse(text)
    cyclic = bool(validate(SCHEMA._schema, document, [NoFragmentCyclesRule]))
    (first, *_) = [*faults_of(document), GraphQLError("")]
    assert ("spreads itself" in first.message) is cyclic


WORDS = "word " * 2_000


@pytest.mark.parametrize(
    "text",
    [
        get_introspection_query(),
        f'{{a(b: "{WORDS}")}}',
        f'{{a(b: """{WORDS} " \\""" {{ """)}}',
        '{a(b: "\\"{", c: $d, e: -1.5e3, f: [0]) @g {...h ... on I {j: k}}}',
    ],
)
def test_the_number_of_lexical_units_equals_the_parsers(text: str) -> None:
    lexer, units = Lexer(Source(text)), 0
    while lexer.advance().kind is not TokenKind.EOF:
        units += 1
    assert len(_UNIT.findall(text)) == units


async def test_of_several_operations_only_a_named_one_is_executed() -> None:
    """If the client wants the query, the mutation before it must not be executed."""
    document = 'mutation a{deleteComment(input:{id:"x"}){deletedId}} query b{__typename}'
    answer = await SCHEMA.execute(document)
    assert answer.data is None
    assert "operationName" in str(answer.errors)
    answer = await SCHEMA.execute(document, operation_name="b")
    assert (answer.data, answer.errors) == ({"__typename": "Query"}, None)


async def test_the_number_and_the_length_of_errors_are_limited(run: Run) -> None:
    unknown = " ".join(f"nothing{n}" for n in range(900))
    answer = await run(f"{{{unknown}}}")
    assert len(answer["errors"]) <= MAX_ERRORS
    huge = {"input": {"productId": "1", "rating": "x" * 900_000, "language": ["y"] * 50, "no": {}}}
    answer = await run(
        "mutation($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }",
        **huge,
    )
    assert answer["errors"]
    assert all(len(error["message"]) <= MAX_MESSAGE + 1 for error in answer["errors"])
    assert len(str(answer)) < 20_000


async def test_many_values_in_variables_are_refused_before_they_are_coerced(run: Run) -> None:
    tags = [f"x{number:05}" for number in range(30_000)]
    text = (
        'query($tags: [String!]) { product(productId: "1") { comments(language: $tags) {'
        " nodes { id } } } }"
    )
    (error,) = (await run(text, tags=tags))["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert "1,000 values" in error["message"]


@pytest.mark.parametrize("levels", [300, 990])
@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"a": one}])
async def test_deeply_nested_variables_are_refused(
    run: Run, levels: int, wrap: Callable[[object], object]
) -> None:
    nested: object = 1
    for _ in range(levels):
        nested = wrap(nested)
    text = 'query($r: [Int!]) { product(productId: "1") { comments(rating: $r) { nodes { id } } } }'
    (error,) = (await run(text, r=nested))["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"


async def test_the_last_error_shows_how_many_errors_are_not_listed(run: Run) -> None:
    ids = ["bad id"] * 60
    answer = await run("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=ids)
    assert len(answer["errors"]) == MAX_ERRORS + 1
    assert answer["errors"][-1]["message"].startswith("40 ")


def test_the_cache_of_documents_has_a_maximum_size_in_bytes() -> None:
    cache = DocumentCache(SCHEMA._schema, SCHEMA.facts)
    for number in range(60):
        cache.checked(f"{{ {'__typename ' * 900} }} # {number}")
    assert 0 < cache._kept.currsize <= KEPT_BYTES
    assert len(cache._kept) < 60
    assert cache.checked("{__typename}") is cache.checked("{__typename}")


@given(st.text('{}()[]:!$@.a1 \n"#', max_size=60))
def test_any_text_is_executed_or_is_a_bad_request(text: str) -> None:
    cache = DocumentCache(SCHEMA._schema, SCHEMA.facts)
    try:
        checked = cache.checked(text)
    except GraphQLError:
        return
    assert checked.errors or checked.operations
