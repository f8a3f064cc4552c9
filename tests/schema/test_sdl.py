"""The schema as its readers see it: linters have nothing against it, and much against a worse."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from graphql import is_object_type
from strawberry import Schema

from tests.engines import ROOT
from tests.schema.conftest import Run

LINT = Path(__file__).with_name("sdl") / "lint.mjs"
SCHEMA = ROOT / "schema.graphql"
CONNECTIONS_THAT_COUNT = {"CommentConnection"}
"""Of all others no counter is kept: a total would be a read of the whole list."""


def linted(schema: Path) -> list[dict[str, object]]:
    """Return what the linters have against a schema."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["node", LINT, schema],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


def test_linters_have_nothing_against_the_schema() -> None:
    assert linted(SCHEMA) == []


def test_linters_find_what_a_worse_schema_lacks(tmp_path: Path) -> None:
    worse = SCHEMA.read_text()
    for lacking in ("enum OrderStatus", "  SHIPPED\n", "  total: Money!\n"):
        worse, times = re.subn(rf'"""[^"]+"""\s+(?={re.escape(lacking)})', "", worse)
        assert times == 1
    worse = re.sub(r'"""[^"]+"""\s+pageInfo: PageInfo!', "", worse)
    (tmp_path / "schema.graphql").write_text(worse)
    rules = {finding["rule"] for finding in linted(tmp_path / "schema.graphql")}
    assert rules >= {
        "types-have-descriptions",
        "enum-values-have-descriptions",
        "fields-have-descriptions",
        "relay-connection-types-spec",
        "@graphql-eslint/require-description",
        "@graphql-eslint/relay-connection-types",
    }


def test_a_total_is_shown_where_a_counter_is_kept(schema: Schema) -> None:
    connections = {
        name: kind
        for name, kind in schema._schema.type_map.items()
        if name.endswith("Connection") and is_object_type(kind)
    }
    counting = {name for name, kind in connections.items() if "totalCount" in kind.fields}
    assert len(connections) >= 5
    assert counting == CONNECTIONS_THAT_COUNT


def test_no_default_says_what_leaving_out_says() -> None:
    assert re.findall(r"^.* = null.*$", SCHEMA.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize("given", ["", "first: null", "after: null, rating: null, last: null"])
async def test_null_is_as_good_as_leaving_out(run: Run, given: str) -> None:
    arguments = f"({given})" if given else ""
    answer = await run(
        f'{{ product(productId: "1") {{ comments{arguments} {{ totalCount nodes {{ id }} }} }} }}'
    )
    assert answer == {
        "data": {"product": {"comments": {"totalCount": 0, "nodes": []}}},
        "errors": [],
    }
