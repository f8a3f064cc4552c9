"""A field's arguments become a slice and a selection. A page computes only the selected flags."""

import pytest

from dal.query.cursors import CursorKind, encode_cursor
from dal.query.errors import InvalidCursorError
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.table.errors import InvalidArgumentError
from resolvers.selection import plain_slice
from tests.resolvers.recording import ask

POSITION = "2020-02-27T00:00:00.000000Z#1"
CURSOR = encode_cursor(POSITION)


@pytest.mark.parametrize(
    ("first", "after", "last", "before", "cut"),
    [
        (None, None, None, None, Slice(20)),
        (0, None, None, None, Slice(0)),
        (100, None, None, None, Slice(100)),
        (7, CURSOR, None, None, Slice(7, after=POSITION)),
        (None, None, 7, CURSOR, Slice(7, backward=True, before=POSITION)),
        (None, None, 0, None, Slice(0, backward=True)),
        (None, CURSOR, None, CURSOR, Slice(20, after=POSITION, before=POSITION)),
        (None, CURSOR, 3, None, Slice(3, backward=True, after=POSITION)),
        (3, None, None, CURSOR, Slice(3, before=POSITION)),
    ],
)
def test_the_four_arguments_of_relay_become_a_slice(
    first: int | None, after: str | None, last: int | None, before: str | None, cut: Slice
) -> None:
    assert plain_slice(first, after, last, before) == cut


@pytest.mark.parametrize(
    ("first", "last", "argument"),
    [
        (-1, None, "first"),
        (101, None, "first"),
        (None, -1, "last"),
        (None, 2**31 - 1, "last"),
        (1, 1, "last"),
        (0, 0, "last"),
    ],
)
def test_an_invalid_size_is_refused_with_the_name_of_the_argument(
    first: int | None, last: int | None, argument: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        plain_slice(first, None, last, None)
    assert caught.value.argument == argument


@pytest.mark.parametrize("position", ["Red\t1", " red\t1", "red \t1", "r" * 101 + "\t1", "a\tb\t1"])
def test_the_cursor_of_a_title_that_no_key_contains_is_refused(position: str) -> None:
    with pytest.raises(InvalidCursorError, match=r"^after: "):
        plain_slice(1, encode_cursor(position), None, None, kind=CursorKind.TEXT)


@pytest.mark.parametrize("argument", ["after", "before"])
@pytest.mark.parametrize("cursor", ["", "nonsense", CURSOR[:-1], CURSOR + "=", "é", "\ud800"])
def test_the_error_of_a_bad_cursor_has_the_name_of_the_argument(argument: str, cursor: str) -> None:
    after, before = (cursor, None) if argument == "after" else (None, cursor)
    with pytest.raises(InvalidCursorError, match=f"^{argument}: "):
        plain_slice(None, after, None, before)


@pytest.mark.parametrize(
    ("arguments", "selection"),
    [
        ("", Selection("42")),
        ("rating: null, language: null", Selection("42")),
        ("rating: []", Selection("42", frozenset())),
        ("language: []", Selection("42", None, frozenset())),
        ("rating: 5", Selection("42", frozenset({5}))),
        ("rating: [1, 2, 1]", Selection("42", frozenset({1, 2}))),
        ('language: "EN-us"', Selection("42", None, frozenset({"en-US"}))),
        ('language: ["EN", "en"]', Selection("42", None, frozenset({"en"}))),
    ],
)
async def test_filters_are_passed_to_the_repository_in_canonical_form(
    arguments: str, selection: Selection
) -> None:
    field = f"comments({arguments})" if arguments else "comments"
    ((asked, _),), errors = await ask(
        f'{{ product(productId: "42") {{ {field} {{ nodes {{ id }} }} }} }}'
    )
    assert errors == []
    assert asked == selection


@pytest.mark.parametrize(
    ("arguments", "code", "argument"),
    [
        ("first: -1", "BAD_ARGUMENT", "first"),
        ("last: 101", "BAD_ARGUMENT", "last"),
        ("first: 1, last: 1", "BAD_ARGUMENT", "last"),
        ("rating: 6", "BAD_ARGUMENT", "rating"),
        ('language: "english"', "BAD_ARGUMENT", "language"),
        ('after: "nonsense"', "BAD_CURSOR", None),
        ('before: ""', "BAD_CURSOR", None),
    ],
)
async def test_a_bad_argument_has_a_code_and_nothing_is_read(
    arguments: str, code: str, argument: str | None
) -> None:
    asked, (error,) = await ask(
        f'{{ product(productId: "42") {{ comments({arguments}) {{ nodes {{ id }} }} }} }}'
    )
    assert asked == []
    assert error["extensions"]["code"] == code
    assert error["extensions"].get("argument") == argument


async def test_cursors_are_passed_to_the_repository_as_positions() -> None:
    ((_, cut),), errors = await ask(
        """query Q($cursor: String) { product(productId: "42") {
            comments(last: 3, after: $cursor, before: $cursor) { nodes { id } } } }""",
        cursor=CURSOR,
    )
    assert errors == []
    assert cut == Slice(3, backward=True, after=POSITION, before=POSITION)


# Selected fields of a page: (hasNextPage is computed, hasPreviousPage is computed)
CASES = {
    "edges { cursor }": (False, False),
    "nodes { commentId }": (False, False),
    "pageInfo { startCursor endCursor }": (False, False),
    "pageInfo { hasNextPage }": (True, False),
    "pageInfo { hasPreviousPage }": (False, True),
    "pageInfo { hasNextPage hasPreviousPage }": (True, True),
    "info: pageInfo { more: hasNextPage }": (True, False),
    "a: pageInfo { hasNextPage } b: pageInfo { hasPreviousPage }": (True, True),
    "pageInfo { startCursor } pageInfo { hasNextPage }": (True, False),
    "pageInfo { __typename } edges { node { product { comments { nodes { id } } } } }": (
        False,
        False,
    ),
    "... { pageInfo { hasNextPage } }": (True, False),
    "... on CommentConnection { pageInfo { ... on PageInfo { hasPreviousPage } } }": (False, True),
    "... Both": (True, True),
    "... Page": (True, False),
    "pageInfo { ... Flag }": (True, False),
    "pageInfo @include(if: true) { hasNextPage }": (True, False),
    "pageInfo { hasNextPage @include(if: $yes) }": (True, False),
    "... @skip(if: false) { pageInfo { hasPreviousPage } }": (False, True),
    "pageInfo { hasNextPage @skip(if: true) startCursor }": (True, False),  # a needless yes
}

FRAGMENTS = """
fragment Both on CommentConnection { ... Page pageInfo { hasPreviousPage } }
fragment Page on CommentConnection { pageInfo { ... Flag } }
fragment Flag on PageInfo { hasNextPage }
"""


def used(body: str) -> str:
    """Return only the fragments that ``body`` uses, because GraphQL refuses unused fragments."""
    parts = [f"fragment{part}" for part in FRAGMENTS.split("fragment") if part.strip()]
    named = {"Both": parts, "Page": parts[1:], "Flag": parts[2:]}
    return next(("".join(named[name]) for name in named if f"... {name}" in body), "")


@pytest.mark.parametrize(("body", "flags"), CASES.items(), ids=CASES)
async def test_a_flag_is_computed_only_if_the_request_selects_it(
    body: str, flags: tuple[bool, bool]
) -> None:
    operation = f"""query Q($yes: Boolean = true) {{
        product(productId: "42") {{ comments {{ nodes @include(if: $yes) {{ id }} {body} }} }}
    }} {used(body)}"""
    ((_, cut),), errors = await ask(operation)
    assert errors == []
    assert (cut.next_page, cut.previous_page) == flags


async def test_the_selections_of_each_connection_are_separate() -> None:
    asked, errors = await ask("""{
        product(productId: "42") {
            plain: comments { nodes { id } }
            next: comments { pageInfo { hasNextPage } }
            previous: comments { pageInfo { hasPreviousPage } }
        }
        other: product(productId: "43") { comments { nodes { id } } }
    }""")
    assert errors == []
    flags = [(selection.product_id, cut.next_page, cut.previous_page) for selection, cut in asked]
    assert sorted(flags) == [
        ("42", False, False),
        ("42", False, True),
        ("42", True, False),
        ("43", False, False),
    ]


async def test_all_merged_selections_of_a_field_are_considered() -> None:
    ((_, cut),), errors = await ask("""{
        product(productId: "42") { comments { nodes { id } } }
        product(productId: "42") { comments { pageInfo { hasNextPage } } }
    }""")
    assert errors == []
    assert (cut.next_page, cut.previous_page) == (True, False)
