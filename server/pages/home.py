"""``/``: the leaderboard of products, overall or for one language.

DynamoDB lists all products only by a Scan, so the page lists the products that have a title and a
comment rated 5. Visitors open other products by id.
"""

from starlette.responses import Response

from server.pages.addresses import product_path, with_query
from server.pages.faults import PageFault
from server.pages.i18n import gettext
from server.pages.page_documents import languages_of
from server.pages.page_request import PageRequest
from server.pages.plan_panel import plan_account


async def show(request: PageRequest) -> Response:
    """Show one page of the board."""
    given = request.http.query_params
    language, after = given.get("language") or None, given.get("after") or None
    narrowed = {"language": language} if language else {}
    result = await request.run("home.language" if language else "home", after=after, **narrowed)
    board = result.data["leaderboard"]
    info = board["pageInfo"]
    # Any client can invent a product id, so the page shows only products that the shop has named.
    titled = [rank for rank in board["nodes"] if rank["product"]["title"]]
    return request.render(
        "home.html",
        ranks=titled,
        untitled=len(board["nodes"]) - len(titled),
        languages=languages_of(rank["product"] for rank in titled),
        language=language,
        after=after,
        canonical=with_query("/", language=language, after=after),
        older=with_query("/", language=language, after=info["endCursor"])
        if info["hasNextPage"]
        else None,
        account=plan_account(board.get("plan"), result),
    )


async def find(request: PageRequest) -> Response:
    """Redirect the form with a product's id to the product's page."""
    product_id = request.http.query_params.get("id", "").strip()
    return request.to(product_path(product_id) if product_id else "/")


async def nothing_here(request: PageRequest) -> Response:
    """Say that no page has this address."""
    path = request.http.url.path[:200]
    raise PageFault(404, gettext("There is no page at %(path)s.", path=path))
