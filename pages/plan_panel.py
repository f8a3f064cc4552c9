"""The panel that shows the query plan of a page's list: how the server read it from DynamoDB.

The panel has a drawing, the optimizer's reasons, and the counts of rows. The drawing has a lane for
each key range, with a dot for each row that was read. Below all lanes is the list. All lanes share
one axis: the order of the list. On this axis, rows have equal distances. On an axis of dates, dots
would overlap, because many comments have the same date.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from pages.formats import day, listed, number
from pages.i18n import gettext, gettext_noop, ngettext
from pages.page_documents import DocumentResult

WIDTH = 400
_MARGIN = 8
_LANE, _SKIPPED, _GROUP, _TOP, _LIST = 40, 20, 20, 30, 48
"""Heights of a lane, a skipped lane, a heading, the axis and the list. All sizes in this module are
in units of the drawing, which is ``WIDTH`` units wide."""

_LABEL, _LINE = 11, 26
"""Distances from a lane's top to its label and to its dots."""

_LEAST, _LARGEST = 2.2, 4.2
"""Minimum and maximum radius of dots. With more than 87 rows, dots of a lane may overlap."""

Plan = Mapping[str, Any]


def plan_account(
    plan: dict[str, Any] | None, result: DocumentResult, playground: str | None = None
) -> dict[str, Any] | None:
    """Return the panel's data for a plan. If ``plan`` is None, return None.

    Only a server with ``--explain`` has plans. ``playground`` is the address of the same list in
    the playground.
    """
    return plan and {
        "plan": plan,
        "drawing": draw_plan(plan),
        "took": result.took,
        "graphiql": result.graphiql,
        "playground": playground,
    }


def draw_plan(plan: Plan) -> dict[str, Any]:
    """Return the drawing of a plan from the API: its lanes, dots, key ranges, and costs.

    The costs include the costs of other plans, for comparison.
    """
    segments = [_counted(plan, place) for place in range(len(plan["segments"]))]
    return {**lanes_of(plan), "segments": segments, "ways": _ways(plan)}


def lanes_of(plan: Plan) -> dict[str, Any]:
    """Return the drawing of a plan's steps, segments (key ranges) and rows.

    ``drops`` are the arrows from the dots of shown rows down to the list. ``ends`` are the dates at
    the ends of the axis.
    """
    steps = _places(plan["rows"])
    radius = round(max(_LEAST, min(_LARGEST, 0.43 * _step(len(steps)))), 2)
    ends = _ends(plan["rows"])
    lanes, height = list(_lanes(plan)), _TOP if ends else 0
    for lane in lanes:
        height += _GROUP if lane["heading"] else 0
        lane["top"] = height
        lane["label_y"], lane["y"] = height + _LABEL, height + _LINE
        height += _SKIPPED if lane["skipped"] else _LANE
    list_y = height + 20
    dots = list(_dots(plan["rows"], lanes, steps))
    return {
        "width": WIDTH,
        "height": height + _LIST,
        "left": _MARGIN,
        "right": WIDTH - _MARGIN,
        "radius": radius,
        "tip": round(min(2.4, 0.45 * _step(len(steps))), 2),
        "lanes": lanes,
        "dots": dots,
        "list_y": list_y,
        "drops": [
            {"x": dot["x"], "from": round(dot["y"] + radius, 2), "to": list_y - 9}
            for dot in dots
            if dot["shown"]
        ],
        "ends": ends,
        "counts": _counts(plan["rows"]),
    }


_POSTED: Mapping[str, Mapping[str, type | UnionType]] = {
    "steps": {"purpose": str, "index": str, "segments": int},
    "segments": {"partitionKey": str, "itemsRead": int, "skipReason": str | None},
    "rows": {"position": str, "segment": int, "refill": int, "outcome": str},
}
"""The fields that ``lanes_of`` and its template need, with their types. A plan must also have
``residual``, a list with the names of filters."""


def check(plan: Any) -> None:
    """Raise LookupError, TypeError or ValueError if a plan from a client cannot be drawn."""
    if not all(isinstance(plan[name], list) for name in ("residual", *_POSTED)):
        raise TypeError("a list")
    for name, fields in _POSTED.items():
        for entry in plan[name]:
            if not all(isinstance(entry[field], type_) for field, type_ in fields.items()):
                raise TypeError(name)
    if not all(isinstance(name, str) for name in plan["residual"]):
        raise TypeError("residual")
    segments = [step["segments"] for step in plan["steps"]]
    ranges = len(plan["segments"])
    if min(segments, default=0) < 0 or sum(segments) != ranges:
        raise ValueError("steps")
    if not all(0 <= row["segment"] < ranges for row in plan["rows"]):
        raise ValueError("rows")


def _step(rows: int) -> float:
    return (WIDTH - 2 * _MARGIN) / max(1, rows)


def _places(rows: Sequence[Plan]) -> dict[str, float]:
    """Return the x coordinate of each position in the list."""
    positions = list(dict.fromkeys(row["position"] for row in rows))
    step = min(_step(len(positions)), 4 * _LARGEST)
    return {one: round(_MARGIN + (n + 0.5) * step, 2) for n, one in enumerate(positions)}


def _lanes(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield a lane for each segment (key range). The first lane of a step has a heading.

    The step that reads the page has no heading if it is the first step.
    """
    segments = iter(plan["segments"])
    for place, step in enumerate(plan["steps"]):
        words = _HEADINGS.get(step["purpose"])
        first = place == 0 and step["purpose"] == "PAGE"
        heading = gettext(words, index=step["index"]) if words and not first else ""
        for _ in range(step["segments"]):
            segment = next(segments)
            yield {
                "heading": heading,
                "label": segment["partitionKey"],
                "read": segment["itemsRead"],
                "skipped": skip_reason(segment),
            }
            heading = ""


def _dots(
    rows: Sequence[Plan], lanes: Sequence[Plan], places: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        shown = row["outcome"] in {"SHOWN", "HEAD"}
        kind = "shown" if shown else "dropped"
        yield {
            "x": places[row["position"]],
            "y": lanes[row["segment"]]["y"],
            "shown": row["outcome"] == "SHOWN",
            "kind": f"{kind} refilled" if row["refill"] else kind,
        }


def _ends(rows: Sequence[Plan]) -> list[str]:
    """Return the dates at the ends of the axis.

    Return an empty list if there are no rows, or if the rows are not in order of dates.
    """
    try:
        return [day(rows[place]["position"].partition("#")[0]) for place in (0, -1)]
    except (IndexError, ValueError):
        return []


def _counts(rows: Sequence[Plan]) -> dict[str, int]:
    outcomes = Counter(row["outcome"] for row in rows)
    return {
        "shown": outcomes["SHOWN"] + outcomes["HEAD"],
        "filtered": outcomes["FILTERED"],
        "around": outcomes["AROUND"],
        "refilled": sum(row["refill"] > 0 for row in rows),
    }


def _counted(plan: Plan, place: int) -> dict[str, Any]:
    """Return a segment with the number of its rows that the page shows, and its skip reason."""
    counts = _counts([row for row in plan["rows"] if row["segment"] == place])
    segment = plan["segments"][place]
    return {**segment, "shown": counts["shown"], "skipped": skip_reason(segment)}


def _ways(plan: Plan) -> list[dict[str, Any]]:
    """Return the costs of this plan, of the articles' plan and of the ideal, if they are known.

    The articles' plan reads a full page from every partition: see ``playground``. The ideal is one
    Query that reads only the page's rows. ``most`` has the maximum number of requests and the
    maximum capacity of the three. The page draws both figures as bars, relative to these maximums.
    """
    ways = [(gettext("This plan"), plan["requests"], plan["consumedCapacity"])]
    for name, of in (
        (gettext("The articles' plan"), plan["fullPages"]),
        (gettext("The ideal"), plan["ideal"]),
    ):
        if of is not None:
            ways.append((name, of["requests"], of["capacity"]))
    queries, capacity = (max(one[figure] or 0 for one in ways) or 1 for figure in (1, 2))
    return [
        {"name": name, "requests": requests, "capacity": units, "most": (queries, capacity)}
        for name, requests, units in ways
    ]


_HEADINGS: Mapping[str, str] = {
    "PAGE": gettext_noop("Next part of the list, read from %(index)s"),
    "REST": gettext_noop("Second plan: the rest of the page, read from %(index)s"),
    "FLAGS": gettext_noop("Whether there is a next and a previous page, read from %(index)s"),
}


def reason(alternative: Mapping[str, Any]) -> str:
    """Return a sentence with the reason why the optimizer chose or rejected an index.

    The catalogues translate the API's sentence with ``{}`` for each name and number.
    """
    values, sentence = alternative["reasonValues"], str(alternative["reason"])
    parts = []
    for value in values:
        before, _, sentence = sentence.partition(value.replace(", ", " and "))
        parts.append(before)
    template = "{}".join([*parts, sentence])
    return gettext(template).format(*map(_value_text, values))


def skip_reason(segment: Mapping[str, Any]) -> str | None:
    """Return why a key range was not read; None if it was read."""
    why: str | None = segment["skipReason"]
    return why and gettext(why)


def caption(counts: Mapping[str, int], read: int, residual: Iterable[str]) -> str:
    """Return a sentence with the numbers of rows that were read, shown, read ahead and dropped."""
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


def _value_text(value: str) -> str:
    return number(int(value)) if value.isdecimal() else listed(value.split(", "))
