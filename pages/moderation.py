"""``/moderation``: queues of pending and reported comments, decisions, and blocked users."""

from collections.abc import Collection, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from dal.model.rules import MAX_TITLE
from pages.addresses import ListPart, neighbours, with_query
from pages.comment import REASONS, size_message, user_errors
from pages.formats import number
from pages.i18n import gettext, gettext_noop
from pages.page_request import PageRequest
from pages.sessions import require_own

_PATH = "/moderation"

_SEEN = "seen:"
"""The prefix of the form's fields that select comments. The value of ``seen:<id>`` is the time of
the version that the moderator has read."""

_CHOSEN = "chosen"
"""The form that decides on all selected comments: its HTML id, the name of its hidden field, and
its key in ``errors``. The key of a form that decides on one comment is the comment's id."""

_IN_HTML = str.maketrans("+/", "-_", "=")
"""Changes a global id, which is Base64, so that it can be part of an HTML id."""

_CAUSES: Mapping[str, str] = {
    "SETTING": gettext_noop("Every new comment needs approval."),
    "WORDS": gettext_noop("The comment contains a word on the shop's list."),
    "BLOCKED": gettext_noop("The author is blocked."),
    "REPORTS": gettext_noop("Readers have reported this comment."),
    "EDIT": gettext_noop("The author has edited this comment."),
    "FILE": gettext_noop("The comment was pending when it was imported."),
}
"""The text for each reason why a comment waits for a decision, by the API's value."""

_ERRORS: Mapping[str, str] = {
    "CONFLICT": gettext_noop("The author has edited this comment. Read it again."),
    "NOT_FOUND": gettext_noop("This comment no longer exists. It may have been deleted."),
}
"""The message for a decision that failed, by the code of its user error. Other codes have the
message ``_REFUSED``."""

_REFUSED = gettext_noop("This decision could not be saved. Reload the page and try again.")


async def show(request: PageRequest) -> Response:
    """Return one page of the list in the address: pending or reported comments, or blocked users.

    Redirect visitors who are not signed in to the sign-in page.
    """
    if request.session.username is None:
        return request.to_sign_in()
    return await _page(request)


async def decide(request: PageRequest) -> Response:
    """Approve or reject the comments in the form, or block a user, then redirect to the queue.

    If a decision fails, show the queue with an error at the decision's comment. Decisions without
    an error are saved.
    """
    fields = await request.form()
    require_own(request.session, fields)
    if "block" in fields or "unblock" in fields:
        return await _change_block(request, fields)
    seen = {
        name.removeprefix(_SEEN): value for name, value in fields.items() if name.startswith(_SEEN)
    }
    form = _CHOSEN if _CHOSEN in fields else next(iter(seen), _CHOSEN)
    rejects, reason = "reject" in fields, fields.get("reason", "").strip()
    verdict = {"verdict": "REJECT", "reason": reason} if rejects else {"verdict": "APPROVE"}
    errors: dict[str, str] = {}
    done: list[str] = []
    if seen:
        decisions = [{"id": one, "seen": text} | verdict for one, text in seen.items()]
        result = await request.run("moderation.decide", input={"decisions": decisions})
        done = result.data["decideComments"]["ids"]
        for error in user_errors(result):
            # The path in ``field`` is ``input``, ``decisions``, the index of the decision, and the
            # decision's field.
            _, _, *place = error["field"] or ("", "")
            if place[1:] == ["reason"]:
                errors[form] = size_message(reason, MAX_TITLE)
            else:
                name = decisions[int(place[0])]["id"] if place else _CHOSEN
                errors[name] = gettext(_ERRORS.get(error["code"], _REFUSED))
    else:
        errors[_CHOSEN] = gettext("Select at least one comment.")
    if errors:
        typed = {"form": form, "reason": reason, "seen": seen if form == _CHOSEN else {}}
        return await _page(request, HTTPStatus.UNPROCESSABLE_ENTITY, typed, errors, done)
    return request.to(_address(request, "rejected" if rejects else "approved"))


async def _change_block(request: PageRequest, fields: Mapping[str, str]) -> Response:
    """Block the user in the form or end the block, then redirect to the list.

    If this fails, show the list with an error.
    """
    if "unblock" in fields:
        notice = "unblocked"
        result = await request.run("moderation.unblock", input={"username": fields["unblock"]})
    else:
        notice, reason = "blocked", fields.get("reason", "").strip()
        given = {"username": fields["block"], "reason": reason}
        result = await request.run("moderation.block", input=given)
    errors = user_errors(result)
    if not errors:
        return request.to(_address(request, notice))
    at_reason = errors[0]["field"] == ["input", "reason"]
    message = size_message(reason, MAX_TITLE) if at_reason else gettext(_REFUSED)
    return await _page(request, HTTPStatus.UNPROCESSABLE_ENTITY, errors={_CHOSEN: message})


async def _page(
    request: PageRequest,
    status: int = HTTPStatus.OK,
    typed: Mapping[str, Any] | None = None,
    errors: Mapping[str, str] | None = None,
    done: Collection[str] = (),
) -> Response:
    """Return one page of the queue without the comments ``done``, which are decided.

    For some moments, the index may still contain these comments.
    """
    part = ListPart.of(request.http.query_params)
    start, kind = with_query(_PATH, **_kind(request)), _kind(request).get("kind")
    reported, of_users = kind == "reported", kind == "blocked"
    if of_users:
        result = await request.run("moderation.blocked", **part.variables())
        users = result.data["blockedUsers"]
        queue = {"nodes": [], "totalCount": None, "pageInfo": users["pageInfo"]}
    else:
        result = await request.run(
            "moderation.queue",
            kind="REPORTED" if reported else "PENDING",
            reported=reported,
            **part.variables(),
        )
        queue = result.data["moderationQueue"]
    blocked = users["nodes"] if of_users else None
    if part.chosen and not (blocked or queue["nodes"]):  # all comments of this page were decided
        return request.to(with_query(start, notice=request.http.query_params.get("notice")))
    typed, errors = typed or {"form": "", "reason": "", "seen": {}}, errors or {}
    rows = []
    for entry in queue["nodes"]:
        comment = entry["submission"] or entry.get("comment")
        # ``comment`` is None if the comment was deleted or hidden after the queue was read.
        if comment is None or comment["id"] in done:
            continue
        seen = comment["updatedAt"] or comment["createdAt"]
        rows.append(
            {
                "comment": comment,
                "name": comment["id"].translate(_IN_HTML),
                "since": entry["waitingSince"],
                "causes": list(_causes(entry)),
                "seen": seen,
                "error": errors.get(comment["id"]),
                "reason": typed["reason"] if typed["form"] == comment["id"] else "",
                # If the author has edited the comment meanwhile, it is not selected again, because
                # the moderator must read the new text first.
                "chosen": typed["seen"].get(comment["id"]) == seen and comment["id"] not in errors,
            }
        )
    shown = {row["comment"]["id"] for row in rows}
    return request.render(
        "moderation.html",
        status,
        rows=rows,
        blocked=blocked,
        reported=reported,
        total=queue["totalCount"],
        address=_address(request),
        tabs=[
            (gettext("Waiting"), _PATH, kind is None),
            (gettext("Reported"), f"{_PATH}?kind=reported", reported),
            (gettext("Blocked users"), f"{_PATH}?kind=blocked", of_users),
        ],
        # If a comment is not in the list any more, its error is shown at the top of the page.
        errors=[message for name, message in errors.items() if name not in shown],
        failed=bool(errors),
        reason=typed["reason"] if typed["form"] == _CHOSEN else "",
        most=MAX_TITLE,
        **neighbours(start, queue["pageInfo"]),
    )


def _address(request: PageRequest, notice: str | None = None) -> str:
    """Return the address of this page of the queue. If given, the page shows ``notice``."""
    part = ListPart.of(request.http.query_params)
    return with_query(_PATH, **_kind(request), **part.chosen, notice=notice)


def _kind(request: PageRequest) -> dict[str, str]:
    """Return the address parameter that selects a list other than the pending comments."""
    kind = request.http.query_params.get("kind", "")
    return {"kind": kind} if kind in {"reported", "blocked"} else {}


def _causes(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the reasons why a comment is in the queue.

    For a reported comment, yield each reason with its number of reports, then the reports'
    explanations.
    """
    if entry["submission"]:
        cause = _CAUSES[entry["submission"]["cause"]]
        yield gettext(cause)
        return
    for one in entry["reports"]["reasons"]:
        reason = REASONS[one["reason"]]
        yield gettext("%(filter)s (%(count)s)", filter=gettext(reason), count=number(one["count"]))
    yield from (one["text"] for one in entry["reports"]["reports"] if one["text"])
