"""The files for crawlers: ``/robots.txt`` and ``/sitemap.xml``."""

from starlette.responses import PlainTextResponse, Response

from pages import rendering
from pages.addresses import product_path
from pages.page_request import PageRequest

_SITEMAP_PAGES = 10
"""Number of pages of the leaderboard in the sitemap. Each page has 100 products. Crawlers find
further products when they follow the links from the home page to its next pages."""


async def robots(request: PageRequest) -> Response:
    """Return ``robots.txt``, which excludes the API, customers' links and the sign-in form.

    Of the playground, crawlers may read its first view, but not its other views, of which there are
    very many. An address that ends in ``$`` is exact (RFC 9309).
    """
    lines = [
        "User-agent: *",
        f"Allow: {request.root}/playground$",
        *(
            f"Disallow: {request.root}/{path}"
            for path in ("graphql", "playground", "review", "sign-in")
        ),
        f"Sitemap: {request.site}/sitemap.xml",
    ]
    return PlainTextResponse("\n".join([*lines, ""]))


async def sitemap(request: PageRequest) -> Response:
    """Return a sitemap of the home page and of the leaderboard's first 1,000 products."""
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
