"""The files for crawlers: ``/robots.txt`` and ``/sitemap.xml``."""

from starlette.responses import PlainTextResponse, Response

from server.pages import rendering
from server.pages.addresses import product_path
from server.pages.page_request import PageRequest

_SITEMAP_PAGES = 10
"""The sitemap lists the products on this many pages of the leaderboard, with 100 products each.

Crawlers find the other products through the links of the home page."""


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
