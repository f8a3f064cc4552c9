import pytest

from tests.resolvers.recording import ask

# what is selected of a product's comments -> hasNextPage asked for, hasPreviousPage asked for
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
    """Return the fragments that ``body`` spreads: GraphQL refuses unused ones."""
    parts = [f"fragment{part}" for part in FRAGMENTS.split("fragment") if part.strip()]
    named = {"Both": parts, "Page": parts[1:], "Flag": parts[2:]}
    return next(("".join(named[name]) for name in named if f"... {name}" in body), "")


@pytest.mark.parametrize(("body", "flags"), CASES.items(), ids=CASES)
async def test_a_flag_is_computed_when_the_request_selects_it(
    body: str, flags: tuple[bool, bool]
) -> None:
    operation = f"""query Q($yes: Boolean = true) {{
        product(productId: "42") {{ comments {{ nodes @include(if: $yes) {{ id }} {body} }} }}
    }} {used(body)}"""
    ((_, cut),), errors = await ask(operation)
    assert errors == []
    assert (cut.next_page, cut.previous_page) == flags


async def test_each_connection_of_a_request_is_looked_at_alone() -> None:
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


async def test_selections_of_one_field_that_are_merged_all_count() -> None:
    ((_, cut),), errors = await ask("""{
        product(productId: "42") { comments { nodes { id } } }
        product(productId: "42") { comments { pageInfo { hasNextPage } } }
    }""")
    assert errors == []
    assert (cut.next_page, cut.previous_page) == (True, False)
