"""The pages' GraphQL documents, and how to run one in process on the schema that clients use."""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from strawberry.schema import BaseSchema

from resolvers.context import Context
from server.pages.faults import fault_of
from server.pages.i18n import TEMPLATES

_PLAN = re.compile(r"\n( +)plan \{.*?\n\1\}", re.DOTALL)


def _documents(directory: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the operations that select plans, and the operations that do not."""
    found = {path.stem: path.read_text("utf-8") for path in directory.glob("*.graphql")}
    fragment = found.pop("plan.fragment")
    plain = {name: _PLAN.sub("", text) for name, text in found.items()}
    return {
        name: text if text == plain[name] else f"{text}\n{fragment}" for name, text in found.items()
    }, plain


DOCUMENTS: Mapping[str, str]
"""Every document by its file's name without the suffix, such as ``author.comments``."""

PLAIN: Mapping[str, str]
"""The same documents without plans, which only the schema of a server with ``--explain`` has."""

DOCUMENTS, PLAIN = _documents(TEMPLATES)


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The data of a document, its name and variables, and its duration in milliseconds."""

    data: dict[str, Any]
    name: str
    variables: dict[str, Any]
    took: float

    @property
    def graphiql(self) -> str:
        """The address that opens the same operation in GraphiQL."""
        return graphql_address(self.name, self.variables, orjson.OPT_INDENT_2)


def graphql_address(name: str, variables: Mapping[str, Any], option: int = 0) -> str:
    """Return the address at which GraphQL answers a document by GET."""
    encoded = orjson.dumps(variables, option=option).decode()
    return "/graphql?" + urlencode({"query": DOCUMENTS[name], "variables": encoded})


async def run_document(
    schema: BaseSchema, context: Context, name: str, variables: dict[str, Any]
) -> DocumentResult:
    """Run a document; raise its first error as a PageFault."""
    started = time.perf_counter()
    text = (DOCUMENTS if context.explain else PLAIN)[name]
    result = await schema.execute(text, variables, context_value=context)
    took = (time.perf_counter() - started) * 1000
    if result.errors:
        raise fault_of(result.errors[0])
    return DocumentResult(result.data or {}, name, variables, took)


def languages_of(products: Iterable[dict[str, Any]]) -> list[str]:
    """Return the languages of some products' comments, the most frequent first."""
    counts: Counter[str] = Counter()
    for product in products:
        fill_statistics(product)
        for one in product["statistics"]["languages"]:
            counts[one["language"]] += one["count"]
    return sorted(counts, key=lambda tag: (-counts[tag], tag))


def fill_statistics(
    product: dict[str, Any], ratings: Collection[int] = (), languages: Collection[str] = ()
) -> bool:
    """Return whether a product's comments are counted; if not, set its statistics to zeros.

    Statistics are null while nothing counts the table's comments. ``ratings`` and ``languages``
    are the selected values of the filters.
    """
    counted = product["statistics"] is not None
    if not counted:
        none = {"total": 0, "average": None}
        by_rating = [
            {"rating": one, "count": 0, "selected": one in ratings} for one in (5, 4, 3, 2, 1)
        ]
        chosen = [{"language": one, "count": 0, "selected": True} for one in languages]
        facets = none | {"ratings": by_rating, "languages": chosen}
        product["statistics"] = none | {"histogram": by_rating, "languages": [], "facets": facets}
        product.pop("chosen", None)
    return counted
