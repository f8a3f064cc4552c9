"""``/comments/{id}``, the page of a comment, and ``/authors/{username}``, an author's comments.

The page of an unpublished comment is visible only to the comment's author and to moderators. On the
page of an author's comments, unpublished comments are visible only to the author. This module also
has ``CommentForm``, with which users edit comments. A product's page uses it for new comments.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import quote

from starlette.responses import Response
from strawberry.relay.utils import to_base64

from dal.model.rules import MAX_EXPLANATION, MAX_REPLY, MAX_TEXT, MAX_TITLE
from pages.addresses import (
    RATINGS,
    ListPart,
    author_path,
    comment_path,
    neighbours,
    product_path,
    with_query,
)
from pages.faults import PageFault
from pages.formats import ANOTHER, language_choice, number, product_name
from pages.i18n import gettext, gettext_noop, ngettext, spoken
from pages.page_documents import DocumentResult, fill_statistics
from pages.page_request import PageRequest
from pages.photos import PhotoRow, error_of, rows_from, rows_of
from pages.plan_panel import plan_account
from pages.sessions import Session, require_own
from resolvers.authorization import can_change
from resolvers.shop_aspects import labels

_ASPECT = "aspect-"
"""The beginning of the names of the form's fields for ratings of aspects."""

_FIELDS = ("rating", "language", "title", "text")

_RATINGS = frozenset(map(str, RATINGS))

_MOST: Mapping[str, int] = {
    "title": MAX_TITLE,
    "text": MAX_TEXT,
    "reply": MAX_REPLY,
    "report": MAX_EXPLANATION,
}
"""The API's maximum lengths of texts, in characters. The API refuses a text that is longer, and a
required text that is blank."""

UNLISTED = gettext_noop(
    "We do not have a product with this number, so you cannot comment on it. Please"
    " check the number."
)

BUYERS_ONLY = gettext_noop(
    "Only customers who have received this product or one of its variants can comment on it."
)

_MESSAGES: Mapping[str, str] = {
    "IDEMPOTENCY_KEY_REUSED": gettext_noop(
        "You already sent this form with a different text. To add a second comment, send the form "
        "again."
    ),
    "NOT_FOUND": gettext_noop("This comment no longer exists. It may have been deleted."),
    "NOT_BOUGHT": BUYERS_ONLY,
    "ALREADY_COMMENTED": gettext_noop(
        "You have already written a comment on this product. You can edit or delete it."
    ),
    "CONFLICT": gettext_noop("This comment was changed in the meantime. Check it and try again."),
}
"""The message for a user error that is not about a field of the form, by the error's code. Other
codes have the message ``_REFUSED``. The form shows the message above its fields."""

_REFUSED = gettext_noop("This could not be saved. Copy your text, reload the page and try again.")

REASONS: Mapping[str, str] = {
    "SPAM": gettext_noop("Advertising"),
    "OFFENSIVE": gettext_noop("Offensive"),
    "OFF_TOPIC": gettext_noop("Not about the product"),
    "PRIVATE": gettext_noop("Personal data"),
    "OTHER": gettext_noop("Another reason"),
}
"""The text for each reason of a report, by the API's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentForm:
    """The values of a comment's form, and the form's error messages by field.

    A message that is not about a field has the key ``""`` in ``errors``.

    ``key`` is an idempotency key. If a visitor sends the form twice, for example by a double click
    or after a lost response, the server adds only one comment.
    """

    rating: str = ""
    language: str = ""
    title: str = ""
    text: str = ""
    photos: tuple[PhotoRow, ...] | None = rows_from(())
    """None if the posted form has no fields for photos. An edit then keeps the comment's photos."""
    aspects: Mapping[str, str] = field(default_factory=dict)
    """The chosen ratings by the names of aspects; empty texts for aspects without a rating."""
    key: str = field(default_factory=secrets.token_urlsafe)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def typed(cls, fields: dict[str, str]) -> "CommentForm":
        """Return a form with the values that a visitor has posted."""
        given = fields.get("language", "")
        return cls(
            rating=fields.get("rating", ""),
            language=fields.get("another" if given == ANOTHER else "language", ""),
            title=fields.get("title", ""),
            text=fields.get("text", ""),
            photos=rows_of(fields),
            aspects={
                name.removeprefix(_ASPECT): value
                for name, value in fields.items()
                if name.startswith(_ASPECT)
            },
            key=fields.get("key") or secrets.token_urlsafe(),
        )

    @classmethod
    def of(cls, comment: Mapping[str, Any]) -> "CommentForm":
        """Return a form with the values of a stored comment."""
        form = cls.typed({name: str(comment[name]) for name in _FIELDS})
        aspects = {one["name"]: str(one["rating"]) for one in comment["aspects"]}
        return replace(form, photos=rows_from(comment["photos"]), aspects=aspects)

    def with_errors(self, errors: dict[str, str], key: str | None = None) -> "CommentForm":
        """Return the same form with error messages and, if given, a new key."""
        return replace(self, key=key or self.key, errors=errors)

    def shown(self, request: PageRequest, known: Iterable[str] = ()) -> dict[str, Any]:
        """Return the template's data: the form's values and the choices that the form offers.

        The data also has the maximum lengths, the address for uploads (None without uploads), and
        whether the text is optional. ``known`` are the languages of the product's comments.
        """
        accepted = request.http.headers.get("accept-language", "")
        uploads = request.root + "/photo-uploads" if request.view.uploads is not None else None
        aspects = labels(request.session.context, spoken())
        return asdict(self) | {
            "photos": self.photos or rows_from(()),
            "aspects": [
                {"name": name, "label": label, "rating": self.aspects.get(name, "")}
                for name, label in aspects.items()
            ],
            "uploads": uploads,
            "choice": language_choice(self.language, accepted, known),
            "most": _MOST,
            "text_optional": request.session.context.allow_empty_text,
            # Whether the comment will wait for a moderator.
            "held": request.session.context.publication.always_waits(
                moderator=request.session.moderates
            ),
        }

    def input(self) -> dict[str, Any]:
        """Return the fields for the mutation's input.

        If the visitor has not chosen a rating, the rating is 0, which the mutation refuses. So is
        an invalid rating of an aspect.
        """

        def rating(text: str) -> int:
            return int(text) if text in _RATINGS else 0

        photos = [one for one in self.photos or () if one["url"]]
        rated = {name: rating(one) for name, one in self.aspects.items() if one}
        aspects = [{"name": name, "rating": one} for name, one in rated.items()]
        return {
            "rating": rating(self.rating),
            "language": self.language.strip(),
            "title": self.title.strip(),
            "text": self.text.strip(),
            **({} if self.photos is None else {"photos": photos}),
            **({"aspects": aspects} if self.aspects else {}),
        }

    def messages(self, errors: list[dict[str, Any]]) -> dict[str, str]:
        """Return the form's messages for the API's user errors, by field of the form.

        The form does not show the API's own messages, because they are for programs. A message that
        is not about a field has the key ``""``.
        """
        messages = {}
        for error in errors:
            photo = error_of(self.photos, error["field"] or ())
            if photo is not None:
                messages[photo[0]] = photo[1]
                continue
            place = (error["field"] or ())[1:]
            name = place[0] if place and place[0] in _FIELDS else ""
            messages[name] = self._message(name, error["code"])
        return messages

    def _message(self, name: str, code: str) -> str:
        if name == "rating":
            return gettext("Choose from one to five stars.")
        if name == "language":
            return gettext(
                "Choose the language of your comment, or enter its code, such as en or pt-BR."
            )
        if not name:
            return gettext(_MESSAGES.get(code, _REFUSED))
        return size_message(self.input()[name], _MOST[name])


def size_message(text: str, most: int) -> str:
    """Return the message for a text that is blank or has more than ``most`` characters."""
    size = len(text)
    if size <= most:
        return gettext("Write a few words.")
    return ngettext(
        "This text has %(count)s character; the maximum is %(most)s.",
        "This text has %(count)s characters; the maximum is %(most)s.",
        size,
        count=number(size),
        most=number(most),
    )


def unchecked(session: Session, fields: dict[str, str]) -> dict[str, str]:
    """Return an error if the visitor is not signed in, or if another session made the form.

    The result is a dict that maps the key ``""`` to the message. Without an error, it is empty.
    """
    try:
        require_own(session, fields, gettext_noop("Please sign in. Your text stays here."))
    except PageFault as fault:
        return {"": fault.message}
    return {}


def user_errors(result: DocumentResult) -> list[dict[str, Any]]:
    """Return the user errors of a document with one mutation."""
    (payload,) = result.data.values()
    errors: list[dict[str, Any]] = payload["userErrors"]
    return errors


async def show(request: PageRequest) -> Response:
    """Return the page of a comment, with a form for each action that the visitor may take."""
    return await _page(request, None)


async def change(request: PageRequest) -> Response:
    """Do the form's ``action``: edit, delete or report the comment, or change the shop's reply.

    After a deletion, or if the edited comment waits for a moderator, redirect to the product.
    Otherwise redirect to the comment. On errors, show the form again. But if a deletion fails,
    raise PageFault, because the form for a deletion has no text that the visitor could lose.
    """
    fields = await request.form()
    comment = await _comment(request)
    if fields.get("action") in {"reply", "unreply"}:
        return await _reply(request, comment, fields)
    if fields.get("action") == "report":
        return await _report(request, comment, fields)
    if fields.get("action") == "delete":
        require_own(request.session, fields)
        if user_errors(await request.run("comment.delete", input={"id": comment["id"]})):
            raise PageFault(
                409,
                gettext("This comment was changed in the meantime. Check it before you delete it."),
            )
        return gone(request, comment["product"]["productId"], "deleted")
    form = CommentForm.typed(fields)
    errors = unchecked(request.session, fields)
    if not errors:
        given = form.input()
        # Comments from files may have photos that the mutation refuses, such as a path on this
        # server. So send photos only if the visitor has changed them.
        if given.get("photos") == comment["photos"]:
            del given["photos"]
        result = await request.run("comment.update", input={"id": comment["id"], **given})
        errors = form.messages(user_errors(result))
    if errors:
        return await _page(request, form.with_errors(errors), status=422)
    if result.data["updateComment"]["submission"]:
        return gone(request, comment["product"]["productId"], "held")
    return done(request, comment, "changed")


def done(request: PageRequest, comment: dict[str, Any], notice: str) -> Response:
    """Redirect to the comment's page, which shows ``notice``.

    If a script sent the form, redirect to the script's list, with the comment as ``fresh``.
    """
    listed, comment_id = request.list_of_script, comment["commentId"]
    if listed is not None:
        return request.to(with_query(listed, notice=notice, fresh=comment_id))
    return request.to(with_query(comment_path(comment_id), notice=notice))


def gone(request: PageRequest, product_id: str, notice: str) -> Response:
    """Redirect to the product's page, or to the script's list, which does not show the comment."""
    return request.to(with_query(request.list_of_script or product_path(product_id), notice=notice))


async def fresh_comment(request: PageRequest) -> dict[str, Any] | None:
    """Return the comment that a script has changed in the list in the address; None without one.

    The page of the list then also contains the comment's card, and the new counts.
    """
    comment_id = request.http.query_params.get("fresh")
    if comment_id is None or request.session.username is None:
        return None
    result = await request.run("comment", commentId=comment_id)
    comment: dict[str, Any] | None = result.data["comment"]
    return comment


async def _reply(request: PageRequest, comment: dict[str, Any], fields: dict[str, str]) -> Response:
    """Set the shop's reply, or remove it if the form's ``action`` is ``unreply``."""
    text, sets = fields.get("text", "").strip(), fields["action"] == "reply"
    # A form that removes the reply has no text that the user could lose. So if another session made
    # the form, raise PageFault and do not show the form again.
    if not sets:
        require_own(request.session, fields)
    errors = unchecked(request.session, fields)
    if not errors:
        given = {"id": comment["id"]} | ({"text": text} if sets else {})
        result = await request.run("reply.set" if sets else "reply.remove", input=given)
        errors = _small_errors(result, text, _MOST["reply"])
    if not errors:
        return done(request, comment, "replied" if sets else "unreplied")
    return await _page(request, None, status=422, reply={"text": text, "errors": errors})


async def _report(
    request: PageRequest, comment: dict[str, Any], fields: dict[str, str]
) -> Response:
    """Report the comment to the shop's moderators."""
    reason, text = fields.get("reason", ""), fields.get("text", "").strip()
    errors = unchecked(request.session, fields)
    if not errors and reason not in REASONS:
        errors = {"reason": gettext("Choose a reason.")}
    if not errors:
        given = {"id": comment["id"], "reason": reason, "text": text}
        errors = _small_errors(
            await request.run("comment.report", input=given), text, _MOST["report"]
        )
    if not errors:
        return done(request, comment, "reported")
    report = {"reason": reason, "text": text, "errors": errors}
    return await _page(request, None, status=422, report=report)


def _small_errors(result: DocumentResult, text: str, most: int) -> dict[str, str]:
    """Return the error messages for the form of a reply or a report, by field of the form.

    ``text`` is the only text in the form. Its maximum length is ``most`` characters.
    """
    return dict(
        ("text", size_message(text, most))
        if error["field"]
        else ("", gettext(_MESSAGES.get(error["code"], _REFUSED)))
        for error in user_errors(result)
    )


async def _comment(request: PageRequest) -> dict[str, Any]:
    """Return the comment in the address. Raise PageFault if it does not exist.

    An unpublished comment exists only for its author and for moderators.
    """
    comment_id = request.http.path_params["comment_id"]
    result = await request.run("comment", commentId=comment_id)
    comment: dict[str, Any] | None = result.data["comment"]
    if comment is None and request.session.username is not None:
        result = await request.run("submission", id=to_base64("Submission", comment_id))
        comment = result.data["node"]
    if comment is None:
        raise PageFault(
            404,
            gettext(
                "This comment does not exist. It may have been deleted. Please check the link."
            ),
        )
    return comment


async def _page(
    request: PageRequest,
    form: CommentForm | None,
    status: int = 200,
    reply: dict[str, Any] | None = None,
    report: dict[str, Any] | None = None,
) -> Response:
    comment = await _comment(request)
    session, path = request.session, comment_path(comment["commentId"])
    published, viewer = "state" not in comment, session.context.viewer
    if reply is None and session.replies and published:
        reply = {"text": comment["reply"]["text"] if comment["reply"] else "", "errors": {}}
    others = published and session.username != comment["username"]
    if report is None and others and viewer is not None:
        report = {"reason": "", "text": "", "errors": {}}
    mine = viewer is not None and can_change(viewer, comment["username"])
    if mine and form is None:
        form = CommentForm.of(comment)
    reasons = {value: gettext(words) for value, words in REASONS.items()}
    return request.render(
        "comment.html",
        status,
        comment=comment,
        known=fill_statistics(comment["product"]),
        name=product_name(comment["product"]),
        path=path,
        canonical=path,
        published=published,
        mine=mine,
        form=form and form.shown(request),
        reply=reply and reply | {"most": _MOST["reply"], "removable": bool(comment["reply"])},
        report=report and report | {"most": _MOST["report"], "reasons": reasons},
        sign_in=f"{request.root}/sign-in?next={quote(path + '#report', safe='')}"
        if others
        else None,
        linked=comment.get("jsonLd"),
    )


async def show_author(request: PageRequest) -> Response:
    """Return one page of an author's comments on all products, newest first.

    The heading shows the author's display name from the first comment of the page. So the server
    need not read the profile. If the visitor is the author, the first page begins with the
    unpublished comments. Raise PageFault if a page has no comments, except for the author's own
    first page.
    """
    username = request.http.path_params["username"]
    given = request.http.query_params
    part = ListPart(given.get("after", ""), given.get("before", ""))
    mine = username == request.session.username
    first = mine and not part.chosen
    variables = {
        "username": username,
        **part.variables(),
        "mine": first,
        "signedIn": request.session.username is not None,
        "afterUnpublished": given.get("unpublished") or None,
    }
    result = await request.run("author.comments", **variables)
    connection = result.data["author"]["comments"]
    comments, info = connection["nodes"], connection["pageInfo"]
    unpublished = result.data["viewer"]["submissions"] if first else {"nodes": []}
    if not comments and (part.chosen or not mine):
        message = gettext("There are no more comments here. Go back to the first page.")
        if not part.chosen:
            message = gettext(
                "There are no comments by %(author)s. Please check the name.", author=username
            )
        raise PageFault(404, message, leaves_list=bool(part.chosen))

    path = author_path(username)
    return request.render(
        "author.html",
        fresh=await fresh_comment(request),
        author=comments[0]["authorName"] if comments else request.session.name,
        mine=mine,
        comments=comments,
        unpublished=unpublished["nodes"],
        more_unpublished=with_query(path, unpublished=unpublished["pageInfo"]["endCursor"])
        if first and unpublished["pageInfo"]["hasNextPage"]
        else None,
        canonical=with_query(path, **part.chosen),
        **neighbours(path, info),
        account=plan_account(connection.get("plan"), result),
    )
