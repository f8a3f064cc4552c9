import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, time

import pytest

from dal.errors import StoreUnavailableError
from dal.model import RATINGS, Comment, OrderStatus, OrganizationUser, TicketStatus, UserType, rules
from dal.query.pagination import Slice
from dal.repositories.comments import CommentRepository
from dal.repositories.orders import OrderSelection
from dal.repositories.outcome import Outcome
from dal.stores import Stores
from dal.table.client import Table
from server.demo import load_demo
from server.demo.comments import demo_comments
from server.demo.orders import demo_orders, demo_profiles
from server.demo.organizations import demo_rosters, demo_tickets
from server.demo.seeded_random import SeededRandom
from server.demo.texts import phrases
from tests.engines import ROOT

LANGUAGES = ("en", "de", "fr", "es", "ja", "ar")
PRODUCTS = tuple("12345678")


@pytest.fixture(scope="module")
def made() -> list[Comment]:
    return demo_comments()


@pytest.fixture
def some(made: list[Comment], monkeypatch: pytest.MonkeyPatch) -> list[Comment]:
    """A part of the comments, which loads as all of them do where a server shows the demo."""
    some = made[::8]
    monkeypatch.setattr("server.demo.demo_comments", lambda: some)
    return some


def ignore(comment: Comment) -> None:
    """Let anyone delete a comment."""


def unheard(written: int, total: int) -> None:
    """Do not ask how far it is."""


def test_it_is_the_same_in_every_process() -> None:
    program = (
        "import hashlib; from server.demo.comments import demo_comments;"
        "print(hashlib.sha256(repr(demo_comments()).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, zone in (("1", "Asia/Tokyo"), ("2", "America/Lima"))
    }
    assert digests == {hashlib.sha256(repr(demo_comments()).encode()).hexdigest()}


def test_products_differ_in_size_and_temper(made: list[Comment]) -> None:
    sizes = Counter(comment.product_id for comment in made)
    assert [sizes[one] for one in PRODUCTS] == [1600, 1100, 800, 550, 450, 300, 188, 12]
    assert {comment.rating for comment in made if comment.product_id == "7"} == {1, 5}
    for product in PRODUCTS[:6]:
        assert {one.rating for one in made if one.product_id == product} == set(RATINGS)


def test_languages_have_skewed_shares(made: list[Comment]) -> None:
    shares = Counter(comment.language for comment in made)
    assert tuple(language for language, _ in shares.most_common()) == LANGUAGES
    assert shares["en"] > 10 * shares["ar"] > 1_000


def test_many_comments_of_a_product_share_an_instant(made: list[Comment]) -> None:
    instants = Counter((comment.product_id, comment.created_at) for comment in made)
    assert sum(count for count in instants.values() if count > 1) > 1_000
    assert max(instants.values()) > 20
    shared = [instant for (_, instant), count in instants.items() if count > 1]
    assert all(instant.time() == time.min for instant in shared)


def test_dates_lie_in_three_fixed_years(made: list[Comment]) -> None:
    created = [comment.created_at for comment in made]
    assert datetime(2022, 1, 1, tzinfo=UTC) <= min(created)
    assert max(created) < datetime(2025, 1, 1, tzinfo=UTC)
    assert {instant.year for instant in created} == {2022, 2023, 2024}
    assert all(one.updated_at > one.created_at for one in made if one.updated_at)


def test_ids_are_unique_and_users_come_back(made: list[Comment]) -> None:
    assert len({comment.comment_id for comment in made}) == len(made) == 5_000
    assert 200 < len({comment.username for comment in made}) < 400


def test_every_comment_obeys_the_rules(made: list[Comment]) -> None:
    for comment in made:
        rules.identifier("id", comment.comment_id)
        rules.identifier("username", comment.username)
        rules.title("title", comment.title)
        rules.text("text", comment.text)
        assert rules.language("language", comment.language) == comment.language


def test_texts_vary_from_a_few_words_to_several_paragraphs(made: list[Comment]) -> None:
    lengths = [len(comment.text) for comment in made]
    assert min(lengths) < 15
    assert 150 < sum(lengths) / len(lengths) < 400
    assert max(lengths) > 500
    assert max(comment.text.count("\n\n") for comment in made) >= 3
    assert len({comment.text for comment in made}) > 3_000
    assert not any("{" in comment.text for comment in made)


@pytest.mark.parametrize(("rating", "absent"), [(1, "praise"), (5, "complaints")])
def test_texts_fit_their_rating(made: list[Comment], rating: int, absent: str) -> None:
    for comment in made:
        if comment.rating == rating:
            words = phrases(comment.language)
            points = words["praise"] if absent == "praise" else words["complaints"]
            assert not any(point in comment.text for point in points)


@pytest.mark.parametrize("language", LANGUAGES)
def test_phrases_are_complete(language: str) -> None:
    words = phrases(language)
    for by_rating in (words["titles"], words["short"]):
        assert sorted(by_rating) == [str(rating) for rating in RATINGS]
        assert all(len(set(texts)) >= 4 for texts in by_rating.values())
    for by_mood in (words["openings"], words["closings"]):
        assert sorted(by_mood) == ["bad", "good", "mixed"]
    assert sorted(words["products"]) == list(PRODUCTS)
    assert len(words["scenes"]) == 10
    assert len(set(words["usernames"])) == 20


def test_orders_are_the_same_each_time_and_obey_the_rules(made: list[Comment]) -> None:
    orders = demo_orders(made)
    assert orders == demo_orders(made)
    assert len({one.order_id for one in orders}) == len(orders)
    assert 150 < len(orders) < 600
    assert {one.status for one in orders} == set(OrderStatus)
    assert {one.username for one in orders} == set(demo_profiles())
    for one in orders:
        assert rules.order_lines("lines", one.lines) == one.lines
        assert len({line.product_id for line in one.lines}) == len(one.lines)


def test_customers_received_what_their_verified_comments_speak_of(made: list[Comment]) -> None:
    received = {
        (one.username, line.product_id, one.created_at)
        for one in demo_orders(made)
        if one.status is OrderStatus.DELIVERED
        for line in one.lines
    }
    for comment in made:
        if comment.verified_purchase and comment.username in demo_profiles():
            assert any(
                (user, product) == (comment.username, comment.product_id)
                and when < comment.created_at
                for user, product, when in received
            )


def test_organisations_and_tickets_are_the_same_each_time_and_obey_the_rules() -> None:
    rosters, tickets = demo_rosters(), demo_tickets()
    assert (rosters, tickets) == (demo_rosters(), demo_tickets())
    users = {(user.organization, user.username) for roster in rosters for user in roster.users}
    assert len(users) == sum(len(roster.users) for roster in rosters) == 21
    assert {(one.organization, one.username) for one in tickets} <= users
    assert {one.status for one in tickets} == set(TicketStatus)
    assert len({one.ticket_id for one in tickets}) == len(tickets) > 100
    mine = [one for one in tickets if one.username == "demo"]
    assert len({one.organization for one in mine}) == 2
    for one in tickets:
        assert rules.title("subject", one.subject)
        assert "{" not in one.text


def test_draws_stay_in_their_range_and_reach_its_ends() -> None:
    random = SeededRandom(1)
    assert {random.number(3, 5) for _ in range(200)} == {3, 4, 5}
    assert {random.weighted("abc", [1, 0, 1]) for _ in range(200)} == {"a", "c"}
    assert sorted(random.shuffled("abcde")) == list("abcde")


async def test_it_loads_once(table: Table, some: list[Comment]) -> None:
    stores = Stores(table)
    comments = stores.comments
    assert await load_demo(stores, unheard)
    stored = await comments.get_many([comment.comment_id for comment in some[:100]])
    assert stored == {comment.comment_id: comment for comment in some[:100]}
    assert await comments.get(some[-1].comment_id) == some[-1]
    await comments.delete(some[0].comment_id, ignore)
    assert not await load_demo(stores, unheard)
    assert await comments.get(some[0].comment_id) is None
    await _check_orders(stores, some)
    await _check_organizations(stores)


async def _check_orders(stores: Stores, some: list[Comment]) -> None:
    orders = demo_orders(some)
    placed = [one for one in orders if one.status is OrderStatus.PLACED]
    open_page = await stores.orders.open_page(Slice(100))
    assert {one.order_id for one in open_page.nodes} == {one.order_id for one in placed}
    mine = await stores.orders.page(OrderSelection("demo"), Slice(100))
    assert len(mine.edges) == sum(one.username == "demo" for one in orders) > 0
    profile = await stores.users.profile("demo")
    assert profile is not None
    assert profile.full_name == "Demo"
    verified = next(
        one for one in some if one.verified_purchase and one.username in demo_profiles()
    )
    assert await stores.users.received(verified.username, verified.product_id)


async def _check_organizations(stores: Stores) -> None:
    for roster in demo_rosters():
        organization, page = await stores.organizations.with_users(
            roster.organization.name, Slice(100)
        )
        assert organization == roster.organization
        assert set(page.nodes) == set(roster.users)
    user, tickets = await stores.tickets.with_user("Harbour Tea Rooms", "demo", Slice(100))
    assert user == OrganizationUser("Harbour Tea Rooms", "demo", UserType.ADMIN)
    assert len(tickets.edges) == 25


class _Failing(CommentRepository):
    """Fails once it has written five hundred comments."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.left = 500

    async def put_many(self, comments: Sequence[Comment]) -> Outcome:
        self.left -= len(comments)
        if self.left < 0:
            raise StoreUnavailableError("The engine is gone.")
        return await super().put_many(comments)


async def test_an_interrupted_load_is_completed_by_the_next(
    table: Table, some: list[Comment]
) -> None:
    stores, failing = Stores(table), Stores(table)
    failing.comments = _Failing(table)
    with pytest.raises(StoreUnavailableError):
        await load_demo(failing, unheard)
    comments = stores.comments
    assert await comments.get(some[0].comment_id) == some[0]
    assert await comments.get(some[-1].comment_id) is None
    assert await load_demo(stores, unheard)
    assert await comments.get(some[-1].comment_id) == some[-1]
