"""What a product's page is called: its title, which says the filters, and its description."""

from collections.abc import Iterable
from typing import Any

from babel.lists import format_list

from server.pages import i18n
from server.pages.addresses import Filters
from server.pages.formats import day, decimal, language, number
from server.pages.i18n import gettext, ngettext


def title(name: str, statistics: dict[str, Any], filters: Filters, *, further: bool) -> str:
    """Return the name with what is shown of it; the rating where that is everything."""
    said = _said(filters)
    if further:
        said.append(gettext("newer comments") if filters.oldest else gettext("older comments"))
    if not said and statistics["total"]:
        return gettext("%(product)s: %(rating)s", product=name, rating=_verdict(statistics))
    return ", ".join([name, *said])


def summary(name: str, statistics: dict[str, Any]) -> str:
    """Return a sentence for a search engine, of a product that has comments."""
    return ngettext(
        "%(product)s has %(average)s of 5 stars from %(count)s comment.",
        "%(product)s has %(average)s of 5 stars from %(count)s comments.",
        statistics["total"],
        product=name,
        average=decimal(statistics["average"]),
        count=number(statistics["total"]),
    )


def _verdict(statistics: dict[str, Any]) -> str:
    return ngettext(
        "%(average)s of 5 stars from %(count)s comment",
        "%(average)s of 5 stars from %(count)s comments",
        statistics["total"],
        average=decimal(statistics["average"]),
        count=number(statistics["total"]),
    )


def _said(filters: Filters) -> list[str]:
    """Return what the filters leave, each in a few words."""
    said = []
    if filters.ratings:
        said.append(gettext("rated %(ratings)s", ratings=_any_of(map(number, filters.ratings))))
    if filters.languages:
        said.append(
            gettext("in %(languages)s", languages=_any_of(map(language, filters.languages)))
        )
    if filters.dated:
        said.append(_days(filters))
    if filters.oldest:
        said.append(gettext("oldest first"))
    return said


def _days(filters: Filters) -> str:
    since, until = (one and day(one.isoformat()) for one in (filters.since, filters.until))
    if since and until:
        return gettext("from %(first)s to %(last)s", first=since, last=until)
    return gettext("from %(first)s", first=since) if since else gettext("to %(last)s", last=until)


def _any_of(values: Iterable[str]) -> str:
    return format_list(list(values), "or", i18n.locale())
