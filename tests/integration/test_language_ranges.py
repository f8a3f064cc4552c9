"""Lists by ranges of languages: pages equal the oracle's, and their costs are known."""

import random
import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dal.catalogue import Order
from dal.dynamodb.account import Account
from dal.dynamodb.table import Table
from dal.model import RATINGS, Comment
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from dal.stores import Stores
from tests import oracle
from tests.engines import SECOND_IN_SOAK
from tests.putting import put_comments
from tests.strategies import FEW, comment


def tagged(rows: Sequence[Comment], *, seed: int) -> list[Comment]:
    """Return comments with random tags. Some tags are frequent, others are rare."""
    chance = random.Random(seed)
    few = chance.sample(oracle.TAGS, 12)
    return [one._replace(language=chance.choices(few, range(12, 0, -1))[0]) for one in rows]


@FEW
@SECOND_IN_SOAK
@given(
    asked=st.sets(oracle.tags, min_size=1, max_size=4).map(frozenset),
    ratings=st.none() | st.sets(st.sampled_from(RATINGS), min_size=1).map(frozenset),
    added=st.lists(st.lists(oracle.tags, max_size=3), max_size=4),
    size=st.integers(1, 7),
    backward=st.booleans(),
    remembers=st.booleans(),
    order=st.sampled_from([None, None, *Order]),
    seed=st.integers(0, 10**9),
)
async def test_pages_of_any_ranges_equal_the_oracles_while_new_tags_arrive(
    each_table: Table,
    asked: frozenset[str],
    ratings: frozenset[int] | None,
    added: list[list[str]],
    size: int,
    *,
    backward: bool,
    remembers: bool,
    order: Order | None,
    seed: int,
) -> None:
    """The next page contains a new tag's comment. No read of statistics has seen the tag."""
    stores, product = Stores(each_table), uuid.uuid4().hex
    store = stores.comments
    live = tagged(oracle.make_comments(product, 40, seed=seed), seed=seed)
    await put_comments(store, live)
    selection = Selection(product, ratings, asked, order=order)
    if remembers:
        await oracle.walk(store, Selection(product), 20, backward=False)
    pending, position = list(added), None
    while True:
        cut = oracle.next_cut(size, position, backward=backward)
        page = await store.page(selection, cut)
        assert page.nodes == oracle.page(live, selection, cut)
        assert await store.total(selection) == len(oracle.selected(live, selection))
        info = page.page_info
        if page.edges:
            position = page.edges[0 if backward else -1].position
        if not (info.has_previous_page if backward else info.has_next_page):
            break
        for tag in pending.pop(0) if pending else []:
            of = live[len(live) // 2]
            new = of._replace(comment_id=f"{product}/new{len(live)}", language=tag)
            await Stores(each_table).comments.add(new)  # another process, whose caches are empty
            live.append(new)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
async def test_walks_of_each_range_equal_the_oracles(each_table: Table, *, backward: bool) -> None:
    rows = [
        one._replace(language=tag)
        for one, tag in zip(
            oracle.make_comments("42", 3 * len(oracle.TAGS), seed=1), 3 * oracle.TAGS, strict=True
        )
    ]
    store = Stores(each_table).comments
    await put_comments(store, rows)
    for asked in [{tag} for tag in oracle.TAGS] + [{"zh-Hant", "en-GB"}, {"nb", "zh-Hant-TW"}]:
        for ratings in (None, frozenset({5}), frozenset({1, 3})):
            selection = Selection("42", ratings, frozenset(asked))
            found = await oracle.walk(store, selection, 4, backward=backward)
            assert found == oracle.selected(rows, selection), asked


ONE_TAG = ("en", "de", "fr-FR", "zh-Hant-TW", "nb-NO") * 90
FIVE_REGIONS = tuple(f"en-{one}" for one in ("US", "GB", "AU", "CA", "IE")) * 90
AMONG_OTHERS = tuple(tag for region in FIVE_REGIONS for tag in (region, "de"))
ONE_PERCENT = tuple("en-US" if n % 100 else "en-GB" for n in range(2_500))


@pytest.mark.parametrize(
    ("tags", "asked", "ratings", "cost"),
    [
        (ONE_TAG, "en", None, ("byLang", 1, 1.5)),
        (ONE_TAG, "en", {5}, ("byLangAndRating", 1, 1.5)),
        (ONE_TAG, "fr-FR", None, ("byLocale", 1, 1.5)),
        (ONE_TAG, "fr-FR", {5}, ("byLangAndRating", 1, 1.5)),
        (ONE_TAG, "fr", {5}, ("byLangAndRating", 1, 1.5)),
        (ONE_TAG, "zh-Hant-TW", None, ("byLocale", 1, 1.5)),
        (ONE_TAG, "zh-Hant-TW", {5}, ("byLangAndRating", 1, 1.5)),
        (ONE_TAG, "no-NO", None, ("byLang", 1, 1.5)),
        (FIVE_REGIONS, "en", None, ("byLang", 1, 1.5)),
        (FIVE_REGIONS, "en-GB", None, ("byLocale", 1, 1.5)),
        (AMONG_OTHERS, "en", None, ("byLang", 1, 1.5)),
        (AMONG_OTHERS, "en", {5}, ("byLangAndRating", 1, 1.5)),
        (ONE_PERCENT, "en", None, ("byLang", 1, 1.5)),
        (ONE_PERCENT, "en-GB", None, ("byLocale", 1, 1.5)),
    ],
)
async def test_a_page_of_a_range_costs_as_much_as_a_page_of_one_tag(
    table: Table,
    tags: Sequence[str],
    asked: str,
    ratings: Collection[int] | None,
    cost: tuple[str, int, float],
) -> None:
    """Each page has 20 rows of about 0.5 kB, so their capacity is 1.5 RCU in one partition."""
    rows = [
        comment(
            f"{n}",
            language=tag,
            rating=5 if n // 15 % 2 else 1,
            text="x" * 400,
            created_at=oracle.START + timedelta(hours=n),
        )
        for n, tag in enumerate(tags)
    ]
    await put_comments(Stores(table).comments, rows)
    selection = Selection("42", None if ratings is None else frozenset(ratings), frozenset({asked}))
    with Account() as account:
        page = await Stores(table).comments.page(selection, Slice(limit=20))
    assert page.nodes == oracle.page(rows, selection, Slice(limit=20))
    assert (page.stats.index, account.requests, account.rcu) == cost


async def test_statistics_are_read_when_a_page_drops_rows_of_many_regions(table: Table) -> None:
    """The first rows are of other regions, so the counts find a better plan for the rest."""
    rows = [
        comment(
            f"{n}",
            language=tag,
            rating=5,
            text="x" * 400,
            created_at=oracle.START + timedelta(hours=n),
        )
        for n, tag in enumerate(("en-GB",) * 30 + ("en-US",) * 2_000)
    ]
    await put_comments(Stores(table).comments, rows)
    selection = Selection("42", frozenset({5}), frozenset({"en-GB"}))
    comments = Stores(table).comments
    with Account() as account:
        page = await comments.page(selection, Slice(limit=20))
    assert page.nodes == oracle.page(rows, selection, Slice(limit=20))
    read = [(one.partition_key, one.items_read) for one in page.stats.segments]
    assert read == [("PRODUCT#42/en/5", 40), ("PRODUCT#42/en-GB", 26)]
    assert (account.requests, account.rcu) == (5, 6.5)
    with Account() as account:
        page = await comments.page(selection, Slice(limit=20))
    assert page.nodes == oracle.page(rows, selection, Slice(limit=20))
    assert (page.stats.index, account.requests, account.rcu) == ("byLocale", 1, 1.5)


async def test_a_tag_with_a_region_costs_one_more_wcu(table: Table) -> None:
    store = Stores(table).comments
    costs = []
    for tag in ("en", "en-GB", "zh-Hant-TW"):
        with Account() as account:
            await store.add(comment(tag, language=tag))
        costs.append(account.wcu)
    assert [one - costs[0] for one in costs] == [0, 1, 1]
