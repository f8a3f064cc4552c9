"""The panel that shows the query plan of a page's list: how the server read it from DynamoDB.

The panel has a drawing, the optimizer's reasons, and the counts of rows: see ``merge_drawing``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pages.formats import listed, number
from pages.i18n import gettext, ngettext
from pages.merge_drawing import Plan, draw_merge, skip_reason
from pages.page_documents import DocumentResult


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
    """Return the drawing of a plan from the API, its key ranges, and its costs.

    The costs include the costs of other plans, for comparison.
    """
    ways = {
        gettext("This plan"): plan,
        gettext("The articles' plan"): plan["fullPages"],
        gettext("The ideal"): plan["ideal"],
    }
    return {"merge": draw_merge([plan]), "segments": segments_of(plan), "ways": compared(ways)}


def segments_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the segments (key ranges) of a plan, with the number of shown rows of each."""
    shown = Counter(row["segment"] for row in plan["rows"] if row["outcome"] in {"SHOWN", "HEAD"})
    return [
        {**segment, "shown": shown[place], "skipped": skip_reason(segment)}
        for place, segment in enumerate(plan["segments"])
    ]


def compared(plans: Mapping[str, Plan | None]) -> list[dict[str, Any]]:
    """Return the costs of plans by name. Plans that are None are omitted.

    The articles' plan reads a full page from every partition: see ``playground``. The ideal is one
    Query that reads only the page's rows. ``most`` has the maximum of each figure. The page draws
    the figures as bars, relative to these maximums.
    """
    ways = [
        {
            "name": name,
            "requests": one["requests"],
            "rows": round(one.get("itemsRead", 0)),
            # The articles' plan in the panel, and the ideal, were not executed.
            "capacity": one["consumedCapacity" if "consumedCapacity" in one else "capacity"],
            "planning": one.get("planningRequests", 0),
            "planning_capacity": one.get("planningCapacity", 0.0),
        }
        for name, one in plans.items()
        if one is not None
    ]
    kinds = ("requests", "rows", "capacity")
    most = {kind: max(way[kind] or 0 for way in ways) or 1 for kind in kinds}
    return [{**way, "most": most} for way in ways]


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
