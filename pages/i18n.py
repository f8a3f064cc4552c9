"""The language of a page, chosen for each request, and the translation of messages.

The texts of pages are in English, in templates and in Python. Each text is an argument of
``gettext`` or ``ngettext``. ``locales/<tag>/messages.po`` has the translations.
"""

import gettext as catalogues
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from io import BytesIO
from typing import Any, ParamSpec, TypeVar

from babel import Locale

from server.http.graphiql import ROOT
from server.http.request import qualities

LOCALES: Mapping[str, Locale] = {
    # English for the region "world", which writes the day before the month.
    "en": Locale("en", "001"),
    "de": Locale("de"),
    "fr": Locale("fr"),
    "es": Locale("es"),
    "ja": Locale("ja"),
    "ar": Locale("ar"),
}
"""The languages of the pages, by tag."""

SOURCE = "en"
"""The language of the texts in the code, which needs no catalogue."""

TEMPLATES = ROOT / "pages/templates"

CATALOGUES = ROOT / "pages/locales"

_SMALL = 201
"""To find the plural categories of a language, ``plural_forms`` tries each whole number below this
limit. Only the categories of fractions and of millions contain none of these numbers."""

Given = ParamSpec("Given")
Text = TypeVar("Text")

_spoken: ContextVar[str] = ContextVar("language of the page", default=SOURCE)


def spoken() -> str:
    """Return the current language's tag."""
    return _spoken.get()


def locale() -> Locale:
    """Return Babel's locale of the current language."""
    return LOCALES[_spoken.get()]


def cached_by_language(function: Callable[Given, Text]) -> Callable[Given, Text]:
    """Let ``function`` keep its results in each language.

    A page formats about 100 numbers and dates, and Babel takes about 10 µs for each.
    """
    # ``typed``, because a Markup is equal to a text that still must be escaped.
    kept = lru_cache(maxsize=8192, typed=True)(lambda _, *given, **named: function(*given, **named))
    return wraps(function)(lambda *given, **named: kept(_spoken.get(), *given, **named))


@contextmanager
def speaking(tag: str) -> Iterator[None]:
    """Set the current language in the ``with`` block, and in tasks that the block starts."""
    before = _spoken.set(tag)
    try:
        yield
    finally:
        _spoken.reset(before)


def negotiated(asked: str | None, kept: str | None, accepted: str) -> str:
    """Return the tag in ``LOCALES`` of the language for a request's page.

    ``asked`` is the language in the address, ``kept`` the language in the cookie, and ``accepted``
    the Accept-Language header. The result is the first of these that fits, or English if none fits.
    """
    wanted = [asked, kept, *by_weight(accepted)]
    return next((tag for one in wanted if one and (tag := offered(one))), SOURCE)


def offered(tag: str) -> str | None:
    """Return the tag in ``LOCALES`` that fits, such as ``de`` for ``de-AT``; otherwise None."""
    base = tag.partition("-")[0].casefold()
    return base if base in LOCALES else None


def gettext(message: str, **values: Any) -> str:
    """Return a message in the current language. ``values`` replace placeholders: ``%(name)s``."""
    text = _catalogue(_spoken.get()).gettext(message)
    return text % values if values else text


def ngettext(one: str, many: str, n: int, **values: Any) -> str:
    """Return the plural form of a message for ``n`` in the current language."""
    text = _catalogue(_spoken.get()).ngettext(one, many, n)
    return text % values if values else text


@cached_by_language
def plural_forms(one: str, many: str) -> Mapping[str, str]:
    """Return the message's form for each plural category of the current language, for scripts.

    CLDR defines the categories. In a browser, ``Intl.PluralRules`` returns the category of a
    number. If the result lacks a category, such as that of millions in French, scripts use the form
    ``other``.
    """
    forms: dict[str, str] = {}
    for n in range(_SMALL):
        forms.setdefault(locale().plural_form(n), ngettext(one, many, n))
    return forms


def gettext_noop(message: str) -> str:
    """Return ``message`` unchanged. The call marks it as a message that needs translations.

    Constants use this function, because the language of a page is known only at a request. The code
    that shows the constant then calls ``gettext``, which translates the message.
    """
    return message


@cache
def _catalogue(tag: str) -> catalogues.NullTranslations:
    """Return the catalogue of a language, compiled at its first use."""
    path = CATALOGUES / tag / "messages.po"
    if tag == SOURCE or not path.is_file():
        return catalogues.NullTranslations()
    # Imported here, because a server that shows only English does not need the compiler.
    from babel.messages.mofile import write_mo  # noqa: PLC0415
    from babel.messages.pofile import read_po  # noqa: PLC0415

    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=tag))
    compiled.seek(0)
    return catalogues.GNUTranslations(compiled)


def by_weight(accepted: str) -> list[str]:
    """Return the values of an Accept-Language or Accept-Encoding header by descending weight.

    Values of weight 0 are omitted, because the client does not accept them.
    """
    if not accepted:
        return []
    weights = qualities(accepted)
    accepted_ones = (one for one in weights if weights[one] > 0)
    return sorted(accepted_ones, key=weights.__getitem__, reverse=True)
