"""The languages that a comment's form offers: likely ones first, free entry last."""

from collections.abc import Iterable
from dataclasses import dataclass

from server.pages.formats import LANGUAGES, language
from server.pages.i18n import by_weight

ANOTHER = "*"
"""Stands in the form for a language that the list lacks; it is no BCP 47 tag."""


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """What the form lists, and which of it is chosen; ``typed`` is a tag of free entry."""

    likely: list[str]
    others: list[str]
    chosen: str
    typed: str = ""
    another: str = ANOTHER

    @classmethod
    def offered(cls, given: str, accepted: str, known: Iterable[str]) -> "LanguageChoice":
        """Return the choice of a form that holds ``given``.

        Likely are those of the header Accept-Language, ``accepted``, and those that the product has
        comments in, ``known``. A new form begins with what the browser wants most, a filled-in one
        with its own, which is typed where the list lacks it.
        """
        wanted = [tag for one in by_weight(accepted) if (tag := _listed(one))]
        likely = list(dict.fromkeys([*wanted, *(tag for tag in known if tag)]))
        others = sorted(LANGUAGES.keys() - set(likely), key=lambda tag: language(tag).casefold())
        if given and given not in {*likely, *others}:
            return cls(likely, others, ANOTHER, given)
        return cls(likely, others, given or (wanted[0] if wanted else ""))


def _listed(tag: str) -> str | None:
    """Return how the list has a language: ``de`` for ``de-AT``; None where it has it not."""
    return next((one for one in (tag, tag.partition("-")[0]) if one in LANGUAGES), None)
