"""The drawing of a merge: the rows read in each key range, and the list merged from them.

All plans of a drawing have one scale: a slot for each row that any of the plans has read, in the
order of the list. So the plan that reads more rows is the longer one. Slots are not times: many
comments have the same date, and their marks would overlap.

A moving drawing is a finished drawing with a film on top. The film covers what is not merged yet,
and frames the heads, which are the next rows of all lanes. It is made of SMIL elements, because the
pages' Content-Security-Policy forbids style attributes, and because a script can set the time of a
film. After the film, or without it, the finished drawing remains.

The units are slots horizontally and pixels vertically. Texts have percentages instead of slots, so
a narrow drawing has narrow slots, and texts of the usual size.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any

from pages.i18n import gettext, gettext_noop

Plan = Mapping[str, Any]

AXIS, TITLE, STEP, LANE, SKIPPED, LIST, GAP = 34, 22, 20, 31, 20, 40, 10
"""Heights of the axis, a plan's title, a step's heading, a lane, a skipped lane, the list, and the
space between two plans."""

MARK, LABEL = 12, 15
"""Height of a mark, and the distance of marks from the top of their lane, where the label is."""

FEWEST_SLOTS = 40
"""A drawing of fewer rows has empty slots at its end, so that marks are never wide bars."""

COLOURS = 4
"""Number of colours of lanes."""

LONGEST_LABEL = 36

INTRODUCTION, LONGEST_STEP, LONGEST_FILM = 0.5, 0.24, 4.9
"""Seconds. Motion of more than five seconds would need a button that stops it (WCAG 2.2.2)."""

LARGEST_FILM = 10_000
"""Maximum product of the steps and the lanes of a film. A larger drawing has no film, which would
take too long to make, and whose heads would be too small to follow."""

_BEYOND = 9_999
"""A slot outside of every drawing."""

_COMPARED, _TAKEN = 0.35, 0.85
"""The parts of a step: first all heads wait, then one of them moves to the list."""

_FIELDS: Mapping[str, Mapping[str, type | UnionType]] = {
    "steps": {"purpose": str, "index": str, "segments": int},
    "segments": {"partitionKey": str, "itemsRead": int, "skipReason": str | None},
    "rows": {"position": str, "segment": int, "refill": int, "outcome": str},
}
"""The fields of a plan that a drawing needs, with their types. A plan must also have ``residual``,
a list with the names of filters."""

_HEADINGS: Mapping[str, str] = {
    "PAGE": gettext_noop("Next part of the list, read from %(index)s"),
    "REST": gettext_noop("Second plan: the rest of the page, read from %(index)s"),
    "FLAGS": gettext_noop("Whether there is a next and a previous page, read from %(index)s"),
}


def check(plan: Any) -> None:
    """Raise LookupError, TypeError or ValueError if a plan from a client cannot be drawn."""
    if not all(isinstance(plan[name], list) for name in ("residual", *_FIELDS)):
        raise TypeError("a list")
    for name, fields in _FIELDS.items():
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


def draw_merge(
    plans: Sequence[Plan], *, titled: bool = False, moving: bool = False
) -> dict[str, Any]:
    """Return the drawing of one or more plans that read the same page.

    With ``titled``, there is space for a title above each plan. With ``moving``, the drawing has a
    film, unless it is too large for one.
    """
    slots = _slots(plans)
    places = [
        [slots[row["position"]] for row in plan["rows"] if row["outcome"] == "SHOWN"]
        for plan in plans
    ]
    width, steps = max(FEWEST_SLOTS, len(slots)), max(map(len, places), default=0)
    lanes = sum(len(plan["segments"]) for plan in plans)
    time = _Time(steps) if moving and 0 < steps * lanes <= LARGEST_FILM else None
    panels, top = [], AXIS
    for plan, shown in zip(plans, places, strict=True):
        panel = _panel(plan, shown, slots, top + (TITLE if titled else 0), time)
        panels.append({**panel, "title_y": top + 13})
        top = panel["bottom"] + GAP
    return {
        "slots": width,
        "height": top - GAP,
        "ticks": list(_ticks(max(places, key=len, default=[]), width)),
        "more": len(slots) > max((one[-1] + 1 for one in places if one), default=0),
        "panels": panels,
        "mark": MARK,
        "film": time and {"seconds": time.seconds, "first": time.starts[0], "step": time.step},
        "steps": steps if time else 0,
    }


def lane_label(key: str) -> str:
    """Return a partition key, or its beginning and end if it is long."""
    half = LONGEST_LABEL // 2
    return key if len(key) <= LONGEST_LABEL else f"{key[:half]}…{key[1 - half :]}"


def _slots(plans: Sequence[Plan]) -> dict[str, int]:
    """Return the slot of each position that a plan has read."""
    rows = [plan["rows"] for plan in plans]
    descending = any(one and one[0]["position"] > one[-1]["position"] for one in rows)
    found = {row["position"] for one in rows for row in one}
    return {position: n for n, position in enumerate(sorted(found, reverse=descending))}


def _ticks(shown: Sequence[int], width: int) -> Iterator[dict[str, Any]]:
    """Yield the ranks on the axis: 1, and multiples of a round number.

    The distances are at least a twelfth of the drawing's width, so that the ranks do not overlap.
    """
    every = next((n for n in (1, 2, 5, 10, 20, 50) if 12 * n >= width), 100)
    for rank, slot in enumerate(shown, 1):
        if (rank == 1 and every > 1) or rank % every == 0:
            yield {"rank": rank, "x": round(100 * (slot + 0.5) / width, 2)}


class _Time:
    """The times of a film: the starts of its steps, and its whole duration, in seconds."""

    def __init__(self, steps: int) -> None:
        self.step = round(min(LONGEST_STEP, (LONGEST_FILM - INTRODUCTION) / steps), 4)
        self.starts = [round(INTRODUCTION + n * self.step, 4) for n in range(steps + 1)]
        self.seconds = self.starts[-1]

    def animation(self, changes: Sequence[tuple[float, int]]) -> dict[str, str]:
        """Return the values and key times of a SMIL animation, from pairs of time and value."""
        return {
            "values": ";".join(str(value) for _, value in changes),
            "times": ";".join(f"{round(at / self.seconds, 4):g}" for at, _ in changes),
        }


def _panel(
    plan: Plan, shown: Sequence[int], slots: Mapping[str, int], top: int, time: _Time | None
) -> dict[str, Any]:
    """Return the drawing of a plan below ``top``. ``shown`` are the slots of the page's rows."""
    lanes = [{**lane, "rows": list[Plan]()} for lane in _lanes(plan)]
    for row in plan["rows"]:
        lanes[row["segment"]]["rows"].append({**row, "slot": slots[row["position"]]})
    bottom, taken = top, [list[int]() for _ in range(COLOURS)]
    for number, lane in enumerate(lanes):
        bottom += STEP if lane["heading"] else 0
        lane["top"], lane["y"], lane["colour"] = bottom, bottom + LABEL, number % COLOURS
        bottom += SKIPPED if lane["skipped"] else LANE
        rows = lane["rows"]
        lane["shown"] = [one["slot"] for one in rows if one["outcome"] in {"SHOWN", "HEAD"}]
        lane["dropped"] = [one["slot"] for one in rows if one["outcome"] not in {"SHOWN", "HEAD"}]
        own = [one["slot"] for one in rows if one["outcome"] == "SHOWN"]
        taken[lane["colour"]] += own
        lane["queries"] = list(_queries(lane, shown))
    outcomes = Counter(row["outcome"] for row in plan["rows"])
    panel = {
        "top": top,
        "lanes": lanes,
        "list_y": bottom + 6,
        "bottom": bottom + LIST,
        "end": shown[-1] + 1 if shown else 0,
        "rows": len(shown),
        "read": len(plan["rows"]),
        "wasted": sum(len(lane["dropped"]) for lane in lanes),
        "taken": taken,
        "counts": {
            "shown": outcomes["SHOWN"] + outcomes["HEAD"],
            "filtered": outcomes["FILTERED"],
            "around": outcomes["AROUND"],
            "refilled": sum(row["refill"] > 0 for row in plan["rows"]),
        },
    }
    if time is not None:
        panel["moves"] = moves = list(_moves(lanes, shown))
        panel["film"] = _film(panel, moves, shown, time)
    return panel


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
                "step": place,
                "label": lane_label(segment["partitionKey"]),
                "read": segment["itemsRead"],
                "skipped": skip_reason(segment),
            }
            heading = ""


def skip_reason(segment: Mapping[str, Any]) -> str | None:
    """Return why a key range was not read; None if it was read."""
    why: str | None = segment["skipReason"]
    return why and gettext(why)


def _queries(lane: Mapping[str, Any], shown: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first slot of each Query of a lane, and how many rows were merged before it.

    The server sends the first Queries of the first plan together. It sends a further Query after it
    has merged the last row of the Query before, and a later plan when the list has reached it.
    """
    before: Plan | None = None
    for row in lane["rows"]:
        if before is None:
            yield row["slot"], bisect_left(shown, row["slot"]) if lane["step"] else 0
        elif row["refill"] != before["refill"]:
            yield row["slot"], bisect_right(shown, before["slot"])
        before = row


def _moves(lanes: Sequence[Plan], shown: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield for each row of the page: its lane, the heads of all lanes, and the Queries sent."""
    own = {
        row["slot"]: place
        for place, lane in enumerate(lanes)
        for row in lane["rows"]
        if row["outcome"] == "SHOWN"
    }
    merged = [
        [row["slot"] for row in lane["rows"] if row["outcome"] in {"SHOWN", "AROUND"}]
        for lane in lanes
    ]
    times = [[at for _, at in lane["queries"]] for lane in lanes]
    sent = defaultdict[int, list[int]](list)
    for place, ats in enumerate(times):
        for at in ats:
            sent[at].append(place)
    for number, slot in enumerate(shown):
        heads = list[tuple[int, int]]()
        for place, lane in enumerate(lanes):
            later = bisect_right(times[place], number)
            unread = lane["queries"][later][0] if later < len(times[place]) else math.inf
            after = bisect_left(merged[place], slot)
            head = merged[place][after] if after < len(merged[place]) else math.inf
            if head < unread:
                heads.append((place, int(head)))
        yield {"taken": own[slot], "heads": heads, "sent": sent[number]}


def _film(
    panel: Mapping[str, Any], moves: Sequence[Plan], shown: Sequence[int], time: _Time
) -> dict[str, Any]:
    """Return the animations of a plan: of its cover, and of the head and the cover of each lane."""
    cover = [(0.0, 0), *((time.starts[n + 1], slot + 1) for n, slot in enumerate(shown))]
    heads = []
    for place, lane in enumerate(panel["lanes"]):
        slots = [dict(move["heads"]).get(place) for move in moves]
        if not any(slot is not None for slot in slots):
            continue
        across, down = list[tuple[float, int]](), [(0.0, lane["y"])]
        for number, (move, slot) in enumerate(zip(moves, slots, strict=True)):
            start = time.starts[number] if number else 0.0
            place_now = _BEYOND if slot is None else slot
            if not across or across[-1][1] != place_now:
                across.append((start, place_now))
            if move["taken"] == place:
                down += [
                    (time.starts[number] + _COMPARED * time.step, lane["y"]),
                    (time.starts[number] + _TAKEN * time.step, panel["list_y"]),
                    (time.starts[number + 1], panel["list_y"]),
                    (time.starts[number + 1], lane["y"]),
                ]
        if down[-1][0] < time.seconds:
            down.append((time.seconds, lane["y"]))
        head = {"colour": lane["colour"], "across": time.animation(across)}
        heads.append({**head, "down": time.animation(down)})
    late = []
    for lane in panel["lanes"]:
        queries = lane["queries"]
        ends = [*(slot for slot, _ in queries[1:]), _BEYOND]
        opened = [(0.0, 0)] if queries and queries[0][1] else []
        opened += [
            (time.starts[at] if at else 0.0, end)
            for (_, at), end in zip(queries, ends, strict=False)
        ]
        if len(opened) > 1:
            late.append({"y": lane["y"], "across": time.animation(opened)})
    return {"cover": time.animation(cover), "heads": heads, "late": late}
