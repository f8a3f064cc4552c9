"""``/votes``: visitors mark comments as helpful, by a button at each comment of another user."""

from urllib.parse import quote

from starlette.responses import JSONResponse, Response
from strawberry.relay.utils import to_base64

from pages.addresses import local, with_query, without
from pages.faults import PageFault
from pages.page_request import PageRequest
from pages.sessions import require_own


async def vote(request: PageRequest) -> Response:
    """Store or withdraw a vote, and redirect to its button on the page that ``next`` names.

    If a script sends the vote, the response is JSON with the new number of votes, or null if the
    vote was not changed. If the visitor is not signed in, redirect to the sign-in page. A script
    then opens this page.
    """
    fields = await request.form()
    here = local(fields.get("next", "/"))
    if request.session.username is None:
        return request.to(with_query("/sign-in", next=here))
    name = "mark" if "mark" in fields else "unmark"
    comment_id = fields.get(name, "")
    status, refused = 200, "vote-refused"
    try:
        require_own(request.session, fields)
        result = await request.run(f"vote.{name}", input={"id": to_base64("Comment", comment_id)})
        (payload,) = result.data.values()
        # None if the vote is refused.
        count = payload["comment"] and int(payload["comment"]["helpfulCount"])
    except PageFault as fault:
        count, status, refused = None, fault.status, "not-voted"
    if "application/json" in request.http.headers.get("accept", ""):
        return JSONResponse({"count": count}, status)
    notice = "voted" if count is not None else refused
    page = with_query(without(here, "notice"), notice=notice)
    return request.to(f"{page}#vote-{quote(comment_id)}")
