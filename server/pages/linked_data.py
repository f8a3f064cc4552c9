"""What search engines read: schema.org's Product, AggregateRating and Review as JSON-LD.

The fields are those that Google's documentation of review snippets requires, and those that it
recommends where we know them.
"""

from typing import Any

from server.pages.addresses import product_path, rooted
from server.pages.formats import product_name

_CONTEXT = {"@context": "https://schema.org"}


def product(site: str, product: dict[str, Any], comments: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a product with its rating and the reviews that its page shows."""
    reviews = [review(comment) for comment in comments]
    return _CONTEXT | _product(site, product) | ({"review": reviews} if reviews else {})


def lone_review(site: str, comment: dict[str, Any]) -> dict[str, Any]:
    """Return one review with the product that it is of."""
    return _CONTEXT | review(comment) | {"itemReviewed": _product(site, comment["product"])}


def review(comment: dict[str, Any]) -> dict[str, Any]:
    """Return a comment as a Review."""
    return {
        "@type": "Review",
        "author": {"@type": "Person", "name": comment["username"][:99]},
        "datePublished": comment["createdAt"],
        "inLanguage": comment["language"],
        "name": comment["title"],
        "reviewBody": comment["text"],
        "reviewRating": _RATING | {"ratingValue": comment["rating"]},
    }


def _product(site: str, product: dict[str, Any]) -> dict[str, Any]:
    """Return a product; ``url`` is where the shop shows it, and our page where nobody has said."""
    page, statistics = site + product_path(product["productId"]), product["statistics"]
    found: dict[str, Any] = {
        "@type": "Product",
        "@id": page,
        "url": rooted(product["url"] or page, site),
        "name": product_name(product),
    }
    if product["pictureUrl"]:
        found["image"] = rooted(product["pictureUrl"], site)
    if statistics["total"]:  # a rating of nothing would be invalid
        found["aggregateRating"] = {
            "@type": "AggregateRating",
            "ratingValue": round(statistics["average"], 2),
            "reviewCount": statistics["total"],
            "bestRating": 5,
            "worstRating": 1,
        }
    return found


_RATING = {"@type": "Rating", "bestRating": 5, "worstRating": 1}
