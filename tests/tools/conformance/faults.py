"""Servers with one fault each, and the checks that must find it."""

from collections.abc import Mapping
from typing import Any

from tests.tools.conformance.notes import Note, Notes, Page


class SkipsARow(Notes):
    def behind(self, cursor: str) -> int:
        return super().behind(cursor) + 1


class RepeatsTheCursorsRow(Notes):
    def upto(self, cursor: str) -> int:
        return super().upto(cursor) + 1


class TurnsLastAround(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        page = super().notes(_, **given)
        if given.get("last") is not None:
            page["edges"].reverse()
        return page


class GoesRoundInACircle(Notes):
    def span(self, given: Mapping[str, Any]) -> tuple[int, int]:
        return 0, len(self.rows)


class HasOneCursorForTwoRows(Notes):
    def cursor(self, place: int) -> str | None:
        return super().cursor(2 if place == 1 else place)


class IgnoresTheOtherCursor(Notes):
    def span(self, given: Mapping[str, Any]) -> tuple[int, int]:
        other = "before" if given.get("first") is not None else "after"
        return super().span(dict(given) | {other: None})


class TakesFirstBeforeLast(Notes):
    def cut(self, left: range, given: Mapping[str, Any]) -> range:
        return super().cut(left, dict(given) | {"last": None} if given.get("first") else given)


class RefusesNull(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        if None in given.values():
            raise ValueError("An argument is null.")
        return super().notes(_, **given)


class ReportsMoreAfterAFullPage(Notes):
    def info(self, given: Mapping[str, Any], *page: Any) -> dict[str, Any]:
        info = super().info(given, *page)
        full = len(page[1]) == given.get("first")
        return info | ({"hasNextPage": full} if given.get("first") else {})


class ReportsMoreBeforeAFullPage(Notes):
    def info(self, given: Mapping[str, Any], *page: Any) -> dict[str, Any]:
        info = super().info(given, *page)
        full = len(page[1]) == given.get("last")
        return info | ({"hasPreviousPage": full} if given.get("last") else {})


class ReturnsOneFlagOnly(Notes):
    def info(self, given: Mapping[str, Any], *page: Any) -> dict[str, Any]:
        other = "hasNextPage" if given.get("last") is not None else "hasPreviousPage"
        return super().info(given, *page) | {other: False}


class HasOtherEnds(Notes):
    def info(self, given: Mapping[str, Any], *page: Any) -> dict[str, Any]:
        info = super().info(given, *page)
        return info | {"startCursor": info["endCursor"]}


class IgnoresASizeOfZero(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        return super().notes(_, **{name: value for name, value in given.items() if value != 0})


class AnswersNegativeSizes(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        sizes = {"first", "last"} & given.keys()
        return super().notes(_, **given | {name: abs(given[name]) for name in sizes})


class CutsSilently(Notes):
    LIMIT = 10

    def notes(self, _: object, **given: Any) -> Page:
        sizes = {"first", "last"} & given.keys()
        cut = [name for name in sizes if given[name] > self.LIMIT]
        page = super().notes(_, **given | dict.fromkeys(cut, self.LIMIT))
        if cut:
            page["pageInfo"] |= {"hasNextPage": False, "hasPreviousPage": False}
        return page


class BeginsAnywhereWithoutASize(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        return super().notes(_, **given or {"last": 2})


class EndsAtABadCursor(Notes):
    def behind(self, cursor: str) -> int:
        return super().behind(cursor) if cursor.isdecimal() else len(self.rows)


class IgnoresABadCursor(Notes):
    def behind(self, cursor: str) -> int:
        return super().behind(cursor) if cursor.isdecimal() else 0


class FindsNoNode(Notes):
    def node(self, _: object, *, id: str) -> Note | None:  # noqa: A002
        return None


class FindsAnotherText(Notes):
    def node(self, _: object, *, id: str) -> Note | None:  # noqa: A002
        found = super().node(_, id=id)
        return found and found | {"text": "Another text"}


class FindsUnknownIds(Notes):
    def node(self, _: object, *, id: str) -> Note | None:  # noqa: A002
        return super().node(_, id=id) or self.rows[0]


class LeavesMissesOut(Notes):
    def nodes(self, info: object, *, ids: list[str]) -> list[Note | None]:
        return [found for found in super().nodes(info, ids=ids) if found]


class SortsNodes(Notes):
    def nodes(self, info: object, *, ids: list[str]) -> list[Note | None]:
        return super().nodes(info, ids=sorted(ids))


class CountsRows(Notes):
    """Its cursors are offsets, as in graphql-relay's ``connectionFromArray``."""

    def cursor(self, place: int) -> str | None:
        return str(place)

    def behind(self, cursor: str) -> int:
        return int(cursor) + 1

    def upto(self, cursor: str) -> int:
        return int(cursor)


class ForgetsDeletedRows(Notes):
    def behind(self, cursor: str) -> int:
        places = [place for place in range(len(self.rows)) if self.cursor(place) == cursor]
        return places[0] + 1


class LosesInserts(Notes):
    def notes(self, _: object, **given: Any) -> Page:
        self.rows = [note for note in self.rows if note["text"].startswith("Note")]
        return super().notes(_, **given)


FAULTS: dict[type[Notes], set[str]] = {
    SkipsARow: {"forward-walk", "after-cursor"},
    RepeatsTheCursorsRow: {"backward-walk", "before-cursor"},
    TurnsLastAround: {"backward-walk", "before-cursor"},
    GoesRoundInACircle: {"forward-walk"},
    HasOneCursorForTwoRows: {"cursor-per-edge"},
    IgnoresTheOtherCursor: {"between-cursors"},
    TakesFirstBeforeLast: {"first-and-last"},
    RefusesNull: {"null-arguments"},
    ReportsMoreAfterAFullPage: {"has-next"},
    ReportsMoreBeforeAFullPage: {"has-previous"},
    ReturnsOneFlagOnly: {"exact-flags"},
    HasOtherEnds: {"page-cursors"},
    IgnoresASizeOfZero: {"size-zero"},
    AnswersNegativeSizes: {"negative-size"},
    CutsSilently: {"huge-size"},
    BeginsAnywhereWithoutASize: {"no-size"},
    EndsAtABadCursor: {"bad-cursor", "bad-cursor-refused"},
    IgnoresABadCursor: {"bad-cursor-refused"},
    FindsNoNode: {"node-refetch", "node-equals-row", "nodes-in-order"},
    FindsAnotherText: {"node-equals-row"},
    FindsUnknownIds: {"node-unknown"},
    LeavesMissesOut: {"nodes-in-order"},
    SortsNodes: {"nodes-in-order"},
    CountsRows: {
        "inserts-between-pages",
        "deletes-between-pages",
        "concurrent-writes",
        "deleted-cursor",
    },
    ForgetsDeletedRows: {"deleted-cursor"},
    LosesInserts: {"inserts-between-pages"},
    Notes.with_sdl("NoteConnection", "NoteList"): {"connection-type"},
    Notes.with_sdl("pageInfo: PageInfo!", "pageInfo: PageInfo"): {"connection-fields"},
    Notes.with_sdl("edges: [NoteEdge!]! ", ""): {"connection-fields", "edge-fields"},
    Notes.with_sdl("node: Note!", "node: [Note!]!"): {"edge-fields"},
    Notes.with_sdl("cursor: String! }", "cursor: Int! }"): {"edge-fields"},
    Notes.with_sdl("cursor: String! }", "cursor: String }"): {"cursor-non-null"},
    Notes.with_sdl("hasPreviousPage: Boolean!", "hasPreviousPage: Boolean"): {"page-info-fields"},
    Notes.with_sdl("first: Int, after: String, last: Int, before: String", "start: Int"): {
        "pagination-arguments"
    },
    Notes.with_sdl("after: String", "after: Int"): {"pagination-arguments"},
    Notes.with_sdl(", last: Int, before: String", ""): {"both-directions"},
    Notes.with_sdl("interface Node { id: ID! }", "interface Node { id: ID! text: String! }"): {
        "node-interface"
    },
    Notes.with_sdl("node(id: ID!)", "node(id: String!)"): {"node-field"},
    Notes.with_sdl("nodes(ids: [ID!]!)", "nodes(ids: [ID])"): {"nodes-field"},
}
"""For each fault, the checks that must find it. Other checks may find it too."""
