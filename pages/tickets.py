"""``/tickets``: the support tickets of an organisation, and the page of a ticket."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from pages.addresses import with_query
from pages.dated_lists import DatedList
from pages.faults import PageFault
from pages.i18n import gettext, gettext_noop
from pages.page_request import PageRequest

STATUSES: Mapping[str, str] = {"OPEN": gettext_noop("Open"), "CLOSED": gettext_noop("Closed")}
"""The text of each status of a ticket, by the API's value."""

_NO_PAGE = {"hasNextPage": False, "hasPreviousPage": False}


async def show(request: PageRequest) -> Response:
    """Return one page of an organisation's tickets. Redirect visitors who are not signed in.

    Without a name in the address, the page shows the user's first organisation. Admins see the
    tickets of all users, or of the user in the address. Other users see only their own tickets.
    Raise PageFault if the organisation is not visible to the user.
    """
    username = request.session.username
    if username is None:
        return request.to_sign_in()
    given = request.http.query_params
    memberships = (await request.run("tickets.memberships")).data["viewer"]["organizations"]
    types = {one["organizationName"]: one["type"] for one in memberships["nodes"]}
    name = given.get("organization") or next(iter(types), None)
    chosen = DatedList.of("/tickets", given, STATUSES, "organization", "user")
    found: dict[str, Any] = {"nodes": [], "pageInfo": _NO_PAGE}
    users: list[str] = []
    if name is not None:
        admin = types.get(name) != "MEMBER"  # of other organisations, the API returns null
        of_user = given.get("user") if admin else username
        result = await request.run(
            "tickets",
            organization=name,
            username=of_user or username,
            everyone=not of_user,
            admin=admin,
            **chosen.variables(),
        )
        organization = result.data["organization"]
        if organization is None:
            raise PageFault(
                404,
                gettext("This organisation does not exist, or you do not belong to it."),
            )
        if admin:
            users = [one["username"] for one in organization["users"]["nodes"]]
        holder = organization.get("user") if of_user else organization
        found = holder["tickets"] if holder else found
    return request.render(
        "tickets.html",
        tickets=found["nodes"],
        organization=name,
        organizations=[
            (one, with_query("/tickets", organization=one), one == name) for one in types
        ],
        users=users,
        **chosen.facts(found["pageInfo"]),
    )


async def show_ticket(request: PageRequest) -> Response:
    """Return the page of a ticket. Raise PageFault if it is not visible to the visitor."""
    if request.session.username is None:
        return request.to_sign_in()
    result = await request.run("ticket", ticketId=request.http.path_params["ticket_id"])
    ticket = result.data["ticket"]
    if ticket is None:
        raise PageFault(
            404, gettext("This ticket does not exist, or you may not read it. Check the link.")
        )
    every = with_query("/tickets", organization=ticket["organizationName"])
    words = {one: gettext(name) for one, name in STATUSES.items()}
    return request.render("ticket.html", ticket=ticket, words=words, every=every)
