"""``/robots.txt`` and ``/sitemap.xml``."""

from starlette.responses import PlainTextResponse, Response

from server.pages import rendering
from server.pages.addresses import product_path
from server.pages.page_request import PageRequest

_PAGES = 10
"""Pages of 100 products in the sitemap; crawlers find the rest on the pages of the list."""


async def robots(request: PageRequest) -> Response:
    """Say what crawlers may read: all but what is not for them."""
    lines = [
        "User-agent: *",
        *(f"Disallow: {request.root}/{path}" for path in ("graphql", "playground", "sign-in")),
        f"Sitemap: {request.site}/sitemap.xml",
    ]
    return PlainTextResponse("\n".join([*lines, ""]))


async def sitemap(request: PageRequest) -> Response:
    """List the first page and those of the thousand products at the top of the leaderboard."""
    paths, after = ["/"], None
    for _ in range(_PAGES):
        board = (await request.run("sitemap", after=after)).data["leaderboard"]
        paths += [product_path(one["product"]["productId"]) for one in board["nodes"]]
        after = board["pageInfo"]["endCursor"]
        if not board["pageInfo"]["hasNextPage"]:
            break
    facts = {"addresses": [request.site + path for path in paths]}
    body = rendering.render("sitemap.xml", facts)
    return Response(body, headers=rendering.HEADERS, media_type="application/xml")
