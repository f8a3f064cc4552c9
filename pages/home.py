"""``/``: the leaderboard of products. ``/products``: the search by title or id.

DynamoDB can list all products only by a Scan. So the home page lists only the leaderboard: products
with a comment rated 5. Products without a title are left out. Visitors search for other products.
"""

from starlette.responses import Response

from dal.model.rules import MAX_TITLE
from pages.addresses import product_path, with_query
from pages.faults import PageFault
from pages.i18n import gettext
from pages.page_documents import fill_statistics, languages_of
from pages.page_request import PageRequest
from pages.plan_panel import plan_account
from resolvers.node_ids import is_plain_id

ALIASES = {
    "docs": "/graphql",  # GraphiQL shows the documentation of the schema
    "graphiql": "/graphql",
    "graphql": "/graphql",
    "index.html": "/",
    "moderation": "/moderation",
    "playground": "/playground",
    "products": "/",
    "sign-in": "/sign-in",
}
"""Paths of pages by other addresses that people type. The keys have no slash at either end."""


async def show(request: PageRequest) -> Response:
    """Return the home page, with one page of the leaderboard of products."""
    given = request.http.query_params
    language, after = given.get("language") or None, given.get("after") or None
    narrowed = {"language": language} if language else {}
    result = await request.run("home.language" if language else "home", after=after, **narrowed)
    board = result.data["leaderboard"]
    info = board["pageInfo"]
    # Users can comment on invented product ids, so show only products that the shop has named.
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


async def search(request: PageRequest) -> Response:
    """Return the products with a title in which ``q`` begins at a word. Case does not matter.

    If ``q`` is also a product's id, the page links to this product. If no title matches, but ``q``
    is a product's id, redirect to this product. Without ``q``, redirect to the home page.
    """
    given = request.http.query_params
    words, after = " ".join(given.get("q", "").split()), given.get("after") or None
    if not words:
        return request.to("/")
    words = words[:MAX_TITLE]
    can_be_id = is_plain_id(words)
    result = await request.run(
        "search", title=words, productId=words, canBeId=can_be_id, after=after
    )
    found = result.data["productSearch"]
    known = result.data.get("product", {}).get("isKnown", False)
    if known and not found["nodes"] and after is None:
        return request.to(product_path(words))
    for product in found["nodes"]:
        fill_statistics(product)
    info = found["pageInfo"]
    return request.render(
        "search.html",
        words=words,
        rows=[{"rank": None, "product": product} for product in found["nodes"]],
        numbered=words if known else None,
        older=with_query("/products", q=words, after=info["endCursor"])
        if info["hasNextPage"]
        else None,
    )


async def nothing_here(request: PageRequest) -> Response:
    """Redirect to the page in ``ALIASES``; if there is none, raise PageFault."""
    http = request.http
    page = ALIASES.get(http.scope["path"].removeprefix(request.root).strip("/"))
    if page is not None and http.method in {"GET", "HEAD"}:
        return request.to(f"{page}?{http.url.query}" if http.url.query else page)
    path = http.url.path[:200]
    raise PageFault(
        404, gettext("There is no page at %(path)s. Please check the address.", path=path)
    )


async def wrong_method(request: PageRequest) -> Response:
    """Raise PageFault: the page at this address does not accept this HTTP method."""
    del request
    raise PageFault(
        405, gettext("You cannot open this page this way. Start again from the home page.")
    )
