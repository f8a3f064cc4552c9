"""The form of a comment: what was typed, and what is to be mended before it can be stored."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from server.pages.addresses import RATINGS
from server.pages.faults import PageFault, told_of
from server.pages.formats import number
from server.pages.i18n import gettext, gettext_noop, ngettext
from server.pages.language_choice import ANOTHER, LanguageChoice
from server.pages.operations import Answer
from server.pages.sessions import Session

_FIELDS = ("rating", "language", "title", "text")

_RATINGS = frozenset(map(str, RATINGS))

_MOST: Mapping[str, int] = {"title": 200, "text": 10_000}
"""How many characters a field may have, as in the API: what is no longer, and refused, is blank."""

OTHER_SESSION = gettext_noop(
    "This form was made before you signed in here: look it over and send it again."
)

UNLISTED = gettext_noop(
    "This shop has no product of this number, so it takes no comments here: check the number."
)

_TOLD: Mapping[str, str] = {
    "IDEMPOTENCY_KEY_REUSED": gettext_noop(
        "This form was sent before, with other words. Send it again if these are a new comment."
    ),
    "NOT_FOUND": gettext_noop("This comment is gone: it may have been deleted."),
    "CONFLICT": gettext_noop("Somebody else changed this meanwhile: look at it again."),
}
"""What the form says of an error that is about no field, by its code."""

_REFUSED = gettext_noop(
    "This cannot be stored. Copy your text, load the page again and send it once more."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentForm:
    """Fields as typed, and errors by field; those under an empty name are the form's own.

    ``key`` makes a form that is sent twice, by a double click or because no answer came, the same
    comment both times.
    """

    rating: str = ""
    language: str = ""
    title: str = ""
    text: str = ""
    key: str = field(default_factory=secrets.token_urlsafe)
    errors: dict[str, str] = field(default_factory=dict)

    @classmethod
    def typed(cls, fields: dict[str, str]) -> "CommentForm":
        """Return a form as it was sent."""
        given = fields.get("language", "")
        return cls(
            rating=fields.get("rating", ""),
            language=fields.get("another" if given == ANOTHER else "language", ""),
            title=fields.get("title", ""),
            text=fields.get("text", ""),
            key=fields.get("key") or secrets.token_urlsafe(),
        )

    @classmethod
    def showing(cls, comment: dict[str, Any]) -> "CommentForm":
        """Return a form to edit a comment by."""
        return cls.typed({name: str(comment[name]) for name in _FIELDS})

    def refused(self, errors: dict[str, str], key: str | None = None) -> "CommentForm":
        """Return the same form with what to mend, under a new key where the old one is used up."""
        return replace(self, key=key or self.key, errors=errors)

    def shown(self, accepted: str, known: Iterable[str] = ()) -> dict[str, Any]:
        """Return what the template shows: fields, how long they may be, languages to choose."""
        choice = LanguageChoice.offered(self.language, accepted, known)
        return asdict(self) | {"choice": asdict(choice), "most": _MOST}

    def input(self) -> dict[str, Any]:
        """Return the fields of the mutation's input; it refuses 0, which stands for no rating."""
        return {
            "rating": int(self.rating) if self.rating in _RATINGS else 0,
            "language": self.language.strip(),
            "title": self.title.strip(),
            "text": self.text.strip(),
        }

    def check(self, session: Session, fields: dict[str, str]) -> dict[str, str]:
        """Return what stands in the way before the API is asked; by field, empty for nothing."""
        if session.username is None:
            ended = session.ended and told_of(session.ended)
            return {"": ended or gettext("Sign in first: your text stays here.")}
        if not session.made(fields.get("form_key", "")):
            return {"": gettext(OTHER_SESSION)}
        return {}

    def faults(self, errors: list[dict[str, Any]]) -> dict[str, str]:
        """Return the API's user errors by the form's fields, all at once, in words for a person.

        One about no field of the form stands above it.
        """
        return {(name := _field(error)): self._words(name, error) for error in errors}

    def _words(self, name: str, error: dict[str, Any]) -> str:
        if name == "rating":
            return gettext("Choose from one to five stars.")
        if name == "language":
            return gettext("Choose the language, or give its tag, such as en or pt-BR.")
        if name:
            size = len(self.input()[name])
            return _too_long(size) if size > _MOST[name] else gettext("Write a few words.")
        return gettext(_TOLD.get(error["code"], _REFUSED))


def user_errors(answer: Answer) -> list[dict[str, Any]]:
    """Return the user errors of a mutation's only field."""
    (payload,) = answer.data.values()
    errors: list[dict[str, Any]] = payload["userErrors"]
    return errors


def _too_long(size: int) -> str:
    return ngettext(
        "This is %(count)s character long: too much.",
        "This is %(count)s characters long: too much.",
        size,
        count=number(size),
    )


def _field(error: dict[str, Any]) -> str:
    """Return the form's field that a user error blames; empty for none of them."""
    blamed = error["field"][-1] if error["field"] else ""
    return blamed if blamed in _FIELDS else ""


def require_own(session: Session, fields: dict[str, str]) -> None:
    """Raise PageFault unless a post without anything typed comes from this session's own form."""
    if session.username is None:
        ended = session.ended and told_of(session.ended)
        raise PageFault(401, ended or gettext("Sign in first."))
    if not session.made(fields.get("form_key", "")):
        raise PageFault(403, gettext(OTHER_SESSION))
