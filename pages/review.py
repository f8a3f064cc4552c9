"""``/review``: customers comment on the products of an order by a link, without an account.

The link contains a JWT. ``PageRequest.by_link`` keeps the JWT from others: the page ignores and
sets no cookies, and forbids caches, search engines and the header Referer.
"""

from typing import Any

from starlette.responses import Response

from pages import sessions
from pages.addresses import with_query
from pages.comment import CommentForm, user_errors
from pages.faults import PageFault
from pages.i18n import gettext, gettext_noop
from pages.page_request import PageRequest

PATH = "/review"

_REPLACES = gettext_noop(
    "You have already sent a comment on this product. To replace it by this text, send the form "
    "again."
)
"""The message if the link was used meanwhile, and its comment is not published yet."""

_USED = gettext_noop(
    "You have already written a comment on this product with this link. You can no longer change "
    "it."
)

_REVOKED = gettext_noop("The shop has withdrawn this link, or the order was cancelled.")


async def show(request: PageRequest) -> Response:
    """Return the form for a product, and the comments that were written by the link.

    The product is the one in the address, or the first product without a comment.
    """
    given = request.http.query_params
    jwt = given.get("invitation", "")
    request = await request.opened_by_link(jwt)
    invitation = await _invitation(request)
    chosen = _entry(invitation, given.get("product"))
    # A published comment has no form.
    if chosen is None or chosen["comment"]:
        chosen = next((one for one in invitation["entries"] if not _written(one)), None)
    form = CommentForm()
    if chosen and chosen["submission"]:
        form = CommentForm.of(chosen["submission"])
    return _page(request, jwt, invitation, chosen, form)


async def write(request: PageRequest) -> Response:
    """Add a comment, or edit it while it is not published, and redirect to the link's page.

    On errors, show the form again.
    """
    fields = await request.form()
    jwt = fields.get("grant", "")
    request = await request.opened_by_link(jwt)
    form, comment_id = CommentForm.typed(fields), fields.get("comment")
    if comment_id:
        result = await request.run("comment.update", input=form.input() | {"id": comment_id})
    else:
        product = {"productId": fields.get("product", "")}
        result = await request.run("comment.add", input=form.input() | product)
    errors = user_errors(result)
    if not errors:
        (payload,) = result.data.values()
        names = ("added", "sent") if not comment_id else ("changed", "resent")
        notice = names[payload["submission"] is not None]
        return request.to(_address(request, jwt, notice=notice))
    invitation = await _invitation(request)
    chosen = _entry(invitation, fields.get("product"))
    if chosen is None:
        raise PageFault(400, gettext(sessions.NO_LINK))
    messages = form.messages(errors)
    if any(one["code"] == "INVITATION_USED" for one in errors):
        used = _REPLACES if chosen["submission"] else _USED
        messages = {"": gettext(used)}
    return _page(request, jwt, invitation, chosen, form.with_errors(messages), status=422)


async def _invitation(request: PageRequest) -> dict[str, Any]:
    try:
        invitation: dict[str, Any] = (await request.run("review")).data["invitation"]
    except PageFault as fault:
        if fault.code == "INVITATION_REVOKED":
            raise PageFault(410, gettext(_REVOKED), code=fault.code) from None
        raise
    return invitation


def _entry(invitation: dict[str, Any], product_id: str | None) -> dict[str, Any] | None:
    return next(
        (one for one in invitation["entries"] if one["product"]["productId"] == product_id), None
    )


def _written(entry: dict[str, Any]) -> bool:
    return bool(entry["comment"] or entry["submission"])


def _address(request: PageRequest, jwt: str, **parameters: str) -> str:
    """Return the address of the link's page, in the language that the visitor has chosen."""
    lang = request.http.query_params.get("lang")
    return with_query(PATH, invitation=jwt.strip(), **parameters, lang=lang)


def _page(
    request: PageRequest,
    jwt: str,
    invitation: dict[str, Any],
    chosen: dict[str, Any] | None,
    form: CommentForm,
    status: int = 200,
) -> Response:
    grant = request.session.context.grant
    assert grant is not None  # noqa: S101 - ``open_link`` has checked it

    def address(entry: dict[str, Any]) -> str:
        return _address(request, jwt, product=entry["product"]["productId"])

    others = [one for one in invitation["entries"] if one is not chosen]
    submission = chosen and chosen["submission"]
    return request.render(
        "review.html",
        status,
        author=grant.author.name,
        incentive=invitation["incentive"],
        expires_at=invitation["expiresAt"],
        current=chosen,
        form=chosen and form.shown(request),
        action=request.root + with_query(PATH, lang=request.http.query_params.get("lang")),
        hidden=chosen
        and {
            "grant": jwt.strip(),
            "product": chosen["product"]["productId"],
            "comment": submission["id"] if submission else "",
        },
        pending=[one | {"address": address(one)} for one in others if not _written(one)],
        written=[
            {
                # Without the user name, the card has no link to the author's page, which lists only
                # published comments.
                "comment": (one["comment"] or one["submission"] | {"username": ""})
                | {"product": one["product"]},
                "address": address(one) if one["submission"] else None,
            }
            for one in others
            if _written(one)
        ],
    )
