"""The content of the demo's files, and their load at a server's first start."""

from collections import Counter
from datetime import UTC, datetime, time

import pytest

from dal.composition import KINDS
from dal.dynamodb.scan import scan_all
from dal.dynamodb.table import Table
from dal.kinds.item_kind import kind_of
from dal.model import (
    Comment,
    CommentSource,
    OrderStatus,
    OrganizationUser,
    TicketStatus,
    UserType,
    rules,
)
from dal.query.pagination import Slice
from dal.repositories.orders import OrderSelection
from dal.stores import Stores
from dal.table.items import Item
from features.demo.demo_data import COMMENTS, demo_comments, demo_rows, read_demo
from features.loading import kind as loading
from features.loading.loaded import loaded
from features.moderation.kind import CASE_FILE, DECISIONS, REPORTS
from features.votes.kind import FILE as VOTE_FILE
from features.votes.kind import KIND as VOTES
from server.auth.authenticator import DEMO_USER
from tests.engines import ROOT
from tests.features.demo.loads import demo_load
from tests.verifying import verify

LANGUAGES = ("en", "de", "fr", "es", "ja", "ar")


@pytest.fixture(scope="module")
def made() -> list[Comment]:
    return demo_comments()


@pytest.fixture
def some(made: list[Comment], monkeypatch: pytest.MonkeyPatch) -> list[Comment]:
    """An eighth of the comments, for a shorter load."""
    some = made[::8]
    monkeypatch.setattr("features.demo.demo_data.demo_rows", lambda: some)
    return some


def ignore(comment: object) -> None:
    """Permit every user to delete a comment."""


def ignore_progress(written: int, total: int) -> None:
    """Show no progress."""


def test_products_differ_in_size_and_languages_in_frequency(made: list[Comment]) -> None:
    sizes = Counter(comment.product_id for comment in made)
    assert [sizes[one] for one in "123456789"] == [1600, 1060, 800, 550, 450, 300, 188, 12, 40]
    assert {comment.rating for comment in made if comment.product_id == "7"} == {1, 5}
    shares = Counter(comment.language for comment in made)
    assert tuple(language for language, _ in shares.most_common()) == LANGUAGES
    assert len(made) == 5_000
    rows = list(map(loaded, demo_rows()))
    assert len({row.comment.comment_id for row in rows}) == len(rows) == COMMENTS
    assert [product for product, _ in read_demo(loading.PRODUCTS)] == list("123456789")


def test_the_first_page_of_each_product_has_a_reply_and_votes(made: list[Comment]) -> None:
    newest_first = sorted(made, key=lambda one: one.created_at, reverse=True)
    for product in "123456789":
        page = [one for one in newest_first if one.product_id == product][:20]
        assert any(one.reply for one in page)
        assert any(one.votes_before for one in page)
    replied = [one for one in made if one.reply]
    assert all(one.reply and one.created_at < one.reply.created_at for one in replied)
    assert {one.language for one in replied} == {*LANGUAGES}


def test_a_few_comments_are_imported_and_a_few_have_an_incentive(made: list[Comment]) -> None:
    for few in (
        [one for one in made if one.source is not CommentSource.SITE],
        [one for one in made if one.incentive],
        [one for one in made if one.incentive == ""],
    ):
        assert 20 < len(few) < len(made) / 30


def test_few_comments_have_many_votes_and_most_have_none(made: list[Comment]) -> None:
    votes = sorted((one.votes_before for one in made), reverse=True)
    assert votes[0] > 100
    assert votes.index(0) < len(made) / 5
    assert sum(votes[:50]) > sum(votes) / 3


def test_many_comments_of_a_product_have_the_same_time(made: list[Comment]) -> None:
    instants = Counter((comment.product_id, comment.created_at) for comment in made)
    assert sum(count for count in instants.values() if count > 1) > 1_000
    shared = [instant for (_, instant), count in instants.items() if count > 1]
    assert all(instant.time() == time.min for instant in shared)
    assert any(comment.created_at.microsecond for comment in made)
    assert datetime(2022, 1, 1, tzinfo=UTC) <= min(one.created_at for one in made)
    assert max(one.created_at for one in made) < datetime(2025, 1, 1, tzinfo=UTC)


def test_customers_received_the_products_of_their_verified_comments(made: list[Comment]) -> None:
    received = {
        (one.username, line.product_id, one.created_at)
        for one in read_demo(loading.ORDERS)
        if one.status is OrderStatus.DELIVERED
        for line in one.lines
    }
    customers = dict(read_demo(loading.PROFILES))
    assert DEMO_USER in customers
    for comment in made:
        if comment.verified_purchase and comment.username in customers:
            assert any(
                (user, product) == (comment.username, comment.product_id)
                and when < comment.created_at
                for user, product, when in received
            )


def test_orders_and_tickets_belong_to_customers_and_are_valid() -> None:
    orders, tickets = read_demo(loading.ORDERS), read_demo(loading.TICKETS)
    assert {one.status for one in orders} == set(OrderStatus)
    assert {one.username for one in orders} == set(dict(read_demo(loading.PROFILES)))
    for one in orders:
        assert rules.order_lines("lines", one.lines) == one.lines
    users = {
        (user.organization, user.username)
        for roster in read_demo(loading.ORGANIZATIONS)
        for user in roster.users
    }
    assert {(one.organization, one.username) for one in tickets} <= users
    assert {one.status for one in tickets} == set(TicketStatus)
    assert len({one.organization for one in tickets if one.username == DEMO_USER}) == 2


def test_the_photos_are_small_files_of_the_pages(made: list[Comment]) -> None:
    files = {one.url.removeprefix("/static/pages/") for comment in made for one in comment.photos}
    assert {one.product_id for one in made if one.photos} == {*"12345679"}
    sizes = [(ROOT / "pages/static" / name).stat().st_size for name in files]
    assert len(sizes) == 9
    assert sum(sizes) < 150_000


async def test_the_demo_data_is_loaded_once(table: Table, some: list[Comment]) -> None:
    stores = Stores(table)
    comments = stores.comments
    assert await demo_load(table).write(ignore_progress)
    stored = await comments.get_many([comment.comment_id for comment in some[:100]])
    assert stored == {comment.comment_id: comment for comment in some[:100]}
    assert await comments.get(some[-1].comment_id) == some[-1]
    await comments.delete(some[0].comment_id, ignore)
    assert not await demo_load(table).write(ignore_progress)
    assert await comments.get(some[0].comment_id) is None
    await _check_orders(stores, some)
    await _check_organizations(stores)


async def test_the_whole_load_fills_queues_counts_votes_and_groups_variants(table: Table) -> None:
    await demo_load(table).write(ignore_progress)
    stores = Stores(table)
    assert await verify(table, lambda *_: None) == []
    waiting = await stores.moderation.queue(Slice(100))
    assert len(waiting.nodes) == 8
    reported = await stores.reports.queue(Slice(100))
    assert len(reported.nodes) == len(read_demo(CASE_FILE))
    votes = Counter(one.comment_id for one in read_demo(VOTE_FILE))
    stored = await stores.comments.get_many(list(votes))
    assert {name: one.votes for name, one in stored.items()} == votes
    found = await stores.votes.highlights("1")
    assert found.most_helpful_positive is not None
    assert found.most_helpful_positive.helpful_count > 50
    groups = await stores.groups.get_many(["copper-kettle"])
    assert groups["copper-kettle"].product_ids == ("1", "9")


async def test_files_of_features_that_the_server_lacks_are_skipped(
    table: Table, some: list[Comment]
) -> None:
    core = [one for one in KINDS if one not in (REPORTS, DECISIONS, VOTES)]
    assert await demo_load(table, core).write(ignore_progress)
    found = Counter[str]()
    await scan_all(table, lambda *_: None, lambda items: found.update(map(_name, items)))
    assert found["comments"] == len(some)
    assert found["tickets"] == len(read_demo(loading.TICKETS))
    assert found["votes"] + found["reports"] + found["decisions"] == 0


def _name(item: Item) -> str:
    kind = kind_of(item, KINDS)
    assert kind is not None
    return kind.name


async def _check_orders(stores: Stores, some: list[Comment]) -> None:
    orders = read_demo(loading.ORDERS)
    placed = [one for one in orders if one.status is OrderStatus.PLACED]
    open_page = await stores.orders.open_page(Slice(100))
    assert {one.order_id for one in open_page.nodes} == {one.order_id for one in placed}
    mine = await stores.orders.page(OrderSelection("demo"), Slice(100))
    assert len(mine.edges) == sum(one.username == "demo" for one in orders) > 0
    profile = await stores.users.profile("demo")
    assert profile is not None
    assert profile.full_name == "Demo"
    customers = dict(read_demo(loading.PROFILES))
    verified = next(one for one in some if one.verified_purchase and one.username in customers)
    assert (await stores.standings.permission(verified.username, verified.product_id)).bought


async def _check_organizations(stores: Stores) -> None:
    for roster in read_demo(loading.ORGANIZATIONS):
        organization, page = await stores.organizations.with_users(
            roster.organization.name, Slice(100)
        )
        assert organization == roster.organization
        assert set(page.nodes) == set(roster.users)
    user, tickets = await stores.tickets.with_user("Harbour Tea Rooms", "demo", Slice(100))
    assert user == OrganizationUser("Harbour Tea Rooms", "demo", UserType.ADMIN)
    assert len(tickets.edges) == 25
