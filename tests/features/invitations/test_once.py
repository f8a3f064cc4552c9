"""Whatever links, users and moderators do meanwhile, a link writes each of its products once."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from dal.dynamodb.table import Table
from dal.entities.submission import stored
from dal.model import Comment, CommentSource
from dal.model.own_ids import global_id
from dal.model.submissions import Submission, SubmissionState
from dal.writes.comments import version
from features.invitations.entity import comment_id_of
from features.invitations.model import Link
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from tests.features.invitations.shop import DELETE, EDIT, Shop, codes, link
from tests.items import all_items
from tests.schema.conftest import ANN, BOB

PRODUCTS = ("a", "b", "c")


@dataclass
class Model:
    """What a link has written, in plain Python: the text of each product, and what became of it."""

    texts: dict[str, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    revoked: bool = False

    def add(self, product: str, text: str, products: tuple[str, ...], *, held: bool) -> list[str]:
        if product not in products:
            return ["BAD_ARGUMENT"]
        if self.revoked:
            return ["INVITATION_REVOKED"]
        if product not in self.first:
            self.first[product] = self.texts[product] = text
            if not held:
                self.published.add(product)
            return []
        same = self.first[product] == text and product not in self.deleted
        return [] if same else ["INVITATION_USED"]

    def edit(self, product: str, text: str) -> list[str]:
        if self.revoked:
            return ["INVITATION_REVOKED"]
        if product not in self.first or product in self.deleted:
            return ["NOT_FOUND"]
        if product in self.published:
            return ["INVITATION_USED"]
        self.texts[product] = text
        return []


class Play:
    """A shop, its links, and the model of each."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self.shop, self.rng = shop, random.Random(seed)
        self.links: list[Link] = [
            link("a", "b", order="o1"),
            link("b", "c", order="o2"),
            link("a", order="o1", username="bob"),
        ]
        self.models = [Model() for _ in self.links]

    async def step(self) -> None:
        number = self.rng.randrange(len(self.links))
        one, model = self.links[number], self.models[number]
        product, text = self.rng.choice(PRODUCTS), self.rng.choice(("Good.", "Bad.", "Fine."))
        comment_id = comment_id_of(one, product)
        match self.rng.randrange(8):
            case 0 | 1 | 2:
                held = self.rng.random() < 0.7
                rule = Moderation(before_publishing=held)
                self.shop.publication = ModeratedPublication(rule)
                answer = await self.shop.add(one, product, text)
                expected = model.add(product, text, one.products, held=held)
            case 3 | 4:
                self.shop.publication = ModeratedPublication(Moderation(before_publishing=True))
                submission = global_id("Submission", comment_id)
                answer = await self.shop.run(EDIT, one, id=submission, text=text)
                expected = model.edit(product, text)
            case 5:
                await self.approve(comment_id, product, model)
                return
            case 6:
                owner = BOB if one.username == "bob" else ANN
                submission = global_id("Submission", comment_id)
                answer = await self.shop.run(DELETE, owner, id=submission)
                there = product in model.first and product not in model.deleted
                expected = [] if there else ["NOT_FOUND"]
                if there:
                    model.deleted.add(product)
            case _:
                if self.rng.random() < 0.15:
                    await self.shop.stores.invitations.revoke(one.order_id, one.username)
                    model.revoked = True
                return
        assert [code for code, _ in codes(answer)] == expected, (number, product, text)

    async def approve(self, comment_id: str, product: str, model: Model) -> None:
        there = await self.shop.stores.moderation.get(comment_id)
        if there is not None and there.state is SubmissionState.PENDING:
            await self.shop.stores.moderation.approve(comment_id, version(there), "mo")
            model.published.add(product)

    async def check(self) -> None:
        """Compare the table with the models."""
        found = [there for item in await all_items(self.shop.table) if (there := stored(item))]
        expected = {}
        for one, model in zip(self.links, self.models, strict=True):
            for product, text in model.texts.items():
                if product not in model.deleted:
                    kind = Comment if product in model.published else Submission
                    expected[comment_id_of(one, product)] = (one.username, product, text, kind)
        assert {
            there.comment_id: (there.username, there.product_id, there.text, type(there))
            for there in found
        } == expected
        assert all(there.source is CommentSource.INVITATION for there in found)
        assert all(there.verified_purchase for there in found)


@pytest.mark.parametrize("seed", range(6))
async def test_a_link_writes_exactly_its_products_once_each(table: Table, seed: int) -> None:
    play = Play(Shop(table, ModeratedPublication(Moderation())), seed)
    for _ in range(60):
        await play.step()
    await play.check()


@pytest.mark.parametrize("seed", range(3))
async def test_concurrent_requests_of_several_links_store_one_comment_each(
    table: Table, seed: int
) -> None:
    """Requests at once have no order, but each link has at most one comment on each product."""
    rng, shop = random.Random(seed), Shop(table, ModeratedPublication(Moderation()))
    links = [link("a", "b", order=f"o{n}", username=rng.choice(("ann", "bob"))) for n in range(4)]

    async def post(number: int) -> Any:
        one = rng.choice(links)
        return one, await shop.add(one, rng.choice("ab"), f"Text {number % 3}.")

    done = await asyncio.gather(*(post(number) for number in range(60)))
    moderated = [one for _, one in done if one["comment"]]
    found = [one for item in await all_items(table) if (one := stored(item))]
    ids = {comment_id_of(one, product) for one in links for product in "ab"}
    assert {one.comment_id for one in found} <= ids
    assert {one["comment"]["id"] for one in moderated} == {
        global_id("Comment", one.comment_id) for one in found
    }
    assert {code for _, one in done for code, _ in codes(one)} <= {"INVITATION_USED"}
