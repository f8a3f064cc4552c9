"""Numbers, dates and language names in the language of the page (``i18n``)."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from babel import dates, lists, numbers

from pages import i18n
from pages.i18n import cached_by_language

LANGUAGES: dict[str, str] = json.loads((i18n.TEMPLATES / "languages.json").read_text("utf-8"))
"""The name of each language in the language itself, by tag."""

_BY_NAME = sorted(LANGUAGES, key=lambda tag: LANGUAGES[tag].casefold())

_LEAST = 0.01

_EAST_ASIAN = re.compile("[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]")

_FOLDS = (("wide", 900, 50), ("narrow", 380, 22))
"""For each width of a window: its name, the maximum number of characters in a text that is shown
whole, and the number of characters that half a line has. A line break counts as half a line. A
longer text is folded: the page shows only its first lines. For example, a text of 900 characters
fills nine lines of a wide window. Of a longer text, the page shows seven lines. So a fold always
hides at least one line."""


@cached_by_language
def number(value: float) -> str:
    """Return a number with the language's separators, such as ``1,234,567``."""
    return numbers.format_decimal(value, "#,##0.###", i18n.locale())


@cached_by_language
def decimal(value: float | None) -> str:
    """Return a number with one decimal, such as ``4.3``; ``unknown`` for None."""
    if value is None:
        return i18n.gettext("unknown")
    return numbers.format_decimal(value, "#,##0.0", i18n.locale())


@cached_by_language
def share(part_and_whole: tuple[int, int]) -> str:
    """Return 41 of 100 as ``41%``. Instead of a rounded 0% or 100%, return ``<1%`` or ``>99%``."""
    part, whole = part_and_whole
    of = part / whole if whole else 0.0
    if 0 < of < _LEAST / 2:
        return f"<{_percent(_LEAST)}"
    return f">{_percent(1 - _LEAST)}" if 1 - _LEAST / 2 <= of < 1 else _percent(of)


def _percent(value: float) -> str:
    return numbers.format_percent(round(value, 2), locale=i18n.locale())


def folded(text: str) -> str | None:
    """Return the widest window in which a text is folded: ``wide`` or ``narrow``.

    Return None if the text is short. The text's height is estimated from its characters: East Asian
    characters have double width, and each line break adds half a line.
    """
    size, ends = len(text), text.count("\n")
    # An East Asian character has three bytes. Count these characters only if there may be enough of
    # them to fold the text.
    if size + (len(text.encode()) - size) // 2 + ends * _FOLDS[-1][2] <= _FOLDS[-1][1]:
        return None
    size += 0 if text.isascii() else len(_EAST_ASIAN.findall(text))
    return next((name for name, most, line in _FOLDS if size + ends * line > most), None)


def day(instant: str) -> str:
    """Return an ISO instant as ``20 November 2020``."""
    return _day(instant[:10])


@cached_by_language
def _day(iso: str) -> str:
    return dates.format_date(date.fromisoformat(iso), "long", i18n.locale())


def days(instants: Iterable[str]) -> str:
    """Return the days of the first and the last instant, such as ``3-9 May 2024``."""
    first, *_, last = sorted(instants)
    return _days(first[:10], last[:10])


@cached_by_language
def _days(first: str, last: str) -> str:
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return dates.format_interval(start, end, "yMMMMd", locale=i18n.locale())


def minute(instant: str) -> str:
    """Return an ISO instant as ``20 November 2020, 12:00 UTC``."""
    return i18n.gettext(
        "%(day)s, %(time)s UTC",
        day=day(instant),
        time=f"{datetime.fromisoformat(instant):%H:%M}",
    )


def month(instant: str) -> str:
    """Return an ISO instant as ``November 2020``."""
    return dates.format_skeleton("yMMMM", datetime.fromisoformat(instant), locale=i18n.locale())


def language(tag: str) -> str:
    """Return a language's name in the language itself: ``Deutsch`` for ``de``.

    Return ``Deutsch (AT)`` for ``de-AT``, and the tag itself if the language is not in the list.
    """
    known, rest = tag, ""
    while known and known not in LANGUAGES:
        known, _, last = known.rpartition("-")
        rest = f"{last}-{rest}" if rest else last
    name = LANGUAGES.get(known, tag)
    return f"{name} ({rest})" if known and rest else name


def money(value: Mapping[str, str]) -> str:
    """Return the API's ``Money`` with the currency's sign, such as ``€39.90``."""
    amount = Decimal(value["amount"])
    return numbers.format_currency(amount, value["currencyCode"], locale=i18n.locale())


def product_name(product: Mapping[str, Any]) -> str:
    """Return a product's title; without a title, ``Product`` and the product's id."""
    title: str | None = product["title"]
    return title or i18n.gettext("Product %(id)s", id=product["productId"])


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: ``rating and language``."""
    return lists.format_list(list(words), locale=i18n.locale())


ANOTHER = "*"
"""The form's value for "another language". It is not a valid BCP 47 tag."""


def language_choice(given: str, accepted: str, known: Iterable[str]) -> dict[str, Any]:
    """Return the languages that a comment's form offers, and the selected language.

    The form offers the ``likely`` languages first, then the ``others``. The likely languages are
    those in the Accept-Language header, ``accepted``, and those of the product's comments,
    ``known``. ``given`` is selected. If it is a tag that is in neither list, ``typed`` is this tag,
    and ``chosen`` is ``ANOTHER``. In a new form, the first language of the header that
    ``LANGUAGES`` contains is selected. If there is no such language, none is selected.
    """
    wanted = [tag for one in i18n.by_weight(accepted) if (tag := _listed(one))]
    likely = list(dict.fromkeys([*wanted, *(tag for tag in known if tag)]))
    others = [tag for tag in _BY_NAME if tag not in likely]
    typed = given if given not in {"", *likely, *others} else ""
    chosen = ANOTHER if typed else given or next(iter(wanted), "")
    languages = {"likely": likely, "others": others, "another": ANOTHER}
    return languages | {"chosen": chosen, "typed": typed}


def _listed(tag: str) -> str | None:
    """Return the tag in ``LANGUAGES`` that fits, such as ``de`` for ``de-AT``; otherwise None."""
    return next((one for one in (tag, tag.partition("-")[0]) if one in LANGUAGES), None)
