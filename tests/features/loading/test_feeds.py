"""Feeds of reviews for Google and Meta: ``marginalia export --format google-reviews``."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dal.composition import KINDS
from dal.dynamodb.table import Table
from dal.model import AspectRating, Comment, CommentSource, Photo, ProductDetails
from dal.model.submissions import ReviewCause
from dal.stores import Stores
from dal.table.errors import StoreRefusedError
from features.loading import feed_writer
from features.loading.export_feed import FeedManifest, export_feed
from features.loading.feed_writer import Shop
from server.errors import CommandError
from tests import oracle
from tests.features.loading.bulk import load_rows
from tests.features.loading.feed_rules import check, check_children
from tests.features.loading.objects import SmallPages
from tests.moderating import held_for
from tests.server.serving import AWS, called

SITE = "https://reviews.shop.example"
SHOP = Shop("Kettles & <Sons>", SITE, "https://shop.example", "https://shop.example/icon.png", "s1")
KETTLE = ProductDetails(
    "Kettle, 1.7 l & lid",
    "/kettle.png",
    "https://shop.example/kettle?a=1&b=2",
    "kettles",
    gtin="4006381333931",
    brand="Acme & Co",
    mpn="K-1",
)
FULL = Comment(
    "full",
    "kettle",
    "ana",
    5,
    "en-GB",
    "<b>Good</b>",
    "It boils ]]> & \x01\x0b\ufffe \U0001fad6\nwell.",
    oracle.START,
    updated_at=oracle.START,
    verified_purchase=True,
    name="Ana & Bo",
    source=CommentSource.INVITATION,
    incentive="a voucher",
    photos=(Photo("https://cdn.example/1.jpg"), Photo("/photos/2.jpg")),
    aspects=(AspectRating("fit", 5), AspectRating("value_for_money", 1)),
)
BARE = oracle.make_comments("no id & <url>", 30, seed=4)
WORDLESS = [FULL._replace(comment_id=text, text=text) for text in (" \n", "\x01")]
UNLINKED = [one._replace(product_id=f"p{n % 2}") for n, one in enumerate(BARE[20:])]
REVIEWS = [
    FULL,
    FULL._replace(comment_id="unnamed", name=" anonymous ", title=" ", aspects=()),
    BARE[0],
    BARE[1]._replace(source=CommentSource.IMPORT),
    *BARE[2:20],
]


async def fill(table: Table) -> Stores:
    stores = Stores(table)
    await load_rows(stores.comments, [*REVIEWS, *WORDLESS, *UNLINKED])
    await stores.comments.add(FULL._replace(comment_id="held"), hold=held_for(ReviewCause.WORDS))
    bare = ProductDetails(url="/products/1")
    await stores.products.put_many(
        {"kettle": KETTLE, "no id & <url>": bare, "p1": ProductDetails("No URL")}
    )
    return stores


async def exported(
    table: Table, out: Path, name: str = "google-reviews", *, force: bool = False
) -> FeedManifest:
    return await export_feed(table, KINDS, name, SHOP, out, "here", lambda _: None, force=force)


def ids(reviews: list[ET.Element]) -> list[str]:
    return sorted(one.findtext("review_id", "") for one in reviews)


def contents(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def names_in(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


async def test_googles_feed_has_the_comments_with_words_on_products_with_a_url(
    table: Table, tmp_path: Path
) -> None:
    stores = await fill(table)
    manifest = await exported(table, tmp_path)
    reviews = check(tmp_path / "google-reviews-1.xml")
    assert ids(reviews) == sorted(one.comment_id for one in REVIEWS)
    counts = manifest.counts
    assert (counts.reviews, counts.without_words, counts.without_url) == (22, 2, 10)
    of = {"kettle", *(one.product_id for one in (*BARE, *UNLINKED))}
    totals = [(await stores.comments.statistics_and_details(one))[0].total for one in of]
    assert sum(totals) == counts.reviews + counts.without_words + counts.without_url
    assert (manifest.unpublished, manifest.unreadable) == (1, 0)
    by_id = {one.findtext("review_id"): one for one in reviews}
    full, bare = by_id["full"], by_id[BARE[0].comment_id]
    assert full.findtext("content") == "It boils ]]> &  \U0001fad6\nwell."
    assert full.findtext("title") == "<b>Good</b>"
    assert full.findtext("review_language") == "en"
    assert full.findtext("is_verified_purchase") == "true"
    method = "collection_method"
    stated = [
        (one.findtext("is_incentivized_review"), one.findtext(method)) for one in (full, bare)
    ]
    assert stated == [("true", "post_fulfillment"), ("false", "unsolicited")]
    imported = by_id[BARE[1].comment_id]
    assert imported.find(method) is None
    assert [one.text for one in full.iterfind(".//product_ids//*") if not len(one)] == [
        KETTLE.gtin,
        KETTLE.mpn,
        "kettle",
        KETTLE.brand,
    ]
    assert [one.text for one in full.iterfind(".//reviewer_image/url")] == [
        "https://cdn.example/1.jpg",
        f"{SITE}/photos/2.jpg",
    ]
    assert full.findtext(".//product_url") == full.findtext("review_url") == KETTLE.url
    assert [one.tag for one in bare.find(".//product_ids") or ()] == ["skus"]
    assert bare.findtext(".//product_url") == f"{SITE}/products/1"
    assert bare.findtext(".//product_name") == "no id & <url>"
    authors = [by_id[one].find("reviewer/name") for one in ("full", "unnamed")]
    assert [(one.text, one.attrib) for one in authors if one is not None] == [
        ("Ana & Bo", {}),
        ("Anonymous", {"is_anonymous": "true"}),
    ]


def test_the_rules_find_wrong_feeds() -> None:
    ids = {"a": ((1, 1), "x"), "b": ((0, 1), "x")}
    check_children(ET.fromstring("<r><a>x</a></r>"), ids)
    for wrong in ("<b>x</b><a>x</a>", "<b>x</b>", "<a/>", "<a>x</a><a>x</a>", "<a c='1'>x</a>"):
        with pytest.raises(AssertionError):
            check_children(ET.fromstring(f"<r>{wrong}</r>"), ids)


async def test_metas_feed_has_the_documented_columns(table: Table, tmp_path: Path) -> None:
    await fill(table)
    await exported(table, tmp_path, "meta-reviews")
    with (tmp_path / "meta-reviews-1.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["reviewID"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {one.comment_id for one in REVIEWS}
    at = oracle.START.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert rows["full"] == {
        "aggregator": "",
        "store.name": SHOP.name,
        "store.id": "s1",
        "store.storeUrls": '["https://shop.example"]',
        "reviewID": "full",
        "rating": "5",
        "title": "<b>Good</b>",
        "content": "It boils ]]> &  \U0001fad6\nwell.",
        "created_at": at,
        "updated_at": at,
        "review_image_urls": f'["https://cdn.example/1.jpg","{SITE}/photos/2.jpg"]',
        "incentivized": "true",
        "has_verified_purchase": "true",
        "reviewer.name": "Ana & Bo",
        "reviewer.isAnonymous": "false",
        "product.name": KETTLE.title,
        "product.url": KETTLE.url,
        "product.imageUrls": f'["{SITE}/kettle.png"]',
        "product.groupID": "kettles",
        "product.productIdentifiers.gtins": f'["{KETTLE.gtin}"]',
        "product.productIdentifiers.mpn": "K-1",
        "product.productIdentifiers.brand": "Acme & Co",
        "product.productIdentifiers.skus": '["kettle"]',
        "secondary_ratings": '{"fit":5,"value for money":1}',
    }
    assert rows["unnamed"]["secondary_ratings"] == ""
    assert rows["unnamed"]["reviewer.name"] == "Anonymous"
    assert rows["unnamed"]["reviewer.isAnonymous"] == "true"


@pytest.mark.parametrize("name", ["google-reviews", "meta-reviews"])
async def test_a_feed_is_split_at_the_size_limit(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    await fill(table)
    limit = 4_000
    with monkeypatch.context() as patch:
        patch.setattr(feed_writer, "SPLIT_BYTES", limit)
        manifest = await exported(table, tmp_path, name)
    assert len(manifest.files) > 2
    paths = [tmp_path / one for one in manifest.files]
    assert names_in(tmp_path) == sorted([f"{name}.manifest.json", *manifest.files])
    assert all(path.stat().st_size <= limit for path in paths)
    found: list[str] = []
    for path in paths:
        if name == "google-reviews":
            found += ids(check(path))
        else:
            with path.open(newline="", encoding="utf-8") as file:
                found += [row["reviewID"] for row in csv.DictReader(file)]
    assert sorted(found) == sorted(one.comment_id for one in REVIEWS)
    with pytest.raises(CommandError, match="--force"):
        await exported(table, tmp_path, name)
    other = f"{name}-1-old{paths[0].suffix}"
    (tmp_path / other).touch()
    await exported(table, tmp_path, name, force=True)
    kept = {f"{name}-1{paths[0].suffix}", f"{name}.manifest.json", other}
    assert set(names_in(tmp_path)) == kept


async def test_a_feed_that_fails_changes_no_file(table: Table, tmp_path: Path) -> None:
    async def fail(scan: int) -> None:
        if scan == 9:
            raise StoreRefusedError("It is away.")

    await fill(table)
    await exported(table, tmp_path)
    before = contents(tmp_path)
    failing = Table(SmallPages(table, 4, fail), table.name)
    with pytest.raises(StoreRefusedError):
        await exported(failing, tmp_path, force=True)
    for one in (*REVIEWS, *WORDLESS):
        await Stores(table).comments.delete(one.comment_id, lambda _: None)
    with pytest.raises(CommandError, match="empty feed"):
        await exported(table, tmp_path, force=True)
    assert contents(tmp_path) == before


async def test_a_feed_on_the_command_line(table: Table, tmp_path: Path, dynoxide_url: str) -> None:
    await fill(table)
    store = ["--endpoint-url", dynoxide_url, "--table", table.name]

    def export(*arguments: str | Path) -> tuple[int, str, str]:
        given = ("export", "--format", "google-reviews", *arguments, *store)
        ended = called(*given, **AWS)
        return ended.returncode, ended.stdout, ended.stderr

    out, site, shop = tmp_path / "out", ("--public-url", SITE), ("--shop-name", "Kettles")
    for arguments, names in (
        (("-o", out, *site), "--shop-name"),
        (("-o", out, *shop), "--public-url"),
        (("-o", out, *shop, *site, "--shop-icon", "icon.png"), "--shop-icon"),
        (("-o", out, *shop, *site, "--kind", "orders"), "--kind"),
        (("-o", out, *shop, *site, "--all-states"), "--all-states"),
        (("-o", "-", *shop, *site), "--output"),
        (("-o", tmp_path / "feed.xml", *shop, *site), "--output"),
    ):
        code, _, errors = export(*arguments)
        assert (code, names in errors, errors.count("\n")) == (2, True, 1), errors
    assert names_in(tmp_path) == []
    code, output, errors = export("-o", out, *site, *shop, "--kind", "comments")
    assert (code, errors) == (0, "")
    assert output.startswith(f"{out}: 22 reviews in google-reviews-1.xml, ")
    assert re.findall(r"(\d+) comments", output) == ["2", "10"]
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}
    manifest = json.loads((out / "google-reviews.manifest.json").read_text())
    assert manifest["counts"] == {"reviews": 22, "without_words": 2, "without_url": 10}
