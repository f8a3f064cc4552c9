"""What search engines read: schema.org's Product, AggregateRating and Review as JSON-LD.

The fields are those that Google's documentation of review snippets requires, and those that it
recommends where we know them.
"""

from typing import Any

_CONTEXT = {"@context": "https://schema.org"}


def product(
    address: str, name: str, statistics: dict[str, Any], comments: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a product with its rating and the reviews that its page shows."""
    reviews = [review(comment) for comment in comments]
    return _CONTEXT | _product(address, name, statistics) | ({"review": reviews} if reviews else {})


def lone_review(address: str, name: str, comment: dict[str, Any]) -> dict[str, Any]:
    """Return one review with the product that it is of."""
    statistics = comment["product"]["statistics"]
    return _CONTEXT | review(comment) | {"itemReviewed": _product(address, name, statistics)}


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


def _product(address: str, name: str, statistics: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"@type": "Product", "@id": address, "url": address, "name": name}
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
