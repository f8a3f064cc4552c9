"""Apollo's gateway composes the server with another subgraph, and executes queries on both."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from strawberry.relay.utils import to_base64

from dal.dynamodb.table import Table
from dal.stores import Stores
from schema.build import build_schema
from tests import oracle
from tests.putting import put_comments
from tests.schema.conftest import runner
from tests.server.applications import app_of
from tests.server.http.listening import listening
from tests.server.serving import bearer

COUNT = 20
COMMENTS = [one for n in range(COUNT) for one in oracle.make_comments(f"p{n}", 3, seed=n)]
ID = to_base64("Comment", COMMENTS[0].comment_id)

SHOWN = (
    "comments(first: 2) { nodes { commentId author { username } } } statistics { total average }"
)
PRODUCTS = f"{{ catalogue(first: {COUNT}) {{ productId price {SHOWN} }} }}"
PINS = "pinned { title product { price } } designer { username }"
PINNED = f'{{ catalogue(first: 2, pinned: "{ID}") {{ {PINS} }} }}'
COMMENT = f'{{ comment(commentId: "{COMMENTS[0].comment_id}") {{ product {{ price title }} }} }}'
VIEWER = "{ viewer { username } }"


async def test_one_query_reads_two_subgraphs(table: Table) -> None:
    await put_comments(Stores(table).comments, COMMENTS)
    direct, ann = runner(build_schema(), Stores(table)), bearer("ann")["Authorization"]
    async with listening(app_of(table, federation=True)) as port:
        products, pinned, comment, private, public = await through_gateway(
            f"http://127.0.0.1:{port}/graphql",
            *((query, "") for query in (PRODUCTS, PINNED, COMMENT)),
            (VIEWER, ann),
            (VIEWER, ""),
        )
    assert products["data"]["catalogue"] == [
        {"productId": f"p{n}", "price": 200 + 100 * (n >= 10)}
        | (await direct(f'{{ product(productId: "p{n}") {{ {SHOWN} }} }}'))["data"]["product"]
        for n in range(COUNT)
    ]
    assert products["requests"] == 1
    related = {
        "pinned": {"title": "Title 0", "product": {"price": 200}},
        "designer": {"username": "user0"},
    }
    assert pinned["data"]["catalogue"] == [related, related]
    assert pinned["requests"] == 2
    assert comment["data"] == {"comment": {"product": {"price": 200, "title": "Title of p0"}}}
    assert comment["requests"] == 1
    assert private["data"] == {"viewer": {"username": "ann"}}
    assert public["data"] == {"viewer": None}


async def through_gateway(url: str, *queries: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the results of queries. Each has a document, and an Authorization header or ""."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    process = await asyncio.create_subprocess_exec(
        "node",
        Path(__file__).with_name("gateway.mjs"),
        url,
        *(argument for query in queries for argument in query),
        env=os.environ | {"PATH": path},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    answers: list[dict[str, Any]] = json.loads(out)
    assert [answer["errors"] for answer in answers if "errors" in answer] == []
    return answers
