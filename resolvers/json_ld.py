"""JSON-LD for search engines: schema.org's Product, AggregateRating and Review.

The JSON-LD has the fields that Google requires for review snippets, and those recommended fields
for which the server has values. Google accepts only reviews that the same page shows to readers.
Google identifies products by ``gtin``, ``brand`` and ``mpn``.

- https://developers.google.com/search/docs/appearance/structured-data/review-snippet
- https://developers.google.com/search/docs/appearance/structured-data/merchant-listing
"""

from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote

import orjson
import strawberry

from dal.counts.counts import CommentStatistics
from dal.model import Comment, ProductDetails
from dal.query.pagination import Page
from resolvers.context import Built, ProductReads
from resolvers.selection import Info

Facts = dict[str, Any]
"""A JSON object."""

_CONTEXT = "https://schema.org"

_RATING = {"@type": "Rating", "bestRating": 5, "worstRating": 1}

_MAX_AUTHOR = 99
"""Maximum characters of an author's name that Google accepts."""


async def of_page(root: strawberry.Parent[Page[Comment]], info: Info) -> str | None:
    """Return the JSON-LD of a page of comments: each product with its comments on the page.

    Return None if the page has no comments.
    """
    products = await _products(info, {comment.product_id: None for comment in root.nodes})
    return info.context.part(Built).once(root, lambda: _of_page(root, info.context.site, products))


async def of_comment(root: strawberry.Parent[Comment], info: Info) -> str:
    """Return the JSON-LD of a comment: one Review with its Product."""
    (product,) = await _products(info, [root.product_id])
    return info.context.part(Built).once(
        root, lambda: _script(_review(root, info.context.site) | {"itemReviewed": product})
    )


def _of_page(page: Page[Comment], site: str | None, products: Sequence[Facts]) -> str | None:
    reviews = dict[str, list[Facts]]()
    for comment in page.nodes:
        reviews.setdefault(comment.product_id, []).append(_review(comment, site))
    found = [
        product | {"review": listed}
        for product, listed in zip(products, reviews.values(), strict=True)
    ]
    return _script(found[0] if len(found) == 1 else {"@graph": found}) if found else None


def _script(facts: Facts) -> str:
    """Return JSON for a script element. Escape ``<``, so that no text can end the element.

    https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    # In bytes, because a text with an emoji takes four bytes for each character.
    return orjson.dumps({"@context": _CONTEXT, **facts}).replace(b"<", b"\\u003c").decode()


def _filled(facts: Facts) -> Facts:
    """Return the properties that have a value. Validators report empty texts and lists."""
    return {name: value for name, value in facts.items() if value}


def _review(comment: Comment, site: str | None) -> Facts:
    author, reply = comment.author_name.strip()[:_MAX_AUTHOR], comment.reply
    return _filled(
        {
            "@type": "Review",
            "author": author and {"@type": "Person", "name": author},
            "datePublished": comment.created_at,
            "inLanguage": comment.language,
            "name": comment.title.strip(),
            "reviewRating": _RATING | {"ratingValue": comment.rating},
            "reviewBody": comment.text.strip() and comment.text,
            "image": comment.photos
            and list(filter(None, (_absolute(one.url, site) for one in comment.photos))),
            "comment": reply
            and reply.text.strip()
            and {
                "@type": "Comment",
                "author": _filled({"@type": "Organization", "url": site and f"{site}/"}),
                "dateCreated": reply.created_at,
                "text": reply.text,
            },
        }
    )


async def _products(info: Info, product_ids: Collection[str]) -> list[Facts]:
    found = await info.context.part(ProductReads).each(product_ids)
    return [
        _facts(product_id, details, statistics, info.context.site)
        for product_id, (statistics, details) in zip(product_ids, found, strict=True)
    ]


def _facts(
    product_id: str, details: ProductDetails, statistics: CommentStatistics | None, site: str | None
) -> Facts:
    page = f"{site}/products/{quote(product_id, safe='')}" if site else None
    addresses = {
        "@id": page,
        "url": _absolute(details.url, site) or page,
        "image": _absolute(details.picture_url, site),
    }
    identifiers = {
        "gtin": details.gtin,
        "brand": details.brand and {"@type": "Brand", "name": details.brand},
        "mpn": details.mpn,
    }
    name = details.title or product_id
    found = _filled({"@type": "Product", "name": name, **addresses, **identifiers})
    if statistics and statistics.total:  # Google rejects an AggregateRating without reviews
        found["aggregateRating"] = {
            **_RATING,
            "@type": "AggregateRating",
            "ratingValue": round(statistics.average or 0, 2),
            "reviewCount": statistics.total,
        }
    return found


def _absolute(address: str, site: str | None) -> str | None:
    """Return ``address`` as an absolute URL; None for a path if the site's URL is unknown."""
    return site and site + address if address.startswith("/") else address
