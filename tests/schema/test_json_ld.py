"""JSON-LD of a page of comments and of one comment, by Google's rules for review snippets.

https://developers.google.com/search/docs/appearance/structured-data/review-snippet
"""

import json
from datetime import datetime
from typing import Any

import pytest
from strawberry import Schema

from dal.counts.counts import CommentStatistics
from dal.dynamodb.table import Table
from dal.model import Photo, ProductDetails, Reply
from dal.stores import Stores
from resolvers import json_ld
from resolvers.context import Context, Viewer
from tests.calls import calls_of
from tests.putting import put_comments
from tests.strategies import comment

SITE = "https://reviews.example"
SHOP = "https://shop.example/1"
HOSTILE = "Fine.</script><script>alert(1)</script>"

PAGE = '{ product(productId: "%s") { comments(first: 2) { jsonLd } statistics { total } title } }'


@pytest.fixture(autouse=True)
async def stored(stores: Stores) -> None:
    rated = [comment(f"1-{n}", product_id="p1", rating=n, text=HOSTILE) for n in (3, 4, 5)]
    await put_comments(stores.comments, [*rated, comment("2", product_id="p 2/x", rating=1)])
    await stores.products.put_many({"p1": ProductDetails("Kettle", "/kettle.svg", SHOP)})


async def answered(
    schema: Schema, stores: Stores, operation: str, site: str | None = SITE
) -> dict[str, Any]:
    context = Context(Viewer("ann"), stores, site=site)
    result = await schema.execute(operation, context_value=context)
    assert result.errors is None
    assert result.data is not None
    return result.data


async def linked(schema: Schema, stores: Stores, product_id: str) -> dict[str, Any]:
    data = await answered(schema, stores, PAGE % product_id)
    found: dict[str, Any] = json.loads(data["product"]["comments"]["jsonLd"])
    return found


async def test_a_pages_json_ld_has_the_fields_that_google_requires_and_recommends(
    schema: Schema, stores: Stores
) -> None:
    product = await linked(schema, stores, "p1")
    assert product["@context"] == "https://schema.org"
    assert product["@type"] == "Product"
    assert product["name"] == "Kettle"
    assert product["url"] == SHOP
    assert product["@id"] == f"{SITE}/products/p1"
    assert product["image"] == f"{SITE}/kettle.svg"
    rating = product["aggregateRating"]
    assert (rating["ratingValue"], rating["reviewCount"]) == (4.0, 3)
    assert (rating["bestRating"], rating["worstRating"]) == (5, 1)
    assert len(product["review"]) == 2
    for review in product["review"]:
        assert review["@type"] == "Review"
        assert review["author"]["@type"] == "Person"
        assert 0 < len(review["author"]["name"]) < 100
        assert 1 <= review["reviewRating"]["ratingValue"] <= 5
        assert review["reviewRating"]["bestRating"] == 5
        assert review["reviewRating"]["worstRating"] == 1
        assert datetime.fromisoformat(review["datePublished"]).tzinfo is not None
        assert review["reviewBody"] == HOSTILE


async def test_a_product_has_the_identifiers_that_the_shop_has_set(
    schema: Schema, stores: Stores
) -> None:
    names = {"gtin", "brand", "mpn"}
    assert (await linked(schema, stores, "p1")).keys().isdisjoint(names)
    details = ProductDetails("Kettle", gtin="4006381333931", brand="<Acme>", mpn="K-1")
    await stores.products.put_many({"p1": details})
    product = await linked(schema, stores, "p1")
    assert {name: product[name] for name in names} == {
        "gtin": "4006381333931",
        "brand": {"@type": "Brand", "name": "<Acme>"},
        "mpn": "K-1",
    }


async def test_the_review_of_one_comment_contains_its_product(
    schema: Schema, stores: Stores
) -> None:
    data = await answered(schema, stores, '{ comment(commentId: "1-5") { jsonLd } }')
    review = json.loads(data["comment"]["jsonLd"])
    assert (review["@context"], review["@type"]) == ("https://schema.org", "Review")
    assert review["itemReviewed"]["name"] == "Kettle"
    assert review["itemReviewed"]["aggregateRating"]["reviewCount"] == 3
    assert "<" not in data["comment"]["jsonLd"]


async def test_json_ld_has_no_urls_if_the_site_is_unknown(schema: Schema, stores: Stores) -> None:
    data = await answered(schema, stores, PAGE % "p 2/x", site=None)
    product = json.loads(data["product"]["comments"]["jsonLd"])
    assert product["name"] == "p 2/x"
    assert product.keys().isdisjoint({"@id", "url", "image"})
    assert (await linked(schema, stores, "p 2/x"))["@id"] == f"{SITE}/products/p%202%2Fx"


async def test_a_page_without_comments_has_no_json_ld(schema: Schema, table: Table) -> None:
    calls = calls_of(table)
    operation = '{ product(productId: "unheard-of") { comments(first: 2) { jsonLd } } }'
    data = await answered(schema, Stores(table), operation)
    assert data["product"]["comments"]["jsonLd"] is None
    assert calls.operations == {"Query": 1}


async def test_json_ld_needs_only_the_read_of_statistics(
    schema: Schema, table: Table, stores: Stores
) -> None:
    await linked(schema, stores, "p1")  # so that reads that a process sends once are not counted
    calls = calls_of(table)
    await linked(schema, stores, "p1")
    assert calls.operations == {"Query": 2}


async def test_each_mutation_of_a_request_returns_the_count_after_it(
    schema: Schema, stores: Stores
) -> None:
    new = '{ productId: "p9", rating: 5, language: "en", title: "t", text: "t" }'
    added = f"addComment(input: {new}) {{ comment {{ product {{ statistics {{ total }} }} }} }}"
    data = await answered(schema, stores, f"mutation {{ one: {added} two: {added} }}")
    totals = [data[name]["comment"]["product"]["statistics"]["total"] for name in ("one", "two")]
    assert totals == [1, 2]


async def test_json_ld_has_no_empty_property(schema: Schema, stores: Stores) -> None:
    empty = comment("e", product_id="p3", title=" ", text=" ", photos=(Photo("", ""),))
    bare = empty._replace(reply=Reply("", empty.created_at), name=" ", username="")
    await put_comments(stores.comments, [bare])
    data = await answered(schema, stores, '{ comment(commentId: "e") { jsonLd } }', site=None)
    review = json.loads(data["comment"]["jsonLd"])
    kept = {"@context", "@type", "datePublished", "inLanguage", "reviewRating", "itemReviewed"}
    assert review.keys() == kept


async def test_a_photo_on_the_server_has_an_absolute_url(schema: Schema, stores: Stores) -> None:
    photos = (Photo("/static/mug.webp"), Photo("https://p.example/mug.webp"))
    await put_comments(stores.comments, [comment("b", product_id="p5", photos=photos)])
    data = await answered(schema, stores, '{ comment(commentId: "b") { jsonLd } }')
    images = json.loads(data["comment"]["jsonLd"])["image"]
    assert images == [f"{SITE}/static/mug.webp", "https://p.example/mug.webp"]


async def test_an_authors_name_has_at_most_99_characters(schema: Schema, stores: Stores) -> None:
    await put_comments(stores.comments, [comment("a", product_id="p4", name="n" * 120)])
    data = await answered(schema, stores, '{ comment(commentId: "a") { jsonLd } }')
    assert json.loads(data["comment"]["jsonLd"])["author"]["name"] == "n" * 99


def test_a_product_without_counted_comments_has_no_aggregate_rating() -> None:
    """Google rejects an AggregateRating of no reviews. A list can be ahead of its counts."""
    facts = json_ld._facts("p5", ProductDetails(), CommentStatistics.summed({}), None)
    assert facts == {"@type": "Product", "name": "p5"}
