"""Products by words of their titles: pages compared with the oracle, even while titles change."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.dynamodb.table import Table
from dal.entities.product import PRODUCT_DETAILS
from dal.model import ProductDetails
from dal.model.folding import fold
from dal.model.titles import MAX_KEYS, TITLE_LENGTH, fold_prefix, fold_title
from dal.query.pagination import Slice
from dal.repositories.products import ProductRepository
from dal.stores import Stores
from dal.table.key_parts import LAST_CHARACTER, escape
from dal.writes.overwrite import Outcome
from tests import oracle
from tests.calls import calls_of
from tests.strategies import FEW

LONG = "Red " + "x" * TITLE_LENGTH
TITLES = {
    **{f"tie/{number:02}": "Red kettle" for number in range(9)},
    "1": "Red",
    "2": "RED  KETTLE",
    "3": "\N{FULLWIDTH LATIN SMALL LETTER R}ed\tkettle ",
    "4": "Red!",
    "5": "Red#1",
    "6": "Redder",
    "7": "Réd",
    "8": "Blue kettle",
    "9": "#1 kettle",
    "a": "Straße",
    "b": "STRASSE 2",
    "c": f"red{LAST_CHARACTER}dish",
    "d": "😀 kettle",
    "e": LONG + "1",
    "f": LONG + "0",
    "g": "",
    "h": "\u0130stanbul cup",
    "i": "Copper kettle",
    "j": "kettle copper kettle",
    "k": "a ab abc e\u0301 \u00e9 r 1 red 2 b c redder d",
    "l": "red Red RED",
    "m": "Red-hot kettle, red 😀 ked",
    "n": LONG + " " + LONG + "2 kettle",
}
TEXTS = [
    "r",
    "RED",
    "red ",
    "red k",
    "Red kettle",
    "strass",
    "re\u0301",
    "#",
    "😀",
    LONG,
    "zz",
    "istanbul",
    "I\u0307STANBUL C",
    "k",
    "kettle ",
    "copper ket",
    "hot",
    "e\u0301",
    "x",
    "a",
    "d",
]


WORD = re.compile("[^\\W_](?:[^\\W_]|[\u0300-\u036f])*|(?<![^ ])😀[😀\u0300-\u036f]*")


def beginnings(title: str) -> list[str]:
    """Return the words of a title with single spaces, from each different word on."""
    folded = " ".join(fold(title.replace(LAST_CHARACTER, "")).split())
    words = WORD.findall(folded) or [folded]
    starts = {word: number for number, word in reversed(list(enumerate(words)))}
    texts = [" ".join(words[number:]) for number in sorted(starts.values())]
    cut = [text[:TITLE_LENGTH].rstrip() for text in texts if text]
    return list(dict.fromkeys(cut))[:MAX_KEYS]


def positions(titles: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the position in a search of each product that it finds, in order."""
    start, found = fold_prefix(text), dict[str, str]()
    for one, title in titles.items():
        if matching := [key for key in beginnings(title) if key.startswith(start)]:
            found[f"{min(matching)}\t{escape(one)}"] = one
    return dict(sorted(found.items()))


def listed(titles: Mapping[str, str], text: str) -> list[str]:
    """Return the products that a search finds, in order."""
    return [*positions(titles, text).values()]


async def ids(products: ProductRepository, text: str, size: int, *, backward: bool) -> list[str]:
    read = partial(products.search, text)
    found = await oracle.walk_pages(read, size, backward=backward)
    return [one.product_id for one in found]


@pytest.fixture
async def products(each_table: Table) -> ProductRepository:
    products = Stores(each_table).products
    details = {one: ProductDetails(title, url=f"/{number}") for number, (one, title) in ITEMS}
    assert await products.put_many(details) == Outcome(new=len(TITLES))
    assert await products.put_many(details) == Outcome(unchanged=len(TITLES))
    return products


ITEMS = list(enumerate(TITLES.items()))


async def test_pages_equal_the_oracles(products: ProductRepository) -> None:
    for number, text in enumerate(TEXTS):
        for size in (1 + number % 4, 100):
            for backward in (False, True):
                found = await ids(products, text, size, backward=backward)
                assert found == listed(TITLES, text)
    assert listed(TITLES, "red ")[:4] == ["5", "k", "m", "2"]
    assert listed(TITLES, "Red")[0] == "1"
    assert listed(TITLES, "istanbul") == listed(TITLES, "Istanbul ") == ["h"]
    page = await products.search("redder", Slice(1))
    assert [(one.product_id, one.details) for one in page.nodes] == [
        ("6", ProductDetails("Redder", url="/14"))
    ]


async def test_a_product_is_found_by_the_beginning_of_each_word(each_table: Table) -> None:
    products = Stores(each_table).products
    await products.put_many({"1": ProductDetails("Copper kettle, 1.7 l")})
    await products.update("2", {"title": "Kettle for Kettle lovers"})
    for text in ("copper", "COPPER KET", "copper kettle 1", "1.7", "1.7 L"):
        assert await ids(products, text, 1, backward=False) == ["1"], text
    for text in ("k", "kettle", "Kettle "):
        assert await ids(products, text, 1, backward=False) == ["1", "2"], text
        assert await ids(products, text, 1, backward=True) == ["1", "2"], text
    for text in ("kettle 1.7", "kettle, 1", "(copper) kettle 1."):
        assert await ids(products, text, 1, backward=False) == ["1"], text
    for text in ("opper", "copper 1.7", "7 l"):
        assert await ids(products, text, 1, backward=False) == [], text
    await products.update("1", {"title": "Steel pan"})
    await products.update("2", {"title": ""})
    assert await ids(products, "k", 1, backward=False) == []
    assert await ids(products, "pan", 1, backward=False) == ["1"]


async def test_a_page_of_a_search_is_one_query_of_one_range(table: Table) -> None:
    products = Stores(table).products
    await products.put_many({"1": ProductDetails("Red kettle"), "2": ProductDetails("Red#")})
    calls = calls_of(table)
    page = await products.search("Red", Slice(1, next_page=True))
    assert (len(page.nodes), page.page_info.has_next_page) == (1, True)
    ((values, name),) = (
        (one["ExpressionAttributeValues"], one["IndexName"]) for one in calls.queries
    )
    assert name == "GSI1"
    assert values == {
        ":p": {"S": "TITLE#r"},
        ":l": {"S": "red"},
        ":h": {"S": f"red{LAST_CHARACTER}"},
    }
    assert page.stats.consumed_capacity == 0.5
    assert len(calls) == 1


titles = (
    st.text("aAäÄ\u0308 \t#ßsﬁ😀", max_size=4)
    | st.lists(st.text("aA\u0308-ﬁ😀1", max_size=2), max_size=14).map(" ".join)
    | st.sampled_from(list(TITLES.values()))
)
changes = st.tuples(st.sampled_from(["p", "p/1", "p#1", "q", "é"]), titles)


@FEW
@given(
    st.lists(changes, max_size=12),
    titles.filter(fold_title),
    st.integers(1, 3),
    st.booleans(),
    st.lists(changes, max_size=8),
)
async def test_each_page_is_exact_while_titles_are_set_changed_and_removed(
    table: Table,
    stored: list[tuple[str, str]],
    text: str,
    size: int,
    backward: bool,
    changed: list[tuple[str, str]],
) -> None:
    """Between two pages, even the cursor's own product may get another title or none."""
    products, held = Stores(table).products, dict.fromkeys(["p", "p/1", "p#1", "q", "é"], "")
    for product_id, title in [*held.items(), *stored]:
        await products.update(product_id, {"title": title})
        held[product_id] = title
    end: str | None = None
    while True:
        cut = oracle.next_cut(size, end, backward=backward)
        places = [*positions(held, text)]
        # `page_of` expects descending positions
        shown, follows, precedes = oracle.page_of(places[::-1], replace(cut, reverse=True))
        page = await products.search(text, cut)
        assert [edge.position for edge in page.edges] == shown
        info = page.page_info
        assert (info.has_next_page, info.has_previous_page) == (follows, precedes)
        if not shown:
            break
        end = shown[0 if backward else -1]
        for product_id, title in changed[:2]:
            await products.update(product_id, {"title": title})
            held[product_id] = title
        del changed[:2]


async def test_a_load_adds_the_keys_that_older_products_lack(each_table: Table) -> None:
    products, details = Stores(each_table).products, {"1": ProductDetails("Red kettle")}
    item = PRODUCT_DETAILS.encode(("1", details["1"]))
    older = {name: value for name, value in item.items() if not name.startswith("GSI1")}
    assert len(older) == len(item) - 2
    await each_table.put_many([older])
    assert await ids(products, "red", 1, backward=False) == []
    assert await products.put_many(details) == Outcome(changed=1)
    assert await ids(products, "red", 1, backward=False) == ["1"]
    await products.update("1", {"title": ""})
    assert await ids(products, "red", 1, backward=False) == []
