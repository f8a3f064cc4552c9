"""Dialects, which build a server's requests, and ``shown``, which returns a response's content.

The servers have different schemas and cursors, but they return the same pages.
"""

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dal.query.cursors import encode_cursor
from tools.bench.speed.loads import FIRST, Asked, CommentAdded, CommentAsked, PageAsked

_COMMENT = "id rating language title text username createdAt"
_PAGE = f"nodes {{ {_COMMENT} }} pageInfo {{ hasNextPage endCursor }}"

_COMMENTS = f"""query ($p: ID!, $r: [Int!], $l: [String!], $n: Int, $a: String) {{
  product(productId: $p) {{
    comments(rating: $r, language: $l, first: $n, after: $a) {{ {_PAGE} }}
  }}
}}"""
_ONE = f"query ($i: ID!) {{ comment(commentId: $i) {{ {_COMMENT} }} }}"
_ADD = "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }"

_GIVEN = ("rating", "language", "title", "text")

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CommentsApi:
    """The schema of Marginalia, and of the other servers over DynamoDB."""

    name: str
    own_cursors: bool
    """Whether cursors have Marginalia's form. Otherwise a cursor is the position in base64."""
    writes: bool
    pages: bool = False
    """Whether the server has HTML pages."""
    tells_cost: bool = False
    """Whether a response has ``extensions.cost`` if the client requests it."""
    counts_cost: bool = False
    """Whether ``/cost`` returns the requests and capacity since the start."""

    def body(self, asked: Asked) -> Body | None:
        """Return the JSON of an operation; None if this server has no such operation."""
        match asked:
            case PageAsked():
                variables = _filters(asked)
                if asked.after is not None and self.own_cursors:
                    variables["a"] = encode_cursor(asked.after)
                elif asked.after is not None:
                    position = urlsafe_b64encode(asked.after.encode())
                    variables["a"] = position.rstrip(b"=").decode()
                return {"query": _COMMENTS, "variables": variables}
            case CommentAsked(comment_id):
                return {"query": _ONE, "variables": {"i": comment_id}}
            case CommentAdded(product) if self.writes:
                # The servers share a table, but count comments in different ways. So each server
                # writes to its own product.
                own = {"productId": f"{product}-{self.name}"}
                added = {name: getattr(asked, name) for name in _GIVEN} | own
                return {"query": _ADD, "variables": {"input": added}}
            case _:
                return None


@dataclass(frozen=True, slots=True)
class PostGraphileApi:
    """The schema that PostGraphile generates from the table ``comments``."""

    cursor: str
    """Any cursor of the list. Its first part is the list's order, which ``body`` copies into new
    cursors."""
    pages: bool = False
    tells_cost: bool = False
    counts_cost: bool = False

    def body(self, asked: Asked) -> Body | None:
        """Return the JSON of an operation."""
        match asked:
            case PageAsked():
                variables = _filters(asked)
                if asked.after is not None:
                    instant, _, comment_id = asked.after.partition("#")
                    order = json.loads(b64decode(self.cursor))[0]
                    place = [order, instant.replace("Z", "+00:00"), comment_id]
                    text = json.dumps(place, separators=(",", ":"))
                    variables["a"] = b64encode(text.encode()).decode()
                return {"query": _pages_query(asked), "variables": variables}
            case CommentAsked(comment_id):
                query = f"query ($i: String!) {{ commentByRowId(rowId: $i) {{ {_COMMENT} }} }}"
                return {"query": query, "variables": {"i": comment_id}}
            case _:
                return None


Dialect = CommentsApi | PostGraphileApi


def _filters(asked: PageAsked) -> Body:
    """Return the variables of a page that are the same in both schemas."""
    variables: Body = {"p": asked.product, "n": FIRST}
    if asked.ratings:
        variables["r"] = list(asked.ratings)
    if asked.languages:
        variables["l"] = list(asked.languages)
    return variables


def _pages_query(asked: PageAsked) -> str:
    """Return PostGraphile's query of a page, with only the filters that the page has."""
    variables, filters = "$p: String!, $n: Int, $a: Cursor", "productId: {equalTo: $p}"
    if asked.ratings:
        variables, filters = f"{variables}, $r: [Int!]", f"{filters}, rating: {{in: $r}}"
    if asked.languages:
        variables, filters = f"{variables}, $l: [String!]", f"{filters}, language: {{in: $l}}"
    order = "[CREATED_AT_DESC, ROW_ID_DESC]"
    return f"""query ({variables}) {{
  allComments(filter: {{{filters}}}, orderBy: {order}, first: $n, after: $a) {{ {_PAGE} }}
}}"""


Shown = tuple[Any, ...]
"""The content of a response, independent of the server."""


def shown(body: bytes) -> Shown:
    """Return the content of a JSON response; raise ValueError if it has errors."""
    answer = json.loads(body)
    if "errors" in answer:
        raise ValueError(f"errors: {answer['errors'][:1]}")
    data = answer["data"]
    if "product" in data:
        return _page(data["product"]["comments"])
    if "allComments" in data:
        return _page(data["allComments"])
    if "addComment" in data:
        return (data["addComment"]["comment"] is not None,)
    one = data.get("comment") or data.get("commentByRowId")
    return (_comment(one),)


def _page(connection: dict[str, Any]) -> Shown:
    return *map(_comment, connection["nodes"]), connection["pageInfo"]["hasNextPage"]


def _comment(node: dict[str, Any]) -> Shown:
    names = ("rating", "language", "title", "text", "username")
    instant = datetime.fromisoformat(node["createdAt"])
    return *(node[name] for name in names), instant
