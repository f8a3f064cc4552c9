"""Runs the pages' GraphQL documents on the schema that serves everybody, in process."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from strawberry.schema import BaseSchema

from resolvers.request.context import Context
from server.http.graphiql import ROOT
from server.pages.faults import fault_of

TEMPLATES = ROOT / "server/pages/templates"


_FRAGMENT = "...PlanShown"


def _documents(directory: Path) -> dict[str, str]:
    """Return the operations, each with the fragment that it spreads."""
    found = {path.stem: path.read_text("utf-8") for path in directory.glob("*.graphql")}
    fragment = found.pop("plan.fragment")
    return {
        name: f"{text}\n{fragment}" if _FRAGMENT in text else text for name, text in found.items()
    }


DOCUMENTS: Mapping[str, str] = _documents(TEMPLATES)
"""Every document by its file's name without the suffix, such as ``product.comments``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation answered, what was asked, and how long it took in milliseconds."""

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
    said = orjson.dumps(variables, option=option).decode()
    return "/graphql?" + urlencode({"query": DOCUMENTS[name], "variables": said})


async def run(schema: BaseSchema, context: Context, name: str, variables: dict[str, Any]) -> Answer:
    """Run a document; PageFault tells the first of its errors."""
    started = time.perf_counter()
    result = await schema.execute(DOCUMENTS[name], variables, context_value=context)
    took = (time.perf_counter() - started) * 1000
    if result.errors:
        raise fault_of(result.errors[0])
    return Answer(result.data or {}, name, variables, took)
