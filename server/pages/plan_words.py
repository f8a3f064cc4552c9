"""What a page says of a plan: the API's reasons in the visitor's language, and how many rows."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from server.pages.formats import listed, number
from server.pages.i18n import gettext, gettext_noop, ngettext

_REASONS: Mapping[str, str] = {
    "ONLY_INDEX": gettext_noop("The only index that answers."),
    "LEAST_BY_COUNTS": gettext_noop("The least cost, by how many rows there are."),
    "LEAST_BY_LOCATIONS": gettext_noop(
        "The least cost, by where these rows stood when they were last read."
    ),
    "NOTHING_TO_READ": gettext_noop("There is nothing to read."),
    "NOTHING_TO_WEIGH": gettext_noop(
        "One key range with just these rows: there is nothing to weigh."
    ),
    "NOTHING_KNOWN": gettext_noop("Nothing is known of the rows: the least is left to filter."),
    "MORE_RANGES": gettext_noop("Dearer: %(ranges)s key ranges instead of %(fewer)s."),
    "MORE_ROWS": gettext_noop("Dearer: about %(rows)s rows read and dropped by %(names)s."),
    "MORE_OF_BOTH": gettext_noop(
        "Dearer: %(ranges)s key ranges instead of %(fewer)s "
        "and about %(rows)s rows read and dropped by %(names)s."
    ),
    "MORE_TO_READ": gettext_noop("Dearer: more to read."),
    "NO_CHEAPER": gettext_noop("No cheaper."),
    "NONE_PASSES": gettext_noop("No row is expected to pass: it would read them all."),
    "UNWEIGHED_ROWS": gettext_noop("Not weighed: more is left to filter than by %(index)s."),
    "UNWEIGHED_RANGES": gettext_noop("Not weighed: it has more key ranges than %(index)s."),
    "DIVIDED": gettext_noop("It is divided by %(names)s, which nobody asked for."),
    "HOLDS_OTHERS": gettext_noop("It holds only rows whose %(field)s is %(values)s."),
    "LACKS": gettext_noop("Its rows do not carry %(names)s."),
    "LAGS": gettext_noop("It may lag the table, and this list must not."),
    "TOO_MANY_RANGES": gettext_noop("It takes %(ranges)s key ranges; the most is %(most)s."),
}
"""The API's sentences by their codes; its values fill them in the order that they have here."""

_NAME = re.compile(r"%\((\w+)\)s")

SKIPPED = (gettext_noop("No key lies in the range."), gettext_noop("The counts say: no row."))
"""Why a key range was not read, in the API's words, which are the ids of their translations."""

_HEADINGS: Mapping[str, str] = {
    "REST": gettext_noop("Planned anew for the rest: %(index)s"),
    "FLAGS": gettext_noop("What lies around the page: %(index)s"),
}


def reason(alternative: Mapping[str, Any]) -> str:
    """Return why an index was chosen, or why not."""
    sentence = _REASONS[alternative["reasonCode"]]
    names = _NAME.findall(sentence)
    told = map(_told, alternative["reasonValues"])
    return gettext(sentence, **dict(zip(names, told, strict=True)))


def skip_reason(segment: Mapping[str, Any]) -> str | None:
    """Return why a key range was not read; None where it was."""
    why: str | None = segment["skipReason"]
    return why and gettext(why)


def heading(step: Mapping[str, Any]) -> str:
    """Return what a further plan of a page is for; empty for its first."""
    words = _HEADINGS.get(step["purpose"])
    return gettext(words, index=step["index"]) if words else ""


def caption(counts: Mapping[str, int], read: int, residual: Iterable[str]) -> str:
    """Return how many rows were read, and what became of them."""
    shown, filtered, around = counts["shown"], counts["filtered"], counts["around"]
    parts = [ngettext("%(count)s shown", "%(count)s shown", shown, count=number(shown))]
    if around:
        ahead = ngettext(
            "%(count)s read ahead", "%(count)s read ahead", around, count=number(around)
        )
        parts.append(ahead)
    if filtered:
        dropped = ngettext(
            "%(count)s dropped by %(filters)s",
            "%(count)s dropped by %(filters)s",
            filtered,
            count=number(filtered),
            filters=listed(residual),
        )
        parts.append(dropped)
    rows = ngettext("%(count)s row read", "%(count)s rows read", read, count=number(read))
    return gettext("%(rows)s: %(parts)s.", rows=rows, parts=listed(parts))


def _told(value: str) -> str:
    return number(int(value)) if value.isdecimal() else listed(value.split(", "))
