"""What crawlers read: ``/robots.txt``, ``/sitemap.xml``, and JSON-LD within the pages.

JSON-LD has schema.org's Product, AggregateRating and Review, with the fields that Google requires
for review snippets, and the recommended fields that the server knows.
https://developers.google.com/search/docs/appearance/structured-data/review-snippet
"""

from typing import Any

from starlette.responses import PlainTextResponse, Response

from server.pages import rendering
from server.pages.addresses import product_path, rooted
from server.pages.formats import product_name
from server.pages.page_request import PageRequest

_SITEMAP_PAGES = 10
"""The most pages of the leaderboard in the sitemap, 100 products each. Crawlers find other products
by the links of the home page."""

_CONTEXT = {"@context": "https://schema.org"}

_RATING = {"@type": "Rating", "bestRating": 5, "worstRating": 1}


async def robots(request: PageRequest) -> Response:
    """Return ``robots.txt``, which excludes the API, the playground and the sign-in form."""
    lines = [
        "User-agent: *",
        *(f"Disallow: {request.root}/{path}" for path in ("graphql", "playground", "sign-in")),
        f"Sitemap: {request.site}/sitemap.xml",
    ]
    return PlainTextResponse("\n".join([*lines, ""]))


async def sitemap(request: PageRequest) -> Response:
    """List the home page and the pages of the leaderboard's first thousand products."""
    paths, after = ["/"], None
    for _ in range(_SITEMAP_PAGES):
        board = (await request.run("sitemap", after=after)).data["leaderboard"]
        paths += [product_path(one["product"]["productId"]) for one in board["nodes"]]
        after = board["pageInfo"]["endCursor"]
        if not board["pageInfo"]["hasNextPage"]:
            break
    facts = {"addresses": [request.site + path for path in paths]}
    body = rendering.render("sitemap.xml", facts)
    return Response(body, headers=rendering.HEADERS, media_type="application/xml")


def linked_product(
    site: str, product: dict[str, Any], comments: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON-LD of a product's page: the product, its rating and the comments shown."""
    reviews = [_review(site, comment) for comment in comments]
    return _CONTEXT | _product(site, product) | ({"review": reviews} if reviews else {})


def linked_review(site: str, comment: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-LD of a comment's page: one review, with its product."""
    return _CONTEXT | _review(site, comment) | {"itemReviewed": _product(site, comment["product"])}


def _review(site: str, comment: dict[str, Any]) -> dict[str, Any]:
    review = {
        "@type": "Review",
        # Google takes a name of fewer than 100 characters.
        "author": {"@type": "Person", "name": comment["authorName"][:99]},
        "datePublished": comment["createdAt"],
        "inLanguage": comment["language"],
        "name": comment["title"],
        "reviewRating": _RATING | {"ratingValue": comment["rating"]},
    }
    if comment["text"]:
        review["reviewBody"] = comment["text"]
    if comment["reply"]:
        review["comment"] = {
            "@type": "Comment",
            "author": {"@type": "Organization", "url": f"{site}/"},
            "dateCreated": comment["reply"]["createdAt"],
            "text": comment["reply"]["text"],
        }
    return review


def _product(site: str, product: dict[str, Any]) -> dict[str, Any]:
    """Return a product; ``url`` is the shop's page of it, else ours."""
    page, statistics = site + product_path(product["productId"]), product["statistics"]
    found: dict[str, Any] = {
        "@type": "Product",
        "@id": page,
        "url": rooted(product["url"] or page, site),
        "name": product_name(product),
    }
    if product["pictureUrl"]:
        found["image"] = rooted(product["pictureUrl"], site)
    if statistics["total"]:  # a rating of no reviews is invalid
        found["aggregateRating"] = {
            **_RATING,
            "@type": "AggregateRating",
            "ratingValue": round(statistics["average"], 2),
            "reviewCount": statistics["total"],
        }
    return found
