"""``/authors/{name}``: the comments of one author on all products."""

from urllib.parse import urlencode

from starlette.responses import Response

from server.pages.addresses import author_path
from server.pages.faults import PageFault
from server.pages.i18n import gettext
from server.pages.page_request import PageRequest
from server.pages.paging import SIZE
from server.pages.product import account


async def show(request: PageRequest) -> Response:
    """Show one page of comments: the newest, or those after or before a cursor."""
    username = request.http.path_params["username"]
    given = request.http.query_params
    after, before = given.get("after") or None, given.get("before") or None
    size = {"last": SIZE, "before": before} if before else {"first": SIZE, "after": after}
    answer = await request.run("author.comments", username=username, **size)
    connection = answer.data["author"]["comments"]
    comments, info = connection["nodes"], connection["pageInfo"]
    if not comments:
        message = gettext("There are no comments here any more. Start from the beginning.")
        if not (after or before):
            message = gettext("There are no comments by %(author)s.", author=username)
        raise PageFault(404, message)
    path = author_path(username)
    cursor = {"before": before} if before else {"after": after} if after else {}
    return request.render(
        "author.html",
        author=username,
        comments=comments,
        canonical=_address(path, cursor),
        onward=_address(path, {"after": info["endCursor"]}) if info["hasNextPage"] else None,
        back=_address(path, {"before": info["startCursor"]}) if info["hasPreviousPage"] else None,
        account=account(connection["plan"], answer),
    )


def _address(path: str, cursor: dict[str, str]) -> str:
    return f"{path}?{urlencode(cursor)}" if cursor else path
