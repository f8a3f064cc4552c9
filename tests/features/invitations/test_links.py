"""Comments that customers write by links, on a real engine."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.entities.erasure_mark import KEPT_DAYS
from dal.entities.standing import STANDING, Standing
from dal.model import OrderStatus, ProductDetails
from dal.query.pagination import Slice
from dal.repositories.comments import Selection
from features.invitations.entity import INVITATION, comment_id_of
from features.invitations.model import MOST_DAYS, Invitation
from features.moderation.publication import ModeratedPublication
from features.moderation.words import Moderation
from features.photos.uploads import PhotoUploads
from features.privacy.erasure import Choices, Erasure
from features.privacy.personal_data import scan
from resolvers.photo_files import PhotoFiles
from resolvers.publication import Publication
from tests.features.invitations.shop import ADD, DELETE, EDIT, OPEN, Shop, codes, link
from tests.features.one_per_person.switching import switched
from tests.items import all_items
from tests.putting import put_orders
from tests.schema.conftest import ANN, BOB, MODERATOR
from tests.strategies import order
from tests.writers import at_once, ignore

USED = [("INVITATION_USED", None)]
REVOKED = [("INVITATION_REVOKED", None)]


@pytest.fixture
def shop(table: Table) -> Shop:
    return Shop(table, Publication())


@pytest.fixture
def moderated(table: Table) -> Shop:
    """A shop that publishes comments after a moderator's approval."""
    return Shop(table, ModeratedPublication(Moderation(before_publishing=True)))


async def test_an_invitation_that_cannot_be_read_ends_its_links(shop: Shop) -> None:
    damaged = INVITATION.encode(Invitation("o1", "ann")) | {"data": {"S": "{"}}
    await shop.table.put_many([damaged])
    assert codes(await shop.add(link("a"), "a")) == REVOKED


async def test_a_link_writes_one_comment_on_each_of_its_products(shop: Shop) -> None:
    one = link("a", "b", name="Ann B.", incentive="10 % off")
    assert await shop.written(one) == {"a": (None, None), "b": (None, None)}
    added = await shop.add(one, "a")
    assert added["comment"] == {
        "id": added["comment"]["id"],
        "text": "Good.",
        "source": "INVITATION",
        "incentive": "10 % off",
        "verifiedPurchase": True,
        "authorName": "Ann B.",
    }
    assert await shop.add(one, "a") == added
    assert codes(await shop.add(one, "a", "Bad.")) == USED
    assert codes(await shop.add(replace(one, order_id="o2"), "a")) == []
    assert codes(await shop.add(one, "c")) == [("BAD_ARGUMENT", ["input", "productId"])]
    assert await shop.written(one) == {"a": ("Good.", None), "b": (None, None)}


async def test_of_100_requests_at_once_with_one_link_one_stores_a_comment(shop: Shop) -> None:
    one = link("a")
    texts = [f"Text {number // 2}." for number in range(100)]
    done = await asyncio.gather(*(shop.add(one, "a", text) for text in texts))
    stored = {answer["comment"]["text"] for answer in done if answer["comment"]}
    assert len(stored) == 1
    for text, answer in zip(texts, done, strict=True):
        assert codes(answer) == ([] if text in stored else USED)
    page = await shop.stores.comments.page(Selection("a"), Slice(limit=5))
    assert [found.text for found in page.nodes] == [*stored]


async def test_a_link_edits_its_comment_until_it_is_published(moderated: Shop) -> None:
    one = link("a")
    held = (await moderated.add(one, "a"))["submission"]
    edited = await moderated.run(EDIT, one, id=held["id"], text="Better.")
    assert edited["submission"] == {"id": held["id"], "text": "Better."}
    (entry,) = (await moderated.run(OPEN, one))["entries"]
    assert entry["submission"] == {
        "id": held["id"],
        "text": "Better.",
        "state": "PENDING",
        "cause": "SETTING",
    }
    assert await moderated.written(one) == {"a": (None, "Better.")}
    comment_id = comment_id_of(one, "a")
    submission = await moderated.stores.moderation.get(comment_id)
    assert submission is not None
    assert submission.updated_at is not None
    await moderated.stores.moderation.approve(comment_id, submission.updated_at, "mo")
    assert codes(await moderated.run(EDIT, one, id=held["id"], text="Best.")) == USED
    assert codes(await moderated.add(one, "a")) == []  # the contents of the first request
    assert await moderated.written(one) == {"a": ("Better.", None)}


async def test_a_link_edits_no_other_comment(moderated: Shop) -> None:
    """Even the customer's own other comments, published or not, look missing."""
    one = link("a")
    by_name = (await moderated.add(ANN, "a"))["submission"]["id"]
    by_other_link = (await moderated.add(link("a", order="o2"), "a"))["submission"]["id"]
    of_other = (await moderated.add(BOB, "a"))["submission"]["id"]
    published = (await moderated.add(MODERATOR, "a"))["comment"]["id"]
    before = await all_items(moderated.table)
    for comment_id in (by_name, by_other_link, of_other, published):
        answer = await moderated.run(EDIT, one, id=comment_id, text="Mine.")
        assert codes(answer) == [("NOT_FOUND", None)]
        assert await moderated.run(DELETE, one, id=comment_id) == ["FORBIDDEN"]
    assert await all_items(moderated.table) == before


async def test_a_link_writes_no_second_comment_after_a_deletion(shop: Shop) -> None:
    """Even after a tombstone of an ordinary comment would have expired."""
    one = link("a")
    comment_id = (await shop.add(one, "a"))["comment"]["id"]
    assert codes(await shop.run(DELETE, ANN, id=comment_id)) == []
    assert codes(await shop.add(one, "a")) == USED
    (tombstone,) = [item for item in await all_items(shop.table) if "keyed" in item]
    assert int(tombstone["expires"]["N"]) > one.expires_at.timestamp() + 10


@pytest.mark.parametrize("status", OrderStatus)
async def test_a_link_ends_when_its_order_is_cancelled(shop: Shop, status: OrderStatus) -> None:
    one = link("42")
    await put_orders(shop.table, [order(one.order_id, username="ann", status=status)])
    ended = status is OrderStatus.CANCELLED
    assert codes(await shop.add(one, "42")) == (REVOKED if ended else [])
    opened = await shop.run(OPEN, one)
    assert (opened == ["INVITATION_REVOKED"]) is ended


async def test_a_revocation_ends_only_the_earlier_links_of_its_order(shop: Shop) -> None:
    one = link("a", "b")
    held = await shop.add(one, "a")
    revoked = Invitation("o1", "ann", revoked_at=one.made_at + timedelta(seconds=1))
    await shop.table.put_many([INVITATION.encode(revoked)])
    assert codes(await shop.add(one, "b")) == REVOKED
    edited = await shop.run(EDIT, one, id=held["comment"]["id"], text="Better.")
    assert codes(edited) == REVOKED
    uploads = 'mutation { createPhotoUploads(input: { contentTypes: ["image/png"] }) {'
    assert codes(await shop.run(f"{uploads} userErrors {{ code field }} }} }}", one)) == REVOKED
    assert await shop.run(OPEN, one) == ["INVITATION_REVOKED"]
    later = replace(one, made_at=one.made_at + timedelta(seconds=2))
    assert codes(await shop.add(later, "b")) == []
    assert codes(await shop.add(link("a", order="o2"), "a")) == []


async def test_an_erasure_ends_the_links_that_were_made_before_it(shop: Shop) -> None:
    one, other = link("a", "b"), link("c", order="o2")
    assert codes(await shop.add(one, "a")) == []
    await shop.stores.invitations.revoke("o1", "ann")
    assert KEPT_DAYS >= MOST_DAYS
    await Erasure(shop.table, "ann", Choices(), KINDS).run(at_once, ignore, ignore)
    for ended, product in ((one, "a"), (one, "b"), (other, "c")):
        assert codes(await shop.add(ended, product)) == REVOKED
        assert await shop.run(OPEN, ended) == ["INVITATION_REVOKED"]
    assert not await scan(shop.table, "ann", ignore, KINDS)
    assert codes(await shop.add(link("a", order="o3"), "a")) == []
    assert codes(await shop.add(link("a", username="bob"), "a")) == []


async def test_a_product_that_has_joined_a_group_keeps_its_link(shop: Shop) -> None:
    one = link("mug-red")
    await shop.stores.products.put_many(
        {product: ProductDetails(group="mug") for product in ("mug-red", "mug-blue")}
    )
    assert codes(await shop.add(one, "mug-red")) == []
    assert codes(await shop.add(one, "mug-blue")) == [("BAD_ARGUMENT", ["input", "productId"])]
    listed = """{ product(productId: "mug-blue") { group { comments { nodes { text } } } } }"""
    assert await shop.run(listed, None) == {"group": {"comments": {"nodes": [{"text": "Good."}]}}}


async def test_the_rules_for_other_comments_apply_to_invited_comments(shop: Shop) -> None:
    await shop.stores.blocks.block("ann", "Spam", by="mo")
    shop.publication = ModeratedPublication(Moderation())
    assert (await shop.add(link("a"), "a"))["submission"] is not None


async def test_a_link_reads_what_an_anonymous_visitor_reads(shop: Shop) -> None:
    """A link of the customer shows neither the customer's account nor earlier comments."""
    assert await shop.run("{ viewer { id } }", link("a")) is None
    assert await shop.run('{ user(username: "ann") { id } }', link("a")) == ["FORBIDDEN"]
    await shop.add(ANN, "a")
    assert await shop.written(link("a")) == {"a": (None, None)}
    assert await shop.run(OPEN, ANN) is None


async def test_an_idempotency_key_of_a_client_is_never_the_key_of_a_link(shop: Shop) -> None:
    keyed = ADD.replace("rating: 5", 'rating: 5, idempotencyKey: " [\\"o1\\",\\"a\\"]"')
    answer = await shop.run(keyed, ANN, product="a", text="Good.")
    assert codes(answer) == [("BAD_ARGUMENT", ["input", "idempotencyKey"])]


class Bucket:
    """A bucket in which each file exists."""

    async def upload_form(self, key: str, *_: object) -> tuple[str, dict[str, str]]:
        return "https://bucket.example", {"key": key}

    async def tag(self, _: str) -> str:
        return "tag"

    async def copy(self, *_: object) -> bool:
        return True


async def test_a_link_uploads_photos_for_its_customers_comments_only(shop: Shop) -> None:
    uploads = PhotoUploads(Bucket(), "https://photos.example", "https://bucket.example")
    services = {PhotoUploads: uploads, PhotoFiles: uploads}
    create = """mutation { createPhotoUploads(input: { contentTypes: ["image/png"] }) {
      uploads { photoUrl } userErrors { code field } } }"""
    one = link("a")
    (form,) = (await shop.run(create, one, services=services))["uploads"]
    photos = [{"url": form["photoUrl"]}]
    refused = [("BAD_ARGUMENT", ["input", "photos", "0", "url"])]
    for who, expected in ((link("a", username="bob"), refused), (one, [])):
        answer = await shop.run(
            ADD, who, services=services, product="a", text="Good.", photos=photos
        )
        assert codes(answer) == expected
    await shop.table.put_many([STANDING.encode(Standing("ann", erasing={"comments": "delete"}))])
    assert await shop.run(create, one, services=services) == ["FORBIDDEN"]
    assert await shop.run(ADD, link("b"), product="b", text="Good.") == ["FORBIDDEN"]


async def test_a_link_obeys_the_limit_of_one_comment_per_person(shop: Shop) -> None:
    shop.stores = await switched(shop.table)
    await shop.add(ANN, "a")
    assert codes(await shop.add(link("a"), "a")) == [("ALREADY_COMMENTED", None)]
    assert codes(await shop.add(link("b"), "b")) == []
    assert codes(await shop.add(link("b"), "b")) == []
    assert codes(await shop.add(link("b", order="o2"), "b")) == [("ALREADY_COMMENTED", None)]
