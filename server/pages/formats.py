"""How numbers, dates and languages read in the language of the page (``i18n``)."""

import json
from datetime import datetime
from functools import lru_cache

from babel import dates, numbers

from server.pages import i18n
from server.pages.operations import TEMPLATES

LANGUAGES: dict[str, str] = json.loads((TEMPLATES / "languages.json").read_text("utf-8"))
"""What languages call themselves, by tag."""


def number(value: float) -> str:
    """Return 1234567 as ``1,234,567``."""
    return _number(value, "#,##0.###", i18n.spoken())


def decimal(value: float | None) -> str:
    """Return a mean or a cost to one place, such as ``4.3``; None is not known."""
    return i18n.gettext("unknown") if value is None else _number(value, "#,##0.0", i18n.spoken())


def percent(value: float) -> str:
    """Return a share such as 0.415 as ``42%``."""
    return numbers.format_percent(value, locale=i18n.locale())


def day(instant: str) -> str:
    """Return an ISO instant as ``20 November 2020``."""
    return _day(instant[:10], i18n.spoken())


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
    """Return a language's name for itself: ``Deutsch``, ``português (BR)``; else its tag."""
    base, _, rest = tag.partition("-")
    return LANGUAGES.get(tag) or (f"{LANGUAGES[base]} ({rest})" if base in LANGUAGES else tag)


def plural(count: int, one: str) -> str:
    """Return ``1 comment``, ``2 comments``."""
    return f"{number(count)} {one}" if count == 1 else f"{number(count)} {one}s"


def queries(count: int) -> str:
    """Return ``1 Query``, ``2 Queries``."""
    return f"{number(count)} {'Query' if count == 1 else 'Queries'}"


FILTERS = {
    "number": number,
    "decimal": decimal,
    "day": day,
    "language": language,
    "minute": minute,
    "month": month,
    "percent": percent,
    "plural": plural,
    "queries": queries,
}
"""The filters of all templates, by name."""


# A page has a hundred of them, and Babel takes some ten microseconds for each.
@lru_cache(maxsize=8192)
def _number(value: float, pattern: str, tag: str) -> str:
    return numbers.format_decimal(value, pattern, i18n.LOCALES[tag])


@lru_cache(maxsize=8192)
def _day(iso: str, tag: str) -> str:
    return dates.format_date(datetime.fromisoformat(iso), "long", i18n.LOCALES[tag])
