"""``/orders``: the signed-in user's orders."""

from collections.abc import Mapping

from starlette.responses import Response

from pages.dated_lists import DatedList
from pages.i18n import gettext_noop
from pages.page_request import PageRequest

STATUSES: Mapping[str, str] = {
    "PLACED": gettext_noop("Placed"),
    "SHIPPED": gettext_noop("Shipped"),
    "DELIVERED": gettext_noop("Delivered"),
    "CANCELLED": gettext_noop("Cancelled"),
}
"""The text of each status of an order, by the API's value."""


async def show(request: PageRequest) -> Response:
    """Return one page of the user's orders. Redirect other visitors to the sign-in page."""
    if request.session.username is None:
        return request.to_sign_in()
    chosen = DatedList.of("/orders", request.http.query_params, STATUSES)
    viewer = (await request.run("orders", **chosen.variables())).data["viewer"]
    return request.render(
        "orders.html",
        orders_shown=viewer["orders"]["nodes"],
        member=bool(viewer["organizations"]["nodes"]),
        **chosen.facts(viewer["orders"]["pageInfo"]),
    )
