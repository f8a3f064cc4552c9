"""How numbers, dates and languages read in English text."""

import json
from datetime import datetime

from server.pages.operations import TEMPLATES

LANGUAGES: dict[str, str] = json.loads((TEMPLATES / "languages.json").read_text("utf-8"))
"""What languages call themselves, by tag."""


def number(value: float) -> str:
    """Return 1234567 as ``1,234,567``."""
    return f"{value:,}"


def decimal(value: float | None) -> str:
    """Return a mean or a cost to one place, such as ``4.3``; None is not known."""
    return "unknown" if value is None else f"{value:.1f}"


def day(instant: str) -> str:
    """Return an ISO instant as ``20 November 2020``."""
    when = datetime.fromisoformat(instant)
    return f"{when.day} {when:%B %Y}"


def minute(instant: str) -> str:
    """Return an ISO instant as ``20 November 2020, 12:00 UTC``."""
    return f"{day(instant)}, {datetime.fromisoformat(instant):%H:%M} UTC"


def month(instant: str) -> str:
    """Return an ISO instant as ``November 2020``."""
    return f"{datetime.fromisoformat(instant):%B %Y}"


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
    "plural": plural,
    "queries": queries,
}
"""The filters of all templates, by name."""
