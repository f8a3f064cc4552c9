"""The GraphQL documents of the pages.

A document runs in this process, with the same schema as the clients' documents.
"""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson
from strawberry.schema import BaseSchema

from pages.faults import fault_of
from pages.i18n import TEMPLATES
from resolvers.context import Context
from server.http.graphql import HASH_PREFIX

_PLAN = re.compile(r"\n( +)plan \{.*?\n\1\}", re.DOTALL)


_FRAGMENT = re.compile(r"(?ms)^fragment (\w+) .*?^}\n")

_FIELD = re.compile(r"(?m)^  (\w+)")


def _documents(directory: Path) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Return the documents by name, the same documents without the field ``plan``, and fragments.

    A document is the operation in a file, followed by the shared fragments that it spreads. Each
    fragment is before those that it spreads. The card of a submission has the fields of a comment's
    card.
    """
    found = {path.stem: path.read_text("utf-8") for path in sorted(directory.glob("*.graphql"))}
    texts = [found.pop(name) for name in list(found) if name.endswith(".fragment")]
    shared = {one[1]: one[0] for text in texts for one in _FRAGMENT.finditer(text)}
    for name in ("CommentShown", "CommentRead"):
        text = shared[name].replace("Comment", "Submission")
        shared[name.replace("Comment", "Submission")] = text

    def whole(text: str) -> str:
        for name, fragment in shared.items():
            if f"...{name}\n" in text:
                text += f"\n{fragment}"
        return text

    return (
        {name: whole(text) for name, text in found.items()},
        {name: whole(_PLAN.sub("", text)) for name, text in found.items()},
        shared,
    )


DOCUMENTS: Mapping[str, str]
"""Every document by the name of its file without the suffix, such as ``author.comments``. Some
documents select the field ``plan``, which shows how the server read a list."""

PLAIN: Mapping[str, str]
"""The same documents without the field ``plan``. Servers without ``--explain`` run these documents,
because their schema lacks the field."""

DOCUMENTS, PLAIN, _SHARED = _documents(TEMPLATES)

CARD: Mapping[str, None] = dict.fromkeys(
    _FIELD.findall(_SHARED["CommentShown"] + _SHARED["CommentRead"])
)
"""The fields of a comment's card, without values."""


def id_of(name: str) -> str:
    """Return the id of a document: ``sha256:`` and the SHA-256 of its text."""
    return HASH_PREFIX + sha256(DOCUMENTS[name].encode()).hexdigest()


_BUILT_IN = ("product.live", "widget", "widget.votes", "vote.mark", "vote.unmark")

BUILT_IN: Mapping[str, str] = {
    id_of(name).removeprefix(HASH_PREFIX): DOCUMENTS[name] for name in _BUILT_IN
}
"""The documents that scripts of the pages and of the widget send, by the SHA-256 of their text.
Every server executes them, also with ``--documents-only``. Shared caches may store the responses to
the widget's query, because clients send its id."""


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """A document that has run: its data, name and variables, and its duration in milliseconds."""

    data: dict[str, Any]
    name: str
    variables: dict[str, Any]
    took: float

    @property
    def graphiql(self) -> str:
        """The address at which GraphiQL opens with this document and these variables."""
        return graphql_address(self.name, self.variables, orjson.OPT_INDENT_2)


def graphql_address(name: str, variables: Mapping[str, Any], option: int = 0) -> str:
    """Return the address of a document with its variables.

    A browser that opens the address shows the document in GraphiQL. Other GET requests to the
    address, such as those of scripts, execute the document.
    """
    encoded = orjson.dumps(variables, option=option).decode()
    return f"{_endpoint(name)}&variables={quote_plus(encoded)}"


@cache  # because quoting a document takes a tenth of the time of rendering a page
def _endpoint(name: str) -> str:
    return "/graphql?" + urlencode({"query": DOCUMENTS[name]})


async def run_document(
    schema: BaseSchema, context: Context, name: str, variables: dict[str, Any]
) -> DocumentResult:
    """Run a document and return the result. On errors, raise PageFault for the first error."""
    started = time.perf_counter()
    text = (DOCUMENTS if context.explain else PLAIN)[name]
    result = await schema.execute(text, variables, context_value=context)
    took = (time.perf_counter() - started) * 1000
    if result.errors:
        raise fault_of(result.errors[0])
    return DocumentResult(result.data or {}, name, variables, took)


def languages_of(products: Iterable[dict[str, Any]]) -> list[str]:
    """Return the languages of these products' comments, without regions, most frequent first."""
    counts: Counter[str] = Counter()
    for product in products:
        fill_statistics(product)
        for one in product["statistics"]["languages"]:
            if one["parent"] is None:
                counts[one["language"]] += one["count"]
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def fill_statistics(
    product: dict[str, Any], ratings: Collection[int] = (), languages: Collection[str] = ()
) -> bool:
    """Return whether a product's comments are counted; if not, set its statistics to zeros.

    The average rating is then None. The API's statistics are null until all comments of the table
    are counted. ``ratings`` and ``languages`` are the selected values of the filters.
    """
    counted = product["statistics"] is not None
    if not counted:
        none = {"total": 0, "average": None}
        by_rating = [
            {"rating": one, "count": 0, "selected": one in ratings} for one in (5, 4, 3, 2, 1)
        ]
        none_of = {"count": 0, "parent": None, "selected": True}
        chosen = [{"language": one, **none_of} for one in languages]
        facets = none | {"ratings": by_rating, "languages": chosen}
        lists = {"histogram": by_rating, "languages": []}
        product["statistics"] = none | lists | {"facets": facets}
        product.pop("chosen", None)
    return counted
