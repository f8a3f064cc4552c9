"""``/``: the products, which is to say the leaderboard, overall or of one language.

DynamoDB has no list of all products that could be read without a Scan, so the list is the board of
those with a comment rated 5, less products without a title. Any other product's page opens by its
id.
"""

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from server.pages.addresses import product_path
from server.pages.faults import PageFault
from server.pages.i18n import gettext
from server.pages.page_documents import fill_statistics
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
    # An id is any client's text: the first page shows what the shop has named.
    titled = [rank for rank in board["nodes"] if rank["product"]["title"]]
    return request.render(
        "home.html",
        ranks=titled,
        untitled=len(board["nodes"]) - len(titled),
        languages=_languages(titled),
        language=language,
        after=after,
        canonical=_address(language, after),
        older=_address(language, info["endCursor"]) if info["hasNextPage"] else None,
        account=plan_account(board["plan"], result),
    )


async def find(request: PageRequest) -> Response:
    """Lead from the form that asks for a product's id to that product's page."""
    product_id = request.http.query_params.get("id", "").strip()
    return request.to(product_path(product_id) if product_id else "/")


async def nothing_here(request: PageRequest) -> Response:
    """Say that no page has this address."""
    path = request.http.url.path[:200]
    raise PageFault(404, gettext("There is no page at %(path)s.", path=path))


def _languages(ranks: list[dict[str, Any]]) -> list[str]:
    """Return the languages of the products shown, the most frequent first."""
    counts: Counter[str] = Counter()
    for rank in ranks:
        fill_statistics(rank["product"])
        for one in rank["product"]["statistics"]["languages"]:
            counts[one["language"]] += one["count"]
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def _address(language: str | None, after: str | None) -> str:
    pairs = {"language": language, "after": after}
    query = urlencode({name: value for name, value in pairs.items() if value})
    return f"/?{query}" if query else "/"
