"""The language of a page: chosen for each request, and in force until it is answered.

English text is the id of its own translation, in ``locales/<tag>/messages.po``. Every text of a
page goes through ``gettext`` and ``ngettext``, in templates as in Python.
"""

import gettext as catalogues
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from io import BytesIO
from typing import Any

from babel import Locale

from server.http.graphiql import ROOT

LOCALES: Mapping[str, Locale] = {
    "en": Locale("en", "001"),  # the days of the world's English come before its months
    "de": Locale("de"),
    "fr": Locale("fr"),
    "es": Locale("es"),
    "ja": Locale("ja"),
    "ar": Locale("ar"),
}
"""The languages that pages are written in, by tag."""

SOURCE = "en"
"""The language of the code, which needs no catalogue."""

TEMPLATES = ROOT / "server/pages/templates"

CATALOGUES = ROOT / "server/pages/locales"

_SMALL = 201
"""Numbers below it have every plural category but those of fractions and millions."""

_spoken: ContextVar[str] = ContextVar("language of the page", default=SOURCE)


def spoken() -> str:
    """Return the tag of the language in force."""
    return _spoken.get()


def locale() -> Locale:
    """Return what Babel knows of the language in force."""
    return LOCALES[_spoken.get()]


@contextmanager
def speaking(tag: str) -> Iterator[None]:
    """Put a language of ``LOCALES`` in force, for this task and those that it starts."""
    before = _spoken.set(tag)
    try:
        yield
    finally:
        _spoken.reset(before)


def negotiated(asked: str | None, kept: str | None, accepted: str) -> str:
    """Return the language of a request's page, one of ``LOCALES``.

    What its address asks for comes first, then what the cookie keeps, then the header
    Accept-Language by its weights; English is for everybody else.
    """
    wanted = [asked, kept, *by_weight(accepted)]
    return next((tag for one in wanted if one and (tag := offered(one))), SOURCE)


def offered(tag: str) -> str | None:
    """Return the language of ``LOCALES`` that answers for a tag: ``de`` for ``de-AT``, or None."""
    base = tag.partition("-")[0].casefold()
    return base if base in LOCALES else None


def gettext(message: str, **values: Any) -> str:
    """Return a message in the language in force, ``%(name)s`` filled in where values are given."""
    told = _catalogue(_spoken.get()).gettext(message)
    return told % values if values else told


def ngettext(one: str, many: str, n: int, **values: Any) -> str:
    """Return the form of a message that goes with ``n`` in the language in force."""
    told = _catalogue(_spoken.get()).ngettext(one, many, n)
    return told % values if values else told


def pgettext(context: str, message: str, **values: Any) -> str:
    """Return a message as ``gettext`` does; ``context`` tells it from others of the same words."""
    told = _catalogue(_spoken.get()).pgettext(context, message)
    return told % values if values else told


def npgettext(context: str, one: str, many: str, n: int, **values: Any) -> str:
    """Return a message as ``ngettext`` does, told from others by its context."""
    told = _catalogue(_spoken.get()).npgettext(context, one, many, n)
    return told % values if values else told


def plural_forms(one: str, many: str) -> Mapping[str, str]:
    """Return a message for scripts: its form for each of the language's plural categories.

    They are those of CLDR, which ``Intl.PluralRules`` chooses by, as far as small numbers go.
    """
    return _plural_forms(_spoken.get(), one, many)


@cache
def _plural_forms(tag: str, one: str, many: str) -> Mapping[str, str]:
    forms: dict[str, str] = {}
    for n in range(_SMALL):
        forms.setdefault(LOCALES[tag].plural_form(n), _catalogue(tag).ngettext(one, many, n))
    return forms


def gettext_noop(message: str) -> str:
    """Mark a constant's text for translation; ``gettext`` translates it where it is shown."""
    return message


@cache
def _catalogue(tag: str) -> catalogues.NullTranslations:
    """Return the catalogue of a language, compiled when it is first needed."""
    path = CATALOGUES / tag / "messages.po"
    if tag == SOURCE or not path.is_file():
        return catalogues.NullTranslations()
    # Most servers of one language never need these, and they cost every start.
    from babel.messages.mofile import write_mo  # noqa: PLC0415
    from babel.messages.pofile import read_po  # noqa: PLC0415

    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=tag))
    compiled.seek(0)
    return catalogues.GNUTranslations(compiled)


def by_weight(accepted: str) -> list[str]:
    """Return the tags of an Accept-Language header, the most wanted first; unreadable ones left."""
    weighed = []
    for part in accepted.split(","):
        tag, _, parameter = part.partition(";")
        name, _, weight = parameter.strip().partition("=")
        try:
            quality = float(weight) if name.strip() == "q" else 1.0
        except ValueError:
            continue
        if quality > 0:
            weighed.append((-quality, tag.strip()))
    return [tag for _, tag in sorted(weighed, key=lambda one: one[0])]
